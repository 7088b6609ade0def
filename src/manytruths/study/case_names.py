"""Names of cases that nobody marked, and the case that may be meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal

from ..core.columns import natural_key
from ..core.errors import StudyError
from ..io import Template
from .options import Options


@dataclass(frozen=True)
class UnknownCase:
    """A name that is no case's, and the case that may be meant."""

    case: str
    near: str = ""

    def __str__(self) -> str:
        return f"{self.case}: did you mean {self.near}?" if self.near else self.case


def find_unknown_cases(
    options: Options, names: Iterable[str], what: Literal["predictions", "references"] = "predictions"
) -> list[UnknownCase]:
    """Predictions (or given reference standards) of cases that nobody marked, those first that may be a misspelt name.

    ``names`` are those of the study's cases, with the subject in front where several subjects share them.
    """
    template = options.predictions if what == "predictions" else options.reference
    if not template:
        return []
    known = list(names)
    ends = Counter(name.rpartition("/")[2] for name in known)
    wanted = set(known) | {end for end, count in ends.items() if count == 1}
    shared = any("/" in name for name in known)
    try:
        found = Template(template).find(lambda problem: None)
    except StudyError:
        return []  # nothing can be found at all: said where the study is opened
    others = dict[str, None]()
    for fields in (one.fields for one in found if "case" in one.fields):
        full = f"{fields['subject']}/{fields['case']}" if "subject" in fields else fields["case"]
        if not {full, fields["case"]} & wanted:
            others[full if shared else fields["case"]] = None
    listed = [UnknownCase(name, closest_name(name, known)) for name in others]
    return sorted(listed, key=lambda one: (not one.near, natural_key(one.case)))


def closest_name(name: str, known: Sequence[str]) -> str:
    """The known name that is meant, perhaps: one that stands in it as a word, or one written nearly alike.

    >>> closest_name("04R_pred", ["04L", "04R", "4R"]), closest_name("P7", ["p07", "p08"]), closest_name("p10", ["p1"])
    ('04R', 'p07', '')
    """
    within = [one for one in known if one in name and _is_word(one, name)]
    if within:
        return max(within, key=len)
    # p10 is not a misspelt p1: numbers must be the same, however many zeros they begin with
    alike = {one.casefold(): one for one in known if _numbers(one) == _numbers(name)}
    return next((alike[one] for one in get_close_matches(name.casefold(), alike, 1)), "")


def _is_word(one: str, name: str) -> bool:
    return re.search(rf"(?<!{_kind(one[:1])}){re.escape(one)}(?!{_kind(one[-1:])})", name) is not None


def _kind(letter: str) -> str:
    """What would go on with the word that this letter belongs to."""
    return r"\d" if letter.isdigit() else r"[^\W\d_]"


@lru_cache(maxsize=1 << 16)
def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", name))
