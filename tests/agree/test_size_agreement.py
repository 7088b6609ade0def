"""Agreement of sizes: a table of sizes in, rows and charts out."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import manytruths as mt
from manytruths.analyses.agree.size_agreement import (
    EXTRA,
    agreement_rows,
    gather_sizes,
    pair_rows,
    size_agreement_table,
    size_agreement_tables,
)
from manytruths.analyses.result import Tables
from manytruths.analyses.tables import Settings
from manytruths.io.result_tables import Row, Table
from manytruths.measures.variance_components import fit_sizes

RATERS = ("anna", "ben", "carla")
SETTINGS = Settings()


def study_of(cases, *, subjects=None, exchangeable=False, sessions=False):
    """Masks do not matter here: only the names of cases, subjects and raters do."""
    mask = np.zeros((6, 6), np.uint8)
    mask[2:4, 2:4] = 1
    raters = dict.fromkeys(RATERS, mask)
    if sessions:
        raters = {(r, s): mask for r in RATERS for s in ("1", "2")}
    slots = "exchangeable" if exchangeable else None
    own = dict.fromkeys(cases) if subjects is None else dict(zip(cases, subjects, strict=True))
    given = None if subjects is None else {case: str(subject) for case, subject in own.items()}
    return mt.Study.from_arrays(dict.fromkeys(cases, raters), subjects=given, raters=slots)


def sizes_of(values, size="volume", unit="ml", label="", region="whole"):
    """The table ``sizes`` of an array (cases, raters) or (cases, raters, sessions)."""
    table = Table("sizes", ("rater", "session", "unit"))
    array = np.asarray(values, float)
    array = array[:, :, None] if array.ndim == 2 else array
    for i, j, k in np.ndindex(array.shape):
        if not np.isnan(array[i, j, k]):
            session = str(k + 1) if array.shape[2] > 1 else ""
            extra = RATERS[j], session, unit
            table.append(Row("case", size, array[i, j, k], f"p{i:02}", "", label, region, extra))
    return table


def volumes(n=20, seed=0):
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(2, 1, (n, 1)) + np.array([0, 0.1, -0.1]) + rng.normal(0, 0.15, (n, 3)))


@pytest.fixture(scope="module")
def found():
    values = volumes()
    study = study_of([f"p{i:02}" for i in range(20)])
    return values, study, size_agreement_table(sizes_of(values), study, SETTINGS)


def test_all_raters(found):
    values, _, table = found
    assert table.header[5:11] == EXTRA
    row = table.find("icc_a1", size="volume", unit="ml", relation="all", rater_a="", rater_b="")
    r, c = mt.icc(values, interval="generalized"), mt.icc(values, "C,1")
    assert (row.value, row.low, row.high, row.n) == (float(r), r.low, r.high, 20)
    assert type(row.value) is float
    assert table.find("icc_c1", scale="linear").value == float(c)
    assert table.find("sem_agreement").value == pytest.approx(r.sem_agreement)
    assert table.find("sem_consistency").value == pytest.approx(r.sem_consistency)
    change = table.find("smallest_detectable_change")
    assert change.value == pytest.approx(r.smallest_detectable_change)
    assert change.low < change.value < change.high
    limits = table.find("limits_with_mean")
    expected = mt.limits_with_mean(values, log=True).limit
    assert (limits["scale"], limits["unit"], limits.value) == ("log", "ml", expected.value)


def test_all_raters_on_a_log_scale(found):
    """The same functions on logarithms; the smallest detectable change as a factor. Lengths have no such rows."""
    values, study, table = found
    r = mt.icc(np.log(values), interval="generalized")
    row = table.find("icc_a1", scale="log", size="volume", unit="ml", relation="all")
    assert (row.value, row.low, row.high, row.n, row.n_undefined) == (float(r), r.low, r.high, 20, 0)
    sem = table.find("sem_agreement", scale="log")
    assert sem.value == pytest.approx(r.sem_agreement)
    change = table.find("smallest_detectable_change", scale="log")
    for of_change, of_sem in ((change.value, sem.value), (change.low, sem.low), (change.high, sem.high)):
        assert of_change == pytest.approx(math.exp(1.96 * math.sqrt(2) * of_sem))
    assert change.low < change.value < change.high
    # limits with the mean come from the same variance
    limit = table.find("limits_with_mean").value
    assert math.log(change.value) == pytest.approx(math.log(limit) * math.sqrt(2 * 3 / 2))
    lengths = size_agreement_table(sizes_of(values, "long_axis", "mm"), study, SETTINGS)
    assert {row["scale"] for row in lengths.rows} == {"linear"}


def test_units_do_not_matter_on_a_log_scale(found):
    values, study, table = found
    other = size_agreement_table(sizes_of(values * 1000), study, SETTINGS)
    for name in ("icc_a1", "sem_agreement", "smallest_detectable_change"):
        a, b = (t.find(name, scale="log") for t in (table, other))
        assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high))


def test_pairs_as_ratios(found):
    values, _, table = found
    bias = table.find("bias", relation="between", rater_a="anna", rater_b="ben")
    expected = mt.bland_altman(values[:, 0], values[:, 1], log=True)
    assert (bias.value, bias.low, bias.high, bias["scale"]) == (
        expected.bias.value, expected.bias.low, expected.bias.high, "log",
    )  # fmt: skip
    assert table.find("upper_limit", rater_a="anna", rater_b="ben").high == expected.upper.high
    assert table.find("sd_of_differences", rater_a="anna", rater_b="ben").value == expected.sd
    assert len(table.all("lower_limit", "pooled")) == 3
    assert not table.all("repeatability", "pooled")


def test_lengths_as_differences():
    values = volumes() ** (1 / 3)
    table = size_agreement_table(
        sizes_of(values, "long_axis", "mm"), study_of([f"p{i:02}" for i in range(20)]), SETTINGS
    )
    row = table.find("lower_limit", size="long_axis", unit="mm", scale="linear", rater_a="ben", rater_b="carla")
    assert row.value == mt.bland_altman(values[:, 1], values[:, 2]).lower.value
    assert table.find("limits_with_mean", scale="linear").value == mt.limits_with_mean(values).limit.value


def test_labels_sizes_and_units_are_apart():
    both = sizes_of(volumes(12), label="liver")
    both.add(sizes_of(volumes(12, 1), label="tumour").rows)
    both.add(sizes_of(volumes(12), "lesions", "", label="liver").rows)
    both.add(
        [replace(row, case=f"q{row.case}", extra=(*row.extra[:2], "voxels")) for row in sizes_of(volumes(11)).rows]
    )
    study = study_of([f"p{i:02}" for i in range(12)] + [f"qp{i:02}" for i in range(11)])
    readings = gather_sizes(both, study)
    assert [(r.size, r.label, r.unit, len(r.cases)) for r in readings] == [
        ("volume", "liver", "ml", 12), ("volume", "tumour", "ml", 12), ("volume", "", "voxels", 11),
        ("lesions", "liver", "", 12),
    ]  # fmt: skip
    table = size_agreement_table(both, study, SETTINGS)
    assert table.find("icc_a1", label="tumour", size="volume").value == float(mt.icc(volumes(12, 1)))


def test_zeros_on_a_log_scale_are_counted():
    values = volumes()
    values[:3, 0] = 0
    table = size_agreement_table(sizes_of(values), study_of([f"p{i:02}" for i in range(20)]), SETTINGS)
    pair = table.find("bias", rater_a="anna", rater_b="ben")
    assert (pair.n, pair.n_undefined) == (17, 3)
    assert table.find("bias", rater_a="ben", rater_b="carla").n == 20
    assert (table.find("limits_with_mean").n, table.find("limits_with_mean").n_undefined) == (17, 3)
    assert table.find("icc_a1").n == 20
    for name in ("icc_a1", "sem_agreement", "smallest_detectable_change"):
        row = table.find(name, scale="log")
        assert (row.n, row.n_undefined) == (17, 3)
    assert row.value == pytest.approx(math.exp(mt.icc(np.log(values[3:])).smallest_detectable_change))
    values[:, 0] = 0
    empty = size_agreement_table(sizes_of(values), study_of([f"p{i:02}" for i in range(20)]), SETTINGS)
    row = empty.find("smallest_detectable_change", scale="log")
    assert (row.value.code, row.n, row.n_undefined) == ("no_size_above_zero", 0, 20)
    assert empty.find("smallest_detectable_change", scale="linear").value > 0


def test_few_subjects_have_no_interval():
    table = size_agreement_table(sizes_of(volumes(9)), study_of([f"p{i:02}" for i in range(9)]), SETTINGS)
    assert {row.low.code for row in table.rows if row.low is not None} == {"too_few_subjects"}
    assert not any(math.isnan(row.value) for row in table.rows)


def test_several_cases_of_a_subject():
    """Numbers are of single cases, n counts subjects, limits go by MOVER and the others by leaving out subjects."""
    values, names = volumes(36), np.repeat(np.arange(12), 3)
    study = study_of([f"p{i:02}" for i in range(36)], subjects=names)
    table = size_agreement_table(sizes_of(values), study, SETTINGS)
    r = mt.icc(values, subjects=names)
    row = table.find("icc_a1")
    assert (row.n, row.value, row.low) == (12, float(mt.icc(values)), pytest.approx(r.low))
    assert r.method == "jackknife"
    logs = mt.icc(np.log(values), subjects=names)
    row = table.find("icc_a1", scale="log")
    assert (row.n, row.low, row.high) == (12, pytest.approx(logs.low), pytest.approx(logs.high))
    pair = table.find("upper_limit", rater_a="anna", rater_b="ben")
    expected = mt.bland_altman(values[:, 0], values[:, 1], log=True, subjects=names)
    assert expected.upper.method == "mover"
    assert (pair.n, pair.high) == (12, pytest.approx(expected.upper.high))


def test_exchangeable_raters_have_one_way_numbers_and_no_pairs():
    values = volumes()
    study = study_of([f"p{i:02}" for i in range(20)], exchangeable=True)
    table = size_agreement_table(sizes_of(values), study, SETTINGS)
    assert {row.statistic for row in table.rows} == {
        "icc_1", "sem_agreement", "smallest_detectable_change", "limits_with_mean",
    }  # fmt: skip
    assert table.find("icc_1").value == float(mt.icc(values, "1"))
    logs = mt.icc(np.log(values), "1")
    assert table.find("icc_1", scale="log").value == float(logs)
    change = table.find("smallest_detectable_change", scale="log").value
    assert change == pytest.approx(math.exp(logs.smallest_detectable_change))


def test_sessions():
    rng = np.random.default_rng(5)
    values = volumes(15)[:, :, None] * np.exp(rng.normal(0, 0.05, (15, 3, 2)))
    values[:, 2, 1] = np.nan
    study = study_of([f"p{i:02}" for i in range(15)], sessions=True)
    table = size_agreement_table(sizes_of(values), study, SETTINGS)
    assert table.find("icc_a1").value == float(mt.icc(values[:, :, 0]))  # the first session counts
    whole = mt.repeatability(values, log=True, subjects=range(15))
    row = table.find("repeatability", relation="within", rater_a="")
    assert (row.value, row.n) == (whole.repeatability.value, 15)
    assert 1.05 < row.low < row.value < row.high < 1.4
    assert table.find("reproducibility", relation="all").value == whole.reproducibility.value > row.value
    own = [r["rater_a"] for r in table.all("repeatability", "pooled")]
    assert own == ["", "anna", "ben"]


def test_gaps_and_constant_sizes():
    values = volumes(12)
    values[0, 0] = values[3, 2] = np.nan
    study = study_of([f"p{i:02}" for i in range(12)])
    table = size_agreement_table(sizes_of(values), study, SETTINGS)
    row = table.find("icc_a1")
    assert row.value == pytest.approx(float(mt.icc(values)))
    assert row.low < row.value < row.high
    constant = size_agreement_table(sizes_of(np.ones((12, 3)), "lesions", ""), study, SETTINGS)
    assert constant.find("icc_a1").value.code == "constant_sizes"
    assert constant.find("bias", rater_a="anna", rater_b="ben").value == 0
    assert not size_agreement_tables([Table("agreement")], study, SETTINGS)


def test_a_reference_can_take_the_place_of_a_rater(found):
    values, study, _ = found
    readings = gather_sizes(sizes_of(values), study)[0]
    rows = list(pair_rows(readings, ("anna", "histology"), values[:, 0], values[:, 0] * 2, SETTINGS, "reference"))
    assert [row.statistic for row in rows] == ["bias", "lower_limit", "upper_limit", "sd_of_differences"]
    assert rows[0].value == pytest.approx(0.5)
    assert rows[0].extra == ("volume", "ml", "log", "reference", "anna", "histology")
    assert isinstance(fit_sizes(readings.first).components, np.ndarray)
    assert len(list(agreement_rows(readings, SETTINGS))) > 10


# -- charts -----------------------------------------------------------------------------------------


def with_sizes(study, *tables):
    result = mt.agree(study, pictures=False)
    sizes = list(tables)
    whole = {name: t for name, t in result.tables.items() if name not in ("sizes", "size_agreement")}
    return replace(result, tables=Tables([*whole.values(), *sizes, *size_agreement_tables(sizes, study, SETTINGS)]))


SIZE_CHARTS = {"sizes-by-rater", "sizes-by-case", "size-limits-of-agreement"}


def test_charts_of_sizes(found):
    values, study, _ = found
    charts = with_sizes(study, sizes_of(values)).charts
    assert set(charts) >= SIZE_CHARTS
    for name in SIZE_CHARTS:
        ElementTree.fromstring(charts[name])
    assert "limits of agreement with the mean" in charts["size-limits-of-agreement"]
    assert charts["size-limits-of-agreement"].count("<circle") == 60


def test_charts_by_label(found):
    values, study, _ = found
    table = sizes_of(values, label="liver & bile")
    table.add(sizes_of(values, label="tumour").rows)
    charts = with_sizes(study, table).charts
    assert {name for name in charts if name.startswith("sizes-by-rater")} == {
        "sizes-by-rater-liver & bile", "sizes-by-rater-tumour",
    }  # fmt: skip


def test_charts_of_two_and_of_exchangeable_raters():
    mask = np.zeros((6, 6), np.uint8)
    mask[2:4, 2:4] = 1
    cases = [f"p{i:02}" for i in range(12)]
    two = mt.Study.from_arrays({case: {"anna": mask, "ben": mask} for case in cases})
    values = volumes(12)
    values[0, 0], values[1, 1] = 0, np.nan
    charts = with_sizes(two, sizes_of(values[:, :2])).charts
    assert "anna / ben" in charts["size-limits-of-agreement"]
    assert "1 of size 0" in charts["sizes-by-rater"]
    slots = study_of(cases, exchangeable=True)
    drawn = with_sizes(slots, sizes_of(volumes(12))).charts
    assert set(drawn) & SIZE_CHARTS == {"size-limits-of-agreement"}
    assert "anna" not in drawn["size-limits-of-agreement"].replace("anna</title>", "")
