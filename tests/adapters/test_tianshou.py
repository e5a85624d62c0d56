"""The table for Tianshou: rewards through its vector environment and collector, masks, seeds."""

import numpy as np
import pytest

pytest.importorskip("tianshou")

from tianshou.data import Batch
from tianshou.env import DummyVectorEnv
from truth import assert_varied, choose, choose_all, differences, of_seat

from belote_env.envs.adapters.tianshou import make_env


def stacked(observations):
    """What Tianshou's collector makes of the observations of its environments."""
    batch = Batch.stack([Batch(o) for o in observations])
    return batch.obs, batch.mask


def test_a_seat_is_paid_the_difference_of_a_thousand_deals():
    """Tianshou #900: its own wrapper hands out the last step's reward, and the rest of the trick is lost."""
    tables, deals, seed = 20, 50, 700
    envs = DummyVectorEnv([lambda: make_env(opponents=choose) for _ in range(tables)])
    envs.seed(seed)  # table i gets seed + i and starts its first episode; a reset goes on to the next
    observations, infos = envs.reset()
    seats = [info["seat"] for info in infos]
    paid, counts, found = np.zeros(tables), np.zeros(tables, int), []
    while counts.min() < deals:
        bits, masks = stacked(observations)
        assert masks.dtype == np.int8
        observations, rewards, ended, truncated, _ = envs.step(choose_all(bits, masks))
        assert not truncated.any()
        paid += rewards
        over = np.flatnonzero(ended)
        for i in over:
            if counts[i] < deals:
                true = differences("classic", seed + int(i), deals + 1)[counts[i] + 1]
                assert 256 * paid[i] == of_seat(seats[i], true)
                found.append(true)
            counts[i], paid[i] = counts[i] + 1, 0
        if len(over):  # the collector resets what has ended
            fresh, infos = envs.reset(over)
            observations[over] = fresh
            for i, info in zip(over, infos, strict=True):
                seats[i] = info["seat"]
    assert len(found) == 1000
    assert_varied(found)


def test_masks_reach_a_dqn_policy_and_seeds_repeat():
    """Tianshou looks for `mask` beside `obs`, in the observation, never in infos."""
    import torch
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.utils.net.common import Net

    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(3)
        np.random.seed(3)  # Tianshou explores with NumPy's global generator
        envs = DummyVectorEnv([lambda: make_env() for _ in range(4)])
        net = Net(state_shape=(768,), action_shape=41, hidden_sizes=(16,))
        policy = DiscreteQLearningPolicy(
            model=net, action_space=envs.action_space[0], observation_space=envs.observation_space[0], eps_inference=0.5
        )
        buffer = VectorReplayBuffer(2000, 4)
        collector = Collector(policy, envs, buffer, exploration_noise=True)
        envs.seed(seed)  # `reset(seed=…)` would give every table the same one
        collector.reset()
        collector.collect(n_step=400)  # an illegal action would raise
        masks, actions = np.asarray(buffer.obs.mask), np.asarray(buffer.act)
        taken = masks.any(axis=1)
        assert taken.sum() == 400
        assert masks[taken, actions[taken]].all()
        runs.append(actions.tobytes() + np.asarray(buffer.rew).tobytes())
    assert runs[0] == runs[1] != runs[2]
