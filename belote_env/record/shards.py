"""Parquet files of recorded deals: a folder of shards, each written whole, so that a stopped run can go on.

Law: a folder that was stopped and resumed at any moments holds the same bytes as one that was not.
"""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import belote_env
from belote_env.files import write_whole
from belote_env.game import Game
from belote_env.notation import rules_text
from belote_env.observation import LAYOUT_DIGEST, SIZE
from belote_env.players import Player, as_player
from belote_env.record.rows import Rows, play_deals
from belote_env.rules import Rules, as_rules
from belote_env.rulings import shown, whole_number

#: Version of the columns; a change of their meaning raises it.
SCHEMA_VERSION = 1
DEALS_PER_SHARD = 1000
MOST_DEALS = 2**31 - 1
MANIFEST = "record.json"


def shard_name(number: int) -> str:
    """File name of a shard."""
    return f"deals-{number:06d}.parquet"


def record(
    player: Player | str,
    out: Path | str,
    rules: Rules | str = "classic",
    deals: int = 1000,
    seed: int = 0,
    deals_per_shard: int = DEALS_PER_SHARD,
    progress: bool = False,
) -> list[Path]:
    """Record deals 0 .. deals - 1 into a folder, or go on where an earlier call with the same arguments stopped.

    Args:
        player: sits at every seat; a player or a name. What it plays must follow from the position alone.
        out: the folder; made if need be.
        rules: `Rules` or a preset's name.
        deals: how many.
        seed: 0..2**64-1; deal i depends on (seed, i) alone.
        deals_per_shard: deals in a file.
        progress: show a progress bar on stderr.

    Returns:
        The shards in order.

    Raises:
        ValueError: pyarrow is missing, an argument is out of range, the folder holds another record, or a
            damaged file.
        OSError: a file cannot be written.
    """
    check_pyarrow()
    table, one, folder = as_rules(rules), as_player(player), Path(out)
    deals = whole_number("deals", deals, 1, MOST_DEALS)
    seed = whole_number("seed", seed, 0, 2**64 - 1)
    size = whole_number("deals_per_shard", deals_per_shard, 1, 100_000)
    one.start(table)
    name = player if isinstance(player, str) else one.name
    manifest = {
        "schema": SCHEMA_VERSION,
        "belote_env": belote_env.__version__,
        "layout": LAYOUT_DIGEST,
        "rules": rules_text(table),
        "rules_digest": table.digest,
        "n_actions": table.n_actions,
        "player": name,
        "plays": one.name,  # "expert" is not the same player everywhere
        "seed": seed,
        "deals": deals,
        "deals_per_shard": size,
    }
    _open_folder(folder, manifest)
    count = -(-deals // size)
    shards = [folder / shard_name(k) for k in range(count)]
    done = {path for path in shards if path.exists()}
    for path in sorted(done):
        _check_shard(path, manifest)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} deals"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not progress,
    )
    with bar:
        task = bar.add_task(f"recording {name}", total=deals)
        for k, path in enumerate(shards):
            first, n = k * size, min(size, deals - k * size)
            if path not in done:

                def advance(part: float, first: int = first, n: int = n) -> None:
                    bar.update(task, completed=first + part * n)

                rows, texts = play_deals(one, table, seed, first, n, advance)
                _write(path, rows, texts, manifest)
            bar.update(task, completed=first + n)
    return shards


def check_pyarrow() -> None:
    """Refuse before anything is played.

    Raises:
        ValueError: pyarrow is missing.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise ValueError("a record needs pyarrow: pip install 'belote-env[record]'")


def _open_folder(folder: Path, manifest: dict[str, Any]) -> None:
    """Make the folder, or see that it holds the beginning of this very record; clear what a killed run left."""
    path = folder / MANIFEST
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    if path.exists():
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            kept = None
        if not isinstance(kept, dict):
            raise ValueError(f"{path} is not the description of a record")
        differing = [key for key in manifest if kept.get(key) != manifest[key]]
        if differing:
            told = ", ".join(f"{key} {shown(kept.get(key))} there and {shown(manifest[key])} here" for key in differing)
            raise ValueError(f"{folder} holds another record: {told}")
    elif folder.exists() and any(not _is_torn(file) for file in folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no record; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file in filter(_is_torn, folder.iterdir()):
        file.unlink()
    if not path.exists():
        write_whole(path, (json.dumps(manifest, indent=2) + "\n").encode())


def _is_torn(file: Path) -> bool:
    return file.name.endswith(".tmp") and file.name.startswith((".deals-", f".{MANIFEST}"))


def _told(manifest: dict[str, Any]) -> dict[str, str]:
    """What a shard says of its record; how many deals there will be is no property of one file."""
    return {key: str(value) for key, value in manifest.items() if key != "deals"}


def _check_shard(path: Path, manifest: dict[str, Any]) -> None:
    """ValueError unless a file that is there is a shard of this record, as far as its description goes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, OSError, ValueError):
        found = {}
    told = {key.encode(): value.encode() for key, value in _told(manifest).items()}
    if any(found.get(key) != value for key, value in told.items()):
        raise ValueError(f"{path} is damaged, or of another record; without it, it is recorded anew")


def _write(path: Path, rows: Rows, texts: list[str], manifest: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def packed(array: NDArray[np.uint8]) -> Any:
        width, data = array.shape[1], np.ascontiguousarray(array)
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(data), [None, pa.py_buffer(data)])

    hands = pa.FixedSizeListArray.from_arrays(pa.array(rows["hands"].reshape(-1)), 4)
    deal_in_shard = rows["deal"] - rows["deal"][0]
    text = pa.DictionaryArray.from_arrays(pa.array(deal_in_shard.astype(np.int32)), pa.array(texts)).cast(pa.string())
    columns = {
        **{name: pa.array(rows[name]) for name in ("deal", "step", "seat")},
        "observation": packed(rows["observation"]),
        "mask": packed(rows["mask"]),
        **{name: pa.array(rows[name]) for name in ("action", "reward", "difference")},
        "hands": hands,
        "text": text,
    }
    file = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns).replace_schema_metadata(_told(manifest)),
        file,
        compression="zstd",
        use_dictionary=["text"],
        row_group_size=len(rows["deal"]),
    )
    write_whole(path, file.getvalue().to_pybytes())


def unpack(column: Any, bits: int = SIZE) -> NDArray[np.uint8]:
    """A column of packed bits, `observation` or `mask`, as (n, bits) uint8 of 0 and 1.

    Args:
        column: a pyarrow array or chunked array of fixed-size binaries.
        bits: 768 for observations, `Rules.n_actions` for masks.
    """
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    parts = []
    for chunk in chunks:
        width = chunk.type.byte_width
        data = np.frombuffer(chunk.buffers()[1], np.uint8).reshape(-1, width)
        parts.append(data[chunk.offset : chunk.offset + len(chunk)])
    packed = np.concatenate(parts) if parts else np.zeros((0, -(-bits // 8)), np.uint8)
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little")


def position_at(text: str, step: int) -> Game:
    """The position in which decision number `step` of a recorded deal was made.

    Args:
        text: of the whole deal, column `text`.
        step: column `step`.

    Raises:
        ValueError: not the text of a deal, or one that has no such step.
    """
    head, calls, rest = text.partition(" calls")
    words = rest.split()
    actions = [word for word in words if word != "cards"]
    if not calls or not 0 <= step <= len(actions):
        raise ValueError(f"step {step} is not 0 to {len(actions)} of {text!r}")
    game = Game.parse(head + calls)
    for word in actions[:step]:
        game.play(word)
    return game
