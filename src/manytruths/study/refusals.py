"""What keeps a mask or a grey prediction from being used by its values; and errors that say what they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, LabelError, ManytruthsError
from ..io import looks_compressed

Array = NDArray[Any]

_LOOKED_AT = 1 << 20
"""So many items of a mask are enough to see traces of JPEG."""


def refuse_compressed(array: Array, where: str) -> None:
    """Refuse a mask that went through JPEG: its noise around 0 would be marked."""
    if _compressed(array):
        raise LabelError(f"{where}these are no labels. {values_found(array)}, or declare the labels")


def _compressed(array: Array) -> bool:
    step = max(1, round((array.size / _LOOKED_AT) ** (1 / array.ndim)))
    some = array[(slice(None, None, step),) * array.ndim]
    # numbered objects fill the range evenly; a compressed mask marks with what is near 255
    return looks_compressed(some) and bool(2 * np.count_nonzero(some > 214) >= np.count_nonzero(some > 40))


def values_found(array: Array) -> str:
    """The values of a mask, and whether they look like those of a JPEG."""
    values = np.unique(array).tolist()
    shown = ", ".join(map(str, values[:12])) + (f", … ({len(values)} in all)" if len(values) > 12 else "")
    again = "; it looks JPEG-compressed: export it again as PNG, without a JPEG on the way"
    return f"The mask holds {shown}{again if _compressed(array) else ''}"


def refuse_strange(response: Array, limits: tuple[float, float] | None) -> None:
    """Refuse a grey prediction that is not finite, or outside of what was declared."""
    low, high = limits or (-np.inf, np.inf)
    with np.errstate(invalid="ignore"):
        wrong = response[~np.isfinite(response) | (response < low) | (response > high)]
    if wrong.size:
        declared = limits is not None and bool(np.isfinite(wrong).all())
        wanted = f"between {low:g} and {high:g}, as declared" if declared else "finite"
        other = ", or declare other limits" if declared else ""
        raise InputError(
            f"values such as {wrong.flat[0]:g} ({wrong.size} in all) are not {wanted}; write it again{other}"
        )


@contextmanager
def about(what: str) -> Iterator[None]:
    """Errors that say first what they are about."""
    try:
        yield
    except ManytruthsError as error:
        raise type(error)(f"{what}: {error}") from None
