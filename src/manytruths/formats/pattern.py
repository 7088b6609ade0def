"""One segment of a template: text, placeholders and wildcards, and all the ways to read a name by it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from ..errors import StudyError
from .location import SUFFIXES

FIELDS = ("rater", "case", "subject", "label", "session", "algorithm", "reference")
"""Placeholders that a template may hold."""

_TOKENS = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<star>\*)|(?P<text>[^{}*]+)|(?P<stray>[{}])")


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
        distinct: list[dict[str, str]] = []
        for reading in _readings(self.tokens, name, dict(known)):
            if reading not in distinct:
                distinct.append(reading)
        return distinct


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


def _readings(tokens: tuple[Token, ...], name: str, known: dict[str, str]) -> Iterator[dict[str, str]]:
    if not tokens:
        if not name:
            yield known
        return
    token, rest = tokens[0], tokens[1:]
    fixed = token.text if token.kind is Kind.TEXT else known.get(token.text) if token.kind is Kind.FIELD else None
    if fixed is not None:
        if name.startswith(fixed):
            yield from _readings(rest, name[len(fixed) :], known)
    elif token.kind is Kind.SUFFIX:
        if f".{name.lower()}" in SUFFIXES:
            yield known
    else:
        yield from _open_readings(token, rest, name, known)


def _open_readings(token: Token, rest: tuple[Token, ...], name: str, known: dict[str, str]) -> Iterator[dict[str, str]]:
    shortest = 1 if token.kind is Kind.FIELD else 0
    for cut in range(shortest if rest else len(name), len(name) + 1):
        if cut < shortest or (rest and rest[0].kind is Kind.TEXT and not name.startswith(rest[0].text, cut)):
            continue
        bound = known | {token.text: name[:cut]} if token.kind is Kind.FIELD else known
        yield from _readings(rest, name[cut:], bound)
