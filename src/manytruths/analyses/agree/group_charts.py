"""Charts of groups that were compared, ``groups.csv``: numbers of each group and differences, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from ...charts import group_chart
from ...io import safe_name
from ...io.result_tables import Row, Table
from ..paper_tables.wide import statistic_title
from .size_agreement import end_of

MOST_PAIRS = 10
"""Pairs of groups that are drawn: those with the smallest p values; all are in the table."""
SUFFIX = "_difference"


def group_charts(table: Table, only_of: str = "", statistics: Collection[str] = ()) -> dict[str, str]:
    """SVG by name, ``groups-raters-expertise-dice``: a chart for each column and statistic with a number.

    Of groups of raters or of cases ``only_of``, and of some ``statistics``, where these are given.
    """
    drawn: dict[str, str] = {}
    for (of, by, statistic, label), rows in _comparisons(table).items():
        if (only_of and of != only_of) or (statistics and statistic not in statistics):
            continue
        chart = _chart(table, rows, of, by, statistic)
        if chart:
            drawn[f"groups-{of}-{safe_name(by)}-{statistic}{f'-{safe_name(label)}' if label else ''}"] = chart
    return drawn


def _comparisons(table: Table) -> dict[tuple[str, str, str, str], list[Row]]:
    """Differences of two groups, by what they are of, column, statistic and label."""
    tested = {(r.statistic, r.label, r.extra) for r in table.rows}
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in table.rows:
        statistic = row.statistic.removesuffix(SUFFIX)
        # the statistic volume_difference ends in the same word
        if row.statistic.endswith(SUFFIX) and (f"{statistic}_p_value", row.label, row.extra) in tested:
            found.setdefault((row["of"], row["by"], statistic, row.label), []).append(row)
    return found


def _chart(table: Table, differences: list[Row], of: str, by: str, statistic: str) -> str:
    label = differences[0].label
    rows = {r.extra: r for r in table.rows if (r.statistic, r.label) == (statistic, label)}
    p = {r.extra: r.value for r in table.rows if (r.statistic, r.label) == (f"{statistic}_p_value", label)}
    names = dict.fromkeys(g for row in differences for g in (row["group_a"], row["group_b"]))
    ends = {g: _ends(rows[by, of, g, g if of == "raters" else ""]) for g in names}
    if all(math.isnan(value) for value, _, _ in ends.values()):
        return ""
    smallest = sorted(differences, key=lambda row: (math.isnan(p[row.extra]), p[row.extra]))[:MOST_PAIRS]
    pairs = [row for row in differences if row in smallest]
    between = dict(_pairs(rows[row.extra] for row in pairs)) if of == "raters" else {}
    unit, mean = differences[0].unit, f", {label}" if label else ""
    some = f", {len(pairs)} of {len(differences)} pairs" if len(pairs) < len(differences) else ""
    return group_chart(
        ends, between, dict(_pairs(pairs)), xlabel=f"{statistic_title(statistic)}{mean}{f', {unit}' if unit else ''}",
        title=f"Groups of {of} by {by}{some}",
    )  # fmt: skip


def _pairs(rows: Iterator[Row] | list[Row]) -> Iterator[tuple[tuple[str, str], tuple[float, float, float]]]:
    for row in rows:
        yield (row["group_a"], row["group_b"]), _ends(row)


def _ends(row: Row) -> tuple[float, float, float]:
    return float(row.value), end_of(row.low), end_of(row.high)
