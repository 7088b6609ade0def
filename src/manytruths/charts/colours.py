"""Colours that people with any colour vision can tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError

Colours = NDArray[np.uint8]

ANCHORS = np.array(
    [
        (76, 52, 190),
        (118, 44, 196),
        (156, 44, 182),
        (190, 52, 156),
        (216, 72, 124),
        (233, 98, 92),
        (248, 136, 66),
        (254, 182, 46),
        (243, 240, 54),
    ],
    float,
)
"""From deep violet over red to yellow; lightness rises all the way, so that it can be read in grey."""

UNKNOWN = (150, 150, 150)

OKABE_ITO = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167))
"""Okabe and Ito's palette without black, which cannot be seen on dark images."""


PAPER_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#1c1c20", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette for lines and bars on white, without the yellow, which is hard to see there."""


def colour_map(values: ArrayLike) -> Colours:
    """Red, green and blue (a last axis of 3) for values from 0 to 1; those beyond are cut off, nan is grey.

    >>> colour_map([0, 1]).tolist()
    [[76, 52, 190], [243, 240, 54]]
    """
    where = np.asarray(values, float)
    places = np.linspace(0, 1, len(ANCHORS))
    mixed = np.stack([np.interp(np.nan_to_num(where), places, channel) for channel in ANCHORS.T], axis=-1)
    mixed[np.isnan(where)] = UNKNOWN
    rounded: Colours = np.rint(mixed).astype(np.uint8)
    return rounded


def count_colours(most: int) -> Colours:
    """One colour each for 1, 2, …, ``most`` raters; the last is the lightest."""
    if most < 1:
        raise CallError(f"most is {most}; a map of counts needs 1 or more")
    return colour_map(np.linspace(0, 1, most) if most > 1 else np.ones(1))


def rater_colours(count: int) -> list[tuple[int, int, int]]:
    """A colour for each rater: Okabe and Ito's seven, then lighter and darker ones, then again from the start."""
    tones = [_tone(base, share) for share in (0.0, 0.55, -0.45) for base in OKABE_ITO]
    return [tones[rater % len(tones)] for rater in range(count)]


def hexadecimal(colour: Any) -> str:
    """``#rrggbb``."""
    red, green, blue = (int(channel) for channel in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"


def is_light(colour: Any) -> bool:
    """Whether black text reads better on it than white."""
    red, green, blue = (float(channel) for channel in colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140


def _tone(base: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    """Towards white for a share above 0, towards black below."""
    goal = 255 if share > 0 else 0
    red, green, blue = (round(channel + (goal - channel) * abs(share)) for channel in base)
    return red, green, blue
