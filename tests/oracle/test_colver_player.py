"""colver's players at our tables: they play as at colver's own, and those that claim so see only their hand."""

import importlib
import random
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
colver = pytest.importorskip("colver", reason="colver is not installed: `make oracle` installs it")

from test_resample import another_world, random_games  # noqa: E402

from belote_env import Game  # noqa: E402
from belote_env.arena import play_match  # noqa: E402
from belote_env.players import Random  # noqa: E402

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("colver_player", ROOT / "benchmarks" / "colver_player.py")
colver_player = importlib.util.module_from_spec(spec)
spec.loader.exec_module(colver_player)
ColverPlayer = colver_player.ColverPlayer

RULE, WORLDS, OPEN = "colver-improved-rule", "colver-smart-isdd-3w", "colver-improved-heuristic"


@pytest.mark.parametrize(("name", "deals"), [(RULE, 150), ("colver-smart-rule", 50), (OPEN, 50), (WORLDS, 3)])
def test_it_plays_as_in_colvers_own_loop(name, deals):
    """The same calls, cards and scores; searches draw the same worlds, their seeds being the same."""
    doubled = 0
    for seed in range(deals):
        game = Game("contree", seed=seed)
        player = ColverPlayer(name, seed=7)
        player.start("contree")
        env = colver.Env.deal_with_hands(game.dealer, [hand_of(game, seat) for seat in range(4)])
        agents = [player._agent(seat) for seat in range(4)]
        for agent in agents:
            agent.init_deal(env)
        while not game.deal_over:
            action = int(player.act(game._states, np.array([game.turn]))[0])
            number = action if env.phase() == 1 else colver_player.THEIR_CALL[action]
            while env.current_player() != game.turn:  # the doubler's partner is asked
                step(env, agents, 0)
            assert agents[game.turn].decide(env)["action"] == number, game.to_text()
            step(env, agents, number)
            game.play(action)
        assert tuple(env.rewards()) == game.deal_scores
        doubled += game.contract is not None and game.contract.multiplier > 1
    assert player.worlds if name == WORLDS else not player.worlds
    print(f"{name}: {deals} deals, {doubled} of them doubled")


def test_it_finds_its_way_through_any_deal():
    """Calls and cards at random, with many doubles: it compares the legal actions of both engines at each decision."""
    player = ColverPlayer("colver-improved_v2-rule")
    answers = 0
    for game, _ in random_games("contree", "colver", deals=60):
        if not game.deal_over:
            assert int(player.act(game._states, np.array([game.turn]))[0]) in game.legal_actions()
            answers += game.phase == "answer"
    assert answers > 60


def hand_of(game, seat):
    return [c for c in range(32) if int(game._states[0]["hands"][seat]) >> c & 1]


def step(env, agents, number):
    for agent in agents:
        agent.observe(env, number)
    env.step(number)


@pytest.mark.parametrize(("name", "honest"), [(RULE, True), ("colver-smart-isdd-2w", True), (OPEN, False)])
def test_what_it_sees(name, honest):
    """Other hands that fit what the seat knows change nothing, but for players that see all hands and are named so."""
    rng = random.Random(4)
    changed = compared = 0
    walker = Random(2)
    walker.start("contree")
    for seed in range(12 if "isdd" in name else 40):
        game = Game("contree", seed=seed)
        bidder = ColverPlayer(RULE)
        while not game.deal_over:
            if rng.random() < 0.3:
                other = another_world(game, game.turn, rng)
                answers = [ColverPlayer(name, 5).act(g._states, np.array([g.turn]))[0] for g in (game, other)]
                changed += answers[0] != answers[1]
                compared += 1
            mover = bidder if game.phase != "play" else walker
            game.play(int(mover.act(game._states, np.array([game.turn]))[0]))
    assert compared > 80
    assert (changed == 0) == honest
    assert ("sees all hands" in ColverPlayer(name).name) != honest


def test_results_do_not_depend_on_the_batch():
    one, other = (play_match(ColverPlayer(RULE), "heuristic", "contree", 20, pairs_at_once=n) for n in (3, 20))
    assert (one.differences == other.differences).all()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("colver", "is not colver-BIDDER-PLAYER"),
        ("colver-improved-isdd", "isdd needs a budget"),
        ("colver-improved-rule-20ms", "the others have none"),
        ("colver-poker-rule", "colver refuses .* unknown bid strategy"),
    ],
)
def test_names_are_checked(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        ColverPlayer(name)


def test_other_rules_and_given_contracts_are_refused():
    with pytest.raises(ValueError, match="plays contree, not classic"):
        ColverPlayer(RULE).start("classic")
    hands = [[rank + suit for rank in "7 8 9 J Q K 10 A".split()] for suit in "SHDC"]
    game = Game.from_play("contree", hands, value=80)
    with pytest.raises(ValueError, match="colver needs the bidding of a deal; position: contree"):
        ColverPlayer(RULE).act(game._states, np.array([game.turn]))
