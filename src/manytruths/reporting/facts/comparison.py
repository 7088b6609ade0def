"""Groups beside each other: kappa, overlap with STAPLE, scores of shared votes (Yang's Fig. 7)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.rows import Row
from ...analyses.summaries import groups_of
from ...charts.grouped_bars import Bar, Entry, grouped_bars
from ..findings import Findings
from ..parts import Chart
from .numbers import known, numbers
from .wording import interval_name, unit

BARS = {
    "fleiss_kappa": "Fleiss' kappa",
    "dice": "Dice of two raters",
    "heatmap_score": "shared votes",
    "ranking_heatmap_score": "severity score",
}


def comparison(found: Findings) -> Iterator[Chart]:
    """Bars for numbers of all raters, a point a rater for the IoU with STAPLE; nothing with one group."""
    groups = _groups(found)
    if len(groups) < 2:
        return
    entries = {group: _bars(found, group) | _points(found, group) for group in groups}
    if not any(entries.values()):
        return
    svg = grouped_bars(entries, f"mean over {unit(found)}s", "Groups beside each other")
    bars = [bar for own in entries.values() for bar in own.values() if isinstance(bar, tuple)]
    told = [f"Bars: means over {unit(found)}s."]
    told += [f"Whiskers: {interval_name(found)}."] if any(not math.isnan(low) for _, low, _ in bars) else []
    told += ["Each dot is one rater: the overlap (IoU) with STAPLE."] if _method(found) else []
    yield Chart("group-comparison", svg, " ".join(told))


def _groups(found: Findings) -> list[str]:
    rows = numbers(found, "agree", "agreement").all("fleiss_kappa", "mean")
    groups = groups_of(found.agreement.tallies)
    return list(dict.fromkeys(row.group for row in rows if row.group in groups))


def _bars(found: Findings, group: str) -> dict[str, Entry]:
    table = numbers(found, "agree", "agreement")
    rows = {title: table.row(statistic, group=group) for statistic, title in BARS.items()}
    return {title: _bar(row) for title, row in rows.items() if row is not None and known(row)}


def _bar(row: Row) -> Bar:
    low, high = (math.nan if end is None else float(end) for end in (row.low, row.high))
    return float(row.value), low, high


def _method(found: Findings) -> str:
    return "staple" if "staple" in found.fusion.methods else ""


def _points(found: Findings, group: str) -> dict[str, Entry]:
    rows = numbers(found, "fuse", "performance").all("iou", "mean")
    values = [float(r.value) for r in rows if r.group == group and r["method"] == _method(found) and known(r)]
    return {"IoU of each rater with STAPLE": values} if values else {}
