"""`Heuristic`: weighs every card by one trick of probability and what the card is worth in hand.

It reads what the seat to act can know: own hand, cards played, `knowledge.possible_cards`, the turned card.  A hidden
hand is taken as drawn evenly from the cards that its seat may hold.
"""

from dataclasses import asdict, dataclass, fields
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env._jit import kernel
from belote_env.bits import count_bits, lowest_bit
from belote_env.cards import (
    ACE,
    ALL_TRUMP,
    HIGHER,
    KING,
    POINTS,
    QUEEN,
    STRENGTH,
    SUIT_MASK,
    TEN,
    TRUMP_MASK,
)
from belote_env.engine import legal_actions
from belote_env.knowledge import possible_cards, unseen_cards
from belote_env.players.player import Actions, Player, States
from belote_env.rulings import shown
from belote_env.state import AUCTION, BID_ONE, CAPOT_LEVEL, COINCHE, FIRST_CALL, PASS, PLAY, VALUES


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What the heuristic weighs with; all in card points.

    The values won duplicate matches at `classic`, those of auctions at `contree`.  They are a yardstick: a measured
    result names this player, so they stay as they are; a better player gets another name.

    Taking: the sum of the `trump_…`, `length` and `side_…` terms over the hand and the turned card against
    `take_one` or `take_two`; lower thresholds make a bold player, higher ones a timid player.
    Playing: (2 × chance to win the trick − 1) × (points in it and still to come) − what the card is worth in hand.
    """

    #: what a hand must be worth to take in round one, or to name another suit in round two.
    take_one: float = 45.5
    take_two: float = 43.0
    #: in auctions: a hand bids this much and so much for each point it is worth with its best suit as trump; it raises
    #: the partner's bid once, by so much for each point above a base that it is worth in the partner's suit; it doubles
    #: when it is worth `coinche` or more with the other side's strain as trump.
    bid_base: float = 30.0
    bid_slope: float = 1.0
    raise_base: float = 30.0
    raise_slope: float = 1.0
    coinche: float = 70.0
    #: worth of trumps by rank, 7 8 9 J Q K 10 A, and of K and Q together above their own.
    trump_rank: tuple[float, ...] = (4.0, 4.0, 19.0, 32.0, 9.5, 6.0, 8.0, 10.0)
    trump_belote: float = 10.0
    #: worth of holding 0, 1, … 6 trumps, above the ranks.
    length: tuple[float, ...] = (0.0, -12.0, 0.0, 6.0, 15.0, 12.5, 28.0)
    #: worth of a side suit's ace, of its ten beside the ace and without it, and of having none of it.
    side_ace: float = 8.5
    side_ten_guarded: float = 8.0
    side_ten: float = 2.5
    side_void: float = 4.0
    #: what a card is worth in hand when 0, 1, 2, or more cards above it are out: a trump, then a plain card.
    keep_trump: tuple[float, ...] = (22.0, 11.5, 8.0, 5.0)
    keep_plain: tuple[float, ...] = (1.0, 2.0, 1.0, 0.0)
    #: and this much more for each of its points.
    share_trump: tuple[float, ...] = (0.5, 0.55, 0.25, -0.35)
    share_plain: tuple[float, ...] = (0.0, 0.05, -0.3, -0.3)
    #: less for a plain card while the other side may have trumps; more for any card that nothing beats, near the end.
    keep_ruffed: float = 3.0
    keep_last: float = 2.5
    #: chance that a partner who could save a trick does.
    rescue: float = 0.65
    #: worth of leading trump while the other side may have some: as taker, as his partner, as a defender.
    draw_taker: float = -5.5
    draw_partner: float = 11.5
    draw_defender: float = -9.5
    #: worth of leading a lone plain card that can be beaten while holding trumps.
    singleton: float = -5.5
    #: worth of leading from a ten while its ace is out.
    open_ten: float = -3.0


_SHAPES = {f.name: len(f.default) if isinstance(f.default, tuple) else 0 for f in fields(Parameters)}
_PACKED = np.dtype(
    (np.record, [(name, np.float64, (size,)) if size else (name, np.float64) for name, size in _SHAPES.items()])
)

#: Parameters beyond this are refused: sums of them would drown what they are compared with.
_MOST = 1_000_000

#: (33, 9, 9) chance that h cards drawn from n hold none of k given ones.
MISS = np.array(
    [
        [[comb(n - k, h) / comb(n, h) if h <= n and k <= n else 0.0 for k in range(9)] for h in range(9)]
        for n in range(33)
    ]
)
#: rules 1.4, 9: card points in the pack, under every strain.
_PACK_POINTS = 152


@kernel
def hand_worth(cards, suit, p):
    """What a hand, the turned card with it, is worth to take with `suit` as trump."""
    q = p[0]
    worth = 0.0
    for s in range(4):
        held = (cards >> (8 * s)) & 255
        if s == suit:
            for rank in range(8):
                if (held >> rank) & 1:
                    worth += q.trump_rank[rank]
            if (held >> QUEEN) & (held >> KING) & 1:
                worth += q.trump_belote
            worth += q.length[min(count_bits(held), 6)]
        elif held == 0:
            worth += q.side_void
        else:
            if (held >> ACE) & 1:
                worth += q.side_ace
            if (held >> TEN) & 1:
                worth += q.side_ten_guarded if (held >> ACE) & 1 else q.side_ten
    return worth


@kernel
def highest_call(low, high, suit, reach):
    """The highest legal call below capot in a suit whose value is at most `reach`, else a pass."""
    for level in range(CAPOT_LEVEL - 1, -1, -1):
        call = FIRST_CALL + 6 * level + suit
        if VALUES[level] <= reach and ((low >> call) & 1 if call < 64 else (high >> (call - 64)) & 1):
            return call
    return PASS


@kernel
def has_bid(states, i, seat):
    """Whether a seat has bid in the auction of this deal."""
    s = states[i]
    for k in range((seat - np.int64(s.dealer) - 1) & 3, np.int64(s.n_calls), 4):
        if np.int64(s.calls[k]) >= FIRST_CALL:
            return True
    return False


@kernel
def choose_bid(states, i, seat, low, high, p):
    """Bid what the best suit is worth, raise the partner once, double a bid in one's own strength (rules 3.3, 3.4)."""
    s = states[i]
    hand = np.int64(s.hands[seat])
    taker = np.int64(s.taker)
    strain = np.int64(s.strain)
    if np.int64(s.phase) != AUCTION or taker == seat:
        return PASS
    if taker == (seat + 2) & 3:
        if strain > 3 or has_bid(states, i, seat):
            return PASS
        more = p[0].raise_slope * (hand_worth(hand, strain, p) - p[0].raise_base)
        return highest_call(low, high, strain, VALUES[s.level] + more)
    if (low >> COINCHE) & 1 and strain < 4 and hand_worth(hand, strain, p) >= p[0].coinche:
        return COINCHE
    best, suit = -1e9, 0
    for candidate in range(4):
        worth = hand_worth(hand, candidate, p)
        if worth > best:
            best, suit = worth, candidate
    return highest_call(low, high, suit, p[0].bid_base + p[0].bid_slope * best)


@kernel
def choose_call(states, i, seat, low, p):
    """Take, name the best suit, or pass (rules 3.1)."""
    s = states[i]
    phase = np.int64(s.phase)
    cards = np.int64(s.hands[seat]) | (1 << np.int64(s.turned))
    best, call = p[0].take_one if phase == BID_ONE else p[0].take_two, PASS
    for suit in range(4):
        if (low >> (FIRST_CALL + suit)) & 1:
            worth = hand_worth(cards, suit, p)
            if worth >= best:
                best, call = worth, FIRST_CALL + suit
    return call


@kernel
def beat_chance(possible, size, strain, led, best):
    """Chance that a hand of `size` out of `possible` beats `best` when it must follow `led`."""
    n = count_bits(possible)
    if n < size or size == 0:
        return 0.0
    follow = possible & SUIT_MASK[led]
    higher = count_bits(possible & HIGHER[strain, best])
    if best >> 3 == led and (led == strain or strain == ALL_TRUMP):
        return 1.0 - MISS[n, size, higher]
    suited = count_bits(follow)
    trumps = possible & TRUMP_MASK[strain]
    chance = 0.0
    if best >> 3 == led:
        chance = 1.0 - MISS[n, size, higher]
        ruffs = count_bits(trumps)
    else:
        ruffs = higher  # `best` is a trump
    if n - suited >= size:
        chance += MISS[n, size, suited] * (1.0 - MISS[n - suited, size, ruffs])
    return chance


@kernel
def win_chance(card, ours, led, best, strain, place, possible, sizes, rescue):
    """Chance that the mover's side wins the trick.

    Args:
        card: what the mover plays.
        ours: whether the mover's side is winning before it.
        led, best: of the trick once `card` lies there, `best` being the better of the old best and `card`.
        place: 0..3 of the mover in the trick.
        possible, sizes: of next, partner and previous at 1, 2, 3: cards they may hold, and how many.
        rescue: as in `Parameters`.
    """
    if best == card:
        ours = True
    if place == 3:
        return 1.0 if ours else 0.0
    next_beats = beat_chance(possible[1], sizes[1], strain, led, best)
    if place == 2:
        return 1.0 - next_beats if ours else 0.0
    partner_beats = beat_chance(possible[2], sizes[2], strain, led, best) * rescue
    safe = 1.0 - next_beats
    if place == 0:
        safe *= 1.0 - beat_chance(possible[3], sizes[3], strain, led, best)
    if ours:
        return safe + (1.0 - safe) * partner_beats
    return safe * partner_beats


@kernel
def keep_worth(card, strain, unseen, their_trumps, own, p):
    """What a card is worth in hand. `own`: number of cards in hand."""
    q = p[0]
    above = min(count_bits(HIGHER[strain, card] & unseen), 3)
    points = POINTS[strain, card]
    more = q.keep_last if above == 0 and own <= 3 else 0.0
    if (TRUMP_MASK[strain] >> card) & 1:
        return more + q.keep_trump[above] + q.share_trump[above] * points
    if their_trumps:
        more -= q.keep_ruffed
    return more + q.keep_plain[above] + q.share_plain[above] * points


@kernel
def lead_worth(card, hand, strain, unseen, their_trumps, role, p):
    """What leading a card is worth besides the trick. `role`: 0 taker, 1 his partner, 2 defender."""
    q = p[0]
    trumps = TRUMP_MASK[strain]
    if (trumps >> card) & 1:
        if not their_trumps:
            return 0.0
        return q.draw_taker if role == 0 else q.draw_partner if role == 1 else q.draw_defender
    suit = hand & SUIT_MASK[card >> 3]
    worth = 0.0
    if hand & trumps and suit == 1 << card and HIGHER[strain, card] & unseen:
        worth += q.singleton
    ten = (card | 7) - ACE + TEN
    if (suit >> ten) & 1 and HIGHER[strain, ten] & unseen:
        worth += q.open_ten
    return worth


@kernel
def choose_card(states, i, seat, legal, p, possible, sizes):
    """The card with the best one-trick expectation less what it is worth in hand. `possible`, `sizes`: scratch (4,)."""
    if legal & (legal - 1) == 0:
        return lowest_bit(legal)
    s = states[i]
    strain = np.int64(s.strain)
    hand = np.int64(s.hands[seat])
    unseen = unseen_cards(states, i, seat)
    n = np.int64(s.n_cards)
    place = n & 3
    own = count_bits(hand)
    to_come = 3 - place
    table = np.int64(0)
    for k in range(n - place, n):
        table += POINTS[strain, s.cards[k]]
    rest = np.int64(_PACK_POINTS) - table - np.int64(s.points[0]) - np.int64(s.points[1])
    cards = hand
    while cards:
        rest -= POINTS[strain, lowest_bit(cards)]
        cards &= cards - 1
    taker = np.int64(s.taker)
    for k in range(1, 4):
        possible[k] = possible_cards(states, i, seat, (seat + k) & 3)
        sizes[k] = own if k <= to_come else own - 1
    coming = rest * to_come / max(count_bits(unseen), 1)
    their_trumps = (possible[1] | possible[3]) & TRUMP_MASK[strain]
    role = 2 if (taker ^ seat) & 1 else 0 if taker == seat else 1
    ours = place > 0 and (np.int64(s.winner) ^ seat) & 1 == 0
    led = np.int64(s.cards[n - place]) >> 3 if place else -1
    old_best = np.int64(s.best)
    chosen, top = -1, -1e9
    cards = legal
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        suit = led if place else card >> 3
        best = card if place == 0 or STRENGTH[strain, suit, card] > STRENGTH[strain, suit, old_best] else old_best
        chance = win_chance(card, ours, suit, best, strain, place, possible, sizes, p[0].rescue)
        worth = (2.0 * chance - 1.0) * (table + POINTS[strain, card] + coming)
        worth -= keep_worth(card, strain, unseen, their_trumps, own, p)
        if place == 0:
            worth += lead_worth(card, hand, strain, unseen, their_trumps, role, p)
        if worth > top:
            chosen, top = card, worth
    return chosen


@kernel
def heuristic_actions(states, seats, rules, p, scratch, out):
    """Write the heuristic's action of every state to `out`. `scratch`: (2, 4) int64."""
    possible, sizes = scratch[0], scratch[1]
    for i in range(states.shape[0]):
        seat = np.int64(seats[i])
        low, high = legal_actions(states, i, rules)
        if np.int64(states[i].phase) == PLAY:
            out[i] = choose_card(states, i, seat, low, p, possible, sizes)
        elif np.int64(states[i].phase) >= AUCTION:
            out[i] = choose_bid(states, i, seat, low, high, p)
        else:
            out[i] = choose_call(states, i, seat, low, p)


def _check_parameter(name: str, value: object) -> None:
    if name not in _SHAPES:
        raise ValueError(f"{name!r} is not a parameter of Heuristic; there are {', '.join(_SHAPES)}")
    size = _SHAPES[name]
    numbers = value if size else (value,)
    if (
        not isinstance(numbers, (tuple, list))
        or len(numbers) != (size or 1)
        or not all(_is_parameter(x) for x in numbers)
    ):
        needed = f"{size} numbers are" if size else "one number is"
        raise ValueError(f"{name}={shown(value)}: {needed} needed, between -{_MOST} and {_MOST}")


def _is_parameter(x: object) -> bool:
    number = isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)
    return number and bool(-_MOST <= x <= _MOST)  # type: ignore[operator]


class Heuristic(Player):
    """A rule player: same position, same action.  In auctions it bids suits only.

    Args:
        parameters: any of `Parameters` by name, e.g. `take_one=50` for a player who takes more.

    Raises:
        ValueError: an unknown parameter, or a value that is no number, too large or of the wrong length.
    """

    def __init__(self, **parameters: float | tuple[float, ...]) -> None:
        for name, value in parameters.items():
            _check_parameter(name, value)
        parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}
        self.parameters = Parameters(**parameters)  # type: ignore[arg-type]
        self.name = "heuristic" + (f"({', '.join(f'{k}={v}' for k, v in parameters.items())})" if parameters else "")
        self._packed = np.zeros(1, _PACKED)
        for name, value in asdict(self.parameters).items():
            self._packed[name][0] = value

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        out = np.empty(len(states), np.int64)
        viewers, scratch = np.ascontiguousarray(seats, np.int64), np.empty((2, 4), np.int64)
        heuristic_actions(states, viewers, self.rules.packed, self._packed, scratch, out)
        return out
