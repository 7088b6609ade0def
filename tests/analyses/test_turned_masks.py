"""A mask that was saved the wrong way round is told apart from another opinion."""

from __future__ import annotations

import numpy as np

import manytruths as mt


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
    found = mt.agree(study(lambda mask: mask[:, ::-1]), pictures=False)
    assert [(s.kind, s.case, s.raters) for s in found.suspicions] == [("turned", f"p{i}", ("B",)) for i in range(3)]
    assert {s.change for s in found.suspicions} == {"axis 2 is flipped"}
    (claim,) = found.claims.made.of("masks.turned")
    assert claim.text.startswith("In case p0, rater B's mask fits the others' when axis 2 is flipped (Dice ")
    assert claim.text.endswith("; likewise in p1 and p2 (numbers in masks.csv).")
    assert found.notes[0].endswith("of B first, and leave B out if they are wrong (--exclude-rater B)")
    assert not any("--exclude B=" in note for note in found.notes)


def test_nobody_is_named_where_masks_fit():
    assert mt.agree(study(lambda mask: mask), pictures=False).suspicions == ()


def test_of_two_raters_nobody_can_say_who_is_flipped():
    two = {c.name: {r: m[""] for r, m in c.masks.items() if r.name != "C"} for c in study(lambda mask: mask[::-1])}
    made = mt.Study.from_arrays({c: {r.name: m for r, m in by.items()} for c, by in two.items()})
    found = mt.agree(made, pictures=False)
    assert [(s.kind, s.case, s.raters) for s in found.suspicions] == [("turned", f"p{i}", ("A", "B")) for i in range(3)]
    assert "which of the two is wrong cannot be told" in found.claims.made.of("masks.turned")[0].text
