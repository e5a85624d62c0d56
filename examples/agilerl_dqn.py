"""AgileRL's DQN in one seat among Heuristic players, learning from whole deals.

    pip install -e ".[agilerl]" -c examples/constraints/agilerl.txt
    python examples/agilerl_dqn.py

Ran with agilerl 2.58.0, pettingzoo 1.26, torch 2.13.0.
"""

import sys

import torch
from agilerl.algorithms.dqn import DQN
from agilerl.components.data import Transition
from agilerl.components.replay_buffer import ReplayBuffer
from measure import measure

from belote_env.envs.adapters.agilerl import make_tables, whole_deals

DEALS = int(sys.argv[1]) if len(sys.argv) > 1 else 6000

torch.manual_seed(1)
tables = make_tables(64, rules="classic", opponents="heuristic")
agent = DQN(
    tables.single_observation_space,
    tables.single_action_space,
    net_config={"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}},
    batch_size=256,
    lr=1e-3,
)
memory = ReplayBuffer(max_size=50_000)


def act(observations, masks):
    return agent.get_action(observations, epsilon=0.2, action_mask=masks)


for deal, (observations, actions, reward) in enumerate(whole_deals(tables, act, seed=1), 1):
    n = len(actions)
    memory.add(
        Transition(
            obs=torch.tensor(observations),
            action=torch.tensor(actions).unsqueeze(-1),
            next_obs=torch.tensor(observations),
            reward=torch.full((n, 1), reward),
            done=torch.ones(n, 1),
            batch_size=[n],
        ).to_tensordict()
    )
    if len(memory) >= 1000 and deal % 4 == 0:
        agent.learn(memory.sample(256))
    if deal == DEALS:
        break

agent.set_training_mode(False)
measure(lambda bits, mask: int(agent.get_action(bits, action_mask=mask[None])[0]), "agilerl", "torch", pairs=300)
