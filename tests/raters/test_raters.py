"""What is said about each rater, against loops over pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster import hierarchy

import manytruths as mt
from manytruths import (
    CallError,
    Tally,
    cluster_raters,
    connected_raters,
    rater_dependence,
    rater_differences,
    rater_performance,
    rater_tendency,
    reason,
    williams_index,
)
from manytruths.core.undefined import code

VOID = 9
gappy = arrays(np.uint8, (4, 25), elements=st.sampled_from([0, 1, 1, VOID]))
whole = arrays(np.uint8, (4, 25), elements=st.sampled_from([0, 1]))


def counted(masks: np.ndarray) -> Tally:
    return mt.tally({name: masks[i] for i, name in enumerate("ABCD")}, void=VOID, labels=[0, 1])


def same(found: Any, wanted: Any) -> bool:
    return bool(np.allclose(found, wanted, rtol=1e-12, atol=1e-12, equal_nan=True))


def over(part: float, of: float) -> float:
    return part / of if of else np.nan


def f1(a: np.ndarray, b: np.ndarray) -> float:
    rated = (a != VOID) & (b != VOID)
    a, b = a[rated] == 1, b[rated] == 1
    return over(2 * (a & b).sum(), a.sum() + b.sum())


def table_of(a: np.ndarray, truth: np.ndarray) -> tuple[float, float, float, float]:
    """Both, only the first, only the second, neither; truth −1 where unknown."""
    tp = fp = fn = tn = 0
    for d, t in zip(a.tolist(), truth.tolist(), strict=True):
        if d != VOID and t >= 0:
            tp, fp, fn, tn = tp + (d and t), fp + (d and not t), fn + (t and not d), tn + (not d and not t)
    return tp, fp, fn, tn


def truth_of(masks: np.ndarray) -> np.ndarray:
    out = []
    for column in masks.T:
        rated = column[column != VOID]
        out.append(int(2 * (rated == 1).sum() >= len(rated)) if len(rated) else -1)
    return np.array(out)


def judged(a: np.ndarray, truth: np.ndarray) -> list[float]:
    tp, fp, fn, tn = table_of(a, truth)
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2 if n else np.nan
    kappa = over((tp + tn) / n - chance, 1 - chance) if n else np.nan
    return [
        over(tp, tp + fn),
        over(tn, tn + fp),
        over(tp, tp + fp),
        over(tn, tn + fn),
        kappa,
        over(2 * tp, 2 * tp + fp + fn),
        over(tp, tp + fp + fn),
    ]


def rows(found: Any) -> np.ndarray:
    names = ("sensitivity", "specificity", "ppv", "npv", "cohen_kappa", "dice", "iou")
    return np.array([getattr(found, name) for name in names]).T


@given(gappy)
def test_differences_are_those_of_a_loop(masks: np.ndarray) -> None:
    found = rater_differences(counted(masks))
    each = []
    for i in range(4):
        others = [1 - f1(masks[i], masks[j]) for j in range(4) if j != i]
        known = [v for v in others if not np.isnan(v)]
        each.append(np.mean(known) if known else np.nan)
    assert same(found.mean_difference, each)
    known = [v for v in each if not np.isnan(v)]
    if len(connected_raters(counted(masks))) > 1:
        assert code(found.threshold) == "disconnected_raters"
        assert found.outliers == ()
    elif len(known) > 1:
        assert same([found.mean, found.std], [np.mean(known), np.std(known, ddof=1)])
        assert found.outliers == tuple(
            n for n, v in zip("ABCD", found.mean_difference, strict=True) if v > found.threshold
        )
    else:
        assert reason(found.threshold)
        assert found.outliers == ()


@given(gappy)
def test_performance_is_that_of_a_loop(masks: np.ndarray) -> None:
    table = counted(masks)
    consensus, others = rater_performance(table), rater_performance(table, "others")
    assert same(rows(consensus), [judged(masks[i], truth_of(masks)) for i in range(4)])
    assert same(rows(others), [judged(masks[i], truth_of(np.delete(masks, i, axis=0))) for i in range(4)])


@given(gappy)
def test_performance_against_a_column(masks: np.ndarray) -> None:
    table = mt.tally({"A": masks[0], "B": masks[1]}, references={"R": masks[2]}, void=VOID, labels=[0, 1])
    truth = np.where(masks[2] == VOID, -1, masks[2].astype(int))
    assert same(rows(rater_performance(table, "R")), [judged(masks[i], truth) for i in range(2)])
    against_b = rater_performance(table, "B")
    assert (against_b.raters, against_b.against) == (("A",), "B")
    assert same(against_b.dice, [f1(masks[0], masks[1])])


def test_performance_gives_reasons_and_frames() -> None:
    found = rater_performance(mt.tally({"A": [0, 0], "B": [0, 0], "C": [0, 0]}, labels=[0, 1]))
    assert reason(found.value("A", mt.sensitivity)) == "the second marked nothing"
    assert found.to_frame().loc["B", "specificity"] == 1
    with pytest.raises(CallError, match="no rater 'Z'"):
        found.value("Z", mt.dice)
    with pytest.raises(CallError, match="no column"):
        rater_performance(mt.tally([[0, 1]]), "nobody")


@given(gappy)
def test_tendency_is_that_of_a_loop(masks: np.ndarray) -> None:
    found = rater_tendency(counted(masks))
    for j in range(4):
        area = mean = missed = agreed = extra = 0.0
        for column in masks.T:
            rest = [v for i, v in enumerate(column) if i != j and v != VOID]
            if column[j] == VOID or not rest:
                continue
            share = sum(map(int, rest)) / len(rest)
            area, mean = area + int(column[j]), mean + share
            agreed, missed = agreed + (share >= 0.5), missed + (share >= 0.5 and column[j] == 0)
            extra += column[j] == 1 and share == 0
        wanted = [over(area, mean), over(missed, agreed), over(extra, area)]
        assert same([found.relative_area[j], found.misses[j], found.extra[j]], wanted)


@given(gappy)
def test_williams_is_that_of_a_loop(masks: np.ndarray) -> None:
    found = williams_index(counted(masks))
    for j in range(4):
        rest = [i for i in range(4) if i != j]
        near = [f1(masks[j], masks[i]) for i in rest]
        among = [f1(masks[a], masks[b]) for a in rest for b in rest if a < b]
        near, among = ([v for v in values if not np.isnan(v)] for values in (near, among))
        defined = bool(near and among and np.mean(among) > 0)
        assert same(found.index[j], np.mean(near) / np.mean(among) if defined else np.nan)
        assert bool(reason(found.value("ABCD"[j]))) == (not defined)


def test_williams_needs_two_others() -> None:
    found = williams_index(mt.tally({"A": [1, 1, 0], "B": [1, 0, 0]}))
    assert reason(found.value("A")) == "there are no two others who can be compared"
    apart = williams_index(mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], "C": [0, 0, 1]}))
    assert reason(apart.value("A")) == "the others do not agree at all"
    kappa = williams_index(mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], "C": [1, 0, 0]}), mt.cohen_kappa)
    assert (kappa.statistic, kappa.value("A")) == ("cohen_kappa", pytest.approx(0.4))


@given(whole)
def test_clustering_is_scipys_ward(masks: np.ndarray) -> None:
    found = cluster_raters(counted(masks))
    keep = ["ABCD".index(name) for name in found.raters]
    condensed = [1 - f1(masks[i], masks[j]) for n, i in enumerate(keep) for j in keep[n + 1 :]]
    assert not np.isnan(condensed).any()
    assert set(found.raters) | set(found.apart) == set("ABCD")
    assert sorted(found.order) == sorted(found.raters)
    if len(keep) > 1:
        assert found.linkage == pytest.approx(hierarchy.linkage(condensed, "ward"))


def test_raters_who_cannot_be_compared_stand_apart() -> None:
    two_empty = mt.tally({"A": [1, 1, 0], "B": [0, 0, 0], "C": [0, 0, 0], "D": [1, 0, 0]})
    found = cluster_raters(two_empty)
    assert len(found.apart) == 1
    assert found.apart[0] in ("B", "C")
    assert len(found.order) == 3
    nothing = cluster_raters(mt.tally({"A": [0, 0], "B": [0, 0]}, labels=[0, 1]))
    assert (len(nothing.order), nothing.linkage.shape) == (1, (0, 4))


PER_RATER: list[Callable[[Tally], Any]] = [
    rater_differences,
    rater_performance,
    lambda t: rater_performance(t, "others"),
    rater_tendency,
    williams_index,
    rater_dependence,
    cluster_raters,
]


@pytest.mark.parametrize("analysis", PER_RATER)
def test_slots_are_no_people(analysis: Callable[[Tally], Any]) -> None:
    with pytest.raises(CallError, match="exchangeable"):
        analysis(mt.tally([[1, 1, 0], [0, 1, 0], [0, 1, 1]], raters="exchangeable"))


def values_by_rater(found: Any) -> dict[str, tuple[float, ...]]:
    """Every field with one number a rater."""
    fields = [v for v in vars(found).values() if isinstance(v, np.ndarray) and v.shape == (len(found.raters),)]
    assert fields
    return {name: tuple(float(v[i]) for v in fields) for i, name in enumerate(found.raters)}


ARRAYS = [rater_differences, rater_performance, PER_RATER[2], rater_tendency, williams_index]


@pytest.mark.parametrize("analysis", ARRAYS)
@given(masks=gappy, order=st.permutations("ABCD"))
def test_permuting_raters_permutes_results(analysis: Any, masks: np.ndarray, order: list[str]) -> None:
    one = values_by_rater(analysis(counted(masks)))
    shuffled = {name: masks["ABCD".index(name)] for name in order}
    two = values_by_rater(analysis(mt.tally(shuffled, void=VOID, labels=[0, 1])))
    assert list(two) == list(order)
    assert all(same(two[name], one[name]) for name in order)


@pytest.mark.parametrize("analysis", ARRAYS)
@given(masks=gappy)
def test_absent_rater_is_as_if_left_out(analysis: Any, masks: np.ndarray) -> None:
    here = {name: masks[i] for i, name in enumerate("ABC")}
    alone = values_by_rater(analysis(mt.tally(here, void=VOID, labels=[0, 1])))
    beside = values_by_rater(analysis(mt.tally({**here, "D": None}, void=VOID, labels=[0, 1])))
    assert all(same(beside[name], alone[name]) for name in "ABC")
    assert np.isnan(beside["D"][0])


@given(whole)
def test_swapping_labels_swaps_sensitivity_and_specificity(masks: np.ndarray) -> None:
    masks = masks[:3]  # an odd number has no ties
    one, two = (
        rater_performance(mt.tally({n: m[i] for i, n in enumerate("ABC")}, labels=[0, 1])) for m in (masks, 1 - masks)
    )
    assert same(two.sensitivity, one.specificity)
    assert same(two.ppv, one.npv)
    assert same(two.cohen_kappa, one.cohen_kappa)


def test_the_distance_of_several_labels_is_a_mean_over_labels() -> None:
    """Two tissues that fill the image: taken as one, everybody agrees."""
    many = mt.tally({"A": [1, 1, 1, 1, 2, 2, 2, 0], "B": [1, 1, 1, 2, 2, 2, 2, 0], "C": [1, 1, 2, 2, 2, 2, 2, 0]})
    found, by_label = rater_differences(many), [rater_differences(many.only(name)).pairs.values for name in ("1", "2")]
    assert same(found.pairs.values, np.mean(by_label, axis=0))
    assert found.pairs["A", "C"] == pytest.approx(1 - (2 * 2 / 6 + 2 * 3 / 8) / 2)
    assert (rater_differences(many.foreground()).mean_difference == 0).all()
    assert williams_index(many).index[1] > 1, "B lies between the others"
    assert cluster_raters(many).linkage[0, 2] > 0


def test_a_label_that_neither_used_does_not_count() -> None:
    found = rater_differences(mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], "C": [1, 0, 2]}))
    assert found.pairs["A", "B"] == pytest.approx(1 - 2 / 3)
    assert found.pairs["A", "C"] == pytest.approx(1 - (2 / 3 + 0) / 2)


def test_raters_who_share_no_item_are_not_compared() -> None:
    first = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": None, "D": None})
    second = mt.tally({"A": None, "B": None, "C": [1, 1, 0, 0], "D": [0, 1, 1, 1]})
    apart = first + second
    assert connected_raters(apart) == (("A", "B"), ("C", "D"))
    assert rater_differences(apart).outliers == ()
    assert code(rater_differences(apart).threshold) == "disconnected_raters"
    bridge = mt.tally({"A": None, "B": [1, 1], "C": [1, 0], "D": None})
    assert connected_raters(apart + bridge) == (("A", "B", "C", "D"),)
    assert connected_raters(first) == (("A", "B"),), "who rated nothing is not compared at all"


def made(dependent: str, raters: int = 6, n: int = 60_000) -> Tally:
    """Raters of one truth, the last leaning on the first by so much."""
    rng = np.random.default_rng(4)
    truth = rng.random(n) < 0.25
    masks = [np.where(truth, rng.random(n) < 0.85, rng.random(n) < 0.05) for _ in range(raters)]
    lean = {"independent": 0.0, "leaning": 0.5, "copied": 1.0}[dependent]
    masks[-1] = np.where(rng.random(n) < lean, masks[0], masks[-1])
    return mt.tally(dict(zip("ABCDEF", masks, strict=False)), references={"truth": truth})


def test_independent_raters_count_in_full() -> None:
    found = rater_dependence(made("independent"))
    assert found.copies == ()
    upper = np.triu_indices(6, 1)
    assert np.abs(found.correlation.values[upper]).max() < 0.02
    assert np.abs(found.excess.values[upper]).max() < 4
    assert rater_dependence(made("independent"), reference="truth").effective_raters == pytest.approx(6, abs=0.1)


def test_leaning_raters_are_found_and_count_less() -> None:
    for reference in (None, "truth"):
        found = rater_dependence(made("leaning"), reference=reference)
        assert max(found.excess.pairs(), key=lambda pair: pair[2])[:2] == ("A", "F")
        assert max(found.correlation.pairs(), key=lambda pair: pair[2])[:2] == ("A", "F")
        assert found.observed["A", "F"] > found.expected["A", "F"]
    assert 4 < found.effective_raters < 5.9


def test_errors_that_raters_share_are_seen_against_a_reference_only() -> None:
    """Five raters who err on the same pixels: STAPLE takes most of these errors for truth."""
    rng = np.random.default_rng(0)
    truth, hard = rng.random(200_000) < 0.3, rng.random(200_000) < 0.12
    errors = [np.where(hard, rng.random(truth.size) < 0.6, rng.random(truth.size) < 0.04) for _ in range(5)]
    table = mt.tally([truth ^ error for error in errors], references={"truth": truth})
    true = np.corrcoef(errors)[np.triu_indices(5, 1)].mean()
    against = rater_dependence(table, reference="truth")
    assert against.mean_correlation == pytest.approx(true, abs=0.01)
    assert against.effective_raters == pytest.approx(5 / (1 + 4 * true), abs=0.05)
    assert against.reference == "truth"
    alone = rater_dependence(table)
    assert alone.mean_correlation < against.mean_correlation / 2
    assert code(alone.effective_raters) == "no_reference_for_dependence"


def test_a_rater_is_no_reference() -> None:
    with pytest.raises(CallError, match="one of the raters"):
        rater_dependence(made("independent"), reference="A")


def test_dependence_of_several_labels_is_a_mean_over_labels() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 5000)
    masks = [np.where(rng.random(truth.size) < 0.2, rng.integers(0, 3, truth.size), truth) for _ in range(4)]
    table = mt.tally(masks)
    found = rater_dependence(table)
    parts = [rater_dependence(table.only(name)).correlation.values for name in ("1", "2")]
    assert same(found.correlation.values, np.mean(parts, axis=0))
    assert list(found.by_label) == ["1", "2"]


def test_copies_are_flagged() -> None:
    found = rater_dependence(made("copied"))
    assert [(c.rater_a, c.rater_b, c.same) for c in found.copies] == [("A", "F", 1.0)]
    assert found.correlation["A", "F"] == 1
    assert found.mean_correlation > rater_dependence(made("leaning")).mean_correlation


def test_copies_go_by_labels_where_either_left_the_most_frequent() -> None:
    """Two tissues that fill the image: nobody copied, though everybody marked everything."""
    rng = np.random.default_rng(2)
    truth = np.where(np.arange(20_000) < 4000, 1, 2)
    masks = [np.where(rng.random(truth.size) < 0.08, 3 - truth, truth) for _ in range(3)]
    masks.append(np.where(rng.random(truth.size) < 0.001, 3 - masks[0], masks[0]))
    found = rater_dependence(mt.tally(dict(zip("ABCD", masks, strict=True))))
    assert [(c.rater_a, c.rater_b) for c in found.copies] == [("A", "D")]
    a, b = masks[0], masks[1]
    assert found.same["A", "B"] == pytest.approx(((a == 1) & (b == 1)).sum() / ((a == 1) | (b == 1)).sum())


def test_one_rater_many_times_is_one_rater() -> None:
    mask = np.arange(50) < 20
    table = mt.tally(dict.fromkeys("ABCDE", mask), references={"truth": np.arange(50) < 22})
    found = rater_dependence(table, reference="truth")
    assert found.effective_raters == 1
    assert len(found.copies) == 10


@pytest.mark.parametrize("raters", [2, 3])
def test_few_raters_cannot_be_told_to_be_dependent(raters: int) -> None:
    found = rater_dependence(made("independent", raters))
    assert "fewer than 4 raters" in reason(found.effective_raters)


def test_nothing_marked_has_no_dependence() -> None:
    found = rater_dependence(mt.tally(np.zeros((4, 9), int), labels=[0, 1]))
    assert reason(found.effective_raters)
    assert reason(found.mean_correlation)


@given(whole)
@settings(deadline=None)
def test_what_is_observed_and_expected(masks: np.ndarray) -> None:
    found = rater_dependence(counted(masks))
    for i, a in enumerate("ABCD"):
        for j, b in enumerate("ABCD"):
            assert found.observed[a, b] == pytest.approx((masks[i] & masks[j]).mean())
            p, q, w = found.fit.sensitivity, found.fit.specificity, found.fit.prior
            wanted = w * p[i] * p[j] + (1 - w) * (1 - q[i]) * (1 - q[j])
            if found.fit.convergence == "converged":
                assert found.expected[a, b] == pytest.approx(wanted, abs=1e-5, nan_ok=True)


def test_dependence_of_raters_who_never_met() -> None:
    full = made("independent")
    rng = np.random.default_rng(0)
    n, truth = 20_000, rng.random(20_000) < 0.3
    masks = {name: (truth ^ (rng.random(n) < 0.1)).astype(np.uint8) for name in "ABCDEF"}
    masks["A"][: n // 2] = VOID
    masks["F"][n // 2 :] = VOID
    found = rater_dependence(mt.tally(masks, void=VOID))
    assert np.isnan(found.correlation["A", "F"])
    assert np.abs([v for *_, v in found.correlation.pairs() if not np.isnan(v)]).max() < 0.05
    assert not np.isnan(rater_dependence(full).correlation.values).any()


@pytest.mark.parametrize("function", [rater_performance, rater_tendency])
def test_several_labels_are_not_united(function):
    """Who confuses two labels would seem to mark well."""
    table = mt.tally({"A": [1, 2, 1, 0], "B": [2, 1, 1, 0], "C": [1, 2, 2, 0]})
    with pytest.raises(mt.CallError, match=r"about one label, but there are 2.*tally.only\('1'\)"):
        function(table)
    assert function(table.only("1")).raters == ("A", "B", "C")
    assert function(table.foreground()).raters == ("A", "B", "C")


def absent_from_hard_items() -> mt.Tally:
    """Four raters who err independently given the truth, more often on the second half, which D did not rate."""
    rng, n = np.random.default_rng(7), 40_000
    truth, hard = rng.random(n) < 0.3, np.arange(n) >= n // 2
    masks = {r: (truth ^ (rng.random(n) < np.where(hard, 0.3, 0.05))).astype(np.uint8) for r in "ABCD"}
    masks["D"] = np.where(hard, VOID, masks["D"]).astype(np.uint8)
    return mt.tally(masks, references={"truth": truth.astype(np.uint8)}, void=VOID)


def test_pairs_go_by_the_rates_over_what_both_rated() -> None:
    """On the easy half alone, which A and D share, A errs less than over all items."""
    table = absent_from_hard_items()
    against = rater_dependence(table, reference="truth")
    for rater in "ABC":
        assert against.correlation[rater, "D"] == pytest.approx(0, abs=0.02), rater
    alone = rater_dependence(table)
    assert abs(alone.correlation["A", "D"]) < 0.05


def test_complete_data_go_by_each_raters_own_rates() -> None:
    table = made("leaning")
    fit = mt.staple(table, "estimated")
    found = rater_dependence(table)
    p, q, w = fit.sensitivity, fit.specificity, float(table.counts @ fit.probability / table.counts.sum())
    error = w * p * (1 - p) + (1 - w) * q * (1 - q)
    expected = w * np.outer(p, p) + (1 - w) * np.outer(1 - q, 1 - q)
    apart = ~np.eye(len(p), dtype=bool)
    np.testing.assert_allclose(found.expected.values[apart], expected[apart], atol=1e-6)
    correlation = (found.observed.values - expected) / np.sqrt(np.outer(error, error))
    np.testing.assert_allclose(found.correlation.values[apart], correlation[apart], atol=1e-5)
