"""What is said beside a mean: whom its interval is about, and the share of failures, subjects without any overlap.

The interval over subjects speaks of the same raters, which is easily overlooked. With one subject in ten failing, ten
subjects hold no failure in a third of all studies, and the interval of the mean is then far too narrow
(docs/coverage.md). So the share of failures and the mean without them stand beside the mean.
"""

from __future__ import annotations

from ..core.undefined import Note
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined
from .sentences import Sentence, compose, spell_count

THESE_RATERS = ClaimKind(
    "agreement.these_raters",
    "description",
    "Intervals speak of these two raters: how far other raters would agree cannot be told from two.",
    "Two named raters, and an interval over subjects.",
)
FAILURES = ClaimKind(
    "agreement.failures",
    "description",
    "In so many subjects there is no overlap at all; the mean of the others is given.",
    "Some subjects, but not all of them, have an overlap of 0.",
)


def consider_these_raters(log: ClaimLog, table: TableIndex, raters: int, each: str) -> None:
    """Consider saying that intervals over subjects are about these two raters; from three on, there are others."""
    known = [name for name in ("dice", "fleiss_kappa", "percent_agreement") if has_interval(table.row(name))]
    why = None if known else Note("no_interval", "there is no interval over subjects")
    why = why if raters == 2 else Note("other_interval", "from three raters on, there is an interval for others")
    about = f"for other {each}s and these two raters"
    text = f"The intervals {{}} {about}: how far others would agree cannot be told from two."
    log.consider(THESE_RATERS, (text.format("are"),), result=(text.format("were"),), why_not=why)


def consider_failures(
    log: ClaimLog,
    table: TableIndex,
    *extra: object,
    statistic: str = "dice",
    label: str = "",
    each: str = "case",
    who: tuple[Sentence, Sentence] = (("no two raters overlap",), ("no two raters overlapped",)),
    title: str = "the mean Dice coefficient of two raters",
    about: str = "",
    kind: ClaimKind = FAILURES,
) -> None:
    """Consider saying how many subjects failed.

    ``who`` says what failed, now and in the past; ``title`` names the mean; ``extra`` and ``label`` select the rows.
    """
    mean, share, rest = (
        table.row(f"{statistic}{part}", "mean", *extra, label=label) for part in ("", "_failures", "_without_failures")
    )
    if not is_defined(mean):
        return
    n = spell_count(mean.n or 0, each)
    if not is_defined(share) or not is_defined(rest):
        every = mean.value == 0
        why = Note("every_subject_failed", "it is so in all") if every else Note("no_failure", "all have some overlap")
        log.consider(kind, compose("In some of {} {}.", n, who[0]), about=about, why_not=why)
        return
    failed, with_them, without = table.quote(share, 0, percent=True), table.quote(mean), table.quote(rest)
    now = compose("In {} of {} {}: {} is {} with them and {} without.", failed, n, who[0], title, with_them, without)
    then = compose("In {} of {} {}; {} was {} with them and {} without.", failed, n, who[1], title, with_them, without)
    log.consider(kind, now, about=about, result=then)
