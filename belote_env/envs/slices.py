"""`Slices`: work on runs of tables side by side, in threads; kernels release the GIL."""

import os
import weakref
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from threading import Lock, Thread
from typing import Any


class Slices:
    """`n` tables in at most `threads` runs of about one length; the caller's thread does the first.

    A copy or a pickle, and a process after a fork, start threads of their own.
    """

    def __init__(self, n: int, threads: int) -> None:
        threads = min(threads, n)
        edges = [n * k // threads for k in range(threads + 1)]
        self._bounds = [(lo, hi) for lo, hi in pairwise(edges) if lo < hi]
        self._helpers: list[_Helper] = []
        self._process = 0

    def run(self, work: Callable[..., Any], *arguments: Any) -> None:
        """`work(lo, hi, *arguments)` for every run of tables; an error is raised once all have ended."""
        if len(self._bounds) == 1:
            work(*self._bounds[0], *arguments)
            return
        if not self._helpers or self._process != os.getpid():  # threads do not survive a fork
            self._helpers, self._process = [_Helper() for _ in self._bounds[1:]], os.getpid()
            weakref.finalize(self, _stop, self._helpers)
        for helper, (lo, hi) in zip(self._helpers, self._bounds[1:], strict=True):
            helper.begin(partial(work, lo, hi, *arguments))
        errors: list[BaseException | None] = []
        try:
            work(*self._bounds[0], *arguments)
        except BaseException as error:
            errors.append(error)
        errors += [helper.wait() for helper in self._helpers]
        for failed in errors:
            if failed is not None:
                raise failed

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._process == os.getpid():
            _stop(self._helpers)
        self._helpers = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_bounds": self._bounds, "_helpers": [], "_process": 0}


class _Helper:
    """A thread that takes one task after another; two locks hand them over, in a tenth of the time of a queue.

    Invariant: `_idle` is held just while a task is under way, so one that an interrupt left alone is waited for.
    """

    def __init__(self) -> None:
        self._idle, self._given = Lock(), Lock()
        self._given.acquire()
        self._task: Callable[[], Any] | None = None
        self._error: BaseException | None = None
        Thread(target=self._serve, name="belote_env tables", daemon=True).start()

    def begin(self, task: Callable[[], Any] | None) -> None:
        """Start a task; None ends the thread."""
        self._idle.acquire()
        self._task, self._error = task, None
        self._given.release()

    def wait(self) -> BaseException | None:
        """What the task that was begun last raised, once it has ended."""
        with self._idle:
            return self._error

    def _serve(self) -> None:
        while True:
            self._given.acquire()
            if self._task is None:
                return
            try:
                self._task()
            except BaseException as error:
                self._error = error
            self._task = None
            self._idle.release()


def _stop(helpers: list[_Helper]) -> None:
    for helper in helpers:
        helper.begin(None)
    helpers.clear()
