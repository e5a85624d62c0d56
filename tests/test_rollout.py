"""Rollouts: who decides in each deal, what is drawn, what is recorded; past teams."""

import copy
import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")

from test_players import RULES as PRESETS  # noqa: E402
from test_training import slow_advantages  # noqa: E402
from tiny_runs import TEAMED, TINY, same  # noqa: E402

from belote_env.envs import SelfPlayVector  # noqa: E402
from belote_env.frames import framed_actions  # noqa: E402
from belote_env.observation import observe_batch  # noqa: E402
from belote_env.players import Heuristic  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.state import AUCTION, FIRST_CALL, N_CARDS, PASS, PLAY  # noqa: E402
from models.network import TOWERS, Critic, PolicyNet, Tower, masked_log_softmax  # noqa: E402
from training.learner import Learner  # noqa: E402
from training.past import PastTeams  # noqa: E402
from training.rollout import Rollout, draw_at  # noqa: E402
from training.teams import BOLDNESS, OWN, PAST, RULES, Teams  # noqa: E402


def tables(config, share=slice(None), kind=SelfPlayVector, **more):
    """The tables of a run, or a share of them."""
    first, last, _ = share.indices(config.tables)
    return kind(
        last - first, config.rules, reward=config.reward, seed=config.seed, skip_forced=True, canonical=True,
        hidden=True, first_table=first, **more,
    )  # fmt: skip


def untrained(config):
    return Learner(config, Rules.preset(config.rules))


# --- drawing actions


def test_no_lot_draws_an_illegal_action():
    generator = torch.Generator().manual_seed(0)
    logits = 8 * torch.randn(4000, 41, generator=generator)
    logits[::5] *= 100  # all but one action underflow
    mask = torch.rand(4000, 41, generator=generator) < torch.rand(4000, 1, generator=generator)
    mask[torch.arange(4000), torch.randint(0, 41, (4000,), generator=generator)] = True
    mask[:41] = torch.eye(41, dtype=torch.bool)  # each action as the only one, the first and the last among them
    log_probs = masked_log_softmax(logits, mask)
    for lot in (0.0, 2.0**-53, 0.5, 1 - 2.0**-53):
        actions = draw_at(log_probs, torch.full((4000,), lot, dtype=torch.float64))
        assert (actions.dtype, actions.shape) == (torch.int64, (4000,))
        assert mask.gather(1, actions[:, None]).all()
        assert (log_probs.gather(1, actions[:, None]) > -800).all()  # nor one whose probability is 0
    lowest = draw_at(log_probs, torch.zeros(4000, dtype=torch.float64))
    possible = log_probs.double().exp() > 0
    assert torch.equal(lowest, possible.int().argmax(1))


def test_lots_are_drawn_in_proportion():
    log_probs = masked_log_softmax(
        torch.tensor([[0.0, 9.0, np.log(3.0), np.log(4.0)]]).expand(8000, 4),
        torch.tensor([[True, False, True, True]]).expand(8000, 4),
    )
    actions = draw_at(log_probs, (torch.arange(8000, dtype=torch.float64) + 0.5) / 8000)
    counts = np.bincount(actions.numpy(), minlength=4)
    assert np.abs(counts - [1000, 0, 3000, 4000]).max() <= 1
    assert (actions.diff() >= 0).all()


# --- teams


SHARED = TEAMED.model_copy(update={"rule_opponents": 0.3, "past_opponents": 0.2, "seeded_auctions": 0.25})


def drawn(config, first_table, n, deals):
    teams = Teams(config, Rules.preset(config.rules), first_table, n)
    teams.draw(np.arange(n), np.broadcast_to(deals, n))
    return teams


def near(count, n, share):
    """Within five standard deviations of what chance gives."""
    return abs(count - n * share) < 5 * (n * share * (1 - share)) ** 0.5


def test_shares_and_sides_are_met_within_chance():
    n = 20_000
    teams = drawn(SHARED, 0, n, 3)
    for kind, share in ((PAST, 0.2), (RULES, 0.3)):
        has = teams.kind == kind
        assert not has.all(1).any()  # the other side is the learner's
        assert near(has.any(1).sum(), n, share)
        assert near(has[:, 0].sum(), has.any(1).sum(), 0.5)
    assert near((teams.kind == OWN).all(1).sum(), n, 0.5)
    assert near(teams.opens.sum(), n, 0.25)
    # openings fall on all kinds of deals alike
    assert near(teams.opens[(teams.kind == PAST).any(1)].sum(), (teams.kind == PAST).any(1).sum(), 0.25)
    ruled = drawn(SHARED.model_copy(update={"bidders": "rules", "learn": "play"}), 0, n, 3).kind
    assert not (ruled == OWN).any()
    assert near((ruled == PAST).any(1).sum(), n, 0.2)
    assert (drawn(TINY, 0, 100, 3).kind == OWN).all()


def test_a_turn_up_has_no_opening_call():
    assert not drawn(SHARED.model_copy(update={"rules": "classic", "seeded_auctions": 1.0}), 0, 500, 0).opens.any()
    assert drawn(SHARED.model_copy(update={"rules": "coinche", "seeded_auctions": 1.0}), 0, 500, 0).opens.all()


def test_sides_depend_on_seed_table_and_deal_alone():
    rng = np.random.default_rng(0)
    whole = [drawn(SHARED, 0, 400, deal) for deal in range(4)]
    assert len({teams.kind.tobytes() + teams.opens.tobytes() for teams in whole}) == 4
    share = Teams(SHARED, Rules.preset(SHARED.rules), 100, 50)
    for _ in range(20):  # some rows at a time, their deals out of order
        rows, deals = rng.permutation(50)[:20], rng.integers(0, 4, 20)
        share.draw(rows, deals)
        for row, deal in zip(rows, deals, strict=True):
            assert share.kind[row].tolist() == whole[deal].kind[100 + row].tolist()
            assert share.opens[row] == whole[deal].opens[100 + row]
    other = drawn(SHARED.model_copy(update={"seed": 1}), 0, 400, 0)
    assert (other.kind != whole[0].kind).any()


def auctions(rules):
    """Positions in which a call is due, from random calls: states and seats to act."""
    vector, rng, found = SelfPlayVector(150, rules, seed=5), np.random.default_rng(5), []
    for _ in range(6):
        found.append(vector.states[vector.states["phase"] != PLAY].copy())
        vector.step((rng.random(vector.action_mask.shape) * vector.action_mask).argmax(1))
    states = np.concatenate(found)
    return states, states["turn"].astype(np.int64)


@pytest.mark.parametrize("preset", PRESETS)
def test_rule_bidders_are_legal_in_the_canonical_frame(preset):
    rules = Rules.preset(preset)
    states, seats = auctions(rules)
    _, masks, frames = observe_batch(states, seats, rules, canonical=True)
    n = len(states)
    teams = drawn(SHARED.model_copy(update={"rules": preset}), 0, n, 0)
    rows = np.arange(n)
    calls = teams.bids(states, rows, seats, frames)
    assert n > 100 and masks[rows, calls].all()
    # any bidder's call where the rows are a part, and each partner's by the same bidder
    some = np.flatnonzero(np.arange(n) % 3 == 1)
    np.testing.assert_array_equal(teams.bids(states, some, seats, frames), calls[some])
    bold = [
        Heuristic(bid_base=30 + more, raise_base=30 - more, coinche=least, take_one=45.5 - more, take_two=43 - more)
        for more, least in BOLDNESS
    ]
    for player in bold:
        player.start(rules)
    answers = np.array([framed_actions(player.act(states, seats), frames) for player in bold])
    assert (answers == calls).any(0).all()
    apart = (answers != answers[0]).any(0)
    assert apart.any()  # timid and bold differ somewhere
    for k in range(len(bold)):
        agree = (answers[k] == calls)[apart].mean()
        assert 0.1 < agree < 0.95  # and each has its share


@pytest.mark.parametrize("preset", [name for name in PRESETS if Rules.preset(name).bidding == "auction"])
def test_opening_calls_are_legal_bids_low_ones_likelier(preset):
    n = 4000
    config = SHARED.model_copy(update={"rules": preset, "tables": n, "seeded_auctions": 1.0})
    vector = tables(config)
    teams = Teams(config, vector.rules, 0, n)
    teams.draw(np.arange(n), vector.episodes)
    assert teams.is_opening(vector.states).all()
    calls = teams.opening_calls(np.arange(n), vector.episodes, vector.action_mask)
    assert vector.action_mask[np.arange(n), calls].all() and (calls >= FIRST_CALL).all()
    levels = np.bincount((calls - FIRST_CALL) // 6, minlength=13)
    possible = vector.action_mask[:, FIRST_CALL:].any(0)
    assert set((calls - FIRST_CALL).tolist()) == set(np.flatnonzero(possible).tolist())
    assert (np.diff(levels[:6]) < 0).all()
    some = np.arange(n)[::-7]
    again = teams.opening_calls(some, vector.episodes[some], vector.action_mask)
    np.testing.assert_array_equal(again, calls[some])
    vector.step(np.full(n, PASS))
    assert not teams.is_opening(vector.states).any()


# --- past teams


@functools.cache
def tagged(number):
    """A policy that can be told by its number."""
    net = PolicyNet(Tower(np.array([0]), (1,), N_CARDS), Tower(np.array([0]), (1,), 9))
    torch.nn.init.constant_(net.play.value.bias, number)
    return net


def tag(net):
    return int(net.play.value.bias)


def past_teams(seed=0, kept=3, every=1, share=0.1):
    fields = {"seed": seed, "past_kept": kept, "past_every": every, "past_opponents": share}
    return PastTeams(TINY.model_copy(update=fields), tagged(0))


def test_past_teams_are_an_even_sample():
    met = np.zeros(11)
    for seed in range(200):
        past = past_teams(seed)
        for number in range(1, 11):
            past.keep(tagged(number), number)
        kept = {int(value) for key, value in past.tensors().items() if key.endswith("play.value.bias")}
        assert len(kept) == 3
        met[list(kept)] += 1
    assert met[0] == 0
    assert (np.abs(met[1:] - 200 * 3 / 10) < 5 * (200 * 0.3 * 0.7) ** 0.5).all()


def test_the_past_team_of_an_iteration():
    past = past_teams(every=5)
    assert past.team(0) is None
    for number in range(1, 16):
        past.keep(tagged(number), number)
    teams = [tag(past.team(iteration)) for iteration in range(600)]
    assert set(teams) == {5, 10, 15}
    assert all(near(teams.count(number), 600, 1 / 3) for number in (5, 10, 15))
    assert teams[:50] == [tag(past.team(iteration)) for iteration in range(50)]
    without = past_teams(share=0)
    without.keep(tagged(1), 1)
    assert without.team(0) is None and without.tensors() == {}


def test_weights_that_are_kept_do_not_change_with_the_policy():
    past, policy = past_teams(), copy.deepcopy(tagged(4))
    past.keep(policy, 1)
    torch.nn.init.constant_(policy.play.value.bias, 7)
    team = past.team(0)
    assert tag(team) == 4
    assert all(not parameter.requires_grad for parameter in team.parameters())


def test_past_teams_restored_are_the_same():
    past, other = past_teams(), past_teams()
    for number in range(1, 9):
        past.keep(tagged(number), number)
    kept = past.tensors()
    other.restore(kept | {"policy.play.value.bias": torch.zeros(1)})
    assert same(other.tensors(), kept)
    for number in range(9, 40):  # and they go on alike
        for teams in (past, other):
            teams.keep(tagged(number), number)
        assert tag(past.team(number)) == tag(other.team(number))
    assert same(other.tensors(), past.tensors())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda kept: kept | {"past.0.play.value.bias": torch.zeros(2)},
        lambda kept: kept | {"past.0.play.value.bias": torch.tensor([float("nan")])},
        lambda kept: kept | {"past.0.play.more": torch.zeros(1)},
        lambda kept: kept | {"past.x.play.value.bias": torch.zeros(1)},
        lambda kept: kept | {"past.9": torch.zeros(1)},
        lambda kept: {key: value for key, value in kept.items() if key != "past.1.bid.policy.weight"},
        lambda kept: kept | {key.replace("past.0", "past.7"): value for key, value in kept.items()},
    ],
)
def test_past_teams_that_do_not_fit_are_refused(spoil):
    past = past_teams()
    for number in range(1, 4):
        past.keep(tagged(number), number)
    kept = past.tensors()
    with pytest.raises(ValueError, match="a past team|unpack|invalid literal"):
        past.restore(spoil(kept))
    assert same(past.tensors(), kept)


# --- rollouts


class Watched(SelfPlayVector):
    """Remembers what stood on the tables at each step, and what was played."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log = []

    def step(self, actions):
        kept = (self.states, self.seat, self.episodes, self.action_mask, self.frames, actions)
        self.log.append([array.copy() for array in kept])
        super().step(actions)


def first_legal(rules):
    """A policy that always takes its first legal action."""
    net = PolicyNet.for_rules(rules, (4,), (4,))
    for parameter in net.parameters():
        torch.nn.init.zeros_(parameter)
    for tower in (net.play, net.bid):
        with torch.no_grad():
            tower.policy.bias.copy_(-100.0 * torch.arange(tower.actions))
    return net


CROWD = SHARED.model_copy(update={"tables": 48, "steps": 70, "rule_opponents": 0.35, "past_opponents": 0.35})


@pytest.fixture(scope="module")
def watched():
    learner = untrained(CROWD)
    rollout = Rollout(tables(CROWD, kind=Watched), CROWD)
    counts = rollout.collect(learner.policy, 0, first_legal(learner_rules(CROWD)))
    return rollout, counts, learner


def learner_rules(config):
    return Rules.preset(config.rules)


def test_each_decision_is_its_deciders(watched):
    """Past teams play their whole side, rule players bid for theirs, openings are nobody's, the rest is recorded."""
    rollout, counts, _ = watched
    seen = dict.fromkeys(("opening", "ruled", "past", "own bid", "own card", "card of a ruled side"), 0)
    bidders = Teams(CROWD, learner_rules(CROWD), 0, CROWD.tables)
    for t, (states, seat, episodes, mask, frames, actions) in enumerate(rollout.vector.log):
        np.testing.assert_array_equal(rollout.seat[t], seat)
        for n in range(CROWD.tables):
            teams = bidders
            teams.draw(np.array([n]), episodes[n : n + 1])  # of this table's deal, whatever the step
            kind, playing = teams.kind[n, seat[n] & 1], states["phase"][n] == PLAY
            opening = teams.opens[n] and states["phase"][n] == AUCTION and states["n_calls"][n] == 0
            assert mask[n, actions[n]]
            if opening:
                seen["opening"] += 1
                assert actions[n] >= FIRST_CALL
                assert actions[n] == teams.opening_calls(np.array([n]), episodes[n : n + 1], mask)[0]
            elif kind == PAST:
                seen["past"] += 1
                assert actions[n] == mask[n].argmax()
            elif kind == RULES and not playing:
                seen["ruled"] += 1
                assert actions[n] == teams.bids(states, np.array([n]), seat.astype(np.int64), frames)[0]
            else:
                seen["card of a ruled side" if kind == RULES else "own card" if playing else "own bid"] += 1
                assert rollout.own[t, n]
                continue
            assert not rollout.own[t, n]
    assert min(seen.values()) > 20
    assert counts.decisions == rollout.own.sum()
    assert counts.deals == rollout.done.sum() > 20


def test_what_happened_is_counted_at_the_tables(watched):
    rollout, counts, _ = watched
    calls = passes = doubled = levels = taken = against = 0
    for t, (states, _, episodes, _, _, actions) in enumerate(rollout.vector.log):
        bid = rollout.own[t] & (states["phase"] != PLAY)
        calls, passes = calls + bid.sum(), passes + (actions[bid] == PASS).sum()
        for n in np.flatnonzero(rollout.done[t] & (states["phase"] == PLAY)):
            teams = drawn(CROWD, int(n), 1, episodes[n])
            doubled += states["multiplier"][n] > 1
            levels += int(states["level"][n])
            if teams.kind[0, 0] != teams.kind[0, 1]:
                against += 1
                taken += teams.kind[0, states["taker"][n] & 1] == OWN
    assert counts.passes == passes / calls and 0 < counts.passes < 1
    assert counts.doubled == doubled / counts.deals
    assert counts.level == levels / counts.deals > 0
    assert counts.taken == taken / against and 0 < counts.taken < 1


def test_who_takes_is_counted_where_rule_players_bid_for_the_learner():
    config = CROWD.model_copy(update={"bidders": "rules", "learn": "play", "past_opponents": 1.0, "rule_opponents": 0})
    past = first_legal(learner_rules(config))  # passes: the other side takes whatever is taken
    config = config.model_copy(update={"seeded_auctions": 0})
    rollout = Rollout(tables(config), config)
    assert rollout.collect(untrained(config).policy, 0, past).taken == 1


def test_a_record_is_legal_and_its_probabilities_are_the_policys(watched):
    rollout, _, learner = watched
    records = copy.deepcopy(rollout._records)
    batches = rollout.batches(learner.critic)
    rollout._records = records
    for name in TOWERS:
        batch, tower = batches[name], getattr(learner.policy, name)
        assert len(batch.actions) > 50
        assert batch.mask.gather(1, batch.actions[:, None]).all()
        assert (batch.mask.sum(1) > 1).all()  # forced moves are played by the vector
        with torch.inference_mode():
            log_probs = tower.log_probs(batch.bits[:, : len(tower.columns)], batch.mask)
            values = learner.critic.values(name, batch.bits)
        chosen = log_probs.gather(1, batch.actions[:, None]).squeeze(1)
        np.testing.assert_allclose(chosen, batch.log_probs, atol=1e-5)
        np.testing.assert_allclose(values, batch.values, atol=1e-5)
        np.testing.assert_allclose(batch.targets, batch.advantages + batch.values, atol=1e-5)


@pytest.mark.parametrize("clip", [0, 10])
def test_a_blind_critic_credits_each_decision_with_the_rest_of_its_deal(watched, clip):
    rollout, _, learner = watched
    config = CROWD.model_copy(update={"gae_lambda": 1.0, "unit": 40.0, "clip_points": clip})
    blind = copy.deepcopy(learner.critic)
    for parameter in blind.parameters():
        torch.nn.init.zeros_(parameter)
    assert isinstance(blind, Critic)
    records, before = copy.deepcopy(rollout._records), rollout.config
    rollout.config = config
    batches = rollout.batches(blind)
    rollout._records, rollout.config = records, before
    points = rollout.rewards.astype(np.float64) * 256
    if clip:
        assert (np.abs(points) > clip).any()
        points = points.clip(-clip, clip)
    zeros = np.zeros(points.shape)
    expected, valid = slow_advantages(rollout.seat, rollout.own, zeros, points / 40, rollout.done, 1.0)
    found = np.concatenate([batches[name].targets.numpy() for name in TOWERS])
    np.testing.assert_allclose(np.sort(found), np.sort(expected[valid]), atol=1e-5)
    # And what slow_advantages says of the first deal is the sum of what it paid from there on.
    for n in range(CROWD.tables):
        ends = np.flatnonzero(rollout.done[:, n])
        for t in range(ends[0] + 1 if len(ends) else 0):
            side = 1 - 2 * (rollout.seat[t, n] & 1)
            if rollout.own[t, n]:
                assert expected[t, n] == pytest.approx(side * points[t : ends[0] + 1, n].sum() / 40)


def test_two_halves_are_one_whole():
    config = TEAMED.model_copy(update={"tables": 12, "steps": 60})
    policy, critic = untrained(config).policy, untrained(config).critic
    past = first_legal(learner_rules(config))
    shares = [slice(None), slice(0, 5), slice(5, 12)]
    rollouts = [Rollout(tables(config, share), config, share.start or 0) for share in shares]
    for iteration in range(2):
        whole, *halves = [rollout.collect(policy, iteration, past) for rollout in rollouts]
        assert whole.decisions == sum(half.decisions for half in halves)
        assert whole.deals == sum(half.deals for half in halves) > 0
        for name in ("seat", "own", "rewards", "done"):
            parts = [getattr(rollout, name) for rollout in rollouts]
            np.testing.assert_array_equal(parts[0], np.concatenate(parts[1:], axis=1))
        batches = [rollout.batches(critic) for rollout in rollouts]
        for name in TOWERS:
            found = [[b[name].bits.numpy(), b[name].actions.numpy()[:, None]] for b in batches]
            rows = [np.concatenate(pair, 1) for pair in found]
            a, b = rows[0], np.concatenate(rows[1:])
            assert sorted(map(bytes, a)) == sorted(map(bytes, b))
    states = [rollout.vector.states.tobytes() for rollout in rollouts]
    assert states[0] == states[1] + states[2]


def test_without_past_teams_yet_the_policy_plays_for_them():
    config = CROWD.model_copy(update={"past_opponents": 1.0, "rule_opponents": 0.0, "steps": 20})
    rollout = Rollout(tables(config, kind=Watched), config)
    rollout.collect(first_legal(learner_rules(config)), 0)
    opening = sum(int((log[5] != log[3].argmax(1)).sum()) for log in rollout.vector.log)
    assert opening == sum(
        int((drawn(config, 0, config.tables, log[2]).is_opening(log[0]) & (log[5] != log[3].argmax(1))).sum())
        for log in rollout.vector.log
    )
