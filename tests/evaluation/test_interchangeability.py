"""Interchangeability: an algorithm's distances to the raters, beside those between raters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from manytruths.core.columns import Column
from manytruths.evaluation.interchangeability import label_distances
from manytruths.inference.equivalence import judge_margin, mean_limits

RATERS = "ABC"


def draw(seed: int, size: int = 40, labels: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    at, width = 20 + rng.normal(0, 2), 8 + rng.normal(0, 1.5)
    mask = (np.abs(np.arange(size) - at) < width).astype(int)
    if labels > 1:
        mask[int(at) :] *= 2
    return mask


def naive_distance(a: np.ndarray, b: np.ndarray, labels: list[int]) -> float:
    """Label by label: 0 where neither has it, 1 where one has."""
    each = []
    for label in labels:
        both, either = ((a == label) & (b == label)).sum(), (a == label).sum() + (b == label).sum()
        each.append(1 - 2 * both / either if either else 0.0)
    return float(np.mean(each))


def naive_differences(cases: list[dict[str, np.ndarray]]) -> list[float]:
    values = []
    for masks in cases:
        used = sorted({int(v) for m in masks.values() for v in np.unique(m)} - {0})
        raters = [r for r in RATERS if r in masks]
        to = [naive_distance(masks["net"], masks[r], used) if "net" in masks else 1.0 for r in raters]
        between = [naive_distance(masks[a], masks[b], used) for a, b in combinations(raters, 2)]
        values.append(float(np.mean(to) - np.mean(between)))
    return values


def count(masks: dict[str, np.ndarray], labels: int = 1) -> mt.Tally:
    raters = {r: masks.get(r) for r in RATERS}
    predictions = {"net": masks["net"]} if "net" in masks else {}
    return mt.tally(raters, predictions=predictions, labels=range(labels + 1))


@pytest.mark.parametrize("labels", [1, 2])
def test_gamma_is_that_of_a_naive_loop_with_students_t(labels: int) -> None:
    cases = [{who: draw(10 * i + k, labels=labels) for k, who in enumerate((*RATERS, "net"))} for i in range(12)]
    cases[3] = {r: m for r, m in cases[3].items() if r != "net"}
    cases[4] = {r: m for r, m in cases[4].items() if r != "B"}
    wanted = naive_differences(cases)
    found = mt.interchangeability([count(masks, labels) for masks in cases], margin=0.5)
    low, high = stats.t.interval(0.95, 11, np.mean(wanted), stats.sem(wanted))
    assert found.gamma.value == pytest.approx(np.mean(wanted))
    assert found.gamma.low <= low + 1e-12 < high - 1e-12 <= found.gamma.high
    assert low == pytest.approx(found.gamma.low) or high == pytest.approx(found.gamma.high), "Hall's moves one end"
    bound = mean_limits(wanted, 0.99).high
    assert found.smallest_margin == pytest.approx(float(bound))
    assert found.to_raters - found.between_raters == pytest.approx(found.gamma.value)
    assert float(found.limits.p_below(0.5)) >= stats.ttest_1samp(wanted, 0.5).pvalue * (1 - 1e-9)
    for end, p in ((bound, found.limits.p_below), (found.gamma.low, found.limits.p_above)):
        assert float(p(end)) == pytest.approx(0.05), "p values go with the interval"


def test_differences_by_rater_average_to_the_whole() -> None:
    cases = [{who: draw(10 * i + k) for k, who in enumerate((*RATERS, "net"))} for i in range(12)]
    found = mt.interchangeability([count(masks) for masks in cases])
    assert np.mean([d.value for d in found.by_rater.values()]) == pytest.approx(found.gamma.value)
    without = mt.interchangeability([count({k: v for k, v in m.items() if k != "C"}) for m in cases])
    assert mt.interchangeability([count(m) for m in cases], exclude_rater=["C"]).gamma == without.gamma


def test_empty_masks_and_cases_of_one_subject() -> None:
    nothing, some = np.zeros(20, int), np.r_[np.ones(5, int), np.zeros(15, int)]
    empty = count({"A": nothing, "B": nothing, "C": nothing, "net": nothing})
    alarm = count({"A": nothing, "B": nothing, "C": nothing, "net": some})
    missed = count({"A": some, "B": some, "C": nothing, "net": nothing})
    values = [mt.interchangeability([t]).gamma.value for t in (empty, alarm, missed)]
    assert values == pytest.approx([0.0, 1.0, 2 / 3 - 2 / 3])
    tallies = mt.Tallies({"a": empty, "b": alarm, "c": alarm}, subjects={"a": "s", "b": "s", "c": "t"})
    found = mt.interchangeability(tallies)
    assert (found.gamma.value, found.gamma.n) == (pytest.approx(0.75), 2)


def test_a_label_that_nobody_used_does_not_dilute_the_mean() -> None:
    a, b = np.r_[1, 1, 1, 0], np.r_[1, 1, 0, 0]
    masks = {"A": a, "B": b, "C": a, "net": b}
    one, two = count(masks, 1), count(masks, 2)
    assert mt.interchangeability([one]).gamma.value == mt.interchangeability([two]).gamma.value
    distances = label_distances(two, Column("net", "algorithm"), RATERS)
    assert distances.used.tolist() == [True, False]


def test_no_verdict_from_few_subjects_few_raters_or_without_a_margin() -> None:
    cases = [count({who: draw(10 * i + k) for k, who in enumerate((*RATERS, "net"))}) for i in range(12)]
    assert mt.interchangeability(cases, margin=0.5).verdict == "within"
    assert mt.interchangeability(cases).verdict is None
    few = mt.interchangeability(cases[:9], margin=0.5)
    assert few.verdict is None
    assert mt.reason(few.gamma.low)
    assert mt.interchangeability(cases, margin=0.5, exclude_rater=["C"]).verdict is None
    with pytest.raises(mt.CallError, match="margin"):
        mt.interchangeability(cases, margin=0)


def test_a_margin_between_the_interval_and_its_bound_gives_no_verdict() -> None:
    """A small sample may hold none of the cases that fail, so that the upper limit alone is not enough."""
    cases = [count({who: draw(10 * i + k) for k, who in enumerate((*RATERS, "net"))}) for i in range(12)]
    found = mt.interchangeability(cases)
    assert found.gamma.high < found.smallest_margin
    between = (found.gamma.high + found.smallest_margin) / 2
    assert mt.interchangeability(cases, margin=between).verdict == "unknown"
    assert mt.interchangeability(cases, margin=found.smallest_margin + 1e-9).verdict in ("within", "worse_within")


def test_margins_are_judged_by_both_ends() -> None:
    ends = {(-0.1, 0.04): "within", (0.01, 0.04): "worse_within", (0.06, 0.1): "worse", (0.01, 0.1): "unknown"}
    assert {pair: judge_margin(*pair, 0.05) for pair in ends} == ends
    same = mean_limits(np.full(12, 0.02))
    assert (float(same.low), float(same.high)) == pytest.approx((0.02, 0.02))
    assert (float(same.p_below(0.05)), float(same.p_above(0.05)), float(same.p_above(0.02))) == (0, 1, 1)
