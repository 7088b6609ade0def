"""Cabitza 2020: majorities, nomograms, and the arithmetic of the user study; its ratings are not at hand."""

from __future__ import annotations

from collections.abc import Iterator

import manytruths as mt
from manytruths.ratings.planning.panels import majority_band

from .registry import Table

CASES, RATERS = 417, 13
OVERWHELMING, WRONG, BOTH = 322, 61, 25


def majorities() -> dict[str, float]:
    """Slim majorities of raters who toss coins, and how many votes are no chance."""
    slim = {f"slim majorities of {k} raters, %": 100 * mt.slim_majority_share(k, 0.5) for k in (7, 5, 3)}
    votes = [["a"] * n + ["b"] * (RATERS - n) for n in range(7, RATERS + 1)]
    found = mt.majorities(mt.Ratings.of(votes)).overwhelming.tolist()
    return slim | {"votes of 13 that are an overwhelming majority": 7 + found.index(True)}


def gain() -> dict[str, float]:
    """What three raters of accuracy 0.85 gain."""
    return {
        "gain of three raters of accuracy 85%, percentage points, about": 100 * (mt.majority_accuracy(3, 0.85) - 0.85)
    }


def band() -> dict[str, str]:
    """Figure 2's own simulation."""
    found = majority_band([3], 0.85, 0.01, samples=2000)
    low, mean, high = (100 * float(values[0]) - 85 for values in (found.low, found.average, found.high))
    return {
        "gain of three raters drawn from 100 of 85% ± 1%": (
            f"{low:.1f} to {high:.1f}, on average {mean:.1f} percentage points"
        )
    }


def nomograms() -> dict[str, float]:
    """Reported and actual accuracy."""
    back, forth = mt.nomogram_for_accuracy(3, 0.9, reported=0.95), mt.nomogram(1, majority_accuracy=0.85, reported=0.98)
    return {
        "actual accuracy of 98% on a truth that is 85% accurate, %": 100 * forth.product,
        "accuracy of the truth for 90% of a reported 95%, %": 100 * back.majority_accuracy,
        "ρ for that, three raters, about": back.rho,
    }  # fmt: skip


def losses(raters: int) -> dict[str, float]:
    """What is lost of a reported accuracy at a reliability of 0.67."""
    found = {x: mt.nomogram(raters, rho=0.67, reported=x / 100).product for x in (95, 90, 85)}
    return {f"loss of a reported {x}%, percentage points, about": x - 100 * value for x, value in found.items()}


def other_losses() -> dict[str, str]:
    """Of other numbers of raters, which the text does not state."""
    found = {k: losses(k).values() for k in (3, 5, 7, 13)}
    return {
        f"{k} raters: losses of 95%, 90%, 85%": ", ".join(f"{value:.1f}" for value in values)
        for k, values in found.items()
    }


def shares() -> dict[str, float]:
    """Counts of cases as shares."""
    return {
        f"{OVERWHELMING} overwhelming majorities of {CASES}, %": 100 * OVERWHELMING / CASES,
        f"{WRONG} wrong majorities of {CASES}, %": 100 * WRONG / CASES,
        f"{BOTH} overwhelming ones of {WRONG} wrong ones, %": 100 * BOTH / WRONG,
        f"{BOTH} wrong and overwhelming ones of {CASES}, %": 100 * BOTH / CASES,
    }


def paradoxes() -> dict[str, float]:
    """The first paradox as it is printed: everybody says 0, and 1 of one case."""
    table = mt.Ratings.of([[0] * RATERS] * (CASES - 1) + [[1] * RATERS]).tally()
    return {"kappa where all agree on 0, and on 1 for one case: at most": mt.fleiss_kappa(table)}


def meant() -> dict[str, str]:
    """The paradox that is known."""
    ratings = mt.Ratings.of({"A": [0] * 250, "B": [0] * 249 + [1]}).tally()
    words = f"percent agreement {mt.percent_agreement(ratings):.3f}, kappa {mt.fleiss_kappa(ratings):.3f}"
    return {"two raters of 250 cases who differ in one, the only 1": words}


def tables() -> Iterator[Table]:
    """What was printed."""
    source, unstated = (
        "Cabitza 2020",
        "The text does not state the number of raters. None of those below loses 6 points at all three accuracies.",
    )
    yield Table(
        source,
        "Majorities (section 2 and section 4)",
        {
            "slim majorities of 7 raters, %": "55",
            "slim majorities of 5 raters, %": "63",
            "slim majorities of 3 raters, %": "75",
            "votes of 13 that are an overwhelming majority": "10",
        },
        majorities,
        "mt.slim_majority_share(7, 0.5), mt.majorities(ratings).overwhelming",
        basis="typed",
    )
    yield Table(
        source,
        "What more raters gain (section 2, Figures 2 and 3)",
        {"gain of three raters of accuracy 85%, percentage points, about": "8"},
        gain,
        "mt.majority_accuracy(3, 0.85)",
        {
            "gain of three raters of accuracy 85%, percentage points, about": (
                "0.85³ + 3 · 0.85² · 0.15 − 0.85 "
                "is 8.9 points, nearer to 9; drawing raters as in Figure 2 gives the same."
            )
        },
        band,
        basis="typed",
    )
    yield Table(
        source,
        "Nomograms (section 2 and section 5)",
        {
            "actual accuracy of 98% on a truth that is 85% accurate, %": "83",
            "accuracy of the truth for 90% of a reported 95%, %": "95",
            "ρ for that, three raters, about": "0.7",
        },
        nomograms,
        "mt.nomogram_for_accuracy(3, 0.9, reported=0.95)",
        basis="typed",
    )
    names = [f"loss of a reported {x}%, percentage points, about" for x in (95, 90, 85)]
    yield Table(
        source,
        "Losses at ρ = 0.67 (section 5, Figure 9), three raters",
        dict.fromkeys(names, "6"),
        lambda: losses(3),
        "mt.nomogram(3, rho=0.67, reported=0.95)",
        dict.fromkeys(names, unstated),
        other_losses,
        basis="typed",
    )
    yield Table(
        source,
        "Shares of 417 cases (section 4)",
        dict(zip(shares(), ("75", "14", "41", "6"), strict=True)),
        shares,
        "322 / 417",
        {
            f"{OVERWHELMING} overwhelming majorities of {CASES}, %": (
                "322 of 417 are 77%; 75% would be 311 to 314 of 417 cases."
            ),
            f"{WRONG} wrong majorities of {CASES}, %": "14.6% is cut off, not rounded.",
        },
        basis="arithmetic",
        note=(
            "The text also gives kappa and alpha twice, as 0.63 (section 4) and 0.65 (section 5). The ratings "
            "are not at hand."
        ),
    )
    name = "kappa where all agree on 0, and on 1 for one case: at most"
    yield Table(
        source,
        "The first paradox (section 3.2)",
        {name: "0"},
        paradoxes,
        "mt.fleiss_kappa(ratings.tally())",
        {
            name: (
                "As printed, all raters agree in every case, and kappa is 1. The paradox that is known has one "
                "rater who dissents."
            )
        },
        meant,
        basis="typed",
    )
