"""The solver's cost by CPU time: `python benchmarks/solver.py [--deals 200] [--json FILE]`.

Fixed deals at their first lead, all first cards each, in turn with colver's `solve_scores` where it is installed; then
the cost of all cards at the first lead, and with two cards on the table, of every trick of well-played deals.
"""

import argparse
import importlib.metadata
import json
import random
import time
from pathlib import Path

import numpy as np

from belote_env import Game
from belote_env.bench.report import machine
from belote_env.cards import CARD_NAMES, STRAINS
from belote_env.solver.position import NODES
from belote_env.solver.root import POINTS_OBJECTIVE, new_scratch, solve_rows
from belote_env.solver.search import ABOVE, BELOW


class Ours:
    """One table for all deals, as `solve_many` has it in a thread; counts nodes too."""

    def __init__(self) -> None:
        self.work, self.table = new_scratch()
        self.values = np.empty((1, 32), np.int16)

    def __call__(self, game: Game) -> tuple[float, int]:
        """CPU seconds and nodes (cards played in searching) of one position."""
        self.work[NODES] = 0
        packed = game.rules.packed
        begin = time.process_time()
        solve_rows(
            game._states, 0, 1, packed, POINTS_OBJECTIVE, BELOW, ABOVE, False, self.work, self.table, self.values
        )
        return time.process_time() - begin, int(self.work[NODES])


def deals(n: int, seed: int = 20241) -> list[tuple[Game, list[list[int]]]]:
    """Deals at random, a random trump and taker: `(game at its first lead, hands)`."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        cards = list(range(32))
        rng.shuffle(cards)
        hands = [sorted(cards[8 * k : 8 * k + 8]) for k in range(4)]
        dealer, trump, taker = rng.randrange(4), rng.randrange(4), rng.randrange(2)
        names = [[CARD_NAMES[c] for c in hand] for hand in hands]
        found.append((Game.from_play("contree", names, dealer, taker, STRAINS[trump], 80), hands))
    return found


def colver_of(game: Game, hands: list[list[int]]) -> float:
    """CPU seconds of colver's `solve_scores`."""
    import colver

    contract = game.contract
    assert contract is not None
    env = colver.Env.deal_with_hands(game.dealer, hands)
    env.set_contract(STRAINS.index(contract.trump), 80, contract.taker % 2, 0)
    env.set_phase_playing()
    begin = time.process_time()
    env.solve_scores()
    return time.process_time() - begin


def summary(seconds: list[float]) -> dict[str, float]:
    """Mean, median and 99th percentile in milliseconds."""
    ms = 1e3 * np.array(seconds)
    return {"mean": float(ms.mean()), "median": float(np.median(ms)), "p99": float(np.quantile(ms, 0.99))}


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deals", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    games = deals(options.deals)
    ours = Ours()
    ours(games[0][0])  # compiled
    try:
        colver_of(*games[0])
        peer = True
    except ImportError as error:
        print(f"colver is left out: {error}")
        peer = False
    times, nodes, theirs = [], [], []
    for game, hands in games:
        spent, played = ours(game)
        times.append(spent)
        nodes.append(played)
        if peer:
            theirs.append(colver_of(game, hands))
    found = {
        "machine": machine(),
        "deals": len(games),
        "ours_ms": summary(times),
        "nodes": {k: v / 1e3 for k, v in summary(nodes).items()},
        "per_trick_ms": per_trick([game for game, _ in games[:100]], ours),
    }
    print(f"all first cards of {len(games)} deals, CPU ms")
    print("ours: " + ", ".join(f"{k} {v:.2f}" for k, v in found["ours_ms"].items()))
    print("nodes: " + ", ".join(f"{k} {v:,.0f}" for k, v in found["nodes"].items()))
    if peer:
        found["colver"] = importlib.metadata.version("colver")
        found["colver_ms"] = summary(theirs)
        found["ratio"] = found["colver_ms"]["mean"] / found["ours_ms"]["mean"]
        print("colver: " + ", ".join(f"{k} {v:.2f}" for k, v in found["colver_ms"].items()))
        print(f"colver / ours, means: {found['ratio']:.1f} (budget 4)")
    print("trick   first lead   third seat (mean CPU ms for all cards)")
    for trick, (lead, middle) in enumerate(found["per_trick_ms"], 1):
        print(f"{trick:5} {lead:12.3f} {middle:12.3f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def per_trick(games: list[Game], ours: Ours) -> list[tuple[float, float]]:
    """Mean ms for all cards at the lead and in the third seat of each trick, a best card being played each time."""
    spent = np.zeros((8, 4))
    for start in games:
        game = start.copy()
        for n in range(32):
            spent[n // 4, n % 4] += ours(game)[0]
            row = ours.values[0]
            game.play(int(np.argmax(row)))
    return [(float(a), float(b)) for a, b in 1e3 * spent[:, [0, 2]] / len(games)]


if __name__ == "__main__":
    main()
