"""The table as lines of text: at most 79 columns wide, and as plain to read without colour as with it."""

import textwrap
from collections.abc import Sequence

from rich.text import Text

from belote_env.cards import CARD_NAMES, parse_card
from belote_env.game import Contract, Event, Game
from belote_env.notation import restart
from belote_env.verdicts import SUIT_WORDS, counted, hand_in_order, trick_winners

WIDTH = 79
_LABEL, _COLUMN = 11, 17
#: Rounds of an auction that are shown: the last ones.
MOST_ROUNDS = 8

_STRAIN_WORDS = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs", "NT": "no-trump", "AT": "all-trump"}
_STYLES = ("bold", "bold red", "bold magenta", "bold green")  # S H D C

Names = Sequence[str]


def wrapped(text: str) -> list[Text]:
    """A sentence in lines that fit."""
    return [Text(line) for line in textwrap.wrap(text, WIDTH, break_long_words=True) or [""]]


def contract_words(contract: Contract, names: Names) -> str:
    """ "next plays 90 hearts, coinche"."""
    called = {1: "", 2: ", coinche", 4: ", surcoinche"}[contract.multiplier]
    value = "" if contract.value is None else f"{contract.value} "
    verb = "play" if names[contract.taker] == "you" else "plays"
    return f"{names[contract.taker]} {verb} {value}{_STRAIN_WORDS[contract.trump]}{called}"


def card_text(card: int, form: str = "{}") -> Text:
    """A card's name in the style of its suit."""
    return Text(form.format(CARD_NAMES[card]), _STYLES[card // 8])


def hand_line(game: Game, seat: int, label: str, legal: Sequence[int]) -> Text:
    """A hand with the legal cards in brackets, a wider space between suits."""
    line = Text(f"{label:<{_LABEL}}")
    before = None
    for card in hand_in_order(game, seat):
        if before is not None:
            line.append("  " if before // 8 != card // 8 else " ")
        line.append_text(card_text(card, "[{}]" if card in legal else " {} "))
        before = card
    return line


def columns(game: Game) -> list[int]:
    """Seats from the left: in the order in which they speak."""
    return [(game.dealer + k) % 4 for k in range(1, 5)]


def head_line(game: Game, names: Names) -> Text:
    """The names of the seats over their columns; the dealer is marked."""
    cells = [f"{names[seat]}{' (deals)' if seat == game.dealer else ''}" for seat in columns(game)]
    return Text((" " * _LABEL + "".join(f"{cell:<{_COLUMN}}" for cell in cells)).rstrip(), "underline")


def call_lines(game: Game, events: Sequence[Event]) -> list[Text]:
    """The bidding in columns of seats, the last rounds of it."""
    calls = [(event.seat, event.name) for event in events if event.action >= len(CARD_NAMES)]
    order = columns(game)
    rounds: list[dict[int, str]] = []
    for seat, call in calls:
        # not four to a round: after an accept the partner may speak, two seats on
        if not rounds or any(order.index(other) >= order.index(seat) for other in rounds[-1]):
            rounds.append({})
        rounds[-1][seat] = call
    lines = []
    for number, said in enumerate(rounds, start=1):
        cells = "".join(f"{said.get(seat, ''):<{_COLUMN}}" for seat in order)
        lines.append(Text(f"{f'round {number}':<{_LABEL}}{cells}".rstrip()))
    return [Text("..."), *lines[-MOST_ROUNDS:]] if len(lines) > MOST_ROUNDS else lines


def belote_words(game: Game, events: Sequence[Event]) -> dict[int, str]:
    """By number of the event: "belote" or "rebelote", where the card was said so (rules 5.2)."""
    holder = [int(seat) for seat in game._states[0]["belote"]]
    shown, words = [0] * 4, {}
    for k, event in enumerate(events):
        suit, rank = divmod(event.action, 8)
        if event.action < len(CARD_NAMES) and rank in (4, 5) and holder[suit] == event.seat:
            words[k] = ("belote", "rebelote")[shown[suit]]
            shown[suit] += 1
    return words


def trick_lines(game: Game, events: Sequence[Event], numbers: Sequence[int]) -> list[Text]:
    """Tricks by number from 1, each in columns of seats: `>` leads, `*` wins or has won."""
    cards = [(k, event) for k, event in enumerate(events) if event.action < len(CARD_NAMES)]
    said, winners = belote_words(game, events), trick_winners(game, [event for _, event in cards])
    lines = []
    for number in numbers:
        trick = cards[4 * number - 4 : 4 * number]
        line = Text(f"{f'trick {number}':<{_LABEL}}")
        for seat in columns(game):
            cell = Text()
            for place, (k, event) in enumerate(trick):
                if event.seat == seat:
                    cell.append(">" if place == 0 else " ").append_text(card_text(event.action))
                    cell.append("*" if winners[number - 1] == seat else "")
                    cell.append(f" {said[k]}" if k in said else "")
            cell.append(" " * (_COLUMN - len(cell)))
            line.append_text(cell)
        line.rstrip()
        lines.append(line)
    return lines


def title_lines(game: Game, names: Names, us: int) -> list[Text]:
    """Where the match and the deal stand, seen by side `us`."""
    them, deal = 1 - us, int(game._states[0]["deal"]) + 1
    before = [game.scores[side] - game.deal_scores[side] for side in (us, them)]
    goal = f"to {game.rules.target}" if game.rules.target else "one deal"
    pot = int(game._states[0]["pot_before"])
    score = f"score: us {before[0]}, them {before[1]}" + (f", {pot} held back" if pot else "")
    lines = [Text(f"{game.rules.name}, {goal}, deal {deal}; {score}")]
    if game.phase == "play" or (game.deal_over and game.contract is not None):
        assert game.contract is not None
        won = game._states[0]["won"]
        standing = f"tricks {won[us]}:{won[them]}, points {game.points[us]}:{game.points[them]}"
        lines.append(Text(f"{contract_words(game.contract, names)}; {standing}"))
    elif game.turned is not None:
        lines.append(Text(f"turned card: {game.turned} ({SUIT_WORDS[parse_card(game.turned) // 8]}), {game.phase}"))
    elif game.contract is not None:
        lines.append(Text(f"standing bid: {contract_words(game.contract, names)}"))
    else:
        lines.append(Text("no bid yet"))
    return lines


def sheet_lines(game: Game, names: Names, us: int) -> list[Text]:
    """The score sheet of a deal that is over: points, result and why, and how it scores."""
    count = counted(game)
    if count is None:
        return [Text("All passed: nobody scores."), *_match_line(game, us)]
    assert game.contract is not None
    mine = game.contract.taker % 2
    first, second = ("us", "them") if mine == us else ("them", "us")
    lines = [Text(f"{contract_words(game.contract, names)}", "bold")]
    lines.append(Text(f"{'':<44}{f'takers ({first})':>17}{f'defenders ({second})':>18}", "underline"))
    lines += [_row(row.text, row.takers, row.defenders) for row in count.points]
    lines += [Text(line.plain, "bold") for line in wrapped(count.reason)]
    lines += [_row(row.text, row.takers, row.defenders) for row in count.score]
    lines.append(_row("score of the deal", game.deal_scores[mine], game.deal_scores[1 - mine]))
    if count.held_back:
        lost = game.is_over
        lines.append(Text(f"held back for the next deal's winner: {count.held_back}{', lost with the match' * lost}"))
    return lines + _match_line(game, us)


def _row(text: str, takers: int, defenders: int) -> Text:
    return Text(f"{text:<44}{takers:>17}{defenders:>18}")


def _match_line(game: Game, us: int) -> list[Text]:
    goal = f" of {game.rules.target}" if game.rules.target else ""
    return [Text(f"match score{goal}: us {game.scores[us]}, them {game.scores[1 - us]}")]


def start_of(game: Game) -> Game:
    """The deal of a game as it began: before the first call, or the first lead of a given contract."""
    start = game.copy()
    restart(start._states, start.rules)
    return start
