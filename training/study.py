"""Study: fit a policy's tower for cards to lessons (`training.lessons`), which the policy of `start_from` gives."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from models.network import TOWERS, PolicyNet, entropy, masked_log_softmax
from training import lessons
from training.config import Config
from training.draws import words
from training.learner import LOSSES, Diverged, Learner, Schedule
from training.rollout import Counts


class Study:
    """The lessons of a run, made where they are missing, and how they are learned.

    Args:
        path: of the run; its lessons lie in `path`/lessons.
        teacher: the policy that plays.
        console: for the progress of making them.
    """

    def __init__(self, config: Config, path: Path, teacher: PolicyNet, console: Console) -> None:
        self.config, self.teacher = config, teacher
        files = -(-config.lessons // lessons.PER_FILE)
        missing = [number for number in range(files) if not lessons.file_of(path, number).is_file()]
        alone = config.model_copy(update={"threads": 1})
        shares = [(alone, teacher, path, number, lessons.PER_FILE) for number in missing]
        with _workers(config.threads) as pool:
            done = pool.map(_make, shares) if pool else map(_make, shares)
            if missing:
                label = f"lessons, {lessons.PER_FILE:,} a file"
                for _ in track(done, label, len(missing), console=console):
                    pass
        self.lessons = lessons.load(path, files, lessons.origin(config, teacher, lessons.PER_FILE))
        self._order = -1, torch.zeros(0, dtype=torch.int64)

    def learn(self, learner: Learner, now: Schedule, iteration: int) -> tuple[Counts, dict[str, float | None]]:
        """An iteration: its share of the passes over the lessons; what was seen, as `Learner.update` has it.

        Raises:
            Diverged: a loss or a weight is not finite.
        """
        config, tower, optimizer = self.config, learner.policy.play, learner.optimizers["play"]
        for settings in optimizer.param_groups:
            settings["lr"] = now.learning_rate
        share = config.epochs * len(self.lessons) / config.iterations
        first, end = int(share * iteration), int(share * (iteration + 1))
        seen = []
        for begin in range(first, end, config.minibatch):
            rows = self._rows(begin, min(begin + config.minibatch, end))
            bits, mask, targets = self.lessons.batch(rows.numpy(), self.teacher.play.columns.numpy())
            with torch.no_grad():
                worth = self.teacher.play(bits)[1]
            logits, values = tower(bits)
            log_probs = masked_log_softmax(logits, mask)
            loss = -(targets * log_probs).sum(1).mean()
            value_loss = 0.5 * (values - worth).square().mean()
            optimizer.zero_grad(set_to_none=True)
            (loss + config.value_weight * value_loss).backward()
            nn.utils.clip_grad_norm_(tower.parameters(), config.max_gradient_norm)
            optimizer.step()
            moved = loss + (targets * targets.clamp(min=1e-9).log()).sum(1).mean()  # KL(targets ‖ policy)
            seen.append(torch.stack([loss, value_loss, entropy(log_probs).mean(), moved]).detach())
        means = torch.stack(seen).mean(0)
        if not torch.isfinite(means).all() or not learner.finite():
            raise Diverged("A loss or a weight is not a finite number any more")
        learner.follow()
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


def _workers(threads: int) -> AbstractContextManager[ProcessPoolExecutor | None]:
    """Processes that make lessons; None where one thread does all."""
    return nullcontext() if threads == 1 else ProcessPoolExecutor(threads, multiprocessing.get_context("spawn"))


def _make(share: tuple[Config, PolicyNet, Path, int, int]) -> None:
    """In a process of its own."""
    torch.set_num_threads(1)
    lessons.make(*share)
