"""The exact value of every card with all hands open: what "a good move" means in points (docs/solver.md).

All four hands are seen and both sides play perfectly to the end of the deal.  A side wants more trick points than it
leaves to the other, capot included: 252 to 0 is more than 162 to 0.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.cards import CARD_NAMES
from belote_env.game import Game
from belote_env.notation import position_text
from belote_env.rules import Rules, as_rules
from belote_env.rulings import checked_states, shown, whole_number
from belote_env.solver.root import NO_VALUE, POINTS_OBJECTIVE, SCORE_OBJECTIVE, new_scratch, solve_rows
from belote_env.solver.search import ABOVE, ALL, BELOW
from belote_env.state import PHASE_NAMES, PLAY

__all__ = ["NO_VALUE", "best_line", "reaches", "solve", "solve_many", "solve_score"]

_OBJECTIVES = {"points": POINTS_OBJECTIVE, "score": SCORE_OBJECTIVE}
#: Positions a thread takes at a time.
_ROWS = 8
_idle: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []


def solve(game: Game) -> dict[str, int]:
    """Trick points that the mover's side ends the deal with, for each legal card.

    Returns:
        Card text → points, those already taken and the 10 or 100 of the last trick included, belote not: 0..162, or
        252 for every trick.  Both sides play for the difference of their points; where the best a side can do is 0,
        that is with or without a trick.

    Raises:
        ValueError: the position is not in play.
    """
    return _named(_solved(game, POINTS_OBJECTIVE, BELOW, ABOVE, enough=False))


def solve_score(game: Game) -> dict[str, int]:
    """The deal's score by the contract and the rules, the mover's side less the other's, for each legal card.

    The score includes belote, the bid, a coinche and a pot that is won, as `Game.deal_scores` does.  It never falls
    as the trick points of a side rise, so a card that is best in points is best here; many cards often tie.

    Raises:
        ValueError: the position is not in play.
    """
    return _named(_solved(game, SCORE_OBJECTIVE, BELOW, ABOVE, enough=False))


def reaches(game: Game, points: int) -> bool:
    """Whether the mover's side can end the deal with so many trick points or more; much cheaper than `solve`.

    Args:
        game: in play.
        points: 163 and more ask for every trick.

    Raises:
        ValueError: the position is not in play, or points are no whole number.
    """
    _checked(game)
    if isinstance(points, bool) or not isinstance(points, int | np.integer):
        raise ValueError(f"points={shown(points)}: a whole number is needed")
    if points <= 0:
        return True
    worth = min(int(points), ALL + 1)
    values = _solved(game, POINTS_OBJECTIVE, worth - 1, worth, enough=True)
    return bool(values.max() >= worth)


def best_line(game: Game) -> list[tuple[int, str]]:
    """`(seat, card)` to the end of the deal, both sides playing a best card each time, the lowest of equal ones.

    Raises:
        ValueError: the position is not in play.
    """
    _checked(game)
    ahead, line = game.copy(), []
    while not ahead.deal_over:
        values = solve(ahead)
        best = max(values.values())
        seat, card = ahead.turn, next(name for name, value in values.items() if value == best)
        assert seat is not None
        line.append((seat, card))
        ahead.play(card)
    return line


def solve_many(
    states: NDArray[Any], rules: Rules | str, objective: str = "points", threads: int = 1
) -> NDArray[np.int16]:
    """The value of every card in many positions.

    Args:
        states: (n,) states in play: `Game.state`, `SelfPlayVector.states`, worlds.
        rules: `Rules` or a preset's name.
        objective: "points" as `solve` has them, or "score" as `solve_score`.
        threads: 1..1024, each with a table of its own; the GIL is released.  The result does not depend on it.

    Returns:
        (n, 32) int16, `NO_VALUE` (-32768) where a card is not legal.

    Raises:
        ValueError: a state that is damaged, of another game or not in play, an unknown objective, or threads out of
            range.
    """
    table = as_rules(rules)
    if not isinstance(objective, str) or objective not in _OBJECTIVES:
        raise ValueError(f"objective={shown(objective)} is not one of {', '.join(map(repr, _OBJECTIVES))}")
    threads = whole_number("threads", threads, 1, 1024)
    states = checked_states("states", states, table)
    idle = np.flatnonzero(states["phase"] != PLAY)
    if idle.size:
        raise ValueError(_not_in_play(states, int(idle[0]), table))
    values = np.empty((len(states), 32), np.int16)

    def rows(begin: int) -> None:
        end = min(begin + _ROWS, len(states))
        with _scratch() as (work, entries):
            number = _OBJECTIVES[objective]
            solve_rows(states, begin, end, table.packed, number, BELOW, ABOVE, False, work, entries, values)

    if threads == 1:
        for begin in range(0, len(states), _ROWS):
            rows(begin)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(rows, range(0, len(states), _ROWS)))
    return values


@contextmanager
def _scratch() -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Memory for one search: kept, since a table need not be cleared between positions."""
    try:
        scratch = _idle.pop()
    except IndexError:
        scratch = new_scratch()
    try:
        yield scratch
    finally:
        _idle.append(scratch)


def _solved(game: Game, objective: int, floor: int, ceiling: int, enough: bool) -> NDArray[np.int16]:
    """(32,) values of the one position of a game."""
    _checked(game)
    values = np.empty((1, 32), np.int16)
    with _scratch() as (work, entries):
        solve_rows(game._states, 0, 1, game.rules.packed, objective, floor, ceiling, enough, work, entries, values)
    one: NDArray[np.int16] = values[0]
    return one


def _named(values: NDArray[np.int16]) -> dict[str, int]:
    return {CARD_NAMES[card]: int(values[card]) for card in np.flatnonzero(values != NO_VALUE)}


def _checked(game: Game) -> None:
    if not isinstance(game, Game):
        raise TypeError(f"a Game is needed, such as Game.parse gives, not {type(game).__name__}")
    if game.phase != "play":
        raise ValueError(_not_in_play(game._states, 0, game.rules))


def _not_in_play(states: NDArray[Any], i: int, rules: Rules) -> str:
    phase = PHASE_NAMES[states[i]["phase"]]
    text = position_text(states, i, rules)
    return f"only a position in play has card values, this one is in {phase}; position: {text}"
