"""What ``evaluate`` prints: scores, verdicts and rankings, and notes on what limits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...agreement import contingency
from ...core.columns import Column
from ...core.errors import few
from ...core.labels import VOID
from ...core.tally import Tally
from ...core.undefined import Note
from ...evaluation.extended_dice import SATURATED
from ...evaluation.ranking.scores import direction
from ...study import Study
from ...study.problems import find_unknown_cases
from ..printing import counted, grid, number, with_interval
from ..rows import Row
from .case_scores import EVERYBODY
from .grading import graded_grids
from .human_range import LEAST_RATERS, OTHERS, HumanRange
from .marks import EvaluatePlan
from .mask_scores import LabelScores, MaskScores
from .missing_scores import Missing
from .probability_maps import ProbabilityScores

if TYPE_CHECKING:
    from rich.console import Console

    from .evaluate import Evaluation


ONE_MORE = "one_more_rater"
"""The code of the note that says how often a further rater lies outside."""

COUNTED = {
    "worst": "they get the worst score in means and rankings (--missing exclude leaves these cases out for all)",
    "exclude": "means and rankings exclude these cases for every algorithm",
}


def notes(study: Study, plan: EvaluatePlan, hard: MaskScores | None, grey: ProbabilityScores | None) -> Iterator[str]:
    """Each thing to know, once."""
    yield from _missing(study, plan.missing)
    yield from _strangers(study)
    yield from _absent(study)
    if grey is not None:
        yield from grey.notes
    if hard is None:
        return
    for part in hard.parts:
        about = f"label {part.label}: " if part.label else ""
        yield from (
            about + note
            for note in (*_copies(part), *_empty(part), *_excluded(study, part), *_easy(part), *_tolerance(part, plan))
        )
    yield from _consensus(hard.parts)
    yield from _few(study, plan)


def _few(study: Study, plan: EvaluatePlan) -> Iterator[str]:
    """What depends on how many raters and subjects there are."""
    raters = len(study.rater_names)
    if raters < LEAST_RATERS:
        yield Note("no_human_range", f"{raters} raters are too few for a human range: no verdict is given")
    elif not study.options.exchangeable:
        chance = 2 / (raters + 1)
        text = f"one more rater like these {raters} would lie above or below all in about {chance:.0%} of studies"
        yield Note(ONE_MORE, text)
    if raters == 2 and "vote:0.5" in plan.truths:
        yield Note("vote_of_two", "vote:0.5 of two raters is what either of them marked: half of the votes is enough")
    if len(study) > 1 and len(study.subjects) == len(study) and all(c.subject == c.name for c in study):
        text = "no subjects are named: every case counts as its own patient (--cases with a column subject)"
        yield Note("no_subjects", text)


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
    others = [] if study.coded else find_unknown_cases(study.options, [case.name for case in study])
    if others:
        names = few(list(map(str, others)), 3)
        yield f"predictions of {counted(len(others), 'case')} that no rater marked are not used ({names})"


def _absent(study: Study) -> Iterator[str]:
    """Raters who did not see every case: nobody is judged by them there."""
    for rater in study.rater_names:
        gone = [case.name for case in study if rater not in {column.name for column in case.masks}]
        if gone:
            yield f"rater {rater} did not mark {len(gone)} of {counted(len(study), 'case')} ({few(gone, 3)})"


def _copies(part: LabelScores) -> Iterator[str]:
    """A prediction that is a rater's own mask."""
    copies: dict[tuple[str, str], list[str]] = {}
    for case, table in part.tallies.items():
        for algorithm in table.role("algorithm"):
            for i in table.raters:
                if _same(table, algorithm, table.columns[i]):
                    copies.setdefault((str(algorithm), table.columns[i].name), []).append(case)
    for (name, rater), cases in copies.items():
        yield (
            f"{name} is identical to rater {rater} in {len(cases)} of {counted(len(part.tallies), 'case')} "
            f"({few(cases, 3)}): its scores are too good"
        )


def _same(table: Tally, a: Column, b: Column) -> bool:
    pair = contingency(table, [table.position(a), table.position(b)])[0, 1]
    return bool(pair[1, 1] > 0 and pair[0, 1] == 0 == pair[1, 0])


def _empty(part: LabelScores) -> Iterator[str]:
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
                f"{column} has nothing marked in {counted(len(nothing), 'case')} ({few(nothing, 3)}): scores that are "
                "then undefined are left out, and counted"
            )


def _excluded(study: Study, part: LabelScores) -> Iterator[str]:
    """Predictions of which no item counts."""
    for algorithm in study.algorithms:
        cases = [case for case in _cases(part, algorithm, set()) if algorithm in study[case].predictions]
        if cases:
            where = f"{counted(len(cases), 'case')} ({few(cases, 3)})"
            yield f"{algorithm} is not scored in {where}: everything that counts is excluded"


def _cases(part: LabelScores, column: Column, codes: set[int]) -> list[str]:
    """The cases in which a column gives nothing but these codes."""
    given = {
        case: set(np.unique(table.patterns[:, table.position(column)]).tolist()) - {VOID}
        for case, table in part.tallies.items()
        if column in table.columns
    }
    return [case for case, own in given.items() if own == codes]


def _easy(part: LabelScores) -> Iterator[str]:
    """Extended Dice where raters differ so much that it says little."""
    algorithm = next((who for who, truth in part.keys if truth == EVERYBODY and who.role == "algorithm"), None)
    if algorithm is None:
        return
    ratios = part.series(algorithm, EVERYBODY, "inner_outer_ratio")
    defined = [ratio for ratio in ratios if not np.isnan(ratio)]
    share = float(np.mean(defined)) if defined else np.nan
    none = sum(1 for value in ratios if value == 0)
    if share < SATURATED:
        empty = f", and in {counted(none, 'case')} nothing was marked by all" if none else ""
        yield (
            f"extended Dice: the raters share {share:.0%} of what any of them marked (|I|/|O|){empty}: nearly any "
            "mask between them scores 1, so do not rank by it"
        )


def _tolerance(part: LabelScores, plan: EvaluatePlan) -> Iterator[str]:
    if plan.distances and not np.isnan(part.tolerance):
        unit = unit_of(part)
        yield f"surface Dice at a tolerance of {part.tolerance:.3g} {unit}"
        if part.tolerance > part.radius:
            yield (
                f"that is more than the radius of what raters mark, about {part.radius:.3g} {unit}: they differ by "
                "whole objects, and surface Dice is not informative; give a tolerance (--tolerance)"
            )


def unit_of(part: LabelScores) -> str:
    """What distances are in."""
    return "pixels" if any(t.unit is None for t in part.tallies.values()) else "mm"


def _consensus(parts: Sequence[LabelScores]) -> Iterator[str]:
    """What the methods said, once, with the cases it is true of."""
    cases_of: dict[str, list[str]] = {}
    for part in parts:
        for case, lines in part.notes.items():
            for line in lines:
                cases_of.setdefault(line, []).append(case)
    for line, cases in cases_of.items():
        yield f"{line} ({few(list(dict.fromkeys(cases)), 3)})"


NAMES = {
    "dice": "Dice",
    "iou": "IoU",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "PPV",
    "cohen_kappa": "Cohen's kappa",
    "volume_difference": "size differs by",
    "hausdorff": "Hausdorff",
    "hausdorff_95": "95% Hausdorff",
    "mean_surface_distance": "mean surface distance",
    "surface_dice": "surface Dice",
    "soft_accuracy": "soft accuracy",
    "gordon_f": "Gordon's F",
    "balanced_accuracy": "balanced accuracy",
    "extended_dice": "extended Dice",
    "inner_outer_ratio": "|I|/|O|",
    "pbar_area": "P̄-R area",
    "pr_area": "P-R area",
    "roc_area": "ROC area",
}
"""How statistics are called in print."""

SHOWN = ("dice", "hausdorff_95", "surface_dice")
"""What the first table shows of each algorithm and truth."""
FEW_RATERS = 3
"""Up to so many are listed as truths; all are in ``scores.csv``."""


def print_evaluation(result: Evaluation, console: Console) -> None:
    """Algorithms against truths, beside the raters, rankings, and what to know."""
    study = result.study
    console.print(
        f"[bold]{counted(len(study.algorithms), 'algorithm')}, {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}, {counted(len(study.rater_names), 'rater')}[/bold]\n"
    )
    graded = graded_grids(result.graded) if result.graded else ()
    for part in (*_hard(result), *_grey(result), *order_grids(result), *graded):
        console.print(part)
    for line in (*_distinct(result), *result.notes):
        console.print(f"• {line}", markup=False, highlight=False)


def _hard(result: Evaluation) -> Iterator[Any]:
    for part in result.mask_scores.parts if result.mask_scores else ():
        yield _against(result, part)
    yield from verdict_grids(result)


def verdict_grids(result: Evaluation) -> list[Any]:
    """Algorithms beside the human range, label by label."""
    shown = result.mask_scores is not None and result.table("verdicts").rows
    return [_verdicts(result, part) for part in result.mask_scores.parts] if result.mask_scores and shown else []


def _title(part: LabelScores, words: str) -> str:
    return f"{part.label}: {words}" if part.label else words


def _against(result: Evaluation, part: LabelScores) -> Any:
    """Every algorithm under every truth, mean ± standard deviation over subjects."""
    means, deviations = _rows(result, part, "mean"), _rows(result, part, "std")
    shown = [s for s in SHOWN if any(key[2] == s for key in means)]
    raters = {c.name for c in result.study.columns}
    truths = list(dict.fromkeys(t for _, t, s in means if s == "dice"))
    # each rater is a truth too: with many of them, their mean stands for them
    chosen = truths if len(raters) <= FEW_RATERS else [t for t in truths if t not in raters]
    rows = []
    for truth in chosen:
        for i, algorithm in enumerate(dict.fromkeys(a for a, t, _ in means if t == truth)):
            keys = [(algorithm, truth, s) for s in shown]
            cells = [f"{number(means[k].value)} ± {number(deviations[k].value)}" for k in keys]
            rows.append(["" if i else truth, algorithm, *cells])
    header = ["against", "", *(NAMES[s] + _unit(part, s) for s in shown)]
    more = f" ({len(truths) - len(chosen)} more reference standards in scores.csv)" if len(chosen) < len(truths) else ""
    return grid(_title(part, f"Algorithms against raters and references, mean ± SD over subjects{more}"), header, rows)


def _rows(result: Evaluation, part: LabelScores, scope: str) -> dict[tuple[str, str, str], Row]:
    rows = result.table("scores").rows
    return {
        (str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in rows
        if r.scope == scope and r.label == part.label and not r.group
    }


def _unit(part: LabelScores, statistic: str) -> str:
    return f", {unit_of(part)}" if statistic in ("hausdorff", "hausdorff_95", "mean_surface_distance") else ""


def _verdicts(result: Evaluation, part: LabelScores) -> Any:
    """Each algorithm beside the raters, both judged by the others."""
    assert result.mask_scores is not None
    rows = []
    for row in result.table("verdicts").rows:
        algorithm, against = row["algorithm"], row["against"]
        wanted = against == OTHERS or row.statistic == "extended_dice"
        if row.label == part.label and wanted and row.statistic in (*SHOWN, "extended_dice", "cohen_kappa"):
            human = result.mask_scores.ranges[part.label, str(against), row.statistic]
            ends = f"{number(row['human_low'])}–{number(row['human_high'])}"
            words = verdict_words(human, str(algorithm))
            rows.append([str(algorithm), NAMES[row.statistic], with_interval(row), ends, words])
    title = "Beside the raters: each and the algorithm judged by the other raters, case by case"
    return grid(_title(part, title), ["", "", "mean", "raters", "verdict"], rows)


def verdict_words(human: HumanRange, algorithm: str) -> str:
    """``above all``, and whether that is certain."""
    verdict = human.verdict(algorithm)
    words = {"above": "better than every rater", "below": "worse than every rater", "inside": "among the raters"}
    sure = {True: "", False: " (not certain)", None: " (too few for intervals)"}[human.certain(algorithm)]
    return words[verdict] + sure if verdict else "no verdict"


def _grey(result: Evaluation) -> Iterator[Any]:
    if result.probability_scores is None:
        return
    low, high = result.probability_scores.skew
    truths = result.probability_scores.truths
    rows = []
    for algorithm in result.probability_scores.counts:
        own = {
            str(r["against"]): r.value
            for r in result.probability_scores.scores.all("pbar_area", "pooled")
            if r["algorithm"] == algorithm.name
        }
        known = {t: own[t] for t in truths if own[t] == own[t]}
        least, most = (pick(known, key=known.__getitem__) for pick in (min, max)) if known else ("", "")
        loose, strict = (number(own.get(t)) for t in ("vote:any", "vote:0.75"))
        cells = [f"{number(known[t])} ({t})" if t else "–" for t in (least, most)]
        rows.append([algorithm.name, loose, strict, *cells, *_correlation(result, algorithm.name)])
    header = ["", "any", "0.75", "least, under", "most, under", "CCO", "CCI"]
    title = f"Area under P̄-R, prevalence {low:.3g} to {high:.3g}, all cases together, and correlation with agreement"
    yield grid(title, header, rows)


def _correlation(result: Evaluation, algorithm: str) -> list[str]:
    assert result.probability_scores is not None
    rows = [
        r for r in result.probability_scores.correlations.rows if r.scope == "pooled" and r["algorithm"] == algorithm
    ]
    return [number(next(r.value for r in rows if r.statistic == name), 4) for name in ("cco", "cci")]


def order_grids(result: Evaluation) -> Iterator[Any]:
    """Distinct rankings, and who gives each."""
    for (label, metric), orders in result.orders.items():
        if metric not in ("dice", "pbar_area") or not orders.rankings:
            continue
        rows = [[str(r), str(len(r.truths)), few(r.truths, 8)] for r in orders.rankings]
        way = "" if direction(metric) == "higher" else " (lower is better)"
        title = f"{label + ': ' if label else ''}Rankings by {NAMES[metric]}{way}, and under which reference standards"
        yield grid(title, ["", "references", ""], rows)


def _distinct(result: Evaluation) -> Iterator[str]:
    """Whether the order of two algorithms holds whatever is taken as truth."""
    for (label, metric), orders in result.orders.items():
        if metric not in ("dice", "pbar_area") or not orders.rankings:
            continue
        order = orders.rankings[0].order
        for first, second in pairwise(order):
            pair = orders.separate(first, second)
            about = f"{label + ': ' if label else ''}{NAMES[metric]}: "
            if pair.whatever:
                yield f"{about}{first} is ahead of {second} under any reference standard, even under different ones"
            elif pair.under_each:
                yield f"{about}{first} is ahead of {second} under every reference standard"
            elif not pair.ahead and not pair.behind:
                yield f"{about}{first} and {second} are equal under every reference standard"
            else:
                yield (
                    f"{about}{first} and {second} cannot be separated without choosing a reference: {first} is "
                    f"ahead under {len(pair.ahead)} of {pair.of}"
                )
