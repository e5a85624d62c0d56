"""The worked cases of the rule book (tests/golden/vectors.json) through the public doors."""

import json
from pathlib import Path

import pytest

from belote_env import Game, Rules, legal_cards, score_deal
from belote_env.cards import CARD_NAMES, POINTS, STRENGTH, SUIT_MASK, cards_of, parse_card, parse_strain
from belote_env.rules import PRESETS
from belote_env.scoring import match_result
from belote_env.state import FAILED, MADE, OPEN

VECTORS = json.loads((Path(__file__).parent / "golden" / "vectors.json").read_text())

VARIANTS = {
    "belote_501+tricks_only_threshold": ("belote_501", {"threshold_belote": False}),
    "belote_501+any_card_under_partner": ("belote_501", {"partner_winning": "free"}),
}


def table(variant: str) -> Rules:
    name, fields = VARIANTS.get(variant, (variant, {}))
    return Rules.preset(name, **fields)


def played(variant: str) -> bool:
    name, fields = VARIANTS.get(variant, (variant, {}))
    try:
        Rules.preset(name, **fields)
    except ValueError as error:
        if "not played yet" in str(error):
            return False
        raise
    return True


def entries(kind: str) -> list:
    return [pytest.param(entry, id=entry["id"]) for entry in VECTORS[kind]]


def scoring_cases() -> list:
    cases = []
    for entry in VECTORS["scoring"]:
        cases.append((entry["id"], entry["input"], entry["expected"]))
        for k, other in enumerate(entry.get("alternatives", [])):
            if "variant" in other:
                expected = {"litige_out": 0, **other}
                cases.append((f"{entry['id']}-{k}", {**entry["input"], "variant": other["variant"]}, expected))
    return [pytest.param(*case[1:], id=case[0]) for case in cases if played(case[1]["variant"])]


@pytest.mark.parametrize(("given", "expected"), scoring_cases())
def test_scoring(given, expected):
    taker, defenders = given["declarer_trick_points"], given["defender_trick_points"]
    if taker is None:  # not printed, and without influence: seven tricks
        taker, defenders = 100, 62
    result = score_deal(
        table(given["variant"]),
        taker,
        defenders,
        belote={"declarer": "taker", "defender": "defenders", None: None}[given["belote"]],
        taker_tricks=given["declarer_tricks"],
        value=given["contract"],
        multiplier=given["multiplier"],
        pot=given["carried_litige"],
        declarations=tuple(given.get("declarations", (0, 0))),
    )
    assert (result.made, result.taker, result.defenders, result.pot) == (
        expected["made"],
        expected["declarer"],
        expected["defender"],
        expected["litige_out"],
    )


def test_every_scoring_entry_of_the_played_tables_is_a_case():
    wanted = [entry["id"] for entry in VECTORS["scoring"] if played(entry["input"]["variant"])]
    assert set(wanted) <= {case.id for case in scoring_cases()}
    assert sum(name.startswith("C") for name in wanted) >= 7


@pytest.mark.parametrize("entry", entries("legal_plays"))
def test_legal_plays(entry):
    for variant, expected in entry["expected"].items():
        if played(variant):
            assert legal_cards(table(variant), entry["hand"], entry["trick"], entry["trump"]) == expected, variant


@pytest.mark.parametrize("entry", entries("constants"))
def test_constants(entry):
    trump = parse_strain(entry.get("trump", "S"))
    if "cards" in entry:
        assert sum(POINTS[trump, parse_card(c)] for c in entry["cards"]) == entry["points"]
        return
    plain, pack = POINTS[trump, cards_of(int(SUIT_MASK[1]))].sum(), POINTS[trump].sum()
    assert pack == entry["pack"]
    assert entry.get("plain_suit", plain) == plain
    assert entry.get("trump_suit", 62) == POINTS[trump, cards_of(int(SUIT_MASK[0]))].sum()
    assert entry.get("with_last_trick", 162) == pack + 10
    assert entry.get("capot", 252) == pack + 100


@pytest.mark.parametrize("entry", entries("trick_points"))
def test_trick_points(entry):
    assert sum(POINTS[parse_strain(entry["trump"]), parse_card(c)] for c in entry["cards"]) == entry["points"]


@pytest.mark.parametrize("entry", entries("trick_winner"))
def test_trick_winner(entry):
    cards = [parse_card(c) for c in entry["trick"]]
    strengths = [int(STRENGTH[parse_strain(entry["trump"]), cards[0] // 8, c]) for c in cards]
    assert strengths.index(max(strengths)) == entry["winner_seat"]
    assert entry["trick"][entry["winner_seat"]] == entry["winning_card"]


def hands_with(*given: str, sizes=(5, 5, 5, 5), without=()) -> list[list[str]]:
    """Four hands, the first of which begin as given, filled with what is left."""
    used = {c for hand in given for c in hand.split()} | set(without)
    rest = [c for c in CARD_NAMES if c not in used]
    hands = [hand.split() for hand in given] + [[] for _ in range(4 - len(given))]
    for hand, size in zip(hands, sizes, strict=True):
        while len(hand) < size:
            hand.append(rest.pop())
    return hands


def test_tk1_taking_gives_the_turned_card_and_two_more():
    entry = next(e for e in VECTORS["taking"] if e["id"] == "TK1")
    hands = hands_with(" ".join(entry["hand5"]), without=[entry["turned"]])
    game = Game.from_hands(entry["variant"], hands, dealer=3, turned=entry["turned"], seed=1)
    game.play(entry["action"])
    assert game.contract.trump == entry["expected"]["trump"]
    hand = game.hand(0)
    assert set(entry["expected"]["known_hand"]) < set(hand)
    assert len(hand) == 6 + entry["expected"]["cards_still_to_receive"]
    assert not set(entry["expected"]["missing_top_trumps"]) & set(entry["expected"]["known_hand"])


@pytest.mark.parametrize("variant", [v for v in ("classic", "single_deal", "belote_501") if played(v)])
def test_tk2_tk3_round_two_and_the_stock(variant):
    expected = next(e for e in VECTORS["taking"] if e["id"] == "TK2")["expected"]
    stock = "7H 8H 9H JH QH KH 10H AH 7C 8C 9C".split()
    hands = hands_with("", "", without=["AD", *stock])
    game = Game.from_hands(variant, hands, dealer=0, turned="AD", stock=stock, seed=1)
    for _ in range(5):
        game.play("pass")
    assert game.turn == 2
    game.play("C")
    assert expected["taker_receives"] in game.hand(2)
    # in rotation from the dealer's left: three to seat 1, two to the taker, three to the others
    assert set(game.hand(1)) == {*hands[1], *stock[:3]}
    assert set(game.hand(2)) == {*hands[2], "AD", *stock[3:5]}
    assert set(game.hand(3)) == {*hands[3], *stock[5:8]}
    assert set(game.hand(0)) == {*hands[0], *stock[8:11]}
    assert [len(stock[3:5]), len(stock[:3])] == [expected["taker_gets_more"], expected["others_get"]]


def test_tk4_tk5_round_two_excludes_the_turned_suit_unless_a_field_says_otherwise():
    for fields, own in (({}, False), ({"second_round": "any"}, True)):
        game = Game(Rules.preset("classic", **fields), seed=3)
        for _ in range(4):
            game.play("pass")
        assert (game.turned[-1] in game.names(game.legal_actions())) == own


def test_tk4_all_pass_twice_annuls_a_single_deal():
    if played("single_deal"):
        game = Game("single_deal", seed=3)
        for _ in range(8):
            game.play("pass")
        assert (game.is_over, game.scores, game.winner) == (True, (0, 0), None)


@pytest.mark.parametrize("entry", [e for e in entries("belote_events") if "plays" in e.values[0]])
def test_be1_be2_belote_shows_first_and_is_credited_with_the_second(entry):
    hands = ["KH QH 7C AC KC QC JC 10C", *hands_with("", "", "", "KH QH 7C AC KC QC JC 10C", sizes=(8, 8, 8, 8))[:3]]
    for variant in entry["variants"]:
        if not played(variant):
            continue
        value = 90 if table(variant).bidding == "auction" else None
        game = Game.from_play(variant, hands, dealer=3, taker=0, trump="H", value=value)
        seen = []
        while not game.deal_over:
            before = game._states[0].copy()
            wanted = [c for c in entry["plays"] if c in game.hand(0)]
            legal = game.names(game.legal_actions())
            card = next((c for c in wanted if game.turn == 0 and c in legal), legal[0])
            game.play(card)
            after = game._states[0]
            if after["belote_shown"].sum() > before["belote_shown"].sum():
                gained = int(after["belote_points"].sum() - before["belote_points"].sum())
                seen.append("rebelote+20" if gained == 20 else "belote")
        assert seen == entry["events"]


def test_be3_split_between_partners_is_no_belote():
    hands = hands_with("KH", "", "QH", sizes=(8, 8, 8, 8))
    game = Game.from_play("classic", hands, taker=0, trump="H")
    while not game.deal_over:
        game.play(game.legal_actions()[0])
    assert game._states[0]["belote_points"].sum() == 0


def test_be4_the_picked_up_card_counts():
    hands = hands_with("KH AS 7C 8D 9D", without=["QH"])
    game = Game.from_hands("classic", hands, dealer=3, turned="QH", seed=1)
    game.play("take")
    while not game.deal_over:
        game.play(game.legal_actions()[0])
    assert game._states[0]["belote_points"].tolist() == [20, 0]


@pytest.mark.parametrize("entry", entries("match_end"))
def test_match_end(entry):
    if not played(entry["variant"]):
        pytest.skip("not played yet")
    rules = table(entry["variant"])
    made, taker_side, waits = MADE, 0, (False, False)
    if "last_deal" in entry:
        taker_side = int(entry["last_deal"][4])
    if "hand" in entry:
        made = FAILED
        belote = entry["hand"]["side0"]
        waits = (entry["scores"][0] - belote < rules.target, False)
    result = match_result(rules.packed, *entry["scores"], made, taker_side, *waits)
    assert result == {"side0": 0, "side1": 1, "continue": OPEN}[entry["expected"]]


def test_litige_pot_goes_to_the_next_winner_and_grows():
    """rules 6.1"""
    first = score_deal("classic", 71, 91, belote="taker")
    assert (first.taker, first.defenders, first.pot) == (20, 91, 71)
    second = score_deal("classic", 81, 81, pot=first.pot)
    assert (second.taker, second.defenders, second.pot) == (0, 81, 152)
    assert score_deal("classic", 60, 102, pot=152) == (False, 0, 162 + 152, 0)


def test_every_unplayed_preset_is_refused_by_name():
    for name in PRESETS:
        if not played(name):
            with pytest.raises(ValueError, match="not played yet: .*="):
                Rules.preset(name)
