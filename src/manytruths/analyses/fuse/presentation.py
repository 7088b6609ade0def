"""What ``fuse`` prints.

The charts of ``fuse``: raters' IoU with each consensus (Yang's Fig. 12), and the plane of complexity.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...charts.complexity import complexity_plane, histograms
from ...complexity import STATISTICS
from ...core.undefined import reason
from ..printing import counted, grid, number
from ..tables import Row
from .case import on_modified_background

if TYPE_CHECKING:
    from rich.console import Console

    from .fuse import Fusion
if TYPE_CHECKING:
    from .fuse import Fusion


def print_fusion(result: Fusion, console: Console) -> None:
    """How the methods differ, how far each moves with the region, raters against them, complexity, notes."""
    study = result.study
    console.print(
        f"[bold]{counted(len(result.methods), 'method')}, {counted(len(study), 'case')}, "
        f"{counted(len(study.rater_names), 'rater')}[/bold]\n"
    )
    for part in (_differences(result), _regions(result), _performance(result), _complexity(result)):
        if part is not None:
            console.print(part)
    for note in (*_dependence(result), *result.notes):
        console.print(f"• {note}", markup=False, highlight=False)


def _differences(result: Fusion) -> Any:
    """Method against method, mean over subjects."""
    rows = []
    for row in result.differences.all("dice", "pooled"):
        a, b = str(row["method_a"]), str(row["method_b"])
        mean = {
            s: result.differences.find(s, "mean", method_a=a, method_b=b)
            for s in ("dice", "volume_difference", "changed")
        }
        cells = [_spread(result, "dice", a, b), number(mean["volume_difference"].value), f"{mean['changed'].value:.3%}"]
        rows.append([f"{a} and {b}", *cells])
    header = ["", "Dice ± std", "size differs by", "items changed"]
    return grid("How far the methods differ, mean over subjects", header, rows) if rows else None


def _spread(result: Fusion, statistic: str, a: str, b: str) -> str:
    mean, std = (result.differences.find(statistic, scope, method_a=a, method_b=b).value for scope in ("mean", "std"))
    return f"{number(mean)} ± {number(std)}"


def _regions(result: Fusion) -> Any:
    """Each method against itself on the modified background."""
    rows = []
    for row in result.differences.all("dice", "mean"):
        a, b = str(row["method_a"]), str(row["method_b"])
        if b == on_modified_background(a) and not row.group:
            changed = result.differences.find("changed", "mean", method_a=a, method_b=b).value
            rows.append([a, _spread(result, "dice", a, b), f"{changed:.3%}"])
    header = ["", "Dice ± std", "items changed"]
    return (
        grid("How far each moves when the background is cut to the size of the union", header, rows) if rows else None
    )


def _performance(result: Fusion) -> Any:
    means = [r for r in result.performance.all("iou", "mean") if not r.group]
    rows = [[str(r["rater"]) or "mean of raters", str(r["method"]), *_cells(result, r)] for r in means]
    header = ["", "against", "IoU ± std", "sensitivity", "specificity", "accuracy"]
    return grid("Raters against each consensus, mean over subjects", header, rows)


def _cells(result: Fusion, row: Row) -> list[str]:
    method, rater = row["method"], row["rater"]
    table = result.performance

    def value(statistic: str, scope: str = "mean") -> str:
        if not any(r.extra == row.extra for r in table.all(statistic, scope)):
            return "–"
        return number(table.find(statistic, scope, method=method, rater=rater).value)

    return [f"{number(row.value)} ± {value('iou', 'std')}", *map(value, ("sensitivity", "specificity", "accuracy"))]


def _dependence(result: Fusion) -> list[str]:
    """STAPLE's assumption, in words."""
    rows = [r for r in result.performance.all("effective_raters", "pooled") if not reason(r.value)]
    return [f"staple: the raters err together: {r.n} of them count as {r.value:.1f} independent ones" for r in rows]


def _complexity(result: Fusion) -> Any:
    means = {s: result.complexity.find(s, "mean").value for s in STATISTICS}
    cells = [number(means[s]) for s in STATISTICS]
    rows = [["mean", *cells]]
    if result.groups:
        members = Counter(result.groups.classify(f.complexity) for f in result.cases.values())
        words = {"A": "strong disagreement", "B": "agreement", "C": "in between"}
        for name, centre in zip(result.groups.names, result.groups.centres, strict=True):
            title = f"{name}: {words.get(name, '')} ({members[name]})"
            rows.append([title, number(centre[0]), "", number(centre[1]), "", ""])
    return grid("Complexity of the cases (groups: entropy and mean at their centre)", ["", *STATISTICS], rows)


def charts(result: Fusion) -> dict[str, str]:
    """SVG by name."""
    svgs: dict[str, str] = {}
    if len(result.cases) < 2:
        return svgs  # one case has no distribution
    for method in result.methods:
        values = _by_rater(result, method)
        if values:
            name = f"iou-{method.replace(':', '-')}"
            svgs[name] = histograms(values, "IoU", f"Each rater's overlap with {method}, case by case")
    cases = {name: f.complexity for name, f in result.cases.items()}
    if any(not c.reason for c in cases.values()):
        points = {name: (float(c.entropy), float(c.mean)) for name, c in cases.items()}
        groups = {name: result.groups.classify(c) for name, c in cases.items()} if result.groups else None
        svgs["complexity"] = complexity_plane(points, groups, "How complex is each case?")
        values = {"all cases": [float(c.esm) for c in cases.values()]}
        svgs["esm"] = histograms(values, "entropy scaled by mean (ESM)", "Complexity of the cases")
    return svgs


def _by_rater(result: Fusion, method: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in result.performance.all("iou", "case"):
        if row["method"] == method:
            values.setdefault(str(row["rater"]) or "mean of raters", []).append(float(row.value))
    return values
