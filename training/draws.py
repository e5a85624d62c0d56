"""Random numbers that depend on what they are for and on nothing else: no stream, so no order of drawing.

A draw is named by the run's seed and a few counters (table, deal, step).  So a run split over processes plays the
same deals as one alone, and a resumed run needs no generator's state.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea & Flood 2014), element by element."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def words(seed: int, *counters: ArrayLike) -> NDArray[np.uint64]:
    """Uniform 64-bit words for whole counters that broadcast against each other, in their shape."""
    shape = np.broadcast_shapes(*map(np.shape, counters))
    state = np.full(shape or 1, seed % 2**64, np.uint64)  # of an array's words numpy drops what overflows in silence
    for counter in counters:
        state = _mixed(state * _GOLDEN + np.asarray(counter).astype(np.uint64) + _GOLDEN)
    return state.reshape(shape)


def uniforms(seed: int, *counters: ArrayLike) -> NDArray[np.float64]:
    """Uniform numbers in [0, 1) for counters, as `words`."""
    return (words(seed, *counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53
