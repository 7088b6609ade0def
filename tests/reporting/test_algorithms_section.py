"""What the page says about algorithms."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from test_reference_standard_section import CASES, assert_sound, charts, column, findings, said, tables, varied

from data_folder import data
from manytruths import Study
from manytruths.claims.sentences import plain_text
from manytruths.evaluation.ranking.ranking import Basis
from manytruths.io.result_tables import Row
from manytruths.reporting.elements import Section
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import algorithms, reference_standard, summary
from manytruths.reporting.sections.computation import settings_table
from manytruths.reporting.sections.paper_texts import methods_text, results_text
from manytruths.reporting.sections.vocabulary import note_sentences, plain_note
from study_folders import disc, write_png, write_study

GOOD = {"good": 6.0, "small": 3.5, "large": 9.0}


def predicted(folder: Path, cases: list[str], radii: dict[str, float]) -> str:
    for name, radius in radii.items():
        for case in cases:
            write_png(folder / "predictions" / name / f"{case}.png", disc(y=0.7, radius=radius))
    return f"{folder}/predictions/{{algorithm}}/{{case}}.png"


def section_of(found: Findings) -> Section:
    section = algorithms.section(found)
    assert section is not None
    return section


def small(folder: Path, raters: str = "ABC", radii: dict[str, float] | None = None, cases: int = 3) -> tuple[str, str]:
    names = [f"p{i + 1}" for i in range(cases)]
    return write_study(folder, raters, names), predicted(folder, names, radii or GOOD)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("many")
    return findings(Study.open(varied(folder), predictions=predicted(folder, CASES, GOOD)))


def test_without_predictions_there_is_no_section(tmp_path: Path) -> None:
    assert algorithms.section(findings(Study.open(write_study(tmp_path)))) is None


def test_lead(many: Findings) -> None:
    lead = [plain_text(sentence) for sentence in section_of(many).lead]
    start = "Judged by the vote of at least half, the mean Dice (overlap; 1 is the same mask) over twelve cases is "
    assert lead[0].startswith(start)
    assert lead[0].index("good") < lead[0].index("small")
    assert any("from small to the raters" in line and "difference γ of" in line for line in lead)
    assert many.ranking is not None
    assert ("than every other algorithm" in said(section_of(many))) == bool(many.ranking.ranking.verdict.winner)
    assert any("order" in line for line in lead)


def test_tables(many: Findings, tmp_path: Path) -> None:
    section = section_of(many)
    found = tables(section)
    standards = ["Vote of at least half", "STAPLE", "mean of raters", "A", "B", "C", "D"]
    assert column(found["algorithm-dice"], "Judged by") == standards
    assert [c.title for c in found["algorithm-dice"].columns[1:]] == ["good", "large", "small"]
    assert len(found["algorithm-scores"].rows) == 3 * len(standards)
    assert found["algorithm-scores"].filter
    assert [c.title for c in found["algorithm-scores"].columns[2:4]] == ["Dice", "Dice SD"]
    assert column(found["extended-dice"], "Algorithm") == ["good", "large", "small"]
    assert column(found["algorithm-ranks"], "Algorithm")[0] == "good"
    assert {text[0] for text in column(found["algorithm-ranks"], "Rank")} == {"1", "2", "3"}
    assert column(found["algorithm-interchangeability"], "Algorithm") == ["good", "large", "small"]
    assert column(found["algorithm-by-rater"], "Rater") == ["A", "B", "C", "D"]
    assert set(column(found["algorithm-beside-raters"], "Judged by")) == {
        "the other raters", "what the other raters agree on", "the majority vote of the other raters",
        "STAPLE of the other raters",
    }  # fmt: skip
    help = {column.title: column.help for column in found["algorithm-ranks"].columns}
    assert "simultaneous 95% set" in help["Rank"]
    assert help["In resamples"].endswith("no CI")
    assert not any("superiority" in column.help for table in found.values() for column in table.columns)
    assert_sound(section, many, tmp_path)


def test_raters_own_range_is_that_of_the_file(many: Findings) -> None:
    table = tables(section_of(many))["algorithm-beside-raters"]
    for row in table.rows:
        low, high = row[3].at.split("#")[1].split(",")[7:9]
        digits = 1 if "Hausdorff" in row[1].shown else 2
        assert row[5].shown == f"{float(low):.{digits}f}–{float(high):.{digits}f}"


def test_notes_speak_no_program(many: Findings) -> None:
    assert many.evaluation is not None
    assert many.ranking is not None
    notes = [*note_sentences(many, [*many.evaluation.notes, *many.ranking.notes])]
    assert notes
    for note in notes:
        assert not re.search(r"--|vote:|truths|tau|Holm|\bdice\b", note), note
        assert note.endswith(".")
    asked = ["net has no prediction of 2 cases: they count (--missing exclude leaves them out)", "small marks nothing"]
    assert [*note_sentences(many, asked)] == [
        "Net has no prediction of 2 cases: they count.", "small marks nothing.",
    ]  # fmt: skip


def test_nothing_is_said_of_a_place_among_the_raters(many: Findings, tmp_path: Path) -> None:
    """Without a margin there are numbers; with one, the claims and nothing else say what they mean."""
    places = "among the raters|every rater |any of them does"
    verdicts = "as another rater would, within|Within a margin|than these do with each other"
    for section in (section_of(many), summary.section(many)):
        assert not re.search(f"{places}|{verdicts}", said(section))
    assert "no range of what is acceptable" in tables(section_of(many))["algorithm-beside-raters"].note
    study = Study.open(varied(tmp_path), predictions=predicted(tmp_path, CASES, GOOD), margin=0.05)
    found = findings(study)
    assert found.evaluation is not None
    made = found.evaluation.claims.of(*algorithms.VERDICTS).made
    assert made
    for claim in made:
        assert all(claim.text in said(section) for section in (section_of(found), summary.section(found)))
        assert plain_text(claim.result) in results_text(found)


def test_every_pair_is_told_of(many: Findings) -> None:
    told = [line for line in said(section_of(many)).split("\n") if "standards" in line and "ahead" in line]
    for first, second in combinations(GOOD, 2):
        assert sum(first in line and second in line for line in told) == 1


def test_tests_and_resamples_are_in_the_methods(many: Findings) -> None:
    told = methods_text(many)
    assert f"with {many.ranking.ranking.resamples:,} bootstrap resamples" in told
    assert "compared in pairs by one-sided exact Wilcoxon signed-rank tests" in told


def test_squares(many: Findings) -> None:
    found = tables(section_of(many))
    ahead, p = found["algorithm-ahead"], found["algorithm-p"]
    names = [row[0].shown for row in ahead.rows]
    assert [c.title for c in ahead.columns[1:]] == names == [row[0].shown for row in p.rows]
    for i, row in enumerate(ahead.rows):
        assert row[i + 1].shown == ""
        for k in range(len(names)):
            if i != k:
                assert float(row[k + 1].value) + float(ahead.rows[k][i + 1].value) == pytest.approx(1)


def test_charts(many: Findings) -> None:
    assert list(charts(section_of(many))) == [
        "evaluate-human-dice", "evaluate-human-hausdorff_95", "rank-stability", "rank-truths",
    ]  # fmt: skip


def test_a_given_standard_comes_first(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path)
    for case in ("p1", "p2", "p3"):
        write_png(tmp_path / "given" / "biopsy" / f"{case}.png", disc(radius=6))
    given = f"{tmp_path}/given/{{reference}}/{{case}}.png"
    section = section_of(found := findings(Study.open(masks, predictions=predictions, reference=given)))
    assert column(tables(section)["algorithm-dice"], "Judged by")[0] == "biopsy"
    assert plain_text(section.lead[0]).startswith("Judged by biopsy")
    assert_sound(section, found, tmp_path / "out")


def test_few_cases_have_no_resamples(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path)
    section = section_of(found := findings(Study.open(masks, predictions=predictions)))
    assert [c.title for c in tables(section)["algorithm-ranks"].columns] == ["Algorithm", "Rank", "Mean rank"]
    assert "algorithm-ahead" not in tables(section)
    assert "rank-stability" not in charts(section)
    assert "resamples" not in plain_text(section.lead[-2])
    assert "resamples" not in methods_text(found)
    lines = {(row[0].shown, row[1].shown): row[2].shown for row in settings_table(found).rows}
    assert lines["ranking", "resamples and seed"] == "none: fewer than ten cases"
    assert lines["ranking", "level of tests"] == "not tested: fewer than ten cases"
    assert lines["ranking", "scheme"] == "mean over cases, then ranks"
    assert "tests" not in methods_text(found).partition("Algorithms were ranked")[2].partition(".")[0]
    assert "No winner can be named from three cases." in said(summary.section(found))
    assert "algorithm-p" not in tables(section)
    assert "told apart" not in said(section)
    assert_sound(section, found, tmp_path / "out")


@pytest.mark.parametrize("cases", [1, 2])
def test_one_algorithm(tmp_path: Path, cases: int) -> None:
    masks, predictions = small(tmp_path, radii={"only": 5.0}, cases=cases)
    section = section_of(found := findings(Study.open(masks, predictions=predictions)))
    assert "nothing to rank" in said(section)
    assert "algorithm-orders" not in tables(section)
    assert_sound(section, found, tmp_path / "out")


def test_two_raters_make_no_range(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path, "AB")
    section = section_of(found := findings(Study.open(masks, predictions=predictions)))
    assert "is not judged with two raters" in said(section)
    assert "algorithm-beside-raters" not in tables(section)
    assert "algorithm-interchangeability" in tables(section)
    assert_sound(section, found, tmp_path / "out")


def test_raters_who_are_nobody_in_particular(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path)
    section = section_of(found := findings(Study.open(masks, predictions=predictions, raters="exchangeable")))
    assert "algorithm-beside-raters" not in tables(section)
    assert "algorithm-interchangeability" in tables(section)
    assert "algorithm-by-rater" not in tables(section)
    assert "A" not in column(tables(section)["algorithm-scores"], "Judged by")
    assert_sound(section, found, tmp_path / "out")


def test_several_labels(tmp_path: Path) -> None:
    for x, name in enumerate(("masks/A", "masks/B", "masks/C", "predictions/u", "predictions/v")):
        for case in ("p1", "p2"):
            both = disc(x=x / 2) + disc(x=x / 2, radius=3)
            write_png(tmp_path / name / f"{case}.png", both.astype(np.uint8))
    study = Study.open(
        f"{tmp_path}/masks/{{rater}}/{{case}}.png", predictions=f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png"
    )
    section = section_of(found := findings(study))
    dice = [name for name in tables(section) if name.startswith("algorithm-dice")]
    assert [tables(section)[name].title.partition(":")[0] for name in dice[1:]] == ["1", "2"]
    assert set(column(tables(section)["algorithm-scores"], "Label")) == {"macro mean", "1", "2"}
    assert set(column(tables(section)["algorithm-beside-raters"], "Label")) == {"macro mean", "1", "2"}
    assert_sound(section, found, tmp_path / "out")


def test_nothing_marked_and_nothing_found(tmp_path: Path) -> None:
    for name in ("masks/A", "masks/B", "masks/C", "predictions/u", "predictions/v"):
        for case in ("p1", "p2"):
            write_png(tmp_path / name / f"{case}.png", np.zeros((20, 20), np.uint8))
    study = Study.open(
        f"{tmp_path}/masks/{{rater}}/{{case}}.png", predictions=f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png"
    )
    section = section_of(found := findings(study))
    assert "No algorithm has a Dice here" in said(section)
    assert_sound(section, found, tmp_path / "out")


def test_many_algorithms_stand_below_each_other(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path, radii={f"team {i:02d}": 3 + i / 4 for i in range(12)})
    section = section_of(found := findings(Study.open(masks, predictions=predictions)))
    table = tables(section)["algorithm-dice"]
    assert column(table, "Algorithm") == [f"team {i:02d}" for i in range(12)]
    assert "algorithm-p" not in tables(section)
    assert len(section.lead) < 6
    assert_sound(section, found, tmp_path / "out")


@pytest.fixture(scope="module")
def fissure() -> Findings:
    home = data("fissure")
    study = Study.open(
        f"{home}/raters/{{rater}}/{{case}}.png", predictions=f"{home}/predictions/{{algorithm}}/{{case}}.png",
        training=f"{home}/training/{{algorithm}}/{{case}}.png", probability=True, limits=(0, 255),
    )  # fmt: skip
    return findings(study, ("vote:any", "vote:0.5", "vote:0.75", "staple"), skew=(0.1, 0.5))


@pytest.mark.slow
def test_grey_predictions(fissure: Findings, tmp_path: Path) -> None:
    section = section_of(fissure)
    published = json.loads(data("fissure", "published.json").read_text())
    bounds = tables(section)["algorithm-area-bounds"]
    for row in bounds.rows:
        wanted = dict(zip(published["table7_columns"], published["table7"][row[0].shown], strict=True))
        shown = {c.title.lower(): cell.shown for c, cell in zip(bounds.columns, row, strict=True)}
        assert {name: shown[name] for name in ("cco", "cci")} == {n: f"{v:.4f}" for n, v in wanted.items()}
        areas = [
            float(cell.value)
            for c, cell in zip(bounds.columns, row, strict=True)
            if c.title.lower().startswith(("area", "smallest area", "largest area"))
        ]
        assert min(areas) == areas[2]
        assert max(areas) == areas[3]
    assert len(tables(section)["algorithm-areas"].rows) == 17
    orders = tables(section)["algorithm-orders"].rows
    assert [sum(row[0].shown == measure for row in orders) for measure in ("P̄-R area", "Brier score")] == [3, 3]
    assert {f"evaluate-{kind}-Gauss" for kind in ("levels", "truths")} <= set(charts(section))
    assert "(not tested: one case; it takes ten), the 17 reference standards give three orders: " in said(section)
    assert_sound(section, fissure, tmp_path)


@pytest.mark.slow
def test_grey_predictions_in_short(fissure: Findings) -> None:
    """Every area is a range over the standards, in the order that most of them give."""
    assert fissure.evaluation is not None
    told = next(s for s in summary.section(fissure).lead if "precision–recall" in plain_text(s))
    numbers = [part for part in told if not isinstance(part, str) and part.at]
    assert fissure.evaluation.probability_scores is not None
    standards = fissure.evaluation.probability_scores.references
    rows = [r for r in fissure.evaluation.table("scores").all("pbar_area", "pooled") if r.extra[1] in standards]
    order = fissure.evaluation.orders["", "pbar_area"].rankings[0].order
    wanted = [[r.value for r in rows if r.extra[0] == name] for name in order]
    assert [float(cell.value) for cell in numbers] == [end for own in wanted for end in (min(own), max(own))]


def test_grey_predictions_of_several_cases(tmp_path: Path) -> None:
    cases = ["p1", "p2", "p3"]
    masks = varied(tmp_path, cases)
    for i, name in enumerate(("soft", "hard")):
        for case in cases:
            write_png(tmp_path / "predictions" / name / f"{case}.png", 200 * disc(radius=4 + i) + 50 * disc(radius=7))
    study = Study.open(masks, predictions=f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png", probability=True)
    section = section_of(found := findings(study))
    assert sum(c.title.endswith(", mean") for c in tables(section)["algorithm-all-areas"].columns) == 3
    assert_sound(section, found, tmp_path / "out")


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0%"), (0.001, "< 1%"), (0.91, "91%"), (0.997, "> 99%"), (1.0, "100%")]
)
def test_what_happened_in_some_resamples_is_neither_never_nor_always(share: float, shown: str) -> None:
    row = Row("overall", "ahead_share", share)
    assert algorithms.share_of_resamples("rank/pairs.csv", row).shown == shown


def test_a_mean_dice_has_its_n(tmp_path: Path) -> None:
    # in p1 nobody marks anything, and only large finds nothing either
    masks, predictions = small(tmp_path, cases=11)
    for path in [*tmp_path.glob("masks/*/p1.png"), tmp_path / "predictions/large/p1.png"]:
        write_png(path, 0 * disc())
    found = findings(Study.open(masks, predictions=predictions))
    text = plain_text(section_of(found).lead[0])
    assert "for large (n = 10)" in text
    assert "for good (n = 11)" in text


def test_a_verdict_names_its_measure_as_the_page_does(many: Findings) -> None:
    """Printed before: "By dice, net is better than wide under every reference standard, but first in only 91% …"."""
    note = "By dice, net is better than wide under every reference standard (largest Holm p = 0.04, dice against A)"
    assert plain_note(many, note).startswith("By Dice, net is better than wide under every reference standard (")
    assert plain_note(many, "recall by dice, and so on") == "recall by dice, and so on"


def test_references_that_are_one_are_counted_in_the_singular() -> None:
    basis = Basis("mean", ("dice",), ("x", "y"), 2, (("x", "y"),))
    assert (basis.distinct, basis.distinct_words) == (1, "1 is distinct")
    assert Basis("mean", ("dice",), ("x", "y", "z"), 3, (("x", "y"),)).distinct_words == "2 are distinct"


def test_extended_dice_does_not_say_what_raters_accept(many: Findings) -> None:
    table = tables(section_of(many))["extended-dice"]
    assert table.title == "Extended Dice: only what no rater, or every rater, marked can be wrong"
    assert "accept" not in said(section_of(many))


def test_a_note_on_reference_standards_is_not_said_again_of_the_evaluation() -> None:
    """Said before in both sections, and again for each of two methods."""
    masks = {name: {r: disc(x=x) for x, r in enumerate("ABC")} for name in ("p1", "p2", "p3")}
    masks["p2"] = {r: mask * (r == "A") for r, mask in masks["p2"].items()}
    predictions = {name: {"net": disc(), "flat": disc(radius=4)} for name in masks}
    found = findings(Study.from_arrays(masks, predictions=predictions))
    text = "no pixel was marked by two raters: an estimate means nothing, whether it marks anything or not (p2)."
    assert said(reference_standard.section(found)).count(text) == 1
    evaluated = said(section_of(found))
    assert text not in evaluated
    assert "STAPLE has nothing marked in 1 case (p2)." in evaluated
