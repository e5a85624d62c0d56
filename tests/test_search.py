"""Search and the levels: blind to hidden cards, the same for the same view, right where nothing is left to guess."""

import copy
import pickle
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from endings import ending
from test_aec import TABLES
from test_resample import random_games

import belote_env.players.search as searching
from belote_env import Game, Rules, players
from belote_env.cards import CARD_NAMES, cards_of
from belote_env.engine import apply
from belote_env.notation import position_text
from belote_env.players import PLAYERS, Careless, Heuristic, Player, Random, Search, as_player, make_player
from belote_env.players.beliefs import DOUBT, HALF_DOUBT, likelihoods, likely_worlds
from belote_env.players.expert import Expert
from belote_env.players.playout import play_out
from belote_env.players.policy import released_policies
from belote_env.solver import NO_VALUE, solve_many
from belote_env.state import DEAL_OVER, PASS, PLAY
from belote_env.worlds import count_worlds, deal_worlds

KINDS = {
    "solver": lambda: Search(6, mode="solver"),
    "playout": lambda: Search(6, bidder="playout"),
    "late": lambda: Search(6, mode="solver", player=Careless(0.5), tricks=3),
    "careless": lambda: Careless(0.5),
}


def positions(table, seed, deals=3, phase=None):
    """(states, seats) of positions of random deals, one in three."""
    states = []
    for game, rng in random_games(table, seed, deals):
        if not game.deal_over and rng.random() < 0.35 and phase in (None, game._states[0]["phase"]):
            states.append(game._states[0].copy())
    states = np.array(states)
    return states, states["turn"].astype(np.int64)


def started(player, rules):
    player.start(rules)
    return player


# --- blind, and a function of the view --------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["classic", "contree"])
@pytest.mark.parametrize("kind", KINDS)
def test_swapping_the_hidden_cards_does_not_move_the_choice(kind, table):
    states, seats = positions(table, f"swap {kind}")
    swapped, rows = deal_worlds(states, seats, table, 2, seed=99)
    assert (swapped["hands"] != states["hands"][rows]).any(axis=1).mean() > 0.5
    assert (swapped["seed"] != states["seed"][rows]).all()
    player = started(KINDS[kind](), table)
    mine, theirs = player.act(states, seats), player.act(swapped, seats[rows])
    assert theirs.tolist() == mine[rows].tolist()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_actions_are_legal_and_the_same_in_any_batch(kind, table):
    states, seats = positions(table, f"batch {kind}", deals=2)
    before = states.tobytes()
    rules = Game(table, seed=0).rules
    together = started(KINDS[kind](), rules).act(states, seats)
    assert together.dtype == np.int64 and states.tobytes() == before
    player = started(KINDS[kind](), rules)
    for k in range(len(states) - 1, -1, -1):
        assert player.act(states[k : k + 1], seats[k : k + 1]).tolist() == [together[k]]
        assert int(together[k]) in Game._at(rules, states[k : k + 1], []).legal_actions()


def test_threads_do_not_move_the_choice():
    states, seats = positions("classic", "threads", phase=PLAY)
    one, two = (started(Search(5, mode="solver", threads=n), "classic").act(states, seats) for n in (1, 2))
    assert one.tolist() == two.tolist()


def test_the_seed_moves_some_choices():
    states, seats = positions("classic", "seed", deals=6, phase=PLAY)
    choices = {tuple(started(Search(1, seed=seed), "classic").act(states, seats)) for seed in range(4)}
    assert len(choices) > 1


# --- right where it can be checked ------------------------------------------------------------------------------


def late(seed, n, cards):
    """(rules, states, seats) of `n` endings with so many cards left."""
    rng = random.Random(seed)
    rules = Rules.preset("classic")
    states = np.concatenate([ending(rng, rules, rng.choice("SHDC"), rng.choice(cards))._states for _ in range(n)])
    return rules, states, states["turn"].astype(np.int64)


def test_in_the_last_tricks_it_weighs_every_world():
    rules, states, seats = late("late", 60, range(5, 12))  # of given contracts: no call to weigh worlds by
    few = np.flatnonzero(count_worlds(states, seats) <= 40)
    assert len(few) > 15
    actions = started(Search(40, mode="solver"), rules).act(states, seats)
    chosen = 0
    for i in few:
        worlds, _ = deal_worlds(states[i : i + 1], seats[i : i + 1], rules, 40)
        values = solve_many(worlds, rules, "score").astype(float)
        mean = np.where(values == NO_VALUE, -np.inf, values).mean(axis=0)
        assert mean[actions[i]] >= mean.max() - 1e-6
        chosen += np.isfinite(mean).sum() > 1
    assert chosen > 8


def test_playing_out_enters_the_score_of_the_mover():
    rules, states, seats = late("mean", 120, range(6, 14))
    few = np.flatnonzero(count_worlds(states, seats) <= 60)
    actions = started(Search(60), rules).act(states, seats)
    heuristic = started(Heuristic(), rules)
    said = heuristic.act(states, seats)
    assert (actions[few] != said[few]).sum() > 2
    for i in few:
        worlds, _ = deal_worlds(states[i : i + 1], seats[i : i + 1], rules, 60)
        means = {}
        for card in Game._at(rules, states[i : i + 1].copy(), []).legal_actions():
            total = 0
            for k in range(len(worlds)):
                game = Game._at(rules, worlds[k : k + 1].copy(), [])
                game.play(card)
                while not game.deal_over:
                    game.play(int(heuristic.act(game._states, np.array([game.turn]))[0]))
                total += game.deal_scores[seats[i] % 2] - game.deal_scores[1 - seats[i] % 2]
            means[card] = total / len(worlds)
        assert means[int(actions[i])] == pytest.approx(max(means.values()))
        if actions[i] != said[i]:
            assert means[int(actions[i])] > means[int(said[i])]


def hand(text):
    return sum(1 << CARD_NAMES.index(card) for card in text.split())


def test_calls_make_worlds_likelier():
    game = Game("contree", seed=4)
    states = np.repeat(game._states, 3)
    rules, viewer = game.rules, int(game.turn)
    bidder, partner, last = ((viewer + k) % 4 for k in (1, 2, 3))
    mine = "7S 8S 9S QS 7D 8D 9D QD"
    strong, weak = "JH 9H AH 10H AS 10S AC 7C", "JC 8C 9C QC JD KD JS KS"
    rest = "KH QH 7H 8H KC 10C 10D AD"
    other = "AD AH AS AC 10D 10H 10S 10C"
    left = [c for c in CARD_NAMES if c not in f"{mine} {other}".split()]
    deals = [(strong, weak, rest), (weak, strong, rest), (other, " ".join(left[:8]), " ".join(left[8:]))]
    for state, hands in zip(states, deals, strict=True):
        state["hands"][viewer] = hand(mine)
        for seat, cards in zip((bidder, partner, last), hands, strict=True):
            state["hands"][seat] = hand(cards)
        order = [cards_of(int(state["hands"][(state["dealer"] + 1 + k) % 4])) for k in range(4)]
        packets = [(0, 3), (3, 5), (5, 8)]
        state["pack"] = [c for begin, end in packets for cards in order for c in cards[begin:end]]
    caller = started(Heuristic(), rules)
    for action in (PASS, 35 + 6 * 5 + 1):  # the second bids 130 hearts
        for k in range(3):
            apply(states, k, rules.packed, action)
    assert PLAY not in states["phase"]
    asked = []
    for k in range(3):
        again = Game.parse(position_text(states, k, rules).replace("pass 130H", "pass"))
        assert again._states["hands"].tolist() == states["hands"][k : k + 1].tolist()
        asked.append(again.names([int(caller.act(again._states, np.array([again.turn]))[0])])[0])
    fits = [1.0 if call == "130H" else HALF_DOUBT if call.endswith("H") else DOUBT for call in asked]
    assert len(set(fits)) > 1
    assert likelihoods(states, np.full(3, viewer), rules, caller).tolist() == fits
    # a seat's own calls tell it nothing; the others' do: Heuristic would not have passed with `mine`
    assert likelihoods(states, np.full(3, bidder), rules, caller).tolist() == [DOUBT] * 3


def test_likely_worlds_are_drawn_by_their_likelihood():
    for game, rng in random_games("contree", "likely", deals=3):
        if game.deal_over or rng.random() < 0.5:
            continue
        caller, viewer = started(Heuristic(), game.rules), rng.randrange(4)
        worlds, _, weights = likely_worlds(game._states, np.array([viewer]), game.rules, caller, 30, 5)
        dealt, _ = deal_worlds(game._states, [viewer], game.rules, 300, 5)
        fit = likelihoods(dealt, np.full(len(dealt), viewer), game.rules, caller)
        index = {world.tobytes(): k for k, world in enumerate(dealt)}
        expected = fit * min(30, len(dealt)) / fit.sum()
        drawn = np.zeros(len(dealt))
        drawn[[index[world.tobytes()] for world in worlds]] = weights
        assert weights.sum() == pytest.approx(min(30, len(dealt))) and (weights > 0).all()
        assert np.abs(drawn - expected).max() < (1.0 if len(dealt) > 30 else 1e-9)
        assert np.abs(np.cumsum(drawn - expected)).max() < 0.5 + 1e-6


def test_play_out_ends_every_deal():
    states, _ = positions("coinche", "ends")
    ended = states.copy()
    differences = play_out(ended, Rules.preset("coinche"), started(Random(1), "coinche"))
    assert (ended["phase"] >= DEAL_OVER).all()
    assert differences.tolist() == (ended["deal_scores"][:, 0] - ended["deal_scores"][:, 1]).tolist()


def test_single_cards_are_played_without_a_world(monkeypatch):
    rules, states, seats = late("forced", 30, range(1, 5))

    def refuse(*_):
        raise AssertionError("a world was dealt")

    monkeypatch.setattr(searching, "likely_worlds", refuse)
    assert (started(Search(), rules).act(states, seats) < 32).all()


def first_legal(observation, mask):
    return int(mask.argmax())


@pytest.mark.parametrize("bidder", [Random(3), "heuristic", "random", first_legal])
def test_the_bidder_makes_the_calls(bidder):
    states, seats = positions("contree", "bidder")
    calls = states["phase"] != PLAY
    actions = started(Search(1, bidder=bidder), "contree").act(states, seats)
    caller = started(as_player(bidder), "contree")
    assert actions[calls].tolist() == caller.act(states, seats)[calls].tolist()


def test_rounds_go_on_until_the_time_is_spent(monkeypatch):
    _, states, seats = late("time", 1, [12])
    clock = iter(np.arange(0, 100, 0.004))  # four milliseconds between two looks
    monkeypatch.setattr(searching.time, "perf_counter", lambda: next(clock))
    seeds = []

    def dealt(*arguments):
        seeds.append(arguments[-1])
        return likely_worlds(*arguments)

    monkeypatch.setattr(searching, "likely_worlds", dealt)
    started(Search(2, ms=18, seed=7), "classic").act(states, seats)
    assert seeds == [7, 8, 9, 10, 11]


# --- the levels -------------------------------------------------------------------------------------------------


def test_careless_throws_its_share_of_cards_and_calls_as_the_other_does():
    states, seats = positions("classic", "careless", deals=40)
    plain = started(Heuristic(), "classic").act(states, seats)
    play = states["phase"] == PLAY
    for share, low, high in ((0.0, 0.0, 0.0), (0.5, 0.1, 0.4), (1.0, 0.3, 0.7)):
        actions = started(Careless(share), "classic").act(states, seats)
        assert (actions[~play] == plain[~play]).all()
        assert low <= (actions[play] != plain[play]).mean() <= high


def test_players_without_search_do_not_load_the_solver():
    program = "import sys, belote_env.players as p; p.Random(); sys.exit('belote_env.solver' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_levels_have_names():
    assert isinstance(make_player("easy"), Careless)
    assert isinstance(make_player("medium"), Heuristic)
    hard, expert = make_player("hard"), make_player("expert")
    assert isinstance(hard, Search) and isinstance(expert, Expert)
    assert started(hard, "classic").name == "search(20)" and started(expert, "classic").name == "search(80)"


def test_expert_is_a_released_policy_where_there_is_one(monkeypatch):
    """With the extra `[onnx]`: its calls and early cards, and exact values at the end; at other tables Search."""
    pytest.importorskip("onnxruntime")
    expert = started(make_player("expert"), "contree")
    assert expert.name == "search(120, solver, calls: contree, cards: contree, last 4 tricks)"
    states, seats = positions("contree", "expert", deals=120, phase=PLAY)
    alone = started(make_player("contree"), "contree").act(states, seats)
    same = started(Search(120, mode="solver", bidder="contree", player="contree", tricks=4), "contree")
    early = states["n_cards"] < 16
    np.testing.assert_array_equal(expert.act(states, seats)[early], alone[early])
    assert (expert.act(states, seats) != alone)[~early].any()
    np.testing.assert_array_equal(expert.act(states, seats), same.act(states, seats))
    assert started(expert, "coinche").name == "search(80)"
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert started(make_player("expert"), "contree").name == "search(80)"


def test_the_docs_say_what_each_name_is():
    """Whatever a name is at a table, its row in docs/players.md has the Python of that player, and no other's."""
    pytest.importorskip("onnxruntime")
    page = (Path(__file__).parent.parent / "docs" / "players.md").read_text()
    rows = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (`.*) \|$", page.partition("\n\n## ")[0], re.M))
    known = {name: text for names, text in rows.items() for name in re.findall(r"`(\w+)`", names)}
    assert set(known) == {*PLAYERS, *released_policies()}
    words = {word: getattr(players, word) for word in players.__all__}
    for name, text in known.items():
        written = [eval(code, dict(words)) for code in re.findall(r"`([A-Z]\w*\(.*?\))`", text)]
        found = set()
        for rules in ("classic", "contree"):
            try:
                found.add(started(make_player(name), rules).name)
            except ValueError:  # a policy made for other rules
                assert name in released_policies()
        assert {player.name for player in written} == found, name


@pytest.mark.parametrize("tricks", [1, 3, 8])
def test_only_the_last_tricks_are_searched(tricks):
    states, seats = positions("contree", f"tricks {tricks}", deals=12)
    arguments = {"mode": "solver", "bidder": "random", "player": Careless(0.5)}
    out = started(Search(10, tricks=tricks, **arguments), "contree").act(states, seats)
    whole = started(Search(10, **arguments), "contree").act(states, seats)
    cards = started(Careless(0.5), "contree").act(states, seats)
    calls = started(Random(), "contree").act(states, seats)
    playing, late = states["phase"] == PLAY, states["n_cards"] >= 32 - 4 * tricks
    np.testing.assert_array_equal(out, np.where(playing, np.where(late, whole, cards), calls))
    assert playing.any() and late.any() and not playing.all()


def test_what_differs_has_another_name():
    bold = Heuristic(take_one=50)
    players = [bold, Heuristic(), Careless(0.3), Careless(0.4), Careless(0.3, Search(20)), Careless(0.3, bold)]
    players += [Search(20), Search(80), Search(ms=5), Search(20, mode="solver"), Search(20, bidder=bold)]
    players += [Search(20, bidder="playout"), Search(20, bidder="random"), Search(20, mode="solver", bidder="random")]
    players += [Search(20, player="random"), Search(20, tricks=4), Search(20, player="random", tricks=4)]
    assert len({player.name for player in players}) == len(players)
    assert Search(20, bidder="medium").name == Search(20).name == "search(20)"
    assert Careless(0.3, "heuristic").name == make_player("easy").name == "careless(0.3)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"worlds": 0}, "worlds=0: a whole number from 1 to"),
        ({"threads": 0}, "threads=0: a whole number from 1 to"),
        ({"seed": -1}, "seed=-1: a whole number from 0 to"),
        ({"ms": 0}, "ms=0: a number of milliseconds above 0 is needed"),
        ({"ms": float("nan")}, "ms=nan: a number of milliseconds above 0 is needed"),
        ({"ms": 10**400}, "a number of milliseconds above 0 is needed"),
        ({"mode": np.array(["playout", "solver"])}, "is not one of 'playout', 'solver'"),
        ({"tricks": 0}, "tricks=0: a whole number from 1 to 8"),
        ({"player": "playout"}, "'playout' is not a player"),
        ({"mode": "guess"}, "mode='guess' is not one of 'playout', 'solver'"),
        ({"bidder": "solver"}, "bidder='solver' is neither 'playout' nor one of random, heuristic, easy"),
    ],
)
def test_arguments_are_checked(arguments, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Search(**arguments)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("bidder", [np.array(["heuristic", "playout"]), Random, 3], ids=repr)
def test_a_bidder_is_a_player(bidder):
    with pytest.raises(TypeError, match="a player is"):
        Search(bidder=bidder)


@pytest.mark.parametrize("share", [-0.1, 1.5, True, "half", float("nan")])
def test_shares_are_checked(share):
    with pytest.raises(ValueError, match="a number from 0 to 1 is needed"):
        Careless(share)


@pytest.mark.parametrize("player", [None, 3, Random], ids=repr)
def test_careless_needs_another_player(player):
    with pytest.raises(TypeError, match="a player is"):
        Careless(0.3, player)


def test_numbers_of_numpy():
    assert Careless(np.float32(0.5)).share == 0.5 and Search(ms=np.int64(4)).ms == 4


@pytest.mark.parametrize("table", ["classic", "contree"])
@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_threads_play_the_same(kind, table):
    states, seats = positions(table, f"copies {kind}", deals=2)
    player = started(KINDS[kind](), table)
    actions = player.act(states, seats).tolist()
    for other in (pickle.loads(pickle.dumps(player)), copy.deepcopy(player)):
        assert other.act(states, seats).tolist() == actions
    with ThreadPoolExecutor(3) as pool:
        for same in pool.map(lambda _: player.act(states.copy(), seats).tolist(), range(3)):
            assert same == actions


def test_expert_is_copied_and_blind_at_the_policys_table():
    pytest.importorskip("onnxruntime")
    expert = started(make_player("expert"), "contree")
    states, seats = positions("contree", "expert swap", deals=3)
    actions = expert.act(states, seats)
    for other in (pickle.loads(pickle.dumps(expert)), copy.deepcopy(expert)):
        assert other.act(states, seats).tolist() == actions.tolist()
    swapped, rows = deal_worlds(states, seats, "contree", 1, seed=99)
    assert expert.act(swapped, seats[rows]).tolist() == actions[rows].tolist()


class Answers(Player):
    """Answers the same for every position."""

    name = "answers"

    def __init__(self, answer):
        self.answer = answer

    def act(self, states, seats):
        return np.full(len(states), self.answer) if isinstance(self.answer, int) else self.answer


@pytest.mark.parametrize("answer", [0, 999, -1, None, np.zeros(1, np.int64)], ids=repr)
@pytest.mark.parametrize("role", ["player", "bidder"])
@pytest.mark.parametrize("mode", ["playout", "solver"])
def test_what_is_gained_on_is_a_legal_action(mode, role, answer):
    states, seats = positions("contree", "bad answers", deals=3)
    with pytest.raises(ValueError, match="answers (played|must return)"):
        started(Search(2, mode=mode, **{role: Answers(answer)}), "contree").act(states, seats)
