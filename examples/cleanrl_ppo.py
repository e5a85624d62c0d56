"""PPO in one file, in the way of CleanRL, on `SelfPlayVector`: one network plays all four seats of many tables.

    pip install -e ".[train,onnx]"
    python examples/cleanrl_ppo.py

Ran with torch 2.13.0.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from measure import measure
from torch import nn
from torch.distributions import Categorical

from belote_env.envs import SelfPlayVector
from belote_env.envs.adapters.export import write_onnx
from belote_env.observation import SIZE
from belote_env.players import Policy

UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
TABLES, STEPS, EPOCHS, BATCH = 128, 80, 2, 1024
CLIP, LAMBDA, ENTROPY = 0.2, 0.95, 0.01  # a deal pays at its end: nothing is discounted

torch.manual_seed(1)
tables = SelfPlayVector(TABLES, rules="classic", seed=1, skip_forced=True)
n_actions = tables.num_actions
actor = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, n_actions))
critic = nn.Sequential(nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
rows = np.arange(TABLES)


def chances(bits, masks):
    return Categorical(logits=actor(bits).masked_fill(~masks, -1e9))


for _ in range(UPDATES):
    bits = torch.zeros(STEPS, TABLES, SIZE)
    masks = torch.zeros(STEPS, TABLES, n_actions, dtype=torch.bool)
    actions, logs, values = (torch.zeros(STEPS, TABLES) for _ in range(3))
    seats, paid, done = np.zeros((STEPS, TABLES), int), np.zeros((STEPS, TABLES, 4)), np.zeros((STEPS, TABLES), bool)
    for t in range(STEPS):  # the buffers of the tables are borrowed: copy what is kept
        bits[t], masks[t] = torch.from_numpy(tables.observations), torch.from_numpy(tables.action_mask)
        seats[t] = tables.seat
        with torch.no_grad():
            policy = chances(bits[t], masks[t])
            actions[t] = policy.sample()
            logs[t], values[t] = policy.log_prob(actions[t]), critic(bits[t]).squeeze(-1)
        tables.step(actions[t].long().numpy())
        paid[t], done[t] = tables.rewards, tables.done

    # Each seat of each table is a stream of its own: a turn is paid all that comes until the seat's next turn.
    advantages, known = torch.zeros(STEPS, TABLES), torch.zeros(STEPS, TABLES, dtype=torch.bool)
    gain, next_value, next_advantage = (np.zeros((TABLES, 4)) for _ in range(3))
    ended = np.zeros(TABLES, bool)
    for t in reversed(range(STEPS)):
        over = done[t]
        gain[over], next_value[over], next_advantage[over] = 0, 0, 0
        ended |= over  # what comes after the last deal that ended is left out
        gain += paid[t]
        seat = seats[t]
        value = values[t].numpy()
        advantage = gain[rows, seat] + next_value[rows, seat] - value + LAMBDA * next_advantage[rows, seat]
        advantages[t], known[t] = torch.from_numpy(advantage), torch.from_numpy(ended)
        gain[rows, seat], next_value[rows, seat], next_advantage[rows, seat] = 0, value, advantage
    returns = advantages + values

    flat = [x[known] for x in (bits, masks, actions, logs, advantages, returns)]
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(flat[0])).split(BATCH):
            seen, legal, action, log, advantage, target = (x[batch] for x in flat)
            policy = chances(seen, legal)
            ratio = (policy.log_prob(action) - log).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            actor_loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            critic_loss = (critic(seen).squeeze(-1) - target).square().mean()
            loss = actor_loss + critic_loss - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    player = Policy(write_onnx(Path(folder) / "cleanrl.onnx", [actor]))
measure(player, "torch")
