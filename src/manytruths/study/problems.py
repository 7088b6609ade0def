"""Everything that is wrong with a study, found in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column, closest_name, natural_key
from ..core.errors import InputError, LabelError, ManytruthsError, StudyError
from ..core.tally import Tally
from ..io import Location, Template, probe
from ..io.outline_files import is_outline_file, read_drawing
from ..io.slides import fitting_level, is_slide
from ..io.zarr_store import find_absent, is_store
from ..raters.broken_masks import MaskReview
from ..shape.alignment import obstacle
from ..shape.grid import Grid, times
from ..shape.outline_masks import count_outside
from .case import Case, Reading
from .grids import IMAGE, Misplaced, Move, Placed, Target, advise_on_size, find_moves, find_target
from .mask_values import find_wrong_predictions, find_wrong_references
from .options import Options
from .reading_log import unreadable_edits
from .samples import averages_samples, read_samples
from .suspicions import review_reading

Array = NDArray[Any]


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
    moves: tuple[Move, ...] = ()
    """What was done to files that lie on other grids."""
    review: MaskReview = field(default_factory=MaskReview)
    """Masks that are probably broken, and what is kept to compare cases."""
    copied: tuple[tuple[str, str, bool], ...] = ()
    """Given references that are a rater's mask, with the rater, and whether it marks anything."""
    absent_chunks: Mapping[str, int] = field(default_factory=dict)
    """Of masks in Zarr stores: how many chunks have no file."""


def check_case(case: Case) -> Checked:
    """Read everything of a case and list all that is wrong with it."""
    problems: list[Problem] = []
    masks, target = _masks(case, problems)
    grid = None if target is None else target.grid
    beside = [*_image(case, target), *_beside(case, grid)]
    problems += beside
    table, review, copied = None, MaskReview(), list[tuple[str, str, bool]]()
    if grid is not None:
        # what lies beside the masks is said already, and must not hide what is wrong with them
        reading = Reading(_without(case, beside), {c: placed.mask.array for c, placed in masks.items()}, grid)
        table = _table(reading, problems)
        if table is not None:
            problems += _other_values(reading, table)
            whole = table if table.region == "whole" else reading.tally("whole", judged=False)
            review = review_reading(reading, whole)
            copied = list(_copied_references(reading)) if case.references else []
        if reading.is_large and not review.traces and table is not None and table.labels.background is not None:
            problems += _large(reading)
    marked = {str(c): _marked(table, c) for c in case.masks}
    problems += [
        Problem("warning", "empty", f"rater {c} marked nothing in case {case.name}", case.name, c)
        for c, items in marked.items()
        if items == 0
    ]
    chunks = _absent_chunks(case, problems)
    problems += _outlines(case)
    moved = [Move("mask", str(c), placed.done) for c, placed in masks.items() if placed.done.how]
    moved += find_moves(case, target, masks=False)
    for move in moved:
        if move.done.how == "resampled":
            what = f"rater {move.name}'s mask" if move.what == "mask" else f"{move.what} {move.name}".rstrip()
            message = f"case {case.name}: {what} is resampled, {move.done.detail}"
            problems.append(Problem("warning", "grid", message, case.name, move.name))
    problems += [Problem("error", "edit", str(e), case.name, str(c)) for c, e in unreadable_edits(case)]
    return Checked(grid, marked, table, tuple(problems), tuple(moved), review, tuple(copied), chunks)


def _without(case: Case, said: list[Problem]) -> Case:
    """The case without what cannot be used."""
    errors = {(p.kind, p.rater) for p in said if p.severity == "error"}
    return replace(
        case,
        roi=None if ("roi", "") in errors else case.roi,
        predictions={c: s for c, s in case.predictions.items() if ("prediction", str(c)) not in errors},
        samples={c: s for c, s in case.samples.items() if ("samples", str(c)) not in errors},
        references={c: s for c, s in case.references.items() if ("reference", str(c)) not in errors},
    )


def _masks(case: Case, problems: list[Problem]) -> tuple[dict[Column, Placed], Target | None]:
    """Every mask that can be read and put where the others lie."""
    masks: dict[Column, Placed] = {}
    try:
        target = find_target(case) or _most_common(case)
    except ManytruthsError as error:
        problems.append(Problem("error", "grid", f"case {case.name}: {error}", case.name))
        return masks, None
    for column in case.masks:
        try:
            masks[column] = case.placed(column, target)
        except ManytruthsError as error:
            kind = "label" if isinstance(error, LabelError) else "grid" if isinstance(error, Misplaced) else "file"
            problems.append(Problem("error", kind, str(error), case.name, str(column)))
        else:
            target = target or Target(masks[column].mask.grid, f"rater {column}'s")
    return masks, target if masks else None


def _most_common(case: Case) -> Target | None:
    """The grid that most masks have, so that the others are named; None where their headers do not say."""
    grids: dict[Column, Grid] = {}
    for column, by_label in case.masks.items():
        for source in by_label.values():
            if isinstance(source, Location) and not source.blank:
                with suppress(ManytruthsError):
                    grids.setdefault(column, probe(source))
    if len({grid.shape for grid in grids.values()}) < 2:
        return None
    most = Counter(grid.shape for grid in grids.values()).most_common(1)[0][0]
    whose = next(column for column, grid in grids.items() if grid.shape == most)
    return Target(case.mask(whose).grid, f"rater {whose}'s")


def has_file(source: Location) -> bool:
    """Whether there is a file."""
    return source.path.exists()


def _beside(case: Case, grid: Grid | None) -> Iterator[Problem]:
    """Region, ranks and predictions: there, readable, on the masks' grid."""
    checks: list[tuple[str, str, Callable[[], object]]] = [("roi", "", partial(case.region, grid))]
    checks += [("ranks", str(c), partial(case.rank_map, c, grid)) for c in case.ranks]
    look = case.response if case.options.probability else case.prediction
    checks += [("prediction", str(c), partial(look, c, grid)) for c in case.predictions]
    checks += [("prediction", str(c), partial(case.training_area, c, grid)) for c in case.predictions]
    checks += [("reference", str(c), partial(case.reference, c, grid)) for c in case.references]
    averaged = averages_samples(case)
    checks += [("samples", str(c), partial(read_samples, case, c, grid)) for c in case.samples if not averaged]
    for column, drawn in case.samples.items():
        if len(drawn) == 1:
            message = f"case {case.name}: there is one sample of {column}, which has no spread; draw several"
            yield Problem("warning", "samples", message, case.name, str(column))
    for column in case.missing_samples if not averaged else ():
        message = f"case {case.name}: there are no samples of {column}"
        yield Problem("warning", "samples", message, case.name, str(column))
    for column in case.masks if case.options.ranks else ():
        if column not in case.ranks:
            message = f"case {case.name}: rater {column} has no rank map: the ranking heatmap is the others'"
            yield Problem("warning", "ranks", message, case.name, str(column))
    for kind, gone in (("prediction", case.missing), ("reference", case.missing_references)):
        for column in gone:
            yield Problem("warning", kind, f"case {case.name}: there is no {kind} of {column}", case.name, str(column))
    failed = set()
    for kind, who, check in checks:
        try:
            check()
        except InputError as error:
            failed.add(kind)
            yield Problem("error", kind, str(error), case.name, who)
    if case.ranks and grid is not None and "ranks" not in failed:
        try:
            case.rank_tally(grid)
        except InputError as error:
            yield Problem("error", "ranks", str(error), case.name)


def _image(case: Case, target: Target | None) -> Iterator[Problem]:
    """Without its image a case can still be analysed."""
    if case.image is None or not has_file(case.image):
        return  # missing images are named together
    try:
        grid = probe(case.image)
    except ManytruthsError as error:
        yield Problem("warning", "image", f"case {case.name}: image {error}", case.name)
        return
    if target is None or target.whose == IMAGE:
        return
    differs = grid.difference(target.grid) if grid.shape != target.grid.shape else ""
    if grid.placed and target.grid.placed:
        differs = obstacle(grid, target.grid)
    elif is_store(case.image.path) and None not in (grid.spacing, target.grid.spacing):
        differs = differs or grid.difference(Grid(grid.shape, target.grid.spacing))
    if differs:
        # of as many pixels, one size of a pixel is wrong
        same = grid.shape == target.grid.shape and not grid.placed
        advice = "; correct whichever is wrong" if same else advise_on_size(grid, target.grid)
        if is_slide(case.image.path) and (level := fitting_level(case.image, target.grid.shape)) is not None:
            advice = f": they have the size of its level {level}; export them for the full image"
        problem = f"{case.image} has {differs}, unlike the masks{advice}"
        yield Problem("warning", "image", f"case {case.name}: image {problem}", case.name)


def _large(reading: Reading) -> Iterator[Problem]:
    """Large masks of too much noise to be looked at."""
    case = reading.case
    message = f"case {case.name}: {times(reading.grid.shape)} pixels of noise are not searched for broken masks"
    yield Problem("warning", "large", message, case.name)


def _absent_chunks(case: Case, problems: list[Problem]) -> dict[str, int]:
    """How many files of chunks the Zarr stores of a case lack; marks on both sides of one were probably lost in it."""
    absent = dict[str, int]()
    for column, by_label in case.masks.items():
        for source in by_label.values():
            if not isinstance(source, Location) or source.blank or not is_store(source.path):
                continue
            with suppress(ManytruthsError):  # said where it is read
                lost = find_absent(source)
                absent[str(column)] = absent.get(str(column), 0) + lost.absent
                if lost.holes:
                    message = (
                        f"case {case.name}: rater {column} marks both sides of {lost.holes} absent "
                        f"chunk{'' if lost.holes == 1 else 's'}, the first {lost.first}; what is absent counts as fill "
                        "value: was it lost in a copy?"
                    )
                    problems.append(Problem("warning", "chunks", message, case.name, str(column)))
    return absent


def _outlines(case: Case) -> Iterator[Problem]:
    """What files of outlines hold that is not counted: parts beyond the image, and shapes that are not areas."""
    for column, by_label in case.masks.items():
        for source in by_label.values():
            if not isinstance(source, Location) or source.blank or not is_outline_file(source):
                continue
            with suppress(ManytruthsError):  # said where it is read
                drawing, grid = read_drawing(source.path), probe(source)
                whose = f"case {case.name}: of rater {column}'s outlines"
                beyond = count_outside(drawing.polygons, (grid.shape[0], grid.shape[1]))
                if beyond:
                    message = (
                        f"{whose} {beyond} of {len(drawing.polygons)} reach beyond the image of "
                        f"{times(grid.shape)} pixels, and are cut off there; were they drawn on this image?"
                    )
                    yield Problem("warning", "outlines", message, case.name, str(column))
                for kind, count in drawing.left_out.items():
                    message = f"{whose} {count} are no areas but {kind}, and are left out"
                    yield Problem("warning", "outlines", message, case.name, str(column))


def _table(reading: Reading, problems: list[Problem], region: str | None = None) -> Tally | None:
    """The case's table; where masks hold no labels, who and which values."""
    case = reading.case
    try:
        return reading.tally(region)
    except LabelError as error:
        problems += list(_labels(case, reading)) or [Problem("error", "label", str(error), case.name)]
    except ManytruthsError as error:
        problems.append(Problem("error", "region", str(error), case.name))
    return None


def _other_values(reading: Reading, table: Tally) -> list[Problem]:
    """Predictions and given reference standards that ``evaluate`` refuses for their values, anywhere in the image."""
    case, problems = reading.case, list[Problem]()
    if not (case.predictions or case.references):
        return problems
    whole = table if table.region == "whole" else _table(reading, problems, "whole")
    if whole is None:
        return problems
    try:
        given = reading.by_pattern.references
    except ManytruthsError as error:
        return [*problems, Problem("error", "label", str(error), case.name)]
    predicted = () if case.options.probability else find_wrong_predictions(case, whole)
    wrong = [("prediction", values) for values in predicted]
    wrong += [("reference", values) for values in find_wrong_references(case, whole, given)]
    problems += [Problem("error", kind, str(values.error), case.name, str(values.column)) for kind, values in wrong]
    return problems


def _copied_references(reading: Reading) -> Iterator[tuple[str, str, bool]]:
    """Given references that are, pixel by pixel, a rater's mask in the first session, and whether it marks any."""
    case, seen = reading.case, set[str]()
    try:
        reading = reading.by_pattern
    except ManytruthsError:
        return  # said already
    for column in sorted(reading.masks, key=lambda column: column.order):
        if column.role == "rater" and column.name not in seen:
            seen.add(column.name)
            mine = np.ma.getdata(reading.masks[column])
            for reference, given in reading.references.items():
                if _is_same(mine, np.ma.getdata(given), case.options.void):
                    yield reference.name, column.name, bool((mine != 0).any())


def _is_same(mask: Array, other: Array, void: int | None) -> bool:
    """Whether two masks mark the same, where both rated; one label may have another value in each."""
    rated = np.ones(mask.shape, bool) if void is None else (mask != void) & (other != void)
    mine, theirs = mask[rated], other[rated]
    if not np.array_equal(mine != 0, theirs != 0):
        return False
    return np.array_equal(mine, theirs) or all(len(np.unique(part[part != 0])) == 1 for part in (mine, theirs))


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


@dataclass(frozen=True)
class UnknownCase:
    """A name that is no case's, and the case that may be meant."""

    case: str
    near: str = ""

    def __str__(self) -> str:
        return f"{self.case}: did you mean {self.near}?" if self.near else self.case


def find_unknown_cases(
    options: Options, names: Iterable[str], what: Literal["predictions", "references", "images"] = "predictions"
) -> list[UnknownCase]:
    """Predictions (references, images) of cases that nobody marked, those first that may be a misspelt name.

    ``names`` are those of the study's cases, with the subject in front where several subjects share them.
    """
    template = {"predictions": options.predictions, "references": options.reference, "images": options.images}[what]
    if not template:
        return []
    known = list(names)
    ends = Counter(name.rpartition("/")[2] for name in known)
    wanted = set(known) | {end for end, count in ends.items() if count == 1}
    shared = any("/" in name for name in known)
    try:
        matches = Template(template).find(lambda problem: None)
    except StudyError:
        return []  # nothing can be found at all: said where the study is opened
    others = dict[str, None]()
    for fields in (match.fields for match in matches if "case" in match.fields):
        full = f"{fields['subject']}/{fields['case']}" if "subject" in fields else fields["case"]
        if not {full, fields["case"]} & wanted:
            others[full if shared else fields["case"]] = None
    listed = [UnknownCase(name, closest_name(name, known)) for name in others]
    return sorted(listed, key=lambda unknown: (not unknown.near, natural_key(unknown.case)))
