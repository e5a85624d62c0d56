"""The solver against the referee, against plain minimax, and its doors."""

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from endings import ending, random_table, tables
from plain_search import difference
from referee_solver import card_values

from belote_env import Game, Rules
from belote_env.arena import play_match, regret
from belote_env.cards import CARD_NAMES
from belote_env.rulings import checked_states
from belote_env.scoring import deal_score
from belote_env.solver import NO_VALUE, best_line, reaches, solve, solve_many, solve_score
from belote_env.solver.position import EPOCH
from belote_env.solver.root import POINTS_OBJECTIVE, SCORE_OBJECTIVE, new_scratch, solve_rows
from belote_env.solver.search import ABOVE, BELOW
from belote_env.solver.table import STAMP, STAMP_BITS
from belote_env.state import LEVEL_VALUES, new_states
from belote_env.worlds import count_worlds, deal_worlds

LONG = bool(os.environ.get("BELOTE_ORACLE_LONG"))
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
#: Endings for each table and strain, up to five tricks of them at length; one in ten also meets the slow referee.
ENDINGS = 90 if LONG else 20 if JIT else 6


def refereed(game: Game, settings: dict) -> dict[str, int]:
    s = game._states[0]
    trick = [card for _, card in game.trick]
    return card_values(
        settings,
        [game.hand(seat) for seat in range(4)],
        int(s["leader"]),
        trick,
        game.contract.trump,
        game.points,
        [int(won) for won in s["won"]],
    )


def plain(game: Game) -> tuple[dict[str, int], dict[str, int]]:
    """Trick points of the mover's side for each card, and its score less the other's, by minimax over states."""
    points, scores = {}, {}
    side = game.turn % 2
    for card in game.names(game.legal_actions()):
        ahead = game.copy()
        ahead.play(card)
        # the points of both sides add up to 162, or 252 where all tricks are one side's
        d = difference(ahead._states, game.rules, side)
        points[card] = max(d, 0) if abs(d) == 252 else (162 + d) // 2
        scores[card] = score_at(game, d)
    return points, scores


def score_at(game: Game, d: int) -> int:
    """The mover's side's score less the other's, when its trick points are d more than the other's."""
    s, rules = game._states[0], game.rules
    takers = int(s["taker"]) % 2
    d = d if game.turn % 2 == takers else -d
    belotes = [20 * sum(int(holder) >= 0 and holder % 2 == side for holder in s["belote"]) for side in range(2)]
    capot = abs(d) == 252
    mine = max(d, 0) if capot else (162 + d) // 2
    other = max(-d, 0) if capot else 162 - mine
    _, a, b, _ = deal_score(
        rules.packed,
        mine,
        other,
        (8 if d > 0 else 0) if capot else 4,
        belotes[takers],
        belotes[1 - takers],
        int(s["level"]),
        int(s["multiplier"]),
        int(s["pot"]),
    )
    return int(a - b) if game.turn % 2 == takers else int(b - a)


@pytest.mark.parametrize(("rules", "settings", "trump"), tables(), ids=lambda x: getattr(x, "name", None))
def test_endings_at_every_table(rules, settings, trump):
    rng = random.Random(f"{rules.name} {trump}")
    for k in range(ENDINGS):
        longest = (20 if LONG else 16) if JIT else 8
        game = ending(rng, rules, trump, rng.randint(1, longest))
        points, scores = plain(game)
        assert solve(game) == points, game.to_text()
        assert solve_score(game) == scores, game.to_text()
        if k % 10 == 0 and sum(len(game.hand(seat)) for seat in range(4)) <= 12:
            assert refereed(game, settings) == points, game.to_text()


def test_endings_under_random_rules():
    rng = random.Random(5)
    capots = 0
    for _ in range(1000 if LONG else 150):
        rules, settings, trump = random_table(rng)
        game = ending(rng, rules, trump, rng.randint(1, 12))
        values = refereed(game, settings)
        capots += len({252, 0} & set(values.values())) == 1 and len(set(values.values())) > 1
        assert solve(game) == values, game.to_text()
    assert capots, "no ending in which capot was at stake"


@pytest.mark.skipif(not JIT, reason="five tricks of plain minimax are for compiled kernels")
def test_capot_at_stake():
    """One side has every trick so far and may or may not get the others: the cards left do not say all."""
    rng = random.Random(9)
    found = 0
    while found < (300 if LONG else 200):
        rules, _, trump = random_table(rng)
        game = ending(rng, rules, trump, 20 if LONG else 16)
        if 0 not in game._states[0]["won"]:
            continue
        values = solve(game)
        if len({252, 0} & set(values.values())) == 0 or len(set(values.values())) == 1:
            continue
        found += 1
        assert values == plain(game)[0], game.to_text()


#: A table that forgets who still has every trick gives wrong values here, and in one of 400 deals with capot at stake.
SAME_CARDS_OTHER_CHANCES = [
    "classic(second_round=any,undertrump=free,partner_winning=no_trump,belote_on_failure=lost,rounding=10,"
    "tie_break=drawn) deal 0 dealer 3 scores 0-0 pot 0 seed 0 "
    "pack KC8DKD9CQS8C7S9S10SJSAS9H10CKHJC9D7H8S10D7C7DJDQC8HQHQD10HJHKSACADAH "
    "contract 0 H cards 7S AS 8S KS JC 7C AC 8C QH QS KH 7H",
]


@pytest.mark.skipif(not JIT, reason="five tricks of plain minimax are for compiled kernels")
@pytest.mark.parametrize("position", SAME_CARDS_OTHER_CHANCES)
def test_the_same_cards_with_and_without_a_chance_of_capot(position):
    game = Game.parse(position)
    values = solve(game)
    assert 252 in values.values()
    assert values == plain(game)[0]


def full_deal(rules: str = "contree", seed: int = 1, **contract) -> Game:
    rng = random.Random(seed)
    cards = list(range(32))
    rng.shuffle(cards)
    hands = [[CARD_NAMES[c] for c in cards[8 * k : 8 * k + 8]] for k in range(4)]
    if Rules.preset(rules).bidding == "auction":
        contract = {"value": 90, **contract}
    return Game.from_play(rules, hands, dealer=rng.randrange(4), taker=rng.randrange(4), **contract)


def test_the_score_never_falls_as_points_rise():
    """What makes the best card in points a best card for the score: for every contract, call, belote and pot."""
    rng = random.Random(3)
    for _ in range(400):
        rules, _, _ = random_table(rng)
        level = rng.randrange(len(LEVEL_VALUES)) if rules.bidding == "auction" else 0
        multiplier = rng.choice([1, 2, 4]) if rules.bidding == "auction" else 1
        holders = [rng.randrange(2) for _ in range(rng.choice([0, 1, 1, 4]) if rules.all_trump else rng.randrange(2))]
        belotes = [20 * holders.count(side) for side in range(2)]
        pot = rng.choice([0, 81, 162]) if rules.tie == "litige" else 0
        ends = [(0, 252, 0), *((p, 162 - p, 4) for p in range(163)), (252, 0, 8)]
        results = [
            deal_score(rules.packed, a, b, tricks, *belotes, level, multiplier, pot)[1:3] for a, b, tricks in ends
        ]
        scores = [int(a - b) for a, b in results]
        assert scores == sorted(scores), (rules, level, multiplier, belotes, pot)


@pytest.mark.skipif(not JIT, reason="a full deal is for compiled kernels")
def test_the_best_line_ends_with_the_best_value():
    for seed in range(4):
        game = full_deal(seed=seed, trump="SHDC"[seed])
        values, scores, side = solve(game), solve_score(game), game.turn % 2
        line = best_line(game)
        assert len(line) == 32
        for seat, card in line:
            assert game.turn == seat
            game.play(card)
        assert game.points[side] == max(values.values())
        assert game.deal_scores[side] - game.deal_scores[1 - side] == max(scores.values())


@pytest.mark.skipif(not JIT, reason="full deals are for compiled kernels")
def test_values_follow_the_play():
    """The value of a card is the best value after it, in the view of the side that played it."""
    rng = random.Random(8)
    games = [full_deal("classic", seed=seed, trump="C") for seed in range(3)]
    while len(games) < 100:  # deals in which capot is at stake
        rules, _, trump = random_table(rng)
        game = ending(rng, rules, trump, 32)
        if len({252, 0} & set(solve(game).values())) and len(set(solve(game).values())) > 1:
            games.append(game)
    for game in games:
        while not game.deal_over:
            values, side = solve(game), game.turn % 2
            card = rng.choice(list(values)) if rng.random() < 0.2 else max(values, key=values.get)
            game.play(card)
            if game.deal_over:
                assert game.points[side] == values[card]
                break
            after = max(solve(game).values())
            other = {252: {0}, 0: {162, 252}}.get(after, {162 - after})
            assert values[card] == after if game.turn % 2 == side else values[card] in other, game.to_text()


def test_thresholds_agree_with_values():
    rng = random.Random(4)
    for rules, _, trump in rng.sample(tables(), 8):
        game = ending(rng, rules, trump, 12 if JIT else 6)
        best = max(solve(game).values())
        for points in {-5, 0, 1, 82, 162, 163, 252, best, best - 1, min(best + 1, 252)}:
            assert reaches(game, points) == (best >= points), points


def test_many_positions_at_once():
    rng = random.Random(6)
    rules = Rules.preset("coinche", no_trump=True, all_trump=True)
    longest = 16 if JIT else 7
    games = [ending(rng, rules, rng.choice(["S", "H", "NT", "AT"]), rng.randint(1, longest)) for _ in range(40)]
    states = np.concatenate([game._states for game in games])
    before = states.tobytes()
    for objective, one in (("points", solve), ("score", solve_score)):
        values = solve_many(states, rules, objective)
        assert values.dtype == np.int16
        assert values.shape == (40, 32)
        assert (values == solve_many(states, rules, objective, threads=3)).all()
        for game, row in zip(games, values, strict=True):
            assert {CARD_NAMES[c]: row[c] for c in np.flatnonzero(row != NO_VALUE)} == one(game)
    assert states.tobytes() == before
    assert solve_many(new_states(0), rules).shape == (0, 32)


def test_bad_input_is_refused_in_one_sentence():
    game = Game("classic", seed=1)
    for ask in (solve, solve_score, best_line, lambda g: reaches(g, 82), lambda g: reaches(g, 0)):
        with pytest.raises(ValueError, match="only a position in play has card values, this one is in round one"):
            ask(game)
    states = ending(random.Random(1), Rules.preset("classic"), "S", 8)._states
    with pytest.raises(ValueError, match="objective='wins' is not one of 'points', 'score'"):
        solve_many(states, "classic", "wins")
    with pytest.raises(ValueError, match="threads=0: a whole number from 1 to 1024 is needed"):
        solve_many(states, "classic", threads=0)
    with pytest.raises(ValueError, match="this one is in round one"):
        solve_many(np.concatenate([states, game._states]), "classic")
    states["hands"][0, 0] ^= states["hands"][0, 1]
    with pytest.raises(ValueError, match=r"states\[0\] is damaged"):
        solve_many(states, "classic")


def moved(hands, rng, keep):
    """Hands among which cards have moved, some of them out of the deal."""
    hands = [int(hand) for hand in hands]
    for _ in range(rng.randint(1, 12)):
        a, b = rng.sample(range(4), 2)
        if hands[a]:
            card = hands[a] & -hands[a]
            hands[a] ^= card
            hands[b] |= card if rng.random() < keep else 0
    return hands


@pytest.mark.parametrize("keep", [1.0, 0.5])
def test_hands_of_other_sizes_are_damage(keep):
    """More cards than a hand can have would run over the solver's frames."""
    rng = random.Random(2)
    refused = 0
    for _ in range(60):
        game = ending(rng, Rules.preset(rng.choice(["classic", "contree"])), "S", rng.randint(2, 20))
        states = game._states
        sizes = [int(hand).bit_count() for hand in states[0]["hands"]]
        states[0]["hands"] = moved(states[0]["hands"], rng, keep)
        if sizes == [int(hand).bit_count() for hand in states[0]["hands"]]:
            continue
        refused += 1
        with pytest.raises(ValueError, match=r"^states\[0\] is damaged"):
            solve_many(states, game.rules)
    assert refused > 40


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("turn", lambda seat: (seat + 1) % 4),
        ("leader", lambda seat: (seat + 1) % 4),
        ("winner", lambda seat: (seat + 1) % 4),
        ("won", lambda tricks: tricks + 1),
        ("points", lambda points: points - 300),
        ("n_cards", lambda n: n + 1),
        ("best", lambda card: (card + 1) % 32),
    ],
)
def test_fields_that_contradict_the_cards_are_damage(field, change):
    game = ending(random.Random(4), Rules.preset("classic"), "S", 15)  # one card on the table
    solve_many(game._states, "classic")
    game._states[field] = change(game._states[field])
    with pytest.raises(ValueError, match=r"^states\[0\] is damaged"):
        solve_many(game._states, "classic")


def test_a_card_that_a_seat_is_known_not_to_hold_is_damage():
    game = ending(random.Random(4), Rules.preset("classic"), "S", 15)
    game._states["barred"][0, 2] |= game._states["hands"][0, 2]
    with pytest.raises(ValueError, match=r"^states\[0\] is damaged"):
        solve_many(game._states, "classic")


def test_every_position_of_play_is_sound_and_of_its_rules():
    rng, n = random.Random(12), 0
    for k in range(60 if JIT else 10):
        rules, _, trump = random_table(rng)
        game = Game(rules, seed=rng.randrange(2**64)) if k % 2 else ending(rng, rules, trump, 32)
        while not game.deal_over:
            assert checked_states("states", game._states, rules) is game._states
            legal = game.legal_actions()
            game.play(legal[0] if rng.random() < 0.3 else rng.choice(legal))
            n += 1
        checked_states("states", game._states, rules)
    assert n > 150


@pytest.mark.parametrize(
    ("given", "rules", "words"),
    [
        (Game("contree", seed=1), "classic", r"states\[0\] is of another game than classic"),
        (Game("classic", seed=1), "contree", r"states\[0\] is of another game than contree"),
        (ending(random.Random(1), Rules.preset("classic"), "H", 9), "coinche", "another game than coinche"),
        (ending(random.Random(1), Rules.preset("coinche"), "H", 9), "classic", "another game than classic"),
        (ending(random.Random(1), Rules.preset("coinche", no_trump=True), "NT", 9), "coinche", "another game than"),
    ],
)
def test_positions_of_another_game_are_refused(given, rules, words):
    doors = [
        lambda: solve_many(given._states, rules),
        lambda: deal_worlds(given._states, [0], rules, 3),
        lambda: play_match("random", "random", rules, deals=np.repeat(given._states, 2)),
        lambda: regret("random", rules, deals=np.repeat(given._states, 2)),
    ]
    for door in doors:
        with pytest.raises(ValueError, match=words.replace("states", "(states|deals)")):
            door()


STATES = ending(random.Random(1), Rules.preset("classic"), "S", 8)._states


@pytest.mark.parametrize(
    "states", [None, STATES[0], [STATES[0]], STATES[None], np.zeros(3), STATES.tolist(), "classic"], ids=type
)
def test_what_is_no_array_of_states_is_refused(states):
    for door in (lambda: solve_many(states, "classic"), lambda: count_worlds(states, [0])):
        with pytest.raises(ValueError, match=r"^states: an array \(n,\) of `STATE`") as e:
            door()
        assert "\n" not in str(e.value)


def test_scattered_and_read_only_states_are_the_same():
    states = np.repeat(STATES, 6)
    locked = states[:3].copy()
    locked.setflags(write=False)
    for same in (states[::2], states[2::-1], locked):
        assert checked_states("states", same).flags.c_contiguous
        assert (solve_many(same, "classic") == solve_many(states[:3], "classic")).all()
        assert (count_worlds(same, [1, 2, 3]) == count_worlds(states[:3], [1, 2, 3])).all()


@pytest.mark.parametrize("points", [float("nan"), 81.5, 82.0, "82", None, True, [82], np.array([82])], ids=repr)
def test_thresholds_are_whole_numbers(points):
    game = ending(random.Random(1), Rules.preset("classic"), "S", 8)
    with pytest.raises(ValueError, match=r"^points=.*: a whole number is needed$"):
        reaches(game, points)
    assert reaches(game, 10**400) == reaches(game, 163) and reaches(game, -(10**400))
    assert reaches(game, np.uint8(1)) == reaches(game, 1)


@pytest.mark.parametrize("game", [None, "classic", STATES], ids=type)
def test_what_is_no_game_is_refused(game):
    for ask in (solve, solve_score, best_line, lambda g: reaches(g, 0)):
        with pytest.raises(TypeError, match="a position is a Game, not"):
            ask(game)


@pytest.mark.parametrize("objective", [None, [], "Points", np.array(["points", "score"])], ids=repr)
def test_objectives_are_checked(objective):
    with pytest.raises(ValueError, match="is not one of 'points', 'score'"):
        solve_many(STATES, "classic", objective)


def test_a_table_in_long_use_gives_what_a_fresh_one_does():
    """Also where its stamps begin again."""
    rng = random.Random(21)
    work, table = new_scratch()
    for k in range(150 if JIT else 15):
        rules, _, trump = random_table(rng)
        game = ending(rng, rules, trump, rng.randint(4, 24 if JIT else 8))
        if k % 10 == 0:
            work[EPOCH] = (k << STAMP_BITS) + STAMP - 1
        for objective in (POINTS_OBJECTIVE, SCORE_OBJECTIVE):
            used, fresh = np.empty((2, 1, 32), np.int16)
            for memory, values in (((work, table), used), (new_scratch(), fresh)):
                solve_rows(game._states, 0, 1, rules.packed, objective, BELOW, ABOVE, False, *memory, values)
            assert (used == fresh).all(), game.to_text()


@pytest.mark.skipif(not JIT, reason="a full deal is for compiled kernels")
def test_the_page_of_the_solver_runs(monkeypatch, tmp_path, capsys):
    page = (Path(__file__).parent.parent / "docs" / "solver.md").read_text()
    names: dict = {}
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(compile("\n".join(blocks), "solver.md", "exec"), names)
    assert names["reaches"](names["game"], 145) and not names["reaches"](names["game"], 146)
    printed = capsys.readouterr().out
    assert "{'9S': 145, 'QS': 142}" in page and "{'9S': 145, 'QS': 142}" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert Game.parse(Path("position.txt").read_text()) == names["game"]
