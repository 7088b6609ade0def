"""A case in the viewer of the page: layers (a map of patterns, and values by pattern), as JSON of a limited size."""

from __future__ import annotations

import io
import math
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..agreement import dispute_heatmap
from ..analyses.agree.case import MapOptions, ranking_worth
from ..analyses.agree.lesions import CaseLesions
from ..analyses.fuse.case import CaseMaps, consensus_column
from ..charts.canvas import Scale, as_bytes, central_range
from ..charts.overlays import heat_panel
from ..core.columns import Column
from ..core.counting import tally
from ..core.painting import paint
from ..core.tally import Tally
from ..shape.display import Display
from ..shape.grid import Grid
from ..study.case import Reading

Array = NDArray[Any]
Kind = Literal["count", "value", "probability", "region"]

SHADES = 256
"""Number of shades of a map that is not constant on patterns."""


@dataclass(frozen=True)
class Layer:
    """An overlay of the image: a value for every index of a map."""

    name: str
    title: str
    kind: Kind
    values: Array
    most: float
    map: int = 0


@dataclass(frozen=True)
class LayeredCase:
    """The maps and layers of a case."""

    table: Tally
    maps: tuple[Array, ...]
    """The first map holds the pattern of every pixel; the others hold shades."""
    layers: tuple[Layer, ...]

    @property
    def heat(self) -> Array:
        """Number of raters who marked each pixel; of several labels, of those who differ from the most frequent one."""
        values = dispute_heatmap(self.table) if self.table.labels.several else count_votes(self.table)
        return np.asarray(np.asarray(values)[self.maps[0]])

    @property
    def rated(self) -> Array:
        """Where anything is marked, or where raters gave labels."""
        return np.asarray(count_votes(self.table)[self.maps[0]])


def layer_case(
    reading: Reading,
    fusing: CaseMaps | None,
    plan: MapOptions,
    *,
    responses: bool = True,
    beside: Mapping[Column, Array] | None = None,
) -> LayeredCase:
    """Make the joint table of all masks, its map, and all layers; ``beside`` are further reference standards.

    Predicted probabilities can reveal as much as the image: they are left out where images are not shown.
    """
    case, options = reading.case, reading.case.options
    masks, predictions = dict(reading.masks), {} if options.probability else reading.predictions
    decided = {} if fusing is None else fusing.decided
    references = reading.references | {consensus_column(method): array for method, array in decided.items()}
    references |= beside or {}
    table = tally(
        masks, predictions=predictions, references=references, labels=case.labels, void=options.void,
        foreground=options.foreground, raters="exchangeable" if options.exchangeable else None,
    )  # fmt: skip
    everybody = {**masks, **predictions, **references}
    codes = paint(np.arange(len(table.counts)), everybody, table, void=options.void, foreground=options.foreground)
    maps, layers = [codes], list(_pattern_layers(table))
    more = list(_ranking_layer(reading, plan))
    more += [] if fusing is None else _consensus_layers(reading, fusing, table, codes)
    more += _response_layers(reading) if responses else []
    for layer, map in more:
        layers.append(layer if map is None else replace(layer, map=len(maps)))
        maps += [] if map is None else [map]
    return LayeredCase(table, tuple(maps), tuple(layers))


def count_votes(table: Tally) -> NDArray[np.int64]:
    """How many raters marked each pattern, in their first reading; without background, how many rated it."""
    return table.marked if table.labels.background is not None else table.rated


def _pattern_layers(table: Tally) -> Iterator[Layer]:
    raters = len(table.raters)
    if table.labels.several:
        disputed = np.asarray(dispute_heatmap(table))
        yield Layer("disputes", "Raters who differ from the most frequent label", "count", disputed, raters)
    elif table.labels.background is not None:
        yield Layer("votes", "Raters who marked it", "count", table.marked, raters)
        yield Layer("accepted", "Acceptable region", "region", _acceptable_region(table), 2)
    if len(table.labels.marks) > 1 or table.labels.background is None:
        for code in table.labels.marks:
            name = table.labels.names[code]
            yield Layer(f"votes {name}", f"Raters who marked {name}", "count", table.votes[:, code], raters)


def _acceptable_region(table: Tally) -> NDArray[np.int64]:
    """2 where every rater marked, 1 where some did, 0 elsewhere."""
    everybody = (table.marked == table.rated) & (table.rated > 0)
    return np.where(everybody, 2, np.where(table.marked > 0, 1, 0))


def _ranking_layer(reading: Reading, plan: MapOptions) -> Iterator[tuple[Layer, Array | None]]:
    if reading.case.ranks:
        table, ranks = reading.rank_tally
        worth = ranking_worth(reading, plan)
        top = round(float(plan.base ** (1 - plan.shift)))
        map = paint(np.arange(len(table.counts)), ranks, table)
        yield Layer("ranking", "Severity (ranking heatmap)", "value", np.asarray(worth), top), map


def _consensus_layers(
    reading: Reading, fusing: CaseMaps, table: Tally, codes: Array
) -> Iterator[tuple[Layer, Array | None]]:
    """Probabilities of the consensus: by pattern where they are constant on patterns, else as maps."""
    whole = isinstance(reading.region, str)
    first = _first_pixels(codes, len(table.counts))
    for method, (hard, chance) in fusing.maps.items():
        estimate = fusing.estimates[method]
        sure = np.where(hard > 0, chance, 0) if len(estimate.labels) > 2 else chance
        title = f"{method}: share of raters" if method.startswith("vote") else f"{method}: probability"
        if estimate.tally is not None and whole:
            yield Layer(method, title, "probability", sure.ravel()[first], 1.0), None
        else:
            yield _shaded_layer(method, title, sure, 1.0)


def _first_pixels(codes: Array, count: int) -> NDArray[np.intp]:
    """The first pixel of each pattern."""
    flat = codes.ravel()
    places = np.zeros(count, np.intp)
    places[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    return places


def _response_layers(reading: Reading) -> Iterator[tuple[Layer, Array | None]]:
    """Predicted probabilities."""
    for column, response in reading.predictions.items() if reading.case.options.probability else ():
        values = response.astype(np.float64)
        yield _shaded_layer(f"response {column}", f"{column}: response", values, float(values.max(initial=0)))


def _shaded_layer(name: str, title: str, values: Array, most: float) -> tuple[Layer, Array]:
    """A map in 256 shades."""
    shades, map = shade(values, most)
    return Layer(name, title, "probability", shades, float(shades[-1])), map


def shade(values: Array, most: float) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """256 shades from 0 or less to the largest value, and the nearest of them for every value."""
    low, high = min(0.0, float(values.min(initial=0))), max(most, 1e-12)
    map = np.rint((np.clip(values, low, high) - low) / (high - low) * (SHADES - 1)).astype(np.uint8)
    return np.linspace(low, high, SHADES), map


SIDES = (2048, 1400, 1000, 720, 512, 384, 256, 160)
"""Pixels along the longest side of an image, the preferred size first."""
MARGIN = 2
"""Slices shown above and below what anybody marked."""
MOST_ITEMS = 1 << 26
"""Largest number of pixels of a map, for the memory of the browser."""
MOST_LESIONS = 200
"""With more lesions in a case, they are not numbered."""
WHITE = "#ffffff"
"""No rater has it."""
TINTS = (WHITE, "#5ff5b8", "#b794ff", "#ff9dbd")
"""Of reference standards, in turn."""
DIGITS = 6
"""Significant digits of the values of a layer."""


@dataclass(frozen=True)
class ViewPlan:
    """What to show of a case, and how large the data may be."""

    images: bool = True
    """Whether images are shown beneath the outlines."""
    largest: int = 1 << 22
    """Largest size of the data of a case, in bytes."""
    thumbnail: int = 132
    """Pixels along the longer side of the thumbnail."""
    colours: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Scene:
    """What the viewer shows at once: a case, an overview of a large one, or a part of it at full resolution."""

    name: str
    grid: Grid
    """Of what is shown."""
    layered: LayeredCase
    image: Array | None = None
    notes: tuple[str, ...] = ()
    start: tuple[int, int] = (0, 0)
    """The row and column of the file at which an image starts."""
    step: int = 1
    """Rows and columns of the file for each that is given."""
    grey: tuple[float, float] | None = None
    """The values that are black and white; by default those of the middle 99% of the image."""


def view_data(
    reading: Reading, layered: LayeredCase, plan: ViewPlan, lesions: CaseLesions | None = None
) -> dict[str, Any]:
    """The data that the viewer needs to show a case."""
    image, note = reading.picture if plan.images else (None, "")
    notes = (f"without its image: {note}",) if note else ()
    scene = Scene(reading.case.name, reading.grid, layered, image, notes)
    return scene_data(reading, scene, plan, lesions)


def scene_data(
    reading: Reading, scene: Scene, plan: ViewPlan, lesions: CaseLesions | None = None
) -> dict[str, Any]:  # fmt: skip
    """The data of one scene of a case, of at most the size that is planned."""
    layered, grid = scene.layered, scene.grid
    display = Display.of(grid)
    maps = [display.orient(each) for each in layered.maps]
    marked = display.orient(layered.rated) > 0
    slices = _marked_slices(marked)
    maps = [each[slices] for each in maps]
    step, packs = _fit_maps(maps, plan.largest)
    held = sum(len(pack["data"]) for pack in packs)
    shown = maps[0][:, ::step, ::step].shape
    table, image, room = layered.table, scene.image, plan.largest - held
    lines = _reference_lines(reading, table)
    picture = None if image is None else _image_data(display.orient(image)[slices], room, scene.grey)
    return {
        "name": scene.name,
        "shape": list(shown),
        "axis": "slice",
        "first": slices.start,
        "of": len(marked),
        "start": _fullest_slice(marked[slices]),
        "step": step * scene.step,
        "places": _in_file(display.places(grid.shape, slices.start, step), scene),
        "letters": display.letters,
        "aspect": display.aspect,
        "pixel": None if display.spacing is None else display.spacing[-1] * step,
        "image": picture,
        "maps": packs,
        "patterns": pack_array(table.patterns.T[None]),
        "labels": list(table.labels.names),
        "background": table.labels.background,
        "columns": [_column_data(table, c, plan.colours or {}, lines) for c in table.columns],
        "absent": sorted({c.name for c in reading.case.absent} - {c.name for c in reading.masks}),
        "layers": [_layer_data(layer) for layer in layered.layers],
        "lesions": list(_lesion_data(lesions, reading, display, table, slices.start, step)) if lesions else [],
        "note": "; ".join((*scene.notes, *_notes(grid, display, step))),
    }


def _in_file(places: list[dict[str, int]], scene: Scene) -> list[dict[str, int]]:
    """Where rows and columns are in the file, of an image that starts inside it or has fewer of them."""
    if len(places) != 2:
        return places
    return [
        {"axis": p["axis"], "start": p["start"] * scene.step + start, "step": p["step"] * scene.step}
        for p, start in zip(places, scene.start, strict=True)
    ]


def _lesion_data(
    lesions: CaseLesions, reading: Reading, display: Display, table: Tally, first: int, step: int
) -> Iterator[list[Any]]:
    """Of each lesion its number, label, place and reach as shown, and who found it; none where there are too many."""
    if sum(len(found.lesions) for found in lesions.by_label.values()) > MOST_LESIONS:
        return
    shape, spacing = reading.grid.shape, display.spacing or (1.0,) * len(display.axes)
    for name, found in lesions.by_label.items():
        label = table.labels.names.index(name) if table.labels.several else None
        for lesion in found.lesions:
            at = [
                shape[axis] - 1 - lesion.centroid[axis] if back else lesion.centroid[axis]
                for axis, back in zip(display.axes, display.flipped, strict=True)
            ]
            # as if it were round
            volume = len(shape) > 2
            radius = (lesion.extent * 0.75 / math.pi) ** (1 / 3) if volume else math.sqrt(lesion.extent / math.pi)
            slices = (at[0] - first, radius / spacing[0]) if volume else (0, 0)
            names = "" if table.exchangeable else ", ".join(lesion.found_by)
            rated = len(lesion.found_by) + len(lesion.missed_by)
            place = [round(slices[0], 1), *(round(x / step, 1) for x in at[-2:])]
            reach = [round(slices[1], 1), round(radius / spacing[-1] / step, 1)]
            yield [lesion.number, label, place, reach, len(lesion.found_by), rated, names]


def _notes(grid: Grid, display: Display, step: int) -> Iterator[str]:
    if len(grid.shape) == 3 and display.letters is None:
        yield "the files do not give the orientation of the volume: left and right are unknown"
    if step > 1:
        yield f"every {({2: 'second', 3: 'third'}).get(step, f'{step}th')} row and column is shown"


def _marked_slices(marked: NDArray[np.bool_]) -> slice:
    """The slices around everything that was marked, with a margin; all slices where nothing was."""
    held = np.flatnonzero(marked.any(axis=(1, 2)))
    if not len(held):
        return slice(0, len(marked))
    return slice(max(0, int(held[0]) - MARGIN), min(len(marked), int(held[-1]) + 1 + MARGIN))


def _fullest_slice(marked: NDArray[np.bool_]) -> int:
    return int(marked.sum(axis=(1, 2)).argmax())


def _fit_maps(maps: Sequence[Array], largest: int) -> tuple[int, list[dict[str, Any]]]:
    """Take every step-th row and column so that the maps fit; the map of patterns is as fine as possible."""
    step, patterns = _coarsen_maps(maps[:1], 0.5 * largest, 1)
    room = max(0.0, 0.7 * largest - len(patterns[0]["data"]))
    further, others = _coarsen_maps([each[:, ::step, ::step] for each in maps[1:]], room, 1)
    return step, [{**pack, "step": k} for k, packs in ((1, patterns), (further, others)) for pack in packs]


def _coarsen_maps(maps: Sequence[Array], room: float, step: int) -> tuple[int, list[dict[str, str]]]:
    while True:
        cut = [each[:, ::step, ::step] for each in maps]
        if all(each.size <= MOST_ITEMS for each in cut):
            packs = [pack_array(each) for each in cut]
            if sum(len(pack["data"]) for pack in packs) <= room or min(each.shape[2] for each in cut) < 128:
                return step, packs
        step += 1


def grey_range(image: Array) -> tuple[float, float] | None:
    """The values that are black and white; None of bytes, which stay as they are."""
    return central_range(image) if image.dtype != np.uint8 and image.dtype.kind != "b" else None


def _image_data(slices: Array, largest: int, grey: tuple[float, float] | None) -> dict[str, Any]:
    """Every slice as a picture, as large and as good as fits."""
    ends = grey or grey_range(slices)
    longest = max(slices.shape[1:3])
    sides = [side for side in SIDES if side < 2 * longest] or [SIDES[-1]]
    sizes = [(sides[0], 92), *((side, 80) for side in sides)]
    half = slices[len(slices) // 2]
    for side, quality in sizes:
        if len(encode_picture(half, ends, side, quality)) * len(slices) * 4 / 3 <= largest:
            break
    pictures = [encode_picture(each, ends, side, quality) for each in slices]
    return {"type": "image/webp", "slices": [b64encode(each).decode() for each in pictures]}


def _reference_lines(reading: Reading, table: Tally) -> dict[Column, int]:
    """A number for each reference standard, of which its tint and its dots follow; absent ones keep theirs."""
    given = sorted({*reading.case.references, *reading.case.missing_references}, key=lambda column: column.order)
    everything = dict.fromkeys([*given, *(column for column in table.columns if column.role == "reference")])
    return {column: place for place, column in enumerate(everything)}


def _column_data(
    table: Tally, column: Column, colours: Mapping[str, str], lines: Mapping[Column, int]
) -> dict[str, str | bool | int]:
    name, role, line = column.name, column.role, lines.get(column, 0)
    colour = colours.get(f"algorithm {name}" if role == "algorithm" else name, WHITE)
    colour = TINTS[line % len(TINTS)] if role == "reference" else colour
    marked = np.isin(table.patterns[:, table.position(column)], table.labels.marks).any()
    told = {"name": name, "role": role, "session": column.session, "colour": colour}
    return {**told, "empty": not marked, "line": line}


def _layer_data(layer: Layer) -> dict[str, Any]:
    rounded = [None if np.isnan(v) else float(f"{v:.{DIGITS}g}") for v in np.asarray(layer.values, float).tolist()]
    values = [v if v is None or v % 1 else int(v) for v in rounded]
    return {
        "name": layer.name, "title": layer.title, "kind": layer.kind, "map": layer.map, "values": values,
        "most": layer.most,
    }  # fmt: skip


def thumbnail(reading: Reading, layered: LayeredCase, plan: ViewPlan) -> str:
    """A small heatmap of votes over the image, cropped to what was marked."""
    display = Display.of(reading.grid)
    heat = display.orient(layered.heat)
    at = _fullest_slice(heat > 0)
    image = reading.picture[0] if plan.images else None
    ground = None if image is None else display.orient(image)[at]
    return draw_thumbnail(ground, heat[at], max(1, len(layered.table.raters)), plan)


def draw_thumbnail(image: Array | None, heat: Array, most: int, plan: ViewPlan) -> str:
    """A heatmap over an image, as a data URL."""
    rows, columns = square_around(heat > 0)
    ground, cut = None if image is None else image[rows, columns], heat[rows, columns]
    drawn = heat_panel(ground, cut, most, True, 0.75, Scale.of(cut.shape, plan.thumbnail, 1))
    return data_url(encode_picture(drawn, None, plan.thumbnail, 55))


def square_around(marked: NDArray[np.bool_]) -> tuple[slice, slice]:
    """A square around what was marked, with a margin; the whole image where nothing was."""
    if not marked.any():
        return slice(None), slice(None)
    ends = [np.flatnonzero(marked.any(axis=1 - axis))[[0, -1]] for axis in (0, 1)]
    side = max(int(1.5 * max(int(b - a) + 1 for a, b in ends)), max(marked.shape) // 4)
    cuts = []
    for (a, b), length in zip(ends, marked.shape, strict=True):
        start = int(np.clip((a + b + 1 - side) // 2, 0, max(0, length - side)))
        cuts.append(slice(start, min(length, start + side)))
    return cuts[0], cuts[1]


# --- arrays and pictures as text


def pack_array(array: Array) -> dict[str, str]:
    """Whole numbers, slice by slice: each row XOR the row above, deflated. Rows of masks mostly equal the row above."""
    kind = np.min_scalar_type(int(array.max(initial=0)))
    rows = np.ascontiguousarray(array, kind.newbyteorder("<"))
    apart = rows.copy()
    apart[:, 1:] ^= rows[:, :-1]
    return {"type": f"u{kind.itemsize}", "data": b64encode(zlib.compress(apart.tobytes(), 6)).decode()}


def encode_picture(image: Array, ends: tuple[float, float] | None, longest: int, quality: int) -> bytes:
    """One slice as WebP, in colour where it has channels."""
    from PIL import Image

    scale = Scale.of(image.shape[:2], longest, 1)
    if image.ndim == 3:
        image = image[..., :3] if image.shape[2] >= 3 else image[..., 0]
    small = scale.mean(image)
    buffer = io.BytesIO()
    Image.fromarray(as_bytes(small, image.dtype, ends)).save(buffer, "WEBP", quality=quality, method=2)
    return buffer.getvalue()


def data_url(content: bytes) -> str:
    """A picture as a data URL."""
    return f"data:image/webp;base64,{b64encode(content).decode()}"
