"""Groups beside each other: kappa, overlap with STAPLE, scores of shared votes (Yang's Fig. 7)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.rows import Row
from ...analyses.summaries import groups_of
from ...charts.grouped_bars import Bar, Entry, grouped_bars
from ..findings import Findings
from ..parts import Chart
from .numbers import find_table, is_defined
from .wording import interval_name, subject_word

BARS = {
    "fleiss_kappa": "Fleiss' kappa",
    "dice": "Dice of two raters",
    "heatmap_score": "shared votes",
    "ranking_heatmap_score": "severity score",
}


def compare_groups(findings: Findings) -> Iterator[Chart]:
    """Bars for numbers of all raters, a point a rater for the IoU with STAPLE; nothing with one group."""
    groups = _compared_groups(findings)
    if len(groups) < 2:
        return
    entries = {group: _bars(findings, group) | _points(findings, group) for group in groups}
    if not any(entries.values()):
        return
    svg = grouped_bars(entries, f"mean over {subject_word(findings)}s", "Groups beside each other")
    bars = [bar for own in entries.values() for bar in own.values() if isinstance(bar, tuple)]
    caption = [f"Bars: means over {subject_word(findings)}s."]
    caption += [f"Whiskers: {interval_name(findings)}."] if any(not math.isnan(low) for _, low, _ in bars) else []
    caption += ["Each dot is one rater: the overlap (IoU) with STAPLE."] if _staple(findings) else []
    yield Chart("group-comparison", svg, " ".join(caption))


def _compared_groups(findings: Findings) -> list[str]:
    rows = find_table(findings, "agree", "agreement").all("fleiss_kappa", "mean")
    groups = groups_of(findings.agreement.tallies)
    return list(dict.fromkeys(row.group for row in rows if row.group in groups))


def _bars(findings: Findings, group: str) -> dict[str, Entry]:
    table = find_table(findings, "agree", "agreement")
    rows = {title: table.row(statistic, group=group) for statistic, title in BARS.items()}
    return {title: _bar(row) for title, row in rows.items() if row is not None and is_defined(row)}


def _bar(row: Row) -> Bar:
    low, high = (math.nan if end is None else float(end) for end in (row.low, row.high))
    return float(row.value), low, high


def _staple(findings: Findings) -> str:
    return "staple" if "staple" in findings.fusion.methods else ""


def _points(findings: Findings, group: str) -> dict[str, Entry]:
    rows = find_table(findings, "fuse", "performance").all("iou", "mean")
    values = [float(r.value) for r in rows if r.group == group and r["method"] == _staple(findings) and is_defined(r)]
    return {"IoU of each rater with STAPLE": values} if values else {}
