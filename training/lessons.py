"""Lessons: positions of a policy's own play, each with the probabilities that its cards should have.

In the first tricks a lesson says what the policy did.  In the last ones each card is worth its exact value with open
hands, in the mean over worlds that fit what the seat knows (`belote_env.players.beliefs`), and the likelier the more
it is worth: what a search finds there, a network can learn.  Where more than the last four tricks are solved, the
teacher's own probabilities count as well (`Config.early_prior`).

Lessons lie in files of `PER_FILE`, each written whole and decided by seed and number alone: a run that was stopped
makes those that are missing.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from belote_env.envs import SelfPlayVector
from belote_env.files import write_whole
from belote_env.frames import framed_actions
from belote_env.observation import observe_batch
from belote_env.players import Heuristic
from belote_env.players.beliefs import likely_worlds
from belote_env.rules import Rules, as_rules
from belote_env.solver import solve_many
from belote_env.state import N_CARDS
from models.network import FILL, PolicyNet
from training.config import Config
from training.draws import words
from training.rollout import Rollout

PER_FILE = 32_768
#: Worlds that are solved at a time, about.
_AT_ONCE = 25_000
#: Worlds dealt for each one weighed; a third of what a search affords at the table, for as many more lessons.
_DEALT_FOR_ONE = 3
#: The last tricks, in which a card is worth what it is with open hands, whatever the teacher thinks of it.
_OPEN_TRICKS = 4


#: Fields of a configuration that decide what its lessons are.
_DECIDING = (
    *("seed", "rules", "reward", "learn", "bidders", "players", "rule_opponents", "past_opponents", "seeded_auctions"),
    *("solved_share", "solved_tricks", "worlds", "lesson_points", "early_prior", "tables", "steps"),
)


class Lessons:
    """Lessons in memory, packed.

    Attributes:
        bits: (n, SIZE / 8) uint8, observations in the canonical frame, packed.
        legal: (n, 4) uint8, which cards are legal in that frame, packed.
        targets: (n, 32) float16, probabilities that the cards should have.
    """

    def __init__(self, bits: NDArray[np.uint8], legal: NDArray[np.uint8], targets: NDArray[np.float16]) -> None:
        self.bits, self.legal, self.targets = bits, legal, targets

    def __len__(self) -> int:
        return len(self.bits)

    def batch(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Of some lessons: bits (n, K) uint8 of some columns, mask (n, 32) bool and targets (n, 32) float32."""
        bits = np.unpackbits(self.bits[rows], axis=1)[:, columns]
        mask = np.unpackbits(self.legal[rows], axis=1).view(bool)
        return torch.from_numpy(bits), torch.from_numpy(mask), torch.from_numpy(self.targets[rows].astype(np.float32))


def file_of(path: Path, number: int) -> Path:
    """Where lessons of a number lie in a run's directory."""
    return path / "lessons" / f"{number:04}.npz"


def per_file(config: Config) -> int:
    """How many lessons a file holds: fewer only where a run has fewer."""
    return min(PER_FILE, config.lessons)


def origin(config: Config, teacher: PolicyNet, size: int) -> str:
    """What decides a file of `size` lessons besides its number, as a digest."""
    validated = Config(**config.model_dump())  # a default 0 and a 0.0 that was read are one
    fields = validated.model_dump(include=set(_DECIDING)) | {"size": size}
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode())
    for value in teacher.state_dict().values():
        digest.update(value.cpu().numpy().tobytes())
    return digest.hexdigest()


def read(file: Path, wanted: str) -> Lessons:
    """The lessons of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged, or not of the origin that is wanted.
    """
    data = io.BytesIO(file.read_bytes())
    try:
        with np.load(data) as kept:
            made, lessons = str(kept["origin"]), Lessons(kept["bits"], kept["legal"], kept["targets"])
    except (ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} holds no lessons: remove it, and it is made again.") from error
    if made != wanted:
        raise ValueError(f"{file} holds lessons of another teacher or configuration: remove it, or use another --run.")
    return lessons


def joined(parts: list[Lessons]) -> Lessons:
    """All of them, one after the other."""
    names = ("bits", "legal", "targets")
    return Lessons(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def make(config: Config, teacher: PolicyNet, path: Path, number: int, size: int = PER_FILE) -> None:
    """Write the file of that number with `size` lessons."""
    out = io.BytesIO()
    config = config.model_copy(update={"threads": 1})
    made = _lessons(config, as_rules(config.rules), teacher, number, size)
    np.savez(out, origin=np.array(origin(config, teacher, size)), **made)
    file = file_of(path, number)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, out.getvalue())


def _lessons(config: Config, rules: Rules, policy: PolicyNet, number: int, size: int) -> dict[str, NDArray[Any]]:
    """Positions of play and what they teach."""
    seed = int(words(config.seed, number, 111)[()] >> np.uint64(1))
    played = _Watched(config.model_copy(update={"seed": seed, "learn": "play"}), rules)
    states, seats = played.positions(policy, size)
    observations, masks, frames = observe_batch(states, seats, rules, canonical=True)
    legal = masks[:, :N_CARDS] != 0
    bits = torch.from_numpy(observations[:, policy.play.columns.numpy()])
    with torch.inference_mode():
        pieces = zip(bits.split(4096), torch.from_numpy(legal).split(4096), strict=True)
        targets = torch.cat([policy.play.log_probs(*piece).exp() for piece in pieces]).numpy()
    late = np.flatnonzero(in_last(states, config.solved_tricks))
    at_once = max(1, _AT_ONCE // config.worlds)
    for begin in range(0, len(late), at_once):
        rows = late[begin : begin + at_once]
        values = mean_values(states[rows], seats[rows], rules, config.worlds, (seed + begin) % 2**64)
        # from the suits' own order to the frame's
        slots = framed_actions(np.tile(np.arange(N_CARDS), len(rows)), np.repeat(frames[rows], N_CARDS))
        framed = np.empty_like(values)
        np.put_along_axis(framed, slots.reshape(values.shape), values, axis=1)
        worth = framed / config.lesson_points
        early = ~in_last(states[rows], _OPEN_TRICKS)
        worth[early] += config.early_prior * np.log(np.maximum(targets[rows][early], 1e-8))
        targets[rows] = torch.softmax(torch.from_numpy(np.where(legal[rows], worth, FILL)), 1).numpy()
    return {
        "bits": np.packbits(observations, axis=1),
        "legal": np.packbits(legal, axis=1),
        "targets": targets.astype(np.float16),
    }


def in_last(states: NDArray[Any], tricks: int) -> NDArray[np.bool_]:
    """(n,) bool, the card to play belongs to one of the last so many tricks."""
    return np.asarray(states["n_cards"] >= N_CARDS - 4 * tricks)


def mean_values(
    states: NDArray[Any], seats: NDArray[np.int64], rules: Rules, worlds: int, seed: int
) -> NDArray[np.float64]:
    """(n, 32) score of each legal card with open hands, the seat's side less the other's, in the mean over worlds.

    What stands at cards that are not legal means nothing.

    Args:
        states: (n,) states in play.
        seats: (n,) whose turn it is.
        worlds: of each state, about; all where there are no more.
    """
    heuristic = Heuristic()
    heuristic.start(rules)
    dealt, of, weights = likely_worlds(states, seats, rules, heuristic, worlds, seed, _DEALT_FOR_ONE)
    values = solve_many(dealt, rules, "score", 1).astype(np.float64)
    sums = np.zeros((len(states), N_CARDS))
    np.add.at(sums, of, weights[:, None] * values)
    return sums / np.bincount(of, weights, len(states))[:, None]


class _Watched(Rollout):
    """A rollout that keeps the positions in which the policy chose a card."""

    def __init__(self, config: Config, rules: Rules) -> None:
        vector = SelfPlayVector(
            config.tables, rules, reward=config.reward, seed=config.seed, threads=config.threads, skip_forced=True,
            canonical=True, hidden=True,
        )  # fmt: skip
        super().__init__(vector, config)
        self._states: list[NDArray[Any]] = []

    def positions(self, policy: PolicyNet, wanted: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """So many of them, in each trick's share, and the seats to play."""
        late = round(wanted * self.config.solved_share)
        wants = {False: wanted - late, True: late}
        states: dict[bool, list[NDArray[Any]]] = {False: [], True: []}
        iteration = 0
        while any(sum(map(len, states[last])) < want for last, want in wants.items()):
            self._states = []
            self.collect(policy, iteration)
            iteration += 1
            seen = np.concatenate(self._states)
            solved = in_last(seen, self.config.solved_tricks)
            for last in wants:
                states[last].append(seen[solved == last])
        chance = np.random.default_rng(self.config.seed)
        chosen = [chance.permutation(np.concatenate(states[last]))[:want] for last, want in wants.items()]
        mixed = chance.permutation(np.concatenate(chosen))
        return mixed, mixed["turn"].astype(np.int64)

    def _act(self, policy: PolicyNet, name: str, rows: Any, lot: Any, actions: Any, t: int = -1) -> None:
        if name == "play":
            self._states.append(self.vector.states[rows])
        super()._act(policy, name, rows, lot, actions, -1)
