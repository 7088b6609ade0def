"""Complexity is not called agreement: groups are named by what was measured, beside the raters' overlap."""

from __future__ import annotations

import re

from study_folders import table


def test_groups_of_cases_are_named_by_what_was_measured(demo_fused):
    """Printed before: "strong disagreement" of cases with a mean Dice of 0.67, and "agreement" of those with 0.63."""
    text = demo_fused.partition("Complexity of the cases")[2].partition("•")[0]
    assert len(re.findall(r" [ABC]: ", text)) == 3
    assert "agreement" not in text
    assert "mean" in text


def test_the_overlap_of_the_same_cases_stands_beside_the_groups(demo, demo_fused):
    """No overlap was printed before; by Dice the names of the groups were reversed."""
    rows = {r["statistic"] for r in table(demo.folder / "fuse/complexity.csv") if r["scope"] == "mean"}
    assert "dice" in rows
    head = demo_fused.partition("Complexity of the cases")[2].partition("─")[0]
    assert head.split()[-1] == "Dice"


def test_esm_is_not_called_difficulty_or_disagreement(demo_page):
    """Printed before: "ESM is both in one number: high is hard", and "Hardest: p21, p01 and p13"."""
    assert "high is hard" not in demo_page
    assert "Hardest" not in demo_page
    assert "It is not a measure of agreement" in demo_page
    assert "the rank correlation of ESM with the mean Dice of two raters is" in demo_page
