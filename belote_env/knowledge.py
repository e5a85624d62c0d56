"""What a seat can know of the hidden cards (rules 3.1, 4, 5.2).

`state.barred` holds, seat by seat, the cards that everybody knows the seat not to hold: failed duties, the turned
card in another's hand, one half of a belote that was or was not announced.  Every duty binds through single cards
(see `tricks.denied_cards`), so these sets are exact: a hand is possible just when it avoids them.
"""

import numpy as np

from belote_env._jit import kernel
from belote_env.cards import ALL_CARDS


@kernel
def unseen_cards(states, i, viewer):
    """Bit set of the cards that `viewer` neither holds nor has seen played."""
    s = states[i]
    seen = np.int64(s.hands[viewer])
    for seat in range(4):
        seen |= np.int64(s.played[seat])
    return ALL_CARDS & ~seen


@kernel
def possible_cards(states, i, viewer, seat):
    """Bit set of the cards that `seat` may hold as far as `viewer` can know; its own hand for `viewer` itself.

    In the bidding of a turn-up game some of them are still in the stock.
    """
    s = states[i]
    if seat == viewer:
        return np.int64(s.hands[seat])
    return unseen_cards(states, i, viewer) & ~np.int64(s.barred[seat])


@kernel
def void_suits(possible):
    """Four bits, one a suit, set where a bit set of possible cards has none of the suit."""
    some = ((possible & 0x7F7F7F7F) + 0x7F7F7F7F) | possible  # bit 7 of each byte that is not 0
    return (((~some & 0x80808080) >> 7) * 0x10204080 >> 28) & 15
