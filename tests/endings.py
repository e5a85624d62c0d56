"""Random positions late in a deal, at every kind of table; a strong side keeps capot alive in many of them."""

import random

import random_rules
import referee as slow

from belote_env import Game
from belote_env.cards import CARD_NAMES, STRAINS
from belote_env.rules import PRESETS, Rules


def tables() -> list[tuple[Rules, dict, str]]:
    """`(rules, the referee's settings, strain)`: every preset that is played, with every strain it can have."""
    found = []
    for name in PRESETS:
        try:
            rules = Rules.preset(name)
        except ValueError:  # not played yet
            continue
        found += [(rules, slow.table_of(name), trump) for trump in STRAINS[:4]]
        if rules.bidding == "auction":
            both = rules.replace(no_trump=True, all_trump=True)
            found += [(both, slow.override(name, strains=list(STRAINS)), trump) for trump in STRAINS[4:]]
    return found


def random_table(rng: random.Random) -> tuple[Rules, dict, str]:
    rules, settings = random_rules.random_rules(rng)
    strains = STRAINS[: 4 + rules.no_trump] + (STRAINS[5:] if rules.all_trump else ())
    return rules, settings, rng.choice(strains)


def ending(rng: random.Random, rules: Rules, trump: str, cards_left: int) -> Game:
    """A game with so many cards still in hands; often one side is strong and plays high, so that it has every trick."""
    cards = list(range(32))
    rng.shuffle(cards)
    strong = rng.random() < 0.4
    if strong:
        weight = {"7": 0, "8": 0, "9": 3, "J": 3, "Q": 2, "K": 3, "10": 4, "A": 6}
        cards.sort(
            key=lambda c: -weight[CARD_NAMES[c][:-1]] - 4 * CARD_NAMES[c].endswith(trump) - rng.random() * 5,
        )
        top, low = cards[:16], cards[16:]
        rng.shuffle(top)
        rng.shuffle(low)
        cards = top[:8] + low[:8] + top[8:] + low[8:]
    shift = rng.randrange(4)
    hands = [[CARD_NAMES[c] for c in cards[8 * k : 8 * k + 8]] for k in range(4)]
    hands = hands[shift:] + hands[:shift]
    value = rng.choice([80, 110, 160, *([250] if rules.capot_bid else [])]) if rules.bidding == "auction" else None
    game = Game.from_play(
        rules,
        hands,
        dealer=rng.randrange(4),
        taker=rng.randrange(4),
        trump=trump,
        value=value,
        multiplier=rng.choice([1, 1, 2, 4]) if rules.bidding == "auction" else 1,
    )
    if rules.tie == "litige" and rng.random() < 0.3:
        game._states["pot"] = 81
    while 32 - int(game._states[0]["n_cards"]) > cards_left:
        legal = game.legal_actions()
        if strong and rng.random() < 0.9:
            side = (shift + game.turn) % 2  # 0 is strong
            legal = sorted(legal, key=lambda c: "7 8 9 Q K 10 J A".split().index(CARD_NAMES[c][:-1]))
            game.play(legal[0] if side else legal[-1])
        else:
            game.play(rng.choice(legal))
    return game
