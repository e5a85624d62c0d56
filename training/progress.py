"""The progress line: live on a terminal, a plain line now and then elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from models.network import TOWERS
from training.config import Config

#: Seconds between plain lines.
PERIOD = 10.0


class Progress:
    """Shows how far a run is, decisions per second, how the policy moves, and its last result."""

    def __init__(self, config: Config, start: int, console: Console) -> None:
        self._console, self._total = console, config.iterations
        self._last_result = ""
        self._printed = 0.0
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(config.name, total=config.iterations, completed=start, line="")

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, iteration: int, row: dict[str, float | None]) -> None:
        """Show an iteration's row of the log."""
        result = row["heuristic"] is not None
        if result:
            self._last_result = f"  {row['heuristic']:+.1f} ± {row['heuristic_interval']:.1f} points vs heuristic"
        parts = [f"{row['decisions_per_second']:,.0f} decisions/s"]
        for tower in TOWERS:
            if row[f"{tower}_gradient_steps"]:
                entropy, kl, critic = (row[f"{tower}_{key}"] for key in ("entropy", "kl", "explained_variance"))
                judged = "" if critic is None else f" critic {critic:.2f}"
                parts.append(f"{tower}: entropy {entropy:.2f} kl {kl:.3f}{judged}")
        if len(parts) == 1:
            parts = ["nothing to learn from: no seat decided twice or saw a deal's end; take more steps or tables"]
        line = "  ".join(parts) + self._last_result
        self._bar.update(self._task, completed=iteration, line=line)
        if not self._console.is_terminal and (result or time.monotonic() - self._printed >= PERIOD):
            self._printed = time.monotonic()
            self._console.print(f"{iteration}/{self._total}  {row['seconds']:.0f} s  {line}", soft_wrap=True)
