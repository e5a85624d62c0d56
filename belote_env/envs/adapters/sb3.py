"""Stable-Baselines3 and sb3-contrib's MaskablePPO: a `VecEnv` of one learner's seat at many tables.

from sb3_contrib import MaskablePPO
from belote_env.envs.adapters.sb3 import BeloteVecEnv, export_onnx

model = MaskablePPO("MlpPolicy", BeloteVecEnv(64, opponents="heuristic"))
model.learn(100_000)
export_onnx(model, "policy.onnx")  # belote_env.players.Policy("policy.onnx") plays it
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("this adapter needs Stable-Baselines3: pip install 'belote-env[sb3]'") from error

from belote_env.envs.adapters.export import write_onnx
from belote_env.envs.gym_vector import BeloteVectorEnv


class BeloteVecEnv(VecEnv):
    """`BeloteVectorEnv` as SB3 has it: flat observations, masks by `action_masks`, a reset in the step that ends.

    The reward is all that was paid to the seat's side since its last action, the end of the deal included;
    `infos[i]["terminal_observation"]` is the last observation of an episode that has ended.

    Args:
        num_envs: number of tables.
        arguments: those of `BeloteVectorEnv`, but `mask_in` and `autoreset_mode`.
    """

    def __init__(self, num_envs: int = 64, **arguments: Any) -> None:
        self.tables = BeloteVectorEnv(num_envs, mask_in="info", autoreset_mode="SameStep", **arguments)
        self._masks = np.ones((num_envs, self.tables.rules.n_actions), np.bool_)
        super().__init__(num_envs, self.tables.single_observation_space, self.tables.single_action_space)

    def reset(self) -> Any:
        """Start an episode at every table, from the seeds that `seed` has set; returns (N, SIZE) observations."""
        seeds = [None if seed is None else int(seed) for seed in self._seeds]
        options = self._options[0] if self._options and self._options[0] else None
        observations, infos = self.tables.reset(seed=None if None in seeds else seeds, options=options)
        self._masks = infos["action_mask"].astype(np.bool_)
        self.reset_infos = self._per_table(infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Any) -> None:
        """Take (N,) actions; `step_wait` plays them."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Play; returns `(observations, rewards, dones, infos)`."""
        observations, rewards, dones, _, infos = self.tables.step(self._actions)
        self._masks = infos["action_mask"].astype(np.bool_)
        tables = self._per_table(infos)
        for i in np.flatnonzero(dones):
            tables[i]["terminal_observation"] = infos["final_obs"][i]
            tables[i]["TimeLimit.truncated"] = False
        return observations, rewards.astype(np.float32), dones, tables

    def action_masks(self) -> list[Any]:
        """N masks (n_actions,) bool, True where legal."""
        return list(self._masks.copy())

    def _per_table(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        names = ("seat", "score", "opponent_score")
        return [{name: int(infos[name][i]) for name in names} for i in range(self.num_envs)]

    # -- what SB3 asks single environments; here one object holds them all

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute, once for every table asked about."""
        chosen = self._get_indices(indices)
        if attr_name == "render_mode":
            return [None for _ in chosen]
        value = getattr(self if attr_name == "action_masks" else self.tables, attr_name)
        return [value for _ in chosen]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the tables."""
        setattr(self.tables, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks` of the tables asked about; there is no other method of single tables."""
        if method_name != "action_masks":
            raise AttributeError(f"a table has no method {method_name!r}; there is 'action_masks'")
        return [self._masks[i].copy() for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No table is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[Any]:
        """None: many tables have no picture."""
        return [None] * self.num_envs

    def close(self) -> None:
        """End the threads."""
        self.tables.close()


def export_onnx(model: Any, path: str | Path) -> Path:
    """Write the policy of a PPO, A2C or MaskablePPO model with `MlpPolicy` as an ONNX file; returns the path.

    Raises:
        ImportError: `onnx` is not installed.
        ValueError: a policy of other layers than `write_onnx` writes.
    """
    policy = model.policy
    return write_onnx(path, [policy.pi_features_extractor, policy.mlp_extractor.policy_net, policy.action_net])
