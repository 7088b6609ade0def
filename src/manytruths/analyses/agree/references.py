"""Raters, and what is made of them, against given reference standards: ``reference_scores.csv``.

A given reference is not said to be independent of the raters: nothing is known about how it was made. Where its pixels
are those of a rater's mask, or of a consensus, this is found and said.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...claims.algorithms import (
    EqualMasks,
    consider_adjudicated_references,
    consider_equal_references,
    consider_raters_scored,
    consider_voted_references,
)
from ...claims.claim import ClaimLog
from ...claims.numbers import TableIndex
from ...claims.sizes import ReferenceSizeFacts, consider_reference_sizes
from ...core.columns import Column
from ...core.counting import tally
from ...core.labels import VOID, Labels
from ...core.tally import Tallies, Tally, pool
from ...core.tiles import distinct_values, is_lazy
from ...core.undefined import Note, Undefined
from ...evaluation.overlap import OVERLAPS, Overlaps, overlaps
from ...io.result_tables import Row, Table
from ...measures.sizes import MM3_PER_ML
from ...study import Study
from ...study.case import Reading
from ...study.consensus import binary_mask
from ...study.mask_values import about, find_wrong_references, raise_first
from ..tables import Series, Settings, subject_word, summarise
from .distances import StudyDistances, Values
from .lesion_scores import ReferenceLesions

if TYPE_CHECKING:
    from .agree import Agreement

Array = NDArray[Any]
LabelTallies = Mapping[str, Tally]
"""Of one case: raters, consensuses (as algorithms) and given references, marked or not.

By label; of one label also under ``""``, whatever value a reference has for it.
"""
Equal = dict[tuple[str, str], EqualMasks]
"""Given references that are the same as masks, by reference and rater or method."""
SIZE_DIFFERENCE, LOG_RATIO = "size_difference", "log_size_ratio"
SIZES = (SIZE_DIFFERENCE, LOG_RATIO)
"""What was marked, less what the reference has, and the natural logarithm of the ratio of the two."""
Voted = dict[str, tuple[int, int]]
"""References that are, in every case, what at least so many of so many raters marked."""


def count_references(
    reading: Reading, table: Tally, consensus: Mapping[str, NDArray[Any]] | None = None
) -> dict[str, Tally]:
    """Count a case with its given references, label by label; nothing without them, or without marks.

    ``consensus`` are masks in the labels of the raters.
    """
    case = reading.case
    if not has_references(reading, table):
        return {}
    raise_first(find_wrong_references(case, table, reading.references))
    region = "whole" if isinstance(reading.region, str) else reading.region
    masks = {c: reading.masks[c] for c in (table.columns[i] for i in table.raters) if c in reading.masks}
    # below 0 nothing was decided
    judged = {Column(method, "algorithm"): np.maximum(array, 0) for method, array in (consensus or {}).items()}

    def count(value: int | None) -> Tally:
        def marked(arrays: Mapping[Column, Array]) -> dict[Column, Array]:
            return {c: binary_mask(array, value, case.options.void) for c, array in arrays.items()}

        return tally(
            marked(masks),
            raters="exchangeable" if case.options.exchangeable else None,
            predictions=marked(judged), references=marked(reading.references),
            labels=Labels((0, 1)), region=region, unit=reading.grid.item_size, counts=reading.counts,
        )  # fmt: skip

    named = label_values(reading, table)
    with about(f"case {case.name}"):
        if len(named) > 1:
            return {label: count(value) for label, value in named.items()}
        together = count(None)
        return {"": together, **dict.fromkeys(named, together)}


def has_references(reading: Reading, table: Tally) -> bool:
    """Whether a case has given references, and marks to compare with them."""
    return bool(reading.case.references) and (table.labels.background is not None or table.labels.several)


def label_values(reading: Reading, table: Tally) -> dict[str, int]:
    """The labels that raters or references have, and their values; none where all labels are united.

    A reference may have another value for the only label.
    """
    labels, options = table.labels, reading.case.options
    if options.foreground:
        return {}
    named = {labels.names[mark]: labels.values[mark] for mark in labels.marks}
    found = {int(v) for array in reading.references.values() for v in _values_of(array)}
    more = found - {0, options.void, *labels.values}
    if len(named) > 1 or found & set(named.values()):
        named |= {str(value): value for value in sorted(more)}
    return named


def _values_of(array: Array) -> Iterable[int]:
    return distinct_values(array) if is_lazy(array) else np.unique(np.ma.compressed(array)).tolist()


def reference_names(cases: Mapping[str, LabelTallies]) -> list[str]:
    """The given references, each once."""
    columns = {c for case in cases.values() for t in case.values() for c in t.role("reference")}
    return [c.name for c in sorted(columns, key=lambda c: c.order)]


def pool_by_reference(cases: Mapping[str, LabelTallies]) -> dict[str, dict[str, Tally]]:
    """The raters beside each given reference, over the cases that have it, by label."""
    known = [tables for tables in cases.values() if tables]
    labels = label_names(known)
    pooled: dict[str, dict[str, Tally]] = {}
    for name in reference_names(cases):
        own = {label: [t[label] for t in known if label in t and _has(t[label], name)] for label in labels}
        pooled[name] = {label: pool(tables, mixed=True) for label, tables in own.items() if tables}
    return pooled


def label_names(cases: Sequence[LabelTallies]) -> list[str]:
    """Every label of the cases; one empty name where there is but one."""
    named = list(dict.fromkeys(label for tables in cases for label in tables if label))
    return named if len(named) > 1 else [""]


def find_equal_masks(cases: Mapping[str, LabelTallies], role: Literal["rater", "algorithm"] = "rater") -> Equal:
    """Where a given reference is, pixel by pixel and in every label, a rater's mask, not empty.

    With the role ``algorithm``, where it is a consensus.
    """
    marked: dict[tuple[str, str], list[str]] = {}
    empty: Counter[tuple[str, str]] = Counter()
    given: Counter[str] = Counter()
    for name, tables in cases.items():
        if not tables:
            continue
        first = next(iter(tables.values()))
        for reference in first.role("reference"):
            given[reference.name] += 1
            judged = [first.columns[i] for i in first.raters] if role == "rater" else first.role(role)
            for column in judged:
                same, marks = _is_equal(tables, reference, column)
                pair = (reference.name, column.name)
                if same and marks:
                    marked.setdefault(pair, []).append(name)
                elif same:
                    empty[pair] += 1
    return {pair: EqualMasks(tuple(names), empty[pair], given[pair[0]]) for pair, names in marked.items()}


def _is_equal(tables: LabelTallies, a: Column, b: Column) -> tuple[bool, bool]:
    """Whether two columns agree in every pixel that both rated, and whether they mark any."""
    some = False
    for table in tables.values():
        if a not in table.columns or b not in table.columns:
            return False, some
        pair = table.patterns[:, [table.position(a), table.position(b)]]
        rated = (pair != VOID).all(axis=1) & (table.counts > 0)
        if (pair[rated, 0] != pair[rated, 1]).any() or not rated.any():
            return False, some
        some = some or bool((pair[rated] == 1).any())
    return True, some


def find_votes(cases: Mapping[str, LabelTallies]) -> Voted:
    """Given references that are a vote of the raters: what at least k of R marked, the same k in all cases."""
    voted: Voted = {}
    for name in reference_names(cases):
        column = Column(name, "reference")
        tables = [t for case in cases.values() for t in case.values() if _has(t, name)]
        ranges = [_vote_range(table, column) for table in tables]
        panels = {len(table.raters) for table in tables}
        low, high = max((r[0] for r in ranges), default=0), min((r[1] for r in ranges), default=0)
        if len(panels) == 1 and low < high <= max(panels) and max(panels) > 1:
            voted[name] = (high, max(panels))
    return voted


def _vote_range(table: Tally, reference: Column) -> tuple[int, int]:
    """The most votes of what the reference leaves out and the fewest of what it marks, where all raters rated."""
    rows, given = table.patterns[:, table.raters], table.patterns[:, table.position(reference)]
    counted = (rows != VOID).all(axis=1) & (given != VOID) & (table.counts > 0)
    votes, marked = (rows[counted] == 1).sum(axis=1), given[counted] == 1
    most = int(votes[~marked].max(initial=0))
    return most, int(votes[marked].min(initial=len(table.raters) + 1))


def reference_table(
    study: Study,
    cases: Mapping[str, LabelTallies],
    settings: Settings,
    *,
    methods: bool,
    distances: StudyDistances | None = None,
    lesions: Mapping[str, ReferenceLesions] | None = None,
    item: str = "pixel",
) -> Table:
    """Raters, and with ``methods`` consensuses, against every given reference: by case, and means over subjects.

    Overlap, differences of size and, where they were measured, distances and lesions. With several labels, rows without
    a label are the mean Dice over labels that either of the two has.
    """
    table = Table("reference_scores", ("method", "rater", "against") if methods else ("rater", "against"))
    known = {name: tables for name, tables in cases.items() if tables}
    if not known:
        return table
    labels = label_names(list(known.values()))
    judged = _judged(known, exchangeable=study.options.exchangeable)
    scored = {
        name: {
            label: score_references(name, label, t, distances, (lesions or {}).get(name)) for label, t in tables.items()
        }
        for name, tables in known.items()
    }
    units = size_units((next(iter(tables.values())) for tables in known.values()), item)
    for reference in reference_names(known):
        own = [name for name, tables in known.items() if any(_has(t, reference) for t in tables.values())]
        first = {name: next(iter(known[name].values())) for name in own}
        tallies = study.gathered(first) if len(first) == len(study) else _select(study, first)
        for method, rater, columns in judged:
            extra = (method, rater, reference) if methods else (rater, reference)
            if method and not methods:
                continue
            series = list(_series(scored, own, labels, columns, reference, extra))
            rows = summarise(series, tallies, settings)
            table.add(_with_units(rows, distances, {name: size_unit(t, item) for name, t in first.items()}, units))
    return table


def _with_units(
    rows: Sequence[Row], distances: StudyDistances | None, by_case: Mapping[str, str], units: str
) -> Iterator[Row]:
    for row in rows if distances is None else distances.with_units(rows):
        if row.statistic == SIZE_DIFFERENCE:
            row.unit = by_case[row.case] if row.scope == "case" else units
            if not row.unit:
                row.value, row.low, row.high = Undefined("mixed_units"), None, None
        yield row


# -- the scores of a case ----------------------------------------------------------------------------


def score_references(
    case: str,
    label: str,
    table: Tally,
    distances: StudyDistances | None = None,
    lesions: ReferenceLesions | None = None,
) -> dict[tuple[Column, Column], Values]:
    """The statistics of every rater and consensus of a case against every given reference, for one label."""
    found = _overlaps(table)
    scores: dict[tuple[Column, Column], Values] = {}
    for i, who in enumerate(found.judged):
        for j, reference in enumerate(found.against):
            values = {s.__name__: found.value(who, reference, s) for s in OVERLAPS}
            values |= size_values(found.tables[i, j], table)
            if distances is not None and case in distances.cases:
                values |= distances.values(case, label, who, reference)
            values |= (lesions or {}).get(label, {}).get((who, reference), {})
            scores[who, reference] = values
    return scores


def size_values(counts: NDArray[np.float64], table: Tally) -> Values:
    """By how much more was marked than the reference has, and the logarithm of how many times as much."""
    judged, reference = float(counts[1:].sum()), float(counts[:, 1:].sum())
    if not counts.sum():
        return dict.fromkeys(SIZES, Undefined("no_item_rated_by_both"))
    both, none = judged and reference, Undefined("one_empty" if judged or reference else "both_empty")
    return {
        SIZE_DIFFERENCE: (judged - reference) * _item_size(table),
        LOG_RATIO: math.log(judged / reference) if both else none,
    }


def _item_size(table: Tally) -> float:
    if table.unit is None:
        return 1.0
    return table.unit.size / (MM3_PER_ML if table.unit.name == "mm³" else 1)


def size_unit(table: Tally, item: str = "pixel") -> str:
    """``mm²`` or ``ml``; pixels or voxels where their size is not known."""
    if table.unit is None:
        return f"{item}s"
    return "ml" if table.unit.name == "mm³" else table.unit.name


def size_units(tables: Iterable[Tally], item: str = "pixel") -> str:
    """The unit of sizes that all tables share; empty where they differ."""
    units = {size_unit(table, item) for table in tables}
    return units.pop() if len(units) == 1 else ""


def _select(study: Study, tables: Mapping[str, Tally]) -> Tallies:
    subjects, groups = {c.name: c.subject for c in study}, {c.name: c.groups for c in study}
    return Tallies(tables, {n: subjects[n] for n in tables}, {n: groups[n] for n in tables})


def _has(table: Tally, reference: str) -> bool:
    return any(c.name == reference for c in table.role("reference"))


def _judged(cases: Mapping[str, LabelTallies], *, exchangeable: bool) -> list[tuple[str, str, tuple[Column, ...]]]:
    """Method, rater, and the columns whose mean is taken: slots of exchangeable raters are averaged."""
    tables = [t for case in cases.values() for t in case.values()]
    raters = sorted({t.columns[i] for t in tables for i in t.raters}, key=lambda c: c.order)
    consensuses = list(dict.fromkeys(c for t in tables for c in t.role("algorithm")))
    people = [("", "", tuple(raters))] if exchangeable else [("", c.name, (c,)) for c in raters]
    return [*people, *((c.name, "", (c,)) for c in consensuses)]


def _overlaps(table: Tally) -> Overlaps:
    judged = [*(table.columns[i] for i in table.raters), *table.role("algorithm")]
    return overlaps(table, judged, list(table.role("reference")))


def _series(
    scored: Mapping[str, Mapping[str, Mapping[tuple[Column, Column], Values]]], cases: Sequence[str],
    labels: Sequence[str], columns: Sequence[Column], reference: str, extra: tuple[object, ...],
) -> Iterator[Series]:  # fmt: skip
    names = dict.fromkeys(n for case in cases for pairs in scored[case].values() for v in pairs.values() for n in v)
    for name in names:
        by_label = []
        for label in labels:
            values = [_mean(scored[case].get(label), columns, reference, name) for case in cases]
            by_label.append(values)
            yield Series(name, values, label, extra)
        if len(labels) > 1 and name == "dice":
            yield Series("dice", [_mean_of(values) for values in zip(*by_label, strict=True)], "", extra)


def _mean(
    found: Mapping[tuple[Column, Column], Values] | None, columns: Sequence[Column], reference: str, name: str
) -> float:
    if found is None:
        return Undefined("both_empty")  # a label that nobody has in this case
    pairs = [pair for pair in found if pair[1].name == reference]
    if not pairs:
        return Undefined("reference_absent")
    values = [found[pair][name] for pair in pairs if pair[0] in columns and name in found[pair]]
    return _mean_of(values) if len(values) != 1 else values[0]


def _mean_of(values: Sequence[float]) -> float:
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else values[0] if values else Undefined("rater_absent")


def reference_grid(table: Table | None) -> Any:
    """Raters and consensuses against given references, for the terminal; None where there are none."""
    from ..printing import grid, with_interval

    means = [r for r in table.all("dice", "mean") if not r.group] if table is not None else []
    if table is None or not means:
        return None
    several, rows = any(r.label for r in means), []
    for r in means:
        who = (table.extra[0] == "method" and str(r["method"])) or str(r["rater"]) or "mean of raters"
        label = [r.label or "mean of labels"] if several else []
        rows.append([who, str(r["against"]), *label, with_interval(r), str(r.n)])
    header = ["", "against", *(["label"] if several else []), "Dice", "n"]
    return grid("Against given references, mean over subjects", header, rows)


def consider_given_references(log: ClaimLog, result: Agreement) -> None:
    """Whether given references are a rater's masks, and the raters' Dice against them."""
    table = result.tables.get("reference_scores")
    if table is None:
        return
    names = list(dict.fromkeys(str(row["against"]) for row in table.rows))
    if result.study.exact:
        consider_equal_references(log, result.equal_references)
        consider_voted_references(log, result.voted_references)
        consider_adjudicated_references(log, result.adjudicated_references)
    index = TableIndex("agree/reference_scores.csv", table)
    raters = [""] if result.study.options.exchangeable else result.study.rater_names
    found = result.equal_references, result.voted_references, result.adjudicated_references
    subjects, word = len(result.study.subjects), subject_word(result.study)
    consider_raters_scored(log, index, raters, names, *found, subjects, word)
    if "size_agreement" in result.tables:
        sizes = TableIndex("agree/size_agreement.csv", result.tables["size_agreement"])
        consider_reference_sizes(log, sizes, _size_facts(result, names))


def _size_facts(result: Agreement, references: Sequence[str]) -> ReferenceSizeFacts:
    """Nobody is compared with their own marks in words."""
    study, labels = result.study, next(iter(result.tallies.values())).labels
    vote = Note("raters_own_vote", "it is a vote of these raters: their own marks are in it")
    voted = [name for name in references if name in result.voted_references]
    silent = {(rater, name): vote for name in voted for rater in study.rater_names}
    made = Note("raters_own_marks", "adjudicators made it of these raters' masks: their own marks are in it")
    silent |= {(rater, name): made for name in result.adjudicated_references for rater in study.rater_names}
    for (name, rater), same in result.equal_references.items():
        silent[rater, name] = Note("raters_own_mask", f"it is their own mask in {same}")
    names = tuple(labels.names[mark] for mark in labels.marks) if labels.several else ()
    return ReferenceSizeFacts(len(study.subjects), subject_word(study), names, silent=silent)
