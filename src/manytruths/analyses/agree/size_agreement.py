"""How far raters agree on sizes: ``size_agreement.csv``, from the sizes of every case.

The size of one case is what is measured, and subjects are what is independent. So every number speaks of sizes of
single cases, never of sums or means over the cases of a subject, whose errors would partly cancel; and where a subject
has several cases, intervals go by subjects: limits of agreement by MOVER, with the bias as a mean over subjects, the
others by the jackknife over subjects. A rater's first session counts; further ones enter repeatability and
reproducibility.

Areas and volumes are compared as ratios, without looking at the data first: their errors grow with their size. Cases
with a size of 0 have no ratio and are counted in ``n_undefined``. Intraclass correlations, standard errors of
measurement and the smallest detectable change are those of the sizes themselves; of areas and volumes there are also
those of logarithms. Lengths and counts are compared as differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...core.columns import natural_key
from ...core.undefined import Undefined
from ...inference.intervals import Interval, too_few_subjects
from ...io.result_tables import Row, Table
from ...measures.bland_altman import bland_altman, limits_with_mean, repeatability, spread_interval
from ...measures.intraclass import LIMIT, icc_of_model
from ...measures.variance_components import SizeModel, fit_sizes
from ...study import Study
from ..many import many_raters
from ..tables import Settings

Values = NDArray[np.float64]

SIZES = ("area", "volume", "lesions", "long_axis", "short_axis", "sum_long_axes", "diameter_3d")
"""Statistics of ``sizes.csv`` whose agreement is measured."""
RATIOS = ("area", "volume")
"""Those that are compared as ratios."""
INTERVAL = "generalized"
"""Of intraclass correlations of agreement: McGraw and Wong's covers too little where raters differ."""
EXTRA = ("size", "unit", "scale", "relation", "rater_a", "rater_b")
"""The columns of ``size_agreement.csv``; on the scale ``log`` numbers are ratios of sizes in this unit, intraclass
correlations of their natural logarithms, or standard deviations of these."""


@dataclass(frozen=True)
class SizeReadings:
    """All readings of one kind of size and one label that have the same unit."""

    size: str
    label: str
    unit: str
    region: str
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    """Of each case."""
    raters: tuple[str, ...]
    sessions: Values
    """(cases, raters, sessions): sessions of a rater in natural order from the first one of the case on; nan where
    there is none."""

    @property
    def first(self) -> Values:
        """(cases, raters): the session that counts."""
        return np.asarray(self.sessions[:, :, 0])

    @property
    def log(self) -> bool:
        """Whether sizes are compared as ratios."""
        return self.size in RATIOS


def size_agreement_tables(tables: Sequence[Table], study: Study, settings: Settings) -> list[Table]:
    """The table of the agreement of sizes where ``sizes`` is among some tables; nothing where it is not.

    Where ``reference_sizes`` is among them too, also that of each rater with each given reference.
    """
    from .reference_sizes import rater_rows

    found = {table.name: table for table in tables}
    if "sizes" not in found:
        return []
    table = size_agreement_table(found["sizes"], study, settings)
    if "reference_sizes" in found:
        table.add(rater_rows(found["sizes"], found["reference_sizes"], study, settings))
    return [table] if table.rows else []


def size_agreement_table(sizes: Table, study: Study, settings: Settings) -> Table:
    """Agreement of sizes, by size and label: of all raters, by pair, and of one rater's sessions."""
    table = Table("size_agreement", EXTRA)
    for readings in gather_sizes(sizes, study):
        table.add(agreement_rows(readings, settings, exchangeable=study.options.exchangeable))
    return table


def gather_sizes(sizes: Table, study: Study) -> list[SizeReadings]:
    """The readings in the table ``sizes``, apart by size, label and unit."""
    subject = {case.name: case.subject for case in study}
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in sizes.rows:
        if row.scope == "case" and row.statistic in SIZES:
            found.setdefault((row.statistic, row.label, row["unit"]), []).append(row)
    ordered = sorted(found, key=lambda key: SIZES.index(key[0]))
    return [_gather(key, found[key], subject) for key in ordered]


def _gather(key: tuple[str, str, str], rows: Sequence[Row], subject: dict[str, str]) -> SizeReadings:
    cases = tuple(dict.fromkeys(row.case for row in rows))
    raters = tuple(sorted({str(row["rater"]) for row in rows}, key=natural_key))
    by_rater: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for row in rows:
        by_rater.setdefault((row.case, str(row["rater"])), []).append((str(row["session"]), float(row.value)))
    most = max(len(readings) for readings in by_rater.values())
    values = np.full((len(cases), len(raters), most), np.nan)
    at = {case: i for i, case in enumerate(cases)}, {rater: j for j, rater in enumerate(raters)}
    for (case, rater), readings in by_rater.items():
        ordered = sorted(readings, key=lambda reading: natural_key(reading[0]))
        values[at[0][case], at[1][rater], : len(ordered)] = [value for _, value in ordered]
    regions = {row.region for row in rows}
    region = regions.pop() if len(regions) == 1 else "mixed"
    size, label, unit = key
    return SizeReadings(size, label, unit, region, cases, tuple(subject[case] for case in cases), raters, values)


def agreement_rows(readings: SizeReadings, settings: Settings, *, exchangeable: bool = False) -> Iterator[Row]:
    """The rows of one kind of size and one label."""
    yield from _all_raters(readings, settings, exchangeable)
    if exchangeable:
        return
    every = range(len(readings.raters))
    for a, b in combinations(every, 2) if not many_raters(len(every)) else ():
        names = readings.raters[a], readings.raters[b]
        yield from pair_rows(readings, names, readings.first[:, a], readings.first[:, b], settings)
    if readings.sessions.shape[2] > 1:
        yield from _session_rows(readings, settings)


def _all_raters(readings: SizeReadings, settings: Settings, exchangeable: bool) -> Iterator[Row]:
    first, subjects, level = readings.first, readings.subjects, settings.level
    there = ~np.isnan(first)
    measured = np.asarray(there.any(axis=1))
    n = _count(subjects, measured)
    base = Row(
        "pooled", "", math.nan, label=readings.label, region=readings.region, n=n, n_undefined=0,
        extra=(readings.size, readings.unit, "linear", "all", "", ""),
    )  # fmt: skip
    fit = fit_sizes(first, one_way=exchangeable, subjects=subjects, seed=settings.seed)
    kinds = ("1",) if exchangeable else ("A,1", "C,1")
    yield from _correlation_rows(base, fit, kinds, level)
    yield from _error_rows(base, fit, level)
    if not exchangeable:
        yield with_interval(base, "sem_consistency", spread_interval(_error_variance(fit, False, level), 1.0, level, n))
    limits = limits_with_mean(first, log=readings.log, level=level, exchangeable=exchangeable, subjects=subjects)
    kept = measured & ~np.asarray((first == 0).any(axis=1)) if readings.log else measured
    row = _scaled(replace(base, n=_count(subjects, kept), n_undefined=limits.n_zero), readings.log)
    yield with_interval(row, "limits_with_mean", limits.limit)
    if readings.log:
        logs = _fit_logs(readings, kept, exchangeable, settings)
        yield from _correlation_rows(row, logs, kinds[:1], level)
        yield from _error_rows(row, logs, level, log=True)


def _fit_logs(
    readings: SizeReadings, kept: NDArray[np.bool_], one_way: bool, settings: Settings
) -> SizeModel | Undefined:
    """The variances of natural logarithms of sizes, in cases without a size of 0."""
    if not kept.any() and (readings.first == 0).any():
        return Undefined("no_size_above_zero")
    subjects = [subject for subject, used in zip(readings.subjects, kept.tolist(), strict=True) if used]
    return fit_sizes(np.log(readings.first[kept]), one_way=one_way, subjects=subjects, seed=settings.seed)


def _correlation_rows(base: Row, fit: SizeModel | Undefined, kinds: Sequence[str], level: float) -> Iterator[Row]:
    for kind in kinds:
        r, name = icc_of_model(fit, kind, level=level, interval=INTERVAL), f"icc_{kind.replace(',', '').lower()}"
        yield with_interval(base, name, Interval(r.value, r.low, r.high, level, r.method, base.n or 0))


def _error_rows(base: Row, fit: SizeModel | Undefined, level: float, *, log: bool = False) -> Iterator[Row]:
    """Standard error of measurement and smallest detectable change, a factor on the scale of logarithms."""
    variance, n = _error_variance(fit, True, level), base.n or 0
    yield with_interval(base, "sem_agreement", spread_interval(variance, 1.0, level, n))
    change = spread_interval(variance, LIMIT * math.sqrt(2), level, n, log)
    yield with_interval(base, "smallest_detectable_change", change)


def _error_variance(fit: SizeModel | Undefined, raters: bool, level: float) -> tuple[float, float, float]:
    """Variance of errors with its interval, with differences between raters or without."""
    return (fit, fit, fit) if isinstance(fit, Undefined) else fit.error_variance(raters, level)


def pair_rows(
    readings: SizeReadings, names: tuple[str, str], a: Values, b: Values, settings: Settings, relation: str = "between"
) -> Iterator[Row]:
    """Bias and limits of agreement of two raters, or of a rater and a reference, of which each has a size a case."""
    found = bland_altman(a, b, log=readings.log, level=settings.level, subjects=readings.subjects)
    row = Row(
        "pooled", "", math.nan, label=readings.label, region=readings.region, n=found.n_subjects,
        n_undefined=found.n_zero, extra=(readings.size, readings.unit, "linear", relation, *names),
    )  # fmt: skip
    row = _scaled(row, readings.log)
    for name, interval in (("bias", found.bias), ("lower_limit", found.lower), ("upper_limit", found.upper)):
        yield with_interval(row, name, interval)
    yield replace(row, statistic="sd_of_differences", value=found.sd)


def _session_rows(readings: SizeReadings, settings: Settings) -> Iterator[Row]:
    """Repeatability of each rater and of all together, and reproducibility."""
    options = {"log": readings.log, "level": settings.level, "subjects": readings.subjects}
    base = Row("pooled", "", math.nan, label=readings.label, region=readings.region)
    extra = readings.size, readings.unit, "log" if readings.log else "linear"
    every = range(len(readings.raters))
    for chosen, name in [(list(every), ""), *(([j], readings.raters[j]) for j in every)]:
        twice = (~np.isnan(readings.sessions[:, chosen])).sum(axis=2) > 1
        if not twice.any():
            continue
        found = repeatability(readings.sessions[:, chosen], **options)  # type: ignore[arg-type]
        n = _count(readings.subjects, np.asarray(twice.any(axis=1)))
        row = replace(base, n=n, n_undefined=found.n_zero)
        yield with_interval(replace(row, extra=(*extra, "within", name, "")), "repeatability", found.repeatability)
        if not name and len(readings.raters) > 1:
            yield with_interval(replace(row, extra=(*extra, "all", "", "")), "reproducibility", found.reproducibility)


def _count(subjects: Sequence[str], there: NDArray[np.bool_]) -> int:
    """Number of different subjects among some cases."""
    return len({subject for subject, used in zip(subjects, there.tolist(), strict=True) if used})


def _scaled(row: Row, log: bool) -> Row:
    """A row of ratios where sizes are compared so; the unit remains that of the sizes."""
    return replace(row, extra=(*row.extra[:2], "log", *row.extra[3:])) if log else row


def end_of(value: float | None) -> float:
    """The end of an interval; nan where there is none."""
    return math.nan if value is None else float(value)


def with_interval(row: Row, statistic: str, interval: Interval) -> Row:
    """A row with its number; with few subjects without its interval."""
    few = too_few_subjects(row.n or 0)
    low, high = (few, few) if few is not None else (interval.low, interval.high)
    return replace(row, statistic=statistic, value=interval.value, low=low, high=high)
