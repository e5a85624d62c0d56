"""The transposition table: bounds on what is still to come between two tricks, shared by positions of one pattern.

Two positions in which the cards of every suit have the same owners in order of strength, with the same leader and the
same chances of capot, differ only in what their cards are worth.  Partition search (Ginsberg 1996) shares entries in
the same spirit; here the points that may differ move the bounds.
"""

from belote_env._jit import kernel
from belote_env.bits import lowest_bit
from belote_env.solver.position import PATTERN, POINT

#: A bucket of the table is one cache line: four stamped keys, then four `cards left | low << 32 | high << 40 | best
#: card << 48`; low and high bound what side 0 still gets, plus 45.
BUCKET, WAYS = 8, 4
STAMP_BITS = 27
STAMP = (1 << STAMP_BITS) - 1


@kernel
def gap(work, left, before):
    """`(more, less)`: points that the cards of `left` are worth above and below those of `before`, card by card.

    Both sets have the same pattern of owners in every slot.  The same play wins the same tricks from both, so what a
    side still gets differs by `-less` to `more`.
    """
    more, less = 0, 0
    apart = left ^ before
    for slot in range(4):
        suit = 255 << (8 * slot)
        if apart & suit:
            now, then = left & suit, before & suit
            while now:
                d = work[POINT + lowest_bit(now)] - work[POINT + lowest_bit(then)]
                more += max(d, 0)
                less += max(-d, 0)
                now &= now - 1
                then &= then - 1
    return more, less


@kernel
def counterpart(card, left, before):
    """The card of `left` that stands where `card` stands in `before`."""
    suit = 255 << (card & 24)
    now, then = left & suit, before & suit
    while lowest_bit(then) != card:
        now &= now - 1
        then &= then - 1
    return lowest_bit(now)


@kernel
def key_of(work, left, leader, chance):
    """36 bits that name a position between tricks up to the points of its cards."""
    patterns = (
        work[PATTERN + (left & 255)]
        | work[PATTERN + 256 + ((left >> 8) & 255)] << 8
        | work[PATTERN + 512 + ((left >> 16) & 255)] << 16
        | work[PATTERN + 768 + ((left >> 24) & 255)] << 24
    )
    return patterns | leader << 32 | chance << 34


@kernel
def bucket_of(key, table):
    """Where a key's bucket begins."""
    mixed = (key & 0x3FFFF) * 0x2545F49 + (key >> 18) * 0x5851F42D
    return ((mixed >> 16) & (table.shape[0] // BUCKET - 1)) * BUCKET


@kernel
def find(work, table, at, stamped, left):
    """`(low, high, best card or -1)` of side 0's future, plus 45, by all entries of a bucket that speak of it."""
    low, high, card = 0, 255, -1
    for way in range(at, at + WAYS):
        if table[way] == stamped:
            entry = table[way + WAYS]
            before = entry & 0xFFFFFFFF
            more, less = 0, 0
            if before != left:
                more, less = gap(work, left, before)
            low = max(low, ((entry >> 32) & 255) - less)
            high = min(high, ((entry >> 40) & 255) + more)
            if card < 0 or before == left:
                card = counterpart(entry >> 48, left, before)
    return low, high, card


@kernel
def keep(table, at, stamped, entry, turn):
    """Write an entry over the same position's, an older search's, or in turn any of the bucket."""
    pick = at + (turn & 3)
    for way in range(at, at + WAYS):
        if table[way] == stamped and (table[way + WAYS] ^ entry) & 0xFFFFFFFF == 0:
            pick = way
            break
        if (table[way] ^ stamped) & STAMP:
            pick = way
    table[pick] = stamped
    table[pick + WAYS] = entry
