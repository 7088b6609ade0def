"""How many raters are worth their cost, from a pilot study.

Cases are not equally hard, so the raters' errors are correlated, and a plan from their mean accuracy alone is too rosy.
The votes of a case are therefore taken as Dirichlet-multinomial: beta-binomial for two outcomes. Two sources:

reference
    Outcomes are right and wrong; p, a case's accuracy, is Beta with mean a and correlation ρ of errors.
panel
    There is no reference. Outcomes are the labels, q their shares among all raters there might be, and "right" is what
    most of those would say. An error that most raters share cannot be seen: take the numbers as stability, not truth.

a (or the labels' shares) are those among the ratings; ρ is the maximum of the likelihood. The accuracy of the majority
of k raters follows in closed form; for more than two labels and no reference it is simulated. Raters count as drawn
from those there might be; intervals are percentile bootstraps over subjects, fitted anew in each.

Where nothing is said about costs, the panel is the smallest odd one to which two more raters would add less than
``gain``; else the one with the least cost a case, k × the cost of a rating + (1 − accuracy) × the cost of an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError
from ...core.labels import VOID
from ...core.tallies import Tallies
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...inference.intervals import Interval, check_resamples, too_few_subjects
from ..ratings import MISSING, Ratings, Values
from .panel_size import MOST_PLURALITY
from .pilot_curves import Curves, curves, observed_majority
from .pilot_votes import Votes, fitted

Counts = NDArray[np.int64]

NO_TRUTH = "no_reference"
MANY_LABELS = "counted_for_two_labels"
FEWER = "no_case_rated_by_so_many"
PATTERNS = "patterns_not_cases"
LAST = "next_panel_not_computed"


@dataclass(frozen=True)
class Panel:
    """What a panel of k raters is worth."""

    raters: int
    accuracy: Interval
    """Of its majority."""
    observed: float
    """The mean over all panels of so many that the pilot's own raters make; needs a reference."""
    gain: float
    """What two more raters add; with more than two labels, where even panels gain too, what one more adds."""
    cost: float
    """Of ratings and errors, a case."""


@dataclass(frozen=True)
class PilotPlan:
    """How many raters are worth it."""

    source: str
    """``reference`` or ``panel``: what counts as right."""
    labels: int
    cases: int
    subjects: int
    raters: int
    """The most that rated one case of the pilot."""
    accuracy: Interval
    """Of a rater, on average."""
    correlation: Interval
    """Of two raters' outcomes; without a reference it is what Fleiss' kappa estimates."""
    panels: tuple[Panel, ...]
    """For k = 1, 2, …"""
    best: Interval
    """How many raters to take."""
    rule: str
    """By which."""

    @property
    def more(self) -> int:
        """Raters to add to those of the pilot."""
        return max(0, int(self.best.value) - self.raters)


@dataclass(frozen=True)
class Rule:
    """What is asked of a pilot."""

    most: int = 15
    gain: float = 0.01
    cost_rater: float | None = None
    cost_error: float | None = None
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.cost_rater is None) != (self.cost_error is None):
            raise CallError("the cost of a rating and the cost of an error go together; give both or neither")
        for name in ("cost_rater", "cost_error"):
            if not 0 <= (getattr(self, name) or 0) < math.inf:
                raise CallError(f"{name} is not negative; got {getattr(self, name):g}")
        for name in ("level", "gain"):
            if not 0 < getattr(self, name) < 1:
                raise CallError(f"{name} lies between 0 and 1; got {getattr(self, name):g}")
        check_resamples(self.resamples)
        if not 3 <= self.most <= MOST_PLURALITY:
            raise CallError(f"a plan wants panels of three to {MOST_PLURALITY}; got {self.most}")

    def __str__(self) -> str:
        if self.cost_rater is None:
            return f"the smallest panel to which two more raters would add less than {self.gain:.1%}"
        return f"the least cost a case, {self.cost_rater:g} a rating and {self.cost_error:g} an error"


def plan_from_ratings(ratings: Ratings, rule: Rule | None = None, *, source: str | None = None) -> PilotPlan:
    """A plan from a pilot's ratings; ``source`` is ``"reference"`` where there is one, else ``"panel"``."""
    source = source or ("panel" if ratings.reference is None else "reference")
    if source not in ("panel", "reference"):
        raise CallError(f"source is 'reference' or 'panel'; got {source!r}")
    if source == "reference" and ratings.reference is None:
        raise CallError("there is no reference; give one, or plan by the panel")
    outcomes = _outcomes(ratings.votes, ratings.reference if source == "reference" else None)
    place = {name: i for i, name in enumerate(dict.fromkeys(ratings.subjects))}
    owner = np.array([place[name] for name in ratings.subjects], np.int64)
    refusal = None if ratings.weights is None else Undefined(PATTERNS)
    return _plan(outcomes, ratings.items, owner, source, len(ratings.labels), rule or Rule(), refusal)


def plan_from_tallies(
    tallies: Tally | Mapping[str, Tally], rule: Rule | None = None, *, reference: str | None = None
) -> PilotPlan:
    """A plan from masks, their items rated one by one: by the column ``reference``, else by the panel.

    The region that was counted matters: in the whole image nearly all items are easy.
    """
    tables = Tallies({"": tallies}) if isinstance(tallies, Tally) else Tallies.of(tallies)
    if not tables:
        raise CallError("there is no table")
    sizes = {len(t.labels) for t in tables.values()}
    if len(sizes) > 1:
        raise CallError(f"the tables differ in their labels, {sorted(sizes)} of them; give all the same")
    place = {name: i for i, name in enumerate(tables.by_subject())}
    keys = [None if reference is None else _key(t, reference) for t in tables.values()]
    outcomes = np.concatenate([_outcomes(t.votes, key) for t, key in zip(tables.values(), keys, strict=True)])
    owner = np.concatenate([np.full(len(t.counts), place[tables.subjects[case]]) for case, t in tables.items()])
    weights = np.concatenate([t.counts for t in tables.values()])
    return _plan(outcomes, weights, owner, "reference" if reference else "panel", sizes.pop(), rule or Rule())


def _key(tally: Tally, reference: str) -> Counts:
    codes = tally.patterns[:, tally.position(reference)].astype(np.int64)
    return np.where(codes == VOID, MISSING, codes)


def _outcomes(votes: Counts, key: NDArray[np.integer] | None) -> Counts:
    """(rows, outcomes) votes: by label, or right and wrong; none where the true label is not known."""
    if key is None:
        return votes
    right = np.where(key == MISSING, 0, votes[np.arange(len(votes)), np.maximum(key, 0)])
    wrong = np.where(key == MISSING, 0, votes.sum(axis=1) - right)
    return np.stack([right, wrong], axis=1)


def _plan(
    outcomes: Counts,
    weights: Counts,
    owner: Counts,
    source: str,
    labels: int,
    rule: Rule,
    refusal: Undefined | None = None,
) -> PilotPlan:
    if source == "panel":
        outcomes = outcomes[:, (outcomes * weights[:, None]).any(axis=0)]
        labels = outcomes.shape[1]
    if labels < 2:
        raise InputError("every rater gave one and the same label, which says nothing about more raters")
    votes = Votes.of(outcomes, weights, owner)
    if votes.most < 2:
        raise InputError("a pilot wants cases that two raters or more rated; no case has two")
    n = len(votes.tails)
    refusal = refusal or too_few_subjects(n)
    whole = curves(fitted(votes.tails.sum(axis=0, keepdims=True)), source, labels, rule.most, rule.seed)
    drawn = None if refusal else _drawn(votes, source, labels, rule)
    limits = Limits(rule.level, n, refusal)
    best = limits.interval(_sizes(whole, labels, rule), None if drawn is None else _sizes(drawn, labels, rule))
    return PilotPlan(
        source, labels, votes.cases, n, votes.most,
        limits.interval(whole.accuracy, None if drawn is None else drawn.accuracy),
        limits.interval(whole.correlation, None if drawn is None else drawn.correlation),
        tuple(_panels(whole, drawn, limits, rule, _observed(votes, source, labels, rule.most), labels)),
        best, str(rule),
    )  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """How intervals are made, or why not."""

    level: float
    n: int
    refusal: Undefined | None

    def interval(self, value: Values, drawn: Values | None) -> Interval:
        """Ends are values that were drawn, so that those of a number of raters are numbers of raters."""
        if drawn is None or self.refusal is not None:
            low = high = self.refusal or Undefined("undefined")
            return Interval(float(value[0]), low, high, self.level, "percentile", self.n)
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        ends = np.quantile(drawn, tails, method="inverted_cdf")
        return Interval(float(value[0]), float(ends[0]), float(ends[1]), self.level, "percentile", self.n)


def _panels(
    whole: Curves, drawn: Curves | None, limits: Limits, rule: Rule, observed: list[float], labels: int
) -> Iterator[Panel]:
    step, reached = _step(labels), whole.majority[0]
    for k in range(1, rule.most + 1):
        within = limits.interval(whole.majority[:, k - 1], None if drawn is None else drawn.majority[:, k - 1])
        more = float(reached[k + step - 1] - reached[k - 1]) if k + step <= rule.most else Undefined(LAST)
        yield Panel(k, within, observed[k - 1], more, _cost(k, within.value, rule))


def _step(labels: int) -> int:
    """Panels are odd where labels are two."""
    return 2 if labels == 2 else 1


def _drawn(votes: Votes, source: str, labels: int, rule: Rule) -> Curves:
    """Everything once more for each resample of the subjects."""
    random, n = np.random.default_rng(rule.seed), len(votes.tails)
    flat = votes.tails.reshape(n, -1)
    # what is simulated takes its time
    resamples = rule.resamples if labels == 2 or source == "reference" else min(rule.resamples, 200)
    tails = np.stack([random.multinomial(n, np.full(n, 1 / n)) @ flat for _ in range(resamples)])
    return curves(fitted(tails.reshape(-1, *votes.tails.shape[1:])), source, labels, rule.most, rule.seed)


def _cost(k: int, accuracy: float, rule: Rule) -> float:
    if rule.cost_rater is None or rule.cost_error is None:
        return Undefined("no_costs")
    return float(k * rule.cost_rater + (1 - accuracy) * rule.cost_error)


def _sizes(found: Curves, labels: int, rule: Rule) -> Values:
    """The panel to take, for each fit."""
    candidates = np.arange(1, rule.most + 1, _step(labels))
    reached = found.majority[:, candidates - 1]
    if rule.cost_rater is not None and rule.cost_error is not None:
        cost = candidates * rule.cost_rater + (1 - reached) * rule.cost_error
        return np.asarray(candidates[cost.argmin(axis=1)], np.float64)
    stride = 2 // _step(labels)
    enough = reached[:, stride:] - reached[:, :-stride] < rule.gain
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), len(candidates) - 1)
    return np.asarray(candidates[first], np.float64)


def _observed(votes: Votes, source: str, labels: int, most: int) -> list[float]:
    if source != "reference" or labels > 2:
        return [Undefined(NO_TRUTH if source != "reference" else MANY_LABELS)] * most
    found = observed_majority(votes.outcomes, votes.weights, most)
    return [float(value) if not np.isnan(value) else Undefined(FEWER) for value in found]
