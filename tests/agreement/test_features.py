"""What in the image goes with agreement."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from manytruths import GridError, feature_correlation, image_feature_correlations, reason


@pytest.mark.parametrize("n", [3, 10, 1000])
def test_r_and_p_are_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    a = rng.integers(0, 5, n) + np.arange(n) % 2
    b = a + 3 * rng.normal(size=n)
    found, wanted = feature_correlation(a, b), stats.pearsonr(a, b)
    assert (found.r, found.p, found.n) == (pytest.approx(wanted[0], abs=1e-12), pytest.approx(wanted[1], rel=1e-9), n)


def test_region_counts_only_what_is_inside() -> None:
    a, b, inside = np.array([0, 1, 2, 9]), np.array([5, 3, 1, 7]), np.array([1, 1, 1, 0])
    found = feature_correlation(a, b, inside)
    assert (found.r, found.n) == (pytest.approx(-1), 3)


def test_constant_and_too_few_are_undefined() -> None:
    assert reason(feature_correlation([1, 1, 1], [1, 2, 3]).r) == "one of the maps is constant"
    assert reason(feature_correlation([1], [2]).p) == "fewer than two items were rated"
    assert reason(feature_correlation([1, 2], [2, 3]).p) == "two items always correlate fully"
    assert feature_correlation([1, 2], [2, 3]).r == 1


def test_maps_of_other_shapes_are_refused() -> None:
    with pytest.raises(GridError, match=r"\(2, 3\), \(3, 2\)"):
        feature_correlation(np.zeros((2, 3)), np.zeros((3, 2)))


def test_features_of_colour_and_grey() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    agreement = (image[..., 0] > 128).astype(int)
    found = image_feature_correlations(agreement, image)
    assert list(found) == ["intensity", "red", "green", "blue", "contrast"]
    assert found["red"].r == pytest.approx(np.corrcoef(agreement.ravel(), image[..., 0].ravel())[0, 1])
    assert found["red"].r > 0.8 > abs(found["green"].r) + 0.6
    assert list(image_feature_correlations(agreement, image[..., 0])) == ["intensity", "contrast"]


def test_contrast_is_taken_against_the_largest_agreement_near_by() -> None:
    image = np.full((15, 15), 100.0)
    image[7, 7] = 200
    agreement = (image > 100).astype(int)
    assert image_feature_correlations(agreement, image, window=3, agreement_window=3)["contrast"].r == pytest.approx(1)
    assert image_feature_correlations(agreement, image, window=3, agreement_window=1)["contrast"].r < 0.5
