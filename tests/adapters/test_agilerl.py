"""The tables for AgileRL: rewards of whole deals, masks, seeds; needs AgileRL for its DQN alone."""

from itertools import islice

import numpy as np
import pytest
from truth import assert_varied, choose, choose_all, differences

from belote_env.envs.adapters.agilerl import make_tables, whole_deals


def test_deals_carry_the_difference_of_a_thousand_deals():
    """One table, so that deal k is the seed's k-th; the learner sits on side 0."""
    seed, found = 21, []
    tables = make_tables(1, opponents=choose, seat=0)
    deals = whole_deals(tables, choose_all, seed)
    for number, (observations, actions, reward) in enumerate(islice(deals, 1000)):
        assert 256 * reward == differences("classic", seed, 1000)[number]
        assert len(observations) == len(actions) > 0
        found.append(256 * reward)
    assert_varied(found)


def test_seeds_repeat():
    runs = [
        [(o.tobytes(), a.tobytes(), r) for o, a, r in islice(whole_deals(make_tables(8), choose_all, seed), 50)]
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_a_dqn_acts_within_the_masks():
    pytest.importorskip("agilerl")
    from agilerl.algorithms.dqn import DQN

    tables = make_tables(4)
    agent = DQN(
        tables.single_observation_space,
        tables.single_action_space,
        net_config={"encoder_config": {"hidden_size": [16]}},
    )

    def act(observations, masks):
        actions = agent.get_action(observations, epsilon=0.5, action_mask=masks)
        assert masks[np.arange(4), actions].all()
        return actions

    assert len(list(islice(whole_deals(tables, act, 5), 10))) == 10
