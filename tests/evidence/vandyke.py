"""Readers, cases and two modalities: the data of Van Dyke as R's MRMCaov prints them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache

import numpy as np

import manytruths as mt
from data_folder import data

from .registry import Table

COMPONENTS = ("variance of readers", "variance of readers × modalities", "error", "Cov1", "Cov2", "Cov3")
DIFFERENCE = ("difference", "its standard error", "lower end", "upper end")


@cache
def study() -> tuple[np.ndarray, np.ndarray]:
    """(treatments, readers, cases) ratings, and whether each case is positive."""
    with data("ratings", "VanDyke.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [sorted({row[column] for row in rows}, key=int) for column in ("treatment", "reader", "case")]
    ratings, truth = np.full([len(each) for each in names], np.nan), np.zeros(len(names[2]), int)
    for row in rows:
        i, j, k = (each.index(row[c]) for c, each in zip(("treatment", "reader", "case"), names, strict=True))
        ratings[i, j, k], truth[k] = float(row["rating"]), int(row["truth"])
    return ratings, truth


def components(r: mt.Mrmc) -> dict[str, float]:
    """Variances and covariances."""
    values = (r.reader_variance, r.interaction_variance, r.variance, r.cov1, r.cov2, r.cov3)
    return dict(zip(COMPONENTS, values, strict=True))


def interval(estimate: mt.Estimate) -> list[float]:
    """A value, its standard error, and the ends of its interval."""
    return [estimate.value, estimate.error, estimate.low, estimate.high]


def fixed_readers() -> dict[str, float]:
    """Generalised to other cases."""
    r = mt.mrmc(*study())
    test, (difference,) = r.of_cases, r.of_cases.differences
    areas = {f"area of reader {j + 1}, modality {i + 1}": float(r.values[i][j]) for i in (0, 1) for j in range(5)}
    by_reader = {
        f"{name}, reader {j}": value
        for j, (found,) in enumerate(r.by_reader, start=1)
        for name, value in zip((*DIFFERENCE, "p"), [*interval(found), found.p_value], strict=True)
    }
    return {
        **components(r), **areas, "mean square of modalities": r.ms_modality, "χ²": test.statistic, "p": test.p_value,
        **dict(zip(DIFFERENCE, interval(difference), strict=True)), **modalities(test), **by_reader,
    }  # fmt: skip


def modalities(test: mt.MrmcTest) -> dict[str, float]:
    """The mean area of each, with its interval."""
    names = ("mean area", "standard error", "lower end", "upper end")
    return {
        f"{name}, modality {i}": value
        for i, estimate in enumerate(test.estimates, start=1)
        for name, value in zip(names, interval(estimate), strict=True)
    }


def fixed_cases() -> dict[str, float]:
    """Generalised to other readers."""
    r = mt.mrmc(*study())
    test, (difference,) = r.of_readers, r.of_readers.differences
    return {
        "mean square of readers × modalities": r.ms_interaction, "F": test.statistic, "degrees of freedom": test.df2,
        "p": test.p_value, **dict(zip(DIFFERENCE, interval(difference), strict=True)), **modalities(test),
    }  # fmt: skip


def random() -> dict[str, float]:
    """Generalised to other readers and cases."""
    test = mt.mrmc(*study()).both
    value, error, *_ = interval(test.differences[0])
    return {
        "F": test.statistic,
        "degrees of freedom": test.df2,
        "p": test.p_value,
        "difference": value,
        "its standard error": error,
    }


def delong() -> dict[str, float]:
    """The same with DeLong's covariances."""
    r = mt.mrmc(*study(), covariance="delong")
    test = r.both
    freedom = {f"degrees of freedom, modality {i}": e.df for i, e in enumerate(test.estimates, start=1)}
    return {
        **components(r), "F": test.statistic, "degrees of freedom": test.df2, "p": test.p_value,
        **dict(zip(DIFFERENCE, interval(test.differences[0]), strict=True)), **modalities(test), **freedom,
    }  # fmt: skip


def sensitivity() -> dict[str, float]:
    """Sensitivity of ratings of 3 or more."""
    ratings, truth = study()
    r = mt.mrmc((ratings >= 3)[:, :, truth == 1])
    test = r.both
    return {
        **dict(list(components(r).items())[2:]), "F": test.statistic, "degrees of freedom": test.df2, "p": test.p_value,
        **dict(zip(DIFFERENCE, interval(test.differences[0]), strict=True)),
    }  # fmt: skip


PRINTED: dict[str, str] = {
    "fixed_readers": """
        variance of readers: 0.0015349993; variance of readers × modalities: 0.0002004025; error: 0.0008022883;
        Cov1: 0.0003466137; Cov2: 0.0003440748; Cov3: 0.0002390284; area of reader 1, modality 1: 0.9196457;
        area of reader 2, modality 1: 0.8587762; area of reader 3, modality 1: 0.9038647;
        area of reader 4, modality 1: 0.9731079; area of reader 5, modality 1: 0.8297907;
        area of reader 1, modality 2: 0.9478261; area of reader 2, modality 2: 0.9053140;
        area of reader 3, modality 2: 0.9217391; area of reader 4, modality 2: 0.9993559;
        area of reader 5, modality 2: 0.9299517; mean square of modalities: 0.004796171; χ²: 5.475953;
        p: 0.01927984; difference: -0.04380032; its standard error: 0.01871748; lower end: -0.08048591;
        upper end: -0.00711473; mean area, modality 1: 0.8970370; standard error, modality 1: 0.02428971;
        lower end, modality 1: 0.8494301; upper end, modality 1: 0.9446440; mean area, modality 2: 0.9408374;
        standard error, modality 2: 0.01677632; lower end, modality 2: 0.9079564; upper end, modality 2: 0.9737183;
        difference, reader 1: -0.02818035; its standard error, reader 1: 0.02551213;
        lower end, reader 1: -0.078183215; upper end, reader 1: 0.021822507; p, reader 1: 0.26933885;
        difference, reader 2: -0.04653784; its standard error, reader 2: 0.02630183;
        lower end, reader 2: -0.098088476; upper end, reader 2: 0.005012792; p, reader 2: 0.07683102;
        difference, reader 3: -0.01787440; its standard error, reader 3: 0.03120965;
        lower end, reader 3: -0.079044180; upper end, reader 3: 0.043295388; p, reader 3: 0.56683414;
        difference, reader 4: -0.02624799; its standard error, reader 4: 0.01729129;
        lower end, reader 4: -0.060138290; upper end, reader 4: 0.007642316; p, reader 4: 0.12901715;
        difference, reader 5: -0.10016103; its standard error, reader 5: 0.04405746;
        lower end, reader 5: -0.186512066; upper end, reader 5: -0.013809995; p, reader 5: 0.02300099""",
    "fixed_cases": """
        mean square of readers × modalities: 0.0005510306; F: 8.704; degrees of freedom: 4; p: 0.04195875;
        difference: -0.04380032; its standard error: 0.01484629; lower end: -0.08502022; upper end: -0.00258042;
        mean area, modality 1: 0.8970370; standard error, modality 1: 0.02482994; lower end, modality 1: 0.8280981;
        upper end, modality 1: 0.9659760; mean area, modality 2: 0.9408374; standard error, modality 2: 0.01615303;
        lower end, modality 2: 0.8959894; upper end, modality 2: 0.9856854""",
    "random": """
        F: 4.456319; degrees of freedom: 15.25967; p: 0.05166569; difference: -0.04380032;
        its standard error: 0.02074862""",
    "delong": """
        variance of readers: 0.0015364254; variance of readers × modalities: 0.0002045840; error: 0.0007921325;
        Cov1: 0.0003420090; Cov2: 0.0003395265; Cov3: 0.0002358497; F: 4.484854; degrees of freedom: 15.06611;
        p: 0.05123303; difference: -0.04380032; its standard error: 0.0206825; lower end: -0.0878671960;
        upper end: 0.0002665519; mean area, modality 1: 0.8970370; standard error, modality 1: 0.03307642;
        lower end, modality 1: 0.8253461; upper end, modality 1: 0.9687280; mean area, modality 2: 0.9408374;
        standard error, modality 2: 0.02150464; lower end, modality 2: 0.8942155; upper end, modality 2: 0.9874592;
        degrees of freedom, modality 1: 12.59597; degrees of freedom, modality 2: 12.56530""",
    "sensitivity": """
        error: 0.0023681257; Cov1: 0.0009943883; Cov2: 0.0010145903; Cov3: 0.0006604938; F: 6.689493;
        degrees of freedom: 15.71732; p: 0.02008822; difference: -0.09777778; its standard error: 0.03780451;
        lower end: -0.1780371; upper end: -0.0175185""",
}
"""By the function that computes them: what is printed, as ``name: digits``."""


def printed(name: str) -> dict[str, str]:
    """The digits by what they are."""
    parts = (part.strip() for part in PRINTED[name].split(";"))
    return {what: digits for what, _, digits in (part.rpartition(": ") for part in parts)}


def tables() -> Iterator[Table]:
    """What was printed."""
    yield Table(
        "MRMCaov",
        "Areas under ROC curves, jackknife, fixed readers",
        printed("fixed_readers"),
        fixed_readers,
        "mt.mrmc(ratings, truth).of_cases",
    )
    yield Table(
        "MRMCaov",
        "Areas under ROC curves, fixed cases",
        printed("fixed_cases"),
        fixed_cases,
        "mt.mrmc(ratings, truth).of_readers",
    )
    yield Table(
        "MRMCaov",
        "Areas under ROC curves, jackknife, random readers and cases",
        printed("random"),
        random,
        "mt.mrmc(ratings, truth).both",
    )
    yield Table(
        "MRMCaov",
        "Areas under ROC curves, DeLong, random readers and cases",
        printed("delong"),
        delong,
        'mt.mrmc(ratings, truth, covariance="delong").both',
    )
    yield Table(
        "MRMCaov",
        "Sensitivity at a rating of 3, random readers and cases",
        printed("sensitivity"),
        sensitivity,
        "mt.mrmc((ratings >= 3)[:, :, truth == 1]).both",
    )
