"""What ``evaluate`` does with one case: one table of raters, predictions and truths a label, and distances.

Every number about a case's predictions and raters, from what was counted and measured of it.

The verb ``evaluate`` on masks: algorithms against every rater and every truth, beside the human range.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations

import numpy as np

from ...core.columns import Column
from ...core.errors import LabelError, ManytruthsError
from ...core.pooling import Tallies
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.consensus_columns import PatternEstimate, append_estimates, estimate_all
from ...evaluation.extended_dice import extended_dice_counts
from ...evaluation.overlap import OVERLAPS, overlaps
from ...evaluation.ranking.scores import describes_the_case
from ...fusion import balanced_accuracy, gordon_f, soft_accuracy
from ...fusion.result import first_readings
from ...shape import Surface, SurfaceDistances, rater_tolerance, surface, surface_distances
from ...shape.surface_summaries import undefined
from ...study import Case, Progress, Study
from ...study.consensus import binary_mask
from ..rows import Row, Table
from ..summaries import Series, Settings, mean_rows, region_of, summarise
from .case import Array, EvaluatePlan, Scene, consensus_notes, counted, decided, spatial
from .human_range import Bench, HumanRange, human_range
from .missing_scores import NO_PREDICTION, Missing, average, filled, left_out

Pair = tuple[Column, Column]

SOFT = {"soft_accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures against a probability."""

NOT_THERE = SurfaceDistances(*[undefined("one_absent")] * 2)
UNKNOWN = "nothing_true_or_false"


@dataclass(frozen=True)
class Judged:
    """One label of one case."""

    tally: Tally
    """Raters, algorithms, given truths, those made of the raters, and those made of all but one of them."""
    distances: Mapping[Pair, SurfaceDistances]
    soft: Mapping[tuple[Column, Column, str], float]
    """By who is judged, the truth, and the statistic."""
    absent: frozenset[Column]
    """Who is not there in this case."""
    raters: Tally
    """The raters, with labels as they are."""
    diagonal: float
    """Of the image, in mm or pixels."""
    axes: int
    notes: tuple[str, ...] = ()


def evaluate_case(case: Case, plan: EvaluatePlan) -> dict[str, Judged]:
    """Everything about a case, by label; ``""`` is all labels but background together."""
    scene = Scene.of(case.read(), plan.threshold)
    together, labels = _judged(scene, None, plan), scene.table.labels
    if case.options.grey or case.options.foreground:
        return {"": together}
    named = [(labels.names[m], labels.values[m]) for m in labels.marks]
    if len(named) == 1 and _only(named[0][1], scene):
        return {"": together, named[0][0]: together}
    return {"": together, **{name: _judged(scene, value, plan) for name, value in named}}


def _only(value: int, scene: Scene) -> bool:
    """Whether given truths, too, mark with this value alone."""
    known = [0, value, scene.reading.case.options.void or 0]
    return all(np.isin(array, known).all() for array in scene.references.values())


def _judged(scene: Scene, value: int | None, plan: EvaluatePlan) -> Judged:
    case = scene.reading.case
    marks = {c: binary_mask(a, value, case.options.void) for c, a in scene.marks.items()}
    readings = scene.readings_of(value)
    maps, notes = spatial(readings, plan)
    try:
        base = counted(scene, marks | maps)
        found = estimate_all(base, plan.by_pattern, plan.options, left_out=True, raters=readings.table)
    except ManytruthsError as error:
        raise type(error)(f"case {case.name}: {error}") from None
    notes += [said for c, e in found.items() if not c.left_out for said in consensus_notes(c.name, e.found)]
    joint = append_estimates(base, found)
    distances: dict[Pair, SurfaceDistances] = {}
    if plan.distances:
        drawn = {c: decided(readings, e.found) for c, e in found.items()}
        distances = _surface_distances(scene, marks | maps | drawn, joint, plan)
    absent = frozenset((*case.absent, *case.missing, *case.missing_references))
    grid = scene.reading.grid
    diagonal = math.hypot(*(n * s for n, s in zip(grid.shape, grid.spacing or (1.0,) * len(grid.shape), strict=True)))
    raters = first_readings(scene.table)
    return Judged(joint, distances, _soft(base, found), absent, raters, diagonal, len(grid.shape), tuple(notes))


def _surface_distances(
    scene: Scene, marks: Mapping[Column, Array], joint: Tally, plan: EvaluatePlan
) -> dict[Pair, SurfaceDistances]:
    """Distances of all that are compared; what was not rated is not marked, and outside of a region nothing is.

    Nor is anything in the area that an algorithm is not judged by, in it or in what it is compared with.
    """
    case, grid = scene.reading.case, scene.reading.grid
    region = case.region(grid)
    inside = True if isinstance(region, str) else region.astype(bool)

    @cache
    def made(column: Column, judged: Column | None) -> Surface:
        mask = np.ma.filled(marks[column], False).astype(bool) & inside
        counts = mask if judged is None else mask & ~scene.areas[judged]
        return surface(counts, grid.spacing, definition=plan.definition)

    def apart(a: Column, b: Column) -> SurfaceDistances:
        area = a if a in scene.areas else None
        return surface_distances(made(a, area), made(b, area)) if a in marks and b in marks else NOT_THERE

    return {(a, b): apart(a, b) for a, b in compared(joint, scene.references)}


def compared(joint: Tally, given: Collection[Column] = ()) -> Iterator[Pair]:
    """Raters with each other, algorithms with all, a rater with what the others say and with what was given."""
    raters, truths = [joint.columns[i] for i in joint.raters], joint.role("reference")
    yield from combinations(raters, 2)
    yield from ((a, b) for a in joint.role("algorithm") for b in (*raters, *truths))
    yield from ((r, t) for r in raters for t in truths if t in given or t.left_out == r.name)


def _soft(base: Tally, found: Mapping[Column, PatternEstimate]) -> dict[tuple[Column, Column, str], float]:
    """Algorithms against each probability, and raters against that of the others."""
    values: dict[tuple[Column, Column, str], float] = {}
    for truth, estimate in found.items():
        left_out = [c for c in (base.columns[i] for i in base.raters) if truth.left_out == c.name]
        judged = [*base.role("algorithm"), *left_out]
        for name, measure in SOFT.items():
            numbers = measure(base, estimate.probability, judged) if judged else ()
            values |= {
                (c, truth, name): Undefined(UNKNOWN) if np.isnan(x) else float(x)
                for c, x in zip(judged, numbers, strict=True)
            }
    return values


Key = tuple[Column, Column]
Values = dict[str, float]

EVERYBODY = Column("all raters", "reference")
"""What extended Dice is against: what all marked, and what any did."""

DISTANCES = ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice")
STATISTICS = (*(s.__name__ for s in OVERLAPS), *DISTANCES, *SOFT, "extended_dice", "inner_outer_ratio")
"""In the order in which they are written."""

ABSENT = {"algorithm": NO_PREDICTION, "rater": "rater_absent", "reference": "reference_absent"}


def measured(judged: Judged, tolerance: float) -> dict[Key, Values]:
    """Statistics of every algorithm against every truth, of every rater against every other and against the others."""
    table = judged.tally
    found: dict[Key, Values] = {}
    for (who, whom), values in _overlaps(table).items():
        found[who, whom] = values | _distance_values(judged.distances, who, whom, tolerance)
    for (who, whom, name), value in judged.soft.items():
        found[who, whom][name] = value
    found |= _accepted(table, judged.absent)
    gone = {c: ABSENT[c.role] for c in judged.absent}
    # by a truth that is not there nobody is judged, also who is missing
    return {key: _said(values, gone.get(key[1]) or gone.get(key[0])) for key, values in found.items()}


def _first(table: Tally) -> list[Column]:
    return [table.columns[i] for i in table.raters]


def _said(values: Values, code: str | None) -> Values:
    """Undefined for the one reason that counts: it is not there."""
    return values if code is None else {name: Undefined(code) for name in values}


def _overlaps(table: Tally) -> dict[Key, Values]:
    raters, truths = _first(table), list(table.role("reference"))
    judged = [*table.role("algorithm"), *raters]
    found = overlaps(table, judged, [*raters, *truths])
    wanted = [(a, b) for a in judged for b in (*raters, *truths) if a != b and _meets(a, b)]
    values = {s: found.values(s) for s in OVERLAPS}
    place = {c: i for i, c in enumerate(found.against)}
    rows = {c: i for i, c in enumerate(judged)}
    return {
        (a, b): {
            s.__name__: found.value(a, b, s) if np.isnan(v[rows[a], place[b]]) else float(v[rows[a], place[b]])
            for s, v in values.items()
        }
        for a, b in wanted
    }


def _meets(who: Column, whom: Column) -> bool:
    """A rater is judged by the other raters, by what is given, and by truths that the others made."""
    return who.role == "algorithm" or whom.role == "rater" or whom.left_out in ("", who.name)


def _distance_values(distances: Mapping[Key, SurfaceDistances], a: Column, b: Column, tolerance: float) -> Values:
    found = distances.get((a, b)) or distances.get((b, a))
    if found is None:
        return {}
    values = (found.hausdorff(), found.hausdorff(95), found.mean(), _within(found, tolerance))
    return dict(zip(DISTANCES, values, strict=True))


def _within(found: SurfaceDistances, tolerance: float) -> float:
    if np.isnan(tolerance):
        return Undefined("no_tolerance")
    return found.dice(tolerance)


def _accepted(table: Tally, absent: Collection[Column]) -> dict[Key, Values]:
    """Extended Dice of algorithms against all raters and against all but one, and of raters against the others."""
    raters = [c for c in _first(table) if c not in absent]
    found = {(a, EVERYBODY): _extended(table, a) for a in table.role("algorithm")}
    if len(raters) < 2:
        return found
    for rater in raters:
        found[rater, EVERYBODY] = _extended(table, rater)
        readings = [c for c in table.role("rater") if c.name == rater.name]  # his second reading is his own, too
        others, truth = table.without(*readings), replace(EVERYBODY, left_out=rater.name)
        found |= {(a, truth): _extended(others, a) for a in table.role("algorithm")}
    return found


def _extended(table: Tally, column: Column) -> Values:
    found = extended_dice_counts(table, column)
    return {"extended_dice": found.value, "inner_outer_ratio": found.inner_outer_ratio}


def mean_of(values: Iterable[float]) -> float:
    """The mean of those that are defined."""
    defined = [v for v in values if not np.isnan(v)]
    return float(np.mean(defined)) if defined else Undefined("undefined")


def in_order(names: Iterable[str]) -> Sequence[str]:
    """Statistics in the order in which they are written."""
    met = set(names)
    return [name for name in STATISTICS if name in met]


MEAN = Column("mean of raters", "reference")
"""Against each of the raters, on average."""


@dataclass(frozen=True)
class Part:
    """One label: who was judged by whom, in every case."""

    label: str
    tallies: Tallies
    scores: Mapping[str, Mapping[Key, Values]]
    tolerance: float
    diagonals: Mapping[str, float]
    """Of each case's image: the largest distance there is."""
    radius: float = math.nan
    """Half the thickness of what raters mark, in the median."""
    given: frozenset[Column] = frozenset()
    """Truths that were not made of the raters, so that raters are judged by them too."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def bench(self) -> Bench:
        """What raters and algorithms are judged by together."""
        return Bench(self.tallies, self.scores, self.diagonals, self.given)

    def filled(self, statistic: str, values: Sequence[Sequence[float]], missing: Missing) -> list[list[float]]:
        """(algorithms, cases) values as they go into means."""
        return filled(statistic, values, missing, [self.diagonals[case] for case in self.tallies])

    def series(self, who: Column, whom: Column, statistic: str) -> list[float]:
        """A statistic by case."""
        nothing = Undefined("not_in_case")
        return [self.scores[c].get((who, whom), {}).get(statistic, nothing) for c in self.tallies]

    @property
    def keys(self) -> list[Key]:
        """Who was judged by whom in any case."""
        return list(dict.fromkeys(key for by in self.scores.values() for key in by))

    def statistics(self, key: Key) -> Sequence[str]:
        """What is known of two columns."""
        return in_order(name for by in self.scores.values() for name in by.get(key, ()))


@dataclass(frozen=True)
class HardScores:
    """What ``evaluate`` found about masks."""

    parts: tuple[Part, ...]
    scores: Table
    human: Table
    verdicts: Table
    differences: Table
    ranges: Mapping[tuple[str, str, str], HumanRange]
    """By label, what they are against, and statistic."""
    notes: tuple[str, ...] = ()


def judge(
    study: Study,
    plan: EvaluatePlan,
    *,
    tolerance: float | None = None,
    missing: Missing = "worst",
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> HardScores:
    """Masks that algorithms predicted, against raters and truths."""
    settings = settings or Settings()
    parts = measured_parts(study, plan, tolerance=tolerance, jobs=settings.jobs, progress=progress)
    scores, human, verdicts = _scores(parts, missing, settings), Table("human", ("rater", "against")), _verdict_table()
    ranges: dict[tuple[str, str, str], HumanRange] = {}
    for part in parts:
        columns = [] if study.options.exchangeable else _raters(part)
        human.add(summarise(list(_human_series(part, columns)), part.tallies, settings))
        verdicts.add(_verdicts(part, columns, missing, settings, ranges))
    differences = Table("differences", ("algorithm", "rater", "against"))
    differences.add(_difference_rows(ranges, region_of(parts[0].tallies)))
    return HardScores(parts, scores, human, verdicts, differences, ranges)


def measured_parts(
    study: Study,
    plan: EvaluatePlan,
    *,
    tolerance: float | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[Part, ...]:
    """Every number of every case, label by label, before anything is averaged."""
    work = partial(evaluate_case, plan=plan)
    seen = {c.name: found for c, found in study.map(work, jobs=jobs, progress=progress)}
    study.gathered({case: found[""].raters for case, found in seen.items()})  # refuses one's 1 beside another's 255
    if study.options.labels is None:
        _refuse_classes(seen)
    return tuple(_part(study, seen, label, tolerance) for label in _labels(seen))


def _refuse_classes(seen: Mapping[str, Mapping[str, Judged]]) -> None:
    """Refuse labels that only predictions have where all raters marked one: a second class would count as the first."""
    tables = [found[""].raters for found in seen.values()]
    marked = {t.labels.names[k] for t in tables for k in set(np.unique(t.patterns).tolist()) & set(t.labels.marks)}
    others = [
        (case, label, who)
        for case, found in seen.items()
        for label, judged in found.items()
        for who in judged.tally.role("algorithm")
        if label and label not in marked and _marks(judged.tally, who)
    ]
    if len(marked) == 1 and others:
        case, label, who = others[0]
        raise LabelError(
            f"case {case}: {who} marks {label}, while every rater marks {marked.pop()} alone; declare the labels "
            "(--labels), unite them (--foreground any), or say --grey if the prediction is grey"
        )


def _marks(table: Tally, column: Column) -> bool:
    return bool((table.patterns[:, table.position(column)] == 1).any())


def _labels(seen: Mapping[str, Mapping[str, Judged]]) -> list[str]:
    """All labels together, then, where there are several, each; without background, only each."""
    named = list(dict.fromkeys(label for found in seen.values() for label in found if label))
    if len(named) < 2:
        return [""]
    return ["", *named] if any(_background(found[""].tally) for found in seen.values()) else named


def _background(table: Tally) -> bool:
    return bool((table.patterns[:, table.raters] == 0).any())


def _part(study: Study, seen: Mapping[str, Mapping[str, Judged]], label: str, tolerance: float | None) -> Part:
    here = {case: found[label] for case, found in seen.items() if label in found}
    if tolerance is None:
        tolerance = _tolerance(here.values())
    tallies = study.gathered({case: j.tally for case, j in here.items()})
    scores = {case: measured(j, tolerance) for case, j in here.items()}
    given = frozenset(column for case in study for column in case.references)
    diagonals = {case: j.diagonal for case, j in here.items()}
    told = {case: j.notes for case, j in here.items() if j.notes}
    return Part(label, tallies, scores, tolerance, diagonals, _radius(here.values()), given, told)


def _tolerance(cases: Iterable[Judged]) -> float:
    """The median, over cases and pairs of raters, of the distance within which 95% of their outlines lie.

    The percentile of all distances together would be that of the one rater who marks something else.
    """
    pairs = [d for j in cases for (a, b), d in j.distances.items() if a.role == b.role == "rater"]
    each = [rater_tolerance([d]) for d in pairs]
    defined = [t for t in each if not np.isnan(t)]
    return float(np.median(defined)) if defined else Undefined("no_two_raters_marked")


def _radius(cases: Iterable[Judged]) -> float:
    """The median, over cases and raters, of axes × volume / surface: the radius of a ball, the width of a thin line."""
    found = []
    for judged in cases:
        table, item = judged.tally, judged.tally.unit.size if judged.tally.unit else 1.0
        for (a, b), apart in judged.distances.items():
            if a.role == b.role == "rater" and not apart.undefined:
                items = int(table.counts[table.patterns[:, table.position(a)] == 1].sum())
                found.append(judged.axes * items * item / apart.a_to_b.size)
    return float(np.median(found)) if found else math.nan


def _raters(part: Part) -> list[Column]:
    return sorted({t.columns[i] for t in part.tallies.values() for i in t.raters}, key=lambda c: c.order)


def algorithms_of(part: Part) -> list[Column]:
    """In natural order."""
    return sorted({c for t in part.tallies.values() for c in t.role("algorithm")}, key=lambda c: c.order)


def truths_of(part: Part) -> list[Column]:
    """Raters in natural order, then truths as given and named; those without one of the raters are not shown."""
    met = dict.fromkeys(t for who, t in part.keys if who.role == "algorithm" and not t.left_out)
    slots = next(iter(part.tallies.values())).exchangeable  # slots are nobody, and so no truth
    raters = [] if slots else sorted([t for t in met if t.role == "rater"], key=lambda c: c.order)
    return raters + [t for t in met if t.role != "rater"]


def _scores(parts: Sequence[Part], missing: Missing, settings: Settings) -> Table:
    """Case by case as it is; means over subjects with what is missing filled in, or left out for all."""
    table = Table("scores", ("algorithm", "against"))
    for part in parts:
        for truth in [*truths_of(part), MEAN]:
            table.add(_against(part, truth, missing, settings))
    return table


def _against(part: Part, truth: Column, missing: Missing, settings: Settings) -> list[Row]:
    algorithms = algorithms_of(part)
    names = in_order(n for who, whom in part.keys if _counts(who, whom, truth) for n in part.statistics((who, whom)))
    series = []
    for name in names:
        values = [by_case(part, a, truth, name) for a in algorithms]
        series += [
            Series(name, v, part.label, (a.name, truth.name), counted)
            for a, v, counted in zip(algorithms, values, part.filled(name, values, missing), strict=True)
        ]
    return summarise(series, part.tallies, settings)


def _counts(who: Column, whom: Column, truth: Column) -> bool:
    return who.role == "algorithm" and (whom.role == "rater" if truth == MEAN else whom == truth)


def by_case(part: Part, algorithm: Column, truth: Column, statistic: str) -> list[float]:
    """An algorithm's values of a statistic, case by case."""
    if truth != MEAN:
        return part.series(algorithm, truth, statistic)
    found = []
    for case in part.tallies:
        own = [v for (a, b), v in part.scores[case].items() if a == algorithm and b.role == "rater"]
        values = [v[statistic] for v in own if statistic in v]
        found.append(average(values, statistic, part.diagonals[case]))
    return found


def _human_series(part: Part, raters: Sequence[Column]) -> Iterator[Series]:
    """Each rater against every other, against what the others say, and against truths that were given."""
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
    part: Part, raters: Sequence[Column], missing: Missing, settings: Settings,
    ranges: dict[tuple[str, str, str], HumanRange],
) -> Iterator[Row]:  # fmt: skip
    """Each algorithm's mean beside the raters' own, and whether it lies among them."""
    bench, algorithms = part.bench, algorithms_of(part)
    for kind in bench.kinds() if raters else ():
        truth = next((t for t in truths_of(part) if t.name == kind), MEAN)
        for name in in_order(n for a in algorithms for n in _known(part, a, truth)):
            if describes_the_case(name):
                continue
            values = [by_case(part, a, truth, name) for a in algorithms]
            human = human_range(bench, raters, algorithms, kind, name, settings, left_out(values, missing))
            ranges[part.label, kind, name] = human
            yield from _verdict_rows(part, algorithms, part.filled(name, values, missing), human, settings)


def _known(part: Part, algorithm: Column, truth: Column) -> Sequence[str]:
    return in_order(n for a, b in part.keys if _counts(a, b, truth) and a == algorithm for n in part.statistics((a, b)))


def _verdict_rows(
    part: Part, algorithms: Sequence[Column], values: Sequence[Sequence[float]], human: HumanRange, settings: Settings
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
    """How far each algorithm is better than each rater, both judged by the same."""
    for (label, against, statistic), human in ranges.items():
        for algorithm, by in human.differences.items():
            for rater, d in by.items():
                row = Row("mean", statistic, d.value, label=label, region=region, extra=(algorithm, rater, against))
                row.low, row.high, row.n = d.low, d.high, d.n
                yield row
