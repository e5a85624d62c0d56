"""The Python door: text and back, bad input, copies."""

import copy
import json
import pickle
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belote_env import Game, Rules, legal_cards, score_deal
from belote_env.cards import CARD_NAMES, STRAINS, cards_of, mask_of, parse_card, parse_strain, split_cards
from belote_env.notation import action_name, parse_action, parse_rules, rules_text
from belote_env.rules import PRESETS
from belote_env.state import ANSWER, AUCTION, BID_ONE, BID_TWO, PLAY

PLAYED = ["classic", "single_deal", "belote_501", "coinche", "contree"]


def random_game(rules: str, seed: int, moves: int) -> Game:
    """A match after some random moves."""
    game, rng = Game(rules, seed=seed), random.Random(seed)
    for _ in range(moves):
        if game.is_over:
            break
        if game.deal_over:
            game.next_deal()
        else:
            game.play(rng.choice(game.legal_actions()))
    return game


def test_names_both_ways():
    assert [parse_card(name) for name in CARD_NAMES] == list(range(32))
    assert [parse_strain(name) for name in STRAINS] == list(range(6))
    assert split_cards("".join(CARD_NAMES)) == list(range(32))
    assert split_cards("10H, JS 7c") == [14, 3, 24]


@given(st.sets(st.integers(0, 31)))
def test_hands_as_bit_sets(cards):
    assert cards_of(mask_of(sorted(cards))) == sorted(cards)


@pytest.mark.parametrize("rules", PLAYED)
def test_actions_both_ways(rules):
    game = Game(rules, seed=1)
    for phase in (BID_ONE, BID_TWO, PLAY, AUCTION, ANSWER):
        game._states[0]["phase"] = phase
        calls = range(32, game.rules.n_actions) if phase != BID_ONE else [32, 35 + int(game._states[0]["turned"]) // 8]
        for action in [*range(32), *calls]:
            if game.rules.bidding == "turn_up" and action in (39, 40):
                continue  # no-trump and all-trump cannot be taken
            text = action_name(action, phase, game.rules.bidding)
            assert parse_action(text, game._states, 0, game.rules) == action


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PLAYED), st.integers(0, 2**64 - 1), st.integers(0, 150))
def test_positions_both_ways(rules, seed, moves):
    game = random_game(rules, seed, moves)
    again = Game.parse(game.to_text())
    assert again == game
    assert again.to_text() == game.to_text()
    assert Game.parse(game.match_text()).match_text() == game.match_text()


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PLAYED), st.randoms(use_true_random=False), st.integers(0, 20))
def test_given_contracts_both_ways(rules, rng, moves):
    pack = list(CARD_NAMES)
    rng.shuffle(pack)
    hands = [pack[8 * k : 8 * k + 8] for k in range(4)]
    bid = {"value": rng.choice([80, 120, 250]), "multiplier": rng.choice([1, 2, 4])} if rules[:2] == "co" else {}
    game = Game.from_play(
        rules, hands, dealer=rng.randrange(4), taker=rng.randrange(4), trump=rng.choice("SHDC"), **bid
    )
    for _ in range(moves):
        game.play(rng.choice(game.legal_actions()))
    assert Game.parse(game.to_text()) == game


def test_from_hands_deals_what_it_was_given():
    pack = list(CARD_NAMES)
    random.Random(4).shuffle(pack)
    hands = [pack[5 * k : 5 * k + 5] for k in range(4)]
    game = Game.from_hands("classic", hands, dealer=2, turned=pack[20], stock=pack[21:], seed=9)
    assert [sorted(game.hand(k)) for k in range(4)] == [sorted(hand) for hand in hands]
    assert (game.turned, game.turn, game.dealer) == (pack[20], 3, 2)
    assert Game.parse(game.to_text()) == game
    drawn = [Game.from_hands("classic", hands, turned=pack[20], seed=s) for s in (5, 5, 6)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_rules_both_ways():
    for name in PLAYED:
        rules = Rules.preset(name)
        assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
        assert parse_rules(rules_text(rules)) == rules
    changed = Rules.preset("classic", target=501, second_round="any", tie="made", packets=(2, 3))
    assert parse_rules(rules_text(changed)) == changed
    assert rules_text(changed) == "classic(second_round=any,packets=2+3,tie=made,target=501)"


def test_the_digest_leaves_out_target_and_direction():
    rules = Rules.preset("classic")
    assert rules.replace(target=501, direction="anticlockwise").digest == rules.digest
    assert rules.replace(tie="failed").digest != rules.digest
    digests = {Rules.preset(name).digest for name in PLAYED}
    assert len(digests) == len(PLAYED)


@pytest.mark.parametrize("copies", [Game.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_copies_are_equal_and_independent(copies):
    game = random_game("classic", 3, 21)
    twin = copies(game)
    assert twin == game
    assert twin.match_text() == game.match_text()
    text = game.to_text()
    while not twin.deal_over:
        twin.play(twin.legal_actions()[0])
    assert game.to_text() == text
    while not game.deal_over:
        game.play(game.legal_actions()[0])
    assert twin == game


def test_seeds_repeat_and_differ():
    assert Game("classic", seed=5) == Game("classic", seed=5) != Game("classic", seed=6)
    assert Game("classic") != Game("classic")
    state = random.getstate(), np.random.get_state()[1].tolist()
    Game("classic")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == state


def test_a_deal_depends_on_seed_and_number_alone():
    passed, played = Game("classic", seed=11), Game("classic", seed=11)
    for _ in range(8):
        passed.play("pass")
    while not played.deal_over:
        played.play(played.legal_actions()[-1])
    passed.next_deal()
    played.next_deal()
    assert passed._states[0]["pack"].tolist() == played._states[0]["pack"].tolist()
    assert passed.dealer == played.dealer


def test_events_tell_the_deal():
    game = random_game("classic", 8, 30)
    again = Game("classic", seed=8)
    for event in game.events():
        assert again.turn == event.seat
        assert again.names([event.action]) == [event.name]
        again.play(event.name)
    assert again == game


def test_observation_and_mask_of_the_game():
    game = random_game("classic", 8, 12)
    assert np.flatnonzero(game.mask()).tolist() == game.legal_actions()
    assert game.observe(game.turn).sum() > 0
    hand = [CARD_NAMES[k] for k in np.flatnonzero(game.observe(2)[:32])]
    assert hand == game.hand(2)


# --- bad input: one sentence that shows what was wrong, and nothing changes

BAD_PLAYS = [
    (None, "neither"),
    (3.5, "neither"),
    (True, "neither"),
    (-1, "not legal"),
    (200, "not legal"),
    (33, "not legal"),
    (2**64, "not legal"),
    (-(2**70), "not legal"),
    (np.uint64(2**64 - 1), "not legal"),
    ("1S", "not an action"),
    ("", "not an action"),
    ("90H", "not an action"),
    ("accept", "say 'pass'"),
    ("coinche", "not legal"),
    ("S S", "not an action"),
]


@pytest.mark.parametrize(("action", "words"), BAD_PLAYS)
def test_bad_actions_are_refused_and_change_nothing(action, words):
    game = random_game("classic", 2, 3)
    before = game.match_text()
    with pytest.raises(ValueError, match=words) as error:
        game.play(action)
    assert game.to_text() in str(error.value)
    assert "\n" not in str(error.value)
    assert game.match_text() == before


def test_a_card_that_breaks_a_duty_is_refused():
    game = Game("classic", seed=7)
    game.play("take")
    game.play(game.legal_actions()[0])
    held = set(game.hand(game.turn)) - set(game.names(game.legal_actions()))
    stranger = next(c for c in CARD_NAMES if c not in game.hand(game.turn))
    for card in [*held, stranger]:
        with pytest.raises(
            ValueError, match=f"{card}.*is not legal for seat .* in play: legal are .*position: classic"
        ):
            game.play(card)


def test_nothing_can_be_played_when_the_deal_is_over():
    game = Game("classic", seed=7)
    with pytest.raises(ValueError, match="no next deal: the deal is not over; position: classic"):
        game.next_deal()
    for _ in range(8):
        game.play("pass")
    for action in ("pass", 32, "JS"):
        with pytest.raises(ValueError, match=r"the deal is over, next_deal\(\) deals the next one"):
            game.play(action)


BAD_RULES = [
    (("nonesuch",), {}, "'nonesuch' is not a preset; there are single_deal"),
    (("classic",), {"colour": 3}, "'colour' is not a field of Rules"),
    (("classic",), {"tie": "lost"}, "tie='lost' is not one of 'made', 'failed', 'litige'"),
    (("classic",), {"tie": 1}, "tie=1 is not one of"),
    (("classic",), {"target": "1000"}, "target='1000': int is needed"),
    (("classic",), {"target": True}, "target=True: int is needed"),
    (("classic",), {"target": -5}, "target=-5"),
    (("classic",), {"packets": (3, 3)}, r"packets=\(3, 3\) deals 6 cards, bidding='turn_up' needs 5"),
    (("classic",), {"packets": (5.0,)}, "packets"),
    (("classic",), {"contract": "threshold"}, "tie='litige' cannot happen with contract='threshold'"),
    (("classic",), {"contract": "bid"}, "contract='bid' needs bidding='auction'"),
    (("coinche",), {"made_score": "totals"}, "made_score='totals' needs bidding='turn_up'"),
    (("classic",), {"capot_bid": True}, "capot_bid=True needs bidding='auction'"),
    (("single_deal",), {"overtrump": False}, "partner_winning='overtrump' contradicts overtrump=False"),
    (("coinche",), {"surcoinche_factor": 1}, "coinche_factor=2, surcoinche_factor=1"),
    (("classic",), {"reentry": False}, "reentry=False needs bidding='auction': it would change nothing here"),
    (("coinche",), {"all_trump_belote": "none"}, "all_trump_belote='none' needs all_trump=True"),
    (("belote_501",), {"tie": "made"}, "tie='made' cannot happen with contract='threshold'"),
    (("classic",), {"name": "club"}, "the name is the preset's, 'classic'"),
    (("classic",), {"packets": (1,) * 5}, "four packets at most"),
    (("classic",), {"declarations": True}, "not played yet: declarations=True"),
]


@pytest.mark.parametrize(("arguments", "fields", "words"), BAD_RULES)
def test_bad_rules_are_refused(arguments, fields, words):
    with pytest.raises(ValueError, match=words) as error:
        Rules.preset(*arguments, **fields)
    assert "\n" not in str(error.value)


def test_packets_of_one_number_and_the_names_of_rules():
    rules = Rules.preset("coinche", packets=(8,))
    assert parse_rules(rules_text(rules)) == rules
    with pytest.raises(ValueError, match="'club' is not a preset"):
        Rules(name="club")


def test_rules_are_frozen_and_their_record_too():
    rules = Rules.preset("classic")
    with pytest.raises(AttributeError):
        rules.target = 3
    with pytest.raises(ValueError, match="read-only"):
        rules.packed["target"] = 3


BAD_TEXT = [
    ("", "at least one line"),
    ("classic", "a position reads"),
    (lambda t: t.replace("classic", "nonesuch"), "not a preset"),
    (lambda t: t.replace("classic", "classic(tie)"), "not field=value"),
    (lambda t: t.replace("dealer ", "dealer 7"), "dealer"),
    (lambda t: re.sub(r"scores \S+", "scores 12", t), "scores"),
    (lambda t: re.sub(r"pot \S+", "pot -5", t), "pot"),
    (lambda t: re.sub(r"seed \S+", f"seed {2**64}", t), "seed"),
    (lambda t: re.sub(r"pack (\w\w)", r"pack ", t), "each of the 32 cards once"),
    (lambda t: re.sub(r"pack \S+", "pack XX", t), "not a list of cards"),
    (lambda t: t.replace("calls", "called"), "'calls' or 'contract' must follow"),
    (lambda t: t.replace("calls", "calls JS"), "does not belong in round one"),
    (lambda t: t.replace("calls", "calls take take"), "does not belong in play"),
    (lambda t: t + " pass", "does not belong in play"),
    (lambda t: t + " 7S 7S 7S", "is not legal after"),
    (lambda t: t + "\n" + t, "has no place: the deal before is not over"),
]


@pytest.mark.parametrize(("change", "words"), BAD_TEXT)
def test_malformed_text_is_refused(change, words):
    game = Game("classic", seed=4)
    game.play("take")
    text = change if isinstance(change, str) else change(game.to_text())
    with pytest.raises(ValueError, match=words) as error:
        Game.parse(text)
    assert "\n" not in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_text_is_refused_or_valid_but_never_crashes(data):
    text = random_game("classic", data.draw(st.integers(0, 20)), data.draw(st.integers(0, 60))).to_text()
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 3)) :]
    try:
        game = Game.parse(damaged)
    except ValueError:
        return
    assert Game.parse(game.to_text()) == game


def test_doors_refuse_impossible_cards_and_points():
    hands = [list(CARD_NAMES[8 * k : 8 * k + 8]) for k in range(4)]
    five = [hand[:5] for hand in hands]
    for call, words in [
        (lambda: Game("classic", seed=-1), "seed=-1"),
        (lambda: Game("classic", seed=1.5), "seed=1.5"),
        (lambda: Game("classic").hand(4), "4 is not a seat"),
        (lambda: Game("classic").observe(-1), "-1 is not a seat"),
        (lambda: Game.from_hands("classic", hands, turned="7S"), "four hands of 5 cards"),
        (lambda: Game.from_hands("classic", five), "needs the turned card"),
        (lambda: Game.from_hands("classic", five, turned="7S"), "in a hand too"),
        (lambda: Game.from_hands("classic", five, turned="KS", stock="10S"), "the eleven cards left"),
        (lambda: Game.from_hands("classic", five, turned="KS", dealer=9), "9 is not a seat"),
        (lambda: Game.from_hands("classic", [five[0]] * 4, turned="KS"), "twice"),
        (lambda: Game.from_hands("classic", [["1S"] * 5] * 4, turned="KS"), "'1S' is not a card"),
        (lambda: Game.from_play("classic", hands, trump="NT"), "'NT' is not a strain of classic"),
        (lambda: Game.from_play("classic", hands, trump="X"), "'X' is not a strain"),
        (lambda: Game.from_play("classic", hands, value=90), "neither bid values nor coinche"),
        (lambda: Game.from_play("classic", hands, taker=5), "5 is not a seat"),
        (lambda: Game.parse(None), "not None"),
        (lambda: Game("classic").names([41]), "41 is not an action: 0 to 40"),
        (lambda: Game("classic").names([-1]), "-1 is not an action"),
        (lambda: Game.parse(Game("classic", seed=1).to_text().replace("scores 0-0", "scores 1200-3")), "is over"),
        (lambda: Game.parse(Game("belote_501", seed=1).to_text().replace("pot 0", "pot 81")), "has no litige"),
        (lambda: legal_cards("classic", [], ["7S"]), "hand at least one"),
        (lambda: legal_cards("classic", ["7S"], ["7S"]), "different cards"),
        (lambda: legal_cards("classic", ["7S"], ["8S", "9S", "JS", "QS"]), "at most three"),
        (lambda: score_deal("classic", 100, 100), "162 together"),
        (lambda: score_deal("classic", 250, 2), "162 together, or 252 and 0"),
        (lambda: score_deal("classic", 100, 62, taker_tricks=8), "contradicts"),
        (lambda: score_deal("classic", 252, 0, taker_tricks=7), "contradicts"),
        (lambda: score_deal("classic", 100, 62, belote="both"), "belote='both'"),
        (lambda: score_deal("classic", 100, 62, value=90), "neither bid values"),
        (lambda: score_deal("classic", 100, 62, declarations=(20, 0)), "has none"),
        (lambda: score_deal("classic", 100, 62, pot=-1), "pot=-1"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="not int"):
        Game(3)


def test_capot_is_eight_tricks_not_the_others_points():
    """1.4: seven tricks and all 152 points are no capot; a trick can be worth 0."""
    worthless = "7S 7H 7D 7C"
    assert len(worthless.split()) == 4
    result = score_deal("classic", 162, 0, taker_tricks=7)
    assert (result.taker, result.defenders) == (162, 0)


def test_presets_are_listed():
    assert set(PLAYED) <= set(PRESETS)


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda rules: pickle.loads(pickle.dumps(rules))])
def test_a_copy_of_rules_keeps_a_read_only_record(copies):
    """A writable record is another type to numba, and every kernel would compile again."""
    rules = Rules.preset("classic", target=501)
    assert not rules.packed.flags.writeable
    twin = copies(rules)
    assert twin == rules
    assert twin.digest == rules.digest
    assert not twin.packed.flags.writeable
