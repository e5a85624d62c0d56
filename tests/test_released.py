"""The released policies: whole, equal in both formats, in the wheel, and playable by name."""

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from belote_env.arena import play_match  # noqa: E402
from belote_env.players import Policy, make_player  # noqa: E402
from belote_env.players.policy import released_policies  # noqa: E402
from models import checkpoint  # noqa: E402
from models.player import NetPlayer  # noqa: E402
from training.config import load  # noqa: E402

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


def test_a_release_is_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert sorted(shipped) == [f"models/released/{path.name}/policy.onnx" for path in RELEASED]
    assert released_policies().keys() == {path.name for path in RELEASED}
