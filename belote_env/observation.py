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
from belote_env.bits import store_bits
from belote_env.cards import ALL_CARDS, NO_CARD
from belote_env.engine import legal_actions
from belote_env.frames import (
    IDENTITY_FRAME,
    canonical_frame,
    mask_words,
    permuted,
    slots_of,
    write_mask,
)
from belote_env.knowledge import void_suits
from belote_env.rules import Rules
from belote_env.state import FIRST_CALL, LEVEL_VALUES, NOBODY, PLAY, checked_seats


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

#: The lowest bit, and the lowest two, of each of eight bytes.
_LOWEST, _LOWEST_TWO = 0x0101010101010101, 0x0303030303030303


@kernel
def relative(seat, viewer):
    """One bit of me, next, partner, previous; none for NOBODY, which is negative."""
    return (1 << ((seat - viewer) & 3)) & ~(seat >> 63)


@kernel
def thermometer(value, size):
    """The lowest `value` of `size` bits, value at least 0."""
    return (1 << min(value, size)) - 1


@kernel
def framed_bids(bids, viewer, frame):
    """Eight bytes of `state.bids` with slots for suits and the bidder's place (me, next, partner, previous) on top."""
    strains = bids & 0x3F3F3F3F3F3F3F3F
    some = (((strains + 0x3F3F3F3F3F3F3F3F) >> 6) & _LOWEST) * 3  # in each byte with a bid
    places = (((bids >> 6) & _LOWEST_TWO) + (4 - viewer) * _LOWEST) & some
    if frame != IDENTITY_FRAME:
        suits = strains
        strains = suits & 0x3030303030303030
        for slot in range(4):
            strains |= ((suits >> ((frame >> (2 * slot)) & 3)) & _LOWEST) << slot
    return strains | (places << 6)


@kernel
def seat_byte(first, second, viewer):
    """Two fields of me, next, partner, previous in one byte."""
    return relative(first, viewer) | (relative(second, viewer) << 4)


@kernel
def table_runs(states, i, viewer, slots, voids):
    """Bits from `turned_rank` to `winner`, from `phase` to `declared_side`, and of `voids` and `pot`."""
    # arithmetic instead of `if`, as in `engine.play_card`
    s = states[i]
    phase = np.int64(s.phase)
    card = np.int64(s.turned)
    taker = np.int64(s.taker)
    strain = np.int64(s.strain)
    some = np.int64(card != NO_CARD)
    card &= 31
    turned = ((1 << (card & 7)) | (256 << ((slots >> (3 * (card >> 3))) & 7))) & -some
    holds = some & (np.int64(s.hands[taker & 3]) >> card)
    turned |= (relative(taker, viewer) & -holds) << 12
    turned |= seat_byte(np.int64(s.turn), np.int64(s.dealer), viewer) << 16
    turned |= (seat_byte(np.int64(s.leader), np.int64(s.winner), viewer) << 24) & -np.int64(phase == PLAY)
    doubled = np.int64(s.multiplier) >> 1  # 1, 2, 4: none, coinche, surcoinche
    doubled |= doubled >> 1
    round_two = some & np.int64((taker != NOBODY) & (np.int64(s.n_calls) > 4))
    seats = ((1 << phase) & 31) | (round_two << 5) | (doubled << 6)
    seats |= seat_byte(taker, np.int64(s.coinche_by), viewer) << 8
    seats |= relative(np.int64(s.surcoinche_by), viewer) << 16
    shown = np.int64(s.shown_by)
    seats |= (((shown | (shown << 4)) >> viewer) & 15) << 20
    seats |= (1 << (24 + ((slots >> (3 * (strain & 7))) & 7))) & ~(strain >> 63)
    pot = np.int64(s.pot)
    for k in range(4):
        voids |= np.int64(pot > k * _STEPS_POT) << (12 + k)
    return turned, seats, voids


@kernel
def count_runs(states, i, viewer, rules):
    """Bits of `points_us` and `points_them`, and from `tricks_us` to `score_them`: all thermometers."""
    s = states[i]
    us, them = viewer & 1, 1 - (viewer & 1)
    step = np.int64(rules[0].score_step)
    points = thermometer(np.int64(s.points[us]) >> _SHIFT_POINTS, 20)
    points |= thermometer(np.int64(s.points[them]) >> _SHIFT_POINTS, 20) << 20
    counts = thermometer(np.int64(s.won[us]), 8) | (thermometer(np.int64(s.won[them]), 8) << 8)
    counts |= thermometer((np.int64(s.scores[us]) * step) >> 40, 12) << 16
    counts |= thermometer((np.int64(s.scores[them]) * step) >> 40, 12) << 28
    return points, counts


@kernel
def observe(states, i, viewer, rules, frame, out, row):
    """Write what `viewer` sees of `states[i]` to `out[row]`, a (n, WORDS) uint64 view of (n, SIZE) uint8 bits.

    Every run of 32 bits of the layout is put together in a register and stored once.
    """
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
    store_bits(hand, out, row, 0)
    store_bits(mine, out, row, 4)
    store_bits(theirs_1, out, row, 8)
    store_bits(theirs_2, out, row, 12)
    store_bits(theirs_3, out, row, 16)
    n = np.int64(s.n_cards)
    on_table = n & 3
    leader = np.int64(s.leader)
    for k in range(1, 4):
        place = (viewer + k - leader) & 3
        card = 1 << np.int64(s.cards[(n - on_table + place) & 31])
        store_bits(permuted(card if place < on_table else 0, frame), out, row, 16 + 4 * k)
    store_bits(permuted(np.int64(s.when[0]), frame), out, row, 32)
    store_bits(permuted(np.int64(s.when[1]), frame), out, row, 36)
    store_bits(permuted(np.int64(s.when[2]), frame), out, row, 40)
    store_bits(possible_1, out, row, 44)
    store_bits(possible_2, out, row, 48)
    store_bits(possible_3, out, row, 52)
    voids = void_suits(possible_1) | (void_suits(possible_2) << 4) | (void_suits(possible_3) << 8)
    slots = slots_of(frame)
    turned, seats, voids = table_runs(states, i, viewer, slots, voids)
    points, counts = count_runs(states, i, viewer, rules)
    store_bits(turned, out, row, 56)
    store_bits(seats, out, row, 60)
    store_bits(voids | (points << 16), out, row, 64)
    store_bits((points >> 16) | (counts << 24), out, row, 68)
    store_bits(counts >> 8, out, row, 72)
    low, high = framed_bids(np.int64(s.bids[0]), viewer, frame), framed_bids(np.int64(s.bids[1]), viewer, frame)
    bits = np.int64(rules[0].bits)
    # three bytes of declarations, then the auction's thirteen
    store_bits(low << 24, out, row, 76)
    store_bits(low >> 8, out, row, 80)
    store_bits(((low >> 40) & 0xFFFFFF) | (high << 24), out, row, 84)
    store_bits(high >> 8, out, row, 88)
    store_bits(bits, out, row, 92)


@kernel
def observe_hidden(states, i, viewer, frame, out, row):
    """Write the hands of next, partner and previous to `out[row]`, a (n, HIDDEN_WORDS) uint64 view."""
    s = states[i]
    for k in range(1, 4):
        store_bits(permuted(np.int64(s.hands[(viewer + k) & 3]), frame), out, row, 4 * k - 4)


#: Fields that tell nothing to a seat about to bid: no card has been played, so they are empty or follow from its hand.
_PLAY_ONLY = {
    *("played_me", "played_next", "played_partner", "played_previous", "table_next", "table_partner", "table_previous"),
    *("trick_1", "trick_2", "trick_4", "possible_next", "possible_partner", "possible_previous", "voids"),
    *("leader", "winner", "belote", "points_us", "points_them", "tricks_us", "tricks_them"),
    *("declared_side", "declarations", "round_two"),
}


def varying_columns(rules: Rules, decision: str = "any") -> NDArray[np.int64]:
    """Indices of the observation bits that can differ under `rules`; a learner may drop the others.

    Args:
        decision: "any" for all that a seat may see at any time; "bid" or "play" for what tells two positions apart in
            which the seat itself is about to call or to play a card.

    Raises:
        ValueError: another decision.
    """
    if decision not in ("any", "bid", "play"):
        raise ValueError(f"decision={decision!r} is not one of 'any', 'bid', 'play'")
    moving = {"all", rules.bidding} | ({"declarations"} if rules.declarations else set())
    fields = {f.name for f in LAYOUT if f.moves in moving}
    if decision != "any":
        fields -= {"to_act"} | (_PLAY_ONLY if decision == "bid" else {"phase"})
        fields -= {"score_us", "score_them"} if rules.target == 0 else set()
        fields -= {"pot"} if rules.tie != "litige" else set()
    kept = [OFFSETS[f.name] + k for f in LAYOUT if f.name in fields for k in range(f.size)]
    if decision != "any":
        kept = [column for column in kept if column not in _never_bid(rules)]
    return np.array(kept, np.int64)


def _never_bid(rules: Rules) -> set[int]:
    """Columns of strains and levels that no bid of `rules` names."""
    bids = [divmod(bid - FIRST_CALL, 6) for bid in rules.bids]
    levels, strains = {level for level, _ in bids}, {strain for _, strain in bids}
    never = {OFFSETS["strain"] + strain for strain in range(6) if strain not in strains}
    for level in range(len(LEVEL_VALUES)):
        start = OFFSETS["auction"] + 8 * level
        never |= {start + k for k in range(8) if level not in levels or (k < 6 and k not in strains)}
    return never


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

    Raises:
        ValueError: not a seat for each state.
    """
    n = len(states)
    viewers = checked_seats(states, seats)
    observations = np.zeros((n, WORDS), np.uint64)
    masks = np.zeros((n, mask_words(rules.n_actions)), np.uint64)
    frames = np.zeros(n, np.int64)
    _observe_many(states, viewers, rules.packed, canonical, observations, masks, frames)
    flat = masks.view(np.int8).reshape(n, -1)[:, : rules.n_actions]
    return observations.view(np.uint8).reshape(n, SIZE), np.ascontiguousarray(flat), frames
