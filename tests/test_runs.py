"""Runs: their receipt, broken off, killed and resumed, by one process and by two; torn logs, full disks, refusals."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")
pytest.importorskip("tensorboard")

from tiny_runs import ROOT, TEAMED, TINY, quietly, refused, rows, same, tensors  # noqa: E402

from belote_env.envs import SelfPlayVector  # noqa: E402
from models import checkpoint  # noqa: E402
from training import ppo, run  # noqa: E402
from training.config import Config, load  # noqa: E402
from training.group import Group  # noqa: E402
from training.learner import Diverged, Learner  # noqa: E402
from training.past import PastTeams  # noqa: E402
from training.train import main  # noqa: E402


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run of six iterations without a break."""
    path = tmp_path_factory.mktemp("runs") / "straight"
    assert quietly(TINY, path)
    return path


def test_a_run_leaves_its_receipt(straight):
    assert load(straight / "config.toml") == TINY
    assert len((straight / "commit.txt").read_text().strip()) >= 7
    assert [int(row["iteration"]) for row in rows(straight)] == [1, 2, 3, 4, 5, 6]
    assert [bool(row["heuristic"]) for row in rows(straight)] == [False, False, False, True, False, False]
    result = json.loads((straight / "result.json").read_text())
    assert len(result["against"]) == 2
    assert result["counters"]["decisions"] == 6 * 16 * 24
    final, policy = tensors(straight), checkpoint.load(straight / run.POLICY).tensors
    assert all(torch.equal(final[key], policy[key]) for key in policy)
    assert any(path.name.startswith("events.") for path in straight.iterdir())


def test_resumed_is_bit_for_bit_the_straight_run(straight, tmp_path):
    path = tmp_path / "broken"
    assert not quietly(TINY, path, stop_after=3)
    assert not same(tensors(path), tensors(straight))
    assert quietly(TINY, path, resume=True)
    assert same(tensors(path), tensors(straight))
    assert [int(row["iteration"]) for row in rows(path)] == [1, 2, 3, 4, 5, 6]
    timed = {"seconds", "decisions_per_second", "rollout_share"}
    for key in set(run.COLUMNS) - timed:
        assert [row[key] for row in rows(path)] == [row[key] for row in rows(straight)]


def test_a_run_with_everything_is_resumed_bit_for_bit(tmp_path):
    """Past teams, rule players, openings, average and magnet; broken off in the middle of its deals, twice."""
    assert quietly(TEAMED, tmp_path / "whole")
    whole = tensors(tmp_path / "whole")
    assert {key.split(".")[1] for key in whole if key.startswith("past.")} == {"0", "1"}
    assert not quietly(TEAMED, tmp_path / "broken", stop_after=1)
    assert not quietly(TEAMED, tmp_path / "broken", resume=True, stop_after=4)
    assert quietly(TEAMED, tmp_path / "broken", resume=True)
    assert same(tensors(tmp_path / "broken"), whole)
    policy = checkpoint.load(tmp_path / "whole" / run.POLICY).section("policy")
    assert same(policy, checkpoint.load(tmp_path / "whole" / run.CHECKPOINT).section("average"))
    assert not same(policy, checkpoint.load(tmp_path / "whole" / run.CHECKPOINT).section("policy"))


def test_a_run_begins_from_another_runs_policy(straight, tmp_path, capsys):
    begun = TINY.model_copy(update={"start_from": str(straight / run.POLICY), "reward": "cards"})
    assert not quietly(begun, tmp_path / "begun", stop_after=1)
    (tmp_path / "c.toml").write_text(begun.model_copy(update={"hidden": (17,)}).to_toml(), encoding="utf-8")
    sentence = refused(capsys, main, tmp_path / "c.toml", "--run", tmp_path / "other")
    assert f"The play tower of {straight / run.POLICY} has other shapes than this run's" in sentence
    assert "[16]" in sentence and "[17]" in sentence
    missing = refused(
        capsys, main, tmp_path / "c.toml", "--run", tmp_path / "third", "--start-from", "none.safetensors"
    )
    assert "There is no file none.safetensors" in missing
    (tmp_path / "c.toml").write_text(begun.model_copy(update={"rules": "coinche"}).to_toml(), encoding="utf-8")
    assert "made for rules 'classic'" in refused(capsys, main, tmp_path / "c.toml", "--run", tmp_path / "fourth")


def test_the_calls_begin_from_another_run(straight, tmp_path):
    other = tmp_path / "other"
    assert quietly(TINY.model_copy(update={"seed": 9}), other)
    both = {"start_from": str(straight / run.POLICY), "start_bids_from": str(other / run.POLICY)}
    still = {"learn": "bids", "bid_learning_rate": 1e-12, "final_bid_learning_rate": 1e-12}
    begun = TINY.model_copy(update=both | still)
    (tmp_path / "c.toml").write_text(begun.to_toml(), encoding="utf-8")
    assert main([str(tmp_path / "c.toml"), "--dir", str(tmp_path / "begun"), "--iterations", "1"]) == 0
    made = checkpoint.load(tmp_path / "begun" / run.POLICY).policy()
    for tower, source in (("play", straight), ("bid", other)):
        expected = getattr(checkpoint.load(source / run.POLICY).policy(), tower).state_dict()
        for key, value in getattr(made, tower).state_dict().items():
            torch.testing.assert_close(value, expected[key], atol=1e-6, rtol=0, msg=f"{tower}.{key}")
    assert not same(made.play.state_dict(), checkpoint.load(other / run.POLICY).policy().play.state_dict())


def test_torchrun_leaves_our_options_to_us():
    """It reads abbreviations of its own options wherever they stand, so that none of ours may be one."""
    from torch.distributed.run import get_args_parser

    ours = ["c.toml", "--dir", "x", "--resume", *(f"--{name.replace('_', '-')}" for name in Config.model_fields)]
    given = get_args_parser().parse_args(["--nproc-per-node", "2", "-m", "training.train", *ours])
    assert given.training_script_args == ours


def test_two_processes_are_one_with_as_many_tables(tmp_path):
    """The same deals and decisions, weights equal to rounding; and a resumed run of two is its unbroken one."""
    config = TEAMED.model_copy(
        update={"past_opponents": 0.0, "minibatch": 384, "bid_minibatch": 384, "iterations": 4, "final_deals": 2}
    )
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    torchrun = [sys.executable, *"-m torch.distributed.run --standalone --nproc-per-node 2".split()]
    for words in (["whole"], ["broken", "2"], ["broken", "4"]):  # a group of its own each: its store outlives no run
        done = subprocess.run(
            [
                *torchrun,
                str(ROOT / "tests/two_processes.py"),
                str(tmp_path / "c.toml"),
                str(tmp_path / words[0]),
                *words[1:],
            ],
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
    assert quietly(config, tmp_path / "one")
    one, two = tensors(tmp_path / "one"), tensors(tmp_path / "whole")
    assert same(tensors(tmp_path / "broken"), two)
    for key, value in one.items():
        if key.startswith("vector.0."):
            shares = [two[key.replace("vector.0", f"vector.{rank}")] for rank in range(2)]
            if not key.endswith(("arguments", "seed")):
                assert torch.equal(torch.cat(shares), value)
        elif not key.startswith("optimizer."):
            np.testing.assert_allclose(two[key], value, atol=1e-5, err_msg=key)
    for key in ("decisions", "deals"):
        assert [row[key] for row in rows(tmp_path / "one")] == [row[key] for row in rows(tmp_path / "whole")]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [({"WORLD_SIZE": "two"}, "not whole numbers"), ({"WORLD_SIZE": "3", "RANK": "0"}, "shared evenly by 3")],
)
def test_processes_that_cannot_share_a_run_are_refused(tmp_path, monkeypatch, capsys, environment, sentence):
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda *_: None)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    (tmp_path / "c.toml").write_text(TINY.to_toml(), encoding="utf-8")
    assert sentence in refused(capsys, main, tmp_path / "c.toml", "--run", tmp_path / "run")
    assert not (tmp_path / "run" / run.CHECKPOINT).exists()


def test_a_run_of_one_process_is_not_resumed_by_two(straight):
    loaded = checkpoint.load(straight / run.CHECKPOINT)
    config = load(straight / "config.toml")
    learner, group = Learner(config, loaded.rules), Group()
    group.size = 2
    with pytest.raises(ValueError, match="made by 1 processes, these are 2"):
        run.restore(loaded, learner, PastTeams(config, learner.policy), SelfPlayVector(8), group)


def test_another_seed_is_another_run(straight, tmp_path):
    quietly(TINY.model_copy(update={"seed": 1}), tmp_path / "other")
    assert not same(tensors(tmp_path / "other"), tensors(straight))


def test_resume_refuses_another_config(straight, capsys):
    config = str(straight / "config.toml")
    assert main([config, "--run", str(straight), "--resume", "--clip", "0.3"]) == 2
    assert "was started with clip = 0.15, not 0.3" in capsys.readouterr().err


def test_a_taken_directory_is_not_overwritten(straight, tmp_path, capsys):
    config = str(straight / "config.toml")
    assert main([config, "--run", str(straight)]) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert main([config, "--run", str(tmp_path), "--resume"]) == 2
    assert "holds no checkpoint" in capsys.readouterr().err


def test_what_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "diverging"
    assert not quietly(TINY, path, stop_after=2)
    before = (path / run.CHECKPOINT).read_bytes()
    loss = ppo.policy_loss
    monkeypatch.setattr(ppo, "policy_loss", lambda *arguments: loss(*arguments) * float("nan"))
    with pytest.raises(Diverged, match="not a finite number"):
        quietly(TINY, path, resume=True)
    assert (path / run.CHECKPOINT).read_bytes() == before


@pytest.fixture
def copied(straight, tmp_path):
    """A copy of the finished run, to be spoilt."""
    return Path(shutil.copytree(straight, tmp_path / "copied"))


TEARS = {
    "empty": lambda data: b"",
    "half a header": lambda data: data[:20],
    "a header": lambda data: data[: data.index(b"\n") + 1],
    "a cut row": lambda data: data[:-30],
    "a row without its end": lambda data: data[:-2],
    "bytes": lambda data: data[:200] + b"\x00\xff\n\n,,,\nx,y\n" + data[200:],
    "a header of others": lambda data: b"iteration,dec\n" + data.split(b"\n", 1)[1],
}


@pytest.mark.parametrize("tear", TEARS)
def test_a_torn_log_is_mended(straight, copied, tear):
    whole = (copied / "log.csv").read_bytes()
    (copied / "log.csv").write_bytes(TEARS[tear](whole))
    log = run.Log(copied, 5)
    log.write(6, {"decisions": 7, "passes": 0.5, "heuristic": None})
    log.close()
    after = rows(copied)
    assert list(after[0]) == list(run.COLUMNS)
    assert (after[-1]["iteration"], after[-1]["decisions"], after[-1]["passes"]) == ("6", "7", "0.5")
    assert all(row in rows(straight)[:5] for row in after[:-1])
    if "row" in tear or "others" in tear:
        assert len(after) == 6


def test_the_log_is_replaced_at_once(copied, monkeypatch):
    before = (copied / "log.csv").read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run.Log(copied, 3)
    assert (copied / "log.csv").read_bytes() == before


def test_train_refuses_paths_with_one_sentence(straight, tmp_path, capsys):
    config = straight / "config.toml"
    assert "CONFIG is needed" in refused(capsys, main)
    assert "CONFIG is needed" in refused(capsys, main, "--run", tmp_path)
    assert "is a directory" in refused(capsys, main, tmp_path)
    assert "ot a directory" in refused(capsys, main, config, "--run", "/dev/null/x")
    assert "xists" in refused(capsys, main, config, "--run", config)
    assert "threads" in refused(capsys, main, config, "--threads", "9" * 30)
    (tmp_path / "deep.toml").write_text("a = " + "[" * 10_000)
    assert "not TOML" in refused(capsys, main, tmp_path / "deep.toml")
    assert "hidden" in refused(capsys, main, config, "--hidden", "[" * 10_000)


def test_a_full_disk_ends_with_one_sentence_and_the_old_checkpoint(tmp_path, monkeypatch, capsys):
    path = tmp_path / "full"
    assert not quietly(TINY, path, stop_after=2)
    before = (path / run.CHECKPOINT).read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (path / "log.csv").unlink()
    error = refused(capsys, main, "--run", path, "--resume")
    assert "no space left on device: training stops" in error and "keeps the last state saved" in error
    assert (path / run.CHECKPOINT).read_bytes() == before


def test_a_directory_belongs_to_one_run(copied, capsys):
    pytest.importorskip("fcntl")
    with run.locked(copied):
        assert "another process is training there" in refused(capsys, main, "--run", copied, "--resume")
    with run.locked(copied):
        pass


def test_an_edited_config_is_refused(copied, capsys):
    edited = TINY.model_copy(update={"hidden": (300_000, 300_000)})
    (copied / "config.toml").write_text(edited.to_toml(), encoding="utf-8")
    assert "was started with hidden = (16,)" in refused(capsys, main, "--run", copied, "--resume")
    (copied.parent / "same.toml").write_text(TINY.to_toml(), encoding="utf-8")
    error = refused(capsys, main, copied.parent / "same.toml", "--run", copied, "--resume")
    assert "was started with hidden = (16,)" in error


def test_tables_that_refuse_their_snapshot_are_one_sentence(copied, monkeypatch, capsys):
    def refuse(*_):
        raise ValueError("the snapshot is of other tables")

    monkeypatch.setattr(SelfPlayVector, "restore", refuse)
    assert "the snapshot is of other tables" in refused(capsys, main, "--run", copied, "--resume")


def test_an_iteration_without_a_finished_decision_changes_nothing(tmp_path):
    config = TINY.model_copy(
        update={"tables": 1, "steps": 1, "minibatch": 1, "bid_minibatch": 1, "iterations": 3, "evaluate_every": 0}
    )
    assert not quietly(config, tmp_path / "short", stop_after=1)
    assert quietly(config, tmp_path / "short", resume=True)
    for tower in ("play", "bid"):
        assert [row[f"{tower}_gradient_steps"] for row in rows(tmp_path / "short")] == ["0"] * 3
        assert rows(tmp_path / "short")[0][f"{tower}_policy_loss"] == ""


def start(path, config):
    """A run in a process of its own, past its first checkpoint."""
    (path.parent / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "training.train", str(path.parent / "c.toml"), "--run", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not (path / "log.csv").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


ENDLESS = TINY.model_copy(update={"iterations": 100_000, "evaluate_every": 0})


@pytest.mark.parametrize("moment", [0.0, 0.137, 0.512])
def test_killed_at_any_moment_the_checkpoint_is_whole(tmp_path, moment):
    path = tmp_path / "killed"
    process = start(path, ENDLESS)
    time.sleep(moment + float(np.random.default_rng().random()) * 0.2)
    process.kill()
    process.communicate()
    at = checkpoint.load(path / run.CHECKPOINT).counters["iteration"]
    assert not quietly(ENDLESS, path, resume=True, stop_after=at + 2)
    assert checkpoint.load(path / run.CHECKPOINT).counters["iteration"] == at + 2
    assert [int(row["iteration"]) for row in rows(path)] == list(range(1, at + 3))


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path, number):
    process = start(tmp_path / "run", ENDLESS)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "Stopping after this iteration; once more stops at once.\n"
    assert f"python -m training.train --run {tmp_path / 'run'} --resume" in out
    at = checkpoint.load(tmp_path / "run" / run.CHECKPOINT).counters["iteration"]
    assert f"Stopped after iteration {at}" in out
