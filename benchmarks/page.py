"""The page ``docs/benchmarks.md``: ``python -m benchmarks.page``, from what ``python -m benchmarks --json`` kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .__main__ import JOBS
from .results import read

DOCS = Path(__file__).parents[1] / "docs"
KEPT, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
HEAD = """# Benchmarks

`make bench-page` runs every job (`python -m benchmarks --json docs/benchmarks.json`) and writes this page from what
the run kept (`python -m benchmarks.page`). A job fails if its answer is not that of its peer. Most figures are ratios
to a peer that was measured in the same run: with ≥, its time over ours, with ≤ ours over its. Rows that missed what
was wanted are shown as missed. The load is the mean number of busy processes over a minute, before and after the job:
above the number of cores, other programs ran beside it, and times are longer than on a quiet machine. Kernels for a GPU
have times of their own, on the page {doc}`learning`.
"""


def page(jobs: dict[str, Any]) -> str:
    """The page of some jobs, and which were not run."""
    return "\n".join((*_head(jobs), *_rows(jobs), *_runs(jobs))) + "\n"


def _head(jobs: dict[str, Any]) -> Iterator[str]:
    results = [result for job in jobs.values() for result in job["results"]]
    missed = sum(not result["met"] for result in results)
    left = [name for name in JOBS if name not in jobs]
    yield HEAD
    yield f"{len(jobs)} of {len(JOBS)} jobs, {len(results)} figures, of which {missed} missed what was wanted."
    if left:
        yield f"\nNot run yet: {', '.join(f'`{name}`' for name in left)}."


def _rows(jobs: dict[str, Any]) -> Iterator[str]:
    yield "\n## Figures\n"
    yield "| job | what, and its peer | figure | wanted | times |\n|---|---|---|---|---|"
    for name in _in_order(jobs):
        for i, row in enumerate(jobs[name]["results"]):
            what = "; ".join(filter(None, (row["job"].strip(), row["peer"])))
            figure, wanted = (
                text.replace(" ", "\xa0") for text in (with_unit(row["figure"], row["wanted"]), row["wanted"])
            )
            cells = ["" if i else f"`{name}`", *(_escape(text) for text in (what, figure, wanted, row["times"]))]
            if not row["met"]:
                cells[3] += ", **missed**"
            yield f"| {' | '.join(cells)} |"


def with_unit(figure: float, wanted: str) -> str:
    """Three digits, and the unit of what is wanted; where nothing is, it is a ratio."""
    digits = max(0, 2 - math.floor(math.log10(abs(figure)))) if figure else 0
    unit = wanted.split(maxsplit=2)[2] if wanted else "×"
    return f"{figure:,.{digits}f} {unit}"


def _runs(jobs: dict[str, Any]) -> Iterator[str]:
    yield "\n## When, where, with what\n\n| job | begun | load before, after | machine |\n|---|---|---|---|"
    machines = list(dict.fromkeys(_words(job["machine"]) for job in jobs.values()))
    for name in _in_order(jobs):
        job = jobs[name]
        load = ", ".join(f"{value:.1f}" for value in job["load"])
        yield f"| `{name}` | {job['begun']} | {load} | {machines.index(_words(job['machine'])) + 1} |"
    yield "\nMachines:\n"
    yield from (f"{i}. {words}" for i, words in enumerate(machines, start=1))
    versions: dict[str, set[str]] = {}
    for job in jobs.values():
        for library, version in job["versions"].items():
            versions.setdefault(library, set()).add(version)
    listed = (f"{library} {' and '.join(sorted(found))}" for library, found in sorted(versions.items(), key=_lower))
    yield f"\nPeers and libraries: {', '.join(listed)}."


def _in_order(jobs: dict[str, Any]) -> list[str]:
    """As jobs run; those that are gone are left out."""
    return [name for name in JOBS if name in jobs]


def _words(machine: dict[str, str]) -> str:
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}, "
        f"Python {machine['Python']}"
    )


def _lower(item: tuple[str, set[str]]) -> str:
    return item[0].lower()


def _escape(text: str) -> str:
    """As it is printed: no column, no emphasis; a call with options is code."""
    return re.sub(r"\S+(?: --[\w-]+(?: none)?)+", r"`\g<0>`", text.replace("|", r"\|").replace("*", r"\*"))


if __name__ == "__main__":
    PAGE.write_text(page(read(KEPT)), encoding="utf-8")
