"""Where kappa and alpha collapse, or have no value, and what σ says there.

Cabitza 2020, section 3.2; Feinstein AR, Cicchetti DV. High agreement but low kappa: I. The problems of two paradoxes.
J Clin Epidemiol 1990;43:543–549. doi:10.1016/0895-4356(90)90158-L
"""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manytruths as mt
from manytruths import Ratings, mask_ratings, ratings_from_tally, rho, sigma

CASES = 250


def two_by_two(both, first, second, neither):
    """Ratings of two raters from the four cells of their table."""
    a = [1] * (both + first) + [0] * (second + neither)
    b = [1] * both + [0] * first + [1] * second + [0] * neither
    return Ratings.of({"A": a, "B": b})


# -- the first paradox -----------------------------------------------------------------------------


def test_one_dissent_among_many():
    ratings = Ratings.of({"A": [0] * CASES, "B": [0] * (CASES - 1) + [1]})
    table = ratings.tally()
    assert mt.percent_agreement(table) == pytest.approx(0.996)
    assert mt.fleiss_kappa(table) == pytest.approx(-0.002, abs=0.0005)
    assert mt.fleiss_kappa(table) == pytest.approx(-1 / 499)
    assert mt.cohen_kappa(table) == pytest.approx(0, abs=1e-12)
    assert mt.krippendorff_alpha(table) == pytest.approx(0, abs=1e-12)
    assert sigma(ratings).value == pytest.approx(0.996)
    sure = Ratings.of({"A": [0] * CASES, "B": [0] * (CASES - 1) + [1]}, confidence=0.8)
    assert sigma(sure).value == pytest.approx(0.996 * (0.8 / 0.9) ** 2)


@given(st.integers(2, 13), st.integers(20, 400))
def test_one_dissent_is_below_chance_for_any_number_of_raters(raters, cases):
    """Fleiss' kappa is −1 / (ratings − 1), however large the agreement."""
    codes = np.zeros((cases, raters), int)
    codes[-1, -1] = 1
    ratings = Ratings.of(codes)
    assert mt.fleiss_kappa(ratings.tally()) == pytest.approx(-1 / (raters * cases - 1))
    assert sigma(ratings).value == pytest.approx(1 - 2 / raters / cases)


def test_as_printed_the_first_paradox_is_none():
    """All raters agree on 0 for all cases but one, and on 1 for that one: kappa and alpha are 1, not 0 or less."""
    ratings = Ratings.of([[0] * 13] * (CASES - 1) + [[1] * 13])
    table = ratings.tally()
    assert mt.fleiss_kappa(table) == mt.krippendorff_alpha(table) == sigma(ratings).value == 1
    for a, b in combinations(table.rater_names[:4], 2):
        assert mt.cohen_kappa(table.pair(a, b)) == 1


@pytest.mark.parametrize("raters", [2, 3, 13])
def test_all_labels_equal(raters):
    ratings = Ratings.of([[0] * raters] * CASES, labels=[0, 1])
    table = ratings.tally()
    for undefined in (mt.fleiss_kappa(table), mt.krippendorff_alpha(table)):
        assert np.isnan(undefined)
        assert "one and the same label" in mt.reason(undefined)
    assert mt.percent_agreement(table) == mt.gwet_ac1(table) == sigma(ratings).value == 1


# no confidence so small that a product of two vanishes
SURE = st.one_of(st.just(0.0), st.floats(1e-9, 1))


@given(st.lists(st.tuples(SURE, SURE), min_size=1, max_size=20), st.floats(0.01, 1))
def test_theorem_1(sure, p):
    """With all labels equal, σ depends on confidence and chance alone, and is 0 only where somebody is never sure."""
    c = np.array(sure)
    ratings = Ratings.of(np.zeros(c.shape, int), c, labels=[0, 1])
    found = sigma(ratings, {"0": p, "1": 1 - p}).value
    assert found == pytest.approx(np.mean(np.prod(c / (c + (1 - c) * p), axis=1)))
    if (c > 0).all():
        assert found > 0
    right = rho(ratings, [0.8, 0.9], {"0": p, "1": 1 - p}).value
    assert right == pytest.approx(found * 0.72 / 0.74)


def test_chance_decides_what_one_label_is_worth():
    """If labels fall as they did, all 0, nothing but confidence itself is left."""
    ratings = Ratings.of([[0, 0]] * CASES, 0.8, labels=[0, 1])
    assert sigma(ratings, "uniform").value == pytest.approx((0.8 / 0.9) ** 2)
    assert sigma(ratings, "empirical").value == pytest.approx(0.8**2)


# -- the second paradox ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "agreement", "kappa"),
    [
        ((40, 9, 6, 45), 0.85, 0.70),
        ((80, 10, 5, 5), 0.85, 0.32),
        ((45, 15, 25, 15), 0.60, 0.13),
        ((25, 35, 5, 35), 0.60, 0.26),
    ],
)
def test_feinstein_and_cicchetti(cells, agreement, kappa):
    ratings = two_by_two(*cells)
    assert mt.percent_agreement(ratings.tally()) == pytest.approx(agreement)
    assert mt.cohen_kappa(ratings.tally()) == pytest.approx(kappa, abs=0.005)
    assert sigma(ratings).value == pytest.approx(agreement)


def test_raters_who_differ_in_their_margins_get_the_higher_kappa():
    """The same agreement; both lean to 1 in the first table, to opposite sides in the second."""
    alike, apart = two_by_two(45, 15, 25, 15), two_by_two(25, 35, 5, 35)
    for statistic in (mt.cohen_kappa, mt.fleiss_kappa, mt.krippendorff_alpha):
        assert statistic(apart.tally()) > statistic(alike.tally()) + 0.05
    assert sigma(apart).value == sigma(alike).value


def test_theorem_2():
    """With equal confidence σ is equal; with unequal confidence it goes either way."""
    cells = (45, 15, 25, 15), (25, 35, 5, 35)
    alike, apart = (two_by_two(*c) for c in cells)

    def found(one, confidence):
        codes = [[int(one.labels[c]) for c in row] for row in one.codes]
        return sigma(Ratings.of(codes, confidence)).value

    assert found(alike, 0.7) == pytest.approx(found(apart, 0.7))
    assert found(alike, 0.9) > found(apart, 0.7)
    assert found(alike, 0.7) < found(apart, 0.9)


# -- on masks --------------------------------------------------------------------------------------


def test_an_image_with_one_stray_pixel_and_one_without_any():
    empty = np.zeros((10, 25), int)
    stray = empty.copy()
    stray[3, 7] = 1
    table = mt.tally({"A": empty, "B": stray})
    assert mt.fleiss_kappa(table) == pytest.approx(-1 / 499)
    assert sigma(ratings_from_tally(table)).value == pytest.approx(0.996)
    assert sigma(mask_ratings({"A": empty, "B": stray})).value == pytest.approx(0.996)
    nothing = mt.tally({"A": empty, "B": empty}, labels=(0, 1))
    assert np.isnan([mt.fleiss_kappa(nothing), mt.krippendorff_alpha(nothing)]).all()
    assert sigma(ratings_from_tally(nothing, 0.8)).value == pytest.approx((0.8 / 0.9) ** 2)
    # and where they matter: of what anybody marked, nothing is agreed
    assert sigma(ratings_from_tally(table.restrict("union"))).value == 0


def test_the_example_runs():
    page = Path(__file__).parents[2] / "examples" / "plot_paradoxes.py"
    command = [sys.executable, "-X", "utf8", "-W", "error", str(page)]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    assert "-0.002" in run.stdout
    assert "undefined" in run.stdout
