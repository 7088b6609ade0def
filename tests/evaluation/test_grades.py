"""Metrics against grades: areas and curves as scikit-learn has them, intervals as a plain loop has them, and files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.metrics import cohen_kappa_score, roc_auc_score, roc_curve

from manytruths import CallError, FormatError, Grade, GradeScale, Undefined, grade_counts, metric_roc, reason
from manytruths.core.undefined import code
from manytruths.evaluation.grade_sheets import read_grades
from manytruths.evaluation.grading import NONE_WITHIN, grader_agreement

TABLE_4 = {
    "Consensus": (25, 11, 56, 58),
    "Confusion matrix": (23, 17, 39, 71),
    "Consistency": (17, 22, 42, 69),
    "Our method": (8, 20, 50, 72),
}
"""Zeng's grades 1 to 4."""


def some(count: int = 60, seed: int = 0, ties: int = 12) -> tuple[dict[tuple[str, str], float], list[Grade]]:
    """Grades that go with values which tie often, of two algorithms."""
    rng = np.random.default_rng(seed)
    grades = [Grade(f"c{i // 2}", "ab"[i % 2], int(rng.integers(1, 5))) for i in range(count)]
    values = {g.item: float(np.clip(round(rng.normal(g.grade / 5, 0.3) * ties) / ties, 0, 1)) for g in grades}
    return values, grades


@pytest.mark.parametrize("seed", range(5))
def test_area_and_curve_are_those_of_scikit_learn(seed):
    values, grades = some(seed=seed)
    fine, score = [g.grade == 4 for g in grades], [values[g.item] for g in grades]
    found = metric_roc("dice", values, grades)
    assert found.area.value == pytest.approx(roc_auc_score(fine, score), abs=1e-12)
    fall_out, sensitivity, thresholds = roc_curve(fine, score, drop_intermediate=False)
    np.testing.assert_allclose(found.fall_out, fall_out)
    np.testing.assert_allclose(found.sensitivity, sensitivity)
    np.testing.assert_allclose(found.thresholds, thresholds)
    lower = metric_roc("hausdorff", {k: 1 - v for k, v in values.items()}, grades)
    assert lower.area.value == pytest.approx(found.area.value, abs=1e-12)
    assert lower.thresholds[0] == -math.inf, "for a distance the strictest threshold is below every value"
    assert (np.diff(lower.thresholds) > 0).all()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=30), st.integers(2, 4))
def test_area_is_the_chance_to_be_better(pairs, best):
    values = {(str(i), "a"): float(v) for i, (_, v) in enumerate(pairs)}
    grades = [Grade(str(i), "a", g) for i, (g, _) in enumerate(pairs)]
    found = metric_roc("dice", values, grades, scale=GradeScale(best=best))
    wins = [(p > n) + (p == n) / 2 for g, p in pairs if g >= best for h, n in pairs if h < best]
    assert found.positives == sum(g >= best for g, _ in pairs)
    assert found.negatives == len(pairs) - found.positives
    if wins:
        assert found.area.value == pytest.approx(np.mean(wins), abs=1e-12)
    else:
        assert isinstance(found.area.value, Undefined)


def pairs_within(grades, values, best=4):
    """Every pair of predictions of one algorithm, one of either class, by two loops: won, and how many."""
    fine, poor = [g for g in grades if g.grade >= best], [g for g in grades if g.grade < best]
    both = [(values[p.item], values[n.item]) for p in fine for n in poor if p.algorithm == n.algorithm]
    return sum((p > n) + (p == n) / 2 for p, n in both), len(both)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=30),
    st.integers(2, 4),
)
def test_area_within_is_that_of_pairs_of_one_algorithm(items, best):
    values = {(str(i), a): float(v) for i, (_, v, a) in enumerate(items)}
    grades = [Grade(str(i), a, g) for i, (g, _, a) in enumerate(items)]
    found = metric_roc("dice", values, grades, scale=GradeScale(best=best))
    won, of = pairs_within(grades, values, best)
    if of:
        assert found.within.value == pytest.approx(won / of, abs=1e-12)
    else:
        mixed = found.positives and found.negatives
        assert code(found.within.value) == (NONE_WITHIN if mixed else code(found.area.value))
    if len({a for *_, a in items}) == 1:
        assert str(found.within) == str(found.area)


def jackknife_ends(area, left_out, level):
    """Student's t on the logit of the area."""
    n = len(left_out)
    error = math.sqrt((n - 1) / n * sum((np.array(left_out) - np.mean(left_out)) ** 2))
    reach = stats.t.ppf((1 + level) / 2, n - 1) * error / (area * (1 - area))
    return tuple(special.expit(special.logit(area) + np.array([-reach, reach])))


def test_interval_of_the_area_within_is_that_of_a_plain_loop():
    values, grades = some(80, seed=4)
    subjects = {g.case: f"s{int(g.case[1:]) // 3}" for g in grades}
    found = metric_roc("dice", values, grades, subjects=subjects, level=0.9).within
    names = list(dict.fromkeys(subjects[g.case] for g in grades))
    areas = []
    for gone in names:
        won, of = pairs_within([g for g in grades if subjects[g.case] != gone], values)
        areas.append(won / of)
    assert (found.low, found.high) == pytest.approx(jackknife_ends(found.value, areas, 0.9), abs=1e-12)
    assert found.n == len(names)


def test_a_metric_that_only_tells_algorithms_apart():
    """Grades that depend on the algorithm alone, and on chance: a large area over all, none within."""
    rng = np.random.default_rng(0)
    values, grades = {}, []
    for name, mean, fine in (("good", 0.9, 0.9), ("fair", 0.8, 0.5), ("poor", 0.5, 0.1)):
        for i in range(200):
            values[f"c{i}", name] = rng.normal(mean, 0.03)
            grades.append(Grade(f"c{i}", name, 4 if rng.random() < fine else 2))
    found = metric_roc("dice", values, grades)
    assert found.area.value > 0.8
    assert found.within.low < 0.5 < found.within.high


def test_one_class_is_undefined_and_says_which():
    values = {("a", "u"): 0.5, ("b", "u"): 0.6}
    good = metric_roc("dice", values, [Grade("a", "u", 4), Grade("b", "u", 4)])
    bad = metric_roc("dice", values, [Grade("a", "u", 3), Grade("b", "u", 1)], scale=GradeScale(best=3, highest=4))
    assert code(good.area.value) == "every_grade_high_enough"
    assert np.isnan(good.fall_out).all()
    assert bad.positives == 1
    worst = metric_roc("dice", values, [Grade("a", "u", 1), Grade("b", "u", 1)], scale=GradeScale(best=3))
    assert code(worst.area.value) == code(worst.area.low) == "no_grade_high_enough"
    assert code(metric_roc("dice", {}, [Grade("a", "u", 1)]).area.value) == "no_grade_with_value"


def test_what_is_missing_is_counted():
    values = {("a", "u"): 0.5, ("b", "u"): Undefined("both_empty"), ("d", "u"): 0.1, ("e", "v"): 0.1, ("a", "v"): 0.9}
    grades = [
        Grade("a", "u", 4),
        Grade("b", "u", 4),
        Grade("c", "u", 1),
        Grade("a", "v", 1),
        Grade("a", "u", 1, showing=2),
    ]
    found = metric_roc("dice", values, grades)
    assert (found.positives, found.negatives) == (1, 1), "a second showing does not count"
    assert (found.unscored, found.undefined, found.ungraded) == (1, 1, 2)
    only = metric_roc("dice", values, grades, algorithm="u")
    assert (only.positives, only.negatives, only.unscored, only.undefined, only.ungraded) == (1, 0, 1, 1, 1)


def test_the_direction_must_be_known():
    with pytest.raises(CallError, match="--direction"):
        metric_roc("charm", {}, [])
    assert metric_roc("charm", {}, [], directions={"charm": "lower"}).direction == "lower"


def test_interval_is_that_of_a_plain_loop_over_subjects():
    values, grades = some(80, seed=3)
    subjects = {g.case: f"s{int(g.case[1:]) // 3}" for g in grades}
    found = metric_roc("dice", values, grades, subjects=subjects, level=0.9)
    names = list(dict.fromkeys(subjects[g.case] for g in grades))
    areas = []
    for gone in names:
        rest = [g for g in grades if subjects[g.case] != gone]
        areas.append(roc_auc_score([g.grade == 4 for g in rest], [values[g.item] for g in rest]))
    assert (found.area.low, found.area.high) == pytest.approx(jackknife_ends(found.area.value, areas, 0.9), abs=1e-12)
    assert found.area.n == len(names)
    assert found.area.low < found.area.value < found.area.high


def test_an_interval_needs_ten_subjects_and_more_cases_of_the_same_do_not_narrow_it():
    values, grades = some(80, seed=3)
    few = metric_roc("dice", values, grades, subjects={g.case: g.case[-1] for g in grades if g.case[-1] != "9"} | {
        g.case: "1" for g in grades if g.case[-1] == "9"})  # fmt: skip
    assert "at least 10 of them; there are 9" in reason(few.area.low)
    assert not math.isnan(few.area.value)
    again = [Grade(g.case + "x", g.algorithm, g.grade) for g in grades]
    both = values | {(c + "x", a): v for (c, a), v in values.items()}
    one = metric_roc("dice", values, grades, subjects={g.case: g.case for g in grades})
    two = metric_roc("dice", both, grades + again, subjects={c: c.removesuffix("x") for c, _ in both})
    assert (one.area.low, one.area.high) == pytest.approx((two.area.low, two.area.high), abs=1e-12)


def test_zengs_table_4():
    grades = [
        Grade(f"{level}-{i}", name, level)
        for name, counts in TABLE_4.items()
        for level, count in enumerate(counts, start=1)
        for i in range(count)
    ]
    found = grade_counts([*grades, Grade("1-0", "Consensus", 4, showing=2)], list(TABLE_4))
    assert {c.algorithm: tuple(c.counts.values()) for c in found} == TABLE_4
    assert {c.total for c in found} == {150}
    assert grade_counts(grades, ["Consensus"], grader="nobody")[0].total == 0


def test_graders_with_themselves_and_with_each_other():
    rng = np.random.default_rng(0)
    one = rng.integers(1, 5, 40)
    two, again = (np.clip(one + rng.integers(-1, 2, 40), 1, 4) for _ in range(2))
    grades = [Grade(str(i), "u", int(g), "A") for i, g in enumerate(one)]
    grades += [Grade(str(i), "u", int(g), "B") for i, g in enumerate(two)]
    grades += [Grade(str(i), "u", int(g), "A", showing=2) for i, g in enumerate(again[:15])]
    own, nothing, between = grader_agreement(grades)
    assert (own.within, nothing.within, between.within) == (True, True, False)
    assert own.kappa == pytest.approx(cohen_kappa_score(one[:15], again[:15], weights="quadratic"))
    assert between.kappa == pytest.approx(cohen_kappa_score(one, two, weights="quadratic"))
    assert between.same == (one == two).mean()
    assert (own.n, nothing.n, between.n) == (15, 0, 40)
    assert reason(nothing.kappa) == "nothing was graded twice"


def test_scales_that_are_none():
    for wrong in ({"lowest": 4, "highest": 1}, {"best": 9}, {"best": 1}, {"lowest": -1}):
        with pytest.raises(CallError, match="best lies above the worst"):
            GradeScale(**wrong)


KNOWN = {"cases": ["p1", "p2"], "algorithms": ["unet", "vnet"]}


def test_a_table_of_grades(tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text(
        "\ufeffalgorithm; case;grade;grader;note\nunet;p1;4;A;x\nunet;p2;3.0;A;\n\nvnet;p1;;A;\nunet;p1;2;B;\n"
    )
    found = read_grades(path, **KNOWN)
    assert found.blank == 1
    assert found.grades == (Grade("p1", "unet", 4, "A"), Grade("p2", "unet", 3, "A"), Grade("p1", "unet", 2, "B"))


def test_faulty_lines_are_named_up_to_ten(tmp_path):
    path = tmp_path / "grades.csv"
    rows = [
        "p1,unet,5",
        "p9,unet,4",
        "p1,wnet,4",
        "p1,unet,3.5",
        "p1,unet,good",
        "p2,unet,-1",
        "p1,vnet,4",
        "p1,vnet,4",
    ]
    path.write_text("case,algorithm,grade\n" + "\n".join([*rows, *["p7,unet,1"] * 5]))
    with pytest.raises(FormatError) as caught:
        read_grades(path, **KNOWN)
    words = str(caught.value)
    for part in ("line 2: grade '5'; grades are whole numbers from 1 to 4", "line 3: case 'p9' is not in the study",
                 "line 4: algorithm 'wnet' has no predictions here; there are unet, vnet", "line 5: grade '3.5'",
                 "line 6: grade 'good'", "line 7: grade '-1'", "line 9: the same prediction as in line 8",
                 "line 12: case", "and 2 more"):  # fmt: skip
        assert part in words
    assert "line 8: " not in words
    assert "line 13" not in words


def test_a_sheet_and_its_key(tmp_path):
    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.csv"
    sheet.write_text('code,grade,remark\nBCDF,4,"two\nlines"\nXXXX,1,\nGHJK,3,\nMNPQ,,\n')
    with pytest.raises(FormatError, match=r"no key\.csv beside it; say where it is with --key"):
        read_grades(sheet, **KNOWN)
    key.write_text("code,case,algorithm,showing\nBCDF,p1,unet,1\nGHJK,p1,unet,2\nMNPQ,p2,vnet,1\n")
    with pytest.raises(FormatError, match="line 4: code 'XXXX' is not in the key"):
        read_grades(sheet, **KNOWN)
    sheet.write_text(sheet.read_text().replace("XXXX,1,\n", ""))
    found = read_grades(sheet, **KNOWN)
    assert found.grades == (Grade("p1", "unet", 4), Grade("p1", "unet", 3, showing=2))
    assert found.blank == 1
    moved = key.rename(tmp_path / "secret.csv")
    assert read_grades(sheet, **KNOWN, key=moved) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("case,algorithm\np1,unet", "no column 'grade'"),
        ("grade,remark\n4,x", "neither case and algorithm nor code"),
        ("case,algorithm,grade\np1,unet", "line 2: has 2 cells, the header 3"),
        ("case,algorithm,grade,grade\np1,unet,1,1", "two columns have the same name"),
        ("", "is empty; give a table with a header"),
    ],
)
def test_tables_that_are_none(tmp_path, text, words):
    path = tmp_path / "grades.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=words):
        read_grades(path, **KNOWN)
