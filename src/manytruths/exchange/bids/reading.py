"""Masks of several raters among BIDS derivatives, in NIfTI.

Reference: the names and sidecars of BIDS derivatives, https://bids-specification.readthedocs.io.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...core.errors import FormatError, GridError, LabelError
from ...shape.grid import Grid
from ..opening import about
from ..reads import Choices, Mark, Outline, Read, Status, Stored
from ..sources import Source, sources
from ..volumes import Labelled, Nothing, Seen, Volume, looked_through, nifti_volume, telling
from .names import Dataset, Name, image_of, label_names, parsed, root_of, sidecar, sources_of
from .writing import OWN, write_bids

__all__ = ["read_bids", "write_bids"]

READABLE = tuple(f"_{suffix}{ending}" for suffix in ("mask", "dseg", "probseg") for ending in (".nii.gz", ".nii"))
SAID = ("Author", "Authors", "Annotator", "Rater", "Reader", "Manual")
"""What a sidecar says of who drew it: kept with the marks."""

Key = tuple[str, str, str]


def read_bids(paths: Sequence[Path | str] | Path | str, choices: Choices | None = None) -> list[Read]:
    """One read for every rater of a case, of all of his files ``…_mask.nii.gz`` and ``…_dseg.nii.gz``.

    The rater is ``desc`` (``desc-rater1``), or the entity or field of the sidecar that ``choices.rater_field``
    names, or without either the folder of the dataset. The case is the rest of the name without ``label``: ``ses``
    is a visit of the patient, not a rater's second reading. A mask is of the structure ``label``, else of its
    sidecar's ``Type``, else of ``mask``; labels of a ``dseg`` are called as the nearest table ``dseg.tsv`` says,
    and those it does not name are counted as ``unnamed-values``; without a table, as their numbers. A read without
    any marked voxel is ``empty``. Probabilities are counted as ``probseg`` where the rater has masks of the case,
    and refused otherwise.
    """
    listed = [paths] if isinstance(paths, Path | str) else list(paths)
    choices = choices or Choices()
    datasets: dict[Path, Dataset] = {}
    groups: dict[Key, list[_File]] = {}
    for source in sources(listed, READABLE):
        with telling(source.path):
            one = _file(source, datasets, choices)
        groups.setdefault(one.key, []).append(one)
    reads = [_read(files, choices) for files in groups.values()]
    return [replace(read, based_on=_parent(read, groups, choices)) for read in reads]


@dataclass(frozen=True, eq=False)
class _File:
    """A file and all that its name, its place and its sidecar say."""

    path: Path
    name: Name
    told: Mapping[str, Any]
    own: Mapping[str, str]
    """What :func:`write_bids` said in the sidecar."""
    key: Key
    """Case, rater, session."""
    fields: Mapping[str, str]
    dataset: Dataset


def _file(source: Source, datasets: dict[Path, Dataset], choices: Choices) -> _File:
    path = source.path
    name = parsed(path.name)
    if name is None or next(iter(name.entities), "") != "sub" or not path.name.endswith(READABLE):
        raise FormatError("is no name of BIDS (sub-01_desc-rater1_mask.nii.gz, letters and digits); rename it")
    root = root_of(path.absolute())
    dataset = datasets.setdefault(root, Dataset(root))
    told = sidecar(dataset, path.absolute(), name)
    said = told.get(OWN)
    own = {str(k): v for k, v in said.items() if isinstance(v, str)} if isinstance(said, dict) else {}
    rater = source.fields.get("rater") or own.get("Rater") or _rater(name, told, dataset, choices)
    case = source.fields.get("case") or own.get("Case") or name.without("label", choices.rater_field or "desc", "desc")
    session = source.fields.get("session") or own.get("Session", "")
    return _File(path, name, told, own, (case, rater, session), source.fields, dataset)


def _rater(name: Name, told: Mapping[str, Any], dataset: Dataset, choices: Choices) -> str:
    if choices.rater_field is None:
        return name.entities.get("desc") or dataset.root.name
    said = told.get(choices.rater_field)
    rater = name.entities.get(choices.rater_field) or (said.strip() if isinstance(said, str) else "")
    if not rater:
        raise FormatError(f"neither its name nor its sidecar holds {choices.rater_field!r}; name another field")
    return rater


def _parent(read: Read, groups: Mapping[Key, list[_File]], choices: Choices) -> str:
    """The one other rater of the case whose mask a sidecar says that this one was made of."""
    files = groups[read.case, read.rater, read.session]
    own = next((one.own["BasedOn"] for one in files if "BasedOn" in one.own), "")
    made_of = [parsed(said.rpartition("/")[2]) for one in files for said in sources_of(one.told)]
    masks = [name for name in made_of if name and name.suffix in ("mask", "dseg")]
    subject, entity = files[0].name.entities["sub"], choices.rater_field or "desc"
    raters = {name.entities.get(entity, "") for name in masks if name.entities.get("sub") == subject}
    known = {rater for rater in raters if rater != read.rater and (read.case, rater, "") in groups}
    return own or (known.pop() if len(known) == 1 else "")


# -- voxels ------------------------------------------------------------------------------------------


def _read(files: Sequence[_File], choices: Choices) -> Read:
    first = files[0]
    case, rater, session = first.key
    drawn = [one for one in files if one.name.suffix != "probseg"]
    if not drawn:
        raise FormatError(f"{first.path}: holds probabilities, and {rater} has no mask of {case}; threshold it")
    marks: list[Mark] = []
    left_out = Counter({"probseg": len(files) - len(drawn)})
    grids: list[Grid] = []
    for one in drawn:
        with telling(one.path):
            volume, grid = nifti_volume(one.path)
            grids.append(grid)
            if different := grid.difference(grids[0]):
                raise GridError(f"{different}, as {drawn[0].path.name} has; put both on one grid")
            found, strange = _marks(one, volume, looked_through(volume), choices)
            _once(found, marks, drawn[0].path)
        marks += found
        left_out["unnamed-values"] += strange
    blank = all(isinstance(mark.outline, Nothing) for mark in marks) and not left_out["unnamed-values"]
    image = image_of(drawn[0].dataset, drawn[0].path.absolute(), drawn[0].name, drawn[0].told, grids[0])
    return Read(
        image=f"{case}.nii.gz",
        rater=rater,
        grid=grids[0],
        marks=() if blank else tuple(marks),
        session=session,
        status=_status(first.own.get("Status", ""), blank, choices),
        tool="BIDS",
        subject=first.fields.get("subject") or first.own.get("Subject") or first.name.entities["sub"],
        case=case,
        picture=None if image is None else Stored(image),
        left_out={kind: count for kind, count in left_out.items() if count},
        source=str(first.path),
    )


def _status(told: str, blank: bool, choices: Choices) -> Status:
    if told == "unfinished":
        return "unfinished"
    return "done" if not blank else "empty" if told == "empty" else choices.blank


def _once(marks: Sequence[Mark], others: Sequence[Mark], path: Path) -> None:
    known = {(mark.label, mark.rank) for mark in others}
    for mark in marks:
        if (mark.label, mark.rank) in known:
            raise LabelError(f"marks {mark.label!r}, which {path.name} marks, too; leave one of them out")


def _marks(one: _File, volume: Volume, seen: Seen, choices: Choices) -> tuple[list[Mark], int]:
    """What a file marks, and how many of its labels have no name."""
    values = seen.values[0]
    attributes = {word: str(one.told[word]) for word in SAID if isinstance(one.told.get(word), str | bool | int)}
    if one.name.suffix == "mask":
        if len(values) > 1:
            shown = ", ".join(map(str, values[:5]))
            raise LabelError(f"is called a mask and holds the labels {shown}; call it …_dseg.nii.gz")
        return [Mark(_structure(one), _outline(volume, seen, None), rank=_rank(one, choices), attributes=attributes)], 0
    names = label_names(one.dataset, one.path.absolute(), one.name)
    known = {value: str(value) for value in values} if names is None else names
    marks = [
        Mark(name, _outline(volume, seen, value), attributes=attributes) for value, name in known.items() if value > 0
    ]
    return marks, sum(value not in known for value in values)


def _structure(one: _File) -> str:
    kind = one.told.get("Type")
    named = one.fields.get("label") or one.own.get("Structure") or one.name.entities.get("label")
    return named or (kind.strip() if isinstance(kind, str) else "") or "mask"


def _rank(one: _File, choices: Choices) -> int | None:
    with about("its sidecar"):
        said = one.own.get("Rank") or one.told.get(choices.rank, "")
        return int(said) if isinstance(said, str | int) and str(said).isdecimal() and len(str(said)) < 10 else None


def _outline(volume: Volume, seen: Seen, value: int | None) -> Outline:
    there = bool(seen.values[0]) if value is None else value in seen.values[0]
    return Labelled(volume, seen.box, value) if seen.box is not None and there else Nothing()
