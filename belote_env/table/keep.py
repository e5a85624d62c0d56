"""A match in a file: the notation's text, and in a comment who sits where. Written whole or not at all."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from belote_env.files import write_whole
from belote_env.game import Game
from belote_env.rulings import shown

_MARK = "# belote play "
EPISODES = ("match", "deal")


@dataclass(frozen=True)
class Seating:
    """Who sits where, and how long they play.

    Attributes:
        seat: of the person, 0..3.
        players: names of the players at the next seat, the partner's and the previous one.
        episode: "match", or "deal" for one deal.
    """

    seat: int = 0
    players: tuple[str, str, str] = ("medium", "medium", "medium")
    episode: str = "match"


def autosave_path() -> Path:
    """Where a match is kept that was given no file: the last one, in the user's data folder."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "belote_env" / "match.txt"


def write_match(path: Path, game: Game, seating: Seating) -> None:
    """Replace the file by the match as it stands.

    Raises:
        OSError: it cannot be written; an older file is as it was then.
    """
    path = path.resolve()
    text = f"{game.match_text()}\n{_MARK}{json.dumps(asdict(seating))}\n"
    write_whole(path, text.encode())


def read_match(path: Path) -> tuple[str, Game, Seating]:
    """`(text, game, seating)` of a file with a position's line or a match's lines; without the comment nobody is named.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds no match, or a comment of `belote play` that says nothing sensible.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # an editor may have put its mark before it
        game = Game.parse(text)
        marked = [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]
        return text, game, _seating(marked[-1]) if marked else Seating()
    except ValueError as error:  # a UnicodeDecodeError is one
        raise ValueError(f"{path}: {error}") from None


def _seating(text: str) -> Seating:
    try:
        found = json.loads(text)
        seating = Seating(found["seat"], tuple(found["players"]), found["episode"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"the comment {shown(_MARK + text)} does not say who sits where") from error
    check_seating(seating)
    return seating


def check_seating(seating: Seating) -> None:
    """ValueError unless there are a seat, three names and an episode."""
    if type(seating.seat) is not int or not 0 <= seating.seat <= 3:
        raise ValueError(f"{seating.seat!r} is not a seat 0..3")
    if len(seating.players) != 3 or not all(isinstance(name, str) for name in seating.players):
        raise ValueError(f"three players are needed, next, partner and previous, not {list(seating.players)}")
    if seating.episode not in EPISODES:
        raise ValueError(f"episode={seating.episode!r} is not one of {', '.join(map(repr, EPISODES))}")
