"""Who has won each trick, and a hand in the order in which people hold it."""

from collections.abc import Sequence

from belote_env.cards import CLUBS, DIAMONDS, HEARTS, NO_CARD, NO_TRUMP, SPADES, STRENGTH, SUIT_MASK, cards_of
from belote_env.game import Event, Game


def trick_winners(game: Game, cards: Sequence[Event]) -> list[int]:
    """The seat that has won each trick, or is winning the one on the table (rules 4).

    Args:
        cards: the cards of the deal so far, in order of play.
    """
    strain, winners = int(game.state["strain"][0]), []
    for k in range(0, len(cards), 4):
        led = cards[k].action // 8
        winners.append(max(cards[k : k + 4], key=lambda event: int(STRENGTH[strain, led, event.action])).seat)
    return winners


def hand_in_order(game: Game, seat: int) -> list[int]:
    """The cards a seat holds, trumps (or the turned suit) first, then suit by suit, the colours in turn, each from
    high to low."""
    state = game.state[0]
    strain = int(state["strain"]) if game.contract is not None else -1
    if strain < 0 and int(state["turned"]) != NO_CARD:
        strain = int(state["turned"]) // 8
    first = strain if 0 <= strain < NO_TRUMP else SPADES
    order = strain if strain >= 0 else NO_TRUMP  # before a bid: plain order in every suit
    others = (HEARTS, DIAMONDS) if first in (SPADES, CLUBS) else (SPADES, CLUBS)
    hand = []
    for suit in (first, others[0], 3 - first, others[1]):  # S H D C: 3 - suit is the other one of its colour
        held = cards_of(int(state["hands"][seat]) & int(SUIT_MASK[suit]))
        hand += sorted(held, key=lambda card: -int(STRENGTH[order, suit, card]))
    return hand
