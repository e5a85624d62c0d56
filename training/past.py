"""`PastTeams`: earlier weights of the policy, to play against."""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor

from models.network import PolicyNet
from training.config import Config
from training.draws import words


class PastTeams:
    """At most `config.past_kept` of the weights kept every `config.past_every` iterations, an even sample of them
    all.

    Weights are kept in half precision, which halves a checkpoint.
    """

    def __init__(self, config: Config, policy: PolicyNet) -> None:
        self._config = config
        self._net = copy.deepcopy(policy).requires_grad_(False)
        self._kept: list[dict[str, Tensor]] = []

    def keep(self, policy: PolicyNet, iteration: int) -> None:
        """Consider the weights after `iteration` (from 1): the k-th stays with probability kept ÷ k (Vitter 1985)."""
        config = self._config
        if not config.past_opponents or iteration % config.past_every:
            return
        number = iteration // config.past_every
        weights = {key: value.cpu().half() for key, value in policy.state_dict().items() if value.is_floating_point()}
        if len(self._kept) < config.past_kept:
            self._kept.append(weights)
            return
        place = int(words(config.seed, number, 110)[()]) % number
        if place < config.past_kept:
            self._kept[place] = weights

    def team(self, iteration: int) -> PolicyNet | None:
        """The past team of an iteration, each as likely; None while there is none.  Overwritten by the next call."""
        if not self._kept:
            return None
        chosen = self._kept[int(words(self._config.seed, iteration, 109)[()]) % len(self._kept)]
        own = self._net.state_dict()
        with torch.no_grad():
            for key, value in chosen.items():
                own[key].copy_(value)
        return self._net

    def tensors(self) -> dict[str, Tensor]:
        """The weights kept, by name."""
        return {f"past.{k}.{key}": value for k, kept in enumerate(self._kept) for key, value in kept.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave.

        Raises:
            ValueError: weights of other shapes, or a part of them.
        """
        kept: dict[int, dict[str, Tensor]] = {}
        own = self._net.state_dict()
        for name, value in tensors.items():
            if name.startswith("past."):
                _, number, key = name.split(".", 2)
                if key not in own or own[key].shape != value.shape or not torch.isfinite(value).all():
                    raise ValueError("the weights of a past team do not fit")
                kept.setdefault(int(number), {})[key] = value
        whole = {key for key, value in own.items() if value.is_floating_point()}
        if sorted(kept) != list(range(len(kept))) or any(weights.keys() != whole for weights in kept.values()):
            raise ValueError("the weights of a past team are not whole")
        self._kept = [kept[number] for number in range(len(kept))]
