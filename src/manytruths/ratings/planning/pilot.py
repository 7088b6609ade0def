"""What larger panels would decide, from a pilot study.

A pilot of R raters shows how many of them marked each item, and nothing else: R + 1 shares. What the majority of more
raters would do depends on p, the share of all such raters who would mark an item, whose distribution these shares do
not determine. So every answer is an identified range (:mod:`manytruths.inference.mixing`), with allowance for the
subjects and the raters that happened to be there, and a point estimate that lies in it. There is no allowance for
raters where a slot is not a person, and none for subjects where only one has items that count. There are two sources:

reference
    p is the share of raters who are right about an item. The accuracy of the majority of k ≤ R raters is determined.
panel
    There is no reference standard. What most raters would say counts as right. Errors that most raters share cannot be
    detected: interpret the numbers as stability, not as accuracy.

In masks an item is a pixel, and the pixels that at least one of the R raters marked are asked about; several labels are
planned one by one, each against the rest. In tables of ratings an item is a case; with two labels all cases count, with
more those to which anybody gave the label.

Items that fewer than R raters rated are left out, and where some were rated by more, R of them are drawn: R is the
largest number of raters that at least half of the items have.

With two raters the range is all there is: no point estimate is given. The range of the shares that were observed stands
beside the one with allowance, which often excludes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError, InputError
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Undefined, or_undefined, reason
from ...inference.intervals import Interval, check_resamples, too_few_subjects
from ...inference.mixing import (
    RaterDraws,
    TargetRange,
    VoteTable,
    identified_ranges,
    possible_range,
    resample_raters,
    thin_votes,
)
from ..ratings import MISSING, Ratings, Values
from .panels import MAX_PLURALITY_PANEL, win_probability
from .targets import accuracy_target, change_target, match_target, tie_target

Counts = NDArray[np.int64]

NO_TRUTH = "no_reference"
MANY_LABELS = "counted_for_two_labels"
LAST = "next_panel_not_computed"
TWO_RATERS = "open_with_two_raters"
NO_MARGIN = "no_margin"
METHOD = "identified"
MOST_VOTES = 20_000_000
"""Votes of resampled raters that are counted: rows times resamples."""
NEARLY = 0.005
"""A range that comes so close to both ends of what is possible excludes nothing."""


@dataclass(frozen=True)
class Panel:
    """What a panel of a given size is worth.

    Attributes
    ----------
    n_raters : int
        Size of the panel.
    accuracy : Interval
        Of its majority: how often it is right, or decides as that of all such raters. ``low`` and ``high`` are the
        identified range; ``value`` is one of many values that fit equally well.
    observed : float
        Mean accuracy over all panels of this size made of the pilot's own raters; needs a reference standard.
    gain : Interval
        What the next larger odd panel adds; with more than two labels and a reference, the next larger one.
    tied : Interval
        Share of items in which an even panel ties.
    cost : Interval
        Of ratings and errors, for each item.
    possible : tuple of float
        Smallest and largest accuracy before any data.
    as_observed, gain_as_observed : Interval or None
        The ranges of accuracy and gain without allowance: what fits the shares of these raters. Only for two raters
        without a reference.
    """

    n_raters: int
    accuracy: Interval
    observed: float
    gain: Interval
    tied: Interval
    cost: Interval
    possible: tuple[float, float] = (0.0, 1.0)
    as_observed: Interval | None = None
    gain_as_observed: Interval | None = None

    @property
    def excludes_nothing(self) -> bool:
        """Whether the range of the accuracy is that before any data."""
        least, most = self.possible
        return self.accuracy.low <= least + NEARLY and self.accuracy.high >= most - NEARLY


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """What panels of each size are worth for one label against the rest.

    Attributes
    ----------
    label : str
        The label; empty where there is only one question.
    n_items, n_left_out : int
        Number of items that count, and of those that too few raters rated.
    n_raters : int
        R, the number of the pilot's raters by item.
    n_subjects : int
        Number of subjects that have items that count.
    allowance : tuple of str
        What the ranges allow for: ``subjects``, ``raters``, both or nothing.
    panels : tuple of Panel
        For 1, 2, … raters.
    correlation : Interval
        Of the outcomes of two raters in one item.
    best : Interval
        Number of raters to take, by the margin or the costs that were given.
    p_enough : float
        p value of "the next larger odd panel would add at least the margin"; NaN without a margin.
    """

    label: str
    n_items: int
    n_left_out: int
    n_raters: int
    n_subjects: int
    allowance: tuple[str, ...]
    panels: tuple[Panel, ...]
    correlation: Interval
    best: Interval
    p_enough: float

    @property
    def now(self) -> Panel:
        """The panel of as many raters as the pilot has."""
        return self.panels[min(self.n_raters, len(self.panels)) - 1]


@dataclass(frozen=True, eq=False)
class PilotPlan:
    """Result of :func:`plan_from_pilot`: what panels of each size are worth.

    Attributes
    ----------
    source : {"reference", "panel"}
        What counts as right.
    unit : {"case", "pixel"}
        What an item is.
    given_marked : bool
        Whether only items count that at least one of the pilot's raters marked.
    n_labels, n_cases : int
        Size of the pilot.
    labels : tuple of LabelPlan
        One for each label; a single one with two labels, or with a reference standard.
    rule : str
        How the number of raters was chosen; empty without a margin or costs.
    gain : float or None
        The margin that was given.
    """

    source: str
    unit: str
    given_marked: bool
    n_labels: int
    n_cases: int
    labels: tuple[LabelPlan, ...]
    rule: str
    gain: float | None

    @cached_property
    def worst(self) -> LabelPlan:
        """Of the labels that have a range, the one for which the majority of the pilot's raters may be worst."""

        def badness(plan: LabelPlan) -> tuple[bool, float, float]:
            accuracy = plan.now.accuracy
            return bool(reason(accuracy.low)), _or(accuracy.low, accuracy.value), accuracy.high

        return min(self.labels, key=badness)

    @property
    def n_subjects(self) -> int:
        """Number of subjects that have items that count; the fewest where labels differ."""
        return min(plan.n_subjects for plan in self.labels)

    @property
    def allowance(self) -> tuple[str, ...]:
        """What the ranges of all labels allow for: ``subjects``, ``raters``, both or nothing."""
        return tuple(name for name in ("subjects", "raters") if all(name in plan.allowance for plan in self.labels))

    @property
    def n_raters(self) -> int:
        """Number of raters of the pilot, by item."""
        return self.worst.n_raters

    @property
    def n_items(self) -> int:
        """Number of items; of the worst label where there are several."""
        return self.worst.n_items

    @property
    def panels(self) -> tuple[Panel, ...]:
        """What panels of 1, 2, … raters are worth, for the worst label."""
        return self.worst.panels

    @property
    def accuracy(self) -> Interval:
        """Accuracy of one rater, for the worst label."""
        return self.worst.panels[0].accuracy

    @property
    def correlation(self) -> Interval:
        """Correlation of the outcomes of two raters, for the worst label."""
        return self.worst.correlation

    @property
    def best(self) -> Interval:
        """Number of raters to take, for the worst label."""
        return self.worst.best


def _or(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


@dataclass(frozen=True)
class PilotRule:
    """How the number of raters is chosen; see :func:`plan_from_pilot`."""

    max_raters: int = 15
    gain: float | None = None
    cost_rater: float | None = None
    cost_error: float | None = None
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.cost_rater is None) != (self.cost_error is None):
            raise CallError("give both cost_rater and cost_error, or neither")
        for name in ("cost_rater", "cost_error"):
            if not 0 <= (getattr(self, name) or 0) < math.inf:
                raise CallError(f"{name} must be 0 or more; got {getattr(self, name):g}")
        for name in ("level", "gain"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise CallError(f"{name} must be between 0 and 1; got {value:g}")
        check_resamples(self.resamples)
        if not 3 <= self.max_raters <= MAX_PLURALITY_PANEL:
            raise CallError(f"max_raters must be from 3 to {MAX_PLURALITY_PANEL}; got {self.max_raters}")

    def __str__(self) -> str:
        if self.cost_rater is not None:
            costs = f"{self.cost_rater:g} for a rating and {self.cost_error:g} for an error"
            return f"the lowest cost of an item, with {costs}"
        return "" if self.gain is None else f"the smallest panel to which two more raters add less than {self.gain:.1%}"


def plan_from_pilot(
    pilot: Ratings | Tally | Mapping[str, Tally],
    *,
    source: Literal["reference", "panel"] | None = None,
    reference: str | None = None,
    max_raters: int = 15,
    gain: float | None = None,
    cost_rater: float | None = None,
    cost_error: float | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PilotPlan:
    """What the majorities of larger panels would decide, from the ratings or masks of a pilot study.

    Parameters
    ----------
    pilot : Ratings, Tally or mapping of str to Tally
        Ratings, or tallies of masks: of the whole image, or of the pixels that any rater marked.
    source : {"reference", "panel"}, optional
        What counts as right: the reference standard, the default if there is one, or what most raters would say.
    reference : str, optional
        For tallies, the name of the column that is the reference standard.
    max_raters : int
        Largest panel to compute, from 3 to 99.
    gain : float, optional
        Margin: two more raters are worth it if they add at least this accuracy. Without it, nothing is said about
        whether the raters are enough.
    cost_rater, cost_error : float, optional
        Costs of one rating and of one wrong label, in the same currency.
    level : float
        Confidence level of the allowance for subjects and raters.
    resamples, seed : int
        Of the resampling of raters; all resamples are used where there are not more.

    Returns
    -------
    PilotPlan
        The identified range of the accuracy of panels of each size, by label.

    References
    ----------
    Lindsay BG. Mixture Models: Theory, Geometry and Applications. 1995. doi:10.1214/cbms/1462106013

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> ratings = {"A": [1, 0, 1, 1, 0] * 4, "B": [1, 0, 1, 0, 0] * 4, "C": [1, 1, 1, 0, 0] * 4}
    >>> plan = plan_from_pilot(Ratings.of(ratings))
    >>> three = plan.panels[2].accuracy
    >>> plan.source, plan.unit, f"{three.low:.2f} to {three.high:.2f}"
    ('panel', 'case', '0.62 to 0.99')
    """
    rule = PilotRule(max_raters, gain, cost_rater, cost_error, resamples, level, seed)
    if isinstance(pilot, Ratings):
        if reference is not None:
            raise CallError("reference= is for tallies; ratings have their own reference")
        return _plan_from_ratings(pilot, rule, source)
    if source == "reference" and reference is None:
        raise CallError("there is no reference; give one, or use source='panel'")
    return _plan_from_tallies(pilot, rule, reference)


def _plan_from_ratings(ratings: Ratings, rule: PilotRule, source: str | None) -> PilotPlan:
    source = source or ("panel" if ratings.reference is None else "reference")
    if source not in ("panel", "reference"):
        raise CallError(f"source must be 'reference' or 'panel'; got {source!r}")
    if source == "reference" and ratings.reference is None:
        raise CallError("there is no reference; give one, or use source='panel'")
    # a pattern of masks is not a subject that could be left out
    patterns = ratings.weights is not None
    place = {name: i for i, name in enumerate(dict.fromkeys(ratings.subjects))}
    owner = np.array([0 if patterns else place[name] for name in ratings.subjects], np.int64)
    answers = ratings.reference if source == "reference" else None
    unit = "pixel" if patterns else "case"
    weights = np.asarray(ratings.items, np.int64)
    n_cases = 1 if patterns else len(ratings)
    votes = _Votes(ratings.codes, owner, weights, answers, ratings.labels, unit=unit, n_cases=n_cases)
    return _plan(votes, rule)


def _plan_from_tallies(tallies: Tally | Mapping[str, Tally], rule: PilotRule, reference: str | None) -> PilotPlan:
    return _plan(_votes_of(tallies, reference), rule)


def _votes_of(tallies: Tally | Mapping[str, Tally], reference: str | None) -> _Votes:
    tables = Tallies({"": tallies}) if isinstance(tallies, Tally) else Tallies.of(tallies)
    if not tables:
        raise CallError("pilot is empty; give at least one tally")
    sizes = {len(t.labels) for t in tables.values()}
    if len(sizes) > 1:
        raise CallError(f"the tallies have different numbers of labels: {sorted(sizes)}; use the same labels for all")
    whole = pool([_first_sessions(t, reference) for t in tables.values()], mixed=True)
    parts = [_spread_codes(t, whole, reference) for t in tables.values()]
    place = {name: i for i, name in enumerate(tables.by_subject())}
    owner = np.repeat([place[tables.subjects[case]] for case in tables], [len(t.counts) for t in tables.values()])
    codes = np.concatenate(parts)
    weights = np.concatenate([t.counts for t in tables.values()])
    answers = None if reference is None else codes[:, whole.position(reference)]
    return _Votes(
        codes[:, list(whole.raters)], owner.astype(np.int64), weights, answers, whole.labels.names, unit="pixel",
        marks=tuple(whole.labels.marks), people=not whole.exchangeable, n_cases=len(tables),
    )  # fmt: skip


def _first_sessions(tally: Tally, reference: str | None) -> Tally:
    """The raters' first sessions, under their names alone, and the reference."""
    columns, where = [Column(name) for name in tally.rater_names], list(tally.raters)
    if reference is not None:
        columns, where = [*columns, Column(reference, "reference")], [*where, tally.position(reference)]
    return replace(tally, columns=tuple(columns), patterns=tally.patterns[:, where])


def _spread_codes(tally: Tally, whole: Tally, reference: str | None) -> NDArray[np.int16]:
    """The patterns of a tally under the columns and labels of all; −1 where there is no rating."""
    table = np.full(256, MISSING, np.int16)
    table[: len(tally.labels)] = [whole.labels.values.index(v) for v in tally.labels.values]
    columns = [*tally.raters, *([] if reference is None else [tally.position(reference)])]
    names = [*tally.rater_names, *([] if reference is None else [reference])]
    codes = np.full((len(tally.counts), len(whole.columns)), MISSING, np.int16)
    codes[:, [whole.position(name) for name in names]] = table[tally.patterns[:, columns]]
    return codes


@dataclass(frozen=True)
class ConsensusChange:
    """In how many pixels the consensus by vote would change if more raters read.

    Attributes
    ----------
    label : str
        The label, against the rest; empty where there is only one.
    n_raters, more : int
        How many raters read, and how many more would.
    n_items, n_cases, n_subjects : int
        Pixels that any rater marked, the cases, and the subjects that have such pixels.
    share : Interval
        Of these pixels, in how many the vote would change. ``low`` and ``high`` are the identified range; ``value`` is
        one of many values that fit equally well.
    allowance : tuple of str
        What the range allows for: ``subjects``, ``raters``, both or nothing.
    """

    label: str
    n_raters: int
    more: int
    n_items: int
    n_cases: int
    n_subjects: int
    share: Interval
    allowance: tuple[str, ...]


def change_by_more_raters(
    tallies: Mapping[str, Tally], more: int = 2, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[ConsensusChange, ...]:
    """In how many pixels the consensus by vote would change if more raters read, by label.

    Parameters
    ----------
    tallies : mapping of str to Tally
        Cases that equally many raters read, three or more.
    more : int
        How many more raters would read every case.
    level : float
        Confidence level of the allowance for subjects and raters.
    resamples, seed : int
        Of the resampling of raters.

    Returns
    -------
    tuple of ConsensusChange
        One for each label.
    """
    votes, rule = _votes_of(tallies, None), PilotRule(level=level, resamples=resamples, seed=seed)
    found = []
    for name, marked, rated, only in votes.questions():
        table, _ = _count(votes, marked, rated, only, rule)
        target = change_target(table.n_raters, more, given_marked=only)
        (change,) = identified_ranges(table, [target], level)
        share = Interval(change.value, change.low, change.high, level, METHOD, table.n_subjects)
        n_items = round(float(table.counted.sum()))
        found.append(ConsensusChange(name, table.n_raters, more, n_items, len(tallies), table.n_subjects, share,
                                     table.allowance))  # fmt: skip
    return tuple(found)


# -- votes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Votes:
    """What every rater said about the items of each row."""

    codes: NDArray[np.int16]
    """(rows, raters): label; −1 where there is none."""
    owner: Counts
    """(rows,): the subject."""
    weights: Counts
    """(rows,): number of items."""
    answers: NDArray[np.int16] | None
    """(rows,): the reference label; −1 where it is unknown."""
    names: Sequence[str]
    unit: str
    marks: tuple[int, ...] = ()
    """Labels of masks that are not background; in ratings every label counts."""
    people: bool = True
    """Whether a column is a person."""
    n_cases: int = 0

    def given_labels(self) -> list[int]:
        """The labels that anybody gave."""
        seen = self.codes[self.weights > 0]
        return [code for code in range(len(self.names)) if (seen == code).any()]

    def questions(self) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.bool_], bool]]:
        """Name, what is marked, what is rated, and whether only marked items count, for every question."""
        rated = self.codes != MISSING
        if self.answers is not None:
            known = rated & (self.answers != MISSING)[:, None]
            yield "", known & (self.codes == self.answers[:, None]), known, False
            return
        given = self.given_labels()
        if self.unit == "case" and len(given) == 2:
            yield "", self.codes == given[1], rated, False
            return
        wanted = [code for code in given if code in self.marks] if self.marks else given
        several = len(self.marks or given) > 1
        for code in wanted:
            yield self.names[code] if several else "", self.codes == code, rated, True


def _plan(votes: _Votes, rule: PilotRule) -> PilotPlan:
    source = "panel" if votes.answers is None else "reference"
    given = votes.given_labels()
    if len(votes.names) < 2 or (source == "panel" and len(given) < 2 and (votes.unit == "case" or not votes.marks)):
        raise InputError("all ratings are the same label, so nothing can be said about more raters")
    if source == "panel" and votes.marks and not set(given) & set(votes.marks):
        raise InputError("nobody marked anything, so nothing can be said about more raters")
    questions = list(votes.questions())
    n_labels = len(votes.names) if source == "reference" else 2
    tables = [(name, *_count(votes, marked, rated, only, rule)) for name, marked, rated, only in questions]
    labels = tuple(
        _plan_label(name, table, left_out, source, n_labels, rule,
                    too_few_subjects(table.n_subjects) if votes.unit == "case" else None)
        for name, table, left_out in tables
    )  # fmt: skip
    if source == "reference":
        labels = (_with_observed(labels[0], questions[0][1], questions[0][2], votes, n_labels, rule),)
    return PilotPlan(source, votes.unit, questions[0][3], n_labels if source == "reference" else len(given),
                     votes.n_cases, labels, str(rule), rule.gain)  # fmt: skip


def _count(
    votes: _Votes, marked: NDArray[np.bool_], rated: NDArray[np.bool_], only: bool, rule: PilotRule
) -> tuple[VoteTable, int]:
    """Items by votes of R raters, and the number of items that fewer rated."""
    m, a = rated.sum(axis=1), (marked & rated).sum(axis=1)
    items = votes.weights * ((a > 0) if only else (m > 0))
    R = next((r for r in range(marked.shape[1], 1, -1) if 2 * items[m >= r].sum() >= items.sum() > 0), 0)
    if R < 2:
        raise InputError(f"no {votes.unit} of the pilot was rated by two raters")
    left_out = int(items[m < R].sum())
    keep = (m >= R) & (votes.weights > 0)
    marked, rated, weights = (marked & rated)[keep], rated[keep], votes.weights[keep]
    spread = _spread_votes(R, marked.shape[1])
    subjects, owner = np.unique(votes.owner[keep], return_inverse=True)
    by_subject = np.zeros((len(subjects), R + 1))
    np.add.at(by_subject, owner, spread[m[keep], a[keep]] * weights[:, None])
    if not votes.people:
        none = np.zeros(0)
        return VoteTable(by_subject, np.zeros((0, R + 1)), none, none.astype(np.int64), 0, only), left_out
    resampled, draws = _resample(marked, rated, weights, spread, rule)
    return VoteTable(by_subject, resampled, draws.chance, draws.kinds, marked.shape[1], only), left_out


def _resample(
    marked: NDArray[np.bool_], rated: NDArray[np.bool_], weights: Counts, spread: Values, rule: PilotRule
) -> tuple[Values, RaterDraws]:
    """(resamples, R + 1) items by votes where raters are drawn with replacement, and the resamples."""
    # 0 not rated, 1 not marked, 2 marked
    rows, place = np.unique(marked.astype(np.uint8) + rated, axis=0, return_inverse=True)
    total, size = np.bincount(place.ravel(), weights), marked.shape[1] + 1
    most = min(rule.resamples, max(100, MOST_VOTES // len(rows)))
    draws = resample_raters(marked.shape[1], most, rule.seed)
    times = draws.times.T.astype(np.float32)
    codes = np.rint((rows > 0).astype(np.float32) @ times).astype(np.int64) * size
    codes += np.rint((rows > 1).astype(np.float32) @ times).astype(np.int64)
    flat = spread.reshape(size * size, -1)
    return np.stack([np.bincount(code, total, size * size) @ flat for code in codes.T]), draws


def _spread_votes(R: int, raters: int) -> Values:
    """(m, a, R + 1): distribution of the votes of R raters where a of m marked: drawn without replacement, or with."""
    out = np.zeros((raters + 1, raters + 1, R + 1))
    for m in range(1, raters + 1):
        if m >= R:
            out[m, : m + 1] = thin_votes(m, R).T
        else:
            b = np.arange(R + 1)
            ways = np.array([math.comb(R, int(k)) for k in b])
            for a in range(m + 1):
                out[m, a] = ways * (a / m) ** b * (1 - a / m) ** (R - b)
    return out


# -- one label -------------------------------------------------------------------------------------


def _plan_label(
    name: str, table: VoteTable, left_out: int, source: str, n_labels: int, rule: PilotRule, refusal: Undefined | None
) -> LabelPlan:
    R, sizes, only, n = table.n_raters, range(1, rule.max_raters + 1), table.given_marked, table.n_subjects
    if source == "reference":
        reach = {k: accuracy_target(k, n_labels) for k in sizes}
    else:
        reach = {k: match_target(k, R, given_marked=only) for k in sizes}
    after = {k: _next_panel(k, n_labels) for k in sizes}
    shown = [k for k in sizes if n_labels > 2 or k % 2 or k == R]
    gains = {k: reach[after[k]] - reach[k] for k in shown if after[k] in reach}
    ties = {k: tie_target(k, R, given_marked=only) for k in sizes if not k % 2 and k <= R}
    found = iter(identified_ranges(table, [*reach.values(), *gains.values(), *ties.values()], rule.level))

    def interval(r: TargetRange, known: bool) -> Interval:
        """No point where two raters leave it open, and no range with too few subjects."""
        value = r.value if known or R > 2 else Undefined(TWO_RATERS)
        ends = (refusal, refusal) if refusal is not None else (r.low, r.high)
        return Interval(value, *ends, rule.level, METHOD, n)

    accuracy = {k: interval(next(found), source == "reference" and k <= R) for k in reach}
    gained = {k: interval(next(found), source == "reference" and after[k] <= R) for k in gains}
    tied = {k: interval(next(found), k <= R) for k in ties}
    bare: dict[int, Interval] = {}
    bare_gains: dict[int, Interval] = {}
    if R == 2 and source == "panel":
        exact = iter(identified_ranges(table, [*reach.values(), *gains.values()], None))
        bare = {k: interval(next(exact), False) for k in reach}
        bare_gains = {k: interval(next(exact), False) for k in gains}
    nothing = _nothing(LAST, rule.level, n)
    odd = _nothing("undefined", rule.level, n)
    panels = tuple(
        Panel(k, accuracy[k], Undefined(NO_TRUTH), gained.get(k, nothing), tied.get(k, odd),
              _cost(k, accuracy[k], rule, n), possible_range(table, reach[k]), bare.get(k), bare_gains.get(k))
        for k in sizes
    )  # fmt: skip
    enough = math.nan if rule.gain is None or R not in gains or refusal else _p_enough(table, gains[R], rule.gain)
    n_items = round(float(table.counted.sum()))
    return LabelPlan(name, n_items, left_out, R, n, table.allowance, panels,
                     _correlation(table, rule.level, n, refusal), _best(panels, n_labels, rule, n), enough)  # fmt: skip


def _next_panel(k: int, n_labels: int) -> int:
    return k + 1 if n_labels > 2 else k + 1 + k % 2


def _nothing(code: str, level: float, n: int) -> Interval:
    return Interval(*(Undefined(code),) * 3, level, METHOD, n)


def _cost(k: int, accuracy: Interval, rule: PilotRule, n: int) -> Interval:
    if rule.cost_rater is None or rule.cost_error is None:
        return _nothing("no_costs", rule.level, n)
    each, wrong = rule.cost_rater, rule.cost_error
    value, high, low = (
        x if reason(x) else k * each + (1 - x) * wrong for x in (accuracy.value, accuracy.low, accuracy.high)
    )
    return Interval(value, low, high, rule.level, METHOD, n)


def _best(panels: Sequence[Panel], n_labels: int, rule: PilotRule, n: int) -> Interval:
    """The number of raters to take by the point estimate, and the smallest and largest that the range leaves open."""
    shown = [panel for panel in panels if n_labels > 2 or panel.n_raters % 2]
    if rule.cost_rater is not None:
        return _cheapest(shown, rule.level, n)
    if rule.gain is None:
        return _nothing(NO_MARGIN, rule.level, n)

    def first(amounts: list[float]) -> float:
        """The first panel whose gain is below the margin."""
        known = [(p.n_raters, g) for p, g in zip(shown, amounts, strict=True) if not reason(g)]
        if not known:
            return next((g for g in amounts if reason(g)), Undefined(LAST))
        assert rule.gain is not None
        return next((float(k) for k, g in known if g < rule.gain), Undefined("no_panel_large_enough"))

    value, low, high = (first([getattr(p.gain, end) for p in shown]) for end in ("value", "low", "high"))
    return Interval(value, low, high, rule.level, METHOD, n)


def _cheapest(shown: Sequence[Panel], level: float, n: int) -> Interval:
    """The cheapest panel, and the panels that may be the cheapest."""
    costs = [panel.cost for panel in shown]
    sizes = [float(panel.n_raters) for panel in shown]
    value = costs[0].value if reason(costs[0].value) else sizes[int(np.argmin([c.value for c in costs]))]
    if reason(costs[0].low):
        return Interval(value, costs[0].low, costs[0].high, level, METHOD, n)
    least = min(c.high for c in costs)
    possible = [k for k, c in zip(sizes, costs, strict=True) if c.low <= least]
    return Interval(value, possible[0], possible[-1], level, METHOD, n)


def _p_enough(table: VoteTable, gain: Values, margin: float) -> float:
    """Smallest 1 − level at which the whole range of the gain lies below the margin; 1 where none does."""

    def holds(p: float) -> bool:
        return identified_ranges(table, [gain], 1 - p)[0].high < margin

    if not holds(0.5):
        return 1.0
    low, high = math.log(1e-4), math.log(0.5)
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(math.exp(middle)) else (middle, high)
    return math.exp(high)


def _correlation(table: VoteTable, level: float, n: int, refusal: Undefined | None) -> Interval:
    """Correlation of two raters' marks in one item, by moments, with the delta method."""
    counts, R = table.by_subject.sum(axis=0), table.n_raters
    a = np.arange(R + 1)
    if table.given_marked:
        return _nothing("undefined", level, n)
    shares = counts / counts.sum()
    first, second = a / R, a * (a - 1) / (R * (R - 1))
    mean, both = float(first @ shares), float(second @ shares)
    spread = mean * (1 - mean)
    if spread <= 0:
        return _nothing("undefined", level, n)
    value = (both - mean**2) / spread
    slope = second / spread - first * (2 * mean / spread + (both - mean**2) * (1 - 2 * mean) / spread**2)
    if refusal is not None:
        return Interval(value, refusal, refusal, level, METHOD, n)
    from scipy.special import stdtrit

    error = math.sqrt(float(slope @ (table.over_subjects + table.over_raters) @ slope))
    reach = float(stdtrit(max(min(n, table.n_people or n) - 1, 1), (1 + level) / 2)) * error
    return Interval(value, max(value - reach, -1 / (R - 1)), min(value + reach, 1.0), level, METHOD, n)


def _with_observed(
    plan: LabelPlan, right: NDArray[np.bool_], known: NDArray[np.bool_], votes: _Votes, n_labels: int, rule: PilotRule
) -> LabelPlan:
    """The accuracy of panels of the pilot's own raters."""
    if n_labels > 2:
        observed: list[float] = [Undefined(MANY_LABELS)] * rule.max_raters
    else:
        pairs = np.stack([right.sum(axis=1), (known & ~right).sum(axis=1)], axis=1)
        values = observed_majority(pairs, votes.weights, rule.max_raters)
        observed = [or_undefined(value, "no_case_rated_by_so_many") for value in values.tolist()]
    panels = tuple(replace(p, observed=o) for p, o in zip(plan.panels, observed, strict=True))
    return replace(plan, panels=panels)


def observed_majority(outcomes: NDArray[np.int64], weights: NDArray[np.int64], largest: int) -> Values:
    """Mean accuracy over all panels of k raters of a case, and over the cases with so many raters; nan if none has.

    The number of right votes in a panel is hypergeometric; no model is needed.
    """
    pairs, row = np.unique(outcomes, axis=0, return_inverse=True)
    count = np.bincount(row.ravel(), weights, len(pairs))
    accuracy = np.full(largest, np.nan)
    for k in range(1, largest + 1):
        enough = pairs.sum(axis=1) >= k
        if enough.any():
            right = [_hypergeometric(int(r), int(w), k) @ win_probability(k, 2) for r, w in pairs[enough]]
            accuracy[k - 1] = np.average(right, weights=count[enough])
    return accuracy


def _hypergeometric(right: int, wrong: int, k: int) -> Values:
    """Hypergeometric probabilities of 0 … k right votes."""
    whole = math.comb(right + wrong, k)
    return np.array([math.comb(right, n) * math.comb(wrong, k - n) / whole for n in range(k + 1)])
