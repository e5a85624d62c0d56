"""The losses of proximal policy optimisation (Schulman et al. 2017), as pure functions of tensors."""

import torch
from torch import Tensor

from training.group import Group


def standardise(advantages: Tensor, group: Group) -> Tensor:
    """(n,) advantages with mean 0 and deviation 1 over all processes of a group."""
    values = advantages.double()
    count, total, squares = group.sums(len(values), float(values.sum()), float(values.square().sum()))
    mean = total / count
    deviation = max(squares / count - mean**2, 0.0) ** 0.5
    return ((values - mean) / (deviation + 1e-8)).to(advantages.dtype)


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Clipped surrogate, (n,): −min(r·A, clamp(r, 1 ± clip)·A) with r = π/π_old."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def approximate_kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """(n,) samples of KL(π_old ‖ π) under π_old: r − 1 − log r, never negative."""
    log_ratio = log_prob - old_log_prob
    return log_ratio.exp() - 1 - log_ratio


def clipped(log_prob: Tensor, old_log_prob: Tensor, clip: float) -> Tensor:
    """(n,) 1 where a decision's ratio has left [1 − clip, 1 + clip], else 0."""
    return (((log_prob - old_log_prob).exp() - 1).abs() > clip).float()


def divergence(log_probs: Tensor, other: Tensor) -> Tensor:
    """(n,) KL(π ‖ other) in nats from log-probabilities (n, A) of both, illegal actions included."""
    return (log_probs.exp() * (log_probs - other)).sum(-1)


def explained_variance(value: Tensor, target: Tensor) -> float:
    """1 − Var(target − value) / Var(target): 1 is a perfect critic, 0 no better than a constant."""
    variance = target.var(correction=0)
    return float(1 - (target - value).var(correction=0) / variance) if variance > 0 else 0.0
