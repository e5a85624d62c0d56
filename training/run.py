"""A run's directory: its configuration, its log, its checkpoint, its result.

config.toml             every field, as it was played
commit.txt              the commit of the code, with `+` after it where files had changed
log.csv, events.…       one row an iteration; the same for TensorBoard
checkpoint.safetensors  everything needed to go on, replaced as training goes
policy.safetensors      policy and critic alone, at the end
result.json             the final evaluation
"""

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from models import checkpoint
from training.config import Config
from training.config import load as load_config
from training.learner import Learner

CHECKPOINT = "checkpoint.safetensors"
POLICY = "policy.safetensors"


def directory_for(config: Config, chosen: Path | None, resume: bool) -> Path:
    """Where a run lives: the directory asked for, else runs/<name>, with a number where that is taken.

    Raises:
        ValueError: a new run into a directory that holds a checkpoint, or nothing there to resume.
    """
    path = chosen or Path("runs") / config.name
    taken = (path / CHECKPOINT).exists()
    if resume and not taken:
        raise ValueError(f"{path} holds no checkpoint to resume from.")
    if taken and not resume:
        if chosen:
            raise ValueError(f"{path} holds a run already: add --resume to go on with it, or choose another --run.")
        number = next(n for n in range(2, 10_000) if not (path.parent / f"{path.name}-{n}").exists())
        path = path.parent / f"{path.name}-{number}"
    return path


def check_same(config: Config, path: Path) -> None:
    """Refuse to go on with a run under another configuration; ValueError names the first difference."""
    before = load_config(path / "config.toml").model_dump()
    for key, value in config.model_dump().items():
        if before[key] != value:
            raise ValueError(f"{path} was started with {key} = {before[key]!r}, not {value!r}: resume it unchanged.")


def save(
    path: Path, learner: Learner, vector: Any, counters: dict[str, Any], config: Config, whole: bool = True
) -> None:
    """Write policy and critic, and unless `whole` is False all that a run needs to go on bit for bit."""
    tensors = {}
    if whole:
        tensors = learner.tensors() | {
            f"vector.{key}": torch.from_numpy(np.ascontiguousarray(value).reshape(-1).view(np.uint8).copy())
            for key, value in vector.snapshot().items()
        }
    checkpoint.save(
        path,
        learner.policy,
        vector.rules,
        learner.critic,
        counters,
        tensors,
        {"config": config.model_dump(), "torch": torch.__version__},
    )


def restore(path: Path, learner: Learner, vector: Any) -> dict[str, Any]:
    """Bring learner and tables to where a checkpoint left them; returns its counters.

    Raises:
        ValueError: what `models.checkpoint.load` refuses, or a file without what a run needs.
    """
    loaded = checkpoint.load(path, vector.rules)
    try:
        learner.restore(loaded.policy(), loaded.critic(), loaded.tensors)
        arrays = loaded.section("vector")
        vector.restore(
            {key: arrays[key].numpy().view(like.dtype).reshape(like.shape) for key, like in vector.snapshot().items()}
        )
    except (KeyError, RuntimeError) as error:
        raise ValueError(f"{path} lacks what a run needs to go on: {error}.") from error
    return loaded.counters


def commit() -> str:
    """The commit of the code, `+` after it where tracked files have changed; "unknown" without git."""
    root = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


class Log:
    """One row an iteration, to log.csv and to TensorBoard; rows after `start` are forgotten."""

    def __init__(self, path: Path, start: int) -> None:
        self._file = path / "log.csv"
        self._columns: list[str] = []
        self._writer = SummaryWriter(str(path), purge_step=start + 1 if start else None)
        if start and self._file.exists():
            with self._file.open(newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            kept = [row for row in rows[1:] if len(row) == len(rows[0]) and int(row[0]) <= start]
            self._columns = rows[0]
            with self._file.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([rows[0], *kept])

    def write(self, iteration: int, row: dict[str, float | None]) -> None:
        """Append a row; None leaves a field empty."""
        new = not self._columns
        self._columns = self._columns or ["iteration", *row]
        with self._file.open("w" if new else "a", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, self._columns)
            if new:
                out.writeheader()
            out.writerow(
                {"iteration": iteration}
                | {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items() if v is not None}
            )
        for key, value in row.items():
            if value is not None:
                self._writer.add_scalar(key, value, iteration)

    def close(self) -> None:
        """Flush what TensorBoard still holds."""
        self._writer.close()


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file at once."""
    checkpoint.write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())
