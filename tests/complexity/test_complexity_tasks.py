"""Two tasks compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from manytruths import CallError, Complexity, Undefined, compare_task_complexity, reason
from manytruths.complexity import NO_OVERLAP
from manytruths.complexity.comparison import DEPENDENT, EMPTY
from manytruths.core.undefined import code


def task(esm: np.ndarray | list[float], raters: int = 2) -> list[Complexity]:
    return [Complexity(e, 0.1, 1.0, e, 0.1, raters, items=100) for e in map(float, esm)]


def left_out(why: str) -> Complexity:
    nothing = Undefined(why)
    return Complexity(nothing, nothing, nothing, nothing, nothing, raters=2, items=5)


def test_by_hand() -> None:
    found = compare_task_complexity(task([1, 2, 3]), [*task([0, 2]), left_out(NO_OVERLAP), left_out("nobody_marked")])
    assert (found.a.mean, found.a.std, found.a.n, found.b.mean) == (2, 1, 3, 1)
    assert (found.b.no_overlap, found.b.undefined, found.b.n) == (1, 1, 2)
    assert found.probability == pytest.approx(4.5 / 6)
    assert found.difference.value == 1
    assert "at least 10" in reason(found.difference.low)


def test_a_harder_task_is_found() -> None:
    random = np.random.default_rng(0)
    easy, hard = random.gamma(4, 0.25, 200), random.gamma(4, 0.5, 150)
    found = compare_task_complexity(task(hard), task(easy))
    assert found.difference.low > 0.5
    assert found.difference.low < found.difference.value < found.difference.high
    assert found.p < 1e-10
    back = compare_task_complexity(task(easy), task(hard))
    assert back.probability == pytest.approx(1 - found.probability)
    assert back.difference.value == pytest.approx(-found.difference.value)
    assert found.probability == pytest.approx(np.mean(hard[:, None] > easy))


def test_the_interval_covers_with_ten_skewed_cases_of_each_task() -> None:
    """Percentiles of a bootstrap covered 92% of these."""
    random, hits = np.random.default_rng(0), 0
    for a, b in random.gamma(3, 0.5, (1000, 2, 10)):
        found = compare_task_complexity(task(a), task(b)).difference
        hits += found.low <= 0 <= found.high
    assert hits >= 930


def test_the_interval_is_students_t() -> None:
    a, b = np.random.default_rng(1).normal((2, 1), (0.5, 0.3), (12, 2)).T
    found, names = compare_task_complexity(task(a), task(b)).difference, [f"s{i}" for i in range(12)]
    error = np.sqrt(a.var(ddof=1) / 12 + b.var(ddof=1) / 12)
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 11) * error)
    paired = compare_task_complexity(task(a), task(b), subjects=(names, names)).difference
    assert (paired.low, paired.high) == pytest.approx(stats.ttest_rel(a, b).confidence_interval(0.95))


def test_subjects_marked_for_both_tasks_are_compared_with_themselves() -> None:
    random = np.random.default_rng(2)
    own = random.gamma(4, 0.5, 60)
    a, b = task(own + 0.1 + random.normal(0, 0.02, 60)), task(own + random.normal(0, 0.02, 60))
    names = [f"s{i}" for i in range(60)]
    apart, paired = compare_task_complexity(a, b), compare_task_complexity(a, b, subjects=(names, names))
    assert apart.difference.low < 0 < apart.difference.high
    assert 0 < paired.difference.low < 0.1 < paired.difference.high < 0.12
    assert (paired.note, apart.note, paired.difference.n) == (DEPENDENT, "", 60)


def test_subjects_with_many_cases_widen_the_interval() -> None:
    random = np.random.default_rng(3)
    a = np.repeat(random.gamma(4, 0.5, 20), 10)
    b = random.gamma(4, 0.5, 50)
    plain = compare_task_complexity(task(a), task(b)).difference
    whose = ([f"s{i // 10}" for i in range(200)], [f"t{i}" for i in range(50)])
    found = compare_task_complexity(task(a), task(b), subjects=whose).difference
    assert found.high - found.low > 1.3 * (plain.high - plain.low)
    assert found.value == plain.value


def test_different_numbers_of_raters_are_noted() -> None:
    assert "2 to 5 raters" in compare_task_complexity(task([1, 2]), task([1, 2], raters=5)).note
    assert compare_task_complexity(task([1, 2]), task([1, 2])).note == ""


def test_equal_and_empty_tasks() -> None:
    same = compare_task_complexity(task([0.0] * 12), task([0.0] * 12))
    assert (same.probability, same.p, same.difference.value, code(same.difference.low)) == (0.5, 1, 0, "no_spread")
    none = compare_task_complexity(task([1, 2]), [left_out(NO_OVERLAP)])
    assert [code(v) for v in (none.b.mean, none.b.std, none.probability, none.p)] == [EMPTY] * 4
    assert code(none.difference.value) == code(none.difference.low) == EMPTY
    assert reason(compare_task_complexity(task([1]), task([2])).a.std) == "a single case has no spread"


def test_calls_without_an_answer() -> None:
    with pytest.raises(CallError, match="statistic is one of"):
        compare_task_complexity(task([1]), task([1]), statistic="kappa")
    with pytest.raises(CallError, match="level"):
        compare_task_complexity(task([1]), task([1]), level=95)
    with pytest.raises(CallError, match=r"2 and 1 names.*\[2, 2\]"):
        compare_task_complexity(task([1, 2]), task([1]), subjects=(["x", "y"], ["x", "y"]))
    assert compare_task_complexity(task([1]), task([1]), statistic="mean").a.mean == 1
