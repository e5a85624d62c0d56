"""Worlds: every deal of the hidden cards that fits what a seat knows, numbered, so that any can be dealt at once.

The cards a seat has not seen fall into at most sixteen classes by who may hold them (`state.barred` is exact, see
`knowledge`).  How many deals there are follows class by class, from how many cards of it go to each owner.  The same
numbers run backwards find the world of any number, so a world is drawn evenly by drawing its number: nothing is tried
and thrown away, and to list all worlds is to count.

Owners of hidden cards: the next seat, the partner, the previous seat, and in the bidding of turn-up games the stock,
which the turned card belongs to.
"""

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env._jit import kernel
from belote_env.bits import count_bits, nth_bit
from belote_env.cards import BELOTE_MASK, NO_CARD
from belote_env.engine import below, has_belote, mix
from belote_env.knowledge import unseen_cards
from belote_env.rules import Rules, as_rules
from belote_env.rulings import checked_states, whole_number
from belote_env.state import DEAL_OVER, NOBODY, PLAY, checked_seats, new_states

#: (33, 33) how many sets of k cards n cards have.
CHOOSE = np.array([[comb(n, k) for k in range(33)] for n in range(33)], np.int64)

#: Offsets in the work array: cards and owners of each class, what the three seats and the stock still want, the number
#: of classes, what is left to put into the pack for each seat and the stock, and by class and wants of the three seats
#: the ways to deal this class and those after it.
CLASS, OWNERS, WANTS, CLASSES, POT, WAYS = 0, 16, 32, 36, 40, 48
#: A seat wants at most eight cards; a row of `WAYS` has a place for each three numbers of them.
ROW = 9 * 9 * 9
WORK_WORDS = WAYS + 17 * ROW

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def split_ways(work, k, n, x, y, z, a, b, c):
    """Ways to give x, y, z of the n cards of class k to seats that want a, b, c, and to deal the classes after it."""
    after = work[WAYS + ROW * (k + 1) + 81 * (a - x) + 9 * (b - y) + c - z]
    return CHOOSE[n, x] * CHOOSE[n - x, y] * CHOOSE[n - x - y, z] * after


@kernel
def find_split(work, k, a, b, c, d, number):
    """The split of class k that the `number`-th way lies in: `(x, y, z, number within it)`.

    Where no split reaches that far, the last is the number of all ways, negative: -1 - ways.
    """
    n, owners = count_bits(work[CLASS + k]), work[OWNERS + k]
    ways = np.int64(0)
    for x in range(min(n, a) + 1 if owners & 1 else 1):
        for y in range(min(n - x, b) + 1 if owners & 2 else 1):
            # what the stock cannot take goes to the last seat
            least = max(n - x - y - (d if owners & 8 else 0), 0)
            for z in range(least, (min(n - x - y, c) if owners & 4 else 0) + 1):
                here = split_ways(work, k, n, x, y, z, a, b, c)
                if number < ways + here:
                    return x, y, z, number - ways
                ways += here
    return 0, 0, 0, -1 - ways


@kernel
def count_ways(states, i, viewer, work):
    """How many deals of the hidden cards fit what `viewer` knows; fills `work`, (WORK_WORDS,) int64, for `redeal`."""
    s = states[i]
    unseen = unseen_cards(states, i, viewer)
    stock = count_bits(unseen)
    for j in range(3):
        work[WANTS + j] = count_bits(np.int64(s.hands[(viewer + 1 + j) & 3]))
        stock -= work[WANTS + j]
    work[WANTS + 3] = stock
    classes = 0
    for owners in range(1, 16):
        cards = unseen
        for j in range(3):
            barred = np.int64(s.barred[(viewer + 1 + j) & 3])
            cards &= ~barred if (owners >> j) & 1 else barred
        if (owners >> 3 == 1) != (stock > 0):
            cards = 0
        if cards:
            work[CLASS + classes], work[OWNERS + classes] = cards, owners
            classes += 1
    work[CLASSES] = classes
    work[WAYS + ROW * classes] = 1
    left, nothing = 0, np.int64(2**62)
    for back in range(classes):
        k = classes - 1 - back
        left += count_bits(work[CLASS + k])
        # of the cards left the seats want a, b and c, and the stock takes d
        for a in range(min(work[WANTS], left) + 1):
            for b in range(min(work[WANTS + 1], left - a) + 1):
                most = min(work[WANTS + 2], left - a - b)
                for c in range(max(left - a - b - stock, 0), most + 1):
                    missing = find_split(work, k, a, b, c, left - a - b - c, nothing)[3]
                    work[WAYS + ROW * k + 81 * a + 9 * b + c] = -1 - missing
    return work[WAYS + 81 * work[WANTS] + 9 * work[WANTS + 1] + work[WANTS + 2]]


@kernel
def nth_subset(cards, k, number):
    """The `number`-th of the sets of k out of `cards`."""
    chosen = 0
    n = count_bits(cards)
    while k:
        bit = cards & -cards
        cards ^= bit
        n -= 1
        with_it = CHOOSE[n, k - 1]
        if number < with_it:
            chosen |= bit
            k -= 1
        else:
            number -= with_it
    return chosen


@kernel
def deal_hidden(states, i, viewer, number, work):
    """Give the hidden seats of `states[i]` the hands of world `number`; `work` as `count_ways` left it."""
    s = states[i]
    for j in range(3):
        s.hands[(viewer + 1 + j) & 3] = 0
    a, b, c, d = work[WANTS], work[WANTS + 1], work[WANTS + 2], work[WANTS + 3]
    for k in range(work[CLASSES]):
        cards = work[CLASS + k]
        n = count_bits(cards)
        x, y, z, number = find_split(work, k, a, b, c, d, number)
        a, b, c, d = a - x, b - y, c - z, d - (n - x - y - z)
        for j in range(3):
            take = x if j == 0 else y if j == 1 else z
            sets = CHOOSE[count_bits(cards), take]
            hand = nth_subset(cards, take, number % sets)
            number //= sets
            cards ^= hand
            seat = (viewer + 1 + j) & 3
            s.hands[seat] = np.int64(s.hands[seat]) | hand


@kernel
def place_owner(states, i, rules, place):
    """The seat that the card at a place of the pack is dealt to; NOBODY for the stock and the card on the table."""
    s = states[i]
    first = np.int64(s.dealer) + 1
    if np.int64(s.n_calls) == 0 and np.int64(s.phase) >= PLAY:  # a given contract: hand after hand
        return (first + (place >> 3)) & 3
    r = rules[0]
    if r.dealt_to[0, place] != 0:
        return (first - r.dealt_to[1, place] - 2 * r.dealt_to[2, place]) & 3
    if np.int64(s.phase) < PLAY:
        return NOBODY
    taker = np.int64(s.taker)
    at = 20
    if place == at:  # 3.1: the turned card
        return taker
    for k in range(4):
        seat = (first + k) & 3
        at += 2 if seat == taker else 3
        if place <= at:
            return seat
    return NOBODY


@kernel
def redeal(states, i, viewer, rules, number, x, work):
    """Turn `states[i]` into world `number` of what `viewer` knows: hands, belote, pack and seed.

    Law: the pack deals the hands, and the calls and cards so far lead from it to this state.

    Args:
        states, i, rules: of any phase before the deal is over.
        viewer: the seat that keeps its cards.
        number: of the world, below what `count_ways` returned.
        x: random word for what is not told by the hands: the order in which they were dealt, stock and seed.
        work: as `count_ways` left it for this position.
    """
    s = states[i]
    deal_hidden(states, i, viewer, number, work)
    stock = np.int64(0xFFFFFFFF)
    for seat in range(4):
        work[POT + seat] = np.int64(s.hands[seat]) | np.int64(s.played[seat])
        stock ^= work[POT + seat]
    for suit in range(4):
        s.belote[suit] = NOBODY
        if np.int64(s.phase) == PLAY and has_belote(np.int64(s.strain), suit, rules):
            for seat in range(4):
                if work[POT + seat] & BELOTE_MASK[suit] == BELOTE_MASK[suit]:
                    s.belote[suit] = seat
    turned = np.int64(s.turned)
    if turned != NO_CARD:
        stock &= ~(1 << turned)
        for seat in range(4):
            work[POT + seat] &= ~(1 << turned)
    work[POT + 4] = stock
    for place in range(32):
        if place == 20 and turned != NO_CARD:
            s.pack[place] = turned
            continue
        owner = place_owner(states, i, rules, place)
        owner = 4 if owner == NOBODY else owner
        cards = work[POT + owner]
        x += _GOLDEN
        card = nth_bit(cards, 0, below(mix(x), count_bits(cards)))
        work[POT + owner] = cards ^ (1 << card)
        s.pack[place] = card
    s.seed = mix(x + _GOLDEN)


@kernel
def view_word(states, i, viewer, seed):
    """A random word that is a pure function of the seed and of what `viewer` sees of the deal."""
    s = states[i]
    w = mix(np.uint64(seed) ^ (np.uint64(s.hands[viewer]) << np.uint64(32)) ^ np.uint64(viewer))
    for k in range(4):
        w = mix(w ^ np.uint64(s.played[k]) ^ (np.uint64(s.when[min(k, 2)]) << np.uint64(32)))
    for k in range(2):
        w = mix(w ^ np.uint64(s.bids[k]))
    w = mix(w ^ np.uint64(np.int64(s.deal)) ^ (np.uint64(s.n_calls) << np.uint64(32)))
    return mix(w ^ np.uint64(np.int64(s.dealer) + 4 * np.int64(s.turned)) ^ (np.uint64(s.multiplier) << np.uint64(32)))


@kernel
def _count_rows(states, seats, work, out):
    for i in range(states.shape[0]):
        out[i] = count_ways(states, i, np.int64(seats[i]), work)


@kernel
def _deal_rows(states, seats, rules, counts, sizes, seed, work, worlds):
    at = 0
    for i in range(states.shape[0]):
        viewer = np.int64(seats[i])
        x = view_word(states, i, viewer, seed)
        count, size = np.int64(counts[i]), np.int64(sizes[i])
        count_ways(states, i, viewer, work)
        for k in range(size):
            number = np.int64(k)
            if size < count:
                # the k-th of `size` equal strips, so that each world comes up size / count times on average
                x += _GOLDEN
                u = np.float64(mix(x) >> np.uint64(11)) / 9007199254740992.0
                number = min(np.int64((k + u) * (count / size)), count - 1)
            x += _GOLDEN
            redeal(worlds, at, viewer, rules, number, mix(x), work)
            at += 1


def count_worlds(states: NDArray[Any], seats: ArrayLike) -> NDArray[np.int64]:
    """How many deals of the hidden cards fit what a seat knows, in turn-up bidding with the stock as one more hand.

    Args:
        states: (n,) states, none of them over.
        seats: (n,) the viewer of each.

    Returns:
        (n,) int64, exact; at most 26! / (5!³ 11!) = 5.8e12.

    Raises:
        ValueError: a state that is over or damaged, or not a seat 0..3 for each.
    """
    states, viewers = _checked(states, seats)
    return _counts(states, viewers)


def _counts(states: NDArray[Any], viewers: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.empty(len(states), np.int64)
    _count_rows(states, viewers, np.empty(WORK_WORDS, np.int64), out)
    return out


def deal_worlds(
    states: NDArray[Any], seats: ArrayLike, rules: Rules | str, most: int, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """States that differ from the given ones in what a seat cannot know: all of them where they are few.

    A world has hidden hands drawn evenly from all that fit (`knowledge`), the belotes these hold, a pack that deals
    them (in turn-up bidding the stock in an even order) and a seed of its own.  Worlds depend on `seed` and on what
    the seat sees, on nothing hidden.

    Args:
        states: (n,) states, none of them over.
        seats: (n,) the viewer of each.
        rules: `Rules` or a preset's name.
        most: worlds of a state, 1 or more: each world once where there are so many or fewer, else `most` drawn, one
            from each of `most` equal parts, so that every world comes up equally often on average.
        seed: 0..2**64-1.

    Returns:
        worlds, (m,) states, those of a state in a row; rows, (m,) int64, the index of the state each belongs to.

    Raises:
        ValueError: a state that is over, damaged or of another game, a number out of range, or not a seat 0..3 for
            each state.
    """
    most, seed = whole_number("most", most, 1, 2**31 - 1), whole_number("seed", seed, 0, 2**64 - 1)
    table = as_rules(rules)
    states, viewers = _checked(states, seats, table)
    counts = _counts(states, viewers)
    sizes = np.minimum(counts, most)
    rows = np.repeat(np.arange(len(states)), sizes)
    worlds = new_states(len(rows))
    worlds[:] = states[rows]
    work = np.empty(WORK_WORDS, np.int64)
    _deal_rows(states, viewers, table.packed, counts, sizes, np.uint64(seed), work, worlds)
    return worlds, rows


def _checked(
    states: NDArray[Any], seats: ArrayLike, rules: Rules | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """States and the (n,) viewer of each, fit for kernels."""
    states = checked_states("states", states, rules)
    over = np.flatnonzero(states["phase"] >= DEAL_OVER)
    if over.size:
        raise ValueError(f"states[{over[0]}] is over: nothing in it is hidden that is still to be played")
    return states, checked_seats(states, seats)
