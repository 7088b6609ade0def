"""The charts of ``fuse``: raters' IoU with each consensus (Yang's Fig. 12), and the plane of complexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...charts.complexity import complexity_plane, histograms

if TYPE_CHECKING:
    from .fuse import Fusion


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
