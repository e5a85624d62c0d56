"""`PolicyNet` and `Critic`: multi-layer perceptrons on the bits of an observation, one tower for bids, one for cards.

The towers share no weight, so that either can learn while the other stands still.  Bits stay uint8 up to the first
matrix product, a quarter of the size.  A bit that tells a tower nothing under the rules is no input of it: `columns`
lists the others.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from belote_env.observation import HIDDEN_SIZE, varying_columns
from belote_env.rules import Rules
from belote_env.state import N_CARDS
from models.ordered import OrderedInputs, ordered_size

#: What a tower's first layer reads: the columns as they are, or with suits and cards in order (`models.ordered`).
INPUTS = ("bits", "ordered")

#: The towers by name: cards are actions 0 to 31, calls are the others.
TOWERS = ("play", "bid")

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


def _trunk(inputs: int, hidden: Sequence[int]) -> nn.Sequential:
    """Linear and ReLU layers with orthogonal weights of gain √2 and zero biases."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise([inputs, *hidden]):
        layers += [_linear(n_in, n_out, 2**0.5), nn.ReLU()]
    return nn.Sequential(*layers)


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Tower(nn.Module):
    """Logits of one kind of action, and the value of the position to its seat, from what the seat sees.

    Args:
        columns: (K,) int64, the columns of the observation that are read, rising.
        hidden: widths of the hidden layers.
        actions: how many actions it has.
        inputs: one of `INPUTS`; "ordered" is for cards.

    Raises:
        ValueError: ordered inputs of columns that lack some of the cards.
    """

    columns: Tensor

    def __init__(self, columns: np.ndarray | Tensor, hidden: Sequence[int], actions: int, inputs: str = "bits") -> None:
        super().__init__()
        self.register_buffer("columns", torch.as_tensor(columns, dtype=torch.int64))
        width = ordered_size(len(self.columns)) if inputs == "ordered" else len(self.columns)
        self.trunk = _trunk(width, hidden)
        # A small head: the first policy is close to uniform over the legal actions.
        self.policy = _linear(hidden[-1], actions, 0.01)
        self.value = _linear(hidden[-1], 1, 0.1)
        self.hidden, self.actions, self.inputs = list(hidden), actions, inputs
        self.order: OrderedInputs | None = None
        if inputs == "ordered" and self.columns.any():
            Tower._follow(self)
        self.register_load_state_dict_post_hook(Tower._follow)

    @staticmethod
    def _follow(tower: "Tower", _: object = None) -> None:
        """Follow the columns, which a state dict may have changed."""
        if tower.inputs == "ordered":
            tower.order = OrderedInputs(tower.columns.cpu().numpy()).to(tower.columns.device)

    def _read(self, bits: Tensor) -> tuple[Tensor, Tensor | None]:
        """(n, hidden[-1]) features, and where ordered inputs put each card."""
        if self.order is None:
            return self.trunk(bits.float()), None
        numbers, places = self.order(bits.float())
        return self.trunk(numbers), places

    def _logits(self, features: Tensor, places: Tensor | None) -> Tensor:
        logits: Tensor = self.policy(features)
        # a card that is gone has no place, and is not legal
        return logits if places is None else logits.gather(1, places.clamp(max=N_CARDS - 1))

    def forward(self, bits: Tensor) -> tuple[Tensor, Tensor]:
        """(n, actions) float32 logits, not masked, and (n,) values from bits (n, K) of any dtype."""
        features, places = self._read(bits)
        return self._logits(features, places), self.value(features).squeeze(-1)

    def log_probs(self, bits: Tensor, mask: Tensor) -> Tensor:
        """(n, actions) float32 log-probabilities from bits (n, K) and mask (n, actions) bool."""
        return masked_log_softmax(self._logits(*self._read(bits)), mask)

    def architecture(self) -> dict[str, object]:
        """Its sizes, as JSON has them."""
        sizes = {"columns": len(self.columns), "hidden": self.hidden, "actions": self.actions}
        return sizes | ({"inputs": self.inputs} if self.inputs != "bits" else {})


class PolicyNet(nn.Module):
    """A tower for cards and one for calls.

    Attributes:
        play, bid: the `Tower`s.
        actions: size A of the action space.
    """

    def __init__(self, play: Tower, bid: Tower) -> None:
        super().__init__()
        self.play, self.bid = play, bid
        self.actions = play.actions + bid.actions

    @classmethod
    def for_rules(
        cls, rules: Rules, hidden: Sequence[int], bid_hidden: Sequence[int], inputs: str = "bits"
    ) -> "PolicyNet":
        """An untrained policy that reads what varies under `rules`; `inputs`, of the tower for cards."""
        play = Tower(varying_columns(rules, "play"), hidden, N_CARDS, inputs)
        return cls(play, Tower(varying_columns(rules, "bid"), bid_hidden, rules.n_actions - N_CARDS))

    def forward(self, observations: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, A) float32, `FILL` where illegal, and values (n,), for whole observations.

        Args:
            observations: (n, SIZE) of any dtype, in the canonical frame.
            mask: (n, A) bool, with at least one legal action a row.
        """
        cards, play_values = self.play(observations.index_select(1, self.play.columns))
        calls, bid_values = self.bid(observations.index_select(1, self.bid.columns))
        logits = torch.cat([cards, calls], 1).masked_fill(~mask, FILL)
        return logits, torch.where(mask[:, :N_CARDS].any(1), play_values, bid_values)

    def architecture(self) -> dict[str, object]:
        """What `from_architecture` needs besides the tensors, as JSON has it."""
        return {name: getattr(self, name).architecture() for name in TOWERS}

    @staticmethod
    def shapes(architecture: dict) -> dict[str, tuple[int, ...]]:
        """Shapes of the state dict of `from_architecture`, without building anything."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name in TOWERS:
            sizes = architecture[name]
            shapes[f"{name}.columns"] = (sizes["columns"],)
            ordered = sizes.get("inputs") == "ordered"
            width = ordered_size(sizes["columns"]) if ordered else sizes["columns"]
            shapes |= _shapes(f"{name}.trunk", width, sizes["hidden"])
            for head, outputs in (("policy", sizes["actions"]), ("value", 1)):
                shapes[f"{name}.{head}.weight"] = (outputs, sizes["hidden"][-1])
                shapes[f"{name}.{head}.bias"] = (outputs,)
        return shapes

    @classmethod
    def from_architecture(cls, architecture: dict) -> "PolicyNet":
        """A network of that shape with untrained weights; `load_state_dict` fills it."""

        def tower(sizes: dict) -> Tower:
            columns = torch.zeros(sizes["columns"], dtype=torch.int64)
            return Tower(columns, sizes["hidden"], sizes["actions"], sizes.get("inputs", "bits"))

        return cls(*(tower(architecture[name]) for name in TOWERS))


class Critic(nn.Module):
    """The expected rest of a seat's reward, from its observation and the hands it cannot see.

    A critic of hidden hands without the observation would be biased: the history decides what the others do
    (Baisero & Amato 2022).  It is used in training only.

    Args:
        play_inputs, bid_inputs: bits each tower reads, hidden hands included.
        hidden: widths of the hidden layers of both.
    """

    def __init__(self, play_inputs: int, bid_inputs: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.play = nn.Sequential(*_trunk(play_inputs, hidden), _linear(hidden[-1], 1, 0.1))
        self.bid = nn.Sequential(*_trunk(bid_inputs, hidden), _linear(hidden[-1], 1, 0.1))
        self.inputs, self.hidden = {"play": play_inputs, "bid": bid_inputs}, list(hidden)

    @classmethod
    def for_policy(cls, policy: PolicyNet, hidden: Sequence[int]) -> "Critic":
        """An untrained critic that reads what the policy reads, and the hidden hands."""
        return cls(len(policy.play.columns) + HIDDEN_SIZE, len(policy.bid.columns) + HIDDEN_SIZE, hidden)

    def values(self, tower: str, bits: Tensor) -> Tensor:
        """(n,) float32 values from bits (n, inputs) of any dtype: columns of the observation, then the hidden hands."""
        return getattr(self, tower)(bits.float()).squeeze(-1)

    def architecture(self) -> dict[str, object]:
        """What `from_architecture` needs besides the tensors, as JSON has it."""
        return {name: {"inputs": self.inputs[name], "hidden": self.hidden} for name in TOWERS}

    @staticmethod
    def shapes(architecture: dict) -> dict[str, tuple[int, ...]]:
        """Shapes of the state dict of `from_architecture`, without building anything."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name in TOWERS:
            sizes = architecture[name]
            shapes |= _shapes(name, sizes["inputs"], [*sizes["hidden"], 1])
        return shapes

    @classmethod
    def from_architecture(cls, architecture: dict) -> "Critic":
        """A network of that shape with untrained weights; `load_state_dict` fills it."""
        return cls(architecture["play"]["inputs"], architecture["bid"]["inputs"], architecture["play"]["hidden"])


def _shapes(prefix: str, inputs: int, widths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of linear layers that stand at every other place of a `Sequential`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for k, (n_in, n_out) in enumerate(pairwise([inputs, *widths])):
        shapes |= {f"{prefix}.{2 * k}.weight": (n_out, n_in), f"{prefix}.{2 * k}.bias": (n_out,)}
    return shapes


def tower_bits(observations: np.ndarray, columns: np.ndarray, hidden: np.ndarray | None = None) -> Tensor:
    """What a tower reads of observations (n, SIZE), and behind it the hidden hands (n, HIDDEN_SIZE): uint8."""
    kept = len(columns)
    bits = np.empty((len(observations), kept + (0 if hidden is None else hidden.shape[1])), np.uint8)
    bits[:, :kept] = observations[:, columns]
    if hidden is not None:
        bits[:, kept:] = hidden
    return torch.from_numpy(bits)
