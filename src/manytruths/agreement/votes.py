"""Statistics of all raters together, of one tally or of thousands of resampled ones at once.

A vote statistic is a formula over a few sums of the tally. The sums are linear in the counts, so that for tallies
that share their patterns they come from one matrix product. To add a statistic, write its formula in ``chance.py`` or
``bounds.py`` under :func:`vote_statistic`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from inspect import Parameter, Signature

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally, check_tally
from ..core.undefined import REASONS, Undefined

Values = NDArray[np.float64]

SIGNATURE = Signature([Parameter("tally", Parameter.POSITIONAL_OR_KEYWORD, annotation=Tally)], return_annotation=float)
"""What a user calls, whatever the formula behind it takes."""

ALONE = "no_item_rated_twice"
ONE_LABEL = "one_label"


@dataclass(frozen=True)
class VoteSums:
    """Sums over one tally (numbers) or several (arrays); n_j raters gave label j, A marked and m rated an item."""

    labels: Labels
    paired: Values
    """Items with m ≥ 2."""
    disagreements: Values
    """Σ over those of the share of disagreeing pairs."""
    rated: Values
    """Items with m ≥ 1."""
    shares: Values
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
        """D: the probability that two raters of a random item disagree about it."""
        return self.disagreements / self.paired

    @property
    def prevalence(self) -> Values:
        """p_j: the share of each label, every rated item counting the same."""
        return self.shares / np.asarray(self.rated)[..., None]

    @property
    def chance(self) -> Values:
        """Σ p_j (1 − p_j): the probability that two random ratings of random items disagree.

        Summed as p_j p_k over j ≠ k: 1 − p_j would lose the digits of a rare label, and be 0 only roughly for a lone
        one.
        """
        p = self.prevalence
        return np.asarray(((p @ (1 - np.eye(p.shape[-1]))) * p).sum(axis=-1))


def vote_sums(tally: Tally, counts: NDArray[np.int64] | None = None) -> VoteSums:
    """The sums of a tally; with (tables, patterns) ``counts``, of all of those."""
    if counts is not None:
        return _compute_sums(tally, counts)
    # every statistic of a tally asks for them, and a tally does not change
    cached: VoteSums | None = tally.__dict__.get("_sums")
    if cached is None:
        tally.__dict__["_sums"] = cached = _compute_sums(tally, tally.counts)
    return cached


@dataclass(frozen=True)
class VoteTable:
    """Distinct numbers of votes, whoever gave them."""

    labels: Labels
    votes: NDArray[np.int64]
    """(rows, labels): how many raters gave each label."""

    @property
    def rated(self) -> NDArray[np.int64]:
        """m: how many raters gave any label."""
        return np.asarray(self.votes.sum(axis=1), np.int64)

    @property
    def marked(self) -> NDArray[np.int64]:
        """A: how many gave a label other than background."""
        return np.asarray(self.votes[:, list(self.labels.marks)].sum(axis=1), np.int64)


def votes_without(tally: Tally, raters: Sequence[str]) -> tuple[VoteTable, NDArray[np.int64]]:
    """The votes without each of some raters, as one table and (raters, rows) counts.

    Leaving a rater out takes one vote off each item that the rater rated, and statistics of votes do not ask who gave
    them. So items are grouped by their votes, and by the label that the rater gave; no table is projected.
    """
    kept: tuple[tuple[str, ...], VoteTable, NDArray[np.int64]] | None = tally.__dict__.get("_votes_without")
    if kept is not None and kept[0] == tuple(raters):
        return kept[1:]
    labels = len(tally.labels)
    votes, group = np.unique(tally.votes, axis=0, return_inverse=True)
    less = votes[:, None] - np.eye(labels + 1, labels, dtype=np.int64)  # the last takes nothing off: not rated
    rows, place = np.unique(np.maximum(less, 0).reshape(-1, labels), axis=0, return_inverse=True)
    coded = group.reshape(-1) * (labels + 1)
    columns = dict(zip(tally.rater_names, tally.raters, strict=True))
    counts = np.zeros((len(raters), len(rows)), np.int64)
    for row, name in zip(counts, raters, strict=True):
        given = np.minimum(tally.patterns[:, columns[name]], labels) if name in columns else labels
        items = np.bincount(coded + given, tally.counts, place.size)  # whole numbers below 2^53, so exact
        row += np.bincount(place.reshape(-1), items, len(rows)).astype(np.int64)
    tally.__dict__["_votes_without"] = (tuple(raters), VoteTable(tally.labels, rows), counts)
    return VoteTable(tally.labels, rows), counts


def _compute_sums(tally: Tally | VoteTable, counts: NDArray[np.int64]) -> VoteSums:
    weights = np.asarray(counts, np.float64)
    single, shared = _summands(tally)
    columns = np.moveaxis(weights @ single, -1, 0)
    return VoteSums(tally.labels, columns[0], columns[1], columns[2], weights @ shared, *columns[3:])


def _summands(tally: Tally | VoteTable) -> tuple[Values, Values]:
    """What each item of a pattern adds to every sum."""
    m, a, votes = tally.rated, tally.marked, tally.votes
    two, b = m > 1, m - a
    others = np.maximum(m - 1, 1)
    disagreements = (m * m - (votes**2).sum(axis=1)) / np.maximum(m * (m - 1), 1)
    minority = m - votes.max(axis=1, initial=0)
    single = [
        two, disagreements, m > 0, m, minority, two & (a > 0), two & (a == m),
        two * a, two * a * (a - 1) / others, two * b, two * b * (b - 1) / others,
    ]  # fmt: skip
    return np.stack(single, axis=1).astype(np.float64), votes / np.maximum(m, 1)[:, None]


Formula = Callable[[VoteSums], Values]


class VoteStatistic:
    """A statistic of all raters of a tally, called like a function.

    :func:`fleiss_kappa` and its relatives are such objects. :meth:`batch` computes a statistic for many tallies at
    once, which makes :func:`confidence_interval` fast.

    Parameters
    ----------
    formula : callable
        From the sums of a tally to values. Its docstring becomes the statistic's, with Parameters and Returns added.
    undefined : str
        Code where the formula has no value, see :class:`Undefined`.
    alone : str
        Code where it has none since no item was rated by two raters.
    background : bool
        Whether the statistic needs a background label (0).
    """

    __name__: str

    def __init__(self, formula: Formula, undefined: str, *, alone: str, background: bool) -> None:
        self.formula, self.undefined, self.alone, self.background = formula, undefined, alone, background
        update_wrapper(self, formula)
        self.__signature__ = SIGNATURE
        self.__doc__ = complete_docstring(formula.__doc__, "Table of two or more raters.", undefined)

    def __call__(self, tally: Tally) -> float:
        """Compute the statistic of one tally."""
        self._check(tally)
        sums = vote_sums(tally)
        value = float(self._evaluate(sums))
        if not np.isnan(value):
            return value
        return Undefined(self.undefined if sums.paired else self.alone)

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """Compute the statistic for many tallies that share their patterns.

        Parameters
        ----------
        tally : Tally
            Whose patterns are counted.
        counts : numpy.ndarray
            (tallies, patterns): how often each pattern occurs in each tally.

        Returns
        -------
        numpy.ndarray
            One value per row of ``counts``, NaN where undefined.
        """
        self._check(tally)
        return self._evaluate(vote_sums(tally, counts))

    def without_each(self, tally: Tally, raters: Sequence[str]) -> Values:
        """The statistic without each of some raters, all from one table of votes; NaN where it is undefined."""
        self._check(tally)
        return self._evaluate(_compute_sums(*votes_without(tally, raters)))

    def _evaluate(self, sums: VoteSums) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(self.formula(sums), np.float64)
        return np.where(np.isfinite(value), value, np.nan)

    def _check(self, tally: Tally) -> None:
        check_tally(tally, self.__name__)
        if self.background and tally.labels.background is None:
            raise CallError(
                f"{self.__name__} needs background (0) among the labels; there are {', '.join(tally.labels.describe())}"
            )

    def __repr__(self) -> str:
        return f"<statistic {self.__name__}>"


def vote_statistic(
    undefined: str, *, alone: str = ALONE, background: bool = False
) -> Callable[[Formula], VoteStatistic]:
    """Make a formula over sums a statistic; ``undefined`` is the code where it has no value, ``alone`` where m < 2."""
    return lambda formula: VoteStatistic(formula, undefined, alone=alone, background=background)


_SECTION = re.compile(r"^(?=[A-Z][\w ]+\n-{3,}$)", re.MULTILINE)


def complete_docstring(doc: str | None, tally: str, undefined: str) -> str:
    """A formula's docstring with the Parameters and Returns of the statistic before its first section."""
    text = inspect.cleandoc(doc or "")
    section = _SECTION.search(text)
    head, tail = (text[: section.start()], text[section.start() :]) if section else (text, "")
    return (
        f"{head.rstrip()}\n\n"
        f"Parameters\n----------\ntally : Tally\n    {tally}\n\n"
        f"Returns\n-------\nfloat\n    The value, or :class:`Undefined` (``{undefined}``: {REASONS[undefined]}).\n\n"
        f"{tail}".rstrip()
    )
