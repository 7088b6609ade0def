"""Masks of several raters among BIDS derivatives: ``sub-01_ses-2_label-lesion_desc-rater1_mask.nii.gz``.

The reader takes names, sidecars and tables of labels into account; the writer makes one NIfTI mask for each structure,
with a sidecar that holds the original names. Specification: https://bids-specification.readthedocs.io.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import CallError, FormatError, GridError, LabelError, ManytruthsError, StudyError
from ..io import write_json, write_map
from ..io.documents import error_context, read_json
from ..io.files import check_regular_file
from ..shape.grid import Grid
from .documents import Source, find_sources
from .readings import ImportOptions, Mark, Reading, SegmentKey, Stored, parse_rank_or_none, parse_status
from .volumes import EmptyOutline, VolumeContents, file_errors, read_nifti_volume, scan_volume

MASKS = ("mask", "dseg", "probseg")
"""Suffixes of what is no image: yes or no, labels, probabilities."""
ENDINGS = (".nii.gz", ".nii")
LARGEST_TABLE = 1 << 20
"""Bytes of a table of names."""
READABLE = tuple(f"_{suffix}{ending}" for suffix in MASKS for ending in ENDINGS)
SAID = ("Author", "Authors", "Annotator", "Rater", "Reader", "Manual")
"""What a sidecar says of who drew it: kept with the marks."""
ReadingKey = tuple[str, str, str]
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


# -- reading ------------------------------------------------------------------------------------------


def read_bids(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read masks of BIDS derivatives: one reading for every rater of a case.

    The rater is the entity ``desc`` (``desc-rater1``), or the entity or sidecar field that ``options.rater_field``
    names, or without either the folder of the dataset. The case is the rest of the name without ``label``; ``ses`` is
    a visit of the patient, not a rater's second reading. A ``mask`` is of the structure ``label``, else of its
    sidecar's ``Type``, else of ``mask``. Labels of a ``dseg`` have the names of the nearest table ``dseg.tsv``, or
    their numbers without a table; labels that the table does not name are counted as ``unnamed-values``. A reading
    without any marked voxel is ``empty``. Probabilities (``probseg``) are left out and counted where the rater has
    masks of the case, and refused otherwise.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``…_mask.nii.gz`` and ``…_dseg.nii.gz``, folders of them, ``RATER=PATH``, or templates such as
        ``…/sub-{case}_desc-{rater}_mask.nii.gz``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every rater of a case.
    """
    options = options or ImportOptions()
    datasets: dict[Path, Dataset] = {}
    groups: dict[ReadingKey, list[_File]] = {}
    for source in find_sources(paths, READABLE):
        with file_errors(source.path):
            file = _file(source, datasets, options)
        groups.setdefault(file.key, []).append(file)
    reads = [_read(files, options) for files in groups.values()]
    return [replace(read, based_on=_parent(read, groups, options)) for read in reads]


@dataclass(frozen=True, eq=False)
class _File:
    """A file and all that its name, its place and its sidecar say."""

    path: Path
    name: Name
    sidecar: Mapping[str, Any]
    own: Mapping[str, str]
    """What :func:`write_bids` said in the sidecar."""
    key: ReadingKey
    """Case, rater, session."""
    fields: Mapping[str, str]
    dataset: Dataset


def _file(source: Source, datasets: dict[Path, Dataset], options: ImportOptions) -> _File:
    path = source.path
    name = parse_name(path.name)
    if name is None or next(iter(name.entities), "") != "sub" or not path.name.endswith(READABLE):
        raise FormatError("is not a BIDS name (sub-01_desc-rater1_mask.nii.gz, letters and digits); rename it")
    root = root_of(path.absolute())
    dataset = datasets.setdefault(root, Dataset(root))
    fields: dict[str, Any] = {}
    for sidecar in dataset.beside(path.absolute(), name, ".json"):  # the nearest has the last word
        fields |= read_json(sidecar, dict[str, Any])
    own_fields = fields.get(OWN)
    own = {str(k): v for k, v in own_fields.items() if isinstance(v, str)} if isinstance(own_fields, dict) else {}
    rater = source.fields.get("rater") or own.get("Rater") or _rater(name, fields, dataset, options)
    case = source.fields.get("case") or own.get("Case") or name.without("label", options.rater_field or "desc", "desc")
    session = source.fields.get("session") or own.get("Session", "")
    return _File(path, name, fields, own, (case, rater, session), source.fields, dataset)


def _rater(name: Name, fields: Mapping[str, Any], dataset: Dataset, options: ImportOptions) -> str:
    if options.rater_field is None:
        return name.entities.get("desc") or dataset.root.name
    value = fields.get(options.rater_field)
    rater = name.entities.get(options.rater_field) or (value.strip() if isinstance(value, str) else "")
    if not rater:
        raise FormatError(f"neither its name nor its sidecar holds {options.rater_field!r}; name another field")
    return rater


def _parent(read: Reading, groups: Mapping[ReadingKey, list[_File]], options: ImportOptions) -> str:
    """The one other rater of the case whose mask a sidecar says that this one was made of."""
    files = groups[read.case, read.rater, read.session]
    own = next((file.own["BasedOn"] for file in files if "BasedOn" in file.own), "")
    made_of = [parse_name(source.rpartition("/")[2]) for file in files for source in sources_of(file.sidecar)]
    masks = [name for name in made_of if name and name.suffix in ("mask", "dseg")]
    subject, entity = files[0].name.entities["sub"], options.rater_field or "desc"
    raters = {name.entities.get(entity, "") for name in masks if name.entities.get("sub") == subject}
    known = {rater for rater in raters if rater != read.rater and (read.case, rater, "") in groups}
    return own or (known.pop() if len(known) == 1 else "")


def _read(files: Sequence[_File], options: ImportOptions) -> Reading:
    case, rater, session = files[0].key
    drawn = [file for file in files if file.name.suffix != "probseg"]
    if not drawn:
        raise FormatError(f"{files[0].path}: holds probabilities, and {rater} has no mask of {case}; threshold it")
    marks, unnamed, grid = _read_marks(drawn, options)
    blank = all(isinstance(mark.outline, EmptyOutline) for mark in marks) and not unnamed
    image = find_image(drawn[0], grid)
    left_out = {"probseg": len(files) - len(drawn), "unnamed-values": unnamed}
    return Reading(
        image=f"{case}.nii.gz",
        rater=rater,
        grid=grid,
        marks=() if blank else tuple(marks),
        session=session,
        status=parse_status(files[0].own.get("Status", ""), blank, options),
        tool="BIDS",
        subject=files[0].fields.get("subject") or files[0].own.get("Subject") or files[0].name.entities["sub"],
        case=case,
        picture=None if image is None else Stored(image),
        left_out={kind: count for kind, count in left_out.items() if count},
        source=str(files[0].path),
    )


def _read_marks(files: Sequence[_File], options: ImportOptions) -> tuple[list[Mark], int, Grid]:
    """What files of one grid mark, how many of their labels have no name, and the grid."""
    marks: list[Mark] = []
    grids: list[Grid] = []
    unnamed, first = 0, files[0].path.name
    for file in files:
        with file_errors(file.path):
            volume, grid = read_nifti_volume(file.path)
            grids.append(grid)
            if different := grid.difference(grids[0]):
                raise GridError(f"{different}, as {first} has; put both on one grid")
            own, strange = _marks(file, scan_volume(volume), options)
            known = {(mark.label, mark.rank) for mark in marks}
            for mark in own:
                if (mark.label, mark.rank) in known:
                    raise LabelError(f"marks {mark.label!r}, which {first} marks, too; leave one of them out")
        marks, unnamed = marks + own, unnamed + strange
    return marks, unnamed, grids[0]


def _marks(file: _File, contents: VolumeContents, options: ImportOptions) -> tuple[list[Mark], int]:
    """What a file marks, and how many of its labels have no name."""
    values = contents.values[0]
    known_words = [word for word in SAID if isinstance(file.sidecar.get(word), str | bool | int)]
    attributes = {word: str(file.sidecar[word]) for word in known_words}
    if file.name.suffix == "mask":
        if len(values) > 1:
            shown = ", ".join(map(str, values[:5]))
            raise LabelError(f"is called a mask and holds the labels {shown}; call it …_dseg.nii.gz")
        rank = parse_rank_or_none(file.own.get("Rank") or file.sidecar.get(options.rank, ""))
        return [Mark(_structure(file), contents.outline(None), rank=rank, attributes=attributes)], 0
    tables = file.dataset.beside(file.path.absolute(), file.name, ".tsv")
    known = _read_label_names(tables[-1]) if tables else {value: str(value) for value in values}
    positive = {value: name for value, name in known.items() if value > 0}
    marks = [Mark(name, contents.outline(value), attributes=attributes) for value, name in positive.items()]
    return marks, sum(value not in known for value in values)


def _structure(file: _File) -> str:
    kind = file.sidecar.get("Type")
    named = file.fields.get("label") or file.own.get("Structure") or file.name.entities.get("label")
    return named or (kind.strip() if isinstance(kind, str) else "") or "mask"


# -- names and sidecars -------------------------------------------------------------------------------


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
        entities = [f"{name}-{value}" for name, value in self.entities.items() if name not in names]
        return "_".join([*entities, *([self.source] if self.source else [])])


def parse_name(name: str) -> Name | None:
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
    listed: dict[Path, list[tuple[Path, Name]]] = field(default_factory=dict)

    def inside(self, folder: Path) -> list[tuple[Path, Name]]:
        """The files of a folder that have names of BIDS."""
        if folder not in self.listed:
            files = sorted(folder.iterdir()) if folder.is_dir() else []
            named = ((path, parse_name(path.name)) for path in files)
            self.listed[folder] = [(path, name) for path, name in named if name is not None]
        return self.listed[folder]

    def beside(self, path: Path, name: Name, ending: str) -> list[Path]:
        """What holds for a file, from the dataset's folder down to its own, the nearest last."""
        folders = [folder for folder in reversed(path.parents) if folder == self.root or self.root in folder.parents]
        return [fitting for folder in folders for fitting in self._fitting(folder, name, ending)]

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


def _read_label_names(path: Path) -> dict[int, str]:
    """Names by label, of a table."""
    check_regular_file(path)
    with error_context(path):
        with open(path, "rb") as stream:
            data = stream.read(LARGEST_TABLE + 1)
        if len(data) > LARGEST_TABLE:
            raise FormatError(f"has more than {LARGEST_TABLE >> 20} MB; it should hold an index and a name a line")
        lines = io.StringIO(data.decode("utf-8-sig"), newline="")
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
        if not {"index", "name"} <= set(rows.fieldnames or ()):
            raise FormatError("has no columns index and name; add them")
        names: dict[int, str] = {}
        for number, row in enumerate(rows, start=2):
            with error_context(f"line {number}"):
                label = int(row["index"])
                if label in names:
                    raise FormatError(f"names the label {label} twice; leave one of them out")
                names[label] = (row["name"] or "").strip() or str(label)
        return names


# -- the image that was marked ------------------------------------------------------------------------


def find_image(file: _File, grid: Grid) -> Path | None:
    """The image of a mask, where just one can be meant: the one that the sidecar names, or the only one of its name."""
    # images may lie in the dataset itself, in what it keeps as its source, or in what it was derived from
    root = file.dataset.root
    above = [folder.parent for folder in (root, *root.parents) if folder.name == "derivatives"]
    raw = [root, root / "sourcedata" / "raw", root / "sourcedata", *above[:1]]
    places = [place / file.path.absolute().parent.relative_to(root) for place in raw]
    sources = {image.rpartition("/")[2] for image in sources_of(file.sidecar)}
    fitting = [
        (image.name in sources, image)
        for folder in places
        for image, other in file.dataset.inside(folder)
        if other.ending in ENDINGS and other.suffix not in MASKS and _same_image(file.name, other)
    ]
    named = [image for is_source, image in fitting if is_source]
    lying = [image for image in named or [image for _, image in fitting] if _lies_on(image, grid)]
    return lying[0] if len(lying) == 1 else None


def _same_image(name: Name, other: Name) -> bool:
    loose = ("desc", "label", "seg", "space", "res")
    mine = {word: value for word, value in name.entities.items() if word not in loose}
    same = {word: value for word, value in other.entities.items() if word in mine} == mine
    more = set(other.entities) - set(mine)
    return same and more <= {"space", "res"} and (not name.source or other.suffix == name.source)


def _lies_on(path: Path, grid: Grid) -> bool:
    try:
        with file_errors(path):
            return not read_nifti_volume(path)[1].difference(grid)
    except ManytruthsError:
        return False


def sources_of(sidecar: Mapping[str, Any]) -> list[str]:
    """What a sidecar says it was made of, as paths."""
    sources: list[str] = []
    for key in ("Sources", "RawSources"):
        value = sidecar.get(key, [])
        sources += [source for source in (value if isinstance(value, list) else [value]) if isinstance(source, str)]
    return [source.rpartition(":")[2] for source in sources]


# -- writing ------------------------------------------------------------------------------------------


def write_bids(folder: Path | str, reads: Iterable[Reading]) -> None:
    """Write readings as a dataset of BIDS derivatives.

    Files are called ``sub-01/anat/sub-01_label-lesion_desc-consensus_mask.nii.gz``: ``desc`` is the rater, ``label``
    the structure. Names consist of letters and digits and are unique; sidecars hold the original names. A reading
    without marks is a mask of zeros; one with status ``unread`` is not written.

    Parameters
    ----------
    folder : str or Path
        Folder of the dataset; it may hold an earlier dataset of manytruths, but no other.
    reads : iterable of Reading
        What to write.
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
        author = json.loads(path.read_bytes())["GeneratedBy"][0]["Name"]
    except (OSError, ValueError, LookupError, TypeError):
        author = None
    if author != OWN:
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
    masks = read.segments()
    for key, mask in masks.items() or [(None, np.zeros(read.grid.shape, bool))]:
        label = "" if key is None else f"label-{names.made('label', key, key[0])}_"
        stem = f"{prefix}_{label}desc-{desc}_mask"
        write_map(place / f"{stem}.nii.gz", mask.astype(np.uint8), read.grid)
        write_json(place / f"{stem}.json", _sidecar(read, key))


def _sidecar(read: Reading, key: SegmentKey | None) -> dict[str, object]:
    fields = {
        "Case": read.case or read.image,
        "Subject": read.subject,
        "Rater": read.rater,
        "Session": read.session,
        "Status": read.status,
        "BasedOn": read.based_on,
        "Structure": key[0] if key else "",
        "Rank": str(key[1]) if key and key[1] is not None else "",
    }
    return {"Type": "ROI", OWN: {name: value for name, value in fields.items() if value}}


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
            name = next(candidate for candidate in free if (kind, candidate.casefold()) not in self.taken)
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
