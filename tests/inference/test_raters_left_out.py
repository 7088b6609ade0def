"""Leaving out raters and subjects by update formulas: the same numbers as tables made without them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manytruths as mt
from manytruths.core import tally as tallying
from manytruths.core.columns import Column
from manytruths.core.labels import VOID, Labels
from manytruths.core.tally import Tallies, Tally, cross_tabulate, pool
from manytruths.inference import intervals

STATISTICS = [
    mt.fleiss_kappa, mt.krippendorff_alpha, mt.percent_agreement, mt.positive_agreement, mt.smyth_bound, mt.gwet_ac1,
    mt.MeanPairwise(mt.dice), mt.MeanPairwise(mt.cohen_kappa), mt.MacroMean(mt.positive_agreement),
    mt.MacroMean(mt.MeanPairwise(mt.dice)),
]  # fmt: skip


def random_tally(seed: int, raters: int = 6, labels: int = 3, void: float = 0.2, rows: int = 60) -> Tally:
    """Patterns that share no structure; one rater may have a second session, and one column is an algorithm."""
    rng = np.random.default_rng(seed)
    names = [Column(f"r{i}") for i in range(raters)] + [Column("r0", session="2"), Column("net", "algorithm")]
    likely = rng.integers(0, labels, (rows, 1))
    patterns = np.where(rng.random((rows, len(names))) < 0.6, likely, rng.integers(0, labels, (rows, len(names))))
    patterns = np.where(rng.random(patterns.shape) < void, VOID, patterns).astype(np.uint8)
    patterns[:, raters - 1] = np.where(rng.random() < 0.3, VOID, patterns[:, raters - 1])
    values = tuple(range(labels))
    return Tally(tuple(names), Labels(values, tuple(map(str, values))), patterns, rng.integers(1, 9, rows))


def projected(statistic, table: Tally, name: str) -> float:
    """The long way: the table without the columns of a rater."""
    return statistic(table.without(*[c for c in table.columns if c.role == "rater" and c.name == name]))


@given(seed=st.integers(0, 10**6), labels=st.integers(2, 4), void=st.sampled_from([0, 0.2, 0.7]))
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: f"{type(s).__name__}-{s.__name__}")
def test_each_rater_left_out_at_once(statistic, seed, labels, void):
    table = random_tally(seed, labels=labels, void=void)
    names = [*table.rater_names, "nobody"]
    expected = [projected(statistic, table, name) for name in table.rater_names] + [statistic(table)]
    np.testing.assert_allclose(statistic.without_each(table, names), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("of", ["pooled", "mean"])
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: f"{type(s).__name__}-{s.__name__}")
def test_intervals_over_raters(statistic, of):
    tables = {f"c{i}": random_tally(i, void=0.1) for i in range(5)}

    def long_way(table):
        return statistic(table)  # a plain function has no formula that leaves raters out

    long_way.__name__ = statistic.__name__
    found = mt.confidence_interval(statistic, tables, over="raters", of=of)
    expected = mt.confidence_interval(long_way, tables, over="raters", of=of)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)


def test_subjects_left_out_by_tables_of_pairs(monkeypatch):
    statistic = mt.MeanPairwise(mt.dice)
    tables = {f"c{i}": random_tally(i, raters=5, labels=2, void=0.3) for i in range(40)}
    subjects = {case: f"s{int(case[1:]) % 35}" for case in tables}
    slow = intervals.pooled_intervals([statistic], Tallies(tables, subjects))[0]
    monkeypatch.setattr(intervals, "MANY_RATERS", 2)
    fast = intervals.pooled_intervals([statistic], Tallies(tables, subjects))[0]
    assert np.isfinite(slow.low)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), abs=1e-12)


@given(
    rows=st.integers(0, 60), columns=st.integers(1, 12), labels=st.integers(2, 4), seed=st.integers(0, 10**6),
    absent=st.sampled_from(["nobody", "anywhere", "in groups"]),
)  # fmt: skip
def test_tables_of_pairs_by_who_was_there(rows, columns, labels, seed, absent):
    rng = np.random.default_rng(seed)
    patterns, counts = rng.integers(0, labels, (rows, columns)).astype(np.uint8), rng.integers(0, 10**6, rows)
    if absent == "anywhere":
        patterns[rng.random(patterns.shape) < 0.4] = VOID
    if absent == "in groups":
        for part in np.array_split(np.arange(rows), 3):
            patterns[np.ix_(part, np.flatnonzero(rng.random(columns) < 0.6))] = VOID
    expected = np.zeros((columns, columns, labels, labels))
    for row, count in zip(patterns.tolist(), counts.tolist(), strict=True):
        for i in range(columns):
            for j in range(columns):
                if VOID not in (row[i], row[j]):
                    expected[i, j, row[i], row[j]] += count
    kept = tallying._SMALL
    try:
        for tallying._SMALL in (0, 10**9):
            assert np.array_equal(cross_tabulate(patterns, counts, range(columns), labels), expected)
    finally:
        tallying._SMALL = kept


def test_a_sum_is_made_again_where_cases_changed():
    tables = Tallies({"a": random_tally(0), "b": random_tally(1)})
    first = pool(tables, mixed=True)
    assert pool(tables, mixed=True) is first
    tables["b"] = random_tally(2)
    assert pool(tables, mixed=True) == pool(list(tables.values()), mixed=True) != first
    assert pool(tables.select(["a"]), mixed=True) == tables["a"]
