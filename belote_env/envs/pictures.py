"""`render()` of the environments: the table as text or as pixels."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from belote_env.envs.arguments import check_choice
from belote_env.game import Game
from belote_env.notation import position_text
from belote_env.rules import Rules
from belote_env.state import DEAL_OVER

RENDER_MODES = ("human", "ansi", "rgb_array")
#: What `render` returns: text, (600, 800, 3) uint8, or None where it prints.
Frame = str | NDArray[np.uint8]


def check_render_mode(mode: str | None, modes: tuple[str, ...] = RENDER_MODES) -> None:
    """ValueError unless a render mode is None or one of the modes, and what it needs is installed."""
    if mode is None:
        return
    check_choice("render_mode", mode, modes)
    if mode == "rgb_array":
        from belote_env.draw import check_raster  # loaded for those who look

        check_raster("render_mode='rgb_array'")


def warn_unseen(modes: tuple[str, ...] = RENDER_MODES) -> None:
    """Gymnasium's warning for `render()` without a mode."""
    choices = " or ".join((", ".join(map(repr, modes[:-1])), repr(modes[-1])))
    gymnasium.logger.warn(f"render() shows nothing: make the environment with render_mode={choices}")


def frame(mode: str, states: NDArray[Any], i: int, rules: Rules, *, over: bool, learner: int | None = None) -> Frame:
    """`states[i]` as text ("human", "ansi") or as pixels ("rgb_array"), its end included.

    Args:
        mode: one of `RENDER_MODES`.
        over: whether the episode is over.
        learner: the seat that learns; in pixels it sits below and the other hands lie face down. None: all are open.
    """
    from belote_env.draw import svg_to_rgb, table_svg, table_text

    game = Game.parse(position_text(states, i, rules))
    cut = over and int(states[i]["phase"]) < DEAL_OVER
    note = "ended by an illegal action" if cut else ""
    if mode == "rgb_array":
        return svg_to_rgb(table_svg(game, learner, note=note))
    head = "" if learner is None else f"learner player_{learner}\n"
    return head + table_text(game, note=note)
