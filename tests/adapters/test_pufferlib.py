"""The native PufferEnv: rewards, buffers in place, infos, seeds."""

import numpy as np
import pytest

pytest.importorskip("pufferlib")

import pufferlib.vector
from truth import assert_varied, choose, choose_all, differences, of_seat

from belote_env.envs.adapters.pufferlib import BelotePuffer, split


def test_a_seat_is_paid_the_difference_of_a_thousand_deals():
    tables, deals, seed = 50, 20, 40
    env = BelotePuffer(tables, opponents=choose)
    observations, infos = env.reset(seed)
    seats = env.tables._tables.learners.tolist()
    paid, counts, found = np.zeros(tables), np.zeros(tables, int), []
    while counts.min() < deals:
        bits, masks = split(observations)
        observations, rewards, terminals, truncations, infos = env.step(choose_all(bits, masks))
        assert not truncations.any()
        paid += rewards
        assert sum(info["deals"] for info in infos) == terminals.sum()
        for i in np.flatnonzero(terminals):
            if counts[i] < deals:
                true = differences("classic", seed + int(i), deals)[counts[i]]
                assert 256 * paid[i] == of_seat(seats[i], true)
                found.append(true)
            counts[i], paid[i], seats[i] = counts[i] + 1, 0, int(env.tables._tables.learners[i])
    assert len(found) == 1000
    assert_varied(found)


def test_buffers_are_written_in_place_and_seeds_repeat():
    runs = []
    for seed in (3, 3, 4):
        vector = pufferlib.vector.make(
            BelotePuffer, env_kwargs={"num_agents": 8}, num_envs=2, backend=pufferlib.vector.Serial, seed=seed
        )
        observations, infos = vector.reset(seed)
        assert isinstance(infos, list)
        lines = []
        for _ in range(40):
            bits, masks = split(np.asarray(observations))
            assert (np.asarray(masks).sum(axis=1) > 0).all()
            given = observations
            observations, rewards, *_ = vector.step(choose_all(bits, masks))
            assert np.shares_memory(np.asarray(observations), np.asarray(given))
            lines.append(np.asarray(observations).tobytes() + np.asarray(rewards).tobytes())
        runs.append(lines)
        vector.close()
    assert runs[0] == runs[1] != runs[2]
