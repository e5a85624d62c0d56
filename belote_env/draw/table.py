"""The table as SVG: four hands round a cloth, what lies on it, and beside it the panel."""

from belote_env.draw.faces import BLACK, CARD_H, CARD_W, back, defs, face, number, suit_mark, words
from belote_env.draw.panel import FELT_W, panel, strain_words
from belote_env.draw.raster import HEIGHT, WIDTH
from belote_env.draw.view import Place, Trick, View, view_of
from belote_env.game import Game
from belote_env.rulings import whole_number

CLOTH, DIM, SHADE, LIGHT, SUN = "#2f5d50", "#264d42", "#1f4037", "#f4f1e6", "#e6bd5c"
_MIDDLE_X, _MIDDLE_Y = FELT_W / 2, 286.0
#: Scale of the cards below, on the other sides, in the trick.
_NEAR, _FAR, _PLAYED = 1.1, 0.9, 1.12
#: Between cards of a hand: below, above when open, at the sides, and of cards face down.
_STEP_NEAR, _STEP_FAR, _STEP_SIDE, _STEP_BACK = 47.0, 38.0, 35.0, 17.0
#: Where the cards of a trick lie from the middle of the cloth: below, left, above, right.
_TRICK_AT = ((0.0, 62.0), (-88.0, 0.0), (0.0, -62.0), (88.0, 0.0))


def table_svg(
    game: Game, seat: int | None = None, *, below: int | None = None, note: str = "", width: int | None = None
) -> str:
    """A position as an SVG document, 800 × 600 units; the same position gives the same text.

    Args:
        game: any position.
        seat: 0..3, who looks: the hands of the others lie face down, and nothing in the document depends on them.
            None: all hands are open.
        below: the seat that is drawn below; by default the one that looks, or seat 0.
        note: a sentence more to show, under what is going on.
        width: `width` of the document in pixels; by default it takes the room it is given.

    Raises:
        ValueError: not a seat, or not a width.
    """
    width = None if width is None else whole_number("width", width, 1, 10_000)
    return view_svg(view_of(game, seat, below=below, note=note), width)


def view_svg(view: View, width: int | None = None) -> str:
    """A view as an SVG document, see `table_svg`."""
    cards = {card for place in view.places for card in place.cards if card}
    cards |= {card for trick in (view.trick, view.last_trick) if trick for _, card in trick.cards}
    cards |= {view.turned} if view.turned else set()
    size = "" if width is None else f' width="{width}" height="{width * HEIGHT // WIDTH}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"{size} font-family="sans-serif">',
        f"<title>{_title(view)}</title>",
        defs(cards),
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="{CLOTH}"/>',
        f'<ellipse cx="{number(_MIDDLE_X)}" cy="{number(_MIDDLE_Y)}" rx="166" ry="142" fill="{DIM}"/>',
        *(_hand(place, where) for where, place in enumerate(view.places)),
        *(_sign(view, place, where) for where, place in enumerate(view.places)),
        _trick(view, view.trick) if view.trick else _before_play(view),
        panel(view),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _title(view: View) -> str:
    seen = "all hands open" if view.viewer is None else f"seen from seat {view.viewer}"
    return f"Belote, {view.rules}, {view.phase}, {seen}"


# -- hands ------------------------------------------------------------------------------------------------------------


def _hand(place: Place, where: int) -> str:
    """A hand face up or face down; below and above it is a row, at the sides a column whose cards show their tops."""
    n = len(place.cards)
    is_open = None not in place.cards
    scale = _NEAR if where == 0 and is_open else _FAR
    wide, high = CARD_W * scale, CARD_H * scale
    at_side = where in (1, 3)
    step = (_STEP_SIDE if at_side else _STEP_NEAR if where == 0 else _STEP_FAR) if is_open else _STEP_BACK
    run = step * (n - 1) + (high if at_side else wide)
    start = (_MIDDLE_Y if at_side else _MIDDLE_X) - run / 2
    across = (HEIGHT - 12 - high, 12.0, 12.0, FELT_W - 12 - wide)[where]
    drawn = []
    for k, card in enumerate(place.cards):
        x, y = (across, start + k * step) if at_side else (start + k * step, across)
        drawn.append(face(card, x, y, scale) if card else back(x, y, scale))
    return f'<g class="hand" data-seat="{place.seat}">{"".join(drawn)}</g>'


def _sign(view: View, place: Place, where: int) -> str:
    """The seat's number on a pill, golden for the one to act; dealer, taker and belote beside it."""
    width = 62.0
    x, y = ((_MIDDLE_X - width / 2, 457.0), (12.0, 103.0), (_MIDDLE_X - width / 2, 98.0), (FELT_W - 12 - width, 103.0))[
        where
    ]
    to_act = place.seat == view.turn
    fill, ink = (SUN, BLACK) if to_act else (SHADE, LIGHT)
    mark = f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="24" rx="12" fill="{fill}"/>'
    mark += words(f"seat {place.seat}", x + width / 2, y + 17, 15, fill=ink, anchor="middle", bold=to_act)
    tokens = ["D"] * (place.seat == view.dealer) + ["T"] * (
        view.contract is not None and place.seat == view.contract.taker
    )
    inward = -1 if where == 3 else 1
    cx = x + width + 15 if inward > 0 else x - 15
    for token in tokens:
        disc, meaning = (LIGHT, "dealer") if token == "D" else (SUN, "taker")
        mark += f'<g><title>{meaning}</title><circle cx="{number(cx)}" cy="{number(y + 12)}" r="11" fill="{disc}"/>'
        mark += words(token, cx, y + 17, 14, anchor="middle", bold=True) + "</g>"
        cx += 25 * inward
    if place.belote:
        mark += _speech(place, where, x, y, width)
    return f'<g class="sign" data-seat="{place.seat}">{mark}</g>'


def _speech(place: Place, where: int, x: float, y: float, width: float) -> str:
    """What a seat has said: belote, rebelote; at the sides below its hand, else on the left of its sign."""
    text = place.belote[-1]
    wide = 84.0
    left, top = (x - wide - 10, y) if where in (0, 2) else (12.0 if where == 1 else FELT_W - 12 - wide, 446.0)
    mark = f'<rect x="{number(left)}" y="{number(top)}" width="{number(wide)}" height="24" rx="7" fill="{LIGHT}"/>'
    return mark + words(text, left + wide / 2, top + 17, 15, anchor="middle", bold=True)


# -- the middle of the cloth ------------------------------------------------------------------------------------------


def _trick(view: View, trick: Trick) -> str:
    """The cards of a trick before their seats, each with its place in the order of play; the best has a golden edge."""
    where = {place.seat: k for k, place in enumerate(view.places)}
    wide, high = CARD_W * _PLAYED, CARD_H * _PLAYED
    drawn, badges = "", ""
    for k, (seat, card) in enumerate(trick.cards):
        dx, dy = _TRICK_AT[where[seat]]
        x, y = _MIDDLE_X + dx - wide / 2, _MIDDLE_Y + dy - high / 2
        drawn += face(card, x, y, _PLAYED, lit=seat == trick.winner)
        cx, cy = x + wide - 3, y + 5
        badges += f'<circle cx="{number(cx)}" cy="{number(cy)}" r="10" fill="{SHADE}"/>'
        badges += words(str(k + 1), cx, cy + 5, 14, fill=LIGHT, anchor="middle", bold=True)
    return f'<g class="trick">{drawn}{badges}</g>'


def _before_play(view: View) -> str:
    """The turned card on the stock; in an auction the standing bid; before the first lead the contract."""
    x, y = _MIDDLE_X, _MIDDLE_Y
    if view.turned:
        wide, high = CARD_W * 1.3, CARD_H * 1.3
        stock = "".join(back(x - wide - 8 + k, y - high / 2 - k, 1.3) for k in (0, 2, 4))
        return f'<g class="turned">{stock}{face(view.turned, x + 8, y - high / 2, 1.3)}</g>'
    if view.contract is None:
        text = "all passed" if view.over else "no bid yet"
        return words(text, x, y + 6, 18, fill=LIGHT, anchor="middle")
    trump, value = view.contract.trump, view.contract.value
    if len(trump) == 1:
        at = x + (34 if value else 0)
        mark = (
            f'<circle cx="{number(at)}" cy="{number(y - 12)}" r="32" fill="{LIGHT}"/>{suit_mark(trump, at, y - 12, 40)}'
        )
        mark += words(str(value), x - 6, y + 3, 42, fill=LIGHT, anchor="end", bold=True) if value else ""
    else:
        mark = words(strain_words(view.contract), x, y, 38, fill=LIGHT, anchor="middle", bold=True)
    called = {1: "", 2: " · coinche", 4: " · surcoinche"}[view.contract.multiplier]
    under = words(f"seat {view.contract.taker}{called}", x, y + 46, 17, fill=LIGHT, anchor="middle")
    return f'<g class="bid">{mark}{under}</g>'
