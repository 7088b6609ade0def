"""A case of the audit: its raters' table beside the consensus, and every candidate that decides by pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.counting import tally
from ...core.errors import LabelError, few
from ...core.labels import VOID, Labels
from ...core.tally import Counts, Tally, find_rows
from ...core.tiles import distinct_values, is_lazy
from ...evaluation.consensus_audit import Compared, compare, count_given
from ...fusion.candidates import MARGINS, Plan, binary, used_raters
from ...fusion.prior_ranges import PriorScan, Range, find_prior_ranges
from ...fusion.result import first_readings, with_mark
from ...fusion.vote import find_outliers
from ...study import Case
from ...study.case import Reading
from ...study.consensus import binary_mask
from ...study.mask_values import about, find_wrong_references, raise_first

Array = NDArray[Any]
Box = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class CaseAudit:
    """What a case says about each of its references."""

    compared: Mapping[str, Compared]
    ranges: Mapping[str, list[Range]]
    """Fixed priors of STAPLE that make the reference; none for several labels."""
    used: Mapping[str, frozenset[str]]
    """Raters whose decision alone changes the reference somewhere."""
    outliers: tuple[str, ...]
    marks: tuple[int, ...]
    """Values of the labels but background."""
    agree: bool
    """Whether no two raters differ anywhere."""
    pixels: bool
    """Whether neighbours can be looked at."""
    axes: int


@dataclass(frozen=True, eq=False)
class Scene:
    """The masks of a case and its references, as the audit takes them."""

    reading: Reading
    several: bool

    @cached_property
    def raters(self) -> dict[Column, Array]:
        """First readings; of one label, marked or not."""
        table = self._table
        own = {c: self.reading.masks[c] for c in (table.columns[i] for i in table.raters) if c in self.reading.masks}
        return own if self.several else {column: self._marked(mask) for column, mask in own.items()}

    @cached_property
    def references(self) -> dict[Column, Array]:
        """The references, in the same labels."""
        self._refuse()
        found = self.reading.references
        return dict(found) if self.several else {column: self._marked(mask) for column, mask in found.items()}

    def _marked(self, mask: Array) -> Array:
        return binary_mask(mask, None, self.reading.case.options.void)

    @cached_property
    def _table(self) -> Tally:
        return first_readings(self.reading.tally(judged=False))

    @cached_property
    def table(self) -> Tally:
        """The raters' table; columns without a mask stay."""
        return with_mark(self._table) if self.several else binary(self._table)

    @cached_property
    def undecided(self) -> int:
        """The value that ITK gives to what it does not decide: one more than the largest label."""
        return max(self.table.labels.values) + 1

    @property
    def region(self) -> str | Array:
        """``whole``, or the mask of the region of interest."""
        return self.reading.region

    @cached_property
    def inside(self) -> NDArray[np.bool_] | None:
        """The region of interest of a case whose pixels are looked at."""
        return None if isinstance(self.region, str) else np.asarray(self.region) != 0

    @cached_property
    def has_pixels(self) -> bool:
        """Whether masks are in memory, where their pixels lie."""
        return self.reading.counts is None and not self.reading.is_large

    def _refuse(self) -> None:
        """Refuse references that hold other labels than the raters' masks."""
        reading, case = self.reading, self.reading.case
        raise_first(find_wrong_references(case, self._table, reading.references))
        if case.options.foreground:
            return
        known = {*self._table.labels.values, 0, case.options.void}
        for column, array in reading.references.items():
            held = {int(v) for v in _values_of(array)} - {0, case.options.void}
            more = sorted(held - known - ({self.undecided} if self.several else set()))
            if (self.several and more) or (not self.several and len(held) > 1):
                raise LabelError(
                    f"case {case.name}: the reference {column} holds {few(list(map(str, sorted(held))))}, the masks "
                    f"{few([str(v) for v in self._table.labels.values if v])}: it has other labels than the raters; "
                    "give the consensus of these labels, or unite all of them with --foreground any"
                )

    @cached_property
    def joint(self) -> Tally:
        """Raters and references; the label after the last is undecided."""
        options, labels = self.reading.case.options, self.table.labels
        both = Labels((*labels.values, self.undecided), zero_is_background=labels.background is not None)
        masks = {**self.raters, **dict.fromkeys(c for c in self.table.columns if c not in self.raters)}
        void = options.void if self.several else None
        with about(f"case {self.reading.case.name}"):
            return tally(
                masks, raters="exchangeable" if options.exchangeable else None, references=self.references,
                labels=both, region=self.region, counts=self.reading.counts, void=void,
            )  # fmt: skip

    def given(self, reference: Column) -> Counts:
        """(patterns, codes) items by what a reference says."""
        return count_given(self.table, self.joint, reference)

    @cached_property
    def box(self) -> Box | None:
        """The bounding box of all marks; None where nothing is marked."""
        marked = np.logical_or.reduce([np.ma.filled(mask, 0) != 0 for mask in self.raters.values()])
        return bounding_box(marked)

    def boxes(self) -> dict[int, Counts]:
        """Items of each pattern within the bounding box of all marks and so many pixels around it."""
        found, shape = {}, self.reading.grid.shape
        for margin in MARGINS:
            # without marks, the whole image is the box
            where = grow_box(self.box, margin, shape)
            cut = {column: mask[where] for column, mask in self.raters.items()}
            options = self.reading.case.options
            absent = dict.fromkeys(c for c in self.table.columns if c not in cut)
            region = "whole" if self.inside is None else self.inside[where]
            table = tally(
                {**cut, **absent}, labels=self.table.labels, region=region, void=options.void if self.several else None,
                raters="exchangeable" if options.exchangeable else None,
            )  # fmt: skip
            counts = np.zeros(len(self.table.counts), np.int64)
            counts[find_rows(self.table, table.patterns)] = table.counts
            found[margin] = counts
        return found


def bounding_box(marked: NDArray[np.bool_]) -> Box | None:
    """The smallest box around what is marked."""
    if not marked.any():
        return None
    ends = [np.flatnonzero(marked.any(axis=tuple(a for a in range(marked.ndim) if a != axis)))
            for axis in range(marked.ndim)]  # fmt: skip
    return tuple(slice(int(own[0]), int(own[-1]) + 1) for own in ends)


def grow_box(box: Box | None, margin: int, shape: Sequence[int]) -> Box:
    """A box and so many pixels around it, within an image; the image where there is none."""
    if box is None:
        return tuple(slice(0, n) for n in shape)
    return tuple(slice(max(0, p.start - margin), min(n, p.stop + margin)) for p, n in zip(box, shape, strict=True))


def _values_of(array: Array) -> Iterable[int]:
    return distinct_values(array) if is_lazy(array) else np.unique(np.ma.compressed(array)).tolist()


def audit_case(case: Case, plan: Plan) -> CaseAudit | None:
    """Compare every candidate that decides by pattern with the references of a case; None where it has none."""
    if not case.references:
        return None
    scene = Scene(case.read(by_tile=True), plan.several)
    table, names = scene.table, {column.name: column for column in scene.references}
    given = {name: scene.given(column) for name, column in names.items()}
    marks = table.labels.marks
    boxes = scene.boxes() if plan.boxes and scene.has_pixels else dict.fromkeys(MARGINS, table.counts)
    parts: dict[str, list[Compared]] = {name: [] for name in names}
    for codes in plan.decide(table, boxes):
        for name in names:
            parts[name].append(compare(codes, given[name], marks))
    ranges: dict[str, list[Range]] = {}
    if not plan.several and len(table.raters) > 1:
        scan = PriorScan(table)
        ranges = {name: find_prior_ranges(scan, counts[:, :2]) for name, counts in given.items()}
    alone = plan.exchangeable or len(table.raters) < 3
    return CaseAudit(
        {name: Compared.joined(found) for name, found in parts.items()}, ranges,
        {} if alone else {name: used_raters(table, counts) for name, counts in given.items()},
        () if alone else find_outliers(table), tuple(table.labels.values[code] for code in marks),
        _all_agree(table), scene.has_pixels, len(scene.reading.grid.shape),
    )  # fmt: skip


def _all_agree(table: Tally) -> bool:
    rows = table.patterns[table.counts > 0][:, table.raters].astype(np.int16)
    high = np.where(rows == VOID, -1, rows).max(axis=1, initial=-1)
    low = np.where(rows == VOID, VOID, rows).min(axis=1, initial=VOID)
    return bool((high <= low).all())


def present_references(cases: Iterable[CaseAudit]) -> Iterator[str]:
    """The references, each once."""
    yield from dict.fromkeys(name for case in cases for name in case.compared)
