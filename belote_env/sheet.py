"""The rule sheet of any `Rules`, as a person reads it at the table, and the table of presets in `docs/rules.md`.

Law: two `Rules` that play alike have the same words, two that do not have different ones.  So a sheet says every
field that matters, with its numbers, and nothing about what the table does not have.  `python -m belote_env.sheet
docs/rules.md` writes the table of presets between its markers.
"""

import sys
from pathlib import Path
from typing import Any

from belote_env.cards import ALL_TRUMP, HEARTS, NO_TRUMP, PLAIN_ORDER, POINTS, RANKS, TRUMP_ORDER
from belote_env.notation import rules_text
from belote_env.rules import PRESETS, Rules
from belote_env.scoring import CAPOT_EXTRA, deal_score
from belote_env.state import FAILED, LEVEL_VALUES, MADE

MARKERS = ("<!-- presets -->", "<!-- /presets -->")


def rule_sheet(rules: Rules) -> str:
    """The rules in words: headings and lists of markdown, plain to read, with examples counted by the engine."""
    chapters = {
        "Cards": _cards(rules),
        "Choosing trump": _turn_up(rules) if rules.bidding == "turn_up" else _auction(rules),
        "Playing": _playing(rules),
        "Belote": _belote(rules),
        "Declarations": _declarations(rules) if rules.declarations else [],
        "Counting": _counting(rules),
        "Match": _match(rules),
        "Examples": _examples(rules),
    }
    parts = [f"# {rules_text(rules)}\n"]
    for title, lines in chapters.items():
        if lines:
            parts.append(f"## {title}\n\n" + "".join(f"- {line}\n" for line in lines))
    return "\n".join(parts)


def rule_line(rules: Rules) -> str:
    """One line: how trump is chosen, what the takers need, how long the match is."""
    choosing = "turned card" if rules.bidding == "turn_up" else f"auction {_bids(rules)}"
    needs = {
        "majority": "more than the defenders",
        "threshold": "82 points, 92 with belote" if rules.threshold_belote else "82 trick points",
        "bid": "the bid",
        "bid_and_majority": "the bid, and more than the defenders",
    }[rules.contract]
    if rules.contract in ("majority", "bid_and_majority"):
        needs += {"made": ", or as many", "failed": "", "litige": ", else litige"}[rules.tie]
    extra = "; declarations" if rules.declarations else ""
    return f"{choosing}; {needs}{extra}; {f'to {rules.target}' if rules.target else 'one deal'}"


# -- chapters: each gives its statements, one a line ----------------------------------------------------------------


def _cards(r: Rules) -> list[str]:
    lines = [
        "Four seats, partners opposite, 32 cards, eight tricks. The side that chooses trump are the takers, "
        "the other side the defenders.",
        f"The turn passes {r.direction}.",
        f"Trump, high to low with points: {_order(TRUMP_ORDER, HEARTS)}.",
        f"Plain suits: {_order(PLAIN_ORDER, HEARTS + 1)}.",
    ]
    if r.no_trump:
        lines.append(f"No-trump, every suit: {_order(PLAIN_ORDER, NO_TRUMP)}.")
    if r.all_trump:
        lines.append(f"All-trump, every suit: {_order(TRUMP_ORDER, ALL_TRUMP)}.")
    return [
        *lines,
        "The cards hold 152 points and the last trick adds 10 (dix de der): 162. A side that takes all eight tricks "
        "(capot) gets 100 in place of the 10: 252.",
    ]


def _order(order: tuple[int, ...], strain: int) -> str:
    """Ranks of hearts from strong to weak with their points under a strain."""
    return ", ".join(f"{RANKS[rank]} {POINTS[strain, HEARTS * 8 + rank]}" for rank in reversed(order))


def _dealing(r: Rules, cards: str) -> str:
    packets = " then ".join(map(str, r.packets))
    how = f"in packets of {packets}" if len(r.packets) > 1 else "all at once"
    deals = "; the next seat deals the next deal" if r.target else ""
    return f"The first dealer is drawn{deals}. Each seat gets {cards} cards, {how}, from the seat after the dealer."


def _all_passed(r: Rules, when: str) -> str:
    if not r.target:
        return f"{when}: the deal is over, 0–0."
    dealer = {"next_dealer": "the next seat", "same_dealer": "the same dealer"}[r.all_pass]
    return f"{when}: nobody scores and {dealer} deals again."


def _turn_up(r: Rules) -> list[str]:
    second = "any suit, the turned one again too" if r.second_round == "any" else "any suit but the turned one"
    return [
        _dealing(r, "five"),
        "The next card is turned up. Round one, from the seat after the dealer: take its suit as trump, or pass.",
        f"If all four pass, round two: name {second}, or pass.",
        "The taker picks up the turned card, whatever suit he named, and gets two more cards; the others get three.",
        _all_passed(r, "All pass twice"),
    ]


def _bids(r: Rules) -> str:
    capot = ", 250 (capot)" if r.capot_bid else ""
    return f"80 to {r.bid_maximum} by tens{capot}" + (", 500 (générale)" if r.generale else "")


def _auction(r: Rules) -> list[str]:
    strains = ["a suit"] + ["no-trump"] * r.no_trump + ["all-trump"] * r.all_trump
    ranking = " No strain outranks another." if len(strains) > 1 else ""
    lines = [
        _dealing(r, "eight"),
        f"From the seat after the dealer, a bid is a value and {_either(strains)}: {_bids(r)}. "
        f"Each bid is worth more than the last.{ranking}",
        "A seat that passed may bid again."
        if r.reentry
        else "A seat that passed may not bid again, but it may still coinche.",
        "After a bid, three passes in a row end the auction.",
        _all_passed(r, "Four passes at the start"),
        "On your turn you may coinche the standing bid of the other side, which ends the bidding."
        + (" A 250 bid cannot be doubled." if r.capot_bid and not r.coinche_capot else ""),
        "The next seat answers, surcoinche or accept."
        if r.surcoinche_by == "next"
        else "The next seat answers, surcoinche or accept; if it accepts, its partner may still surcoinche.",
    ]
    if r.capot_bid:
        lines.append("Who bids 250 says that his side takes all eight tricks.")
    if r.generale:
        lines.append("Who bids 500 says that he alone takes all eight tricks.")
    return lines


def _playing(r: Rules) -> list[str]:
    beaten = "overtrump if you can" if r.overtrump else "any trump if you can beat it"
    unbeaten = "a lower trump" if r.overtrump else "a trump all the same"
    unbeaten = {"forced": f"{unbeaten} if you cannot", "free": "any card if you cannot"}[r.undertrump]
    if not r.overtrump and r.undertrump == "forced":
        beaten, unbeaten = "any trump", "higher or lower"
    partner = {
        "free": "any card.",
        "overtrump": "any plain card or a trump; over his trump a higher one, a lower one only if you hold no higher.",
        "no_trump": "any card but a trump. With nothing but trumps: a trump, higher than his trump if you can.",
    }[r.partner_winning]
    lines = [
        "The seat after the dealer leads; who wins a trick leads the next. Follow suit.",
        "Trump led: play higher than the best trump in the trick if you can, also over your partner; else any trump. "
        "Without trumps: any card.",
        "You cannot follow a plain suit and an opponent is winning with a plain card: a trump.",
        f"… and an opponent is winning with a trump: {beaten}, {unbeaten}.",
        f"… and your partner is winning: {partner}",
        "… and you have no trump: any card.",
        "The highest trump wins the trick; without trumps, the highest card of the suit led.",
    ]
    if r.no_trump:
        lines.append("No-trump: follow suit, else any card; the highest card of the suit led wins.")
    if r.all_trump:
        lines.append(
            "All-trump: follow suit and beat the best card of the suit led if you can, else any card; "
            "the highest card of the suit led wins."
        )
    return lines


def _belote(r: Rules) -> list[str]:
    lines = [
        "Who held K and Q of trump in his hand of eight earns 20 for his side, whoever takes the tricks: "
        "belote with the first of the two, rebelote and the 20 with the second.",
    ]
    if r.no_trump:
        lines.append("No-trump: no belote.")
    if r.all_trump:
        each = "K and Q of each suit are a belote" if r.all_trump_belote == "each_suit" else "no belote"
        lines.append(f"All-trump: {each}.")
    return lines


def _declarations(r: Rules) -> list[str]:
    nobody = "nobody scores" if r.declaration_tie == "nobody" else "the first in playing order scores"
    lines = [
        "Four jacks 200, four nines 150, four A, K, Q or 10 100; five or more in sequence 100, four 50, three 20 "
        "(7 8 9 10 J Q K A). A card serves in one of them; K and Q of trump are belote besides.",
        "Announced with a seat's first card. The side with the best one scores all of its own, the other side none.",
        "Better are more points, then four of a kind, then the longer, then the higher sequence or the better of "
        f"J 9 A 10 K Q, then trump; if all is equal {nobody}.",
        "They count in both totals. Defenders without a trick lose theirs.",
    ]
    if r.bidding == "auction":
        lines.append("They stay outside every multiplier.")
    if r.tie == "litige":
        lines.append("They are never held back in litige.")
    return lines


def _counting(r: Rules) -> list[str]:
    own = "belote and declarations" if r.declarations else "belote"
    lines = [f"A side's total is its trick points with its own {own}.", _made_when(r)]
    # without a trick, declarations can carry takers far enough, and the 80 of four belotes to a bid of 80
    four_belotes = r.all_trump and r.all_trump_belote == "each_suit" and r.contract == "bid"
    if r.taker_needs_trick and (r.declarations or four_belotes):
        lines.append("Takers without a trick fail.")
    if r.contract in ("majority", "bid_and_majority"):
        lines += _equal_totals(r)
    if r.capot_bid:
        lines.append("A 250 bid is made by all eight tricks, whatever the totals.")
    if r.generale:
        lines.append("A 500 bid is made by all eight tricks of the bidder alone, whatever the totals.")
    lines += [_made(r, own), _failed(r, own)]
    if r.bidding == "auction":
        lines += _doubled(r, own)
    if r.rounding > 1:
        lines.append(
            f"Each side's score is rounded to the nearest {r.rounding}, half up, after everything else; "
            "the contract is judged before."
        )
    return lines


def _made_when(r: Rules) -> str:
    return {
        "majority": "The contract is made when the takers' total is higher than the defenders'.",
        "threshold": "The contract is made by a total of at least 82, or at least 92 if either side held belote."
        if r.threshold_belote
        else "The contract is made by at least 82 trick points, belote left aside.",
        "bid": "The contract is made when the takers' total reaches the bid, even if the defenders have more.",
        "bid_and_majority": "The contract is made when the takers' total reaches the bid and beats the defenders'.",
    }[r.contract]


def _equal_totals(r: Rules) -> list[str]:
    reached = " that reach the bid" if r.contract == "bid_and_majority" else ""
    if r.tie != "litige":
        return [f"Equal totals{reached}: {r.tie}."]
    doubled = ", also after a coinche" if r.bidding == "auction" else ""
    rest = (
        "wait for the side that wins the next counted deal. A second litige adds to them; deals in which all pass "
        "leave them; the end of the match loses them."
        if r.target
        else "are lost."
    )
    return [
        f"Equal totals{reached} are litige{doubled}: the takers score only their belote, the defenders their own "
        f"total, and the takers' trick points {rest}"
    ]


def _made(r: Rules, own: str) -> str:
    if r.made_score == "bid_only":
        return f"When it is made, the takers score the bid, the defenders nothing, and each side its own {own} besides."
    if r.bidding == "auction":
        return "When it is made, the takers score their total plus the bid, the defenders their own total."
    return "When it is made, each side scores its own total."


def _failed(r: Rules, own: str) -> str:
    base, bid = str(r.base_points), " + the bid" if r.bidding == "auction" else ""
    if r.made_score == "bid_only":
        base, bid = "the bid", ""
    elif r.failed_capot == "always":
        base += f" ({r.base_points + CAPOT_EXTRA} with all eight tricks)"
    if r.belote_on_failure == "kept":
        return f"When it fails, the defenders score {base}{bid} + their own {own}, the takers only theirs."
    return f"When it fails, the defenders score {base}{bid} + the {own} of both sides, the takers 0."


def _doubled(r: Rules, own: str) -> list[str]:
    """The winner is the side that wins the contract: the takers who make it, or the defenders."""
    belotes = "every belote" if r.belote_doubled == "winner" else "its own belote"
    inside = f" + {belotes}" if r.belote_in_multiplier else ""
    factors = f"{r.coinche_factor} (coinche) or × {r.surcoinche_factor} (surcoinche)"
    base = r.base_points
    if r.made_score == "bid_only":
        times = f"(the bid{inside}) × {factors}" if inside else f"the bid × {factors}"
    elif r.doubled_on == "all":
        times = f"({base} + the bid{inside}) × {factors}"
    else:
        times = f"{base} + (the bid{inside}) × {factors}" if inside else f"{base} + the bid × {factors}"
    outside = "" if inside else f", plus {belotes}"
    loser = "0" if r.belote_doubled == "winner" else "its own belote, not multiplied"
    lines = [f"Doubled, the side that wins the contract scores {times}{outside}; the other side {loser}."]
    if r.belote_doubled == "holder" and r.belote_on_failure == "lost":
        lines.append("Doubled and failed, the takers lose their belote to the defenders, who count it as their own.")
    if r.made_score != "bid_only":
        who = "the takers take" if r.failed_capot == "never" else "the winner takes"
        lines.append(f"Doubled, {base + CAPOT_EXTRA} stands for {base} when {who} all eight tricks.")
    if r.declarations:
        fate = "go to the defenders" if r.belote_on_failure == "lost" else "stay with their side"
        lines.append(f"Doubled, declarations are added after the multiplication; those of takers who fail {fate}.")
    return lines


def _match(r: Rules) -> list[str]:
    if not r.target:
        return ["One deal is the match: the higher score wins, equal scores are a draw."]
    undecided = "; after litige another deal" if r.tie == "litige" else ""
    equal = {
        "another_deal": "equal scores mean another deal",
        "last_winner": f"equal scores: the side that won the last deal (made: takers, failed: defenders){undecided}",
        "drawn": "equal scores are a draw",
    }[r.tie_break]
    lines = [f"The first side with {r.target} points wins; both in one deal: the higher score, {equal}."]
    if r.set_side_waits:
        lines.append(
            "A side that failed as takers in a deal, or took no trick in it, does not win in that deal if it is "
            f"below {r.target} without the deal's belote: the other side wins if it has {r.target}, else play goes on."
        )
    return lines


# -- examples, counted by the engine --------------------------------------------------------------------------------

#: `(bid, multiplier, takers' trick points, defenders', takers' belote, defenders' belote)`; bid 0 in turn-up games.
Example = tuple[int, int, int, int, int, int]
_TURN_UP: tuple[Example, ...] = (
    (0, 1, 91, 71, 0, 0),
    (0, 1, 80, 82, 0, 0),
    (0, 1, 71, 91, 20, 0),
    (0, 1, 0, 252, 0, 20),
)
_AUCTIONS: tuple[Example, ...] = (
    (90, 1, 101, 61, 0, 0),
    (120, 1, 105, 57, 20, 0),
    (100, 1, 88, 74, 0, 20),
    (80, 1, 81, 81, 0, 0),
    (110, 2, 96, 66, 20, 0),
    (80, 4, 97, 65, 0, 20),
)


def _examples(r: Rules) -> list[str]:
    if r.bidding == "turn_up":
        return [_example(r, *example) for example in _TURN_UP]
    capot: tuple[Example, ...] = ((250, 1, 252, 0, 0, 0),) if r.capot_bid else ()
    return [_example(r, *example) for example in _AUCTIONS + capot]


def _example(r: Rules, bid: int, multiplier: int, points: int, other: int, belote: int, other_belote: int) -> str:
    tricks = {252: 8, 0: 0}.get(points, 4)
    level = LEVEL_VALUES.index(bid) if bid else 0
    made, takers, defenders, pot = deal_score(
        r.packed, points, other, tricks, belote, other_belote, level, multiplier, 0
    )
    call = {1: "", 2: ", coinche", 4: ", surcoinche"}[multiplier]
    start = f"Bid {bid}{call}, tricks" if bid else "Tricks"
    held = ", takers' belote" if belote else ", defenders' belote" if other_belote else ""
    result = {MADE: "made", FAILED: "failed"}.get(int(made), "litige")
    kept = f", {pot} held back" if pot and r.target else ""
    return f"{start} {points}–{other}{held}: {result}, takers {takers}, defenders {defenders}{kept}."


# -- the table of presets -------------------------------------------------------------------------------------------


def preset_table() -> str:
    """Markdown: a row for each field of `Rules`, a column for each preset; bold is what differs from `classic`."""
    usual = Rules().to_dict()
    tables = {name: {**usual, **fields} for name, fields in PRESETS.items()}
    rows = [["field", *map(_heading, tables)], ["---"] * (len(tables) + 1)]
    for field, default in usual.items():
        if field != "name":
            values = [fields[field] for fields in tables.values()]
            rows.append([f"`{field}`", *(_cell(v) if v == default else f"**{_cell(v)}**" for v in values)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _heading(preset: str) -> str:
    try:
        Rules.preset(preset)
    except ValueError:
        return f"`{preset}` (not played yet)"
    return f"`{preset}`"


def _cell(value: Any) -> str:
    """A value as `belote rules --field value` reads it."""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_table(page: str) -> str:
    """A page with the table of presets written anew between its markers.

    Raises:
        ValueError: the page does not have each marker once, in order.
    """
    start, end = MARKERS
    if page.count(start) != 1 or page.count(end) != 1 or page.index(start) > page.index(end):
        raise ValueError(f"the page needs {start} and {end}, once each and in this order")
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{preset_table()}\n{end}{rest.partition(end)[2]}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
