"""What may be said about more raters, from a pilot: ranges, and "enough" only with a margin."""

from __future__ import annotations

import math

from ..core.undefined import Note, reason
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from ..ratings.planning.pilot import LabelPlan, PilotPlan
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, address, csv_text
from .sentences import Cell, Sentence, compose, number_word, spell_count

MORE_RATERS = ClaimKind(
    "plan.more_raters",
    "estimate",
    "The majority of k raters decides as that of a very large panel (or is right) in between a and b of the items.",
    "a pilot of two or more raters whose masks are not doubtful; in tables of ratings, ten or more subjects",
    "raters of equal and of very different thresholds; the range should hold the truth in 95% of pilots",
)
THIRD_RATER = ClaimKind(
    "plan.third_rater",
    "estimate",
    "A third rater would add between a and b percentage points.",
    "a pilot of two raters; otherwise as plan.more_raters",
    "as plan.more_raters",
)
ENOUGH_RATERS = ClaimKind(
    "plan.enough_raters",
    "equivalence",
    "The raters are enough by the margin given: two more would add less.",
    "a margin (--gain), ten or more subjects, three or more raters, masks that are not doubtful, and a p value below "
    "its threshold",
    "two more raters add exactly the margin",
)
WANTED = ClaimKind(
    "plan.wanted",
    "estimate",
    "Which panels reach the wanted accuracy whatever the distribution, and which cannot.",
    "--wanted; otherwise as plan.more_raters",
    "as plan.more_raters",
)
CHEAPEST = ClaimKind(
    "plan.cheapest",
    "estimate",
    "How many raters may have the lowest cost.",
    "--cost-rater and --cost-error; otherwise as plan.more_raters",
    "as plan.more_raters",
)

CAVEAT = (
    "This takes the pilot's raters for a random sample of all such raters, and is about how stable the majority is, "
    "not about what is right: a mistake that most share is not seen."
)
LARGER = 11
"""The larger panel that a sentence names, where the pilot has fewer raters by more than two."""
FIRST, MIN_RATERS = "pilot", 3


def consider_planning(
    log: ClaimLog, table: TableIndex, plan: PilotPlan, *, item: str = "", wanted: float | None = None,
    doubt: Note | None = None,
) -> None:  # fmt: skip
    """Consider every claim about a pilot; ``item`` is the word for its items, ``doubt`` why its masks are doubtful."""
    words = _Words(table, plan, plan.worst, item or plan.unit)
    why_not = doubt or _no_range(plan.worst)
    sentence = words.more_raters()
    cells = [part for part in sentence if isinstance(part, Cell)]
    result = words.more_raters(past=True)
    log.consider(MORE_RATERS, sentence, about=plan.worst.label, result=result, why_not=why_not)
    if plan.n_raters == 2:
        log.consider(THIRD_RATER, words.third_rater(), about=plan.worst.label, why_not=why_not)
    _consider_enough(log, words, doubt, cells)
    if wanted is not None:
        log.consider(WANTED, words.wanted(wanted), about=plan.worst.label, why_not=why_not)
    if not reason(plan.panels[0].cost.low):
        log.consider(CHEAPEST, words.cheapest(), about=plan.worst.label, why_not=why_not)


def _no_range(plan: LabelPlan) -> Note | None:
    why = reason(plan.now.accuracy.low)
    return Note("no_range", why) if why else None


def _consider_enough(log: ClaimLog, words: _Words, doubt: Note | None, cells: list[Cell]) -> None:
    """Whether two more raters add less than the margin, for every label."""
    plan = words.plan
    why_not, p_value = doubt, max(label.p_enough for label in plan.labels)
    if why_not is None and plan.gain is None:
        why_not = Note("no_margin", "no margin was given (--gain)")
    if why_not is None and (plan.n_subjects < MIN_SUBJECTS or plan.n_raters < MIN_RATERS):
        few = f"{spell_count(plan.n_subjects, 'subject')} and {spell_count(plan.n_raters, 'rater')}"
        why_not = Note("too_few_for_verdict", f"a verdict needs ten subjects and three raters; there are {few}")
    if why_not is None and math.isnan(p_value):
        why_not = Note("next_panel_not_computed", "the next panel was not computed")
    log.consider(ENOUGH_RATERS, words.enough(), rests_on=cells, why_not=why_not, p_value=p_value)


class _Words:
    """The sentences of a pilot, about one label."""

    def __init__(self, table: TableIndex, plan: PilotPlan, label: LabelPlan, item: str) -> None:
        self.table, self.plan, self.label, self.item = table, plan, label, item

    def row(self, statistic: str, k: int) -> Row | None:
        """The row of a panel of k raters."""
        return self.table.row(statistic, "pooled", FIRST, k, "", "", label=self.label.label)

    def between(self, statistic: str, k: int, *, points: bool = False) -> Cell:
        """``between 87% and 95%``, or ``between 0.0 and 2.3 percentage points``, with its address."""
        row = self.row(statistic, k)
        if row is None or row.low is None or row.high is None or math.isnan(row.low):
            return Cell("an unknown share" if row is None else "–")
        return range_cell(self.table.file, row, points=points)

    @property
    def where(self) -> str:
        """``of the pixels that any rater marked``."""
        if not self.plan.given_marked:
            return f"of the {self.item}s"
        if len(self.plan.labels) > 1:
            return f"of the {self.item}s to which any rater gave it"
        return f"of the {self.item}s that any rater marked"

    @property
    def larger(self) -> int:
        """The larger panel to name."""
        sizes = [panel.n_raters for panel in self.label.panels if panel.n_raters % 2]
        above = [k for k in sizes if k > self.label.n_raters]
        fitting = [k for k in above if k <= max(LARGER, self.label.n_raters + 2)]
        return (fitting or above or sizes)[-1]

    def more_raters(self, *, past: bool = False) -> Sentence:
        """How far the majority of the pilot's raters, and of more, can be relied on."""
        R, larger = self.label.n_raters, self.larger
        verb = ("was right" if past else "is right") if self.plan.source == "reference" else (
            "agreed with that of a very large panel" if past else "agrees with that of a very large panel"
        )  # fmt: skip
        ties = " (a tie counts half)" if R % 2 == 0 else ""
        here = self.between("majority_accuracy", min(R, len(self.label.panels)))
        first: Sentence = ()
        if len(self.plan.labels) > 1:
            text = "Of {} labels, {} has the lowest range. "
            first = compose(text.replace(" has ", " had ") if past else text, number_word(len(self.plan.labels)),
                            Cell(self.label.label))  # fmt: skip
        text = "{first}The majority of {R}{ties} {verb} in {here} {where}; that of {larger} in {there}."
        sentence = compose(
            text, first=first, R=number_word(R), ties=ties, verb=verb, here=here, where=self.where,
            larger=number_word(larger), there=self.between("majority_accuracy", larger),
        )  # fmt: skip
        return (*sentence, f" {CAVEAT}") if self.plan.source == "panel" and not past else sentence

    def third_rater(self) -> Sentence:
        """What a third rater adds."""
        text = "A third rater would add {}; with two, no more can be said."
        return compose(text, self.between("gain", 2, points=True))

    def enough(self) -> Sentence:
        """Two more raters add less than the margin."""
        margin = "the margin" if self.plan.gain is None else f"the margin of {100 * self.plan.gain:g}"
        gain = self.between("gain", self.label.n_raters, points=True)
        text = "{} are enough by the margin given: the next larger odd panel would add {}, less than {}."
        who = spell_count(self.label.n_raters, "rater")
        return compose(text, who[:1].upper() + who[1:], gain, margin)

    def wanted(self, wanted: float) -> Sentence:
        """Which panels reach what is wanted in any event, and which may."""
        panels = [p for p in self.label.panels if p.n_raters % 2 or self.plan.n_labels > 2]
        sure = next((p for p in panels if p.accuracy.low >= wanted), None)
        may = next((p for p in panels if p.accuracy.high >= wanted), None)
        most = panels[-1].n_raters
        if may is None:
            cell = self.between("majority_accuracy", most)
            return compose("No panel of up to {} raters reaches {}: that of {} is right in {} {}.", str(most),
                           f"{wanted:g}", str(most), cell, self.where)  # fmt: skip
        text = "{first} may reach {wanted} ({range}); {rest}."
        rest: Sentence = (f"up to {spell_count(most, 'rater')}, no panel surely does",)
        if sure is not None:
            verb = "does" if sure.n_raters == 1 else "do"
            cell = self.between("majority_accuracy", sure.n_raters)
            rest = compose("{} surely {} ({})", number_word(sure.n_raters), verb, cell)
        who = spell_count(may.n_raters, "rater")
        cell = self.between("majority_accuracy", may.n_raters)
        return compose(text, first=who[:1].upper() + who[1:], wanted=f"{wanted:g}", range=cell, rest=rest)

    def cheapest(self) -> Sentence:
        """How many raters may have the lowest cost."""
        row = next((r for r in self.table.all("best_raters", "pooled", label=self.label.label)), None)
        if row is None or row.low is None or math.isnan(row.low):
            return ("The lowest cost is not known.",)
        low, high = int(row.low), int(row.high or row.low)
        shown = number_word(low) if low == high else f"between {number_word(low)} and {number_word(high)}"
        cell = _cell(self.table.file, row, shown)
        return compose("By the costs given, the best panel has {} rater{}.", cell, "s" if high > 1 else "")


def range_cell(file: str, row: Row, *, points: bool = False) -> Cell:
    """The range of a row: ``between 87% and 95%``, or ``between 0.1 and 2.0 percentage points``."""
    ends = [float("nan") if end is None else float(end) for end in (row.low, row.high)]
    if points:
        least, most = (f"{100 * end:.1f}".replace("-0.0", "0.0").replace("-", "−") for end in ends)
        shown = f"between {least} and {most} percentage points"
    else:
        shown = "between {:.0%} and {:.0%}".format(*ends)
    return _cell(file, row, shown)


def _cell(file: str, row: Row, shown: str) -> Cell:
    low, high = (csv_text(None if end is None else float(end)) for end in (row.low, row.high))
    return Cell(shown, csv_text(float(row.value)), low, high, address(file, row), reason(row.value))
