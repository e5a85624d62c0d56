"""`belote play` and `belote replay`: driven by a script, as a person drives them."""

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from random_rules import random_rules

from belote_env import Game, cli
from belote_env.cards import CARD_NAMES, parse_card
from belote_env.notation import parse_positions, parse_rules, rules_text
from belote_env.players import make_player
from belote_env.table import Seating, read_match, write_match
from belote_env.verdicts import Duty, card_duty, counted, hand_in_order, refusal, trick_winners
from belote_env.verdicts import duty as duty_room

ROOT = Path(__file__).parent.parent
PRESETS = ("single_deal", "belote_501", "classic", "coinche", "contree")


class Script(io.StringIO):
    """Standard input: a script, or, with `typed`, a person's keyboard."""

    typed = False

    def isatty(self):
        return self.typed


@pytest.fixture
def belote(monkeypatch, capsys, tmp_path):
    """Run a command with lines as its input; `(exit code, output, errors)`."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments, lines=(), typed=False):
        script = Script("".join(f"{line}\n" for line in lines))
        script.typed = typed
        monkeypatch.setattr(sys, "stdin", script)
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def script_of(rules, seed, seat, players=("medium",) * 3, person="random", deals=None):
    """`(commands, game)`: what somebody who plays like `person` says at a table, and the match that comes of it."""
    game, commands = Game(rules, seed=seed), []
    seated = {(seat + k) % 4: make_player(name) for k, name in enumerate((person, *players))}
    for player in seated.values():
        player.start(game.rules)
    while not game.is_over:
        if game.deal_over:
            if deals is not None and len(game.match_text().splitlines()) >= deals:
                break
            game.next_deal()
            continue
        turn = game.turn
        action = int(seated[turn].act(game._states.copy(), np.array([turn]))[0])
        if turn == seat:
            commands.append(game.names([action])[0])
        game.play(action)
    return commands, game


def screens(out):
    """What is shown between one command and the next, without the lines that ask."""
    parts = re.split(r"^(?:card|call|accept or surcoinche|Enter deals again|replay)> ?.*$", out, flags=re.M)
    return [part.strip("\n").splitlines() for part in parts]


# --- a match ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seat", [0, 3])
def test_a_whole_match_from_a_script(preset, seat, belote, tmp_path):
    commands, game = script_of(preset, 5, seat)
    path = tmp_path / "match.txt"
    code, out, err = belote("play", "--rules", preset, "--seed", 5, "--seat", seat, "--save", path, lines=commands)
    assert (code, err) == (0, "")
    _, kept, seating = read_match(path)
    assert kept == game and kept.match_text() == game.match_text() and kept.is_over
    assert seating == Seating(seat)
    result = "drawn" if game.winner is None else "won" if game.winner == seat % 2 else "lost"
    assert f"The match is {result}." in out
    us, them = game.scores[seat % 2], game.scores[1 - seat % 2]
    assert f": us {us}, them {them}\n" in out[out.rindex("match score") :]
    again = belote("play", "--rules", preset, "--seed", 5, "--seat", seat, lines=commands)[1]
    assert again.splitlines()[:-1] == out.splitlines()[:-1]
    assert out.splitlines()[-1].split() == ["belote", "replay", str(path)]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_screen_fits_80_by_24_without_colour(preset, belote, tmp_path):
    rules = f"{preset}(no_trump=true,all_trump=true)" if preset == "coinche" else preset
    rules = parse_rules(rules)
    commands, game = script_of(rules, 11, 2, players=("easy", "random", "medium"))
    typed, deal_ends = [], len(game.match_text().splitlines()) - 1
    # a person presses Enter after every deal: the same script with blank lines where a deal ends
    again = Game(rules, seed=11)
    seated = {(2 + k) % 4: make_player(n) for k, n in enumerate(("random", "easy", "random", "medium"))}
    for player in seated.values():
        player.start(again.rules)
    said = iter(commands)
    while not again.is_over:
        if again.deal_over:
            typed.append("")
            again.next_deal()
        elif again.turn == 2:
            typed.append(next(said))
            again.play(typed[-1])
        else:
            again.play(int(seated[again.turn].act(again._states.copy(), np.array([again.turn]))[0]))
    assert typed.count("") == deal_ends
    arguments = ("play", "--rules", rules_text(rules), "--seed", 11, "--seat", 2, "--players", "easy,random,medium")
    code, out, _ = belote(*arguments, lines=typed, typed=True)
    assert code == 0 and "The match is" in out
    assert "\x1b" not in out
    for screen in screens(out):
        assert len(screen) <= 22, screen  # and the line that asks, and the one that was typed
        assert all(len(line) <= 79 for line in screen if not line.startswith("  belote ")), screen


def test_a_single_deal(belote, tmp_path):
    commands, game = script_of("classic", 3, 1, deals=1)
    path = tmp_path / "deal.txt"
    code, out, _ = belote(
        "play", "--seed", 3, "--seat", 1, "--episode", "deal", "--save", path, lines=[*commands, "pass"]
    )
    assert code == 0 and "score of the deal" in out and "The match is" not in out
    _, kept, seating = read_match(path)
    assert kept == game and kept.deal_over and not kept.is_over and seating.episode == "deal"


# --- keeping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["quit", "end of input"])
def test_a_match_in_pieces_is_the_match_in_one(ending, belote, tmp_path):
    players = ("hard", "medium", "easy")
    commands, game = script_of("belote_501", 8, 1, players)
    path, rng = tmp_path / "match.txt", random.Random(3)
    start = ("play", "--rules", "belote_501", "--seed", 8, "--seat", 1, "--players", ",".join(players), "--save", path)
    at = 0
    while at < len(commands):
        some = commands[at : at + rng.randint(1, 40)]
        at += len(some)
        code, out, _ = belote(*start, lines=[*some, "quit"] if ending == "quit" else some)
        assert code == 0
        assert at == len(commands) or out.endswith(f"The match is kept. To go on:\n  belote play --resume {path}\n")
        start = ("play", "--resume", path)
    assert read_match(path)[1].match_text() == game.match_text()
    assert "The match is" in belote("play", "--resume", path)[1]


def test_ctrl_c_keeps_the_match(belote, tmp_path, monkeypatch):
    commands, _ = script_of("classic", 8, 0)
    said = iter(commands[:9])

    def interrupted(prompt):
        try:
            return next(said)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("builtins.input", interrupted)
    path = tmp_path / "match.txt"
    code, out, err = belote("play", "--seed", 8, "--save", path)
    assert code == cli.INTERRUPTED and err == "stopped\n" and f"belote play --resume {path}" in out
    _, kept, _ = read_match(path)
    mine = [e for line in kept.match_text().splitlines() for e in Game.parse(line).events() if e.seat == 0]
    assert [event.name for event in mine] == commands[:9]


def test_a_killed_process_loses_nothing_that_was_said(tmp_path):
    commands, _ = script_of("classic", 8, 0)
    path = tmp_path / "match.txt"
    arguments = [sys.executable, "-m", "belote_env", "play", "--seed", "8", "--save", str(path)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT)
    process.stdin.write("".join(f"{command}\n" for command in commands[:7]).encode())
    process.stdin.flush()
    for _ in range(1200):
        mine = []
        if path.exists():
            text = read_match(path)[0]
            mine = [e for line in text.splitlines() if line[0] != "#" for e in Game.parse(line).events() if e.seat == 0]
        if len(mine) == 7:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [event.name for event in mine] == commands[:7]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_match_is_written_whole_or_not_at_all(failing, monkeypatch, tmp_path):
    path = tmp_path / "match.txt"
    write_match(path, Game("classic", seed=1), Seating())
    before = path.read_text()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space"):
        write_match(path, Game("classic", seed=2), Seating())
    assert path.read_text() == before and [p.name for p in tmp_path.iterdir()] == ["match.txt"]


def test_the_last_match_is_kept_without_being_asked(belote, tmp_path):
    _, out, _ = belote("play", "--seed", 4, "--seat", 2)
    path = tmp_path / "data" / "belote_env" / "match.txt"
    assert out.endswith(f"  belote play --resume {path}\n")
    assert read_match(path)[1].match_text().split("seed ")[1].startswith("4 ")
    assert read_match(path)[2] == Seating(2)


def test_a_kept_match_is_a_match_for_every_door(tmp_path):
    path = tmp_path / "match.txt"
    game = Game("coinche", seed=1)
    write_match(path, game, Seating(3, ("easy", "hard", "random"), "deal"))
    assert Game.parse(path.read_text()) == game
    assert json.loads(path.read_text().splitlines()[-1].removeprefix("# belote play "))["players"] == [
        "easy",
        "hard",
        "random",
    ]


def test_comments_are_no_positions():
    lines = [Game("classic", seed=seed).to_text() for seed in (1, 2)]
    plain, _ = parse_positions("\n".join(lines))
    commented, _ = parse_positions(f"# two\n{lines[0]}\n  # the second\n{lines[1]}\n#")
    assert commented.tobytes() == plain.tobytes()
    with pytest.raises(ValueError, match="line 2: a position reads RULES"):
        parse_positions("# one\nnonsense # two")


# --- refusals -----------------------------------------------------------------------------------------------------


def random_deals(count):
    for k in range(count):
        rng = random.Random(f"table {k}")
        rules, _ = random_rules(rng)
        yield Game(rules, seed=k), rng


def beats(card, other, trump, led):
    """Whether a card beats another, by their ranks: rules 1.2, 1.3, 4."""

    def strength(name):
        rank, suit = name[:-1], name[-1]
        if trump in (suit, "AT") and (trump == suit or suit == led):
            return 10 + ["7", "8", "Q", "K", "10", "A", "9", "J"].index(rank)
        return ["7", "8", "9", "J", "Q", "K", "10", "A"].index(rank) if suit == led else -1

    return strength(card) > strength(other)


def expected_duty(game, card):
    """The duty that forbids a card, told from the cards on the table by the words of rules 4 alone."""
    rules, trump, trick = game.rules, game.contract.trump, game.trick
    hand, led = game.hand(game.turn), trick[0][1][-1]
    best_seat, best = trick[0]
    for seat, played in trick[1:]:
        if beats(played, best, trump, led):
            best_seat, best = seat, played
    if any(held[-1] == led for held in hand):
        if card[-1] != led:
            return "follow suit"
        return "go higher" if trump == "AT" else "overtrump"
    partner = (best_seat - game.turn) % 4 == 2
    if partner and card[-1] == trump:
        if all(held[-1] == trump for held in hand):
            return "overtrump"
        return {"no_trump": "no trump", "overtrump": "overtrump or discard"}[rules.partner_winning]
    if best[-1] != trump:
        return "trump"
    if any(held[-1] == trump and beats(held, best, trump, led) for held in hand):
        return "overtrump" if rules.overtrump else "trump"
    return "undertrump"


def test_a_refused_card_names_its_duty():
    seen = {}
    for game, rng in random_deals(400):
        while not game.deal_over:
            legal = game.names(game.legal_actions())
            if game.phase == "play":
                for card in game.hand(game.turn):
                    why = refusal(game, card)
                    assert bool(why) == (card not in legal)
                    if why:
                        name = expected_duty(game, card)
                        duty = card_duty(game, parse_card(card))
                        assert duty.name == name, (card, game)
                        assert why.startswith(f"{card} is refused: {name}. ")
                        assert f"you may play {' '.join(legal)}. Rules {duty.clause}: " in why
                        seen[duty] = seen.get(duty, 0) + 1
            game.play(rng.choice(legal))
    assert len(seen) >= 9, seen


def test_a_refused_call_says_why():
    texts = [*("take S H D C pass accept coinche surcoinche 7S nonsense".split())]
    texts += [f"{value}{strain}" for value in (70, 80, 120, 160, 180, 250, 500) for strain in ("S", "NT", "AT")]
    reasons = set()
    for game, rng in random_deals(200):
        while not game.deal_over and game.phase != "play":
            legal = game.names(game.legal_actions())
            for text in texts:
                why = refusal(game, text)
                before = game.to_text()
                try:
                    game.copy().play(text)
                    assert why == ""
                except ValueError:
                    assert why and "\n" not in why
                    reasons |= set(re.findall(r"\(rules ([\d., ]+)\)", why))
                assert game.to_text() == before
            game.play(rng.choice(legal))
    assert {"3.1", "3.3", "3.4", "3.3, 9"} <= reasons


def test_the_words_of_a_duty_are_those_of_the_rules():
    page = " ".join((ROOT / "docs" / "rules.md").read_text().split())
    sections = {part.split(".")[0]: part for part in re.split(r" ## (?=\d\.)", page)[1:]}
    duties = [duty for duty in vars(duty_room).values() if isinstance(duty, Duty)]
    assert len(duties) == 10
    for duty in duties:
        for words in duty.words.split(": "):
            assert words in sections[duty.clause], (duty, words)


def test_a_refused_card_changes_nothing(belote, tmp_path):
    commands, game = script_of("classic", 21, 0, deals=1)
    bad = ["XX", "7S 8S", "170H", "surcoinche", "\x00", "é", "play JS", "1" * 5000]
    noisy = [line for command in commands for line in (*bad, command)]
    path = tmp_path / "deal.txt"
    code, _, err = belote("play", "--seed", 21, "--episode", "deal", "--save", path, lines=noisy)
    assert (code, err) == (0, "") and read_match(path)[1] == game


# --- counting -----------------------------------------------------------------------------------------------------


def test_the_sheet_adds_up():
    results = {}
    for game, rng in random_deals(800):
        if game.rules.bidding == "auction" and rng.random() < 0.5:  # doubled contracts that can be made
            pack = rng.sample(CARD_NAMES, 32)
            hands = [pack[k : k + 8] for k in range(0, 32, 8)]
            taker, strain, double = rng.randrange(4), rng.choice("SHDC"), rng.choice([2, 4])
            game = Game.from_play(game.rules, hands, taker=taker, trump=strain, value=80, multiplier=double)
        while not game.deal_over:
            game.play(rng.choice(game.legal_actions()))
        count = counted(game)
        if game.contract is None:
            assert count is None and game.deal_scores == (0, 0)
            continue
        mine = game.contract.taker % 2
        score = sum(row.takers for row in count.score), sum(row.defenders for row in count.score)
        assert score == (game.deal_scores[mine], game.deal_scores[1 - mine]), game
        *parts, total = count.points
        assert (total.takers, total.defenders) == (sum(r.takers for r in parts), sum(r.defenders for r in parts))
        trick_points = [row for row in parts if row.text != "belote"]
        assert sum(row.takers for row in trick_points) == game.points[mine]
        assert sum(row.takers + row.defenders for row in trick_points[:1]) == 152
        assert {True: "made", False: "failed", None: "litige"}[game.made] == count.result
        assert count.reason.startswith(f"{count.result}: ")
        assert game.is_over or count.held_back == game.pot
        results[count.result, game.contract.multiplier] = results.get((count.result, game.contract.multiplier), 0) + 1
    assert {("made", 1), ("failed", 1), ("litige", 1), ("failed", 2), ("failed", 4)} <= set(results)
    assert {("made", 2), ("made", 4)} <= set(results)


def test_a_deal_must_be_over_to_be_counted():
    with pytest.raises(ValueError, match="the deal is not over"):
        counted(Game("classic", seed=1))


# --- what is shown ------------------------------------------------------------------------------------------------

BELOTE = [
    "KH QH AS 10S 7S AD 10D 7D",
    "JH 9H KS QS 8S KD QD 8D",
    "AH 10H 9S JS AC KC 9D JD",
    "7H 8H 10C QC JC 9C 8C 7C",
]


def test_belote_is_said_with_the_cards_that_show_it(belote, tmp_path):
    path = tmp_path / "position.txt"
    path.write_text(Game.from_play("contree", BELOTE, dealer=3, taker=0, trump="H", value=80).to_text())
    code, out, _ = belote("play", "--resume", path, "--players", "random", lines=["QH", "last", "quit"])
    assert code == 0 and ">QH belote" in out and "rebelote" not in out
    game = read_match(path)[1]
    while game.turn != 0 or "KH" not in game.names(game.legal_actions()):
        game.play(game.legal_actions()[0])
    path.write_text(game.to_text())
    assert "KH" in game.hand(0)
    out = belote("play", "--resume", path, "--players", "random", lines=["KH", "last", "quit"])[1]
    assert re.search(r"KH\*? rebelote", out)


def test_hands_are_sorted_and_legal_cards_marked(belote, tmp_path):
    path = tmp_path / "position.txt"
    game = Game.from_play("contree", BELOTE, dealer=3, taker=0, trump="H", value=80)
    game.play("AS")
    path.write_text(game.to_text())
    assert [CARD_NAMES[c] for c in hand_in_order(game, 1)] == "JH 9H KS QS 8S KD QD 8D".split()
    assert [CARD_NAMES[c] for c in hand_in_order(game, 0)] == "KH QH 10S 7S AD 10D 7D".split()
    out = belote("play", "--resume", path, "--seat", 1, lines=["quit"])[1]
    line = next(line for line in out.splitlines() if line.startswith("your hand"))
    assert re.findall(r"\[(\w+)\]", line) == ["KS", "QS", "8S"]
    assert re.findall(r"\w+", line)[2:] == "JH 9H KS QS 8S KD QD 8D".split()


def test_winners_of_tricks():
    for game, rng in random_deals(150):
        while not game.deal_over:
            game.play(rng.choice(game.legal_actions()))
        cards = [event for event in game.events() if event.action < 32]
        if cards:
            leaders = [cards[k].seat for k in range(4, 32, 4)]
            assert trick_winners(game, cards)[:7] == leaders


@pytest.mark.parametrize("name", ["hard", "medium", "random"])
def test_a_hint_is_what_the_player_would_do(name, belote):
    commands, _ = script_of("coinche", 12, 0, deals=1)
    lines = [line for command in commands for line in (f"hint {name}", command)]
    out = belote("play", "--rules", "coinche", "--seed", 12, "--episode", "deal", lines=lines)[1]
    hints = re.findall(rf"^{name} would say (\w+)\.$", out, re.M)
    game, player = Game("coinche", seed=12), make_player(name)
    player.start(game.rules)
    medium = make_player("medium")
    medium.start(game.rules)
    said, expected = iter(commands), []
    while not game.deal_over:
        if game.turn == 0:
            expected += game.names(player.act(game._states.copy(), np.array([0])))
            game.play(next(said))
        else:
            game.play(int(medium.act(game._states.copy(), np.array([game.turn]))[0]))
    assert hints == expected and len(hints) == len(commands)


def test_commands_answer(belote, tmp_path):
    lines = [
        "help",
        "?",
        "table",
        "last",
        "calls",
        "score",
        "rules",
        "rules all",
        "hint nobody",
        f"save {tmp_path}/copy",
        "quit",
    ]
    code, out, _ = belote("play", "--seed", 1, "--save", tmp_path / "match.txt", lines=lines)
    assert code == 0
    for words in (
        "a card, rank then suit",
        "No trick is over yet.",
        "in progress",
        "## Counting",
        "'nobody' is not a player",
    ):
        assert words in out
    assert read_match(tmp_path / "copy")[1] == read_match(tmp_path / "match.txt")[1]
    out = belote("play", "--resume", tmp_path / "match.txt", lines=[f"save {tmp_path}/copy", "save /nowhere/x"])[1]
    assert "exists already" in " ".join(out.split()) and "cannot be written" in " ".join(out.split())


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rules", "poker"], "'poker' is not a preset"),
        (["--rules", "classic(target=x)"], "target='x': int is needed"),
        (["--seat", "4"], "4 is not a seat 0..3"),
        (["--players", "medium,hard"], "three players are needed"),
        (["--players", "chess"], "'chess' is not a player"),
        (["--hints", "chess"], "'chess' is not a player"),
        (["--seed", "-1"], "seed=-1"),
        (["--episode", ""], "episode='' is not one of 'match', 'deal'"),
        (["--rules", ""], "'' is not the text of rules"),
        (["--episode", "trick"], "episode='trick' is not one of 'match', 'deal'"),
        (["--resume", "/nowhere"], "No such file"),
        (["--save", "/nowhere/at/all"], "a file in a folder that exists is needed"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, belote, tmp_path):
    code, out, err = belote("play", *arguments)
    assert code == cli.BAD_INPUT and out == ""
    assert err.startswith("belote: ") and sentence in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_is_not_overwritten_by_a_new_match(belote, tmp_path):
    path = tmp_path / "match.txt"
    path.write_text("mine")
    code, _, err = belote("play", "--save", path)
    assert code == cli.BAD_INPUT and "there is a file already" in err and path.read_text() == "mine"
    other = tmp_path / "other.txt"
    write_match(other, Game("classic", seed=1), Seating())
    code, _, err = belote("play", "--resume", other, "--save", path)
    assert code == cli.BAD_INPUT and "there is a file already" in err and path.read_text() == "mine"
    assert belote("play", "--resume", other, "--save", other, lines=["quit"])[0] == 0


@pytest.mark.parametrize("command", [["play", "--resume"], ["replay"]])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the text of a match has at least one line"),
        ("# a comment\n", "the text of a match has at least one line"),
        (b"\xff\xfe", "can't decode"),
        ("nonsense", "a position reads RULES"),
        (Game("classic", seed=1).to_text() + "\n# belote play {}", "does not say who sits where"),
        (Game("classic", seed=1).to_text() + "\n# belote play 7", "does not say who sits where"),
        (Game("classic", seed=1).to_text() + "\n# belote play " + "[" * 100_000, "does not say who sits where"),
        (
            Game("classic", seed=1).to_text()
            + '\n# belote play {"seat": 9, "players": ["a", "b", "c"], "episode": "deal"}',
            "9 is not a seat",
        ),
    ],
)
def test_a_damaged_file_is_one_sentence(command, text, sentence, belote, tmp_path):
    path = tmp_path / "match.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = belote(*command, path)
    assert code == cli.BAD_INPUT and out == ""
    assert err.startswith(f"belote: {path}: ") and sentence in err and err.count("\n") == 1


def test_rules_and_seed_have_no_use_beside_resume(belote, tmp_path):
    path = tmp_path / "match.txt"
    write_match(path, Game("classic", seed=1), Seating())
    for option, value in (("--rules", "coinche"), ("--seed", "3")):
        code, _, err = belote("play", "--resume", path, option, value)
        assert code == cli.BAD_INPUT and f"{option} has no use beside --resume" in err


# --- replay -------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path):
    _, game = script_of("belote_501", 6, 0)
    path = tmp_path / "match.txt"
    write_match(path, game, Seating())
    return path, game


def test_replay_prints_everything(kept, belote):
    path, game = kept
    code, out, _ = belote("replay", path, "--all")
    assert code == 0 and all(len(line) <= 79 for line in out.splitlines())
    deals = [Game.parse(line) for line in game.match_text().splitlines()]
    for deal in deals:
        assert f"us {deal.scores[0]}, them {deal.scores[1]}\n" in out
    assert out.count("score of the deal") == sum(deal.contract is not None for deal in deals)
    assert out.count("trick 8 ") == sum(deal.contract is not None for deal in deals)


def test_replay_steps(kept, belote):
    path, game = kept
    deals = [Game.parse(line) for line in game.match_text().splitlines()]
    steps = sum(len(deal.events()) for deal in deals) + len(deals) - 1
    code, out, _ = belote("replay", path, lines=["next"] * steps + ["next"])
    shown = re.findall(r"^-- deal (\d+) of \d+, step (\d+) of \d+$", out, re.M)
    expected = [(str(k + 1), str(n)) for k, deal in enumerate(deals) for n in range(len(deal.events()) + 1)]
    assert code == 0 and shown == expected and "This is the end." in out
    back = belote("replay", path, lines=["end", *["back"] * steps, "back"])[1]
    shown = re.findall(r"^-- deal (\d+) of \d+, step (\d+) of \d+$", back, re.M)
    assert shown == [expected[0], *expected[::-1]] and "This is the beginning." in back
    assert screens(out)[5] == screens(back)[-8] and len(screens(out)[5]) > 5
    for screen in screens(out) + screens(back):
        assert len(screen) <= 22 and all(len(line) <= 79 for line in screen)


def test_replay_goes_to_tricks_and_deals(kept, belote):
    path, _ = kept
    lines = ["trick 3", "trick 8", "trick 9", "deal 2", "trick 0", "deal 99", "start", "end", "jump", "help", ""]
    code, out, _ = belote("replay", path, lines=lines)
    assert code == 0
    shown = screens(out)
    assert sum(line.startswith("trick 2") for line in shown[1]) == 1
    assert sum(line.startswith("trick 7") for line in shown[2]) == 1
    assert shown[3] == ["There is no trick 9 here."] and shown[6] == ["There is no deal 99 here."]
    assert shown[4][0].startswith("-- deal 2 of") and shown[4] == shown[5]
    assert shown[7] == shown[0] and any("match score" in line for line in shown[8])
    assert "'jump' is not one of" in shown[9][0] and shown[11] == ["This is the end."]


@pytest.mark.parametrize("word", ["trick", "deal"])
def test_replay_knows_no_huge_number(word, kept, belote):
    code, out, _ = belote("replay", kept[0], lines=[f"{word} {'9' * 5000}", f"{word} 99", "quit"])
    assert code == 0 and out.count(f"There is no {word} 9") == 2


def test_a_terminal_gets_colour_and_no_color_is_heeded(kept):
    path, _ = kept
    command = [sys.executable, "-m", "belote_env", "replay", str(path), "--all"]
    plain = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORTERM")}
    coloured = environment | {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    bright = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, env=coloured).stdout
    dull = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=True, env=coloured | {"NO_COLOR": "1"}
    ).stdout
    assert "\x1b[" not in plain and re.search(r"\x1b\[[\d;]*31m", bright)
    assert not re.search(r"\x1b\[[\d;]*3[0-7]m", dull)
    assert re.sub(r"\x1b\[[\d;]*m", "", bright) == re.sub(r"\x1b\[[\d;]*m", "", dull) == plain


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_with_few_letters(encoding, kept):
    path, _ = kept
    command = [sys.executable, "-m", "belote_env", "play", "--resume", str(path)]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, input=b"\xff\xfe\nrules all\n", cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x", "x" * 300, "a\0b", "loop/x", "loop", "match.txt/x", "."])
def test_a_name_that_no_file_can_have_ends_nothing(name, belote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "match.txt"
    write_match(path, Game("classic", seed=1), Seating())
    (tmp_path / "loop").symlink_to("loop")
    code, out, err = belote("play", "--resume", path, "--players", "random", lines=[f"save {name}", "score", "quit"])
    assert code == 0 and err == "" and "in progress" in out
    said = " ".join(out.split())  # in as many lines as it needs
    assert "cannot be written: " in said or "exists already" in said
    assert sorted(file.name for file in tmp_path.iterdir()) == ["loop", "match.txt"]


def test_a_hint_of_a_player_that_cannot_be_loaded_ends_nothing(belote, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    policy = tmp_path / "policy.onnx"
    policy.write_bytes(b"")
    path = tmp_path / "match.txt"
    code, out, err = belote("play", "--seed", 1, "--save", path, lines=[f"hint {policy}", "score", "quit"])
    assert code == 0 and err == "" and "needs ONNX Runtime" in out and "in progress" in out


@pytest.mark.parametrize("closed", ["stdin", "stdout"])
@pytest.mark.parametrize("command", [["play", "--resume"], ["replay"]])
def test_where_nobody_can_be_asked_it_ends(command, closed, kept, tmp_path):
    path = tmp_path / "match.txt"
    write_match(path, Game("classic", seed=1), Seating())
    program = (
        f"import sys; sys.{closed} = None; from belote_env.cli import main; sys.exit(main({[*command, str(path)]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_saved_match_may_begin_with_a_mark_of_its_encoding(belote, tmp_path):
    path = tmp_path / "match.txt"
    path.write_bytes(b"\xef\xbb\xbf" + Game("classic", seed=1).to_text().encode())
    assert belote("replay", path, "--all")[0] == 0
