"""Masks, which PettingZoo's `api_test` never looks at: whose they are, what they hold, and when they are empty."""

import itertools
import random

import numpy as np
import pytest
from test_aec import AGENTS, TABLES, pick

from belote_env import Game, Rules, belote_v0
from belote_env.envs import SelfPlayVector
from belote_env.frames import framed_actions, real_actions
from belote_env.notation import position_text

PLACES = ("observation", "info")


def masks_of(env):
    """Every agent's mask, by either placement."""
    if "action_mask" in env.infos[env.agents[0]]:
        return {agent: env.infos[agent]["action_mask"] for agent in env.agents}
    return {agent: env.observe(agent)["action_mask"] for agent in env.agents}


def episode(env, rng, seed=None):
    """Yield once before every action of an episode, and once at its end."""
    env.reset(seed=seed)
    while not any(env.terminations.values()):
        yield
        env.step(pick(env, rng))
    yield


@pytest.mark.parametrize("mask_in", PLACES)
@pytest.mark.parametrize("table", TABLES)
def test_the_mask_is_the_legal_set_of_the_agent_to_act(table, mask_in):
    """entity-neural-network/incubator #186: an empty mask."""
    env, rng = belote_v0.env(rules=table, mask_in=mask_in), random.Random(table)
    n = Rules.preset(table).n_actions
    for seed in range(15):
        for _ in episode(env, rng, seed):
            if env.terminations["player_0"]:
                break
            game = Game.parse(position_text(env._states, 0, env.rules))
            for agent, mask in masks_of(env).items():
                assert (mask.shape, mask.dtype) == ((n,), np.int8)
                if agent == env.agent_selection:
                    assert mask.any()
                    assert (mask == game.mask()).all()
                    assert mask.nonzero()[0].tolist() == game.legal_actions()
                else:
                    assert not mask.any()


@pytest.mark.parametrize("mask_in", PLACES)
@pytest.mark.parametrize("final_mask", ["zeros", "ones"])
@pytest.mark.parametrize("illegal_end", [False, True])
def test_masks_at_the_end(mask_in, final_mask, illegal_end):
    env, rng = belote_v0.env(mask_in=mask_in, final_mask=final_mask, illegal="end"), random.Random(1)
    for seed in range(5):
        if illegal_end:
            env.reset(seed=seed)
            env.step(0)
        else:
            for _ in episode(env, rng, seed):
                pass
        while env.agents:
            for mask in masks_of(env).values():
                assert set(mask.tolist()) == {int(final_mask == "ones")}
            observation, _, _, _, info = env.last()
            assert ("action_mask" in info) == (mask_in == "info")
            assert isinstance(observation, dict) == (mask_in == "observation")
            env.step(None)
        # after the last agent is gone, any seat can still be looked at
        for agent in AGENTS:
            assert env.observation_space(agent).contains(env.observe(agent))


@pytest.mark.parametrize("mask_in", PLACES)
def test_only_one_placement_at_a_time(mask_in):
    env, rng = belote_v0.env(mask_in=mask_in), random.Random(2)
    for _ in episode(env, rng, 1):
        for agent in AGENTS:
            observation = env.observe(agent)
            assert isinstance(observation, dict) == (mask_in == "observation")
            assert ("action_mask" in env.infos[agent]) == (mask_in == "info")
            assert env.observation_space(agent).contains(observation)


def test_gymnasium_samples_with_the_mask():
    env = belote_v0.env()
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, terminated, _, _ = env.last()
        action = None if terminated else env.action_space(agent).sample(observation["action_mask"])
        assert terminated or observation["action_mask"][action] == 1
        env.step(action)


@pytest.mark.parametrize("mask_in", PLACES)
def test_what_was_handed_out_stays_as_it_was(mask_in):
    """Fresh arrays and dicts on every call: a replay buffer may keep them, a learner may scribble on them."""
    env, rng = belote_v0.env(mask_in=mask_in), random.Random(3)
    kept = []
    for _ in episode(env, rng, 4):
        for observation, info in [env.last()[::4], env.last()[::4], (env.observe("player_0"), env.infos["player_0"])]:
            arrays = list(observation.values()) if isinstance(observation, dict) else [observation]
            arrays += [value for value in info.values() if isinstance(value, np.ndarray)]
            kept.append((arrays, [array.copy() for array in arrays]))
    for arrays, copies in kept:
        assert all((array == copy).all() for array, copy in zip(arrays, copies, strict=True))
    env.reset(seed=4)
    first = env.last()[0]
    for scribbled in first.values() if isinstance(first, dict) else [first]:
        scribbled[:] = 7
    second = env.last()[0]
    assert not any((array == 7).any() for array in (second.values() if isinstance(second, dict) else [second]))
    env.last()[4]["more"] = 1
    assert "more" not in env.infos[env.agent_selection]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("options", [{}, {"canonical": True}, {"skip_forced": True}, {"episode": "match"}])
def test_vector_masks_are_never_empty(table, options):
    vector, rng = SelfPlayVector(32, rules=table, seed=5, **options), np.random.default_rng(5)
    for _ in range(150):
        counts = vector.action_mask.sum(1)
        assert counts.min() >= (2 if "skip_forced" in options else 1)
        vector.step((rng.random(vector.action_mask.shape) * vector.action_mask).argmax(1))


def test_actions_come_back_from_any_frame():
    """`framed_actions` is the inverse of `real_actions`, in all 24 orders of the suits and for every action."""
    orders = list(itertools.permutations(range(4)))
    frames = np.array([sum(suit << (2 * slot) for slot, suit in enumerate(order)) for order in orders])
    n = 113  # the largest action space
    actions = np.arange(n)
    for order, frame in zip(orders, frames, strict=True):
        here = np.full(n, frame)
        real = real_actions(actions, here)
        assert sorted(real.tolist()) == actions.tolist()
        np.testing.assert_array_equal(framed_actions(real, here), actions)
        np.testing.assert_array_equal(real_actions(framed_actions(actions, here), here), actions)
        assert real[:32].tolist() == [8 * order[slot] + rank for slot in range(4) for rank in range(8)]
        assert real[32:35].tolist() == [32, 33, 34]
        strains = [*order, 4, 5]
        assert real[35:].tolist() == [35 + 6 * level + strain for level in range(13) for strain in strains]
    pairs = framed_actions([9, 9], frames[[3, 17]])
    assert pairs.tolist() == [int(framed_actions([9], frames[[k]])[0]) for k in (3, 17)]
