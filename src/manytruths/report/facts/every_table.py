"""The tables of all verbs, each with the folder that its file lies in."""

from __future__ import annotations

from collections.abc import Iterator

from ...analyses.rows import Table
from ..findings import Findings


def all_tables(found: Findings) -> Iterator[tuple[str, Table]]:
    """As ``agree/agreement.csv`` and the table."""
    fusion = found.fusion
    by_verb = {
        "agree": found.agreement.tables,
        "fuse": (fusion.performance, fusion.differences, fusion.complexity),
        "evaluate": found.evaluation.tables if found.evaluation else (),
        "rank": found.ranking.tables if found.ranking else (),
        "plan": (found.plan.table,) if found.plan else (),
    }
    for verb, tables in by_verb.items():
        yield from ((f"{verb}/{table.name}.csv", table) for table in tables)
