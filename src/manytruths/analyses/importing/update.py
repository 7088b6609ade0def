"""Update an imported study with a later export: single readings are added and replaced, and edits by hand are kept."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from ...core.columns import compose_name, natural_key
from ...core.errors import CallError, InputError, StudyError, few
from ...exchange.readings import Reading, ReadingSet, case_names, check_readings, name_readings
from ...io import probe, write_map, write_text
from ...io.result_tables import PlainTable
from ...io.results import file_digest, link_or_copy, replacing
from ...io.tables import read_rows, read_text
from ...io.writing import checksum
from ..result import Tables
from .create import Request, draw_readings, find_drawable, has_ranks, toml_of
from .imported import CHANGES, ImportedStudy
from .layout import FIRST, LEDGER, UPDATES, Layout
from .ledger import (
    Cells,
    Key,
    Ledger,
    RecordedReading,
    Renames,
    cells,
    digests_of,
    files_in,
    key_of,
    read_ledger,
    record,
)
from .masks import RANK, Drawn
from .merging import merge_tables, merge_toml
from .notes import date_notes, identical_masks, unmarked_note, unseen_marks_note
from .tables import KEYS, tables_of, write_pictures

HEADER = (
    "update", "date", "case", "rater", "session", "change", "status_before", "status", "pixels_before", "pixels", "why"
)  # fmt: skip
"""Of ``updates.csv``."""
LISTED = ("added", "replaced", "restored", "withdrawn", "vanished", "removed", "kept")
"""What ``updates.csv`` lists."""
ALIKE = 0.6
"""How much of two names must be the same for one to look like the other."""
READ = ("", "done", "empty")
"""Statuses of readings that have masks."""
SHOWN = 3
"""Number of readings that a note names."""

SAID = {
    "replaced": "replaced, as the tool has other marks or another status",
    "restored": "their masks had been removed, and were written again",
    "withdrawn": "not finished any more in the tool, so that their masks were removed",
    "vanished": "not in the files any more, and kept (--vanished remove removes them)",
    "removed": "not in the files any more, and removed",
    "kept": "changed in the tool, but edited by hand, and kept so (remove their masks to take those of the tool)",
}


@dataclass(frozen=True)
class UpdateOptions:
    """What an update is told besides what the import was told."""

    new_raters: frozenset[str] = frozenset()
    vanished: str = "keep"
    sessions: bool = False
    skip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """What an update does with a reading."""

    key: Key
    kind: str
    before: RecordedReading | None
    read: Reading | None
    mask: Drawn | None
    why: str = ""

    @property
    def takes(self) -> bool:
        """Whether masks are drawn anew."""
        return self.kind in ("added", "replaced", "restored")

    def __str__(self) -> str:
        case, rater, session = self.key
        return f"{rater}{'/' if session else ''}{session} in {case}"


@dataclass(frozen=True)
class OnDisk:
    """What became of the files of a reading since the import wrote them."""

    there: tuple[str, ...]
    edited: tuple[str, ...]
    missing: tuple[str, ...]
    row: Cells | None
    """Its row of the reading log."""

    @property
    def changed(self) -> bool:
        """Whether somebody edited them or removed some."""
        return bool(self.edited or self.missing)


def update_study(reads: Sequence[Reading], ledger: Ledger, request: Request, options: UpdateOptions) -> ImportedStudy:
    """Add and replace readings of an imported study, all of them or nothing."""
    folder = request.folder
    if wanted := ledger.settings.difference(request.settings):
        raise CallError(f"{folder} was imported with other options; an update needs the same: {wanted}")
    old = ledger.readings_in(folder)
    renames, named, names = _name_like_before(reads, ledger, request.renames, options.sessions)
    about = _About(named)
    readings, stubs = _unite(named, ledger, old, renames, options, about)
    _check_new_raters(named, {}, ledger, options.new_raters)
    layout, old_layout = Layout.of(readings), Layout.of(old)
    _check_ending(layout, old_layout)
    drawable = [read for read in find_drawable(readings) if id(read) not in stubs]
    ranked = ledger.ranked or (ledger.settings.rank_maps and has_ranks(drawable))
    drawn = dict(zip(map(id, drawable), draw_readings(drawable, None, layout, ranked, request), strict=True))
    _check_new_raters(named, drawn, ledger, options.new_raters)
    update = _Update(folder, ledger, request, renames, names, readings, stubs, about, layout, old_layout, ranked, drawn)
    return update.write()


# -- names ---------------------------------------------------------------------------------------------


def _name_like_before(
    reads: Sequence[Reading], ledger: Ledger, given: Renames, sessions: bool
) -> tuple[Renames, list[Reading], dict[str, str]]:
    """The readings under the names that they have in the study: new names are remembered."""
    images = [read.image for read in reads if not read.case]
    computed = case_names([*ledger.names, *images])
    names = {image: ledger.names.get(image, computed[image]) for image in images}
    pinned = [read if read.case else dataclasses.replace(read, case=names[read.image]) for read in reads]
    there = {
        "rater": {read.rater for read in pinned},
        "label": {mark.label for read in pinned for mark in read.marks},
        "case": {read.case for read in pinned},
    }
    every, used = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
    for what, present in there.items():
        known, asked = getattr(ledger.renames, what), getattr(given, what)
        for name, new in asked.items():
            if known.get(name, new) != new:
                raise CallError(f"--rename-{what} {name}={new}: earlier exports took {name!r} for {known[name]!r}")
        every[what] = {**known, **asked}
        composed = {compose_name(name).strip() for name in present}
        # names of earlier exports need not be in this one
        used[what] = {
            name: new
            for name, new in every[what].items()
            if name not in known or compose_name(name).strip() in composed
        }
    named = name_readings(
        pinned, rename_label=used["label"], rename_rater=used["rater"], rename_case=used["case"], sessions=sessions
    )
    return Renames(**every), named, {**ledger.names, **names}


def _unite(
    named: Sequence[Reading],
    ledger: Ledger,
    old: ReadingSet,
    renames: Renames,
    options: UpdateOptions,
    about: _About,
) -> tuple[ReadingSet, dict[int, RecordedReading]]:
    """The readings of the files, and those of the study of which the files hold nothing, by their identity."""
    sessions = any(read.session for read in (*named, *old.reads))

    def at(read: Reading | RecordedReading) -> tuple[str, str, str]:
        return read.case, read.rater, read.session or (FIRST if sessions else "")

    held = {at(read) for read in named}
    others = [(one, read) for one, read in zip(ledger.readings, old.reads, strict=True) if at(one) not in held]
    removed = [options.vanished == "remove" and about.includes(one) for one, _ in others]
    stubs = [(one, read) for (one, read), gone in zip(others, removed, strict=True) if not gone]
    used: dict[str, set[str]] = {name: set() for name in ledger.structures}
    for one, _ in stubs:
        for label in one.labels:
            used.setdefault(label, set()).add(one.rater)
    reads = [*named, *(read for _, read in stubs)]
    united = check_readings(reads, accepted=renames.label, skip=options.skip, used=used)
    lost = {(c, r, kind): n for c, r, kind, n in ledger.left_out if (c, r) not in {(x.case, x.rater) for x in named}}
    united = dataclasses.replace(united, left_out={**lost, **united.left_out})
    return united, {id(read): one for one, read in stubs}


class _About:
    """What files are about: a reading that they should hold, and do not, has vanished."""

    def __init__(self, named: Iterable[Reading]) -> None:
        self.raters, self.cases, self.sources = set[str](), set[str](), set[str]()
        for read in named:
            self.raters.add(read.rater)
            self.cases.add(read.case)
            self.sources.add(read.source)

    def includes(self, one: RecordedReading) -> bool:
        return one.rater in self.raters and (one.case in self.cases or one.source in self.sources)


def _check_ending(layout: Layout, before: Layout) -> None:
    if layout.ending != before.ending:
        raise StudyError(
            f"the masks of the study are {before.ending[1:]} files, and those of the export would be "
            f"{layout.ending[1:]} files; import them into a study of their own"
        )


def _check_new_raters(
    named: Sequence[Reading], drawn: Mapping[int, Drawn], ledger: Ledger, new_raters: Iterable[str]
) -> None:
    """Ask whether a rater who looks like one who is not in the files is new, or was renamed."""
    known, here = {one.rater for one in ledger.readings}, {read.rater for read in named}
    told = {compose_name(name).strip() for name in new_raters}
    if unknown := sorted(told - known - here):
        raise CallError(f"--new-rater {unknown[0]!r}: is not in these files, whose raters are {few(sorted(here), 6)}")
    absent = sorted(known - here)
    for name in sorted(here - known - told):
        for other in absent:
            if why := _resemblance(name, other, named, drawn, ledger):
                raise StudyError(
                    f"rater {name!r} is new, and {other!r} is not in these files, {why}: the same person "
                    f"(--rename-rater {name!r}={other!r}), or somebody new (--new-rater {name!r})?"
                )


def _resemblance(name: str, other: str, named: Sequence[Reading], drawn: Mapping[int, Drawn], ledger: Ledger) -> str:
    """Why a rater may be another one under a new name; empty if nothing speaks for it."""
    theirs = {one.case: one for one in ledger.readings if one.rater == other and one.marked}
    own = {read.case: drawn[id(read)] for read in named if read.rater == name and id(read) in drawn}
    both = [case for case in own if case in theirs]
    same = sum(dict(theirs[case].digests) == own[case].digests for case in both)
    if same:
        return f"and has the same masks in {same} of {len(both)} cases that both marked"
    if SequenceMatcher(None, name.casefold(), other.casefold()).ratio() >= ALIKE:
        return "and has a similar name"
    sources = {read.source for read in named if read.rater == name}
    if any(one.source in sources for one in ledger.readings if one.rater == other):
        return "although earlier exports under the same file name had them"
    return ""


# -- what changes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Update:
    """An update of a study, from what was read to what is written."""

    folder: Path
    ledger: Ledger
    request: Request
    renames: Renames
    names: Mapping[str, str]
    readings: ReadingSet
    stubs: Mapping[int, RecordedReading]
    """Readings of the study that the files do not hold, by the identity of what stands for them."""
    about: _About
    layout: Layout
    old_layout: Layout
    ranked: bool
    drawn: Mapping[int, Drawn]

    def write(self) -> ImportedStudy:
        rows = self._read_tables()
        changes = self._find_changes(rows["reads"])
        self._check_ranks(changes)
        self._check_moves()
        counts = Counter(change.kind for change in changes)
        images = self.ledger.images if self.request.images is None else str(Path(self.request.images).absolute())
        ours = [*self.ledger.files, *(name for name in ("study.toml", LEDGER, UPDATES)), *(f"{n}.csv" for n in KEYS)]
        with replacing(self.folder.resolve(), ours=ours) as (stage,):
            if read_ledger(self.folder) != self.ledger:
                raise InputError(f"{self.folder}: another run has changed the study meanwhile; update again")
            drawn, files = self._write_masks(stage, changes)
            more, pictured = self._write_images(stage, images)
            theirs = self._tables(changes, drawn)
            tables, conflicts = self._write_tables(stage, theirs, changes, rows)
            toml = toml_of(self.readings, self.layout, self.request, images, pictured, self.ranked)
            self._write_toml(stage, toml)
            listed = self._write_updates(stage, changes, tables)
            Ledger(
                self.ledger.settings, self.renames, images, self.names, self.readings.structures, self.ranked, pictured,
                tuple((*key, count) for key, count in self.readings.left_out.items()),
                tuple(self._records(changes, drawn)), dict(sorted((files | more).items())), theirs, toml,
                self.ledger.updates + listed,
            ).write(stage)  # fmt: skip
        shown = Tables([tables[name] for name in (*KEYS, "updates") if name in tables])
        notes = (*self._notes(changes), *conflicts)
        return ImportedStudy(
            self.folder, self.readings, shown, tuple(notes), {kind: counts[kind] for kind in CHANGES if counts[kind]}
        )

    def _read_tables(self) -> dict[str, list[dict[str, str]]]:
        """The tables of the study as they are now; one that was removed is as it was written."""
        rows = {}
        for name, keys in KEYS.items():
            path = self.folder / f"{name}.csv"
            kept = [dict(row) for row in self.ledger.tables.get(name, ())]
            rows[name] = [row for _, row in read_rows(path, keys[:2])] if path.is_file() else kept
        return rows

    def _find_changes(self, rows: Sequence[Cells]) -> list[Change]:
        at = {tuple(compose_name(row.get(c, "")) for c in KEYS["reads"]): row for row in self._with_sessions(rows)}
        before = {self._key(one): one for one in self.ledger.readings}
        changes = []
        for read in self.readings.reads:
            key = self._key(read)
            one, mask = before.pop(key, None), self.drawn.get(id(read))
            paths = self._old_files(one) if one else self.layout.files(read, self.ranked)
            disk = self._look(paths, bool(one and one.digests), at.get(tuple(map(compose_name, key))))
            if id(read) in self.stubs:
                changes.append(self._absent(key, self.stubs[id(read)], disk, read))
            else:
                changes.append(_compare(key, one, read, mask, disk))
        for key, one in before.items():
            row = at.get(tuple(map(compose_name, key)))
            disk = self._look(self._old_files(one), bool(one.digests), row)
            changes.append(self._absent(key, one, disk, None))
        return changes

    def _key(self, read: Reading | RecordedReading) -> Key:
        return key_of(read, self.layout)

    def _with_sessions(self, rows: Iterable[Cells]) -> list[dict[str, str]]:
        """Rows with the session that they get where the study had none before."""
        named = self.layout.sessions and not self.old_layout.sessions
        return [{**row, "session": row.get("session") or FIRST} if named else dict(row) for row in rows]

    def _look(self, files: Mapping[str, str], had: bool, row: Cells | None) -> OnDisk:
        """What became of the files of a reading, and whether it had any."""
        paths = dict.fromkeys(files.values())
        there = digests_of(self.folder, paths)
        return OnDisk(
            tuple(there),
            tuple(name for name, digest in there.items() if self.ledger.files.get(name) != digest),
            tuple(name for name in paths if had and name not in there and name in self.ledger.files),
            row,
        )

    def _old_files(self, one: RecordedReading) -> dict[str, str]:
        """Where the files of a reading lie in the study as it is."""
        return self.old_layout.files(one.reading(self.folder), self.ledger.ranked)

    def _absent(self, key: Key, one: RecordedReading, disk: OnDisk, read: Reading | None) -> Change:
        """A reading that the files do not hold."""
        if not one.digests or not self.about.includes(one):
            return Change(key, "elsewhere", one, read, None)
        if read is None and disk.changed:
            raise StudyError(
                f"the reading of {key[1]} in {key[0]} vanished from the files, and was edited by hand: remove it by "
                "hand, or update with --vanished keep"
            )
        kind = "removed" if read is None else "unchanged" if one.vanished else "vanished"
        return Change(key, kind, one, read, None, "" if one.vanished else "is not in the files any more")

    def _check_ranks(self, changes: Sequence[Change]) -> None:
        """Refuse ranks for only some of the readings."""
        if self.ranked and not self.ledger.ranked:
            without = [str(c) for c in changes if not c.takes and c.before is not None and c.before.marked]
            if without:
                raise InputError(
                    f"marks of the export have ranks, and those of {few(without, SHOWN)} have none; import the ranks "
                    "of all readings anew (--replace), or none (--no-rank-maps)"
                )

    def _check_moves(self) -> None:
        """Refuse to move masks where others lie that the import did not write."""
        if self.layout.masks == self.old_layout.masks:
            return
        found = [name for name in files_in(self.folder) if name.startswith("masks/") and name not in self.ledger.files]
        if found:
            raise StudyError(
                f"the export needs masks at {self.layout.masks} instead of {self.old_layout.masks}, and {found[0]} was "
                "not imported; move it away, and update again"
            )

    # -- writing ---------------------------------------------------------------------------------------

    def _write_masks(self, stage: Path, changes: Sequence[Change]) -> tuple[dict[Key, Drawn], dict[str, str]]:
        """Masks and rank maps: what was drawn of every reading that has some, and digests of files that are ours."""
        taken = [change for change in changes if change.takes and change.read is not None]
        reads = [change.read for change in taken if change.read is not None]
        request = dataclasses.replace(self.request, progress=None)
        again = draw_readings(reads, stage, self.layout, self.ranked, request)
        drawn = dict(zip((change.key for change in taken), again, strict=True))
        files = digests_of(stage, files_in(stage))
        for change in changes:
            one, read = change.before, change.read
            if change.takes or one is None or read is None or not one.digests or change.kind == "withdrawn":
                continue
            files |= self._carry_over(stage, one, read)
            drawn[change.key] = Drawn(self._checksum(stage, change, one), one.marked, 0, one.digests)
        return drawn, files

    def _carry_over(self, stage: Path, one: RecordedReading, read: Reading) -> dict[str, str]:
        """Take over the files of a reading as they are; of structures that the study gets only now, unmarked ones."""
        before, now, files = self._old_files(one), self.layout.files(read, self.ranked), dict[str, str]()
        # outlines of all structures are in one file
        moved = {old: now[name] for name, old in before.items()}
        linked = {old: path for old, path in moved.items() if (self.folder / old).is_file()}
        for old, path in linked.items():
            link_or_copy(self.folder / old, stage / path)
        for old, path in moved.items():
            if old in self.ledger.files:
                files[path] = self.ledger.files[old]
        for path in {path for name, path in now.items() if name not in before and path not in linked.values()}:
            if linked:
                grid = probe(stage / next(iter(linked.values())))
                write_map(stage / path, np.zeros(grid.shape, np.uint8), grid)
                files[path] = file_digest(stage / path)
        return files

    def _checksum(self, stage: Path, change: Change, one: RecordedReading) -> str:
        """The checksum of masks that were taken over: another one if they now lie beside more structures."""
        if change.read is None or change.kind == "kept" or self.layout.structures == self.old_layout.structures:
            return one.checksum
        paths = [stage / path for name, path in self.layout.files(change.read, False).items() if name]
        whole = all(path.is_file() for path in paths)
        several = len(self.layout.structures) > 1
        return checksum({path.parent.name if several else "": path for path in paths}) if whole else one.checksum

    def _write_images(self, stage: Path, images: str | None) -> tuple[dict[str, str], bool]:
        """The images: digests of those that are ours, and whether any came along."""
        files = {name: digest for name, digest in self.ledger.files.items() if name.startswith("images/")}
        for name in files:
            if (self.folder / name).is_file():
                link_or_copy(self.folder / name, stage / name)
        if images is not None or self.layout.kept:
            return files, self.ledger.pictured
        there = {*files, *(name for name in files_in(self.folder) if name.startswith("images/"))}
        cases = {case for case, name in self.layout.cases.items() if not _has_image(name, there)}
        pictures = write_pictures([read for read in self.readings.reads if read.case in cases], stage, self.layout)
        new = [name for name in files_in(stage) if name.startswith("images/") and name not in files]
        return files | digests_of(stage, new), self.ledger.pictured or "" in pictures.values()

    def _tables(self, changes: Sequence[Change], drawn: Mapping[Key, Drawn]) -> dict[str, list[Cells]]:
        """The tables as the import would write them."""
        by_name = {
            (c.read.case, c.read.rater, c.read.session): drawn[c.key]
            for c in changes
            if c.read is not None and c.key in drawn
        }
        tables = tables_of(self.readings, self.layout, by_name)
        rows = {table.name: [cells(table.header, row) for row in table.records()] for table in tables}
        # what was kept is described as it was
        base = {_row_key(row, "reads"): row for row in self._with_sessions(self.ledger.tables["reads"])}
        kept = {tuple(map(compose_name, change.key)) for change in changes if change.kind == "kept"}
        rows["reads"] = [
            base.get(_row_key(row, "reads"), row) if _row_key(row, "reads") in kept else row for row in rows["reads"]
        ]
        return rows

    def _write_tables(
        self, stage: Path, theirs: Mapping[str, list[Cells]], changes: Sequence[Change], rows: Mapping[str, list[Cells]]
    ) -> tuple[dict[str, PlainTable], list[str]]:
        """The tables with what was edited by hand, and what contradicts the update."""
        tables, conflicts = dict[str, PlainTable](), list[str]()
        added = [tuple(map(compose_name, change.key)) for change in changes if change.takes]
        for name, keys in KEYS.items():
            mine, base = rows[name], list(self.ledger.tables.get(name, ()))
            if name == "reads":
                mine, base = self._with_sessions(mine), self._with_sessions(base)
            merged = merge_tables(mine, base, theirs.get(name, ()), keys, added if name == "reads" else ())
            for at, column, now, cell in merged.conflicts:
                conflicts.append(
                    f"{name}.csv, {' '.join(filter(None, at))}: {column} is {now!r} by hand and {cell!r} in the tool; "
                    "the former is kept"
                )
            if not merged.rows:
                continue
            found = _sorted_like(mine, merged.rows)
            tables[name] = PlainTable(name, merged.header, [tuple(row.values()) for row in found])
            current = self.folder / f"{name}.csv"
            if found == rows[name] and current.is_file():
                link_or_copy(current, stage / current.name)
            else:
                tables[name].write(stage)
        return tables, conflicts

    def _write_toml(self, stage: Path, wanted: str) -> None:
        path = self.folder / "study.toml"
        if not path.is_file():
            write_text(stage / path.name, wanted)
        elif wanted == self.ledger.toml:
            link_or_copy(path, stage / path.name)
        else:
            write_text(stage / path.name, merge_toml(read_text(path), self.ledger.toml, wanted, str(path)))

    def _write_updates(self, stage: Path, changes: Sequence[Change], tables: dict[str, PlainTable]) -> bool:
        """The history of updates; whether this one belongs to it."""
        path = self.folder / UPDATES
        earlier = (
            [cells(HEADER, [row.get(c, "") for c in HEADER]) for _, row in read_rows(path, HEADER[:1])]
            if (path.is_file())
            else []
        )
        listed = [change for change in changes if change.kind in LISTED]
        number, date = self.ledger.updates + 1, datetime.now(UTC).isoformat(timespec="seconds")
        rows = [tuple(row.values()) for row in earlier] + [_update_row(number, date, change) for change in listed]
        if rows:
            tables["updates"] = PlainTable(Path(UPDATES).stem, HEADER, rows)
            tables["updates"].write(stage)
        return bool(listed)

    def _records(self, changes: Sequence[Change], drawn: Mapping[Key, Drawn]) -> Iterator[RecordedReading]:
        """What the ledger keeps of every reading from now on."""
        for change in changes:
            one, read = change.before, change.read
            if read is None:
                continue
            if id(read) in self.stubs:
                assert one is not None
                mask = drawn.get(change.key)
                checksum = one.checksum if mask is None else mask.checksum
                yield dataclasses.replace(
                    one, checksum=checksum, vanished=one.vanished or change.kind == "vanished", session=read.session
                )
                continue
            new = record(read, change.mask, one)
            written = drawn.get(change.key)
            yield dataclasses.replace(new, checksum=written.checksum if written else "")

    def _notes(self, changes: Sequence[Change]) -> Iterator[str]:
        """What to know of an update."""
        by = defaultdict[str, list[Change]](list)
        for change in changes:
            by[change.kind].append(change)
        for kind, text in SAID.items():
            if by[kind]:
                yield f"{text}: {few([str(change) for change in by[kind]], SHOWN)}"
        masks = [change.mask for change in changes if change.takes and change.mask is not None]
        emptied = [str(c) for c in by["replaced"] if c.before and c.before.marked and c.mask and not c.mask.marked]
        if emptied:
            yield f"had marks, and have none now: {few(emptied, SHOWN)}"
        back = [str(change) for change in by["replaced"] if change.why]
        if back:
            yield f"as in an earlier export again: {few(back, SHOWN)}; is an older export imported after a newer one?"
        known, here = {one.rater for one in self.ledger.readings}, self.about.raters
        if here - known:
            yield f"new: {few(sorted(here - known), SHOWN)}"
        if known - here:
            yield f"not in these files, and as they were: {few(sorted(known - here), SHOWN)}"
        yield from unseen_marks_note(masks)
        taken = [change.read for change in changes if change.takes and change.read is not None]
        yield from unmarked_note(taken)
        yield from date_notes(taken)
        yield from self._copies(changes)

    def _copies(self, changes: Sequence[Change]) -> Iterator[str]:
        """Pairs of raters whose masks are the same, if one of them is new."""
        found = [(c.read, c) for c in changes if c.read is not None and (c.mask or c.before)]
        digests = [
            (c.mask.digests, c.mask.marked) if c.mask else (c.before.digests, c.before.marked) if c.before else ({}, 0)
            for _, c in found
        ]
        recent = {(c.read.case, c.read.rater) for c in changes if c.takes and c.read is not None}
        same = identical_masks([read for read, _ in found], [Drawn("", n, 0, d) for d, n in digests], recent)
        if same:
            pair, count = same.most_common(1)[0]
            yield (
                f"{' and '.join(pair)} have identical masks in {count} of the cases that changed: one may be a copy or "
                "an edit of the other; if so, say it as based_on in reads.csv"
            )


def _compare(key: Key, one: RecordedReading | None, read: Reading, mask: Drawn | None, disk: OnDisk) -> Change:
    """What becomes of a reading that the files hold."""
    had = one is not None and bool(one.digests)
    changed = not had or mask is None or _differs(one, read, mask)  # type: ignore[arg-type]
    kind, why = "unchanged", ""
    if mask is None and had:
        status = read.status.replace("_", " ")
        kind, why = ("kept", f"edited by hand, and {status} in the tool") if disk.changed else ("withdrawn", status)
    elif mask is not None and not had:
        kind, why = ("kept", "a mask was put there by hand") if disk.there else ("added", "")
    elif mask is not None and disk.missing and not disk.there:
        if disk.row is not None and disk.row.get("status", "").casefold() in READ:
            kind, why = "restored", "its masks had been removed"
        elif changed:
            kind, why = "kept", "removed by hand, and changed in the tool"
    elif mask is not None and changed:
        kind = "kept" if disk.changed else "replaced"
        why = "edited by hand, and changed in the tool" if disk.changed else ""
        if one is not None and any(dict(digests) == mask.digests for digests in one.earlier):
            why = f"{why}{'; ' if why else ''}as in an earlier export"
    return Change(key, kind, one, read, mask, why)


def _differs(one: RecordedReading, read: Reading, mask: Drawn) -> bool:
    """Whether the tool has other marks than it had; structures that the study gets only now may be unmarked."""
    labels = {mark.label for mark in read.marks}
    new = [name for name in mask.digests if name not in one.digests and (name in labels or name == RANK)]
    return bool(new) or one.status != read.status or any(mask.digests.get(n) != d for n, d in one.digests.items())


def _has_image(case: str, there: Iterable[str]) -> bool:
    return any(Path(name).name.startswith(f"{case}.") for name in there)


def _row_key(row: Cells, table: str) -> tuple[str, ...]:
    return tuple(compose_name(row.get(column, "")) for column in KEYS[table])


def _sorted_like(mine: Sequence[Cells], rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Rows in natural order, if those that were there are."""

    def place(row: Cells) -> list[object]:
        return [natural_key(row.get(column, "")) for column in ("case", "rater", "session")]

    kept = [place(row) for row in mine]
    return sorted(rows, key=place) if kept == sorted(kept) else rows


def _update_row(number: int, date: str, change: Change) -> tuple[object, ...]:
    before = change.before
    gone = change.kind in ("withdrawn", "removed")
    mask = change.mask if change.takes else None
    return (
        number, date, *change.key, change.kind, before.status if before else "",
        change.read.status if change.read else "", before.marked if before and before.digests else None,
        mask.marked if mask else 0 if gone else before.marked if before and before.digests else None, change.why,
    )  # fmt: skip
