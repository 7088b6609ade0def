"""The extended Dice loss, against extended Dice, MONAI's Dice loss, and its own law."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from monai.losses import DiceLoss
from torch.utils._python_dispatch import TorchDispatchMode

import manytruths as mt
from batches import DEVICES, batches, drawn, everywhere, masks
from manytruths import CallError
from manytruths.learning import ExtendedDiceLoss

SURE = 200.0


def logits_of(prediction):
    """(N, *spatial) truth values as logits that leave no doubt."""
    return torch.where(prediction.bool(), SURE, -SURE)[:, None]


@given(batches(labels=(2,)), st.randoms(use_true_random=False))
def test_one_minus_extended_dice_of_a_hard_prediction(batch, random):
    target, present, _ = batch
    prediction = torch.tensor([random.random() < 0.5 for _ in range(target[:, 0].numel())]).view(target[:, 0].shape)
    found = ExtendedDiceLoss(reduction="none", check=False)(logits_of(prediction), target, present)[:, 0]
    seen = everywhere(target, present).flatten(1).any(dim=1)
    for n in range(len(target)):
        table = mt.tally(
            masks(target, present, n), predictions={"net": prediction[n].byte().numpy()}, void=255, labels=(0, 1)
        )
        wanted = 1 - mt.extended_dice(table)["net"]
        assert float(found[n]) == pytest.approx(0 if math.isnan(wanted) else wanted, abs=1e-6)
    if seen.any():
        mean = ExtendedDiceLoss()(logits_of(prediction), target, present)
        assert float(mean) == pytest.approx(float(found[seen].mean()), abs=1e-6)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("shape", [(3, 12, 10), (2, 6, 5, 4)])
def test_monais_dice_loss_where_raters_agree(shape, batch):
    from monai.losses import DiceLoss

    torch.manual_seed(0)
    target = drawn(shape, 1).expand(-1, 4, *shape[1:])
    ours, theirs = (torch.randn(shape).unsqueeze(1).requires_grad_() for _ in range(2))
    theirs.data.copy_(ours.data)
    wanted = DiceLoss(sigmoid=True, smooth_nr=0, smooth_dr=0, batch=batch)(theirs, target[:, :1].float())
    found = ExtendedDiceLoss(batch=batch)(ours, target)
    found.backward()
    wanted.backward()
    assert found.item() == pytest.approx(wanted.item(), abs=1e-6)
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-7)


@pytest.mark.parametrize("background", [False, True])
def test_monais_dice_loss_of_several_labels(background):
    from monai.losses import DiceLoss

    torch.manual_seed(0)
    target, logits = drawn((3, 12, 10), 1, labels=4), torch.randn(3, 4, 12, 10)
    peer = DiceLoss(background, to_onehot_y=True, softmax=True, smooth_nr=0, smooth_dr=0)
    found = ExtendedDiceLoss(background)(logits, target.expand(-1, 3, -1, -1))
    assert float(found) == pytest.approx(float(peer(logits, target)), abs=1e-6)


def test_a_smooth_term_as_monai_has_it():
    from monai.losses import DiceLoss

    torch.manual_seed(0)
    target, logits = drawn((3, 12, 10), 1), torch.randn(3, 1, 12, 10)
    peer = DiceLoss(sigmoid=True, smooth_nr=2.5, smooth_dr=2.5)
    assert float(ExtendedDiceLoss(smooth=2.5)(logits, target)) == pytest.approx(float(peer(logits, target.float())))


@given(batches(labels=(2,), presence=(None,)), st.data())
def test_nothing_between_inner_and_outer_region_costs_anything(batch, data):
    target, _, _ = batch
    inner, outer = target.amin(dim=1), target.amax(dim=1)
    free = data.draw(st.lists(st.booleans(), min_size=inner.numel(), max_size=inner.numel()))
    prediction = inner.bool() | (outer.bool() & torch.tensor(free).view(inner.shape))
    assert float(ExtendedDiceLoss()(logits_of(prediction), target)) == pytest.approx(0, abs=1e-6)


def test_two_channels_are_one():
    torch.manual_seed(0)
    target, logits = drawn((3, 9, 9), 4), torch.randn(3, 1, 9, 9)
    two = torch.cat([torch.zeros_like(logits), logits], dim=1)
    assert torch.allclose(ExtendedDiceLoss()(logits, target), ExtendedDiceLoss()(two, target))


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int64, torch.float32])
def test_any_type_of_annotation(kind):
    torch.manual_seed(0)
    target, logits = drawn((3, 9, 9), 4), torch.randn(3, 1, 9, 9)
    assert torch.equal(ExtendedDiceLoss()(logits, target.to(kind)), ExtendedDiceLoss()(logits, target))


def test_over_the_batch():
    torch.manual_seed(0)
    target, logits, present = drawn((3, 9, 9), 4), torch.randn(3, 1, 9, 9), torch.ones(3, 4, dtype=torch.bool)
    present[1] = False
    one = torch.cat([logits[0], logits[2]], dim=1)[None]
    wanted = ExtendedDiceLoss()(one, torch.cat([target[0], target[2]], dim=1)[None])
    assert torch.allclose(ExtendedDiceLoss(batch=True)(logits, target, present), wanted)
    assert ExtendedDiceLoss(batch=True, reduction="none")(logits, target, present).shape == (1,)


def test_several_labels_are_each_a_mask():
    torch.manual_seed(0)
    target, logits = drawn((2, 9, 9), 3, labels=3), 50 * torch.randn(2, 3, 9, 9)
    found = ExtendedDiceLoss(include_background=True, reduction="none")(logits, target)
    code = logits.argmax(dim=1)
    for n in range(2):
        for k in range(3):
            own = [(m == k).astype("uint8") for m in target[n].numpy()]
            table = mt.tally(own, predictions={"net": (code[n] == k).byte().numpy()})
            assert float(found[n, k]) == pytest.approx(1 - mt.extended_dice(table)["net"], abs=2e-2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("far", [0.0, 20.0, 40.0, 44.0, 60.0, 88.0, 100.0, 104.0, 1e4])
@pytest.mark.parametrize("marked", ["nothing", "by some", "by all"])
def test_finite_with_an_empty_intersection(marked, far, kind, device):
    target = torch.zeros(2, 3, 8, 8, dtype=torch.bool, device=device)
    target[:, : {"nothing": 0, "by some": 1, "by all": 3}[marked], 2:5, 2:5] = True
    logits = (torch.linspace(-1, 0, 128, device=device).view(2, 1, 8, 8) - far).to(kind).requires_grad_()
    loss = ExtendedDiceLoss()(logits, target)
    loss.backward()
    assert 0 <= loss.item() <= 1
    assert torch.isfinite(logits.grad).all()
    if marked != "by all" and far >= 60:
        assert loss.item() == 0
        assert not logits.grad.any()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_halves_are_summed_in_32_bits(kind, device):
    target = torch.ones(1, 3, 300, 300, dtype=torch.bool, device=device)
    target[:, 0, :150] = False
    logits = torch.full((1, 1, 300, 300), 3.0, dtype=kind, device=device)
    found = ExtendedDiceLoss()(logits, target)
    with torch.autocast(device, dtype=torch.bfloat16):
        mixed = ExtendedDiceLoss()(logits, target)
    chance = torch.sigmoid(torch.tensor(3.0, dtype=torch.float64))
    wanted = float(1 - chance * (90000 + 45000) / (chance * 90000 + 45000))
    assert float(found) == float(mixed) == pytest.approx(wanted, abs=1e-6)


def test_labels_are_looked_at():
    target, logits = drawn((2, 4, 4), 3), torch.zeros(2, 1, 4, 4)
    target[1, 2, 0, 3] = 2
    with pytest.raises(CallError, match=r"image 1, rater 2: the annotation at \(0, 3\) is 2, but labels are 0 to 1"):
        ExtendedDiceLoss()(logits, target)
    with pytest.raises(ValueError, match=r"is 0\.5, but"):
        ExtendedDiceLoss()(logits, torch.full((2, 3, 4, 4), 0.5))
    with pytest.raises(CallError, match="is nan, but"):
        ExtendedDiceLoss()(logits, torch.full((2, 3, 4, 4), torch.nan))
    absent = torch.ones(2, 3, 4, 4, dtype=torch.bool)
    absent[1, 2, 0, 3] = False
    ExtendedDiceLoss()(logits, target, absent)
    with pytest.raises(CallError, match="smooth"):
        ExtendedDiceLoss(smooth=-1)


class Operations(TorchDispatchMode):
    """Counts the operations that do something: each of them is a kernel, and starting it is most of a GPU's time."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        self.count += not func.is_view
        return found


def test_fewer_operations_than_monais_dice_loss_of_one_target():
    logits = torch.randn(2, 1, 8, 8, requires_grad=True)
    marks = torch.rand(2, 5, 8, 8) > 0.5
    with Operations() as ours:
        ExtendedDiceLoss(check=False)(logits, marks).backward()
    with Operations() as theirs:
        DiceLoss(sigmoid=True)(logits, marks[:, :1].float()).backward()
    assert ours.count < theirs.count


def test_where_nobody_marked_anything_it_is_one_and_flat_unless_images_go_together():
    logits = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
    marks = torch.zeros(2, 3, 8, 8, dtype=torch.bool)
    marks[0, :, 2:5, 2:5] = True
    each = ExtendedDiceLoss(reduction="none")(logits, marks)[:, 0]
    assert each[1].item() == 1
    (flat,) = torch.autograd.grad(each[1], logits)
    assert float(flat.abs().max()) == 0
    (together,) = torch.autograd.grad(ExtendedDiceLoss(batch=True)(logits, marks), logits)
    assert float(together[1].min()) > 0, "what is predicted on the empty image costs"


def test_second_derivatives_are_refused():
    logits = torch.randn(1, 1, 4, 4, requires_grad=True)
    loss = ExtendedDiceLoss()(logits, torch.rand(1, 2, 4, 4) > 0.5)
    with pytest.raises(CallError, match="second derivatives"):
        torch.autograd.grad(loss, logits, create_graph=True)


@pytest.mark.parametrize(
    ("target", "present", "said"),
    [
        (torch.zeros(1, 2, 4, 4, dtype=torch.uint16), None, "uint16"),
        (torch.zeros(1, 2, 4, 4), [torch.ones(1), torch.ones(1)], "got a list"),
    ],
)
def test_what_loaders_give_by_mistake(target, present, said):
    with pytest.raises(CallError, match=said):
        ExtendedDiceLoss()(torch.zeros(1, 1, 4, 4), target, present)


def test_an_empty_batch():
    with pytest.raises(CallError, match="no pixel"):
        ExtendedDiceLoss()(torch.zeros(0, 1, 4, 4), torch.zeros(0, 2, 4, 4))
