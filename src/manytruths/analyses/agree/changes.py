"""How sizes change from case to case of a subject: ``changes.csv``; and responses by RECIST 1.1: ``recist.csv``.

Changes are against the first case (``baseline``) and against the smallest of all cases before (``nadir``). A response
is given only where a table of lesions names targets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ...core.columns import Column
from ...core.errors import InputError, StudyError, few
from ...core.tally import Tallies
from ...core.undefined import Note, Undefined, undefined_like
from ...io.result_tables import Row, Table
from ...measures.recist import MEASURABLE, MEASURABLE_NODE, Response, Visit, recist_responses, too_small
from ...study import Case, Study
from ..tables import group_names
from .sizes import CaseSizes, label_names, region_of_sizes

MEASURES = ("area", "volume", "sum_long_axes")
"""Sizes whose change is given."""
Sizes = Mapping[str, CaseSizes | None]


def visits_of(study: Study) -> dict[str, list[Case]]:
    """The cases of each subject that has several in an order, the first one first."""
    subjects: dict[str, list[Case]] = {}
    for case in study:
        if case.order is not None:
            subjects.setdefault(case.subject, []).append(case)
    return {who: sorted(cases, key=lambda c: c.order or 0) for who, cases in subjects.items() if len(cases) > 1}


def _columns(cases: Sequence[Case]) -> list[Column]:
    return sorted({column for case in cases for column in case.masks}, key=lambda column: column.order)


def changes_table(study: Study, sizes: Sizes, tallies: Tallies) -> Table:
    """Changes by subject, rater, session and label; those of exchangeable raters would compare different people."""
    table = Table("changes", ("subject", "rater", "session", "unit", "measure", "since", "compared_with"))
    if study.options.exchangeable:
        return table
    for subject, cases in visits_of(study).items():
        for column in _columns(cases):
            for key, label in label_names(tallies).items():
                table.add(_changes(subject, cases, column, (key, label), sizes, tallies))
    return table


def _changes(
    subject: str, cases: Sequence[Case], column: Column, label: tuple[str, str], sizes: Sizes, tallies: Tallies
) -> Iterator[Row]:
    measured = {case.name: sizes.get(case.name) for case in cases}
    for k, case in enumerate(cases[1:], start=1):
        now = measured[case.name]
        if now is None or column not in now.marks:
            continue
        numbers = now.of(column, label[0]).statistics()
        for measure in (name for name in MEASURES if name in numbers):
            unit = now.units.of_statistic(measure)
            earlier = _earlier(cases[:k], measured, column, label[0], measure, unit)
            found = [(name, value) for name, value in earlier.items() if not isinstance(value, Undefined)]
            low = min(found, key=lambda item: item[1], default=("", Undefined("no_earlier_reading")))
            if "mixed_units" in {value.code for value in earlier.values() if isinstance(value, Undefined)}:
                low = "", Undefined("mixed_units")
            first = cases[0].name, earlier[cases[0].name]
            for since, (name, before) in (("baseline", first), ("nadir", low)):
                extra = (subject, column.name, column.session, unit, measure, since, name)
                group, region = group_names(tallies, case.name), region_of_sizes(tallies[case.name])
                change = _difference(numbers[measure], before)
                yield Row("case", "change", change, case.name, group, label[1], region, extra, n=len(found))
                share = _ratio(change, before)
                extra = (*extra[:3], "", *extra[4:])
                yield Row("case", "relative_change", share, case.name, group, label[1], region, extra, n=len(found))


def _earlier(
    cases: Sequence[Case], measured: Sizes, column: Column, label: str, measure: str, unit: str
) -> dict[str, float]:
    """The sizes of a rater's earlier marks by case, or why there is none."""
    result: dict[str, float] = {}
    for k, case in enumerate(cases):
        sizes = measured[case.name]
        if sizes is None or column not in sizes.marks:
            result[case.name] = Undefined("no_earlier_reading" if k else "no_baseline")
        elif sizes.units.of_statistic(measure) != unit:
            result[case.name] = Undefined("mixed_units")
        else:
            result[case.name] = sizes.of(column, label).statistics()[measure]
    return result


def _difference(now: float, before: float) -> float:
    for value in (now, before):
        if isinstance(value, Undefined):
            return value
    return now - before


def _ratio(change: float, before: float) -> float:
    if isinstance(change, Undefined):
        return undefined_like(change)
    return change / before if before else Undefined("reference_size_zero")


def recist_table(study: Study, sizes: Sizes, tallies: Tallies) -> Table:
    """Responses by RECIST 1.1 by subject, rater and session, where targets are named."""
    table = Table("recist", (
        "subject", "rater", "session", "unit", "response", "target_response", "non_target_response", "new_lesion",
    ))  # fmt: skip
    if study.options.exchangeable:
        return table
    for subject, cases in visits_of(study).items():
        if _has_targets(cases):
            _check_labels(cases, tallies)
            for column in _columns(cases):
                responses = recist_responses(_visits(cases, column, sizes))
                for case, response in zip(cases[1:], responses, strict=True):
                    group, region = group_names(tallies, case.name), region_of_sizes(tallies[case.name])
                    for statistic, value, unit in _numbers(response):
                        new = "yes" if response.new_lesion else "no"
                        extra = (
                            subject, column.name, column.session, unit,
                            response.overall, response.target, response.non_target, new,
                        )  # fmt: skip
                        table.append(Row("case", statistic, value, case.name, group, "", region, extra))
    return table


def _has_targets(cases: Sequence[Case]) -> bool:
    return any(lesion.kind == "target" for case in cases for lesion in case.lesions)


def change_notes(study: Study, sizes: Sizes) -> Iterator[Note]:
    """What a reader of changes should know: that there can be none, and targets that are small at baseline."""
    visits = visits_of(study)
    if not visits and any(case.order is not None for case in study):
        text = "cases have an order, but every case is its own subject, so that no size can change: name the subject "
        yield Note("no_subject_with_several_cases", f"{text}of each case (column subject of cases.csv)")
    if study.options.exchangeable:
        return
    small = [
        f"{name} of {subject} by {column} ({math.floor(diameter * 100) / 100:g} mm)"
        for subject, cases in visits.items()
        if _has_targets(cases)
        for column in _columns(cases)
        for name, diameter in too_small(_visits(cases, column, sizes)[0]).items()
    ]
    if small:
        least = f"a long axis of {MEASURABLE:g} mm, of lymph nodes a short axis of {MEASURABLE_NODE:g} mm"
        text = f"target lesions below what RECIST 1.1 calls measurable at baseline ({least}), which count nonetheless"
        yield Note("target_not_measurable", f"{text}: {few(small, 6)}")


def _numbers(response: Response) -> list[tuple[str, float, str]]:
    return [
        ("sum_of_diameters", response.total, "mm"),
        ("nadir", response.nadir, "mm"),
        ("change_from_baseline", response.change_from_baseline, ""),
        ("change_from_nadir", response.change_from_nadir, ""),
    ]


def _check_labels(cases: Sequence[Case], tallies: Tallies) -> None:
    labels = next(iter(tallies.values())).labels
    known = {labels.names[mark] for mark in labels.marks}
    for case in cases:
        for lesion in case.lesions:
            if lesion.label and lesion.label not in known:
                raise StudyError(
                    f"targets: lesion {lesion.name!r} of case {case.name} has the label {lesion.label!r}, which no "
                    f"mask has; labels are {', '.join(sorted(known)) or 'none'}"
                )


def _visits(cases: Sequence[Case], column: Column, sizes: Sizes) -> list[Visit]:
    """What a rater found at every visit; targets that a case does not name were not evaluated there."""
    named = {lesion.name: lesion for case in cases for lesion in case.lesions}
    targets = [lesion for lesion in named.values() if lesion.kind == "target"]
    others = [lesion for lesion in named.values() if lesion.kind == "non_target"]
    nodes, result, new = frozenset(lesion.name for lesion in targets if lesion.node), list[Visit](), False
    for case in cases:
        here, found = {lesion.name: lesion for lesion in case.lesions}, sizes.get(case.name)
        measured = found.lesions.get(column, {}) if found is not None else {}
        if found is not None and found.units.length != "mm":
            raise InputError(f"case {case.name}: RECIST needs the pixel size in mm; give it (--spacing)")
        new = new or any(lesion.kind == "new" for lesion in case.lesions)
        diameters: dict[str, float | None] = {}
        shared = frozenset(lesion.name for lesion in targets if measured.get(lesion.name, ()) is None)
        for lesion in targets:
            axes = measured.get(lesion.name)
            diameters[lesion.name] = None if axes is None else axes[1] if lesion.node else axes[0]
        statuses: dict[str, str] = {}
        for lesion in others:
            said = here[lesion.name].status if lesion.name in here else ""
            axes = measured.get(lesion.name)
            seen = "" if axes is None else "present" if axes[0] else "absent"
            statuses[lesion.name] = said or seen
        result.append(Visit(diameters, nodes, statuses, new, shared))
    return result
