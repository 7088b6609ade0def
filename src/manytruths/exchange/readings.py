"""What annotation tools hold, whatever the tool: who read which image, and what they marked on it.

The reader of a tool makes :class:`Reading` objects, :func:`combine_readings` checks that they fit together, and
``manytruths import`` writes them as a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.columns import compose_name, natural_key
from ..core.errors import FormatError, GridError, InputError, LabelError, StudyError
from ..io.files import Location, suffix_of
from ..shape.grid import Grid
from ..shape.polygons import Rule
from .documents import copy_picture

Status = Literal["done", "empty", "unread", "unfinished"]
Window = tuple[slice, ...]
Mask = NDArray[np.bool_]
SegmentKey = tuple[str, int | None]
"""The name of a structure, and a rank."""
K = TypeVar("K", bound=Hashable)


class Outline(Protocol):
    """What a rater drew: a polygon, an ellipse, a bitmap, voxels of a file."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        """Find the pixels that it holds on a grid.

        Parameters
        ----------
        shape : tuple of int
            Size of the grid.

        Returns
        -------
        window : tuple of slice
            A part of the grid.
        inside : ndarray of bool
            Which pixels of that part are inside.
        """
        ...


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing that a rater drew.

    Attributes
    ----------
    label : str
        The name of the structure in the tool.
    outline : Outline
        The shape.
    order : int
        Marks with larger numbers lie on top; of equal ones, those drawn later.
    rank : int, optional
        Severity rank, 1 for the most severe.
    attributes : mapping of str to str
        Whatever else the tool holds about it.
    """

    label: str
    outline: Outline
    order: int = 0
    rank: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


class NoPicture(FormatError):
    """The image cannot be read; what was drawn on it can be used without."""


class Picture(Protocol):
    """The image of a read, which becomes a file of the study; as text, where it comes from."""

    @property
    def suffix(self) -> str:
        """The ending of the file."""
        ...

    def write(self, to: Path) -> None:
        """Make the file, or raise :class:`NoPicture`."""
        ...


@dataclass(frozen=True)
class Stored:
    """A picture on the disk, or inside an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.member is None else f"{self.path}/{self.member}"

    @property
    def suffix(self) -> str:
        return suffix_of(str(self))

    def write(self, to: Path) -> None:
        copy_picture(self, to)


@dataclass(frozen=True, eq=False)
class Reading:
    """What one rater marked on one image.

    Attributes
    ----------
    image : str
        Name of the image in the tool, perhaps with folders; the case is named after it.
    rater : str
        Who read it.
    grid : Grid
        Size and geometry of the image.
    marks : tuple of Mark
        What they drew.
    session : str
        Which of several readings by the same rater.
    status : {"done", "empty", "unread", "unfinished"}
        ``empty`` was read, and nothing was found.
    based_on : str
        The rater, or rater/session, from whose marks of the same image this reading started.
    tool : str
        The annotation tool.
    started : str
        Date and time, as the tool writes it.
    seconds : float, optional
        How long it took.
    subject, case : str
        Patient and case, where they are known; otherwise the case is named after the image.
    picture : Picture, optional
        The image itself.
    left_out : mapping of str to int
        Number of shapes that are not areas, by kind.
    source : str
        The file that it comes from, for messages.
    automatic : bool
        Whether a program made it, for raters to start from.
    """

    image: str
    rater: str
    grid: Grid
    marks: tuple[Mark, ...] = ()
    session: str = ""
    status: Status = "done"
    based_on: str = ""
    tool: str = ""
    started: str = ""
    seconds: float | None = None
    subject: str = ""
    case: str = ""
    picture: Picture | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    automatic: bool = False

    def structures(self) -> dict[str, Mask]:
        """Draw the marks: one mask for each structure, the union of its marks. Structures may overlap.

        Returns
        -------
        dict of str to ndarray of bool
            By the name of the structure, on the whole grid.
        """
        return self._unite(lambda mark: mark.label)

    def segments(self) -> dict[SegmentKey, Mask]:
        """Draw the marks: one mask for each structure and rank.

        Returns
        -------
        dict of (str, int or None) to ndarray of bool
            By the name of the structure and its rank, on the whole grid.
        """
        return self._unite(lambda mark: (mark.label, mark.rank))

    def _unite(self, key: Callable[[Mark], K]) -> dict[K, Mask]:
        masks: dict[K, Mask] = {}
        for mark in self.marks:
            window, inside = mark.outline.pixels(self.grid.shape)
            whole = masks.setdefault(key(mark), np.zeros(self.grid.shape, bool))
            whole[window] |= inside
        return masks


@dataclass(frozen=True)
class ImportOptions:
    """What the files leave open.

    Attributes
    ----------
    rule : {"centre", "inclusive", "coco"}
        Which pixels an outline holds; see :func:`manytruths.rasterise_polygon`.
    widen : float, optional
        Width in pixels of open lines; without it, they are not areas.
    blank : {"empty", "unread"}
        What an image without marks is, where the tool does not say whether anybody opened it.
    rank : str
        The attribute that holds the severity rank.
    rater_field : str, optional
        The field that names the rater, in formats without one of their own.
    images : Path, optional
        Folder of the images, for formats that do not hold the size of an image without marks.
    pictures : mapping of str to Location
        Images by case, for formats that do not hold the size of any image.
    image_size : (int, int), optional
        Width and height of all images, for the same.
    """

    rule: Rule = "centre"
    widen: float | None = None
    blank: Literal["empty", "unread"] = "empty"
    rank: str = "rank"
    rater_field: str | None = None
    images: Path | None = None
    pictures: Mapping[str, Location] = field(default_factory=dict)
    image_size: tuple[int, int] | None = None


def parse_rank(text: str, name: str) -> int:
    """Read the severity rank of an attribute."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise InputError(
            f"its {name!r} is {text[:40]!r}; a rank is a whole number from 1 on: correct it in the tool, or say which "
            "attribute holds ranks with --rank-attribute"
        )
    return int(text)


def parse_rank_or_none(value: object) -> int | None:
    """The rank that a file holds as text or number; None where it holds anything else."""
    text = str(value) if isinstance(value, str | int) else ""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def parse_status(text: str, blank: bool, options: ImportOptions) -> Status:
    """The status of a reading, by what the file says and whether nothing is marked in it."""
    if text == "unfinished":
        return "unfinished"
    return "done" if not blank else "empty" if text == "empty" else options.blank


BACKGROUND = "background"
"""The name of what nobody marked, in every study."""
SHOWN = 6
"""Number of names that a message lists."""


@dataclass(frozen=True)
class ReadingSet:
    """Readings that make a study.

    Attributes
    ----------
    reads : tuple of Reading
        One for each rater, case and session.
    structures : tuple of str
        The names of what was marked.
    left_out : mapping of (case, rater, kind) to int
        Number of shapes that are not areas, by case, rater and kind.
    """

    reads: tuple[Reading, ...]
    structures: tuple[str, ...]
    left_out: Mapping[tuple[str, str, str], int] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases, in natural order."""
        return tuple(sorted({read.case for read in self.reads}, key=natural_key))

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of the raters, in natural order."""
        return tuple(sorted({read.rater for read in self.reads}, key=natural_key))


def combine_readings(
    reads: Iterable[Reading],
    *,
    rename_label: Mapping[str, str] | None = None,
    rename_rater: Mapping[str, str] | None = None,
    rename_case: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    sessions: bool = False,
) -> ReadingSet:
    """Combine readings of several files or tools, after checking that they fit together.

    Parameters
    ----------
    reads : iterable of Reading
        What the ``read_…`` functions return.
    rename_label, rename_rater, rename_case : mapping of str to str, optional
        New names by old names. A label that is mapped to itself may be used by one rater alone.
    skip : sequence of str
        Kinds of shapes that are not areas and may be left out, such as ``"points"``.
    sessions : bool
        Whether a rater's further readings of a case are further sessions instead of an error.

    Returns
    -------
    ReadingSet
        The readings with the names of their cases.

    Raises
    ------
    InputError
        If readings do not fit together: a case read twice by a rater, images of different sizes, a label that only
        one rater uses, shapes that are not areas.
    """
    named = name_readings(
        reads, rename_label=rename_label, rename_rater=rename_rater, rename_case=rename_case, sessions=sessions
    )
    return check_readings(named, accepted=rename_label or (), skip=skip)


def name_readings(
    reads: Iterable[Reading],
    *,
    rename_label: Mapping[str, str] | None = None,
    rename_rater: Mapping[str, str] | None = None,
    rename_case: Mapping[str, str] | None = None,
    sessions: bool = False,
) -> list[Reading]:
    """Readings with the final names of their cases, raters, sessions and structures; see :func:`combine_readings`."""
    named = [_normalise_names(read) for read in reads]
    if not named:
        raise StudyError("the files hold no image at all; export them again")
    named = _name_raters_and_cases(named, {compose_name(old): new for old, new in (rename_rater or {}).items()})
    cases = {compose_name(old): new for old, new in (rename_case or {}).items()}
    _check_renamed("case", cases, {read.case for read in named})
    named = [replace(read, case=cases.get(read.case, read.case)) for read in named]
    labels = {compose_name(old).strip(): new for old, new in (rename_label or {}).items()}
    named = _rename_labels(named, labels)
    return _number_sessions(named) if sessions else named


def check_readings(
    reads: Sequence[Reading],
    *,
    accepted: Iterable[str] = (),
    skip: Sequence[str] = (),
    used: Mapping[str, Iterable[str]] | None = None,
) -> ReadingSet:
    """Check that named readings fit together; see :func:`combine_readings`.

    A label among ``accepted`` may be used by one rater alone. ``used`` says which raters used a label before, in a
    study that the readings are added to.
    """
    _check_once(reads)
    _check_grids(reads)
    _check_parents(reads)
    mapped = {compose_name(name).strip() for name in accepted}
    return ReadingSet(tuple(reads), _check_structures(reads, mapped, used or {}), _check_left_out(reads, skip))


# -- cases and raters --------------------------------------------------------------------------------


def _normalise_names(read: Reading) -> Reading:
    """With names that are the same wherever they look the same."""
    marks = tuple(replace(mark, label=compose_name(mark.label).strip()) for mark in read.marks)
    case, rater, parent = (compose_name(name).strip() for name in (read.case, read.rater, read.based_on))
    return replace(read, marks=marks, case=case, rater=rater, based_on=parent)


def _name_raters_and_cases(reads: list[Reading], raters: Mapping[str, str]) -> list[Reading]:
    _check_renamed("rater", raters, {read.rater for read in reads})
    cases = case_names([read.image for read in reads if not read.case])
    new = {old: raters.get(old, old).strip() for old in {read.rater for read in reads}}
    for old, name in new.items():
        if not name or name in (".", "..") or set(name) & set("/\\\0"):
            raise StudyError(f"a rater is called {old!r}, which cannot be a folder; use --rename-rater OLD=NEW")
    renamed = []
    for read in reads:
        parent, slash, session = read.based_on.partition("/")
        based_on = f"{new.get(parent, parent)}{slash}{session}"
        renamed.append(replace(read, case=read.case or cases[read.image], rater=new[read.rater], based_on=based_on))
    return renamed


def _check_renamed(what: str, names: Iterable[str], there: set[str]) -> None:
    """Refuse to rename what is not there."""
    for name in sorted(set(names) - there):
        near = get_close_matches(name, sorted(there), 1)
        known = f"{what}s are {', '.join(sorted(there, key=natural_key)[:SHOWN])}"
        hint = f"did you mean {near[0]!r}?" if near else known
        error = LabelError if what == "structure" else StudyError
        raise error(f"there is no {what} {name!r} to rename; {hint}")


def case_names(images: Iterable[str]) -> dict[str, str]:
    """By image: its name without folders and ending, or with folders where two would be called the same."""
    parts = {image: _parts(image) for image in images}
    often = Counter(own[-1] for own in set(parts.values()))
    return {image: own[-1] if often[own[-1]] == 1 else "_".join(own) for image, own in parts.items()}


def _parts(image: str) -> tuple[str, ...]:
    """Folders and name, without the ending."""
    plain = compose_name(image.split("?")[0])
    pieces = [p for p in (PureWindowsPath(plain) if "\\" in plain else PurePosixPath(plain)).parts if p.strip("/\\")]
    if ".." in pieces or "\0" in plain:
        raise FormatError(f"an image is called {image!r}, which leads out of its folder; rename it in the tool")
    pieces = [piece for piece in pieces if not piece.endswith(":")]
    if not pieces:
        raise FormatError(f"an image is called {image!r}, which is not a name; rename it in the tool")
    name = pieces[-1]
    lower = name.lower()
    double = next((e for e in (".nii.gz", ".seg.nrrd", ".ome.tif", ".ome.tiff") if lower.endswith(e)), "")
    stem = name[: -len(double)] if double else PurePosixPath(name).stem
    return (*pieces[:-1], stem.strip() or name)


def _number_sessions(reads: list[Reading]) -> list[Reading]:
    """Number the readings of a rater and case as sessions 1, 2, … by their start and the order of the files."""
    again = max(Counter((read.case, read.rater) for read in reads if not read.session).values(), default=0) > 1
    counts: Counter[tuple[str, str]] = Counter()
    numbered: list[Reading] = []
    for read in sorted(reads, key=lambda read: read.started):
        key = read.case, read.rater
        if not read.session and again:
            counts[key] += 1
            read = replace(read, session=str(counts[key]))
        numbered.append(read)
    return numbered


def _check_once(reads: Sequence[Reading]) -> None:
    first: dict[tuple[str, str, str], Reading] = {}
    for read in reads:
        other = first.setdefault((read.case, read.rater, read.session), read)
        if other is not read:
            several = other.source != read.source
            where = f" ({other.source} and {read.source})" if several else f" in {read.source}"
            newer = "import the newer file alone, " if several else ""
            raise StudyError(
                f"rater {read.rater} read case {read.case} twice{where}; {newer}name the raters apart (RATER=PATH, "
                "or {rater} and {case} in the path), or take them for a first and a second read with --sessions"
            )


def _check_grids(reads: Sequence[Reading]) -> None:
    """Images are of one size, whoever marked them; volumes may be cropped, which is looked at later."""
    first: dict[str, Reading] = {}
    for read in reads:
        other = first.setdefault(read.case, read)
        if len(read.grid.shape) == 2 and other.grid.shape != read.grid.shape:
            raise GridError(
                f"case {read.case}: its image has {_size(read.grid)} pixels in {read.source} and "
                f"{_size(other.grid)} in {other.source}; export both from the same image, or name the cases apart"
            )


def _size(grid: Grid) -> str:
    return " × ".join(str(n) for n in reversed(grid.shape))


def _check_parents(reads: Sequence[Reading]) -> None:
    known: dict[tuple[str, str], list[Reading]] = {}
    for read in reads:
        for name in {read.rater, f"{read.rater}/{read.session}"}:
            known.setdefault((read.case, name), []).append(read)
    sure = set[int]()
    for read in reads:
        way, passed = [read], {id(read)}
        while way[-1].based_on and id(way[-1]) not in sure:
            way.append(_find_parent(way[-1], known))
            if id(way[-1]) in passed:
                chain = " → ".join(step.rater for step in way)
                raise StudyError(f"case {read.case}: reads are based on each other ({chain}); export them again")
            passed.add(id(way[-1]))
        sure |= passed


def _find_parent(read: Reading, known: Mapping[tuple[str, str], list[Reading]]) -> Reading:
    candidates = known.get((read.case, read.based_on), [])
    if len(candidates) == 1:
        return candidates[0]
    what = "who read it more than once" if candidates else "of which there is no read; export that one, too"
    raise StudyError(f"case {read.case}: the read of {read.rater} is based on {read.based_on!r}, {what}")


# -- structures --------------------------------------------------------------------------------------


def _rename_labels(reads: list[Reading], names: Mapping[str, str]) -> list[Reading]:
    _check_renamed("structure", names, {mark.label for read in reads for mark in read.marks})
    if not names:
        return reads
    return [
        replace(read, marks=tuple(replace(mark, label=names.get(mark.label, mark.label)) for mark in read.marks))
        for read in reads
    ]


def _check_structures(
    reads: Sequence[Reading], mapped: set[str], before: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    """The names of all structures; a name that only one rater uses is refused as a typing error unless it is mapped."""
    used = {name: set(raters) for name, raters in before.items()}
    for read in reads:
        for mark in read.marks:
            used.setdefault(mark.label, set()).add(read.rater)
    names = tuple(sorted(used, key=natural_key))
    for name in names:
        if not name.strip() or "\0" in name:
            raise LabelError(f"a structure is called {name!r}; name it in the tool, or rename it with --rename-label")
        if name.strip().casefold() == BACKGROUND:
            raise LabelError(
                f"a structure is called {name!r}, as what nobody marked is; give it another name, with --rename-label "
                f"{name}=OTHER, or remove it in the tool"
            )
    several = len(set[str]().union(*used.values())) > 1
    alone = [name for name in names if several and len(used[name]) == 1 and name not in {*mapped, *before}]
    if alone:
        raise LabelError(_describe_unmatched(alone, used))
    return names


def _describe_unmatched(alone: list[str], used: Mapping[str, set[str]]) -> str:
    """Every name that one rater uses alone, with what it may be meant for."""
    near = {name: _nearest(name, used) for name in alone}
    hints = {name: f"; {other!r}?" if other else "" for name, other in near.items()}
    described = [f"{name!r} ({next(iter(used[name]))}{hints[name]})" for name in alone[:SHOWN]]
    more = f" and {len(alone) - SHOWN} more" if len(alone) > SHOWN else ""
    first = next((name for name in alone if near[name]), alone[0])
    return (
        f"structures that one rater alone uses: {', '.join(described)}{more}; say what they are with "
        f"--rename-label {first}={near[first] or 'OTHER'}, or --rename-label {first}={first} where the name is right"
    )


def _nearest(name: str, names: Iterable[str]) -> str:
    """The name of all others that is spelt most alike, capitals aside."""
    folded = {other.casefold(): other for other in names if other != name}
    near = get_close_matches(name.casefold(), list(folded), 1, 0.6)
    return folded[near[0]] if near else ""


# -- what is no area ---------------------------------------------------------------------------------


def _check_left_out(reads: Sequence[Reading], skip: Sequence[str]) -> dict[tuple[str, str, str], int]:
    counts = Counter[tuple[str, str, str]]()
    for read in reads:
        for kind, count in read.left_out.items():
            counts[read.case, read.rater, kind] += count
    refused = [key for key in counts if key[2] not in skip]
    if refused:
        described = "; ".join(f"case {c}, rater {r}: {counts[c, r, kind]} {kind}" for c, r, kind in refused[:SHOWN])
        more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        kinds = sorted({kind for *_, kind in refused})
        lines = " or draw lines so many pixels wide with --widen" if "polyline" in kinds else ""
        raise InputError(
            f"shapes that are not areas: {described}{more}; leave them out with --skip {','.join(kinds)}{lines}"
        )
    return dict(counts)
