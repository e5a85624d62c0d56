"""The OpenSpiel game: chance, returns, hidden hands, copies, seeds; bots as players and players as bots."""

import copy
import random

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python import rl_environment  # noqa: E402
from open_spiel.python.algorithms import evaluate_bots, ismcts, mcts  # noqa: E402
from truth import assert_varied, choose  # noqa: E402

from belote_env import Game, Rules, belote_v0  # noqa: E402
from belote_env.arena import play_match  # noqa: E402
from belote_env.envs.adapters.openspiel import BotPlayer, PlayerBot  # noqa: E402

TABLES = ("classic", "coinche")


def dealt(game, rng):
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        assert sum(chances) == pytest.approx(1)
        state.apply_action(rng.choice(outcomes))
    return state


def played(state):
    while not state.is_terminal():
        player = state.current_player()
        mask = np.zeros(state.get_game().num_distinct_actions(), np.int8)
        mask[state.legal_actions()] = 1
        state.apply_action(choose(np.array(state.information_state_tensor(player)), mask))
    return state


@pytest.mark.parametrize("table", TABLES)
def test_open_spiels_own_simulation(table):
    pyspiel.random_sim_test(pyspiel.load_game("belote", {"rules": table}), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize("table", TABLES)
def test_returns_are_the_differences_of_a_thousand_deals(table):
    """Against the engine's own table, entered by the position the pack makes."""
    game, rng, seen = pyspiel.load_game(f"belote(rules={table})"), random.Random(table), []
    aec = belote_v0.env(rules=table, obs_dtype="uint8")
    for _ in range(1000):
        state = dealt(game, rng)
        aec.reset(options={"position": str(state)})
        while not aec.terminations["player_0"]:
            observation = aec.observe(aec.agent_selection)
            aec.step(choose(observation["observation"], observation["action_mask"]))
        played(state)
        scores = aec._states[0]["deal_scores"].astype(int)
        difference = float(scores[0] - scores[1])
        assert state.returns() == [difference, -difference, difference, -difference]
        assert max(state.returns()) <= game.max_utility()
        seen.append(difference)
    assert_varied(seen)


@pytest.mark.parametrize("table", TABLES)
def test_the_deal_is_explicit_chance(table):
    """Same outcomes, same deal: the one that the engine's own table deals from this dealer and this pack."""
    game, aec = pyspiel.load_game(f"belote(rules={table})"), belote_v0.env(rules=table)
    for seed in range(20):
        aec.reset(seed=seed)
        record, state = aec._states[0], game.new_initial_state()
        for outcome in (int(record["dealer"]), *map(int, record["pack"])):
            state.apply_action(outcome)
        for field in ("hands", "turned", "dealer", "turn", "phase"):
            assert (state.states[0][field] == record[field]).all()
        first, second = (played(dealt(game, random.Random(seed))) for _ in range(2))
        assert first.history() == second.history()
        assert first.returns() == second.returns()
        assert sorted(first.history()[1:33]) == list(range(32))


@pytest.mark.parametrize("table", TABLES)
def test_copies_are_games_of_their_own(table):
    """clone, deepcopy and text: what is played in one does not show in the other."""
    game, rng = pyspiel.load_game(f"belote(rules={table})"), random.Random(3)
    for steps in (0, 5, 33, 40, 50):
        state = game.new_initial_state()
        for _ in range(steps):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        copies = (
            state.clone(),
            copy.deepcopy(state),
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
        )
        text = str(state)
        for other in copies:
            assert str(other) == text
            assert other.history() == state.history()
            while not other.is_terminal():
                other.apply_action(random.Random(1).choice(other.legal_actions()))
            assert str(state) == text
        assert str(copies[0]) == str(copies[1]) == str(copies[2])


@pytest.mark.parametrize("table", TABLES)
def test_another_deal_of_the_same_view_looks_the_same(table):
    """open_spiel PR #1604: hands leaked into what a player is shown."""
    game, rng = pyspiel.load_game(f"belote(rules={table})"), random.Random(5)
    moved = 0
    for _ in range(8):
        state = dealt(game, rng)
        while not state.is_terminal():
            for player in range(4):
                other = state.resample_from_infostate(player, rng.random)
                for asked in ("information_state_string", "observation_string"):
                    assert getattr(other, asked)(player) == getattr(state, asked)(player)
                for asked in ("information_state_tensor", "observation_tensor"):
                    assert getattr(other, asked)(player) == getattr(state, asked)(player)
                assert other.legal_actions() == state.legal_actions() or player != state.current_player()
                moved += (other.states["hands"] != state.states["hands"]).any()
            state.apply_action(rng.choice(state.legal_actions()))
    assert moved > 50


def test_strings_tell_apart_what_a_player_can():
    game, rng = pyspiel.load_game("belote"), random.Random(6)
    for _ in range(30):
        state = dealt(game, rng)
        words = {state.information_state_string(player) for player in range(4)}
        assert len(words) == 4
        for player in range(4):
            own = set(Game.parse(str(state)).hand(player))
            shown = state.information_state_string(player).split("hand ")[1].split(" turned")[0].split()
            assert set(shown) == own
            assert len(own) == 5
        before = state.information_state_string(0)
        state.apply_action(state.legal_actions()[0])
        assert state.information_state_string(0) != before


def test_a_learners_environment_masks_and_pays():
    env = rl_environment.Environment("belote(rules=classic)")
    env.seed(4)
    for _ in range(5):
        step = env.reset()
        while not step.last():
            player = step.observations["current_player"]
            legal = step.observations["legal_actions"][player]
            assert legal == sorted(legal) != []
            step = env.step([legal[0]])
        assert step.rewards == [step.rewards[0], -step.rewards[0]] * 2


def test_players_as_bots():
    """Heuristic against passing and first cards, through OpenSpiel's own loop."""
    game, rng = pyspiel.load_game("belote"), np.random.RandomState(1)
    bots = [PlayerBot(game, "heuristic" if seat % 2 == 0 else "random", seat) for seat in range(4)]
    assert [bot.player_id() for bot in bots] == [0, 1, 2, 3]
    total = sum(evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)[0] for _ in range(60))
    assert total > 0


def test_bots_as_players():
    """A bot that answers as a function does plays the match that the function plays; both ignore the match scores."""
    game = pyspiel.load_game("belote")

    def lowest(observation, mask):
        return int(mask.argmax())

    wrapped = BotPlayer(PlayerBot(game, lowest, 0), "wrapped")
    ours, theirs = (play_match(player, "heuristic", deals=10, seed=3) for player in (lowest, wrapped))
    assert (ours.differences == theirs.differences).all()
    with pytest.raises(ValueError, match="presets"):
        play_match(wrapped, "random", rules=Rules.preset("classic", target=500), deals=2)


def test_what_has_no_calls_is_refused():
    """A given contract cannot be reached by OpenSpiel's actions, nor a view before the cards are dealt."""
    game = pyspiel.load_game("belote")
    given = Game.parse(f"{Game(seed=1).to_text().partition(' calls')[0]} contract 1 S")
    with pytest.raises(ValueError, match="needs the calls of a deal"):
        game.state_of(given._states)
    with pytest.raises(ValueError, match="still being dealt"):
        game.new_initial_state().resample_from_infostate(0, random.random)


def test_is_mcts_plays():
    game, rng = pyspiel.load_game("belote"), np.random.RandomState(2)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 100.0, 4, random_state=rng)
    bot.set_resampler(lambda state, player: state.resample_from_infostate(player, rng.uniform))
    state = dealt(game, random.Random(1))
    for _ in range(12):
        action = int(bot.step(state))
        assert action in state.legal_actions()
        state.apply_action(action)
