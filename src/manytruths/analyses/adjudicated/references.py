"""Whether a given reference is what adjudicators made of the raters' own masks."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import numpy as np

from ...claims.algorithms import EqualMasks
from ...core.errors import ManytruthsError
from ...core.mask_arrays import HIDDEN
from ...core.runs import divide_runs, read_runs
from ...study import Case, Study
from ...study.adjudicated import has_decisions, with_decisions


def find_adjudicated_references(study: Study) -> dict[str, EqualMasks]:
    """Given references that are, pixel by pixel, the adjudicated reference standard of a case; nothing where no
    decisions can be read. Both are read once more."""
    if not any(case.references for case in study) or any(case.counted is not None for case in study):
        return {}
    with suppress(ManytruthsError):
        if study.coded or not has_decisions(study):
            return {}
        marked: dict[str, list[str]] = {}
        empty, given = Counter[str](), Counter[str]()
        for case, found in with_decisions(study).map(_compare):
            for reference, (same, marks) in found.items():
                given[reference] += 1
                if same and marks:
                    marked.setdefault(reference, []).append(case.name)
                empty[reference] += same and not marks
        return {name: EqualMasks(tuple(cases), empty[name], given[name]) for name, cases in marked.items()}
    return {}


def _compare(case: Case) -> dict[str, tuple[bool, bool]]:
    """Of each given reference, whether it is the adjudicated mask wherever both know something, and marks anything."""
    reading = case.read(by_tile=True)
    made = reading.adjudicated
    several = case.options.foreground is None and len({*made.runs.values.tolist()} - {made.void}) > 1
    inside = reading.inside
    found = {}
    for column, array in reading.references.items():
        runs = reading.runs(array).hide(case.options.void)
        own = runs if inside is None else runs.intersect(read_runs(inside).marks())
        _, _, (a, b) = divide_runs([made.runs, own])
        known = (a != made.void) & (b != HIDDEN)
        a, b = a[known], b[known]
        same = np.array_equal(a, b) if several else np.array_equal(a != 0, b != 0)
        found[column.name] = same, bool((b != 0).any())
    return found
