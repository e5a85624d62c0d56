"""What a seat sees, as one flat vector of bits (0/1), identical in length for every preset.

`LAYOUT` is the only description: offsets, size, digest, docs page and tests follow from it.  Seats are relative to
the viewer: me, next, partner, previous.  Suits are written in a *frame*: slot k shows suit `frame_suit(frame, k)`.
`IDENTITY_FRAME` is S H D C; the canonical frame puts trump first, so that a learner meets each position once.
Law: resample the cards the viewer cannot see and no byte changes.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belote_env._jit import kernel
from belote_env.cards import ALL_CARDS, NO_CARD
from belote_env.engine import legal_actions
from belote_env.frames import (
    EXPAND,
    IDENTITY_FRAME,
    canonical_frame,
    permuted,
    slots_of,
    write_cards,
    write_mask,
)
from belote_env.knowledge import void_suits
from belote_env.rules import Rules, choice
from belote_env.state import (
    NOBODY,
    PLAY,
)


class Field(NamedTuple):
    """One run of bits of the observation."""

    name: str
    size: int
    meaning: str
    #: which rules move it: all games, "turn_up", "auction", "declarations", or "rules" (constant within a game).
    moves: str = "all"


_CARDS = "32 cards, slot * 8 + rank"
_SEATS = "one of me, next, partner, previous"

LAYOUT: tuple[Field, ...] = (
    Field("hand", 32, f"cards I hold ({_CARDS})"),
    Field("played_me", 32, "cards I have played in this deal"),
    Field("played_next", 32, "cards the next seat has played"),
    Field("played_partner", 32, "cards my partner has played"),
    Field("played_previous", 32, "cards the previous seat has played"),
    Field("table_next", 32, "the next seat's card in the trick on the table"),
    Field("table_partner", 32, "my partner's card in the trick on the table"),
    Field("table_previous", 32, "the previous seat's card in the trick on the table"),
    Field("trick_1", 32, "played cards whose trick number 0..7 has bit 1"),
    Field("trick_2", 32, "played cards whose trick number has bit 2"),
    Field("trick_4", 32, "played cards whose trick number has bit 4"),
    Field("possible_next", 32, "cards nobody has shown that the next seat may hold, after voids and ceilings"),
    Field("possible_partner", 32, "the same for my partner"),
    Field("possible_previous", 32, "the same for the previous seat"),
    Field("turned_rank", 8, "rank of the turned card", "turn_up"),
    Field("turned_suit", 4, "slot of the turned card's suit", "turn_up"),
    Field("turned_holder", 4, f"who still holds the turned card: {_SEATS}", "turn_up"),
    Field("to_act", 4, f"whose turn it is: {_SEATS}"),
    Field("dealer", 4, f"{_SEATS}"),
    Field("leader", 4, f"who led the trick on the table: {_SEATS}"),
    Field("winner", 4, f"who is winning it: {_SEATS}"),
    Field("phase", 5, "round one, round two, auction, answer to a coinche, play; none once the deal is over"),
    Field("round_two", 1, "trump was named in round two", "turn_up"),
    Field("doubled", 1, "coinche has been called", "auction"),
    Field("redoubled", 1, "surcoinche has been called", "auction"),
    Field("taker", 4, f"who holds the contract, or the standing bid: {_SEATS}"),
    Field("coinche_by", 4, f"{_SEATS}", "auction"),
    Field("surcoinche_by", 4, f"{_SEATS}", "auction"),
    Field("belote", 4, "seats that have shown belote"),
    Field("strain", 6, "of the contract or standing bid: four slots, no-trump, all-trump"),
    Field("declared_side", 2, "whose declarations count: ours, theirs", "declarations"),
    Field("voids", 12, "next, partner, previous × four slots: known to hold none of the suit"),
    Field("pot", 4, "points held back by litige, thermometer: 1, 41, 81, 121 or more"),
    Field("points_us", 20, "our trick points, thermometer in steps of 8 from 8 to 160"),
    Field("points_them", 20, "their trick points, likewise"),
    Field("tricks_us", 8, "tricks we have taken, thermometer"),
    Field("tricks_them", 8, "tricks they have taken, thermometer"),
    Field("score_us", 12, "our match score against the target, thermometer in twelfths"),
    Field("score_them", 12, "their match score, likewise"),
    Field("declarations", 24, "me, next, partner, previous × 20, 50, 100, 150, 200, 250 or more", "declarations"),
    Field(
        "auction",
        104,
        "levels 80…160, 250, 170, 180, 500 × (strain bid: four slots, no-trump, all-trump; by their side; by partner "
        "or previous); passes follow, since bids come in turn",
        "auction",
    ),
    Field("rules", 32, "the rules in force, bit by bit as `rules.Rules.bits`", "rules"),
)

SIZE = sum(field.size for field in LAYOUT)
WORDS = SIZE // 8
OFFSETS: dict[str, int] = {}
for _field in LAYOUT:
    OFFSETS[_field.name] = sum(f.size for f in LAYOUT[: len(OFFSETS)])
#: Hands of next, partner, previous: what a centralised critic sees besides the observation.
HIDDEN_SIZE = 96
HIDDEN_WORDS = HIDDEN_SIZE // 8
STATE_SIZE = SIZE + HIDDEN_SIZE
#: Twelve hex digits that change whenever the layout does.
LAYOUT_DIGEST = hashlib.sha256(repr([(f.name, f.size, f.meaning) for f in LAYOUT]).encode()).hexdigest()[:12]

_STEPS_POT, _SHIFT_POINTS = 40, 3

BY_AUCTION = choice("bidding", "auction")
_AT = OFFSETS
_W_TURNED = _AT["turned_rank"] // 8
_W_ACT = _AT["to_act"] // 8
_W_POINTS = _AT["points_us"] // 8
_W_DECLARATIONS = _AT["declarations"] // 8
_W_AUCTION = _AT["auction"] // 8
_W_RULES = _AT["rules"] // 8


@kernel
def relative(seat, viewer):
    """One bit of me, next, partner, previous; none for NOBODY."""
    return 0 if seat < 0 else 1 << ((seat - viewer) & 3)


@kernel
def thermometer(value, size):
    """The lowest `value` of `size` bits, value at least 0."""
    return (1 << min(value, size)) - 1


@kernel
def seat_byte(first, second, viewer):
    """Two fields of me, next, partner, previous in one byte."""
    return relative(first, viewer) | (relative(second, viewer) << 4)


@kernel
def observe(states, i, viewer, rules, frame, out, row):
    """Write what `viewer` sees of `states[i]` to `out[row]`, a (n, WORDS) uint64 view of (n, SIZE) uint8 bits."""
    s = states[i]
    after, partner, before = (viewer + 1) & 3, (viewer + 2) & 3, (viewer + 3) & 3
    hand = permuted(np.int64(s.hands[viewer]), frame)
    mine = permuted(np.int64(s.played[viewer]), frame)
    theirs_1 = permuted(np.int64(s.played[after]), frame)
    theirs_2 = permuted(np.int64(s.played[partner]), frame)
    theirs_3 = permuted(np.int64(s.played[before]), frame)
    # what `knowledge.possible_cards` says, in the frame
    unseen = ALL_CARDS & ~(hand | mine | theirs_1 | theirs_2 | theirs_3)
    possible_1 = unseen & ~permuted(np.int64(s.barred[after]), frame)
    possible_2 = unseen & ~permuted(np.int64(s.barred[partner]), frame)
    possible_3 = unseen & ~permuted(np.int64(s.barred[before]), frame)
    write_cards(hand, out, row, 0)
    write_cards(mine, out, row, 4)
    write_cards(theirs_1, out, row, 8)
    write_cards(theirs_2, out, row, 12)
    write_cards(theirs_3, out, row, 16)
    n = np.int64(s.n_cards)
    on_table = n & 3
    if on_table == 0:
        for k in range(20, 32):
            out[row, k] = 0
    else:
        leader = np.int64(s.leader)
        for k in range(1, 4):
            place = (viewer + k - leader) & 3
            card = 1 << np.int64(s.cards[n - on_table + place]) if place < on_table else 0
            write_cards(permuted(card, frame), out, row, 16 + 4 * k)
    write_cards(permuted(np.int64(s.when[0]), frame), out, row, 32)
    write_cards(permuted(np.int64(s.when[1]), frame), out, row, 36)
    write_cards(permuted(np.int64(s.when[2]), frame), out, row, 40)
    write_cards(possible_1, out, row, 44)
    write_cards(possible_2, out, row, 48)
    write_cards(possible_3, out, row, 52)
    voids = void_suits(possible_1) | (void_suits(possible_2) << 4) | (void_suits(possible_3) << 8)
    slots = slots_of(frame)
    write_table(states, i, viewer, slots, voids, out, row)
    write_counts(states, i, viewer, rules, out, row)
    if rules[0].bidding == BY_AUCTION:
        for level in range(13):
            bid = np.int64(s.bids[level])
            place = ((bid >> 3) - viewer) & 3
            shown = (1 << ((slots >> (3 * (bid & 7))) & 7)) | (place << 6)
            out[row, _W_AUCTION + level] = EXPAND[shown & -(bid >> 7)]
    else:
        for level in range(13):
            out[row, _W_AUCTION + level] = 0
    bits = np.int64(rules[0].bits)
    for k in range(4):
        out[row, _W_RULES + k] = EXPAND[(bits >> (8 * k)) & 255]


@kernel
def write_table(states, i, viewer, slots, voids, out, row):
    """The words from `turned_rank` to `pot`: who is where, and how the contract stands."""
    s = states[i]
    phase = np.int64(s.phase)
    turned = np.int64(s.turned)
    taker = np.int64(s.taker)
    strain = np.int64(s.strain)
    rank, place, round_two = 0, 0, 0
    if turned != NO_CARD:
        rank = 1 << (turned & 7)
        place = 1 << ((slots >> (3 * (turned >> 3))) & 7)
        if taker != NOBODY:
            if (np.int64(s.hands[taker]) >> turned) & 1:
                place |= relative(taker, viewer) << 4
            round_two = 1 if np.int64(s.n_calls) > 4 else 0
    phase_bit = (1 << phase) & 31
    doubled = np.int64(s.multiplier) >> 1  # 1, 2, 4: none, coinche, surcoinche
    doubled |= doubled >> 1
    shown = 0
    for suit in range(4):
        if np.int64(s.belote_shown[suit]) > 0:
            shown |= relative(np.int64(s.belote[suit]), viewer)
    trick = seat_byte(np.int64(s.leader), np.int64(s.winner), viewer) if phase == PLAY else 0
    pot = np.int64(s.pot)
    held = thermometer((pot + _STEPS_POT - 1) // _STEPS_POT, 4) if pot > 0 else 0
    out[row, _W_TURNED] = EXPAND[rank]
    out[row, _W_TURNED + 1] = EXPAND[place]
    out[row, _W_ACT] = EXPAND[seat_byte(np.int64(s.turn), np.int64(s.dealer), viewer)]
    out[row, _W_ACT + 1] = EXPAND[trick]
    out[row, _W_ACT + 2] = EXPAND[phase_bit | (round_two << 5) | (doubled << 6)]
    out[row, _W_ACT + 3] = EXPAND[seat_byte(taker, np.int64(s.coinche_by), viewer)]
    out[row, _W_ACT + 4] = EXPAND[relative(np.int64(s.surcoinche_by), viewer) | (shown << 4)]
    out[row, _W_ACT + 5] = EXPAND[1 << ((slots >> (3 * strain)) & 7) if strain >= 0 else 0]
    out[row, _W_ACT + 6] = EXPAND[voids & 255]
    out[row, _W_ACT + 7] = EXPAND[(voids >> 8) | (held << 4)]


@kernel
def write_counts(states, i, viewer, rules, out, row):
    """The words from `points_us` to `declarations`: all thermometers."""
    s = states[i]
    us, them = viewer & 1, 1 - (viewer & 1)
    step = np.int64(rules[0].score_step)
    points = thermometer(np.int64(s.points[us]) >> _SHIFT_POINTS, 20)
    points |= thermometer(np.int64(s.points[them]) >> _SHIFT_POINTS, 20) << 20
    scores = thermometer((np.int64(s.scores[us]) * step) >> 40, 12)
    scores |= thermometer((np.int64(s.scores[them]) * step) >> 40, 12) << 12
    for k in range(5):
        out[row, _W_POINTS + k] = EXPAND[(points >> (8 * k)) & 255]
    out[row, _W_POINTS + 5] = EXPAND[thermometer(np.int64(s.won[us]), 8)]
    out[row, _W_POINTS + 6] = EXPAND[thermometer(np.int64(s.won[them]), 8)]
    for k in range(3):
        out[row, _W_POINTS + 7 + k] = EXPAND[(scores >> (8 * k)) & 255]
    for k in range(3):
        out[row, _W_DECLARATIONS + k] = 0


@kernel
def observe_hidden(states, i, viewer, frame, out, row):
    """Write the hands of next, partner and previous to `out[row]`, a (n, HIDDEN_WORDS) uint64 view."""
    s = states[i]
    for k in range(1, 4):
        write_cards(permuted(np.int64(s.hands[(viewer + k) & 3]), frame), out, row, 4 * k - 4)


def varying_columns(rules: Rules) -> NDArray[np.int64]:
    """Indices of the observation bits that can change under `rules`; a learner may drop the others."""
    moving = {"all", rules.bidding} | ({"declarations"} if rules.declarations else set())
    return np.array(
        [OFFSETS[f.name] + k for f in LAYOUT if f.moves in moving for k in range(f.size)],
        np.int64,
    )


def field_bits(observation: NDArray[np.generic], name: str) -> NDArray[np.generic]:
    """The bits of one field of an observation (…, SIZE).

    Raises:
        KeyError: no such field.
    """
    start = OFFSETS[name]
    size = next(f.size for f in LAYOUT if f.name == name)
    return observation[..., start : start + size]


@kernel
def _observe_many(states, seats, rules, canonical, observations, masks, frames):
    for i in range(states.shape[0]):
        seat = np.int64(seats[i])
        frame = canonical_frame(states, i, seat) if canonical else IDENTITY_FRAME
        frames[i] = frame
        observe(states, i, seat, rules, frame, observations, i)
        if np.int64(states[i].turn) == seat:
            low, high = legal_actions(states, i, rules)
            write_mask(low, high, frame, masks, i, masks.shape[1])


def observe_batch(
    states: NDArray[Any], seats: ArrayLike, rules: Rules, canonical: bool = True
) -> tuple[NDArray[np.uint8], NDArray[np.int8], NDArray[np.int64]]:
    """What one seat sees of each state, in fresh arrays.

    Args:
        states: (n,) of `state.STATE`.
        seats: (n,) the viewer of each.
        rules: of all of them.
        canonical: use the canonical frame instead of S H D C.

    Returns:
        observations (n, SIZE) uint8; masks (n, rules.n_actions) int8, zeros where it is not the viewer's turn;
        frames (n,) int64 for `real_actions`.
    """
    n = len(states)
    viewers = np.ascontiguousarray(seats, np.int64)
    observations = np.zeros((n, WORDS), np.uint64)
    masks = np.zeros((n, -(-rules.n_actions // 8)), np.uint64)
    frames = np.zeros(n, np.int64)
    _observe_many(states, viewers, rules.packed, canonical, observations, masks, frames)
    flat = masks.view(np.int8).reshape(n, -1)[:, : rules.n_actions]
    return observations.view(np.uint8).reshape(n, SIZE), np.ascontiguousarray(flat), frames
