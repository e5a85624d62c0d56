"""Values of the cards of a position, one search for each, and the deal's score as a function of them."""

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.engine import legal_actions
from belote_env.scoring import deal_score
from belote_env.solver.position import EPOCH, FROM_SOLVER, OWNED, POINT, TO_SOLVER, WORK_WORDS, load, ruffs
from belote_env.solver.search import ALL, BELOW, HALF_CAPOT, after, packed, search, unpacked
from belote_env.solver.table import BUCKET, STAMP

#: A window first reaches so far to both sides of the value of the card before.
REACH, FURTHER = 6, 30
POINTS_OBJECTIVE, SCORE_OBJECTIVE = range(2)
#: Buckets of a table: half a megabyte, so that it stays in a core's cache; larger ones are no faster.
BUCKETS = 2**13
#: In the place of a card that is not legal.
NO_VALUE = -32768


def new_scratch() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(work, table)` for one search at a time; a table need not be cleared between positions."""
    return np.zeros(WORK_WORDS, np.int64), np.zeros(BUCKET * BUCKETS, np.int64)


@kernel
def place_of(states, i):
    """`(place, cards on the table)` of a state in play, as `search` takes them."""
    s = states[i]
    strain, n = np.int64(s.strain), np.int64(s.n_cards)
    k = n & 3
    cards, first = 0, 0
    for j in range(k):
        card = TO_SOLVER[strain, np.int64(s.cards[n - k + j])]
        if j == 0:
            first = card
        cards |= 1 << card
    chance = (1 if np.int64(s.won[1]) == 0 else 0) | (2 if np.int64(s.won[0]) == 0 else 0)
    best = TO_SOLVER[strain, np.int64(s.best)]
    seat, winner = np.int64(s.turn), np.int64(s.winner) & 3
    trick, taken = np.int64(s.trick_points), np.int64(s.points[0])
    return packed(seat, first >> 3, best, winner, chance, k, first, trick, taken), cards


@kernel
def value_card(work, table, place, left, cards, strain, rules, card, alpha, beta):
    """Worth of playing `card`, one of the solver's numbers, in the view of its player; `search` says how exact."""
    trumps = ruffs(strain)
    seat, led, best, winner, chance, k, first, trick, taken = unpacked(place)
    mover = seat
    seat, led, best, winner, chance, k, first, trick, taken = after(
        work, card, trumps, seat, led, best, winner, chance, k, first, trick, taken
    )
    left &= ~(1 << card)
    cards = cards | 1 << card if k else 0
    flip = (seat ^ mover) & 1
    if left == 0:  # the last card of the deal
        if seat & 1:
            value = taken - (HALF_CAPOT if chance & 2 else 0)
        else:
            value = taken + 10 + (HALF_CAPOT if chance & 1 else 0)
        return ALL - value if mover & 1 else value
    place = packed(seat, led, best, winner, chance, k, first, trick, taken)
    low, high = (ALL - beta, ALL - alpha) if flip else (alpha, beta)
    value = search(work, table, place, left, cards, strain, rules, low, high)
    return ALL - value if flip else value


@kernel
def value_cards(states, i, rules, work, table, floor, ceiling, enough, values):
    """Worth, for the mover's side, of each legal card of `states[i]`, written to `values[i, card]`.

    Args:
        states, i, rules: a position in play.
        work: (WORK_WORDS,) int64 scratch.
        table: (8 * 2**n,) int64 scratch; zeros at first, then as earlier searches left it.
        floor, ceiling: a worth at or below floor is written as floor, at or above ceiling as ceiling.
        enough: stop at the first card that reaches the ceiling.
        values: (n, 32) integers; other cards are left alone.
    """
    left = load(states, i, work)
    if work[EPOCH] & STAMP == 0:  # stamps begin again: nothing in the table may speak of the positions that come
        for k in range(table.shape[0]):
            table[k] = 0
        work[EPOCH] += 1
    strain = np.int64(states[i].strain)
    place, cards = place_of(states, i)
    legal, _ = legal_actions(states, i, rules)
    chosen = 0
    for card in range(32):
        if (legal >> card) & 1:
            chosen |= 1 << TO_SOLVER[strain, card]
    between = (left | cards) & ~work[OWNED + (place & 3)]
    before, value = -64, BELOW
    for j in range(32):
        card = 31 - j
        if not (chosen >> card) & 1:
            continue
        low, high = floor, ceiling
        if value > BELOW:
            reach = REACH
            if card >> 3 == before >> 3 and between & ((1 << before) - (2 << card)) == 0:
                # a neighbour's value is less than this away
                reach = work[POINT + before] - work[POINT + card] + 1
            low, high = max(floor, value - reach), min(ceiling, value + reach)
        while low < high:
            value = value_card(work, table, place, left, cards, strain, rules, card, low, high)
            if value <= low and low > floor:
                low, high = max(floor, value - FURTHER), value + 1
            elif value >= high and high < ceiling:
                low, high = value - 1, min(ceiling, value + FURTHER)
            else:
                break
        value = min(max(value, floor), ceiling)
        values[i, FROM_SOLVER[strain, card]] = value
        before = card
        if enough and value >= ceiling:
            break


@kernel
def score_of(states, i, rules, worth):
    """The deal's score, the mover's side less the other's, when the mover's side ends with a worth.

    It never falls as the worth rises (docs/solver.md), so the best card in points is a best card for the score.
    """
    s = states[i]
    takers = np.int64(s.taker) & 1
    mine = (np.int64(s.turn) & 1) == takers
    worth = worth if mine else ALL - worth
    belotes, other_belotes = 0, 0
    for suit in range(4):
        holder = np.int64(s.belote[suit])
        if holder >= 0:
            if holder & 1 == takers:
                belotes += 20
            else:
                other_belotes += 20
    points = min(max(worth, 0), ALL)
    tricks = 8 if worth > ALL else 0 if worth < 0 else 1
    _, score, other, _ = deal_score(
        rules,
        252 if worth > ALL else points,
        252 if worth < 0 else ALL - min(points, ALL),
        tricks,
        belotes,
        other_belotes,
        np.int64(s.level),
        np.int64(s.multiplier),
        np.int64(s.pot),
    )
    return score - other if mine else other - score


@kernel
def step_worth(worth, by):
    """The next worth that a deal can end with: -45, 0 … 162, 207."""
    worth += by
    if worth < -HALF_CAPOT or worth > ALL + HALF_CAPOT:
        return worth
    if worth < 0:
        return 0 if by > 0 else -HALF_CAPOT
    if worth > ALL:
        return ALL + HALF_CAPOT if by > 0 else ALL
    return worth


@kernel
def score_window(states, i, rules):
    """`(floor, ceiling)`: the score is the same for every worth up to floor, and for every worth from ceiling on."""
    floor, ceiling = -HALF_CAPOT, ALL + HALF_CAPOT
    worst, best = score_of(states, i, rules, floor), score_of(states, i, rules, ceiling)
    while floor < ceiling and score_of(states, i, rules, step_worth(floor, 1)) == worst:
        floor = step_worth(floor, 1)
    while ceiling > floor and score_of(states, i, rules, step_worth(ceiling, -1)) == best:
        ceiling = step_worth(ceiling, -1)
    return floor, ceiling


@kernel
def solve_rows(states, begin, end, rules, objective, floor, ceiling, enough, work, table, values):
    """Fill rows `begin` to `end` of `values`, (n, 32) int16: `NO_VALUE`, or by the objective the mover's side's
    trick points, clipped to floor and ceiling, or its score less the other's."""
    for i in range(begin, end):
        for card in range(32):
            values[i, card] = NO_VALUE
        low, high = floor, ceiling
        if objective == SCORE_OBJECTIVE:
            low, high = score_window(states, i, rules)
        value_cards(states, i, rules, work, table, low, high, enough, values)
        for card in range(32):
            worth = np.int64(values[i, card])
            if worth != NO_VALUE:
                if objective == SCORE_OBJECTIVE:
                    values[i, card] = score_of(states, i, rules, worth)
                else:
                    values[i, card] = 252 if worth > ALL else max(worth, 0)
