"""The command ``tally``: the tables of a study in one small file that can leave the place where the masks are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import manytruths

from ..agreement import MeanPairwise, dice
from ..claims.masks import count_masks, mask_notes
from ..claims.sentences import counted
from ..claims.sharing import sharing_notes
from ..core.columns import Column, compose_name, natural_key
from ..core.counting import tally
from ..core.errors import CallError, StudyError, find_name_fault
from ..core.rare_patterns import merge_rare_patterns
from ..core.tally import Tally
from ..fusion.result import first_readings
from ..io import write_csv
from ..io.tally_files import (
    FORMAT,
    SUFFIX,
    VERSION,
    About,
    EditedRead,
    Part,
    Record,
    TalliedCase,
    Unused,
    write_tally_file,
)
from ..raters.broken_masks import MaskReview
from ..study import Case, Progress, Study
from ..study.case import Reading
from ..study.deidentification import Codes, Kind, read_key
from ..study.mask_values import find_wrong_predictions, find_wrong_references, raise_first
from ..study.reading_log import edit_tally
from ..study.suspicions import Suspicion, find_suspicions, review_reading
from ..study.tallied import doubt_of, who_is
from .result import console_or_stdout, open_study
from .tables import mark_resampled

CODED: tuple[Kind, ...] = ("case", "subject")
"""What has codes in a tally file; raters keep their names, by which centres are joined."""
PLAIN_SESSION = 2
"""Sessions of up to so many digits are numbers; longer ones may be dates."""


@dataclass(frozen=True, repr=False)
class SharedTallies:
    """The result of :func:`manytruths.share_tallies`.

    Attributes
    ----------
    path : Path
        The tally file.
    key : Path or None
        Which code stands for which case and subject; None where names were kept.
    cases, raters : int
        Number of cases, and of raters.
    size : int
        Size of the file in bytes.
    merged : int
        Pixels that have another pattern than in the masks.
    notes : tuple of str
        What is not in the file, what merging changed, and masks that are probably broken.
    """

    path: Path
    key: Path | None
    cases: int
    raters: int
    size: int
    merged: int
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """What was written, in one line."""
        return (
            f"{counted(self.cases, 'case')}, {counted(self.raters, 'rater')}; {self.path} "
            f"({self.size / 1000:,.1f} kB, {self.size / 1000 / self.cases:.1f} kB a case)"
        )

    def print(self, console: Any = None) -> None:
        """Print what was written, and the notes."""
        screen = console_or_stdout(console)
        lines = [self.describe(), *(f"• {note}" for note in self.notes)]
        if self.key is not None:
            lines.append(f"the key:  {self.key}; it says which code is which case, so do not send it along")
        for line in lines:
            screen.print(line, markup=False, highlight=False, soft_wrap=True)

    def __repr__(self) -> str:
        return f"<SharedTallies: {self.describe()}>"


def share_tallies(
    study: Study | str | Path | Sequence[str | Path],
    to: str | Path,
    *,
    centre: str = "",
    names: bool = False,
    keep: str | Sequence[str] = (),
    least: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> SharedTallies:
    """Write the tables of a study to one small file, without images, masks and paths.

    :meth:`Study.open` takes one or several of these files in place of masks, and every number that needs no pixels is
    the same. Cases and subjects have codes; the key to them is written beside the file and keeps the codes the same
    when the file is written again.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes.
    to : str or Path
        The file, ending in ``.tally``; a folder gets a ``study.tally``.
    centre : str
        Name of the centre, which is put before the names or codes of its cases and subjects.
    names : bool
        Keep the names of cases and subjects instead of codes.
    keep : str or sequence of str
        Columns of ``cases.csv`` and ``raters.csv`` to keep in the file; by default none.
    least : int
        Patterns of fewer pixels are merged into the nearest one that has so many.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    SharedTallies
        The paths that were written, and notes.

    Examples
    --------
    >>> import tempfile, numpy as np, manytruths as mt
    >>> a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    >>> a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shared = mt.share_tallies(mt.Study.from_arrays({"p1": {"anna": a, "ben": b}}), f"{folder}/a.tally")
    ...     result = mt.agree([shared.path])
    >>> print(f"{result.tables['pairs'].find('dice').value:.3f}")
    0.857
    """
    path, study = _file_path(Path(to)), open_study(study)
    columns = tuple(name.strip() for name in (keep.split(",") if isinstance(keep, str) else keep) if name.strip())
    _check_keep(study, columns)
    if fault := find_name_fault(centre) if centre else "":
        raise CallError(f"centre {centre[:40]!r} {fault}; give it another name")
    if "/" in centre:
        raise CallError(f"centre {centre!r} has a /, which stands between centre and case; give it another name")
    if least < 1:
        raise CallError(f"least is the smallest number of pixels of a pattern, 1 or more; got {least}")
    work = partial(_count_case, least=least)
    found = {case.name: result for case, result in study.map(work, jobs=jobs, progress=progress)}
    study.gathered({name: case.raters for name, case in found.items()})  # refuses masks with other values
    suspicions = find_suspicions(study, {name: case.review for name, case in found.items()})
    key = None if names else path.with_name(f"{path.stem}_key.csv")
    codes = None if key is None else Codes.of(study, read_key(key), CODED)
    rename = _Names.of(study, centre, codes)
    for name in (*rename.cases.values(), *rename.subjects.values(), *map(str, _columns(study) - {Column("")})):
        if fault := find_name_fault(name):
            raise StudyError(f"the name {name[:40]!r} {fault}, so that it could not be read back; rename it")
    masks, judged = (mark_resampled(study, (), judged=judged).cases for judged in (False, True))
    cases = [
        _tallied_case(case, found[case.name], rename, columns, (case.name in masks, case.name in judged))
        for case in study
    ]
    cases.sort(key=lambda case: natural_key(case.record.case))
    stayed = tuple(_stays(study))
    before = max((about.least for about in study.tallied.about), default=1) if study.tallied else 1
    about = _about(study, rename, centre, columns, max(least, before), stayed, suspicions)
    if key is not None and codes is not None:
        write_csv(key, codes.rows(), ("kind", "code", "name"))
    size = write_tally_file(path, about, cases)
    notes = (*mask_notes(suspicions, count_masks(study)), *_merging_notes(found, least, stayed))
    merged = sum(case.merged for case in found.values())
    return SharedTallies(path, key, len(cases), len(study.rater_names), size, merged, notes)


def _file_path(to: Path) -> Path:
    if to.suffix.lower() == SUFFIX:
        return to
    if to.suffix and not to.is_dir():
        raise CallError(f"a tally file ends in {SUFFIX}; got {to}: give it that ending")
    return to / f"study{SUFFIX}"


def _check_keep(study: Study, columns: Sequence[str]) -> None:
    known = {column for case in study for column in case.properties} - {"order"}
    known |= {column for row in study.properties.values() for column in row}
    for column in columns:
        if column not in known:
            there = ", ".join(sorted(known, key=natural_key)) or "none"
            raise StudyError(f"keep: no table of cases or raters has a column {column!r}; columns are {there}")


def _stays(study: Study) -> Iterator[str]:
    """What the study has and a tally file does not, beyond pixels."""
    if study.options.probability and study.algorithms:
        yield "probability maps"
    if any(case.ranks for case in study):
        yield "severity ranks"
    if any(case.lesions for case in study):
        yield "target lesions"
    yield from sorted({what for about in (study.tallied.about if study.tallied else ()) for what in about.left_out})


# -- one case ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CountedCase:
    """What is kept of a case when its masks are gone."""

    raters: Tally
    parts: tuple[tuple[Part, Tally], ...]
    edits: tuple[tuple[Column, Tally | None], ...]
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    review: MaskReview
    merged: int = 0
    patterns: int = 0
    area: float = 0.0
    """Largest relative change of a rater's marked pixels by merging."""
    dice: float = 0.0
    """Change of the mean Dice of two raters by merging."""


def _count_case(case: Case, least: int) -> _CountedCase:
    """Count everything of a case that has no place: raters in all sessions, predictions, references and edits."""
    pixels = case.read(by_tile=True)
    reading = pixels.by_pattern
    raters = reading.tally("whole", judged=False)  # its error messages are the best
    if not case.options.probability:
        raise_first(find_wrong_predictions(case, reading.tally("whole")))
    raise_first(find_wrong_references(case, raters, reading.references))
    before = list(_count_parts(reading))
    merged = [(part, *merge_rare_patterns(table, least)) for part, table in before]
    edits = list[tuple[Column, Tally | None]]()
    for column in case.edits:
        table = edit_tally(case, column)
        edits.append((column, None if table is None else merge_rare_patterns(table, least)[0]))
    counted = _CountedCase(
        raters, tuple((part, table) for part, table, _ in merged), tuple(edits), reading.grid.shape,
        reading.grid.spacing, review_reading(pixels, raters), sum(changed for *_, changed in merged),
        sum(len(old.counts) - len(new.counts) for (_, old), (_, new, _) in zip(before, merged, strict=True)),
    )  # fmt: skip
    if not counted.merged:
        return counted
    area, moved = _merging_costs([t for _, t in before], [t for _, t, _ in merged])
    return replace(counted, area=area, dice=moved)


def _count_parts(reading: Reading) -> Iterator[tuple[Part, Tally]]:
    """The table of all columns of a case; several where a region of interest or training areas divide the image."""
    options = reading.case.options
    predictions = {} if options.probability else reading.predictions
    areas = {c.name: area for c, area in reading.training_areas.items()} if predictions else {}
    inside = None if isinstance(reading.region, str) else np.asarray(reading.region) != 0
    code = np.zeros((), np.int64) if inside is None else (~inside).astype(np.int64)
    for bit, area in enumerate(areas.values(), start=1):
        code = code + (np.asarray(area, np.int64) << bit)
    for number in np.unique(code).tolist():
        table = tally(
            reading.masks,
            raters="exchangeable" if options.exchangeable else None,
            predictions=predictions,
            references=reading.references,
            region="whole" if not code.ndim else code == number,
            unit=reading.grid.item_size,
            void=options.void,
            foreground=options.foreground,
            counts=reading.counts,
        )
        trained = tuple(name for bit, name in enumerate(areas, start=1) if number >> bit & 1)
        yield Part(0, inside=not number & 1, trained=trained), replace(table, region="whole")


def _merging_costs(before: Sequence[Tally], after: Sequence[Tally]) -> tuple[float, float]:
    """By how much merging changes what raters marked and the mean Dice of a case."""
    old, new = (manytruths.pool(tables, mixed=True) for tables in (before, after))
    sizes = []
    for table in (old, new):
        rows = np.isin(table.patterns[:, table.raters], table.labels.marks)
        sizes.append(table.counts @ rows)
    change = np.abs(sizes[1] - sizes[0])
    area = float(np.max(np.where(change > 0, change / np.maximum(sizes[0], 1), 0.0), initial=0.0))
    means = [MeanPairwise(dice)(first_readings(table).foreground()) for table in (old, new)]
    moved = abs(means[1] - means[0])
    return area, 0.0 if math.isnan(moved) else moved


def _merging_notes(found: Mapping[str, _CountedCase], least: int, stayed: Sequence[str]) -> Iterator[str]:
    changed = [case for case in found.values() if case.merged]
    pixels = sum(int(table.counts.sum()) for case in found.values() for _, table in case.parts)
    yield from sharing_notes(
        cases=len(changed), merged=sum(case.merged for case in changed), pixels=pixels,
        patterns=sum(case.patterns for case in changed), area=max((case.area for case in changed), default=0.0),
        dice=max((case.dice for case in changed), default=0.0), least=least, stayed=stayed,
    )  # fmt: skip


# -- names and codes --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """How cases, subjects and sessions are called in the file."""

    cases: Mapping[str, str]
    subjects: Mapping[str, str]
    sessions: Mapping[str, str]
    coded: bool

    @classmethod
    def of(cls, study: Study, centre: str, codes: Codes | None) -> _Names:
        """Names, or codes, of everything that the study names; behind the name of the centre."""
        before = f"{centre}/" if centre else ""
        unread = dict.fromkeys(reading.case for reading in study.unused if reading.case not in {c.name for c in study})
        sessions = {c.session for c in _columns(study)}
        if codes is None:
            subjects = {case.subject: before + case.subject for case in study}
            cases = {name: before + name for name in (*(case.name for case in study), *unread)}
            return cls(cases, subjects, {name: name for name in sessions}, coded=False)
        known = codes.names["case"]
        cases = {case.name: before + known[case.name] for case in study}
        cases |= {name: f"{before}without masks {number}" for number, name in enumerate(unread, start=1)}
        # a case that is its own subject stays so
        own = {case.subject for case in study if case.subject == case.name}
        subjects = {s: cases[s] if s in own else before + codes.names["subject"][s] for s in study.subjects}
        return cls(cases, subjects, _number_sessions(sessions), coded=True)

    def column(self, column: Column) -> Column:
        """The column as the file names it."""
        return replace(column, name=compose_name(column.name), session=self.sessions[column.session])


def _columns(study: Study) -> set[Column]:
    edited = {column for case in study for child, edit in case.edits.items() for column in (child, edit.parent)}
    return {*edited, *study.columns, *(reading.column for reading in study.unused), Column("")}


def _number_sessions(sessions: set[str]) -> dict[str, str]:
    """Sessions that are small numbers stay; others, which may be dates, are numbered."""
    named = sorted(filter(None, sessions), key=natural_key)
    if all(name.isdecimal() and len(name) <= PLAIN_SESSION for name in named):
        return {name: name for name in sessions}
    return {name: str(number) for number, name in enumerate(named, start=1)} | {"": ""}


def _tallied_case(
    case: Case, found: _CountedCase, names: _Names, keep: Sequence[str], resampled: tuple[bool, bool]
) -> TalliedCase:
    properties = {column: value for column, value in case.properties.items() if column in keep}
    groups = {*properties.values(), *(f"{column}={value}" for column, value in properties.items())}
    before = case.counted.merged if case.counted else 0
    pairs = [(names.column(case.edits[c].parent), names.column(c)) for c, _ in found.edits]
    steps = [case.edits[c].step for c, _ in found.edits]
    edits = tuple(
        EditedRead(who_is(c), who_is(parent), step, None) for (parent, c), step in zip(pairs, steps, strict=True)
    )
    record = Record(
        names.cases[case.name], names.subjects[case.subject], case.order,
        tuple(group for group in case.groups if group in groups), properties, found.shape, found.spacing,
        bool(case.statuses), resampled, found.merged + before, tuple(part for part, _ in found.parts), edits,
    )  # fmt: skip
    parts = tuple(replace(t, columns=tuple(map(names.column, t.columns))) for _, t in found.parts)
    tables = tuple(
        None if table is None else replace(table, columns=tuple(Column(str(column)) for column in pair))
        for pair, (_, table) in zip(pairs, found.edits, strict=True)
    )
    return TalliedCase(record, parts, tables)


def _about(
    study: Study, names: _Names, centre: str, keep: Sequence[str], least: int, stayed: Sequence[str],
    suspicions: Sequence[Suspicion],
) -> About:  # fmt: skip
    options, labels = study.options, next(iter(study)).labels
    rows = {rater: {c: v for c, v in row.items() if c in keep} for rater, row in study.properties.items()}
    unused = tuple(
        Unused(names.cases[r.case], who_is(names.column(r.column)), r.why, "" if names.coded else r.reason)
        for r in study.unused
    )
    doubts = (
        replace(
            s, case=names.cases.get(s.case, ""), other=names.cases.get(s.other, ""),
            columns=tuple(map(names.column, s.columns)),
        )
        for s in suspicions
    )  # fmt: skip
    return About(
        FORMAT, VERSION, f"manytruths {manytruths.__version__}", centre, names.coded, least, len(study),
        None if labels is None else tuple(zip(labels.values, labels.names, strict=True)),
        options.background, options.foreground, options.void, options.region, options.exchangeable, options.edited,
        bool(study.algorithms) and not options.probability, any(case.references for case in study),
        dict(options.trained_on), {compose_name(rater): row for rater, row in rows.items() if row}, unused,
        tuple(map(doubt_of, doubts)), tuple(stayed),
    )  # fmt: skip
