"""A mask that was saved the wrong way round is told apart from another opinion."""

from __future__ import annotations

import numpy as np

import manytruths as mt
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions


def study(turn):
    rng = np.random.default_rng(0)
    masks = {}
    for case in range(3):
        mask = np.zeros((40, 50), bool)
        mask[3 + case : 12, 5 : 20 + case] = True
        noisy = {rater: mask ^ (rng.random(mask.shape) < 0.01) for rater in "ABC"}
        masks[f"p{case}"] = noisy | {"B": turn(noisy["B"])}
    return mt.Study.from_arrays(masks)


def test_the_rater_who_is_flipped_is_named():
    found = compute_agreement(study(lambda mask: mask[:, ::-1]), plan=MapOptions(measured=True))
    assert len(found.turns) == 3
    assert {turn.rater for turn in found.turns} == {"B"}
    assert [turn.case for turn in found.turns] == ["p0", "p1", "p2"]
    assert all("rater B's mask" in turn.words and "axis 2 is flipped" in turn.words for turn in found.turns)
    assert found.notes[:3] == tuple(turn.note for turn in found.turns)


def test_nobody_is_named_where_masks_fit():
    assert compute_agreement(study(lambda mask: mask), plan=MapOptions(measured=True)).turns == ()


def test_two_raters_of_whom_one_is_flipped_are_both_named():
    """Of two, nobody can say who is the wrong way round."""
    two = {c.name: {r: m[""] for r, m in c.masks.items() if r.name != "C"} for c in study(lambda mask: mask[::-1])}
    found = compute_agreement(mt.Study.from_arrays({c: {r.name: m for r, m in by.items()} for c, by in two.items()}),
                  plan=MapOptions(measured=True))  # fmt: skip
    assert len(found.turns) == 6
