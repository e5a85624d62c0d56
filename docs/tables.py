"""Write the table of observation fields anew: `python docs/tables.py` from a checkout where belote_env is installed."""

from pathlib import Path

from belote_env.observation import LAYOUT, LAYOUT_DIGEST, OFFSETS, SIZE

PAGE = Path(__file__).parent / "observation.md"
START, END = "<!-- fields -->", "<!-- /fields -->"
MOVES = {
    "all": "all games",
    "turn_up": "turn-up games",
    "auction": "auctions",
    "declarations": "declarations",
    "rules": "nothing",
}


def field_table() -> str:
    """Markdown: digest and size, then a row for each field of `LAYOUT`."""
    rows = ["| bits | size | field | what it shows | moves in |", "|---|---|---|---|---|"]
    for field in LAYOUT:
        first = OFFSETS[field.name]
        last = first + field.size - 1
        bits = f"{first}" if first == last else f"{first}–{last}"
        rows.append(f"| {bits} | {field.size} | `{field.name}` | {field.meaning} | {MOVES[field.moves]} |")
    return "\n".join([f"{SIZE} bits, layout digest `{LAYOUT_DIGEST}`.", "", *rows])


def with_table(page: str) -> str:
    """A page with the table written anew between its markers."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{field_table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
