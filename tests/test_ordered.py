"""Suits and cards in order, against a slow account of the same from the state of the table."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_players import RULES, positions  # noqa: E402

from belote_env.cards import ALL_TRUMP, PLAIN_ORDER, POINTS, STRENGTH, TRUMP_ORDER, cards_of  # noqa: E402
from belote_env.frames import frame_suit  # noqa: E402
from belote_env.observation import OFFSETS, observe_batch, varying_columns  # noqa: E402
from belote_env.rules import Rules  # noqa: E402
from belote_env.state import LEVEL_VALUES, PLAY  # noqa: E402
from models import checkpoint  # noqa: E402
from models.network import PolicyNet, Tower  # noqa: E402
from models.ordered import RANKED, OrderedInputs, ordered_size  # noqa: E402

torch.set_num_threads(1)


def at_play(rules, n, seed=3):
    """Positions in which a card is to be played, what the seat sees of them and what the network makes of that."""
    states, seats = positions(Rules.preset(rules) if isinstance(rules, str) else rules, n, seed)
    playing = states["phase"] == PLAY
    states, seats = states[playing], seats[playing]
    observations, masks, frames = observe_batch(states, seats, rules, canonical=True)
    columns = varying_columns(rules, "play")
    inputs, places = OrderedInputs(columns)(torch.from_numpy(observations[:, columns]).float())
    return states, seats, observations, masks[:, :32] != 0, frames, inputs.numpy(), places.numpy()


def order(strain, suit):
    """Ranks of a suit from the highest down."""
    return (TRUMP_ORDER if strain in (suit, ALL_TRUMP) else PLAIN_ORDER)[::-1]


def still_out(state, slot, frame, on_table):
    """Cards of a slot's suit, in the frame, that lie on the table or in a hand, from the highest down."""
    gone = {card for s in range(4) for card in cards_of(int(state["played"][s]))}
    suit = frame_suit(int(frame), slot)
    framed = [(8 * suit + rank, 8 * slot + rank) for rank in order(int(state["strain"]), suit)]
    return [there for card, there in framed if card not in gone or there in on_table]


def order_of_suits(state, observation, frame):
    """Slots: trump's, the suit that is led, then those of which the seat has most, highest, highest hidden."""
    table = table_of(observation)
    led = table[min(table)] // 8 if table else None  # the first to play sits nearest behind the viewer
    hand = set(np.flatnonzero(observation[OFFSETS["hand"] : OFFSETS["hand"] + 32]).tolist())
    hidden = sum(observation[OFFSETS[f"possible_{who}"] :][:32].astype(int) for who in ("next", "partner", "previous"))

    def worth(slot):
        cards = still_out(state, slot, frame, table.values())
        own = [card in hand for card in cards] + [False] * (8 - len(cards))
        unseen = [hidden[card] > 0 for card in cards] + [False] * (8 - len(cards))
        return slot == 0 and state["strain"] < 4, slot == led, sum(own), own, unseen, -slot

    return sorted(range(4), key=worth, reverse=True)


@pytest.mark.parametrize("preset", RULES)
def test_suits_lie_in_order_and_what_they_have_goes_with_them(preset):
    rules = Rules.preset(preset)
    states, _seats, observations, _, frames, inputs, places = at_play(rules, 400, 4)
    moved = set()
    columns = varying_columns(rules, "play").tolist()
    fields = [*(OFFSETS[name] for name in ("played_me", "played_next", "played_partner", "played_previous"))]
    fields += [OFFSETS[name] for name in ("trick_1", "trick_2", "trick_4")]
    for i in range(len(states)):
        expected = order_of_suits(states[i], observations[i], frames[i])
        bits, by_suit = observations[i], inputs[i, RANKED * 32 :]
        own = by_suit[: 4 * (len(by_suit) // 4)]
        for place, slot in enumerate(expected):
            table = table_of(bits)
            assert all(places[i, card] // 8 == place for card in still_out(states[i], slot, frames[i], table.values()))
            names = [bits[field + 8 * slot + rank] for field in fields for rank in range(8)]
            names += [bits[OFFSETS["voids"] + 4 * who + slot] for who in range(3)]
            if OFFSETS["auction"] in columns:
                bids = [OFFSETS["auction"] + 8 * level for level in range(len(LEVEL_VALUES))]
                names += [bits[bid + slot] for bid in bids if all(bid + k in columns for k in range(4))]
            start = place * len(names)
            np.testing.assert_array_equal(own[start : start + len(names)], names)
        moved.add(tuple(expected))
    assert len(moved) > 3  # the order is not that of the slots


@pytest.mark.parametrize("preset", RULES)
def test_cards_lie_by_their_rank_among_those_still_out(preset):
    rules = Rules.preset(preset)
    states, seats, observations, _, frames, inputs, places = at_play(rules, 400)
    assert len(states) > 100
    for i, (state, seat) in enumerate(zip(states, seats.tolist(), strict=True)):
        place_of = {slot: k for k, slot in enumerate(order_of_suits(state, observations[i], frames[i]))}
        strain = int(state["strain"])
        gone = {card for s in range(4) for card in cards_of(int(state["played"][s]))}
        table = table_of(observations[i])
        ranked = inputs[i, : RANKED * 32].reshape(RANKED, 32)
        hand = set(cards_of(int(state["hands"][seat])))
        expected = np.zeros((RANKED, 32))
        for slot in range(4):
            suit = frame_suit(int(frames[i]), slot)
            real = [8 * suit + rank for rank in order(strain, suit)]
            framed = {card: 8 * slot + card % 8 for card in real}
            out = [card for card in real if card not in gone or framed[card] in table.values()]
            assert all(places[i, framed[card]] == 32 for card in real if card not in out)
            for k, card in enumerate(out):
                at = 8 * place_of[slot] + k
                assert places[i, framed[card]] == at
                expected[0, at] = card in hand
                for who in (1, 2, 3):
                    expected[who, at] = table.get(who) == framed[card]
                    name = ("possible_next", "possible_partner", "possible_previous")[who - 1]
                    expected[3 + who, at] = observations[i, OFFSETS[name] + framed[card]]
                expected[7, at] = POINTS[strain, card] / 10
                expected[8, at] = card in hand and takes(state, seat, card, table, frames[i])
                expected[9, at] = framed[card] in table.values() and is_best(
                    framed[card], strain, table, frames[i], seat, state
                )
        np.testing.assert_allclose(ranked, expected, atol=1e-6)


def table_of(observation):
    """Who, 1 to 3 seats after the viewer, has which card on the table, in the frame."""
    table = {}
    for who, name in enumerate(("table_next", "table_partner", "table_previous"), start=1):
        for card in np.flatnonzero(observation[OFFSETS[name] : OFFSETS[name] + 32]).tolist():
            table[who] = card
    return table


def real(card, frame):
    return 8 * frame_suit(int(frame), card // 8) + card % 8


def strengths(state, seat, table, frame):
    """Strength of the cards on the table by seat after the viewer; the first to play led."""
    led = next((real(table[who], frame) // 8 for who in (1, 2, 3) if who in table), 0)
    return led, {who: int(STRENGTH[state["strain"], led, real(card, frame)]) for who, card in table.items()}


def takes(state, seat, card, table, frame):
    if not table:
        return True
    led, others = strengths(state, seat, table, frame)
    return STRENGTH[state["strain"], led, card] > max(others.values())


def is_best(card, strain, table, frame, seat, state):
    _, others = strengths(state, seat, table, frame)
    return others[next(who for who, other in table.items() if other == card)] == max(others.values())


@pytest.mark.parametrize("preset", ["classic", "contree", "coinche"])
def test_what_the_takers_want_is_right_to_half_a_step(preset):
    rules = Rules.preset(preset)
    states, *_, inputs, _ = at_play(rules, 600, 5)
    want, left, now = inputs[:, -3:].T * [[50], [50], [20]]
    taker = states["taker"].astype(int)
    side = taker & 1
    rows = np.arange(len(states))
    bid = np.array(LEVEL_VALUES)[states["level"]] if rules.bidding == "auction" else 82
    shown = np.array(
        [[20 * any(bits >> s & 1 for s in (k, k + 2)) for k in (0, 1)] for bits in belote_bits(states, rules)]
    )
    true = bid - states["points"][rows, side].astype(int) - shown[rows, side]
    assert np.abs(want - true).max() < 3.51
    made = states["points"].astype(int).sum(1)
    np.testing.assert_allclose(left, 152 - made, atol=1e-4)
    np.testing.assert_allclose(now, states["trick_points"], atol=1e-4)


def belote_bits(states, rules):
    observations, _, _ = observe_batch(states, np.zeros(len(states), np.int64), rules, canonical=True)
    bits = observations[:, OFFSETS["belote"] : OFFSETS["belote"] + 4]
    return (bits << np.arange(4)).sum(1).tolist()


def ordered_policy(rules, seed=0):
    torch.manual_seed(seed)
    net = PolicyNet.for_rules(rules, (24, 16), (12,), "ordered")
    torch.nn.init.normal_(net.play.policy.weight, std=1.0)
    return net.eval()


def test_logits_go_back_to_their_cards():
    """A tower whose logit of a place is the place's number prefers the lowest card of the last suit."""
    rules = Rules.preset("contree")
    net = ordered_policy(rules)
    torch.nn.init.zeros_(net.play.policy.weight)
    net.play.policy.bias.data[:] = torch.arange(32.0)
    _, _, observations, masks, _, _, places = at_play(rules, 300)
    bits = torch.from_numpy(observations[:, net.play.columns.numpy()])
    with torch.inference_mode():
        logits, _ = net.play(bits)
        log_probs = net.play.log_probs(bits, torch.from_numpy(masks))
    assert (places[masks] < 32).all()  # a card that can be played is out
    np.testing.assert_array_equal(logits.numpy()[masks], places[masks])
    chosen = np.where(masks, places, -1).argmax(1)
    np.testing.assert_array_equal(log_probs.argmax(1).numpy(), chosen)


def test_a_ordered_policy_survives_its_checkpoint(tmp_path):
    rules = Rules.preset("coinche")
    net = ordered_policy(rules)
    checkpoint.save(tmp_path / "a.safetensors", net, rules)
    again = checkpoint.load(tmp_path / "a.safetensors", rules).policy()
    assert again.architecture() == net.architecture() and again.play.inputs == "ordered"
    bits = torch.randint(0, 2, (50, len(net.play.columns)), dtype=torch.uint8)
    with torch.inference_mode():
        assert torch.equal(net.play(bits)[0], again.play(bits)[0])
    assert net.play.trunk[0].weight.shape == (24, ordered_size(len(net.play.columns)))


def test_columns_that_lack_cards_are_refused(tmp_path):
    with pytest.raises(ValueError, match="ordered inputs need all columns of the cards"):
        Tower(np.arange(31), (4,), 32, "ordered")
    rules = Rules.preset("classic")
    net = ordered_policy(rules)
    net.play.columns[:] = torch.arange(len(net.play.columns)) + 5
    assert net.play.columns.max() < 768
    checkpoint.save(tmp_path / "a.safetensors", net, rules)
    with pytest.raises(ValueError, match="the tensors of its policy do not fit its architecture"):
        checkpoint.load(tmp_path / "a.safetensors").policy()


@pytest.mark.parametrize(
    "columns", [[*range(9, 769)], [0, 0, *range(1, 700)], [*range(700, -1, -1)], [*range(-1, 700)]]
)
def test_columns_that_do_not_rise_within_an_observation_are_refused(columns):
    with pytest.raises(ValueError, match="ordered inputs rise within"):
        OrderedInputs(np.array(columns))


@pytest.mark.parametrize(("tower", "inputs"), [("play", "sorted"), ("bid", "ordered"), ("play", 3)])
def test_other_inputs_are_no_network_of_this_project(tmp_path, tower, inputs):
    rules = Rules.preset("classic")
    net = ordered_policy(rules)
    getattr(net, tower).inputs = inputs
    checkpoint.save(tmp_path / "a.safetensors", net, rules)
    with pytest.raises(ValueError, match="an architecture that describes no network"):
        checkpoint.load(tmp_path / "a.safetensors")


def test_calls_are_the_bits():
    net = ordered_policy(Rules.preset("contree"))
    assert net.bid.order is None and net.bid.trunk[0].weight.shape == (12, len(net.bid.columns))
