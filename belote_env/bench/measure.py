"""Clocks, and tasks measured in interleaved rounds, so that a machine that changes its speed changes it for all."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class Rate(NamedTuple):
    """Decisions, and the CPU and wall seconds they took in this process."""

    decisions: int
    cpu: float
    wall: float

    @property
    def per_second(self) -> float:
        """Decisions per CPU-second."""
        return self.decisions / max(self.cpu, 1e-9)

    @property
    def per_wall_second(self) -> float:
        """Decisions per second of wall time."""
        return self.decisions / max(self.wall, 1e-9)


def timed(work: Callable[[], int]) -> Rate:
    """Time `work`, which returns how many decisions it made."""
    cpu, wall = time.process_time(), time.perf_counter()
    decisions = work()
    return Rate(decisions, time.process_time() - cpu, time.perf_counter() - wall)


def size_for(seconds: float, measure: Callable[[int], Rate]) -> int:
    """The size at which `measure(size)` takes about so many CPU-seconds, at least 1."""
    size = 1
    while True:
        cpu = measure(size).cpu
        if cpu >= seconds / 8:
            return max(1, round(size * seconds / max(cpu, 1e-9)))
        size *= 4


class LeftOut(Exception):
    """A task cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Task:
    """Something to measure: `prepare(seconds)` returns work that takes about so long, and has warmed up.

    Raises:
        LeftOut: from `prepare`, where it cannot be measured here.
    """

    name: str
    prepare: Callable[[float], Callable[[], Rate]]
    rules: str = ""
    tables: int = 0
    threads: int = 1


class Spread(NamedTuple):
    """Median, least and most of a list of values."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass
class Measured:
    """The rates of a task, one a round; `tables` is 0 where it makes no sense."""

    name: str
    rules: str
    tables: int
    threads: int
    cpu_rates: list[float] = field(default_factory=list)
    wall_rates: list[float] = field(default_factory=list)

    @property
    def spread(self) -> Spread:
        """Of decisions per CPU-second."""
        return Spread.of(self.cpu_rates)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, **self.spread._asdict()}


@dataclass(frozen=True)
class Ratio:
    """A ratio of two measurements, one a round; `budget` is the least that is wanted."""

    name: str
    rules: str
    tables: int
    values: list[float]
    budget: float | None = None

    @property
    def spread(self) -> Spread:
        """Of the ratios of single rounds."""
        return Spread.of(self.values)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, **self.spread._asdict()}


def rate_ratio(name: str, over: Measured, under: Measured, wall: bool = False, budget: float | None = None) -> Ratio:
    """`over` / `under` in every round both were measured in, by CPU time or by wall time."""
    pairs = (
        zip(over.wall_rates, under.wall_rates, strict=False)
        if wall
        else zip(over.cpu_rates, under.cpu_rates, strict=False)
    )
    return Ratio(name, over.rules, over.tables, [a / b for a, b in pairs], budget)


def progress_bar(shown: bool) -> Progress:
    """The bar of a measurement, on stderr."""
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown)


class Rounds:
    """Tasks measured in turn, round after round; what there is stays readable when it is interrupted.

    Attributes:
        measured: one entry a task that has been measured at least once, in the order of the tasks.
        notes: sentences about tasks that were left out.
    """

    def __init__(self) -> None:
        self.measured: list[Measured] = []
        self.notes: list[str] = []

    def run(self, tasks: Sequence[Task], rounds: int, seconds: float, bar: Progress) -> None:
        """Prepare every task, then measure each once a round, `seconds` at a time."""
        line = bar.add_task("", total=len(tasks) * (rounds + 1))
        works: list[tuple[Measured, Callable[[], Rate]]] = []
        for task in tasks:
            bar.update(line, description=f"preparing {task.name}")
            try:
                work = task.prepare(seconds)
            except LeftOut as reason:
                if str(reason) not in self.notes:
                    self.notes.append(str(reason))
                bar.advance(line, rounds + 1)
                continue
            works.append((Measured(task.name, task.rules, task.tables, task.threads), work))
            bar.advance(line)
        for k in range(rounds):
            for measured, work in works:
                bar.update(line, description=f"round {k + 1} of {rounds}: {measured.name} {measured.rules}")
                rate = work()
                if not measured.cpu_rates:
                    self.measured.append(measured)
                measured.cpu_rates.append(rate.per_second)
                measured.wall_rates.append(rate.per_wall_second)
                bar.advance(line)
