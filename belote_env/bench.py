"""Measuring: decisions per CPU-second of the kernels, the vector environment and the AEC environment."""

import os
import platform
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import count_bits, nth_bit
from belote_env.engine import below, mix, new_match, next_deal, play_out
from belote_env.envs import SelfPlayVector, belote_v0
from belote_env.rules import Rules, as_rules
from belote_env.state import MATCH_OVER, new_states


@kernel
def random_playout(states, i, rules, seed, deals):
    """Play random deals, matches one after another; returns the number of decisions."""
    new_match(states, i, rules, seed)
    x = np.uint64(seed)
    decisions = 0
    for _ in range(deals):
        made, x = play_out(states, i, rules, x)
        decisions += made
        if np.int64(states[i].phase) == MATCH_OVER:
            new_match(states, i, rules, x)
        else:
            next_deal(states, i, rules)
    return decisions


@kernel
def random_legal(legal, x, out):
    """Write a random action of each legal set (n, 2) to `out`; returns the next random word."""
    for i in range(out.shape[0]):
        x += np.uint64(0x9E3779B97F4A7C15)
        low, high = legal[i, 0], legal[i, 1]
        out[i] = nth_bit(low, high, below(mix(x), count_bits(low) + count_bits(high)))
    return x


class Rate(NamedTuple):
    """Decisions and the CPU seconds they took in this process."""

    decisions: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Decisions per CPU-second."""
        return self.decisions / self.seconds


def timed(work: Callable[[], int]) -> Rate:
    """CPU time of `work`, which returns how many decisions it made."""
    start = time.process_time()
    decisions = work()
    return Rate(decisions, time.process_time() - start)


def playout_rate(rules: Rules | str, deals: int = 50_000) -> Rate:
    """Random play-outs inside one kernel."""
    states, packed = new_states(1), as_rules(rules).packed
    random_playout(states, 0, packed, np.uint64(1), 1)
    return timed(lambda: int(random_playout(states, 0, packed, np.uint64(2), deals)))


def vector_rate(rules: Rules | str, tables: int, steps: int, **options: Any) -> Rate:
    """`SelfPlayVector.step` alone; the random actions are drawn outside the measured time."""
    vector = SelfPlayVector(tables, rules=rules, **options)
    actions, x = np.zeros(tables, np.int64), np.uint64(1)
    seconds = 0.0
    for k in range(steps + 3):
        x = np.uint64(random_legal(vector._legal, x, actions))
        if k == 3:
            seconds = 0.0
        start = time.process_time()
        vector.step(actions)
        seconds += time.process_time() - start
    return Rate(tables * steps, seconds)


def aec_rate(rules: Rules | str, decisions: int, sample: bool, raw: bool = False) -> Rate:
    """The documented AEC loop; actions by `action_space.sample(mask)`, or from `mask.nonzero()`."""
    env = (belote_v0.raw_env if raw else belote_v0.env)(rules=rules)
    rng = np.random.default_rng(0)

    def loop(wanted: int) -> int:
        done = 0
        while done < wanted:
            env.reset(seed=done)
            for agent in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    action = None
                elif sample:
                    action = env.action_space(agent).sample(observation["action_mask"])
                    done += 1
                else:
                    legal = observation["action_mask"].nonzero()[0]
                    action = legal[int(rng.random() * len(legal))]
                    done += 1
                env.step(action)
        return done

    loop(200)
    return timed(lambda: loop(decisions))


def machine() -> dict[str, Any]:
    """What this was measured on."""
    cpu = platform.processor()
    try:
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), cpu)
    except OSError:
        pass
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
