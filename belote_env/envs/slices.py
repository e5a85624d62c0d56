"""`Slices`: work on runs of tables side by side, in threads; kernels release the GIL."""

import os
import weakref
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
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
        """`work(lo, hi, *arguments)` for every run of tables; errors and interrupts are raised once all have ended."""
        if len(self._bounds) == 1:
            work(*self._bounds[0], *arguments)
            return
        if not self._helpers or self._process != os.getpid():  # threads do not survive a fork
            self._start()
        try:
            for helper, bounds in zip(self._helpers, self._bounds[1:], strict=True):
                helper.tasks.put(partial(work, *bounds, *arguments))
            work(*self._bounds[0], *arguments)
        finally:
            _settle(self._helpers)
        failed = [helper.errors.pop() for helper in self._helpers if helper.errors]
        if failed:
            raise failed[0]

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        _stop(self._helpers)
        self._helpers = []

    def _start(self) -> None:
        self._helpers, self._process = [], os.getpid()
        weakref.finalize(self, _stop, self._helpers)
        try:
            for _ in self._bounds[1:]:
                self._helpers.append(_Helper())
        except RuntimeError:
            self.close()
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {"_bounds": self._bounds, "_helpers": [], "_process": 0}


class _Helper:
    """A thread that does its tasks in order; None ends it."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self.errors: list[BaseException] = []
        Thread(target=self._serve, name="belote_env tables", daemon=True).start()

    def _serve(self) -> None:
        while (task := self.tasks.get()) is not None:
            try:
                task()
            except BaseException as error:
                self.errors[:] = [error]
            del task


def _settle(helpers: list[_Helper]) -> None:
    """Wait until every helper has done all it was given, however often the waiting is interrupted."""
    interrupt = None
    for helper in helpers:
        waiting = True
        while waiting:
            try:
                last = Lock()
                last.acquire()
                helper.tasks.put(last.release)
                last.acquire()
                waiting = False
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        for helper in helpers:
            helper.errors.clear()
        raise interrupt


def _stop(helpers: list[_Helper]) -> None:
    for helper in helpers:
        helper.tasks.put(None)
    helpers.clear()
