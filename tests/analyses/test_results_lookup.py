"""Asking a result for a table, a statistic or a scale that it does not have."""

import numpy as np
import pytest

import manytruths as mt
from manytruths import CallError


@pytest.fixture(scope="module")
def study():
    a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    return mt.Study.from_arrays({"p1": {"anna": a, "ben": b}})


@pytest.fixture(scope="module")
def result(study):
    return mt.agree(study, pictures=False)


def test_an_unknown_statistic_is_named_with_those_there_are(result):
    with pytest.raises(CallError, match=r"no statistic 'kappa' in agreement; there are .*fleiss_kappa"):
        result.headline("kappa")


def test_an_unknown_scope_or_row_is_named(result):
    with pytest.raises(CallError, match=r"dice in agreement has no scope 'median'; there are .*pooled"):
        result.headline("dice", "median")
    with pytest.raises(CallError, match=r"no row of dice \(pooled\) in agreement has group='b'"):
        result.agreement.find("dice", group="b")


def test_an_unknown_table_is_named_with_those_there_are(result):
    with pytest.raises(CallError, match="there is no table 'nope'; tables are agreement, curve, pairs"):
        result.tables["nope"]
    assert result.tables.get("nope") is None


def test_an_unknown_scale_of_kappa_is_refused_before_anything_is_read(study):
    with pytest.raises(CallError, match=r"kappa_scale must be one of landis_koch, .*; got 'x'"):
        mt.agree(study, kappa_scale="x", pictures=False)
