"""Runs small enough for a test, and what they leave behind."""

import csv
import io
from pathlib import Path

import torch
from rich.console import Console

from models import checkpoint
from training import run
from training.config import Config
from training.train import train

torch.set_num_threads(1)  # threads that wait for each other's slice of a tiny product cost ten times the time

ROOT = Path(__file__).parent.parent

TINY = Config(
    name="tiny",
    threads=1,
    hidden=(16,),
    bid_hidden=(8,),
    critic_hidden=(16,),
    tables=16,
    steps=24,
    iterations=6,
    minibatch=96,
    bid_minibatch=32,
    checkpoint_seconds=0,
    evaluate_every=4,
    evaluate_deals=4,
    final_deals=4,
)

#: Everything at once that a run can have besides itself.
TEAMED = TINY.model_copy(
    update={
        "rules": "contree",
        "rule_opponents": 0.3,
        "past_opponents": 0.4,
        "past_every": 1,
        "past_kept": 2,
        "seeded_auctions": 0.5,
        "average": 0.8,
        "magnet": 0.05,
        "optimizer": "muon",
        "evaluate_every": 0,
    }
)


def quietly(config, path, resume=False, stop_after=None):
    return train(config, path, resume, Console(file=io.StringIO(), width=200), stop_after)


def tensors(path):
    """What a run's checkpoint holds, its tables and optimizers included."""
    return checkpoint.load(path / run.CHECKPOINT).tensors


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def rows(path):
    with (path / "log.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def refused(capsys, command, *arguments):
    """The one sentence a command line is refused with."""
    assert command([str(argument) for argument in arguments]) == 2
    _, error = capsys.readouterr()
    assert error.count("\n") == 1 and error.endswith(".\n")
    return error
