"""`Player`: what sits at a table. `CallablePlayer`: a function of observation and mask that does."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.game import Game
from belote_env.notation import position_text
from belote_env.observation import observe_batch
from belote_env.rules import Rules, as_rules
from belote_env.rulings import shown

States = NDArray[Any]
Actions = NDArray[np.int64]


class Player(ABC):
    """Chooses actions for many tables at once; keeps its own randomness and nothing about any table.

    A player is told the rules once, by `start`, before it acts; arena and environments do so.  States hold all
    cards: an honest player reads only what the seat to act can know.

    Attributes:
        name: for tables and messages.
        rules: of the tables it plays at; `classic` until `start`.
    """

    name: str = "player"
    rules: Rules = Rules()

    def start(self, rules: Rules | str) -> None:
        """Take a seat at tables of these rules.

        Raises:
            ValueError: an unknown preset, or rules that the player cannot play.
        """
        self.rules = as_rules(rules)

    @abstractmethod
    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        """(n,) int64 legal actions, by the engine's numbers.

        Args:
            states: (n,) of `state.STATE`, to be read only; none is over.
            seats: (n,) the seat to act in each.
        """

    def choose(self, game: Game) -> str:
        """What the seat to act does in a game, as `Game.play` takes it; the player sits down at its rules.

        Raises:
            ValueError: the deal is over, or an answer that is no action.
        """
        if game.turn is None:
            raise ValueError(f"the deal is over, nobody is to act; position: {game.to_text()}")
        if self.rules != game.rules:
            self.start(game.rules)
        return game.names(self.act(game.state, np.array([game.turn])).tolist())[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def action_number(action: Any) -> int | None:
    """What a player answered as an int; None unless it is an integer of 64 bits, of Python, NumPy or the like."""
    try:
        number = operator.index(action)
    except (TypeError, ValueError, RuntimeError):  # the last two: tensors
        return None
    return number if not isinstance(action, bool) and -(2**63) <= number < 2**63 else None


class CallablePlayer(Player):
    """A function `(observation, mask) -> action` at the table, one decision at a time.

    `act` raises ValueError, with the position, when an answer is not an integer; the tables see whether it is legal.

    Args:
        function: gets (SIZE,) uint8 bits in the suit order S H D C and (n_actions,) int8, 1 where legal; returns the
            number of an action.
        name: by default the function's own.
    """

    def __init__(self, function: Callable[[NDArray[np.uint8], NDArray[np.int8]], int], name: str | None = None) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", "callable"))

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        observations, masks, _ = observe_batch(states, seats, self.rules, canonical=False)
        out = np.empty(len(states), np.int64)
        for i, (observation, mask) in enumerate(zip(observations, masks, strict=True)):
            answer = self.function(observation, mask)
            number = action_number(answer)
            if number is None:
                raise ValueError(
                    f"{self.name} must return the number of an action, not {shown(answer)}, for seat {seats[i]}; "
                    f"position: {position_text(states, i, self.rules)}"
                )
            out[i] = number
        return out
