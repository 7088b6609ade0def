"""How far the raters agree: headlines, groups, labels, special cases, what goes with agreement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...agreement import interpret_kappa
from ...analyses.agree.charts import charts
from ...analyses.rows import Row
from ...analyses.summaries import region_of
from ...charts import histograms, strip
from ...core.undefined import reason
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Section, Sentence, words
from .comparison import comparison
from .computed.counts import Counts
from .disputed import no_kappa
from .numbers import Numbers, known, numbers, undefined_of
from .wording import (
    MEANINGS,
    SCALES,
    SHARES,
    TITLES,
    count,
    deviation,
    interval_name,
    item,
    level_help,
    level_words,
    unit,
)

ENOUGH = 10
"""From so many values on a histogram shows something."""


def section(found: Findings) -> Section:
    """Numbers of all raters together."""
    lead = (*_headline(found), *_groups_in_words(found), _region(found))
    blocks = [*_charts(found), _headlines(found), *_groups(found), *_labels(found), *_special(found)]
    blocks += [*_confusions(found), *_features(found), *_curve(found)]
    return Section("agreement", "How far do the raters agree?", lead, tuple(blocks))


def _headline(found: Findings) -> Iterator[Sentence]:
    table = numbers(found, "agree", "agreement")
    kappa, std = table.row("fleiss_kappa"), table.row("fleiss_kappa", "std")
    if not known(kappa):
        yield (f"Agreement beyond chance cannot be told: {no_kappa(found)}.",)
        return
    spread: Sentence = ()
    if std is not None and known(std):
        spread = (", with a standard deviation of ", table.quote(std), f" between {unit(found)}s")
    words = level_words(kappa, found.settings.scale)
    scale = SCALES.get(found.settings.scale, found.settings.scale)
    yield ("Fleiss' kappa, the agreement of all raters beyond chance, is ", table.quote(kappa), *spread, ": ", words,
           f" by the scale of {scale}.")  # fmt: skip


def _groups_in_words(found: Findings) -> Iterator[Sentence]:
    """Where agreement is least, and where most."""
    table = numbers(found, "agree", "agreement")
    rows = sorted((r for r in table.all("fleiss_kappa", "mean") if r.group and known(r)), key=lambda r: r.value)
    if len(rows) > 1 and rows[0].value < rows[-1].value:
        least, most = rows[0], rows[-1]
        yield (f"It is least in {least.group}, with ", table.quote(least), f", and most in {most.group}, with ",
               table.quote(most), ".")  # fmt: skip


def _region(found: Findings) -> Sentence:
    """What was counted, on which every number corrected for chance depends."""
    item_, region = item(found), region_of(found.agreement.tallies)
    told = {
        "whole": f"Every {item_} of the image counts, also background that nobody marked. Counted only where somebody "
        "marked something, kappa would be lower; Dice and sizes would stay the same.",
        "union": f"Only {item_}s that at least one rater marked count. On whole images kappa would be higher; Dice and "
        "sizes would stay the same.",
        "modified_background": f"The {item_}s that at least one rater marked count, and as many of the background. On "
        "whole images kappa would be higher; Dice and sizes would stay the same.",
        "mask": f"Only {item_}s inside the region of interest that was given for each case count. In another region "
        "kappa would be another.",
    }
    other = "What was counted differs between cases, so that their numbers do not compare well."
    return (told.get(region, other), " Compare kappas only with studies that counted alike.")


def _charts(found: Findings) -> Iterator[Block]:
    drawn = charts(found.agreement)
    table = numbers(found, "agree", "agreement")
    if _several(table.all("fleiss_kappa", "case")):
        scale = SCALES.get(found.settings.scale, found.settings.scale)
        caption = f"Each dot is one case, over the levels of {scale}; the bar is the median."
        yield Beside((Chart("kappa-by-group", drawn["kappa-by-group"], caption), *_histogram(found, table)))
    if _curved(found):
        caption = (
            f"Of all {item(found)}s that anybody marked, the share that so many raters or more marked. A curve that "
            "stays high means agreement."
        )
        yield Beside((Chart("agreement-curve", drawn["agreement-curve"], caption), *comparison(found)))
    elif compared := tuple(comparison(found)):
        yield compared[0]


def _several(rows: Iterable[Row]) -> bool:
    """Whether there is more than one point to draw."""
    return sum(map(known, rows)) > 1


def _curved(found: Findings) -> bool:
    """The curve of two raters has one number, which is told as marked by all."""
    return len(found.study.rater_names) > 2 and any(known(row) for row in found.agreement.curve.rows)


def _histogram(found: Findings, table: Numbers) -> Iterator[Chart]:
    """The distribution of kappa; of subjects where they differ from cases, since the mean is over them."""
    each = unit(found)
    values = [float(r.value) for r in table.all("fleiss_kappa", "subject" if Counts(found).grouped else "case")]
    if len(values) >= ENOUGH and any(v == v for v in values):
        svg = histograms({f"{each}s": values}, "Fleiss' kappa", f"Agreement, {each} by {each}", bins=20)
        yield Chart("kappa-histogram", svg, f"How many {each}s reach which kappa; the line is the mean.")


def _headlines(found: Findings) -> PageTable:
    """Every statistic of all raters, with what it says."""
    table = numbers(found, "agree", "agreement")
    over = Counts(found).jackknifed and any(table.row(f"{s}_over_raters", "pooled") for s in TITLES)
    columns = [
        Column("Statistic", number=False),
        Column(f"Mean over {unit(found)}s", f"Every {unit(found)} counts the same; with its {interval_name(found)}."),
        deviation(found),
        Column("Pooled", f"All cases as if they were one: every {item(found)} counts the same."),
    ]
    if over:
        told = "The pooled number, with a CI for having asked these raters and not others: rough, it can pass 1."
        columns.append(Column("Pooled, over raters", told))
    columns.append(Column("Undefined", f"For how many {unit(found)}s there is no number: mostly where nobody marked."))
    rows = tuple(tuple(_statistic(found, table, s, over)) for s in TITLES if table.row(s) is not None)
    note = f"In brackets: {interval_name(found)} over {unit(found)}s. Single cases are under Case by case."
    return PageTable("agreement", "Agreement of all raters", tuple(columns), rows, note)


def _statistic(found: Findings, table: Numbers, statistic: str, over: bool) -> Iterator[Cell]:
    how: dict[str, Any] = {"digits": 1, "percent": True} if statistic in SHARES else {}
    absent = " Generalised to cases that some raters did not mark." if Counts(found).missing else ""
    yield words(TITLES[statistic], below=MEANINGS[statistic] + (absent if statistic == "fleiss_kappa" else ""))
    for scope in ("mean", "std", "pooled"):
        yield table.cell(statistic, scope, **how)
    if over:
        yield table.cell(f"{statistic}_over_raters", "pooled", **how)
    yield words(undefined_of(table.row(statistic)))


def _kinds(found: Findings, table: Numbers, what: str) -> list[Column]:
    background = table.row("dice") is not None
    more = [Column("Dice", MEANINGS["dice"]), Column("Size differs by", MEANINGS["volume_difference"])]
    return [
        Column(what, number=False),
        Column(f"{unit(found).capitalize()}s", f"{unit(found).capitalize()}s whose kappa is defined."),
        Column("Fleiss' kappa", f"Mean over {unit(found)}s: 1 is full agreement, 0 is chance."),
        Column("Level", level_help(found), number=False),
        deviation(found, "SD of kappa"),
        Column("Kappa, pooled", f"All cases as if they were one: every {item(found)} counts the same."),
        *(more if background else []),
    ]


def _kind(found: Findings, table: Numbers, row: Row) -> Iterator[Cell]:
    where = {"group": row.group, "label": row.label}
    yield words(row.group or row.label)
    yield words(row.n)
    yield table.quote(row)
    yield words(interpret_kappa(row.value, found.settings.scale))
    yield table.cell("fleiss_kappa", "std", **where)
    yield table.cell("fleiss_kappa", "group" if row.group else "pooled", **where)
    if table.row("dice") is not None:
        yield table.cell("dice", **where)
        yield table.cell("volume_difference", digits=0, percent=True, **where)


def _groups(found: Findings) -> Iterator[Block]:
    table = numbers(found, "agree", "agreement")
    rows = [r for r in table.all("fleiss_kappa", "mean") if r.group]
    if rows:
        lines = tuple(tuple(_kind(found, table, r)) for r in rows)
        short = any(r.low is not None and reason(r.low) for r in rows)
        told = [f"Groups of fewer than ten {unit(found)}s have no CI."] if short else []
        note = " ".join([*told, *_shared(found)])
        yield PageTable("agreement-by-group", "By group", tuple(_kinds(found, table, "Group")), lines, note)


def _shared(found: Findings) -> Iterator[str]:
    """Where the patients of the groups add up to more than there are."""
    members = {(group, case.subject) for case in found.study for group in case.groups}
    if len(members) > len({case.subject for case in found.study if case.groups}):
        yield f"A {unit(found)} who has cases in several groups counts in each of them."


def _labels(found: Findings) -> Iterator[Block]:
    table = numbers(found, "agree", "agreement")
    rows = [r for r in table.all("fleiss_kappa", "mean", label=None) if r.label and not r.group]
    if rows:
        lines = tuple(tuple(_kind(found, table, r)) for r in rows)
        note = "Each label against all the rest."
        yield PageTable("agreement-by-label", "By label", tuple(_kinds(found, table, "Label")), lines, note)


CONDITIONS = {
    "nothing_marked": "Nobody marked anything",
    "condition_1": "Some raters marked nothing, others something",
    "condition_2": "All marked something, but no two raters a common place",
}


def _special(found: Findings) -> Iterator[Block]:
    """Cases in which kappa says little, and the kappas without them (Yang's conditions 1 and 2)."""
    table = numbers(found, "agree", "agreement")
    counts = {name: table.row(name, "pooled") for name in CONDITIONS}
    if table.row("dice") is None or not any(row is not None and row.value for row in counts.values()):
        return
    rows = tuple((words(told), table.cell(name, "pooled", digits=0)) for name, told in CONDITIONS.items())
    columns = (Column("What is special", number=False), Column("Cases", f"Of {count(len(found.study), 'case')}."))
    yield Beside((PageTable("special-cases", "Special cases", columns, rows), *_without(found, table)))


def _without(found: Findings, table: Numbers) -> Iterator[PageTable]:
    if not any(row is not None and row.value for row in (table.row(f"condition_{i}", "pooled") for i in (1, 2))):
        return
    parts = {"": "All cases", "_without_condition_1": "Without those that some left empty",
             "_without_conditions_1_2": "Without those, and those without a common place"}  # fmt: skip
    rows = tuple(
        (words(told), *(table.cell(f"{s}{part}") for s in ("fleiss_kappa", "cohen_kappa")))
        for part, told in parts.items()
    )
    columns = (
        Column("Cases", number=False),
        Column("Fleiss' kappa", f"Mean over {unit(found)}s."),
        Column("Cohen's kappa", f"Mean over pairs of raters and {unit(found)}s."),
    )
    yield PageTable("kappa-without-special-cases", "Kappa without them", columns, rows)


def _confusions(found: Findings) -> Iterator[Block]:
    """Which labels are given to the same place."""
    table = numbers(found, "agree", "confusions")
    by = {(str(r["label_a"]), str(r["label_b"])): r for r in table.table.rows}
    names = list(dict.fromkeys(name for pair in by for name in pair))
    if not by:
        return
    rows = tuple((words(a), *(table.quote(by[a, b], 0) if (a, b) in by else words("") for b in names)) for a in names)
    columns = (Column("Label", number=False), *(Column(name, f"One rater said {name}.") for name in names))
    note = (
        f"How many {item(found)}s two raters both marked, one with the label of the line and one with that of the "
        "column, over all pairs of raters."
    )
    yield PageTable("confusions", "Same place, other label", columns, rows, note)


def _features(found: Findings) -> Iterator[Block]:
    """What in the image goes with agreement, case by case."""
    by: dict[str, list[float]] = {}
    for row in numbers(found, "agree", "features").table.all("correlation", "case"):
        by.setdefault(str(row["feature"]), []).append(float(row.value))
    if any(sum(v == v for v in values) > 1 for values in by.values()):
        svg = strip(by, "correlation with the number of raters", "Does agreement go with what the image shows?")
        caption = (
            "Each dot is one case. Right of 0, more raters mark where the image is brighter (intensity) or has more "
            "contrast; left of 0, fewer do. Near 0, it makes no difference."
        )
        yield Chart("image-features", svg, caption)


def _curve(found: Findings) -> Iterator[Block]:
    """The agreement curve in numbers, by group."""
    table = numbers(found, "agree", "curve")
    pooled = [r for r in table.all("agreement_curve", "pooled") if known(r)]
    groups = list(dict.fromkeys(r.group for r in table.all("agreement_curve", "group")))
    if not pooled or not _curved(found):
        return
    columns = (Column("At least so many raters"), Column("All cases"), *(Column(group) for group in groups))
    rows = tuple(
        (words(r["raters"]), table.quote(r, 1, percent=True),
         *(table.cell("agreement_curve", "group", *r.extra, group=g, digits=1, percent=True) for g in groups))
        for r in pooled
    )  # fmt: skip
    title, note = "How many raters marked the same", f"Share of the {item(found)}s that anybody marked."
    yield PageTable("agreement-curve-table", title, columns, rows, note, closed=True)
