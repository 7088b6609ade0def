"""Worked examples of sizes: intraclass correlation, limits of agreement, regression of two methods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

import manytruths as mt

from .registry import Table

SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
KINDS = {"1": "ICC(1,1)", "A,1": "ICC(2,1)", "C,1": "ICC(3,1)", "k": "ICC(1,4)", "A,k": "ICC(2,4)", "C,k": "ICC(3,4)"}
WRIGHT = np.array(
    [[494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427],
     [490, 397, 512, 401, 470, 611, 415, 431, 638, 429, 420, 633, 275, 492, 165, 372, 421]], float).T  # fmt: skip
MINI = np.array(
    [[512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451],
     [525, 415, 508, 444, 500, 625, 460, 390, 642, 432, 420, 605, 227, 467, 268, 370, 443]], float).T  # fmt: skip
"""Peak expiratory flow rate (l/min) of 17 people, twice with each meter (Bland & Altman 1986, table I;
doi:10.1016/S0140-6736(86)90837-8): the same numbers as ``bland.altman.PEFR`` of R's BlandAltmanLeh."""
SYSTOLIC = np.genfromtxt(Path(__file__).parents[1] / "measures" / "systolic.csv", delimiter=",", skip_header=1)
"""Systolic blood pressure of 85 people, three times by observer J and by machine S (Bland & Altman 1999,
doi:10.1177/096228029900800204, table 1): the same numbers as ``sbp`` of R's MethComp."""
CARDIAC = """
1 7.83 6.57 1 7.42 5.62 1 7.89 6.90 1 7.12 6.57 1 7.88 6.35 2 6.16 4.06 2 7.26 4.29 2 6.71 4.26 2 6.54 4.09 3 4.75 4.71
3 5.24 5.50 3 4.86 5.08 3 4.78 5.02 3 6.05 6.01 3 5.42 5.67 4 4.21 4.14 4 3.61 4.20 4 3.72 4.61 4 3.87 4.68 4 3.92 5.04
5 3.13 3.03 5 2.98 2.86 5 2.85 2.77 5 3.17 2.46 5 3.09 2.32 5 3.12 2.43 6 5.92 5.90 6 6.42 5.81 6 5.92 5.70 6 6.27 5.76
7 7.13 5.09 7 6.62 4.63 7 6.58 4.61 7 6.93 5.09 8 4.54 4.72 8 4.81 4.61 8 5.11 4.36 8 5.29 4.20 8 5.39 4.36 8 5.57 4.20
9 4.48 3.17 9 4.92 3.12 9 3.97 2.96 10 4.22 4.35 10 4.65 4.62 10 4.74 3.16 10 4.44 3.53 10 4.50 3.53 11 6.78 7.20
11 6.07 6.09 11 6.52 7.00 11 6.42 7.10 11 6.41 7.40 11 5.76 6.80 12 5.06 4.50 12 4.72 4.20 12 4.90 3.80 12 4.80 3.80
12 4.90 4.20 12 5.10 4.50
"""
"""Subject, and two measurements of cardiac ejection at a time (Bland & Altman 1999, table 4; 2007, table 1)."""
SUBJECT, RV, IC = np.array(CARDIAC.split(), float).reshape(-1, 3).T
X = [7, 8.3, 10.5, 9, 5.1, 8.2, 10.2, 10.3, 7.1, 5.9]
Y = [7.9, 8.2, 9.6, 9, 6.5, 7.3, 10.2, 10.6, 6.3, 5.2]
"""The example of NCSS's manual of Deming regression, with error variances 4 to 1."""

PRINTED_ENDS = {
    "1": "-0.1329323 0.7225601", "k": "-0.8844422 0.9124154",
    "A,1": "0.0187865 0.7610844", "C,1": "0.3424648 0.9458583",
    "A,k": "0.0711368 0.9272320", "C,k": "0.6756747 0.9858917",
}  # fmt: skip
ENDS = ("lower end", "upper end")


def correlations() -> dict[str, float]:
    """The six of Shrout and Fleiss, and their interval of (2,1)."""
    values = {name: float(mt.icc(SHROUT, kind)) for kind, name in KINDS.items()}
    whole = mt.icc(SHROUT)
    return values | {"lower end of ICC(2,1)": whole.low, "upper end of ICC(2,1)": whole.high}


def intervals() -> dict[str, float]:
    """By McGraw and Wong's formulas."""
    found = {KINDS[kind]: mt.icc(SHROUT, kind) for kind in PRINTED_ENDS}
    return {f"{end} of {n}": v for n, r in found.items() for end, v in zip(ENDS, (r.low, r.high), strict=True)}


def peak_flow() -> dict[str, float]:
    """Two meters, limits at two SD."""
    found = mt.bland_altman(WRIGHT[:, 0], MINI[:, 0], factor=2, interval="approximate")
    return {"mean difference": found.bias.value, "SD": found.sd, **limits(found)}


def limits(found: mt.BlandAltman) -> dict[str, float]:
    """The limits, and the ends of three intervals."""
    values = {"lower limit": found.lower.value, "upper limit": found.upper.value}
    for name, part in (
        ("the mean difference", found.bias),
        ("the lower limit", found.lower),
        ("the upper limit", found.upper),
    ):
        values |= {f"lower end of {name}": part.low, f"upper end of {name}": part.high}
    return values


def repeated() -> dict[str, float]:
    """Two readings with each meter: twice the SD of their differences."""
    values = {"sum of squared differences, mini meter": float(((MINI[:, 0] - MINI[:, 1]) ** 2).sum())}
    for name, meter in (("large meter", WRIGHT), ("mini meter", MINI)):
        sd = math.sqrt(2) * mt.repeatability(meter).within_sd
        values |= {f"SD of differences, {name}": sd, f"coefficient of repeatability, {name}": 2 * sd}
    return values


def pressure() -> dict[str, float]:
    """Observer and machine, limits at 1.96 SD; without two people; repeated readings."""
    j, s = SYSTOLIC[:, 0], SYSTOLIC[:, 3]
    found = mt.bland_altman(j, s, interval="approximate")
    kept = ~np.isin(np.arange(1, 86), (78, 80))
    without = mt.bland_altman(j[kept], s[kept])
    values = {
        "mean difference": found.bias.value, "SD": found.sd, **limits(found),
        "lower limit without subjects 78 and 80": without.lower.value,
        "upper limit without subjects 78 and 80": without.upper.value,
    }  # fmt: skip
    for name, columns in (("observer J", slice(0, 3)), ("machine S", slice(3, 6))):
        again = mt.repeatability(SYSTOLIC[:, columns])
        values |= {
            f"variance within subjects, {name}": again.within_sd**2,
            f"repeatability, {name}": again.repeatability.value,
        }
    return values


def ejection() -> dict[str, float]:
    """Several differences a subject."""
    return {"mean difference": mt.bland_altman(RV, IC, subjects=SUBJECT).bias.value}


def deming() -> dict[str, float]:
    """The line, and the jackknife's standard errors with n − 2 degrees of freedom."""
    line, t = mt.deming(X, Y, ratio=1 / 4), float(stats.t.ppf(0.975, 8))
    return {
        "intercept": line.intercept.value, "slope": line.slope.value,
        "standard error of the intercept": (line.intercept.high - line.intercept.value) / t,
        "standard error of the slope": (line.slope.high - line.slope.value) / t,
    }  # fmt: skip


def tolerance() -> dict[str, float]:
    """One-sided factors of 95% of a normal distribution, from the exact interval of a limit of agreement."""
    z, values = float(stats.norm.ppf(0.95)), {}
    for n in (10, 20, 30):
        d = np.cos(np.arange(n) * 7.77)
        found = mt.bland_altman(d, np.zeros(n), factor=z, level=0.9)
        values[f"n = {n}"] = float((found.upper.high - d.mean()) / d.std(ddof=1))
    return values


def tables() -> Iterator[Table]:
    """What was printed."""
    six = ("0.17", "0.29", "0.71", "0.44", "0.62", "0.91")
    yield Table(
        "Shrout 1979",
        "Six subjects, four judges",
        {
            **dict(zip(KINDS.values(), six, strict=True)),
            "lower end of ICC(2,1)": "0.019",
            "upper end of ICC(2,1)": "0.761",
        },
        correlations,
        'mt.icc(table, "A,1")',
        basis="typed",
    )
    yield Table(
        "DescToolsX",
        "The same example: intervals of McGraw and Wong, as R's DescToolsX prints them",
        {
            f"{end} of {KINDS[kind]}": text
            for kind, texts in PRINTED_ENDS.items()
            for end, text in zip(ENDS, texts.split(), strict=True)
        },
        intervals,
        'mt.icc(table, "A,1").low',
        basis="typed",
    )
    on = "The paper computes this from rounded numbers: "
    by_hand = {
        "lower limit": f"{on}−2.1 − 2 × 38.8 = −79.7.",
        "upper limit": f"{on}−2.1 + 2 × 38.8 = 75.5.",
        "lower end of the lower limit": f"{on}−79.7 − 2.12 × 16.3 = −114.3.",
        "upper end of the upper limit": f"{on}75.5 + 2.12 × 16.3 = 110.1.",
    }
    yield Table(
        "Bland 1986",
        "Peak flow of 17 people with two meters (l/min)",
        {
            "mean difference": "-2.1",
            "SD": "38.8",
            "lower limit": "-79.7",
            "upper limit": "75.5",
            "lower end of the mean difference": "-22.0",
            "upper end of the mean difference": "17.8",
            "lower end of the lower limit": "-114.3",
            "upper end of the lower limit": "-45.1",
            "lower end of the upper limit": "40.9",
            "upper end of the upper limit": "110.1",
        },
        peak_flow,
        'mt.bland_altman(large, mini, factor=2, interval="approximate")',
        by_hand,
        basis="typed",
    )
    yield Table(
        "Bland 1986",
        "Two readings with each meter (l/min)",
        {
            "sum of squared differences, mini meter": "13479",
            "SD of differences, large meter": "21.6",
            "coefficient of repeatability, large meter": "43.2",
            "SD of differences, mini meter": "28.2",
            "coefficient of repeatability, mini meter": "56.4",
        },
        repeated,
        "2 * math.sqrt(2) * mt.repeatability(readings).within_sd",
        {
            "coefficient of repeatability, large meter": f"{on}2 × 21.6 = 43.2.",
            "coefficient of repeatability, mini meter": f"{on}2 × 28.2 = 56.4.",
        },
        basis="typed",
        note="The coefficient is twice the SD here; `mt.repeatability` takes 1.96.",
    )
    yield Table(
        "Bland 1999",
        "Systolic blood pressure of 85 people, observer J and machine S (mmHg; pages 136 to 142)",
        {
            "mean difference": "-16.29",
            "SD": "19.61",
            "lower limit": "-54.7",
            "upper limit": "22.1",
            "lower end of the mean difference": "-20.5",
            "upper end of the mean difference": "-12.1",
            "lower end of the lower limit": "-61.9",
            "upper end of the lower limit": "-47.5",
            "lower end of the upper limit": "14.9",
            "upper end of the upper limit": "29.3",
            "lower limit without subjects 78 and 80": "-43.6",
            "upper limit without subjects 78 and 80": "15.0",
            "variance within subjects, observer J": "37.408",
            "repeatability, observer J": "17",
            "variance within subjects, machine S": "83.141",
            "repeatability, machine S": "25",
        },
        pressure,
        'mt.bland_altman(observer, machine, interval="approximate")',
        {
            "lower end of the lower limit": f"{on}−54.7 − 1.99 × 3.64 = −61.9.",
            "upper end of the upper limit": f"{on}22.1 + 1.99 × 3.64 = 29.3.",
        },
        basis="typed",
    )
    yield Table(
        "Bland 2007",
        "Cardiac ejection of 12 people, several pairs each",
        {"mean difference": "0.7092361"},
        ejection,
        "mt.bland_altman(rv, ic, subjects=subject)",
        basis="typed",
    )
    yield Table(
        "NCSS",
        "Deming regression, error variances 4 to 1",
        {
            "intercept": "-0.0897",
            "slope": "1.0012",
            "standard error of the intercept": "1.7220",
            "standard error of the slope": "0.1872",
        },
        deming,
        "mt.deming(x, y, ratio=1 / 4)",
        basis="typed",
    )
    yield Table(
        "NIST 7.2.6.3",
        "One-sided tolerance factors of a normal distribution, 95% and 95%",
        {"n = 10": "2.911", "n = 20": "2.396", "n = 30": "2.220"},
        tolerance,
        "mt.bland_altman(d, zeros, factor=1.645, level=0.9).upper.high",
        basis="typed",
    )
