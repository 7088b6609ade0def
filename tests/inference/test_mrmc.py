"""MRMC analysis against the figures that MRMCaov prints for the data of Van Dyke (1993), and against brute force.

Published: Smith BJ, Hillis SL, MRMCaov User Guide, "MRMC Analysis" (VanDyke, ``empirical_auc`` and ``binary_sens``).
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths.core.undefined import code


@pytest.fixture(scope="module")
def van_dyke():
    """(treatments, readers, cases) ratings, and whether each case is positive."""
    with data("ratings", "VanDyke.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [sorted({row[column] for row in rows}, key=int) for column in ("treatment", "reader", "case")]
    ratings, truth = np.full([len(each) for each in names], np.nan), np.zeros(len(names[2]), int)
    for row in rows:
        i, j, k = (each.index(row[c]) for c, each in zip(("treatment", "reader", "case"), names, strict=True))
        ratings[i, j, k], truth[k] = float(row["rating"]), int(row["truth"])
    return ratings, truth


def compare(values, texts):
    """Numbers are those that were printed, to the last digit."""
    for value, text in zip(values, texts.split(), strict=True):
        assert f"{value:.{len(text.partition('.')[2])}f}" == text


def components(r):
    return [r.reader_variance, r.interaction_variance, r.variance, r.cov1, r.cov2, r.cov3]


def interval(estimate):
    return [estimate.value, estimate.error, estimate.low, estimate.high]


def test_roc_areas_with_jackknife_covariances_for_fixed_readers(van_dyke):
    result = mt.mrmc(*van_dyke)
    compare(components(result), "0.0015349993 0.0002004025 0.0008022883 0.0003466137 0.0003440748 0.0002390284")
    compare(result.values[0], "0.9196457 0.8587762 0.9038647 0.9731079 0.8297907")
    compare(result.values[1], "0.9478261 0.9053140 0.9217391 0.9993559 0.9299517")
    test, (difference,) = result.of_cases, result.of_cases.differences
    assert (test.df1, test.df2) == (1, np.inf)
    compare([result.ms_modality, test.statistic, test.p_value], "0.004796171 5.475953 0.01927984")
    compare([*interval(difference), difference.p_value], "-0.04380032 0.01871748 -0.08048591 -0.00711473 0.01927984")
    compare(interval(test.estimates[0]), "0.8970370 0.02428971 0.8494301 0.9446440")
    compare(interval(test.estimates[1]), "0.9408374 0.01677632 0.9079564 0.9737183")
    by_reader = [
        "-0.02818035 0.02551213 -0.078183215 0.021822507 0.26933885",
        "-0.04653784 0.02630183 -0.098088476 0.005012792 0.07683102",
        "-0.01787440 0.03120965 -0.079044180 0.043295388 0.56683414",
        "-0.02624799 0.01729129 -0.060138290 0.007642316 0.12901715",
        "-0.10016103 0.04405746 -0.186512066 -0.013809995 0.02300099",
    ]
    for (found,), texts in zip(result.by_reader, by_reader, strict=True):
        compare([*interval(found), found.p_value], texts)


def test_roc_areas_for_fixed_cases(van_dyke):
    result = mt.mrmc(*van_dyke)
    test, (difference,) = result.of_readers, result.of_readers.differences
    compare([result.ms_interaction, test.statistic, test.df2, test.p_value], "0.0005510306 8.704 4 0.04195875")
    compare([*interval(difference), difference.p_value], "-0.04380032 0.01484629 -0.08502022 -0.00258042 0.04195875")
    compare(interval(test.estimates[0]), "0.8970370 0.02482994 0.8280981 0.9659760")
    compare(interval(test.estimates[1]), "0.9408374 0.01615303 0.8959894 0.9856854")


def test_roc_areas_for_random_readers_and_cases(van_dyke):
    jackknife = mt.mrmc(*van_dyke).both
    compare([jackknife.statistic, jackknife.df2, jackknife.p_value], "4.456319 15.25967 0.05166569")
    compare(interval(jackknife.differences[0])[:2], "-0.04380032 0.02074862")
    result = mt.mrmc(*van_dyke, covariance="delong")
    test, (difference,) = result.both, result.both.differences
    compare(components(result), "0.0015364254 0.0002045840 0.0007921325 0.0003420090 0.0003395265 0.0002358497")
    compare([test.statistic, test.df2, test.p_value], "4.484854 15.06611 0.05123303")
    compare(interval(difference), "-0.04380032 0.0206825 -0.0878671960 0.0002665519")
    compare([*interval(test.estimates[0]), test.estimates[0].df], "0.8970370 0.03307642 0.8253461 0.9687280 12.59597")
    compare([*interval(test.estimates[1]), test.estimates[1].df], "0.9408374 0.02150464 0.8942155 0.9874592 12.56530")


def test_any_number_by_case_as_sensitivity_over_the_positive_cases(van_dyke):
    ratings, truth = van_dyke
    result = mt.mrmc((ratings >= 3)[:, :, truth == 1])
    test, (difference,) = result.both, result.both.differences
    compare(components(result)[2:], "0.0023681257 0.0009943883 0.0010145903 0.0006604938")
    compare([test.statistic, test.df2, test.p_value], "6.689493 15.71732 0.02008822")
    compare(interval(difference), "-0.09777778 0.03780451 -0.1780371 -0.0175185")


def test_jackknife_of_subjects_with_several_cases_is_that_of_brute_force():
    rng = np.random.default_rng(0)
    owner, truth = rng.integers(0, 12, 40), rng.integers(0, 2, 40)
    ratings = np.round(rng.normal(truth, 1.5, (2, 3, 40)), 1)
    for given, statistic in ((truth, area), (None, lambda x, _: x.mean())):
        result = mt.mrmc(ratings, given, subjects=owner.tolist())
        without = np.array([
            [statistic(row[owner != s], truth[owner != s]) for row in ratings.reshape(6, -1)] for s in np.unique(owner)
        ])  # fmt: skip
        n = len(without)
        sigma = ((n - 1) / n * np.cov(without.T, ddof=0) * n).reshape(2, 3, 2, 3)
        assert result.subjects == n
        assert result.variance == pytest.approx(np.mean([sigma[i, j, i, j] for i in range(2) for j in range(3)]))
        assert result.cov1 == pytest.approx(np.mean([sigma[0, j, 1, j] for j in range(3)]))
        others = [(j, k) for j in range(3) for k in range(3) if j != k]
        assert result.cov2 == pytest.approx(np.mean([sigma[i, j, i, k] for i in range(2) for j, k in others]))
        assert result.cov3 == pytest.approx(np.mean([sigma[0, j, 1, k] for j, k in others]))


def area(ratings, truth):
    pairs = [(a > b) + (a == b) / 2 for a in ratings[truth == 1] for b in ratings[truth == 0]]
    return float(np.mean(pairs))


def test_three_modalities_have_three_differences_adjusted_by_holm():
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (1, 1, 30)) + rng.normal(0, 0.5, (3, 4, 30)) + np.array([0, 0.1, 1])[:, None, None]
    result = mt.mrmc(values, modalities="abc", readers=["w", "x", "y", "z"])
    assert result.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    p = [d.p_value for d in result.both.differences]
    order = np.argsort(p)
    expected = np.maximum.accumulate(np.array(p)[order] * [3, 2, 1]).clip(max=1)
    assert np.array([d.p_holm for d in result.both.differences])[order] == pytest.approx(expected)


def test_few_cases_few_readers_and_no_spread_give_numbers_without_tests():
    rng = np.random.default_rng(0)
    few = mt.mrmc(rng.normal(size=(2, 3, 8)))
    assert [code(t.p_value) for t in few.tests] == ["too_few_subjects_to_test", "too_few_subjects_to_test", ""]
    two = mt.mrmc(rng.normal(size=(2, 2, 20)))
    assert [code(t.p_value) for t in two.tests] == ["too_few_raters_to_test", "", "too_few_raters_to_test"]
    one = mt.mrmc(rng.normal(size=(2, 1, 20)))
    assert code(one.both.p_value) == "too_few_raters_to_test"
    # one reader and other cases: the paired t test with a normal distribution
    assert 0 < one.of_cases.p_value < 1
    same = mt.mrmc(np.ones((2, 3, 20)))
    assert {code(t.p_value) for t in same.tests} == {"no_spread"}
    assert same.both.differences[0].value == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"values": np.zeros((2, 3))}, r"shape \(modalities, readers, cases\)"),
        ({"values": np.zeros((1, 3, 9))}, "one modality"),
        ({"values": np.full((2, 3, 9), np.nan)}, "54 of 54 values are missing"),
        ({"values": "abc"}, "no such array"),
        ({"values": np.zeros((2, 3, 9)), "truth": [0, 1]}, "one value for each of 9 cases"),
        ({"values": np.zeros((2, 3, 4)), "truth": [0, 1, 2, 1]}, "1 for positive and 0 for negative"),
        ({"values": np.zeros((2, 3, 4)), "truth": [0, 1, 1, 1]}, "there are 3 and 1"),
        ({"values": np.zeros((2, 3, 4)), "subjects": "abc"}, "one for each of 4 cases; got 3"),
        ({"values": np.zeros((2, 3, 4)), "modalities": ["a", "a"]}, "2 different names"),
        ({"values": np.zeros((2, 3, 4)), "covariance": "delong"}, "is for ROC areas"),
        (
            {"values": np.zeros((2, 3, 4)), "truth": [0, 1, 0, 1], "subjects": "aabb", "covariance": "delong"},
            "every case as a",
        ),
        ({"values": np.zeros((2, 3, 4)), "truth": [0, 0, 1, 1], "subjects": "aabb"}, "are of one subject"),
        ({"values": np.zeros((2, 3, 4)), "covariance": "bootstrap"}, "'jackknife' or 'delong'"),
        ({"values": np.zeros((2, 3, 4)), "level": 2}, "between 0 and 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_analysed_is_refused(given, words):
    with pytest.raises((mt.CallError, mt.InputError), match=words):
        mt.mrmc(**given)
