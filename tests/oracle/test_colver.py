"""Our `contree` against colver 0.11.1, others' engine in Rust (rules 9): every decision and every deal's score."""

import importlib
import os
import random
from collections import Counter
from functools import cache
from importlib.metadata import version
from itertools import pairwise

import numpy as np
import pytest

from belote_env.cards import STRENGTH
from belote_env.engine import apply, begin_deal, legal_actions
from belote_env.notation import position_text
from belote_env.rules import Rules
from belote_env.state import ANSWER, CAPOT_LEVEL, DEAL_OVER, FIRST_CALL, MADE, NOBODY, PLAY, VALUES, new_states

LONG = bool(os.environ.get("BELOTE_ORACLE_LONG"))
if not LONG:
    pytest.importorskip("colver", reason="colver is not installed: `make oracle` installs it")
colver = importlib.import_module("colver")
NAME = f"colver {version('colver')}"

#: At least so many of each are compared.
DECISIONS, DEALS = (1_000_000, 110_000) if LONG else (20_000, 400)
#: Every kind of deal that has to occur, and how many of them in a thousand deals.
KINDS = {
    "doubled": 100,
    "redoubled": 20,
    "redoubled by the second answerer": 5,
    "all passed": 5,
    "capot by the takers": 20,
    "capot by the defenders": 5,
    "capot, doubled": 10,
    "250 made": 5,
    "250 failed": 5,
    "belote with the takers": 20,
    "belote with the defenders": 20,
    "failed": 100,
    "made": 100,
}
#: colver's numbers: 0 pass, then four suits of each value and of capot, 41 coinche, 42 surcoinche; cards are ours.
CALLS = [32, *(FIRST_CALL + 6 * level + suit for level in range(10) for suit in range(4)), 33, 34]
POWERS = 2.0 ** np.arange(43)
BEATS = STRENGTH.tolist()
RULES = Rules.preset("contree")


@cache
def calls_of(mask: int) -> int:
    """Our bit set of colver's bit set of calls."""
    return sum(1 << ours for theirs, ours in enumerate(CALLS) if mask >> theirs & 1)


class Style:
    """How one deal is dealt, bid and played: at random, or so that one strong side takes every trick."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.strong = rng.choice((None, None, 0, 1))
        self.suit = rng.randrange(4)
        self.bidding_side = None if self.strong is None else self.strong ^ (rng.random() < 0.25)
        self.capot = rng.random() < 0.3
        self.silence = rng.uniform(0.1, 0.9)
        self.coinche = rng.choice((0.05, 0.3, 0.9))
        self.surcoinche = rng.choice((0.1, 0.4, 0.8))
        self.care = 0.0 if self.strong is None else rng.choice((0.8, 0.95, 1.0))

    def hands(self) -> list[list[int]]:
        """Four hands of eight in seat order; a strong side has most of the trumps and aces."""
        cards = list(range(32))
        self.rng.shuffle(cards)
        if self.strong is not None:
            spread = self.rng.choice((2, 6, 12))
            cards.sort(key=lambda c: -BEATS[self.suit][c // 8][c] - self.rng.random() * spread)
            halves = [cards[:16], cards[16:]]
            for half in halves:
                self.rng.shuffle(half)
            cards = halves[0] + halves[1]
        pairs = [cards[:8], cards[16:24], cards[8:16], cards[24:]]
        return pairs[1:] + pairs[:1] if self.strong == 1 else pairs

    def call(self, seat: int, legal: list[int]) -> int:
        """One of colver's numbers."""
        rng = self.rng
        if 42 in legal:
            return 42 if rng.random() < self.surcoinche else 0
        if 41 in legal and rng.random() < self.coinche:
            return 41
        if self.bidding_side is not None:
            if seat & 1 != self.bidding_side or rng.random() < 0.3:
                return 0
            bids = [a for a in legal if 1 <= a <= 40 and (a - 1) % 4 == self.suit]
            if not bids:
                return 0
            return bids[-1] if self.capot and rng.random() < 0.5 else rng.choice(bids[:4])
        bids = legal[1:17]
        if rng.random() < self.silence or not bids:
            return 0
        return rng.choice(legal) if rng.random() < 0.05 else rng.choice(bids)

    def card(self, seat: int, legal: list[int], strain: int, led: int, partner_wins: bool) -> int:
        """At random, or: the strong side takes what it can, the weak side gives what it may."""
        if len(legal) == 1 or self.rng.random() >= self.care:
            return self.rng.choice(legal)
        value = BEATS[strain]
        if seat & 1 == self.strong and not partner_wins:
            return max(legal, key=lambda c: value[c // 8 if led < 0 else led][c])
        return min(legal, key=lambda c: value[c // 8 if led < 0 else led][c])


class Pair:
    """The same deal in both engines."""

    def __init__(self) -> None:
        self.states = new_states(1)
        self.counts = Counter()

    def check(self, what: str, ours, theirs) -> None:
        if ours != theirs:
            position = position_text(self.states, 0, RULES)
            pytest.fail(f"{what} {ours}, {NAME} {theirs}: {position}", pytrace=False)

    def deal(self, style: Style) -> None:
        """Deal, bid, play and count one deal."""
        states, packed, counts = self.states, RULES.packed, self.counts
        phase, turn, winner, n_cards, cards, strain = (
            states[name] for name in ("phase", "turn", "winner", "n_cards", "cards", "strain")
        )
        hands, dealer = style.hands(), style.rng.randrange(4)
        seats = [(dealer + k) % 4 for k in range(1, 5)]
        cuts = np.cumsum((0, *RULES.packets))
        pack = [c for a, b in pairwise(cuts) for seat in seats for c in hands[seat][a:b]]
        states["pack"][0], states["dealer"][0] = pack, dealer
        states["scores"][0] = 0
        begin_deal(states, 0, packed)
        env = colver.Env.deal_with_hands(dealer, hands)
        legal = env.legal_actions()
        decisions = 0
        while phase[0] < DEAL_OVER:
            playing = phase[0] == PLAY
            if phase[0] == ANSWER and (env.current_player() ^ int(turn[0])) & 1:
                # colver asks the doubler's partner as well, who can only pass
                self.check("calls of the doubler's partner", [0], legal)
                legal = env.step(0)[3]
            seat = int(turn[0])
            self.check("phase", int(playing), env.phase())
            self.check("turn", seat, env.current_player())
            low, high = legal_actions(states, 0, packed)
            mask = int(env.legal_action_mask() @ POWERS)
            ours, theirs = int(low) & (2**64 - 1) | int(high) << 64, mask if playing else calls_of(mask)
            if ours != theirs:
                self.check("legal", bits(ours), bits(theirs))
            if playing:
                n = int(n_cards[0])
                led = int(cards[0, n & ~3]) >> 3 if n & 3 else -1
                action = number = style.card(seat, legal, int(strain[0]), led, winner[0] == (seat + 2) & 3)
            else:
                number = style.call(seat, legal)
                action = CALLS[number]
            apply(states, 0, packed, action)
            legal = env.step(number)[3]
            decisions += 1
        counts["decisions"] += decisions
        counts["deals"] += 1
        self.end(env)

    def end(self, env) -> None:
        """Compare and file the deal that is over."""
        s = self.states[0]
        self.check("phase", 2, env.phase())
        self.check("score", [float(x) for x in s["deal_scores"]], list(env.rewards()))
        if s["taker"] == NOBODY:
            self.counts["all passed"] += 1
            return
        side, won = int(s["taker"]) & 1, s["won"].tolist()
        contract = env.get_contract()
        self.check(
            "contract",
            [side, int(s["strain"]), int(VALUES[s["level"]]), {1: 0, 2: 1, 4: 2}[int(s["multiplier"])]],
            [contract[name] for name in ("team", "trump", "value", "coinche")],
        )
        self.check("trick points", s["points"].tolist(), list(env.get_points()))
        self.check("tricks", won, list(env.get_tricks_won()))
        self.check("belote", s["belote_points"].tolist(), [20 if shown == 2 else 0 for shown in env.get_belote()])
        self.file(s, side, won)

    def file(self, s, side: int, won: list[int]) -> None:
        result = "made" if s["made"] == MADE else "failed"
        doubled, capot = s["multiplier"] > 1, 8 in won
        calls = s["calls"][: s["n_calls"]].tolist()
        facts = {
            result: True,
            "doubled": s["multiplier"] == 2,
            f"doubled, {result}": s["multiplier"] == 2,
            "redoubled": s["multiplier"] == 4,
            f"redoubled, {result}": s["multiplier"] == 4,
            "redoubled by the second answerer": s["multiplier"] == 4 and calls[-2] != 33,
            "capot by the takers": won[side] == 8,
            "capot by the defenders": won[side] == 0,
            "capot, doubled": capot and doubled,
            f"250 {result}": s["level"] == CAPOT_LEVEL,
            f"250 {result}, doubled": s["level"] == CAPOT_LEVEL and doubled,
            "belote with the takers": s["belote_points"][side] > 0,
            "belote with the defenders": s["belote_points"][1 - side] > 0,
        }
        self.counts.update(name for name, fact in facts.items() if fact)


def bits(mask: int) -> list[int]:
    return [a for a in range(128) if mask >> a & 1]


@pytest.mark.timeout(3600 if LONG else 300)
def test_contree_is_colvers():
    rng = random.Random(11)
    pair = Pair()
    counts = pair.counts
    while counts["decisions"] < DECISIONS or counts["deals"] < DEALS:
        pair.deal(Style(rng))
    print(f"\n{NAME}, no difference:", ", ".join(f"{n} {name}" for name, n in counts.items()))
    rare = {name: counts[name] for name, least in KINDS.items() if counts[name] * 1000 < least * counts["deals"]}
    assert not rare, f"the generator no longer reaches {rare} in {counts['deals']} deals"
