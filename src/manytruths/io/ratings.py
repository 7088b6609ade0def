"""Tables of ratings: who gave which label to which case, and how sure he was.

Long or wide (see :mod:`.ratings_layout`), as text with commas, semicolons or tabs, as Parquet or as Excel (its first
sheet). An empty cell, ``NA``, ``n/a``, ``nan`` or ``null`` is a rating that was not given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.errors import FormatError
from ..ratings.ratings import Kind, Ratings
from .ratings_gathering import Gathered, gather
from .ratings_layout import Entries, entries_of
from .ratings_sheet import Cells, Faults, filtered, read_cells
from .ratings_values import Rule, scale_of
from .tables import check_listed, read_table, subjects_of


@dataclass(frozen=True)
class RatingsOptions:
    """How to read a table of ratings; see :func:`read_ratings`."""

    columns: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "nominal"
    labels: Sequence[str] | None = None
    levels: int | Sequence[str] | None = None
    rule: Rule = "share"
    confidence: Path | str | None = None
    reference: str | None = None
    reference_rater: str | None = None
    raters: Sequence[str] | None = None
    cases: Path | str | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    cut: float | None = None
    scale: tuple[float, float] | None = None
    sure: bool = True
    """Whether confidence is read; where nobody asks for it, it may be on any scale."""

    @property
    def roles(self) -> dict[str, str]:
        """Columns by role."""
        return {**self.columns, **({"reference": self.reference} if self.reference else {})}

    @property
    def everybody(self) -> list[str] | None:
        """The raters that were chosen, and the one who is taken as the reference."""
        if self.raters is None:
            return None
        return list(dict.fromkeys([*self.raters, *([self.reference_rater] if self.reference_rater else [])]))


@dataclass(frozen=True)
class RatingsFile:
    """Ratings, and what there is to know of how they were read."""

    ratings: Ratings
    notes: tuple[str, ...]


def read_ratings(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind = "nominal",
    labels: Sequence[str] | None = None,
    levels: int | Sequence[str] | None = None,
    rule: Rule = "share",
    confidence: Path | str | None = None,
    reference: str | None = None,
    reference_rater: str | None = None,
    raters: Sequence[str] | None = None,
    cases: Path | str | None = None,
    filters: Mapping[str, str] | None = None,
    cut: float | None = None,
    scale: tuple[float, float] | None = None,
) -> Ratings:
    """Read a table of ratings.

    Parameters
    ----------
    columns
        Which column is the case, rater, label, confidence, subject or reference, where it has another name:
        ``{"case": "image", "rater": "reader", "label": "dx"}``.
    kind
        ``nominal``, ``ordinal`` (in the order of ``labels``, else of their numbers) or ``numeric``.
    labels
        All labels, in their order; others are then errors. By default those that occur.
    levels
        Of confidence: how many there are (1 is the least sure), or their names in order. By default confidence is a
        number from 0 to 1.
    rule
        How a level becomes a number: ``share``, level / levels; ``span``, (level − 1) / (levels − 1).
    confidence
        A second table of the same layout, with confidence where the first has labels.
    reference
        The column of the true labels; by default ``reference`` or ``truth``, if there is one.
    reference_rater
        A rater whose labels are taken as the true ones; he is then no rater.
    raters
        Whom to take; in a wide table, which columns are raters. By default all.
    cases
        CSV with the columns ``case`` and ``subject``.
    filters
        Only lines whose columns hold these values: ``{"treatment": "1"}``.
    cut
        Ratings from here on are label 1, those below it label 0 (or as ``labels`` names the two); confidence is the
        distance from the cut, see :mod:`.ratings_values`, unless the table has its own.
    scale
        The ends of the scale that is cut; by default the least and the largest rating in the file.

    Raises
    ------
    FormatError
        With the first ten lines that cannot be used, and why.
    """
    options = RatingsOptions(
        columns or {}, kind, labels, levels, rule, confidence, reference, reference_rater, raters, cases,
        filters or {}, cut, scale,
    )  # fmt: skip
    return open_ratings(path, options).ratings


def open_ratings(path: Path | str, options: RatingsOptions | None = None) -> RatingsFile:
    """The same, with notes."""
    options = options or RatingsOptions()
    whole = read_cells(path)
    cells = filtered(whole, options.filters)
    entries = _entries(cells, options)
    if options.cut is not None and options.scale is None:
        # the scale does not depend on the lines that are chosen
        every = _entries(replace(whole, faults=Faults(path)), options)
        options = replace(options, scale=scale_of(every.labels))
    cells.faults.insist()
    if not entries.labels:
        raise FormatError(f"{path}: has no ratings; give a line for every case")
    sure = None if options.confidence is None else _second(options.confidence, options)
    found = gather(cells.faults, entries, sure, options)
    if len(found.ratings.raters) < 2:
        known = ", ".join(found.ratings.raters) or "nobody"
        raise FormatError(f"{path}: agreement is between two raters or more; there is {known} alone")
    notes = (*cells.notes, *_notes(found, entries))
    return RatingsFile(_with_subjects(found.ratings, entries, options), notes)


def _entries(cells: Cells, options: RatingsOptions) -> Entries:
    return entries_of(cells, options.roles, options.everybody, list(options.filters))


def _second(path: Path | str, options: RatingsOptions) -> Entries:
    """The entries of a table of confidence, under the names of labels."""
    cells = filtered(read_cells(path), options.filters, lenient=True)
    roles = {role: name for role, name in options.columns.items() if name in cells.header}
    found = entries_of(cells, roles, None, list(options.filters), values="confidence")
    cells.faults.insist()
    return replace(found, faults=cells.faults)


def _with_subjects(ratings: Ratings, entries: Entries, options: RatingsOptions) -> Ratings:
    if options.cases is None:
        return replace(ratings, subjects=tuple(entries.subjects.get(case, case) for case in ratings.cases))
    table = read_table(options.cases, "case")
    check_listed(options.cases, table, ratings.cases)
    if any("subject" not in row for row in table.values()):
        raise FormatError(f"{options.cases}: has no column 'subject'; add it")
    subjects = subjects_of(options.cases, table, ratings.cases)
    return replace(ratings, subjects=tuple(subjects.get(case, case) for case in ratings.cases))


def _notes(found: Gathered, entries: Entries) -> list[str]:
    notes = list(found.notes)
    if entries.unused:
        notes.append(f"columns not read: {', '.join(entries.unused)}")
    return notes
