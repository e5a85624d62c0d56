"""`BeloteVectorEnv`: Gymnasium's `SyncVectorEnv` over single tables gives the same, array by array."""

import copy
import pickle
import random
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_aec import TABLES, position
from test_single import ID, Recorder, whole

from belote_env import Game
from belote_env.envs import BeloteEnv, BeloteVectorEnv
from belote_env.notation import position_text
from belote_env.players import Random

N = 5


def masks_of(observations, infos):
    return (observations if "action_mask" in observations else infos)["action_mask"]


def actions_for(masks, rng):
    return np.array([rng.choice(np.flatnonzero(row)) for row in masks])


def both(mode, n=N, **arguments):
    sync = SyncVectorEnv([lambda: BeloteEnv(**arguments)] * n, autoreset_mode=mode)
    return BeloteVectorEnv(n, autoreset_mode=mode, **arguments), sync


def assert_same(ours, theirs):
    assert data_equivalence(ours, theirs, exact=True), f"{ours}\n{theirs}"


# --- equal to SyncVectorEnv ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(
    "arguments",
    [
        {"rules": "classic", "opponents": "random"},
        {"rules": "coinche", "opponents": "heuristic", "mask_in": "info"},
        {"rules": "contree", "opponents": ("random", "heuristic", "random"), "obs_dtype": "int8", "seat": 1},
        {"rules": "belote_501", "episode": "match", "reward": "tricks", "opponents": "random", "mask_in": "info"},
        {"rules": "single_deal", "reward": "win", "opponents": "heuristic", "obs_dtype": "uint8"},
    ],
    ids=lambda arguments: arguments["rules"],
)
def test_it_is_the_synchronous_vector(arguments, mode):
    """Gymnasium #1103 and cleanrl #499: which step resets, and whose observation and reward that step shows."""
    ours, theirs = both(mode, **arguments)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    rng = np.random.default_rng(1)
    shown = ours.reset(seed=9)
    assert_same(shown, theirs.reset(seed=9))
    ends = 0
    for _ in range(300):
        actions = actions_for(masks_of(shown[0], shown[-1]), rng)
        shown = ours.step(actions)
        assert_same(shown, theirs.step(actions))
        ends += shown[2].sum()
    assert ends > 3 * (arguments.get("episode") != "match")
    assert_same(ours.reset(), theirs.reset())
    assert_same(ours.reset(seed=[3, None, 5, 3, None]), theirs.reset(seed=[3, None, 5, 3, None]))


def test_illegal_actions_end_episodes_as_in_the_synchronous_vector():
    ours, theirs = both(AutoresetMode.NEXT_STEP, illegal="end", opponents="random")
    ours.action_space.seed(4)
    assert_same(ours.reset(seed=2), theirs.reset(seed=2))
    for _ in range(60):
        actions = ours.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions))


def test_tables_reset_by_hand():
    ours, theirs = both(AutoresetMode.DISABLED, opponents="random")
    with pytest.raises(ResetNeeded, match="without a reset_mask first"):
        ours.reset(options={"reset_mask": np.ones(N, np.bool_)})
    rng = np.random.default_rng(1)
    shown = ours.reset(seed=1)
    assert_same(shown, theirs.reset(seed=1))
    for round_ in range(120):
        actions = actions_for(masks_of(shown[0], shown[-1]), rng)
        shown = ours.step(actions)
        assert_same(shown, theirs.step(actions))
        if shown[2].any():
            before = whole(ours)
            with pytest.raises(ResetNeeded, match=f"table {shown[2].argmax()}: the episode is over"):
                ours.step(actions)
            assert whole(ours) == before
            seed = round_ if round_ % 2 else None
            mask = shown[2].copy()
            options = {"reset_mask": mask}
            shown = ours.reset(seed=seed, options=options)
            assert options["reset_mask"] is mask
            assert_same(shown, theirs.reset(seed=seed, options={"reset_mask": mask}))
    for wrong in (np.zeros(N, np.bool_), np.ones(N - 1, np.bool_), np.ones(N), "all"):
        with pytest.raises(ValueError, match=f"'reset_mask'. must be {N} booleans"):
            ours.reset(options={"reset_mask": wrong})


def test_every_table_starts_from_a_position():
    game = position(plays=12)
    ours, theirs = both(AutoresetMode.NEXT_STEP, opponents="random")
    options = {"position": game.to_text()}
    shown = ours.reset(seed=1, options=options)
    assert_same(shown, theirs.reset(seed=1, options=dict(options)))
    assert (shown[1]["seat"] == game.turn).all()
    before = whole(ours)
    with pytest.raises(ValueError, match="a position reads"):
        ours.reset(seed=2, options={"position": "classic"})
    assert whole(ours) == before


def test_gymnasium_makes_it():
    ours = gymnasium.make_vec(ID, num_envs=3, vectorization_mode="vector_entry_point", opponents="random")
    sync = gymnasium.make_vec(ID, num_envs=3, vectorization_mode="sync", opponents="random")
    assert isinstance(ours, BeloteVectorEnv)
    assert isinstance(gymnasium.make_vec(ID, num_envs=2), BeloteVectorEnv)
    assert_same(ours.reset(seed=5), sync.reset(seed=5))
    again = gymnasium.make_vec(gymnasium.envs.registration.EnvSpec.from_json(ours.spec.to_json()))
    assert_same(again.reset(seed=5), ours.reset(seed=5))
    same = gymnasium.make_vec(ID, num_envs=2, autoreset_mode="SameStep")
    assert same.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert BeloteVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    ours.close()
    sync.close()


def test_gymnasium_1_0_has_no_autoreset_mode():
    code = """if True:
        import gymnasium.vector
        del gymnasium.vector.AutoresetMode
        from belote_env.envs import BeloteVectorEnv
        print(BeloteVectorEnv(2).metadata["autoreset_mode"].value)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "NextStep"


# --- rewards, masks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["points", "tricks"])
@pytest.mark.parametrize("table", TABLES)
def test_rewards_add_up_to_the_deal(table, reward):
    """PettingZoo #1147: trained on the opponent's reward. Over 1,000 deals, to the last point."""
    n, deals = 256, 0
    vector = BeloteVectorEnv(
        n, rules=table, reward=reward, opponents="random", obs_dtype="uint8", autoreset_mode="SameStep"
    )
    rng = np.random.default_rng(0)
    observations, infos = vector.reset(seed=3)
    lead, total = infos["score"] - infos["opponent_score"], np.zeros(n)
    while deals < 1100:
        masks = observations["action_mask"]
        observations, rewards, ended, _, infos = vector.step(np.argmax(masks * rng.random(masks.shape), axis=1))
        total += rewards
        if ended.any():
            end = infos["final_info"]
            assert (total * 256 == end["score"] - end["opponent_score"] - lead)[ended].all()
            total[ended] = 0.0
            lead[ended] = (infos["score"] - infos["opponent_score"])[ended]
            deals += int(ended.sum())


@pytest.mark.parametrize("table", TABLES)
def test_masks_are_the_legal_actions(table):
    """entity-neural-network/incubator #186: a mask was empty."""
    vector = BeloteVectorEnv(8, rules=table, opponents="random")
    observations, infos = vector.reset(seed=1)
    rng, ended = np.random.default_rng(0), np.zeros(8, np.bool_)
    for _ in range(40):
        for i, mask in enumerate(observations["action_mask"]):
            if ended[i]:
                assert mask.all()
                continue
            game = Game.parse(position_text(vector._tables.states, i, vector.rules))
            assert game.turn == infos["seat"][i]
            assert mask.nonzero()[0].tolist() == game.legal_actions() != []
        actions = actions_for(observations["action_mask"], rng)
        observations, _, ended, _, infos = vector.step(actions)


def test_what_is_handed_out_is_not_written_again():
    vector = BeloteVectorEnv(4, mask_in="info", opponents="random")
    observations, infos = vector.reset(seed=1)
    kept = pickle.dumps((observations, infos))
    shown = vector.step(actions_for(infos["action_mask"], np.random.default_rng(0)))
    assert pickle.dumps((observations, infos)) == kept
    kept = pickle.dumps(shown)
    vector.step(actions_for(shown[-1]["action_mask"], np.random.default_rng(0)))
    assert pickle.dumps(shown) == kept


# --- seeds, sizes, copies -----------------------------------------------------------------------------------


def transcript(vector, steps, tables, **reset):
    """What the first tables show; an action is a function of mask and step alone, so that it does not depend on N."""
    shown, lines = vector.reset(**reset), []
    for k in range(steps):
        masks = shown[0]["action_mask"]
        actions = [np.flatnonzero(row)[k % row.sum()] for row in masks]
        shown = vector.step(np.array(actions))
        lines.append([(shown[0]["observation"][i].tobytes(), shown[1][i], shown[2][i]) for i in range(tables)])
    return lines


@pytest.mark.parametrize("opponents", ["random", "heuristic"])
def test_size_and_threads_change_nothing(opponents):
    arguments = {"opponents": opponents, "obs_dtype": "uint8"}
    few = transcript(BeloteVectorEnv(3, **arguments), 60, 3, seed=8)
    assert transcript(BeloteVectorEnv(50, **arguments), 60, 3, seed=8) == few
    assert transcript(BeloteVectorEnv(50, threads=3, **arguments), 60, 3, seed=8) == few
    assert transcript(BeloteVectorEnv(3, **arguments), 60, 3, seed=9) != few
    # table j is table 0 of seed + j
    later = transcript(BeloteVectorEnv(2, **arguments), 60, 2, seed=9)
    assert [line[:2] for line in later] == [line[1:] for line in few]


def test_unseeded_vectors_differ_and_seeds_repeat():
    vector = BeloteVectorEnv(4, opponents="random")
    first = transcript(vector, 30, 4)
    assert transcript(BeloteVectorEnv(4, opponents="random"), 30, 4) != first
    once = [transcript(vector, 30, 4, seed=5), transcript(vector, 30, 4)]
    assert once == [transcript(vector, 30, 4, seed=np.int64(5)), transcript(vector, 30, 4)]
    assert once[0] != once[1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda vector: pickle.loads(pickle.dumps(vector))])
def test_a_copy_keeps_the_tables(copied, threads):
    """PettingZoo #1307 and #1186: copying erased the state."""
    vector, rng = BeloteVectorEnv(6, threads=threads, reward="tricks", opponents="random"), random.Random(1)
    shown = vector.reset(seed=2)
    for _ in range(25):
        shown = vector.step([rng.choice(np.flatnonzero(row)) for row in shown[0]["action_mask"]])
    twin = copied(vector)
    before = whole(vector)

    def rest(vector, shown):
        rng, lines = np.random.default_rng(3), []
        for _ in range(40):
            shown = vector.step(actions_for(shown[0]["action_mask"], rng))
            lines.append(pickle.dumps(shown))
        return lines

    ends = rest(twin, shown)
    assert whole(vector) == before  # the copy shares nothing
    assert rest(vector, shown) == ends
    vector.close()
    vector.close()


# --- opponents and refusals ---------------------------------------------------------------------------------


def test_players_are_asked_about_many_tables_at_once():
    class Counter(Recorder):
        sizes = []

        def act(self, states, seats):
            self.sizes.append(len(seats))
            return super().act(states, seats)

    players = Counter(), Random(2), Random(3)
    vector = BeloteVectorEnv(64, opponents=players, seat=1)
    observations, _ = vector.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(30):
        observations, *_ = vector.step(actions_for(observations["action_mask"], rng))
    assert max(players[0].sizes) > 20
    assert set(players[0].sat) == {2}


def test_refused_actions_and_seeds():
    vector = BeloteVectorEnv(3, opponents="random")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        vector.step([32, 32, 32])
    observations, infos = vector.reset(seed=1)
    good = observations["action_mask"].argmax(axis=1)
    wrong = int(np.flatnonzero(observations["action_mask"][1] == 0)[0])
    before = whole(vector)
    for action in (wrong, -1, 41):
        message = f"action {action} is not legal for seat {infos['seat'][1]} of table 1; legal are .*position: classic"
        with pytest.raises(ValueError, match=message):
            vector.step([good[0], action, good[2]])
    for actions in (good[:2], good.astype(float), 32, good > 3, [None] * 3):
        with pytest.raises(ValueError, match="actions must be 3 integers, not"):
            vector.step(actions)
    for seed, message in ((-1, "seed="), (2**64 - 1, "seed="), ([1, 2], "3 tables need as many seeds, not 2")):
        with pytest.raises(ValueError, match=message):
            vector.reset(seed=seed)
    for seed in ("123", 1.5, [1, 2, -3]):
        with pytest.raises(ValueError, match="seed="):
            vector.reset(seed=seed)
    assert whole(vector) == before
    vector.step(good)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_opponents_illegal_answer_changes_nothing(threads):
    class Cheat(Random):
        honest = True

        def act(self, states, seats):
            actions = super().act(states, seats)
            if not self.honest:
                actions[-1] = -5
            return actions

    cheat = Cheat()
    vector = BeloteVectorEnv(20, opponents=cheat, threads=threads)
    observations, _ = vector.reset(seed=1)
    actions, before = observations["action_mask"].argmax(axis=1), whole(vector)
    cheat.honest = False
    for call in (lambda: vector.step(actions), vector.reset, lambda: vector.reset(seed=3)):
        with pytest.raises(ValueError, match="random played -5, which is not legal for seat .*position: classic deal"):
            call()
        assert whole(vector) == before
    cheat.honest = True
    vector.step(actions)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_envs": 0},
        {"num_envs": 2.0},
        {"threads": 0},
        {"autoreset_mode": "Sometimes"},
        {"episode": "hand"},
        {"mask_in": "both"},
        {"obs_dtype": "float16"},
        {"illegal": "ignore"},
        {"seat": -1},
        {"opponents": "minimax"},
    ],
)
def test_refused_arguments(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name}|{wrong[name]}"):
        BeloteVectorEnv(**{"num_envs": 2, **wrong})
