"""Tests about raters over subjects: who draws larger, outliers, two groups."""

import numpy as np
import pytest
from scipy import stats
from tests.simulations.raters import RaterScenario, claim_rates, right_and_wrong, simulate_study

import manytruths as mt
from manytruths.core.errors import CallError

NAN = np.nan


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def distances_of(x):
    return np.abs(x[:, :, None] - x[:, None, :])


# -- sizes -----------------------------------------------------------------------------------------


def test_pairs_are_tested_like_paired_t_tests_of_log_sizes(rng):
    sizes = rng.lognormal(5, 0.3, (15, 3))
    tests = mt.rater_size_tests(sizes)
    expected = [stats.ttest_rel(np.log(sizes[:, a]), np.log(sizes[:, b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(tests.p_value[0], [t.pvalue for t in expected])
    ends = [t.confidence_interval(0.95) for t in expected]
    np.testing.assert_allclose(tests.low[0], [e.low for e in ends])
    np.testing.assert_allclose(tests.high[0], [e.high for e in ends])


def test_p_values_are_adjusted_over_pairs_and_labels(rng):
    sizes = rng.lognormal(5, 0.3, (2, 15, 3))
    tests = mt.rater_size_tests(sizes)
    assert (tests.p_holm >= tests.p_value).all()
    smallest = np.unravel_index(tests.p_value.argmin(), tests.p_value.shape)
    assert tests.p_holm[smallest] == pytest.approx(6 * tests.p_value[smallest])


def test_who_draws_larger_than_one_of_two_others_does_not_draw_larger(rng):
    """More than half of the others: with three raters, both."""
    tests = mt.rater_size_tests(np.exp(rng.normal([0.5, 0.5, 0.0], 0.02, (20, 3))))
    assert tests.p_holm[0, 1] < 0.001, "the first is larger than the third"
    assert (tests.larger[0] > 0.05).all()
    assert (tests.smaller[0] < 0.05).tolist() == [False, False, True]


def test_one_who_draws_large_makes_no_other_small(rng):
    tests = mt.rater_size_tests(np.exp(rng.normal([np.log(1.4), 0, 0, 0, 0], 0.1, (20, 5))))
    assert (tests.larger[0] < 0.05).tolist() == [True, False, False, False, False]
    assert (tests.smaller[0] > 0.05).all()
    assert tests.relative_low[0, 0] < 1.4 < tests.relative_high[0, 0]


def test_sizes_are_compared_on_cases_that_both_read():
    """The second rater did not read the large half of the cases."""
    true = np.repeat([100.0, 10_000.0], 10)
    sizes = np.stack([true, np.where(true > 1000, NAN, true), true], axis=1)
    tests = mt.rater_size_tests(sizes)
    assert tests.log_ratio[0].tolist() == [0, 0, 0]
    assert tests.n[0].tolist() == [10, 20, 10]


def test_sizes_of_a_subject_are_added_over_shared_cases():
    sizes = np.array([[10.0, 20.0], [30.0, 20.0], [50.0, NAN]])
    tests = mt.rater_size_tests(sizes, ["p", "p", "p"])
    assert tests.log_ratio[0, 0] == pytest.approx(0.0)
    assert tests.n[0, 0] == 1


def test_subjects_with_an_empty_mask_are_left_out_and_counted():
    sizes = np.array([[10.0, 20.0], [0.0, 20.0], [0.0, 0.0], [NAN, 5.0]])
    tests = mt.rater_size_tests(sizes)
    assert (tests.n[0, 0], tests.n_undefined[0, 0]) == (1, 2)
    assert tests.log_ratio[0, 0] == pytest.approx(np.log(0.5))


def test_fewer_than_ten_subjects_or_three_raters_are_not_tested(rng):
    assert np.isnan(mt.rater_size_tests(rng.lognormal(5, 0.1, (9, 4))).p_value).all()
    two = mt.rater_size_tests(rng.lognormal(5, 0.1, (30, 2)) * [2, 1])
    assert two.p_value[0, 0] < 0.05, "the pair is tested"
    assert np.isnan(two.larger).all(), "but no verdict is given on one of two"


# -- outliers --------------------------------------------------------------------------------------


def test_an_outlier_is_found_and_the_others_are_not(rng):
    test = mt.rater_outlier_test(distances_of(rng.normal([0, 0, 5, 0, 0], 1, (20, 5))))
    assert (test.p_value < 0.05).tolist() == [False, False, True, False, False]
    assert test.low[2] > 0


def test_two_outliers_are_found_one_after_the_other(rng):
    test = mt.rater_outlier_test(distances_of(rng.normal([0, 0, 9, 0, 0, -6], 1, (30, 6))))
    assert (test.p_value < 0.05).tolist() == [False, False, True, False, False, True]
    assert not test.no_majority()


def test_where_half_of_the_raters_would_be_outliers_there_is_no_majority(rng):
    """Of five, three are far from the two others, and from each other."""
    test = mt.rater_outlier_test(distances_of(rng.normal([0, 0, 4, 12, 36], 0.5, (30, 5))))
    assert (test.p_value < 0.05).tolist() == [False, False, True, True, True]
    assert test.step[2:].tolist() == [2, 1, 0]
    assert test.no_majority()


def test_excess_is_the_distance_to_the_others_minus_that_among_them():
    d = np.array([[[0, 3, 5], [3, 0, 1], [5, 1, 0]]], float)
    assert mt.rater_outlier_test(d).excess.tolist() == [4 - 1, 2 - 5, 3 - 3]


def test_who_skipped_the_hard_cases_has_no_smaller_excess(rng):
    """Hard cases spread all raters ten times as far; the last rater read the easy ones only."""
    spread = np.repeat([1.0, 10.0], 200)
    x = rng.normal(0, 1, (400, 4)) * spread[:, None]
    d = distances_of(x)
    d[200:, 3, :] = d[200:, :, 3] = NAN
    test = mt.rater_outlier_test(d)
    to_others = np.nanmean(d[:, 3, :3])
    assert to_others < 0.4 * np.nanmean(d[:, 0, 1:3]), "the plain mean distance is far smaller"
    assert test.low[3] < 0 < test.high[3]
    assert (test.p_value > 0.05).all()


def test_all_cases_of_a_subject_are_permuted_together(rng):
    """Forty copies of ten subjects are no more evidence than the ten."""
    few = distances_of(rng.normal([0, 0, 0, 1.5], 1, (10, 4)))
    once = mt.rater_outlier_test(few)
    copied = mt.rater_outlier_test(np.repeat(few, 40, axis=0), np.repeat(np.arange(10), 40).tolist())
    np.testing.assert_allclose(copied.p_value, once.p_value)
    np.testing.assert_allclose(copied.low, once.low)


def test_too_few_subjects_or_raters_have_numbers_and_no_test(rng):
    nine = mt.rater_outlier_test(distances_of(rng.normal([0, 0, 0, 9], 1, (9, 4))))
    assert np.isfinite(nine.excess).all()
    assert np.isnan(nine.p_value).all()
    assert np.isnan(mt.rater_outlier_test(distances_of(rng.normal(0, 1, (30, 2)))).excess).all()


def test_distances_that_never_vary_are_no_outliers():
    assert (mt.rater_outlier_test(np.ones((12, 4, 4))).p_value == 1).all()


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("raters", [4, 5, 8, 13])
def test_two_schools_are_found(rng, raters):
    school = np.arange(raters) % 2
    test = mt.rater_group_test(distances_of(rng.normal(0, 1, (20, raters)) + 5 * school))
    assert test.group.tolist() == school.tolist()
    assert test.p_value < 0.01
    assert test.gap == pytest.approx(test.between - max(test.within))
    assert test.between > 3 * max(test.within)


@pytest.mark.parametrize("offsets", [[0, 0, 0, 0, 9], [0, 0, 0, -9, 9], [0, 0, 0, 0, 0, -9, 9]])
def test_outliers_are_no_school(rng, offsets):
    test = mt.rater_group_test(distances_of(rng.normal(0, 1, (30, len(offsets))) + offsets))
    assert test.p_value > 0.05


def test_groups_need_raters_who_share_subjects(rng):
    d = distances_of(rng.normal([0, 5, 0, 5], 1, (20, 4)))
    d[5:, 0, :] = d[5:, :, 0] = NAN
    test = mt.rater_group_test(d)
    assert test.n == 5
    assert np.isnan(test.p_value)


def test_wrong_shapes_are_refused():
    with pytest.raises(CallError, match="cases, raters, raters"):
        mt.rater_outlier_test(np.ones((4, 3)))
    with pytest.raises(CallError, match="one for each of 4 cases"):
        mt.rater_size_tests(np.ones((4, 3)), ["p"])


# -- error rates -----------------------------------------------------------------------------------

STUDIES = 400
LIMIT = stats.binom.ppf(0.999, STUDIES, 0.05) / STUDIES
"""A true rate of 5% exceeds this in one of a thousand runs; the seed is fixed."""


@pytest.mark.slow
@pytest.mark.parametrize("subjects", [10, 20, 50])
@pytest.mark.parametrize("raters", [3, 4, 5, 8])
def test_equal_raters_are_rarely_told_apart(raters, subjects):
    rates = claim_rates(RaterScenario(raters, subjects), STUDIES)
    assert max(rates.values()) <= LIMIT, rates


@pytest.mark.slow
def test_heavy_tails_and_labels_do_not_raise_the_error_rate():
    for scenario in (RaterScenario(5, 10, heavy=True), RaterScenario(4, 20, labels=3)):
        rates = claim_rates(scenario, STUDIES)
        assert max(rates.values()) <= LIMIT, rates


@pytest.mark.slow
def test_true_differences_are_found():
    larger, wrong = right_and_wrong(RaterScenario(5, 20, factor=1.4), "raters.larger", [0], 200)
    assert larger > 0.9
    assert wrong <= LIMIT
    outlier, wrong = right_and_wrong(RaterScenario(5, 20, outlier=2.5), "raters.outlier", [0], 200)
    assert outlier > 0.8
    assert wrong <= LIMIT
    schools, _ = right_and_wrong(RaterScenario(5, 20, schools=2.5), "raters.clusters", [1, 3], 200)
    assert schools > 0.8


@pytest.mark.slow
def test_one_who_draws_large_is_no_reason_to_call_another_small():
    _, wrong = right_and_wrong(RaterScenario(3, 20, factor=1.4), "raters.smaller", [], STUDIES)
    assert wrong <= LIMIT


def test_simulated_studies_have_the_shapes_that_the_tests_read(rng):
    study = simulate_study(RaterScenario(4, 12, labels=3), rng)
    assert study.sizes.shape == (3, 12, 4)
    assert study.distances.shape == (12, 4, 4)
    np.testing.assert_allclose(study.distances, study.distances.transpose(0, 2, 1))
