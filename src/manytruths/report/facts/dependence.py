"""Whether raters make the same mistakes, in words."""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import Findings
from ..parts import Cell, Sentence
from .numbers import known, numbers
from .wording import count

HARDLY, WEAKLY = 0.1, 0.3
"""Below so much correlation of errors it is called so."""
LEAST_RATERS = 4
"""Fewer raters do not show whether they err together."""
FEW = 0.8
"""Where fewer than this share of the raters count as independent, shared mistakes matter."""


@dataclass(frozen=True)
class Dependence:
    """How far the errors of two raters correlate, and as how many independent raters all of them count."""

    raters: int
    few: bool
    words: str
    """``weakly correlated``"""
    correlation: Cell
    effective: Cell

    @property
    def counted(self) -> Sentence:
        """``five raters count as 3.6 independent ones at most``."""
        return (f"{count(self.raters, 'rater')} count as ", self.effective, " independent ones at most")


def dependence(found: Findings) -> Dependence | None:
    """Of named raters, where there are enough to tell."""
    table = numbers(found, "agree", "raters")
    effective, shared = (table.row(name, "pooled", "") for name in ("effective_raters", "error_correlation"))
    if not known(effective) or not known(shared):
        return None
    raters = effective.n or len(found.study.rater_names)
    few = effective.value < FEW * raters
    return Dependence(raters, few, _words(shared.value), table.quote(shared), table.quote(effective, 1))


def _words(correlation: float) -> str:
    shown = round(correlation, 2)  # the words go by the number that stands beside them
    if shown < HARDLY:
        return "hardly correlated"
    return "weakly correlated" if shown < WEAKLY else "correlated"
