"""Names of cases, subjects and raters replaced by codes, for results that leave the house."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import SystemRandom
from typing import Literal, TypeVar

from ..core.columns import Column, natural_key
from ..core.errors import InputError
from ..io.tables import read_table
from .case import Case
from .reading_log import UnusedReading
from .study import Study
from .suspicions import Suspicion

T = TypeVar("T")
Kind = Literal["case", "subject", "rater"]

LETTERS: dict[Kind, str] = {"case": "C", "subject": "S", "rater": "R"}


@dataclass(frozen=True)
class Codes:
    """Which code stands for which name, by kind."""

    names: Mapping[Kind, Mapping[str, str]] = field(default_factory=lambda: {kind: {} for kind in LETTERS})
    """Codes by name."""

    @classmethod
    def of(cls, study: Study, before: Codes | None = None, kinds: Sequence[Kind] = tuple(LETTERS)) -> Codes:
        """Codes for every name of a study, in random order; those that were given before stay."""
        old = (before or cls()).names
        names: dict[Kind, Iterable[str]] = {
            "case": (case.name for case in study),
            "subject": study.subjects,
            "rater": sorted({column.name for column in _columns(study)}, key=natural_key),
        }
        return cls({kind: _assign_codes(old.get(kind, {}), names[kind], LETTERS[kind]) for kind in kinds})

    @classmethod
    def of_others(cls, study: Study, rater: str, before: Codes | None = None) -> tuple[Codes, Codes]:
        """Codes for all raters but one, who keeps their name as cases and subjects do; and those of all raters."""
        coded = cls.of(study, before, ("rater",))
        kept: dict[Kind, Mapping[str, str]] = {
            "case": {case.name: case.name for case in study},
            "subject": {subject: subject for subject in study.subjects},
            "rater": {**coded.names["rater"], rater: rater},
        }
        return cls(kept), coded

    def rows(self) -> list[tuple[str, str, str]]:
        """Kind, code, name, in the order of the codes: the key."""
        return [
            (kind, code, name)
            for kind, by in self.names.items()
            for code, name in sorted((code, name) for name, code in by.items())
        ]


def read_key(path: Path) -> Codes:
    """The codes of a key that was written before; none where there is no such file."""
    before: dict[Kind, dict[str, str]] = {kind: {} for kind in LETTERS}
    for code, row in read_table(str(path), "code").items() if path.is_file() else ():
        if not {"kind", "name"} <= row.keys() or row["kind"] not in before:
            raise InputError(f"{path} is no key of codes (kind, code, name); move it away, or choose another name")
        before[row["kind"]][row["name"]] = code
    return Codes(before)


def _columns(study: Study) -> set[Column]:
    """Everybody who is named anywhere, also in edits."""
    edited = {column for case in study for child, edit in case.edits.items() for column in (child, edit.parent)}
    return edited.union(study.columns)


def _assign_codes(old: Mapping[str, str], names: Iterable[str], letter: str) -> dict[str, str]:
    every = list(names)
    fresh = [name for name in every if name not in old]
    # nobody's code is the name of another
    spoken = [*old.values(), *(name for name in every if name.startswith(letter))]
    taken = {int(code[1:]) for code in spoken if code[1:].isdecimal()}
    free = [n for n in range(1, len(fresh) + len(taken) + 1) if n not in taken][: len(fresh)]
    SystemRandom().shuffle(free)
    digits = len(str(len(fresh) + len(old)))
    return dict(old) | {name: f"{letter}{number:0{digits}}" for name, number in zip(fresh, free, strict=True)}


def code_study(study: Study, codes: Codes, keep: Sequence[str] = ()) -> Study:
    """The same study under codes, its cases in the codes' order; sessions are numbered.

    Properties of raters are left out, but for the columns to keep.
    """
    named = sorted({c.session for c in _columns(study) if c.session}, key=natural_key)
    sessions = {name: str(number) for number, name in enumerate(named, start=1)} | {"": ""}
    cases = sorted((_code_case(case, codes, sessions) for case in study), key=lambda case: case.name)
    trained_on = {who: codes.names["rater"].get(on, on) for who, on in study.options.trained_on.items()}
    # what is known about raters may be a name, too
    kept = {
        codes.names["rater"][rater]: {column: value for column, value in known.items() if column in keep}
        for rater, known in study.properties.items()
        if keep and rater in codes.names["rater"]
    }
    options = replace(study.options, trained_on=trained_on)
    unused = tuple(_code_unused(study, codes, sessions))
    tallied = study.tallied and replace(study.tallied, suspicions=tuple(_code_suspicions(study, codes, sessions)))
    return Study(cases, options, kept, coded=True, unused=unused, tallied=tallied, executor=study.executor)


def _code_suspicions(study: Study, codes: Codes, sessions: Mapping[str, str]) -> Iterator[Suspicion]:
    cases, raters = codes.names["case"], codes.names["rater"]
    for found in study.tallied.suspicions if study.tallied else ():
        columns = tuple(replace(c, name=raters[c.name], session=sessions[c.session]) for c in found.columns)
        yield replace(found, case=cases.get(found.case, ""), other=cases.get(found.other, ""), columns=columns)


def _code_unused(study: Study, codes: Codes, sessions: Mapping[str, str]) -> Iterator[UnusedReading]:
    """Readings that do not count, under codes; reasons are words of people, which may name somebody."""
    cases, raters = codes.names["case"], codes.names["rater"]
    others = dict.fromkeys(reading.case for reading in study.unused if reading.case not in cases)
    cases = {**cases, **{name: f"without masks {k}" for k, name in enumerate(others, start=1)}}
    for reading in study.unused:
        name = raters.get(reading.column.name, "without masks")
        column = replace(reading.column, name=name, session=sessions.get(reading.column.session, ""))
        yield replace(reading, case=cases[reading.case], column=column, reason="")


def _code_case(case: Case, codes: Codes, sessions: Mapping[str, str]) -> Case:
    raters = codes.names["rater"]

    def renamed(column: Column) -> Column:
        return replace(column, name=raters[column.name], session=sessions[column.session])

    return replace(
        case,
        name=codes.names["case"][case.name],
        subject=codes.names["subject"][case.subject],
        masks=_in_order({renamed(c): sources for c, sources in case.masks.items()}),
        absent=tuple(sorted(map(renamed, case.absent), key=lambda c: c.order)),
        ranks=_in_order({renamed(c): source for c, source in case.ranks.items()}),
        edits=_in_order({renamed(c): replace(edit, parent=renamed(edit.parent)) for c, edit in case.edits.items()}),
        statuses={},
        reasons={},
        decisions=None,
        coded=True,
    )


def _in_order(by_column: Mapping[Column, T]) -> dict[Column, T]:
    return dict(sorted(by_column.items(), key=lambda item: item[0].order))
