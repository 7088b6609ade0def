"""STAPLE of every case on its own, all cases at once.

EM on a small table takes microseconds, and most of those are spent on the way in and out of NumPy. Tables that share
their raters and labels are laid side by side over the union of their patterns, the steps of :mod:`.em` are done for all
of them together, and each leaves when it has converged: the numbers are those of :func:`staple`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tallies, Tally, align_counts
from .em import Decisions, Fit, Values, e_step, log, log_density_of_rates, m_step
from .staple import Prior, Staple, StapleOptions, make_result, pseudo_counts, read_decisions, staple, starting_prior

LARGEST = 256
"""Patterns beyond which a table is better off alone."""
MOST_CELLS = 1 << 22
"""Tables × patterns that are held at once."""


def staple_each(
    tallies: Mapping[str, Tally] | Iterable[Tally], prior: Prior = "prevalence", **options: Any
) -> dict[str, Staple]:
    """Run :func:`staple` on each of several tables at once; the results are the same.

    Parameters
    ----------
    tallies : mapping of str to Tally, or iterable of Tally
        Tables by case.
    prior : {"prevalence", "marked", "estimated"}, float or sequence of float
        As in :func:`staple`.
    **options : object
        Other arguments of :func:`staple`.

    Returns
    -------
    dict of str to Staple
        Results by case.

    Examples
    --------
    >>> import manytruths as mt
    >>> one = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 1]})
    >>> two = mt.tally({"A": [1, 1, 0, 0], "B": [0, 1, 0, 0], "C": [0, 1, 1, 0]})
    >>> {case: result.iterations for case, result in mt.staple_each({"p1": one, "p2": two}).items()}
    {'p1': 22, 'p2': 9}
    """
    tables = Tallies.of(tallies)
    together: dict[object, list[str]] = {}
    for case, table in tables.items():
        if _plain(table) and not (options.get("like") and len(table.labels) > 2):
            together.setdefault((table.columns, table.labels, table.region, table.exchangeable), []).append(case)
    result = {}
    for cases in together.values():
        whole, counts = align_counts([tables[case] for case in cases])
        if len(cases) > 1 and counts.size <= MOST_CELLS:
            result.update(_side_by_side(tables, cases, whole, counts, prior, options))
    return {case: result[case] if case in result else staple(table, prior, **options) for case, table in tables.items()}


def _plain(table: Tally) -> bool:
    """Few patterns, all with items, and at least two labels given."""
    given = (table.votes > 0).any(axis=0).sum()
    return 0 < len(table.counts) <= LARGEST and bool(table.counts.all()) and given > 1


def _side_by_side(
    tables: Mapping[str, Tally], cases: list[str], whole: Tally, counts: NDArray[np.int64], prior: Prior, options: Any
) -> dict[str, Staple]:
    settings = StapleOptions.of(whole, prior, **options)
    decisions, agreed = read_decisions(whole, settings)
    left = np.where(agreed | (whole.rated == 0), 0.0, counts.astype(np.float64))
    there = np.flatnonzero(left.any(axis=1))
    fits = _fit_each(decisions, left[there], whole, settings) if len(there) else []
    results = {}
    for t, fit in zip(there.tolist(), fits, strict=True):
        rows = counts[t] > 0
        results[cases[t]] = make_result(tables[cases[t]], replace(fit, weight=fit.weight[rows]), agreed[rows], settings)
    return results


def _fit_each(decisions: Decisions, counts: Values, whole: Tally, options: StapleOptions) -> list[Fit]:
    """One fit a row of counts; what has converged leaves."""
    pseudo, case = pseudo_counts(options.map_prior, decisions.labels), np.arange(len(counts))
    weight = decisions.share[None]
    prior = np.stack([starting_prior(replace(decisions, counts=row), whole, options.prior) for row in counts])
    fits, history = [_NOTHING] * len(counts), np.full((0, len(counts)), np.nan)
    confusion, moved = np.full((len(counts), 1, 1, 1), np.nan), np.full(len(counts), np.inf)
    for step in range(options.max_iter):
        here, last = replace(decisions, counts=counts), (confusion, prior)
        confusion = m_step(here, weight, pseudo)
        if options.estimate:
            prior = np.einsum("tp,tpk->tk", counts, np.broadcast_to(weight, (*counts.shape, prior.shape[1])))
            prior /= counts.sum(axis=1, keepdims=True)
        weight, likelihood = e_step(here, confusion, log(prior)[:, None, :])
        if pseudo.any():
            likelihood = likelihood + log_density_of_rates(confusion, pseudo)
        if step:
            moved = np.maximum(_largest(confusion - last[0]), _largest(prior - last[1]))
        if step == len(history):
            history = np.concatenate([history, np.full((max(64, step), len(fits)), np.nan)])
        history[step, case] = likelihood
        leaving = (moved <= options.tol) | (step + 1 == options.max_iter)
        for i in np.flatnonzero(leaving):
            past = history[: step + 1, case[i]].copy()
            fits[case[i]] = Fit(confusion[i], prior[i], weight[i], past, float(moved[i]))
        if leaving.all():
            break
        if leaving.any():
            case, counts = case[~leaving], counts[~leaving]
            prior, weight, confusion = prior[~leaving], weight[~leaving], confusion[~leaving]
    return fits


_NOTHING = Fit(*(np.zeros(0),) * 4, np.inf)


def _largest(steps: Values) -> Values:
    """Of each table, the largest step of what can be told."""
    return np.asarray(np.where(np.isnan(steps), 0, np.abs(steps)).reshape(len(steps), -1).max(axis=1))
