"""Regret: the trick points that a card gives away, measured by the solver (docs/solver.md).

The regret of a card is the open-card value of the best legal card less its own: points of the mover's side at the end
of the deal, were everybody to see all hands and play perfectly from then on.  It is 0 for a card without an
alternative.  Nobody who sees one hand can play without regret; less is better, on the same deals.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from belote_env.arena.deals import Deals, ask, play
from belote_env.engine import legal_actions
from belote_env.players import Player, as_player
from belote_env.rules import Rules, as_rules
from belote_env.rulings import shown, whole_number
from belote_env.solver import solve_many
from belote_env.state import DEAL_OVER, PLAY, new_states

#: Two-sided 95 % point of the normal distribution.
Z = 1.959964
ROLES = ("takers", "defenders")
N_TRICKS = 8
#: Positions that are solved at a time, on all processors.
SOLVED_AT_ONCE = 2048
#: Deals that are on the tables at a time.
DEALS_AT_ONCE = 1024


def ratio(values: NDArray[Any], weights: NDArray[Any]) -> tuple[float, float]:
    """`(mean, interval)` of sum of values / sum of weights over independent units; (0, 0) without any weight.

    The interval is the half-width at 95 %, by the usual linearised variance of a ratio of two sums.
    """
    total = float(weights.sum())
    if not total:
        return 0.0, 0.0
    mean = float(values.sum()) / total
    spread = (values - mean * weights).std(ddof=1)
    return mean, float(Z * spread * np.sqrt(len(values)) / total)


@dataclass(frozen=True, eq=False)
class Regret:
    """What a player gave away, in trick points.

    Attributes:
        name: of the player.
        points, cards: (units, 2, 8) int64 points given away and cards played, by pair or deal, by role (takers,
            defenders: sides, not seats) and by trick.
    """

    name: str
    points: NDArray[np.int64]
    cards: NDArray[np.int64]

    def __repr__(self) -> str:
        mean, interval = self.a_card()
        return f"<Regret {self.name}: {mean:.2f} ± {interval:.2f} points a card, {len(self.cards)} units>"

    def a_card(self, role: str | None = None, trick: int | None = None) -> tuple[float, float]:
        """`(mean, interval)` of the points a card gives away; intervals are over pairs or deals, at 95 %.

        Args:
            role: "takers" or "defenders"; None for both.
            trick: 1..8; None for all.

        Raises:
            ValueError: no such role or trick.
        """
        if role is not None and (not isinstance(role, str) or role not in ROLES):
            raise ValueError(f"role={shown(role)} is not one of {', '.join(map(repr, ROLES))}")
        if trick is not None:
            trick = whole_number("trick", trick, 1, N_TRICKS)
        rows = slice(None) if role is None else slice(ROLES.index(role), ROLES.index(role) + 1)
        columns = slice(None) if trick is None else slice(trick - 1, trick)
        return ratio(*(found[:, rows, columns].sum((1, 2)) for found in (self.points, self.cards)))

    def to_dict(self) -> dict[str, Any]:
        """Means, intervals, cards and points as JSON has them, by role and trick."""
        result: dict[str, Any] = dict(zip(("mean", "interval"), self.a_card(), strict=True))
        for k, role in enumerate(ROLES):
            mean, interval = self.a_card(role)
            result[role] = {
                "mean": mean,
                "interval": interval,
                "cards": self.cards[:, k].sum(0).tolist(),
                "points": self.points[:, k].sum(0).tolist(),
            }
        return result


def regret(
    player: Player | str | Callable[..., int],
    rules: Rules | str = "classic",
    deals: int | NDArray[Any] = 200,
    seed: int = 0,
    progress: bool = False,
) -> Regret:
    """What a player gives away in self-play, each deal once: points by role and trick.

    Args:
        player: as in `play_match`.
        rules: `Rules` or a preset's name.
        deals: how many, 2..2**31-1, or (n,) states to play from; a deal takes some 20 ms to value.
        seed: of the deals, as in `play_match`; not used where `deals` are states.
        progress: show a progress bar.

    Raises:
        ValueError: an argument out of range, or a player whose answer is no action or not a legal one.
    """
    table, one = as_rules(rules), as_player(player)
    source = Deals(table, deals, seed, "deal", copies=1)
    one.start(table)
    meter = RegretMeter(table, len(source))
    with Progress(console=Console(stderr=True), transient=True, disable=not progress) as bar:
        task = bar.add_task(f"regret of {one.name}", total=len(source))
        for first in range(0, len(source), DEALS_AT_ONCE):
            states = source.start(first, min(DEALS_AT_ONCE, len(source) - first))
            rows = np.arange(len(states))
            while len(rows):
                actions, _ = ask(one, states, rows, table)
                before = states[rows]
                play(one, states, rows, table, actions)
                meter.add(before, actions, first + rows)
                rows = rows[states["phase"][rows] < DEAL_OVER]
                under_way = len(rows) - float(states["n_cards"][rows].sum()) / 32
                bar.update(task, completed=first + len(states) - under_way)
    return meter.result(one.name)


def regret_table(*regrets: Regret) -> Table:
    """Points a card gives away, trick by trick, as a table for the terminal."""
    table = Table(title="regret: trick points a card gives away")
    table.add_column("trick")
    columns = [(one, role) for one in regrets for role in ROLES]
    for one, role in columns:
        table.add_column(f"{one.name}\n{role}", justify="right")
    for trick in range(1, N_TRICKS + 1):
        cells = []
        for one, role in columns:
            played = one.cards[:, ROLES.index(role), trick - 1].any()
            cells.append(f"{one.a_card(role, trick)[0]:.2f}" if played else "–")
        table.add_row(str(trick), *cells)
    table.add_section()
    table.add_row("all", *("{:.2f} ± {:.2f}".format(*one.a_card(role)) for one, role in columns))
    return table


class RegretMeter:
    """Collects the cards of one player and values them, many at a time.

    Args:
        rules: of the tables.
        units: how many pairs or deals there are.
    """

    def __init__(self, rules: Rules, units: int) -> None:
        self._rules = rules
        self._points = np.zeros((units, 2, N_TRICKS), np.int64)
        self._cards = np.zeros((units, 2, N_TRICKS), np.int64)
        self._waiting: list[tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]] = []
        self._n_waiting = 0

    def add(self, states: NDArray[Any], actions: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """Enter decisions: (n,) states before them, the legal actions chosen, and the unit each belongs to.

        Those of the bidding are left out.
        """
        playing = states["phase"] == PLAY
        states, actions, units = states[playing], actions[playing], units[playing]
        np.add.at(self._cards, (units, *_cells(states)), 1)
        free = np.array([_has_choice(states, i, self._rules) for i in range(len(states))], bool)
        self._waiting.append((states[free], actions[free], units[free]))
        self._n_waiting += int(free.sum())
        if self._n_waiting >= SOLVED_AT_ONCE:
            self._solve()

    def result(self, name: str) -> Regret:
        """All that was entered, for the player of that name."""
        self._solve()
        return Regret(name, self._points.copy(), self._cards.copy())

    def _solve(self) -> None:
        if not self._n_waiting:
            return
        states = new_states(self._n_waiting)
        states[:] = np.concatenate([entry[0] for entry in self._waiting])
        actions, units = (np.concatenate([entry[k] for entry in self._waiting]) for k in (1, 2))
        self._waiting, self._n_waiting = [], 0
        values = solve_many(states, self._rules, threads=os.cpu_count() or 1).astype(np.int64)
        lost = values.max(1) - values[np.arange(len(values)), actions]
        np.add.at(self._points, (units, *_cells(states)), lost)


def _cells(states: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) role and (n,) trick, from 0, of the seat to act."""
    role = (states["turn"].astype(np.int64) ^ states["taker"]) & 1
    return role, states["n_cards"].astype(np.int64) >> 2


def _has_choice(states: NDArray[Any], i: int, rules: Rules) -> bool:
    low, _ = legal_actions(states, i, rules.packed)
    return int(low) & (int(low) - 1) != 0
