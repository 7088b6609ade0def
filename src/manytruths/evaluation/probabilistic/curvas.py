"""The scores of the CURVAS challenge that go by the likeliest label of every pixel.

Background is a label like the others: without a map of its own it has what the other maps leave of 1. Of equal
probabilities the first counts. Its score of volumes is :func:`manytruths.curvas_crps`.

**Dice in areas of consensus.** Of each label, pixels count that all raters gave it, A, and those that no rater gave it,
B; what is left is not judged. With P where the label is the likeliest ::

    2 |P ∩ A| / (|P ∩ (A ∪ B)| + |A|)

It is undefined where A is empty. That is the paper's definition. The program that the challenge published in 2024 hands
whole volumes to a function of MONAI that expects a batch and channels: it takes slices for the batch and rows for
channels, leaves out the first row of each slice, and averages Dice over the rows that cross A. Rows without A do not
count, so that marks there cost nothing.

References
----------
Riera-Marín M et al. Calibration and uncertainty for multirater volume assessment in multiorgan segmentation (CURVAS)
challenge results. 2025. doi:10.48550/arXiv.2505.08685
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError, few
from ...core.labels import VOID
from ...core.mask_arrays import Masks
from ...core.undefined import Undefined
from ..responses import index_masks
from .binning import bin_forecasts
from .forecasts import check_label_sums, with_label

CURVAS_BINS = 50
"""Bins of the challenge's calibration error."""


def curvas_dice(probabilities: Mapping[Any, ArrayLike], masks: Masks, *, void: int | None = None) -> dict[int, float]:
    """Dice of the likeliest label where all raters agree, as the CURVAS challenge defines it.

    Pixels that some raters gave the label and others did not are left out, so that it says nothing of borders on which
    raters differ; :func:`extended_dice` counts what a prediction marks beyond all raters, and what it misses of theirs.

    Parameters
    ----------
    probabilities : dict
        ``{label: map}`` with values of labels; without a map of 0, the background has what is left of 1.
    masks : dict, sequence or numpy.ndarray of masks
        The raters' masks.
    void : int, optional
        The value that means "not rated"; of the others, all must agree.

    Returns
    -------
    dict of int to float
        Dice of each label but 0; undefined where no pixel was given it by all raters.

    References
    ----------
    Riera-Marín M et al. 2025. doi:10.48550/arXiv.2505.08685

    Examples
    --------
    >>> maps = {1: [0.9, 0.8, 0.7, 0.4, 0.6]}
    >>> curvas_dice(maps, {"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 1, 0]})  # the third pixel is not judged
    {1: 0.6666666666666666}
    """
    likeliest, _ = _likeliest_labels(probabilities)
    indexed = index_masks(masks, references={"likeliest": likeliest}, void=void).tally
    found = {}
    for value in sorted(int(label) for label in probabilities if int(label) != 0):
        table = with_label(indexed, value)
        code, own = table.labels.values.index(value), table.position(table.role("reference")[0])
        given = table.patterns[:, table.raters]
        rated, gave = given != VOID, given == code
        agreed = rated.any(axis=1) & (gave | ~rated).all(axis=1)
        judged = agreed | (rated.any(axis=1) & ~gave.any(axis=1))
        here = table.patterns[:, own] == code
        both, ours, theirs = (int(table.counts[some].sum()) for some in (here & agreed, here & judged, agreed))
        found[value] = 2 * both / (ours + theirs) if theirs else Undefined("no_item_marked_by_all")
    return found


def curvas_calibration_error(
    probabilities: Mapping[Any, ArrayLike], masks: Masks, *, bins: int = CURVAS_BINS, void: int | None = None
) -> float:
    """Calibration error of the likeliest label, in the mean over raters, as the CURVAS challenge scores it.

    Every pixel counts by the probability of its likeliest label, background among them, and by whether a rater gave
    that label. Most pixels are background that everybody leaves, so that it is small for any map that knows them.

    Parameters
    ----------
    probabilities : dict
        ``{label: map}`` with values of labels; without a map of 0, the background has what is left of 1.
    masks : dict, sequence or numpy.ndarray of masks
        The raters' masks.
    bins : int
        Number of bins. In the challenge's, unlike in those of :func:`expected_calibration_error`, a bin holds its lower
        edge, and a probability of exactly 1 has a bin of its own.
    void : int, optional
        The value that means "not rated".

    Returns
    -------
    float
        From 0 to 1, the lower the better.

    References
    ----------
    Riera-Marín M et al. 2025. doi:10.48550/arXiv.2505.08685

    Examples
    --------
    >>> maps = {1: [0.9, 0.2, 0.0], 2: [0.1, 0.7, 0.0]}
    >>> round(curvas_calibration_error(maps, {"A": [1, 2, 0], "B": [1, 1, 0]}), 4)
    0.2
    """
    likeliest, probability = _likeliest_labels(probabilities)
    indexed = index_masks(masks, references={"likeliest": likeliest}, void=void)
    edges = np.linspace(0, 1, bins + 1)
    binned = bin_forecasts(probability, indexed, bins=np.append(np.append(0, np.nextafter(edges[1:], 0)), 1))
    patterns, own = indexed.tally.patterns, indexed.tally.position(indexed.tally.role("reference")[0])
    errors = []
    for i in indexed.tally.raters:
        hits = np.where(patterns[:, i] == VOID, np.nan, patterns[:, i] == patterns[:, own])
        if not np.isnan(hits).all():
            errors.append(binned.against(hits).expected_calibration_error)
    return float(np.mean(errors)) if errors else Undefined("not_rated")


def _likeliest_labels(probabilities: Mapping[Any, ArrayLike]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The likeliest label of every pixel, and its probability."""
    check_label_sums(probabilities)
    if not all(isinstance(label, int | np.integer) or str(label).isdecimal() for label in probabilities):
        raise CallError(
            f"maps are named by the values of labels, background is 0; got {few(list(map(str, probabilities)))}"
        )
    maps = {int(label): np.asarray(values, np.float64) for label, values in probabilities.items()}
    # what rounding leaves below 0 is no probability
    left = np.clip(1 - sum(maps.values()), 0, 1)
    ordered = {0: left, **maps}
    stack = np.stack(list(ordered.values()))
    return np.array(list(ordered), np.int64)[stack.argmax(axis=0)], stack.max(axis=0)
