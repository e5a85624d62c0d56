"""Rates of the doors: kernel play-out, `SelfPlayVector`, the AEC environment, the Gymnasium vector environment."""

import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from belote_env.bench.kernels import random_legal, random_masked, random_playout
from belote_env.bench.measure import Rate, timed
from belote_env.envs import SelfPlayVector, belote_v0
from belote_env.rules import Rules, as_rules
from belote_env.state import new_states

#: Steps before the clock starts: memory is touched, threads are up.
WARM_UP = 3
#: Tables and steps that make the positions replays start from. Fresh tables would bid in step for hundreds of steps.
MIXED_TABLES, MIXING_STEPS = 1024, 2000


def playout_rate(rules: Rules | str, deals: int = 50_000) -> Rate:
    """Random play-outs inside one kernel."""
    states, packed = new_states(1), as_rules(rules).packed
    random_playout(states, 0, packed, np.uint64(1), 1)
    return timed(lambda: int(random_playout(states, 0, packed, np.uint64(2), deals)))


class RandomPlay:
    """Random play of a batch of tables, drawn beforehand: a replay times `SelfPlayVector.step` and nothing else.

    All replays make the same decisions from the same positions, which are in every phase of a deal.

    Args:
        rules: `Rules` or a preset's name.
        tables: number of tables, at least 1.
    """

    def __init__(self, rules: Rules | str, tables: int) -> None:
        self.rules, self.tables = as_rules(rules), tables
        few = SelfPlayVector(min(tables, MIXED_TABLES), rules=self.rules, observe=False)
        self._word = np.uint64(1)
        self._play(few, np.zeros((MIXING_STEPS, few.num_envs), np.int8))
        self._start = few.snapshot()
        self.actions = np.zeros((WARM_UP, tables), np.int8)

    def draw(self, steps: int) -> None:
        """Play `steps` steps, after those of the warm-up, and keep the actions."""
        self.actions = np.zeros((WARM_UP + steps, self.tables), np.int8)
        self._play(self._vector(observe=False, threads=1), self.actions)

    def replay(self, observe: bool = True, threads: int = 1) -> Rate:
        """The time of the steps drawn last."""
        vector = self._vector(observe, threads)
        actions = self.actions.astype(np.int64)
        for row in actions[:WARM_UP]:
            vector.step(row)

        def work() -> int:
            for row in actions[WARM_UP:]:
                vector.step(row)
            return actions[WARM_UP:].size

        return timed(work)

    def _vector(self, observe: bool, threads: int) -> SelfPlayVector:
        """A batch in the mixed positions, which repeat where there are more tables than `MIXED_TABLES`."""
        vector = SelfPlayVector(self.tables, rules=self.rules, observe=observe, threads=threads)
        kept = vector.snapshot()
        start = {name: np.resize(self._start[name], array.shape) for name, array in kept.items()}
        vector.restore({**start, "arguments": kept["arguments"]})
        return vector

    def _play(self, vector: SelfPlayVector, actions: NDArray[np.int8]) -> None:
        row = np.zeros(vector.num_envs, np.int64)
        for k in range(len(actions)):
            self._word = np.uint64(random_legal(vector._legal, self._word, row))
            actions[k] = row
            vector.step(row)


def aec_loop(env: Any, decisions: int, sample: bool) -> int:
    """The documented loop of any AEC environment with masks, for whole episodes; returns how many decisions it made.

    Args:
        sample: choose by `action_space.sample(mask)`, else from `mask.nonzero()`.
    """
    rng = np.random.default_rng(0)
    done = 0
    while done < decisions:
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


def aec_rate(rules: Rules | str, decisions: int, sample: bool, raw: bool = False) -> Rate:
    """`aec_loop` on `belote_v0.raw_env` or `belote_v0.env`."""
    env = (belote_v0.raw_env if raw else belote_v0.env)(rules=rules)
    aec_loop(env, 200, sample)
    return timed(lambda: aec_loop(env, decisions, sample))


def gymnasium_rate(rules: str, opponents: str, tables: int, steps: int, all_seats: bool = False) -> Rate:
    """Decisions of the learner's seat, or of all, in the Gymnasium vector environment.

    The seat's actions are drawn outside the measured time, the opponents' inside the environment.
    """
    env: Any = gymnasium.make_vec(
        "belote_env:belote/Belote-v0",
        num_envs=tables,
        vectorization_mode="vector_entry_point",
        rules=rules,
        opponents=opponents,
    )
    observations, _ = env.reset(seed=1)
    actions, x = np.zeros(tables, np.int64), np.uint64(1)
    decisions, cpu, wall = 0, 0.0, 0.0
    resets = np.zeros(tables, np.bool_)  # the step deals the next episode, and the seat's action is ignored
    before = _deal_lengths(env)
    for k in range(WARM_UP + steps):
        x = np.uint64(random_masked(observations["action_mask"], x, actions))
        if k == WARM_UP:
            decisions, cpu, wall = 0, 0.0, 0.0
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        observations, _, terminations, truncations, _ = env.step(actions)
        cpu += time.process_time() - cpu_start
        wall += time.perf_counter() - wall_start
        after = _deal_lengths(env)
        made = after - np.where(resets, 0, before) if all_seats else ~resets
        decisions += int(made.sum())
        resets, before = terminations | truncations, after
    env.close()
    return Rate(decisions, cpu, wall)


def _deal_lengths(env: Any) -> Any:
    """(N,) int64: calls made and cards played so far in the deal of each table."""
    states = env.unwrapped._tables.states
    return np.add(states["n_calls"], states["n_cards"], dtype=np.int64)
