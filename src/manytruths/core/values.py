"""One value a pattern, which remembers whose patterns they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .tally import Tally


class PatternValues(np.ndarray[Any, Any]):
    """An array with one value a pattern of ``tally``, ready to be painted.

    Whatever is computed of it item by item (``1 - values``, ``values > 0.9``) stays so; a part of it does not.
    """

    tally: Tally | None

    def __new__(cls, values: ArrayLike, tally: Tally | None) -> PatternValues:
        self = np.asarray(values).view(cls)
        self.tally = tally
        return self

    def __array_finalize__(self, source: NDArray[Any] | None) -> None:
        whole = source is not None and source.shape == self.shape
        self.tally = getattr(source, "tally", None) if whole else None

    def __reduce__(self) -> tuple[Any, ...]:
        return PatternValues, (np.asarray(self), self.tally)

    def __repr__(self) -> str:
        return repr(np.asarray(self))
