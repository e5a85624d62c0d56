"""What deals come to when every seat plays by one rule: what rewards through each adapter are held against."""

from functools import cache

import numpy as np

from belote_env import belote_v0
from belote_env.observation import SIZE
from belote_env.state import PASS

WEIGHTS = np.random.default_rng(7).integers(1, 1_000_003, SIZE)


def choose(observation, mask):
    """A legal action that depends on every bit seen and on nothing else; half of the calls pass."""
    number, legal = int(WEIGHTS @ np.asarray(observation).astype(np.int64)), np.flatnonzero(mask)
    return PASS if mask[PASS] and number % 2 else int(legal[number // 2 % len(legal)])


def choose_all(observations, masks):
    """`choose`, row by row."""
    return np.array([choose(o, m) for o, m in zip(observations, masks, strict=True)])


@cache
def differences(rules, seed, deals):
    """Side 0's score less side 1's in the first deals of a seed, from the records of the AEC table, in points."""
    env, found = belote_v0.env(rules=rules, obs_dtype="uint8"), []
    for number in range(deals):
        env.reset(seed=seed if number == 0 else None)
        while not env.terminations["player_0"]:
            seen = env.observe(env.agent_selection)
            env.step(choose(seen["observation"], seen["action_mask"]))
        scores = env._states[0]["deal_scores"].astype(int)
        found.append(int(scores[0] - scores[1]))
    return tuple(found)


def of_seat(seat, difference):
    """The difference of side 0 from a seat's view."""
    return -difference if seat & 1 else difference


def assert_varied(values):
    """A comparison of zeros would prove nothing."""
    assert len({abs(value) for value in values}) > 25
    assert min(values) < 0 < max(values)
