"""One segment of a template: text, placeholders and wildcards, and all the ways to read a name by it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from ..core.errors import StudyError
from .location import SUFFIXES

FIELDS = ("rater", "case", "subject", "label", "session", "algorithm", "reference")
"""Placeholders that a template may hold."""

_TOKENS = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<star>\*)|(?P<text>[^{}*]+)|(?P<stray>[{}])")

MOST_TOKENS = 8
"""Stars, or placeholders, between two slashes."""
MOST_STATES = 10_000
"""Steps of reading one name."""


class Kind(Enum):
    TEXT = "text"
    FIELD = "field"
    STAR = "star"
    SUFFIX = "suffix"


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str


@dataclass(frozen=True)
class Segment:
    """What stands between two slashes of a template.

    >>> segment = Segment.of("{rater}_{case}.png")
    >>> list(segment.readings("a_b_c.png", {}))
    [{'rater': 'a', 'case': 'b_c'}, {'rater': 'a_b', 'case': 'c'}]
    """

    text: str
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, text: str, last: bool = True) -> Segment:
        tokens = [_token(found, text) for found in _TOKENS.finditer(text)]
        for kind, what in ((Kind.STAR, "*"), (Kind.FIELD, "placeholders")):
            count = sum(token.kind is kind for token in tokens)
            if count > MOST_TOKENS:
                shown = text if len(text) <= 60 else f"{text[:60]}…"
                raise StudyError(
                    f"template part {shown!r} has {count} {what}; at most {MOST_TOKENS} between two slashes"
                )
        return cls(text, tuple(_with_suffix(tokens) if last else tokens))

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens if token.kind is Kind.FIELD)

    @property
    def has_wildcard(self) -> bool:
        return any(token.kind in (Kind.STAR, Kind.SUFFIX) for token in self.tokens)

    @property
    def ends_in_suffix(self) -> bool:
        """Whether the only wildcard is a final ``.*``."""
        return [t.kind for t in self.tokens if t.kind in (Kind.STAR, Kind.SUFFIX)] == [Kind.SUFFIX]

    @property
    def is_hidden(self) -> bool:
        return self.text.startswith(".")

    def is_known(self, fields: Mapping[str, str]) -> bool:
        """Whether the name follows from the fields alone."""
        return not self.has_wildcard and all(name in fields for name in self.fields)

    def fill(self, fields: Mapping[str, str]) -> str:
        """The name that these fields give; wildcards are left out."""
        return "".join(
            fields[token.text] if token.kind is Kind.FIELD else token.text
            for token in self.tokens
            if token.kind in (Kind.TEXT, Kind.FIELD)
        )

    def readings(self, name: str, known: Mapping[str, str]) -> list[dict[str, str]]:
        """Every distinct way to read the name that agrees with what is known."""
        found = dict.fromkeys(tuple(reading.items()) for reading in _Reader(self, name).readings(dict(known)))
        return [dict(reading) for reading in found]


def _token(found: re.Match[str], text: str) -> Token:
    if found["stray"]:
        raise StudyError(
            f"template part {text!r} has a lone {found['stray']!r}; write {{{{ or }}}} for the sign itself"
        )
    if found["field"] is not None:
        return Token(Kind.FIELD, _known_field(found["field"]))
    if found["star"]:
        return Token(Kind.STAR, "*")
    return Token(Kind.TEXT, found["brace"][0] if found["brace"] else found["text"])


def _known_field(name: str) -> str:
    if name in FIELDS:
        return name
    near = difflib.get_close_matches(name, FIELDS, 1, 0.5)
    hint = f"; did you mean {{{near[0]}}}?" if near else ""
    known = " ".join(f"{{{field}}}" for field in FIELDS)
    raise StudyError(f"placeholder {{{name}}} is not known; a template may hold {known}{hint}")


def _with_suffix(tokens: list[Token]) -> list[Token]:
    """A final ``.*`` stands for the endings that can be read, so that ``p1.nii.gz`` has one reading."""
    if [token.kind for token in tokens[-2:]] == [Kind.TEXT, Kind.STAR] and tokens[-2].text.endswith("."):
        return [*tokens[:-1], Token(Kind.SUFFIX, "*")]
    return tokens


class _Reader:
    """All ways to read a name, none of them twice: with many stars there would be billions."""

    def __init__(self, segment: Segment, name: str) -> None:
        self.segment, self.tokens, self.name = segment, segment.tokens, name
        self.seen: set[tuple[int, int, tuple[str, ...]]] = set()

    def readings(self, known: dict[str, str]) -> Iterator[dict[str, str]]:
        # what is still to be read, the first on top: the token, where in the name, and what is known by then
        todo = [(0, 0, known)]
        while todo:
            at, start, known = todo.pop()
            state = (at, start, tuple(known.values()))
            if state in self.seen:
                continue
            self.seen.add(state)
            if len(self.seen) > MOST_STATES:
                raise StudyError(
                    f"its name can be read in too many ways by {self.segment.text!r}; use fewer * and placeholders "
                    "between two slashes, or separate them by signs that are in no name"
                )
            if at < len(self.tokens):
                todo += reversed(list(self._next(at, start, known)))
            elif start == len(self.name):
                yield known

    def _next(self, at: int, start: int, known: dict[str, str]) -> Iterator[tuple[int, int, dict[str, str]]]:
        token = self.tokens[at]
        fixed = token.text if token.kind is Kind.TEXT else known.get(token.text) if token.kind is Kind.FIELD else None
        if fixed is not None:
            if self.name.startswith(fixed, start):
                yield at + 1, start + len(fixed), known
        elif token.kind is Kind.SUFFIX:
            if f".{self.name[start:].lower()}" in SUFFIXES:
                yield at + 1, len(self.name), known
        elif token.kind is Kind.STAR:
            yield at + 1, start, known
            if start < len(self.name):
                yield at, start + 1, known
        else:
            for end in self._ends(at, start):
                yield at + 1, end, known | {token.text: self.name[start:end]}

    def _ends(self, at: int, start: int) -> Iterator[int]:
        """Where a placeholder can end: anywhere, or where the text after it begins."""
        rest = self.tokens[at + 1 :]
        if not rest:
            yield from [len(self.name)] if start < len(self.name) else []
            return
        after = rest[0].text if rest[0].kind is Kind.TEXT else ""
        for end in range(start + 1, len(self.name) + 1):
            if self.name.startswith(after, end):
                yield end
