"""TorchRL's wrapper of the parallel table: groups, rewards, masks that no distribution dies of, seeds."""

from itertools import islice

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")

from tensordict.nn import (  # noqa: E402
    InteractionType,
    ProbabilisticTensorDictModule,
    TensorDictModule,
    TensorDictSequential,
)
from torchrl.envs.utils import step_mdp  # noqa: E402
from torchrl.modules import MaskedCategorical  # noqa: E402
from truth import assert_varied, choose  # noqa: E402

from belote_env import belote_v0  # noqa: E402
from belote_env.envs.adapters.torchrl import GROUPS, make_env  # noqa: E402
from belote_env.notation import position_text  # noqa: E402
from belote_env.rules import as_rules  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested")


def answers(data):
    """Everybody's action by `choose`."""
    for group in GROUPS:
        bits, masks = data[group, "observation", "observation"].numpy(), data[group, "action_mask"].numpy()
        data[group, "action"] = torch.tensor([choose(o, m) for o, m in zip(bits, masks, strict=True)])
    return data


def dealt(deals):
    """Options of a reset and what the deal then comes to: whole deals, and the last two tricks of most to save time."""
    aec, rules = belote_v0.env(obs_dtype="uint8"), as_rules("classic")
    for number in range(deals):
        aec.reset(seed=number)
        late = number % 20 > 0
        options = None if late else {"position": position_text(aec._states, 0, rules)}
        while not aec.terminations["player_0"]:
            seen = aec.observe(aec.agent_selection)
            aec.step(choose(seen["observation"], seen["action_mask"]))
            if late and int(aec._states["n_cards"][0]) == 24 and options is None:
                options = {"position": position_text(aec._states, 0, rules)}
        if options is not None:
            scores = aec._states[0]["deal_scores"].astype(int)
            yield options, int(scores[0] - scores[1])


def test_every_seat_is_paid_the_difference_of_a_thousand_deals():
    """pytorch/rl #3702: agents vanished from a step, and their reward with them."""
    env, found = make_env(obs_dtype="uint8"), []
    for options, true in islice(dealt(3000), 1000):
        data, paid = env.reset(options=options), {group: torch.zeros(2, 1) for group in GROUPS}
        while True:
            assert sum(int(data[group, "info", "to_act"].sum()) for group in GROUPS) == 1
            after = env.step(answers(data))["next"]
            for group in GROUPS:
                assert after[group, "reward"].shape == (2, 1)
                paid[group] += after[group, "reward"]
            if after["done"].item():
                break
            data = step_mdp(data)
        for group, sign in (("side_0", 1), ("side_1", -1)):
            assert (256 * paid[group] == sign * true).all()
            assert after[group, "done"].all()
            assert after[group, "action_mask"].all()
        found.append(true)
    assert len(found) == 1000
    assert_varied(found)


def test_a_masked_policy_rolls_out_and_seeds_repeat():
    """A row of zeros, as other tables show at the end, makes the distribution raise or return NaN."""
    runs = []
    for seed in (3, 3, 4):
        env = make_env(seed)
        parts = []
        for group in GROUPS:
            parts.append(
                TensorDictModule(lambda mask: torch.zeros(mask.shape), [(group, "action_mask")], [(group, "logits")])
            )
            parts.append(
                ProbabilisticTensorDictModule(
                    in_keys={"logits": (group, "logits"), "mask": (group, "action_mask")},
                    out_keys=[(group, "action")],
                    distribution_class=MaskedCategorical,
                    default_interaction_type=InteractionType.RANDOM,
                    return_log_prob=True,
                    log_prob_key=(group, "log_prob"),
                )
            )
        torch.manual_seed(1)
        data = env.rollout(120, TensorDictSequential(*parts), break_when_any_done=False)
        assert data["next", "done"].sum() >= 2
        for group in GROUPS:
            assert torch.isfinite(data[group, "log_prob"]).all()
            assert data[group, "action_mask"].any(-1).all()
            chosen = data[group, "action_mask"].gather(-1, data[group, "action"].unsqueeze(-1))
            assert chosen.all()
        runs.append(torch.cat([data[group, "observation", "observation"] for group in GROUPS]))
    assert (runs[0] == runs[1]).all()
    assert not (runs[0] == runs[2]).all()
