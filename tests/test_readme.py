"""The Python of the README and of the pages of docs with doors in them runs as printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/environments.md", "docs/players.md", "docs/plugging-in.md")
BLOCKS = [
    (page, block) for page in PAGES for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
]


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}-{k}" for k, (page, _) in enumerate(BLOCKS)])
def test_python_blocks(page, block):
    exec(compile(block, page, "exec"), {"__name__": page})


def test_every_page_has_blocks():
    assert {page for page, _ in BLOCKS} == set(PAGES)


def test_the_first_example_is_short():
    lines = [line for line in BLOCKS[0][1].splitlines() if line.strip()]
    assert len(lines) <= 15
