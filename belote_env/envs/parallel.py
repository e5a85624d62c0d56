"""A PettingZoo parallel view of `belote_v0`: every agent acts at every step, one of the actions counts."""

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from belote_env.envs.pictures import Frame

if TYPE_CHECKING:
    from belote_env.envs.belote_v0 import raw_env


class raw_parallel_env(ParallelEnv):
    """The table of an AEC environment, all four agents at a time.

    Observations, rewards and arguments are those of the AEC environment.  The agent to act finds its legal actions in
    its mask; everybody else's mask is all ones and their action is ignored.  `infos[agent]["to_act"]` is 1 for the
    agent whose action counts next, else 0.

    Args:
        aec: the environment to show; it is no longer to be stepped by anybody else.
    """

    def __init__(self, aec: "raw_env") -> None:
        self.aec = aec
        self.metadata = {**aec.metadata, "is_parallelizable": True}
        self.render_mode = aec.render_mode
        self.possible_agents = list(aec.possible_agents)
        self.observation_spaces = aec.observation_spaces
        self.action_spaces = aec.action_spaces
        self.state_space = aec.state_space
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Box | Dict:
        """The agent's space, the same object each time."""
        return self.aec.observation_space(agent)

    def action_space(self, agent: str) -> Discrete:
        """`Discrete(rules.n_actions)`, the same object each time."""
        return self.aec.action_space(agent)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode, as `belote_v0.raw_env.reset` does; returns `(observations, infos)`."""
        self.aec.reset(seed, options)
        self.agents = list(self.possible_agents)
        return self._shown()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the action of the agent to act; returns `(observations, rewards, terminations, truncations, infos)`.

        Raises:
            ValueError: no action of the agent to act, or one that the AEC environment refuses; nothing has changed
                then. Also when the episode is over.
        """
        aec = self.aec
        if not self.agents:
            raise ValueError("no episode is on: call reset()")
        mover = aec.agent_selection
        if mover not in actions:
            raise ValueError(f"{mover} is to act, and there are actions of {', '.join(map(str, actions)) or 'nobody'}")
        aec.step(actions[mover])
        results = dict(aec.rewards), dict(aec.terminations), dict(aec.truncations)
        observations, infos = self._shown()
        if results[1][mover]:  # all end together
            self.agents = []
        return observations, *results, infos

    def _shown(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        aec = self.aec
        mover = None if aec.terminations[self.agents[0]] else aec.agent_selection
        observations, infos = {}, {}
        for agent in self.agents:
            seen, info = aec.observe(agent), {**aec.infos[agent], "to_act": int(agent == mover)}
            if agent != mover:
                masked = info if "action_mask" in info else seen
                masked["action_mask"] = np.ones_like(masked["action_mask"])
            elif "action_mask" in info:
                info["action_mask"] = info["action_mask"].copy()
            observations[agent], infos[agent] = seen, info
        return observations, infos

    def state(self) -> NDArray[Any]:
        """As `belote_v0.raw_env.state`."""
        return self.aec.state()

    def render(self) -> Frame | None:
        """As `belote_v0.raw_env.render`."""
        return self.aec.render()

    def close(self) -> None:
        """Nothing is held open."""
