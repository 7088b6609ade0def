"""Claims about a study while it runs: what is there, what is late, how far raters agree so far, and what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.undefined import Note, Undefined, code
from ..inference.drift_tests import MOST_RATERS
from ..inference.intervals import MIN_SUBJECTS
from ..inference.rater_tests import FEWEST_RATERS
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined, telling_digits
from .sentences import Cell, Sentence, case_links, compose, counted, join_parts, label_words, number_word, spell_count

COVERAGE = ClaimKind(
    "progress.coverage", "description", "So many of the readings that were asked for are there, and so many are late.",
    "Somebody was asked for a reading: by the reading log, or by an assignment.",
)  # fmt: skip
SO_FAR = ClaimKind(
    "progress.agreement", "estimate", "So far, two raters overlap by a Dice of so much.",
    f"Dice is defined for a subject; the interval needs {MIN_SUBJECTS} subjects.", "coverage of the interval",
)  # fmt: skip
WIDTH = ClaimKind(
    "progress.width", "estimate",
    "The interval of mean Dice is as narrow as wanted, or about so many more subjects are needed for that.",
    f"{MIN_SUBJECTS} subjects with a Dice, which are not all the same; further ones are taken to be like these",
    "normal and skewed values; the range should hold the number that the true standard deviation asks for",
)  # fmt: skip
PACE = ClaimKind(
    "progress.pace", "description",
    "At the pace of the last four weeks, the open readings take so many more weeks.",
    "Readings have dates, the study runs for two weeks or more, and every rater with open readings has read some in "
    "the last four weeks.",
)  # fmt: skip
TESTED = (
    f"{FEWEST_RATERS} to {MOST_RATERS} raters, {MIN_SUBJECTS} subjects that three of them have read at known times; "
    "partial rank correlation with time given size and group of the subject, adjusted by Holm over raters and labels, "
    "and for all looks together by a share of the error rate for each; without masks that are probably broken, copied "
    "or of another label"
)
STEADY = "No rater changes: the order of the cases in time does not matter."
DRIFT_SIZE = ClaimKind(
    "progress.drift_size", "difference", "A rater comes to draw larger, or smaller, beside the others.",
    f"{TESTED}; the same trend, at 0.01, beside more than half of the others one by one, of those with half of the "
    "rater's subjects; and in the later half of the rater's readings as in the trend", STEADY,
)  # fmt: skip
DRIFT_DISTANCE = ClaimKind(
    "progress.drift_distance", "difference",
    "A rater comes to lie farther from the others than these lie from each other.",
    f"{TESTED}; at 0.01 also the rater's own distance, and its ratio to that of the others, rise; the later half of "
    "the readings is farther", STEADY,
)  # fmt: skip
COPIES = ClaimKind(
    "progress.copies", "description",
    "Masks of two raters are nearly the same, far more often than those of other pairs.",
    "Three raters or more; three masks or more with the same label for more than 98% of the pixels where either gave "
    "another label than the most frequent one, where the median of the other pairs is below 90%, or for all of them, "
    "where no other pair is equal; more than chance among the other pairs explains (binomial, 0.01 over all pairs); "
    "not known as edits",
)  # fmt: skip
LABELS = ClaimKind(
    "progress.labels", "description",
    "A rater gives a label of their own where most others give another one at the same place.",
    "Three such cases or more; in each, nobody else gave the rater's label, two others or more, and more than half of "
    "them, gave the other one, which the rater did not, and the marks overlap by a Dice of 0.5 or more (median)",
)  # fmt: skip
SINCE = ClaimKind(
    "progress.since", "description",
    "Masks of a rater are odd, or those of two raters nearly the same, since some time, and were not before.",
    "Three such masks or more; Fisher's exact test of the most likely time, times the number of possible ones, at 0.01",
)  # fmt: skip
KINDS = (COVERAGE, SO_FAR, WIDTH, PACE, DRIFT_SIZE, DRIFT_DISTANCE, COPIES, LABELS, SINCE)
ALARMS = (DRIFT_SIZE.id, DRIFT_DISTANCE.id, COPIES.id, LABELS.id, SINCE.id)
"""Claims that something goes wrong."""

DRIFT_STATISTICS = {"size": "relative_size", "distance": "excess_distance"}
"""The statistic of the table ``drift`` by what is tested."""
ODD = {
    "all_marked": "mark nearly the whole image", "inverted": "fit the others' only when inverted",
    "turned": "fit the others' only when turned or flipped", "shifted": "fit the others' only when moved",
    "scaled": "fit the others' only when scaled", "other_case": "fit another case",
    "other_labels": "fit the others' only with {change}", "identical_cases": "are the same as of another case",
    "missing_marks": "are empty where the others mark much", "speckle": "hold many single pixels",
    "pinholes": "hold many holes of one pixel", "renamed": "have {change}",
}  # fmt: skip
"""What is odd about masks, by the kind of suspicion."""


@dataclass(frozen=True)
class DriftFound:
    """The test of a rater for drift.

    Attributes
    ----------
    rater, label : str
        Of whom, and of which label where there are several.
    measure : {"size", "distance"}
        What was tested.
    p_value : float
        Adjusted for raters, labels and looks; NaN where it was not tested.
    sign : int
        1 for larger or farther, −1 for smaller.
    n : int
        Subjects.
    correlation : float
        With time, at the last look.
    look : str
        The end of the period at which it was seen first, or was nearest to being seen.
    split : str
        When the later half of the rater's readings begins.
    halves : tuple of float
        Size over the others', or distance beyond theirs, in the earlier and the later half.
    counts : tuple of int
        Subjects of the halves.
    """

    rater: str
    label: str
    measure: str
    p_value: float
    sign: int
    n: int
    correlation: float
    look: str
    split: str
    halves: tuple[float, float]
    counts: tuple[int, int]


@dataclass(frozen=True)
class CopyFound:
    """Two raters with nearly equal masks.

    Attributes
    ----------
    raters : tuple of str
        The two.
    cases : tuple of str
        The cases.
    of : int
        How many cases both read.
    later : str
        Whose readings began later in all of these cases; empty where that is not so, or not known.
    others : tuple of int
        How many masks of other pairs are as much alike, and of how many.
    """

    raters: tuple[str, str]
    cases: tuple[str, ...]
    of: int
    later: str
    others: tuple[int, int]


@dataclass(frozen=True)
class RenamedFound:
    """A rater with a label of their own.

    Attributes
    ----------
    rater, own, theirs : str
        Who gives which label, and which one the others.
    cases : tuple of str
        The cases.
    of : int
        How many cases the rater read.
    """

    rater: str
    own: str
    theirs: str
    cases: tuple[str, ...]
    of: int

    @property
    def change(self) -> str:
        """``label 2 in place of label 1``."""
        return f"{label_words(self.own)} in place of {label_words(self.theirs)}"


@dataclass(frozen=True)
class OnsetFound:
    """Since when masks are odd.

    Attributes
    ----------
    kind : str
        Kind of the suspicion, ``renamed`` or ``copies``.
    raters : tuple of str
        Whose masks.
    change : str
        What would make them fit, of other labels; which label stands in place of which.
    after, start : str
        The change came after the reading of ``after``, and not later than that of ``start``.
    before, later : tuple of int
        Masks that are odd and all masks, before the most likely time and from it on.
    p_value : float
        Of there being no change.
    """

    kind: str
    raters: tuple[str, ...]
    change: str
    after: str
    start: str
    before: tuple[int, int]
    later: tuple[int, int]
    p_value: float


@dataclass(frozen=True)
class Pace:
    """How fast readings come.

    Attributes
    ----------
    weeks : float
        For so many weeks the slowest rater has open readings, at the pace of the last four.
    slowest : str
        This rater.
    open : int
        Open readings of all.
    per_week : float
        Readings of all raters in a week of the last four.
    why_not : Note or None
        Why nothing is said.
    """

    weeks: float = 0.0
    slowest: str = ""
    open: int = 0
    per_week: float = 0.0
    why_not: Note | None = None


@dataclass(frozen=True)
class ProgressFacts:
    """What claims about progress rest on besides the tables."""

    overlap: str
    subject: str
    raters: tuple[str, ...]
    width: float
    asked: bool
    """Whether it is known who was asked for what."""
    pace: Pace
    drift: tuple[DriftFound, ...] = ()
    copies: tuple[CopyFound, ...] = ()
    renamed: tuple[RenamedFound, ...] = ()
    onsets: tuple[OnsetFound, ...] = ()
    untested: Note | None = None
    """Why nobody was tested for drift."""
    untimed: Note | None = None
    """Why nothing can be said about when something began."""


def consider_progress(log: ClaimLog, tables: Mapping[str, TableIndex], facts: ProgressFacts) -> None:
    """Consider every claim about progress."""
    _consider_coverage(log, tables["statuses"], facts)
    _consider_pace(log, facts.pace)
    _consider_so_far(log, tables["agreement"], facts)
    _consider_width(log, tables["width"], tables["agreement"].row(facts.overlap), facts)
    for kind, measure in ((DRIFT_SIZE, "size"), (DRIFT_DISTANCE, "distance")):
        _consider_drift(log, kind, measure, tables["drift"], facts)
    _consider_copies(log, tables["copies"], facts)
    _consider_labels(log, tables["renamed"], facts)
    _consider_since(log, tables["onsets"], facts)


def _consider_coverage(log: ClaimLog, table: TableIndex, facts: ProgressFacts) -> None:
    asked, read, late = (table.row(name, "pooled", "") for name in ("asked", "read", "late"))
    if not facts.asked or not is_defined(asked) or not asked.value:
        why = Note("nobody_asked", "it is not known who was asked for what: there is neither a reading log nor an "
                                   "assignment")  # fmt: skip
        log.consider(COVERAGE, (COVERAGE.says,), why_not=why)
        return
    assert read is not None
    assert late is not None
    text = "{} of {} readings {} there"
    sentence = compose(
        text, table.quote(read, 0), table.quote(asked, 0), "is" if read.value == 1 else "are",
    )  # fmt: skip
    if late.value:
        sentence = (*sentence, *compose("; {} of the others {} late.", table.quote(late, 0),
                                        "is" if late.value == 1 else "are"))  # fmt: skip
    else:
        sentence = (*sentence, ".")
    log.consider(COVERAGE, sentence)


def _consider_pace(log: ClaimLog, pace: Pace) -> None:
    if pace.why_not is not None:
        log.consider(PACE, (PACE.says,), why_not=pace.why_not)
        return
    text = (
        "At the pace of the last four weeks ({} readings a week), the {} open {} would take {}: so long rater {} needs "
        "for their part."
    )
    whole = round(pace.weeks)
    weeks = "less than a week" if pace.weeks < 1 else f"about {spell_count(whole, 'week')}"
    sentence = compose(
        text, f"{pace.per_week:.1f}", number_word(pace.open), "reading" if pace.open == 1 else "readings", weeks,
        Cell(pace.slowest),
    )  # fmt: skip
    log.consider(PACE, sentence)


def _consider_so_far(log: ClaimLog, table: TableIndex, facts: ProgressFacts) -> None:
    row = table.row(facts.overlap)
    if not is_defined(row):
        log.consider(SO_FAR, (SO_FAR.says,), why_not=Note("undefined", "no two raters marked the same case"))
        return
    labels = "" if facts.overlap == "dice" else ", on average over labels"
    text = "So far, two raters overlap by a mean Dice of {} over {}{}{}."
    none = ""
    if not has_interval(row):
        alike = isinstance(row.low, Undefined) and code(row.low) == "no_spread"
        why = ": it is the same in all" if alike else f" with fewer than {number_word(MIN_SUBJECTS)}"
        none = f" (no interval{why})"
    log.consider(
        SO_FAR,
        compose(text, table.quote(row, telling_digits(row.value)), counted(row.n or 0, facts.subject), labels, none),
    )


def _consider_width(log: ClaimLog, table: TableIndex, mean: Row | None, facts: ProgressFacts) -> None:
    rows = [
        table.row(f"{facts.overlap}_{name}", "mean", facts.width)
        for name in ("width", "subjects_needed", "more_subjects")
    ]
    width, _, more = rows
    if width is None or more is None:
        n = mean.n or 0 if mean is not None else 0
        why = Note("no_spread", f"Dice is the same in all {counted(n, facts.subject)}")
        if n < MIN_SUBJECTS:
            few = f"it takes {number_word(MIN_SUBJECTS)} {facts.subject}s of which Dice is known, and there "
            why = Note("too_few_subjects", f"{few}{'is' if n == 1 else 'are'} {number_word(n)}")
        log.consider(WIDTH, (WIDTH.says,), why_not=why)
        return
    if width.value <= facts.width:
        text = "The interval of mean Dice is {} wide, which is narrow enough for the wanted {}."
        log.consider(WIDTH, compose(text, table.quote(width, 3), f"{facts.width:g}"))
        return
    text = "For an interval of mean Dice of width {}, about {} more {}s are needed, if they are like those so far."
    log.consider(WIDTH, compose(text, f"{facts.width:g}", table.quote(more, 0), facts.subject))


def _consider_drift(log: ClaimLog, kind: ClaimKind, measure: str, table: TableIndex, facts: ProgressFacts) -> None:
    mine = [one for one in facts.drift if one.measure == measure]
    if facts.untested is not None or not mine:
        why = facts.untested or Note("not_tested", "no rater could be tested")
        log.consider(kind, (kind.says,), why_not=why)
        return
    for one in mine:
        sentence = _drift_sentence(one, measure, table)
        about = one.rater
        if one.p_value != one.p_value:
            few = Note("too_few_subjects", f"there are {one.n} {facts.subject}s; it takes {number_word(MIN_SUBJECTS)}")
            log.consider(kind, sentence, about=about, why_not=few)
            continue
        ahead = (one.halves[1] - one.halves[0]) * one.sign > 0
        withheld = None if ahead else Note("no_longer_seen", "the later half of the readings does not show it")
        log.consider(kind, sentence, about=about, p_value=one.p_value, withheld=withheld)


def _drift_sentence(one: DriftFound, measure: str, table: TableIndex) -> Sentence:
    name = DRIFT_STATISTICS[measure]
    early, late = (
        table.cell(name, "mean", one.rater, measure, group=group, label=one.label) for group in ("earlier", "later")
    )
    of = f", of {label_words(one.label)}" if one.label else ""
    if measure == "size":
        text = (
            "Rater {} has come to draw {}{} beside the others: their marks were {} times as large as the others' in "
            "the earlier half of their readings, and {} times from {} on (first seen by {})."
        )
        words: tuple[str | Cell, ...] = (
            Cell(one.rater),
            "larger" if one.sign > 0 else "smaller",
            f" marks{of}" if of else "",
            early,
            late,
            one.split,
            one.look,
        )
        return compose(text, *words)
    text = (
        "Rater {} has moved away from the others: the mean Dice distance to them exceeded theirs among themselves by "
        "{} in the earlier half of the rater's readings, and by {} from {} on (first seen by {})."
    )
    return compose(text, Cell(one.rater), early, late, one.split, one.look)


def _too_few_raters(facts: ProgressFacts) -> Note | None:
    if len(facts.raters) >= FEWEST_RATERS:
        return None
    return Note("too_few_raters", f"there are {len(facts.raters)} raters; it takes {number_word(FEWEST_RATERS)}")


def _consider_copies(log: ClaimLog, table: TableIndex, facts: ProgressFacts) -> None:
    if not facts.copies:
        why = _too_few_raters(facts) or Note("none_found", "no two raters are so much more alike than the others")
        log.consider(COPIES, (COPIES.says,), why_not=why)
        return
    for one in facts.copies:
        row, other = (
            table.row(name, "pooled", *one.raters)
            for name in ("nearly_equal_masks", "nearly_equal_masks_of_other_pairs")
        )
        assert row is not None
        assert other is not None
        text = (
            "Raters {} and {} have nearly the same mask in {} of {} cases that both read ({}), other pairs in {} of "
            "{}: one may be a copy or an edit of the other{}. If so, say it under based_on in reads.csv."
        )
        who: Sentence = (
            compose("; {}'s readings began later in all of these cases", Cell(one.later)) if one.later else ()
        )
        cells = (Cell(one.raters[0]), Cell(one.raters[1]), table.quote(row, 0), str(one.of))
        log.consider(
            COPIES,
            compose(text, *cells, case_links(one.cases, 3), table.quote(other, 0), str(one.others[1]), who),
            about=" and ".join(one.raters),
        )


def _consider_labels(log: ClaimLog, table: TableIndex, facts: ProgressFacts) -> None:
    if not facts.renamed:
        why = _too_few_raters(facts) or Note("none_found", "nobody gives a label of their own in place of another one")
        log.consider(LABELS, (LABELS.says,), why_not=why)
        return
    for one in facts.renamed:
        row = table.row("renamed_masks", "pooled", one.rater, one.own, one.theirs)
        assert row is not None
        text = (
            "In {} of {} cases of rater {} ({}), the rater gave {}, which nobody else gave there, in the place of {} "
            "of most others: probably another name for the same."
        )
        words = (table.quote(row, 0), str(one.of), Cell(one.rater))
        sentence = compose(text, *words, case_links(one.cases, 3), label_words(one.own), label_words(one.theirs))
        log.consider(LABELS, sentence, about=one.rater)


def _consider_since(log: ClaimLog, table: TableIndex, facts: ProgressFacts) -> None:
    if not facts.onsets:
        why = facts.untimed or Note("none_found", "no change was found")
        log.consider(SINCE, (SINCE.says,), why_not=why)
        return
    for one in facts.onsets:
        extra = (one.kind, " and ".join(one.raters), one.change, one.after, one.start)
        before, later = (table.cell("marked", "pooled", *extra, group=group, digits=0) for group in ("before", "after"))
        names: Sentence = join_parts([(Cell(rater),) for rater in one.raters])
        if one.kind == "copies":
            start = compose("{} of {} masks of raters {} are nearly the same", later, str(one.later[1]), names)
        else:
            odd = ODD[one.kind].replace("{change}", one.change)
            start = compose("{} of {} masks of rater {} {}", later, str(one.later[1]), names, odd)
        when = f"between {one.after} and {one.start}" if one.after != one.start else f"on {one.start}"
        log.consider(
            SINCE, compose("{}, and {} of {} before: this began {}.", start, before, str(one.before[1]), when),
            about=" and ".join(one.raters),
        )  # fmt: skip
