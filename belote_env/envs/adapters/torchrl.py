"""TorchRL: `PettingZooWrapper` over the parallel table, agents grouped by side.

    from belote_env.envs.adapters.torchrl import make_env

    env = make_env(rules="classic")
    data = env.rollout(100)
    data["side_0", "observation", "observation"]  # (100, 2, SIZE)
    data["side_0", "info", "to_act"]  # (100, 2): 1 where the action counts

Every agent acts at every step and one action counts, so no agent vanishes, no mask is a row of zeros, and each step's
reward reaches all four.  Learn from the steps where `to_act` is 1; the rewards of all steps are theirs.
"""

from typing import Any

try:
    from torchrl.envs import PettingZooWrapper
except ImportError as error:
    raise ImportError("this adapter needs TorchRL: pip install 'belote-env[torchrl]'") from error

from belote_env.envs.belote_v0 import AGENTS, parallel_env

#: Partners, who are paid alike.
GROUPS = {"side_0": [AGENTS[0], AGENTS[2]], "side_1": [AGENTS[1], AGENTS[3]]}


def make_env(seed: int | None = None, **arguments: Any) -> Any:
    """A `PettingZooWrapper`; entries are `(group, "action")`, `(group, "reward")` and so on, (2, …) each.

    Args:
        seed: of the episodes.
        arguments: those of `belote_v0.parallel_env`, but `mask_in`.
    """
    env = PettingZooWrapper(parallel_env(**arguments), group_map=GROUPS)
    if seed is not None:
        env.set_seed(seed)
    return env
