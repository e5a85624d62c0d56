"""What players answered, checked by the doors that asked them: arena and environments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.notation import action_name, legal_numbers, position_text
from belote_env.players.player import Player, action_number
from belote_env.rules import Rules
from belote_env.rulings import shown


def answer_numbers(
    player: Player, answer: Any, states: NDArray[Any], rows: NDArray[np.int64], rules: Rules
) -> NDArray[np.int64]:
    """What a player answered for `states[rows]` as (n,) int64.

    Raises:
        ValueError: it is not an integer of 64 bits for each position.
    """
    try:
        actions = np.asarray(answer)
    except Exception:  # rows of different lengths, a tensor on another device
        actions = np.asarray(None)
    if actions.shape != rows.shape:
        bad = 0
        wrong = f"{actions.dtype} of shape {actions.shape}" if isinstance(answer, np.ndarray) else shown(answer)
    elif actions.dtype.kind == "i":
        return actions.astype(np.int64)
    else:
        numbers = [action_number(action) for action in actions]
        if None not in numbers:
            return np.array(numbers, np.int64)
        bad = numbers.index(None)
        wrong = f"{shown(actions[bad])} for seat {states['turn'][rows[bad]]}"
    raise ValueError(
        f"{player.name} must return {len(rows)} integers, not {wrong}; "
        f"position: {position_text(states, int(rows[bad]), rules)}"
    )


def illegal_answer(player: Player, action: int, states: NDArray[Any], i: int, rules: Rules) -> ValueError:
    """The error for an action that is not legal in `states[i]`."""
    phase = int(states["phase"][i])
    legal = ", ".join(action_name(n, phase, rules.bidding) for n in legal_numbers(states, i, rules))
    return ValueError(
        f"{player.name} played {action}, which is not legal for seat {states['turn'][i]}: legal are {legal}; "
        f"position: {position_text(states, i, rules)}"
    )
