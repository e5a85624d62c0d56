"""`Random`: any legal action, all equally likely."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.bits import count_bits, nth_bit
from belote_env.engine import below, legal_actions, mix
from belote_env.players.player import Actions, Player, States
from belote_env.rulings import whole_number


@kernel
def position_word(states, i, seat, seed):
    """A random word that is a pure function of the seed and of what `seat` has in view."""
    s = states[i]
    w = mix(np.uint64(seed) ^ np.uint64(s.seed)) ^ np.uint64(np.int64(s.deal))
    w = mix(w ^ (np.uint64(s.hands[seat]) << np.uint64(32)) ^ np.uint64(seat * 64 + np.int64(s.n_calls)))
    for k in range(2):
        w = mix(w ^ (np.uint64(s.played[2 * k]) << np.uint64(32)) ^ np.uint64(s.played[2 * k + 1]))
    return w


@kernel
def random_actions(states, seats, rules, seed, out):
    """Write a random legal action of every state to `out`."""
    for i in range(states.shape[0]):
        low, high = legal_actions(states, i, rules)
        w = position_word(states, i, np.int64(seats[i]), seed)
        out[i] = nth_bit(low, high, below(w, count_bits(low) + count_bits(high)))


class Random(Player):
    """Any legal action, all equally likely.

    What it plays is a pure function of its seed and the position, so that a match is the same in any batch; meeting
    the same position of the same deal again, it plays the same.

    Args:
        seed: 0..2**64-1; players with different seeds are independent.

    Raises:
        ValueError: a seed that is not an integer, or out of range.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = np.uint64(mix(np.uint64(whole_number("seed", seed, 0, 2**64 - 1))))
        self.name = "random"

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        out = np.empty(len(states), np.int64)
        random_actions(states, np.ascontiguousarray(seats, np.int64), self.rules.packed, self._seed, out)
        return out
