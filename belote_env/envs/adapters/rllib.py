"""RLlib, new API stack: a `MultiAgentEnv` in which only the seat to act is shown, and a module that masks its logits.

    from belote_env.envs.adapters.rllib import BeloteMultiAgentEnv, MaskedPPOModule

    config = (
        PPOConfig()
        .environment(BeloteMultiAgentEnv, env_config={"rules": "classic"}, disable_env_checking=True)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"shared": RLModuleSpec(MaskedPPOModule)}))
    )

Observations are `Dict(observations, action_mask)`, both float32, the names that RLlib's own masking module wants too.
RLlib's check of environments draws actions without masks, and a table refuses illegal ones: leave the check out.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
except ImportError as error:
    raise ImportError("this adapter needs RLlib: pip install 'belote-env[rllib]'") from error

from belote_env.envs.belote_v0 import AGENTS, raw_env
from belote_env.observation import SIZE

#: RLlib's own module for PPO: logits plus log of the mask.
MaskedPPOModule = ActionMaskingTorchRLModule


class BeloteMultiAgentEnv(MultiAgentEnv):
    """The AEC table: each step shows the seat that is to act, and pays whoever was paid by it.

    At the end all four are shown once more, with masks of ones, and `__all__` terminates.

    Args:
        config: arguments of `belote_v0.raw_env`, but `mask_in`, `obs_dtype` and `final_mask`.
    """

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.table = raw_env(final_mask="ones", **dict(config or {}))
        n = self.table.rules.n_actions
        self.agents = self.possible_agents = list(AGENTS)
        self.observation_spaces = {
            agent: Dict({"observations": Box(0, 1, (SIZE,), np.float32), "action_mask": Box(0, 1, (n,), np.float32)})
            for agent in AGENTS
        }
        self.action_spaces = dict(self.table.action_spaces)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Start an episode; returns `(observations, infos)` of the seat to act."""
        self.table.reset(seed=seed, options=options)
        return self._shown()

    def step(self, action_dict: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Play the action of the seat to act; returns observations, rewards, terminateds, truncateds, infos.

        Raises:
            ValueError: no action of the seat to act, or an illegal one; nothing has changed then.
        """
        mover = self.table.agent_selection
        if mover not in action_dict:
            raise ValueError(f"{mover} is to act, and there are actions of {', '.join(action_dict) or 'nobody'}")
        self.table.step(int(action_dict[mover]))
        over = self.table.terminations[mover]
        observations, infos = self._shown()
        rewards = {agent: float(paid) for agent, paid in self.table.rewards.items() if paid or agent in observations}
        return observations, rewards, {"__all__": over}, {"__all__": False}, infos

    def _shown(self) -> tuple[dict[str, Any], dict[str, Any]]:
        over = self.table.terminations[AGENTS[0]]
        agents = AGENTS if over else (self.table.agent_selection,)
        observations = {}
        for agent in agents:
            seen = self.table.observe(agent)
            observations[agent] = {
                "observations": seen["observation"],
                "action_mask": seen["action_mask"].astype(np.float32),
            }
        return observations, {agent: dict(self.table.infos[agent]) for agent in agents}
