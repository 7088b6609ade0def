"""Charts of sizes, where ``sizes`` was measured: by rater, by case, and limits of agreement, of areas or volumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...charts import bland_altman_chart, size_strips, slope_chart
from ...charts.pairs import MANY
from ...claims.sentences import label_words
from ...io import safe_name
from ...io.result_tables import Row, Table
from .size_agreement import RATIOS, SizeReadings, end_of, gather_sizes

if TYPE_CHECKING:
    from .agree import Agreement

MOST_LABELS = 6
"""Labels with charts of their own; all are in the tables."""
MOST_LINES = 400
"""Cases in a slope chart; of more, every second or third is drawn, and so on."""


def size_charts(result: Agreement, colours: Mapping[str, str] | None = None) -> dict[str, str]:
    """SVG by name; nothing where sizes were not measured. ``colours`` are ``#rrggbb`` by rater."""
    if "sizes" not in result.tables or "size_agreement" not in result.tables:
        return {}
    svg: dict[str, str] = {}
    readings = [r for r in gather_sizes(result.tables["sizes"], result.study) if r.size in RATIOS]
    largest = max((len(r.cases) for r in readings), default=0)
    # of cases with different units those that are most
    chosen = {r.label: r for r in reversed(readings) if len(r.cases) == largest or len(readings) == 1}
    for label, each in list(reversed(chosen.items()))[:MOST_LABELS]:
        ending = f"-{safe_name(label)}" if label else ""
        drawn = _charts_of(
            each, result.tables["size_agreement"], exchangeable=result.study.options.exchangeable, colours=colours
        )
        svg |= {f"{name}{ending}": chart for name, chart in drawn.items()}
    return svg


def _charts_of(
    readings: SizeReadings, table: Table, *, exchangeable: bool, colours: Mapping[str, str] | None
) -> dict[str, str]:
    first, raters = readings.first, readings.raters
    of = f" of {label_words(readings.label)}" if readings.label else ""
    what, words = f"{readings.size}, {readings.unit}", f"{readings.size.capitalize()}{of}"
    svg = {}
    if (~np.isnan(first)).any() and not exchangeable and len(raters) <= MANY:
        columns = {rater: first[:, j].tolist() for j, rater in enumerate(raters)}
        svg["sizes-by-rater"] = size_strips(columns, what, f"{words} by rater", log=True, names=readings.cases)
        if len(raters) > 1:
            every = range(0, len(readings.cases), math.ceil(len(readings.cases) / MOST_LINES))
            lines = {readings.cases[i]: first[i].tolist() for i in every}
            title = f"{words} of each case" if len(every) == len(readings.cases) else f"{words}, {len(every)} cases"
            svg["sizes-by-case"] = slope_chart(lines, raters, what, title, log=True)
    limits = _pair_chart(readings, table, what, words) if len(raters) == 2 and not exchangeable else ""
    limits = limits or _mean_chart(readings, table, what, words, exchangeable=exchangeable, colours=colours)
    return svg | ({"size-limits-of-agreement": limits} if limits else {})


def _rows(table: Table, readings: SizeReadings, statistics: Sequence[str], **fields: str) -> list[Row]:
    return [
        row
        for statistic in statistics
        for row in table.all(statistic, "pooled")
        if row.label == readings.label
        and (row["size"], row["unit"]) == (readings.size, readings.unit)
        and all(row[name] == value for name, value in fields.items())
    ]


def _ends(row: Row) -> tuple[float, float, float]:
    return float(row.value), end_of(row.low), end_of(row.high)


def _pair_chart(readings: SizeReadings, table: Table, what: str, words: str) -> str:
    """The Bland–Altman plot of the two raters."""
    rows = _rows(table, readings, ("bias", "lower_limit", "upper_limit"), relation="between")
    a, b = readings.first.T
    used = (a > 0) & (b > 0)
    if len(rows) != 3 or not used.any():
        return ""
    bias, lower, upper = (_ends(row) for row in rows)
    if math.isnan(upper[0]):
        return ""
    names = [case for case, there in zip(readings.cases, used.tolist(), strict=True) if there]
    first, second = readings.raters
    return bland_altman_chart(
        np.sqrt(a[used] * b[used]), a[used] / b[used], bias=bias, lower=lower, upper=upper, log=True, names=names,
        xlabel=f"geometric mean of the two, {what}", ylabel=f"{first} / {second}",
        title=f"{words}: limits of agreement",
    )  # fmt: skip


def _mean_chart(
    readings: SizeReadings, table: Table, what: str, words: str, *, exchangeable: bool,
    colours: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Each rater against the mean of all."""
    rows = _rows(table, readings, ("limits_with_mean",))
    first = readings.first
    used = ((~np.isnan(first)).sum(axis=1) > 1) & ~(first == 0).any(axis=1)
    if len(rows) != 1 or not used.any():
        return ""
    value, low, high = _ends(rows[0])
    if math.isnan(value):
        return ""
    with np.errstate(divide="ignore"):
        middle = np.exp(np.nanmean(np.log(first[used]), axis=1))
    i, j = np.nonzero(~np.isnan(first[used]))
    cases = [case for case, there in zip(readings.cases, used.tolist(), strict=True) if there]
    return bland_altman_chart(
        middle[i], first[used][i, j] / middle[i],
        lower=(1 / value, 1 / high, 1 / low), upper=(value, low, high), log=True,
        names=[f"{cases[a]}, {readings.raters[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)],
        groups=None if exchangeable or len(readings.raters) > MANY else [readings.raters[b] for b in j.tolist()],
        colours=colours,
        xlabel=f"geometric mean of all raters, {what}", ylabel="rater / mean of all raters",
        title=f"{words}: limits of agreement with the mean",
    )  # fmt: skip
