"""The slow referee: plays one deal of any table from the rule book.

Plain lists and sets, no code shared with `belote_env`. `referee_tricks` knows which card may be played,
`referee_score` counts, `referee_knowledge` says what a seat can know; all their names are here too.
"""

from referee_knowledge import possible_cards
from referee_score import (
    PLAIN_ORDER,
    STRAINS,
    SUITS,
    TABLES,
    card_points,
    compare_declarations,
    declarations_of,
    match_winner,
    override,
    rank_of,
    score_deal,
    suit_of,
    table_of,
)
from referee_tricks import CARDS, legal_cards, trick_winner

__all__ = [
    "CARDS",
    "TABLES",
    "Referee",
    "action_number",
    "card_points",
    "compare_declarations",
    "declarations_of",
    "legal_cards",
    "match_winner",
    "override",
    "possible_cards",
    "score_deal",
    "trick_winner",
]

PASS, COINCHE, SURCOINCHE, FIRST_CALL = 32, 33, 34, 35
LEVELS = [80, 90, 100, 110, 120, 130, 140, 150, 160, 250, 170, 180]


def action_number(text, value=None):
    """The number of a card, of "pass", "accept", "coinche", "surcoinche", or of a call: strain and value."""
    words = {"pass": PASS, "accept": PASS, "coinche": COINCHE, "surcoinche": SURCOINCHE}
    if text in words:
        return words[text]
    if text in CARDS:
        return 8 * SUITS.index(suit_of(text)) + PLAIN_ORDER.index(rank_of(text))
    level = 0 if value is None else LEVELS.index(value)
    return FIRST_CALL + 6 * level + STRAINS.index(text)


def card_named(number):
    return PLAIN_ORDER[number % 8] + SUITS[number // 8]


class Referee:
    """One deal. Seats 0-3 in playing order; seats 0 and 2 are side 0 (rules 2.1)."""

    def __init__(self, table, pack, dealer, scores=(0, 0), pot=0):
        self._start(table, dealer, scores, pot)
        assert sorted(pack) == sorted(CARDS)
        self._pack = list(pack)
        self.phase = "bid1" if self.table["game"] == "turn-up" else "auction"
        # rules 3.1, 3.3: packets of 3 then 2, or 3, 2, 3
        for size in [3, 2] if self.phase == "bid1" else [3, 2, 3]:
            for seat in self._from_first_seat():
                self._give(seat, size)
        if self.phase == "bid1":
            self.turned = self._pack.pop(0)

    @classmethod
    def at_play(cls, table, hands, dealer, taker, trump, value=None, multiplier=1, scores=(0, 0), pot=0):
        """A deal at its first lead, with the four hands of eight."""
        self = cls.__new__(cls)
        self._start(table, dealer, scores, pot)
        assert sorted(card for hand in hands for card in hand) == sorted(CARDS)
        self.hands = [set(hand) for hand in hands]
        self.multiplier = multiplier
        self._begin_play(taker, trump, value)
        return self

    def _start(self, table, dealer, scores, pot):
        self.table = table_of(table)
        self.dealer = dealer
        self.next_dealer = (dealer + 1) % 4  # rules 2.3, also after a deal in which all passed
        self.scores_before = tuple(scores)
        self.scores = tuple(scores)
        self.deal_scores = None
        self.pot = pot
        self.hands = [set(), set(), set(), set()]
        self.turned = None
        self.turn = (dealer + 1) % 4  # rules 2.2: the seat after the dealer speaks first and leads
        self.calls = []  # (seat, action)
        self.bid = None  # (value, strain, seat), the standing bid of an auction
        self.doubler = None
        self.multiplier = 1
        self.taker = self.trump = self.value = self.made = None
        self.trick = []
        self.plays = []  # (seat, card, the trick as it lay before)
        self.events = []  # for each play: None, "belote" or "rebelote"
        self.belotes = {}  # trump suit -> the seat that held its king and queen
        self.trick_points = [0, 0]
        self.tricks_won = [0, 0]
        self.declared = [[], [], [], []]
        self.declaration_scores = self.declaration_announced = (0, 0)

    def _from_first_seat(self):
        return [(self.dealer + step) % 4 for step in (1, 2, 3, 4)]

    def _give(self, seat, count):
        for _ in range(count):
            self.hands[seat].add(self._pack.pop(0))

    @property
    def belote_seat(self):
        """The seat that held king and queen of trump, or None (rules 5.1); the first one in all-trump."""
        return next(iter(self.belotes.values()), None)

    def legal(self):
        """The set of legal action numbers, empty when the deal is over."""
        return {
            "bid1": self._legal_round_one,
            "bid2": self._legal_round_two,
            "auction": self._legal_auction,
            "answer": lambda: {PASS, SURCOINCHE},  # rules 3.4: accept or surcoinche
            "play": self._legal_play,
            "over": set,
        }[self.phase]()

    def _legal_round_one(self):
        # rules 3.1: take the turned suit or pass
        return {PASS, action_number(suit_of(self.turned))}

    def _legal_round_two(self):
        # rules 3.1: any other suit or pass
        suits = [suit for suit in SUITS if self.table["second_round"] == "any" or suit != suit_of(self.turned)]
        return {PASS} | {action_number(suit) for suit in suits}

    def _legal_auction(self):
        legal = {PASS}
        may_bid = self.table["reentry"] or (self.turn, PASS) not in self.calls
        for value in self.table["bids"]:
            # rules 3.3: each bid higher than the last; rules 9: only the value counts
            if may_bid and (self.bid is None or value > self.bid[0]):
                legal |= {action_number(strain, value) for strain in self.table["strains"]}
        # rules 3.4: on your turn, when the standing bid is the other side's
        if self.bid is not None and self.bid[2] % 2 != self.turn % 2:
            legal.add(COINCHE)
        return legal

    def _legal_play(self):
        hand = sorted(self.hands[self.turn])
        return {action_number(card) for card in legal_cards(self.table, hand, self.trick, self.trump)}

    def apply(self, action):
        assert action in self.legal(), (action, self.phase, self.turn)
        if self.phase == "play":
            self._play(card_named(action))
            return
        seat = self.turn
        self.calls.append((seat, action))
        self.turn = (seat + 1) % 4
        if self.phase in ("bid1", "bid2"):
            self._answer_turn_up(seat, action)
        elif self.phase == "auction":
            self._call(seat, action)
        else:
            self._answer_coinche(seat, action)

    def _answer_turn_up(self, seat, action):
        if action != PASS:
            # rules 3.1: the turned card goes to the taker, then two more to him and three to each other seat
            self.hands[seat].add(self.turned)
            for other in self._from_first_seat():
                self._give(other, 2 if other == seat else 3)
            self._begin_play(seat, STRAINS[action - FIRST_CALL], None)
        elif len(self.calls) == 4:
            self.phase = "bid2"
        elif len(self.calls) == 8:
            self._all_passed()

    def _call(self, seat, action):
        if action == COINCHE:
            # rules 3.4: it closes the bidding; the next seat answers
            self.doubler = seat
            self.multiplier = 2
            self.phase = "answer"
        elif action != PASS:
            level, strain = divmod(action - FIRST_CALL, 6)
            self.bid = (LEVELS[level], STRAINS[strain], seat)
        elif self.bid is None and len(self.calls) == 4:
            self._all_passed()  # rules 3.3: four passes at the start
        elif self.bid is not None and [call for _, call in self.calls[-3:]] == [PASS, PASS, PASS]:
            self._close_auction()  # rules 3.3: three passes in a row after a bid

    def _answer_coinche(self, seat, action):
        # rules 3.4: under "side" the answerer's partner may still surcoinche when the answerer accepts
        if action == SURCOINCHE:
            self.multiplier = 4
            self._close_auction()
        elif self.table["surcoinche_by"] == "side" and seat == (self.doubler + 1) % 4:
            self.turn = (seat + 2) % 4
        else:
            self._close_auction()

    def _close_auction(self):
        value, strain, seat = self.bid
        self._begin_play(seat, strain, value)

    def _all_passed(self):
        # rules 3.2, 3.3: 0-0; rules 6.1: the pot survives
        self.phase = "over"
        self.deal_scores = (0, 0)

    def _begin_play(self, taker, trump, value):
        assert all(len(hand) == 8 for hand in self.hands)
        self.taker, self.trump, self.value = taker, trump, value
        self.phase = "play"
        self.turn = (self.dealer + 1) % 4
        # rules 5.1: king and queen in one completed hand of eight; rules 9: which suits count
        suits = SUITS if trump == "AT" and self.table["belote_all_trump"] == "each" else [trump]
        for suit in suits:
            for seat in range(4):
                if {"K" + suit, "Q" + suit} <= self.hands[seat]:
                    self.belotes[suit] = seat
        if self.table["declarations"]:
            self.declared = [declarations_of(hand) for hand in self.hands]
            _, self.declaration_scores, self.declaration_announced = compare_declarations(
                self.declared, trump, self.turn, self.table["declarations_tie"]
            )

    def _play(self, card):
        seat = self.turn
        # rules 5.2: belote with the first of the two cards played, rebelote with the second
        event = None
        if rank_of(card) in ("K", "Q") and self.belotes.get(suit_of(card)) == seat:
            other = ("Q" if rank_of(card) == "K" else "K") + suit_of(card)
            event = "belote" if other in self.hands[seat] else "rebelote"
        self.events.append(event)
        self.plays.append((seat, card, list(self.trick)))
        self.hands[seat].remove(card)
        self.trick.append(card)
        self.turn = (seat + 1) % 4
        if len(self.trick) == 4:
            self._take_trick((seat + 1) % 4)

    def _take_trick(self, leader):
        winner = (leader + trick_winner(self.trick, self.trump)) % 4
        self.tricks_won[winner % 2] += 1
        self.trick_points[winner % 2] += sum(card_points(card, self.trump) for card in self.trick)
        self.trick = []
        self.turn = winner  # rules 2.2
        if sum(self.tricks_won) == 8:
            # rules 1.4: 10 for the last trick, 100 in its place for eight tricks
            self.trick_points[winner % 2] += 100 if self.tricks_won[winner % 2] == 8 else 10
            self._count()

    def belote_points(self):
        """The belote points of (side 0, side 1), rules 5.1."""
        return tuple(sum(20 for seat in self.belotes.values() if seat % 2 == side) for side in (0, 1))

    def scored_belote(self):
        """The belote points in the scores of (side 0, side 1): rules 6 may give a loser's to the winner."""
        belote = list(self.belote_points())
        if self.taker is None:
            return tuple(belote)
        loser = 1 - self.taker % 2 if self.made else self.taker % 2
        contree = self.table["scoring"] == "contree"
        to_defenders = self.table.get("failed_bonuses") == "all to the defenders"
        if (not self.made and (contree or to_defenders)) or (contree and self.multiplier > 1):
            belote[loser] = 0
        return tuple(belote)

    def _count(self):
        self.phase = "over"
        side = self.taker % 2
        scored = self.declaration_scores
        self.made, taker, defenders, self.pot = score_deal(
            self.table,
            self.trick_points[side],
            self.trick_points[1 - side],
            belote=(self.belote_points()[side], self.belote_points()[1 - side]),
            taker_tricks=self.tricks_won[side],
            value=self.value,
            multiplier=self.multiplier,
            pot=self.pot,
            declarations=(scored[side], scored[1 - side]),
            unscored=sum(self.declaration_announced) - sum(scored),
        )
        self.deal_scores = (taker, defenders) if side == 0 else (defenders, taker)
        self.scores = tuple(self.scores_before[each] + self.deal_scores[each] for each in (0, 1))

    def match_over(self):
        """0, 1, "continue" or "drawn", once the deal is over (rules 8)."""
        assert self.phase == "over"
        result = {
            "scores": self.deal_scores,
            "taker_side": None if self.taker is None else self.taker % 2,
            "made": self.made,
            "belote": self.scored_belote(),
            "tricks": tuple(self.tricks_won),
        }
        return match_winner(self.table, self.scores_before, result)
