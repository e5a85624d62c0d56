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
from belote_env.cards import NO_CARD
from belote_env.engine import legal_actions
from belote_env.frames import (
    EXPAND,
    IDENTITY_FRAME,
    canonical_frame,
    frame_slot,
    frame_suit,
    framed_strain,
    write_cards,
    write_mask,
)
from belote_env.knowledge import possible_cards, void_suits
from belote_env.rules import Rules, choice
from belote_env.state import (
    COINCHE,
    DEAL_OVER,
    FIRST_CALL,
    NOBODY,
    PLAY,
    SURCOINCHE,
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

_STEPS_POT, _STEPS_POINTS, _STEPS_SCORE = 40, 8, 12

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
    """The lowest `value` of `size` bits."""
    if value <= 0:
        return 0
    return (1 << min(value, size)) - 1


@kernel
def observe(states, i, viewer, rules, frame, out, row):
    """Write what `viewer` sees of `states[i]` to `out[row]`, a (n, WORDS) uint64 view of (n, SIZE) uint8 bits."""
    s = states[i]
    n = np.int64(s.n_cards)
    write_cards(np.int64(s.hands[viewer]), frame, out, row, 0)
    voids = 0
    for k in range(4):
        seat = (viewer + k) & 3
        write_cards(np.int64(s.played[seat]), frame, out, row, 4 + 4 * k)
        if k > 0:
            possible = possible_cards(states, i, viewer, seat)
            write_cards(possible, frame, out, row, 40 + 4 * k)
            empty = void_suits(possible)
            for slot in range(4):
                if (empty >> frame_suit(frame, slot)) & 1:
                    voids |= 1 << (4 * k - 4 + slot)
    on_table = n & 3
    leader = np.int64(s.leader)
    for k in range(1, 4):
        place = (viewer + k - leader) & 3
        card = 1 << np.int64(s.cards[n - on_table + place]) if place < on_table else 0
        write_cards(card, frame, out, row, 16 + 4 * k)
    for k in range(3):
        write_cards(np.int64(s.when[k]), frame, out, row, 32 + 4 * k)
    write_table(states, i, viewer, frame, voids, out, row)
    write_counts(states, i, viewer, rules, out, row)
    for k in range(13):
        out[row, _W_AUCTION + k] = 0
    if rules[0].bidding == BY_AUCTION:
        write_auction(states, i, viewer, frame, out, row)
    bits = np.int64(rules[0].bits)
    for k in range(4):
        out[row, _W_RULES + k] = EXPAND[(bits >> (8 * k)) & 255]


@kernel
def write_table(states, i, viewer, frame, voids, out, row):
    """The words from `turned_rank` to `pot`: who is where, and how the contract stands."""
    s = states[i]
    phase = np.int64(s.phase)
    turned = np.int64(s.turned)
    taker = np.int64(s.taker)
    strain = np.int64(s.strain)
    taken = taker != NOBODY
    rank, place, round_two = 0, 0, 0
    if turned != NO_CARD:
        rank = 1 << (turned & 7)
        place = 1 << frame_slot(frame, turned >> 3)
        if taken and (np.int64(s.hands[taker]) >> turned) & 1:
            place |= relative(taker, viewer) << 4
        round_two = 1 if taken and np.int64(s.n_calls) > 4 else 0
    in_play = phase == PLAY
    phase_bit = 0 if phase >= DEAL_OVER else 1 << phase
    doubled = (1 if np.int64(s.multiplier) > 1 else 0) | (2 if np.int64(s.multiplier) > 2 else 0)
    coinche_by, surcoinche_by = 0, 0
    if doubled:
        seat = np.int64(s.dealer)
        for k in range(np.int64(s.n_calls)):
            call = np.int64(s.calls[k])
            # 3.4: the second answer to a coinche is the first answerer's partner's
            seat = (seat + (2 if k > 1 and np.int64(s.calls[k - 2]) == COINCHE else 1)) & 3
            if call == COINCHE:
                coinche_by = relative(seat, viewer)
            elif call == SURCOINCHE:
                surcoinche_by = relative(seat, viewer)
    shown = 0
    for suit in range(4):
        if np.int64(s.belote_shown[suit]) > 0:
            shown |= relative(np.int64(s.belote[suit]), viewer)
    leader = relative(np.int64(s.leader), viewer) if in_play else 0
    winner = relative(np.int64(s.winner), viewer) if in_play else 0
    pot = thermometer((np.int64(s.pot) + _STEPS_POT - 1) // _STEPS_POT, 4)
    out[row, _W_TURNED] = EXPAND[rank]
    out[row, _W_TURNED + 1] = EXPAND[place]
    out[row, _W_ACT] = EXPAND[relative(np.int64(s.turn), viewer) | (relative(np.int64(s.dealer), viewer) << 4)]
    out[row, _W_ACT + 1] = EXPAND[leader | (winner << 4)]
    out[row, _W_ACT + 2] = EXPAND[phase_bit | (round_two << 5) | (doubled << 6)]
    out[row, _W_ACT + 3] = EXPAND[relative(taker, viewer) | (coinche_by << 4)]
    out[row, _W_ACT + 4] = EXPAND[surcoinche_by | (shown << 4)]
    out[row, _W_ACT + 5] = EXPAND[framed_strain(strain, frame)]
    out[row, _W_ACT + 6] = EXPAND[voids & 255]
    out[row, _W_ACT + 7] = EXPAND[(voids >> 8) | (pot << 4)]


@kernel
def write_counts(states, i, viewer, rules, out, row):
    """The words from `points_us` to `declarations`: all thermometers."""
    s = states[i]
    us, them = viewer & 1, 1 - (viewer & 1)
    target = np.int64(rules[0].target)
    points = thermometer(np.int64(s.points[us]) // _STEPS_POINTS, 20)
    points |= thermometer(np.int64(s.points[them]) // _STEPS_POINTS, 20) << 20
    won = thermometer(np.int64(s.won[us]), 8) | (thermometer(np.int64(s.won[them]), 8) << 8)
    scores = 0
    if target > 0:
        scores = thermometer(np.int64(s.scores[us]) * _STEPS_SCORE // target, 12)
        scores |= thermometer(np.int64(s.scores[them]) * _STEPS_SCORE // target, 12) << 12
    for k in range(5):
        out[row, _W_POINTS + k] = EXPAND[(points >> (8 * k)) & 255]
    for k in range(2):
        out[row, _W_POINTS + 5 + k] = EXPAND[(won >> (8 * k)) & 255]
    for k in range(3):
        out[row, _W_POINTS + 7 + k] = EXPAND[(scores >> (8 * k)) & 255]
    for k in range(3):
        out[row, _W_DECLARATIONS + k] = 0


@kernel
def write_auction(states, i, viewer, frame, out, row):
    """One byte a level that has been bid; a contract given without a bidding shows as its bid alone."""
    s = states[i]
    if np.int64(s.n_calls) == 0 and np.int64(s.taker) != NOBODY:
        place = (np.int64(s.taker) - viewer) & 3
        strain = framed_strain(np.int64(s.strain), frame)
        out[row, _W_AUCTION + np.int64(s.level)] = EXPAND[strain | ((place & 1) << 6) | ((place >> 1) << 7)]
    seat = np.int64(s.dealer)
    for k in range(np.int64(s.n_calls)):
        seat = (seat + 1) & 3
        call = np.int64(s.calls[k])
        if call >= FIRST_CALL:
            place = (seat - viewer) & 3
            strain = framed_strain((call - FIRST_CALL) % 6, frame)
            out[row, _W_AUCTION + (call - FIRST_CALL) // 6] = EXPAND[strain | ((place & 1) << 6) | ((place >> 1) << 7)]


@kernel
def observe_hidden(states, i, viewer, frame, out, row):
    """Write the hands of next, partner and previous to `out[row]`, a (n, HIDDEN_WORDS) uint64 view."""
    s = states[i]
    for k in range(1, 4):
        write_cards(np.int64(s.hands[(viewer + k) & 3]), frame, out, row, 4 * k - 4)


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
            write_mask(low, high, frame, masks, i)


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
