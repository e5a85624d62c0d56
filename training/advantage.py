"""Advantages over each seat's own decisions, in a game where four seats move by turns.

Between two decisions of a seat the table moves on, and what that pays belongs to the first of the two.  So a
table is four interleaved trajectories, one for each seat, and all four end when the deal does.
"""

import numpy as np


def seat_advantages(
    seat: np.ndarray,
    own: np.ndarray,
    values: np.ndarray,
    rewards: np.ndarray,
    done: np.ndarray,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generalised advantage estimates (Schulman et al. 2016) with discount 1.

    Args:
        seat: (T, N) integer, who decides at step t of table n.
        own: (T, N) bool, the learner decided; what others decide is part of the world.
        values: (T, N) float, the critic for that seat before the decision; read where `own`.
        rewards: (T, N) float, what step t paid seats 0 and 2; seats 1 and 3 were paid the opposite.
        done: (T, N) bool, step t ended the deal of table n.
        gae_lambda: 0 trusts the critic, 1 the returns.

    Returns:
        advantages (T, N) float32; targets (T, N) float32 for the critic, advantage + value; valid (T, N)
        bool, never where not `own`.
        The last decision of a seat whose deal outlives the window serves as bootstrap only: not valid, zeros.
    """
    steps, tables = seat.shape
    advantages = np.zeros((steps, tables))
    valid = np.zeros((steps, tables), bool)
    # Of each seat's next own decision, seen from step t: its value and advantage, and what is paid before it.
    # `known` is False where neither such a decision nor the end of the deal is inside the window.
    next_value = np.zeros((tables, 4))
    next_advantage = np.zeros((tables, 4))
    paid = np.zeros((tables, 4))
    known = np.zeros((tables, 4), bool)
    side = np.array([1.0, -1.0, 1.0, -1.0])
    for t in range(steps - 1, -1, -1):
        ended = done[t]
        next_value[ended] = next_advantage[ended] = paid[ended] = 0.0
        known[ended] = True
        paid += rewards[t][:, None] * side
        rows = np.flatnonzero(own[t])
        who = seat[t, rows].astype(np.intp)
        error = paid[rows, who] + next_value[rows, who] - values[t, rows]
        valid[t, rows] = known[rows, who]
        advantages[t, rows] = np.where(known[rows, who], error + gae_lambda * next_advantage[rows, who], 0.0)
        next_value[rows, who] = values[t, rows]
        next_advantage[rows, who] = advantages[t, rows]
        paid[rows, who] = 0.0
        known[rows, who] = True
    targets = np.where(valid, advantages + values, 0.0)
    return advantages.astype(np.float32), targets.astype(np.float32), valid
