"""`belote …`: the command line. Bad input is answered with one sentence on stderr and exit code 2."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

import belote_env
from belote_env.arena import MOST_PAIRS, play_match, regret_table
from belote_env.bench import suite
from belote_env.bench.plot import check_plot, save_plot
from belote_env.bench.report import Report, check_file
from belote_env.draw import check_raster, svg_to_png, table_svg, table_text
from belote_env.game import Game
from belote_env.notation import parse_positions, parse_rules, parse_value
from belote_env.players import PLAYERS, make_player
from belote_env.record import record
from belote_env.rules import PRESETS, Rules
from belote_env.rulings import shown, whole_number
from belote_env.sheet import rule_line, rule_sheet
from belote_env.solver import best_line, solve, solve_score
from belote_env.table import Replay, Seating, Session, autosave_path, check_seating, read_match

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
    a: Annotated[str, typer.Argument(metavar="A", help=f"A player: {', '.join(PLAYERS)}, a policy or an ONNX file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    rules: Annotated[str | None, typer.Option(help="A preset, see `belote rules`.", show_default="classic")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Duplicate pairs: each is played twice, sides swapped.", show_default="1000")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the deals.", show_default="0")] = None,
    positions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Start from these instead, a line each as `Game.to_text` writes it."),
    ] = None,
    episode: Annotated[str, typer.Option(help="deal, or match for whole matches.")] = "deal",
    regret: Annotated[
        bool, typer.Option("--regret", help="Also the trick points that cards give away; some 20 ms a deal.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there as JSON too.")] = None,
) -> None:
    """Play A against B in duplicate pairs: points a deal with a 95 % interval, contracts, time."""
    check_file("--json", json)
    players = make_player(a), make_player(b)
    deals, table = _deals(rules, pairs, seed, positions)
    result = play_match(
        *players, table, deals, episode=episode, seed=seed or 0, progress=sys.stderr.isatty(), regret=regret
    )
    console = Console()
    console.print(result.table())
    if result.regrets is not None:
        console.print(regret_table(*result.regrets))
    if json is not None:
        json.write_text(result.to_json() + "\n", encoding="utf-8")


def _deals(
    rules: str | None, pairs: int | None, seed: int | None, positions: Path | None
) -> tuple[int | NDArray[Any], Rules]:
    """Pairs to be dealt, or positions to start from; and the rules of either."""
    if positions is not None:
        for option, value in (("--rules", rules), ("--pairs", pairs), ("--seed", seed)):
            if value is not None:
                raise ValueError(f"{option} has no use beside --positions: rules and cards are those of the file")
        try:
            return parse_positions(positions.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise ValueError(f"--positions {positions}: {error.strerror or error}") from None
        except ValueError as error:  # a UnicodeDecodeError is one
            raise ValueError(f"--positions {positions}: {error}") from None
    pairs = 1000 if pairs is None else pairs
    if not 2 <= pairs <= MOST_PAIRS:
        raise ValueError(f"--pairs {shown(pairs)}: at least 2 are needed for an interval, at most {MOST_PAIRS}")
    return pairs, Rules.preset("classic" if rules is None else rules)


@app.command("bench")
def run_bench(
    rules: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A preset, as often as wanted; all that can be played by default."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A minute: fewer rounds, sizes and presets.")] = False,
    rounds: Annotated[int | None, typer.Option(help="How often each path is measured.", show_default="5 or 3")] = None,
    empty_cache: Annotated[
        bool, typer.Option("--empty-cache", help="Also the first start of all, compiling; minutes.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write everything there as JSON too.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it there as a PNG.")] = None,
) -> None:
    """Measure decisions per CPU-second of every door, cold start and memory a table. Ctrl-C shows what there is."""
    scale = suite.QUICK if quick else suite.FULL
    names = rules or [name for name in suite.playable() if not quick or name in suite.QUICK_RULES]
    for name in names:
        Rules.preset(name)
    if rounds is not None and not 1 <= rounds <= suite.MOST_ROUNDS:
        raise ValueError(f"--rounds {shown(rounds)}: 1 to {suite.MOST_ROUNDS} is needed")
    check_file("--json", json)
    check_file("--plot", plot)
    if plot is not None:
        check_plot()
    options = [("--rules", name) for name in rules or ()] + [("--rounds", str(rounds))] * (rounds is not None)
    words = ["belote bench", *("--quick",) * quick, *("--empty-cache",) * empty_cache, *sum(options, ())]
    report = Report(" ".join(words), rounds or scale.rounds)
    suite.bench(report, names, scale, empty_cache, progress=sys.stderr.isatty())
    console = Console()
    report.print(console if console.is_terminal else Console(width=120))
    if json is not None:
        json.write_text(report.to_json() + "\n", encoding="utf-8")
    if plot is not None and report.measured:
        save_plot(report, plot)
    if report.interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command(
    "rules",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    options_metavar="[--FIELD VALUE]...",
)
def show_rules(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="A preset; any field of `Rules` can be changed in it.")] = None,
) -> None:
    """Show the rules of a preset in words; without anything, what presets there are."""
    if name is None:
        for preset in PRESETS:
            typer.echo(f"{preset:<{max(map(len, PRESETS))}}  {_line(preset)}")
        return
    preset, fields = _name_and_fields([name, *context.args])  # `name` is just the first word, perhaps --field
    sheet = rule_sheet(Rules.preset(preset, **fields))
    console = Console()
    if console.is_terminal:
        console.print(Markdown(sheet))
    else:
        typer.echo(sheet, nl=False)


@app.command("show")
def show_position(
    position: Annotated[str, typer.Argument(metavar="POSITION", help="A line as `Game.to_text` writes it, in quotes.")],
    seat: Annotated[
        int | None, typer.Option(metavar="N", help="Seen from seat 0 to 3.", show_default="the seat to act")
    ] = None,
    open_hands: Annotated[bool, typer.Option("--open", help="All four hands open.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it there: .svg, or .png with the extra [draw].")
    ] = None,
) -> None:
    """Show the table of a position: as text, or as a picture in a file."""
    if open_hands and seat is not None:
        raise ValueError("--seat has no use beside --open: all hands are shown")
    if out is not None and out.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"--out {out}: the name of a picture ends in .svg or .png")
    check_file("--out", out)
    if out is not None and out.suffix.lower() == ".png":
        check_raster(f"--out {out}")
    game = Game.parse(position)
    viewer = None if open_hands else (game.turn or 0) if seat is None else whole_number("--seat", seat, 0, 3)
    if out is None:
        typer.echo(table_text(game, viewer))
        return
    svg = table_svg(game, viewer)
    if out.suffix.lower() == ".png":
        out.write_bytes(svg_to_png(svg))
    else:
        out.write_text(svg, encoding="utf-8", newline="\n")


@app.command("solve")
def solve_position(
    position: Annotated[str, typer.Argument(metavar="POSITION", help="A line as `Game.to_text` writes it, in quotes.")],
) -> None:
    """Exact value of every card with all hands open, the best line, and what it makes of the contract."""
    game = Game.parse(position)
    points, scores = solve(game), solve_score(game)
    side, contract = (game.turn or 0) % 2, game.contract
    table = Table(title=f"seat {game.turn} to play\ncontract: {_contract_text(game)}")
    for name in ("card", "trick points", "score − others'"):
        table.add_column(name, justify="right")
    for card in sorted(points, key=lambda name: (-points[name], -scores[name], name)):
        table.add_row(card, str(points[card]), f"{scores[card]:+d}")
    Console().print(table)
    line = best_line(game)
    tricks = [*game.trick, *line]  # with what lies on the table, so that every four are a trick
    typer.echo("best line, trick by trick:")
    for k in range(0, len(tricks), 4):
        cards = "  ".join(f"{seat} {card:<3}" for seat, card in tricks[k : k + 4])
        typer.echo(f"  {9 - (len(tricks) - k) // 4}  {cards.rstrip()}")
    for _, card in line:
        game.play(card)
    result = {True: "made", False: "failed", None: "neither made nor failed"}[game.made]
    assert contract is not None
    typer.echo(
        f"then side {side} has {game.points[side]} trick points to {game.points[1 - side]}, the contract of seat "
        f"{contract.taker} is {result},\nand the deal scores {game.deal_scores[0]} for side 0, {game.deal_scores[1]} "
        "for side 1"
    )


def _contract_text(game: Game) -> str:
    """A contract in words: "seat 1 plays 90 H, coinche"."""
    contract = game.contract
    assert contract is not None
    called = {1: "", 2: ", coinche", 4: ", surcoinche"}[contract.multiplier]
    value = "" if contract.value is None else f"{contract.value} "
    return f"seat {contract.taker} plays {value}{contract.trump}{called}"


@app.command("play")
def play_at_table(
    rules: Annotated[
        str | None,
        typer.Option(help="A preset, with fields in brackets: 'coinche(target=500)'.", show_default="classic"),
    ] = None,
    seat: Annotated[int | None, typer.Option(help="Yours, 0 to 3.", show_default="0")] = None,
    players: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME,NAME]",
            help=f"One for all, or next, partner, previous; of {', '.join(PLAYERS)}.",
            show_default="medium",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of dealer and cards.", show_default="drawn")] = None,
    episode: Annotated[str | None, typer.Option(help="match, or deal for a single deal.", show_default="match")] = None,
    hints: Annotated[str, typer.Option(metavar="NAME", help="The player that `hint` asks.")] = "hard",
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the match there; by default in one file for the last match."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on with a match kept there, seats and players too.")
    ] = None,
) -> None:
    """Sit down at a table: a command a line, `help` lists them. The match is kept after every turn."""
    if save is not None and save.exists() and not (resume is not None and save.samefile(resume)):
        raise ValueError(f"--save {save}: there is a file already; --resume {save} goes on with its match")
    if resume is None:
        game, seating = Game(parse_rules("classic" if rules is None else rules), seed), Seating()
    else:
        for option, value in (("--rules", rules), ("--seed", seed)):
            if value is not None:
                raise ValueError(f"{option} has no use beside --resume: rules and cards are those of the match")
        _, game, seating = read_match(resume)
    names = seating.players if players is None else tuple(name.strip() for name in players.split(","))
    seating = Seating(
        seating.seat if seat is None else seat,
        names * 3 if len(names) == 1 else names,  # type: ignore[arg-type]  # checked below
        seating.episode if episode is None else episode,
    )
    check_seating(seating)
    path = save or resume or autosave_path()
    session = Session(game, seating, hints, path)
    if save is None and resume is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    check_file("--save", path)
    session.run()


@app.command("replay")
def replay_match(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A match or a position, as `belote play` keeps it.")],
    everything: Annotated[bool, typer.Option("--all", help="Print every deal and stop.")] = False,
) -> None:
    """Step through a match with all hands open: Enter goes on, back, trick N, deal N, end."""
    text, _, _ = read_match(file)
    Replay(text).run(everything)


@app.command("record")
def record_deals(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the Parquet files go.")],
    player: Annotated[str, typer.Option(help=f"At every seat: {', '.join(PLAYERS)}.")] = "medium",
    rules: Annotated[str, typer.Option(help="A preset, with fields in brackets: 'coinche(target=500)'.")] = "classic",
    deals: Annotated[int, typer.Option(help="How many.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the deals.")] = 0,
) -> None:
    """Record deals for learning, a row a decision (docs/record.md). The same command goes on where it stopped."""
    shards = record(player, out, parse_rules(rules), deals, seed, progress=sys.stderr.isatty())
    typer.echo(f"{out}: {deals:,} deal{'s' * (deals > 1)} in {len(shards):,} file{'s' * (len(shards) > 1)}")


def _line(name: str) -> str:
    try:
        return rule_line(Rules.preset(name))
    except ValueError as error:
        return str(error)


def _name_and_fields(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """`["coinche", "--target", "1000", "--tie=made"]` read by hand: every field of `Rules` is an option.

    Raises:
        ValueError: a field without a value, or a second name.
    """
    names: list[str] = []
    fields: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if not word.startswith("--"):
            names.append(word)
            continue
        option, equals, value = word.partition("=")
        text = value if equals else next(words, "")
        if not text or text.startswith("--"):
            raise ValueError(f"{option} needs a value, as in --target 1000")
        fields[option[2:].replace("-", "_")] = parse_value(text)
    if len(names) > 1:
        raise ValueError(f"one preset at a time, not {' '.join(names)}")
    return (names or ["classic"])[0], fields


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Args:
        arguments: by default those of the process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal with few letters
    command = typer.main.get_command(app)
    try:
        code = int(
            command.main(list(arguments) if arguments is not None else None, "belote", standalone_mode=False) or 0
        )
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        print(f"belote: {place}{error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    except (ValueError, ImportError) as error:
        print(f"belote: {error}", file=sys.stderr)
        return BAD_INPUT
    except MemoryError:
        print("belote: there is not enough memory for this, fewer --pairs need less", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        message = getattr(error, "format_message", None)  # click's own, which newer typers carry under another name
        if message is None:
            raise
        print(f"belote: {message()}", file=sys.stderr)
        return BAD_INPUT
    if code == INTERRUPTED:
        print("stopped", file=sys.stderr)
    return code
