"""The meaning of the cells of a table of ratings: labels, levels of confidence, and ratings cut in two.

A level of confidence, of ``levels`` in their order, becomes a number from 0 to 1 by one of two rules::

    share   level / levels                  of five: 0.2, 0.4, 0.6, 0.8, 1
    span    (level − 1) / (levels − 1)      of five: 0, 0.25, 0.5, 0.75, 1

Ratings on a scale from a to b can be cut in two: label 1 from the cut on, label 0 below it. The distance of a rating
from the cut is then its confidence: with the border β = cut − ½ where ratings are whole numbers, else β = cut, ::

    confidence = (rating − β) / (b − β) from the cut on,     (β − rating) / (β − a) below it

so that both ends of the scale are certain. On a scale from 1 to 5 with the cut at 3: 1, 0.33 | 0.2, 0.6, 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..core.errors import CallError
from ..io.sheets import has_decimal_comma, parse_number
from .ratings import Kind

Rule = Literal["share", "span"]

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "#n/a", "<na>"})
"""Cells of ratings that were not given, in upper or lower case, unless a label is declared by that name."""

MOST_DISTINCT = 2_000
"""Most labels; every two of them are compared, and counted in every case."""
MOST_NOTES = 3


@dataclass(frozen=True)
class Meaning:
    """What distinct cells mean, and why some cannot be used."""

    labels: tuple[str, ...]
    codes: dict[str, int]
    """Positions in ``labels``, −1 for a rating that was not given."""
    wrong: dict[str, str]
    """Messages about cells that cannot be used."""
    confidence: dict[str, float]
    """Confidence that follows from the rating itself; empty where it does not."""
    notes: tuple[str, ...] = ()


def is_missing(text: str, labels: Sequence[str] | None = None) -> bool:
    """Whether a cell says that there is no rating."""
    return text.casefold() in MISSING_WORDS and text not in (labels or ())


def short_number(number: float) -> str:
    """A number as short as it can be written.

    >>> short_number(3.0), short_number(0.5)
    ('3', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else repr(number)


def labels_meaning(texts: Iterable[str], kind: Kind, labels: Sequence[str] | None) -> Meaning:
    """The labels of some cells: those that are declared, else those that occur."""
    texts = set(texts)
    gaps = {text for text in texts if is_missing(text, labels)}
    given = sorted(texts - gaps)
    if kind == "nominal":
        return _named(given, gaps, labels) if labels else _occurring(given, gaps)
    numbers = {text: parse_number(text) for text in given}
    if kind == "ordinal" and (labels or any(number is None for number in numbers.values())):
        if not labels:
            word = next(text for text in given if numbers[text] is None)
            raise CallError(f"label {word!r} is not a number, so its rank is not known: --labels names all in order")
        return _named(given, gaps, labels)
    return _numbered(numbers, gaps, labels)


def _occurring(given: Sequence[str], gaps: Iterable[str]) -> Meaning:
    """Labels as they occur; the same number written in two ways is one label."""
    numbers = {text: parse_number(text) for text in given}
    shortest: dict[float, str] = {}
    for text in sorted(given, key=lambda text: (len(text), text)):
        if (number := numbers[text]) is not None:
            shortest.setdefault(number, text)
    labels = [text for text in given if (number := numbers[text]) is None or shortest[number] == text]
    meaning = _named(given, gaps, _in_order(labels))
    pairs = [(text, shortest[number]) for text, number in numbers.items() if number is not None]
    notes = [f"{text} and {short} are one label" for text, short in pairs if text != short]
    return replace(meaning, notes=(*notes[:MOST_NOTES], *note_similar_names(labels, "labels")))


def note_similar_names(names: Iterable[str], what: str) -> Iterator[str]:
    """A note on names that differ only in capital letters or spaces."""
    same: dict[str, list[str]] = {}
    for name in names:
        same.setdefault("".join(name.casefold().split()), []).append(name)
    groups = [" and ".join(map(repr, group)) for group in same.values() if len(group) > 1]
    if groups:
        yield f"warning: {what} that differ only in capitals or spaces count as different: {_listed(groups)}"


def _in_order(given: Sequence[str]) -> list[str]:
    """By number where all are numbers, else by the alphabet."""
    numbers = {text: parse_number(text) for text in given}
    words = None in numbers.values()
    return sorted(given, key=lambda text: (0.0 if words else numbers[text] or 0.0, text))


def _named(given: Sequence[str], gaps: Iterable[str], labels: Sequence[str]) -> Meaning:
    place = {label: i for i, label in enumerate(labels)}
    # a table that went through a spreadsheet may hold 1 as 1.0
    values = {parse_number(label): i for i, label in enumerate(labels) if parse_number(label) is not None}
    codes, wrong = dict.fromkeys(gaps, -1), {}
    for text in given:
        code = place.get(text, values.get(parse_number(text)) if parse_number(text) is not None else None)
        if code is None:
            wrong[text] = f"label {text!r} is none of {_listed(labels)}"
        else:
            codes[text] = code
    return Meaning(tuple(labels), codes, wrong, {})


def _numbered(numbers: Mapping[str, float | None], gaps: Iterable[str], labels: Sequence[str] | None) -> Meaning:
    known, wrong = _known_numbers(numbers, "label")
    wrong |= {text: f"label {text!r} is not finite" for text, n in known.items() if not math.isfinite(n)}
    finite = {text: number for text, number in known.items() if text not in wrong}
    declared = {number for label in labels or () if (number := parse_number(label)) is not None}
    if any(parse_number(label) is None for label in labels or ()):
        raise CallError(f"numeric labels are numbers; got --labels {','.join(labels or ())}")
    scale = sorted(declared if labels else set(finite.values()))
    place = {number: i for i, number in enumerate(scale)}
    named = tuple(map(short_number, scale))
    wrong |= {text: f"label {text!r} is none of {_listed(named)}" for text, n in finite.items() if n not in place}
    codes = {text: place[number] for text, number in finite.items() if number in place}
    notes = []
    if not labels and scale and all(n.is_integer() for n in scale) and scale[-1] - scale[0] >= len(scale):
        notes.append(f"labels are those that occur ({_listed(named)}); --labels names all of the scale")
    return Meaning(named, dict.fromkeys(gaps, -1) | codes, wrong, {}, tuple(notes))


def _known_numbers(numbers: Mapping[str, float | None], what: str) -> tuple[dict[str, float], dict[str, str]]:
    """The cells that are numbers, and messages about the others."""
    known = {text: number for text, number in numbers.items() if number is not None}
    return known, {text: not_a_number(what, text) for text in numbers if text not in known}


def scale_range(texts: Iterable[str]) -> tuple[float, float] | None:
    """The least and the largest number among some cells."""
    numbers = [number for number in map(parse_number, set(texts)) if number is not None and math.isfinite(number)]
    return (min(numbers), max(numbers)) if numbers else None


def cut_meaning(
    texts: Iterable[str], cut: float, scale: tuple[float, float] | None, labels: Sequence[str] | None
) -> Meaning:
    """Ratings cut in two, with their distance from the cut as confidence."""
    cut, names = float(cut), tuple(labels) if labels else ("0", "1")
    if len(names) != 2:
        raise CallError(f"--cut makes two labels: below the cut, and from it on; got --labels {','.join(names)}")
    texts = set(texts)
    gaps = {text for text in texts if is_missing(text)}
    known, wrong = _known_numbers({text: parse_number(text) for text in texts - gaps}, "rating")
    low, high = scale or scale_range(texts) or (cut, cut)
    border = cut - 0.5 if all(number.is_integer() for number in (*known.values(), cut)) else cut
    ends = f"from {short_number(low)} to {short_number(high)}"
    if known and not low < border < high:
        raise CallError(f"--cut {short_number(cut)} leaves nothing on one side of the ratings {ends}")
    wrong |= {text: f"rating {text!r} is beyond the scale {ends}" for text, n in known.items() if not low <= n <= high}
    good = {text: number for text, number in known.items() if text not in wrong}
    codes = {text: int(number >= cut) for text, number in good.items()}
    sure = {t: (n - border) / ((high if n >= cut else low) - border) for t, n in good.items()}
    note = (
        f"label {names[1]!r} is a rating of {short_number(cut)} or more on a scale {ends}; "
        f"confidence is the distance from {short_number(border)}, as a share of the largest on that side"
    )
    return Meaning(names, dict.fromkeys(gaps, -1) | codes, wrong, sure, (note,))


def confidence_meaning(
    texts: Iterable[str], levels: int | Sequence[str] | None, rule: Rule
) -> tuple[dict[str, float], dict[str, str]]:
    """Confidence of cells from 0 to 1, nan where not given; and messages about cells that cannot be used."""
    if rule not in ("share", "span"):
        raise CallError(f"the rule of levels is 'share' or 'span'; got {rule!r}")
    count = levels if isinstance(levels, int) else len(levels or ())
    if levels is not None and count < 2:
        raise CallError(f"a scale has two levels or more; got {count}")
    values, wrong = {}, {}
    names = {} if isinstance(levels, int) else {name.casefold(): i for i, name in enumerate(levels or (), start=1)}
    for text in set(texts):
        number = _parse_share(text) if levels is None else parse_number(text)
        level = names.get(text.casefold()) if names else number
        if text.casefold() in MISSING_WORDS and text.casefold() not in names:
            values[text] = float("nan")
        elif levels is None and number is not None and 0 <= number <= 1:
            values[text] = number
        elif level is not None and level in range(1, count + 1):
            values[text] = level / count if rule == "share" else (level - 1) / (count - 1)
        else:
            wrong[text] = _wrong_confidence(text, number, levels)
    return values, wrong


def _wrong_confidence(text: str, number: float | None, levels: int | Sequence[str] | None) -> str:
    if isinstance(levels, int):
        return f"confidence {text!r} is no level from 1 to {levels}"
    if levels:
        return f"confidence {text!r} is none of the levels {', '.join(levels)}"
    if number is None:
        message = not_a_number("confidence", text)
        return message if has_decimal_comma(text) else f"{message}; levels are named in order by --confidence-levels"
    hint = f"; if it is a percentage, write {text}%" if 10 < number <= 100 else ""
    level = f"if it is a level of a scale, say of how many: --confidence-levels 5{hint}"
    return f"confidence {text!r} is not from 0 to 1; {level}"


def _parse_share(text: str) -> float | None:
    """``0.9`` or ``90%`` as a number."""
    number = parse_number(text.removesuffix("%").rstrip())
    return number / 100 if number is not None and text.endswith("%") else number


def not_a_number(what: str, text: str) -> str:
    """The message about a cell that should be a number."""
    if has_decimal_comma(text):
        return f"{what} {text!r} has a decimal comma; write {text.replace(',', '.')}"
    return f"{what} {text!r} is not a number"


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels[:10]) + (", …" if len(labels) > 10 else "")
