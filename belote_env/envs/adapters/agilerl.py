"""AgileRL: the tables of its off-policy algorithms, and transitions that its DQN learns right values from.

    from belote_env.envs.adapters.agilerl import make_tables, whole_deals

AgileRL takes masks from `infos["action_mask"]` when it acts, but its targets take the best of all next actions, illegal
ones included, and its PPO forgets the mask when it learns.  `whole_deals` goes round both: each transition carries what
its deal came to and ends there, so nothing is bootstrapped.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.envs.gym_vector import BeloteVectorEnv


def make_tables(num_envs: int = 64, **arguments: Any) -> BeloteVectorEnv:
    """Tables with flat observations and the mask in the infos, where AgileRL looks for it.

    Args:
        arguments: those of `BeloteVectorEnv`, but `mask_in` and `autoreset_mode`.
    """
    return BeloteVectorEnv(num_envs, mask_in="info", autoreset_mode="SameStep", **arguments)


def whole_deals(
    tables: BeloteVectorEnv, act: Callable[[Any, Any], Any], seed: int | None = None
) -> Iterator[tuple[NDArray[Any], NDArray[np.int64], float]]:
    """Play for ever; yields each deal that has ended as `(observations (k, SIZE), actions (k,), reward)`.

    Args:
        act: a function of observations (N, SIZE) and masks (N, n_actions) that returns (N,) actions.
        seed: of the first reset.
    """
    observations, infos = tables.reset(seed=seed)
    seen: list[list[Any]] = [[] for _ in range(tables.num_envs)]
    done: list[list[int]] = [[] for _ in range(tables.num_envs)]
    paid = np.zeros(tables.num_envs)
    while True:
        actions = np.asarray(act(observations, infos["action_mask"])).reshape(tables.num_envs)
        for i in range(tables.num_envs):
            seen[i].append(observations[i])
            done[i].append(int(actions[i]))
        observations, rewards, ended, _, infos = tables.step(actions)
        paid += rewards
        for i in np.flatnonzero(ended).tolist():
            yield np.array(seen[i]), np.array(done[i], np.int64), float(paid[i])
            seen[i], done[i], paid[i] = [], [], 0.0
