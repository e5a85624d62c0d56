"""Players: `Random`, `Heuristic`, `Search`, any function of observation and mask; `make_player` finds one by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from belote_env.players.heuristic import Heuristic, Parameters
from belote_env.players.player import CallablePlayer, Player
from belote_env.players.random import Random
from belote_env.players.split import Split
from belote_env.rulings import shown

if TYPE_CHECKING:
    from belote_env.players.careless import Careless
    from belote_env.players.policy import Policy
    from belote_env.players.search import Search

__all__ = [
    "PLAYERS",
    "CallablePlayer",
    "Careless",
    "Heuristic",
    "Parameters",
    "Player",
    "Policy",
    "Random",
    "Search",
    "Split",
    "as_player",
    "make_player",
]


def __getattr__(name: str) -> Any:
    # the solver is loaded for those who search with it
    if name == "Search":
        from belote_env.players.search import Search

        return Search
    if name == "Careless":
        from belote_env.players.careless import Careless

        return Careless
    if name == "Policy":
        from belote_env.players.policy import Policy

        return Policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _easy() -> Player:
    from belote_env.players.careless import Careless

    return Careless(0.3)


def _hard() -> Player:
    from belote_env.players.search import Search

    return Search(20)


def _expert() -> Player:
    from belote_env.players.expert import Expert

    return Expert()


#: What makes each player that has a name; what the levels are worth is in docs/players.md.
PLAYERS: dict[str, Callable[[], Player]] = {
    "random": Random,
    "heuristic": Heuristic,
    "easy": _easy,
    "medium": Heuristic,
    "hard": _hard,
    "expert": _expert,
}


def make_player(name: str) -> Player:
    """A new player by name: one of `PLAYERS`, a released policy, or the path of an ONNX file.

    Raises:
        ValueError: neither, or a file that holds no policy.
        ImportError: a policy without ONNX Runtime.
    """
    if isinstance(name, str) and name in PLAYERS:
        return PLAYERS[name]()
    from belote_env.players.policy import Policy, released_policies

    released = released_policies()
    if not isinstance(name, str) or (name not in released and not name.endswith(".onnx")):
        raise ValueError(f"{shown(name)} is not a player; there are {', '.join([*PLAYERS, *released])}, and ONNX files")
    return Policy(name)


def as_player(player: "Player | str | Callable[..., int]") -> Player:
    """A player itself, one by name, or a function `(observation, mask) -> action` as a player.

    Raises:
        ValueError: an unknown name.
        TypeError: none of the three, or a class.
    """
    if isinstance(player, Player):
        return player
    if isinstance(player, str):
        return make_player(player)
    if isinstance(player, type):
        raise TypeError(f"a player is needed, not the class {player.__name__}: {player.__name__}(…)")
    if callable(player):
        return CallablePlayer(player)
    raise TypeError(f"a player is a Player, a name or a function, not {type(player).__name__}")
