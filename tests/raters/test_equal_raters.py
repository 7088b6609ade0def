"""The rule for who stands out finds somebody among raters of the same quality, too, as often as the pages say."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt


def named(raters: int, studies: int = 300) -> float:
    """In which share of studies of equals somebody stands out."""
    rng = np.random.default_rng(0)
    truth = np.arange(4000) < 1200
    found = [
        mt.rater_differences(mt.tally(list(truth ^ (rng.random((raters, truth.size)) < 0.1)))).outliers
        for _ in range(studies)
    ]
    return float(np.mean([bool(outliers) for outliers in found]))


@pytest.mark.parametrize(("raters", "share"), [(3, 0.5), (5, 0.8), (13, 0.99)])
def test_somebody_stands_out_among_equals(raters, share):
    assert named(raters) == pytest.approx(share, abs=0.06)
