"""What to know of an import before the numbers of the study are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from ...core.errors import few
from ...exchange.readings import Reading, ReadingSet
from ...study.reading_dates import find_doubtful_dates
from .masks import Drawn

SAYING = ("Label Studio", "LabelMe")
"""Tools that say whether an image was opened."""


def notes_of(
    readings: ReadingSet, reads: Sequence[Reading], drawn: Sequence[Drawn], pictures: Mapping[str, str], elsewhere: bool
) -> Iterator[str]:
    """What to know of an import; ``elsewhere`` where images stay where they are."""
    yield from unseen_marks_note(drawn)
    yield from unmarked_note(readings.reads)
    yield from date_notes(readings.reads)
    same = identical_masks(reads, drawn)
    if same:
        pair, count = same.most_common(1)[0]
        yield (
            f"{' and '.join(pair)} have identical masks in {count} of the cases that they marked: one may be a copy or "
            "an edit of the other; if so, say it as based_on in reads.csv"
        )
    edits = [f"{read.rater} in {read.case}" for read in reads if read.based_on]
    if edits:
        yield (
            "readings edited from another rater's are excluded from agreement and consensus: "
            f"{few(edits, 3)} (--edited keep, later)"
        )
    models = list(models_of(readings))
    if models:
        yield f"models that readings started from are not raters: {few(models, 3)} ([exclude] in study.toml)"
    yield from _read_by_one(readings)
    written = sum(not why for why in pictures.values())
    if not elsewhere and not pictures:
        yield 'no image came along; say where they are, as --images "FOLDER/{case}.png", to see outlines over them'
    if 0 < written < len(readings.cases):
        yield f"{len(readings.cases) - written} of {len(readings.cases)} cases came without their image"
    unread = {case: why for case, why in pictures.items() if why}
    for case, why in list(unread.items())[:1]:
        others = f"; likewise {len(unread) - 1} more" if len(unread) > 1 else ""
        yield f"case {case}: its images could not be read ({why}), so that the study has none{others}"
    for kind in sorted({kind for *_, kind in readings.left_out}):
        yield f"left out, {kind}: {sum(n for (*_, k), n in readings.left_out.items() if k == kind)} (left_out.csv)"


def unseen_marks_note(drawn: Iterable[Drawn]) -> Iterator[str]:
    """Say how many marks hold no pixel."""
    lost = sum(mask.lost for mask in drawn)
    if lost:
        yield f"{lost} marks hold no pixel's centre or lie outside the image, and mark nothing"


def unmarked_note(reads: Iterable[Reading]) -> Iterator[str]:
    """Say which readings have no mark, where the tool does not say whether anybody opened the image."""
    blank = [f"{read.rater} in {read.case}" for read in reads if read.status == "empty" and read.tool not in SAYING]
    if blank:
        yield f"no mark of {few(blank, 3)}: counted as read and found empty (--blank unread, if nobody opened them)"


def date_notes(reads: Iterable[Reading]) -> Iterator[str]:
    """Say which readings have dates that cannot be right."""
    return find_doubtful_dates((read.case, read.rater, read.started) for read in reads)


def _read_by_one(readings: ReadingSet) -> Iterator[str]:
    raters = defaultdict[str, set[str]](set)
    for read in readings.reads:
        raters[read.case].add(read.rater)
    alone = [case for case, of in raters.items() if len(of) == 1]
    if alone and len(readings.raters) > 1:
        yield (
            f"{len(alone)} of {len(readings.cases)} cases are in the files of one rater alone ({few(alone, 3)}): is an "
            "image called differently in another file? (--rename-case OLD=NEW)"
        )


def models_of(readings: ReadingSet) -> dict[str, list[str]]:
    """The models that readings started from, with their cases."""
    parents = {(read.case, read.based_on) for read in readings.reads if read.based_on}
    models: dict[str, list[str]] = {}
    for read in readings.reads:
        if read.automatic and (read.case, read.rater) in parents:
            models.setdefault(read.rater, []).append(read.case)
    return models


def identical_masks(
    reads: Sequence[Reading], drawn: Sequence[Drawn], among: Container[tuple[str, str]] | None = None
) -> Counter[tuple[str, str]]:
    """Pairs of raters, and in how many cases their masks are the same, pixel by pixel, and not empty.

    With ``among``, only where the case and one of the raters are in it.
    """
    raters_by_mask = defaultdict[tuple[str, str], set[str]](set)
    for read, mask in zip(reads, drawn, strict=True):
        if mask.marked and not read.based_on:
            raters_by_mask[read.case, repr(sorted(mask.digests.items()))].add(read.rater)
    return Counter(
        pair
        for (case, _), raters in raters_by_mask.items()
        for pair in combinations(sorted(raters), 2)
        if among is None or any((case, rater) in among for rater in pair)
    )
