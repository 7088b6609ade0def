"""Overlaps of the marks of many raters: the same as pair by pair."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from manytruths.lesions import marks


@pytest.mark.parametrize("seed", range(4))
def test_overlaps_at_once(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    common = gaussian_filter(rng.standard_normal((60, 60)), 3)
    masks = {f"r{i}": common + 0.7 * gaussian_filter(rng.standard_normal((60, 60)), 2) > 0.12 for i in range(9)}
    masks["r4"] = np.zeros((60, 60), bool)
    expected = marks.find_marks(masks).overlaps
    monkeypatch.setattr(marks, "MANY_RATERS", 2)
    found = marks.find_marks(masks).overlaps
    assert len(expected.shared) > 100
    for field in ("first", "second", "shared"):
        assert getattr(found, field).tolist() == getattr(expected, field).tolist()
