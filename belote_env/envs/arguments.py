"""What the environments take alike: choices, checks and spaces."""

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import ArrayLike, NDArray

from belote_env.envs.batch import EPISODES, REWARDS
from belote_env.notation import action_name, legal_numbers, parse_position, position_text, rules_text
from belote_env.observation import SIZE
from belote_env.rules import Rules
from belote_env.rulings import shown
from belote_env.state import DEAL_OVER

MASK_PLACES = ("observation", "info")
OBSERVATION_DTYPES = ("float32", "int8", "uint8", "float64")
ILLEGAL_POLICIES = ("raise", "end")

MOST_TABLES = 2**31 - 1

#: What an illegal action costs the offender's side, and pays the other, where it ends the game: as much as a lost
#: match, or a deal lost by 256 points.
ILLEGAL_PENALTY = 1.0


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """ValueError unless an argument is one of its choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")


def check_episode(rules: Rules, episode: str, reward: str) -> tuple[int, int]:
    """The numbers of an episode kind and a reward kind.

    Raises:
        ValueError: unknown kinds, or a reward that the episode never pays.
    """
    check_choice("episode", episode, EPISODES)
    check_choice("reward", reward, REWARDS)
    if reward == "win" and episode == "deal" and rules.target > 0:
        raise ValueError("reward='win' is paid at the end of a match: it needs episode='match'")
    return EPISODES.index(episode), REWARDS.index(reward)


def checked_position(text: str, rules: Rules) -> NDArray[Any]:
    """(1,) state of a position that is played on at a table of these rules.

    Raises:
        ValueError: it is malformed, over, or of other rules.
    """
    if not isinstance(text, str):
        raise ValueError(f"options['position'] is the text of a position, not {text!r}")
    states, given = parse_position(text)
    if given.digest != rules.digest:
        raise ValueError(f"this table plays {rules_text(rules)}, the position is of {rules_text(given)}: {text}")
    if int(states[0]["phase"]) >= DEAL_OVER:
        raise ValueError(f"the deal of the position is over, there is nothing to play: {text}")
    return states


def checked_options(options: Any) -> Mapping[str, Any]:
    """The options of a reset; none for None.

    Raises:
        ValueError: no dict.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options are a dict, not {shown(options)}")
    return options


def checked_action(action: Any, who: str) -> int:
    """An action as an int.

    Raises:
        ValueError: no integer.
    """
    try:
        if isinstance(action, bool):
            raise TypeError
        return index(action)
    except TypeError:
        raise ValueError(f"{shown(action)} is not an action: {who} is to play, and needs an integer") from None


def as_integers(actions: ArrayLike, n: int) -> NDArray[np.int64]:
    """(n,) int64 from whatever NumPy makes (n,) integers of.

    Raises:
        ValueError: anything else, or an integer beyond 64 bits with a sign.
    """
    try:
        given = np.asarray(actions)
    except (TypeError, ValueError, RuntimeError):  # ragged lists; tensors that need a gradient
        raise ValueError(f"actions must be {n} integers, not {shown(actions)}") from None
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ValueError(f"actions must be {n} integers, not {given.dtype} of shape {given.shape}")
    if given.dtype.kind == "u" and n and given.max() > np.iinfo(np.int64).max:
        raise ValueError(f"table {given.argmax()}: action {given.max()} is not legal: no action is so large")
    return np.ascontiguousarray(given, np.int64)


def illegal_action(action: int, who: str, states: NDArray[Any], i: int, rules: Rules) -> ValueError:
    """The error for an action that is not legal in `states[i]`."""
    phase = int(states["phase"][i])
    legal = ", ".join(f"{a} ({action_name(a, phase, rules.bidding)})" for a in legal_numbers(states, i, rules))
    return ValueError(
        f"action {shown(action)} is not legal for {who}; legal are {legal}; position: {position_text(states, i, rules)}"
    )


def observation_space(n_actions: int, dtype: np.dtype[Any], mask_in_info: bool) -> Box | Dict:
    """`Dict(observation, action_mask)`, or the observation's `Box` alone."""
    bits = Box(0, 1, (SIZE,), dtype.type)
    if mask_in_info:
        return bits
    return Dict({"observation": bits, "action_mask": Box(0, 1, (n_actions,), np.int8)})
