"""What to know before believing an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...agreement import contingency
from ...core.columns import Column
from ...core.errors import few
from ...core.labels import VOID
from ...core.notes import Note
from ...core.tally import Tally
from ...core.undefined import reason
from ...evaluation.extended_dice import SATURATED
from ...study import Study
from ...study.strangers import strangers
from ..printing import counted
from .gaps import Missing
from .grey import GreyScores
from .hard import HardScores, Part
from .human_range import LEAST_RATERS
from .measures import EVERYBODY, mean_of
from .scenes import EvaluatePlan

ONE_MORE = "one_more_rater"
"""The code of the note that says how often a further rater lies outside."""

COUNTED = {
    "worst": "they count as the worst in means and rankings (--missing exclude leaves these cases out for all)",
    "exclude": "means and rankings leave these cases out for every algorithm",
}


def notes(
    study: Study, plan: EvaluatePlan, missing: Missing, hard: HardScores | None, grey: GreyScores | None
) -> Iterator[str]:
    """Each thing to know, once."""
    yield from _missing(study, missing)
    yield from _strangers(study)
    yield from _absent(study)
    if grey is not None:
        yield from grey.notes
    if hard is None:
        return
    for part in hard.parts:
        about = f"label {part.label}: " if part.label else ""
        yield from (
            about + said
            for said in (*_copies(part), *_empty(part), *_excluded(study, part), *_easy(part), *_tolerance(part, plan))
        )
    yield from _consensus(hard.parts)
    yield from _few(study, plan)


def _few(study: Study, plan: EvaluatePlan) -> Iterator[str]:
    """What depends on how many raters and subjects there are."""
    raters = len(study.rater_names)
    if raters < LEAST_RATERS:
        yield Note("no_human_range", f"{raters} raters make no human range: no verdict is given")
    elif not study.options.exchangeable:
        chance = 2 / (raters + 1)
        told = f"one more rater like these {raters} would lie above or below all in about {chance:.0%} of studies"
        yield Note(ONE_MORE, told)
    if raters == 2 and "vote:0.5" in plan.truths:
        yield Note("vote_of_two", "vote:0.5 of two raters is what any of them marked: half is enough")
    if len(study) > 1 and len(study.subjects) == len(study) and all(c.subject == c.name for c in study):
        told = "no subjects are named: every case counts as a patient of its own (--cases with a column subject)"
        yield Note("no_subjects", told)


def _missing(study: Study, missing: Missing) -> Iterator[str]:
    for algorithm in study.algorithms:
        gone = [case.name for case in study if algorithm not in case.predictions]
        if gone:
            yield (
                f"{algorithm} has no prediction of {len(gone)} of {counted(len(study), 'case')} ({few(gone, 3)}): "
                + (COUNTED[missing])
            )


def _strangers(study: Study) -> Iterator[str]:
    """Predictions of cases that the study does not have: names that do not fit, perhaps."""
    # under codes no name would be known, and none is to be told
    others = [] if study.coded else strangers(study.options, [case.name for case in study])
    if others:
        told = few(list(map(str, others)), 3)
        yield f"predictions of {counted(len(others), 'case')} that nobody marked are not used ({told})"


def _absent(study: Study) -> Iterator[str]:
    """Raters who did not see every case: nobody is judged by them there."""
    for rater in study.rater_names:
        gone = [case.name for case in study if rater not in {column.name for column in case.masks}]
        if gone:
            yield f"rater {rater} did not mark {len(gone)} of {counted(len(study), 'case')} ({few(gone, 3)})"


def _copies(part: Part) -> Iterator[str]:
    """A prediction that is a rater's own mask."""
    found: dict[tuple[str, str], list[str]] = {}
    for case, table in part.tallies.items():
        for algorithm in table.role("algorithm"):
            for i in table.raters:
                if _same(table, algorithm, table.columns[i]):
                    found.setdefault((str(algorithm), table.columns[i].name), []).append(case)
    for (name, rater), cases in found.items():
        yield (
            f"{name} is identical to rater {rater} in {len(cases)} of {counted(len(part.tallies), 'case')} "
            f"({few(cases, 3)}): it will look too good"
        )


def _same(table: Tally, a: Column, b: Column) -> bool:
    pair = contingency(table, [table.position(a), table.position(b)])[0, 1]
    return bool(pair[1, 1] > 0 and pair[0, 1] == 0 == pair[1, 0])


def _empty(part: Part) -> Iterator[str]:
    """Predictions and truths that mark nothing, predictions that mark everything."""
    columns = dict.fromkeys(c for t in part.tallies.values() for c in t.columns if not c.session and not c.left_out)
    for column in columns:
        nothing, everything = _cases(part, column, {0}), _cases(part, column, {1})
        if column.role == "algorithm":
            for what, cases in (("nothing", nothing), ("everything", everything)):
                if cases:
                    yield f"{column} marks {what} in {counted(len(cases), 'case')} ({few(cases, 3)})"
        elif nothing:
            yield (
                f"{column} has nothing marked in {counted(len(nothing), 'case')} ({few(nothing, 3)}): what is then "
                "undefined is left out, and counted"
            )


def _excluded(study: Study, part: Part) -> Iterator[str]:
    """Predictions of which no item counts."""
    for algorithm in study.algorithms:
        cases = [case for case in _cases(part, algorithm, set()) if algorithm in study[case].predictions]
        if cases:
            where = f"{counted(len(cases), 'case')} ({few(cases, 3)})"
            yield f"{algorithm} is not judged in {where}: all that counts is excluded"


def _cases(part: Part, column: Column, codes: set[int]) -> list[str]:
    """The cases in which a column gives nothing but these codes."""
    found = {
        case: set(np.unique(table.patterns[:, table.position(column)]).tolist()) - {VOID}
        for case, table in part.tallies.items()
        if column in table.columns
    }
    return [case for case, own in found.items() if own == codes]


def _easy(part: Part) -> Iterator[str]:
    """Extended Dice where raters differ so much that it says little."""
    algorithm = next((who for who, truth in part.keys if truth == EVERYBODY and who.role == "algorithm"), None)
    if algorithm is None:
        return
    ratios = part.series(algorithm, EVERYBODY, "inner_outer_ratio")
    share = mean_of(ratios)
    none = sum(1 for value in ratios if value == 0)
    if not reason(share) and share < SATURATED:
        empty = f", and in {counted(none, 'case')} nothing was marked by all" if none else ""
        yield (
            f"extended Dice: the raters share {share:.0%} of what any of them marked (|I|/|O|){empty}: nearly anything "
            "between them scores 1, so do not rank by it"
        )


def _tolerance(part: Part, plan: EvaluatePlan) -> Iterator[str]:
    if plan.distances and not np.isnan(part.tolerance):
        unit = unit_of(part)
        yield f"surface Dice at a tolerance of {part.tolerance:.3g} {unit}"
        if part.tolerance > part.radius:
            yield (
                f"that is more than the radius of what raters mark, about {part.radius:.3g} {unit}: they differ by "
                "whole objects, and surface Dice says little; give a tolerance (--tolerance)"
            )


def unit_of(part: Part) -> str:
    """What distances are in."""
    return "pixels" if any(t.unit is None for t in part.tallies.values()) else "mm"


def _consensus(parts: Sequence[Part]) -> Iterator[str]:
    """What the methods said, once, with the cases it is true of."""
    told: dict[str, list[str]] = {}
    for part in parts:
        for case, said in part.notes.items():
            for line in said:
                told.setdefault(line, []).append(case)
    for line, cases in told.items():
        yield f"{line} ({few(list(dict.fromkeys(cases)), 3)})"
