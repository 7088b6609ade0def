"""What a rater is shown of a case that they read: their outline, that of the others' consensus, and the others'."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...analyses.agree.case import MapOptions
from ...charts.canvas import Scale
from ...charts.colours import OKABE_ITO, hexadecimal
from ...charts.overlays import outline_panel
from ...core.columns import Column
from ...shape.display import Display
from ...study import Case
from ...study.case import Reading
from ...study.consensus import FirstReadings
from ..case_view import Array, ViewPlan, data_url, encode_picture, layer_case, square_around, view_data

OWN_COLOUR, OTHERS_COLOUR, CONSENSUS_COLOUR = (hexadecimal(OKABE_ITO[i]) for i in (0, 6, 1))
OWN_PAINT, CONSENSUS_PAINT = OKABE_ITO[0], OKABE_ITO[1]
CONSENSUS = "consensus of the others"
PICTURE = 360
"""Pixels along the longer side of a picture."""


@dataclass(frozen=True)
class FeedbackView:
    """A case as its rater sees it."""

    picture: str
    """Their outline and that of the others' consensus, as a data URL."""
    data: str
    """Of the viewer, as JSON."""
    slice: int | None = None
    """Which slice of a volume the picture shows, from 1; None of an image."""
    label: str = ""
    """Of several labels, the one that the picture shows."""


def view_feedback(case: Case, rater: str, largest: int, *, images: bool = True) -> FeedbackView | None:
    """What a rater is shown of a case; None where it is too large, or where nobody else read it.

    Given references and predictions are left out: who still reads cases should not see them.
    """
    case = replace(case, references={}, predictions={}, samples={}, ranks={}, training={}, missing=(),
                   missing_references=(), lesions=(), edits={}, decisions=None)  # fmt: skip
    reading = case.read(by_tile=True)
    own = next((column for column in case.masks if column.name == rater), None)
    others = {column: mask for column, mask in reading.masks.items() if column.name != rater}
    if own is None or not others or reading.is_large or reading.counts is not None:
        return None
    decided = _others_consensus(reading, others)
    layered = layer_case(reading, None, MapOptions(), beside={Column(CONSENSUS, "reference"): decided})
    colours = {name: OWN_COLOUR if name == rater else OTHERS_COLOUR for name in {c.name for c in case.masks}}
    plan = ViewPlan(images=images, largest=largest, colours=colours)
    data = view_data(reading, layered, plan)
    data["drawn"] = [
        place for place, column in enumerate(layered.table.columns) if column == own or column.role == "reference"
    ]
    for column in data["columns"]:
        if column["role"] == "reference":
            column["colour"] = CONSENSUS_COLOUR  # as in the picture
    picture, at, value = _draw(reading, own, decided, images=images)
    if at is not None:
        data["start"] = int(np.clip(at - data["first"], 0, data["shape"][0] - 1))
    labels = layered.table.labels
    label = labels.names[labels.index(value)] if labels.several and value is not None else ""
    return FeedbackView(picture, msgspec.json.encode(data).decode(), None if at is None else at + 1, label)


def _others_consensus(reading: Reading, others: dict[Column, Array]) -> Array:
    """Marked by half of the others or more; of several labels, the one that most of them gave."""
    case = replace(reading.case, masks={column: reading.case.masks[column] for column in others}, absent=())
    readings = FirstReadings.of(Reading(case, others, reading.grid))
    several = readings.table.labels.several
    return readings.paint(readings.estimate("plurality" if several else "vote:0.5"))[0]


def _draw(reading: Reading, own: Column, decided: Array, *, images: bool) -> tuple[str, int | None, int | None]:
    """The slice and label on which the two differ most, both outlines over the image, cut to what they mark."""
    display, options = Display.of(reading.grid), reading.case.options
    mine, theirs = (display.orient(np.ma.filled(array, 0)) for array in (reading.masks[own], decided))
    void = None if options.void is None else mine == options.void
    values = [None] if options.foreground else _values(mine, theirs, options.void)
    differing = {value: _differ(mine, theirs, value, void) for value in values}
    value = max(values, key=lambda each: int(differing[each].sum()))
    at = int(differing[value].sum(axis=(1, 2)).argmax())
    cut = [_marked(array[at], value) for array in (mine, theirs)]
    rows, columns = square_around(cut[0] | cut[1])
    image = reading.picture[0] if images else None
    ground = None if image is None else display.orient(image)[at][rows, columns]
    masks = [mask[rows, columns] for mask in cut]
    scale = Scale.of(masks[0].shape, PICTURE, PICTURE * 2 // 3)
    panel = outline_panel(ground, masks, [OWN_PAINT, CONSENSUS_PAINT], scale)
    volume = len(reading.grid.shape) > 2
    return data_url(encode_picture(panel, None, PICTURE, 80)), at if volume else None, value


def _values(mine: Array, theirs: Array, void: int | None) -> list[int | None]:
    """The values that somebody marked; any of them where there are none."""
    found = {int(value) for array in (mine, theirs) for value in np.unique(array)} - {0, void}
    return [*sorted(found)] or [None]


def _marked(array: Array, value: int | None) -> NDArray[np.bool_]:
    return np.asarray(array != 0 if value is None else array == value)


def _differ(mine: Array, theirs: Array, value: int | None, void: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Where one of two masks has a value and the other does not; nothing where it was not rated."""
    differ = _marked(mine, value) != _marked(theirs, value)
    return differ if void is None else np.asarray(differ & ~void)
