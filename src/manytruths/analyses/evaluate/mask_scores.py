"""Scores of masks over a study: algorithms against every rater and reference standard, beside the raters themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ...core.columns import Column
from ...core.errors import LabelError
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined
from ...evaluation.ranking.scores import describes_the_case
from ...shape import rater_tolerance
from ...study import Case, Progress, Study
from ..rows import Row, Table
from ..summaries import Series, Settings, mean_rows, region_of, summarise
from .case_scores import EVERYBODY, Key, LabelCounts, Values, count_labels, in_order, score_label
from .human_range import Bench, HumanRange, human_range
from .marks import CaseMarks, EvaluatePlan
from .missing_scores import Missing, average, excluded_cases, fill_missing

MEAN = Column("mean of raters", "reference")
"""Against each of the raters, on average."""


@dataclass(frozen=True)
class LabelScores:
    """The scores of one label, or of all together, in every case."""

    label: str
    tallies: Tallies
    scores: Mapping[str, Mapping[Key, Values]]
    tolerance: float
    diagonals: Mapping[str, float]
    """Of each case's image: the largest possible distance."""
    radius: float = math.nan
    """Half the thickness of what raters mark, in the median."""
    given: frozenset[Column] = frozenset()
    """Given references, against which raters are scored too."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def bench(self) -> Bench:
        """What raters and algorithms are scored against together."""
        return Bench(self.tallies, self.scores, self.diagonals, self.given)

    def fill_missing(self, statistic: str, values: Sequence[Sequence[float]], missing: Missing) -> list[list[float]]:
        """(algorithms, cases) values as they go into means."""
        return fill_missing(statistic, values, missing, [self.diagonals[case] for case in self.tallies])

    def series(self, who: Column, whom: Column, statistic: str) -> list[float]:
        """A statistic by case."""
        nothing = Undefined("not_in_case")
        return [self.scores[c].get((who, whom), {}).get(statistic, nothing) for c in self.tallies]

    @property
    def keys(self) -> list[Key]:
        """Who was scored against whom in any case."""
        return list(dict.fromkeys(key for by in self.scores.values() for key in by))

    def statistics(self, key: Key) -> Sequence[str]:
        """The statistics of one column against another."""
        return in_order(name for by in self.scores.values() for name in by.get(key, ()))


@dataclass(frozen=True)
class MaskScores:
    """Scores of masks, with the human range."""

    parts: tuple[LabelScores, ...]
    """All labels together first, then each."""
    scores: Table
    human: Table
    verdicts: Table
    differences: Table
    ranges: Mapping[tuple[str, str, str], HumanRange]
    """By label, what they are against, and statistic."""
    notes: tuple[str, ...] = ()


def tabulate_masks(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], plan: EvaluatePlan, settings: Settings
) -> MaskScores:
    """The tables of masks that were counted case by case."""
    parts, missing = score_labels(study, cases, plan.tolerance), plan.missing
    scores, human, verdicts = _scores(parts, missing, settings), Table("human", ("rater", "against")), _verdict_table()
    ranges: dict[tuple[str, str, str], HumanRange] = {}
    for part in parts:
        columns = [] if study.options.exchangeable else _raters(part)
        human.add(summarise(list(_human_series(part, columns)), part.tallies, settings))
        verdicts.add(_verdicts(part, columns, missing, settings, ranges))
    differences = Table("differences", ("algorithm", "rater", "against"))
    differences.add(_difference_rows(ranges, region_of(parts[0].tallies)))
    return MaskScores(parts, scores, human, verdicts, differences, ranges)


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
    """The scores of all cases, label by label."""
    study.gathered({case: labels[""].raters for case, labels in cases.items()})  # refuses one's 1 beside another's 255
    if study.options.labels is None:
        _refuse_classes(cases)
    return tuple(_score_label(study, cases, label, tolerance) for label in _labels(cases))


def _refuse_classes(cases: Mapping[str, Mapping[str, LabelCounts]]) -> None:
    """Refuse labels that only predictions have where all raters marked one: a second class would count as the first."""
    tables = [labels[""].raters for labels in cases.values()]
    marked = {t.labels.names[k] for t in tables for k in set(np.unique(t.patterns).tolist()) & set(t.labels.marks)}
    others = [
        (case, label, who)
        for case, labels in cases.items()
        for label, counts in labels.items()
        for who in counts.tally.role("algorithm")
        if label and label not in marked and _marks(counts.tally, who)
    ]
    if len(marked) == 1 and others:
        case, label, who = others[0]
        raise LabelError(
            f"case {case}: {who} marks {label}, while every rater marks {marked.pop()} alone; declare the labels "
            "(--labels), unite them (--foreground any), or say --probability if the prediction is a probability map"
        )


def _marks(table: Tally, column: Column) -> bool:
    return bool((table.patterns[:, table.position(column)] == 1).any())


def _labels(cases: Mapping[str, Mapping[str, LabelCounts]]) -> list[str]:
    """All labels together, then, where there are several, each; without background, only each."""
    named = list(dict.fromkeys(label for labels in cases.values() for label in labels if label))
    if len(named) < 2:
        return [""]
    return ["", *named] if any(_has_background(labels[""].tally) for labels in cases.values()) else named


def _has_background(table: Tally) -> bool:
    return bool((table.patterns[:, table.raters] == 0).any())


def _score_label(
    study: Study, cases: Mapping[str, Mapping[str, LabelCounts]], label: str, tolerance: float | None
) -> LabelScores:
    here = {case: labels[label] for case, labels in cases.items() if label in labels}
    if tolerance is None:
        tolerance = _tolerance(here.values())
    tallies = study.gathered({case: j.tally for case, j in here.items()})
    scores = {case: score_label(j, tolerance) for case, j in here.items()}
    given = frozenset(column for case in study for column in case.references)
    diagonals = {case: j.diagonal for case, j in here.items()}
    notes = {case: j.notes for case, j in here.items() if j.notes}
    return LabelScores(label, tallies, scores, tolerance, diagonals, _radius(here.values()), given, notes)


def _tolerance(cases: Iterable[LabelCounts]) -> float:
    """The median, over cases and pairs of raters, of the distance within which 95% of their outlines lie.

    The percentile of all distances together would be that of the one rater who marks something else.
    """
    pairs = [d for j in cases for (a, b), d in j.distances.items() if a.role == b.role == "rater"]
    each = [rater_tolerance([d]) for d in pairs]
    defined = [t for t in each if not np.isnan(t)]
    return float(np.median(defined)) if defined else Undefined("no_two_raters_marked")


def _radius(cases: Iterable[LabelCounts]) -> float:
    """The median, over cases and raters, of axes × volume / surface: the radius of a ball, the width of a thin line."""
    radii = []
    for judged in cases:
        table, item = judged.tally, judged.tally.unit.size if judged.tally.unit else 1.0
        for (a, b), apart in judged.distances.items():
            if a.role == b.role == "rater" and not apart.undefined:
                items = int(table.counts[table.patterns[:, table.position(a)] == 1].sum())
                radii.append(judged.axes * items * item / apart.a_to_b.size)
    return float(np.median(radii)) if radii else math.nan


def _raters(part: LabelScores) -> list[Column]:
    return sorted({t.columns[i] for t in part.tallies.values() for i in t.raters}, key=lambda c: c.order)


def algorithms_of(part: LabelScores) -> list[Column]:
    """In natural order."""
    return sorted({c for t in part.tallies.values() for c in t.role("algorithm")}, key=lambda c: c.order)


def references_of(part: LabelScores) -> list[Column]:
    """Raters in natural order, then references and consensuses; those without one of the raters are not shown."""
    met = dict.fromkeys(t for who, t in part.keys if who.role == "algorithm" and not t.left_out)
    slots = next(iter(part.tallies.values())).exchangeable  # exchangeable raters are not identified
    raters = [] if slots else sorted([t for t in met if t.role == "rater"], key=lambda c: c.order)
    return raters + [t for t in met if t.role != "rater"]


def _scores(parts: Sequence[LabelScores], missing: Missing, settings: Settings) -> Table:
    """Case by case as scored; means over subjects with missing scores filled in, or excluded for all."""
    table = Table("scores", ("algorithm", "against"))
    for part in parts:
        for truth in [*references_of(part), MEAN]:
            table.add(_against(part, truth, missing, settings))
    return table


def _against(part: LabelScores, truth: Column, missing: Missing, settings: Settings) -> list[Row]:
    algorithms = algorithms_of(part)
    names = in_order(n for who, whom in part.keys if _counts(who, whom, truth) for n in part.statistics((who, whom)))
    series = []
    for name in names:
        values = [case_values(part, a, truth, name) for a in algorithms]
        series += [
            Series(name, v, part.label, (a.name, truth.name), counted)
            for a, v, counted in zip(algorithms, values, part.fill_missing(name, values, missing), strict=True)
        ]
    return summarise(series, part.tallies, settings)


def _counts(who: Column, whom: Column, truth: Column) -> bool:
    return who.role == "algorithm" and (whom.role == "rater" if truth == MEAN else whom == truth)


def case_values(part: LabelScores, algorithm: Column, truth: Column, statistic: str) -> list[float]:
    """An algorithm's values of a statistic, case by case."""
    if truth != MEAN:
        return part.series(algorithm, truth, statistic)
    means = []
    for case in part.tallies:
        own = [v for (a, b), v in part.scores[case].items() if a == algorithm and b.role == "rater"]
        values = [v[statistic] for v in own if statistic in v]
        means.append(average(values, statistic, part.diagonals[case]))
    return means


def _human_series(part: LabelScores, raters: Sequence[Column]) -> Iterator[Series]:
    """Each rater against every other, against the consensus of the others, and against given references."""
    for key in part.keys:
        own = key[1].role == "rater" or key[1].left_out or key[1] == EVERYBODY or key[1] in part.given
        if key[0] in raters and own:
            for name in part.statistics(key):
                values = part.series(*key, name)
                plain = key[1].role == "rater" or key[1] in part.given
                against = key[1].name if plain else f"{key[1].name} of the others"
                yield Series(name, values, part.label, (key[0].name, against))


def _verdict_table() -> Table:
    return Table("verdicts", ("algorithm", "against", "human_low", "human_high", "verdict", "certain"))


def _verdicts(
    part: LabelScores, raters: Sequence[Column], missing: Missing, settings: Settings,
    ranges: dict[tuple[str, str, str], HumanRange],
) -> Iterator[Row]:  # fmt: skip
    """Each algorithm's mean beside those of the raters, and whether it lies among them."""
    bench, algorithms = part.bench, algorithms_of(part)
    for kind in bench.kinds() if raters else ():
        truth = next((t for t in references_of(part) if t.name == kind), MEAN)
        for name in in_order(n for a in algorithms for n in _statistics_against(part, a, truth)):
            if describes_the_case(name):
                continue
            values = [case_values(part, a, truth, name) for a in algorithms]
            human = human_range(bench, raters, algorithms, kind, name, settings, excluded_cases(values, missing))
            ranges[part.label, kind, name] = human
            yield from _verdict_rows(part, algorithms, part.fill_missing(name, values, missing), human, settings)


def _statistics_against(part: LabelScores, algorithm: Column, truth: Column) -> Sequence[str]:
    return in_order(n for a, b in part.keys if _counts(a, b, truth) and a == algorithm for n in part.statistics((a, b)))


def _verdict_rows(
    part: LabelScores,
    algorithms: Sequence[Column],
    values: Sequence[Sequence[float]],
    human: HumanRange,
    settings: Settings,
) -> Iterator[Row]:
    series = [Series(human.statistic, v, part.label, (a.name,)) for a, v in zip(algorithms, values, strict=True)]
    rows = mean_rows(series, part.tallies, list(part.tallies), "", settings)
    for algorithm, row in zip(algorithms, (r for r in rows if r.scope == "mean"), strict=True):
        name = algorithm.name
        certain = {True: "yes", False: "no", None: ""}[human.certain(name)]
        ends = [None if np.isnan(end) else end for end in (human.low, human.high)]
        row.extra = (name, human.against, *ends, human.verdict(name), certain)
        yield row


def _difference_rows(ranges: Mapping[tuple[str, str, str], HumanRange], region: str) -> Iterator[Row]:
    """By how much each algorithm is better than each rater, both scored against the same."""
    for (label, against, statistic), human in ranges.items():
        for algorithm, by in human.differences.items():
            for rater, d in by.items():
                row = Row("mean", statistic, d.value, label=label, region=region, extra=(algorithm, rater, against))
                row.low, row.high, row.n = d.low, d.high, d.n
                yield row
