"""Imitation: a small policy learns what a recorded player does, then meets Random and its teacher in the arena.

    python examples/imitate.py                 # records 16,000 deals of `medium` first, into a temporary folder
    python examples/imitate.py data/           # a folder that `belote record` has written

Ran with torch 2.13.0 and pyarrow 26.0.1: a minute on one core.  docs/record.md describes the columns.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import nn

from belote_env.arena import play_match
from belote_env.notation import parse_rules
from belote_env.observation import SIZE, observe_batch
from belote_env.players import Player
from belote_env.record import MANIFEST, record, unpack

STEPS, BATCH, PAIRS = 2500, 1024, 1000


def read(folder: Path, n_actions: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Observations (n, 768) uint8, masks (n, A) bool and actions (n,) of all real decisions of the folder."""
    parts = []
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path, columns=["observation", "mask", "action"])
        masks = unpack(table["mask"], n_actions)
        free = masks.sum(1) > 1  # where there is one legal action there is nothing to learn
        parts.append((unpack(table["observation"])[free], masks[free], table["action"].to_numpy()[free]))
    observations, masks, actions = (torch.from_numpy(np.concatenate(part)) for part in zip(*parts, strict=True))
    return observations, masks.bool(), actions.long()


class Imitator(Player):
    """Plays the network's likeliest legal action."""

    name = "imitator"

    def __init__(self, net: nn.Module) -> None:
        self.net = net

    @torch.no_grad()
    def act(self, states, seats):
        observations, masks, _ = observe_batch(states, seats, self.rules, canonical=False)
        logits = self.net(torch.from_numpy(observations).float())
        return logits.masked_fill(~torch.from_numpy(masks).bool(), -1e9).argmax(1).numpy()


def main() -> None:
    torch.manual_seed(0)
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
    else:
        folder = Path(tempfile.mkdtemp())
        record("medium", folder, "classic", deals=16_000)
    told = json.loads((folder / MANIFEST).read_text())
    observations, masks, actions = read(folder, told["n_actions"])
    held_out = len(actions) // 20  # the last deals
    training = len(actions) - held_out
    print(f"{len(actions):,} decisions of {told['player']} at {told['rules']}, {held_out:,} held out")

    net = nn.Sequential(
        nn.Linear(SIZE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, told["n_actions"])
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for step in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 - step / STEPS)
        rows = torch.randint(training, (BATCH,))
        logits = net(observations[rows].float()).masked_fill(~masks[rows], -1e9)
        loss = nn.functional.cross_entropy(logits, actions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            print(f"step {step:,}, loss {loss.item():.3f}")
    with torch.no_grad():
        logits = net(observations[training:].float()).masked_fill(~masks[training:], -1e9)
        agreement = (logits.argmax(1) == actions[training:]).float().mean().item()
    print(f"agrees with {told['player']} in {agreement:.1%} of the decisions held out")

    rules = parse_rules(told["rules"])
    for other in ("random", told["player"]):
        result = play_match(Imitator(net), other, rules, PAIRS, seed=1)
        print(f"imitator over {other}: {result.mean:+.1f} ± {result.interval:.1f} points a deal")


if __name__ == "__main__":
    main()
