"""`plot_run`: the curves of a run, from its log, as one PNG file."""

import csv
from pathlib import Path

from models.network import TOWERS


def plot_run(log: Path, image: Path, title: str) -> None:
    """Draw strength, entropy, movement of the policy, critic, contracts and speed over the decisions of a run.

    Args:
        log: log.csv of the run.
        image: PNG file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with log.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def series(name: str) -> tuple[list[float], list[float]]:
        kept = [(float(row["decisions"]) / 1e6, float(row[name])) for row in rows if row.get(name)]
        return [x for x, _ in kept], [y for _, y in kept]

    figure, grid = pyplot.subplots(2, 3, figsize=(13, 7), sharex=True)
    strength, entropy, movement, critic, contracts, speed = grid.flat
    x, y = series("heuristic")
    if x:
        strength.errorbar(x, y, yerr=series("heuristic_interval")[1], fmt=".-", capsize=2)
    strength.axhline(0, color="black", linewidth=0.8)
    strength.set_title("points a deal over Heuristic, 95 %")
    for axes, key, name in (
        (entropy, "entropy", "entropy, nats"),
        (movement, "kl", "KL of an iteration, nats"),
        (critic, "explained_variance", "critic's explained variance"),
    ):
        for tower in TOWERS:
            axes.plot(*series(f"{tower}_{key}"), label=tower)
        axes.set_title(name)
        axes.legend()
    for name, label in (
        ("passes", "passes among calls"),
        ("doubled", "deals doubled"),
        ("taken", "taken against others"),
        ("contracts", "taken from Heuristic"),
        ("made", "of these made"),
        ("all_pass", "all pass"),
    ):
        contracts.plot(*series(name), label=label)
    contracts.set_ylim(0, 1)
    contracts.set_title("contracts, shares")
    contracts.legend(fontsize="small")
    speed.plot(*series("decisions_per_second"))
    speed.set_title("decisions a second")
    for axes in grid[1]:
        axes.set_xlabel("million decisions")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(image, dpi=100)
    pyplot.close(figure)
