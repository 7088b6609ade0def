"""Raters, or algorithms, judged by a probability map.

With W the probability that an item is marked, D the decision, sums over the N items that were rated ::

    soft_sensitivity    p = Σ_(D = 1) W / Σ W                     soft_specificity  q = Σ_(D = 0) (1 − W) / Σ (1 − W)
    soft_accuracy       (Σ_(D = 1) W + Σ_(D = 0) (1 − W)) / N
    gordon_f            p q / (α p + (1 − α) q), of sensitivity and specificity, not of precision and recall
    balanced_accuracy   (p + q) / 2, Gordon's mean predictive value (PV)

Each gives one value a column, in their order: nan where nothing is true, or nothing false.

Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med Imaging
Graph 2009;33:205–216, eqs. 5, 9, 10. doi:10.1016/j.compmedimag.2008.12.002
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally
from ..core.undefined import divide
from .result import Consensus, Values

Truth = Consensus | ArrayLike
Columns = Sequence[str | Column] | None


def soft_sensitivity(tally: Tally, truth: Truth, columns: Columns = None) -> Values:
    """Sensitivity of each column against a probability.

    Parameters
    ----------
    tally : Tally
        The decisions.
    truth : Consensus or array
        A consensus of this tally, or one probability per pattern.
    columns : sequence of str or Column, optional
        Whom to judge; by default the raters.

    Returns
    -------
    ndarray
        One value per column; nan where nothing is true, or nothing false.

    References
    ----------
    * Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput
      Med Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [0, 1, 0]})
    >>> mt.soft_sensitivity(t, [0.0, 0.5, 1.0])
    array([1.        , 0.66666667])
    """
    hit, missed, _, _ = _cells(tally, truth, columns)
    return divide(hit, hit + missed)


def soft_specificity(tally: Tally, truth: Truth, columns: Columns = None) -> Values:
    """Specificity of each column against a probability.

    Parameters
    ----------
    tally : Tally
        The decisions.
    truth : Consensus or array
        A consensus of this tally, or one probability per pattern.
    columns : sequence of str or Column, optional
        Whom to judge; by default the raters.

    Returns
    -------
    ndarray
        One value per column; nan where nothing is true, or nothing false.

    References
    ----------
    * Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput
      Med Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002
    """
    _, _, extra, spared = _cells(tally, truth, columns)
    return divide(spared, spared + extra)


def soft_accuracy(tally: Tally, truth: Truth, columns: Columns = None) -> Values:
    """Expected share of items that each column decides as the probability has it.

    Parameters
    ----------
    tally : Tally
        The decisions.
    truth : Consensus or array
        A consensus of this tally, or one probability per pattern.
    columns : sequence of str or Column, optional
        Whom to judge; by default the raters.

    Returns
    -------
    ndarray
        One value per column; nan where nothing is true, or nothing false.

    References
    ----------
    * Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput
      Med Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002
    """
    hit, missed, extra, spared = _cells(tally, truth, columns)
    return divide(hit + spared, hit + missed + extra + spared)


def gordon_f(tally: Tally, truth: Truth, columns: Columns = None, alpha: float = 0.5) -> Values:
    """Weighted harmonic mean of sensitivity and specificity of each column against a probability.

    Parameters
    ----------
    tally : Tally
        The decisions.
    truth : Consensus or array
        A consensus of this tally, or one probability per pattern.
    columns : sequence of str or Column, optional
        Whom to judge; by default the raters.
    alpha : float
        Weight of the specificity, from 0 to 1.

    Returns
    -------
    ndarray
        One value per column; nan where nothing is true, or nothing false.

    References
    ----------
    * Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput
      Med Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002
    """
    if not 0 <= alpha <= 1:
        raise CallError(f"alpha must be from 0 to 1; got {alpha!r}")
    p, q = soft_sensitivity(tally, truth, columns), soft_specificity(tally, truth, columns)
    return np.where(p + q == 0, 0.0, divide(p * q, alpha * p + (1 - alpha) * q))


def balanced_accuracy(tally: Tally, truth: Truth, columns: Columns = None) -> Values:
    """Mean of sensitivity and specificity of each column against a probability.

    Parameters
    ----------
    tally : Tally
        The decisions.
    truth : Consensus or array
        A consensus of this tally, or one probability per pattern.
    columns : sequence of str or Column, optional
        Whom to judge; by default the raters.

    Returns
    -------
    ndarray
        One value per column; nan where nothing is true, or nothing false.

    References
    ----------
    * Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput
      Med Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002
    """
    return (soft_sensitivity(tally, truth, columns) + soft_specificity(tally, truth, columns)) / 2


def _cells(tally: Tally, truth: Truth, columns: Columns) -> tuple[Values, Values, Values, Values]:
    """True and marked, true and left, false and marked, false and left: expected items of each column."""
    weight = _weight(tally, truth)
    where = list(tally.raters) if columns is None else [tally.position(c) for c in columns]
    # every measure asks for them, and a tally does not change
    kept: tuple[Values, list[int], tuple[Values, Values, Values, Values]] | None = tally.__dict__.get("_soft_cells")
    if kept is not None and kept[1] == where and np.array_equal(kept[0], weight, equal_nan=True):
        return kept[2]
    rows = tally.patterns[:, where]
    marked = np.isin(rows, tally.labels.marks)
    left = ~marked & (rows != VOID)
    true, false = tally.counts * weight, tally.counts * (1 - weight)
    cells = true @ marked, true @ left, false @ marked, false @ left
    tally.__dict__["_soft_cells"] = (weight.copy(), where, cells)
    return cells


def _weight(tally: Tally, truth: Truth) -> Values:
    if isinstance(truth, Consensus) and truth.tally is not tally and truth.tally != tally:
        raise CallError(
            f"this {truth.method} is of another table; estimate it from this one, or give one value a pattern"
        )
    weight = np.asarray(truth.probability if isinstance(truth, Consensus) else truth, np.float64)
    if weight.ndim == 2 and tally.labels.background is not None:
        weight = 1 - weight[:, tally.labels.background]
    if weight.shape != tally.counts.shape:
        raise CallError(f"the truth is one probability a pattern, {len(tally.counts)}; got shape {weight.shape}")
    return weight
