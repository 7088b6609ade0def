"""Inputs that are fine are taken, advice fits the mistake, and limits are those of what was drawn."""

from __future__ import annotations

import re

import numpy as np
from printed import attempt, page, printed, write_masks

from study_folders import disc, write_npy


def test_reliability_does_not_read_predictions(tmp_path):
    """Before, it stopped at a prediction that cannot be read, though it uses none."""
    rng = np.random.default_rng(0)
    for case in range(3):
        for rater in "ABC":
            write_npy(tmp_path / f"masks/{rater}/p{case}.npy", disc(24, *rng.normal(0, 1, 2)))
        write_npy(tmp_path / f"net/p{case}.npy", disc(24))
        (tmp_path / f"net/p{case}.npy").write_bytes(b"broken")
    (tmp_path / "study.toml").write_text('masks = "masks/{rater}/{case}.npy"\npredictions = "net/{case}.npy"\n')
    assert "σ, genuine agreement" in printed("reliability", tmp_path / "study.toml", "--out", tmp_path)


def test_every_row_of_a_table_without_cases_is_a_case(tmp_path):
    """Refused before, for want of a column "case"."""
    rng = np.random.default_rng(0)
    truth = rng.random(30) < 0.5
    votes = np.stack([truth ^ (rng.random(30) < 0.1) for _ in range(3)], axis=1).astype(int)
    (tmp_path / "ratings.csv").write_text("\n".join(["A,B,C", *(",".join(map(str, row)) for row in votes), ""]))
    text = printed("reliability", tmp_path / "ratings.csv", "--out", tmp_path, "--no-pictures")
    assert "3 raters, 30 cases" in text
    assert "every row is a case" in text


def test_a_mask_that_lacks_a_border_is_to_be_padded(tmp_path):
    """Printed before: "resample one of them", of masks that differ by two pixels of border."""
    masks = {"A": disc(64)[:62, :62], "B": disc(64), "C": disc(64)}
    code, text = attempt("check", write_masks(tmp_path / "masks", {"p1": masks}), "--out", tmp_path)
    assert code == 1
    assert "probably a border was cut off (2 along axis 1 and 2 along axis 2, in pixels)" in text
    assert "resample one of them" not in text


def lines(shift: int, left_out: int | None) -> np.ndarray:
    """Five vessels four pixels wide and twenty apart."""
    mask = np.zeros((120, 120), np.uint8)
    for number, x in enumerate(range(10, 110, 20)):
        if number != left_out:
            mask[10:110, x + shift : x + shift + 4] = 1
    return mask


def test_the_tolerance_of_surface_dice_is_within_the_width_of_vessels(tmp_path):
    """Printed before: a tolerance of 19 pixels, since one of two raters left a vessel out."""
    cases = {f"p{case}": {"A": lines(0, None), "B": lines(1, case)} for case in range(3)}
    masks = write_masks(tmp_path / "masks", cases)
    predictions = write_masks(tmp_path / "net", {case: {"net": by["B"]} for case, by in cases.items()}, "{algorithm}")
    text = printed("evaluate", masks, "--predictions", predictions, "--out", tmp_path, "--no-pictures")
    assert float(re.search(r"surface Dice at a tolerance of ([\d.]+) pixel", text)[1]) <= 2


def test_no_number_exceeds_itself(tmp_path):
    """Printed before: "a mean Dice distance of 0.09 to the others (above 0.09 is an outlier)"."""
    rng = np.random.default_rng(0)
    cases = {
        f"p{case}": {r: disc(48, *rng.normal(0, 0.8, 2), radius=12 + rng.normal(0, 0.4)) for r in "ABCDE"}
        for case in range(4)
    }
    text = page(write_masks(tmp_path / "masks", cases), tmp_path, "--no-viewer", "--consensus", "vote:0.5")
    assert not re.search(r"([\d.]+) to the others \((?:above|more than) \1 ", text)
