"""What ``fuse`` prints, and its charts: raters' IoU with each consensus (Yang's Fig. 12), the plane of complexity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...charts.complexity import GROUP_NAMES, complexity_plane, histograms
from ...claims.numbers import TableIndex, telling_digits
from ...claims.sentences import counted, number
from ...complexity import STATISTICS
from ...core.labels import MACRO
from ...core.undefined import reason
from ...io.result_tables import Row
from ..agree.references import reference_grid
from ..printing import grid, print_parts
from ..tables import subject_word
from .case import on_modified_background
from .fuse import group_of

if TYPE_CHECKING:
    from rich.console import Console

    from .fuse import Fusion


def print_fusion(result: Fusion, console: Console) -> None:
    """How the methods differ, how far each moves with the region, raters against them, complexity, notes."""
    console.print(f"[bold]{result.describe()}[/bold]\n")
    given = reference_grid(result.tables.get("reference_scores"))
    parts = (_differences(result), _regions(result), _performance(result), given, _complexity(result))
    print_parts(console, parts, (*_dependence(result), *result.notes), result.claims)


def _over(result: Fusion) -> str:
    """``mean over 21 patients``; a cell whose mean is over fewer says over how many."""
    return f"mean over {counted(len(result.study.subjects), subject_word(result.study))}"


def _with_n(result: Fusion, text: str, row: Row | None) -> str:
    """A number and, unless it is a mean over all subjects, over how many."""
    fewer = row is not None and row.n is not None and row.n != len(result.study.subjects)
    return f"{text}, n {row.n}" if row is not None and fewer and not reason(row.value) else text


def _differences(result: Fusion) -> Any:
    """Method against method, mean over subjects."""
    table = TableIndex("fuse/differences.csv", result.differences)
    rows = []
    for row in (row for row in result.differences.all("dice", "pooled") if row.label in ("", MACRO)):
        a, b = str(row["method_a"]), str(row["method_b"])
        size, changed = (table.row(s, "mean", a, b) for s in ("volume_difference", "changed"))
        cells = _with_n(result, number(size.value if size else None), size), _changed(result, changed)
        rows.append([f"{a} and {b}", _spread(result, a, b), *cells])
    header = ["", "Dice ± std", "relative difference of sizes", f"{result.pixel_word}s changed"]
    return grid(f"How far the methods differ, {_over(result)}{_of_labels(result)}", header, rows) if rows else None


def _of_labels(result: Fusion) -> str:
    """What numbers of overlap are where there are several labels."""
    return " and labels (macro mean)" if _is_macro(result) else ""


def _is_macro(result: Fusion) -> bool:
    return next(iter(result.tallies.values())).labels.several


def _spread(result: Fusion, a: str, b: str) -> str:
    table = TableIndex("fuse/differences.csv", result.differences)
    mean, std = (table.row("dice", scope, a, b) for scope in ("mean", "std"))
    digits = telling_digits(mean.value if mean else 0.0, 3)
    text = f"{number(mean.value if mean else None, digits)} ± {number(std.value if std else None, digits)}"
    return _with_n(result, text, mean)


def _changed(result: Fusion, row: Row | None) -> str:
    return _with_n(result, "–" if row is None or reason(row.value) else f"{row.value:.3%}", row)


def _regions(result: Fusion) -> Any:
    """Each method against itself on the modified background."""
    table, rows = TableIndex("fuse/differences.csv", result.differences), []
    for row in result.differences.all("dice", "mean"):
        a, b = str(row["method_a"]), str(row["method_b"])
        if b == on_modified_background(a) and not row.group and row.label in ("", MACRO):
            rows.append([a, _spread(result, a, b), _changed(result, table.row("changed", "mean", a, b))])
    title = f"How far each moves when the background is cut to the size of the union, {_over(result)}"
    return grid(title, ["", "Dice ± std", f"{result.pixel_word}s changed"], rows) if rows else None


def _performance(result: Fusion) -> Any:
    means = [r for r in result.performance.all("iou", "mean") if not r.group and r.label in ("", MACRO)]
    found = _performance_rows(result)
    rows = [[str(r["rater"]) or "mean of raters", str(r["method"]), *_cells(result, r, found)] for r in means]
    header = ["", "against", "IoU ± std", "sensitivity", "specificity", "accuracy"]
    if all(row[-1] == number(None) for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    title = f"Raters against each consensus, in which they took part, {_over(result)}{_of_labels(result)}"
    return grid(title, header, rows)


def _performance_rows(result: Fusion) -> dict[tuple[object, ...], Row]:
    """The rows that are not of groups, by what they are about."""
    chosen = [("iou", "std"), *((statistic, "mean") for statistic in ("sensitivity", "specificity", "accuracy"))]
    rows = (row for each in chosen for row in reversed(result.performance.all(*each)) if not row.group)
    return {(row.statistic, *row.extra, row.label): row for row in rows}


def _cells(result: Fusion, row: Row, found: Mapping[tuple[object, ...], Row]) -> list[str]:
    def find(statistic: str) -> Row | None:
        return found.get((statistic, *row.extra, row.label))

    def value(statistic: str) -> str:
        mean = find(statistic)
        return _with_n(result, number(mean.value if mean else None), mean)

    std = found.get(("iou", *row.extra, row.label))
    iou = f"{number(row.value)} ± {number(std.value if std else None)}"
    return [_with_n(result, iou, row), *map(value, ("sensitivity", "specificity", "accuracy"))]


def _dependence(result: Fusion) -> list[str]:
    """STAPLE's assumption, in words."""
    rows = [r for r in result.performance.all("effective_raters", "pooled") if not reason(r.value)]
    return [f"staple: the raters err together: {r.n} of them count as {r.value:.1f} independent ones" for r in rows]


def _complexity(result: Fusion) -> Any:
    if _is_macro(result):
        found = {(r.label, s): r for s in STATISTICS for r in result.complexity.all(s, "mean") if not r.group}
        by_label = {label: [found[label, s] for s in STATISTICS] for label, _ in found if label}
        rows = [[label, *(number(r.value) for r in own), _counts(own)] for label, own in by_label.items()]
        title = f"Complexity of the cases by label, each against the rest, {_over(result)}"
        return grid(title, ["", *STATISTICS, "n"], rows)
    *means, dice = (result.complexity.find(s, "mean", **{"class": ""}) for s in (*STATISTICS, "dice"))
    rows = [["mean", *(number(r.value) for r in means), _counts(means), _with_n(result, number(dice.value), dice)]]
    if result.groups:
        members = Counter(group_of(result.groups, f.complexity) for f in result.cases.values())
        for name, centre in zip(result.groups.names, result.groups.centres, strict=True):
            overlap = result.complexity.find("dice", "mean", **{"class": name}).value if members[name] else None
            title = f"{name}: {GROUP_NAMES.get(name, '')} ({counted(members[name], 'case')})"
            rows.append([title, number(centre[0]), "", number(centre[1]), "", "", "", number(overlap)])
    centres = " (groups: entropy and mean at their centre)" if result.groups else ""
    title = f"Complexity of the cases, and Dice of two raters, {_over(result)}{centres}"
    return grid(title, ["", *STATISTICS, "n", "Dice"], rows)


def _counts(rows: Sequence[Row]) -> str:
    """Over how many subjects means are: ``11``, or ``10–11`` where they differ."""
    counts = sorted({row.n or 0 for row in rows})
    return "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))


def charts(result: Fusion) -> dict[str, str]:
    """SVG by name."""
    svg: dict[str, str] = {}
    if len(result.cases) < 2:
        return svg  # one case has no distribution
    for method in result.methods:
        values: dict[str, list[float]] = {}
        for row in result.performance.all("iou", "case"):
            if row["method"] == method and row.label in ("", MACRO):
                values.setdefault(str(row["rater"]) or "mean of raters", []).append(float(row.value))
        if values:
            who = "The raters' mean" if "mean of raters" in values else "Each rater's"
            title = f"{who} overlap with {method}, case by case"
            svg[f"iou-{method.replace(':', '-')}"] = histograms(values, "IoU", title)
    cases = {name: f.complexity for name, f in result.cases.items()}
    if any(not c.reason for c in cases.values()):
        points = {name: (float(c.entropy), float(c.mean)) for name, c in cases.items()}
        groups = {name: group_of(result.groups, c) for name, c in cases.items()} if result.groups else None
        svg["complexity"] = complexity_plane(points, groups, "STAPLE's probabilities, case by case")
        values = {"all cases": [float(c.esm) for c in cases.values()]}
        svg["esm"] = histograms(values, "entropy scaled by mean (ESM)", "Complexity of the cases")
    return svg
