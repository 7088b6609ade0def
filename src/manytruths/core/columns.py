"""Columns of a tally (who decided), the names in them, and the size of an item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal

from .errors import CallError

Role = Literal["rater", "algorithm", "reference"]
ROLES: tuple[Role, ...] = ("rater", "algorithm", "reference")


@lru_cache(maxsize=65_536)
def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key under which A2 comes before A10.

    >>> sorted(["A10", "A2", "A1"], key=natural_key)
    ['A1', 'A2', 'A10']
    """
    parts = re.split(r"(\d+)", text)
    return tuple((1, int(p), p) if p.isdecimal() else (0, 0, p) for p in parts if p)


def compose_name(text: str) -> str:
    """One spelling of a name: ü is one letter, or u with two dots where the name comes from a Mac."""
    return unicodedata.normalize("NFC", text)


def closest_name(name: str, known: Sequence[str]) -> str:
    """The known name that is meant, perhaps: one that stands in it as a word, or one written nearly alike.

    >>> closest_name("04R_pred", ["04L", "04R", "4R"]), closest_name("P7", ["p07", "p08"]), closest_name("p10", ["p1"])
    ('04R', 'p07', '')
    """
    words = (rf"(?<!{_kind(other[:1])}){re.escape(other)}(?!{_kind(other[-1:])})" for other in known)
    within = [other for other, word in zip(known, words, strict=True) if other in name and re.search(word, name)]
    if within:
        return max(within, key=len)
    # p10 is not a misspelt p1: numbers must be the same, however many zeros they begin with
    alike = {other.casefold(): other for other in known if _numbers(other) == _numbers(name)}
    return next((alike[near] for near in get_close_matches(name.casefold(), alike, 1)), "")


def _kind(letter: str) -> str:
    """What would go on with the word that this letter belongs to."""
    return r"\d" if letter.isdigit() else r"[^\W\d_]"


@lru_cache(maxsize=1 << 16)
def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", name))


@dataclass(frozen=True)
class Column:
    """One source of decisions: a rater in one session, an algorithm, or a reference standard.

    Parameters
    ----------
    name : str
        Name of the rater, algorithm or reference standard.
    role : {"rater", "algorithm", "reference"}
        What the column is.
    session : str
        Of a rater who read several times: which reading.
    left_out : str
        Of a reference standard: the rater without whom it was made.
    """

    name: str
    role: Role = "rater"
    session: str = ""
    left_out: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise CallError(f"role of column {self.name!r} is {self.role!r}; it must be one of {', '.join(ROLES)}")

    def __str__(self) -> str:
        name = f"{self.name}@{self.session}" if self.session else self.name
        return f"{name} without {self.left_out}" if self.left_out else name

    @property
    def order(self) -> tuple[object, ...]:
        """Raters first, then algorithms, then references; names in natural order."""
        return ROLES.index(self.role), natural_key(self.name), natural_key(self.session), natural_key(self.left_out)


@dataclass(frozen=True)
class Unit:
    """The size of one item: ``Unit(0.25, "mm²")``.

    Parameters
    ----------
    size : float
        Area or volume of one pixel or voxel.
    name : str
        Name of the unit.
    """

    size: float
    name: str

    def __post_init__(self) -> None:
        if not 0 < self.size < float("inf"):
            raise CallError(f"an item has a positive, finite size; got {self.size!r} {self.name}")

    def __str__(self) -> str:
        return f"{self.size:g} {self.name}"
