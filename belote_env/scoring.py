"""Counting a deal and ending a match (rules 6 and 8)."""

import numpy as np

from belote_env._jit import kernel
from belote_env.rules import choice
from belote_env.state import CAPOT_LEVEL, DRAWN, FAILED, MADE, OPEN, TIED, VALUES

MAJORITY = choice("contract", "majority")
THRESHOLD = choice("contract", "threshold")
BID_AND_MAJORITY = choice("contract", "bid_and_majority")
TIE_MADE = choice("tie", "made")
TIE_LITIGE = choice("tie", "litige")
TOTALS = choice("made_score", "totals")
TOTALS_AND_BID = choice("made_score", "totals_and_bid")
BELOTE_LOST = choice("belote_on_failure", "lost")
BELOTE_TO_WINNER = choice("belote_doubled", "winner")
CAPOT_NEVER = choice("failed_capot", "never")
CAPOT_ALWAYS = choice("failed_capot", "always")
DOUBLED_ALL = choice("doubled_on", "all")
DRAW = choice("tie_break", "drawn")
LAST_WINNER = choice("tie_break", "last_winner")

#: 1.4: what capot is worth above the ordinary last trick.
CAPOT_EXTRA = 90


@kernel
def contract_result(rules, total, other, taker_points, taker_tricks, any_belote, level):
    """FAILED, MADE or TIED (rules 6, "made when").

    Args:
        rules: packed rules.
        total: takers' trick points with their belote and declarations; `other`: the defenders'.
        taker_points: the takers' trick points alone.
        taker_tricks: tricks they took.
        any_belote: whether anybody held belote.
        level: of the bid; read only in auctions.
    """
    r = rules[0]
    if r.taker_needs_trick and taker_tricks == 0:
        return FAILED
    if r.contract == THRESHOLD:
        if not r.threshold_belote:
            return MADE if taker_points >= 82 else FAILED
        return MADE if total >= (92 if any_belote else 82) else FAILED
    if r.contract != MAJORITY:
        if level >= CAPOT_LEVEL and VALUES[level] >= 250:  # 6: a 250 bid is made by eight tricks, nothing else
            return MADE if taker_tricks == 8 else FAILED
        if total < VALUES[level]:
            return FAILED
        if r.contract != BID_AND_MAJORITY:
            return MADE
    if total > other:
        return MADE
    if total < other:
        return FAILED
    if r.tie == TIE_MADE:
        return MADE
    return TIED if r.tie == TIE_LITIGE else FAILED


@kernel
def deal_score(
    rules, taker_points, defender_points, taker_tricks, taker_belote, defender_belote, level, multiplier, pot
):
    """`(made, takers, defenders, pot)` of a deal that was played (rules 6).

    Args:
        rules: packed rules.
        taker_points, defender_points: trick points with the 10 or 100 of the last trick.
        taker_tricks: tricks the takers took, 0..8.
        taker_belote, defender_belote: points of belote each side holds.
        level: of the bid; read only in auctions.
        multiplier: 1, 2 or 4, the call.
        pot: points held back by earlier litiges.
    """
    r = rules[0]
    total = taker_points + taker_belote
    other = defender_points + defender_belote
    made = contract_result(rules, total, other, taker_points, taker_tricks, taker_belote + defender_belote > 0, level)
    bid = 0 if r.contract == MAJORITY or r.contract == THRESHOLD else VALUES[level]
    if made == TIED:  # 6.1: the takers' trick points are held back, a second litige adds to the pot
        takers, defenders, pot = taker_belote, other, pot + taker_points
    elif multiplier > 1:
        factor = np.int64(r.coinche_factor) if multiplier == 2 else np.int64(r.surcoinche_factor)
        base = np.int64(r.base_points)
        if (made == MADE and taker_tricks == 8) or (
            made == FAILED and taker_tricks == 0 and r.failed_capot != CAPOT_NEVER
        ):
            base += CAPOT_EXTRA
        winner, loser = (taker_belote, defender_belote) if made == MADE else (defender_belote, taker_belote)
        if r.belote_doubled == BELOTE_TO_WINNER or (made == FAILED and r.belote_on_failure == BELOTE_LOST):
            winner, loser = winner + loser, 0
        inside = winner if r.belote_in_multiplier else 0
        won = (base + bid + inside) * factor if r.doubled_on == DOUBLED_ALL else base + (bid + inside) * factor
        if r.made_score != TOTALS and r.made_score != TOTALS_AND_BID:  # 9: bid only
            won = (bid + inside) * factor
        won += winner - inside
        takers, defenders = (won, loser) if made == MADE else (loser, won)
    elif r.made_score != TOTALS and r.made_score != TOTALS_AND_BID:  # 9: bid only, belote apart
        takers, defenders = taker_belote, defender_belote
        if made == MADE:
            takers += bid
        else:
            defenders += bid
            if r.belote_on_failure == BELOTE_LOST:
                takers, defenders = 0, defenders + takers
    elif made == MADE:
        takers, defenders = total + bid, other
    else:
        base = np.int64(r.base_points)
        if taker_tricks == 0 and r.failed_capot == CAPOT_ALWAYS:
            base += CAPOT_EXTRA
        takers, defenders = taker_belote, base + bid + defender_belote
        if r.belote_on_failure == BELOTE_LOST:
            takers, defenders = 0, defenders + taker_belote
    if made == MADE:
        takers, pot = takers + pot, 0
    elif made == FAILED:
        defenders, pot = defenders + pot, 0
    step = np.int64(r.rounding)
    if step > 1:  # half up, after everything else
        takers = (takers + step // 2) // step * step
        defenders = (defenders + step // 2) // step * step
    return made, takers, defenders, pot


@kernel
def match_result(rules, score_0, score_1, made, taker_side, waits_0, waits_1):
    """The side that has won the match, DRAWN, or OPEN when play goes on (rules 8).

    Args:
        rules: packed rules.
        score_0, score_1: match scores after the deal.
        made: result of the deal; PENDING when all passed.
        taker_side: side of the taker.
        waits_0, waits_1: 8.1, whether the side is left out of the comparison in this deal.
    """
    r = rules[0]
    target = np.int64(r.target)
    reached_0 = score_0 >= target and not waits_0
    reached_1 = score_1 >= target and not waits_1
    if not reached_0 and not reached_1:
        return OPEN
    if reached_0 != reached_1:
        return 0 if reached_0 else 1
    if score_0 != score_1:
        return 0 if score_0 > score_1 else 1
    if target == 0:
        return DRAWN
    if r.tie_break == DRAW:
        return DRAWN
    if r.tie_break == LAST_WINNER and (made == MADE or made == FAILED):
        return taker_side if made == MADE else 1 - taker_side
    return OPEN  # another deal; also where nobody won the last one
