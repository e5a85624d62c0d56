"""What an observation hides (`test_observation.py` has what it shows).

Deal the cards a seat cannot see in any other way that fits what it knows, and not a byte of its observation changes
(PettingZoo PR #233 and open_spiel PR #1604: hands leaked into observations).  Rename the suits, and the canonical
frame shows the same bytes.
"""

import random
import re

import numpy as np
import pytest
from test_aec import TABLES

from belote_env import Game
from belote_env.cards import CARD_NAMES, SUITS
from belote_env.frames import canonical_frame, real_actions
from belote_env.observation import field_bits, observe_batch
from belote_env.state import COINCHE, FIRST_CALL, PASS, SURCOINCHE

NAMES = list(CARD_NAMES)
IN_PACK = re.compile(r"10[SHDC]|[789JQKA][SHDC]")


def random_games(table, seed, deals=8):
    """Positions of whole deals, from the first call to after the last card, with a fair share of passes and doubles."""
    rng = random.Random(f"{table} {seed}")
    for _ in range(deals):
        game = Game(table, seed=rng.randrange(2**32))
        while True:
            yield game, rng
            if game.deal_over:
                break
            legal = game.legal_actions()
            if {COINCHE, SURCOINCHE} & set(legal) and rng.random() < 0.3:
                game.play(COINCHE if COINCHE in legal else SURCOINCHE)
                continue
            passes = PASS in legal and rng.random() < (0.5 if game.rules.bidding == "auction" else 0.35)
            game.play(PASS if passes else rng.choice(legal))


# --- another deal that looks the same -----------------------------------------------------------------------


def owners(game):
    """Whose every card is, held or played: {card: seat}; cards of the stock are missing."""
    owner = {}
    for seat in range(4):
        for card in game.hand(seat):
            owner[card] = seat
    for event in game.events():
        if event.name in NAMES:
            owner[event.name] = event.seat
    return owner


def held_possibly(game, viewer):
    """{seat: cards it may hold} as the viewer's own observation says, and so by `knowledge.possible_cards`."""
    seen = game.observe(viewer)
    possible = {}
    for k, name in enumerate(("next", "partner", "previous"), start=1):
        possible[(viewer + k) % 4] = cards_in(field_bits(seen, f"possible_{name}"))
    return possible


def cards_in(bits):
    return {NAMES[c] for c in np.flatnonzero(bits)}


def redistribute(game, viewer, rng):
    """{seat: hand} of the other three, drawn anew among the cards the viewer has not seen; what is left is stock."""
    possible = held_possibly(game, viewer)
    slots = [seat for seat in possible for _ in game.hand(seat)]
    unseen = sorted(set(NAMES) - set(game.hand(viewer)) - {e.name for e in game.events()})
    if game.turned is not None and game.contract is None:
        unseen.remove(game.turned)  # face up on the table
    slots += ["stock"] * (len(unseen) - len(slots))
    rng.shuffle(unseen)
    rng.shuffle(slots)
    holder = {}  # slot -> card: augmenting paths, as in any bipartite matching

    def place(card, tried):
        for k, seat in enumerate(slots):
            if k in tried or (seat != "stock" and card not in possible[seat]):
                continue
            tried.add(k)
            if k not in holder or place(holder[k], tried):
                holder[k] = card
                return True
        return False

    assert all(place(card, set()) for card in unseen)
    hands = {seat: [] for seat in possible}
    for k, card in holder.items():
        if slots[k] != "stock":
            hands[slots[k]].append(card)
    return hands


def another_world(game, viewer, rng):
    """The same history over another pack, replayed call by call and card by card from its text."""
    text = game.to_text()
    pack = IN_PACK.findall(text.split(" pack ")[1].split()[0])
    before = owners(game)
    after = {card: seat for card, seat in before.items() if seat == viewer or card not in game.hand(seat)}
    for seat, hand in redistribute(game, viewer, rng).items():
        after |= dict.fromkeys(hand, seat)
    fixed = {card for card in pack if before.get(card) == viewer} | {game.turned}
    pools = {seat: [c for c in NAMES if after.get(c) == seat and c not in fixed] for seat in (0, 1, 2, 3, None)}
    for pool in pools.values():
        rng.shuffle(pool)
    renewed = [card if card in fixed else pools[before.get(card)].pop() for card in pack]
    return Game.parse(text.replace("".join(pack), "".join(renewed)))


@pytest.mark.parametrize("table", TABLES)
def test_resampling_the_hidden_cards_changes_no_byte(table):
    moved = 0
    for game, rng in random_games(table, "resample"):
        for viewer in rng.sample(range(4), 2):
            other = another_world(game, viewer, rng)
            assert other.hand(viewer) == game.hand(viewer)
            assert other.events() == game.events()
            moved += any(other.hand(seat) != game.hand(seat) for seat in range(4))
            for canonical in (False, True):
                mine, theirs = (observe_batch(g._states, [viewer], g.rules, canonical) for g in (game, other))
                for a, b in zip(mine, theirs, strict=True):
                    assert a.tobytes() == b.tobytes(), (viewer, game.to_text(), other.to_text())
    assert moved > 200


# --- scores and pot ------------------------------------------------------------------------------------------


def thermometer(size, value):
    return [int(k < value) for k in range(size)]


@pytest.mark.parametrize("scores", ["0-0", "83-84", "999-500", "1200-1200"])  # a level match goes on above the target
@pytest.mark.parametrize("pot", [0, 1, 40, 41, 81, 121, 300])
def test_scores_and_pot(scores, pot):
    game = Game.parse(re.sub(r"scores \S+ pot \d+", f"scores {scores} pot {pot}", Game("classic", seed=1).to_text()))
    a, b = map(int, scores.split("-"))
    for viewer in range(4):
        seen = game.observe(viewer)
        us, them = (a, b) if viewer % 2 == 0 else (b, a)
        assert field_bits(seen, "score_us").tolist() == thermometer(12, us * 12 // 1000)
        assert field_bits(seen, "score_them").tolist() == thermometer(12, them * 12 // 1000)
        assert field_bits(seen, "pot").tolist() == [int(pot > edge) for edge in (0, 40, 80, 120)]


# --- the canonical frame ------------------------------------------------------------------------------------


def rename(text, suits):
    """A position's text with every suit renamed: `suits` says what S, H, D and C become."""
    new = dict(zip(SUITS, suits, strict=True))
    head, _, tail = text.partition(" pack ")
    word = re.compile(r"(10|[789JQKA]|\d{2,3})?([SHDC])")
    words = [re.sub(word, lambda m: (m[1] or "") + new[m[2]], w) if word.match(w) else w for w in tail.split(" ")]
    return f"{head} pack {' '.join(words)}"


def renamed_action(action, suits):
    if action < 32:
        return NAMES.index(NAMES[action][:-1] + suits[action // 8])
    strain = (action - FIRST_CALL) % 6
    if action < FIRST_CALL or strain > 3:
        return action
    return action - strain + SUITS.index(suits[strain])


def look(game, viewer):
    observations, masks, frames = observe_batch(game._states, [viewer], game.rules, canonical=True)
    return observations[0], masks[0], frames


def check_renamed(game, suits, viewer):
    """The law of the canonical frame for one viewer; returns whether two suits looked the same to it."""
    other = Game.parse(rename(game.to_text(), suits))
    assert other.to_text() != game.to_text()
    mine, theirs = look(game, viewer), look(other, viewer)
    assert mine[0].tobytes() == theirs[0].tobytes(), (viewer, suits, game.to_text())
    assert mine[1].tobytes() == theirs[1].tobytes(), (viewer, suits, game.to_text())
    slots = np.flatnonzero(mine[1])
    real = [sorted(real_actions(slots, np.repeat(one[2], len(slots))).tolist()) for one in (mine, theirs)]
    if game.turn == viewer:
        assert real == [game.legal_actions(), other.legal_actions()]
    one, two = (real_actions(slots, np.repeat(each[2], len(slots))) for each in (mine, theirs))
    return [renamed_action(int(a), suits) for a in one] != two.tolist()


@pytest.mark.parametrize("table", TABLES)
def test_suits_have_no_names_in_the_canonical_frame(table):
    seen = alike = 0
    for game, rng in random_games(table, "rename"):
        suits = "SHDC"
        while suits == "SHDC":
            suits = "".join(rng.sample(SUITS, 4))
        for viewer in rng.sample(range(4), 2):
            seen += 1
            alike += check_renamed(game, suits, viewer)
    assert seen > 250
    assert alike < seen // 10  # two suits that look the same may change places, actions and all


LOOK_DIFFERENT = {
    # player 2 was dealt the king of diamonds and of clubs, and has played the one of diamonds alone
    "played or held": "coinche deal 0 dealer 0 scores 0-0 pot 0 seed 2547642198 pack "
    "AS9CKD7CAD9DQHKH8DKS8CJS9SJD7SJHKCAC10CAHQD7H8S10H9H10DQCQS8H10SJC7D "
    "calls 90H coinche accept cards KD AD 8D 7D JH QH AH 7H 7C",
    # player 0 was dealt ten and ace of spades and of diamonds; the same ranks went by, in other tricks
    "in which trick": "classic deal 0 dealer 3 scores 0-0 pot 0 seed 599690645 pack "
    "JS8H7D7S10CJCKH8SAH10S7H9SADJDKD8D9HKCQDAS9D8CKS10HQS7CQH10DACQCJH9C "
    "calls take cards JS 7S 8S AS QD AD KD 10D KS QS KH 10S 9S JD 8D KC",
    # player 0 holds as much in spades as in another suit, and spades alone have been bid
    "bid or not": "coinche deal 0 dealer 2 scores 0-0 pot 0 seed 3609388263 pack "
    "KCJSJH9C9S7SAHQCASQD7DQH7HACKD10D10C8S8C8HKSQSKH9D7CJD10HAD9H10SJC8D calls 90S",
}


@pytest.mark.parametrize("difference", LOOK_DIFFERENT)
def test_suits_that_look_different_have_no_names_either(difference):
    game = Game.parse(LOOK_DIFFERENT[difference])
    for suits in ("SCDH", "HSDC", "DHCS", "CHSD"):
        for viewer in range(4):
            check_renamed(game, suits, viewer)


@pytest.mark.parametrize("table", TABLES)
def test_the_trump_comes_first(table):
    for game, _ in random_games(table, "first", deals=3):
        if game.contract is None or game.phase != "play":
            continue
        for viewer in range(4):
            if game.contract.trump in SUITS:
                frame = canonical_frame(game._states, 0, viewer)
                assert SUITS[frame & 3] == game.contract.trump
                assert field_bits(look(game, viewer)[0], "strain").tolist() == [1, 0, 0, 0, 0, 0]
