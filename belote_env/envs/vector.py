"""`SelfPlayVector`: many tables stepped in place by compiled code, all four seats, for learners."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env.envs.batch import (
    EPISODES,
    REWARDS,
    begin_tables,
    first_illegal,
    step_tables,
)
from belote_env.frames import mask_words
from belote_env.notation import position_text
from belote_env.observation import HIDDEN_SIZE, SIZE
from belote_env.rules import Rules, as_rules
from belote_env.state import new_states


def check_episode(rules: Rules, episode: str, reward: str) -> tuple[int, int]:
    """The numbers of an episode kind and a reward kind.

    Raises:
        ValueError: unknown kinds, or a reward that the episode never pays.
    """
    if episode not in EPISODES:
        raise ValueError(f"episode={episode!r} is not one of {', '.join(map(repr, EPISODES))}")
    if reward not in REWARDS:
        raise ValueError(f"reward={reward!r} is not one of {', '.join(map(repr, REWARDS))}")
    if reward == "win" and episode == "deal" and rules.target > 0:
        raise ValueError("reward='win' is paid at the end of a match: it needs episode='match'")
    return EPISODES.index(episode), REWARDS.index(reward)


class SelfPlayVector:
    """`num_envs` tables; the seat to act at each is the learner's.

    The buffers are borrowed: `reset` and `step` overwrite them.  `step` resets finished tables itself; observation
    and mask then show the new episode, `rewards` and `done` belong to the one that ended.

    Attributes:
        observations: (N, SIZE) uint8, 0 or 1, from the view of the seat to act.
        action_mask: (N, num_actions) int8, 1 where legal; rows are padded, so it is a strided view.
        seat: (N,) int8, the seat to act.
        rewards: (N, 4) float32, what the last step paid each seat; points are divided by 256.
        done: (N,) bool, the episode ended in the last step.
        hidden: (N, HIDDEN_SIZE) uint8, hands of next, partner and previous, when `hidden=True`.

    Args:
        num_envs: number of tables, at least 1.
        rules: `Rules` or a preset's name.
        episode: "deal" or "match".
        reward: "points", "tricks" or "win".
        seed: table j's episode k depends on (seed, j, k) alone, not on N or threads.
        threads: slices stepped side by side.
        skip_forced: play positions with one legal action without showing them.
        canonical: observations, masks and actions in the canonical suit frame (trump first).
        hidden: keep the `hidden` buffer.
        observe: keep the `observations` buffer; without it tables step faster.

    Raises:
        ValueError: an argument outside its range.
    """

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str = "classic",
        episode: str = "deal",
        reward: str = "points",
        seed: int = 0,
        threads: int = 1,
        skip_forced: bool = False,
        canonical: bool = False,
        hidden: bool = False,
        observe: bool = True,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: at least one table is needed")
        if threads < 1:
            raise ValueError(f"threads={threads}: at least one is needed")
        self.rules = as_rules(rules)
        self._episode, self._reward = check_episode(self.rules, episode, reward)
        self.num_envs, self.num_actions = num_envs, self.rules.n_actions
        self.observation_size = SIZE
        self._skip, self._canonical = skip_forced, canonical
        self._slices = _split(num_envs, threads)
        self._pool = ThreadPoolExecutor(threads) if len(self._slices) > 1 else None
        self.states = new_states(num_envs)
        self._legal = np.zeros((num_envs, 2), np.int64)
        self._frames = np.zeros(num_envs, np.int64)
        self._numbers = np.zeros(num_envs, np.int64)
        self.observations, self._observation_words = _words(num_envs if observe else 0, SIZE)
        padded, self._mask_words = _words(num_envs, 8 * mask_words(self.num_actions))
        self.action_mask = padded.view(np.int8)[:, : self.num_actions]
        self.hidden, self._hidden_words = _words(num_envs if hidden else 0, HIDDEN_SIZE)
        self.seat = np.zeros(num_envs, np.int8)
        self.rewards = np.zeros((num_envs, 4), np.float32)
        self.done = np.zeros(num_envs, np.bool_)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> NDArray[np.uint8]:
        """Start every table anew; without a seed, the same seed again. Returns `observations`.

        Raises:
            ValueError: a seed outside 0..2**64-1.
        """
        if seed is not None:
            if not 0 <= seed < 2**64:
                raise ValueError(f"seed={seed}: 0 to 2**64 - 1 is needed")
            self._seed = np.uint64(seed)
        self._numbers[:] = 0
        self.rewards[:] = 0
        self.done[:] = False
        self._run(
            begin_tables,
            (self.states, self.rules.packed, self._seed, self._numbers, self._episode),
            (self._canonical,),
            self._buffers,
        )
        return self.observations

    def step(self, actions: ArrayLike) -> None:
        """Play one action at every table.

        Args:
            actions: (N,) integers, each legal at its table (in the table's frame when `canonical`).

        Raises:
            ValueError: wrong shape or type, or an illegal action; nothing has changed then.
        """
        chosen = np.ascontiguousarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} integers, not {chosen.dtype} of shape {chosen.shape}")
        chosen = chosen.astype(np.int64, copy=False)
        bad = first_illegal(chosen, self._frames, self._legal, self.num_actions)
        if bad >= 0:
            legal = np.flatnonzero(self.action_mask[bad]).tolist()
            frame = " (canonical frame)" if self._canonical else ""
            raise ValueError(
                f"table {bad}: action {chosen[bad]} is not legal; legal actions{frame} are {legal}; "
                f"position: {position_text(self.states, int(bad), self.rules)}"
            )
        self._run(
            step_tables,
            (self.states, self.rules.packed, self._seed, self._numbers, self._episode),
            (self._reward, self._skip, self._canonical, chosen),
            (*self._buffers, self.rewards, self.done),
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """A copy of the whole batch; `restore` brings it back bit for bit."""
        return {
            "seed": np.array([self._seed], np.uint64),
            "states": self.states.view(np.uint8).reshape(self.num_envs, -1).copy(),
            "legal": self._legal.copy(),
            "frames": self._frames.copy(),
            "numbers": self._numbers.copy(),
            "observations": self.observations.copy(),
            "action_mask": self.action_mask.copy(),
            "hidden": self.hidden.copy(),
            "seat": self.seat.copy(),
            "rewards": self.rewards.copy(),
            "done": self.done.copy(),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Bring back a snapshot of a batch of the same size and arguments.

        Raises:
            ValueError: a snapshot of another shape; nothing has changed then.
        """
        current = self.snapshot()
        for name, array in current.items():
            if name not in snapshot:
                raise ValueError(f"the snapshot has no {name!r}")
            given = snapshot[name]
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(
                    f"the snapshot's {name!r} is {given.dtype} {given.shape}, "
                    f"this batch needs {array.dtype} {array.shape}"
                )
        self._seed = np.uint64(snapshot["seed"][0])
        self.states.view(np.uint8).reshape(self.num_envs, -1)[:] = snapshot["states"]
        for name, buffer in (("legal", self._legal), ("frames", self._frames), ("numbers", self._numbers)):
            buffer[:] = snapshot[name]
        for name in ("observations", "action_mask", "hidden", "seat", "rewards", "done"):
            getattr(self, name)[:] = snapshot[name]

    @property
    def _buffers(self) -> tuple[NDArray[Any], ...]:
        return self._legal, self._frames, self.seat, self._observation_words, self._hidden_words, self._mask_words

    def _run(self, work: Any, *parts: tuple[Any, ...]) -> None:
        arguments = tuple(argument for part in parts for argument in part)
        if self._pool is None:
            work(0, self.num_envs, *arguments)
            return
        for future in [self._pool.submit(work, lo, hi, *arguments) for lo, hi in self._slices]:
            future.result()


def _split(n: int, parts: int) -> list[tuple[int, int]]:
    edges = [n * k // parts for k in range(parts + 1)]
    return [(lo, hi) for lo, hi in pairwise(edges) if lo < hi]


def _words(rows: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """The same zeroed memory as (rows, size) bytes and as (rows, size / 8) words."""
    words = np.zeros((rows, size // 8), np.uint64)
    return words.view(np.uint8).reshape(rows, size), words
