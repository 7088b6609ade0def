"""Yang 2023: ranks as values of a heatmap, words for kappas, and cases without agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import manytruths as mt

from .registry import Table

TABLE_5 = {"30 patients": (0.3740, "fair"), "without CIN2 and unknown": (0.4122, "moderate")}
TABLE_6 = {
    "336 patients": (0.4145, "moderate"),
    "318 patients": (0.4380, "moderate"),
    "301 patients": (0.4630, "moderate"),
}
MEAN, SPREAD, PATIENTS, EMPTY, APART = 0.4145, 0.2427, 336, 18, 17


def ranks() -> dict[str, float]:
    """What a rank is worth; one pixel, and five raters of whom four call it the most severe."""
    alone = {rank: float(mt.ranking_heatmap(mt.tally([[rank]], labels=range(11)))[0]) for rank in (1, 2, 10)}
    together = mt.tally([[1], [1], [1], [1], [2]], labels=range(11))
    values = {f"value of rank {rank}": value for rank, value in alone.items()}
    return values | {"four raters with rank 1, one with rank 2": float(mt.ranking_heatmap(together)[0])}


def without_agreement() -> dict[str, float]:
    """Kappa where one rater marked nothing."""
    mask, nothing = np.arange(100) < 30, np.zeros(100, bool)
    return {"kappa where one of two marked nothing": mt.cohen_kappa(mt.tally([mask, nothing]))}


def means() -> dict[str, float]:
    """Mean and SD without the cases whose kappa is 0, from those of all cases."""
    left = PATIENTS - EMPTY
    mean = PATIENTS * MEAN / left
    squares = (PATIENTS - 1) * SPREAD**2 + PATIENTS * MEAN**2
    return {
        "patients without condition 1": left, "patients without conditions 1 and 2": left - APART,
        "mean of kappa without condition 1": mean,
        "SD of kappa without condition 1": math.sqrt((squares - left * mean**2) / (left - 1)),
    }  # fmt: skip


def tables() -> Iterator[Table]:
    """What was printed."""
    source = "Yang 2023"
    yield Table(
        source,
        "Values of ranks in the heatmap (III.A)",
        {
            "value of rank 1": "23",
            "value of rank 2": "18",
            "value of rank 10": "2",
            "four raters with rank 1, one with rank 2": "22",
        },
        ranks,
        "mt.ranking_heatmap(mt.tally(ranks))",
        basis="typed",
        note="The nearest whole number of 0.77^(rank − 13), and the mean over raters.",
    )
    words = {name: word for name, (_, word) in (TABLE_5 | TABLE_6).items()}
    yield Table(
        source,
        "Words for mean kappas (Tables 5 and 6)",
        words,
        lambda: {name: mt.interpret_kappa(value) for name, (value, _) in (TABLE_5 | TABLE_6).items()},
        "mt.interpret_kappa(0.3740)",
        basis="typed",
    )
    yield Table(
        source,
        "Cases of two raters without agreement (Table 6 and IV.B)",
        {"kappa where one of two marked nothing": "0"},
        without_agreement,
        "mt.cohen_kappa(mt.tally([mask, nothing]))",
        basis="typed",
    )
    yield Table(
        source,
        "Means without cases that failed (Table 6), from the mean of all 336 and the 18 kappas of 0",
        {
            "patients without condition 1": "318",
            "patients without conditions 1 and 2": "301",
            "mean of kappa without condition 1": "0.4380",
            "SD of kappa without condition 1": "0.2279",
        },
        means,
        "(336 * 0.4145 + 0) / 318",
        basis="arithmetic",
    )
