"""ITK's ways, where they differ from the papers'.

``itk::STAPLEImageFilter`` (two labels) starts from vote fractions, holds the mean vote as prior, and stops when no rate
moves more than 1e-7. ``itk::MultiLabelSTAPLEImageFilter`` starts from the vote instead: with N_j[g, k] the items that
rater j gave the label g and the vote the label k, its first E-step takes N_j[g, k] / Σ_k N_j[g, k] for the rates (the
chance of k given g, not of g given k), and it stops when no rate moves more than 1e-5. Items whose vote is tied have no
k: ITK writes them past the end of their row, where N_j[g + 1, 0] lies, and so must we, as the start decides between
local maxima. Items that the first rates deem impossible are left out of the first M-step.

Rohlfing T, Russakoff DB, Maurer CR. IEEE Trans Med Imaging 2004;23:983–994. doi:10.1109/TMI.2004.830803
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .em import Decisions, Values, log, log_joint

TOLERANCE = 1e-7
TOLERANCE_OF_MANY = 1e-5


def itk_tolerance(tally: Tally) -> float:
    """When ITK stops."""
    return TOLERANCE if len(tally.labels) == 2 else TOLERANCE_OF_MANY


def itk_start(tally: Tally, decisions: Decisions, prior: Values) -> Values:
    """W before the first M-step."""
    if len(tally.labels) == 2:
        return decisions.share
    joint = log_joint(decisions, _rates_of_the_vote(tally, decisions), log(prior))
    top = joint.max(axis=1, keepdims=True)
    weight = np.exp(joint - np.where(np.isneginf(top), 0, top))
    total = weight.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weight, total, out=np.zeros_like(weight), where=total > 0))


def _rates_of_the_vote(tally: Tally, decisions: Decisions) -> Values:
    """(raters, truth, given): N[g, k] / Σ_k N[g, k]."""
    won = tally.votes == tally.votes.max(axis=1, initial=0)[:, None]
    clear = won.sum(axis=1, keepdims=True) == 1
    cells = _cells(won & clear, decisions)
    if tally.labels.background is not None:
        next_value = np.diff(tally.labels.values) == 1
        cells[:, 0, 1:] += np.where(next_value, _cells(~clear, decisions)[:, 0, :-1], 0)
    total = cells.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(cells, total, out=np.zeros_like(cells), where=total > 0))


def _cells(chosen: NDArray[np.bool_], decisions: Decisions) -> Values:
    """(raters, columns of ``chosen``, given) items."""
    cells = (chosen * decisions.counts[:, None]).T @ decisions.chosen
    return cells.reshape(-1, decisions.raters, decisions.labels).swapaxes(0, 1)
