"""σ and ρ of many raters: sums of matrix products give what sums over pairs of raters give."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from manytruths.ratings import Ratings, concordance, lesions, rho, sigma

SHAPES = [(30, 7, 2, 0.0), (40, 6, 3, 0.3), (25, 9, 4, 0.6), (5000, 4, 2, 0.1)]


def random_ratings(cases: int, raters: int, labels: int, missing: float, seed: int) -> Ratings:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, labels, (cases, raters)).astype(float)
    codes[rng.random(codes.shape) < missing] = np.nan
    confidence = np.where(np.isnan(codes), np.nan, rng.uniform(0.3, 1, codes.shape))
    return Ratings.of(codes, confidence=confidence, kind="ordinal")


@pytest.mark.parametrize("partial", ["none", "linear"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_products_and_pairs(monkeypatch, shape, partial, weighted):
    ratings = random_ratings(*shape, seed=1)
    accuracy = np.random.default_rng(2).uniform(0.4, 0.95, shape[1])
    accuracy[0] = np.nan if shape[3] else 1.0

    def measure():
        return rho(ratings, accuracy, partial=partial) if weighted else sigma(ratings, partial=partial)

    expected = measure()
    monkeypatch.setattr(concordance, "MANY_RATERS", 2)
    found = measure()
    assert (found.n, found.undefined) == (expected.n, expected.undefined)
    for field in ("value", "by_case", "by_rater", "by_label", "pairs"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-12, atol=1e-13)


def test_raters_always_right_and_never(monkeypatch):
    """Of a pair of whom one is always right and the other never, nobody can say who is: such pairs are left out."""
    ratings = random_ratings(20, 5, 2, 0.0, seed=3)
    accuracy = [1.0, 0.0, 0.7, 0.8, 0.9]
    expected = rho(ratings, accuracy)
    monkeypatch.setattr(concordance, "MANY_RATERS", 2)
    found = rho(ratings, accuracy)
    assert found.undefined == expected.undefined > 0
    assert found.value == expected.value


@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_dice_within_lesions(monkeypatch, hidden):
    rng = np.random.default_rng(4)
    marked = gaussian_filter(rng.standard_normal((7, 40, 40)), (0, 2, 2)) > 0.25
    rated = rng.random(marked.shape) >= hidden if hidden else None
    marked = marked if rated is None else marked & rated
    expected = lesions.find_components(marked, rated, 1)
    monkeypatch.setattr(lesions, "MANY_RATERS", 2)
    found = lesions.find_components(marked, rated, 1)
    assert len(expected.dice) > 1
    np.testing.assert_allclose(found.dice, expected.dice, rtol=1e-12)
