"""PufferLib's PuffeRL on a native environment, one seat among Heuristic players; the policy masks its own logits.

    pip install "belote-env[pufferlib]" -c constraints.txt
    python examples/pufferlib_ppo.py

Ran with pufferlib-core 3.0.19, torch 2.13.0.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import pufferlib.vector
import torch
from measure import measure
from pufferlib.pufferl import PuffeRL
from torch import nn

from belote_env.envs.adapters.export import write_onnx
from belote_env.envs.adapters.pufferlib import BelotePuffer, split
from belote_env.observation import SIZE
from belote_env.players import Policy as Player

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 150_000
TABLES, HORIZON = 256, 16


class Policy(nn.Module):
    """Logits and values of rows of bits and mask."""

    def __init__(self, actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, actions))
        self.critic = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, rows, state=None):
        bits, mask = split(rows)
        bits = bits.float()
        return self.actor(bits).masked_fill(mask == 0, -1e9), self.critic(bits)

    forward_eval = forward


torch.manual_seed(1)
env = pufferlib.vector.make(
    BelotePuffer, env_kwargs={"num_agents": TABLES}, num_envs=1, backend=pufferlib.vector.Serial, seed=1
)
policy = Policy(env.single_action_space.n)
with tempfile.TemporaryDirectory() as folder:
    config = {
        **{"seed": 1, "torch_deterministic": True, "device": "cpu", "cpu_offload": False, "precision": "float32"},
        **{"compile": False, "compile_mode": "default", "compile_fullgraph": False, "use_rnn": False},
        **{"batch_size": TABLES * HORIZON, "bptt_horizon": HORIZON, "minibatch_size": 1024, "max_minibatch_size": 1024},
        **{"optimizer": "adam", "learning_rate": 1e-3, "anneal_lr": False, "max_grad_norm": 0.5, "update_epochs": 4},
        **{"adam_beta1": 0.9, "adam_beta2": 0.999, "adam_eps": 1e-8, "total_timesteps": STEPS},
        **{"gamma": 1.0, "gae_lambda": 0.95, "clip_coef": 0.2, "vf_coef": 1.0, "vf_clip_coef": 0.2, "ent_coef": 0.01},
        **{"vtrace_rho_clip": 1.0, "vtrace_c_clip": 1.0, "prio_alpha": 0.0, "prio_beta0": 1.0},
        **{"checkpoint_interval": 10**9, "data_dir": folder, "env": "belote"},
    }
    with contextlib.redirect_stdout(io.StringIO()):  # its dashboard
        trainer = PuffeRL(config, env, policy)
        while trainer.global_step < STEPS:
            trainer.evaluate()
            trainer.train()
    player = Player(write_onnx(Path(folder) / "pufferlib.onnx", [policy.actor]))
measure(player, "pufferlib-core", "torch")
