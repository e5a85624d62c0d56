"""Rollouts: many tables played in step, and what the learner's decisions at them were worth."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from belote_env.envs import SelfPlayVector
from belote_env.envs.batch import REWARD_SCALE
from belote_env.state import N_CARDS, PASS, PLAY
from models.network import TOWERS, Critic, PolicyNet, Tower, tower_bits
from training.advantage import seat_advantages
from training.config import Config
from training.draws import uniforms
from training.teams import OWN, PAST, RULES, Teams

#: The action that is a tower's number 0.
_FIRST = {"play": 0, "bid": N_CARDS}


@dataclass(frozen=True)
class Batch:
    """B decisions of one tower that count, in one line each."""

    bits: Tensor  # (B, K + HIDDEN_SIZE) uint8; the first K are the policy's
    mask: Tensor  # (B, A) bool, over the tower's actions
    actions: Tensor  # (B,) int64, the tower's
    log_probs: Tensor  # (B,) float32, of the policy that played; of calls to imitate 0
    advantages: Tensor  # (B,) float32
    targets: Tensor  # (B,) float32, for the critic
    values: Tensor  # (B,) float32, of the critic before learning


@dataclass(frozen=True)
class Counts:
    """What happened in a rollout."""

    decisions: int  # of the learner
    deals: int  # ended
    passes: float  # share of the learner's calls that were passes
    doubled: float  # share of the deals ended that were doubled
    taken: float  # share of the deals against others in which the learner's side took the contract
    level: float  # mean number of the call of the deals ended


@dataclass
class _Record:
    """Decisions of one tower as they come, step by step."""

    bits: list[Tensor] = field(default_factory=list)
    mask: list[Tensor] = field(default_factory=list)
    actions: list[Tensor] = field(default_factory=list)
    log_probs: list[Tensor] = field(default_factory=list)
    places: list[np.ndarray] = field(default_factory=list)  # t · N + n

    def add(self, bits: Tensor, mask: Tensor, actions: Tensor, log_probs: Tensor, places: np.ndarray) -> None:
        """Append the decisions of one step."""
        self.bits.append(bits)
        self.mask.append(mask)
        self.actions.append(actions)
        self.log_probs.append(log_probs)
        self.places.append(places)


class Rollout:
    """Plays `config.steps` decisions at every table of a vector, again and again.

    Args:
        vector: tables without forced moves, in the canonical frame, with hidden hands.
        first_table: the number of the vector's table 0 in the whole run.
    """

    def __init__(self, vector: SelfPlayVector, config: Config, first_table: int = 0, device: str = "cpu") -> None:
        self.vector, self.config, self.device = vector, config, device
        self.teams = Teams(config, vector.rules, first_table, vector.num_envs)
        self._tables = first_table + np.arange(vector.num_envs)
        shape = config.steps, vector.num_envs
        self.seat = np.zeros(shape, np.int8)
        self.own = np.zeros(shape, bool)
        self.rewards = np.zeros(shape, np.float32)
        self.done = np.zeros(shape, bool)
        self._records: dict[str, _Record] = {}
        self.restart()

    def restart(self) -> None:
        """Take the vector's tables as they stand, after it was reset or restored."""
        self.teams.draw(np.arange(self.vector.num_envs), self.vector.episodes)

    @torch.inference_mode()
    def collect(self, policy: PolicyNet, iteration: int, past: PolicyNet | None = None) -> Counts:
        """Play; the policy draws its actions, `past` those of past teams (the policy itself where there is none)."""
        vector, teams = self.vector, self.teams
        self._records = {name: _Record() for name in TOWERS}
        all_rows = np.arange(vector.num_envs)
        calls = passes = deals = doubled = against = taken = levels = 0
        for t in range(len(self.seat)):
            step = iteration * len(self.seat) + t
            states, seat = vector.states, vector.seat
            playing = states["phase"] == PLAY
            kind = teams.kind[all_rows, seat & 1]
            opening = teams.is_opening(states)
            by_rule = playing & (self.config.players == "rules")
            own = {"play": playing & (kind != PAST) & ~by_rule, "bid": ~playing & (kind == OWN) & ~opening}
            other = {"play": playing & (kind == PAST) & ~by_rule, "bid": ~playing & (kind == PAST) & ~opening}
            ruled = ~playing & (kind == RULES) & ~opening
            lot = uniforms(self.config.seed, step, self._tables, 107)
            actions = np.zeros(vector.num_envs, np.int64)
            for name in TOWERS:
                rows = np.flatnonzero(own[name])
                if len(rows):
                    self._act(policy, name, rows, lot, actions, t)
                rows = np.flatnonzero(other[name])
                if len(rows):
                    self._act(past or policy, name, rows, lot, actions)
            rows = np.flatnonzero(ruled)
            if len(rows):
                actions[rows] = teams.bids(states, rows, seat, vector.frames)
                if self.config.imitates:
                    self._record("bid", policy.bid, rows, t, torch.from_numpy(actions[rows] - N_CARDS))
            rows = np.flatnonzero(by_rule)
            if len(rows):
                actions[rows] = teams.cards(states, rows, seat, vector.frames)
            rows = np.flatnonzero(opening)
            if len(rows):
                actions[rows] = teams.opening_calls(rows, vector.episodes[rows], vector.action_mask)
            calls += int(own["bid"].sum())
            passes += int((actions[own["bid"]] == PASS).sum())
            if self.config.imitates:
                own["bid"] = ruled
            self.seat[t] = seat
            self.own[t] = np.logical_or.reduce([own[name] for name in self.config.learning])
            twice, taker, level = states["multiplier"] > 1, states["taker"].astype(np.intp), states["level"].copy()
            vector.step(actions)
            self.done[t] = vector.done
            self.rewards[t] = vector.rewards[:, 0]
            ended = np.flatnonzero(vector.done)
            if len(ended):
                played = ended[playing[ended]]
                deals += len(ended)
                doubled += int(twice[played].sum())
                levels += int(level[played].sum())
                mixed = played[teams.kind[played, 0] != teams.kind[played, 1]]
                against += len(mixed)
                # Of two kinds the learner's is the lower number.
                taken += int((teams.kind[mixed, taker[mixed] & 1] < teams.kind[mixed, ~taker[mixed] & 1]).sum())
                teams.draw(ended, vector.episodes[ended])
        return Counts(
            int(self.own.sum()), deals, passes / max(calls, 1), doubled / max(deals, 1), taken / max(against, 1),
            levels / max(deals, 1),
        )  # fmt: skip

    def _act(
        self, policy: PolicyNet, name: str, rows: np.ndarray, lot: np.ndarray, actions: np.ndarray, t: int = -1
    ) -> None:
        """Choose the actions of `rows` by one tower; of the learner's, at step `t`, keep what learning needs."""
        tower: Tower = getattr(policy, name)
        learns = name in self.config.learning
        recorded = learns and t >= 0
        bits, mask = self._seen(name, tower, rows, recorded)
        seen, legal = bits[:, : len(tower.columns)].to(self.device), mask.to(self.device)
        log_probs = tower.log_probs(seen, legal).cpu()
        chosen = draw_at(log_probs, torch.from_numpy(lot[rows])) if learns else log_probs.argmax(1)
        actions[rows] = chosen.numpy() + _FIRST[name]
        if recorded:
            self._records[name].add(
                bits, mask, chosen, log_probs.gather(1, chosen[:, None]).squeeze(1), t * len(self._tables) + rows
            )

    def _record(self, name: str, tower: Tower, rows: np.ndarray, t: int, chosen: Tensor) -> None:
        """Keep the tower's actions `chosen`, which others took at `rows`, for the policy to imitate."""
        bits, mask = self._seen(name, tower, rows, True)
        self._records[name].add(bits, mask, chosen, torch.zeros(len(rows)), t * len(self._tables) + rows)

    def _seen(self, name: str, tower: Tower, rows: np.ndarray, hidden: bool) -> tuple[Tensor, Tensor]:
        """What a tower reads at `rows`, the hidden hands behind it where asked, and which of its actions are legal."""
        vector, first = self.vector, _FIRST[name]
        bits = tower_bits(
            vector.observations[rows], tower.columns.cpu().numpy(), vector.hidden[rows] if hidden else None
        )
        return bits, torch.from_numpy(vector.action_mask[rows, first : first + tower.actions]).bool()

    @torch.inference_mode()
    def batches(self, critic: Critic) -> dict[str, Batch]:
        """The decisions of the last `collect` by tower, with their advantages under the critic."""
        config, shape = self.config, self.seat.shape
        values = np.zeros(shape, np.float32)
        whole: dict[str, tuple[Tensor, np.ndarray]] = {}
        for name, record in self._records.items():
            if record.places:
                bits, places = torch.cat(record.bits), np.concatenate(record.places)
                # In pieces: activations of a whole iteration would leave the processor's caches.
                pieces = [critic.values(name, piece.to(self.device)).cpu() for piece in bits.split(4096)]
                values.flat[places] = torch.cat(pieces).numpy()
                whole[name] = bits, places
        rewards = self.rewards * np.float32(REWARD_SCALE)
        if config.clip_points:
            rewards = rewards.clip(-config.clip_points, config.clip_points)
        advantages, targets, valid = seat_advantages(
            self.seat, self.own, values, rewards / np.float32(config.unit), self.done, config.gae_lambda
        )
        batches = {}
        for name, (bits, places) in whole.items():
            record = self._records[name]
            kept = torch.from_numpy(np.flatnonzero(valid.flat[places]))
            at = places[kept.numpy()]
            batches[name] = Batch(
                bits[kept],
                torch.cat(record.mask)[kept],
                torch.cat(record.actions)[kept],
                torch.cat(record.log_probs)[kept],
                torch.from_numpy(advantages.flat[at]),
                torch.from_numpy(targets.flat[at]),
                torch.from_numpy(values.flat[at]),
            )
        self._records = {}
        return batches


def draw_at(log_probs: Tensor, lot: Tensor) -> Tensor:
    """(n,) int64 actions from log-probabilities (n, A) at places (n,) float64 in [0, 1) of their distribution."""
    heights = log_probs.double().exp().cumsum(1)
    # Below the top whatever the rounding, so that the first height above it is a legal action's.
    below = lot * heights[:, -1] * (1 - 1e-12)
    return (heights <= below[:, None]).sum(1)
