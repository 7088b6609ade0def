"""What is worth doing next, and what is said of raters whose masks are doubtful."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_findings import discs, findings, lead, mapped, steps, tables, to_know

from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions
from manytruths.claims.sentences import plain_text
from manytruths.reporting.sections import raters, summary
from manytruths.reporting.sections.raters import error_dependence


def nearly_all(rater, case):
    mask = np.ones((40, 40), np.uint8)
    mask[0, : 25 if rater == "D" else 2 + int(case[1:]) % 3 + ord(rater) % 2] = 0
    return mask


def covered():
    """Nearly everything is marked."""
    return findings({case: {r: nearly_all(r, case) for r in "ABCD"} for case in discs()})


def test_where_nearly_everything_is_marked():
    found = covered()
    told = next(step for step in steps(found) if step.startswith("Do not quote percent agreement alone"))
    assert "because most pixels are marked by nearly everybody" in told
    assert "background" not in told
    assert any(step.startswith("Most raters drew nearly the same") for step in steps(found))
    assert not any("worked alone:" in step for step in steps(found))
    assert "No rater differs much from the others: the mean Dice distance to them is at most 0.0" in lead(
        summary.section(found)
    )


def test_where_little_is_marked_background_is_why():
    own = {case: {r: np.pad(m, 40) for r, m in by.items()} for case, by in discs().items()}
    told = next(step for step in steps(findings(own)) if step.startswith("Do not quote percent agreement alone"))
    assert "because most pixels are background that nobody marks" in told


def test_copies_are_asked_about_and_not_counted_on():
    """Of three raters one is a copy: more raters and reliability are not promised."""
    own = {case: {"A": by["A"], "B": by["B"], "C": by["A"]} for case, by in discs(12, "ABC").items()}
    found = findings(own)
    text = steps(found)
    assert any(step.startswith("Ask whether they worked alone: A and C drew nearly the same.") for step in text)
    assert not any(step.startswith("Would more raters help?") for step in text)
    assert not any("the marks are reliable enough" in step for step in text)


def test_raters_who_share_mistakes_are_never_enough():
    found = findings(discs())
    told = next(step for step in steps(found) if step.startswith("Would more raters help?"))
    errors = error_dependence(found)
    assert "very large panel of similar raters" in told
    assert "This takes all raters for one kind" in told
    assert not (errors and errors.few and "there are enough" in told)


def test_where_no_panel_settles_it_rules_come_first():
    """Whatever the number of raters, and by percentage points."""
    rng = np.random.default_rng(1)
    own = {c: {r: (rng.random((20, 20)) < 0.5).astype(np.uint8) for r in "ABC"} for c in discs()}
    told = next(step for step in steps(findings(own)) if step.startswith("Would more raters help?"))
    assert "agree on rules first" in told
    assert "less than 1%" not in told
    five = next(step for step in steps(findings(discs())) if step.startswith("Would more raters help?"))
    assert "1 percentage point" in five


def test_alpha_is_told_as_mean_and_pooled():
    found = findings(discs())
    mean, pooled = (found.agreement.agreement.find("krippendorff_alpha", scope) for scope in ("mean", "pooled"))
    told = next(step for step in steps(found) if step.startswith("Krippendorff's alpha is "))
    assert f"{mean.value:.2f} ({mean.low:.2f}–{mean.high:.2f}) on average over cases" in told
    assert f"{pooled.value:.2f} ({pooled.low:.2f}–{pooled.high:.2f}) with all cases pooled" in told
    assert "lower limit of the CI of the mean" in told


def flipped():
    """The last rater's masks were saved upside down."""
    own = {}
    for case, by in discs(3, "ABC").items():
        mask = np.zeros((24, 24), np.uint8)
        mask[2:8, 3:9] = 1
        own[case] = {"A": mask, "B": np.roll(mask, 1, 1), "C": mask[::-1].copy()}
        assert set(by) == set(own[case])
    base = findings(own)
    return replace(
        base, agreement=compute_agreement(base.study, settings=base.settings, plan=MapOptions(measured=True))
    )


def test_masks_the_wrong_way_round_come_first():
    found = flipped()
    assert len(found.agreement.turns) == 3
    section = summary.section(found)
    first = plain_text(section.lead[0])
    assert first.startswith("First of all: in case p01, rater C's mask fits the others' when axis 1 is flipped")
    assert "; in case p02, rater C's" in first
    assert "; and one more." in first
    assert "p03" not in first
    assert "is an outlier" not in lead(section)
    assert not any("rules" in step for step in steps(found))
    assert not any("flipped" in note for note in to_know(found))
    part = raters.section(found)
    assert part is not None
    assert lead(part).startswith("A mask of rater C was probably saved turned or flipped")


def test_nothing_is_no_size():
    section = raters.section(findings(mapped(lambda r, c, m: m * (r != "B"))))
    assert section is not None
    assert "Rater B marked nothing." in lead(section)
    assert "0.00 times" not in lead(section)
    heads = [column.title for column in tables(section)["rater-tendencies"].columns]
    assert tables(section)["rater-tendencies"].rows[1][heads.index("Draws")].shown == "nothing"


@pytest.mark.parametrize("count", [1, 12])
def test_a_habit_takes_several_cases(count):
    wide = mapped(lambda r, c, m: np.kron(m, np.ones((2, 2), np.uint8))[12:36, 12:36] if r in "AB" else m, count)
    text = lead(summary.section(findings(wide)))
    assert "in size: " in text
    assert ("systematically" in text) is (count > 1)
