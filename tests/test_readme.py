"""The Python of the README and of every page of docs runs as printed; every page has its place in the site."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
#: Pages that live by their examples; the others may have none.
WITH_BLOCKS = {
    "README.md",
    *(f"docs/{n}.md" for n in "index environments observation pictures players plugging-in".split()),
    *(f"docs/{n}.md" for n in "record rules".split()),
}
#: Its blocks need each other: `test_solver.py` runs them in turn.
TOGETHER = "docs/solver.md"
BLOCKS = [
    (page, block)
    for page in PAGES
    if page != TOGETHER
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
]


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}-{k}" for k, (page, _) in enumerate(BLOCKS)])
def test_python_blocks(page, block):
    exec(compile(block, page, "exec"), {"__name__": page})


def test_pages_with_doors_have_blocks():
    assert {page for page, _ in BLOCKS} >= WITH_BLOCKS


def test_every_page_has_a_place_in_the_site():
    """`make docs` takes a page without a place for information only."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    placed = re.findall(r"^  - [\w ]+: ([\w-]+\.md)$", nav, re.M)
    assert sorted(f"docs/{name}" for name in placed) == PAGES[1:]


def test_no_other_language_hides_python():
    """Python under another name, or indented under a list, would not be run."""
    for page in PAGES:
        fences = re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", (ROOT / page).read_text(), re.S | re.M)
        for indent, language, block in fences:
            assert language in ("", "python", "toml", "yaml"), f"{page}: ```{language}"
            assert language != "python" or not indent, f"{page}: an indented block is not run"
            assert language == "python" or not re.search(r"^(import|from \w+ import) ", block, re.M), f"{page}: {block}"


def test_the_first_example_is_short():
    lines = [line for line in BLOCKS[0][1].splitlines() if line.strip()]
    assert len(lines) <= 15
