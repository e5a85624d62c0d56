"""What the command lines of this package share: a refusal is one sentence on stderr and exit status 2."""

import argparse
import sys
from typing import NoReturn

REFUSED = 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose `error` is a ValueError with one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message[:1].upper()}{message[1:].rstrip('.')}.")


def sentence(error: BaseException) -> str:
    """What went wrong, in one line that ends with a full stop."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"There is no file {error.filename}."
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror[0].lower() + error.strerror[1:]}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."


def refuse(text: str) -> int:
    """Print a sentence to stderr; returns the exit status of a refusal."""
    print(text, file=sys.stderr)
    return REFUSED
