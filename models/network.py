"""`PolicyNet` and `ValueNet`: plain multi-layer perceptrons on the bits of an observation.

Both read bits as uint8 and widen them at the first matrix product, so that a rollout stays a quarter of the
size.  A column of the observation that is constant under the rules carries nothing: `columns` lists the rest.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

#: Logit of an illegal action.  Finite, so that 0 · FILL is 0 in an entropy; exp underflows to an exact 0.
FILL = -1e9


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities over the legal actions: (n, A) float32 from logits (n, A) and mask (n, A) bool.

    An illegal action gets about `FILL`; its probability is exactly 0.
    A row without legal actions is uniform.
    """
    return torch.log_softmax(logits.masked_fill(~mask, FILL), dim=-1)


def entropy(log_probs: Tensor) -> Tensor:
    """(n,) nats from log-probabilities (n, A), illegal actions included."""
    return -(log_probs.exp() * log_probs).sum(-1)


def draw(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """(n,) int64 actions drawn from log-probabilities (n, A); never one whose probability is 0.

    Of independent exponential clocks with rates p, the one of action a rings first with probability p[a].
    """
    clocks = torch.empty_like(log_probs).exponential_(generator=generator)
    return (log_probs.exp() / clocks).argmax(-1)


def _mlp(inputs: int, hidden: Sequence[int], outputs: int, head_gain: float) -> nn.Sequential:
    """Linear and ReLU layers; orthogonal weights, gain √2 inside and `head_gain` at the head, zero biases."""
    sizes = [inputs, *hidden, outputs]
    layers: list[nn.Module] = []
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        last = k == len(hidden)
        linear = nn.Linear(n_in, n_out)
        nn.init.orthogonal_(linear.weight, head_gain if last else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, nn.ReLU()]
    return nn.Sequential(*layers)


def _mlp_shapes(inputs: int, hidden: Sequence[int], outputs: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of `_mlp` by their names in a state dict."""
    shapes: dict[str, tuple[int, ...]] = {}
    for k, (n_in, n_out) in enumerate(pairwise([inputs, *hidden, outputs])):
        shapes |= {f"layers.{2 * k}.weight": (n_out, n_in), f"layers.{2 * k}.bias": (n_out,)}
    return shapes


class PolicyNet(nn.Module):
    """Logits over all actions from what a seat sees.

    Args:
        columns: (K,) int64, the columns of the observation that are read, rising.
        hidden: widths of the hidden layers.
        actions: size A of the action space.
    """

    columns: Tensor

    def __init__(self, columns: np.ndarray | Tensor, hidden: Sequence[int], actions: int) -> None:
        super().__init__()
        self.register_buffer("columns", torch.as_tensor(columns, dtype=torch.int64))
        # A small head: the first policy is close to uniform over the legal actions.
        self.layers = _mlp(len(self.columns), hidden, actions, head_gain=0.01)
        self.hidden, self.actions = list(hidden), actions

    def forward(self, bits: Tensor) -> Tensor:
        """(n, A) float32 logits, not masked, from bits (n, K) of any dtype: `columns` of an observation."""
        return self.layers(bits.float())

    def log_probs(self, bits: Tensor, mask: Tensor) -> Tensor:
        """(n, A) float32 log-probabilities from bits (n, K) and mask (n, A) bool."""
        return masked_log_softmax(self(bits), mask)

    def architecture(self) -> dict[str, object]:
        """What `from_architecture` needs besides the tensors, as JSON has it."""
        return {"columns": len(self.columns), "hidden": self.hidden, "actions": self.actions}

    @staticmethod
    def shapes(architecture: dict) -> dict[str, tuple[int, ...]]:
        """Shapes of the state dict of `from_architecture`, without building anything."""
        layers = _mlp_shapes(architecture["columns"], architecture["hidden"], architecture["actions"])
        return {"columns": (architecture["columns"],)} | layers

    @classmethod
    def from_architecture(cls, architecture: dict) -> "PolicyNet":
        """A network of that shape with untrained weights; `load_state_dict` fills it."""
        columns = torch.zeros(architecture["columns"], dtype=torch.int64)
        return cls(columns, architecture["hidden"], architecture["actions"])


class ValueNet(nn.Module):
    """The expected rest of a seat's reward, from its observation and the hands it cannot see.

    A critic of hidden hands without the observation would be biased: the history decides what the others do
    (Baisero & Amato 2022).  It is used in training only.

    Args:
        inputs: bits of observation kept, plus bits of hidden hands.
        hidden: widths of the hidden layers.
    """

    def __init__(self, inputs: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.layers = _mlp(inputs, hidden, 1, head_gain=0.1)
        self.inputs, self.hidden = inputs, list(hidden)

    def forward(self, bits: Tensor) -> Tensor:
        """(n,) float32 values from bits (n, inputs) of any dtype: observation first, hidden hands last."""
        return self.layers(bits.float()).squeeze(-1)

    def architecture(self) -> dict[str, object]:
        """What `from_architecture` needs besides the tensors, as JSON has it."""
        return {"inputs": self.inputs, "hidden": self.hidden}

    @staticmethod
    def shapes(architecture: dict) -> dict[str, tuple[int, ...]]:
        """Shapes of the state dict of `from_architecture`, without building anything."""
        return _mlp_shapes(architecture["inputs"], architecture["hidden"], 1)

    @classmethod
    def from_architecture(cls, architecture: dict) -> "ValueNet":
        """A network of that shape with untrained weights; `load_state_dict` fills it."""
        return cls(architecture["inputs"], architecture["hidden"])
