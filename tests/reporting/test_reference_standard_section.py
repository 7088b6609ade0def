"""What the page says about the reference standard and about complexity."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manytruths import InputError, Study, rank_scores
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.evaluate.evaluate import compute_evaluation
from manytruths.analyses.evaluate.marks import EvaluatePlan
from manytruths.analyses.evaluate.mask_scores import scores_of
from manytruths.analyses.fuse.case import FusePlan
from manytruths.analyses.fuse.fuse import compute_fusion
from manytruths.analyses.rank.rank import tabulate_ranking
from manytruths.analyses.tables import Settings
from manytruths.claims.sentences import Cell, plain_text
from manytruths.reporting.elements import Beside, Block, Chart, PageTable, Paragraphs, Section
from manytruths.reporting.findings import Findings, View
from manytruths.reporting.report import render_page
from manytruths.reporting.sections import cases, complexity, given_reference, raters, reference_standard, summary
from study_folders import disc, write_png, write_study

METHODS = ("vote:0.5", "staple")


def findings(study: Study, methods: tuple[str, ...] = METHODS, **options: Any) -> Findings:
    """Everything that the sections on truth and algorithms are made of."""
    settings = Settings()
    fusion = compute_fusion(study, FusePlan(methods, {}, None, False), settings=settings)
    evaluation = ranking = None
    if study.algorithms:
        evaluation = compute_evaluation(study, EvaluatePlan(methods, **options), settings=settings)
        if evaluation.mask_scores is not None and len(study.algorithms) > 1:
            with suppress(InputError):  # no two of them have a score
                ranking = tabulate_ranking(rank_scores(scores_of(evaluation.mask_scores.parts[0]), resamples=50))
    return Findings(study, settings, compute_agreement(study, settings=settings), fusion, evaluation, ranking)


def flat(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield from flat(block.blocks) if isinstance(block, Beside) else (block,)


def tables(section: Section) -> dict[str, PageTable]:
    found = [block for block in flat(section.blocks) if isinstance(block, PageTable)]
    assert len({t.name for t in found}) == len(found)
    return {table.name: table for table in found}


def charts(section: Section) -> dict[str, Chart]:
    return {block.name: block for block in flat(section.blocks) if isinstance(block, Chart)}


def cells(section: Section) -> Iterator[Cell]:
    sentences = [*section.lead]
    for block in flat(section.blocks):
        if isinstance(block, PageTable):
            yield from (cell for row in block.rows for cell in row)
        elif isinstance(block, Paragraphs):
            sentences += block.sentences
    yield from (part for sentence in sentences for part in sentence if isinstance(part, Cell))


def said(section: Section) -> str:
    own = [s for block in flat(section.blocks) if isinstance(block, Paragraphs) for s in block.sentences]
    return "\n".join(plain_text(sentence) for sentence in (*section.lead, *own))


def column(table: PageTable, title: str) -> list[str]:
    at = [c.title for c in table.columns].index(title)
    return [row[at].shown for row in table.rows]


def assert_sound(section: Section, found: Findings, folder: Path) -> None:
    """Tables are square, heads explained, and every number is the one of its file."""
    for table in tables(section).values():
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.name
        assert all(head.help for head in table.columns), table.name
    known = _numbers(found, folder)
    quoted = [cell for cell in cells(section) if cell.at]
    for cell in quoted:
        value, low, high = known[cell.at]
        assert cell.value == value, cell
        assert not cell.low or (cell.low, cell.high) == (low, high), cell
        assert cell.why or value != "nan", cell
    assert quoted
    assert {cell.case for cell in cells(section)} <= {"", *(case.name for case in found.study)}


def _numbers(found: Findings, folder: Path) -> dict[str, tuple[str, str, str]]:
    found.agreement.write_into(folder / "agree", pictures=False)
    found.fusion.write_into(folder / "fuse", pictures=False)
    if found.evaluation:
        found.evaluation.write_into(folder / "evaluate", pictures=False)
    if found.ranking:
        found.ranking.write_into(folder / "rank", pictures=False)
    known = {}
    for path in folder.glob("*/*.csv"):
        lines = path.read_text(encoding="utf-8").splitlines()
        head = next(csv.reader(lines[:1]))
        if "value" in head:
            end = head.index("value")
            for line in csv.reader(lines[1:]):
                text = io.StringIO()
                csv.writer(text, lineterminator="").writerow(line[:end])
                known[f"{path.parent.name}/{path.name}#{text.getvalue()}"] = (line[end], line[end + 1], line[end + 2])
    return known


CASES = [f"p{i:02d}" for i in range(1, 13)]


def varied(folder: Path, cases: list[str] = CASES, raters: str = "ABCD") -> str:
    """Raters who differ more from case to case."""
    random = np.random.default_rng(1)
    for i, case in enumerate(cases):
        for x, rater in enumerate(raters):
            shift = random.normal(0, 0.4 + i / 4)
            write_png(folder / "masks" / rater / f"{case}.png", disc(x=shift, y=x / 2, radius=6 + random.normal(0, 1)))
    return f"{folder}/masks/{{rater}}/{{case}}.png"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return findings(Study.open(varied(tmp_path_factory.mktemp("many"))), ("vote:0.5", "vote:any", "staple"))


def test_the_candidates_and_how_far_they_differ(many: Findings, tmp_path: Path) -> None:
    section = reference_standard.section(many)
    assert (section.name, section.title) == ("reference-standard", "What can be taken as the reference standard?")
    assert said(section).count("ground truth") == 1
    half = "marks what at least half of the raters marked; a tie counts as marked."
    assert f"Vote of at least half, in the files vote:0.5: {half}" in said(section)
    found = tables(section)
    pairs, again = found["reference-standards"], found["reference-standards-by-region"]
    vote, union, staple = "Vote of at least half", "What any rater marked (union)", "STAPLE"
    assert list(zip(column(pairs, "Reference standard"), column(pairs, "and"), strict=True)) == [
        (vote, union), (vote, staple), (union, staple),
    ]  # fmt: skip
    assert all("%" in text for text in column(pairs, "Changed"))
    assert column(again, "Reference standard") == [vote, union, staple]
    assert column(again, "Dice")[0] == "1.00"
    assert len(found["rater-rates"].rows) == len(found["rater-rates-pooled"].rows) == 4 * 3
    assert found["rater-rates-pooled"].closed
    assert len(found["rater-rates-soft"].rows) == 4 * 3
    assert set(charts(section)) == {"fuse-iou-vote-0.5", "fuse-iou-vote-any", "fuse-iou-staple"}
    assert_sound(section, many, tmp_path)


def test_where_methods_differ_most_can_be_opened(many: Findings) -> None:
    linked = [cell.case for cell in cells(reference_standard.section(many)) if cell.case]
    rows = many.fusion.differences.all("dice", "case")
    pairs = {("vote:0.5", "vote:any"), ("vote:0.5", "staple"), ("vote:any", "staple")}
    least = {case: min(r.value for r in rows if r.case == case and r.extra in pairs) for case in CASES}
    assert linked == sorted(least, key=least.__getitem__)[:3]


def test_errors_that_go_together_are_told_alike_everywhere(many: Findings) -> None:
    row = many.agreement.raters.table.find("error_correlation", "pooled", rater="")  # type: ignore[union-attr]
    told = f"the raters' errors have a mean correlation of {row.value:.2f}. This is too low"
    section = raters.section(many)
    assert section is not None
    assert told in said(reference_standard.section(many))
    assert told in said(section)
    assert "are worth about" not in said(section) + said(summary.section(many)), "there is no given reference"


def test_cases_on_which_methods_hardly_differ_are_not_named(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "ABC", ("p1", "p2", "p3"))))
    rows = [r for r in found.fusion.differences.all("dice", "case") if r.extra == METHODS]
    assert ("differ most on" in said(reference_standard.section(found))) is any(
        r.value < reference_standard.DIFFERENT for r in rows
    )


def test_equal_cases_are_not_called_hard(tmp_path: Path) -> None:
    same = findings(Study.open(write_study(tmp_path, "ABC", [f"p{i}" for i in range(5)])))
    values = {row.value for row in same.fusion.complexity.all("esm", "case")}
    assert ("ESM is highest in " in said(complexity.section(same))) is (len(values) > 1)
    assert "five cases have the same ESM" in said(complexity.section(same))


def test_groups_are_named_by_what_was_measured_and_stand_beside_dice(many: Findings, tmp_path: Path) -> None:
    section = complexity.section(many)
    found = tables(section)
    assert column(found["complexity-groups"], "Group") == ["low mean (A)", "high mean (B)", "middle mean (C)"]
    assert sum(map(int, column(found["complexity-groups"], "Cases"))) == 12
    values = {r.case: r.value for r in many.fusion.complexity.all("esm", "case")}
    highest = sorted(values, key=lambda case: -values[case])
    assert column(found["highest-esm"], "Case") == highest[:10]
    assert [row[0].case for row in found["highest-esm"].rows] == highest[:10]
    assert column(found["complexity"], "Measure") == ["ESM", "SSM", "Entropy", "Mean", "SD"]
    assert "modified background" in found["complexity"].note
    assert_sound(section, many, tmp_path)


def test_dice_of_a_group_is_the_mean_of_its_cases(many: Findings) -> None:
    table = many.fusion.complexity
    dice = {r.case: r.value for r in many.agreement.agreement.all("dice", "case")}
    members = {r.case: r["class"] for r in table.all("esm", "case")}
    for name in set(members.values()):
        mean = np.mean([dice[case] for case in CASES if members[case] == name])
        assert table.find("dice", "mean", **{"class": name}).value == pytest.approx(mean)


def test_esm_is_shown_beside_overlap_and_not_called_difficulty(many: Findings) -> None:
    from scipy.stats import spearmanr

    dice = [r.value for r in many.fusion.complexity.all("dice", "case")]
    esm = [r.value for r in many.fusion.complexity.all("esm", "case")]
    row = many.fusion.complexity.find("esm_dice_correlation")
    assert (row.value, row.n) == (pytest.approx(spearmanr(esm, dice).statistic), 12)
    text = said(complexity.section(many))
    assert f"rank correlation of ESM with the mean Dice of two raters is {row.value:.2f}".replace("-", "−") in text
    assert not re.search(r"\bhard|difficult|disagreement", text)


def test_groups_are_words() -> None:
    names = [complexity.group_name(letter) for letter in ("A", "B", "C", "D", "undefined")]
    assert names == ["low mean", "high mean", "middle mean", "middle mean", "undefined"]


def test_points_of_the_plane_open_their_case(many: Findings) -> None:
    drawn = charts(complexity.section(many))["fuse-complexity"].svg
    assert all(drawn.count(f'data-case="{case}"') == 1 for case in CASES)


def test_few_cases_are_not_grouped(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "ABC", ("p1", "p2"))))
    section = complexity.section(found)
    assert "fewer than 10 make no groups" in said(section)
    assert "complexity-groups" not in tables(section)
    assert_sound(section, found, tmp_path / "out")
    assert_sound(reference_standard.section(found), found, tmp_path / "out")


def test_one_case(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "ABC", ("p1",))))
    section = reference_standard.section(found)
    assert "SD" not in [c.title for c in tables(section)["reference-standards"].columns]
    assert "rater-rates-pooled" not in tables(section)
    assert not charts(section)
    assert "differ most on" not in said(section)
    spread = complexity.section(found)
    assert "The one case has an ESM of" in said(spread)
    assert spread.title == "How are STAPLE's probabilities spread?"
    assert [c.title for c in tables(spread)["complexity"].columns] == ["Measure", "Value"]
    helps = [c.help for part in (section, spread) for table in tables(part).values() for c in table.columns]
    assert not [text for text in helps if "95% CI" in text], "there is no interval"
    assert_sound(section, found, tmp_path / "out")


def test_two_raters(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "AB", ("p1", "p2"))))
    words = said(reference_standard.section(found))
    assert "What any rater marked (union), in the files vote:0.5" in words
    assert "Two raters cannot outvote each other" in words
    assert "STAPLE marks exactly what both raters marked, in both cases: with two raters it adds nothing" in words
    assert "STAPLE is for raters who differ in quality" not in words, "it tells nothing about them"
    assert "they overlap by" not in words, "that is the raters' own Dice"
    assert "They differ most on" not in words
    assert "majority" not in words
    assert "A vote is simple" not in words
    assert "esm" not in " ".join(charts(complexity.section(found)))
    union = "What any rater marked (union)"
    assert set(column(tables(reference_standard.section(found))["rater-rates"], "with")) == {union, "STAPLE"}
    assert_sound(complexity.section(found), found, tmp_path / "out")


def test_raters_who_are_nobody_in_particular(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "ABC", ("p1", "p2", "p3")), raters="exchangeable"))
    section = reference_standard.section(found)
    assert column(tables(section)["rater-rates"], "Rater") == ["mean of raters"] * 2
    assert_sound(section, found, tmp_path / "out")
    assert_sound(complexity.section(found), found, tmp_path / "out")


def test_nothing_was_marked(tmp_path: Path) -> None:
    for rater in "ABC":
        for case in ("p1", "p2"):
            write_png(tmp_path / "masks" / rater / f"{case}.png", np.zeros((20, 20), np.uint8))
    found = findings(Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png"))
    section, hard = reference_standard.section(found), complexity.section(found)
    assert "cannot be computed: nobody marked anything" in said(section)
    assert "No case has a complexity" in said(hard)
    assert "nobody marked anything" in said(hard)
    assert_sound(section, found, tmp_path / "out")
    assert_sound(hard, found, tmp_path / "out")


def test_names_are_only_text(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, ["<b>&", 'q"q'], ("<i>1", "p,2", "p3"))))
    for section in (reference_standard.section(found), complexity.section(found)):
        assert_sound(section, found, tmp_path / "out")
        assert not [name for name, chart in charts(section).items() if "<b>&" in chart.svg or "<i>1" in chart.svg]


def test_a_method_alone(tmp_path: Path) -> None:
    found = findings(Study.open(write_study(tmp_path, "ABC", ("p1", "p2"))), ("vote:all",))
    section = reference_standard.section(found)
    assert "reference-standards" not in tables(section)
    assert_sound(section, found, tmp_path / "out")


def test_every_table_and_chart_of_raters_beside_a_consensus_says_that_their_marks_are_in_it(many: Findings) -> None:
    section = reference_standard.section(many)
    for name in ("rater-rates", "rater-rates-soft", "rater-rates-pooled"):
        assert "compared with what they helped to make" in tables(section)[name].note, name
    drawn = [chart for name, chart in charts(section).items() if name.startswith("fuse-iou")]
    assert drawn
    for chart in drawn:
        assert chart.caption.endswith("Their own marks are part of it.")


def test_the_mean_of_exchangeable_raters_is_not_called_each_rater(tmp_path: Path) -> None:
    found = findings(Study.open(varied(tmp_path), raters="exchangeable"))
    for name, chart in charts(reference_standard.section(found)).items():
        if name.startswith("fuse-iou"):
            assert "The raters' mean overlap with" in chart.svg
            assert "each rater" not in chart.caption
    assert "12 cases, 4 raters each: how far do they agree?" in render_page(found)
    named = findings(Study.open(varied(tmp_path)))
    assert "4 raters, 12 cases: how far do they agree?" in render_page(named)


def test_sizes_of_reference_standards_have_their_interval(many: Findings) -> None:
    pairs = (("vote:0.5", "vote:any"), ("vote:any", "staple"))
    rows = [many.fusion.differences.find("volume_difference", "mean", method_a=a, method_b=b) for a, b in pairs]
    ends = [f"relative area difference of {r.value:.0%} ({r.low:.0%}–{r.high:.0%})" for r in rows]
    assert any(text in said(reference_standard.section(many)) for text in ends)


def test_which_reference_is_a_raters_own_mask_stands_in_the_table() -> None:
    """Before, the rater's 1.00 and the consensus of these marks stood there like scores."""
    masks = {f"p{i}": {r: disc(x=x, y=i % 2) for x, r in enumerate("ABC")} for i in range(4)}
    given = {name: {"expert": by["A"]} for name, by in masks.items() if name != "p3"}
    section = given_reference.section(findings(Study.from_arrays(masks, references=given)))
    assert section is not None
    table = tables(section)["given-references"]
    assert table.title.endswith("mean over cases"), "the reference is not given for all of them"
    who, against = ([c.title for c in table.columns].index(title) for title in ("Who", "with"))
    below = {row[who].shown: row[against].below for row in table.rows}
    assert below["A"] == "their own mask in every case"
    assert below["B"] == ""
    assert below["STAPLE"] == "the mask of A in every case: marks that are in this consensus"
    assert column(table, "n") == ["3"] * 5
    partly = {name: {"expert": by["A" if name == "p0" else "B"] | by["C"]} for name, by in masks.items()}
    partly["p0"] = {"expert": masks["p0"]["A"]}
    some = given_reference.section(findings(Study.from_arrays(masks, references=partly)))
    assert some is not None
    below = {row[who].shown: row[against].below for row in tables(some)["given-references"].rows}
    assert below["STAPLE"] == "the mask of A in one of four cases: marks that are in this consensus"
    own = {f"given-reference-{name}" for name in ("distances", "sizes", "limits", "lines", "lesions")}
    assert set(tables(section)) == {"given-references", *own}
    assert given_reference.section(findings(Study.from_arrays(masks))) is None, "nothing is given"


def test_one_reference_that_is_nobodys_mask_has_no_column_of_its_own() -> None:
    masks = {f"p{i}": {r: disc(x=x, y=i % 2) for x, r in enumerate("ABC")} for i in range(4)}
    given = {name: {"expert": disc(x=4, y=1)} for name in masks}
    for more, wanted in (({}, False), ({"second": disc(x=5, y=2)}, True)):
        references = {name: by | more for name, by in given.items()}
        section = given_reference.section(findings(Study.from_arrays(masks, references=references)))
        assert section is not None
        assert len(tables(section)) > 3
        for table in tables(section).values():
            assert ("with" in [head.title for head in table.columns]) is wanted, table.name
            assert all(len(row) == len(table.columns) for row in table.rows)


def test_masks_of_exchangeable_raters_are_nobodys(tmp_path: Path) -> None:
    study = Study.open(varied(tmp_path), raters="exchangeable")
    found = replace(findings(study), views={case.name: View() for case in study})
    words = said(cases.section(found)) + said(summary.section(found))
    assert "what each rater drew" not in words
    assert "who drew what" not in words
    assert "not the same person" in words


def test_much_larger_masks_are_compared_by_their_ratio() -> None:
    """Before: "a relative volume difference of 100%", which reads as twice and is three times."""
    masks = {"p1": {"A": disc(radius=3), "B": disc(radius=3), "C": disc(radius=8)}}
    section = reference_standard.section(findings(Study.from_arrays(masks), ("vote:0.5", "vote:any")))
    times = round(float(disc(radius=8).sum() / disc(radius=3).sum()))
    words = {6: "six", 7: "seven", 8: "eight", 9: "nine"}[times]
    assert f"(what any rater marked (union) is about {words} times as large as the majority vote)" in said(section)
