"""The `VecEnv` for Stable-Baselines3: rewards, masks, seeds; a MaskablePPO policy exported and played in the arena."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")

from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor  # noqa: E402
from truth import assert_varied, choose, choose_all, differences, of_seat  # noqa: E402

from belote_env.arena import play_match  # noqa: E402
from belote_env.envs import BeloteEnv  # noqa: E402
from belote_env.envs.adapters.sb3 import BeloteVecEnv, export_onnx  # noqa: E402
from belote_env.players import Policy  # noqa: E402


@pytest.mark.parametrize("table", ["classic", "coinche"])
def test_a_seat_is_paid_the_difference_of_a_thousand_deals(table):
    """Rewards from one reset to the next add up to what the deal came to, the other seats' last cards included."""
    tables, deals, seed = 50, 20, 11
    env = BeloteVecEnv(tables, rules=table, opponents=choose)
    env.seed(seed)
    observations = env.reset()
    seats = [info["seat"] for info in env.reset_infos]
    paid, counts, found = np.zeros(tables), np.zeros(tables, int), []
    while counts.min() < deals:
        observations, rewards, dones, infos = env.step(choose_all(observations, env.action_masks()))
        paid += rewards
        for i in np.flatnonzero(dones):
            if counts[i] < deals:
                true = differences(table, seed + int(i), deals)[counts[i]]
                assert 256 * paid[i] == of_seat(seats[i], true)
                found.append(true)
            counts[i], paid[i], seats[i] = counts[i] + 1, 0, infos[i]["seat"]
            assert infos[i]["terminal_observation"].shape == observations[i].shape
    assert len(found) == 1000
    assert_varied(found)


def test_it_is_sb3s_own_vector_of_single_tables():
    """`DummyVecEnv` over `BeloteEnv`s: the same arrays from the same seeds."""
    ours = BeloteVecEnv(4, opponents="random")
    theirs = DummyVecEnv([lambda: BeloteEnv(opponents="random", mask_in="info")] * 4)
    for env in (ours, theirs):
        env.seed(5)
    seen = ours.reset()
    assert (seen == theirs.reset()).all()
    for _ in range(60):
        masks = get_action_masks(ours)
        assert (masks == get_action_masks(theirs)).all()
        assert masks.dtype == np.bool_
        actions = choose_all(seen, masks)
        seen, rewards, dones, infos = ours.step(actions)
        other, other_rewards, other_dones, other_infos = theirs.step(actions)
        assert (seen == other).all()
        assert (rewards == other_rewards).all()
        assert (dones == other_dones).all()
        for mine, info in zip(infos, other_infos, strict=True):
            assert ("terminal_observation" in mine) == ("terminal_observation" in info)
            if "terminal_observation" in mine:
                assert (mine["terminal_observation"] == info["terminal_observation"]).all()


def test_seeds_repeat_and_masks_are_found():
    runs = []
    for seed in (3, 3, 4):
        env = VecMonitor(BeloteVecEnv(8))
        assert is_masking_supported(env)
        env.seed(seed)
        seen, lines = env.reset(), []
        for _ in range(30):
            seen, rewards, _, _ = env.step(choose_all(seen, env.env_method("action_masks")))
            lines.append(seen.tobytes() + rewards.tobytes())
        runs.append(lines)
        env.close()
    assert runs[0] == runs[1] != runs[2]


def test_a_policy_is_exported_and_plays_in_the_arena(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    env = BeloteVecEnv(8, opponents="random")
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=1, device="cpu")
    model.learn(256)
    policy = Policy(export_onnx(model, tmp_path / "policy.onnx"))
    env.seed(9)
    seen = env.reset()
    for _ in range(20):
        masks = np.array(env.action_masks())
        chosen, _ = model.predict(seen, action_masks=masks, deterministic=True)
        logits, _ = policy(seen, masks)
        assert (logits.argmax(1) == chosen).all()
        seen, *_ = env.step(chosen)

    def asked(observation, mask):
        return int(model.predict(observation, action_masks=mask.astype(bool), deterministic=True)[0])

    by_file, by_call = (play_match(player, "random", deals=20, seed=4) for player in (policy, asked))
    assert (by_file.differences == by_call.differences).all()
    assert by_file.pairs == 20
    with pytest.raises(ValueError, match="41 actions"):
        policy.start("coinche")
