"""The verb ``fuse``: consensus maps and masks, raters against them, how they differ, complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ...agreement import PairStatistic, contingency, dice, iou, sensitivity, specificity, volume_difference
from ...agreement.pairs import Tables
from ...complexity import STATISTICS, GroupClassifier, fit_complexity_groups
from ...core.errors import CallError, InputError
from ...core.notes import Note, code_of
from ...core.tallies import Tallies, pool
from ...core.tally import Tally
from ...core.undefined import Undefined, ratio
from ...fusion import Consensus, estimate
from ...fusion.notes import MARKED_NOTHING
from ...fusion.registry import estimator
from ...fusion.result import first_readings
from ...io import write_text
from ...io.results import write_summary
from ...raters import RaterPerformance, rater_dependence, rater_performance
from ...study import Progress, Study
from ..files import summary_of
from ..resampled import NOTHING_MOVED, Moved, mark_resampled, write_marked
from ..rows import Row, Table, write_all
from ..summaries import Series, Settings, region_of, summarise
from .fused import Fused, column_of, on_modified_background
from .fusing import FusePlan, fuse_case, rater_table

HARD: tuple[PairStatistic, ...] = (iou, sensitivity, specificity, dice)
"""Each rater against each consensus (Yang 2023, eqs. 13–15)."""

LEAST_CASES = 10
"""Fewer cases make no groups."""
COMPLEXITY = "complexity"
"""The code of a note about complexity, not about a method."""

BETWEEN: tuple[PairStatistic, ...] = (dice, iou, volume_difference)
"""One consensus against another."""


@dataclass(frozen=True)
class Fusion:
    """What ``fuse`` found."""

    study: Study
    settings: Settings
    methods: tuple[str, ...]
    cases: Mapping[str, Fused]
    tallies: Tallies
    performance: Table
    differences: Table
    complexity: Table
    groups: GroupClassifier | None
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = field(default=())
    moved: Moved = NOTHING_MOVED


def fuse(
    study: Study,
    plan: FusePlan,
    *,
    pooled_rates: bool = False,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Fusion:
    """Estimate, write the maps while the cases pass by, and tabulate; a killed run goes on where it stopped."""
    settings = settings or Settings()
    for method in plan.methods:
        estimator(method)
    if pooled_rates:
        plan = _with_pooled(study, plan, settings)
    seen = {c.name: f for c, f in study.map(partial(fuse_case, plan=plan), jobs=settings.jobs, progress=progress)}
    return fusion_of(study, seen, plan, settings)


def fusion_of(study: Study, seen: Mapping[str, Fused], plan: FusePlan, settings: Settings) -> Fusion:
    """The tables of cases that were fused."""
    tallies = study.gathered({name: f.tally for name, f in seen.items()})
    complexity, groups = _complexity(seen, tallies, settings)
    performance = _performance(seen, tallies, plan.methods, settings)
    differences = _differences(seen, tallies, plan.methods, settings)
    moved = mark_resampled(study, (performance, differences, complexity))
    return Fusion(
        study,
        settings,
        plan.methods,
        seen,
        tallies,
        performance,
        differences,
        complexity,
        groups,
        (*moved.notes, *_notes(seen, groups)),
        tuple(path for f in seen.values() for path in f.files),
        moved,
    )


def _with_pooled(study: Study, plan: FusePlan, settings: Settings) -> FusePlan:
    """Every method fitted once, to the table of the whole study."""
    spatial = [m for m in plan.methods if estimator(m)[0].spatial]
    if spatial:
        raise CallError(f"{', '.join(spatial)} works case by case; rates cannot be pooled over the study")
    if study.options.exchangeable:
        raise CallError("raters are exchangeable: rates of a slot cannot be pooled over cases")
    read = study.map(rater_table, jobs=settings.jobs)
    tables = list(study.gathered({case.name: table for case, table in read}).values())
    if any(t.region != "whole" for t in tables):
        return replace(plan, pooled=_estimates(plan, tables))
    cut = [t.restrict("modified_background") for t in tables]
    return replace(plan, pooled=_estimates(plan, tables), pooled_cut=_estimates(plan, cut))


def _estimates(plan: FusePlan, tables: Sequence[Tally]) -> dict[str, Consensus]:
    whole = pool(tables, mixed=True)
    return {m: estimate(whole, m, **plan.options_of(m)) for m in plan.methods}


def _performance(seen: Mapping[str, Fused], tallies: Tallies, methods: Sequence[str], settings: Settings) -> Table:
    table = Table("performance", ("method", "rater"))
    exchangeable = next(iter(tallies.values())).exchangeable
    for method in methods:
        if exchangeable:
            series = [Series(s.__name__, _of_slots(tallies, method, s), extra=(method, "")) for s in HARD]
            table.add(summarise(series, tallies, settings))
            continue
        found = [rater_performance(t, column_of(method)) for t in tallies.values()]
        whole = rater_performance(pool(tallies, mixed=True), column_of(method))
        series = [
            Series(s.__name__, [_value(f, r, s) for f in found], extra=(method, r)) for r in whole.raters for s in HARD
        ]
        series += _soft_series(seen, method, whole.raters)
        table.add(summarise(series, tallies, settings))
        region = region_of(tallies)
        table.add(
            Row("pooled", s.__name__, whole.value(r, s), region=region, extra=(method, r))
            for r in whole.raters
            for s in HARD
        )
    if "staple" in methods and not exchangeable:
        table.add(_dependence(first_readings(pool(tallies, mixed=True)), region_of(tallies)))
    return table


def _dependence(whole: Tally, region: str) -> Iterator[Row]:
    """Whether the raters err together, which STAPLE takes for granted that they do not."""
    if whole.labels.background is None:
        return
    found = rater_dependence(whole)
    values = {"effective_raters": found.effective_raters, "error_correlation": found.mean_correlation}
    for name, value in values.items():
        yield Row("pooled", name, value, region=region, extra=("staple", ""), n=len(found.raters))


def _value(found: RaterPerformance, rater: str, statistic: PairStatistic) -> float:
    return found.value(rater, statistic) if rater in found.raters else Undefined("absent")


def _of_slots(tallies: Tallies, method: str, statistic: PairStatistic) -> list[float]:
    """The mean over a case's slots: all that can be said of raters who are exchangeable."""
    return [_mean_of_slots(t, t.position(column_of(method)), statistic) for t in tallies.values()]


def _mean_of_slots(tally: Tally, reference: int, statistic: PairStatistic) -> float:
    values = statistic.of(contingency(tally, [*tally.raters, reference])[:-1, -1], tally.labels)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else Undefined(statistic.undefined)


def _soft_series(seen: Mapping[str, Fused], method: str, raters: Sequence[str]) -> list[Series]:
    """Gordon's measures against the probability, where a method has one by pattern."""
    found = [{(r, s): v for m, r, s, v in f.soft if m == method} for f in seen.values()]
    names = list(dict.fromkeys(s for by in found for _, s in by))
    absent = Undefined("absent_or_no_probability")
    return [Series(s, [by.get((r, s), absent) for by in found], extra=(method, r)) for r in raters for s in names]


def _differences(seen: Mapping[str, Fused], tallies: Tallies, methods: Sequence[str], settings: Settings) -> Table:
    """Method against method, and each against itself on the modified background."""
    table = Table("differences", ("method_a", "method_b"))
    region, united = region_of(tallies), {e.method for f in seen.values() for e in f.endings if e.united}
    for a, b in combinations(methods, 2):
        # what only tells marked from not gives no label that could differ
        tables = [t.foreground() if united & {a, b} else t for t in tallies.values()]
        pairs, labels = [_pair(t, a, b) for t in tables], tables[0].labels
        whole = np.sum(pairs, axis=0)
        series = [Series(s.__name__, [s.value(p, labels) for p in pairs], extra=(a, b)) for s in BETWEEN]
        series.append(Series("changed", [_changed(p) for p in pairs], extra=(a, b)))
        table.add(summarise(series, tallies, settings))
        table.add(Row("pooled", s.__name__, s.value(whole, labels), region=region, extra=(a, b)) for s in BETWEEN)
        table.append(Row("pooled", "changed", _changed(whole), region=region, extra=(a, b)))
    for method in methods:
        table.add(summarise(_region_series(seen, method), tallies, settings))
    return table


def _pair(tally: Tally, a: str, b: str) -> Tables:
    return np.asarray(contingency(tally, [tally.position(column_of(a)), tally.position(column_of(b))])[0, 1])


def _changed(pair: Tables) -> float:
    """The share of items to which the two give different labels."""
    return ratio(float(pair.sum() - np.trace(pair)), float(pair.sum()), "no_item_decided_by_both")


def _region_series(seen: Mapping[str, Fused], method: str) -> list[Series]:
    found = [next((r for r in f.regions if r[0] == method), None) for f in seen.values()]
    if not any(found):
        return []
    extra = (method, on_modified_background(method))
    none = Undefined("other_region")
    return [
        Series("dice", [r[1] if r else none for r in found], extra=extra),
        Series("changed", [r[2] if r else none for r in found], extra=extra),
    ]


def _complexity(
    seen: Mapping[str, Fused], tallies: Tallies, settings: Settings
) -> tuple[Table, GroupClassifier | None]:
    table = Table("complexity", ("class",))
    cases = [f.complexity for f in seen.values()]
    try:
        groups = fit_complexity_groups(cases, seed=settings.seed) if len(cases) >= LEAST_CASES else None
    except InputError:
        groups = None
    names = [groups.classify(c) if groups else "" for c in cases]
    series = [Series(s, [getattr(c, s) for c in cases], extra=("",)) for s in STATISTICS]
    rows = summarise(series, tallies, settings)
    classes = dict(zip(seen, names, strict=True))
    for row in rows:
        row.region = "modified_background"
        if row.scope == "case":
            row.extra, row.n = (classes[row.case],), seen[row.case].complexity.items
    table.add(rows)
    return table, groups


def _notes(seen: Mapping[str, Fused], groups: GroupClassifier | None) -> Iterator[str]:
    """Each thing to know once, with the methods and cases it is true of; who left a mask empty, ``check`` tells."""
    told: dict[str, tuple[list[str], list[str]]] = {}
    for case, found in seen.items():
        for ending in found.endings:
            said = [f"ended: {ending.ended}"] if ending.ended in ("stopped", "vanished") else []
            said += [note for note in ending.notes if code_of(note) != MARKED_NOTHING]
            for piece in said:
                methods, cases = told.setdefault(piece, ([], []))
                methods += [ending.method] if ending.method not in methods else []
                cases += [case] if case not in cases else []
    for piece, (methods, cases) in told.items():
        where = ", ".join(cases[:3]) + (f" and {len(cases) - 3} more" if len(cases) > 3 else "")
        yield f"{', '.join(methods)}: {piece} ({where})"
    if groups is not None and groups.note:
        yield Note(COMPLEXITY, f"complexity: {groups.note}")


def write(found: Fusion, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Tables, endings, classifier, charts and summary; the maps are there already."""
    paths = write_all([found.performance, found.differences, found.complexity], folder)
    rows = [(c, e.method, e.ended, e.iterations, e.note) for c, f in found.cases.items() for e in f.endings]
    header = ("case", "method", "ended", "iterations", "note")
    write_marked(
        folder / "endings.csv",
        rows,
        header,
        [c in found.moved.cases for c, f in found.cases.items() for _ in f.endings],
    )
    paths.append(folder / "endings.csv")
    texts = {"complexity-groups.json": found.groups.to_json()} if found.groups else {}
    if pictures:
        from .charts import charts

        texts |= {f"charts/{name}.svg": svg for name, svg in charts(found).items()}
    for name, text in texts.items():
        write_text(folder / name, text)
        paths.append(folder / name)
    paths += found.files
    return [*paths, write_summary(folder, _summary(found), paths)]


def _summary(found: Fusion) -> dict[str, Any]:
    return summary_of(
        "fuse",
        (found.performance, found.differences, found.complexity),
        methods=list(found.methods),
        cases=len(found.study),
        subjects=len(found.study.subjects),
        raters=list(found.study.rater_names),
        region=region_of(found.tallies),
        settings=found.settings,
        notes=list(found.notes),
    )
