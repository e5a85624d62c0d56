"""`belote record`: what the files hold, and that a run stopped at any moment goes on to the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from belote_env import Game, Rules, belote_v0, cli
from belote_env.notation import parse_rules
from belote_env.players import Random, make_player
from belote_env.players import expert as expert_room
from belote_env.players.player import CallablePlayer
from belote_env.record import MANIFEST, position_at, record, shard_name, unpack
from belote_env.record import shards as shards_room

ROOT = Path(__file__).parent.parent
RULES = ("classic", "coinche", "contree", "coinche(bid_maximum=180,no_trump=true,all_trump=true)")


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("name", ["medium", "random"])
def test_every_row_is_the_decision_that_its_text_tells(text, name, tmp_path):
    rules = parse_rules(text)
    paths = record(name, tmp_path, rules, deals=30, seed=5, deals_per_shard=16)
    assert [path.name for path in paths] == [shard_name(0), shard_name(1)]
    player = make_player(name)
    player.start(rules)
    deals = []
    for path in paths:
        table = pq.read_table(path)
        rows = table.to_pylist()
        observations = unpack(table["observation"])
        masks = unpack(table["mask"], rules.n_actions)
        for row, observation, mask in zip(rows, observations, masks, strict=True):
            game = position_at(row["text"], row["step"])
            assert game.turn == row["seat"] and game.rules == rules
            assert observation.tolist() == game.observe(row["seat"]).tolist()
            assert mask.tolist() == game.mask().tolist() and mask[row["action"]]
            assert row["hands"] == [int(hand) for hand in game._states[0]["hands"]]
            assert row["action"] == int(player.act(game._states.copy(), np.array([row["seat"]]))[0])
            assert f" deal {row['deal']} " in row["text"]
        for deal in sorted({row["deal"] for row in rows}):
            mine = [row for row in rows if row["deal"] == deal]
            deals.append(deal)
            over = Game.parse(mine[0]["text"])
            assert {row["text"] for row in mine} == {over.to_text()} and over.deal_over
            assert [row["step"] for row in mine] == list(range(len(over.events())))
            for row in mine:
                own, other = over.deal_scores[row["seat"] % 2], over.deal_scores[1 - row["seat"] % 2]
                assert row["difference"] == own - other
            for seat in range(4):
                paid = [row for row in mine if row["seat"] == seat]
                assert sum(row["reward"] for row in paid) * 256 == paid[0]["difference"]
    assert deals == list(range(30))


def test_a_folder_is_read_whole(tmp_path):
    """As docs/record.md reads it: every file in order, and not the description beside them."""
    paths = record("medium", tmp_path, "classic", deals=11, seed=1, deals_per_shard=2)
    table = pq.read_table(tmp_path, ignore_prefixes=["record.json"])
    assert table.to_pylist() == [row for path in paths for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize(("deals", "told"), [(1, "1 deal in 1 file"), (1001, "1,001 deals in 2 files")])
def test_what_was_recorded_is_told(deals, told, tmp_path, capsys):
    assert cli.main(["record", "--deals", str(deals), "--out", str(tmp_path / "data")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'data'}: {told}\n"


def test_rewards_are_those_of_the_environment(tmp_path):
    """What `reward="tricks"` pays an agent between its decisions, deal by deal."""
    rows = pq.read_table(record("medium", tmp_path, "classic", deals=20, seed=3)[0]).to_pylist()
    env = belote_v0.env(rules="classic", reward="tricks")
    for deal in range(20):
        mine = [row for row in rows if row["deal"] == deal]
        env.reset(options={"position": position_at(mine[0]["text"], 0).to_text()})
        owed, got, actions = {}, {}, iter(mine)
        for agent in env.agent_iter():
            _, reward, over, *_ = env.last()
            if agent in owed:
                got[owed[agent]] = reward
            row = None if over else next(actions)
            owed[agent] = row["step"] if row else owed[agent]
            env.step(row["action"] if row else None)
        assert got == {row["step"]: row["reward"] for row in mine}


def test_deals_depend_on_seed_and_number_alone(tmp_path):
    one = pq.ParquetDataset(record("medium", tmp_path / "a", deals=25, seed=1, deals_per_shard=25)).read()
    many = pq.ParquetDataset(record("medium", tmp_path / "b", deals=25, seed=1, deals_per_shard=4)).read()
    assert one.to_pylist() == many.to_pylist()
    other = pq.ParquetDataset(record("medium", tmp_path / "c", deals=25, seed=2)).read()
    assert one["text"].to_pylist() != other["text"].to_pylist()


def test_a_file_tells_what_it_is(tmp_path):
    path = record("easy", tmp_path, "belote_501", deals=3, seed=2)[0]
    told = {key.decode(): value.decode() for key, value in pq.read_schema(path).metadata.items() if b"ARROW" not in key}
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert told == {key: str(value) for key, value in manifest.items() if key != "deals"}
    assert manifest["rules"] == "belote_501" and manifest["player"] == "easy" and manifest["deals"] == 3


def test_the_documented_schema_is_the_one_written(tmp_path):
    schema = pq.read_schema(record("random", tmp_path, deals=1)[0])
    page = (ROOT / "docs" / "record.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    documented = {row[1].strip().strip("`"): row[2].strip().strip("`") for row in rows}
    written = {field.name: str(field.type) for field in schema}
    assert list(documented) == list(written)
    written["mask"] = "fixed_size_binary"  # its size depends on the rules
    written["hands"] = "fixed_size_list<uint32>[4]"
    assert documented == written


# --- stopping and going on ----------------------------------------------------------------------------------------


def test_killed_at_random_moments_and_resumed_it_is_the_same_bytes(tmp_path):
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    arguments = ["record", "--player", "medium", "--rules", "coinche", "--deals", "14000", "--seed", "9", "--out"]
    assert cli.main([*arguments, str(whole)]) == 0
    rng, kills, starts = random.Random(4), 0, set()
    command = [sys.executable, "-m", "belote_env", *arguments, str(pieces)]
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
        while process.poll() is None and not (pieces / MANIFEST).exists():
            time.sleep(0.02)
        before = len(list(pieces.glob("deals-*")))
        starts.add(before)
        while process.poll() is None and len(list(pieces.glob("deals-*"))) == before < 12:
            time.sleep(0.005)  # it has begun to write: kill it somewhere in what follows
        if before >= 12:
            assert process.wait() == 0
            break
        time.sleep(rng.random() * 0.6)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills >= 2 and len(starts) >= 2
    assert contents(pieces) == contents(whole) and len(contents(whole)) == 15


@pytest.mark.parametrize("moment", ["while it is written", "before it has its name"])
def test_a_torn_file_is_never_taken_for_a_shard(moment, tmp_path):
    record("medium", tmp_path / "whole", deals=12, deals_per_shard=4)
    record("medium", tmp_path / "torn", deals=12, deals_per_shard=4)
    last = tmp_path / "torn" / shard_name(2)
    data = last.read_bytes()
    last.unlink()
    torn = last.with_name(f".{last.name}.tmp")
    torn.write_bytes(data[: len(data) // 2] if moment == "while it is written" else data)
    record("medium", tmp_path / "torn", deals=12, deals_per_shard=4)
    assert contents(tmp_path / "torn") == contents(tmp_path / "whole")


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_no_shard(failing, tmp_path, monkeypatch):
    record("medium", tmp_path / "whole", deals=8, deals_per_shard=4)
    calls = []

    def full(*arguments):
        calls.append(arguments)
        # the description, the first shard, the second; fsync twice for each, the file and its folder
        if len(calls) == {"replace": 3, "fsync": 5}[failing]:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    real = getattr(os, failing)
    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space"):
        record("medium", tmp_path / "full", deals=8, deals_per_shard=4)
    assert sorted(contents(tmp_path / "full")) == [shard_name(0), MANIFEST]
    record("medium", tmp_path / "full", deals=8, deals_per_shard=4)
    assert contents(tmp_path / "full") == contents(tmp_path / "whole")


def test_ctrl_c_keeps_the_shards_that_are_done(tmp_path):
    decisions = []

    def answer(observation, mask):
        decisions.append(1)
        if len(decisions) == 400:
            raise KeyboardInterrupt
        return int(np.flatnonzero(mask)[-1])

    with pytest.raises(KeyboardInterrupt):
        record(CallablePlayer(answer, "first"), tmp_path / "cut", deals=20, deals_per_shard=5)
    done = [name for name in contents(tmp_path / "cut") if name != MANIFEST]
    assert done and len(done) < 4 and all(name.startswith("deals-") for name in done)
    record(CallablePlayer(answer, "first"), tmp_path / "cut", deals=20, deals_per_shard=5)
    record(CallablePlayer(answer, "first"), tmp_path / "whole", deals=20, deals_per_shard=5)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Missing option '--out'"),
        (["--player", "chess"], "'chess' is not a player"),
        (["--rules", "poker"], "'poker' is not a preset"),
        (["--deals", "0"], "deals=0: a whole number from 1"),
        (["--deals", "3000000000"], "deals=3000000000"),
        (["--seed", "-1"], "seed=-1"),
    ],
)
def test_bad_input_is_one_sentence_and_makes_nothing(arguments, sentence, tmp_path, capsys):
    out = ["--out", str(tmp_path / "data")] if arguments else []
    assert cli.main(["record", *arguments, *out]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("belote: ") and captured.err.count("\n") == 1
    assert sentence in captured.err and not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"player": "random"}, "player 'medium' there and 'random' here"),
        ({"rules": Rules.preset("classic", target=500)}, "rules 'classic' there and 'classic(target=500)' here"),
        ({"seed": 8}, "seed 7 there and 8 here"),
        ({"deals": 9}, "deals 4 there and 9 here"),
        ({"deals_per_shard": 2}, "deals_per_shard 1000 there and 2 here"),
    ],
)
def test_another_record_is_refused(other, sentence, tmp_path):
    record("medium", tmp_path, deals=4, seed=7)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="holds another record") as refused:
        record(**({"player": "medium", "out": tmp_path, "deals": 4, "seed": 7} | other))
    assert sentence in str(refused.value) and contents(tmp_path) == before


@pytest.mark.parametrize("text", ["", "[]", "{", "7", "[" * 100_000])
def test_a_damaged_description_is_refused(text, tmp_path):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(ValueError, match="is not the description of a record"):
        record("medium", tmp_path, deals=4)


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and holds no record"):
        record("medium", tmp_path, deals=4)
    with pytest.raises(ValueError, match="is not a folder"):
        record("medium", tmp_path / "letter.txt", deals=4)
    assert contents(tmp_path) == {"letter.txt": b"mine"}


def test_without_pyarrow_there_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shards_room.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["record", "--out", str(tmp_path / "data")]) == cli.BAD_INPUT
    assert capsys.readouterr().err == "belote: a record needs pyarrow: pip install 'belote-env[record]'\n"
    assert not (tmp_path / "data").exists()


def test_a_step_that_is_none_is_refused():
    text = Game("classic", seed=1).to_text()
    with pytest.raises(ValueError, match="step 1 is not 0 to 0"):
        position_at(text, 1)


def test_importing_does_without_pyarrow():
    code = "import sys, belote_env.cli, belote_env.record; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("damage", ["empty", "cut", "other", "folder"])
def test_a_damaged_file_is_refused(damage, tmp_path):
    arguments = {"deals": 4, "deals_per_shard": 2}
    whole = record("medium", tmp_path / "whole", **arguments)
    record("medium", tmp_path / "other", **arguments, seed=1)
    before = contents(tmp_path / "whole")
    path = whole[1]
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        other = (tmp_path / "other" / path.name).read_bytes()
        path.write_bytes({"empty": b"", "cut": data[:-40], "other": other}[damage])
    with pytest.raises(ValueError, match="is damaged, or of another record"):
        record("medium", tmp_path / "whole", **arguments)
    path.rmdir() if damage == "folder" else path.unlink()
    record("medium", tmp_path / "whole", **arguments)
    assert contents(tmp_path / "whole") == before


def test_a_name_that_stands_for_another_player_is_another_record(tmp_path, monkeypatch):
    record("expert", tmp_path, "contree", deals=1)
    assert json.loads((tmp_path / MANIFEST).read_text())["plays"].startswith("search(")
    monkeypatch.setattr(expert_room, "_strongest", lambda rules: Random())
    with pytest.raises(ValueError, match="holds another record: plays 'search"):
        record("expert", tmp_path, "contree", deals=1)
