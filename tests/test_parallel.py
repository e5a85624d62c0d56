"""`belote_v0.parallel_env`: PettingZoo's own tests, and the same game as the AEC table."""

import copy
import random
import warnings

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test
from test_aec import MASKS, TABLES, position

from belote_env import belote_v0
from belote_env.envs.belote_v0 import AGENTS, ILLEGAL_PENALTY


def mask_of(agent, observations, infos):
    return (infos[agent] if "action_mask" in infos[agent] else observations[agent])["action_mask"]


def sampled(env, shown, rng):
    """An action of every agent out of its mask."""
    return {agent: rng.choice(mask_of(agent, *shown).nonzero()[0].tolist()) for agent in env.agents}


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("table", TABLES)
def test_api(table, mask_in, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(belote_v0.parallel_env(rules=table, mask_in=mask_in, illegal="end"), num_cycles=200)
    parallel_api_test(
        belote_v0.parallel_env(rules=table), num_cycles=200
    )  # it samples out of masks where it finds them


def test_two_environments_with_one_seed_agree():
    parallel_seed_test(lambda: belote_v0.parallel_env(illegal="end"), num_cycles=50)


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize(("table", "kind"), [(table, "deal") for table in TABLES] + [("classic", "match")])
def test_it_is_the_aec_table(table, kind, mask_in):
    arguments = {"rules": table, "episode": kind, "reward": "tricks", "mask_in": mask_in}
    env, aec, rng = belote_v0.parallel_env(**arguments), belote_v0.env(**arguments), random.Random(1)
    for number in range(5 if kind == "deal" else 1):
        seed = 3 if number == 0 else None
        shown = env.reset(seed=seed)
        aec.reset(seed=seed)
        while env.agents:
            for agent in AGENTS:
                seen = aec.observe(agent)
                bits = (
                    (shown[0][agent], seen)
                    if mask_in == "info"
                    else (shown[0][agent]["observation"], seen["observation"])
                )
                assert (bits[0] == bits[1]).all()
                mover = agent == aec.agent_selection
                assert shown[1][agent]["to_act"] == mover
                legal = (aec.infos[agent] if mask_in == "info" else seen)["action_mask"]
                assert (mask_of(agent, *shown) == (legal if mover else 1)).all()
            actions = sampled(env, shown, rng)
            aec.step(actions[aec.agent_selection])
            observations, rewards, terminated, truncated, infos = env.step(actions)
            shown = observations, infos
            assert (rewards, terminated, truncated) == (aec.rewards, aec.terminations, aec.truncations)
        assert all(mask_of(agent, *shown).all() and not infos[agent]["to_act"] for agent in AGENTS)
    assert (env.state() == aec.state()).all()


def test_what_others_choose_is_ignored():
    env, other = belote_v0.parallel_env(), belote_v0.parallel_env()
    shown, rng = env.reset(seed=1), random.Random(1)
    other.reset(seed=1)
    while env.agents:
        actions = sampled(env, shown, rng)
        mover = env.aec.agent_selection
        lone = other.step({mover: actions[mover]})
        all_four = env.step({**dict.fromkeys(AGENTS, 10**30), mover: actions[mover]})
        assert lone[1:4] == all_four[1:4]
        shown = all_four[0], all_four[4]


def test_refusals():
    env = belote_v0.parallel_env()
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        env.step({})
    observations, _ = env.reset(seed=4)
    mover = env.aec.agent_selection
    other = next(agent for agent in AGENTS if agent != mover)
    before = env.state().tobytes()
    with pytest.raises(ValueError, match=f"{mover} is to act, and there are actions of {other}"):
        env.step({other: 32})
    wrong = int(np.flatnonzero(observations[mover]["action_mask"] == 0)[0])
    with pytest.raises(ValueError, match=f"action {wrong} is not legal for {mover}; .*position: classic"):
        env.step({mover: wrong})
    assert env.state().tobytes() == before
    ending = belote_v0.parallel_env(illegal="end")
    ending.reset(seed=4)
    _, rewards, terminated, _, _ = ending.step(dict.fromkeys(AGENTS, wrong))
    assert rewards[mover] == -ILLEGAL_PENALTY and all(terminated.values()) and not ending.agents


def test_seeds_positions_and_copies():
    def story(env, **reset):
        shown, rng, lines = env.reset(**reset), random.Random(2), []
        while env.agents:
            results = env.step(sampled(env, shown, rng))
            shown = results[0], results[4]
            lines.append((env.state().tobytes(), results[1]))
        return lines

    env, other = belote_v0.parallel_env(), belote_v0.parallel_env()
    once = [story(env, seed=5), story(env)]
    assert once == [story(other, seed=5), story(other)] and once[0] != once[1]
    game = position(plays=12)
    observations, _ = env.reset(seed=5, options={"position": game.to_text()})
    for seat, agent in enumerate(AGENTS):
        assert (observations[agent]["observation"] == game.observe(seat)).all()
    twin = copy.deepcopy(env)
    before = env.state().tobytes()
    assert story(twin) == story(copy.deepcopy(env))
    assert env.state().tobytes() == before


def test_pettingzoo_makes_both():
    if not hasattr(pettingzoo, "make"):
        pytest.skip("PettingZoo has a registry from 1.27 on")
    aec = pettingzoo.make("aec", "belote/belote_v0", rules="coinche")
    parallel = pettingzoo.make("parallel", "belote/belote_v0", rules="coinche", render_mode="ansi")
    aec.reset(seed=2)
    parallel.reset(seed=2)
    assert (aec.state() == parallel.state()).all()
    assert "legal:" in parallel.render()
    assert parallel.metadata["is_parallelizable"] and not aec.metadata["is_parallelizable"]
