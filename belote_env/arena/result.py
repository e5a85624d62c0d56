"""`MatchResult`: what a match between two players came to."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from belote_env.arena.meter import Regret

#: A match that has no winner after so many deals is stopped; players who always pass would play on for ever.
MOST_DEALS = 1000


@dataclass
class Tally:
    """What one player did in a match. `cpu_seconds`: spent on `timed` decisions, all but those of its first call."""

    name: str
    contracts: int = 0
    made: int = 0
    tied: int = 0
    decisions: int = 0
    timed: int = 0
    cpu_seconds: float = 0.0

    @property
    def made_rate(self) -> float:
        """Share of its contracts that were made; 0 without any."""
        return self.made / self.contracts if self.contracts else 0.0

    @property
    def cpu_us(self) -> float:
        """CPU time of a decision in microseconds."""
        return 1e6 * self.cpu_seconds / self.timed if self.timed else 0.0


@dataclass(frozen=True)
class MatchResult:
    """Player a against player b.

    Attributes:
        rules: name of the rules; `rules_digest` tells overridden ones apart.
        seed: of the deals; None where positions were given.
        mean: a's score less b's, per deal; `interval`: half-width of its 95 % interval.
        pairs: played; `wins`, `losses`, `ties` of them for a, by score difference (`episode="match"`: by matches won).
        deals: that were dealt, over both halves of all pairs; `all_pass` of them without a taker.
        unfinished: matches of all pairs, two a pair, that were stopped after `MOST_DEALS` deals; they count as draws.
        win_rate: share of matches won by a, draws counting half, with `win_interval`; None for single deals.
        differences: (pairs,) a's score less b's per deal in each pair; not part of `to_dict`.
        regrets: of a and b where they were measured, else None; in `to_dict` with a and b.
    """

    rules: str
    rules_digest: str
    episode: str
    seed: int | None
    pairs: int
    deals: int
    mean: float
    interval: float
    wins: int
    losses: int
    ties: int
    all_pass: int
    unfinished: int
    a: Tally
    b: Tally
    win_rate: float | None = None
    win_interval: float | None = None
    differences: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    regrets: tuple[Regret, Regret] | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but `differences`, as JSON has it."""
        result = {k: v for k, v in self.__dict__.items() if k not in ("a", "b", "differences", "regrets")}
        for k, side in enumerate(("a", "b")):
            tally: Tally = getattr(self, side)
            result[side] = {**asdict(tally), "made_rate": tally.made_rate, "cpu_us": tally.cpu_us}
            if self.regrets is not None:
                result[side]["regret"] = self.regrets[k].to_dict()
        return result

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def table(self) -> Table:
        """The result as a table for the terminal."""
        unit = "match" if self.episode == "match" else "deal"
        passed = f"{self.all_pass / self.deals:.1%}"
        dealt = "from given positions" if self.seed is None else f"seed {self.seed}"
        stopped = f"; {self.unfinished:,} matches stopped after {MOST_DEALS:,} deals" if self.unfinished else ""
        table = Table(
            title=f"{self.a.name} – {self.b.name}: {self.rules}, {self.pairs:,} duplicate pairs",
            caption=f"{dealt}; all passed in {passed} of {self.deals:,} deals{stopped}",
        )
        table.add_column("")
        table.add_column(self.a.name, justify="right")
        table.add_column(self.b.name, justify="right")
        table.add_row("points a deal", f"{self.mean:+.2f} ± {self.interval:.2f}", "")
        if self.win_rate is not None and self.win_interval is not None:
            table.add_row("matches won", f"{self.win_rate:.1%} ± {self.win_interval:.1%}", f"{1 - self.win_rate:.1%}")
        table.add_row(f"{unit} pairs won", f"{self.wins:,}", f"{self.losses:,}")
        both = (self.a, self.b)
        table.add_row("contracts", *(f"{t.contracts:,} ({t.contracts / self.deals:.1%})" for t in both))
        table.add_row("made", *(f"{t.made_rate:.1%}" for t in both))
        table.add_row("CPU a decision", *(_duration(t.cpu_us) for t in both))
        return table


def _duration(us: float) -> str:
    return f"{us / 1000:.2f} ms" if us >= 1000 else f"{us:.2f} µs"
