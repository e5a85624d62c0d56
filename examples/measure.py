"""What every example ends with: the policy in the arena against Random, with an interval."""

import time
from importlib.metadata import version
from typing import Any

from belote_env.arena import play_match

START = time.perf_counter(), time.process_time()


def measure(player: Any, *packages: str, pairs: int = 1000, rules: str = "classic") -> None:
    """Print versions, time and the match; leave with status 1 unless the interval is above 0.

    Args:
        player: what `play_match` takes: a `Player`, or a function `(observation, mask) -> action`.
        packages: whose versions to print.
        pairs: duplicate pairs.
    """
    print(f"trained in {time.perf_counter() - START[0]:.0f} s, {time.process_time() - START[1]:.0f} s of CPU time")
    print(", ".join(f"{name} {version(name)}" for name in ("belote-env", *packages)))
    result = play_match(player, "random", rules=rules, deals=pairs, seed=2026)
    print(f"against Random: {result.mean:+.1f} ± {result.interval:.1f} points a deal in {pairs:,} duplicate pairs")
    if result.mean - result.interval <= 0:
        raise SystemExit("not above Random")
