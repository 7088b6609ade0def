"""Scores of probability maps: curves, areas, correlations and rankings under every reference standard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement import Correlation
from ...charts import line_chart
from ...core.columns import Column
from ...core.errors import CallError, InputError, few
from ...core.labels import VOID
from ...core.painting import paint_tiles
from ...core.tally import Tallies, Tally
from ...core.tiles import chunk_shape, load
from ...core.undefined import Undefined
from ...evaluation.curves import (
    NO_NEGATIVES,
    NO_POSITIVES,
    ResponseCounts,
    correlation_in_image,
    correlation_in_object,
    mean_precision,
    prevalence_range,
)
from ...evaluation.ranking.by_reference import ReferenceRankings, rank_by_reference
from ...evaluation.ranking.scores import equal_names
from ...evaluation.references import ReferenceStandards, reference_standards
from ...evaluation.responses import Responses, count_indexed_responses, count_response_blocks, index_masks
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...study import Case, Study
from ...study.case import Reading
from ...study.mask_values import about
from ..tables import Series, Settings, region_of, summarise
from .case_scores import NO_PREDICTION, fill_missing
from .marks import Array, CaseMarks, EvaluatePlan, LabelMarks, Missing, are_shares, pack, unpack

AREAS = ("pbar_area", "pr_area", "roc_area")
POINTS = 100
"""Points of a curve in ``curves.csv``."""
EXCLUDED = "without the excluded area"
STEP = 0.01
"""Recall between two points of a curve as drawn."""

Skew = tuple[float, float]
Counts = dict[Column, ResponseCounts]


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
    missing: Mapping[Column, ResponseCounts]
    """Algorithms without a prediction: counted as if every pixel had the same, lowest response."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PackedResponses:
    """The same compressed: counts of many levels are large, and kept until all prevalences are known."""

    prevalences: tuple[float, ...]
    """The share that each rater marked."""
    content: bytes

    @classmethod
    def of(cls, whole: CaseMarks, counted: CountedMaps) -> PackedResponses:
        """The responses of a case."""
        return cls(tuple(_prevalences(whole)), pack(count_case_responses(whole, counted)))

    def unpack(self) -> CaseResponses:
        """What was packed."""
        responses: CaseResponses = unpack(self.content)
        return responses


@dataclass(frozen=True, eq=False)
class CountedMaps:
    """How often each response of each algorithm occurs with each pattern of one label, or of all together."""

    label: LabelMarks
    """Without predictions."""
    judged: Mapping[Column, Responses]
    """Without what an algorithm is not judged by."""
    whole: Mapping[Column, Responses]
    """Of all pixels, for algorithms with such an area."""


def count_maps(label: LabelMarks, maps: Mapping[Column, Array]) -> CountedMaps:
    """Read the maps of all algorithms once; of a large case they are on disk."""
    case, reading = label.whole.case, label.whole.reading
    pixels = on_disk(reading)
    judged: dict[Column, Responses] = {}
    everything: dict[Column, Responses] = {}
    with about(f"case {case.name}"):
        count = _count_in_memory(label) if pixels is reading else _count_by_tile(label, pixels)
    for column, values in maps.items():
        limits, area = case.options.limits or _limits(values), pixels.training_areas.get(column)
        judged[column] = count(values, area, limits)
        if area is not None:
            everything[column] = count(values, None, limits)
    return CountedMaps(label, judged, everything)


def on_disk(reading: Reading) -> Reading:
    """The reading that holds the maps: of a large case, the one by tile."""
    return reading if reading.pixels is None else reading.pixels.reading


def count_case_responses(whole: CaseMarks, counted: CountedMaps) -> CaseResponses:
    """The responses of every algorithm of a case against every reference standard; labels are united."""
    label, case = counted.label, whole.case
    notes = list(whole.spatial_maps(None)[1])
    with about(f"case {case.name}"):
        references = reference_standards(label.joint, levels=True)
    if len(whole.table.labels.marks) > 1:
        by_label = any(output.by_label for output in on_disk(whole.reading).outputs.values())
        what = "curves are" if by_label else "probability maps are scored"
        notes.append(f"labels are united: {what} against everything that is marked")
    counts: Counts = {column: responses.against(references) for column, responses in counted.judged.items()}
    everything: Counts = {column: responses.against(references) for column, responses in counted.whole.items()}
    for column in counts:
        if not counts[column].levels.size:
            notes.append(f"{column}: everything that counts is excluded, so that it is not scored")
        elif counts[column].constant:
            level = counts[column].levels[0]
            notes.append(f"{column}: the response is {level:g} everywhere, so that no threshold separates anything")
    kinds = dict(zip(references.names, references.kinds, strict=True))
    missing = dict.fromkeys(case.missing, _count_no_response(label.joint, references))
    return CaseResponses(label.joint, kinds, counts, everything, missing, tuple(notes))


Count = Callable[[Array, Array | None, tuple[float, float] | None], Responses]
"""Counts a probability map without an area, within limits."""


def _count_in_memory(label: LabelMarks) -> Count:
    # further columns are functions of the pattern, and leave the patterns in their order
    index = index_masks(label.marks | label.maps, label.base).index
    region = label.whole.reading.region
    inside = None if isinstance(region, str) else region

    def count(values: Array, area: Array | None, limits: tuple[float, float] | None) -> Responses:
        return count_indexed_responses(values, index, label.joint, region=inside, exclude=area, limits=limits)

    return count


def _count_by_tile(label: LabelMarks, reading: Reading) -> Count:
    """The same of masks and maps that are read by tile."""
    table, options = label.base, reading.case.options
    masks = {c: m for c, m in {**reading.masks, **reading.references}.items() if c in table.columns}
    numbers = np.arange(len(table.counts), dtype=np.int32)
    region = reading.region

    def count(values: Array, area: Array | None, limits: tuple[float, float] | None) -> Responses:
        def blocks() -> Iterator[tuple[Array, NDArray[np.int32]]]:
            settings: dict[str, Any] = {"void": options.void, "foreground": "any", "fill": -1, "out": _Tiled(values)}
            for where, (index,) in paint_tiles([numbers], masks, table, **settings):
                assert where is not None
                responses = load(values, where)
                patterns = np.broadcast_to(index, responses.shape)
                keep = patterns >= 0
                if not isinstance(region, str):
                    keep &= load(region, where) != 0
                if area is not None:
                    keep &= load(area, where) == 0
                yield responses[keep], patterns[keep]

        return count_response_blocks(blocks, np.dtype(values.dtype), label.joint, limits=limits)

    return count


class _Tiled:
    """Tiles that hold whole chunks of a map, and are read although masks are in memory."""

    def __init__(self, values: Array) -> None:
        self.shape, self.chunks = values.shape, chunk_shape(values)


def _count_no_response(joint: Tally, references: ReferenceStandards) -> ResponseCounts:
    positives = (references.positive @ joint.counts)[:, None]
    negatives = ((references.rated & ~references.positive) @ joint.counts)[:, None]
    level, share, by_share = np.array([-np.inf]), np.zeros(1), np.zeros((1, 1), np.int64)
    return ResponseCounts(references.names, level, positives, negatives, share, by_share)


def _limits(values: Array) -> tuple[float, float] | None:
    """Probabilities from 0 to 1 are rounded alike in every case, where there are too many of them."""
    shares = values.dtype.kind == "f" and are_shares(values)
    return (0.0, 1.0) if shares else None


def _prevalences(whole: CaseMarks) -> Iterator[float]:
    table = whole.reading.tally(judged=False).foreground()
    codes = table.patterns[:, table.raters]
    marked, rated = table.counts @ (codes == 1), table.counts @ (codes != VOID)
    return (float(m / n) for m, n in zip(marked, rated, strict=True) if n)


# -- over the study ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProbabilityScores:
    """Scores of probability maps."""

    skew: Skew
    kinds: Mapping[str, str]
    """Every reference standard, and what it is: ``rater``, ``reference`` (given, or a consensus), ``votes``."""
    counts: Mapping[Column, ResponseCounts]
    """Of all cases together."""
    region: str
    scores: Table
    curves: Table
    correlations: Table
    orders: ReferenceRankings | None
    """By the area under P̄-R of all cases together; None with a single algorithm."""
    notes: tuple[str, ...] = ()
    other_orders: Mapping[str, ReferenceRankings] = field(default_factory=dict)
    """By the other areas of all cases together."""

    @property
    def references(self) -> list[str]:
        """All reference standards but the levels of votes."""
        return [name for name, kind in self.kinds.items() if kind != "votes"]


def tabulate_probabilities(
    study: Study, cases: Mapping[str, PackedResponses], plan: EvaluatePlan, settings: Settings
) -> ProbabilityScores:
    """The tables of responses that were counted case by case."""
    skew, totals = plan.skew or _skew(cases), _Totals(plan.missing)
    for name, packed in cases.items():
        totals.add(study[name], packed.unpack(), skew)
    tallies = study.gathered(totals.tallies)
    region = region_of(tallies)
    counts = {a: totals.counts[a] for a in study.algorithms if a in totals.counts}
    pooled = {(a, *key): value for a, c in counts.items() for key, value in _areas(c, skew).items()}
    scores = Table("scores", ("algorithm", "against"))
    for reference in totals.kinds:
        scores.add(_case_rows(study, totals, tallies, reference, settings))
    for (a, reference, name), value in pooled.items():
        i = counts[a].references.index(reference)
        n = int(counts[a].positives[i].sum() + counts[a].negatives[i].sum())
        scores.append(Row("pooled", name, value, region=region, extra=(a.name, reference), n=n))
    curves = Table("curves", ("algorithm", "against", "threshold"), list(_curve_rows(counts, region, skew)))
    correlations = Table("correlations", ("algorithm",), list(_correlation_rows(study, totals, tallies)))
    references = [name for name, kind in totals.kinds.items() if kind != "votes"]
    orders = _orders(counts, pooled, references) if len(counts) > 1 else {}
    main, notes = orders.pop("pbar_area", None), tuple(_notes(study, totals))
    return ProbabilityScores(skew, totals.kinds, counts, region, scores, curves, correlations, main, notes, orders)


def _orders(
    counts: Mapping[Column, ResponseCounts], pooled: Mapping[tuple[Column, str, str], float], references: Sequence[str]
) -> dict[str, ReferenceRankings]:
    """Rankings by each area of all cases together."""
    names = [column.name for column in counts]
    same = equal_names({r: tuple(_content(c, r) for c in counts.values()) for r in references})
    orders = {}
    for metric in AREAS:
        values = np.array([[pooled[a, r, metric] for r in references] for a in counts], np.float64)
        orders[metric] = rank_by_reference(values, names, references, same)
    return orders


def _content(counts: ResponseCounts, reference: str) -> tuple[bytes, bytes]:
    """What an algorithm's scores against a reference standard depend on."""
    i = counts.references.index(reference)
    return counts.positives[i].tobytes(), counts.negatives[i].tobytes()


def _skew(cases: Mapping[str, PackedResponses]) -> Skew:
    """Around the prevalences that the raters of the study found."""
    shares = [share for packed in cases.values() for share in packed.prevalences]
    if len(shares) < 2:
        raise InputError("there are too few prevalences in the study for a range; give one, as --skew 0.1,0.5")
    low, high = prevalence_range(shares)
    if low == high == 0:
        raise InputError(
            "no rater marked anything in any case, so that curves have no prevalence to go by; correct the masks, or "
            "give a range, as --skew 0.1,0.5"
        )
    if low == high:
        raise CallError(f"every rater marked the same share, {low:g}: give a range, as --skew 0.1,0.5")
    return low, high


@dataclass
class _Totals:
    """Sums over cases: counts are added at once, since each may be large."""

    missing_as: Missing
    tallies: dict[str, Tally] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    """What curves are made of; a missing prediction detects nothing, or its case is left out for all."""
    judged: Counts = field(default_factory=dict)
    """What there is, without the area that an algorithm is not judged by."""
    whole: Counts = field(default_factory=dict)
    """What there is."""
    areas: dict[tuple[str, Column], dict[tuple[str, str], float]] = field(default_factory=dict)
    correlations: dict[tuple[str, Column], tuple[Correlation, Correlation]] = field(default_factory=dict)
    excluded: set[Column] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """What is to be known, and of which cases."""

    def add(self, case: Case, responses: CaseResponses, skew: Skew) -> None:
        """Add a case."""
        self.tallies[case.name] = responses.tally
        self.kinds |= responses.kinds
        self.excluded |= set(responses.whole)
        for column, counts in responses.counts.items():
            everything = responses.whole.get(column, counts)
            self.areas[case.name, column] = _areas(counts, skew)
            self.correlations[case.name, column] = _correlate(everything)
            self.judged[column] = self.judged.get(column, 0) + counts
            self.whole[column] = self.whole.get(column, 0) + everything
        for column, counts in responses.missing.items():
            # where nobody could have an area, its lack does not count
            worst = {key: v if np.isnan(v) else Undefined(NO_PREDICTION) for key, v in _areas(counts, skew).items()}
            self.areas[case.name, column] = worst
        if self.missing_as == "worst" or not responses.missing:
            for column, counts in (*responses.counts.items(), *responses.missing.items()):
                self.counts[column] = self.counts.get(column, 0) + counts
        for note in (*responses.notes, *_references_without_positives(responses)):
            self.notes.setdefault(note, []).append(case.name)


def _areas(counts: ResponseCounts, skew: Skew) -> dict[tuple[str, str], float]:
    """By reference standard and statistic, with the reason where it is undefined."""
    values = {"pbar_area": counts.pbar_areas(*skew), "pr_area": counts.pr_areas(), "roc_area": counts.roc_areas()}
    empty = [Undefined(NO_NEGATIVES if positives.any() else NO_POSITIVES) for positives in counts.positives]
    return {
        (reference, name): empty[i] if np.isnan(areas[i]) else float(areas[i])
        for name, areas in values.items()
        for i, reference in enumerate(counts.references)
    }


def _correlate(counts: ResponseCounts) -> tuple[Correlation, Correlation]:
    return correlation_in_object(counts), correlation_in_image(counts)


def _references_without_positives(responses: CaseResponses) -> Iterator[str]:
    """Reference standards under which nothing of a case is positive; one that is not there is no such."""
    for column in responses.tally.columns:
        codes = set(np.unique(responses.tally.patterns[:, responses.tally.position(column)]).tolist()) - {VOID}
        if codes == {0} and column.name in responses.kinds and column.role != "algorithm" and not column.session:
            yield f"{column} has nothing marked: areas are undefined, left out of means, and counted"


def _case_rows(study: Study, totals: _Totals, tallies: Tallies, reference: str, settings: Settings) -> list[Row]:
    series = []
    for name in AREAS:
        values = [[totals.areas[case, a][reference, name] for case in tallies] for a in study.algorithms]
        filled = fill_missing(name, values, totals.missing_as, [math.nan] * len(tallies))
        series += [
            Series(name, v, "", (a.name, reference), counted)
            for a, v, counted in zip(study.algorithms, values, filled, strict=True)
        ]
    return summarise(series, tallies, settings)


def _curve_rows(counts: Counts, region: str, skew: Skew) -> Iterator[Row]:
    for algorithm, responses in counts.items():
        for reference in responses.references:
            curve = responses.curve(reference).thinned(POINTS)
            columns = {"recall": curve.recall, "fall_out": curve.fall_out, "precision": curve.precision}
            columns["pbar"] = curve.pbar(*skew)
            for i, threshold in enumerate(curve.thresholds.tolist()):
                extra = (algorithm.name, reference, threshold)
                for name, values in columns.items():
                    value = Undefined("nothing_detected") if np.isnan(values[i]) else float(values[i])
                    yield Row("pooled", name, value, region=region, extra=extra)


def _correlation_rows(study: Study, totals: _Totals, tallies: Tallies) -> Iterator[Row]:
    """Over all pixels, as Lampert has them; beside them, without the area that an algorithm is not judged by."""
    for algorithm in study.algorithms:
        pairs = [
            ("case", case, tallies[case].region, totals.correlations[case, algorithm])
            for case in tallies
            if (case, algorithm) in totals.correlations
        ]
        pairs.append(("pooled", "", region_of(tallies), _correlate(totals.whole[algorithm])))
        if algorithm in totals.excluded:
            pairs.append(("pooled", "", EXCLUDED, _correlate(totals.judged[algorithm])))
        for scope, case, region, pair in pairs:
            for name, correlation in zip(("cco", "cci"), pair, strict=True):
                for statistic, value in ((name, correlation.r), (f"{name}_p_value", correlation.p)):
                    yield Row(scope, statistic, value, case, "", "", region, (algorithm.name,), n=correlation.n)


def _notes(study: Study, totals: _Totals) -> Iterator[str]:
    for note, cases in totals.notes.items():
        yield f"{note} ({few(cases, 3)})"
    for algorithm, counts in totals.judged.items():
        if counts.rounded:
            yield f"{algorithm}: more than 65,536 different responses; they were rounded to so many steps"
    if totals.excluded:
        names = ", ".join(str(c) for c in study.algorithms if c in totals.excluded)
        yield (
            f"{names}: areas leave out what was excluded, so that algorithms are compared on "
            "different pixels; correlations are over all pixels, and again without"
        )


# -- charts ------------------------------------------------------------------------------------------


def curve_charts(scores: ProbabilityScores) -> Iterator[tuple[str, str]]:
    """P̄-R curves as SVG by name: each algorithm by level of agreement, then under every reference standard, then all.

    These are Lampert's Figs. 12, 14 and 13; the last show all algorithms under one reference standard of each ranking.
    """
    algorithms = [c.name for c in scores.counts]
    levels = [name for name, kind in scores.kinds.items() if kind == "votes"]
    raters = [name for name, kind in scores.kinds.items() if kind == "rater"]
    for a in algorithms:
        keys = {f"≥ {name[7:]}": (a, name) for name in levels}
        yield f"levels-{safe_name(a)}", _chart(scores, keys, f"{a}: P̄-R as more raters must agree", ordered=True)
    for a in algorithms:
        keys = {name: (a, name) for name in scores.references}
        title = f"{a}: P̄-R under every reference standard"
        yield f"truths-{safe_name(a)}", _chart(scores, keys, title, faint=raters, faint_name="raters")
    for number, ranking in enumerate(scores.orders.rankings if scores.orders else (), start=1):
        reference, others = ranking.references[-1], len(ranking.references) - 1
        rest = f"and {others} more reference standards" if others else "alone"
        keys = {a: (a, reference) for a in ranking.order}
        yield f"ranking-{number}", _chart(scores, keys, f"Ranking {number}, under {reference} {rest}")


def _chart(scores: ProbabilityScores, keys: Mapping[str, tuple[str, str]], title: str, **options: Any) -> str:
    """The curves of some algorithms under some reference standards, by name, with their areas."""
    rows = scores.scores.all("pbar_area", "pooled")
    areas = {(r["algorithm"], r["against"]): "–" if math.isnan(r.value) else f"{r.value:.3f}" for r in rows}
    curves = {name: _points(scores, *key) for name, key in keys.items()}
    notes = {name: areas[key] for name, key in keys.items()}
    return line_chart(curves, "recall", "mean precision P̄", title, notes=notes, **options)


def _points(
    scores: ProbabilityScores, algorithm: str, reference: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Recall and P̄; between thresholds both rates grow in a straight line, which P̄ does not follow."""
    counts = next(counts for c, counts in scores.counts.items() if c.name == algorithm)
    curve = counts.curve(reference).thinned()
    steps = np.maximum(1, np.ceil(np.diff(curve.recall) / STEP))
    if not np.isfinite(steps).all():
        return np.full(1, np.nan), np.full(1, np.nan)
    at = np.concatenate([i + np.arange(n) / n for i, n in enumerate(steps)] + [[float(len(steps))]])
    recall, fall_out = (np.interp(at, np.arange(len(steps) + 1), rate) for rate in (curve.recall, curve.fall_out))
    drawn = recall > 0
    return recall[drawn], mean_precision(recall[drawn], fall_out[drawn], *scores.skew)
