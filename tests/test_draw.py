"""Pictures of the table: what they show, what they hide, and that they are the same every time."""

import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from test_resample import another_world, random_games

from belote_env import Game, Rules, belote_v0, cli
from belote_env.cards import CARD_NAMES
from belote_env.draw import HEIGHT, WIDTH, check_raster, svg_to_png, svg_to_rgb, table_svg, table_text, view_of
from belote_env.envs import BeloteEnv, BeloteVectorEnv
from belote_env.notation import position_text
from belote_env.rules import PRESETS

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
PLAYED_PRESETS = [name for name in PRESETS if name != "declarations"]
TABLES = [
    *(Rules.preset(name) for name in PLAYED_PRESETS),
    Rules.preset("declarations", declarations=False),
    Rules.preset("coinche", no_trump=True, all_trump=True, surcoinche_by="side"),
    Rules.preset("contree", bid_maximum=180),
]


def card_ids(svg):
    """Names of the cards that lie face up, and how many lie face down, hands only."""
    root = ElementTree.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)), "an id twice is no valid document"
    hands = [group for group in root.iter(f"{SVG}g") if group.get("class") == "hand"]
    backs = {int(g.get("data-seat")): sum(u.get("href") == "#back" for u in g.iter(f"{SVG}use")) for g in hands}
    used = {use.get("href")[1:] for use in root.iter(f"{SVG}use")}
    assert used <= set(ids), "a reference to nothing"
    return [name for name in ids if name in CARD_NAMES], backs


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def public(game):
    """Cards that lie face up for everybody: the turned one, the trick, and the one before it while it is played."""
    played = [event.name for event in game.events() if event.action < 32]
    n = len(played)
    on_table = played[(n - 1) // 4 * 4 :] if n else []
    before = played[(n - 1) // 4 * 4 - 4 : (n - 1) // 4 * 4] if n > 4 and n % 4 else []
    turned = [game.turned] if game.turned and game.phase.startswith("round") else []
    if game.deal_over and game.contract is None:
        turned = [game.turned] if game.turned else []
    return on_table + before + turned


@pytest.mark.parametrize("rules", TABLES, ids=lambda rules: f"{rules.name}{len(rules.overrides())}")
def test_every_phase_of_every_table(rules):
    """The open picture and each seat's show the cards they must, each once; phases, calls and points are in words."""
    phases, rng = set(), random.Random(rules.name)
    for game, _ in random_games(rules, "draw", deals=20):
        if game.phase in phases and rng.random() < 0.85:
            continue
        phases.add(game.phase)
        shown, backs = card_ids(table_svg(game))
        hands = {seat: game.hand(seat) for seat in range(4)}
        assert sorted(shown) == sorted(public(game) + [card for hand in hands.values() for card in hand])
        assert not any(backs.values())
        viewer = rng.randrange(4)
        svg = table_svg(game, viewer)
        shown, backs = card_ids(svg)
        assert sorted(shown) == sorted(public(game) + hands[viewer])
        assert backs == {seat: 0 if seat == viewer else len(hand) for seat, hand in hands.items()}
        words = texts(svg)
        assert {f"seat {seat}" for seat in range(4)} <= set(words)
        assert {str(value) for value in (*game.points, *game.scores)} <= set(words)
        assert words.count("D") == 1 and words.count("T") == (game.contract is not None)
        if game.phase in ("play", "auction", "answer", "round one", "round two"):
            assert words[-1].startswith(f"seat {game.turn} ")
        calls = [event.name for event in game.events() if event.action >= 32]
        assert words.count("pass") == calls.count("pass") and words.count("accept") == calls.count("accept")
    expected = {"round one", "round two"} if rules.bidding == "turn_up" else {"auction", "answer"}
    end = "deal over" if rules.target else "match over"
    assert phases >= expected | {"play", end}


@pytest.mark.parametrize("rules", TABLES[1::2], ids=lambda rules: f"{rules.name}{len(rules.overrides())}")
def test_no_hidden_card_moves_a_byte(rules):
    """The law of `View`: another deal of what the seat cannot see gives the same picture and the same text."""
    moved = 0
    for game, rng in random_games(rules, "leak", deals=2):
        viewer = rng.randrange(4)
        other = another_world(game, viewer, rng)
        moved += any(other.hand(seat) != game.hand(seat) for seat in range(4))
        assert table_svg(other, viewer) == table_svg(game, viewer)
        hidden = table_text(game, viewer).split("legal: ")[0]
        assert hidden == table_text(other, viewer).split("legal: ")[0]
        names = set(re.findall(r"\b(?:10|[789JQKA])[SHDC]\b", hidden))
        played = {event.name for event in game.events()}
        assert names <= set(game.hand(viewer)) | played | {game.turned} | {f"{game.contract and game.contract.trump}"}
    assert moved > 20


def test_the_same_text_every_time_and_everywhere():
    position = Game("classic", seed=7).to_text()
    code = "from belote_env import Game; from belote_env.draw import table_svg"
    code += f"; print(table_svg(Game.parse({position!r})), end='')"
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=env, cwd=ROOT).stdout
        for env in ({**os.environ, "PYTHONHASHSEED": seed} for seed in "12")
    }
    assert runs == {table_svg(Game.parse(position)).encode()}


def match_at_its_end(preset="belote_501"):
    game, rng = Game(preset, seed=5), random.Random(5)
    while not game.is_over:
        if game.deal_over:
            game.next_deal()
        game.play(rng.choice(game.legal_actions()))
    return game


def test_the_end_shows_the_last_trick_and_the_score():
    game = match_at_its_end()
    svg = table_svg(game, 2)
    last = [event.name for event in game.events()][-4:]
    assert sorted(card_ids(svg)[0]) == sorted(last)
    words = texts(svg)
    side = game.winner
    assert f"seats {side} · {side + 2} win" in words
    assert "this deal" in words and {str(score) for score in game.scores + game.deal_scores} <= set(words)


def test_belote_is_shown_when_it_is_said_and_not_before():
    hands = ["KH QH JH 9H AS KS QS JS", "AH 10H 8H 7H 10S 9S 8S 7S"]
    hands += [" ".join(rank + suit for rank in "A K Q J 10 9 8 7".split()) for suit in "DC"]
    game = Game.from_play("contree", hands, dealer=3, taker=0, trump="H", value=80)
    assert "belote" not in texts(table_svg(game))
    game.play("KH")
    assert view_of(game, 3).places[1].belote == ("belote",) and view_of(game, 3).places[1].seat == 0
    assert "belote" in texts(table_svg(game, 3))
    for card in "AH 7D 7C 7S 8D 8C AS".split():
        game.play(card if card in game.names(game.legal_actions()) else game.legal_actions()[0])
    while "QH" in game.hand(0):
        game.play("QH" if game.turn == 0 and "QH" in game.names(game.legal_actions()) else game.legal_actions()[0])
    assert "rebelote" in texts(table_svg(game, 1))


@pytest.mark.parametrize(("direction", "order"), [("clockwise", (2, 3, 0, 1)), ("anticlockwise", (2, 1, 0, 3))])
def test_seats_lie_in_the_direction_of_play(direction, order):
    game = Game(Rules.preset("classic", direction=direction), seed=1)
    assert tuple(place.seat for place in view_of(game, 2).places) == order
    assert tuple(place.seat for place in view_of(game, below=2).places) == order


def test_hands_are_held_in_order():
    game = Game.from_hands(
        "contree",
        [
            "7S 9H JH AD 10C KS 8D 7C",
            "AS QS JS 10S 9S 8S 7H 8H",
            "AH 10H KH QH KD QD JD 7D",
            "10D 9D AC KC QC JC 9C 8C",
        ],
    )
    assert [card for card in view_of(game, 0).places[0].cards] == "KS 7S JH 9H 10C 7C AD 8D".split()
    game.play("pass")
    for call in ("80H", "pass", "pass"):
        game.play(call)
    assert [card for card in view_of(game, 0).places[0].cards] == "JH 9H KS 7S AD 8D 10C 7C".split()


@pytest.mark.parametrize("seat", [4, -1, True, "0", 1.5])
def test_no_seat(seat):
    with pytest.raises(ValueError, match="is not a seat 0..3"):
        table_svg(Game(seed=1), seat)


def test_a_note_is_text_and_no_markup():
    assert "a < b & c" in texts(table_svg(Game(seed=1), note="a < b & c"))


# --- pixels ---------------------------------------------------------------------------------------------------


def test_pixels_need_no_font_of_the_machine():
    pixels = svg_to_rgb(table_svg(Game("classic", seed=7), 0))
    assert pixels.shape == (HEIGHT, WIDTH, 3) and pixels.dtype == np.uint8
    title = pixels[16:40, 574:640]  # the name of the rules, dark on paper
    assert (title.max(axis=2) < 90).sum() > 100
    assert (svg_to_rgb(table_svg(Game("classic", seed=7), 0)) == pixels).all()


def test_a_missing_extra_is_one_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("belote_env.draw.raster.importlib.util.find_spec", lambda name: None)
    for door in (belote_v0.env, BeloteEnv, BeloteVectorEnv):
        with pytest.raises(ValueError, match=r"rgb_array' needs a rasteriser: pip install 'belote-env\[draw\]'"):
            door(render_mode="rgb_array")
    with pytest.raises(ValueError, match="a PNG needs"):
        check_raster("a PNG")
    out = tmp_path / "table.png"
    assert cli.main(["show", Game(seed=1).to_text(), "--out", str(out)]) == cli.BAD_INPUT
    assert "needs a rasteriser" in capsys.readouterr().err and not out.exists()


def test_the_learners_pixels_hide_the_others():
    """Pixels can be what is learned from: two deals that look the same to the seat are the same picture."""
    game = Game("contree", seed=3)
    other = another_world(game, game.turn, random.Random(1))
    frames = []
    for one in (game, other):
        env = BeloteEnv(rules="contree", render_mode="rgb_array")
        env.reset(options={"position": one.to_text()})
        frames.append(env.render())
    assert (frames[0] == frames[1]).all()
    assert table_svg(game) != table_svg(other)


def test_the_last_frame_is_the_end():
    """PettingZoo #1169: a stale picture at the end."""
    env = belote_v0.env(render_mode="rgb_array")
    env.reset(seed=3)
    env.step(int(env.observe(env.agent_selection)["action_mask"].nonzero()[0][-1]))  # take
    while not env.terminations["player_0"]:
        before = env._states.copy()
        env.step(int(env.last()[0]["action_mask"].nonzero()[0][0]))
    frame = env.render()
    assert frame.shape == (HEIGHT, WIDTH, 3)
    game = Game.parse(position_text(env._states, 0, env.rules))
    assert game.deal_over and (frame == svg_to_rgb(table_svg(game))).all()
    assert (frame != svg_to_rgb(table_svg(Game.parse(position_text(before, 0, env.rules))))).any()


def test_the_vector_shows_every_table():
    tables = gymnasium.make_vec("belote_env:belote/Belote-v0", num_envs=2, render_mode="rgb_array")
    tables.reset(seed=1)
    frames = tables.render()
    one = BeloteEnv(render_mode="rgb_array")
    one.reset(seed=2)
    assert len(frames) == 2 and (frames[1] == one.render()).all() and (frames[0] != frames[1]).any()
    tables = BeloteVectorEnv(2, render_mode="ansi")
    tables.reset(seed=1)
    assert all(text.startswith("learner player_") for text in tables.render())
    with pytest.raises(ValueError, match="render_mode='human'"):
        BeloteVectorEnv(2, render_mode="human")
    with pytest.warns(UserWarning, match="render_mode='ansi' or 'rgb_array'"):
        assert BeloteVectorEnv(2).render() is None


@pytest.mark.filterwarnings("ignore")  # of the wrappers and of moviepy
def test_videos(tmp_path):
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    pytest.importorskip("pettingzoo.utils.wrappers.record_video", reason="PettingZoo before 1.27 records no video")
    from pettingzoo.utils.wrappers.record_video import RecordVideo

    env = RecordVideo(
        belote_v0.env(render_mode="rgb_array"), str(tmp_path / "aec"), episode_trigger=lambda episode: True
    )
    env.reset(seed=3)
    for agent in env.agent_iter(6):
        env.step(int(env.observe(agent)["action_mask"].nonzero()[0][-1]))
    env.close()
    single = gymnasium.wrappers.RecordVideo(
        BeloteEnv(render_mode="rgb_array"), str(tmp_path / "single"), episode_trigger=lambda episode: True
    )
    observation, _ = single.reset(seed=3)
    for _ in range(3):
        observation, _, over, _, _ = single.step(int(observation["action_mask"].nonzero()[0][0]))
        if over:
            break
    single.close()
    for folder in ("aec", "single"):
        (video,) = (tmp_path / folder).glob("*.mp4")
        assert video.stat().st_size > 5_000


# --- the command line and the pictures of the documentation ------------------------------------------------------


def test_show_prints_the_table(capsys):
    game = Game("classic", seed=7)
    assert cli.main(["show", game.to_text()]) == 0
    assert capsys.readouterr().out.rstrip("\n") == table_text(game, game.turn)
    assert cli.main(["show", game.to_text(), "--open"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == table_text(game)
    assert cli.main(["show", game.to_text(), "--seat", "1"]) == 0
    out = capsys.readouterr().out
    assert " ".join(game.hand(1)) in out and " ".join(game.hand(0)) not in out and "· · · · ·" in out


def test_show_draws_files(tmp_path):
    game = Game("coinche", seed=7)
    assert cli.main(["show", game.to_text(), "--seat", "2", "--out", str(tmp_path / "t.svg")]) == 0
    assert (tmp_path / "t.svg").read_text(encoding="utf-8") == table_svg(game, 2)
    assert cli.main(["show", game.to_text(), "--open", "--out", str(tmp_path / "t.PNG")]) == 0
    assert (tmp_path / "t.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seat", "4"], "--seat=4: a whole number from 0 to 3"),
        (["--seat", "1", "--open"], "--seat has no use beside --open"),
        (["--out", "table.jpg"], "the name of a picture ends in .svg or .png"),
        (["--out", "/nowhere/at/all.svg"], "a file in a folder that exists"),
    ],
)
def test_show_refuses(options, sentence, capsys):
    assert cli.main(["show", Game(seed=1).to_text(), *options]) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_the_pictures_of_the_documentation_are_up_to_date():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from pictures import FOLDER, pictures
    finally:
        sys.path.pop(0)
    drawn = pictures()
    assert {path.name for path in FOLDER.glob("*.svg")} == set(drawn)
    for name, svg in drawn.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == svg, f"{name}: python docs/pictures.py draws it anew"


@pytest.mark.parametrize(
    "seat", [True, -1, 4, 1.0, "0", float("nan"), 10**400, np.array([0, 1])], ids=lambda s: repr(s)[:9]
)
def test_what_is_no_seat_is_refused_by_every_view(seat):
    game = Game("classic", seed=1)
    for draw in (table_svg, table_text, view_of):
        with pytest.raises(ValueError, match="is not a seat 0..3"):
            draw(game, seat)
    with pytest.raises(ValueError, match="is not a seat 0..3"):
        view_of(game, below=seat)


def test_a_seat_of_numpy_is_a_seat():
    game = Game("classic", seed=1)
    for draw in (table_svg, table_text):
        assert [draw(game, seat) for seat in np.arange(4)] == [draw(game, seat) for seat in range(4)]


@pytest.mark.parametrize("width", [0, -1, 10**9, 1.5, float("nan"), "800", True], ids=repr)
def test_what_is_no_width_is_refused(width):
    svg = table_svg(Game("classic", seed=1))
    for draw in (lambda: table_svg(Game("classic", seed=1), width=width), lambda: svg_to_png(svg, width)):
        with pytest.raises(ValueError, match="width=.*a whole number from 1 to"):
            draw()
