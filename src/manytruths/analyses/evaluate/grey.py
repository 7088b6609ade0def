"""The verb ``evaluate`` on grey predictions: curves, areas, correlations, and rankings under every truth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ...agreement import Correlation
from ...core.columns import Column
from ...core.errors import CallError, InputError
from ...core.labels import VOID
from ...core.tallies import Tallies
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.grey.correlation import cci, cco
from ...evaluation.grey.counts import ResponseCounts
from ...evaluation.grey.curves import Curve
from ...evaluation.grey.mean_precision import skew_limits
from ...evaluation.grey.truth_rankings import TruthRankings, truth_rankings
from ...study import Case, Progress, Study
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise
from .gaps import NO_PREDICTION, Missing, filled
from .grey_case import AREAS, GreyCase, areas, grey_case
from .scenes import EvaluatePlan

POINTS = 100
"""Points of a curve in ``curves.csv``."""
EXCLUDED = "without the excluded area"

Skew = tuple[float, float]


@dataclass(frozen=True)
class GreyScores:
    """What ``evaluate`` found about grey predictions."""

    skew: Skew
    tallies: Tallies
    kinds: Mapping[str, str]
    """Every truth, and what it is: ``rater``, ``reference`` (given, or made of the raters), ``votes``."""
    counts: Mapping[Column, ResponseCounts]
    """Of all cases together."""
    scores: Table
    curves: Table
    correlations: Table
    rankings: Table
    orders: TruthRankings | None
    """By the area under P̄-R of all cases together; None with a single algorithm."""
    notes: tuple[str, ...] = ()

    def curve(self, algorithm: Column, truth: str) -> Curve:
        """Of all cases together."""
        return self.counts[algorithm].curve(truth)

    @property
    def truths(self) -> list[str]:
        """All but the levels of votes."""
        return [name for name, kind in self.kinds.items() if kind != "votes"]


def judge_grey(
    study: Study,
    plan: EvaluatePlan,
    *,
    skew: Skew | None = None,
    missing: Missing = "worst",
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> GreyScores:
    """Curves of every algorithm under every truth."""
    settings = settings or Settings()
    skew = skew or _skew(study, settings)
    seen = _Seen(missing)
    for case, found in study.map(partial(grey_case, plan=plan), jobs=settings.jobs, progress=progress):
        seen.add(case, found, skew)
    tallies = study.gathered(seen.tallies)
    seen.counts = {a: seen.counts[a] for a in study.algorithms if a in seen.counts}
    pooled = {(a, *key): value for a, counts in seen.counts.items() for key, value in areas(counts, skew).items()}
    orders = _orders(seen, pooled)
    scores = Table("scores", ("algorithm", "against"))
    for truth in seen.kinds:
        scores.add(_by_case(study, seen, tallies, truth, missing, settings))
    scores.add(
        Row("pooled", name, value, region=region_of(tallies), extra=(a.name, truth), n=_items(seen.counts[a], truth))
        for (a, truth, name), value in pooled.items()
    )
    curves = Table("curves", ("algorithm", "against", "threshold"), list(_curves(seen, tallies, skew)))
    correlations = Table("correlations", ("algorithm",), list(_correlations(study, seen, tallies)))
    rankings = Table("rankings", ("against", "metric", "rank", "algorithm"), list(_rankings(orders, tallies)))
    notes = tuple(_notes(study, seen))
    return GreyScores(skew, tallies, seen.kinds, seen.counts, scores, curves, correlations, rankings, orders, notes)


@dataclass
class _Seen:
    """What is kept while the cases pass by: counts are added up at once, since each may be large."""

    missing: Missing
    tallies: dict[str, Tally] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    counts: dict[Column, ResponseCounts] = field(default_factory=dict)
    """What curves are made of; a prediction that is missing detects nothing, or its case is left out for all."""
    judged: dict[Column, ResponseCounts] = field(default_factory=dict)
    """What there is, without the area that an algorithm is not judged by."""
    whole: dict[Column, ResponseCounts] = field(default_factory=dict)
    """What there is."""
    areas: dict[tuple[str, Column], dict[tuple[str, str], float]] = field(default_factory=dict)
    correlations: dict[tuple[str, Column], tuple[Correlation, Correlation]] = field(default_factory=dict)
    excluded: set[Column] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """What is to be known, and of which cases."""

    def add(self, case: Case, found: GreyCase, skew: Skew) -> None:
        """One more case."""
        self.tallies[case.name] = found.tally
        self.kinds |= found.kinds
        self.excluded |= set(found.whole)
        for column, counts in found.counts.items():
            everything = found.whole.get(column, counts)
            self.areas[case.name, column] = areas(counts, skew)
            self.correlations[case.name, column] = cco(everything), cci(everything)
            _more(self.judged, column, counts)
            _more(self.whole, column, everything)
        for column, counts in found.silent.items():
            # where nobody could have an area, its lack does not count
            worst = {key: v if np.isnan(v) else Undefined(NO_PREDICTION) for key, v in areas(counts, skew).items()}
            self.areas[case.name, column] = worst
        if self.missing == "worst" or not found.silent:
            for column, counts in (*found.counts.items(), *found.silent.items()):
                _more(self.counts, column, counts)
        for note in (*found.notes, *_without_positives(found)):
            self.notes.setdefault(note, []).append(case.name)


def _more(total: dict[Column, ResponseCounts], column: Column, counts: ResponseCounts) -> None:
    total[column] = total[column] + counts if column in total else counts


def _without_positives(found: GreyCase) -> Iterator[str]:
    """Truths under which nothing of a case is positive; one that is not there is no such."""
    for column in found.tally.columns:
        codes = set(np.unique(found.tally.patterns[:, found.tally.position(column)]).tolist()) - {VOID}
        if codes == {0} and column.name in found.kinds and column.role != "algorithm" and not column.session:
            yield f"{column} has nothing marked: areas are undefined, left out of means, and counted"


def _skew(study: Study, settings: Settings) -> Skew:
    """Around the prevalences that the raters of the study found."""
    shares = [share for _, by in study.map(_prevalences, jobs=settings.jobs) for share in by]
    if len(shares) < 2:
        raise InputError("there are too few prevalences in the study for a range; give one, as --skew 0.1,0.5")
    low, high = skew_limits(shares)
    if low == high:
        raise CallError(f"every rater marked the same share, {low:g}: give a range, as --skew 0.1,0.5")
    return low, high


def _prevalences(case: Case) -> list[float]:
    """The share that each rater marked."""
    table = case.tally().foreground()
    codes = table.patterns[:, table.raters]
    marked, rated = table.counts @ (codes == 1), table.counts @ (codes != VOID)
    return [float(m / n) for m, n in zip(marked, rated, strict=True) if n]


def _by_case(
    study: Study, seen: _Seen, tallies: Tallies, truth: str, missing: Missing, settings: Settings
) -> list[Row]:
    series = []
    for name in AREAS:
        values = [[seen.areas[case, a][truth, name] for case in tallies] for a in study.algorithms]
        series += [
            Series(name, v, "", (a.name, truth), counted)
            for a, v, counted in zip(
                study.algorithms, values, filled(name, values, missing, [math.nan] * len(tallies)), strict=True
            )
        ]
    return summarise(series, tallies, settings)


def _items(counts: ResponseCounts, truth: str) -> int:
    i = counts.truths.index(truth)
    return int(counts.positives[i].sum() + counts.negatives[i].sum())


def _curves(seen: _Seen, tallies: Tallies, skew: Skew) -> Iterator[Row]:
    region = region_of(tallies)
    for algorithm, counts in seen.counts.items():
        for truth in counts.truths:
            curve = counts.curve(truth).thinned(POINTS)
            columns = {"recall": curve.recall, "fall_out": curve.fall_out, "precision": curve.precision}
            columns["pbar"] = curve.pbar(*skew)
            for i, threshold in enumerate(curve.thresholds.tolist()):
                extra = (algorithm.name, truth, threshold)
                for name, values in columns.items():
                    value = Undefined("nothing_detected") if np.isnan(values[i]) else float(values[i])
                    yield Row("pooled", name, value, region=region, extra=extra)


def _correlations(study: Study, seen: _Seen, tallies: Tallies) -> Iterator[Row]:
    """Over all items, as Lampert has them; beside them, without the area that an algorithm is not judged by."""
    region = region_of(tallies)
    for algorithm in study.algorithms:
        for case in tallies:
            if (case, algorithm) in seen.correlations:
                yield from _pair("case", seen.correlations[case, algorithm], algorithm, tallies[case].region, case)
        everything, judged = seen.whole[algorithm], seen.judged[algorithm]
        yield from _pair("pooled", (cco(everything), cci(everything)), algorithm, region)
        if algorithm in seen.excluded:
            yield from _pair("pooled", (cco(judged), cci(judged)), algorithm, EXCLUDED)


def _pair(
    scope: str, found: tuple[Correlation, Correlation], algorithm: Column, region: str, case: str = ""
) -> Iterator[Row]:
    for name, one in zip(("cco", "cci"), found, strict=True):
        yield Row(scope, name, one.r, case, region=region, extra=(algorithm.name,), n=one.n)
        yield Row(scope, f"{name}_p_value", one.p, case, region=region, extra=(algorithm.name,), n=one.n)


def _orders(seen: _Seen, pooled: Mapping[tuple[Column, str, str], float]) -> TruthRankings | None:
    if len(seen.counts) < 2:
        return None
    names = [name for name, kind in seen.kinds.items() if kind != "votes"]
    values = [[pooled[a, truth, "pbar_area"] for truth in names] for a in seen.counts]
    return truth_rankings(np.array(values, np.float64), [a.name for a in seen.counts], names)


def _rankings(orders: TruthRankings | None, tallies: Tallies) -> Iterator[Row]:
    if orders is None:
        return
    for truth, column in zip(orders.truths, orders.scores.T, strict=True):
        if truth in orders.undefined:
            continue
        for algorithm, value in sorted(zip(orders.algorithms, column.tolist(), strict=True), key=lambda item: -item[1]):
            extra = (truth, "pbar_area", 1 + int((column > value).sum()), algorithm)
            yield Row("pooled", "pbar_area", value, region=region_of(tallies), extra=extra)


def _notes(study: Study, seen: _Seen) -> Iterator[str]:
    for note, cases in seen.notes.items():
        yield f"{note} ({', '.join(cases[:3])}{f' and {len(cases) - 3} more' if len(cases) > 3 else ''})"
    for algorithm, counts in seen.judged.items():
        if counts.rounded:
            yield f"{algorithm}: more than 65,536 different responses; they were rounded to so many steps"
    if seen.excluded:
        names = ", ".join(str(c) for c in study.algorithms if c in seen.excluded)
        yield (
            f"{names}: areas leave out what was excluded, so that algorithms are compared on "
            "different items; correlations are over all items, and again without"
        )
