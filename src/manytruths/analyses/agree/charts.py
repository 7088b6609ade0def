"""The charts of ``agree``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...agreement import KAPPA_SCALES
from ...charts import curve, dendrogram, matrix, strip
from ...raters import RaterClustering

if TYPE_CHECKING:
    from .agree import Agreement


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
