"""Suit frames: which suit a slot shows, the permutation of actions that follows, and bit sets written in a frame.

A frame is an order of the four suits, two bits a slot. Belote is symmetric in plain suits, so a learner that sees
every position in the canonical frame (trump first) meets each of them once.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env._jit import kernel
from belote_env.bits import store_bits
from belote_env.cards import NO_CARD
from belote_env.state import FIRST_CALL, PASS, PLAY

#: S H D C: slot k shows suit k. Two bits a slot.
IDENTITY_FRAME = 0b11_10_01_00


def mask_words(n_actions: int) -> int:
    """64-bit words of a row of masks: whole runs of 32 actions, two at least."""
    return 4 * -(-n_actions // 32)


@kernel
def frame_suit(frame, slot):
    """The suit that a slot of a frame shows."""
    return (frame >> (2 * slot)) & 3


@kernel
def last_bid(states, i, suit):
    """One more than the place of the last call that named a suit; 0 when none did."""
    s = states[i]
    for k in range(np.int64(s.n_calls) - 1, -1, -1):
        call = np.int64(s.calls[k]) - FIRST_CALL
        if call >= 0 and call % 6 == suit:
            return k + 1
    return 0


@kernel
def canonical_frame(states, i, seat):
    """Trump (before it is chosen, the turned suit) in slot 0, then the other suits by what `seat` has in them.

    The order depends on the cards alone, never on a suit's name, unless two suits look the same to the seat.
    """
    s = states[i]
    first = np.int64(s.strain) if np.int64(s.phase) >= PLAY else -1
    if first < 0 and np.int64(s.turned) != NO_CARD:
        first = np.int64(s.turned) >> 3
    own = np.int64(s.hands[seat]) | np.int64(s.played[seat])
    frame = frame_by_cards(own, first)
    return frame if frame >= 0 else frame_by_history(states, i, seat, own, first)


@kernel
def frame_by_cards(own, first):
    """The frame that a seat's eight cards decide alone; -1 where it has the same ranks in two suits."""
    a = 256 if first == 0 else own & 255
    b = 256 if first == 1 else (own >> 8) & 255
    c = 256 if first == 2 else (own >> 16) & 255
    d = 256 if first == 3 else (own >> 24) & 255
    if (a == b) | (a == c) | (a == d) | (b == c) | (b == d) | (c == d):
        return -1
    # a suit's slot is the number of suits that come before it
    ab, ac, ad = np.int64(a > b), np.int64(a > c), np.int64(a > d)
    bc, bd, cd = np.int64(b > c), np.int64(b > d), np.int64(c > d)
    second, third, fourth = ab + 2 - bc - bd, ac + bc + 1 - cd, ad + bd + cd
    return (1 << (2 * second)) | (2 << (2 * third)) | (3 << (2 * fourth))


@kernel
def frame_by_history(states, i, seat, own, first):
    """The canonical frame in full: own cards, then what the others have shown, then when and how."""
    s = states[i]
    frame, used = 0, 0
    for slot in range(4):
        chosen, best_own, best_seen, best_past = -1, -1, -1, -1
        for suit in range(4):
            if (used >> suit) & 1:
                continue
            key_own = (own >> (8 * suit)) & 255
            if suit == first:
                key_own = 256
            key_seen = 0
            for k in range(1, 4):
                other = (seat + k) & 3
                key_seen = (key_seen << 16) | (((np.int64(s.played[other]) >> (8 * suit)) & 255) << 8)
                key_seen |= (np.int64(s.barred[other]) >> (8 * suit)) & 255
            if key_own < best_own or (key_own == best_own and key_seen < best_seen):
                continue
            key_past = (np.int64(s.hands[seat]) >> (8 * suit)) & 255
            for k in range(3):
                key_past = (key_past << 8) | ((np.int64(s.when[k]) >> (8 * suit)) & 255)
            key_past = (key_past << 8) | last_bid(states, i, suit)
            if key_own > best_own or key_seen > best_seen or key_past > best_past:
                chosen, best_own, best_seen, best_past = suit, key_own, key_seen, key_past
        used |= 1 << chosen
        frame |= chosen << (2 * slot)
    return frame


@kernel
def slots_of(frame):
    """The slot of each strain, three bits a strain; no-trump and all-trump stay where they are."""
    slots = (4 << 12) | (5 << 15)
    for slot in range(4):
        slots |= slot << (3 * ((frame >> (2 * slot)) & 3))
    return slots


@kernel
def permuted(cards, frame):
    """A bit set of cards with its suits in the order of a frame."""
    if frame == IDENTITY_FRAME:
        return cards
    a = (cards >> (8 * (frame & 3))) & 255
    b = (cards >> (8 * ((frame >> 2) & 3))) & 255
    c = (cards >> (8 * ((frame >> 4) & 3))) & 255
    d = (cards >> (8 * (frame >> 6))) & 255
    return a | (b << 8) | (c << 16) | (d << 24)


@kernel
def framed_calls(calls, frame):
    """Permute the strains of a run of six-bit call groups whose lowest bit is level 0, strain S."""
    framed = 0
    at = 0
    while calls:
        group = calls & 63
        new = group & 48
        for slot in range(4):
            new |= ((group >> ((frame >> (2 * slot)) & 3)) & 1) << slot
        framed |= new << at
        calls >>= 6
        at += 6
    return framed


@kernel
def write_mask(low, high, frame, out, row):
    """Write a legal set (two 64-bit halves) in a frame as bytes to `out[row]`, (n, mask_words(n_actions)) uint64."""
    if frame != IDENTITY_FRAME:
        framed = permuted(low & 0xFFFFFFFF, frame)
        # calls 35.. cross bit 64 in the middle of level 4: split at a level, 35 + 24 = 59 and 59 + 54 = 113
        near = framed_calls((low >> FIRST_CALL) & 0xFFFFFF, frame)
        far = framed_calls(((low >> 59) & 31) | (high << 5), frame)
        high = far >> 5
        low = framed | (low & (7 << PASS)) | (near << FIRST_CALL) | ((far & 31) << 59)
    store_bits(low, out, row, 0)
    store_bits(low >> 32, out, row, 4)
    if out.shape[1] > 8:
        store_bits(high, out, row, 8)
    if out.shape[1] > 12:
        store_bits(high >> 32, out, row, 12)


@kernel
def real_action(action, frame):
    """The engine's number of an action given in a frame."""
    if action < 32:
        return ((frame >> (2 * (action >> 3))) & 3) * 8 + (action & 7)
    if action < FIRST_CALL:
        return action
    level, strain = (action - FIRST_CALL) // 6, (action - FIRST_CALL) % 6
    return FIRST_CALL + 6 * level + (frame_suit(frame, strain) if strain < 4 else strain)


@kernel
def framed_action(action, frame):
    """An action of the engine as a frame writes it; the inverse of `real_action`."""
    slots = slots_of(frame)
    if action < 32:
        return ((slots >> (3 * (action >> 3))) & 7) * 8 + (action & 7)
    if action < FIRST_CALL:
        return action
    level, strain = (action - FIRST_CALL) // 6, (action - FIRST_CALL) % 6
    return FIRST_CALL + 6 * level + ((slots >> (3 * strain)) & 7)


@kernel
def _real_actions(actions, frames, out):
    for i in range(actions.shape[0]):
        out[i] = real_action(actions[i], frames[i])


@kernel
def _framed_actions(actions, frames, out):
    for i in range(actions.shape[0]):
        out[i] = framed_action(actions[i], frames[i])


def real_actions(actions: ArrayLike, frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) engine numbers of actions given in frames, as `observe_batch` returned them."""
    chosen = np.ascontiguousarray(actions, np.int64)
    out = np.empty_like(chosen)
    _real_actions(chosen, frames, out)
    return out


def framed_actions(actions: ArrayLike, frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) engine numbers of actions as their frames (n,) write them; the inverse of `real_actions`."""
    chosen = np.ascontiguousarray(actions, np.int64)
    out = np.empty_like(chosen)
    _framed_actions(chosen, np.ascontiguousarray(frames, np.int64), out)
    return out
