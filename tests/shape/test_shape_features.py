"""Intensity, lightness and contrast, against published colours and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manytruths import CallError
from manytruths.shape import channels, intensity, lightness, local_maximum, michelson_contrast

greys = arrays(np.uint8, (7, 9), elements=st.integers(0, 5))
windows = st.sampled_from([1, 3, 5, 7])


@pytest.mark.parametrize(
    ("colour", "l_star"),
    [("ff0000", 53.2329), ("00ff00", 87.7370), ("0000ff", 32.3026), ("ffffff", 100), ("000000", 0), ("010101", 0.2742)],
)
def test_lightness_of_known_colours(colour: str, l_star: float) -> None:
    image = np.array([[list(bytes.fromhex(colour))]], np.uint8)
    assert lightness(image)[0, 0] == pytest.approx(l_star, abs=6e-5)
    assert lightness(image / 255)[0, 0] == pytest.approx(lightness(image)[0, 0])
    assert lightness(image.astype(np.uint16) * 257)[0, 0] == pytest.approx(lightness(image)[0, 0])


def test_floats_beyond_1_are_refused() -> None:
    with pytest.raises(CallError, match="scale it"):
        lightness(np.full((2, 2, 3), 200.0))
    with pytest.raises(CallError, match="scale it"):
        lightness(np.full((2, 2, 3), np.nan))


def test_grey_stays_and_opacity_is_left_out() -> None:
    grey = np.arange(6.0).reshape(2, 3)
    assert (intensity(grey) == grey).all()
    assert (lightness(grey) == grey).all()
    assert channels(grey) == {}
    image = np.random.default_rng(0).integers(0, 256, (2, 3, 4), dtype=np.uint8)
    assert (intensity(image) == intensity(image[..., :3])).all()
    assert list(channels(image)) == ["red", "green", "blue"]
    assert (channels(image)["blue"] == image[..., 2]).all()


@given(greys, windows)
def test_contrast_is_that_of_a_loop(grey: np.ndarray, window: int) -> None:
    half, wanted = window // 2, np.zeros(grey.shape)
    for y in range(half, grey.shape[0] - half):
        for x in range(half, grey.shape[1] - half):
            near = grey[y - half : y + half + 1, x - half : x + half + 1].astype(float)
            high, low = near.max(), near.min()
            wanted[y, x] = (high - low) / (high + low) if high + low else 0
    assert michelson_contrast(grey, window) == pytest.approx(wanted)


@given(greys, windows)
def test_local_maximum_is_that_of_a_loop(grey: np.ndarray, window: int) -> None:
    half = window // 2
    wanted = [
        [grey[max(y - half, 0) : y + half + 1, max(x - half, 0) : x + half + 1].max() for x in range(9)]
        for y in range(7)
    ]
    assert local_maximum(grey, window).tolist() == wanted


@pytest.mark.parametrize("window", [0, 2, -3])
def test_windows_have_a_middle(window: int) -> None:
    with pytest.raises(CallError, match="odd"):
        michelson_contrast(np.zeros((5, 5)), window)
    with pytest.raises(CallError, match="odd"):
        local_maximum(np.zeros((5, 5)), window)


def test_window_larger_than_the_image_sees_nothing() -> None:
    assert not michelson_contrast(np.arange(9.0).reshape(3, 3), 7).any()
