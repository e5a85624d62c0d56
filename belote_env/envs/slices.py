"""`Slices`: work on runs of tables side by side, in threads; kernels release the GIL."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any


class Slices:
    """`n` tables in at most `threads` runs of about one length.

    A copy or a pickle, and a process after a fork, start threads of their own.
    """

    def __init__(self, n: int, threads: int) -> None:
        threads = min(threads, n)
        edges = [n * k // threads for k in range(threads + 1)]
        self._bounds = [(lo, hi) for lo, hi in pairwise(edges) if lo < hi]
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Any, *arguments: Any) -> None:
        """`work(lo, hi, *arguments)` for every run of tables; an error is raised once all have ended."""
        if len(self._bounds) == 1:
            work(*self._bounds[0], *arguments)
            return
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(len(self._bounds)), os.getpid()
        futures = [self._pool.submit(work, lo, hi, *arguments) for lo, hi in self._bounds]
        for failed in [future.exception() for future in futures]:
            if failed is not None:
                raise failed

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_bounds": self._bounds, "_pool": None, "_process": 0}
