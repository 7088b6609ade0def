"""Notes about an import: what to know before its numbers are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...core.errors import few
from ...exchange.readings import Reading, ReadingSet
from .masks import Drawn

SAYING = ("Label Studio", "LabelMe")
"""Tools that say whether an image was opened."""


def notes_of(
    readings: ReadingSet, reads: Sequence[Reading], drawn: Sequence[Drawn], pictures: Mapping[str, str], elsewhere: bool
) -> Iterator[str]:
    """What to know of an import; ``elsewhere`` where images stay where they are."""
    lost = sum(mask.lost for mask in drawn)
    if lost:
        yield f"{lost} marks hold no pixel's centre or lie outside the image, and mark nothing"
    blank = [
        f"{read.rater} in {read.case}" for read in readings.reads if read.status == "empty" and read.tool not in SAYING
    ]
    if blank:
        yield f"no mark of {few(blank, 3)}: counted as read and found empty (--blank unread, if nobody opened them)"
    same = _identical_masks(reads, drawn)
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
    there = sum(not why for why in pictures.values())
    if not elsewhere and not pictures:
        yield 'no image came along; say where they are, as --images "FOLDER/{case}.png", to see outlines over them'
    if 0 < there < len(readings.cases):
        yield f"{len(readings.cases) - there} of {len(readings.cases)} cases came without their image"
    yield from _without_picture({case: why for case, why in pictures.items() if why})
    for kind in sorted({kind for *_, kind in readings.left_out}):
        yield f"left out, {kind}: {sum(n for (*_, own), n in readings.left_out.items() if own == kind)} (left_out.csv)"


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
    by: dict[str, list[str]] = {}
    for read in readings.reads:
        if read.automatic and (read.case, read.rater) in parents:
            by.setdefault(read.rater, []).append(read.case)
    return by


def _without_picture(reasons: Mapping[str, str]) -> Iterator[str]:
    for case, why in list(reasons.items())[:1]:
        others = f"; likewise {len(reasons) - 1} more" if len(reasons) > 1 else ""
        yield f"case {case}: its images could not be read ({why}), so that the study has none{others}"


def _identical_masks(reads: Sequence[Reading], drawn: Sequence[Drawn]) -> Counter[tuple[str, str]]:
    """Pairs of raters, and in how many cases their masks are the same, pixel by pixel, and not empty."""
    raters_by_mask: dict[tuple[str, str], list[str]] = {}
    for read, mask in zip(reads, drawn, strict=True):
        if mask.marked and not read.based_on:
            raters_by_mask.setdefault((read.case, mask.checksum), []).append(read.rater)
    pairs = Counter[tuple[str, str]]()
    for raters in raters_by_mask.values():
        names = sorted(set(raters))
        pairs.update((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
    return pairs
