"""What ``itk::MultiLabelSTAPLEImageFilter`` does otherwise than the papers, by version.

The filter starts from the vote: with N_j[g, k] the items that rater j gave the label g and the vote the label k, its
first E-step takes N_j[g, k] / Σ_k N_j[g, k] for the rates (the chance of k given g, not of g given k), and it stops
when no rate moves more than 1e-5. Items that the first rates deem impossible are left out of the first M-step.

Two things depend on the version:

- Items whose vote is tied have no k. Up to July 2026 ITK wrote them past the end of their row, where N_j[g + 1, 0]
  lies; since then it leaves them out (InsightSoftwareConsortium/ITK, pull request 6579).
- SimpleITK before 2.5.7 counts and sums in 32-bit floats (SimpleITK/SimpleITK, pull request 2670). A count stays at
  2²⁴ = 16,777,216, as the next number cannot be told from it, and small W are lost in large sums long before. The prior
  counts the votes of all raters in one number, so that five masks of 3.4 million voxels are enough.

Sums of 32-bit floats depend on the order of the items, which a table does not know. Here patterns are taken to be
mixed evenly: while a sum lies between 2ᵉ and 2ᵉ⁺¹, every W is rounded to a multiple of 2ᵉ⁻²³.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.tally import Tally
from ..core.undefined import Note, divide
from .em import Decisions, Fit, Values, log, log_joint

Singles = NDArray[np.float32]

LARGEST = 1 << 24
"""Where a count in a 32-bit float stays."""
DOUBLE = (2, 5, 7)
"""The first SimpleITK that counts in 64-bit floats."""
SINGLE_RATES = "single_precision_counts"
"""The code of a note about counts beyond 2²⁴."""


@dataclass(frozen=True)
class Itk:
    """A version of the filter."""

    single: bool = False
    """Whether it counts in 32-bit floats."""
    overflow: bool = True
    """Whether tied votes are written past the end of their row."""


def parse_like(like: object) -> Itk | None:
    """What ``like`` names: ``itk`` is SimpleITK 2.5.7, ``itk@VERSION`` another one, ``itk@main`` ITK since July 2026.

    >>> parse_like("itk@2.5.6"), parse_like("itk@main")
    (Itk(single=True, overflow=True), Itk(single=False, overflow=False))
    """
    if like is None:
        return None
    if like in ("itk", "itk@main"):
        return Itk(overflow=like == "itk")
    found = re.fullmatch(r"itk@(\d+)\.(\d+)(?:\.(\d+))?(?:\.\d+)*", like) if isinstance(like, str) else None
    version = tuple(int(part or 0) for part in found.groups()) if found else None
    if version is None or version > DOUBLE:
        raise CallError(
            "like is 'itk' (SimpleITK 2.5.7), 'itk@VERSION' of an earlier SimpleITK, such as 'itk@2.5.6', or "
            f"'itk@main' (ITK since July 2026); got {like!r}"
        )
    return Itk(single=version < DOUBLE)


def check_like(like: object) -> None:
    """Refuse what names no version."""
    parse_like(like)


def most_votes(tally: Tally) -> int:
    """The votes of all raters for the label that has most."""
    return int((tally.counts @ tally.votes).max(initial=0))


def single_notes(tally: Tally, itk: Itk | None) -> list[Note]:
    """What to say where the counts of several labels are too large for SimpleITK before 2.5.7."""
    if itk is None or len(tally.labels) < 3 or most_votes(tally) <= LARGEST:
        return []
    what = f"a label has more than {LARGEST:,} votes, at which the counts of SimpleITK before 2.5.7 stay"
    ending = "its wrong rates are copied here" if itk.single else "its consensus may be another one (like='itk@2.5.6')"
    return [Note(SINGLE_RATES, f"{what}: {ending}")]


def start_like_itk(tally: Tally, decisions: Decisions, prior: Values, itk: Itk) -> Values:
    """W before the first M-step."""
    if len(tally.labels) == 2:
        return decisions.share
    joint = log_joint(decisions, _rates_of_the_vote(_votes_as_counted(tally, decisions, itk)), log(prior))
    top = joint.max(axis=1, keepdims=True)
    weight = np.exp(joint - np.where(np.isneginf(top), 0, top))
    total = weight.sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(weight, total))


def _votes_as_counted(tally: Tally, decisions: Decisions, itk: Itk) -> Values:
    """(raters, label of the vote, given): items, with those of tied votes where the filter writes them."""
    won = tally.votes == tally.votes.max(axis=1, initial=0)[:, None]
    clear = won.sum(axis=1, keepdims=True) == 1
    cells = _cells(won & clear, decisions)
    if itk.overflow and tally.labels.background is not None:
        next_value = np.diff(tally.labels.values) == 1
        cells[:, 0, 1:] += np.where(next_value, _cells(~clear, decisions)[:, 0, :-1], 0)
    return cells


def _rates_of_the_vote(cells: Values) -> Values:
    """(raters, truth, given): N[g, k] / Σ_k N[g, k]."""
    return np.nan_to_num(divide(cells, cells.sum(axis=1, keepdims=True)))


def _cells(chosen: NDArray[np.bool_], decisions: Decisions) -> Values:
    """(raters, columns of ``chosen``, given) items."""
    return decisions.table.sums(chosen * decisions.counts[:, None])


# -- in 32-bit floats --------------------------------------------------------------------------------


def fit_single(tally: Tally, decisions: Decisions, itk: Itk, tol: float, max_iter: int) -> Fit:
    """EM of several labels as SimpleITK did it before 2.5.7."""
    rows, items = decisions.table.rows, _cells(np.ones((len(decisions.counts), 1), bool), decisions)
    votes = np.minimum(decisions.counts @ decisions.votes, LARGEST).astype(np.float32)
    prior = votes / _sum_in_order(votes)
    cells = np.minimum(_votes_as_counted(tally, decisions, itk), LARGEST).astype(np.float32)
    rates = _divide(cells, _sum_in_order(cells, axis=1))
    history, moved = list[float](), np.inf
    weight, likelihood = _expect(rows, rates, prior, decisions.counts)
    for _ in range(max_iter):
        last, cells = rates, _sum_in_single(decisions, weight, items)
        rates = _divide(cells, _sum_in_order(cells, axis=2))
        moved = float(np.abs(rates - last).max())
        weight, likelihood = _expect(rows, rates, prior, decisions.counts)
        history.append(likelihood)
        if moved < tol:
            break
    known = cells.sum(axis=2, keepdims=True) > 0
    total = weight.sum(axis=1, keepdims=True, dtype=np.float64)
    share = np.where(total > 0, divide(weight.astype(np.float64), total), prior)
    confusion = np.where(known, rates.astype(np.float64), np.nan)
    return Fit(confusion, prior.astype(np.float64), share, np.array(history), moved)


def _expect(rows: NDArray[np.uint8], rates: Singles, prior: Singles, counts: Values) -> tuple[Singles, float]:
    """W of every pattern, rater by rater, and the log-likelihood; W of what the rates deem impossible is 0."""
    raters, labels, _ = rates.shape
    # what was not rated changes nothing
    table = np.concatenate([rates, np.ones((raters, labels, 1), np.float32)], axis=2)
    weight = np.tile(prior, (len(rows), 1))
    for rater in range(raters):
        weight *= table[rater, :, np.minimum(rows[:, rater], labels)]
    total = _sum_in_order(weight, axis=1)
    likelihood = float(counts @ np.log(total[:, 0], out=np.zeros(len(total), np.float32), where=total[:, 0] > 0))
    return _divide(weight, total), likelihood


def _sum_in_single(decisions: Decisions, weight: Singles, items: Values) -> Singles:
    """(raters, truth, given): W added one item after the other, patterns mixed evenly; ``items`` in each cell."""
    mass, doubled = weight.astype(np.float64), decisions.counts[:, None]
    total = np.zeros((items.shape[0], weight.shape[1], items.shape[2]))
    left = np.broadcast_to(items, total.shape).copy()
    for exponent in range(-1, 25):
        unit = 2.0 ** (exponent - 23)
        added = mass if exponent < 0 else np.rint(mass / unit) * unit
        step = divide(decisions.table.sums(doubled * added), np.broadcast_to(items, total.shape))
        step = np.nan_to_num(step)
        room = np.full_like(total, np.inf)
        np.divide(2.0 ** (exponent + 1) - total, step, out=room, where=step > 0)
        taken = np.minimum(left, room)
        total += taken * step
        left -= taken
        if not (left > 0).any():
            break
    return total.astype(np.float32)


def _sum_in_order(values: Singles, axis: int = 0) -> Singles:
    """A sum along an axis, one number after the other; the axis stays."""
    summed = np.add.accumulate(values, axis=axis, dtype=np.float32)
    return np.asarray(np.take(summed, [-1], axis=axis))


def _divide(values: Singles, total: Singles) -> Singles:
    """Without what has a sum of 0, which stays as it is."""
    return np.divide(values, total, out=values.copy(), where=total > 0)
