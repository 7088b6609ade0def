"""A study from tally files: cases that were counted where their masks are, one file per centre."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column, Role, compose_name, natural_key
from ..core.errors import FormatError, ManytruthsError, StudyError, few
from ..core.labels import VOID, Labels
from ..core.tally import Tally
from ..io.tally_files import About, Doubt, TalliedCase, Unused, Who, read_tally_file
from ..shape.grid import Grid
from .case import Case, Counted
from .case_files import check_excluded_raters, check_session, need_two_raters
from .options import Options
from .reading_log import Edit, UnusedReading
from .suspicions import Suspicion

Array = NDArray[Any]

TAKEN = ("region", "foreground", "exclude", "exclude_rater", "session", "primary", "margin", "trained_on")
"""Options that a study of tally files takes: all others are about files of masks, or were settled when they were
counted."""
SAME: dict[str, str] = {
    "background": "what background is", "foreground": "whether labels are united", "region": "the region",
    "exchangeable": "whether raters are exchangeable", "edited": "how edited masks are treated",
}  # fmt: skip
"""Settings that must be the same in all files, in words."""


@dataclass(frozen=True)
class TallyFile:
    """One file of a study."""

    path: str
    about: About
    cases: tuple[TalliedCase, ...]

    @property
    def columns(self) -> set[Column]:
        """Everybody in any of its cases."""
        return {column for case in self.cases for column in case.parts[0].columns}


@dataclass(frozen=True)
class TalliedStudy:
    """What makes a study of tally files."""

    cases: list[Case]
    options: Options
    properties: dict[str, dict[str, str]]
    unused: tuple[UnusedReading, ...]
    suspicions: tuple[Suspicion, ...]
    about: tuple[About, ...]
    merged: int
    """Pixels that were given another pattern."""
    paths: tuple[str, ...]


def read_tallied(paths: Sequence[str], given: Mapping[str, Any]) -> TalliedStudy:
    """The study of some tally files; ``given`` are options of :meth:`Study.open` that are not None."""
    for name in given:
        if name not in TAKEN:
            raise StudyError(
                f"{name}: tally files were counted with their own; leave it out, or give it when they are written"
            )
    files = [_read(path) for path in paths]
    first = files[0]
    for other in files[1:]:
        _check_same(first, other)
    _check_names(files)
    _check_cases(files)
    options = _options(files, given)
    cases = [case for file in files for case in _cases(file, options)]
    unused = [_unused(each) for file in files for each in file.about.unused]
    cases, gone = _select(cases, options)
    need_two_raters(column for case in cases for column in case.masks)
    properties = {rater: dict(row) for file in files for rater, row in file.about.raters.items()}
    properties = {rater: row for rater, row in properties.items() if rater not in options.exclude_rater}
    doubts = tuple(_suspicion(doubt) for file in files for doubt in file.about.doubts)
    kept = {column for case in cases for column in case.masks}
    doubts = tuple(doubt for doubt in doubts if kept.issuperset(doubt.columns))
    merged = sum(case.record.merged for file in files for case in file.cases)
    return TalliedStudy(
        _complete(cases),
        options,
        properties,
        (*unused, *gone),
        doubts,
        tuple(f.about for f in files),
        merged,
        tuple(paths),
    )


def _read(path: str) -> TallyFile:
    about, cases = read_tally_file(path)
    if not cases:
        raise FormatError(f"{path}: has no case; write it again")
    return TallyFile(path, about, tuple(cases))


# -- whether files fit together ---------------------------------------------------------------------


def _check_same(one: TallyFile, other: TallyFile) -> None:
    """Refuse files whose numbers mean different things."""
    if one.about.labels != other.about.labels:
        raise StudyError(
            f"{one.path} has {_describe_labels(one.about)}, {other.path} {_describe_labels(other.about)}; write both "
            "with the same --labels"
        )
    for name, words in SAME.items():
        mine, theirs = getattr(one.about, name), getattr(other.about, name)
        if mine != theirs:
            raise StudyError(
                f"{one.path} and {other.path} differ in {words}: {name} is {_word(mine)} in one and {_word(theirs)} in "
                "the other; write them with the same"
            )
    units = [_units(file) for file in (one, other)]
    if units[0] != units[1]:
        raise StudyError(
            f"{one.path} has sizes in {' and '.join(units[0])}, {other.path} in {' and '.join(units[1])}; if the masks "
            "do not say how large a pixel is, write the tally file with --spacing"
        )


def _describe_labels(about: About) -> str:
    if about.labels is None:
        return "labels without names"
    return "the labels " + few([f"{value}={name}" for value, name in about.labels])


def _word(value: object) -> str:
    return {None: "not given", True: "true", False: "false"}.get(value, str(value))  # type: ignore[call-overload, no-any-return]


def _units(file: TallyFile) -> list[str]:
    """Of the sizes of its cases, in words."""
    units = {case.parts[0].unit.name if case.parts[0].unit else _pixels(case) for case in file.cases}
    return sorted(units)


def _pixels(case: TalliedCase) -> str:
    return "voxels" if len(case.record.shape) > 2 else "pixels"


def _check_names(files: Sequence[TallyFile]) -> None:
    """Refuse names that are nearly the same, or stand for different things, in two files."""
    seen: dict[str, tuple[str, Role, str]] = {}
    for file in files:
        names = {(column.name, column.role) for column in file.columns}
        for name, role in sorted(names, key=lambda each: (each[1], natural_key(each[0]))):
            key = compose_name(name).casefold().strip()
            before, as_role, path = seen.setdefault(key, (name, role, file.path))
            if path != file.path and role != as_role:
                raise StudyError(
                    f"{name!r} is {_article(as_role)} in {path} and {_article(role)} in {file.path}; rename one of them"
                )
            if path != file.path and before != name:
                raise StudyError(
                    f"{path} has the {as_role} {before!r}, {file.path} the {role} {name!r}: write the name alike if "
                    "they are the same, and otherwise rename one of them"
                )


def _article(role: Role) -> str:
    return {"rater": "a rater", "algorithm": "an algorithm", "reference": "a reference standard"}[role]


def _check_cases(files: Sequence[TallyFile]) -> None:
    """Refuse a case that is in two files, and coded subjects that only seem to be the same."""
    cases, subjects = dict[str, TallyFile](), dict[str, TallyFile]()
    for file in files:
        for case in file.cases:
            before = cases.get(case.record.case)
            if before is not None:
                where = f"twice in {file.path}" if before is file else f"in {before.path} and in {file.path}"
                raise StudyError(
                    f"case {case.record.case!r} is {where}; give each centre a name of its own (manytruths tally "
                    "--centre), and each file once"
                )
            cases[case.record.case] = file
        for subject in {case.record.subject for case in file.cases}:
            before = subjects.setdefault(subject, file)
            ordered = any(case.record.order for case in file.cases if case.record.subject == subject)
            if before is not file and ordered:
                raise StudyError(
                    f"subject {subject!r} is in {before.path} and in {file.path}, so the order of its cases is not "
                    "known; write all of its cases to one file"
                )
            if before is not file and (before.about.coded or file.about.coded):
                raise StudyError(
                    f"subject {subject!r} is in {before.path} and in {file.path}, and is a code of one centre; give "
                    "each centre a name of its own (manytruths tally --centre)"
                )


# -- from files to cases ----------------------------------------------------------------------------


def _options(files: Sequence[TallyFile], given: Mapping[str, Any]) -> Options:
    """How the study would have been opened from its masks."""
    about = files[0].about
    if given.get("region", about.region) != about.region:
        parts = [case for file in files for case in file.cases if not all(part.inside for part in case.record.parts)]
        if parts:
            raise StudyError(f"region {given['region']!r} and roi exclude each other; {files[0].path} has a roi")
    trained_on: dict[str, str] = {}
    for file in files:
        for algorithm, on in file.about.trained_on.items():
            if trained_on.setdefault(algorithm, on) != on:
                raise StudyError(
                    f"{file.path}: {algorithm} was trained on {on}, by another file on {trained_on[algorithm]}; write "
                    "them with the same --trained-on"
                )
    settings: dict[str, Any] = {
        "background": about.background, "foreground": about.foreground, "region": about.region,
        "void": about.void if all(file.about.void == about.void for file in files) else None,
        "exchangeable": about.exchangeable, "edited": about.edited, "trained_on": trained_on,
        "predictions": "" if any(file.about.predictions for file in files) else None,
        "reference": "" if any(file.about.references for file in files) else None,
    }  # fmt: skip
    try:
        return Options("", labels=_labels(about), **settings | dict(given))
    except ManytruthsError as error:
        raise StudyError(f"{files[0].path}: {error}") from None


def _labels(about: About) -> Labels | None:
    if about.labels is None:
        return None
    values, names = zip(*about.labels, strict=True) if about.labels else ((), ())
    return Labels(values, names, zero_is_background=about.background is None)


def _cases(file: TallyFile, options: Options) -> Iterator[Case]:
    for case in file.cases:
        try:
            yield _case(case, options)
        except (ManytruthsError, OverflowError) as error:
            raise FormatError(f"{file.path}, case {case.record.case}: {error}") from None


def _case(case: TalliedCase, options: Options) -> Case:
    record, columns = case.record, case.parts[0].columns
    arrays = {column: values_by_pattern(case.parts, place, options.void) for place, column in enumerate(columns)}
    by_role: dict[str, dict[Column, Array]] = {"rater": {}, "algorithm": {}, "reference": {}}
    for column, array in arrays.items():
        by_role[column.role][column] = array
    sizes = [len(table.counts) for table in case.parts]
    inside = np.repeat([part.inside for part in record.parts], sizes)
    trained = sorted({name for part in record.parts for name in part.trained})
    training = {
        Column(name, "algorithm"): np.repeat([name in part.trained for part in record.parts], sizes) for name in trained
    }
    counts = np.concatenate([table.counts for table in case.parts])
    counted = Counted(counts, Grid(record.shape, record.spacing), *record.resampled, record.merged)
    masks = {column: {"": array} for column, array in by_role["rater"].items()}
    edits = {
        column_of(edit.who): Edit({}, column_of(edit.parent), None, edit.step, table)
        for edit, table in zip(record.edits, case.edits, strict=True)
    }
    return Case(
        record.case, record.subject, record.groups, masks, (), options,
        predictions=by_role["algorithm"], references=by_role["reference"], training=training,
        roi=None if inside.all() else inside, edits=edits, order=record.order, properties=dict(record.properties),
        statuses=dict.fromkeys(masks, "done") if record.logged else {}, counted=counted,
    )  # fmt: skip


def values_by_pattern(parts: Sequence[Tally], place: int, void: int | None) -> Array:
    """What a column holds in each pattern of all parts; masked, or the value that says so, where it was not rated."""
    values, hidden = list[Array](), list[Array]()
    for table in parts:
        codes = table.patterns[:, place]
        known = np.array([*table.labels.values, void or 0], np.int64)
        hidden.append(codes == VOID)
        values.append(known[np.where(codes == VOID, len(known) - 1, codes)])
    array, mask = np.concatenate(values), np.concatenate(hidden)
    ends = (np.min_scalar_type(int(end)) for end in (array.min(initial=0), array.max(initial=0)))
    array = array.astype(np.promote_types(*ends))
    return np.ma.array(array, mask=mask) if void is None and mask.any() else array


def _select(cases: list[Case], options: Options) -> tuple[list[Case], list[UnusedReading]]:
    """The cases without the raters and sessions that are left out, and the readings that go with them."""
    every = {column for case in cases for column in case.masks}
    check_excluded_raters({column.name for column in every}, options.exclude_rater)
    for rater, names in options.exclude.items():
        own = {case.name for case in cases if rater in {column.name for column in case.masks}}
        for name in names:
            if name not in own:
                raise StudyError(f"exclude: rater {rater!r} has no mask of case {name!r}; correct the name")
    have = set[str]()
    if options.session:
        sessions: dict[str, set[str]] = {}
        for column in every:
            sessions.setdefault(column.name, set()).add(column.session)
        check_session(options.session, sessions.values())
        have = {name for name, own in sessions.items() if options.session in own}
    kept, unused = list[Case](), list[UnusedReading]()
    for case in cases:
        masks = dict(case.masks)
        for column in case.masks:
            if column.name in options.exclude_rater:
                why = "rater_excluded"
            elif case.name in options.exclude.get(column.name, ()):
                why = "excluded"
            elif column.name in have and column.session != options.session:
                why = "other_session"
            else:
                continue
            del masks[column]
            unused.append(UnusedReading(case.name, column, why))
        if masks:
            kept.append(replace(case, masks=masks))
    return kept, unused


def _complete(cases: Iterable[Case]) -> list[Case]:
    """The cases in natural order, each with who is missing in it."""
    ordered = sorted(cases, key=lambda case: natural_key(case.name))
    every = {
        "absent": {c for case in ordered for c in case.masks},
        "missing": {c for case in ordered for c in case.predictions},
        "missing_references": {c for case in ordered for c in case.references},
    }

    def others(name: str, here: Iterable[Column]) -> tuple[Column, ...]:
        return tuple(sorted(every[name].difference(here), key=lambda c: c.order))

    return [
        replace(
            case, absent=others("absent", case.masks), missing=others("missing", case.predictions),
            missing_references=others("missing_references", case.references),
        )
        for case in ordered
    ]  # fmt: skip


# -- names ------------------------------------------------------------------------------------------


def who_is(column: Column) -> Who:
    """A column as a tally file names it."""
    return Who(column.name, column.role, column.session)


def column_of(who: Who) -> Column:
    """The column that a tally file names."""
    return Column(who.name, who.role, who.session)


def _unused(each: Unused) -> UnusedReading:
    return UnusedReading(each.case, column_of(each.who), each.why, each.reason)


def doubt_of(suspicion: Suspicion) -> Doubt:
    """A suspicion as a tally file has it."""

    def known(number: float) -> float | None:
        return None if math.isnan(number) else number

    return Doubt(
        suspicion.kind, suspicion.case, tuple(map(who_is, suspicion.columns)), known(suspicion.before),
        known(suspicion.after), suspicion.change, suspicion.other, known(suspicion.share), known(suspicion.others),
        suspicion.count, suspicion.total, suspicion.compared, suspicion.item,
    )  # fmt: skip


def _suspicion(doubt: Doubt) -> Suspicion:
    def number(known: float | None) -> float:
        return math.nan if known is None else known

    columns = tuple(map(column_of, doubt.whose))
    return Suspicion(
        doubt.kind, doubt.case, columns, number(doubt.before), number(doubt.after), doubt.change, doubt.other,
        number(doubt.share), number(doubt.others), doubt.count, doubt.total, doubt.compared, item=doubt.item,
    )  # fmt: skip
