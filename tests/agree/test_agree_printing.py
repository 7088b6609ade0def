"""What ``agree`` says of few subjects and of masks without marks."""

import io
import re
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import manytruths as mt
from label_studies import three_labels
from manytruths.analyses.agree.agree import Agreement
from manytruths.core.undefined import code_of
from study_folders import disc


def printed(result: Agreement, width: int = 200) -> str:
    text = io.StringIO()
    result.print(Console(file=text, width=width))
    return text.getvalue()


def agreed(subjects: int, **options: int) -> Agreement:
    rng = np.random.default_rng(3)
    cases = {f"p{i:02}": {r: 255 * (rng.random((6, 6)) < 0.4) for r in "ABC"} for i in range(subjects)}
    return mt.agree(mt.Study.from_arrays(cases, **options), pictures=False)


DRAWN = {f"c{i}": {r: disc(40, radius=9 + i % 3 + k) for k, r in enumerate("ABC")} for i in range(4)}


def drawn_agreed(cases: Any = DRAWN) -> Agreement:
    return mt.agree(mt.Study.from_arrays(cases), pictures=False)


def test_few_subjects_have_no_intervals_and_the_reason_is_given():
    text = printed(agreed(4))
    assert "Agreement\n" in text
    assert "with 95% intervals over subjects" not in text
    assert "• no intervals over subjects: they need at least 10, and there are 4" in text


def test_enough_subjects_have_intervals():
    text = printed(agreed(10))
    assert "Agreement, with 95% intervals over subjects" in text
    assert "no intervals" not in text


def test_void_that_takes_away_every_mark_is_noticed():
    notes = agreed(3, void=255).notes
    assert "no rater marked anything in any case; is void=255 the value of the marks?" in notes
    assert not any("marked anything" in note for note in agreed(3).notes)


def test_words_for_kappa_come_with_their_scale_and_an_interval():
    assert "Landis and Koch" not in printed(agreed(4))
    assert "by the scale of Landis and Koch" in " ".join(printed(agreed(12)).split())


def disc(x: float = 20, radius: float = 8) -> np.ndarray:
    rows, columns = np.mgrid[:40, :40]
    return ((columns - x) ** 2 + (rows - 20) ** 2 < radius**2).astype(np.uint8)


def drawn(cases: int = 12, raters: str = "ABC", **options: Any) -> mt.Study:
    """Raters who differ at random; A has no mask of c02, B marked nothing in c03, nobody anything in c04."""
    rng = np.random.default_rng(1)
    masks = {f"c{i:02}": {r: disc(20 + rng.normal(), 8 + rng.normal()) for r in raters} for i in range(cases)}
    del masks["c02"]["A"]
    masks["c03"]["B"] = masks["c03"]["B"] * 0
    masks["c04"] = dict.fromkeys(raters, np.zeros((40, 40), np.uint8))
    return mt.Study.from_arrays(masks, **options)


def test_missing_and_empty_masks_are_said():
    found = mt.agree(drawn(), pictures=False)
    text = " ".join(printed(found).split())
    assert "In 1 of 12 cases (c04) nobody marked anything: overlap and kappa are undefined there." in text
    assert "In 1 of 12 cases (c03) some raters marked nothing where others did" in text
    assert "Not all raters read every case (no mask of A in c02)" in text
    assert "over the eleven cases that all of them read" in text
    assert "Dice distance over the 11 cases that all have, the other columns over each rater's own" in text
    assert "on average over 11 of 12 cases" in found.claims.of("agreement.beyond_chance")[0].text
    assert "on average over 11 of 12 cases" in found.claims.of("agreement.alpha")[0].text


def test_complete_masks_need_no_word():
    claims = agreed(10).claims
    for kind, code in (("agreement.empty", "none_empty"), ("raters.different_cases", "same_cases")):
        assert [(claim.made, code_of(claim.why_not)) for claim in claims.of(kind)] == [(False, code)]


def test_one_subject_is_one():
    assert "• no intervals over subjects: they need at least 10, and there is 1" in printed(agreed(1))


def test_equal_subjects_have_no_intervals_and_the_reason_is_their_spread():
    masks = {"A": np.eye(6, dtype=int), "B": np.tri(6, dtype=int), "C": np.tri(6, k=1, dtype=int)}
    text = printed(mt.agree(mt.Study.from_arrays({f"p{i:02}": masks for i in range(12)}), pictures=False))
    assert "• no intervals over subjects: every subject has the same value" in text
    assert "at least 10" not in text


@pytest.mark.parametrize("width", [50, 80, 100])
def test_numbers_are_shown_in_full_in_a_narrow_terminal(width):
    result = mt.agree(mt.Study.from_arrays(three_labels()), pictures=False)
    text, whole = (_headlines_in(printed(result, w)) for w in (width, 200))
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    intervals = set(re.findall(r"\(0\.\d+–[01]\.\d+\)", whole))
    assert intervals
    assert width < 80 or all(interval in text for interval in intervals)


def _headlines_in(text: str) -> str:
    """The lines of the first table, without its title."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "─" in line)
    return "\n".join(lines[start : next(i for i, line in enumerate(lines) if line.startswith("By label"))])


def test_two_raters_are_compared_with_the_other():
    two = drawn(raters="AB")
    assert "Raters, against the other, pooled" in printed(mt.agree(two, pictures=False))


def test_what_an_empty_mask_does_to_differences_of_size_is_in_their_name():
    assert "relative area difference (2 if one is empty)" in printed(drawn_agreed())


def test_volumes_are_called_volumes():
    depth = {case: {r: np.stack([m] * 4) for r, m in by.items()} for case, by in DRAWN.items()}
    flat, deep = printed(drawn_agreed()), printed(drawn_agreed(depth))
    assert "pooled (area: what the rater marked in all" in flat
    assert re.search(r"kappa +area +Dice distance", flat)
    assert "pooled (volume: what the rater marked in all" in deep
    assert re.search(r"kappa +volume +Dice distance", deep)


def test_pixels_that_differ_in_size_are_called_what_they_are():
    for by, spacings, said in (
        (DRAWN, [(1, 1), (2, 2)], "pixels differ in size between cases: pooled numbers count pixels, not area"),
        (
            {case: {r: np.stack([m] * 4) for r, m in masks.items()} for case, masks in DRAWN.items()},
            [(1, 1, 1), (2, 1, 1)],
            "voxels differ in size between cases: pooled numbers count voxels, not volume",
        ),
    ):
        each = {case: spacings[i % 2] for i, case in enumerate(by)}
        assert said in mt.agree(mt.Study.from_arrays(by, spacing=each), pictures=False).notes


def test_one_mask_in_doubt_is_one_mask():
    y, x = np.mgrid[:60, :60]
    cases = {
        f"p{i}": {r: (np.hypot(y - 28 - i, x - 30 - k) < 14).astype(np.uint8) for k, r in enumerate("ABC")}
        for i in range(4)
    }
    cases["p1"]["B"] = 1 - cases["p1"]["B"]
    assert "First of all (all numbers count this mask as it is):" in printed(drawn_agreed(cases))
    cases["p2"]["B"] = 1 - cases["p2"]["B"]
    assert "First of all (all numbers count these masks as they are):" in printed(drawn_agreed(cases))


def test_macro_means_without_interval_have_a_reason():
    result = mt.agree(mt.Study.from_arrays(three_labels()), pictures=False)
    assert "• macro means have no interval:" in printed(result)
    assert "3 has 3" in printed(result)


def test_one_tolerance_of_all_labels_is_printed_once():
    masks = {f"c{i}": {r: disc(20 + i % 3, 9 + k) + disc(20, 4) for k, r in enumerate("AB")} for i in range(3)}
    text = printed(mt.agree(mt.Study.from_arrays(masks), pictures=False))
    assert "surface Dice at 1 pixel, macro mean" in text


def test_labels_that_are_numbers_are_called_labels():
    text = mt.agree(mt.Study.from_arrays(three_labels()), pictures=False).claims.of("agreement.labels")[0].text
    assert " for label 1, " in text


def test_ratios_near_one_are_not_rounded_to_it():
    """Rater C marks 2% more than the others in every case."""
    rng = np.random.default_rng(2)
    masks = {}
    for i in range(12):
        base = np.zeros((60, 60), np.uint8)
        base[:50] = 1
        masks[f"c{i:02}"] = {}
        for rater, more in (("A", 0), ("B", 0), ("C", 60)):
            mask = base.copy()
            # one pixel is at another place in every case: equal masks of several cases would be taken for copies
            mask.flat[50 * 60 : 50 * 60 + more + int(rng.integers(0, 3))] = 1
            mask[55, 2 * i] = 1
            masks[f"c{i:02}"][rater] = mask
    claim = mt.agree(mt.Study.from_arrays(masks), pictures=False).claims.of("raters.larger").made[0]
    assert re.search(r"1\.0(19|20|21) \(1\.0\d\d–1\.0\d\d\) times", claim.text)


def test_sessions_are_compared_by_means_over_subjects():
    rng = np.random.default_rng(4)
    masks = {f"c{i:02}": {(r, s): disc(20 + rng.normal()) for r in "ABC" for s in ("1", "2")} for i in range(12)}
    text = printed(mt.agree(mt.Study.from_arrays(masks), pictures=False))
    assert "The same rater twice, mean over subjects" in text
    line = next(line for line in text.splitlines() if "A@1 and A@2" in line)
    assert re.search(r"0\.\d+ \(0\.\d+–0\.\d+\).*12\s*$", line)


def test_smyths_bound_is_not_shown_as_its_limit():
    a, b = np.zeros((100, 100), np.uint8), np.zeros((100, 100), np.uint8)
    a.flat[:4000] = 1
    b.flat[2003:4000] = 1
    notes = mt.agree(mt.Study.from_arrays({"p": {"A": a, "B": b}}), pictures=False).notes
    assert any("Smyth's bound is 10.015%, above the recommended limit of 10%" in note for note in notes)
