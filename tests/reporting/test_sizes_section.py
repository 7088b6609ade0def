"""The section on sizes and distances: sentences, tables and charts, with the numbers of the files."""

from __future__ import annotations

import numpy as np
import pytest
from computed_studies import STUDIES, blocks, computed, findings, simulated_findings

from manytruths.claims.sentences import plain_text
from manytruths.io.result_tables import Row, Table
from manytruths.reporting.elements import Chart, PageTable
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import make_sections, sizes


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Findings:
    return simulated_findings(tmp_path_factory.mktemp("demo"))


def tables(found: Findings) -> dict[str, PageTable]:
    section = sizes.section(found)
    return {b.name: b for b in blocks(section) if isinstance(b, PageTable)} if section else {}


def column(table: PageTable, title: str) -> list[str]:
    where = [head.title for head in table.columns].index(title)
    return [row[where].shown for row in table.rows]


def test_the_demo_has_everything(demo):
    section = sizes.section(demo)
    assert section is not None
    wanted = {"size-agreement", "size-by-rater", "size-pairs", "size-repeatability", "distances"}
    assert set(tables(demo)) == wanted
    drawn = [b.name for b in blocks(section) if isinstance(b, Chart)]
    assert drawn == ["sizes-by-rater", "sizes-by-case", "size-limits-of-agreement"]
    names = [s.name for s in make_sections(demo)]
    assert names.index("raters") < names.index("sizes") < names.index("cases")


def test_sizes_by_raters_on_unequal_cases_are_no_order():
    """Printed before: mean sizes of raters, one of whom skipped the hard cases, without a word."""
    every = {f"p{k:02}": {r: np.zeros((30, 30), np.uint8) for r in "ABC"} for k in range(8)}
    for k, of in enumerate(every.values()):
        for j, mask in enumerate(of.values()):
            mask[2 : 9 + 2 * k, 3 : 20 + j] = 1
    own = {case: {r: m for r, m in of.items() if r != "B" or case > "p03"} for case, of in every.items()}
    for study, unequal in ((every, False), (own, True)):
        found = findings(study)
        chart = next(b for b in blocks(sizes.section(found)) if getattr(b, "name", "") == "sizes-by-rater")
        for note in (tables(found)["size-by-rater"].note, chart.caption):
            assert ("no order of raters" in note) is unequal


def test_sentences_speak_of_sizes_first(demo):
    lead = [plain_text(sentence) for sentence in sizes.section(demo).lead]
    assert lead[0].startswith("The intraclass correlation of logarithms of areas")
    assert lead[-1].startswith("The outlines of two raters are")


def test_numbers_are_those_of_the_files(demo):
    table = tables(demo)["size-agreement"]
    assert column(table, "Size")[0] == "Area, pixels"
    cell = table.rows[0][1]
    row = demo.agreement.tables["size_agreement"].find("icc_a1", size="area", unit="pixels", scale="linear",
                                                       relation="all", rater_a="", rater_b="")  # fmt: skip
    assert cell.value == repr(float(row.value))
    assert cell.at.startswith("agree/size_agreement.csv#pooled,,,,whole,area,pixels,linear,all,,,icc_a1")


def test_intervals_of_icc_say_what_they_take_for_granted(demo):
    """Sentences give no interval of the ICC of areas, as areas are skewed; the table has it."""
    table = tables(demo)["size-agreement"]
    icc = [cell for cell, head in zip(table.rows[0], table.columns, strict=True) if head.title == "ICC(A,1)"]
    assert "(" in plain_text(icc), "no interval is shown"
    assert "of ICC take sizes to be normally distributed: of skewed sizes they are too short" in table.note


def test_areas_change_by_factors_and_lengths_by_differences(demo):
    """Factors have their sign; correlations and standard errors are those of sizes."""
    table = tables(demo)["size-agreement"]
    shown = dict(zip(column(table, "Size"), column(table, "SDC"), strict=True))
    row = demo.agreement.tables["size_agreement"].find("smallest_detectable_change", size="area", scale="log")
    assert shown["Area, pixels"].startswith(f"×{row.value:.2f}")
    assert not any("×" in text for size, text in shown.items() if not size.startswith("Area"))
    where = [head.title for head in table.columns].index("SDC")
    assert table.rows[0][where].at.endswith(",area,pixels,log,all,,,smallest_detectable_change")
    assert column(table, "Limits with the mean")[0].startswith("×")
    assert "×" not in column(table, "SEM")[0] + column(table, "ICC(A,1)")[0]
    assert column(tables(demo)["size-repeatability"], "Repeatability")[0].startswith("×")


def test_every_session_has_its_mean_size(demo):
    assert column(tables(demo)["size-by-rater"], "Rater") == ["A", "B@1", "B@2", "C", "D", "E"]
    assert set(column(tables(demo)["size-repeatability"], "Rater")) == {"B"}


@pytest.mark.parametrize("name", STUDIES)
def test_sentences_and_tables_are_whole(name):
    section = sizes.section(computed(name))
    for sentence in section.lead if section else ():
        text = plain_text(sentence)
        assert text.endswith(".")
        assert not any(bad in text for bad in ("nan", "None", "  ", " ,", "..", "RECIST"))
    for table in tables(computed(name)).values():
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_labels_have_rows_and_charts_of_limits_only():
    found = computed("labels")
    section = sizes.section(found)
    assert set(column(tables(found)["distances"], "Label")) == {"mean of labels", "1", "2"}
    names = [b.name for b in blocks(section) if isinstance(b, Chart)]
    assert all(name.startswith("size-limits-of-agreement") for name in names)


def test_nothing_measured_has_no_section():
    assert sizes.section(computed("empty")) is not None, "sizes of 0 are sizes"
    plain = findings({"p1": {r: np.eye(4, dtype=np.uint8)[0] for r in "AB"}})
    assert sizes.section(plain) is None


def changes() -> Table:
    """Two visits of a patient, as the table of a longitudinal study has them."""
    table = Table("changes", ("subject", "rater", "session", "unit", "measure", "since", "compared_with"))
    for since in ("baseline", "nadir"):
        for statistic, value, unit in (("change", -12.5, "mm²"), ("relative_change", -0.25, "")):
            extra = ("s1", "A", "", unit, "area", since, "p01")
            table.append(Row("case", statistic, value, "p02", "", "", "whole", extra, n=1))
    return table


def test_changes_are_shown_without_a_word_on_responses():
    found = findings({f"p{i:02}": {r: np.eye(12, dtype=np.uint8) for r in "AB"} for i in range(3)})
    found.agreement.tables["changes"] = changes()
    table = tables(found)["size-changes"]
    assert [cell.shown for cell in table.rows[0]] == ["s1", "p02", "A", "Area, mm²", "−12.5", "−25%", "−12.5", "−25%"]
    assert "responses" not in tables(found)
