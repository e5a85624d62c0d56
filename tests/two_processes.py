"""What `torchrun` starts in `test_runs.py`: a run of several processes, and one broken off and resumed."""

import io
import sys
from pathlib import Path

from rich.console import Console

from training.config import load
from training.train import train

if __name__ == "__main__":
    config, path = load(sys.argv[1]), Path(sys.argv[2])
    console = Console(file=io.StringIO())
    assert train(config, path / "whole", False, console)
    assert not train(config, path / "broken", False, console, stop_after=2)
    assert train(config, path / "broken", True, console)
