"""How STAPLE is called: its priors, on the truth and on the rates, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally
from .em import Decisions, Values
from .itk import itk_tolerance

Prior = Literal["prevalence", "marked", "estimated"] | float | Sequence[float]
ConsensusItems = Literal["keep", "leave_out"]

MOST = 1000
MOST_OF_ITK = 100_000
"""ITK itself goes on for ever."""


@dataclass(frozen=True)
class StapleOptions:
    """The arguments of :func:`staple`."""

    prior: Prior | str = "prevalence"
    like: Literal["itk"] | None = None
    consensus_items: ConsensusItems = "keep"
    map_prior: tuple[float, ...] | None = None
    tolerance: float = 1e-7
    most: int = MOST

    @classmethod
    def of(
        cls,
        tally: Tally,
        prior: Prior | str = "prevalence",
        like: Literal["itk"] | None = None,
        consensus_items: ConsensusItems = "keep",
        map_prior: tuple[float, ...] | None = None,
        tolerance: float = 1e-7,
        most: int | None = None,
    ) -> StapleOptions:
        """With ITK's own where it is asked for."""
        if like == "itk":
            tolerance, most = itk_tolerance(tally), MOST_OF_ITK if most is None else most
        return cls(prior, like, consensus_items, map_prior, tolerance, MOST if most is None else most)

    def __post_init__(self) -> None:
        if self.like not in (None, "itk"):
            raise CallError(f"like is None or 'itk'; got {self.like!r}")
        if self.like == "itk" and (self.prior != "prevalence" or self.consensus_items != "keep" or self.map_prior):
            raise CallError(
                "like='itk' has the prior 'prevalence', keeps consensus items and has no map_prior; got "
                f"{self.prior!r}, {self.consensus_items!r}, {self.map_prior!r}: leave them out, or leave out like="
            )
        if self.consensus_items not in ("keep", "leave_out"):
            raise CallError(f"consensus_items is 'keep' or 'leave_out'; got {self.consensus_items!r}")
        if self.most < 1:
            raise CallError(f"most is at least one iteration; got {self.most!r}")

    @property
    def estimate(self) -> bool:
        """Whether the prior follows W."""
        return isinstance(self.prior, str) and self.prior == "estimated"


def pseudo_counts(map_prior: tuple[float, ...] | None, labels: int) -> Values:
    """(truth, given): what a prior of the rates adds to the counts of the M-step."""
    if map_prior is None:
        return np.zeros((labels, labels))
    each = np.asarray(map_prior, np.float64)
    if len(each) not in ((2, 4) if labels == 2 else (2,)) or not (np.isfinite(each) & (each >= 1)).all():
        four = " or (a_p, b_p, a_q, b_q)" if labels == 2 else ""
        raise CallError(f"map_prior is (a, b){four}, each at least 1; got {map_prior!r}")
    if len(each) == 4:
        return np.array([[each[2], each[3]], [each[1], each[0]]]) - 1
    return np.asarray(np.where(np.eye(labels) > 0, each[0], each[1]) - 1)


def starting_prior(decisions: Decisions, tally: Tally, prior: Prior | str) -> Values:
    """(labels): π at the first step."""
    if not isinstance(prior, str):
        return _given(prior, tally.labels)
    if prior not in ("prevalence", "marked", "estimated"):
        raise CallError(f"prior is 'prevalence', 'marked', 'estimated', a number, or one a label; got {prior!r}")
    mean = decisions.counts @ decisions.share / decisions.counts.sum()
    return _marked(decisions, tally, mean) if prior == "marked" else mean


def _given(prior: float | Sequence[float], labels: Labels) -> Values:
    each = np.atleast_1d(np.asarray(prior, np.float64))
    if len(each) == 1 and len(labels) == 2:
        each = np.array([1 - each[0], each[0]])
    if each.shape != (len(labels),) or not (each > 0).all() or abs(each.sum() - 1) > 1e-6:
        one = "a number, or " if len(labels) == 2 else ""
        raise CallError(
            f"a prior is {one}one a label ({', '.join(labels.describe())}), above 0 and below 1, with the sum 1; "
            f"got {prior!r}. A map of priors goes to staple_map, with the masks"
        )
    return each


def _marked(decisions: Decisions, tally: Tally, mean: Values) -> Values:
    """Background gets what nobody marked; the marks share the rest as they share the votes."""
    ground = tally.labels.background
    if ground is None:
        raise CallError(f"prior 'marked' needs background (0) among {', '.join(tally.labels.describe())}")
    share = float(decisions.counts @ (tally.marked > 0) / decisions.counts.sum())
    if share == 1:
        raise CallError(
            f"every item of the region {tally.region!r} is marked by somebody, so that the prior 'marked' is 1; "
            "take another prior, or a larger region"
        )
    marks = np.delete(mean, ground)
    return np.insert(share * marks / marks.sum() if share else marks, ground, 1 - share)
