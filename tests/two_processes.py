"""What `torchrun` starts in `test_runs.py`: CONFIG RUN [STOP_AFTER], resumed where the run has begun."""

import io
import sys
from pathlib import Path

from rich.console import Console

from training import run
from training.config import load
from training.train import train

if __name__ == "__main__":
    path, stop_after = Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None
    begun = (path / run.CHECKPOINT).exists()
    train(load(sys.argv[1]), path, begun, Console(file=io.StringIO()), stop_after)
