"""Playing deals to their ends, every seat by one player who sees only that seat's view."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.engine import apply
from belote_env.players.player import Player
from belote_env.rules import Rules
from belote_env.state import DEAL_OVER


@kernel
def apply_rows(states, rows, rules, actions):
    """Apply a legal action at each row."""
    for k in range(rows.shape[0]):
        apply(states, rows[k], rules, actions[k])


def play_out(states: NDArray[Any], rules: Rules, player: Player) -> NDArray[np.int64]:
    """Play every state to the end of its deal, in place; returns (n,) int64, side 0's score of it less side 1's."""
    rows = np.flatnonzero(states["phase"] < DEAL_OVER)
    while len(rows):
        here = states[rows]
        apply_rows(states, rows, rules.packed, player.act(here, here["turn"].astype(np.int64)))
        rows = rows[states["phase"][rows] < DEAL_OVER]
    scores = states["deal_scores"].astype(np.int64)
    difference: NDArray[np.int64] = scores[:, 0] - scores[:, 1]
    return difference
