"""Everything that is wrong with a study, found in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InputError, LabelError, ManytruthsError
from ..formats import Grid, Location, probe
from ..tallies import Column, Tally
from .case import Array, Case, Reading


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (``error``) or worth knowing (``warning``)."""

    severity: str
    kind: str
    message: str
    case: str = ""
    rater: str = ""


@dataclass(frozen=True)
class Checked:
    """What a case holds: the items each rater marked (None where absent or unreadable), and its problems."""

    grid: Grid | None
    marked: dict[str, int | None]
    tally: Tally | None
    problems: tuple[Problem, ...]


def check_case(case: Case) -> Checked:
    """Read everything of a case and list all that is wrong with it."""
    problems: list[Problem] = []
    masks, grids = _masks(case, problems)
    first = next(iter(grids.items()), None)
    problems += _other_grids(case, grids)
    problems += _companions(case, first[1] if first else None)
    kept = {c: m for c, m in masks.items() if first and not grids[c].difference(first[1])}
    table = _table(case, Reading(case, kept, first[1]), problems) if first else None
    marked = {str(c): _marked(table, c) if table else None for c in case.masks}
    problems += [
        Problem("warning", "empty", f"rater {c} marked nothing in case {case.name}", case.name, c)
        for c, items in marked.items()
        if items == 0
    ]
    return Checked(first[1] if first else None, marked, table, tuple(problems))


def _masks(case: Case, problems: list[Problem]) -> tuple[dict[Column, Array], dict[Column, Grid]]:
    masks: dict[Column, Array] = {}
    grids: dict[Column, Grid] = {}
    for column in case.masks:
        try:
            mask = case.mask(column)
            masks[column], grids[column] = mask.array, mask.grid
        except ManytruthsError as error:
            kind = "label" if isinstance(error, LabelError) else "file"
            problems.append(Problem("error", kind, str(error), case.name, str(column)))
    return masks, grids


def _other_grids(case: Case, grids: dict[Column, Grid]) -> Iterator[Problem]:
    if not grids:
        return
    first, wanted = next(iter(grids.items()))
    for column, grid in grids.items():
        if grid.difference(wanted):
            message = case.grid_problem(column, grid, first, wanted)
            yield Problem("error", "grid", message, case.name, str(column))


def _companions(case: Case, grid: Grid | None) -> Iterator[Problem]:
    """The image, the region, the ranks: there, readable, of the masks' size."""
    for kind, source, severity in (("image", case.image, "warning"), ("roi", case.roi, "error")):
        if not isinstance(source, Location):
            continue
        try:
            found = probe(source)
            if grid is not None and found.shape != grid.shape:
                differs = found.difference(grid)
                yield Problem(severity, kind, f"case {case.name}: {kind} {source} has {differs}", case.name)
        except ManytruthsError as error:
            yield Problem(severity, kind, f"case {case.name}: {kind}: {error}", case.name)


def _table(case: Case, reading: Reading, problems: list[Problem]) -> Tally | None:
    """The case's table; where a mask has no labels, who and which values."""
    try:
        return reading.tally()
    except LabelError as error:
        rater = next((str(c) for c in reading.masks if f"rater {c}:" in str(error)), "")
        problems.append(Problem("error", "label", str(error), case.name, rater))
    except InputError as error:
        problems.append(Problem("error", "region", str(error), case.name))
    return None


def _marked(table: Tally, column: Column) -> int:
    codes = table.patterns[:, table.columns.index(column)]
    return int(sum(table.counts[codes == code].sum() for code in table.labels.marks))
