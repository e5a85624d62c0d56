"""What players have reported of other programs of the game: each a case that this engine must get right."""

import numpy as np
import pytest

from belote_env import Game, Rules, legal_cards, score_deal
from belote_env.cards import CARD_NAMES
from belote_env.scoring import match_result
from belote_env.state import FAILED, MADE, OPEN

TURN_UP = ["single_deal", "belote_501", "classic"]
ALL = [*TURN_UP, "coinche", "contree"]


@pytest.mark.parametrize("rules", ALL)
def test_an_opponents_jack_of_trump_lies_over_the_nine(rules):
    """Trump spades: JH QH AS on the table. The ace of trump wins; the nine beats it and must be played."""
    hand = "10C JD 9S 10S KS".split()
    assert legal_cards(rules, hand, ["JH", "QH", "AS"], "S") == ["9S"]


@pytest.mark.parametrize("rules", ["single_deal", "classic", "coinche", "contree"])
def test_a_partner_who_wins_frees_the_hand(rules):
    """Trump clubs: partner's 10S holds, an opponent threw AH. Any card."""
    hand = "8C AC 7D".split()
    assert legal_cards(rules, hand, ["10S", "AH"], "C") == hand


def test_a_partner_who_wins_bars_trumps_at_belote_501():
    assert legal_cards("belote_501", "8C AC 7D", ["10S", "AH"], "C") == ["7D"]


@pytest.mark.parametrize("rules", ALL)
def test_every_trump_is_allowed_when_none_beats(rules):
    """Trump diamonds: 7C led, JD from the mover's partner, 10D under it. Nothing of AD 9D 7D beats the jack."""
    hand = "AD 9D 7D 10S".split()
    legal = legal_cards(rules, hand, ["7C", "JD", "10D"], "D")
    assert legal == {"belote_501": ["10S"]}.get(rules, hand)


@pytest.mark.parametrize(
    ("rules", "expected"), [("classic", ["AD", "9D", "7D"]), ("coinche", ["AD", "9D", "7D", "10S"])]
)
def test_the_jack_of_an_opponent_cannot_be_beaten(rules, expected):
    """The same with the jack in an opponent's hand: a lower trump, or any card in coinche."""
    assert legal_cards(rules, "AD 9D 7D 10S", ["7C", "10D", "JD"], "D") == expected


@pytest.mark.parametrize("rules", ALL)
def test_a_low_ruff_wins_over_plain_pictures(rules):
    """Trump clubs: JH led, ruffed by 9C, QH: the nine of clubs wins."""
    hands = [
        "JH 7S 8S 9S JS QS KS AS",
        "9C 7D 8D 9D JD QD KD AD",
        "QH KH AH 7H 8H 9H 10C 10S",
        "10H 7C 8C JC QC KC AC 10D",
    ]
    value = 90 if rules in ("coinche", "contree") else None
    game = Game.from_play(rules, hands, dealer=3, taker=0, trump="C", value=value)
    for card in ("JH", "9C", "QH", "10H"):
        game.play(card)
    assert game.turn == 1
    assert game.points == (0, 2 + 14 + 3 + 10)


def belote_points(rules: str, hands: list[str], taker: int = 0) -> list[int]:
    """Belote credited to each side when every seat plays its lowest legal card."""
    value = 90 if rules in ("coinche", "contree") else None
    game = Game.from_play(rules, hands, dealer=3, taker=taker, trump="H", value=value)
    while not game.deal_over:
        game.play(game.legal_actions()[0])
    return game._states[0]["belote_points"].tolist()


def deal_rest(first: dict[int, str]) -> list[str]:
    """Four hands of eight that begin as given."""
    used = " ".join(first.values()).split()
    rest = [c for c in CARD_NAMES if c not in used]
    hands = []
    for seat in range(4):
        hand = first.get(seat, "").split()
        while len(hand) < 8:
            hand.append(rest.pop())
        hands.append(" ".join(hand))
    return hands


@pytest.mark.parametrize("rules", ALL)
def test_king_and_queen_of_trump_split_between_partners_are_no_belote(rules):
    assert belote_points(rules, deal_rest({0: "KH", 2: "QH"})) == [0, 0]


@pytest.mark.parametrize("rules", ALL)
def test_captured_king_and_queen_still_belong_to_the_holder(rules):
    """Seat 1 holds K and Q alone in trumps against J 9 A 10 and loses both to side 0."""
    hands = deal_rest({0: "JH 9H AH 10H 8H", 1: "KH QH"})
    value = 90 if rules in ("coinche", "contree") else None
    game = Game.from_play(rules, hands, dealer=3, taker=0, trump="H", value=value)
    captured = set()
    while not game.deal_over:
        leads = game.turn == 0 and not game.trick
        names = game.names(game.legal_actions())
        game.play(next((c for c in ("JH", "9H", "AH") if leads and c in names), names[0]))
        captured |= {c for _, c in game.trick}
    assert {"KH", "QH"} <= captured
    assert game._states[0]["belote_points"].tolist() == [0, 20]


@pytest.mark.parametrize("rules", ALL)
def test_seven_tricks_and_all_points_are_no_capot(rules):
    """1.4: the eighth trick may be worth nothing, and still be lost."""
    value = {"value": 250} if rules in ("coinche", "contree") else {}
    seven = score_deal(rules, 162, 0, taker_tricks=7, **value)
    eight = score_deal(rules, 252, 0, **value)
    assert eight.made
    assert seven.made == (not value)
    assert seven.taker < eight.taker


def test_belote_helps_to_reach_a_bid():
    """Bid 90 with 72 and belote against 90: 92 reaches the bid and beats 90."""
    assert score_deal("coinche", 72, 90, belote="taker", value=90) == (True, 180, 90, 0)


def test_two_ties_in_a_row_add_up():
    first = score_deal("classic", 81, 81)
    second = score_deal("classic", 81, 81, pot=first.pot)
    third = score_deal("classic", 100, 62, pot=second.pot)
    assert [first.pot, second.pot, third.pot] == [81, 162, 0]
    assert (third.taker, third.defenders) == (262, 62)


def auction(rules: str, calls: str) -> Game:
    """A game after some calls; seat 0 speaks first."""
    hands = [CARD_NAMES[8 * k : 8 * k + 8] for k in range(4)]
    game = Game.from_hands(rules, hands, dealer=3)
    for call in calls.split():
        game.play(call)
    return game


@pytest.mark.parametrize("rules", ["coinche", "contree"])
@pytest.mark.parametrize(
    ("calls", "allowed"),
    [
        ("90H", True),
        ("90H pass", False),
        ("90H pass pass", True),
        ("90H 100S pass", False),
        ("90H 100S", True),
        ("250H", True),
        ("250H pass", False),
        ("pass pass", False),
        ("", False),
    ],
)
def test_coinche_is_for_the_other_side_at_any_distance_and_on_250(rules, calls, allowed):
    game = auction(rules, calls)
    assert ("coinche" in game.names(game.legal_actions())) == allowed
    if not allowed:
        with pytest.raises(ValueError, match="'coinche' is not legal"):
            game.play("coinche")


def test_a_250_bid_is_safe_where_a_field_says_so():
    game = auction(Rules.preset("coinche", coinche_capot=False), "250H")
    assert game.names(game.legal_actions()) == ["pass"]


def test_who_may_answer_a_coinche():
    """3.4: the next seat alone at `coinche`; at `contree` his partner too once he has accepted."""
    game = auction("coinche", "90H coinche")
    assert (game.turn, game.phase, game.names(game.legal_actions())) == (2, "answer", ["accept", "surcoinche"])
    with pytest.raises(ValueError, match="say 'accept'"):
        game.play("pass")
    game.play("accept")
    assert (game.phase, game.contract.multiplier) == ("play", 2)

    game = auction("contree", "90H coinche accept")
    assert (game.turn, game.phase) == (0, "answer")
    game.play("surcoinche")
    assert (game.phase, game.contract.multiplier, game.turn) == ("play", 4, 0)


def test_a_target_crossed_on_belote_alone_after_being_set():
    """8.1: play goes on; the others win if they are there; next time everybody counts."""
    rules = Rules.preset("coinche").packed
    assert match_result(rules, 2010, 1150, FAILED, 0, True, False) == OPEN
    assert match_result(rules, 2010, 2000, FAILED, 0, True, False) == 1
    assert match_result(rules, 2010, 1150, MADE, 1, False, False) == 0


def test_a_set_side_waits_in_the_engine_too():
    """8.1 with real cards: side 0 stands at 1990, holds belote, and is set."""
    hands = deal_rest({0: "KH QH 7S 8S 9S 7C 8C 9C", 1: "JH 9H AH 10H AS 10S AC 10C", 3: "AD 10D KD QD JD 9D 8D 7D"})
    for table, winner in (("coinche", None), (Rules.preset("coinche", set_side_waits=False), 0)):
        game = Game.from_play(table, hands, dealer=3, taker=0, trump="H", value=90)
        game._states[0]["scores"] = [1990, 900]
        while not game.deal_over:
            game.play(game.legal_actions()[-1])
        assert game.made is False
        assert game.deal_scores[0] == 20
        assert game.scores[0] == 2010
        assert (game.winner, game.is_over) == (winner, winner is not None)


def test_a_doubled_contract_made_without_a_trick_is_no_capot():
    """rules 9: four belotes in all-trump reach 80; 252 is for the side that took all eight tricks."""
    rules = Rules.preset("contree", all_trump=True)
    hands = ["KSQS7S8SKHQH7H8H", "JS9SJH9HJD9DJC9C", "KDQD7D8DKCQC7C8C", "AS10SAH10HAD10DAC10C"]
    found = []
    for multiplier in (1, 2, 4):
        game = Game.from_play(rules, hands, dealer=0, taker=0, trump="AT", value=80, multiplier=multiplier)
        while not game.deal_over:
            game.play(game.legal_actions()[0])
        found.append((game.made, game.deal_scores))
    assert found == [(True, (160, 252)), (True, (402, 0)), (True, (482, 0))]


def test_a_belote_that_went_to_the_others_keeps_nobody_waiting():
    """8.1: side 1 is set at 2010 and its belote scored nothing, so its score without it is 2010."""
    game = Game.parse(
        "coinche(belote_on_failure=lost) deal 0 dealer 3 scores 500-2010 pot 0 seed 0 pack "
        "AS10SKSQSAD10DKDQDKHQH7H8H7S8S7D8DAH10HJH9HAC10CKCQCJS9SJD9D7C8C9CJC contract 1 80H "
        "cards QS 7S 9H 9S JH JS KS 7H 10H 9D 10S 8H AH JD AS QH QC 7C QD KH 8S KC 8C KD 7D 10C 9C 10D AD 8D AC JC"
    )
    assert (game.deal_scores, game.scores, game.winner) == ((260, 0), (760, 2010), 1)


SCORE = {"taker_points": 100, "defender_points": 62, "value": 90, "multiplier": 1, "taker_tricks": 5, "pot": 10}
LITIGE = Rules.preset("coinche", tie="litige")
NO_NUMBERS = [float("nan"), True, "1", 1.0, 10**400, -(10**5000), np.float64(1), np.zeros(2), [1]]


@pytest.mark.parametrize("name", SCORE)
@pytest.mark.parametrize("wrong", NO_NUMBERS, ids=type)
def test_score_deal_takes_whole_numbers_only(name, wrong):
    with pytest.raises(ValueError, match=rf"^{name}=.*: a whole number from \d+ to \d+ is needed$"):
        score_deal(LITIGE, **{**SCORE, name: wrong})


def test_score_deal_takes_the_integers_of_numpy():
    score = score_deal(LITIGE, **{name: np.int16(number) for name, number in SCORE.items()})
    assert score == score_deal(LITIGE, **SCORE) == (True, 200, 60, 0)
    assert [type(part) for part in score] == [bool, int, int, int]


@pytest.mark.parametrize(
    ("rules", "given", "sentence"),
    [
        ("coinche", {"pot": 1}, "pot=1: coinche has no litige"),
        (LITIGE, {"pot": 10_001}, "pot=10001: a whole number from 0 to 10000"),
        (LITIGE, {"multiplier": 3}, "multiplier=3: 1, 2 (coinche) or 4"),
        (LITIGE, {"value": 85}, "value=85 is not a bid"),
        (LITIGE, {"value": None}, "value=None is not a bid"),
        (LITIGE, {"belote": (20, 20)}, "belote=(20, 20): multiples of 20 are needed, at most 20 together"),
        (LITIGE, {"belote": (10, 0)}, "belote=(10, 0): multiples of 20"),
        (LITIGE, {"belote": (20.0, 0)}, "belote[0]=20.0: a whole number from 0 to 80"),
        (LITIGE, {"belote": (20, -20)}, "belote[1]=-20: a whole number from 0 to 80"),
        (LITIGE, {"belote": (20,)}, "belote=(20,): a pair of points is needed"),
        (LITIGE, {"belote": 20}, "belote=20: a pair of points is needed"),
        (LITIGE, {"belote": np.zeros(2)}, "belote=array([0., 0.]): a pair of points is needed"),
        (LITIGE, {"belote": "both"}, "belote='both' is not 'taker', 'defenders', None"),
        (LITIGE, {"declarations": None}, "declarations=None: a pair of points is needed"),
        (LITIGE, {"declarations": (0.0, 0)}, "declarations[0]=0.0: a whole number"),
        (LITIGE, {"declarations": (0, 20)}, "declarations=(0, 20): coinche(tie=litige) has none"),
    ],
)
def test_score_deal_refuses_what_the_table_does_not_have(rules, given, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        score_deal(rules, **{**SCORE, "pot": 0, **given})
    assert sentence in str(caught.value)


def test_belotes_of_both_sides_in_all_trump():
    """rules 9: K and Q of each suit are a belote; four reach a bid of 80 where the defenders' total does not matter."""
    rules = Rules.preset("contree", all_trump=True)
    assert score_deal(rules, 0, 252, belote=(80, 0), value=80) == (True, 160, 252, 0)
    assert score_deal(rules, 0, 252, belote=[60, 20], value=80) == (False, 0, 162 + 80 + 80, 0)
    assert score_deal(rules, 90, 72, belote=(20, 40), value=80) == (True, 190, 112, 0)
    assert not score_deal(rules.replace(taker_needs_trick=True), 0, 252, belote=(80, 0), value=80).made
    assert score_deal("classic", 80, 82, belote=(20, 0)) == score_deal("classic", 80, 82, belote="taker")
    assert score_deal("classic", 80, 82, belote=(0, 20)) == score_deal("classic", 80, 82, belote="defenders")
    with pytest.raises(ValueError, match="at most 20 together at contree"):
        score_deal(rules.replace(all_trump_belote="none"), 0, 252, belote=(40, 0), value=80)


def test_litige_is_not_made():
    assert score_deal("classic", 81, 81) == (False, 0, 81, 81)


@pytest.mark.parametrize(
    ("rules", "hand", "trump", "sentence"),
    [
        ("classic", ["7S"], "NT", "'NT' is not a strain of classic"),
        ("coinche", ["7S"], "AT", "'AT' is not a strain of coinche"),
        (Rules.preset("coinche", no_trump=True), ["7S"], "AT", "'AT' is not a strain of coinche(no_trump=true)"),
        ("classic", CARD_NAMES[:9], "H", "a hand has at most eight cards, not 9"),
        ("classic", ["7S"], None, "None is not a strain"),
        ("classic", [7], "H", "7 is not a card"),
    ],
)
def test_legal_cards_refuses_what_no_table_shows(rules, hand, trump, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        legal_cards(rules, hand, trump=trump)
    assert sentence in str(caught.value)


def test_cards_that_are_no_list_are_a_wrong_kind_of_object():
    with pytest.raises(TypeError, match="cards are a text or a list of names, not int"):
        legal_cards("classic", 7)  # type: ignore[arg-type]
    eight = list(CARD_NAMES[:8])
    assert legal_cards(Rules.preset("coinche", all_trump=True), eight, trump="AT") == eight
