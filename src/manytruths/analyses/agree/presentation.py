"""What ``agree`` prints, and its charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import curve, dendrogram, matrix, strip
from ...charts.curves import line_chart
from ...charts.pairs import MANY
from ...claims.agreement import COUNTED_REGIONS, level_words
from ...claims.claim import Claims
from ...claims.groups import without_claimed_means
from ...claims.masks import IDS, KINDS, count_as_is
from ...claims.numbers import TableIndex, telling_digits
from ...claims.raters import RaterFacts
from ...claims.readings import NOT_EVALUABLE
from ...claims.sentences import counted, number, spell_count, there_are
from ...claims.sessions import COUNTED
from ...core.labels import MACRO
from ...core.undefined import code, code_of, reason
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row, Table
from ...raters import RaterDifferences
from ..printing import grid, print_parts, with_interval
from ..tables import region_of
from .group_charts import group_charts
from .lesions import detection_chart
from .reference_sizes import rater_charts
from .references import reference_grid
from .size_charts import size_charts

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
    "volume_difference": "relative {size} difference (2 if one is empty)",
    "volume_difference_both_marked": "relative {size} difference, both marked",
    "hausdorff_95": "95% Hausdorff distance, {unit}",
    "mean_surface_distance": "mean surface distance, {unit}",
    "surface_dice": "surface Dice at {tolerance}",
    "percent_agreement": "percent agreement",
    "smyth_bound": "Smyth's error bound",
}
"""The statistics of the first table; all of them are in agreement.csv."""
OVERLAPS = (
    *("dice", "positive_agreement", "volume_difference", "volume_difference_both_marked"),
    *("hausdorff_95", "mean_surface_distance", "surface_dice"),
)
"""Of several labels, their macro means."""

SCALES = {
    "landis_koch": "Landis and Koch's scale",
    "fleiss": "Fleiss' scale",
    "altman": "Altman's scale",
    "shrout": "Shrout's scale",
}
"""Whose words for kappa."""


def print_agreement(result: Agreement, console: Console) -> None:
    """The headline numbers, groups, raters, disputed cases and notes."""
    region = COUNTED_REGIONS.get(region_of(result.tallies), region_of(result.tallies))
    console.print(f"[bold]{result.describe()}[/bold]; counted: {region.format(item=result.pixel_word)}\n")
    _print_broken_masks(result, console)
    parts = (
        _headlines(result), _labels(result), _groups(result), _compared_groups(result),
        _raters(result), _within(result), _edits(result),
        reference_grid(result.tables.get("reference_scores")), _disputed(result),
    )  # fmt: skip
    said = (*IDS, COUNTED.id, NOT_EVALUABLE.id)  # as notes
    told = without_claimed_means(result.claims)
    others = Claims(claim for claim in told if claim.kind.id not in said)
    notes = [note for note in result.notes if code_of(note) not in KINDS]
    print_parts(console, parts, (*_interval_note(result), *notes), others)


def _print_broken_masks(result: Agreement, console: Console) -> None:
    """Masks that are probably broken, before every number."""
    notes = [note for note in result.notes if code_of(note) in KINDS]
    if notes:
        console.print(f"[bold yellow]First of all[/bold yellow] (a{count_as_is(result.suspicions)[1:]}):")
        for note in notes:
            console.print(f"• {note}", markup=False, highlight=False, soft_wrap=True)
        console.print()


def _headlines(result: Agreement) -> Any:
    table, rows = _index(result), []
    several = result.tallies[next(iter(result.tallies))].labels.several
    # of several labels, overlap comes first
    for name in sorted(NAMES, key=lambda name: name not in OVERLAPS) if several else NAMES:
        mean, std, pooled = (table.row(name, scope) for scope in ("mean", "std", "pooled"))
        if mean is not None and std is not None:
            undefined = f"{mean.n_undefined} of {(mean.n or 0) + (mean.n_undefined or 0)}" if mean.n_undefined else ""
            size = "area" if result.pixel_word == "pixel" else "volume"
            title = NAMES[name].format(size=size, unit=mean.unit, tolerance=tolerance_text(result.agreement))
            title = title.strip().removesuffix(" at").removesuffix(",")
            title = title.removesuffix(", mean of pairs") + ", macro mean" if mean.label == MACRO else title
            both = interval_over_both(result.agreement, name, mean.label)
            whole = with_interval(pooled) if pooled is not None else ""
            rows.append([title, with_interval(mean), both, number(std.value), whole, undefined])
    header = ["", "mean over subjects", "over both", "± std", "pooled", "undefined"]
    intervals = f", with {result.settings.level:.0%} intervals over subjects"
    heading = f"Agreement{intervals if _has_intervals(result.agreement) else ''}"
    if any(row[2] for row in rows):
        return grid(f"{heading}; over both: other subjects and other raters", header, rows)
    return grid(heading, [*header[:2], *header[3:]], [[*row[:2], *row[3:]] for row in rows])


def tolerance_text(table: Table) -> str:
    """``1.5 mm``, or those of several labels; empty where there is none."""
    rows = [row for row in table.all("surface_tolerance", "pooled") if not reason(row.value)]
    if not rows or len({row.unit for row in rows}) > 1:
        return ""
    unit = rows[0].unit
    values = [f"{row.value:.3g}" for row in rows]
    values = values[:1] if len(set(values)) == 1 else values
    return f"{', '.join(values)} {unit.removesuffix('s') if rows[0].value == 1 else unit}"


def _has_intervals(table: Table) -> bool:
    """Whether any headline has an interval over subjects."""
    rows = (row for name in NAMES for scope in ("mean", "pooled") for row in table.all(name, scope))
    return any(row.low is not None and not math.isnan(row.low) for row in rows)


def _interval_note(result: Agreement) -> list[str]:
    """Why there are no intervals, or none of the macro means."""
    dice, there = _index(result).row("dice"), len(result.study.subjects)
    if there < MIN_SUBJECTS:
        return [f"no intervals over subjects: they need at least {MIN_SUBJECTS}, and {there_are(there)}"]
    if dice is not None and dice.low is not None and code(dice.low) == "label_of_few_subjects":
        return [f"macro means have no interval: {reason(dice.low)}"]
    if _has_intervals(result.agreement):
        return []
    means = (_index(result).row(name) for name in NAMES)
    ends = [row.low for row in means if row is not None and row.low is not None and not reason(row.value)]
    same = [end for end in ends if code(end) == "no_spread"]
    if same and len(same) == len(ends):
        return [f"no intervals over subjects: {reason(same[0])}"]
    return [f"no intervals over subjects: they need at least {MIN_SUBJECTS} with defined values"]


def _index(result: Agreement) -> TableIndex:
    return TableIndex("agree/agreement.csv", result.agreement)


def _labels(result: Agreement) -> Any:
    """Each label against the rest."""
    table, rows = _index(result), []
    for row in table.all("dice", "mean", label=None):
        if row.label not in ("", MACRO) and not row.group:
            kappa = table.row("fleiss_kappa", label=row.label)
            beyond = with_interval(kappa) if kappa is not None else "–"
            rows.append([row.label, str(row.n), with_interval(row), beyond])
    header = ["", "subjects with it", "Dice, mean of pairs", "Fleiss' kappa"]
    return grid("By label, each against the rest, mean over subjects", header, rows) if rows else None


def interval_over_both(table: Table, statistic: str, label: str = "") -> str:
    """``0.37–0.50``: the interval of a mean over subjects and raters; empty where there is none."""
    rows = [row for row in table.all(f"{statistic}_over_both", "mean") if row.label == label]
    return with_interval(rows[0]).partition(" (")[2].removesuffix(")") if rows else ""


def _groups(result: Agreement) -> Any:
    table, rows = _index(result), []
    groups = [row.group for row in table.all("fleiss_kappa", "mean") if row.group]
    for group in dict.fromkeys(groups):
        kappa, std = (table.row("fleiss_kappa", scope, group=group) for scope in ("mean", "std"))
        dice = table.row("dice", group=group)
        if kappa is not None and std is not None:
            overlap = number(dice.value) if dice is not None else "–"
            spread = f"{with_interval(kappa)} ± {number(std.value)}"
            words = level_words(kappa, result.settings.kappa_scale, len(result.study.rater_names))
            rows.append([group, str(kappa.n), spread, words, overlap])
    return grid("By group", ["", "subjects", "Fleiss' kappa", "level", "Dice"], rows) if rows else None


def _compared_groups(result: Agreement) -> Any:
    """Groups of raters or cases that were asked for, by the statistic that claims rest on."""
    if result.groups is None:
        return None
    table, rows = TableIndex("agree/groups.csv", result.tables["groups"]), []
    for pair in result.groups.pairs:
        where = (pair.by, pair.of, pair.first, pair.second)
        own = [(g, g if pair.of == "raters" else "") for g in (pair.first, pair.second)]
        found = [table.row(pair.statistic, "mean", pair.by, pair.of, *of, label=pair.label) for of in own]
        between = table.row(pair.statistic, "mean", *where, label=pair.label) if pair.of == "raters" else None
        difference = table.row(f"{pair.statistic}_difference", "mean", *where, label=pair.label)
        shown = [with_interval(row) if row is not None else "" for row in (*found, between, difference)]
        p = table.row(f"{pair.statistic}_p_value", "mean", *where, label=pair.label)
        shown += ["–" if p is None else number(p.value), number(pair.p_holm)]
        rows.append([f"{pair.by}: {pair.first} and {pair.second}", *shown])
    header = ["", "first", "second", "between", "first minus second", "p", "p (Holm)"]
    word = "Dice" if all(pair.statistic == "dice" for pair in result.groups.pairs) else "Cohen's kappa"
    return grid(f"Groups: {word} within groups of raters, and in groups of cases", header, rows)


def _raters(result: Agreement) -> Any:
    if result.raters is None:
        return None
    table, label, rows = result.raters.table, result.raters.facts.label, []
    digits = dict.fromkeys(("sensitivity", "specificity", "ppv", "cohen_kappa"), 3)
    digits = {f"{name}_against_others": places for name, places in digits.items()}
    digits |= ({} if label else {"relative_area": 2}) | {"mean_difference": 3}
    outliers = {claim.about for claim in result.claims.of("raters.outlier").made}
    differences = result.raters.differences
    names = most_distant(differences)
    for rater in names:
        cells = [number(table.find(s, "pooled", rater=rater, label=label).value, d) for s, d in digits.items()]
        rows.append([rater, *cells, "outlier" if rater in outliers else ""])
    size = "area" if result.pixel_word == "pixel" else "volume"
    header = ["", "sens.", "spec.", "PPV", "kappa", *([] if label else [size]), "Dice distance", ""]
    sizes = f"{size}: what the rater marked in all, over the mean of what each of the others marked"
    facts, explained = result.raters.facts, ["means over labels" if label else sizes]
    if facts.shared < facts.cases:
        shared = f"over the {counted(facts.shared, 'case')} that all have" if facts.shared else "over different cases"
        explained.append(f"Dice distance {shared}, the other columns over each rater's own, so that they give no order")
    whom = "the other" if len(rows) == 2 else "the vote of the others"
    if len(names) < len(differences.raters):
        every = len(differences.raters)
        explained.append(f"the {len(names)} of {every} with the largest Dice distance; all are in raters.csv")
    return grid(f"Raters, against {whom}, pooled ({'; '.join(explained)})", header, rows)


MOST_LISTED = 20
"""Of many raters, so many have a row on a page or terminal."""


def most_distant(differences: RaterDifferences) -> tuple[str, ...]:
    """All raters or, of many, those who are farthest from the others, the farthest first."""
    names = differences.raters
    if len(names) <= MANY:
        return names
    apart = dict(zip(names, np.nan_to_num(differences.mean_difference, nan=-1.0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: -apart[name])[:MOST_LISTED])


def _within(result: Agreement) -> Any:
    """Sessions of one rater: means over subjects, and over how many."""
    pairs, rows = TableIndex("agree/pairs.csv", result.tables.get("pairs", Table("pairs"))), []
    for row in pairs.all("dice", "mean"):
        if row["relation"] == "within" and not row.group:
            kappa = pairs.row("cohen_kappa", "mean", *row.extra)
            beyond = _precise(kappa) if kappa is not None else "–"
            names = f"{row['rater_a']} and {row['rater_b']}"
            rows.append([names, _precise(row), beyond, repeated_cases(pairs, row)])
    header = ["", "Dice", "Cohen's kappa", "cases"]
    return grid("The same rater twice, mean over subjects", header, rows) if rows else None


def repeated_cases(pairs: TableIndex, pair: Row) -> str:
    """``5 of 8``: the cases with a Dice of two readings, of those that were read twice."""
    case_rows = {s: [r for r in pairs.all(s, "case") if r.extra == pair.extra] for s in ("dice", "cohen_kappa")}
    read = [row for row in case_rows["cohen_kappa"] if code(row.value) != "no_item_rated_by_both"]
    return f"{sum(not code(row.value) for row in case_rows['dice'])} of {len(read)}"


def _precise(row: Row) -> str:
    """A number with its interval, and so many digits that one below 1 does not look like 1."""
    return with_interval(row, telling_digits(row.value, 3))


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
    """By kappa or, of several labels, by their mean Dice."""
    several = next(iter(result.tallies.values())).labels.several
    statistic, name = ("dice", "Dice, mean of labels") if several else ("fleiss_kappa", "Fleiss' kappa")
    cases = list(_index(result).all(statistic, "case"))
    worst = sorted((r for r in cases if not reason(r.value)), key=lambda r: r.value)[:5]
    rows = [[r.case, number(r.value), r.group] for r in worst]
    return grid("Most disputed cases", ["", name, "group"], rows) if len(cases) > 1 and rows else None


def charts(result: Agreement) -> dict[str, str]:
    """SVG by name."""
    svg = {"agreement-curve": _curve(result), "kappa-by-group": _kappas(result), **size_charts(result)}
    svg |= rater_charts(result.tables, result.study)
    svg |= group_charts(result.tables["groups"]) if "groups" in result.tables else {}
    if "detection_curve" in result.tables:
        svg |= detection_chart(result.tables["detection_curve"], result.study.options.lesions)
    if result.raters is None:
        return svg
    differences, tree = result.raters.differences, result.raters.clustering
    facts = result.raters.facts
    shared = "all" if facts.shared == facts.cases else facts.shared or "common"
    title = f"Dice between raters, {shared} cases pooled"
    # of many raters, blocks of those who draw alike are seen where the matrix has the order of the tree
    ordered = (*tree.order, *(name for name in differences.raters if name not in set(tree.order)))
    names = ordered if len(ordered) > MANY else differences.raters
    where = [differences.raters.index(name) for name in names]
    svg["dice-between-raters"] = matrix(1 - differences.pairs.values[np.ix_(where, where)], names, title)
    svg |= _distance_matrix(result, names)
    if len(tree.raters) > 1:
        svg["dendrogram"] = dendrogram(
            tree.linkage,
            tree.raters,
            groups=_first_property(result, tree.raters),
            marked=[claim.about for claim in result.claims.of("raters.outlier").made],
            axis_label="height of Ward's clustering of 1 − Dice",
        )
    return svg


def _distance_matrix(result: Agreement, names: Sequence[str]) -> dict[str, str]:
    """The mean surface distance of every two raters, mean over subjects; nothing where none is defined."""
    index, where = TableIndex("agree/pairs.csv", result.tables["pairs"]), {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    units = set()
    for row in index.all("mean_surface_distance", "mean"):
        if row["relation"] == "between" and not row.group and {row["rater_a"], row["rater_b"]} <= set(where):
            i, j = where[row["rater_a"]], where[row["rater_b"]]
            values[i, j] = values[j, i] = row.value
            units.add(row.unit)
    if np.isnan(values).all():
        return {}
    np.fill_diagonal(values, 0.0)
    title = f"Mean surface distance between raters, {units.pop()}"
    high = float(np.nanmax(values)) or 1.0
    return {"distance-between-raters": matrix(values, names, title, high=float(f"{high:.3g}"), digits=_digits(high))}


def _digits(value: float) -> int:
    """So many that three figures are shown, up to three after the point."""
    return min(3, max(0, 2 - math.floor(math.log10(value))))


def pooled_cases(facts: RaterFacts) -> str:
    """Over which cases distances between raters are pooled."""
    if facts.shared == facts.cases:
        return "all cases pooled"
    all_read, both_read = facts.which_cases
    every = f"{spell_count(facts.shared, 'case')} {all_read}"
    return f"pooled over the {every if facts.shared else f'cases {both_read}'}"


def _curve(result: Agreement) -> str:
    """A line, or one for each of several labels."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for row in result.curve.all("agreement_curve", "pooled"):
        x, y = lines.setdefault(row.label, ([], []))
        x.append(float(row["raters"]))
        y.append(float(row.value))
    axes = ("at least so many raters", "share of what any rater marked")
    if len(lines) < 2:
        return curve(*next(iter(lines.values())), *axes, "How many raters marked the same", ylim=(0, 1))
    most = max(max(x) for x, _ in lines.values())
    return line_chart(lines, *axes, "How many raters gave the same label", xlim=(1.0, max(2.0, most)))


def _kappas(result: Agreement) -> str:
    by_group: dict[str, list[float]] = {}
    for row in result.agreement.all("fleiss_kappa", "case"):
        if not row.label:
            by_group.setdefault(row.group or "all cases", []).append(float(row.value))
    return strip(by_group, "Fleiss' kappa", "Agreement beyond chance, case by case")


def _first_property(result: Agreement, raters: tuple[str, ...]) -> list[str] | None:
    """The first column of ``raters.csv``, for the leaves' marks."""
    properties = result.study.properties
    columns = [column for row in properties.values() for column in row]
    return [properties.get(r, {}).get(columns[0], "") for r in raters] if columns else None
