"""What ``agree`` says about raters: with several labels, on shared cases, and only where a test supports it."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.labels import MACRO
from manytruths.core.undefined import code

SIZE = 96
Y, X = np.mgrid[:SIZE, :SIZE]


def disc(pixels, y=48.0, x=48.0):
    return ((Y - y) ** 2 + (X - x) ** 2 < pixels / np.pi).astype(np.uint8)


def agreed(cases, **options):
    return mt.agree(mt.Study.from_arrays(cases, **options), pictures=False)


def discs(pixels, count=12, noise=0.08, seed=0):
    """A disc a case, of a size that depends on the rater, at a place with errors."""
    rng = np.random.default_rng(seed)
    cases = {}
    for k in range(count):
        scale = rng.lognormal(0, 0.2)
        cases[f"p{k:02}"] = {
            rater: disc(size * scale * rng.lognormal(0, noise), *rng.normal(48, 0.5, 2))
            for rater, size in pixels.items()
        }
    return cases


def made(result, *ids):
    return [claim.text for claim in result.claims.of(*ids).made]


def reasons(result, kind):
    return [claim.why_not.code for claim in result.claims.of(kind) if not claim.made]


# -- several labels --------------------------------------------------------------------------------


def two_tissues(seed=0, cases=12):
    """Labels 1 and 2 fill the image but for a corner; raters differ where one ends and the other begins."""
    rng = np.random.default_rng(seed)
    study = {}
    for k in range(cases):
        masks = {}
        for rater in "ABCD":
            mask = np.full((SIZE, SIZE), 2, np.uint8)
            mask[disc(1700, *(48 + rng.normal(0, 5.4, 2))) == 1] = 1
            mask[:2, :2] = 0
            masks[rater] = mask
        study[f"p{k:02}"] = masks
    return study


@pytest.fixture(scope="module")
def tissues():
    return agreed(two_tissues(), labels={1: "tumour", 2: "stroma"})


def test_two_tissues_are_not_taken_as_one(tissues):
    table = tissues.raters.table
    distance = table.find("mean_difference", "pooled", rater="A", label=MACRO).value
    by_label = [
        np.mean([d for a, b, d in _distances(tissues, label) if "A" in (a, b)]) for label in ("tumour", "stroma")
    ]
    dice = 1 - np.array(by_label)
    assert dice == pytest.approx([0.75, 0.94], abs=0.03)
    assert distance == pytest.approx(np.mean(by_label), abs=1e-12)
    assert tissues.raters.differences.pairs.values.max() > 0.1, "united, the distance would be 0"


def _distances(result, label):
    return mt.rater_differences(result.raters.whole.only(label)).pairs.pairs()


def test_two_tissues_that_fill_the_image_are_no_copies(tissues):
    assert tissues.raters.dependence.copies == ()
    assert not tissues.claims.of("raters.copies", "raters.alike").made
    assert tissues.tables["raters"].find("possible_copies", "pooled", rater="").value == 0


def test_raters_have_rows_of_every_label_and_their_mean(tissues):
    rows = tissues.tables["raters"].rows
    for statistic in ("sensitivity", "sensitivity_against_others", "misses", "extra"):
        found = {row.label for row in rows if row.statistic == statistic and row.scope == "pooled"}
        assert found == {"tumour", "stroma", MACRO}, statistic
    for statistic in ("relative_area", "staple_sensitivity", "relative_size"):
        assert {row.label for row in rows if row.statistic == statistic} == {"tumour", "stroma"}, statistic
    each = [tissues.raters.table.find("dice", "pooled", rater="A", label=x).value for x in ("tumour", "stroma", MACRO)]
    assert each[2] == pytest.approx((each[0] + each[1]) / 2)


def test_sizes_are_compared_label_by_label():
    """One rater sees more tumour in the same tissue; the other label is smaller for it."""
    cases = {}
    for k, (name, masks) in enumerate(two_tissues(3).items()):
        cases[name] = dict(masks)
        larger = masks["A"].copy()
        # of another size in every case: equal masks of several cases would be taken for copies
        larger[(disc(3000 + 20 * k) == 1) & (larger != 0)] = 1
        cases[name]["A"] = larger
    result = agreed(cases, labels={1: "tumour", 2: "stroma"})
    assert [claim.about for claim in result.claims.of("raters.larger").made] == ["A, tumour"]
    assert [claim.about for claim in result.claims.of("raters.smaller").made] == ["A, stroma"]
    assert made(result, "raters.larger")[0].startswith("Rater A marks tumour larger than ")


# -- sizes, outliers, groups -----------------------------------------------------------------------


def test_two_schools_that_draw_800_and_3500_pixels_are_described():
    result = agreed(discs({"A": 800, "B": 3500, "C": 800, "D": 3500}))
    (text,) = made(result, "raters.clusters")
    assert text.startswith("The raters fall into two groups, one of B and D and one of A and C: ")
    ratio = result.raters.table.find("group_size_ratio", "mean", rater="")
    assert ratio.low < 3500 / 800 < ratio.high
    assert f"the first group draws {ratio.value:.2f} ({ratio.low:.2f}–{ratio.high:.2f}) times as large" in text
    assert not made(result, "raters.outlier"), "nobody is an outlier where two agree with each other"


def test_one_who_draws_larger_is_named_and_nobody_is_small_for_it():
    result = agreed(discs({"A": 1400, "B": 1000, "C": 1000, "D": 1000}))
    (text,) = made(result, "raters.larger")
    assert text.startswith(
        "Rater A draws larger than all the other raters: on geometric average over the other raters 1."
    )
    assert not made(result, "raters.smaller")
    row = result.tables["pairs"].find("size_ratio", "mean", rater_a="A", rater_b="B", relation="between")
    assert row.low < 1.4 < row.high
    logs = result.tables["pairs"].find("log_size_ratio", "mean", rater_a="A", rater_b="B", relation="between")
    assert np.exp(logs.value) == pytest.approx(row.value)


def test_equal_raters_are_not_told_apart():
    results = [agreed(discs(dict.fromkeys("ABCD", 1000), 10, 0.3, seed)) for seed in range(4)]
    for result in results:
        assert not result.claims.of("raters.larger", "raters.smaller", "raters.outlier", "raters.clusters").made
    named = [bool(result.raters.differences.outliers) for result in results]
    assert sum(named) >= 2, "the rule of mean + 1 SD mostly finds somebody"


def test_an_outlier_is_named_with_the_excess():
    cases = discs(dict.fromkeys("ABCDE", 1000))
    bar = np.zeros_like(next(iter(cases.values()))["E"])
    bar[24:72, 38:58] = 1  # of the others' size, and in no place or turn their shape
    for k, masks in enumerate(cases.values()):
        masks["E"] = np.roll(bar, (k % 7, k // 7), axis=(0, 1))
    result = agreed(cases)
    (text,) = made(result, "raters.outlier")
    row = result.tables["raters"].find("excess_distance", "mean", rater="E")
    shown = f"{row.value:.2f} ({row.low:.2f}–{row.high:.2f}) larger than that of the others among themselves"
    assert text.startswith("Rater E is an outlier: ")
    assert shown in text
    assert row.low > 0


def test_few_cases_or_raters_have_numbers_and_no_verdict():
    few = agreed(discs({"A": 3000, "B": 1000, "C": 1000}, 9))
    assert not few.claims.of("raters.larger", "raters.outlier").made
    assert reasons(few, "raters.larger") == ["too_few_subjects"]
    assert few.tables["raters"].find("relative_size", "mean", rater="A").value > 2
    two = agreed(discs({"A": 3000, "B": 1000}))
    assert not two.claims.of("raters.larger").made
    assert reasons(two, "raters.larger") == ["too_few_raters"]


def test_cases_of_a_patient_are_no_subjects():
    cases = discs({"A": 3000, "B": 1000, "C": 1000}, 24)
    patients = {case: f"s{k // 3}" for k, case in enumerate(cases)}
    result = agreed(cases, subjects=patients)
    assert reasons(result, "raters.larger") == ["too_few_subjects"]
    assert made(agreed(cases), "raters.larger")


def test_every_claim_considered_is_listed(tmp_path):
    result = agreed(discs(dict.fromkeys("ABCD", 1000), 10, 0.3))
    result.write(tmp_path, pictures=False)
    text = (tmp_path / "agree/claims.csv").read_text(encoding="utf-8")
    for kind in ("raters.larger", "raters.smaller", "raters.outlier", "raters.clusters", "raters.effective"):
        assert kind in text


# -- unequal cases ---------------------------------------------------------------------------------


def with_a_hard_case():
    """In the last case raters hardly overlap; D did not read it."""
    cases = discs(dict.fromkeys("ABCD", 1000), 12, 0.2)
    rng = np.random.default_rng(1)
    for k in range(3):
        cases[f"q{k}"] = {r: disc(1000, *rng.normal(48, 14, 2)) for r in "ABC"}
    return cases


def test_who_skipped_the_hard_cases_is_not_nearest_to_the_others():
    result = agreed(with_a_hard_case())
    pooled = mt.rater_differences(result.raters.whole)
    assert pooled.raters[int(np.argmin(pooled.mean_difference))] == "D", "over all that they read"
    rows = [result.tables["raters"].find("mean_difference", "pooled", rater=r) for r in "ABCD"]
    assert {row.n for row in rows} == {12}, "cases that all of them read"
    others = mt.rater_differences(mt.pool({c: t for c, t in result.tallies.items() if c.startswith("p")}))
    assert [row.value for row in rows] == pytest.approx(others.mean_difference)
    (text,) = made(result, "raters.different_cases")
    assert "(no mask of D in q0, q1 and q2)" in text
    assert "over the twelve cases that all of them read" in text


def test_raters_who_share_no_case_are_flagged_and_not_compared():
    first = discs({"A": 1000, "B": 1000, "C": 1000})
    second = {f"q{case}": masks for case, masks in discs({"D": 3000, "E": 3000}).items()}
    result = agreed(first | second)
    (text,) = made(result, "raters.disconnected")
    assert text == (
        "Raters D and E share no case with the other raters: nothing is said about how they compare with them."
    )
    table = result.tables["raters"]
    assert code(table.find("outlier_threshold", "pooled", rater="").value) == "disconnected_raters"
    assert code(table.find("outlier", "pooled", rater="A").value) == "disconnected_raters"
    for kind in ("raters.larger", "raters.smaller", "raters.outlier", "raters.clusters"):
        assert reasons(result, kind) == ["disconnected_raters"], kind
        assert not result.claims.of(kind).made


def test_without_a_case_that_all_read_no_outlier_is_named():
    cases = discs(dict.fromkeys("ABCD", 1000), 12)
    for k, masks in enumerate(cases.values()):
        del masks["ABCD"[k % 4]]
    result = agreed(cases)
    assert result.raters.differences.outliers == ()
    assert code(result.tables["raters"].find("outlier_threshold", "pooled", rater="").value) == "no_common_case"
    assert made(result, "raters.different_cases")[0].startswith("No case was read by all raters (no mask of ")


# -- shared errors ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_effective_number_of_raters_takes_a_given_reference():
    rng = np.random.default_rng(0)
    cases, known = {}, {}
    for k in range(10):
        truth, hard = disc(2500) == 1, rng.random((SIZE, SIZE)) < 0.12
        errors = {r: np.where(hard, rng.random(truth.shape) < 0.6, rng.random(truth.shape) < 0.04) for r in "ABCDE"}
        cases[f"p{k}"] = {r: (truth ^ error).astype(np.uint8) for r, error in errors.items()}
        known[f"p{k}"] = {"expert": truth.astype(np.uint8)}
    alone, judged = agreed(cases), agreed(cases, references=known)
    table = alone.tables["raters"]
    assert code(table.find("effective_raters", "pooled", rater="").value) == "no_reference_for_dependence"
    assert reasons(alone, "raters.effective") == ["no_reference_for_dependence"]
    assert "too low where raters share errors" in made(alone, "raters.dependence")[0]
    true = np.mean([np.corrcoef([*_errors(cases, known, a, b)])[0, 1] for a, b in ("AB", "CD", "AE")])
    row = judged.tables["raters"].find("effective_raters", "pooled", rater="expert")
    assert row.value == pytest.approx(5 / (1 + 4 * true), abs=0.1)
    assert f"five raters are worth about {row.value:.1f} raters with independent errors" in str(judged.claims)


def _errors(cases, known, *raters):
    for rater in raters:
        yield np.concatenate([(cases[c][rater] != known[c]["expert"]).ravel() for c in cases])


def test_who_is_absent_from_a_case_does_not_exchange_the_others():
    """In the tally of a case, raters who are absent stand last."""
    cases = discs({"A": 700, "B": 850, "C": 1000, "D": 1200, "E": 1400})
    first, second = list(cases)[:2]
    del cases[second]["B"]
    result = agreed(cases)
    for case in (first, second):
        tally = result.tallies[case]
        found = {
            row["rater"]: row.value for row in result.tables["raters"].all("sensitivity", "case") if row.case == case
        }
        wanted = mt.rater_performance(tally)
        for rater in "ABCDE":
            value = wanted.value(rater, mt.sensitivity)
            assert found[rater] == pytest.approx(value, nan_ok=True), (case, rater)
    assert np.isnan(found["B"])
