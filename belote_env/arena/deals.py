"""Deals to be played, from a seed or from given states, and the moves of players in many of them at once."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.engine import apply, is_legal, next_deal
from belote_env.envs.batch import EPISODES, start_episode
from belote_env.notation import position_text
from belote_env.players import Player
from belote_env.players.answers import answer_numbers, illegal_answer
from belote_env.rules import Rules
from belote_env.rulings import checked_states, whole_number
from belote_env.state import DEAL_OVER, STATE, new_states

#: The state numbers deals with 32 bits.
MOST_PAIRS = 2**31 - 1


@kernel
def start_rows(states: Any, rules: Any, seed: Any, first: int, copies: int, episode: int) -> None:
    """Row i starts episode first + i // copies."""
    for i in range(states.shape[0]):
        start_episode(states, i, rules, seed, first + i // copies, episode)


@kernel
def apply_rows(states: Any, rows: Any, rules: Any, actions: Any) -> int:
    """Apply one action at each row; returns the index of the first illegal one, nothing applied then, or -1."""
    for k in range(rows.shape[0]):
        if not is_legal(states, rows[k], rules, actions[k]):
            return k
    for k in range(rows.shape[0]):
        apply(states, rows[k], rules, actions[k])
    return -1


@kernel
def deal_rows(states: Any, rows: Any, rules: Any) -> None:
    """Deal the next deal at each row."""
    for k in range(rows.shape[0]):
        next_deal(states, rows[k], rules)


class Deals:
    """Where the deals of a match come from: a seed, or given states; `copies` rows start each of them.

    Raises:
        ValueError: an argument out of range; fewer than two deals, too few for an interval; a state that is damaged,
            of another game, or over.
    """

    def __init__(self, rules: Rules, deals: int | NDArray[Any], seed: int, episode: str, copies: int) -> None:
        if episode not in EPISODES:
            raise ValueError(f"episode={episode!r} is not one of {', '.join(map(repr, EPISODES))}")
        self.rules, self.copies, self.episode = rules, copies, EPISODES.index(episode)
        self.states: NDArray[Any] | None = None
        self.seed: int | None = None
        if isinstance(deals, np.ndarray) and deals.dtype == STATE:
            if deals.ndim != 1 or not 2 <= len(deals) <= MOST_PAIRS:
                raise ValueError(f"2 to {MOST_PAIRS} states in a row are needed, not an array of shape {deals.shape}")
            deals = checked_states("deals", deals, rules)
            self.states, self.n = deals, len(deals)
            over = np.flatnonzero(deals["phase"] >= DEAL_OVER)
            if over.size:
                text = position_text(deals, int(over[0]), rules)
                raise ValueError(f"deals[{over[0]}] cannot be played, it is over; position: {text}")
        else:
            self.n = whole_number("deals", deals, 2, MOST_PAIRS)
            self.seed = whole_number("seed", seed, 0, 2**64 - 1)

    def __len__(self) -> int:
        return self.n

    def start(self, first: int, count: int) -> NDArray[Any]:
        """Deals first .. first + count - 1; rows that start one deal follow each other."""
        states = new_states(self.copies * count)
        if self.states is not None:
            states[:] = np.repeat(self.states[first : first + count], self.copies)
        else:
            start_rows(states, self.rules.packed, np.uint64(self.seed or 0), first, self.copies, self.episode)
        return states


def ask(player: Player, states: NDArray[Any], rows: NDArray[np.int64], rules: Rules) -> tuple[NDArray[np.int64], float]:
    """`(actions, CPU seconds)`: what a player answers for `states[rows]`; no player can change the tables."""
    copies = states[rows]
    start = time.process_time()
    answer = player.act(copies, copies["turn"].astype(np.int64))
    seconds = time.process_time() - start
    return answer_numbers(player, answer, states, rows, rules), seconds


def play(
    player: Player, states: NDArray[Any], rows: NDArray[np.int64], rules: Rules, actions: NDArray[np.int64]
) -> None:
    """Play a player's actions, or refuse them all when one is not legal."""
    bad = apply_rows(states, rows, rules.packed, actions)
    if bad >= 0:
        raise illegal_answer(player, int(actions[bad]), states, int(rows[bad]), rules)
