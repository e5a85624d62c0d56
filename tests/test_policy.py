"""Policies as ONNX files: what is exported is what plays, and what does not fit is refused; `Split`."""

import json
import sys

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from test_players import RULES, is_legal, positions  # noqa: E402

from belote_env.arena import play_match  # noqa: E402
from belote_env.envs import SelfPlayVector  # noqa: E402
from belote_env.frames import framed_actions  # noqa: E402
from belote_env.observation import LAYOUT_DIGEST, SIZE, observe_batch  # noqa: E402
from belote_env.players import Heuristic, Player, Policy, Random, Split  # noqa: E402
from belote_env.players import policy as policies  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.state import PLAY  # noqa: E402
from models.export import write_onnx  # noqa: E402
from models.network import PolicyNet  # noqa: E402
from models.player import NetPlayer  # noqa: E402

CLASSIC = Rules.preset("classic")
torch.set_num_threads(1)


def network(rules=CLASSIC, seed=0, hidden=(24, 16), inputs="bits"):
    """A policy with opinions: an untrained one is close to uniform."""
    torch.manual_seed(seed)
    net = PolicyNet.for_rules(rules, hidden, (12,), inputs)
    for tower in (net.play, net.bid):
        torch.nn.init.normal_(tower.policy.weight, std=1.0)
        torch.nn.init.normal_(tower.policy.bias, std=1.0)
        torch.nn.init.normal_(tower.value.bias)
    return net.eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    write_onnx(path, network(), [CLASSIC.digest], 81.0)
    return path


@pytest.fixture
def copied(exported, tmp_path):
    """A copy of the exported file, to be spoilt."""
    path = tmp_path / "net.onnx"
    path.write_bytes(exported.read_bytes())
    return path


def in_play(rules, n):
    """Observations and masks of positions that random play comes to, in the canonical frame."""
    vector = SelfPlayVector(250, rules, seed=4, canonical=True)
    rng = np.random.default_rng(0)
    seen = []
    while 250 * len(seen) < n:
        for _ in range(7):
            noise = rng.random(vector.action_mask.shape) * vector.action_mask
            vector.step(noise.argmax(1))
        seen.append((vector.observations.copy(), vector.action_mask.copy()))
    return [np.concatenate(part)[:n] for part in zip(*seen, strict=True)]


@pytest.mark.parametrize("inputs", ["bits", "ordered"])
@pytest.mark.parametrize("preset", ["classic", "coinche", "contree"])
def test_the_file_is_the_network(tmp_path, preset, inputs):
    """Logits where legal and values, on 10,000 positions over the presets."""
    rules = Rules.preset(preset)
    net = network(rules, inputs=inputs)
    write_onnx(tmp_path / "p.onnx", net, [rules.digest], 81.0)
    policy = Policy(tmp_path / "p.onnx")
    policy.start(rules)
    observations, mask = in_play(rules, 3500)
    assert 0 < mask[:, :32].any(1).mean() < 1
    with torch.inference_mode():
        logits, values = net(torch.from_numpy(observations), torch.from_numpy(mask).bool())
    found, worth = policy(observations, mask)
    assert (found.dtype, worth.dtype) == (np.float32, np.float32)
    assert (found.shape, worth.shape) == (mask.shape, (len(mask),))
    assert (found[mask == 0] == policies.FILL).all()
    np.testing.assert_allclose(found[mask == 1], logits.numpy()[mask == 1], atol=1e-4)
    np.testing.assert_allclose(worth, values, atol=1e-4)
    assert np.ptp(found[mask == 1]) > 1 and np.ptp(worth) > 0.01
    one, alone = policy(observations[7:8], mask[7:8])
    np.testing.assert_allclose(one[0], found[7], atol=1e-4)
    np.testing.assert_allclose(alone, worth[7:8], atol=1e-4)


def test_the_same_weights_are_the_same_bytes(exported, tmp_path):
    write_onnx(tmp_path / "again.onnx", network(), [CLASSIC.digest], 81.0)
    write_onnx(tmp_path / "other.onnx", network(seed=1), [CLASSIC.digest], 81.0)
    assert (tmp_path / "again.onnx").read_bytes() == exported.read_bytes() != (tmp_path / "other.onnx").read_bytes()
    assert list(tmp_path.iterdir()) != []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.onnx", "other.onnx"]


def test_the_file_says_what_it_was_made_for(exported):
    kept = {entry.key: json.loads(entry.value) for entry in onnx.load(exported).metadata_props}
    assert kept == {"layout": LAYOUT_DIGEST, "rules_digests": [CLASSIC.digest], "frame": "canonical", "unit": 81.0}
    policy = Policy(exported)
    assert (policy.unit, policy.actions, policy.name) == (81.0, CLASSIC.n_actions, "net")


def test_the_file_plays_as_its_network_does(exported):
    states, seats = positions(CLASSIC, 300)
    players = Policy(exported), NetPlayer(network())
    for player in players:
        player.start(CLASSIC)
    actions, expected = (player.act(states, seats) for player in players)
    assert actions.dtype == np.int64
    assert actions.tolist() == expected.tolist()
    assert all(is_legal(states, i, CLASSIC, int(action)) for i, action in enumerate(actions))
    result = play_match(Policy(exported), NetPlayer(network()), "classic", deals=20, seed=1)
    assert (result.mean, result.ties) == (0, 20)


def test_sampling_follows_the_policy_and_its_seed(exported):
    global_state = np.random.get_state()[1].tolist()
    player = Policy(exported, sample=True, seed=3)
    player.start(CLASSIC)
    states, seats = positions(CLASSIC, 60)
    observations, masks, frames = observe_batch(states, seats, CLASSIC)
    logits, _ = player(observations, masks)
    probabilities = np.exp(logits - logits.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    least_sure = probabilities.max(1).argmin()
    p, legal = probabilities[least_sure], masks[least_sure] == 1
    assert (p[~legal] == 0).all() and (p > 0.1).sum() > 1
    n = 20_000
    drawn = player.act(np.repeat(states[least_sure], n), np.repeat(seats[least_sure], n))
    counts = np.bincount(framed_actions(drawn, np.repeat(frames[least_sure], n)), minlength=len(p))
    assert (counts[~legal] == 0).all()
    assert (np.abs(counts - n * p) < 5 * (n * p * (1 - p)) ** 0.5 + 1).all()

    def play(seed):
        other = Policy(exported, sample=True, seed=seed)
        other.start(CLASSIC)
        return [other.act(states, seats).tolist() for _ in range(5)]

    assert play(3) == play(3) != play(4)
    assert np.random.get_state()[1].tolist() == global_state


# --- released policies


def test_a_released_policy_has_a_name(exported, tmp_path, monkeypatch):
    installed, checkout = tmp_path / "installed", tmp_path / "checkout"
    for place, name in ((installed, "first"), (checkout, "first"), (checkout, "second")):
        (place / name).mkdir(parents=True)
        (place / name / "policy.onnx").write_bytes(exported.read_bytes())
    (checkout / "notes").mkdir()
    monkeypatch.setattr(policies, "_PLACES", (installed, checkout))
    found = policies.released_policies()
    assert found == {"first": installed / "first/policy.onnx", "second": checkout / "second/policy.onnx"}
    assert Policy("second").name == "second"
    with pytest.raises(ValueError, match="'third' is neither a file nor a released policy; there are .*first"):
        Policy("third")
    monkeypatch.setattr(policies, "_PLACES", (tmp_path / "nowhere", tmp_path / "nowhere either"))
    with pytest.raises(ValueError, match="there are none here"):
        Policy("first")


def test_what_is_no_file_is_refused_with_one_sentence(tmp_path):
    for source in (tmp_path / "none.onnx", tmp_path, "", "\x00", "a\nb"):
        with pytest.raises(ValueError, match="neither a file nor a released policy") as error:
            Policy(source)
        assert "\n" not in str(error.value)


def test_without_onnx_runtime_one_sentence_says_what_to_install(exported, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"needs ONNX Runtime: pip install 'belote-env\[onnx\]'"):
        Policy(exported)


# --- files that do not fit


def with_metadata(**fields):
    """Spoil the metadata of an exported file; None takes an entry away."""

    def spoil(path):
        model = onnx.load(path)
        kept = {entry.key: entry.value for entry in model.metadata_props} | fields
        del model.metadata_props[:]
        helper.set_model_props(model, {key: value for key, value in kept.items() if value is not None})
        path.write_bytes(model.SerializeToString())

    return spoil


SPOILT = {
    "text": (lambda p: p.write_text("a policy, honestly"), "not an ONNX file that ONNX Runtime can load"),
    "empty": (lambda p: p.write_bytes(b""), "can load"),
    "half": (lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]), "can load"),
    "noise": (lambda p: p.write_bytes(bytes(range(256)) * 20), "can load"),
    "another layout": (with_metadata(layout='"0123456789ab"'), f"layout 0123456789ab, here it is {LAYOUT_DIGEST}"),
    **{
        f"{key} = {text}": (with_metadata(**{key: text}), "do not say what it was made for")
        for key, text in [
            ("layout", "{"),
            ("rules_digests", None),
            ("rules_digests", "null"),
            ("rules_digests", "5"),
            ("rules_digests", '"0123456789ab"'),
            ("rules_digests", "[" * 100_000),
            ("frame", None),
            ("frame", '"sideways"'),
            ("unit", '"much"'),
            ("unit", "[1]"),
            ("unit", "NaN"),
            ("unit", "-1"),
            ("unit", "1" + "0" * 400),
        ]
    },
}


@pytest.mark.parametrize("name", SPOILT, ids=lambda name: name[:40])
def test_a_spoilt_file_is_refused_with_one_sentence(copied, name):
    spoil, sentence = SPOILT[name]
    spoil(copied)
    with pytest.raises(ValueError, match=sentence) as error:
        Policy(copied)
    assert "\n" not in str(error.value) and str(error.value).startswith(str(copied))


def test_a_file_names_its_presets(exported, tmp_path):
    assert Policy(exported).presets == ["classic"]
    foreign(tmp_path / "p.onnx")
    assert Policy(tmp_path / "p.onnx").presets == []


def test_other_rules_are_refused_at_the_table(exported, tmp_path):
    with pytest.raises(ValueError, match=f"net was made for rules {CLASSIC.name!r}, not for 'contree'"):
        Policy(exported).start("contree")
    with pytest.raises(ValueError, match="made for rules"):
        play_match(Random(0), Policy(exported), Rules.preset("classic", tie="made"), deals=2)
    Policy(exported).start(Rules.preset("classic", target=500))  # the digest leaves out the target
    foreign(tmp_path / "p.onnx")
    with pytest.raises(ValueError, match="p has 41 actions, 'coinche' has"):
        Policy(tmp_path / "p.onnx").start("coinche")


# --- files of others, without metadata: the suits stay in their own order

WEIGHTS = np.random.default_rng(7).normal(size=(SIZE, 41)).astype(np.float32)


def foreign(
    path, mask=None, inputs=("n", SIZE), outputs=("n", 41), kind=TensorProto.FLOAT, actions=41, weights=WEIGHTS
):
    """A file that another library could have written: one matrix; a mask of that type is an input it adds up with."""
    given = [helper.make_tensor_value_info("obs", kind, inputs)]
    nodes = [helper.make_node("Cast", ["obs"], ["bits"], to=TensorProto.FLOAT)]
    nodes += [helper.make_node("MatMul", ["bits", "weights"], ["sums"])]
    last = "sums"
    if mask is not None:
        given.append(helper.make_tensor_value_info("legal", mask, [inputs[0], actions]))
        nodes += [helper.make_node("Cast", ["legal"], ["numbers"], to=TensorProto.FLOAT)]
        if actions == 41:
            nodes += [helper.make_node("Mul", ["sums", "numbers"], ["masked"])]
            last = "masked"
    if len(outputs) == 1:
        nodes.append(helper.make_node("ReduceMax", [last], ["logits"], axes=[1], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", [last], ["logits"]))
    graph = helper.make_graph(
        nodes,
        "foreign",
        given,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, outputs)],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("mask", [None, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT8])
def test_a_file_without_metadata_plays_in_the_suits_own_order(tmp_path, mask):
    foreign(tmp_path / "p.onnx", mask)
    player = Policy(tmp_path / "p.onnx")
    player.start(CLASSIC)
    states, seats = positions(CLASSIC, 200)
    observations, masks, _ = observe_batch(states, seats, CLASSIC, canonical=False)
    logits = np.where(masks == 1, observations.astype(np.float32) @ WEIGHTS, -np.inf)
    assert player.act(states, seats).tolist() == logits.argmax(1).tolist()
    found, values = player(observations, masks)
    assert (values == 0).all() and values.shape == (200,)
    np.testing.assert_allclose(found[masks == 1], logits[masks == 1], atol=1e-3)
    assert player.unit == 0


@pytest.mark.parametrize("value", [-1e30, -np.inf, np.inf, np.nan])
@pytest.mark.parametrize("sample", [False, True])
def test_no_output_makes_it_play_an_illegal_action(tmp_path, value, sample):
    foreign(tmp_path / "p.onnx", weights=np.full((SIZE, 41), value, np.float32))
    player = Policy(tmp_path / "p.onnx", sample=sample)
    player.start(CLASSIC)
    states, seats = positions(CLASSIC, 50)
    assert all(is_legal(states, i, CLASSIC, int(action)) for i, action in enumerate(player.act(states, seats)))


UNFIT = {
    "too few bits": {"inputs": ("n", 767), "weights": WEIGHTS[1:]},
    "one position at a time": {"inputs": (1, SIZE), "outputs": (1, 41)},
    "doubles": {"kind": TensorProto.DOUBLE},
    "bytes": {"kind": TensorProto.UINT8},
    "a mask of words": {"mask": TensorProto.INT64},
    "a narrow mask": {"mask": TensorProto.BOOL, "actions": 40},
    "no row of logits": {"outputs": ("n",)},
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_file_of_another_shape_is_refused(tmp_path, name):
    foreign(tmp_path / "p.onnx", **UNFIT[name])
    with pytest.raises(ValueError, match=r"p\.onnx(:| reads)") as error:
        Policy(tmp_path / "p.onnx")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", 2**20])
def test_threads_are_checked(exported, threads):
    with pytest.raises((ValueError, TypeError), match="threads"):
        Policy(exported, threads=threads)


# --- Split


class Watched(Player):
    """Heuristic, with a note of the phases it was asked in."""

    name = "watched"

    def __init__(self):
        self.inner, self.phases, self.asked = Heuristic(), set(), 0

    def start(self, rules):
        super().start(rules)
        self.inner.start(rules)

    def act(self, states, seats):
        self.phases |= set(states["phase"].tolist())
        self.asked += len(states)
        return self.inner.act(states, seats)


@pytest.mark.parametrize("preset", RULES)
def test_split_asks_one_for_calls_and_the_other_for_cards(preset):
    bidder, player = Watched(), Watched()
    split = Split(bidder, player)
    assert split.name == "watched (bids of watched)"
    result = play_match(split, Heuristic(), preset, deals=12, seed=2)
    assert result.mean == 0  # Heuristic by halves is Heuristic
    assert player.phases == {PLAY} and PLAY not in bidder.phases and bidder.phases
    assert bidder.asked + player.asked == result.a.decisions


def test_split_keeps_each_answer_in_its_place():
    states, seats = positions(CLASSIC, 100)
    calls, cards = Random(1), Heuristic()
    split = Split(Heuristic(), Heuristic())
    for player in (calls, cards, split):
        player.start(CLASSIC)
    assert split.act(states, seats).tolist() == cards.act(states, seats).tolist()
    playing = states["phase"] == PLAY
    for rows in (playing, ~playing):
        assert split.act(states[rows], seats[rows]).tolist() == cards.act(states[rows], seats[rows]).tolist()


def test_split_refuses_rules_that_either_refuses(exported):
    for split in (Split(Policy(exported), Heuristic()), Split(Heuristic(), Policy(exported))):
        split.start("classic")
        with pytest.raises(ValueError, match="made for rules"):
            split.start("contree")
