"""The kernel cache: keyed by every kernel room, never stale across files."""

import ast
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
    for room in _jit.KERNEL_ROOMS:
        tree = ast.parse((PACKAGE / room).read_text())
        origin = {
            name.asname or name.name: node.module.removeprefix("belote_env.").replace(".", "/") + ".py"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("belote_env.")
            for name in node.names
        }
        for function in ast.walk(tree):
            decorators = [d.id for d in getattr(function, "decorator_list", []) if isinstance(d, ast.Name)]
            if "kernel" in decorators:
                used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
                for name in used & origin.keys():
                    assert origin[name] in _jit.KERNEL_ROOMS, f"a kernel of {room} uses {name} of {origin[name]}"


PROGRAM = "from belote_env import Game; g = Game.from_play('classic', {hands}, trump='S'); \
[g.play(g.legal_actions()[0]) for _ in range(4)]; print(sum(g.points))"


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


def test_torn_files_of_the_cache_are_written_anew(tmp_path):
    env = {**os.environ, "BELOTE_ENV_CACHE": str(tmp_path)}
    program = "from belote_env.engine import below; import numpy as np; print(below(np.uint64(2**63), 4))"

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert run() == "2"
    for torn in (lambda size: size // 2, lambda size: 0):
        for path in (path for path in tmp_path.rglob("*.nb?") if path.is_file()):
            whole = path.read_bytes()
            path.write_bytes(whole[: torn(len(whole))])
            assert run() == "2"
            assert len(path.read_bytes()) == len(whole)
