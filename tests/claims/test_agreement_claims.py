"""What is said about the agreement of all raters."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.claims.agreement import AgreementFacts, consider_agreement, level_words
from manytruths.claims.claim import ClaimLog, Claims
from manytruths.claims.numbers import TableIndex
from manytruths.claims.sentences import plain_text
from manytruths.core.undefined import code
from manytruths.io.result_tables import Row, Table

RULE = ("agreement.reliable", "agreement.tentative", "agreement.unreliable", "agreement.undecided")


def judge_alpha(low: float, high: float, n: int) -> Claims:
    """What is made of mean alpha and its interval."""
    table = Table("agreement")
    table.add([Row("mean", "krippendorff_alpha", (low + high) / 2, low=low, high=high, n=n)])
    log = ClaimLog()
    consider_agreement(log, TableIndex("agree/agreement.csv", table), AgreementFacts(raters=4, subjects=n))
    return log.settle().of(*RULE).made


@pytest.mark.parametrize(("low", "kind"), [(0.85, "agreement.reliable"), (0.7, "agreement.tentative")])
def test_a_favourable_verdict_says_what_it_takes_for_granted(low: float, kind: str) -> None:
    """Twelve subjects hold no failure with a chance of 5% where 22% of all fail: 0.78 ** 12 = 0.05."""
    few, many = judge_alpha(low, 0.9, 12), judge_alpha(low, 0.9, 60)
    assert [claim.kind.id for claim in (*few, *many)] == [kind, kind]
    granted = "{}, provided that cases without agreement {} rare (a study of 12 can miss a share of up to 22%)"
    favourable = "reliable enough for conclusions" if low > 0.8 else "tentative conclusions {} be drawn"
    assert granted.format(favourable.format("can"), "are") in few[0].text, "it belongs to what is favourable"
    assert granted.format(favourable.format("could"), "were") in plain_text(few[0].result)
    assert "provided" not in many[0].text


def test_verbs_of_tentative_conclusions() -> None:
    [claim] = judge_alpha(0.7, 0.9, 60)
    assert "whether firm ones can, too, cannot be told" in claim.text
    assert "whether firm ones could, too, could not be told" in plain_text(claim.result)


def test_firm_conclusions_that_cannot_be_drawn_are_named_after_what_is_taken_for_granted() -> None:
    [claim] = judge_alpha(0.7, 0.78, 12)
    assert claim.text.endswith("a share of up to 22%); firm ones cannot.")
    assert plain_text(claim.result).endswith("a share of up to 22%); firm ones could not.")


def test_other_verdicts_take_nothing_for_granted() -> None:
    for low, high in ((0.3, 0.5), (0.5, 0.7)):
        assert "provided" not in judge_alpha(low, high, 12)[0].text


def test_marks_below_the_firm_limit_are_not_called_undecided_for_firm_conclusions() -> None:
    [below], [across] = (judge_alpha(0.648, high, 12) for high in (0.673, 0.85))
    assert below.kind.id == across.kind.id == "agreement.undecided"
    assert "not reliable enough for firm conclusions; whether for tentative ones cannot be told" in below.text
    assert "whether the marks are reliable enough cannot be told" in across.text


# -- several labels ----------------------------------------------------------------------------------


def judge_labels(of_all: tuple[float, float], *of_labels: tuple[float, float]) -> Claims:
    """What is made of mean alpha and kappa of all labels at once, and of each label against the rest."""
    table = Table("agreement")
    for label, (low, high) in zip(("", "1", "2", "3"), (of_all, *of_labels), strict=False):
        for name in ("krippendorff_alpha", "fleiss_kappa"):
            table.append(Row("mean", name, (low + high) / 2, label=label, low=low, high=high, n=60))
    log, labels = ClaimLog(), ("1", "2", "3")[: len(of_labels)]
    consider_agreement(
        log, TableIndex("agree/agreement.csv", table), AgreementFacts(raters=4, subjects=60, labels=labels)
    )
    return log.settle()


def test_a_verdict_names_the_labels_that_do_not_reach_it_alone() -> None:
    claims = judge_labels((0.86, 0.88), (0.83, 0.88), (0.79, 0.9), (0.59, 0.75))
    [verdict] = claims.of(*RULE).made
    named = "label 2 (alpha 0.84 (0.79–0.90)) and label 3 (alpha 0.67 (0.59–0.75)) taken alone."
    assert verdict.text.endswith(f"; this is not shown for {named}")
    assert "this was not shown for label 2" in plain_text(verdict.result)
    [kappa] = claims.of("agreement.beyond_chance").made
    assert "; taken alone, label 2 (kappa 0.84 (0.79–0.90)) is substantial to almost perfect and label 3" in kappa.text
    assert "label 1 " not in kappa.text


def test_an_unfavourable_verdict_names_the_labels_that_reach_more_alone() -> None:
    [verdict] = judge_labels((0.5, 0.6), (0.85, 0.9), (0.7, 0.75), (0.3, 0.4)).of(*RULE).made
    assert verdict.kind.id == "agreement.unreliable"
    assert "label 1 (alpha 0.88 (0.85–0.90)) reaches 0.80 and label 2 (alpha 0.72 (0.70–0.75)) reaches" in verdict.text
    assert "label 3" not in verdict.text


def test_labels_of_the_same_verdict_are_not_named() -> None:
    [verdict] = judge_labels((0.86, 0.88), (0.83, 0.88), (0.82, 0.9)).of(*RULE).made
    assert "alone" not in verdict.text


def test_a_label_that_some_raters_leave_out_is_told() -> None:
    """Every rater marks label 1 everywhere; label 2 is in eleven of twelve cases, and C leaves it out of two."""
    cases = {}
    for number, (name, masks) in enumerate(discs(12, 80).items()):
        for rater, mask in masks.items():
            if number and not (rater == "C" and number in (3, 5)):
                mask[2:8, 2 : 8 + (rater == "A")] = 2
        cases[name] = masks
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False)
    [claim] = found.claims.of("agreement.empty").made
    start = "In 2 of the 11 cases in which anybody marked label 2 (c03 and c05) some raters marked none of it"
    assert claim.text.startswith(f"{start}; where both of two raters did, mean Dice is 0.9")
    rows = {row.label: row for row in found.agreement.all("dice_both_marked", "mean")}
    single = {row.label: row for row in found.agreement.all("dice", "mean")}
    assert rows["2"].value > single["2"].value
    assert rows["1"].value == single["1"].value
    counts = {(row.label, row.statistic): (row.value, row.n) for row in found.agreement.rows if row.scope == "pooled"}
    assert counts["2", "condition_1"] == (2, 12)
    assert counts["2", "nothing_marked"] == (1, 12)
    assert counts["", "condition_1"] == (0, 12)


# -- the region that is counted --------------------------------------------------------------------


def judge_regions(whole: tuple[float, float], reduced: tuple[float, float], **facts: object) -> Claims:
    """What is made of mean alpha over whole images, and with only as much background as was marked."""
    table, names = Table("agreement"), ("krippendorff_alpha", "krippendorff_alpha_modified_background")
    for name, (low, high) in zip(names, (whole, reduced), strict=True):
        table.append(Row("mean", name, (low + high) / 2, low=low, high=high, n=60))
    log = ClaimLog()
    facts_ = AgreementFacts(raters=4, subjects=60, **facts)
    consider_agreement(log, TableIndex("agree/agreement.csv", table), facts_)
    return log.settle()


def test_a_verdict_that_less_background_would_change_is_withheld() -> None:
    claims = judge_regions((0.7, 0.75), (0.64, 0.7))
    assert not claims.of(*RULE).made
    [tentative] = claims.of("agreement.tentative")
    assert tentative.why_not is not None
    assert tentative.why_not.code == "region_decides"
    assert "0.70 to 0.75" in tentative.why_not
    assert "0.64 to 0.70" in tentative.why_not
    [region] = claims.of("agreement.region_decides").made
    assert len(region.numbers) == 2
    assert "it is met for tentative conclusions over all pixels" in region.text
    assert "it cannot be told with only as much background" in region.text
    assert "whether this is met depends on how much background is counted: " in region.text
    assert "whether this was met depended on how much background was counted: " in plain_text(region.result)


def test_a_verdict_that_holds_for_both_regions_is_made() -> None:
    claims = judge_regions((0.85, 0.9), (0.81, 0.86))
    assert [claim.kind.id for claim in claims.of(*RULE).made] == ["agreement.reliable"]
    assert not claims.of("agreement.region_decides").made
    unfavourable = judge_regions((0.5, 0.6), (0.3, 0.4))
    assert [claim.kind.id for claim in unfavourable.of(*RULE).made] == ["agreement.unreliable"]


def discs(cases: int, size: int, *, spread: float = 1.2, raters: str = "ABC") -> dict[str, dict[str, np.ndarray]]:
    """Discs of slightly different radii in the middle of images of a size."""
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:80, :80] - 40
    edge = (80 - size) // 2
    cut = slice(edge, 80 - edge)
    return {
        f"c{i:02}": {
            r: (rows**2 + columns**2 < (12 + rng.normal(0, spread)) ** 2)[cut, cut].astype(np.uint8) for r in raters
        }
        for i in range(cases)
    }


def test_less_background_does_not_depend_on_how_images_are_cropped() -> None:
    large, small = (mt.agree(mt.Study.from_arrays(discs(12, size)), pictures=False) for size in (80, 44))
    for name in ("fleiss_kappa", "krippendorff_alpha"):
        whole = [found.agreement.find(name, "mean").value for found in (large, small)]
        reduced = [found.agreement.find(f"{name}_modified_background", "mean") for found in (large, small)]
        assert whole[0] > whole[1]
        assert reduced[0].value == reduced[1].value
        assert {row.region for row in reduced} == {"modified_background"}


def test_a_region_of_interest_is_not_compared() -> None:
    found = mt.agree(mt.Study.from_arrays(discs(12, 80), region="union"), pictures=False)
    assert not found.agreement.all("fleiss_kappa_modified_background", "mean")


# -- sizes, words and reasons ------------------------------------------------------------------------


def test_the_difference_of_sizes_is_that_of_raters_who_both_marked() -> None:
    """An empty mask would count as a difference of 200%, whatever the other mask is."""
    masks = discs(6, 80)
    masks["c00"]["A"] = masks["c00"]["A"] * 0
    masks["c01"] = {r: m * (r == "B") for r, m in masks["c01"].items()}
    found = mt.agree(mt.Study.from_arrays(masks), pictures=False)
    every, both = (found.agreement.find(f"volume_difference{part}", "mean") for part in ("", "_both_marked"))
    assert every.value > 0.5 > both.value
    assert (every.n, both.n) == (6, 5)
    [claim] = found.claims.of("agreement.overlap")
    words = f"; where both of them marked, their relative area difference is {both.value:.0%} over five cases."
    assert claim.text.endswith(words)


@pytest.mark.parametrize(("raters", "words"), [("AB", False), ("ABC", True)])
def test_two_raters_have_no_words_for_kappa(raters: str, words: bool) -> None:
    found = mt.agree(mt.Study.from_arrays(discs(12, 80, raters=raters)), pictures=False)
    [claim] = found.claims.of("agreement.beyond_chance")
    assert ("Landis" in claim.text) is words


def test_words_cover_an_interval_that_ends_at_0() -> None:
    row = Row("mean", "fleiss_kappa", 0.1, low=0.0, high=0.2, n=12)
    assert level_words(row, "landis_koch", 3) == "slight"
    other = Row("mean", "fleiss_kappa_modified_background", -0.1, low=-0.2, high=0.0, n=12)
    assert level_words(row, "landis_koch", 3, other) == "poor to slight"


def test_the_reason_why_there_is_no_interval_over_both_is_the_true_one() -> None:
    masks = discs(11, 80)
    for case in ("c00", "c01"):
        masks[case] = {r: m * 0 for r, m in masks[case].items()}
    [claim] = mt.agree(mt.Study.from_arrays(masks), pictures=False).claims.of("agreement.over_both")
    assert "it is defined for 9" in claim.why_not
    slots = {case: list(by.values()) for case, by in discs(12, 80).items()}
    [claim] = mt.agree(mt.Study.from_arrays(slots, raters="exchangeable"), pictures=False).claims.of(
        "agreement.over_both"
    )
    assert claim.why_not.code == "raters_not_named"


def test_pooled_numbers_of_pairs_are_undefined_for_exchangeable_raters() -> None:
    """They would change with the order in which the raters of a case were stored."""
    rng = np.random.default_rng(5)
    slots = {case: list(by.values()) for case, by in discs(12, 80).items()}
    mixed = {case: [by[i] for i in rng.permutation(3)] for case, by in slots.items()}
    one, other = (mt.agree(mt.Study.from_arrays(s, raters="exchangeable"), pictures=False) for s in (slots, mixed))
    for name in ("dice", "iou", "cohen_kappa", "volume_difference"):
        assert code(one.agreement.find(name, "pooled").value) == "pairs_of_slots"
        assert one.agreement.find(name, "mean").value == pytest.approx(other.agreement.find(name, "mean").value)
    assert one.agreement.find("fleiss_kappa", "pooled").value == other.agreement.find("fleiss_kappa", "pooled").value
