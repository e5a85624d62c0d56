"""The released policies: whole, equal in both formats, in the wheel, and playable by name."""

import csv
import hashlib
import struct
import tomllib
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("pydantic")
pytest.importorskip("tensorboard")

from tiny_runs import TINY, quietly, refused  # noqa: E402

from belote_env.arena import play_match  # noqa: E402
from belote_env.players import Policy, make_player  # noqa: E402
from belote_env.players.policy import released_policies  # noqa: E402
from models import checkpoint  # noqa: E402
from models.player import NetPlayer  # noqa: E402
from training import release, run  # noqa: E402
from training.config import load  # noqa: E402
from training.plots import plot_run  # noqa: E402

ROOT = Path(__file__).parent.parent
RELEASED = sorted(path for path in (ROOT / "models" / "released").iterdir() if path.is_dir())


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name)
def test_a_release_is_whole(path):
    sums = dict(reversed(line.split("  ")) for line in (path / "SHA256SUMS").read_text().splitlines())
    assert {"weights.safetensors", "policy.onnx", "config.toml", "train.csv"} <= sums.keys()
    for name, digest in sums.items():
        assert hashlib.sha256((path / name).read_bytes()).hexdigest() == digest
    assert (path / "card.md").is_file()
    assert sum(file.stat().st_size for file in path.iterdir()) <= 8e6
    load(path / "config.toml")


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name)
def test_both_formats_play_the_same_game(path):
    """Greedy play: only where two logits are equal to rounding may they part."""
    loaded = checkpoint.load(path / "weights.safetensors")
    player = make_player(path.name)
    assert isinstance(player, Policy)
    result = play_match(player, NetPlayer(loaded.policy()), loaded.rules, deals=50, seed=3)
    assert np.mean(result.differences != 0) < 0.1


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """A run and one that began from it, with curves."""
    home = tmp_path_factory.mktemp("runs")
    first = TINY.model_copy(update={"name": "first", "iterations": 4})
    assert quietly(first, home / "first")
    second = {"name": "second", "seed": 2, "start_from": str(home / "first" / run.POLICY)}
    assert quietly(first.model_copy(update=second), home / "second")
    return [home / "first", home / "second"]


def test_runs_are_released_whole_and_play_as_their_last(two_runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(release, "RELEASED", tmp_path)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "card.md").write_text("by hand")
    assert release.main(["small", *map(str, two_runs)]) == 0
    made = tmp_path / "small"
    assert capsys.readouterr().out.strip() == str(made)
    names = {path.name for path in made.iterdir()}
    assert names == {
        *("weights.safetensors", "policy.onnx", "config-1.toml", "config.toml"),
        *("train.csv", "curves.png", "SHA256SUMS", "card.md"),
    }
    test_a_release_is_whole(made)
    assert (made / "card.md").read_text() == "by hand"
    assert [load(made / name).name for name in ("config-1.toml", "config.toml")] == ["first", "second"]
    with (made / "train.csv").open(newline="") as file:
        assert [row["run"] for row in csv.DictReader(file)] == ["first"] * 4 + ["second"] * 4
    played = [Policy(str(made / "policy.onnx")), NetPlayer(checkpoint.load(two_runs[1] / run.POLICY).policy())]
    assert np.mean(play_match(*played, "classic", deals=50, seed=3).differences != 0) < 0.1


def test_only_finished_runs_are_released(two_runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(release, "RELEASED", tmp_path)
    assert "no policy.safetensors" in refused(capsys, release.main, "small", two_runs[0], tmp_path / "none")
    assert "not a name" in refused(capsys, release.main, "../small", two_runs[0])
    assert not list(tmp_path.iterdir())


def test_a_run_is_released_where_one_likes(two_runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(release, "RELEASED", tmp_path / "usual")
    assert release.main(["mine", str(two_runs[0]), "--into", str(tmp_path / "here")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "here" / "mine")
    assert Policy(str(tmp_path / "here" / "mine" / "policy.onnx")).presets == ["classic"]
    assert not (tmp_path / "usual").exists()


def test_curves_show_every_evaluation(two_runs, tmp_path):
    """One PNG of the right size, drawn from whole logs, from logs of one row and from logs without evaluations."""
    log = (two_runs[0] / run.LOG).read_text().splitlines(keepends=True)
    for rows, name in ((len(log), "whole"), (2, "one"), (4, "unmeasured")):
        (tmp_path / "log.csv").write_text("".join(log[:rows]))
        plot_run(tmp_path / "log.csv", tmp_path / f"{name}.png", name)
        image = (tmp_path / f"{name}.png").read_bytes()
        assert image.startswith(b"\x89PNG") and struct.unpack(">II", image[16:24]) == (1300, 700)
    assert len({(tmp_path / f"{name}.png").read_bytes() for name in ("whole", "one", "unmeasured")}) == 3


def test_a_release_is_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert sorted(shipped) == [f"models/released/{path.name}/policy.onnx" for path in RELEASED]
    assert released_policies().keys() == {path.name for path in RELEASED}
