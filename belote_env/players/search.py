"""`Search`: weighs each action by its mean over worlds, deals of the hidden cards that fit what the seat knows.

A card is valued in every world by playing it out, or with open hands (Ginsberg 2001, "GIB: imperfect information in a
computationally challenging game").  Open hands make nobody hide or guess anything, which over-bids, so calls are valued
by play-outs alone.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.engine import legal_actions
from belote_env.players import PLAYERS, as_player
from belote_env.players.answers import answer_numbers, illegal_answer
from belote_env.players.beliefs import likely_worlds
from belote_env.players.heuristic import Heuristic
from belote_env.players.player import Actions, Player, States
from belote_env.players.playout import apply_rows, play_out
from belote_env.players.policy import released_policies
from belote_env.rules import Rules
from belote_env.rulings import shown, whole_number
from belote_env.solver import NO_VALUE, solve_many
from belote_env.state import COINCHE, FIRST_CALL, N_CARDS, PASS, PLAY, SURCOINCHE
from belote_env.worlds import count_worlds

MODES = ("playout", "solver")
#: Worlds that are worked on at a time.
_AT_ONCE = 4096
#: In each strain so many levels are tried, from the lowest legal one.
_LEVELS = 4
#: An action replaces Heuristic's when its mean gain is so many standard errors above 0, those of cards and of calls.
#: The best of many estimates is too high: without this, bids ran away.
_SURE_CARD, _SURE_CALL = 1.0, 2.0

Values = Callable[[States, Actions, States, NDArray[np.int64]], NDArray[np.float64]]


class Search(Player):
    """Another player's action, Heuristic's by default, or one that gains on it in the mean over worlds.

    The worlds fit all that the seat has seen, those in which the calls make sense being likelier
    (`players.beliefs`).  What it does depends on its seed and on what the seat sees, on nothing hidden.

    Args:
        worlds: weighed for each decision, each once where there are so few.  With `ms`, for each round.
        ms: rounds of worlds go on until a decision has taken so many milliseconds; what it does then depends on the
            machine too.
        bidder: makes the calls: a player, its name or a function; or "playout": they are weighed like cards, by
            bidding and playing every world to its end.
        threads: for the solver.
        mode: how a card is valued in a world: "playout", the deal's score when Heuristic plays all seats from there,
            each by its own view; "solver", the score with open hands.
        seed: 0..2**64-1.
        player: whose cards are played unless another gains on them: a player, its name or a function.
        tricks: only in so many tricks from the end are cards weighed, 1..8.

    Raises:
        ValueError: an argument out of range, or a mode, bidder or player that does not exist.
        TypeError: a bidder or player that is none.
    """

    def __init__(
        self,
        worlds: int = 20,
        ms: float | None = None,
        bidder: Player | str | Callable[..., int] = "heuristic",
        threads: int = 1,
        mode: str = "playout",
        seed: int = 0,
        player: Player | str | Callable[..., int] = "heuristic",
        tricks: int = 8,
    ) -> None:
        if not isinstance(mode, str) or mode not in MODES:
            raise ValueError(f"mode={shown(mode)} is not one of {', '.join(map(repr, MODES))}")
        if isinstance(bidder, str) and bidder not in ("playout", *PLAYERS, *released_policies()):
            raise ValueError(f"bidder={shown(bidder)} is neither 'playout' nor one of {', '.join(PLAYERS)}")
        number = isinstance(ms, int | float | np.integer | np.floating) and not isinstance(ms, bool)
        if ms is not None and (not number or not 0 < ms < 1e9):
            raise ValueError(f"ms={shown(ms)}: a number of milliseconds above 0 is needed")
        self.worlds = whole_number("worlds", worlds, 1, 10_000)
        self.threads = whole_number("threads", threads, 1, 1024)
        self.seed = whole_number("seed", seed, 0, 2**64 - 1)
        self.ms, self.mode = ms, mode
        self.tricks = whole_number("tricks", tricks, 1, 8)
        self.bidder = bidder if isinstance(bidder, str) and bidder == "playout" else as_player(bidder)
        self.player = as_player(player)
        words = [str(self.worlds) if ms is None else f"{ms:g} ms", *[mode] * (mode != "playout")]
        calls = self.bidder.name if isinstance(self.bidder, Player) else "playout"
        words += [f"calls: {calls}"] * (calls != "heuristic")
        words += [f"cards: {self.player.name}"] * (self.player.name != "heuristic")
        words += [f"last {self.tricks} tricks"] * (self.tricks < 8)
        self.name = f"search({', '.join(words)})"
        self._heuristic = Heuristic()

    def start(self, rules: Rules | str) -> None:
        super().start(rules)
        self._heuristic.start(self.rules)
        self.player.start(self.rules)
        if isinstance(self.bidder, Player):
            self.bidder.start(self.rules)

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        viewers = np.ascontiguousarray(seats, np.int64)
        out = np.empty(len(states), np.int64)
        in_play = states["phase"] == PLAY
        cards, calls = np.flatnonzero(in_play), np.flatnonzero(~in_play)
        legal = [self._legal(states, i) for i in range(len(states))]
        bidder = self.bidder if isinstance(self.bidder, Player) else self._heuristic
        for player, rows in ((self.player, cards), (bidder, calls)):
            if len(rows):
                said = answer_numbers(player, player.act(states[rows], viewers[rows]), states, rows, self.rules)
                for i, action in zip(rows.tolist(), said.tolist(), strict=True):
                    if action not in legal[i]:  # gains are over it
                        raise illegal_answer(player, action, states, i, self.rules)
                out[rows] = said
        late = in_play & (states["n_cards"] >= N_CARDS - 4 * self.tricks)
        free = [i for i in np.flatnonzero(late).tolist() if len(legal[i]) > 1]
        values = self._solved if self.mode == "solver" else self._played_cards
        self._weigh(states, viewers, np.array(free, np.int64), out, values, _SURE_CARD)
        if self.bidder == "playout":
            self._weigh(states, viewers, calls, out, self._played_calls, _SURE_CALL)
        return out

    def _weigh(
        self,
        states: States,
        seats: NDArray[np.int64],
        rows: NDArray[np.int64],
        out: Actions,
        values: Values,
        sure: float,
    ) -> None:
        """Put at each row of `out` the action whose gain on the one there is most surely above 0, if any is."""
        for begin in range(0, len(rows), max(_AT_ONCE // self.worlds, 1)):
            some = rows[begin : begin + max(_AT_ONCE // self.worlds, 1)]
            here, viewers, said = states[some], seats[some], out[some]
            weight = np.zeros((len(some), 1))
            gain, square = np.zeros((2, len(some), self.rules.n_actions))
            tried = np.zeros(gain.shape, bool)
            end = time.perf_counter() + (0 if self.ms is None else self.ms * len(some) / 1000)
            turn = 0
            while turn == 0 or time.perf_counter() < end:
                seed = (self.seed + turn) % 2**64
                worlds, of, weights = likely_worlds(here, viewers, self.rules, self._heuristic, self.worlds, seed)
                found = values(here, said, worlds, of)
                tried[of] = np.isfinite(found)
                gains = np.where(tried[of], found - np.take_along_axis(found, said[of, None], axis=1), 0.0)
                np.add.at(weight, of, weights[:, None])
                np.add.at(gain, of, weights[:, None] * gains)
                np.add.at(square, of, weights[:, None] * gains**2)
                turn += 1
            mean = gain / weight
            error = np.sqrt(np.maximum(square / weight - mean**2, 0.0) / weight)
            error[count_worlds(here, viewers) <= self.worlds] = 0.0  # all of them were weighed
            surely = np.where(tried, mean - sure * error, -np.inf)
            out[some] = np.where(surely.max(axis=1) > 1e-9, surely.argmax(axis=1), said)

    def _solved(self, states: States, said: Actions, worlds: States, of: NDArray[np.int64]) -> NDArray[np.float64]:
        """(worlds, actions) score of each card, the mover's side less the other's, with open hands; -inf for others."""
        values = np.full((len(worlds), self.rules.n_actions), -np.inf)
        solved = solve_many(worlds, self.rules, "score", self.threads)
        values[:, :32] = np.where(solved == NO_VALUE, -np.inf, solved)
        return values

    def _played_cards(
        self, states: States, said: Actions, worlds: States, of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same when Heuristic plays on."""
        return self._played([self._legal(states, i) for i in range(len(states))], worlds, of)

    def _played_calls(
        self, states: States, said: Actions, worlds: States, of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same for Heuristic's call, pass, doubles and the lowest bids of each strain."""
        tried = []
        for i, call in enumerate(said):
            legal = self._legal(states, i)
            bids: list[list[int]] = [
                [a for a in legal if a >= FIRST_CALL and (a - FIRST_CALL) % 6 == s] for s in range(6)
            ]
            others = {a for a in legal if a in (PASS, COINCHE, SURCOINCHE)}
            tried.append(sorted(others.union([int(call)], *(levels[:_LEVELS] for levels in bids))))
        return self._played(tried, worlds, of)

    def _played(self, actions: list[list[int]], worlds: States, of: NDArray[np.int64]) -> NDArray[np.float64]:
        """(worlds, actions) score when Heuristic plays on after each of the actions of a world's state."""
        values = np.full((len(worlds), self.rules.n_actions), -np.inf)
        rows = np.repeat(np.arange(len(of)), [len(actions[i]) for i in of])
        tried = np.array([action for i in of for action in actions[i]], np.int64)
        ahead = worlds[rows]
        sign = 1 - 2 * (ahead["turn"].astype(np.int64) & 1)
        apply_rows(ahead, np.arange(len(ahead)), self.rules.packed, tried)
        values[rows, tried] = sign * play_out(ahead, self.rules, self._heuristic)
        return values

    def _legal(self, states: States, i: int) -> list[int]:
        low, high = legal_actions(states, i, self.rules.packed)
        return [a for a in range(self.rules.n_actions) if ((low >> a) if a < 64 else high >> (a - 64)) & 1]
