"""`SelfPlayVector`: many tables stepped in place by compiled code, all four seats, for learners."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env._jit import bound
from belote_env.envs.arguments import MOST_TABLES, as_integers, check_episode
from belote_env.envs.batch import begin_tables, first_illegal, replay_tables, show_tables, step_tables
from belote_env.envs.slices import Slices
from belote_env.frames import mask_words
from belote_env.game import checked_seed
from belote_env.notation import position_text, rules_text
from belote_env.observation import HIDDEN_SIZE, SIZE
from belote_env.rules import Rules, as_rules
from belote_env.rulings import whole_number
from belote_env.state import STATE_BYTES, aligned_zeros, new_states

_INT64 = np.dtype(np.int64)


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
        episodes: (N,) int64, the number of the episode under way at each table.
        frames: (N,) int64, the suit frame of observation, mask and actions (`belote_env.frames`).
        hidden: (N, HIDDEN_SIZE) uint8, hands of next, partner and previous, when `hidden=True`.

    Args:
        num_envs: number of tables, at least 1.
        rules: `Rules` or a preset's name.
        episode: "deal" or "match". A deal is one in a match under way: random dealer, match scores below the target,
            where there is litige sometimes a pot.
        reward: "points", "tricks", "win" or "cards".
        seed: table j's episode k depends on (seed, j, k) alone, not on N or threads; None draws one.
        threads: slices stepped side by side.
        skip_forced: play positions with one legal action without showing them.
        canonical: observations, masks and actions in the canonical suit frame (trump first).
        hidden: keep the `hidden` buffer.
        observe: keep the `observations` buffer; without it tables step faster.
        first_table: table j here is table first_table + j of a larger batch, which processes may share out so.

    Raises:
        ValueError: an argument outside its range.
    """

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str = "classic",
        episode: str = "deal",
        reward: str = "points",
        seed: int | None = 0,
        threads: int = 1,
        skip_forced: bool = False,
        canonical: bool = False,
        hidden: bool = False,
        observe: bool = True,
        first_table: int = 0,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1, MOST_TABLES)
        threads = whole_number("threads", threads, 1, MOST_TABLES)
        self.rules = as_rules(rules)
        self._episode, self._reward = check_episode(self.rules, episode, reward)
        self.num_actions, self.observation_size = self.rules.n_actions, SIZE
        self._first = whole_number("first_table", first_table, 0, MOST_TABLES)
        self._skip, self._canonical = bool(skip_forced), bool(canonical)
        self._arguments = {
            "num_envs": self.num_envs,
            "rules": self.rules,
            "episode": str(episode),
            "reward": str(reward),
            "seed": seed,
            "threads": threads,
            "skip_forced": bool(skip_forced),
            "canonical": bool(canonical),
            "hidden": bool(hidden),
            "observe": bool(observe),
            "first_table": self._first,
        }
        self._slices = Slices(self.num_envs, threads)
        self.states = new_states(num_envs)
        self._legal = np.zeros((num_envs, 2), np.int64)
        self.frames = np.zeros(num_envs, np.int64)
        self.episodes = np.zeros(num_envs, np.int64)
        self._actions = np.zeros(num_envs, _INT64)
        self.observations, self._observation_words = _words(num_envs if observe else 0, SIZE)
        padded, self._mask_words = _words(num_envs, 8 * mask_words(self.num_actions))
        self.action_mask = padded.view(np.int8)[:, : self.num_actions]
        self.hidden, self._hidden_words = _words(num_envs if hidden else 0, HIDDEN_SIZE)
        self.seat = np.zeros(num_envs, np.int8)
        self.rewards = np.zeros((num_envs, 4), np.float32)
        self.done = np.zeros(num_envs, np.bool_)
        self._buffers = (
            self._legal, self.frames, self.seat, self._observation_words, self._hidden_words, self._mask_words,
        )  # fmt: skip
        self.reset(checked_seed(seed))

    def reset(self, seed: int | None = None) -> NDArray[np.uint8]:
        """Start every table anew; without a seed, the same seed again. Returns `observations`.

        Raises:
            ValueError: a seed outside 0..2**64-1.
        """
        if seed is not None:
            self._seed = np.uint64(checked_seed(seed))
        self.episodes[:] = 0
        self.rewards[:] = 0
        self.done[:] = False
        self._bind()
        self._slices.run(
            begin_tables, self.states, self.rules.packed, self._seed, self._first, self.episodes, self._episode,
            self._canonical, *self._buffers,
        )  # fmt: skip
        return self.observations

    def step(self, actions: ArrayLike) -> None:
        """Play one action at every table.

        Args:
            actions: (N,) integers, each legal at its table (in the table's frame when `canonical`).

        Raises:
            ValueError: wrong shape or type, or an illegal action; nothing has changed then.
        """
        chosen: Any = actions
        if type(chosen) is not np.ndarray or chosen.dtype is not _INT64 or chosen.shape != self.seat.shape:
            chosen = as_integers(actions, self.num_envs)
        # a copy: the caller's array may be memory that the step writes
        self._actions[:] = chosen
        bad = self._refused()
        if bad >= 0:
            legal = np.flatnonzero(self.action_mask[bad]).tolist()
            frame = " (canonical frame)" if self._canonical else ""
            raise ValueError(
                f"table {bad}: action {chosen[bad]} is not legal; legal actions{frame} are {legal}; "
                f"position: {position_text(self.states, int(bad), self.rules)}"
            )
        self._slices.run(self._step)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """A copy of the whole batch; `restore` brings it back bit for bit."""
        return {
            "arguments": np.frombuffer(self._identity().encode(), np.uint8).copy(),
            "seed": np.array([self._seed], np.uint64),
            "states": _bytes(self.states).copy(),
            "numbers": self.episodes.copy(),
            "rewards": self.rewards.copy(),
            "done": self.done.copy(),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Bring back a snapshot of a batch of the same size, rules and arguments; `threads` may differ.

        Raises:
            ValueError: a snapshot of another batch, or a damaged one; nothing has changed then.
        """
        for name, array in self.snapshot().items():
            given = snapshot.get(name) if isinstance(snapshot, Mapping) else None
            if not isinstance(given, np.ndarray):
                raise ValueError(f"the snapshot has no array {name!r}")
            if name == "arguments":
                text = given.tobytes().decode(errors="replace")
                if text != self._identity():
                    raise ValueError(f"the snapshot is of another batch: {text!r}, this one is {self._identity()!r}")
            elif given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(
                    f"the snapshot's {name!r} is {given.dtype} {given.shape}, "
                    f"this batch needs {array.dtype} {array.shape}"
                )
        states, replayed = new_states(self.num_envs), new_states(self.num_envs)
        _bytes(states)[:] = snapshot["states"]
        bad = replay_tables(states, self.rules.packed, replayed)
        differing = (_bytes(states) != _bytes(replayed)).any(axis=1) | (snapshot["numbers"] < 0)
        if bad >= 0 or differing.any():
            table = bad if bad >= 0 else differing.argmax()
            raise ValueError(f"the snapshot is damaged: the state of table {table} is impossible")
        self._seed = np.uint64(snapshot["seed"][0])
        _bytes(self.states)[:] = snapshot["states"]
        self.episodes[:] = snapshot["numbers"]
        self.rewards[:] = snapshot["rewards"]
        self.done[:] = snapshot["done"]
        self._bind()
        self._slices.run(show_tables, self.states, self.rules.packed, self._canonical, *self._buffers)

    def __getstate__(self) -> dict[str, Any]:
        return {"arguments": self._arguments, "snapshot": self.snapshot()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(**kept["arguments"])  # type: ignore[misc]
        self.restore(kept["snapshot"])

    def _identity(self) -> str:
        """What a snapshot must agree in."""
        kept = {name: value for name, value in self._arguments.items() if name not in ("rules", "seed", "threads")}
        return f"{rules_text(self.rules)} {kept}"

    def _bind(self) -> None:
        """Fix what every step passes on, and with it the compiled code it goes to."""
        fixed = (
            self.states, self.rules.packed, self._seed, self._first, self.episodes, self._episode, self._reward,
            self._skip, self._canonical, self._actions, *self._buffers, self.rewards, self.done,
        )  # fmt: skip
        self._step = bound(step_tables, fixed, 0, self.num_envs)
        self._refused = bound(
            first_illegal, (self.frames, self._legal, self.num_actions, self._canonical, self._actions)
        )


def _bytes(states: NDArray[Any]) -> NDArray[np.uint8]:
    """States as (n, STATE_BYTES) bytes."""
    return states.view(np.uint8).reshape(len(states), STATE_BYTES)


def _words(rows: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """The same zeroed memory as (rows, size) bytes and as (rows, size / 8) words."""
    words = aligned_zeros((rows, size // 8), np.uint64)
    return words.view(np.uint8).reshape(rows, size), words
