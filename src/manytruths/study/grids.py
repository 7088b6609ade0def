"""On which grid the masks of a case are counted, and how what lies elsewhere gets there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.errors import GridError, ManytruthsError
from ..io import Location, Mask, probe
from ..io.files import suffix_of
from ..shape.alignment import Alignment, align, bounding_grid, can_resample, lattice_steps, obstacle, plan_alignment
from ..shape.grid import Grid

if TYPE_CHECKING:
    from .case import Case

PLACED = (".nii", ".nii.gz", ".nrrd", ".mha", ".mhd")
"""Endings of files that may say where they lie; no other header is looked at twice."""
ORDER = ("", "jitter", "cropped", "padded", "reoriented", "resampled")
"""What may be done to a mask, from nothing to most."""
ADVICE = "resample it{offer}"
IMAGE = "the image's"
NOTHING = Alignment()
OFFER = " (--resample nearest does it)"


class Misplaced(GridError):
    """A mask that cannot be put where the others of its case lie."""


@dataclass(frozen=True)
class Target:
    """A grid, and whose it is: ``rater A's``."""

    grid: Grid
    whose: str


@dataclass(frozen=True, eq=False)
class Placed:
    """A mask where it is wanted, and what was done to it."""

    mask: Mask
    done: Alignment = NOTHING


@dataclass(frozen=True)
class Move:
    """What was done to one file of a case, or of several that are one mask."""

    what: str
    """``mask``, ``edit``, ``roi``, ``ranks``, ``prediction``, ``reference`` or ``training``."""
    name: str
    """Of the rater, algorithm or reference."""
    done: Alignment


def place(mask: Mask, target: Target, resample: str | None, name: str, advice: str = ADVICE) -> Placed:
    """A mask on a grid; a refusal says how it differs and what to do."""
    grid, onto = mask.grid, target.grid
    able, differs = can_resample(grid, onto), obstacle(grid, onto)
    if differs and not (resample and able):
        raise Misplaced(f"{name} has {differs}, unlike {target.whose}{advise_on_size(grid, onto, advice, able)}")
    try:
        aligned = align(mask.array, grid, onto, resample)
    except GridError as error:
        more = "" if target.whose == IMAGE else ", or give images that hold all of it (--images)"
        raise Misplaced(f"{name} has {error} ({target.whose}); correct the affine of one of them{more}") from None
    return Placed(mask if aligned.array is mask.array else Mask(aligned.array, onto, mask.format), aligned.done)


def advise_on_size(grid: Grid, onto: Grid, advice: str = ADVICE, resamples: bool = False) -> str:
    """What is probably the matter with the size of a mask, and what to do; ``advice`` starts with resampling it."""
    start, *rest = advice.split("{offer}", 1)
    instead = "".join(rest)
    if (guess := "" if resamples else grid.guess_difference(onto)) == "border":
        steps = [f"{abs(n - m)} along axis {i}" for i, (n, m) in enumerate(zip(grid.shape, onto.shape, strict=True), 1)]
        parts = " and ".join(step for step in steps if not step.startswith("0 "))
        less = all(n <= m for n, m in zip(grid.shape, onto.shape, strict=True))
        more = all(n >= m for n, m in zip(grid.shape, onto.shape, strict=True))
        what = "was cut off" if less else "was added" if more else "was cut off or added"
        how = "pad it with 0 where it was cut" if less else "crop it there" if more else "crop and pad it"
        return f": probably a border {what} ({parts}, in pixels); {how}, do not resample it{instead}"
    if guess == "axes":
        return f": probably its axes are swapped; transpose it{instead}"
    return f"; {start}{OFFER if resamples else ''}{instead}"


def combine_alignments(parts: Mapping[str, Alignment]) -> Alignment:
    """Of structures in files of their own: the most that was done to any, and what to each."""
    changed = {label: alignment for label, alignment in parts.items() if alignment.how}
    how = max((alignment.how for alignment in changed.values()), key=ORDER.index, default="")
    return Alignment(how, "; ".join(f"{label}: {alignment.detail}" for label, alignment in changed.items()))


def find_target(case: Case) -> Target | None:
    """Where the masks are counted, by headers alone; None where none of them says where it lies.

    The image's grid where a mask shares its lattice, or masks may be resampled. Else the smallest box on the first
    rater's lattice that holds the masks of all who share it.
    """
    known = [(column, grid) for column, by_label in case.masks.items() for grid in _grids(by_label)]
    if not known:
        return None
    grids = [grid for _, grid in known]
    for image in _grids({} if case.image is None else {"": case.image}):
        if case.options.resample or any(lattice_steps(grid, image) for grid in dict.fromkeys(grids)):
            return Target(image, IMAGE)
    return Target(bounding_grid(grids[0], dict.fromkeys(grids[1:])), f"rater {known[0][0]}'s")


def _grids(sources: Mapping[str, Any]) -> Iterator[Grid]:
    """Of every source that says where it lies; what cannot be read is refused when it is read."""
    for source in sources.values():
        if isinstance(source, Location) and suffix_of(source.path.name) in PLACED:
            try:
                grid = probe(source)
            except ManytruthsError:
                continue
            if grid.placed:
                yield grid


def find_moves(case: Case, target: Target | None, *, masks: bool = True, judged: bool = True) -> Iterator[Move]:
    """What is done to the files of a case, by headers alone; with ``judged``, also to predictions and references."""
    if target is None:
        return
    for what, name, sources in _sources(case, masks, judged):
        parts = {label: _plan_alignment(source, target.grid, case) for label, source in sources.items()}
        done = combine_alignments(parts) if len(parts) > 1 else next(iter(parts.values()), NOTHING)
        if done.how:
            yield Move(what, name, done)


def _sources(case: Case, masks: bool, judged: bool) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    kinds: list[tuple[str, Mapping[Any, Any]]] = [("mask", case.masks if masks else {}), ("ranks", case.ranks)]
    kinds += [("roi", {} if case.roi is None else {"": case.roi})]
    kinds += [("edit", {c: edit.source for c, edit in case.edits.items() if c not in case.masks})]
    if judged:
        kinds += [("prediction", case.predictions), ("reference", case.references), ("training", case.training)]
        # without predictions, these are the samples
        kinds += [("samples", {} if case.options.predictions is None else case.samples)]
    for what, by_column in kinds:
        for column, source in by_column.items():
            yield what, str(column), source if isinstance(source, Mapping) else {"": source}


def _plan_alignment(source: object, onto: Grid, case: Case) -> Alignment:
    for grid in _grids({"": source}):
        try:
            return plan_alignment(grid, onto, case.options.resample)
        except GridError:
            break
    return NOTHING


def is_resampled(case: Case, *, judged: bool = False) -> bool:
    """Whether any mask of a case is resampled, by headers alone; with ``judged``, or any prediction or reference."""
    if case.options.resample is None:
        return False
    try:
        moves = find_moves(case, find_target(case), judged=judged)
        return any(move.done.how == "resampled" for move in moves)
    except GridError:
        return False
