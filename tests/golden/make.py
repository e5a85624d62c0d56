"""Make perft.json and signatures.json from the slow referee: `python tests/golden/make.py` (ten minutes).

The same walks over the engine are what the tests compare with these files.
"""

import copy
import json
import random
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent)]

import referee as slow  # noqa: E402
from twin import start_both  # noqa: E402

from belote_env.cards import CARD_NAMES  # noqa: E402
from belote_env.engine import apply, begin_deal  # noqa: E402
from belote_env.notation import action_name, legal_numbers, parse_rules, position_text  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.state import MADE, NOBODY, PLAY, new_states  # noqa: E402

#: Each table by the text of its rules; `declarations` without section 7 so far.
TABLES = {
    "single_deal": "single_deal",
    "belote_501": "belote_501",
    "classic": "classic",
    "coinche": "coinche",
    "contree": "contree",
    "declarations(declarations=false)": slow.override("declarations", declarations=False),
}
DEALS = 10_000


def perft_depth(rules: Rules, phase: int) -> int:
    """Eight actions in play, five in turn-up bidding, three in an auction, where a position has forty."""
    if phase >= PLAY:
        return 8
    return 3 if rules.bidding == "auction" else 5


def seeded_deal(number: int) -> tuple[list[int], int, random.Random]:
    """`(pack, dealer, random stream)` of the deal with that number."""
    rng = random.Random(number)
    pack = list(range(32))
    rng.shuffle(pack)
    return pack, number % 4, rng


def choose(legal: list[int], state: int) -> tuple[int, int]:
    """`(action, next state)` of a small linear generator; every second call of an auction is a pass."""
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    if 32 in legal and (state >> 24) & 1:
        return 32, state
    return legal[(state >> 8) % len(legal)], state


def signature(table: str, fast: bool, deals: int = DEALS) -> str:
    """Checksum over every action and result of seeded deals: by the engine when `fast`, else by the referee."""
    rules = parse_rules(table)
    total = 0
    for number in range(deals):
        pack, dealer, _ = seeded_deal(number)
        trace: list[int] = []
        state = number
        if fast:
            states = new_states(1)
            states[0]["pack"], states[0]["dealer"] = pack, dealer
            begin_deal(states, 0, rules.packed)
            while legal := legal_numbers(states, 0, rules):
                action, state = choose(legal, state)
                trace.append(action)
                apply(states, 0, rules.packed, action)
            s = states[0]
            played = s["taker"] != NOBODY
            result = [*s["deal_scores"], *s["points"], *s["won"], int(played and s["made"] == MADE), s["pot"]]
        else:
            game = slow.Referee(TABLES[table], [CARD_NAMES[c] for c in pack], dealer)
            while legal := sorted(game.legal()):
                action, state = choose(legal, state)
                trace.append(action)
                game.apply(action)
            result = [*game.deal_scores, *game.trick_points, *game.tricks_won, int(bool(game.made)), game.pot]
            if not rules.target:
                result[-1] = 0  # the match is over, and a pot with it
        total = zlib.crc32(" ".join(str(int(n)) for n in trace + result).encode(), total)
    return f"{total:08x}"


def perft(states, rules: Rules, depth: int) -> dict[str, int]:
    """For each legal action's name, how many lines of `depth` actions begin with it (fewer where the deal ends)."""
    counts = {}
    for action in legal_numbers(states, 0, rules):
        after = states.copy()
        apply(after, 0, rules.packed, action)
        counts[action_name(action, int(states[0]["phase"]), rules.bidding)] = _lines(after, rules, depth - 1)
    return counts


def _lines(states, rules: Rules, depth: int) -> int:
    legal = legal_numbers(states, 0, rules)
    if depth == 0 or not legal:
        return 1
    if depth == 1:
        return len(legal)
    total = 0
    for action in legal:
        after = states.copy()
        apply(after, 0, rules.packed, action)
        total += _lines(after, rules, depth - 1)
    return total


def slow_perft(game: slow.Referee, depth: int) -> dict[int, int]:
    """The same by the referee, by action number."""
    counts = {}
    for action in sorted(game.legal()):
        after = copy.deepcopy(game)
        after.apply(action)
        counts[action] = _slow_lines(after, depth - 1)
    return counts


def _slow_lines(game: slow.Referee, depth: int) -> int:
    legal = game.legal()
    if depth == 0 or not legal:
        return 1
    if depth == 1:
        return len(legal)
    total = 0
    for action in legal:
        after = copy.deepcopy(game)
        after.apply(action)
        total += _slow_lines(after, depth - 1)
    return total


def positions(table: str):
    """Twenty fixed positions: four in the bidding, sixteen from the third trick on. `(text, referee)`."""
    rules = parse_rules(table)
    number = 0
    found = 0
    while found < 20:
        pack, dealer, rng = seeded_deal(1_000_000 + number)
        number += 1
        states, game = start_both(rules, TABLES[table], pack, dealer)
        moves = rng.randrange(4) if found < 4 else 99
        if found < 4 and rules.bidding == "auction":
            moves = rng.randrange(8)
        cards = rng.randrange(13, 29)
        while game.phase != "over" and moves and len(game.plays) < cards:
            legal = sorted(game.legal())
            calls = [a for a in legal if 35 <= a < 53]
            action = rng.choice(calls if calls and rng.random() < 0.5 else legal if game.phase == "play" else [32])
            game.apply(action)
            apply(states, 0, rules.packed, action)
            moves -= 1
        if game.phase == "over" or (found >= 4 and game.phase != "play"):
            continue
        if found < 4 and game.phase == "play":
            continue
        found += 1
        yield position_text(states, 0, rules), game


def main() -> None:
    """Write both files."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for table in TABLES:
        counts[table] = {}
        rules = parse_rules(table)
        for text, game in positions(table):
            phase = {"bid1": 0, "bid2": 1, "auction": 2, "answer": 3, "play": 4}[game.phase]
            depth = perft_depth(rules, phase)
            counts[table][text] = {action_name(a, phase, rules.bidding): n for a, n in slow_perft(game, depth).items()}
        print(table, sum(sum(c.values()) for c in counts[table].values()), "lines", flush=True)
    (HERE / "perft.json").write_text(json.dumps(counts, indent=1) + "\n")
    marks = {}
    for table in TABLES:
        marks[table] = signature(table, fast=False)
        print(table, marks[table], flush=True)
    (HERE / "signatures.json").write_text(json.dumps(marks, indent=1) + "\n")


if __name__ == "__main__":
    main()
