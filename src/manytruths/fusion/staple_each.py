"""STAPLE of every case on its own, all cases at once.

EM on a small table takes microseconds, and most of those are spent on the way in and out of NumPy. Tables that share
their raters and labels are laid side by side over the union of their patterns, the steps of :mod:`.em` are done for all
of them together, and each leaves when it has converged: the numbers are those of :func:`staple`. Those that are to be
accelerated go on alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tallies, Tally, align_counts
from .em import Decisions, Fit, Model, Values, accelerate, e_step, log, log_density_of_rates, m_step
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
        if 0 < len(table.counts) <= LARGEST and not (options.get("like") and len(table.labels) > 2):
            together.setdefault((table.columns, table.labels, table.region, table.exchangeable), []).append(case)
    result = {}
    for cases in together.values():
        whole, counts = align_counts([tables[case] for case in cases])
        if len(cases) > 1 and counts.size <= MOST_CELLS:
            result.update(_side_by_side(tables, cases, whole, counts, prior, options))
    return {case: result[case] if case in result else staple(table, prior, **options) for case, table in tables.items()}


def _side_by_side(
    tables: Mapping[str, Tally], cases: list[str], whole: Tally, counts: NDArray[np.int64], prior: Prior, options: Any
) -> dict[str, Staple]:
    """The results of all tables that EM has something to do for."""
    settings = StapleOptions.of(whole, prior, **options)
    decisions, agreed = read_decisions(whole, settings, dense=True)
    left = np.where(agreed | (whole.rated == 0), 0.0, counts.astype(np.float64))
    met = counts > 0
    several = (met @ (whole.votes > 0)).sum(axis=1) > 1  # labels
    full = met.sum(axis=1) == [len(tables[case].counts) for case in cases]  # no pattern without items
    there = np.flatnonzero(left.any(axis=1) & several & full)
    fits = _fit_each(decisions, left[there], whole, settings) if len(there) else []
    plain, results = _without_notes(decisions, met, whole), {}
    for t, fit in zip(there.tolist(), fits, strict=True):
        table, rows, notes = tables[cases[t]], met[t], list[str]() if plain[t] else None
        own = replace(fit, weight=fit.weight[rows])
        if own.moved > settings.tol and len(own.history) < settings.max_iter:
            pseudo = pseudo_counts(settings.map_prior, decisions.labels)
            alone = Model(read_decisions(table, settings)[0], own.prior, settings.estimate, pseudo)
            own = accelerate(alone, own, settings.tol, settings.max_iter)
        results[cases[t]] = make_result(table, own, agreed[rows], settings, notes)
    return results


def _without_notes(decisions: Decisions, met: NDArray[np.bool_], whole: Tally) -> NDArray[np.bool_]:
    """Tables about which there is nothing to say: several raters who gave every label, and marks in common."""
    given = (met @ decisions.table.chosen).all(axis=1)
    common = whole.labels.background is not None and (met & (whole.marked > 1)).any(axis=1)
    return np.asarray(given & common & (decisions.raters > 1))


def _fit_each(decisions: Decisions, counts: Values, whole: Tally, options: StapleOptions) -> list[Fit]:
    """One fit a row of counts, as far as the iterations of plain EM go; what has converged leaves."""
    pseudo, case = pseudo_counts(options.map_prior, decisions.labels), np.arange(len(counts))
    weight, prior = decisions.share[None], _starting_priors(decisions, counts, whole, options)
    fits, history = [_NOTHING] * len(counts), np.full((0, len(counts)), np.nan)
    confusion, moved = np.full((len(counts), 1, 1, 1), np.nan), np.full(len(counts), np.inf)
    log_prior, last_step = log(prior)[:, None, :], min(options.plain, options.max_iter) - 1
    for step in range(last_step + 1):
        here, last = replace(decisions, counts=counts), (confusion, prior)
        confusion = m_step(here, weight, pseudo)
        if options.estimate:
            prior = np.einsum("tp,tpk->tk", counts, np.broadcast_to(weight, (*counts.shape, prior.shape[1])))
            prior /= counts.sum(axis=1, keepdims=True)
            log_prior = log(prior)[:, None, :]
        weight, likelihood = e_step(here, confusion, log_prior)
        if step:
            moved = _largest(confusion - last[0])
            moved = np.maximum(moved, _largest(prior - last[1])) if options.estimate else moved
        if step == len(history):
            history = np.concatenate([history, np.full((max(64, step), len(fits)), np.nan)])
        history[step, case] = likelihood + log_density_of_rates(confusion, pseudo)
        leaving = moved <= options.tol
        if step < last_step and not leaving.any():
            continue
        for i in np.flatnonzero(leaving | (step == last_step)):
            past, own = history[: step + 1, case[i]].copy(), float(moved[i])
            fits[case[i]] = Fit(confusion[i], prior[i], weight[i], past, own)
        if leaving.all():
            break
        case, counts, prior, log_prior = case[~leaving], counts[~leaving], prior[~leaving], log_prior[~leaving]
        weight, confusion = weight[~leaving], confusion[~leaving]
    return fits


_NOTHING = Fit(*(np.zeros(0),) * 4, np.inf)


def _starting_priors(decisions: Decisions, counts: Values, whole: Tally, options: StapleOptions) -> Values:
    """(tables, labels): π of each table at the first step."""
    if isinstance(options.prior, str) and options.prior in ("prevalence", "estimated"):
        return decisions.mean_share(counts)
    return np.stack([starting_prior(replace(decisions, counts=row), whole, options.prior) for row in counts])


def _largest(steps: Values) -> Values:
    """Of each table, the largest step of what can be told."""
    each = np.abs(steps).reshape(len(steps), -1)
    largest = each.max(axis=1)
    return np.asarray(np.where(np.isnan(each), 0, each).max(axis=1) if np.isnan(largest).any() else largest)
