"""Measure a checkpoint: `python -m training.evaluate CHECKPOINT --deals 2000`.

Duplicate pairs: each deal is played twice, sides swapped; mean and interval are over the pairs' means.
"""

import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from belote_env.arena import play_match
from belote_env.players import Heuristic, Random
from belote_env.rules import Rules
from models import checkpoint
from models.network import PolicyNet
from models.player import NetPlayer
from training.command import Parser, refuse, sentence

#: Evaluation deals are not those of training, whose tables draw from the run's own seed.
EVALUATION_SEED = 20_261_129


def measure(
    policy: PolicyNet, rules: Rules, deals: int, seed: int = EVALUATION_SEED, sample: bool = False
) -> dict[str, dict[str, Any]]:
    """Points a deal of the policy against Random and Heuristic: `MatchResult.to_dict` by opponent's name."""
    results = {}
    for opponent in (Random(seed), Heuristic()):
        player = NetPlayer(policy, sample=sample, seed=seed)
        start = time.process_time()
        result = play_match(player, opponent, rules, deals=deals, seed=seed, progress=False)
        results[opponent.name] = result.to_dict() | {
            "cpu_seconds": round(time.process_time() - start, 2),
        }
    return results


def show(results: dict[str, dict[str, Any]], deals: int, console: Console) -> None:
    """Print one line an opponent."""
    table = Table(title=f"{deals} duplicate pairs against each")
    table.add_column("opponent")
    table.add_column("points a deal", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, result in results.items():
        table.add_row(name, f"{result['mean']:+.1f}", f"± {result['interval']:.1f}")
    console.print(table)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = Parser(prog="python -m training.evaluate", description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="a checkpoint or policy, .safetensors")
    parser.add_argument("--deals", type=int, default=2000, help="duplicate pairs of deals against each opponent (2000)")
    parser.add_argument("--seed", type=int, default=EVALUATION_SEED, help=f"of the deals ({EVALUATION_SEED})")
    parser.add_argument("--sample", action="store_true", help="draw from the policy instead of its best action")
    try:
        options = parser.parse_args(arguments)
        if options.deals < 2:
            parser.error("--deals: at least 2 are needed")
        if not 0 <= options.seed < 2**64:
            parser.error("--seed: 0 to 2**64 - 1 is needed")
        loaded = checkpoint.load(options.checkpoint)
        results = measure(loaded.policy(), loaded.rules, options.deals, options.seed, options.sample)
        show(results, options.deals, Console())
    except (OSError, ValueError, MemoryError, OverflowError) as error:
        return refuse(sentence(error))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
