"""What a person reads after ``agree``.

The charts of ``agree``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...agreement import KAPPA_SCALES, interpret_kappa
from ...charts import curve, dendrogram, matrix, strip
from ...core.undefined import reason
from ...raters import RaterClustering
from ..printing import counted, grid, number, with_interval
from ..tables import Row, Table, region_of

if TYPE_CHECKING:
    from rich.console import Console

    from .agree import Agreement
if TYPE_CHECKING:
    from .agree import Agreement


NAMES = {
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "positive_agreement": "positive agreement",
    "dice": "Dice, mean of pairs",
    "volume_difference": "size difference, mean of pairs",
    "percent_agreement": "percent agreement",
    "smyth_bound": "Smyth's error bound",
}
"""The statistics of the first table; all of them are in agreement.csv."""


def print_agreement(found: Agreement, console: Console) -> None:
    """The headline numbers, groups, raters, disputed cases and notes."""
    study = found.study
    console.print(
        f"[bold]{counted(len(study.rater_names), 'rater')}, {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}[/bold]; region counted: {region_of(found.tallies)}\n"
    )
    console.print(_headlines(found))
    kappa = found.headline("fleiss_kappa")
    console.print(f"Agreement beyond chance is [bold]{interpret_kappa(kappa.value, found.settings.scale)}[/bold] "
                  f"({found.settings.scale}, by the mean kappa).\n")  # fmt: skip
    for part in (_groups(found), _raters(found), _within(found), _edits(found), _disputed(found)):
        if part is not None:
            console.print(part)
    for note in found.notes:
        console.print(f"• {note}", markup=False, highlight=False)


def _headlines(found: Agreement) -> Any:
    rows, level = [], found.settings.level
    table = found.agreement
    for name, title in NAMES.items():
        if not table.all(name, "mean"):
            continue
        mean, std, pooled = table.find(name, "mean"), table.find(name, "std"), table.find(name, "pooled")
        undefined = f"{mean.n_undefined} of {(mean.n or 0) + (mean.n_undefined or 0)}" if mean.n_undefined else ""
        rows.append([title, with_interval(mean), number(std.value), with_interval(pooled), undefined])
    header = ["", "mean over subjects", "± std", "pooled", "undefined"]
    return grid(f"Agreement, with {level:.0%} intervals over subjects", header, rows)


def _groups(found: Agreement) -> Any:
    groups = [row.group for row in found.agreement.all("fleiss_kappa", "mean") if row.group and not row.label]
    rows = []
    for group in dict.fromkeys(groups):
        kappa, std = (found.agreement.find("fleiss_kappa", scope, group=group) for scope in ("mean", "std"))
        dice = _maybe(found.agreement, "dice", group)
        words = interpret_kappa(kappa.value, found.settings.scale)
        rows.append([group, str(kappa.n), f"{number(kappa.value)} ± {number(std.value)}", words, dice])
    return grid("By group", ["", "subjects", "Fleiss' kappa", "level", "Dice"], rows) if rows else None


def _maybe(table: Table, statistic: str, group: str) -> str:
    return number(table.find(statistic, "mean", group=group).value) if table.all(statistic, "mean") else "–"


def _raters(found: Agreement) -> Any:
    if found.raters is None:
        return None
    table, wanted = found.raters.table, ("sensitivity", "specificity", "ppv", "cohen_kappa")
    rows = []
    for rater in found.raters.differences.raters:
        own = [number(table.find(s, "pooled", rater=rater).value) for s in wanted]
        others = number(table.find("cohen_kappa_against_others", "pooled", rater=rater).value)
        area = number(table.find("relative_area", "pooled", rater=rater).value, 2)
        apart = number(table.find("mean_difference", "pooled", rater=rater).value)
        mark = "stands out" if rater in found.raters.differences.outliers else ""
        rows.append([rater, *own, others, area, apart, mark])
    header = ["", "sens.", "spec.", "PPV", "kappa", "kappa, others", "area", "mean 1−F1", ""]
    return grid("Raters, against the 0.5 consensus, pooled (area: of the others' mean)", header, rows)


def _within(found: Agreement) -> Any:
    pairs = found.tables.get("pairs", Table("pairs"))
    rows = [
        [f"{r['rater_a']} and {r['rater_b']}", number(r.value), number(pairs.find("cohen_kappa", **_same(r)).value)]
        for r in pairs.all("dice", "pooled")
        if r["relation"] == "within"
    ]
    return grid("The same rater twice, pooled", ["", "Dice", "Cohen's kappa"], rows) if rows else None


def _edits(found: Agreement) -> Any:
    """The volume edited at each step."""
    table = found.tables.get("edits", Table("edits"))
    rows = []
    for row in table.all("edited_volume", "pooled"):
        rater, parent, step = row["rater"], row["based_on"], row["step"]
        added, removed, share, overlap = (
            table.find(name, "pooled", rater=rater, based_on=parent, step=step).value
            for name in ("added", "removed", "edited_share", "dice")
        )
        counts = [f"{value:,.0f}" for value in (added, removed)]
        rows.append(
            [f"{parent} → {rater}", str(step), str(row.n), f"{row.value:,.6g}", *counts, number(share), number(overlap)]
        )
    header = ["", "step", "cases", _size(found), "added", "removed", "share", "Dice"]
    return grid("Edits of another's read, all cases together", header, rows) if rows else None


def _size(found: Agreement) -> str:
    units = {t.unit.name if t.unit else "items" for t in found.tallies.values()}
    return f"edited, {units.pop()}" if len(units) == 1 else "edited"


def _same(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("rater_a", "rater_b", "relation")}


def _disputed(found: Agreement) -> Any:
    cases = [r for r in found.agreement.all("fleiss_kappa", "case") if not r.label]
    worst = sorted((r for r in cases if not reason(r.value)), key=lambda r: r.value)[:5]
    rows = [[r.case, number(r.value), r.group] for r in worst]
    return grid("Most disputed cases", ["", "Fleiss' kappa", "group"], rows) if len(cases) > 1 and rows else None


def charts(found: Agreement) -> dict[str, str]:
    """SVG by name."""
    drawn = {"agreement-curve": _curve(found), "kappa-by-group": _kappas(found)}
    if found.raters is None:
        return drawn
    names = found.raters.differences.raters
    overlap = 1 - found.raters.differences.pairs.values
    drawn["dice-between-raters"] = matrix(overlap, names, "Dice between raters, all cases pooled")
    tree = found.raters.clustering
    if len(tree.raters) > 1:
        drawn["dendrogram"] = _dendrogram(found, tree)
    return drawn


def _curve(found: Agreement) -> str:
    rows = found.curve.all("agreement_curve", "pooled")
    x = [float(r["raters"]) for r in rows]
    y = [r.value for r in rows]
    return curve(
        x, y, "at least so many raters", "share of marked items", "How many raters marked the same", ylim=(0, 1)
    )


def _kappas(found: Agreement) -> str:
    by_group: dict[str, list[float]] = {}
    for row in found.agreement.all("fleiss_kappa", "case"):
        if not row.label:
            by_group.setdefault(row.group or "all cases", []).append(float(row.value))
    tops = KAPPA_SCALES[found.settings.scale]
    starts = [-math.inf, *(top for top, _ in tops[:-1])]
    levels = [(start, name) for start, (_, name) in zip(starts, tops, strict=True)]
    title = "Agreement beyond chance, case by case"
    return strip(by_group, "Fleiss' kappa", title, levels=levels)


def _dendrogram(found: Agreement, tree: RaterClustering) -> str:
    assert found.raters is not None
    return dendrogram(
        tree.linkage,
        tree.raters,
        groups=_property(found.study.properties, tree.raters),
        marked=found.raters.differences.outliers,
        axis_label="height of Ward's clustering of 1 − F1",
    )


def _property(properties: Mapping[str, Mapping[str, str]], raters: tuple[str, ...]) -> list[str] | None:
    """The first column of ``raters.csv``, for the leaves' marks."""
    columns = [column for row in properties.values() for column in row]
    return [properties.get(r, {}).get(columns[0], "") for r in raters] if columns else None
