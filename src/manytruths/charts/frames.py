"""Intensity along a sequence of frames: raters at the left, algorithms and the raters' mean at the right, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core.errors import CallError
from .charts import TOP
from .rocs import COLOURS, LEFT, ROW, Stroke, legend, middle, strokes, traced
from .svg import INK, Axis, bottom_axis, document, left_axis, text

WIDE, HIGH = 320.0, 280.0


class FrameAxis(Axis):
    """An axis of frames: there is nothing between two of them."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Whole numbers only."""
        return [(value, str(round(value))) for value, _ in super().ticks if value == round(value)]


def frame_chart(
    frames: Sequence[str],
    raters: Mapping[str, Sequence[float]],
    algorithms: Mapping[str, Sequence[float]],
    mean: Sequence[float],
    title: str,
    *,
    notes: Mapping[str, str] | None = None,
    ylabel: str = "mean intensity inside the mask",
) -> str:
    """Two panels over the same axes; the raters' mean is the thick line in both.

    ``frames`` names the cases in order; everybody has one value for each, nan where there is none. ``notes`` stand
    after names in the legend, such as an algorithm's distance to the mean.
    """
    every = [*raters.values(), *algorithms.values(), mean]
    if not frames or any(len(values) != len(frames) for values in every):
        raise CallError(f"{len(frames)} frames, and values of {sorted(set(map(len, every)))}; one value a frame")
    parts, left = [], LEFT
    bottom = TOP + 22 + HIGH
    up = Axis.over(np.concatenate([np.asarray(v, float) for v in every]).tolist(), bottom, TOP + 22)
    label = f"frame, from {middle(frames[0], 14)} to {middle(frames[-1], 14)}"
    for heading, curves in (("raters", raters), ("algorithms", algorithms)):
        across = FrameAxis(1.0, float(max(len(frames), 2)), left, left + WIDE)
        parts += bottom_axis(across, TOP + 22, bottom, label) + left_axis(up, left, left + WIDE, ylabel)
        parts.append(text(left, TOP + 10, heading, font_weight="bold"))
        chosen = dict(zip(curves, strokes(len(curves), [c for c in COLOURS if c != INK]), strict=True))
        whole = {"mean of raters": mean, **curves}
        chosen["mean of raters"] = Stroke(INK, None, 4.0)
        for key, values in whole.items():
            drawn = np.arange(1.0, len(frames) + 1), np.asarray(values, np.float64), None, None
            parts += traced(key, drawn, across, up, chosen[key])
        wide, key_parts = legend(list(whole), chosen, left + WIDE + 22, TOP + 34, notes or {})
        parts += key_parts
        left += WIDE + 22 + wide + 24 + LEFT
    rows = 1 + max(len(raters), len(algorithms))
    return document(left - LEFT, max(bottom + 52, TOP + 40 + ROW * rows), title, parts)
