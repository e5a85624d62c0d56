"""The command line: what it prints, and how it answers bad input."""

import json
import os
import subprocess
import sys

import pytest

import belote_env
from belote_env import cli


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"belote-env {belote_env.__version__}"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["evaluate", "--help"]])
def test_help(arguments, capsys):
    assert cli.main(arguments) == 0
    assert "Usage: belote" in capsys.readouterr().out


def test_evaluate_prints_a_table_and_writes_json(capsys, tmp_path):
    path = tmp_path / "result.json"
    arguments = ["evaluate", "heuristic", "random", "--pairs", "30", "--seed", "4", "--json", str(path)]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    record = json.loads(path.read_text())
    assert record["pairs"] == 30 and record["seed"] == 4 and record["rules"] == "classic"
    assert f"{record['mean']:+.2f}" in out
    assert "30 duplicate pairs" in out


def test_evaluate_whole_matches(capsys):
    arguments = ["evaluate", "heuristic", "random", "--pairs", "4", "--episode", "match", "--rules", "belote_501"]
    assert cli.main(arguments) == 0
    assert "matches won" in capsys.readouterr().out


def line(seed, preset="contree", over=False):
    """A position near the end of a deal, or after it."""
    game = belote_env.Game(preset, seed=seed)
    while not game.deal_over and (over or len(game.hand(game.turn)) > 2 or game.phase != "play"):
        game.play("80H" if game.phase == "auction" and game.contract is None else game.legal_actions()[0])
    return game.to_text()


def test_evaluate_positions_with_regret(capsys, tmp_path):
    path, positions = tmp_path / "result.json", tmp_path / "positions.txt"
    positions.write_text("\n\n".join(line(seed) for seed in range(4)) + "\n")
    arguments = ["evaluate", "random", "heuristic", "--positions", str(positions), "--regret", "--json", str(path)]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    record = json.loads(path.read_text())
    assert record["pairs"] == 4 and record["seed"] is None and record["rules"] == "contree"
    assert record["a"]["regret"]["takers"]["cards"][:6] == [0] * 6
    assert sum(sum(record[side]["regret"][role]["cards"]) for side in "ab" for role in ("takers", "defenders")) > 30
    assert "4 duplicate pairs" in out and "trick points a card gives away" in out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "at least two positions are needed, a line each; there are 0"),
        (line(1), "at least two positions are needed, a line each; there are 1"),
        (f"{line(1)}\n\nnonsense", "line 3: a position reads RULES"),
        (f"{line(1)}\n{line(2)} 7S 7S", "line 2: '7S' is not legal after"),
        (f"{line(1)}\n{line(2, over=True)}", "line 2: the deal is over: 'contree deal 0"),
        (f"{line(1)}\n{line(2, 'coinche')}", "line 2: all positions must have the same rules, coinche is not contree"),
        (b"\xff\xfe", "can't decode byte 0xff"),
    ],
)
def test_bad_positions_are_one_sentence(text, sentence, tmp_path, capsys):
    path = tmp_path / "positions.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert cli.main(["evaluate", "random", "heuristic", "--positions", str(path)]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"belote: --positions {path}: ") and sentence in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["evaluate", "heuristic", "random", "--positions", "/nowhere"],
            "--positions /nowhere: No such file or directory",
        ),
        (
            ["evaluate", "heuristic", "random", "--positions", "x", "--seed", "0"],
            "--seed has no use beside",
        ),
        (["evaluate", "heuristic", "random", "--positions", "x", "--pairs", "9"], "--pairs has no use beside"),
        (["evaluate", "heuristic", "random", "--positions", "x", "--rules", "classic"], "--rules has no use beside"),
        (["evaluate", "heuristic", "chess"], "'chess' is not a player; there are random, heuristic"),
        (["evaluate", "heuristic"], "Missing argument 'B'"),
        (["evaluate", "heuristic", "random", "--pairs", "many"], "Invalid value for '--pairs'"),
        (["evaluate", "heuristic", "random", "--pairs", "1"], "--pairs 1: at least 2"),
        (["evaluate", "heuristic", "random", "--pairs", "1000000000000000"], "at most 2147483647"),
        (["evaluate", "heuristic", "random", "--rules", "poker"], "'poker' is not a preset"),
        (["evaluate", "heuristic", "random", "--episode", "trick"], "episode='trick' is not one of"),
        (["evaluate", "heuristic", "random", "--seed", "-1"], "seed=-1"),
        (["evaluate", "heuristic", "random", "--json", "/nowhere/at/all.json"], "a file in a folder that exists"),
        (["rules", "poker"], "'poker' is not a preset"),
        (["replay", "/nowhere"], "/nowhere: No such file or directory"),
        (["replay", "/"], "/: Is a directory"),
        (["play", "--resume", "/nowhere"], "/nowhere: No such file or directory"),
        (["record", "--out", "/dev/null/data"], "/dev/null/data: Not a directory"),
        (["evalute"], "No such command 'evalute'"),
        (["--verbose"], "No such option"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("belote: ") and sentence in captured.err
    assert captured.err.count("\n") == 1 and "Errno" not in captured.err


def test_a_link_to_nothing_outlives_a_refusal(capsys, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "result.json")
    assert cli.main(["evaluate", "heuristic", "chess", "--json", str(link)]) == cli.BAD_INPUT
    assert link.is_symlink() and not link.exists()
    assert cli.main(["evaluate", "random", "random", "--pairs", "2", "--json", str(link)]) == 0
    assert json.loads((tmp_path / "result.json").read_text())["pairs"] == 2


def test_a_positions_file_may_begin_with_a_mark_of_its_encoding(capsys, tmp_path):
    path = tmp_path / "positions.txt"
    path.write_text(f"{line(1)}\r\n{line(2)}\r\n", encoding="utf-8-sig")
    assert cli.main(["evaluate", "random", "random", "--positions", str(path)]) == 0


def test_a_huge_position_gets_a_short_sentence(capsys):
    assert cli.main(["solve", "a" * 10**6]) == cli.BAD_INPUT
    assert cli.main(["solve", f"{line(1)} {'7S' * 10**6}"]) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert error.count("a position has at most 4000 characters, not ") == 2 and len(error) < 400


def test_a_folder_is_no_file(capsys, tmp_path):
    assert cli.main(["evaluate", "heuristic", "random", "--pairs", "2", "--json", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1


@pytest.mark.parametrize("error", [MemoryError("many\nlines"), OSError(28, "No space left"), PermissionError(13, "No")])
def test_what_the_machine_refuses_is_one_sentence(error, monkeypatch, capsys):
    def refuse(*args, **kwargs):
        raise error

    monkeypatch.setattr(cli, "play_match", refuse)
    assert cli.main(["evaluate", "heuristic", "random"]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("belote: ") and captured.err.count("\n") == 1 and "Errno" not in captured.err


def test_interrupted(monkeypatch, capsys):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "play_match", interrupt)
    assert cli.main(["evaluate", "heuristic", "random"]) == cli.INTERRUPTED
    assert capsys.readouterr().err.strip() == "stopped"


def test_a_bug_is_not_hidden(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a bug")

    monkeypatch.setattr(cli, "play_match", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["evaluate", "heuristic", "random"])


def test_as_a_module():
    done = subprocess.run([sys.executable, "-m", "belote_env", "rules", "poker"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("belote: 'poker' is not a preset")


def test_solve_shows_values_the_best_line_and_the_contract(capsys):
    game = belote_env.Game.from_play(
        "contree",
        [" ".join(rank + suit for rank in "J 9 A 10 K Q 8 7".split()) for suit in "SHDC"],
        dealer=3,
        taker=0,
        trump="S",
        value=250,
        multiplier=2,
    )
    for card in "JS 7H 7D 7C 9S 8H 8D".split():
        game.play(card)
    assert cli.main(["solve", game.to_text()]) == 0
    out = capsys.readouterr().out
    assert "seat 3 to play" in out and "seat 0 plays 250 S, coinche" in out
    # any club will do: every trick is side 0's, whose contract is worth 252 + 2 × 250 + 20
    assert [line.split()[1:6:2] for line in out.splitlines() if line.startswith("│")] == [
        [card, "0", "-772"] for card in sorted("8C 9C JC QC KC 10C AC".split())
    ]
    tricks = out.partition("best line, trick by trick:\n")[2].splitlines()[:7]
    assert [line.split()[0] for line in tricks] == [*"2345678"]
    assert tricks[0].startswith("  2  0 9S   1 8H   2 8D   3 ")  # with the cards on the table
    assert sorted(card for line in tricks for card in line.split()[2::2]) == sorted(
        f"{rank}{suit}"
        for suit, first in zip("SHDC", "J777", strict=True)
        for rank in "J 9 A 10 K Q 8 7".split()
        if rank != first
    )
    assert max(map(len, out.splitlines())) <= 80
    assert "the contract of seat 0 is made,\nand the deal scores 772 for side 0, 0 for side 1" in out


@pytest.mark.parametrize(
    ("position", "sentence"),
    [("nonsense", "a position reads RULES"), (belote_env.Game("classic", seed=1).to_text(), "only a position in play")],
)
def test_solve_refuses_what_is_not_in_play(position, sentence, capsys):
    assert cli.main(["solve", position]) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["show"], ["show", "--open"], ["rules"], ["rules", "contree"], ["solve"]])
def test_a_terminal_with_few_letters(arguments, encoding):
    command, *options = arguments
    position = [] if command == "rules" else [line(1)]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "belote_env", command, *position, *options],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout
