"""What there is to learn in one case: each rater's mask, where they disagree, and the reference standard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError
from ...fusion import Consensus
from ...fusion.result import BINARY
from ...study import Case
from ...study.case import Reading
from ...study.consensus import FirstReadings
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
        values, _ = self.readings.paint(found)
        codes = values != 0 if self.reading.case.options.foreground else self.numbering.codes(values)
        return self._ignoring(codes.astype(np.uint8), self.rated)

    def soft(self, found: Consensus) -> Iterator[Soft]:
        """How likely each pixel is marked; of several labels, how likely it is each of them, background first."""
        values = (0, *self.numbering.values)
        for value in values if len(values) > 2 else values[1:]:
            known = value in found.labels.values
            by_pattern = np.asarray(found.of(value)) if known else np.zeros(found.hard.shape)
            chance = self.readings.map_of(found, np.nan_to_num(by_pattern))
            yield np.where(self.rated, chance, 0).astype(np.float32)

    def _ignoring(self, codes: Codes, known: Flags) -> Codes:
        return np.where(known, codes, np.uint8(self.numbering.ignore))

    @cached_property
    def readings(self) -> FirstReadings:
        """What the reference standard is estimated from."""
        return FirstReadings.of(self.reading)

    def reference(self, method: str) -> Consensus:
        """The reference standard, by a method of ``fuse``."""
        found = self.readings.estimate(method)
        if found.labels == BINARY and len(self.numbering.values) > 1:
            raise CallError(
                f"--reference {method} only tells marked from not, but there are labels "
                f"{', '.join(self.numbering.names)}; take staple or plurality, or unite them (--foreground any)"
            )
        return found


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
