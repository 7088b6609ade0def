"""Free-response curves (FROC): the share of lesions that an algorithm finds, over its false positives per case.

All numbers are of the lesions of all cases together. Intervals are over subjects: by the jackknife at a threshold that
is fixed, and by the bootstrap at a number of false positives, since there the threshold depends on the cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...charts import line_chart
from ...core.undefined import Undefined, ratio
from ...inference.intervals import (
    Interval,
    draw_subjects,
    effective_subjects,
    few_effective_subjects,
    jackknife_interval,
    make_interval,
    too_few_subjects,
)
from ...inference.scales import Scale
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...study import Study
from ..tables import Settings
from .lesions import FreeResponse, FreeResponses

Values = NDArray[np.float64]

POINTS = 100
"""Of a curve in the table, at most."""
MOST_POINTS = 1000
"""Of a curve that is resampled."""
RESAMPLES = 2000
AT_RATES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""False positives per case of ``froc_score``."""
AT_ONE, SCORE = "lesion_sensitivity_at_1_fp", "froc_score"


@dataclass(frozen=True, eq=False)
class Curve:
    """An algorithm against a reference standard: counts by subject, at falling thresholds."""

    thresholds: Values
    """The first is one that nothing reaches."""
    hits: Values
    """(subjects, thresholds) lesions that were found."""
    false: Values
    """(subjects, thresholds)"""
    lesions: Values
    """(subjects,)"""
    cases: Values
    """(subjects,)"""

    @classmethod
    def of(cls, responses: Sequence[FreeResponse], subjects: Sequence[str], most: int | None = None) -> Curve:
        """From the responses of each case and its subject; with at most so many thresholds."""
        number = {name: i for i, name in enumerate(dict.fromkeys(subjects))}
        owners = [number[name] for name in subjects]
        scores = [score for each in responses for score in (*each.hits, *each.false)]
        thresholds = _thresholds(np.array(scores, np.float64), most)
        hits, false = (
            _count(((i, s) for i, each in zip(owners, by_case, strict=True) for s in each), thresholds, len(number))
            for by_case in ([each.hits for each in responses], [each.false for each in responses])
        )
        weights = (np.array([each.lesions for each in responses], np.float64), np.ones(len(owners)))
        lesions, cases = (np.bincount(owners, each, len(number)).astype(np.float64) for each in weights)
        return cls(thresholds, hits, false, lesions, cases)

    def at_rates(self, rates: Sequence[float], weights: Values | None = None) -> Values:
        """(resamples, rates) largest sensitivity with at most so many false positives per case; nan without lesions.

        ``weights`` (resamples, subjects) say how often each subject counts; by default once.
        """
        weights = np.ones((1, len(self.cases))) if weights is None else weights
        with np.errstate(invalid="ignore"):
            found = (weights @ self.hits) / (weights @ self.lesions)[:, None]
            per_case = (weights @ self.false) / (weights @ self.cases)[:, None]
        # both rise with falling thresholds, and the first threshold has no false positive
        last = np.stack([(per_case <= rate).sum(axis=1) - 1 for rate in rates], axis=1)
        return np.take_along_axis(found, last, axis=1)


def _thresholds(scores: Values, most: int | None) -> Values:
    """All scores, falling, or some of them, evenly spaced; before them, one that nothing reaches."""
    falling = np.unique(scores)[::-1]
    if most is not None and len(falling) > most:
        falling = falling[np.unique(np.linspace(0, len(falling) - 1, most).round().astype(int))]
    return np.append(math.inf, falling)


def _count(scores: Iterator[tuple[int, float]], thresholds: Values, subjects: int) -> Values:
    """(subjects, thresholds) how many of the scores of a subject reach a threshold."""
    known, counts = list(scores), np.zeros((subjects, len(thresholds)))
    if known:
        owners, values = np.array([i for i, _ in known]), np.array([score for _, score in known])
        np.add.at(counts, (owners, np.searchsorted(-thresholds, -values)), 1)
    return counts.cumsum(axis=1)


# -- table -------------------------------------------------------------------------------------------


def froc_table(study: Study, cases: Mapping[str, FreeResponses], settings: Settings) -> Table:
    """Sensitivity over all lesions, and false positives per case, at every score; without cases of too many lesions."""
    table = Table("froc", ("algorithm", "against", "threshold"))
    keys = dict.fromkeys(key for case in cases.values() for key in case.by_pair)
    slots = set(study.rater_names) if study.options.exchangeable else set()
    for key in (key for key in keys if key[1] not in slots):
        here = {name: case.by_pair[key] for name, case in cases.items() if key in case.by_pair}
        subjects = [study[name].subject for name in here]
        left_out = len(cases) - len(here)
        for row in _rows(list(here.values()), subjects, settings):
            row.extra, row.n_undefined = (*key, *row.extra), left_out
            table.append(row)
    return table


def _rows(responses: Sequence[FreeResponse], subjects: Sequence[str], settings: Settings) -> Iterator[Row]:
    shown = Curve.of(responses, subjects, POINTS)
    lesions, cases = int(shown.lesions.sum()), len(responses)
    found = _ratios(shown.hits, shown.lesions, "share", settings.level)
    false = _ratios(shown.false, shown.cases, "positive", settings.level)
    for threshold, one, other in zip(shown.thresholds.tolist(), found, false, strict=True):
        yield Row("pooled", "lesion_sensitivity", one.value, "", "", "", "", (threshold,), one.low, one.high, lesions)
        yield Row("pooled", "false_positives", other.value, "", "", "", "", (threshold,), other.low, other.high, cases)
    whole = Curve.of(responses, subjects)
    drawn = whole if len(whole.thresholds) <= MOST_POINTS + 1 else Curve.of(responses, subjects, MOST_POINTS)
    refused, subject_count = _refuse(whole.lesions), len(whole.cases)
    at = {AT_ONE: (1.0,), SCORE: AT_RATES}
    for name, rates in at.items():
        value = float(whole.at_rates(rates).mean()) if lesions else Undefined("no_lesion")
        if refused is not None:
            interval = Interval(value, refused, refused, settings.level, "percentile", subject_count)
        else:
            again = drawn.at_rates(rates, draw_subjects(subject_count, RESAMPLES, settings.seed)).mean(axis=1)
            interval = make_interval(value, again, again[:0], "percentile", settings.level, subject_count)
        yield Row("pooled", name, value, "", "", "", "", ("",), interval.low, interval.high, lesions)


def _refuse(sizes: Values) -> Undefined | None:
    """Why there is no interval: too few subjects, or a few that have most of what is counted."""
    return too_few_subjects(len(sizes)) or few_effective_subjects(sizes)


def _ratios(counts: Values, sizes: Values, scale: Scale, level: float) -> Iterator[Interval]:
    """Counts of all subjects over the sum of their sizes, at every threshold, with intervals over subjects."""
    n, total, refused = len(sizes), sizes.sum(), _refuse(sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (counts.sum(axis=0) - counts) / (total - sizes)[:, None]
    for count, left_out in zip(counts.sum(axis=0).tolist(), without.T, strict=True):
        value = ratio(count, float(total), "no_lesion")
        if refused is not None:
            yield Interval(value, refused, refused, level, "jackknife", n)
        else:
            yield jackknife_interval(value, left_out, effective_subjects(sizes) - 1, scale, level, n)


# -- charts ------------------------------------------------------------------------------------------


def froc_charts(table: Table, study: Study) -> dict[str, str]:
    """A chart for each consensus and given reference: sensitivity over false positives per case, by algorithm."""
    lines: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    points = (table.all(name, "pooled") for name in ("lesion_sensitivity", "false_positives"))
    for sensitivity, false in zip(*points, strict=True):
        if sensitivity["against"] not in study.rater_names and not math.isnan(sensitivity.value):
            of = lines.setdefault(sensitivity["against"], {}).setdefault(sensitivity["algorithm"], ([], []))
            of[0].append(false.value)
            of[1].append(sensitivity.value)
    return {
        f"froc-{safe_name(against)}": line_chart(
            curves, "false positives per case", "share of lesions found", f"Lesions found, against {against}",
            xlim=(0.0, max(1.0, *(x for xs, _ in curves.values() for x in xs))),
        )
        for against, curves in lines.items()
    }  # fmt: skip
