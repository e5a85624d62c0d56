"""The arena: duplicate matches between two players, measured with an interval.

Every deal is played twice from the same cards, dealer and scores: once with player a on side 0, once on side 1.  The
luck of the cards cancels within a pair; means and intervals are over pairs.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from belote_env._jit import kernel
from belote_env.engine import apply, is_legal, next_deal
from belote_env.envs.batch import EPISODES, MATCH, start_episode
from belote_env.players import Player, as_player
from belote_env.players.answers import answer_numbers, illegal_answer
from belote_env.rules import Rules, as_rules
from belote_env.rulings import whole_number
from belote_env.state import DEAL_OVER, DRAWN, MADE, MATCH_OVER, NOBODY, TIED, new_states

#: Two-sided 95 % point of the normal distribution.
Z = 1.959964
#: Pairs that are on the tables at a time; results do not depend on it.
PAIRS_AT_ONCE = 4096
#: The state numbers deals with 32 bits.
MOST_PAIRS = 2**31 - 1
#: A match that has no winner after so many deals is stopped; players who always pass would play on for ever.
MOST_DEALS = 1000


@dataclass
class Tally:
    """What one player did in a match. `cpu_seconds`: spent on `timed` decisions, all but those of its first call."""

    name: str
    contracts: int = 0
    made: int = 0
    tied: int = 0
    decisions: int = 0
    timed: int = 0
    cpu_seconds: float = 0.0

    @property
    def made_rate(self) -> float:
        """Share of its contracts that were made; 0 without any."""
        return self.made / self.contracts if self.contracts else 0.0

    @property
    def cpu_us(self) -> float:
        """CPU time of a decision in microseconds."""
        return 1e6 * self.cpu_seconds / self.timed if self.timed else 0.0


@dataclass(frozen=True)
class MatchResult:
    """Player a against player b.

    Attributes:
        rules: name of the rules; `rules_digest` tells overridden ones apart.
        mean: a's score less b's, per deal; `interval`: half-width of its 95 % interval.
        pairs: played; `wins`, `losses`, `ties` of them for a, by score difference (`episode="match"`: by matches won).
        deals: that were dealt, over both halves of all pairs; `all_pass` of them without a taker.
        unfinished: matches of all pairs, two a pair, that were stopped after `MOST_DEALS` deals; they count as draws.
        win_rate: share of matches won by a, draws counting half, with `win_interval`; None for single deals.
        differences: (pairs,) a's score less b's per deal in each pair; not part of `to_dict`.
    """

    rules: str
    rules_digest: str
    episode: str
    seed: int
    pairs: int
    deals: int
    mean: float
    interval: float
    wins: int
    losses: int
    ties: int
    all_pass: int
    unfinished: int
    a: Tally
    b: Tally
    win_rate: float | None = None
    win_interval: float | None = None
    differences: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but `differences`, as JSON has it."""
        result = {k: v for k, v in self.__dict__.items() if k not in ("a", "b", "differences")}
        for side in ("a", "b"):
            tally: Tally = getattr(self, side)
            result[side] = {**asdict(tally), "made_rate": tally.made_rate, "cpu_us": tally.cpu_us}
        return result

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def table(self) -> Table:
        """The result as a table for the terminal."""
        unit = "match" if self.episode == "match" else "deal"
        passed = f"{self.all_pass / self.deals:.1%}"
        stopped = f"; {self.unfinished:,} matches stopped after {MOST_DEALS:,} deals" if self.unfinished else ""
        table = Table(
            title=f"{self.a.name} – {self.b.name}: {self.rules}, {self.pairs:,} duplicate pairs",
            caption=f"seed {self.seed}; all passed in {passed} of {self.deals:,} deals{stopped}",
        )
        table.add_column("")
        table.add_column(self.a.name, justify="right")
        table.add_column(self.b.name, justify="right")
        table.add_row("points a deal", f"{self.mean:+.2f} ± {self.interval:.2f}", "")
        if self.win_rate is not None and self.win_interval is not None:
            table.add_row("matches won", f"{self.win_rate:.1%} ± {self.win_interval:.1%}", f"{1 - self.win_rate:.1%}")
        table.add_row(f"{unit} pairs won", f"{self.wins:,}", f"{self.losses:,}")
        both = (self.a, self.b)
        table.add_row("contracts", *(f"{t.contracts:,} ({t.contracts / self.deals:.1%})" for t in both))
        table.add_row("made", *(f"{t.made_rate:.1%}" for t in both))
        table.add_row("CPU a decision", *(f"{t.cpu_us:.2f} µs" for t in both))
        return table


@kernel
def _start_pairs(states: Any, rules: Any, seed: Any, first: int, episode: int) -> None:
    """Rows 2k and 2k + 1 start episode first + k: the two halves of a pair."""
    for i in range(states.shape[0]):
        start_episode(states, i, rules, seed, first + (i >> 1), episode)


@kernel
def _apply_rows(states: Any, rows: Any, rules: Any, actions: Any) -> int:
    """Apply one action at each row; returns the index of the first illegal one, nothing applied then, or -1."""
    for k in range(rows.shape[0]):
        if not is_legal(states, rows[k], rules, actions[k]):
            return k
    for k in range(rows.shape[0]):
        apply(states, rows[k], rules, actions[k])
    return -1


@kernel
def _deal_rows(states: Any, rows: Any, rules: Any) -> None:
    for k in range(rows.shape[0]):
        next_deal(states, rows[k], rules)


def play_match(
    a: Player | str | Callable[..., int],
    b: Player | str | Callable[..., int],
    rules: Rules | str = "classic",
    deals: int = 1000,
    episode: str = "deal",
    seed: int = 0,
    progress: bool = False,
    pairs_at_once: int = PAIRS_AT_ONCE,
) -> MatchResult:
    """Play duplicate pairs between two players.

    Args:
        a, b: players, names of players, or functions `(observation, mask) -> action`.
        rules: `Rules` or a preset's name.
        deals: number of duplicate pairs, 2..2**31-1.
        episode: "deal": pairs of single deals; "match": pairs of whole matches, each a draw if it has no end after
            `MOST_DEALS` deals.
        seed: 0..2**64-1; deal i depends on (seed, i) alone.
        progress: show a progress bar.
        pairs_at_once: pairs on the tables at a time; the result does not depend on it where the
            players' actions depend on the position alone.

    Raises:
        ValueError: an argument out of range, or a player whose answer is no action or not a legal one.
    """
    table, players = as_rules(rules), (as_player(a), as_player(b))
    if episode not in EPISODES:
        raise ValueError(f"episode={episode!r} is not one of {', '.join(map(repr, EPISODES))}")
    deals = whole_number("deals", deals, 2, MOST_PAIRS)  # two at least for an interval
    seed = whole_number("seed", seed, 0, 2**64 - 1)
    pairs_at_once = whole_number("pairs_at_once", pairs_at_once, 1, MOST_PAIRS)
    for player in players:
        player.start(table)
    arena = _Arena(table, players, EPISODES.index(episode), seed, deals)
    with Progress(console=Console(stderr=True), transient=True, disable=not progress) as bar:
        task = bar.add_task(f"{players[0].name} – {players[1].name}", total=deals)
        for first in range(0, deals, pairs_at_once):
            arena.play(first, min(pairs_at_once, deals - first))
            bar.update(task, completed=min(first + pairs_at_once, deals))
    return arena.result(episode)


class _Arena:
    """The pairs of one match and what has been counted; half h seats player a on side h."""

    def __init__(self, rules: Rules, players: tuple[Player, Player], episode: int, seed: int, pairs: int) -> None:
        self.rules, self.players, self.episode, self.seed = rules, players, episode, seed
        self.tallies = (Tally(players[0].name), Tally(players[1].name))
        self.points = np.zeros(pairs, np.int64)  # a's less b's, both halves
        self.dealt = np.zeros(pairs, np.int64)  # deals, both halves
        self.won = np.zeros(pairs, np.int64)  # matches a won less those b won
        self.all_pass = self.unfinished = 0

    def play(self, first: int, count: int) -> None:
        """Play pairs first .. first + count - 1 to their ends."""
        states = new_states(2 * count)
        _start_pairs(states, self.rules.packed, np.uint64(self.seed), first, self.episode)
        open_rows = np.arange(2 * count)
        while len(open_rows):
            seats = states["turn"][open_rows].astype(np.int64)
            mover = (seats ^ open_rows) & 1
            for who in range(2):
                self._move(who, states, open_rows[mover == who], seats[mover == who])
            over = states["phase"][open_rows] >= DEAL_OVER
            if over.any():
                ended = open_rows[over]
                self._count(states, ended, first)
                goes_on = (states["phase"][ended] != MATCH_OVER) & (self.episode == MATCH)
                stopped = goes_on & (states["deal"][ended] >= MOST_DEALS - 1)
                self.unfinished += int(stopped.sum())
                goes_on &= ~stopped
                _deal_rows(states, ended[goes_on], self.rules.packed)
                open_rows = np.concatenate([open_rows[~over], ended[goes_on]])

    def _move(self, who: int, states: NDArray[Any], rows: NDArray[np.int64], seats: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        player, tally = self.players[who], self.tallies[who]
        copies = states[rows]  # no player can change the tables
        start = time.process_time()
        answer = player.act(copies, seats)
        if tally.decisions:  # the first call may compile
            tally.cpu_seconds += time.process_time() - start
            tally.timed += len(rows)
        tally.decisions += len(rows)
        actions = answer_numbers(player, answer, states, rows, self.rules)
        bad = _apply_rows(states, rows, self.rules.packed, actions)
        if bad >= 0:
            raise illegal_answer(player, int(actions[bad]), states, int(rows[bad]), self.rules)

    def _count(self, states: NDArray[Any], rows: NDArray[np.int64], first: int) -> None:
        """Enter deals that have ended."""
        s = states[rows]
        half, pair = rows & 1, first + (rows >> 1)
        sign = 1 - 2 * half
        scores = s["deal_scores"].astype(np.int64)
        np.add.at(self.points, pair, sign * (scores[:, 0] - scores[:, 1]))
        np.add.at(self.dealt, pair, 1)
        taken = s["taker"] != NOBODY
        self.all_pass += int((~taken).sum())
        for who, tally in enumerate(self.tallies):
            mine = taken & (((s["taker"] ^ half) & 1) == who)
            tally.contracts += int(mine.sum())
            tally.made += int((s["made"][mine] == MADE).sum())
            tally.tied += int((s["made"][mine] == TIED).sum())
        decided = (s["phase"] == MATCH_OVER) & (s["match_winner"] != DRAWN)
        np.add.at(self.won, pair[decided], (sign * (1 - 2 * s["match_winner"].astype(np.int64)))[decided])

    def result(self, episode: str) -> MatchResult:
        pairs = len(self.points)
        mean = float(self.points.sum() / self.dealt.sum())
        # a ratio estimate: in matches the number of deals varies between pairs
        interval = _half_width(self.points - mean * self.dealt) / float(self.dealt.mean())
        whole = self.episode == MATCH
        decides = self.won if whole else self.points
        return MatchResult(
            rules=self.rules.name,
            rules_digest=self.rules.digest,
            episode=episode,
            seed=self.seed,
            pairs=pairs,
            deals=int(self.dealt.sum()),
            mean=mean,
            interval=interval,
            wins=int((decides > 0).sum()),
            losses=int((decides < 0).sum()),
            ties=int((decides == 0).sum()),
            all_pass=self.all_pass,
            unfinished=self.unfinished,
            a=self.tallies[0],
            b=self.tallies[1],
            win_rate=0.5 + float(self.won.mean()) / 4 if whole else None,
            win_interval=_half_width(self.won / 4) if whole else None,
            differences=self.points / self.dealt,
        )


def _half_width(values: NDArray[Any]) -> float:
    """Half-width of the 95 % interval of a mean."""
    return float(Z * values.std(ddof=1) / np.sqrt(len(values)))
