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
    """colver gives side 0's card points, 252 or 0 for capot, and side 0's deal score less side 1's.

    It maximises side 0's points alone.  Where these are 0 it counts the deal as side 1's capot, although side 0 may
    be able to take a worthless trick; our score is then the better one for side 0.
    """
    rng = random.Random(17)
    cards = capots = worthless = 0
    for _ in range(DEALS):
        game, env = deal(rng)
        theirs = env.solve_scores()
        ours, scores, side = solve(game), solve_score(game), game.turn % 2
        for (card, points), (_, score) in zip(theirs["scores"], theirs["deal_scores"], strict=True):
            where = f"{CARD_NAMES[card]}, {NAME} {theirs}, ours {ours} {scores}: {game}"
            mine, our_score = ours[CARD_NAMES[card]], scores[CARD_NAMES[card]] * (1 if side == 0 else -1)
            other = {0: (252, 162), 252: (0,)}.get(points, (162 - points,))
            assert mine == points if side == 0 else mine in other, where
            if points == 0 and our_score > score:
                worthless += 1
            else:
                assert our_score == score, where
            cards, capots = cards + 1, capots + (252 in (mine, points))
    print(f"\n{NAME}: {DEALS} deals, {cards} first cards, {capots} of them capot, no difference but {worthless} cards")
    print("after which side 0 has no points but a trick")
    assert capots
    assert worthless * 50 < cards
