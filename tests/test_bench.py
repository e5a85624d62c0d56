"""`belote bench` and `benchmarks/peers.py`: what they show and save. Nothing here looks at how fast anything is."""

import importlib.util
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from belote_env import cli
from belote_env.bench import doors, fresh, plot, suite
from belote_env.bench.kernels import random_masked
from belote_env.bench.measure import Measured, Rate, Task, rate_ratio, size_for
from belote_env.bench.report import Report

ROOT = Path(__file__).parent.parent
TINY = suite.Scale(tables=(1, 4), seconds=0.0, rounds=2, gymnasium_tables=4, many=256)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def peers():
    spec = importlib.util.spec_from_file_location("peers", ROOT / "benchmarks" / "peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def at_rate(per_second):
    """`Task.prepare` of work at a known rate."""
    return lambda seconds: lambda: Rate(int(per_second), 1.0, 2.0)


def measured(name, tables, threads, *rates):
    return Measured(name, "classic", tables, threads, list(rates), [2 * rate for rate in rates])


def test_bench_prints_and_saves_everything(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(suite, "QUICK", TINY)
    monkeypatch.setattr(suite, "FIRST_STEPS", {"Game": fresh.FIRST_STEPS["Game"]})
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "--quick", "--rules", "contree", "--rounds", "1", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    record = json.loads(path.read_text())
    assert record["schema"] == 1 and record["rounds"] == 1 and not record["interrupted"]
    assert record["command"] == "belote bench --quick --rules contree --rounds 1"
    assert {"numba", "numpy"} <= set(record["packages"]) and record["machine"]["cores"] >= 1
    assert {"version", "commit", "date", "notes"} <= set(record)
    rows = {(row["name"], row["tables"], row["threads"]): row for row in record["measured"]}
    for name in (suite.BARE, suite.OBSERVED):
        assert {(name, 1, 1), (name, 4, 1), (name, 4, 2)} <= set(rows) and (name, 1, 2) not in rows
    for name in (suite.PLAYOUT, *(task.name for task in suite.aec_tasks("contree"))):
        assert (name, 0, 1) in rows and name in out
    for row in rows.values():
        assert row["rules"] == "contree" and len(row["cpu_rates"]) == len(row["wall_rates"]) == 1
        assert row["least"] == row["median"] == row["most"] == row["cpu_rates"][0] > 0
    (cold,) = record["cold_starts"]
    assert cold["door"] == "Game" and cold["cache"] == "warm" and len(cold["wall"]) == len(cold["cpu"]) == 1
    (memory,) = record["memory"]
    assert memory["rules"] == "contree" and memory["counted"] > 256 and f"{memory['counted']}" in out


def test_an_interrupt_shows_and_saves_what_there_is(monkeypatch, capsys, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    found = [Task("quick", at_rate(1000)), Task("endless", lambda seconds: interrupt)]
    monkeypatch.setattr(suite, "tasks", lambda rules, scale: found)
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "--rules", "classic", "--json", str(path)]) == cli.INTERRUPTED
    captured = capsys.readouterr()
    assert "Interrupted" in captured.out and "quick" in captured.out and captured.err.strip() == "stopped"
    record = json.loads(path.read_text())
    assert record["interrupted"] and [row["name"] for row in record["measured"]] == ["quick"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rules", "poker"], "'poker' is not a preset"),
        (["--rounds", "0"], "--rounds 0: 1 to 1000 is needed"),
        (["--json", "/nowhere/at/all.json"], "--json /nowhere/at/all.json: a file in a folder that exists"),
        (["--plot", "/nowhere/at/all.png"], "--plot /nowhere/at/all.png: a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys):
    assert cli.main(["bench", *arguments]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("belote: ") and sentence in captured.err and captured.err.count("\n") == 1


def test_without_matplotlib_a_plot_is_refused_at_once(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["bench", "--plot", str(tmp_path / "bench.png")]) == cli.BAD_INPUT
    assert capsys.readouterr().err == "belote: --plot needs matplotlib: pip install 'belote-env[bench]'\n"


def test_the_plot_is_a_png(tmp_path):
    pytest.importorskip("matplotlib")
    single = measured("kernel play-out", 0, 1, 3e7, 2e7)
    series = [measured(suite.BARE, tables, 1, 1e5 * tables, 2e5 * tables) for tables in (1, 64)]
    for found in ([single], series, [single, *series]):
        path = tmp_path / "bench.png"
        plot.save_plot(Report("belote bench", 2, found), path)
        assert path.read_bytes().startswith(PNG)


def test_replays_make_the_decisions_that_were_drawn(monkeypatch):
    monkeypatch.setattr(doors, "MIXED_TABLES", 8)
    monkeypatch.setattr(doors, "MIXING_STEPS", 300)
    play = doors.RandomPlay("coinche", 20)  # more tables than mixed positions
    play.draw(40)
    for observe, threads in ((True, 1), (False, 1), (True, 2)):  # an illegal action would raise
        assert play.replay(observe, threads).decisions == 20 * 40
    start = play._vector(observe=False, threads=1).states
    assert np.array_equal(start[:8], start[8:16]) and np.array_equal(start[:4], start[16:])
    assert len(set(start["n_cards"].tolist())) > 1


def test_the_size_of_a_measurement_follows_its_time():
    assert size_for(1.0, lambda size: Rate(size, 0.01 * size, 0.0)) == 100
    assert size_for(0.0, lambda size: Rate(size, 0.01 * size, 0.0)) == 1


def test_ratios_are_taken_round_by_round():
    found = [
        measured(suite.BARE, 1024, 1, 8.0, 4.0),
        measured(suite.BARE, 1024, 2, 12.0, 6.0),
        measured(suite.BARE, 100_000, 1, 4.0, 4.0),
    ]
    speed_up, flatness = suite.ratios(found)
    assert "2 threads over one" in speed_up.name and speed_up.tables == 1024 and speed_up.values == [1.5, 1.5]
    assert "cost at 100,000 tables over 1,024" in flatness.name and flatness.values == [2.0, 1.0]
    interrupted = rate_ratio("half a round", found[0], measured(suite.BARE, 1, 1, 2.0))
    assert interrupted.values == [4.0]


def test_arrays_that_share_memory_count_once():
    class Holder:
        def __init__(self):
            self.words = np.zeros((4, 8), np.uint64)
            self.bytes = self.words.view(np.uint8)[:, :5]
            self.seats = np.zeros(4, np.int8)
            self.number = 7

    assert fresh._array_bytes(Holder()) == 4 * 8 * 8 + 4


def test_random_masked_draws_every_legal_action_and_no_other():
    mask = np.zeros((2, 9), np.int8)
    mask[0, [1, 4, 8]] = mask[1, [0]] = 1
    out, x, drawn = np.zeros(2, np.int64), np.uint64(1), set()
    for _ in range(60):
        x = np.uint64(random_masked(mask, x, out))
        drawn |= {(row, int(action)) for row, action in enumerate(out)}
    assert drawn == {(0, 1), (0, 4), (0, 8), (1, 0)}


def test_a_learner_makes_about_a_quarter_of_the_decisions():
    learner, everybody = (doors.gymnasium_rate("classic", "random", 64, 60, seats) for seats in (False, True))
    assert learner.decisions <= 64 * 60
    assert 3.5 < everybody.decisions / learner.decisions < 4.5


def test_budgets_name_what_is_measured(peers):
    ours, theirs = {(task.name, task.rules) for task in peers.ours()}, {task.name for task in peers.PEERS}
    for budget in peers.BUDGETS:
        assert (budget.ours, "contree") in ours and budget.peer in theirs


def test_peers_leaves_out_what_is_not_installed(peers, monkeypatch, capsys, tmp_path):
    def missing():
        raise ImportError("No module named 'deck'")

    monkeypatch.setattr(peers, "ours", lambda: [Task(suite.PLAYOUT, at_rate(6000), "contree")])
    monkeypatch.setattr(peers, "PEERS", [Task(peers.COLVER, at_rate(2000)), peers.looped("deck of cards", missing)])
    path = tmp_path / "peers.json"
    monkeypatch.setattr(peers.sys, "argv", ["peers.py", "--rounds", "2", "--json", str(path)])
    assert peers.main() == 0
    assert "deck of cards is left out: No module named 'deck'" in capsys.readouterr().out
    record = json.loads(path.read_text())
    (ratio,) = record["ratios"]
    assert ratio["values"] == [3.0, 3.0] and ratio["budget"] == 2.0 and ratio["name"].endswith(peers.COLVER)


@pytest.mark.parametrize("script", ["solver.py --deals 2", "parts.py --tables 8 --positions 2"])
def test_the_other_benchmarks_run(script, monkeypatch, capsys):
    name, *options = script.split()
    monkeypatch.setattr("sys.argv", [name, *options])
    runpy.run_path(str(ROOT / "benchmarks" / name), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 10
