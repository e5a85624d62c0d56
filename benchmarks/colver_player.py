"""colver's players at our tables: `python benchmarks/colver_player.py A B [--pairs N] [--seed S]`.

A and B are players of `belote evaluate` or of colver (PyPI, others' in Rust), which meet in duplicate pairs at
`contree`, its game, bidding included.  colver's are named `colver-BIDDER-PLAYER[-BUDGET]`:

    colver-improved_v2-rule          its fair rules for bidding and for play
    colver-improved_v2-isdd-20ms     exact values of sampled worlds, 20 ms a card
    colver-improved_v2-isdd-20w      the same, 20 worlds a card whatever they take
    colver-improved_v2-heuristic     plays with all four hands in view, and so do oracle_dd and oracle_mcts

Worlds are sampled uniformly on one thread; nothing is downloaded.
"""

import argparse
import re
import sys
import time
from collections import OrderedDict
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from belote_env.arena import play_match
from belote_env.notation import legal_numbers, position_text
from belote_env.players import Player, make_player
from belote_env.rules import Rules, as_rules
from belote_env.state import COINCHE, FIRST_CALL, N_CARDS, PASS, PLAY, SURCOINCHE

RULES = Rules.preset("contree")
#: colver's calls by its numbers as ours: pass, four suits of each value and of capot, coinche, surcoinche.
CALLS = [PASS, *(FIRST_CALL + 6 * level + suit for level in range(10) for suit in range(4)), COINCHE, SURCOINCHE]
THEIR_CALL = {ours: theirs for theirs, ours in enumerate(CALLS)}
#: colver's card players that read all four hands (its `agent/dmc.rs` and `agent/ismcts.rs`).
SEE_ALL = ("heuristic", "oracle", "oracle_dd", "oracle_mcts")
NAME = re.compile(r"colver-(\w+)-(\w+?)(?:-([1-9][0-9]*)(ms|w))?")
#: Tables that are remembered between decisions; the rest is replayed.
MOST_TABLES = 50_000


class Seat(NamedTuple):
    """colver's environment and agent at one seat of one deal, and our numbers of what it has been shown."""

    env: Any
    agent: Any
    shown: list[int]


class ColverPlayer(Player):
    """An agent of colver: bidder, card player and budget of a card.

    Its environment replays the deal from the state and checks that both engines allow the same.  Every seat has an
    agent of its own, which is shown each call and card as it comes.

    Args:
        name: as in this file's first lines.

    Attributes:
        moves, seconds: decisions and wall time inside colver, the replay left out.
        cards, worlds: cards that were chosen by sampled worlds, and how many worlds these took.

    Raises:
        ValueError: a name that is none, or an agent that colver refuses.
        ImportError: colver is not installed.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        import colver

        match = NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is not colver-BIDDER-PLAYER[-BUDGET], such as colver-improved_v2-isdd-20ms")
        bidder, player, amount, unit = match.groups()
        if (player == "isdd") != (amount is not None):
            raise ValueError(f"{name!r}: isdd needs a budget such as 20ms or 20w, the others have none")
        budget = f"{'time_ms' if unit == 'ms' else 'determinizations'} = {amount}\n" if amount else ""
        self._spec = (
            f'[bid]\nstrategy = "{bidder}"\n[play]\nmethod = "{player}"\nparallel = false\n{budget}'
            '[worlds]\nsource = "uniform"\n'
        )
        self.name = name + (" (sees all hands)" if player in SEE_ALL else "")
        self._colver, self._seed = colver, seed
        self._tables: OrderedDict[tuple[bytes, int, int], Seat] = OrderedDict()
        self.moves = self.cards = self.worlds = 0
        self.seconds = 0.0
        try:
            self._agent(0)
        except RuntimeError as error:
            raise ValueError(f"colver refuses {name!r}: {error}") from None

    def start(self, rules: Rules | str) -> None:
        if as_rules(rules) != RULES:
            raise ValueError(f"{self.name} plays contree, not {as_rules(rules).name}")
        self.rules = RULES

    def act(self, states: NDArray[Any], seats: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        return np.array([self._decide(states, i, int(seat)) for i, seat in enumerate(seats)], np.int64)

    def _agent(self, seat: int) -> Any:
        return self._colver.Agent(self._spec, seat, self._seed)

    def _decide(self, states: NDArray[Any], i: int, seat: int) -> int:
        s = states[i]
        done = [*s["calls"][: s["n_calls"]].tolist(), *s["cards"][: s["n_cards"]].tolist()]
        playing = s["phase"] == PLAY
        if playing and not s["n_calls"]:
            raise ValueError(f"colver needs the bidding of a deal; position: {position_text(states, i, RULES)}")
        key = (s["pack"].tobytes(), int(s["dealer"]), seat)
        place = self._tables.pop(key, None)
        if place is None or done[: len(place.shown)] != place.shown:
            place = self._sit(s, seat)
        for action in done[len(place.shown) :]:
            self._show(place, action)
        env = place.env
        self._skip_partner(place)
        theirs = env.legal_actions()
        legal = sorted(theirs if playing else (CALLS[number] for number in theirs))
        if legal != legal_numbers(states, i, RULES) or env.current_player() != seat:
            raise ValueError(f"colver allows seat {env.current_player()} {legal}: {position_text(states, i, RULES)}")
        begin = time.perf_counter()
        answer = place.agent.decide(env)
        self.seconds += time.perf_counter() - begin
        self.moves += 1
        self.cards += answer["determinizations"] > 0
        self.worlds += answer["determinizations"]
        if s["n_cards"] < N_CARDS - 4:  # else it was the seat's last decision
            self._tables[key] = place
            if len(self._tables) > MOST_TABLES:
                self._tables.popitem(last=False)
        return int(answer["action"]) if playing else CALLS[answer["action"]]

    def _sit(self, s: Any, seat: int) -> Seat:
        """A new seat at the start of the deal of state `s`."""
        pack, dealer = s["pack"].tolist(), int(s["dealer"])
        hands: list[list[int]] = [[], [], [], []]
        cuts = np.cumsum((0, *np.repeat(RULES.packets, 4)))
        for k, (begin, end) in enumerate(pairwise(cuts)):
            hands[(dealer + 1 + k) % 4] += pack[begin:end]
        env, agent = self._colver.Env.deal_with_hands(dealer, hands), self._agent(seat)
        agent.init_deal(env)
        return Seat(env, agent, [])

    def _show(self, place: Seat, action: int) -> None:
        self._skip_partner(place)
        number = THEIR_CALL[action] if place.env.phase() == 0 else action
        place.agent.observe(place.env, number)
        place.env.step(number)
        place.shown.append(action)

    def _skip_partner(self, place: Seat) -> None:
        """Pass for the doubler's partner, whom colver asks and who has no choice."""
        env = place.env
        if COINCHE in place.shown and SURCOINCHE not in place.shown and env.phase() == 0:
            history = env.get_bid_history()
            doubler = next(seat for seat, call in history if call == THEIR_CALL[COINCHE])
            if env.current_player() == (doubler + 2) % 4:
                place.agent.observe(env, 0)
                env.step(0)


def player_of(name: str) -> Player:
    """A player of either package."""
    return ColverPlayer(name) if name.startswith("colver") else make_player(name)


def main() -> int:
    """Play, print, save; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    try:
        players = player_of(options.a), player_of(options.b)
        result = play_match(
            *players, RULES, deals=options.pairs, seed=options.seed, progress=sys.stderr.isatty(), pairs_at_once=256
        )
    except (ValueError, ImportError) as error:
        parser.error(str(error))
    Console(width=None if sys.stdout.isatty() else 120).print(result.table())
    print(f"colver {version('colver')}" if any(isinstance(p, ColverPlayer) for p in players) else "")
    for player in players:
        if isinstance(player, ColverPlayer) and player.moves:
            line = f"{player.name}: {1e3 * player.seconds / player.moves:.3f} ms a decision inside colver (wall)"
            if player.cards:
                line += f", {player.worlds / player.cards:.1f} worlds for each of {player.cards:,} cards"
            print(line)
    if options.json:
        options.json.write_text(result.to_json() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
