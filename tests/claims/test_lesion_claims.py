"""What is said about lesions, and where nothing is."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.claims.claim import Claims
from manytruths.claims.lesions import IDS, lesion_labels, rule_words
from manytruths.claims.sentences import plain_text
from manytruths.core.undefined import code_of
from manytruths.lesions.rules import Rule


def line(*spans: tuple[int, int], value: int = 1) -> np.ndarray:
    """Marks on a line: first pixel, behind the last."""
    mask = np.zeros((7, 80), np.uint8)
    for start, stop in spans:
        mask[2:5, start:stop] = value
    return mask


def claims_of(cases: dict, **options: object) -> Claims:
    return mt.agree(mt.Study.from_arrays(cases, **options), pictures=False, measure="lesions").claims.of(*IDS)


def said(claims: Claims) -> dict[str, str]:
    return {claim.kind.id.removeprefix("lesions."): claim.text for claim in claims.made}


def codes(claims: Claims) -> set[str]:
    return {code_of(claim.why_not or "") for claim in claims}


CASES = {
    "p1": {
        "A": line((2, 8), (20, 40), (60, 66)),
        "B": line((2, 8), (20, 29), (30, 40)),
        "C": line((2, 7), (20, 40)),
    },
    "p2": {"A": line((2, 8)), "B": line((6, 12)), "C": line()},
}


@pytest.fixture(scope="module")
def claims() -> Claims:
    return claims_of(CASES)


def test_lesions_and_who_found_them(claims: Claims) -> None:
    """In p1 2-8 and 20-40 by all, 30-40 of B and 60-66 of A alone; in p2 one each of A and B, who share two columns."""
    assert said(claims)["found"] == (
        "The raters marked 6 lesions (connected marks; those with a mean IoU of 0.50 or more count as the same) in "
        "2 cases: 2 by all raters, and 4 by one rater alone (3 of these overlap, less closely, with what another rater "
        "drew)."
    )
    assert said(claims)["split"] == (
        "1 of the 6 lesions is drawn as one by some raters and as several by others: parts that do not match the whole "
        "count as lesions of their own, and a rater none of whose parts matches has not found it."
    )
    assert said(claims)["threshold"] == (
        "How many lesions all raters found depends on how closely they must match: 2 of 5 lesions with a mean IoU of "
        "0.10 or more, and 0 of 8 with a mean IoU of 0.90 or more."
    )


def test_a_single_lesion_of_one_rater_is_not_one_of_these() -> None:
    """Printed before: "1 by one rater alone (1 of these overlaps, …)"."""
    case = {"A": line((2, 8), (20, 40)), "B": line((2, 8), (30, 50)), "C": line((2, 8), (20, 40))}
    found = said(claims_of({"p1": case, "p2": {r: line((2, 8)) for r in "ABC"}}))["found"]
    end = " 2 by all raters, and 1 by one rater alone (it overlaps, less closely, with what another rater drew)."
    assert found.endswith(end)
    apart = case | {"B": line((2, 8), (50, 60))}
    found = said(claims_of({"p1": apart, "p2": {r: line((2, 8)) for r in "ABC"}}))["found"]
    assert found.endswith(" 2 by all raters, and 1 by one rater alone.")


def test_agreement_is_a_mean_over_subjects(claims: Claims) -> None:
    """12 of 16 in p1, as each of two lesions has three finders and two have one; 0 in p2."""
    value = (12 / 16 + 0) / 2
    assert f"(positive agreement) is {value:.2f} on average over 2 cases." in said(claims)["agreement"]
    assert "on average over 1 of 2 cases; the panoptic quality" in said(claims)["delineation"]
    [past] = [claim.result for claim in claims.of("lesions.agreement")]
    assert "The chance that another rater found a lesion that one rater found (positive agreement) was" in plain_text(
        past
    )
    assert "kappa" not in " ".join(said(claims).values()).lower()


def test_two_raters() -> None:
    two = {case: {r: m for r, m in by.items() if r != "C"} for case, by in CASES.items()}
    found = said(claims_of(two))
    assert ": 2 by both raters, and 4 by one rater alone" in found["found"]
    assert found["agreement"].startswith("The chance that the other rater finds a lesion")
    assert found["delineation"].startswith("Lesions that both raters found overlap")


def test_a_rater_who_skipped_a_case() -> None:
    """What A alone read is no lesion that anybody missed."""
    cases = {**CASES, "p2": {"A": line((2, 8)), "C": line((2, 8))}, "p3": {"A": line((2, 8), (60, 66))}}
    text = said(claims_of(cases))["found"]
    assert text.startswith("The raters marked 5 lesions")
    assert "in 2 cases: 3 by all with a mask of the case, and 2 by one rater alone" in text


def test_lesions_that_one_rater_alone_read_are_not_counted_as_found_alone() -> None:
    text = said(claims_of({**CASES, "p3": {"A": line((2, 8), (20, 40))}}))["found"]
    assert text.startswith("The raters marked 6 lesions that two or more of them rated (connected marks;")
    assert "in 2 cases: 2 by all with a mask of the case, and 4 by one rater alone" in text


def test_exchangeable_raters_are_told_the_same() -> None:
    text = said(claims_of(CASES, raters="exchangeable"))["found"]
    assert "2 by all with a mask of the case, and 4 by one rater alone" in text


def test_labels_are_told_apart() -> None:
    """Label 2 has one mark a mask, so that nothing is said about its lesions."""
    cases = {case: {r: np.maximum(m, line((70, 78), value=2)) for r, m in by.items()} for case, by in CASES.items()}
    found = claims_of(cases)
    assert {claim.about for claim in found.made} == {"label 1"}
    assert {code_of(c.why_not or "") for c in found if c.about == "label 2"} == {"one_mark_each"}
    assert said(found)["found"].startswith("Of label 1, the raters marked 6 lesions")
    assert lesion_labels(found, ("1", "2")) == ["1"]


def dots(step: int, side: int) -> np.ndarray:
    mask = np.zeros((side, side), np.uint8)
    mask[::step, ::step] = 1
    return mask


@pytest.mark.parametrize(
    ("code", "masks"),
    [
        ("one_mark_each", (line((2, 8)), line((3, 9)))),
        ("fragments", (line((0, 60), (70, 74)), line((0, 60), (70, 74)))),
        ("specks", (dots(2, 12), dots(2, 12))),
        ("texture", (dots(2, 30).repeat(2, 0).repeat(2, 1), dots(2, 30).repeat(2, 0).repeat(2, 1))),
    ],
)
def test_nothing_is_said_where_marks_are_nothing_to_count(code: str, masks: tuple[np.ndarray, ...]) -> None:
    claims = claims_of({"p1": dict(zip("AB", masks, strict=True))})
    assert not claims.made
    assert codes(claims) == {code}
    assert len(claims) == len(IDS)


def test_rules_in_words() -> None:
    assert rule_words(Rule("overlap", 0.5), "mm") == "at least 50% of the smaller one in common"
    text = said(claims_of(CASES, lesion_rule="distance", lesion_threshold=9))["found"]
    assert "(connected marks; those with centres at most 9 pixels apart on average count as the same)" in text
    two = {case: {rater: mask for rater, mask in masks.items() if rater != "C"} for case, masks in CASES.items()}
    assert "(connected marks; those with an IoU of 0.50 or more count as the same)" in said(claims_of(two))["found"]


def test_nothing_is_said_of_what_one_rater_alone_read() -> None:
    cases = {"p1": {"A": line((2, 8), (20, 40))}, "p2": {"A": line(), "B": line()}}
    assert codes(claims_of(cases)) == {"no_lesion"}
