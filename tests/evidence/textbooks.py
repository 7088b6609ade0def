"""Worked examples of agreement: Fleiss, Krippendorff, Feinstein and Cicchetti."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from typing import Literal, get_args

import numpy as np

import manytruths as mt
from data_folder import data

from .registry import Table

Level = Literal["nominal", "ordinal", "interval", "ratio"]
PARADOXES = {
    "40, 9, 6, 45": ("0.85", "0.70"), "80, 10, 5, 5": ("0.85", "0.32"), "45, 15, 25, 15": ("0.60", "0.13"),
    "25, 35, 5, 35": ("0.60", "0.26"),
}  # fmt: skip
"""Cells of two by two tables (both, first alone, second alone, neither): agreement and kappa."""


def ratings(name: str) -> np.ndarray:
    """(items, raters) of labels from 1; 0 is not rated."""
    with data("worked", name).open(newline="") as file:
        return np.array([[int(float(v)) if v else 0 for v in row] for row in list(csv.reader(file))[1:]])


def from_counts(table: np.ndarray) -> mt.Tally:
    """The table of raters in any order, by how many chose each label."""
    items = [np.repeat(np.arange(1, len(row) + 1), row) for row in table]
    return mt.tally(np.array(items).T, labels=range(1, table.shape[1] + 1), raters="exchangeable")


def fleiss() -> dict[str, float]:
    """30 patients, six psychiatrists each."""
    return {"kappa": mt.fleiss_kappa(mt.tally(ratings("fleiss1971_psychiatric_30x6.csv").T, raters="exchangeable"))}


def fleiss_of_wikipedia() -> dict[str, float]:
    """Ten subjects, fourteen raters."""
    return {"kappa": mt.fleiss_kappa(from_counts(ratings("fleiss_wikipedia_counts_10x5.csv")))}


def alphas(name: str, levels: tuple[Level, ...]) -> dict[str, float]:
    """Krippendorff's alpha by level of measurement."""
    table = mt.tally(ratings(name).T, void=0)
    return {f"alpha, {level}": mt.krippendorff_alpha(table, level) for level in levels}


def two_by_two() -> dict[str, float]:
    """Agreement and kappa of the four tables."""
    found = {}
    for cells in PARADOXES:
        both, first, second, neither = map(int, cells.split(", "))
        a = [1] * (both + first) + [0] * (second + neither)
        b = [1] * both + [0] * first + [1] * second + [0] * neither
        table = mt.Ratings.of({"A": a, "B": b}).tally()
        found |= {f"agreement of {cells}": mt.percent_agreement(table), f"kappa of {cells}": mt.cohen_kappa(table)}
    return found


def scale() -> dict[str, str]:
    """A kappa at the lower end of each range of Landis and Koch."""
    return {f"{value:.2f}": mt.interpret_kappa(value) for value in (-0.01, 0.01, 0.21, 0.41, 0.61, 0.81)}


def tables() -> Iterator[Table]:
    """What was printed."""
    yield Table(
        "Fleiss 1971", "30 patients, six psychiatrists each", {"kappa": "0.430"}, fleiss, "mt.fleiss_kappa(table)"
    )
    yield Table(
        "Wikipedia, Fleiss' kappa",
        "Ten subjects, 14 raters, five categories",
        {"kappa": "0.210"},
        fleiss_of_wikipedia,
        "mt.fleiss_kappa(table)",
    )
    levels: tuple[Level, ...] = get_args(Level)
    yield Table(
        "Krippendorff",
        "12 units, four observers, missing values",
        dict(zip((f"alpha, {level}" for level in levels), ("0.743", "0.815", "0.849", "0.797"), strict=True)),
        partial(alphas, "krippendorff_canonical_12units_4observers.csv", levels),
        'mt.krippendorff_alpha(table, "ordinal")',
    )
    yield Table(
        "Wikipedia, Krippendorff's alpha",
        "15 units, three coders",
        {"alpha, nominal": "0.691", "alpha, interval": "0.811"},
        partial(alphas, "krippendorff_wikipedia_15units_3coders.csv", ("nominal", "interval")),
        'mt.krippendorff_alpha(table, "interval")',
    )
    yield Table(
        "Feinstein 1990",
        "Two raters, 100 cases each: the same agreement, another kappa",
        {
            f"{what} of {cells}": text
            for cells, texts in PARADOXES.items()
            for what, text in zip(("agreement", "kappa"), texts, strict=True)
        },
        two_by_two,
        "mt.cohen_kappa(table)",
        basis="typed",
    )
    words = ("poor", "slight", "fair", "moderate", "substantial", "almost perfect")
    yield Table(
        "Landis 1977",
        "Words for kappa, at the lower end of each range",
        dict(zip(scale(), words, strict=True)),
        scale,
        "mt.interpret_kappa(0.21)",
        basis="typed",
    )
