"""PPO on PufferLib's native environment and vectorisation, one seat among Heuristic players.

    pip install -e ".[pufferlib]" -c examples/constraints/pufferlib.txt
    python examples/pufferlib_ppo.py

Ran with pufferlib-core 3.0.19, torch 2.13.0. Its trainer, PuffeRL, did not: the compiled part of that package does not
load with this torch. The loop below stands in for it; environment, buffers and vectorisation are PufferLib's.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pufferlib.vector
import torch
from measure import measure
from torch import nn
from torch.distributions import Categorical

from belote_env.envs.adapters.export import write_onnx
from belote_env.envs.adapters.pufferlib import BelotePuffer, split
from belote_env.observation import SIZE
from belote_env.players import Policy

UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
TABLES, STEPS, EPOCHS, BATCH, CLIP = 128, 40, 2, 1024, 0.2  # some four deals of a table

torch.manual_seed(1)
env = pufferlib.vector.make(
    BelotePuffer, env_kwargs={"num_agents": TABLES // 2}, num_envs=2, backend=pufferlib.vector.Serial, seed=1
)
n_actions = env.single_action_space.n
actor = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, n_actions))
critic = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)


def chances(rows):
    bits, mask = split(rows)
    return Categorical(logits=actor(bits.float()).masked_fill(mask == 0, -1e9)), critic(bits.float()).squeeze(-1)


observations, _ = env.reset(1)
for _ in range(UPDATES):
    rows = torch.zeros(STEPS, TABLES, SIZE + n_actions, dtype=torch.uint8)
    actions, logs, values, paid, ended = (torch.zeros(STEPS, TABLES) for _ in range(5))
    for t in range(STEPS):
        rows[t] = torch.from_numpy(np.array(observations))  # a copy: the buffers are PufferLib's
        with torch.no_grad():
            policy, values[t] = chances(rows[t])
        actions[t] = policy.sample()
        logs[t] = policy.log_prob(actions[t])
        observations, rewards, terminals, *_ = env.step(actions[t].int().numpy())
        paid[t], ended[t] = torch.from_numpy(np.array(rewards)), torch.from_numpy(np.array(terminals)).float()

    returns, known = torch.zeros(STEPS, TABLES), torch.zeros(STEPS, TABLES, dtype=torch.bool)
    later, over = torch.zeros(TABLES), torch.zeros(TABLES, dtype=torch.bool)
    for t in reversed(range(STEPS)):  # what the deal came to; one that is still on is left out
        later = paid[t] + (1 - ended[t]) * later
        over |= ended[t].bool()
        returns[t], known[t] = later, over

    flat = [x[known] for x in (rows, actions, logs, returns - values, returns)]
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(flat[0])).split(BATCH):
            seen, action, log, advantage, target = (x[batch] for x in flat)
            policy, value = chances(seen)
            ratio = (policy.log_prob(action) - log).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            loss = (value - target).square().mean() - gain - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
env.close()

with tempfile.TemporaryDirectory() as folder:
    player = Policy(write_onnx(Path(folder) / "pufferlib.onnx", [actor]))
measure(player, "pufferlib-core", "torch")
