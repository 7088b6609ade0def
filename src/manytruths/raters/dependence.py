"""Do raters err together? What two of them share beyond the truth.

With w the share of true items among the n that two raters rated, p and q the raters' sensitivity and specificity on
these items (a rater who is absent from some cases has other rates beside each of the others), raters who err
independently of each other both mark an item with ::

    e_ij = w p_i p_j + (1 − w) (1 − q_i) (1 − q_j)                      expected
    s²   = w p_i (1 − p_i) p_j (1 − p_j) + (1 − w) q_i (1 − q_i) q_j (1 − q_j)
    v_i  = w p_i (1 − p_i) + (1 − w) q_i (1 − q_i)                      the part of a rater's decisions that is error

and from the share o_ij of items that both did mark come ::

    excess          z_ij = (o_ij − e_ij) √n / s
    correlation     ρ_ij = (o_ij − e_ij) / √(v_i v_j), of the decisions given the truth
    effective       R / (1 + (R − 1) ρ̄), ρ̄ the mean over pairs, taken as 0 where it is less

The last is Kish's: the mean of so many independent raters errs as much as the mean of these. It is computed against a
given reference only. Without one, w, p and q are STAPLE's. STAPLE takes raters for independent given the truth, and so
takes errors that they share for truth: the correlations that are left are smaller than those of the errors. Five raters
with an error correlation of 0.34, worth 2.1 independent ones, keep a residual correlation of 0.09.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairMatrix, contingency
from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally, presence_groups
from ..core.undefined import Undefined, divide
from ..fusion import Staple, staple
from ..fusion.staple import Prior
from .differences import check_named_raters

Values = NDArray[np.float64]

COPY = 0.98
"""Two raters who give the same label in a larger share may be copies, or one an edit of the other."""
FEWEST = 4
"""STAPLE explains any three raters by independence, as it has as many unknowns as there are patterns."""


@dataclass(frozen=True)
class PossibleCopy:
    """Two raters too much alike to be independent."""

    rater_a: str
    rater_b: str
    same: float
    """Of the pixels where either gave another label than the most frequent one, the share with the same label."""


@dataclass(frozen=True)
class RaterDependence:
    """What two raters share beyond the truth, for every two raters; NaN where it cannot be estimated.

    Of several labels, each is taken against the rest, and matrices are means over labels.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    observed : PairMatrix
        Share of the items that both rated which both marked.
    expected : PairMatrix
        The same, were they independent given the truth.
    excess : PairMatrix
        Observed minus expected in standard deviations of independent items.
    correlation : PairMatrix
        Correlation of the two raters' errors; 1 where they never differ, 0 where one of them makes none.
    mean_correlation : float
        Mean correlation over the pairs. Without a reference it is what STAPLE leaves unexplained: too small where
        raters share errors.
    effective_raters : float
        Number of raters with independent errors whose mean errs as much as that of these; undefined without a
        reference.
    same : PairMatrix
        Of the items where either of two raters gave another label than the most frequent one, the share to which both
        gave the same.
    copies : tuple of PossibleCopy
        Pairs with a share above the limit.
    reference : str
        The reference that errors are counted against; empty where STAPLE estimates the truth.
    fit : Staple or None
        The model that raters are compared with; None with a reference or several labels.
    by_label : mapping
        The same of each label, where there are several.
    """

    raters: tuple[str, ...]
    observed: PairMatrix
    expected: PairMatrix
    excess: PairMatrix
    correlation: PairMatrix
    mean_correlation: float
    effective_raters: float
    same: PairMatrix
    copies: tuple[PossibleCopy, ...]
    reference: str = ""
    fit: Staple | None = None
    by_label: Mapping[str, RaterDependence] = field(default_factory=dict)


def rater_dependence(
    tally: Tally, prior: Prior = "estimated", copy: float = COPY, *, reference: str | Column | None = None
) -> RaterDependence:
    """Estimate how far raters err together; against a reference also how many independent raters they are worth.

    Without a reference, pairs of raters are compared with what STAPLE, which takes raters for independent given the
    truth, expects of them. What raters share (a border that nobody can see) goes into the estimated truth, so that
    their errors may have far more in common: the correlations are too low, and no number of raters follows from them.
    Where some pixels are harder than others, raters who never met err on the same ones: a correlation does not
    say that they influenced each other. Pixels are not independent: read the excess as an order among pairs, not as a
    test.

    Parameters
    ----------
    tally : Tally
        Table of four or more raters: STAPLE explains any three by independence. With a reference two are enough.
    prior : float or str
        Prior of :func:`staple`.
    copy : float
        Two raters who give the same label to a larger share of the pixels where either of them gave another label than
        the most frequent one are named as possible copies, or one an edit of the other.
    reference : str or Column, optional
        The column that holds the reference standard, made without these raters.

    Returns
    -------
    RaterDependence
        Observed and expected pairs, their correlation and, with a reference, the effective number of raters.

    References
    ----------
    Qu Y, Tan M, Kutner MH. Random effects models in latent class analysis for evaluating accuracy of diagnostic tests.
    Biometrics 1996;52:797–810. doi:10.2307/2533043
    Kish L. Survey Sampling. Wiley, 1965.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(20_000) < 0.3
    >>> shared = rng.random(20_000) < 0.05
    >>> masks = [truth ^ shared ^ (rng.random(20_000) < 0.05) for _ in range(5)]
    >>> table = mt.tally(masks, references={"truth": truth})
    >>> round(mt.rater_dependence(table, reference="truth").effective_raters, 1)
    1.8
    >>> round(mt.rater_dependence(table).mean_correlation, 1)  # STAPLE takes the shared errors for truth
    0.0
    """
    check_named_raters(tally, "dependence")
    at = None if reference is None else tally.position(reference)
    if at is not None and at in tally.raters:
        raise CallError(f"{reference} is one of the raters: their own errors cannot be seen against it")
    same = PairMatrix("same_label", tally.rater_names, same_labels(tally))
    copies = _above(same, copy)
    parts = {tally.labels.names[m]: tally.only(tally.labels.names[m]) for m in tally.labels.marks}
    parts = parts or {"": tally.foreground()}
    found = {name: _dependence(part, prior, at, same, copies) for name, part in parts.items()}
    return average_dependence(found)


def possible_copies(tally: Tally, copy: float = COPY) -> tuple[PossibleCopy, ...]:
    """Pairs of raters who give the same label to so large a share that one mask may be a copy of the other."""
    return _above(PairMatrix("same_label", tally.rater_names, same_labels(tally)), copy)


def _above(same: PairMatrix, copy: float) -> tuple[PossibleCopy, ...]:
    return tuple(PossibleCopy(a, b, value) for a, b, value in same.pairs() if value > copy)


def same_labels(tally: Tally) -> Values:
    """For every two raters, of the items not of the most frequent label for both, the share with the same label."""
    tables, most = contingency(tally), int((tally.counts @ tally.votes).argmax())
    alike = np.trace(tables, axis1=-2, axis2=-1)
    ground = tables[..., most, most]
    return divide(alike - ground, tables.sum(axis=(-1, -2)) - ground)


def _dependence(
    table: Tally, prior: Prior, reference: int | None, same: PairMatrix, copies: tuple[PossibleCopy, ...]
) -> RaterDependence:
    """The dependence of raters who marked one label."""
    fit = None
    if reference is None:
        fit = staple(table, prior)
        truth = np.asarray(fit.probability)
    else:
        codes = table.patterns[:, reference]
        table = table.recount(np.where(codes == VOID, 0, table.counts))
        truth = (codes == 1).astype(np.float64)
    values = _compare(table, truth)
    name = "" if reference is None else table.columns[reference].name
    return _assemble(table.rater_names, values, same, copies, name, fit=fit)


def _assemble(
    raters: tuple[str, ...], values: Mapping[str, Values], same: PairMatrix, copies: tuple[PossibleCopy, ...],
    reference: str, *, fit: Staple | None = None, by_label: Mapping[str, RaterDependence] | None = None,
) -> RaterDependence:  # fmt: skip
    observed, expected, excess, correlation = (PairMatrix(name, raters, values[name]) for name in _MATRICES)
    mean, effective = _summary(correlation, reference)
    parts = by_label or {}
    return RaterDependence(
        raters, observed, expected, excess, correlation, mean, effective, same, copies, reference, fit, parts
    )


_CHUNK = 1 << 14
"""Patterns that are looked at together, so that no array of numbers of all patterns and raters is made."""
_MATRICES = ("observed", "expected", "excess", "correlation")


def _compare(table: Tally, truth: Values) -> dict[str, Values]:
    """Observed and expected share, excess and correlation of every two raters."""
    pairs = contingency(table)
    both, items = pairs[:, :, 1, 1], pairs.sum(axis=(-1, -2))
    true, p = _pair_rates(table, 1, table.counts * truth)
    _, q = _pair_rates(table, 0, table.counts * (1 - truth))
    hit, spared = p * (1 - p), q * (1 - q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        observed, share = both / items, true / items
        expected = share * p * p.T + (1 - share) * (1 - q) * (1 - q.T)
        spread = share * hit * hit.T + (1 - share) * spared * spared.T
        error = share * hit + (1 - share) * spared
        apart = observed - expected
        excess, correlation = apart * np.sqrt(items / spread), apart / np.sqrt(error * error.T)
    correlation = _resolve_zero_by_zero(pairs, expected, correlation)
    return {"observed": observed, "expected": expected, "excess": excess, "correlation": correlation}


def _pair_rates(table: Tally, right: int, weight: Values) -> tuple[Values, Values]:
    """For every two raters the weight of the items that both rated, and the share to which the first gave ``right``."""
    where = np.asarray(table.raters, np.intp)
    total, hits = np.zeros((2, len(where), len(where)))
    groups = ((rows[start : start + _CHUNK], here) for rows, here in presence_groups(table.patterns, where)
              for start in range(0, len(rows), _CHUNK))  # fmt: skip
    for rows, here in groups:
        given, at = table.patterns[np.ix_(rows, where[here])], np.ix_(here, here)
        rated = given != VOID
        if rated.all():  # whoever is compared, the items are the same
            total[at] += weight[rows].sum()
            hits[at] += (weight[rows] @ (given == right))[:, None]
        else:
            there = rated.astype(np.float64)
            total[at] += (there * weight[rows, None]).T @ there
            hits[at] += ((given == right) * weight[rows, None]).T @ there
    return total, divide(hits, total)


def _resolve_zero_by_zero(pairs: Values, expected: Values, correlation: Values) -> Values:
    """What 0/0 stands for: raters who never differ err as one; a rater who never errs errs with nobody."""
    differ = pairs[:, :, 0, 1] + pairs[:, :, 1, 0]
    settled = np.where(np.isfinite(correlation), correlation, 0.0)
    return np.where(np.isnan(expected), np.nan, np.where(differ == 0, 1.0, settled))


def average_dependence(found: Mapping[str, RaterDependence]) -> RaterDependence:
    """The dependence of raters over several labels: the means of the labels' matrices."""
    first, means = next(iter(found.values())), {}
    if len(found) == 1:
        return first
    for name in _MATRICES:
        values = np.stack([getattr(part, name).values for part in found.values()])
        known = np.isfinite(values)
        means[name] = divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))
    return _assemble(first.raters, means, first.same, first.copies, first.reference, by_label=found)


def _summary(correlation: PairMatrix, reference: str) -> tuple[float, float]:
    """The mean correlation and the effective number of raters."""
    raters, mean = len(correlation.names), correlation.mean()
    if not reference and raters < FEWEST:
        few = Undefined("too_few_raters_for_dependence")
        return few, few
    if np.isnan(mean):
        unknown = Undefined("no_two_rates_known")
        return unknown, unknown
    if not reference:
        return mean, Undefined("no_reference_for_dependence")
    return mean, raters / (1 + (raters - 1) * max(mean, 0.0))
