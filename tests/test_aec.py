"""`belote_v0`: PettingZoo's own tests, rewards and ending, seeds, positions, copies, the picture."""

import copy
import inspect
import pickle
import random
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, seed_test
from pettingzoo.test.render_test import render_test
from pettingzoo.test.state_test import test_state as state_conforms
from pettingzoo.test.state_test import test_state_space as state_space_conforms
from pettingzoo.utils import BaseWrapper

from belote_env import Game, Rules, belote_v0
from belote_env.envs import SelfPlayVector
from belote_env.envs.belote_v0 import AGENTS, ILLEGAL_PENALTY
from belote_env.observation import SIZE, STATE_SIZE, field_bits
from belote_env.rules import PRESETS


def playable(name):
    try:
        return bool(Rules.preset(name))
    except ValueError:
        return False


TABLES = [name for name in PRESETS if playable(name)]
MASKS = ("observation", "info")


def mask_of(env):
    observation, _, _, _, info = env.last()
    return (info if "action_mask" in info else observation)["action_mask"]


def pick(env, rng):
    legal = mask_of(env).nonzero()[0]
    return int(legal[int(rng.random() * len(legal))])


def finish(env, rng):
    """Play to the end; returns what every agent was paid at each of its turns, and the actions."""
    read, actions = {agent: [] for agent in AGENTS}, []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last(observe=False)
        read[agent].append(reward)
        if not (terminated or truncated):
            actions.append(pick(env, rng))
        env.step(None if terminated or truncated else actions[-1])
    return read, actions


def wrong_action(env):
    return int(np.flatnonzero(mask_of(env) == 0)[0])


# --- PettingZoo's own tests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("table", TABLES)
def test_api(table, mask_in, capsys):
    with warnings.catch_warnings():
        if mask_in == "info":
            warnings.simplefilter("error")  # with a dict it warns that an observation is no array
        api_test(belote_v0.env(rules=table, mask_in=mask_in), num_cycles=60)
    api_test(belote_v0.env(rules=table, mask_in=mask_in, episode="match", reward="win"), num_cycles=300)


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("obs_dtype", ["float32", "int8", "uint8", "float64"])
def test_api_of_every_dtype(obs_dtype, mask_in, capsys):
    env = belote_v0.env(obs_dtype=obs_dtype, mask_in=mask_in, reward="tricks")
    api_test(env, num_cycles=20)
    env.reset(seed=1)
    bits = env.last()[0] if mask_in == "info" else env.last()[0]["observation"]
    assert (bits.shape, bits.dtype, mask_of(env).dtype) == ((SIZE,), np.dtype(obs_dtype), np.int8)


@pytest.mark.parametrize("mask_in", MASKS)
def test_two_environments_with_one_seed_agree(mask_in):
    seed_test(lambda: belote_v0.env(mask_in=mask_in, episode="match"), num_cycles=100)


@pytest.mark.parametrize("obs_dtype", ["float32", "int8"])
def test_state_conforms(obs_dtype):
    env = belote_v0.env(illegal="end", obs_dtype=obs_dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state_space_conforms(env)
        state_conforms(env, num_cycles=40)


def test_render_conforms(capsys):
    render_test(lambda **kwargs: belote_v0.env(illegal="end", **kwargs))


def test_the_contract_with_pettingzoo():
    env = belote_v0.env()
    assert not isinstance(env, BaseWrapper)
    assert env.metadata["name"] == "belote_v0"
    assert env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]
    assert env.metadata["is_parallelizable"] is False
    assert env.metadata["render_fps"] > 0
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    for agent in AGENTS:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
    defaults = {name: p.default for name, p in inspect.signature(belote_v0.raw_env).parameters.items()}
    assert defaults == {
        "rules": "classic",
        "episode": "deal",
        "reward": "points",
        "render_mode": None,
        "mask_in": "observation",
        "obs_dtype": "float32",
        "illegal": "raise",
        "final_mask": "zeros",
    }


def test_it_works_inside_pettingzoo_wrappers():
    env = BaseWrapper(belote_v0.env())
    env.reset(seed=3)
    read, _ = finish(env, random.Random(3))
    assert all(read.values())


def test_importing_it_brings_no_framework():
    code = "import sys; from belote_env import belote_v0"
    check = "; print([m for m in ('torch', 'ray', 'tianshou', 'onnxruntime', 'pygame') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "wrong",
    [
        {"rules": "tarot"},
        {"episode": "hand"},
        {"reward": "money"},
        {"reward": "win"},  # of a deal, where a match is longer
        {"render_mode": "svg"},
        {"mask_in": "both"},
        {"obs_dtype": "float16"},
        {"illegal": "ignore"},
        {"final_mask": "twos"},
    ],
)
def test_refused_arguments(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name}|{wrong[name]}"):
        belote_v0.env(**wrong)


def test_before_the_first_reset():
    env = belote_v0.env(render_mode="ansi")
    calls = [env.last, env.render, env.state, lambda: env.step(32), lambda: env.observe("player_0"), lambda: env.agents]
    for call in [*calls, lambda: next(iter(env.agent_iter())), lambda: env.num_agents, lambda: env.infos]:
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    assert not hasattr(env, "agents")
    assert not hasattr(env, "no_such_thing")
    with pytest.raises(ResetNeeded):
        copy.deepcopy(env).last()
    env.close()


# --- rewards and ending -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "episode", "reward"),
    [(table, "deal", reward) for table in TABLES for reward in ("points", "tricks")]
    + [("classic", "match", reward) for reward in ("points", "tricks", "win")]
    + [("single_deal", "deal", "win")],
)
def test_rewards(table, episode, reward):
    """PettingZoo #1147 (trained on the opponent's reward), tianshou #900 (reward against cumulative reward)."""
    env, rng = belote_v0.env(rules=table, episode=episode, reward=reward), random.Random(table)
    for seed in range(20 if episode == "deal" else 3):
        env.reset(seed=seed)
        paid = dict.fromkeys(AGENTS, 0.0)  # by `rewards`, since the agent's last action
        total, final_reads = dict.fromkeys(AGENTS, 0.0), dict.fromkeys(AGENTS, 0)
        for agent in env.agent_iter():
            _, cumulative, terminated, truncated, _ = env.last()
            assert not truncated
            assert cumulative == paid[agent] == env._cumulative_rewards[agent]
            total[agent] += cumulative
            paid[agent] = 0.0
            final_reads[agent] += terminated
            live = len(env.agents)
            env.step(None if terminated else pick(env, rng))
            if not terminated:
                assert set(env.rewards) == set(AGENTS)
                r = list(env.rewards.values())
                assert r[0] == r[2] == -r[1] == -r[3]
                for name in AGENTS:
                    paid[name] += env.rewards[name]
            else:
                assert len(env.agents) == live - 1
                assert not any(env.rewards.values())
        assert set(final_reads.values()) == {1}  # each seat reads its final reward exactly once
        assert total["player_0"] == total["player_2"] == -total["player_1"] == -total["player_3"]
        if reward == "win":
            assert abs(total["player_0"]) in (0.0, 1.0)
        elif episode == "deal":
            scores = env._states[0]["deal_scores"].tolist()
            assert total["player_0"] == (scores[0] - scores[1]) / 256
        else:
            scores = env._states[0]["scores"].tolist()
            assert total["player_0"] == (scores[0] - scores[1]) / 256


@pytest.mark.parametrize("mask_in", MASKS)
def test_agents_live_and_end_together(mask_in):
    """PettingZoo #1085 (agents dead without flags) and pytorch/rl #3702 (agents vanish)."""
    env, rng = belote_v0.env(mask_in=mask_in), random.Random(5)
    for _ in range(10):
        env.reset()
        while not any(env.terminations.values()):
            assert env.agents == list(AGENTS)
            assert env.terminations == env.truncations == dict.fromkeys(AGENTS, False)
            for table in (env.rewards, env._cumulative_rewards, env.infos):
                assert list(table) == list(AGENTS)
            keys = {frozenset(info) for info in env.infos.values()}
            assert keys == {frozenset(env.infos["player_0"])}
            assert all(np.issubdtype(np.asarray(v).dtype, np.number) for i in env.infos.values() for v in i.values())
            env.step(pick(env, rng))
        assert env.agents == list(AGENTS)
        assert env.terminations == dict.fromkeys(AGENTS, True)
        assert env.truncations == dict.fromkeys(AGENTS, False)
        for left in (3, 2, 1, 0):
            with pytest.raises(ValueError, match="only action is None"):
                env.step(0)
            agent = env.agent_selection
            env.step(None)
            assert agent not in env.agents
            assert len(env.agents) == left == env.num_agents
            assert all(env.terminations.values())
        with pytest.raises(ValueError, match=r"call reset\(\)"):
            env.step(None)
        env.observe("player_1")


def test_infos_hold_the_match_scores():
    env, rng = belote_v0.env(episode="match"), random.Random(1)
    env.reset(seed=8)
    seen = set()
    while not env.terminations["player_0"]:
        a, b = env._states[0]["scores"].tolist()
        assert env.infos["player_2"] == {"score": a, "opponent_score": b}
        assert env.last(observe=False)[4] == env.infos[env.agent_selection]
        assert env.infos["player_3"] == {"score": b, "opponent_score": a}
        seen.add((a, b))
        env.step(pick(env, rng))
    assert max(env.infos["player_0"].values()) >= 1000
    assert len(seen) > 3


def test_an_illegal_action_raises_and_changes_nothing():
    env = belote_v0.env()
    env.reset(seed=4)
    for _ in range(6):
        for action in (wrong_action(env), -1, 41, 10**30, None, 1.0, "JS"):
            before = pickle.dumps(env)
            with pytest.raises(ValueError, match="not legal|not an action") as refused:
                env.step(action)
            assert pickle.dumps(env) == before
            if isinstance(action, int):
                assert "position: classic deal" in str(refused.value)
                assert f"{mask_of(env).nonzero()[0][0]} (" in str(refused.value)
        env.step(np.int32(mask_of(env).nonzero()[0][-1]))


@pytest.mark.parametrize("mask_in", MASKS)
def test_an_illegal_action_ends_the_game_and_not_the_next_one(mask_in):
    """PettingZoo #1176: an illegal move broke the next game."""
    env, rng = belote_v0.env(illegal="end", mask_in=mask_in, reward="tricks"), random.Random(2)
    for seed in range(12):
        env.reset(seed=seed)
        for _ in range(seed * 2):
            env.step(pick(env, rng))
        offender = AGENTS.index(env.agent_selection)
        env.step(wrong_action(env) if seed % 2 else 10**30)
        for seat, agent in enumerate(AGENTS):
            same_side = (seat - offender) % 2 == 0
            assert env.rewards[agent] == (-ILLEGAL_PENALTY if same_side else ILLEGAL_PENALTY)
        assert env.terminations == dict.fromkeys(AGENTS, True)
        assert env.truncations == dict.fromkeys(AGENTS, False)
        while env.agents:
            assert not mask_of(env).any()
            env.step(None)
        assert env.state() is not None
        env.reset(seed=seed)
        fresh = belote_v0.env(illegal="end", mask_in=mask_in, reward="tricks")
        fresh.reset(seed=seed)
        assert finish(env, random.Random(seed)) == finish(fresh, random.Random(seed))


# --- seeds and positions ------------------------------------------------------------------------------------


def story(env, rng_seed=0, **reset):
    env.reset(**reset)
    first = env.state().tobytes()
    return first, finish(env, random.Random(rng_seed))


def test_seeds():
    """PettingZoo #1223: the seed was ignored."""
    env, other = belote_v0.env(), belote_v0.env()
    once = [story(env, seed=11), story(env), story(env)]
    assert once == [story(env, seed=11), story(env), story(env)]
    assert once == [story(other, seed=np.int64(11)), story(other), story(other)]
    assert len({first for first, _ in once}) == 3
    assert story(env, seed=12)[0] != once[0][0]
    assert story(env, seed=2**64 - 1) == story(other, seed=2**64 - 1)


def test_unseeded_environments_differ_and_touch_no_global_generator():
    random.seed(1)
    np.random.seed(1)
    state, numpy_state = random.getstate(), np.random.get_state()[1].tobytes()
    firsts = {story(belote_v0.env())[0] for _ in range(5)}
    assert len(firsts) == 5
    assert random.getstate() == state
    assert np.random.get_state()[1].tobytes() == numpy_state


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True])
def test_refused_seeds(seed):
    env = belote_v0.env()
    with pytest.raises(ValueError, match="seed="):
        env.reset(seed=seed)


def position(seed=3, plays=12, rules="classic"):
    game, rng = Game(rules, seed=seed), random.Random(seed)
    for _ in range(plays):
        game.play(rng.choice(game.legal_actions()))
    return game


def test_a_position_survives_seeding():
    """PettingZoo #1312: options were lost on a seeded reset."""
    env = belote_v0.env()
    for plays in (0, 3, 12, 20):
        game = position(plays=plays)
        options = {"position": game.to_text(), "unknown": 1}
        for reset in ({"seed": 5, "options": options}, {"options": options}):
            env.reset(**reset)
            assert env.agent_selection == AGENTS[game.turn]
            for seat, agent in enumerate(AGENTS):
                assert (env.observe(agent)["observation"] == game.observe(seat)).all()
            assert (mask_of(env) == game.mask()).all()
    # the seed still counts for the episodes that follow
    env.reset(seed=5, options=options)
    after = story(env)
    env.reset(seed=5)
    assert story(env) == after
    env.reset(seed=5, options={"position": None})
    assert env.observe("player_0")["observation"].tobytes() != game.observe(0).tobytes()


def test_a_position_is_played_to_its_end():
    game, env = position(), belote_v0.env()
    env.reset(options={"position": game.to_text()})
    while not game.deal_over:
        assert (mask_of(env) == game.mask()).all()
        action = game.legal_actions()[0]
        game.play(action)
        env.step(action)
    assert env.rewards["player_0"] == (game.deal_scores[0] - game.deal_scores[1]) / 256
    assert env.infos["player_1"] == {"score": game.scores[1], "opponent_score": game.scores[0]}


def test_refused_positions():
    env = belote_v0.env()
    env.reset(seed=6)
    over = position(plays=0)
    while not over.deal_over:
        over.play(over.legal_actions()[0])
    wrong = [
        (over.to_text(), "over"),
        (position(rules="belote_501").to_text(), "this table plays classic, the position is of belote_501"),
        ("classic", "a position reads"),
        (7, "text of a position"),
    ]
    for text, message in wrong:
        before = pickle.dumps(env)
        with pytest.raises(ValueError, match=message):
            env.reset(seed=1, options={"position": text})
        assert pickle.dumps(env) == before
    # neither the name nor the target is part of what is played
    env.reset(options={"position": position(rules=Rules.preset("classic", target=500)).to_text()})


# --- copies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_keeps_the_game(copied, mask_in):
    """PettingZoo #1307 and #1186: copying erased the state."""
    env, rng = belote_v0.env(mask_in=mask_in, episode="match", reward="tricks", rules="belote_501"), random.Random(9)
    env.reset(seed=2)
    for agent in AGENTS:
        env.action_space(agent).seed(3)
    for _ in range(60):
        env.step(pick(env, rng))
    twin = copied(env)
    before = env.state().tobytes()
    assert twin.rewards == env.rewards
    assert twin._cumulative_rewards == env._cumulative_rewards
    assert twin.agent_selection == env.agent_selection
    assert (mask_of(twin) == mask_of(env)).all()
    draws = [twin.action_space(env.agent_selection).sample(mask_of(env)) for _ in range(20)]
    assert draws == [env.action_space(env.agent_selection).sample(mask_of(env)) for _ in range(20)]
    ends = finish(twin, random.Random(4))
    assert env.state().tobytes() == before  # the copy shares nothing
    assert finish(env, random.Random(4)) == ends
    assert story(twin) == story(env)  # and both go on with the same next episode


def test_copies_of_the_dead_can_be_finished():
    env = belote_v0.env()
    env.reset(seed=2)
    rng = random.Random(0)
    while not env.terminations["player_0"]:
        env.step(pick(env, rng))
    env.step(None)
    twin = copy.deepcopy(env)
    assert twin.agents == env.agents == ["player_1", "player_2", "player_3"]
    assert finish(twin, rng) == finish(env, rng)


# --- one engine, two doors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "episode", "reward"),
    [(table, "deal", "points") for table in TABLES]
    + [("classic", "deal", "tricks"), ("classic", "match", "points"), ("belote_501", "match", "tricks")]
    + [("classic", "match", "win"), ("single_deal", "deal", "win")],
)
def test_the_vector_sees_and_pays_the_same(table, episode, reward):
    rng = random.Random(f"{table} {episode} {reward}")
    env = belote_v0.env(rules=table, episode=episode, reward=reward, obs_dtype="uint8")
    vector = SelfPlayVector(1, rules=table, episode=episode, reward=reward, seed=77)
    for number in range(8 if episode == "deal" else 2):
        env.reset(seed=77 if number == 0 else None)
        while not env.terminations["player_0"]:
            seen = env.last()[0]
            assert env.agent_selection == AGENTS[vector.seat[0]]
            assert (seen["observation"] == vector.observations[0]).all()
            assert (seen["action_mask"] == vector.action_mask[0]).all()
            action = pick(env, rng)
            env.step(action)
            vector.step([action])
            assert list(env.rewards.values()) == vector.rewards[0].tolist()
            assert env.terminations["player_0"] == vector.done[0]


def test_state_shows_what_the_seats_hold():
    env, rng = belote_v0.env(obs_dtype="int8"), random.Random(1)
    env.reset(seed=1)
    assert env.state_space.shape == (STATE_SIZE,)
    while not env.terminations["player_0"]:
        whole = env.state()
        assert (whole[:SIZE] == env.observe("player_0")["observation"]).all()
        hands = whole[SIZE:].reshape(3, 32)
        for seat in (1, 2, 3):
            assert (hands[seat - 1] == field_bits(env.observe(AGENTS[seat])["observation"], "hand")).all()
        env.step(pick(env, rng))


# --- the picture --------------------------------------------------------------------------------------------


def test_the_picture_at_the_end_is_the_end(capsys):
    """PettingZoo #1169: a stale picture at the end."""
    env, rng = belote_v0.env(render_mode="ansi"), random.Random(3)
    env.reset(seed=3)
    env.step(mask_of(env).nonzero()[0][-1])  # take
    pictures = [env.render()]
    while not env.terminations["player_0"]:
        last = action = pick(env, rng)
        env.step(action)
        pictures.append(env.render())
    assert len(set(pictures)) == len(pictures)
    assert "legal:" in pictures[-2]
    end = pictures[-1]
    scores = env._states[0]["deal_scores"].tolist()
    assert f"this deal {scores[0]}–{scores[1]}" in end
    assert "legal:" not in end
    assert Game().names([last])[0] in end.split("last trick: ")[1].splitlines()[0]
    assert all(line.split() in ([a], [">", a]) for a in AGENTS for line in end.splitlines() if line.strip() == a)
    env.reset(seed=3)
    assert env.render() != end
    assert capsys.readouterr().out == ""


def test_the_picture_of_an_illegal_end_says_so():
    env = belote_v0.env(render_mode="ansi", illegal="end")
    env.reset(seed=3)
    env.step(0)
    assert env.render().endswith("ended by an illegal action")


def test_human_mode_prints_every_step(capsys):
    env = belote_v0.env(render_mode="human")
    env.reset(seed=3)
    env.step(32)
    out = capsys.readouterr().out
    assert out.count("legal: ") == 2
    assert all(agent in out for agent in AGENTS)
    assert env.render() is None


def test_rendering_without_a_mode_warns():
    env = belote_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@pytest.mark.parametrize(("direction", "order"), [("clockwise", "2130"), ("anticlockwise", "2310")])
def test_the_picture_seats_the_players_in_the_direction_of_play(direction, order):
    """rules 2.1: the direction decides where a seat is drawn, and nothing else."""
    env = belote_v0.env(rules=Rules.preset("classic", direction=direction), render_mode="ansi")
    env.reset(seed=3)
    text = env.render()
    assert "".join(re.findall(r"player_(\d)  ", text)) == order
