"""`Careless`: another player, who throws any card now and then."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.cards import cards_of
from belote_env.engine import legal_actions
from belote_env.players import as_player
from belote_env.players.player import Actions, Player, States
from belote_env.rules import Rules
from belote_env.rulings import shown, whole_number
from belote_env.state import PLAY
from belote_env.worlds import view_word


class Careless(Player):
    """Plays like another, but a share of its cards are any legal ones; calls are the other's.

    What it does is a pure function of its seed and of what the seat sees, if that is so of the other.

    Args:
        share: of the cards, 0..1.
        player: the other, as `as_player` takes it; Heuristic by default.
        seed: 0..2**64-1.

    Raises:
        ValueError: a share or seed out of range, or an unknown name.
        TypeError: what is no player.
    """

    def __init__(self, share: float, player: Player | str | Callable[..., int] = "heuristic", seed: int = 0) -> None:
        number = isinstance(share, int | float | np.integer | np.floating) and not isinstance(share, bool)
        if not number or not 0 <= share <= 1:
            raise ValueError(f"share={shown(share)}: a number from 0 to 1 is needed")
        self.share, self.player = float(share), as_player(player)
        self._seed = np.uint64(whole_number("seed", seed, 0, 2**64 - 1))
        other = "" if self.player.name == "heuristic" else f", {self.player.name}"
        self.name = f"careless({self.share:g}{other})"

    def start(self, rules: Rules | str) -> None:
        super().start(rules)
        self.player.start(self.rules)

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        out = np.array(self.player.act(states, seats), np.int64)
        edge = int(self.share * 2**32)
        for i in np.flatnonzero(states["phase"] == PLAY):
            chance, pick = divmod(int(view_word(states, i, int(seats[i]), self._seed)), 2**32)
            if chance < edge:
                cards = cards_of(legal_actions(states, i, self.rules.packed)[0])
                out[i] = cards[pick * len(cards) >> 32]
        return out
