"""What ``progress`` keeps of a case: how its raters agree, how much each marked, and what its masks show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ...agreement import fleiss_kappa, krippendorff_alpha
from ...core.columns import Column
from ...core.labels import VOID
from ...core.tally import Tally
from ...fusion.vote import mean_label_dice
from ...raters.broken_masks import MaskReview
from ...raters.dependence import same_labels
from ...shape.mask_errors import ALIKE
from ...study import Case, Study
from ...study.suspicions import review_reading

Floats = NDArray[np.float64]

FEWEST_OTHERS = 2
"""Others who must have the other label: of two raters, nobody knows whose name is wrong."""
STATISTICS: Mapping[str, Callable[[Tally], float]] = {
    "fleiss_kappa": fleiss_kappa,
    "krippendorff_alpha": krippendorff_alpha,
}


@dataclass(frozen=True, eq=False)
class CaseProgress:
    """A case, first readings only.

    Attributes
    ----------
    columns : tuple of Column
        Raters with the session that counts.
    labels : tuple of str
        The labels but background that this case has, or that are declared.
    dice : numpy.ndarray
        (raters, raters) Dice, of several labels the mean over those that either of two raters gave; NaN where both
        marked nothing.
    same : numpy.ndarray
        (raters, raters) share of the pixels where either of two gave another label than the most frequent one to which
        both gave the same.
    sizes : numpy.ndarray
        (labels, raters) marked pixels.
    statistics : mapping of str to float
        Fleiss' kappa and Krippendorff's alpha.
    region : str
        What was counted.
    renamed : tuple of tuple
        Raters who gave a label that nobody else gave here, where most others gave one that they did not: rater, own
        label and that of the others. Half of the two overlaps (Dice), so that it is a name for the same.
    review : MaskReview
        Masks that are probably broken, and what is kept to compare cases.
    axes : int
        Of the masks.
    """

    columns: tuple[Column, ...]
    labels: tuple[str, ...]
    dice: Floats
    same: Floats
    sizes: Floats
    statistics: Mapping[str, float]
    region: str
    renamed: tuple[tuple[str, str, str], ...]
    review: MaskReview
    axes: int


def describe_case(case: Case) -> CaseProgress:
    """What is known of a case."""
    reading = case.read(by_tile=True)
    table = reading.tally(judged=False)
    whole = table if table.region == "whole" else reading.tally("whole", judged=False)
    review = review_reading(reading, whole)
    table = table.project([table.columns[i] for i in table.raters if (table.patterns[:, i] != VOID).any()])
    marks = list(table.labels.marks)
    counts = table.contingency.sum(axis=3)[..., marks]
    sizes = np.diagonal(counts, axis1=0, axis2=1).astype(np.float64)
    nothing = (counts + counts.swapaxes(0, 1)).sum(axis=-1) == 0
    dice = np.where(nothing, np.nan, mean_label_dice(table))
    found = {name: statistic(table) for name, statistic in STATISTICS.items()}
    labels = tuple(table.labels.names[mark] for mark in marks)
    return CaseProgress(
        tuple(table.columns[i] for i in table.raters), labels, dice, same_labels(table), sizes, found, table.region,
        tuple(find_renamed(table)), review, len(reading.grid.shape),
    )  # fmt: skip


def find_renamed(table: Tally) -> Iterator[tuple[str, str, str]]:
    """Raters with a label of their own where most others have another one at the same place.

    >>> import manytruths as mt
    >>> a, b = [[1, 1, 0, 0]], [[2, 2, 0, 0]]
    >>> list(find_renamed(mt.tally({"anna": a, "ben": b, "clara": a})))
    [('ben', '2', '1')]
    """
    pairs, marks = table.contingency, list(table.labels.marks)
    counts = pairs.sum(axis=3)
    used = np.diagonal(counts, axis1=0, axis2=1).T > 0
    for i, rater in enumerate(table.rater_names):
        others = [j for j in range(len(used)) if j != i]
        for own in (mark for mark in marks if used[i, mark] and not used[others, mark].any()):
            for theirs in (mark for mark in marks if not used[i, mark]):
                who = [j for j in others if used[j, theirs]]
                if len(who) < FEWEST_OTHERS or 2 * len(who) <= len(others):
                    continue
                dice = [2 * pairs[i, j, own, theirs] / (counts[i, j, own] + counts[j, i, theirs]) for j in who]
                if median(dice) >= ALIKE:
                    yield rater, table.labels.names[own], table.labels.names[theirs]


def bare_study(study: Study) -> Study:
    """The same cases without all that their masks do not depend on, so that other changes leave what is kept as it is.

    A new rater is absent from every case, and a row of the reading log is no mask.
    """
    return study.with_cases([
        replace(
            case, absent=(), groups=(), statuses={}, reasons={}, properties={}, order=None, predictions={},
            references={}, ranks={}, training={}, samples={}, series={}, lesions=(), missing=(), missing_references=(),
            missing_samples=(), edits={}, decisions=None,
        )
        for case in study
    ])  # fmt: skip
