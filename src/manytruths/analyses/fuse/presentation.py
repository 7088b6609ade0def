"""What ``fuse`` prints, and its charts: raters' IoU with each consensus (Yang's Fig. 12), the plane of complexity."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ...charts.complexity import GROUP_NAMES, complexity_plane, histograms
from ...claims.numbers import TableIndex
from ...claims.sentences import number
from ...complexity import STATISTICS
from ...core.labels import MACRO
from ...core.undefined import reason
from ...io.result_tables import Row
from ..agree.references import reference_grid
from ..printing import grid, print_parts
from .case import on_modified_background

if TYPE_CHECKING:
    from rich.console import Console

    from .fuse import Fusion


def print_fusion(result: Fusion, console: Console) -> None:
    """How the methods differ, how far each moves with the region, raters against them, complexity, notes."""
    console.print(f"[bold]{result.describe()}[/bold]\n")
    given = reference_grid(result.tables.get("reference_scores"))
    parts = (_differences(result), _regions(result), _performance(result), given, _complexity(result))
    print_parts(console, parts, (*_dependence(result), *result.notes), result.claims)


def _differences(result: Fusion) -> Any:
    """Method against method, mean over subjects."""
    rows = []
    for row in (row for row in result.differences.all("dice", "pooled") if row.label in ("", MACRO)):
        a, b = str(row["method_a"]), str(row["method_b"])
        volume, changed = (_mean(result, s, a, b) for s in ("volume_difference", "changed"))
        rows.append([f"{a} and {b}", _spread(result, a, b), number(volume), f"{changed:.3%}"])
    header = ["", "Dice ± std", "relative volume difference", "items changed"]
    title = f"How far the methods differ, mean over subjects{_of_labels(result)}"
    return grid(title, header, rows) if rows else None


def _of_labels(result: Fusion) -> str:
    """What numbers of overlap are where there are several labels."""
    return " and labels (macro mean)" if _is_macro(result) else ""


def _is_macro(result: Fusion) -> bool:
    return next(iter(result.tallies.values())).labels.several


def _mean(result: Fusion, statistic: str, a: str, b: str, scope: str = "mean") -> float:
    row = TableIndex("fuse/differences.csv", result.differences).row(statistic, scope, a, b)
    return math.nan if row is None else row.value


def _spread(result: Fusion, a: str, b: str) -> str:
    return f"{number(_mean(result, 'dice', a, b))} ± {number(_mean(result, 'dice', a, b, 'std'))}"


def _regions(result: Fusion) -> Any:
    """Each method against itself on the modified background."""
    rows = []
    for row in result.differences.all("dice", "mean"):
        a, b = str(row["method_a"]), str(row["method_b"])
        if b == on_modified_background(a) and not row.group and row.label in ("", MACRO):
            rows.append([a, _spread(result, a, b), f"{_mean(result, 'changed', a, b):.3%}"])
    title = "How far each moves when the background is cut to the size of the union"
    return grid(title, ["", "Dice ± std", "items changed"], rows) if rows else None


def _performance(result: Fusion) -> Any:
    means = [r for r in result.performance.all("iou", "mean") if not r.group and r.label in ("", MACRO)]
    unequal = len({r.n for r in means}) > 1
    rows = [
        [str(r["rater"]) or "mean of raters", str(r["method"]), *_cells(result, r), *([str(r.n)] if unequal else [])]
        for r in means
    ]
    header = ["", "against", "IoU ± std", "sensitivity", "specificity", "accuracy", *(["n"] if unequal else [])]
    return grid(
        f"Raters against each consensus, in which they took part, mean over subjects{_of_labels(result)}", header, rows
    )


def _cells(result: Fusion, row: Row) -> list[str]:
    def value(statistic: str, scope: str = "mean") -> str:
        found = result.performance.all(statistic, scope)
        rows = (r for r in found if r.extra == row.extra and not r.group and r.label == row.label)
        return next((number(r.value) for r in rows), "–")

    return [f"{number(row.value)} ± {value('iou', 'std')}", *map(value, ("sensitivity", "specificity", "accuracy"))]


def _dependence(result: Fusion) -> list[str]:
    """STAPLE's assumption, in words."""
    rows = [r for r in result.performance.all("effective_raters", "pooled") if not reason(r.value)]
    return [f"staple: the raters err together: {r.n} of them count as {r.value:.1f} independent ones" for r in rows]


def _complexity(result: Fusion) -> Any:
    if _is_macro(result):
        means = {(r.label, s): r.value for s in STATISTICS for r in result.complexity.all(s, "mean") if not r.group}
        labels = dict.fromkeys(label for label, _ in means if label)
        rows = [[label, *(number(means[label, s]) for s in STATISTICS)] for label in labels]
        return grid("Complexity of the cases by label, each against the rest, mean", ["", *STATISTICS], rows)
    columns = (*STATISTICS, "dice")
    rows = [["mean", *(number(result.complexity.find(s, "mean").value) for s in columns)]]
    if result.groups:
        members = Counter(result.groups.classify(f.complexity) for f in result.cases.values())
        for name, centre in zip(result.groups.names, result.groups.centres, strict=True):
            overlap = result.complexity.find("dice", "mean", **{"class": name}).value if members[name] else None
            title = f"{name}: {GROUP_NAMES.get(name, '')} ({members[name]})"
            rows.append([title, number(centre[0]), "", number(centre[1]), "", "", number(overlap)])
    title = "Complexity of the cases, and Dice of two raters (groups: entropy and mean at their centre)"
    return grid(title, ["", *STATISTICS, "Dice"], rows)


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
        groups = {name: result.groups.classify(c) for name, c in cases.items()} if result.groups else None
        svg["complexity"] = complexity_plane(points, groups, "STAPLE's probabilities, case by case")
        values = {"all cases": [float(c.esm) for c in cases.values()]}
        svg["esm"] = histograms(values, "entropy scaled by mean (ESM)", "Complexity of the cases")
    return svg
