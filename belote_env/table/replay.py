"""A saved match step by step, all hands open; or everything at once."""

from collections.abc import Callable

from rich.text import Text

from belote_env.game import Event, Game
from belote_env.sheet import rule_line
from belote_env.table.screen import Screen
from belote_env.table.view import (
    call_lines,
    columns,
    hand_line,
    head_line,
    sheet_lines,
    start_of,
    title_lines,
    trick_lines,
)

NAMES = ("seat 0", "seat 1", "seat 2", "seat 3")

HELP = """\
Enter, next    the next call or card
back           the one before
trick N        the start of trick N of this deal; trick 0 is the bidding
deal N         the start of deal N
end            the end of the match as far as it was played
start          its beginning
quit           stop"""


class Replay:
    """Steps through a match.

    Args:
        text: a match's lines or a position's line.

    Raises:
        ValueError: it is not the text of a match.
    """

    def __init__(self, text: str) -> None:
        game = Game.parse(text)
        self.deals = [Game.parse(line) for line in game.match_text().splitlines()]
        self.events: list[list[Event]] = [deal.events() for deal in self.deals]
        self.deal, self.step = 0, 0

    # -- where one is

    def position(self) -> Game:
        """The game after `step` calls and cards of deal number `deal`, counted from 0 in this text."""
        game = start_of(self.deals[self.deal])
        for event in self.events[self.deal][: self.step]:
            game.play(event.action)
        return game

    def next(self) -> bool:
        """One step on; False at the end."""
        if self.step < len(self.events[self.deal]):
            self.step += 1
        elif self.deal + 1 < len(self.deals):
            self.deal, self.step = self.deal + 1, 0
        else:
            return False
        return True

    def back(self) -> bool:
        """One step back; False at the beginning."""
        if self.step:
            self.step -= 1
        elif self.deal:
            self.deal -= 1
            self.step = len(self.events[self.deal])
        else:
            return False
        return True

    def to_trick(self, number: int) -> bool:
        """To the start of a trick 1..8 of this deal, 0 for that of the bidding; False where it was not reached."""
        calls = sum(event.action >= 32 for event in self.events[self.deal])
        step = 0 if number == 0 else calls + 4 * (number - 1)
        played = len(self.events[self.deal])
        if not 0 <= number <= 8 or step > played or (step == played and number and self.deals[self.deal].deal_over):
            return False
        self.step = step
        return True

    def to_deal(self, number: int) -> bool:
        """To the start of a deal, from 1; False where there is none."""
        if not 1 <= number <= len(self.deals):
            return False
        self.deal, self.step = number - 1, 0
        return True

    def to_end(self) -> None:
        """To the end of the last deal."""
        self.deal = len(self.deals) - 1
        self.step = len(self.events[self.deal])

    # -- what is shown

    def lines(self) -> list[Text]:
        """The position: bidding, the last trick and this one, all hands, and the score sheet at the end."""
        game = self.position()
        events = game.events()
        where = f"deal {self.deal + 1} of {len(self.deals)}, step {self.step} of {len(self.events[self.deal])}"
        lines = [Text(f"-- {where}", "dim"), *title_lines(game, NAMES, 0), head_line(game, NAMES)]
        played = sum(event.action < 32 for event in events)
        if played < 4:
            lines += call_lines(game, events)
        if played:
            current = played // 4 + (played % 4 > 0)
            lines += trick_lines(game, events, [number for number in (current - 1, current) if number])
        if game.deal_over:
            return lines + sheet_lines(game, NAMES, 0)
        legal = game.legal_actions()
        for seat in columns(game):
            turn = seat == game.turn
            lines.append(hand_line(game, seat, f"{'> ' if turn else '  '}{NAMES[seat]}", legal if turn else []))
        return lines

    def all_lines(self) -> list[Text]:
        """Every deal: hands, bidding, tricks, score sheet. `us` is side 0, seats 0 and 2."""
        lines = [Text(f"{self.deals[0].rules.name}: {rule_line(self.deals[0].rules)}.")]
        for deal, events in zip(self.deals, self.events, strict=True):
            lines += [Text(""), *title_lines(start_of(deal), NAMES, 0)]
            dealt = _as_dealt(deal)
            lines += [hand_line(dealt, seat, f"  {NAMES[seat]}", []) for seat in columns(deal)]
            lines += [head_line(deal, NAMES), *call_lines(deal, events)]
            tricks = -(-sum(event.action < 32 for event in events) // 4)
            lines += trick_lines(deal, events, range(1, tricks + 1))
            lines += sheet_lines(deal, NAMES, 0) if deal.deal_over else [Text("in progress")]
        return lines

    def run(self, everything: bool = False) -> None:
        """Show it: all at once, or a step for each command until `quit` or the end of the input."""
        screen = Screen()
        if everything:
            screen.show(self.all_lines())
            return
        screen.show(self.lines())
        while (command := screen.ask("replay> ")) is not None and command.lower() != "quit":
            said = self._obey(command)
            if said:
                screen.say(said)
            elif command.lower() in ("help", "?"):
                screen.show(Text(line) for line in HELP.splitlines())
            else:
                screen.show(self.lines())

    def _obey(self, command: str) -> str:
        """Do what a command asks; a sentence where it cannot be done."""
        word, _, rest = command.lower().partition(" ")
        moves: dict[str, Callable[[], object]] = {
            "": self.next,
            "next": self.next,
            "back": self.back,
            "end": self.to_end,
            "start": lambda: self.to_deal(1),
            "table": lambda: True,
            "help": lambda: True,
            "?": lambda: True,
        }
        if word in moves and not rest:
            moved = moves[word]() is not False
            return "" if moved else f"This is the {'beginning' if word == 'back' else 'end'}."
        number = rest.strip()
        if word in ("trick", "deal") and number.isdecimal():
            go = self.to_trick if word == "trick" else self.to_deal
            # Python reads no integer of more than 4300 digits
            return "" if len(number) < 10 and go(int(number)) else f"There is no {word} {number} here."
        return f"{command!r} is not one of next, back, trick N, deal N, start, end, help, quit."


def _as_dealt(deal: Game) -> Game:
    """A deal with every hand as it was before the first lead, or as it is where nobody has led."""
    game = start_of(deal)
    for event in deal.events():
        if event.action < 32:
            break
        game.play(event.action)
    return game
