"""The field's own libraries, to 1e-12.

irrCAC rounds what it returns to ``digits``; 16 of them leave nothing but the last bit.
"""

import importlib
import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score, jaccard_score, precision_score, recall_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

import manytruths as mt
from panels import VOID, panels

CLOSE = {"abs": 1e-12, "rel": 1e-12}


def counted(panel):
    return mt.tally(panel.masks, labels=panel.labels, void=VOID)


def ratings(panel):
    """(raters, items), nan where not rated."""
    flat = np.stack([m.reshape(-1) for m in panel.masks.values()]).astype(float)
    flat[flat == VOID] = np.nan
    return flat


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@settings(max_examples=40)
@given(data=st.data())
def test_cohen_of_sklearn(weights, data):
    # sklearn weighs by position, so that labels must be 0, 1, 2, …
    panel = data.draw(panels(raters=(2, 2), missing=False))
    a, b = (np.searchsorted(panel.labels, m.reshape(-1)) for m in panel.masks.values())
    assume(len({*a, *b}) > 1)
    table = mt.tally([a, b], labels=range(len(panel.labels)))
    value = mt.cohen_kappa(table) if weights is None else mt.weighted_kappa(table, weights)
    expected = cohen_kappa_score(a, b, labels=range(len(panel.labels)), weights=weights)
    assert value == pytest.approx(expected, **CLOSE)


@settings(max_examples=40)
@given(panel=panels(raters=(2, 2), labels=(2, 2), missing=False))
def test_overlap_of_sklearn(panel):
    a, b = (m.reshape(-1) != 0 for m in panel.masks.values())
    table = mt.tally([a, b])
    pairs = [
        (mt.dice, f1_score(b, a, zero_division=np.nan)),
        (mt.iou, jaccard_score(b, a, zero_division=0)),
        (mt.sensitivity, recall_score(b, a, zero_division=np.nan)),
        (mt.ppv, precision_score(b, a, zero_division=np.nan)),
        (mt.specificity, recall_score(~b, ~a, zero_division=np.nan)),
        (mt.npv, precision_score(~b, ~a, zero_division=np.nan)),
    ]
    assume((a | b).any())
    for statistic, expected in pairs:
        assert statistic(table) == pytest.approx(expected, nan_ok=True, **CLOSE)


@settings(max_examples=40)
@given(panel=panels(missing=False))
def test_fleiss_of_statsmodels(panel):
    flat = ratings(panel)
    assume(len(np.unique(flat)) > 1)
    counts, _ = aggregate_raters(flat.T.astype(int))
    assert mt.fleiss_kappa(counted(panel)) == pytest.approx(fleiss_of_statsmodels(counts), **CLOSE)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@settings(max_examples=50)
@given(panel=panels())
def test_alpha_of_krippendorff(level, panel):
    flat = ratings(panel)
    pairable = flat[:, (~np.isnan(flat)).sum(axis=0) > 1]
    assume(len(np.unique(pairable[~np.isnan(pairable)])) > 1)
    expected = krippendorff.alpha(flat, level_of_measurement=level, value_domain=panel.labels)
    # its ratio metric is 0 / 0 where both values are 0; those pairs agree
    assert mt.krippendorff_alpha(counted(panel), level) == pytest.approx(expected, **CLOSE)


IRRCAC = {
    "fleiss": mt.fleiss_kappa,
    "gwet": mt.gwet_ac1,
    "bp": mt.pabak,
    "krippendorff": mt.krippendorff_alpha,
}


@pytest.mark.parametrize("method", IRRCAC)
@settings(max_examples=25)
@given(panel=panels(raters=(3, 5), shape=(8,)))
def test_irrcac_with_unequal_numbers_of_raters(method, panel):
    pandas = importlib.import_module("pandas")
    raw = importlib.import_module("irrCAC.raw")
    flat = ratings(panel)
    numbers = (~np.isnan(flat)).sum(axis=0)
    assume((numbers > 1).sum() > 1)
    assume(len(np.unique(flat[:, numbers > 1][~np.isnan(flat[:, numbers > 1])])) > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' and its own standard errors
        cac = raw.CAC(pandas.DataFrame(flat.T), categories=[float(v) for v in panel.labels], digits=16)
        expected = getattr(cac, method)()["est"]["coefficient_value"]
    assume(not math.isnan(expected))
    assert IRRCAC[method](counted(panel)) == pytest.approx(float(expected), **CLOSE)


def test_irrcac_own_example():
    raw = importlib.import_module("irrCAC.raw")
    four = importlib.import_module("irrCAC.datasets").raw_4raters()
    table = mt.tally(four.fillna(-1).to_numpy().T, void=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cac = raw.CAC(four, digits=16)
        for method, statistic in IRRCAC.items():
            assert statistic(table) == pytest.approx(float(getattr(cac, method)()["est"]["coefficient_value"]), **CLOSE)
    assert mt.gwet_ac1(table) == pytest.approx(0.77544, abs=5e-6)
    assert mt.fleiss_kappa(table) == pytest.approx(0.76117, abs=5e-6)
