"""What a decision costs, part by part: `python benchmarks/parts.py [--rules NAME] [--tables N]`.

Each part is a kernel over a batch of tables in mixed positions, timed alone by CPU time.  Positions are put back before
every run, and there are many of them: a processor that has seen a batch before would predict every branch of it.
Beside the parts stands the floor: filling the same bytes with zeros.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from belote_env._jit import _OPTIONS
from belote_env.bench.doors import RandomPlay
from belote_env.engine import apply, legal_actions, next_deal
from belote_env.frames import IDENTITY_FRAME, canonical_frame, write_mask
from belote_env.observation import observe
from belote_env.state import DEAL_OVER


@numba.njit(**_OPTIONS)
def one_step(states, rules, actions, legal, frames, observations, masks):
    """Apply an action to each table."""
    for i in range(states.shape[0]):
        apply(states, i, rules, actions[i])


@numba.njit(**_OPTIONS)
def legal_sets(states, rules, actions, legal, frames, observations, masks):
    """The legal set of each table."""
    for i in range(states.shape[0]):
        low, high = legal_actions(states, i, rules)
        legal[i, 0] = low
        legal[i, 1] = high


@numba.njit(**_OPTIONS)
def mask_rows(states, rules, actions, legal, frames, observations, masks):
    """The legal set of each table as a row of bytes."""
    for i in range(states.shape[0]):
        write_mask(legal[i, 0], legal[i, 1], IDENTITY_FRAME, masks, i)


@numba.njit(**_OPTIONS)
def observation_rows(states, rules, actions, legal, frames, observations, masks):
    """What the seat to act sees, as a row of bytes."""
    for i in range(states.shape[0]):
        observe(states, i, np.int64(states[i].turn) & 3, rules, IDENTITY_FRAME, observations, i)


@numba.njit(**_OPTIONS)
def find_frames(states, rules, actions, legal, frames, observations, masks):
    """The canonical frame of the seat to act."""
    for i in range(states.shape[0]):
        frames[i] = canonical_frame(states, i, np.int64(states[i].turn) & 3)


@numba.njit(**_OPTIONS)
def framed_rows(states, rules, actions, legal, frames, observations, masks):
    """Observation and mask in the canonical frame."""
    for i in range(states.shape[0]):
        observe(states, i, np.int64(states[i].turn) & 3, rules, frames[i], observations, i)
        write_mask(legal[i, 0], legal[i, 1], frames[i], masks, i)


@numba.njit(**_OPTIONS)
def deals(states, rules, actions, legal, frames, observations, masks):
    """A deal at each table."""
    for i in range(states.shape[0]):
        states[i].phase = DEAL_OVER
        next_deal(states, i, rules)


PARTS: dict[str, Callable[..., None]] = {
    "apply": one_step,
    "legal set": legal_sets,
    "mask": mask_rows,
    "observation": observation_rows,
    "canonical frame": find_frames,
    "observation and mask in a frame": framed_rows,
    "deal (per deal)": deals,
    "floor: the mask's bytes": lambda *a: a[6].fill(0),
    "floor: the observation's bytes": lambda *a: a[5].fill(0),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", default="contree")
    parser.add_argument("--tables", type=int, default=4096)
    parser.add_argument("--positions", type=int, default=30)
    options = parser.parse_args()
    n = options.tables
    play = RandomPlay(options.rules, n)
    play.draw(3 * options.positions)
    vector = play._vector(observe=True, threads=1)
    kept: list[tuple[Any, ...]] = []
    for k, row in enumerate(play.actions.astype(np.int64)):
        if k % 3 == 0:
            kept.append((vector.states.view(np.uint64).copy(), row, vector._legal.copy(), vector.frames.copy()))
        vector.step(row)
    print(f"{options.rules}, {n} tables, {len(kept)} batches of positions")
    words = vector.states.view(np.uint64)
    table = Table("part", "ns a table, median", "least")
    buffers = (vector._observation_words, vector._mask_words)
    for name, work in PARTS.items():
        spent = np.zeros((5, len(kept)))
        for r in range(len(spent)):
            for j, (states, actions, legal, frames) in enumerate(kept):
                words[:], vector._legal[:], vector.frames[:] = states, legal, frames
                if work is framed_rows:
                    find_frames(vector.states, vector.rules.packed, actions, vector._legal, vector.frames, *buffers)
                start = time.process_time_ns()
                work(vector.states, vector.rules.packed, actions, vector._legal, vector.frames, *buffers)
                spent[r, j] = (time.process_time_ns() - start) / n
        spent = spent[1:]  # the first round compiles
        table.add_row(name, f"{np.median(spent):.1f}", f"{spent.min(0).mean():.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
