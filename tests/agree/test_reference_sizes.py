"""Sizes and lesions of raters and algorithms against given references."""

from __future__ import annotations

import math

import numpy as np
import pytest

import manytruths as mt
from manytruths.analyses.agree.lesion_scores import LESIONS
from manytruths.analyses.agree.reference_sizes import reference_rows
from manytruths.analyses.agree.size_agreement import SizeReadings
from manytruths.analyses.tables import Settings
from manytruths.core.columns import Column
from manytruths.core.undefined import code

CASES = [f"p{i:02}" for i in range(12)]
ABSENT = "p03"
"""The case without a reference."""


def draw(i: int, k: int) -> np.ndarray:
    """Two labels: a rectangle that grows with the case and the rater, with another beside it; now and then a speck."""
    mask = np.zeros((40, 40), np.uint8)
    mask[4 : 10 + i, 4 : 12 + (i * 5 + k * 3) % 7] = 1
    mask[30 : 34 + k % 3, 30 : 33 + (i + k) % 4] = 2
    if (i + k) % 5 == 0:
        mask[36:38, 2:5] = 1
    return mask


def given(case: str) -> dict[str, np.ndarray]:
    return {} if case == ABSENT else {"gold": draw(CASES.index(case), 7)}


def make(spacing: tuple[float, float] | None = (0.5, 2.0), references=given, **more) -> mt.Study:
    masks = {case: {r: draw(i, k) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    return mt.Study.from_arrays(
        masks, references={case: references(case) for case in CASES}, spacing=spacing,
        predictions={case: {"net": draw(i, 9)} for i, case in enumerate(CASES)}, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def study() -> mt.Study:
    return make()


@pytest.fixture(scope="module")
def agreed(study: mt.Study):
    return mt.agree(study, pictures=False)


@pytest.fixture(scope="module")
def evaluated(study: mt.Study):
    return mt.evaluate(study, second_look=False)


def areas(k: int, label: int) -> np.ndarray:
    return np.array([float((draw(i, k) == label).sum()) for i, case in enumerate(CASES) if case != ABSENT])


@pytest.mark.parametrize("label", [1, 2])
@pytest.mark.parametrize(("who", "k"), [("A", 0), ("C", 2), ("net", 9)])
def test_ratios_limits_and_line_by_hand(agreed, evaluated, who: str, k: int, label: int) -> None:
    table = (evaluated if who == "net" else agreed).tables["size_agreement"]
    a, b = areas(k, label), areas(7, label)
    ratios = np.log(a / b)
    mean, sd = ratios.mean(), ratios.std(ddof=1)
    names = {"algorithm": who, "reference": "gold"} if who == "net" else {"rater_a": who, "rater_b": "gold"}
    where = {"relation": "reference", "size": "area", "unit": "mm²", "label": str(label), **names}
    found = {n: table.find(n, "pooled", scale="log", **where) for n in ("bias", "lower_limit", "upper_limit")}
    wanted = np.exp([mean, mean - 1.96 * sd, mean + 1.96 * sd])
    assert [row.value for row in found.values()] == pytest.approx(list(wanted), rel=1e-4)
    assert {(row.n, row.n_undefined) for row in found.values()} == {(11, 0)}, "one case has no reference"
    expected = mt.bland_altman(a, b, log=True)
    assert (found["bias"].low, found["bias"].high) == pytest.approx((expected.bias.low, expected.bias.high))
    line = mt.passing_bablok(b, a)  # an area of a pixel of 1 mm²
    for part in ("slope", "intercept"):
        row = table.find(f"passing_bablok_{part}", "pooled", scale="linear", **where)
        interval = getattr(line, part)
        assert (row.value, row.n) == (pytest.approx(interval.value), 11)
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high), nan_ok=True)


def test_long_axes_are_compared_as_differences(agreed) -> None:
    table = agreed.tables["size_agreement"]
    row = table.find("bias", "pooled", relation="reference", rater_a="A", rater_b="gold", size="long_axis", label="2")
    sizes, references = agreed.tables["sizes"], agreed.tables["reference_sizes"]
    apart = [
        sizes.find("long_axis", "case", case=case, label="2", rater="A").value
        - references.find("long_axis", "case", case=case, label="2", reference="gold").value
        for case in CASES
        if case != ABSENT
    ]
    assert (row["scale"], row["unit"], row.value) == ("linear", "mm", pytest.approx(np.mean(apart)))


def test_sizes_of_references_are_those_of_their_masks(agreed, evaluated) -> None:
    for table in (agreed.tables["reference_sizes"], evaluated.tables["sizes"]):
        rows = [r for r in table.all("area", "case") if r["reference"] == "gold"]
        found = {(row.case, row.label): row.value for row in rows}
        assert found == {
            (case, str(label)): float((draw(i, 7) == label).sum())
            for i, case in enumerate(CASES) if case != ABSENT for label in (1, 2)
        }  # fmt: skip


def test_with_a_ratio_of_errors_the_line_is_demings(study: mt.Study) -> None:
    for result in (
        mt.agree(study, pictures=False, measure="sizes", error_ratio=2),
        mt.evaluate(study, second_look=False, distances=False, lesions=False, error_ratio=2),
    ):
        table = result.tables["size_agreement"]
        who = "net" if "algorithm" in table.extra else "B"
        line = mt.deming(areas(7, 1), areas(9 if who == "net" else 1, 1), ratio=2)
        rows = [
            r for r in table.all("deming_slope", "pooled") if (r.extra[4], r.label, r["size"]) == (who, "1", "area")
        ]
        assert [row.value for row in rows] == [pytest.approx(line.slope.value)]
        assert not table.all("passing_bablok_slope", "pooled")
    with pytest.raises(mt.CallError, match=r"error_ratio .* above 0; got 0"):
        mt.agree(study, pictures=False, error_ratio=0)


def test_without_a_spacing_sizes_are_in_pixels() -> None:
    study = make(None)
    agreed = mt.agree(study, pictures=False, measure="sizes")
    judged = mt.evaluate(study, second_look=False, distances=False, lesions=False)
    for table in (agreed.tables["size_agreement"], judged.tables["size_agreement"]):
        rows = [row for row in table.all("bias", "pooled") if row["relation"] == "reference"]
        assert {row["unit"] for row in rows} == {"pixels"}
    sizes, judged_sizes = agreed.tables["sizes"], judged.tables["sizes"]
    assert sizes.find("area", "case", case="p01", label="1", rater="A").value == (draw(1, 0) == 1).sum()
    row = judged_sizes.find("area", "case", case="p01", label="1", algorithm="net")
    assert row.value == (draw(1, 9) == 1).sum()


def readings(subjects: list[str], n: int = 12) -> SizeReadings:
    cases = tuple(f"p{i}" for i in range(n))
    return SizeReadings("volume", "", "ml", "whole", cases, tuple(subjects), ("A",), np.empty((n, 1, 1)))


def test_cases_that_share_subjects_and_zeros() -> None:
    rng = np.random.default_rng(0)
    b = rng.uniform(5, 50, 24)
    a = b * np.exp(rng.normal(0.1, 0.1, 24))
    a[3], b[4] = 0, 0
    subjects = [f"s{i // 2}" for i in range(24)]
    rows = {r.statistic: r for r in reference_rows(readings(subjects, 24), ("A", "gold"), a, b, Settings())}
    assert (rows["bias"].n, rows["bias"].n_undefined) == (12, 2)
    slope = rows["passing_bablok_slope"]
    used = (a > 0) & (b > 0)
    assert slope.value == mt.passing_bablok(b[used], a[used]).slope.value, "of the same cases as the limits"
    assert (code(slope.low), slope.n) == ("cases_share_subjects", 12)
    few = {r.statistic: r for r in reference_rows(readings([*"abc"], 3), ("A", "gold"), a[:3], b[:3], Settings())}
    assert code(few["bias"].low) == code(few["passing_bablok_slope"].low) == "too_few_subjects"


def test_many_cases_have_no_line_of_ranks() -> None:
    rng = np.random.default_rng(0)
    b = rng.uniform(5, 50, 2001)
    rows = {
        r.statistic: r
        for r in reference_rows(readings([*map(str, range(2001))], 2001), ("A", "gold"), b, b, Settings())
    }
    assert code(rows["passing_bablok_slope"].value) == "too_many_points"


# -- lesions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["", pytest.param("overlap", marks=pytest.mark.slow)])
def test_lesions_of_raters_equal_those_of_evaluate(agreed, evaluated, study: mt.Study, rule: str) -> None:
    if rule:
        study = make(lesion_rule=rule, lesion_threshold=0.3)
        agreed, evaluated = mt.agree(study, pictures=False), mt.evaluate(study, second_look=False)
    scores, judged = agreed.tables["reference_scores"], evaluated.mask_scores
    fused = mt.fuse(study, consensus="vote:0.5", distances=False).tables["reference_scores"]
    gold = Column("gold", "reference")
    parts = {part.label: part for part in judged.parts}
    compared = 0
    for label in ("1", "2"):
        for rater in "ABC":
            for case in (c for c in CASES if c != ABSENT):
                wanted = parts[label].scores[case][Column(rater), gold]
                for statistic in LESIONS:
                    where = {"case": case, "label": label, "rater": rater}
                    row = scores.find(statistic, "case", **where)
                    assert row.value == pytest.approx(wanted[statistic], nan_ok=True)
                    assert code(row.value) == code(wanted[statistic])
                    again = fused.find(statistic, "case", method="", **where)
                    assert again.value == pytest.approx(row.value, nan_ok=True)
                    compared += 1
    assert compared == 2 * 3 * 11 * len(LESIONS)
    assert fused.find("lesion_f1", "mean", label="2", method="vote:0.5").n == 11


def test_lesions_by_hand() -> None:
    """Of two lesions of the reference one is found; of two marks one is right, with an IoU of 6 of 9 pixels."""
    gold, mask = np.zeros((12, 12), int), np.zeros((12, 12), int)
    gold[1:4, 1:4], gold[8:10, 8:10] = 1, 1
    mask[1:4, 1:3], mask[1:3, 8:10] = 1, 1
    study = mt.Study.from_arrays({"p1": {"A": mask, "B": gold}}, references={"p1": {"gold": gold}})
    table = mt.agree(study, pictures=False).tables["reference_scores"]
    found = {name: table.find(name, "case", case="p1", rater="A").value for name in LESIONS}
    assert found == pytest.approx(
        {"lesion_sensitivity": 0.5, "lesion_precision": 0.5, "lesion_f1": 0.5, "lesion_pq": 1 / 3, "lesion_sq": 2 / 3,
         "lesion_rq": 0.5}
    )  # fmt: skip
    without = mt.agree(study, pictures=False, measure="sizes").tables["reference_scores"]
    assert not without.all("lesion_f1", "case")
    assert not mt.fuse(study, lesions=False).tables["reference_scores"].all("lesion_f1", "case")


def test_fuse_takes_over_the_lesions_of_an_earlier_run(tmp_path, study: mt.Study) -> None:
    first = mt.fuse(study, out=tmp_path, pictures=False).tables["reference_scores"]
    again = mt.fuse(study, out=tmp_path, pictures=False).tables["reference_scores"]
    assert [str(row) for row in first.rows] == [str(row) for row in again.rows]


# -- words -------------------------------------------------------------------------------------------


def test_the_ratio_is_said_with_its_limits(agreed, evaluated) -> None:
    claims = {claim.about: claim for claim in agreed.claims.of("reference.sizes")}
    assert set(claims) == {"A against gold", "B against gold", "C against gold"}
    assert all(claim.made for claim in claims.values())
    rows = agreed.tables["size_agreement"]
    where = {"relation": "reference", "rater_a": "A", "rater_b": "gold", "size": "area", "label": "1"}
    bias, low, high = (rows.find(n, "pooled", **where) for n in ("bias", "lower_limit", "upper_limit"))
    text = claims["A against gold"].text
    assert text.startswith("The areas of rater A are on average ")
    assert f"{bias.value:.2f} ({bias.low:.2f}–{bias.high:.2f})" in text
    assert f"95% limits of agreement {low.value:.2f} to {high.value:.2f}" in text
    assert "over 11 of twelve cases" in text or "over eleven of twelve cases" in text
    [net] = evaluated.claims.of("reference.sizes")
    assert net.text.startswith("The areas of net are on average ")


def test_ratios_to_one_reference_are_one_sentence() -> None:
    masks = {case: {r: (draw(i, k) > 0).astype(np.uint8) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    references = {case: {"gold": (draw(i, 7) > 0).astype(np.uint8)} for i, case in enumerate(CASES)}
    result = mt.agree(mt.Study.from_arrays(masks, references=references), pictures=False, measure="sizes")
    [claim] = result.claims.of("reference.sizes")
    assert claim.about == "gold"
    assert claim.text.startswith(
        "As multiples of those of the given reference gold, the areas of raters are on average "
    )
    assert claim.text.endswith("; the limits take log ratios to be normally distributed.")
    assert claim.text.count("limits of agreement") == 1
    for rater in "ABC":
        where = {"relation": "reference", "rater_a": rater, "size": "area"}
        bias, low, high = (
            result.tables["size_agreement"].find(name, "pooled", **where)
            for name in ("bias", "lower_limit", "upper_limit")
        )
        digits = len(claim.text.split(f" for {rater} ")[0].split("(")[-2].split()[-1].split(".")[1])
        assert f"{bias.value:.{digits}f} ({bias.low:.{digits}f}–{bias.high:.{digits}f}) for {rater} (" in claim.text
        assert f"{low.value:.{digits}f} to {high.value:.{digits}f}" in claim.text


def test_nothing_is_said_of_own_marks_votes_and_few_subjects() -> None:
    def of(cases, **references):
        masks = {c: {r: draw(CASES.index(c), k) for k, r in enumerate("ABC")} for c in cases}
        given = {c: {name: make(CASES.index(c)) for name, make in references.items()} for c in cases}
        study = mt.Study.from_arrays(masks, references=given)
        claims = mt.agree(study, pictures=False, measure="sizes").claims.of("reference.sizes")
        return {claim.about: "" if claim.made else claim.why_not.code for claim in claims}

    found = of(
        CASES, own=lambda i: draw(i, 1), once=lambda i: draw(i, 1 if i == 5 else 7),
        vote=lambda i: np.max([draw(i, k) for k in range(3)], axis=0),
    )  # fmt: skip
    for reference in ("own", "once"):  # in one case is enough
        said = [found[f"{rater} against {reference}"] for rater in "ABC"]
        assert said == ["", "raters_own_mask", ""]
    assert {found[f"{rater} against vote"] for rater in "ABC"} == {"raters_own_vote"}
    assert set(of(CASES[:9], gold=lambda i: draw(i, 7)).values()) == {"too_few_subjects"}


def test_nothing_is_said_of_an_algorithm_that_is_the_reference() -> None:
    masks = {case: {r: draw(i, k) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    references = {case: {"gold": draw(i, 9 if i == 2 else 7)} for i, case in enumerate(CASES)}
    predictions = {case: {"net": draw(i, 9), "other": draw(i, 8)} for i, case in enumerate(CASES)}
    study = mt.Study.from_arrays(masks, references=references, predictions=predictions)
    claims = mt.evaluate(study, second_look=False, distances=False, lesions=False).claims.of("reference.sizes")
    found = {claim.about: None if claim.made else claim.why_not.code for claim in claims}
    assert found == {"net against gold": "own_mask", "other against gold": None}


def test_exchangeable_raters_are_not_compared_one_by_one() -> None:
    masks = {case: [draw(i, k) for k in range(3)] for i, case in enumerate(CASES)}
    study = mt.Study.from_arrays(masks, references={c: given(c) for c in CASES}, raters="exchangeable")
    result = mt.agree(study, pictures=False)
    assert {row["relation"] for row in result.tables["size_agreement"].rows} == {"all"}
    assert not result.claims.of("reference.sizes")
    assert not math.isnan(result.tables["reference_scores"].find("lesion_f1", "mean", label="1").value)


def test_charts_are_drawn_for_each_rater_and_algorithm(agreed, evaluated) -> None:
    ours = [name for name in agreed.charts if name.startswith("size-reference-limits")]
    assert ours == [f"size-reference-limits-{r}-gold-{label}" for label in (1, 2) for r in "ABC"]
    assert [name for name in evaluated.charts if name.startswith("size-reference")] == [
        "size-reference-limits-net-gold-1", "size-reference-limits-net-gold-2",
    ]  # fmt: skip


def test_a_reference_with_another_value_for_the_only_label() -> None:
    masks = {case: {r: (draw(i, k) > 0).astype(np.uint8) for k, r in enumerate("AB")} for i, case in enumerate(CASES)}
    references = {case: {"gold": 255 * (draw(i, 7) > 0).astype(np.uint8)} for i, case in enumerate(CASES)}
    result = mt.agree(mt.Study.from_arrays(masks, references=references), pictures=False)
    row = result.tables["size_agreement"].find("bias", "pooled", relation="reference", rater_a="A", size="area")
    ratios = [np.log((draw(i, 0) > 0).sum() / (draw(i, 7) > 0).sum()) for i in range(12)]
    assert row.value == pytest.approx(np.exp(np.mean(ratios)))
