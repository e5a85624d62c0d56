"""Single questions to the rule book: which cards are legal, what does a deal score."""

from collections.abc import Iterable
from typing import NamedTuple

from belote_env.cards import CARD_NAMES, STRENGTH, mask_of, parse_card, parse_strain, split_cards
from belote_env.notation import contract_numbers, rules_text
from belote_env.rules import Rules, as_rules
from belote_env.scoring import deal_score
from belote_env.state import MADE
from belote_env.tricks import legal_cards as legal_set

Cards = str | Iterable[str]


class DealScore(NamedTuple):
    """What a deal scores: whether the contract was made, points of takers and defenders, points held back after it."""

    made: bool
    taker: int
    defenders: int
    pot: int


def card_list(cards: Cards) -> list[int]:
    """Card numbers of names in a list or in one text.

    Raises:
        ValueError: not card names.
    """
    return split_cards(cards) if isinstance(cards, str) else [parse_card(c) for c in cards]


def legal_cards(rules: Rules | str, hand: Cards, trick: Cards = (), trump: str = "H") -> list[str]:
    """The cards of a hand that rules 4 allows, in the order of the hand.

    Args:
        rules: `Rules` or a preset's name.
        hand: the mover's cards.
        trick: cards on the table in order of play; the mover is seat `len(trick)` counted from the leader.
        trump: a strain.

    Raises:
        ValueError: no card, a card twice, more than three in the trick, or an unknown name.
    """
    table = as_rules(rules)
    held, played, strain = card_list(hand), card_list(trick), parse_strain(trump)
    if not held or len(set(held + played)) != len(held + played):
        raise ValueError(f"hand {hand!r} and trick {trick!r} must hold different cards, and the hand at least one")
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
    belote: str | None = None,
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
        belote: who holds it: "taker", "defenders" or None.
        taker_tricks: 0..8; None means 8 or 0 where a side has 252, else neither.
        value: of the bid, in auction games.
        multiplier: 1, 2 after a coinche, 4 after a surcoinche; the factor comes from the rules.
        pot: points held back by earlier litiges.
        declarations: (takers, defenders), already compared (rules 7.2).

    Raises:
        ValueError: points that do not add up, or a contract that the rules do not have.
    """
    table = as_rules(rules)
    if belote not in (None, "taker", "defenders"):
        raise ValueError(f"belote={belote!r} is not 'taker', 'defenders' or None")
    if declarations != (0, 0) and not table.declarations:
        raise ValueError(f"declarations={declarations}: {rules_text(table)} has none")
    points = (taker_points, defender_points)
    if min(points) < 0 or sum(points) not in (162, 252) or (sum(points) == 252 and 0 not in points):
        raise ValueError(f"trick points {points}: they are 162 together, or 252 and 0 at a capot")
    if pot < 0:
        raise ValueError(f"pot={pot} is below 0")
    capot_tricks = {(252, 0): 8, (0, 252): 0}.get(points)
    if taker_tricks is None:
        taker_tricks = 1 if capot_tricks is None else capot_tricks
    if (
        not 0 <= taker_tricks <= 8
        or (capot_tricks is None) == (taker_tricks in (0, 8))
        or (capot_tricks is not None and capot_tricks != taker_tricks)
    ):
        raise ValueError(f"taker_tricks={taker_tricks} contradicts trick points {points}: a capot counts 252")
    _, level, call = contract_numbers(table, value, "S", multiplier)
    twenty = (20 if belote == "taker" else 0, 20 if belote == "defenders" else 0)
    made, taker, defenders, kept = deal_score(table.packed, *points, taker_tricks, *twenty, level, call, pot)
    return DealScore(int(made) == MADE, int(taker), int(defenders), int(kept))
