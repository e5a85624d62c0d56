"""`belote …`: the command line. Bad input is answered with one sentence on stderr and exit code 2."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import belote_env
from belote_env.arena import play_match
from belote_env.players import PLAYERS, make_player
from belote_env.rules import PRESETS, Rules

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(invoke_without_command=True, add_completion=False, help=belote_env.__doc__)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"belote-env {belote_env.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def evaluate(
    a: Annotated[str, typer.Argument(metavar="A", help=f"A player: {', '.join(PLAYERS)}.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    rules: Annotated[str, typer.Option(help="A preset, see `belote rules`.")] = "classic",
    pairs: Annotated[int, typer.Option(help="Duplicate pairs: each is played twice, sides swapped.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the deals.")] = 0,
    episode: Annotated[str, typer.Option(help="deal, or match for whole matches.")] = "deal",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there as JSON too.")] = None,
) -> None:
    """Play A against B in duplicate pairs: points a deal with a 95 % interval, contracts, time."""
    if json is not None and not json.absolute().parent.is_dir():
        raise ValueError(f"--json {json}: there is no folder {json.absolute().parent}")
    players = make_player(a), make_player(b)
    table = Rules.preset(rules)
    if pairs < 2:
        raise ValueError(f"--pairs {pairs}: at least 2 are needed for an interval")
    result = play_match(*players, table, deals=pairs, episode=episode, seed=seed, progress=sys.stderr.isatty())
    Console().print(result.table())
    if json is not None:
        json.write_text(result.to_json() + "\n", encoding="utf-8")


@app.command("rules")
def show_rules(
    name: Annotated[str | None, typer.Argument(help="A preset; without one, what differs between all of them.")] = None,
) -> None:
    """Show the fields of a preset, or the fields in which the presets differ."""
    Console().print(_fields_of(Rules.preset(name)) if name is not None else _differences())


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields_of(rules: Rules) -> Table:
    table = Table(title=f"{rules.name} (digest {rules.digest})")
    table.add_column("field")
    table.add_column("value")
    table.add_column("classic")
    usual = Rules().to_dict()
    for field, value in rules.to_dict().items():
        if field != "name":
            table.add_row(field, _text(value), "" if value == usual[field] else _text(usual[field]))
    return table


def _differences() -> Table:
    played, waiting = [], []
    for name in PRESETS:
        try:
            played.append(Rules.preset(name))
        except ValueError:
            waiting.append(name)
    table = Table(title="presets", caption=f"not played yet: {', '.join(waiting)}" if waiting else None)
    table.add_column("field")
    for rules in played:
        table.add_column(rules.name)
    for field in Rules().to_dict():
        values = [_text(rules.to_dict()[field]) for rules in played]
        if field != "name" and len(set(values)) > 1:
            table.add_row(field, *values)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Args:
        arguments: by default those of the process.
    """
    command = typer.main.get_command(app)
    try:
        code = command.main(list(arguments) if arguments is not None else None, "belote", standalone_mode=False)
        return int(code or 0)
    except (typer.Abort, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError) as error:
        print(f"belote: {error}", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        message = getattr(error, "format_message", None)  # click's own, which newer typers carry under another name
        if message is None:
            raise
        print(f"belote: {message()}", file=sys.stderr)
        return BAD_INPUT
