"""`Game`: Belote for people, as `chess.Board` is for chess.

Doors check what kernels trust: bad input gets one sentence that shows the position, and changes nothing.
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belote_env.cards import CARD_NAMES, NO_CARD, STRAINS, cards_of, parse_card
from belote_env.engine import apply, begin_deal, is_legal, new_match, next_deal
from belote_env.notation import (
    action_name,
    contract_numbers,
    legal_numbers,
    parse_action,
    parse_match,
    position_text,
    replayed,
    rules_text,
    set_contract,
)
from belote_env.observation import observe_batch
from belote_env.rules import Rules, as_rules
from belote_env.rulings import Cards, card_list
from belote_env.state import DEAL_OVER, LEVEL_VALUES, MADE, MATCH_OVER, NOBODY, PHASE_NAMES, new_states


class Contract(NamedTuple):
    """Who plays for what. `value` is None in turn-up games; `multiplier` 1, 2 or 4 names the call."""

    taker: int
    trump: str
    value: int | None
    multiplier: int


class Event(NamedTuple):
    """One call or card, in order: seat 0..3, action number, its text."""

    seat: int
    action: int
    name: str


class Game:
    """A match in progress.

    Args:
        rules: `Rules` or a preset's name.
        seed: 0..2**64-1; decides first dealer and every pack. None draws one.

    Raises:
        ValueError: an unknown preset or a seed out of range.
    """

    def __init__(self, rules: Rules | str = "classic", seed: int | None = None) -> None:
        self.rules = as_rules(rules)
        self._states = new_states(1)
        self._before: list[str] = []
        new_match(self._states, 0, self.rules.packed, np.uint64(checked_seed(seed)))

    # -- what stands on the table

    @property
    def turn(self) -> int | None:
        """Seat to act, or None when the deal is over."""
        seat = int(self._states[0]["turn"])
        return None if seat == NOBODY else seat

    @property
    def phase(self) -> str:
        """ "round one", "round two", "auction", "answer", "play", "deal over" or "match over"."""
        return PHASE_NAMES[self._states[0]["phase"]]

    @property
    def dealer(self) -> int:
        """Seat that dealt."""
        return int(self._states[0]["dealer"])

    @property
    def turned(self) -> str | None:
        """The card that was turned up, or None."""
        card = int(self._states[0]["turned"])
        return None if card == NO_CARD else CARD_NAMES[card]

    @property
    def deal_over(self) -> bool:
        """Whether this deal is over; `next_deal()` then deals again unless `is_over`."""
        return int(self._states[0]["phase"]) >= DEAL_OVER

    @property
    def is_over(self) -> bool:
        """Whether the match is over."""
        return int(self._states[0]["phase"]) == MATCH_OVER

    @property
    def winner(self) -> int | None:
        """Side that has won the match; None while it goes on or when it is drawn."""
        side = int(self._states[0]["match_winner"])
        return side if side in (0, 1) else None

    @property
    def contract(self) -> Contract | None:
        """The contract, or the standing bid; None before."""
        s = self._states[0]
        if s["taker"] == NOBODY:
            return None
        value = LEVEL_VALUES[s["level"]] if self.rules.bidding == "auction" else None
        return Contract(int(s["taker"]), STRAINS[s["strain"]], value, int(s["multiplier"]))

    @property
    def made(self) -> bool | None:
        """Whether the contract of the deal that is over was made; None before, after all passed, and for litige."""
        made = int(self._states[0]["made"])
        return None if made not in (0, 1) else made == MADE

    @property
    def scores(self) -> tuple[int, int]:
        """Match scores (side 0, side 1), this deal included once it is over."""
        return _pair(self._states[0]["scores"])

    @property
    def deal_scores(self) -> tuple[int, int]:
        """Scores of this deal (side 0, side 1); (0, 0) until it is over."""
        return _pair(self._states[0]["deal_scores"])

    @property
    def points(self) -> tuple[int, int]:
        """Trick points of this deal so far (side 0, side 1)."""
        return _pair(self._states[0]["points"])

    @property
    def pot(self) -> int:
        """Points held back by litige."""
        return int(self._states[0]["pot"])

    @property
    def trick(self) -> list[tuple[int, str]]:
        """`(seat, card)` of the trick on the table, in order; empty between tricks."""
        s = self._states[0]
        n = int(s["n_cards"])
        return [((int(s["leader"]) + k) % 4, CARD_NAMES[s["cards"][n - n % 4 + k]]) for k in range(n % 4)]

    def hand(self, seat: int) -> list[str]:
        """Cards held by a seat now.

        Raises:
            ValueError: not a seat 0..3.
        """
        return [CARD_NAMES[c] for c in cards_of(int(self._states[0]["hands"][_checked_seat(seat)]))]

    # -- acting

    def legal_actions(self) -> list[int]:
        """Legal action numbers, ascending; empty when the deal is over."""
        return legal_numbers(self._states, 0, self.rules)

    def names(self, actions: Iterable[int]) -> list[str]:
        """The texts of action numbers in this position.

        Raises:
            ValueError: a number that is no action of these rules.
        """
        actions = list(actions)
        for a in actions:
            if not 0 <= a < self.rules.n_actions:
                raise ValueError(f"{a} is not an action: 0 to {self.rules.n_actions - 1}")
        phase = int(self._states[0]["phase"])
        return [action_name(a, phase, self.rules.bidding) for a in actions]

    def play(self, action: int | str) -> None:
        """Play an action by number or text: `"JS"`, `"pass"`, `"take"`, `"S"`, `"90H"`, `"coinche"`, `"accept"`.

        Raises:
            ValueError: not an action, or not legal here; nothing has changed then.
        """
        if self.deal_over:
            then = "the match is over" if self.is_over else "next_deal() deals the next one"
            raise ValueError(f"{action!r} cannot be played: the deal is over, {then}; position: {self.to_text()}")
        try:
            number = _checked_action(action, self._states, self.rules)
        except ValueError as error:
            raise ValueError(f"{error}; position: {self.to_text()}") from None
        if not is_legal(self._states, 0, self.rules.packed, number):
            legal = ", ".join(self.names(self.legal_actions()))
            raise ValueError(
                f"{action!r} is not legal for seat {self.turn} in {self.phase}: legal are {legal}; "
                f"position: {self.to_text()}"
            )
        apply(self._states, 0, self.rules.packed, number)

    def next_deal(self) -> None:
        """Deal the next deal of the match.

        Raises:
            ValueError: the deal is not over, or the match is; nothing has changed then.
        """
        if not self.deal_over or self.is_over:
            why = "the match is over" if self.is_over else "the deal is not over"
            raise ValueError(f"no next deal: {why}; position: {self.to_text()}")
        self._before.append(self.to_text())
        next_deal(self._states, 0, self.rules.packed)

    def events(self) -> list[Event]:
        """Every call and card of this deal in order, for sequence models."""
        return [
            Event(seat, action, action_name(action, phase, self.rules.bidding))
            for seat, action, phase in replayed(self._states, 0, self.rules)
        ]

    # -- what a seat sees

    def observe(self, seat: int) -> NDArray[np.uint8]:
        """(SIZE,) uint8 bits of `observation.LAYOUT` as a seat sees them."""
        observations, _, _ = observe_batch(self._states, [_checked_seat(seat)], self.rules, canonical=False)
        return observations.reshape(-1)

    def mask(self) -> NDArray[np.int8]:
        """(n_actions,) int8, 1 where legal; all zeros when the deal is over."""
        mask = np.zeros(self.rules.n_actions, np.int8)
        mask[self.legal_actions()] = 1
        return mask

    # -- copies and text

    def copy(self) -> "Game":
        """An independent game in the same position."""
        return self._at(self.rules, self._states.copy(), list(self._before))

    @property
    def state(self) -> NDArray[Any]:
        """(1,) of `state.STATE`, a copy, for all that takes states; `np.concatenate` makes one array of many."""
        return self._states.copy()

    def to_text(self) -> str:
        """The position in one line; `Game.parse` rebuilds it."""
        return position_text(self._states, 0, self.rules)

    def match_text(self) -> str:
        """The match so far, one line a deal; `Game.parse` rebuilds it."""
        return "\n".join([*self._before, self.to_text()])

    @classmethod
    def parse(cls, text: str) -> "Game":
        """The game of a position's line or of a match's lines.

        Raises:
            ValueError: malformed text, or an action that is not legal where it stands.
        """
        before, states, rules = parse_match(text)
        return cls._at(rules, states, before)

    @classmethod
    def from_hands(
        cls,
        rules: Rules | str,
        hands: Sequence[Cards],
        dealer: int = 0,
        turned: str | None = None,
        stock: Cards | None = None,
        seed: int | None = None,
    ) -> "Game":
        """A game before the first call.

        Args:
            rules: `Rules` or a preset's name.
            hands: four hands in seat order, each a list of names or text: eight cards for auctions, five for turn-up.
            dealer: seat.
            turned: the turned card of a turn-up game.
            stock: its eleven other cards in dealing order; None draws them from the seed.
            seed: of the deals that follow; None draws one.

        Raises:
            ValueError: wrong numbers of cards, a card twice, or cards the rules do not use.
        """
        table = as_rules(rules)
        size = sum(table.packets)
        given = _checked_hands(hands, size)
        game = cls(table, seed)
        rest: list[int] = []
        if table.bidding == "turn_up":
            if turned is None:
                raise ValueError(f"a turn-up game needs the turned card; the rules are {rules_text(table)}")
            used = {c for hand in given for c in hand} | {parse_card(turned)}
            if len(used) != 21:
                raise ValueError(f"the turned card {turned} is in a hand too")
            rest = (
                [int(c) for c in game._states[0]["pack"] if int(c) not in used] if stock is None else card_list(stock)
            )
            if sorted(rest) != sorted(set(range(32)) - used):
                left = " ".join(CARD_NAMES[c] for c in sorted(set(range(32)) - used))
                raise ValueError(f"the stock must be the eleven cards left, in dealing order: {left}")
            rest = [parse_card(turned), *rest]
        elif turned is not None or stock is not None:
            raise ValueError(f"turned and stock belong to turn-up games; the rules are {rules_text(table)}")
        pack: list[int] = []
        waiting = [list(hand) for hand in given]
        for packet in table.packets:
            for k in range(1, 5):
                hand = waiting[(_checked_seat(dealer) + k) % 4]
                pack += hand[:packet]
                del hand[:packet]
        state = game._states[0]
        state["pack"], state["dealer"] = pack + rest, dealer
        begin_deal(game._states, 0, table.packed)
        return game

    @classmethod
    def from_play(
        cls,
        rules: Rules | str,
        hands: Sequence[Cards],
        dealer: int = 0,
        taker: int = 1,
        trump: str = "H",
        value: int | None = None,
        multiplier: int = 1,
    ) -> "Game":
        """A game at the first lead of a given contract, without a bidding.

        Args:
            rules: `Rules` or a preset's name.
            hands: four hands of eight in seat order.
            dealer: seat; the next one leads.
            taker: seat that holds the contract.
            trump: a strain.
            value: of the bid, in auction games.
            multiplier: 1, 2 after a coinche, 4 after a surcoinche.

        Raises:
            ValueError: wrong numbers of cards, a card twice, or a contract that the rules do not have.
        """
        table = as_rules(rules)
        given = _checked_hands(hands, 8)
        strain, level, call = contract_numbers(table, value, trump, multiplier)
        _checked_seat(taker)
        game = cls(table, 0)
        state = game._states[0]
        state["pack"] = [c for k in range(1, 5) for c in given[(_checked_seat(dealer) + k) % 4]]
        state["dealer"] = dealer
        begin_deal(game._states, 0, table.packed)
        set_contract(game._states, table, taker, strain, level, call)
        return game

    @classmethod
    def _at(cls, rules: Rules, states: NDArray[np.void], before: list[str]) -> "Game":
        game = cls.__new__(cls)
        game.rules, game._states, game._before = rules, states, before
        return game

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self.rules == other.rules and self._states.tobytes() == other._states.tobytes()

    __hash__ = None  # type: ignore[assignment]  # a game changes as it is played

    def __repr__(self) -> str:
        return f"<Game {self.to_text()}>"


def checked_seed(seed: int | None) -> int:
    """The seed, or a drawn one for None.

    Raises:
        ValueError: not an integer from 0 to 2**64 - 1.
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed={seed!r}: an integer from 0 to 2**64 - 1 is needed")
    return int(seed)


def _checked_seat(seat: int) -> int:
    if isinstance(seat, bool) or not isinstance(seat, int | np.integer) or not 0 <= int(seat) <= 3:
        raise ValueError(f"{seat!r} is not a seat 0..3")
    return int(seat)


def _checked_action(action: int | str, states: NDArray[np.void], rules: Rules) -> int:
    if isinstance(action, int | np.integer) and not isinstance(action, bool):
        return int(action) if 0 <= action < rules.n_actions else -1
    return parse_action(action, states, 0, rules)  # type: ignore[arg-type]


def _checked_hands(hands: Sequence[Cards], size: int) -> list[list[int]]:
    given = [card_list(hand) for hand in hands]
    if len(given) != 4 or any(len(hand) != size for hand in given):
        raise ValueError(f"four hands of {size} cards are needed, not {[len(hand) for hand in given]}")
    flat = [c for hand in given for c in hand]
    twice = sorted({CARD_NAMES[c] for c in flat if flat.count(c) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} is in the hands twice")
    return given


def _pair(values: NDArray[np.generic]) -> tuple[int, int]:
    return int(values[0]), int(values[1])
