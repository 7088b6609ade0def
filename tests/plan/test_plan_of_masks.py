"""Plans from masks: what two raters fit, which subjects count, what is allowed for, and masks that are doubtful."""

from __future__ import annotations

import math

import numpy as np
import pytest

import manytruths as mt
from manytruths import plan_from_pilot
from manytruths.claims.sentences import plain_text

SIZE = 48


def disc(radius, centre=(22, 26), size=SIZE):
    y, x = np.mgrid[:size, :size]
    return (np.hypot(y - centre[0], x - centre[1]) < radius).astype(np.uint8)


def discs(cases=12, raters="ABCD", seed=0):
    """Discs of which every rater draws the border a little otherwise."""
    random = np.random.default_rng(seed)
    return {
        f"p{case:02}": {
            r: disc(9 + case % 4 + random.normal(0, 0.8), (22 + random.normal(), 26 + random.normal())) for r in raters
        }
        for case in range(cases)
    }


def planned(masks, raters=None, subjects=None, **options):
    study = mt.Study.from_arrays(masks, raters=raters, subjects=subjects)
    return mt.plan(pilot=study, resamples=100, **options)


def claim(result, name):
    return next(c for c in result.claims if c.kind.id == name)


# -- exchangeable raters ---------------------------------------------------------------------------


def shuffled(masks, seed):
    """The same masks in other slots, case by case."""
    random = np.random.default_rng(seed)
    return {case: dict(zip(by, random.permutation(list(by.values())), strict=True)) for case, by in masks.items()}


def numbers(table):
    """Every number of a table, by the rest of its row."""
    found = {}
    for row in table.rows:
        for end, value in (("value", row.value), ("low", row.low), ("high", row.high), ("n", row.n)):
            found[row.scope, row.statistic, row.case, row.label, row.extra, end] = value
    return found


def assert_same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        other = two[key]
        same = value == other or (value is not None and other is not None and math.isnan(value) and math.isnan(other))
        assert same or value == pytest.approx(other, abs=1e-9), key


@pytest.fixture(scope="module")
def unequal():
    """Slots of different accuracies, so that pooled slots would matter."""
    masks = discs(12, "0123", seed=1)
    for by in masks.values():
        by["3"] = by["3"] * (np.random.default_rng(0).random((SIZE, SIZE)) < 0.8)
        by["2"] = np.roll(by["2"], 2, axis=0)
    masks["p03"] = {slot: mask for slot, mask in masks["p03"].items() if slot != "1"}
    return masks


def test_no_number_depends_on_the_slots_of_exchangeable_raters(unequal):
    plans = [planned(m, "exchangeable") for m in (unequal, shuffled(unequal, 1))]
    assert_same(*(numbers(result.table) for result in plans))
    studies = [mt.Study.from_arrays(m, raters="exchangeable") for m in (unequal, shuffled(unequal, 1))]
    found = [mt.reliability(study) for study in studies]
    for name in ("mask_reliability", "detection", "lesions"):
        assert_same(*(numbers(result.tables[name]) for result in found))


def test_a_slot_is_nobody(unequal, capsys):
    result = planned(unequal, "exchangeable")
    assert not any(row["rater"] for row in result.table.rows)
    result.print()
    assert "The pilot's raters" not in capsys.readouterr().out
    found = mt.reliability(mt.Study.from_arrays(unequal, raters="exchangeable"))
    assert {(row["found_by"], row["missed_by"]) for row in found.tables["lesions"].rows} == {("", "")}
    found.print()
    assert "found alone" not in capsys.readouterr().out
    with pytest.raises(mt.CallError, match="a column is not a person"):
        mt.reliability(mt.Study.from_arrays(unequal, raters="exchangeable"), accuracy=dict.fromkeys("0123", 0.9))


# -- two raters ------------------------------------------------------------------------------------


def test_two_raters_by_what_they_marked_and_with_allowance():
    result = planned(discs(12, "AB"))
    two = next(topic.pilot for topic in result.topics).panels[1]
    alike = 1 - two.tied.value
    # what both marked may be what a minority would mark as far as ties allow; a tie counts half
    assert two.as_observed.low == pytest.approx(alike, abs=1e-3)
    assert two.as_observed.high == pytest.approx(alike + two.tied.value / 2, abs=1e-3)
    assert two.accuracy.low < two.as_observed.low < two.as_observed.high < two.accuracy.high <= 1
    text = claim(result, "plan.more_raters").text
    assert f"who differ on {two.tied.value:.0%} of the pixels that any rater marked" in text
    assert f"in {two.as_observed.low:.0%} to {two.as_observed.high:.0%} of them" in text
    assert ("nothing is excluded" in text) == two.excludes_nothing
    assert "if any two raters differ as often as these" in claim(result, "plan.third_rater").text


def test_no_range_goes_beyond_what_is_possible():
    for raters in ("AB", "ABCD"):
        for row in planned(discs(12, raters)).table.rows:
            if row.statistic.startswith("majority_accuracy"):
                assert 0 <= row.low <= row.high <= 1


def test_two_raters_get_a_band_and_no_line():
    assert "<circle" not in planned(discs(12, "AB")).charts["pilot"]
    assert "<circle" in planned(discs(12, "ABC")).charts["pilot"]


def test_three_raters_have_no_range_without_allowance():
    result = planned(discs(12, "ABC"))
    assert not any(row.statistic.endswith("_as_observed") for row in result.table.rows)


# -- which subjects count --------------------------------------------------------------------------


def test_only_subjects_with_marks_that_all_raters_read_count():
    masks = discs(14)
    for case in ("p00", "p01"):
        del masks[case]["D"]
    for case in ("p02", "p03", "p04"):
        masks[case] = {r: m * 0 for r, m in masks[case].items()}
    result = planned(masks, gain=0.2)
    assert {row.n for row in result.table.rows if row.statistic == "majority_accuracy"} == {9}
    refused = claim(result, "plan.enough_raters")
    assert refused.why_not is not None
    assert refused.why_not.code == "too_few_for_verdict"
    assert "nine cases and four raters" in str(refused.why_not)
    assert any(note.endswith("pixels of 9 cases") for note in result.notes)


def test_a_subject_without_marks_does_not_make_the_range_narrower():
    masks = discs(4)
    more = masks | {f"e{i}": {r: disc(0) for r in "ABCD"} for i in range(6)}
    few, many = (plan_from_pilot(mt.Study.from_arrays(m).tally()).worst.now.accuracy for m in (masks, more))
    assert (many.low, many.high) == pytest.approx((few.low, few.high), abs=2e-3)


# -- allowance -------------------------------------------------------------------------------------


def test_what_is_allowed_for():
    masks = discs(12)
    patients = {case: f"s{i // 2}" for i, case in enumerate(masks)}
    assert planned(masks).allowance == "for cases and raters"
    assert planned(masks, subjects=patients).allowance == "for patients and raters"
    assert planned(masks, "exchangeable", patients).allowance == "for patients"
    one = planned({"p00": masks["p00"]})
    assert one.allowance == "for raters"
    assert any("with allowance for raters;" in note for note in one.notes)
    assert planned({"p00": masks["p00"]}, "exchangeable").allowance == ""
    assert mt.plan(rater_accuracy=0.9).allowance == ""


# -- words that follow from the ranges -------------------------------------------------------------


def test_one_image_is_called_so():
    text = claim(planned({"p00": discs(1)["p00"]}), "plan.more_raters").text
    assert "of the pixels that any rater marked in this image" in text
    assert "in this image" not in claim(planned(discs(3)), "plan.more_raters").text


@pytest.mark.slow
def test_equal_ranges_are_told_by_the_gain():
    masks = discs(20, "ABCDEFGHIJKLM", seed=2)
    result = planned(masks)
    said = claim(result, "plan.more_raters")
    panels = next(topic.pilot for topic in result.topics).panels
    here, there = (f"{panels[k - 1].accuracy.low:.0%} to {panels[k - 1].accuracy.high:.0%}" for k in (13, 15))
    assert ("two more raters would add" in said.text) == (here == there)
    assert ("that of 15 in" in said.text) == (here != there)


@pytest.mark.parametrize("gain", [None, 0.3])
def test_a_wide_gain_that_holds_nothing_is_not_known(gain):
    result = planned(discs(3, "ABC"), gain=gain)
    now = next(topic.pilot for topic in result.topics).panels[2]
    open_ = now.gain.low < 0.0005 and now.gain.high >= 0.05 and not (gain and now.gain.high < gain)
    assert ("cannot be told from this pilot" in claim(result, "plan.more_raters").text) == open_


def test_claims_hold_the_ends_of_their_ranges():
    result = planned(discs(12))
    four = next(topic.pilot for topic in result.topics).panels[3].accuracy
    row = next(dict(zip(t.header, r, strict=True)) for t in [result.claims.table()] for r in t.records())
    assert f"majority_accuracy={four.value!r} ({four.low!r} to {four.high!r})" in row["numbers"]


def test_without_a_margin_no_margin_is_named():
    assert claim(planned(discs(3)), "plan.enough_raters").text.endswith("less than ….")


def test_a_label_is_called_label():
    random = np.random.default_rng(3)
    masks = {f"p{i}": {r: disc(15 + random.normal(0, 1)) + disc(8 + random.normal()) for r in "ABC"} for i in range(5)}
    said = claim(planned(masks), "plan.more_raters")
    assert "Of two labels, this is about label " in said.text
    assert "Of two labels, this was about label " in plain_text(said.result)
    assert ", whose range was the lowest." in plain_text(said.result)


# -- doubtful masks --------------------------------------------------------------------------------


def spoiled(kind):
    masks = discs(12)
    if kind == "inverted":
        masks["p05"]["C"] = 1 - masks["p05"]["C"]
    elif kind == "lost":
        masks["p07"]["C"] = masks["p07"]["C"] * 0
    elif kind == "copied":
        for by in masks.values():
            by["C"] = by["A"].copy()
    return masks


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("sound", None),
        ("inverted", "some masks are probably broken"),
        ("lost", "some masks may be lost"),
        ("copied", "some masks look like copies"),
    ],
)
def test_nothing_is_said_of_masks_that_are_doubtful(kind, why):
    result = planned(spoiled(kind))
    said = claim(result, "plan.more_raters")
    assert (said.why_not and str(said.why_not)) == why
    assert any("nothing is said about more raters" in note for note in result.notes) == (why is not None)
    if why is not None:
        assert said.why_not.code == "masks_doubtful"


@pytest.mark.parametrize("change", [lambda m: m.copy(), lambda m: 1 - m])
def test_a_second_session_does_not_make_the_first_doubtful(change):
    masks = {
        case: {(r, "1"): m for r, m in by.items()} | {("A", "2"): change(by["A"])}
        for case, by in discs(12, "ABC").items()
    }
    assert mt.agree(mt.Study.from_arrays(masks), pictures=False).suspicions
    assert claim(planned(masks), "plan.more_raters").made
