"""Belote as a reinforcement-learning environment: one compiled rules engine behind PettingZoo and NumPy doors."""

from belote_env.game import Game, legal_cards, score_deal
from belote_env.rules import Rules

__version__ = "0.1.0"
__all__ = ["Game", "Rules", "legal_cards", "score_deal"]
