"""Metrics against grades (Zeng's 4.3), and how often each algorithm got each grade (his Table 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...charts.rocs import lines
from ...core.undefined import REASONS, Undefined, code, ratio
from ...evaluation.grading.agreement import GraderAgreement, grader_agreement
from ...evaluation.grading.grades import (
    NONE_WITHIN,
    Grade,
    GradeCounts,
    GradeScale,
    Item,
    MetricRoc,
    grade_counts,
    metric_roc,
)
from ...evaluation.ranking.directions import NONE_GIVEN
from ...inference.intervals import Interval
from ..printing import counted, grid, number
from ..rows import Row, Table
from ..summaries import Settings

AREA, WITHIN = "roc_area", "roc_area_within"
ABSENT = {
    "unscored": ("grade is of a prediction without a score", "grades are of predictions without a score"),
    "undefined": (
        "grade is of a prediction with an undefined score",
        "grades are of predictions with undefined scores",
    ),
    "ungraded": ("prediction was not graded", "predictions were not graded"),
}
"""What is missing of a metric (each is a field of MetricRoc), of one and of several."""
APART = 0.1
"""So far apart, and the area over all algorithms says more of the algorithms than of the metric."""
MOST_SHOWN = 10
"""So many metrics are printed."""
MOST_CURVES = 20
"""So many metrics are drawn, the best first."""


@dataclass(frozen=True)
class Graded:
    """What the grades say."""

    scale: GradeScale
    rocs: tuple[MetricRoc, ...]
    """Of every metric: over all algorithms, then each; over all graders, then, where there are several, each."""
    counts: tuple[GradeCounts, ...]
    agreement: tuple[GraderAgreement, ...]
    areas: Table
    """``grading.csv``."""
    points: Table
    """``grading_roc.csv``: the curves over all algorithms and graders."""
    grades: Table
    """``grades.csv``."""
    notes: tuple[str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All that is written."""
        return self.areas, self.points, self.grades

    @property
    def several(self) -> bool:
        """Whether there is more than one algorithm, so that the area within them is something else."""
        return len({c.algorithm for c in self.counts}) > 1

    def whole(self) -> list[MetricRoc]:
        """Every metric over all algorithms and graders, the largest area first, undefined ones last."""
        found = [r for r in self.rocs if not r.algorithm and not r.grader]
        return sorted(found, key=lambda r: _descending(r.area))

    def within(self) -> list[MetricRoc]:
        """The same, the largest area within algorithms first."""
        return sorted(self.whole(), key=lambda r: _descending(r.within))


def _descending(area: Interval) -> float:
    return -area.value if area.value == area.value else 1.0


def grade_metrics(
    metrics: Mapping[str, Mapping[Item, float]],
    grades: Sequence[Grade],
    algorithms: Sequence[str],
    *,
    subjects: Mapping[str, str],
    scale: GradeScale | None = None,
    blank: int = 0,
    directions: Mapping[str, str] = NONE_GIVEN,
    settings: Settings | None = None,
) -> Graded:
    """Every metric against the grades, with tables.

    Parameters
    ----------
    metrics
        ``{name: {(case, algorithm): value}}``. What a metric is against may stand in brackets: ``dice [vote:0.5]``.
        Where a prediction that marked nothing should count as bad, give the worst value, not nan.
    grades, blank
        As :func:`manytruths.io.grades.read_grades` returns them.
    algorithms
        In the order in which they are listed.
    subjects
        The subject of each case.
    """
    scale, settings = scale or GradeScale(), settings or Settings()
    graders = list(dict.fromkeys(g.grader for g in grades))
    roc = partial(
        metric_roc, grades=grades, scale=scale, subjects=subjects, directions=directions,
        resamples=settings.resamples, level=settings.level, seed=settings.seed,
    )  # fmt: skip
    rocs = tuple(
        roc(name, values, algorithm=algorithm, grader=grader)
        for name, values in metrics.items()
        for grader in ["", *(graders if len(graders) > 1 else [])]
        for algorithm in ["", *algorithms]
    )
    counts = tuple(c for g in (graders or [""]) for c in grade_counts(grades, algorithms, scale, g))
    agreement = tuple(grader_agreement(grades, scale))
    return Graded(
        scale, rocs, counts, agreement, _areas(rocs), _points(rocs), _grades(counts, agreement, scale),
        tuple(_notes(rocs, grades, blank)),
    )  # fmt: skip


def _areas(rocs: Sequence[MetricRoc]) -> Table:
    table = Table("grading", ("metric", "algorithm", "grader", "better", "positives", "negatives", "unscored"))
    for roc in rocs:
        extra = roc.metric, roc.algorithm, roc.grader, roc.direction, roc.positives, roc.negatives, roc.unscored
        n = roc.positives + roc.negatives
        # of one algorithm, both are the same
        for name, area in ((AREA, roc.area), *([] if roc.algorithm else [(WITHIN, roc.within)])):
            row = Row("pooled", name, area.value, extra=extra, low=area.low, high=area.high, n=n)
            row.n_undefined = roc.undefined
            table.append(row)
    return table


def _points(rocs: Sequence[MetricRoc]) -> Table:
    table = Table("grading_roc", ("metric", "threshold"))
    for roc in (r for r in rocs if not r.algorithm and not r.grader):
        curves = {"sensitivity": roc.sensitivity.tolist(), "fall_out": roc.fall_out.tolist()}
        whole = {"sensitivity": roc.positives, "fall_out": roc.negatives}
        for i, threshold in enumerate(roc.thresholds.tolist()):
            for name, values in curves.items():
                value = values[i] if whole[name] else Undefined("none_of_class")
                table.append(Row("pooled", name, value, extra=(roc.metric, threshold), n=whole[name]))
    return table


def _grades(counts: Sequence[GradeCounts], agreement: Sequence[GraderAgreement], scale: GradeScale) -> Table:
    """Who got each grade how often, which share needs no correction, and how consistent the graders are."""
    table = Table("grades", ("algorithm", "grader", "grade", "grader_b"))
    for one in counts:
        own = [(str(grade), "count", float(count)) for grade, count in one.counts.items()]
        fine = sum(count for grade, count in one.counts.items() if grade >= scale.best)
        own.append(("", "no_correction", ratio(fine, one.total, "none_graded")))
        table.add(Row("pooled", name, value, extra=(one.algorithm, one.grader, grade, ""), n=one.total)
                  for grade, name, value in own)  # fmt: skip
    for pair in agreement:
        for name, value in (("weighted_kappa", pair.kappa), ("same_grade", pair.same)):
            table.append(Row("pooled", name, value, extra=("", pair.first, "", pair.second), n=pair.n))
    return table


def _notes(rocs: Sequence[MetricRoc], grades: Sequence[Grade], blank: int) -> Iterator[str]:
    """What is missing on either side, said once where it is the same for every metric."""
    if blank:
        yield f"{counted(blank, 'line')} without a grade, {len(grades)} with one"
    whole = [r for r in rocs if not r.algorithm and not r.grader]
    for missing, words in ABSENT.items():
        counts = {r.metric: getattr(r, missing) for r in whole}
        for count in sorted({n for n in counts.values() if n}, reverse=True):
            named = [metric for metric, n in counts.items() if n == count]
            of = "" if len(named) == len(counts) else f" ({', '.join(named[:5])}{', …' if len(named) > 5 else ''})"
            yield f"{count} {words[count > 1]}{of}"
    yield from _confounded(whole)


def _confounded(whole: Sequence[MetricRoc]) -> Iterator[str]:
    """Metrics whose area comes from how well the algorithms were graded as a whole, or is hidden by it."""
    named = [r for r in whole if abs(r.area.value - r.within.value) > APART]
    if any(code(r.within.value) == NONE_WITHIN for r in whole):
        yield f"{REASONS[NONE_WITHIN]}: areas tell algorithms apart, not their predictions"
    if not named:
        return
    shown = ", ".join(f"{r.metric} {r.area.value:.2f} and {r.within.value:.2f}" for r in named[:3])
    more = f", and {counted(len(named) - 3, 'metric')} more" if len(named) > 3 else ""
    yield (
        f"the area over all algorithms differs from that within algorithms ({shown}{more}): some algorithms were "
        "graded better as a whole; whether a metric finds the predictions to correct is said by the area within"
    )


def grading_chart(found: Graded) -> str:
    """Zeng's Fig. 5: the ROC curves of the metrics, the largest area first, as SVG."""
    shown = found.whole()[:MOST_CURVES]
    level = round(100 * shown[0].area.level) if shown else 95
    told = ", over all; within algorithms" if found.several else ""
    return lines(
        {r.metric: (r.fall_out, r.sensitivity) for r in shown},
        "share of those that need correction which pass",
        "share of those that need none which pass",
        f"Which metric finds what needs correction? Area and {level}% interval{told}",
        diagonal=True,
        notes={r.metric: _area(r.area) + (f"; {_area(r.within)}" if found.several else "") for r in shown},
    )


def _area(area: Interval) -> str:
    value, low, high = area.value, area.low, area.high
    if value != value:
        return "undefined"
    return f"{value:.2f}" + (f" ({low:.2f}–{high:.2f})" if low == low else "")


def graded_grids(found: Graded) -> list[Any]:
    """For the terminal: how often each algorithm got each grade, and the areas of the best metrics."""
    graders = {c.grader for c in found.counts}
    rows = []
    for one in found.counts:
        fine = sum(count for grade, count in one.counts.items() if grade >= found.scale.best)
        who = f"{one.algorithm}, by {one.grader}" if len(graders) > 1 else one.algorithm
        share = f"{fine / one.total:.0%}" if one.total else number(None)
        rows.append([who, *map(str, one.counts.values()), str(one.total), share])
    header = ["", *(str(n) for n in found.scale.levels), "all", "no correction"]
    return [grid("How often each grade was given, the worst first", header, rows), _area_grid(found)]


def _area_grid(found: Graded) -> Any:
    every = found.within() if found.several else found.whole()
    rows = [[r.metric, _area(r.area), *([_area(r.within)] if found.several else [])] for r in every[:MOST_SHOWN]]
    level = round(100 * every[0].area.level) if every else 95
    more = f"; {counted(len(every) - MOST_SHOWN, 'metric')} more in grading.csv" if len(every) > MOST_SHOWN else ""
    title = f"Which metric finds what needs correction? ROC area ({level}% interval){more}"
    return grid(title, ["", "all together", "within algorithms"] if found.several else ["", "area"], rows)
