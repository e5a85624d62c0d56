"""The match: duplicate pairs between two players, and what is counted in them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from belote_env.arena.deals import MOST_PAIRS, Deals, ask, deal_rows, play
from belote_env.arena.meter import Regret, RegretMeter, ratio
from belote_env.arena.result import MOST_DEALS, MatchResult, Tally
from belote_env.envs.batch import EPISODES, MATCH
from belote_env.players import Player, as_player
from belote_env.rules import Rules, as_rules
from belote_env.rulings import whole_number
from belote_env.state import DEAL_OVER, DRAWN, MADE, MATCH_OVER, NOBODY, TIED

#: Pairs that are on the tables at a time; results do not depend on it.
PAIRS_AT_ONCE = 4096


def play_match(
    a: Player | str | Callable[..., int],
    b: Player | str | Callable[..., int],
    rules: Rules | str = "classic",
    deals: int | NDArray[Any] = 1000,
    episode: str = "deal",
    seed: int = 0,
    progress: bool = False,
    pairs_at_once: int = PAIRS_AT_ONCE,
    regret: bool = False,
) -> MatchResult:
    """Play duplicate pairs between two players.

    Args:
        a, b: players, names of players, or functions `(observation, mask) -> action`.
        rules: `Rules` or a preset's name.
        deals: number of duplicate pairs, 2..2**31-1, or (n,) states in which they start, none of them over.
        episode: "deal": pairs of single deals; "match": pairs of whole matches, each a draw if it has no end after
            `MOST_DEALS` deals.
        seed: 0..2**64-1; deal i depends on (seed, i) alone; not used where `deals` are states.
        progress: show a progress bar.
        pairs_at_once: pairs on the tables at a time; the result does not depend on it where the
            players' actions depend on the position alone.
        regret: measure what the cards of both give away too; some 20 ms of CPU a deal.

    Raises:
        ValueError: an argument out of range, or a player whose answer is no action or not a legal one.
    """
    table, players = as_rules(rules), (as_player(a), as_player(b))
    source = Deals(table, deals, seed, episode, copies=2)
    pairs_at_once = whole_number("pairs_at_once", pairs_at_once, 1, MOST_PAIRS)
    for player in players:
        player.start(table)
    arena = _Arena(source, players, regret)
    with Progress(console=Console(stderr=True), transient=True, disable=not progress) as bar:
        task = bar.add_task(f"{players[0].name} – {players[1].name}", total=len(source))
        arena.show = lambda pairs: bar.update(task, completed=pairs)
        for first in range(0, len(source), pairs_at_once):
            arena.play(first, min(pairs_at_once, len(source) - first))
    return arena.result()


class _Arena:
    """The pairs of one match and what has been counted; half h seats player a on side h."""

    def __init__(self, source: Deals, players: tuple[Player, Player], regret: bool) -> None:
        self.source, self.rules, self.players = source, source.rules, players
        self.tallies = (Tally(players[0].name), Tally(players[1].name))
        self.meters = [RegretMeter(source.rules, len(source)) for _ in players] if regret else []
        self.points = np.zeros(len(source), np.int64)  # a's less b's, both halves
        self.dealt = np.zeros(len(source), np.int64)  # deals, both halves
        self.won = np.zeros(len(source), np.int64)  # matches a won less those b won
        self.all_pass = self.unfinished = 0
        self.show: Callable[[float], None] = lambda pairs: None

    def play(self, first: int, count: int) -> None:
        """Play pairs first .. first + count - 1 to their ends."""
        states = self.source.start(first, count)
        first_deals = states["deal"].copy()
        open_rows = np.arange(2 * count)
        while len(open_rows):
            mover = (states["turn"][open_rows] ^ open_rows) & 1
            for who in range(2):
                self._move(who, states, open_rows[mover == who], first)
            over = states["phase"][open_rows] >= DEAL_OVER
            if over.any():
                ended = open_rows[over]
                self._count(states, ended, first)
                goes_on = (states["phase"][ended] != MATCH_OVER) & (self.source.episode == MATCH)
                stopped = goes_on & (states["deal"][ended] - first_deals[ended] >= MOST_DEALS - 1)
                self.unfinished += int(stopped.sum())
                goes_on &= ~stopped
                deal_rows(states, ended[goes_on], self.rules.packed)
                open_rows = np.concatenate([open_rows[~over], ended[goes_on]])
            # a deal under way counts by its cards; how long a match will be nobody knows
            part = 0.0 if self.source.episode == MATCH else float(states["n_cards"][open_rows].sum()) / 32
            self.show(first + count - (len(open_rows) - part) / 2)

    def _move(self, who: int, states: NDArray[Any], rows: NDArray[np.int64], first: int) -> None:
        if not len(rows):
            return
        player, tally = self.players[who], self.tallies[who]
        actions, seconds = ask(player, states, rows, self.rules)
        if tally.decisions:  # the first call may compile
            tally.cpu_seconds += seconds
            tally.timed += len(rows)
        tally.decisions += len(rows)
        before = states[rows] if self.meters else None
        play(player, states, rows, self.rules, actions)
        if before is not None:
            self.meters[who].add(before, actions, first + (rows >> 1))

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

    def result(self) -> MatchResult:
        pairs = len(self.points)
        mean, interval = ratio(self.points, self.dealt)  # in matches the number of deals varies between pairs
        whole = self.source.episode == MATCH
        decides = self.won if whole else self.points
        return MatchResult(
            rules=self.rules.name,
            rules_digest=self.rules.digest,
            episode=EPISODES[self.source.episode],
            seed=self.source.seed,
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
            win_interval=ratio(self.won / 4, np.ones(pairs))[1] if whole else None,
            differences=self.points / self.dealt,
            regrets=self._regrets(),
        )

    def _regrets(self) -> tuple[Regret, Regret] | None:
        if not self.meters:
            return None
        a, b = (meter.result(player.name) for meter, player in zip(self.meters, self.players, strict=True))
        return a, b
