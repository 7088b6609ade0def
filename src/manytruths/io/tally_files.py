"""Tally files: the tables of a study in one small file, which holds no pixel and no path.

Unpacked (``gunzip < centre-a.tally``), a file is text that can be read before it is sent: a line of JSON about the
study; for every case a line of JSON and its tables as :meth:`Tally.to_csv` writes them; and the SHA-256 of all of that.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..core.columns import ROLES, Role, natural_key
from ..core.errors import CallError, FormatError, ManytruthsError, StudyError, find_name_fault
from ..core.tally import Tally
from .files import check_regular_file
from .format_versions import check_format_version
from .writing import atomic

SUFFIX = ".tally"
FORMAT = "manytruths-tallies"
VERSION = 2
"""Of the format; a change that an older release would misread makes it grow. Version 1 was named by one key."""
MOST_BYTES = 1 << 28
"""Largest size of an unpacked file: one that promises more is an attack, or should be several."""
MOST_ITEMS = 2**53
"""Largest number of pixels of a case: up to it, floating-point numbers count exactly."""

_CHUNK = 1 << 16
_GZIP = 31
"""What zlib calls deflated data with the header of gzip."""
_SUM = b"sha256 "
_AGAIN = "get the file again from whoever wrote it"


class Who(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rater in one session, an algorithm or a reference standard."""

    name: str
    role: Role = "rater"
    session: str = ""


class Unused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reading that does not count, and why."""

    case: str
    who: Who
    why: str
    reason: str = ""


class Doubt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mask that is probably broken, as it was found where the masks are."""

    kind: str
    case: str
    whose: tuple[Who, ...]
    before: float | None
    after: float | None
    change: str
    other: str
    share: float | None
    others: float | None
    count: int
    total: int
    compared: int
    item: str


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The study: what its tables mean, and what all cases share."""

    format: str
    version: int
    written_by: str
    centre: str
    coded: bool
    """Whether cases and subjects have codes instead of names."""
    least: int
    """Patterns of fewer pixels were merged."""
    cases: int
    labels: tuple[tuple[int, str], ...] | None
    """Values and names; None where they were not declared."""
    background: str | None
    foreground: str | None
    void: int | None
    """The value that meant "not rated"; in the tables such cells are empty."""
    region: str
    exchangeable: bool
    edited: str
    predictions: bool
    references: bool
    trained_on: dict[str, str]
    raters: dict[str, dict[str, str]]
    """Columns of ``raters.csv`` that were kept, by rater."""
    unused: tuple[Unused, ...]
    doubts: tuple[Doubt, ...]
    left_out: tuple[str, ...] = ()
    """What the study had and the file does not: probability maps, rank maps."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of an image that has a table of its own, and the length of its text in bytes."""

    bytes: int
    inside: bool = True
    """Whether it lies in the region of interest."""
    trained: tuple[str, ...] = ()
    """Algorithms that were trained on it."""


class EditedRead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reading that started from another's mask, and the length of the table of both in bytes."""

    who: Who
    parent: Who
    step: int
    bytes: int | None
    """None where the mask that it started from was not kept."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case: everything but its tables, which follow."""

    case: str
    subject: str
    order: int | None
    groups: tuple[str, ...]
    properties: dict[str, str]
    """Columns of ``cases.csv`` that were kept."""
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    logged: bool
    """Whether the reading log knows the case."""
    resampled: tuple[bool, bool]
    """Of the raters' masks, and of those, predictions and references: whether any was."""
    merged: int
    """Pixels that were given another pattern, by ``least``."""
    parts: tuple[Part, ...]
    edits: tuple[EditedRead, ...] = ()


class TalliedCase(msgspec.Struct, frozen=True):
    """A case with its tables: one per part of the image, and one per edited reading."""

    record: Record
    parts: tuple[Tally, ...]
    edits: tuple[Tally | None, ...] = ()


def is_tally_file(path: object) -> bool:
    """Whether a path names a tally file, or with a wildcard several of them."""
    return isinstance(path, str | os.PathLike) and os.fspath(path).lower().endswith(SUFFIX)


def list_tally_files(masks: str | Path | Sequence[str | Path], folder: Path | None = None) -> list[str] | None:
    """The tally files that are named, wildcards replaced by what they find; None where a template is named."""
    named: list[Any] = list(masks) if isinstance(masks, list | tuple) else [masks]
    tallies = [is_tally_file(path) for path in named]
    paths = all(isinstance(path, str | os.PathLike) for path in named)
    if not paths or (not isinstance(masks, list | tuple) and not any(tallies)):
        return None
    if not named:
        raise CallError("masks is an empty list; name the tally files")
    if not all(tallies):
        other = next(path for path, one in zip(named, tallies, strict=True) if not one)
        if not any(tallies):
            raise CallError(
                f"masks is one template, or a list of tally files; got {len(named)} paths, such as {other!r}: put a "
                "template with * or {case} in quotes"
            )
        raise StudyError(
            f"tally files cannot be mixed with {str(other)!r}; write a tally file of those masks, too: manytruths "
            f"tally {other} --to other{SUFFIX}"
        )
    return [path for name in named for path in _expand(os.fspath(name), folder)]


def _expand(name: str, folder: Path | None) -> list[str]:
    path = name if folder is None else str(folder / name)
    if not glob.has_magic(path) or os.path.exists(path):
        return [path]
    found = sorted(glob.glob(path), key=natural_key)
    if not found:
        raise StudyError(f"{path}: no tally file is there; correct the path")
    return found


def write_tally_file(path: Path, about: About, cases: Sequence[TalliedCase]) -> int:
    """Write a tally file, and return its size in bytes. The same content gives the same bytes."""
    content = b"".join(_lines(about, cases))
    content += _SUM + hashlib.sha256(content).hexdigest().encode() + b"\n"
    if len(content) > MOST_BYTES:
        raise FormatError(
            f"{path}: the tables take {len(content) / 1e6:,.0f} MB, more than the {MOST_BYTES / 1e6:,.0f} MB that can "
            "be read back; write the cases to several files"
        )
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)  # without a time or a name in its header
    packed = packer.compress(content) + packer.flush()
    with atomic(path) as temporary:
        temporary.write_bytes(packed)
    return len(packed)


def _lines(about: About, cases: Sequence[TalliedCase]) -> Iterator[bytes]:
    yield msgspec.json.encode(about) + b"\n"
    for case in cases:
        parts = [table.to_csv().encode() for table in case.parts]
        edits = [None if table is None else table.to_csv().encode() for table in case.edits]
        record = msgspec.structs.replace(
            case.record,
            parts=tuple(
                msgspec.structs.replace(part, bytes=len(text))
                for part, text in zip(case.record.parts, parts, strict=True)
            ),
            edits=tuple(
                msgspec.structs.replace(edit, bytes=None if text is None else len(text))
                for edit, text in zip(case.record.edits, edits, strict=True)
            ),
        )
        yield msgspec.json.encode(record) + b"\n"
        yield from parts
        yield from (text for text in edits if text is not None)


def read_tally_file(path: Path | str) -> tuple[About, list[TalliedCase]]:
    """The study and the cases of a tally file; refuses one that was cut or altered."""
    content = _unpack(path)
    first, _, _ = content.partition(b"\n")
    stated = _check_version(path, first)
    text, found = content[:-_LAST], content[-_LAST:]
    if found != _SUM + hashlib.sha256(text).hexdigest().encode() + b"\n":
        raise FormatError(f"{path}: its content does not fit its checksum: it was cut or altered; {_AGAIN}")
    try:
        about = msgspec.convert(stated, About)
        _check_names(_names(about))
        return about, list(_cases(text, len(first) + 1, about))
    except (msgspec.MsgspecError, ManytruthsError, ValueError) as error:
        raise FormatError(f"{path}: is no tally file that manytruths wrote: {error}; {_AGAIN}") from None


def _names(about: About) -> Iterator[str]:
    yield from (name for _, name in about.labels or ())
    yield from about.trained_on
    yield from about.trained_on.values()
    yield from (text for rater, row in about.raters.items() for text in (rater, *row, *filter(None, row.values())))
    yield from (text for each in about.unused for text in (each.case, each.who.name, each.why, each.reason or "-"))
    yield from (text for each in about.doubts for text in (each.kind, each.item, *(who.name for who in each.whose)))
    yield from filter(None, (*about.left_out, *(each.change for each in about.doubts), about.centre))


_LAST = len(_SUM) + hashlib.sha256().digest_size * 2 + 1


def _unpack(path: Path | str) -> bytes:
    """The content of the file, unpacked up to a limit."""
    check_regular_file(path, most=MOST_BYTES)
    packer, parts, size = zlib.decompressobj(_GZIP), list[bytes](), 0
    with open(path, "rb") as stream:
        start = stream.read(2)
        if start != b"\x1f\x8b":
            raise FormatError(f"{path}: is no tally file; write one with 'manytruths tally'")
        waiting = start
        while waiting and not packer.eof:
            try:
                parts.append(packer.decompress(waiting, MOST_BYTES + 1 - size))
            except zlib.error:
                raise FormatError(f"{path}: cannot be unpacked: it was altered; {_AGAIN}") from None
            size += len(parts[-1])
            if size > MOST_BYTES:
                raise FormatError(f"{path}: unpacks to more than {MOST_BYTES / 1e6:,.0f} MB; it was not written so")
            waiting = packer.unconsumed_tail or stream.read(_CHUNK)
        if not packer.eof:
            raise FormatError(f"{path}: was cut after {size:,} bytes of its content; {_AGAIN}")
        if packer.unused_data or stream.read(1):
            raise FormatError(f"{path}: something was added to its end; {_AGAIN}")
    return b"".join(parts)


def _check_version(path: Path | str, first: bytes) -> dict[str, Any]:
    """The first line as the newest version has it; a newer file is refused before anything else of it is looked at."""
    try:
        stated = msgspec.json.decode(first, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        stated = {}
    if isinstance(version := stated.pop("manytruths_tallies", None), int):
        stated = {"format": FORMAT, "version": version, **stated}
    if stated.get("format") != FORMAT:
        raise FormatError(f"{path}: is no tally file; write one with 'manytruths tally'")
    check_format_version(path, stated.get("version"), VERSION)
    return stated


def _cases(content: bytes, start: int, about: About) -> Iterator[TalliedCase]:
    """The cases one after another; every length is checked, so that nothing is skipped or read twice."""
    for _ in range(about.cases):
        end = content.index(b"\n", start)
        record = msgspec.json.decode(content[start:end], type=Record)
        tables = list[Tally | None]()
        start = end + 1
        for length in (*(part.bytes for part in record.parts), *(edit.bytes for edit in record.edits)):
            if length is None:
                tables.append(None)
                continue
            if not 0 < length <= len(content) - start:
                raise FormatError(f"case {record.case}: a table of {length} bytes is not there")
            tables.append(Tally.from_csv(content[start : start + length].decode()))
            start += length
        count = len(record.parts)
        case = TalliedCase(record, tuple(t for t in tables[:count] if t is not None), tuple(tables[count:]))
        _check_case(case)
        yield case
    if start != len(content):
        raise FormatError("there is more than its cases")


def _check_names(names: Iterable[str]) -> None:
    """Refuse names that end lines or control a terminal: a file may come from anybody."""
    for name in names:
        if fault := "is empty" if not name else find_name_fault(name):
            raise FormatError(f"the name {name[:40]!r} {fault}")


def _check_case(case: TalliedCase) -> None:
    """Refuse names that cannot be printed, and tables that contradict each other."""
    record, columns = case.record, case.parts[0].columns if case.parts else ()
    _check_names((record.case, record.subject, *record.groups, *record.properties, *record.properties.values()))
    _check_names(str(column) for column in columns)
    _check_names(who.name for edit in record.edits for who in (edit.who, edit.parent))
    name, parts = case.record.case, case.parts
    if not parts or any(part.columns != parts[0].columns for part in parts):
        raise FormatError(f"case {name}: its tables have different columns, or there is none")
    if not any(column.role == "rater" for column in parts[0].columns):
        raise FormatError(f"case {name}: nobody marked it")
    items = sum(int(count) for table in (*parts, *filter(None, case.edits)) for count in table.counts.tolist())
    shape = math.prod(case.record.shape)
    if min(case.record.shape, default=0) < 1 or shape > MOST_ITEMS or items > MOST_ITEMS * (1 + len(case.edits)):
        raise FormatError(f"case {name}: has {shape:,} pixels")
    counted = sum(int(table.counts.sum()) for table in parts)
    if counted != shape:
        raise FormatError(f"case {name}: {counted:,} pixels are counted of {shape:,}")
    if any(column.role not in ROLES for column in parts[0].columns):
        raise FormatError(f"case {name}: has a column of an unknown role")
