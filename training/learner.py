"""`Learner`: policy, critic, optimizer and the one random generator; an iteration of learning is `update`."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.network import PolicyNet, ValueNet, entropy, masked_log_softmax
from training import ppo
from training.config import Config
from training.rollout import Batch

#: what `Learner.update` reports of its steps, as their mean.
LOSSES = ("policy_loss", "value_loss", "entropy", "kl", "clipped")


class Diverged(RuntimeError):
    """A loss or a weight is no longer a finite number."""


@dataclass(frozen=True)
class Schedule:
    """What changes over a run, at one moment of it."""

    learning_rate: float
    play_entropy: float
    bid_entropy: float


def schedule(config: Config, progress: float) -> Schedule:
    """Straight lines from start to final values; `progress` runs from 0 to 1."""

    def between(start: float, final: float) -> float:
        return start + (final - start) * min(max(progress, 0.0), 1.0)

    return Schedule(
        between(config.learning_rate, config.final_learning_rate),
        between(config.play_entropy, config.final_play_entropy),
        between(config.bid_entropy, config.final_bid_entropy),
    )


class Learner:
    """Everything that training changes, apart from the tables.

    Args:
        columns: (K,) int64, the columns of the observation that vary.
        inputs: bits the critic reads, hidden hands included.
        actions: size of the action space.
    """

    def __init__(self, config: Config, columns: np.ndarray, inputs: int, actions: int) -> None:
        self.config = config
        with torch.random.fork_rng(devices=[]):  # the global generator stays as it is
            torch.manual_seed(config.seed)
            self.policy = PolicyNet(columns, config.hidden, actions)
            self.critic = ValueNet(inputs, config.critic_hidden)
        parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=config.learning_rate, eps=1e-5)
        self.generator = torch.Generator().manual_seed(config.seed)

    def update(self, batch: Batch, now: Schedule) -> dict[str, float | None]:
        """A few epochs of clipped policy gradient and regression of the critic; the means of what was seen.

        A batch without decisions changes nothing and has no losses: they are None.

        Raises:
            Diverged: a loss or a weight is not finite; the weights are then of no use.
        """
        config = self.config
        if not len(batch.actions):
            return dict.fromkeys(LOSSES) | {"explained_variance": None, "gradient_steps": 0}
        for group in self.optimizer.param_groups:
            group["lr"] = now.learning_rate
        advantages = ppo.standardise(batch.advantages, batch.bids)
        entropy_weights = torch.where(batch.bids, now.bid_entropy, now.play_entropy)
        seen: list[Tensor] = []
        kl = 0.0
        for _ in range(config.epochs):
            if config.stop_kl and kl > config.stop_kl:
                break
            order = torch.randperm(len(batch.actions), generator=self.generator)
            for chosen in order.tensor_split(max(1, len(order) // config.minibatch)):
                losses = self._step(batch, advantages, entropy_weights, chosen)
                seen.append(losses)
                kl = float(losses[3])
                if config.stop_kl and kl > config.stop_kl:
                    break
        means = torch.stack(seen).mean(0).tolist()
        if not np.isfinite(means).all() or not self.finite():
            raise Diverged("A loss or a weight is not a finite number any more")
        return dict(zip(LOSSES, means, strict=True)) | {
            "explained_variance": ppo.explained_variance(batch.values, batch.targets),
            "gradient_steps": len(seen),
        }

    def _step(self, batch: Batch, advantages: Tensor, entropy_weights: Tensor, chosen: Tensor) -> Tensor:
        config = self.config
        bits = batch.bits.index_select(0, chosen).float()
        log_probs = masked_log_softmax(self.policy(bits[:, : len(self.policy.columns)]), batch.mask[chosen])
        log_prob = log_probs.gather(1, batch.actions[chosen, None]).squeeze(1)
        old = batch.log_probs[chosen]
        spread = entropy(log_probs)
        policy_loss = ppo.policy_loss(log_prob, old, advantages[chosen], config.clip)
        value_loss = ppo.value_loss(self.critic(bits), batch.targets[chosen])
        # The networks share no weight: Adam makes the scale of each loss against the other irrelevant.
        loss = policy_loss - (entropy_weights[chosen] * spread).mean() + value_loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for net in (self.policy, self.critic):
            torch.nn.utils.clip_grad_norm_(net.parameters(), config.max_gradient_norm)
        self.optimizer.step()
        with torch.no_grad():
            return torch.stack(
                [
                    policy_loss,
                    value_loss,
                    spread.mean(),
                    ppo.approximate_kl(log_prob, old),
                    ppo.clipped_fraction(log_prob, old, config.clip),
                ]
            ).detach()

    def finite(self) -> bool:
        """Whether every weight is a finite number."""
        parameters = [*self.policy.parameters(), *self.critic.parameters()]
        return all(bool(torch.isfinite(p).all()) for p in parameters)

    def tensors(self) -> dict[str, Tensor]:
        """Moments of the optimizer and state of the generator; `models.checkpoint` saves the networks."""
        moments = self.optimizer.state_dict()["state"]
        return {f"optimizer.{i}.{key}": value for i, slot in moments.items() for key, value in slot.items()} | {
            "generator.state": self.generator.get_state()
        }

    def restore(self, policy: PolicyNet, critic: ValueNet, tensors: dict[str, Tensor]) -> None:
        """Continue from a checkpoint's networks and from what `tensors` gave.

        Raises:
            ValueError, KeyError, RuntimeError: tensors that do not fit this learner.
        """
        self.policy.load_state_dict(policy.state_dict())
        self.critic.load_state_dict(critic.state_dict())
        slots: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimizer."):
                _, i, key = name.split(".")
                slots.setdefault(int(i), {})[key] = value
        parameters = self.optimizer.param_groups[0]["params"]
        for i, slot in slots.items():
            shape = parameters[i].shape if i in range(len(parameters)) else None
            if {key: value.shape for key, value in slot.items()} != {
                "step": torch.Size(()),
                "exp_avg": shape,
                "exp_avg_sq": shape,
            }:
                raise ValueError(f"the moments of weight {i} do not fit")
            if not all(bool(torch.isfinite(value).all()) for value in slot.values()):
                raise ValueError(f"the moments of weight {i} are not finite numbers")
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": slots})
        self.generator.set_state(tensors["generator.state"])
