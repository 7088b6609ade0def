"""Statistics of all raters together, of one table or of thousands of resampled ones at once.

A vote statistic is a formula over a few sums of the table. The sums are linear in the counts, so that for tables
that share their patterns they come from one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from inspect import Parameter, Signature

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally
from ..core.undefined import Undefined

Values = NDArray[np.float64]

SIGNATURE = Signature([Parameter("tally", Parameter.POSITIONAL_OR_KEYWORD, annotation=Tally)], return_annotation=float)
"""What a user calls, whatever the formula behind it takes."""

ALONE = "no_item_rated_twice"
ONE_LABEL = "one_label"


@dataclass(frozen=True)
class VoteSums:
    """Of one table (numbers) or several (arrays); n_j raters gave label j, A marked, m rated an item."""

    labels: Labels
    paired: Values
    """Items with m ≥ 2."""
    apart: Values
    """Σ over those of the share of disagreeing pairs."""
    seen: Values
    """Items with m ≥ 1."""
    share: Values
    """(…, L): Σ n_j / m over those."""
    ratings: Values
    """Σ m."""
    minority: Values
    """Σ (m − max n_j)."""
    marked: Values
    """Items with A ≥ 1 and m ≥ 2."""
    agreed: Values
    """Items with A = m ≥ 2."""
    marks: Values
    """Σ A, over items with m ≥ 2."""
    marks_met: Values
    """Σ A (A − 1) / (m − 1), over those."""
    blanks: Values
    """Σ (m − A), over those."""
    blanks_met: Values
    """Σ (m − A) (m − A − 1) / (m − 1), over those."""

    @property
    def disagreement(self) -> Values:
        """D: the chance that two raters of a random item disagree about it."""
        return self.apart / self.paired

    @property
    def prevalence(self) -> Values:
        """p_j: the share of each label, every rated item counting the same."""
        return self.share / np.asarray(self.seen)[..., None]

    @property
    def chance(self) -> Values:
        """Σ p_j (1 − p_j): the chance that two random ratings of random items disagree.

        Summed as p_j p_k over j ≠ k: 1 − p_j would lose the digits of a rare label, and be 0 only roughly for a lone
        one.
        """
        p = self.prevalence
        return np.asarray(((p @ (1 - np.eye(p.shape[-1]))) * p).sum(axis=-1))


def vote_sums(tally: Tally, counts: NDArray[np.int64] | None = None) -> VoteSums:
    """The sums of a table; with (tables, patterns) ``counts``, of all of those."""
    if counts is None:
        # every statistic of a table asks for them, and a table does not change
        found: VoteSums | None = tally.__dict__.get("_sums")
        return found or _kept(tally)
    return _sums(tally, counts)


def _kept(tally: Tally) -> VoteSums:
    tally.__dict__["_sums"] = found = _sums(tally, tally.counts)
    return found


def _sums(tally: Tally, counts: NDArray[np.int64]) -> VoteSums:
    many = np.asarray(counts, np.float64)
    single, shared = _features(tally)
    columns = np.moveaxis(many @ single, -1, 0)
    return VoteSums(tally.labels, columns[0], columns[1], columns[2], many @ shared, *columns[3:])


def _features(tally: Tally) -> tuple[Values, Values]:
    """What each item of a pattern adds to every sum."""
    m, a, votes = tally.rated, tally.marked, tally.votes
    two, b = m > 1, m - a
    others = np.maximum(m - 1, 1)
    apart = (m * m - (votes**2).sum(axis=1)) / np.maximum(m * (m - 1), 1)
    minority = m - votes.max(axis=1, initial=0)
    single = [
        two, apart, m > 0, m, minority, two & (a > 0), two & (a == m),
        two * a, two * a * (a - 1) / others, two * b, two * b * (b - 1) / others,
    ]  # fmt: skip
    return np.stack(single, axis=1).astype(np.float64), votes / np.maximum(m, 1)[:, None]


Formula = Callable[[VoteSums], Values]


class VoteStatistic:
    """A statistic of all raters of a tally; :meth:`batch` gives it for many tables at once."""

    __name__: str

    def __init__(self, formula: Formula, undefined: str, *, alone: str, background: bool) -> None:
        self.formula, self.undefined, self.alone, self.background = formula, undefined, alone, background
        update_wrapper(self, formula)
        self.__signature__ = SIGNATURE

    def __call__(self, tally: Tally) -> float:
        self._check(tally)
        found = vote_sums(tally)
        value = float(self._values(found))
        if not np.isnan(value):
            return value
        return Undefined(self.undefined if found.paired else self.alone)

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """The statistic of every row of ``counts`` over the patterns of ``tally``, nan where undefined."""
        self._check(tally)
        return self._values(vote_sums(tally, counts))

    def _values(self, found: VoteSums) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(self.formula(found), np.float64)
        return np.where(np.isfinite(value), value, np.nan)

    def _check(self, tally: Tally) -> None:
        if self.background and tally.labels.background is None:
            raise CallError(f"no label is background (0) among {', '.join(tally.labels.describe())}")

    def __repr__(self) -> str:
        return f"<statistic {self.__name__}>"


def vote_statistic(
    undefined: str, *, alone: str = ALONE, background: bool = False
) -> Callable[[Formula], VoteStatistic]:
    """Make a formula over sums a statistic; ``undefined`` is the code where it has no value, ``alone`` where m < 2."""
    return lambda formula: VoteStatistic(formula, undefined, alone=alone, background=background)
