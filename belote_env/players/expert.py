"""`Expert`: the strongest player there is at its table."""

from typing import Any

from numpy.typing import NDArray

from belote_env.players.player import Actions, Player, States
from belote_env.players.policy import Policy, released_policies
from belote_env.players.search import Search
from belote_env.rules import Rules


class Expert(Player):
    """A released policy with exact values in its last tricks where there is one for the table, else `Search(80)`.

    Which of them it is, is decided by `start`, and told by `name` from then on.  Without ONNX Runtime, the extra
    `[onnx]`, it is `Search(80)` at every table.
    """

    name = "expert"

    def __init__(self) -> None:
        self._chosen: Player = Search(80)

    def start(self, rules: Rules | str) -> None:
        super().start(rules)
        self._chosen = _strongest(self.rules)
        self._chosen.start(self.rules)
        self.name = self._chosen.name

    def act(self, states: States, seats: NDArray[Any]) -> Actions:
        return self._chosen.act(states, seats)


def _strongest(rules: Rules) -> Player:
    for name in released_policies():
        try:
            policy = Policy(name)
        except ImportError:
            break
        try:
            policy.start(rules)
        except ValueError:  # made for other rules
            continue
        return Search(120, mode="solver", bidder=policy, player=policy, tricks=4)
    return Search(80)
