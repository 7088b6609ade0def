"""Sentences about the data: texts and numbers in sequence, counts and lists in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Formatter

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True, slots=True)
class Cell:
    """Text, or a number as shown and as in its file."""

    shown: str
    value: str = ""
    """The number as in the file, with all digits; empty for text."""
    low: str = ""
    high: str = ""
    at: str = ""
    """Where the number is: ``agree/agreement.csv#`` and the cells of its row before the value."""
    why: str = ""
    """Why the number is undefined, or another tooltip."""
    case: str = ""
    """The case that a click opens."""
    colour: str = ""
    """Colour of the rater or algorithm that the cell names: ``#e69f00``."""
    below: str = ""
    """An explanation in small type beneath the cell."""


INTERVAL = re.compile(r"(.+?) \((?:(.+) )?(\S+?)(?:–| to )(\S+)\)")
"""A number with its interval as shown: value, name, low, high."""


Sentence = tuple[str | Cell, ...]
"""Texts and numbers in sequence."""


def spell_intervals(sentence: Sequence[str | Cell], interval: str) -> Sentence:
    """The sentence with its intervals as words: ``0.63 (95% CI 0.51 to 0.69)``; ``interval`` is their name."""
    return tuple(part if isinstance(part, str) else _spell_interval(part, interval) for part in sentence)


def _spell_interval(cell: Cell, interval: str) -> Cell:
    match = INTERVAL.fullmatch(cell.shown) if cell.low else None
    if match is None:
        return cell
    value, name, low, high = match.groups()
    return replace(cell, shown=f"{value} ({name or interval} {low} to {high})")


def plain_text(sentence: Sequence[str | Cell]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else part.shown for part in sentence)


def text_cell(text: object, **more: str) -> Cell:
    """A cell without a number."""
    return Cell(str(text), **more)


def compose(text: str, *parts: str | Cell | Sentence, **named: str | Cell | Sentence) -> Sentence:
    """The text with numbers, names and parts of sentences in place of its ``{}`` and ``{name}``.

    >>> compose("kappa is {} in {cases}", "0.44", cases=("p1", " and ", "p2"))
    ('kappa is ', '0.44', ' in ', 'p1', ' and ', 'p2')
    """
    sentence: list[str | Cell] = []
    unnamed = iter(parts)
    for literal, field_name, *_ in Formatter().parse(text):
        sentence += [literal] if literal else []
        if field_name is not None:
            part = named[field_name] if field_name else next(unnamed)
            sentence += part if isinstance(part, tuple) else (part,)
    return tuple(sentence)


def number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def number_word(count: int) -> str:
    """``three``, ``17``."""
    return NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"


def counted(count: int, thing: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def label_words(label: str) -> str:
    """``tumour``, or ``label 2`` where labels are numbers.

    >>> label_words("tumour"), label_words("2")
    ('tumour', 'label 2')
    """
    return f"label {label}" if label.isdecimal() else label


def there_are(count: int) -> str:
    """``there is 1``, ``there are 2``."""
    return f"there {'is' if count == 1 else 'are'} {count}"


def spell_count(number: int, thing: str, things: str = "") -> str:
    """``five raters``, ``one case``, ``24 cases``.

    >>> spell_count(1, "case"), spell_count(3, "study", "studies"), spell_count(24, "case")
    ('one case', 'three studies', '24 cases')
    """
    return f"{number_word(number)} {thing if number == 1 else things or thing + 's'}"


def join_names(names: Sequence[str], most: int = 6) -> str:
    """``A, B and C``; of many names the first, and how many more there are.

    >>> join_names(["A"]), join_names(["A", "B", "C"]), join_names("ABCDEF", 3)
    ('A', 'A, B and C', 'A, B, C and three more')
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {number_word(len(names) - most)} more"
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def join_parts(parts: Sequence[Sentence], last: str = " and ", between: str = ", ") -> Sentence:
    """Join parts of a sentence by commas, and by a word before the last."""
    out: list[str | Cell] = []
    for i, part in enumerate(parts):
        if i:
            out.append(last if i == len(parts) - 1 else between)
        out += part
    return tuple(out)


def capitalise(sentence: Sentence) -> Sentence:
    """The sentence with a capital letter, where it starts with text."""
    first = sentence[0]
    return (first[:1].upper() + first[1:], *sentence[1:]) if isinstance(first, str) else sentence


def lower_first(sentence: Sentence) -> Sentence:
    """The sentence with a small letter, where it starts with text."""
    first = sentence[0]
    return (first[:1].lower() + first[1:], *sentence[1:]) if isinstance(first, str) else sentence


def case_links(cases: Sequence[str], most: int = 5) -> Sentence:
    """Links to cases: ``p05, p17 and three more``."""
    parts: list[Sentence] = [(case_cell(case),) for case in cases[:most]]
    more: list[Sentence] = [(f"{number_word(len(cases) - most)} more",)] if len(cases) > most else []
    return join_parts(parts + more)


def case_cell(case: str) -> Cell:
    """The name of a case, with a link to it."""
    return Cell(case, case=case)
