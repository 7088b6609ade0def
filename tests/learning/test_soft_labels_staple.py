"""STAPLE of batches, against that of the library on each image."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import manytruths as mt
from batches import DEVICES, batches, drawn, everywhere, painted, tally
from manytruths import CallError
from manytruths.learning import batch_staple, staple
from manytruths.learning.batch_staple import code_pixels


def same(target, present=None, labels=2, **options):
    """Every image as the library has it."""
    found = staple(target, present, labels, **options)
    target, present = target.cpu(), None if present is None else present.cpu()
    known = inspect.signature(mt.staple).parameters
    options = {
        name if name in known else {"tol": "tolerance", "max_iter": "most"}[name]: options[name] for name in options
    }
    for n in range(len(target)):
        wanted = mt.staple(tally(target, present, labels, n), **options)
        chance = found.probability[n] if labels == 2 else found.probability[n].movedim(0, -1)
        near = {"abs": 1e-6, "nan_ok": True}
        assert chance.cpu().numpy() == pytest.approx(painted(wanted.probability, target, present, n), **near)
        assert found.confusion[n].cpu().numpy() == pytest.approx(wanted.confusion, **near)
        assert found.sensitivity[n].cpu().numpy() == pytest.approx(wanted.sensitivity, **near)
        assert found.specificity[n].cpu().numpy() == pytest.approx(wanted.specificity, **near)
        assert (found.hard[n].cpu().numpy() == painted(wanted.hard, target, present, n)).all()
        assert abs(int(found.iterations[n]) - wanted.iterations) <= 1
        assert bool(found.converged[n]) == (wanted.convergence != "stopped")
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(batches(raters=(2, 5)))
def test_as_in_the_library(batch):
    same(*batch)


@pytest.mark.slow
@settings(max_examples=20)
@given(batches(raters=(2, 4), presence=(None, "image")))
def test_an_estimated_prior_as_in_the_library(batch):
    same(*batch, prior="estimated")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("shape", [(5, 40, 30), (3, 12, 10, 8)])
@pytest.mark.parametrize("where", ["kernel", "cpu", "device"])
def test_images_that_end_at_iterations_of_their_own(device, labels, shape, where, monkeypatch):
    monkeypatch.setattr(importlib.import_module("manytruths.learning.batch_staple"), "EM", where)
    target = drawn(shape, 5, labels).to(device)
    found = same(target, labels=labels)
    assert len(found.iterations.unique()) > 1, "they should differ, or nothing was tested"
    assert found.hard.device.type == found.confusion.device.type == device


@pytest.mark.parametrize("prior", ["marked", 0.2, (0.7, 0.3)])
def test_priors(prior):
    same(drawn((3, 20, 20), 4), prior=prior)


def test_more_iterations_than_are_looked_at_together():
    target = drawn((4, 30, 30), 3, seed=2)
    assert int(same(target, tol=1e-12).iterations.max()) > 2 * batch_staple.STEPS_PER_CHECK


@pytest.mark.parametrize("max_iter", [1, 5, batch_staple.STEPS_PER_CHECK, batch_staple.STEPS_PER_CHECK + 1])
def test_stopped(max_iter):
    found = same(drawn((3, 30, 30), 3), max_iter=max_iter, tol=0)
    assert not found.converged.any()
    assert (found.iterations == max_iter).all()


def test_nothing_or_everything_marked():
    target = drawn((4, 6, 6), 3)
    target[0], target[1] = 0, 1
    present = torch.ones(4, 3, dtype=torch.bool)
    present[2] = False
    found = same(target, present)
    assert found.iterations.tolist()[:3] == [0, 0, 0]
    assert found.hard[:3].flatten(1).float().mean(dim=1).tolist() == [0, 1, 0]
    assert found.converged.all()


def test_what_an_absent_rater_holds_does_not_matter():
    target, present = drawn((2, 10, 10), 4), torch.tensor([[True, True, True, False], [True, False, True, True]])
    other = torch.where(everywhere(target, present), target, 200)
    assert torch.equal(staple(target, present).probability, staple(other, present).probability)
    by_pixel = staple(other, everywhere(target, present))
    assert torch.allclose(staple(target, present).probability, by_pixel.probability, atol=1e-7)


@pytest.mark.parametrize("raters", [17, 70])
def test_more_codes_than_are_listed(raters):
    same(drawn((2, 15, 15), raters, seed=raters))


@given(batches(raters=(2, 4), presence=(None, "pixel")))
def test_codes_that_are_found_count_as_those_that_are_listed(batch):
    target, present, labels = batch
    listed = code_pixels(target, present, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_staple, "MAX_CODES", 0)
        patch.setattr(batch_staple, "MAX_CODE", 20)
        found = code_pixels(target, present, labels)
    rows = [listed.rows[listed.place.long() % len(listed.rows)], found.rows[found.place.long() % len(found.rows)]]
    assert torch.equal(*rows)
    kept = listed.counts.any(dim=0)
    order = np.lexsort(found.rows.numpy().T[::-1])
    assert torch.equal(listed.counts[:, kept], found.counts[:, torch.from_numpy(order)])
    assert torch.equal(listed.rows[kept], found.rows[torch.from_numpy(order)])


def test_wrong_calls():
    target = drawn((2, 5, 5), 3)
    for options in ({"labels": 1}, {"max_iter": 0}, {"prior": "guessed"}, {"prior": 1.0}, {"prior": (0.5, 0.2)}):
        with pytest.raises(CallError):
            staple(target, **options)
    with pytest.raises(CallError, match=r"image 0, rater 0: the annotation at .* is 2,"):
        staple(drawn((1, 9, 9), 3, labels=3))
    target[1, 0] = 1
    with pytest.raises(CallError, match="image 1: every pixel is marked"):
        staple(target, prior="marked")
