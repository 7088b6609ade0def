"""The command ``mrmc``: modalities that the same readers used on the same cases, compared from a table of ratings.

``mrmc.csv`` has the performance of each reader with each modality, means over readers with intervals, and differences
with tests, for three populations: other readers and other cases, these readers and other cases (``cases``), other
readers and these cases (``readers``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..claims.sentences import counted, number
from ..core.columns import natural_key
from ..core.errors import CallError, FormatError, InputError, few
from ..core.undefined import reason
from ..inference.mrmc import MRMC, MRMCEstimate, MRMCTest, mrmc
from ..io.result_tables import Row, Table
from ..io.sheets import Sheet, find_columns, parse_number, read_sheet, select_lines
from ..ratings.scales import is_missing, not_a_number
from .printing import grid, print_parts, with_interval
from .result import Result, Tables, console_or_stdout, results_folder, summary_of

ROLES: dict[str, tuple[str, ...]] = {
    "case": ("case",),
    "rater": ("rater", "reader"),
    "label": ("label", "rating", "score", "value"),
    "modality": ("modality", "treatment"),
    "subject": ("subject", "patient"),
    "reference": ("reference", "truth"),
}
"""What a column may hold, and the names under which it is known."""
EXTRA = ("population", "modality_a", "modality_b", "rater")
"""The columns of ``mrmc.csv``."""
TITLES = {"roc_area": "ROC area", "mean": "mean"}
POPULATIONS = {
    "readers and cases": "other readers and cases",
    "cases": "these readers, other cases",
    "readers": "other readers, these cases",
}


@dataclass(frozen=True)
class ModalitySettings:
    """Settings of :func:`compare_modalities`, as ``summary.json`` has them."""

    covariance: str = "jackknife"
    level: float = 0.95
    positive: str = ""
    """The label of the reference that is positive; empty where means are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class ModalityComparison(Result):
    """The result of :func:`manytruths.compare_modalities`.

    Attributes
    ----------
    comparison : MRMC
        Performance, differences and tests.
    settings : ModalitySettings
        How covariances were estimated, the level of intervals, and the positive label.
    tables : Tables
        ``mrmc``, as in the file.
    notes : tuple of str
        Which cases were left out, and why intervals are missing.
    """

    command: ClassVar[str] = "mrmc"

    comparison: MRMC
    settings: ModalitySettings
    tables: Tables[Table]
    notes: tuple[str, ...] = ()

    @property
    def charts(self) -> dict[str, str]:
        """``readers``: each reader over the modalities, the means, and the differences."""
        return {"readers": _reader_chart(self.comparison, TITLES[self.comparison.metric])}

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of the table, as ``summary.json`` has them."""
        found = self.comparison
        return summary_of(
            "mrmc", self.tables.values(), cases=found.cases, subjects=found.subjects, raters=found.readers,
            modalities=found.modalities, metric=found.metric, settings=self.settings, notes=self.notes,
        )  # fmt: skip

    def describe(self) -> str:
        """What was analysed, in one line."""
        found = self.comparison
        sizes = (
            f"{len(found.modalities)} modalities", counted(len(found.readers), "reader"), counted(found.cases, "case"),
        )  # fmt: skip
        return ", ".join(sizes)

    def print(self, console: Any = None) -> None:
        """Print performance by reader, and the comparison for each population."""
        found, console = self.comparison, console_or_stdout(console)
        title = TITLES[found.metric]
        console.print(f"[bold]{self.describe()}[/bold]; covariances by {found.covariance}\n")
        print_parts(console, (_reader_grid(found, title), *_comparison_grids(found, title)), self.notes)


def compare_modalities(
    data: str | Path,
    *,
    out: str | Path | None = None,
    modality: str | None = None,
    columns: Mapping[str, str] | None = None,
    reference_column: str | None = None,
    filter: Mapping[str, str] | None = None,
    positive: str | None = None,
    covariance: Literal["jackknife", "delong"] = "jackknife",
    level: float = 0.95,
    pictures: bool = True,
) -> ModalityComparison:
    """Compare modalities that the same readers used on the same cases (MRMC), from a table of ratings.

    With a reference the areas under the readers' empirical ROC curves are compared, otherwise means of the numbers.
    Cases without a rating by every reader with every modality are left out. For arrays, use :func:`manytruths.mrmc`.

    Parameters
    ----------
    data : str or Path
        A table (CSV, Parquet or Excel) with a line for every case, reader and modality: the columns ``case``,
        ``rater``, ``rating``, ``modality`` and, optionally, ``reference`` and ``subject``.
    out : str or Path, optional
        Folder for the results, written to ``out/mrmc/``; by default nothing is written.
    modality : str, optional
        Column of the modality; ``modality`` or ``treatment`` by default.
    columns : mapping, optional
        Columns of other names, as ``{"case": "image", "rater": "reader", "label": "score"}``.
    reference_column : str, optional
        Column of the reference standard, which has two values; ``reference`` or ``truth`` by default.
    filter : mapping, optional
        Keep only lines with these values.
    positive : str, optional
        The value of the reference that is positive, to which higher ratings point; by default the last in order.
    covariance : {"jackknife", "delong"}
        How the covariances of errors are estimated; DeLong's method is for ROC areas.
    level : float
        Confidence level of intervals.
    pictures : bool
        Write charts.

    Returns
    -------
    ModalityComparison
        The table ``mrmc``, the comparison, notes and ``write()``.

    References
    ----------
    Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests: an
    ANOVA approach with dependent observations. Commun Stat Simul Comput 1995;24:285–308.
    doi:10.1080/03610919508813243

    Examples
    --------
    >>> import manytruths as mt
    >>> result = mt.compare_modalities("VanDyke.csv", modality="treatment")  # doctest: +SKIP
    >>> result.comparison.both.p_value  # doctest: +SKIP
    0.05166568581929407
    """
    given = {**(columns or {}), **({"modality": modality} if modality else {})}
    given |= {"reference": reference_column} if reference_column else {}
    sheet = select_lines(read_sheet(data), filter or {})
    options = {"modality": "--modality"} if modality else {}
    options |= {"reference": "--reference-column"} if reference_column else {}
    table = _read_table(sheet, given, options)
    values, truth, subjects, label, notes = _complete_cases(table, positive)
    found = mrmc(
        values, truth, subjects=subjects, modalities=table.modalities, readers=table.readers, covariance=covariance,
        level=level,
    )  # fmt: skip
    settings = ModalitySettings(covariance, level, label)
    rows = Table("mrmc", EXTRA, list(_rows(found)))
    reasons = dict.fromkeys(reason(test.p_value) for test in found.tests if reason(test.p_value))
    said = (*sheet.notes, *notes, *(f"not tested: {why}" for why in reasons))
    result = ModalityComparison(found, settings, Tables([rows]), said)
    with results_folder(out, "mrmc") as folder:
        if folder is not None:
            result.write_into(folder, pictures=pictures)
    return result


# -- the table of ratings --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ratings:
    """(modalities, readers, cases) ratings, NaN where there is none."""

    path: str
    modalities: list[str]
    readers: list[str]
    cases: list[str]
    values: NDArray[np.float64]
    references: dict[str, str]
    """By case; empty where the table has no reference."""
    subjects: dict[str, str]


def _read_table(sheet: Sheet, columns: Mapping[str, str], options: Mapping[str, str]) -> _Ratings:
    roles = find_columns(sheet.path, sheet.header, columns, ROLES, options=options)
    for role in ("case", "rater", "label", "modality"):
        if role not in roles:
            option = "--modality" if role == "modality" else f"--columns {role}="
            known_as = " or ".join(map(repr, ROLES[role]))
            raise FormatError(
                f"{sheet.path}: has no column {known_as} among {few(sheet.header)}; name it with {option}"
                f"{' COLUMN' if role == 'modality' else 'COLUMN'}"
            )
    cells = {role: sheet[name] for role, name in roles.items()}
    names = {role: sorted(set(cells[role]) - {""}, key=natural_key) for role in ("case", "rater", "modality")}
    place = {role: {name: i for i, name in enumerate(known)} for role, known in names.items()}
    values = np.full([len(names[role]) for role in ("modality", "rater", "case")], np.nan)
    filled: dict[tuple[int, ...], int] = {}
    for row, line in enumerate(sheet.lines):
        empty = [role for role in place if not cells[role][row]]
        for role in empty:
            sheet.faults.add(line, f"the {role} is empty")
        if empty:
            continue
        where = tuple(place[role][cells[role][row]] for role in ("modality", "rater", "case"))
        if filled.setdefault(where, line) != line:
            sheet.faults.add(line, f"the same modality, reader and case are in {sheet.faults.unit} {filled[where]}")
            continue
        text = cells["label"][row]
        rating = math.nan if is_missing(text) else parse_number(text)
        if rating is None:
            sheet.faults.add(line, not_a_number("rating", text))
        else:
            values[where] = rating
    references = _by_case(sheet, cells, "reference")
    subjects = _by_case(sheet, cells, "subject")
    sheet.faults.raise_any()
    if len(names["modality"]) < 2:
        raise InputError(f"{sheet.path}: has one modality ({few(names['modality'])}); a comparison needs two")
    return _Ratings(
        str(sheet.path), names["modality"], names["rater"], names["case"], values, references, subjects
    )  # fmt: skip


def _by_case(sheet: Sheet, cells: Mapping[str, list[str]], role: str) -> dict[str, str]:
    """What a column says of each case; it must be the same in all its lines."""
    known: dict[str, str] = {}
    for line, case, value in zip(sheet.lines, cells["case"], cells.get(role, ()), strict=role in cells):
        if known.setdefault(case, value) != value:
            sheet.faults.add(line, f"the {role} of case {case} is {value!r} here and {known[case]!r} above")
    return known


def _complete_cases(
    table: _Ratings, positive: str | None
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None, list[str] | None, str, list[str]]:
    """Ratings and references of complete cases, their subjects, the positive label, and notes on the others."""
    notes: list[str] = []
    complete = np.asarray(np.isfinite(table.values).all(axis=(0, 1)))
    if not complete.any():
        raise InputError(
            f"{table.path}: no case has a rating by every reader with every modality, which the analysis needs; leave "
            "readers out with --filter, or complete the table"
        )
    if gone := int((~complete).sum()):
        notes.append(f"{counted(gone, 'case')} without a rating by every reader with every modality left out")
    kept = [case for case, whole in zip(table.cases, complete, strict=True) if whole]
    label = ""
    if table.references:
        known = [case for case in kept if not is_missing(table.references[case])]
        if len(known) < len(kept):
            notes.append(f"{counted(len(kept) - len(known), 'case')} without a reference left out")
        kept = known
        labels = sorted({table.references[case] for case in kept}, key=natural_key)
        if len(labels) != 2:
            raise InputError(
                f"{table.path}: ROC areas need a reference of two values, negative and positive; there are "
                f"{len(labels)}: {few(labels)}"
            )
        if positive is not None and positive not in labels:
            raise CallError(f"--positive {positive!r} is no value of the reference; there are {', '.join(labels)}")
        label = positive or labels[1]
    elif positive is not None:
        raise CallError("--positive is of a reference, but the table has none; name its column: --reference-column")
    place = {case: i for i, case in enumerate(table.cases)}
    values = table.values[:, :, [place[case] for case in kept]]
    truth = np.array([table.references[case] == label for case in kept], np.int64) if label else None
    subjects = [table.subjects[case] or case for case in kept] if table.subjects else None
    return values, truth, subjects, label, notes


# -- rows and grids --------------------------------------------------------------------------------


def _rows(found: MRMC) -> Iterator[Row]:
    name, n = found.metric, found.cases
    for i, modality in enumerate(found.modalities):
        for j, reader in enumerate(found.readers):
            yield Row("pooled", name, float(found.values[i, j]), extra=("", modality, "", reader), n=n)
    for test in found.tests:
        yield from _test_rows(found, test)
    for reader, differences in zip(found.readers, found.by_reader, strict=True):
        for (a, b), difference in zip(found.pairs, differences, strict=True):
            yield from _difference_rows(name, difference, ("cases", a, b, reader), n)
    parts = {
        "variance_reader": found.reader_variance, "variance_interaction": found.interaction_variance,
        "variance_error": found.variance, "cov1": found.cov1, "cov2": found.cov2, "cov3": found.cov3,
        "ms_modality": found.ms_modality, "ms_reader": found.ms_reader, "ms_interaction": found.ms_interaction,
    }  # fmt: skip
    for statistic, value in parts.items():
        yield Row("pooled", statistic, float(value), extra=("", "", "", ""), n=n)


def _test_rows(found: MRMC, test: MRMCTest) -> Iterator[Row]:
    population, n = test.population, found.cases
    for modality, estimate in zip(found.modalities, test.estimates, strict=True):
        extra = (population, modality, "", "")
        yield Row("mean", found.metric, estimate.value, extra=extra, low=estimate.low, high=estimate.high, n=n)
    for (a, b), difference in zip(found.pairs, test.differences, strict=True):
        yield from _difference_rows(found.metric, difference, (population, a, b, ""), n)
    numbers = {"f": test.statistic, "df1": float(test.df1), "df2": test.df2, "p_value": test.p_value}
    for statistic, value in numbers.items():
        if not math.isinf(value):  # of χ² there are no df2
            yield Row("mean", statistic, value, extra=(population, "", "", ""), n=n)


def _difference_rows(name: str, d: MRMCEstimate, extra: tuple[str, ...], n: int) -> Iterator[Row]:
    row = Row("mean", f"{name}_difference", d.value, extra=extra, low=d.low, high=d.high, n=n)
    yield row
    for statistic, value in (("error", d.error), ("df", d.df), ("p_value", d.p_value), ("p_holm", d.p_holm)):
        if not math.isinf(value):
            yield replace(row, statistic=f"{name}_difference_{statistic}", value=value, low=None, high=None)


def _reader_grid(found: MRMC, title: str) -> Any:
    rows = [[reader, *(number(float(value)) for value in found.values[:, j])] for j, reader in enumerate(found.readers)]
    rows.append(["all readers", *(number(float(value)) for value in found.values.mean(axis=1))])
    return grid(f"{title[:1].upper()}{title[1:]} of each reader", ["", *found.modalities], rows)


def _comparison_grids(found: MRMC, title: str) -> Iterator[Any]:
    rows = []
    for test in found.tests:
        for (a, b), difference in zip(found.pairs, test.differences, strict=True):
            value = Row("mean", "", difference.value, low=difference.low, high=difference.high)
            p = number(difference.p_holm, 4)
            rows.append([POPULATIONS[test.population], f"{a} − {b}", with_interval(value), p])
    header = ["for", "modalities", "difference", "p"]
    yield grid(f"Differences of the {title}, with {found.level:.0%} intervals", header, rows)
    tests = [
        [POPULATIONS[t.population], number(t.statistic, 2), number(float(t.df1), 0),
         "∞" if math.isinf(t.df2) else number(t.df2, 2), number(t.p_value, 4)]
        for t in found.tests
    ]  # fmt: skip
    yield grid("Are all modalities equal?", ["for", "F", "df", "df", "p"], tests)


MOST_READERS = 12
"""Readers whose own differences are drawn, of two modalities."""


def _reader_chart(found: MRMC, title: str) -> str:
    """Performance by reader with the means, and the differences of modalities: of readers, and of all for each use."""
    from ..charts import reader_slopes

    readers = {reader: found.values[:, j].tolist() for j, reader in enumerate(found.readers)}
    means = [(e.value, e.low, e.high) for e in found.both.estimates]
    shown: dict[str, tuple[float, float, float]] = {}
    of_readers: dict[str, tuple[float, float, float]] = {}
    xlabel = f"difference of {title}, with {found.level:.0%} intervals"
    if len(found.pairs) == 1:
        for test in found.tests:
            (d,) = test.differences
            shown[POPULATIONS[test.population]] = (d.value, d.low, d.high)
        if len(found.readers) <= MOST_READERS:
            for reader, (d,) in zip(found.readers, found.by_reader, strict=True):
                of_readers[reader] = (d.value, d.low, d.high)
        xlabel = f"{title}, {found.pairs[0][0]} − {found.pairs[0][1]}, with {found.level:.0%} intervals"
    else:
        for (a, b), d in zip(found.pairs, found.both.differences, strict=True):
            shown[f"{a} − {b}"] = (d.value, d.low, d.high)
    heading = f"{title[:1].upper()}{title[1:]} of each reader"
    return reader_slopes(
        readers, found.modalities, means, shown, of_readers, ylabel=title, xlabel=xlabel, title=heading
    )
