"""Lesions of each case: who found which, how well raters agree on finding them, and how that depends on the rule.

Numbers of a case are those of its joint partition and of its pairs (:mod:`manytruths.lesions`); means are over
subjects. Labels are never united. Of exchangeable raters there is nothing about one of them or about two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isnan
from typing import NamedTuple

import numpy as np

from ...charts.curves import line_chart
from ...claims.sentences import join_names, spell_count
from ...core.columns import Column
from ...core.tally import Tallies, Tally
from ...core.undefined import Note, Undefined, code, ratio
from ...io.result_tables import PlainTable, Row, Table
from ...lesions import Lesion, LesionMatch, match_lesions
from ...lesions.marks import MOST, TooManyLesions
from ...lesions.matching import positive_agreement, rater_detection
from ...lesions.rules import Rule
from ...measures.sizes import MM3_PER_ML, SizeUnits
from ...study.case import Reading
from ...study.lesions import lesion_masks, match_reading
from ..label_rows import macro_rows
from ..many import many_raters, without_absent
from ..tables import Series, Settings, group_names, marked_rows, mean_rows, region_of, summarise

ALL = ("", "")
"""The columns ``rater`` and ``against`` of what is about all raters."""
OTHERS = "others"
OF_ALL_CASES = (
    "lesions", "lesions_compared", "lesions_found_by_all", "lesions_found_by_one", "lesions_overlapping_others"
)  # fmt: skip
"""Counts over all cases; from the second on, of lesions that two or more raters rated, the last of those of one."""
COUNTED = ("lesions", "false_marks", "lesions_alone")
"""Numbers of lesions, of which a mean over labels says nothing."""
MOST_PAIRS = 45
"""Of raters, whose curves are tabulated: those of ten raters."""
OF_PAIRS = ("pq", "sq", "rq")
"""Means over pairs, which are not followed over thresholds where there are many."""
HEADER = (
    "case", "group", "label", "lesion", "found", "rated", "found_by", "missed_by", "not_rated_by", "sizes", "extent",
    "unit", "dice", "iou", "centroid", "split_by", "merged_by", "cut_by_border",
)  # fmt: skip
Key = tuple[str, str, str]
"""Rater, against whom, statistic."""
Numbers = Mapping[Key, float]


class Finders(NamedTuple):
    """Number of lesions; of these, those that two or more raters rated, that all of these found, or one alone.

    Of the last, ``touched`` overlap with a mark of another rater, less than the rule asks for.
    """

    lesions: int = 0
    compared: int = 0
    by_all: int = 0
    by_one: int = 0
    touched: int = 0

    @classmethod
    def of(cls, match: LesionMatch) -> Finders:
        """Of one image; who rated nothing of a lesion is not asked about it."""
        found, rated = (match.found == 1).sum(axis=1), (match.found >= 0).sum(axis=1)
        several, overlaps = rated > 1, match.marks.overlaps
        alone, touched = several & (found == 1), np.zeros(len(match), bool)
        touched[match.lesion_of[np.concatenate([overlaps.first, overlaps.second])]] = True
        every = (several, several & (found == rated), alone, alone & touched)
        return cls(len(match), *(int(each.sum()) for each in every))


NOTHING_FOUND = Finders()


@dataclass(frozen=True)
class LabelLesions:
    """What is kept of the lesions of one label in one case."""

    lesions: tuple[Lesion, ...] = ()
    curve: Mapping[float, Numbers] = field(default_factory=dict)
    """The numbers of detection by threshold."""
    numbers: Numbers = field(default_factory=dict)
    """Those of the threshold that was asked for."""
    finders: Mapping[float, Finders] = field(default_factory=dict)
    """How many lesions were found by whom, by threshold."""
    found: Finders = NOTHING_FOUND
    """The same for the threshold that was asked for."""
    too_many: bool = False


@dataclass(frozen=True)
class CaseLesions:
    """The lesions of a case by label."""

    raters: tuple[str, ...]
    absent: tuple[str, ...]
    unit: str
    by_label: Mapping[str, LabelLesions]
    thresholds: tuple[float, ...]

    def of(self, label: str) -> LabelLesions:
        """Those of a label, which nobody may have used in this case."""
        if label in self.by_label:
            return self.by_label[label]
        nothing = {r: None if r in self.absent else np.zeros((1, 1), bool) for r in self.raters}
        numbers = detection_numbers(match_lesions(nothing), each_pair=not many_raters(len(self.raters)))
        return LabelLesions(curve=dict.fromkeys(self.thresholds, numbers), numbers=numbers)


def lesion_notes(cases: Mapping[str, CaseLesions | None]) -> Iterator[Note]:
    """Cases with more lesions than can be matched."""
    full = [
        name
        for name, found in cases.items()
        if found is not None and any(label.too_many for label in found.by_label.values())
    ]
    if full:
        where = f"{spell_count(len(full), 'case')} ({join_names(full, 4)})"
        text = f"in {where} raters drew more than {MOST:,} lesions, which are not matched: detection is undefined there"
        yield Note("too_many_lesions", text)


def measure_lesions(reading: Reading, table: Tally) -> CaseLesions | None:
    """The lesions of a case whose masks are in memory; None where no label is background."""
    if table.labels.background is None:
        return None
    columns: list[Column] = [table.columns[i] for i in table.raters]
    # the session that counts is the first of each rater, and has no name of its own
    names = tuple(column.name for column in columns)
    by_label, thresholds = {}, reading.case.options.lesions.series
    for mark in table.labels.marks:
        masks = lesion_masks(reading, columns, table.labels, mark)
        try:
            match = match_reading(reading, {Column(column.name): mask for column, mask in masks.items()})
        except TooManyLesions:
            by_label[table.labels.names[mark]] = LabelLesions(too_many=True)
            continue
        over, many = match.over(), many_raters(len(columns))
        numbers = detection_numbers(match, each_pair=not many)
        known = {} if many else {match.signature: numbers}
        for found in over.values():
            if found.signature not in known:
                known[found.signature] = detection_numbers(found, each_pair=not many, pairs=not many)
        by_label[table.labels.names[mark]] = LabelLesions(
            match.lesions,
            {threshold: known[found.signature] for threshold, found in over.items()},
            numbers,
            {threshold: Finders.of(found) for threshold, found in over.items()},
            Finders.of(match),
        )
    absent = tuple(column.name for column in columns if column not in reading.masks)
    return CaseLesions(names, absent, SizeUnits.of(reading.grid).size, by_label, thresholds)


def detection_numbers(match: LesionMatch, *, each_pair: bool = True, pairs: bool = True) -> dict[Key, float]:
    """All numbers of detection of one image and label; of many raters without each pair, or without any of pairs."""
    numbers: dict[Key, float] = {}
    found, present = match.found, np.flatnonzero(~match.marks.absent).tolist()
    count, matched = len(match), match.pairs() if pairs else ()
    numbers[*ALL, "lesions"] = float(count)
    compared = found[(found >= 0).sum(axis=1) > 1]
    finders = np.bincount((compared == 1).sum(axis=1), minlength=len(match.raters) + 1)
    why = "fewer_than_two_raters" if count else "no_lesion"
    for k in range(1, len(match.raters) + 1):
        numbers[*ALL, f"found_by_{k}"] = ratio(float(finders[k]), len(compared), why)
    numbers[*ALL, "positive_agreement"] = positive_agreement(found)
    for name in ("pq", "sq", "rq") if pairs else ():
        numbers[*ALL, name] = _mean([getattr(pair, name) for pair in matched])
    numbers[*ALL, "matched_dice"] = match.dice
    for i, rater in enumerate(match.raters):
        numbers |= {(rater, OTHERS, name): value for name, value in _rater_numbers(match, i, len(present) > 1).items()}
    for pair in matched if each_pair else ():
        both = found[:, [match.raters.index(pair.rater_a), match.raters.index(pair.rater_b)]]
        agreed = positive_agreement(both[(both == 1).any(axis=1) & (both >= 0).all(axis=1)])
        values = {"positive_agreement": agreed, "pq": pair.pq, "sq": pair.sq, "rq": pair.rq, "matched_dice": pair.dice}
        numbers |= {(pair.rater_a, pair.rater_b, name): value for name, value in values.items()}
    return numbers


def _rater_numbers(match: LesionMatch, rater: int, judged: bool) -> dict[str, float]:
    if match.marks.absent[rater] or not judged:
        why = Undefined("rater_absent" if match.marks.absent[rater] else "fewer_than_two_raters")
        return dict.fromkeys(("lesions", "sensitivity", "false_marks", "lesions_alone"), why)
    one = rater_detection(match.found, match.raters, rater)
    return {
        "lesions": float(match.marks.counts[rater]),
        "sensitivity": one.sensitivity,
        "false_marks": float(one.false_marks),
        "lesions_alone": float(one.alone),
    }


def _mean(values: Sequence[float]) -> float:
    """The mean of what is defined, whatever the order; why there is none by the first that is not."""
    known = [value for value in values if not isnan(value)]
    if not known:
        return Undefined(code(values[0])) if values else Undefined("fewer_than_two_raters")
    return fsum(known) / len(known)


# -- tables ----------------------------------------------------------------------------------------


def lesion_tables(
    lesions: Mapping[str, CaseLesions | None], tallies: Tallies, settings: Settings, touched: frozenset[str]
) -> tuple[list[PlainTable], list[Table]]:
    """The tables ``lesions``, and ``detection`` with ``detection_curve``; nothing where lesions are not measured.

    ``touched`` are cases with resampled masks.
    """
    cases = {name: case for name, case in lesions.items() if case is not None}
    labels = next(iter(tallies.values())).labels
    if len(cases) < len(tallies) or labels.background is None:
        return [], []
    several, exchangeable = labels.several, next(iter(tallies.values())).exchangeable
    names = {labels.names[mark]: labels.names[mark] if several else "" for mark in labels.marks}
    rows = list(_lesion_rows(cases, tallies, names, exchangeable))
    plain = PlainTable("lesions", *marked_rows(rows, HEADER, [row[0] in touched for row in rows]))
    detection = Table("detection", ("rater", "against"))
    curve = Table("detection_curve", ("rater", "against", "threshold"))
    parts = {name: {case: found.of(name) for case, found in cases.items()} for name in names}
    if several:
        detection.add(_macro_rows(parts, cases, tallies, settings, exchangeable))
    for name, label in names.items():
        by_case = parts[name]
        keys = _keys(by_case, exchangeable)
        series = _series(keys, {c: f.numbers for c, f in by_case.items()}, cases, label)
        read = without_absent(summarise(series, tallies, settings), len(next(iter(cases.values())).raters))
        detection.add(_counted(read, by_case))
        detection.add(_pooled_rows(by_case, cases, label, region_of(tallies)))
        if sum(key[2] == "pq" for key in keys) > MOST_PAIRS + 1:
            keys = [key for key in keys if key[1] in ("", OTHERS)]
        if many_raters(len(next(iter(cases.values())).raters)):
            keys = [key for key in keys if key[2] not in OF_PAIRS]
        for threshold in next(iter(cases.values())).thresholds:
            at = {c: f.curve.get(threshold, {}) for c, f in by_case.items()}
            series = _series(keys, at, cases, label, (threshold,))
            curve.add(row for row in mean_rows(series, tallies, list(tallies), "", settings) if row.scope == "mean")
            finders = [f.finders.get(threshold, NOTHING_FOUND) for f in by_case.values()]
            curve.add(_finder_rows(finders, by_case, label, region_of(tallies), (*ALL, threshold)))
    return [plain], [detection, curve]


def _macro_rows(
    parts: Mapping[str, Mapping[str, LabelLesions]],
    cases: Mapping[str, CaseLesions],
    tallies: Tallies,
    settings: Settings,
    exchangeable: bool,
) -> Iterator[Row]:
    """Means over labels of what is no count; rows of cases say of how many lesions they are."""
    keys = dict.fromkeys(key for by_case in parts.values() for key in _keys(by_case, exchangeable))
    chosen = [key for key in keys if key[2] not in COUNTED]
    by_label = {
        name: _series(chosen, {case: found.numbers for case, found in by_case.items()}, cases, name)
        for name, by_case in parts.items()
    }
    for row in macro_rows(by_label, tallies, settings):
        if row.scope == "case":
            row.n = sum(len(by_case[row.case].lesions) for by_case in parts.values())
        yield row


def _keys(by_case: Mapping[str, LabelLesions], exchangeable: bool) -> list[Key]:
    """What any case has a number of, numbers of all raters first."""
    keys = dict.fromkeys(key for found in by_case.values() for key in found.numbers)
    return sorted(
        (key for key in keys if key[:2] == ALL or not exchangeable),
        key=lambda key: (key[:2] != ALL, key[1] != OTHERS),
    )


def _series(
    keys: Sequence[Key],
    numbers: Mapping[str, Numbers],
    cases: Mapping[str, CaseLesions],
    label: str,
    extra: tuple[object, ...] = (),
) -> list[Series]:
    return [
        Series(
            statistic,
            [_value(numbers[case], (rater, against, statistic), cases[case]) for case in numbers],
            label,
            (rater, against, *extra),
        )
        for rater, against, statistic in keys
    ]


def _value(numbers: Numbers, key: Key, case: CaseLesions) -> float:
    if not numbers:
        return Undefined("too_many_lesions")
    if key in numbers:
        return numbers[key]
    # by fewer raters than others: nobody could be one more
    return Undefined("no_case_rated_by_so_many" if key[:2] == ALL else "one_absent")


def _counted(rows: Iterable[Row], by_case: Mapping[str, LabelLesions]) -> Iterator[Row]:
    """Rows of cases say of how many lesions they are."""
    for row in rows:
        if row.scope == "case":
            row.n = len(by_case[row.case].lesions)
        yield row


def _pooled_rows(
    by_case: Mapping[str, LabelLesions], cases: Mapping[str, CaseLesions], label: str, region: str
) -> Iterator[Row]:
    """How many lesions of all cases were found by whom; how many marks they are, and how large these are.

    ``largest_mark_share`` is the share of a mask that its largest mark holds, mean over masks with several.
    """
    yield from _finder_rows([found.found for found in by_case.values()], by_case, label, region, ALL)
    lesions = [lesion for found in by_case.values() for lesion in found.lesions]
    sizes = [size for lesion in lesions for size in lesion.sizes]
    masks: dict[tuple[str, str], list[int]] = {}
    for case, found in by_case.items():
        for rater, size in ((r, s) for one in found.lesions for r, s in zip(one.found_by, one.sizes, strict=True)):
            masks.setdefault((case, rater), []).append(size)
    shares = [max(each) / sum(each) for each in masks.values() if len(each) > 1]
    read = sum(len(case.raters) - len(case.absent) for case in cases.values())
    numbers = {
        "lesions_split": float(sum(bool(lesion.split_by) for lesion in lesions)),
        "marks": float(len(sizes)),
        "most_marks": float(max(map(len, masks.values()), default=0)),
        "median_mark": float(np.median(sizes)) if sizes else Undefined("no_lesion"),
        "largest_mark_share": fsum(shares) / len(shares) if shares else Undefined("no_mask_of_several_lesions"),
    }
    unknown = any(found.too_many for found in by_case.values())
    for name, value in numbers.items():
        value = Undefined("too_many_lesions") if unknown else value
        n = {"lesions_split": _compared(by_case), "largest_mark_share": len(shares)}.get(name, read)
        yield Row("pooled", name, value, "", "", label, region, ALL, n=n)
    compared = [len(lesion.found_by) for lesion in lesions if len(lesion.found_by) + len(lesion.missed_by) > 1]
    for k in range(1, max(len(case.raters) for case in cases.values()) + 1):
        value = Undefined("too_many_lesions") if unknown else ratio(compared.count(k), len(compared), "no_lesion")
        yield Row("pooled", f"found_by_{k}", value, "", "", label, region, ALL, n=len(compared))


def _finder_rows(
    finders: Sequence[Finders], by_case: Mapping[str, LabelLesions], label: str, region: str, extra: tuple[object, ...]
) -> Iterator[Row]:
    """Lesions, those that two or more raters rated, that all of them found, or one alone; n counts cases."""
    unknown = any(found.too_many for found in by_case.values())
    for name, counts in zip(OF_ALL_CASES, zip(*finders, strict=True), strict=True):
        value = Undefined("too_many_lesions") if unknown else float(sum(counts))
        n = sum(found.found.lesions > 0 for found in by_case.values()) if name == "lesions" else _compared(by_case)
        yield Row("pooled", name, value, "", "", label, region, extra, n=n)


def _compared(by_case: Mapping[str, LabelLesions]) -> int:
    """Number of cases with a lesion that two or more raters rated."""
    return sum(found.found.compared > 0 for found in by_case.values())


def _lesion_rows(
    cases: Mapping[str, CaseLesions], tallies: Tallies, names: Mapping[str, str], exchangeable: bool
) -> Iterator[tuple[object, ...]]:
    for name, case in cases.items():
        for found, label in names.items():
            for lesion in case.of(found).lesions:
                start = (name, group_names(tallies, name), label, lesion.number)
                yield (*start, *_lesion_cells(lesion, case.unit, exchangeable))


def _lesion_cells(lesion: Lesion, unit: str, exchangeable: bool) -> tuple[object, ...]:
    """In the order of the header; of exchangeable raters there are no names."""
    found, missed = len(lesion.found_by), len(lesion.missed_by)
    whom = (lesion.found_by, lesion.missed_by, lesion.not_rated_by)
    who = [""] * 3 if exchangeable else ["; ".join(raters) for raters in whom]
    sizes = sorted(lesion.sizes, reverse=True) if exchangeable else lesion.sizes
    split, merged = (
        (len(raters) or "" if exchangeable else "; ".join(raters)) for raters in (lesion.split_by, lesion.merged_by)
    )
    extent = lesion.extent / MM3_PER_ML if unit == "ml" else lesion.extent
    return (
        found, found + missed, *who, "; ".join(map(str, sizes)), extent, unit,
        *(None if isnan(value) else value for value in (lesion.dice, lesion.iou)),
        " ".join(f"{x:.1f}" for x in lesion.centroid), split, merged, "yes" if lesion.cut else "",
    )  # fmt: skip


# -- chart -----------------------------------------------------------------------------------------

DRAWN = {"positive_agreement": "positive agreement", "rq": "RQ (F1)", "sq": "SQ", "pq": "PQ"}
AXES = {
    "iou": "smallest intersection over union of matched lesions",
    "overlap": "smallest share of the smaller of two matched lesions",
    "distance": "largest distance of the centres of matched lesions",
}


def detection_chart(curve: Table, rule: Rule) -> dict[str, str]:
    """Agreement on lesions over the thresholds of the rule; of several labels, positive agreement by label."""
    rows = [row for row in curve.rows if row.extra[:2] == ALL and not isnan(row.value)]
    several = len({row.label for row in rows}) > 1
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        if row.statistic in (("positive_agreement",) if several else DRAWN):
            x, y = lines.setdefault(row.label if several else DRAWN[row.statistic], ([], []))
            x.append(float(row["threshold"]))
            y.append(float(row.value))
    if not lines:
        return {}
    most = max(max(x) for x, _ in lines.values())
    what = "positive agreement on lesions" if several else "mean over subjects"
    title = "Agreement on lesions, by how closely they must match"
    return {"detection-curve": line_chart(lines, AXES[rule.name], what, title, xlim=(0.0, max(1.0, most)))}
