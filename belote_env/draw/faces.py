"""The 32 cards and their back as SVG: suits, ranks and emblems are paths of our own, so that cards need no font."""

from html import escape

from belote_env.cards import SUITS

#: Width and height of a card in its own units.
CARD_W, CARD_H = 60, 86

RED, BLACK, GOLD = "#b5343c", "#23272f", "#b98a2e"
INK = {"S": BLACK, "H": RED, "D": RED, "C": BLACK}

#: Each in a square of 20 round the origin.
_SUIT_PATHS = {
    "S": "M0-10C3-5 9-1.5 9 3.5C9 6.4 7.2 8 5.2 8C3.3 8 1.7 7 .9 5.4C1.1 7.6 1.8 9 3.2 10H-3.2C-1.8 9-1.1 7.6-.9 5.4"
    "C-1.7 7-3.3 8-5.2 8C-7.2 8-9 6.4-9 3.5C-9-1.5-3-5 0-10Z",
    "H": "M0 9.6C-2.6 5.2-9.6 1.4-9.6-4.2C-9.6-7.4-7.4-9.4-4.9-9.4C-2.6-9.4-.8-8 0-5.8C.8-8 2.6-9.4 4.9-9.4"
    "C7.4-9.4 9.6-7.4 9.6-4.2C9.6 1.4 2.6 5.2 0 9.6Z",
    "D": "M0-10C1.8-6.2 4.6-2.6 7.8 0C4.6 2.6 1.8 6.2 0 10C-1.8 6.2-4.6 2.6-7.8 0C-4.6-2.6-1.8-6.2 0-10Z",
    "C": "M-4.3-5.6a4.3 4.3 0 1 1 8.6 0a4.3 4.3 0 1 1-8.6 0ZM-9.4 1.9a4.3 4.3 0 1 1 8.6 0a4.3 4.3 0 1 1-8.6 0Z"
    "M.8 1.9a4.3 4.3 0 1 1 8.6 0a4.3 4.3 0 1 1-8.6 0ZM-1.6-2.4H1.6L.8 3.4C1 6.8 1.8 8.8 3.2 10H-3.2"
    "C-1.8 8.8-1 6.8-.8 3.4Z",
}

#: Strokes in a box 10 wide (20 for 10) and 14 high.
_RANK_PATHS = {
    "7": "M1 1H9L3.8 13",
    "8": "M5 1a2.9 2.8 0 1 1 0 5.6a2.9 2.8 0 1 1 0-5.6ZM5 6.6a3.6 3.2 0 1 1 0 6.4a3.6 3.2 0 1 1 0-6.4Z",
    "9": "M8.7 4.7a3.7 3.7 0 1 1-7.4 0a3.7 3.7 0 1 1 7.4 0C8.7 8.6 7.4 11.6 4 13",
    "10": "M2.6 3.2L5.6 1V13M13.4 1C16.4 1 17.6 3.6 17.6 7S16.4 13 13.4 13S9.2 10.4 9.2 7S10.4 1 13.4 1Z",
    "J": "M4 1H8V9.2A3.4 3.8 0 0 1 1.2 9.6",
    "Q": "M5 1C7.8 1 9.2 3.4 9.2 6.8S7.8 12.6 5 12.6S.8 10.2 .8 6.8S2.2 1 5 1ZM5.8 9.4L9.2 13.6",
    "K": "M1.6 1V13M8.8 1L1.8 8.2M4.2 6L9.2 13",
    "A": "M.8 13L5 1L9.2 13M2.4 8.8H7.6",
}

#: Emblems of the court, 24 wide round the origin: a plumed cap, a coronet of pearls, a crown.
_EMBLEMS = {
    "J": "M-10 6H10L8.4 1.6C4-1.4-4-1.4-8.4 1.6ZM-7-.6C-6-4.6-1.4-5.8 2.4-4C5.4-2.6 7-2 8.4-.4C9.6-5.4 7-9.4 2.4-9.6"
    "C4-8.6 4.8-7.6 5-6.4C1.6-9.2-6.4-7.6-7-.6Z",
    "Q": "M-10 6.4H10V3.6H-10ZM-10 2.4L-8.6-3.4L-4.6.4L0-6L4.6.4L8.6-3.4L10 2.4ZM-10.2-5a1.7 1.7 0 1 1 3.4 0"
    "a1.7 1.7 0 1 1-3.4 0ZM-1.7-8a1.7 1.7 0 1 1 3.4 0a1.7 1.7 0 1 1-3.4 0Z"
    "M6.8-5a1.7 1.7 0 1 1 3.4 0a1.7 1.7 0 1 1-3.4 0Z",
    "K": "M-10 6.4H10V3.4H-10ZM-10 2.2L-11.4-5.6L-5.4-1.4L0-8.6L5.4-1.4L11.4-5.6L10 2.2ZM-.9-13H.9V-11.6H2.3V-9.8H.9"
    "V-8H-.9V-9.8H-2.3V-11.6H-.9Z",
}

_X, _LEFT, _RIGHT = CARD_W / 2, 23.5, 36.5
_THREE, _FOUR = (19.0, 43.0, 67.0), (17.0, 34.3, 51.7, 69.0)
#: Size and places of the pips of each rank; the lower half stands on its head.
_PIPS: dict[str, tuple[float, list[tuple[float, float]]]] = {
    "7": (0.56, [(x, y) for x in (_LEFT, _RIGHT) for y in _THREE] + [(_X, 31)]),
    "8": (0.56, [(x, y) for x in (_LEFT, _RIGHT) for y in _THREE] + [(_X, 31), (_X, 55)]),
    "9": (0.5, [(x, y) for x in (_LEFT, _RIGHT) for y in _FOUR] + [(_X, 43)]),
    "10": (0.5, [(x, y) for x in (_LEFT, _RIGHT) for y in _FOUR] + [(_X, 25.6), (_X, 60.4)]),
    "A": (1.5, [(_X, 43)]),
}


def number(value: float) -> str:
    """A coordinate in as few characters as a hundredth needs: the same text on every machine."""
    return f"{round(value, 2):.2f}".rstrip("0").rstrip(".").replace("-0.", "-.") if round(value, 2) else "0"


def words(
    text: str, x: float, y: float, size: float, *, fill: str = BLACK, anchor: str = "start", bold: bool = False
) -> str:
    """A line of text on the base line y; `anchor` start, middle or end. Bold is an outline: every font has it."""
    weight = f' stroke="{fill}" stroke-width="{number(size / 26)}"' if bold else ""
    place = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}" text-anchor="{anchor}"'
    return f'<text {place}{weight} fill="{fill}">{escape(text, quote=False)}</text>'


def defs(cards: set[str]) -> str:
    """Definitions for a picture that shows these cards: all suits, the ranks among the cards, and the back."""
    suits = "".join(f'<path id="suit-{suit}" d="{path}"/>' for suit, path in _SUIT_PATHS.items())
    shown = {card[:-1] for card in cards}
    line = 'fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"'
    ranks = "".join(
        f'<path id="rank-{rank}" d="{path}" {line}/>' for rank, path in _RANK_PATHS.items() if rank in shown
    )
    emblems = "".join(
        f'<path id="court-{rank}" d="{path}" fill="{GOLD}"/>' for rank, path in _EMBLEMS.items() if rank in shown
    )
    return (
        f"<defs>{suits}{ranks}{emblems}"
        '<pattern id="weave" width="8" height="8" patternUnits="userSpaceOnUse">'
        '<rect width="8" height="8" fill="#7a2f3d"/><path d="M0 4L4 0L8 4L4 8Z" fill="#8d4350"/></pattern>'
        f'<g id="back"><rect width="{CARD_W}" height="{CARD_H}" rx="6" fill="#fffdf7" stroke="#5b222d" '
        f'stroke-width=".8"/><rect x="4" y="4" width="{CARD_W - 8}" height="{CARD_H - 8}" rx="3.5" fill="url(#weave)"/>'
        "</g></defs>"
    )


def suit_mark(suit: str, x: float, y: float, size: float) -> str:
    """A suit `size` high round (x, y), in its own colour."""
    place = f"translate({number(x)} {number(y)}) scale({number(size / 20)})"
    return f'<use href="#suit-{suit}" transform="{place}" fill="{INK[suit]}"/>'


def back(x: float, y: float, scale: float) -> str:
    """A card face down."""
    return f'<use href="#back" transform="translate({number(x)} {number(y)}) scale({number(scale)})"/>'


def face(card: str, x: float, y: float, scale: float, *, lit: bool = False) -> str:
    """A card face up, its upper left corner at (x, y); `lit` with a golden edge. Its id is its name."""
    rank, suit = card[:-1], card[-1]
    edge = f'stroke="{GOLD}" stroke-width="3"' if lit else 'stroke="#a9a291" stroke-width=".8"'
    body = f'<rect width="{CARD_W}" height="{CARD_H}" rx="6" fill="#fffdf7" {edge}/>'
    body += _corner(rank, suit)
    if rank in _PIPS:
        size, places = _PIPS[rank]
        for px, py in places:
            body += _pip(suit, px, py, size, upside=py > CARD_H / 2)
    else:
        body += _court(rank, suit)
    if rank != "A":
        body += f'<g transform="rotate(180 {CARD_W / 2} {CARD_H / 2})">{_corner(rank, suit)}</g>'
    place = f"translate({number(x)} {number(y)}) scale({number(scale)})"
    return f'<g id="{card}" transform="{place}" fill="{INK[suit]}"><title>{card}</title>{body}</g>'


def _corner(rank: str, suit: str) -> str:
    """Rank above suit; narrow enough to show where the next card covers the rest."""
    width, scale = (20, 0.82) if rank == "10" else (10, 1.12)
    left = 10.5 - width * scale / 2
    mark = (
        f'<use href="#rank-{rank}" transform="translate({number(left)} 5) scale({scale} 1.12)" stroke="{INK[suit]}"/>'
    )
    return mark + f'<use href="#suit-{suit}" transform="translate(10.5 30.5) scale(.6)"/>'


def _pip(suit: str, x: float, y: float, size: float, upside: bool) -> str:
    turn = f"{number(size)} {number(-size)}" if upside else number(size)
    return f'<use href="#suit-{suit}" transform="translate({number(x)} {number(y)}) scale({turn})"/>'


def _court(rank: str, suit: str) -> str:
    """A framed field with the emblem of the rank, the suit below and an initial between them, the same both ways up."""
    frame = f'<rect x="18" y="9" width="24" height="68" rx="3" fill="{INK[suit]}" fill-opacity=".07"/>'
    half = f'<use href="#court-{rank}" transform="translate(30 25) scale(.86)"/>{_pip(suit, _X, 37.5, 0.5, False)}'
    turned = f'<g transform="rotate(180 {CARD_W / 2} {CARD_H / 2})">{half}</g>'
    line = f'<path d="M18 43H42" stroke="{GOLD}" stroke-width="1"/>'
    return frame + half + turned + line


assert tuple(_SUIT_PATHS) == SUITS
