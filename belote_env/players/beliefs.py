"""Worlds in the light of the calls: who bid hearts has hearts.

`deal_worlds` knows what a seat cannot hold.  Calls say more, though nothing for sure: here a hidden hand is likelier
where Heuristic would have called with it as its seat did.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.engine import begin_deal
from belote_env.players.player import Player
from belote_env.players.playout import apply_rows
from belote_env.rules import Rules
from belote_env.state import FIRST_CALL
from belote_env.worlds import deal_worlds

#: How likely a seat is taken to make another call than the player asked, for each time it makes the same; and a bid of
#: the same strain at another level.
DOUBT, HALF_DOUBT = 0.1, 0.5
#: Worlds dealt for each one kept.
DEALT_FOR_ONE = 10


def likelihoods(worlds: NDArray[Any], seats: NDArray[np.int64], rules: Rules, caller: Player) -> NDArray[np.float64]:
    """(n,) how well the calls of the other seats fit their hands, up to a factor: 1 where `caller` makes them all.

    Args:
        worlds: (n,) states as `deal_worlds` makes them, whose pack deals the hands.
        seats: (n,) the viewer of each, whose calls say nothing new.
        rules: of all of them.
        caller: a player that has started at these rules.
    """
    likely = np.ones(len(worlds))
    again = worlds.copy()
    for i in np.flatnonzero(worlds["n_calls"]):
        begin_deal(again, i, rules.packed)
    for k in range(int(worlds["n_calls"].max(initial=0))):
        rows = np.flatnonzero(worlds["n_calls"] > k)
        here = again[rows]
        made = worlds["calls"][rows, k].astype(np.int64)
        asked = caller.act(here, here["turn"].astype(np.int64))
        alike = (asked >= FIRST_CALL) & (made >= FIRST_CALL) & ((asked - made) % 6 == 0)
        fit = np.where(asked == made, 1.0, np.where(alike, HALF_DOUBT, DOUBT))
        likely[rows] *= np.where(here["turn"] == seats[rows], 1.0, fit)
        apply_rows(again, rows, rules.packed, made)
    return likely


def likely_worlds(
    states: NDArray[Any],
    seats: NDArray[np.int64],
    rules: Rules,
    caller: Player,
    most: int,
    seed: int,
    dealt_for_one: int = DEALT_FOR_ONE,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64]]:
    """`deal_worlds`, then of each state at most about `most` worlds, by likelihood, of `dealt_for_one` times as many.

    Returns:
        worlds, (m,) states; rows, (m,) the state each belongs to; weights, (m,) above 0: where no more than `most`
        worlds exist, how likely each is, else how often it was drawn out of more, evenly along their order.
    """
    worlds, rows = deal_worlds(states, seats, rules, most * dealt_for_one, seed)
    weights = likelihoods(worlds, seats[rows], rules, caller)
    ends = np.cumsum(np.bincount(rows, minlength=len(states)))
    for begin, end in zip((0, *ends), ends, strict=False):
        size = end - begin
        upto = np.cumsum(weights[begin:end])
        upto *= min(size, most) / upto[-1]
        if size > most:
            upto = np.floor(upto + 0.5)
        weights[begin:end] = np.diff(upto, prepend=0.0)
    kept = np.flatnonzero(weights > 0)
    return worlds[kept], rows[kept], weights[kept]
