"""TorchRL's PettingZooWrapper, agents grouped by side: one masked policy plays all seats and learns from itself.

    pip install -e ".[torchrl,onnx]" -c examples/constraints/torch.txt
    python examples/torchrl_pg.py

Ran with torchrl 0.14.1, tensordict 0.14.3, torch 2.13.0.
"""

import sys
import tempfile
from pathlib import Path

import torch
from measure import measure
from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import MaskedCategorical

from belote_env.envs.adapters.export import write_onnx
from belote_env.envs.adapters.torchrl import GROUPS, make_env
from belote_env.observation import SIZE
from belote_env.players import Policy

UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 10
STEPS = 720  # some twenty deals; the wrapper takes some ten milliseconds a step

torch.manual_seed(1)
env = make_env(seed=1, rules="classic")
net = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 41))
critic = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam([*net.parameters(), *critic.parameters()], lr=1e-3)

parts = []
for group in GROUPS:  # the same network for both sides
    parts.append(TensorDictModule(net, [(group, "observation", "observation")], [(group, "logits")]))
    parts.append(
        ProbabilisticTensorDictModule(
            in_keys={"logits": (group, "logits"), "mask": (group, "action_mask")},
            out_keys=[(group, "action")],
            distribution_class=MaskedCategorical,
        )
    )
policy = TensorDictSequential(*parts)

for _ in range(UPDATES):
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        data = env.rollout(STEPS, policy, break_when_any_done=False)
    done = data["next", "done"].squeeze(-1)
    last = int(done.nonzero()[-1])  # the deal after it is not over
    losses = []
    for group in GROUPS:
        reward, returns = data["next", group, "reward"].squeeze(-1), torch.zeros(STEPS, 2)
        for t in range(last, -1, -1):  # what the deal came to, from each step on
            returns[t] = reward[t] + (0 if done[t] else returns[t + 1])
        counts = data[group, "info", "to_act"].bool()
        counts[last + 1 :] = False
        bits = data[group, "observation", "observation"][counts]
        mask, action = data[group, "action_mask"][counts], data[group, "action"][counts]
        chances = MaskedCategorical(logits=net(bits), mask=mask)
        value = critic(bits).squeeze(-1)
        gain = returns[counts] - value
        losses.append((-chances.log_prob(action) * gain.detach() + gain.square()).mean())
    optimizer.zero_grad()
    sum(losses).backward()
    optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    player = Policy(write_onnx(Path(folder) / "torchrl.onnx", [net]))
measure(player, "torchrl", "tensordict", "torch", "pettingzoo")
