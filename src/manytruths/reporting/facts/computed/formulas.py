"""The formulas of what stands on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....fusion.registry import estimator
from ...findings import Findings
from ...parts import Column, PageTable, words
from ..numbers import all_tables
from .counts import Counts
from .formula_list import FORMULAS, NOTATION, SUFFIXES, Formula


def used(found: Findings) -> dict[str, Formula]:
    """By name in the list, what has a value anywhere, and the methods that were run."""
    met = set(_met(found))
    if "effective_raters" not in met:
        # of so few raters STAPLE explains whatever errors they share
        met.discard("error_correlation")
    if not Counts(found).jackknifed:
        met.discard("over_raters")
    return {name: one for by in FORMULAS.values() for name, one in by.items() if name in met}


def _met(found: Findings) -> Iterator[str]:
    for _, table in all_tables(found):
        for statistic in {row.statistic for row in table.rows if not math.isnan(row.value)}:
            yield from names_of(table.name, statistic)
    methods = [*found.fusion.methods, *(found.evaluation.plan.truths if found.evaluation else ())]
    yield from (f"method.{estimator(method)[0].name}" for method in methods)


def names_of(table: str, statistic: str) -> list[str]:
    """Under which names a statistic of a file stands in the list: its own, and those of what its suffix means."""
    known = {name for by in FORMULAS.values() for name in by}
    own = f"{table}.{statistic}"
    if own in known:
        return [own]
    for suffix, meaning in SUFFIXES.items():
        if statistic.endswith(suffix):
            return [meaning, *names_of(table, statistic.removesuffix(suffix))]
    return [statistic] if statistic in known else []


def formulas(found: Findings) -> PageTable:
    """Every formula that is used."""
    here = used(found)
    rows = [
        (one.title, about, one.formula, one.meaning, one.undefined or "never", "; ".join(one.cited))
        for about, by in FORMULAS.items()
        for name, one in by.items()
        if name in here
    ]
    heads = ("Number", "Of", "Formula", "What it means", "Undefined where", "Reference")
    return PageTable(
        "formulas", "Formulas", tuple(Column(head, number=False) for head in heads),
        tuple(tuple(words(cell) for cell in row) for row in rows), NOTATION, filter=True, closed=True,
    )  # fmt: skip
