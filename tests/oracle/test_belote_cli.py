"""Our card play against belote-cli 4.9.6, others' terminal game in Python: deals, legal cards, tricks and points.

Its turn-up game has the legality of `classic` (rules 4): a lower trump is compulsory, a winning partner sets you free.
Its no-trump and all-trump are turn-up calls, ours are bids, so those deals begin at the first lead.
"""

import importlib
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from belote_env import Game
from belote_env.cards import ALL_TRUMP, CARD_NAMES, HIGHER, NO_TRUMP, STRAINS, cards_of
from belote_env.engine import apply, begin_deal, legal_actions, next_deal
from belote_env.notation import position_text
from belote_env.rules import Rules
from belote_env.state import BID_ONE, BID_TWO, DEAL_OVER, FIRST_CALL, NOBODY, PASS, PLAY, new_states

LONG = bool(os.environ.get("BELOTE_ORACLE_LONG"))
FOLDER = Path(__file__).parents[2] / ".oracle" / "belote-cli"
if FOLDER.is_dir():  # it has a folder of its own, because it would install its `belote` command over ours
    sys.path.append(str(FOLDER))
if not LONG:
    pytest.importorskip("belote.game", reason="belote-cli is not installed: `make oracle` installs it")
theirs, deck = importlib.import_module("belote.game"), importlib.import_module("belote.deck")
NAME = f"belote-cli {importlib.import_module('belote').__version__}"

#: At least so many card decisions are compared, in the turn-up game and in the other two strains each.
DECISIONS, OTHER_DECISIONS = (300_000, 50_000) if LONG else (10_000, 3_000)
#: Corners of rules 4 for a seat with two cards or more and none of the led suit; how many in 100,000 card decisions.
CORNERS = {
    "an opponent's trump beaten": 300,
    "an opponent's trump not beaten, a lower one forced": 150,
    "partner winning with a plain card, trump held": 500,
    "partner winning with a trump, trump held": 100,
    "partner winning with a trump, only trumps held": 5,
}
CLASSIC = Rules.preset("classic")
STRAINS_RULES = Rules.preset("coinche", no_trump=True, all_trump=True)

_RANK = {rank.value: rank for rank in deck.Rank}
CARDS = [deck.Card(deck.CARD_SUITS[c // 8], _RANK[CARD_NAMES[c][:-1]]) for c in range(32)]
NUMBER = {card: c for c, card in enumerate(CARDS)}
SEATS = list(theirs.Seat)


def lumpy(rng: random.Random) -> list[int]:
    """The 32 cards, neighbours often of one suit, so that seats run out of suits early."""
    spread = rng.choice((10, 16, 32, 64))
    suits = rng.sample(range(4), 4)
    return sorted(range(32), key=lambda c: 8 * suits[c // 8] + rng.random() * spread)


class Pair:
    """The same deal in both engines."""

    def __init__(self, rules: Rules, rng: random.Random) -> None:
        self.rules, self.rng = rules, rng
        self.states = new_states(1)
        self.counts = Counter()
        self.other = None

    def check(self, what: str, ours, other) -> None:
        if ours != other:
            position = position_text(self.states, 0, self.rules)
            pytest.fail(f"{what} {ours}, {NAME} {other}: {position}", pytrace=False)

    def check_hands(self) -> None:
        ours = [cards_of(hand) for hand in self.states["hands"][0]]
        self.check("hands", ours, [sorted(NUMBER[c] for c in hand) for hand in self.other.hands])

    def turn_up(self) -> None:
        """A turn-up deal from the pack, two rounds of calls, and the play if anybody takes."""
        states, rng = self.states, self.rng
        cards, dealer = lumpy(rng), rng.randrange(4)
        first = [cards[8 * k : 8 * k + 8] for k in range(4)]
        rng.shuffle(first)
        rest = [c for hand in first for c in hand[5:]]
        pack = [c for hand in first for c in hand[:3]] + [c for hand in first for c in hand[3:5]] + rest
        states["pack"][0], states["dealer"][0] = pack, dealer
        states["scores"][0] = 0
        begin_deal(states, 0, self.rules.packed)
        hands = tuple(tuple(CARDS[c] for c in first[(seat - dealer - 1) % 4][:5]) for seat in range(4))
        self.other = theirs.GameState(
            hands=hands,
            dealer=SEATS[dealer],
            turn=SEATS[dealer].next_seat(),
            phase=theirs.Phase.BIDDING,
            up_card=CARDS[rest[0]],
            remaining_cards=tuple(CARDS[c] for c in rest[1:]),
        )
        while states["phase"][0] <= BID_TWO:
            self.check("phase", int(states["phase"][0]) - BID_ONE + 1, self.other.bidding_round)
            self.check("turn", int(states["turn"][0]), self.other.current_bidder.value)
            low, _ = legal_actions(states, 0, self.rules.packed)
            takes = [a for a in range(FIRST_CALL, FIRST_CALL + 4) if low >> a & 1]
            action = rng.choice(takes) if rng.random() < 0.25 else PASS
            bid = None if action == PASS else deck.CARD_SUITS[action - FIRST_CALL]
            apply(states, 0, self.rules.packed, action)
            self.other = theirs.place_bid(self.other, bid)
        self.counts["deals"] += 1
        if states["taker"][0] == NOBODY:
            self.counts["all passed"] += 1
            next_deal(states, 0, self.rules.packed)
            self.check("next dealer", int(states["dealer"][0]), self.other.dealer.value)
            return
        self.check("taker", int(states["taker"][0]), self.other.taker.value)
        self.play(points=True)

    def from_lead(self, strain: int) -> None:
        """A deal of no-trump or all-trump from its first lead."""
        rng = self.rng
        cards, dealer, taker = lumpy(rng), rng.randrange(4), rng.randrange(4)
        hands = [cards[8 * k : 8 * k + 8] for k in range(4)]
        rng.shuffle(hands)
        texts = [[CARD_NAMES[c] for c in hand] for hand in hands]
        self.states = Game.from_play(self.rules, texts, dealer, taker, STRAINS[strain], value=80)._states
        all_trump = strain == ALL_TRUMP
        self.other = theirs.GameState(
            hands=tuple(tuple(CARDS[c] for c in hand) for hand in hands),
            dealer=SEATS[dealer],
            leader=SEATS[dealer].next_seat(),
            turn=SEATS[dealer].next_seat(),
            phase=theirs.Phase.PLAYING,
            taker=SEATS[taker],
            trump=deck.Suit.TOUT_ATOUT if all_trump else None,
            contract=deck.Contract.TOUT_ATOUT if all_trump else deck.Contract.SANS_ATOUT,
        )
        self.counts["deals"] += 1
        self.play(points=False)

    def play(self, points: bool) -> None:
        """Legal cards and turn at every card, hands at every trick; points of all but capot, which it adds later."""
        states, packed = self.states, self.rules.packed
        phase, turn, n_cards = states["phase"], states["turn"], states["n_cards"]
        while phase[0] < DEAL_OVER:
            if n_cards[0] & 3 == 0:
                self.check_hands()
            self.check("phase", int(phase[0]) == PLAY, self.other.phase == theirs.Phase.PLAYING)
            seat = self.other.turn
            self.check("turn", int(turn[0]), seat.value)
            legal = cards_of(legal_actions(states, 0, packed)[0])
            self.check("legal", legal, sorted(NUMBER[c] for c in theirs.legal_cards(self.other, seat)))
            self.note_corner()
            card = self.choose(legal)
            apply(states, 0, packed, card)
            self.other = theirs.play_card(self.other, CARDS[card])
            self.counts["card decisions"] += 1
        self.check("phase", True, self.other.phase == theirs.Phase.SCORING)
        won = states["won"][0].tolist()
        self.check("tricks", won, [sum(w.value & 1 == side for w in self.winners()) for side in range(2)])
        if points:
            ours = [int(p) - (90 if won[side] == 8 else 0) for side, p in enumerate(states["points"][0])]
            self.check("trick points", ours, list(self.other.current_round_points))
            holder = self.other.belote_announcer if self.other.belote_tracker == (True, True) else None
            belote = [20 if holder in SEATS[side::2] else 0 for side in range(2)]
            self.check("belote", states["belote_points"][0].tolist(), belote)
            self.counts["belotes"] += holder is not None
            self.counts["capots"] += 8 in won

    def winners(self):
        no_trump = self.other.contract == deck.Contract.SANS_ATOUT
        return theirs.compute_trick_winners(self.other, self.other.trump, no_trump)

    def choose(self, legal: list[int]) -> int:
        """At random, leads more often from a short plain suit: that brings seats without the led suit about."""
        s = self.states[0]
        if s["n_cards"] & 3 == 0 and self.rng.random() < 0.6:
            plain = [c for c in legal if c // 8 != s["strain"]] or legal
            suits = [c // 8 for c in plain]
            fewest = min(suits.count(suit) for suit in suits)
            return self.rng.choice([c for c in plain if suits.count(c // 8) == fewest])
        return self.rng.choice(legal)

    def note_corner(self) -> None:
        s = self.states[0]
        n, strain, best, hand = int(s["n_cards"]), int(s["strain"]), int(s["best"]), int(s["hands"][s["turn"]])
        if n & 3 == 0 or n >= 28 or strain >= NO_TRUMP:
            return
        led = int(s["cards"][n & ~3]) // 8
        trumps = hand >> 8 * strain & 0xFF
        if led == strain or hand >> 8 * led & 0xFF or not trumps:
            return
        ruffed = best // 8 == strain
        partner = int(s["winner"]) == (int(s["turn"]) + 2) % 4
        if partner:
            how = "trump" if ruffed else "plain card"
            self.counts[f"partner winning with a {how}, trump held"] += 1
            if hand == trumps << 8 * strain:
                self.counts[f"partner winning with a {how}, only trumps held"] += 1
        elif ruffed:
            beats = bool(hand & int(HIGHER[strain, best]))
            self.counts[f"an opponent's trump {'beaten' if beats else 'not beaten, a lower one forced'}"] += 1


@pytest.mark.timeout(3600 if LONG else 300)
def test_turn_up_play_is_belote_clis():
    pair = Pair(CLASSIC, random.Random(21))
    counts = pair.counts
    while counts["card decisions"] < DECISIONS:
        pair.turn_up()
    print(f"\n{NAME}, no difference:", ", ".join(f"{n} {name}" for name, n in counts.items()))
    rare = {
        name: counts[name]
        for name, least in CORNERS.items()
        if counts[name] * 100_000 < least * counts["card decisions"]
    }
    assert not rare, f"the generator no longer reaches {rare} in {counts['card decisions']} card decisions"


@pytest.mark.timeout(3600 if LONG else 300)
@pytest.mark.parametrize("strain", [NO_TRUMP, ALL_TRUMP], ids=["no-trump", "all-trump"])
def test_other_strains_are_belote_clis(strain):
    pair = Pair(STRAINS_RULES, random.Random(22))
    while pair.counts["card decisions"] < OTHER_DECISIONS:
        pair.from_lead(strain)
    print(f"\n{NAME}, {STRAINS[strain]}, no difference:", dict(pair.counts))
