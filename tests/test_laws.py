"""Laws of every deal, under every table and under rules drawn at random."""

import json
import random
from pathlib import Path

import numba
import numpy as np
import pytest
import referee as slow
from golden.make import TABLES, perft, perft_depth, signature
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rules import random_rules
from twin import play_both, trump_heavy

from belote_env import Game, Rules
from belote_env.engine import apply, below, legal_actions, mix, new_match, next_deal
from belote_env.notation import parse_position, parse_rules, rules_text
from belote_env.rules import PRESETS
from belote_env.state import DEAL_OVER, MATCH_OVER, MAX_CALLS, NOBODY, new_states

GOLDEN = Path(__file__).parent / "golden"


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_referee_agrees_under_random_rules(rng, heavy):
    rules, theirs = random_rules(rng)
    try:
        play_both(rules, theirs, 6, seed=rng.randrange(2**32), choose=trump_heavy if heavy else None)
    except AssertionError as error:
        raise AssertionError(f"{error} under {rules_text(rules)}") from None


@numba.njit
def conservation(states, rules, seed, deals):  # not cached: it lives in a test
    """Play random deals; `(deals played, decisions, longest deal)`, or the deal's number below 0 that broke a law."""
    new_match(states, 0, rules, np.uint64(seed))
    x = np.uint64(seed)
    decisions, longest = 0, 0
    for deal in range(deals):
        moves = 0
        while np.int64(states[0].phase) < DEAL_OVER:
            low, high = legal_actions(states, 0, rules)
            count = 0
            for k in range(64):
                count += ((low >> k) & 1) + ((high >> k) & 1)
            if count == 0:
                return -deal - 1, decisions, moves
            x += np.uint64(0x9E3779B97F4A7C15)
            w = mix(x)
            # half of the calls are passes, so that auctions are short as well as long
            action = 32 if (low >> 32) & 1 and w & np.uint64(1) else -1
            if action < 0:
                pick = below(w, count)
                for k in range(128):
                    bit = (low >> k) & 1 if k < 64 else (high >> (k - 64)) & 1
                    if bit:
                        if pick == 0:
                            action = k
                            break
                        pick -= 1
            apply(states, 0, rules, action)
            moves += 1
        s = states[0]
        longest = max(longest, moves)
        decisions += moves
        if np.int64(s.taker) != NOBODY:
            played = np.int64(0)
            for seat in range(4):
                if np.int64(s.hands[seat]) != 0 or played & np.int64(s.played[seat]):
                    return -deal - 1, decisions, moves
                played |= np.int64(s.played[seat])
            total = np.int64(s.points[0]) + np.int64(s.points[1])
            capot = np.int64(s.won[0]) == 8 or np.int64(s.won[1]) == 8
            if played != 0xFFFFFFFF or total != (252 if capot else 162) or np.int64(s.won[0]) + np.int64(s.won[1]) != 8:
                return -deal - 1, decisions, moves
        elif np.int64(s.deal_scores[0]) != 0 or np.int64(s.deal_scores[1]) != 0:
            return -deal - 1, decisions, moves
        if np.int64(s.phase) == MATCH_OVER:
            new_match(states, 0, rules, x)
        else:
            next_deal(states, 0, rules)
    return deals, decisions, longest


def test_nothing_is_lost_in_a_million_deals():
    """Points 152 + 10 or 100, every card played once, every deal within a bound."""
    deals = -(-1_000_000 // len(TABLES))
    for number, table in enumerate(TABLES):
        rules, states = parse_rules(table), new_states(1)
        done, decisions, longest = conservation(states, rules.packed, number, deals)
        assert done == deals, f"{table} deal {-done - 1}: {states[0]}"
        assert decisions > 20 * deals
        assert longest <= MAX_CALLS + 32


def test_the_longest_auction_fits():
    """Every level bid in turn after three passes, two passes between, coinche at the end, accept and surcoinche."""
    rules = Rules.preset("contree", bid_maximum=180)
    game = Game(rules, seed=1)
    calls = ["pass"] * 3
    for value in [*range(80, 190, 10), 250]:
        calls += [f"{value}S", "pass", "pass"]
    calls += ["coinche", "accept", "surcoinche"]
    for call in calls:
        game.play(call)
    assert game.phase == "play"
    assert len(calls) <= MAX_CALLS
    assert game.contract.multiplier == 4


@pytest.mark.parametrize("table", TABLES)
def test_perft(table):
    """The referee's counts of every line to a depth, from twenty positions; a mismatch names the action."""
    for text, expected in json.loads((GOLDEN / "perft.json").read_text())[table].items():
        states, rules = parse_position(text)
        found = perft(states, rules, perft_depth(rules, int(states[0]["phase"])))
        names = {*found, *expected}
        differing = {
            name: (found.get(name), expected.get(name)) for name in names if found.get(name) != expected.get(name)
        }
        assert not differing, f"(engine, referee) by action: {differing}: {text}"


@pytest.mark.parametrize("table", TABLES)
def test_the_signature_is_the_referees(table):
    """10,000 seeded deals: every action, score and result. A commit that moves it says so."""
    assert signature(table, fast=True) == json.loads((GOLDEN / "signatures.json").read_text())[table]


def test_golden_files_cover_the_played_tables():
    for file in ("perft.json", "signatures.json"):
        assert sorted(json.loads((GOLDEN / file).read_text())) == sorted(TABLES)
    assert all(len(positions) == 20 for positions in json.loads((GOLDEN / "perft.json").read_text()).values())
    assert {table.split("(")[0] for table in TABLES} == set(PRESETS) == set(slow.TABLES)


def test_deals_of_a_seed_repeat():
    for table in TABLES:
        packs = []
        for _ in range(2):
            game, rng = Game(parse_rules(table), seed=99), random.Random(1)
            while not game.deal_over:
                game.play(rng.choice(game.legal_actions()))
            packs.append(game.to_text())
        assert packs[0] == packs[1]
