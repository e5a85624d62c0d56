"""Drive the engine and the slow referee side by side; a difference is told with the position that shows it."""

import random

import numpy as np
import referee as slow

from belote_env.cards import CARD_NAMES, cards_of
from belote_env.engine import apply, begin_deal, new_match, next_deal
from belote_env.knowledge import possible_cards
from belote_env.notation import legal_numbers, position_text
from belote_env.rules import Rules
from belote_env.state import MADE, NOBODY, PHASE_NAMES, new_states

PHASES = {
    "round one": "bid1",
    "round two": "bid2",
    "auction": "auction",
    "answer": "answer",
    "play": "play",
    "deal over": "over",
    "match over": "over",
}


def start_both(rules: Rules, settings, pack: list[int], dealer: int, scores=(0, 0), pot=0):
    """The same deal in both: `(states, referee)`."""
    states = new_states(1)
    states[0]["pack"], states[0]["dealer"], states[0]["pot"] = pack, dealer, pot
    states[0]["scores"] = scores
    begin_deal(states, 0, rules.packed)
    return states, slow.Referee(settings, [CARD_NAMES[c] for c in pack], dealer, scores=scores, pot=pot)


def compare(states, rules: Rules, game: slow.Referee, knowledge: bool) -> list[int]:
    """Assert that everything both sides know agrees; return the legal actions."""
    s = states[0]

    def where() -> str:
        return position_text(states, 0, rules)

    legal = legal_numbers(states, 0, rules)
    assert legal == sorted(game.legal()), f"legal {legal} against {sorted(game.legal())}: {where()}"
    assert PHASES[PHASE_NAMES[s["phase"]]] == game.phase, where()
    if game.phase != "over":
        assert s["turn"] == game.turn, where()
    hands = [{CARD_NAMES[c] for c in cards_of(h)} for h in s["hands"]]
    assert hands == [set(hand) for hand in game.hands], where()
    if knowledge and game.phase in ("play", "bid1", "bid2"):
        for viewer in range(4):
            for seat, cards in slow.possible_cards(game, viewer).items():
                ours = {CARD_NAMES[c] for c in cards_of(possible_cards(states, 0, viewer, seat))}
                assert ours == cards, f"viewer {viewer} on seat {seat}: {ours ^ cards}: {where()}"
    return legal


def compare_end(states, rules: Rules, game: slow.Referee) -> None:
    """Assert that the counted deal and the match agree."""
    s = states[0]
    where = position_text(states, 0, rules)
    assert tuple(s["deal_scores"]) == tuple(game.deal_scores), where
    assert tuple(s["scores"]) == tuple(game.scores), where
    result = game.match_over()
    assert {0: 0, 1: 1, 2: "drawn", -1: "continue"}[int(s["match_winner"])] == result, f"{result}: {where}"
    if result == "continue":
        assert s["pot"] == game.pot, where
    assert (s["taker"] == NOBODY) == (game.taker is None), where
    if game.taker is not None:
        assert s["taker"] == game.taker, where
        assert (s["made"] == MADE) == bool(game.made), where
        assert tuple(s["points"]) == tuple(game.trick_points), where
        assert tuple(s["won"]) == tuple(game.tricks_won), where


def play_both(rules: Rules, settings, deals: int, seed: int, knowledge_every: int = 40, choose=None) -> int:
    """Random deals through both; returns the number of decisions compared."""
    rng = random.Random(seed)
    decisions = 0
    target = rules.target
    for deal in range(deals):
        pack = list(range(32))
        rng.shuffle(pack)
        # half of the deals stand close to the end of a match
        low = max(0, target - 260) if deal % 2 else 0
        scores = (rng.randrange(low, target), rng.randrange(low, target)) if target else (0, 0)
        pot = rng.choice([71, 81, 91]) if rules.tie == "litige" and deal % 3 == 0 else 0
        states, game = start_both(rules, settings, pack, rng.randrange(4), scores, pot)
        knowledge = deal % knowledge_every == 0
        while game.phase != "over":
            legal = compare(states, rules, game, knowledge)
            action = (choose or random_choice)(game, legal, rng)
            apply(states, 0, rules.packed, action)
            game.apply(action)
            decisions += 1
        assert legal_numbers(states, 0, rules) == []
        compare_end(states, rules, game)
    return decisions


def random_choice(game, legal: list[int], rng: random.Random) -> int:
    """Uniform, but auctions are slowed down so that they see every call before they end."""
    if game.phase == "auction":
        if rng.random() < 0.5:
            return 32
        if 33 in legal and rng.random() < 0.3:
            return 33
        low = [a for a in legal if a >= 35][:12]
        if low and rng.random() < 0.9:
            return rng.choice(low)
    return rng.choice(legal)


def trump_heavy(game, legal: list[int], rng: random.Random) -> int:
    """Plays that lead to rare corners: leads of short plain suits, high trumps first, takers who always take."""
    if game.phase in ("bid1", "bid2"):
        takes = [a for a in legal if a >= 35]
        return rng.choice(takes) if takes and rng.random() < 0.7 else rng.choice(legal)
    cards = [a for a in legal if a < 32]
    if cards and rng.random() < 0.8:
        trump = slow.action_number("7" + game.trump) // 8 if game.trump in "SHDC" else -1
        plain = [c for c in cards if c // 8 != trump]
        if plain:
            suits = [c // 8 for c in plain]
            fewest = min(suits.count(x) for x in suits)
            return rng.choice([c for c in plain if suits.count(c // 8) == fewest])
    return rng.choice(legal)


def play_matches(rules: Rules, settings, matches: int, seed: int, choose=None) -> int:
    """Whole matches as the engine deals them, each deal through both; returns the number of deals."""
    rng = random.Random(seed)
    deals = 0
    states = new_states(1)
    for _ in range(matches):
        new_match(states, 0, rules.packed, np.uint64(rng.randrange(2**64)))
        while True:
            s = states[0]
            pack = [CARD_NAMES[c] for c in s["pack"]]
            scores, pot = tuple(map(int, s["scores"])), int(s["pot"])
            game = slow.Referee(settings, pack, int(s["dealer"]), scores=scores, pot=pot)
            while game.phase != "over":
                action = (choose or random_choice)(game, compare(states, rules, game, False), rng)
                apply(states, 0, rules.packed, action)
                game.apply(action)
            compare_end(states, rules, game)
            deals += 1
            if game.match_over() != "continue":
                break
            next_deal(states, 0, rules.packed)
            assert states[0]["dealer"] == game.next_dealer, position_text(states, 0, rules)
    return deals
