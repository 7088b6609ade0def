"""The formulas of what stands on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....fusion.registry import estimator
from ...findings import Findings
from ...parts import Column, PageTable, text_cell
from ..numbers import all_tables
from .counts import StudyCounts
from .formula_list import FORMULAS, NOTATION, SUFFIXES, Formula


def used_formulas(findings: Findings) -> dict[str, Formula]:
    """By name in the list, what has a value anywhere, and the methods that were run."""
    met = set(_computed_names(findings))
    if "effective_raters" not in met:
        # of so few raters STAPLE explains whatever errors they share
        met.discard("error_correlation")
    if not StudyCounts(findings).jackknifed:
        met.discard("over_raters")
    return {name: formula for by in FORMULAS.values() for name, formula in by.items() if name in met}


def _computed_names(findings: Findings) -> Iterator[str]:
    for _, table in all_tables(findings):
        for statistic in {row.statistic for row in table.rows if not math.isnan(row.value)}:
            yield from formula_names(table.name, statistic)
    methods = [*findings.fusion.methods, *(findings.evaluation.plan.truths if findings.evaluation else ())]
    yield from (f"method.{estimator(method)[0].name}" for method in methods)


def formula_names(table: str, statistic: str) -> list[str]:
    """Under which names a statistic of a file stands in the list: its own, and those of what its suffix means."""
    known = {name for by in FORMULAS.values() for name in by}
    own = f"{table}.{statistic}"
    if own in known:
        return [own]
    for suffix, meaning in SUFFIXES.items():
        if statistic.endswith(suffix):
            return [meaning, *formula_names(table, statistic.removesuffix(suffix))]
    return [statistic] if statistic in known else []


def formula_table(findings: Findings) -> PageTable:
    """Every formula that is used."""
    here = used_formulas(findings)
    rows = [
        (formula.title, about, formula.formula, formula.meaning, formula.undefined or "never", "; ".join(formula.cited))
        for about, by in FORMULAS.items()
        for name, formula in by.items()
        if name in here
    ]
    heads = ("Number", "Of", "Formula", "What it means", "Undefined where", "Reference")
    return PageTable(
        "formulas", "Formulas", tuple(Column(head, number=False) for head in heads),
        tuple(tuple(text_cell(cell) for cell in row) for row in rows), NOTATION, filter=True, closed=True,
    )  # fmt: skip
