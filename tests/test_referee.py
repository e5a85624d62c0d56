"""The slow referee against the rule book's worked cases, and against itself in random deals."""

import itertools
import json
import random
from pathlib import Path

import pytest
from referee import (
    TABLES,
    Referee,
    action_number,
    card_points,
    compare_declarations,
    declarations_of,
    legal_cards,
    match_winner,
    override,
    score_deal,
    trick_winner,
)
from referee_score import round_to_ten
from referee_tricks import CARDS

VECTORS = json.loads((Path(__file__).parent / "golden" / "vectors.json").read_text(encoding="utf-8"))
PASS, COINCHE, SURCOINCHE = 32, 33, 34
TURN_UP = [name for name in TABLES if TABLES[name]["game"] == "turn-up"]
AUCTION = [name for name in TABLES if TABLES[name]["game"] == "auction"]

VARIANTS = {
    **TABLES,
    "belote_501+tricks_only_threshold": override("belote_501", made="82 in tricks"),
    "belote_501+any_card_under_partner": override("belote_501", partner_plain="any", partner_trump="any"),
}
# The other readings that the worked cases list under "alternatives", where a setting reaches them.
OTHER_READINGS = {
    ("B4", 0): override("belote_501", failed_capot=162),
    ("D10", 0): override("single_deal", failed_capot=162),
    ("C13", 0): override("classic", failed_capot=162),
    ("K20", 0): override("coinche", belote_multiplied=False),
    ("K27", 0): override("coinche", failed_capot=250),
    ("W2", 0): override("declarations", equal="failed"),
}


def entries(chapter):
    return [pytest.param(entry, id=entry["id"]) for entry in VECTORS[chapter]]


def score_vector(table, given):
    points = given["declarer_trick_points"], given["defender_trick_points"]
    if points == (None, None):
        points = 132, 30  # K8: they are not printed and do not matter
    side = {None: None, "declarer": "taker", "defender": "defenders"}
    return score_deal(
        table,
        *points,
        belote=side[given["belote"]],
        taker_tricks=given["declarer_tricks"],
        value=given["contract"],
        multiplier=given["multiplier"],
        pot=given["carried_litige"],
    )


@pytest.mark.parametrize("entry", entries("scoring"))
def test_scoring(entry):
    expected = entry["expected"]
    result = score_vector(VARIANTS[entry["input"]["variant"]], entry["input"])
    assert result == tuple(expected[key] for key in ("made", "declarer", "defender", "litige_out"))
    if "unrounded" in expected:
        exact = override(entry["input"]["variant"], rounding=False)
        assert list(score_vector(exact, entry["input"])[1:3]) == expected["unrounded"]


@pytest.mark.parametrize("entry", entries("scoring"))
def test_scoring_other_readings(entry):
    for index, other in enumerate(entry.get("alternatives", [])):
        table = VARIANTS.get(other.get("variant"), OTHER_READINGS.get((entry["id"], index)))
        if table is not None:
            made, taker, defenders, _ = score_vector(table, entry["input"])
            assert made == other.get("made", entry["expected"]["made"])
            assert (taker, defenders) == (other["declarer"], other["defender"])


@pytest.mark.parametrize("entry", entries("constants"))
def test_constants(entry):
    if "cards" in entry:
        assert sum(card_points(card, entry["trump"]) for card in entry["cards"]) == entry["points"]
        return
    in_suit = {suit: sum(card_points(card, "H") for card in CARDS if card[-1] == suit) for suit in "SHDC"}
    assert in_suit["H"] == entry.get("trump_suit", 62)
    assert in_suit["S"] == in_suit["D"] == in_suit["C"] == entry.get("plain_suit", 30)
    assert sum(in_suit.values()) == entry["pack"]
    assert entry["with_last_trick"] == entry["pack"] + 10
    assert entry.get("capot", 252) == entry["pack"] + 100
    for strain in ("NT", "AT"):  # rules 9
        assert sum(card_points(card, strain) for card in CARDS) == 152


@pytest.mark.parametrize("entry", entries("trick_points"))
def test_trick_points(entry):
    assert sum(card_points(card, entry["trump"]) for card in entry["cards"]) == entry["points"]


@pytest.mark.parametrize("entry", entries("trick_winner"))
def test_trick_winner(entry):
    winner = trick_winner(entry["trick"], entry["trump"])
    assert (winner, entry["trick"][winner]) == (entry["winner_seat"], entry["winning_card"])


@pytest.mark.parametrize("entry", entries("legal_plays"))
def test_legal_plays(entry):
    assert len(entry["expected"]) == 6
    for variant, expected in entry["expected"].items():
        assert legal_cards(VARIANTS[variant], entry["hand"], entry["trick"], entry["trump"]) == expected, variant
    # rules 9: contree plays the cards as coinche does
    expected = entry["expected"]["coinche"]
    assert legal_cards("contree", entry["hand"], entry["trick"], entry["trump"]) == expected
    if entry["id"] == "L11":
        other = override("belote_501", unbeatable_trump="any card")
        expected = entry["alternatives"][0]["expected"]
        assert legal_cards(other, entry["hand"], entry["trick"], entry["trump"]) == expected


@pytest.mark.parametrize(
    ("table", "trick", "hand", "expected"),
    [
        # rules 4, row 5 at `single_deal`: no lower trump beside a higher one, plain cards always
        ("single_deal", ["KC", "AH", "7C"], ["JH", "8H", "AS"], ["JH", "AS"]),
        # rules 4, row 6: only trumps where trumps are barred
        ("belote_501", ["KC", "AH", "7C"], ["JH", "8H"], ["JH"]),
        ("belote_501", ["KC", "AH", "7C"], ["JH", "8H", "AS"], ["AS"]),
        # rules 4, row 3
        ("coinche", ["10C", "9H"], ["10H", "8H"], ["10H", "8H"]),
        ("declarations", ["10C", "9H"], ["JH", "8H", "AS"], ["JH", "8H"]),
    ],
)
def test_legal_corners(table, trick, hand, expected):
    assert legal_cards(table, hand, trick, "H") == expected


def test_legal_no_trump_and_all_trump():
    # rules 9
    assert legal_cards("coinche", ["AS", "7S", "JH"], ["10S"], "NT") == ["AS", "7S"]
    assert legal_cards("coinche", ["AS", "JH"], ["10D", "7C"], "NT") == ["AS", "JH"]
    assert legal_cards("coinche", ["JS", "7S", "JH"], ["9S", "8S"], "AT") == ["JS"]
    assert legal_cards("coinche", ["AS", "7S", "JH"], ["9S", "8S"], "AT") == ["AS", "7S"]
    assert legal_cards("coinche", ["AS", "JH"], ["7D", "8D"], "AT") == ["AS", "JH"]
    assert trick_winner(["7D", "JS", "8D", "JH"], "AT") == 2
    assert trick_winner(["JD", "10D", "AD", "9D"], "NT") == 2


# --- choosing trump -----------------------------------------------------------------------------------------


def call_number(text):
    """The action of a call such as "90H"; None for a value that has no number."""
    if not text[0].isdigit():
        return action_number(text)
    try:
        return action_number(text[-1], int(text[:-1]))
    except ValueError:
        return None


def pack_with(first, seed=0):
    """A shuffled pack in which `first` maps places to cards."""
    rest = [card for card in CARDS if card not in first.values()]
    random.Random(seed).shuffle(rest)
    return [first[place] if place in first else rest.pop() for place in range(32)]


def auction(calls, table="coinche", dealer=3):
    game = Referee(table, pack_with({}), dealer)
    for call in calls:
        game.apply(call_number(call))
    return game


@pytest.mark.parametrize("entry", entries("auction"))
def test_auction(entry):
    seats = {name: seat for seat, name in enumerate(entry.get("order", ["You", "Alex", "Rory", "Sam"]))}
    game = auction([], entry["variant"], dealer=seats["Sam"])
    expected = entry["expected"] if isinstance(entry.get("expected"), dict) else {}
    for name, call in entry.get("calls", entry.get("after")):
        assert game.turn == seats[name]
        if (name, call) == ("Alex", "coinche"):
            before = expected["legal_for_Alex_before_coinche"]
            bids = {value for value in range(80, 260, 10) if (call_number(f"{value}S")) in game.legal()}
            assert (PASS in game.legal(), COINCHE in game.legal()) == (before["pass"], before["coinche"])
            assert min(bids) == before["min_bid"]
            assert max(bids - {250}) == before["max_numeric"]
            assert (250 in bids) == before["capot_250"]
        game.apply(call_number(call))
    if "to_act" in entry:
        assert game.turn == seats[entry["to_act"]]
        assert all(call_number(call) not in game.legal() for call in entry["illegal"])
        assert all(call_number(call) in game.legal() for call in entry["legal"])
    if "out_of_turn" in entry:  # a call has no seat of its own: it is always made by the seat on turn
        assert game.turn != seats[entry["out_of_turn"][0]]
    if expected.get("state") == "redeal":
        assert (game.phase, game.deal_scores, game.legal()) == ("over", (0, 0), set())
        assert game.match_over() == "continue"
    elif expected.get("state") == "done":
        assert (game.phase, game.multiplier) == ("play", expected["multiplier"])
        contract = expected["contract"]
        assert (game.value, game.trump) == (contract["value"], contract["suit"])
        assert game.taker == seats[contract["declarer"]]
    elif expected.get("state") == "awaiting_surcoinche":
        assert (game.phase, game.turn) == ("answer", seats[expected["to_act"]])
        assert game.legal() == {call_number(call) for call in expected["legal"]}
        for answer in ("accept", "surcoinche"):
            done = auction([call for _, call in entry["calls"]] + [answer])
            assert (done.phase, done.turn) == ("play", 0)
            assert done.multiplier == expected[f"after_{answer}"]["multiplier"]
            assert (done.value, done.trump, done.taker) == (110, "H", seats["Rory"])


def test_auction_clauses():
    # rules 3.3: re-entry; three passes count only in a row and only after a bid
    game = auction(["pass", "pass", "pass", "80S", "pass", "pass", "90H", "pass"])
    assert (game.phase, game.bid) == ("auction", (90, "H", 2))
    assert call_number("100C") in game.legal()
    assert call_number("90C") not in game.legal()
    stay = auction(["pass", "80S", "pass", "pass"], override("coinche", reentry=False))
    assert stay.legal() == {PASS, COINCHE}
    # rules 3.4: any number of passes between; a 250 bid can be doubled and is the highest
    game = auction(["250C", "pass", "pass"])
    assert game.legal() == {PASS, COINCHE}
    game.apply(COINCHE)
    assert (game.phase, game.turn, game.legal()) == ("answer", 0, {PASS, SURCOINCHE})
    game.apply(PASS)
    assert (game.phase, game.multiplier, game.value) == ("play", 2, 250)
    # surcoinche_by: the first answerer's partner answers last
    game = auction(["80S", "coinche", "accept"], "contree")
    assert (game.phase, game.turn, game.legal()) == ("answer", 0, {PASS, SURCOINCHE})
    game.apply(SURCOINCHE)
    assert (game.phase, game.multiplier, game.turn, game.taker) == ("play", 4, 0, 0)
    assert auction(["80S", "coinche", "accept", "accept"], "contree").multiplier == 2
    assert auction(["80S", "coinche", "surcoinche"], "contree").multiplier == 4
    # rules 9, `contree`: four passes
    game = auction(["pass"] * 4, "contree")
    assert (game.phase, game.deal_scores, game.match_over()) == ("over", (0, 0), "drawn")


@pytest.mark.parametrize("entry", entries("taking"))
def test_taking(entry):
    expected, table = entry["expected"], entry["variant"]
    hand5 = entry.get("hand5", ["7S", "8S", "9S", "7C", "8C"])
    turned = entry.get("turned", "AD")
    places = dict(zip([0, 1, 2, 12, 13, 20], [*hand5, turned], strict=True))
    game = Referee(table, pack_with(places), dealer=3)
    assert (game.turned, game.hands[0]) == (turned, set(hand5))
    if expected.get("round2_excludes_turned_suit", "absent") != "absent":
        for _ in range(4):
            game.apply(PASS)
        others = {35, 36, 37, 38} - {action_number(turned[-1])}
        assert (game.phase, game.legal()) == ("bid2", {PASS} | others)
        again = Referee(override(table, second_round="any"), pack_with(places), dealer=3)
        for _ in range(4):
            again.apply(PASS)
        assert again.legal() == {PASS, 35, 36, 37, 38}
        for _ in range(4):
            game.apply(PASS)
        assert (game.phase, game.deal_scores) == ("over", (0, 0))
        assert game.match_over() == ("drawn" if table == "single_deal" else "continue")  # rules 3.2
        return
    if entry.get("round") == 2:
        for _ in range(4):
            game.apply(PASS)
    stock = list(game._pack)
    game.apply(action_number(entry.get("named", turned[-1])))
    assert game.trump == entry.get("named", turned[-1])
    assert game.hands[0] == set(hand5) | {turned} | set(stock[:2])
    assert [len(hand) for hand in game.hands] == [8, 8, 8, 8]
    assert set(stock[2:5]) < game.hands[1]
    assert set(stock[5:8]) < game.hands[2]
    assert set(stock[8:11]) < game.hands[3]
    if "known_hand" in expected:
        assert set(expected["known_hand"]) < game.hands[0]
        assert not set(expected["missing_top_trumps"]) & set(expected["known_hand"])


def test_packets():
    # rules 3.1, 3.3
    pack = list(CARDS)
    game = Referee("classic", pack, dealer=1)
    assert game.hands[2] == set(pack[0:3] + pack[12:14])
    assert game.hands[1] == set(pack[9:12] + pack[18:20])
    game = Referee("coinche", pack, dealer=1)
    assert game.hands[2] == set(pack[0:3] + pack[12:14] + pack[20:23])


# --- belote, declarations -----------------------------------------------------------------------------------


def play_out(game, rng=None):
    while game.phase != "over":
        legal = sorted(game.legal())
        game.apply(rng.choice(legal) if rng else legal[0])
    return game


def at_play(table, hands, **given):
    value = 80 if table in AUCTION else None
    return Referee.at_play(table, hands, dealer=3, taker=0, trump="H", **{"value": value, **given})


@pytest.mark.parametrize("entry", entries("belote_events"))
def test_belote_events(entry):
    for table in [*entry.get("variants", [entry.get("variant")]), "contree"]:
        if "hand5" in entry and table not in TURN_UP:
            continue
        if "hand5" in entry:
            places = dict(zip([0, 1, 2, 12, 13, 20], [*entry["hand5"], entry["turned"]], strict=True))
            game = Referee(table, pack_with(places), dealer=3)
            game.apply(action_number("H"))
            assert game.belote_seat == 0
        elif "hands" in entry:
            split = pack_with({0: "KH", 16: "QH"})
            game = play_out(at_play(table, [split[i : i + 8] for i in (0, 8, 16, 24)]))
            assert game.belote_seat is None
            assert game.events == [None] * 32
        else:
            mine = [*entry["hand"], "JH", "9H", "AH", "10H", "8H"]
            rest = [card for card in CARDS if card not in mine]
            game = at_play(table, [mine, rest[:8], rest[8:16], rest[16:]])
            for card in entry["plays"]:
                game.apply(action_number(card))
                while game.turn != 0:
                    game.apply(min(game.legal()))
            seen = [event for event in game.events if event]
            assert seen == [event.removesuffix("+20") for event in entry["events"]]
            assert game.belote_seat == 0


def described(hand):
    return [(each["kind"], each["points"], each["length"]) for each in declarations_of(hand.split())]


def test_declarations_of():
    # rules 7.1
    assert described("7S 8S 9S AH KH 7D 8D JC") == [("sequence", 20, 3)]
    assert described("7S 8S 9S 10S JH QH KH AH") == [("sequence", 50, 4)] * 2
    assert described("7S 8S 9S 10S JS QS KS AS") == [("sequence", 100, 8)]
    assert described("7S 8S 9S 10S JS QS 7D 8D") == [("sequence", 100, 6)]
    assert described("JS JH JD JC 9S 9H 9D 9C") == [("carre", 200, 4), ("carre", 150, 4)]
    assert described("7S 7H 7D 7C 8S 8H 8D 8C") == []
    assert described("KS AS 7S 8S 7D 8D 7C 8C") == []  # no way round from ace to seven
    # a card serves once: four jacks and 8 9 10 of the five, not the five
    assert described("8S 9S 10S JS QS JH JD JC") == [("carre", 200, 4), ("sequence", 20, 3)]
    # 100 with the tens or 100 with the run: the better single declaration is the carré
    assert described("8S 9S 10S JS QS 10H 10D 10C") == [("carre", 100, 4)]


def compared(hands, trump="H", leader=0, tie="first"):
    return compare_declarations([declarations_of(hand.split()) for hand in hands], trump, leader, tie)


def test_compare_declarations():
    # rules 7.2
    assert compared(["", "", "", ""]) == (None, (0, 0), (0, 0))
    assert compared(["7S 8S 9S", "", "7C 8C 9C", "7D 8D 9D 10D"]) == (1, (0, 50), (40, 50))
    assert compared(["7S 8S 9S", "10C JC QC", "9D 10D JD", ""]) == (1, (0, 20), (40, 20))  # higher top card
    assert compared(["7S 8S 9S", "7H 8H 9H", "", ""]) == (1, (0, 20), (20, 20))  # trump
    assert compared(["7S 8S 9S", "7C 8C 9C", "", ""], leader=0)[0] == 0
    assert compared(["7S 8S 9S", "7C 8C 9C", "", ""], leader=1)[0] == 1
    assert compared(["7S 8S 9S", "7C 8C 9C", "", ""], tie="nobody") == (None, (0, 0), (20, 20))
    assert compared(["7S 8S 9S", "", "7C 8C 9C", ""], tie="nobody") == (0, (40, 0), (40, 0))
    # carré over sequence; a run of six over a run of five with a higher top card
    assert compared(["QS QH QD QC", "10S JS QS KS AS", "", ""])[0] == 0
    assert compared(["7S 8S 9S 10S JS QS", "10H JH QH KH AH", "", ""])[0] == 0
    carres = ["JS JH JD JC", "9S 9H 9D 9C", "AS AH AD AC", "10S 10H 10D 10C", "KS KH KD KC", "QS QH QD QC"]
    for better, worse in itertools.pairwise(carres):
        assert compared([worse, better, "", ""])[0] == 1


@pytest.mark.parametrize(
    ("table", "points", "given", "expected"),
    [
        # rules 6 and 7.3, `declarations`
        ("declarations", (80, 82), {"declarations": (20, 0)}, (True, 100, 82, 0)),
        ("declarations", (100, 62), {"declarations": (0, 50), "unscored": 20}, (False, 0, 232, 0)),
        ("declarations", (0, 252), {"declarations": (300, 0), "belote": "taker"}, (False, 0, 572, 0)),
        ("declarations", (252, 0), {"declarations": (0, 300), "belote": "defenders"}, (True, 252, 20, 0)),
        ("declarations", (0, 162), {"taker_tricks": 1, "declarations": (200, 0)}, (True, 200, 162, 0)),
        # rules 7.4: the belote's fate, no multiplier, no pot
        ("classic", (70, 92), {"declarations": (20, 0)}, (False, 20, 162, 0)),
        ("classic", (71, 91), {"declarations": (20, 0), "pot": 10}, (False, 20, 91, 81)),
        ("coinche", (105, 57), {"declarations": (20, 0), "value": 110, "multiplier": 2}, (True, 560, 0, 0)),
        ("single_deal", (60, 102), {"declarations": (20, 0)}, (False, 0, 182, 0)),
        # rules 9, `contree`
        ("contree", (80, 82), {"value": 80}, (True, 160, 82, 0)),
        ("contree", (79, 83), {"value": 80, "belote": "taker"}, (True, 179, 83, 0)),
        ("contree", (79, 83), {"value": 80, "belote": "defenders"}, (False, 0, 262, 0)),
        ("contree", (90, 72), {"value": 80, "multiplier": 2, "belote": "defenders"}, (True, 342, 0, 0)),
        ("contree", (252, 0), {"value": 250, "multiplier": 4}, (True, 1002, 0, 0)),
        ("contree", (60, 102), {"value": 100, "multiplier": 4, "belote": "taker"}, (False, 0, 482, 0)),
        ("contree", (0, 252), {"value": 100}, (False, 0, 262, 0)),
        ("contree", (162, 0), {"value": 250, "taker_tricks": 7}, (False, 0, 412, 0)),
        # rules 6, `coinche`: 250 for 160 also when the doublers took every trick
        ("coinche", (0, 252), {"value": 110, "multiplier": 2, "belote": "taker"}, (False, 20, 720, 0)),
    ],
)
def test_scoring_beyond_the_worked_cases(table, points, given, expected):
    assert score_deal(table, *points, **given) == expected


# --- matches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries("match_end"))
def test_match_end(entry):
    before, result = (0, 0), {"taker_side": 0, "made": True, "belote": (0, 0), "tricks": (5, 3)}
    deal = tuple(entry["scores"])
    if "last_deal" in entry:  # "side1 made its contract 90-72"
        deal, result["taker_side"] = (72, 90), 1
        before = tuple(entry["scores"][side] - deal[side] for side in (0, 1))
    if "hand" in entry:
        before, deal = tuple(entry["before"]), (entry["hand"]["side0"], entry["hand"]["side1"])
        result["belote"] = (20, 0)
        if entry["hand"]["side0_state"] == "set":
            result["made"] = False
        else:
            result.update(taker_side=1, tricks=(0, 8))
    assert [before[side] + deal[side] for side in (0, 1)] == entry["scores"]
    expected = {"side0": 0, "side1": 1}.get(entry["expected"], entry["expected"])
    assert match_winner(entry["variant"], before, {**result, "scores": deal}) == expected


def test_match_end_clauses():
    def end(table, before, scores, taker_side=0, made=True, belote=(0, 0), tricks=(5, 3)):
        return match_winner(
            table,
            before,
            {"scores": scores, "taker_side": taker_side, "made": made, "belote": belote, "tricks": tricks},
        )

    # rules 8
    assert end("single_deal", (0, 0), (81, 81)) == "drawn"
    assert end("single_deal", (0, 0), (82, 80)) == 0
    assert end("declarations", (900, 900), (110, 110)) == "drawn"
    assert end("belote_501", (420, 420), (81, 81), taker_side=1, made=False) == 0
    assert end("coinche", (1900, 1900), (200, 200)) == "continue"
    assert end("classic", (999, 0), (0, 162), made=False) == "continue"
    # rules 8.1: the other side wins if it has reached 2000, even with less
    assert end("coinche", (1990, 1800), (20, 200), made=False, belote=(20, 0)) == 1
    # not by the belote alone: earlier points had already carried it past 2000
    assert end("coinche", (2010, 1800), (20, 100), made=False, belote=(20, 0)) == 0
    # in the next deal everybody counts normally
    assert end("coinche", (2010, 1800), (90, 70), taker_side=1) == 0


@pytest.mark.parametrize("entry", entries("rounding"))
def test_rounding(entry):
    assert round_to_ten(entry["in"]) == entry["out"]
