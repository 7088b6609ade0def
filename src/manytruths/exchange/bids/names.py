"""The names of BIDS, and what lies beside a file: ``sub-01_ses-2_label-lesion_desc-rater1_mask.nii.gz``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import FormatError, ManytruthsError
from ...io.files import check_regular_file
from ...shape.grid import Grid
from ..opening import about, json_of
from ..volumes import nifti_volume, telling

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
