"""Plays from an installed wheel: `make wheel-test` runs it in a clean environment, outside the checkout.

Not collected by pytest: inside the checkout it would find the sources and prove nothing.
"""

import importlib.metadata
import random
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

import belote_env
from belote_env import Game, Rules, belote_v0
from belote_env.players.policy import released_policies

TAKE = 35  # a call at level 0
NEVER_IMPORTED = ("torch", "onnxruntime", "resvg_py", "PIL", "tensorboard", "models", "training")


def check_installation() -> None:
    """Imported from site-packages, typed, and under no other import name."""
    home = Path(belote_env.__file__).resolve()
    assert home.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()), f"imported from {home}"
    assert (home.parent / "py.typed").is_file(), "py.typed is missing: type checkers would ignore the package"
    files = importlib.metadata.distribution("belote-env").files or []
    top = {file.parts[0] for file in files if ".." not in file.parts}
    names = {name for name in top if not name.endswith(".dist-info")}
    assert names == {"belote_env"}, f"the wheel installs {sorted(names)}"
    assert "contree" in released_policies(), "the released policy is missing"


def check_imports() -> None:
    """No learning framework comes along."""
    loaded = [name for name in NEVER_IMPORTED if name in sys.modules]
    assert not loaded, f"importing belote_env imports {loaded}"


def play_game() -> tuple[int, int]:
    """A whole deal through `Game`: every card is played once."""
    rng = random.Random(7)
    game = Game(Rules.preset("classic"), seed=7)
    played: list[int] = []
    while not game.deal_over:
        legal = game.legal_actions()
        action = TAKE if TAKE in legal else rng.choice(legal)
        game.play(action)
        if action < 32:
            played.append(action)
    assert sorted(played) == list(range(32)), f"cards played: {played}"
    assert game.legal_actions() == [], "a finished deal has legal actions"
    first, second = game.deal_scores
    assert first + second > 0, "a deal that was taken scores nothing"
    return int(first), int(second)


def play_env() -> dict[str, float]:
    """A whole episode through the AEC door, as its documentation shows it."""
    env = belote_v0.env()
    env.reset(seed=1)
    seats = list(env.possible_agents)
    for seed, seat in enumerate(seats):
        env.action_space(seat).seed(seed)
    total = dict.fromkeys(seats, 0.0)
    for agent in env.agent_iter():
        obs, reward, term, trunc, _ = env.last()
        total[agent] += reward
        done = term or trunc
        assert done or np.any(obs["action_mask"]), f"{agent} is to move and may do nothing"
        env.step(None if done else env.action_space(agent).sample(obs["action_mask"]))
    assert not env.agents, f"agents left after the episode: {env.agents}"
    south, west, north, east = (total[seat] for seat in seats)
    assert south == north == -west == -east, f"partners share a reward, sides mirror it: {total}"
    return total


def run_console_script() -> None:
    """The `belote` command is installed and answers."""
    script = Path(sysconfig.get_path("scripts")) / "belote"
    done = subprocess.run([str(script), "--help"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"belote --help: exit {done.returncode}\n{done.stderr}"
    assert "Usage" in done.stdout, f"belote --help printed:\n{done.stdout}"


def main() -> None:
    check_imports()
    check_installation()
    scores = play_game()
    rewards = play_env()
    check_imports()
    run_console_script()
    version = importlib.metadata.version("belote-env")
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"belote-env {version} from the wheel, Python {python}: one deal {scores}, one episode {rewards}")


if __name__ == "__main__":
    main()
