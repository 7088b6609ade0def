"""The command ``plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..core.errors import CallError
from .parsing import pairs
from .terminal import present


def plan(
    *,
    wanted: float | None = None,
    rater_accuracy: str | None = None,
    rater_std: float = 0.01,
    correlation: float = 0.0,
    spread: float = 0.0,
    n_labels: int = 2,
    n_raters: int | None = None,
    agreement: float | None = None,
    rho: float | None = None,
    reported_accuracy: float | None = None,
    wanted_actual: float | None = None,
    pilot: str | None = None,
    columns: str | None = None,
    reference_column: str | None = None,
    filter: str | None = None,
    cut: float | None = None,
    cost_rater: float | None = None,
    cost_error: float | None = None,
    kappa: float | None = None,
    prevalence: float | None = None,
    width: float | None = None,
    n_cases: int | None = None,
    max_raters: int = 15,
    gain: float = 0.01,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
    pictures: bool = True,
    out: Path = Path("manytruths-out"),
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """How many raters, and how many cases, would be enough: --wanted 0.95 --rater-accuracy 0.85.

    Parameters
    ----------
    wanted
        Accuracy that the majority is to have, from 0 to 1.
    rater_accuracy
        How often a rater is right: 0.85 for all, or one each, 0.8,0.9,0.85.
    rater_std
        How far raters differ, for the chart of panels drawn at random.
    correlation
        Between the raters' errors, 0 to 1: some cases are hard for all.
    spread
        The same in logits of the cases' difficulty, for raters who differ.
    n_labels
        Number of labels.
    n_raters
        Number of raters, present or planned.
    agreement
        How often two raters agree (Po), to enter the nomogram with.
    rho
        The reliability score rho, to enter the nomogram with.
    reported_accuracy
        Accuracy of an algorithm as measured against the raters' majority.
    wanted_actual
        Accuracy that the algorithm is to have in truth.
    pilot
        Table of ratings of a pilot, as for the command reliability; or its masks, as in agree.
    columns
        The pilot's columns under other names: case=image,rater=reader,label=dx.
    reference_column
        The pilot's column of reference labels.
    filter
        Only lines of the pilot with these values: treatment=1.
    cut
        Ratings of this or more are positive.
    cost_rater
        What one rating of one case costs.
    cost_error
        What a wrong label of a case costs, in the same money.
    kappa
        Fleiss' kappa as expected.
    prevalence
        Share of cases that a rater marks, as expected.
    width
        Width of kappa's interval that is wanted.
    n_cases
        Number of cases, to compute the width of kappa's interval.
    max_raters
        The largest panel to compute.
    gain
        Without costs: two more raters are worth it when they add so much.
    level
        Of intervals.
    seed
        Seed of resampling and simulation.
    resamples
        Resamples of the pilot's cases.
    pictures
        Write charts.
    out
        Folder for the results, which are written into a folder plan.
    quiet
        Print nothing but errors.
    """
    import manytruths as mt

    result = mt.plan(
        out=out, wanted=wanted, rater_accuracy=shares(rater_accuracy), rater_std=rater_std, correlation=correlation,
        spread=spread, n_labels=n_labels, n_raters=n_raters, agreement=agreement, rho=rho,
        reported_accuracy=reported_accuracy, wanted_actual=wanted_actual, pilot=pilot,
        columns=pairs("--columns", columns) or None, reference_column=reference_column,
        filter=pairs("--filter", filter) or None, cut=cut, cost_rater=cost_rater, cost_error=cost_error, kappa=kappa,
        prevalence=prevalence, width=width, n_cases=n_cases, max_raters=max_raters, gain=gain, level=level, seed=seed,
        resamples=resamples, pictures=pictures,
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0


def shares(text: str | None) -> tuple[float, ...]:
    """``0.8,0.9`` as numbers."""
    try:
        return tuple(float(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise CallError(f"--rater-accuracy wants numbers from 0 to 1, as in 0.85 or 0.8,0.9; got {text!r}") from None
