"""Choosing trump (rules 3): the two rounds of a turn-up game, and the auction with coinche and surcoinche."""

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.bits import choose
from belote_env.cards import NO_CARD
from belote_env.rules import choice
from belote_env.state import (
    ANSWER,
    AUCTION,
    BID_ONE,
    BID_TWO,
    CAPOT_LEVEL,
    COINCHE,
    FIRST_CALL,
    LEVEL_VALUES,
    NOBODY,
    PASS,
    SURCOINCHE,
)

ANY_SUIT = choice("second_round", "any")
BY_SIDE = choice("surcoinche_by", "side")
BY_AUCTION = choice("bidding", "auction")


def _calls_above() -> NDArray[np.int64]:
    """(14, 2) bit sets, low and high, of the calls above no call (row 0) and above level k (row k + 1)."""
    rows = []
    for least in (0, *LEVEL_VALUES):
        bits = sum(63 << (FIRST_CALL + 6 * k) for k, value in enumerate(LEVEL_VALUES) if value > least)
        rows.append([bits & (2**64 - 1), bits >> 64])
    return np.array(rows, np.uint64).view(np.int64)


#: 3.3: each bid must be higher than the last; only its value counts, levels are not in order of value.
CALLS_ABOVE = _calls_above()


@kernel
def legal_calls(states, i, rules):
    """`(low, high)`: bit sets of the legal actions 0–63 and 64–127 of the seat to bid (rules 3.1, 3.3, 3.4)."""
    s = states[i]
    if np.int64(s.phase) >= AUCTION:
        return legal_auction_calls(states, i, rules)
    turned_suit = np.int64(s.turned) >> 3
    if np.int64(s.phase) == BID_ONE:
        return (1 << PASS) | (1 << (FIRST_CALL + turned_suit)), 0
    suits = np.int64(15)
    if rules[0].second_round != ANY_SUIT:
        suits &= ~(1 << turned_suit)
    return (1 << PASS) | (suits << FIRST_CALL), 0


@kernel
def legal_auction_calls(states, i, rules):
    """The calls of an auction (3.3), coinche against the other side's standing bid, and its answers (3.4)."""
    s = states[i]
    r = rules[0]
    low = np.int64(1 << PASS)
    if np.int64(s.phase) == ANSWER:
        return low | (1 << SURCOINCHE), np.int64(0)
    taker, level = np.int64(s.taker), np.int64(s.level)
    opened = np.int64(taker != NOBODY)
    theirs = opened & (taker ^ np.int64(s.turn)) & 1
    low |= (theirs & np.int64((r.coinche_capot != 0) | (level != CAPOT_LEVEL))) << COINCHE
    row = (level + 1) & -opened
    if not r.reentry:
        for k in range(4, np.int64(s.n_calls) + 1, 4):  # nobody is skipped, so a seat's calls are four apart
            if np.int64(s.calls[np.int64(s.n_calls) - k]) == PASS:
                return low, np.int64(0)
    return low | (np.int64(r.calls_low) & CALLS_ABOVE[row, 0]), np.int64(r.calls_high) & CALLS_ABOVE[row, 1]


@kernel
def bid_byte(seat, strain, bids):
    """An entry of `state.bids`, 0 unless `bids` is 1."""
    return np.uint64(((1 << strain) | (seat << 6)) & -bids)


@kernel
def apply_auction_call(states, i, rules, action):
    """Enter a legal call of an auction or a legal answer. Returns True when the bidding is over."""
    s = states[i]
    seat = np.int64(s.turn)
    n = np.int64(s.n_calls)
    if np.int64(s.phase) == ANSWER:
        if action == SURCOINCHE:
            s.multiplier = 4
            s.surcoinche_by = seat
            return True
        if rules[0].surcoinche_by == BY_SIDE and np.int64(s.calls[n - 2]) == COINCHE:
            s.turn = (seat + 2) & 3  # 3.4: the first answerer accepted, his partner may still surcoinche
            return False
        return True
    # arithmetic instead of `if`, as in `engine.play_card`
    taker = np.int64(s.taker)
    bids, doubles = np.int64(action >= FIRST_CALL), np.int64(action == COINCHE)
    call = (action - FIRST_CALL) & 127
    level, strain = call // 6, call % 6
    s.turn = (seat + 1) & 3
    s.multiplier = 1 + doubles
    s.coinche_by = choose(doubles, seat, NOBODY)
    s.phase = choose(doubles, ANSWER, AUCTION)
    s.taker = choose(bids, seat, taker)
    s.strain = choose(bids, strain, np.int64(s.strain))
    s.level = choose(bids, level, np.int64(s.level))
    s.bids[(level >> 3) & 1] |= bid_byte(seat, strain, bids) << np.uint64(8 * (level & 7))
    before, first = np.int64(s.calls[max(n - 2, 0)]), np.int64(s.calls[max(n - 3, 0)])
    three = np.int64((before == PASS) & (first == PASS))  # 3.3: three passes after a bid, four without one
    ends = choose(np.int64(taker == NOBODY), np.int64(n == 4), three)
    return (action == PASS) & (ends != 0)


@kernel
def apply_call(states, i, rules, action):
    """Enter a legal call. Returns True when the bidding is over; the taker is then set, or NOBODY if all passed."""
    s = states[i]
    seat = np.int64(s.turn)
    n = np.int64(s.n_calls)
    s.calls[n] = action
    s.n_calls = n + 1
    if np.int64(s.phase) >= AUCTION:
        return apply_auction_call(states, i, rules, action)
    if action != PASS:
        s.taker = seat
        s.strain = (action - FIRST_CALL) % 6
        s.level = (action - FIRST_CALL) // 6
        return True
    if n == 7:  # 3.2: all passed twice
        return True
    if n == 3:
        s.phase = BID_TWO
    s.turn = (seat + 1) & 3
    return False


@kernel
def deal_rest(states, i):
    """3.1: the taker picks up the turned card and gets two more, each other seat three, from the dealer's left."""
    s = states[i]
    taker = np.int64(s.taker)
    turned = np.int64(s.turned)
    s.hands[taker] = np.int64(s.hands[taker]) | (1 << turned)
    s.barred[taker] = np.int64(s.barred[taker]) & ~(1 << turned)
    at = np.int64(s.dealt)
    for k in range(1, 5):
        seat = (np.int64(s.dealer) + k) & 3
        hand = np.int64(s.hands[seat])
        for _ in range(2 if seat == taker else 3):
            hand |= 1 << np.int64(s.pack[at])
            at += 1
        s.hands[seat] = hand
    s.dealt = at


@kernel
def deal_first(states, i, rules):
    """Deal the packets before the bidding from the seat after the dealer; in turn-up games turn the next card."""
    s = states[i]
    r = rules[0]
    dealt, odd, late = np.int64(0), np.int64(0), np.int64(0)  # of four seats: 1 and 3, 2 and 3 from the dealer's left
    for k in range(32):
        card = 1 << np.int64(s.pack[k])
        dealt |= card & r.dealt_to[0, k]
        odd |= card & r.dealt_to[1, k]
        late |= card & r.dealt_to[2, k]
    first = np.int64(s.dealer) + 1
    s.hands[first & 3] = dealt & ~(odd | late)
    s.hands[(first + 1) & 3] = odd & ~late
    s.hands[(first + 2) & 3] = late & ~odd
    s.hands[(first + 3) & 3] = odd & late
    at = 32 if rules[0].bidding == BY_AUCTION else 20
    s.turned = NO_CARD
    s.phase = BID_ONE if at < 32 else AUCTION
    if at < 32:
        turned = np.int64(s.pack[at])
        s.turned = turned
        at += 1
        for seat in range(4):
            s.barred[seat] = 1 << turned  # on the table, in nobody's hand
    s.dealt = at
    s.taker = NOBODY
    s.turn = first & 3
