"""Lines out, commands in: the terminal, a dumb one, or a script."""

import io
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from belote_env.table.view import wrapped


class Screen:
    """Prints lines and reads commands, one a line; what comes from a script is shown as if it were typed.

    Attributes:
        typed: whether a person sits at the keyboard.
    """

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal without an alphabet, a script that is no text
        self.console = Console(highlight=False)
        self.typed = sys.stdin is not None and sys.stdin.isatty()

    def show(self, lines: Iterable[Text]) -> None:
        """Print lines as they are: they fit, or a narrow terminal breaks them."""
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print a sentence in as many lines as it needs."""
        self.show(wrapped(text))

    def ask(self, prompt: str) -> str | None:
        """The next command without blanks around it; None at the end of the input, or where nobody can be asked."""
        if sys.stdin is None or sys.stdout is None:  # closed before the process began
            return None
        try:
            line = input(prompt)
        except EOFError:
            print()
            return None
        if not self.typed:
            print(line)
        return line.strip()
