"""Tables of ratings: who gave which label to which case, and how sure they were.

Tables are long or wide, as text, Parquet or Excel. Long: a line for every case and rater, with the columns case,
rater, label and, optionally, confidence, subject and reference. Wide: a line for every case and a column for every
rater, whose confidence is in a column ``A confidence`` (or ``A:confidence``, ``A_confidence``); without a column case,
every line is a case. Both become one list
of entries, and those become arrays; lines that cannot be used are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError, few, find_name_fault
from ..io.sheets import Faults, Sheet, find_columns, read_sheet, select_lines
from ..io.tables import check_listed, check_names, read_table, subjects_of
from .ratings import MISSING, Kind, Ratings, Values
from .scales import (
    MOST_DISTINCT,
    Meaning,
    Rule,
    confidence_meaning,
    cut_meaning,
    is_missing,
    labels_meaning,
    note_similar_names,
    scale_range,
)

ROLES: dict[str, tuple[str, ...]] = {
    "case": ("case",),
    "rater": ("rater", "reader"),
    "label": ("label", "rating"),
    "confidence": ("confidence",),
    "subject": ("subject", "patient"),
    "reference": ("reference", "truth"),
}
"""What a column may hold, and the names under which it is known."""
NUMBERED = "(row)"
"""The column of cases of a table that has none."""
CONFIDENCE_COLUMN = re.compile(r"(.+?)[ :_.-]+confidence", re.IGNORECASE)
Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The row (case) and the column (rater) of every entry."""


@dataclass(frozen=True)
class RatingsOptions:
    """How to read a table of ratings; see :func:`read_ratings`."""

    columns: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "nominal"
    labels: Sequence[str] | None = None
    confidence_levels: int | Sequence[str] | None = None
    confidence_rule: Rule = "share"
    confidence: Path | str | None = None
    reference_column: str | None = None
    reference_rater: str | None = None
    select_raters: Sequence[str] | None = None
    cases: Path | str | None = None
    filter: Mapping[str, str] = field(default_factory=dict)
    cut: float | None = None
    rating_range: tuple[float, float] | None = None
    sure: bool = True
    """Whether confidence is read; if not, it may be on any scale."""

    @property
    def roles(self) -> dict[str, str]:
        """Columns by role."""
        return {**self.columns, **({"reference": self.reference_column} if self.reference_column else {})}

    @property
    def everybody(self) -> list[str] | None:
        """The selected raters, and the one who is taken as the reference."""
        if self.select_raters is None:
            return None
        return list(dict.fromkeys([*self.select_raters, *([self.reference_rater] if self.reference_rater else [])]))


@dataclass(frozen=True)
class RatingsFile:
    """Ratings, and notes on how they were read."""

    ratings: Ratings
    notes: tuple[str, ...]


def read_ratings(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind = "nominal",
    labels: Sequence[str] | None = None,
    confidence_levels: int | Sequence[str] | None = None,
    confidence_rule: Rule = "share",
    confidence: Path | str | None = None,
    reference: str | None = None,
    reference_rater: str | None = None,
    raters: Sequence[str] | None = None,
    cases: Path | str | None = None,
    filters: Mapping[str, str] | None = None,
    cut: float | None = None,
    rating_range: tuple[float, float] | None = None,
) -> Ratings:
    """Read a table of ratings from text, Parquet or Excel.

    A long table has a line for every case and rater; a wide one has a line for every case and a column for every
    rater, and needs no column ``case``. An empty cell, ``NA``, ``n/a``, ``nan`` or ``null`` is a rating that was not
    given.

    Parameters
    ----------
    path : Path or str
        Text with commas, semicolons or tabs, Parquet, or Excel, of which the first sheet is read.
    columns : dict of str, optional
        Which column is the case, rater, label, confidence, subject or reference, where it has another name:
        ``{"case": "image", "rater": "reader", "label": "dx"}``.
    kind : {"nominal", "ordinal", "numeric"}
        Scale of the labels; ordinal ones are in the order of ``labels``, else of their numbers.
    labels : sequence of str, optional
        All labels, in their order; others are then errors. By default those that occur.
    confidence_levels : int or sequence of str, optional
        How many levels of confidence there are (1 is the least sure), or their names in order. By default confidence
        is a number from 0 to 1.
    confidence_rule : {"share", "span"}
        How a level becomes a number: ``share``, level / levels; ``span``, (level − 1) / (levels − 1).
    confidence : Path or str, optional
        A second table of the same layout, with confidence in place of labels.
    reference : str, optional
        The column of the reference labels; by default ``reference`` or ``truth``, if there is one.
    reference_rater : str, optional
        A rater whose labels are taken as the reference; they are then no longer one of the raters.
    raters : sequence of str, optional
        Names of the raters to read; in a wide table, which columns are raters. By default all.
    cases : Path or str, optional
        CSV with the columns ``case`` and ``subject``.
    filters : dict of str, optional
        Read only lines whose columns hold these values: ``{"treatment": "1"}``.
    cut : float, optional
        Ratings from here on become label 1, those below it label 0 (or as ``labels`` names the two). Confidence is
        the distance from the cut, unless the table has a column for it.
    rating_range : tuple of float, optional
        The ends of the scale that is cut; by default the smallest and the largest rating in the file.

    Returns
    -------
    Ratings
        Labels and confidence of every case and rater.

    Raises
    ------
    FormatError
        If lines cannot be used; it lists the first ten, each with its reason.
    """
    options = RatingsOptions(
        columns or {}, kind, labels, confidence_levels, confidence_rule, confidence, reference, reference_rater,
        raters, cases, filters or {}, cut, rating_range,
    )  # fmt: skip
    return open_ratings(path, options).ratings


def open_ratings(path: Path | str, options: RatingsOptions | None = None) -> RatingsFile:
    """Read a table of ratings, with notes on how it was read; see :func:`read_ratings`."""
    options = options or RatingsOptions()
    whole = read_sheet(path)
    sheet = select_lines(whole, options.filter)
    entries = _entries(sheet, options)
    if options.cut is not None and options.rating_range is None:
        # the scale does not depend on the lines that are selected
        every = _entries(replace(whole, faults=Faults(path)), options)
        options = replace(options, rating_range=scale_range(every.labels))
    sheet.faults.raise_any()
    if not entries.labels:
        raise FormatError(f"{path}: has no ratings; give a line for every case")
    sure = None if options.confidence is None else _read_confidence(options.confidence, options)
    ratings, notes = _make_ratings(sheet.faults, entries, sure, options)
    if len(ratings.raters) < 2:
        known = ", ".join(ratings.raters) or "none"
        raise FormatError(
            "; ".join([f"{path}: agreement needs two raters or more; there is only {known}", *sheet.notes])
        )
    unused = [f"columns not read: {', '.join(entries.unused)}"] if entries.unused else []
    if entries.numbered:
        unused.append("there is no column 'case': every row is a case, named by its line")
    return RatingsFile(_with_subjects(ratings, entries, options), (*sheet.notes, *notes, *unused))


def _entries(sheet: Sheet, options: RatingsOptions) -> Entries:
    return read_entries(sheet, options.roles, options.everybody, list(options.filter))


def _read_confidence(path: Path | str, options: RatingsOptions) -> Entries:
    """The entries of a table of confidence, as ``labels``."""
    sheet = select_lines(read_sheet(path), options.filter, lenient=True)
    roles = {role: name for role, name in options.columns.items() if name in sheet.header}
    entries = read_entries(sheet, roles, None, list(options.filter), values="confidence")
    sheet.faults.raise_any()
    return replace(entries, faults=sheet.faults)


def _with_subjects(ratings: Ratings, entries: Entries, options: RatingsOptions) -> Ratings:
    if options.cases is None:
        return replace(ratings, subjects=tuple(entries.subjects.get(case, case) for case in ratings.cases))
    table = read_table(options.cases, "case")
    check_listed(options.cases, table, ratings.cases)
    if any("subject" not in row for row in table.values()):
        raise FormatError(f"{options.cases}: has no column 'subject'; add it")
    subjects = subjects_of(options.cases, table, ratings.cases)
    return replace(ratings, subjects=tuple(subjects.get(case, case) for case in ratings.cases))


# -- long and wide tables -----------------------------------------------------------------------------


@dataclass
class Entries:
    """Ratings one by one, as text."""

    lines: list[int] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    raters: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    confidence: list[str] = field(default_factory=list)
    """Empty where the table has none at all."""
    subjects: dict[str, str] = field(default_factory=dict)
    references: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By case: the first line with it, and the label."""
    unused: list[str] = field(default_factory=list)
    """Columns that were not read."""
    numbered: bool = False
    """Whether the table does not name its cases."""
    faults: Faults | None = None

    def at(self, chosen: Sequence[int]) -> Entries:
        """Some of the entries."""
        columns: dict[str, Any] = {}
        for name in ("lines", "cases", "raters", "labels", *(["confidence"] if self.confidence else [])):
            columns[name] = [getattr(self, name)[i] for i in chosen]
        return replace(self, **columns)


def read_entries(
    sheet: Sheet,
    columns: Mapping[str, str],
    raters: Sequence[str] | None,
    filters: Sequence[str],
    values: str = "label",
) -> Entries:
    """All entries; ``values`` is the role of the value column of a long table, and of the columns of a wide one."""
    own_columns = raters is not None and set(raters) <= set(sheet.header)
    roles = find_columns(sheet.path, sheet.header, columns, ROLES, ignored=raters if own_columns and raters else ())
    wide = own_columns or ("rater" not in roles and values not in roles)
    if "case" not in roles:
        note = f" ({sheet.notes[0]})" if sheet.notes else ""
        if not wide or _names_something(sheet):
            why = "" if wide else (
                "; with a line for each rating it must say which case the line is about: add the column, or give every "
                "rater a column of their own and every case one line, which then needs no name"
            )  # fmt: skip
            raise FormatError(
                f"{sheet.path}: has no column 'case' (columns: {few(sheet.header)}); name it with --columns "
                f"case=NAME{note}{why}"
            )
        sheet, roles = number_cases(sheet), {**roles, "case": NUMBERED}
    _check_cells(sheet, sheet.header if wide else [*roles.values()])
    if wide:
        return replace(_wide(sheet, roles, raters, filters, values), numbered=roles["case"] == NUMBERED)
    for role, other in (("rater", values), (values, "rater")):
        if role not in roles:
            raise FormatError(
                f"{sheet.path}: has {roles[other]!r} for the {other} but no column {role!r} among "
                f"{few(sheet.header)}; name it with --columns {role}=NAME, or, where every rater has a "
                "column of their own, name them: --select-raters A,B,C"
            )
    return _long(sheet, roles, raters, filters, values)


def number_cases(sheet: Sheet) -> Sheet:
    """The sheet of a wide table without a column of cases: every row is a case, named by its line."""
    unit = sheet.faults.unit
    names = [f"{unit} {line}" for line in sheet.lines]
    return replace(sheet, header=[NUMBERED, *sheet.header], columns=[names, *sheet.columns])


def _names_something(sheet: Sheet) -> bool:
    """Whether a column has another value in every row, as names of cases have."""
    return len(sheet.lines) > 2 and any(len(set(column)) == len(column) for column in sheet.columns)


def _check_cells(sheet: Sheet, columns: Sequence[str]) -> None:
    """Refuse cells that hold line ends or other characters that cannot be seen."""
    for column in columns:
        for name in dict.fromkeys(sheet[column]):
            if find_name_fault(name):
                check_names(sheet.path, sheet.lines[sheet[column].index(name)], {column: name})


def _long(
    sheet: Sheet, roles: Mapping[str, str], raters: Sequence[str] | None, filters: Sequence[str], values: str
) -> Entries:
    for role in ("case", "rater"):
        for line, name in zip(sheet.lines, sheet[roles[role]], strict=True):
            if not name:
                sheet.faults.add(line, f"the {role} is empty")
    columns = {role: sheet[name] for role, name in roles.items()}
    entries = Entries(sheet.lines, columns["case"], columns["rater"], columns[values], columns.get("confidence", []))
    _add_subjects_and_references(sheet, roles, entries)
    if raters is not None:
        absent = [rater for rater in raters if rater not in set(entries.raters)]
        if absent:
            known = ", ".join(dict.fromkeys(entries.raters))
            raise CallError(f"{sheet.path}: no rater {absent[0]!r}; there are {known}")
        entries = entries.at([i for i, rater in enumerate(entries.raters) if rater in set(raters)])
    entries.unused = [name for name in sheet.header if name not in {*roles.values(), *filters}]
    return entries


def _add_subjects_and_references(sheet: Sheet, roles: Mapping[str, str], entries: Entries) -> None:
    """Subject and reference of every case; they must be the same in all its lines."""
    cases = sheet[roles["case"]]
    if "subject" in roles:
        given = any(sheet[roles["subject"]])
        for line, case, subject in zip(sheet.lines, cases, sheet[roles["subject"]], strict=True):
            if given and not subject:
                sheet.faults.add(line, f"the subject of case {case} is empty; write one for each case, or for none")
            elif entries.subjects.setdefault(case, subject or case) != (subject or case):
                other = entries.subjects[case]
                sheet.faults.add(line, f"case {case} is of subject {subject!r} here and of {other!r} above")
    if "reference" in roles:
        for line, case, truth in zip(sheet.lines, cases, sheet[roles["reference"]], strict=True):
            first, known = entries.references.setdefault(case, (line, truth))
            if known != truth:
                where = f"{sheet.faults.unit} {first}"
                sheet.faults.add(line, f"the reference of case {case} is {truth!r} here and {known!r} in {where}")


def _wide(
    sheet: Sheet, roles: Mapping[str, str], raters: Sequence[str] | None, filters: Sequence[str], values: str
) -> Entries:
    if "confidence" in roles and values == "label":
        raise FormatError(
            f"{sheet.path}: {roles['confidence']!r} does not say whose confidence it is; where every rater has a "
            "column, name it 'A confidence'"
        )
    shared = {name for role, name in roles.items() if role in ("case", "subject", "reference")}
    free = [name for name in sheet.header if name not in shared and name not in filters]
    sure = dict(_confidence_columns(sheet, free)) if values == "label" else {}
    names = [name for name in free if name not in sure.values()] if raters is None else list(raters)
    absent = [name for name in names if name not in sheet.header]
    if absent:
        raise CallError(f"{sheet.path}: no rater {absent[0]!r}; there are {', '.join(free)}")
    _check_cases(sheet, roles["case"])
    entries = Entries()
    _add_subjects_and_references(sheet, roles, entries)
    for name in names:
        entries.lines += sheet.lines
        entries.cases += sheet[roles["case"]]
        entries.raters += [name] * len(sheet.lines)
        entries.labels += sheet[name]
        if sure:
            entries.confidence += sheet[sure[name]] if name in sure else [""] * len(sheet.lines)
    entries.unused = [name for name in free if name not in names and name not in sure.values()]
    return entries


def _confidence_columns(sheet: Sheet, free: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The column of every rater's confidence."""
    for name in free:
        match = CONFIDENCE_COLUMN.fullmatch(name)
        if match and match[1].strip() in free:
            yield match[1].strip(), name
        elif match:
            raise FormatError(
                f"{sheet.path}: {name!r} is the confidence of {match[1].strip()!r}, who has no column; rename one"
            )


def _check_cases(sheet: Sheet, column: str) -> None:
    """A wide table names every case once."""
    first: dict[str, int] = {}
    for line, case in zip(sheet.lines, sheet[column], strict=True):
        if not case:
            sheet.faults.add(line, "the case is empty")
        elif first.setdefault(case, line) != line:
            sheet.faults.add(line, f"case {case} is in {sheet.faults.unit} {first[case]} already")


# -- entries to arrays --------------------------------------------------------------------------------


def _make_ratings(
    faults: Faults, entries: Entries, sure: Entries | None, options: RatingsOptions
) -> tuple[Ratings, list[str]]:
    """Ratings as arrays, and notes; raises if any entry cannot be used."""
    cases, raters = list(dict.fromkeys(entries.cases)), list(dict.fromkeys(entries.raters))
    where = _places(entries, cases, raters)
    _refuse_twice(faults, entries, where, len(raters))
    meaning = _meaning(entries, options)
    if len(meaning.labels) > MOST_DISTINCT:
        raise FormatError(
            f"{faults.path}: has {len(meaning.labels):,} different labels; at most {MOST_DISTINCT:,} can be compared: "
            "check the column of labels, group them, or cut the scale with --cut"
        )
    _complain(faults, entries, entries.labels, meaning.wrong)
    codes = np.full((len(cases), len(raters)), MISSING, np.int16)
    codes[where] = [meaning.codes.get(text, MISSING) for text in entries.labels]
    reference = _reference(faults, entries, cases, meaning, options)
    confidence = _confidence(faults, entries, where, codes.shape, meaning, options)
    if sure is not None:
        confidence = _confidence_from_second_table(sure, cases, raters, options)
    faults.raise_any()
    confidence = np.where(codes == MISSING, np.nan, confidence)
    notes = [*meaning.notes, *note_similar_names(raters, "raters"), *_confidence_notes(codes, confidence, options)]
    if options.reference_rater is not None:
        codes, confidence, raters, reference = _take_reference_rater(codes, confidence, raters, options.reference_rater)
    known = None if reference is None or (reference == MISSING).all() else reference
    return Ratings(tuple(cases), tuple(raters), meaning.labels, codes, confidence, options.kind, known), notes


def _places(entries: Entries, cases: Sequence[str], raters: Sequence[str]) -> Places:
    row, column = ({name: i for i, name in enumerate(names)} for names in (cases, raters))
    return np.array([row[c] for c in entries.cases], np.intp), np.array([column[r] for r in entries.raters], np.intp)


def _refuse_twice(faults: Faults, entries: Entries, where: Places, width: int) -> None:
    place = where[0] * width + where[1]
    if len(np.unique(place)) == len(place):
        return
    first: dict[int, int] = {}
    for i, cell in enumerate(place.tolist()):
        if first.setdefault(cell, i) != i:
            earlier = f"{faults.unit} {entries.lines[first[cell]]}"
            case, rater = entries.cases[i], entries.raters[i]
            faults.add(entries.lines[i], f"case {case} was rated by {rater} in {earlier} already")


def _meaning(entries: Entries, options: RatingsOptions) -> Meaning:
    texts = set(entries.labels)
    if options.cut is not None:
        return cut_meaning(texts, options.cut, options.rating_range, options.labels)
    references = {text for _, text in entries.references.values()} if options.reference_rater is None else set()
    return labels_meaning(texts | references, options.kind, options.labels)


def _complain(faults: Faults, entries: Entries, texts: Sequence[str], wrong: dict[str, str]) -> None:
    for i, text in enumerate(texts) if wrong else ():
        if text in wrong:
            faults.add(entries.lines[i], f"{wrong[text]} (case {entries.cases[i]}, rater {entries.raters[i]})")


def _reference(
    faults: Faults, entries: Entries, cases: Sequence[str], meaning: Meaning, options: RatingsOptions
) -> NDArray[np.int16] | None:
    if not entries.references or options.reference_rater is not None:
        return None
    codes = dict(meaning.codes)
    if options.cut is not None:
        # what is cut is on a scale; the reference is one of the two labels
        texts = {text for _, text in entries.references.values()}
        codes = {**labels_meaning(texts, "nominal", ("0", "1")).codes, **dict(zip(meaning.labels, (0, 1), strict=True))}
    reference = np.full(len(cases), MISSING, np.int16)
    for row, case in enumerate(cases):
        line, text = entries.references[case]
        if is_missing(text, options.labels):
            continue
        if text not in codes:
            faults.add(line, f"reference {text!r} of case {case} is none of {', '.join(meaning.labels[:10])}")
        reference[row] = codes.get(text, MISSING)
    return reference


def _confidence(
    faults: Faults, entries: Entries, where: Places, shape: tuple[int, ...], meaning: Meaning, options: RatingsOptions
) -> Values:
    """Confidence from the table's own column, else from the rating itself."""
    confidence = np.full(shape, np.nan)
    if options.confidence is not None or not options.sure:
        return confidence
    if entries.confidence:
        return _read_levels(faults, entries, entries.confidence, where, shape, options)
    if options.confidence_levels is not None:
        raise CallError(
            "--confidence-levels is of confidence, but the table has none; name its column: --columns confidence=NAME"
        )
    confidence[where] = [meaning.confidence.get(text, np.nan) for text in entries.labels]
    return confidence


def _read_levels(
    faults: Faults,
    entries: Entries,
    texts: Sequence[str],
    where: Places,
    shape: tuple[int, ...],
    options: RatingsOptions,
) -> Values:
    """Confidence as numbers from its cells."""
    values, wrong = confidence_meaning(texts, options.confidence_levels, options.confidence_rule)
    _complain(faults, entries, texts, wrong)
    confidence = np.full(shape, np.nan)
    confidence[where] = [values.get(text, np.nan) for text in texts]
    return confidence


def _confidence_from_second_table(
    sure: Entries, cases: Sequence[str], raters: Sequence[str], options: RatingsOptions
) -> Values:
    """Confidence from a second table; entries without a rating here are ignored."""
    faults = sure.faults
    assert faults is not None, "a second table knows its own faults"
    here, there = set(cases), set(raters)
    pairs = enumerate(zip(sure.cases, sure.raters, strict=True))
    chosen = sure.at([i for i, (case, rater) in pairs if case in here and rater in there])
    if not chosen.lines:
        raise FormatError(f"{faults.path}: has no confidence of any case and rater of the ratings; compare the names")
    where = _places(chosen, cases, raters)
    _refuse_twice(faults, chosen, where, len(raters))
    confidence = _read_levels(faults, chosen, chosen.labels, where, (len(cases), len(raters)), options)
    faults.raise_any()
    return confidence


def _take_reference_rater(
    codes: NDArray[np.int16], confidence: Values, raters: list[str], rater: str
) -> tuple[NDArray[np.int16], Values, list[str], NDArray[np.int16]]:
    if rater not in raters:
        raise CallError(f"no rater {rater!r} to take as the reference; there are {', '.join(raters)}")
    at = raters.index(rater)
    others = [i for i in range(len(raters)) if i != at]
    return codes[:, others], confidence[:, others], [raters[i] for i in others], codes[:, at]


def _confidence_notes(codes: NDArray[np.int16], confidence: Values, options: RatingsOptions) -> Iterator[str]:
    unsure = int(((codes != MISSING) & np.isnan(confidence)).sum())
    if np.isnan(confidence).all():
        yield "no confidence was given: sigma is percent agreement, and rho discounts competence alone"
    elif unsure:
        yield f"ratings without confidence, which take no part in sigma and rho: {unsure}"
    levels = options.confidence_levels
    if levels is not None:
        count = levels if isinstance(levels, int) else len(levels)
        how = f"level / {count}" if options.confidence_rule == "share" else f"(level − 1) / {count - 1}"
        yield f"confidence is {how}"
