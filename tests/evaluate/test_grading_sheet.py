"""The blinded sheet: it hides whose predictions they are, and comes back as grades."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from manytruths import CallError, Grade, GradeScale, InputError, Study
from manytruths.analyses.evaluate.grading import (
    WRITTEN,
    draw_tickets,
    grade_metrics,
    graded_grids,
    grading_chart,
    grading_instructions,
    plan_sheet,
    refuse_graded,
    write_sheet,
)
from manytruths.evaluation.grade_sheets import read_grades
from manytruths.evaluation.grading import draw_cases, make_tickets
from manytruths.io.results import replacing
from study_folders import disc, files, pixels, table, untidy, write_png, write_study

ALGORITHMS = ("unet", "vnet", "swin")
CASES = tuple(f"p{i}" for i in range(1, 13))


@pytest.fixture
def study(tmp_path):
    masks = write_study(tmp_path, cases=CASES)
    for i, name in enumerate(ALGORITHMS):
        for case in CASES:
            if (name, case) != ("swin", "p3"):
                write_png(tmp_path / "predictions" / name / f"{case}.png", disc(x=i, radius=5 + i))
    return Study.open(masks, predictions=f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png")


def written(study, folder, **options):
    """Everything that the verb does, a case at a time."""
    every = plan_sheet(study, **options)
    for case in study:
        own = [t for t in every if t.case == case.name]
        seen = {c.name: {"outline": case.prediction(c, None)} for c in case.predictions}
        draw_tickets(folder, own, None, seen)
    write_sheet(folder, every)
    return every


def filled(folder, grade):
    """The sheet with a grade for every code, given by a function of its ticket's row in the key."""
    key = {row["code"]: row for row in table(folder / "key.csv")}
    rows = table(folder / "sheet.csv")
    with open(folder / "sheet.csv", "w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["code", "grade", "remark"])
        lines.writerows([row["code"], grade(key[row["code"]]), "so so"] for row in rows)


def test_a_sheet_hides_whose_it_is(study, tmp_path):
    folder = tmp_path / "grading"
    every = written(study, folder, seed=5, repeats=0.1)
    assert len(every) == 35 + 4
    assert {f.name for f in files(folder / "pictures")} == {f"{t.code}.png" for t in every}
    assert not untidy(folder)
    rows = table(folder / "sheet.csv")
    assert [row["code"] for row in rows] == [t.code for t in every]
    assert all(not row["grade"] and not row["remark"] for row in rows)
    shown = (folder / "sheet.csv").read_text() + (folder / "README.txt").read_text()
    assert not [name for name in (*ALGORITHMS, "p1,", "p12") if name in shown]
    assert "4  Good as it is" in shown
    for row in table(folder / "key.csv"):
        assert row["algorithm"] in ALGORITHMS
        assert not [n for n in ALGORITHMS if n.encode() in (folder / "pictures" / f"{row['code']}.png").read_bytes()]


def test_the_same_prediction_looks_the_same_under_every_name(study, tmp_path):
    """Two algorithms with one mask: but for the code in the title, the pictures do not differ."""
    every = make_tickets([("p1", "one"), ("p1", "two"), ("p1", "three")], repeats=0)
    image = np.random.default_rng(0).integers(0, 255, (200, 240)).astype(np.uint8)
    mask = np.pad(np.ones((60, 60)), ((70, 70), (90, 90)))
    outlines = {"one": {"outline": mask}, "two": {"outline": mask}, "three": {"outline": mask * 0}}
    draw_tickets(tmp_path, every, image, outlines)
    code = {t.algorithm: t.code for t in every}
    one, two, none = (pixels(tmp_path / "pictures" / f"{code[n]}.png")[45:] for n in ("one", "two", "three"))
    np.testing.assert_array_equal(one, two)
    assert (one != none).any()


@given(st.integers(2, 60), st.integers(0, 9), st.floats(0, 1))
def test_tickets(count, seed, repeats):
    items = [(f"c{i // 3}", f"a{i % 3}") for i in range(count)]
    found = make_tickets(items, repeats=repeats, seed=seed)
    twice = -(-round(repeats * count, 9) // 1)
    assert len(found) == count + twice
    assert len({t.code for t in found}) == len(found)
    assert {(t.case, t.algorithm) for t in found if t.showing == 1} == set(items)
    assert make_tickets(items[::-1], repeats=repeats, seed=seed) == found
    at = {(t.case, t.algorithm, t.showing): i for i, t in enumerate(found)}
    for case, algorithm, showing in at:
        if showing == 2:
            apart = at[case, algorithm, 2] - at[case, algorithm, 1]
            assert apart >= count // 2 - 1, "half a sheet apart"
    assert all(t.code.isalpha() and t.code.isupper() for t in found)


def test_codes_do_not_follow_the_algorithm():
    found = make_tickets([(f"c{i}", "ab"[i % 2]) for i in range(400)], repeats=0, seed=1)
    first = [t.algorithm for t in found[:200]].count("a")
    early = [t.algorithm for t in sorted(found, key=lambda t: t.code)[:200]].count("a")
    assert 70 < first < 130
    assert 70 < early < 130
    assert [t.code for t in found] != sorted(t.code for t in found)


def test_cases_can_be_drawn():
    subjects = {f"s{i // 5}_{i}": f"s{i // 5}" for i in range(15)}
    found = draw_cases(subjects, 2, seed=3)
    assert [sum(c.startswith(s) for c in found) for s in ("s0", "s1", "s2")] == [2, 2, 2]
    assert draw_cases(subjects, 2, seed=3) == found
    assert draw_cases(subjects, None) == tuple(subjects)
    assert len(draw_cases(subjects, 99)) == 15
    for wrong in (
        lambda: draw_cases(subjects, 0),
        lambda: make_tickets([], repeats=2),
        lambda: make_tickets([("a", "b")] * 2),
    ):
        with pytest.raises(CallError):
            wrong()


def test_the_filled_sheet_comes_back_as_grades(study, tmp_path):
    folder = tmp_path / "grading"
    every = written(study, folder, repeats=0.2)
    level = {"unet": 4, "vnet": 3, "swin": 2}
    filled(folder, lambda row: "" if row["case"] == "p2" else level[row["algorithm"]] - (row["showing"] == "2"))
    read = read_grades(folder / "sheet.csv", cases=CASES, algorithms=ALGORITHMS)
    assert read.blank == sum(t.case == "p2" for t in every)
    assert len(read.grades) == len(every) - read.blank
    assert {(g.algorithm, g.grade) for g in read.grades if g.showing == 1} == set(level.items())
    metrics = {
        "dice [A]": {(c, a): level[a] / 5 for c in CASES for a in ALGORITHMS},
        "hausdorff": {(c, a): float(level[a]) for c in CASES for a in ALGORITHMS if c != "p5"},
    }
    found = grade_metrics(metrics, read.grades, ALGORITHMS, subjects={}, blank=read.blank)
    rows = {(r.extra[0], r.extra[1]): r for r in found.tables[0].all("roc_area", "pooled")}
    assert rows["dice [A]", ""].value == 1
    assert rows["hausdorff", ""].value == 0, "here the higher distance is the better graded"
    assert rows["dice [A]", ""].low.code == "no_spread", "an area of 1 says nothing about its error"
    assert np.isnan(rows["dice [A]", "unet"].value)
    assert rows["hausdorff", ""].extra[3:] == ("lower", 10, 19, 3), (
        "p2 has no grades, p5 no scores, and swin did not do p3"
    )
    count = {
        r.extra[0]: r.value for r in found.tables[2].all("count", "pooled") if r.extra[2] == str(level[r.extra[0]])
    }
    assert count == {"unet": 11, "vnet": 11, "swin": 10}
    assert [r.value for r in found.tables[2].all("no_correction", "pooled")] == [1, 0, 0]
    assert [r.n for r in found.tables[2].all("weighted_kappa", "pooled")] == [sum(g.showing == 2 for g in read.grades)]
    notes = "; ".join(found.notes)
    assert f"{read.blank} lines without a grade, {len(read.grades)} with one" in notes
    assert "3 grades of predictions without a score (hausdorff)" in notes
    assert "; 4 predictions without a grade;" in notes, "the same for both metrics"
    assert notes.endswith("areas tell algorithms apart, not their predictions")
    chart = grading_chart(found)
    assert chart.index("dice [A]") < chart.index("hausdorff"), "the larger area first"
    for one in found.tables:
        assert one.write(tmp_path).is_file()
    points = [r for r in table(tmp_path / "grading_roc.csv") if r["metric"] == "dice [A]"]
    assert [(float(r["threshold"]), float(r["value"])) for r in points if r["statistic"] == "sensitivity"] == [
        (np.inf, 0), (0.8, 1), (0.6, 1), (0.4, 1)
    ]  # fmt: skip


def test_what_is_printed_of_grades():
    """Grades by the algorithm and chance alone: Dice looks fine over all algorithms, and within them is none."""
    rng = np.random.default_rng(1)
    cases, fine = [f"c{i}" for i in range(150)], {"unet": 0.9, "vnet": 0.1}
    grades = [Grade(c, a, 4 if rng.random() < share else 2) for a, share in fine.items() for c in cases[1:]]
    metrics = {
        "dice": {(c, a): rng.normal(share, 0.1) for a, share in fine.items() for c in cases},
        "iou": {(g.case, g.algorithm): g.grade / 4 for g in grades} | {("c0", a): 0.5 for a in fine},
    }
    found = grade_metrics(metrics, grades, list(fine), subjects={}, blank=1)
    assert found.tables[0].find("roc_area", metric="dice", algorithm="").value > 0.8
    within = found.tables[0].find("roc_area_within", metric="dice", algorithm="")
    assert within.low < 0.5 < within.high
    assert len(found.tables[0].all("roc_area_within", "pooled")) == 2, "of one algorithm alone, it is the area itself"
    blank, absent, apart = found.notes
    assert blank == "1 line without a grade, 298 with one"
    assert absent == "2 predictions without a grade"
    assert f"within algorithms (dice {found.whole()[1].area.value:.2f} and {within.value:.2f})" in apart
    shown = printed(found)
    counts = found.counts[0].counts
    assert f"unet 0 {counts[2]} 0 {counts[4]} 149 {counts[4] / 149:.0%}" in shown
    assert shown.index("iou 1.00 1.00") < shown.index(f"dice {found.whole()[1].area.value:.2f}")
    alone = grade_metrics(metrics, grades, ["unet"], subjects={})
    assert "within" not in printed(alone)
    two = [*grades, *(replace(g, grader="B") for g in grades)]
    assert "vnet, by B" in printed(grade_metrics(metrics, two, list(fine), subjects={}))


def printed(found):
    console = Console(width=200, file=io.StringIO())
    for grid in graded_grids(found):
        console.print(grid)
    return " ".join(console.file.getvalue().split())


def test_a_sheet_with_grades_is_never_written_over(study, tmp_path):
    folder = tmp_path / "grading"
    first = written(study, folder, seed=1)
    refuse_graded(folder)
    with replacing(folder, ours=WRITTEN) as (stage,):
        second = written(study, stage, seed=2)
    assert {f.stem for f in files(folder / "pictures")} == {t.code for t in second} != {t.code for t in first}
    filled(folder, lambda row: 3 if row["case"] == "p1" else "")
    before = (folder / "sheet.csv").read_bytes()
    for call in (lambda: refuse_graded(folder), lambda: write_sheet(folder, first)):
        with pytest.raises(InputError, match="holds grades; use it"):
            call()
    assert (folder / "sheet.csv").read_bytes() == before
    (folder / "sheet.csv").write_bytes(b"\xff\xfe not text")
    with pytest.raises(InputError, match="holds grades"):
        refuse_graded(folder)


def test_other_scales_are_explained():
    text = grading_instructions(GradeScale(1, 5, best=4))
    assert "from 1 to 5" in text
    assert text.count("Nothing has to be corrected") == 2
    assert text.count("In between") == 2


def test_nothing_to_grade(tmp_path):
    with pytest.raises(InputError, match="--predictions"):
        plan_sheet(Study.open(write_study(tmp_path)))
