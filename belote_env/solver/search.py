"""The search: principal-variation alpha-beta over the play of a deal, all cards seen (docs/solver.md).

A *worth* is what a side has at the end of the deal: its trick points, 207 for every trick, -45 for none.  Between
these, 90 of capot are split as +45 and -45, so that the worths of both sides add up to 162 always and one number can
be maximised by one side and minimised by the other.  A window and a value are always in the view of the seat to move.

The loop is a recursion written out: nothing is allocated and a frame of each card played lies in `work`.
"""

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import count_bits, lowest_bit
from belote_env.cards import ALL_TRUMP, NO_TRUMP
from belote_env.solver.position import (
    EPOCH,
    FRAME,
    FRAME_WORDS,
    HISTORY,
    MASTERS,
    NODES,
    OWNED,
    POINT,
    SUM,
    TRUMP_SLOT,
    can_beat,
    may_play,
    ruffs,
)
from belote_env.solver.table import STAMP, STAMP_BITS, bucket_of, find, keep, key_of

ALL, HALF_CAPOT = 162, 45
#: No worth is as low or as high as these.
BELOW, ABOVE = -HALF_CAPOT - 1, ALL + HALF_CAPOT + 1
#: Words of a frame. A move is `wins << 10 | fate << 8 | group << 5 | card`, then `score << 8 | group << 5 | card` in
#: falling order, then, searched, its value in the place of the score.
ALPHA, BETA, BEST, BEST_CARD, NEXT, COUNT, PLACE, ROW = range(8)
SLOT, KEY, LOW, HIGH, TABLE, TRIED, FLOOR, LEFT, MOVES = range(8, 17)
#: Who is sure to win the trick once a card is played.
UNSURE, OURS, THEIRS = range(3)

ENTER, CHOOSE, PLAY, LEAVE, RETURN = range(5)


@kernel
def packed(seat, led, best, winner, chance, k, first, trick, taken):
    """One word of: seat to move, slot led, best card, who played it, which sides may still take every trick (a bit
    each), how many cards lie on the table, the first of them, their points, what side 0 has taken."""
    return seat | led << 2 | best << 4 | winner << 9 | chance << 11 | k << 13 | first << 15 | trick << 20 | taken << 28


@kernel
def unpacked(place):
    """The parts of `packed`."""
    return (
        place & 3,
        (place >> 2) & 3,
        (place >> 4) & 31,
        (place >> 9) & 3,
        (place >> 11) & 3,
        (place >> 13) & 3,
        (place >> 15) & 31,
        (place >> 20) & 255,
        place >> 28,
    )


@kernel
def after(work, card, trumps, seat, led, best, winner, chance, k, first, trick, taken):
    """The parts of `packed` once the seat to move has played `card`; its bit set leaves the table with the trick."""
    trick += work[POINT + card]
    if k == 0:
        led, first = card >> 3, card
    if k == 0 or (card > best if card >> 3 == best >> 3 else (trumps >> card) & 1 != 0):
        best, winner = card, seat
    seat = (seat + 1) & 3
    k += 1
    if k == 4:
        taken += 0 if winner & 1 else trick
        chance &= 2 if winner & 1 else 1
        seat, k, led, best, first, trick = winner, 0, 0, 0, 0, 0
    return seat, led, best, winner, chance, k, first, trick, taken


@kernel
def cashed(work, left, seat, trumps, slot_info):
    """`(tricks, points)` that the seat to lead takes at once with cards nobody can beat, whatever is thrown on them."""
    tricks, points = 0, 0
    if trumps:
        if slot_info and slot_info & 3 == seat:
            tricks, points = (slot_info >> 2) & 15, slot_info >> 16
        # A master of a plain suit wins when every other seat's trumps have been drawn by the run of trumps.
        for k in range(1, 4):
            if count_bits(left & trumps & work[OWNED + ((seat + k) & 3)]) > tricks:
                return tricks, points
    for slot in range(3 if trumps else 4):
        info = work[MASTERS + 256 * slot + ((left >> (8 * slot)) & 255)]
        if info and info & 3 == seat:
            tricks += (info >> 2) & 15
            points += info >> 16
    return tricks, points


@kernel
def last_trick_winner(work, left, seat, trumps):
    """Seat that wins when everybody holds one card and `seat` leads."""
    best, winner = lowest_bit(left & work[OWNED + seat]), seat
    for k in range(1, 4):
        card = lowest_bit(left & work[OWNED + ((seat + k) & 3)])
        if card > best if card >> 3 == best >> 3 else (trumps >> card) & 1:
            best, winner = card, (seat + k) & 3
    return winner


@kernel
def search(work, table, place, left, cards, strain, rules, alpha, beta):
    """Worth of the mover's side: exact inside the window, else a bound on its side of it.

    Args:
        work: (WORK_WORDS,) int64, filled by `position.load`.
        table: (8 * 2**n,) int64.
        place: who moves and what lies on the table, as `place_of` packs it.
        left: bit set of the cards in hands.
        cards: bit set of the cards of the trick on the table.
        strain: trump.
        rules: packed rules.
        alpha, beta: window.
    """
    r = rules[0]
    overtrump = r.overtrump != 0
    under_free = r.any_card != 0
    partner_rule = np.int64(r.partner_winning)
    trumps = ruffs(strain)
    beat_slots = 15 if strain == ALL_TRUMP else 0 if strain == NO_TRUMP else 1 << TRUMP_SLOT
    stamp = work[EPOCH] & STAMP
    seat, led, best, winner, chance, k, first, trick, taken = unpacked(place)
    open_points = 10 + trick  # that no trick has yet taken, with the ten of the last
    for slot in range(4):
        open_points += work[SUM + 256 * slot + ((left >> (8 * slot)) & 255)]
    n, nodes, value, mode = 0, 0, 0, ENTER
    while True:
        if mode == ENTER:
            mode = RETURN
            b = FRAME + n * FRAME_WORDS
            hand = left & work[OWNED + seat]
            hint = -1
            if k == 0:
                cards = 0
                info = work[MASTERS + 256 * TRUMP_SLOT + (left >> 24)] if trumps else 0
                tricks, points = cashed(work, left, seat, trumps, info)
                held = count_bits(hand)
                low = taken - (HALF_CAPOT if chance & 2 else 0)
                high = taken + open_points + (HALF_CAPOT if chance & 1 else 0)
                if tricks == held or held == 1:
                    sweeper = seat if tricks == held else last_trick_winner(work, left, seat, trumps)
                    value = low if sweeper & 1 else high
                    value = ALL - value if seat & 1 else value
                    n -= 1
                    continue
                if info:  # the highest trumps win the tricks they are played in, whoever leads
                    if info & 1:
                        high = taken + open_points - ((info >> 8) & 255)
                    else:
                        low = taken + ((info >> 8) & 255)
                if tricks:
                    if seat & 1:
                        high = min(high, taken + open_points - points)
                    else:
                        low = max(low, taken + points)
                key = key_of(work, left, seat, chance)
                at = bucket_of(key, table)
                key = key << STAMP_BITS | stamp
                least, most, hint = find(work, table, at, key, left)
                low = max(low, taken + least - HALF_CAPOT)
                high = min(high, taken + most - HALF_CAPOT)
                if seat & 1:
                    low, high = ALL - high, ALL - low
                if low >= beta or low == high:
                    value = low
                    n -= 1
                    continue
                if high <= alpha:
                    value = high
                    n -= 1
                    continue
                alpha, beta = max(alpha, low), min(beta, high)
                work[b + SLOT], work[b + KEY] = at, key
                work[b + LOW], work[b + HIGH] = low, high
                legal = hand
                partner_best = False
                row = HISTORY + 96 * 32
            else:
                partner_best = winner == (seat + 2) & 3
                legal = may_play(hand, led, best, partner_best, trumps, beat_slots, overtrump, under_free, partner_rule)
                row = HISTORY + ((k - 1) * 32 + first) * 32
            count = 0
            if legal & (legal - 1) == 0:
                work[b + MOVES] = lowest_bit(legal)
                count = 1
            else:
                between = (left | cards) & ~hand
                group, fate, wins, before, before_points = -1, UNSURE, False, -64, 0
                while legal:
                    card = lowest_bit(legal)
                    legal &= legal - 1
                    card_points = work[POINT + card]
                    # Cards of one hand with nobody else's between them are the same but for their points.
                    if card >> 3 == before >> 3 and between & ((1 << card) - (2 << before)) == 0:
                        before = card
                        if fate == OURS:  # the most points first: they are worth as much later, to whomever
                            work[b + MOVES + count - 1] += card - (work[b + MOVES + count - 1] & 31)
                            continue
                        if fate == THEIRS or card_points == before_points:
                            continue
                    else:
                        before = card
                        group += 1
                        if k == 0:
                            wins = True
                            lost = False
                            top, suit = card, card >> 3
                        else:
                            wins = card > best if card >> 3 == best >> 3 else (trumps >> card) & 1 != 0
                            lost = not (wins or partner_best)
                            top, suit = card if wins else best, led
                        # Can anybody of the other side who is still to play turn it?
                        turned = False
                        for j in range(1, 4 - k):
                            if (j & 1 == 0) == lost:
                                other = left & work[OWNED + ((seat + j) & 3)]
                                turned = turned or can_beat(other, suit, top, trumps)
                        fate = UNSURE if turned else THEIRS if lost else OURS
                    before_points = card_points
                    work[b + MOVES + count] = card | group << 5 | fate << 8 | (1 if wins else 0) << 10
                    count += 1
                for i in range(count if count > 1 else 0):
                    move = work[b + MOVES + i]
                    card, fate = move & 31, (move >> 8) & 3
                    card_points = work[POINT + card]
                    score = work[row + card]
                    if k == 0:
                        score += card_points + (100 if fate == OURS else 0)
                    elif fate == OURS:
                        score += 200 + card_points
                    elif fate == THEIRS:
                        score -= card_points
                    elif move >> 10:
                        score += 20 + card_points
                    else:
                        score += card_points if partner_best else 10 - card_points
                    if card == hint:
                        score += 1 << 30
                    move = score << 8 | move & 255
                    j = i
                    while j > 0 and work[b + MOVES + j - 1] < move:
                        work[b + MOVES + j] = work[b + MOVES + j - 1]
                        j -= 1
                    work[b + MOVES + j] = move
            work[b + ALPHA], work[b + BETA], work[b + FLOOR] = alpha, beta, alpha
            work[b + BEST], work[b + BEST_CARD] = BELOW, 0
            work[b + NEXT], work[b + COUNT] = 0, count
            work[b + PLACE] = packed(seat, led, best, winner, chance, k, first, trick, taken)
            work[b + ROW] = open_points | row << 8
            work[b + TABLE], work[b + LEFT] = cards, left
            mode = CHOOSE
        if mode == CHOOSE:
            b = FRAME + n * FRAME_WORDS
            i = work[b + NEXT]
            if i >= work[b + COUNT]:
                mode = LEAVE
            else:
                work[b + NEXT] = i + 1
                move = work[b + MOVES + i] & 255
                alpha, beta = work[b + ALPHA], work[b + BETA]
                mode = PLAY
                most = ABOVE
                for j in range(i):
                    other = work[b + MOVES + j]
                    if ((other ^ move) & 255) >> 5 == 0:
                        most = min(most, (other >> 8) + abs(work[POINT + (move & 31)] - work[POINT + (other & 31)]))
                if most <= alpha:  # as good as a card of its group at best, but for the points between them
                    work[b + BEST] = max(work[b + BEST], most)
                    work[b + MOVES + i] = move | most << 8
                    mode = CHOOSE
                elif work[b + BEST] > BELOW:
                    beta = alpha + 1
                work[b + TRIED] = beta
        if mode == PLAY:
            card = work[b + MOVES + work[b + NEXT] - 1] & 31
            seat, led, best, winner, chance, k, first, trick, taken = unpacked(work[b + PLACE])
            open_points = work[b + ROW] & 255
            left = work[b + LEFT] & ~(1 << card)
            cards = work[b + TABLE] | 1 << card
            nodes += 1
            mover, open_before = seat, trick + work[POINT + card]
            seat, led, best, winner, chance, k, first, trick, taken = after(
                work, card, trumps, seat, led, best, winner, chance, k, first, trick, taken
            )
            open_points -= 0 if k else open_before
            if (seat ^ mover) & 1:
                alpha, beta = ALL - beta, ALL - alpha
            n += 1
            mode = ENTER
        if mode == LEAVE:
            b = FRAME + n * FRAME_WORDS
            seat, led, best, winner, chance, k, first, trick, taken = unpacked(work[b + PLACE])
            value = work[b + BEST]
            if k == 0:
                low, high = work[b + LOW], work[b + HIGH]
                value = min(max(value, low), high)
                # A value outside the window is a bound, never exact.
                if value > work[b + FLOOR]:
                    low = value
                if value < work[b + BETA]:
                    high = value
                if seat & 1:
                    low, high = ALL - high, ALL - low
                low, high = max(low - taken + HALF_CAPOT, 0), min(high - taken + HALF_CAPOT, 255)
                entry = work[b + LEFT] | low << 32 | high << 40 | work[b + BEST_CARD] << 48
                keep(table, work[b + SLOT], work[b + KEY], entry, nodes)
            n -= 1
            mode = RETURN
        if mode == RETURN:
            if n < 0:
                break
            b = FRAME + n * FRAME_WORDS
            place = work[b + PLACE]
            if (place ^ seat) & 1:
                value = ALL - value
            i = work[b + NEXT] - 1
            move = work[b + MOVES + i] & 255
            alpha, beta = work[b + ALPHA], work[b + BETA]
            if alpha < value < beta and work[b + TRIED] < beta:
                # better than the best so far: search again for its value, which is no less than this
                work[b + BEST], work[b + BEST_CARD], work[b + ALPHA], work[b + TRIED] = value, move & 31, value, beta
                alpha = value - 1
                mode = PLAY
                continue
            work[b + MOVES + i] = move | value << 8
            mode = CHOOSE
            if value > work[b + BEST]:
                work[b + BEST], work[b + BEST_CARD] = value, move & 31
                if value > alpha:
                    work[b + ALPHA] = value
                    if value >= beta:
                        mode = LEAVE
                        if work[b + COUNT] > 1:
                            row = work[b + ROW] >> 8
                            weight = count_bits(work[b + LEFT]) >> 2
                            weight = weight * weight * weight * weight
                            work[row + (move & 31)] += weight
                            for j in range(i):
                                work[row + (work[b + MOVES + j] & 31)] -= weight
    work[NODES] += nodes
    return value
