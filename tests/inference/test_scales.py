"""The scales of intervals, and that every statistic with a mean has one."""

import math

import pytest

from manytruths.inference.scales import TRANSFORMS, scale_of


@pytest.mark.parametrize("scale", list(TRANSFORMS))
def test_slopes_and_inverses_fit_their_transform(scale):
    transform = TRANSFORMS[scale]
    for x in (0.001, 0.2, 0.5, 0.97):
        assert transform.back(transform.to(x)) == pytest.approx(x, rel=1e-12)
        slope = (transform.to(x + 1e-7) - transform.to(x - 1e-7)) / 2e-7
        assert transform.slope(x) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(("scale", "value"), [("share", 0.99), ("share", 1e-9), ("kappa", -0.999), ("positive", 1e-6)])
def test_ends_stay_in_the_range_whatever_the_error(scale, value):
    transform = TRANSFORMS[scale]
    for reach in (1e-6, 0.3, 1e3, 1e9):
        low, high = transform.ends(value, reach)
        assert transform.low <= low <= value <= high <= transform.high


def test_a_value_outside_the_range_has_a_plain_interval():
    # Dice in percent
    assert TRANSFORMS["share"].ends(85.0, 2.0) == (83.0, 87.0)
    assert TRANSFORMS["positive"].ends(-1.0, 2.0) == (-3.0, 1.0)


def test_names():
    assert scale_of("hausdorff_95") == "positive"
    assert scale_of("cohen_kappa_without_conditions_1_2") == "kappa"
    assert scale_of("Dice") == "share"
    assert scale_of("mean_difference") == "plain"
    assert math.isinf(TRANSFORMS["plain"].high)
