"""Algorithms beside raters: both by the same judges, and what a verdict within the margin does not hold for."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt

Masks = dict[str, dict[str, np.ndarray]]
SIZE, CASES = 40, 12


def disc(y: float, x: float, radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:SIZE, :SIZE]
    return (np.hypot(rows - y, columns - x) < radius).astype(np.uint8)


def draw(who: str, spread: float = 1.5, cases: int = CASES) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(ord(who[0]))
    return {f"p{i:02}": disc(20 + rng.normal(0, spread), 20 + rng.normal(0, spread), 9) for i in range(cases)}


def study_of(raters: Masks, predictions: Masks, references: Masks | None = None, **options: object) -> mt.Study:
    def by_case(masks: Masks) -> Masks:
        cases = list(next(iter(masks.values())))
        return {case: {who: of[case] for who, of in masks.items() if case in of} for case in cases}

    given = by_case(references) if references else None
    return mt.Study.from_arrays(by_case(raters), predictions=by_case(predictions), references=given, **options)


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return 2 * (a & b).sum() / (a.sum() + b.sum())


def test_algorithms_are_held_against_the_consensus_of_all_raters_but_one() -> None:
    """As raters are: of five, the vote of four; its mean over who is left out."""
    raters, net = {who: draw(who) for who in "ABCDE"}, draw("n")
    table = mt.evaluate(study_of(raters, {"net": net}), consensus="vote:0.5", pictures=False).table("beside_raters")
    wanted = []
    for case, mask in net.items():
        votes = {left: sum(raters[r][case].astype(int) for r in "ABCDE" if r != left) for left in "ABCDE"}
        wanted.append(np.mean([dice(mask, (v >= 2).astype(np.uint8)) for v in votes.values()]))
    assert table.find("dice", "mean", algorithm="net", against="vote:0.5").value == pytest.approx(np.mean(wanted))


def test_a_rater_is_not_in_the_range_under_a_reference_that_is_their_own_mask() -> None:
    raters = {who: draw(who) for who in "ABC"}
    result = mt.evaluate(study_of(raters, {"net": draw("n")}, {"gold": raters["A"]}), pictures=False)
    row = result.table("beside_raters").find("dice", "mean", algorithm="net", against="gold")
    assert row["human_high"] < 1
    assert {r["rater"] for r in result.table("differences").rows if r["against"] == "gold"} == {"B", "C"}


def test_masks_that_are_a_consensus_of_the_raters_are_not_interchangeable_with_them() -> None:
    raters = {who: draw(who) for who in "ABCDE"}
    vote = {case: (sum(raters[r][case].astype(int) for r in "ABCDE") >= 3).astype(np.uint8) for case in raters["A"]}
    claims = mt.evaluate(study_of(raters, {"net": vote}), margin=0.2, pictures=False).claims
    (claim,) = claims.of("algorithms.interchangeable")
    assert claim.why_not is not None
    assert claim.why_not.code == "copies_of_consensus"
    assert "the consensus vote:0.5 in 12 of the 12 cases" in claim.why_not


def test_a_verdict_that_rests_on_one_rater_says_so() -> None:
    """The algorithm is nearly rater A: from the others it is as far as A is, which is not shown to be within."""
    raters = {who: draw(who) for who in "ABCD"}
    near = {case: np.roll(mask, 1, axis=0) for case, mask in raters["A"].items()}
    result = mt.evaluate(study_of(raters, {"net": near}), margin=0.04, pictures=False)
    (claim,) = result.claims.of("algorithms.interchangeable")
    assert claim.made
    assert "; this is not shown without rater A (γ " in claim.text
    without = result.table("interchangeability").find("smallest_margin", "mean", algorithm="net", rater="", without="A")
    assert without.value > 0.04
    assert f"), smallest margin {without.value:.3f})" in claim.text, "it is judged by more than the 95% interval"
    even = {who: draw(who, 1) for who in "ABCD"}
    fair = mt.evaluate(study_of(even, {"net": draw("n", 0.5)}), margin=0.15, pictures=False)
    assert fair.claims.of("algorithms.interchangeable").made
    assert "not shown" not in fair.claims.of("algorithms.interchangeable")[0].text


def test_a_verdict_that_rests_on_an_outlier_says_so() -> None:
    """Who draws badly makes the raters far from each other, so that an algorithm is as near as they are."""
    raters = {who: draw(who, 0.6) for who in "ABCEF"}
    raters["D"] = {case: np.roll(mask, 9, axis=0) for case, mask in draw("D").items()}
    off = {case: np.roll(mask, 3, axis=1) for case, mask in draw("n", 0.6).items()}
    result = mt.evaluate(study_of(raters, {"net": off}), margin=0.1, pictures=False)
    (claim,) = result.claims.of("algorithms.interchangeable", "algorithms.worse_within").made
    without = result.table("interchangeability").find(
        "interchangeability", "mean", algorithm="net", rater="", without="D"
    )
    assert without.low > 0.1
    who = "without rater D, on average farther from the others than these from each other"
    assert f"; this is not shown {who} (γ " in claim.text


def test_a_rater_whom_no_claim_calls_an_outlier_is_not_called_so_beside_an_algorithm() -> None:
    """Printed before: "without E, an outlier by the test", where agree refused that: E has a mask that is broken."""
    raters = {who: draw(who, 0.6) for who in "ABCDF"}
    raters["E"] = {case: np.roll(mask, 9, axis=0) for case, mask in draw("E").items()}
    first = next(iter(raters["E"]))
    raters["E"][first] = 1 - raters["A"][first]
    study = study_of(raters, {"net": draw("n", 0.6), "far": draw("f", 9)})
    (outlier,) = (c for c in mt.agree(study, pictures=False).claims.of("raters.outlier") if c.about == "E")
    assert not outlier.made
    claims = mt.evaluate(study, margin=0.05, pictures=False).claims
    far, net = claims.of("algorithms.distance")
    assert "; without rater E, on average farther from the others than these from each other, γ is " in net.text
    assert not any("outlier" in claim.text for claim in claims.made)
    # of an algorithm that is too far off no margin is named, with E or without
    assert claims.of("algorithms.worse").made
    assert " and the smallest margin " in net.text
    assert "margin" not in far.text


def test_a_verdict_over_labels_names_the_labels_that_it_does_not_hold_for() -> None:
    def both(who: str, far: float = 0.0) -> dict[str, np.ndarray]:
        small = np.random.default_rng(ord(who[0]) + 9)
        return {
            case: np.where(disc(5 + small.normal(0, 0.4) + far, 6, 4) > 0, 2, mask).astype(np.uint8)
            for case, mask in draw(who, 1.2).items()
        }

    raters = {who: both(who) for who in "ABCD"}
    result = mt.evaluate(study_of(raters, {"net": both("n", 2.5)}), margin=0.25, pictures=False)
    (claim,) = result.claims.of("algorithms.interchangeable", "algorithms.worse_within").made
    assert claim.text.startswith("By Dice, mean over the labels of a case")
    assert "; this is not shown for label 2 alone" in claim.text


def test_two_raters_give_no_smallest_margin() -> None:
    result = mt.evaluate(study_of({who: draw(who) for who in "AB"}, {"net": draw("n")}), pictures=False)
    row = result.table("interchangeability").find("smallest_margin", "mean", algorithm="net", rater="")
    assert np.isnan(row.value)
    assert "smallest margin" not in result.claims.of("algorithms.distance")[0].text


def test_empty_cases_are_counted_in_the_distance() -> None:
    raters, net = {who: draw(who) for who in "ABC"}, draw("n")
    for masks in (*raters.values(), net):
        masks["p03"] = np.zeros_like(masks["p03"])
    text = mt.evaluate(study_of(raters, {"net": net}), pictures=False).claims.of("algorithms.distance")[0].text
    assert "two empty masks 0 (all are empty in one case), one empty 1" in text


def test_a_reference_that_is_a_rater_in_every_case_is_so_where_both_are_empty() -> None:
    raters = {who: draw(who) for who in "ABC"}
    raters["A"] = raters["A"] | {"p00": np.zeros((SIZE, SIZE), np.uint8)}
    study = study_of(raters, {"net": draw("n")}, {"gold": raters["A"]})
    for claims in (mt.agree(study, pictures=False).claims, mt.evaluate(study, pictures=False).claims):
        (claim,) = claims.of("reference.equals_rater").made
        assert "the mask of rater A in every case (one of them empty in both), pixel by pixel" in claim.text
    other = raters["A"] | {"p01": raters["B"]["p02"]}
    (claim,) = mt.agree(study_of(raters, {"net": draw("n")}, {"gold": other}), pictures=False).claims.of(
        "reference.equals_rater"
    )
    assert "in ten of eleven cases in which either marks something" in claim.text
