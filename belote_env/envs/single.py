"""`BeloteEnv`: one learner's seat at one table, as a Gymnasium environment; players sit in the other seats.

It is `BeloteVectorEnv` of one table.

    import gymnasium

    env = gymnasium.make("belote_env:belote/Belote-v0", rules="classic", opponents="heuristic")
    observation, info = env.reset(seed=1)
    terminated = False
    while not terminated:
        action = env.action_space.sample(observation["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from belote_env.envs.arguments import (
    ILLEGAL_POLICIES,
    MASK_PLACES,
    OBSERVATION_DTYPES,
    check_choice,
    check_episode,
    checked_action,
    checked_options,
    checked_position,
    illegal_action,
    observation_space,
)
from belote_env.envs.belote_v0 import AGENTS
from belote_env.envs.pictures import RENDER_MODES, Frame, check_render_mode, frame, warn_unseen
from belote_env.envs.tables import LearnerTables, Opponent
from belote_env.game import checked_seed
from belote_env.rules import Rules, as_rules

_ALL = np.ones(1, np.bool_)


class BeloteEnv(gymnasium.Env[Any, Any]):
    """One table from one seat; the others play on by themselves until it is to act again.

    The observation is `Dict(observation=Box(0, 1, (SIZE,)), action_mask=Box(0, 1, (n_actions,), int8))`, the bits of
    `belote_env.observation.LAYOUT`.  The mask holds the legal actions; at the end, where none is, it is all ones.
    The reward is all that was paid to the seat's side since its last action, the end of the deal included.  `info`
    holds the `seat` and the match scores `score` and `opponent_score`.

    Args:
        rules: `Rules` or a preset's name.
        episode: "deal" or "match".
        reward: "points", "tricks", "win" or "cards". Points are divided by 256.
        opponents: a player's name, a `Player` or a function `(observation, mask) -> action`, for all three seats; or
            three of them, for the next seat, the partner and the previous one.
        seat: 0..3, or None: drawn for every episode.
        mask_in: "observation", or "info": a flat observation, and the mask in `info["action_mask"]`.
        obs_dtype: "float32", "float64", "int8" or "uint8"; the mask is int8 always.
        illegal: "raise" a ValueError and change nothing, or "end" the episode: the seat's side loses 1.
        render_mode: None, "human" (prints the table after every step), "ansi" (`render` returns it as text) or
            "rgb_array" (as pixels, extra `[draw]`: seen from the seat, the other hands face down).

    Raises:
        ValueError: an argument outside its choices, a reward that the episode never pays, or an extra that is missing.
        TypeError: an opponent that is no player.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}

    def __init__(
        self,
        rules: Rules | str = "classic",
        episode: str = "deal",
        reward: str = "points",
        opponents: Opponent | Sequence[Opponent] = "heuristic",
        seat: int | None = None,
        mask_in: str = "observation",
        obs_dtype: str = "float32",
        illegal: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        self.rules = as_rules(rules)
        kinds = check_episode(self.rules, episode, reward)
        check_choice("mask_in", mask_in, MASK_PLACES)
        check_choice("obs_dtype", obs_dtype, OBSERVATION_DTYPES)
        check_choice("illegal", illegal, ILLEGAL_POLICIES)
        check_render_mode(render_mode)
        self.render_mode = render_mode
        self._dtype = np.dtype(obs_dtype)
        self._mask_in_info = mask_in == "info"
        self._illegal_ends = illegal == "end"
        self._tables = LearnerTables(1, self.rules, *kinds, opponents, seat)
        self._begun = False
        self.observation_space = observation_space(self.rules.n_actions, self._dtype, self._mask_in_info)
        self.action_space = Discrete(self.rules.n_actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; returns `(observation, info)` at the seat's first turn.

        Args:
            seed: starts the sequence of episodes of this seed; None goes on in the present one (the first time, in
                one that nobody knows). Cards, seat, and what `Random` plays follow from it; a player with random
                numbers of its own keeps those.
            options: `{"position": text}` starts from a position instead, as `Game.to_text` writes it. A seat that is
                drawn is then the one to act. Anything else is ignored.

        Raises:
            ValueError: a seed outside 0..2**64-1; a position that is malformed, over or of other rules, or whose
                deal ends before the seat is to act; an opponent's illegal answer. Nothing has changed then.
        """
        start = None if seed is None else checked_seed(seed)
        text = checked_options(options).get("position")
        position = None if text is None else checked_position(text, self.rules)
        tables = self._tables
        with tables.kept():
            if start is not None:
                tables.seed(_ALL, [start])
            elif not self._begun:
                tables.draw_seeds()
            tables.begin(_ALL, position)
        self._begun = True
        super().reset(seed=start)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an action; returns `(observation, reward, terminated, truncated, info)` at the seat's next turn.

        Raises:
            ValueError: not an action, an illegal one where the environment raises, or an opponent's illegal answer;
                nothing has changed then.
            ResetNeeded: before the first `reset`, or when the episode is over.
        """
        tables = self._tables
        if not self._begun or tables.over[0]:
            raise ResetNeeded("the episode is over: call reset()" if self._begun else "call reset() first")
        who = AGENTS[tables.learners[0]]
        number = checked_action(action, who)
        legal = 0 <= number < tables.n_actions and tables.masks[0, number]
        if not (legal or self._illegal_ends):
            raise illegal_action(number, who, tables.states, 0, self.rules)
        with tables.kept():
            reward = tables.step(np.array([number if legal else -1], np.int64), _ALL)
        if self.render_mode == "human":
            self.render()
        return self._observation(), float(reward[0]), bool(tables.over[0]), False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """(n_actions,) bool, True where legal: what sb3-contrib's MaskablePPO asks for."""
        if not self._begun:
            raise ResetNeeded("call reset() first")
        mask: NDArray[np.bool_] = self._tables.masks[0].astype(np.bool_)
        return mask

    def _observation(self) -> Any:
        bits = self._tables.bits[0].astype(self._dtype)
        return bits if self._mask_in_info else {"observation": bits, "action_mask": self._tables.masks[0].copy()}

    def _info(self) -> dict[str, Any]:
        score, opponent_score = self._tables.scores[0].tolist()
        info = {"seat": int(self._tables.learners[0]), "score": score, "opponent_score": opponent_score}
        if self._mask_in_info:
            info["action_mask"] = self._tables.masks[0].copy()
        return info

    def render(self) -> Frame | None:
        """The table: printed in "human" mode, text in "ansi", (600, 800, 3) uint8 in "rgb_array"."""
        if self.render_mode is None:
            warn_unseen()
            return None
        if not self._begun:
            raise ResetNeeded("call reset() first")
        tables = self._tables
        over, learner = bool(tables.over[0]), int(tables.learners[0])
        shown = frame(self.render_mode, tables.states, 0, self.rules, over=over, learner=learner)
        if self.render_mode != "human":
            return shown
        print(shown, end="\n\n")
        return None
