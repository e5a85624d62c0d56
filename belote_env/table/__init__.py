"""The table a person plays at, and the replay of a match: `view` makes lines, `session` plays, `keep` saves."""

from belote_env.table.keep import Seating, autosave_path, check_seating, read_match, write_match
from belote_env.table.replay import Replay
from belote_env.table.session import Session

__all__ = [
    "Replay",
    "Seating",
    "Session",
    "autosave_path",
    "check_seating",
    "read_match",
    "write_match",
]
