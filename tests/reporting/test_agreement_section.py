"""Agreement, raters and cases as tables and charts of the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from small_findings import discs, findings, lead, tables

from manytruths.claims.sentences import case_links, join_names, join_parts, plain_text, spell_count
from manytruths.reporting.elements import Beside, Chart, Paragraphs
from manytruths.reporting.sections import agreement, cases, complexity, raters, summary
from manytruths.reporting.sections import reference_standard as rates
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
    assert wanted | {"dice-between-raters", "distance-between-raters"} == set(drawn)
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
    at = [column.title for column in table.columns].index("Outlier")
    assert [row[at].shown for row in table.rows] == ["", "", "", "", "yes"]
    assert len(tables(section)["rater-pairs"].rows) == 10
    assert all(column.help for column in table.columns[1:])


def test_cases_come_with_the_most_disputed_first(found):
    table = tables(cases.section(found))["cases"]
    assert table.filter
    kappas = [float(row[3].value) for row in table.rows]
    assert kappas == sorted(kappas)
    assert {row[0].case for row in table.rows} == set(discs())
    titles = [column.title for column in table.columns]
    assert titles[:5] == ["Case", "What to look at", "Group", "Fleiss' kappa", "Dice"]
    assert "Level" not in titles, "a case has no interval, and so no word for its kappa"
    assert "Majority vote and STAPLE" in titles


def test_two_raters_have_no_tree_no_curve_and_no_vote():
    found = findings(discs(12, "AB"))
    drawn = charts(agreement.section(found)) | charts(raters.section(found))
    assert not {"dendrogram", "agreement-curve"} & set(drawn)
    shown = tables(agreement.section(found)) | tables(raters.section(found))
    assert not {"agreement-curve-table", "rater-performance", "rater-performance-pooled"} & set(shown)
    titles = [column.title for column in tables(cases.section(found))["cases"].columns]
    assert "What any rater marked (union) and STAPLE" not in titles, "their overlap is that of the raters"
    assert "What to look at" not in titles


def test_of_many_raters_the_ends_of_the_pairs_are_shown():
    found = findings(discs(2, "ABCDEFGHIJKLMNOPQ"))
    table = tables(raters.section(found))["rater-pairs"]
    assert len(table.rows) == 40
    assert "All 136 pairs are in agree/pairs.csv." in table.note
    pooled = [column.title for column in table.columns].index("Dice, pooled")
    dice = [float(row[pooled].value) for row in table.rows]
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
    assert "Whiskers: 95% CI over cases." in charts(agreement.section(many))["group-comparison"].caption


def test_absent_raters_generalise_kappa():
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs().items()}
    for study, there in ((own, True), (discs(), False)):
        rows = tables(agreement.section(findings(study)))["agreement"].rows
        assert ("Generalised" in rows[0][0].below) is there


# -- what intervals, captions and notes say ----------------------------------------------------------


def titles_of(table):
    return [column.title for column in table.columns]


def test_brackets_are_said_to_be_over_what_they_are(found):
    table = tables(agreement.section(found))["agreement"]
    assert table.note.startswith("In brackets: 95% CI over cases, unless the column says otherwise.")
    assert {"Over both", "SD"} <= set(titles_of(table))
    one = tables(agreement.section(findings(discs(1))))["agreement"]
    assert one.note.startswith("In brackets: 95% CI over raters; there are too few cases for intervals over them.")
    assert not {"Over both", "SD"} & set(titles_of(one)), "columns without a single interval or spread"
    assert "CI" not in one.columns[1].help
    four = tables(agreement.section(findings(discs(3, "ABCD"))))["agreement"]
    assert "brackets" not in four.note


def test_groups_have_their_n_and_levels_only_with_intervals(found):
    said = lead(agreement.section(found))
    assert "The mean kappa of groups ranges from" in said
    assert said.count("(six cases)") == 2
    assert "Level" not in titles_of(tables(agreement.section(found))["agreement-by-group"])
    many = findings(discs(20), groups={f"p{k:02}": "odd" if k % 2 else "even" for k in range(1, 21)})
    assert "Level" in titles_of(tables(agreement.section(many))["agreement-by-group"])


def test_kappas_of_groups_that_differ_have_digits_that_differ():
    one = np.zeros((60, 60), np.uint8)
    one[20:50, 20:50] = 1
    other = np.roll(one, 2, axis=1)
    less = other.copy()
    less[0, 0] = 1
    cases = {f"p{i}": {"A": one, "B": less if i > 1 else other} for i in range(4)}
    said = lead(agreement.section(findings(cases, groups={case: "B" if case > "p1" else "A" for case in cases})))
    low, high = re.search(r"The mean kappa of groups ranges from ([\d.]+) in B .* to ([\d.]+) in A ", said).groups()
    assert float(low) < float(high) < float(low) + 0.005


def test_kappa_without_special_cases_has_its_n():
    own = {c: {r: m * (r != "D" or c > "p02") for r, m in by.items()} for c, by in discs().items()}
    table = tables(agreement.section(findings(own)))["kappa-without-special-cases"]
    at = titles_of(table).index("Cases with a kappa")
    assert [row[at].shown for row in table.rows] == ["12", "10", "10"]


def test_the_curve_says_where_cases_have_fewer_raters(found):
    assert "fewer raters" not in charts(agreement.section(found))["agreement-curve"].caption
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs().items()}
    section = agreement.section(findings(own))
    words = "Cases with fewer raters count, too, and cannot reach the largest numbers."
    assert words in charts(section)["agreement-curve"].caption
    assert words in tables(section)["agreement-curve-table"].note


def test_points_of_raters_are_said_to_be_part_of_the_consensus(found):
    caption = charts(agreement.section(found))["group-comparison"].caption
    assert "to which their own marks belong" in caption
    assert "No measure of agreement: shared votes (see the next table)." in caption


def test_histograms_count_what_they_say():
    patients = findings(discs(24), subjects={f"p{k:02}": f"s{(k + 1) // 2}" for k in range(1, 25)})
    svg = charts(agreement.section(patients))["kappa-histogram"].svg
    assert ">of patients<" in svg
    assert ">of cases<" not in svg


def alike():
    """Four raters who differ by chance only."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:40, :40]

    def drawn():
        down, along, radius = rng.normal((20, 20, 9), (0.7, 0.7, 0.5))
        return ((y - down) ** 2 + (x - along) ** 2 < radius**2).astype(np.uint8)

    return {f"p{k:02}": {rater: drawn() for rater in "ABCD"} for k in range(14)}


def test_volumes_have_voxels():
    volumes = {c: {r: np.stack([m, m]) for r, m in by.items()} for c, by in alike().items()}
    found = findings(volumes, spacing=(1.0, 1.0, 1.0))
    assert found.pixel_word == "voxel"
    for make in (summary.section, agreement.section, raters.section, cases.section, complexity.section, rates.section):
        section = make(found)
        words = lead(section) + " ".join(plain_text(s) for b in section.blocks if isinstance(b, Paragraphs)
                                         for s in b.sentences)  # fmt: skip
        for table in tables(section).values():
            words += " ".join([table.title, table.note, *(column.help for column in table.columns)])
            words += " ".join(cell.shown + cell.below for row in table.rows for cell in row)
        assert "pixel" not in words.lower(), make.__module__


# -- raters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("study", "said"),
    [(discs(1), "Whether raters differ is not tested"), (discs(12, "AB"), "With two raters neither is called larger")],
    ids=["one case", "two raters"],
)
def test_raters_who_were_not_tested_have_no_empty_verdicts(study, said):
    section = raters.section(findings(study))
    assert said in lead(section)
    table = tables(section)["rater-tendencies"]
    assert not {"Outlier", "Draws"} & set(titles_of(table))
    assert "tests" not in table.note


def test_raters_who_cannot_be_told_apart_are_not_called_alike():
    section = raters.section(findings(alike()))
    assert lead(section) == (
        "No rater can be told from the others by the tests over 14 cases of who is an outlier, who draws larger or "
        "smaller, and whether there are two groups. This does not show that the raters are alike."
    )
    table = tables(section)["rater-tendencies"]
    assert "Each 95% CI over cases is of one rater alone; tests are adjusted for all raters" in table.note
    (outlier,) = [column for column in table.columns if column.title == "Outlier"]
    assert "does not mean that the rater is like the others" in outlier.help


def test_the_tree_is_a_description(found):
    caption = charts(raters.section(found))["dendrogram"].caption
    assert "differs most" not in caption
    assert "no test of groups" in caption
    assert "1 − Dice" in charts(raters.section(found))["dendrogram"].svg


def test_distances_are_said_to_be_over_the_cases_that_all_read():
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs().items()}
    chart = charts(raters.section(findings(own)))["dice-between-raters"]
    assert "pooled over the nine cases that all of them read" in chart.caption
    assert "Dice between raters, 9 cases pooled" in chart.svg
    assert "all cases pooled" in charts(raters.section(findings(discs(3))))["dice-between-raters"].caption


def test_nearly_equal_readings_are_not_shown_as_equal_nor_taken_for_repeatability():
    own = {}
    for case, by in discs(8, "ABC", 80).items():
        own[case] = {(r, "1"): np.kron(m, np.ones((4, 4), np.uint8)) for r, m in by.items()}
        again = own[case]["A", "1"].copy()
        again[tuple(np.argwhere(again)[0])] = 0
        own[case]["A", "2"] = again
    for key in own["p01"]:
        own["p01"][key] = own["p01"][key] * 0
    del own["p02"]["A", "2"]
    section = raters.section(findings(own))
    table = tables(section)["rater-repeats"]
    row = dict(zip(titles_of(table), table.rows[0], strict=True))
    assert 0.995 < float(row["Dice"].value) < 1
    assert not row["Dice"].shown.startswith("1")
    assert row["Cases"].shown == "6 of 7"
    assert "A@1 and A@2: the same mask in a case, or nearly the same in all" in table.note


def test_raters_on_unequal_cases_show_over_how_many_and_no_order():
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs(14).items()}
    shown = tables(raters.section(findings(own)))
    table = shown["rater-tendencies"]
    counts = {row[0].shown: row[titles_of(table).index("Excess distance")].below for row in table.rows}
    assert counts == {"A": "", "B": "n = 11", "C": "", "D": "", "E": ""}
    for name in ("rater-tendencies", "rater-performance", "rater-performance-pooled"):
        assert "no order of raters" in shown[name].note, name


def test_a_case_is_not_judged_by_a_vote_that_a_raters_own_marks_entered():
    # A's large mask outweighs B and C in nothing, but the vote of three follows whoever is nearest to A
    y, x = np.mgrid[:24, :24]
    drawn = {"A": x < 12, "B": (x < 12) & (y < 20), "C": (x < 12) & (y >= 4)}
    case = {rater: mask.astype(np.uint8) for rater, mask in drawn.items()}
    found = findings({f"p{k}": case for k in range(2)})
    table = found.table("agree/pairs")
    dice = {a + b: table.row("dice", "case", a, b, "between", case="p0").value for a, b in ("AB", "AC", "BC")}
    assert dice["BC"] < dice["AB"] == dice["AC"], "B and C are equally far from the others"
    assert cases.describe_case(found, "p0") == ""
    far = {**case, "C": ((x >= 10) & (x < 20)).astype(np.uint8)}
    assert cases.describe_case(findings({"p0": far}), "p0") == "C is furthest from the others"


def test_the_vote_of_all_is_said_to_hold_each_raters_marks(found):
    table = tables(raters.section(found))["rater-performance-pooled"]
    assert "hold each rater's own marks" in table.note
    one = tables(raters.section(findings(discs(1))))["rater-performance"]
    assert "CI" not in one.note
    assert "CI" in tables(raters.section(found))["rater-performance"].note
