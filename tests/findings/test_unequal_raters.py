"""Raters are compared on cases that they share, raters apart are not compared, and two schools are described."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import Cases, page, printed, write_masks

from study_folders import disc, table

NAMES = {"A": 300.0, "B": 300.0, "C": 300.0, "D": 300.0}


def discs(pixels: dict[str, float], count: int = 12, noise: float = 0.1, prefix: str = "p") -> Cases:
    """A disc a case, anywhere in the image, of a size that depends on the rater."""
    rng = np.random.default_rng(0)
    cases: Cases = {}
    for number in range(count):
        place, scale = rng.uniform(-8, 8, 2), rng.lognormal(0, 0.2)
        cases[f"{prefix}{number:02}"] = {
            r: disc(
                72, *(place + rng.normal(0, 0.7, 2)), radius=np.sqrt(size * scale * rng.lognormal(0, noise) / np.pi)
            )
            for r, size in pixels.items()
        }
    return cases


def skipped_the_hard_cases() -> Cases:
    """Four equal raters; of three cases in which nobody agrees, D read none."""
    cases, rng = discs(NAMES, noise=0.2), np.random.default_rng(1)
    for number in range(3):
        cases[f"q{number}"] = {r: disc(72, *rng.normal(0, 6, 2), radius=10) for r in "ABC"}
    return cases


def apart() -> Cases:
    """D and E read other cases than A, B and C."""
    return discs(dict.fromkeys("ABC", 300.0)) | discs(dict.fromkeys("DE", 900.0), prefix="q")


def two_schools() -> Cases:
    """A and C draw 300 pixels where B and D draw 1,300."""
    return discs({"A": 300, "B": 1300, "C": 300, "D": 1300})


STUDIES = {"skipped": skipped_the_hard_cases, "apart": apart, "schools": two_schools}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What ``agree`` and the report say of each study, and the distances of ``raters.csv``."""
    found = {}
    for name, make in STUDIES.items():
        folder = tmp_path_factory.mktemp(name)
        template = write_masks(folder / "masks", make())
        terminal = printed("agree", template, "--out", folder, "--no-pictures")
        rows = [r for r in table(folder / "agree/raters.csv") if r["statistic"] == "mean_difference" and r["rater"]]
        distances = {row["rater"]: float(row["value"]) for row in rows}
        found[name] = terminal, page(template, folder, "--no-viewer"), distances
    return found


def test_who_skipped_the_hard_cases_is_compared_on_the_others(said):
    """Before, D was nearest to the others by far, at 0.12 where the others were at 0.16 and more."""
    *texts, distances = said["skipped"]
    easy = [masks for case, masks in skipped_the_hard_cases().items() if case.startswith("p")]
    for rater in "ABCD":
        others = [other for other in "ABCD" if other != rater]
        pooled = [
            2 * sum((m[rater] & m[o]).sum() for m in easy) / sum(m[rater].sum() + m[o].sum() for m in easy)
            for o in others
        ]
        assert distances[rater] == pytest.approx(1 - np.mean(pooled)), rater
    for text in texts:
        assert "over the twelve cases that all of them read" in text


def test_raters_who_share_no_case_are_flagged_and_not_called_outliers(said):
    """Printed before: "Rater C is an outlier", of five raters in two parts, and no word of the parts."""
    for text in said["apart"][:2]:
        assert "Raters D and E share no case with the other raters" in text
        assert "Two raters of the same case overlap by" in text
        assert "reliable enough for conclusions" not in text
    assert "outlier" not in said["apart"][0]
    assert "is an outlier" not in said["apart"][1]


def test_two_schools_of_raters_are_described(said):
    """Printed before: "No rater is an outlier", and each rater's size beside the mean of the others."""
    for text in said["schools"][:2]:
        group = re.search(r"fall into two groups, one of B and D and one of A and C", text)
        ratio = re.search(r"the first group draws ([\d.]+) \((?:95% CI )?([\d.]+)(?:–| to )([\d.]+)\)", text)
        assert group is not None
        assert float(ratio[2]) < 1300 / 300 < float(ratio[3])
        assert "probably broken" not in text
