"""The disputes of a study on disk: found in the background, case by case, and read again when the page needs them.

Each case has one file. Its head lists the disputes without pixels; what raters drew follows as runs, and is read for
one dispute at a time. A file is used again as long as the case, the code and the unit of disputes are the same: by the
signatures of the files that the case was made from, or, where these changed, by their bytes.

The indexer is a process of its own, so that memory that a large volume needed is free again, and reads one rater's mask
at a time where a case is large. It ends with the server, however that ends.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import queue
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from ..core.columns import Column
from ..core.errors import ManytruthsError, one_line
from ..core.runs import LabelRuns, TooManyRuns, read_runs
from ..io import Location
from ..io.decision_log import make_folder
from ..io.files import suffix_of
from ..io.images import probe
from ..io.kept import code_version
from ..io.nifti import open_voxels
from ..io.results import fingerprint
from ..io.writing import atomic, safe_name
from ..shape.grid import Grid
from ..study import Case
from ..study.case import Reading
from ..study.disputes import CaseDisputes, Dispute, DisputeRule, find_disputes
from ..study.grids import Target, find_target
from ..study.keeping import case_key, sign_case

MAGIC = b"manytruths disputes 1\n"
LARGE_MASK = 1 << 26
"""Pixels of a mask that is read slab by slab."""
LARGE_CASE = 1 << 27
"""Bytes of all masks of a case from which on they are read one after the other, as runs."""


# -- a case on disk -----------------------------------------------------------------------------------


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A dispute without what was drawn, and where that lies in the file."""

    key: str
    kind: str
    label: int | None
    box: tuple[tuple[int, int], ...]
    centre: tuple[int, ...]
    size: float
    worst_dice: float | None
    worst_mm: float | None
    doubt: float
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    not_rated_by: tuple[str, ...]
    start: int
    length: int


class Head(msgspec.Struct, frozen=True):
    """What is known of a case without what was drawn."""

    case: str
    subject: str
    groups: tuple[str, ...]
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    settings: str
    signature: str
    """Of the files by inode, size and times; empty where they have none."""
    content: str
    """Of everything that the disputes were made from."""
    disputes: tuple[Entry, ...]
    settled: tuple[Entry, ...]
    rule: dict[str, Any]
    """By which they were sorted when they were found."""


class _Drawn(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    starts: bytes
    lengths: bytes
    values: bytes


@dataclass(frozen=True, eq=False)
class Indexed:
    """The disputes of a case, of which pixels are read when they are asked for."""

    path: Path
    head: Head
    start: int
    """Where what was drawn begins in the file."""

    @property
    def case(self) -> str:
        """The name of the case."""
        return self.head.case

    def read(self, entry: Entry) -> Dispute:
        """A dispute with what was drawn."""
        with open(self.path, "rb") as stream:
            stream.seek(self.start + entry.start)
            packed = stream.read(entry.length)
        drawn = msgspec.msgpack.decode(zlib.decompress(packed), type=dict[str, _Drawn])
        shape = tuple(stop - start for start, stop in entry.box)
        return Dispute(
            entry.key, self.head.case, self.head.subject, entry.kind, entry.label, entry.box, entry.centre, entry.size,
            _number(entry.worst_dice), _number(entry.worst_mm), entry.doubt, entry.found_by, entry.missed_by,
            entry.not_rated_by, {name: _unpack(each, shape) for name, each in drawn.items()},
        )  # fmt: skip

    def found(self) -> CaseDisputes:
        """All of it, with what was drawn."""
        disputes, settled = tuple(map(self.read, self.head.disputes)), tuple(map(self.read, self.head.settled))
        return replace(self.bare, disputes=disputes, settled=settled)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Where each dispute lies in the file, by key."""
        return {entry.key: entry for entry in (*self.head.disputes, *self.head.settled)}

    def read_key(self, key: str) -> Dispute:
        """A dispute with what was drawn, by its key."""
        return self.read(self.entries[key])

    @cached_property
    def bare(self) -> CaseDisputes:
        """All of it without what was drawn."""
        head = self.head
        disputes, settled = (
            tuple(_bare(entry, head) for entry in entries) for entries in (head.disputes, head.settled)
        )
        rule = DisputeRule(**head.rule)
        return CaseDisputes(head.case, head.subject, head.groups, head.shape, head.spacing, disputes, settled, rule)


def _bare(entry: Entry, head: Head) -> Dispute:
    return Dispute(
        entry.key, head.case, head.subject, entry.kind, entry.label, entry.box, entry.centre, entry.size,
        _number(entry.worst_dice), _number(entry.worst_mm), entry.doubt, entry.found_by, entry.missed_by,
        entry.not_rated_by, {},
    )  # fmt: skip


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _pack(runs: LabelRuns) -> _Drawn:
    kind = np.dtype(np.uint32) if math.prod(runs.shape) < 1 << 32 else np.dtype(np.int64)
    values = runs.values.astype(runs.values.dtype.newbyteorder("<"))
    return _Drawn(
        f"{kind.str} {values.dtype.str}", runs.starts.astype(kind).tobytes(), runs.lengths.astype(kind).tobytes(),
        values.tobytes(),
    )  # fmt: skip


def _unpack(drawn: _Drawn, shape: tuple[int, ...]) -> LabelRuns:
    kind, values = drawn.dtype.split()
    starts = np.frombuffer(drawn.starts, kind).astype(np.int64)
    stops = starts + np.frombuffer(drawn.lengths, kind).astype(np.int64)
    return LabelRuns(shape, starts, stops, np.frombuffer(drawn.values, values))


def write_case(path: Path, found: CaseDisputes, settings: str, signature: str, content: str) -> None:
    """Write the disputes of a case."""
    packed: list[bytes] = []
    place = 0

    def put(dispute: Dispute) -> Entry:
        nonlocal place
        drawn = {name: _pack(runs) for name, runs in dispute.drawn.items()}
        packed.append(zlib.compress(msgspec.msgpack.encode(drawn), 1))
        start, place = place, place + len(packed[-1])
        box = tuple((int(low), int(high)) for low, high in dispute.box)
        return Entry(
            dispute.key, dispute.kind, None if dispute.label is None else int(dispute.label), box,
            tuple(map(int, dispute.centre)), float(dispute.size), _or_none(float(dispute.worst_dice)),
            _or_none(float(dispute.worst_mm)), float(dispute.doubt), tuple(dispute.found_by),
            tuple(dispute.missed_by), tuple(dispute.not_rated_by), start, len(packed[-1]),
        )  # fmt: skip

    disputes, settled = tuple(map(put, found.disputes)), tuple(map(put, found.settled))
    spacing = None if found.spacing is None else tuple(map(float, found.spacing))
    head = Head(
        found.case, found.subject, tuple(found.groups), tuple(map(int, found.shape)), spacing, settings, signature,
        content, disputes, settled, dict(vars(found.rule)),
    )  # fmt: skip
    text = zlib.compress(msgspec.msgpack.encode(head), 1)
    with atomic(path) as temporary, open(temporary, "wb") as stream:
        stream.write(MAGIC + len(text).to_bytes(8, "little") + text)
        stream.writelines(packed)


def read_case(path: Path) -> Indexed | None:
    """The disputes of a case; None where there is no file, or one that cannot be used."""
    try:
        with open(path, "rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                return None
            length = int.from_bytes(stream.read(8), "little")
            head = msgspec.msgpack.decode(zlib.decompress(stream.read(length)), type=Head)
    except (OSError, zlib.error, msgspec.MsgspecError):
        return None
    return Indexed(path, head, len(MAGIC) + 8 + length)


# -- finding the disputes of a case -------------------------------------------------------------------


def read_bounded(case: Case, scratch: Path | None = None) -> Reading:
    """The masks of a case: as runs, read one after the other, where together they are large.

    Large NIfTI files are read slab by slab; a compressed one is unpacked into the folder ``scratch`` meanwhile.
    """
    if case.in_memory or case.counted is not None:
        return case.read(by_tile=True)
    target = find_target(case)
    masks: dict[Column, Any] = {}
    done, grid, counted = {}, None if target is None else target.grid, 0
    for column in case.masks:
        runs = None if target is None or scratch is None else read_slabs(case.masks[column], target.grid, scratch)
        if runs is not None:
            masks[column] = runs
            continue
        placed = case.placed(column, target)
        array = placed.mask.array
        if target is None:
            target = Target(placed.mask.grid, f"rater {column}'s")
            grid = target.grid
        if placed.done.how:
            done[column] = placed.done
        counted += math.prod(array.shape) * array.dtype.itemsize
        masks[column] = array
        if counted > LARGE_CASE:
            masks = {each: read_runs(mask) for each, mask in masks.items()}
    if grid is None:
        return case.read(by_tile=True)
    if any(isinstance(mask, LabelRuns) for mask in masks.values()):
        masks = {each: read_runs(mask) for each, mask in masks.items()}
    return Reading(case, masks, grid, done)


def read_slabs(parts: Mapping[str, Any], grid: Grid, scratch: Path) -> LabelRuns | None:
    """The runs of a large NIfTI mask that lies on a grid already, without the whole of it; None of all others."""
    source = parts.get("")
    if not isinstance(source, Location) or source.index is not None or source.blank or len(parts) > 1:
        return None
    if suffix_of(source.path.name) not in (".nii", ".nii.gz") or math.prod(grid.shape) < LARGE_MASK:
        return None
    if probe(source) != grid:
        return None
    unpacked = scratch / f"{os.getpid()}.voxels"
    try:
        voxels = open_voxels(source, unpacked)
        if voxels.dtype.kind not in "buif":
            return None
        runs = read_runs(voxels)
        top = float(runs.values.max(initial=0))
        # what is no mask is refused where it is read as usual
        if not math.isfinite(top) or (runs.values < 0).any() or (runs.values != np.rint(runs.values)).any():
            return None
        return runs if voxels.dtype.kind in "bui" else runs.astype(np.min_scalar_type(int(top)))
    except TooManyRuns:
        return None
    finally:
        unpacked.unlink(missing_ok=True)


def index_settings(rule: DisputeRule) -> str:
    """The digest of what lesions depend on besides the case: the code and the unit; thresholds are applied later."""
    return fingerprint((code_version(), version("numpy"), version("scipy"), rule.unit, rule.tile), ())[:32]


def signature_of(case: Case) -> str:
    """The digest of the signatures of a case's files; empty where it has none."""
    signed = sign_case(case)
    return "" if signed is None else fingerprint([sorted(files.items()) for files in signed], ())[:32]


def content_of(case: Case, settings: str) -> str:
    """The digest of the bytes that the disputes of a case are made from."""
    signed = sign_case(case)
    if signed is not None:
        return case_key(case, settings, signed)[:32]
    arrays = [(str(column), [np.asarray(mask) for mask in parts.values()]) for column, parts in case.masks.items()]
    return fingerprint((settings, case.name, repr(case.options)), arrays)[:32]


def index_case(case: Case, rule: DisputeRule, path: Path) -> None:
    """Find the disputes of a case and write them, unless the file that is there was made from the same."""
    settings, signature = index_settings(rule), signature_of(case)
    there = read_case(path)
    if is_current(there, settings, signature):
        return
    content = content_of(case, settings)
    if there is not None and there.head.settings == settings and there.head.content == content:
        write_case(path, there.found(), settings, signature, content)
        return
    # thresholds are applied later, and what is too small cannot be told apart then
    found = find_disputes(read_bounded(case, path.parent), replace(rule, lesion_min_size=1))
    write_case(path, found, settings, signature if signature == signature_of(case) else "", content)


def is_current(there: Indexed | None, settings: str, signature: str) -> bool:
    """Whether what is on disk was made with these settings from these files, as far as they show without reading."""
    return (
        there is not None and bool(signature) and (there.head.settings, there.head.signature) == (settings, signature)
    )


# -- the index of a study -----------------------------------------------------------------------------


@dataclass
class Index:
    """The disputes of a study as far as they were found.

    Attributes
    ----------
    folder : Path
        Where the files lie.
    cases : sequence of Case
        In the order in which they are wanted.
    rule : DisputeRule
        What a dispute is.
    """

    folder: Path
    cases: Sequence[Case]
    rule: DisputeRule
    ready: dict[str, Indexed] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Why the disputes of a case could not be found."""
    _child: subprocess.Popen[bytes] | None = None
    _messages: queue.SimpleQueue[dict[str, str]] = field(default_factory=queue.SimpleQueue)

    def path(self, name: str) -> Path:
        """The file of a case."""
        return self.folder / f"{safe_name(name)}.disputes"

    @property
    def left(self) -> int:
        """Cases whose disputes are not known yet."""
        return len(self.cases) - len(self.ready) - len(self.failed)

    def load(self) -> None:
        """Take what earlier runs left, where files and rule are the same."""
        settings = index_settings(self.rule)
        for case in self.cases:
            if case.name not in self.ready:
                there = read_case(self.path(case.name))
                if there is not None and is_current(there, settings, signature_of(case)):
                    self.ready[case.name] = there

    def start(self) -> None:
        """Start the indexer for the cases that are missing."""
        wanted = [case for case in self.cases if case.name not in self.ready and case.name not in self.failed]
        if not wanted:
            return
        make_folder(self.folder.parent)
        make_folder(self.folder)
        code = "from manytruths.adjudication.index import serve_index; serve_index()"
        self._child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        threading.Thread(target=self._feed, args=(self._child.stdin, wanted), daemon=True).start()
        threading.Thread(target=self._listen, args=(self._child.stdout,), daemon=True).start()

    def _feed(self, stream: IO[bytes], wanted: Sequence[Case]) -> None:
        # the pipe stays open as long as this process lives: its end is how the indexer knows
        with suppress(OSError):
            pickle.dump((wanted, self.rule, self.folder), stream, pickle.HIGHEST_PROTOCOL)
            stream.flush()

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            with suppress(ValueError):
                self._messages.put(json.loads(line))
        self._messages.put({"end": "yes"})

    def refresh(self, wait: float | None = None) -> bool:
        """Take what the indexer has found meanwhile; True where there was something.

        ``wait`` is how many seconds to wait for the first message.
        """
        changed = False
        while True:
            try:
                message = self._messages.get(timeout=wait) if wait else self._messages.get_nowait()
            except queue.Empty:
                return changed
            wait, changed = None, True
            self._take(message)

    def _take(self, message: Mapping[str, str]) -> None:
        name = message.get("case", "")
        if "end" in message:
            # a process that was killed leaves cases behind
            for case in self.cases:
                if case.name not in self.ready:
                    self.failed.setdefault(case.name, "its process ended, perhaps for lack of memory")
        elif message.get("error"):
            self.failed[name] = message["error"]
        else:
            there = read_case(self.path(name))
            if there is None:
                self.failed[name] = "its file of disputes cannot be read"
            else:
                self.ready[name] = there

    def wait(self) -> Iterator[None]:
        """Until all cases are done; yields whenever there is something new."""
        while self.left:
            if self.refresh(wait=0.2):
                yield

    def stop(self) -> None:
        """End the indexer."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for stream in (self._child.stdin, self._child.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            self._child = None


def serve_index() -> None:
    """What the indexer's process does: cases come by standard input, and their names go out as they are done."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    with suppress(AttributeError, OSError):
        os.nice(5)
    cases, rule, folder = pickle.load(stdin)
    threading.Thread(target=_end_with, args=(stdin,), daemon=True).start()
    index_cases(cases, rule, folder, stdout)


def _end_with(stream: IO[bytes]) -> None:
    stream.read(1)
    os._exit(0)


def index_cases(cases: Iterable[Case], rule: DisputeRule, folder: Path, out: IO[bytes]) -> None:
    """Index cases one after the other, and say so in a line of JSON each."""
    names = Index(folder, (), rule)
    for case in cases:
        said = {"case": case.name}
        try:
            index_case(case, rule, names.path(case.name))
        except (ManytruthsError, OSError, MemoryError) as error:
            said["error"] = one_line(str(error)) or type(error).__name__
        out.write(json.dumps(said).encode() + b"\n")
        out.flush()
