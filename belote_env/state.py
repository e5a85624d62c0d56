"""The state record: one match in progress, flat and copyable; and the numbers of phases and actions.

A copy is undo, `tobytes()` is a key and a save file, an array of them is the vector environment.  Kernels take
`(states, i, rules)` and work on `states[i]`.  Small integers are widened to int64 on reading: uint32 and int8
arithmetic differs between numba and plain numpy.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env._jit import kernel
from belote_env.bits import count_bits
from belote_env.cards import NO_CARD

# phases
BID_ONE, BID_TWO, AUCTION, ANSWER, PLAY, DEAL_OVER, MATCH_OVER = range(7)
PHASE_NAMES = ("round one", "round two", "auction", "answer", "play", "deal over", "match over")

# actions
N_CARDS = 32
PASS, COINCHE, SURCOINCHE, FIRST_CALL = 32, 33, 34, 35
#: Call levels by number; which call is higher compares values (0 stands for "take" in turn-up games).
LEVEL_VALUES = (80, 90, 100, 110, 120, 130, 140, 150, 160, 250, 170, 180, 500)
CAPOT_LEVEL, GENERALE_LEVEL = 9, 12
VALUES = np.array(LEVEL_VALUES, np.int64)

# results of a deal: `made`
PENDING, FAILED, MADE, TIED = -1, 0, 1, 2
# results of a match: `winner`
OPEN, DRAWN = -1, 2

NOBODY = -1
#: Three passes, thirteen bids with two passes between, two passes, a coinche and two answers (rules 3.3, 3.4).
MAX_CALLS = 45

LINE_BYTES = 64

#: Field by field. Seats are absolute, sides are seat & 1, cards 0..31 with 32 for none, bit sets are uint32.
#: A state takes four cache lines; the first two hold all that a card changes but its place in the order of play.
STATE = np.dtype(
    (
        np.record,
        [
            ("hands", np.uint32, (4,)),  # cards held now
            ("played", np.uint32, (4,)),  # cards each seat has played in this deal
            ("barred", np.uint32, (4,)),  # cards everybody knows the seat not to hold (besides those played)
            ("when", np.uint32, (3,)),  # bit k of the trick number of each played card
            ("turn", np.int8),  # seat to act; NOBODY when the deal is over
            ("strain", np.int8),  # of the contract; -1 before
            ("best", np.uint8),  # card winning the current trick; 32 while it is empty
            ("n_cards", np.uint8),  # cards played in this deal
            # the second line
            ("points", np.int16, (2,)),  # trick points, with the 10 or 100 of the last trick
            ("won", np.uint8, (2,)),  # tricks
            ("phase", np.uint8),
            ("winner", np.int8),  # seat winning the current trick; NOBODY while it is empty
            ("leader", np.int8),  # of the current trick
            ("trick_points", np.uint8),  # of the cards in the trick on the table
            ("belote_points", np.int16, (2,)),  # credited so far
            ("belote", np.int8, (4,)),  # by suit: seat that held K and Q of it as trump; NOBODY
            ("belote_shown", np.int8, (4,)),  # by suit: how many of the two it has played
            ("taker", np.int8),  # seat that holds the contract; NOBODY before the first bid
            ("level", np.int8),  # of the contract
            ("multiplier", np.int8),  # 1, 2 after coinche, 4 after surcoinche: the call, not its factor
            ("coinche_by", np.int8),  # seat; NOBODY
            ("surcoinche_by", np.int8),  # seat; NOBODY
            ("dealer", np.int8),
            ("turned", np.uint8),  # card face up; 32 where none is
            ("n_calls", np.uint8),
            ("led", np.int8),  # suit led to the current trick; -1 while it is empty
            ("match_winner", np.int8),  # side, DRAWN or OPEN
            ("pot", np.int16),  # points held back by litige
            ("pot_before", np.int16),  # the same when the deal began
            ("scores", np.int32, (2,)),  # match scores, this deal included once it is over
            ("deal_scores", np.int32, (2,)),  # of the deal that is over
            ("deal", np.int32),  # number of the deal in the match, from 0
            ("seed", np.uint64),  # of the match; deal i depends on (seed, i) alone
            # the third and fourth
            ("bids", np.uint64, (2,)),  # a byte a level: bit of the strain, and the bidder's seat << 6; 0 without a bid
            ("cards", np.uint8, (32,)),  # cards in order of play
            ("calls", np.uint8, (MAX_CALLS,)),  # actions of the bidding in order
            ("pack", np.uint8, (32,)),  # in dealing order
            ("shown_by", np.uint8),  # bit set of the seats that have shown belote
            ("made", np.int8),  # PENDING, FAILED, MADE, TIED
            ("dealt", np.uint8),  # cards of the pack that have been dealt, turned card included
        ],
    )
)
STATE_BYTES = STATE.itemsize


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A zeroed array that begins with a cache line, so that no record or run of bits straddles two without need."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE_BYTES, np.uint8)
    start = -memory.ctypes.data % LINE_BYTES
    array: np.ndarray = memory[start : start + size].view(dtype).reshape(shape)
    return array


def new_states(n: int) -> np.ndarray:
    """(n,) zeroed states; `engine.new_match` fills one."""
    return aligned_zeros((n,), STATE)


@kernel
def adds_up(states, i):
    """Whether hands, cards played, tricks and the seat to act agree with each other while a deal is on."""
    s = states[i]
    phase, n = np.int64(s.phase), np.int64(s.n_cards)
    tricks, k = n >> 2, n & 3
    if phase < PLAY and n > 0:
        return False
    if phase == PLAY and (
        np.int64(s.won[0]) + np.int64(s.won[1]) != tricks or np.int64(s.turn) != (np.int64(s.leader) + k) & 3
    ):
        return False
    record, leads_to = 0, NOBODY
    for j in range(n):
        card = np.int64(s.cards[j])
        record |= 1 << card
        if j >= n - k and card == np.int64(s.best):
            leads_to = (np.int64(s.leader) + j - (n - k)) & 3
    if count_bits(record) != n or (phase == PLAY and leads_to != np.int64(s.winner)):
        return False
    size = 5 if phase <= BID_TWO else 8
    for seat in range(4):
        hand, played = np.int64(s.hands[seat]), np.int64(s.played[seat])
        mine = tricks + (1 if (seat - np.int64(s.leader)) & 3 < k else 0)
        if count_bits(played) != mine or count_bits(hand) != size - mine:
            return False
        if hand & np.int64(s.barred[seat]):  # everybody would know something that is not so
            return False
        record &= ~played
    return record == 0 and 0 <= np.int64(s.points[0]) <= 252 and 0 <= np.int64(s.points[1]) <= 252


@kernel
def is_sound(states, i):
    """Whether every field is in range and every card in one place, so that kernels can work on a foreign state."""
    s = states[i]
    phase = np.int64(s.phase)
    low = NOBODY if phase >= DEAL_OVER else 0
    least = 0 if phase == PLAY else -1
    ranges = (
        low <= np.int64(s.turn) <= 3
        and phase <= MATCH_OVER
        and 0 <= np.int64(s.dealer) <= 3
        and 0 <= np.int64(s.leader) <= 3
        and NOBODY <= np.int64(s.winner) <= 3
        and least <= np.int64(s.taker) <= 3
        and least <= np.int64(s.strain) <= 5
        and 0 <= np.int64(s.level) <= 12
        and 1 <= np.int64(s.multiplier) <= 4
        and np.int64(s.turned) <= NO_CARD
        and np.int64(s.best) <= NO_CARD
        and np.int64(s.n_calls) <= MAX_CALLS
        and np.int64(s.n_cards) <= 32
        and np.int64(s.deal) >= 0
    )
    if not ranges:
        return False
    pack = 0
    for k in range(32):
        if np.int64(s.pack[k]) > 31 or np.int64(s.cards[k]) > 31:
            return False
        pack |= 1 << np.int64(s.pack[k])
    places, shown = 0, 0
    for seat in range(4):
        here = np.int64(s.hands[seat]) | np.int64(s.played[seat])
        if places & here or np.int64(s.hands[seat]) & np.int64(s.played[seat]):
            return False
        places |= here
        if not NOBODY <= np.int64(s.belote[seat]) <= 3 or not 0 <= np.int64(s.belote_shown[seat]) <= 2:
            return False
        if np.int64(s.belote_shown[seat]) > 0:  # both are by suit
            shown |= 1 << (np.int64(s.belote[seat]) & 3)
    if np.int64(s.shown_by) != shown:
        return False
    for k in range(MAX_CALLS):
        if np.int64(s.calls[k]) > 112:
            return False
    empty = np.int64(s.n_cards) & 3 == 0
    if np.int64(s.led) != (-1 if empty else np.int64(s.cards[np.int64(s.n_cards) & 28]) >> 3):
        return False
    if phase == PLAY:
        if np.int64(s.n_cards) == 32 or np.int64(s.hands[s.turn]) == 0:
            return False
        if empty != (np.int64(s.best) == NO_CARD) or empty != (np.int64(s.winner) == NOBODY):
            return False
    elif phase <= BID_TWO and (np.int64(s.turned) == NO_CARD or np.int64(s.dealt) != 21):
        return False
    return pack == 0xFFFFFFFF and (phase >= DEAL_OVER or adds_up(states, i))


@kernel
def first_unsound(states):
    """Index of the first state that is not sound, or -1."""
    for i in range(states.shape[0]):
        if not is_sound(states, i):
            return i
    return -1


def checked_seats(states: NDArray[Any], seats: ArrayLike) -> NDArray[np.int64]:
    """(n,) int64: a seat of each state.

    Raises:
        ValueError: another number of seats, or not seats.
    """
    try:
        viewers = np.asarray(seats)
    except ValueError:  # rows of different lengths
        viewers = np.asarray(None)
    whole = viewers.dtype.kind in "iu" or not viewers.size
    if not whole or viewers.shape != states.shape or ((viewers < 0) | (viewers > 3)).any():
        raise ValueError(f"{len(states)} states need as many seats 0..3, not {' '.join(repr(seats).split())[:80]}")
    return np.ascontiguousarray(viewers, np.int64)
