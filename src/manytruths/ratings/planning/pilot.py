"""How many raters are worth their cost, from a pilot study.

Cases are not equally difficult, so the raters' errors are correlated, and a plan from their mean accuracy alone is too
optimistic. The votes of a case are therefore modelled as Dirichlet-multinomial, which is beta-binomial for two
outcomes. There are two sources:

reference
    Outcomes are right and wrong; p, the accuracy in a case, is Beta-distributed with mean a and correlation ρ of
    errors.
panel
    There is no reference standard. Outcomes are the labels, q their shares among all possible raters, and the label
    that most of these would give counts as right. Errors that most raters share cannot be detected: interpret the
    numbers as stability, not as accuracy.

a (or the shares of the labels) are those among the ratings; ρ maximises the likelihood. The accuracy of the majority of
k raters follows in closed form; for more than two labels without a reference standard it is simulated. Raters count as
a random sample; intervals are percentile bootstraps over subjects, with a new fit in each resample.

Without costs, the plan is the smallest odd panel to which two more raters would add less than ``gain``; with costs, the
panel with the lowest cost of a case, k × the cost of a rating + (1 − accuracy) × the cost of an error.

With T_ci the number of cases in which outcome c got more than i votes, U_i the number with more than i raters, and p_c
the share of the outcome, the log-likelihood of ρ is ::

    Σ T_ci log(p_c (1 − ρ) + i ρ) − Σ U_i log(1 − ρ + i ρ)

It is linear in T and U, so a resample of subjects is fitted from sums over its subjects.

Mosimann JE. Biometrika 1962;49:65–82. doi:10.1093/biomet/49.1-2.65
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError
from ...core.labels import VOID
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined, or_undefined
from ...inference.intervals import Interval, check_resamples, too_few_subjects
from ..ratings import MISSING, Ratings, Values
from .panels import MAX_PLURALITY_PANEL, beta_binomial_votes, win_probability

Counts = NDArray[np.int64]

NO_TRUTH = "no_reference"
MANY_LABELS = "counted_for_two_labels"
PATTERNS = "patterns_not_cases"
LAST = "next_panel_not_computed"
MAX_CORRELATION = 1 - 1e-6
"""If all votes of every case agree, the likelihood increases up to a correlation of 1."""
GOLDEN = (5**0.5 - 1) / 2
SIMULATED, RESIMULATED = 20_000, 2_000
"""Number of simulated cases where there is no closed form: for the pilot itself, and for each resample."""
MIN_CORRELATION = 1e-5
"""With a lower ρ, cases count as equally difficult."""


@dataclass(frozen=True)
class Panel:
    """What a panel of a given size is worth.

    Attributes
    ----------
    n_raters : int
        Size of the panel.
    accuracy : Interval
        Of its majority.
    observed : float
        Mean accuracy over all panels of this size made of the pilot's own raters; needs a reference standard.
    gain : float
        What two more raters add; with more than two labels, where even panels improve too, what one more adds.
    cost : float
        Of ratings and errors, for each case.
    """

    n_raters: int
    accuracy: Interval
    observed: float
    gain: float
    cost: float


@dataclass(frozen=True)
class PilotPlan:
    """Result of :func:`plan_from_pilot`: how many raters are worth their cost.

    Attributes
    ----------
    source : {"reference", "panel"}
        What counts as right.
    n_labels, n_cases, n_subjects : int
        Size of the pilot.
    n_raters : int
        Largest number of raters of one case of the pilot.
    accuracy : Interval
        Mean accuracy of a rater.
    correlation : Interval
        Of the outcomes of two raters; without a reference standard this is what Fleiss' kappa estimates.
    panels : tuple of Panel
        For 1, 2, … raters.
    best : Interval
        Number of raters to take.
    rule : str
        How it was chosen.
    """

    source: str
    n_labels: int
    n_cases: int
    n_subjects: int
    n_raters: int
    accuracy: Interval
    correlation: Interval
    panels: tuple[Panel, ...]
    best: Interval
    rule: str

    @property
    def additional_raters(self) -> int:
        """Number of raters to add to those of the pilot."""
        return max(0, int(self.best.value) - self.n_raters)


@dataclass(frozen=True)
class PilotRule:
    """How the number of raters is chosen; see :func:`plan_from_pilot`."""

    max_raters: int = 15
    gain: float = 0.01
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
            if not 0 < getattr(self, name) < 1:
                raise CallError(f"{name} must be between 0 and 1; got {getattr(self, name):g}")
        check_resamples(self.resamples)
        if not 3 <= self.max_raters <= MAX_PLURALITY_PANEL:
            raise CallError(f"max_raters must be from 3 to {MAX_PLURALITY_PANEL}; got {self.max_raters}")

    def __str__(self) -> str:
        if self.cost_rater is None:
            return f"the smallest panel to which two more raters would add less than {self.gain:.1%}"
        return f"the lowest cost of a case, with {self.cost_rater:g} for a rating and {self.cost_error:g} for an error"


def plan_from_pilot(
    pilot: Ratings | Tally | Mapping[str, Tally],
    *,
    source: Literal["reference", "panel"] | None = None,
    reference: str | None = None,
    max_raters: int = 15,
    gain: float = 0.01,
    cost_rater: float | None = None,
    cost_error: float | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PilotPlan:
    """Number of raters that are worth their cost, from the ratings or masks of a pilot study.

    Parameters
    ----------
    pilot : Ratings, Tally or mapping of str to Tally
        Ratings, or tallies of masks, whose pixels count as cases. The region that was counted matters: in the whole
        image nearly all pixels are easy.
    source : {"reference", "panel"}, optional
        What counts as right: the reference standard, the default if there is one, or what most raters would say.
    reference : str, optional
        For tallies, the name of the column that is the reference standard.
    max_raters : int
        Largest panel to compute, from 3 to 99.
    gain : float
        Without costs: two more raters are worth it if they add at least this accuracy.
    cost_rater, cost_error : float, optional
        Costs of one rating and of one wrong label, in the same currency.
    level : float
        Confidence level of the intervals.
    resamples, seed : int
        Of the bootstrap over subjects.

    Returns
    -------
    PilotPlan
        The number of raters to take, and the accuracy of panels of each size.

    References
    ----------
    Mosimann JE. Biometrika 1962;49:65–82. doi:10.1093/biomet/49.1-2.65

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> ratings = {"A": [1, 0, 1, 1, 0, 0], "B": [1, 0, 1, 0, 0, 0], "C": [1, 1, 1, 0, 0, 0]}
    >>> plan = plan_from_pilot(Ratings.of(ratings, reference=[1, 0, 1, 0, 0, 0]))
    >>> plan.source, plan.n_raters, plan.best.value
    ('reference', 3, 5.0)
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
    outcomes = _outcomes(ratings.votes, ratings.reference if source == "reference" else None)
    place = {name: i for i, name in enumerate(dict.fromkeys(ratings.subjects))}
    owner = np.array([place[name] for name in ratings.subjects], np.int64)
    refusal = None if ratings.weights is None else Undefined(PATTERNS)
    return _plan(outcomes, ratings.items, owner, source, len(ratings.labels), rule, refusal)


def _plan_from_tallies(tallies: Tally | Mapping[str, Tally], rule: PilotRule, reference: str | None) -> PilotPlan:
    tables = Tallies({"": tallies}) if isinstance(tallies, Tally) else Tallies.of(tallies)
    if not tables:
        raise CallError("pilot is empty; give at least one tally")
    sizes = {len(t.labels) for t in tables.values()}
    if len(sizes) > 1:
        raise CallError(f"the tallies have different numbers of labels: {sorted(sizes)}; use the same labels for all")
    place = {name: i for i, name in enumerate(tables.by_subject())}
    outcomes = np.concatenate([_outcomes(t.votes, _reference_codes(t, reference)) for t in tables.values()])
    owner = np.concatenate([np.full(len(t.counts), place[tables.subjects[case]]) for case, t in tables.items()])
    weights = np.concatenate([t.counts for t in tables.values()])
    return _plan(outcomes, weights, owner, "reference" if reference else "panel", sizes.pop(), rule)


def _reference_codes(tally: Tally, reference: str | None) -> Counts | None:
    if reference is None:
        return None
    codes = tally.patterns[:, tally.position(reference)].astype(np.int64)
    return np.where(codes == VOID, MISSING, codes)


def _outcomes(votes: Counts, answers: NDArray[np.integer] | None) -> Counts:
    """(rows, outcomes) votes: by label, or right and wrong; none where the reference label is unknown."""
    if answers is None:
        return votes
    right = np.where(answers == MISSING, 0, votes[np.arange(len(votes)), np.maximum(answers, 0)])
    wrong = np.where(answers == MISSING, 0, votes.sum(axis=1) - right)
    return np.stack([right, wrong], axis=1)


def _plan(
    outcomes: Counts,
    weights: Counts,
    owner: Counts,
    source: str,
    labels: int,
    rule: PilotRule,
    refusal: Undefined | None = None,
) -> PilotPlan:
    if source == "panel":
        outcomes = outcomes[:, (outcomes * weights[:, None]).any(axis=0)]
        labels = outcomes.shape[1]
    if labels < 2:
        raise InputError("all ratings are the same label, so nothing can be said about more raters")
    votes = Votes.of(outcomes, weights, owner)
    if votes.n_raters < 2:
        raise InputError("no case of the pilot was rated by two raters")
    n = len(votes.tails)
    refusal = refusal or too_few_subjects(n)
    fit = fit_votes(votes.tails.sum(axis=0, keepdims=True))
    reached = majority_curves(fit, source, labels, rule.max_raters, rule.seed)
    # with too few subjects nothing is resampled
    refit = None if refusal else _fit_resamples(votes, source, labels, rule)
    again = None if refit is None else majority_curves(refit, source, labels, rule.max_raters, rule.seed)

    def interval(value: Values, drawn: Values | None) -> Interval:
        """The limits are resampled values, so that those of a number of raters are whole numbers."""
        ends: tuple[float, float] = (refusal or Undefined("undefined"),) * 2
        if drawn is not None:
            low, high = np.quantile(drawn, [(1 - rule.level) / 2, (1 + rule.level) / 2], method="inverted_cdf")
            ends = float(low), float(high)
        return Interval(float(value[0]), *ends, rule.level, "percentile", n)

    panels, observed = [], _observed_accuracies(votes, source, labels, rule.max_raters)
    for k in range(1, rule.max_raters + 1):
        accuracy = interval(reached[:, k - 1], None if again is None else again[:, k - 1])
        beyond = k + _step(labels)
        more = float(reached[0, beyond - 1] - reached[0, k - 1]) if beyond <= rule.max_raters else Undefined(LAST)
        panels.append(Panel(k, accuracy, observed[k - 1], more, _cost(k, accuracy.value, rule)))
    return PilotPlan(
        source, labels, votes.cases, n, votes.n_raters, panels[0].accuracy,
        interval(fit.correlation, None if refit is None else refit.correlation), tuple(panels),
        interval(_best_sizes(reached, labels, rule), None if again is None else _best_sizes(again, labels, rule)),
        str(rule),
    )  # fmt: skip


def _step(labels: int) -> int:
    """Panels are odd if there are two labels."""
    return 2 if labels == 2 else 1


def _fit_resamples(votes: Votes, source: str, labels: int, rule: PilotRule) -> Fit:
    """The fit of every resample of the subjects."""
    random, n = np.random.default_rng(rule.seed), len(votes.tails)
    flat = votes.tails.reshape(n, -1)
    # simulations are slow
    resamples = rule.resamples if labels == 2 or source == "reference" else min(rule.resamples, 200)
    tails = np.stack([random.multinomial(n, np.full(n, 1 / n)) @ flat for _ in range(resamples)])
    return fit_votes(tails.reshape(-1, *votes.tails.shape[1:]))


def _cost(k: int, accuracy: float, rule: PilotRule) -> float:
    if rule.cost_rater is None or rule.cost_error is None:
        return Undefined("no_costs")
    return float(k * rule.cost_rater + (1 - accuracy) * rule.cost_error)


def _best_sizes(majority: Values, labels: int, rule: PilotRule) -> Values:
    """The number of raters to take, for each fit."""
    candidates = np.arange(1, rule.max_raters + 1, _step(labels))
    reached = majority[:, candidates - 1]
    if rule.cost_rater is not None and rule.cost_error is not None:
        cost = candidates * rule.cost_rater + (1 - reached) * rule.cost_error
        return np.asarray(candidates[cost.argmin(axis=1)], np.float64)
    stride = 2 // _step(labels)
    enough = reached[:, stride:] - reached[:, :-stride] < rule.gain
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), len(candidates) - 1)
    return np.asarray(candidates[first], np.float64)


def _observed_accuracies(votes: Votes, source: str, labels: int, largest: int) -> list[float]:
    if source != "reference" or labels > 2:
        return [Undefined(NO_TRUTH if source != "reference" else MANY_LABELS)] * largest
    values = observed_majority(votes.outcomes, votes.weights, largest)
    return [or_undefined(value, "no_case_rated_by_so_many") for value in values.tolist()]


# -- the model of votes ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes by row and outcome, and their sums by subject."""

    outcomes: NDArray[np.int64]
    """(rows, outcomes): numbers of raters."""
    weights: NDArray[np.int64]
    """Number of items of each row."""
    tails: Values
    """(subjects, outcomes, votes): T, and U as the last outcome."""

    @classmethod
    def of(cls, outcomes: NDArray[np.int64], weights: NDArray[np.int64], owner: NDArray[np.int64]) -> Votes:
        """Leave out rows without a vote or an item, and subjects without a row."""
        usable = (outcomes.sum(axis=1) > 0) & (weights > 0)
        outcomes, weights = outcomes[usable], weights[usable]
        subjects, owner = np.unique(owner[usable], return_inverse=True)
        largest = int(outcomes.sum(axis=1).max(initial=0))
        counts = np.column_stack([outcomes, outcomes.sum(axis=1)])
        tails = np.zeros((len(subjects), counts.shape[1], largest))
        for i in range(largest):
            np.add.at(tails[:, :, i], owner, (counts > i) * weights[:, None])
        return cls(outcomes, weights, tails)

    @property
    def cases(self) -> int:
        """Number of items."""
        return int(self.weights.sum())

    @property
    def n_raters(self) -> int:
        """Largest number of raters of one case."""
        return int(self.tails.shape[-1])


@dataclass(frozen=True, eq=False)
class Fit:
    """Shares of the outcomes and correlation, with one row for each resample."""

    shares: Values
    correlation: Values


def fit_votes(tails: Values) -> Fit:
    """Fit sums (resamples, outcomes and U, votes) by a coarse search over ρ, then a golden section search."""
    votes = tails.sum(axis=-1)
    shares = votes[:, :-1] / votes[:, -1:]
    coarse = np.concatenate([[0.0], np.linspace(0, 1, 61)[1:-1], [MAX_CORRELATION]])
    values = np.stack([_likelihood(tails, shares, np.full(len(tails), rho)) for rho in coarse], axis=1)
    top = values.argmax(axis=1)
    low, high = coarse[np.maximum(top - 1, 0)], coarse[np.minimum(top + 1, len(coarse) - 1)]
    for _ in range(40):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        rising = _likelihood(tails, shares, left) < _likelihood(tails, shares, right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return Fit(shares, (low + high) / 2)


def _likelihood(tails: Values, shares: Values, rho: Values) -> Values:
    rho, i = rho[:, None, None], np.arange(tails.shape[-1])
    both = np.concatenate([shares, np.ones((len(shares), 1))], axis=1)
    chance = both[:, :, None] * (1 - rho) + i * rho
    signs = np.where(np.arange(tails.shape[1]) < tails.shape[1] - 1, 1.0, -1.0)
    logs = np.log(chance, out=np.zeros_like(chance), where=(tails > 0) & (chance > 0))
    return np.asarray((tails * logs).sum(axis=-1) @ signs)


# -- accuracy by size of the panel -----------------------------------------------------------------


def majority_curves(fit: Fit, source: str, labels: int, largest: int, seed: int) -> Values:
    """(fits, k) accuracy of the majority of k = 1, 2, … raters, in closed form where there is one."""
    if source == "reference":
        votes = beta_binomial_votes(largest, fit.shares[:, 0], fit.correlation)
        return np.stack([v @ win_probability(k, labels) for k, v in enumerate(votes, start=1)], axis=1)
    if labels == 2:
        return panel_curve(fit.shares[:, 0], fit.correlation, largest)
    random, size = np.random.default_rng(seed), SIMULATED if len(fit.shares) == 1 else RESIMULATED
    pairs = zip(fit.shares, fit.correlation, strict=True)
    return np.stack([simulate_curve(p, rho, largest, size, random) for p, rho in pairs])


def panel_curve(share: Values, correlation: Values, largest: int) -> Values:
    """(fits, k): probability that the majority of k gives the label that most raters would give; two labels.

    The increments are those of :mod:`.panels` with |2q − 1| in place of 2p − 1.
    """
    from scipy.special import betainc

    rho = np.maximum(correlation, MIN_CORRELATION)
    alpha, beta = (np.maximum(p, MIN_CORRELATION) * (1 - rho) / rho for p in (share, 1 - share))

    def margin(a: Values, b: Values) -> Values:
        """E|2q − 1| for q ~ Beta(a, b)."""
        mean = a / (a + b)
        return np.asarray(2 * mean - 1 - 2 * (2 * mean * betainc(a + 1, b, 0.5) - betainc(a, b, 0.5)))

    reached = (1 + margin(alpha, beta)) / 2
    out, term = [reached], np.ones_like(reached)
    for m in range(1, (largest + 1) // 2 + 1):
        # C(2m − 1, m) E[(q (1 − q))^m], from that of m − 1
        whole = alpha + beta + 2 * m - 2
        term = term * (1 if m == 1 else 2 * (2 * m - 1) / m)
        term = term * (alpha + m - 1) * (beta + m - 1) / (whole * (whole + 1))
        out.append(reached)  # an even panel is as accurate as the odd one before
        reached = reached + term * margin(alpha + m, beta + m)
        out.append(reached)
    return np.stack(out[:largest], axis=1)


def simulate_curve(shares: Values, rho: float, largest: int, cases: int, random: np.random.Generator) -> Values:
    """Probability that the plurality of k gives the label that most raters would give, over simulated cases; ties
    share."""
    rho, p = max(float(rho), MIN_CORRELATION), shares[shares > 0]
    q = random.dirichlet(p / p.sum() * (1 - rho) / rho, size=cases)
    expected = q.argmax(axis=1)
    given = (random.random((cases, largest, 1)) > q.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    votes = (given[:, :, None] == np.arange(len(p))).cumsum(axis=1)
    level = votes == votes.max(axis=2, keepdims=True)
    right = np.take_along_axis(level, expected[:, None, None], axis=2)[..., 0]
    return np.asarray((right / level.sum(axis=2)).mean(axis=0))


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
