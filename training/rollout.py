"""Rollouts: many tables played in step by one network for all four seats."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from belote_env.observation import HIDDEN_SIZE
from belote_env.state import N_CARDS
from models.network import PolicyNet, ValueNet, draw, masked_log_softmax
from training.advantage import seat_advantages


class Vector(Protocol):
    """What a rollout needs of `belote_env.envs.SelfPlayVector`."""

    observations: np.ndarray  # (N, SIZE) uint8
    hidden: np.ndarray  # (N, HIDDEN_SIZE) uint8
    action_mask: np.ndarray  # (N, A) int8
    seat: np.ndarray  # (N,) int8
    rewards: np.ndarray  # (N, 4) float32
    done: np.ndarray  # (N,) bool

    def step(self, actions: np.ndarray) -> object: ...


@dataclass(frozen=True)
class Batch:
    """B decisions that count, in one line each; the first K bits are the policy's."""

    bits: Tensor  # (B, K + HIDDEN_SIZE) uint8
    mask: Tensor  # (B, A) bool
    actions: Tensor  # (B,) int64
    log_probs: Tensor  # (B,) float32, of the policy that played
    advantages: Tensor  # (B,) float32
    targets: Tensor  # (B,) float32, for the critic
    values: Tensor  # (B,) float32, of the critic before learning
    bids: Tensor  # (B,) bool, a call rather than a card


@dataclass(frozen=True)
class Counts:
    """What happened in a rollout."""

    deals: int  # ended
    passes: float  # share of the calls that were passes
    points: float  # mean |reward| of an ended deal's last step, in score


class Rollout:
    """Buffers for `steps` decisions at each of N tables, filled anew by `collect`."""

    def __init__(self, vector: Vector, columns: np.ndarray, steps: int) -> None:
        tables, actions = vector.action_mask.shape
        self.vector, self.columns = vector, columns
        self.bits = torch.zeros((steps, tables, len(columns) + HIDDEN_SIZE), dtype=torch.uint8)
        self.mask = torch.zeros((steps, tables, actions), dtype=torch.bool)
        self.actions = torch.zeros((steps, tables), dtype=torch.int64)
        self.log_probs = torch.zeros((steps, tables))
        self.seat = np.zeros((steps, tables), np.int8)
        self.rewards = np.zeros((steps, tables, 4), np.float32)
        self.done = np.zeros((steps, tables), bool)

    @torch.inference_mode()
    def collect(self, policy: PolicyNet, generator: torch.Generator) -> None:
        """Play `steps` decisions at every table, drawn from the policy."""
        vector, inputs = self.vector, len(self.columns)
        for t in range(len(self.seat)):
            bits = self.bits[t].numpy()
            bits[:, :inputs] = vector.observations[:, self.columns]
            bits[:, inputs:] = vector.hidden
            self.mask[t].numpy()[:] = vector.action_mask
            self.seat[t] = vector.seat
            log_probs = masked_log_softmax(policy(self.bits[t, :, :inputs]), self.mask[t])
            actions = draw(log_probs, generator)
            self.actions[t] = actions
            self.log_probs[t] = log_probs.gather(1, actions[:, None]).squeeze(1)
            vector.step(actions.numpy())
            self.rewards[t] = vector.rewards
            self.done[t] = vector.done

    @torch.inference_mode()
    def batch(self, critic: ValueNet, gae_lambda: float) -> tuple[Batch, Counts]:
        """The decisions of the last `collect` with their advantages under the critic."""
        steps = len(self.seat)
        # The critic waits until here: a few tall matrix products instead of one at every step.
        values = torch.stack([critic(self.bits[t]) for t in range(steps)])
        advantages, targets, valid = seat_advantages(self.seat, values.numpy(), self.rewards, self.done, gae_lambda)
        chosen = torch.from_numpy(np.flatnonzero(valid))
        bids = self.actions >= N_CARDS

        def pick(tensor: Tensor) -> Tensor:
            return tensor.flatten(0, 1).index_select(0, chosen)

        batch = Batch(
            pick(self.bits),
            pick(self.mask),
            pick(self.actions),
            pick(self.log_probs),
            pick(torch.from_numpy(advantages)),
            pick(torch.from_numpy(targets)),
            pick(values),
            pick(bids),
        )
        deals = int(self.done.sum())
        passes = float((self.actions[bids] == N_CARDS).float().mean()) if bids.any() else 0.0
        points = float(np.abs(self.rewards[self.done][:, 0]).mean()) if deals else 0.0
        return batch, Counts(deals, passes, points)
