"""The charts of ``train``: every strategy and network side by side."""

from __future__ import annotations

from collections.abc import Iterator

from ..analyses.rows import Row
from ..charts.dotted import Value, dotted
from ..io import safe_name
from .tables import Compared, labels_of

WORDS = {"extended_dice": "extended Dice", "dice": "Dice"}


def charts(compared: Compared) -> dict[str, str]:
    """SVG by name: extended Dice, and Dice against each truth; the rest is in the tables."""
    return {name: svg for label in labels_of(compared) for name, svg in _charts(compared, label)}


def _charts(compared: Compared, label: str) -> Iterator[tuple[str, str]]:
    rows = [row for row in compared.strategies.rows if row.scope == "mean" and row.label == label]
    for statistic, against in dict.fromkeys((r.statistic, str(r["against"])) for r in rows if r.statistic in WORDS):
        chosen = [r for r in rows if (r.statistic, r["against"]) == (statistic, against)]
        parts = (statistic, "" if statistic == "extended_dice" else against.replace(":", "-"), label)
        title = f"{WORDS[statistic]} against {against}" + (f", {label}" if label else "")
        words = f"{WORDS[statistic]}, mean over subjects and seeds"
        yield "-".join(safe_name(part) for part in parts if part), dotted(_drawn(compared, chosen), words, title)


def _drawn(compared: Compared, rows: list[Row]) -> dict[str, dict[str, Value]]:
    """By strategy, then network; of the single raters the best, who may be another for each network."""
    by = {(r["network"], r["strategy"]): _value(r) for r in rows}
    drawn: dict[str, dict[str, Value]] = {}
    for network, lines in compared.lines.items():
        for line in lines:
            title = "best single rater" if line.name == "single" else line.title
            drawn.setdefault(title, {})[network] = by[network, line.strategy]
    return drawn


def _value(row: Row) -> Value:
    nan = float("nan")
    return row.value, nan if row.low is None else row.low, nan if row.high is None else row.high
