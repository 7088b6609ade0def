"""What there is to learn in one case: numbered labels, each rater's mask, where they disagree, and the consensus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError, LabelError
from ...core.labels import Labels
from ...fusion import Consensus
from ...fusion.registry import estimator
from ...study import Case
from ...study.case import Reading
from ...study.consensus import FirstReadings

Codes = NDArray[np.uint8]
Soft = NDArray[np.float32]
Flags = NDArray[np.bool_]

NOT_RATED = 255
"""What stands in a numbered mask where a rater did not rate, or outside of the region that counts."""
MOST = 254
"""Labels but background; one more number is for what is to be ignored."""
RESERVED = ("background", "ignore")
"""Names that mean something of their own to nnU-Net."""


@dataclass(frozen=True)
class Numbering:
    """Background is 0; the other labels are 1, 2, … in the order of their values.

    >>> Numbering.of(Labels((0, 7, 255), ("background", "gland", "ignore"))).named
    {'background': 0, 'gland': 1, 'ignore 255': 2}
    """

    values: tuple[int, ...]
    """Of the study, in the order of their numbers."""
    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Labels) -> Numbering:
        """The numbers of a study's labels."""
        marks = labels.marks
        if len(marks) > MOST:
            raise LabelError(f"there are {len(marks)} labels; at most {MOST} can be exported: unite some of them")
        if not marks:
            # what nobody marked is still what is looked for
            return cls((1,), ("1",))
        values, names = [labels.values[code] for code in marks], [labels.names[code] for code in marks]
        free = [f"{name} {value}" if name in RESERVED else name for name, value in zip(names, values, strict=True)]
        return cls(tuple(values), tuple(free))

    @property
    def ignore(self) -> int:
        """The number after the last label."""
        return len(self.values) + 1

    @property
    def named(self) -> dict[str, int]:
        """Numbers by name."""
        return {name: number for number, name in enumerate(("background", *self.names))}

    def rows(self) -> Iterator[tuple[int, int, str]]:
        """Number, value in the study, name."""
        yield from zip(range(self.ignore), (0, *self.values), ("background", *self.names), strict=True)

    def codes(self, mask: NDArray[Any]) -> NDArray[Any]:
        """The numbers of a study's values."""
        return np.asarray(np.searchsorted(np.array((0, *self.values)), mask))

    def number_mask(self, mask: NDArray[Any], case: Case) -> Codes:
        """A mask of the study in these numbers."""
        options = case.options
        codes = mask != 0 if options.foreground else self.codes(mask)
        void = options.void is not None and mask == options.void
        return np.where(void, NOT_RATED, codes).astype(np.uint8)


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
    """What all who rated gave; the least of it where they disagree, and NOT_RATED where nobody rated."""
    disputed: Flags

    @property
    def rated(self) -> Flags:
        """Where anybody rated."""
        return np.asarray(self.agreed != NOT_RATED)

    @property
    def settled(self) -> Codes:
        """The label that all raters agree on; other pixels get the label to ignore."""
        return self._with_ignored(self.agreed, self.rated & ~self.disputed)

    @property
    def disagreement(self) -> Codes:
        """1 disputed, 0 not, NOT_RATED."""
        return np.where(self.rated, self.disputed, np.uint8(NOT_RATED)).astype(np.uint8)

    def own(self, rater: str) -> Codes:
        """The labels of one rater; pixels that they did not rate get the label to ignore."""
        return self._with_ignored(self.masks[rater], self.masks[rater] != NOT_RATED)

    def hard(self, consensus: Consensus) -> Codes:
        """The labels of a consensus; pixels that nobody rated get the label to ignore."""
        values, _ = self.readings.paint(consensus)
        data, hidden = np.ma.getdata(values), np.ma.getmaskarray(values)
        codes = data != 0 if self.reading.case.options.foreground else self.numbering.codes(data)
        return self._with_ignored(codes.astype(np.uint8), self.rated & ~hidden)

    def soft(self, consensus: Consensus) -> Iterator[Soft]:
        """How likely each pixel is marked; of several labels, how likely it is each of them, background first."""
        values = (0, *self.numbering.values)
        for value in values if len(values) > 2 else values[1:]:
            known = value in consensus.labels.values
            by_pattern = np.asarray(consensus.of(value)) if known else np.zeros(consensus.hard.shape)
            chance = self.readings.map_of(consensus, np.nan_to_num(by_pattern))
            yield np.where(self.rated, chance, 0).astype(np.float32)

    def _with_ignored(self, codes: Codes, known: Flags) -> Codes:
        return np.where(known, codes, np.uint8(self.numbering.ignore))

    @cached_property
    def readings(self) -> FirstReadings:
        """What the reference standard is estimated from."""
        return FirstReadings.of(self.reading)

    def consensus(self, method: str) -> Consensus:
        """Estimate the consensus by a method of ``fuse``."""
        return self.readings.estimate(method)


def check_consensus(method: str) -> None:
    """Refuse what is not one method of ``fuse``."""
    if "," in method:
        raise CallError(f"--consensus is one method, as staple or vote:0.5; got {method!r}")
    estimator(method)


def targets_of(reading: Reading, numbering: Numbering) -> Targets:
    """A case whose masks are in memory."""
    case = reading.case
    region = case.region(reading.grid)
    masks: dict[str, Codes] = {}
    for name, column in first_readings(case).items():
        if column in reading.masks:
            codes = numbering.number_mask(reading.masks[column], case)
            masks[name] = codes if isinstance(region, str) else np.where(region != 0, codes, np.uint8(NOT_RATED))
    least = np.minimum.reduce([*masks.values()])
    most = np.maximum.reduce([np.where(mask == NOT_RATED, 0, mask) for mask in masks.values()])
    return Targets(reading, numbering, masks, least, (least != NOT_RATED) & (least != most))
