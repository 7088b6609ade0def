"""An algorithm gets no place among raters from the worst of them, nor from a handful of cases."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from printed import Cases, page, printed, write_masks

from study_folders import disc

CASES = 12
PLACES = re.compile(r"among the raters|than every rater|than any of them|human range")
"""Words that say where an algorithm stands in the range of the raters."""


def five_raters(count: int) -> Cases:
    """Four who draw alike, and a careless fifth."""
    rng = np.random.default_rng(0)
    return {f"p{i:02}": {r: shifted(rng, 7 if r == "E" else 1) for r in "ABCDE"} for i in range(count)}


def scattered_raters(count: int) -> Cases:
    """Five who lie around the middle."""
    angles = dict(zip("ABCDE", 2 * np.pi * np.arange(5) / 5, strict=True))
    masks = {r: disc(36, x=5 * np.cos(angle), y=5 * np.sin(angle), radius=8) for r, angle in angles.items()}
    return {f"p{i:02}": masks for i in range(count)}


def shifted(rng: np.random.Generator, most: int) -> np.ndarray:
    x, y = rng.integers(-most, most + 1, 2)
    return disc(36, x=x, y=y, radius=8)


def poor_algorithm(count: int) -> Cases:
    rng = np.random.default_rng(1)
    return {f"p{i:02}": {"net": shifted(rng, 5)} for i in range(count)}


def perfect_algorithm(count: int) -> Cases:
    """In the middle of all raters."""
    return {f"p{i:02}": {"net": disc(36, radius=8)} for i in range(count)}


def everything_said(folder, masks: Cases, predictions: Cases) -> str:
    """By ``evaluate`` and the report."""
    template = write_masks(folder / "masks", masks)
    judged = ("--predictions", write_masks(folder / "predictions", predictions, "{algorithm}"))
    text = printed("evaluate", template, *judged, "--out", folder, "--no-pictures")
    return text + page(template, folder, *judged)


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def differences(masks: Cases, net: Cases, rater: str) -> list[float]:
    """By how much the algorithm agrees more with the other raters than a rater does, case by case."""
    return [
        float(np.mean([dice(net[case]["net"], by[o]) - dice(by[rater], by[o]) for o in "ABCDE" if o != rater]))
        for case, by in masks.items()
    ]


@pytest.fixture(scope="module")
def beside_a_careless_rater(tmp_path_factory):
    return everything_said(tmp_path_factory.mktemp("careless"), five_raters(CASES), poor_algorithm(CASES))


@pytest.mark.slow
def test_a_careless_rater_makes_no_place_for_an_algorithm(beside_a_careless_rater):
    """Printed before: "among the raters", by every measure but one without a doubt."""
    masks, net = five_raters(CASES), poor_algorithm(CASES)
    apart = {rater: differences(masks, net, rater) for rater in "ABCDE"}
    errors = {rater: np.std(each, ddof=1) / np.sqrt(CASES) for rater, each in apart.items()}
    assert np.mean(apart["E"]) > 0, "better than the careless one"
    assert all(np.mean(apart[rater]) < -3 * errors[rater] for rater in "ABCD"), "worse than all others"
    assert not PLACES.search(beside_a_careless_rater)


@pytest.mark.slow
def test_the_distance_to_the_raters_is_beside_that_between_them(beside_a_careless_rater):
    """Printed now: γ with its interval, and the smallest margin, and γ without the careless rater."""
    masks, net = five_raters(CASES), poor_algorithm(CASES)
    gamma = np.mean([
        np.mean([dice(x, y) for x, y in combinations(by.values(), 2)])
        - np.mean([dice(net[case]["net"], x) for x in by.values()])
        for case, by in masks.items()
    ])  # fmt: skip
    said = re.search(r"difference γ of ([\d.]+) \(95% CI ([\d.]+) to ([\d.]+)\)", beside_a_careless_rater)
    assert [float(said[1]), float(said[2]) < gamma < float(said[3])] == [pytest.approx(gamma, abs=0.001), True]
    smallest = re.search(r"interchangeability is (\d\.\d+) \(upper end at 99%\)", beside_a_careless_rater)
    assert float(smallest[1]) > float(said[3]), "the upper end at 99%"
    assert "without E" in beside_a_careless_rater


@pytest.mark.slow
def test_two_cases_make_nothing_better(tmp_path):
    """Printed before: "better than every rater (too few for intervals)"."""
    assert not PLACES.search(everything_said(tmp_path, scattered_raters(2), perfect_algorithm(2)))
