"""Scores of all runs on the test cases, and their means over subjects and seeds with intervals.

The test subjects could have been others, and training could have ended elsewhere. So an interval is Student's t on the
scale of the statistic with the variance over both, V = V_subjects + V_seeds − V_both of the jackknife
(:class:`~manytruths.inference.intervals.BothJackknife`); with one seed it speaks of other subjects alone. Two seeds
tell little about seeds (docs/coverage.md). Differences between strategies are paired by subject and seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..analyses.evaluate.case_scores import EVERYBODY
from ..analyses.evaluate.marks import EvaluatePlan
from ..analyses.evaluate.mask_scores import LabelScores, score_masks
from ..core.columns import Column
from ..core.undefined import Undefined, divide
from ..inference.intervals import Interval, mean_intervals, mean_over_both, subject_values
from ..inference.scales import Scale
from ..io import Location
from ..study import Progress, Study
from ..study.options import merged
from .runs import Bench, Run

MAJORITY = "vote:0.5"
ALL_RATERS = "all raters"
STATISTICS = ("dice", "iou", "hausdorff")
"""Those of Zeng et al.'s Table 2; their Table 3 has extended Dice."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Scores of one label and statistic, against one reference standard."""

    label: str
    statistic: str
    against: str
    by_run: Mapping[Run, Values]
    """One value for each case."""
    by_subject: Mapping[Run, Values]
    """Means over the cases of each subject; nan if none is defined."""


def evaluate_runs(
    study: Study, bench: Bench, runs: Sequence[Run], *, distances: bool, jobs: int, progress: Progress | None
) -> list[Scores]:
    """Scores of all runs, evaluated by network and seed, so that memory does not grow with the number of seeds."""
    scores: dict[tuple[str, str, str], Scores] = {}
    groups, plan = list(_groups(runs)), EvaluatePlan((MAJORITY,), distances=distances)
    for finished, group in enumerate(groups):
        shown = progress and _progress_of_group(progress, finished, len(groups))
        parts = score_masks(_study_of_predictions(study, bench, group), plan, jobs=jobs, progress=shown)
        for new in _scores(parts, group):
            key = new.label, new.statistic, new.against
            old = scores.get(key, replace(new, by_run={}, by_subject={}))
            by_run, by_subject = {**old.by_run, **new.by_run}, {**old.by_subject, **new.by_subject}
            scores[key] = replace(new, by_run=by_run, by_subject=by_subject)
    return list(scores.values())


def _progress_of_group(progress: Progress, finished: int, groups: int) -> Progress:
    """One progress bar for all groups, which have equally many cases."""
    return lambda cases, total: progress(finished * total + cases, groups * total)


def _groups(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Runs of one network and seed."""
    by: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        by.setdefault((run.network, run.seed), []).append(run)
    yield from by.values()


def _study_of_predictions(study: Study, bench: Bench, runs: Sequence[Run]) -> Study:
    """The test cases with their predictions."""
    template = str(bench.home / "predictions" / "{algorithm}" / f"{{case}}{bench.suffix}")
    # a network may predict a label that no rater of the case gave
    labels = bench.frames.labels if len(bench.frames.labels) > 2 else None
    options = merged(study.options, predictions=template, probability=False, labels=labels)
    test_cases, cases = set(bench.test_cases), []
    for case in (case for case in study if case.name in test_cases):
        files = {_column(run): Location(bench.prediction_path(run, case.name)) for run in runs}
        cases.append(replace(case, options=options, missing=(), predictions=files))
    return Study(cases, options, study.properties, coded=study.coded, executor=study.executor)


def _column(run: Run) -> Column:
    return Column(run.name, "algorithm")


def _scores(parts: Sequence[LabelScores], runs: Sequence[Run]) -> Iterator[Scores]:
    for part in parts:
        for truth in part.references:
            names = ("extended_dice",) if truth == EVERYBODY else STATISTICS
            known = {n for run in runs for n in part.statistics((_column(run), truth))}
            for name in (n for n in names if n in known):
                values = [part.case_values(_column(run), truth, name) for run in runs]
                filled = np.array(part.fill_missing(name, values, "worst"), np.float64)
                by_subject = subject_values(part.tallies, filled.T).T
                against = ALL_RATERS if truth == EVERYBODY else truth.name
                by_run = (dict(zip(runs, values, strict=True)) for values in (filled, by_subject))
                yield Scores(part.label, name, against, *by_run)


# -- means over subjects and seeds -----------------------------------------------------------------


def mean_interval(values: Values, scale: Scale, level: float = 0.95) -> Interval:
    """The mean of (subjects, seeds) values over subjects, with its interval; undefined values are left out."""
    known = ~np.isnan(values)
    if values.shape[1] == 1:
        return mean_intervals(values, scale, level=level)[0]
    total, count = np.where(known, values, 0.0), known.astype(np.float64)
    without = divide(total.sum(axis=1, keepdims=True) - total, count.sum(axis=1, keepdims=True) - count)
    return mean_over_both(_subject_means(values), without, scale=scale, level=level)


def _subject_means(values: Values) -> Values:
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1))


def values_by_seed(scores: Scores, network: str, strategy: str) -> Values:
    """(subjects, seeds) values of one network and strategy, ordered by seed."""
    runs = sorted(
        (r for r in scores.by_subject if (r.network, r.strategy) == (network, strategy)), key=lambda run: run.seed
    )
    return np.stack([scores.by_subject[run] for run in runs], axis=1)


def standard_deviation(scores: Scores, network: str, strategy: str) -> float:
    """Standard deviation over all test images and seeds, as Zeng et al. report it."""
    by_run = [v for run, v in scores.by_run.items() if (run.network, run.strategy) == (network, strategy)]
    values = np.concatenate(by_run)
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else Undefined("fewer_than_two_images")


def best_single(scores: Sequence[Scores], network: str, singles: Sequence[str], against: str, label: str) -> str:
    """The single-rater strategy with the largest mean Dice against the majority vote."""
    dice = next(s for s in scores if (s.statistic, s.against, s.label) == ("dice", against, label))
    return max(singles, key=lambda name: _mean(values_by_seed(dice, network, name)))


def _mean(values: Values) -> float:
    by_subject = _subject_means(values)
    defined = by_subject[~np.isnan(by_subject)]
    return float(defined.mean()) if len(defined) else Undefined("undefined_for_every_subject")
