"""The table a person plays at, and the replay of a match.

`duty` says why a card cannot be played, `count` how a deal was counted; `view` makes lines of them, `session` plays.
"""

from belote_env.table.count import Count, Row, counted
from belote_env.table.duty import Duty, card_duty, refusal
from belote_env.table.keep import Seating, autosave_path, check_seating, read_match, write_match
from belote_env.table.replay import Replay
from belote_env.table.session import Session

__all__ = [
    "Count",
    "Duty",
    "Replay",
    "Row",
    "Seating",
    "Session",
    "autosave_path",
    "card_duty",
    "check_seating",
    "counted",
    "read_match",
    "refusal",
    "write_match",
]
