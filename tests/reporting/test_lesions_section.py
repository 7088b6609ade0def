"""The section on lesions: sentences, tables with the addresses of their numbers, and what the viewer gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_findings import cells, discs, findings, lead, tables

import manytruths as mt
from manytruths.analyses.agree.case import MapOptions
from manytruths.analyses.agree.lesions import measure_lesions
from manytruths.analyses.fuse.case import FusePlan, estimate_case
from manytruths.reporting.case_view import ViewPlan, layer_case, view_data
from manytruths.reporting.elements import Section
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import lesions
from manytruths.reporting.sections.paper_texts import methods_text, results_text

PLACES = ((4, 4), (4, 20), (20, 12))


def spots(count: int = 12, raters: str = "ABC") -> dict[str, dict[str, np.ndarray]]:
    """Three squares a case; the last rater misses the third in every other case, and B draws one more in the first."""
    cases = {}
    for k in range(count):
        cases[f"p{k + 1:02}"] = masks = {r: np.zeros((32, 32), np.uint8) for r in raters}
        for rater, mask in masks.items():
            for i, (y, x) in enumerate(PLACES[: 2 if rater == raters[-1] and k % 2 else 3]):
                mask[y : y + 6, x : x + 5 + (i + k + ord(rater)) % 2] = 1
    cases["p01"]["B"][28:31, 26:30] = 1
    return cases


@pytest.fixture(scope="module")
def found() -> Findings:
    return findings(spots())


def section_of(found: Findings) -> Section:
    made = lesions.section(found)
    assert made is not None
    return made


def column(table: Any, title: str) -> list[str]:
    at = [c.title for c in table.columns].index(title)
    return [row[at].shown for row in table.rows]


def test_lesions_of_raters_on_unequal_cases_are_no_order(found: Findings) -> None:
    """Printed before: sensitivities of raters, one of whom skipped the hard cases, without a word."""
    own = {case: {r: m for r, m in of.items() if r != "B" or case > "p03"} for case, of in spots().items()}
    for some, unequal in ((found, False), (findings(own), True)):
        shown = tables(section_of(some))
        assert ("no order of raters" in shown["lesion-raters"].note) is unequal
        assert ("Cases that fewer raters read count, too" in shown["lesion-finders"].note) is unequal


def test_nobody_is_absent_where_every_case_has_as_many_slots() -> None:
    """Printed before of all exchangeable raters: "Cases that fewer raters read count, too"."""
    fewer = {case: {r: m for r, m in of.items() if r != "B" or case > "p03"} for case, of in spots().items()}
    for study, said in ((spots(), False), (fewer, True)):
        note = tables(section_of(findings(study, raters="exchangeable")))["lesion-finders"].note
        assert ("Cases that fewer raters read count, too" in note) is said


def test_sentences_and_tables(found: Findings) -> None:
    section = section_of(found)
    said = "The raters marked 37 lesions (connected marks; those with a mean IoU of 0.50 or more count as the same)"
    assert lead(section).startswith(said)
    assert "in 12 cases: 30 by all raters, and 1 by one rater alone. The chance" in lead(section)
    shown = tables(section)
    assert set(shown) == {"lesion-finders", "lesion-agreement", "lesion-raters", "lesion-pairs", "lesions"}
    assert column(shown["lesion-finders"], "Lesions") == ["1", "6", "30"]
    assert column(shown["lesion-raters"], "Rater") == ["A", "B", "C"]
    # half of the others (B) found what B drew alone in p01: (3 / 4 + 5 + 6 × 2 / 3) / 12
    assert column(shown["lesion-raters"], "Sensitivity")[2].startswith("0.81")
    assert len(shown["lesion-pairs"].rows) == 3
    listed = shown["lesions"]
    assert listed.closed
    assert listed.filter
    assert len(listed.rows) == 37
    assert listed.rows[0][0].case == "p01"
    assert column(listed, "Found by")[:4] == ["3 of 3", "3 of 3", "3 of 3", "1 of 3"]
    assert column(listed, "Missed by")[3] == "A; C"


def test_numbers_have_their_addresses(found: Findings) -> None:
    files = {"agree/detection.csv", "agree/detection_curve.csv"}
    numbers = [cell for cell in cells(section_of(found)) if cell.value]
    assert numbers
    assert {cell.at.partition("#")[0] for cell in numbers} == files
    known = {
        (row.scope, row.case, row.label, *map(str, row.extra), row.statistic): row.value
        for row in found.agreement.tables["detection"].rows
    }
    for cell in numbers:
        file, _, place = cell.at.partition("#")
        scope, case, _, label, _, *extra, statistic = place.split(",")
        if file == "agree/detection.csv":
            assert cell.value == repr(float(known[scope, case, label, *extra, statistic]))


def test_texts_of_a_paper(found: Findings) -> None:
    assert "Lesions were connected marks, joined over raters by falling mean IoU while they" in methods_text(found)
    assert "had an IoU of 0.50 or more on average, and compared by" in methods_text(found)
    assert "panoptic quality [Kirillov 2019]" in methods_text(found)
    assert "The raters marked 37 lesions" in results_text(found)
    assert "(positive agreement) was" in results_text(found)


def test_nobody_is_named_of_exchangeable_raters() -> None:
    shown = tables(section_of(findings(spots(), raters="exchangeable")))
    assert set(shown) == {"lesion-finders", "lesion-agreement", "lesions"}
    titles = [c.title for c in shown["lesions"].columns]
    assert "Raters" not in titles
    assert "Missed by" not in titles


def test_labels_that_are_lesions_have_rows() -> None:
    """Label 1 has spots, label 2 one square a mask."""
    cases = spots()
    for masks in cases.values():
        for mask in masks.values():
            mask[26:30, 2:10] = 2
    section = section_of(findings(cases, methods=("plurality",)))
    assert set(column(tables(section)["lesion-agreement"], "Label")) == {"label 1"}
    assert lead(section).startswith("Of label 1, the raters marked 37 lesions")


def test_one_object_a_mask_has_no_section() -> None:
    assert lesions.section(findings(discs())) is None
    assert "esion" not in methods_text(findings(discs()))


def test_the_viewer_gets_places_and_finders() -> None:
    reading = mt.Study.from_arrays({"p1": spots()["p01"]})["p1"].read()
    drawn = layer_case(reading, estimate_case(reading, FusePlan(("vote:0.5",), {}, None)), MapOptions())
    data = view_data(reading, drawn, ViewPlan(), measure_lesions(reading, reading.tally()))
    assert len(data["lesions"]) == 4
    number, label, (slice_, row, column_), (slices, reach), seen, rated, names = data["lesions"][3]
    assert (number, label, slice_, slices, seen, rated, names) == (4, None, 0, 0, 1, 3, "B")
    assert (row, column_, reach) == (29, 27.5, round((12 / np.pi) ** 0.5, 1))
    assert view_data(reading, drawn, ViewPlan())["lesions"] == []


def test_places_follow_the_slices_that_are_shown() -> None:
    """A ball of an axis that is shown as slices, with empty slices cut away."""
    z, y, x = np.ogrid[:40, :30, :30]
    ball = ((z - 30) ** 2 + (y - 10) ** 2 + (x - 20) ** 2 < 20).astype(np.uint8)
    reading = mt.Study.from_arrays({"p1": {"A": ball, "B": ball}}, spacing=(2, 1, 1))["p1"].read()
    drawn = layer_case(reading, estimate_case(reading, FusePlan(("vote:0.5",), {}, None)), MapOptions())
    data = view_data(reading, drawn, ViewPlan(), measure_lesions(reading, reading.tally()))
    [[_, _, place, reach, *_]] = data["lesions"]
    axes = [part["axis"] for part in data["places"]]
    assert axes == [0, 1, 2]
    assert place == [30 - data["first"], 10, 20]
    assert reach[0] == pytest.approx(reach[1] / 2, abs=0.06)
