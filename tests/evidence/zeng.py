"""Zeng 2021: the ends of extended Dice, and the arithmetic of its grading study; the images are not at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import manytruths as mt

from .registry import Table

GRADES = {
    "Consensus": (58, 56, 11, 25), "Confusion matrix": (71, 39, 17, 23), "Consistency": (69, 42, 22, 17),
    "Our method": (72, 50, 20, 8),
}  # fmt: skip


def discs(*radii: float) -> list[np.ndarray]:
    """Discs about one centre."""
    y, x = np.mgrid[:64, :64] - 31.5
    return [np.hypot(x, y) <= radius for radius in radii]


def ends() -> dict[str, float]:
    """A prediction between the raters, one that nobody marked, and raters who agree."""
    inner, outer, between, away = discs(12, 20, 16, 31)
    away &= ~discs(26)[0]

    def score(prediction: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
        return mt.extended_dice(mt.tally([first, second], predictions={"P": prediction}))["P"]

    same = mt.tally([inner, inner], predictions={"P": between})
    dice = mt.overlaps(same).values(mt.dice)[0][0]
    return {
        "a boundary inside the acceptable region": score(between, inner, outer),
        "no overlap with the acceptable region": score(away, inner, outer),
        "raters who agree: extended Dice minus Dice": score(between, inner, inner) - float(dice),
    }


def grades() -> dict[str, float]:
    """The frames that were graded under each method."""
    return {f"graded frames, {name}": sum(levels) for name, levels in GRADES.items()}


def tables() -> Iterator[Table]:
    """What was printed."""
    yield Table(
        "Zeng 2021",
        "The ends of extended Dice (section 3)",
        {
            "a boundary inside the acceptable region": "1",
            "no overlap with the acceptable region": "0",
            "raters who agree: extended Dice minus Dice": "0",
        },
        ends,
        'mt.extended_dice(mt.tally(masks, predictions={"P": prediction}))',
        basis="typed",
    )
    yield Table(
        "Zeng 2021",
        "Frames in the grading study: 30 × 5 (Table 4)",
        {f"graded frames, {name}": "150" for name in GRADES},
        grades,
        "58 + 56 + 11 + 25",
        basis="arithmetic",
        note=(
            "Tables 1 to 3 need the authors' images, which are not at hand. Table 2 and the text number two of "
            "the methods differently: "
            "the confusion matrix is [14] in the table and [12] in the text."
        ),
    )
