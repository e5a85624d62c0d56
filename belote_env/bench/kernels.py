"""Kernels of the measurements: play-outs, and random actions for many tables."""

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import count_bits, nth_bit
from belote_env.engine import below, mix, new_match, next_deal, play_out
from belote_env.state import MATCH_OVER


@kernel
def random_playout(states, i, rules, seed, deals):
    """Play random deals, matches one after another; returns the number of decisions."""
    new_match(states, i, rules, seed)
    x = np.uint64(seed)
    decisions = 0
    for _ in range(deals):
        made, x = play_out(states, i, rules, x)
        decisions += made
        if np.int64(states[i].phase) == MATCH_OVER:
            new_match(states, i, rules, x)
        else:
            next_deal(states, i, rules)
    return decisions


@kernel
def random_legal(legal, x, out):
    """Write a random action of each legal set (n, 2) to `out`; returns the next random word."""
    for i in range(out.shape[0]):
        x += np.uint64(0x9E3779B97F4A7C15)
        low, high = legal[i, 0], legal[i, 1]
        out[i] = nth_bit(low, high, below(mix(x), count_bits(low) + count_bits(high)))
    return x


@kernel
def random_masked(mask, x, out):
    """Write a random action of each row of a mask (n, actions) to `out`; returns the next random word."""
    for i in range(out.shape[0]):
        legal = 0
        for a in range(mask.shape[1]):
            legal += mask[i, a] != 0
        x += np.uint64(0x9E3779B97F4A7C15)
        pick = below(mix(x), legal)
        for a in range(mask.shape[1]):
            if mask[i, a] != 0:
                if pick == 0:
                    out[i] = a
                    break
                pick -= 1
    return x
