"""Every run's predictions of the test cases, judged by ``evaluate``: one number a case, run, truth and statistic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analyses.evaluate.case_scores import EVERYBODY
from ..analyses.evaluate.marks import EvaluatePlan
from ..analyses.evaluate.mask_scores import LabelScores, case_values, references_of, score_masks
from ..core.columns import Column
from ..inference.intervals import subject_values
from ..io import Location
from ..study import Progress, Study
from ..study.options import merged
from .runs import Bench, Run

MAJORITY = "vote:0.5"
STATISTICS = ("dice", "iou", "hausdorff")
"""Of Zeng et al.'s Table 2; their Table 3 has extended Dice."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Numbers of one label, statistic and truth."""

    label: str
    statistic: str
    against: str
    by_run: Mapping[Run, Values]
    """One value a case."""
    by_subject: Mapping[Run, Values]
    """Means over the cases of each subject; nan where none is defined."""


def judged(
    study: Study, bench: Bench, runs: Sequence[Run], *, distances: bool, jobs: int, progress: Progress | None
) -> list[Scores]:
    """All numbers, run by run of a network and seed, so that no table grows with the number of seeds."""
    found: dict[tuple[str, str, str], Scores] = {}
    groups, plan = list(_groups(runs)), EvaluatePlan((MAJORITY,), distances=distances)
    for done, group in enumerate(groups):
        shown = progress and _after(progress, done, len(groups))
        parts = score_masks(_study(study, bench, group), plan, jobs=jobs, progress=shown)
        for one in _scores(parts, group):
            key = one.label, one.statistic, one.against
            known = found.get(key)
            found[key] = one if known is None else _joined(known, one)
    return list(found.values())


def _after(progress: Progress, done: int, groups: int) -> Progress:
    """One bar for all groups, which are equally many cases each."""
    return lambda cases, total: progress(done * total + cases, groups * total)


def _groups(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Runs of one network and seed."""
    by: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        by.setdefault((run.network, run.seed), []).append(run)
    yield from by.values()


def _study(study: Study, bench: Bench, runs: Sequence[Run]) -> Study:
    """The test cases with what was predicted of them."""
    template = str(bench.home / "predictions" / "{algorithm}" / f"{{case}}{bench.suffix}")
    # a network may find a label where no rater of the case gave it
    labels = bench.frames.labels if len(bench.frames.labels) > 2 else None
    options = merged(study.options, predictions=template, grey=False, labels=labels)
    tested = set(bench.tested)
    cases = [
        replace(case, options=options, missing=(), predictions=_predictions(bench, runs, case.name))
        for case in study
        if case.name in tested
    ]
    return Study(cases, options, study.properties, coded=study.coded)


def _predictions(bench: Bench, runs: Sequence[Run], case: str) -> dict[Column, Location]:
    return {_column(run): Location(Path(bench.prediction(run, case))) for run in runs}


def _column(run: Run) -> Column:
    return Column(run.name, "algorithm")


def _scores(parts: Sequence[LabelScores], runs: Sequence[Run]) -> Iterator[Scores]:
    for part in parts:
        for truth in references_of(part):
            names = ("extended_dice",) if truth == EVERYBODY else STATISTICS
            known = {n for run in runs for n in part.statistics((_column(run), truth))}
            for name in (n for n in names if n in known):
                values = [case_values(part, _column(run), truth, name) for run in runs]
                filled = np.array(part.fill_missing(name, values, "worst"), np.float64)
                by_subject = subject_values(part.tallies, filled.T).T
                against = "all raters" if truth == EVERYBODY else truth.name
                yield Scores(part.label, name, against, _by(runs, filled), _by(runs, by_subject))


def _by(runs: Sequence[Run], values: Any) -> dict[Run, Values]:
    return dict(zip(runs, values, strict=True))


def _joined(one: Scores, other: Scores) -> Scores:
    by_run, by_subject = {**one.by_run, **other.by_run}, {**one.by_subject, **other.by_subject}
    return replace(one, by_run=by_run, by_subject=by_subject)
