"""`SelfPlayVector`: same tables at any size, snapshots, refusals, rewards, what a reset shows."""

import contextlib
import copy
import os
import pickle
import random
import warnings

import numpy as np
import pytest
import referee as slow
from referee_observation import IDENTITY, View, action_in_frame
from test_aec import TABLES
from test_engine import TABLES as REFEREED

from belote_env import Game, Rules
from belote_env.cards import CARD_NAMES
from belote_env.envs import SelfPlayVector
from belote_env.notation import position_text
from belote_env.observation import HIDDEN_SIZE, SIZE, field_bits
from belote_env.state import STATE

CARDS = 0xFFFFFFFF
BUFFERS = ("observations", "action_mask", "hidden", "seat", "rewards", "done", "states")
_WEIGHTS = np.random.default_rng(0).integers(0, 2**64, SIZE // 8, dtype=np.uint64) | np.uint64(1)


def choices(vector, tables=None):
    """An action a table, a hash of what it shows and nothing else, so that it does not depend on the batch.

    Only for the first `tables` if told so; the others play their lowest.
    """
    shown = slice(0, tables)
    key = (vector.observations[shown].view(np.uint64) * _WEIGHTS).sum(1, dtype=np.uint64)
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mask = vector.action_mask[shown]
    nth = (key >> np.uint64(32)) % mask.sum(1, dtype=np.uint64)
    actions = vector.action_mask.argmax(1)
    actions[shown] = (mask.cumsum(1, dtype=np.uint64) > nth[:, None]).argmax(1)
    return actions


def shown(vector, i):
    return tuple(getattr(vector, name)[i : i + 1].tobytes() for name in BUFFERS)


def everything(vector):
    """Every buffer in bytes, the padding of the masks included, and what a snapshot holds."""
    buffers = {name: getattr(vector, name).tobytes() for name in BUFFERS}
    padded = vector._mask_words.tobytes()
    return {**buffers, "padded masks": padded, **{f"kept {k}": v.tobytes() for k, v in vector.snapshot().items()}}


def transcript(steps, tables, **arguments):
    """What the first `tables` tables show over some steps, a line each."""
    vector = SelfPlayVector(**arguments)
    lines = [[shown(vector, i)] for i in range(tables)]
    for _ in range(steps):
        vector.step(choices(vector, tables))
        for i in range(tables):
            lines[i].append(shown(vector, i))
    return lines


#: Every reward of every episode, with and without forced moves and the canonical frame, each at one table of rules.
KINDS = [
    ("deal", "points"),
    ("deal", "tricks"),
    ("deal", "win"),
    ("deal", "cards"),
    ("match", "points"),
    ("match", "tricks"),
    ("match", "win"),
]
LAWS = [
    {"episode": episode, "reward": reward, "skip_forced": skip, "canonical": canonical}
    for episode, reward in KINDS
    for skip in (False, True)
    for canonical in (False, True)
]


def rules_for(number, law):
    """Presets in turn; a deal alone is won or lost where it is the match."""
    alone = [name for name in TABLES if Rules.preset(name).target == 0]
    names = alone if (law["episode"], law["reward"]) == ("deal", "win") else TABLES
    return names[number % len(names)]


@pytest.mark.parametrize("number", range(len(LAWS)))
def test_size_and_threads_change_nothing(number):
    law = {**LAWS[number], "rules": rules_for(number, LAWS[number]), "hidden": number % 3 == 0, "seed": number}
    seven = transcript(200, 7, num_envs=7, **law)
    assert len({str(line) for line in seven}) == 7
    packs = [{np.frombuffer(step[-1], STATE)["pack"].tobytes() for step in line} for line in seven]
    assert min(map(len, packs)) > 1  # each has been dealt again
    assert transcript(200, 7, num_envs=7, threads=2, **law) == seven
    assert transcript(200, 7, num_envs=4096, threads=1 + number % 2, **law) == seven
    for threads in (1, 2):
        assert transcript(200, 1, num_envs=1, threads=threads, **law) == seven[:1]
    assert transcript(5, 1, num_envs=1, **{**law, "seed": 99}) != [line[:6] for line in seven[:1]]


@pytest.mark.parametrize("number", [0, 5, 11])
def test_a_share_of_a_batch_shows_its_tables(number):
    law = {**LAWS[number], "rules": rules_for(number, LAWS[number]), "hidden": True, "seed": number}
    whole = transcript(120, 9, num_envs=9, **law)
    assert transcript(120, 4, num_envs=4, **law) + transcript(120, 5, num_envs=5, first_table=4, **law) == whole
    share = SelfPlayVector(5, first_table=4, **law)
    for _ in range(60):
        share.step(choices(share))
    assert transcript(120, 5, num_envs=5, first_table=4, **law)[2][60] == shown(share, 2)
    kept, again = share.snapshot(), SelfPlayVector(5, first_table=4, **law)
    again.restore(kept)
    with pytest.raises(ValueError, match="snapshot is of another batch"):
        SelfPlayVector(5, **law).restore(kept)
    for vector in (share, again, pickle.loads(pickle.dumps(share))):
        for _ in range(60):
            vector.step(choices(vector))
        assert [shown(vector, i) for i in range(5)] == [line[120] for line in whole[4:]]


@pytest.mark.parametrize("first", [-1, 1.5, "1", 2**40, None])
def test_a_first_table_is_a_number_of_a_table(first):
    with pytest.raises((ValueError, TypeError), match="first_table"):
        SelfPlayVector(1, first_table=first)


def test_reset_repeats_the_seed():
    vector = SelfPlayVector(5, seed=3)
    first = [shown(vector, i) for i in range(5)]
    for _ in range(50):
        vector.step(choices(vector))
    vector.reset()
    assert [shown(vector, i) for i in range(5)] == first
    vector.reset(seed=4)
    assert [shown(vector, i) for i in range(5)] != first
    assert vector.reset(seed=2**64 - 1) is vector.observations


def test_shapes_and_strides():
    """Rows of the mask are padded to whole runs of 32 actions; what is seen of them is exactly the action space."""
    for table in TABLES:
        vector = SelfPlayVector(6, rules=table, hidden=True)
        n = vector.num_actions
        assert (vector.action_mask.shape, vector.action_mask.dtype) == ((6, n), np.int8)
        assert vector.action_mask.strides == (-(-n // 32) * 32, 1)
        assert (vector.observations.shape, vector.observations.dtype) == ((6, SIZE), np.uint8)
        assert vector.observations.flags.c_contiguous
        assert (vector.hidden.shape, vector.hidden.dtype) == ((6, HIDDEN_SIZE), np.uint8)
        assert (vector.rewards.shape, vector.rewards.dtype) == ((6, 4), np.float32)
        assert (vector.seat.shape, vector.done.dtype) == ((6,), np.bool_)
        buffers = {name: getattr(vector, name) for name in ("observations", "action_mask", "seat", "rewards", "done")}
        for _ in range(60):
            vector.step(choices(vector))
            assert not vector._mask_words.view(np.int8)[:, n:].any()
            assert set(np.unique(vector.observations)) == {0, 1}
            for seat, hidden, state in zip(vector.seat, vector.hidden, vector.states, strict=True):
                for k in range(3):
                    hand = int(state["hands"][(seat + k + 1) % 4])
                    assert hidden[32 * k : 32 * k + 32].tolist() == [hand >> c & 1 for c in range(32)]
        assert all(getattr(vector, name) is buffer for name, buffer in buffers.items())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "options", [{}, {"canonical": True, "hidden": True}, {"skip_forced": True, "threads": 2, "reward": "tricks"}]
)
def test_a_snapshot_comes_back_bit_for_bit(options, table):
    arguments = {"rules": table, "episode": "match", **options}
    vector = SelfPlayVector(9, seed=1, **arguments)
    for _ in range(45):
        vector.step(choices(vector))
    kept, stood = vector.snapshot(), everything(vector)
    frozen = {name: array.tobytes() for name, array in kept.items()}
    first = []
    for _ in range(50):
        vector.step(choices(vector))
        first.append(everything(vector))
    assert {name: array.tobytes() for name, array in kept.items()} == frozen
    other = SelfPlayVector(9, seed=8, **{**arguments, "threads": 3})
    for again in (vector, other):
        again.restore(kept)
        assert everything(again) == stood
        for lines in first:
            again.step(choices(again))
            assert everything(again) == lines


def test_a_snapshot_of_another_shape_is_refused():
    vector, other = SelfPlayVector(3, seed=1), SelfPlayVector(4, seed=1)
    before = everything(vector)
    with pytest.raises(ValueError, match="of another batch|this batch needs"):
        vector.restore(other.snapshot())
    with pytest.raises(ValueError, match="has no array 'arguments'"):
        vector.restore({})
    assert everything(vector) == before


@pytest.mark.parametrize("canonical", [False, True])
def test_an_illegal_action_names_the_table_and_changes_nothing(canonical):
    vector, rng = SelfPlayVector(8, seed=2, canonical=canonical, threads=2), random.Random(2)
    for _ in range(40):
        actions = choices(vector)
        table = rng.randrange(8)
        wrong = actions.copy()
        wrong[table] = rng.choice([*np.flatnonzero(vector.action_mask[table] == 0), -1, 41, 64, 10**12])
        before = everything(vector)
        with pytest.raises(ValueError, match=f"table {table}: action {wrong[table]} is not legal") as refused:
            vector.step(wrong)
        assert str(vector.action_mask[table].nonzero()[0].tolist()) in str(refused.value)
        assert position_text(vector.states, table, vector.rules) in str(refused.value)
        for shape in (actions[:7], actions.astype(np.float64), [list(actions)], actions > 40):
            with pytest.raises(ValueError, match="actions must be 8 integers"):
                vector.step(shape)
        assert everything(vector) == before
        vector.step(actions.astype(np.int32))


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_one_bad_table_of_thousands_stops_all(table, canonical):
    """The last of 4,096 tables, and two slices in flight: nothing has moved anywhere, not a byte of any buffer."""
    n = 4096
    vector = SelfPlayVector(n, rules=table, seed=2, canonical=canonical, hidden=True, threads=2, episode="match")
    for _ in range(12):
        vector.step(choices(vector))
    actions, before = choices(vector), everything(vector)
    last = n - 1
    illegal = int(np.flatnonzero(vector.action_mask[last] == 0)[-1])
    for action in (illegal, -1, vector.num_actions, 127, 10**12, np.iinfo(np.int64).max, np.iinfo(np.int64).min):
        wrong = actions.copy()
        wrong[last] = action
        with pytest.raises(ValueError, match=f"table {last}: action {action} is not legal") as refused:
            vector.step(wrong)
        assert position_text(vector.states, last, vector.rules) in str(refused.value)
        assert everything(vector) == before
    wrong[[5, n // 2]] = illegal_at = [int(np.flatnonzero(vector.action_mask[i] == 0)[0]) for i in (5, n // 2)]
    with pytest.raises(ValueError, match=f"table 5: action {illegal_at[0]} is not legal"):
        vector.step(wrong)
    wrong = actions.astype(np.uint64)
    wrong[last] = np.iinfo(np.uint64).max
    with pytest.raises(ValueError, match=f"table {last}: "):
        vector.step(wrong)
    for other in (
        actions.astype(np.float32),
        actions.astype(bool),
        actions.astype(str),
        actions.astype(object),
        actions[:last],
        actions[:, None],
        [*actions.tolist()[:last], 1.0],
        None,
        3,
    ):
        with pytest.raises(ValueError, match=f"actions must be {n} integers"):
            vector.step(other)
    assert everything(vector) == before
    vector.step(actions)
    assert everything(vector) != before


@pytest.mark.parametrize(
    "wrong", [{"num_envs": 0}, {"threads": 0}, {"episode": "x"}, {"reward": "x"}, {"reward": "win"}, {"rules": "x"}]
)
def test_refused_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)) if "rules" not in wrong else "preset"):
        SelfPlayVector(**{"num_envs": 2, **wrong})


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_refused_seeds(seed):
    with pytest.raises(ValueError, match=f"seed={seed}"):
        SelfPlayVector(1, seed=seed)


def episodes(steps, **arguments):
    """Sums of rewards, an episode each, table by table."""
    vector = SelfPlayVector(**arguments)
    running, sums = np.zeros(vector.num_envs), [[] for _ in range(vector.num_envs)]
    rows = np.arange(vector.num_envs)
    # the same choices at every reward and whether forced moves are shown or not: they depend on the episode and on
    # what each seat sees there
    for _ in range(steps):
        vector.step(choices(vector))
        assert (vector.rewards[:, 0] == vector.rewards[:, 2]).all()
        assert (vector.rewards[:, 1] == vector.rewards[:, 3]).all()
        assert (vector.rewards.sum(1) == 0).all()
        running += vector.rewards[:, 0]
        for i in rows[vector.done]:
            sums[i].append(running[i])
            running[i] = 0
    return sums


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("table", TABLES)
def test_rewards_have_one_sum_however_they_are_paid(table, episode):
    steps, common = (200, {"num_envs": 12}) if episode == "deal" else (900, {"num_envs": 3})
    common |= {"seed": 6, "rules": table, "episode": episode}
    points = episodes(steps, reward="points", **common)
    assert sum(map(len, points)) >= 3
    assert episodes(steps, reward="tricks", **common) == points
    for reward in ("points", "tricks"):
        skipping = episodes(steps, reward=reward, skip_forced=True, **common)
        for shown_all, skipped in zip(points, skipping, strict=True):
            assert len(skipped) >= len(shown_all)
            assert skipped[: len(shown_all)] == shown_all


def referee_at(vector, settings, i):
    """The slow referee at the start of the deal that a table shows."""
    s = vector.states[i]
    assert (s["n_calls"], s["n_cards"]) == (0, 0)
    pack, scores = [CARD_NAMES[c] for c in s["pack"]], tuple(map(int, s["scores"]))
    return slow.Referee(settings, pack, int(s["dealer"]), scores=scores, pot=int(s["pot"]))


def referee_pays(game, action, law):
    """Apply an action and the forced moves that are not shown; what side 0 gets for them."""
    paid = 0.0
    while True:
        before = game.trick_points[0] - game.trick_points[1]
        game.apply(action)
        if law["reward"] == "cards" or (law["reward"] == "tricks" and game.phase != "over"):
            paid += (game.trick_points[0] - game.trick_points[1] - before) / 256
        if game.phase == "over" and law["reward"] == "cards":
            return paid
        if game.phase == "over":
            if law["reward"] == "win":
                result = game.match_over()
                return paid + (0.0 if result in ("drawn", "continue") else 1.0 - 2.0 * result)
            rest = before if law["reward"] == "tricks" else 0
            return paid + (game.deal_scores[0] - game.deal_scores[1] - rest) / 256
        legal = game.legal()
        if not law["skip_forced"] or len(legal) > 1:
            return paid
        (action,) = legal


@pytest.mark.parametrize("number", range(len(LAWS)))
def test_rewards_are_what_the_referee_counts(number):
    """Step by step, and so the sum of an episode: points ÷ 256, exactly."""
    law = LAWS[number]
    table = rules_for(number, law)
    vector = SelfPlayVector(3, rules=table, seed=number, **law)
    settings = REFEREED[table][1]
    games, sums, ended = [referee_at(vector, settings, i) for i in range(3)], np.zeros(3), []
    deals = [[] for _ in range(3)]
    while len(ended) < (9 if law["episode"] == "deal" else 2):
        actions = choices(vector)
        for_referee = []
        for i, game in enumerate(games):
            frame = View(game, int(vector.seat[i])).canonical_frame() if law["canonical"] else IDENTITY
            (meant,) = [action for action in game.legal() if action_in_frame(action, frame) == actions[i]]
            for_referee.append(meant)
        vector.step(actions)
        sums += vector.rewards[:, 0]
        for i, game in enumerate(games):
            paid = referee_pays(game, for_referee[i], law)
            assert vector.rewards[i].tolist() == [paid, -paid, paid, -paid]
            if game.phase != "over":
                assert not vector.done[i]
                continue
            us, them = game.trick_points if law["reward"] == "cards" else game.deal_scores
            deals[i].append(us - them)
            assert vector.done[i] == (law["episode"] == "deal" or game.match_over() != "continue")
            if vector.done[i]:
                won = {0: 1, 1: -1, "drawn": 0}[game.match_over()] if law["reward"] == "win" else sum(deals[i]) / 256
                assert sums[i] == won
                ended.append(won)
                sums[i], deals[i] = 0, []
            games[i] = referee_at(vector, settings, i)
    assert any(ended)


def test_a_match_is_won_or_drawn():
    sums = episodes(900, num_envs=4, seed=6, rules="belote_501", episode="match", reward="win")
    flat = [total for one in sums for total in one]
    assert set(flat) == {-1.0, 1.0} or set(flat) == {-1.0, 0.0, 1.0}
    sums = episodes(400, num_envs=4, seed=6, rules="single_deal", reward="win")
    assert {total for one in sums for total in one} <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("table", TABLES)
def test_a_finished_table_shows_the_next_episode(table):
    """Gymnasium #1103 and cleanrl #499, auto-reset confusion: `rewards` and `done` belong to the episode that ended,
    observation, mask and seat to the new one."""
    vector = SelfPlayVector(6, rules=table, seed=4)
    number = [0] * 6
    shadows = [Game.parse(position_text(vector.states, i, vector.rules)) for i in range(6)]
    for _ in range(150):
        actions = choices(vector)
        vector.step(actions)
        for i, action in enumerate(actions):
            shadows[i].play(int(action))
            assert vector.done[i] == shadows[i].deal_over
            if vector.done[i]:
                ours, theirs = shadows[i].deal_scores
                assert vector.rewards[i].tolist() == [(ours - theirs) / 256, (theirs - ours) / 256] * 2
                number[i] += 1
                assert vector.states[i]["deal"] == number[i]
                assert (vector.states[i]["n_calls"], vector.states[i]["n_cards"]) == (0, 0)
                assert vector.seat[i] == (vector.states[i]["dealer"] + 1) % 4
                shadows[i] = Game.parse(position_text(vector.states, i, vector.rules))
            else:
                assert not vector.rewards[i].any()
            game, seat = shadows[i], int(vector.seat[i])
            assert seat == game.turn
            assert (vector.action_mask[i] == game.mask()).all()
            assert (vector.observations[i] == game.observe(seat)).all()
    assert min(number) >= 3


def test_circumstances_of_single_deals():
    """Random dealer, scores below the target, points held back in about one deal of ten where the table has litige."""
    vector = SelfPlayVector(4000, rules="classic", seed=1)
    s = vector.states
    assert s["scores"].min() >= 0
    assert s["scores"].max() < 1000
    assert 470 < s["scores"].mean() < 530
    assert np.bincount(s["dealer"], minlength=4).min() > 850
    assert 300 < (s["pot"] > 0).sum() < 500
    assert set(s["pot"].tolist()) == {0, 71, 81, 91}
    others = SelfPlayVector(500, rules="belote_501", seed=1).states
    assert not others["pot"].any()
    assert others["scores"].max() < 501


@pytest.mark.parametrize("table", TABLES)
def test_nothing_is_lost(table):
    """Every card is in one place, every trick somebody's, every point somebody's, at every moment of every table."""
    vector = SelfPlayVector(40, rules=table, seed=3, episode="match")
    for _ in range(300):
        s = vector.states
        places = np.concatenate([s["hands"], s["played"]], axis=1)
        together = np.bitwise_or.reduce(places, axis=1)
        counts = np.array([[int(place).bit_count() for place in row] for row in places])
        assert (counts.sum(1) == np.array([int(row).bit_count() for row in together])).all()  # nothing twice
        play = s["taker"] >= 0
        assert (together[play] == CARDS).all()
        assert (counts[:, 4:].sum(1) == s["n_cards"]).all()
        assert (s["won"].sum(1) == s["n_cards"] // 4).all()
        assert (field_bits(vector.observations, "to_act")[:, 0] == 1).all()
        assert (field_bits(vector.observations, "hand").sum(1) == counts[np.arange(40), vector.seat]).all()
        assert s["points"].sum(1).max() <= 152
        vector.step(choices(vector))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("copies", [copy.deepcopy, lambda vector: pickle.loads(pickle.dumps(vector))])
def test_copies_see_what_they_step(copies, threads):
    """The buffers of a copy are its own, and its kernels write to them."""
    vector = SelfPlayVector(6, rules="coinche", seed=4, threads=threads, hidden=True)
    for _ in range(20):
        vector.step(choices(vector))
    twin = copies(vector)
    for _ in range(60):
        actions = choices(vector)
        vector.step(actions)
        twin.step(actions)
        for name in ("observations", "action_mask", "hidden", "seat", "rewards", "done"):
            assert (getattr(vector, name) == getattr(twin, name)).all(), name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_survive_a_fork():
    vector = SelfPlayVector(8, seed=4, threads=2)
    vector.step(choices(vector))
    expected = copy.deepcopy(vector)
    expected.step(choices(expected))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
        child = os.fork()
    if child == 0:
        vector.step(choices(vector))
        os._exit(0 if (vector.states == expected.states).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_foreign_and_damaged_snapshots_are_refused():
    vector = SelfPlayVector(4, seed=1)
    vector.step(choices(vector))
    before = vector.snapshot()
    others = [
        SelfPlayVector(4, rules="belote_501").snapshot(),
        SelfPlayVector(4, canonical=True).snapshot(),
        SelfPlayVector(4, episode="match").snapshot(),
        SelfPlayVector(5).snapshot(),
    ]
    for seed in range(20):
        noise = np.random.default_rng(seed).integers(0, 256, before["states"].shape, dtype=np.uint8)
        others.append({**before, "states": noise})
    for other in others:
        with pytest.raises(ValueError, match="of another batch|is damaged"):
            vector.restore(other)
    with pytest.raises(ValueError, match="has no array 'done'"):
        vector.restore({k: v for k, v in before.items() if k != "done"})
    after = vector.snapshot()
    assert all((before[name] == after[name]).all() for name in before)


@pytest.mark.parametrize("seed", [1.5, True, -1, 2**64, "7"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="seed="):
        SelfPlayVector(2, seed=seed)


def test_more_threads_than_tables():
    assert SelfPlayVector(2, threads=10**9).num_envs == 2


@pytest.mark.parametrize("table", ["classic", "contree"])
def test_no_damaged_field_of_a_state_is_restored(table):
    """A state must be what its deal leads to: all that does not follow from the seed, the scores and the deal."""
    vector = SelfPlayVector(16, rules=table, seed=5)
    rng = np.random.default_rng(5)
    free = {"seed", "deal", "scores", "pot", "pot_before"}  # any value is possible, or any but few
    for _ in range(12):
        for _ in range(7):
            vector.step(choices(vector))
        kept = vector.snapshot()
        before = everything(vector)
        for name in STATE.names:
            dtype, start = STATE.fields[name][:2]
            at = start + int(rng.integers(dtype.itemsize))
            damaged = {**kept, "states": kept["states"].copy()}
            damaged["states"][3, at] ^= 1 << int(rng.integers(8))
            if name in free:
                with contextlib.suppress(ValueError):
                    vector.restore(damaged)
                    for _ in range(5):
                        vector.step(choices(vector))
                    vector.restore(kept)
            else:
                with pytest.raises(ValueError, match="table 3 is impossible"):
                    vector.restore(damaged)
            assert everything(vector) == before


def test_a_snapshot_of_another_kind_is_refused():
    vector = SelfPlayVector(3)
    kept = vector.snapshot()
    for wrong in (None, {}, {**kept, "arguments": 10**12}, {**kept, "seed": [1]}, {**kept, "states": None}):
        with pytest.raises(ValueError, match="the snapshot"):
            vector.restore(wrong)
    vector.restore(kept)


def test_actions_in_memory_that_a_step_writes():
    twin, vector = (SelfPlayVector(64, rules="coinche", seed=1) for _ in range(2))
    within = vector.rewards.view(np.int64).reshape(-1)[:64]
    for _ in range(60):
        chosen = choices(twin)
        within[:] = chosen
        vector.step(within)
        twin.step(chosen)
        assert everything(vector) == everything(twin)


def test_a_refusal_names_the_number_that_was_given():
    vector = SelfPlayVector(4)
    with pytest.raises(ValueError, match=str(2**64 - 1)):
        vector.step(np.full(4, 2**64 - 1, np.uint64))
    for wrong in ([[1], [1, 2]], "four", None, [True] * 4, 32):
        with pytest.raises(ValueError, match="must be 4 integers"):
            vector.step(wrong)


def test_flags_are_flags():
    kept = SelfPlayVector(2, hidden=1, skip_forced=np.True_).snapshot()
    SelfPlayVector(2, hidden=True, skip_forced=True).restore(kept)
