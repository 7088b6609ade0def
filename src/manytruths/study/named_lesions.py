"""The table of lesions (``targets.csv``): which lesions of a subject are targets, by RECIST 1.1.

Columns: ``subject`` or ``case`` (a row of a subject holds for all of its cases), ``lesion`` (its name), ``target``
(``yes``, ``no`` or ``new``), ``organ``, ``node`` (``yes`` for a lymph node), and where the lesion is marked: ``label``
(the name of its label in the masks) or ``position`` (the index of a pixel inside, such as ``120 88 14``, of one case).
``status`` says of a lesion that is not measured whether it is ``present``, ``absent`` or shows unequivocal
``progression`` in a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import ManytruthsError, StudyError, few
from ..io.tables import read_rows
from ..io.template import Complain

KINDS = {"yes": "target", "no": "non_target", "new": "new"}
STATUSES = ("", "present", "absent", "progression")
MOST_TARGETS, MOST_IN_ORGAN = 5, 2
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0", "")


@dataclass(frozen=True)
class NamedLesion:
    """A lesion that the table of lesions names in one case.

    Attributes
    ----------
    name : str
        Its name, the same in all cases of a subject.
    kind : {"target", "non_target", "new"}
        What it is by RECIST 1.1.
    organ : str
        Where it lies.
    node : bool
        Whether it is a lymph node, which is measured by its short axis.
    label : str
        The label by which raters mark it; empty where it is found by its position.
    position : tuple of int
        A pixel inside of it; empty where it is found by its label.
    status : str
        ``present``, ``absent`` or ``progression``, where the table says so.
    """

    name: str
    kind: str
    organ: str = ""
    node: bool = False
    label: str = ""
    position: tuple[int, ...] = ()
    status: str = ""

    @property
    def linked(self) -> bool:
        """Whether it can be found in masks."""
        return bool(self.label or self.position)


def read_lesions(
    path: str, subjects: Mapping[str, str], ordered: Mapping[str, int], complain: Complain
) -> dict[str, tuple[NamedLesion, ...]]:
    """The lesions of every case, given the subject of each and its place in the order of the subject's cases."""
    found: dict[str, dict[str, NamedLesion]] = {}
    rows = list(read_rows(path, ("lesion", "target"), lambda error: complain(StudyError(str(error)))))
    if not rows:
        complain(StudyError(f"{path}: names no lesion; write a row for each, or leave the table out (--targets)"))
    for line, row in rows:
        try:
            lesion = _lesion(row)
            for case in _cases(row, lesion, subjects):
                first = found.setdefault(case, {}).setdefault(lesion.name, lesion)
                if first is not lesion:
                    raise StudyError(f"lesion {lesion.name!r} of case {case} is listed twice; remove one of the rows")
        except ManytruthsError as error:
            complain(StudyError(f"{path}, line {line}: {error}"))
    for problem in _problems(found, subjects, ordered):
        complain(StudyError(f"{path}: {problem}"))
    return {case: tuple(lesions.values()) for case, lesions in found.items()}


def _lesion(row: Mapping[str, str]) -> NamedLesion:
    name, target, status = row["lesion"], row["target"].casefold(), row.get("status", "").casefold()
    if not name:
        raise StudyError("lesion is empty; give it a name")
    if target not in KINDS:
        raise StudyError(f"target of lesion {name!r} is {row['target']!r}; it must be one of {', '.join(KINDS)}")
    if status not in STATUSES:
        raise StudyError(
            f"status of lesion {name!r} is {status!r}; it must be one of {', '.join(STATUSES[1:])}, or empty"
        )
    lesion = NamedLesion(
        name, KINDS[target], row.get("organ", ""), _flag(name, row.get("node", "")), row.get("label", ""),
        _position(name, row.get("position", "")), status,
    )  # fmt: skip
    if lesion.kind == "target" and not lesion.organ:
        raise StudyError(f"target lesion {name!r} has no organ; name it, as at most two targets lie in one organ")
    if lesion.kind == "target" and not lesion.linked:
        raise StudyError(f"target lesion {name!r} has neither label nor position; give one, by which it is measured")
    return lesion


def _flag(name: str, text: str) -> bool:
    if text.casefold() not in (*_YES, *_NO):
        raise StudyError(f"node of lesion {name!r} is {text!r}; it must be yes or no")
    return text.casefold() in _YES


def _position(name: str, text: str) -> tuple[int, ...]:
    parts = text.replace(",", " ").split()
    if not all(part.isdecimal() for part in parts) or len(parts) not in (0, 2, 3):
        raise StudyError(f"position of lesion {name!r} is {text!r}; it is the index of a pixel, such as 120 88 14")
    return tuple(map(int, parts))


def _cases(row: Mapping[str, str], lesion: NamedLesion, subjects: Mapping[str, str]) -> list[str]:
    """The cases that a row is about."""
    case, subject = row.get("case", ""), row.get("subject", "")
    if case:
        if case not in subjects:
            raise StudyError(f"there is no case {case!r}; cases are {few(list(subjects), 5)}")
        if subject and subjects[case] != subject:
            raise StudyError(f"case {case} is of subject {subjects[case]}, not of {subject}; correct one of them")
        return [case]
    if lesion.kind == "new" or lesion.position or lesion.status:
        what = "new" if lesion.kind == "new" else "given by its position" if lesion.position else "given a status"
        raise StudyError(f"lesion {lesion.name!r} is {what}, which holds for one case; name the case")
    chosen = [name for name, of in subjects.items() if of == subject]
    if not chosen:
        raise StudyError(
            f"there is no subject {subject!r}; subjects are {few(list(dict.fromkeys(subjects.values())), 5)}"
        )
    return chosen


def _problems(
    found: Mapping[str, Mapping[str, NamedLesion]], subjects: Mapping[str, str], ordered: Mapping[str, int]
) -> Iterator[str]:
    """What keeps responses from being defined, subject by subject."""
    by_subject: dict[str, dict[str, set[tuple[str, str, bool]]]] = {}
    for case, lesions in found.items():
        for name, lesion in lesions.items():
            kinds = by_subject.setdefault(subjects[case], {}).setdefault(name, set())
            kinds.add((lesion.kind, lesion.organ, lesion.node))
    for subject, lesions_of in by_subject.items():
        for name, kinds in lesions_of.items():
            if len(kinds) > 1:
                yield f"rows of lesion {name!r} of subject {subject} differ in target, organ or node; correct them"
        yield from _too_many(subject, {name: next(iter(kinds)) for name, kinds in lesions_of.items()})
        cases = [case for case, of in subjects.items() if of == subject]
        if any(ordered.get(case) is None for case in cases):
            yield f"the cases of subject {subject} have no order; add a column order to cases.csv (--cases)"
    yield from _same_marks(found)


def _same_marks(found: Mapping[str, Mapping[str, NamedLesion]]) -> Iterator[str]:
    for case, lesions in found.items():
        first: dict[tuple[str, tuple[int, ...]], str] = {}
        for name, lesion in lesions.items():
            if lesion.kind == "target" and first.setdefault((lesion.label, lesion.position), name) != name:
                other = first[lesion.label, lesion.position]
                at = " ".join(map(str, lesion.position))
                where = f"position {at}" if lesion.position else f"label {lesion.label!r}"
                yield (
                    f"target lesions {other!r} and {name!r} of case {case} have the same {where}, so that one lesion "
                    "would count twice; correct one of them"
                )


def _too_many(subject: str, lesions: Mapping[str, tuple[str, str, bool]]) -> Iterator[str]:
    targets = {name: organ for name, (kind, organ, _) in lesions.items() if kind == "target"}
    if len(targets) > MOST_TARGETS:
        yield (
            f"subject {subject} has {len(targets)} target lesions ({few(list(targets), 6)}); RECIST 1.1 allows "
            f"{MOST_TARGETS}: make the others non-targets (target = no)"
        )
    for organ in dict.fromkeys(targets.values()):
        here = [name for name, of in targets.items() if of == organ]
        if len(here) > MOST_IN_ORGAN:
            yield (
                f"subject {subject} has {len(here)} target lesions in {organ} ({few(here, 6)}); RECIST 1.1 allows "
                f"{MOST_IN_ORGAN} an organ: make the others non-targets (target = no)"
            )


def order_cases(path: str, subjects: Mapping[str, str], order: Mapping[str, str]) -> dict[str, int]:
    """The place of each case in the order of its subject's cases, from 1; empty where none is given.

    ``order`` has numbers or dates (2026-05-31); of a subject with several cases, each has another one.
    """
    if not any(order.values()):
        return {}
    places: dict[str, int] = {}
    for subject in dict.fromkeys(subjects.values()):
        cases = [case for case, of in subjects.items() if of == subject]
        without = [case for case in cases if not order.get(case)]
        if without and len(cases) > 1:
            raise StudyError(
                f"{path}: gives no order for {few(without, 5)} of subject {subject}; write one for each of its cases"
            )
        keys = {case: _order_key(path, case, order[case]) for case in cases if order.get(case)}
        kinds = {kind for kind, _ in keys.values()}
        if len(kinds) > 1:
            raise StudyError(f"{path}: orders cases of subject {subject} by numbers and by dates; write one kind")
        by_key: dict[tuple[str, float], str] = {}
        for case, key in keys.items():
            if key in by_key:
                raise StudyError(
                    f"{path}: cases {by_key[key]} and {case} of subject {subject} have the same order "
                    f"{order[case]!r}; write another for one of them"
                )
            by_key[key] = case
        ranked: Sequence[str] = [by_key[key] for key in sorted(by_key)]
        places |= {case: place for place, case in enumerate(ranked, start=1)} or dict.fromkeys(cases, 1)
    return places


def _order_key(path: str, case: str, text: str) -> tuple[str, float]:
    from datetime import date

    try:
        number = float(text)
    except ValueError:
        pass
    else:
        if number - number == 0:
            return "number", number
    try:
        return "date", float(date.fromisoformat(text).toordinal())
    except ValueError:
        raise StudyError(
            f"{path}: order of case {case} is {text!r}; it is a number, or a date such as 2026-05-31"
        ) from None
