"""A person at the table: asks, refuses with the rule, lets the others play, counts, keeps the match."""

from pathlib import Path

import numpy as np
from rich.text import Text

from belote_env.arena.deals import ask
from belote_env.game import Game
from belote_env.players import Player, make_player
from belote_env.sheet import rule_line, rule_sheet
from belote_env.table.keep import Seating, write_match
from belote_env.table.screen import Screen
from belote_env.table.view import (
    call_lines,
    contract_words,
    hand_line,
    head_line,
    sheet_lines,
    title_lines,
    trick_lines,
    wrapped,
)
from belote_env.verdicts import choices, refusal

PLACES = ("you", "next", "partner", "previous")
#: Deals that `score` lists: the last ones.
MOST_DEALS = 15

HELP = """\
JS, 10H, ...       play a card, rank then suit: S H D C; legal ones are in brackets
take, pass         choose trump at a turned card; in round two S, H, D or C
90H, 250C, ...     bid in an auction, also 100NT and 100AT where they are played
coinche, surcoinche, accept
hint [PLAYER]      what a player would do who sees what you see
table              the table again
last               the last trick
calls              the bidding
score              the match, deal by deal
rules [all]        the rules of this table, for now or all of them
save [FILE]        keep the match; it is kept after every turn anyway
quit               keep it and stop"""


class Session:
    """One person and three players.

    Args:
        game: the match, anywhere.
        seating: who sits where.
        hints: name of the player who gives hints.
        path: where the match is kept after every turn.

    Raises:
        ValueError: an unknown player, or one that cannot play these rules.
    """

    def __init__(self, game: Game, seating: Seating, hints: str, path: Path) -> None:
        self.game, self.seating, self.path, self.hints = game, seating, path, hints
        self.screen = Screen()
        self.names = ["", "", "", ""]
        self.players: dict[int, Player] = {}
        for k, place in enumerate(PLACES):
            seat = (seating.seat + k) % 4
            self.names[seat] = place
            if k:
                self.players[seat] = self._seated(seating.players[k - 1])
        self._seated(hints)
        self._helpers: dict[str, Player] = {}

    def _seated(self, name: str) -> Player:
        player = make_player(name)
        player.start(self.game.rules)
        return player

    # -- the course of play

    def run(self) -> None:
        """Play until the end, `quit` or the end of the input; the match is kept whatever happens."""
        try:
            self._open()
            done = self._play()
            self._keep()
            self._farewell(done)
        except KeyboardInterrupt:
            self._keep()
            print()
            self._farewell(False)
            raise
        except BaseException:
            self._keep()
            raise

    def _open(self) -> None:
        self._keep()
        at = ", ".join(
            f"{place} (seat {(self.seating.seat + k) % 4}) is {self.seating.players[k - 1]}"
            for k, place in enumerate(PLACES)
            if k
        )
        self.screen.say(f"{self.game.rules.name}: {rule_line(self.game.rules)}.")
        self.screen.say(f"You are seat {self.seating.seat}; {at}. `help` lists what you can say.")

    def _play(self) -> bool:
        """Whether it was played to its end."""
        game = self.game
        while True:
            if game.deal_over:
                self._count()
                if game.is_over or self.seating.episode == "deal":
                    return True
                if self.screen.typed and not self._pause():
                    return False
                game.next_deal()
            elif game.turn == self.seating.seat:
                if not self._turn():
                    return False
            else:
                seat = game.turn or 0
                actions, _ = ask(self.players[seat], game._states, np.zeros(1, np.int64), game.rules)
                game.play(int(actions[0]))
            self._keep()

    def _turn(self) -> bool:
        """Show the table and read commands until an action was played; False to stop."""
        self._table()
        while True:
            command = self.screen.ask(f"{self._prompt()}> ")
            if command is None or command.lower() == "quit":
                return False
            if command and not self._obey(command):
                why = refusal(self.game, command)
                if not why:
                    self.game.play(command)
                    return True
                self.screen.say(why)

    def _prompt(self) -> str:
        return {"play": "card", "answer": "accept or surcoinche"}.get(self.game.phase, "call")

    def _pause(self) -> bool:
        """A person reads the score sheet before the next deal."""
        while True:
            command = self.screen.ask("Enter deals again> ")
            if command is None or command.lower() == "quit":
                return False
            if not command:
                return True
            if not self._obey(command):
                self.screen.say("The deal is over: Enter goes on, `quit` stops.")

    # -- commands

    def _obey(self, command: str) -> bool:
        """Do what a command asks; False when it is none."""
        word, _, rest = command.partition(" ")
        name, rest = word.lower(), rest.strip()
        simple = {
            "help": lambda: self.screen.show(Text(line) for line in HELP.splitlines()),
            "?": lambda: self.screen.show(Text(line) for line in HELP.splitlines()),
            "table": self._table,
            "last": self._last,
            "calls": lambda: self.screen.show(
                [head_line(self.game, self.names), *call_lines(self.game, self.game.events())]
            ),
            "score": self._score,
        }
        if name in simple and not rest:
            simple[name]()
        elif name == "hint":
            self._hint(rest or self.hints)
        elif name == "rules" and rest.lower() in ("", "all"):
            self._rules(bool(rest))
        elif name == "save":
            self._save(rest)
        else:
            return False
        return True

    def _table(self) -> None:
        game, us = self.game, self.seating.seat % 2
        events = self.game.events()
        lines = [Text(""), *title_lines(game, self.names, us), head_line(game, self.names)]
        played = sum(event.action < 32 for event in events)
        if game.phase != "play" or played < 4:
            lines += call_lines(game, events)
        if played:
            current = played // 4 + 1
            lines += trick_lines(game, events, [number for number in (current - 1, current) if number])
        legal = game.legal_actions() if game.turn == self.seating.seat else []
        lines.append(hand_line(game, self.seating.seat, "your hand", legal))
        if legal and game.phase != "play":
            lines += wrapped(f"You may say {choices(game)}.")
        self.screen.show(lines)

    def _last(self) -> None:
        events = self.game.events()
        tricks = sum(event.action < 32 for event in events) // 4
        if tricks:
            self.screen.show([head_line(self.game, self.names), *trick_lines(self.game, events, [tricks])])
        else:
            self.screen.say("No trick is over yet.")

    def _count(self) -> None:
        game, us = self.game, self.seating.seat % 2
        lines = [Text("")]
        events = self.game.events()
        if any(event.action < 32 for event in events):
            lines += [head_line(game, self.names), *trick_lines(game, events, [8])]
        else:
            lines += [head_line(game, self.names), *call_lines(game, events)]
        lines += sheet_lines(game, self.names, us)
        if game.is_over:
            result = "drawn" if game.winner is None else "won" if game.winner == us else "lost"
            lines.append(Text(f"The match is {result}.", "bold"))
        self.screen.show(lines)

    def _score(self) -> None:
        us = self.seating.seat % 2
        texts = self.game.match_text().splitlines()
        lines = [Text(f"{'deal':<6}{'contract':<40}{'us':>10}{'them':>10}", "underline")]
        for text in texts[-MOST_DEALS:]:
            deal = Game.parse(text)
            number = int(deal._states[0]["deal"]) + 1
            contract = "all passed" if deal.contract is None else contract_words(deal.contract, self.names)
            if not deal.deal_over:
                lines.append(Text(f"{number:<6}in progress"))
                continue
            if deal.contract is not None:
                contract += {True: ": made", False: ": failed", None: ": litige"}[deal.made]
            lines.append(Text(f"{number:<6}{contract:<40}{deal.deal_scores[us]:>10}{deal.deal_scores[1 - us]:>10}"))
        lines.append(Text(f"{'':<6}{'match':<40}{self.game.scores[us]:>10}{self.game.scores[1 - us]:>10}", "bold"))
        self.screen.show(lines)

    def _hint(self, name: str) -> None:
        if self.game.turn != self.seating.seat:
            self.screen.say("There is nothing to decide.")
            return
        try:
            if name not in self._helpers:
                self._helpers[name] = self._seated(name)
        except (ValueError, ImportError) as error:
            self.screen.say(f"{error}.")
            return
        actions, _ = ask(self._helpers[name], self.game._states, np.zeros(1, np.int64), self.game.rules)
        self.screen.say(f"{name} would say {self.game.names(actions)[0]}.")

    def _rules(self, everything: bool) -> None:
        sheet = rule_sheet(self.game.rules)
        if not everything:
            title = "Playing" if self.game.phase == "play" else "Counting" if self.game.deal_over else "Choosing trump"
            sheet = next(part for part in sheet.split("## ") if part.startswith(title))
        self.screen.show(line for text in sheet.strip().splitlines() for line in wrapped(text))

    def _save(self, name: str) -> None:
        try:
            path = Path(name).expanduser() if name else self.path
            if name and path.exists():
                self.screen.say(f"{path} exists already: name another file.")
                return
            write_match(path, self.game, self.seating)
        except (OSError, ValueError, RuntimeError) as error:  # no such home, a name no file can have
            self.screen.say(f"{name or self.path}: cannot be written: {getattr(error, 'strerror', None) or error}.")
            return
        self.screen.say(f"The match is in {path}.")

    # -- keeping

    def _keep(self) -> None:
        write_match(self.path, self.game, self.seating)

    def _farewell(self, done: bool) -> None:
        command = f"belote replay {self.path}" if done else f"belote play --resume {self.path}"
        # in one piece however long the path is, to be copied
        self.screen.show([Text("To see it again:" if done else "The match is kept. To go on:"), Text(f"  {command}")])
