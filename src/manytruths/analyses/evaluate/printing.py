"""What a person reads after ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...core.errors import few
from ...evaluation.ranking.directions import direction
from ..printing import counted, grid, number, with_interval
from ..rows import Row
from .grading import graded_grids
from .hard import Part
from .human_range import OTHERS, HumanRange
from .notes import unit_of

if TYPE_CHECKING:
    from rich.console import Console

    from .verb import Evaluation

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


def print_evaluation(found: Evaluation, console: Console) -> None:
    """Algorithms against truths, beside the raters, rankings, and what to know."""
    study = found.study
    console.print(
        f"[bold]{counted(len(study.algorithms), 'algorithm')}, {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}, {counted(len(study.rater_names), 'rater')}[/bold]\n"
    )
    graded = graded_grids(found.extras.graded) if found.extras.graded else ()
    for part in (*_hard(found), *_grey(found), *order_grids(found), *graded):
        console.print(part)
    for line in (*_distinct(found), *found.notes):
        console.print(f"• {line}", markup=False, highlight=False)


def _hard(found: Evaluation) -> Iterator[Any]:
    for part in found.hard.parts if found.hard else ():
        yield _against(found, part)
    yield from verdict_grids(found)


def verdict_grids(found: Evaluation) -> list[Any]:
    """Algorithms beside the human range, label by label."""
    shown = found.hard is not None and found.table("verdicts").rows
    return [_verdicts(found, part) for part in found.hard.parts] if found.hard and shown else []


def _title(part: Part, words: str) -> str:
    return f"{part.label}: {words}" if part.label else words


def _against(found: Evaluation, part: Part) -> Any:
    """Every algorithm under every truth, mean ± standard deviation over subjects."""
    means, deviations = _rows(found, part, "mean"), _rows(found, part, "std")
    shown = [s for s in SHOWN if any(key[2] == s for key in means)]
    raters = {c.name for c in found.study.columns}
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
    more = f" ({len(truths) - len(chosen)} truths more in scores.csv)" if len(chosen) < len(truths) else ""
    return grid(_title(part, f"Algorithms against raters and truths, mean ± std over subjects{more}"), header, rows)


def _rows(found: Evaluation, part: Part, scope: str) -> dict[tuple[str, str, str], Row]:
    rows = found.table("scores").rows
    return {
        (str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in rows
        if r.scope == scope and r.label == part.label and not r.group
    }


def _unit(part: Part, statistic: str) -> str:
    return f", {unit_of(part)}" if statistic in ("hausdorff", "hausdorff_95", "mean_surface_distance") else ""


def _verdicts(found: Evaluation, part: Part) -> Any:
    """Each algorithm beside the raters, both judged by the others."""
    assert found.hard is not None
    rows = []
    for row in found.table("verdicts").rows:
        algorithm, against = row["algorithm"], row["against"]
        wanted = against == OTHERS or row.statistic == "extended_dice"
        if row.label == part.label and wanted and row.statistic in (*SHOWN, "extended_dice", "cohen_kappa"):
            human = found.hard.ranges[part.label, str(against), row.statistic]
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


def _grey(found: Evaluation) -> Iterator[Any]:
    if found.grey is None:
        return
    low, high = found.grey.skew
    truths = found.grey.truths
    rows = []
    for algorithm in found.grey.counts:
        own = {
            str(r["against"]): r.value
            for r in found.grey.scores.all("pbar_area", "pooled")
            if r["algorithm"] == algorithm.name
        }
        known = {t: own[t] for t in truths if own[t] == own[t]}
        least, most = (pick(known, key=known.__getitem__) for pick in (min, max)) if known else ("", "")
        loose, strict = (number(own.get(t)) for t in ("vote:any", "vote:0.75"))
        cells = [f"{number(known[t])} ({t})" if t else "–" for t in (least, most)]
        rows.append([algorithm.name, loose, strict, *cells, *_correlation(found, algorithm.name)])
    header = ["", "any", "0.75", "least, under", "most, under", "CCO", "CCI"]
    title = f"Area under P̄-R, prevalence {low:.3g} to {high:.3g}, all cases together, and correlation with agreement"
    yield grid(title, header, rows)


def _correlation(found: Evaluation, algorithm: str) -> list[str]:
    assert found.grey is not None
    rows = [r for r in found.grey.correlations.rows if r.scope == "pooled" and r["algorithm"] == algorithm]
    return [number(next(r.value for r in rows if r.statistic == name), 4) for name in ("cco", "cci")]


def order_grids(found: Evaluation) -> Iterator[Any]:
    """Distinct rankings, and who gives each."""
    for (label, metric), orders in found.orders.items():
        if metric not in ("dice", "pbar_area") or not orders.rankings:
            continue
        rows = [[str(r), str(len(r.truths)), few(r.truths, 8)] for r in orders.rankings]
        way = "" if direction(metric) == "higher" else " (lower is better)"
        title = f"{label + ': ' if label else ''}Rankings by {NAMES[metric]}{way}, and under which truths"
        yield grid(title, ["", "truths", ""], rows)


def _distinct(found: Evaluation) -> Iterator[str]:
    """Whether the order of two algorithms holds whatever is taken as truth."""
    for (label, metric), orders in found.orders.items():
        if metric not in ("dice", "pbar_area") or not orders.rankings:
            continue
        order = orders.rankings[0].order
        for first, second in pairwise(order):
            pair = orders.separate(first, second)
            about = f"{label + ': ' if label else ''}{NAMES[metric]}: "
            if pair.whatever:
                yield f"{about}{first} is ahead of {second} whatever is taken as truth, even by different truths"
            elif pair.under_each:
                yield f"{about}{first} is ahead of {second} under every truth"
            elif not pair.ahead and not pair.behind:
                yield f"{about}{first} and {second} are equal under every truth"
            else:
                yield (
                    f"{about}{first} and {second} cannot be told apart without choosing a truth: {first} is ahead "
                    f"under {len(pair.ahead)} of {pair.of}"
                )
