"""Minimax over the engine's own states, without a bound, a table or an order: for endings too long for the referee."""

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import lowest_bit
from belote_env.engine import apply, legal_actions
from belote_env.state import DEAL_OVER, new_states


@kernel
def _minimax(states, rules, untried, best, root):
    """Difference of the trick points that the side of seat `root` gets with best play from `states[0]`."""
    depth = 0
    untried[0] = legal_actions(states, 0, rules)[0]
    best[0] = -1000
    while True:
        s = states[depth]
        if np.int64(s.phase) >= DEAL_OVER:
            value = np.int64(s.points[root & 1]) - np.int64(s.points[1 - (root & 1)])
        elif untried[depth]:
            card = lowest_bit(untried[depth])
            untried[depth] &= untried[depth] - 1
            states[depth + 1] = states[depth]
            apply(states, depth + 1, rules, card)
            depth += 1
            if np.int64(states[depth].phase) < DEAL_OVER:
                untried[depth] = legal_actions(states, depth, rules)[0]
                best[depth] = -1000
            continue
        else:
            sign = 1 if (np.int64(s.turn) ^ root) & 1 == 0 else -1
            value = best[depth] * sign
        if depth == 0:
            return value
        depth -= 1
        sign = 1 if (np.int64(states[depth].turn) ^ root) & 1 == 0 else -1
        best[depth] = max(best[depth], value * sign)


def difference(states, rules, seat: int) -> int:
    """The side of `seat`'s trick points less the other's at the end of the deal in `states[0]`, best play on."""
    deep, untried, best = new_states(34), np.zeros(34, np.int64), np.zeros(34, np.int64)
    deep[0] = states[0]
    return int(_minimax(deep, rules.packed, untried, best, seat))
