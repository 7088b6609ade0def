"""Which session counts, what a session lacks, and sessions that are copies are said."""

from __future__ import annotations

import numpy as np
import pytest
from printed import Cases, page, printed, write_masks

from study_folders import disc


def readings() -> Cases:
    """Three raters with one reading of each case, and a second one of rater B."""
    rng = np.random.default_rng(0)
    names = ("A/first", "B/first", "B/again", "C/first")
    return {
        f"p{k:02}": {name: disc(64, *rng.normal(0, 1, 2), radius=16 + rng.normal(0, 1)) for name in names}
        for k in range(10)
    }


def said(folder, cases: Cases) -> tuple[str, str]:
    """By ``agree`` and by the report."""
    template = write_masks(folder / "masks", cases, "{rater}/{session}")
    text = printed("agree", template, "--out", folder, "--no-pictures")
    return text, page(template, folder, "--no-viewer")


@pytest.fixture(scope="module")
def one_reading_short(tmp_path_factory):
    cases = readings()
    del cases["p03"]["B/again"]
    return said(tmp_path_factory.mktemp("short"), cases)


def test_a_reading_that_a_session_lacks_is_said(one_reading_short):
    """Printed before: "There is a mask of every rater for every case."."""
    assert "There is a mask of every rater for every case" not in one_reading_short[1]
    for text in one_reading_short:
        assert "of rater B has no mask of p03" in text


def test_the_session_that_counts_is_named(one_reading_short):
    """Nothing was said before: the first by the alphabet counted, here the second reading."""
    for text in one_reading_short:
        assert "agreement and consensus take session again" in text


@pytest.mark.slow
def test_identical_sessions_are_flagged(tmp_path):
    """Printed before: an intra-rater Dice of 1.00, and no more."""
    cases = readings()
    for masks in cases.values():
        masks["B/again"] = masks["B/first"]
    for text in said(tmp_path, cases):
        assert "rater B's masks of sessions again and first are the same in every pixel" in text
