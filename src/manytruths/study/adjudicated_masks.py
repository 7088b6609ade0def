"""The adjudicated mask of a case, made of a base and of decisions, and the consensus that it is.

1. The base is the consensus that the rule names. Pixels that decided lesions hold are cleared, but for those that
   belong to another lesion of the same label which is not decided.
2. The pixels that were chosen or drawn are painted, by time. So "no lesion" for one lesion cuts no hole into another
   one that was chosen, and the order of decisions matters only where two labels were chosen for one pixel: the later
   one holds.
3. A lesion that is not evaluable gets the value of pixels that were not rated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.boxed_runs import Box, is_inside, overlay, place_runs, unite, without
from ..core.errors import CallError, InputError
from ..core.labels import Labels
from ..core.runs import LabelRuns, divide_runs, read_runs
from ..fusion.result import BINARY, Consensus, with_mark
from .adjudicated import METHOD, Standing, choice_of, is_third, painted_pixels, standings
from .disputes import CaseDisputes, DisputeRule, find_disputes

if TYPE_CHECKING:
    from .case import Reading
    from .consensus import FirstReadings

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class AdjudicatedCase:
    """The adjudicated reference standard of a case, and how it came about."""

    runs: LabelRuns
    """In the values of the masks; pixels that are not evaluable have the value ``void``."""
    base: LabelRuns
    """What the rule makes of the case, without decisions."""
    void: int
    rule: DisputeRule
    found: CaseDisputes
    standings: Mapping[str, Standing]
    invalid: tuple[str, ...] = field(default=())
    """Decisions that could not be applied, and why."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many disputes are decided, open, in conflict, …"""
        disputes = {dispute.key for dispute in self.found.disputes}
        own = [stand for key, stand in self.standings.items() if key in disputes]
        every = self.standings.values()
        return {
            "disputes": len(disputes),
            **{status: sum(s.status == status for s in own) for status in ("decided", "second", "conflict")},
            "open": len(disputes) - len(own), "stale": sum(s.status == "stale" for s in every),
            "not_evaluable": sum(s.choice == "not_evaluable" for s in every if s.holds is not None),
            "added": sum(s.holds is not None and s.holds.action == "add" for s in every),
            "ruled": sum(s.holds is not None and s.holds.action == "rule" for s in own),
            "third": sum(s.holds is not None and any(map(is_third, s.decisions)) for s in own),
        }  # fmt: skip

    @property
    def mask(self) -> Array:
        """As an array, masked where it is not evaluable."""
        array = self.runs[...]
        away = array == self.void
        return np.ma.array(array, mask=away) if away.any() else array


def adjudicate_case(reading: Reading) -> AdjudicatedCase:
    """The base and the decisions of a case, put together as runs."""
    case = reading.case
    if case.decisions is None:
        raise InputError(
            f"case {case.name}: there are no decisions about it; decide with manytruths adjudicate, or name the logs "
            "with --decisions PATH"
        )
    reading.need_pixels()
    rule = case.decisions.rule
    base = base_runs(reading, rule.below)
    found = find_disputes(reading, rule)
    stands = standings(case.decisions.logs, {case.name: found})
    stands = {key: stand for key, stand in stands.items() if stand.case == case.name}
    return _Mask(reading, base, found, stands, rule).made()


def base_runs(reading: Reading, method: str) -> LabelRuns:
    """What a method of consensus makes of a case."""
    from .consensus import FirstReadings

    readings = FirstReadings.of(reading)
    estimated = readings.estimate(method)
    if reading.is_large:
        return readings.paint_runs(estimated)
    return read_runs(np.ascontiguousarray(readings.paint(estimated)[0]))


@dataclass(eq=False)
class _Mask:
    """The parts that a mask is put together from."""

    reading: Reading
    base: LabelRuns
    found: CaseDisputes
    stands: Mapping[str, Standing]
    rule: DisputeRule

    def made(self) -> AdjudicatedCase:
        shape, whole = self.base.shape, tuple((0, n) for n in self.base.shape)
        known = {dispute.key: dispute for dispute in self.found}
        decided = {key: stand for key, stand in self.stands.items() if stand.holds is not None}
        layers, gone, away, invalid = [], defaultdict[int, list[LabelRuns]](list), list[LabelRuns](), list[str]()
        for key, stand in sorted(decided.items(), key=lambda item: (item[1].holds.utc, item[0])):  # type: ignore[union-attr]
            entry, dispute = stand.holds, known.get(key)
            assert entry is not None
            try:
                painted, box = painted_pixels(entry, dispute) or (None, None)
                if painted is None or box is None or not is_inside(box, shape):
                    raise CallError("its pixels lie outside of the image")
            except CallError as error:
                invalid.append(f"{entry.uuid}: {error}")
                del decided[key]
                continue
            layers.append(place_runs(painted, box, whole))
            if dispute is not None:
                marked = unite([place_runs(runs, dispute.box, whole) for runs in dispute.drawn.values()])
                for label in dispute.labels:
                    gone[label].append(marked)
                if choice_of(entry) == "not_evaluable":
                    away.append(marked)
        cleared = self._cleared(gone, decided, whole)
        inside = self._inside()
        layers = [each if inside is None else each.intersect(inside) for each in layers]
        painted = overlay(layers, shape)
        void = free_value(self.reading, painted)
        kept = without(without(self.base, cleared), unite([painted]))
        parts = [kept, painted]
        if away:
            hidden = without(unite(away), unite([painted]))
            parts = [
                without(kept, hidden),
                painted,
                LabelRuns(shape, hidden.starts, hidden.stops, np.full(len(hidden), void)),
            ]
        top = max((int(part.values.max(initial=0)) for part in parts), default=0)
        kind = np.min_scalar_type(max(top, 1))
        first, *others = [LabelRuns(shape, p.starts, p.stops, p.values.astype(kind)) for p in parts]
        for other in others:
            first = first.join(other)
        stands = {key: stand for key, stand in self.stands.items() if stand.holds is None or key in decided}
        return AdjudicatedCase(first, self.base, void, self.rule, self.found, stands, tuple(invalid))

    def _cleared(self, gone: Mapping[int, list[LabelRuns]], decided: Mapping[str, Standing], whole: Box) -> LabelRuns:
        """Pixels of the base that decided lesions of their label hold, and no other lesion of it."""
        base, parts = self.base, []
        others = defaultdict[int, list[LabelRuns]](list)
        for dispute in self.found:
            if dispute.key not in decided:
                for runs in dispute.drawn.values():
                    placed = place_runs(runs, dispute.box, whole)
                    for label in np.unique(placed.values).tolist():
                        others[label].append(placed.select(placed.values == label))
        for label, marked in gone.items():
            own = base.select(base.values == label).intersect(unite(marked))
            parts.append(without(own, unite(others[label])) if others[label] else own)
        empty = base.select(np.zeros(len(base), np.bool_))
        return unite([empty, *parts])

    def _inside(self) -> LabelRuns | None:
        inside = self.reading.inside
        return read_runs(inside).marks() if inside is not None else None


def free_value(reading: Reading, painted: LabelRuns) -> int:
    """The value of pixels that are not evaluable: the study's ``void``, or the largest one that is no label."""
    if reading.case.options.void is not None:
        return reading.case.options.void
    used = {int(value) for mask in reading.masks.values() for value in np.unique(reading.runs(mask).values)}
    used |= {int(value) for value in np.unique(painted.values)}
    labels = reading.case.labels
    used |= set(labels.values) if labels is not None else set()
    top = 255 if max(used, default=0) <= 255 else 65535
    return next(value for value in range(top, 0, -1) if value not in used)


def count_changed(made: AdjudicatedCase) -> int:
    """Pixels in which the adjudicated mask differs from the base."""
    starts, stops, (own, base) = divide_runs([made.runs, made.base])
    return int((stops - starts)[own != base].sum())


# -- as a consensus --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdjudicatedMap(Consensus):
    """What adjudicators decided, as a map beside those that are estimated.

    Attributes
    ----------
    method : str
        ``adjudicated``.
    raters : tuple of str
        Raters whose masks the base was made of.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        1 where ``hard`` is marked, else 0.
    hard : ndarray
        Whether a pixel is marked; of several labels, the code of its label; masked where it is not evaluable.
    convergence : str
        ``done``, or ``unfinished`` where disputes are open or in conflict.
    notes : tuple of str
        What to know before using it.
    """

    values_map: Array
    """In the values of the masks, masked where it is not evaluable; of a large case, runs."""
    void: int | None = None
    """What the value of masked pixels is in files."""

    @property
    def values(self) -> Array:
        """``hard`` in the values of the masks."""
        return self.values_map


def adjudicated_consensus(readings: FirstReadings) -> AdjudicatedMap:
    """The adjudicated reference standard, of all labels or of the one that is looked at."""
    reading, done = readings.reading, True
    void, notes = reading.case.options.void, tuple[str, ...]()
    values: Any
    if reading.settled is not None:  # patterns of a large case
        values = reading.settled if void is None else np.ma.masked_equal(reading.settled, void)
    else:
        made = reading.adjudicated
        void, notes, done = made.void, notes_of(made), not _unfinished(made.counts)
        values = made.runs.hide(made.void) if reading.is_large else made.mask
    if readings.label is not None:
        from .consensus import binary_mask

        values = binary_mask(values, None if readings.label == "any" else int(readings.label), None)
    fields: dict[str, Any] = {
        "method": METHOD, "raters": readings.table.rater_names, "values_map": values, "void": void, "notes": notes,
        "convergence": "done" if done else "unfinished",
    }  # fmt: skip
    if isinstance(values, LabelRuns):
        runs: Any = values
        return AdjudicatedMap(labels=readings.table.labels, probability=runs, hard=runs, **fields)
    labels = BINARY if readings.label is not None else with_mark(readings.table).labels
    known = {int(value) for value in np.unique(np.ma.compressed(values))}
    labels = labels if known <= set(labels.values) else labels.union(Labels(tuple(sorted(known))))
    marked = values != 0
    hard = marked if len(labels) == 2 and labels.background is not None else _codes(values, labels)
    chance = np.ma.filled(marked, False).astype(np.float64)
    return AdjudicatedMap(labels=labels, probability=chance, hard=hard, **fields)


def _codes(values: Array, labels: Labels) -> Array:
    """The codes of labels; masked where values are."""
    codes = np.searchsorted(labels.values, np.ma.filled(values, labels.values[0])).astype(np.uint8)
    return np.ma.array(codes, mask=values.mask) if np.ma.isMaskedArray(values) else codes


def _unfinished(counts: Mapping[str, int]) -> int:
    """Disputes of a case that nothing holds for."""
    return counts["open"] + counts["second"] + counts["conflict"]


def notes_of(made: AdjudicatedCase) -> tuple[str, ...]:
    """What to know about the adjudicated mask of a case."""
    counts = made.counts
    states = {"open": "not decided", "second": "left to a second adjudicator", "conflict": "decided differently by two"}
    waiting = [f"{counts[name]} {words}" for name, words in states.items() if counts[name]]
    total = sum(counts[name] for name in states)
    notes = [f"{_counted(total, 'dispute')} not settled ({', '.join(waiting)}): {made.rule.below} stands there"]
    notes = notes if total else []
    if counts["stale"]:
        one = counts["stale"] == 1
        stale = "decision does not count: its lesion is" if one else "decisions do not count: their lesions are"
        notes.append(f"{counts['stale']} {stale} not in the masks as {'it was' if one else 'they were'} then")
    if counts["not_evaluable"]:
        notes.append(f"{_counted(counts['not_evaluable'], 'lesion')} not evaluable, with the value {made.void}")
    return (*notes, *(f"decision {text}" for text in made.invalid))


def _counted(count: int, thing: str) -> str:
    """``1 lesion is``, ``2 lesions are``."""
    return f"{count} {thing} is" if count == 1 else f"{count} {thing}s are"
