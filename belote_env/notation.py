"""Cards, calls, positions and whole matches as text and back. Round trip is law.

A position is one line: the rules, how the deal began, and what has been done since.

    classic deal 0 dealer 3 scores 0-0 pot 0 seed 7 pack 9HJS… calls pass take cards JS 8S
    classic deal 0 dealer 3 scores 0-0 pot 0 seed 7 pack 9HJS… contract 1 H cards JS 8S

The second form starts at the first lead: the pack then lists eight cards a seat, from the seat after the dealer.
A match is its positions at the end of each deal, a line each, the last one possibly in progress.
In a text of several lines, one that begins with # is a comment.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.cards import CARD_NAMES, NO_CARD, STRAINS, SUITS, parse_card, parse_strain, split_cards
from belote_env.engine import apply, begin_deal, begin_play, is_legal, legal_actions, next_deal
from belote_env.rules import Rules
from belote_env.state import (
    ANSWER,
    BID_ONE,
    COINCHE,
    DEAL_OVER,
    FIRST_CALL,
    LEVEL_VALUES,
    MATCH_OVER,
    N_CARDS,
    PASS,
    PHASE_NAMES,
    PLAY,
    SURCOINCHE,
    new_states,
)

States = NDArray[Any]
_CALL = re.compile(r"(\d{2,3})(S|H|D|C|NT|AT)")
#: A position is shorter, also under rules that differ in every field.
MOST_TEXT = 4000
_WORDS = ("deal", "dealer", "scores", "pot", "seed", "pack")


def action_name(action: int, phase: int, bidding: str) -> str:
    """The text of an action: `"JS"`, `"pass"`, `"accept"`, `"take"`, `"S"`, `"90H"`, `"coinche"`, `"surcoinche"`.

    Args:
        action: 0..112.
        phase: of the position it is played in; "take" and "accept" depend on it.
        bidding: of the rules.
    """
    if action < N_CARDS:
        return CARD_NAMES[action]
    if action == PASS:
        return "accept" if phase == ANSWER else "pass"
    if action == COINCHE:
        return "coinche"
    if action == SURCOINCHE:
        return "surcoinche"
    level, strain = divmod(action - FIRST_CALL, 6)
    if bidding == "turn_up":
        return "take" if phase == BID_ONE else STRAINS[strain]
    return f"{LEVEL_VALUES[level]}{STRAINS[strain]}"


def parse_action(text: str, states: States, i: int, rules: Rules) -> int:
    """The number of an action's text in the position `states[i]`; it need not be legal there.

    Raises:
        ValueError: not an action's text, or a word that has no meaning in this phase.
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is neither an action's number nor its text")
    word = text.strip()
    phase, lower, upper = int(states[i]["phase"]), word.lower(), word.upper()
    if upper in CARD_NAMES:
        return parse_card(upper)
    if lower in ("pass", "accept"):
        if (lower == "accept") != (phase == ANSWER):
            raise ValueError(f"{word!r} is not the word here: say {'accept' if phase == ANSWER else 'pass'!r}")
        return PASS
    if lower == "coinche":
        return COINCHE
    if lower == "surcoinche":
        return SURCOINCHE
    if rules.bidding == "turn_up":
        if lower == "take" and int(states[i]["turned"]) != NO_CARD:
            if phase != BID_ONE:
                raise ValueError("'take' belongs to round one: in round two name a suit, S H D or C")
            return FIRST_CALL + int(states[i]["turned"]) // 8
        if upper in SUITS:
            return FIRST_CALL + parse_strain(upper)
    else:
        call = _CALL.fullmatch(upper)
        if call and int(call[1]) in LEVEL_VALUES:
            return FIRST_CALL + 6 * LEVEL_VALUES.index(int(call[1])) + STRAINS.index(call[2])
    raise ValueError(f"{text!r} is not an action: a card such as 'JS', or one of {_words(rules)}")


def _words(rules: Rules) -> str:
    if rules.bidding == "turn_up":
        return "'pass', 'take', 'S', 'H', 'D', 'C'"
    return "'pass', '90H', '250C', 'coinche', 'surcoinche', 'accept'"


def legal_numbers(states: States, i: int, rules: Rules) -> list[int]:
    """Legal action numbers of `states[i]`, ascending; empty when the deal is over."""
    low, high = legal_actions(states, i, rules.packed)
    return bits_of(int(low)) + [64 + a for a in bits_of(int(high))]


def bits_of(bits: int) -> list[int]:
    """Positions of the set bits of a 64-bit word."""
    return [k for k in range(64) if bits >> k & 1]


def rules_text(rules: Rules) -> str:
    """A preset's name with the fields that differ: `classic` or `classic(target=500,tie=made)`."""
    changed = ",".join(f"{name}={_value_text(value)}" for name, value in rules.overrides().items())
    return f"{rules.name}({changed})" if changed else rules.name


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_rules(text: str) -> Rules:
    """The inverse of `rules_text`.

    Raises:
        ValueError: malformed text, unknown preset or field, or what `Rules` refuses.
    """
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?", text)
    if not match:
        raise ValueError(f"{text!r} is not the text of rules, such as classic or classic(target=500)")
    fields: dict[str, Any] = {}
    for part in filter(None, (match[2] or "").split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} in {text!r} is not field=value")
        fields[name] = parse_value(value)
    return Rules.preset(match[1], **fields)


def parse_value(text: str) -> Any:
    """A field's value: true, false, an integer, packets such as 3+2, else a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"\d+(\+\d+)+", text):
        return tuple(map(int, text.split("+")))
    return text


def position_text(states: States, i: int, rules: Rules) -> str:
    """One line from which `parse_position` rebuilds `states[i]` byte for byte."""
    s = states[i]
    scores = [int(s["scores"][k]) - int(s["deal_scores"][k]) for k in range(2)]
    parts = [
        rules_text(rules),
        f"deal {s['deal']} dealer {s['dealer']} scores {scores[0]}-{scores[1]} pot {s['pot_before']} seed {s['seed']}",
        "pack " + "".join(CARD_NAMES[c] for c in s["pack"]),
    ]
    n_calls = int(s["n_calls"])
    if n_calls or int(s["phase"]) < PLAY:
        parts.append("calls")
        replay = replayed(states, i, rules)
        parts += [action_name(a, phase, rules.bidding) for _, a, phase in replay[:n_calls]]
    else:
        multiplier = int(s["multiplier"])
        value = LEVEL_VALUES[s["level"]] if rules.bidding == "auction" else ""
        parts.append(
            f"contract {s['taker']} {value}{STRAINS[s['strain']]}" + (f" x{multiplier}" if multiplier > 1 else "")
        )
    if int(s["n_cards"]):
        parts.append("cards " + " ".join(CARD_NAMES[c] for c in s["cards"][: s["n_cards"]]))
    return " ".join(parts)


def replayed(states: States, i: int, rules: Rules) -> list[tuple[int, int, int]]:
    """`(seat, action, phase)` of everything done in the deal of `states[i]`, in order."""
    s = states[i]
    actions = [int(a) for a in s["calls"][: s["n_calls"]]] + [int(c) for c in s["cards"][: s["n_cards"]]]
    again = states[i : i + 1].copy()
    restart(again, rules)
    done = []
    for action in actions:
        done.append((int(again[0]["turn"]), action, int(again[0]["phase"])))
        apply(again, 0, rules.packed, action)
    return done


def restart(states: States, rules: Rules) -> None:
    """Take `states[0]` back to the start of its deal: before the first call, or the first lead of a given contract."""
    s = states[0]
    given = None
    if not s["n_calls"] and s["phase"] >= PLAY:
        given = int(s["taker"]), int(s["strain"]), int(s["level"]), int(s["multiplier"])
    for k in range(2):
        s["scores"][k] -= s["deal_scores"][k]
    s["pot"] = s["pot_before"]
    begin_deal(states, 0, rules.packed)
    if given:
        set_contract(states, rules, *given)


def set_contract(states: States, rules: Rules, taker: int, strain: int, level: int, multiplier: int) -> None:
    """Put `states[0]`, whose pack lists eight cards a seat from the seat after the dealer, at its first lead."""
    s = states[0]
    for k in range(4):
        seat = (int(s["dealer"]) + 1 + k) % 4
        s["hands"][seat] = sum(1 << int(c) for c in s["pack"][8 * k : 8 * k + 8])
        s["barred"][k] = 0
    s["turned"], s["dealt"], s["n_calls"] = NO_CARD, 32, 0
    s["taker"], s["strain"], s["level"], s["multiplier"] = taker, strain, level, multiplier
    if rules.bidding == "auction":
        s["bids"][level // 8] = ((1 << strain) | (taker << 6)) << (8 * (level % 8))
    begin_play(states, 0, rules.packed)


def parse_position(text: str) -> tuple[States, Rules]:
    """`(states, rules)`: one state rebuilt from a position's line.

    Raises:
        ValueError: malformed text, or an action that is not legal where it stands.
    """
    if not isinstance(text, str):
        raise ValueError(f"a position is a text, not {text!r}")
    if len(text) > MOST_TEXT:
        raise ValueError(f"a position has at most {MOST_TEXT} characters, not {len(text)}: {text[:60]!r}…")
    words = text.split()
    if len(words) < 14 or tuple(words[1:13:2]) != _WORDS:
        raise ValueError(
            f"a position reads RULES deal N dealer SEAT scores A-B pot P seed S pack CARDS calls …, as Game.to_text "
            f"writes it, not {text!r}"
        )
    rules = parse_rules(words[0])
    deal, dealer, scores, pot, seed, pack_text = words[2:13:2]
    if not re.fullmatch(r"[0-9]{1,5}-[0-9]{1,5}", scores):
        raise ValueError(f"scores {scores!r} in a position must read A-B, such as 120-340")
    numbers = {
        "deal": _integer("deal", deal, 2**31 - 2),
        "dealer": _integer("dealer", dealer, 3),
        "pot": _integer("pot", pot, 10_000),
        "seed": _integer("seed", seed, 2**64 - 1),
    }
    if numbers["pot"] and rules.tie != "litige":
        raise ValueError(f"pot {pot} in a position: {rules_text(rules)} has no litige")
    sides = [int(part) for part in scores.split("-")]
    level = sides[0] == sides[1] and rules.tie_break != "drawn"
    if rules.target and max(sides) >= rules.target and not level and not rules.set_side_waits:
        raise ValueError(f"scores {scores} in a position: the match to {rules.target} is over")
    pack = split_cards(pack_text)
    if sorted(pack) != list(range(32)):
        raise ValueError(f"the pack of a position must hold each of the 32 cards once, not {len(pack)}: {pack_text!r}")
    states = new_states(1)
    for name, number in numbers.items():
        states[0][name] = number
    states[0]["scores"] = sides
    states[0]["pack"] = pack
    begin_deal(states, 0, rules.packed)
    _replay_words(states, rules, words[13:], text)
    return states, rules


def _integer(name: str, text: str, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) > most:
        raise ValueError(f"{name} {text!r} in a position must be 0 to {most}")
    return int(text)


def _replay_words(states: States, rules: Rules, words: list[str], text: str) -> None:
    if words[0] not in ("calls", "contract"):
        raise ValueError(f"'calls' or 'contract' must follow the pack in a position, not {words[0]!r}: {text!r}")
    at = words.index("cards") if "cards" in words else len(words)
    head, cards = words[1:at], words[at + 1 :]
    if words[0] == "contract":
        set_contract(states, rules, *_contract_of(head, rules, text))
        head = []
    for word in head + cards:
        if (int(states[0]["phase"]) >= PLAY) != (word.upper() in CARD_NAMES):
            raise ValueError(f"{word!r} does not belong in {PHASE_NAMES[states[0]['phase']]}: {text!r}")
        action = parse_action(word, states, 0, rules)
        if not is_legal(states, 0, rules.packed, action):
            names = [action_name(a, int(states[0]["phase"]), rules.bidding) for a in legal_numbers(states, 0, rules)]
            raise ValueError(
                f"{word!r} is not legal after {position_text(states, 0, rules)}; legal: {', '.join(names)}"
            )
        apply(states, 0, rules.packed, action)


def _contract_of(words: list[str], rules: Rules, text: str) -> tuple[int, int, int, int]:
    match = re.fullmatch(r"([0-3]) (\d{0,3})(S|H|D|C|NT|AT)(?: x([124]))?", " ".join(words))
    if not match:
        raise ValueError(f"a contract reads TAKER STRAIN or TAKER VALUE+STRAIN, such as '1 H' or '1 90H x2': {text!r}")
    taker, value, strain, multiplier = match.groups()
    return int(taker), *contract_numbers(rules, value or None, strain, int(multiplier or 1))


def contract_numbers(rules: Rules, value: str | int | None, strain: str, multiplier: int) -> tuple[int, int, int]:
    """`(strain, level, multiplier)` as the state holds them.

    Raises:
        ValueError: a strain, value or multiplier that the rules do not have.
    """
    number = parse_strain(strain)
    allowed = [True] * 4 + [rules.no_trump, rules.all_trump]
    if not allowed[number]:
        raise ValueError(f"{strain!r} is not a strain of {rules_text(rules)}")
    if rules.bidding == "turn_up":
        if value is not None or multiplier != 1:
            raise ValueError(
                f"{rules_text(rules)} has neither bid values nor coinche: value={value}, multiplier={multiplier}"
            )
        return number, 0, 1
    values = [
        v
        for v in LEVEL_VALUES
        if v <= rules.bid_maximum or (v == 250 and rules.capot_bid) or (v == 500 and rules.generale)
    ]
    if value is None or int(value) not in values:
        raise ValueError(f"value={value} is not a bid of {rules_text(rules)}: {', '.join(map(str, values))}")
    if multiplier not in (1, 2, 4):
        raise ValueError(f"multiplier={multiplier}: 1, 2 (coinche) or 4 (surcoinche) is needed")
    return number, LEVEL_VALUES.index(int(value)), multiplier


def parse_positions(text: str) -> tuple[States, Rules]:
    """`(states, rules)`: (n,) states to play on from, of a text with a position on each line.

    Blank lines and comments are skipped.

    Raises:
        ValueError: fewer than two positions; or, with the number of its line, one that is malformed, over, or of other
            rules than the first.
    """
    found, rules = [], None
    for number, line in enumerate(text.splitlines(), start=1):
        if not _says_something(line):
            continue
        try:
            one, own = parse_position(line)
            if int(one[0]["phase"]) >= DEAL_OVER:
                raise ValueError(f"the deal is over: {line.strip()!r}")
            if rules not in (None, own):
                raise ValueError(
                    f"all positions must have the same rules, {rules_text(own)} is not {rules_text(rules)}"
                )
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        found.append(one)
        rules = own
    if rules is None or len(found) < 2:
        raise ValueError(f"at least two positions are needed, a line each; there are {len(found)}")
    states = new_states(len(found))
    states[:] = np.concatenate(found)
    return states, rules


def parse_match(text: str) -> tuple[list[str], States, Rules]:
    """`(lines of the deals before, states, rules)` of a match's text.

    Raises:
        ValueError: no line, a malformed one, or a deal that does not follow from the one before.
    """
    if not isinstance(text, str):
        raise ValueError(f"a match is a text, not {text!r}")
    lines = [line.strip() for line in text.splitlines() if _says_something(line)]
    if not lines:
        raise ValueError("the text of a match has at least one line")
    states, rules = parse_position(lines[0])
    for number, line in enumerate(lines[1:], start=2):
        if states[0]["phase"] != DEAL_OVER:
            state = "the match is over" if states[0]["phase"] == MATCH_OVER else "the deal before is not over"
            raise ValueError(f"line {number} of the match has no place: {state}: {line!r}")
        next_deal(states, 0, rules.packed)
        start = position_text(states, 0, rules)
        if not line.startswith(start):
            raise ValueError(f"line {number} of the match must begin {start!r}, not {line!r}")
        states, rules = parse_position(line)
    return lines[:-1], states, rules


def _says_something(line: str) -> bool:
    """Neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")
