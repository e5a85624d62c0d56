"""Single questions to the rule book: which cards are legal, what does a deal score."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belote_env.cards import (
    ALL_TRUMP,
    CARD_NAMES,
    NO_CARD,
    NO_TRUMP,
    STRENGTH,
    mask_of,
    parse_card,
    parse_strain,
    split_cards,
)
from belote_env.notation import contract_numbers, rules_text
from belote_env.rules import Rules, as_rules
from belote_env.scoring import deal_score
from belote_env.state import BID_TWO, MADE, NOBODY, PLAY, STATE, first_unsound, new_states
from belote_env.tricks import legal_cards as legal_set

Cards = str | Iterable[str]


class DealScore(NamedTuple):
    """What a deal scores: whether the contract was made, points of takers and defenders, points held back after it.

    A litige is neither made nor failed: `made` is False then, and `pot` above 0, which it is after nothing else.
    """

    made: bool
    taker: int
    defenders: int
    pot: int


def shown(value: object) -> str:
    """A refused value as a message shows it: on one line, cut short when it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than 4300 digits
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """An integer of Python or NumPy as an int.

    Raises:
        ValueError: anything else, a bool and a float too, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= int(value) <= most:
        top = "2**64 - 1" if most == 2**64 - 1 else most
        raise ValueError(f"{name}={shown(value)}: a whole number from {least} to {top} is needed")
    return int(value)


def checked_states(name: str, states: Any, rules: Rules | None = None) -> NDArray[Any]:
    """States that kernels can work on: the given ones, or a copy in a row where they are scattered or read-only.

    Args:
        name: for the message.
        states: (n,) of `state.STATE`.
        rules: that they must be of as far as states tell; None asks nothing.

    Raises:
        ValueError: no states in a row, a damaged one, or one whose bidding or strain the rules do not have.
    """
    if not isinstance(states, np.ndarray) or states.dtype != STATE or states.ndim != 1:
        kind = f"{states.dtype.kind!r} of shape {states.shape}" if isinstance(states, np.ndarray) else shown(states)
        raise ValueError(f"{name}: an array (n,) of `STATE`, such as `Game.state`, is needed, not {kind}")
    if not (states.flags.c_contiguous and states.flags.writeable and states.flags.aligned):
        scattered, states = states, new_states(len(states))
        states[:] = scattered
    broken = first_unsound(states)
    if broken >= 0:
        raise ValueError(f"{name}[{broken}] is damaged: its fields contradict each other")
    if rules is not None:
        foreign = np.flatnonzero(_foreign(states, rules))
        if foreign.size:
            raise ValueError(f"{name}[{foreign[0]}] is of another game than {rules_text(rules)}")
    sound: NDArray[Any] = states
    return sound


def _foreign(states: NDArray[Any], rules: Rules) -> NDArray[np.bool_]:
    """(n,) whether a sound state cannot be of these rules."""
    phase, strain = states["phase"], states["strain"]
    turn_up, bids = phase <= BID_TWO, (states["bids"] != 0).any(axis=1)
    wrong = ((strain == NO_TRUMP) & (not rules.no_trump)) | ((strain == ALL_TRUMP) & (not rules.all_trump))
    if rules.bidding == "turn_up":
        other: NDArray[np.bool_] = wrong | (~turn_up & (phase < PLAY)) | bids
    else:
        other = wrong | turn_up | (states["turned"] != NO_CARD) | ((states["taker"] != NOBODY) & ~bids)
    return other


def card_list(cards: Cards) -> list[int]:
    """Card numbers of names in a list or in one text.

    Raises:
        ValueError: not card names.
        TypeError: neither a text nor a list.
    """
    if isinstance(cards, str):
        return split_cards(cards)
    if not isinstance(cards, Iterable):
        raise TypeError(f"cards are a text or a list of names, not {type(cards).__name__}")
    return [parse_card(c) for c in cards]


def legal_cards(rules: Rules | str, hand: Cards, trick: Cards = (), trump: str = "H") -> list[str]:
    """The cards of a hand that rules 4 allows, in the order of the hand.

    Args:
        rules: `Rules` or a preset's name.
        hand: the mover's cards.
        trick: cards on the table in order of play; the mover is seat `len(trick)` counted from the leader.
        trump: a strain.

    Raises:
        ValueError: no card, more than eight, a card twice, more than three in the trick, an unknown name, or a strain
            that the rules do not have.
    """
    table = as_rules(rules)
    held, played, strain = card_list(hand), card_list(trick), parse_strain(trump)
    if (strain == NO_TRUMP and not table.no_trump) or (strain == ALL_TRUMP and not table.all_trump):
        raise ValueError(f"{trump!r} is not a strain of {rules_text(table)}")
    if not held or len(set(held + played)) != len(held + played):
        raise ValueError(f"hand {hand!r} and trick {trick!r} must hold different cards, and the hand at least one")
    if len(held) > 8:
        raise ValueError(f"a hand has at most eight cards, not {len(held)}: {hand!r}")
    if len(played) > 3:
        raise ValueError(f"a trick that waits for a card has at most three: {trick!r}")
    if not played:
        return [CARD_NAMES[c] for c in held]
    led = played[0] // 8
    best = max(played, key=lambda c: int(STRENGTH[strain, led, c]))
    partner_best = played.index(best) == len(played) - 2
    legal = int(legal_set(mask_of(held), led, best, partner_best, strain, table.packed))
    return [CARD_NAMES[c] for c in held if legal >> c & 1]


def score_deal(
    rules: Rules | str,
    taker_points: int,
    defender_points: int,
    belote: str | tuple[int, int] | None = None,
    taker_tricks: int | None = None,
    value: int | None = None,
    multiplier: int = 1,
    pot: int = 0,
    declarations: tuple[int, int] = (0, 0),
) -> DealScore:
    """Count a deal (rules 6).

    Args:
        rules: `Rules` or a preset's name.
        taker_points, defender_points: trick points with the 10 or 100 of the last trick; 162 or 252 together.
        belote: who holds it: "taker", "defenders" or None; or the points of belote that takers and defenders hold,
            multiples of 20. Where all-trump has a belote in each suit they are up to 80 together, elsewhere 20.
        taker_tricks: 0..8; None means 8 or 0 where a side has 252, else neither.
        value: of the bid, in auction games.
        multiplier: 1, 2 after a coinche, 4 after a surcoinche; the factor comes from the rules.
        pot: points held back by earlier litiges, 0..10000; 0 where the rules have none.
        declarations: (takers, defenders), already compared (rules 7.2).

    Raises:
        ValueError: a number that is not whole, points that do not add up, or what the rules do not have.
    """
    table = as_rules(rules)
    twenties = _belote_points(table, belote)
    announced = _pair("declarations", declarations, 2000)
    if announced != (0, 0) and not table.declarations:
        raise ValueError(f"declarations={announced}: {rules_text(table)} has none")
    points = (
        whole_number("taker_points", taker_points, 0, 252),
        whole_number("defender_points", defender_points, 0, 252),
    )
    if sum(points) not in (162, 252) or (sum(points) == 252 and 0 not in points):
        raise ValueError(f"trick points {points}: they are 162 together, or 252 and 0 at a capot")
    pot = whole_number("pot", pot, 0, 10_000)
    if pot and table.tie != "litige":
        raise ValueError(f"pot={pot}: {rules_text(table)} has no litige")
    capot_tricks = {(252, 0): 8, (0, 252): 0}.get(points)
    if taker_tricks is None:
        taker_tricks = 1 if capot_tricks is None else capot_tricks
    taker_tricks = whole_number("taker_tricks", taker_tricks, 0, 8)
    if (capot_tricks is None) == (taker_tricks in (0, 8)) or (
        capot_tricks is not None and capot_tricks != taker_tricks
    ):
        raise ValueError(f"taker_tricks={taker_tricks} contradicts trick points {points}: a capot counts 252")
    bid = None if value is None else whole_number("value", value, 80, 500)
    _, level, call = contract_numbers(table, bid, "S", whole_number("multiplier", multiplier, 1, 4))
    made, taker, defenders, kept = deal_score(table.packed, *points, taker_tricks, *twenties, level, call, pot)
    return DealScore(int(made) == MADE, int(taker), int(defenders), int(kept))


def _belote_points(rules: Rules, belote: object) -> tuple[int, int]:
    """Points of belote that takers and defenders hold."""
    if belote is None:
        return 0, 0
    if isinstance(belote, str):
        if belote not in ("taker", "defenders"):
            raise ValueError(f"belote={shown(belote)} is not 'taker', 'defenders', None or a pair of points")
        return (20, 0) if belote == "taker" else (0, 20)
    points = _pair("belote", belote, 80)
    most = 80 if rules.all_trump and rules.all_trump_belote == "each_suit" else 20
    if points[0] % 20 or points[1] % 20 or sum(points) > most:
        raise ValueError(f"belote={points}: multiples of 20 are needed, at most {most} together at {rules_text(rules)}")
    return points


def _pair(name: str, value: object, most: int) -> tuple[int, int]:
    """Points of takers and defenders."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name}={shown(value)}: a pair of points is needed, (takers, defenders)")
    taker, defenders = (whole_number(f"{name}[{k}]", part, 0, most) for k, part in enumerate(value))
    return taker, defenders
