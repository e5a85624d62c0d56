"""The arena: exact zeros, honest intervals, nothing that depends on the batch, illegal players named."""

import json

import numpy as np
import pytest
from rich.console import Console

from belote_env import Rules
from belote_env.arena import match, play_match, regret
from belote_env.arena.result import MOST_DEALS
from belote_env.engine import apply
from belote_env.envs.batch import DEAL, MATCH, start_episode
from belote_env.players import Heuristic, Player, Random
from belote_env.state import DEAL_OVER, new_states


def comparable(result):
    """A result without the times."""
    record = result.to_dict()
    for side in ("a", "b"):
        for name in ("timed", "cpu_seconds", "cpu_us"):
            del record[side][name]
    return record


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_a_deterministic_player_ties_itself_exactly(name, episode):
    result = play_match(name, name, deals=50, episode=episode, seed=3)
    assert result.mean == 0.0
    assert result.interval == 0.0
    assert (result.wins, result.losses, result.ties) == (0, 0, 50)
    assert not result.differences.any()
    assert result.a.contracts == result.b.contracts > 0


def test_two_seeds_of_random_are_equal_within_the_interval():
    result = play_match(Random(1), Random(2), deals=2000, seed=4)
    assert 0 < abs(result.mean) < result.interval < 10


def test_the_interval_is_that_of_the_pairs():
    result = play_match(Heuristic(), Random(), deals=300, seed=1)
    assert result.mean == pytest.approx(result.differences.mean())
    assert result.interval == pytest.approx(1.96 * result.differences.std(ddof=1) / 300**0.5, rel=1e-3)
    assert result.wins == (result.differences > 0).sum()
    assert result.wins + result.losses + result.ties == result.pairs == 300


def test_swapping_the_players_negates_the_result():
    one = play_match(Heuristic(), Random(), deals=100, seed=6)
    other = play_match(Random(), Heuristic(), deals=100, seed=6)
    assert one.mean == -other.mean
    assert (one.differences == -other.differences).all()
    assert one.a.contracts == other.b.contracts


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_results_do_not_depend_on_the_batch(episode):
    results = [
        play_match(Heuristic(), Random(2), deals=40, episode=episode, seed=9, pairs_at_once=size)
        for size in (1, 7, 40, 1000)
    ]
    for other in results[1:]:
        assert comparable(other) == comparable(results[0])
        assert (other.differences == results[0].differences).all()


def test_deal_i_does_not_depend_on_how_many_deals_are_played():
    few = play_match(Heuristic(), Random(), deals=20, seed=5)
    many = play_match(Heuristic(), Random(), deals=60, seed=5)
    assert (many.differences[:20] == few.differences).all()


def test_the_heuristic_beats_random_clearly():
    result = play_match(Heuristic(), Random(), deals=1000, seed=11)
    assert result.mean - result.interval > 40
    assert result.a.made_rate > 0.6
    assert result.deals == 2000
    assert result.a.contracts + result.b.contracts + result.all_pass == 2000


def test_whole_matches():
    result = play_match(Heuristic(), Random(), deals=40, episode="match", seed=2)
    assert result.deals > 80
    assert result.win_rate > 0.8
    assert 0 <= result.win_interval < 0.2
    assert result.wins > result.losses
    assert result.mean > 20


def test_the_match_score_decides_a_match():
    rules = Rules.preset("single_deal")  # one deal is the match, equal scores draw it
    deals = play_match(Heuristic(), Random(), rules, deals=60, episode="match", seed=2)
    states = new_states(1)
    start_episode(states, 0, rules.packed, np.uint64(2), 0, MATCH)
    assert states["scores"].tolist() == [[0, 0]]
    assert deals.deals == 120
    assert deals.mean == pytest.approx(deals.differences.mean())


class Fixed(Player):
    """Answers what it is told to."""

    name = "stubborn"

    def __init__(self, answer):
        self.answer = answer

    def act(self, states, seats):
        return self.answer(len(states))


def test_an_illegal_action_names_the_player_and_the_position():
    with pytest.raises(
        ValueError, match=r"^stubborn played 0, which is not legal for seat \d: legal are .*pass.* deal "
    ):
        play_match("random", Fixed(lambda n: np.zeros(n, np.int64)), deals=10)


@pytest.mark.parametrize("number", [-1, 40, 113, 10**12])
def test_numbers_beyond_the_actions_are_illegal(number):
    with pytest.raises(ValueError, match=f"stubborn played {number}, which is not legal"):
        play_match(Fixed(lambda n: np.full(n, number)), "random", deals=10)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (lambda n: np.full(n, 32.0), "32.0"),
        (lambda n: np.full(n, np.nan), "nan"),
        (lambda n: np.full(n, True), "True"),
        (lambda n: np.full(n, "pass"), "'pass'"),
        (lambda n: np.full(n, 2**64 - 1, np.uint64), "18446744073709551615"),
        (lambda n: [32] * (n - 1) + [10**400], "1000000000"),
        (lambda n: [32] * (n - 1) + [None], "None"),
        (lambda n: [32] * (n - 1) + [[32, 32]], "[32, "),
        (lambda n: np.full(n + 1, 32), "int64 of shape (11,)"),
        (lambda n: np.full((n, 1), 32), "int64 of shape (10, 1)"),
        (lambda n: 32, "32"),
        (lambda n: None, "None"),
    ],
)
def test_answers_of_the_wrong_shape_or_type(answer, wrong):
    words = r"^stubborn must return \d+ integers, not .*; position: classic deal "
    with pytest.raises(ValueError, match=words) as caught:
        play_match(Fixed(answer), Fixed(answer), deals=10)
    assert wrong in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint64, list])
def test_answers_of_any_integers(kind):
    class Other(Random):
        def act(self, states, seats):
            actions = super().act(states, seats)
            return actions.tolist() if kind is list else actions.astype(kind)

    other = play_match(Other(1), Random(2), deals=5, seed=np.int64(3))
    assert comparable(other) == comparable(play_match(Random(1), Random(2), deals=5, seed=3))
    assert type(other.seed) is int and other.unfinished == 0


@pytest.mark.parametrize("preset", ["classic", "coinche"])
def test_a_match_without_an_end_is_stopped_and_drawn(preset):
    passing = Fixed(lambda n: np.full(n, 32, np.int64))
    result = play_match(passing, passing, preset, deals=3, episode="match")
    assert result.unfinished == 6
    assert result.deals == result.all_pass == 6 * MOST_DEALS
    assert (result.wins, result.ties, result.losses, result.win_rate, result.mean) == (0, 3, 0, 0.5, 0.0)
    assert result.to_dict()["unfinished"] == 6
    console = Console(width=120)
    with console.capture() as capture:
        console.print(result.table())
    assert "6 matches stopped after 1,000 deals" in " ".join(capture.get().split())


def test_only_matches_without_an_end_are_stopped(monkeypatch):
    ended = play_match(Heuristic(), Random(), deals=2, episode="match", seed=2)
    monkeypatch.setattr(match, "MOST_DEALS", int(ended.deals))
    assert comparable(play_match(Heuristic(), Random(), deals=2, episode="match", seed=2)) == comparable(ended)
    monkeypatch.setattr(match, "MOST_DEALS", 2)
    short = play_match(Heuristic(), Random(), deals=2, episode="match", seed=2)
    assert (short.unfinished, short.deals, short.ties) == (4, 8, 2)


def test_a_player_cannot_change_the_table():
    class Vandal(Heuristic):
        def act(self, states, seats):
            actions = super().act(states, seats)
            states["scores"] = 5000
            states["hands"] = 0
            return actions

    assert play_match(Vandal(), Random(), deals=30).mean == play_match(Heuristic(), Random(), deals=30).mean


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"deals": 1}, "deals=1: a whole number from 2 to 2147483647 is needed"),
        ({"deals": 10**15}, "deals=1000000000000000: a whole number"),
        ({"deals": 2.0}, "deals=2.0: a whole number"),
        ({"episode": "trick"}, "episode='trick' is not one of 'deal', 'match'"),
        ({"seed": -1}, "seed=-1: a whole number from 0 to 2**64 - 1"),
        ({"seed": True}, "seed=True: a whole number"),
        ({"seed": 1.5}, "seed=1.5: a whole number"),
        ({"seed": None}, "seed=None: a whole number"),
        ({"pairs_at_once": 0}, "pairs_at_once=0: a whole number"),
        ({"pairs_at_once": 8.0}, "pairs_at_once=8.0: a whole number"),
        ({"rules": "poker"}, "'poker' is not a preset"),
    ],
)
def test_arguments_are_checked(arguments, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        play_match("random", "random", **arguments)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_as_table_and_json(episode):
    result = play_match("heuristic", "random", deals=20, episode=episode, progress=True)
    record = json.loads(result.to_json())
    assert record == result.to_dict()
    assert record["a"]["name"] == "heuristic" and record["a"]["cpu_us"] > 0
    console = Console(width=100)
    with console.capture() as capture:
        console.print(result.table())
    text = capture.get()
    assert f"{result.mean:+.2f} ± {result.interval:.2f}" in text
    assert ("matches won" in text) == (episode == "match")


def positions(count, preset="classic", seed=5):
    states = new_states(count)
    for i in range(count):
        start_episode(states, i, Rules.preset(preset).packed, np.uint64(seed), i, DEAL)
    return states


@pytest.mark.parametrize("preset", ["classic", "contree"])
def test_given_states_are_played_as_the_same_deals_from_a_seed(preset):
    states = positions(30, preset)
    before = states.copy()
    seeded = play_match(Heuristic(), Random(), preset, deals=30, seed=5)
    given = play_match(Heuristic(), Random(), preset, deals=states, pairs_at_once=8)
    assert (states == before).all()
    assert (given.differences == seeded.differences).all()
    assert given.seed is None
    assert comparable(given) | {"seed": 5} == comparable(seeded)
    console = Console(width=120)
    with console.capture() as capture:
        console.print(given.table())
    assert "from given positions" in capture.get()


def test_positions_in_play_from_both_sides():
    states = positions(40)
    player = Random(7)
    player.start("classic")
    for _ in range(20):  # into the bidding of some, the play of others
        open_rows = np.flatnonzero(states["phase"] < DEAL_OVER)
        for i, action in zip(open_rows, player.act(states[open_rows], states["turn"][open_rows]), strict=True):
            apply(states, i, player.rules.packed, action)
    states = states[states["phase"] < DEAL_OVER]
    assert len(states) > 10
    one, other = (play_match(*pair, deals=states) for pair in ((Heuristic(), Random()), (Random(), Heuristic())))
    assert one.differences.any() and (one.differences == -other.differences).all()
    assert not play_match("random", "random", deals=states).differences.any()
    matches = play_match("heuristic", "random", deals=states[:6], episode="match")
    assert matches.deals > 24 and matches.unfinished == 0


def test_a_late_deal_of_a_match_is_not_stopped_early():
    states = positions(2)
    states["deal"] = 5 * MOST_DEALS
    assert play_match("heuristic", "random", deals=states, episode="match").unfinished == 0


def test_states_are_checked():
    rules, states = Rules.preset("classic"), positions(3)
    with pytest.raises(ValueError, match=r"2 to 2147483647 states in a row are needed, not an array of shape \(1,\)"):
        play_match("random", "random", deals=states[:1])
    with pytest.raises(ValueError, match=r"2 to 2147483647 states in a row are needed, not an array of shape \(1, 3\)"):
        play_match("random", "random", deals=states[None])
    while states["phase"][1] < DEAL_OVER:
        apply(states, 1, rules.packed, 32)
    with pytest.raises(ValueError, match=r"^deals\[1\] cannot be played, it is over; position: classic deal 1 "):
        play_match("random", "random", deals=states)
    states["pack"][2] = 40
    with pytest.raises(ValueError, match=r"^deals\[2\] is damaged"):
        play_match("random", "random", deals=states)


class Bar:
    """Stands for rich's Progress and keeps how far each match said it was."""

    seen: list

    def __init__(self, *columns, **settings):
        Bar.seen = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def add_task(self, description, total):
        return 0

    def update(self, task, completed):
        Bar.seen.append(completed)


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_progress_goes_on_within_a_batch(monkeypatch, episode):
    monkeypatch.setattr("belote_env.arena.match.Progress", Bar)
    play_match("random", "heuristic", "classic", deals=30, episode=episode, pairs_at_once=20)
    assert Bar.seen == sorted(Bar.seen) and Bar.seen[-1] == 30 and 20 in Bar.seen
    assert len({pairs for pairs in Bar.seen if 0 < pairs < 20}) > 10


def test_progress_of_regret(monkeypatch):
    monkeypatch.setattr("belote_env.arena.meter.Progress", Bar)
    regret("heuristic", "classic", deals=3)
    assert Bar.seen == sorted(Bar.seen) and Bar.seen[-1] == 3 and len({done for done in Bar.seen if 0 < done < 3}) > 10


def test_results_fit_a_line():
    result = play_match("heuristic", "random", "classic", deals=2, regret=True)
    assert all(repr(one).startswith("<Regret ") and len(repr(one)) < 80 for one in result.regrets)
