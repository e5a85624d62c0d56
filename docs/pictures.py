"""Draw the pictures of README and docs anew: `python docs/pictures.py` from a checkout."""

from pathlib import Path

from belote_env import Game
from belote_env.draw import table_svg
from belote_env.players import Heuristic
from belote_env.state import new_states

FOLDER = Path(__file__).parent / "images"


def played(rules: str, seed: int, actions: int) -> Game:
    """A game after so many calls and cards of Heuristic."""
    game, player = Game(rules, seed=seed), Heuristic()
    player.start(game.rules)
    for _ in range(actions):
        states = new_states(1)
        states[:] = game._states
        game.play(int(player.act(states, [game.turn])[0]))
    return game


def pictures() -> dict[str, str]:
    """Each file's name and its SVG."""
    return {
        "turn-up.svg": table_svg(played("classic", 21, 2), 1, width=800),
        "play.svg": table_svg(played("coinche", 126, 24), 1, width=800),
        "open.svg": table_svg(played("classic", 21, 20), width=800),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8", newline="\n")
