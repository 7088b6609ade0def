"""Everything that is wrong with a study, found in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from ..errors import InputError, LabelError, ManytruthsError
from ..formats import Grid, probe
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
    grid = next(iter(grids.values()), None)
    problems += _other_grids(case, grids)
    beside = list(_beside(case, grid))
    problems += beside
    table = None
    if grid is not None:
        kept = {c: m for c, m in masks.items() if not grids[c].difference(grid)}
        # what lies beside the masks is said already, and must not hide what is wrong with them
        alone = replace(case, roi=None, predictions={}) if any(p.severity == "error" for p in beside) else case
        table = _table(alone, Reading(alone, kept, grid), problems)
    marked = {str(c): _marked(table, c) for c in case.masks}
    problems += [
        Problem("warning", "empty", f"rater {c} marked nothing in case {case.name}", case.name, c)
        for c, items in marked.items()
        if items == 0
    ]
    return Checked(grid, marked, table, tuple(problems))


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


def _beside(case: Case, grid: Grid | None) -> Iterator[Problem]:
    """Image, region, ranks and predictions: there, readable, on the masks' grid."""
    checks: list[tuple[str, str, Callable[[], object]]] = [("roi", "", partial(case.region, grid))]
    checks += [("ranks", str(c), partial(case.rank_map, c, grid)) for c in case.ranks]
    look = case.response if case.options.grey else case.prediction
    checks += [("prediction", str(c), partial(look, c, grid)) for c in case.predictions]
    checks += [("prediction", str(c), partial(case.training_area, c, grid)) for c in case.predictions]
    checks += [("reference", str(c), partial(case.reference, c, grid)) for c in case.references]
    yield from _image(case, grid)
    for column in case.masks if case.options.ranks else ():
        if column not in case.ranks:
            message = f"case {case.name}: rater {column} has no rank map: the ranking heatmap is the others'"
            yield Problem("warning", "ranks", message, case.name, str(column))
    for kind, gone in (("prediction", case.missing), ("reference", case.missing_references)):
        for column in gone:
            yield Problem("warning", kind, f"case {case.name}: there is no {kind} of {column}", case.name, str(column))
    for kind, who, check in checks:
        try:
            check()
        except InputError as error:
            yield Problem("error", kind, str(error), case.name, who)


def _image(case: Case, grid: Grid | None) -> Iterator[Problem]:
    """Without its image a case can still be analysed."""
    if case.image is None:
        return
    try:
        found = probe(case.image)
        if grid is not None and found.shape != grid.shape:
            differs = f"{case.image} has {found.difference(grid)}, unlike the masks; resample it"
            yield Problem("warning", "image", f"case {case.name}: image {differs}", case.name)
    except ManytruthsError as error:
        yield Problem("warning", "image", f"case {case.name}: image {error}", case.name)


def _table(case: Case, reading: Reading, problems: list[Problem]) -> Tally | None:
    """The case's table; where masks hold no labels, who and which values."""
    try:
        return reading.tally()
    except LabelError as error:
        problems += list(_labels(case, reading)) or [Problem("error", "label", str(error), case.name)]
    except ManytruthsError as error:
        problems.append(Problem("error", "region", str(error), case.name))
    return None


def _labels(case: Case, reading: Reading) -> Iterator[Problem]:
    """What is wrong with each rater's labels: together, the first one hides the others."""
    for column, array in reading.masks.items():
        try:
            Reading(replace(case, absent=(), predictions={}), {column: array}, reading.grid).tally("whole")
        except LabelError as error:
            yield Problem("error", "label", str(error), case.name, str(column))


def _marked(table: Tally | None, column: Column) -> int | None:
    if table is None or column not in table.columns:
        return None
    codes = table.patterns[:, table.columns.index(column)]
    return int(sum(table.counts[codes == code].sum() for code in table.labels.marks))
