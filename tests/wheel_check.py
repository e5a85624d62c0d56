"""Plays from an installed wheel: `make wheel-test` runs it in a clean environment, outside the checkout.

    wheel_check.py         the wheel and what it requires: no torch, no ONNX Runtime
    wheel_check.py onnx    the same environment once the extra `[onnx]` is there: the released policies, still no torch

Not collected by pytest: inside the checkout it would find the sources and prove nothing.
"""

import importlib.metadata
import importlib.util
import random
import subprocess
import sys
import sysconfig
from pathlib import Path

import gymnasium
import numpy as np

import belote_env
from belote_env import Game, Rules, belote_v0
from belote_env.arena import play_match
from belote_env.envs import SelfPlayVector
from belote_env.players import Search, make_player
from belote_env.players.policy import released_policies

TAKE = 35  # a call at level 0
FRAMEWORKS = ("torch", "stable_baselines3", "torchrl", "tianshou", "pyspiel", "agilerl", "pufferlib", "ray")
NEVER_IMPORTED = (*FRAMEWORKS, "onnxruntime", "onnx", "resvg_py", "PIL", "tensorboard", "models", "training")


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


def check_absent(names: tuple[str, ...]) -> None:
    """The environment is clean: what was played was played without these."""
    found = [name for name in names if importlib.util.find_spec(name) is not None]
    assert not found, f"the clean environment holds {found}"


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


def play_vectors() -> int:
    """Both vectors, by random legal actions; returns the number of deals that ended."""
    rng, tables, ended = np.random.default_rng(3), SelfPlayVector(64, rules="contree", seed=3), 0
    for _ in range(100):
        tables.step((rng.random(tables.action_mask.shape) * tables.action_mask).argmax(1))
        ended += int(tables.done.sum())
        assert (tables.rewards[:, 0] == -tables.rewards[:, 1]).all()
        assert not tables.rewards[~tables.done].any(), "a deal pays at its end"
    envs = gymnasium.make_vec("belote_env:belote/Belote-v0", num_envs=4)
    seen, _ = envs.reset(seed=3)
    for _ in range(40):
        seen, _, terminated, _, _ = envs.step(seen["action_mask"].argmax(1))
        ended += int(terminated.sum())
    envs.close()
    assert ended >= 64 + 4, f"{ended} deals ended"
    return ended


def play_search() -> float:
    """Search beats Random; returns points a deal."""
    result = play_match(Search(5), "random", rules="classic", deals=40, seed=1)
    assert result.mean - result.interval > 0, f"Search over Random: {result.mean} ± {result.interval}"
    return result.mean


def check_policy_is_refused() -> None:
    """Without ONNX Runtime a released policy is refused by the name of the extra."""
    refusal = ""
    try:
        make_player("contree")
    except ImportError as error:
        refusal = str(error)
    assert "belote-env[onnx]" in refusal, f"a policy without ONNX Runtime: {refusal or 'made'}"


def play_policy() -> float:
    """The released policy in the arena; returns points a deal."""
    result = play_match(make_player("contree"), "random", rules="contree", deals=50, seed=1)
    assert result.mean - result.interval > 0, f"contree over Random: {result.mean} ± {result.interval}"
    return result.mean


def run_console_script(*arguments: str, expected: str) -> None:
    """The `belote` command is installed and answers."""
    script = Path(sysconfig.get_path("scripts")) / "belote"
    done = subprocess.run([str(script), *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"belote {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}"
    assert expected in done.stdout, f"belote {' '.join(arguments)} printed:\n{done.stdout}"


def main() -> None:
    with_onnx = sys.argv[1:] == ["onnx"]
    check_imports()
    check_installation()
    version = importlib.metadata.version("belote-env")
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"belote-env {version} from the wheel, Python {python}")
    if with_onnx:
        print(f"the policy contree over Random: {play_policy():+.0f} points a deal")
        run_console_script("evaluate", "contree", "random", "--rules", "contree", "--pairs", "10", expected="contree")
        check_absent(FRAMEWORKS)
        return
    check_absent(NEVER_IMPORTED)
    print(f"one deal {play_game()}, one episode {play_env()}, {play_vectors()} deals of vectors")
    print(f"Search over Random: {play_search():+.0f} points a deal")
    check_policy_is_refused()
    check_imports()
    run_console_script("--help", expected="Usage")


if __name__ == "__main__":
    main()
