"""`BeloteVectorEnv`: many tables, one learner's seat at each, as a Gymnasium vector environment.

Tables wait for their learners together, and a player is asked about all the tables where it is to act at once.

    import gymnasium

    tables = gymnasium.make_vec("belote_env:belote/Belote-v0", num_envs=4096, vectorization_mode="vector_entry_point")
    observations, infos = tables.reset(seed=1)
    actions = observations["action_mask"].argmax(axis=1)
    observations, rewards, terminations, truncations, infos = tables.step(actions)
"""

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import gymnasium.vector
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from belote_env.envs.arguments import (
    ILLEGAL_POLICIES,
    MASK_PLACES,
    MOST_TABLES,
    OBSERVATION_DTYPES,
    as_integers,
    check_choice,
    check_episode,
    checked_options,
    checked_position,
    illegal_action,
    observation_space,
)
from belote_env.envs.pictures import Frame, check_render_mode, frame, warn_unseen
from belote_env.envs.tables import LearnerTables, Mask, Opponent
from belote_env.game import checked_seed
from belote_env.rules import Rules, as_rules
from belote_env.rulings import whole_number

if TYPE_CHECKING or hasattr(gymnasium.vector, "AutoresetMode"):
    from gymnasium.vector import AutoresetMode
else:

    class AutoresetMode(Enum):
        """Gymnasium's own from 1.1 on."""

        NEXT_STEP = "NextStep"
        SAME_STEP = "SameStep"
        DISABLED = "Disabled"


#: A table printed after every step says little among many.
RENDER_MODES = ("ansi", "rgb_array")


class BeloteVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """`num_envs` tables, each as `BeloteEnv` is: Gymnasium's `SyncVectorEnv` over them gives the same, array by array.

    Observations are `Dict(observation=Box(0, 1, (N, SIZE)), action_mask=Box(0, 1, (N, n_actions), int8))`; arrays are
    fresh at every call.  Rewards are float64, all that was paid to the seat's side since its last action.  `infos`
    holds `seat`, `score` and `opponent_score`, (N,) int64.

    When an episode ends, its last observation is shown with a mask of ones.  NEXT_STEP: the step after that ignores
    the table's action, deals the next episode and pays 0.  SAME_STEP: the next episode is shown at once, and
    `infos["final_obs"]` and `infos["final_info"]` hold the end.  DISABLED: `reset(options={"reset_mask": mask})`.

    Args:
        num_envs: number of tables, at least 1.
        rules, episode, reward, opponents, seat, mask_in, obs_dtype, illegal: as in `BeloteEnv`; a seat of None is
            drawn for every table and episode.
        threads: slices of tables stepped side by side; players are then asked from several threads at once.
        autoreset_mode: an `AutoresetMode` or its value, "NextStep", "SameStep" or "Disabled".
        render_mode: None, "ansi" or "rgb_array": what `render` returns of every table, as `BeloteEnv` shows it.

    Raises:
        ValueError: an argument outside its choices, a reward that the episode never pays, or an extra that is missing.
        TypeError: an opponent that is no player.
    """

    metadata = {
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "classic",
        episode: str = "deal",
        reward: str = "points",
        opponents: Opponent | Sequence[Opponent] = "heuristic",
        seat: int | None = None,
        mask_in: str = "observation",
        obs_dtype: str = "float32",
        illegal: str = "raise",
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1, MOST_TABLES)
        self.rules = as_rules(rules)
        kinds = check_episode(self.rules, episode, reward)
        check_choice("mask_in", mask_in, MASK_PLACES)
        check_choice("obs_dtype", obs_dtype, OBSERVATION_DTYPES)
        check_choice("illegal", illegal, ILLEGAL_POLICIES)
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, tuple(mode.value for mode in AutoresetMode))
        check_render_mode(render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self._autoreset = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        self._dtype = np.dtype(obs_dtype)
        self._mask_in_info = mask_in == "info"
        self._illegal_ends = illegal == "end"
        count = whole_number("threads", threads, 1, MOST_TABLES)
        self._tables = LearnerTables(self.num_envs, self.rules, *kinds, opponents, seat, count)
        self._all, self._none = np.ones(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        self._begun = False
        self.single_observation_space = observation_space(self.rules.n_actions, self._dtype, self._mask_in_info)
        self.single_action_space = Discrete(self.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode at every table; returns `(observations, infos)` at the first turn of each seat.

        Args:
            seed: table j gets seed + j, or the j-th of a list, as `BeloteEnv.reset` takes it; None goes on (the first
                time, in episodes that nobody knows). Runs whose seeds are less than `num_envs` apart share deals.
            options: `{"position": text}` as in `BeloteEnv.reset`, for every table that is reset; `{"reset_mask":
                (N,) bool}` resets these tables alone. Anything else is ignored.

        Raises:
            ValueError: as `BeloteEnv.reset`, or a mask of another kind or shape; nothing has changed then.
            ResetNeeded: a mask at the first reset.
        """
        seeds = self._checked_seeds(seed)
        given = checked_options(options)
        chosen = self._checked_mask(given.get("reset_mask"))
        text = given.get("position")
        position = None if text is None else checked_position(text, self.rules)
        tables = self._tables
        with tables.kept():
            if not self._begun:
                tables.draw_seeds()
            tables.seed(chosen, seeds)
            tables.begin(chosen, position)
        self._begun = True
        if seeds[0] is not None:
            super().reset(seed=seeds[0])
        return self._observations(), self._infos(chosen)

    def step(self, actions: ArrayLike) -> tuple[Any, NDArray[np.float64], Mask, Mask, dict[str, Any]]:
        """Play one action at every table; returns `(observations, rewards, terminations, truncations, infos)`.

        Args:
            actions: (N,) integers, each legal at its table. Where NEXT_STEP deals a new episode they are ignored.

        Raises:
            ValueError: wrong shape or type, an illegal action where the environment raises, or an opponent's illegal
                answer; nothing has changed then.
            ResetNeeded: before the first `reset`; where nothing resets itself, also a table whose episode is over.
        """
        if not self._begun:
            raise ResetNeeded("call reset() first")
        tables = self._tables
        chosen = as_integers(actions, self.num_envs)
        over = tables.over.copy()
        if self._autoreset == AutoresetMode.DISABLED and over.any():
            raise ResetNeeded(f"table {over.argmax()}: the episode is over, reset it with options['reset_mask']")
        bad = -1 if self._illegal_ends else tables.refused(chosen, ~over)
        if bad >= 0:
            who = f"seat {tables.learners[bad]} of table {bad}"
            raise illegal_action(int(chosen[bad]), who, tables.states, bad, self.rules)
        infos: dict[str, Any] = {}
        with tables.kept():
            rewards = tables.step(chosen, ~over)
            ended = tables.over.copy()
            if self._autoreset == AutoresetMode.SAME_STEP and ended.any():
                infos = self._final(ended)
                tables.begin(ended)
        infos.update(self._infos(self._all))
        return self._observations(), rewards, ended, self._none.copy(), infos

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._tables.close()

    def render(self) -> tuple[Frame, ...] | None:
        """A picture of every table, in order: text in "ansi" mode, (600, 800, 3) uint8 in "rgb_array"."""
        if self.render_mode is None:
            warn_unseen(RENDER_MODES)
            return None
        if not self._begun:
            raise ResetNeeded("call reset() first")
        tables = self._tables
        return tuple(
            frame(self.render_mode, tables.states, i, self.rules, over=bool(over), learner=int(tables.learners[i]))
            for i, over in enumerate(tables.over)
        )

    # -- what is shown

    def _observations(self) -> Any:
        bits = self._tables.bits.astype(self._dtype)
        return bits if self._mask_in_info else {"observation": bits, "action_mask": self._tables.masks.copy()}

    def _infos(self, chosen: Mask) -> dict[str, Any]:
        """Gymnasium's form: a `_key` beside each key says which tables it speaks of; zeros at the others."""
        values = {
            "seat": self._tables.learners,
            "score": self._tables.scores[:, 0],
            "opponent_score": self._tables.scores[:, 1],
        }
        infos: dict[str, Any] = {}
        for name, array in values.items():
            infos[name], infos[f"_{name}"] = np.where(chosen, array, 0), chosen.copy()
        if self._mask_in_info:
            masks = self._tables.masks
            infos["action_mask"], infos["_action_mask"] = masks * chosen[:, None], chosen.copy()
        return infos

    def _final(self, ended: Mask) -> dict[str, Any]:
        """The last observations and infos of the tables that have ended, in Gymnasium's form."""
        rows = np.flatnonzero(ended)
        bits, masks = self._tables.bits[rows].astype(self._dtype), self._tables.masks[rows]
        final = np.full(self.num_envs, None, object)
        for k, row in enumerate(rows):
            final[row] = bits[k] if self._mask_in_info else {"observation": bits[k], "action_mask": masks[k]}
        return {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": self._infos(ended),
            "_final_info": ended.copy(),
        }

    # -- what is asked

    def _checked_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed: {self.num_envs} tables need as many seeds, not {len(seed)}")
            return [None if one is None else checked_seed(one) for one in seed]
        first = checked_seed(seed)
        checked_seed(first + self.num_envs - 1)
        return list(range(first, first + self.num_envs))

    def _checked_mask(self, mask: Any) -> Mask:
        if mask is None:
            return self._all
        kind = np.asarray(mask)
        if kind.shape != (self.num_envs,) or kind.dtype != np.bool_ or not kind.any():
            raise ValueError(
                f"options['reset_mask'] must be {self.num_envs} booleans, one of them True, "
                f"not {kind.dtype} of shape {kind.shape}"
            )
        if not self._begun:
            raise ResetNeeded("call reset() without a reset_mask first")
        return kind
