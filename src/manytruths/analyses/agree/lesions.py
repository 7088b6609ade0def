"""Lesions of each case: who found which, how well raters agree on finding them, and how that depends on the rule.

Numbers of a case are those of its joint partition and of its pairs (:mod:`manytruths.lesions`); means are over
subjects. Labels are never united. Of exchangeable raters there is nothing about one of them or about two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isnan

import numpy as np

from ...charts.curves import line_chart
from ...core.columns import Column
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined, code, ratio
from ...io.result_tables import PlainTable, Row, Table
from ...lesions import Lesion, LesionMatch, match_lesions
from ...lesions.marks import TooManyLesions
from ...lesions.matching import positive_agreement, rater_detection
from ...lesions.rules import Rule
from ...study.case import Reading
from ...study.lesions import lesion_masks, match_reading
from ..tables import Series, Settings, group_names, marked_rows, mean_rows, summarise

ALL = ("", "")
"""The columns ``rater`` and ``against`` of what is about all raters."""
OTHERS = "others"
MOST_PAIRS = 45
"""Of raters, whose curves are tabulated: those of ten raters."""
HEADER = (
    "case", "group", "label", "lesion", "found", "rated", "found_by", "missed_by", "not_rated_by", "sizes", "extent",
    "unit", "dice", "iou", "centroid", "split_by", "merged_by", "cut_by_border",
)  # fmt: skip
Key = tuple[str, str, str]
"""Rater, against whom, statistic."""
Numbers = Mapping[Key, float]


@dataclass(frozen=True)
class LabelLesions:
    """What is kept of the lesions of one label in one case."""

    lesions: tuple[Lesion, ...] = ()
    curve: Mapping[float, Numbers] = field(default_factory=dict)
    """The numbers of detection by threshold."""
    numbers: Numbers = field(default_factory=dict)
    """Those of the threshold that was asked for."""
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
        numbers = detection_numbers(match_lesions(nothing))
        return LabelLesions(curve=dict.fromkeys(self.thresholds, numbers), numbers=numbers)


def measure_lesions(reading: Reading, table: Tally) -> CaseLesions | None:
    """The lesions of a case whose masks are in memory; None where no label is background."""
    if table.labels.background is None:
        return None
    columns: list[Column] = [table.columns[i] for i in table.raters]
    names = tuple(column.name for column in columns)
    by_label, thresholds = {}, reading.case.options.lesions.series
    for mark in table.labels.marks:
        masks = lesion_masks(reading, columns, table.labels, mark)
        try:
            match = match_reading(reading, masks)
        except TooManyLesions:
            by_label[table.labels.names[mark]] = LabelLesions(too_many=True)
            continue
        known = {match.signature: detection_numbers(match)}
        curve = {}
        for threshold, found in match.over().items():
            if found.signature not in known:
                known[found.signature] = detection_numbers(found)
            curve[threshold] = known[found.signature]
        by_label[table.labels.names[mark]] = LabelLesions(match.lesions, curve, known[match.signature])
    absent = tuple(column.name for column in columns if column not in reading.masks)
    unit = "pixels" if reading.grid.spacing is None else ("mm²", "mm³")[len(reading.grid.shape) > 2]
    return CaseLesions(names, absent, unit, by_label, thresholds)


def detection_numbers(match: LesionMatch) -> dict[Key, float]:
    """All numbers of detection of one image and label."""
    numbers: dict[Key, float] = {}
    found, present = match.found, np.flatnonzero(~match.marks.absent).tolist()
    count, pairs = len(match), match.pairs()
    numbers[*ALL, "lesions"] = float(count)
    finders = match.count_by_finders()
    for k in range(1, len(match.raters) + 1):
        numbers[*ALL, f"found_by_{k}"] = ratio(float(finders[k]), count, "no_lesion")
    numbers[*ALL, "positive_agreement"] = positive_agreement(found)
    for name in ("pq", "sq", "rq"):
        numbers[*ALL, name] = _mean([getattr(pair, name) for pair in pairs])
    numbers[*ALL, "matched_dice"] = match.dice
    for i, rater in enumerate(match.raters):
        numbers |= {(rater, OTHERS, name): value for name, value in _rater_numbers(match, i, len(present) > 1).items()}
    for pair in pairs:
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
    for name, label in names.items():
        by_case = {case: found.of(name) for case, found in cases.items()}
        keys = _keys(by_case, exchangeable)
        series = _series(keys, {c: f.numbers for c, f in by_case.items()}, cases, label)
        detection.add(_counted(summarise(series, tallies, settings), by_case))
        if sum(key[2] == "pq" for key in keys) > MOST_PAIRS + 1:
            keys = [key for key in keys if key[1] in ("", OTHERS)]
        for threshold in next(iter(cases.values())).thresholds:
            at = {c: f.curve.get(threshold, {}) for c, f in by_case.items()}
            series = _series(keys, at, cases, label, (threshold,))
            curve.add(row for row in mean_rows(series, tallies, list(tallies), "", settings) if row.scope == "mean")
    return [plain], [detection, curve]


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


def _counted(rows: Sequence[Row], by_case: Mapping[str, LabelLesions]) -> Iterator[Row]:
    """Rows of cases say of how many lesions they are."""
    for row in rows:
        if row.scope == "case":
            row.n = len(by_case[row.case].lesions)
        yield row


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
    return (
        found, found + missed, *who, "; ".join(map(str, sizes)), lesion.extent, unit,
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
