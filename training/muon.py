"""`Muon`: steps for weight matrices along momentum that is made orthogonal (Jordan et al. 2024).

The gradient of a hidden layer has a few large singular values; a step along it, or along Adam's, hardly moves the
other directions.  Muon moves all of them by about the same: of the momentum U S Vᵀ it keeps U Vᵀ, by five
Newton-Schulz iterations, matrix products alone.  `torch.optim.Muon` does them in bfloat16, which a CPU without units
for it multiplies at a twentieth of its speed; here they are float32.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

#: Coefficients of the quintic iteration, and how often it is done (Jordan et al. 2024).
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ITERATIONS = 5
_MOMENTUM = 0.95

#: Part of Muon's learning rate that suits Adam, which moves what is no hidden matrix.
ADAM_SHARE = 1 / 40


def orthogonal(matrix: Tensor) -> Tensor:
    """(m, n) float32 with about the singular vectors of a matrix and singular values near 1; 0 stays 0."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / wide.norm().clamp(min=1e-12)
    for _ in range(_ITERATIONS):
        gram = wide @ wide.T
        wide = _A * wide + torch.addmm(gram, gram, gram, beta=_B, alpha=_C) @ wide
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T


class Muon(torch.optim.Optimizer):
    """Moves matrices by `lr` in the spectral norm, about.

    Args:
        matrices: parameters of two dimensions.
        lr: the learning rate; 0.02 to 0.05 are usual.

    Raises:
        ValueError: a parameter that is no matrix.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float = 0.02) -> None:
        super().__init__(matrices, {"lr": lr})
        if any(weight.ndim != 2 for group in self.param_groups for weight in group["params"]):
            raise ValueError("Muon moves matrices: parameters of two dimensions.")

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step along the gradients that there are."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 1 - _MOMENTUM)
                update = orthogonal(weight.grad.lerp(momentum, _MOMENTUM))  # as Nesterov has it
                weight.sub_(update, alpha=group["lr"] * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5)
