"""Cards, suits, strains and seats as small integers, with the tables every other room reads (rules 1).

card    0..31   suit * 8 + rank; a hand is a bit set of cards in a uint32, one byte per suit
rank    0..7    7 8 9 J Q K 10 A, the plain order of strength
suit    0..3    S H D C
strain  0..5    S H D C NT AT: what is trump
seat    0..3    in playing order; seats 0 and 2 are side 0, 1 and 3 are side 1
"""

import re

import numpy as np

RANKS = ("7", "8", "9", "J", "Q", "K", "10", "A")
SUITS = ("S", "H", "D", "C")
STRAINS = (*SUITS, "NT", "AT")
SEVEN, EIGHT, NINE, JACK, QUEEN, KING, TEN, ACE = range(8)
SPADES, HEARTS, DIAMONDS, CLUBS, NO_TRUMP, ALL_TRUMP = range(6)
NO_CARD = 32
ALL_CARDS = 0xFFFFFFFF

#: rules 1.2, 1.3: ranks from weak to strong.
PLAIN_ORDER = (SEVEN, EIGHT, NINE, JACK, QUEEN, KING, TEN, ACE)
TRUMP_ORDER = (SEVEN, EIGHT, QUEEN, KING, TEN, ACE, NINE, JACK)

#: points by rank (rules 1.2, 1.3; no-trump and all-trump: rules 9).
_PLAIN_POINTS = (0, 0, 0, 2, 3, 4, 10, 11)
_TRUMP_POINTS = (0, 0, 14, 20, 3, 4, 10, 11)
_NO_TRUMP_POINTS = (0, 0, 0, 2, 3, 4, 10, 19)
_ALL_TRUMP_POINTS = (0, 0, 9, 14, 1, 3, 5, 6)


def _ranks_as_trump(suit: int, strain: int) -> bool:
    return strain in (suit, ALL_TRUMP)


def _points(card: int, strain: int) -> int:
    suit, rank = divmod(card, 8)
    if strain == NO_TRUMP:
        return _NO_TRUMP_POINTS[rank]
    if strain == ALL_TRUMP:
        return _ALL_TRUMP_POINTS[rank]
    return _TRUMP_POINTS[rank] if suit == strain else _PLAIN_POINTS[rank]


def _strength(card: int, strain: int, led: int) -> int:
    """0 cannot win; 1–8 a plain card of the led suit; 9–16 a card that ranks as trump and can win."""
    suit, rank = divmod(card, 8)
    if suit == strain or (strain == ALL_TRUMP and suit == led):
        return 9 + TRUMP_ORDER.index(rank)
    if suit == led:
        return 1 + PLAIN_ORDER.index(rank)
    return 0  # rules 4: only trumps and cards of the led suit can win


def _higher(card: int, strain: int) -> int:
    """Bit set of the cards of the same suit that rank above `card`."""
    suit, rank = divmod(card, 8)
    order = TRUMP_ORDER if _ranks_as_trump(suit, strain) else PLAIN_ORDER
    return sum(1 << (suit * 8 + r) for r in order[order.index(rank) + 1 :])


#: (6, 32) points of a card under a strain.
POINTS = np.array([[_points(c, s) for c in range(32)] for s in range(6)], np.int64)
#: (6, 4, 33) strength of a card under a strain when a suit was led; the highest in a trick wins it, any beats no card.
STRENGTH = np.array(
    [[[_strength(c, s, led) for c in range(32)] + [-1] for led in range(4)] for s in range(6)], np.int64
)
#: (6, 33) bit set of the stronger cards of the card's own suit; none above no card.
HIGHER = np.array([[_higher(c, s) for c in range(32)] + [0] for s in range(6)], np.int64)
#: (4,) bit set of a suit.
SUIT_MASK = np.array([0xFF << (8 * s) for s in range(4)], np.int64)
#: (6,) bit set of the cards one may ruff with: the trump suit; none in no-trump and all-trump.
TRUMP_MASK = np.array([0xFF << (8 * s) if s < 4 else 0 for s in range(6)], np.int64)
#: (6, 33) bit set of the trumps that beat a card: the higher ones, or all where it is plain.
BEATING = np.where((TRUMP_MASK[:, None] >> np.arange(33)) & 1, HIGHER, TRUMP_MASK[:, None])
#: (6, 33) bit set of the cards that win a trick from its best card; every card wins an empty trick.
TAKING = HIGHER | BEATING
TAKING[:, NO_CARD] = ALL_CARDS
#: (6, 33) bit set of the cards that one who can must beat a card with in its own suit: where it ranks as trump (4, 9).
OVER = np.array(
    [[_higher(c, s) if _ranks_as_trump(c // 8, s) else 0 for c in range(32)] + [0] for s in range(6)], np.int64
)
#: (6,) bit set of the cards that may be half of a belote: K and Q of trump (rules 5.1), in all-trump of each suit (9).
BELOTE_CARDS = np.array(
    [TRUMP_MASK[s] & 0x30303030 if s < 4 else 0x30303030 * (s == ALL_TRUMP) for s in range(6)], np.int64
)
#: (4,) bit set of K and Q of a suit (rules 5.1).
BELOTE_MASK = np.array([(1 << (8 * s + QUEEN)) | (1 << (8 * s + KING)) for s in range(4)], np.int64)

CARD_NAMES = tuple(r + s for s in SUITS for r in RANKS)
_CARD_BY_NAME = {name: card for card, name in enumerate(CARD_NAMES)}
_SPLIT = re.compile(r"(10|[789JQKA])([SHDC])")


def card_name(card: int) -> str:
    """`"10H"` for 14. `card`: 0..31."""
    return CARD_NAMES[card]


def parse_card(text: str) -> int:
    """The number of a card name.

    Raises:
        ValueError: not one of the 32 names.
    """
    try:
        return _CARD_BY_NAME[text.upper() if text.isascii() else text]
    except (KeyError, AttributeError):
        raise ValueError(f"{text!r} is not a card: a rank of 7 8 9 10 J Q K A, then a suit of S H D C") from None


def cards_of(mask: int) -> list[int]:
    """The cards of a bit set, in ascending number."""
    return [c for c in range(32) if int(mask) >> c & 1]


def mask_of(cards: list[int]) -> int:
    """The bit set of a list of cards."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


def split_cards(text: str) -> list[int]:
    """Cards written one after another, with or without blanks or commas: `"10HJS"` or `"10H JS"`.

    Raises:
        ValueError: anything that is not a card name is left over.
    """
    if not text.isascii():  # other alphabets have letters that upper case turns into ours
        raise ValueError(f"{text!r} is not a list of cards")
    rest = _SPLIT.sub("", text.upper())
    if rest.strip(" ,"):
        raise ValueError(f"{text!r} is not a list of cards: {rest.strip()!r} is left over")
    return [_CARD_BY_NAME[r + s] for r, s in _SPLIT.findall(text.upper())]


def parse_strain(text: str) -> int:
    """The number of a strain name (S H D C NT AT).

    Raises:
        ValueError: not a strain.
    """
    try:
        return STRAINS.index(text.upper())
    except (ValueError, AttributeError):
        raise ValueError(f"{text!r} is not a strain: one of {' '.join(STRAINS)}") from None


def side(seat: int) -> int:
    """0 for seats 0 and 2, 1 for seats 1 and 3 (rules 2.1)."""
    return seat & 1
