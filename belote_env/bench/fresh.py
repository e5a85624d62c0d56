"""What only a fresh interpreter can tell: the time to the first step, and how resident memory grows."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import belote_env
from belote_env.envs import SelfPlayVector
from belote_env.rules import Rules

#: From import to the first step.
FIRST_STEPS = {
    "Game": """
from belote_env import Game
game = Game("classic", seed=1)
game.play(game.legal_actions()[0])
""",
    "SelfPlayVector, 1,024 tables": """
from belote_env.envs import SelfPlayVector
vector = SelfPlayVector(1024, rules="classic")
vector.step(vector.action_mask.argmax(axis=1))
""",
    "AEC env()": """
from belote_env import belote_v0
env = belote_v0.env(rules="classic")
env.reset(seed=1)
env.step(env.last()[0]["action_mask"].argmax())
""",
}

_CLOCKS = """
import time
print(time.time(), time.process_time())
"""

#: Bytes a table by which resident memory grows with a large batch; a small one has loaded the code before.
_GROWTH = """
import os
import sys
from belote_env.envs import SelfPlayVector

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def played(tables):
    vector = SelfPlayVector(tables, rules=sys.argv[1], observe=False)
    vector.step(vector.action_mask.argmax(axis=1))
    return vector

small = played(16)
tables = int(sys.argv[2])
before = resident()
vector = SelfPlayVector(tables, rules=sys.argv[1], observe=False)
print((resident() - before) / tables)
"""


class Start(NamedTuple):
    """Seconds from the start of the interpreter to the end of the first step."""

    wall: float
    cpu: float


def cold_start(program: str, cache: Path | None = None) -> Start:
    """Run a program of `FIRST_STEPS` in a fresh interpreter, with the user's kernel cache or with another."""
    start = time.time()
    end, cpu = _output(program + _CLOCKS, cache=cache)
    return Start(end - start, cpu)


def empty_cache_start(program: str) -> Start:
    """`cold_start` that finds no compiled kernel, up to a minute."""
    with tempfile.TemporaryDirectory() as folder:
        return cold_start(program, Path(folder))


def bytes_per_table(rules: Rules | str) -> int:
    """What `SelfPlayVector` keeps for each table besides the observations, counted from its arrays."""
    few, many = (_array_bytes(SelfPlayVector(tables, rules=rules, observe=False)) for tables in (64, 128))
    return (many - few) // 64


def resident_bytes_per_table(rules: str, tables: int) -> float | None:
    """The same as resident memory grows by it; None where the system does not tell it."""
    if not Path("/proc/self/statm").exists():
        return None
    return _output(_GROWTH, rules, str(tables))[0]


def _array_bytes(holder: object) -> int:
    """Bytes of all arrays an object holds; arrays that share memory count once."""
    blocks: dict[int, int] = {}
    for array in vars(holder).values():
        if isinstance(array, np.ndarray):
            block: Any = array
            while isinstance(block.base, np.ndarray):
                block = block.base
            blocks[id(block)] = block.nbytes
    return sum(blocks.values())


def _output(program: str, *arguments: str, cache: Path | None = None) -> list[float]:
    """The numbers that a program prints, run with this very package."""
    folders = [str(Path(belote_env.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    if cache is not None:
        environment["BELOTE_ENV_CACHE"] = str(cache)
    done = subprocess.run([sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [float(word) for word in done.stdout.split()]
