"""Tianshou's DQN in one seat among Heuristic players, the mask in the observation.

    pip install -e ".[tianshou,onnx]" -c examples/constraints/torch.txt
    python examples/tianshou_dqn.py

Ran with tianshou 2.0.1, torch 2.13.0.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from measure import measure
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from belote_env.envs.adapters.export import write_onnx
from belote_env.envs.adapters.tianshou import make_env
from belote_env.observation import SIZE
from belote_env.players import Policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 15_000

torch.manual_seed(1)
np.random.seed(1)
envs = DummyVectorEnv([lambda: make_env(rules="classic", opponents="heuristic") for _ in range(16)])
actions = envs.action_space[0]
net = Net(state_shape=(SIZE,), action_shape=actions.n, hidden_sizes=(128, 128))
policy = DiscreteQLearningPolicy(
    model=net, action_space=actions, observation_space=envs.observation_space[0], eps_training=0.2
)
algorithm = DQN(
    policy=policy,
    optim=AdamOptimizerFactory(lr=1e-3),
    gamma=1.0,
    n_step_return_horizon=8,  # most of a deal: Tianshou's targets see masks only where is_double is left on
    target_update_freq=500,
)
collector = Collector(policy, envs, VectorReplayBuffer(50_000, 16), exploration_noise=True)
envs.seed(1)  # reset(seed=1) would deal the same cards at every table
collector.reset()
collector.collect(n_step=1600, random=False)
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=STEPS,
        collection_step_num_env_steps=320,
        update_step_num_gradient_steps_per_sample=0.05,
        batch_size=256,
        test_step_num_episodes=0,
        verbose=False,
        show_progress=False,
    )
)

with tempfile.TemporaryDirectory() as folder:
    player = Policy(write_onnx(Path(folder) / "tianshou.onnx", [net.model]))
measure(player, "tianshou", "torch")
