"""``agree`` and the report say the same of Krippendorff's rule, about the same number."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import page, printed, write_masks

VERDICTS = {
    "not reliable": "not reliable",
    "tentative": "tentative conclusions only|only tentative conclusions|tentative conclusions can",
    "cannot be told": "reliable enough cannot be told",
    "reliable": r"rule[^.]*\): reliable|are reliable enough for",
}


def verdicts(text: str) -> set[str]:
    """What is said of the rule, in whatever words."""
    return {verdict for verdict, words in VERDICTS.items() if re.search(words, text)}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Large images on which raters agree, and small ones on which they do not: mean alpha is 0.3, pooled 0.8."""
    rng = np.random.default_rng(0)
    cases = {}
    for number in range(14):
        size, error = (96, 0.02) if number % 4 == 0 else (16, 0.4)
        truth = rng.random((size, size)) < 0.5
        cases[f"p{number:02}"] = {rater: truth ^ (rng.random(truth.shape) < error) for rater in "ABC"}
    folder = tmp_path_factory.mktemp("rule")
    return folder, write_masks(folder / "masks", cases)


@pytest.mark.slow
def test_terminal_and_report_agree_on_krippendorffs_rule(study):
    """Before, ``agree`` said "tentative conclusions only" of pooled alpha, the report "not reliable" of the mean."""
    folder, template = study
    terminal = printed("agree", template, "--out", folder, "--no-pictures")
    report = page(template, folder)
    assert verdicts(terminal) == verdicts(report) == {"not reliable"}
