"""The ledger of an imported study (``imported.json``): what the import took from the tool, and what it wrote.

It tells what an export changed from what was edited by hand in the study since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from ...core.errors import FormatError
from ...exchange.readings import Reading, ReadingSet, Status
from ...io import write_json
from ...io.files import check_regular_file
from ...io.format_versions import check_format_version
from ...io.results import file_digest
from ...shape.grid import Grid
from .layout import LEDGER, Layout, on_disk
from .masks import Drawn, Overlap

FORMAT = "manytruths-import"
VERSION = 2
"""Of the file; a change that an update would notice makes it grow. Version 1 had no format."""
FOLDERS = ("masks", "ranks", "images")
"""Where the files lie whose digests are kept."""
Key = tuple[str, str, str]
"""Case, rater and session of a reading, as they are called on the disk."""
Cells = dict[str, str]


@dataclass(frozen=True)
class RecordedReading:
    """What the tool had of a reading when it was imported last."""

    case: str
    rater: str
    session: str
    status: Status
    image: str
    shape: tuple[int, ...]
    source: str
    based_on: str = ""
    tool: str = ""
    started: str = ""
    seconds: float | None = None
    subject: str = ""
    automatic: bool = False
    labels: tuple[str, ...] = ()
    """The structures that were marked."""
    checksum: str = ""
    """Of the masks that the import wrote; empty where there are none."""
    marked: int = 0
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of what was drawn of each structure."""
    earlier: tuple[Mapping[str, str], ...] = ()
    """The digests that later exports replaced."""
    vanished: bool = False
    """Whether later exports do not have it any more."""

    def reading(self, folder: Path) -> Reading:
        """The reading without its marks, which lie in the study as masks."""
        return Reading(
            self.image, self.rater, Grid(self.shape), session=self.session, status=self.status, based_on=self.based_on,
            tool=self.tool, started=self.started, seconds=self.seconds, subject=self.subject, case=self.case,
            source=str(folder), automatic=self.automatic,
        )  # fmt: skip


def record(read: Reading, drawn: Drawn | None, before: RecordedReading | None = None) -> RecordedReading:
    """What a ledger keeps of a reading of an export, which takes the place of what it kept ``before``."""
    digests = drawn.digests if drawn else {}
    earlier = () if before is None else before.earlier
    if before is not None and before.digests and before.digests != digests:
        earlier = (*earlier, before.digests)
    return RecordedReading(
        read.case, read.rater, read.session, read.status, read.image, read.grid.shape, read.source, read.based_on,
        read.tool, read.started, read.seconds, read.subject, read.automatic,
        tuple(sorted({mark.label for mark in read.marks})), drawn.checksum if drawn else "",
        drawn.marked if drawn else 0, digests, earlier,
    )  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What an import was asked for that decides about pixels and statuses, and must be the same in an update."""

    overlap: Overlap = "smaller"
    rule: str = "centre"
    widen: float | None = None
    blank: str = "empty"
    unfinished: str = "leave"
    rank_attribute: str = "rank"
    rank_maps: bool = True

    def difference(self, other: Settings) -> str:
        """The options by which ``other`` becomes this."""
        options = []
        for name in self.__dataclass_fields__:
            wanted, given = getattr(self, name), getattr(other, name)
            if wanted == given:
                continue
            option = f"--{name.replace('_', '-')}"
            if isinstance(wanted, bool):
                options.append(option if wanted else f"--no-{option[2:]}")
            else:
                options.append(f"no {option}" if wanted is None else f"{option} {wanted}")
        return " ".join(options)


@dataclass(frozen=True)
class Renames:
    """New names by old ones: answers that later exports need as well."""

    rater: Mapping[str, str] = field(default_factory=dict)
    label: Mapping[str, str] = field(default_factory=dict)
    case: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ledger:
    """What an import took and wrote."""

    settings: Settings
    renames: Renames
    images: str | None
    """The template of images that stay where they are."""
    names: Mapping[str, str]
    """What the image of each case is called in the tool, and the case before it was renamed."""
    structures: tuple[str, ...]
    ranked: bool
    pictured: bool
    """Whether images came along."""
    left_out: tuple[tuple[str, str, str, int], ...]
    """Case, rater, kind and number of shapes that were left out."""
    readings: tuple[RecordedReading, ...]
    files: Mapping[str, str]
    """Digests of masks, rank maps and images, by their paths in the study."""
    tables: Mapping[str, list[Cells]]
    """The tables as the import would write them."""
    toml: str
    """The same of ``study.toml``."""
    updates: int = 0
    """How often the study was updated."""
    format: str = FORMAT
    version: int = VERSION

    def readings_in(self, folder: Path) -> ReadingSet:
        """All readings without their marks."""
        return ReadingSet(tuple(one.reading(folder) for one in self.readings), self.structures)

    def by_key(self, layout: Layout) -> dict[Key, RecordedReading]:
        """Readings as they are called on the disk."""
        return {key_of(one, layout): one for one in self.readings}

    def write(self, folder: Path) -> None:
        """Write the ledger of a study."""
        write_json(folder / LEDGER, self)


class _Stated(msgspec.Struct):
    """What a ledger says of its version."""

    version: int | None = None
    schema_version: int = 0
    """In version 1."""


def key_of(read: Reading | RecordedReading, layout: Layout) -> Key:
    """Case, rater and session as they are called on the disk."""
    return on_disk(read.case), on_disk(read.rater), layout.session_name(read.session)


def read_ledger(folder: Path) -> Ledger:
    """Read the ledger of an imported study."""
    path = folder / LEDGER
    if not path.is_file():
        raise FormatError(
            f"{folder}: has no {LEDGER}, which says what an import wrote, so that edits since cannot be told; import "
            "anew into another folder, or with --replace"
        )
    check_regular_file(path)
    try:
        content = path.read_bytes()
        stated = msgspec.json.decode(content, type=_Stated)
        check_format_version(path, stated.schema_version if stated.version is None else stated.version, VERSION)
        ledger = msgspec.json.decode(content, type=Ledger)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: is damaged ({error}); import anew with --replace") from None
    for name in ledger.files:
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts:
            raise FormatError(f"{path}: names {name!r}, which no import writes; import anew with --replace")
    return ledger


def digests_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Digests of files of a study; those that are not there are left out."""
    return {name: file_digest(folder / name) for name in names if (folder / name).is_file()}


def files_in(folder: Path) -> list[str]:
    """Masks, rank maps and images of a folder, as paths within it."""
    paths = (path for name in FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def cells(header: Sequence[str], row: Sequence[object]) -> Cells:
    """A row of a table as it is read back from the file."""
    texts = ("" if v is None else float.__repr__(v) if isinstance(v, float) else str(v) for v in row)
    return {column: text.strip() for column, text in zip(header, texts, strict=True)}
