"""The section on sizes and distances: how large marks are, how far raters agree on that, how far outlines are apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...analyses.agree.size_charts import size_charts
from ...claims import distances as distance_claims
from ...claims import sizes as size_claims
from ...claims.numbers import TableIndex, has_interval, is_defined, significant_digits
from ...claims.sentences import Cell, case_cell, text_cell
from ...core.labels import MACRO
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, Section
from ..findings import Findings
from .raters import of_own_cases
from .vocabulary import DISTANCE_TITLES, distance_meaning, rater_cell

IDS = tuple(kind.id for kind in (*size_claims.KINDS, *distance_claims.KINDS))
TITLES = {
    "area": "Area",
    "volume": "Volume",
    "lesions": "Lesions",
    "long_axis": "Long axis",
    "short_axis": "Short axis",
    "sum_long_axes": "Sum of long axes",
    "diameter_3d": "Diameter in space",
}
"""Of what is measured, in the order of tables."""
RATIOS = ("area", "volume")
"""Compared as ratios."""
FACTORS = ("smallest_detectable_change", "limits_with_mean", "reproducibility")
"""Of those, given as factors."""
SMALL_FACTOR = 0.005
"""Distance from 1 below which a factor has three decimals."""
LEAST_CASES = 3
"""Fewest cases whose sizes are drawn."""
MANY = 15
"""Rows from which on a table is collapsed and can be filtered."""
CAPTIONS = {
    "sizes-by-rater": "A point for each case; bars are medians. The axis is in steps of ratios.",
    "sizes-by-case": "A line for each case: level where raters agree, crossing where they order cases differently.",
}
LIMIT_CAPTIONS = {
    True: "Ratio of the two sizes of each case, with the limits of agreement and their intervals.",
    False: "Every rater against the mean of all, with the limits of agreement with the mean. They are not limits "
    "between two raters.",
}


def section(findings: Findings) -> Section | None:
    """Sizes and distances; None where neither was measured."""
    blocks = (
        *_charts(findings), *_agreement_table(findings), *_mean_table(findings), *_pair_table(findings),
        *_session_table(findings), *_change_tables(findings), *_distance_table(findings),
    )  # fmt: skip
    if not blocks:
        return None
    claims = findings.agreement.claims
    lead = tuple(sentence for name in IDS for sentence in claims.sentences(name))
    return Section("sizes", "How large, and how far apart?", lead, blocks)


def _charts(findings: Findings) -> Iterator[Block]:
    """Of one label, sizes by rater and by case, and limits of agreement; of several labels, the limits of each."""
    if len(findings.study) < LEAST_CASES:
        return
    svgs = size_charts(findings.agreement, findings.colours)
    two = len(findings.study.rater_names) == 2 and not findings.study.options.exchangeable
    captions = {**CAPTIONS, "sizes-by-rater": CAPTIONS["sizes-by-rater"] + of_own_cases(findings)}
    shown = [Chart(name, svgs[name], caption) for name, caption in captions.items() if name in svgs]
    limits = [name for name in svgs if name.startswith("size-limits-of-agreement")]
    shown += [Chart(name, svgs[name], LIMIT_CAPTIONS[two]) for name in limits]
    if shown:
        yield Beside(tuple(shown)) if len(shown) > 1 else shown[0]


@dataclass(frozen=True)
class _Size:
    """What is measured, of which label, in which unit."""

    size: str
    unit: str
    label: str

    @property
    def title(self) -> str:
        return f"{TITLES[self.size]}, {self.unit}" if self.unit else TITLES[self.size]

    @property
    def scale(self) -> str:
        return "log" if self.size in RATIOS else "linear"


def _sizes(table: TableIndex, statistics: Iterable[str]) -> list[_Size]:
    """Of which sizes and labels there is a number of some statistics."""
    chosen = set(statistics)
    keys = (_Size(r["size"], r["unit"], r.label) for r in table.rows if r.statistic in chosen and is_defined(r))
    return sorted(dict.fromkeys(keys), key=lambda key: list(TITLES).index(key.size))


def _label_columns(labels: Iterable[str]) -> list[ColumnOf[str]]:
    """A column of labels where there are several."""
    several = any(labels)
    return [(text_column("Label", "What was marked"), lambda label: text_cell(label))] if several else []


def _quote(table: TableIndex, row: Row | None, digits: int | None = None) -> Cell:
    """A number with three figures, or with so many decimals."""
    if row is None:
        return text_cell("")
    return table.quote(row, significant_digits(row.value) if digits is None else digits)


def _quote_factor(table: TableIndex, row: Row | None) -> Cell:
    """A number by which sizes are compared: a factor with its sign, ``×1.35``, where they are compared as ratios."""
    if row is None or row["scale"] != "log" or not is_defined(row):
        return _quote(table, row)
    # one that is not 1 is not shown as 1
    cell = _quote(table, row, 3 if abs(row.value - 1) < SMALL_FACTOR else None)
    return replace(cell, shown=f"×{cell.shown}")


ALL = {
    "icc_a1": ("ICC(A,1)", "Two-way random, absolute agreement, single rater: 1 where raters measure the same."),
    "icc_c1": ("ICC(C,1)", "Two-way, consistency, single rater: constant differences between raters do not count."),
    "icc_1": ("ICC(1)", "One-way random, single rater: 1 where raters measure the same."),
    "sem_agreement": ("SEM", "Standard error of measurement: how far one rater lies from the mean of many, in the unit "
                      "of the row."),
    "smallest_detectable_change": ("SDC", "Smallest detectable change: two sizes of one case by different raters "
                                   "differ by less in 95% of cases. For areas and volumes a factor, from the SEM of "
                                   "logarithms; for the others 1.96 √2 SEM, in the unit of the row."),
    "limits_with_mean": ("Limits with the mean", "Limits of agreement with the mean of all raters, not limits between "
                         "two raters: a factor for areas and volumes, ± in the unit of the row for the others."),
    "reproducibility": ("Reproducibility", "Two readings by two raters differ by less in 95% of cases: a factor for "
                        "areas and volumes, a difference for the others."),
}  # fmt: skip
RESPONSES = (
    "Of all lesions, at this case alone, without confirmation. CR: complete response; PR: partial response, the sum of "
    "diameters 30% or more below the baseline; PD: progression, the sum 20% and 5 mm or more above the smallest one "
    "before, or a new lesion; SD: stable disease, neither; NE: not evaluable."
)
SHARES = ("icc_a1", "icc_c1", "icc_1")


def _agreement_table(findings: Findings) -> Iterator[Block]:
    """Agreement of all raters on each size."""
    table = findings.table("agree/size_agreement")
    rows = _sizes(table, ALL)
    if not rows:
        return
    here = {row.statistic for row in table.rows if is_defined(row)}

    def number(statistic: str) -> Callable[[_Size], Cell]:
        def cell(key: _Size) -> Cell:
            row = _of_all(table, key, statistic)
            return _quote(table, row, 2) if statistic in SHARES else _quote_factor(table, row)

        return cell

    columns: list[ColumnOf[_Size]] = [
        (text_column("Size"), lambda key: text_cell(key.title)),
        *((head, lambda key, make=make: make(key.label)) for head, make in _label_columns(k.label for k in rows)),
        *((Column(*titles), number(name)) for name, titles in ALL.items() if name in here),
        (Column("n", f"{findings.subject_word.capitalize()}s with a size"), lambda key: _count(table, key)),
    ]
    note = f"Sizes of single cases; intervals go by {findings.subject_word}s."
    note = note if any(map(has_interval, table.rows)) else "Sizes of single cases."
    note += " Cases in which a rater marked nothing have no ratio: factors (×) leave them out."
    if any(has_interval(_of_all(table, key, name)) for key in rows for name in SHARES):
        note += " Those of ICC take sizes to be normally distributed: of skewed sizes they are too short."
    several = len(rows) > MANY
    yield make_table("size-agreement", "Agreement on sizes, all raters", rows, columns, note, filter=several)


def _of_all(table: TableIndex, key: _Size, statistic: str) -> Row | None:
    scale = key.scale if statistic in FACTORS else "linear"
    return table.row(statistic, "pooled", key.size, key.unit, scale, "all", "", "", label=key.label)


def _count(table: TableIndex, key: _Size) -> Cell:
    row = next((row for name in SHARES if (row := _of_all(table, key, name)) is not None), None)
    return text_cell("" if row is None else row.n)


def _mean_table(findings: Findings) -> Iterator[Block]:
    """Mean sizes by rater."""
    table = findings.table("agree/sizes")
    means = [row for row in table.rows if row.scope == "mean" and not row.group and is_defined(row)]
    keys = list(dict.fromkeys((str(row["rater"]), str(row["session"]), row.label) for row in means))
    if not keys:
        return
    measured = dict.fromkeys((row.statistic, str(row["unit"])) for row in means if row.statistic in TITLES)
    sessions = {rater: len({s for r, s, _ in keys if r == rater}) for rater, _, _ in keys}

    def number(statistic: str, unit: str) -> Callable[[tuple[str, str, str]], Cell]:
        largest = max(abs(row.value) for row in means if (row.statistic, row["unit"]) == (statistic, unit))
        digits = significant_digits(largest)

        def cell(key: tuple[str, str, str]) -> Cell:
            return _quote(table, table.row(statistic, "mean", key[0], key[1], unit, label=key[2]), digits)

        return cell

    def name(key: tuple[str, str, str]) -> Cell:
        return rater_cell(findings, f"{key[0]}@{key[1]}" if sessions[key[0]] > 1 else key[0])

    columns: list[ColumnOf[tuple[str, str, str]]] = [
        (text_column("Rater"), name),
        *((head, lambda key, make=make: make(key[2])) for head, make in _label_columns(k[2] for k in keys)),
        *((Column(f"{TITLES[s]}, {unit}" if unit else TITLES[s], MEANINGS.get(s, "")), number(s, unit))
          for s, unit in sorted(measured, key=lambda of: list(TITLES).index(of[0]))),
    ]  # fmt: skip
    note = f"Means over {findings.subject_word}s; diameters where something was marked.{of_own_cases(findings)}"
    long = len(keys) > MANY
    yield make_table("size-by-rater", "Mean size by rater", keys, columns, note, filter=long, closed=long)


MEANINGS = {
    "lesions": "Connected components.",
    "long_axis": "Longest diameter within a slice, of the lesion with the longest.",
    "short_axis": "Of the same lesion in the same slice, at a right angle to the long axis.",
    "sum_long_axes": "Over all lesions.",
    "diameter_3d": "Longest diameter of a lesion over all slices.",
}


def _pair_table(findings: Findings) -> Iterator[Block]:
    """Ratios of areas or volumes of every two raters."""
    table = findings.table("agree/size_agreement")
    biases = [row for row in table.all("bias", "pooled", label=None) if row["relation"] == "between"]
    rows = [row for row in biases if row["size"] in RATIOS and is_defined(row)]
    if not rows:
        return

    def number(statistic: str) -> Callable[[Row], Cell]:
        return lambda row: _quote(table, table.row(statistic, "pooled", *row.extra, label=row.label), 2)

    units = {row["unit"] for row in rows}
    columns: list[ColumnOf[Row]] = [
        (text_column("Rater"), lambda row: rater_cell(findings, str(row["rater_a"]))),
        (text_column("with"), lambda row: rater_cell(findings, str(row["rater_b"]))),
        *((head, lambda row, make=make: make(row.label)) for head, make in _label_columns(r.label for r in rows)),
        *([(text_column("Unit"), lambda row: text_cell(row["unit"]))] if len(units) > 1 else []),
        (Column("Mean ratio", "First over second, geometric mean: above 1 where the first draws larger."),
         number("bias")),
        (Column("Lower limit", "With the upper limit: holds 95% of the ratios, if their logarithms are normal."),
         number("lower_limit")),
        (Column("Upper limit", "With the lower limit: holds 95% of the ratios, if their logarithms are normal."),
         number("upper_limit")),
        (Column("n", f"{findings.subject_word.capitalize()}s in which both marked something"),
         lambda row: text_cell(row.n)),
        (Column("No ratio", "Cases in which one or both marked nothing"), lambda row: text_cell(row.n_undefined)),
    ]  # fmt: skip
    what = " and ".join(dict.fromkeys(f"{row['size']}s" for row in rows))
    long = len(rows) > MANY
    note = "Distances of pairs stand in the table of pairs of raters, above."
    note = note if "distances" in findings.agreement.maps.measure else ""
    title = f"Ratios of {what} of two raters, with limits of agreement"
    yield make_table("size-pairs", title, rows, columns, note, filter=long, closed=long)


def _session_table(findings: Findings) -> Iterator[Block]:
    """How far one rater's sizes of the same case differ."""
    table = findings.table("agree/size_agreement")
    rows = [row for row in table.all("repeatability", "pooled", label=None) if is_defined(row)]
    # of a single rater with sessions, the rows of all raters are about other cases only
    named = {row["rater_a"] for row in rows if row["rater_a"]}
    rows = [row for row in rows if row["rater_a"] or len(named) > 1]
    if not rows:
        return
    columns: list[ColumnOf[Row]] = [
        (text_column("Rater"),
         lambda row: rater_cell(findings, str(row["rater_a"])) if row["rater_a"] else text_cell("all raters")),
        (text_column("Size"), lambda row: text_cell(_Size(row["size"], row["unit"], "").title)),
        *((head, lambda row, make=make: make(row.label)) for head, make in _label_columns(r.label for r in rows)),
        (Column("Repeatability", "Two readings of a case by one rater differ by less in 95% of cases: a factor for "
                "areas and volumes, a difference for the others."), lambda row: _quote_factor(table, row)),
        (Column("n", f"{findings.subject_word.capitalize()}s with repeated readings"), lambda row: text_cell(row.n)),
    ]  # fmt: skip
    long = len(rows) > MANY
    yield make_table("size-repeatability", "Sizes of repeated readings", rows, columns, filter=long, closed=long)


def _change_tables(findings: Findings) -> Iterator[Block]:
    """How sizes change from case to case of a patient; responses where targets are named."""
    table = findings.table("agree/changes")
    found = {_change_key(row): row for row in table.rows}
    rows = [row for row in table.rows if row.statistic == "change" and row["since"] == "baseline"]

    def number(statistic: str, since: str, *, percent: bool = False) -> Callable[[Row], Cell]:
        def cell(row: Row) -> Cell:
            own = found.get((*_change_key(row)[:6], since, statistic))
            if own is None:
                return text_cell("")
            return table.quote(own, 0, percent=True) if percent else _quote(table, own)

        return cell

    if rows:
        columns: list[ColumnOf[Row]] = [
            (text_column(findings.subject_word.capitalize()), lambda row: text_cell(row["subject"])),
            (text_column("Case"), lambda row: case_cell(row.case)),
            (text_column("Rater"), lambda row: rater_cell(findings, str(row["rater"]))),
            *((head, lambda row, make=make: make(row.label)) for head, make in _label_columns(r.label for r in rows)),
            (text_column("Size"), lambda row: text_cell(_Size(row["measure"], row["unit"], "").title)),
            (Column("Change", "Since the first case"), number("change", "baseline")),
            (Column("Relative", "Since the first case"), number("relative_change", "baseline", percent=True)),
            (Column("Since smallest", "Against the smallest of all cases before"), number("change", "nadir")),
            (Column("Relative to smallest", "Against the smallest of all cases before"),
             number("relative_change", "nadir", percent=True)),
        ]  # fmt: skip
        long = len(rows) > MANY
        yield make_table("size-changes", "Change of sizes by rater", rows, columns, filter=long, closed=long)
    yield from _response_table(findings)


def _change_key(row: Row) -> tuple[object, ...]:
    kept = (row["subject"], row["rater"], row["session"], row["measure"])
    return (row.case, row.label, *kept, row["since"], row.statistic)


def _response_table(findings: Findings) -> Iterator[Block]:
    """Responses by RECIST 1.1, which are there only where targets are named."""
    table = findings.table("agree/recist")
    found = {(row.case, row["rater"], row["session"], row.statistic): row for row in table.rows}
    rows = [row for row in table.rows if row.statistic == "sum_of_diameters"]
    if not rows:
        return

    def number(statistic: str, *, percent: bool = True) -> Callable[[Row], Cell]:
        def cell(row: Row) -> Cell:
            own = found.get((row.case, row["rater"], row["session"], statistic))
            return text_cell("") if own is None else table.quote(own, 0 if percent else 1, percent=percent)

        return cell

    columns: list[ColumnOf[Row]] = [
        (text_column(findings.subject_word.capitalize()), lambda row: text_cell(row["subject"])),
        (text_column("Case"), lambda row: case_cell(row.case)),
        (text_column("Rater"), lambda row: rater_cell(findings, str(row["rater"]))),
        (text_column("Response", RESPONSES), lambda row: text_cell(row["response"])),
        (text_column("Targets"), lambda row: text_cell(row["target_response"])),
        (text_column("Non-targets"), lambda row: text_cell(row["non_target_response"])),
        (text_column("New lesion"), lambda row: text_cell(row["new_lesion"])),
        (Column("Sum of diameters, mm", "Of the targets; nodes by their short axis."),
         number("sum_of_diameters", percent=False)),
        (Column("Since baseline", "Change of that sum since the first case."), number("change_from_baseline")),
        (Column("Since nadir", "Change of that sum since the smallest one before."), number("change_from_nadir")),
    ]  # fmt: skip
    long = len(rows) > MANY
    yield make_table("responses", "Responses by RECIST 1.1, by rater", rows, columns, filter=long, closed=long)


def _distance_table(findings: Findings) -> Iterator[Block]:
    """Distances between the outlines of two raters, mean over pairs, by label."""
    table = findings.table("agree/agreement")
    rows = [row for name in DISTANCE_TITLES for row in _all_labels(table, name) if is_defined(row)]
    if not rows:
        return
    several = any(row.label for row in rows)
    spread = len(findings.study.subjects) > 1
    columns: list[ColumnOf[Row]] = [
        (text_column("Distance"), lambda row: _distance_cell(findings, row)),
        *([(text_column("Label"), lambda row: text_cell("mean of labels" if row.label == MACRO else row.label))]
          if several else []),
        (Column("Mean", f"Over pairs of raters, then over {findings.subject_word}s"), lambda row: _quote(table, row)),
        *([(Column("SD", f"Standard deviation between {findings.subject_word}s."),
            lambda row: _quote(table, table.row(row.statistic, "std", label=row.label)))] if spread else []),
        (Column("n", f"{findings.subject_word.capitalize()}s with a distance"), lambda row: text_cell(row.n)),
        (Column("One empty", "Pairs of masks that have no distance, as one of the two is empty"),
         lambda row: _quote(table, table.row("distances_one_empty", "pooled", label=row.label), 0)),
        (Column("Both empty", "Pairs of masks that have no distance, as both are empty"),
         lambda row: _quote(table, table.row("distances_both_empty", "pooled", label=row.label), 0)),
    ]  # fmt: skip
    note = "Pairs of which a mask is empty have no distance and are left out; none is made up for them."
    yield make_table("distances", "Distances between the outlines of two raters", rows, columns, note)


def _all_labels(table: TableIndex, statistic: str) -> Sequence[Row]:
    rows = [row for row in table.all(statistic, "mean", label=None) if not row.group]
    return sorted(rows, key=lambda row: row.label != MACRO)


def _distance_cell(findings: Findings, row: Row) -> Cell:
    title = DISTANCE_TITLES[row.statistic]
    return replace(
        text_cell(f"{title}, {row.unit}" if row.unit else title), why=distance_meaning(findings, row.statistic)
    )
