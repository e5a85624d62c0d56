"""The observation against a slow one: every bit, in both frames; what can be read back from it; its page.

`make oracle` compares 100,000 positions a table and more; the suite compares some thousands.
"""

import importlib.util
import os
import random
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import referee as slow
from random_rules import random_rules
from referee_memory import calls_read, legal_read, plays_read
from referee_observation import IDENTITY, View, action_in_frame, known_not_held, mask, rules_bits
from referee_score import SUITS
from test_engine import DIRECTED, TABLES
from test_resample import LOOK_DIFFERENT
from test_rules_docs import neighbours, tables
from twin import random_choice, start_both, trump_heavy

from belote_env import Game, Rules
from belote_env.cards import CARD_NAMES, parse_card
from belote_env.engine import apply, next_deal
from belote_env.envs import SelfPlayVector
from belote_env.notation import position_text, rules_text
from belote_env.observation import (
    HIDDEN_SIZE,
    HIDDEN_WORDS,
    LAYOUT,
    OFFSETS,
    SIZE,
    field_bits,
    observe_batch,
    observe_hidden,
    varying_columns,
)

LONG = bool(os.environ.get("BELOTE_ORACLE_LONG"))
#: Decisions a table, those of them whose history is read back, and how many rules are drawn at random.
DECISIONS, READ_BACK, DRAWN = (100_000, 20_000, 1_000) if LONG else (2_000, 400, 15)
#: Decisions under each of the rules drawn at random.
DRAWN_DECISIONS = 100
pytestmark = pytest.mark.timeout(3_600 if LONG else 600)

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "observation.md"


# --- side by side ----------------------------------------------------------------------------------------------


def alike_in_two_suits(rng, auction):
    """A pack that deals one seat the same ranks in two suits, or none of them: only what others do tells them apart."""
    a, b, *others = rng.sample(range(4), 4)
    ranks = rng.sample(range(8), rng.choice([0, 1, 1, 2]))
    twins = [8 * suit + rank for suit in (a, b) for rank in ranks]
    different = [8 * suit + rank for suit in others for rank in range(8)]
    rest = [8 * suit + rank for suit in (a, b) for rank in range(8) if rank not in ranks]
    rng.shuffle(different)
    rng.shuffle(rest)
    at = rng.randrange(4)  # rules 3.1, 3.3: packets of 3 then 2, or 3, 2, 3
    own = [3 * at, 3 * at + 1, 3 * at + 2, 12 + 2 * at, 13 + 2 * at]
    own += [20 + 3 * at + k for k in range(3)] if auction else range(20, 32)  # what is dealt later may come to it
    places = own + [place for place in range(32) if place not in own]
    return [card for _, card in sorted(zip(places, twins + different + rest, strict=True))]


def deals(rules, settings, rng, choose):
    """Endless positions of both engines: deals that stand anywhere in a match, some of them followed by the next."""
    states = game = None
    while True:
        if game is not None and game.match_over() == "continue" and rng.random() < 0.5:
            next_deal(states, 0, rules.packed)
            s = states[0]
            pack, scores = [CARD_NAMES[c] for c in s["pack"]], tuple(map(int, s["scores"]))
            game = slow.Referee(settings, pack, int(s["dealer"]), scores=scores, pot=int(s["pot"]))
        else:
            low = rng.choice([0, max(0, rules.target - 260)])
            scores = (rng.randrange(low, rules.target), rng.randrange(low, rules.target)) if rules.target else (0, 0)
            pot = rng.choice([0, 1, 40, 41, 71, 80, 81, 91, 120, 121, 300]) if rules.tie == "litige" else 0
            pack = rng.sample(range(32), 32)
            if rng.random() < 0.25:
                pack = alike_in_two_suits(rng, rules.bidding == "auction")
            states, game = start_both(rules, settings, pack, rng.randrange(4), scores, pot)
        while True:
            yield states, game
            if game.phase == "over":
                break
            action = choose(game, sorted(game.legal()), rng)
            apply(states, 0, rules.packed, action)
            game.apply(action)


def shown_to(states, viewer, rules, canonical):
    """`(observation, mask, hidden hands)` as the engine shows them, in bytes."""
    observations, masks, frames = observe_batch(states, [viewer], rules, canonical)
    hidden = np.zeros((1, HIDDEN_WORDS), np.uint64)
    observe_hidden(states, 0, viewer, frames[0], hidden, 0)
    return observations.tobytes(), masks.tobytes(), hidden.tobytes()


def fields_of(seen):
    """{name: bits} of an observation in bytes."""
    return {field.name: list(seen[OFFSETS[field.name] : OFFSETS[field.name] + field.size]) for field in LAYOUT}


def differences(seen, expected):
    """A sentence for each field that differs."""
    shown = fields_of(seen)
    return [
        f"{name} at {OFFSETS[name]}: bits {[k for k, bit in enumerate(bits) if bit != shown[name][k]]} differ"
        for name, bits in expected.items()
        if shown[name] != bits
    ]


def compare(states, game, rules, viewer):
    """Everything that a seat sees, in both frames; returns its fields in the identity frame."""
    view, fields = View(game, viewer), []
    for canonical, frame in ((False, IDENTITY), (True, view.canonical_frame())):
        seen, legal, hidden = shown_to(states, viewer, rules, canonical)
        expected = view.observation(frame)
        fields.append(expected)
        # the position is written only for a failure: a text costs more than the comparison
        if seen != bytes(chain.from_iterable(expected.values())):
            pytest.fail(f"{differences(seen, expected)}, {where(states, rules, viewer, frame)}", pytrace=False)
        if hidden != bytes(view.hidden_hands(frame)):
            pytest.fail(f"hidden hands, {where(states, rules, viewer, frame)}", pytrace=False)
        acts = game.phase != "over" and game.turn == viewer
        if legal != (bytes(mask(game, rules.n_actions, frame)) if acts else bytes(rules.n_actions)):
            pytest.fail(f"mask, {where(states, rules, viewer, frame)}", pytrace=False)
    return fields[0]


def where(states, rules, viewer, frame):
    return f"viewer {viewer}, frame {frame}: {position_text(states, 0, rules)}"


def agree(rules, settings, decisions, seed, choose):
    """Compare so many decisions for the seat to act, one in sixteen for all four seats; returns what was counted."""
    rng = random.Random(seed)
    counts, values = Counter(), {field.name: set() for field in LAYOUT}
    for states, game in deals(rules, settings, rng, choose):
        over = game.phase == "over"
        viewers = rng.sample(range(4), 4) if over or rng.random() < 0.0625 else [game.turn]
        for viewer in viewers:
            for name, bits in compare(states, game, rules, viewer).items():
                values[name].add(bytes(bits))
        counts["views"] += len(viewers)
        counts["decisions"] += not over
        counts["deals"] += over
        if over and counts["decisions"] >= decisions:
            return counts, values


@pytest.mark.parametrize("table", TABLES)
def test_every_bit(table):
    """No field is empty talk either: each that the table uses is seen to change."""
    rules, settings = TABLES[table]
    total, values = Counter(), {field.name: set() for field in LAYOUT}
    for number, choose in enumerate((random_choice, trump_heavy)):
        counts, seen = agree(rules, settings, DECISIONS // 2, f"{table} {number}", choose)
        total += counts
        for name in values:
            values[name] |= seen[name]
    assert total["decisions"] >= DECISIONS
    moving = {name for name, seen in values.items() if len(seen) > 1}
    used = {field.name for field in LAYOUT if field.moves in ("all", rules.bidding)}
    unused = {"score_us", "score_them"} if not rules.target else set()
    assert moving == used - unused - ({"pot"} if rules.tie != "litige" else set())
    print(f"\n{table}: {dict(total)}, no difference")


def test_every_bit_under_random_rules():
    total = Counter()
    for number in range(DRAWN):
        rules, settings = random_rules(random.Random(f"drawn {number}"))
        choose = (random_choice, trump_heavy)[number % 2]
        total += agree(rules, settings, DRAWN_DECISIONS, f"rules {number}", choose)[0]
    print(f"\n{DRAWN} rules drawn at random: {dict(total)}, no difference")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("corner", DIRECTED)
def test_every_bit_in_rare_corners(corner, table):
    rules, settings = TABLES[table]
    hands, plays = DIRECTED[corner]
    value = 90 if rules.bidding == "auction" else None
    game = Game.from_play(rules, hands, dealer=0, taker=1, trump="H", value=value)
    twin = slow.Referee.at_play(settings, [hand.split() for hand in hands], 0, 1, "H", value)
    rng = random.Random(corner)
    for text in [*plays.split(), *[None] * 32]:
        for viewer in range(4):
            compare(game._states, twin, rules, viewer)
        if game.deal_over:
            break
        action = parse_card(text) if text else rng.choice(game.legal_actions())
        game.play(action)
        twin.apply(action)
    assert game.deal_over


@pytest.mark.parametrize("difference", LOOK_DIFFERENT)
def test_every_bit_where_suits_differ_by_their_past(difference):
    end = Game.parse(LOOK_DIFFERENT[difference])
    rules, settings = TABLES[end.rules.name]
    states, twin = start_both(rules, settings, end._states[0]["pack"].tolist(), end.dealer)
    for event in end.events():
        apply(states, 0, rules.packed, event.action)
        twin.apply(event.action)
        for viewer in range(4):
            compare(states, twin, rules, viewer)


def test_the_slow_knowledge_is_the_referees():
    """The cards a seat is known not to hold, asked for play by play, are those that the referee leaves out."""
    for table, (rules, settings) in TABLES.items():
        rng, seen = random.Random(table), 0
        for _, game in deals(rules, settings, rng, trump_heavy):
            if rng.random() < 0.1:
                known, viewer = known_not_held(game), rng.randrange(4)
                for seat, possible in slow.possible_cards(game, viewer).items():
                    unseen = set(slow.CARDS) - game.hands[viewer] - {card for _, card, _ in game.plays}
                    assert possible == unseen - known[seat]
                seen += 1
            if seen == 40:
                break


# --- what can be read back ----------------------------------------------------------------------------------------


def read_back(states, game, rules, viewer, frame, canonical):
    """Nothing is missing: the bits alone give the history of the deal and, on one's turn, the legal actions."""
    fields = fields_of(shown_to(states, viewer, rules, canonical)[0])

    def relative(seat):
        return (seat - viewer) % 4

    def in_slots(card):
        return card[:-1] + SUITS[frame.index(card[-1])]

    told = where(states, rules, viewer, frame)
    assert calls_read(fields) == [(relative(seat), action_in_frame(call, frame)) for seat, call in game.calls], told
    plays, trick, points = plays_read(fields)
    assert plays == [(relative(seat), in_slots(card)) for seat, card, _ in game.plays], told
    assert trick == [in_slots(card) for card in game.trick], told
    last = [0, 0]  # rules 1.4: in the points, not on a card
    if game.phase == "over" and game.taker is not None:
        last[relative(game.turn) % 2] = 100 if 8 in game.tricks_won else 10
    us = viewer % 2
    assert [a + b for a, b in zip(points, last, strict=True)] == [game.trick_points[us], game.trick_points[1 - us]], (
        told
    )
    if game.phase != "over" and game.turn == viewer:
        assert legal_read(fields) == {action_in_frame(action, frame) for action in game.legal()}, told


@pytest.mark.parametrize("table", [*TABLES, "random rules"])
def test_history_and_legal_actions_can_be_read_back(table):
    rng, decisions = random.Random(table), 0
    while decisions < READ_BACK:
        rules, settings = TABLES[table] if table in TABLES else random_rules(rng)
        finished = 0
        for states, game in deals(rules, settings, rng, rng.choice([random_choice, trump_heavy])):
            viewer = rng.randrange(4) if game.phase == "over" or rng.random() < 0.2 else game.turn
            if rng.random() < 0.5:
                read_back(states, game, rules, viewer, IDENTITY, False)
            else:
                read_back(states, game, rules, viewer, View(game, viewer).canonical_frame(), True)
            decisions += game.phase != "over"
            finished += game.phase == "over"
            if finished == 5:
                break
    print(f"\n{table}: {decisions} decisions read back")


def test_one_rule_of_legality_has_no_bit():
    """`coinche_capot` alone decides what is legal and is not shown: one observation, two masks."""
    free, exempt = (Game(Rules.preset("coinche", coinche_capot=allowed), seed=1) for allowed in (True, False))
    for game in (free, exempt):
        game.play("250H")
    assert free.observe(1).tobytes() == exempt.observe(1).tobytes()
    assert set(free.names(free.legal_actions())) - set(exempt.names(exempt.legal_actions())) == {"coinche"}


# --- the page -----------------------------------------------------------------------------------------------------


def tables_script():
    spec = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_table_of_fields_is_fresh():
    page = PAGE.read_text(encoding="utf-8")
    assert page == tables_script().with_table(page), "stale: python docs/tables.py"


def test_the_code_on_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for code in blocks:
        exec(code, {})


def test_the_rules_in_bits_are_those_of_the_page():
    rows = re.findall(r"^\| (\d+) \| `(.+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(bit) for bit, _ in rows] == list(range(32))
    drawn = [random_rules(random.Random(number)) for number in range(300)]
    seen = Counter()
    for rules, settings in [*TABLES.values(), *drawn]:
        said = [bool(eval(condition, {}, rules.to_dict())) for _, condition in rows]
        assert said == [bool(rules.bits >> k & 1) for k in range(32)], rules_text(rules)
        assert said == rules_bits(settings), rules_text(rules)
        seen.update((k, bit) for k, bit in enumerate(said))
    # `generale` and `declarations` are not played yet, and the referee has one next dealer and one way to score a bid
    assert {k for k in range(32) if len({bit for j, bit in seen if j == k}) == 1} == {2, 5, 23, 30}


@pytest.mark.parametrize(
    ("bit", "rules"),
    [
        (2, Rules(all_pass="same_dealer")),
        (23, Rules.preset("contree", made_score="bid_only")),
    ],
)
def test_bits_that_the_referee_never_moves(bit, rules):
    usual = Rules.preset(rules.name)
    assert rules.bits ^ usual.bits == 1 << bit


def test_the_page_names_every_rule_that_the_bits_do_not_tell():
    section = PAGE.read_text(encoding="utf-8").partition("## What it leaves out")[2]
    named = set(re.findall(r"`(\w+)`", section)) & set(Rules().to_dict())
    silent = {field for rules in tables() for field, other in neighbours(rules) if other.bits == rules.bits}
    assert named == silent | {"declaration_tie"}  # no table with declarations is played yet


def test_the_layout_is_whole():
    assert SIZE == sum(field.size for field in LAYOUT) == 768
    assert HIDDEN_SIZE == 8 * HIDDEN_WORDS == 96
    game = slow.Referee("classic", slow.CARDS, 0)
    fields = View(game, 0).observation(IDENTITY)
    assert [(name, len(bits)) for name, bits in fields.items()] == [(field.name, field.size) for field in LAYOUT]
    assert all(field.meaning for field in LAYOUT)


def seen_by_the_seat_to_act(rules, canonical, number):
    """Observations (n, SIZE) of positions that random play comes to, and whether a call or a card is due."""
    vector, rng = SelfPlayVector(60, rules, seed=number, canonical=canonical), np.random.default_rng(number)
    observations, bidding = [], []
    for _ in range(90):
        observations.append(vector.observations.copy())
        bidding.append(vector.action_mask[:, 32:].any(1))
        vector.step((rng.random(vector.action_mask.shape) * vector.action_mask).argmax(1))
    return np.concatenate(observations), np.concatenate(bidding)


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("table", [*TABLES, *range(8)])
def test_columns_that_are_dropped_tell_a_deciding_seat_nothing(table, canonical):
    """No dropped bit differs between two decisions of a kind, but for what follows from the hand in the bidding."""
    rules = random_rules(random.Random(f"columns {table}"))[0] if isinstance(table, int) else TABLES[table][0]
    observations, bidding = seen_by_the_seat_to_act(rules, canonical, 3)
    assert 250 < bidding.sum() < len(bidding) - 250
    kept = {decision: varying_columns(rules, decision) for decision in ("any", "bid", "play")}
    for decision, rows in (("any", slice(None)), ("bid", bidding), ("play", ~bidding)):
        columns = kept[decision]
        assert columns.dtype == np.int64 and (np.diff(columns) > 0).all()
        assert set(columns) <= set(kept["any"])
        differing = np.flatnonzero(np.ptp(observations[rows], axis=0))
        lost = {field.name for column in set(differing) - set(columns) for field in LAYOUT if in_field(column, field)}
        in_hand = {"possible_next", "possible_partner", "possible_previous", "voids"}
        assert lost <= (in_hand if decision == "bid" else set())
    # In the bidding a seat knows its hand and the turned card, and no more: of anyone a card may be all the others.
    hand, voids = field_bits(observations, "hand")[bidding], field_bits(observations, "voids")[bidding]
    ranks, suits = (field_bits(observations, name)[bidding] for name in ("turned_rank", "turned_suit"))
    turned = (suits[:, :, None] & ranks[:, None, :]).reshape(-1, 32)
    for k, place in enumerate(("next", "partner", "previous")):
        possible = field_bits(observations, f"possible_{place}")[bidding]
        np.testing.assert_array_equal(possible, 1 - (hand | turned))
        full = (hand | turned).reshape(-1, 4, 8).all(2)
        np.testing.assert_array_equal(voids[:, 4 * k : 4 * k + 4], full)


def in_field(column, field):
    return OFFSETS[field.name] <= column < OFFSETS[field.name] + field.size


@pytest.mark.parametrize("decision", ["call", "", None, 1])
def test_columns_of_another_decision_are_refused(decision):
    with pytest.raises(ValueError, match="is not one of 'any', 'bid', 'play'"):
        varying_columns(Rules(), decision)
