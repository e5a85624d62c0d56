"""`NetPlayer`: a checkpoint at the table."""

from pathlib import Path

import numpy as np
import torch
from belote_env.players import Player

from belote_env.observation import observe_batch, to_real_actions
from belote_env.rules import Rules, as_rules
from models.checkpoint import load_policy
from models.network import PolicyNet, draw, masked_log_softmax


class NetPlayer(Player):
    """Plays the policy of a checkpoint, always in the canonical frame it was trained in.

    Args:
        policy: a network, or the path of a checkpoint.
        rules: rules of the table; a checkpoint made for others is refused with a ValueError.
        sample: draw from the policy; otherwise its most likely action, the first of equals.
        seed: of the draws; the player has its own generator.
    """

    def __init__(
        self,
        policy: PolicyNet | str | Path,
        rules: Rules | str = "classic",
        name: str = "",
        sample: bool = False,
        seed: int = 0,
    ) -> None:
        self.rules = as_rules(rules)
        self.policy = policy if isinstance(policy, PolicyNet) else load_policy(policy, self.rules)
        self.name = name or ("policy" if isinstance(policy, PolicyNet) else Path(policy).stem)
        self._generator = torch.Generator().manual_seed(seed) if sample else None
        self._columns = self.policy.columns.numpy()

    def act(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """(n,) int64 actions for n states with `seats` (n,) to act."""
        observations, masks, perms = observe_batch(states, seats, self.rules, canonical=True)
        bits = torch.from_numpy(np.ascontiguousarray(observations[:, self._columns]))
        mask = torch.from_numpy(np.ascontiguousarray(masks)).bool()
        with torch.inference_mode():
            log_probs = masked_log_softmax(self.policy(bits), mask)
            actions = (draw(log_probs, self._generator) if self._generator else log_probs.argmax(-1)).numpy()
        return np.asarray(to_real_actions(actions, perms), np.int64)
