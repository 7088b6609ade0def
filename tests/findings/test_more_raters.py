"""Would more raters help? A range that holds what a large panel says, and no value that two raters cannot give."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import Cases, page, printed, write_masks

from manytruths.simulate.phantoms import generator, smooth_noise
from study_folders import table

CASES, PANEL, SIZE = 12, 101, 64


@pytest.fixture(scope="module")
def panel() -> Cases:
    """A large panel: a smooth structure, seen by each with errors of their own, and cut at a threshold of their own."""
    thresholds = np.random.default_rng(0).normal(0, 0.1, 5 + PANEL)
    cases: Cases = {}
    for name in (f"p{number:02}" for number in range(CASES)):
        structure = smooth_noise(generator(0, name), SIZE, SIZE / 8)
        cut = np.quantile(structure, 0.8)
        cases[name] = {
            f"R{j:03}": structure + 0.5 * smooth_noise(generator(0, name, str(j)), SIZE, SIZE / 24) > cut + threshold
            for j, threshold in enumerate(thresholds)
        }
    return cases


def first(panel: Cases, raters: int) -> Cases:
    return {case: dict(list(masks.items())[:raters]) for case, masks in panel.items()}


def decided_as_most(panel: Cases, raters: int) -> float:
    """In which share of the pixels that any of the first raters marked their majority is that of the others."""
    right = []
    for masks in panel.values():
        stack = np.stack(list(masks.values()))
        few, many = stack[:raters], stack[5:]
        votes = few.mean(axis=0)
        right.append(np.where(votes == 0.5, 0.5, (votes > 0.5) == (many.mean(axis=0) > 0.5))[few.any(axis=0)])
    return float(np.concatenate(right).mean())


def share_of(text: str) -> tuple[float, float]:
    """The limits of the share of pixels that the first sentence names, whatever they are called."""
    low, high = re.search(r"in [^.;]*?(\d+)% (?:to|and) (\d+)%", text.split("Would more raters help?")[1]).groups()
    return int(low) / 100, int(high) / 100


@pytest.fixture(scope="module")
def planned(panel, tmp_path_factory):
    """What ``plan`` prints of a pilot of so many raters, and the majorities of its table."""
    runs = {}
    for raters in (2, 5):
        folder = tmp_path_factory.mktemp("plan")
        template = write_masks(folder / "masks", first(panel, raters))
        text = printed("plan", "--pilot", template, "--out", folder, "--no-pictures")
        rows = [r for r in table(folder / "plan/plan.csv") if r["statistic"] == "majority_accuracy"]
        runs[raters] = text, {int(r["raters"]): r for r in rows}
    return runs


@pytest.mark.parametrize("raters", [2, 5])
def test_the_range_of_the_plan_holds_what_the_panel_says(panel, planned, raters):
    """Before, 0.785 (0.771–0.798) of five raters, where 0.831 is true, and 0.739 (0.726–0.751) of two (0.656)."""
    row = planned[raters][1][raters]
    assert float(row["low"]) < decided_as_most(panel, raters) < float(row["high"])


@pytest.mark.slow
def test_the_range_of_the_report_holds_what_the_panel_says(panel, tmp_path):
    """Printed before: "in 79% (95% CI 77% to 80%) of the pixels", where 83% is true."""
    low, high = share_of(page(write_masks(tmp_path / "masks", first(panel, 5)), tmp_path))
    assert low < decided_as_most(panel, 5) < high
    assert high - low < 0.5


def test_two_raters_give_no_value_for_larger_panels(planned):
    """Printed before: 13 raters "in 0.970 (0.960–0.976)", from a correlation that is 0.000 of any two raters."""
    text, rows = planned[2]
    for raters, row in rows.items():
        assert row["value"] == "nan", raters
        assert float(row["high"]) - float(row["low"]) > 0.5
    assert "correlation of 0.000" not in text
    assert "take these" not in text


def test_two_raters_are_told_what_a_third_would_add(planned):
    """Nothing of the kind was printed before."""
    assert re.search(
        r"A third rater would add [\d.−]+ to [\d.]+ percentage points to the share of the pixels", planned[2][0]
    )


def test_pixels_are_not_called_cases(planned):
    """Printed before: "in 0.849 of the cases", and 15,969 "cases" where there are twelve."""
    for text, _ in planned.values():
        assert "of the pixels that any rater marked" in text
        assert "of the cases" not in text
        assert "accuracy cases" not in text
