"""Write tasks that Label Studio imports: with predictions, which it shows to raters, or with annotations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np

from ..core.columns import natural_key
from ..core.errors import CallError
from ..shape.grid import Grid
from .json_fields import flat_shape, full_mask, score_of, single_rings, write_document
from .labelstudio import in_pixels
from .outlines import Polygon
from .readings import Mark, Mask, Outline, Reading
from .run_lengths import encode_brush

IMAGE, BRUSH, POLYGON = "image", "brush", "polygon"
"""What the tags of the labelling configuration are called."""
UNSAID = "score", "ground_truth"
"""Attributes that Label Studio has fields of their own for."""


def write_labelstudio(
    path: Path | str,
    reads: Iterable[Reading],
    kind: Literal["predictions", "annotations"] = "predictions",
    *,
    exact: bool = False,
    rank: str = "rank",
) -> None:
    """Write readings as tasks that Label Studio imports, one task for each image.

    Polygons of one ring stay polygons where Label Studio's percentages hold the same pixels; everything else becomes a
    brush. The project must have the tags of :func:`labelstudio_configuration`.

    Parameters
    ----------
    path : str or Path
        The JSON file.
    reads : iterable of Reading
        What to write.
    kind : {"predictions", "annotations"}
        As predictions, whose ``model_version`` is the rater, or as annotations, which Label Studio takes where it knows
        the raters' e-mail addresses. Unfinished readings are left out of predictions.
    exact : bool
        Whether to write brushes for everything.
    rank : str
        The name of the number that holds the severity rank.
    """
    if kind not in ("predictions", "annotations"):
        raise CallError(f"kind is 'predictions' or 'annotations'; got {kind!r}")
    tasks = dict[str, list[Reading]]()
    for read in reads:
        tasks.setdefault(read.image, []).append(read)
    writer = _Writer(kind, exact, rank)
    write_document(path, [writer.task(k, image, own) for k, (image, own) in enumerate(tasks.items(), 1)])


def labelstudio_configuration(reads: Iterable[Reading], rank: str = "rank") -> str:
    """The labelling configuration of a project that takes the tasks of these reads."""
    marks = [mark for read in reads for mark in read.marks]
    labels = sorted({mark.label for mark in marks}, key=natural_key)
    inside = "".join(f"<Label value={quoteattr(label)}/>" for label in labels)
    tags = (("BrushLabels", BRUSH), ("PolygonLabels", POLYGON))
    controls = "".join(f'<{tag} name="{name}" toName="{IMAGE}">{inside}</{tag}>' for tag, name in tags)
    controls_of = {"Number": {rank} if any(mark.rank is not None for mark in marks) else set[str]()}
    controls_of["TextArea"] = {name for mark in marks for name in mark.attributes if name not in UNSAID}
    controls += "".join(
        f'<{tag} name={quoteattr(name)} toName="{IMAGE}" perRegion="true"/>'
        for tag, names in controls_of.items()
        for name in sorted(names)
    )
    return f'<View><Image name="{IMAGE}" value="${IMAGE}"/>{controls}</View>\n'


class _Writer:
    def __init__(self, kind: str, exact: bool, rank: str) -> None:
        self.kind, self.exact, self.rank = kind, exact, rank
        self.annotations = 0

    def task(self, number: int, image: str, reads: Sequence[Reading]) -> dict[str, Any]:
        height, width = flat_shape(reads[0].grid.shape, image, "Label Studio")
        wanted = ("done", "empty") if self.kind == "predictions" else ("done", "empty", "unfinished")
        kept = [read for read in reads if read.status in wanted]
        make = self._predictions if self.kind == "predictions" else self._annotations
        # the size is in the data, too: results have it, and an image without any has none
        data = {IMAGE: image, "width": width, "height": height}
        return {"id": number, "data": data, self.kind: make(kept)}

    def _predictions(self, reads: Sequence[Reading]) -> list[dict[str, Any]]:
        return [{"model_version": read.rater, "result": self._results(read)} for read in reads]

    def _annotations(self, reads: Sequence[Reading]) -> list[dict[str, Any]]:
        numbers = {}
        for read in reads:
            self.annotations += 1
            numbers[read.rater] = numbers[f"{read.rater}/{read.session}"] = self.annotations
        return [self._annotation(read, numbers) for read in reads]

    def _annotation(self, read: Reading, numbers: dict[str, int]) -> dict[str, Any]:
        true = bool(read.marks) and all(mark.attributes.get("ground_truth") == "true" for mark in read.marks)
        return {
            "id": numbers[f"{read.rater}/{read.session}"],
            "completed_by": {"email": read.rater},
            "result": self._results(read),
            "was_cancelled": read.status == "unfinished",
            "ground_truth": true,
            **({"created_at": read.started} if read.started else {}),
            **({"lead_time": read.seconds} if read.seconds is not None else {}),
            **({"parent_annotation": numbers[read.based_on]} if read.based_on in numbers else {}),
        }

    def _results(self, read: Reading) -> list[dict[str, Any]]:
        return [result for k, mark in enumerate(read.marks) for result in self._region(k, mark, read.grid)]

    def _region(self, number: int, mark: Mark, grid: Grid) -> list[dict[str, Any]]:
        """The shape, and what was said of it, tied by the id."""
        height, width = flat_shape(grid.shape, mark.label, "Label Studio")
        common = {
            "id": f"region-{number}",
            "to_name": IMAGE,
            "original_width": width,
            "original_height": height,
            "image_rotation": 0,
        }
        score = score_of(mark.attributes)
        notes: list[dict[str, Any]] = [
            {**common, "type": "textarea", "from_name": name, "value": {"text": [text]}}
            for name, text in mark.attributes.items()
            if name not in (*score, "ground_truth")
        ]
        if mark.rank is not None:
            notes.append({**common, "type": "number", "from_name": self.rank, "value": {"number": mark.rank}})
        return [{**common, **self._shape(mark, grid), **score}, *notes]

    def _shape(self, mark: Mark, grid: Grid) -> dict[str, Any]:
        inside = full_mask(mark.outline, grid.shape)
        points = None if self.exact else _percentages(mark.outline, inside, grid)
        if points is not None:
            value: dict[str, Any] = {"points": points, "closed": True, "polygonlabels": [mark.label]}
            return {"type": "polygonlabels", "from_name": POLYGON, "value": value}
        value = {"format": "rle", "rle": list(encode_brush(inside)), "brushlabels": [mark.label]}
        return {"type": "brushlabels", "from_name": BRUSH, "value": value}


def _percentages(outline: Outline, inside: Mask, grid: Grid) -> list[list[float]] | None:
    """The points of a polygon in percent, where those hold the same pixels when they are read."""
    parts = single_rings(outline)
    if not parts or len(parts) != 1:
        return None
    percent = parts[0].rings[0] * 100 / np.array(grid.shape[::-1], np.float64)
    again = Polygon((in_pixels(percent, grid),))
    return percent.tolist() if (full_mask(again, grid.shape) == inside).all() else None
