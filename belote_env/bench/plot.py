"""A benchmark as a picture. matplotlib (extra `[bench]`) is imported when one is drawn."""

import importlib.util
from pathlib import Path
from typing import Any

from belote_env.bench.measure import Measured
from belote_env.bench.report import Report, label, short, split_series


def check_plot() -> None:
    """Refuse before anything is measured.

    Raises:
        ValueError: matplotlib is missing.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install 'belote-env[bench]'")


def save_plot(report: Report, path: Path) -> None:
    """Write a PNG: a bar for each path, and a line for each that was measured at several numbers of tables.

    Raises:
        ValueError: matplotlib is missing.
        OSError: the file cannot be written.
    """
    check_plot()
    from matplotlib.figure import Figure

    single, series = split_series([one for one in report.measured if one.threads == 1])
    panels = [(draw, found) for draw, found in ((_bars, single), (_lines, series)) if found]
    height = max(4.0, 1.5 + 0.3 * len(single))
    figure = Figure(figsize=(8.0 * max(1, len(panels)), height), layout="constrained")
    for k, (draw, found) in enumerate(panels):
        draw(figure.add_subplot(1, len(panels), k + 1), found)
    figure.savefig(path, format="png", dpi=120)


def _bars(axes: Any, found: list[Measured]) -> None:
    spreads = [one.spread for one in found]
    medians = [spread.median for spread in spreads]
    below = [spread.median - spread.least for spread in spreads]
    above = [spread.most - spread.median for spread in spreads]
    axes.barh([label(one) for one in found], medians, xerr=(below, above), color="#4c78a8", ecolor="#333333")
    for k, median in enumerate(medians):
        axes.annotate(short(median), (median, k), (6, 5), textcoords="offset points", va="bottom", fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=3 * max(spread.most for spread in spreads))
    axes.set_xlabel("decisions per CPU-second, median with least and most")


def _lines(axes: Any, found: list[Measured]) -> None:
    names = list(dict.fromkeys(one.name for one in found))
    presets = list(dict.fromkeys(one.rules for one in found))
    for name in names:
        for preset in presets:
            line = sorted((one.tables, one.spread) for one in found if (one.name, one.rules) == (name, preset))
            if not line:
                continue
            axes.errorbar(
                [tables for tables, _ in line],
                [spread.median for _, spread in line],
                yerr=[
                    [spread.median - spread.least for _, spread in line],
                    [spread.most - spread.median for _, spread in line],
                ],
                label=", ".join(filter(None, (name, preset))),
                color=f"C{presets.index(preset) % 10}",
                linestyle=("-", "--", ":", "-.")[names.index(name) % 4],
                marker="o",
                markersize=3,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("tables")
    axes.set_ylabel("decisions per CPU-second")
    axes.legend(fontsize=7)
