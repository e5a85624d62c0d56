"""The table in a few lines of plain text."""

from belote_env.draw.view import Place, view_of
from belote_env.game import Game


def table_text(game: Game, seat: int | None = None, note: str = "") -> str:
    """The four hands, the trick (or the last one), points and scores.

    Player 0, or the one that looks, sits below; the next one sits on the left where the turn passes clockwise, else on
    the right (rules 2.1).

    Args:
        game: any position.
        seat: 0..3: the others' cards are not shown; None: all hands are open.
        note: a last line more.

    Raises:
        ValueError: not a seat.
    """
    view = view_of(game, seat)
    lines = [f"{view.phase}, dealer player_{view.dealer}" + (f", turned {game.turned}" if game.turned else "")]
    if view.contract is not None:
        taker, strain, value, multiplier = view.contract
        bid = "" if value is None else str(value)
        lines.append(f"contract {bid}{strain} by player_{taker}" + (f" ×{multiplier}" if multiplier > 1 else ""))
    below, left, above, right = (
        f"{'>' if place.seat == view.turn else ' '} player_{place.seat}  {_hand(game, place)}".rstrip()
        for place in view.places
    )
    lines += [" " * 20 + above, f"{left:<40}{right}", " " * 20 + below]
    if view.trick is not None:
        title = "last trick" if view.trick.complete else "trick"
        lines.append(f"{title}: " + ", ".join(f"player_{seat} {card}" for seat, card in view.trick.cards))
    lines.append(f"points {view.points[0]}–{view.points[1]}, scores {view.scores[0]}–{view.scores[1]}")
    if view.over:
        lines.append(f"this deal {view.deal_scores[0]}–{view.deal_scores[1]}")
    elif seat in (None, view.turn):
        lines.append("legal: " + ", ".join(game.names(game.legal_actions())))
    return "\n".join([*lines, *([note] if note else [])])


def _hand(game: Game, place: Place) -> str:
    """Open hands in the order of card numbers, as `Game.hand` has them; a dot for each card that is not shown."""
    return " ".join(["·"] * len(place.cards) if None in place.cards else game.hand(place.seat))
