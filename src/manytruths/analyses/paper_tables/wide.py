"""Tables for a paper: lines of cases, raters or algorithms, columns of statistics, made from the long tables.

A number is never computed here: each one is a row of a long table, shown with its interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...claims.numbers import TableIndex, address, is_defined
from ...core.labels import MACRO
from ...core.undefined import reason
from ...io.result_tables import DataTable, Row, Table

Kind = Literal["text", "number", "count", "percent", "p"]
MOST_LINES = 400
"""A table of more lines is not pasted: the CSV file has it."""
MOST_STATISTICS = 12
"""Columns of statistics in a table that nobody laid out."""


# -- cells and tables ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A text, or a number with its interval."""

    value: float | str
    low: float | None = None
    high: float | None = None
    kind: Kind = "text"
    at: str = ""
    """Where the number is: ``agree/pairs.csv#`` and the cells of its row before the value."""
    n: int | None = None
    """For how many subjects a mean is defined, where that is not for all."""

    @property
    def text(self) -> str:
        """As it is pasted: ``0.440 (0.370–0.500)``."""
        if isinstance(self.value, str):
            return self.value
        shown = show(self.value, self.kind)
        if self.low is not None and self.high is not None:
            ends = [show(end, self.kind, like=self.value) for end in (self.low, self.high)]
            ends[0] = ends[0].removesuffix("%")
            shown += f" ({ends[0]}{' to ' if '−' in ends[0] else '–'}{ends[1]})"
        return f"{shown}, n = {self.n}" if self.n is not None else shown


def show(value: float, kind: Kind, like: float | None = None) -> str:
    """A number as text; an end of an interval has as many digits as the number that it is ``like``."""
    if math.isnan(value):
        return "–"
    if kind == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "percent":
        text = f"{value:.1%}"
    else:
        text = f"{value:,.{0 if kind == 'count' else digits(value if like is None else like)}f}"
    # a number that is rounded to zero has no sign
    return text.replace("-", "−" if re.search("[1-9]", text) else "")


def digits(value: float) -> int:
    """Decimals of a number: three, and fewer of large ones."""
    return 3 if not abs(value) >= 10 else 2 if abs(value) < 100 else 1


@dataclass(frozen=True)
class PaperTable:
    """A table as it is pasted."""

    name: str
    """Name of its file, and of its sheet."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""
    intervals: tuple[str, ...] = ()
    """What brackets hold in each column: ``95% CI``; empty where there are none."""

    def is_number(self, column: int) -> bool:
        """Whether a column has numbers."""
        return any(row[column].kind != "text" for row in self.rows)

    def has_interval(self, column: int) -> bool:
        """Whether any number of a column has an interval."""
        return any(row[column].low is not None for row in self.rows)

    def heads(self) -> list[str]:
        """The columns, with what stands in brackets behind their numbers."""
        return [
            f"{name} ({self.intervals[k]})" if self.has_interval(k) else name for k, name in enumerate(self.columns)
        ]


# -- which tables there are ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a table for a paper is made from a long table."""

    table: str
    name: str
    title: str
    by: tuple[str, ...] = ()
    """Columns that make a line: ``group``, ``label``, or columns of the table; none: each statistic is a line."""
    statistics: tuple[str, ...] = ()
    """In their order, as far as there are any; none: all."""
    scopes: tuple[str, ...] = ("mean", "pooled")
    """Where a statistic is looked for, the first first."""
    where: Mapping[str, object] = field(default_factory=dict)
    """What other columns must hold."""
    across: str = ""
    """A column whose values head the columns, for one statistic."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Of statistics that have another title here."""


_ALL_RATERS = (
    "fleiss_kappa", "krippendorff_alpha", "krippendorff_alpha_ordinal", "krippendorff_alpha_interval", "cohen_kappa",
    "gwet_ac1", "pabak", "percent_agreement", "positive_agreement", "negative_agreement", "dice", "iou", "unanimous",
    "volume_difference", "volume_difference_both_marked", "fleiss_kappa_modified_background",
    "krippendorff_alpha_modified_background", "smyth_bound", "hausdorff_95", "mean_surface_distance", "surface_dice",
)  # fmt: skip
_HEADLINES = ("fleiss_kappa", "krippendorff_alpha", "dice", "positive_agreement")
_OF_PAIRS = {
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "dice": "Dice, mean of pairs",
    "iou": "IoU, mean of pairs",
    "volume_difference": "Relative size difference, mean of pairs",
    "hausdorff_95": "95% Hausdorff distance, mean of pairs",
    "mean_surface_distance": "Mean surface distance, mean of pairs",
    "surface_dice": "Surface Dice, mean of pairs",
}
_PAIRS = (
    "cohen_kappa", "dice", "iou", "volume_difference", "hausdorff", "hausdorff_95", "mean_surface_distance",
    "surface_dice",
)  # fmt: skip
_RATERS = (
    "dice_against_others",
    "sensitivity_against_others",
    "ppv_against_others",
    "relative_size",
    "excess_distance",
)
_FLOW = (
    "readings_expected", "masks", "empty_masks", "not_evaluable", "unread", "unfinished", "edits", "excluded_masks",
    "missing",
)  # fmt: skip
_SIZES = ("area", "volume", "long_axis", "short_axis", "diameter_3d", "sum_long_axes", "lesions")
_SIZE_AGREEMENT = (
    "icc_a1", "icc_1", "icc_c1", "sem_agreement", "sem_consistency", "smallest_detectable_change", "limits_with_mean",
)  # fmt: skip
_LIMITS = ("bias", "lower_limit", "upper_limit")
_OF_LESIONS = ("lesions", "positive_agreement", "matched_dice", "pq", "sq", "rq")
_DETECTION = {"sensitivity": "Found of what the others found", "false_marks": "False marks a case"}
_EXTENT = {"size": ("area", "volume")}
_SCORES = (
    "dice", "sensitivity", "ppv", "hausdorff_95", "mean_surface_distance", "surface_dice", "roc_area", "pr_area",
    "pbar_area",
)  # fmt: skip

LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "agree": (
        Layout("agreement", "agreement", "Agreement between raters", statistics=_ALL_RATERS, titles=_OF_PAIRS),
        Layout(
            "agreement", "agreement_by_group", "Agreement by group of cases", ("group",), _HEADLINES, ("mean",),
            titles=_OF_PAIRS,
        ),
        Layout(
            "agreement", "agreement_by_label", "Agreement by label", ("label",), _HEADLINES, ("mean",),
            titles=_OF_PAIRS,
        ),
        Layout("pairs", "pairs", "Pairs of raters", ("rater_a", "rater_b"), _PAIRS, where={"relation": "between"}),
        Layout(
            "pairs", "dice_matrix", "Dice of each pair of raters", ("rater_a",), ("dice",),
            where={"relation": "between"}, across="rater_b",
        ),
        Layout(
            "pairs", "sessions", "Repeated readings of one rater", ("rater_a", "rater_b"), _PAIRS,
            where={"relation": "within"},
        ),
        Layout("raters", "raters", "Each rater against the others", ("rater",), _RATERS),
        Layout(
            "groups", "groups", "Groups", ("by", "group_a", "group_b"),
            ("dice", "dice_difference", "dice_p_value", "dice_p_holm"),
        ),
        Layout("detection", "lesions", "Agreement on lesions", statistics=_OF_LESIONS),
        Layout(
            "detection", "lesions_by_rater", "Lesions of each rater", ("rater",),
            ("lesions", "sensitivity", "false_marks", "lesions_alone"), where={"against": "others"}, titles=_DETECTION,
        ),
        Layout("detection", "lesions_by_pair", "Lesions of two raters", ("rater", "against"), _OF_LESIONS[1:]),
        Layout("sizes", "sizes", "Sizes of what each rater marked", ("rater", "session"), _SIZES, ("mean",)),
        Layout(
            "size_agreement", "size_agreement", "Agreement of sizes", ("size", "unit", "scale"), _SIZE_AGREEMENT,
            where={"relation": "all"},
        ),
        Layout(
            "size_agreement", "size_limits", "Limits of agreement of sizes, two raters",
            ("size", "unit", "scale", "rater_a", "rater_b"), _LIMITS, where={"relation": "between", **_EXTENT},
        ),
        Layout(
            "size_agreement", "size_repeatability", "Repeatability of sizes", ("size", "unit", "scale", "rater_a"),
            ("repeatability",), where={"relation": "within"},
        ),
        Layout(
            "size_agreement", "size_reference", "Sizes against the given reference",
            ("size", "unit", "scale", "rater_a", "rater_b"),
            (*_LIMITS, "passing_bablok_slope", "passing_bablok_intercept", "deming_slope", "deming_intercept"),
            where={"relation": "reference"},
        ),
        Layout("flow", "flow", "Flow of readings", ("rater", "session"), _FLOW, where={"why": ""}),
    ),
    "fuse": (
        Layout(
            "performance", "performance", "Raters against each consensus", ("method", "rater"),
            ("dice", "iou", "sensitivity", "specificity"),
        ),
        Layout(
            "differences", "differences", "Differences between consensus methods", ("method_a", "method_b"),
            ("dice", "iou", "volume_difference", "changed"),
        ),
        Layout("complexity", "complexity", "Complexity of the cases", where={"class": ""}),
    ),
    "evaluate": (
        Layout("scores", "scores", "Scores of the algorithms", ("algorithm", "against"), _SCORES),
        Layout(
            "scores", "dice_matrix", "Dice of the algorithms against each reference standard", ("algorithm",),
            ("dice",), across="against",
        ),
        Layout("human", "raters", "Scores of the raters", ("rater", "against"), _SCORES),
        Layout(
            "interchangeability", "interchangeability", "Interchangeability with the raters", ("algorithm",),
            where={"rater": "", "without": ""},
        ),
    ),
    "rank": (
        Layout(
            "rankings", "ranking", "Ranking of the algorithms", ("algorithm",),
            ("rank", "resampled_rank", "mean_rank", "first_share"), ("overall", "ranking"),
            {"metric": "", "scheme": "mean"},
        ),
        Layout(
            "rankings", "means", "Scores by which they were ranked", ("metric", "algorithm"), ("mean", "median"),
            ("ranking",), across="against",
        ),
        Layout(
            "pairs", "tests", "Differences between algorithms: A less B, and one-sided tests that A is better",
            ("against", "metric", "algorithm_a", "algorithm_b"), ("mean_difference", "p_value", "p_holm"), ("ranking",),
        ),
    ),
    "reliability": (
        Layout("reliability", "reliability", "Reliability of the ratings", where={"source": "", "rater_a": ""}),
        Layout(
            "reliability", "rho", "Reliability score by source of the raters' accuracies", ("source",), ("rho",),
            where={"rater_a": ""},
        ),
        Layout(
            "reliability", "pairs", "Pairs of raters", ("rater_a", "rater_b"),
            ("cohen_kappa", "percent_agreement", "sigma"), where={"source": ""},
        ),
        Layout(
            "raters", "raters", "Raters", ("rater", "source"),
            ("accuracy", "rho", "ability", "sensitivity", "specificity"),
        ),
        Layout("majorities", "majorities", "Majorities", where={"winner": ""}),
        Layout("mask_reliability", "mask_reliability", "Reliability of the masks", where={"rater": ""}),
        Layout("detection", "detection", "Agreement on lesions", where={"rater": "", "raters": ""}),
        Layout(
            "detection", "found", "Lesions found by each rater", ("rater",),
            ("found", "found_of_others", "found_alone"), ("pooled",),
        ),
    ),
    "plan": (
        Layout(
            "plan", "majorities", "Accuracy of the majority of a panel", ("topic", "raters"),
            ("majority_accuracy", "slim_majority_share", "observed_majority_accuracy", "gain"), ("pooled",),
        ),
        Layout(
            "plan", "kappa", "Precision of kappa by the number of raters", ("raters",), ("kappa_error", "kappa_width"),
            ("pooled",),
        ),
        Layout(
            "plan", "answers", "Other numbers of the plan", ("topic",), scopes=("pooled",),
            where={"raters": "", "rater": ""},
        ),
    ),
}  # fmt: skip
"""The tables of each command; a table that none of these is made from is laid out by its columns."""

NOT_PASTED = frozenset({
    "curve", "detection_curve", "froc", "features", "regions", "masks", "confusion", "differences", "beside_raters",
    "rankings", "second_look", "tau", "truth",
})  # fmt: skip
"""Tables with a line for each case, mark or step, or that other tables for a paper summarise."""


def paper_tables(
    command: str, tables: Iterable[DataTable], *, level: float = 0.95, unit: str = "", **where: object
) -> list[PaperTable]:
    """The tables for a paper of a command.

    ``unit`` is that of distances; ``where`` says what columns hold instead of what the layout says.
    """
    made, layouts = list[PaperTable](), LAYOUTS.get(command, ())
    named = {table.name: table for table in tables if isinstance(table, Table)}
    covered = {layout.table for layout in layouts}
    others = [_lay_out(t) for name, t in named.items() if name not in covered | NOT_PASTED]
    for layout in (*layouts, *(layout for layout in others if layout is not None)):
        if layout.table not in named:
            continue
        wanted = {name: where.get(name, value) for name, value in layout.where.items()}
        table = _Maker(command, named[layout.table], layout, wanted, f"{level:.0%}", unit).table()
        if table is not None and table.name not in {other.name for other in made}:
            made.append(table)
    return made


def _fits(cell: object, wanted: object) -> bool:
    """Whether a cell is what is wanted, or one of several such values."""
    return cell in wanted if isinstance(wanted, tuple) else cell == wanted


def _lay_out(table: Table) -> Layout | None:
    """A layout by the columns that hold anything; None where there is nothing but rows of cases."""
    scopes = tuple(s for s in ("mean", "pooled") if any(row.scope == s for row in table.rows))
    rows = [row for row in table.rows if row.scope in scopes]
    by = tuple(name for k, name in enumerate(table.extra) if any(row.extra[k] not in ("", None) for row in rows))
    title = table.name.replace("_", " ").capitalize()
    return Layout(table.name, table.name, title, by, scopes=scopes) if rows else None


# -- from rows to tables ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Maker:
    """One table for a paper in the making."""

    command: str
    source: Table
    layout: Layout
    where: Mapping[str, object]
    level: str
    unit: str

    def table(self) -> PaperTable | None:
        """The table, or None where it would have no line, or too many."""
        rows = [row for row in self.source.rows if row.scope in self.layout.scopes and self._chosen(row)]
        statistics = list(dict.fromkeys(row.statistic for row in rows))
        if self.layout.statistics:
            statistics = [name for name in self.layout.statistics if name in statistics]
        if not self.layout.by:
            columns, lines = self._list(statistics)
        elif self.layout.across:
            columns, lines = self._matrix(statistics[:1], rows)
        else:
            columns, lines = self._wide(statistics[:MOST_STATISTICS], rows)
        lines = [line for line in lines if any(entry.kind != "text" for entry in line)]
        if not 0 < len(lines) <= MOST_LINES:
            return None
        return self._trim(PaperTable(self.layout.name, self.layout.title, tuple(columns), tuple(lines)))

    def _chosen(self, row: Row) -> bool:
        by, whole = self.layout.by, row.label in ("", MACRO)
        if bool(row.group) != ("group" in by) or ("group" in by and not whole) or ("label" in by and whole):
            return False
        cells = self._cells(row)
        return all(_fits(cells[name] or "", wanted) for name, wanted in self.where.items() if name in cells)

    def _cells(self, row: Row) -> dict[str, object]:
        return {"group": row.group, "label": row.label, **dict(zip(self.source.extra, row.extra, strict=True))}

    def _list(self, statistics: Sequence[str]) -> tuple[list[str], list[tuple[Entry, ...]]]:
        """Each statistic a line: mean, standard deviation, all cases together, number of subjects."""
        index = TableIndex("", self.source)
        extra = tuple(self.where.get(name, "") for name in self.source.extra)
        lines = []
        for name in statistics:
            mean, std, pooled = (index.row(name, scope, *extra) for scope in ("mean", "std", "pooled"))
            counted = mean or pooled
            count = Entry("") if counted is None or counted.n is None else Entry(float(counted.n), kind="count")
            lines.append((Entry(self._title(name)), *map(self._entry, (mean, std, pooled)), count))
        return ["Statistic", "Mean over subjects", "SD", "Pooled", "n"], lines

    def _wide(self, statistics: Sequence[str], rows: Sequence[Row]) -> tuple[list[str], list[tuple[Entry, ...]]]:
        """Each rater, pair or algorithm a line, each statistic a column."""
        by = self._keys(rows)
        found = self._first({name: [r for r in rows if r.statistic == name] for name in statistics}, by)
        lines = []
        for key in dict.fromkeys(key for cells in found.values() for key in cells):
            here = [cells.get(key) for cells in found.values()]
            subjects = next((row.n for row in here if row is not None and row.scope == "mean"), None)
            count = Entry(float(subjects), kind="count") if subjects else Entry("")
            lines.append((*map(key_entry, key), *(self._entry(row, shared=subjects) for row in here), count))
        titles = [self._title(name) + self._unit(found[name]) + self._scope_word(name, found) for name in statistics]
        return [*map(column_title, by), *titles, "n"], lines

    def _matrix(self, statistics: Sequence[str], rows: Sequence[Row]) -> tuple[list[str], list[tuple[Entry, ...]]]:
        """One statistic, with the values of a column as columns."""
        by, across = self._keys(rows), self.layout.across
        first = {str(across): [row for row in rows if row.statistic in statistics]}
        found = self._first(first, (*by, across))[across]
        heads = list(dict.fromkeys(key[-1] for key in found))
        lines = []
        for key in dict.fromkeys(key[:-1] for key in found):
            lines.append((*map(key_entry, key), *(self._entry(found.get((*key, head))) for head in heads)))
        return [*map(column_title, by), *map(str, heads)], lines

    def _keys(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """The columns that make a line; labels are told apart where there are several."""
        by, labels = self.layout.by, {row.label for row in rows}
        return by if "group" in by or "label" in by or len(labels) < 2 else ("label", *by)

    def _first(
        self, by_column: Mapping[str, Sequence[Row]], by: Sequence[str]
    ) -> dict[str, dict[tuple[object, ...], Row]]:
        """The rows of each column by their key: those of the first scope that has any."""
        found: dict[str, dict[tuple[object, ...], Row]] = {}
        for name, rows in by_column.items():
            scope = next((s for s in self.layout.scopes if any(row.scope == s for row in rows)), "")
            found[name] = {}
            for row in rows:
                cells = self._cells(row)
                key = tuple(cells[column] for column in by)
                # statistics of the whole study stand beside those of each rater
                own = key[len(by) - len(self.layout.by) - bool(self.layout.across) :]
                if row.scope == scope and any(part not in ("", None) for part in own):
                    found[name].setdefault(key, row)
        return found

    def _title(self, statistic: str) -> str:
        title = self.layout.titles.get(statistic) or statistic_title(statistic)
        return f"{title}, {self.unit}" if self.unit and statistic in DISTANCES else title

    def _unit(self, rows: Mapping[tuple[object, ...], Row]) -> str:
        """The unit that all numbers of a column have, where no column of the table says it."""
        units = {str(self._cells(row).get("unit") or "") for row in rows.values()}
        shown = len(units) == 1 and units != {""} and "unit" not in self.layout.by
        return f", {next(iter(units))}" if shown else ""

    def _scope_word(self, statistic: str, found: Mapping[str, Mapping[tuple[object, ...], Row]]) -> str:
        """Which columns are of all cases together, where others are means over subjects."""
        scopes = {name: {row.scope for row in rows.values()} for name, rows in found.items()}
        return ", pooled" if scopes[statistic] == {"pooled"} and {"mean"} in scopes.values() else ""

    def _address(self, row: Row | None) -> str:
        return "" if row is None else address(f"{self.command}/{self.source.name}.csv", row)

    def _entry(self, row: Row | None, shared: int | None = None) -> Entry:
        """A number of the table; ``shared``: the number of subjects of its line, where the row has to say its own."""
        if row is None:
            return Entry("")
        kind = kind_of(row.statistic)
        kind = "number" if kind == "count" and is_defined(row) and not float(row.value).is_integer() else kind
        n = row.n if shared is not None and row.scope == "mean" and row.n != shared else None
        if row.low is None or row.high is None or reason(row.low) or reason(row.high):
            return Entry(float(row.value), kind=kind, at=self._address(row), n=n)
        return Entry(float(row.value), float(row.low), float(row.high), kind, self._address(row), n)

    def _trim(self, table: PaperTable) -> PaperTable:
        """Without columns that are empty, and with a note that says what the numbers are."""
        kept = [k for k in range(len(table.columns)) if any(row[k].text for row in table.rows)]
        columns = tuple(table.columns[k] for k in kept)
        rows = tuple(tuple(row[k] for k in kept) for row in table.rows)
        intervals = tuple(self._interval([row[k] for row in rows]) for k in range(len(columns)))
        means = self.layout.by and any(entry.at.partition("#")[2].startswith("mean,") for row in rows for entry in row)
        note = f"{'Means over subjects; numbers' if means else 'Numbers'} of {self.command}/{self.source.name}.csv."
        return PaperTable(table.name, table.title, columns, rows, note, intervals)

    def _interval(self, column: Sequence[Entry]) -> str:
        """What the intervals of a column are."""
        statistics = {entry.at.rpartition(",")[2] for entry in column if entry.low is not None}
        kinds = {INTERVALS.get(statistic, "CI") for statistic in statistics} if self.command != "plan" else {"range"}
        return f"{self.level} {'CI' if len(kinds) != 1 else kinds.pop()}" if statistics else ""


def key_entry(key: object) -> Entry:
    """What tells lines apart, as text."""
    return Entry(f"{key:g}" if isinstance(key, float) else "" if key is None else str(key))


# -- names and kinds of statistics --------------------------------------------------------------------

TITLES = {
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "pabak": "PABAK",
    "iou": "IoU",
    "ppv": "PPV",
    "npv": "NPV",
    "unanimous": "Marked by all",
    "smyth_bound": "Smyth's error bound",
    "volume_difference": "Relative size difference",
    "hausdorff": "Hausdorff distance",
    "hausdorff_95": "95% Hausdorff distance",
    "surface_dice": "Surface Dice",
    "extended_dice": "Extended Dice",
    "gordon_f": "Gordon's F",
    "inner_outer_ratio": "|I|/|O|",
    "roc_area": "ROC area",
    "pr_area": "P-R area",
    "pbar_area": "P̄-R area",
    "std": "SD of the stretched STAPLE map",
    "mean": "Mean of the stretched STAPLE map",
    "esm_dice_correlation": "Correlation of ESM and Dice",
    "esm": "ESM",
    "ssm": "SSM",
    "sigma": "σ",
    "rho": "ρ",
    "p_value": "p",
    "p_holm": "p (Holm)",
    "first_share": "First in resamples",
    "resampled_rank": "Rank in resamples",
    "icc_1": "ICC(1)",
    "icc_a1": "ICC(A,1)",
    "icc_c1": "ICC(C,1)",
    "icc_ak": "ICC(A,k)",
    "sem_agreement": "SEM, agreement",
    "sem_consistency": "SEM, consistency",
    "diameter_3d": "Largest diameter",
    "pq": "PQ",
    "sq": "SQ",
    "rq": "RQ",
    "matched_dice": "Dice of found lesions",
    "lesions_alone": "Found alone",
    "passing_bablok_slope": "Slope (Passing–Bablok)",
    "passing_bablok_intercept": "Intercept (Passing–Bablok)",
    "deming_slope": "Slope (Deming)",
    "deming_intercept": "Intercept (Deming)",
}
"""Names that are not those of the statistics with spaces."""
SUFFIXES = {
    "_against_others": ", against the vote of the others",
    "_both_marked": ", both marked",
    "_modified_background": ", as much background as marks",
    "_ordinal": ", labels in order",
    "_interval": ", labels as numbers",
    "_failed_cases": ", cases without overlap",
    "_without_failures": ", cases with overlap",
    "_failures": ", subjects with a case without overlap",
}
DISTANCES = frozenset({"hausdorff", "hausdorff_95", "mean_surface_distance"})
"""Statistics that have the unit of lengths."""
INTERVALS = {"rank": "confidence set", "resampled_rank": "range"}
"""What brackets hold, of statistics that have no confidence interval."""
PERCENT = frozenset({
    "percent_agreement", "unanimous", "volume_difference", "smyth_bound", "first_share", "tied", "slim_majority",
    "overwhelming_majority", "wrong_majority", "wrong_overwhelming_majority", "slim_majority_share", "tied_share",
    "changed", "found", "found_of_others", "ahead_share",
})  # fmt: skip
COUNTS = frozenset({
    "rank", "resampled_rank", "wins", "ratings", "lesions", "raters_needed", "missing", "undefined", "both_empty",
    "nothing_marked", "condition_1", "condition_2", "found_alone", "found_by", "found_by_at_least", "bridged",
    "specks", "contradictions", "possible_copies", "rater_group", "outlier", *_FLOW,
})  # fmt: skip


def statistic_title(statistic: str) -> str:
    """The name of a statistic in a table.

    >>> statistic_title("fleiss_kappa"), statistic_title("dice_against_others"), statistic_title("log_size_ratio")
    ("Fleiss' kappa", 'Dice, against the vote of the others', 'Log size ratio')
    """
    if statistic in TITLES:
        return TITLES[statistic]
    for suffix, words in SUFFIXES.items():
        if statistic.endswith(suffix) and statistic != suffix:
            return statistic_title(statistic.removesuffix(suffix)) + words
    return statistic.replace("_", " ")[:1].upper() + statistic.replace("_", " ")[1:]


def column_title(column: str) -> str:
    """The head of a column that tells lines apart.

    >>> column_title("rater_a"), column_title("against")
    ('Rater A', 'Against')
    """
    words = column.split("_")
    return " ".join([words[0].capitalize(), *(w.upper() if len(w) == 1 else w for w in words[1:])])


def kind_of(statistic: str) -> Kind:
    """How the numbers of a statistic are shown.

    >>> kind_of("dice"), kind_of("size_p_holm"), kind_of("dice_failed_cases"), kind_of("percent_agreement")
    ('number', 'p', 'count', 'percent')
    """
    base = statistic
    for suffix in SUFFIXES:
        base = base.removesuffix(suffix)
    if re.search(r"(^|_)p(_value|_holm|_adjusted)?$", statistic):
        return "p"
    if statistic in COUNTS or statistic.endswith("_failed_cases"):
        return "count"
    failed = statistic.endswith("_failures") and not statistic.endswith("_without_failures")
    return "percent" if base in PERCENT or failed else "number"


def settings_of(facts: Mapping[str, Any]) -> dict[str, object]:
    """The settings of a summary in one level: ``settings.seed``."""
    settings: dict[str, object] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            settings |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            settings[name] = value
    return settings
