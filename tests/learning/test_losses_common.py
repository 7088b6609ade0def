"""What holds for every loss: gradients, presence, compiling, mixed precision, refusals."""

from __future__ import annotations

import shutil

import pytest
import torch

from batches import DEVICES, drawn, everywhere
from manytruths import CallError
from manytruths.learning import (
    AverageCrossEntropy,
    ConfusionMatrixLoss,
    ConsensusIndividualsLoss,
    EnergyLoss,
    ExtendedDiceLoss,
    ReferenceCrossEntropy,
)

RATERS, RANK = 3, 2


class Steady(EnergyLoss):
    """With the same draws each time."""

    def forward(self, input, target, present=None):
        noise = torch.linspace(-2, 2, 4 * RANK).cos().reshape(1, 4, RANK).to(input.device)
        return super().forward(input, target, present, noise.expand(len(input), -1, -1))


LOSSES = {
    "extended Dice": lambda labels: ExtendedDiceLoss(),
    "extended Dice, batch": lambda labels: ExtendedDiceLoss(include_background=True, batch=True, smooth=0.5),
    "average": lambda labels: AverageCrossEntropy(),
    "rater": lambda labels: ReferenceCrossEntropy("rater", rater=1),
    "inner": lambda labels: ReferenceCrossEntropy("inner"),
    "outer": lambda labels: ReferenceCrossEntropy("outer"),
    "majority": lambda labels: ReferenceCrossEntropy("majority"),
    "STAPLE": lambda labels: ReferenceCrossEntropy("staple"),
    "confusion": lambda labels: ConfusionMatrixLoss(RATERS, labels),
    "individuals": lambda labels: ConsensusIndividualsLoss(RATERS, labels),
    "energy": lambda labels: Steady(labels, rank=RANK),
}
every_loss = pytest.mark.parametrize("name", LOSSES)
INDUCTOR = pytest.param("inductor", marks=[pytest.mark.slow, pytest.mark.skipif(not shutil.which("g++"), reason="g++")])


def number(loss):
    return loss.detach().item()


def batch(name, shape=(2, 5, 4), channels=1, presence=None, device="cpu", kind=torch.float32):
    """A loss, logits and annotations of a kind, and who rated."""
    torch.manual_seed(1)
    labels = max(2, channels)
    heads = {"individuals": 1 + RATERS, "energy": 1 + RANK}.get(name, 1)
    logits = torch.randn(shape[0], heads * channels, *shape[1:], dtype=torch.float64).to(device, kind).requires_grad_()
    target = drawn(shape, RATERS, labels).to(device)
    present = {"image": torch.rand(target.shape[:2]) < 0.7, "pixel": torch.rand(target.shape) < 0.7}.get(presence)
    if present is not None:
        present[0, 0] = present[0, 1] = True
        present = present.to(device)
    return LOSSES[name](labels).to(device), logits, target, present


@every_loss
@pytest.mark.parametrize("presence", [None, "image", "pixel"])
@pytest.mark.parametrize(("shape", "channels"), [((2, 4, 3), 1), ((2, 3, 2, 2), 1), ((2, 4, 3), 3), ((2, 3, 2, 2), 2)])
def test_gradients(name, presence, shape, channels):
    loss, logits, target, present = batch(name, shape, channels, presence, kind=torch.float64)
    loss = loss.double()
    parameters = list(loss.parameters())
    quick = name == "STAPLE"  # whose mask is made anew each time
    assert torch.autograd.gradcheck(lambda x, *_: loss(x, target, present), (logits, *parameters), fast_mode=quick)


@every_loss
@pytest.mark.parametrize("channels", [1, 3])
def test_presence_of_images_is_that_of_all_their_pixels(name, channels):
    loss, logits, target, present = batch(name, channels=channels, presence="image")
    by_pixel = everywhere(target, present).contiguous()
    assert number(loss(logits, target, present)) == pytest.approx(number(loss(logits, target, by_pixel)), abs=1e-6)


@every_loss
@pytest.mark.parametrize("channels", [1, 3])
def test_everybody_present_is_no_presence_at_all(name, channels):
    loss, logits, target, _ = batch(name, channels=channels)
    there = torch.ones_like(target, dtype=torch.bool)
    for present in (there, there[:, :, 0, 0]):
        assert number(loss(logits, target, present)) == pytest.approx(number(loss(logits, target)), abs=1e-6)


@every_loss
@pytest.mark.parametrize("presence", ["image", "pixel"])
def test_what_absent_raters_hold_does_not_matter(name, presence):
    loss, logits, target, present = batch(name, presence=presence)
    other = torch.where(everywhere(target, present), target, 255)
    assert torch.equal(loss(logits, target, present), loss(logits, other, present))


@every_loss
def test_an_image_that_nobody_rated_counts_nothing(name):
    loss, logits, target, _ = batch(name, shape=(3, 5, 4))
    present = torch.tensor([[True] * RATERS, [False] * RATERS, [True] * RATERS])
    found = loss(logits, target, present)
    assert number(found) == pytest.approx(number(loss(logits[::2], target[::2])), abs=1e-6)
    found.backward()
    assert [bool(own.any()) for own in logits.grad] == [True, False, True]


@every_loss
def test_a_batch_that_nobody_rated(name):
    loss, logits, target, _ = batch(name)
    present = torch.zeros(2, RATERS, dtype=torch.bool)
    with pytest.raises(CallError, match="none of the 2 images"):
        loss(logits, target, present)
    loss.check = False
    found = loss(logits, target, present)
    found.backward()
    assert number(found) == 0
    assert not logits.grad.any()


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("backend", ["aot_eager", INDUCTOR])
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_whole(name, backend):
    for presence, channels in ((None, 1), ("image", 1), ("pixel", 3)):
        torch.compiler.reset()
        loss, logits, target, present = batch(name, channels=channels, presence=presence)
        wanted = torch.autograd.grad(loss(logits, target, present), logits)[0]
        found = torch.compile(loss, fullgraph=True, backend=backend)(logits, target, present)
        assert number(found) == pytest.approx(number(loss(logits, target, present)), abs=1e-6)
        assert torch.allclose(torch.autograd.grad(found, logits)[0], wanted, atol=1e-6)


@every_loss
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_halves_give_what_32_bits_give(name, kind, device):
    loss, logits, target, present = batch(name, (2, 80, 70), presence="pixel", device=device, kind=kind)
    found = loss(logits, target, present)
    wide = logits.detach().float().requires_grad_()
    wanted = loss(wide, target, present)
    with torch.autocast(device, dtype=torch.bfloat16):
        mixed = loss(logits, target, present)
    assert found.dtype == mixed.dtype == torch.float32
    assert number(found) == pytest.approx(number(wanted), abs=1e-6)
    assert number(mixed) == pytest.approx(number(wanted), abs=1e-6)
    found.backward()
    wanted.backward()
    assert torch.allclose(logits.grad.float(), wide.grad, atol=1e-4)


@every_loss
def test_extreme_logits_stay_finite(name):
    loss, logits, target, present = batch(name, presence="pixel")
    extreme = (1e4 * logits.detach()).requires_grad_()
    found = loss(extreme, target, present)
    found.backward()
    assert torch.isfinite(found)
    assert torch.isfinite(extreme.grad).all()


@every_loss
def test_shapes_that_do_not_belong_together(name):
    loss, logits, target, present = batch(name, presence="image")
    with pytest.raises(CallError, match=r"target .*\(2, 3, 5, 3\) does not match input .*\(2, ., 5, 4\)"):
        loss(logits, target[..., :3])
    with pytest.raises(CallError, match=r"\(2, 3, 5\) does not match"):
        loss(logits, target[..., 0])
    with pytest.raises(CallError, match=r"\(1, 3, 5, 4\) does not match"):
        loss(logits, target[:1])
    with pytest.raises(CallError, match="must be logits, floats"):
        loss(logits.long(), target)
    with pytest.raises(CallError, match=r"present must have the shape \(N, R\)"):
        loss(logits, target, present[:, :2])


@every_loss
def test_labels_out_of_range(name):
    loss, logits, target, _ = batch(name)
    with pytest.raises(CallError, match=r"image 0, rater .: the annotation at .* is 7,"):
        loss(logits, torch.full_like(target, 7))


@pytest.mark.parametrize("make", [ExtendedDiceLoss, AverageCrossEntropy, ReferenceCrossEntropy])
def test_unknown_reductions(make):
    with pytest.raises(CallError, match="reduction must be one of 'mean', 'sum', 'none'; got 'median'"):
        make(reduction="median")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "STAPLE"])
def test_a_gpu_is_not_waited_for(name):
    loss, logits, target, present = batch(name, presence="pixel", device="cuda")
    loss.check = False
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss(logits, target, present).backward()
        loss.check = True
        loss(logits, target.bool())
    finally:
        torch.cuda.set_sync_debug_mode("default")
