"""Cross-entropies against PyTorch's own, rater by rater."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import manytruths as mt
from batches import drawn, everywhere, painted, tally
from manytruths import CallError
from manytruths.learning import AverageCrossEntropy, ReferenceCrossEntropy


def each(logits, target):
    """(N, *spatial): PyTorch's cross-entropy against one label a pixel."""
    if logits.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], target.float(), reduction="none")
    return functional.cross_entropy(logits, target.long(), reduction="none")


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 6, 7), (2, 4, 3, 5)])
def test_the_mean_over_raters(channels, shape):
    torch.manual_seed(0)
    target, logits = drawn(shape, 4, max(2, channels)), torch.randn(shape[0], channels, *shape[1:])
    wanted = torch.stack([each(logits, target[:, r]) for r in range(4)]).mean(dim=0)
    assert torch.allclose(AverageCrossEntropy(reduction="none")(logits, target), wanted, atol=1e-5)
    assert torch.allclose(AverageCrossEntropy()(logits, target), wanted.mean(), atol=1e-6)
    assert torch.allclose(AverageCrossEntropy(reduction="sum")(logits, target), wanted.sum(), rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("by_pixel", [False, True])
def test_the_mean_over_those_who_rated(channels, by_pixel):
    torch.manual_seed(0)
    target, logits = drawn((3, 6, 7), 4, max(2, channels)), torch.randn(3, channels, 6, 7)
    present = torch.rand(target.shape if by_pixel else target.shape[:2]) < 0.4
    there = everywhere(target, present).float()
    losses = torch.stack([each(logits, target[:, r]) for r in range(4)], dim=1)
    seen = there.any(dim=1)
    wanted = ((losses * there).sum(dim=1) / there.sum(dim=1).clamp(min=1))[seen].mean()
    assert torch.allclose(AverageCrossEntropy()(logits, target, present), wanted, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("reference", ["inner", "outer", "majority", "staple"])
def test_against_the_truths_of_the_library(reference, channels):
    torch.manual_seed(0)
    labels = max(2, channels)
    target, logits = drawn((3, 9, 8), 4, labels), torch.randn(3, channels, 9, 8)
    present = torch.rand(target.shape) < 0.8
    found = ReferenceCrossEntropy(reference, reduction="none")(logits, target, present)
    for n in range(3):
        table = tally(target, present, labels, n)
        truths = {
            "staple": lambda t: mt.staple(t).hard,
            "majority": lambda t: mt.vote(t).hard if labels == 2 else mt.plurality(t).hard,
        }
        if labels == 2:
            truths |= {"inner": mt.inner_region, "outer": mt.outer_region}
        if reference not in truths:
            continue
        truth = torch.from_numpy(painted(truths[reference](table), target, present, n))
        rated = present[n].any(dim=0)
        wanted = torch.where(rated, each(logits[n : n + 1], truth[None])[0], 0)
        assert torch.allclose(found[n], wanted, atol=1e-6)


def test_against_one_rater():
    torch.manual_seed(0)
    target, logits = drawn((3, 9, 8), 4), torch.randn(3, 1, 9, 8)
    present = torch.ones(3, 4, dtype=torch.bool)
    present[1, 2] = False
    loss = ReferenceCrossEntropy("rater", rater=2)
    assert torch.allclose(loss(logits, target), each(logits, target[:, 2]).mean())
    assert torch.allclose(loss(logits, target, present), each(logits[::2], target[::2, 2]).mean())
    present[:, 2] = False
    with pytest.raises(CallError, match=r"none of the .* was rated"):
        loss(logits, target, present)
    with pytest.raises(CallError, match="there is no rater 4: the annotations have 4"):
        ReferenceCrossEntropy("rater", rater=4)(logits, target)


def test_wrong_calls():
    for arguments in (("rater",), ("majority", 1), ("mean",)):
        with pytest.raises(CallError):
            ReferenceCrossEntropy(*arguments)
