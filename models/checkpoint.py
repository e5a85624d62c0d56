"""Checkpoints: one safetensors file with tensors, and in its metadata what they were made for.

    policy.…   critic.…         state dicts of the networks
    anything else               what a trainer needs to resume; players ignore it
    metadata                    format, layout, rules, rules_digests, architecture, counters; JSON text each

Tensors only, never pickle: opening a stranger's file runs nothing.
"""

import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from belote_env.files import write_whole
from belote_env.observation import LAYOUT_DIGEST, SIZE
from belote_env.rules import Rules, as_rules
from belote_env.state import N_CARDS
from models.network import INPUTS, TOWERS, Critic, PolicyNet

FORMAT = "belote-env policy 2"
_KEYS = ("layout", "rules", "rules_digests", "architecture", "counters")
_DIGEST = re.compile(r"[0-9a-f]{12}")
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
#: What a stranger's metadata can make a parser raise.
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds, read and checked against the observation layout of this package."""

    path: Path
    rules: Rules  # played in training
    rules_digests: list[str]  # rules it may play
    architecture: dict[str, Any]
    counters: dict[str, Any]  # iteration, decisions, deals, seconds
    extra: dict[str, Any] = field(repr=False)  # further metadata of a trainer
    tensors: dict[str, Tensor] = field(repr=False)

    def section(self, name: str) -> dict[str, Tensor]:
        """The tensors under `name.`, without that prefix."""
        return {k.removeprefix(f"{name}."): v for k, v in self.tensors.items() if k.startswith(f"{name}.")}

    def policy(self) -> PolicyNet:
        """The policy, in evaluation mode.  ValueError when its tensors do not fit its architecture."""
        net = self._network("policy", PolicyNet)
        if net.play.actions != N_CARDS:
            raise ValueError(f"{self.path} has a tower of {net.play.actions} cards, not {N_CARDS}.")
        if any(tower.columns.min() < 0 or tower.columns.max() >= SIZE for tower in (net.play, net.bid)):
            raise ValueError(f"{self.path} reads columns outside the observation of {SIZE} bits.")
        return net

    def critic(self) -> Critic:
        """The critic, in evaluation mode.  ValueError when the file has none or it does not fit."""
        return self._network("critic", Critic)

    def _network(self, name: str, kind: type) -> Any:
        if name not in self.architecture:
            raise ValueError(f"{self.path} holds no {name}.")
        architecture, tensors = self.architecture[name], self.section(name)
        misfit = ValueError(f"{self.path}: the tensors of its {name} do not fit its architecture.")
        # Shapes first: what an architecture claims may not fit into memory, what the file holds does.
        if 2 * sum(len(sizes["hidden"]) for sizes in architecture.values()) > len(tensors):
            raise misfit
        if kind.shapes(architecture) != {key: tuple(value.shape) for key, value in tensors.items()}:
            raise misfit
        for key, value in tensors.items():
            if key.endswith("columns"):
                if value.dtype != torch.int64:
                    raise misfit
            elif value.dtype not in _FLOATS:
                raise misfit
            elif not torch.isfinite(value.float()).all():
                raise ValueError(f"{self.path}: {name}.{key} holds a weight that is not a finite number.")
        try:
            with torch.random.fork_rng(devices=[]):  # weights drawn to be replaced are no draw of the caller's
                net = kind.from_architecture(architecture)
            net.load_state_dict(tensors)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            raise misfit from error
        return net.eval()


def save(
    path: str | Path,
    policy: PolicyNet,
    rules: Rules,
    critic: Critic | None = None,
    counters: dict[str, Any] | None = None,
    tensors: dict[str, Tensor] | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write a checkpoint; a kill at any moment leaves the old file or the new one, never a mixture.

    Args:
        tensors: more tensors by full name, for a trainer.
        extra: more metadata; values are written as JSON.
    """
    networks: dict[str, nn.Module] = {"policy": policy} | ({"critic": critic} if critic is not None else {})
    everything = dict(tensors or {})
    for name, net in networks.items():
        everything |= {f"{name}.{key}": value for key, value in net.state_dict().items()}
    metadata = {
        "layout": LAYOUT_DIGEST,
        "rules": rules.to_dict(),
        "rules_digests": [rules.digest],
        "architecture": {name: net.architecture() for name, net in networks.items()},
        "counters": counters or {},
        **(extra or {}),
    }
    text = {"format": FORMAT} | {key: json.dumps(value) for key, value in metadata.items()}
    data = safetensors.torch.save({k: v.detach().contiguous() for k, v in everything.items()}, text)
    write_whole(Path(path), data)


def load(path: str | Path, rules: Rules | str | None = None) -> Checkpoint:
    """Read a checkpoint and check that it fits this package, and `rules` where given.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a safetensors file, truncated, not a checkpoint of this project, made for another
            observation layout or for other rules; one sentence.
    """
    path = Path(path)
    data = path.read_bytes()
    metadata = _metadata(path, data)
    if metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of this project: its metadata lack {FORMAT!r}.")
    missing = [key for key in _KEYS if key not in metadata]
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)} in its metadata.")
    try:
        fields = {key: json.loads(text) for key, text in metadata.items() if key != "format"}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} has metadata that is not JSON.") from error
    if fields["layout"] != LAYOUT_DIGEST:
        layout = fields["layout"] if _is_digest(fields["layout"]) else "unknown"
        raise ValueError(f"{path} was made for observation layout {layout}, here it is {LAYOUT_DIGEST}.")
    if not (isinstance(fields["rules_digests"], list) and all(map(_is_digest, fields["rules_digests"]))):
        raise ValueError(f"{path} has rules_digests that are not a list of digests.")
    if not _is_architecture(fields["architecture"]):
        raise ValueError(f"{path} has an architecture that describes no network of this project.")
    counters = fields["counters"]
    if not (isinstance(counters, dict) and all(type(value) in (int, float) for value in counters.values())):
        raise ValueError(f"{path} has counters that are not numbers by name.")
    try:
        played = Rules.from_dict(fields["rules"])
    except _UNREADABLE as error:
        raise ValueError(f"{path} has rules that cannot be played: {_first_line(error)}.") from error
    if rules is not None and as_rules(rules).digest not in fields["rules_digests"]:
        wanted = as_rules(rules)
        raise ValueError(
            f"{path} was made for rules {played.name!r} "
            f"({', '.join(fields['rules_digests'])}), "
            f"not for {wanted.name!r} ({wanted.digest})."
        )
    try:
        tensors = safetensors.torch.load(data)
    except (SafetensorError, RuntimeError, *_UNREADABLE) as error:
        raise ValueError(f"{path} is damaged: {_first_line(error)}.") from error
    return Checkpoint(
        path,
        played,
        fields["rules_digests"],
        fields["architecture"],
        fields["counters"],
        {key: value for key, value in fields.items() if key not in _KEYS},
        tensors,
    )


def load_policy(path: str | Path, rules: Rules | str) -> PolicyNet:
    """The policy of a checkpoint, in evaluation mode; refuses what `load` refuses."""
    return load(path, rules).policy()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_architecture(value: Any) -> bool:
    """Whether metadata describe networks: sizes are whole numbers from 1, within what a tensor can count."""

    def sizes(*numbers: Any) -> bool:
        return all(type(number) is int and 1 <= number < 2**31 for number in numbers)

    if not isinstance(value, dict) or not value.keys() <= {"policy", "critic"}:
        return False
    for name, keys in (("policy", ("columns", "actions")), ("critic", ("inputs",))):
        towers = value.get(name, {})
        if name in value and not (isinstance(towers, dict) and towers.keys() == set(TOWERS)):
            return False
        for kind, tower in towers.items():
            if not (isinstance(tower, dict) and isinstance(tower.get("hidden"), list) and tower["hidden"]):
                return False
            if name == "policy" and tower.get("inputs", "bits") not in (INPUTS if kind == "play" else ("bits",)):
                return False
            if not sizes(*tower["hidden"], *map(tower.get, keys)):
                return False
    return "critic" not in value or value["critic"]["play"]["hidden"] == value["critic"]["bid"]["hidden"]


def _metadata(path: Path, data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: eight bytes of length, a JSON header that long, then the data."""
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if len(data) < 9 or length > 100_000_000 or data[8:9] != b"{":
        raise ValueError(f"{path} is not a safetensors file.")
    if len(data) < 8 + length:
        raise ValueError(f"{path} is truncated: its header ends after the file does.")
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        end = max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
    except _UNREADABLE as error:
        raise ValueError(f"{path} is not a safetensors file.") from error
    if not (isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())):
        raise ValueError(f"{path} is not a checkpoint of this project: its metadata are not texts by name.")
    if len(data) < 8 + length + end:
        raise ValueError(f"{path} is truncated: {8 + length + end - len(data)} bytes are missing.")
    return metadata
