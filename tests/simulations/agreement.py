"""How often Krippendorff's rule is said to hold, or not to hold, where mean alpha is exactly at its limit.

Subjects' alphas are drawn from a beta distribution from −1 to 1 whose mean is the limit; or a tenth of the subjects
fail, with an alpha of 0, and the others make up for it. Everything after them is what ``agree`` uses.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from manytruths.claims.agreement import FIRM, TENTATIVE, AgreementFacts, consider_agreement
from manytruths.claims.claim import ClaimLog
from manytruths.claims.numbers import TableIndex
from manytruths.inference.intervals import mean_intervals
from manytruths.io.result_tables import Row, Table

from .algorithms import ClaimRate

SUBJECTS = (10, 20, 50)
CONCENTRATION = 20.0
"""Of the beta distribution: a standard deviation of 0.13 around 0.8."""
FAILING = 0.1
RULE = {"agreement.reliable": FIRM, "agreement.tentative": TENTATIVE, "agreement.unreliable": TENTATIVE}


def rule_rates(studies: int, seed: int = 0) -> Iterator[ClaimRate]:
    """Each verdict at its limit, and (power) beyond."""
    rng = np.random.default_rng(seed)
    for subjects in SUBJECTS:
        for claim, limit in RULE.items():
            beyond = limit + (-0.15 if claim == "agreement.unreliable" else 0.1)
            for mean, false in ((limit, True), (beyond, False)):
                alphas = _alphas(rng, studies, subjects, mean)
                yield _rate(claim, f"mean alpha {mean:g}", alphas, false=false)


def failing_rates(studies: int, seed: int = 0) -> Iterator[ClaimRate]:
    """The same where one subject in ten fails: ten subjects hold none of them in a third of all studies."""
    rng = np.random.default_rng(seed)
    for subjects in SUBJECTS:
        for claim in ("agreement.reliable", "agreement.tentative"):
            others = RULE[claim] / (1 - FAILING)
            values = np.where(rng.random((studies, subjects)) < FAILING, 0, _alphas(rng, studies, subjects, others))
            yield _rate(claim, f"mean alpha {RULE[claim]:g}, one subject in ten fails", values)


def _rate(claim: str, truth: str, alphas: NDArray[np.float64], *, false: bool = True) -> ClaimRate:
    studies, subjects = alphas.shape
    made = sum(claim in _verdicts(values) for values in alphas)
    return ClaimRate(claim, truth, subjects, 0, 1, studies, made, false=false)


def _alphas(rng: np.random.Generator, studies: int, subjects: int, mean: float) -> NDArray[np.float64]:
    share = (1 + mean) / 2
    return 2 * rng.beta(share * CONCENTRATION, (1 - share) * CONCENTRATION, (studies, subjects)) - 1


def _verdicts(values: NDArray[np.float64]) -> list[str]:
    """The verdicts on the alphas of one study; tentative ones hold for firm ones, too."""
    (found,) = mean_intervals(values[:, None], "kappa")
    table = Table("agreement")
    table.append(Row("mean", "krippendorff_alpha", found.value, low=found.low, high=found.high, n=len(values)))
    log = ClaimLog()
    consider_agreement(log, TableIndex("agree/agreement.csv", table), AgreementFacts(raters=5, subjects=len(values)))
    made = [claim.kind.id for claim in log.settle().made]
    return [*made, "agreement.tentative"] if "agreement.reliable" in made else made
