"""What the tables on a given reference, and others with the same columns, say of masks that are empty."""

from __future__ import annotations

import pytest
from test_reference_standard_section import charts, column, findings, tables

from manytruths import Study
from manytruths.claims.sentences import plain_text
from manytruths.reporting.elements import PageTable, Paragraphs
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import agreement, cases, given_reference, raters, reference_standard
from manytruths.reporting.sections.paper_texts import methods_text
from study_folders import disc

NAMES = [f"p{i:02}" for i in range(12)]
WHO = "ABCDEF"


def study(*, empty: bool = True, who: str = WHO, unread: str = "") -> Study:
    """The second case is left empty by A and an algorithm, where the others and the reference marked something.

    The other algorithm has no prediction of the case ``unread``.
    """
    masks, given, predicted = {}, {}, {}
    for i, name in enumerate(NAMES):
        left = empty and i == 1
        drawn = {r: disc(x=(k + i) % 3, y=i % 2, radius=6 + 0.3 * ((k * i) % 4)) for k, r in enumerate(who)}
        masks[name] = drawn | {"A": drawn["A"] * (not left)}
        given[name] = {"truth": disc(y=i % 3, radius=6.5)}
        predicted[name] = {"net": disc(x=i % 3, radius=7.5) * (not left), "filter": disc(x=1, radius=5 + i % 2)}
        if name == unread:
            del predicted[name]["filter"]
    return Study.from_arrays(masks, references=given, predictions=predicted)


@pytest.fixture(scope="module")
def partly() -> Findings:
    return findings(study())


@pytest.fixture(scope="module")
def full() -> Findings:
    return findings(study(empty=False, who="ABC"))


def given(found: Findings) -> dict[str, PageTable]:
    section = given_reference.section(found)
    assert section is not None
    return tables(section)


RELATIVE = "Relative area difference"


def relative_titles(found: Findings) -> dict[str, list[str]]:
    """By table, the columns of relative differences of size."""
    sections = [
        raters.section(found),
        cases.section(found),
        reference_standard.section(found),
        given_reference.section(found),
    ]
    shown = [tables(s) for s in sections if s is not None]
    named = {n: [c.title for c in t.columns if c.title.startswith(RELATIVE)] for by in shown for n, t in by.items()}
    lines = tables(agreement.section(found))["agreement"].rows
    named["agreement"] = [row[0].shown for row in lines if row[0].shown.startswith(RELATIVE)]
    return {name: titles for name, titles in named.items() if titles}


def test_a_difference_that_counts_empty_masks_says_so_in_its_name(partly: Findings) -> None:
    """Before, 36% of pairs who both marked and 62% of all pairs had the same name."""
    named = relative_titles(partly)
    assert named.pop("agreement") == [
        f"{RELATIVE} (empty: 200%), mean of pairs",
        f"{RELATIVE} where both marked, mean of pairs",
    ]
    assert {"rater-pairs", "reference-standards", "given-reference-sizes"} <= set(named)
    assert {title for titles in named.values() for title in titles} == {f"{RELATIVE} (empty: 200%)"}


def test_where_no_mask_is_empty_there_is_no_convention_to_name(full: Findings) -> None:
    named = relative_titles(full)
    assert named.pop("agreement") == [f"{RELATIVE}, mean of pairs"]
    assert {title for titles in named.values() for title in titles} == {RELATIVE}


def test_methods_do_not_say_of_all_tables_that_both_marked(partly: Findings, full: Findings) -> None:
    """Said before of all: "is given for pairs of raters who both marked something"."""
    text = "Relative area differences are of pairs of raters who both marked something, unless said otherwise."
    assert text in methods_text(partly)
    assert "both marked something, unless" not in methods_text(full)


def test_ratios_and_differences_in_one_column_are_told_apart(partly: Findings) -> None:
    """Shown before: a bias of 0.96 of areas, which is a ratio, above one of −0.12 of long axes, a difference."""
    table = given(partly)["given-reference-limits"]
    sizes = column(table, "Size")
    assert {size.partition(",")[0] for size in sizes} == {"Area", "Long axis"}
    for title in ("Bias", "Lower limit", "Upper limit"):
        signs = [shown.startswith("×") for shown in column(table, title)]
        assert signs == [size.startswith("Area") for size in sizes], title


def test_every_rater_has_a_chart_up_to_eight(partly: Findings) -> None:
    """Before, the fifth rater was left out without a word."""
    section = given_reference.section(partly)
    assert section is not None
    assert [f"size-reference-limits-{who}-truth" in charts(section) for who in [*WHO, "net", "filter"]] == [True] * 8
    assert not any(isinstance(block, Paragraphs) for block in section.blocks)


@pytest.mark.slow
def test_who_is_left_out_of_the_charts_is_named() -> None:
    section = given_reference.section(findings(study(who="ABCDEFGHIJ")))
    assert section is not None
    assert {f"size-reference-limits-{who}-truth" in charts(section) for who in "ABCDEFGH"} == {True}
    said = [plain_text(s) for block in section.blocks if isinstance(block, Paragraphs) for s in block.sentences]
    assert said == ["Not drawn here, but in the table above: I and J."]


def test_cases_without_a_distance_are_told_at_the_row(partly: Findings, full: Findings) -> None:
    """Before, a mean with the image's diagonal in it stood below means without such cases, alike."""
    table = given(partly)["given-reference-distances"]
    told = dict(zip(column(table, "Who"), column(table, "No distance"), strict=True))
    assert told == dict.fromkeys(told, "0") | {"A": "1 left out", "net": "1 as the diagonal"}
    assert "No distance" not in [c.title for c in given(full)["given-reference-distances"].columns]


@pytest.mark.parametrize(
    ("missing", "unread", "net", "filter"),
    [
        ("worst", "p03", "1 as the diagonal", "1 as the diagonal"),
        ("exclude", "p03", "1 as the diagonal", "0"),
        ("exclude", "p01", "0", "0"),
    ],
)
def test_a_case_without_a_prediction_counts_as_was_asked(missing: str, unread: str, net: str, filter: str) -> None:
    table = given(findings(study(who="ABC", unread=unread), missing=missing))["given-reference-distances"]
    told = dict(zip(column(table, "Who"), column(table, "No distance"), strict=True))
    assert (told["net"], told["filter"]) == (net, filter)


def test_a_title_counts_the_cases_where_all_means_are_over_all(full: Findings, partly: Findings) -> None:
    for found, over in ((full, "mean over twelve cases"), (partly, "mean over cases")):
        shown = tables(reference_standard.section(found))
        assert shown["rater-rates"].title == "Raters against each reference standard, mean over twelve cases"
        assert shown["rater-distances"].title == f"Distances of raters to each reference standard, {over}"


def test_the_note_on_lesions_says_of_every_mean_what_it_leaves_out(partly: Findings) -> None:
    """Printed before: "Where no lesion is matched, SQ is undefined …; for algorithms it is 0"."""
    table = given(partly)["given-reference-lesions"]
    where = {head.title: i for i, head in enumerate(table.columns)}
    cells = {row[0].shown: {title: row[i].below for title, i in where.items()} for row in table.rows}
    for who in ("A", "net"):  # nothing marked in one case
        left_out = {title: below for title, below in cells[who].items() if below}
        assert left_out == {"Precision": "n = 11", "SQ": "n = 11"}, who
    assert "; nor do they in sensitivity where the reference alone has none, in precision where " in table.note
    assert "it is 0" not in table.note
