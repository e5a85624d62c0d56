"""`Search`: weighs each action by its mean over worlds, deals of the hidden cards that fit what the seat knows.

Cards are valued in every world with open hands (Ginsberg 2001, "GIB: imperfect information in a computationally
challenging game"), or by playing the world out.  Open hands make nobody hide or guess anything, which over-bids, so
calls are weighed by play-outs alone.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.engine import begin_deal, legal_actions
from belote_env.players.heuristic import Heuristic
from belote_env.players.player import Actions, Player, States
from belote_env.players.playout import apply_rows, play_out
from belote_env.rules import Rules
from belote_env.rulings import shown, whole_number
from belote_env.solver import NO_VALUE, solve_many
from belote_env.state import COINCHE, FIRST_CALL, PASS, PLAY, SURCOINCHE
from belote_env.worlds import deal_worlds

MODES = ("solver", "playout")
#: Worlds that are worked on at a time.
_AT_ONCE = 4096
#: Above the lowest bid, so many levels are tried in a suit.
_LEVELS = 4


class Search(Player):
    """Means over sampled worlds; honest: what it does depends on its seed and on what the seat sees alone.

    Args:
        worlds: dealt for each decision; where no more exist, each of them once.  With `ms`, for each round.
        ms: rounds of worlds go on until a decision has taken so many milliseconds; what it does then depends on the
            machine too.
        bidder: makes the calls; "playout": weighed like cards, every world bid and played to its end by Heuristic.
        threads: for the solver.
        mode: how a card is valued in a world: "solver", the deal's score with open hands; "playout", the score when
            Heuristic plays all seats from there.
        seed: 0..2**64-1.

    Raises:
        ValueError: an argument out of range, or a mode or bidder that does not exist.
    """

    def __init__(
        self,
        worlds: int = 20,
        ms: float | None = None,
        bidder: Player | str = "heuristic",
        threads: int = 1,
        mode: str = "solver",
        seed: int = 0,
        margin: float = 0.0,
        call_margin: float = 0.0,
        beliefs: int = 0,
        doubt: float = 0.1,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode={shown(mode)} is not one of {', '.join(map(repr, MODES))}")
        if not isinstance(bidder, Player) and bidder not in ("heuristic", "playout"):
            raise ValueError(f"bidder={shown(bidder)}: a Player, 'heuristic' or 'playout' is needed")
        if ms is not None and (isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 < ms < 1e9):
            raise ValueError(f"ms={shown(ms)}: a number of milliseconds above 0 is needed")
        self.worlds = whole_number("worlds", worlds, 1, 1_000_000)
        self.threads = whole_number("threads", threads, 1, 1024)
        self.seed = whole_number("seed", seed, 0, 2**64 - 1)
        self.ms, self.mode = ms, mode
        self.margin, self.call_margin, self.beliefs, self.doubt = margin, call_margin, beliefs, doubt
        self.name = f"search({self.worlds if ms is None else f'{ms} ms'}{'' if mode == 'solver' else ', ' + mode})"
        self._heuristic = Heuristic()
        self._bidder = bidder if isinstance(bidder, Player) else None if bidder == "playout" else self._heuristic

    def start(self, rules: Rules | str) -> None:
        super().start(rules)
        self._heuristic.start(self.rules)
        if self._bidder is not None:
            self._bidder.start(self.rules)

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        viewers = np.ascontiguousarray(seats, np.int64)
        choices = [legal_actions(states, i, self.rules.packed) for i in range(len(states))]
        in_play = states["phase"] == PLAY
        out = self._heuristic.act(states, viewers)
        open_cards = np.array([low & (low - 1) != 0 for low, _ in choices], bool) & in_play
        self._weigh(states, viewers, np.flatnonzero(open_cards), out, self._card_values, self.margin)
        calls = np.flatnonzero(~in_play)
        if self._bidder is None:
            self._weigh(states, viewers, calls, out, self._call_values, self.call_margin)
        elif self._bidder is not self._heuristic and len(calls):
            out[calls] = self._bidder.act(states[calls], viewers[calls])
        return out

    def _weigh(
        self,
        states: States,
        seats: NDArray[np.int64],
        rows: NDArray[np.int64],
        out: Actions,
        values: Callable[..., NDArray[np.float64]],
        margin: float,
    ) -> None:
        """Enter at each row the action that gains most on what `out` says, as far as the worlds make sure."""
        size = max(_AT_ONCE // self.worlds, 1)
        for begin in range(0, len(rows), size):
            some = rows[begin : begin + size]
            here, viewers, said = states[some], seats[some], out[some]
            end = time.perf_counter() + (0 if self.ms is None else self.ms * len(some) / 1000)
            sums = np.zeros((3, len(some), self.rules.n_actions))  # of weights, gains and their squares
            turn = 0
            while turn == 0 or time.perf_counter() < end:
                worlds, of, weights = self._worlds(here, viewers, (self.seed + turn) % 2**64)
                found = values(here, said, worlds, of)
                gains = found - found[np.arange(len(of)), said[of]][:, None]
                heavy = weights[:, None]
                for total, term in zip(sums, (np.broadcast_to(heavy, gains.shape), heavy * gains, heavy * gains**2), strict=True):
                    np.add.at(total, of, term)
                turn += 1
            with np.errstate(invalid="ignore"):
                mean = sums[1] / sums[0]
                error = np.sqrt(np.maximum(sums[2] / sums[0] - mean**2, 0) / sums[0])
                sure = np.where(np.isfinite(mean), mean - margin * error, -np.inf)
            best = sure.argmax(axis=1)
            out[some] = np.where(sure.max(axis=1) > 1e-9, best, said)

    def _worlds(self, states: States, seats: NDArray[np.int64], seed: int) -> tuple[States, NDArray[np.int64], NDArray[np.float64]]:
        if not self.beliefs:
            worlds, of = deal_worlds(states, seats, self.rules, self.worlds, seed)
            return worlds, of, np.ones(len(worlds))
        worlds, of = deal_worlds(states, seats, self.rules, self.worlds * self.beliefs, seed)
        likely = self._likelihood(worlds, seats[of])
        # systematic resampling
        starts = np.searchsorted(of, np.arange(len(states)))
        sizes = np.bincount(of, minlength=len(states))
        total = np.add.reduceat(likely, starts)
        share = likely / total[of] * np.minimum(sizes, self.worlds)[of]
        upto = np.cumsum(share)
        before = np.concatenate([[0.0], upto[:-1]])
        base = before[starts][of]
        times = np.floor(upto - base + 0.5) - np.floor(before - base + 0.5)
        weights = np.where(sizes[of] > self.worlds, times, share)
        keep = np.flatnonzero(weights > 0)
        return worlds[keep], of[keep], weights[keep]

    def _likelihood(self, worlds: States, seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """How well the calls of the hidden hands fit what Heuristic would have called with them."""
        likely = np.ones(len(worlds))
        again = worlds.copy()
        called = np.flatnonzero(worlds["n_calls"] > 0)
        for i in called:
            begin_deal(again, i, self.rules.packed)
        for k in range(int(worlds["n_calls"].max(initial=0))):
            rows = np.flatnonzero(worlds["n_calls"] > k)
            here = again[rows]
            said, done = self._heuristic.act(here, here["turn"].astype(np.int64)), worlds["calls"][rows, k].astype(np.int64)
            same = said == done
            alike = (said >= FIRST_CALL) & (done >= FIRST_CALL) & ((said - done) % 6 == 0)
            fit = np.where(same, 1.0, np.where(alike, 0.5, self.doubt))
            likely[rows] *= np.where(here["turn"] == seats[rows], 1.0, fit)
            apply_rows(again, rows, self.rules.packed, done)
        return likely

    def _card_values(
        self, states: States, said: Actions, worlds: States, of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """(worlds, actions) the score of each card, the mover's side less the other's; -inf where it is not legal."""
        values = np.full((len(worlds), self.rules.n_actions), -np.inf)
        if self.mode == "solver":
            solved = solve_many(worlds, self.rules, "score", self.threads)
            values[:, :32] = np.where(solved == NO_VALUE, -np.inf, solved)
            return values
        legal = [_bits(*legal_actions(states, i, self.rules.packed)) for i in range(len(states))]
        self._play_on(legal, worlds, of, values)
        return values

    def _call_values(
        self, states: States, said: Actions, worlds: States, of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same for calls that are worth a thought."""
        values = np.full((len(worlds), self.rules.n_actions), -np.inf)
        self._play_on([self._candidates(states, i, int(said[i])) for i in range(len(states))], worlds, of, values)
        return values

    def _candidates(self, states: States, i: int, said: int) -> list[int]:
        """Pass, what Heuristic says, doubles, and the lowest bids of each strain."""
        legal = _bits(*legal_actions(states, i, self.rules.packed))
        bids = [a for a in legal if a >= FIRST_CALL]
        low = [a for strain in range(6) for a in [b for b in bids if (b - FIRST_CALL) % 6 == strain][:_LEVELS]]
        return sorted({a for a in legal if a in (PASS, COINCHE, SURCOINCHE)} | {said, *low})

    def _play_on(
        self, actions: list[list[int]], worlds: States, of: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Enter what the mover's side scores when Heuristic plays all seats after each of the actions."""
        pairs = [(w, a) for w, i in enumerate(of) for a in actions[i]]
        rows, acts = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
        ahead = worlds[rows]
        sign = 1 - 2 * (ahead["turn"].astype(np.int64) & 1)
        apply_rows(ahead, np.arange(len(ahead)), self.rules.packed, acts)
        values[rows, acts] = sign * play_out(ahead, self.rules, self._heuristic)


def _bits(low: int, high: int) -> list[int]:
    """The actions of a legal set."""
    return [a for a in range(128) if ((low >> a) & 1 if a < 64 else (high >> (a - 64)) & 1)]
