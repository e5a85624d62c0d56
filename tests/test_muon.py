"""Muon against the definition of what it does, and against torch's own in bfloat16."""

import pytest

torch = pytest.importorskip("torch")

from tiny_runs import TINY  # noqa: E402

from belote_env.rules import Rules  # noqa: E402
from training.learner import Learner  # noqa: E402
from training.muon import ADAM_SHARE, Muon, orthogonal  # noqa: E402

torch.set_num_threads(1)


@pytest.mark.parametrize("shape", [(24, 24), (16, 90), (90, 16), (1, 5)])
def test_singular_values_become_about_one_and_the_vectors_stay(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 1e-4
    made = orthogonal(matrix)
    assert made.shape == matrix.shape
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    inner = u.T @ made @ v.T  # diagonal in the matrix's own vectors
    large = s > 0.02 * s.sum()
    assert ((inner.diagonal() > 0.6) & (inner.diagonal() < 1.3))[large].all() and large.any()
    assert (inner - inner.diagonal().diag()).abs().max() < 1e-3


def test_nothing_stays_nothing():
    assert (orthogonal(torch.zeros(3, 4)) == 0).all()


def test_its_steps_are_those_of_torch():
    chance = torch.Generator().manual_seed(2)
    start = torch.randn(30, 20, generator=chance)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    mine = Muon([ours], 0.03)
    other = torch.optim.Muon([theirs], 0.03, weight_decay=0)
    for _ in range(6):
        gradient = torch.randn(30, 20, generator=chance)
        ours.grad, theirs.grad = gradient, gradient.clone()
        mine.step()
        other.step()
    assert (ours - start).norm() > 0.1
    assert (ours - theirs).norm() < 0.03 * (ours - start).norm()  # theirs counts in bfloat16


def test_what_has_no_gradient_stays_and_vectors_are_refused():
    still = torch.nn.Parameter(torch.ones(2, 2))
    Muon([still]).step()
    assert (still == 1).all()
    with pytest.raises(ValueError, match="Muon moves matrices"):
        Muon([torch.nn.Parameter(torch.ones(3))])


def test_it_has_the_hidden_matrices_and_adam_the_rest():
    learner = Learner(TINY.model_copy(update={"optimizer": "muon"}), Rules.preset("classic"))
    learner.set_rate("play", 0.04)
    muon, adam = (learner.optimizers["play"][kind].param_groups[0] for kind in ("muon", "adam"))
    assert muon["lr"] == 0.04 and adam["lr"] == 0.04 * ADAM_SHARE
    assert [id(w) for w in muon["params"]] == [
        id(learner.policy.play.trunk[0].weight),
        id(learner.critic.play[0].weight),
    ]
    both = {id(parameter) for group in (muon, adam) for parameter in group["params"]}
    assert both == {id(p) for net in (learner.policy.play, learner.critic.play) for p in net.parameters()}


def test_moments_of_another_optimizer_are_refused():
    rules = Rules.preset("classic")
    muon, adam = (Learner(TINY.model_copy(update={"optimizer": name}), rules) for name in ("muon", "adam"))
    bits = torch.ones(4, len(muon.policy.play.columns))
    muon.step("play", muon.policy.play(bits)[0].sum(), [muon.policy.play])
    kept = muon.tensors()
    muon.restore(muon.policy, muon.critic, kept)
    assert set(muon.tensors()) == set(kept) and any("muon" in key for key in kept)
    with pytest.raises(ValueError, match="the moments are of other optimizers"):
        adam.restore(muon.policy, muon.critic, kept)
