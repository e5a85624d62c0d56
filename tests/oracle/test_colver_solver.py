"""The solver against colver 0.11.1's `solve_scores`, others' in Rust: every first card of `contree` deals."""

import importlib
import os
import random
from importlib.metadata import version

import pytest

from belote_env import Game
from belote_env.cards import CARD_NAMES, STRAINS
from belote_env.solver import solve, solve_score

LONG = bool(os.environ.get("BELOTE_ORACLE_LONG"))
if not LONG:
    pytest.importorskip("colver", reason="colver is not installed: `make oracle` installs it")
colver = importlib.import_module("colver")
NAME = f"colver {version('colver')}"
DEALS = 1000 if LONG else 12
#: colver's number of a coinche and a surcoinche.
DOUBLES = {1: 0, 2: 1, 4: 2}


def deal(rng: random.Random):
    """One deal in both engines at its first lead: `(game, env)`."""
    cards = list(range(32))
    rng.shuffle(cards)
    trump, dealer, taker = rng.randrange(4), rng.randrange(4), rng.randrange(4)
    if rng.random() < 0.2:  # one side has most of the trumps and aces, so that capot is near
        cards.sort(key=lambda c: (c // 8 != trump) + (c % 8 < 6) + rng.random())
        cards = [cards[k] for half in (0, 16) for k in rng.sample(range(half, half + 16), 16)]
        cards = cards[:8] + cards[16:24] + cards[8:16] + cards[24:]
    hands = [sorted(cards[8 * k : 8 * k + 8]) for k in range(4)]
    value, multiplier = rng.choice([80, 90, 100, 120, 160, 250]), rng.choice([1, 1, 2, 4])
    env = colver.Env.deal_with_hands(dealer, hands)
    env.set_contract(trump, value, taker % 2, DOUBLES[multiplier])
    env.set_phase_playing()
    names = [[CARD_NAMES[c] for c in hand] for hand in hands]
    return Game.from_play("contree", names, dealer, taker, STRAINS[trump], value, multiplier), env


@pytest.mark.timeout(3600 if LONG else 300)
def test_first_cards_are_colvers():
    """colver gives side 0's card points, 252 or 0 for capot, and side 0's deal score less side 1's."""
    rng = random.Random(17)
    cards = capots = 0
    for _ in range(DEALS):
        game, env = deal(rng)
        theirs = env.solve_scores()
        ours, side = solve(game), game.turn % 2
        for card, points in theirs["scores"]:
            mine = ours[CARD_NAMES[card]]
            # a side 0 that is left without points has taken a trick where colver has 0, and no trick where we have 252
            other = {0: (252, 162), 252: (0,)}.get(points, (162 - points,))
            assert mine == points if side == 0 else mine in other, f"{NAME} {theirs['scores']}, ours {ours}: {game}"
            cards, capots = cards + 1, capots + (252 in (mine, points))
        scores = solve_score(game)
        for card, score in theirs["deal_scores"]:
            assert scores[CARD_NAMES[card]] == (score if side == 0 else -score), (
                f"{NAME} deal scores {theirs['deal_scores']}, ours {scores}: {game}"
            )
    print(f"\n{NAME}, no difference: {DEALS} deals, {cards} first cards, {capots} of them capot")
    assert capots
