"""What one looks at: everything a picture of the table may show, and nothing else.

Law: the view of a seat depends only on what the seat can know, so pictures made from it cannot show a hidden card.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from belote_env.cards import CARD_NAMES, SUITS
from belote_env.game import Contract, Game
from belote_env.rulings import shown
from belote_env.state import N_CARDS, NOBODY
from belote_env.verdicts import hand_in_order, trick_winners


@dataclass(frozen=True)
class Trick:
    """Cards in order of play, the leader's first: `(seat, card)`. `winner`: seat of the best card so far."""

    cards: tuple[tuple[int, str], ...]
    winner: int

    @property
    def complete(self) -> bool:
        """Whether all four have played."""
        return len(self.cards) == 4


@dataclass(frozen=True)
class Place:
    """A seat at the table: its cards by name, None for each that is not shown; what it has said of belote."""

    seat: int
    cards: tuple[str | None, ...]
    belote: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """The table as somebody sees it.

    Attributes:
        places: the four seats as they sit, clockwise in the picture from the one below: below, left, above, right.
        viewer: the seat that looks, or None where all hands are open.
        phase, turn, dealer, turned, contract, made, winner, points, scores, deal_scores, pot: as in `Game`; the
            turned card only as long as it lies on the table, and once it is taken, `taken`.
        calls: `(seat, text)` in order.
        trick: on the table: the one being played, between tricks and after the deal the last one; None before.
        last_trick: the one before `trick` while that is being played, or None.
        leader: seat that leads or has led to the trick; None before the first lead and after the last card.
        rules, target: name and target of the rules.
        deal: number of the deal in the match, from 1.
        note: a sentence more, such as how an episode ended.
    """

    places: tuple[Place, Place, Place, Place]
    viewer: int | None
    phase: str
    turn: int | None
    dealer: int
    turned: str | None
    taken: str | None
    contract: Contract | None
    calls: tuple[tuple[int, str], ...]
    trick: Trick | None
    last_trick: Trick | None
    leader: int | None
    points: tuple[int, int]
    scores: tuple[int, int]
    deal_scores: tuple[int, int]
    pot: int
    made: bool | None
    winner: int | None
    rules: str
    target: int
    deal: int
    note: str

    @property
    def over(self) -> bool:
        """Whether the deal is over."""
        return self.phase in ("deal over", "match over")


def view_of(game: Game, seat: int | None = None, *, below: int | None = None, note: str = "") -> View:
    """The view of a seat, or with all hands open for None.

    Args:
        game: any position.
        seat: 0..3 or None.
        below: the seat that sits below; by default the one that looks, or seat 0.
        note: a sentence more to show.

    Raises:
        ValueError: not a seat.
    """
    seat = None if seat is None else _checked_seat(seat)
    below = (0 if seat is None else seat) if below is None else _checked_seat(below)
    state = game._states[0]
    events = game.events()
    played = [event for event in events if event.action < N_CARDS]
    taken_up = game.contract is not None and game.phase not in ("round one", "round two")
    tricks = [
        Trick(tuple((event.seat, event.name) for event in played[4 * k : 4 * k + 4]), winner)
        for k, winner in enumerate(trick_winners(game, played))
    ]
    # rules 2.1: clockwise the next seat is on the left of the one below
    around = (0, 1, 2, 3) if game.rules.direction == "clockwise" else (0, 3, 2, 1)
    first, second, third, fourth = (_place(game, (below + k) % 4, seat) for k in around)
    return View(
        places=(first, second, third, fourth),
        viewer=seat,
        phase=game.phase,
        turn=game.turn,
        dealer=game.dealer,
        turned=None if taken_up else game.turned,
        taken=game.turned if taken_up else None,
        contract=game.contract,
        calls=tuple((event.seat, event.name) for event in events if event.action >= N_CARDS),
        trick=tricks[-1] if tricks else None,
        last_trick=tricks[-2] if len(tricks) > 1 and not tricks[-1].complete else None,
        leader=int(state["leader"]) if game.phase == "play" else None,
        points=game.points,
        scores=game.scores,
        deal_scores=game.deal_scores,
        pot=game.pot,
        made=game.made,
        winner=game.winner,
        rules=game.rules.name,
        target=game.rules.target,
        deal=int(state["deal"]) + 1,
        note=note,
    )


def _checked_seat(seat: Any) -> int:
    """A seat of Python or NumPy as an int; ValueError for anything else."""
    if isinstance(seat, bool) or not isinstance(seat, int | np.integer) or not 0 <= int(seat) <= 3:
        raise ValueError(f"{shown(seat)} is not a seat 0..3")
    return int(seat)


def _place(game: Game, seat: int, viewer: int | None) -> Place:
    hand = hand_in_order(game, seat)
    cards = tuple(CARD_NAMES[card] if viewer in (None, seat) else None for card in hand)
    state = game._states[0]
    said = [
        word
        for suit in range(len(SUITS))
        if int(state["belote"][suit]) == seat != NOBODY
        for word in ("belote", "rebelote")[: int(state["belote_shown"][suit])]
    ]
    return Place(seat, cards, tuple(said))
