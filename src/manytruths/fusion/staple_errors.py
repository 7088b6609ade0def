"""Standard errors of STAPLE's rates from the observed information matrix.

The log-likelihood of the table is Σ n_i ln f_i with f_i = Σ_k g_ik, g_ik = π_k Π_j θ_j[k, D_ij]. Since ln g is a sum
of logarithms of parameters x, each met at most once, its second derivatives cancel against the squares of its first ::

    −∂²ℓ / ∂x ∂y = Σ_i n_i ( s_ix s_iy − Σ_k W_ik h_ikx h_iky [x ≠ y] ),    h = ∂ ln g_ik,   s = Σ_k W_ik h_ik

The rows of θ sum to 1: the matrix is inverted among the steps that keep them so. Rates at 0 or 1 are held there, and
have no standard error.

They are right only for items that are independent of each other: ratings of cases, say. Neighbouring pixels are not,
and these errors are then far too small: use :func:`manytruths.confidence_interval`, which draws subjects.

Louis TA. Finding the observed information matrix when using the EM algorithm. J R Stat Soc B 1982;44:226–233.
doi:10.1111/j.2517-6161.1982.tb01203.x. Commowick O, Warfield SK. Estimation of inferential uncertainty in assessing
expert segmentation performance from STAPLE. IEEE Trans Med Imaging 2010;29:771–780. doi:10.1109/TMI.2009.2036011
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .em import Decisions, Values, e_step, log
from .staple import Staple, pseudo_counts, read_decisions

EDGE = 1e-6
"""A rate this near to 0 or 1 is held there."""
UNIDENTIFIED = "the table does not identify the rates: with fewer than three raters, many fit as well"


@dataclass(frozen=True, eq=False)
class RateErrors:
    """Standard errors, for independent items; nan where a rate lies at 0 or 1, or cannot be told."""

    raters: tuple[str, ...]
    sensitivity: Values
    """Of p of each rater, or of each rater and label."""
    specificity: Values
    """Of q of each rater; for more labels, empty: see ``confusion``."""
    confusion: Values
    """Of (raters, truth, given)."""
    prior: Values
    """Of the prior of each label; nan where it was not estimated."""
    reason: str = ""
    """Why there are none."""


def rate_errors(result: Staple) -> RateErrors:
    """Standard errors of the rates of a :class:`Staple` of patterns; see :meth:`Staple.standard_errors`."""
    if result.tally is None:
        raise CallError("standard errors are for STAPLE of a table; neighbouring items of a map are not independent")
    decisions, _ = read_decisions(result.tally, result.options)
    prior = np.array([1 - result.prior, result.prior]) if isinstance(result.prior, float) else result.prior
    # (labels, raters × given and one): for each truth its rates, rater by rater, and its prior
    rates = np.column_stack([result.confusion.transpose(1, 0, 2).reshape(len(prior), -1), prior])
    free = (rates > EDGE) & (rates < 1 - EDGE)
    free[:, -1] &= result.options.estimate
    if not free.any() or not decisions.counts.any():
        return _errors(result, np.full(rates.shape, np.nan), "every rate is 0 or 1, or cannot be told")
    matrix = _information(decisions, result.confusion, prior, rates)
    matrix += np.diag(_curvature(result, rates).ravel())
    # inverted among the steps that keep every row's sum
    steps = _steps(free)
    inside = steps.T @ matrix @ steps
    smallest = np.linalg.eigvalsh(inside)[0] if inside.size else 0.0
    if smallest <= 1e-9 * np.abs(inside).max(initial=1.0):
        return _errors(result, np.full(free.shape, np.nan), UNIDENTIFIED)
    variance = np.diagonal(steps @ np.linalg.inv(inside) @ steps.T).reshape(free.shape)
    return _errors(result, np.where(free, np.sqrt(variance), np.nan), "")


def _information(decisions: Decisions, confusion: Values, prior: Values, rates: Values) -> Values:
    """Over all parameters, as if they were free."""
    weight, _ = e_step(decisions, confusion, log(prior))
    # h: (labels, patterns, parameters of the label); 0 for those held at 0
    met = np.column_stack([decisions.table.chosen, np.ones(len(decisions.votes))])
    slopes = met[None] * np.divide(1.0, rates, out=np.zeros_like(rates), where=rates > EDGE)[:, None, :]
    score = (weight.T[:, :, None] * slopes).transpose(1, 0, 2).reshape(len(weight), -1)
    matrix = (score * decisions.counts[:, None]).T @ score
    for k, slope in enumerate(slopes):
        inner = (slope * (decisions.counts * weight[:, k])[:, None]).T @ slope
        np.fill_diagonal(inner, 0.0)
        block = slice(k * len(inner), (k + 1) * len(inner))
        matrix[block, block] -= inner
    return np.asarray(matrix)


def _curvature(result: Staple, rates: Values) -> Values:
    """What a prior on the rates adds: (a − 1) / θ²."""
    pseudo = np.tile(pseudo_counts(result.options.map_prior, len(rates)), (1, len(result.raters)))
    each = np.column_stack([pseudo, np.zeros(len(rates))])
    return np.asarray(np.divide(each, rates**2, out=np.zeros_like(rates), where=rates > EDGE))


def _steps(free: NDArray[np.bool_]) -> Values:
    """Columns: one free rate of a row up, the row's last free one down."""
    labels, width = free.shape
    places = np.arange(free.size).reshape(free.shape)
    rows = [*places[:, :-1].reshape(labels * (width - 1) // labels, labels), places[:, -1]]
    columns = []
    for row in rows:
        open_ = row[free.ravel()[row]]
        for i in open_[:-1]:
            step = np.zeros(free.size)
            step[[i, open_[-1]]] = 1.0, -1.0
            columns.append(step)
    return np.stack(columns, axis=1) if columns else np.zeros((free.size, 0))


def _errors(result: Staple, each: Values, reason: str) -> RateErrors:
    labels, raters = len(result.labels), len(result.raters)
    confusion = each[:, :-1].reshape(labels, raters, labels).transpose(1, 0, 2)
    right = np.array(np.diagonal(confusion, axis1=1, axis2=2))
    rates = (right, np.zeros(0)) if labels > 2 else (right[:, 1], right[:, 0])
    return RateErrors(result.raters, *rates, confusion, each[:, -1], reason)
