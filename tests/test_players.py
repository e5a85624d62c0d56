"""Players: legal, blind to hidden cards, deterministic; the heuristic's plays that a person would expect."""

import numpy as np
import pytest

from belote_env import Game, Rules
from belote_env.arena import play_match
from belote_env.cards import cards_of
from belote_env.engine import apply, legal_actions
from belote_env.envs.batch import DEAL, start_episode
from belote_env.knowledge import possible_cards
from belote_env.observation import observe_batch
from belote_env.players import PLAYERS, CallablePlayer, Heuristic, Parameters, Player, Random, as_player, make_player
from belote_env.solver import solve_many
from belote_env.state import DEAL_OVER, PLAY, new_states
from belote_env.worlds import count_worlds, deal_worlds

RULES = ("single_deal", "belote_501", "classic", "coinche", "contree")


def positions(rules: Rules, n: int, seed: int = 3):
    """`n` tables, each some way into a deal that Random plays: states and seats to act, none over."""
    states = new_states(n)
    rng = np.random.default_rng(seed)
    player = Random(seed)
    player.start(rules)
    for i in range(n):
        start_episode(states, i, rules.packed, np.uint64(seed), i, DEAL)
        for _ in range(rng.integers(0, 36)):
            before = states[i].copy()
            apply(states, i, rules.packed, int(player.act(states[i : i + 1], states["turn"][i : i + 1])[0]))
            if states[i]["phase"] >= DEAL_OVER:
                states[i] = before
                break
    return states, states["turn"].astype(np.int64)


def is_legal(states, i, rules, action):
    low, high = legal_actions(states, i, rules.packed)
    return bool((low >> action) & 1 if action < 64 else (high >> (action - 64)) & 1)


def swap_hidden(states, seats, rng):
    """Exchange cards between hidden places (hands and, in the bidding, the stock) as far as the seat can know."""
    swapped = states.copy()
    moved = 0
    for i, viewer in enumerate(seats):
        viewer = int(viewer)
        others = [(viewer + k) % 4 for k in (1, 2, 3)]
        may = {seat: int(possible_cards(states, i, viewer, seat)) for seat in others}
        hands = [int(hand) for hand in states[i]["hands"]]
        for _ in range(60):
            a, b = (int(seat) for seat in rng.choice(others, 2, replace=False))
            if not hands[a] or not hands[b]:
                continue
            x, y = int(rng.choice(cards_of(hands[a]))), int(rng.choice(cards_of(hands[b])))
            if not may[a] >> y & 1 or not may[b] >> x & 1:
                continue
            hands[a] ^= 1 << x | 1 << y
            hands[b] ^= 1 << x | 1 << y
            moved += 1
        swapped[i]["hands"] = hands
        if states[i]["phase"] != PLAY:
            turned = int(states[i]["turned"])
            free = [c for c in range(32) if c != turned and not int(states[i]["hands"][viewer]) >> c & 1]
            rng.shuffle(free)
            for k, seat in enumerate(others):
                swapped[i]["hands"][seat] = sum(1 << c for c in free[5 * k : 5 * k + 5])
            moved += 1
        # what only the holder knows: the belote, the seed and the order of the pack
        swapped[i]["pack"] = rng.permutation(32)
        swapped[i]["seed"] = rng.integers(2**63)
        strain = int(swapped[i]["strain"])
        if states[i]["phase"] == PLAY and swapped[i]["belote_shown"][strain] == 0:
            swapped[i]["belote"][strain] = -1
    return swapped, moved


@pytest.mark.parametrize("preset", RULES)
@pytest.mark.parametrize("name", list(PLAYERS))
def test_every_action_is_legal_and_the_same_in_any_batch(preset, name):
    rules = Rules.preset(preset)
    n = 40 if name in ("hard", "expert") else 400
    states, seats = positions(rules, n)
    before = states.copy()
    player = make_player(name)
    player.start(rules)
    actions = player.act(states, seats)
    assert actions.shape == (n,) and actions.dtype == np.int64
    assert all(is_legal(states, i, rules, int(a)) for i, a in enumerate(actions))
    assert states.tobytes() == before.tobytes()
    again = make_player(name)
    again.start(rules)
    one_by_one = [int(again.act(states[i : i + 1], seats[i : i + 1])[0]) for i in range(n)]
    assert actions.tolist() == one_by_one


def test_random_plays_every_legal_action_about_equally_often():
    rules = Rules()
    states = new_states(6000)
    for i in range(len(states)):
        start_episode(states, i, rules.packed, np.uint64(1), i, DEAL)
    seats = states["turn"].astype(np.int64)
    takes = np.mean(Random(5).act(states, seats) != 32)
    assert 0.47 < takes < 0.53
    assert np.mean(Random(5).act(states, seats) == Random(6).act(states, seats)) < 0.54


def test_the_heuristic_does_not_see_hidden_cards():
    states, seats = positions(Rules(), 600, seed=8)
    swapped, moved = swap_hidden(states, seats, np.random.default_rng(0))
    assert moved > 1000
    assert (swapped["hands"] != states["hands"]).any(axis=1).mean() > 0.7
    player = Heuristic()
    assert player.act(states, seats).tolist() == player.act(swapped, seats).tolist()


def choice(game: Game, player: Player | None = None) -> str:
    """What a player does in a game."""
    player = player or Heuristic()
    player.start(game.rules)
    return game.names([int(player.act(game._states, np.array([game.turn]))[0])])[0]


def bidding(hand: str, turned: str) -> Game:
    """A game in which the first to speak holds `hand` and `turned` lies face up."""
    first = hand.split()
    rest = [f"{r}{s}" for s in "SHDC" for r in ("7", "8", "9", "J", "Q", "K", "10", "A")]
    rest = [c for c in rest if c not in first and c != turned]
    hands = [rest[:5], first, rest[5:10], rest[10:15]]
    return Game.from_hands("classic", hands, dealer=0, turned=turned, seed=1)


def test_takes_a_strong_hand_and_passes_a_weak_one():
    assert choice(bidding("JH 9H AH AS 10S", "KH")) == "take"
    assert choice(bidding("7H 8S QD KC 9D", "7C")) == "pass"


def test_counts_the_turned_card_and_names_the_best_suit_in_round_two():
    game = bidding("JH 9H AH AS 10S", "7D")
    assert choice(game) == "pass"
    for _ in range(4):
        game.play("pass")
    assert game.phase == "round two"
    assert choice(game) == "H"


def test_thresholds_make_bold_and_timid_players():
    contracts = [
        play_match(Heuristic(take_one=t, take_two=t), "random", deals=200).a.contracts
        for t in (Parameters().take_one - 15, Parameters().take_one, Parameters().take_one + 15)
    ]
    assert contracts[0] > contracts[1] > contracts[2]


def auction(hand: str, calls: str = "") -> Game:
    """A contrée in which seat 1, the first to speak, holds `hand`; the calls so far."""
    first = hand.split()
    rest = [f"{r}{s}" for r in ("7", "8", "9", "J", "Q", "K", "10", "A") for s in "SHDC"]
    rest = [c for c in rest if c not in first]
    game = Game.from_hands("contree", [rest[:8], first, rest[8:16], rest[16:]], dealer=0, seed=1)
    for call in calls.split():
        game.play(call)
    return game


def test_bids_by_strength_and_raises_the_partner_once():
    strong, weak = "JH 9H AH 10H AS 10S AC 7D", "7H 8H 9S QS 7D QD 8C KC"
    bid = choice(auction(strong))
    assert bid.endswith("H") and int(bid[:-1]) >= 120
    assert choice(auction(weak)) == "pass"
    assert choice(auction(strong, "pass pass 80S pass")) == "90S"
    assert choice(auction(weak, "pass pass 80S pass")) == "pass"
    assert choice(auction(strong, "100H pass 110H pass")) == "pass"


def test_doubles_a_bid_in_its_own_strength():
    assert choice(auction("JH 9H AH 10H AS 10S AC 7D", "pass 100H pass pass")) == "coinche"


def playing(hands: list[str], play: str, trump: str = "H", taker: int = 1) -> Game:
    """A game at its first tricks; seat 1 leads."""
    game = Game.from_play("classic", hands, dealer=0, taker=taker, trump=trump)
    for card in play.split():
        game.play(card)
    return game


HANDS = [
    "7S 8S 9D JD QD 7H 8H AD",
    "AS KS JH 9H AH 10H 7D 8D",
    "10S 9S JS 7C 8C 9C QH KD",
    "QS KH 10D JC QC KC 10C AC",
]


def test_loads_the_trick_of_the_partner():
    hands = [
        "7S 8S 9D JD QD 7H 8H AD",
        "AS KS JH QS AH 10H 7D 8D",
        "10D 9S JS 7C 8C 9C QH KD",
        "10S KH 9H JC QC KC 10C AC",
    ]
    assert choice(playing(hands, "AS 9S")) == "10S"


def test_throws_low_on_a_lost_trick_and_keeps_the_ten():
    assert choice(playing(HANDS, "AS")) == "9S"


def test_wins_cheaply_in_last_seat():
    hands = [
        "AD KD 7S 8S 9S JS 7H 8H",
        "7D 8D QS KS 10S AS 9H JH",
        "9D JD 7C 8C 9C JC QH KH",
        "10D QD QC KC 10C AC 10H AH",
    ]
    assert choice(playing(hands, "7D 9D QD")) in ("KD", "AD")
    assert choice(playing(hands, "7D 9D 10D")) == "AD"


def test_single_cards_are_played_at_once():
    game = playing(HANDS, "AS 9S QS 7S KS 10S")
    assert game.legal_actions() and choice(game) in game.names(game.legal_actions())


def test_a_function_is_a_player():
    def first_legal(observation, mask):
        assert observation.dtype == np.uint8
        return np.flatnonzero(mask)[0]

    player = as_player(first_legal)
    assert isinstance(player, CallablePlayer) and player.name == "first_legal"
    result = play_match(first_legal, "random", deals=5)
    assert result.a.decisions > 0


def test_players_by_name():
    assert isinstance(make_player("random"), Random)
    assert isinstance(as_player("heuristic"), Heuristic)
    with pytest.raises(ValueError, match="'chess' is not a player; there are random, heuristic"):
        make_player("chess")
    with pytest.raises(TypeError, match="a Player, a name or a function, not int"):
        as_player(3)  # type: ignore[arg-type]
    for unnamed in (None, [], np.array(["random"])):
        with pytest.raises(ValueError, match="is not a player; there are random, heuristic"):
            make_player(unnamed)  # type: ignore[arg-type]
    for kind in (Random, Heuristic, Player):  # the class of a player is none
        with pytest.raises(TypeError, match="a player is needed, not the class "):
            as_player(kind)


@pytest.mark.parametrize("preset", ["classic", "contree"])
def test_a_player_chooses_in_a_game(preset):
    game, player = Game(preset, seed=4), Heuristic()
    while not game.deal_over:
        fresh = Heuristic()
        fresh.start(game.rules)
        chosen = player.choose(game)
        assert game.names(fresh.act(game.state, np.array([game.turn]))) == [chosen]
        game.play(chosen)
    assert player.rules == game.rules
    with pytest.raises(ValueError, match="the deal is over, nobody is to act; position: "):
        player.choose(game)


@pytest.mark.parametrize("seats", [[0], [0, 1, 2], [0, 4], [-1, 0], [0.0, 1.0], 2, ["0", "1"], [[0, 1]]])
def test_doors_want_a_seat_for_each_state(seats):
    states = np.concatenate([Game("classic", seed=k).state for k in range(2)])
    for door in (
        lambda: count_worlds(states, seats),
        lambda: deal_worlds(states, seats, "classic", 5),
        lambda: observe_batch(states, seats, Rules.preset("classic")),
    ):
        with pytest.raises(ValueError, match="2 states need as many seats 0..3, not "):
            door()


@pytest.mark.parametrize(
    "states", [[Game("classic", seed=1)], Game("classic", seed=1), Game("classic", seed=1).state[0]]
)
def test_doors_want_states(states):
    for door in (
        lambda: count_worlds(states, [0]),
        lambda: deal_worlds(states, [0], "classic", 5),
        lambda: solve_many(states, "classic"),
    ):
        with pytest.raises(ValueError, match=r"^states: an array \(n,\) of `STATE`"):
            door()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"courage": 1.0}, "'courage' is not a parameter of Heuristic; there are take_one"),
        ({"length": 3.0}, "length=3.0: 7 numbers are needed"),
        ({"take_one": (1.0, 2.0)}, "take_one=(1.0, 2.0): one number is needed"),
        ({"take_one": "high"}, "take_one='high': one number is needed"),
        ({"take_one": float("nan")}, "take_one=nan: one number is needed"),
        ({"take_one": 10**400}, "...: one number is needed, between -1000000 and 1000000"),
        ({"take_one": 10**5000}, "take_one=a huge int: one number is needed"),
        ({"take_one": 1e12}, "take_one=1000000000000.0: one number is needed"),
        ({"take_one": True}, "take_one=True: one number is needed"),
        ({"length": np.zeros(7)}, "length=array([0., 0., 0., 0., 0., 0., 0.]): 7 numbers are needed"),
        ({"length": (1.0,) * 6 + (None,)}, "7 numbers are needed"),
    ],
)
def test_parameters_are_checked(parameters, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Heuristic(**parameters)
    assert sentence in str(caught.value)


def test_parameters_may_be_numbers_of_numpy_and_lists():
    plain = Heuristic(take_one=50, length=(0, 0, 0, 6, 15, 12, 28))
    length = [0, 0, 0, np.float32(6), 15, np.int8(12), 28]
    other = Heuristic(take_one=np.int64(50), length=length)
    length[0] = 5  # too late
    assert other.parameters == plain.parameters
    assert other._packed.tobytes() == plain._packed.tobytes()


@pytest.mark.parametrize("seed", [-1, 2**64, 10**5000, 1.5, 1.0, True, "1", None, np.float64(1), np.zeros(2)], ids=type)
def test_seeds_are_checked(seed):
    with pytest.raises(ValueError, match=r"^seed=.*: a whole number from 0 to 2\*\*64 - 1 is needed$"):
        Random(seed)


def test_seeds_of_numpy():
    states, seats = positions(Rules(), 50)
    for seed in (np.int64(7), np.uint8(7)):
        assert Random(seed).act(states, seats).tolist() == Random(7).act(states, seats).tolist()
    Random(np.uint64(2**64 - 1))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        np.array([32, 32]),
        np.zeros((2, 2)),
        float("nan"),
        "pass",
        32.5,
        32.0,
        10**30,
        -(2**63) - 1,
        True,
        [32],
        {},
    ],
    ids=repr,
)
def test_a_function_that_returns_no_number_is_named_with_the_position(answer):
    def confused(observation, mask):
        return answer

    words = r"^confused must return .*, not .* for seat \d; position: classic deal 0 "
    with pytest.raises(ValueError, match=words) as caught:
        play_match(confused, "random", deals=2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [int, np.int8, np.uint64, np.int64, np.array])
def test_a_function_may_return_any_integer(kind):
    def first_legal(observation, mask):
        return kind(int(np.flatnonzero(mask)[0]))

    assert play_match(first_legal, "random", deals=2).a.decisions > 0
