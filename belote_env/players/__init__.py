"""Players: `Random`, `Heuristic`, any function of observation and mask; `make_player` finds one by name."""

from collections.abc import Callable

from belote_env.players.heuristic import Heuristic, Parameters
from belote_env.players.player import CallablePlayer, Player
from belote_env.players.random import Random

__all__ = ["PLAYERS", "CallablePlayer", "Heuristic", "Parameters", "Player", "Random", "as_player", "make_player"]

#: What makes each player that has a name.
PLAYERS: dict[str, Callable[[], Player]] = {"random": Random, "heuristic": Heuristic}


def make_player(name: str) -> Player:
    """A new player by name.

    Raises:
        ValueError: not one of `PLAYERS`.
    """
    if name not in PLAYERS:
        raise ValueError(f"{name!r} is not a player; there are {', '.join(PLAYERS)}")
    return PLAYERS[name]()


def as_player(player: "Player | str | Callable[..., int]") -> Player:
    """A player itself, one by name, or a function `(observation, mask) -> action` as a player.

    Raises:
        ValueError: an unknown name.
        TypeError: none of the three.
    """
    if isinstance(player, Player):
        return player
    if isinstance(player, str):
        return make_player(player)
    if callable(player):
        return CallablePlayer(player)
    raise TypeError(f"a player is a Player, a name or a function, not {type(player).__name__}")
