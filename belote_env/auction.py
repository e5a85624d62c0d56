"""Choosing trump (rules 3): the two rounds of a turn-up game."""

import numpy as np

from belote_env._jit import kernel
from belote_env.cards import NO_CARD
from belote_env.rules import choice
from belote_env.state import BID_ONE, BID_TWO, FIRST_CALL, NOBODY, PASS

ANY_SUIT = choice("second_round", "any")


@kernel
def legal_calls(states, i, rules):
    """`(low, high)`: bit sets of the legal actions 0–63 and 64–127 of the seat to bid (rules 3.1)."""
    s = states[i]
    turned_suit = np.int64(s.turned) >> 3
    if np.int64(s.phase) == BID_ONE:
        return (1 << PASS) | (1 << (FIRST_CALL + turned_suit)), 0
    suits = np.int64(15)
    if rules[0].second_round != ANY_SUIT:
        suits &= ~(1 << turned_suit)
    return (1 << PASS) | (suits << FIRST_CALL), 0


@kernel
def apply_call(states, i, rules, action):
    """Enter a legal call. Returns True when the bidding is over; the taker is then set, or NOBODY if all passed."""
    s = states[i]
    seat = np.int64(s.turn)
    n = np.int64(s.n_calls)
    s.calls[n] = action
    s.n_calls = n + 1
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
    for seat in range(4):
        s.hands[seat] = 0
    at = 0
    for p in range(4):
        size = np.int64(rules[0].packets[p])
        for k in range(1, 5):
            seat = (np.int64(s.dealer) + k) & 3
            hand = np.int64(s.hands[seat])
            for _ in range(size):
                hand |= 1 << np.int64(s.pack[at])
                at += 1
            s.hands[seat] = hand
    s.turned = NO_CARD
    if at < 32:
        turned = np.int64(s.pack[at])
        s.turned = turned
        at += 1
        for seat in range(4):
            s.barred[seat] = 1 << turned  # on the table, in nobody's hand
    s.dealt = at
    s.phase = BID_ONE
    s.taker = NOBODY
    s.turn = (np.int64(s.dealer) + 1) & 3
