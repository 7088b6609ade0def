"""Votes of batches, against those of the library on each image."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given

import manytruths as mt
from batches import batches, drawn, painted, tally
from manytruths import CallError
from manytruths.learning import inner_region, majority_vote, outer_region, vote_share


@given(batches(labels=(2,)))
def test_two_labels_as_in_the_library(batch):
    target, present, _ = batch
    found = [f(target, present) for f in (vote_share, majority_vote, inner_region, outer_region)]
    for n in range(len(target)):
        table = tally(target, present, 2, n)
        vote = mt.vote(table)
        wanted = [vote.probability, vote.hard, mt.inner_region(table), mt.outer_region(table)]
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours[n].numpy() == pytest.approx(painted(theirs, target, present, n), abs=1e-6)


@given(batches(labels=(2,)))
def test_the_type_of_annotations_does_not_matter(batch):
    target, present, _ = batch
    for f in (vote_share, majority_vote, inner_region, outer_region):
        for kind in (torch.bool, torch.int64, torch.float32):
            assert torch.equal(f(target, present), f(target.to(kind), present))


@given(batches(labels=(3, 4)))
def test_more_labels_as_in_the_library(batch):
    target, present, labels = batch
    share, most = vote_share(target, present, labels), majority_vote(target, present, labels)
    for n in range(len(target)):
        found = mt.plurality(tally(target, present, labels, n))
        wanted = painted(found.probability, target, present, n)
        assert share[n].movedim(0, -1).numpy() == pytest.approx(wanted, abs=1e-6)
        assert (most[n].numpy() == painted(found.label, target, present, n)).all()


@given(batches(labels=(3, 4), images=(1, 1), presence=(None, "pixel")))
def test_inner_and_outer_of_more_labels_by_pixel(batch):
    target, present, labels = batch
    there = torch.ones_like(target, dtype=torch.bool) if present is None else present
    found, columns = (f(target, present, labels).flatten().tolist() for f in (inner_region, outer_region)), []
    for given_, rated in zip(target[0].flatten(1).T.tolist(), there[0].flatten(1).T.tolist(), strict=True):
        marks = [g for g, r in zip(given_, rated, strict=True) if r]
        alone = marks[0] if marks and len(set(marks)) == 1 else 0
        most = max(range(1, labels), key=lambda k: (marks.count(k), -k))
        columns.append((alone, most if marks.count(most) else 0))
    assert list(zip(*found, strict=True)) == columns


def test_a_crowd_of_raters():
    target = drawn((2, 9), raters=300)
    assert vote_share(target).numpy() == pytest.approx(target.float().mean(dim=1).numpy())
    assert torch.equal(majority_vote(target), target.float().mean(dim=1) >= 0.5)


def test_what_cannot_be_is_refused():
    target = drawn((2, 3, 3), raters=3)
    with pytest.raises(
        CallError, match=r"present must have the shape \(N, R\).*\(2, 2\) for annotations \(2, 3, 3, 3\)"
    ):
        vote_share(target, torch.ones(2, 2, dtype=torch.bool))
    with pytest.raises(CallError, match="boolean tensor; got float32"):
        majority_vote(target, torch.ones(2, 3))
    with pytest.raises(CallError, match="at least one rater"):
        inner_region(target[:, :0])
