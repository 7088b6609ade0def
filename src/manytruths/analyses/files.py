"""What every verb writes beside its tables: charts, and the start and the tables of its summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import manytruths

from ..io import write_text
from .rows import Table

SCHEMA = 1
"""Of the summaries; a change that other programs would notice makes it grow."""


def write_charts(charts: Mapping[str, str], folder: Path) -> list[Path]:
    """SVG by name into a folder."""
    paths = [folder / f"{name}.svg" for name in charts]
    for path, svg in zip(paths, charts.values(), strict=True):
        write_text(path, svg)
    return paths


def _without_jobs(value: Any) -> Any:
    """Settings without the number of processes, on which nothing depends: ``run.json`` has it."""
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return {one.name: getattr(value, one.name) for one in fields(value) if one.name != "jobs"}


def summary_of(verb: str, tables: Iterable[Table], **told: Any) -> dict[str, Any]:
    """A verb's summary: versions, what else is told, and the tables' numbers."""
    numbers = {t.name: [dict(zip(t.header, row.cells(), strict=True)) for row in t.rows] for t in tables}
    told = {name: _without_jobs(value) for name, value in told.items()}
    start = {"schema_version": SCHEMA, "manytruths": manytruths.__version__, "verb": verb}
    return {**start, **told, "tables": numbers}
