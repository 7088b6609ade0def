"""Which session counts, and what sessions lack, is said by every command that takes one."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.undefined import code_of
from study_folders import disc


@pytest.fixture(scope="module")
def study():
    """Two sessions of three raters; the second of A lacks c05, the first of B lacks c06."""
    rng, masks = np.random.default_rng(8), {}
    for i in range(12):
        case = f"c{i:02}"
        masks[case] = {
            (r, s): disc(40, rng.normal(), rng.normal(), 8 + rng.normal()) for r in "ABC" for s in ("1", "2")
        }
    del masks["c05"]["A", "2"], masks["c06"]["B", "1"]
    return mt.Study.from_arrays(masks, predictions={case: {"net": disc(40, radius=8)} for case in masks})


@pytest.mark.slow
def test_every_command_names_the_session_and_its_gaps(study):
    results = (
        mt.agree(study, pictures=False), mt.fuse(study),
        mt.evaluate(study, distances=False, second_look=False), mt.reliability(study),
    )  # fmt: skip
    for result in results:
        (note,) = [note for note in result.notes if code_of(note) == "sessions"]
        assert "take session 1, with which their other sessions are compared" in note
        assert "session 2 of rater A has no mask of c05" in note
        assert "session 1 of rater B has no mask of c06, where the rater does not count" in note
        assert not [note for note in result.notes if "has no mask of 1 of" in note]


def test_who_lacks_a_session_is_not_said_to_lack_the_case(study):
    (claim,) = mt.agree(study, pictures=False).claims.of("raters.different_cases").made
    start = "In the session that counts, not all raters read every case (no mask of B in c06)"
    assert claim.text.startswith(start)
