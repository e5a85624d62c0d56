"""A run's directory: its configuration, its log, its checkpoint, its result.

config.toml             every field, as it was played
commit.txt              the commit of the code, with `+` after it where files had changed
.lock                   held by the process that trains here
log.csv, events.…       one row an iteration; the same for TensorBoard
curves.png              the log as curves, drawn anew at each evaluation
checkpoint.safetensors  everything needed to go on, replaced as training goes
policy.safetensors      at the end the policy to use, the slow average where there is one; and the critic, if it learned
lessons/                what a study learns from; of no use once it is over
result.json             the final evaluation
"""

import csv
import io
import json
import math
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from belote_env.envs import SelfPlayVector
from belote_env.files import write_whole
from belote_env.rules import Rules
from models import checkpoint
from models.network import TOWERS
from training.config import Config, from_fields
from training.config import load as load_config
from training.group import Group
from training.learner import LOSSES, Learner
from training.past import PastTeams

try:
    import fcntl
except ImportError:  # not on Windows: there a run is not guarded
    fcntl = None  # type: ignore[assignment]

LOG = "log.csv"
CURVES = "curves.png"
CHECKPOINT = "checkpoint.safetensors"
POLICY = "policy.safetensors"
COLUMNS = (
    *("iteration", "decisions", "deals", "seconds", "decisions_per_second", "rollout_share"),
    *(f"{tower}_{key}" for tower in TOWERS for key in ("learning_rate", *LOSSES)),
    *("passes", "doubled", "taken", "level"),
    *("heuristic", "heuristic_interval", "contracts", "made", "all_pass"),
)


def directory_for(config: Config, chosen: Path | None, resume: bool) -> Path:
    """Where a run lives: the directory asked for, else runs/<name>, with a number where that is taken.

    Raises:
        ValueError: a new run into a directory that holds a checkpoint, or nothing there to resume.
    """
    path = chosen or Path("runs") / config.name
    taken = (path / CHECKPOINT).exists()
    if resume and not taken:
        raise ValueError(f"{path} holds no checkpoint to resume from.")
    if taken and not resume:
        if chosen:
            raise ValueError(f"{path} holds a run already: add --resume to go on with it, or choose another --run.")
        number = next(n for n in range(2, 10_000) if not (path.parent / f"{path.name}-{n}").exists())
        path = path.parent / f"{path.name}-{number}"
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep the directory of a run to this process; the system frees it when the process ends, however it ends.

    Raises:
        ValueError: another process trains there.
    """
    with (path / ".lock").open("a") as file:
        if fcntl:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ValueError(f"{path} is in use: another process is training there.") from error
            except OSError:
                pass  # a file system without locks
        yield


def check_same(config: Config, path: Path, loaded: checkpoint.Checkpoint) -> None:
    """Refuse to go on with a run under another configuration than its checkpoint's.

    Raises:
        ValueError: names the first difference, in `config` or in the run's config.toml.
    """
    stored = loaded.extra.get("config")
    if not isinstance(stored, dict):
        raise ValueError(f"{loaded.path} holds no configuration: it is not the checkpoint of a run.")
    try:
        before = from_fields(stored).model_dump()
    except ValueError as error:
        raise ValueError(f"{loaded.path} holds another version's configuration: {error}") from error
    given = [config]
    if (path / "config.toml").exists():
        given.append(load_config(path / "config.toml"))
    for other in given:
        for key, value in other.model_dump().items():
            if before[key] != value:
                raise ValueError(
                    f"{path} was started with {key} = {before[key]!r}, not {value!r}: resume it unchanged."
                )


def save(
    path: Path,
    learner: Learner,
    past: PastTeams,
    vectors: list[dict[str, Any]],
    rules: Rules,
    counters: dict[str, Any],
    config: Config,
    more: dict[str, Any] | None = None,
) -> None:
    """Write all that a run needs to go on bit for bit; `vectors` are snapshots of its tables, by process.

    `more` goes into the metadata.
    """
    tensors = learner.tensors() | past.tensors()
    kept: list[dict[str, Any]] = []
    for rank, snapshot in enumerate(vectors):
        # Bytes in the file, for dtypes that torch lacks; what they were is in the metadata.
        arrays = {key: np.asarray(value) for key, value in snapshot.items()}
        kept.append({key: [array.dtype.str, list(array.shape)] for key, array in arrays.items()})
        tensors |= {
            f"vector.{rank}.{key}": torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
            for key, array in arrays.items()
        }
    extra = _receipt(config) | {"vectors": kept} | (more or {})
    checkpoint.save(path, learner.policy, rules, learner.critic, counters, tensors, extra)


def save_policy(path: Path, learner: Learner, rules: Rules, counters: dict[str, Any], config: Config) -> None:
    """Write the policy that a run makes, the slow average where there is one, and the critic that judged it."""
    policy = learner.average if config.average else learner.policy
    critic = None if config.lessons else learner.critic
    checkpoint.save(path, policy, rules, critic, counters, {}, _receipt(config))


def _receipt(config: Config) -> dict[str, Any]:
    return {"config": config.model_dump(), "torch": torch.__version__}


def restore(
    loaded: checkpoint.Checkpoint, learner: Learner, past: PastTeams, vector: SelfPlayVector, group: Group
) -> dict[str, Any]:
    """Bring learner, past teams and this process's tables to where a checkpoint left them; returns its counters.

    Raises:
        ValueError: a file without what a run needs, or tables that refuse their snapshot.
    """
    policy, critic, counters = loaded.policy(), loaded.critic(), loaded.counters
    if not all(type(counters.get(key)) is int and counters[key] >= 0 for key in ("iteration", "decisions", "deals")):
        raise ValueError(f"{loaded.path} does not say how far its run has come.")
    if not 0 <= counters.get("seconds", -1) < math.inf:
        raise ValueError(f"{loaded.path} does not say how long its run has taken.")
    try:
        learner.restore(policy, critic, loaded.tensors)
        past.restore(loaded.tensors)
        kept = loaded.extra["vectors"]
        if len(kept) != group.size:
            raise ValueError(f"it was made by {len(kept)} processes, these are {group.size}")
        snapshot = {
            key: loaded.tensors[f"vector.{group.rank}.{key}"].numpy().view(np.dtype(dtype)).reshape(shape)
            for key, (dtype, shape) in kept[group.rank].items()
        }
    except (KeyError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ValueError(f"{loaded.path} lacks what a run needs to go on: {reason}.") from error
    vector.restore(snapshot)
    return counters


def commit() -> str:
    """The commit of the code, `+` after it where tracked files have changed; "unknown" without git."""
    root = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


class Log:
    """One row an iteration, to log.csv and to TensorBoard; rows after `start` are forgotten."""

    def __init__(self, path: Path, start: int) -> None:
        self._file = path / LOG
        kept = _rows(self._file.read_bytes(), start) if start and self._file.exists() else []
        self._new = not kept
        if kept:
            text = io.StringIO(newline="")
            csv.writer(text).writerows([COLUMNS, *kept])
            write_whole(self._file, text.getvalue().encode())
        self._writer = SummaryWriter(str(path), purge_step=start + 1 if start else None)

    def write(self, iteration: int, row: dict[str, float | None]) -> None:
        """Append a row; None leaves a field empty."""
        with self._file.open("w" if self._new else "a", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, COLUMNS)
            if self._new:
                out.writeheader()
            out.writerow(
                {"iteration": iteration}
                | {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items() if v is not None}
            )
        self._new = False
        for key, value in row.items():
            if value is not None:
                self._writer.add_scalar(key, value, iteration)

    def close(self) -> None:
        """Flush what TensorBoard still holds."""
        self._writer.close()


def _rows(data: bytes, last: int) -> list[list[str]]:
    """The whole rows of a log that a kill may have torn: iterations that rise, up to `last`."""
    lines = data.decode(errors="replace").split("\n")[:-1]  # what no line break ends is torn
    rows: list[list[str]] = []
    before = 0
    for fields in (line.rstrip("\r").split(",") for line in lines):
        try:
            iteration = int(fields[0])
            for field in fields[1:]:
                float(field or 0)
        except ValueError:
            continue
        if len(fields) == len(COLUMNS) and before < iteration <= last:
            rows.append(fields)
            before = iteration
    return rows


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file at once."""
    write_whole(path, (json.dumps(value, indent=2) + "\n").encode())
