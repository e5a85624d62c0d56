"""Ours and others' in one interleaved run, by CPU time: `python benchmarks/peers.py [--rounds 5] [--json FILE]`.

Each peer is optional: what is not installed is left out and said so.  Rates are decisions per CPU-second; each row's
median over the rounds, and its ratio to the peer that its budget names.
"""

import argparse
import importlib.metadata
import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path

from belote_env import bench
from belote_env.bench import Rate, timed

Task = Callable[[], Rate]


def ours() -> dict[str, Task]:
    """This package, at `contree`, the game that colver plays, and at `classic`."""
    return {
        "kernel play-out, contree": lambda: bench.playout_rate("contree", 30_000),
        "vector without observations, contree": lambda: bench.vector_rate("contree", 1024, 400, observe=False),
        "vector with observations, contree": lambda: bench.vector_rate("contree", 1024, 300),
        "vector with observations, classic": lambda: bench.vector_rate("classic", 1024, 300),
        "AEC env(), sample(mask)": lambda: bench.aec_rate("contree", 10_000, sample=True),
        "AEC env(), mask.nonzero()": lambda: bench.aec_rate("contree", 30_000, sample=False),
    }


def colver() -> dict[str, Task]:
    """colver: its Rust rollout, and its Python loop with NumPy observation and mask."""
    import colver
    import numpy as np

    def loop(wanted: int) -> int:
        env, done = colver.Env(), 0
        rng = np.random.default_rng(0)
        while done < wanted:
            env.reset()
            while not env.is_terminal():
                np.asarray(env.get_observation())
                legal = np.asarray(env.legal_action_mask()).nonzero()[0]
                env.step(int(legal[int(rng.random() * len(legal))]))
                done += 1
        return done

    def decisions_per_rollout() -> float:
        total = 0
        for _ in range(2000):
            env = colver.Env()
            env.reset()
            while not env.is_terminal():
                env.step(random.choice(env.legal_actions()))
                total += 1
        return total / 2000

    per_deal = decisions_per_rollout()

    def rollouts() -> Rate:
        env = colver.Env()
        env.reset()
        rate = timed(lambda: env.rollout(20_000) and 20_000)
        return Rate(int(20_000 * per_deal), rate.seconds)

    return {"colver rollout (Rust)": rollouts, "colver Python loop": lambda: timed(lambda: loop(10_000))}


def texas() -> dict[str, Task]:
    """PettingZoo's texas_holdem_no_limit through `env()`, its documented loop."""
    from pettingzoo.classic import texas_holdem_no_limit_v6

    env = texas_holdem_no_limit_v6.env()

    def loop(wanted: int) -> int:
        done = 0
        while done < wanted:
            env.reset(seed=done)
            for agent in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    action = None
                else:
                    action = env.action_space(agent).sample(observation["action_mask"])
                    done += 1
                env.step(action)
        return done

    loop(100)
    return {"PettingZoo texas_holdem_no_limit": lambda: timed(lambda: loop(2_000))}


#: (ours, peer, least ratio)
BUDGETS = [
    ("kernel play-out, contree", "colver rollout (Rust)", 2.0),
    ("vector without observations, contree", "colver rollout (Rust)", 1.2),
    ("vector with observations, contree", "colver rollout (Rust)", 0.5),
    ("AEC env(), sample(mask)", "PettingZoo texas_holdem_no_limit", 8.0),
    ("AEC env(), mask.nonzero()", "colver Python loop", 2.0),
]


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks = ours()
    for peer in (colver, texas):
        try:
            tasks |= peer()
        except ImportError as error:
            print(f"{peer.__name__} is left out: {error}")
    rates: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()  # warm
    for _ in range(options.rounds):
        for name, task in tasks.items():
            rates[name].append(task().per_second)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, median in medians.items():
        print(f"{name:42} {median:14,.0f}   {min(rates[name]):14,.0f} – {max(rates[name]):,.0f}")
    rows = [(a, b, least, medians[a] / medians[b]) for a, b, least in BUDGETS if a in medians and b in medians]
    for a, b, least, ratio in rows:
        print(f"{a} / {b}: {ratio:.2f} (budget {least})")
    if options.json:
        versions = {}
        for package in ("colver", "pettingzoo", "rlcard", "numba"):
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        found = {"machine": bench.machine(), "versions": versions, "rates": rates, "medians": medians, "ratios": rows}
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
