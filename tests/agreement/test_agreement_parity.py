"""Every statistic against the loop over pixels, to 1e-12, with items not rated and raters absent."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
import naive
from manytruths import Column, Labels, Tally, reason
from manytruths.agreement import contingency
from panels import VOID, Panel, panels

MANY = [
    "percent_agreement", "fleiss_kappa", "gwet_ac1", "pabak", "prevalence_index", "positive_agreement",
    "negative_agreement", "smyth_bound", "unanimous",
]  # fmt: skip
PAIR = ["cohen_kappa", "dice", "iou", "sensitivity", "specificity", "ppv", "npv", "bias_index", "volume_difference"]


def counted(panel: Panel) -> Tally:
    return mt.tally(panel.masks, labels=panel.labels, void=VOID)


def seen(panel: Panel) -> list:
    return naive.items(list(panel.masks.values()), VOID)


def check(value, exact):
    if exact is None:
        assert math.isnan(value)
        assert reason(value) not in ("", "undefined"), "undefined without a reason"
    else:
        assert value == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("name", MANY)
@settings(max_examples=40)
@given(panel=panels(absent=True))
def test_any_number_of_raters(name, panel):
    check(getattr(mt, name)(counted(panel)), getattr(naive, name)(seen(panel), panel.labels))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@settings(max_examples=40)
@given(panel=panels(absent=True))
def test_alpha(level, panel):
    check(mt.krippendorff_alpha(counted(panel), level), naive.alpha(seen(panel), panel.labels, level))


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
@settings(max_examples=20)
@given(panel=panels(labels=(3, 5)), data=st.data())
def test_alpha_reads_the_numbers_of_labels_not_their_values(level, panel, data):
    numbers = data.draw(st.permutations(range(1, len(panel.labels) + 1)))
    table = mt.tally(panel.masks, labels=Labels(panel.labels, numbers=tuple(numbers)), void=VOID)
    check(mt.krippendorff_alpha(table, level), naive.alpha(seen(panel), panel.labels, level, numbers))


@settings(max_examples=40)
@given(panel=panels(absent=True))
def test_prevalence_curve_and_condition(panel):
    table, items = counted(panel), seen(panel)
    for value, exact in zip(mt.prevalence(table), naive.prevalence(items, panel.labels), strict=True):
        assert math.isnan(value) if exact is None else value == pytest.approx(float(exact), abs=1e-12)
    curve = mt.agreement_curve(table)
    assert curve.raters.tolist() == list(range(1, len(panel.masks) + 1))
    for value, exact in zip(curve.share, naive.agreement_curve(items, panel.labels), strict=True):
        assert math.isnan(value) if exact is None else value == pytest.approx(float(exact), abs=1e-12)
    assert mt.case_condition(table) == naive.condition(items, panel.labels)


@pytest.mark.parametrize("name", PAIR)
@settings(max_examples=40)
@given(panel=panels(raters=(2, 2)))
def test_two_raters(name, panel):
    check(getattr(mt, name)(counted(panel)), getattr(naive, name)(seen(panel), panel.labels))


@pytest.mark.parametrize(("weights", "exact"), [("linear", naive.linear_kappa), ("quadratic", naive.quadratic_kappa)])
@settings(max_examples=40)
@given(panel=panels(raters=(2, 2)))
def test_weighted_kappa(weights, exact, panel):
    check(mt.weighted_kappa(counted(panel), weights), exact(seen(panel), panel.labels))


@settings(max_examples=30)
@given(panel=panels(raters=(2, 4), absent=True))
def test_contingency_of_every_pair(panel):
    tables, items = contingency(counted(panel)), seen(panel)
    raters = range(len(panel.masks))
    for i in raters:
        for j in raters:
            assert tables[i, j].tolist() == naive.contingency([(item[i], item[j]) for item in items], panel.labels)


@pytest.mark.parametrize("name", PAIR)
@settings(max_examples=15)
@given(panel=panels(raters=(3, 4), absent=True))
def test_all_pairs_at_once_equal_each_pair(name, panel):
    table, items = counted(panel), seen(panel)
    matrix = mt.pairwise(getattr(mt, name), table)
    for i, a in enumerate(panel.masks):
        for j, b in enumerate(panel.masks):
            exact = getattr(naive, name)([(item[i], item[j]) for item in items], panel.labels)
            assert math.isnan(matrix[a, b]) if exact is None else matrix[a, b] == pytest.approx(float(exact), abs=1e-12)


@settings(max_examples=15)
@given(panel=panels(raters=(3, 4)))
def test_pairwise_of_a_statistic_that_is_no_pair_formula(panel):
    table, items = counted(panel), seen(panel)
    matrix = mt.pairwise(mt.weighted_kappa, table)
    assert matrix.statistic == "weighted_kappa"
    for i, a in enumerate(panel.masks):
        for j, b in enumerate(panel.masks):
            exact = naive.quadratic_kappa([(item[i], item[j]) for item in items], panel.labels)
            assert math.isnan(matrix[a, b]) if exact is None else matrix[a, b] == pytest.approx(float(exact), abs=1e-12)


@settings(max_examples=20)
@given(panel=panels(raters=(3, 5), missing=False))
def test_mean_pairwise(panel):
    table, items = counted(panel), seen(panel)
    raters = range(len(panel.masks))
    for name in ("dice", "sensitivity"):
        found = [
            getattr(naive, name)([(item[i], item[j]) for item in items], panel.labels)
            for i in raters
            for j in raters
            if i != j
        ]
        defined = [v for v in found if v is not None]
        check(mt.mean_pairwise(getattr(mt, name), table), sum(defined) / len(defined) if defined else None)


def test_digits_survive_a_huge_background():
    rows, counts = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], [10**12, 1, 3, 2]
    table = Tally((Column("A"), Column("B"), Column("C")), Labels((0, 1)), np.array(rows), np.array(counts))
    share = naive.Fraction(1 + 2 * 3 + 3 * 2, 3 * table.items)
    apart = naive.Fraction(4 * 1 + 4 * 3, 6 * table.items)
    assert mt.fleiss_kappa(table) == pytest.approx(float(1 - apart / (2 * share * (1 - share))), abs=1e-15)


@pytest.mark.parametrize(("items", "raters"), [(29, 7), (58, 7), (61, 7), (1, 49), (115, 7)])
def test_one_label_everywhere_is_undefined_for_any_number_of_raters(items, raters):
    # (items / raters) · raters is not items in floating point: a chance of 1 − 1e-16 must not make kappa 1
    table = mt.tally([np.ones(items, np.uint8)] * raters)
    assert "one and the same label" in reason(mt.fleiss_kappa(table))
    assert "one and the same label" in reason(mt.krippendorff_alpha(table))
