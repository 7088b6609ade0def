"""Scores of probability maps: curves, areas and correlations under every reference standard, and rankings."""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...agreement import Correlation
from ...core.columns import Column
from ...core.errors import CallError, InputError
from ...core.labels import VOID
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined
from ...evaluation.curves import (
    NO_NEGATIVES,
    NO_POSITIVES,
    ResponseCounts,
    ThresholdCurve,
    correlation_in_image,
    correlation_in_object,
    prevalence_range,
)
from ...evaluation.ranking.by_reference import ReferenceRankings, rank_by_reference
from ...evaluation.references import ReferenceStandards, reference_standards
from ...evaluation.responses import count_indexed_responses, pattern_index
from ...study import Case, Study
from ...study.mask_values import about
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise
from .marks import Array, CaseMarks, EvaluatePlan
from .missing_scores import NO_PREDICTION, Missing, fill_missing

AREAS = ("pbar_area", "pr_area", "roc_area")
POINTS = 100
"""Points of a curve in ``curves.csv``."""
EXCLUDED = "without the excluded area"

Skew = tuple[float, float]


@dataclass(frozen=True)
class CaseResponses:
    """The responses of every algorithm in one case, counted under every reference standard."""

    tally: Tally
    """Raters, given references and consensuses."""
    kinds: Mapping[str, str]
    """Every reference standard, and what it is: a rater, a reference, a level of votes."""
    counts: Mapping[Column, ResponseCounts]
    """Without what an algorithm is not judged by."""
    whole: Mapping[Column, ResponseCounts]
    """Of all pixels, for algorithms with such an area."""
    silent: Mapping[Column, ResponseCounts]
    """Algorithms without a prediction: counted as if every pixel had the same, lowest response."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PackedResponses:
    """The same compressed: counts of many levels are large, and kept until all prevalences are known."""

    prevalences: tuple[float, ...]
    """The share that each rater marked."""
    content: bytes

    @classmethod
    def of(cls, whole: CaseMarks) -> PackedResponses:
        """The responses of a case."""
        responses = count_case_responses(whole)
        return cls(tuple(_prevalences(whole)), zlib.compress(pickle.dumps(responses, protocol=5), 1))

    def unpack(self) -> CaseResponses:
        """What was packed."""
        responses: CaseResponses = pickle.loads(zlib.decompress(self.content))
        return responses


def count_case_responses(whole: CaseMarks) -> CaseResponses:
    """Count the responses of every algorithm of a case; labels are united."""
    label = whole.without_predictions().together
    case, reading = whole.case, whole.reading
    notes = list(whole.spatial_maps(None)[1])
    with about(f"case {case.name}"):
        # further columns are functions of the pattern, and leave the patterns in their order
        index = pattern_index(label.marks | label.maps, label.base)
        references = reference_standards(label.joint, levels=True)
    if len(whole.table.labels.marks) > 1:
        notes.append("labels are united: probability maps are scored against everything that is marked")
    counts: dict[Column, ResponseCounts] = {}
    everything: dict[Column, ResponseCounts] = {}
    inside = None if isinstance(reading.region, str) else reading.region
    for column, values in reading.predictions.items():
        limits, area = case.options.limits or _limits(values), reading.training_areas.get(column)
        counts[column] = count_indexed_responses(
            values, index, label.joint, region=inside, exclude=area, limits=limits
        ).against(references)  # fmt: skip
        if area is not None:
            responses = count_indexed_responses(values, index, label.joint, region=inside, limits=limits)
            everything[column] = responses.against(references)
        if not counts[column].levels.size:
            notes.append(f"{column}: everything that counts is excluded, so that it is not scored")
        elif counts[column].constant:
            level = counts[column].levels[0]
            notes.append(f"{column}: the response is {level:g} everywhere, so that no threshold separates anything")
    kinds = dict(zip(references.names, references.kinds, strict=True))
    silent = _silent(case, label.joint, references)
    return CaseResponses(label.joint, kinds, counts, everything, silent, tuple(notes))


def _silent(case: Case, joint: Tally, references: ReferenceStandards) -> dict[Column, ResponseCounts]:
    positives = (references.positive @ joint.counts)[:, None]
    negatives = ((references.rated & ~references.positive) @ joint.counts)[:, None]
    none = ResponseCounts(
        references.names, np.array([-np.inf]), positives, negatives, np.zeros(1), np.zeros((1, 1), np.int64)
    )
    return dict.fromkeys(case.missing, none)


def _limits(values: Array) -> tuple[float, float] | None:
    """Probabilities from 0 to 1 are rounded alike in every case, where there are too many of them."""
    shares = values.dtype.kind == "f" and values.min(initial=0) >= 0 and values.max(initial=0) <= 1
    return (0.0, 1.0) if shares else None


def _prevalences(whole: CaseMarks) -> Iterator[float]:
    table = whole.reading.tally(judged=False).foreground()
    codes = table.patterns[:, table.raters]
    marked, rated = table.counts @ (codes == 1), table.counts @ (codes != VOID)
    return (float(m / n) for m, n in zip(marked, rated, strict=True) if n)


def _areas(counts: ResponseCounts, skew: Skew) -> dict[tuple[str, str], float]:
    """By reference standard and statistic, with the reason where it is undefined."""
    values = {"pbar_area": counts.pbar_areas(*skew), "pr_area": counts.pr_areas(), "roc_area": counts.roc_areas()}
    return {(t, name): _defined(v[i], counts, i) for name, v in values.items() for i, t in enumerate(counts.truths)}


def _defined(value: np.float64, counts: ResponseCounts, reference: int) -> float:
    if not np.isnan(value):
        return float(value)
    return Undefined(NO_NEGATIVES if counts.positives[reference].any() else NO_POSITIVES)


@dataclass(frozen=True)
class ProbabilityScores:
    """Scores of probability maps."""

    skew: Skew
    tallies: Tallies
    kinds: Mapping[str, str]
    """Every reference standard, and what it is: ``rater``, ``reference`` (given, or a consensus), ``votes``."""
    counts: Mapping[Column, ResponseCounts]
    """Of all cases together."""
    scores: Table
    curves: Table
    correlations: Table
    rankings: Table
    orders: ReferenceRankings | None
    """By the area under P̄-R of all cases together; None with a single algorithm."""
    notes: tuple[str, ...] = ()

    def curve(self, algorithm: Column, truth: str) -> ThresholdCurve:
        """Of all cases together."""
        return self.counts[algorithm].curve(truth)

    @property
    def truths(self) -> list[str]:
        """All but the levels of votes."""
        return [name for name, kind in self.kinds.items() if kind != "votes"]


def tabulate_probabilities(
    study: Study, cases: Mapping[str, PackedResponses], plan: EvaluatePlan, settings: Settings
) -> ProbabilityScores:
    """The tables of responses that were counted case by case."""
    skew, missing = plan.skew or _skew(cases), plan.missing
    totals = _Totals(missing)
    for name, packed in cases.items():
        totals.add(study[name], packed.unpack(), skew)
    tallies = study.gathered(totals.tallies)
    totals.counts = {a: totals.counts[a] for a in study.algorithms if a in totals.counts}
    pooled = {(a, *key): value for a, counts in totals.counts.items() for key, value in _areas(counts, skew).items()}
    orders = _orders(totals, pooled)
    scores = Table("scores", ("algorithm", "against"))
    for truth in totals.kinds:
        scores.add(_by_case(study, totals, tallies, truth, missing, settings))
    scores.add(
        Row("pooled", name, value, region=region_of(tallies), extra=(a.name, truth), n=_items(totals.counts[a], truth))
        for (a, truth, name), value in pooled.items()
    )
    curves = Table("curves", ("algorithm", "against", "threshold"), list(_curves(totals, tallies, skew)))
    correlations = Table("correlations", ("algorithm",), list(_correlations(study, totals, tallies)))
    rankings = Table("rankings", ("against", "metric", "rank", "algorithm"), list(_rankings(orders, tallies)))
    notes = tuple(_notes(study, totals))
    return ProbabilityScores(
        skew, tallies, totals.kinds, totals.counts, scores, curves, correlations, rankings, orders, notes
    )


@dataclass
class _Totals:
    """Sums over cases: counts are added at once, since each may be large."""

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

    def add(self, case: Case, responses: CaseResponses, skew: Skew) -> None:
        """One more case."""
        self.tallies[case.name] = responses.tally
        self.kinds |= responses.kinds
        self.excluded |= set(responses.whole)
        for column, counts in responses.counts.items():
            everything = responses.whole.get(column, counts)
            self.areas[case.name, column] = _areas(counts, skew)
            self.correlations[case.name, column] = correlation_in_object(everything), correlation_in_image(everything)
            _more(self.judged, column, counts)
            _more(self.whole, column, everything)
        for column, counts in responses.silent.items():
            # where nobody could have an area, its lack does not count
            worst = {key: v if np.isnan(v) else Undefined(NO_PREDICTION) for key, v in _areas(counts, skew).items()}
            self.areas[case.name, column] = worst
        if self.missing == "worst" or not responses.silent:
            for column, counts in (*responses.counts.items(), *responses.silent.items()):
                _more(self.counts, column, counts)
        for note in (*responses.notes, *_without_positives(responses)):
            self.notes.setdefault(note, []).append(case.name)


def _more(total: dict[Column, ResponseCounts], column: Column, counts: ResponseCounts) -> None:
    total[column] = total[column] + counts if column in total else counts


def _without_positives(responses: CaseResponses) -> Iterator[str]:
    """Truths under which nothing of a case is positive; one that is not there is no such."""
    for column in responses.tally.columns:
        codes = set(np.unique(responses.tally.patterns[:, responses.tally.position(column)]).tolist()) - {VOID}
        if codes == {0} and column.name in responses.kinds and column.role != "algorithm" and not column.session:
            yield f"{column} has nothing marked: areas are undefined, left out of means, and counted"


def _skew(cases: Mapping[str, PackedResponses]) -> Skew:
    """Around the prevalences that the raters of the study found."""
    shares = [share for packed in cases.values() for share in packed.prevalences]
    if len(shares) < 2:
        raise InputError("there are too few prevalences in the study for a range; give one, as --skew 0.1,0.5")
    low, high = prevalence_range(shares)
    if low == high:
        raise CallError(f"every rater marked the same share, {low:g}: give a range, as --skew 0.1,0.5")
    return low, high


def _by_case(
    study: Study, totals: _Totals, tallies: Tallies, truth: str, missing: Missing, settings: Settings
) -> list[Row]:
    series = []
    for name in AREAS:
        values = [[totals.areas[case, a][truth, name] for case in tallies] for a in study.algorithms]
        series += [
            Series(name, v, "", (a.name, truth), counted)
            for a, v, counted in zip(
                study.algorithms, values, fill_missing(name, values, missing, [math.nan] * len(tallies)), strict=True
            )
        ]
    return summarise(series, tallies, settings)


def _items(counts: ResponseCounts, truth: str) -> int:
    i = counts.truths.index(truth)
    return int(counts.positives[i].sum() + counts.negatives[i].sum())


def _curves(totals: _Totals, tallies: Tallies, skew: Skew) -> Iterator[Row]:
    region = region_of(tallies)
    for algorithm, counts in totals.counts.items():
        for truth in counts.truths:
            curve = counts.curve(truth).thinned(POINTS)
            columns = {"recall": curve.recall, "fall_out": curve.fall_out, "precision": curve.precision}
            columns["pbar"] = curve.pbar(*skew)
            for i, threshold in enumerate(curve.thresholds.tolist()):
                extra = (algorithm.name, truth, threshold)
                for name, values in columns.items():
                    value = Undefined("nothing_detected") if np.isnan(values[i]) else float(values[i])
                    yield Row("pooled", name, value, region=region, extra=extra)


def _correlations(study: Study, totals: _Totals, tallies: Tallies) -> Iterator[Row]:
    """Over all items, as Lampert has them; beside them, without the area that an algorithm is not judged by."""
    region = region_of(tallies)
    for algorithm in study.algorithms:
        for case in tallies:
            if (case, algorithm) in totals.correlations:
                yield from _pair("case", totals.correlations[case, algorithm], algorithm, tallies[case].region, case)
        everything, judged = totals.whole[algorithm], totals.judged[algorithm]
        yield from _pair(
            "pooled", (correlation_in_object(everything), correlation_in_image(everything)), algorithm, region
        )
        if algorithm in totals.excluded:
            yield from _pair(
                "pooled", (correlation_in_object(judged), correlation_in_image(judged)), algorithm, EXCLUDED
            )


def _pair(
    scope: str, pair: tuple[Correlation, Correlation], algorithm: Column, region: str, case: str = ""
) -> Iterator[Row]:
    for name, correlation in zip(("cco", "cci"), pair, strict=True):
        yield Row(scope, name, correlation.r, case, region=region, extra=(algorithm.name,), n=correlation.n)
        yield Row(
            scope, f"{name}_p_value", correlation.p, case, region=region, extra=(algorithm.name,), n=correlation.n
        )


def _orders(totals: _Totals, pooled: Mapping[tuple[Column, str, str], float]) -> ReferenceRankings | None:
    if len(totals.counts) < 2:
        return None
    names = [name for name, kind in totals.kinds.items() if kind != "votes"]
    values = [[pooled[a, truth, "pbar_area"] for truth in names] for a in totals.counts]
    return rank_by_reference(np.array(values, np.float64), [a.name for a in totals.counts], names)


def _rankings(orders: ReferenceRankings | None, tallies: Tallies) -> Iterator[Row]:
    if orders is None:
        return
    for truth, column in zip(orders.truths, orders.scores.T, strict=True):
        if truth in orders.undefined:
            continue
        for algorithm, value in sorted(zip(orders.algorithms, column.tolist(), strict=True), key=lambda item: -item[1]):
            extra = (truth, "pbar_area", 1 + int((column > value).sum()), algorithm)
            yield Row("pooled", "pbar_area", value, region=region_of(tallies), extra=extra)


def _notes(study: Study, totals: _Totals) -> Iterator[str]:
    for note, cases in totals.notes.items():
        yield f"{note} ({', '.join(cases[:3])}{f' and {len(cases) - 3} more' if len(cases) > 3 else ''})"
    for algorithm, counts in totals.judged.items():
        if counts.rounded:
            yield f"{algorithm}: more than 65,536 different responses; they were rounded to so many steps"
    if totals.excluded:
        names = ", ".join(str(c) for c in study.algorithms if c in totals.excluded)
        yield (
            f"{names}: areas leave out what was excluded, so that algorithms are compared on "
            "different pixels; correlations are over all pixels, and again without"
        )
