"""Scores of masks over a study: algorithms against every rater and reference standard, and beside the raters.

**Beside the raters.** For every rater, the rater and the algorithm are scored against the same: the other raters, the
consensus of the others, or a given reference. The difference is taken case by case, so that an easy case is easy for
both. This describes; it gives no verdict, as the range of the raters' own means ends at the worst of them. Whether an
algorithm agrees with the raters as these do with each other is judged by ``interchangeability``.

**Rankings** under every reference standard go by the same means as those of ``rank``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from ...charts import rater_difference_chart
from ...core.columns import Column
from ...core.errors import InputError, LabelError
from ...core.labels import MACRO
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined, code
from ...evaluation.ranking.by_reference import ReferenceRankings, rank_by_reference
from ...evaluation.ranking.missing_scores import Board, make_boards
from ...evaluation.ranking.score_tables import PERFECT, gap_of
from ...evaluation.ranking.scores import (
    MISSING,
    PRESENT,
    Scores,
    best_value,
    describes_the_case,
    direction,
    is_distance,
)
from ...evaluation.ranking.standings import DIGITS
from ...inference.intervals import Interval, mean_intervals, subject_values
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...raters.broken_masks import pixel_name
from ...study import Case, Progress, Study
from ..agree.distances import default_tolerance, median_distances
from ..agree.references import SIZE_DIFFERENCE, SIZES, size_unit, size_units
from ..tables import Series, Settings, mean_rows, region_of, summarise
from .case_scores import (
    AGAINST_ALL,
    EVERYBODY,
    NAMES,
    NO_PREDICTION,
    Key,
    LabelCounts,
    Values,
    average,
    average_labels,
    count_labels,
    excluded_cases,
    fill_missing,
    in_order,
    rater_columns,
    score_label,
    worst_score,
)
from .marks import CaseMarks, EvaluatePlan, Missing

MEAN = Column("mean of raters", "reference")
"""Against each of the raters, on average."""
OTHERS = "raters"
"""What a rater is against in the human range: each of the other raters, on average."""
IN_SIZES = (SIZE_DIFFERENCE, "crps_volume", "curvas_crps")
"""What has the unit of a size."""
DRAWN = ("dice", "hausdorff_95", "mean_surface_distance", "surface_dice")
"""What is drawn beside the human range; all of it is in ``differences.csv``."""


@dataclass(frozen=True)
class LabelScores:
    """The scores of one label, or the macro mean of several, in every case."""

    label: str
    tallies: Tallies
    scores: Mapping[str, Mapping[Key, Values]]
    tolerance: float
    diagonals: Mapping[str, float]
    """Of each case's image: the largest possible distance."""
    half_width: float = math.nan
    """Half the width of what raters mark, in the median."""
    given: frozenset[Column] = frozenset()
    """Given references, against which raters are scored too."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    axes: int = 2
    """Of the images."""
    judged: tuple[Column, ...] = ()
    """Who is scored, where they are no columns of the tallies."""

    @cached_property
    def keys(self) -> list[Key]:
        """Who was scored against whom in any case."""
        return list(dict.fromkeys(key for by in self.scores.values() for key in by))

    @property
    def raters(self) -> list[Column]:
        """In natural order."""
        return sorted({c for t in self.tallies.values() for c in rater_columns(t)}, key=lambda c: c.order)

    @property
    def algorithms(self) -> list[Column]:
        """In natural order."""
        columns = self.judged or {c for t in self.tallies.values() for c in t.role("algorithm")}
        return sorted(columns, key=lambda c: c.order)

    @property
    def references(self) -> list[Column]:
        """Raters in natural order, then references and consensuses; those without one of the raters are not shown."""
        columns = dict.fromkeys(t for who, t in self.keys if who.role == "algorithm" and not t.left_out)
        raters = sorted([c for c in columns if c.role == "rater"], key=lambda c: c.order)
        if next(iter(self.tallies.values())).exchangeable:
            raters = []  # exchangeable raters are not identified
        return raters + [c for c in columns if c.role != "rater"]

    @property
    def unit(self) -> str:
        """What distances are in."""
        unknown = any(t.unit is None for t in self.tallies.values())
        return f"{pixel_name(self.axes)}s" if unknown else "mm"

    @property
    def tolerance_unit(self) -> str:
        """``mm``, ``pixels``, or ``pixel`` of one."""
        return self.unit.removesuffix("s") if self.tolerance == 1 else self.unit

    def title(self, text: str) -> str:
        """A text with the label before it, where there is one."""
        return f"{self.label}: {text}" if self.label else text

    def statistics(self, key: Key) -> Sequence[str]:
        """The statistics of one column against another."""
        return in_order(name for by in self.scores.values() for name in by.get(key, ()))

    def statistics_against(self, reference: Column) -> Sequence[str]:
        """The statistics of any algorithm against a reference standard, or against the mean of raters."""
        algorithms = [key for key in self.keys if key[0].role == "algorithm"]
        chosen = [key for key in algorithms if (key[1].role == "rater" if reference == MEAN else key[1] == reference)]
        return in_order(name for key in chosen for name in self.statistics(key))

    def series(self, who: Column, whom: Column, statistic: str) -> list[float]:
        """A statistic by case."""
        nothing = Undefined("not_in_case")
        return [self.scores[c].get((who, whom), {}).get(statistic, nothing) for c in self.tallies]

    def case_values(self, algorithm: Column, reference: Column, statistic: str) -> list[float]:
        """An algorithm's values of a statistic, case by case."""
        if reference != MEAN:
            return self.series(algorithm, reference, statistic)
        means = []
        for case in self.tallies:
            scores = [v for (a, b), v in self.scores[case].items() if a == algorithm and b.role == "rater"]
            values = [v[statistic] for v in scores if statistic in v]
            means.append(average(values, statistic, self.diagonals[case]))
        return means

    def is_own_mask(self, rater: Column, reference: Column) -> bool:
        """Whether a given reference is the rater's mask wherever either marks anything."""
        values = self.series(rater, reference, "dice") if reference in self.given else []
        return any(v == 1 for v in values) and all(v == 1 or math.isnan(v) for v in values)

    def fill_missing(self, statistic: str, values: Sequence[Sequence[float]], missing: Missing) -> list[list[float]]:
        """(algorithms, cases) values as they go into means."""
        return fill_missing(statistic, values, missing, [self.diagonals[case] for case in self.tallies])

    @cached_property
    def _references_by_case(self) -> dict[tuple[str, Column], list[Column]]:
        """What every rater and algorithm is scored against in every case."""
        references: dict[tuple[str, Column], list[Column]] = {}
        for case, by in self.scores.items():
            for who, reference in by:
                references.setdefault((case, who), []).append(reference)
        return references

    def mean_score(self, case: str, who: Column, kind: str, statistic: str, without: str) -> float:
        """The score of a rater or an algorithm against the other raters, their consensus or a given reference.

        ``without`` is the rater who is left out; missing predictions get the worst score.
        """
        references: Iterable[Column] = self._references_by_case.get((case, who), ())
        if kind == OTHERS:
            references = [r for r in references if r.role == "rater" and r.name != without]
        else:
            all_raters = EVERYBODY if who.role == "rater" else None
            named = [r for r in references if r.name == kind]
            references = [r for r in named if r in self.given or r == all_raters or r.left_out == without]
        scores, diagonal = self.scores[case], self.diagonals[case]
        values = [scores[who, r][statistic] for r in references if statistic in scores[who, r]]
        value = average(values, statistic, diagonal)
        is_missing = who.role == "algorithm" and code(value) == NO_PREDICTION
        return worst_score(statistic, diagonal) if is_missing else value


@dataclass(frozen=True)
class MaskScores:
    """Scores of masks, with the human range."""

    parts: tuple[LabelScores, ...]
    """The one label, or the macro mean of several and then each."""
    scores: Table
    human: Table
    beside_raters: Table
    differences: Table
    ranges: Mapping[tuple[str, str, str], HumanRange]
    """By label, what they are against, and statistic."""


def tabulate_masks(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], plan: EvaluatePlan, settings: Settings
) -> MaskScores:
    """The tables of masks that were counted case by case."""
    parts, missing = score_labels(study, cases, plan.tolerance), plan.missing
    scores, human = Table("scores", ("algorithm", "against")), Table("human", ("rater", "against"))
    beside = Table("beside_raters", ("algorithm", "against", "human_low", "human_high"))
    ranges: dict[tuple[str, str, str], HumanRange] = {}
    for part in parts:
        for reference in [*part.references, MEAN]:
            scores.add(with_units(part, score_rows(part, reference, missing, settings)))
        raters = [] if study.options.exchangeable else part.raters
        human.add(with_units(part, summarise(list(_human_series(part, raters)), part.tallies, settings)))
        beside.add(with_units(part, _beside_rows(part, raters, missing, settings, ranges)))
    differences = Table("differences", ("algorithm", "rater", "against"))
    units = {part.label: part for part in parts}
    for row in _difference_rows(ranges, region_of(parts[0].tallies)):
        differences.add(with_units(units[row.label], [row]))
    return MaskScores(parts, scores, human, beside, differences, ranges)


def with_units(part: LabelScores, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with the unit of distances, of differences of size and of scores of sizes."""
    items = {case: size_unit(t, pixel_name(part.axes)) for case, t in part.tallies.items()}
    of_all = size_units(part.tallies.values(), pixel_name(part.axes))
    for row in rows:
        if is_distance(row.statistic):
            row.unit = part.unit
        elif row.statistic in IN_SIZES:
            row.unit = items[row.case] if row.scope == "case" else of_all
            if not row.unit:
                row.value, row.low, row.high = Undefined("mixed_units"), None, None
        yield row


def score_masks(
    study: Study, plan: EvaluatePlan, *, jobs: int = 1, progress: Progress | None = None
) -> tuple[LabelScores, ...]:  # fmt: skip
    """Read every case, and score its masks; nothing is averaged."""
    work = partial(_count_case, plan=plan)
    cases = {case.name: counts for case, counts in study.map(work, jobs=jobs, progress=progress)}
    return score_labels(study, cases, plan.tolerance)


def _count_case(case: Case, plan: EvaluatePlan) -> dict[str, LabelCounts]:
    return count_labels(CaseMarks.of(case.read(), plan))


def score_labels(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], tolerance: float | None = None
) -> tuple[LabelScores, ...]:
    """The scores of all cases: of the one label or, where there are several, their macro mean, then each label."""
    study.gathered({case: labels[""].raters for case, labels in cases.items()})  # refuses one's 1 beside another's 255
    if study.options.labels is None:
        _refuse_classes(cases)
    named = list(dict.fromkeys(label for labels in cases.values() for label in labels if label))
    if len(named) < 2:
        return (_score_label(study, cases, "", tolerance),)
    parts = tuple(_score_label(study, cases, label, tolerance) for label in named)
    return (_macro_scores(study, cases, parts), *parts)


def _macro_scores(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], parts: Sequence[LabelScores]
) -> LabelScores:
    """The mean over labels in every case: uniting labels would call the wrong label right."""
    tallies = study.gathered({case: labels[""].tally for case, labels in cases.items()})
    diagonals = {case: labels[""].diagonal for case, labels in cases.items()}
    scores = {
        case: mean_over_labels([p.scores[case] for p in parts if case in p.scores], diagonals[case]) for case in cases
    }
    return LabelScores(MACRO, tallies, scores, math.nan, diagonals, given=parts[0].given, axes=parts[0].axes)


def mean_over_labels(by_label: Sequence[Mapping[Key, Values]], diagonal: float) -> dict[Key, Values]:
    keys = dict.fromkeys(key for scores in by_label for key in scores)
    found = {key: [scores[key] for scores in by_label if key in scores] for key in keys}
    return {
        key: {
            name: average_labels([values[name] for values in each if name in values], name, diagonal)
            for name in dict.fromkeys(name for values in each for name in values)
            if name not in SIZES  # of several labels, a mean size is nobody's
        }
        for key, each in found.items()
    }


def _refuse_classes(cases: Mapping[str, Mapping[str, LabelCounts]]) -> None:
    """Refuse labels that only predictions have where all raters marked one: a second class would count as the first."""
    tables = [labels[""].raters for labels in cases.values()]
    marked = {t.labels.names[k] for t in tables for k in set(np.unique(t.patterns).tolist()) & set(t.labels.marks)}
    others = [
        (case, label, who)
        for case, labels in cases.items()
        for label, counts in labels.items()
        for who in counts.tally.role("algorithm")
        if label and label not in marked and _count_marked(counts.tally, who)
    ]
    if len(marked) == 1 and others:
        case, label, who = others[0]
        raise LabelError(
            f"case {case}: {who} marks {label}, while every rater marks {marked.pop()} alone; declare the labels "
            "(--labels), unite them (--foreground any), or say --probability if the prediction is a probability map"
        )


def _count_marked(table: Tally, column: Column) -> int:
    return int(table.counts[table.patterns[:, table.position(column)] == 1].sum())


def _score_label(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], label: str, tolerance: float | None
) -> LabelScores:
    here = {case: labels[label] for case, labels in cases.items() if label in labels}
    half_width = _half_width(here.values())
    within = _tolerance(list(here.values()), half_width) if tolerance is None else tolerance
    tallies = study.gathered({case: counts.tally for case, counts in here.items()})
    scores = {case: score_label(counts, within) for case, counts in here.items()}
    diagonals = {case: counts.diagonal for case, counts in here.items()}
    given = frozenset(column for case in study for column in case.references)
    notes = {case: counts.notes for case, counts in here.items() if counts.notes}
    axes = max(counts.axes for counts in here.values())
    return LabelScores(label, tallies, scores, within, diagonals, half_width, given, notes, axes)


def _tolerance(cases: Sequence[LabelCounts], half_width: float) -> float:
    pairs = (d for counts in cases for (a, b), d in counts.distances.items() if a.role == b.role == "rater")
    return default_tolerance(median_distances(pairs), half_width, [counts.pixel for counts in cases])


def _half_width(cases: Iterable[LabelCounts]) -> float:
    """The median, over cases and raters, of volume / surface: half the width of a line or sheet, less of others."""
    widths = []
    for counts in cases:
        pixel = counts.tally.unit.size if counts.tally.unit else 1.0
        for (a, b), distances in counts.distances.items():
            if a.role == b.role == "rater" and not distances.undefined:
                widths.append(_count_marked(counts.tally, a) * pixel / distances.a_to_b.size)
    return float(np.median(widths)) if widths else math.nan


def score_rows(part: LabelScores, reference: Column, missing: Missing, settings: Settings) -> list[Row]:
    """Case by case as scored; means over subjects with missing scores filled in, or excluded for all."""
    series, algorithms = [], part.algorithms
    for name in part.statistics_against(reference):
        values = [part.case_values(a, reference, name) for a in algorithms]
        series += [
            Series(name, v, part.label, (a.name, reference.name), counted)
            for a, v, counted in zip(algorithms, values, part.fill_missing(name, values, missing), strict=True)
        ]
    return summarise(series, part.tallies, settings)


# -- the human range ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class HumanRange:
    """One statistic: every rater's mean, and by how much each algorithm is better than each rater."""

    statistic: str
    against: str
    raters: Mapping[str, float]
    """Each rater's mean over subjects, against the others."""
    differences: Mapping[str, Mapping[str, Interval]]
    """By algorithm and rater, over subjects: above 0 where the algorithm is better."""

    @property
    def low(self) -> float:
        """The smallest of the raters' means."""
        return min(self._defined, default=Undefined("undefined_for_every_rater"))

    @property
    def high(self) -> float:
        """The largest."""
        return max(self._defined, default=Undefined("undefined_for_every_rater"))

    @property
    def _defined(self) -> list[float]:
        return [v for v in self.raters.values() if not math.isnan(v)]


def find_human_range(
    part: LabelScores, raters: Sequence[Column], against: str, statistic: str, settings: Settings, excluded: list[int]
) -> HumanRange:
    """Compare raters and algorithms against the same, without the cases, by position, that are excluded."""
    cases, tallies = list(part.tallies), part.tallies
    own = [[part.mean_score(c, r, against, statistic, r.name) for r in raters] for c in cases]
    scores = np.array(own, np.float64)
    scores[excluded] = np.nan
    sign = 1 if direction(statistic) == "higher" else -1
    means = mean_intervals(subject_values(tallies, scores))
    differences = {}
    for algorithm in part.algorithms:
        theirs = [[part.mean_score(c, algorithm, against, statistic, r.name) for r in raters] for c in cases]
        pairs = [zip(*scores_of_case, strict=True) for scores_of_case in zip(theirs, own, strict=True)]
        better = np.array([[_difference(*pair, statistic) for pair in of_case] for of_case in pairs])
        better[excluded] = np.nan
        by_subject = subject_values(tallies, better * sign)
        intervals = mean_intervals(by_subject, level=settings.level)
        differences[algorithm.name] = {r.name: d for r, d in zip(raters, intervals, strict=True)}
    return HumanRange(statistic, against, {r.name: m.value for r, m in zip(raters, means, strict=True)}, differences)


def _difference(algorithm: float, rater: float, statistic: str) -> float:
    """An algorithm minus a rater. An empty mask against an empty reference scores best; undefined where both do."""
    pair = (algorithm, rater)
    perfect = [code(value) in PERFECT for value in pair]
    top = best_value(statistic)
    if all(perfect) or top is None:
        return math.nan if any(perfect) else pair[0] - pair[1]
    first, second = (top if best else value for value, best in zip(pair, perfect, strict=True))
    return first - second


def _human_series(part: LabelScores, raters: Sequence[Column]) -> Iterator[Series]:
    """Each rater against every other, against the consensus of the others, and against given references."""
    for rater, reference in part.keys:
        plain = reference.role == "rater" or reference in part.given
        if rater in raters and (plain or reference.left_out or reference == EVERYBODY):
            against = reference.name if plain else f"{reference.name} of the others"
            for name in part.statistics((rater, reference)):
                yield Series(name, part.series(rater, reference, name), part.label, (rater.name, against))


def _beside_rows(
    part: LabelScores, raters: Sequence[Column], missing: Missing, settings: Settings,
    ranges: dict[tuple[str, str, str], HumanRange],
) -> Iterator[Row]:  # fmt: skip
    """Each algorithm's mean beside the lowest and the highest of the raters' own."""
    algorithms = part.algorithms
    for against in _bases(part) if raters else ():
        reference = next((r for r in part.references if r.name == against), MEAN)
        for name in part.statistics_against(reference):
            if describes_the_case(name):
                continue
            values = [_beside_values(part, a, reference, against, name, raters) for a in algorithms]
            judged = [r for r in raters if not part.is_own_mask(r, reference)]
            human = find_human_range(part, judged, against, name, settings, excluded_cases(values, missing))
            ranges[part.label, against, name] = human
            ends = [None if np.isnan(end) else end for end in (human.low, human.high)]
            filled = zip(algorithms, part.fill_missing(name, values, missing), strict=True)
            series = [Series(name, v, part.label, (a.name,)) for a, v in filled]
            for row in mean_rows(series, part.tallies, list(part.tallies), "", settings):
                if row.scope == "mean":
                    row.extra = (row.extra[0], against, *ends)
                    yield row


def _beside_values(
    part: LabelScores, algorithm: Column, reference: Column, against: str, statistic: str, raters: Sequence[Column]
) -> list[float]:
    """An algorithm's values by case, scored as raters are: against the consensus without each of them, on average."""
    whole = part.case_values(algorithm, reference, statistic)
    if against == OTHERS or reference in part.given:
        return whole
    values = []
    for case, value in zip(part.tallies, whole, strict=True):
        if code(value) == NO_PREDICTION:
            values.append(value)
            continue
        scores = [part.mean_score(case, algorithm, against, statistic, r.name) for r in raters]
        known = [v for v in scores if code(v) != AGAINST_ALL]
        values.append(average(known, statistic, part.diagonals[case]) if known else Undefined(AGAINST_ALL))
    return values


def _bases(part: LabelScores) -> list[str]:
    """What raters are scored against: the others, their consensus, given references."""
    keys = [(who, whom) for who, whom in part.keys if who.role == "rater"]
    bases = [OTHERS] if any(whom.role == "rater" for _, whom in keys) else []
    references = [whom for _, whom in keys if whom.role != "rater"]
    bases += [r.name for r in references if r in part.given or r == EVERYBODY or r.left_out]
    return list(dict.fromkeys(bases))


def _difference_rows(ranges: Mapping[tuple[str, str, str], HumanRange], region: str) -> Iterator[Row]:
    """By how much each algorithm is better than each rater, both scored against the same."""
    for (label, against, statistic), human in ranges.items():
        for algorithm, by in human.differences.items():
            for rater, d in by.items():
                extra = algorithm, rater, against
                yield Row("mean", statistic, d.value, "", "", label, region, extra, d.low, d.high, d.n)


def human_range_charts(masks: MaskScores) -> Iterator[tuple[str, str]]:
    """SVG by name: how far each algorithm is better or worse than each rater, both judged by the other raters."""
    for part in masks.parts:
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        for statistic in DRAWN:
            human = masks.ranges.get((part.label, OTHERS, statistic))
            if human is None or not human.raters:
                continue
            ends = {a: {r: (d.value, d.low, d.high) for r, d in by.items()} for a, by in human.differences.items()}
            unit = f", {part.unit}" if is_distance(statistic) else ""
            title = part.title(f"{NAMES[statistic]}: algorithms against each rater, both judged by the other raters")
            order = "algorithm − rater" if direction(statistic) == "higher" else "rater − algorithm"
            label = f"difference in {NAMES[statistic]}{unit} ({order})"
            yield f"human-{statistic}{suffix}", rater_difference_chart(ends, label, title)


# -- rankings ----------------------------------------------------------------------------------------


def rank_labels(parts: Sequence[LabelScores], missing: Missing) -> dict[tuple[str, str], ReferenceRankings]:
    """Rankings by label and metric. A case without anything to find counts as the best where nothing was found."""
    orders: dict[tuple[str, str], ReferenceRankings] = {}
    for part in parts:
        scores, boards = scores_of(part), list[Board]()
        for metric in scores.metrics if len(scores.algorithms) > 1 else ():
            with suppress(InputError):  # nobody has a score, or no case has all of them
                boards += make_boards(scores, [metric], missing)
        by_metric: dict[str, list[Board]] = {}
        for board in boards:
            by_metric.setdefault(board.metric, []).append(board)
        same = scores.same_references() if boards else ()
        for metric, of_metric in by_metric.items():
            # what differs by rounding alone is tied
            means = [np.round(board.means if board.higher else -board.means, DIGITS) for board in of_metric]
            references = [board.truth for board in of_metric]
            orders[part.label, metric] = rank_by_reference(np.stack(means, axis=1), scores.algorithms, references, same)
    return orders


def scores_of(part: LabelScores) -> Scores:
    """The scores of a label as ``rank`` reads them: against raters and references, but not against their mean."""
    algorithms, references = part.algorithms, part.references
    statistics = {(a, r): part.statistics((a, r)) for a in algorithms for r in references}
    metrics = [n for n in dict.fromkeys(n for names in statistics.values() for n in names) if not describes_the_case(n)]
    shape = len(algorithms), len(part.tallies), len(references), len(metrics)
    values, gaps = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8)
    for i, algorithm in enumerate(algorithms):
        for k, reference in enumerate(references):
            for m, metric in enumerate(metrics):
                if metric in statistics[algorithm, reference]:
                    series = part.series(algorithm, reference, metric)
                    values[i, :, k, m] = series
                    gaps[i, :, k, m] = [gap_of(code(v)) if code(v) else PRESENT for v in series]
    cases = tuple(part.tallies)
    return Scores(
        tuple(a.name for a in algorithms), cases, tuple(part.tallies.subjects[c] for c in cases),
        tuple(r.name for r in references), tuple(metrics), values, gaps,
        diagonals=tuple(part.diagonals[c] for c in cases),
    )  # fmt: skip
