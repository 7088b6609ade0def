"""Claims about masks that are probably broken, lost or copied, with the evidence and what to do."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.columns import Column
from ..core.undefined import Note
from ..io.result_tables import Row, Table
from ..study import Study
from ..study.suspicions import Suspicion
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex
from .sentences import (
    Cell,
    Sentence,
    capitalise,
    case_cell,
    case_links,
    compose,
    join_parts,
    number_word,
    plain_text,
)

UNFIT = (
    "fits most other raters after the change (Dice beyond chance of 0.5 or more, or nearly theirs with each other), "
    "and far better than before (odds nine times as large, or four times where it fits as they fit each other)"
)

ALL_MARKED = ClaimKind(
    "masks.all_marked", "description", "A mask marks nearly the whole image, where the others do not.",
    "95% of the image or more, where the other raters' masks mark at most 80% (median)",
)  # fmt: skip
INVERTED = ClaimKind("masks.inverted", "description", "A mask is inverted.", UNFIT)
TURNED = ClaimKind("masks.turned", "description", "A mask is flipped or rotated.", UNFIT)
SHIFTED = ClaimKind(
    "masks.shifted", "description", "A mask lies elsewhere than the others.",
    f"{UNFIT}; and nearly as well as masks usually do in this study",
)  # fmt: skip
ALWAYS_SHIFTED = ClaimKind(
    "masks.always_shifted", "description", "A rater's masks are shifted by a constant.",
    "a median shift of 2 pixels and five standard errors or more, over five cases or more of which two thirds are "
    "shifted in the same direction; moving them takes away a quarter of the Dice distance to the others, or goes half "
    "of the way to the others' Dice with each other",
)  # fmt: skip
SCALED = ClaimKind("masks.scaled", "description", "A mask was drawn at another resolution.", UNFIT)
OTHER_CASE = ClaimKind(
    "masks.other_case", "description", "A mask is that of another case.",
    "Dice with the other raters of its case below 0.3 or half of what is usual, far better in another case of the same "
    "size, and better there than any of 100 masks that fit their own case fits in another",
)  # fmt: skip
OTHER_LABELS = ClaimKind(
    "masks.other_labels", "description", "A mask numbers its labels otherwise.",
    "the renumbered labels fit those of most other raters (mean Dice of 0.5 or more), and far better than before",
)  # fmt: skip
SAME = (
    "equal in every pixel, with an outline of 200 pixels, or in which the nearest raters of the study (a fifth of all) "
    "would differ in 30 pixels; or equal in all cases with 200 pixels together; empty masks are not compared"
)
IDENTICAL_RATERS = ClaimKind("masks.identical_raters", "description", "Two raters have the same mask.", SAME)
IDENTICAL_SESSIONS = ClaimKind(
    "masks.identical_sessions", "description", "Two sessions of a rater have the same mask.", SAME
)
IDENTICAL_CASES = ClaimKind(
    "masks.identical_cases", "description", "Two cases have the same mask.",
    "equal in every pixel, with an outline of 60 pixels or more, or in most of five or more cases of one rater and "
    "nobody else's; empty masks are not compared",
)  # fmt: skip
MISSING_MARKS = ClaimKind(
    "masks.missing_marks", "description", "A mask is empty where the others mark much.",
    "all other raters marked, as much as is usual in the study (median), and overlap by a Dice of 0.5 or more (median)",
)  # fmt: skip
DOTS = "20 or more, at least 1% of what the mask marks, and five times the share in the others' masks"
SPECKLE = ClaimKind("masks.speckle", "description", "A mask has many single pixels.", DOTS)
PINHOLES = ClaimKind("masks.pinholes", "description", "A mask has many holes of one pixel.", DOTS)

MANY_SHARE, FEWEST_MANY = 1 / 3, 3
"""Share and number of a rater's masks from which on the rater is named instead of single masks."""
MANY = ClaimKind(
    "masks.many", "description",
    "So many of a rater's masks are probably broken or lost, or, of kinds that can be an opinion, meant so: look at "
    "this rater's masks first, and leave the rater out if they are wrong.",
    f"a third of the rater's masks or more, and at least {FEWEST_MANY}, each found by a check of single masks "
    "that says whose mask it is; copies do not count, and exchangeable raters are nobody",
    "raters whose masks are sound and unlike the others': see {doc}`masks`",
)  # fmt: skip

KINDS = {
    kind.id.partition(".")[2]: kind
    for kind in (
        MANY, ALL_MARKED, INVERTED, OTHER_CASE, TURNED, SHIFTED, ALWAYS_SHIFTED, SCALED, OTHER_LABELS, MISSING_MARKS,
        IDENTICAL_RATERS, IDENTICAL_SESSIONS, IDENTICAL_CASES, SPECKLE, PINHOLES,
    )
}  # fmt: skip
"""By the kind of a suspicion, the gravest first."""
IDS = tuple(kind.id for kind in KINDS.values())
MISPLACED = ("inverted", "turned", "shifted", "scaled", "other_case", "other_labels", "always_shifted")
"""Kinds in which agreement cannot say which of two raters is wrong."""
NAMED_CASES = 3
"""Cases that a sentence names besides the first."""
MOST_OPTIONS = 3
"""Cases that are left out one by one; with more, the rater is left out."""

MASK_STATISTICS = {
    "dice": "before",
    "dice_after": "after",
    "share": "share",
    "share_of_others": "others",
    "count": "count",
}
"""Statistics of ``masks.csv``, and the field of a suspicion that each is."""


def suspicions_table(suspicions: Iterable[Suspicion]) -> Table:
    """The table ``masks``: the evidence of every suspicion."""
    table = Table("masks", ("kind", "rater", "change", "other_case"))
    for suspicion in suspicions:
        for statistic, name in MASK_STATISTICS.items():
            value = getattr(suspicion, name)
            if not math.isnan(value) and (value or statistic != "count"):
                table.append(_row(suspicion, statistic, float(value)))
    return table


def _row(suspicion: Suspicion, statistic: str, value: float = math.nan) -> Row:
    extra = (suspicion.kind, " or ".join(suspicion.names), suspicion.change, suspicion.other)
    n = suspicion.total or None
    return Row("case" if suspicion.case else "pooled", statistic, value, suspicion.case, extra=extra, n=n)


@dataclass(frozen=True)
class Group:
    """The same suspicion in one or more cases."""

    suspicions: tuple[Suspicion, ...]

    @property
    def first(self) -> Suspicion:
        """The first case."""
        return self.suspicions[0]

    @property
    def cases(self) -> list[str]:
        """The cases, each once."""
        return list(dict.fromkeys(s.case for s in self.suspicions if s.case))


def group_suspicions(suspicions: Iterable[Suspicion]) -> list[Group]:
    """Suspicions of one kind about the same raters together, the gravest first."""
    groups: dict[tuple[object, ...], list[Suspicion]] = {}
    for suspicion in suspicions:
        change = suspicion.change if suspicion.kind in ("turned", "scaled", "other_labels") else ""
        groups.setdefault((suspicion.kind, suspicion.columns, change), []).append(suspicion)
    order = list(KINDS)
    return sorted((Group(tuple(each)) for each in groups.values()), key=lambda group: order.index(group.first.kind))


def consider_masks(log: ClaimLog, suspicions: Sequence[Suspicion], table: TableIndex, masks: Mapping[str, int]) -> None:
    """Claims about masks that are probably broken, lost or copied; kinds of which none is found are not made.

    ``masks`` is how many each rater has.
    """
    groups, many = group_suspicions(suspicions), find_many(suspicions, masks)
    for rater, found in many.items():
        log.consider(
            MANY, _many(rater, found, masks[rater]), about=rater, result=_many_found(rater, found, masks[rater])
        )
    if not many:
        why = Note("none_found", f"no rater has so many: a third, and at least {FEWEST_MANY}")
        log.consider(MANY, (MANY.says,), why_not=why)
    for kind in list(KINDS.values())[1:]:
        mine = [group for group in groups if KINDS[group.first.kind] is kind]
        for group in mine:
            about = " and ".join(group.first.names)
            log.consider(kind, describe_group(group, table), about=about)
        if not mine:
            log.consider(
                kind, (kind.says,), why_not=Note("none_found", NONE_FOUND.get(kind.id, "none was found by this check"))
            )


NONE_FOUND = dict.fromkeys(
    (IDENTICAL_RATERS.id, IDENTICAL_SESSIONS.id, IDENTICAL_CASES.id),
    "none was found by this check, which does not compare empty masks",
)
"""Why a claim about masks is not made, where there is more to say than that none was found."""


def count_masks(study: Study) -> dict[str, int]:
    """How many masks each rater has, in all sessions; nothing of exchangeable raters, who are nobody."""
    if study.options.exchangeable:
        return {}
    return Counter(column.name for case in study for column in case.masks)


def find_many(suspicions: Iterable[Suspicion], masks: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Raters of whose masks many are probably broken or lost, and how many by kind."""
    kinds: dict[str, dict[tuple[str, Column], str]] = {}
    order = list(KINDS)
    for suspicion in sorted(suspicions, key=lambda each: order.index(each.kind)):
        # the gravest kind of each mask counts; of two raters one cannot say whose mask it is
        if suspicion.case and len(suspicion.columns) == 1 and suspicion.kind in SHORT:
            mine = kinds.setdefault(suspicion.raters[0], {})
            mine.setdefault((suspicion.case, suspicion.columns[0]), SHORT[suspicion.kind])
    return {
        rater: Counter(found.values())
        for rater, found in kinds.items()
        if len(found) >= max(FEWEST_MANY, MANY_SHARE * masks.get(rater, math.inf))
    }


SHORT = {
    "all_marked": "filled", "inverted": "inverted", "other_case": "of another case", "turned": "turned",
    "shifted": "shifted", "scaled": "scaled", "other_labels": "with other labels", "missing_marks": "empty",
    "speckle": "with single pixels", "pinholes": "with pinholes",
}  # fmt: skip
"""What is the matter with one mask, in a word."""
MAYBE_MEANT = {
    SHORT[kind] for kind in ("missing_marks", "shifted", "other_case", "other_labels", "speckle", "pinholes")
}
"""What a rater may have meant: nothing to mark, another structure, nested ones drawn smaller, marks of a threshold."""


def may_be_meant(found: Counter[str]) -> bool:
    """Whether some of a rater's masks may be what the rater meant."""
    return bool(MAYBE_MEANT & found.keys())


def _many_found(rater: str, found: Counter[str], of: int, be: str = "were") -> Sentence:
    """``9 of 12 masks of rater E were probably broken or lost, or meant so (4 shifted, 3 empty, 2 scaled).``"""
    which = ", ".join(f"{count} {kind}" for kind, count in found.most_common())
    empty = SHORT["missing_marks"]
    what = f"{be} probably broken{' or lost' * (empty in found)}" if set(found) != {empty} else "may be lost"
    what += ", or meant so" * may_be_meant(found)
    return compose(f"{found.total()} of {of} masks of rater {{}} {what} ({which}).", Cell(rater))


def _many(rater: str, found: Counter[str], of: int) -> Sentence:
    start = _many_found(rater, found, of, "are")
    last = compose(
        ": look at the masks of {} first, and leave {} out if they are wrong ({}).",
        Cell(rater),
        Cell(rater),
        _exclude(rater),
    )
    return (*start[:-1], str(start[-1]).removesuffix("."), *last)


def mask_notes(suspicions: Sequence[Suspicion], masks: Mapping[str, int]) -> Iterator[Note]:
    """The same as notes, with how to leave the masks out; ``masks`` is how many each rater has."""
    many = find_many(suspicions, masks)
    for rater, found in many.items():
        yield Note("many", plain_text(_many(rater, found, masks[rater])).removesuffix("."))
    for group in group_suspicions(suspicions):
        text = plain_text(describe_group(group, TableIndex("", suspicions_table(group.suspicions))))
        advice = f"; {advise(group)}" if not many.keys() & set(group.first.raters) else ""
        yield Note(group.first.kind, f"{text[0].lower()}{text[1:].removesuffix('.')}{advice}")


def count_as_is(suspicions: Sequence[Suspicion]) -> str:
    """``All numbers count these masks as they are``."""
    one = len(suspicions) == 1 and len(suspicions[0].columns) == 1 and suspicions[0].case
    return f"All numbers count {'this mask as it is' if one else 'these masks as they are'}"


def describe_suspicion(suspicion: Suspicion) -> str:
    """One suspicion, with how to leave the mask out: a problem of ``check``."""
    group = Group((suspicion,))
    said = plain_text(_evidence(suspicion, TableIndex("", suspicions_table((suspicion,)))))
    return f"{f'case {suspicion.case}: ' if suspicion.case else ''}{said}; {advise(group)}"


def advise(group: Group) -> str:
    """What to do: look, correct, or leave out."""
    raters = group.first.raters[:1] if group.first.kind == "identical_cases" else group.first.raters
    if group.first.kind == "identical_sessions":
        return "correct it, or take the files of one session away"
    return f"correct it, or leave it out ({' or '.join(_leave_out(rater, group.cases) for rater in raters)})"


def _leave_out(rater: str, cases: Sequence[str]) -> str:
    if cases and len(cases) <= MOST_OPTIONS:
        return " ".join(_option(f"{rater}={case}") for case in cases)
    return _exclude(rater)


def _exclude(rater: str) -> str:
    return f"--exclude-rater {shlex.quote(rater)}"


def _option(pair: str) -> str:
    return f"--exclude {shlex.quote(pair)}"


def describe_group(group: Group, table: TableIndex) -> Sentence:
    """One sentence: where, whose mask, what is the matter, the evidence of the first case, and where it recurs."""
    first, cases = group.first, group.cases
    said = _evidence(first, table)
    if not cases:
        return (*capitalise(said), ".")
    others = ("; likewise in ", *case_links(cases[1:], NAMED_CASES), " (numbers in masks.csv)") if cases[1:] else ()
    return ("In case ", case_cell(cases[0]), ", ", *said, *others, ".")


def describe_doubts(suspicions: Iterable[Suspicion]) -> Sentence:
    """Whose masks are in doubt, and how: ``two masks of rater C may be lost (p04 and p11)``; empty where nobody's."""
    groups: dict[tuple[str, tuple[str, ...]], list[Suspicion]] = {}
    for suspicion in suspicions:
        kind = "broken" if suspicion.broken and suspicion.kind != "identical_cases" else suspicion.kind
        groups.setdefault((kind, suspicion.raters), []).append(suspicion)
    return join_parts([_doubt(kind, Group(tuple(each))) for (kind, _), each in groups.items()], "; ", "; ")


def _doubt(kind: str, group: Group) -> Sentence:
    raters, cases = group.first.raters, group.cases
    where: Sentence = case_links(cases, NAMED_CASES)
    if kind == "identical_sessions":
        return compose("two readings of rater {} are identical in {}", _names(raters), where)
    if kind == "identical_raters":
        return compose("the masks of raters {} are identical in {}", _names(raters), where)
    whose: Sentence = compose("rater {}", join_parts([(Cell(rater),) for rater in raters], " or "))
    if not all(suspicion.case for suspicion in group.suspicions):
        return compose("the masks of {} are probably broken", whose)
    many = f"{number_word(len(cases))} masks" if len(cases) > 1 else "a mask"
    are = "are" if len(cases) > 1 else "is"
    what = {"missing_marks": "may be lost", "identical_cases": f"{are} the same as of another case"}
    return compose("{} of {} {} ({})", many, whose, what.get(kind, f"{are} probably broken"), where)


def _evidence(suspicion: Suspicion, table: TableIndex) -> Sentence:
    """What is the matter with a mask, and the numbers that show it."""

    def quote(statistic: str, digits: int = 2, *, percent: bool = False) -> Cell:
        row = _row(suspicion, statistic)
        return table.cell(statistic, row.scope, *row.extra, case=row.case, digits=digits, percent=percent)

    text = _TEXTS[suspicion.kind]
    if len(suspicion.raters) > 1 and suspicion.kind in MISPLACED:
        text = _TEXTS_OF_TWO[suspicion.kind]
    for many, one in _OF_ONE.items() if suspicion.compared == 1 else ():
        text = text.replace(many, one)
    text = text if suspicion.compared else text.replace(" (in the others' masks {others})", "")
    return compose(
        text,
        rater=_names(suspicion.names[:1]),
        source=_names(suspicion.names[-1:]),
        raters=_names(suspicion.names),
        person=_names(suspicion.raters[:1]),
        sessions=" and ".join(column.session or "without a name" for column in suspicion.columns),
        change=suspicion.change,
        other=case_cell(suspicion.other),
        before=quote("dice"),
        after=quote("dice_after"),
        share=quote("share", 0, percent=True),
        others=quote("share_of_others", 0, percent=True),
        count=quote("count", 0),
        total=str(suspicion.total),
        item=suspicion.item,
        overlap=compose(" and overlap by a Dice of {}", quote("dice")) if not math.isnan(suspicion.before) else "",
    )


def _names(raters: Sequence[str]) -> Sentence:
    """``A and B``."""
    names: list[str | Cell] = []
    for i, rater in enumerate(raters):
        names += [" and "] if i else []
        names.append(Cell(rater))
    return tuple(names)


_FIT = "(Dice {before} as it is, {after} so)"
_TEXTS = {
    "all_marked": "rater {rater}'s mask marks {share} of the image, the others' {others} (median): probably it was "
    "filled or exported by mistake",
    "inverted": f"rater {{rater}}'s mask fits the others' when inverted {_FIT}: probably foreground and background "
    "are exchanged",
    "turned": f"rater {{rater}}'s mask fits the others' when {{change}} {_FIT}: probably it was saved the wrong way "
    "round",
    "shifted": f"rater {{rater}}'s mask fits the others' when it is moved by {{change}} {_FIT}: probably it is "
    "shifted, or another structure was marked",
    "always_shifted": "rater {rater}'s masks lie beside the others' in the same direction in {count} of {total} cases: "
    "by {change} to move them back (median); where each fits best, they fit better (mean Dice {before} as they are, "
    "{after} so)",
    "scaled": f"rater {{rater}}'s mask fits the others' when it is scaled by {{change}} {_FIT}: probably it was drawn "
    "at another resolution",
    "other_case": "rater {rater}'s mask does not fit the others' (Dice {before}), but fits those of case {other} "
    "(Dice {after}): probably files are mixed up, or the structure of that case was marked",
    "other_labels": "rater {rater}'s labels fit the others' with {change} (mean Dice of these labels {before} as they "
    "are, {after} so): probably they are numbered otherwise",
    "identical_raters": "the masks of raters {raters} are the same in every {item} ({count} {item}s marked): probably "
    "one is a copy",
    "identical_sessions": "rater {person}'s masks of sessions {sessions} are the same in every {item} ({count} {item}s "
    "marked): probably one is a copy, and says nothing about how well the rater repeats",
    "identical_cases": "the mask of rater {rater} is the same in every {item} as that of rater {source} in case "
    "{other} ({count} {item}s marked): probably one is a copy",
    "missing_marks": "rater {rater} marked nothing, where the others marked {others} of the image (median){overlap}: "
    "the mask may be lost, unless it is an opinion",
    "speckle": "rater {rater}'s mask holds {count} single {item}s, {share} of what it marks (in the others' masks "
    "{others}): probably noise of a conversion",
    "pinholes": "rater {rater}'s mask holds {count} holes of one {item}, {share} of what it marks (in the others' "
    "masks {others}): probably noise of a conversion",
}
_OF_ONE = {
    "the others' {others} (median)": "the other rater's {others}",
    "the others marked {others} of the image (median)": "the other rater marked {others} of the image",
    "in the others' masks {others}": "in the other rater's mask {others}",
}
"""The words where there is one other rater."""
_WHICH = "which of the two is wrong cannot be told from them"
_TEXTS_OF_TWO = {
    "inverted": f"the masks of raters {{raters}} fit when one of them is inverted {_FIT}: {_WHICH}",
    "turned": f"the masks of raters {{raters}} fit when {{change}} in one of them {_FIT}: {_WHICH}",
    "shifted": f"the masks of raters {{raters}} fit when one of them is moved by {{change}} {_FIT}: probably one is "
    f"shifted, or they marked different structures; {_WHICH}",
    "always_shifted": "the masks of raters {raters} lie beside each other in the same direction in {count} of {total} "
    "cases: by {change} to move one of them back (median); where each fits best, they fit better (mean Dice {before} "
    f"as they are, {{after}} so); {_WHICH}",
    "scaled": f"the masks of raters {{raters}} fit when one of them is scaled by {{change}} {_FIT}: {_WHICH}",
    "other_case": "the masks of raters {raters} do not fit each other (Dice {before}), but fit those of case {other} "
    f"(Dice {{after}}): probably one rater's files are mixed up; {_WHICH}",
    "other_labels": "the labels of raters {raters} fit with {change} in one of them (mean Dice of these labels "
    f"{{before}} as they are, {{after}} so): {_WHICH}",
}
