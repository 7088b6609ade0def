"""Panels of raters for hypothesis: small masks of any dimension, with items not rated and raters absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

settings.register_profile("manytruths", deadline=None)  # a busy machine is no bug
settings.load_profile("manytruths")

VOID = -1
LABELS = (0, 1, 2, 3, 7, 255, 300)


@dataclass(frozen=True)
class Panel:
    """Masks by rater (None for one who was absent) over the labels; VOID where somebody did not rate."""

    masks: dict[str, np.ndarray | None]
    labels: tuple[int, ...]


@st.composite
def panels(draw, raters=(2, 6), labels=(2, 5), missing=True, background=True, absent=False, shape=None):
    pool = draw(st.permutations(LABELS[1:]))
    chosen = pool[: draw(st.integers(*labels)) - background] + ([0] if background else [])
    shape = shape or draw(array_shapes(max_dims=3, max_side=5))
    values = st.sampled_from(chosen + [VOID] * (missing and draw(st.booleans())))
    names = [f"R{i}" for i in range(1, draw(st.integers(*raters)) + 1)]
    masks = {name: draw(arrays(np.int64, shape, elements=values)) for name in names}
    if absent:
        for name in draw(st.sets(st.sampled_from(names), max_size=len(names) - 1)):
            masks[name] = None
    return Panel(masks, tuple(sorted(chosen)))
