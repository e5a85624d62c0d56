"""The RLlib environment: rewards, masks, seeds, episodes that RLlib's own bookkeeping accepts."""

import numpy as np
import pytest

pytest.importorskip("ray.rllib")

from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from truth import assert_varied, choose, differences, of_seat

from belote_env.envs.adapters.rllib import BeloteMultiAgentEnv
from belote_env.envs.belote_v0 import AGENTS


def answer(observations):
    return {agent: choose(seen["observations"], seen["action_mask"]) for agent, seen in observations.items()}


def test_every_seat_is_paid_the_difference_of_a_thousand_deals():
    env, seed, found = BeloteMultiAgentEnv(), 5, []
    for number in range(1000):
        observations, _ = env.reset(seed=seed if number == 0 else None)
        paid, over = dict.fromkeys(AGENTS, 0.0), False
        while not over:
            (agent,) = observations
            assert observations[agent] in env.observation_spaces[agent]
            observations, rewards, terminated, truncated, _ = env.step(answer(observations))
            over = terminated["__all__"]
            assert not truncated["__all__"]
            for agent, reward in rewards.items():
                paid[agent] += reward
        assert list(observations) == list(AGENTS)
        assert all(seen["action_mask"].all() for seen in observations.values())
        true = differences("classic", seed, 1000)[number]
        assert [256 * paid[agent] for agent in AGENTS] == [of_seat(seat, true) for seat in range(4)]
        found.append(true)
    assert_varied(found)


def test_rllibs_episodes_keep_every_reward():
    """RLlib hangs rewards of agents that are not shown on their next observation; none may fall off at the end."""
    env = BeloteMultiAgentEnv({"reward": "tricks"})
    for seed in range(10):
        observations, infos = env.reset(seed=seed)
        episode = MultiAgentEpisode(
            observation_space=env.observation_spaces,
            action_space=env.action_spaces,
            agent_to_module_mapping_fn=lambda agent, episode: "shared",
        )
        episode.add_env_reset(observations=observations, infos=infos)
        paid = dict.fromkeys(AGENTS, 0.0)
        while not episode.is_done:
            actions = answer(observations)
            observations, rewards, terminated, truncated, infos = env.step(actions)
            for agent, reward in rewards.items():
                paid[agent] += reward
            episode.add_env_step(observations, actions, rewards, infos, terminateds=terminated, truncateds=truncated)
        for agent in AGENTS:
            if agent in episode.agent_episodes:
                assert float(np.sum(episode.agent_episodes[agent].get_rewards())) == paid[agent]


def test_seeds_repeat():
    """Whole episodes, the second one of a seed included, which goes on without a seed of its own."""
    runs, env = [], BeloteMultiAgentEnv()
    for seed in (3, 3, 4):
        lines = []
        for again in (False, True):
            observations, _ = env.reset(seed=None if again else seed)
            over = False
            while not over:
                lines.append({agent: seen["observations"].tobytes() for agent, seen in observations.items()})
                observations, rewards, terminated, _, _ = env.step(answer(observations))
                lines.append(rewards)
                over = terminated["__all__"]
        runs.append(lines)
    assert runs[0] == runs[1] != runs[2]


def test_a_refusal_names_the_seat():
    env = BeloteMultiAgentEnv()
    (agent,) = env.reset(seed=3)[0]
    with pytest.raises(ValueError, match=f"{agent} is to act"):
        env.step({})
