"""What to know of an import before its numbers are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...core.errors import few
from ...exchange.reading_set import ReadingSet
from ...exchange.readings import Reading
from .drawing import Drawn

SAYING = ("Label Studio", "LabelMe")
"""Tools that say whether an image was opened."""


def notes_of(
    found: ReadingSet, reads: Sequence[Reading], drawn: Sequence[Drawn], pictures: Mapping[str, str], elsewhere: bool
) -> Iterator[str]:
    """What to know of an import; ``elsewhere`` where images stay where they are."""
    lost = sum(one.lost for one in drawn)
    if lost:
        yield f"{lost} marks hold no pixel's centre, or lie outside of the image, and mark nothing"
    blank = [
        f"{read.rater} in {read.case}" for read in found.reads if read.status == "empty" and read.tool not in SAYING
    ]
    if blank:
        yield f"no mark of {few(blank, 3)}: counted as read and found empty (--blank unread, if nobody opened them)"
    same = _identical(reads, drawn)
    if same:
        pair, count = same.most_common(1)[0]
        yield (
            f"{' and '.join(pair)} have identical masks in {count} of the cases that they marked: one may be a copy or "
            "an edit of the other; if so, say it as based_on in reads.csv"
        )
    edits = [f"{read.rater} in {read.case}" for read in reads if read.based_on]
    if edits:
        yield f"edits of another's read are left out of agreement and consensus: {few(edits, 3)} (--edited keep, later)"
    models = list(models_of(found))
    if models:
        yield f"models that reads started from are no raters: {few(models, 3)} ([exclude] in study.toml)"
    yield from _given_to_one(found)
    there = sum(not why for why in pictures.values())
    if not elsewhere and not pictures:
        yield 'no image came along; say where they are, as --images "FOLDER/{case}.png", to see outlines over them'
    if 0 < there < len(found.cases):
        yield f"{len(found.cases) - there} of {len(found.cases)} cases came without their image"
    yield from _pictureless({case: why for case, why in pictures.items() if why})
    for kind in sorted({kind for *_, kind in found.left_out}):
        yield f"left out, {kind}: {sum(n for (*_, own), n in found.left_out.items() if own == kind)} (left_out.csv)"


def _given_to_one(found: ReadingSet) -> Iterator[str]:
    raters = defaultdict[str, set[str]](set)
    for read in found.reads:
        raters[read.case].add(read.rater)
    alone = [case for case, of in raters.items() if len(of) == 1]
    if alone and len(found.raters) > 1:
        yield (
            f"{len(alone)} of {len(found.cases)} cases are in the files of one rater alone ({few(alone, 3)}): is an "
            "image called differently in another file? (--cases OLD=NEW)"
        )


def models_of(found: ReadingSet) -> dict[str, list[str]]:
    """By name, the cases in which somebody's read started from a model's."""
    parents = {(read.case, read.based_on) for read in found.reads if read.based_on}
    by: dict[str, list[str]] = {}
    for read in found.reads:
        if read.automatic and (read.case, read.rater) in parents:
            by.setdefault(read.rater, []).append(read.case)
    return by


def _pictureless(reasons: Mapping[str, str]) -> Iterator[str]:
    for case, why in list(reasons.items())[:1]:
        others = f"; likewise {len(reasons) - 1} more" if len(reasons) > 1 else ""
        yield f"case {case}: its images could not be read ({why}), so that the study has none{others}"


def _identical(reads: Sequence[Reading], drawn: Sequence[Drawn]) -> Counter[tuple[str, str]]:
    """Pairs of raters, and in how many cases their masks are the same, pixel by pixel, and not empty."""
    seen: dict[tuple[str, str], list[str]] = {}
    for read, one in zip(reads, drawn, strict=True):
        if one.marked and not read.based_on:
            seen.setdefault((read.case, one.checksum), []).append(read.rater)
    pairs = Counter[tuple[str, str]]()
    for raters in seen.values():
        names = sorted(set(raters))
        pairs.update((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
    return pairs
