"""Kernels of tables where one seat is the learner's and players sit in the three others.

Every kernel works on tables lo..hi-1, so that slices can be stepped side by side.  Scratch of a slice begins at lo.
"""

import numpy as np

from belote_env._jit import kernel
from belote_env.engine import below, is_legal, legal_actions, word
from belote_env.envs.batch import DEAL, advance, start_episode, table_seed
from belote_env.frames import IDENTITY_FRAME, write_mask
from belote_env.observation import observe
from belote_env.state import DEAL_OVER, MATCH_OVER, STATE_BYTES

STATE_WORDS = STATE_BYTES // 8

#: Keeps the draws of the learner's seat apart from those of cards and circumstances.
_SEATING = np.uint64(0x8CB92BA72F3D8DD7)


@kernel
def deal_tables(lo, hi, chosen, states, rules, seeds, numbers, episode, seat, learners, paid, over):
    """Start the next episode of the chosen tables, each as table 0 of its own seed.

    The learner sits at `seat`, or if that is negative where (seed, number of the episode) says.
    """
    for i in range(lo, hi):
        if chosen[i]:
            seed = table_seed(seeds[i], 0)
            numbers[i] += 1
            start_episode(states, i, rules, seed, numbers[i], episode)
            learners[i] = seat if seat >= 0 else below(word(seed ^ _SEATING, numbers[i], 0), 4)
            paid[i] = 0.0
            over[i] = False


@kernel
def play(states, i, rules, action, episode, reward, learners, paid, over):
    """Play a legal action of any seat and keep what it pays to the learner's side."""
    got = advance(states, i, rules, action, episode, reward)
    paid[i] += -got if learners[i] & 1 else got
    phase = np.int64(states[i].phase)
    over[i] = phase == MATCH_OVER or (episode == DEAL and phase == DEAL_OVER)


@kernel
def refused(active, actions, masks, n_actions):
    """Index of the first active table whose mask refuses its action, or -1. `masks`: (n, at least n_actions) bytes."""
    for i in range(actions.shape[0]):
        a = actions[i]
        if active[i] and (a < 0 or a >= n_actions or masks[i, a] == 0):
            return i
    return -1


@kernel
def play_learners(
    lo, hi, active, actions, states, rules, episode, reward, learners, paid, over, masks, n_actions, penalty
):
    """Play the learner's action at active tables; one that the mask refuses ends the episode and costs `penalty`."""
    for i in range(lo, hi):
        if active[i]:
            a = actions[i]
            if a < 0 or a >= n_actions or masks[i, a] == 0:
                paid[i] -= penalty
                over[i] = True
            else:
                play(states, i, rules, a, episode, reward, learners, paid, over)


@kernel
def ask(lo, hi, states, words, learners, over, owners, who, rows, copies, seats):
    """Copy the tables that wait for player `who` to the scratch arrays; returns their number.

    Args:
        words, copies: states and scratch as (n, STATE_WORDS) uint64.
        owners: (4,) the player of the learner's seat (none), of next, partner, previous.
        rows, seats: scratch (n,), which table and which seat.
    """
    at = lo
    for i in range(lo, hi):
        turn = np.int64(states[i].turn)
        if not over[i] and owners[(turn - learners[i]) & 3] == who:
            rows[at] = i
            seats[at] = turn
            for k in range(STATE_WORDS):
                copies[at, k] = words[i, k]
            at += 1
    return at - lo


@kernel
def answer(rows, actions, states, rules, episode, reward, learners, paid, over):
    """Play what the players answered for tables `rows`; returns the index of the first illegal answer, or -1."""
    for k in range(rows.shape[0]):
        if not is_legal(states, rows[k], rules, actions[k]):
            return k
        play(states, rows[k], rules, actions[k], episode, reward, learners, paid, over)
    return -1


@kernel
def show_learners(lo, hi, chosen, states, rules, learners, over, observations, masks, scores):
    """Write what the learner sees at the chosen tables: bits, mask (all ones at the end), own and other score."""
    for i in range(lo, hi):
        if chosen[i]:
            seat = learners[i]
            observe(states, i, seat, rules, IDENTITY_FRAME, observations, i)
            low, high = legal_actions(states, i, rules)
            if over[i]:
                low, high = -1, -1
            write_mask(low, high, IDENTITY_FRAME, masks, i)
            scores[i, 0] = states[i].scores[seat & 1]
            scores[i, 1] = states[i].scores[1 - (seat & 1)]
