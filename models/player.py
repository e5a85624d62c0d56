"""`NetPlayer`: a checkpoint at the table."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from belote_env.frames import real_actions
from belote_env.observation import observe_batch
from belote_env.players import Player
from belote_env.rules import Rules, as_rules
from belote_env.state import N_CARDS
from models import checkpoint
from models.network import PolicyNet, draw, tower_bits


class NetPlayer(Player):
    """Plays the policy of a checkpoint, always in the canonical frame it was trained in.

    Args:
        policy: the path of a checkpoint, or a network, which then answers for itself.
        name: for tables; the file's by default.
        sample: draw from the policy; otherwise its most likely action, the first of equals.
        seed: of the draws; the player has its own generator.

    Raises:
        ValueError: what `models.checkpoint.load` refuses.
    """

    def __init__(self, policy: PolicyNet | str | Path, name: str = "", sample: bool = False, seed: int = 0) -> None:
        self._path = None if isinstance(policy, PolicyNet) else Path(policy)
        self.policy = policy if isinstance(policy, PolicyNet) else checkpoint.load(policy).policy()
        self.name = name or (self._path.stem if self._path else "policy")
        self._generator = torch.Generator().manual_seed(seed) if sample else None

    def start(self, rules: Rules | str) -> None:
        """Take a seat; ValueError at a table of rules the checkpoint was not made for."""
        if self._path:
            checkpoint.load(self._path, rules)
        if self.policy.actions != as_rules(rules).n_actions:
            raise ValueError(f"{self.name} has {self.policy.actions} actions, not those of {as_rules(rules).name!r}.")
        super().start(rules)

    @torch.inference_mode()
    def act(self, states: np.ndarray[Any, Any], seats: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """(n,) int64 actions for n states with `seats` (n,) to act."""
        observations, masks, frames = observe_batch(states, seats, self.rules, canonical=True)
        actions = np.empty(len(states), np.int64)
        playing = masks[:, :N_CARDS].any(1)
        for tower, first, rows in (
            (self.policy.play, 0, np.flatnonzero(playing)),
            (self.policy.bid, N_CARDS, np.flatnonzero(~playing)),
        ):
            if len(rows):
                device = tower.columns.device
                bits = tower_bits(observations[rows], tower.columns.cpu().numpy())
                mask = torch.from_numpy(masks[rows, first : first + tower.actions]).bool()
                log_probs = tower.log_probs(bits.to(device), mask.to(device)).cpu()
                chosen = draw(log_probs, self._generator) if self._generator else log_probs.argmax(-1)
                actions[rows] = chosen.numpy() + first
        return real_actions(actions, frames)
