"""Who decides: in each deal a side is the learner's, or its bids are a rule player's, or all of it a past team's.

Self-play alone learns to bid low and never to double, since nobody over-bids.  So some deals are bid against by rule
players from timid to bold, some are played against earlier weights, always a whole side of the table, and some
auctions open with a call drawn at random, so that high and doubled contracts stay explored.
"""

import numpy as np
from numpy.typing import NDArray

from belote_env.frames import framed_actions
from belote_env.players import Heuristic, Parameters
from belote_env.rules import Rules
from belote_env.state import AUCTION, CAPOT_LEVEL, FIRST_CALL
from training.config import Config
from training.draws import uniforms, words

OWN, RULES, PAST = 0, 1, 2

#: Rule bidders from timid to bold: points that a hand is taken to be worth above what it is, and from what worth in the
#: other side's trumps they double.
BOLDNESS = ((-12.0, 80.0), (0.0, 70.0), (0.0, 60.0), (10.0, 70.0), (20.0, 60.0))


def _bidder(more: float, coinche: float) -> Heuristic:
    usual = Parameters()
    return Heuristic(
        bid_base=usual.bid_base + more,
        raise_base=usual.raise_base - more,
        coinche=coinche,
        take_one=usual.take_one - more,
        take_two=usual.take_two - more,
    )


class Teams:
    """The sides of `tables` tables, drawn anew for every deal from (seed, table, deal).

    Attributes:
        kind: (N, 2) int8, OWN, RULES or PAST for each side.
        opens: (N,) bool, the auction opens with a random call.
    """

    def __init__(self, config: Config, rules: Rules, first_table: int, tables: int) -> None:
        self._config, self._seed = config, config.seed
        self._auction = rules.bidding == "auction"
        self._tables = first_table + np.arange(tables)
        self.kind = np.zeros((tables, 2), np.int8)
        self.opens = np.zeros(tables, bool)
        self._bidder = np.zeros((tables, 2), np.int8)
        self._bidders = [_bidder(*boldness) for boldness in BOLDNESS]
        self._player = Heuristic()
        for player in (*self._bidders, self._player):
            player.start(rules)

    def draw(self, rows: NDArray[np.integer], deals: NDArray[np.int64]) -> None:
        """Draw the sides of the tables `rows` for their deals number `deals` (len(rows),)."""
        config, table = self._config, self._tables[rows]
        chance, side, opening = (uniforms(self._seed, table, deals, k) for k in (101, 102, 103))
        kind = np.full((len(rows), 2), OWN if config.bidders == "own" else RULES, np.int8)
        other = (side < 0.5).astype(np.intp)
        at = np.arange(len(rows))
        past, ruled = config.past_opponents, config.past_opponents + config.rule_opponents
        kind[at[chance < past], other[chance < past]] = PAST
        chosen = (chance >= past) & (chance < ruled)
        kind[at[chosen], other[chosen]] = RULES
        self.kind[rows] = kind
        self._bidder[rows] = words(self._seed, table[:, None], deals[:, None], np.array([104, 105])) % np.uint64(
            len(BOLDNESS)
        )
        self.opens[rows] = (opening < config.seeded_auctions) & self._auction

    def opening_calls(
        self, rows: NDArray[np.integer], deals: NDArray[np.int64], mask: NDArray[np.int8]
    ) -> NDArray[np.int64]:
        """(len(rows),) random first calls in the frame of `mask`, low values likelier than high ones."""
        weight = mask[rows].astype(np.float64)
        calls = np.arange(weight.shape[1])
        level = (calls - FIRST_CALL) // 6
        falling = np.where(level < CAPOT_LEVEL, 0.8 ** np.maximum(level, 0), 0.1)
        weight *= np.where(calls >= FIRST_CALL, falling, 0.0)
        total = weight.cumsum(1)
        u = uniforms(self._seed, self._tables[rows], deals, 106) * total[:, -1]
        return (total <= u[:, None]).sum(1)

    def bids(
        self,
        states: NDArray,
        rows: NDArray[np.integer],
        seats: NDArray[np.integer],
        frames: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """(len(rows),) the rule bidders' calls at the tables `rows`, in the tables' frames."""
        actions = np.zeros(len(rows), np.int64)
        variant = self._bidder[rows, seats[rows] & 1]
        for k, bidder in enumerate(self._bidders):
            chosen = np.flatnonzero(variant == k)
            if len(chosen):
                where = rows[chosen]
                actions[chosen] = framed_actions(bidder.act(states[where], seats[where]), frames[where])
        return actions

    def cards(
        self, states: NDArray, rows: NDArray[np.integer], seats: NDArray[np.integer], frames: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(len(rows),) Heuristic's cards at the tables `rows`, in the tables' frames."""
        return framed_actions(self._player.act(states[rows], seats[rows]), frames[rows])

    def is_opening(self, states: NDArray) -> NDArray[np.bool_]:
        """(N,) bool, the first call of an auction that opens at random is due."""
        return self.opens & (states["phase"] == AUCTION) & (states["n_calls"] == 0)
