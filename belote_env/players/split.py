"""`Split`: one player's calls and another's cards."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.players.player import Actions, Player, States
from belote_env.rules import Rules
from belote_env.state import PLAY


class Split(Player):
    """Calls like one player and plays cards like another, so that bidding and play can be measured apart.

    Args:
        bidder: makes the calls.
        player: plays the cards.
    """

    def __init__(self, bidder: Player, player: Player) -> None:
        self.bidder, self.player = bidder, player
        self.name = f"{player.name} (bids of {bidder.name})"

    def start(self, rules: Rules | str) -> None:
        """Seat both; ValueError where either refuses the rules."""
        super().start(rules)
        self.bidder.start(rules)
        self.player.start(rules)

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        actions = np.empty(len(states), np.int64)
        playing = states["phase"] == PLAY
        for player, rows in ((self.player, playing), (self.bidder, ~playing)):
            if rows.any():
                actions[rows] = player.act(states[rows], seats[rows])
        return actions
