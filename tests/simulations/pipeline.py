"""Whole studies in which nothing is to be found, through the public functions: how often is anything claimed?

Every rater, and the algorithms too, mark the same lesion with errors of one distribution. A claim of a difference is
then false, whatever it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.analyses.result import Result
from manytruths.claims.agreement import FIRM, TENTATIVE
from manytruths.reporting.findings import rank_algorithms

SIZE = 32
MANY = 3000
ROWS, COLUMNS = np.mgrid[:SIZE, :SIZE]


@dataclass(frozen=True)
class NullStudy:
    """A study of equal raters."""

    subjects: int
    raters: int
    labels: int = 1
    algorithms: int = 0
    groups: bool = False
    """Whether raters and cases are divided into two groups each, which are compared."""
    primary: str = ""

    def __str__(self) -> str:
        parts = [f"{self.subjects} subjects", f"{self.raters} raters"]
        parts += [f"{self.labels} labels"] if self.labels > 1 else []
        parts += [f"{self.algorithms} algorithms"] if self.algorithms else []
        parts += ["two groups of raters, two of cases"] if self.groups else []
        parts += [f"primary claim {self.primary}"] if self.primary else []
        return ", ".join(parts)


def simulate_masks(study: NullStudy, rng: np.random.Generator) -> mt.Study:
    """A study of arrays: discs with a border that each rater draws with errors of their own."""
    cases: dict[str, dict[str, NDArray[np.uint8]]] = {}
    predictions: dict[str, dict[str, NDArray[np.uint8]]] = {}
    for number in range(study.subjects):
        centre, radius, spread = rng.uniform(13, 19, 2), rng.uniform(6, 10), rng.lognormal(-0.3, 0.4)
        masks = [_draw(centre, radius, spread, study.labels, rng) for _ in range(study.raters + study.algorithms)]
        name = f"p{number:02d}"
        cases[name] = {f"R{k}": mask for k, mask in enumerate(masks[: study.raters], start=1)}
        predictions[name] = {f"N{k}": mask for k, mask in enumerate(masks[study.raters :], start=1)}
    known = {f"R{k}": {"hand": "left" if k % 2 else "right"} for k in range(1, study.raters + 1)}
    days = {name: f"day={number % 2}" for number, name in enumerate(cases)}
    return mt.Study.from_arrays(
        cases,
        predictions=predictions if study.algorithms else None,
        groups=days,
        properties=known,
        primary=study.primary,
    )


def _draw(
    centre: NDArray[np.float64], radius: float, spread: float, labels: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """One rater's mask: rings of labels around a centre."""
    y, x = centre + spread * rng.normal(0, 0.5, 2)
    apart = np.hypot(ROWS - y, COLUMNS - x)
    limits = radius * np.linspace(1, 0.4, labels) * np.exp(rng.normal(0, 0.08, labels))
    return np.sum([apart < limit for limit in limits], axis=0).astype(np.uint8)


@cache
def true_alpha(study: NullStudy) -> float:
    """Mean alpha of very many cases."""
    many = simulate_masks(replace(study, subjects=MANY, algorithms=0), np.random.default_rng(MANY)).tally()
    return float(np.mean([mt.krippendorff_alpha(tally) for tally in many.values()]))


def false_of(study: NullStudy, seed: int) -> list[str]:
    """The identifiers of the false claims that are made of one simulated study by all commands of a report."""
    masks = simulate_masks(study, np.random.default_rng(seed))
    results: list[Result] = [mt.agree(masks, pictures=False, by="hand,day" if study.groups else ())]
    if study.algorithms:
        judged = mt.evaluate(masks, distances=False)
        ranked = rank_algorithms(judged, resamples=200)
        results += [judged] if ranked is None else [judged, ranked]
    alpha = true_alpha(study)
    true = {"agreement.reliable": alpha >= FIRM, "agreement.tentative": alpha >= TENTATIVE,
            "agreement.unreliable": alpha < TENTATIVE}  # fmt: skip
    kinds = [claim.kind for result in results for claim in result.claims.made]
    return [kind.id for kind in kinds if kind.kind in ("difference", "equivalence") and not true.get(kind.id, False)]


def false_claims(study: NullStudy, studies: int, *, jobs: int = 1) -> list[list[str]]:
    """The identifiers of the false claims of so many studies."""
    true_alpha(study)  # once, before processes start
    with get_context("fork").Pool(jobs) as pool:
        return pool.map(partial(false_of, study), range(studies), chunksize=20)


def claim_rates(made: Sequence[Sequence[str]]) -> Iterator[tuple[str, float]]:
    """How often each claim, and any claim, is made."""
    counts = Counter(kind for kinds in made for kind in set(kinds))
    yield "any", sum(map(bool, made)) / len(made)
    yield from ((kind, count / len(made)) for kind, count in sorted(counts.items()))
