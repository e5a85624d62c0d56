"""Runs of study: what a lesson says, and that a run of them is one run however often it is broken off."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")
pytest.importorskip("tensorboard")

from rich.console import Console  # noqa: E402
from test_players import positions  # noqa: E402
from tiny_runs import ROOT, TINY, quietly, refused, rows, same, tensors  # noqa: E402

from belote_env.engine import legal_actions  # noqa: E402
from belote_env.players import Heuristic  # noqa: E402
from belote_env.players.beliefs import likelihoods  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.solver import solve_many  # noqa: E402
from belote_env.state import PLAY  # noqa: E402
from belote_env.worlds import count_worlds, deal_worlds  # noqa: E402
from models import checkpoint  # noqa: E402
from models.network import Critic, PolicyNet, masked_log_softmax  # noqa: E402
from training import lessons, run  # noqa: E402
from training.config import load  # noqa: E402
from training.study import Study  # noqa: E402
from training.train import main  # noqa: E402

CONTREE = Rules.preset("contree")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(lessons, "PER_FILE", 150)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A policy with opinions, and its critic."""
    torch.manual_seed(2)
    net = PolicyNet.for_rules(CONTREE, (12,), TINY.bid_hidden)
    torch.nn.init.normal_(net.play.policy.weight, std=1.0)
    path = tmp_path_factory.mktemp("teacher") / "teacher.safetensors"
    checkpoint.save(path, net, CONTREE, Critic.for_policy(net, TINY.critic_hidden))
    return path


@pytest.fixture(scope="module")
def study(teacher):
    return TINY.model_copy(
        update={
            "name": "study",
            "rules": "contree",
            "start_from": str(teacher),
            "learn": "play",
            "lessons": 301,
            "worlds": 5,
            "solved_tricks": 3,
            "inputs": "ordered",
            "minibatch": 64,
            "epochs": 3,
        }
    )


def test_late_cards_are_worth_their_mean_over_all_worlds():
    states, seats = positions(CONTREE, 3000)
    few = (states["phase"] == PLAY) & (states["n_cards"] >= 24)
    states, seats = states[few], seats[few]
    few = count_worlds(states, seats) <= 100
    states, seats = states[few][:60], seats[few][:60]
    assert len(states) > 30
    found = lessons.mean_values(states, seats, CONTREE, 100, 7)
    heuristic = Heuristic()
    heuristic.start(CONTREE)
    for i in range(len(states)):
        worlds, _ = deal_worlds(states[i : i + 1], seats[i : i + 1], CONTREE, 100)
        weights = likelihoods(worlds, np.full(len(worlds), seats[i]), CONTREE, heuristic)
        low, _ = legal_actions(states, i, CONTREE.packed)
        for card in (card for card in range(32) if low >> card & 1):
            worth = [solve_many(worlds[k : k + 1], CONTREE, "score")[0, card] for k in range(len(worlds))]
            assert found[i, card] == pytest.approx(np.average(worth, weights=weights))


def test_a_lesson_says_what_the_teacher_does_or_what_a_card_is_worth(study, teacher, tmp_path):
    policy = checkpoint.load(teacher).policy()
    lessons.make(study, policy, tmp_path, 0, 150)
    kept = lessons.read(lessons.file_of(tmp_path, 0), lessons.origin(study, policy, 150))
    columns = policy.play.columns.numpy()
    bits, mask, targets = kept.batch(np.arange(len(kept)), columns)
    assert len(kept) == 150 and (mask.sum(1) > 1).all()
    assert (targets[~mask] == 0).all()
    np.testing.assert_allclose(targets.sum(1), 1, atol=2e-3)
    with torch.inference_mode():
        own = policy.play.log_probs(bits, mask).exp()
    close = (targets - own).abs().amax(1) < 1e-3
    tricks = bits[:, [np.searchsorted(columns, c) for c in range(32, 160)]].sum(1) // 4
    assert close[tricks < 5].all() and (tricks < 5).sum() == 60
    assert close[tricks >= 5].float().mean() < 0.1  # where one card is worth far more than the others, both may agree


def test_before_the_last_four_tricks_the_teacher_counts_too(study, teacher, tmp_path):
    policy = checkpoint.load(teacher).policy()
    columns = policy.play.columns.numpy()
    found = {}
    for prior in (0.0, 0.5):
        config = study.model_copy(update={"solved_tricks": 6, "solved_share": 1.0, "early_prior": prior})
        lessons.make(config, policy, tmp_path / str(prior), 0, 120)
        kept = lessons.read(lessons.file_of(tmp_path / str(prior), 0), lessons.origin(config, policy, 120))
        found[prior] = kept.batch(np.arange(len(kept)), columns)
    bits, mask, without = found[0.0]
    assert torch.equal(bits, found[0.5][0])
    tricks = bits[:, [np.searchsorted(columns, c) for c in range(32, 160)]].sum(1) // 4
    assert (tricks < 4).sum() > 20 and (tricks >= 2).all()
    assert torch.equal(found[0.5][2][tricks >= 4], without[tricks >= 4])
    with torch.inference_mode():
        own = policy.play.log_probs(bits, mask)
    clear = (tricks < 4) & (without.masked_fill(~mask, 1).amin(1) > 0.01)  # where half precision tells the odds
    assert clear.sum() > 5
    expected = masked_log_softmax(without.clamp(min=1e-9).log() + 0.5 * own, mask).exp()
    np.testing.assert_allclose(found[0.5][2][clear], expected[clear], atol=2e-3)
    assert (found[0.5][2] - without)[tricks < 4].abs().max() > 0.01


def test_a_study_learns_its_lessons_and_keeps_the_calls(study, teacher, tmp_path):
    assert quietly(study.model_copy(update={"iterations": 30, "epochs": 30, "learning_rate": 1e-2}), tmp_path / "a")
    losses = [float(row["play_policy_loss"]) for row in rows(tmp_path / "a")]
    assert losses[-1] < losses[0] - 0.1
    distances = [float(row["play_kl"]) for row in rows(tmp_path / "a")]
    assert min(distances) >= 0 and distances[0] - distances[-1] == pytest.approx(losses[0] - losses[-1], abs=0.05)
    made = checkpoint.load(tmp_path / "a" / run.POLICY, CONTREE)
    given = checkpoint.load(teacher)
    assert made.policy().play.inputs == "ordered"
    assert same(made.section("policy.bid"), given.section("policy.bid"))
    assert not made.section("critic")
    assert all(row["passes"] == row["play_clipped"] == "" for row in rows(tmp_path / "a"))


def test_a_study_broken_off_is_the_same_study(study, tmp_path):
    assert quietly(study, tmp_path / "straight")
    assert not quietly(study, tmp_path / "broken", stop_after=2)
    files = sorted((tmp_path / "broken" / "lessons").iterdir())
    assert [file.name for file in files] == ["0000.npz", "0001.npz", "0002.npz"]
    files[1].unlink()  # as if it had never been written
    assert quietly(study, tmp_path / "broken", resume=True)
    assert same(tensors(tmp_path / "broken"), tensors(tmp_path / "straight"))


def test_lessons_made_by_two_processes_are_those_of_one(study, teacher, tmp_path):
    given, quiet = checkpoint.load(teacher), Console(quiet=True)
    one, two = (
        Study(study.model_copy(update={"threads": threads}), tmp_path / str(threads), given, quiet).lessons
        for threads in (1, 2)
    )
    for name in ("bits", "legal", "targets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_few_lessons_are_one_small_file(study, teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "PER_FILE", 32_768)
    few = study.model_copy(update={"lessons": 40})
    made = Study(few, tmp_path, checkpoint.load(teacher), Console(quiet=True))
    assert len(made.lessons) == 40 and len(list((tmp_path / "lessons").iterdir())) == 1
    assert quietly(few, tmp_path / "run")


def test_a_damaged_file_of_lessons_is_named(study, tmp_path, capsys):
    assert not quietly(study, tmp_path / "a", stop_after=1)
    file = lessons.file_of(tmp_path / "a", 2)
    file.write_bytes(file.read_bytes()[:1000])
    assert str(file) in refused(capsys, main, "--run", tmp_path / "a", "--resume")
    assert load(tmp_path / "a" / "config.toml") == study


@pytest.mark.parametrize("change", [{"seed": 1}, {"worlds": 6}, {"solved_share": 0.5}])
def test_lessons_of_another_configuration_are_not_taken(study, teacher, tmp_path, change):
    lessons.make(study.model_copy(update=change), checkpoint.load(teacher).policy(), tmp_path, 1, 150)
    with pytest.raises(ValueError, match="holds lessons of another teacher or configuration"):
        Study(study, tmp_path, checkpoint.load(teacher), Console(quiet=True))
    assert len(list((tmp_path / "lessons").iterdir())) == 1  # nothing was made before it was seen


def test_a_study_goes_on_with_its_teacher_alone(study, teacher, tmp_path, capsys):
    mine = tmp_path / "teacher.safetensors"
    mine.write_bytes(teacher.read_bytes())
    config = study.model_copy(update={"start_from": str(mine)})
    assert not quietly(config, tmp_path / "a", stop_after=2)
    net = checkpoint.load(teacher).policy()
    net.play.policy.bias.data += 1
    checkpoint.save(mine, net, CONTREE)
    assert "is not what" in refused(capsys, main, "--run", tmp_path / "a", "--resume")


def test_a_study_that_is_over_makes_no_lessons_again(study, tmp_path):
    assert quietly(study, tmp_path / "a")
    before = tensors(tmp_path / "a")
    for file in (tmp_path / "a" / "lessons").iterdir():
        file.unlink()
    assert quietly(study, tmp_path / "a", resume=True)
    assert same(tensors(tmp_path / "a"), before)
    assert not list((tmp_path / "a" / "lessons").iterdir())


WRONG = {
    "no teacher": ({"start_from": ""}, "lessons = 301 need start_from, learn = 'play'"),
    "calls too": ({"learn": "both"}, "lessons = 301 need start_from, learn = 'play'"),
    "other calls": ({"bidders": "rules"}, "lessons = 301 need start_from, learn = 'play'"),
    "the last trick": ({"solved_tricks": 1}, "solved_tricks = 1"),
    "all tricks": ({"solved_tricks": 8}, "solved_tricks = 8"),
    "iterations without a lesson": ({"iterations": 1000}, "iterations = 1000 exceed the 3 passes over 301 lessons"),
    "a cap": ({"seconds": 60.0}, "no use for seconds"),
    "an average": ({"average": 0.9}, "no use for seconds, average"),
}


@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG)
def test_what_no_study_can_be_is_refused(study, tmp_path, capsys, change, sentence):
    (tmp_path / "a.toml").write_text(study.model_copy(update=change).to_toml())
    assert sentence in refused(capsys, main, tmp_path / "a.toml", "--run", tmp_path / "run")
    assert list(tmp_path.iterdir()) == [tmp_path / "a.toml"]


def test_values_in_another_unit_are_refused(study, teacher, tmp_path):
    given = checkpoint.load(teacher)
    checkpoint.save(tmp_path / "t.safetensors", given.policy(), CONTREE, extra={"config": {"unit": 7.0}})
    with pytest.raises(ValueError, match=r"unit = 81(\.0)?: the values of .* count in 7.0 points"):
        Study(study, tmp_path, checkpoint.load(tmp_path / "t.safetensors"), Console(quiet=True))


def test_several_processes_are_no_study(study, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="A run with lessons is one process"):
        quietly(study, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_workers_end_with_the_one_that_leads(tmp_path, teacher, study):
    """Killed outright while its processes make lessons, it leaves none behind."""
    config = study.model_copy(update={"threads": 2, "lessons": 10_000_000, "iterations": 6})
    (tmp_path / "a.toml").write_text(config.to_toml())
    command = [sys.executable, "-m", "training.train", str(tmp_path / "a.toml"), "--run", str(tmp_path / "a")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def children():
        command = ["ps", "-eww", "-o", "pid,ppid,args"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        fields = [line.split(None, 2) for line in listed.splitlines()[1:]]
        return {int(pid) for pid, parent, args in fields if int(parent) == process.pid and "spawn_main" in args}

    try:
        found, end = set(), time.monotonic() + 120
        while len(found) < 2 and time.monotonic() < end:
            time.sleep(0.5)
            found |= children()
        time.sleep(8)  # until they have begun
    finally:
        process.kill()
        process.wait()
    assert len(found) >= 2
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in found) and time.monotonic() < end:
        time.sleep(0.5)
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)
