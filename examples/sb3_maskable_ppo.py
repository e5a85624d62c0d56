"""sb3-contrib's MaskablePPO in one seat among Heuristic players, then in the arena as an ONNX file.

    pip install -e ".[sb3,onnx]" -c examples/constraints/torch.txt
    python examples/sb3_maskable_ppo.py

Ran with stable-baselines3 2.9.2, sb3-contrib 2.9.2, torch 2.13.0.
"""

import sys
import tempfile
from pathlib import Path

from measure import measure
from sb3_contrib import MaskablePPO

from belote_env.envs.adapters.sb3 import BeloteVecEnv, export_onnx
from belote_env.players import Policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000

env = BeloteVecEnv(64, rules="classic", opponents="heuristic")
env.seed(1)
model = MaskablePPO(
    "MlpPolicy",
    env,
    n_steps=64,
    batch_size=1024,
    n_epochs=4,
    learning_rate=1e-3,
    gamma=1.0,  # a deal pays at its end
    seed=1,
    device="cpu",
    policy_kwargs={"net_arch": [128, 128]},
)
model.learn(STEPS)

with tempfile.TemporaryDirectory() as folder:
    policy = Policy(export_onnx(model, Path(folder) / "sb3.onnx"))
measure(policy, "stable-baselines3", "sb3-contrib", "torch")
