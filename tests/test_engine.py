"""The engine against the slow referee, and what holds in every deal."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
import referee as slow
from twin import compare, compare_end, play_both, play_matches, trump_heavy

from belote_env.cards import CARD_NAMES, POINTS, parse_card
from belote_env.engine import below, word
from belote_env.notation import legal_numbers
from belote_env.rules import Rules

#: Decisions a table compared in the suite.
DECISIONS = 200_000
#: Our rules and the referee's settings for each table that is played; `declarations` without section 7 so far.
TABLES = {
    "classic": (Rules.preset("classic"), slow.TABLES["classic"]),
    "single_deal": (Rules.preset("single_deal"), slow.TABLES["single_deal"]),
    "belote_501": (Rules.preset("belote_501"), slow.TABLES["belote_501"]),
    "coinche": (Rules.preset("coinche"), slow.TABLES["coinche"]),
    "contree": (Rules.preset("contree"), slow.TABLES["contree"]),
    "declarations": (
        Rules.preset("declarations", declarations=False),
        slow.override("declarations", declarations=False),
    ),
    "coinche with no-trump and all-trump": (
        Rules.preset("coinche", no_trump=True, all_trump=True),
        slow.override("coinche", strains=["S", "H", "D", "C", "NT", "AT"]),
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_the_referee_agrees(table):
    rules, settings = TABLES[table]
    done = 0
    for seed, choose in enumerate((None, trump_heavy)):
        while done < DECISIONS * (seed + 1) // 2:
            done += play_both(rules, settings, 100, seed=1000 * done + seed, choose=choose)
    assert done >= DECISIONS


def directed(rules: Rules, settings, hands, dealer, taker, trump, plays, knowledge=True):
    """A deal from its first lead through both, checking each position on the way; plays to the end at random."""
    from belote_env import Game

    value = 90 if rules.bidding == "auction" else None
    game = Game.from_play(rules, hands, dealer=dealer, taker=taker, trump=trump, value=value)
    twin = slow.Referee.at_play(settings, [h.split() for h in hands], dealer, taker, trump, value)
    rng = random.Random(5)
    for text in [*plays.split(), *[None] * 32]:
        if game.deal_over:
            break
        legal = compare(game._states, rules, twin, knowledge)
        action = parse_card(text) if text else rng.choice(legal)
        assert action in legal, (text, game.to_text())
        game.play(action)
        twin.apply(action)
    compare_end(game._states, rules, twin)
    return game


# Seat 1 leads in each (dealer 0). Trump hearts.
DIRECTED = {
    "cannot beat an opponent's trump: a lower one, or any card": (
        (
            "7S 8S 9S 10H AD KD QD JD",
            "AC KC QC JC 8C 7C AS KS",
            "JH 9H AH 7H QS JS 10S 7D",
            "KH QH 8H 9C 10C 10D 9D 8D",
        ),
        "AC JH 9C 7S",
    ),
    "partner wins with a trump and only trumps are held": (
        (
            "7S 8S 9S 10S JS QS KS AS",
            "AC KC QC JC 7C 8C 9C 10C",
            "7D 8D 9D JD QD KD 10D AD",
            "7H 8H 9H JH QH KH 10H AH",
        ),
        "AC AD JH",
    ),
    "the over-ruffed partner": (
        (
            "AH 7H 9D 10D JD QD KD AD",
            "AC KC QC JC 7C 8C 9C 10C",
            "8H 9H 7S 8S 9S 10S JS QS",
            "10H JH QH KH KS AS 7D 8D",
        ),
        "AC 8H 10H AH",
    ),
    "belote, then rebelote": (
        (
            "7S 8S 9S 10S JS QS KS AS",
            "KH QH AH 7C 8C 9C JC QC",
            "7D 8D 9D JD QD KD 10D AD",
            "7H 8H 9H JH 10H KC 10C AC",
        ),
        "KH 7D 9H 7S",
    ),
    "K and Q split between partners": (
        (
            "7S 8S 9S 10S JS QS KS AS",
            "KH JH AH 7C 8C 9C JC QC",
            "7D 8D 9D JD QD KD 10D AD",
            "7H 8H 9H QH 10H KC 10C AC",
        ),
        "JH 7D QH 7S",
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_the_referee_agrees_over_whole_matches(table):
    rules, settings = TABLES[table]
    assert play_matches(rules, settings, 30, seed=7, choose=trump_heavy) >= 30
    assert play_matches(rules, settings, 10, seed=8) >= 10


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("case", DIRECTED)
def test_directed_positions(table, case):
    hands, plays = DIRECTED[case]
    directed(*TABLES[table], hands, 0, 1, "H", plays)


@pytest.mark.parametrize("table", TABLES)
def test_random_valid_hands_from_the_first_lead(table):
    """Every seat, strain and taker, dealt without a bidding."""
    rng = random.Random(table)
    rules, settings = TABLES[table]
    strains = ["S", "H", "D", "C"] + ["NT"] * rules.no_trump + ["AT"] * rules.all_trump
    for _ in range(200):
        pack = list(CARD_NAMES)
        rng.shuffle(pack)
        hands = [" ".join(pack[8 * k : 8 * k + 8]) for k in range(4)]
        directed(rules, settings, hands, rng.randrange(4), rng.randrange(4), rng.choice(strains), "", False)


def test_the_pack_is_fair():
    """Each card falls into each place of the pack equally often; so does the first dealer on each seat."""
    from belote_env.engine import new_match
    from belote_env.state import new_states

    rules, states = Rules.preset("classic").packed, new_states(1)
    deals = 8000
    places = np.zeros((32, 32), np.int64)
    dealers = np.zeros(4, np.int64)
    for seed in range(deals):
        new_match(states, 0, rules, np.uint64(seed))
        places[np.arange(32), states[0]["pack"]] += 1
        dealers[states[0]["dealer"]] += 1
    chi2 = ((places - deals / 32) ** 2 / (deals / 32)).sum()
    assert abs(chi2 - 31 * 31) < 5 * np.sqrt(2 * 31 * 31)
    assert (abs(dealers - deals / 4) < 5 * np.sqrt(deals * 3 / 16)).all()


def test_random_words_are_uniform_below_a_bound():
    counts = np.bincount([below(np.uint64(word(np.uint64(1), 2, k)), 10) for k in range(20_000)], minlength=10)
    assert (abs(counts - 2000) < 5 * np.sqrt(1800)).all()


def test_points_of_the_pack():
    """rules 1.2-1.4 and 9: 152 in every strain."""
    assert POINTS.sum(axis=1).tolist() == [152] * 6
    assert POINTS[0, :8].sum() == 62
    assert POINTS[0, 8:16].sum() == 30


def test_kernels_run_with_the_jit_off():
    """The same deals, move by move, in plain Python."""
    program = (
        "import warnings; warnings.filterwarnings('ignore', category=RuntimeWarning)\n"
        "from belote_env import Game\n"
        "for seed in range(3):\n"
        "    game = Game('classic', seed=seed)\n"
        "    while not game.deal_over:\n"
        "        legal = game.legal_actions()\n"
        "        game.play(legal[(7 * seed + 3 * len(game.events())) % len(legal)])\n"
        "    game.observe(0)\n"
        "    print(game.to_text(), game.deal_scores)\n"
    )
    lines = []
    for off in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": off}
        lines.append(
            subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        )
    assert lines[0].stdout == lines[1].stdout != ""


def test_no_legal_action_when_the_deal_is_over():
    from belote_env import Game

    game = Game("classic", seed=1)
    for _ in range(8):
        game.play("pass")
    assert game.deal_over
    assert game.deal_scores == (0, 0)
    assert legal_numbers(game._states, 0, game.rules) == []
