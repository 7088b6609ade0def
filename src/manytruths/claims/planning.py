"""What may be said about more raters, from a pilot: ranges, and "enough" only with a margin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..core.tally import Tallies, pool
from ..core.undefined import Note, reason
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from ..raters.dependence import possible_copies
from ..ratings.planning.pilot import ConsensusChange, LabelPlan, PilotPlan
from ..study.suspicions import Suspicion
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, address, csv_text
from .sentences import Cell, Sentence, compose, label_words, number_word, spell_count

MORE_RATERS = ClaimKind(
    "plan.more_raters",
    "estimate",
    "The majority of k raters decides as that of a very large panel (or is right) in a to b of the items.",
    "a pilot of two or more raters whose masks are not doubtful; in tables of ratings, ten or more subjects; of two "
    "raters the range of what they marked and the range with allowance",
    "raters of equal and of very different thresholds; the range should hold the truth in 95% of pilots",
)
THIRD_RATER = ClaimKind(
    "plan.third_rater",
    "estimate",
    "A third rater would add a to b percentage points to the share of items that the majority decides so.",
    "a pilot of two raters; otherwise as plan.more_raters",
    "as plan.more_raters",
)
ENOUGH_RATERS = ClaimKind(
    "plan.enough_raters",
    "equivalence",
    "The raters are enough by the margin given: two more would add less.",
    "a margin (--gain), ten or more subjects with items that count, three or more raters, masks that are not doubtful, "
    "and a p value below its threshold",
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

MORE_READINGS = ClaimKind(
    "plan.change",
    "estimate",
    "If two more raters read, the consensus by vote would change in a to b of the pixels that any rater marked.",
    "three or more raters read the same number of cases, whose masks are not doubtful, and marked something",
    "real panels, of which two further raters are known; the range should hold the truth in 95% of subsets",
)

CAVEAT = (
    "This takes the pilot's raters for a random sample of all such raters, and is about how stable the majority is, "
    "not about what is right: a mistake that most share is not seen."
)
LARGER = 11
"""The larger panel that a sentence names, where the pilot has fewer raters by more than two."""
FIRST, MIN_RATERS = "pilot", 3
NO_GAIN, WIDE_GAIN = 0.0005, 0.05
"""A gain of which the range begins at no more than this, and ends beyond that, is not known at all."""
LOST, COPIES, HARMLESS = ("missing_marks",), ("identical_raters", "identical_cases"), ("identical_sessions",)
"""Kinds of suspicions about masks; two equal sessions do not make the one that is counted doubtful."""


def consider_planning(
    log: ClaimLog, table: TableIndex, plan: PilotPlan, *, item: str = "", subject: str = "subject", raters: int = 0,
    wanted: float | None = None, doubt: Note | None = None,
) -> None:  # fmt: skip
    """Consider every claim about a pilot.

    ``item`` and ``subject`` are the words for its items and subjects, ``raters`` how many it has in all, ``doubt`` says
    why its masks are doubtful.
    """
    words = _Words(table, plan, plan.worst, item or plan.unit, subject, raters)
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


CHANGES = ("raters", "more", "items")
"""The own columns of the table of changes by more raters."""


def consider_changes(
    log: ClaimLog, table: TableIndex, changes: Sequence[ConsensusChange], *, item: str, doubt: Note | None
) -> None:
    """Consider in how many pixels the consensus would change by more raters, for the label that may change most."""
    if not changes:
        why = "no three raters have read the same case, or nobody marked anything"
        sentence: Sentence = ("If two more raters read, the consensus would change in an unknown share of the pixels.",)
        log.consider(MORE_READINGS, sentence, why_not=Note("too_few_readings", why))
        return
    worst = max(changes, key=lambda change: change.share.high)
    share, items = (
        table.row(name, "pooled", worst.n_raters, worst.more, worst.n_items, label=worst.label)
        for name in ("changed_share", "changed_items")
    )
    assert share is not None
    assert items is not None
    which = f"For {label_words(worst.label)}, whose range ends highest: if" if len(changes) > 1 else "If"
    sentence = compose(
        "{which} {more} more raters read the {cases} that {raters} have read, the consensus by vote would change in "
        "{share} of the {item}s {marked}, in fewer than {most} of {all}. {caveat}",
        which=which, more=number_word(worst.more), cases=spell_count(worst.n_cases, "case"),
        raters=spell_count(worst.n_raters, "rater"), share=range_cell(table.file, share, digits=1), item=item,
        marked="to which any of them gave it" if len(changes) > 1 else "that any of them marked",
        most=_cell(table.file, items, f"{math.floor(float(items.high or 0)) + 1:,}"), all=f"{worst.n_items:,}",
        caveat=_say_allowance(worst),
    )  # fmt: skip
    log.consider(MORE_READINGS, sentence, about=worst.label, why_not=doubt)


def _say_allowance(change: ConsensusChange) -> str:
    """What the range is made for, and what it takes for granted."""
    level, sample = f"{change.share.level:.0%}", "a random sample of all such raters"
    if "raters" in change.allowance:
        return f"The range is made to hold in {level} of studies whose raters are {sample}."
    alone = f"allows, at {level}, for other cases alone" if change.allowance else "is of these masks alone"
    return f"The range {alone}, and takes the raters of a case for {sample}."


def doubt_masks(suspicions: Iterable[Suspicion], tallies: Tallies) -> Note | None:
    """Why the masks of a pilot cannot be taken for those of a sample of raters; None where nothing speaks against it.

    Only the sessions that are counted matter.
    """
    used = {(case, table.columns[i]) for case, table in tallies.items() for i in table.raters}
    columns = {column for _, column in used}
    kinds = {
        s.kind for s in suspicions if any((s.case, c) in used if s.case else c in columns for c in s.columns)
    } - {*HARMLESS}  # fmt: skip
    words = {
        "some masks are probably broken": bool(kinds - {*LOST, *COPIES}),
        "some masks may be lost": bool(kinds & {*LOST}),
        "some masks look like copies": bool(kinds & {*COPIES}) or _copies_stand_out(tallies),
    }
    said = [text for text, holds in words.items() if holds]
    return Note("masks_doubtful", "; ".join(said)) if said else None


def _copies_stand_out(tallies: Tallies) -> bool:
    """Whether some raters drew nearly the same; where most pairs did, the task is easy."""
    whole = pool(tallies, mixed=True)
    pairs = math.comb(len(whole.rater_names), 2)
    if whole.exchangeable or not pairs:
        return False
    copies = possible_copies(whole)
    return bool(copies) and 2 * len(copies) <= pairs


def allowance_words(plan: PilotPlan, subject: str) -> str:
    """What the ranges allow for: ``for patients and raters``, ``for patients``, ``for raters`` or nothing."""
    names = {"subjects": f"{subject}s", "raters": "raters"}
    made = " and ".join(names[name] for name in plan.allowance)
    return f"for {made}" if made else ""


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
        few = f"{spell_count(plan.n_subjects, words.subject)} and {spell_count(plan.n_raters, 'rater')}"
        text = f"a verdict needs ten {words.subject}s that count and three raters; there are {few}"
        why_not = Note("too_few_for_verdict", text)
    if why_not is None and math.isnan(p_value):
        why_not = Note("next_panel_not_computed", "the next panel was not computed")
    log.consider(ENOUGH_RATERS, words.enough(), rests_on=cells, why_not=why_not, p_value=p_value)


class _Words:
    """The sentences of a pilot, about one label."""

    def __init__(
        self, table: TableIndex, plan: PilotPlan, label: LabelPlan, item: str, subject: str, raters: int
    ) -> None:  # fmt: skip
        self.table, self.plan, self.label, self.item, self.subject = table, plan, label, item, subject
        self.raters = raters

    def row(self, statistic: str, k: int) -> Row | None:
        """The row of a panel of k raters."""
        return self.table.row(statistic, "pooled", FIRST, k, "", "", label=self.label.label)

    def range(self, statistic: str, k: int, *, points: bool = False) -> Cell:
        """``87% to 95%``, or ``0.0 to 2.3 percentage points``, with its address."""
        row = self.row(statistic, k)
        if row is None or row.low is None or row.high is None or math.isnan(row.low):
            return Cell("an unknown share" if row is None else "–")
        return range_cell(self.table.file, row, points=points)

    @property
    def where(self) -> str:
        """``of the pixels that any rater marked``."""
        if not self.plan.given_marked:
            return f"of the {self.item}s"
        which = "to which any rater gave it" if len(self.plan.labels) > 1 else "that any rater marked"
        return f"of the {self.item}s {which}{self._one_subject}"

    @property
    def _one_subject(self) -> str:
        if self.label.n_subjects > 1:
            return ""
        return " in this image" if self.plan.n_cases == 1 else f" in one {self.subject}"

    @property
    def verb(self) -> str:
        """What the majority does."""
        return "is right" if self.plan.source == "reference" else "agrees with that of a very large panel"

    @property
    def larger(self) -> int:
        """The larger panel to name."""
        sizes = [panel.n_raters for panel in self.label.panels if panel.n_raters % 2]
        above = [k for k in sizes if k > self.label.n_raters]
        fitting = [k for k in above if k <= max(LARGER, self.label.n_raters + 2)]
        return (fitting or above or sizes)[-1]

    def more_raters(self, *, past: bool = False) -> Sentence:
        """How far the majority of the pilot's raters, and of more, can be relied on."""
        sentence = self._of_two(past) if self.label.now.as_observed is not None else self._of_several(past)
        sentence = (*self._which_label(past), *sentence)
        return (*sentence, f" {CAVEAT}") if self.plan.source == "panel" and not past else sentence

    def _which_label(self, past: bool) -> Iterator[str | Cell]:
        ranged = [label for label in self.plan.labels if not reason(label.now.accuracy.low)]
        if len(self.plan.labels) > 1:
            which = "" if len(ranged) == len(self.plan.labels) else " that have a range"
            text = "Of {} labels{}, this {is_} about {}, whose range {is_} the lowest. "
            shown = (number_word(len(ranged)), which, Cell(label_words(self.label.label)))
            yield from compose(text, *shown, is_="was" if past else "is")

    def _of_several(self, past: bool) -> Sentence:
        R, larger = self.label.n_raters, self.larger
        here, there = (self.range("majority_accuracy", k) for k in (min(R, len(self.label.panels)), larger))
        more: Sentence = compose("that of {} in {}", number_word(larger), there)
        gain = self._gain_of_next()
        if here.shown == there.shown and gain is not None:
            more = gain
        text = "The majority of {R}{ties} {verb} in {here} {where}; {more}{open}."
        return compose(
            text, R=number_word(R), ties=" (a tie counts half)" if R % 2 == 0 else "", verb=self._tense(past),
            here=here, where=self.where, more=more, open=self._untold(past),
        )  # fmt: skip

    def _tense(self, past: bool) -> str:
        return self.verb.replace("is ", "was ").replace("agrees", "agreed") if past else self.verb

    def _gain_of_next(self) -> Sentence | None:
        """``two more raters would add 0.1 to 0.7 percentage points``; None where the next panel was not computed."""
        R = self.label.n_raters
        if len(self.label.panels) < R or reason(self.label.panels[R - 1].gain.low):
            return None
        step = R % 2 + 1 if self.plan.source == "panel" or self.plan.n_labels == 2 else 1
        text = "{} more rater{} would add {}"
        return compose(text, number_word(step), "s" if step > 1 else "", self.range("gain", R, points=True))

    def _untold(self, past: bool = False) -> str:
        """That the gain of more raters is not known, where its range holds 0 and is wide."""
        gain, margin = self.label.now.gain, self.plan.gain
        enough = margin is not None and gain.high < margin
        if reason(gain.low) or gain.low > NO_GAIN or gain.high < WIDE_GAIN or enough:
            return ""
        return f": whether more would help {'could not' if past else 'cannot'} be told from this pilot"

    def _of_two(self, past: bool) -> Sentence:
        """What fits the marks of two raters, and what their being two leaves open."""
        larger, tied = self.larger, self.row("tied_share", 2)
        differ = Cell("–")
        if tied is not None:
            differ = replace(_cell(self.table.file, tied, f"{tied.value:.0%}"), low="", high="")
        text = (
            "For {who}, who {differ} on {share} {where}, the majority (a tie counts half) {verb} in {here} of them, "
            "and that of {larger} in {there}, if any two raters {differ} as often."
        )
        who = "the two raters of each case"
        if "raters" in self.label.allowance:
            # with more of them, two are those of most cases
            who = "two of these raters" if self.raters > 2 else "these two raters"
        sentence = compose(
            text, who=who, differ="differed" if past else "differ", share=differ, where=self.where,
            verb=self._tense(past), here=self.range("majority_accuracy_as_observed", 2), larger=number_word(larger),
            there=self.range("majority_accuracy_as_observed", larger),
        )  # fmt: skip
        return (*sentence, *self._allowed_of_two(larger, past))

    def _allowed_of_two(self, larger: int, past: bool) -> Iterator[str | Cell]:
        made, verb = allowance_words(self.plan, self.subject), "was" if past else "is"
        here, there = (self.range("majority_accuracy", k) for k in (2, larger))
        if made and self.label.now.excludes_nothing:
            text = " With allowance {}, it {} {}: nothing {} excluded, and two raters tell no more."
            yield from compose(text, made, verb, here, verb)
        elif made:
            yield from compose(" With allowance {}, it {} {}, and that of {} {}.", made, verb, here,
                               number_word(larger), there)  # fmt: skip

    def third_rater(self) -> Sentence:
        """What a third rater adds, and to what."""
        what = "is right" if self.plan.source == "reference" else "is that of a very large panel"
        share = f"the share {self.where} {'in' if self.item == 'case' else 'on'} which the majority {what}"
        allowed, made = self.range("gain", 2, points=True), allowance_words(self.plan, self.subject)
        third = "A third rater of every case" if self.raters > 2 else "A third rater"
        if self.label.now.gain_as_observed is None:
            return compose(f"{third} would add {{}} to {{}}{{}}.", allowed, share, self._untold())
        text = f"{third} would add {{}} to {{}}, if any two raters differ as often as these{{}}{{}}."
        rest = compose("; with allowance {}, {}", made, allowed) if made else ()
        return compose(text, self.range("gain_as_observed", 2, points=True), share, rest, self._untold())

    def enough(self) -> Sentence:
        """Two more raters add less than the margin."""
        margin = self.plan.gain
        gain = self.range("gain", self.label.n_raters, points=True)
        text = "{} are enough{}: the next larger odd panel would add {}, less than {}."
        who = spell_count(self.label.n_raters, "rater")
        by, less = (" by the margin given", f"the margin of {100 * margin:g}") if margin is not None else ("", "…")
        return compose(text, who[:1].upper() + who[1:], by, gain, less)

    def wanted(self, wanted: float) -> Sentence:
        """Which panels reach what is wanted in any event, and which may."""
        panels = [p for p in self.label.panels if p.n_raters % 2 or self.plan.n_labels > 2]
        sure = next((p for p in panels if p.accuracy.low >= wanted), None)
        may = next((p for p in panels if p.accuracy.high >= wanted), None)
        most = panels[-1].n_raters
        if may is None:
            cell = self.range("majority_accuracy", most)
            return compose("No panel of up to {} raters reaches {}: that of {} {} in {} {}.", str(most),
                           f"{wanted:g}", str(most), self.verb, cell, self.where)  # fmt: skip
        text = "{first} may reach {wanted} ({range}); {rest}."
        rest: Sentence = (f"up to {spell_count(most, 'rater')}, no panel surely does",)
        if sure is not None:
            verb = "does" if sure.n_raters == 1 else "do"
            cell = self.range("majority_accuracy", sure.n_raters)
            rest = compose("{} surely {} ({})", number_word(sure.n_raters), verb, cell)
        who = spell_count(may.n_raters, "rater")
        cell = self.range("majority_accuracy", may.n_raters)
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


def range_cell(file: str, row: Row, *, points: bool = False, digits: int = 0) -> Cell:
    """The range of a row: ``87% to 95%``, or ``0.1 to 2.0 percentage points``."""
    ends = [float("nan") if end is None else float(end) for end in (row.low, row.high)]
    if points:
        least, most = (f"{100 * end:.1f}".replace("-0.0", "0.0").replace("-", "−") for end in ends)
        shown = f"{least} to {most} percentage points"
    else:
        shown = "{:.{digits}%} to {:.{digits}%}".format(*ends, digits=digits)
    return _cell(file, row, shown)


def _cell(file: str, row: Row, shown: str) -> Cell:
    low, high = (csv_text(None if end is None else float(end)) for end in (row.low, row.high))
    return Cell(shown, csv_text(float(row.value)), low, high, address(file, row), reason(row.value))
