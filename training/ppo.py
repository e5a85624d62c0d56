"""The losses of proximal policy optimisation (Schulman et al. 2017), as pure functions of tensors."""

import torch
from torch import Tensor


def standardise(advantages: Tensor, groups: Tensor) -> Tensor:
    """(n,) advantages with mean 0 and deviation 1 within each of two groups (n,) bool.

    Bids move whole deals and cards move tricks: on one scale the bids would drown the cards.
    """
    result = torch.zeros_like(advantages)
    for members in (groups, ~groups):
        if members.any():
            chosen = advantages[members]
            result[members] = (chosen - chosen.mean()) / (chosen.std(correction=0) + 1e-8)
    return result


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Clipped surrogate, () float32: −mean min(r·A, clamp(r, 1 ± clip)·A) with r = π/π_old, all (n,)."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def value_loss(value: Tensor, target: Tensor) -> Tensor:
    """Half the mean squared error, () float32, of values (n,) against targets (n,)."""
    return 0.5 * (value - target).square().mean()


def approximate_kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """KL(π_old ‖ π) from samples of π_old, () float32: mean of r − 1 − log r, never negative."""
    log_ratio = log_prob - old_log_prob
    return (log_ratio.exp() - 1 - log_ratio).mean()


def clipped_fraction(log_prob: Tensor, old_log_prob: Tensor, clip: float) -> Tensor:
    """Share of decisions whose ratio has left [1 − clip, 1 + clip], () float32."""
    return (((log_prob - old_log_prob).exp() - 1).abs() > clip).float().mean()


def explained_variance(value: Tensor, target: Tensor) -> float:
    """1 − Var(target − value) / Var(target): 1 is a perfect critic, 0 no better than a constant."""
    variance = target.var(correction=0)
    return float(1 - (target - value).var(correction=0) / variance) if variance > 0 else 0.0
