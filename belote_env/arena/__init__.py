"""The arena: duplicate matches between two players, measured with an interval, and what their cards give away.

Every deal is played twice from the same cards, dealer and scores: once with player a on side 0, once on side 1.  The
luck of the cards cancels within a pair; means and intervals are over pairs.
"""

from belote_env.arena.deals import MOST_PAIRS
from belote_env.arena.match import play_match
from belote_env.arena.meter import Regret, regret, regret_table
from belote_env.arena.result import MatchResult, Tally

__all__ = ["MOST_PAIRS", "MatchResult", "Regret", "Tally", "play_match", "regret", "regret_table"]
