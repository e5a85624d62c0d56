"""The slow referee in random deals: nothing is lost, and what a seat can know never hides the truth."""

import random

import pytest
from referee import Referee, action_number, legal_cards, override, possible_cards
from referee_score import PLAIN_ORDER
from referee_tricks import CARDS
from test_referee import COINCHE, PASS, VARIANTS, at_play, pack_with

# --- random deals -------------------------------------------------------------------------------------------


def random_action(game, rng):
    legal = sorted(game.legal())
    if game.phase == "auction" and rng.random() < 0.6:
        return PASS
    if game.phase == "auction" and COINCHE in legal and rng.random() < 0.2:
        return COINCHE
    return rng.choice(legal)


def random_pack(rng):
    pack = list(CARDS)
    rng.shuffle(pack)
    return pack


def random_tables():
    return {
        **VARIANTS,
        "coinche+strains": override("coinche", strains=["S", "H", "D", "C", "NT", "AT"]),
        "classic+declarations": override("classic", declarations=True),
    }


@pytest.mark.parametrize("table", random_tables())
def test_random_deals(table):
    settings = random_tables()[table]
    rng = random.Random(table)
    played = 0
    for _ in range(150):
        game = Referee(settings, random_pack(rng), rng.randrange(4), scores=(100, 200), pot=0)
        assert game.turn == (game.dealer + 1) % 4
        while game.phase != "over":
            assert game.legal()
            if game.phase == "play":
                cards = set().union(*game.hands) | {card for _, card, _ in game.plays}
                assert (len(cards), sum(map(len, game.hands))) == (32, 32 - len(game.plays))
            game.apply(random_action(game, rng))
        assert game.legal() == set()
        assert game.scores == tuple(old + new for old, new in zip((100, 200), game.deal_scores, strict=True))
        assert game.match_over() in (0, 1, "continue", "drawn")
        if game.taker is None:
            assert game.deal_scores == (0, 0)
            continue
        played += 1
        assert sum(game.tricks_won) == 8
        assert sum(game.trick_points) == (252 if 8 in game.tricks_won else 162)
        assert len(game.plays) == len(game.events) == 32
        assert game.events.count("belote") == game.events.count("rebelote") == len(game.belotes)
        if settings["scoring"] == "points":
            # rules 6: every point goes to somebody, or into the pot
            failed_capot = 8 in game.tricks_won and not game.made
            lost = 252 - settings["failed_capot"] if failed_capot else 0
            side = 1 - game.taker % 2
            defenders_empty = game.tricks_won[side] == 0
            shown = [0 if defenders_empty and each == side else game.declaration_scores[each] for each in (0, 1)]
            expected = sum(game.trick_points) + sum(game.belote_points()) + sum(shown) - lost
            if settings["declarations"] and not game.made and settings["failed_bonuses"] != "own":
                expected += sum(game.declaration_announced) - sum(game.declaration_scores)
            if settings["declarations"] and not game.made and settings["failed_bonuses"] == "own":
                assert game.deal_scores[1 - side] == game.belote_points()[1 - side] + shown[1 - side]
            assert sum(game.deal_scores) + game.pot == expected
    assert played > 75


# --- knowledge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", random_tables())
def test_possible_cards_hold_the_truth(table):
    rng = random.Random(f"{table} knowledge")
    for _ in range(6):
        game = Referee(random_tables()[table], random_pack(rng), rng.randrange(4))
        while game.phase != "over":
            for viewer in range(4):
                possible = possible_cards(game, viewer)
                assert viewer not in possible
                assert all(game.hands[seat] <= cards for seat, cards in possible.items())
                assert all(not cards & game.hands[viewer] for cards in possible.values())
            game.apply(random_action(game, rng))


@pytest.mark.parametrize("table", random_tables())
def test_a_play_is_judged_by_pairs(table):
    # what `possible_cards` rests on: a card is legal in a hand exactly when it is in each pair it makes there
    settings = random_tables()[table]
    rng = random.Random(f"{table} pairs")
    for _ in range(6000):
        cards = random_pack(rng)
        if rng.random() < 0.5:  # few suits, so that the rare corners come up
            cards = [card for card in cards if card[-1] in "HC"] + cards[:4]
            cards = list(dict.fromkeys(cards))
        trick = cards[: rng.randrange(4)]
        hand = cards[len(trick) : len(trick) + rng.randrange(1, 9)]
        trump = rng.choice(["H", "H", "H", "S", "NT", "AT"])
        legal = legal_cards(settings, hand, trick, trump)
        assert legal
        for card in hand:
            others = [other for other in hand if other != card]
            by_pairs = all(card in legal_cards(settings, [card, other], trick, trump) for other in others)
            assert (card in legal) == by_pairs, (trick, hand, trump, card)


def test_possible_cards_by_hand():
    hands = [
        ["AC", "KH", "7C", "8C", "9C", "10C", "JC", "QC"],
        ["7H", "8H", "7D", "8D", "9D", "10D", "JD", "QD"],
        ["KC", "9H", "7S", "8S", "9S", "10S", "JS", "QS"],
        ["QH", "10H", "AH", "JH", "AS", "KS", "AD", "KD"],
    ]
    game = at_play("classic", hands)
    for card in ("AC", "8H", "KC"):
        game.apply(action_number(card))
    possible = possible_cards(game, 3)
    assert not {card for card in possible[1] if card[-1] == "C"}  # did not follow
    assert {"9H", "7H", "KH"} <= possible[1]
    assert {"9H", "7H", "KH"} <= possible[2]
    game.apply(action_number("10H"))
    # seat 3 overtrumped, seat 1 did not follow: neither holds a club
    assert possible_cards(game, 2)[3] == {"KH", "QH", "AH", "JH", "7H"} | {
        rank + suit for suit in "SD" for rank in PLAIN_ORDER if rank + suit not in hands[2]
    }
    game.apply(action_number("QH"))  # seat 3 leads the queen in silence: it did not hold the king
    assert "KH" not in possible_cards(game, 1)[3]
    assert possible_cards(game, 1)[0] | possible_cards(game, 1)[2] >= {"KH"}
    game.apply(action_number("KH"))  # seat 0 covers with the king, in silence too
    game.apply(action_number("7H"))
    game.apply(action_number("9H"))
    # seat 1 went under the king with the 7: no trump higher than the king
    assert not possible_cards(game, 2)[1] & {"AH", "10H", "JH"}


def test_possible_cards_turned_card_and_belote():
    places = dict(zip([0, 1, 2, 12, 13, 20], ["KH", "QH", "7S", "8S", "9S", "JD"], strict=True))
    game = Referee("classic", pack_with(places), dealer=3)
    assert all("JD" not in cards for cards in possible_cards(game, 2).values())
    for _ in range(4):
        game.apply(PASS)
    game.apply(action_number("H"))
    seen = possible_cards(game, 2)
    assert [seat for seat in seen if "JD" in seen[seat]] == [0]
    game.apply(action_number("KH"))  # belote
    assert game.events == ["belote"]
    for viewer in (1, 2, 3):
        seen = possible_cards(game, viewer)
        assert [seat for seat in seen if "QH" in seen[seat]] == [0]
