"""The panel beside the table: contract, calls in columns of seats, the trick before, points, scores, what goes on."""

from belote_env.draw.faces import BLACK, GOLD, INK, face, number, suit_mark, words
from belote_env.draw.raster import HEIGHT, WIDTH
from belote_env.draw.view import View
from belote_env.game import Contract

#: Width of the cloth; the panel has the rest.
FELT_W = 560
PAPER, GREY, RULE = "#f6f3ea", "#6b6a63", "#d8d2c0"
_LEFT, _RIGHT = FELT_W + 14.0, WIDTH - 16.0
INSIDE = _RIGHT - _LEFT
#: Tops of the parts.
_CONTRACT, _CALLS, _LAST, _COUNT, _NEWS = 74.0, 138.0, 336.0, 436.0, 548.0


def panel(view: View) -> str:
    """The panel of a view as a group of SVG."""
    r = 14
    sheet = (
        f'<path d="M{FELT_W} 0H{WIDTH - r}A{r} {r} 0 0 1 {WIDTH} {r}V{HEIGHT - r}A{r} {r} 0 0 1 {WIDTH - r} {HEIGHT}'
        f'H{FELT_W}Z" fill="{PAPER}"/>'
    )
    match = f"deal {view.deal}" + (f" · to {view.target}" if view.target else "")
    parts = [
        sheet,
        words(view.rules, _LEFT, 32, 21, bold=True),
        words(match, _LEFT, 53, 15, fill=GREY),
        _line(64),
        _contract(view),
        _line(_CALLS - 10),
        _calls(view),
        _line(_LAST - 8),
        _last_trick(view),
        _line(_COUNT - 8),
        _count(view),
        _line(_NEWS - 12),
        _news(view),
    ]
    return f'<g class="panel">{"".join(parts)}</g>'


def strain_words(contract: Contract) -> str:
    """A contract without a suit's sign: "90 NT"."""
    return " ".join(str(part) for part in (contract.value, contract.trump) if part is not None)


def _line(y: float) -> str:
    return f'<path d="M{number(_LEFT)} {number(y)}H{number(_RIGHT)}" stroke="{RULE}"/>'


def _contract(view: View) -> str:
    y = _CONTRACT + 33
    if view.contract is None:
        text = "all passed" if view.over else "no contract yet"
        return words(text, _LEFT, y, 16, fill=GREY)
    contract = view.contract
    drawn, x = "", _LEFT
    if contract.value is not None:
        drawn += words(str(contract.value), x + 46, y, 26, anchor="end", bold=True)
        x += 50
    if len(contract.trump) == 1:
        drawn += suit_mark(contract.trump, x + 15, y - 9, 26)
    else:
        drawn += words(contract.trump, x, y, 24, bold=True)
    drawn += words(f"seat {contract.taker}", x + 40, y - 2, 16)
    if contract.multiplier > 1:
        drawn += f'<rect x="{number(_RIGHT - 42)}" y="{number(y - 23)}" width="42" height="28" rx="14" fill="{GOLD}"/>'
        drawn += words(f"x{contract.multiplier}", _RIGHT - 21, y - 3, 18, fill="#ffffff", anchor="middle", bold=True)
    elif view.taken:
        drawn += words("turned", _RIGHT - 44, y - 2, 14, fill=GREY, anchor="end")
        drawn += words(view.taken[:-1], _RIGHT - 17, y - 2, 16, fill=INK[view.taken[-1]], anchor="end", bold=True)
        drawn += suit_mark(view.taken[-1], _RIGHT - 8, y - 8, 14)
    return drawn


def _calls(view: View) -> str:
    """Calls as rows of four columns; the first to call is the seat after the dealer."""
    first = (view.dealer + 1) % 4
    column = INSIDE / 4
    drawn = ""
    for k in range(4):
        ink = GOLD if (first + k) % 4 == view.turn and view.phase != "play" else GREY
        drawn += words(
            f"seat {(first + k) % 4}", _LEFT + column * (k + 0.5), _CALLS + 12, 14.5, fill=ink, anchor="middle"
        )
    rows: list[dict[int, str]] = []
    for seat, name in view.calls:
        k = (seat - first) % 4
        if not rows or k <= max(rows[-1]):
            rows.append({})
        rows[-1][k] = name
    if not rows:
        text = "no call yet" if not view.over and view.phase != "play" else "contract given"
        return drawn + words(text, _LEFT + INSIDE / 2, _CALLS + 40, 14, fill=GREY, anchor="middle")
    high = min(24.0, 156 / len(rows))
    size = min(15.0, high * 0.92)
    for row, cells in enumerate(rows):
        for k, name in cells.items():
            drawn += _call(name, _LEFT + column * (k + 0.5), _CALLS + 17 + high * (row + 0.8), size)
    return drawn


def _call(name: str, x: float, y: float, size: float) -> str:
    """A call in its cell: a suit by its sign, doubles by what they make of the contract, a pass in grey."""
    if name in ("coinche", "surcoinche"):
        return words("x2" if name == "coinche" else "x4", x, y, size, fill="#8a6212", anchor="middle", bold=True)
    suit = name[-1]
    if suit not in INK or not (name[:-1].isdigit() or len(name) == 1):
        grey = name in ("pass", "accept")
        return words(name, x, y, size, fill=GREY if grey else BLACK, anchor="middle", bold=not grey)
    if len(name) == 1:
        return suit_mark(suit, x, y - size * 0.36, size)
    return words(name[:-1], x + 5, y, size, anchor="end", bold=True) + suit_mark(
        suit, x + 14, y - size * 0.36, size * 0.85
    )


def _last_trick(view: View) -> str:
    trick = view.last_trick
    if view.trick and view.trick.complete:
        return words("last trick: on the table", _LEFT, _LAST + 15, 15, fill=GREY)
    if trick is None:
        return words("no trick yet", _LEFT, _LAST + 15, 15, fill=GREY)
    drawn = words("last", _LEFT, _LAST + 20, 15, fill=GREY) + words("trick", _LEFT, _LAST + 38, 15, fill=GREY)
    for k, (seat, card) in enumerate(trick.cards):
        x = _LEFT + 44 + k * 42
        drawn += face(card, x, _LAST + 2, 0.66, lit=seat == trick.winner)
        drawn += words(str(seat), x + 20, _LAST + 77, 14, fill=GREY, anchor="middle", bold=seat == trick.winner)
    return drawn


def _count(view: View) -> str:
    """Two columns, a side each: trick points of this deal, its score when it is over, match scores, pot."""
    columns = (_LEFT + 126, _RIGHT - 4)
    y = _COUNT + 13
    drawn = words("seats 0 · 2", columns[0], y, 14.5, fill=GREY, anchor="end")
    drawn += words("1 · 3", columns[1], y, 14.5, fill=GREY, anchor="end")
    rows: list[tuple[str, tuple[int, int], bool]] = [("points", view.points, False)]
    if view.over:
        rows.append(("this deal", view.deal_scores, False))
    rows.append(("score", view.scores, True))
    for row, (title, values, bold) in enumerate(rows):
        at = y + 25 + 23 * row
        drawn += words(title, _LEFT, at, 15)
        for column, value in zip(columns, values, strict=True):
            drawn += words(str(value), column, at, 18 if bold else 16, anchor="end", bold=bold)
    if view.pot:
        drawn += words(f"pot {view.pot}", _LEFT, y + 25 + 23 * len(rows), 15, fill=GREY)
    return drawn


def _news(view: View) -> str:
    """What goes on, in a line, and the note under it."""
    lines = [_going_on(view), *([view.note] if view.note else [])]
    y = _NEWS + (22 if len(lines) == 1 else 12)
    return "".join(words(line, _LEFT, y + 22 * k, 16 if k == 0 else 14, bold=k == 0) for k, line in enumerate(lines))


def _going_on(view: View) -> str:
    if view.phase == "match over":
        result = "the match is drawn" if view.winner is None else f"seats {view.winner} · {view.winner + 2} win"
        return result if view.target else _result(view)
    if view.over:
        return _result(view)
    if view.phase == "play" and (view.trick is None or view.trick.complete):
        return f"seat {view.turn} leads"
    if view.phase == "play":
        return f"seat {view.turn} to play"
    return f"seat {view.turn} to answer" if view.phase == "answer" else f"seat {view.turn} to call"


def _result(view: View) -> str:
    if view.contract is None:
        return "all passed"
    return {True: "contract made", False: "contract failed", None: "litige"}[view.made]
