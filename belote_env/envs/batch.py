"""Kernels that step many tables: episodes, rewards, observations and masks, table by table, in place."""

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import choose, lowest_bit
from belote_env.engine import (
    apply,
    begin_deal,
    below,
    is_legal,
    legal_actions,
    new_match,
    next_deal,
    replay,
    shuffle,
    word,
)
from belote_env.frames import IDENTITY_FRAME, canonical_frame, real_action, write_mask
from belote_env.observation import WORDS, observe, observe_hidden
from belote_env.rules import choice
from belote_env.state import DEAL_OVER, MATCH_OVER, is_sound

EPISODES = ("deal", "match")
REWARDS = ("points", "tricks", "win", "cards")
DEAL, MATCH = 0, 1
POINTS_REWARD, TRICKS_REWARD, WIN_REWARD, CARDS_REWARD = 0, 1, 2, 3

#: What `step_table` returns for the seat to act: nobody, the episode is over; nobody, the action is not legal.
OVER, ILLEGAL = -1, -2

#: Points are divided by a power of two, so that sums of rewards are exact in float32.
REWARD_SCALE = 256.0

_LITIGE = choice("tie", "litige")
#: Keeps the draws of an episode's circumstances apart from those of its cards.
_CIRCUMSTANCE = np.uint64(0xD1B54A32D192ED03)


@kernel
def table_seed(seed, table):
    """The seed of one table of a batch, whatever the batch's size."""
    return word(seed, table, 7)


@kernel
def start_episode(states, i, rules, seed, number, episode):
    """Start episode `number` of a table: a match, or one deal in a match under way.

    One deal: random dealer, match scores uniform below the target; where the table has litige, one deal in ten
    starts with 71, 81 or 91 points held back.
    """
    if episode == MATCH:
        new_match(states, i, rules, word(seed, number, 3))
        return
    s = states[i]
    r = rules[0]
    odd = np.uint64(seed) ^ _CIRCUMSTANCE
    target = np.int64(r.target)
    s.seed = seed
    s.deal = number
    s.dealer = below(word(odd, number, 0), 4)
    for side in range(2):
        s.scores[side] = below(word(odd, number, 1 + side), target) if target > 0 else 0
    s.pot = 0
    if r.tie == _LITIGE and below(word(odd, number, 3), 10) == 0:
        s.pot = 71 + 10 * below(word(odd, number, 4), 3)
    shuffle(states, i)
    begin_deal(states, i, rules)


@kernel
def advance(states, i, rules, action, episode, reward):
    """Apply a legal action; in a match, deal again when a deal ends. Returns side 0's reward."""
    s = states[i]
    before = np.int64(s.points[0]) - np.int64(s.points[1])
    apply(states, i, rules, action)
    phase = np.int64(s.phase)
    paid = 0.0
    if reward == CARDS_REWARD or (reward == TRICKS_REWARD and phase < DEAL_OVER):
        paid = float(np.int64(s.points[0]) - np.int64(s.points[1]) - before) / REWARD_SCALE
    if phase >= DEAL_OVER:
        if reward == POINTS_REWARD or reward == TRICKS_REWARD:
            paid = float(np.int64(s.deal_scores[0]) - np.int64(s.deal_scores[1]))
            if reward == TRICKS_REWARD:
                paid -= float(before)
            paid /= REWARD_SCALE
        elif reward == WIN_REWARD and phase == MATCH_OVER:
            winner = np.int64(s.match_winner)
            paid = 1.0 if winner == 0 else -1.0 if winner == 1 else 0.0
        if episode == MATCH and phase == DEAL_OVER:
            next_deal(states, i, rules)
    return paid


@kernel
def only_action(low, high):
    """The action of a legal set of one, else -1."""
    if high == 0:
        return lowest_bit(low) if low & (low - 1) == 0 else -1  # a legal set is never empty while a deal is on
    return 64 + lowest_bit(high) if low == 0 and high & (high - 1) == 0 else -1


@kernel
def write(states, i, rules, seat, low, high, frame, observations, hidden, masks):
    """Write those buffers that are kept."""
    if observations.shape[0] > 0:
        observe(states, i, seat, rules, frame, observations, i)
    if hidden.shape[0] > 0:
        observe_hidden(states, i, seat, frame, hidden, i)
    write_mask(low, high, frame, masks, i)


@kernel
def show(states, i, rules, canonical, legal, frames, seats, observations, hidden, masks):
    """Write the buffers of a table for the seat to act (seat 0 when nobody is)."""
    s = states[i]
    seat = np.int64(s.turn)
    if seat < 0:
        seat = np.int64(0)
    low, high = legal_actions(states, i, rules)
    frame = canonical_frame(states, i, seat) if canonical else IDENTITY_FRAME
    legal[i, 0] = low
    legal[i, 1] = high
    frames[i] = frame
    seats[i] = seat
    if canonical:
        write(states, i, rules, seat, low, high, frame, observations, hidden, masks)
    else:  # compiled apart: with a constant frame nothing is permuted
        write(states, i, rules, seat, low, high, IDENTITY_FRAME, observations, hidden, masks)


@kernel
def first_illegal(frames, legal, n_actions, canonical, actions):
    """Index of the first table whose action is not legal, or -1."""
    if not canonical:  # nearly always all are legal: one bit for all tables, without a branch
        fine = 1
        for i in range(actions.shape[0]):
            a = actions[i]
            inside = np.int64((a >= 0) & (a < n_actions))
            fine &= inside & (choose((a >> 6) & 1, legal[i, 1], legal[i, 0]) >> (a & 63))
        if fine:
            return -1
    for i in range(actions.shape[0]):
        a = actions[i]
        if a < 0 or a >= n_actions:
            return i
        a = real_action(a, frames[i])
        bit = (legal[i, 0] >> a) & 1 if a < 64 else (legal[i, 1] >> (a - 64)) & 1
        if bit == 0:
            return i
    return -1


@kernel
def begin_tables(
    lo, hi, states, rules, seed, first_table, numbers, episode, canonical,
    legal, frames, seats, observations, hidden, masks,
):  # fmt: skip
    """Start the current episode of tables lo..hi-1 and show them. A first call is never forced: one may pass."""
    for i in range(lo, hi):
        start_episode(states, i, rules, table_seed(seed, first_table + i), numbers[i], episode)
        show(states, i, rules, canonical, legal, frames, seats, observations, hidden, masks)


@kernel
def show_tables(
    lo, hi, states, rules, canonical, legal, frames, seats, observations, hidden, masks,
):  # fmt: skip
    """Show tables lo..hi-1 as they stand."""
    for i in range(lo, hi):
        show(states, i, rules, canonical, legal, frames, seats, observations, hidden, masks)


@kernel
def step_tables(
    states, rules, seed, first_table, numbers, episode, reward, skip, canonical, actions,
    legal, frames, seats, observations, hidden, masks, rewards, done, lo, hi,
):  # fmt: skip
    """Step tables lo..hi-1: apply, play forced moves when asked, pay, start anew when over, show."""
    for i in range(lo, hi):
        action = real_action(actions[i], np.int64(frames[i])) if canonical else actions[i]
        paid = 0.0
        over = False
        while True:
            paid += advance(states, i, rules, action, episode, reward)
            phase = np.int64(states[i].phase)
            over = phase == MATCH_OVER or (episode == DEAL and phase == DEAL_OVER)
            if over or not skip:
                break
            low, high = legal_actions(states, i, rules)
            action = only_action(low, high)
            if action < 0:
                break
        gain = np.float32(paid)
        rewards[i, 0], rewards[i, 1], rewards[i, 2], rewards[i, 3] = gain, -gain, gain, -gain
        done[i] = over
        if over:
            numbers[i] += 1
            start_episode(states, i, rules, table_seed(seed, first_table + i), numbers[i], episode)
        show(states, i, rules, canonical, legal, frames, seats, observations, hidden, masks)


@kernel
def replay_tables(states, rules, out):
    """Replay the deal of every state into `out`; returns the index of the first that cannot be, or -1."""
    for i in range(states.shape[0]):
        if not is_sound(states, i) or not replay(states, i, rules, out):
            return i
    return -1


@kernel
def show_table(states, rules, out):
    """Write observation and mask of the seat to act to one row of words; returns the seat, NOBODY when none is."""
    seat = np.int64(states[0].turn)
    low, high = legal_actions(states, 0, rules)
    observe(states, 0, max(seat, 0), rules, IDENTITY_FRAME, out, 0)
    write_mask(low, high, IDENTITY_FRAME, out[:, WORDS:], 0)
    return seat


@kernel
def begin_table(states, rules, seed, number, episode, out):
    """Start an episode of a single table, as table 0 of a batch would, and show it; returns the seat to act."""
    start_episode(states, 0, rules, table_seed(seed, 0), number, episode)
    return show_table(states, rules, out)


@kernel
def step_table(states, rules, action, episode, reward, out):
    """`(seat to act, OVER or ILLEGAL; side 0's reward; whether a deal has ended)`.

    An illegal action changes nothing.
    """
    if not is_legal(states, 0, rules, action):
        return ILLEGAL, 0.0, False
    deal = np.int64(states[0].deal)
    paid = advance(states, 0, rules, action, episode, reward)
    seat = show_table(states, rules, out)
    return seat, paid, seat < 0 or np.int64(states[0].deal) != deal
