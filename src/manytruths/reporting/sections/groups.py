"""The section on groups that were asked for: raters by expertise or tool, cases by scanner or histology."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...analyses.agree.group_charts import group_charts
from ...analyses.agree.groups import EXTRA
from ...claims.groups import SMALL_P, WORDS, describe_groups, unclaimed_means
from ...claims.numbers import TableIndex, is_defined
from ...claims.sentences import Cell, counted, text_cell
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Section
from ..findings import Findings
from .vocabulary import statistic_title

IDS = ("groups.raters", "groups.cases")
SUFFIX = "_difference"


def section(findings: Findings) -> Section | None:
    """The section on groups; None where no groups were asked for."""
    if findings.agreement.groups is None:
        return None
    table = findings.table("agree/groups")
    blocks = [block for of in ("raters", "cases") for block in (*_charts(findings, of), *_tables(findings, table, of))]
    claims = findings.agreement.claims
    lead = (*claims.sentences(*IDS), *unclaimed_means(claims).sentences(), *describe_groups(claims))
    return Section("groups", "Do groups differ?", lead, tuple(blocks))


def _charts(findings: Findings, of: str) -> Iterator[Block]:
    """Of the statistic that claims are about, a chart for each column."""
    groups = findings.agreement.groups
    claimed = {pair.statistic for pair in groups.pairs if pair.of == of} if groups else set()
    svgs = group_charts(findings.agreement.tables["groups"], of, claimed)
    each, interval = findings.subject_word, findings.interval_name
    captions = {
        "raters": f"Mean agreement of two raters within each group, and between groups (rings), with {interval} over "
        f"{each}s; below, the first group minus the second, over the {each}s that all raters of both groups read.",
        "cases": f"Means over {each}s with {interval}; below, the first group minus the second.",
    }
    charts = tuple(Chart(name, svg, captions[of]) for name, svg in svgs.items())
    if charts:
        yield Beside(charts) if len(charts) > 1 else charts[0]


def _tables(findings: Findings, table: TableIndex, of: str) -> Iterator[PageTable]:
    rows = [r for r in table.rows if r.statistic.endswith(SUFFIX) and r["of"] == of and _is_shown(table, r)]
    if not rows:
        return

    def number(statistic: str, *groups: str) -> Callable[[Row], Cell]:
        def cell(row: Row) -> Cell:
            extra = (row["by"], row["of"], *(row[group] if group else "" for group in groups))
            digits = 3 if statistic else 2
            cell = table.cell(_name(row) + statistic, "mean", *extra, label=row.label, digits=digits)
            return replace(cell, shown=SMALL_P) if "_p_" in statistic and cell.shown == "0.000" else cell

        return cell

    adjusted = adjusted_over(findings, of)
    holm = f" Adjusted p values are Holm's, over {adjusted}." if adjusted else ""
    second = ("group_a", "group_a"), ("group_b", "group_b")
    if of == "cases":
        second = ("group_a", ""), ("group_b", "")
    columns_named = list(dict.fromkeys(str(row["by"]) for row in rows))
    pairs = list(dict.fromkeys((row["group_a"], row["group_b"]) for row in rows))
    one = len(columns_named) == len(pairs) == 1
    columns: list[ColumnOf[Row]] = [
        *([(text_column("By"), lambda row: text_cell(row["by"]))] if len(columns_named) > 1 else []),
        *([] if one else [(text_column("Groups"), lambda row: text_cell(f"{row['group_a']} and {row['group_b']}"))]),
        (text_column("Statistic"), lambda row: text_cell(_title(findings, row))),
        (Column("Difference", "First minus second"), number(SUFFIX, "group_a", "group_b")),
        (Column("p, adjusted", f"Of the permutation test, by Holm's method over {adjusted}" if adjusted else ""),
         number("_p_holm", "group_a", "group_b")),
        (Column("p", "Of the permutation test, not adjusted"), number("_p_value", "group_a", "group_b")),
        (Column("First", "Within the first group" if of == "raters" else "Mean of the first group"),
         number("", *second[0])),
        (Column("Second", "Within the second group" if of == "raters" else "Mean of the second group"),
         number("", *second[1])),
        *([(Column("Between", "Between raters of the two groups"), number("", "group_a", "group_b"))]
          if of == "raters" else []),
    ]  # fmt: skip
    each = findings.subject_word
    notes = {
        "raters": f"Mean agreement of two raters, over {each}s, with {findings.interval_name} for these raters; the "
        f"difference is over the {each}s that all raters of both groups read. Tests exchange whole raters.{holm}",
        "cases": f"Means over {each}s with {findings.interval_name}. Tests exchange whole {each}s.{holm}",
    }
    titles = {"raters": "Groups of raters", "cases": "Groups of cases"}
    by = f", by {columns_named[0]}" if len(columns_named) == 1 else ""
    by += f": {pairs[0][0]} and {pairs[0][1]}" if one else ""
    yield make_table(f"groups-of-{of}", titles[of] + by, rows, columns, notes[of])


def adjusted_over(findings: Findings, of: str) -> str:
    """Over which tests p values are adjusted: ``all 6 tests of groups of raters``; nothing where there are none."""
    groups, table = findings.agreement.groups, findings.table("agree/groups")
    tested = [r for r in table.rows if r.statistic.endswith("_p_holm") and r["of"] == of and is_defined(r)]
    if groups is None or not tested:
        return ""
    of_what = f"of groups of {of}"
    if findings.study.options.primary != f"groups.{of}":
        return f"all {len(tested)} tests {of_what}" if len(tested) > 1 else f"the one test {of_what}"
    claimed = {pair.statistic for pair in groups.pairs if pair.of == of}
    own = [r for r in tested if r.statistic.removesuffix("_p_holm") in claimed]
    word = WORDS[own[0].statistic.removesuffix("_p_holm")] if own else ""
    others = f" and, separately, {counted(len(tested) - len(own), 'test')} of other statistics"
    return f"{counted(len(own), 'test')} of {word} (the primary claim){others if len(own) < len(tested) else ''}"


def _title(findings: Findings, row: Row) -> str:
    return statistic_title(findings, _name(row)).replace(", mean of pairs", "")


def _name(row: Row) -> str:
    return row.statistic.removesuffix(SUFFIX)


def _is_shown(table: TableIndex, row: Row) -> bool:
    """Whether a row is a difference: that of relative volume differences has the name of one twice."""
    extra = tuple(row[column] for column in EXTRA)
    return table.row(f"{_name(row)}_p_value", "mean", *extra, label=row.label) is not None
