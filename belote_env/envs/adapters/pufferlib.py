"""PufferLib: a native `PufferEnv`, one learner's seat at each of many tables.

    from belote_env.envs.adapters.pufferlib import BelotePuffer, split

    env = BelotePuffer(num_agents=64, opponents="heuristic")
    observations, infos = env.reset(seed=1)
    bits, mask = split(observations)  # (64, SIZE), (64, n_actions), of a torch tensor too

PufferLib has one array for what an agent sees and none for masks, so a row is the bits and then the mask, uint8.  The
buffers are PufferLib's own and written in place; a table whose deal is over shows the next one in the same step.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box

try:
    from pufferlib import PufferEnv
except ImportError as error:
    raise ImportError("this adapter needs PufferLib: pip install 'belote-env[pufferlib]'") from error

from belote_env.envs.gym_vector import BeloteVectorEnv
from belote_env.observation import SIZE


class BelotePuffer(PufferEnv):
    """`BeloteVectorEnv` as a native environment.

    The reward is all that was paid to the seat's side since its last action.  Infos hold one dict for a step in which
    deals have ended: their number and the seats' mean reward.

    Args:
        num_agents: number of tables.
        buf: PufferLib's buffers, where it has made them.
        seed: of the first `reset` that is given none.
        arguments: those of `BeloteVectorEnv`, but `mask_in`, `obs_dtype` and `autoreset_mode`.
    """

    def __init__(self, num_agents: int = 64, buf: Any = None, seed: int = 0, **arguments: Any) -> None:
        self.tables = BeloteVectorEnv(num_agents, obs_dtype="uint8", autoreset_mode="SameStep", **arguments)
        self.num_agents, self.render_mode, self._seed = num_agents, None, seed
        actions = self.tables.rules.n_actions
        self.single_observation_space = Box(0, 1, (SIZE + actions,), np.uint8)
        self.single_action_space = self.tables.single_action_space
        super().__init__(buf)
        self._paid = np.zeros(num_agents)

    def reset(self, seed: int | None = None) -> tuple[Any, list[Any]]:
        """Start an episode at every table; returns `(observations, [])`."""
        observations, _ = self.tables.reset(seed=self._seed if seed is None else seed)
        self.rewards[:], self.terminals[:], self.truncations[:], self.masks[:] = 0, False, False, True
        self._paid[:] = 0
        self._show(observations)
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, list[Any]]:
        """Play; returns `(observations, rewards, terminals, truncations, infos)`, four of them the buffers."""
        observations, rewards, ended, _, _ = self.tables.step(np.asarray(actions).reshape(self.num_agents))
        self.rewards[:], self.terminals[:] = rewards, ended
        self._paid += rewards
        infos = [{"deals": int(ended.sum()), "return": float(self._paid[ended].mean())}] if ended.any() else []
        self._paid[ended] = 0
        self._show(observations)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def _show(self, observations: Any) -> None:
        self.observations[:, :SIZE] = observations["observation"]
        self.observations[:, SIZE:] = observations["action_mask"]

    def render(self) -> None:
        """Nothing: many tables have no picture."""

    def close(self) -> None:
        """End the threads."""
        self.tables.close()


def split(observations: Any) -> tuple[Any, Any]:
    """The bits (…, SIZE) and the mask (…, n_actions) of observations, as arrays or tensors."""
    return observations[..., :SIZE], observations[..., SIZE:]
