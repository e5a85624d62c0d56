"""The parts of a training run: advantages, losses, configuration, draws, the learner."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")
pytest.importorskip("tensorboard")

from tiny_runs import ROOT, TEAMED, TINY, same  # noqa: E402

from belote_env.envs import SelfPlayVector  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from models.network import TOWERS, Critic, PolicyNet, masked_log_softmax  # noqa: E402
from training import ppo  # noqa: E402
from training.advantage import seat_advantages  # noqa: E402
from training.config import Config, from_fields, joined, load, parse_overrides  # noqa: E402
from training.draws import uniforms, words  # noqa: E402
from training.group import Group  # noqa: E402
from training.learner import LOSSES, Diverged, Learner, schedule  # noqa: E402
from training.rollout import Rollout  # noqa: E402
from training.train import main  # noqa: E402

# --- advantages


def slow_advantages(seat, own, values, rewards, done, gae_lambda):
    """One seat of one table at a time, straight from the definition."""
    steps, tables = seat.shape
    advantages = np.zeros((steps, tables))
    valid = np.zeros((steps, tables), bool)
    for n, who in itertools.product(range(tables), range(4)):
        side = -1 if who in (1, 3) else 1
        episodes, episode = [], []
        for t in range(steps):
            if seat[t, n] == who and own[t, n]:
                episode.append([t, 0.0])
            if episode:
                episode[-1][1] += side * rewards[t, n]
            if done[t, n]:
                episodes.append((episode, True))
                episode = []
        episodes.append((episode, False))
        for decisions, finished in episodes:
            after_value = after_advantage = 0.0
            for k, (t, paid) in reversed(list(enumerate(decisions))):
                if k == len(decisions) - 1 and not finished:
                    after_value = values[t, n]
                    continue
                advantages[t, n] = paid + after_value - values[t, n] + gae_lambda * after_advantage
                after_value, after_advantage = values[t, n], advantages[t, n]
                valid[t, n] = True
    return advantages, valid


@pytest.mark.parametrize("share", [1.0, 0.6, 0.0])
@pytest.mark.parametrize("gae_lambda", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_advantages_against_the_definition(seed, gae_lambda, share):
    rng = np.random.default_rng(seed)
    seat = rng.integers(0, 4, (40, 7))
    own = rng.random((40, 7)) < share
    values = rng.normal(size=(40, 7))
    rewards = rng.integers(-64, 65, (40, 7)) / 256
    done = rng.random((40, 7)) < 0.08
    advantages, targets, valid = seat_advantages(seat, own, np.where(own, values, np.nan), rewards, done, gae_lambda)
    expected, expected_valid = slow_advantages(seat, own, values, rewards, done, gae_lambda)
    assert advantages.dtype == targets.dtype == np.float32
    np.testing.assert_array_equal(valid, expected_valid)
    assert not valid[~own].any() and valid.any() == (share > 0)
    np.testing.assert_array_equal(advantages, expected.astype(np.float32))
    np.testing.assert_array_equal(targets, np.where(valid, expected + values, 0).astype(np.float32))


def test_advantages_by_hand():
    # One table: seats 0, 1, 0, 1; the deal ends with the third step, so the fourth opens the next deal.
    seat = np.array([[0], [1], [0], [1]])
    values = np.array([[0.5], [0.25], [1.0], [9.0]])
    rewards = np.array([[1.0], [2.0], [4.0], [0.0]])  # the 1 is nobody's credit on the other side: it has not decided
    done = np.array([[False], [False], [True], [False]])
    every = np.ones((4, 1), bool)
    advantages, targets, valid = seat_advantages(seat, every, values, rewards, done, 0.5)
    last = 4 - 1.0
    np.testing.assert_allclose(advantages[:, 0], [1 + 2 + 1.0 - 0.5 + 0.5 * last, -2 - 4 - 0.25, last, 0])
    np.testing.assert_allclose(targets[:, 0], advantages[:, 0] + [0.5, 0.25, 1.0, 0])
    assert valid[:, 0].tolist() == [True, True, True, False]
    # Where another decides the third step, all that the deal pays is the first decision's.
    own = np.array([[True], [True], [False], [True]])
    advantages, _, valid = seat_advantages(seat, own, values, rewards, done, 0.5)
    np.testing.assert_allclose(advantages[:, 0], [1 + 2 + 4 - 0.5, -2 - 4 - 0.25, 0, 0])
    assert valid[:, 0].tolist() == [True, True, False, False]


# --- losses


def test_policy_loss_by_hand():
    old = torch.log(torch.tensor([0.5, 0.5, 0.5, 0.5]))
    new = torch.log(torch.tensor([0.8, 0.8, 0.2, 0.2]))
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    # Ratios 1.6 and 0.4: clipped to 1.2 for a gain, kept at 1.6 for a loss; kept at 0.4, clipped to 0.8.
    expected = [-1.2, 1.6, -0.4, 0.8]
    np.testing.assert_allclose(ppo.policy_loss(new, old, advantage, 0.2), expected, rtol=1e-6)
    assert ppo.clipped(new, old, 0.2).tolist() == [1, 1, 1, 1]
    assert ppo.clipped(new, old, 0.61).tolist() == [0, 0, 0, 0]


def test_policy_gradient_stops_where_the_clip_holds():
    old = torch.zeros(2)
    new = torch.tensor([0.5, -0.5], requires_grad=True)
    ppo.policy_loss(new, old, torch.tensor([1.0, 1.0]), 0.2).sum().backward()
    assert new.grad[0] == 0
    assert new.grad[1].item() == pytest.approx(-np.exp(-0.5))


def test_explained_variance_by_hand():
    value, target = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0])
    assert ppo.explained_variance(target, target) == 1
    assert ppo.explained_variance(torch.zeros(2), target) == pytest.approx(0)
    assert ppo.explained_variance(value, torch.ones(2)) == 0


def test_both_divergences_against_the_exact_sum():
    p, q = torch.tensor([0.5, 0.3, 0.2, 0.0]), torch.tensor([0.4, 0.4, 0.2, 0.0])
    exact = float((p[:3] * (p / q)[:3].log()).sum())
    drawn = torch.multinomial(p, 200_000, replacement=True, generator=torch.Generator().manual_seed(0))
    estimate = ppo.approximate_kl(q.log()[drawn], p.log()[drawn])
    assert (estimate >= 0).all()
    assert estimate.mean().item() == pytest.approx(exact, rel=0.03)
    legal = torch.tensor([[True, True, True, False]])
    ours, theirs = (masked_log_softmax(x[None].clamp(min=1e-9).log(), legal) for x in (p, q))
    assert ppo.divergence(ours, theirs).item() == pytest.approx(exact, rel=1e-5)
    assert ppo.divergence(ours, ours).item() == 0


def test_standardise():
    np.testing.assert_allclose(ppo.standardise(torch.tensor([1.0, 3.0]), Group()), [-1, 1], atol=1e-6)
    assert torch.isfinite(ppo.standardise(torch.ones(3), Group())).all()
    result = ppo.standardise(1e4 + torch.arange(100.0), Group())
    assert float(result.mean()) == pytest.approx(0, abs=1e-6) and float(result.std(correction=0)) == pytest.approx(1)


# --- configuration


def test_quick_config_and_its_arithmetic():
    config = load(ROOT / "configs/quick.toml")
    text = (ROOT / "configs/quick.toml").read_text(encoding="utf-8")
    assert f"{config.tables:,} tables × {config.steps} steps = {config.tables * config.steps:,}" in text
    decisions = config.tables * config.steps * config.iterations / 1e6
    assert f"{config.iterations} iterations = {decisions:.1f} M decisions" in text


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.toml")), ids=lambda path: path.stem)
def test_every_config_of_the_project_loads(path):
    assert isinstance(load(path), Config)


@pytest.mark.parametrize(
    "config",
    [TINY, TEAMED, TINY.model_copy(update={"start_from": 'C:\\runs\\"été" 🂡\t\x7f.safetensors', "hidden": (3, 2, 1)})],
)
def test_a_config_survives_toml(tmp_path, config):
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    assert load(tmp_path / "c.toml") == config


def test_overrides():
    overrides = parse_overrides(["--tables", "512", "--hidden=[64, 32]", "--reward", "cards", "--stop-kl=0.1"])
    config = load(ROOT / "configs/quick.toml", overrides)
    assert (config.tables, config.hidden, config.reward, config.stop_kl) == (512, (64, 32), "cards", 0.1)


def test_minibatches_of_what_does_not_learn_have_no_bound():
    assert from_fields({"learn": "play", "bid_minibatch": 10**6}).learning == ("play",)
    assert from_fields({"learn": "bids", "minibatch": 10**6}).learning == ("bid",)
    study = {"learn": "play", "lessons": 500, "start_from": "x.safetensors", "minibatch": 10**6}
    assert from_fields(study).lessons == 500


def test_overrides_may_stand_anywhere():
    given = ["--iterations", "2", "--tables=64", "c.toml", "--resume", "--learning-rate", "0.1"]
    assert joined(given) == ["--iterations=2", "--tables=64", "c.toml", "--resume", "--learning-rate=0.1"]
    assert joined(["--run", "x", "--tables"]) == ["--run", "x", "--tables"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tabels", "5"], "'tabels' is not a field of the configuration; did you mean 'tables'?"),
        (["--qqqq", "5"], "'qqqq' is not a field of the configuration; there are name, "),
        (["--tables", "many"], "tables = 'many'"),
        (["--tables", "0"], "tables = 0"),
        (["--reward", "money"], "reward = 'money'"),
        (["--rules", "poker"], "rules = 'poker'"),
        (["--minibatch", "1000000"], "minibatch = 1000000 exceeds"),
        (["--bid-minibatch", "1000000"], "bid_minibatch = 1000000 exceeds"),
        (["--bid-hidden", "[]"], "bid_hidden = []"),
        (["--unit", "0"], "unit = 0"),
        (["--average", "1"], "average = 1"),
        (["--learn", "nothing"], "learn = 'nothing'"),
        (["--past-opponents", "0.6", "--rule-opponents", "0.6"], "exceed 1 together"),
        (["--magnet", "0.1"], "average = 0 keeps none"),
        (["--tables"], "--tables needs a value"),
        (["tables"], "not of the form --field value"),
    ],
)
def test_a_bad_override_is_one_sentence(arguments, sentence, capsys):
    assert main([str(ROOT / "configs/quick.toml"), *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_bad_files_are_one_sentence(tmp_path, capsys):
    assert main([str(tmp_path / "none.toml")]) == 2
    assert "There is no file" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("tables = = 3")
    assert main([str(tmp_path / "bad.toml")]) == 2
    assert "is not TOML" in capsys.readouterr().err


# --- draws


def test_a_draw_depends_on_its_seed_and_counters_alone():
    table, deal = np.arange(5), np.arange(7)
    grid = words(3, table[:, None], deal, 9)
    assert (grid.shape, grid.dtype) == ((5, 7), np.uint64)
    for i, j in itertools.product(table, deal):
        one = words(3, i, j, 9)
        assert one.shape == () and one == grid[i, j] == words(3, int(i), int(j), 9)
    shuffled = np.random.default_rng(0).permutation(5)
    np.testing.assert_array_equal(words(3, shuffled[:, None], deal, 9), grid[shuffled])
    np.testing.assert_array_equal(words(3, table[2:, None].astype(np.int8), deal.astype(np.uint64), 9), grid[2:])
    np.testing.assert_array_equal(words(3, table[:, None], deal, np.array([9, 4])[:, None, None])[0], grid)
    np.testing.assert_array_equal(uniforms(3, table[:, None], deal, 9), (grid >> np.uint64(11)) * 2.0**-53)


def test_draws_of_other_names_are_other_draws():
    named = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (0, 0, 0), (-1,)]
    drawn = [int(words(seed, *name).ravel()[0]) for seed in (0, 1, 7, 2**63) for name in named if name]
    assert len(set(drawn)) == len(drawn)
    assert words(5).shape == ()


def test_draws_are_uniform_and_their_counters_independent():
    table, deal = np.arange(200)[:, None], np.arange(200)
    n = table.size * deal.size
    by_kind = {kind: words(1, table, deal, kind) for kind in (0, 101, 102, 107)}
    for drawn in by_kind.values():
        for place in (0, 29, 58):  # 64 cells by six low, middle and high bits: χ² of 63 degrees of freedom
            counts = np.bincount(((drawn.ravel() >> np.uint64(place)) & np.uint64(63)).astype(np.intp), minlength=64)
            assert ((counts - n / 64) ** 2 / (n / 64)).sum() < 63 + 6 * 126**0.5
        ones = [int(((drawn >> np.uint64(k)) & np.uint64(1)).sum()) for k in range(64)]
        assert max(abs(count - n / 2) for count in ones) < 6 * n**0.5 / 2
    places = {kind: (drawn >> np.uint64(11)) * 2.0**-53 - 0.5 for kind, drawn in by_kind.items()}
    pairs = [(places[a].ravel(), places[b].ravel()) for a, b in itertools.combinations(places, 2)]
    for x in places.values():  # neighbours along each counter
        pairs += [(x[1:].ravel(), x[:-1].ravel()), (x[:, 1:].ravel(), x[:, :-1].ravel())]
    assert max(abs(np.corrcoef(a, b)[0, 1]) for a, b in pairs) < 6 / n**0.5


# --- the learner


def learning(**fields):
    return TINY.model_copy(update=fields)


def batches_for(config, learner):
    vector = SelfPlayVector(
        config.tables, config.rules, reward="tricks", seed=3, skip_forced=True, canonical=True, hidden=True
    )
    rollout = Rollout(vector, config)
    rollout.collect(learner.policy, 0)
    return rollout.batches(learner.critic)


@pytest.fixture(scope="module")
def batches():
    return batches_for(TINY, Learner(TINY, Rules.preset(TINY.rules)))


def updated(batches, times=1, **fields):
    """Weights before and after, the learner, and its losses."""
    config = learning(**fields)
    learner = Learner(config, Rules.preset(config.rules))
    before = {name: snapshot(getattr(learner, name)) for name in ("policy", "critic", "average")}
    for iteration in range(times):
        losses = learner.update(batches, schedule(config, 0), iteration)
    return before, learner, losses


def snapshot(net):
    return {key: value.clone() for key, value in net.state_dict().items()}


def tower_of(weights, name):
    return {key: value for key, value in weights.items() if key.startswith(f"{name}.")}


def test_schedules_are_straight_lines_by_tower():
    config = learning(learning_rate=0.2, final_learning_rate=0.1, bid_entropy=1.0, final_bid_entropy=0.5)
    assert schedule(config, 0)["play"].learning_rate == 0.2
    assert schedule(config, 0.5)["play"].learning_rate == pytest.approx(0.15)
    assert schedule(config, 7)["play"].learning_rate == pytest.approx(0.1)
    assert schedule(config, 0.5)["bid"].entropy == pytest.approx(0.75)
    assert schedule(config, 0.5)["play"].entropy == pytest.approx((config.play_entropy + config.final_play_entropy) / 2)


def test_learning_moves_towards_what_was_better(batches):
    before, learner, losses = updated(batches)
    old = PolicyNet.from_architecture(learner.policy.architecture())
    old.load_state_dict(before["policy"])
    for name in TOWERS:
        batch = batches[name]
        tower = getattr(learner.policy, name)
        bits = batch.bits[:, : len(tower.columns)]
        moved = tower.log_probs(bits, batch.mask) - getattr(old, name).log_probs(bits, batch.mask)
        moved = moved.detach().gather(1, batch.actions[:, None]).squeeze(1)
        assert (moved * ppo.standardise(batch.advantages, Group())).mean() > 0
        assert losses[f"{name}_gradient_steps"] >= TINY.epochs
    assert set(losses) == {f"{name}_{key}" for name in TOWERS for key in LOSSES}


@pytest.mark.parametrize(("learn", "still"), [("play", "bid"), ("bids", "play")])
def test_what_does_not_learn_stands_still(learn, still):
    config = learning(learn=learn)
    before, learner, _ = updated(batches_for(config, Learner(config, Rules.preset(config.rules))), learn=learn)
    (moving,) = set(TOWERS) - {still}
    assert same(tower_of(before["policy"], still), tower_of(snapshot(learner.policy), still))
    assert not same(tower_of(before["policy"], moving), tower_of(snapshot(learner.policy), moving))
    assert not same(tower_of(before["critic"], moving), tower_of(snapshot(learner.critic), moving))


def test_calls_of_rule_players_are_imitated():
    config = learning(bidders="rules", learn="bids", rules="contree")
    learner = Learner(config, Rules.preset(config.rules))
    found = batches_for(config, learner)
    assert set(found) == {"bid"} and len(found["bid"].actions) > 20
    batch, tower = found["bid"], learner.policy.bid

    def likelihood():
        with torch.inference_mode():
            log_probs = tower.log_probs(batch.bits[:, : len(tower.columns)], batch.mask)
            return float(log_probs.gather(1, batch.actions[:, None]).mean())

    before = likelihood()
    assert batch.mask.gather(1, batch.actions[:, None]).all()
    for iteration in range(5):
        learner.update(found, schedule(config, 0), iteration)
    assert likelihood() > before + 0.1


def test_a_tower_without_decisions_does_not_change(batches):
    config = learning()
    learner = Learner(config, Rules.preset(config.rules))
    before = snapshot(learner.policy)
    losses = learner.update({"bid": batches["bid"]}, schedule(config, 0), 0)
    assert same(tower_of(before, "play"), tower_of(snapshot(learner.policy), "play"))
    assert losses["play_policy_loss"] is None and losses["play_gradient_steps"] == 0
    assert losses["bid_gradient_steps"] > 0


def test_the_average_follows_slowly(batches):
    before, learner, _ = updated(batches, average=0.75)
    after = snapshot(learner.policy)
    for key, value in learner.average.state_dict().items():
        expected = before["average"][key] + 0.25 * (after[key] - before["average"][key])
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-7)
    assert not same(after, snapshot(learner.average))
    before, learner, _ = updated(batches)  # no average is kept
    assert same(before["average"], snapshot(learner.average))


def test_a_magnet_draws_the_policy_to_its_average(batches):
    """The heavier, the closer, however long it learns from the same decisions."""

    def distance(magnet):
        _, learner, _ = updated(batches, times=3, average=0.99, magnet=magnet, stop_kl=0)
        batch, tower, slow = batches["play"], learner.policy.play, learner.average.play
        bits = batch.bits[:, : len(tower.columns)]
        with torch.inference_mode():
            return float(ppo.divergence(tower.log_probs(bits, batch.mask), slow.log_probs(bits, batch.mask)).mean())

    free, drawn, held = distance(0), distance(1), distance(30)
    assert held < drawn < free
    assert held < free / 4


def test_an_update_depends_on_seed_and_iteration_alone(batches):
    state = torch.get_rng_state()
    _, first, _ = updated(batches)
    torch.rand(5)
    _, second, _ = updated(batches)
    assert same(snapshot(first.policy), snapshot(second.policy))
    torch.set_rng_state(state)
    _, _, _ = updated(batches)
    assert torch.equal(state, torch.get_rng_state())  # the global generator is the caller's


def test_a_learner_begins_from_weights_of_the_same_shapes():
    rules = Rules.preset(TINY.rules)
    other = Learner(learning(seed=9), rules)
    learner = Learner(TINY, rules)
    assert not same(snapshot(learner.policy), snapshot(other.policy))
    learner.begin_from(other.policy, other.critic)
    assert same(snapshot(learner.policy), snapshot(other.policy))
    assert same(snapshot(learner.critic), snapshot(other.critic))
    assert same(snapshot(learner.average), snapshot(other.policy))
    third = Learner(TINY, rules)
    before = snapshot(third.critic)
    third.begin_from(other.policy, None, ["bid"])
    assert same(before, snapshot(third.critic))
    assert same(tower_of(snapshot(third.policy), "bid"), tower_of(snapshot(other.policy), "bid"))
    assert not same(tower_of(snapshot(third.policy), "play"), tower_of(snapshot(other.policy), "play"))
    assert same(snapshot(third.average), snapshot(third.policy))
    for wider in (learning(hidden=(17,)), learning(bid_hidden=(16, 16)), learning(critic_hidden=(8,))):
        wide = Learner(wider, rules)
        with pytest.raises(ValueError, match="other shapes than this"):
            learner.begin_from(wide.policy, wide.critic)


def test_a_loss_that_is_not_finite_stops(batches, monkeypatch):
    loss = ppo.policy_loss
    monkeypatch.setattr(ppo, "policy_loss", lambda *arguments: loss(*arguments) * float("nan"))
    with pytest.raises(Diverged, match="not a finite number"):
        updated(batches)


@pytest.mark.parametrize("target", [float("nan"), float("inf")])
def test_targets_that_are_not_finite_stop(batches, target):
    spoilt = {name: type(batch)(**vars(batch) | {"targets": batch.targets + target}) for name, batch in batches.items()}
    with pytest.raises(Diverged, match="not a finite number"):
        updated(spoilt)


def test_the_critic_reads_what_the_policy_reads_and_the_hidden_hands(batches):
    learner = Learner(TINY, Rules.preset(TINY.rules))
    assert isinstance(learner.critic, Critic)
    for name in TOWERS:
        kept = len(getattr(learner.policy, name).columns)
        assert learner.critic.inputs[name] == kept + 96 == batches[name].bits.shape[1]
        hands = batches[name].bits[:, kept:].reshape(-1, 3, 32)
        assert (hands.sum(1) <= 1).all()  # no card is in two hands
