"""What there is to learn in one case: each rater's mask, where they disagree, and the reference standard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.counting import tally
from ...core.errors import CallError, ManytruthsError
from ...core.painting import paint
from ...fusion import Consensus, consensus
from ...fusion.registry import LEVEL_SETS, estimator
from ...fusion.result import BINARY
from ...study import Case
from ...study.case import Reading
from .numbering import NOT_RATED, Codes, Numbering

Soft = NDArray[np.float32]
Flags = NDArray[np.bool_]


def first_readings(case: Case) -> dict[str, Column]:
    """Every rater of the study in the first session; the others are for agreement with oneself."""
    first: dict[str, Column] = {}
    for column in sorted((*case.masks, *case.absent), key=lambda c: c.order):
        first.setdefault(column.name, column)
    return first


@dataclass(frozen=True)
class Targets:
    """Numbered masks of the raters who are present, and what they are together."""

    reading: Reading
    numbering: Numbering
    masks: Mapping[str, Codes]
    """By rater; NOT_RATED outside of the region that counts."""
    agreed: Codes
    """What all who rated say; the least of it where they disagree, and NOT_RATED where nobody rated."""
    disputed: Flags

    @property
    def rated(self) -> Flags:
        """Where anybody rated."""
        return np.asarray(self.agreed != NOT_RATED)

    @property
    def settled(self) -> Codes:
        """The label that all agree on, and what is to be ignored."""
        return self._ignoring(self.agreed, self.rated & ~self.disputed)

    @property
    def disagreement(self) -> Codes:
        """1 disputed, 0 not, NOT_RATED."""
        return np.where(self.rated, self.disputed, np.uint8(NOT_RATED)).astype(np.uint8)

    def own(self, rater: str) -> Codes:
        """What one rater says; what he did not rate is to be ignored."""
        return self._ignoring(self.masks[rater], self.masks[rater] != NOT_RATED)

    def hard(self, found: Consensus) -> Codes:
        """The reference standard; what nobody rated is to be ignored."""
        values = np.maximum(self._painted(found, np.asarray(found.values)), 0)
        return self._ignoring(values.astype(np.uint8), self.rated)

    def soft(self, found: Consensus) -> Iterator[Soft]:
        """How likely each pixel is marked; of several labels, how likely it is each of them, background first."""
        labels = range(self.numbering.ignore)
        for label in labels if len(labels) > 2 else (1,):
            known = label in found.labels.values
            values = np.asarray(found.of(label)) if known else np.zeros(found.hard.shape)
            chance = self._painted(found, np.nan_to_num(values))
            yield np.where(self.rated, chance, 0).astype(np.float32)

    def _ignoring(self, codes: Codes, known: Flags) -> Codes:
        return np.where(known, codes, np.uint8(self.numbering.ignore))

    def _painted(self, found: Consensus, values: NDArray[Any]) -> NDArray[Any]:
        if found.tally is None:
            return values
        present = {c: m for c, m in self.columns.items() if m is not None}
        return paint(values, present, found.tally, void=NOT_RATED, fill=0)

    @property
    def columns(self) -> dict[Column, Codes | None]:
        """Masks as estimators want them: outside of the region they hold nothing that they do not hold inside."""
        region = self.reading.case.region(self.reading.grid)
        first = first_readings(self.reading.case)
        return {column: _inside(self.masks.get(name), region) for name, column in first.items()}

    def reference(self, method: str) -> Consensus:
        """The reference standard, by a method of ``fuse``."""
        case = self.reading.case
        try:
            found = self._estimated(method)
        except ManytruthsError as error:
            raise type(error)(f"case {case.name}, {method}: {error}") from None
        if found.labels == BINARY and len(self.numbering.values) > 1:
            raise CallError(
                f"--reference {method} only tells marked from not, but there are labels "
                f"{', '.join(self.numbering.names)}; take staple or plurality, or unite them (--foreground any)"
            )
        return found

    def _estimated(self, method: str) -> Consensus:
        """As ``fuse`` does it, on the numbers instead of the values."""
        case, grid = self.reading.case, self.reading.grid
        region = case.region(grid)
        raters = "exchangeable" if case.options.exchangeable else None
        if estimator(method)[0].spatial:
            present = {c: m for c, m in self.columns.items() if m is not None}
            options = {"spacing": grid.spacing} if method.partition(":")[0] in LEVEL_SETS else {}
            return consensus(present, method, raters=raters, void=NOT_RATED, region=region, **options)
        inside = "whole" if isinstance(region, str) else region
        labels = self.numbering.declared(case)
        table = tally(self.columns, raters=raters, labels=labels, void=NOT_RATED, region=inside)
        return consensus(table.restrict(region) if isinstance(region, str) else table, method)


def targets_of(reading: Reading, numbering: Numbering) -> Targets:
    """A case whose masks are in memory."""
    case = reading.case
    region = case.region(reading.grid)
    masks: dict[str, Codes] = {}
    for name, column in first_readings(case).items():
        if column in reading.masks:
            codes = numbering.numbered(reading.masks[column], case)
            masks[name] = codes if isinstance(region, str) else np.where(region != 0, codes, np.uint8(NOT_RATED))
    least = np.minimum.reduce([*masks.values()])
    most = np.maximum.reduce([np.where(mask == NOT_RATED, 0, mask) for mask in masks.values()])
    return Targets(reading, numbering, masks, least, (least != NOT_RATED) & (least != most))


def _inside(mask: Codes | None, region: str | NDArray[Any]) -> Codes | None:
    if mask is None or isinstance(region, str):
        return mask
    inside = region.astype(bool)
    return np.where(inside, mask, mask[inside][0])
