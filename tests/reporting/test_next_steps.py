"""What is worth doing next, and what is said of raters whose masks are doubtful."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from small_findings import discs, findings, lead, mapped, steps, tables, to_know

from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions
from manytruths.claims.sentences import plain_text
from manytruths.reporting.sections import agreement, complexity, raters, summary
from manytruths.reporting.sections.cases import section as case_section


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
    assert any(step.startswith("Raters A and C gave the same label") for step in steps(found)), "their masks are equal"
    assert not any(step.startswith("Most raters") for step in steps(found))
    assert "No rater" not in lead(summary.section(found))


def test_where_little_is_marked_background_is_why():
    own = {case: {r: np.pad(m, 40) for r, m in by.items()} for case, by in discs().items()}
    told = next(step for step in steps(findings(own)) if step.startswith("Do not quote percent agreement alone"))
    assert "because most pixels are background that nobody marks" in told


def test_copies_are_asked_about_and_not_counted_on():
    """Of three raters one is a copy: more raters and reliability are not promised."""
    own = {case: {"A": by["A"], "B": by["B"], "C": by["A"]} for case, by in discs(12, "ABC").items()}
    found = findings(own)
    text = steps(found)
    assert any(step.startswith("Raters A and C gave the same label to 100.0% of the pixels") for step in text)
    assert any(step.startswith("Ask whether they worked alone") for step in text)
    assert "outlier" not in lead(summary.section(found)), "beside copies everybody else seems far off"
    assert not any(step.startswith("Would more raters help?") for step in text)
    assert not any("the marks are reliable enough" in step for step in text)


def test_more_raters_are_a_range_and_never_enough_without_a_margin():
    told = next(step for step in steps(findings(discs())) if step.startswith("Would more raters help?"))
    assert re.search(r"The majority of five agrees with that of a very large panel in \d+% to \d+% of the pixels that "
                     r"any rater marked; (that of eleven in \d+% to \d+%|two more raters would add)", told)  # fmt: skip
    assert "a mistake that most share is not seen" in told
    assert not any("enough" in step for step in steps(findings(discs())) if "raters" in step)


def test_two_raters_leave_it_open():
    said = steps(findings(discs(12, "AB")))
    told = next(step for step in said if step.startswith("Would more raters help?"))
    assert "For these two raters, who differ on" in told
    assert any(step.startswith("A third rater would add") for step in said)


def test_two_raters_of_most_cases_are_not_these_two_raters():
    """Printed before: "For these two raters", of a study of three, one of whom had read a single case."""
    cases = discs(12, "ABC")
    for case in list(cases)[1:]:
        del cases[case]["C"]
    said = steps(findings(cases))
    told = next(step for step in said if step.startswith("Would more raters help?"))
    assert "For two of these raters, who differ on" in told
    assert any(step.startswith("A third rater of every case would add") for step in said)


def test_krippendorffs_rule_is_that_of_agree():
    found = findings(discs())
    mean = found.agreement.agreement.find("krippendorff_alpha", "mean")
    told = [step for step in steps(found) if step.startswith("Krippendorff asks for")]
    made = [claim for claim in found.agreement.claims.made if claim.text in told]
    assert len(told) == len(made) == 1
    kinds = {
        "agreement.reliable": mean.low >= 0.8,
        "agreement.tentative": 0.667 <= mean.low < 0.8,
        "agreement.unreliable": mean.high < 0.667,
        "agreement.undecided": mean.low < 0.667 <= mean.high,
    }
    assert kinds[made[0].kind.id]


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
    assert len(found.agreement.suspicions) == 3
    section = summary.section(found)
    many, which, last = map(plain_text, section.lead[:3])
    assert many.startswith(
        "First of all: 3 of 3 masks of rater C are probably broken (3 turned): look at the masks of C"
    )
    assert which.startswith("In case p01, rater C's mask fits the others' when axis 1 is flipped")
    assert which.endswith("; likewise in p02 and p03 (numbers in masks.csv).")
    assert last.startswith("All numbers count these masks as they are: correct them")
    assert "is an outlier" not in lead(section)
    assert not any("rules" in step for step in steps(found))
    assert not any("flipped" in note for note in to_know(found))
    part = raters.section(found)
    assert part is not None
    assert lead(part).startswith("Three masks of rater C are probably broken (p01, p02 and p03): see In short.")


def test_nothing_is_no_size():
    section = raters.section(findings(mapped(lambda r, c, m: m * (r != "B"))))
    assert section is not None
    assert "Rater B marked nothing." in lead(section)
    assert "0.00 times" not in lead(section)
    heads = [column.title for column in tables(section)["rater-tendencies"].columns]
    row = tables(section)["rater-tendencies"].rows[1]
    assert row[heads.index("Draws")].shown == "not tested"
    assert row[heads.index("Relative size")].shown == "–"


@pytest.mark.parametrize("count", [1, 9, 12])
def test_a_habit_takes_several_cases(count):
    wide = mapped(lambda r, c, m: np.kron(m, np.ones((2, 2), np.uint8))[12:36, 12:36] if r in "A" else m, count)
    for number, masks in enumerate(wide.values()):
        masks["A"][0, number] ^= 1  # equal masks of several cases would be taken for copies
    text = lead(summary.section(findings(wide)))
    assert ("Rater A draws larger than all the other raters: " in text) is (count == 12)
    assert "systematically" not in text


def test_only_cases_clearly_below_the_others_are_to_be_looked_at():
    """Of three cases with a kappa at most one, and none where they hardly differ."""
    cases = dict(list(discs().items())[:4])
    _, second, _, fourth = cases
    cases[fourth] = {r: m * 0 for r, m in cases[fourth].items()}
    assert not any(step.startswith("Look again") for step in steps(findings(cases)))
    cases[second] = {r: np.roll(m, 9 * i, axis=1) for i, (r, m) in enumerate(cases[second].items())}
    told = [step for step in steps(findings(cases)) if step.startswith("Look again")]
    assert told == [f"Look again at {second}: the raters agree least there. Click a name to see who drew what."]
    slots = {case: list(by.values()) for case, by in cases.items()}
    told = [step for step in steps(findings(slots, raters="exchangeable")) if step.startswith("Look again")]
    assert told == [f"Look again at {second}: the raters agree least there. Click a name to see the masks."]


# -- several labels ----------------------------------------------------------------------------------


def two_labels():
    """A large label, of which D draws more in every case, and a small one that C leaves out of p04."""
    y, x = np.mgrid[:60, :60]
    rng, cases = np.random.default_rng(2), {}
    for number in range(1, 13):
        case = cases[f"p{number:02}"] = {}
        for rater in "ABCD":
            radius = 14 + 0.3 * rng.standard_normal() + 2 * (rater == "D")
            mask = ((y - 30) ** 2 + (x - 36) ** 2 < radius**2).astype(np.uint8)
            if not (rater == "C" and number == 4):
                mask[4 + rng.integers(0, 2) : 10, 4 + rng.integers(0, 2) : 10] = 2
            # one pixel is at another place in every case: equal masks of several cases would be taken for copies
            mask[36, 20 + number] = 0
            case[rater] = mask
    return findings(cases, ("plurality", "staple"))


def test_of_several_labels_the_case_with_the_lowest_mean_dice_comes_first():
    """The label that a rater left out is small, and hardly changes kappa over all labels and background."""
    found = two_labels()
    first, *_ = tables(summary.section(found))["disputed-cases"].rows
    assert first[0].shown == "p04"
    assert first[-1].shown.startswith("C marked no label 2; label 2 overlaps least (Dice 0.")
    assert tables(case_section(found))["cases"].rows[0][0].shown == "p04"
    told = steps(found)
    assert any(step.startswith("Look again at p04: ") for step in told)
    assert any(step.startswith("In one case (p04) some raters marked label 2 and others did not") for step in told)


def test_advice_on_borders_names_the_label_the_direction_and_the_size():
    [told] = [step for step in steps(two_labels()) if step.startswith("Agree on where labels end")]
    assert re.search(r": rater D draws label 1 larger \(1\.\d\d .* times the size\) than most of the others\.$", told)
    assert "smaller" not in told


def test_differences_of_size_below_one_percent_are_no_reason_to_agree_on_anything():
    """A and C mark two pixels more of some 600 than B and D, in every case."""
    cases = {}
    for number in range(1, 13):
        case = cases[f"p{number:02}"] = {}
        for rater in "ABCD":
            mask = np.full((60, 60), 2, np.uint8)
            mask[:10] = 1
            mask[59, : 10 + (rater == "D")] = 0
            mask[10, number : number + 4] = 1 + "ABCD".index(rater) % 2
            mask[57, 20 + number] = 0
            case[rater] = mask
    found = findings(cases, ("plurality", "staple"))
    assert found.agreement.claims.of("raters.larger").made
    assert not any(step.startswith("Agree on where") for step in steps(found))


def test_of_several_labels_complexity_is_that_of_each_label():
    found = two_labels()
    told = complexity.section(found)
    assert "Complexity was computed for each label against the rest" in lead(told)
    assert "No case has a complexity" not in lead(told)
    assert set(tables(told)) == {"complexity-by-label"}
    assert "Entropy" not in [column.title for column in tables(case_section(found))["cases"].columns]
    assert "krippendorff_alpha_ordinal" in {row.statistic for row in found.agreement.agreement.rows}
    titles = [row[0].shown for row in tables(agreement.section(found))["agreement"].rows]
    assert not [title for title in titles if "labels in order" in title or "labels as numbers" in title]
