"""Agreement, raters and cases as tables and charts of the page."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from small_findings import discs, findings, lead, tables

from manytruths.claims.sentences import case_links, join_names, join_parts, plain_text, spell_count
from manytruths.reporting.elements import Beside, Chart
from manytruths.reporting.sections import agreement, cases, raters
from manytruths.reporting.sections.complexity import HEADS

GROUPS = {f"p{k:02}": "odd" if k % 2 else "even" for k in range(1, 13)}


@pytest.fixture(scope="module")
def found():
    return findings(discs(), groups=GROUPS)


def charts(section):
    blocks = [b for block in section.blocks for b in (block.blocks if isinstance(block, Beside) else (block,))]
    return {b.name: b for b in blocks if isinstance(b, Chart)}


def test_words():
    assert [spell_count(1, "case"), spell_count(2, "rater"), spell_count(24, "case")] == [
        "one case",
        "two raters",
        "24 cases",
    ]
    assert [join_names([]), join_names(["A"]), join_names(["A", "B"])] == ["", "A", "A and B"]
    assert plain_text(join_parts([("a",), ("b",), ("c",)])) == "a, b and c"
    assert plain_text(case_links(["p1", "p2", "p3"], 2)) == "p1, p2 and one more"


def test_charts_are_drawn(found):
    drawn = charts(agreement.section(found)) | charts(raters.section(found))
    wanted = {"kappa-by-group", "kappa-histogram", "agreement-curve", "group-comparison", "dendrogram"}
    assert wanted | {"dice-between-raters"} == set(drawn)
    for chart in drawn.values():
        ElementTree.fromstring(chart.svg)
        assert chart.caption.endswith(".")


def test_headlines_have_a_line_of_explanation(found):
    table = tables(agreement.section(found))["agreement"]
    assert all(row[0].below.endswith(".") for row in table.rows)
    kappa = next(row for row in table.rows if row[0].shown == "Fleiss' kappa")
    mean = found.agreement.headline("fleiss_kappa")
    assert kappa[1].value == repr(float(mean.value))
    assert kappa[1].at.startswith("agree/agreement.csv#mean,")


@pytest.mark.parametrize(
    ("region", "words"),
    [("whole", "Every pixel of the image counts"), ("union", "at least one rater marked count"),
     ("modified_background", "as many of the background")],
)  # fmt: skip
def test_the_region_is_said(region, words):
    assert words in lead(agreement.section(findings(discs(3), region=region)))


def test_groups_and_labels():
    two = {c: {r: np.where(np.arange(24) > 11, 2 * m, m) for r, m in by.items()} for c, by in discs().items()}
    found = findings(two, groups=GROUPS, labels={1: "gland", 2: "tumour"})
    shown = tables(agreement.section(found))
    assert [row[0].shown for row in shown["agreement-by-group"].rows] == ["odd", "even"]
    assert [row[0].shown for row in shown["agreement-by-label"].rows] == ["gland", "tumour"]
    assert shown["confusions"].rows[0][1].at.startswith("agree/confusions.csv#")
    assert "fewer than ten" in shown["agreement-by-group"].note


def test_special_cases_only_where_there_are_some(found):
    assert "special-cases" not in tables(agreement.section(found))
    own = {c: {r: m * (r != "D" or c > "p02") for r, m in by.items()} for c, by in discs().items()}
    shown = tables(agreement.section(findings(own)))
    assert [row[1].shown for row in shown["special-cases"].rows] == ["0", "2", "0"]
    assert len(shown["kappa-without-special-cases"].rows) == 3


def test_raters_have_their_colours_and_tendencies(found):
    section = raters.section(found)
    table = tables(section)["rater-tendencies"]
    assert [row[0].colour for row in table.rows] == [found.colours[r] for r in "ABCDE"]
    assert [row[2].shown for row in table.rows] == ["", "", "", "", "yes"]
    assert len(tables(section)["rater-pairs"].rows) == 10
    assert all(column.help for column in table.columns[1:])


def test_cases_come_with_the_most_disputed_first(found):
    table = tables(cases.section(found))["cases"]
    assert table.filter
    kappas = [float(row[3].value) for row in table.rows]
    assert kappas == sorted(kappas)
    assert {row[0].case for row in table.rows} == set(discs())
    titles = [column.title for column in table.columns]
    assert titles[:5] == ["Case", "What to look at", "Group", "Fleiss' kappa", "Level"]
    assert "Majority vote and STAPLE" in titles


def test_two_raters_have_no_tree_no_curve_and_no_vote():
    found = findings(discs(12, "AB"))
    drawn = charts(agreement.section(found)) | charts(raters.section(found))
    assert not {"dendrogram", "agreement-curve"} & set(drawn)
    shown = tables(agreement.section(found)) | tables(raters.section(found))
    assert not {"agreement-curve-table", "rater-performance", "rater-performance-pooled"} & set(shown)
    titles = [column.title for column in tables(cases.section(found))["cases"].columns]
    assert "What any rater marked (union) and STAPLE" in titles
    assert "What to look at" not in titles


def test_of_many_raters_the_ends_of_the_pairs_are_shown():
    found = findings(discs(2, "ABCDEFGHIJKLMNOPQ"))
    table = tables(raters.section(found))["rater-pairs"]
    assert len(table.rows) == 40
    assert "All 136 pairs are in agree/pairs.csv." in table.note
    dice = [float(row[5].value) for row in table.rows]
    every = sorted(r.value for r in found.agreement.tables["pairs"].all("dice", "pooled") if r.extra[2] == "between")
    assert sorted(dice) == every[:20] + every[-20:]


def test_entropy_is_that_of_staples_map(found):
    heads = {column.title: column.help for column in tables(cases.section(found))["cases"].columns}
    assert heads["Entropy"] == HEADS["entropy"][1]
    assert "STAPLE" in heads["Entropy"]


def test_the_index_does_not_say_which_label_is_common(found):
    rows = {row[0].shown: row[0].below for row in tables(agreement.section(found))["agreement"].rows}
    assert "one label covers nearly everything" in rows["Prevalence index"]
    assert "background" not in rows["Prevalence index"]


def test_one_case_is_no_cloud_of_points():
    assert "kappa-by-group" not in charts(agreement.section(findings(discs(1))))


@pytest.mark.parametrize(("who", "there"), [("ABCD", False), ("ABCDE", True)])
def test_intervals_over_raters_need_some(who, there):
    titles = [column.title for column in tables(agreement.section(findings(discs(3, who))))["agreement"].columns]
    assert ("Pooled, over raters" in titles) is there


def test_patients_of_several_groups_are_told(found):
    assert "several groups" not in tables(agreement.section(found))["agreement-by-group"].note
    both = findings(discs(), groups=GROUPS, subjects={f"p{k:02}": f"s{(k + 1) // 2}" for k in range(1, 13)})
    assert "counts in each of them" in tables(agreement.section(both))["agreement-by-group"].note


def test_whiskers_are_told_of_where_there_are_some(found):
    assert "Whiskers" not in charts(agreement.section(found))["group-comparison"].caption
    many = findings(discs(20), groups={f"p{k:02}": "odd" if k % 2 else "even" for k in range(1, 21)})
    assert "Whiskers: 95% CI." in charts(agreement.section(many))["group-comparison"].caption


def test_absent_raters_generalise_kappa():
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs().items()}
    for study, there in ((own, True), (discs(), False)):
        rows = tables(agreement.section(findings(study)))["agreement"].rows
        assert ("Generalised" in rows[0][0].below) is there
