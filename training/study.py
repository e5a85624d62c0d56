"""Study: fit a policy's tower for cards to lessons (`training.lessons`), which the policy of `start_from` gives."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor

from belote_env.observation import varying_columns
from belote_env.rules import as_rules
from models.checkpoint import Checkpoint
from models.network import TOWERS, PolicyNet, entropy, masked_log_softmax
from training import lessons
from training.command import sentence
from training.config import Config
from training.draws import words
from training.learner import LOSSES, Diverged, Learner, Schedule
from training.rollout import Counts


class Study:
    """The lessons of a run, made where they are missing, and how they are learned.

    Attributes:
        origin: what decides the lessons, as a digest.

    Args:
        path: of the run; its lessons lie in `path`/lessons.
        teacher: whose policy plays.
        console: for the progress of making them.

    Raises:
        ValueError: a teacher that sees something else or counts in another unit, lessons of another origin, damaged
            ones, or a process that made some and was ended.
        OSError: a file that cannot be read.
    """

    def __init__(self, config: Config, path: Path, teacher: Checkpoint, console: Console) -> None:
        self.config, self.teacher = config, teacher.policy()
        columns = varying_columns(as_rules(config.rules), "play")
        if self.teacher.play.columns.tolist() != columns.tolist():
            raise ValueError(f"{teacher.path} reads other columns than a policy for {config.rules!r} does here.")
        unit = teacher.extra.get("config", {}).get("unit", config.unit)
        if unit != config.unit:
            raise ValueError(f"unit = {config.unit}: the values of {teacher.path} count in {unit} points.")
        self.columns: np.ndarray = columns
        self.origin = lessons.origin(config, self.teacher, lessons.per_file(config))
        files = [lessons.file_of(path, number) for number in range(-(-config.lessons // lessons.per_file(config)))]
        kept = {file: lessons.read(file, self.origin) for file in files if file.is_file()}
        missing = [number for number, file in enumerate(files) if file not in kept]
        self._make(path, missing, console)
        self.lessons = lessons.joined([kept.get(file) or lessons.read(file, self.origin) for file in files])
        self.teacher.to(config.device)
        self._order = -1, torch.zeros(0, dtype=torch.int64)

    def _make(self, path: Path, missing: list[int], console: Console) -> None:
        """Make the files of these numbers, by as many processes as `config.threads` says."""
        config, teacher, size = self.config, self.teacher, lessons.per_file(self.config)
        with Progress(console=console, disable=not missing) as progress:
            task = progress.add_task(f"lessons, {size:,} a file", total=len(missing))
            if config.threads == 1:
                for number in missing:
                    lessons.make(config, teacher, path, number, size)
                    progress.advance(task)
                return
            shares = [missing[k :: config.threads] for k in range(min(config.threads, len(missing)))]
            with _workers([(config, teacher, path, share, size) for share in shares]) as workers:
                while running := [worker.sentinel for worker in workers if worker.is_alive()]:
                    wait(running, timeout=1)
                    made = sum(lessons.file_of(path, number).is_file() for number in missing)
                    progress.update(task, completed=made)
                if any(worker.exitcode for worker in workers):
                    raise ValueError("A process that made lessons has ended before its time (not enough memory?).")

    def learn(self, learner: Learner, now: Schedule, iteration: int) -> tuple[Counts, dict[str, float | None]]:
        """An iteration: its share of the passes over the lessons; what was seen, as `Learner.update` has it.

        Raises:
            Diverged: a loss or a weight is not finite.
        """
        config, tower = self.config, learner.policy.play
        learner.set_rate("play", now.learning_rate)
        share = config.epochs * len(self.lessons) / config.iterations
        first, end = int(share * iteration), int(share * (iteration + 1))
        seen = []
        for begin in range(first, end, config.minibatch):
            rows = self._rows(begin, min(begin + config.minibatch, end))
            batch = self.lessons.batch(rows.numpy(), self.columns)
            bits, mask, targets = (part.to(config.device) for part in batch)
            with torch.no_grad():
                taught = self.teacher.play(bits)[1]
            logits, values = tower(bits)
            log_probs = masked_log_softmax(logits, mask)
            loss = -(targets * log_probs).sum(1).mean()
            value_loss = 0.5 * (values - taught).square().mean()
            learner.step("play", loss + config.value_weight * value_loss, [tower])
            moved = loss + (targets * targets.clamp(min=1e-9).log()).sum(1).mean()  # KL(targets ‖ policy)
            seen.append(torch.stack([loss, value_loss, entropy(log_probs).mean(), moved]).detach())
        means = torch.stack(seen).mean(0).cpu()
        if not torch.isfinite(means).all() or not learner.finite():
            raise Diverged("A loss or a weight is not a finite number any more")
        row: dict[str, float | None] = {f"{name}_{key}": None for name in TOWERS for key in LOSSES}
        losses = dict(zip(LOSSES[:4], means.tolist(), strict=True)) | {"gradient_steps": len(seen)}
        return Counts(end - first, 0, 0, 0, 0, 0), row | {f"play_{key}": value for key, value in losses.items()}

    def _rows(self, begin: int, end: int) -> Tensor:
        """Lessons number `begin` to `end` - 1 of all passes, each of which has an order of its own."""
        size = len(self.lessons)
        if begin // size != (end - 1) // size:
            middle = (end - 1) // size * size
            return torch.cat([self._rows(begin, middle), self._rows(middle, end)])
        number = begin // size
        if self._order[0] != number:
            lot = int(words(self.config.seed, number, 112)[()] >> np.uint64(1))
            self._order = number, torch.randperm(size, generator=torch.Generator().manual_seed(lot))
        return self._order[1][begin - number * size : end - number * size]


_Share = tuple[Config, PolicyNet, Path, list[int], int]


@contextmanager
def _workers(shares: list[_Share]) -> Iterator[list[BaseProcess]]:
    """A process for each share; none is left after the block, however it ends."""
    context = multiprocessing.get_context("spawn")
    workers: list[BaseProcess] = [context.Process(target=_work, args=(share,), daemon=True) for share in shares]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which they inherit: Ctrl-C is for the one that leads
    try:
        for worker in workers:
            worker.start()
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield workers
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _work(share: _Share) -> None:
    """Make a share of the files, in a process of its own that ends when the one that leads does."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    torch.set_num_threads(1)
    config, teacher, path, numbers, size = share
    try:
        for number in numbers:
            lessons.make(config, teacher, path, number, size)
    except (OSError, ValueError, MemoryError) as error:
        print(sentence(error), file=sys.stderr)
        sys.exit(1)
