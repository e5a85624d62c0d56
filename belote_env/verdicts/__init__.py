"""The rules in words about one position: why an action is refused, who has won a trick, how a deal was counted.

What the engine's rooms decide is explained here; random deals under random rules hold the two together.
"""

from belote_env.verdicts.count import Count, Row, counted
from belote_env.verdicts.duty import SUIT_WORDS, Duty, card_duty, choices, refusal
from belote_env.verdicts.tricks import hand_in_order, trick_winners

__all__ = [
    "SUIT_WORDS",
    "Count",
    "Duty",
    "Row",
    "card_duty",
    "choices",
    "counted",
    "hand_in_order",
    "refusal",
    "trick_winners",
]
