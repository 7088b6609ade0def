"""The Rasch model: how able each rater is, and how hard each case, from who was right about what.

Rater i is right about case x with the probability ::

    P(right) = 1 / (1 + exp(difficulty_x − ability_i)),     difficulty ~ N(0, s²)

independently of the others. Abilities and the spread s maximise the marginal likelihood, in which the difficulties are
integrated out (:mod:`.rasch_likelihood`); difficulties are then the means of their posteriors, finite also for a case
that everybody got right, and their errors the posteriors' standard deviations, as if abilities and s were known.
Psychometrics has it the other way round: cases are its persons, raters its items, easiness the raters' ability.

Somebody who was always right has no finite ability: 0.3 of an item is counted as wrong (as right for one who never
was), the usual correction, and ``extreme`` names him. What is right is the reference or, without one, the majority of
the others; their ties are no answers. A majority that errs makes its members right: abilities by it are too high.

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
from .competence import answers
from .rasch_fit import MOST_SPREAD, Maximum, Posterior, Scores, log_likelihood, maximum, mean_squares, right_chance
from .ratings import MISSING, Ratings, Values

EXTREME = 0.3
"""The part of an item that is turned for somebody who was always right, or never."""
SPLIT = (
    "right is what the majority of the others says: where one vote decides, those who gave it meet a tie and are not "
    "judged, and all others count as wrong"
)


class NotFittedError(InputError):
    """Answers to which no Rasch model can be fitted; ``args[0]`` says why."""

    def __str__(self) -> str:
        return f"the Rasch model cannot be fitted: {self.args[0]}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Rasch:
    """Abilities and difficulties, on one scale of logits on which the mean difficulty is 0."""

    source: str
    """What is right: ``reference`` or ``majority`` (of the others)."""
    raters: tuple[str, ...]
    ability: Values
    """nan for a rater who could not be judged on any case."""
    ability_error: Values
    """Standard errors, from the observed information."""
    infit: Values
    """Mean squares of each rater, 1 where he answers as the model expects (see :mod:`.rasch_fit`)."""
    outfit: Values
    """The same, more sensitive to what is unexpected far from his ability."""
    extreme: tuple[str, ...]
    """Raters who were always right, or never: their abilities are set by the correction alone."""
    cases: tuple[str, ...]
    difficulty: Values
    """The posterior mean; 0 for a case on which nobody could be judged."""
    difficulty_error: Values
    """The posterior standard deviation."""
    case_infit: Values
    case_outfit: Values
    spread: float
    """s, the standard deviation of the difficulties; 0 where nothing says that cases differ."""
    spread_error: float
    log_likelihood: float
    equal_log_likelihood: float
    """Were all cases equally hard."""
    iterations: int
    ended: str
    """``converged`` or ``stopped``."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Rasch by {self.source}: {len(self.raters)} raters, {len(self.cases)} cases, spread {self.spread:.2f}>"

    @property
    def accuracy(self) -> Values:
        """(cases, raters): the chance of being right, at the ability and the difficulty estimated; for :func:`rho`."""
        seen = ~np.isnan(self.ability)
        out = np.full((len(self.cases), len(self.raters)), np.nan)
        out[:, seen] = right_chance(self.ability[seen], self.difficulty)
        return out

    @property
    def equal_p(self) -> float:
        """p of a likelihood-ratio test that all cases are equally hard: half that of χ² with 1 degree, as s ≥ 0."""
        gain = 2 * (self.log_likelihood - self.equal_log_likelihood)
        return erfc(sqrt(gain / 2)) / 2 if gain > 0 else 1.0

    def to_frame(self, of: Literal["raters", "cases"] = "raters") -> Any:
        """A pandas DataFrame (extra ``tables``), one row a rater, or one a case."""
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
    tolerance: float = 1e-8,
    most: int = 100,
) -> Rasch:
    """Fit the Rasch model to who was right about which case.

    Parameters
    ----------
    by
        What is right: the ``"reference"``, by default where there is one, or the ``"majority"`` of the others.
    tolerance
        Stop when no ability and not log s moves more than this between iterations.
    most
        Stop after so many iterations.

    >>> from manytruths.ratings import Ratings
    >>> right = {"A": [1, 1, 1, 1, 0, 1, 0, 0], "B": [1, 1, 1, 0, 0, 1, 0, 0], "C": [1, 1, 0, 1, 0, 0, 1, 0]}
    >>> found = rasch(Ratings.of(right, reference=[1] * 8))
    >>> found.ability.round(2), round(found.spread, 2)
    (array([ 0.76, -0.02, -0.02]), 1.74)
    """
    told = _Answers.of(ratings, by or ("majority" if ratings.reference is None else "reference"))
    _refuse(told, ratings.raters)
    scores, group = Scores.of(told.judged[:, told.seen], told.right[:, told.seen], told.items)
    wrong = (told.items @ told.judged)[told.seen] - scores.right
    kept = np.where(scores.right == 0, EXTREME, scores.right - EXTREME * (wrong == 0))
    return _result(ratings, told, scores, group, maximum(replace(scores, right=kept), tolerance, most))


@dataclass(frozen=True, eq=False)
class _Answers:
    """Who was right about what."""

    source: str
    judged: NDArray[np.bool_]
    right: NDArray[np.bool_]
    items: NDArray[np.int64]
    seen: NDArray[np.bool_]
    """Raters who were judged at all."""
    extreme: NDArray[np.bool_]
    """Of them, those who were always right, or never."""

    @classmethod
    def of(cls, ratings: Ratings, source: str) -> _Answers:
        key, items = answers(ratings, source), ratings.items
        judged = ratings.given & (key != MISSING) & (items > 0)[:, None]
        right = judged & (ratings.codes == key)
        asked, rightly = judged.sum(axis=0), right.sum(axis=0)
        return cls(source, judged, right, items, asked > 0, (asked > 0) & ((rightly == 0) | (rightly == asked)))


def _refuse(told: _Answers, raters: tuple[str, ...]) -> None:
    """Answers from which no spread can be told."""
    usable = told.seen & ~told.extreme
    judged, right = told.judged[:, usable].sum(axis=1), told.right[:, usable].sum(axis=1)
    names = ", ".join(np.array(raters, object)[usable])
    if told.seen.sum() < 2:
        why = f"it wants two raters who can be judged by the {told.source}; there are {told.seen.sum()}"
    elif usable.sum() < 2:
        why = f"it wants two raters who are sometimes right and sometimes wrong by the {told.source}; "
        why += f"only {names} is" if names else "nobody is"
    elif not (judged > 1).any():
        why = f"no case has two of {names} judged by the {told.source}, so that nothing says how much cases differ"
    elif not ((right > 0) & (right < judged)).any():
        why = f"on every case {names} are all right or all wrong by the {told.source}: the spread has no bound"
    else:
        return
    raise NotFittedError(f"{why}; take accuracies of the whole data set (competence)")


def _result(ratings: Ratings, told: _Answers, scores: Scores, group: NDArray[np.intp], top: Maximum) -> Rasch:
    posterior = Posterior.of(scores, top.ability, top.spread)
    seen, names = told.seen, np.array(ratings.raters, object)
    squares = mean_squares(told.judged[:, seen], told.right[:, seen], told.items, group, posterior, top.ability)
    return Rasch(
        source=told.source,
        raters=ratings.raters,
        ability=_spaced(top.ability, seen),
        ability_error=_spaced(top.ability_error, seen),
        infit=_spaced(squares.infit, seen),
        outfit=_spaced(squares.outfit, seen),
        extreme=tuple(names[told.extreme]),
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
        ended=top.ended,
        notes=tuple(_notes(told, names, top)),
    )


def _spaced(values: Values, seen: NDArray[np.bool_]) -> Values:
    """nan for the raters who were not judged."""
    out = np.full(len(seen), np.nan)
    out[seen] = values
    return out


def _notes(told: _Answers, names: NDArray[Any], top: Maximum) -> Iterator[str]:
    """What to know of a fit."""
    for i in np.flatnonzero(told.extreme):
        word = "always" if told.right[:, i].any() else "never"
        yield f"{names[i]} was {word} right: the ability rests on {EXTREME:g} of an item, counted the other way"
    if not told.seen.all():
        yield f"{', '.join(names[~told.seen])} could not be judged on any case, and has no ability"
    alone = int(told.items[~told.judged.any(axis=1)].sum())
    if alone:
        yield f"on {alone} case{'s' * (alone > 1)} nobody could be judged: the difficulty is the mean, 0"
    if told.source == "majority":
        yield SPLIT
    if top.spread == 0:
        yield "nothing says that cases differ in difficulty: all are 0"
    if top.ended == "stopped" and not (top.spread < MOST_SPREAD and top.spread_error < top.spread):
        yield "the spread grows without bound, and abilities with it: the answers follow one order of raters and cases"
    elif top.ended == "stopped":
        yield f"not converged after {top.iterations} iterations"
    if np.isnan(top.ability_error).any():
        yield "the information has no inverse, and there are no standard errors"
