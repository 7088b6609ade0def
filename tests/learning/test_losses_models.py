"""The confusion-matrix model and the consensus with its individuals."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from batches import drawn
from manytruths import CallError
from manytruths.learning import AverageCrossEntropy, ConfusionMatrixLoss, ConsensusIndividualsLoss


def by_pixel(loss, logits, target):
    """The loss as the paper writes it, decision by decision."""
    matrices, chance = loss.matrices, torch.softmax(logits, dim=1)
    losses = []
    for n, r, y, x in torch.cartesian_prod(*map(torch.arange, target.shape)).tolist():
        losses.append(-torch.log(chance[n, :, y, x] @ matrices[r][:, int(target[n, r, y, x])]))
    return torch.stack(losses).mean() + loss.trace_weight * torch.stack([m.trace() for m in matrices]).mean()


def test_the_formula():
    torch.manual_seed(0)
    loss = ConfusionMatrixLoss(raters=3, labels=3, trace_weight=0.3)
    loss.free.data += torch.randn(3, 3, 3)
    logits, target = torch.randn(2, 3, 4, 3), drawn((2, 4, 3), 3, labels=3)
    assert torch.allclose(loss(logits, target), by_pixel(loss, logits, target), atol=1e-6)


@pytest.mark.parametrize("labels", [2, 4])
def test_matrices_start_near_identity_with_rows_of_one(labels):
    loss = ConfusionMatrixLoss(raters=3, labels=labels, start=0.9)
    assert loss.matrices.shape == (3, labels, labels)
    assert torch.allclose(loss.matrices.sum(dim=2), torch.ones(3, labels))
    assert torch.allclose(loss.matrices.diagonal(dim1=1, dim2=2), torch.full((3, labels), 0.9))


def test_identities_give_average_cross_entropy():
    torch.manual_seed(0)
    loss = ConfusionMatrixLoss(raters=3, trace_weight=0, start=1 - 1e-7)
    logits, target = torch.randn(2, 1, 8, 8), drawn((2, 8, 8), 3)
    assert torch.allclose(loss(logits, target), AverageCrossEntropy()(logits, target), atol=1e-5)


@pytest.mark.parametrize("whole", [True, False])
def test_a_rater_of_whom_there_is_nothing_keeps_his_matrix(whole):
    torch.manual_seed(0)
    loss, logits, target = ConfusionMatrixLoss(raters=3), torch.randn(2, 1, 8, 8), drawn((2, 8, 8), 3)
    present = torch.ones((2, 3) if whole else target.shape, dtype=torch.bool)
    present[:, 1] = False
    loss(logits, target, present).backward()
    assert not loss.free.grad[1].any()
    assert loss.free.grad[0].any()
    assert loss.free.grad[2].any()


def test_matrices_that_deny_what_happened_stay_finite():
    loss, target = ConfusionMatrixLoss(raters=2), torch.ones(1, 2, 4, 4, dtype=torch.bool)
    loss.free.data[:] = torch.tensor([[300.0, -300.0], [300.0, -300.0]])
    logits = torch.full((1, 1, 4, 4), 1e3, requires_grad=True)
    found = loss(logits, target)
    found.backward()
    assert all(torch.isfinite(values).all() for values in (found, logits.grad, loss.free.grad))


@pytest.mark.slow
def test_the_rates_of_simulated_raters_are_found():
    """A truth that the network can see, and raters with known confusion: the matrices come near to theirs."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(4, 64, 64, generator=generator) < 0.5
    rates = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.05, 0.95]]])
    chance = torch.stack([torch.where(truth, own[1, 1], own[0, 1]) for own in rates], dim=1)
    target = torch.rand(chance.shape, generator=generator) < chance
    loss, logits = ConfusionMatrixLoss(raters=2, trace_weight=0), torch.where(truth, 12.0, -12.0)[:, None]
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        loss(logits, target).backward()
        optimizer.step()
    assert torch.allclose(loss.matrices, rates, atol=0.02)


def test_the_trace_is_made_small():
    target, logits = drawn((1, 6, 6), 2), torch.zeros(1, 1, 6, 6)
    costs = [ConfusionMatrixLoss(2, trace_weight=w)(logits, target).item() for w in (0, 0.5)]
    assert costs[1] - costs[0] == pytest.approx(0.5 * 2 * 0.95)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_the_three_terms(channels):
    torch.manual_seed(0)
    labels = max(2, channels)
    target, logits = drawn((2, 6, 5), 3, labels), torch.randn(2, 4 * channels, 6, 5)

    def term(**weights):
        none = dict.fromkeys(("consensus_weight", "individual_weight", "consistency_weight"), 0.0)
        return ConsensusIndividualsLoss(3, labels, **(none | weights))(logits, target)

    heads = logits.split(channels, dim=1)
    full = [torch.cat([torch.zeros_like(h), h], dim=1) if channels == 1 else h for h in heads]
    consensus = AverageCrossEntropy()(heads[0], target)
    alone = [functional.cross_entropy(h, target[:, r].long()) for r, h in enumerate(full[1:])]
    chance = [torch.softmax(h, dim=1) for h in full]
    apart = (chance[0] - torch.stack(chance[1:]).mean(dim=0)).square().sum(dim=1).mean()
    assert torch.allclose(term(consensus_weight=2.0), 2 * consensus, atol=1e-5)
    assert torch.allclose(term(individual_weight=1.0), torch.stack(alone).mean(), atol=1e-5)
    assert torch.allclose(term(consistency_weight=1.0), apart, atol=1e-6)
    assert torch.allclose(
        term(consensus_weight=1.0, individual_weight=1.0, consistency_weight=1.0),
        consensus + torch.stack(alone).mean() + apart,
        atol=1e-5,
    )
    assert torch.equal(ConsensusIndividualsLoss.consensus(logits, channels), heads[0])


def test_the_head_of_an_absent_rater_learns_nothing():
    torch.manual_seed(0)
    target, logits = drawn((2, 6, 5), 3), torch.randn(2, 4, 6, 5, requires_grad=True)
    present = torch.tensor([[True, False, True]] * 2)
    ConsensusIndividualsLoss(3)(logits, target, present).backward()
    assert not logits.grad[:, 2].any()
    assert all(logits.grad[:, k].any() for k in (0, 1, 3))


def test_models_of_another_panel_are_refused():
    target = drawn((2, 6, 5), 3)
    with pytest.raises(CallError, match="built for 2 raters and 2 labels, but this batch has 3 raters"):
        ConfusionMatrixLoss(2)(torch.zeros(2, 1, 6, 5), target)
    with pytest.raises(CallError, match=r"logits of 4 or 8 channels .* got \(2, 5, 6, 5\)"):
        ConsensusIndividualsLoss(3)(torch.zeros(2, 5, 6, 5), target)
    for make in (ConfusionMatrixLoss, ConsensusIndividualsLoss):
        with pytest.raises(CallError, match="raters must be 1 or more"):
            make(0)
    with pytest.raises(CallError, match="start must be above 1/2"):
        ConfusionMatrixLoss(2, start=0.5)
    with pytest.raises(CallError, match="reduction must be one of 'mean', 'sum'; got 'none'"):
        ConfusionMatrixLoss(2, reduction="none")
