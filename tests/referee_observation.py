"""The slow referee, observation: the bits a seat sees, its mask and the hidden hands, from what it has witnessed.

Written from docs/observation.md and the rule book with names, lists and sets; it shares no code with `belote_env`.
A frame is an order of suits, as a list: slot k shows frame[k]. Fields come as {name: list of 0 and 1}, in order.
"""

from functools import lru_cache

from referee_score import PLAIN_ORDER, STRAINS, SUITS, rank_of, suit_of
from referee_tricks import CARDS, legal_cards, trick_winner

IDENTITY = list(SUITS)
LEVELS = [80, 90, 100, 110, 120, 130, 140, 150, 160, 250, 170, 180, 500]
PASS, COINCHE, SURCOINCHE, FIRST_CALL = 32, 33, 34, 35
PHASES = ["bid1", "bid2", "auction", "answer", "play"]


# --- what everybody has witnessed ------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def _spoken_against(duties, card, trick, trump):
    """The cards that whoever played `card` on `trick` cannot hold (rules 4), each card judged alone."""
    table = dict(duties)
    return frozenset(
        other for other in CARDS if other != card and card not in legal_cards(table, [card, other], list(trick), trump)
    )


def known_not_held(game):
    """For each seat, the cards that everybody knows it not to hold, whether or not they have been seen since."""
    duties = tuple((name, game.table[name]) for name in _DUTIES)
    known = [set() for _ in range(4)]
    for (seat, card, trick), event in zip(game.plays, game.events, strict=True):
        known[seat] |= _spoken_against(duties, card, tuple(trick), game.trump)
        if rank_of(card) in ("K", "Q") and _counts_for_belote(game, suit_of(card)):  # rules 5.2
            other = ("Q" if rank_of(card) == "K" else "K") + suit_of(card)
            for each in [seat] if event is None else [s for s in range(4) if s != seat]:
                known[each].add(other)
    if game.turned is not None:  # rules 3.1
        for seat in range(4):
            if seat != game.taker:
                known[seat].add(game.turned)
    return known


_DUTIES = ["beatable_trump", "unbeatable_trump", "partner_plain", "partner_trump"]


def _counts_for_belote(game, suit):
    return suit == game.trump or (game.trump == "AT" and game.table["belote_all_trump"] == "each")


def trick_numbers(game):
    """{card: number of its trick}, 0 to 7."""
    return {card: place // 4 for place, (_, card, _) in enumerate(game.plays)}


def cards_played(game, seat):
    return {card for player, card, _ in game.plays if player == seat}


# --- frames --------------------------------------------------------------------------------------------------------


def _ranks(cards, suit):
    """The ranks of a suit in a set of cards, such that greater means: has the highest rank that the other lacks."""
    return sorted((PLAIN_ORDER.index(rank_of(card)) for card in cards if suit_of(card) == suit), reverse=True)


def canonical_frame(game, viewer):
    """The order of suits of the canonical frame, from docs/observation.md."""
    known, numbers = known_not_held(game), trick_numbers(game)
    named = {}
    for number, (_, call) in enumerate(game.calls, start=1):
        if call >= FIRST_CALL:
            named[STRAINS[(call - FIRST_CALL) % 6]] = number

    def standing(suit):
        seen = []
        for step in (1, 2, 3):
            seat = (viewer + step) % 4
            seen += [_ranks(cards_played(game, seat), suit), _ranks(known[seat], suit)]
        return [
            _ranks(game.hands[viewer] | cards_played(game, viewer), suit),
            seen,
            _ranks(game.hands[viewer], suit),
            [_ranks([card for card in numbers if numbers[card] // bit % 2], suit) for bit in (1, 2, 4)],
            named.get(suit, 0),
        ]

    frame = sorted(SUITS, key=standing, reverse=True)  # a stable sort: equals stay in the order S H D C
    first = game.trump if game.trump in SUITS else None if game.turned is None else suit_of(game.turned)
    return frame if first is None else [first] + [suit for suit in frame if suit != first]


# --- bits ------------------------------------------------------------------------------------------------------------


def one_of(size, *places):
    return [int(place in places) for place in range(size)]


def thermometer(size, number):
    return [int(place < number) for place in range(size)]


def card_bits(cards, frame):
    return [int(rank + suit in cards) for suit in frame for rank in PLAIN_ORDER]


def strain_bits(strain, frame):
    return [int(strain == each) for each in [*frame, "NT", "AT"]]


def hidden_hands(game, viewer, frame):
    """(96,) the hands of next, partner and previous."""
    return [bit for step in (1, 2, 3) for bit in card_bits(game.hands[(viewer + step) % 4], frame)]


def action_in_frame(action, frame):
    """The number that a card or call has in a frame."""
    if action < PASS:
        return 8 * frame.index(SUITS[action // 8]) + action % 8
    if action < FIRST_CALL or (action - FIRST_CALL) % 6 > 3:
        return action
    strain = (action - FIRST_CALL) % 6
    return action - strain + frame.index(SUITS[strain])


def mask(game, size, frame):
    """(size,) the legal actions of the seat to act."""
    return one_of(size, *(action_in_frame(action, frame) for action in game.legal()))


def observation(game, viewer, frame):
    """Every field of the page, in its order."""
    table, us = game.table, viewer % 2
    others = {name: (viewer + step) % 4 for step, name in enumerate(("next", "partner", "previous"), start=1)}
    seats = {"me": viewer, **others}

    def seat_bits(*absolute):
        return [int(seat in absolute) for seat in seats.values()]

    played = {name: cards_played(game, seat) for name, seat in seats.items()}
    numbers = trick_numbers(game)
    known = known_not_held(game)
    unseen = set(CARDS) - game.hands[viewer] - set(numbers)
    possible = {name: unseen - known[seat] for name, seat in others.items()}
    # the trick on the table began so many seats before the one to act
    in_play = game.phase == "play"
    leader = (game.turn - len(game.trick)) % 4
    on_table = {(leader + place) % 4: card for place, card in enumerate(game.trick)}
    winning = [(leader + trick_winner(game.trick, game.trump)) % 4] if game.trick else []
    turned = game.turned
    taker, strain = (game.taker, game.trump) if game.taker is not None else (None, None)
    if taker is None and game.bid is not None:
        _, strain, taker = game.bid
    callers = {call: [seat for seat, action in game.calls if action == call] for call in (COINCHE, SURCOINCHE)}
    bids = [(seat, *divmod(action - FIRST_CALL, 6)) for seat, action in game.calls if action >= FIRST_CALL]
    if game.value is not None and not game.calls:  # a deal that began with its first lead
        bids = [(game.taker, LEVELS.index(game.value), STRAINS.index(game.trump))]
    belote = [seat for (seat, _, _), event in zip(game.plays, game.events, strict=True) if event == "belote"]
    match_over = game.phase == "over" and game.match_over() != "continue"
    pot = 0 if match_over else game.pot  # rules 6.1
    scores = [12 * score // table["target"] if table["target"] else 0 for score in game.scores]
    auction = [0] * 104
    for seat, level, bid in bids if table["game"] == "auction" else []:
        bidder = {0: [0, 0], 1: [1, 0], 2: [0, 1], 3: [1, 1]}[(seat - viewer) % 4]
        auction[8 * level : 8 * level + 8] = strain_bits(STRAINS[bid], frame) + bidder
    return {
        "hand": card_bits(game.hands[viewer], frame),
        **{f"played_{name}": card_bits(cards, frame) for name, cards in played.items()},
        **{f"table_{name}": card_bits({on_table.get(seat)}, frame) for name, seat in others.items()},
        **{f"trick_{bit}": card_bits({c for c in numbers if numbers[c] // bit % 2}, frame) for bit in (1, 2, 4)},
        **{f"possible_{name}": card_bits(cards, frame) for name, cards in possible.items()},
        "turned_rank": one_of(8, *([PLAIN_ORDER.index(rank_of(turned))] if turned else [])),
        "turned_suit": [int(turned is not None and suit_of(turned) == suit) for suit in frame],
        "turned_holder": seat_bits(*([game.taker] if turned and turned not in numbers else [])),
        "to_act": seat_bits(*([] if game.phase == "over" else [game.turn])),
        "dealer": seat_bits(game.dealer),
        "leader": seat_bits(*([leader] if in_play else [])),
        "winner": seat_bits(*winning),
        "phase": [int(game.phase == phase) for phase in PHASES],
        "round_two": [int(turned is not None and game.taker is not None and len(game.calls) > 4)],
        "doubled": [int(game.multiplier > 1)],
        "redoubled": [int(game.multiplier > 2)],
        "taker": seat_bits(taker),
        "coinche_by": seat_bits(*callers[COINCHE]),
        "surcoinche_by": seat_bits(*callers[SURCOINCHE]),
        "belote": seat_bits(*belote),
        "strain": strain_bits(strain, frame),
        "declared_side": [0, 0],  # rules 7: not played yet
        "voids": [int(not any(suit_of(card) == suit for card in possible[name])) for name in others for suit in frame],
        "pot": [int(pot >= edge) for edge in (1, 41, 81, 121)],
        "points_us": thermometer(20, game.trick_points[us] // 8),
        "points_them": thermometer(20, game.trick_points[1 - us] // 8),
        "tricks_us": thermometer(8, game.tricks_won[us]),
        "tricks_them": thermometer(8, game.tricks_won[1 - us]),
        "score_us": thermometer(12, scores[us]),
        "score_them": thermometer(12, scores[1 - us]),
        "declarations": [0] * 24,
        "auction": auction,
        "rules": rules_bits(table),
    }


def rules_bits(table):
    """(32,) the rules in force; where a game has no use for a clause, its bit is that of the usual table."""
    auction, scoring = table["game"] == "auction", table["scoring"]
    bids, strains = table.get("bids", []), table.get("strains", [])
    contree, counted_once = scoring == "contree", not table.get("belote_multiplied", False)
    return [
        int(fact)
        for fact in (
            auction,
            table.get("second_round") == "any",
            False,  # all_pass: the referee knows the next dealer alone
            170 in bids,
            180 in bids,
            500 in bids,
            "NT" in strains,
            "AT" in strains,
            table.get("reentry", True),
            table.get("surcoinche_by") == "side",
            table["beatable_trump"] == "overtrump",
            table["unbeatable_trump"] == "any card",
            table["partner_trump"] == "higher if a trump",
            table["partner_trump"] == "no trump",
            contree or table.get("failed_bonuses") == "all to the defenders",
            contree,  # the winner of a doubled contract scores every belote
            auction and not contree and not counted_once,
            table["made"] in ("82 or 92", "82 in tricks", "bid and majority"),
            table["made"] in ("bid", "bid and majority"),
            table["equal"] in ("failed", None),
            table["equal"] == "litige",
            table["needs_trick"],
            auction,  # the takers score their bid besides
            False,  # … or alone
            table.get("failed_capot") in (250, 252),
            table.get("factors", {4: 4})[4] >= 4,
            contree,
            table["rounding"],
            table["target"] is None,
            table["match_equal"] == "continue",
            table["declarations"],
            250 in bids,
        )
    ]
