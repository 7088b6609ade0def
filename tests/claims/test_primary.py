"""The primary claim is named in the study, and tested without adjustment for the others."""

import numpy as np
import pytest

import manytruths as mt


def study(primary, cases=12):
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:32, :32]
    masks = {}
    for case in range(cases):
        radius = rng.uniform(6, 9) * np.exp(rng.normal([0.12, 0, 0, 0], 0.06))
        masks[f"p{case:02d}"] = {
            rater: (np.hypot(rows - 16, columns - 16) < size).astype(np.uint8)
            for rater, size in zip("ABCD", radius, strict=True)
        }
    return mt.Study.from_arrays(masks, primary=primary)


def thresholds(found):
    return {claim.kind.id: claim.alpha for claim in found.claims if not np.isnan(claim.alpha)}


def test_it_is_tested_at_five_percent_and_the_others_share_half():
    plain, named = (thresholds(mt.agree(study(primary), pictures=False)) for primary in ("", "raters.larger"))
    assert named["raters.larger"] == 0.05
    assert max(alpha for kind, alpha in named.items() if kind != "raters.larger") <= 0.025
    assert plain["raters.larger"] <= 0.05
    assert max(plain.values()) > 0.025 or plain["raters.larger"] < 0.05


@pytest.mark.parametrize("primary", ["raters.biggest", "agreement.overlap"])
def test_what_is_no_test_is_refused_before_anything_is_read(primary):
    with pytest.raises(mt.CallError, match=r"primary is one of .*raters\.larger.*; got"):
        mt.agree(study(primary, cases=2), pictures=False)
