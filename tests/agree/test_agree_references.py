"""Raters against given reference standards, and references that are a rater's own mask."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import manytruths as mt
from label_studies import tissue_maps
from manytruths.core.undefined import code_of

CASES = [f"p{i:02}" for i in range(12)]


def draw(seed: int, labels: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:24, :24]
    apart = np.hypot(y - 12 - rng.normal(0, 1), x - 12 - rng.normal(0, 1))
    return np.sum([apart < r for r in (8, 4)[:labels]], axis=0).astype(np.uint8)


def make_study(labels: int = 1, **references: dict[str, np.ndarray]) -> mt.Study:
    masks = {case: {r: draw(10 * i + k, labels) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    given = {case: {name: by_case[case] for name, by_case in references.items() if case in by_case} for case in CASES}
    return mt.Study.from_arrays(masks, references=given)


def masks_of(rater: int, labels: int = 1) -> dict[str, np.ndarray]:
    return {case: draw(10 * i + rater, labels) for i, case in enumerate(CASES)}


def majority(least: int) -> dict[str, np.ndarray]:
    return {
        c: (np.sum([draw(10 * i + k) > 0 for k in range(3)], axis=0) >= least).astype(np.uint8)
        for i, c in enumerate(CASES)
    }


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return 2 * (a & b).sum() / (a.sum() + b.sum())


def test_raters_are_scored_against_a_given_reference() -> None:
    gold = masks_of(7)
    del gold["p03"]
    study = make_study(gold=gold)
    table = mt.agree(study, pictures=False).tables["reference_scores"]
    for k, rater in enumerate("ABC"):
        row = table.find("dice", "mean", rater=rater, against="gold")
        wanted = [dice(draw(10 * i + k) > 0, gold[case] > 0) for i, case in enumerate(CASES) if case in gold]
        assert row.value == pytest.approx(np.mean(wanted))
        assert (row.n, row.low < row.value < row.high) == (11, True)
    fused = mt.fuse(study, consensus="vote:0.5,staple").tables["reference_scores"]
    assert fused.find("dice", "mean", rater="A", against="gold").value == table.find(
        "dice", "mean", rater="A", against="gold"
    ).value  # fmt: skip
    wanted = np.mean([dice(majority(2)[case] > 0, gold[case] > 0) for case in gold])
    assert fused.find("dice", "mean", method="vote:0.5", against="gold").value == pytest.approx(wanted)


def test_of_a_reference_of_some_cases_it_is_said_of_how_many() -> None:
    """Five cases lack it: neither "all cases pooled" nor a mean without its n is true of the study."""
    some = {case: mask for case, mask in masks_of(7).items() if case < "p07"}
    study = make_study(gold=some, other=masks_of(8))
    result = mt.agree(study, pictures=False)
    scored = {claim.about: claim.text for claim in result.claims.of("reference.raters_scored").made}
    assert scored["gold"].endswith(" for C, over seven of twelve cases.")
    assert scored["other"].endswith(" for C.")
    worth = {claim.about: claim.text for claim in result.claims.of("raters.effective").made}
    assert worth["gold"].startswith(
        "Against the given reference gold, with the seven of twelve cases pooled that have it, the raters' errors have"
    )
    assert worth["other"].startswith("Against the given reference other, with all cases pooled, the raters' errors")
    note = "there is no reference of gold in 5 of 12 cases (p07, p08, p09 and 2 more): it counts in the others alone"
    assert [n for n in result.notes if "reference" in n] == [note]
    net = {case: {"net": masks_of(9)[case]} for case in CASES}
    masks = {case: {r: draw(10 * i + k) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    given = {case: {"gold": mask} for case, mask in some.items()}
    assert note in mt.evaluate(mt.Study.from_arrays(masks, predictions=net, references=given)).notes


def test_a_reference_that_is_a_raters_mask_is_said_to_be_it() -> None:
    """Byte for byte in every case: nothing is called independent, and the rater is not scored in words."""
    study = make_study(gold=masks_of(1), other=masks_of(7))
    claims = mt.agree(study, pictures=False).claims
    [same] = claims.of("reference.equals_rater").made
    assert same.about == "B"
    assert same.text == "The given reference gold is the mask of rater B in every case, pixel by pixel."
    scored = {claim.about: claim.text for claim in claims.of("reference.raters_scored").made}
    assert " for A" in scored["gold"]
    assert " for B" not in scored["gold"]
    assert " for B" in scored["other"]
    effective = {claim.about: claim for claim in claims.of("raters.effective")}
    assert effective["gold"].why_not.code == "raters_own_marks", "it is not apart from the raters"
    assert effective["other"].made
    fused = mt.fuse(study).claims.of("reference.equals_rater").made
    assert [claim.text for claim in fused] == [same.text]


def test_check_warns_of_a_reference_that_is_a_raters_mask() -> None:
    gold = {case: 255 * mask for case, mask in masks_of(1).items()}
    gold["p00"] = masks_of(7)["p00"]
    warned = [p for p in mt.check(make_study(gold=gold, other=masks_of(7))).problems if p.kind == "reference"]
    assert [(p.severity, p.rater) for p in warned] == [("warning", "B")]
    assert warned[0].message.startswith(
        "the given reference gold is the mask of rater B in eleven of twelve cases, pixel by"
    )
    whole = mt.check(make_study(gold=masks_of(1))).problems
    assert [p.message for p in whole if "rater B in every case, pixel by pixel" in p.message]


@pytest.mark.parametrize("labels", [1, 2])
def test_some_cases_and_every_label_count(labels: int) -> None:
    gold = masks_of(7, labels)
    for case in CASES[:4]:
        gold[case] = masks_of(2, labels)[case]
    if labels == 2:
        gold["p00"] = (gold["p00"] > 0).astype(np.uint8)  # the same outline with another label inside
    equal = mt.agree(make_study(labels, gold=gold), pictures=False).equal_references
    assert {pair: list(same.cases) for pair, same in equal.items()} == {("gold", "C"): CASES[labels - 1 : 4]}


def test_several_labels_are_averaged_and_shown_one_by_one() -> None:
    gold = masks_of(7, 2)
    table = mt.agree(make_study(2, gold=gold), pictures=False).tables["reference_scores"]
    each = [
        np.mean([dice(draw(10 * i, 2) == label, gold[case] == label) for i, case in enumerate(CASES)])
        for label in (1, 2)
    ]
    found = [table.find("dice", "mean", rater="A", against="gold", label=label).value for label in ("1", "2", "")]
    assert found == pytest.approx([*each, np.mean(each)])


def test_a_consensus_as_reference_is_found() -> None:
    claims = mt.fuse(make_study(gold=majority(2)), consensus="vote:0.5,vote:any").claims
    assert [claim.about for claim in claims.of("reference.equals_consensus").made] == ["vote:0.5"]


def test_exchangeable_raters_are_averaged() -> None:
    masks = {case: [draw(10 * i + k) for k in range(3)] for i, case in enumerate(CASES)}
    given = {case: {"gold": mask} for case, mask in masks_of(7).items()}
    study = mt.Study.from_arrays(masks, references=given, raters="exchangeable")
    table = mt.agree(study, pictures=False).tables["reference_scores"]
    assert {row["rater"] for row in table.rows} == {""}


def test_without_a_reference_nothing_is_scored() -> None:
    result = mt.agree(make_study(), pictures=False)
    assert "reference_scores" not in result.tables
    assert not result.claims.of("reference.equals_rater", "reference.raters_scored")


@pytest.mark.parametrize(("least", "words"), [(1, "any rater"), (2, "at least two of the three"), (3, "all three")])
def test_a_vote_of_the_raters_as_reference_is_found_and_scores_nobody(least: int, words: str) -> None:
    claims = mt.agree(make_study(gold=majority(least)), pictures=False).claims
    (claim,) = claims.of("reference.equals_vote").made
    assert words in claim.text
    assert [code_of(c.why_not or "") for c in claims.of("reference.raters_scored")] == ["raters_own_vote"]
    assert [code_of(c.why_not or "") for c in claims.of("raters.effective")] == ["raters_own_marks"]


def test_a_vote_but_for_one_pixel_is_no_vote() -> None:
    gold = majority(2)
    gold["p03"][0, 0] = 1 - gold["p03"][0, 0]
    claims = mt.agree(make_study(gold=gold), pictures=False).claims
    assert not claims.of("reference.equals_vote")
    assert claims.of("reference.raters_scored").made


@pytest.mark.slow
def test_raters_are_not_said_to_be_worth_so_many_against_one_of_them() -> None:
    """The errors of the others are counted against one rater's own."""
    result = mt.agree(make_study(gold=masks_of(1), other=masks_of(7)), pictures=False)
    assert {c.about: c.made for c in result.claims.of("raters.effective")} == {"gold": False, "other": True}


def test_fuse_says_that_a_reference_is_a_raters_mask() -> None:
    claims = mt.fuse(make_study(gold=masks_of(1))).claims
    assert [claim.about for claim in claims.of("reference.equals_rater").made] == ["B"]


def test_tissues_without_background_are_scored_against_a_reference() -> None:
    maps = tissue_maps(10, 40, "ABCD", ground=False)
    raters = {case: {r: mask for r, mask in each.items() if r != "D"} for case, each in maps.items()}
    study = mt.Study.from_arrays(
        raters, references={case: {"gold": each["D"]} for case, each in maps.items()}, background="none",
        labels={1: "grey", 2: "white"},
    )  # fmt: skip
    found = mt.agree(study, pictures=False).tables["reference_scores"]
    for name, value in (("grey", 1), ("white", 2)):
        expected = np.mean([dice(each["A"] == value, each["D"] == value) for each in maps.values()])
        assert found.find("dice", "mean", rater="A", against="gold", label=name).value == pytest.approx(expected)


def test_a_label_that_only_the_reference_has_is_not_taken_for_another() -> None:
    """In a case in which raters used one label, a reference with two is not united."""
    raters = {c: {r: np.where(draw(10 * i + k, 2) == 1, 1, 0).astype(np.uint8) for k, r in enumerate("ABC")}
              for i, c in enumerate(CASES)}  # fmt: skip
    given = {c: {"gold": draw(10 * i, 2)} for i, c in enumerate(CASES)}
    table = mt.agree(mt.Study.from_arrays(raters, references=given), pictures=False).tables["reference_scores"]
    assert table.find("dice", "mean", rater="A", against="gold", label="1").value == 1
    assert table.find("sensitivity", "mean", rater="A", against="gold", label="2").value == 0


def test_the_report_says_once_whose_mask_a_reference_is(tmp_path: Path) -> None:
    """agree, fuse and evaluate all find it."""
    study = make_study(gold=masks_of(1))
    page = mt.report(study, to=tmp_path / "report.html", resamples=50, viewer=False)
    said = "The given reference gold is the mask of rater B in every case, pixel by pixel."
    text = re.sub(r"<[^>]+>", "", page.path.read_text(encoding="utf-8"))
    lead, _, claims = text.partition("Claims: ")
    assert (lead.count(said), claims.count(said)) == (1, 1)


def test_evaluate_says_that_a_reference_is_a_vote() -> None:
    masks = {case: {r: draw(10 * i + k) for k, r in enumerate("ABC")} for i, case in enumerate(CASES)}
    study = mt.Study.from_arrays(
        masks, references={case: {"gold": mask} for case, mask in majority(2).items()},
        predictions={case: {"net": mask} for case, mask in masks_of(7).items()},
    )  # fmt: skip
    claims = mt.evaluate(study, distances=False, second_look=False).claims
    assert [claim.about for claim in claims.of("reference.equals_vote").made] == ["gold"]
