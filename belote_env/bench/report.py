"""What a benchmark found: as tables for the terminal, as JSON with all that is needed to run it again."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import belote_env
from belote_env.bench.fresh import Start
from belote_env.bench.measure import Measured, Ratio, Spread

#: Version of what `Report.to_dict` returns.
SCHEMA = 1
PACKAGES = ("numpy", "numba", "llvmlite", "gymnasium", "pettingzoo")


@dataclass(frozen=True)
class ColdStart:
    """Starts of one door; `cache`: "warm" or "empty"."""

    door: str
    cache: str
    starts: list[Start]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "door": self.door,
            "cache": self.cache,
            "wall": [start.wall for start in self.starts],
            "cpu": [start.cpu for start in self.starts],
        }


@dataclass(frozen=True)
class Memory:
    """Bytes a table besides its observation; `resident` as measured at so many tables, None where it cannot be."""

    rules: str
    counted: int
    resident: float | None
    tables: int


@dataclass
class Report:
    """All findings of one run.

    Attributes:
        command: that produced it.
        rounds: that were asked for.
        notes: what was left out and why.
        interrupted: not everything that was asked for is here.
    """

    command: str
    rounds: int
    measured: list[Measured] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    cold_starts: list[ColdStart] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    packages: Sequence[str] = PACKAGES

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it. Rates are decisions per second, one a round, with their spread by CPU time."""
        return {
            "schema": SCHEMA,
            "command": self.command,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": belote_env.__version__,
            "commit": commit(),
            "machine": machine(),
            "packages": versions(self.packages),
            "rounds": self.rounds,
            "interrupted": self.interrupted,
            "notes": self.notes,
            "measured": [one.to_dict() for one in self.measured],
            "ratios": [one.to_dict() for one in self.ratios],
            "cold_starts": [one.to_dict() for one in self.cold_starts],
            "memory": [one.__dict__ for one in self.memory],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1)

    def print(self, console: Console) -> None:
        """The tables and notes."""
        for table in self._tables():
            if table.row_count:
                console.print(table)
        for note in self.notes:
            console.print(note, soft_wrap=True)
        load = machine()["load"]
        if load is not None:
            console.print(f"Load {load}, {os.cpu_count()} cores. Where others compute too, wall time tells little.")
        if self.interrupted:
            done = max((len(one.cpu_rates) for one in self.measured), default=0)
            console.print(f"[bold]Interrupted:[/] this is what there was, {done} of {self.rounds} rounds begun.")

    def _tables(self) -> Iterator[Table]:
        single, series = split_series(self.measured)
        one_thread = [one for one in single if one.threads == 1]
        yield _list("Decisions per CPU-second", [(one, short) for one in one_thread])
        yield _grid("Decisions per CPU-second by number of tables", [one for one in series if one.threads == 1], short)
        alone, over_tables = split_series(self.ratios)
        yield _grid("Ratios by number of tables", over_tables, lambda x: f"{x:.2f}")
        yield _list("Ratios", [(one, lambda x: f"{x:.2f}") for one in alone])
        yield self._cold_table()
        yield self._memory_table()

    def _cold_table(self) -> Table:
        table = _table("Seconds from the start of the interpreter to the first step")
        for heading in ("wall", "CPU"):
            table.add_column(heading, justify="right")
        for cold in self.cold_starts:
            spreads = (Spread.of([start[k] for start in cold.starts]) for k in range(2))
            table.add_row(
                f"{cold.door}, {cold.cache} cache", *(_cell(spread, lambda x: f"{x:.2f}") for spread in spreads)
            )
        return table

    def _memory_table(self) -> Table:
        table = _table("Bytes a table besides its observation")
        table.add_column("counted", justify="right")
        table.add_column("resident", justify="right")
        for one in self.memory:
            resident = "" if one.resident is None else f"{one.resident:.0f} at {one.tables:,}"
            table.add_row(one.rules, f"{one.counted}", resident)
        return table


def split_series(found: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Measurements (or ratios) that stand alone, and those made at several numbers of tables."""
    sizes: dict[tuple[str, str], set[int]] = {}
    for one in found:
        sizes.setdefault((one.name, one.rules), set()).add(one.tables)
    alone = [one for one in found if len(sizes[one.name, one.rules]) == 1]
    return alone, [one for one in found if len(sizes[one.name, one.rules]) > 1]


def label(one: Measured | Ratio) -> str:
    """Its name and its rules."""
    return ", ".join(filter(None, (one.name, one.rules)))


def short(number: float) -> str:
    """Three digits, in thousands or millions."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 1e3 * size else f"{number / size:,.0f} {unit}"
    return f"{number:.3g}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    return table


def _cell(spread: Spread, text: Any) -> str:
    median, least, most = map(text, spread)
    return median if least == most else f"{median}\n[dim]{least} – {most}[/]"


def _list(title: str, rows: Sequence[tuple[Any, Any]]) -> Table:
    table = _table(title)
    table.add_column("median", justify="right")
    table.add_column("least – most", justify="right")
    budgets = any(getattr(one, "budget", None) is not None for one, _ in rows)
    if budgets:
        table.add_column("budget", justify="right")
    for one, text in rows:
        median, least, most = map(text, one.spread)
        budget = getattr(one, "budget", None)
        last = [""] if budgets and budget is None else [f"≥ {budget:g}"] if budgets else []
        table.add_row(label(one), median, f"{least} – {most}", *last)
    return table


def _grid(title: str, found: Sequence[Any], text: Any) -> Table:
    table = _table(title)
    sizes = sorted({one.tables for one in found})
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    rows: dict[str, dict[int, str]] = {}
    for one in found:
        rows.setdefault(label(one), {})[one.tables] = _cell(one.spread, text)
    for name, cells in rows.items():
        table.add_row(name, *(cells.get(size, "") for size in sizes))
    return table


def machine() -> dict[str, Any]:
    """What this was measured on; `load` is the average over a minute, None where the system does not tell it."""
    cpu = platform.processor()
    try:
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), cpu)
    except OSError:
        pass
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of the checkout that the package runs from, `+` after it where files differ; None elsewhere."""
    root = Path(belote_env.__file__).parents[1]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def check_file(option: str, path: Path | None) -> None:
    """ValueError unless a file can be written there, before what goes into it has been measured."""
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"{option} {path}: a file in a folder that exists is needed")
    new = not path.exists()
    try:
        path.open("ab").close()
        if new:
            path.resolve().unlink()  # not the link that led there
    except OSError as error:
        raise ValueError(f"{option} {path}: cannot be written: {error.strerror}") from None
