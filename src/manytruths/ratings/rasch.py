"""The Rasch model: abilities of raters and difficulties of cases, estimated from who was right about what.

Rater i is right about case x with probability ::

    P(right) = 1 / (1 + exp(difficulty_x − ability_i)),     difficulty ~ N(0, s²)

independently of the others. Abilities and the spread s maximise the marginal likelihood, in which the difficulties are
integrated out (:mod:`.rasch_fit`). Difficulties are then the means of their posterior distributions, finite also for a
case that everybody got right, and their errors are the posterior standard deviations, as if abilities and s were known.
In psychometrics the roles are reversed: cases are persons, raters are items, and easiness is the raters' ability.

A rater who was always right has no finite ability. As usual, 0.3 of an item is then counted as wrong (as right for one
who never was), and ``extreme`` names the rater. The reference standard defines what is right or, without one, the
majority of the other raters; ties of these are not counted. A majority that errs makes its members right, so abilities
estimated against it are too high.

Rasch G. Probabilistic models for some intelligence and attainment tests. Copenhagen 1960. Bock RD, Aitkin M.
Psychometrika 1981;46:443–459. doi:10.1007/BF02293801. Wright BD, Stone MH. Best test design. MESA 1979. Self SG,
Liang KY. J Am Stat Assoc 1987;82:605–610 (the test of s = 0). doi:10.1080/01621459.1987.10478472
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import erfc, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.undefined import Undefined
from .accuracy import comparison_labels
from .rasch_fit import (
    MAX_SPREAD,
    Maximum,
    Posterior,
    Scores,
    log_likelihood,
    maximise,
    mean_squares,
    success_probability,
)
from .ratings import MISSING, Ratings, Values

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
    difficulty, difficulty_error : ndarray of float
        Posterior means and standard deviations; 0 for a case on which nobody could be compared.
    case_infit, case_outfit : ndarray of float
    spread, spread_error : float
        s, the standard deviation of the difficulties, and its standard error; 0 if nothing shows that cases differ.
    log_likelihood, equal_log_likelihood : float
        Of the model, and of a model in which all cases are equally difficult.
    iterations : int
    convergence : {"converged", "stopped"}
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
    kept = np.where(scores.right == 0, EXTREME, scores.right - EXTREME * (wrong == 0))
    return _result(ratings, answers, scores, group, maximise(replace(scores, right=kept), tol, max_iter))


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
