"""Networks, checkpoint files and the player made of them."""

import json
import os
import pickle
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import safetensors.torch  # noqa: E402
from test_players import is_legal, positions  # noqa: E402

from belote_env.arena import play_match  # noqa: E402
from belote_env.observation import HIDDEN_SIZE, LAYOUT_DIGEST, SIZE, varying_columns  # noqa: E402
from belote_env.players import Random  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.state import PLAY  # noqa: E402
from models import checkpoint  # noqa: E402
from models.network import Critic, PolicyNet, Tower, draw, entropy, masked_log_softmax  # noqa: E402
from models.player import NetPlayer  # noqa: E402

CLASSIC = Rules.preset("classic")
torch.set_num_threads(1)


def small_policy(seed: int = 0) -> PolicyNet:
    torch.manual_seed(seed)
    return PolicyNet.for_rules(CLASSIC, (16,), (8, 8))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "policy.safetensors"
    checkpoint.save(path, small_policy(), CLASSIC, Critic(20, 9, (8,)), {"iteration": 3})
    return path


def test_masked_log_softmax_by_hand():
    logits = torch.tensor([[0.0, 5.0, np.log(3.0)]])
    log_probs = masked_log_softmax(logits, torch.tensor([[True, False, True]]))
    np.testing.assert_allclose(log_probs.exp().numpy(), [[0.25, 0.0, 0.75]], rtol=1e-6)
    assert log_probs.exp()[0, 1] == 0
    by_hand = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    np.testing.assert_allclose(entropy(log_probs).numpy(), [by_hand], rtol=1e-6)


def test_masked_entropy_has_a_finite_gradient():
    logits = torch.randn(50, 41, requires_grad=True)
    mask = torch.rand(50, 41) < 0.1
    mask[0] = False  # no legal action at all: still finite
    mask[1:, 7] = True
    entropy(masked_log_softmax(logits, mask)).sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[1:][~mask[1:]] == 0).all()


def test_draw_follows_the_probabilities_and_never_an_illegal_action():
    log_probs = masked_log_softmax(
        torch.tensor([[0.0, 9.0, np.log(3.0)]]).expand(40_000, 3),
        torch.tensor([[True, False, True]]).expand(40_000, 3),
    )
    actions = draw(log_probs, torch.Generator().manual_seed(1))
    share = np.bincount(actions.numpy(), minlength=3) / 40_000
    assert share[1] == 0
    assert abs(share[2] - 0.75) < 4 * (0.75 * 0.25 / 40_000) ** 0.5


def test_towers_start_close_to_uniform_and_read_uint8():
    net = small_policy()
    assert net.actions == net.play.actions + net.bid.actions == 32 + 9
    for tower in (net.play, net.bid):
        bits = torch.randint(0, 2, (64, len(tower.columns)), dtype=torch.uint8)
        mask = torch.rand(64, tower.actions) < 0.3
        mask[:, 2] = True
        log_probs = tower.log_probs(bits, mask)
        assert torch.equal(log_probs, tower.log_probs(bits.float(), mask))
        np.testing.assert_allclose(entropy(log_probs).detach().numpy(), mask.sum(1).log().numpy(), atol=0.02)


def test_a_policy_reads_what_varies_and_answers_by_its_towers():
    net = small_policy()
    np.testing.assert_array_equal(net.play.columns, varying_columns(CLASSIC, "play"))
    np.testing.assert_array_equal(net.bid.columns, varying_columns(CLASSIC, "bid"))
    observations = torch.randint(0, 2, (40, SIZE), dtype=torch.uint8)
    mask = torch.zeros(40, 41, dtype=torch.bool)
    mask[:20, 3:9] = True  # cards
    mask[20:, 32:36] = True  # calls
    logits, values = net(observations, mask)
    assert (logits[~mask] == -1e9).all()
    for tower, rows, first in ((net.play, slice(0, 20), 0), (net.bid, slice(20, 40), 32)):
        own, value = tower(observations[rows][:, tower.columns])
        legal = mask[rows, first : first + tower.actions]
        assert torch.equal(logits[rows, first : first + tower.actions][legal], own[legal])
        assert torch.equal(values[rows], value)


def test_a_critic_reads_the_hidden_hands_too():
    net = small_policy()
    critic = Critic.for_policy(net, (8,))
    assert critic.inputs == {name: len(getattr(net, name).columns) + HIDDEN_SIZE for name in ("play", "bid")}
    bits = torch.randint(0, 2, (5, critic.inputs["bid"]), dtype=torch.uint8)
    assert critic.values("bid", bits).shape == (5,)
    changed = bits.clone()
    changed[:, -HIDDEN_SIZE:] ^= 1
    assert (critic.values("bid", bits) != critic.values("bid", changed)).all()


@pytest.mark.parametrize("kind", [PolicyNet, Critic])
def test_shapes_are_known_without_building(kind):
    net = small_policy() if kind is PolicyNet else Critic(20, 9, (8, 7))
    assert kind.shapes(net.architecture()) == {key: tuple(value.shape) for key, value in net.state_dict().items()}
    again = kind.from_architecture(json.loads(json.dumps(net.architecture())))
    assert again.architecture() == net.architecture()


def test_round_trip(saved):
    loaded = checkpoint.load(saved, "classic")
    assert loaded.rules == CLASSIC
    assert loaded.counters == {"iteration": 3}
    before, after = small_policy().state_dict(), loaded.policy().state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert loaded.critic().inputs == {"play": 20, "bid": 9}
    assert not loaded.policy().training
    # The digest leaves out target and direction: a policy plays to 500 as it does to 1,000.
    assert checkpoint.load_policy(saved, Rules.preset("classic", target=500)).actions == 41


def rewritten(path, change):
    """The same file with its metadata changed in place by `change`."""
    with safetensors.safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    change(metadata)
    safetensors.torch.save_file(safetensors.torch.load(path.read_bytes()), path, metadata)


def architecture(hidden=(16,), columns=5, **more):
    """Metadata of a policy, and of whatever networks are given; towers that are None are left out."""
    tower = {"columns": columns, "hidden": list(hidden), "actions": 32}
    towers = {"play": tower, "bid": tower | {"actions": 9}} | more.pop("towers", {})
    policy = {name: sizes for name, sizes in towers.items() if sizes is not None}
    return json.dumps({"policy": policy} | more)


def metadata_of(**fields):
    return lambda path: rewritten(path, lambda m: m.update(fields))


def with_header(change):
    """Change the JSON header of a file as text."""

    def spoil(path):
        data = path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        text = change(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return spoil


def with_weight(value):
    def spoil(path):
        tensors = safetensors.torch.load(path.read_bytes())
        tensors["policy.bid.trunk.2.weight"][3, 4] = value
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        safetensors.torch.save_file(tensors, path, metadata)

    return spoil


REFUSED = {
    "text": (lambda p: p.write_text("weights, honestly"), "is not a safetensors file"),
    "empty": (lambda p: p.write_bytes(b""), "is not a safetensors file"),
    "pickle": (lambda p: p.write_bytes(pickle.dumps({"w": [1.0] * 50})), "is not a safetensors file"),
    "header of nonsense": (
        lambda p: p.write_bytes(struct.pack("<Q", 8) + b"{nothing" + bytes(9)),
        "is not a safetensors file",
    ),
    "one byte short": (lambda p: p.write_bytes(p.read_bytes()[:-1]), "is truncated: 1 bytes are missing"),
    "half": (lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]), "is truncated"),
    "half a header": (lambda p: p.write_bytes(p.read_bytes()[:200]), "is truncated"),
    "no metadata": (lambda p: rewritten(p, lambda m: m.clear()), "is not a checkpoint of this project"),
    "another format": (lambda p: rewritten(p, lambda m: m.update(format="x 9")), "is not a checkpoint of this"),
    "missing metadata": (lambda p: rewritten(p, lambda m: m.pop("rules_digests")), "lacks rules_digests"),
    "bad json": (lambda p: rewritten(p, lambda m: m.update(rules="{")), "metadata that is not JSON"),
    "another layout": (
        lambda p: rewritten(p, lambda m: m.update(layout='"0123456789ab"')),
        f"made for observation layout 0123456789ab, here it is {LAYOUT_DIGEST}",
    ),
    "other rules": (
        lambda p: rewritten(p, lambda m: m.update(rules_digests='["0123456789ab"]')),
        rf"not for 'classic' \({CLASSIC.digest}\)",
    ),
    **{
        f"{key} = {text}": (metadata_of(**{key: text}), key if key != "layout" else "made for observation layout")
        for key in ("rules", "rules_digests", "architecture", "counters", "layout")
        for text in ("null", "5", "[[]]", '"x\\ny"', '{"policy": 5, "name": []}')
    },
    "deep metadata": (metadata_of(rules="[" * 100_000), "metadata that is not JSON"),
    "a long number": (metadata_of(counters="9" * 5000), "metadata that is not JSON"),
    **{
        f"__metadata__ = {value!r}": (
            with_header(lambda h, value=value: json.dumps(h | {"__metadata__": value})),
            "is not a checkpoint of this project",
        )
        for value in ([], 5, None, "x", {"format": 5}, {"format": checkpoint.FORMAT, "rules": None})
    },
    "deep header": (with_header(lambda _: '{"a":' * 100_000), "is not a safetensors file"),
    "offsets of text": (
        with_header(lambda h: json.dumps(h | {"policy.bid.columns": {"data_offsets": [0, "x"]}})),
        "is not a safetensors file",
    ),
    "unknown dtype": (
        with_header(lambda h: json.dumps(h | {"policy.bid.columns": h["policy.bid.columns"] | {"dtype": "I63"}})),
        "is damaged",
    ),
    "another architecture": (metadata_of(architecture=architecture()), "do not fit its architecture"),
    "vast layers": (metadata_of(architecture=architecture((300_000, 300_000))), "do not fit its architecture"),
    "many layers": (metadata_of(architecture=architecture([1] * 100_000)), "do not fit its architecture"),
    "no policy": (metadata_of(architecture="{}"), "holds no policy"),
    **{
        name: (metadata_of(architecture=text), "architecture that describes no network")
        for name, text in {
            "no tower for calls": architecture(towers={"bid": None}),
            "no towers": architecture(towers={"bid": None, "play": None}),
            "a tower too many": architecture(towers={"talk": {"columns": 5, "hidden": [16], "actions": 3}}),
            "a tower that is a list": architecture(towers={"bid": [5, 16, 9]}),
            "the architecture before there were towers": json.dumps(
                {"policy": {"columns": 5, "hidden": [16], "actions": 41}}
            ),
            "a layer of -1": architecture([-1]),
            "a layer of 1.5": architecture([1.5]),
            "a layer of true": architecture([True]),
            "no layers": architecture([]),
            "layers of text": architecture(towers={"bid": {"columns": 5, "hidden": "16", "actions": 9}}),
            "no columns": architecture(columns=0),
            "no count of actions": architecture(towers={"bid": {"columns": 5, "hidden": [16]}}),
            "more columns than can be counted": architecture(columns=2**31),
            "a third network": architecture(oracle={}),
            "a critic with one tower": architecture(critic={"play": {"inputs": 20, "hidden": [8]}}),
            "a critic without inputs": architecture(critic={"play": {"hidden": [8]}, "bid": {"hidden": [8]}}),
            "a critic with towers of different widths": architecture(
                critic={"play": {"inputs": 20, "hidden": [8]}, "bid": {"inputs": 9, "hidden": [7]}}
            ),
        }.items()
    },
    "nan": (with_weight(float("nan")), r"policy\.bid\.trunk\.2\.weight holds a weight that is not a finite number"),
    "inf": (with_weight(float("inf")), "not a finite number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_with_one_sentence(saved, name):
    spoil, sentence = REFUSED[name]
    spoil(saved)
    with pytest.raises(ValueError, match=sentence) as error:
        checkpoint.load_policy(saved, "classic")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(saved))


def test_every_truncation_is_refused(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"truncated|not a safetensors file"):
            checkpoint.load(saved)


def of_towers(cards=32, play_columns=(0, 1), bid_columns=(0, 1)):
    return PolicyNet(Tower(np.array(play_columns), (4,), cards), Tower(np.array(bid_columns), (4,), 9))


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (of_towers(bid_columns=(0, SIZE)), f"reads columns outside the observation of {SIZE} bits"),
        (of_towers(play_columns=(-1, 3)), "reads columns outside the observation"),
        (of_towers(cards=31), "has a tower of 31 cards, not 32"),
    ],
)
def test_a_policy_of_another_game_is_refused(tmp_path, policy, sentence):
    checkpoint.save(tmp_path / "p", policy, CLASSIC)
    with pytest.raises(ValueError, match=sentence):
        checkpoint.load_policy(tmp_path / "p", "classic")


def test_columns_are_whole_numbers(saved):
    tensors = safetensors.torch.load(saved.read_bytes())
    tensors["policy.play.columns"] = tensors["policy.play.columns"].float()
    with safetensors.safe_open(saved, framework="pt") as file:
        metadata = file.metadata()
    safetensors.torch.save_file(tensors, saved, metadata)
    with pytest.raises(ValueError, match="do not fit its architecture"):
        checkpoint.load_policy(saved, "classic")


@pytest.mark.parametrize(
    ("inputs", "hidden"), [((20, 10), (8,)), ((20, 9), (9,)), ((20, 9), (8, 8)), ((20, 9), (2**30,))]
)
def test_a_critic_that_does_not_fit_is_refused(saved, inputs, hidden):
    def other(metadata):
        towers = {name: {"inputs": n, "hidden": list(hidden)} for name, n in zip(("play", "bid"), inputs, strict=True)}
        metadata["architecture"] = json.dumps(json.loads(metadata["architecture"]) | {"critic": towers})

    rewritten(saved, other)
    loaded = checkpoint.load(saved, "classic")
    with pytest.raises(ValueError, match="the tensors of its critic do not fit"):
        loaded.critic()
    if len(hidden) == 1:
        assert loaded.policy().actions == 41  # what plays is whole


def test_a_file_without_a_critic_says_so(tmp_path):
    checkpoint.save(tmp_path / "p", small_policy(), CLASSIC)
    with pytest.raises(ValueError, match="holds no critic"):
        checkpoint.load(tmp_path / "p").critic()


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(saved, monkeypatch, failing):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(saved, small_policy(1), CLASSIC)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_net_player_plays_whole_matches(saved):
    # An illegal action would be refused by the arena.
    result = play_match(NetPlayer(saved), Random(0), "classic", deals=40, seed=1, progress=False)
    again = play_match(NetPlayer(saved), Random(0), "classic", deals=40, seed=1, progress=False)
    assert result.mean == again.mean


def test_a_net_player_draws_without_touching_the_global_generator(saved):
    def play(seed):
        player = NetPlayer(saved, sample=True, seed=seed)
        return play_match(player, NetPlayer(saved), "classic", deals=40, seed=1, progress=False).mean

    torch.manual_seed(5)
    state = torch.get_rng_state()
    assert play(1) == play(1) != play(2)
    assert torch.equal(state, torch.get_rng_state())


def test_a_greedy_player_against_itself_is_exactly_even(saved):
    player = NetPlayer(saved)
    assert play_match(player, player, "classic", deals=40, seed=1, progress=False).mean == 0


def test_a_net_player_refuses_other_rules_at_the_table(saved):
    with pytest.raises(ValueError, match="was made for rules 'classic'"):
        play_match(NetPlayer(saved), Random(0), Rules.preset("classic", tie="made"), deals=2)


def test_a_net_player_answers_calls_and_cards_in_one_batch():
    """What it answers for a position does not depend on the others, nor a suit's name."""
    player = NetPlayer(small_policy())
    player.start("classic")
    states, seats = positions(CLASSIC, 120)
    together = player.act(states, seats)
    assert 0 < (states["phase"] == PLAY).sum() < 120
    one_by_one = [int(player.act(states[i : i + 1], seats[i : i + 1])[0]) for i in range(120)]
    assert together.tolist() == one_by_one
    assert all(is_legal(states, i, CLASSIC, int(action)) for i, action in enumerate(together))
