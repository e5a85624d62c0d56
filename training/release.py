"""Release what runs have made: `python -m training.release NAME RUN [RUN ...] [--into INTO]`.

Writes models/released/NAME, or INTO/NAME, from the runs in their order; the last one made the policy:

    weights.safetensors   policy, and the critic where the last run trained one
    policy.onnx           the same policy for `belote_env.players.Policy`, without torch
    config.toml           the configuration of the last run; the earlier ones as config-1.toml, config-2.toml …
    train.csv             their logs, one after the other, with the run's name in the first column
    curves.png            the curves of the last run
    SHA256SUMS            of all of these; `sha256sum -c SHA256SUMS`

card.md, which says what the policy is and what was measured of it, is written by hand and left alone.
"""

import csv
import hashlib
import io
import shutil
import sys
from pathlib import Path

from belote_env.files import write_whole
from models import checkpoint
from models.export import write_onnx
from training import run as runs
from training.command import Parser, refuse, sentence
from training.config import Config, from_fields

RELEASED = Path(__file__).parents[1] / "models" / "released"


def release(name: str, paths: list[Path], directory: Path) -> Path:
    """Write the release `name` from finished runs; returns its directory.

    Raises:
        OSError, ValueError: a run that is not finished, or files that cannot be read or written.
    """
    for path in paths:
        if not (path / runs.POLICY).is_file():
            raise ValueError(f"{path} holds no {runs.POLICY}: it is not the directory of a finished run.")
    loaded = checkpoint.load(paths[-1] / runs.POLICY)
    config = _config(loaded)
    target = directory / name
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / "weights.safetensors", (paths[-1] / runs.POLICY).read_bytes())
    write_onnx(target / "policy.onnx", loaded.policy(), loaded.rules_digests, config.unit)
    for number, path in enumerate(paths, start=1):
        file = "config.toml" if number == len(paths) else f"config-{number}.toml"
        write_whole(target / file, (path / "config.toml").read_bytes())
    write_whole(target / "train.csv", _logs(paths).encode())
    if (paths[-1] / runs.CURVES).is_file():
        shutil.copyfile(paths[-1] / runs.CURVES, target / runs.CURVES)
    files = sorted(path for path in target.iterdir() if path.name not in ("SHA256SUMS", "card.md"))
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    write_whole(target / "SHA256SUMS", sums.encode())
    return target


def _config(loaded: checkpoint.Checkpoint) -> Config:
    fields = loaded.extra.get("config")
    if not isinstance(fields, dict):
        raise ValueError(f"{loaded.path} does not say how it was made.")
    return from_fields(fields)


def _logs(paths: list[Path]) -> str:
    """The logs of runs as one table."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for number, path in enumerate(paths):
        with (path / runs.LOG).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if number == 0:
            writer.writerow(["run", *rows[0]])
        writer.writerows([path.name, *map(_short, row)] for row in rows[1:])
    return out.getvalue()


def _short(field: str) -> str:
    """A number of a log with four digits; whole ones as they are."""
    return f"{float(field):.4g}" if "." in field else field


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = Parser(prog="python -m training.release", description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of the release, as players are named")
    parser.add_argument("--into", type=Path, default=RELEASED, help="write into INTO/NAME (models/released)")
    parser.add_argument("runs", nargs="+", type=Path, help="directories of finished runs, in their order")
    try:
        options = parser.parse_args(arguments)
        if not options.name.replace("-", "").isalnum():
            parser.error(f"{options.name!r} is not a name of letters, digits and hyphens")
        print(release(options.name, options.runs, options.into))
    except (OSError, ValueError) as error:
        return refuse(sentence(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
