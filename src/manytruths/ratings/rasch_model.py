"""The Rasch model: abilities of raters and difficulties of cases, estimated from who was right about what.

Rater i is right about case x with probability ::

    P(right) = 1 / (1 + exp(difficulty_x − ability_i)),     difficulty ~ N(0, s²)

independently of the others. Abilities and the spread s maximise the marginal likelihood, in which the difficulties are
integrated out. Difficulties are then the means of their posterior distributions, finite also for a
case that everybody got right, and their errors are the posterior standard deviations, as if abilities and s were known.
In psychometrics the roles are reversed: cases are persons, raters are items, and easiness is the raters' ability.

A rater who was always right has no finite ability. As usual, 0.3 of an item is then counted as wrong (as right for one
who never was), and ``extreme`` names the rater. The reference standard defines what is right or, without one, the
majority of the other raters; ties of these are not counted. A majority that errs makes its members right, so abilities
estimated against it are too high.

**Likelihood.** All that a case tells about its difficulty d is which raters were compared on it, and how many of them,
r, were right; cases that are alike in both form one group. With S the raters compared ::

    log L = Σ_i a_i · (how often i was right) + Σ_g n_g log Z_g
    Z_g = ∫ exp(−r d) Π_(i in S) 1 / (1 + exp(a_i − d)) N(d; 0, s²) dd

The integral is a sum over equally spaced nodes, the same for all groups. For integrands like these its error decreases
as exp(−2π² / (κ h²)), with h the spacing and κ = 1/s² + R/4 at least the precision of any posterior, until the poles of
the logistic function, π away from the real line, limit it to exp(−2π² / h). Gauss–Hermite nodes, which scale with s
alone, are far too wide for a case with many raters.

**Fit.** Mean squares are of the residuals of right (1) and wrong (0), averaged over the posterior of each difficulty,
as is the variance that the model expects ::

    infit  = Σ E[(x − P)²] / Σ E[P (1 − P)]          outfit = mean of E[(x − P)² / (P (1 − P))]

over the cases of a rater, or the raters of a case. Where the model holds, outfit has expectation 1, and the two sums of
infit have the same expectation; the infit of one case, a ratio of few terms, is below 1 on average. Values well above 1
indicate surprising answers, values well below 1 answers that are too regular.

Rasch G. Probabilistic models for some intelligence and attainment tests. Copenhagen 1960. Bock RD, Aitkin M.
Psychometrika 1981;46:443–459. doi:10.1007/BF02293801. Wright BD, Stone MH. Best test design. MESA 1979. Self SG,
Liang KY. J Am Stat Assoc 1987;82:605–610 (the test of s = 0). doi:10.1080/01621459.1987.10478472
Trefethen LN, Weideman JAC. The exponentially convergent trapezoidal rule. SIAM Rev 2014;56:385–458.
doi:10.1137/130932132. Louis TA. J R Stat Soc B 1982;44:226–233 (information). doi:10.1111/j.2517-6161.1982.tb01203.x.
Adams RJ, Wu ML. The mixed-coefficients multinomial logit model. In: von Davier M, Carstensen CH (eds). Multivariate and
mixture distribution Rasch models. Springer 2007:57–75. doi:10.1007/978-0-387-49839-3_4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import erfc, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.undefined import Undefined, divide
from .accuracy import comparison_labels
from .ratings import MISSING, Ratings, Values

STEP = 0.8
"""Spacing of the nodes in units of the smallest possible posterior standard deviation: an error of 4·10⁻¹⁴."""
WIDEST = 0.5
"""Widest spacing, because of the poles: an error of 7·10⁻¹⁸."""
REACH = 8.5
"""How far the nodes extend beyond the outermost possible posterior mode, in units of s."""
BLOCK = 2_000_000
"""Largest number of values in an array of groups × nodes: 16 MB."""
NEAR = 1e-4
"""Abilities closer than this count as equal in the product of two probabilities."""
NO_SPREAD = 1e-3
"""A smaller spread counts as 0."""
MAX_SPREAD = 20.0
"""A larger spread is unbounded: hardly any answer is random, and the likelihood is almost flat."""
EXTREME = 0.3
"""Part of an item that is counted the other way for a rater who was always right, or never."""
SPLIT = (
    "the majority of the others defines what is right: where one vote decides, its raters meet a tie and are not "
    "compared, and all others count as wrong"
)


class NotFittedError(InputError):
    """Raised where no Rasch model can be fitted; ``args[0]`` is the reason."""

    def __str__(self) -> str:
        return f"the Rasch model cannot be fitted: {self.args[0]}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Rasch:
    """Result of :func:`rasch`: abilities and difficulties in logits, with a mean difficulty of 0.

    Attributes
    ----------
    source : {"reference", "majority"}
        What defines the right label; ``majority`` is that of the other raters.
    raters : tuple of str
        The raters.
    ability : ndarray of float
        nan for a rater who could not be compared on any case.
    ability_error : ndarray of float
        Standard errors, from the observed information.
    infit, outfit : ndarray of float
        Mean squares of each rater, 1 if they answer as the model expects. Outfit is more sensitive to unexpected
        answers far from the rater's ability.
    extreme : tuple of str
        Raters who were always right, or never; their abilities rest on the correction alone.
    cases : tuple of str
        The cases.
    difficulty, difficulty_error : ndarray of float
        Posterior means and standard deviations; 0 for a case on which nobody could be compared.
    case_infit, case_outfit : ndarray of float
        Mean squares of each case.
    spread, spread_error : float
        s, the standard deviation of the difficulties, and its standard error; 0 if nothing shows that cases differ.
    log_likelihood, equal_log_likelihood : float
        Of the model, and of a model in which all cases are equally difficult.
    iterations : int
        Number of steps of Newton's method.
    convergence : {"converged", "stopped"}
        Whether the fit converged.
    notes : tuple of str
        What to know about the fit.
    """

    source: str
    raters: tuple[str, ...]
    ability: Values
    ability_error: Values
    infit: Values
    outfit: Values
    extreme: tuple[str, ...]
    cases: tuple[str, ...]
    difficulty: Values
    difficulty_error: Values
    case_infit: Values
    case_outfit: Values
    spread: float
    spread_error: float
    log_likelihood: float
    equal_log_likelihood: float
    iterations: int
    convergence: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Rasch by {self.source}: {len(self.raters)} raters, {len(self.cases)} cases, spread {self.spread:.2f}>"

    @property
    def accuracy(self) -> Values:
        """(cases, raters): probability of being right, given the estimates; for :func:`rho`."""
        known = ~np.isnan(self.ability)
        out = np.full((len(self.cases), len(self.raters)), np.nan)
        out[:, known] = success_probability(self.ability[known], self.difficulty)
        return out

    @property
    def equal_p(self) -> float:
        """p of a likelihood-ratio test that all cases are equally difficult: half that of χ² with 1 degree, as s ≥
        0."""
        gain = 2 * (self.log_likelihood - self.equal_log_likelihood)
        return erfc(sqrt(gain / 2)) / 2 if gain > 0 else 1.0

    def to_frame(self, of: Literal["raters", "cases"] = "raters") -> Any:
        """A pandas DataFrame (extra ``tables``) with one row for each rater, or for each case."""
        import pandas

        if of == "cases":
            columns = {"difficulty": self.difficulty, "error": self.difficulty_error}
            return pandas.DataFrame(columns | {"infit": self.case_infit, "outfit": self.case_outfit}, self.cases)
        columns = {"ability": self.ability, "error": self.ability_error, "infit": self.infit, "outfit": self.outfit}
        extreme = [rater in self.extreme for rater in self.raters]
        return pandas.DataFrame(columns | {"extreme": np.array(extreme)}, self.raters)


def rasch(
    ratings: Ratings,
    by: Literal["reference", "majority"] | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> Rasch:
    """Fit the Rasch model to who was right about which case.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    by : {"reference", "majority"}, optional
        What defines the right label: the reference standard, the default if there is one, or the majority of the other
        raters.
    tol : float
        Stop when neither log s nor any ability changes by more than this.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Rasch
        Abilities of raters, difficulties of cases, and how well they fit.

    Raises
    ------
    InputError
        If the ratings do not determine the model, as when nobody was ever wrong.

    References
    ----------
    Rasch G. Probabilistic models for some intelligence and attainment tests. Copenhagen 1960.
    Bock RD, Aitkin M. Psychometrika 1981;46:443–459. doi:10.1007/BF02293801

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> right = {"A": [1, 1, 1, 1, 0, 1, 0, 0], "B": [1, 1, 1, 0, 0, 1, 0, 0], "C": [1, 1, 0, 1, 0, 0, 1, 0]}
    >>> model = rasch(Ratings.of(right, reference=[1] * 8))
    >>> model.ability.round(2), round(model.spread, 2)
    (array([ 0.76, -0.02, -0.02]), 1.74)
    """
    answers = _Answers.of(ratings, by or ("majority" if ratings.reference is None else "reference"))
    _check_answers(answers, ratings.raters)
    scores, group = Scores.of(answers.judged[:, answers.known], answers.right[:, answers.known], answers.items)
    wrong = (answers.items @ answers.judged)[answers.known] - scores.right
    right = np.where(scores.right == 0, EXTREME, scores.right - EXTREME * (wrong == 0))
    return _result(ratings, answers, scores, group, maximise(replace(scores, right=right), tol, max_iter))


@dataclass(frozen=True, eq=False)
class _Answers:
    """Who was right about what."""

    source: str
    judged: NDArray[np.bool_]
    right: NDArray[np.bool_]
    items: NDArray[np.int64]
    known: NDArray[np.bool_]
    """Raters who were compared on at least one case."""
    extreme: NDArray[np.bool_]
    """Raters among these who were always right, or never."""

    @classmethod
    def of(cls, ratings: Ratings, source: str) -> _Answers:
        expected, items = comparison_labels(ratings, source), ratings.items
        judged = ratings.given & (expected != MISSING) & (items > 0)[:, None]
        right = judged & (ratings.codes == expected)
        asked, rightly = judged.sum(axis=0), right.sum(axis=0)
        return cls(source, judged, right, items, asked > 0, (asked > 0) & ((rightly == 0) | (rightly == asked)))


def _check_answers(answers: _Answers, raters: tuple[str, ...]) -> None:
    """Reject answers from which no spread can be estimated."""
    usable = answers.known & ~answers.extreme
    judged, right = answers.judged[:, usable].sum(axis=1), answers.right[:, usable].sum(axis=1)
    names = ", ".join(np.array(raters, object)[usable])
    if answers.known.sum() < 2:
        why = f"it needs two raters who can be compared with the {answers.source}; there are {answers.known.sum()}"
    elif usable.sum() < 2:
        why = f"it needs two raters who are sometimes right and sometimes wrong by the {answers.source}; "
        why += f"only {names} is" if names else "nobody is"
    elif not (judged > 1).any():
        why = f"no case has two of {names} compared with the {answers.source}, so the differences of cases are unknown"
    elif not ((right > 0) & (right < judged)).any():
        why = f"on every case {names} are all right or all wrong by the {answers.source}: the spread is unbounded"
    else:
        return
    raise NotFittedError(f"{why}; use rater_accuracy instead")


def _result(ratings: Ratings, answers: _Answers, scores: Scores, group: NDArray[np.intp], top: Maximum) -> Rasch:
    posterior = Posterior.of(scores, top.ability, top.spread)
    known, names = answers.known, np.array(ratings.raters, object)
    squares = mean_squares(
        answers.judged[:, known], answers.right[:, known], answers.items, group, posterior, top.ability
    )
    return Rasch(
        source=answers.source,
        raters=ratings.raters,
        ability=_fill(top.ability, known),
        ability_error=_fill(top.ability_error, known),
        infit=_fill(squares.infit, known),
        outfit=_fill(squares.outfit, known),
        extreme=tuple(names[answers.extreme]),
        cases=ratings.cases,
        difficulty=posterior.mean[group],
        difficulty_error=posterior.deviation[group],
        case_infit=squares.case_infit,
        case_outfit=squares.case_outfit,
        spread=top.spread,
        spread_error=top.spread_error if top.spread else Undefined("spread_zero"),
        log_likelihood=log_likelihood(scores, top.ability, top.spread),
        equal_log_likelihood=log_likelihood(scores, top.level, 0.0),
        iterations=top.iterations,
        convergence=top.convergence,
        notes=tuple(_notes(answers, names, top)),
    )


def _fill(values: Values, known: NDArray[np.bool_]) -> Values:
    """nan for the raters who were not compared."""
    out = np.full(len(known), np.nan)
    out[known] = values
    return out


def _notes(answers: _Answers, names: NDArray[Any], top: Maximum) -> Iterator[str]:
    """What to know about a fit."""
    for i in np.flatnonzero(answers.extreme):
        word = "always" if answers.right[:, i].any() else "never"
        yield f"{names[i]} was {word} right: the ability rests on a correction of {EXTREME:g} of an item"
    if not answers.known.all():
        yield f"{', '.join(names[~answers.known])} could not be compared on any case, so there is no ability"
    alone = int(answers.items[~answers.judged.any(axis=1)].sum())
    if alone:
        yield f"on {alone} case{'s' * (alone > 1)} nobody could be compared: their difficulty is 0, the mean"
    if answers.source == "majority":
        yield SPLIT
    if top.spread == 0:
        yield "the ratings do not show that cases differ in difficulty: all difficulties are 0"
    if top.convergence == "stopped" and not (top.spread < MAX_SPREAD and top.spread_error < top.spread):
        yield "the spread is unbounded, and so are abilities: the answers follow one order of raters and cases"
    elif top.convergence == "stopped":
        yield f"not converged after {top.iterations} iterations"
    if np.isnan(top.ability_error).any():
        yield "the information is singular: there are no standard errors"


# -- the marginal likelihood ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scores:
    """Cases in groups: who was compared, how many of them were right, and the number of cases."""

    judged: Values
    """(groups, raters): 1 where the rater was compared."""
    score: Values
    """Number of raters who were right, in each group."""
    count: Values
    """Number of items of each group."""
    right: Values
    """Number of items about which each rater was right."""

    @classmethod
    def of(
        cls, judged: NDArray[np.bool_], right: NDArray[np.bool_], items: NDArray[np.int64]
    ) -> tuple[Scores, NDArray[np.intp]]:
        """From answers (cases, raters); also the group of every case."""
        score = right.sum(axis=1)
        rows = np.column_stack([np.packbits(judged, axis=1), score >> 8, score & 255]).astype(np.uint8)
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        count = np.asarray(np.bincount(group, items, len(first)), np.float64)
        total = np.asarray(items @ right, np.float64)
        return cls(judged[first].astype(np.float64), score[first].astype(np.float64), count, total), group

    def parts(self, nodes: Nodes) -> Iterator[Scores]:
        """The groups in parts of bounded memory."""
        size = max(1, BLOCK // len(nodes.at))
        for start in range(0, len(self.count), size):
            part = slice(start, start + size)
            yield replace(self, judged=self.judged[part], score=self.score[part], count=self.count[part])


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of the integrals, and the logarithm of prior × spacing there."""

    at: Values
    log_weight: Values

    @classmethod
    def of(cls, ability: Values, spread: float, finer: float = 1.0) -> Nodes:
        """As many nodes as the parameters require; one, at 0, where all cases are equally difficult."""
        if spread == 0:
            return cls(np.zeros(1), np.zeros(1))
        spacing = min(WIDEST, STEP / np.sqrt(spread**-2 + len(ability) / 4)) / finer
        low, high = _outermost_modes(ability, spread)
        count = int(np.ceil((high - low + 2 * REACH * spread) / spacing)) + 1
        at = low - REACH * spread + spacing * np.arange(count)
        return cls(at, -0.5 * (at / spread) ** 2 + np.log(spacing / (spread * np.sqrt(2 * np.pi))))


def _outermost_modes(ability: Values, spread: float) -> tuple[float, float]:
    """Posterior modes of a case that all got right, and of one that all got wrong, by bisection."""
    limit = spread**2 * len(ability)
    low, high = np.array([-limit, -limit]), np.array([limit, limit])
    score = np.array([len(ability), 0.0])
    for _ in range(60):
        middle = (low + high) / 2
        above = middle / spread**2 > success_probability(ability, middle).sum(axis=1) - score
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return float(low[0]), float(high[1])


def success_probability(ability: Values, difficulty: Values) -> Values:
    """(difficulties, raters): the logistic function of ability − difficulty."""
    return np.asarray(np.exp(-np.logaddexp(0, np.subtract.outer(difficulty, ability))))


def log_posterior(scores: Scores, ability: Values, nodes: Nodes) -> tuple[Values, Values]:
    """(groups, nodes) logarithms of the posterior weight of each node; and log Z of each group."""
    wrong = np.logaddexp(0, np.subtract.outer(ability, nodes.at))
    joint = nodes.log_weight - np.outer(scores.score, nodes.at) - scores.judged @ wrong
    top = joint.max(axis=1, keepdims=True)
    log_z = top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
    return joint - log_z, log_z[:, 0]


def log_likelihood(scores: Scores, ability: Values, spread: float, nodes: Nodes | None = None) -> float:
    """Log-likelihood of the answers."""
    nodes = Nodes.of(ability, spread) if nodes is None else nodes
    groups = sum(float(part.count @ log_posterior(part, ability, nodes)[1]) for part in scores.parts(nodes))
    return float(scores.right @ ability) + groups


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The log-likelihood and its derivatives with respect to the abilities and, last, log s."""

    value: float
    gradient: Values
    hessian: Values


def differentiate(scores: Scores, ability: Values, spread: float) -> Derivatives:
    """Derivatives of the likelihood for known difficulties, averaged over the posteriors (Louis 1982)."""
    nodes = Nodes.of(ability, spread)
    size = len(ability)
    value, gradient, hessian = 0.0, np.zeros(size + 1), np.zeros((size + 1, size + 1))
    for part in scores.parts(nodes):
        more = _differentiate_part(part, ability, spread, nodes)
        value, gradient, hessian = value + more.value, gradient + more.gradient, hessian + more.hessian
    gradient[:size] += scores.right
    return Derivatives(value + float(scores.right @ ability), gradient, hessian)


def _differentiate_part(scores: Scores, ability: Values, spread: float, nodes: Nodes) -> Derivatives:
    """Derivatives of the sum over some groups."""
    log_weight, log_z = log_posterior(scores, ability, nodes)
    weight, count, judged = np.exp(log_weight), scores.count, scores.judged
    chance, square = success_probability(ability, nodes.at), (nodes.at / spread) ** 2
    mean, squared = judged * (weight @ chance), judged * (weight @ chance**2)
    spreads, size = weight @ square, len(ability)
    gradient = np.append(-count @ mean, count @ (spreads - 1))
    hessian = np.zeros((size + 1, size + 1))
    hessian[:size, :size] = _both_right(scores, ability, mean, squared) - mean.T @ (count[:, None] * mean)
    hessian[np.arange(size), np.arange(size)] -= count @ (mean - squared)
    cross = judged * (weight @ (chance * square[:, None])) - mean * spreads[:, None]
    hessian[size, :size] = hessian[:size, size] = -count @ cross
    hessian[size, size] = count @ (weight @ square**2 - spreads**2 - 2 * spreads)
    return Derivatives(float(count @ log_z), gradient, hessian)


def _both_right(scores: Scores, ability: Values, mean: Values, squared: Values) -> Values:
    """(raters, raters): E[P_i P_j], summed over the cases on which both were compared.

    For two logistic functions of one difficulty, P_i P_j = (P_j − r P_i) / (1 − r) with r = exp(a_j − a_i), so the
    means of P suffice. Where the abilities are almost equal, (P_i² + P_j²) / 2 has an error of 10⁻⁹.
    """
    weighted = scores.count[:, None] * scores.judged
    first, second = mean.T @ weighted, squared.T @ weighted
    gap = np.subtract.outer(ability, ability)
    near = np.abs(gap) < NEAR
    distance = np.where(near, 1.0, np.abs(gap))
    other = (first.T - np.exp(-distance) * first) / -np.expm1(-distance)
    return np.where(near, (second + second.T) / 2, np.where(gap > 0, other, other.T))


# -- the maximum of the likelihood -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maximum of the likelihood."""

    ability: Values
    spread: float
    ability_error: Values
    """nan where the information is singular."""
    spread_error: float
    level: Values
    """Abilities if all cases were equally difficult."""
    iterations: int
    convergence: str


def maximise(scores: Scores, tol: float, max_iter: int) -> Maximum:
    """By Newton's method from a spread of 1; with spread 0 if no positive spread is more likely."""
    asked = scores.count @ scores.judged
    level = np.log(scores.right) - np.log(asked - scores.right)
    equal = log_likelihood(scores, level, 0.0)
    start = np.append(level * np.sqrt(1 + 1 / 3), 0.0)
    point, last, iterations, convergence = _newton(scores, start, tol, max_iter)
    if np.exp(point[-1]) <= NO_SPREAD or last.value <= equal:
        error = np.sqrt(asked / (scores.right * (asked - scores.right)))
        return Maximum(level, 0.0, error, np.nan, level, iterations, "converged")
    errors, spread = _standard_errors(last.hessian), float(np.exp(point[-1]))
    return Maximum(point[:-1], spread, errors[:-1], spread * float(errors[-1]), level, iterations, convergence)


def _newton(scores: Scores, point: Values, tol: float, max_iter: int) -> tuple[Values, Derivatives, int, str]:
    """Iterate until no parameter changes by more than ``tol``, or the spread vanishes or grows without bound."""
    now = differentiate(scores, point[:-1], float(np.exp(point[-1])))
    for iteration in range(1, max_iter + 1):
        step, before = _newton_step(now), now
        point, now = _take_step(scores, point, step, now)
        spread = float(np.exp(point[-1]))
        if np.abs(step).max() <= tol or spread <= NO_SPREAD:
            return point, now, iteration, "converged"
        if spread >= MAX_SPREAD or now is before:
            return point, now, iteration, "stopped"
    return point, now, max_iter, "stopped"


def _newton_step(now: Derivatives) -> Values:
    """Newton's step with absolute curvatures, so that it always goes uphill; at most 1 in log s."""
    curve, axes = np.linalg.eigh(-now.hessian)
    curve = np.maximum(np.abs(curve), 1e-9 * np.abs(curve).max())
    step = np.asarray(axes @ ((axes.T @ now.gradient) / curve))
    return step / max(1.0, abs(float(step[-1])), float(np.abs(step).max()) / 5)


def _take_step(scores: Scores, point: Values, step: Values, now: Derivatives) -> tuple[Values, Derivatives]:
    """Take the step, halved until the likelihood does not decrease."""
    rounding = 1e-11 * abs(now.value)
    for _ in range(30):
        after = differentiate(scores, point[:-1] + step[:-1], float(np.exp(point[-1] + step[-1])))
        if after.value >= now.value - rounding:
            return point + step, after
        step = step / 2
    return point, now


def _standard_errors(hessian: Values) -> Values:
    """Standard errors, from the observed information."""
    try:
        np.linalg.cholesky(-hessian)
    except np.linalg.LinAlgError:
        return np.full(len(hessian), np.nan)
    return np.sqrt(np.diagonal(np.linalg.inv(-hessian)))


# -- posteriors, and the fit of answers ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of the difficulty of each group."""

    mean: Values
    deviation: Values
    chance: Values
    """(groups, raters): E[P]."""
    chance_squared: Values
    """(groups, raters): E[P²]."""
    rising: Values
    """E[exp(d)]; 0 where nobody was right and it is not needed."""
    falling: Values
    """E[exp(−d)]; 0 where nobody was wrong."""

    @classmethod
    def of(cls, scores: Scores, ability: Values, spread: float) -> Posterior:
        """Computed in blocks of groups."""
        nodes = Nodes.of(ability, spread)
        chance = success_probability(ability, nodes.at)
        blocks = [_moments(part, ability, nodes, chance) for part in scores.parts(nodes)]
        return cls(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _moments(scores: Scores, ability: Values, nodes: Nodes, chance: Values) -> tuple[Values, ...]:
    log_weight, _ = log_posterior(scores, ability, nodes)
    weight, wrong = np.exp(log_weight), scores.judged.sum(axis=1) - scores.score
    mean = weight @ nodes.at
    variance = (weight * (nodes.at - mean[:, None]) ** 2).sum(axis=1)
    rising, falling = np.zeros(len(mean)), np.zeros(len(mean))
    for values, sign, some in ((rising, 1, scores.score > 0), (falling, -1, wrong > 0)):
        values[some] = np.exp(log_weight[some] + sign * nodes.at).sum(axis=1)
    return mean, np.sqrt(variance), weight @ chance, weight @ chance**2, rising, falling


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Infit and outfit of raters and of cases; nan where nobody was compared."""

    infit: Values
    outfit: Values
    case_infit: Values
    case_outfit: Values


def mean_squares(
    judged: NDArray[np.bool_],
    right: NDArray[np.bool_],
    items: NDArray[np.int64],
    group: NDArray[np.intp],
    posterior: Posterior,
    ability: Values,
) -> MeanSquares:
    """Infit and outfit; (x − P)² / (P (1 − P)) is exp(d − a) if the answer is right, otherwise exp(a − d)."""
    chance, squared = posterior.chance[group], posterior.chance_squared[group]
    expected = judged * (chance - squared)
    inner = judged * (right - 2 * right * chance + squared)
    outer = right * np.outer(posterior.rising[group], np.exp(-ability))
    outer += (judged & ~right) * np.outer(posterior.falling[group], np.exp(ability))
    return MeanSquares(
        divide(items @ inner, items @ expected),
        divide(items @ outer, items @ judged),
        divide(inner.sum(axis=1), expected.sum(axis=1)),
        divide(outer.sum(axis=1), judged.sum(axis=1)),
    )
