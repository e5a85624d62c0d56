"""Regret: against the slow referee on endings, on a deal where it is known, and as a law of conservation."""

import os
import random

import numpy as np
import pytest
from endings import ending, tables
from referee_solver import card_values
from rich.console import Console

from belote_env import Game
from belote_env.arena import play_match, regret, regret_table
from belote_env.arena.meter import ratio
from belote_env.cards import CARD_NAMES
from belote_env.players import Heuristic, Player, Random
from belote_env.solver import solve
from belote_env.state import new_states

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
TABLES = tables()


def endings(rules, trump, n, cards_left, seed=5):
    """`(games, their states)`."""
    rng = random.Random(seed)
    games = [ending(rng, rules, trump, cards_left) for _ in range(n)]
    states = new_states(n)
    states[:] = np.concatenate([game._states for game in games])
    return games, states


@pytest.mark.parametrize(("rules", "settings", "trump"), TABLES[:: 1 if JIT else 7])
def test_regret_is_the_referees(rules, settings, trump):
    player = Random(3)
    player.start(rules)
    games, states = endings(rules, trump, 6, 10)
    points, cards = np.zeros((6, 2, 8), int), np.zeros((6, 2, 8), int)
    for unit, start in enumerate(games):
        game = start.copy()
        while not game.deal_over:
            s = game._states[0]
            hands = [game.hand(seat) for seat in range(4)]
            trick, won = [card for _, card in game.trick], [int(n) for n in s["won"]]
            values = card_values(settings, hands, int(s["leader"]), trick, trump, game.points, won)
            card = CARD_NAMES[player.act(game._states, np.array([game.turn]))[0]]
            cell = unit, (game.turn - game.contract.taker) % 2, 8 - max(map(len, hands))
            points[cell] += max(values.values()) - values[card]
            cards[cell] += 1
            game.play(card)
    found = regret(player, rules, states)
    assert (found.cards == cards).all() and (found.points == points).all()
    assert points.any()


class InOrder(Player):
    """Every seat plays its cards in an order of its own."""

    def __init__(self, orders):
        self.texts = orders
        self.orders = [[CARD_NAMES.index(card) for card in order.split()] for order in orders]

    def act(self, states, seats):
        held = states["hands"].astype(np.int64)
        return np.array(
            [next(c for c in self.orders[seat] if held[i, seat] >> c & 1) for i, seat in enumerate(seats)],
        )


def test_a_lost_last_trick_is_ten_points():
    """Seat 0 has seven trumps and a heart that must lose: led last, it takes the ten of the last trick with it."""
    orders = [
        "JS 9S AS 10S KS QS 8S 7H",
        "7S 8H 9H JH QH KH 10H AH",
        "AD 10D KD QD JD 9D 8D 7D",
        "7C 8C 9C JC QC KC 10C AC",
    ]
    states = new_states(2)
    states[:] = Game.from_play("contree", orders, dealer=3, taker=0, trump="S", value=80)._states
    wrong = regret(InOrder(orders), "contree", states)
    expected = np.zeros((2, 2, 8), int)
    expected[:, 0, 6] = 10
    assert (wrong.points == expected).all() and (wrong.cards == 2).all()
    assert wrong.a_card("takers", 7) == (5.0, 0.0)
    assert wrong.a_card("takers") == (10 / 16, 0.0)
    assert wrong.a_card() == (10 / 32, 0.0)
    # led one trick earlier it costs nothing; but seats 1 and 3 then put a ten on the trick they win and lose an ace
    earlier = InOrder(["JS 9S AS 10S KS QS 7H 8S", *orders[1:]])
    expected[:, :, 6] = 0, 2
    assert (regret(earlier, "contree", states).points == expected).all()
    best = InOrder([*earlier.texts[:1], "7S 8H 9H JH QH KH AH 10H", orders[2], "7C 8C 9C JC QC KC AC 10C"])
    assert not regret(best, "contree", states).points.any()


def test_points_are_the_value_of_the_deal_less_what_was_given_away():
    rules, _, trump = TABLES[0]
    games, states = endings(rules, trump, 40, 12 if JIT else 8)
    kept = [k for k in range(40) if all(states["won"][k])]  # nobody can have capot: what one side loses the other has
    player = Random(8)
    lost = regret(player, rules, states[kept]).points.sum(2)
    assert len(kept) > 10 and lost.any()
    for k, (takers, defenders) in zip(kept, lost, strict=True):
        game = games[k].copy()
        side = game.contract.taker % 2
        best = max(solve(game).values())
        value = best if game.turn % 2 == side else 162 - best
        while not game.deal_over:
            game.play(int(player.act(game._states, np.array([game.turn]))[0]))
        assert game.points[side] == value - takers + defenders


def test_the_heuristic_gives_away_less_than_random():
    rules, _, trump = TABLES[0]
    _, states = endings(rules, trump, 80, 16 if JIT else 8)
    (better, b), (worse, w) = (regret(player, rules, states).a_card() for player in (Heuristic(), Random()))
    assert 0 < better + b < worse - w


def test_whole_deals_from_a_seed():
    if not JIT:
        pytest.skip("eight cards a hand are too many for the interpreter")
    found = regret("heuristic", "contree", deals=3, seed=1)
    assert found.cards.sum() % 32 == 0 and found.cards.sum() >= 32
    assert found.points[:, :, 7].sum() == 0 < found.points.sum()  # the last card is no choice
    again = regret(Heuristic(), "contree", deals=3, seed=1)
    assert (found.points == again.points).all()


def test_the_regret_of_a_match():
    rules, _, trump = TABLES[0]
    _, states = endings(rules, trump, 30, 8)
    plain = play_match("heuristic", "random", rules, states)
    result = play_match("heuristic", "random", rules, states, regret=True, pairs_at_once=7)
    assert (result.differences == plain.differences).all() and plain.regrets is None
    ours, theirs = result.regrets
    assert (ours.name, theirs.name) == ("heuristic", "random")
    assert (ours.cards + theirs.cards == 2 * regret("heuristic", rules, states).cards).all()
    assert ours.a_card()[0] < theirs.a_card()[0]
    record = result.to_dict()
    assert "regret" not in plain.to_dict()["a"]
    assert record["a"]["regret"] == ours.to_dict()
    assert sum(sum(record["b"]["regret"][role]["points"]) for role in ("takers", "defenders")) == theirs.points.sum()
    same, other = play_match("random", "random", rules, states, regret=True).regrets
    assert (same.points == other.points).all() and (same.cards == other.cards).all()
    console = Console(width=120)
    with console.capture() as capture:
        console.print(regret_table(ours, theirs))
    text = capture.get()
    assert "{:.2f} ± {:.2f}".format(*theirs.a_card("defenders")) in text and "–" in text


def test_intervals_cover_nineteen_times_in_twenty():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(1000):
        weights = rng.integers(1, 9, 200)
        values = rng.poisson(1.5 * weights)
        mean, interval = ratio(values, weights)
        inside += abs(mean - 1.5) < interval
    assert 925 <= inside <= 975


@pytest.mark.parametrize("number", [0, 31, 40, -1, 10**12])
def test_an_illegal_card_is_named(number):
    rules, _, trump = TABLES[0]
    _, states = endings(rules, trump, 20, 6)

    class Stubborn(Player):
        name = "stubborn"

        def act(self, states, seats):
            return np.full(len(states), number)

    with pytest.raises(ValueError, match=rf"^stubborn played {number}, which is not legal for seat \d: legal are "):
        regret(Stubborn(), rules, states)


def test_roles_and_tricks_are_checked():
    rules, _, trump = TABLES[0]
    found = regret("random", rules, endings(rules, trump, 2, 6)[1])
    with pytest.raises(ValueError, match="role='taker' is not one of 'takers', 'defenders'"):
        found.a_card("taker")
    for trick in (0, 9, True, 1.0, "1", float("nan")):
        with pytest.raises(ValueError, match=f"trick={trick!r}: a whole number from 1 to 8 is needed"):
            found.a_card(trick=trick)
    assert found.a_card(trick=1) == (0.0, 0.0)  # no card of it was played
