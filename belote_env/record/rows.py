"""Deals played by one player at all four seats, as rows: one for each decision, in order.

Deal i depends on (seed, i) alone, and so do its rows: how many deals are played at a time changes nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.arena.deals import ask, play, start_rows
from belote_env.envs.batch import DEAL, REWARD_SCALE
from belote_env.notation import position_text
from belote_env.observation import observe_batch
from belote_env.players import Player
from belote_env.rules import Rules
from belote_env.state import DEAL_OVER, new_states

Rows = dict[str, NDArray[Any]]


def play_deals(
    player: Player, rules: Rules, seed: int, first: int, count: int, shown: Callable[[float], None] = lambda part: None
) -> tuple[Rows, list[str]]:
    """Deals first .. first + count - 1, as environments deal them, and their texts when they are over.

    Args:
        player: sits at every seat, already told the rules.
        rules: of the table.
        seed: of the deals.
        first: number of the first deal.
        count: how many.
        shown: called with the part that is played, 0..1, as it grows.

    Returns:
        Arrays of n rows each, by deal and within it in order of play: deal, step, seat, observation (n, 96) uint8,
        mask (n, bytes) uint8, action, reward, difference, hands (n, 4) uint32.

    Raises:
        ValueError: the player answers with what is no legal action.
    """
    states = new_states(count)
    start_rows(states, rules.packed, np.uint64(seed), first, 1, DEAL)
    open_rows, plies, step = np.arange(count), [], 0
    while len(open_rows):
        seats = states["turn"][open_rows].astype(np.int64)
        observations, masks, _ = observe_batch(states[open_rows], seats, rules, canonical=False)
        points = states["points"][open_rows].astype(np.int64)
        actions, _ = ask(player, states, open_rows, rules)
        plies.append(
            {
                "row": open_rows,
                "step": np.full(len(open_rows), step, np.uint8),
                "seat": seats.astype(np.uint8),
                "observation": np.packbits(observations, axis=1, bitorder="little"),
                "mask": np.packbits(masks.astype(np.uint8), axis=1, bitorder="little"),
                "action": actions.astype(np.uint8),
                "hands": states["hands"][open_rows],
                "lead": points[:, 0] - points[:, 1],  # side 0's trick points less side 1's
            }
        )
        play(player, states, open_rows, rules, actions)
        open_rows = open_rows[states["phase"][open_rows] < DEAL_OVER]
        step += 1
        shown(1.0 if not len(open_rows) else float(states["n_cards"].sum()) / (32 * count))
    rows = {name: np.concatenate([ply[name] for ply in plies]) for name in plies[0]}
    order = np.lexsort((rows["step"], rows["row"]))
    rows = {name: array[order] for name, array in rows.items()}
    scores = states["deal_scores"].astype(np.int64)
    _pay(rows, scores[:, 0] - scores[:, 1])
    rows["deal"] = (first + rows.pop("row")).astype(np.int64)
    return rows, [position_text(states, i, rules) for i in range(count)]


def _pay(rows: Rows, differences: NDArray[np.int64]) -> None:
    """Add `difference`, the deal's as the mover sees it, and `reward`, what is paid until its seat's next decision.

    Paid is what `reward="tricks"` of the environments pays: the change of the lead in trick points, and with the last
    trick the rest of the deal's difference of scores.
    """
    sign = 1 - 2 * (rows["seat"].astype(np.int64) & 1)
    final, lead = differences[rows["row"]], rows.pop("lead")
    by_seat = np.lexsort((rows["step"], rows["seat"], rows["row"]))
    row, seat, then = rows["row"][by_seat], rows["seat"][by_seat], final[by_seat]
    goes_on = (row[1:] == row[:-1]) & (seat[1:] == seat[:-1])
    then[:-1][goes_on] = lead[by_seat][1:][goes_on]
    later = np.empty_like(final)
    later[by_seat] = then
    rows["difference"] = (sign * final).astype(np.int16)
    rows["reward"] = (sign * (later - lead) / REWARD_SCALE).astype(np.float32)
