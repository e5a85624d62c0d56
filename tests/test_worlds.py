"""Worlds: every deal of the hidden cards that fits what a seat knows, none other, all as likely."""

import random
from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from endings import ending
from test_aec import TABLES
from test_resample import held_possibly, random_games

from belote_env import Game, Rules
from belote_env.cards import CARD_NAMES, mask_of
from belote_env.notation import position_text
from belote_env.observation import observe_batch
from belote_env.state import first_unsound
from belote_env.worlds import count_worlds, deal_worlds

ENDING_TABLES = ("classic", "contree", "single_deal", "belote_501")


def worlds_of(game, viewer, most, seed=0):
    worlds, rows = deal_worlds(game._states, [viewer], game.rules, most, seed)
    assert not rows.any()
    return worlds


def endings(seed, least=3, most=16, n=60):
    """Games with few cards left and a viewer for each."""
    rng = random.Random(seed)
    for _ in range(n):
        rules = Rules.preset(rng.choice(ENDING_TABLES))
        yield ending(rng, rules, rng.choice("SHDC"), rng.randint(least, most)), rng.randrange(4)


def listed(game, viewer):
    """All deals of the hidden cards of a game in play, tried one by one: {hands of the four seats}."""
    possible = {seat: {CARD_NAMES.index(c) for c in cards} for seat, cards in held_possibly(game, viewer).items()}
    sizes = {seat: len(game.hand(seat)) for seat in possible}
    found = set()

    def give(left, seats, hands):
        if not seats:
            found.add(tuple(hands[seat] for seat in range(4)))
            return
        seat, *others = seats
        for cards in combinations(sorted(left & possible[seat]), sizes[seat]):
            give(left - set(cards), others, hands | {seat: mask_of(list(cards))})

    give(set().union(*possible.values()), list(possible), {viewer: int(game._states[0]["hands"][viewer])})
    return found


def hands_of(worlds):
    return [tuple(int(hand) for hand in world["hands"]) for world in worlds]


# --- a world is a position in its own right -------------------------------------------------------------------


def check_worlds(game, viewer, worlds):
    assert first_unsound(worlds) == -1
    for k, world in enumerate(worlds):
        text = position_text(worlds, k, game.rules)
        again = Game.parse(text)
        # the same calls and cards lead from its pack to it: belote, what was proven and all else agree with the hands
        assert again._states[0].tobytes() == world.tobytes(), (viewer, game.to_text(), text)
        assert again.hand(viewer) == game.hand(viewer)
    for canonical in (False, True):
        mine = observe_batch(game._states, [viewer], game.rules, canonical)
        theirs = observe_batch(worlds, [viewer] * len(worlds), game.rules, canonical)
        for one, many in zip(mine, theirs, strict=True):
            assert (many == one).all(), (viewer, game.to_text())


@pytest.mark.parametrize("table", TABLES)
def test_worlds_are_sound_and_look_the_same(table):
    moved = 0
    for game, rng in random_games(table, "worlds", deals=5):
        if game.deal_over or rng.random() < 0.5:
            continue
        viewer = rng.randrange(4)
        worlds = worlds_of(game, viewer, 3, seed=rng.randrange(2**64))
        check_worlds(game, viewer, worlds)
        moved += sum(hands != tuple(game._states[0]["hands"]) for hands in hands_of(worlds))
    assert moved > 100


def test_worlds_of_a_given_contract_are_sound_and_look_the_same():
    for game, viewer in endings("given", least=20, most=31, n=30):
        game._states["pot_before"] = game._states["pot"]
        check_worlds(game, viewer, worlds_of(game, viewer, 3))


# --- all of them, and only they -------------------------------------------------------------------------------


def test_every_possible_deal_is_a_world_once():
    sizes = []
    for game, viewer in endings("listed"):
        deals = listed(game, viewer)
        assert count_worlds(game._states, [viewer]).tolist() == [len(deals)], (viewer, game.to_text())
        worlds = hands_of(worlds_of(game, viewer, 10**6))
        assert len(worlds) == len(deals) and set(worlds) == deals
        assert tuple(int(hand) for hand in game._states[0]["hands"]) in deals
        sizes.append(len(deals))
    assert min(sizes) == 1 and max(sizes) > 1000


def test_the_number_of_worlds_when_nothing_has_been_played():
    auction, turn_up = Game("contree", seed=3), Game("classic", seed=3)
    eights = factorial(24) // factorial(8) ** 3
    assert count_worlds(auction._states, [2]).tolist() == [eights]
    assert count_worlds(turn_up._states, [2]).tolist() == [comb(26, 5) * comb(21, 5) * comb(16, 5)]
    taker = turn_up.turn
    turn_up.play("take")
    # everybody knows who has the turned card
    for viewer in range(4):
        known = eights if viewer == taker else eights * 8 // 24
        assert count_worlds(turn_up._states, [viewer]).tolist() == [known]


def test_a_list_of_states_is_dealt_in_rows():
    games = [Game("classic", seed=1), next(endings("rows", least=4, most=4))[0], Game("classic", seed=2)]
    states = np.concatenate([game._states for game in games])
    counts = count_worlds(states, [0, 1, 2])
    worlds, rows = deal_worlds(states, [0, 1, 2], "classic", 50)
    assert rows.tolist() == [0] * 50 + [1] * int(min(counts[1], 50)) + [2] * 50
    assert (worlds["hands"][rows == 2, 2] == states[2]["hands"][2]).all()


# --- evenly ---------------------------------------------------------------------------------------------------


def fits(counts, expected):
    """Whether counts are as even as chance lets them be: chi-square below five deviations above its mean."""
    counts = np.asarray(counts, float)
    df = len(counts) - 1
    return ((counts - expected) ** 2 / expected).sum() < df + 5 * (2 * df) ** 0.5 + 5


def test_single_draws_from_endings_are_even():
    tried = 0
    for game, viewer in endings("even", n=30):
        deals = sorted(listed(game, viewer))
        if not 2 <= len(deals) <= 60:
            continue
        seen = [hands_of(worlds_of(game, viewer, 1, seed=seed))[0] for seed in range(30 * len(deals))]
        assert fits([seen.count(deal) for deal in deals], 30), (viewer, game.to_text())
        tried += 1
    assert tried >= 5


def test_draws_together_are_even():
    game, viewer = next((g, v) for g, v in endings("together") if 30 <= count_worlds(g._states, [v])[0] <= 60)
    deals = listed(game, viewer)
    size = len(deals) * 2 // 5
    seen = [hands for seed in range(1000) for hands in hands_of(worlds_of(game, viewer, size, seed=seed))]
    assert fits([seen.count(deal) for deal in deals], 1000 * size / len(deals))


@pytest.mark.parametrize(("table", "size"), [("contree", 8), ("classic", 5)])
def test_draws_before_the_play_are_even(table, size):
    game = Game(table, seed=11)
    free = 24 if table == "contree" else 26
    draws = [worlds_of(game, 0, 1, seed=seed)[0] for seed in range(3000)]
    hidden = [c for c in range(32) if CARD_NAMES[c] not in (*game.hand(0), game.turned)]
    for seat in (1, 2, 3):
        holds = np.array([[int(world["hands"][seat]) >> c & 1 for c in hidden] for world in draws])
        assert fits(holds.sum(axis=0), 3000 * size / free)
        pairs = holds.T @ holds
        together = [pairs[a, b] for a, b in combinations(range(free), 2)]
        assert fits(together, 3000 * size * (size - 1) / free / (free - 1))
    if table == "classic":
        for place in (21, 25, 31):  # of the stock
            assert fits(np.bincount([w["pack"][place] for w in draws], minlength=32)[hidden], 3000 / free)
            assert all(w["pack"][20] == CARD_NAMES.index(game.turned) for w in draws)


# --- nothing hidden -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["classic", "coinche"])
def test_the_worlds_of_a_world_are_the_same_worlds(table):
    for game, rng in random_games(table, "again", deals=3):
        if game.deal_over:
            continue
        viewer = rng.randrange(4)
        first = worlds_of(game, viewer, 5)
        for k in range(len(first)):
            other, _ = deal_worlds(first[k : k + 1], [viewer], game.rules, 5)
            assert other.tobytes() == first.tobytes()
        more = worlds_of(game, viewer, 5, seed=1)
        assert len(first) < 5 or count_worlds(game._states, [viewer])[0] < 20 or hands_of(more) != hands_of(first)


def test_the_states_given_are_left_alone():
    game = Game("classic", seed=5)
    before = game.to_text()
    worlds_of(game, 1, 10)
    assert game.to_text() == before


@pytest.mark.parametrize(
    ("most", "seed", "sentence"),
    [(0, 0, "most=0: a whole number from 1"), (1.5, 0, "most=1.5: a whole"), (1, -1, "seed=-1: a whole number from 0")],
)
def test_numbers_are_checked(most, seed, sentence):
    with pytest.raises(ValueError, match=sentence):
        deal_worlds(Game("classic", seed=1)._states, [0], "classic", most, seed)


def test_states_that_are_over_or_damaged_are_refused():
    game, _ = next(endings("over", least=1, most=1))
    while not game.deal_over:
        game.play(game.legal_actions()[0])
    states = np.concatenate([Game("classic", seed=1)._states, game._states])
    for door in (lambda: count_worlds(states, [0, 0]), lambda: deal_worlds(states, [0, 0], "classic", 5)):
        with pytest.raises(ValueError, match=r"states\[1\] is over"):
            door()
    damaged = Game("classic", seed=1)._states
    damaged["hands"][0, 1] = damaged["hands"][0, 0]
    with pytest.raises(ValueError, match=r"states\[0\] is damaged"):
        count_worlds(damaged, [0])


@pytest.mark.parametrize(
    "seats",
    [[0], [0, 1, 2], [0, 4], [0, -1], [0, 10**6], [0.5, 1], [None, 1], ["a", "b"], 0, [[0, 1]], [2**70, 0], [[0], 1]],
    ids=repr,
)
def test_a_seat_for_each_state_is_needed(seats):
    states = np.concatenate([Game("classic", seed=k)._states for k in (1, 2)])
    for door in (lambda: count_worlds(states, seats), lambda: deal_worlds(states, seats, "classic", 5)):
        with pytest.raises(ValueError, match="2 states need as many seats 0..3, not "):
            door()
