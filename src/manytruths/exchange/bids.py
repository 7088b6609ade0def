"""BIDS derivatives.

The names of BIDS, and what lies beside a file: ``sub-01_ses-2_label-lesion_desc-rater1_mask.nii.gz``.

Masks of several raters among BIDS derivatives, in NIfTI.

Reference: the names and sidecars of BIDS derivatives, https://bids-specification.readthedocs.io.

Write reads as BIDS derivatives: one NIfTI mask a structure, with a sidecar that tells the names it was made of.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import CallError, FormatError, GridError, LabelError, ManytruthsError, StudyError
from ..io import write_json, write_map
from ..io.files import check_regular_file
from ..shape.grid import Grid
from .documents import about, json_of
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Status, Stored
from .sources import Source, sources
from .volumes import Labelled, Nothing, Seen, Volume, looked_through, nifti_volume, telling

MASKS = ("mask", "dseg", "probseg")
"""Suffixes of what is no image: yes or no, labels, probabilities."""
ENDINGS = (".nii.gz", ".nii")
LARGEST_TABLE = 1 << 20
"""Bytes of a table of names."""


@dataclass(frozen=True)
class Name:
    """A file's name in its parts."""

    entities: Mapping[str, str]
    """``sub``, ``ses``, ``desc`` and so on, in their order."""
    suffix: str
    source: str = ""
    """The suffix of the image, where it stands in the name of the mask."""
    ending: str = ""

    def without(self, *names: str) -> str:
        """The name of what was marked: entities that are not these, and the image's suffix."""
        kept = [f"{name}-{value}" for name, value in self.entities.items() if name not in names]
        return "_".join([*kept, *([self.source] if self.source else [])])


def parsed(name: str) -> Name | None:
    """The parts of a name; None where it is none of BIDS."""
    stem, dot, ending = name.partition(".")
    *parts, suffix = stem.split("_")
    pairs = [part.partition("-") for part in parts]
    sources = [word for word, dash, _ in pairs if not dash]
    entities = {word: value for word, dash, value in pairs if dash}
    if "-" in suffix or not suffix or len(sources) > 1 or len(entities) + len(sources) < len(pairs):
        return None
    # in folders made of these names, nothing may lead elsewhere
    if not all(word.replace("+", "").isalnum() for word in (*entities, *entities.values(), *sources, suffix)):
        return None
    return Name(entities, suffix, sources[0] if sources else "", dot + ending)


@dataclass
class Dataset:
    """The folder that a dataset starts at, and what was seen in it."""

    root: Path
    seen: dict[Path, list[tuple[Path, Name]]] = field(default_factory=dict)

    def inside(self, folder: Path) -> list[tuple[Path, Name]]:
        """The files of a folder that have names of BIDS."""
        if folder not in self.seen:
            files = sorted(folder.iterdir()) if folder.is_dir() else []
            named = ((path, parsed(path.name)) for path in files)
            self.seen[folder] = [(path, name) for path, name in named if name is not None]
        return self.seen[folder]

    def beside(self, path: Path, name: Name, ending: str) -> list[Path]:
        """What holds for a file, from the dataset's folder down to its own, the nearest last."""
        folders = [one for one in reversed(path.parents) if one == self.root or self.root in one.parents]
        return [one for folder in folders for one in self._fitting(folder, name, ending)]

    def _fitting(self, folder: Path, name: Name, ending: str) -> list[Path]:
        mine = set(name.entities.items())
        fitting = [
            (len(other.entities), path)
            for path, other in self.inside(folder)
            if other.ending == ending and other.suffix == name.suffix and mine.issuperset(other.entities.items())
        ]
        return [path for _, path in sorted(fitting)]


def root_of(path: Path) -> Path:
    """The dataset that a file belongs to: where its description lies, or where the subjects' folders do."""
    for folder in path.parents:
        if (folder / "dataset_description.json").is_file():
            return folder
        if folder.name.startswith("sub-") and not folder.parent.name.startswith("sub-"):
            return folder.parent
    return path.parent


def sidecar(dataset: Dataset, path: Path, name: Name) -> dict[str, Any]:
    """Everything that JSON files say of a file; the nearest has the last word."""
    told: dict[str, Any] = {}
    for one in dataset.beside(path, name, ".json"):
        told |= json_of(one, dict[str, Any])
    return told


def label_names(dataset: Dataset, path: Path, name: Name) -> dict[int, str] | None:
    """Names by label, of the nearest table; None where there is none."""
    tables = dataset.beside(path, name, ".tsv")
    return _table(tables[-1]) if tables else None


def _table(path: Path) -> dict[int, str]:
    check_regular_file(path)
    with about(path):
        with open(path, "rb") as stream:
            data = stream.read(LARGEST_TABLE + 1)
        if len(data) > LARGEST_TABLE:
            raise FormatError(f"has more than {LARGEST_TABLE >> 20} MB; it should hold an index and a name a line")
        lines = io.StringIO(data.decode("utf-8-sig"), newline="")
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
        if not {"index", "name"} <= set(rows.fieldnames or ()):
            raise FormatError("has no columns index and name; add them")
        return dict(_named(rows))


def _named(rows: Iterator[dict[str | Any, str | Any]]) -> Iterator[tuple[int, str]]:
    seen: set[int] = set()
    for number, row in enumerate(rows, start=2):
        with about(f"line {number}"):
            label = int(row["index"])
            if label in seen:
                raise FormatError(f"names the label {label} twice; leave one of them out")
            seen.add(label)
            yield label, (row["name"] or "").strip() or str(label)


# -- the image that was drawn on ---------------------------------------------------------------------


def image_of(dataset: Dataset, path: Path, name: Name, told: Mapping[str, Any], grid: Grid) -> Path | None:
    """The image of a mask, where just one can be meant: the one that the sidecar names, or the only one of its name."""
    places = [place / path.parent.relative_to(dataset.root) for place in _raw(dataset.root)]
    sources = {one.rpartition("/")[2] for one in sources_of(told)}
    fitting = [
        (one.name in sources, one)
        for folder in places
        for one, other in dataset.inside(folder)
        if other.ending in ENDINGS and other.suffix not in MASKS and _same_image(name, other)
    ]
    named = [one for said, one in fitting if said]
    lying = [one for one in named or [one for _, one in fitting] if _lies_on(one, grid)]
    return lying[0] if len(lying) == 1 else None


def _raw(root: Path) -> list[Path]:
    """Where images may lie: the dataset itself, what it keeps as its source, what it was derived from."""
    above = [folder.parent for folder in (root, *root.parents) if folder.name == "derivatives"]
    return [root, root / "sourcedata" / "raw", root / "sourcedata", *above[:1]]


def _same_image(name: Name, other: Name) -> bool:
    loose = ("desc", "label", "seg", "space", "res")
    mine = {word: value for word, value in name.entities.items() if word not in loose}
    same = {word: value for word, value in other.entities.items() if word in mine} == mine
    more = set(other.entities) - set(mine)
    return same and more <= {"space", "res"} and (not name.source or other.suffix == name.source)


def _lies_on(path: Path, grid: Grid) -> bool:
    try:
        with telling(path):
            return not nifti_volume(path)[1].difference(grid)
    except ManytruthsError:
        return False


def sources_of(told: Mapping[str, Any]) -> list[str]:
    """What a sidecar says it was made of, as paths."""
    found: list[str] = []
    for key in ("Sources", "RawSources"):
        value = told.get(key, [])
        found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    return [one.rpartition(":")[2] for one in found]


__all__ = ["read_bids", "write_bids"]

READABLE = tuple(f"_{suffix}{ending}" for suffix in ("mask", "dseg", "probseg") for ending in (".nii.gz", ".nii"))
SAID = ("Author", "Authors", "Annotator", "Rater", "Reader", "Manual")
"""What a sidecar says of who drew it: kept with the marks."""

ReadingKey = tuple[str, str, str]


def read_bids(paths: Sequence[Path | str] | Path | str, choices: ImportOptions | None = None) -> list[Reading]:
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
    choices = choices or ImportOptions()
    datasets: dict[Path, Dataset] = {}
    groups: dict[ReadingKey, list[_File]] = {}
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
    key: ReadingKey
    """Case, rater, session."""
    fields: Mapping[str, str]
    dataset: Dataset


def _file(source: Source, datasets: dict[Path, Dataset], choices: ImportOptions) -> _File:
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


def _rater(name: Name, told: Mapping[str, Any], dataset: Dataset, choices: ImportOptions) -> str:
    if choices.rater_field is None:
        return name.entities.get("desc") or dataset.root.name
    said = told.get(choices.rater_field)
    rater = name.entities.get(choices.rater_field) or (said.strip() if isinstance(said, str) else "")
    if not rater:
        raise FormatError(f"neither its name nor its sidecar holds {choices.rater_field!r}; name another field")
    return rater


def _parent(read: Reading, groups: Mapping[ReadingKey, list[_File]], choices: ImportOptions) -> str:
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


def _read(files: Sequence[_File], choices: ImportOptions) -> Reading:
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
    return Reading(
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


def _status(told: str, blank: bool, choices: ImportOptions) -> Status:
    if told == "unfinished":
        return "unfinished"
    return "done" if not blank else "empty" if told == "empty" else choices.blank


def _once(marks: Sequence[Mark], others: Sequence[Mark], path: Path) -> None:
    known = {(mark.label, mark.rank) for mark in others}
    for mark in marks:
        if (mark.label, mark.rank) in known:
            raise LabelError(f"marks {mark.label!r}, which {path.name} marks, too; leave one of them out")


def _marks(one: _File, volume: Volume, seen: Seen, choices: ImportOptions) -> tuple[list[Mark], int]:
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


def _rank(one: _File, choices: ImportOptions) -> int | None:
    with about("its sidecar"):
        said = one.own.get("Rank") or one.told.get(choices.rank, "")
        return int(said) if isinstance(said, str | int) and str(said).isdecimal() and len(str(said)) < 10 else None


def _outline(volume: Volume, seen: Seen, value: int | None) -> Outline:
    there = bool(seen.values[0]) if value is None else value in seen.values[0]
    return Labelled(volume, seen.box, value) if seen.box is not None and there else Nothing()


OWN = "manytruths"
"""The part of a sidecar that says what the file name cannot."""
VERSION = "1.10.0"
"""Of BIDS."""

_ENTITIES = ("ses", "task", "acq", "ce", "rec", "run", "space", "res")
"""What may stand between the subject and ``label`` and ``desc``, in this order."""
_CASE = re.compile(
    "sub-[A-Za-z0-9]+" + "".join(f"(_{word}-{'[0-9]' if word == 'run' else '[A-Za-z0-9]'}+)?" for word in _ENTITIES),
    re.ASCII,
)

SegmentKey = tuple[str, int | None]


def write_bids(folder: Path | str, reads: Iterable[Reading]) -> None:
    """A dataset of derivatives: ``sub-01/anat/sub-01_label-lesion_desc-consensus_mask.nii.gz`` and so on.

    ``desc`` is the rater, ``label`` the structure. Names are made of letters and digits, no two the same; sidecars
    tell what they were. A read without marks is a mask of zeros; one that nobody read is not written.
    """
    folder = Path(folder)
    _check(folder)
    write_json(folder / "dataset_description.json", _description())
    names, written = _Names(), set[tuple[str, str, str]]()
    for read in reads:
        key = read.case or read.image, read.rater, read.session
        if key in written:
            raise StudyError(f"rater {read.rater} has two reads of case {key[0]}; name their sessions")
        written.add(key)
        if read.status != "unread":
            _write(folder, read, names)


def _check(folder: Path) -> None:
    """Refuse the folder of another dataset."""
    path = folder / "dataset_description.json"
    if not path.exists():
        return
    try:
        made = json.loads(path.read_bytes())["GeneratedBy"][0]["Name"]
    except (OSError, ValueError, LookupError, TypeError):
        made = None
    if made != OWN:
        raise CallError(f"{folder}: holds another dataset of BIDS; choose a folder of its own, as derivatives/{OWN}")


def _description() -> dict[str, object]:
    from importlib.metadata import version

    return {
        "Name": "Masks written by manytruths",
        "BIDSVersion": VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": OWN, "Version": version(OWN)}],
    }


def _write(folder: Path, read: Reading, names: _Names) -> None:
    prefix = names.case(read)
    desc = names.made("desc", (read.rater, read.session), f"{read.rater}{read.session}")
    entities = dict(part.split("-") for part in prefix.split("_"))
    place = folder / f"sub-{entities['sub']}" / (f"ses-{entities['ses']}" if "ses" in entities else "") / "anat"
    masks = _masks(read)
    for key, mask in masks.items() or [(None, np.zeros(read.grid.shape, bool))]:
        label = "" if key is None else f"label-{names.made('label', key, key[0])}_"
        stem = f"{prefix}_{label}desc-{desc}_mask"
        write_map(place / f"{stem}.nii.gz", mask.astype(np.uint8), read.grid)
        write_json(place / f"{stem}.json", _sidecar(read, key))


def _masks(read: Reading) -> dict[SegmentKey, Mask]:
    """By structure and rank."""
    found: dict[SegmentKey, Mask] = {}
    for mark in read.marks:
        window, inside = mark.outline.pixels(read.grid.shape)
        whole = found.setdefault((mark.label, mark.rank), np.zeros(read.grid.shape, bool))
        whole[window] |= inside
    return found


def _sidecar(read: Reading, key: SegmentKey | None) -> dict[str, object]:
    told = {
        "Case": read.case or read.image,
        "Subject": read.subject,
        "Rater": read.rater,
        "Session": read.session,
        "Status": read.status,
        "BasedOn": read.based_on,
        "Structure": key[0] if key else "",
        "Rank": str(key[1]) if key and key[1] is not None else "",
    }
    return {"Type": "ROI", OWN: {name: value for name, value in told.items() if value}}


class _Names:
    """Letters and digits for whatever things are called, the same ones for the same thing."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, object], str] = {}
        self.taken: set[tuple[str, str]] = set()

    def made(self, kind: str, thing: object, called: str) -> str:
        """A name that nothing else of its kind has; file systems may not tell a from A."""
        if (kind, thing) not in self.known:
            short = plain(called)
            free = (f"{short}{number}" for number in ("", *range(2, 1 << 20)))
            name = next(one for one in free if (kind, one.casefold()) not in self.taken)
            self._take(kind, thing, name)
        return self.known[kind, thing]

    def case(self, read: Reading) -> str:
        """The entities of a case: its own where it is called so, or its subject and an acquisition."""
        case = read.case or read.image
        if ("case", case) in self.known:
            return self.known["case", case]
        own = bool(_CASE.fullmatch(case)) and ("case", case.casefold()) not in self.taken
        if not own:
            subject = f"sub-{self.made('sub', read.subject or case, read.subject or case)}"
            acquisition = self.made(subject, case, case)
            alone = not read.subject or read.subject == case
            short = alone and ("case", subject.casefold()) not in self.taken
            name = subject if short else f"{subject}_acq-{acquisition}"
        self._take("case", case, case if own else name)
        return self.known["case", case]

    def _take(self, kind: str, thing: object, name: str) -> None:
        self.known[kind, thing] = name
        self.taken.add((kind, name.casefold()))
        if kind == "case":
            self.taken.add(("sub", name.split("_")[0].removeprefix("sub-").casefold()))


def plain(text: str) -> str:
    """The letters and digits of a text, at most 64 of them.

    >>> plain("Läsion, links (2)")
    'Lasionlinks2'
    """
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub("[^A-Za-z0-9]", "", letters)[:64] or "x"
