"""Heatmaps and outlines over images: the pixels must be those that were promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from manytruths import CallError, GridError
from manytruths.charts import (
    best_slice,
    colour_map,
    contour_overlay,
    count_colours,
    heat_overlay,
    montage,
    rater_colours,
)
from manytruths.charts.canvas import NEUTRAL, Scale, background, fit_text, printable, text_width


def find(picture: Image.Image, panel: NDArray[np.uint8]) -> tuple[int, int]:
    """Row and column where a panel stands in a picture."""
    pixels = np.array(picture)
    high, wide = panel.shape[:2]
    for row, column in np.argwhere((pixels == panel[0, 0]).all(axis=2)):
        if np.array_equal(pixels[row : row + high, column : column + wide], panel):
            return int(row), int(column)
    raise AssertionError("the panel is not in the picture")


def test_colours_get_lighter_all_the_way() -> None:
    light = colour_map(np.linspace(0, 1, 200)) @ np.array([0.299, 0.587, 0.114])
    assert (np.diff(light) >= -0.6).all()
    assert light[-1] - light[0] > 120
    assert colour_map(np.nan).tolist() == [150, 150, 150]
    assert colour_map(np.zeros((4, 5))).shape == (4, 5, 3)
    assert colour_map([-1, 2]).tolist() == colour_map([0, 1]).tolist()


def test_colours_of_raters_differ() -> None:
    assert len(set(rater_colours(21))) == 21
    assert len(rater_colours(50)) == 50
    assert len({tuple(c) for c in count_colours(13).tolist()}) == 13
    assert count_colours(1).tolist() == [colour_map(1).tolist()]


def test_grey_is_untouched_where_nothing_is_marked() -> None:
    image = np.random.default_rng(0).integers(0, 256, (420, 500), np.uint8)
    heat = np.zeros(image.shape, int)
    heat[100:200, 100:200] = 2
    pixels = np.array(heat_overlay(image, heat, most=3, title="t"))
    row, column = find(heat_overlay(image, np.zeros_like(heat), most=3, title="t"), np.dstack([image] * 3))
    shown = pixels[row : row + 420, column : column + 500]
    assert (shown[heat == 0] == image[heat == 0][:, None]).all()
    assert (shown[heat == 2] != image[heat == 2][:, None]).any(axis=1).all()


@pytest.mark.parametrize("most", [1, 2, 5, 13, 47])
def test_colour_bar_has_the_colours_of_the_heat(most: int) -> None:
    heat = np.zeros((400, 500), int)
    heat[:most, 0] = np.arange(1, most + 1)
    pixels = np.array(heat_overlay(None, heat, most=most, opacity=1.0))
    row, column = find(heat_overlay(None, np.zeros_like(heat), most=most), np.full((400, 500, 3), NEUTRAL, np.uint8))
    drawn = pixels[row : row + most, column]
    assert (drawn == count_colours(most)).all()
    bar = pixels[:, column + 500 + 16]
    heights = [np.flatnonzero((bar == paint).all(axis=1)).mean() for paint in drawn]
    assert (np.diff(heights) < 0).all(), "1 belongs at the bottom"


def test_continuous_bar_and_heat() -> None:
    heat = np.zeros((400, 400))
    heat[0, :2] = 11.5, 23
    heat[1, 0] = np.nan
    pixels = np.array(heat_overlay(None, heat, most=23, discrete=False, opacity=1.0))
    row, column = find(heat_overlay(None, np.zeros_like(heat), most=23), np.full((400, 400, 3), NEUTRAL, np.uint8))
    assert pixels[row, column : column + 2].tolist() == [colour_map(0.5).tolist(), colour_map(1.0).tolist()]
    assert pixels[row + 1, column].tolist() == [NEUTRAL] * 3


@pytest.mark.parametrize("shape", [(1, 1), (6000, 100), (100, 6000), (3, 400), (1601, 1600)])
def test_any_size_gives_a_picture_to_look_at(shape: tuple[int, int]) -> None:
    picture = heat_overlay(np.zeros(shape, np.uint8), np.ones(shape, int), most=3, title="a title", subtitle="more")
    assert 400 <= max(picture.size) <= 1600 + 400


def test_thin_lines_survive_shrinking() -> None:
    heat = np.zeros((3001, 3001), np.uint8)
    heat[1234] = 3
    small = Scale.of(heat.shape).most(heat)
    assert small.shape == (1501, 1501)
    assert (small == 3).any(axis=0).all()
    assert small.sum() == 3 * 1501


def test_shrunk_image_is_the_mean_of_its_blocks() -> None:
    image = np.arange(5 * 7, dtype=float).reshape(5, 7)
    mean = Scale(shrink=3, grow=1).mean(image)
    assert mean.shape == (2, 3)
    assert mean[1, 2] == image[3:, 6:].mean()
    assert mean[0, 0] == image[:3, :3].mean()


@pytest.mark.parametrize(
    "image",
    [
        np.linspace(0, 4000, 16).reshape(4, 4).astype(np.uint16),
        np.linspace(-1, 1, 16).reshape(4, 4),
        np.dstack([np.linspace(0, 1, 16).reshape(4, 4)] * 3),
        np.linspace(0, 255, 16).reshape(4, 4, 1).astype(np.uint8),
        np.arange(16).reshape(4, 4) > 7,
    ],
)
def test_any_kind_of_image_becomes_grey(image: NDArray[Any]) -> None:
    grey = background(image, (4, 4), Scale(1, 1))
    assert grey.dtype == np.uint8
    assert grey.shape == (4, 4, 3)
    assert grey[0, 0, 0] == 0
    assert grey[-1, -1, 0] == 255
    assert (np.diff(grey[..., 0].ravel().astype(int)) >= 0).all()


def test_images_without_contrast_or_numbers() -> None:
    assert (background(np.full((4, 4), 7.0), (4, 4), Scale(1, 1)) == 128).all()
    assert background(np.full((4, 4), np.nan), (4, 4), Scale(1, 1)).shape == (4, 4, 3)


def test_outlines_have_their_raters_colours() -> None:
    one, two = np.zeros((400, 400), bool), np.zeros((400, 400), bool)
    one[50:150, 50:150] = True
    two[200:300, 200:300] = True
    picture = contour_overlay(None, {"A": one, "B": two})
    row, column = find(contour_overlay(None, {"A": one & two, "B": two & one}), np.full((400, 400, 3), 32, np.uint8))
    shown = np.array(picture)[row : row + 400, column : column + 400]
    for mask, paint in zip((one, two), rater_colours(2), strict=True):
        rim = (shown == paint).all(axis=2)
        assert rim.sum() == 100**2 - 96**2, "two pixels wide"
        assert (rim <= mask).all()


def test_equal_outlines_take_turns() -> None:
    mask = np.zeros((400, 400), bool)
    mask[50:350, 50:350] = True
    pixels = np.array(contour_overlay(None, dict.fromkeys("ABC", mask)))[:, :416]
    seen = [int((pixels == paint).all(axis=2).sum()) for paint in rater_colours(3)]
    assert sum(seen) == 300**2 - 296**2
    assert min(seen) > 0.3 * max(seen)


def test_many_raters_on_a_small_image() -> None:
    picture = contour_overlay(None, {f"rater number {n}": np.ones((2, 2)) for n in range(40)}, title="x" * 300)
    assert picture.width < 3000


def test_best_slice() -> None:
    volume = np.zeros((9, 8, 7))
    volume[4, :3, :] = 1
    volume[:, 2, 3] = 1
    assert best_slice(volume) == (2, 3)
    assert best_slice(volume, axis=0) == (0, 4)
    assert best_slice(volume, axis=-1) == (2, 3)
    assert best_slice(volume, spacing=(3.0, 1.0, 1.0)) == (0, 4)
    assert best_slice(np.zeros((5, 5, 5))) == (2, 0)
    with pytest.raises(CallError, match="three axes"):
        best_slice(np.zeros((3, 3)))


@pytest.mark.parametrize("shape", [(20, 20, 10), (1, 1, 1), (40, 30, 2)])
@pytest.mark.parametrize("marked", [True, False])
def test_montage(shape: tuple[int, int, int], marked: bool) -> None:
    heat = np.full(shape, int(marked))
    picture = montage(np.zeros(shape), heat, most=2, title="volume")
    assert 250 < picture.width < 2000


def test_signs_the_font_lacks_are_spelt() -> None:
    assert printable("José – κ ≥ 0.6\n次") == "Jose - kappa >= 0.6 ?"
    assert fit_text("short", 14, 500) == "short"
    assert fit_text("a long title", 14, 60).endswith("…")
    assert text_width(fit_text("a long title", 14, 60), 14) <= 60


def test_wrong_calls_say_why() -> None:
    heat = np.ones((4, 4), int)
    with pytest.raises(GridError, match="4×5 but what lies over it is 4×4"):
        heat_overlay(np.zeros((4, 5)), heat, most=3)
    with pytest.raises(CallError, match=r"most is 0\.5"):
        heat_overlay(None, heat, most=0.5)
    with pytest.raises(CallError, match="montage"):
        heat_overlay(None, np.ones((2, 2, 2)), most=3)
    with pytest.raises(CallError, match="0×3"):
        heat_overlay(None, np.zeros((0, 3)), most=3)
    with pytest.raises(CallError, match="empty"):
        contour_overlay(None, {})
    with pytest.raises(GridError, match="B's mask is 3×3 but A's is 4×4"):
        contour_overlay(None, {"A": np.ones((4, 4)), "B": np.ones((3, 3))})
    with pytest.raises(GridError, match="2×2×3"):
        montage(np.zeros((2, 2, 3)), np.zeros((2, 2, 2)), most=3)
    with pytest.raises(CallError, match="1 or more"):
        count_colours(0)
