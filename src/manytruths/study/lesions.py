"""The lesions of a case, by the rule of its study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import ManytruthsError
from ..core.labels import Labels
from ..lesions import LesionMatch, match_lesions
from ..lesions.marks import TooManyLesions
from .case import Reading

Array = NDArray[Any]


def lesion_masks(reading: Reading, columns: Iterable[Column], labels: Labels, mark: int) -> dict[Column, Array | None]:
    """The masks of one label, given by its code; None where a rater has no mask of the case.

    Instance maps stay as they are, but for pixels that were not rated.
    """
    options, masks = reading.case.options, reading.masks
    value = None if options.foreground or not labels.several else labels.values[mark]
    return {c: lesion_mask(masks[c], value, reading) if c in masks else None for c in columns}


def lesion_mask(array: Array, value: int | None, reading: Reading) -> Array:
    """One mask, or any other array in the values of masks, as lesions are found in it."""
    options = reading.case.options
    if not options.instances:
        return reading.marks(array, value)  # type: ignore[return-value]
    if reading.is_large:
        return reading.runs(array).hide(options.void)  # type: ignore[return-value]
    return array if options.void is None else np.ma.masked_equal(array, options.void)


def match_reading(reading: Reading, masks: Mapping[Column, Array | None]) -> LesionMatch:
    """The lesions that masks of a case have in common, by the rule of the study, in its region of interest."""
    options = reading.case.options
    try:
        return match_lesions(
            masks, options.lesions.name, options.lesions.threshold, spacing=reading.grid.spacing,
            instances=options.instances, region=reading.inside,
        )  # fmt: skip
    except TooManyLesions:
        raise
    except ManytruthsError as error:
        raise type(error)(f"case {reading.case.name}: {error}") from None
