"""The rules in words: docs/rules.md, the rule sheet of any `Rules`, and `belote rules`."""

import io
import re
import tokenize
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import belote_env
from belote_env import Game, Rules, cli, legal_cards
from belote_env import rules as rules_room
from belote_env.cards import CARD_NAMES
from belote_env.engine import end_deal
from belote_env.rules import PRESETS
from belote_env.sheet import MARKERS, preset_table, rule_line, rule_sheet, with_table
from belote_env.state import LEVEL_VALUES, new_states

PACKAGE = Path(belote_env.__file__).parent
PAGE = PACKAGE.parent / "docs" / "rules.md"
FIELDS = [name for name in Rules().to_dict() if name != "name"]


@pytest.fixture
def everything_played(monkeypatch):
    """Rules that the engine does not play yet have their words already."""
    monkeypatch.setattr(rules_room, "_PLAYED", {}, raising=False)


# -- the page


def test_the_table_of_presets_is_fresh():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "stale: python -m belote_env.sheet docs/rules.md"


@pytest.mark.parametrize("page", ["", MARKERS[0], MARKERS[1] + MARKERS[0], "".join(MARKERS) * 2])
def test_a_page_without_its_markers_is_refused(page):
    with pytest.raises(ValueError, match="once each and in this order"):
        with_table(page)


def test_the_table_has_every_field_and_preset():
    head, _, *rows = preset_table().splitlines()
    assert re.findall(r"`(\w+)`", head) == list(PRESETS)
    assert [re.findall(r"`(\w+)`", row)[0] for row in rows] == FIELDS
    assert all(row.count("|") == len(PRESETS) + 2 for row in rows)


def test_the_code_on_the_page_runs():
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, {})


def test_every_field_has_a_clause():
    words = PAGE.read_text(encoding="utf-8").partition(MARKERS[0])[0]
    assert [field for field in FIELDS if not re.search(rf"`{field}\b", words)] == []


def test_every_choice_has_a_clause():
    words = PAGE.read_text(encoding="utf-8").partition(MARKERS[0])[0]
    choices = [str(c) for hint in rules_room._HINTS.values() for c in get_args(hint) if isinstance(c, str)]
    assert [choice for choice in choices if not re.search(rf"`\w*=?\"?{choice}\"?`", words)] == []


def cited(path: Path) -> set[str]:
    """Clauses that a file cites: "rules 3.1, 3.3" anywhere, "#: 3.1" and "3.1:" at the start, "(3.1)" in comments."""
    clauses: set[str] = set()
    number = r"[1-9](?:\.[0-9]+)?(?!\w|\.\d)"
    listed = rf"({number}(?:(?:,| and|,? \d| or) {number})*)"
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        found = re.findall(rf"\b[Rr]ules? {listed}", token.string)
        if token.type == tokenize.COMMENT or token.string.startswith('"""'):
            found += re.findall(rf"^(?:#: {listed}[: ]|(?:# |\"\"\"){listed}:)", token.string)
            found += re.findall(r"\(([1-9]\.[1-9])\)", token.string)
        for numbers in found:
            clauses.update(re.findall(r"\d+(?:\.\d+)?", "".join(numbers)))
    return clauses


def test_citations_are_found(tmp_path):
    path = tmp_path / "room.py"
    path.write_text(
        '"""Choosing (rules 3.1, 3.3 and 9)."""\n#: 7.2 who\nx = 1.25  # 1.4: ten, or 4.5 times\n'
        'z = 2  # 6, 7 or so\ny = "rule 8.1"  # rules 5.2.\n'
        'def f():\n    """The calls (2.2), at 0.6 µs."""\n'
    )
    assert cited(path) == {"3.1", "3.3", "9", "7.2", "1.4", "8.1", "5.2", "2.2"}


def test_every_clause_that_is_cited_exists():
    clauses = set(re.findall(r"^#{2,3} (\d+(?:\.\d+)?)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    by_file = {str(path.relative_to(PACKAGE)): cited(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {"1", "1.4", "2.3", "3.1", "3.4", "4", "5.1", "6.1", "7.2", "8.1", "9"} <= set(chain(*by_file.values()))
    assert {name: found - clauses for name, found in by_file.items() if found - clauses} == {}


# -- the sheet

#: What a player would ask about each table, in the words of its sheet; and what must not be there.
PECULIAR = {
    "single_deal": (
        [
            "passes anticlockwise",
            "any suit but the turned one",
            "a lower one only if you hold no higher",
            "Equal totals: made.",
            "162 (252 with all eight tricks) + the belote of both sides, the takers 0",
            "One deal is the match",
        ],
        ["coinche", "bid", "litige", "rounded", "No-trump", "declaration"],
    ),
    "belote_501": (
        [
            "at least 82, or at least 92 if either side held belote",
            "any card but a trump. With nothing but trumps",
            "first side with 501 points",
            "the side that won the last deal",
            "Tricks 71–91, takers' belote: failed, takers 20, defenders 162.",
        ],
        ["coinche", "bid", "litige", "rounded", "Equal totals"],
    ),
    "classic": (
        [
            "packets of 3 then 2",
            "overtrump if you can, a lower trump if you cannot",
            "Equal totals are litige",
            "first side with 1000 points",
            "equal scores mean another deal",
            "Tricks 71–91, takers' belote: litige, takers 20, defenders 91, 71 held back.",
            "Tricks 80–82: failed, takers 0, defenders 162.",
        ],
        ["coinche", " bid", "rounded", "×"],
    ),
    "coinche": (
        [
            "packets of 3 then 2 then 3",
            "80 to 160 by tens, 250 (capot)",
            "The next seat answers, surcoinche or accept.",
            "overtrump if you can, any card if you cannot",
            "reaches the bid and beats",
            "Equal totals that reach the bid: failed.",
            "(160 + the bid + its own belote) × 2 (coinche) or × 4 (surcoinche)",
            "nearest 10",
            "below 2000 without the deal's belote",
            "Bid 90, tricks 101–61: made, takers 190, defenders 60.",
            "Bid 120, tricks 105–57, takers' belote: made, takers 250, defenders 60.",
            "Bid 80, tricks 81–81: failed, takers 0, defenders 240.",
            "Bid 250, tricks 252–0: made, takers 500, defenders 0.",
        ],
        ["turned", "litige", "générale", "No-trump", "partner may still"],
    ),
    "contree": (
        [
            "its partner may still surcoinche",
            "even if the defenders have more",
            "162 + the bid × 2 (coinche) or × 3 (surcoinche), plus every belote; the other side 0",
            "252 stands for 162 when the takers take all eight tricks",
            "Four passes at the start: the deal is over, 0–0.",
            "Bid 110, coinche, tricks 96–66, takers' belote: made, takers 402, defenders 0.",
        ],
        ["turned", "litige", "rounded", "Equal totals", "points wins"],
    ),
    "declarations": (
        [
            "Four jacks 200",
            "an opponent is winning with a trump: any trump, higher or lower",
            "Takers without a trick fail.",
            "Equal totals: made.",
            "the belote and declarations of both sides, the takers 0",
            "equal scores are a draw",
        ],
        ["coinche", "bid", "litige", "rounded"],
    ),
}


def test_every_preset_has_expectations():
    assert PECULIAR.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_the_sheet_of_a_preset(name, everything_played):
    sheet = rule_sheet(Rules.preset(name))
    there, absent = PECULIAR[name]
    body = sheet.partition("\n")[2]
    assert sheet.startswith(f"# {name}\n")
    assert [words for words in there if words not in body] == []
    assert [words for words in absent if words in body] == []


def test_the_sheet_of_federation_options(everything_played):
    table = Rules.preset(
        "coinche", no_trump=True, all_trump=True, bid_maximum=180, generale=True, coinche_capot=False, reentry=False
    )
    sheet = rule_sheet(table)
    for words in (
        "80 to 180 by tens, 250 (capot), 500 (générale)",
        "a suit, no-trump or all-trump",
        "A 19, 10 10, K 4, Q 3, J 2",
        "J 14, 9 9, A 6, 10 5, K 3, Q 1, 8 0, 7 0",
        "A 250 bid cannot be doubled",
        "may not bid again, but it may still coinche",
        "K and Q of each suit are a belote",
    ):
        assert words in sheet


def test_takers_without_a_trick_are_mentioned_where_they_can_have_the_points():
    said = "Takers without a trick fail."
    table = Rules.preset("contree", all_trump=True, taker_needs_trick=True)
    assert said in rule_sheet(table)
    assert said not in rule_sheet(table.replace(taker_needs_trick=False))
    assert said not in rule_sheet(table.replace(all_trump_belote="none"))
    assert said not in rule_sheet(table.replace(contract="bid_and_majority"))  # 80 of belote do not beat 252


def test_no_capot_among_the_examples_without_the_bid():
    assert rule_sheet(Rules.preset("coinche", capot_bid=False)).count("Bid ") == 6


def test_equal_scores_after_litige():
    assert "after litige another deal" in rule_sheet(Rules(tie_break="last_winner"))
    assert "after litige" not in rule_sheet(Rules(tie="made", tie_break="last_winner"))


def test_lines():
    assert rule_line(Rules()) == "turned card; more than the defenders, else litige; to 1000"
    assert len({rule_line(table) for table in tables()}) == len(tables())


# -- the law of the sheet: same play, same words

NUMBERS = {
    "bid_maximum": (160, 170, 180),
    "base_points": (160, 162),
    "coinche_factor": (1, 2, 3),
    "surcoinche_factor": (3, 4, 6),
    "rounding": (1, 5, 10),
    "target": (0, 501, 1000, 2000),
    "packets": ((3, 2), (2, 3), (5,), (3, 2, 3), (8,), (2, 2, 2, 2)),
}


def tables() -> list[Rules]:
    """The presets that are played, and neighbours in which more of the fields can matter."""
    found = []
    for name in PRESETS:
        try:
            found.append(Rules.preset(name))
        except ValueError:
            found.append(Rules.preset(name, declarations=False))
    return [
        *found,
        Rules.preset("coinche", tie="litige", no_trump=True, all_trump=True, belote_doubled="winner"),
        Rules.preset("contree", made_score="bid_only", belote_doubled="holder", target=1000),
        Rules.preset("contree", all_trump=True, target=500),
    ]


def neighbours(table: Rules) -> list[tuple[str, Rules]]:
    """Every table that differs in one field and makes sense."""
    found = []
    for field in FIELDS:
        hint = rules_room._HINTS[field]
        for value in get_args(hint) if field not in NUMBERS and hint is not bool else NUMBERS.get(field, (True, False)):
            if value != getattr(table, field):
                try:
                    found.append((field, table.replace(**{field: value})))
                except ValueError:
                    continue
    return found


def words(table: Rules) -> str:
    """The sheet without its title, which names the fields, and without examples, which the engine counts."""
    return rule_sheet(table).partition("\n")[2].partition("## Examples")[0]


#: Tables that say the same thing in two ways: 82 of 162, or 92 of 182, is more than the defenders have.
ALIKE = {("belote_501", "contract='majority'")}


@cache
def deals(level_values: tuple[int, ...], four_belotes: bool) -> np.ndarray:
    """States with all cards played, for `end_deal`: seat 0 is the taker."""
    points = [(252, 8), (0, 0), (0, 1), (162, 7), *((p, 4) for p in (61, 71, 72, 80, 81, 82, 83, 91, 92, 101, 142))]
    belotes = ((0, 0), (20, 0), (0, 20), *(((80, 0), (20, 60)) if four_belotes else ()))
    calls = (1, 2, 4) if level_values != (0,) else (1,)
    cases = list(product(level_values, calls, points, belotes, (0, 33)))
    states = new_states(len(cases))
    for s, (value, call, (taken, tricks), belote, pot) in zip(states, cases, strict=True):
        s["level"], s["multiplier"], s["pot"] = LEVEL_VALUES.index(value) if value else 0, call, pot
        s["points"] = taken, (252 if tricks in (0, 8) else 162) - taken
        s["won"], s["belote_points"] = (tricks, 8 - tricks), belote
    return states


def counted(table: Rules) -> list[bytes]:
    """What a range of deals ends with: from some scores, level above the target, and just at it by belote."""
    values: tuple[int, ...] = (0,)
    if table.bidding == "auction":
        values = (80, 90, 100, *((250,) if table.capot_bid else ()))
    four_belotes = table.all_trump and table.all_trump_belote == "each_suit"

    def ended(scores: np.ndarray) -> np.ndarray:
        states = deals(values, four_belotes).copy()
        states["scores"] = scores
        for i in range(len(states)):
            end_deal(states, i, table.packed)
        return states

    some = np.arange(2 * len(deals(values, four_belotes))).reshape(-1, 2) * 37 % 2500
    first = ended(some)
    level = ended(5000 + first["deal_scores"][:, ::-1])
    near = ended(np.maximum(0, table.target - first["deal_scores"] + first["belote_points"] // 2))
    names = ["made", "deal_scores", "pot", "phase", "match_winner"]
    return [states[name].tobytes() for states in (first, level, near) for name in names]


@cache
def hands() -> list[tuple[list[str], list[str]]]:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        cards = [CARD_NAMES[c] for c in rng.permutation(32)[: rng.integers(2, 9)]]
        n = min(len(cards) - 1, int(rng.integers(1, 4)))
        found.append((cards[n:], cards[:n]))
    trumps = [name for name in CARD_NAMES if name.endswith("H")]
    for _ in range(100):  # only trumps in hand, also over a partner who ruffed
        drawn = [trumps[k] for k in rng.permutation(8)[:4]]
        found.append((drawn[:2], ["AS", *drawn[2:]][: int(rng.integers(2, 4))]))
    return found


def played(table: Rules) -> list[list[str]]:
    strains = ["H", *["NT"] * table.no_trump, *["AT"] * table.all_trump]
    return [legal_cards(table, hand, trick, trump=strain) for strain in strains for hand, trick in hands()]


def bid(table: Rules) -> list[object]:
    """What is dealt and what may be called, in some deals bid at random and some where all pass; belote at the end."""
    trace: list[object] = [table.direction]
    for seed in range(40):
        game, rng = Game(table, seed=seed), np.random.default_rng(seed)
        for _ in range(2):
            trace += [game.dealer, [game.hand(seat) for seat in range(4)]]
            while not game.deal_over and game.phase != "play":
                names = game.names(game.legal_actions())
                trace.append(names)
                shy = seed < 2 or rng.random() < 0.4
                game.play(names[0] if shy else names[int(rng.integers(len(names)))])
            trace += [game.is_over, [game.hand(seat) for seat in range(4)], game._states[0]["belote"].tolist()]
            if game.is_over or game.phase == "play":
                break
            game.next_deal()
    return trace


@pytest.mark.parametrize("table", tables(), ids=lambda table: f"{table.name}-{table.digest}")
def test_same_play_same_words(table):
    chapters = (counted, played, bid)
    said, done = words(table), [chapter(table) for chapter in chapters]
    wrong = {}
    for field, other in neighbours(table):
        same = all(chapter(other) == was for chapter, was in zip(chapters, done, strict=True))
        change = f"{field}={getattr(other, field)!r}"
        if (words(other) == said) != same and (table.name, change) not in ALIKE:
            wrong[change] = "plays the same" if same else "plays differently"
    assert wrong == {}


# -- the command


def test_belote_rules_lists_the_presets(capsys):
    assert cli.main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    assert any("else litige; to 1000" in line for line in lines)


def test_belote_rules_prints_a_sheet(capsys):
    assert cli.main(["rules", "coinche"]) == 0
    assert capsys.readouterr().out == rule_sheet(Rules.preset("coinche"))


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (["coinche", "--target", "1000", "--rounding=1"], {"target": 1000, "rounding": 1}),
        (["--surcoinche-by", "side", "coinche"], {"surcoinche_by": "side"}),
        (["coinche", "--packets", "2+2+2+2", "--reentry", "false"], {"packets": (2, 2, 2, 2), "reentry": False}),
    ],
)
def test_belote_rules_with_fields(arguments, fields, capsys):
    assert cli.main(["rules", *arguments]) == 0
    assert capsys.readouterr().out == rule_sheet(Rules.preset("coinche", **fields))


def test_belote_rules_without_a_name_changes_classic(capsys):
    assert cli.main(["rules", "--tie", "made"]) == 0
    assert capsys.readouterr().out == rule_sheet(Rules(tie="made"))


def test_belote_rules_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    assert cli.main(["rules", "classic"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out and "##" not in out and "Choosing trump" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["poker"], "'poker' is not a preset"),
        (["coinche", "--colour", "red"], "'colour' is not a field of Rules"),
        (["coinche", "--tie", "perhaps"], "tie='perhaps' is not one of 'made', 'failed', 'litige'"),
        (["coinche", "--target", "many"], "target='many': int is needed"),
        (["coinche", "--target", "-5"], "target=-5: 0 (one deal) to 10000 is needed"),
        (["classic", "--capot_bid", "true"], "capot_bid=True needs bidding='auction'"),
        (["coinche", "--target"], "--target needs a value"),
        (["coinche", "--target", "--tie", "made"], "--target needs a value"),
        (["coinche", "--target="], "--target needs a value"),
        (["coinche", "classic"], "one preset at a time"),
        (["coinche", "-t"], "one preset at a time"),
        (["-t"], "'-t' is not a preset"),
        (["declarations"], "not played yet: declarations=True"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys):
    assert cli.main(["rules", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("belote: ") and sentence in captured.err
