"""Sizes of raters and algorithms against those of given references: bias, limits of agreement, and a line.

The line is Deming's where the ratio of the two error variances is given, and else Passing and Bablok's. Sessions of a
rater tell the errors of the rater alone; a given reference is one file a case, so that its errors, and with them the
ratio, stay unknown. The line is that of the sizes themselves; it and the limits are of the same cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...charts import bland_altman_chart
from ...core.undefined import Undefined
from ...inference.intervals import Interval
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...measures.bland_altman import bland_altman
from ...measures.method_comparison import MethodLine, deming, passing_bablok
from ...study import Study
from ..tables import Settings
from .size_agreement import RATIOS, SizeReadings, Values, end_of, gather_sizes, pair_rows, with_interval

RELATION = "reference"
COMPARED = ("area", "volume", "long_axis")
"""Sizes that are compared with those of a given reference."""
LINES = ("deming", "passing_bablok")
MOST_POINTS = 2000
"""Cases whose pairs are compared for a line."""
MOST_CHARTS = 12
"""All numbers are in the tables."""


def gather_references(table: Table, readings: SizeReadings) -> dict[str, Values]:
    """The sizes of each reference, in the cases, unit and label of some readings; nan where there is none."""
    at = {case: i for i, case in enumerate(readings.cases)}
    found: dict[str, Values] = {}
    for row in table.all(readings.size, "case"):
        if (row.label, row["unit"]) == (readings.label, readings.unit) and row.case in at:
            own = found.setdefault(str(row["reference"]), np.full(len(at), np.nan))
            own[at[row.case]] = row.value
    return found


def reference_rows(
    readings: SizeReadings, names: tuple[str, str], sizes: Values, reference: Values, settings: Settings
) -> Iterator[Row]:
    """Bias, limits and line of one rater or algorithm against one reference, named in this order."""
    yield from pair_rows(readings, names, sizes, reference, settings, RELATION)
    used = ~(np.isnan(sizes) | np.isnan(reference))
    if readings.log:
        used &= (sizes > 0) & (reference > 0)
    subjects = [s for s, there in zip(readings.subjects, used.tolist(), strict=True) if there]
    n = len(set(subjects))
    line = _fit_line(reference[used], sizes[used], settings)
    base = Row(
        "pooled", "", np.nan, label=readings.label, region=readings.region, n=n,
        extra=(readings.size, readings.unit, "linear", RELATION, *names),
    )  # fmt: skip
    for name, interval in (("slope", line.slope), ("intercept", line.intercept)):
        if len(subjects) > n:
            why = Undefined("cases_share_subjects")
            interval = replace(interval, low=why, high=why)
        yield with_interval(base, f"{line.method}_{name}", interval)


def _fit_line(reference: Values, sizes: Values, settings: Settings) -> MethodLine:
    if settings.error_ratio is not None:
        return deming(reference, sizes, ratio=settings.error_ratio, level=settings.level)
    if len(sizes) > MOST_POINTS:
        why = Undefined("too_many_points")
        none = Interval(why, why, why, settings.level, "", len(sizes))
        return MethodLine(none, none, len(sizes), 0, "passing_bablok")
    return passing_bablok(reference, sizes, level=settings.level)


def rater_rows(sizes: Table, references: Table, study: Study, settings: Settings) -> Iterator[Row]:
    """Every rater against every given reference, by size and label; nothing of exchangeable raters."""
    for readings in gather_sizes(sizes, study) if not study.options.exchangeable else ():
        if readings.size in COMPARED:
            for name, values in gather_references(references, readings).items():
                for j, rater in enumerate(readings.raters):
                    yield from reference_rows(readings, (rater, name), readings.first[:, j], values, settings)


# -- charts ------------------------------------------------------------------------------------------


def reference_chart(
    readings: SizeReadings, names: tuple[str, str], sizes: Values, reference: Values, agreement: Table
) -> str:
    """The Bland–Altman plot of a rater or algorithm against a reference; empty where there are no limits."""
    extra = (readings.size, readings.unit, "log" if readings.log else "linear", RELATION, *names)
    ends = []
    for statistic in ("bias", "lower_limit", "upper_limit"):
        rows = [r for r in agreement.all(statistic, "pooled") if (r.extra, r.label) == (extra, readings.label)]
        ends += [(float(row.value), end_of(row.low), end_of(row.high)) for row in rows]
    if len(ends) != 3 or any(np.isnan(end[0]) for end in ends):
        return ""
    found = bland_altman(sizes, reference, log=readings.log, subjects=readings.subjects)
    used = ~(np.isnan(sizes) | np.isnan(reference))
    used &= (sizes > 0) & (reference > 0) if readings.log else True
    who, whom = names
    of = f" of {readings.label}" if readings.label else ""
    return bland_altman_chart(
        found.means, found.differences, bias=ends[0], lower=ends[1], upper=ends[2], log=readings.log,
        names=[case for case, there in zip(readings.cases, used.tolist(), strict=True) if there],
        xlabel=f"geometric mean of the two, {readings.size}, {readings.unit}", ylabel=f"{who} / {whom}",
        title=f"{readings.size.capitalize()}{of}: {who} against {whom}",
    )  # fmt: skip


def chart_name(names: Sequence[str], label: str) -> str:
    """The name of a chart, and of its file."""
    return "-".join(["size-reference-limits", *(safe_name(name) for name in (*names, label) if name)])


def rater_charts(tables: Mapping[str, Table], study: Study) -> dict[str, str]:
    """Areas or volumes of every rater against every given reference, as SVG by name."""
    if not {"sizes", "reference_sizes", "size_agreement"} <= set(tables) or study.options.exchangeable:
        return {}
    drawn: dict[str, str] = {}
    readings = [r for r in gather_sizes(tables["sizes"], study) if r.size in RATIOS]
    for each in sorted(readings, key=lambda r: -len(r.cases)):
        for name, values in gather_references(tables["reference_sizes"], each).items():
            for j, rater in enumerate(each.raters):
                key = chart_name((rater, name), each.label)
                if len(drawn) < MOST_CHARTS and key not in drawn:
                    svg = reference_chart(each, (rater, name), each.first[:, j], values, tables["size_agreement"])
                    drawn |= {key: svg} if svg else {}
    return drawn
