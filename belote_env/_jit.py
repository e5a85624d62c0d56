"""`kernel`: compiled functions whose disk cache knows about every file they were built from.

numba keys a cached kernel by the file that holds it and inlines the kernels it calls.  A constant or a callee
changed in another file would stay stale, even across an upgrade of the package.  Here the key is one digest over
all kernel rooms, so an edit to any of them recompiles all, and nothing else does.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

#: Modules that define kernels or constants that kernels freeze, relative to this package.
KERNEL_ROOMS = (
    "_jit.py",
    "bits.py",
    "cards.py",
    "rules.py",
    "state.py",
    "tricks.py",
    "auction.py",
    "scoring.py",
    "engine.py",
    "knowledge.py",
    "frames.py",
    "observation.py",
    "worlds.py",
    "solver/position.py",
    "solver/table.py",
    "solver/search.py",
    "solver/root.py",
    "players/player.py",
    "players/heuristic.py",
    "players/random.py",
    "players/playout.py",
    "envs/batch.py",
    "envs/seats.py",
    "arena/deals.py",
    "bench/kernels.py",
)


def kernel_digest() -> str:
    """Hex digest of the kernel rooms' sources and of the compiler that read them."""
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    root = Path(__file__).parent
    for room in KERNEL_ROOMS:
        path = root / room
        digest.update(room.encode())
        digest.update(path.read_bytes() if path.exists() else b"absent")
    return digest.hexdigest()[:16]


DIGEST = kernel_digest()


def cache_directory() -> Path:
    """Where compiled kernels live: `$BELOTE_ENV_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("BELOTE_ENV_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "belote_env"


def _cache_class() -> Any:
    """A numba `FunctionCache` stamped with `DIGEST`, or None when numba's internals have moved."""
    try:
        from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

        class Locator(_CacheLocator):  # type: ignore[misc,unused-ignore]
            def __init__(self, py_func: Any, py_file: str) -> None:
                self._line = py_func.__code__.co_firstlineno

            def get_cache_path(self) -> str:
                return str(cache_directory() / DIGEST)

            def get_source_stamp(self) -> str:
                return DIGEST

            def get_disambiguator(self) -> str:
                return str(self._line)

            @classmethod
            def from_function(cls, py_func: Any, py_file: str) -> Any:
                locator = cls(py_func, py_file)
                try:
                    locator.ensure_cache_path()
                except OSError:
                    return None  # an unwritable home: numba then compiles without a cache
                return locator

        class Impl(CompileResultCacheImpl):  # type: ignore[misc,unused-ignore]
            _locator_classes = [Locator]

        class Cache(FunctionCache):  # type: ignore[misc,unused-ignore]
            _impl_class = Impl
            _said = False

            def load_overload(self, sig: Any, target_context: Any) -> Any:
                try:
                    found = super().load_overload(sig, target_context)
                except Exception:  # whatever a torn file raises: forget it, compile, write it anew
                    found = None
                    with contextlib.suppress(OSError):
                        self.flush()
                if found is None and not Cache._said and sys.stderr is not None and sys.stderr.isatty():
                    Cache._said = True
                    print(f"belote_env: compiling, up to a minute; kept in {cache_directory()}", file=sys.stderr)
                return found

            def save_overload(self, sig: Any, data: Any) -> None:
                with contextlib.suppress(OSError):  # a full disk: the kernel is compiled anew in every process
                    super().save_overload(sig, data)

        return Cache
    except (ImportError, AttributeError):
        return None


_CACHE = _cache_class()


#: `_nrt` is not in numba's documentation, though in every version so far.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "forceinline": True}


def kernel(function: F) -> F:
    """Compile a module-level function with numba, release the GIL inside it, cache it on disk by `DIGEST`.

    A kernel allocates nothing, so reference counting is off, and kernels are inlined into each other: together this
    makes a step three times as fast.
    """
    compiled: Any = numba.njit(**_OPTIONS)(function)
    if _CACHE is not None and hasattr(compiled, "_cache"):
        # without a writable place, the kernel is compiled anew in every process
        with contextlib.suppress(RuntimeError, OSError):
            compiled._cache = _CACHE(function)
    return cast(F, compiled)


def bound(function: Callable[..., Any], fixed: tuple[Any, ...], *others: Any) -> Callable[..., Any]:
    """A kernel's compiled code with its first arguments fixed, for further arguments of the types of `others`.

    A call of it does not look at types any more: numba takes longer to recognise twenty arguments than to step a
    hundred tables.  The caller answers for the types of every call.  With the JIT off it is the function itself.
    """
    code: Any = function
    with contextlib.suppress(AttributeError):
        code = code.compile(tuple(map(code.typeof_pyval, (*fixed, *others))))
    return partial(code, *fixed)
