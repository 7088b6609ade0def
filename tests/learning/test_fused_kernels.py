"""Kernels for a GPU: the switch anywhere; what they compute where there is a GPU, or step by step.

``TRITON_INTERPRET=1 python -m pytest tests/learning/test_fused_kernels.py`` runs them in Python where Triton is
installed; ``benchmarks/gpu.py`` compares many more ways on a GPU.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import torch
from benchmarks import gpu

from batches import drawn
from manytruths import CallError
from manytruths.learning import ExtendedDiceLoss, batch_staple, energy_distance, kernels, staple
from manytruths.learning.batch_staple import Tables, code_pixels, fit_in_kernel, fit_step_by_step
from manytruths.learning.fused import dice, energy
from manytruths.learning.fused import staple as fused_staple
from manytruths.learning.kernels import can_fuse, interpreted, use_fused_kernels

DEVICE = "cpu" if interpreted() else "cuda"
runs = pytest.mark.skipif(
    not (interpreted() or (torch.cuda.is_available() and kernels.can_build())),
    reason="needs a GPU, or TRITON_INTERPRET=1, and Triton",
)
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered:RuntimeWarning")
"""NumPy, in which Triton's interpreter computes, says what a GPU does silently: 0 / 0 of an image that nobody rated."""
PRESENCE = pytest.mark.parametrize("presence", [None, "image", "pixel"])


def present_of(kind, target, seed=0):
    """One image without raters."""
    if kind is None:
        return None
    there = np.random.default_rng(seed).random(target.shape if kind == "pixel" else target.shape[:2]) < 0.6
    there[0, 0], there[1] = True, False
    return torch.from_numpy(there).to(DEVICE)


def ways():
    """Whether each kind of kernel would run for tensors that all of them take."""
    target, logits = drawn((2, 9, 9), 3).to(DEVICE), torch.zeros(2, 1, 9, 9, device=DEVICE)
    flat = target.flatten(2)
    return [dice.fits(logits, target, None), fused_staple.fits(target, None, 2), energy.fits(flat, flat)]


# -- the switch --------------------------------------------------------------------------------------------------------


def test_they_are_on_until_they_are_turned_off_and_on_again_afterwards():
    def wanted():
        return kernels._fused

    assert wanted()
    with use_fused_kernels(False):
        assert not wanted()
        with use_fused_kernels():
            assert wanted()
        assert not wanted()
    with pytest.raises(ZeroDivisionError), use_fused_kernels(False):
        1 / 0  # noqa: B018
    assert wanted()


@runs
def test_where_they_can_run_they_do_unless_they_are_turned_off():
    assert ways() == [True] * 3
    with use_fused_kernels(False):
        assert ways() == [False] * 3


@runs
def test_the_switch_holds_in_all_threads():
    found = []
    with use_fused_kernels(False):
        thread = threading.Thread(target=lambda: found.extend(ways()))
        thread.start()
        thread.join()
    assert found == [False] * 3


@pytest.mark.skipif(interpreted(), reason="Triton's interpreter runs kernels on a CPU")
def test_on_a_cpu_nothing_changes():
    target, samples = drawn((2, 12, 12), 4), drawn((2, 12, 12), 3, seed=1)
    logits = torch.randn(2, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    works = (
        lambda: ExtendedDiceLoss()(logits, target),
        lambda: staple(target).probability,
        lambda: energy_distance(samples, target),
    )
    with use_fused_kernels(False):
        usual = [work() for work in works]
    assert not can_fuse(target)
    assert all(torch.equal(work(), wanted) for work, wanted in zip(works, usual, strict=True))


# -- what they compute -------------------------------------------------------------------------------------------------


def value_and_slope(loss, logits, *rest):
    own = logits.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    value = loss(own, *rest)
    (value * torch.arange(1, value.numel() + 1, device=own.device).view(value.shape)).sum().backward()
    return value.detach(), own.grad


@runs
@PRESENCE
@pytest.mark.parametrize("channels", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("batch", "reduction", "background", "smooth"),
    [(False, "mean", False, 0.0), (True, "none", True, 0.5), (False, "none", False, 0.5), (True, "sum", False, 0.0)],
)
def test_the_loss_and_its_gradient(presence, channels, batch, reduction, background, smooth):
    target = drawn((3, 37, 19), 4, max(2, channels), seed=channels).to(DEVICE)
    generator = torch.Generator().manual_seed(channels)
    logits = (3 * torch.randn(3, channels, 37, 19, generator=generator)).to(DEVICE)
    loss, present = ExtendedDiceLoss(background, batch, smooth, reduction), present_of(presence, target)
    wanted, right = value_and_slope(loss, logits.double(), target, present)
    for given, kind in ((logits, torch.float32), (logits.movedim(1, -1).contiguous().movedim(-1, 1), torch.uint8)):
        assert dice.fits(given, target.to(kind), present)
        value, slope = value_and_slope(loss, given, target.to(kind), present)
        assert value.shape == wanted.shape
        assert torch.allclose(value.double(), wanted, atol=1e-6, rtol=0)
        assert float((slope - right).abs().max()) <= 3e-6 * float(right.abs().max())


@runs
def test_second_derivatives_of_the_fused_loss_are_refused():
    logits = torch.randn(1, 1, 4, 4, device=DEVICE, requires_grad=True)
    loss = ExtendedDiceLoss()(logits, torch.ones(1, 2, 4, 4, device=DEVICE))
    with pytest.raises(CallError, match="second derivatives"):
        torch.autograd.grad(loss, logits, create_graph=True)


def same_staple(found, wanted):
    for name in ("probability", "confusion", "sensitivity", "specificity"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        assert torch.allclose(ours, theirs, atol=1e-6, rtol=0, equal_nan=True), name
    assert torch.equal(found.hard, wanted.hard)
    assert torch.equal(found.converged, wanted.converged)
    assert int((found.iterations - wanted.iterations).abs().max()) <= 1


@runs
@PRESENCE
@pytest.mark.parametrize(("labels", "raters"), [(2, 2), (2, 5), (3, 3)])
@pytest.mark.parametrize("prior", ["prevalence", "estimated", "marked", "given"])
def test_staple_in_three_kernels(presence, labels, raters, prior, monkeypatch):
    target = drawn((3, 20, 23), raters, labels, seed=raters)
    target[:, :, 0] = 0
    target[2] = int(prior != "marked")
    target, given = target.to(DEVICE), [0.6, 0.3, 0.1][: labels - 1]
    options = {"labels": labels, "prior": [*given, 1 - sum(given)] if prior == "given" else prior}
    options |= {"tol": 1e-5, "max_iter": 60}
    present = present_of(presence, target)
    assert fused_staple.fits(target, present, labels)
    found = staple(target, present, **options)
    monkeypatch.setattr(batch_staple, "EM", "device")
    with use_fused_kernels(False):
        same_staple(found, staple(target, present, **options))


@runs
def test_staple_in_three_kernels_refuses_what_the_other_refuses():
    target = drawn((2, 5, 5), 3).to(DEVICE)
    target[1, 0] = 1
    with pytest.raises(CallError, match="image 1: every pixel is marked"):
        staple(target, prior="marked")


@runs
@pytest.mark.parametrize("estimate", [False, True])
@pytest.mark.parametrize("labels", [2, 3])
def test_em_in_one_kernel_as_step_by_step(labels, estimate):
    """That which runs where the three kernels do not take the table."""
    target = drawn((4, 30, 30), 5 if labels == 2 else 3, labels).to(DEVICE)
    table = code_pixels(target, None, labels)
    tables = Tables.of(table.rows, table.counts, None, labels)
    prior = tables.given(tables.share) / tables.counts.sum(dim=0)
    found, wanted = (fit(tables, prior, estimate, 1e-5, 60) for fit in (fit_in_kernel, fit_step_by_step))
    for name in ("weight", "confusion", "prior"):
        assert torch.allclose(getattr(found, name), getattr(wanted, name), atol=1e-6, rtol=0, equal_nan=True), name
    assert int((found.iterations - wanted.iterations).abs().max()) <= 1
    assert torch.equal(found.converged, wanted.converged)


@runs
@pytest.mark.parametrize("count", [2, 16, 100])
@pytest.mark.parametrize("shape", [(3, 17, 33), (2, 5, 4, 9)])
def test_intersections_in_a_kernel(count, shape):
    samples, masks = drawn(shape, count).to(DEVICE), drawn(shape, 5, seed=1).to(DEVICE)
    with use_fused_kernels(False):
        wanted = energy_distance(samples, masks, unbiased="both")
    assert energy.fits(samples.flatten(2), masks.flatten(2))
    assert torch.equal(energy_distance(samples, masks, unbiased="both"), wanted)


# -- the benchmark that decides ----------------------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_benchmark_says_that_there_is_no_gpu(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit, match=r"^no device: PyTorch finds no GPU here; .*$"):  # with a text it ends with 1
        gpu.main()
    assert capsys.readouterr() == ("", "")


def test_what_the_benchmark_decides():
    def times(new, queued):
        old = {way: {"median": 2.0} for way in ("alone", "queued")}
        return {"old": old, "new": {"alone": {"median": new}, "queued": {"median": queued}}}

    found = dict.fromkeys(gpu.CHECKED.values(), "")
    found |= {"losses": times(1.0, 0.5), "STAPLE": times(1.0, 2.5), "energy": times(1.0, 1.0)}
    assert list(gpu.decide(found, {"energy is right"})) == [
        "losses: right, 0.50 × the time of the old, alone, 0.25 × the time of the old, queued: stays on",
        "STAPLE: right, 0.50 × the time of the old, alone, 1.25 × the time of the old, queued: should be off",
        "energy: WRONG, 0.50 × the time of the old, alone, 0.50 × the time of the old, queued: should be off",
    ]
    assert set(gpu.decide({"losses": "Traceback"}, set())) == {
        f"{name}: not measured or not checked" for name in gpu.CHECKED
    }
