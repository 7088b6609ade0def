"""Many cases at once: the numbers, and the bytes of files, are those of one case after another."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths.analyses.agree import tables as agree_tables
from manytruths.analyses.agree.tables import statistics_for
from manytruths.claims.numbers import TableIndex
from manytruths.core import tally as tally_module
from manytruths.core.tally import Tallies
from manytruths.inference.intervals import case_values, values_without_raters
from manytruths.io import writing
from manytruths.io.result_tables import CaseColumns, CaseRows, Row, Table
from manytruths.raters.performance import performance_by_case, performance_tables

MANY_CASES = 16

VALUES = {True: (0, 1, 9), False: (0, 1)}
"""With and without a value that means not rated."""


@pytest.fixture(autouse=True, scope="module")
def many_cases():
    """Sixteen are many here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "MANY_CASES", MANY_CASES)
        yield


def drawn(seed, cases=MANY_CASES, raters=4, gaps=True):
    """Cases of few pixels, so that some are empty, equal to another or without overlap."""
    rng = np.random.default_rng(seed)
    names = [f"r{i}" for i in range(raters)]
    shape = (cases, raters, 6)
    masks = rng.choice(VALUES[gaps], size=shape, p=(0.6, 0.3, 0.1) if gaps else (0.65, 0.35))
    masks[1] = masks[0]
    return Tallies(
        {f"c{i}": mt.tally(dict(zip(names, each, strict=True)), void=9, labels=[0, 1]) for i, each in enumerate(masks)}
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), gaps=st.booleans())
def test_statistics_of_many_cases_are_those_of_each(seed, gaps):
    tallies = drawn(seed, gaps=gaps)
    assert tallies.aligned is not None
    for statistic in statistics_for(tallies["c0"]).values():
        found, wanted = case_values(statistic, tallies), [statistic(t) for t in tallies.values()]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
        assert [mt.reason(value) for value in found] == [mt.reason(value) for value in wanted]
        assert found[0] == found[1] or np.isnan(found[0])  # equal cases are equal to the last digit


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), gaps=st.booleans())
def test_raters_left_out_of_many_cases(seed, gaps):
    tallies = drawn(seed, gaps=gaps)
    one_by_one = Tallies(dict(list(tallies.items())[: MANY_CASES - 1]))
    assert one_by_one.aligned is None
    for statistic in (mt.fleiss_kappa, mt.krippendorff_alpha, mt.MeanPairwise(mt.dice)):
        found, wanted = (values_without_raters(statistic, t) for t in (tallies, one_by_one))
        np.testing.assert_allclose(found[: len(wanted)], wanted, rtol=0, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_tables_of_pairs_and_performance_of_many_cases(seed):
    tallies, fresh = drawn(seed), drawn(seed)
    aligned = tallies.aligned
    for table, other in zip(tallies.values(), fresh.values(), strict=True):
        np.testing.assert_array_equal(table.contingency, other.contingency)
    for against in ("consensus", "others"):
        names, found = performance_by_case(aligned, against)
        wanted = [performance_tables(table, against) for table in fresh.values()]
        assert all(here == names for here, _ in wanted)
        np.testing.assert_array_equal(found, [tables for _, tables in wanted])


def test_large_tables_are_not_aligned(monkeypatch):
    monkeypatch.setattr(tally_module, "MOST_ALIGNED", 10)
    assert drawn(0).aligned is None


def test_sessions_that_only_some_cases_have_are_not_aligned():
    both = {("A", "1"): [0, 1], ("A", "2"): [1, 1], ("B", "1"): [0, 1]}
    second = {name: mask for name, mask in both.items() if name != ("A", "1")}
    tallies = Tallies({f"c{i}": mt.tally(second if i else both) for i in range(MANY_CASES)})
    assert tallies.aligned is None
    assert case_values(mt.fleiss_kappa, tallies)[1] == mt.fleiss_kappa(mt.tally(second))


@pytest.mark.parametrize("gaps", [False, True])
def test_agree_writes_the_same_tables_either_way(monkeypatch, tmp_path, gaps):
    rng = np.random.default_rng(3)
    arrays = {
        f"c{i:02d}": {f"r{k}": rng.choice(VALUES[gaps], size=(8, 8)) for k in range(3)} for i in range(MANY_CASES + 2)
    }
    study = mt.Study.from_arrays(arrays, void=9 if gaps else None, labels={0: "background", 1: "mark"})
    mt.agree(study, out=tmp_path / "many", pictures=False)
    monkeypatch.setattr(tally_module, "MANY_CASES", 1000)
    mt.agree(study, out=tmp_path / "each", pictures=False)
    files = sorted(path.name for path in (tmp_path / "many/agree").glob("*.csv"))
    assert {"agreement.csv", "raters.csv", "pairs.csv"} <= set(files)
    for name in files:
        texts = ((tmp_path / way / "agree" / name).read_text() for way in ("many", "each"))
        many, each = (list(csv.reader(text.splitlines())) for text in texts)
        assert len(many) == len(each)
        for row, other in zip(many, each, strict=True) if name != "claims.csv" else ():
            assert all(a == b or abs(float(a) - float(b)) < 1e-12 for a, b in zip(row, other, strict=True))


def test_less_background_of_many_cases_is_that_of_each():
    tallies, settings_ = drawn(5, gaps=False), agree_tables.Settings()
    some = Tallies(tallies)
    some._aligned = (list(some.values()), None)
    for many, each in zip(*(agree_tables._with_less_background(t, settings_) for t in (tallies, some)), strict=True):
        assert (many.scope, many.statistic, many.region) == (each.scope, each.statistic, each.region)
        assert many.value == pytest.approx(each.value, abs=1e-12, nan_ok=True)


# -- rows of cases as columns ----------------------------------------------------------------------


def tables():
    """The same table of rows, and of columns."""
    about = CaseColumns(["a", "=b"], ["", "g"], ["whole", "union"], [4, 5])
    values = {"dice": [0.5, mt.Undefined("both_empty")], "iou": [0.25, 1.0]}
    rows, columns = (Table("agreement", ("rater",)) for _ in range(2))
    for table in (rows, columns):
        table.append(Row("pooled", "dice", 0.4, extra=("A",)))
    for name, each in values.items():
        columns.add([CaseRows(name, each, about, "x", ("A",))])
        for i, value in enumerate(each):
            where = about.cases[i], about.groups[i], "x", about.regions[i], ("A",)
            rows.append(Row("case", name, value, *where, n=about.items[i]))
    for table in (rows, columns):
        table.append(Row("mean", "dice", 0.4, extra=("A",), low=0.1, high=0.5))
    return rows, columns


def test_rows_kept_as_columns_are_the_same_rows(tmp_path):
    rows, columns = tables()
    for marked in (False, True):
        if marked:
            for table in (rows, columns):
                table.mark(lambda row: "resampled" if row.case == "=b" else "")
        assert len(rows) == len(columns) == 6
        assert list(map(repr, rows.rows)) == list(map(repr, columns.rows))
        assert rows.rows[2]["rater"] == columns.rows[2]["rater"] == "A"
        assert [row.statistic for row in columns.rows[1:-1]] == ["dice", "dice", "iou", "iou"]
        assert repr(columns.rows[-1]) == repr(rows.rows[-1])
        assert rows.write(tmp_path / "a").read_bytes() == columns.write(tmp_path / "b").read_bytes()
        found = columns.find("dice", "case", case="=b", group="g", label="x", rater="A")
        assert found.value.code == "both_empty"
        by_name = TableIndex("agree/agreement.csv", columns)
        assert by_name.row("iou", "case", "A", case="a", label="x").value == 0.25
        assert by_name.row("iou", "case", "A", case="c", label="x") is None
        assert by_name.row("dice", "mean", "A").low == 0.1


def test_files_are_the_same_however_many_lines_are_in_memory(monkeypatch, tmp_path):
    rows = [[i, f"{'=' if i == 3 else ''}cell", mt.Undefined("both_empty"), None] for i in range(7)]
    writing.write_csv(tmp_path / "whole.csv", iter(rows), "abcd")
    monkeypatch.setattr(writing, "_LINES", 2)
    writing.write_csv(tmp_path / "parts.csv", iter(rows), "abcd")
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
