"""Advantages, losses, configuration, rollouts, and runs that are killed and resumed."""

import csv
import errno
import io
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

from rich.console import Console  # noqa: E402

from belote_env.envs import SelfPlayVector  # noqa: E402
from belote_env.observation import HIDDEN_SIZE, varying_columns  # noqa: E402
from models import checkpoint  # noqa: E402
from training import evaluate, ppo, run  # noqa: E402
from training.advantage import seat_advantages  # noqa: E402
from training.config import Config, joined, load, parse_overrides  # noqa: E402
from training.learner import Diverged, Learner, schedule  # noqa: E402
from training.rollout import Rollout  # noqa: E402
from training.train import main, train  # noqa: E402

ROOT = Path(__file__).parent.parent

TINY = Config(
    name="tiny",
    threads=1,
    hidden=(16,),
    critic_hidden=(16,),
    tables=16,
    steps=24,
    iterations=6,
    minibatch=96,
    checkpoint_seconds=0,
    evaluate_every=4,
    evaluate_deals=4,
    final_deals=4,
)


# --- advantages


def slow_advantages(seat, values, rewards, done, gae_lambda):
    """One seat of one table at a time, straight from the definition."""
    steps, tables = seat.shape
    advantages = np.zeros((steps, tables))
    valid = np.zeros((steps, tables), bool)
    for n in range(tables):
        for who in range(4):
            episodes, episode = [], []
            for t in range(steps):
                if seat[t, n] == who:
                    episode.append([t, 0.0])
                if episode:
                    episode[-1][1] += rewards[t, n, who]
                if done[t, n]:
                    episodes.append((episode, True))
                    episode = []
            episodes.append((episode, False))
            for decisions, finished in episodes:
                after_value = after_advantage = 0.0
                for k, (t, paid) in reversed(list(enumerate(decisions))):
                    if k == len(decisions) - 1 and not finished:
                        after_value = values[t, n]
                        continue
                    advantages[t, n] = paid + after_value - values[t, n] + gae_lambda * after_advantage
                    after_value, after_advantage = values[t, n], advantages[t, n]
                    valid[t, n] = True
    return advantages, valid


@pytest.mark.parametrize("gae_lambda", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_advantages_against_the_definition(seed, gae_lambda):
    rng = np.random.default_rng(seed)
    seat = rng.integers(0, 4, (40, 7))
    values = rng.normal(size=(40, 7))
    rewards = rng.integers(-64, 65, (40, 7, 4)) / 256
    done = rng.random((40, 7)) < 0.08
    advantages, targets, valid = seat_advantages(seat, values, rewards, done, gae_lambda)
    expected, expected_valid = slow_advantages(seat, values, rewards, done, gae_lambda)
    assert advantages.dtype == targets.dtype == np.float32
    np.testing.assert_array_equal(valid, expected_valid)
    np.testing.assert_array_equal(advantages, expected.astype(np.float32))
    np.testing.assert_array_equal(targets, np.where(valid, expected + values, 0).astype(np.float32))


def test_advantages_by_hand():
    # One table: seats 0, 1, 0, 1; the deal ends with the third step, so the fourth opens the next deal.
    seat = np.array([[0], [1], [0], [1]])
    values = np.array([[0.5], [0.25], [1.0], [9.0]])
    rewards = np.zeros((4, 1, 4))
    rewards[0, 0] = [1, -1, 1, -1]  # seat 1 has not decided yet: this is nobody's credit on its side
    rewards[1, 0] = [2, -2, 2, -2]
    rewards[2, 0] = [4, -4, 4, -4]
    done = np.array([[False], [False], [True], [False]])
    advantages, targets, valid = seat_advantages(seat, values, rewards, done, 0.5)
    last = 4 - 1.0
    np.testing.assert_allclose(advantages[:, 0], [1 + 2 + 1.0 - 0.5 + 0.5 * last, -2 - 4 - 0.25, last, 0])
    np.testing.assert_allclose(targets[:, 0], advantages[:, 0] + [0.5, 0.25, 1.0, 0])
    assert valid[:, 0].tolist() == [True, True, True, False]


# --- losses


def test_policy_loss_by_hand():
    old = torch.log(torch.tensor([0.5, 0.5, 0.5, 0.5]))
    new = torch.log(torch.tensor([0.8, 0.8, 0.2, 0.2]))
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    # Ratios 1.6 and 0.4: clipped to 1.2 for a gain, kept at 1.6 for a loss; kept at 0.4, clipped to 0.8.
    expected = -(1.2 - 1.6 + 0.4 - 0.8) / 4
    assert ppo.policy_loss(new, old, advantage, 0.2).item() == pytest.approx(expected)
    assert ppo.clipped_fraction(new, old, 0.2).item() == 1
    assert ppo.clipped_fraction(new, old, 0.61).item() == 0


def test_policy_gradient_stops_where_the_clip_holds():
    old = torch.zeros(2)
    new = torch.tensor([0.5, -0.5], requires_grad=True)
    ppo.policy_loss(new, old, torch.tensor([1.0, 1.0]), 0.2).backward()
    assert new.grad[0] == 0
    assert new.grad[1].item() == pytest.approx(-np.exp(-0.5) / 2)


def test_value_loss_and_explained_variance_by_hand():
    value, target = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0])
    assert ppo.value_loss(value, target).item() == pytest.approx(1.0)
    assert ppo.explained_variance(target, target) == 1
    assert ppo.explained_variance(torch.zeros(2), target) == pytest.approx(0)
    assert ppo.explained_variance(value, torch.ones(2)) == 0


def test_approximate_kl_against_the_exact_sum():
    p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.4, 0.4, 0.2])
    drawn = torch.multinomial(p, 200_000, replacement=True, generator=torch.Generator().manual_seed(0))
    estimate = ppo.approximate_kl(q.log()[drawn], p.log()[drawn]).item()
    assert estimate == pytest.approx(float((p * (p / q).log()).sum()), rel=0.03)


def test_standardise_each_group_by_itself():
    result = ppo.standardise(torch.tensor([1.0, 3.0, 10.0, 30.0]), torch.tensor([True, True, False, False]))
    np.testing.assert_allclose(result, [-1, 1, -1, 1], atol=1e-6)
    assert torch.isfinite(ppo.standardise(torch.ones(3), torch.zeros(3, dtype=torch.bool))).all()


# --- configuration


def test_quick_config_and_its_arithmetic():
    config = load(ROOT / "configs/quick.toml")
    text = (ROOT / "configs/quick.toml").read_text(encoding="utf-8")
    assert f"{config.tables:,} tables × {config.steps} steps = {config.tables * config.steps:,}" in text
    decisions = config.tables * config.steps * config.iterations / 1e6
    assert f"{config.iterations} iterations = {decisions:.1f} M decisions" in text


def test_a_config_survives_toml(tmp_path):
    (tmp_path / "c.toml").write_text(TINY.to_toml(), encoding="utf-8")
    assert load(tmp_path / "c.toml") == TINY


def test_overrides():
    overrides = parse_overrides(["--tables", "512", "--hidden=[64, 32]", "--reward", "points", "--stop-kl=0.1"])
    config = load(ROOT / "configs/quick.toml", overrides)
    assert (config.tables, config.hidden, config.reward, config.stop_kl) == (512, (64, 32), "points", 0.1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tabels", "5"], "'tabels' is not a field"),
        (["--tables", "many"], "tables = 'many'"),
        (["--tables", "0"], "tables = 0"),
        (["--reward", "money"], "reward = 'money'"),
        (["--rules", "poker"], "rules = 'poker'"),
        (["--minibatch", "1000000"], "minibatch = 1000000 exceeds"),
        (["--tables"], "--tables needs a value"),
        (["tables"], "not of the form --field value"),
    ],
)
def test_a_bad_override_is_one_sentence(arguments, sentence, capsys):
    assert main([str(ROOT / "configs/quick.toml"), *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_bad_files_are_one_sentence(tmp_path, capsys):
    assert main([str(tmp_path / "none.toml")]) == 2
    assert "There is no file" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("tables = = 3")
    assert main([str(tmp_path / "bad.toml")]) == 2
    assert "is not TOML" in capsys.readouterr().err


# --- rollout


@pytest.fixture
def played():
    vector = SelfPlayVector(TINY.tables, reward="tricks", seed=3, skip_forced=True, canonical=True, hidden=True)
    columns = varying_columns(vector.rules)
    learner = Learner(TINY, columns, len(columns) + HIDDEN_SIZE, vector.num_actions)
    rollout = Rollout(vector, columns, 80)
    rollout.collect(learner.policy, learner.generator)
    return learner, rollout


def test_a_rollout_is_legal_and_its_probabilities_are_the_policys(played):
    learner, rollout = played
    assert rollout.mask.gather(2, rollout.actions[..., None]).all()
    assert (rollout.mask.sum(-1) > 1).all()  # forced moves are played by the vector
    bits = rollout.bits.flatten(0, 1)[:, : len(rollout.columns)]
    log_probs = learner.policy.log_probs(bits, rollout.mask.flatten(0, 1))
    chosen = log_probs.gather(1, rollout.actions.flatten()[:, None]).squeeze(1)
    np.testing.assert_allclose(chosen.detach(), rollout.log_probs.flatten(), atol=1e-5)


def test_with_a_blind_critic_a_seat_is_credited_with_the_rest_of_its_deal(played):
    learner, rollout = played
    for parameter in learner.critic.parameters():
        torch.nn.init.zeros_(parameter)
    _, targets, valid = seat_advantages(rollout.seat, np.zeros(rollout.seat.shape), rollout.rewards, rollout.done, 1.0)
    batch, counts = rollout.batch(learner.critic, 1.0)
    assert counts.deals == rollout.done.sum() > 0
    assert len(batch.targets) == valid.sum()
    for n in range(TINY.tables):
        end = int(np.flatnonzero(rollout.done[:, n])[0])
        for t in range(end + 1):
            rest = rollout.rewards[t : end + 1, n, rollout.seat[t, n]].sum()
            assert valid[t, n]
            assert targets[t, n] == pytest.approx(rest, abs=1e-6)


def test_learning_moves_towards_what_was_better(played):
    learner, rollout = played
    batch, _ = rollout.batch(learner.critic, 0.95)
    before = learner.policy.log_probs(batch.bits[:, : len(rollout.columns)], batch.mask).detach()
    losses = learner.update(batch, schedule(TINY, 0))
    after = learner.policy.log_probs(batch.bits[:, : len(rollout.columns)], batch.mask).detach()
    moved = (after - before).gather(1, batch.actions[:, None]).squeeze(1)
    advantages = ppo.standardise(batch.advantages, batch.bids)
    assert (moved * advantages).mean() > 0
    assert losses["gradient_steps"] >= TINY.epochs


# --- runs


def quietly(config, path, resume=False, stop_after=None):
    return train(config, path, resume, Console(file=io.StringIO(), width=200), stop_after)


def tensors(path):
    return checkpoint.load(path / run.CHECKPOINT).tensors


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def rows(path):
    with (path / "log.csv").open(newline="") as file:
        return list(csv.DictReader(file))


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
    for key in ("policy_loss", "value_loss", "entropy", "heuristic"):
        assert [row[key] for row in rows(path)] == [row[key] for row in rows(straight)]


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


def refused(capsys, command, *arguments):
    """The one sentence a command line is refused with."""
    assert command([str(argument) for argument in arguments]) == 2
    _, error = capsys.readouterr()
    assert error.count("\n") == 1 and error.endswith(".\n")
    return error


@pytest.mark.parametrize("arguments", [["--seed", "-1"], ["--seed", str(2**64)], ["--deals", "1"], ["--deals", "x"]])
def test_evaluate_refuses_with_one_sentence(straight, arguments, capsys):
    assert arguments[0] in refused(capsys, evaluate.main, straight / run.POLICY, *arguments)


def test_evaluate_refuses_files_with_one_sentence(tmp_path, capsys):
    assert "There is no file" in refused(capsys, evaluate.main, tmp_path / "none")
    assert "directory" in refused(capsys, evaluate.main, tmp_path)
    refused(capsys, evaluate.main)


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
    config = TINY.model_copy(update={"tables": 1, "steps": 1, "minibatch": 1, "iterations": 3, "evaluate_every": 0})
    assert not quietly(config, tmp_path / "short", stop_after=1)
    assert quietly(config, tmp_path / "short", resume=True)
    assert [row["gradient_steps"] for row in rows(tmp_path / "short")] == ["0"] * 3
    assert rows(tmp_path / "short")[0]["policy_loss"] == ""


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


def test_overrides_may_stand_anywhere():
    words = ["--iterations", "2", "--tables=64", "c.toml", "--resume", "--learning-rate", "0.1"]
    assert joined(words) == ["--iterations=2", "--tables=64", "c.toml", "--resume", "--learning-rate=0.1"]
    assert joined(["--run", "x", "--tables"]) == ["--run", "x", "--tables"]
