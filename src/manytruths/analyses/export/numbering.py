"""Labels of a study as consecutive numbers, which training programs want."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import LabelError
from ...core.labels import Labels
from ...study import Case

Codes = NDArray[np.uint8]

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
        values = tuple(labels.values[code] for code in marks)
        return cls(values, tuple(_free(labels.names[code], labels.values[code]) for code in marks))

    @property
    def ignore(self) -> int:
        """The number after the last label."""
        return len(self.values) + 1

    @property
    def named(self) -> dict[str, int]:
        """Numbers by name."""
        return {"background": 0} | {name: number for number, name in enumerate(self.names, start=1)}

    def rows(self) -> Iterator[tuple[int, int, str]]:
        """Number, value in the study, name."""
        yield 0, 0, "background"
        for number, (value, name) in enumerate(zip(self.values, self.names, strict=True), start=1):
            yield number, value, name

    def codes(self, mask: NDArray[Any]) -> NDArray[Any]:
        """The numbers of a study's values."""
        return np.asarray(np.searchsorted(np.array((0, *self.values)), mask))

    def numbered(self, mask: NDArray[Any], case: Case) -> Codes:
        """A mask of the study in these numbers."""
        options = case.options
        codes = mask != 0 if options.foreground else self.codes(mask)
        void = options.void is not None and mask == options.void
        return np.where(void, NOT_RATED, codes).astype(np.uint8)


def _free(name: str, value: int) -> str:
    return f"{name} {value}" if name in RESERVED else name
