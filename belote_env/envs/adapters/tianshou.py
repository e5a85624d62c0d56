"""Tianshou: one learner's seat, its observation `Dict(obs, mask)`, the names that Tianshou's policies look for.

    from tianshou.env import DummyVectorEnv
    from belote_env.envs.adapters.tianshou import make_env

    envs = DummyVectorEnv([lambda: make_env(opponents="heuristic") for _ in range(16)])

Tianshou's own `PettingZooEnv` hands out the rewards of the last step alone, to whoever acted: what the other seats then
win is in nobody's transition.  Here a transition runs from one turn of the seat to its next and pays all between.
"""

from typing import Any

import gymnasium
from gymnasium.spaces import Dict

from belote_env.envs.single import BeloteEnv


class ObsAndMask(gymnasium.ObservationWrapper[Any, Any, Any]):
    """`Dict(observation, action_mask)` as `Dict(obs, mask)`; the mask stays int8, of which Tianshou takes 1 − mask."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        space: Any = env.observation_space
        self.observation_space = Dict({"obs": space["observation"], "mask": space["action_mask"]})

    def observation(self, observation: Any) -> dict[str, Any]:
        """The same arrays under the other names."""
        return {"obs": observation["observation"], "mask": observation["action_mask"]}


def make_env(**arguments: Any) -> ObsAndMask:
    """A table for Tianshou.

    Args:
        arguments: those of `BeloteEnv`, but `mask_in`.
    """
    return ObsAndMask(BeloteEnv(mask_in="observation", **arguments))
