"""The sections of a rater's own page: their readings beside those of the others, who have codes.

Nothing on it names another rater or ranks anybody, and no case is shown that the rater has not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...analyses.progress.presentation import draw_charts
from ...claims.claim import ClaimLog, Claims
from ...claims.feedback import NOTHING_SHARED, consider_feedback, describe_changes, describe_none_farther
from ...claims.masks import describe_doubts
from ...claims.progress import ALARMS
from ...claims.sentences import Cell, Sentence, capitalise, case_cell, number, text_cell
from ...study import Case
from ...study.deidentification import Codes, code_study
from ..elements import Beside, Block, Cases, Chart, Column, PageTable, Paragraphs, Section
from ..page import CaseEntry
from .curator import CAPTIONS, Shown, late_table
from .views import CONSENSUS_COLOUR, OTHERS_COLOUR, OWN_COLOUR, FeedbackView, view_feedback

PAGE_BYTES = 3_000_000
"""Size of the views of all examples together."""
VIEW_BYTES = 1_000_000
"""Largest size of one of them."""
OWN_CAPTIONS = CAPTIONS | {
    "coverage": "A cell for each case.",
    "sizes-over-time": "A dot for each case that you and others have marked: the size of your mask over the median of "
    "the others'. The line is a running median; at 1, your masks are as large as the others'.",
    "dice-over-time": "A dot for each case that you and others have read, and a running median. Hard cases lie low for "
    "everybody.",
}


@dataclass(frozen=True)
class Feedback:
    """What a rater's page shows."""

    shown: Shown
    rater: str
    codes: Codes
    examples: int
    images: bool

    @cached_property
    def claims(self) -> Claims:
        """What is said of this rater alone, and of nobody else."""
        result, log = self.shown.result, ClaimLog()
        facts, labels = result.facts, self.shown.labels
        consider_feedback(log, result.index("comparison"), self.rater, facts.overlap, labels, facts.subject)
        return Claims((*log.settle(), *(claim for claim in result.claims.of(*ALARMS) if claim.about == self.rater)))

    @cached_property
    def views(self) -> Mapping[int, FeedbackView]:
        """The examples: by the number of the reading, what is shown of its case."""
        mine, study = self.shown.result.readings[self.rater], self.shown.result.study
        chosen = mine.farthest(self.examples)
        largest = min(VIEW_BYTES, PAGE_BYTES // max(1, len(chosen)))
        found = {}
        for k in chosen:
            case = self._coded(study[mine.cases[k]])
            if (view := view_feedback(case, self.rater, largest, images=self.images)) is not None:
                found[k] = view
        return found

    def _coded(self, case: Case) -> Case:
        """A case with the other raters under codes."""
        return next(iter(code_study(self.shown.result.study.with_cases([case]), self.codes)))

    @property
    def others(self) -> int:
        """How many other raters there are."""
        return len(self.shown.result.panel.raters) - 1

    @cached_property
    def charts(self) -> Mapping[str, str]:
        """The rater's own charts."""
        return draw_charts(self.shown.result, self.rater)

    @property
    def entries(self) -> list[CaseEntry]:
        """The cases that the viewer opens."""
        cases = self.shown.result.readings[self.rater].cases
        return [CaseEntry(place, cases[k], "", view.picture, view.data)
                for place, (k, view) in enumerate(self.views.items())]  # fmt: skip


def sections(feedback: Feedback) -> list[Section]:
    """The sections of the page, in order."""
    made = (_summary, _examples, _readings, _times, _about)
    return [_bare(section, feedback) for make in made if (section := make(feedback)) is not None]


def _bare(section: Section, feedback: Feedback) -> Section:
    """The section without addresses in tables that the rater does not have, and other names as codes."""
    codes = feedback.codes.names["rater"]

    def bare(part: str | Cell) -> str | Cell:
        return part if isinstance(part, str) else replace(part, at="", shown=codes.get(part.shown, part.shown))

    def table(block: PageTable) -> PageTable:
        # cells of tables are numbers and cases
        return replace(block, rows=tuple(tuple(replace(cell, at="") for cell in row) for row in block.rows))

    def cells(block: Block) -> Block:
        if isinstance(block, PageTable):
            return table(block)
        if isinstance(block, Cases):
            return replace(block, table=table(block.table))
        if isinstance(block, Paragraphs):
            return replace(block, sentences=tuple(tuple(map(bare, sentence)) for sentence in block.sentences))
        return block

    lead = tuple(tuple(map(bare, sentence)) for sentence in section.lead)
    return replace(section, lead=lead, blocks=tuple(map(cells, section.blocks)))


def _summary(feedback: Feedback) -> Section:
    claims, result = feedback.claims, feedback.shown.result
    lead, sizes = claims.sentences("feedback.overlap"), claims.sentences("feedback.size")
    if len(sizes) == 1:
        lead, sizes = (*lead, *sizes), ()
    lead = lead or ((NOTHING_SHARED,),)
    said = list(claims.sentences(*ALARMS))
    own = [one for one in result.suspicions if one.raters == (feedback.rater,)]
    if doubts := describe_doubts(own):
        said.append((*capitalise(doubts), ": please look at this again."))
    quiet = () if said else describe_changes(result.claims, feedback.rater)
    blocks: list[Block] = []
    if said:
        blocks.append(Paragraphs(tuple(said), "What you do differently", listed=True))
    elif quiet:
        blocks.append(Paragraphs((quiet,), "What changes"))
    if sizes:
        blocks.append(Paragraphs(sizes, "How large your marks are", listed=True))
    return Section("in-short", "In short", lead, tuple(blocks))


def _examples(feedback: Feedback) -> Section | None:
    if not feedback.examples:
        return None
    mine = feedback.shown.result.readings[feedback.rater]
    compared = sum(math.isfinite(value) for value in mine.dice)
    title = "Cases to look at"
    if not compared:
        return Section("cases", title, ((NOTHING_SHARED,),))
    chosen = mine.farthest(feedback.examples)
    if not chosen:
        return Section("cases", title, (describe_none_farther(compared, feedback.others),))
    if not feedback.views:
        text = (
            "The cases in which you differ most cannot be shown here: they are too large, or known from tallies alone."
        )
        return Section("cases", title, ((text,),))
    among = ", compared with how far these lie from each other" * (feedback.others > 1)
    lead: Sentence = (
        "Of the cases that you and others have read, these are the ones in which your masks lie farthest from the "
        f"others'{among}. To differ is not to be wrong: look whether you read the task as the others do.",
    )
    several = len(feedback.shown.result.panel.labels) > 1
    consensus = "the label that most of them gave" if several else "what half of them or more marked"
    key: Sentence = (
        "In the pictures: ", Cell("your outline", colour=OWN_COLOUR), ", ",
        Cell("the consensus of the others", colour=CONSENSUS_COLOUR), f" ({consensus}). Each picture opens the case, "
        "where the outlines of ", Cell("single raters", colour=OTHERS_COLOUR), " can be switched on.",
    )  # fmt: skip
    return Section("cases", title, (lead,), (Paragraphs((key,)), Cases(_example_table(feedback), large=True)))


def _example_table(feedback: Feedback) -> PageTable:
    mine, labels = feedback.shown.result.readings[feedback.rater], feedback.shown.labels
    names = feedback.shown.result.panel.labels
    columns = [
        Column("Case", number=False),
        Column("Dice with the others", "Mean over the others: 1 means identical masks."),
        *([Column("Dice of the others", "Of the others with each other.")] if feedback.others > 1 else []),
        *(Column("Relative size" + f", {label}" * bool(label), "Size over the median of the others'.")
          for label in labels),
        *([Column("Shown", number=False)] if any(v.slice or v.label for v in feedback.views.values()) else []),
    ]  # fmt: skip
    rows = []
    for k, view in feedback.views.items():
        cells = [case_cell(mine.cases[k]), _number(float(mine.dice[k]))]
        cells += [_number(float(mine.among[k]))] if feedback.others > 1 else []
        cells += [_number(float(mine.ratios[label][k])) for label in names]
        if len(columns) > len(cells):
            cells.append(text_cell(", ".join(filter(None, (view.label, f"slice {view.slice}" * bool(view.slice))))))
        rows.append(tuple(cells))
    return PageTable("examples", "The cases in which you differ most", tuple(columns), tuple(rows))


def _number(value: float) -> Cell:
    return Cell(number(value, 2), "" if math.isnan(value) else str(value))


def _readings(feedback: Feedback) -> Section:
    """What the rater has read, and what is open."""
    blocks: list[Block] = list(_charts(feedback, "coverage"))
    if (late := late_table(feedback.shown, feedback.rater)) is not None:
        blocks.append(late)
    return Section("readings", "Your readings", (), tuple(blocks))


def _times(feedback: Feedback) -> Section | None:
    drawn = tuple(_charts(feedback, "sizes-over-time", "dice-over-time", "minutes-over-time"))
    return Section("time", "Over time", (), (Beside(drawn),)) if drawn else None


def _charts(feedback: Feedback, *names: str) -> Iterator[Chart]:
    for name, svg in feedback.charts.items():
        if name.startswith(names):
            yield Chart(name, svg, OWN_CAPTIONS[next(key for key in OWN_CAPTIONS if name.startswith(key))])


def _about(feedback: Feedback) -> Section:
    told: Sequence[str] = (
        "The other raters have codes, which are the same each time; only who runs the study has the key.",
        "Cases that you have not read are not shown, so that you can read them without knowing the others' masks. "
        "Please do not change what you have read because of this page, unless you are asked to: talk about it first.",
        "Nothing here ranks raters: they may have read different cases, and the consensus of the others can be wrong.",
    )
    return Section("about", "About this page", (), (Paragraphs(tuple((text,) for text in told), listed=True),))
