"""Gordon's simulation of five ellipses: his Tables 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from evidence.gordon import ellipses
from manytruths import (
    CallError,
    Tally,
    balanced_accuracy,
    gordon_f,
    soft_accuracy,
    soft_sensitivity,
    soft_specificity,
    staple,
    vote,
)

TABLE_1 = {
    "whole": ([1.00, 0.48, 0.44, 0.31, 0.24], [0.94, 0.99, 0.98, 1.00, 1.00]),
    "modified_background": ([1.00, 0.67, 0.26, 0.46, 0.36], [0.68, 0.97, 0.86, 1.00, 1.00]),
}
LARGE, SMALL, ACCURATE = [1, 2, 3, 4, 5], [1, 2, 4, 5, 3], [2, 4, 5, 3, 1]
TABLE_2 = {
    "whole": {gordon_f: LARGE, balanced_accuracy: LARGE, soft_accuracy: ACCURATE},
    "modified_background": {gordon_f: SMALL, balanced_accuracy: SMALL, soft_accuracy: ACCURATE},
}


@pytest.fixture(scope="module", params=[160, 256, 512])
def table(request: pytest.FixtureRequest) -> Tally:
    return mt.tally(ellipses(request.param))


@pytest.mark.parametrize("region", TABLE_1)
def test_table_1(table: Tally, region: str) -> None:
    found = staple(table.restrict(region))
    assert found.sensitivity == pytest.approx(TABLE_1[region][0], abs=0.02)
    assert found.specificity == pytest.approx(TABLE_1[region][1], abs=0.02)


@pytest.mark.parametrize("region", TABLE_2)
def test_rankings_of_table_2(table: Tally, region: str) -> None:
    part = table.restrict(region)
    found = staple(part)
    for measure, ranking in TABLE_2[region].items():
        assert (np.argsort(-measure(part, found)) + 1).tolist() == ranking, measure.__name__  # type: ignore[operator]


def test_rates_of_staple_are_the_soft_ones(table: Tally) -> None:
    found = staple(table, tol=1e-12, max_iter=100_000)
    assert soft_sensitivity(table, found) == pytest.approx(found.sensitivity, abs=1e-9)
    assert soft_specificity(table, found.probability) == pytest.approx(found.specificity, abs=1e-9)


def test_against_a_hard_truth_they_are_the_usual_ones() -> None:
    masks = {"A": [1, 1, 0, 0, 0], "B": [1, 0, 1, 0, 0], "C": [1, 1, 0, 1, 0]}
    table = mt.tally(masks, predictions={"net": [1, 1, 1, 1, 0]})
    truth = vote(table)
    assert soft_sensitivity(table, truth.hard).tolist() == [1, 0.5, 1]
    assert soft_specificity(table, truth.hard, ["net"]).tolist() == pytest.approx([1 / 3])
    assert soft_accuracy(table, truth.hard, ["net"]).tolist() == [0.6]
    assert gordon_f(table, truth.hard, ["net"]).tolist() == pytest.approx([0.5])
    assert balanced_accuracy(table, truth.hard, ["net"]).tolist() == pytest.approx([2 / 3])


def test_soft_measures_without_an_answer() -> None:
    table = mt.tally({"A": [1, 0], "B": [0, 0]})
    assert np.isnan(soft_sensitivity(table, [0.0, 0.0])).all()
    assert soft_accuracy(table, [0.0, 0.0]).tolist() == [0.5, 1]
    assert gordon_f(table, [1.0, 0.0])[1] == 0
    with pytest.raises(CallError, match="one probability a pattern"):
        soft_accuracy(table, [0.0])
    with pytest.raises(CallError, match="another table"):
        soft_accuracy(table, vote(mt.tally({"A": [1, 0, 0], "B": [0, 1, 0]})))
    with pytest.raises(CallError, match="alpha"):
        gordon_f(table, [1.0, 0.0], alpha=2)
