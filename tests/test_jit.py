"""The kernel cache: keyed by every kernel room, never stale across files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import belote_env
from belote_env import _jit

PACKAGE = Path(belote_env.__file__).parent


def test_every_file_with_kernels_is_in_the_digest():
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "from belote_env._jit import kernel" in path.read_text()
    }
    assert users <= set(_jit.KERNEL_ROOMS)


def test_every_room_that_kernels_read_constants_from_is_in_the_digest():
    import ast

    for room in _jit.KERNEL_ROOMS:
        path = PACKAGE / room
        if not path.exists():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("belote_env."):
                needed = node.module.removeprefix("belote_env.").replace(".", "/") + ".py"
                assert needed in _jit.KERNEL_ROOMS, f"{room} imports {needed}"


PROGRAM = (
    "from belote_env.cards import POINTS; from belote_env import Game; g = Game.from_play('classic', {hands}, trump='S'); \
[g.play(g.legal_actions()[0]) for _ in range(4)]; print(sum(g.points))"
)


def test_a_constant_changed_in_another_file_is_seen(tmp_path):
    copy = tmp_path / "site"
    shutil.copytree(PACKAGE, copy / "belote_env", ignore=shutil.ignore_patterns("__pycache__"))
    hands = [[f"{r}{s}" for r in ("7", "8", "9", "J", "Q", "K", "10", "A")] for s in "SHDC"]
    env = {**os.environ, "PYTHONPATH": str(copy), "BELOTE_ENV_CACHE": str(tmp_path / "cache")}

    def first_trick() -> int:
        command = [sys.executable, "-c", PROGRAM.format(hands=hands)]
        return int(subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)

    before = first_trick()
    cards = copy / "belote_env" / "cards.py"
    text = cards.read_text()
    changed = text.replace("_PLAIN_POINTS = (0, 0,", "_PLAIN_POINTS = (5, 0,")
    assert changed != text
    cards.write_text(changed)
    assert first_trick() == before + 15  # three plain sevens


def test_an_unwritable_cache_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    env = {**os.environ, "BELOTE_ENV_CACHE": str(blocked / "below")}
    program = "from belote_env.engine import below; import numpy as np; print(below(np.uint64(2**63), 4))"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"
