"""The layers of the viewer: one map of patterns for all masks of a case, and values by pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..analyses.agree.case import MapOptions, ranking_worth
from ..analyses.fuse.case import CaseMaps, consensus_column
from ..core.columns import Column
from ..core.counting import tally
from ..core.painting import paint
from ..core.tally import Tally
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
        """Number of raters who marked each pixel."""
        return np.asarray(count_votes(self.table)[self.maps[0]])


def layer_case(reading: Reading, fusing: CaseMaps, plan: MapOptions, *, responses: bool = True) -> LayeredCase:
    """Make the joint table of all masks, its map, and all layers.

    Predicted probabilities can reveal as much as the image: they are left out where images are not shown.
    """
    masks, predictions, references = _columns(reading, fusing)
    case, options = reading.case, reading.case.options
    table = tally(
        masks, predictions=predictions, references=references, labels=case.labels, void=options.void,
        foreground=options.foreground, raters="exchangeable" if options.exchangeable else None,
    )  # fmt: skip
    everybody = {**masks, **predictions, **references}
    codes = paint(np.arange(len(table.counts)), everybody, table, void=options.void, foreground=options.foreground)
    maps, layers = [codes], list(_pattern_layers(table))
    for layer, own in (
        *_ranking_layer(reading, plan),
        *_consensus_layers(reading, fusing, table, codes),
        *(_response_layers(reading) if responses else ()),
    ):
        if own is None:
            layers.append(layer)
        else:
            layers.append(Layer(layer.name, layer.title, layer.kind, layer.values, layer.most, len(maps)))
            maps.append(own)
    return LayeredCase(table, tuple(maps), tuple(layers))


def _columns(
    reading: Reading, fusing: CaseMaps
) -> tuple[dict[Column, Array], dict[Column, Array], dict[Column, Array]]:
    """The masks of raters and algorithms, and the reference standards: given ones, then consensus."""
    predictions = {} if reading.case.options.probability else reading.predictions
    consensus = {consensus_column(method): array for method, array in fusing.decided.items()}
    return dict(reading.masks), predictions, reading.references | consensus


def count_votes(table: Tally) -> NDArray[np.int64]:
    """How many raters marked each pattern, in their first reading; without background, how many rated it."""
    return table.marked if table.labels.background is not None else table.rated


def _pattern_layers(table: Tally) -> Iterator[Layer]:
    raters = len(table.raters)
    if table.labels.background is not None:
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
        own = paint(np.arange(len(table.counts)), ranks, table)
        yield Layer("ranking", "Severity (ranking heatmap)", "value", np.asarray(worth), top), own


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
    low, high = min(0.0, float(values.min(initial=0))), max(most, 1e-12)
    shades = np.linspace(low, high, SHADES)
    own = np.rint((np.clip(values, low, high) - low) / (high - low) * (SHADES - 1)).astype(np.uint8)
    return Layer(name, title, "probability", shades, high), own
