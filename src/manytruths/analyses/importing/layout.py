"""The folder of an imported study: where its files lie, what they are called, and its ``study.toml``."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import InputError, StudyError
from ...exchange.documents import is_drawable
from ...exchange.readings import Reading, ReadingSet
from ...io import safe_name
from ...io.results import finish_interrupted
from ...io.tables import read_table
from ...io.writing import PART
from ...study import Study

PICTURES = "images/{case}.*"
OURS = "# Imported by manytruths."
IMAGES = "images.csv"
"""The name that the tool gave to the image of each case; exports to the tool need it."""
LEDGER = "imported.json"
"""What the import took and wrote, for updates."""
UPDATES = "updates.csv"
"""What every update changed."""
WRITTEN = (
    "masks", "ranks", "images", "study.toml", "reads.csv", "cases.csv", "left_out.csv", IMAGES, LEDGER, UPDATES
)  # fmt: skip
"""All that an import may write."""
FIRST = "1"
"""The session of reads without one, where others have one."""
_UNSEEN = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
"""What some take for the end of a line, and what turns the direction of what follows, in paths and in tables."""


def on_disk(name: str) -> str:
    """A name as a part of a path, and the same in a table, which takes no notice of spaces around it."""
    return safe_name(_UNSEEN.sub("_", name).strip())


@dataclass(frozen=True)
class Layout:
    """The parts that a study's paths have."""

    structures: tuple[str, ...]
    sessions: bool
    volumes: bool
    cases: Mapping[str, str]
    """What a case is called on the disk."""
    kept: bool = False
    """Whether masks are files of outlines, as an image is too large to be drawn on."""

    @classmethod
    def of(cls, readings: ReadingSet) -> Layout:
        axes = {len(read.grid.shape) for read in readings.reads}
        if len(axes) > 1:
            raise StudyError("there are images and volumes among the cases; import them apart")
        cases = {name: on_disk(name) for name in readings.cases}
        for names in (readings.cases, readings.raters, {read.session for read in readings.reads}, readings.structures):
            _check_distinct(sorted(names))
        layout = cls(
            readings.structures or ("marked",),
            any(read.session for read in readings.reads),
            axes == {3},
            cases,
            axes == {2} and not all(is_drawable(read.grid.shape) for read in readings.reads),
        )
        often = Counter((read.case, read.rater, layout.session(read)) for read in readings.reads)
        for (case, rater, session), count in often.items():
            if count > 1:
                raise StudyError(f"rater {rater} read case {case} {count} times in session {session}; name them apart")
        return layout

    @property
    def ending(self) -> str:
        return ".geojson" if self.kept else ".nii.gz" if self.volumes else ".png"

    @property
    def masks(self) -> str:
        """As a template."""
        return f"masks/{self._parts('{rater}', '{session}', '{label}')}/{{case}}{self.ending}"

    @property
    def ranks(self) -> str:
        return f"ranks/{self._parts('{rater}', '{session}', '')}/{{case}}{self.ending}"

    def mask(self, folder: Path, read: Reading, structure: str) -> Path:
        """The path of a structure's mask."""
        parts = self._parts(on_disk(read.rater), self.session(read), on_disk(structure))
        return folder / f"masks/{parts}/{self.cases[read.case]}{self.ending}"

    def rank(self, folder: Path, read: Reading) -> Path:
        """The path of a rank map."""
        parts = self._parts(on_disk(read.rater), self.session(read), "")
        return folder / f"ranks/{parts}/{self.cases[read.case]}{self.ending}"

    def files(self, read: Reading, ranked: bool) -> dict[str, str]:
        """The paths of a reading's masks in the study by structure, and of its rank map under an empty name."""
        inside = Path()
        paths = {structure: self.mask(inside, read, structure).as_posix() for structure in self.structures}
        return paths | ({"": self.rank(inside, read).as_posix()} if ranked else {})

    def session(self, read: Reading) -> str:
        """As it is called on the disk."""
        return self.session_name(read.session)

    def session_name(self, session: str) -> str:
        """What a session is called on the disk."""
        return on_disk(session or FIRST) if self.sessions else ""

    def parent(self, read: Reading) -> str:
        """The read that it is based on, as that is called on the disk."""
        name, slash, session = read.based_on.partition("/")
        return f"{name and on_disk(name)}{slash}{session and on_disk(session)}"

    def _parts(self, rater: str, session: str, label: str) -> str:
        several = len(self.structures) > 1 and label and not self.kept
        return "/".join([rater, *([session] if self.sessions else ()), *([label] if several else ())])


def _check_distinct(names: Iterable[str]) -> None:
    """Refuse names that are one on disks that take no notice of capitals, or of how an umlaut is put together."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(unicodedata.normalize("NFC", on_disk(name)).casefold(), name)
        if other != name:
            raise StudyError(f"{other!r} and {name!r} would be one file on many disks; rename one of them")


# -- the folder --------------------------------------------------------------------------------------


def check_folder(folder: Path, replace: bool) -> None:
    """Refuse a folder that holds anything but an import that may go."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose a new folder with --to")
    paths = folder.iterdir() if folder.is_dir() else ()
    inside = sorted(path.name for path in paths if not path.name.startswith(PART))
    ours = _text_of(folder / "study.toml").startswith(OURS)
    if not inside or (ours and replace):
        return
    if ours:
        raise InputError(
            f"{folder}: holds an earlier import; add what is new with --update, or put this one in its place with "
            "--replace"
        )
    raise InputError(f"{folder}: holds {', '.join(inside[:3])}; choose an empty or a new folder with --to")


def holds_import(folder: Path) -> bool:
    """Whether a folder holds an imported study, also one that a killed run has not put into place yet."""
    if folder.parent.is_dir():
        finish_interrupted(folder)
    return (folder / LEDGER).is_file() or _text_of(folder / "study.toml").startswith(OURS)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def earlier_files(folder: Path, images: str | None) -> list[str]:
    """What an earlier import wrote into the folder; images that somebody else put there are not among it."""
    named = images is not None and Path(images).resolve().is_relative_to((folder / "images").resolve())
    ours = f"images = {_toml_string(PICTURES)}" in _text_of(folder / "study.toml") and not named
    return [name for name in WRITTEN if name != "images" or ours]


def image_names(study: Study) -> dict[str, str]:
    """By case, what the tool that a study was imported from calls its image."""
    if study.options.reads is None:
        return {}
    path = Path(study.options.reads).with_name(IMAGES)
    return {case: row["image"] for case, row in read_table(str(path), "case").items()} if path.is_file() else {}


def study_toml(
    layout: Layout,
    overlap: str,
    images: str | None,
    *,
    pictures: bool,
    ranked: bool,
    subjects: bool,
    models: Mapping[str, Sequence[str]],
) -> str:
    """The text of ``study.toml``; models that raters started from are excluded from the raters."""
    # as absolute paths, images are found wherever the study lies
    template = PICTURES if pictures else images and str(Path(images).absolute())
    lines = [OURS, f'masks = "{layout.masks}"', 'reads = "reads.csv"']
    lines += [f"images = {_toml_string(template)}"] if template else []
    lines += [f'ranks = "{layout.ranks}"'] if ranked else []
    lines += ['cases = "cases.csv"'] if subjects else []
    lines += ['overlap = "union"'] if overlap == "union" and len(layout.structures) > 1 else []
    if layout.kept or len(layout.structures) == 1:
        named = (f"{value} = {_toml_string(name)}" for value, name in enumerate(layout.structures, start=1))
        lines += [f"labels = {{ {', '.join(named)} }}"]
    if models:
        lines += ["", "[exclude]"]
        lines += [f"{_toml_string(name)} = [{', '.join(map(_toml_string, cases))}]" for name, cases in models.items()]
    return "\n".join(lines) + "\n"


def _toml_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
