"""`Learner`: policy, critic and optimizers; an iteration of learning is `update`."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from belote_env.rules import Rules
from models.network import TOWERS, Critic, PolicyNet, Tower, entropy, masked_log_softmax
from training import ppo
from training.config import Config
from training.draws import words
from training.group import Group
from training.muon import ADAM_SHARE, Muon
from training.rollout import Batch

#: what `Learner.update` reports of each tower's steps, as their mean.
LOSSES = ("policy_loss", "value_loss", "entropy", "kl", "clipped", "explained_variance", "gradient_steps")


class Diverged(RuntimeError):
    """A loss or a weight is no longer a finite number."""


@dataclass(frozen=True)
class Schedule:
    """What changes over a run, at one moment of it, for one tower."""

    learning_rate: float
    entropy: float


def schedule(config: Config, progress: float) -> dict[str, Schedule]:
    """Straight lines from start to final values, by tower; `progress` runs from 0 to 1."""

    def between(start: float, final: float) -> float:
        return start + (final - start) * min(max(progress, 0.0), 1.0)

    return {
        "play": Schedule(
            between(config.learning_rate, config.final_learning_rate),
            between(config.play_entropy, config.final_play_entropy),
        ),
        "bid": Schedule(
            between(config.bid_learning_rate, config.final_bid_learning_rate),
            between(config.bid_entropy, config.final_bid_entropy),
        ),
    }


class Learner:
    """Everything that training changes, apart from the tables.

    Attributes:
        policy, critic: the networks that learn.
        average: a policy whose weights follow the policy's slowly (`Config.average`).
        optimizers: of each tower with its critic: Adam, or Muon for the matrices and Adam for the rest.

    Args:
        group: the processes that learn together.
    """

    def __init__(self, config: Config, rules: Rules, group: Group | None = None) -> None:
        self.config, self.group = config, group or Group()
        with torch.random.fork_rng(devices=[]):  # the global generator stays as it is
            torch.manual_seed(config.seed % 2**63)
            policy = PolicyNet.for_rules(rules, config.hidden, config.bid_hidden, config.inputs)
            self.critic = Critic.for_policy(policy, config.critic_hidden).to(config.device)
        self.policy = policy.to(config.device)
        self.average = copy.deepcopy(self.policy).requires_grad_(False)
        self.optimizers = {name: self._optimizers(name) for name in TOWERS}

    def _optimizers(self, name: str) -> dict[str, torch.optim.Optimizer]:
        tower, critic = getattr(self.policy, name), getattr(self.critic, name)
        rest = [*tower.parameters(), *critic.parameters()]
        if self.config.optimizer == "adam":
            return {"adam": torch.optim.Adam(rest, eps=1e-5)}
        matrices = [layer.weight for layer in (*tower.trunk, *critic[:-1]) if isinstance(layer, nn.Linear)]
        turned = {id(weight) for weight in matrices}
        rest = [parameter for parameter in rest if id(parameter) not in turned]
        return {"muon": Muon(matrices), "adam": torch.optim.Adam(rest, eps=1e-5)}

    def set_rate(self, name: str, rate: float) -> None:
        """Give a tower's optimizers this learning rate."""
        share = {"muon": 1.0, "adam": ADAM_SHARE if self.config.optimizer == "muon" else 1.0}
        for kind, optimizer in self.optimizers[name].items():
            for settings in optimizer.param_groups:
                settings["lr"] = rate * share[kind]

    def step(self, name: str, loss: Tensor, networks: Sequence[nn.Module], means: Tensor | None = None) -> Tensor:
        """One step of a tower down a loss; `means`, summed over the group as the gradients are.

        Args:
            networks: those whose gradients are bounded, each by itself.
        """
        optimizers = self.optimizers[name].values()
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        means = self._reduce(networks, torch.zeros(0) if means is None else means)
        for net in networks:
            nn.utils.clip_grad_norm_(net.parameters(), self.config.max_gradient_norm)
        for optimizer in optimizers:
            optimizer.step()
        return means

    def begin_from(
        self, policy: PolicyNet, critic: Critic | None, towers: Sequence[str] = TOWERS, source: str = "the other run"
    ) -> None:
        """Take over some towers of another run, of the same shapes.

        Args:
            source: where they come from, for a refusal.

        Raises:
            ValueError: other shapes.
        """
        pairs = [(self.policy, policy)] if critic is None else [(self.policy, policy), (self.critic, critic)]
        for mine, other in pairs:
            for name in towers:
                wanted, given = mine.architecture()[name], other.architecture()[name]
                if wanted != given:
                    kind = f"{name} tower" if mine is self.policy else f"critic of the {name} tower"
                    raise ValueError(f"The {kind} of {source} has other shapes than this run's: {given}, not {wanted}.")
        for mine, other in pairs:
            for name in towers:
                getattr(mine, name).load_state_dict(getattr(other, name).state_dict())
        self.average.load_state_dict(self.policy.state_dict())

    def update(
        self, batches: Mapping[str, Batch], now: Mapping[str, Schedule], iteration: int
    ) -> dict[str, float | None]:
        """Learn from the decisions of an iteration; the means of what was seen, as `tower_loss`.

        A tower without decisions does not change and has no losses: they are None.

        Raises:
            Diverged: a loss or a weight is not finite; the weights are then of no use.
        """
        row: dict[str, float | None] = {}
        for name in TOWERS:
            losses: dict[str, float | None] = dict.fromkeys(LOSSES) | {"gradient_steps": 0}
            smallest = self.group.least(len(batches[name].actions) if name in batches else 0)
            if smallest:
                losses = self._update_tower(name, batches[name], smallest, now[name], iteration)
            row |= {f"{name}_{key}": value for key, value in losses.items()}
        if self.config.average:
            with torch.no_grad():
                for slow, weight in zip(self.average.parameters(), self.policy.parameters(), strict=True):
                    slow.lerp_(weight, 1 - self.config.average)
        return row

    def _update_tower(
        self, name: str, batch: Batch, smallest: int, now: Schedule, iteration: int
    ) -> dict[str, float | None]:
        config, group = self.config, self.group
        self.set_rate(name, now.learning_rate)
        explained = ppo.explained_variance(batch.values, batch.targets)
        batch = Batch(*(getattr(batch, key).to(config.device) for key in Batch.__dataclass_fields__))
        advantages = ppo.standardise(batch.advantages, group)
        anchor = self._anchor(name, batch) if config.magnet else None
        size = config.minibatch if name == "play" else config.bid_minibatch
        pieces = max(1, min(smallest, smallest * group.size // size))
        seen: list[Tensor] = []
        kl = 0.0
        for epoch in range(config.epochs):
            if config.stop_kl and kl > config.stop_kl:
                break
            lot = int(words(config.seed, iteration, epoch, TOWERS.index(name), group.rank, 108)[()] >> np.uint64(1))
            order = torch.randperm(len(batch.actions), generator=torch.Generator().manual_seed(lot))
            for chosen in order.to(config.device).tensor_split(pieces):
                losses = self._step(name, batch, advantages, now.entropy, chosen, anchor)
                seen.append(losses)
                kl = float(losses[3])
                if config.stop_kl and kl > config.stop_kl:
                    break
        means = torch.stack(seen).mean(0).tolist()
        if not np.isfinite(means).all() or not self.finite():
            raise Diverged("A loss or a weight is not a finite number any more")
        return dict(zip(LOSSES, [*means, explained, len(seen)], strict=True))

    @torch.inference_mode()
    def _anchor(self, name: str, batch: Batch) -> Tensor:
        """Log-probabilities under the slow average, which a magnet draws the policy to."""
        tower: Tower = getattr(self.average, name)
        pieces = zip(batch.bits.split(4096), batch.mask.split(4096), strict=True)
        return torch.cat([tower.log_probs(bits[:, : len(tower.columns)], mask) for bits, mask in pieces])

    def _step(
        self,
        name: str,
        batch: Batch,
        advantages: Tensor,
        entropy_weight: float,
        chosen: Tensor,
        anchor: Tensor | None,
    ) -> Tensor:
        """One gradient step; the means over the group's minibatch of the first five of `LOSSES`."""
        config, tower = self.config, getattr(self.policy, name)
        bits = batch.bits.index_select(0, chosen).float()
        count = self.group.sums(len(chosen))[0] if self.group.size > 1 else float(len(chosen))
        value_error = (self.critic.values(name, bits) - batch.targets[chosen]).square().sum()
        logits, values = tower(bits[:, : len(tower.columns)])
        log_probs = masked_log_softmax(logits, batch.mask[chosen])
        log_prob = log_probs.gather(1, batch.actions[chosen, None]).squeeze(1)
        spread = entropy(log_probs).sum()
        own_error = (values - batch.targets[chosen]).square().sum()
        if config.imitates and name == "bid":
            policy_loss, entropy_weight = -log_prob.sum(), 0.0
            moved = torch.zeros(2)
        else:
            old = batch.log_probs[chosen]
            policy_loss = ppo.policy_loss(log_prob, old, advantages[chosen], config.clip).sum()
            kl, outside = ppo.approximate_kl(log_prob, old), ppo.clipped(log_prob, old, config.clip)
            moved = torch.stack([kl.sum(), outside.sum()])
        loss = policy_loss + 0.5 * value_error - entropy_weight * spread + 0.5 * config.value_weight * own_error
        if anchor is not None:
            loss = loss + config.magnet * ppo.divergence(log_probs, anchor[chosen]).sum()
        sums = torch.stack([policy_loss, 0.5 * value_error, spread]).detach()
        means = torch.cat([sums, moved.detach().to(sums)]) / count
        # The networks share no weight: either optimizer makes the scale of each loss against the other irrelevant.
        return self.step(name, loss / count, (tower, getattr(self.critic, name)), means).cpu()

    def _reduce(self, networks: Sequence[nn.Module], means: Tensor) -> Tensor:
        """Sum gradients and means over the group, in one message."""
        if self.group.size == 1:
            return means
        gradients = [p.grad for net in networks for p in net.parameters() if p.grad is not None]
        flat = self.group.sum_(torch.cat([means, *(gradient.flatten() for gradient in gradients)]))
        pieces = flat[len(means) :].split([gradient.numel() for gradient in gradients])
        for gradient, piece in zip(gradients, pieces, strict=True):
            gradient.copy_(piece.view_as(gradient))
        return flat[: len(means)]

    def finite(self) -> bool:
        """Whether every weight is a finite number."""
        parameters = [*self.policy.parameters(), *self.critic.parameters()]
        return all(bool(torch.isfinite(p).all()) for p in parameters)

    def tensors(self) -> dict[str, Tensor]:
        """Moments of the optimizers and the slow average; `models.checkpoint` saves policy and critic."""
        kept = {f"average.{key}": value for key, value in self.average.state_dict().items()}
        for label, optimizer in self._labelled():
            moments = optimizer.state_dict()["state"]
            kept |= {f"optimizer.{label}.{i}.{key}": v for i, slot in moments.items() for key, v in slot.items()}
        return kept

    def restore(self, policy: PolicyNet, critic: Critic, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a checkpoint's networks and from what `tensors` gave.

        Raises:
            ValueError, KeyError, RuntimeError: tensors that do not fit this learner.
        """
        self.policy.load_state_dict(policy.state_dict())
        self.critic.load_state_dict(critic.state_dict())
        self.average.load_state_dict(_section(tensors, "average"))
        labels = tuple(f"optimizer.{label}." for label, _ in self._labelled())
        if any(key.startswith("optimizer.") and not key.startswith(labels) for key in tensors):
            raise ValueError("the moments are of other optimizers")
        for label, optimizer in self._labelled():
            slots: dict[int, dict[str, Tensor]] = {}
            for place, value in _section(tensors, f"optimizer.{label}").items():
                i, key = place.split(".")
                slots.setdefault(int(i), {})[key] = value
            parameters = optimizer.param_groups[0]["params"]
            for i, slot in slots.items():
                shape = parameters[i].shape if i in range(len(parameters)) else None
                wanted = {"momentum": shape}
                if isinstance(optimizer, torch.optim.Adam):
                    wanted = {"step": torch.Size(()), "exp_avg": shape, "exp_avg_sq": shape}
                if {key: value.shape for key, value in slot.items()} != wanted:
                    raise ValueError(f"the moments of weight {i} do not fit")
                if not all(bool(torch.isfinite(value).all()) for value in slot.values()):
                    raise ValueError(f"the moments of weight {i} are not finite numbers")
            optimizer.load_state_dict(optimizer.state_dict() | {"state": slots})

    def _labelled(self) -> list[tuple[str, torch.optim.Optimizer]]:
        """Every optimizer by the name its moments are kept under."""
        return [(f"{name}.{kind}", optimizer) for name in TOWERS for kind, optimizer in self.optimizers[name].items()]


def _section(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}
