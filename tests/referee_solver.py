"""The slow referee, card values: every line of play to the end of a deal, remembered, nothing left out.

Seats are 0..3, sides `seat % 2`; hands are frozensets of card texts.
"""

from functools import cache

from referee_score import card_points
from referee_tricks import legal_cards, trick_winner


def card_values(table, hands, leader, trick, trump, points, tricks):
    """Final trick points of the mover's side for each legal card, both sides playing for the difference.

    `trick` is what lies on the table in order of play from `leader`; `points` and `tricks` are what each side has.
    """

    @cache
    def best(hands, leader, trick, tricks):
        """What sides 0 and 1 still get, in the line that is best for each mover in turn."""
        if not trick and not any(hands):
            return (0, 0)
        seat = (leader + len(trick)) % 4
        mine = seat % 2
        lines = [play(hands, leader, trick, tricks, card) for card in legal_cards(table, hands[seat], trick, trump)]
        return max(lines, key=lambda line: line[mine] - line[1 - mine])

    def play(hands, leader, trick, tricks, card):
        seat = (leader + len(trick)) % 4
        left = tuple(hand - {card} if k == seat else hand for k, hand in enumerate(hands))
        trick = (*trick, card)
        if len(trick) < 4:
            return best(left, leader, trick, tricks)
        winner = (leader + trick_winner(trick, trump)) % 4
        side = winner % 2
        tricks = (tricks[0] + 1 - side, tricks[1] + side)
        won = sum(card_points(c, trump) for c in trick)
        if not any(left):  # rules 1.4
            won += 100 if tricks[side] == 8 else 10
        later = best(left, winner, (), tricks)
        return (later[0] + won, later[1]) if side == 0 else (later[0], later[1] + won)

    hands, trick, tricks = tuple(frozenset(hand) for hand in hands), tuple(trick), tuple(tricks)
    seat = (leader + len(trick)) % 4
    legal = legal_cards(table, hands[seat], trick, trump)
    return {card: points[seat % 2] + play(hands, leader, trick, tricks, card)[seat % 2] for card in legal}
