"""How well networks say how unsure they are: their probabilities and samples against all raters of the test cases.

**Model energy distance** and **diversity** compare the masks that a network draws with those of the raters. Of
networks with latent variables a few draws are known, and the energy distance is the U-form in the samples; the heads of
the raters, or the one mask of a network that draws none, are all that the network has, and the V-form is exact. Both
estimate the same: the distance between what the network may draw and the raters of the case.

**Brier score** and **pooled calibration error** are of the probabilities, against each rater, by pixel of the whole
image. The calibration error is the expected one of all test cases together. It is a mean over subjects only by the
jackknife: with θ of all n subjects and θ_−s without one, that of a subject is n θ − (n − 1) θ_−s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.labels import MACRO
from ..core.undefined import divide
from ..evaluation.probabilistic.binning import ReliabilityDiagram
from ..evaluation.probabilistic.calibration import reliability_diagram
from ..evaluation.probabilistic.samples import energy_distance, rater_diversity, sample_distances, sample_diversity
from ..io import read_mask, read_probability
from ..study import Case, Progress, Study
from .frames import label_values
from .runs import Bench, Run
from .sampling import LATENT
from .scores import ALL_RATERS, Scores

Values = NDArray[np.float64]
BY_CASE = ("model_energy_distance", "sample_diversity", "diversity_difference", "brier")
CALIBRATION = "pooled_calibration_error"
UNCERTAINTY = (*BY_CASE, CALIBRATION)
"""The statistics of probabilities and samples, in the order of tables."""


@dataclass(frozen=True)
class CaseUncertainty:
    """The numbers of one run and case."""

    values: Mapping[str, float]
    """By statistic."""
    diagram: ReliabilityDiagram
    """Of all labels but background."""


@dataclass
class _Gathered:
    """What is known of a run, case by case."""

    cases: list[CaseUncertainty] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)


def evaluate_uncertainty(
    study: Study, bench: Bench, runs: Sequence[Run], *, jobs: int, progress: Progress | None = None
) -> list[Scores]:
    """Scores of the probabilities and samples of all runs on the test cases."""
    wanted = set(bench.test_cases)
    cases = [case for case in study if case.name in wanted]
    tested = Study(cases, study.options, study.properties, coded=study.coded, executor=study.executor)
    # workers need no images
    work = partial(_judge_case, bench=replace(bench, frames=bench.frames.select([])), runs=tuple(runs))
    by_run = {run: _Gathered() for run in runs}
    for case, found in tested.map(work, jobs=jobs, progress=progress):
        for run, one in found.items():
            by_run[run].cases.append(one)
            by_run[run].subjects.append(case.subject)
    label = MACRO if len(bench.frames.labels) > 2 else ""
    return list(_scores(by_run, label))


def _judge_case(case: Case, bench: Bench, runs: Sequence[Run]) -> dict[Run, CaseUncertainty]:
    reading = case.read()
    region = reading.case.region(reading.grid)
    inside = None if isinstance(region, str) else np.asarray(region) != 0
    first = {column.name: mask for column, mask in reversed(list(reading.masks.items()))}
    values = {rater: label_values(mask, reading, inside) for rater, mask in first.items()}
    masks = {rater: np.ma.masked_array(own, own < 0) for rater, own in values.items()}
    return {run: _judge(case.name, bench, run, masks) for run in runs}


def _judge(case: str, bench: Bench, run: Run, masks: Mapping[str, Any]) -> CaseUncertainty:
    labels = bench.frames.labels
    drawn = bench.sample_paths(run, case) or [bench.prediction_path(run, case)]
    samples = {f"sample {path.stem}": read_mask(path).array.astype(np.int32) for path in drawn}
    distances = sample_distances(samples, masks, labels=labels.values)
    diversity = sample_diversity(distances) if len(samples) > 1 else 0.0
    paths = bench.probability_paths(run, case)
    marks = labels.values[1:]
    maps = dict(zip(marks, paths[-len(marks) :], strict=True))
    diagrams = [
        reliability_diagram(read_probability(path).array, {r: own == value for r, own in masks.items()})
        for value, path in maps.items()
    ]
    whole = reduce(add, diagrams)
    known = {
        "model_energy_distance": energy_distance(distances, unbiased="samples" if run.strategy == LATENT else False),
        "sample_diversity": diversity,
        "diversity_difference": diversity - rater_diversity(distances),
        "brier": whole.brier,
    }
    return CaseUncertainty(known, whole)


def _scores(by_run: Mapping[Run, _Gathered], label: str) -> Iterator[Scores]:
    for name in BY_CASE:
        by_case = {run: np.array([c.values[name] for c in own.cases], np.float64) for run, own in by_run.items()}
        by_subject = {run: _subject_means(values, by_run[run].subjects) for run, values in by_case.items()}
        yield Scores(label, name, ALL_RATERS, by_case, by_subject)
    yield Scores(label, CALIBRATION, ALL_RATERS, {}, {run: _calibration(own) for run, own in by_run.items()})


def _subject_means(values: Values, subjects: Sequence[str]) -> Values:
    owner = np.unique(subjects, return_inverse=True)[1]
    known = ~np.isnan(values)
    return divide(np.bincount(owner, np.where(known, values, 0.0)), np.bincount(owner, known))


def _calibration(own: _Gathered) -> Values:
    """What each subject adds to the calibration error of all, by the jackknife."""
    by_subject: dict[str, ReliabilityDiagram] = {}
    for subject, case in zip(own.subjects, own.cases, strict=True):
        by_subject[subject] = case.diagram + by_subject[subject] if subject in by_subject else case.diagram
    apart = np.stack([by_subject[s].observed - by_subject[s].forecasts for s in sorted(by_subject)])
    items = np.array([by_subject[s].items for s in sorted(by_subject)])
    n, total = len(items), float(divide(np.abs(apart.sum(axis=0)).sum(), items.sum()))
    without = divide(np.abs(apart.sum(axis=0) - apart).sum(axis=1), items.sum() - items)
    return np.asarray(n * total - (n - 1) * without, np.float64)
