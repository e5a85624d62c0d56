"""`python -m training.evaluate`: what it plays, prints, writes and refuses."""

import json
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")
pytest.importorskip("tensorboard")

from rich.console import Console  # noqa: E402
from test_players import positions  # noqa: E402
from tiny_runs import ROOT, refused  # noqa: E402

from belote_env.arena import play_match  # noqa: E402
from belote_env.notation import position_text  # noqa: E402
from belote_env.players import Heuristic, Policy, Random, Split  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from models import checkpoint  # noqa: E402
from models.network import Critic, PolicyNet  # noqa: E402
from models.player import NetPlayer  # noqa: E402
from training import evaluate, run  # noqa: E402
from training.config import load  # noqa: E402

CLASSIC = Rules.preset("classic")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The directory of a run, as far as evaluation reads it."""
    path = tmp_path_factory.mktemp("runs") / "made"
    path.mkdir()
    torch.manual_seed(0)
    net = PolicyNet.for_rules(CLASSIC, (8,), (8,))
    checkpoint.save(path / run.POLICY, net, CLASSIC, Critic.for_policy(net, (8,)))
    return path


def positions_file(path, rules, n=4):
    states, _ = positions(rules, n)
    path.write_text("".join(f"{position_text(states, i, rules)}\n" for i in range(n)), encoding="utf-8")
    return path


def evaluated(capsys, *arguments):
    assert evaluate.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_measure_is_points_against_random_and_heuristic(home):
    player = NetPlayer(home / run.POLICY)
    results = dict(evaluate.measure(player, evaluate.OPPONENTS, CLASSIC, 4, seed=5))
    assert list(results) == ["random", "heuristic"]
    assert results["heuristic"]["whole"].mean == play_match(player, Heuristic(), "classic", deals=4, seed=5).mean
    console = Console(record=True, width=80)
    evaluate.payoff_table(results, console)
    assert f"{results['random']['whole'].mean:+.1f} ±" in console.export_text()


def test_json_and_plot_hold_what_was_played(home, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = ["--json", tmp_path / "r.json", "--plot", tmp_path / "r.png"]
    out = evaluated(capsys, home, "--against", "random, heuristic", "--pairs", 6, "--seed", 3, "--parts", *files)
    written = json.loads((tmp_path / "r.json").read_text())
    assert (written["source"], written["rules"]) == (str(home), "classic")
    assert list(written["against"]) == ["random", "heuristic"]
    net = home / run.POLICY
    expected = {
        "whole": (NetPlayer(net), Heuristic()),
        "cards": (Split(Heuristic(), NetPlayer(net)), Heuristic()),
        "calls": (Split(NetPlayer(net), Heuristic()), Heuristic()),
    }
    for part, (a, b) in expected.items():
        result = play_match(a, b, "classic", deals=6, seed=3)
        found = written["against"]["heuristic"][part]
        assert (found["mean"], found["interval"], found["pairs"]) == (result.mean, result.interval, 6)
        assert f"{result.mean:+.1f}" in out
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("source", ["directory", "checkpoint", "resumable", "onnx"])
def test_a_policy_is_found_wherever_it_lies(home, tmp_path, capsys, source):
    path, rules = home, ()
    if source == "checkpoint":
        path = home / run.POLICY
    elif source == "resumable":
        path = tmp_path / "broken"
        path.mkdir()
        (path / run.CHECKPOINT).write_bytes((home / run.POLICY).read_bytes())
    elif source == "onnx":
        pytest.importorskip("onnxruntime")
        from models.export import write_onnx

        path = tmp_path / "p.onnx"
        given = checkpoint.load(home / run.POLICY).policy()
        write_onnx(path, given, [CLASSIC.digest, Rules.preset("belote_501").digest], 81)
        assert "--rules is needed" in refused(capsys, evaluate.main, path)
        write_onnx(path, given, [CLASSIC.digest], 81)
        assert isinstance(evaluate.source_player(str(path))[0], Policy)
        assert "was made for rules" in refused(capsys, evaluate.main, path, "--rules", "contree", "--pairs", 2)
    evaluated(capsys, path, *rules, "--against", "random", "--pairs", 4, "--json", tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())["against"]["random"]["whole"]
    result = play_match(NetPlayer(home / run.POLICY), Random(), "classic", deals=4, seed=evaluate.EVALUATION_SEED)
    assert found["mean"] == result.mean


def test_given_positions_are_played_instead_of_a_seed(home, tmp_path, capsys):
    file = positions_file(tmp_path / "p.txt", CLASSIC)
    given = ["--deals", file, "--against", "heuristic", "--json", tmp_path / "r.json"]
    evaluated(capsys, home, *given)
    found = json.loads((tmp_path / "r.json").read_text())["against"]["heuristic"]["whole"]
    assert (found["pairs"], found["seed"]) == (4, None)
    evaluated(capsys, home, *given, "--pairs", 3)
    assert json.loads((tmp_path / "r.json").read_text())["against"]["heuristic"]["whole"]["pairs"] == 3
    wrong = positions_file(tmp_path / "q.txt", Rules.preset("contree"))
    assert "holds positions of 'contree'" in refused(capsys, evaluate.main, home, "--deals", wrong)
    (tmp_path / "q.txt").write_text("neither\nnor\n")
    assert "line 1" in refused(capsys, evaluate.main, home, "--deals", tmp_path / "q.txt")
    (tmp_path / "q.txt").write_text("")
    assert "at least two positions" in refused(capsys, evaluate.main, home, "--deals", tmp_path / "q.txt")
    assert "classic-none.txt" in refused(capsys, evaluate.main, home, "--deals", "none")


def test_regret_is_measured_where_asked(home, tmp_path, capsys):
    out = evaluated(
        capsys, home, "--against", "heuristic", "--pairs", 2, "--parts", "--regret", "--json", tmp_path / "r.json"
    )
    parts = json.loads((tmp_path / "r.json").read_text())["against"]["heuristic"]
    assert "regret" in parts["whole"]["a"] and "regret" not in parts["cards"]["a"]
    assert "regret" in out.lower()


def test_sampling_depends_on_its_seed(home, tmp_path, capsys):
    def play(*arguments):
        evaluated(capsys, home, "--against", "random", "--pairs", 6, "--json", tmp_path / "r.json", *arguments)
        return json.loads((tmp_path / "r.json").read_text())["against"]["random"]["whole"]["mean"]

    assert play("--sample", "--seed", 1) == play("--sample", "--seed", 1) != play("--seed", 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**64)], "--seed"),
        (["--pairs", "1"], "--pairs"),
        (["--pairs", "x"], "--pairs"),
        (["--pairs", "9" * 30], "deals"),
        (["--against", "nobody"], "'nobody' is not a player"),
        (["--against", "random,nobody"], "'nobody' is not a player"),
        (["--against", " , "], "names no opponent"),
        (["--rules", "poker"], "'poker' is not a preset"),
        (["--json", "/nowhere/r.json"], "no directory /nowhere"),
        (["--plot", "/nowhere/r.png"], "no directory /nowhere"),
        (["--pair"], "--pair"),
        (["--flags"], "--flags"),
        (["another"], "another"),
    ],
)
def test_refused_with_one_sentence(home, arguments, sentence, capsys):
    assert sentence in refused(capsys, evaluate.main, home / run.POLICY, *arguments)


def test_files_are_refused_with_one_sentence(home, tmp_path, capsys):
    assert "neither a file nor a released policy" in refused(capsys, evaluate.main, tmp_path / "none")
    assert "There is no file" in refused(capsys, evaluate.main, tmp_path / "none.safetensors")
    assert "There is no file" in refused(capsys, evaluate.main, tmp_path)
    (tmp_path / "text.safetensors").write_text("weights, honestly")
    assert "not a safetensors file" in refused(capsys, evaluate.main, tmp_path / "text.safetensors")
    (tmp_path / "text.onnx").write_text("weights, honestly")
    assert "ONNX" in refused(capsys, evaluate.main, tmp_path / "text.onnx", "--rules", "classic")
    refused(capsys, evaluate.main)
    assert "actions" in refused(capsys, evaluate.main, home, "--rules", "contree", "--pairs", 2)


def test_what_is_not_installed_is_named_in_one_sentence(home, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "benchmarks.colver_player", None)
    assert "needs colver" in refused(capsys, evaluate.main, home, "--against", "colver-isdd-50ms")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "p.onnx").write_bytes(b"")
    assert "needs ONNX Runtime" in refused(capsys, evaluate.main, tmp_path / "p.onnx", "--rules", "classic")


def test_colvers_players_have_names(home, capsys):
    pytest.importorskip("colver")
    assert evaluate.opponent_player("colver-isdd-20w").name == "colver-improved-isdd-20w"
    for name in ("colver-", "colver-nonsense", "colver-isdd-0ms"):
        refused(capsys, evaluate.main, home, "--rules", "contree", "--against", name)


def test_the_frozen_deals_are_of_their_rules():
    for path in sorted((ROOT / "configs" / "deals").glob("*.txt")):
        name, _, which = path.stem.rpartition("-")
        states = evaluate.frozen_deals(which, Rules.preset(name))
        assert len(states) >= 2 and (states["n_calls"] == 0).all()


def test_evaluation_deals_are_not_those_of_training():
    seeds = {load(path).seed for path in (ROOT / "configs").rglob("*.toml")}
    assert not seeds & {evaluate.EVALUATION_SEED, evaluate.EVALUATION_SEED - 1}
