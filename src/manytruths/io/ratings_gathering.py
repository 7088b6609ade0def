"""Entries of a table of ratings to arrays; what cannot be used is told line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError
from ..ratings.ratings import MISSING, Ratings, Values
from .ratings_layout import Entries
from .ratings_sheet import Faults
from .ratings_values import MOST_DISTINCT, Meaning, alike, confidence_meaning, cut_meaning, is_nothing, labels_meaning

if TYPE_CHECKING:
    from .ratings import RatingsOptions

Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The row (case) and the column (rater) of every entry."""


@dataclass(frozen=True)
class Gathered:
    """Ratings, and notes."""

    ratings: Ratings
    notes: tuple[str, ...]


def gather(faults: Faults, entries: Entries, sure: Entries | None, options: RatingsOptions) -> Gathered:
    """The arrays; raises where anything cannot be used."""
    cases, raters = list(dict.fromkeys(entries.cases)), list(dict.fromkeys(entries.raters))
    where = _places(entries, cases, raters)
    _refuse_twice(faults, entries, where, len(raters))
    meaning = _meaning(entries, options)
    if len(meaning.labels) > MOST_DISTINCT:
        raise FormatError(
            f"{faults.path}: has {len(meaning.labels):,} different labels; at most {MOST_DISTINCT:,} can be compared: "
            "check the column of labels, group them, or cut the scale with --cut"
        )
    _complain(faults, entries, entries.labels, meaning.wrong)
    codes = np.full((len(cases), len(raters)), MISSING, np.int16)
    codes[where] = [meaning.codes.get(text, MISSING) for text in entries.labels]
    reference = _reference(faults, entries, cases, meaning, options)
    confidence = _confidence(faults, entries, where, codes.shape, meaning, options)
    if sure is not None:
        confidence = _confidence_of(sure, cases, raters, options)
    faults.insist()
    confidence = np.where(codes == MISSING, np.nan, confidence)
    notes = [*meaning.notes, *alike(raters, "raters"), *_confidence_notes(codes, confidence, options)]
    if options.reference_rater is not None:
        codes, confidence, raters, reference = _taken_out(codes, confidence, raters, options.reference_rater)
    known = None if reference is None or (reference == MISSING).all() else reference
    found = Ratings(tuple(cases), tuple(raters), meaning.labels, codes, confidence, options.kind, known)
    return Gathered(found, tuple(notes))


def _places(entries: Entries, cases: Sequence[str], raters: Sequence[str]) -> Places:
    row, column = ({name: i for i, name in enumerate(names)} for names in (cases, raters))
    return np.array([row[c] for c in entries.cases], np.intp), np.array([column[r] for r in entries.raters], np.intp)


def _refuse_twice(faults: Faults, entries: Entries, where: Places, width: int) -> None:
    place = where[0] * width + where[1]
    if len(np.unique(place)) == len(place):
        return
    first: dict[int, int] = {}
    for i, cell in enumerate(place.tolist()):
        if first.setdefault(cell, i) != i:
            told = f"case {entries.cases[i]} was rated by {entries.raters[i]}"
            faults.add(entries.lines[i], f"{told} in {faults.unit} {entries.lines[first[cell]]} already")


def _meaning(entries: Entries, options: RatingsOptions) -> Meaning:
    texts = set(entries.labels)
    if options.cut is not None:
        return cut_meaning(texts, options.cut, options.scale, options.labels)
    truths = {text for _, text in entries.references.values()} if options.reference_rater is None else set()
    return labels_meaning(texts | truths, options.kind, options.labels)


def _complain(faults: Faults, entries: Entries, texts: Sequence[str], wrong: dict[str, str]) -> None:
    for i, text in enumerate(texts) if wrong else ():
        if text in wrong:
            faults.add(entries.lines[i], f"{wrong[text]} (case {entries.cases[i]}, rater {entries.raters[i]})")


def _reference(
    faults: Faults, entries: Entries, cases: Sequence[str], meaning: Meaning, options: RatingsOptions
) -> NDArray[np.int16] | None:
    if not entries.references or options.reference_rater is not None:
        return None
    codes = dict(meaning.codes)
    if options.cut is not None:
        # what is cut is on a scale; the truth is one of the two labels
        texts = {text for _, text in entries.references.values()}
        codes = {**labels_meaning(texts, "nominal", ("0", "1")).codes, **dict(zip(meaning.labels, (0, 1), strict=True))}
    found = np.full(len(cases), MISSING, np.int16)
    for row, case in enumerate(cases):
        line, text = entries.references[case]
        if is_nothing(text, options.labels):
            continue
        if text not in codes:
            faults.add(line, f"reference {text!r} of case {case} is none of {', '.join(meaning.labels[:10])}")
        found[row] = codes.get(text, MISSING)
    return found


def _confidence(
    faults: Faults, entries: Entries, where: Places, shape: tuple[int, ...], meaning: Meaning, options: RatingsOptions
) -> Values:
    """Of the table's own column, else of the rating itself."""
    found = np.full(shape, np.nan)
    if options.confidence is not None or not options.sure:
        return found
    if not entries.confidence and options.levels is not None:
        raise CallError("--levels is of confidence, but the table has none; name its column: --columns confidence=NAME")
    if not entries.confidence:
        found[where] = [meaning.confidence.get(text, np.nan) for text in entries.labels]
        return found
    values, wrong = confidence_meaning(entries.confidence, options.levels, options.rule)
    _complain(faults, entries, entries.confidence, wrong)
    found[where] = [values.get(text, np.nan) for text in entries.confidence]
    return found


def _confidence_of(sure: Entries, cases: Sequence[str], raters: Sequence[str], options: RatingsOptions) -> Values:
    """Of a second table; entries that rate nothing here are passed over."""
    faults = sure.faults
    assert faults is not None, "a second table knows its own faults"
    here, there = set(cases), set(raters)
    kept = [i for i, (c, r) in enumerate(zip(sure.cases, sure.raters, strict=True)) if c in here and r in there]
    if not kept:
        raise FormatError(f"{faults.path}: has no confidence of any case and rater of the ratings; compare the names")
    chosen = sure.at(kept)
    where = _places(chosen, cases, raters)
    _refuse_twice(faults, chosen, where, len(raters))
    values, wrong = confidence_meaning(chosen.labels, options.levels, options.rule)
    _complain(faults, chosen, chosen.labels, wrong)
    faults.insist()
    found = np.full((len(cases), len(raters)), np.nan)
    found[where] = [values[text] for text in chosen.labels]
    return found


def _taken_out(
    codes: NDArray[np.int16], confidence: Values, raters: list[str], rater: str
) -> tuple[NDArray[np.int16], Values, list[str], NDArray[np.int16]]:
    if rater not in raters:
        raise CallError(f"no rater {rater!r} to take as the reference; there are {', '.join(raters)}")
    at = raters.index(rater)
    others = [i for i in range(len(raters)) if i != at]
    return codes[:, others], confidence[:, others], [raters[i] for i in others], codes[:, at]


def _confidence_notes(codes: NDArray[np.int16], confidence: Values, options: RatingsOptions) -> Iterator[str]:
    unsure = int(((codes != MISSING) & np.isnan(confidence)).sum())
    if np.isnan(confidence).all():
        yield "no confidence was given: sigma is percent agreement, and rho discounts competence alone"
    elif unsure:
        yield f"ratings without confidence, which take no part in sigma and rho: {unsure}"
    if options.levels is not None:
        count = options.levels if isinstance(options.levels, int) else len(options.levels)
        how = f"level / {count}" if options.rule == "share" else f"(level − 1) / {count - 1}"
        yield f"confidence is {how}"
