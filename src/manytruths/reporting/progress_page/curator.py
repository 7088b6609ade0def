"""The sections of the page about a study that runs, for who runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...analyses.progress.coverage import Cell as CoverageCell
from ...analyses.progress.presentation import WHY_LATE
from ...analyses.progress.progress import StudyProgress
from ...claims.feedback import NOTHING_YET, describe_changes
from ...claims.masks import IDS as MASKS
from ...claims.numbers import is_defined
from ...claims.progress import ALARMS
from ...claims.sentences import Cell, Sentence, number, spell_count, text_cell
from ...core.undefined import code_of
from ..building import ColumnOf, make_table, text_column, text_table
from ..elements import Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import assign_colours

GENERAL = ("progress.coverage", "progress.pace", "progress.agreement", "progress.width")
STATUS_COLUMNS = {
    "asked": ("Asked for", "Readings that the reading log or an assignment asks for, or that are there."),
    "read": ("Read", "With a mask, also an edit or one that is left out; left without a mark; or found not evaluable."),
    "open": ("Open", "Asked for and not read, or begun."),
    "late": ("Late", "Open, and overdue: by its day, by the rater's own order, or since others have read the case."),
    "empty": ("Nothing marked", "Read and left without a mark."),
    "unfinished": ("Begun", "Begun, and not finished."),
    "not_evaluable": ("Not evaluable", "Read, but nothing can be said about the case."),
    "edit": ("Edits", "Started from another rater's mask: left out of agreement."),
    "other_session": ("Other sessions", "Readings of a session that does not count."),
    "excluded": ("Left out", "Masks that the study leaves out."),
    "missing": ("No mask", "There is no mask, and nothing says whether it was asked for."),
}
ALWAYS = ("asked", "read", "open", "late")
"""Columns that are shown even where all are 0."""
SHARED_TITLES = {
    "label_dice": "Dice, mean over labels", "dice": "Dice, mean of pairs", "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
}  # fmt: skip
CALIBRATION = "calibration"
CAPTIONS = {
    "how-far": "Of the cases that each rater may be asked for, how many they are done with.",
    "coverage": "A row for each rater, a column for each case. Counts are in the table below, and every reading is in "
    "progress/coverage.csv.",
    "agreement-so-far": "Of all readings up to each time, with the confidence interval. The bracket at the right is as "
    "high as the interval is wanted to be. Easy or hard cases that come late move the line as well as raters do.",
    "sizes-over-time": "A dot for each case that others have marked, too: the size of the rater's mask over the median "
    "of the others', so that large and small cases can be compared. The line is a running median; at 1, masks are as "
    "large as the others'. Of a rater who is said to change, the later half of the readings is marked.",
    "dice-over-time": "A dot for each case that others have read, too, and a running median. A line that falls for all "
    "raters at once shows harder cases, not a rater.",
    "minutes-over-time": "A dot for each reading with a known duration, and a running median.",
}
TALL = 12
"""With more raters, charts with a panel for each scroll."""
MOST_LATE = 300
"""Late readings that the page lists."""
MOST_MASKS = 12
"""Masks that are spelled out."""


@dataclass(frozen=True)
class Shown:
    """What the page shows, and how it is called."""

    result: StudyProgress

    @cached_property
    def colours(self) -> Mapping[str, str]:
        """``#rrggbb`` of every rater."""
        return assign_colours(self.result.study)

    @property
    def interval_name(self) -> str:
        """``95% CI``."""
        return f"{100 * self.result.settings.level:g}% CI"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels where there are several; one without a name else."""
        labels = self.result.panel.labels
        return labels if len(labels) > 1 else ("",)

    def charts(self, *names: str) -> Iterator[Chart]:
        """Charts with their captions, by how their names start."""
        for name, svg in self.result.charts.items():
            if name.startswith(names):
                key = next(key for key in CAPTIONS if name.startswith(key))
                yield Chart(name, svg, CAPTIONS[key], tall=len(self.result.coverage.raters) > TALL or key == "coverage")

    def rater(self, name: str) -> Cell:
        """A rater in their colour."""
        return text_cell(name, colour=self.colours.get(name, ""))

    @property
    def overlap_title(self) -> str:
        """What Dice is called."""
        return "Dice with the others" + ", mean over labels" * (self.result.panel.overlap == "label_dice")


def sections(shown: Shown) -> list[Section]:
    """The sections that have content, in the order of the page."""
    made = (_summary, _coverage, _agreement, _raters, _minutes, _masks, _computation)
    return [section for make in made if (section := make(shown)) is not None]


# -- in short ----------------------------------------------------------------------------------------


def _summary(shown: Shown) -> Section:
    claims = shown.result.claims
    lead = claims.sentences(*GENERAL) or ((NOTHING_YET,),)
    return Section("in-short", "In short", lead, tuple(_summary_blocks(shown)))


def _summary_blocks(shown: Shown) -> Iterator[Block]:
    claims = shown.result.claims
    changed = claims.sentences(*ALARMS)
    quiet = describe_changes(claims)
    yield Paragraphs(changed or (quiet,), "What changes, and who does what differently", listed=bool(changed))
    if steps := tuple(_next_steps(shown)):
        yield Paragraphs(steps, "What to do next", listed=True)


def _next_steps(shown: Shown) -> Iterator[Sentence]:
    """What to do with what the page shows."""
    result = shown.result
    if any(cell.late for cell in result.coverage.cells):
        yield ("Ask for the late readings: they are listed under Who read what.",)
    if result.claims.of(*MASKS).made:
        yield (
            "Have the masks that are probably broken looked at first: what raters are said to do may be due to them.",
        )
    about = [rater for claim in result.alarms for rater in claim.about.split(" and ")]
    named = [rater for rater in dict.fromkeys(about) if rater in result.panel.raters]
    if named:
        yield (
            "Talk to who is named above before they read on. “manytruths progress STUDY --for NAME” makes a page for "
            "one rater, with cases to look at and the others under codes.",
        )
    if not result.study.options.exchangeable and len(result.coverage.raters) > 1:
        yield (
            "“manytruths next STUDY --budget 60” tells which case to give to whom next, by what a reading adds to the "
            "consensus.",
        )


# -- who read what -----------------------------------------------------------------------------------


def _coverage(shown: Shown) -> Section:
    blocks: list[Block] = list(shown.charts("how-far", "coverage"))
    blocks.append(_status_table(shown))
    if (late := late_table(shown)) is not None:
        blocks.append(late)
    return Section("coverage", "Who read what, and what is late?", (), tuple(blocks))


def _status_table(shown: Shown) -> PageTable:
    """How many readings of each rater, and of all, have which status."""
    index, raters = shown.result.index("statuses"), shown.result.coverage.raters
    whole = {name: index.row(name, "pooled", "") for name in STATUS_COLUMNS}
    columns = [name for name, row in whole.items() if name in ALWAYS or (row is not None and row.value)]

    def count(statistic: str) -> Callable[[str], Cell]:
        return lambda rater: index.cell(statistic, "pooled", rater, digits=0)

    dates = {str(row[0]): row for row in shown.result.tables["raters"].records()}
    made: list[ColumnOf[str]] = [
        (text_column("Rater"), lambda rater: shown.rater(rater) if rater else text_cell("all raters"))
    ]
    made += [(Column(*STATUS_COLUMNS[name]), count(name)) for name in columns]
    if shown.result.calendar.dates:
        last = "Day of the last reading."
        made.append((text_column("Last read", last), lambda rater: text_cell(_day(dates.get(rater)))))
    return make_table("statuses", "How far each rater is", (*raters, ""), made, filter=len(raters) > 12)


def _day(row: Any) -> str:
    return str(row[6])[:10] if row is not None else ""


def late_table(shown: Shown, rater: str = "") -> PageTable | None:
    """What is late, of one rater or of all, the first ones late first; None where nothing is."""
    late = sorted((c for c in shown.result.coverage.cells if c.late and rater in ("", c.rater)), key=_lateness)
    if not late:
        return None
    columns: list[ColumnOf[CoverageCell]] = [(text_column("Case"), lambda cell: text_cell(cell.case))]
    if not rater:
        columns.append((text_column("Rater"), lambda cell: shown.rater(cell.rater)))
    columns += [
        (text_column("Why"), lambda cell: text_cell(WHY_LATE[cell.late])),
        (text_column("Since", "Its day, the day of the others' reading, or the later case."),
         lambda cell: text_cell(cell.since)),
        (Column("Days"), lambda cell: text_cell("" if cell.days is None else cell.days)),
    ]  # fmt: skip
    more = len(late) - MOST_LATE
    note = "" if more <= 0 else f"{spell_count(more, 'more reading')} of all that are late: see progress/late.csv."
    return make_table("late", "What is late", late[:MOST_LATE], columns, note, filter=len(late) > 12)


def _lateness(cell: CoverageCell) -> tuple[int, str]:
    return (-(cell.days or 0), cell.rater)


# -- agreement ---------------------------------------------------------------------------------------


def _agreement(shown: Shown) -> Section | None:
    result = shown.result
    rows = [row for row in result.index("agreement").rows if is_defined(row)]
    if not rows:
        return None
    blocks: list[Block] = list(shown.charts("agreement-so-far"))
    blocks += [_agreement_table(shown), *_width_table(shown), *_trend_table(shown)]
    return Section("agreement", "How far do the raters agree so far?", (), tuple(blocks))


def _agreement_table(shown: Shown) -> PageTable:
    index = shown.result.index("agreement")
    groups = [group for group in ("", CALIBRATION) if any(row.group == group for row in index.rows)]
    statistics = list(dict.fromkeys(row.statistic for row in index.rows))

    def value(group: str) -> Callable[[str], Cell]:
        return lambda statistic: index.cell(statistic, "mean", group=group, digits=3)

    titles = {"": "All cases", CALIBRATION: "Calibration cases"}
    columns: list[ColumnOf[str]] = [
        (text_column("Statistic"), lambda statistic: text_cell(SHARED_TITLES.get(statistic, statistic)))
    ]
    columns += [(Column(titles[group]), value(group)) for group in groups]
    note = f"Means over {shown.result.facts.subject}s, with {shown.interval_name}."
    return make_table("agreement", "Agreement so far", statistics, columns, note)


def _width_table(shown: Shown) -> Iterator[PageTable]:
    index, wanted = shown.result.index("width"), shown.result.settings.dice_width
    names = [row.statistic.removesuffix("_width") for row in index.rows if row.statistic.endswith("_width")]
    if not names:
        return

    def value(what: str, digits: int) -> Callable[[str], Cell]:
        return lambda name: index.cell(f"{name}_{what}", "mean", wanted, digits=digits)

    subject = shown.result.facts.subject
    columns: list[ColumnOf[str]] = [
        (text_column("Statistic"), lambda name: text_cell(SHARED_TITLES.get(name, name))),
        (Column("Width now", "Of the interval."), value("width", 3)),
        (Column(f"{subject.capitalize()}s needed", f"For an interval of width {wanted:g}, with a range of its own."),
         value("subjects_needed", 0)),
        (Column("Still to read", "The same without those that there are."), value("more_subjects", 0)),
    ]  # fmt: skip
    note = f"If further {subject}s are like those so far. --dice-width sets what is wanted: {wanted:g}."
    yield make_table(
        "width", f"How many more {subject}s until the interval is as narrow as wanted", names, columns, note
    )


def _trend_table(shown: Shown) -> Iterator[PageTable]:
    result = shown.result
    index, names = result.index("trend"), list(enumerate(result.calendar.names, start=1))
    if len(names) < 2:
        return

    def value(statistic: str, scope: str, digits: int) -> Callable[[tuple[int, str]], Cell]:
        return lambda item: index.cell(statistic, scope, *item, digits=digits)

    overlap = result.panel.overlap
    columns: list[ColumnOf[tuple[int, str]]] = [
        (text_column("Period"), lambda item: text_cell(item[1])),
        (Column("Readings", "Made in the period."), value("readings", "pooled", 0)),
        (
            Column("Dice", "Of pairs of readings of which the later one was made in the period."),
            value(overlap, "mean", 3),
        ),
        (Column("Dice so far", "Of all readings up to the end of the period."), value(f"{overlap}_so_far", "mean", 3)),
    ]
    yield make_table("trend", "Agreement by period", names, columns, closed=True)


# -- raters ------------------------------------------------------------------------------------------


def _raters(shown: Shown) -> Section | None:
    result = shown.result
    if result.study.options.exchangeable or len(result.panel.raters) < 2:
        return None
    lead = result.claims.sentences("progress.drift_size", "progress.drift_distance")
    blocks: list[Block] = list(shown.charts("sizes-over-time", "dice-over-time"))
    blocks += [_comparison_table(shown), *_drift_table(shown)]
    return Section("raters", "Each rater beside the others", lead, tuple(blocks))


def _comparison_table(shown: Shown) -> PageTable:
    index, overlap = shown.result.index("comparison"), shown.result.panel.overlap
    groups = [group for group in ("", CALIBRATION) if any(row.group == group for row in index.rows)]

    def value(statistic: str, scope: str, group: str, label: str = "", digits: int = 2) -> Callable[[str], Cell]:
        return lambda rater: index.cell(statistic, scope, rater, group=group, label=label, digits=digits)

    columns: list[ColumnOf[str]] = [(text_column("Rater"), shown.rater)]
    for group in groups:
        where = ", calibration" * bool(group)
        columns += [
            (Column(f"Shared cases{where}", "Cases that somebody else has read, too."),
             value("shared_cases", "pooled", group, digits=0)),
            (Column(f"{shown.overlap_title}{where}", "Mean over subjects: 1 means identical masks."),
             value(overlap, "mean", group)),
        ]  # fmt: skip
        for label in shown.labels:
            of = f", {label}" if label else ""
            help = "Size over that of another rater, geometric mean over the others and over subjects."
            columns.append((Column(f"Relative size{of}{where}", help), value("relative_size", "mean", group, label)))
    note = (
        "Raters may have read different cases, so that these numbers give no order of raters. With "
        f"{shown.interval_name}, which are not adjusted for how many there are."
    )
    return make_table("comparison", "Each rater beside the others", shown.result.panel.raters, columns, note,
                      filter=len(shown.result.panel.raters) > 12)  # fmt: skip


def _drift_table(shown: Shown) -> Iterator[PageTable]:
    index = shown.result.index("drift")
    items = [(one.rater, one.measure, one.label) for one in shown.result.facts.drift]
    if not items:
        return
    names = {"size": "relative_size", "distance": "excess_distance"}
    words = {"size": "size over the others'", "distance": "distance beyond the others'"}

    def value(statistic: str, group: str, digits: int) -> Callable[[tuple[str, str, str]], Cell]:
        def cell(item: tuple[str, str, str]) -> Cell:
            rater, measure, label = item
            name = statistic or names[measure]
            return index.cell(name, "mean", rater, measure, group=group, label=label, digits=digits)

        return cell

    columns: list[ColumnOf[tuple[str, str, str]]] = [
        (text_column("Rater"), lambda item: shown.rater(item[0])),
        (text_column("Number"), lambda item: text_cell(words[item[1]] + (f", {item[2]}" if item[2] else ""))),
        (Column("Earlier", "In the earlier half of the rater's readings."), value("", "earlier", 2)),
        (Column("Later", "In the later half."), value("", "later", 2)),
        (Column("Correlation", "Partial rank correlation with time."), value("time_correlation", "", 2)),
        (Column("p", "Adjusted for raters, labels and looks."), value("p_value", "", 3)),
    ]
    yield make_table("drift", "Tests for drift", items, columns, closed=True)


# -- minutes, masks, computation ---------------------------------------------------------------------


def _minutes(shown: Shown) -> Section | None:
    """How long readings take, where the tool tells."""
    timed = [row for row in shown.result.tables["raters"].records() if row[9]]
    if not timed:
        return None
    blocks: list[Block] = list(shown.charts("minutes-over-time"))
    rows = [(row[0], number(_as_float(row[8]), 1), row[9]) for row in timed]
    table = text_table("minutes", "Minutes per case", ("Rater", "Median", "Readings with a duration"), rows)
    columns = tuple(Column(c.title, number=c.title != "Rater") for c in table.columns)
    coloured = tuple((shown.rater(row[0].shown), *row[1:]) for row in table.rows)
    blocks.append(
        PageTable(
            table.name, table.title, columns, coloured, "As the annotation tool counts them; breaks may be in them."
        )
    )
    return Section("minutes", "How long does a case take?", (), tuple(blocks))


def _as_float(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _masks(shown: Shown) -> Section | None:
    """Masks that are probably broken, lost or copied."""
    claims = shown.result.claims
    said = claims.sentences(*MASKS)
    if not said and not claims.of("progress.since").made:
        return None
    blocks: list[Block] = []
    if said:
        title = "Masks that are probably broken, lost or copied"
        blocks.append(Paragraphs(said[:MOST_MASKS], title, listed=True))
    if len(said) > MOST_MASKS:
        more = spell_count(len(said) - MOST_MASKS, "more remark")
        blocks.append(Paragraphs(((f"{more} in progress/claims.csv; all masks are in progress/masks.csv.",),)))
    return Section("masks", "Masks to look at again", claims.sentences("progress.since"), tuple(blocks))


def _computation(shown: Shown) -> Section:
    result, settings = shown.result, shown.result.settings
    notes = tuple((f"{note[:1].upper()}{note[1:]}.",) for note in result.notes)
    blocks: list[Block] = [Paragraphs(notes, "Notes", listed=True, kind="note")] if notes else []
    why = [
        (claim.kind.says, claim.about, str(claim.why_not))
        for claim in result.claims
        if not claim.made
        and code_of(claim.why_not or "") != "not_significant"
        and claim.kind.id.startswith("progress.")
    ]
    if why:
        heads = ("What would be said", "About", "Why it is not said")
        blocks.append(text_table("not-said", "What is not said, and why", heads, why, closed=True))
    chosen = [
        ("today", settings.today), ("assignment", settings.assignment or "none"),
        ("calibration cases", ", ".join(result.coverage.calibration) or "none"),
        ("days until an open reading of a case that others have read is late", settings.late_after),
        ("days of a period", settings.period), ("wanted width of the interval", settings.dice_width),
        ("level of intervals", settings.level),
    ]  # fmt: skip
    blocks.append(text_table("settings", "Settings", ("Setting", "Value"), chosen))
    lead: tuple[Sentence, ...] = (
        ("Every number of this page is in the tables beside it, in the folder progress. Tests for drift look at the "
         "study again after every period that is over, and share an error rate of 5% over all of these looks.",),
    )  # fmt: skip
    return Section("computation", "How was this computed?", lead, tuple(blocks))
