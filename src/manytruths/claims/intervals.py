"""What is said beside a mean: whom its interval is about, and how many cases failed, without any overlap.

The interval over subjects speaks of the same raters, which is easily overlooked. With one subject in ten failing, ten
subjects hold no failure in a third of all studies, and the interval of the mean is then far too narrow
(docs/coverage.md). So the number of failed cases, the share of subjects who have one, and the mean of the other cases
stand beside the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.labels import MACRO
from ..core.undefined import Note
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined
from .sentences import Sentence, case_links, compose, counted, number_word

THESE_RATERS = ClaimKind(
    "agreement.these_raters",
    "description",
    "Intervals speak of these two raters: how far other raters would agree cannot be told from two.",
    "Two named raters, and an interval over subjects.",
)
FAILURES = ClaimKind(
    "agreement.failures",
    "description",
    "In so many cases only one rater marked anything, or no two raters overlap; the mean of the others is given.",
    "Some cases, but not all of them, have a Dice of 0; one label.",
)


def consider_these_raters(log: ClaimLog, table: TableIndex, raters: int, each: str) -> None:
    """Consider saying that intervals over subjects are about these two raters."""
    known = [name for name in ("dice", "fleiss_kappa", "percent_agreement") if has_interval(table.row(name))]
    why = None if known else Note("no_interval", f"there is no interval over {each}s")
    why = why if raters == 2 else Note("other_number", f"it is said of two raters; there are {number_word(raters)}")
    about = f"for other {each}s and these two raters"
    text = f"The intervals {{}} {about}: how far others would agree cannot be told from two."
    log.consider(THESE_RATERS, (text.format("are"),), result=(text.format("were"),), why_not=why)


def consider_rater_failures(
    log: ClaimLog, table: TableIndex, each: str, *, alone: Sequence[str] = (), apart: Sequence[str] = ()
) -> None:
    """Consider saying in how many cases two raters have no overlap.

    ``alone`` are cases in which one rater marked something and nobody else did, ``apart`` others without overlap.
    """
    mean = table.row("dice")
    if is_defined(mean) and mean.label == MACRO:
        why = Note("several_labels", "there are several labels, and cases are counted for one")
        log.consider(FAILURES, ("In some cases no two raters overlap.",), why_not=why)
        return
    texts = [(alone, "only one rater marked anything"), (apart, "no two raters {}")]
    found = [(cases, text) for cases, text in texts if cases]

    def what(verb: str) -> Sentence:
        if len(found) < 2:
            return ((found or texts)[-1][1].format(verb),)
        parts = [compose(f"{number_word(len(c))} ({{}}) {text.format(verb)}", case_links(c)) for c, text in found]
        dice = "is" if verb == "overlap" else "was"
        return compose(f"the Dice of two raters {dice} 0 (in {{}}; in {{}})", *parts)

    named = compose(" ({})", case_links(found[0][0])) if len(found) == 1 else ()
    consider_failures(log, table, each=each, who=(what("overlap"), what("overlapped")), named=named)


def consider_failures(
    log: ClaimLog,
    table: TableIndex,
    *extra: object,
    statistic: str = "dice",
    label: str = "",
    each: str = "case",
    who: tuple[Sentence, Sentence] = (("no two raters overlap",), ("no two raters overlapped",)),
    named: Sentence = (),
    title: str = "the mean Dice of two raters",
    about: str = "",
    kind: ClaimKind = FAILURES,
) -> None:
    """Consider saying in how many cases there is no overlap, of how many subjects, and the mean without these cases.

    ``who`` says what failed, now and in the past; ``named`` names the cases, and ``title`` the mean; ``extra`` and
    ``label`` select the rows.
    """
    mean, *parts = (
        table.row(f"{statistic}{part}", "mean", *extra, label=label)
        for part in ("", "_failed_cases", "_failures", "_without_failures")
    )
    if not is_defined(mean):
        return
    failed, share, rest = (row if is_defined(row) else None for row in parts)
    if failed is None or share is None or rest is None:
        log.consider(kind, compose("In some cases {}.", who[0]), about=about, why_not=_why_no_failure(mean))
        return
    them = "this case" if failed.value == 1 else "these cases"
    numbers = (table.quote(failed, 0), (f" of {counted(failed.n or 0, 'case')}", *named))
    means = (title, table.quote(mean), table.quote(rest))
    now = compose("In {}{}{} {}{}: {} is {} with {them} and {} without.", *numbers,
                  *_around(table, share, each, who[0], "have", "has"), *means, them=them)  # fmt: skip
    then = compose("In {}{}{} {}{}; {} was {} with {them} and {} without.", *numbers,
                   *_around(table, share, each, who[1], "had", "had"), *means, them=them)  # fmt: skip
    log.consider(kind, now, about=about, result=then, rests_on=[table.quote(share, 0, percent=True)])


def _around(table: TableIndex, share: Row, each: str, who: Sentence, many: str, one: str) -> tuple[Sentence, ...]:
    """What failed, with the share of subjects who have such a case before it or behind it."""
    percent: Sentence = (", ", table.quote(share, 0, percent=True)) if has_interval(share) else ()
    if each == "case":
        return (*percent, ",") if percent else (), who, ()
    subjects = round(share.value * (share.n or 0))
    have = f"; {number_word(subjects)} of {counted(share.n or 0, each)} {one if subjects == 1 else many} such a case"
    return (), who, (have, *percent)


def _why_no_failure(mean: Row) -> Note:
    if mean.value == 0:
        return Note("every_case_failed", "there is no overlap in any case")
    return Note("no_failure", "every case has some overlap")
