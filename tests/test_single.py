"""`BeloteEnv`: the reward of a seat, masks, opponents in their seats, seeds, positions, copies, refusals."""

import copy
import json
import pickle
import random
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from test_aec import MASKS, TABLES, position

from belote_env import Game, Rules, belote_v0
from belote_env.envs import BeloteEnv, BeloteVectorEnv, SelfPlayVector
from belote_env.envs.arguments import ILLEGAL_PENALTY
from belote_env.notation import position_text
from belote_env.observation import SIZE, field_bits
from belote_env.players import Heuristic, Player, Random

ID = "belote_env:belote/Belote-v0"


def mask_of(observation, info):
    return (info if "action_mask" in info else observation)["action_mask"]


def pick(mask, rng):
    legal = mask.nonzero()[0]
    return int(legal[int(rng.random() * len(legal))])


def episode(env, rng, **reset):
    """Every observation (as bytes), reward and info of an episode."""
    observation, info = env.reset(**reset)
    lines, over = [(pickle.dumps(observation), info)], False
    while not over:
        observation, reward, over, truncated, info = env.step(pick(mask_of(observation, info), rng))
        assert not truncated
        lines.append((pickle.dumps(observation), reward, over, info))
    return pickle.dumps(lines)


def whole(env):
    """All that a refusal must leave as it was."""
    t = env._tables
    arrays = (t._words, t.seeds, t.numbers, t.learners, t.paid, t.over, t._bit_words, t._mask_words, t.scores)
    return [array.tobytes() for array in arrays]


# --- Gymnasium's own checks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("table", TABLES)
def test_gymnasium_checks(table, mask_in, capsys):
    env = gymnasium.make(ID, rules=table, mask_in=mask_in, illegal="end", opponents="random")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("obs_dtype", ["float32", "int8", "uint8", "float64"])
def test_spaces(obs_dtype):
    env = BeloteEnv(obs_dtype=obs_dtype)
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert (observation["observation"].shape, observation["observation"].dtype) == ((SIZE,), np.dtype(obs_dtype))
    assert observation["action_mask"].dtype == np.int8
    assert info == {"seat": env._tables.learners[0], **{k: info[k] for k in ("score", "opponent_score")}}
    assert env.action_masks().dtype == np.bool_
    assert (env.action_masks() == observation["action_mask"]).all()
    flat, info = BeloteEnv(obs_dtype=obs_dtype, mask_in="info").reset(seed=1)
    assert (flat == observation["observation"]).all()
    assert (info["action_mask"] == observation["action_mask"]).all()


def test_a_spec_is_text():
    env = gymnasium.make(ID, rules="coinche", opponents=["random", "heuristic", "random"], seat=2)
    env.reset(seed=4)
    assert (env.get_wrapper_attr("action_masks")() == env.unwrapped.action_masks()).all()  # how sb3-contrib asks
    again = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert json.loads(env.spec.to_json())["kwargs"] == env.spec.kwargs
    other = gymnasium.make(again)
    assert episode(other, random.Random(1), seed=4) == episode(env, random.Random(1), seed=4)


def test_registering_is_idempotent_and_brings_no_framework():
    code = """if True:
        import sys, warnings
        warnings.simplefilter("error")
        import belote_env, importlib, gymnasium
        importlib.reload(belote_env)
        assert "belote/Belote-v0" in gymnasium.registry
        heavy = ("pettingzoo", "torch", "ray", "tianshou", "onnxruntime", "pygame", "belote_env.envs")
        print([name for name in heavy if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- reward -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "kind", "reward"),
    [(table, "deal", reward) for table in TABLES for reward in ("points", "tricks")]
    + [("classic", "match", reward) for reward in ("points", "tricks", "win")]
    + [("single_deal", "deal", "win")],
)
def test_a_seat_sees_and_earns_what_the_agent_of_the_aec_table_does(table, kind, reward):
    """PettingZoo's tutorial pays right after the own move; what the others then win belongs to it too."""
    rng = random.Random(f"{table} {kind} {reward}")
    env = BeloteEnv(rules=table, episode=kind, reward=reward, opponents="random", obs_dtype="uint8")
    aec = belote_v0.env(rules=table, episode=kind, reward=reward, obs_dtype="uint8", final_mask="ones")
    player = Random()
    player.start(table)
    for number in range(12 if kind == "deal" else 2):
        seed = 31 if number == 0 else None
        observation, info = env.reset(seed=seed)
        aec.reset(seed=seed)
        agent, over, paid = f"player_{info['seat']}", False, 0.0
        while True:
            while not (aec.terminations[agent] or aec.agent_selection == agent):
                seat = aec.agent_selection[-1]
                aec.step(int(player.act(aec._states, np.array([int(seat)]))[0]))
                paid += aec.rewards[agent]
            seen = aec.observe(agent)
            assert (observation["observation"] == seen["observation"]).all()
            assert (observation["action_mask"] == seen["action_mask"]).all()
            assert {"seat": int(agent[-1]), **aec.infos[agent]} == info
            if over:
                break
            action = pick(observation["action_mask"], rng)
            observation, given, over, _, info = env.step(action)
            aec.step(action)
            paid = aec.rewards[agent]
            while not (aec.terminations[agent] or aec.agent_selection == agent):
                seat = aec.agent_selection[-1]
                aec.step(int(player.act(aec._states, np.array([int(seat)]))[0]))
                paid += aec.rewards[agent]
            assert given == paid
            assert over == aec.terminations[agent]
        assert observation["action_mask"].all()


def test_what_a_trick_under_way_pays_before_the_first_action_is_not_lost():
    """From a position where the seat has played to the trick on the table, its first reward holds that trick."""
    game, rng = Game("classic", seed=5), random.Random(1)
    while game.deal_over or len(game.trick) != 1:
        game.next_deal() if game.deal_over else game.play(rng.choice(game.legal_actions()))
    seat, before = game.trick[0][0], game.points
    env = BeloteEnv(reward="tricks", seat=seat, opponents="random")
    observation, info = env.reset(seed=1, options={"position": game.to_text()})
    total, over = 0.0, False
    while not over:
        observation, reward, over, _, info = env.step(pick(observation["action_mask"], rng))
        total += reward
    deal = env._tables.states[0]["deal_scores"].astype(int)
    sign = -1 if seat & 1 else 1
    assert total == sign * (deal[0] - deal[1] - before[0] + before[1]) / 256
    assert info["seat"] == seat


# --- masks, ending ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("table", TABLES)
def test_masks_are_the_legal_actions(table, mask_in):
    """entity-neural-network/incubator #186: a mask was empty."""
    env, rng = BeloteEnv(rules=table, mask_in=mask_in), random.Random(table)
    for seed in range(15):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            game = Game.parse(position_text(env._tables.states, 0, env.rules))
            assert game.turn == info["seat"]
            assert mask_of(observation, info).nonzero()[0].tolist() == game.legal_actions() != []
            observation, _, over, _, info = env.step(pick(mask_of(observation, info), rng))
        assert mask_of(observation, info).all()
        assert env.action_masks().all()
        with pytest.raises(ResetNeeded, match=r"over: call reset\(\)"):
            env.step(0)


def test_an_illegal_action_raises_and_changes_nothing():
    env, rng = BeloteEnv(), random.Random(1)
    for call in (lambda: env.step(32), env.action_masks, lambda: BeloteEnv(render_mode="ansi").render()):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    observation, info = env.reset(seed=4)
    for _ in range(4):
        wrong = int(np.flatnonzero(observation["action_mask"] == 0)[0])
        for action in (wrong, -1, 41, 10**30, None, 1.0, "JS", np.array([1, 2])):
            before = whole(env)
            with pytest.raises(ValueError, match="not legal|not an action") as refused:
                env.step(action)
            assert whole(env) == before
            if isinstance(action, int):
                assert f"not legal for player_{info['seat']}; legal are " in str(refused.value)
                assert "position: classic deal" in str(refused.value)
        observation, _, _, _, info = env.step(np.int32(pick(observation["action_mask"], rng)))


def test_an_illegal_action_ends_the_episode_and_not_the_next_one():
    """PettingZoo #1176: an illegal move broke the next game."""
    env, fresh = BeloteEnv(illegal="end", render_mode="ansi"), BeloteEnv(illegal="end", opponents="heuristic")
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        wrong = int(np.flatnonzero(observation["action_mask"] == 0)[0])
        observation, reward, over, truncated, _ = env.step(wrong if seed % 2 else 10**30)
        assert (reward, over, truncated) == (-ILLEGAL_PENALTY, True, False)
        assert observation["action_mask"].all()
        assert env.render().endswith("ended by an illegal action")
        fresh.reset(seed=seed)
        assert episode(env, random.Random(seed)) == episode(fresh, random.Random(seed))


# --- opponents ----------------------------------------------------------------------------------------------


class Recorder(Player):
    """Plays the first legal action and remembers where it sat."""

    def __init__(self):
        self.sat = []

    def act(self, states, seats):
        self.sat += seats.tolist()
        return Random(1).act(states, seats)


def test_three_opponents_sit_at_next_partner_and_previous():
    players = [Recorder(), Recorder(), Recorder()]
    env, rng = BeloteEnv(opponents=players), random.Random(1)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        episode(env, rng, seed=seed)
        for k, player in enumerate(players):
            assert set(player.sat) == {(info["seat"] + k + 1) % 4}
            player.sat.clear()


def test_opponents_by_name_as_players_and_as_functions():
    def first(observation, mask):
        assert observation.shape == (SIZE,) and field_bits(observation, "to_act").tolist() == [1, 0, 0, 0]
        return int(mask.nonzero()[0][0])

    env = BeloteEnv(opponents=("random", first, Heuristic()))
    assert [player.name for player in env._tables.players] == ["random", "first", "heuristic"]
    episode(env, random.Random(1), seed=1)
    one = BeloteEnv(opponents=["heuristic", "random", "heuristic"])
    assert one._tables._owners.tolist() == [-1, 0, 1, 0]
    assert episode(BeloteEnv(opponents=Random()), random.Random(1), seed=1) == episode(
        BeloteEnv(opponents="random"), random.Random(1), seed=1
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [(-1, "played -1, which is not legal for seat"), ("JS", "must return the number of an action, not 'JS'")],
)
def test_what_an_opponent_may_not_answer_changes_nothing(answer, message):
    honest = True

    def opponent(observation, mask):
        return int(mask.nonzero()[0][0]) if honest else answer

    hands = [[f"{rank}{suit}" for rank in ("7", "8", "9", "J", "Q", "K", "10", "A")] for suit in "SHDC"]
    env = BeloteEnv(opponents=opponent)
    observation, _ = env.reset(options={"position": Game.from_play("classic", hands, trump="S").to_text()})
    before, honest = whole(env), False
    action = int(observation["action_mask"].nonzero()[0][0])
    with pytest.raises(ValueError, match=message) as refused:
        env.step(action)  # a lead
    assert "position: classic deal" in str(refused.value)
    assert whole(env) == before
    honest = True
    env.step(action)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"rules": "tarot"}, ValueError),
        ({"episode": "hand"}, ValueError),
        ({"reward": "money"}, ValueError),
        ({"reward": "win"}, ValueError),  # of a deal, where a match is longer
        ({"opponents": "minimax"}, ValueError),
        ({"opponents": ("random", "random")}, ValueError),
        ({"opponents": 3}, TypeError),
        ({"seat": 4}, ValueError),
        ({"seat": True}, ValueError),
        ({"render_mode": "svg"}, ValueError),
        ({"mask_in": "both"}, ValueError),
        ({"obs_dtype": "float16"}, ValueError),
        ({"illegal": "ignore"}, ValueError),
    ],
)
def test_refused_arguments(wrong, error):
    (name,) = wrong
    with pytest.raises(error, match=f"{name}|{wrong[name]}|a player is"):
        BeloteEnv(**wrong)


# --- seeds and positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponents", ["random", "heuristic"])
def test_seeds(opponents):
    """PettingZoo #1223: the seed was ignored."""

    def story(env, **reset):
        return episode(env, random.Random(0), **reset)

    env, other = BeloteEnv(opponents=opponents), BeloteEnv(opponents=opponents)
    once = [story(env, seed=11), story(env), story(env)]
    assert once == [story(env, seed=11), story(env), story(env)]
    assert once == [story(other, seed=np.int64(11)), story(other), story(other)]
    assert len(set(once)) == 3
    assert story(env, seed=12) != once[0]
    assert story(env, seed=2**64 - 1) == story(other, seed=2**64 - 1)
    for seed in (-1, 2**64, 1.5, "7", True):
        before = whole(env)
        with pytest.raises(ValueError, match="seed="):
            env.reset(seed=seed)
        assert whole(env) == before


def test_unseeded_environments_differ_and_touch_no_global_generator():
    random.seed(1)
    np.random.seed(1)
    state, numpy_state = random.getstate(), np.random.get_state()[1].tobytes()
    rng = random.Random(0)
    assert len({episode(BeloteEnv(), rng) for _ in range(5)}) == 5
    assert random.getstate() == state
    assert np.random.get_state()[1].tobytes() == numpy_state


def test_a_seat_is_drawn_from_the_seed_or_stays():
    env = BeloteEnv()
    drawn = [env.reset(seed=0 if k == 0 else None)[1]["seat"] for k in range(400)]
    assert [env.reset(seed=0 if k == 0 else None)[1]["seat"] for k in range(400)] == drawn
    counts = np.bincount(drawn, minlength=4)
    assert counts.min() > 60  # 100 expected, 8.7 its deviation
    fixed = BeloteEnv(seat=2)
    assert {fixed.reset()[1]["seat"] for _ in range(20)} == {2}


def test_the_cards_are_those_of_every_other_door():
    env = BeloteEnv(episode="deal")
    vector = SelfPlayVector(1, seed=77)
    env.reset(seed=77)
    assert env._tables.states[0]["pack"].tolist() == vector.states[0]["pack"].tolist()


def test_a_position_survives_seeding():
    """PettingZoo #1312: options were lost on a seeded reset."""
    env = BeloteEnv(opponents="random")
    for plays in (0, 3, 12, 20):
        game = position(plays=plays)
        options = {"position": game.to_text(), "unknown": 1}
        for reset in ({"seed": 5, "options": options}, {"options": options}):
            observation, info = env.reset(**reset)
            assert info["seat"] == game.turn  # a seat that is drawn is the one to act
            assert (observation["observation"] == game.observe(game.turn)).all()
            assert (observation["action_mask"] == game.mask()).all()
    env.reset(seed=5, options=options)
    after = episode(env, random.Random(1))
    env.reset(seed=5)
    assert episode(env, random.Random(1)) == after
    fixed = BeloteEnv(seat=1)
    assert fixed.reset(options={"position": position(plays=8).to_text()})[1]["seat"] == 1


def test_refused_positions():
    env = BeloteEnv(seat=0, opponents="random")
    env.reset(seed=6)
    over, late, rng = position(plays=0), None, random.Random(2)
    while late is None:  # seat 0 has played its last card, others have not
        over = Game("classic", seed=rng.randrange(1000))
        while not over.deal_over:
            over.play(rng.choice(over.legal_actions()))
            if not over.deal_over and over.contract and not over.hand(0):
                late = over.to_text()
    wrong = [
        (over.to_text(), "over"),
        (late, "the episode ends before seat 0 is to act"),
        (position(rules="belote_501").to_text(), "this table plays classic, the position is of belote_501"),
        ("classic", "a position reads"),
        (7, "text of a position"),
    ]
    for text, message in wrong:
        before = whole(env)
        with pytest.raises(ValueError, match=message):
            env.reset(seed=1, options={"position": text})
        assert whole(env) == before
    # in a match the next deal follows, and the seat acts there
    BeloteEnv(seat=0, episode="match").reset(options={"position": late})
    env.reset(options={"position": position(rules=Rules.preset("classic", target=500)).to_text()})


# --- copies and the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", MASKS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_keeps_the_game(copied, mask_in):
    """PettingZoo #1307 and #1186: copying erased the state."""
    env, rng = BeloteEnv(mask_in=mask_in, episode="match", reward="tricks", rules="belote_501"), random.Random(9)
    observation, info = env.reset(seed=2)
    for _ in range(40):
        observation, _, _, _, info = env.step(pick(mask_of(observation, info), rng))
    twin = copied(env)

    def rest(env):
        (seen, facts), over, lines, rng = (observation, info), False, [], random.Random(4)
        while not over:
            seen, reward, over, _, facts = env.step(pick(mask_of(seen, facts), rng))
            lines.append((pickle.dumps(seen), reward, pickle.dumps(facts)))
        return lines

    before = whole(env)
    ends = rest(twin)
    assert whole(env) == before  # the copy shares nothing
    assert rest(env) == ends
    assert episode(twin, random.Random(4)) == episode(env, random.Random(4))


def test_the_picture(capsys):
    env, rng = BeloteEnv(render_mode="ansi", seat=3), random.Random(3)
    observation, _ = env.reset(seed=3)
    assert env.render().startswith("learner player_3\n")
    over = False
    while not over:
        assert "legal: " in env.render()
        observation, _, over, _, _ = env.step(pick(observation["action_mask"], rng))
    assert "this deal" in env.render()  # PettingZoo #1169: a stale picture at the end
    assert capsys.readouterr().out == ""
    human = BeloteEnv(render_mode="human")
    observation, _ = human.reset(seed=3)
    human.step(pick(observation["action_mask"], rng))
    assert capsys.readouterr().out.count("learner player_") == 2
    with pytest.warns(UserWarning, match="render_mode"):
        assert BeloteEnv().render() is None


@pytest.mark.parametrize("door", [BeloteEnv, BeloteVectorEnv, belote_v0.env, belote_v0.parallel_env])
@pytest.mark.parametrize("wrong", [5, "position", ["position"]])
def test_options_are_a_dict(door, wrong):
    with pytest.raises(ValueError, match="options are a dict, not"):
        door().reset(seed=1, options=wrong)


def test_true_is_no_action():
    env = BeloteEnv(illegal="end")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="True is not an action"):
        env.step(True)
