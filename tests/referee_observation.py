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


# --- what everybody knows --------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def _spoken_against(duties, card, trick, trump):
    """The cards that whoever played `card` on `trick` cannot hold (rules 4), each card judged alone."""
    table = dict(zip(_DUTIES, duties, strict=True))
    return frozenset(
        other for other in CARDS if other != card and card not in legal_cards(table, [card, other], list(trick), trump)
    )


_DUTIES = ["beatable_trump", "unbeatable_trump", "partner_plain", "partner_trump"]


def known_not_held(game):
    """For each seat, the cards that everybody knows it not to hold, whether or not they have been seen since."""
    duties = tuple(game.table[name] for name in _DUTIES)
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


def _counts_for_belote(game, suit):
    return suit == game.trump or (game.trump == "AT" and game.table["belote_all_trump"] == "each")


# --- bits ------------------------------------------------------------------------------------------------------


def one_of(size, *places):
    return [int(place in places) for place in range(size)]


def thermometer(size, number):
    return [int(place < number) for place in range(size)]


@lru_cache
def _in_order(*frame):
    return [rank + suit for suit in frame for rank in PLAIN_ORDER]


def card_bits(cards, frame):
    return [card in cards for card in _in_order(*frame)]


def _voids(cards, frame):
    there = {suit_of(card) for card in cards}
    return [int(suit not in there) for suit in frame]


def strain_bits(strain, frame):
    return [int(strain == each) for each in [*frame, "NT", "AT"]]


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


_WEIGHT = {card: 2 ** PLAIN_ORDER.index(rank_of(card)) for card in CARDS}


def _ranks(cards):
    """{suit: a number for its ranks among some cards}, the greater for the highest rank that only one of two has."""
    numbers = dict.fromkeys(SUITS, 0)
    for card in cards:
        numbers[suit_of(card)] += _WEIGHT[card]
    return numbers


class View:
    """A position as one seat sees it."""

    def __init__(self, game, viewer):
        self.game, self.viewer = game, viewer
        self.others = {name: (viewer + step) % 4 for step, name in enumerate(("next", "partner", "previous"), start=1)}
        self.seats = {"me": viewer, **self.others}
        self.hand = game.hands[viewer]
        self.played = {seat: {card for player, card, _ in game.plays if player == seat} for seat in range(4)}
        numbers = {card: place // 4 for place, (_, card, _) in enumerate(game.plays)}
        self.tricks = {bit: {card for card in numbers if numbers[card] // bit % 2} for bit in (1, 2, 4)}
        self.known = known_not_held(game)
        unseen = set(CARDS) - self.hand - set(numbers)
        self.possible = {name: unseen - self.known[seat] for name, seat in self.others.items()}

    def canonical_frame(self):
        """The order of suits of the canonical frame."""
        game, last_call = self.game, dict.fromkeys(SUITS, 0)
        for number, (_, call) in enumerate(game.calls, start=1):
            if call >= FIRST_CALL:
                last_call[STRAINS[(call - FIRST_CALL) % 6]] = number
        keys = [_ranks(self.hand | self.played[self.viewer])]
        for seat in self.others.values():
            keys += [_ranks(self.played[seat]), _ranks(self.known[seat])]
        keys += [_ranks(self.hand), *(_ranks(self.tricks[bit]) for bit in (1, 2, 4)), last_call]
        # a stable sort: equals stay in the order S H D C
        frame = sorted(SUITS, key=lambda suit: [key[suit] for key in keys], reverse=True)
        first = game.trump if game.trump in SUITS else None if game.turned is None else suit_of(game.turned)
        return frame if first is None else [first] + [suit for suit in frame if suit != first]

    def hidden_hands(self, frame):
        """(96,) the hands of next, partner and previous."""
        return [bit for seat in self.others.values() for bit in card_bits(self.game.hands[seat], frame)]

    def observation(self, frame):
        """Every field of the page, in its order."""
        game, table, us = self.game, self.game.table, self.viewer % 2
        seats, others = self.seats, self.others

        def seat_bits(*absolute):
            return [int(seat in absolute) for seat in seats.values()]

        # the trick on the table began so many seats before the one to act
        leader = (game.turn - len(game.trick)) % 4
        on_table = {(leader + place) % 4: card for place, card in enumerate(game.trick)}
        winning = [(leader + trick_winner(game.trick, game.trump)) % 4] if game.trick else []
        turned, taker, strain = game.turned, game.taker, game.trump
        turned_lies = turned is not None and not any(turned in cards for cards in self.played.values())
        if taker is None and game.bid is not None:
            _, strain, taker = game.bid
        callers = {call: [seat for seat, action in game.calls if action == call] for call in (COINCHE, SURCOINCHE)}
        belote = [seat for (seat, _, _), event in zip(game.plays, game.events, strict=True) if event == "belote"]
        match_over = game.phase == "over" and game.match_over() != "continue"
        pot = 0 if match_over else game.pot  # rules 6.1
        scores = [12 * score // table["target"] if table["target"] else 0 for score in game.scores]
        possible = self.possible
        return {
            "hand": card_bits(self.hand, frame),
            **{f"played_{name}": card_bits(self.played[seat], frame) for name, seat in seats.items()},
            **{f"table_{name}": card_bits({on_table.get(seat)}, frame) for name, seat in others.items()},
            **{f"trick_{bit}": card_bits(cards, frame) for bit, cards in self.tricks.items()},
            **{f"possible_{name}": card_bits(cards, frame) for name, cards in possible.items()},
            "turned_rank": one_of(8, *([PLAIN_ORDER.index(rank_of(turned))] if turned else [])),
            "turned_suit": [int(turned is not None and suit_of(turned) == suit) for suit in frame],
            "turned_holder": seat_bits(*([game.taker] if turned_lies else [])),
            "to_act": seat_bits(*([] if game.phase == "over" else [game.turn])),
            "dealer": seat_bits(game.dealer),
            "leader": seat_bits(*([leader] if game.phase == "play" else [])),
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
            "voids": [bit for cards in possible.values() for bit in _voids(cards, frame)],
            "pot": [int(pot >= edge) for edge in (1, 41, 81, 121)],
            "points_us": thermometer(20, game.trick_points[us] // 8),
            "points_them": thermometer(20, game.trick_points[1 - us] // 8),
            "tricks_us": thermometer(8, game.tricks_won[us]),
            "tricks_them": thermometer(8, game.tricks_won[1 - us]),
            "score_us": thermometer(12, scores[us]),
            "score_them": thermometer(12, scores[1 - us]),
            "declarations": [0] * 24,
            "auction": self._auction(frame),
            "rules": rules_bits(table),
        }

    def _auction(self, frame):
        game, bits = self.game, [0] * 104
        if game.table["game"] != "auction":
            return bits
        bids = [(seat, *divmod(action - FIRST_CALL, 6)) for seat, action in game.calls if action >= FIRST_CALL]
        if not game.calls and game.taker is not None:  # a deal that began with its first lead
            bids = [(game.taker, LEVELS.index(game.value), STRAINS.index(game.trump))]
        for seat, level, strain in bids:
            bidder = {0: [0, 0], 1: [1, 0], 2: [0, 1], 3: [1, 1]}[(seat - self.viewer) % 4]
            bits[8 * level : 8 * level + 8] = strain_bits(STRAINS[strain], frame) + bidder
        return bits


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
