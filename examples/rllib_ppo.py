"""RLlib's PPO, new API stack: one policy in all four seats, logits masked by RLlib's own module.

    pip install -e ".[rllib]" -c examples/constraints/rllib.txt
    python examples/rllib_ppo.py

Ran with ray 2.60.0, gymnasium 1.2.2, torch 2.13.0.
"""

import sys

import torch
from measure import measure
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from belote_env.envs.adapters.rllib import BeloteMultiAgentEnv, MaskedPPOModule

ITERATIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 4

config = (
    PPOConfig()
    .environment(BeloteMultiAgentEnv, env_config={"rules": "classic"}, disable_env_checking=True)
    .env_runners(num_env_runners=0, batch_mode="complete_episodes")
    .learners(num_learners=0)
    .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
    .rl_module(
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={
                "shared": RLModuleSpec(
                    module_class=MaskedPPOModule, model_config={"head_fcnet_hiddens": [128], "fcnet_hiddens": [128]}
                )
            }
        )
    )
    .training(train_batch_size=4000, minibatch_size=512, num_epochs=4, lr=1e-3, gamma=1.0, entropy_coeff=0.01)
    .debugging(seed=1)
)
algorithm = config.build_algo()
for _ in range(ITERATIONS):
    algorithm.train()
module = algorithm.get_module("shared")


def policy(bits, mask):
    seen = {
        "observations": torch.tensor(bits, dtype=torch.float32)[None],
        "action_mask": torch.tensor(mask, dtype=torch.float32)[None],
    }
    with torch.no_grad():
        return int(module.forward_inference({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS][0].argmax())


measure(policy, "ray", "gymnasium", "torch", pairs=200)
algorithm.stop()
