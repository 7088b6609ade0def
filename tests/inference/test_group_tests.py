"""Comparisons of known groups of raters and cases: brute force, laws, and when there is no test."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from manytruths.core.undefined import code
from manytruths.inference.group_tests import _divisions


def pairs(subjects=14, errors=(1, 1, 1, 1, 2, 2, 2, 2), seed=0):
    """(subjects, raters, raters) agreement of points on a line."""
    points = np.random.default_rng(seed).normal(0, errors, (subjects, len(errors)))
    return np.exp(-np.abs(points[:, :, None] - points[:, None]))


def within(values, group):
    return np.mean([values[:, i, j] for i, j in combinations(group, 2)], axis=0)


def effects(mean, group):
    """s_i of a_ij = s_i + s_j by least squares."""
    rows, goal = [], []
    for i, j in combinations(group, 2):
        rows.append([(k == i) + (k == j) for k in group])
        goal.append(mean[i, j])
    return dict(zip(group, np.linalg.lstsq(np.array(rows, float), np.array(goal), rcond=None)[0], strict=True))


def test_raters_are_exchanged_in_all_ways_and_the_larger_p_value_counts():
    values, first, second = pairs(), [0, 1, 2, 3], [4, 5, 6, 7]
    found = mt.compare_rater_groups(values, first, second)
    each = within(values, first) - within(values, second)
    assert found.first.value == pytest.approx(within(values, first).mean())
    cross = [values[:, i, j].mean() for i in first for j in second]
    assert found.between.value == pytest.approx(np.mean(cross))
    assert found.difference.value == pytest.approx(each.mean())
    t = stats.ttest_1samp(each, 0).confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((t.low, t.high))
    mean, own = values.mean(axis=0), {}
    own |= effects(mean, first) | effects(mean, second)
    apart = {"within": [], "by rater": []}
    for group in combinations(range(8), 4):
        rest = [k for k in range(8) if k not in group]
        apart["within"].append(abs(within(values, group).mean() - within(values, rest).mean()))
        apart["by rater"].append(abs(np.mean([own[k] for k in group]) - np.mean([own[k] for k in rest])))
    p = [np.mean(np.array(d) >= d[0] - 1e-12) for d in apart.values()]
    assert found.p_value == pytest.approx(max(p))
    assert (found.arrangements, found.tried) == (70, 70)


def test_the_order_of_raters_and_of_groups_does_not_matter():
    values = pairs()
    found = mt.compare_rater_groups(values, range(4), range(4, 8))
    order = np.random.default_rng(1).permutation(8)
    moved = values[:, order][:, :, order]
    place = np.argsort(order)
    again = mt.compare_rater_groups(moved, place[4:], place[:4])
    assert again.p_value == found.p_value
    assert again.difference.value == pytest.approx(-found.difference.value)


def test_groups_with_ways_of_their_own_are_not_called_different_for_it():
    """Both groups hold careful and careless raters alike, and lie apart: mixed groups would hide the careless ones."""
    rng, made = np.random.default_rng(5), 0
    for _ in range(60):
        errors = rng.lognormal(0, 0.4, 10)
        points = rng.normal(0, 1, (12, 10, 3)) * errors[:, None] + np.repeat([0, 2], 5)[:, None] * [1, 0, 0]
        apart = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1) * 0.2
        made += mt.compare_rater_groups(np.exp(-apart), range(5), range(5, 10)).p_value <= 0.05
    assert made <= 6  # 10%, where exchanges of pairs alone have 13%


def test_raters_who_did_not_read_a_subject_take_it_out_of_the_difference():
    values = pairs(16)
    values[0, 2], values[0, :, 2] = np.nan, np.nan
    found = mt.compare_rater_groups(values, range(4), range(4, 8))
    assert (found.first.n, found.difference.n) == (16, 15)
    again = mt.compare_rater_groups(values[1:], range(4), range(4, 8))
    assert found.p_value == again.p_value
    assert found.difference.value == pytest.approx(again.difference.value)


def test_cases_of_a_subject_stay_together():
    values = pairs(24)
    subjects = [f"s{k // 2}" for k in range(24)]
    found = mt.compare_rater_groups(values, range(4), range(4, 8), subjects)
    by_subject = values.reshape(12, 2, 8, 8).mean(axis=1)
    again = mt.compare_rater_groups(by_subject, range(4), range(4, 8))
    assert found.difference.n == 12
    assert (found.difference.low, found.p_value) == pytest.approx((again.difference.low, again.p_value))


@pytest.mark.parametrize(
    ("subjects", "first", "second", "why"),
    [
        (9, range(4), range(4, 8), "too_few_shared_subjects"),
        (12, range(3), range(3, 6), "too_few_arrangements"),
        (12, range(2), range(2, 8), "too_few_raters_in_group"),
        (12, [0], range(1, 8), "one_rater_in_group"),
    ],
)
def test_without_a_test_there_are_numbers_and_a_reason(subjects, first, second, why):
    found = mt.compare_rater_groups(pairs(subjects), first, second)
    assert code(found.p_value) == why
    assert found.tried == 0
    assert found.second.value > 0
    assert code(found.first.value) == ("one_rater_in_group" if len(first) == 1 else "")
    assert np.isnan(found.difference.value) == (len(first) == 1)


def test_means_of_groups_of_cases_with_welch_and_permutations():
    rng = np.random.default_rng(2)
    one, two = rng.normal(0.8, 0.05, 12), rng.normal(0.74, 0.05, 18)
    found = mt.compare_case_groups(np.concatenate([one, two]), range(12), range(12, 30), permutations=4999)
    welch = stats.ttest_ind(one, two, equal_var=False)
    assert found.difference.value == pytest.approx(one.mean() - two.mean())
    assert (found.first.value, found.second.value) == pytest.approx((one.mean(), two.mean()))
    exchanged = stats.permutation_test(
        (one, two), lambda a, b, axis: stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic,
        n_resamples=4999, vectorized=True, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found.p_value >= max(exchanged.pvalue - 0.002, welch.pvalue)
    # here it is that of the interval, which begins at 0 at this level
    values = np.concatenate([one, two])
    ends = mt.compare_case_groups(values, range(12), range(12, 30), level=1 - found.p_value).difference
    assert ends.low == pytest.approx(0, abs=1e-12)
    # no narrower than Welch's interval, which has no correction for skewness
    plain = welch.confidence_interval()
    assert found.difference.low <= plain.low + 1e-12
    assert found.difference.high >= plain.high - 1e-12
    assert found.arrangements > 5000
    assert found.tried == 5000


def test_few_subjects_are_exchanged_in_all_ways():
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(1, 0.5, 4), rng.normal(0, 0.5, 6)])
    found = mt.compare_case_groups(values, range(4), range(4, 10))
    t = [
        abs(stats.ttest_ind(values[list(g)], np.delete(values, g), equal_var=False).statistic)
        for g in combinations(range(10), 4)
    ]
    assert found.tried == 210
    assert found.p_value >= np.mean(np.array(t) >= t[0] - 1e-12) - 1e-12
    assert code(found.difference.low) == "too_few_subjects"


def test_of_several_labels_means_are_over_subjects_then_labels():
    rng = np.random.default_rng(4)
    values = rng.normal([0.9, 0.6], 0.05, (24, 2))
    values[:3, 1] = np.nan
    found = mt.compare_case_groups(values, range(12), range(12, 24))
    assert found.first.value == pytest.approx(np.nanmean(values[:12], axis=0).mean())
    whole = mt.compare_case_groups(np.nan_to_num(values, nan=0.6)[:, :1].repeat(2, 1), range(12), range(12, 24))
    single = mt.compare_case_groups(values[:, 0], range(12), range(12, 24))
    assert (whole.p_value, whole.difference.low) == pytest.approx((single.p_value, single.difference.low))


def test_subjects_in_both_groups_are_not_exchanged():
    found = mt.compare_case_groups(np.arange(24.0), range(12), range(12, 24), [k % 12 for k in range(24)])
    assert code(found.p_value) == code(found.difference.low) == "subject_in_two_groups"
    assert found.difference.value == -12


def test_a_subject_in_both_groups_is_counted_once():
    owners = [*range(10), 0, *range(10, 18)]
    found = mt.compare_case_groups(np.arange(19.0), range(10), range(10, 19), owners)
    assert (found.first.n, found.second.n, found.difference.n) == (10, 9, 18)
    empty = np.where(np.arange(19) == 3, np.nan, np.arange(19.0))
    assert mt.compare_case_groups(empty, range(10), range(10, 19), owners).difference.n == 17
    apart = mt.compare_case_groups(np.arange(19.0), range(10), range(10, 19))
    assert apart.difference.n == 19


@pytest.mark.parametrize(("sizes", "why"), [((4, 4), "too_few_subjects_to_test"), ((1, 60), "fewer_than_two_subjects")])
def test_few_cases_have_no_test(sizes, why):
    found = mt.compare_case_groups(np.arange(sum(sizes)) ** 2.0, range(sizes[0]), range(sizes[0], sum(sizes)))
    assert code(found.p_value) == why


def test_equal_values_are_no_difference():
    found = mt.compare_case_groups(np.ones(24), range(12), range(12, 24))
    assert found.p_value == 1
    assert code(found.difference.low) == "no_spread"


def test_random_divisions_begin_with_the_true_one():
    drawn = _divisions(20, 10, 100, np.random.default_rng(0))
    assert drawn.shape == (101, 20)
    assert drawn[0].tolist() == [True] * 10 + [False] * 10
    assert set(drawn.sum(axis=1)) == {10}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mt.compare_rater_groups(np.zeros((3, 4, 5)), [0], [1]), "raters, raters"),
        (lambda: mt.compare_rater_groups(np.zeros((3, 4, 4)), [], [1]), "the first is empty"),
        (lambda: mt.compare_rater_groups(np.zeros((3, 4, 4)), [0, 1], [1]), "each once"),
        (lambda: mt.compare_rater_groups(np.zeros((3, 4, 4)), [0], [4]), "from 0 to 3"),
        (lambda: mt.compare_rater_groups(np.zeros((3, 4, 4)), [0], [1], "ab"), "each of 3 cases; got 2"),
        (lambda: mt.compare_case_groups(np.zeros((3, 4, 4)), [0], [1]), "cases, labels"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, words):
    with pytest.raises(mt.CallError, match=words):
        call()


def symmetric(n, spread, middle):
    """Values without skewness."""
    return middle + spread * np.linspace(-1, 1, n)


@pytest.mark.parametrize(
    ("sizes", "spreads", "level"),
    [
        ((12, 15), (1.0, 1.2), 0.95),
        ((20, 30), (3.0, 1.0), 0.95),
        ((12, 30), (3.0, 1.0), 0.975),
        ((30, 12), (1.0, 3.0), 0.975),
    ],
)
def test_without_skewness_the_interval_is_that_of_welch_and_wider_where_a_small_group_spreads_more(
    sizes, spreads, level
):
    one, two = (symmetric(n, spread, k) for n, spread, k in zip(sizes, spreads, (0.3, 0.0), strict=True))
    groups = range(sizes[0]), range(sizes[0], sum(sizes))
    found = mt.compare_case_groups(np.concatenate([one, two]), *groups)
    known = stats.ttest_ind(one, two, equal_var=False).confidence_interval(level)
    assert (found.difference.low, found.difference.high) == pytest.approx((known.low, known.high), rel=1e-9)


def test_the_interval_is_moved_out_at_the_end_of_the_skewness_alone():
    one, two = symmetric(30, 1.0, 0.0), -np.exp(symmetric(30, 1.5, 0.0))
    found = mt.compare_case_groups(np.concatenate([one, two]), range(30), range(30, 60)).difference
    known = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
    # the second group has a long tail downwards, so that the difference has one upwards
    assert found.high > known.high + 1e-3
    assert found.low == pytest.approx(known.low, rel=1e-9)


def test_raters_of_unequal_care_need_a_difference_that_welch_finds_in_their_effects():
    rng, smaller = np.random.default_rng(4), 0
    for _ in range(20):
        points = rng.normal(size=(12, 10)) * rng.lognormal(0, 0.6, 10) * np.where(np.arange(10) < 5, 1.0, 1.8)
        agreement = np.exp(-np.abs(points[:, :, None] - points[:, None]))
        mean, effects = agreement.mean(axis=0), []
        for group in (range(5), range(5, 10)):
            pairs = list(combinations(group, 2))
            design = np.array([[float(r in pair) for r in group] for pair in pairs])
            effects.append(np.linalg.lstsq(design, np.array([mean[pair] for pair in pairs]), rcond=None)[0])
        welch = stats.ttest_ind(*effects, equal_var=False).pvalue
        p = mt.compare_rater_groups(agreement, range(5), range(5, 10)).p_value
        assert p >= welch - 1e-12
        smaller += p == pytest.approx(welch, rel=1e-9)
    assert smaller  # it is Welch's p value in some studies


@pytest.mark.parametrize(("sizes", "expected"), [((4, 4), 2 / 70), ((3, 5), 1 / 56), ((5, 5), 2 / 252)])
def test_the_smallest_p_value_that_the_divisions_allow(sizes, expected):
    first, second = range(sizes[0]), range(sizes[0], sum(sizes))
    near = np.where(np.arange(sum(sizes)) < sizes[0], 0.0, 1.0)
    agreement = 1 - near[:, None] * near[None] * 0.5 - np.random.default_rng(0).random((12, 1, 1)) * 0.01
    found = mt.compare_rater_groups(agreement, first, second)
    assert found.smallest_p == pytest.approx(expected)
    assert found.p_value == pytest.approx(expected)
