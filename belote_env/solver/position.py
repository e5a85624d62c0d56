"""A position as the solver holds it: cards renumbered by strength, owners that never change, one mask of what is left.

In a deal each card has one owner, so a position between two tricks is the 32-bit set of cards left, who leads, and
which side has every trick so far.  What the search asks about one suit depends on the eight bits of that suit alone
and is read from tables that `load` fills once for each position it is given.

Solver's cards: suit slot * 8 + strength in the suit; a trump suit is slot 3.  Points never fall with strength.
"""

import numpy as np

from belote_env._jit import kernel
from belote_env.cards import ALL_TRUMP, NO_TRUMP, PLAIN_ORDER, POINTS, TRUMP_ORDER
from belote_env.state import NOBODY
from belote_env.tricks import PARTNER_FREE, PARTNER_OVERTRUMP

TRUMP_SLOT = 3


def _renumbered(strain: int) -> list[int]:
    """Solver's number of each card under a strain."""
    suits = [s for s in range(4) if s != strain] + [s for s in range(4) if s == strain]
    orders = [TRUMP_ORDER if strain in (s, ALL_TRUMP) else PLAIN_ORDER for s in range(4)]
    return [8 * suits.index(card >> 3) + orders[card >> 3].index(card & 7) for card in range(32)]


#: (6, 33) solver's number of a card under a strain; no card is any.
TO_SOLVER = np.array([[*_renumbered(s), 0] for s in range(6)], np.int64)
#: (6, 32) and back.
FROM_SOLVER = np.argsort(TO_SOLVER[:, :32], axis=1)
_POINTS = np.take_along_axis(POINTS, FROM_SOLVER, axis=1)

#: Offsets in the work array: points of a card; owned cards by seat; four tables by (slot, cards left of that suit).
POINT, OWNED, PATTERN, SUM, MASTERS = 0, 32, 40, 1064, 2088
#: Frames of the search, and its history: a row for each place and card led (32 * (cards on the table - 1) + the card),
#: the last for leads; how much has spoken for each card.
FRAME, FRAME_WORDS, HISTORY, HISTORY_ROWS = 3112, 32, 3112 + 34 * 32, 97
#: How many positions were loaded (it stamps the entries of the table), and how many cards were played in searching.
EPOCH, NODES = HISTORY + HISTORY_ROWS * 32, HISTORY + HISTORY_ROWS * 32 + 1
WORK_WORDS = NODES + 1


@kernel
def owner_of(work, card):
    """Seat that holds a card when the position is loaded, NOBODY where it has been played."""
    for seat in range(4):
        if (work[OWNED + seat] >> card) & 1:
            return seat
    return NOBODY


@kernel
def same_pattern(work, slot, left, at_first):
    """The earliest cards of `at_first`, a suit's eight bits, whose owners follow each other as those of `left` do."""
    found, at = 0, 0
    for rank in range(8):
        if (left >> rank) & 1:
            owner = owner_of(work, 8 * slot + rank)
            while not (at_first >> at) & 1 or owner_of(work, 8 * slot + at) != owner:
                at += 1
            found |= 1 << at
            at += 1
    return found


@kernel
def masters_of(work, slot, left):
    """The run of highest cards: `seat | length << 2 | points of the side's run << 8 | points of the seat's << 16`.

    The seat's run is `length` cards in one hand; the side's run goes on through the partner's cards.
    """
    first, length, whole, alone, points = -1, 0, True, 0, 0
    for k in range(8):
        rank = 7 - k
        if (left >> rank) & 1:
            owner = owner_of(work, 8 * slot + rank)
            if first < 0:
                first = owner
            if (owner ^ first) & 1:
                break
            points += work[POINT + 8 * slot + rank]
            whole = whole and owner == first
            if whole:
                length += 1
                alone += work[POINT + 8 * slot + rank]
    return first | length << 2 | points << 8 | alone << 16 if first >= 0 else 0


@kernel
def load(states, i, work):
    """Fill the tables for `states[i]`, which must be in play; forget the history of the last position."""
    s = states[i]
    strain = np.int64(s.strain)
    for card in range(32):
        work[POINT + card] = _POINTS[strain, card]
    every = 0
    for seat in range(4):
        hand, owned = np.int64(s.hands[seat]), 0
        for card in range(32):
            if (hand >> card) & 1:
                owned |= 1 << TO_SOLVER[strain, card]
        work[OWNED + seat] = owned
        every |= owned
    for slot in range(4):
        suit = (every >> (8 * slot)) & 255
        left = suit
        while True:
            at = 256 * slot + left
            total = 0
            for rank in range(8):
                if (left >> rank) & 1:
                    total += work[POINT + 8 * slot + rank]
            work[PATTERN + at] = same_pattern(work, slot, left, suit)
            work[SUM + at] = total
            work[MASTERS + at] = masters_of(work, slot, left)
            if left == 0:
                break
            left = (left - 1) & suit
    for k in range(HISTORY_ROWS * 32):
        work[HISTORY + k] = 0
    work[EPOCH] += 1
    return every


@kernel
def ruffs(strain):
    """Bit set of the cards that rank as trump in every trick: slot 3 where a suit is trump."""
    return 0xFF000000 if strain < NO_TRUMP else 0


@kernel
def may_play(hand, led, best, partner_best, trumps, beat_slots, overtrump, under_free, partner_rule):
    """`tricks.legal_cards` in solver's cards, for a seat that does not lead (rules 4).

    Args:
        hand: bit set of the mover's cards.
        led: slot led.
        best: card winning the trick.
        partner_best: whether the mover's partner played it.
        trumps: bit set of all trumps.
        beat_slots: bit set of the slots in which the best card must be beaten.
        overtrump, under_free, partner_rule: of the packed rules.
    """
    above = ~((2 << best) - 1)
    follow = hand & (255 << (8 * led))
    if follow:
        over = follow & above if (beat_slots >> led) & 1 else 0
        return over if over else follow
    mine = hand & trumps
    if mine == 0:
        return hand
    beating = mine & above if (trumps >> best) & 1 else mine
    if partner_best:
        plain = hand & ~trumps
        over = beating if beating else mine
        if partner_rule == PARTNER_FREE:
            return hand
        if plain:
            return plain | over if partner_rule == PARTNER_OVERTRUMP else plain
        return over
    if beating:
        return beating if overtrump else mine
    return hand if under_free else mine


@kernel
def can_beat(hand, led, best, trumps):
    """Whether a hand has a card that beats `best` once `led` was led, and is not bound to follow with another."""
    follow = hand & (255 << (8 * led))
    if follow:
        return best >> 3 == led and follow >> (best + 1) != 0
    mine = hand & trumps
    return mine >> (best + 1) != 0 if (trumps >> best) & 1 else mine != 0
