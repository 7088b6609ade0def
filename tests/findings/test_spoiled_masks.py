"""``check`` finds masks that are broken, with the evidence and the option to leave them out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import Cases, attempt, page, printed, write_masks

from mask_mistakes import MISTAKES, move

SIZE = 96
SHAPE = (SIZE, SIZE)


def lesions(labels: int = 1, count: int = 8) -> Cases:
    """Four raters who draw the same lesion of no symmetry in each case, with small errors."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    cases: Cases = {}
    for case in range(count):
        y, x = rng.uniform(30, 66, 2)
        long, narrow, turn = rng.uniform(16, 22), rng.uniform(7, 11), rng.uniform(0, np.pi)
        masks = {}
        for rater in "ABCD":
            dy, dx = rows - y - rng.normal(0, 0.6), columns - x - rng.normal(0, 0.6)
            along, across = dy * np.cos(turn) + dx * np.sin(turn), dx * np.cos(turn) - dy * np.sin(turn)
            grown = rng.lognormal(0, 0.03)
            body = (along / long) ** 2 + (across / narrow) ** 2 < grown
            arm = ((along - long * 0.5) / 5) ** 2 + ((across - narrow) / 14) ** 2 < grown
            mask = (body | arm).astype(np.uint8)
            if labels > 1:
                mask[mask.astype(bool) & (along > long / 4)] = 2
            masks[rater] = mask
        cases[f"p{case}"] = masks
    return cases


def check(folder, cases: Cases) -> str:
    return attempt("check", write_masks(folder / "masks", cases), "--out", folder)[1]


SPOILT = {
    "all_marked": "rater B's mask marks 100% of the image",
    "inverted": "rater B's mask fits the others' when inverted",
    "turned": "rater B's mask fits the others' when",
    "shifted": "rater B's mask fits the others' when it is moved by",
    "scaled": "rater B's mask fits the others' when it is scaled by",
    "speckle": "single pixels",
    "pinholes": "holes of one pixel",
    "missing_marks": "rater B marked nothing, where the others marked",
}


@pytest.mark.parametrize("mistake", SPOILT)
def test_a_spoilt_mask_is_named_with_how_to_leave_it_out(tmp_path, mistake):
    """Printed before: "0 errors, 0 warnings", or not what is the matter."""
    cases = lesions()
    cases["p2"]["B"] = MISTAKES[mistake](cases["p2"]["B"], np.random.default_rng(3))
    text = check(tmp_path, cases)
    assert SPOILT[mistake] in text
    assert "--exclude B=p2" in text


def test_a_rater_whose_masks_are_shifted_by_a_constant(tmp_path):
    """Nothing was said before."""
    cases = lesions()
    for masks in cases.values():
        masks["B"] = move(masks["B"], {0: 4, 1: -3})
    assert "rater B's masks lie beside the others' in the same direction in 8 of 8 cases" in check(tmp_path, cases)


def test_the_masks_of_two_cases_that_were_exchanged(tmp_path):
    """Nothing was said before."""
    cases = lesions()
    cases["p0"]["B"], cases["p3"]["B"] = cases["p3"]["B"], cases["p0"]["B"]
    text = check(tmp_path, cases)
    assert "rater B's mask does not fit the others' (Dice 0.00), but fits those of case p3" in text
    assert "--exclude B=p0 --exclude B=p3" in text


def test_identical_masks_of_two_raters(tmp_path):
    """Nothing was said before."""
    cases = lesions()
    for masks in cases.values():
        masks["C"] = masks["B"]
    assert "the masks of raters B and C are the same in every pixel" in check(tmp_path, cases)


def test_identical_masks_of_two_cases(tmp_path):
    """Nothing was said before."""
    cases = lesions()
    tangle = np.zeros(SHAPE, np.uint8)
    tangle[4:90:4, 8:88] = 1
    for masks in cases.values():
        for rater in masks:
            masks[rater] = masks[rater] | np.roll(tangle, "ABCD".index(rater) % 2, axis=1)
    cases["p5"]["B"] = cases["p2"]["B"]
    text = check(tmp_path, cases)
    assert "is the same in every pixel as that of rater B in case" in text


def test_identical_masks_of_two_sessions(tmp_path):
    """Nothing was said before."""
    cases = {
        case: {**{f"{rater}/1": mask for rater, mask in masks.items()}, "B/2": masks["B"]}
        for case, masks in lesions().items()
    }
    text = printed("check", write_masks(tmp_path / "masks", cases, "{rater}/{session}"), "--out", tmp_path)
    assert "rater B's masks of sessions 1 and 2 are the same in every pixel" in text


def test_labels_that_are_numbered_otherwise(tmp_path):
    """Nothing was said before."""
    cases = lesions(labels=2)
    for masks in cases.values():
        masks["B"] = MISTAKES["other_labels"](masks["B"], None)
    text = check(tmp_path, cases)
    assert "rater B's labels fit the others' with" in text
    assert "numbered otherwise" in text


@pytest.mark.slow
def test_a_rater_of_filled_masks_does_not_draw_larger(tmp_path):
    """Printed before: "rater B draws larger, 11.16 times the area of the others", and nothing of the masks."""
    filled = {case: {**masks, "B": np.ones(SHAPE, np.uint8)} for case, masks in lesions(count=12).items()}
    template = write_masks(tmp_path / "masks", filled)
    terminal = printed("agree", template, "--out", tmp_path, "--no-pictures")
    for text in (terminal, page(template, tmp_path, "--no-viewer", "--consensus", "vote:0.5")):
        assert "rater B's mask marks 100% of the image" in text
        assert not re.search(r"[Rr]ater B draws larger", text)
