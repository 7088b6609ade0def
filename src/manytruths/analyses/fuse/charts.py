"""The charts of ``fuse``: raters' IoU with each consensus (Yang's Fig. 12), and the plane of complexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...charts.planes import histograms, plane

if TYPE_CHECKING:
    from .verb import Fusion


def charts(found: Fusion) -> dict[str, str]:
    """SVG by name."""
    drawn: dict[str, str] = {}
    if len(found.cases) < 2:
        return drawn  # one case has no distribution
    for method in found.methods:
        values = _by_rater(found, method)
        if values:
            name = f"iou-{method.replace(':', '-')}"
            drawn[name] = histograms(values, "IoU", f"Each rater's overlap with {method}, case by case")
    cases = {name: f.complexity for name, f in found.cases.items()}
    if any(not c.reason for c in cases.values()):
        points = {name: (float(c.entropy), float(c.mean)) for name, c in cases.items()}
        groups = {name: found.groups.classify(c) for name, c in cases.items()} if found.groups else None
        drawn["complexity"] = plane(points, groups, "How complex is each case?")
        values = {"all cases": [float(c.esm) for c in cases.values()]}
        drawn["esm"] = histograms(values, "entropy scaled by mean (ESM)", "Complexity of the cases")
    return drawn


def _by_rater(found: Fusion, method: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in found.performance.all("iou", "case"):
        if row["method"] == method:
            values.setdefault(str(row["rater"]) or "mean of raters", []).append(float(row.value))
    return values
