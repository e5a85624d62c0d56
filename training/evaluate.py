"""Measure a policy: `python -m training.evaluate SOURCE --against heuristic,hard --pairs 2000`.

SOURCE is a run's directory, a checkpoint, an ONNX file or the name of a released policy.  Duplicate pairs: each deal is
played twice, sides swapped; mean and interval are over the pairs' means.  With --parts the cards and the calls are also
measured apart: SOURCE's cards on the opponent's calls, and SOURCE's calls with the opponent's cards.

Opponents are players of `belote evaluate` and, where colver is installed, colver-PLAYER[-BUDGET] such as
colver-isdd-50ms or colver-heuristic, with its `improved` bidder (benchmarks/colver_player.py).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from belote_env.arena import MatchResult, play_match
from belote_env.notation import parse_positions
from belote_env.players import Player, Policy, Split, make_player
from belote_env.rules import Rules, as_rules
from models import checkpoint
from models.player import NetPlayer
from training import run as runs
from training.command import Parser, refuse, sentence

#: Evaluation deals are not those of training, whose tables draw from the run's own seed.
EVALUATION_SEED = 20_261_129
#: Who a policy is measured against when nobody says.
OPPONENTS = ("random", "heuristic")
DEALS = Path(__file__).parents[1] / "configs" / "deals"
#: What is measured of a policy against an opponent: all of it, its cards alone, its calls alone.
PARTS = ("whole", "cards", "calls")


def source_player(source: str, sample: bool = False, seed: int = 0) -> tuple[Player, Rules | None]:
    """The player of a run's directory, a checkpoint, an ONNX file or a released policy, and its rules where
    these are known.

    Raises:
        OSError, ValueError, ImportError: no such file, or none that holds a policy.
    """
    path = Path(source)
    if path.is_dir():
        path = path / (runs.POLICY if (path / runs.POLICY).exists() else runs.CHECKPOINT)
    if path.suffix == ".safetensors":
        loaded = checkpoint.load(path)
        return NetPlayer(loaded.policy(), name=Path(source).stem, sample=sample, seed=seed), loaded.rules
    policy = Policy(source, sample=sample, seed=seed)
    return policy, Rules.preset(policy.presets[0]) if len(policy.presets) == 1 else None


def opponent_player(name: str) -> Player:
    """A player by name, colver's too.

    Raises:
        ValueError: no such player, or colver is not installed.
    """
    if not name.startswith("colver-"):
        return make_player(name)
    try:
        from benchmarks.colver_player import ColverPlayer

        return ColverPlayer(name if name.startswith("colver-improved") else f"colver-improved-{name[7:]}")
    except ImportError as error:
        raise ValueError(
            f"{name} needs colver: pip install -e '.[oracle]', and the checkout's root as directory"
        ) from error


def contests(player: Player, opponent: str, parts: bool) -> Iterator[tuple[str, Player, Player]]:
    """What is played against an opponent: part, a side and the other."""
    yield "whole", player, opponent_player(opponent)
    if parts:  # players of their own, for those that remember their tables
        yield "cards", Split(opponent_player(opponent), player), opponent_player(opponent)
        yield "calls", Split(player, opponent_player(opponent)), opponent_player(opponent)


def measure(
    player: Player, opponents: Sequence[str], rules: Rules, deals: int | NDArray[Any], parts: bool = False,
    regret: bool = False, seed: int = EVALUATION_SEED,
) -> Iterator[tuple[str, dict[str, MatchResult]]]:  # fmt: skip
    """Play against each opponent in turn: its name, and a result for each part."""
    for name in opponents:
        yield name, {
            part: play_match(
                a, b, rules, deals, seed=seed, progress=sys.stderr.isatty(), pairs_at_once=512,
                regret=regret and part == "whole",
            )
            for part, a, b in contests(player, name, parts)
        }  # fmt: skip


def to_dict(results: dict[str, dict[str, MatchResult]]) -> dict[str, Any]:
    """Results by opponent and part, as JSON has them."""
    return {name: {part: result.to_dict() for part, result in parts.items()} for name, parts in results.items()}


def payoff_table(results: dict[str, dict[str, MatchResult]], console: Console) -> None:
    """Print a line an opponent: points a deal by part, contracts taken and made, CPU time of a decision."""
    played = [part for part in PARTS if any(part in parts for parts in results.values())]
    pairs = max(parts["whole"].pairs for parts in results.values())
    table = Table(title=f"points a deal over {pairs:,} duplicate pairs, 95 % intervals")
    table.add_column("opponent")
    for header in (*played, "taken", "made", "all pass", "µs of CPU"):
        table.add_column(header, justify="right")
    for name, parts in results.items():
        whole = parts["whole"]
        table.add_row(
            name,
            *(f"{parts[part].mean:+.1f} ± {parts[part].interval:.1f}" for part in played),
            f"{whole.a.contracts / whole.deals:.0%}",
            f"{whole.a.made_rate:.0%}",
            f"{whole.all_pass / whole.deals:.1%}",
            f"{whole.a.cpu_us:,.0f} / {whole.b.cpu_us:,.0f}",
        )
    console.print(table)


def plot(results: dict[str, dict[str, MatchResult]], path: Path, title: str) -> None:
    """Draw the payoffs with their intervals to a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.5 * len(results)))
    for k, part in enumerate(PARTS):
        rows = [(row, parts[part]) for row, parts in enumerate(results.values()) if part in parts]
        if rows:
            axes.errorbar(
                [result.mean for _, result in rows],
                [row + 0.15 * (k - 1) for row, _ in rows],
                xerr=[result.interval for _, result in rows],
                fmt="o",
                capsize=3,
                label=part,
            )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(results)), list(results))
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.set_xlabel("points a deal, 95 % intervals")
    axes.set_title(title)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def frozen_deals(name: str, rules: Rules) -> NDArray[Any]:
    """(n,) states of a file of positions, or of configs/deals/<rules>-<name>.txt.

    Raises:
        OSError, ValueError: no such file, or positions of other rules.
    """
    path = Path(name)
    if not path.suffix:
        path = DEALS / f"{rules.name}-{name}.txt"
    states, given = parse_positions(path.read_text(encoding="utf-8"))
    if given.digest != rules.digest:
        raise ValueError(f"{path} holds positions of {given.name!r}, the policy plays {rules.name!r}.")
    return states


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = Parser(prog="python -m training.evaluate", description=__doc__.splitlines()[0])
    parser.add_argument("source", help="a run's directory, a checkpoint, an ONNX file or a released policy")
    usual = ",".join(OPPONENTS)
    parser.add_argument("--against", default=usual, help=f"opponents, by commas ({usual})")
    parser.add_argument("--rules", help="a preset (that of the policy)")
    parser.add_argument("--pairs", type=int, default=2000, help="duplicate pairs of deals against each opponent (2000)")
    parser.add_argument("--seed", type=int, default=EVALUATION_SEED, help=f"of the deals ({EVALUATION_SEED})")
    parser.add_argument(
        "--deals", help="a file of positions, or `look` or `final` for the frozen ones, instead of a seed"
    )
    parser.add_argument("--parts", action="store_true", help="measure cards and calls apart, too")
    parser.add_argument("--regret", action="store_true", help="measure what the cards give away to open-card play")
    parser.add_argument("--sample", action="store_true", help="draw from the policy instead of its best action")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--plot", type=Path, help="draw them to this file, by its suffix PNG, PDF or SVG")
    try:
        options = parser.parse_args(arguments)
        if options.pairs < 2:
            parser.error("--pairs: at least 2 are needed")
        if not 0 <= options.seed < 2**64:
            parser.error("--seed: 0 to 2**64 - 1 is needed")
        for file in (options.json, options.plot):
            if file and not file.parent.is_dir():
                parser.error(f"there is no directory {file.parent}")
        evaluate(options, Console())
    except (OSError, ValueError, ImportError, MemoryError, OverflowError) as error:
        return refuse(sentence(error))
    except KeyboardInterrupt:
        return 130
    return 0


def evaluate(options: Any, console: Console) -> None:
    """Play, print and write what the command line asks for."""
    player, trained = source_player(options.source, options.sample, options.seed)
    if trained is None and not options.rules:
        raise ValueError("--rules is needed: the file does not say for which one preset it was made.")
    rules = as_rules(options.rules) if options.rules else trained
    assert rules is not None
    names = [name.strip() for name in options.against.split(",") if name.strip()]
    if not names:
        raise ValueError("--against names no opponent.")
    for name in names:
        opponent_player(name)
    deals: int | NDArray[Any] = frozen_deals(options.deals, rules)[: options.pairs] if options.deals else options.pairs
    results: dict[str, dict[str, MatchResult]] = {}
    for name, parts in measure(player, names, rules, deals, options.parts, options.regret, options.seed):
        results[name] = parts
        if options.json:  # as they come: opponents that think take hours
            told = {"source": options.source, "rules": rules.name, "against": to_dict(results)}
            runs.write_json(options.json, told)
    payoff_table(results, console)
    if options.regret:
        from belote_env.arena import regret_table

        for parts in results.values():
            console.print(regret_table(*(parts["whole"].regrets or ())))
    if options.plot:
        plot(results, options.plot, f"{player.name} at {rules.name}")


if __name__ == "__main__":
    sys.exit(main())
