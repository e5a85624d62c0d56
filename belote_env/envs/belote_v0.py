"""Belote as a PettingZoo AEC environment, for four agents at one table.

    from belote_env import belote_v0

    env = belote_v0.env()
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        action = None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"])
        env.step(action)

All checks are in `raw_env` itself; `env` returns it without wrappers, each of which costs more than the game does.
Episodes are those of `SelfPlayVector`'s table 0: `reset(seed=s)` starts episode 0 of seed s, every further `reset()`
the next one.
"""

import secrets
from typing import Any

import numpy as np
import pettingzoo
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray
from pettingzoo import AECEnv

from belote_env.envs.arguments import (
    ILLEGAL_PENALTY,
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
from belote_env.envs.batch import ILLEGAL, OVER, begin_table, show_table, step_table
from belote_env.envs.parallel import raw_parallel_env
from belote_env.envs.pictures import RENDER_MODES, Frame, check_render_mode, frame, warn_unseen
from belote_env.frames import IDENTITY_FRAME, mask_words
from belote_env.game import checked_seed
from belote_env.observation import HIDDEN_SIZE, HIDDEN_WORDS, SIZE, STATE_SIZE, WORDS, observe, observe_hidden
from belote_env.rules import Rules, as_rules
from belote_env.state import aligned_zeros, new_states

AGENTS = ("player_0", "player_1", "player_2", "player_3")
FINAL_MASKS = ("zeros", "ones")

_SEATS = {agent: seat for seat, agent in enumerate(AGENTS)}
#: Attributes that a table has from its first `reset` on.
_AFTER_RESET = frozenset(
    (
        "agents",
        "num_agents",
        "agent_selection",
        "rewards",
        "_cumulative_rewards",
        "terminations",
        "truncations",
        "infos",
        "_seat",
    )
)


class NotReset(ResetNeeded, AttributeError):
    """Something was asked of a table before its first `reset`."""


class raw_env(AECEnv):
    """One table; the agent selected is the seat to act.

    The observation is `Dict(observation=Box(0, 1, (SIZE,)), action_mask=Box(0, 1, (n_actions,), int8))`, the bits of
    `belote_env.observation.LAYOUT`.  The mask of the agent to act is its legal actions; everybody else's is zeros.
    `infos[agent]` holds the match scores `score` and `opponent_score`.

    Args:
        rules: `Rules` or a preset's name.
        episode: "deal" or "match".
        reward: "points", "tricks", "win" or "cards"; partners get the same, sides the opposite. Points are divided
            by 256.
        render_mode: None, "human" (prints the table after every step), "ansi" (`render` returns it as text) or
            "rgb_array" (as pixels; extra `[draw]`).
        mask_in: "observation", or "info": a flat observation, and the mask in `infos[agent]["action_mask"]`.
        obs_dtype: "float32", "float64", "int8" or "uint8"; the mask is int8 always.
        illegal: "raise" a ValueError and change nothing, or "end" the game: the offender's side gets -1, the other 1.
        final_mask: everybody's mask at the end, "zeros" or "ones".

    Raises:
        ValueError: an argument outside its choices, a reward that the episode never pays, or an extra that is missing.
    """

    metadata = {
        "name": "belote_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: Rules | str = "classic",
        episode: str = "deal",
        reward: str = "points",
        render_mode: str | None = None,
        mask_in: str = "observation",
        obs_dtype: str = "float32",
        illegal: str = "raise",
        final_mask: str = "zeros",
    ) -> None:
        self.rules = as_rules(rules)
        self._episode, self._reward = check_episode(self.rules, episode, reward)
        check_render_mode(render_mode)
        check_choice("mask_in", mask_in, MASK_PLACES)
        check_choice("obs_dtype", obs_dtype, OBSERVATION_DTYPES)
        check_choice("illegal", illegal, ILLEGAL_POLICIES)
        check_choice("final_mask", final_mask, FINAL_MASKS)
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self._dtype = np.dtype(obs_dtype)
        self._mask_in_info = mask_in == "info"
        self._illegal_ends = illegal == "end"
        self._final_ones = final_mask == "ones"
        self._n = self.rules.n_actions
        self._seed: np.uint64 | None = None
        self._number = -1
        self._states = new_states(1)
        self._out = aligned_zeros((1, WORDS + mask_words(self._n)), np.uint64)
        self._bind()
        spaces = [observation_space(self._n, self._dtype, self._mask_in_info) for _ in AGENTS]
        self.observation_spaces = dict(zip(AGENTS, spaces, strict=True))
        self.action_spaces = {agent: Discrete(self._n) for agent in AGENTS}
        self.state_space = Box(0, 1, (STATE_SIZE,), self._dtype.type)

    # -- spaces

    def observation_space(self, agent: str) -> Box | Dict:
        """The agent's space, the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """`Discrete(rules.n_actions)`, the same object each time."""
        return self.action_spaces[agent]

    # -- episodes

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: starts the sequence of episodes of this seed; None goes on in the present one (the first time, in
                one that nobody knows).
            options: `{"position": text}` starts from a position instead, as `Game.to_text` writes it; it takes the
                place of the dealt episode and its rewards are those of the rest of the deal. Anything else is ignored.

        Raises:
            ValueError: a seed outside 0..2**64-1, or a position that is malformed, over, or of other rules; nothing
                has changed then.
        """
        start = None if seed is None else np.uint64(checked_seed(seed))
        position = checked_options(options).get("position")
        states = None if position is None else checked_position(position, self.rules)
        if start is not None:
            self._seed, self._number = start, -1
        elif self._seed is None:
            self._seed = np.uint64(secrets.randbits(64))
        self._number += 1
        if states is None:
            self._seat = begin_table(self._states, self._packed, self._seed, self._number, self._episode, self._out)
        else:
            self._states = states
            self._seat = show_table(states, self._packed, self._out)
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[self._seat]
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = self._new_infos()
        self._paid = False
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Play an action for `agent_selection`; None for an agent that has terminated.

        Raises:
            ValueError: not an action, or an illegal one where the environment raises; nothing has changed then.
        """
        agent = self.agent_selection
        if self._seat < 0:
            self._step_dead(agent, action)
            return
        number = checked_action(action, agent)
        seat, paid, deal_over = ILLEGAL, 0.0, False
        if 0 <= number < self._n:
            seat, paid, deal_over = step_table(
                self._states, self._packed, number, self._episode, self._reward, self._out
            )
        if seat == ILLEGAL:
            if not self._illegal_ends:
                raise illegal_action(number, agent, self._states, 0, self.rules)
            seat, paid = OVER, ILLEGAL_PENALTY if self._seat & 1 else -ILLEGAL_PENALTY
        self._seat = seat
        self._cumulative_rewards[agent] = 0.0
        if paid or self._paid:
            self._pay(paid)
        if deal_over:
            self.infos = self._new_infos()
        elif self._mask_in_info:
            self._show_masks(agent)
        if seat >= 0:
            self.agent_selection = AGENTS[seat]
        else:
            self.agent_selection = AGENTS[0]
            self.terminations = dict.fromkeys(AGENTS, True)
        if self.render_mode == "human":
            self.render()

    def _pay(self, paid: float) -> None:
        other = -paid if paid else 0.0
        self.rewards = dict(zip(AGENTS, (paid, other, paid, other), strict=True))
        self._paid = paid != 0.0
        for agent, reward in self.rewards.items():
            self._cumulative_rewards[agent] += reward

    def _step_dead(self, agent: str, action: Any) -> None:
        if not self.agents:
            raise ValueError("the episode is over and every agent has seen its end: call reset()")
        if action is not None:
            raise ValueError(f"{agent} has terminated: its only action is None, not {action!r}")
        self.agents.remove(agent)
        for table in (self.rewards, self._cumulative_rewards, self.terminations, self.truncations, self.infos):
            del table[agent]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]

    # -- what agents see

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """`(observation, reward since its last action, terminated, truncated, info)` of `agent_selection`."""
        agent = self.agent_selection
        seen: Any = None
        if observe and self._seat >= 0:
            seen = self._bits.astype(self._dtype)
            if not self._mask_in_info:
                seen = {"observation": seen, "action_mask": self._mask.copy()}
        elif observe:
            seen = self.observe(agent)
        return (
            seen,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent].copy(),
        )

    def observe(self, agent: str) -> Any:
        """What any agent sees now, in fresh arrays; also when the episode is over.

        Raises:
            ValueError: not an agent.
        """
        to_act = self._seat
        if agent not in _SEATS:
            raise ValueError(f"{agent!r} is not an agent: there are {', '.join(AGENTS)}")
        seat = _SEATS[agent]
        out = np.empty((1, WORDS), np.uint64)
        observe(self._states, 0, seat, self._packed, IDENTITY_FRAME, out, 0)
        bits = out.view(np.uint8).reshape(SIZE).astype(self._dtype)
        if self._mask_in_info:
            return bits
        return {"observation": bits, "action_mask": self._mask.copy() if seat == to_act else self._idle_mask()}

    def state(self) -> NDArray[Any]:
        """(STATE_SIZE,) of `obs_dtype`: what player_0 sees, then the hands of player_1, player_2 and player_3."""
        seen = self.observe(AGENTS[0])
        hidden = np.empty((1, HIDDEN_WORDS), np.uint64)
        observe_hidden(self._states, 0, 0, IDENTITY_FRAME, hidden, 0)
        whole = np.empty(STATE_SIZE, self._dtype)
        whole[:SIZE] = seen if self._mask_in_info else seen["observation"]
        whole[SIZE:] = hidden.view(np.uint8).reshape(HIDDEN_SIZE)
        return whole

    def _idle_mask(self) -> NDArray[np.int8]:
        return np.ones(self._n, np.int8) if self._seat < 0 and self._final_ones else np.zeros(self._n, np.int8)

    def _new_infos(self) -> dict[str, dict[str, Any]]:
        scores = self._states[0]["scores"].tolist()
        infos: dict[str, dict[str, Any]] = {
            agent: {"score": scores[seat & 1], "opponent_score": scores[1 - (seat & 1)]}
            for agent, seat in _SEATS.items()
        }
        if self._mask_in_info:
            for seat, agent in enumerate(AGENTS):
                infos[agent]["action_mask"] = self._mask.copy() if seat == self._seat else self._idle_mask()
        return infos

    def _show_masks(self, before: str) -> None:
        """Move the legal set to the agent to act; infos handed out earlier keep theirs."""
        if self._seat < 0:
            self.infos = self._new_infos()
            return
        self.infos[before] = {**self.infos[before], "action_mask": self._idle_mask()}
        agent = AGENTS[self._seat]
        self.infos[agent] = {**self.infos[agent], "action_mask": self._mask.copy()}

    # -- the picture

    def render(self) -> Frame | None:
        """The table, hands open: printed in "human" mode, text in "ansi", (600, 800, 3) uint8 in "rgb_array"."""
        over = self._seat < 0
        if self.render_mode is None:
            warn_unseen()
            return None
        shown = frame(self.render_mode, self._states, 0, self.rules, over=over)
        if self.render_mode != "human":
            return shown
        print(shown, end="\n\n")
        return None

    def close(self) -> None:
        """Nothing is held open."""

    # -- copies

    def _bind(self) -> None:
        self._packed = self.rules.packed
        self._bits = self._out[0, :WORDS].view(np.uint8)
        self._mask = self._out[0, WORDS:].view(np.int8)[: self._n]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_packed", "_bits", "_mask")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._bind()

    def __getattr__(self, name: str) -> Any:
        if name in _AFTER_RESET:
            raise NotReset("call reset() first: before it there are no cards on the table")
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


def env(**kwargs: Any) -> raw_env:
    """The environment; the arguments are those of `raw_env`."""
    return raw_env(**kwargs)


def parallel_env(**kwargs: Any) -> raw_parallel_env:
    """All four agents at a time; the arguments are those of `raw_env`."""
    return raw_parallel_env(raw_env(**kwargs))


if hasattr(pettingzoo, "register"):  # from 1.27 on
    for _kind, _registry in (("aec", pettingzoo.aec_registry), ("parallel", pettingzoo.parallel_registry)):
        if "belote/belote-v0" not in _registry:
            _door = "env" if _kind == "aec" else "parallel_env"
            pettingzoo.register(_kind, "belote/belote-v0", entry_point=f"{__name__}:{_door}")
