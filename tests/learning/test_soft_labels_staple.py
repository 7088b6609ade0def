"""STAPLE of batches, against that of the library on each image."""

from __future__ import annotations

import importlib
import inspect
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import manytruths as mt
from batches import DEVICES, batches, drawn, everywhere, painted, tally
from manytruths import CallError
from manytruths.core.painting import PatternValues
from manytruths.fusion.em import fit_em
from manytruths.learning import batch_staple, staple
from manytruths.learning.batch_staple import code_pixels

library = importlib.import_module("manytruths.fusion.staple")
SADDLE = [[[[2, 1], [0, 0]], [[1, 0], [2, 1]]]]
NEAR = {"abs": 1e-6, "nan_ok": True}


def same(target, present=None, labels=2, **options):
    """Every image as the library has it; where rounding decides where EM goes, its first steps and where it may end."""
    found = staple(target, present, labels, **options)
    own, there = target.cpu(), None if present is None else present.cpu()
    for n in range(len(target)):
        table = tally(own, there, labels, n)
        wanted = by_plain_em(table, options)
        alike = np.allclose(found.confusion[n].cpu().numpy(), wanted.confusion, rtol=0, atol=1e-6, equal_nan=True)
        if not alike and is_decided_by_rounding(table, wanted, options):
            first = {**options, "max_iter": 5, "tol": 0}
            hold(
                staple(target, present, labels, **first),
                by_plain_em(table, first),
                own,
                there,
                n,
                labels,
            )
            assert_fixed_point(found, table, own, there, n, labels, options)
            continue
        hold(found, wanted, own, there, n, labels)
        assert abs(int(found.iterations[n]) - wanted.iterations) <= 1
        assert bool(found.converged[n]) == (wanted.convergence != "stopped")
    return found


def in_the_library(options):
    known = inspect.signature(mt.staple).parameters
    return {
        name if name in known else {"tol": "tolerance", "max_iter": "most"}[name]: options[name] for name in options
    }


def probability(found, n, labels):
    return (found.probability[n] if labels == 2 else found.probability[n].movedim(0, -1)).cpu().numpy()


def hold(found, wanted, target, present, n, labels):
    """One image against the library."""
    assert probability(found, n, labels) == pytest.approx(painted(wanted.probability, target, present, n), **NEAR)
    assert found.confusion[n].cpu().numpy() == pytest.approx(wanted.confusion, **NEAR)
    assert found.sensitivity[n].cpu().numpy() == pytest.approx(wanted.sensitivity, **NEAR)
    assert found.specificity[n].cpu().numpy() == pytest.approx(wanted.specificity, **NEAR)
    assert (found.hard[n].cpu().numpy() == painted(wanted.hard, target, present, n)).all()


@contextmanager
def started_at(change=lambda weight: weight):
    """The library by plain EM, as batches have it, from other weights: what a function makes of the usual ones.

    After 200 steps the library extrapolates and asks for smaller steps at the end: it ends nearer to where both go.
    """
    with pytest.MonkeyPatch.context() as patch:

        def fit(decisions, weight, prior, estimate, pseudo, tol, max_iter, **_):
            return fit_em(decisions, change(weight), prior, estimate, pseudo, tol, max_iter, plain=max_iter)

        patch.setattr(library, "fit_em", fit)
        yield


def by_plain_em(table, options, change=lambda weight: weight):
    with started_at(change):
        return mt.staple(table, **in_the_library(options))


def is_decided_by_rounding(table, wanted, options):
    """Whether a start that differs by less than a billionth ends elsewhere: at a saddle point of the likelihood.

    Symmetric tables start on one. Exact arithmetic would stay there; rounding grows from step to step.
    """
    random = np.random.default_rng(0)

    def move(weight):
        moved = weight * (1 + 1e-10 * random.standard_normal(weight.shape))
        return moved / moved.sum(axis=1, keepdims=True)

    for _ in range(3):
        other = by_plain_em(table, options, move)
        if not np.allclose(other.confusion, wanted.confusion, atol=1e-7, equal_nan=True):
            return True
    return False


def assert_fixed_point(found, table, target, present, n, labels, options):
    """Another step of the library changes nothing."""
    place = painted(PatternValues(np.arange(len(table.counts), dtype=float), table), target, present, n)
    ends = np.zeros((len(table.counts), labels))
    given = probability(found, n, labels)
    for pattern in range(len(ends)):
        here = given[place == pattern][0]
        ends[pattern] = (1 - here, here) if labels == 2 else here
    after = by_plain_em(table, {**options, "max_iter": 1}, lambda weight: ends)
    assert painted(after.probability, target, present, n) == pytest.approx(given, **NEAR)


def test_where_rounding_decides_both_end_at_fixed_points():
    """Two raters and three labels, who agree nowhere: every label is as likely to be the truth."""
    target = torch.tensor(SADDLE, dtype=torch.uint8)
    table = tally(target, None, 3, 0)
    assert is_decided_by_rounding(table, by_plain_em(table, {}), {})
    same(target, labels=3)


def test_after_many_steps_the_library_is_ahead_on_the_way_to_the_same_end():
    """Two raters who agree nowhere: EM needs more steps than the library takes before it extrapolates."""
    target = torch.zeros((1, 2, 2, 2, 4), dtype=torch.uint8)
    target[0, 0, 0, 0, :2] = target[0, 1, 0, 1, 0] = 1
    table = tally(target, None, 2, 0)
    end, apart = mt.staple(table, tol=1e-14).confusion, []
    for tol in (1e-8, 1e-10, 1e-12):
        assert mt.staple(table, tol=tol).confusion == pytest.approx(end, abs=tol)
        apart.append(np.abs(staple(target, tol=tol).confusion[0].numpy() - end).max())
    assert apart[0] > 10 * apart[1] > 100 * apart[2]


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
