"""What ``agree`` prints, and its charts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...agreement import KAPPA_SCALES, interpret_kappa
from ...charts import curve, dendrogram, matrix, strip
from ...claims.sentences import number
from ...core.undefined import reason
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Table
from ..printing import grid, print_parts, with_interval
from ..tables import region_of

if TYPE_CHECKING:
    from rich.console import Console

    from .agree import Agreement

NAMES = {
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "positive_agreement": "positive agreement",
    "dice": "Dice, mean of pairs",
    "volume_difference": "relative volume difference, mean of pairs",
    "percent_agreement": "percent agreement",
    "smyth_bound": "Smyth's error bound",
}
"""The statistics of the first table; all of them are in agreement.csv."""

SCALES = {
    "landis_koch": "Landis and Koch's scale",
    "fleiss": "Fleiss' scale",
    "altman": "Altman's scale",
    "shrout": "Shrout's scale",
}
"""Whose words for kappa."""


def print_agreement(result: Agreement, console: Console) -> None:
    """The headline numbers, groups, raters, disputed cases and notes."""
    console.print(f"[bold]{result.describe()}[/bold]; region counted: {region_of(result.tallies)}\n")
    console.print(_headlines(result))
    words = interpret_kappa(result.headline("fleiss_kappa").value, result.settings.kappa_scale)
    scale = SCALES[result.settings.kappa_scale]
    console.print(f"Agreement beyond chance is [bold]{words}[/bold] ({scale}, mean kappa).\n")
    parts = (_groups(result), _raters(result), _within(result), _edits(result), _disputed(result))
    print_parts(console, parts, (*_interval_note(result), *result.notes))


def _headlines(result: Agreement) -> Any:
    table, rows = result.agreement, []
    for name, title in NAMES.items():
        if table.all(name, "mean"):
            mean, std, pooled = table.find(name, "mean"), table.find(name, "std"), table.find(name, "pooled")
            undefined = f"{mean.n_undefined} of {(mean.n or 0) + (mean.n_undefined or 0)}" if mean.n_undefined else ""
            rows.append([title, with_interval(mean), number(std.value), with_interval(pooled), undefined])
    header = ["", "mean over subjects", "± std", "pooled", "undefined"]
    intervals = f", with {result.settings.level:.0%} intervals over subjects" if _has_intervals(table) else ""
    return grid(f"Agreement{intervals}", header, rows)


def _has_intervals(table: Table) -> bool:
    """Whether any headline has an interval over subjects."""
    rows = (row for name in NAMES for scope in ("mean", "pooled") for row in table.all(name, scope))
    return any(row.low is not None and not math.isnan(row.low) for row in rows)


def _interval_note(result: Agreement) -> list[str]:
    if _has_intervals(result.agreement):
        return []
    there = len(result.study.subjects)
    if there < MIN_SUBJECTS:
        return [f"no intervals: they need at least {MIN_SUBJECTS} subjects, and there are {there}"]
    return [f"no intervals: they need at least {MIN_SUBJECTS} subjects with defined values"]


def _groups(result: Agreement) -> Any:
    table, rows = result.agreement, []
    groups = [row.group for row in table.all("fleiss_kappa", "mean") if row.group and not row.label]
    for group in dict.fromkeys(groups):
        kappa, std = (table.find("fleiss_kappa", scope, group=group) for scope in ("mean", "std"))
        dice = number(table.find("dice", "mean", group=group).value) if table.all("dice", "mean") else "–"
        words = interpret_kappa(kappa.value, result.settings.kappa_scale)
        rows.append([group, str(kappa.n), f"{number(kappa.value)} ± {number(std.value)}", words, dice])
    return grid("By group", ["", "subjects", "Fleiss' kappa", "level", "Dice"], rows) if rows else None


def _raters(result: Agreement) -> Any:
    if result.raters is None:
        return None
    table, differences, rows = result.raters.table, result.raters.differences, []
    digits = dict.fromkeys(("sensitivity", "specificity", "ppv", "cohen_kappa", "cohen_kappa_against_others"), 3)
    digits |= {"relative_area": 2, "mean_difference": 3}
    for rater in differences.raters:
        cells = [number(table.find(s, "pooled", rater=rater).value, places) for s, places in digits.items()]
        rows.append([rater, *cells, "outlier" if rater in differences.outliers else ""])
    header = ["", "sens.", "spec.", "PPV", "kappa", "kappa, others", "area", "Dice distance", ""]
    return grid("Raters, against the 0.5 consensus, pooled (area: relative to the others' mean)", header, rows)


def _within(result: Agreement) -> Any:
    pairs, rows = result.tables.get("pairs", Table("pairs")), []
    for row in pairs.all("dice", "pooled"):
        if row["relation"] == "within":
            same = {name: row[name] for name in ("rater_a", "rater_b", "relation")}
            kappa = pairs.find("cohen_kappa", **same).value
            rows.append([f"{row['rater_a']} and {row['rater_b']}", number(row.value), number(kappa)])
    return grid("The same rater twice, pooled", ["", "Dice", "Cohen's kappa"], rows) if rows else None


def _edits(result: Agreement) -> Any:
    """The volume edited at each step."""
    table, rows = result.tables.get("edits", Table("edits")), []
    for row in table.all("edited_volume", "pooled"):
        edit = {name: row[name] for name in ("rater", "based_on", "step")}
        added, removed, share, overlap = (
            table.find(name, "pooled", **edit).value for name in ("added", "removed", "edited_share", "dice")
        )
        counts = [str(row["step"]), str(row.n), f"{row.value:,.6g}", f"{added:,.0f}", f"{removed:,.0f}"]
        rows.append([f"{row['based_on']} → {row['rater']}", *counts, number(share), number(overlap)])
    units = {t.unit.name if t.unit else "items" for t in result.tallies.values()}
    size = f"edited, {units.pop()}" if len(units) == 1 else "edited"
    header = ["", "step", "cases", size, "added", "removed", "share", "Dice"]
    return grid("Edits of another's read, all cases together", header, rows) if rows else None


def _disputed(result: Agreement) -> Any:
    cases = [r for r in result.agreement.all("fleiss_kappa", "case") if not r.label]
    worst = sorted((r for r in cases if not reason(r.value)), key=lambda r: r.value)[:5]
    rows = [[r.case, number(r.value), r.group] for r in worst]
    return grid("Most disputed cases", ["", "Fleiss' kappa", "group"], rows) if len(cases) > 1 and rows else None


def charts(result: Agreement) -> dict[str, str]:
    """SVG by name."""
    svg = {"agreement-curve": _curve(result), "kappa-by-group": _kappas(result)}
    if result.raters is None:
        return svg
    differences, tree = result.raters.differences, result.raters.clustering
    title = "Dice between raters, all cases pooled"
    svg["dice-between-raters"] = matrix(1 - differences.pairs.values, differences.raters, title)
    if len(tree.raters) > 1:
        svg["dendrogram"] = dendrogram(
            tree.linkage,
            tree.raters,
            groups=_first_property(result, tree.raters),
            marked=differences.outliers,
            axis_label="height of Ward's clustering of 1 − F1",
        )
    return svg


def _curve(result: Agreement) -> str:
    rows = result.curve.all("agreement_curve", "pooled")
    x, y = [float(r["raters"]) for r in rows], [r.value for r in rows]
    title = "How many raters marked the same"
    return curve(x, y, "at least so many raters", "share of marked items", title, ylim=(0, 1))


def _kappas(result: Agreement) -> str:
    by_group: dict[str, list[float]] = {}
    for row in result.agreement.all("fleiss_kappa", "case"):
        if not row.label:
            by_group.setdefault(row.group or "all cases", []).append(float(row.value))
    tops = KAPPA_SCALES[result.settings.kappa_scale]
    starts = [-math.inf, *(top for top, _ in tops[:-1])]
    levels = [(start, name) for start, (_, name) in zip(starts, tops, strict=True)]
    return strip(by_group, "Fleiss' kappa", "Agreement beyond chance, case by case", levels=levels)


def _first_property(result: Agreement, raters: tuple[str, ...]) -> list[str] | None:
    """The first column of ``raters.csv``, for the leaves' marks."""
    properties = result.study.properties
    columns = [column for row in properties.values() for column in row]
    return [properties.get(r, {}).get(columns[0], "") for r in raters] if columns else None
