"""Images and annotations move together, and nothing else changes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths import VOID, CallError
from manytruths.learning import Augmentation

WIDE = (48, 96)


def ellipse(height: int, width: int, tall: float, broad: float) -> torch.Tensor:
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    off = ((rows - height / 2 + 0.5) / tall) ** 2 + ((columns - width / 2 + 0.5) / broad) ** 2
    return (off < 1).to(torch.uint8)


@given(st.floats(-0.2, 0.2), st.floats(-30, 30))
@settings(max_examples=30)
def test_an_image_that_equals_a_mask_still_does(scale, angle):
    mask = ellipse(*WIDE, 12, 25)[None, None]
    drawn = torch.tensor([[scale, math.radians(angle), 0.0, 0.0, 0.0]])
    image, codes = Augmentation()(mask.float(), mask, drawn)
    # between four pixels that are alike, the image is what they are, and so is the nearest
    assert (codes[image < 1e-4] == 0).all()
    assert (codes[image > 1 - 1e-4] == 1).all()
    mixed = (image >= 1e-4) & (image <= 1 - 1e-4)
    assert mixed.sum() < 0.35 * codes.sum(), "only the outline is in between"


@given(st.floats(-30, 30))
@settings(max_examples=20)
def test_rotation_keeps_circles_round_in_images_that_are_not_square(angle):
    circle = ellipse(*WIDE, 15, 15)[None, None]
    drawn = torch.tensor([[0.0, math.radians(angle), 0.0, 0.0, 0.0]])
    turned = Augmentation()(circle.float(), circle, drawn)[1]
    assert (turned != circle).sum() / circle.sum() < 0.1


def test_an_angle_turns_by_that_angle_and_a_scale_scales_by_that_much():
    bar = ellipse(96, 96, 10, 30)[None, None]
    drawn = torch.tensor([[0.0, math.radians(30), 0, 0, 0], [0.2, 0.0, 0, 0, 0]])
    turned, larger = Augmentation()(bar.float().expand(2, -1, -1, -1), bar.expand(2, -1, -1, -1), drawn)[1][:, 0]
    rows, columns = (turned == 1).nonzero().double().T - 47.5
    slope = 0.5 * torch.atan2(2 * (rows * columns).mean(), (columns**2).mean() - (rows**2).mean())
    assert abs(abs(math.degrees(slope)) - 30) < 1.5
    assert abs(float(larger.sum() / bar.sum()) - 1.2**2) < 0.05


def test_absent_raters_stay_absent_and_open_pixels_move_along():
    mask = ellipse(32, 32, 8, 8)
    left = torch.where(mask == 1, VOID, 0).to(torch.uint8)
    codes = torch.stack([mask, torch.full_like(mask, VOID), left])[None]
    drawn = torch.tensor([[-0.2, 0.5, 0.0, 0.0, 0.0]])
    seen, absent, open_ = Augmentation()(torch.zeros(1, 1, 32, 32), codes, drawn)[1][0]
    assert (absent == VOID).all()
    assert seen.unique().tolist() == [0, 1]
    assert torch.equal(open_ == VOID, seen == 1)


def test_what_comes_from_outside_is_background_and_black():
    images, codes = torch.ones(1, 1, 32, 32), torch.full((1, 1, 32, 32), 2, dtype=torch.uint8)
    moved, annotations = Augmentation()(images, codes, torch.tensor([[-0.2, 0.0, 0.0, 0.0, 0.0]]))
    assert moved[0, 0, 0, 0] == 0
    assert annotations[0, 0, 0, 0] == 0
    assert annotations[0, 0, 16, 16] == 2


@pytest.mark.parametrize("channels", [1, 3])
def test_no_augmentation_changes_nothing(channels):
    none = Augmentation(0, 0, 0, 0, 0)
    images, codes = torch.rand(4, channels, 17, 23), torch.randint(0, 3, (4, 2, 17, 23), dtype=torch.uint8)
    drawn = none.draw(4, torch.Generator().manual_seed(1))
    made, kept = none(images, codes, drawn)
    torch.testing.assert_close(made, images)
    assert torch.equal(kept, codes)


def test_draws_stay_within_reach_and_depend_on_the_seed():
    draw = Augmentation().draw
    drawn = draw(4000, torch.Generator().manual_seed(0))
    reach = torch.tensor([0.2, math.radians(30), 0.1, 0.1, 0.1])
    assert (drawn.abs() <= reach).all()
    assert (drawn.abs().amax(0) > 0.99 * reach).all()
    assert torch.equal(drawn, draw(4000, torch.Generator().manual_seed(0)))
    assert not torch.equal(drawn, draw(4000, torch.Generator().manual_seed(1)))


def test_light_changes_as_drawn():
    images = torch.rand(1, 3, 8, 8) * 0.4 + 0.3
    codes = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    light = Augmentation(0, 0)
    brighter = light(images, codes, torch.tensor([[0, 0, 0.1, 0, 0]]))[0]
    torch.testing.assert_close(brighter, images + 0.1)
    flat = light(images, codes, torch.tensor([[0, 0, 0, -0.1, 0]]))[0]
    torch.testing.assert_close(flat.mean(), images.mean())
    torch.testing.assert_close(flat.std(), images.std() * 0.9)
    grey = light(images, codes, torch.tensor([[0, 0, 0, 0, -0.1]]))[0]
    torch.testing.assert_close(grey[:, 0] - grey[:, 1], 0.9 * (images[:, 0] - images[:, 1]))


def test_a_scale_of_one_is_refused():
    with pytest.raises(CallError, match="below 1; got 1"):
        Augmentation(scale=1)
