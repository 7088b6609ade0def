"""Probability maps and samples of one case, as forecasts of what raters mark.

Maps are counted by pattern and value, and scored against every rater, the share of the raters who marked (the vote
share), every consensus and every given reference standard. Samples are compared with the raters' masks. Beside both
stands what the raters themselves reach against the same held-out rater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.columns import Column
from ...core.labels import VOID, Labels
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.probabilistic.binning import BinnedForecasts, ReliabilityDiagram
from ...evaluation.probabilistic.calibration import brier, expected_calibration_error
from ...evaluation.probabilistic.curvas import curvas_calibration_error, curvas_dice
from ...evaluation.probabilistic.forecasts import REGIONS, Region, as_responses
from ...evaluation.probabilistic.held_out import compare_held_out
from ...evaluation.probabilistic.samples import SampleDistances, energy_distance, sample_distances
from ...evaluation.probabilistic.soft_overlap import continuous_dice, soft_dice
from ...evaluation.probabilistic.volumes import Volumes, crps_volume, curvas_crps
from ...evaluation.responses import Responses
from ...study.mask_values import about
from ...study.probabilities import scale_to_probability, why_no_probability
from .case_scores import ABSENT, EVERYBODY, Key, Values, rater_columns
from .marks import Array, CaseMarks, LabelMarks, pack
from .probability_maps import CountedMaps, count_maps, on_disk

SHARE = Column("vote share", "reference")
"""The share of the raters of a pixel who marked it, as a reference standard."""
OTHERS, ANOTHER = Column("vote share of the others", "algorithm"), Column("another rater", "algorithm")
OTHER_MASKS = Column("masks of the others", "algorithm")
"""What the raters reach: the other raters together as a forecast or as samples, and one of them alone."""
MOST_HELD_OUT = 20
"""With more raters, what they reach themselves is not measured: every one would be compared with every other."""

MAP_SCORES = ("brier", "brier_union", "expected_calibration_error", "expected_calibration_error_union")
SHARE_SCORES = ("soft_dice", "continuous_dice")
SAMPLE_SCORES = (
    "energy_distance", "energy_distance_unbiased_samples", "energy_distance_unbiased", "matched_iou", "d_max",
    "sample_diversity", "rater_diversity",
)  # fmt: skip
VOLUME, CURVAS = "crps_volume", "curvas_crps"
CURVAS_ERROR, CURVAS_DICE = "curvas_calibration_error", "curvas_dice"


@dataclass(frozen=True)
class LabelForecasts:
    """What was measured of one label of one case."""

    tally: Tally
    """Raters, given references and consensuses."""
    scores: Mapping[Key, Values]
    """Of algorithms, and of what raters reach themselves."""
    diagrams: Mapping[tuple[Column, Column, Region], ReliabilityDiagram]
    """By algorithm, reference and region."""
    distances: Mapping[Column, SampleDistances]
    """Of the samples of each algorithm and the raters."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why the maps of an algorithm are no probabilities, by its name."""
    only_bytes: frozenset[str] = frozenset()
    """Algorithms whose values are all 0 and 1 of larger limits."""
    axes: int = 2
    """Of the image."""
    packed: bytes | None = None
    """The probabilities by pattern of every algorithm, where they are to be recalibrated."""


CaseForecasts = Mapping[str, LabelForecasts]
"""By label; ``""`` is all labels but background together."""


def score_case_forecasts(whole: CaseMarks, counted: CountedMaps | None) -> CaseForecasts:
    """The forecasts of a case; of several labels, each where there are maps of each, or samples."""
    found = {name: _score_label(label, forecasts) for name, label, forecasts in _forecasts_by_label(whole, counted)}
    if whole.plan.like != "curvas" or counted is None or on_disk(whole.reading).is_large:
        return found
    refused = {name for label in found.values() for name in label.refused}
    by_label: dict[str, dict[Key, Values]] = {}
    for name, key, values in _likeliest_scores(whole.without_predictions(), refused):
        _add(by_label.setdefault(name, {}), [(key, values)])
    for name, more in by_label.items():
        if name in found:
            scores = dict(found[name].scores)
            _add(scores, more.items())
            found[name] = replace(found[name], scores=scores)
        else:
            together = whole.without_predictions().together.joint
            found[name] = LabelForecasts(together, more, {}, {}, axes=len(whole.reading.grid.shape))
    return found


def case_forecasts(whole: CaseMarks, counted: CountedMaps) -> dict[str, Mapping[Column, Responses]]:
    """The probabilities of every algorithm by pattern, by label."""
    return {name: forecasts.maps for name, _, forecasts in _forecasts_by_label(whole, counted)}


def _forecasts_by_label(
    whole: CaseMarks, counted: CountedMaps | None
) -> Iterator[tuple[str, LabelMarks, _Forecasts]]:  # fmt: skip
    whole = whole.without_predictions()
    labels, options = whole.table.labels, whole.case.options
    reading = on_disk(whole.reading)
    outputs = reading.outputs if counted is not None else {}
    by_label = {c: output.by_label for c, output in outputs.items() if output.by_label}
    separate = len(labels.marks) > 1 and not options.foreground and (by_label or whole.case.samples)
    if not separate:
        label = whole.together if counted is None else counted.label
        maps = {} if counted is None else counted.judged
        raw = {c: output.response for c, output in outputs.items()}
        yield "", label, _as_forecasts(whole, maps, raw)
        return
    united = {c.name: "it has one map of all labels, and not one of each" for c in outputs if c not in by_label}
    for code in labels.marks:
        value = labels.values[code]
        label = LabelMarks(whole, value)
        nowhere = np.zeros(reading.grid.shape)
        own = {column: maps.get(value, nowhere) for column, maps in by_label.items()}
        yield labels.names[code], label, _Forecasts(count_maps(label, own).judged, united)


@dataclass(frozen=True)
class _Forecasts:
    """Probabilities by pattern and value, and why other maps are none."""

    maps: Mapping[Column, Responses] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    only_bytes: frozenset[str] = frozenset()


def _as_forecasts(whole: CaseMarks, maps: Mapping[Column, Responses], raw: Mapping[Column, Array]) -> _Forecasts:
    limits = whole.case.options.limits
    refused = {c.name: why for c in maps if (why := why_no_probability(raw[c], limits))}
    kept = {c: r for c, r in maps.items() if c.name not in refused}
    few = frozenset(c.name for c, r in kept.items() if limits and limits[1] > 1 and r.levels.max(initial=0) <= 1)
    scaled = {c: replace(r, levels=scale_to_probability(r.levels, limits)) for c, r in kept.items()}
    return _Forecasts(scaled, refused, few)


def _score_label(label: LabelMarks, forecasts: _Forecasts) -> LabelForecasts:
    whole, joint = label.whole, label.joint
    case = whole.case
    scores: dict[Key, Values] = {}
    diagrams: dict[tuple[Column, Column, Region], ReliabilityDiagram] = {}
    for column, responses in forecasts.maps.items():
        own: dict[tuple[Column, Region], ReliabilityDiagram] = {}
        for (reference, name), value in score_map(responses, joint, own).items():
            scores.setdefault((column, reference), {})[name] = value
        diagrams |= {(column, *key): diagram for key, diagram in own.items()}
    distances = {c: _compare_samples(label, c) for c in case.samples} if _has_samples(label) else {}
    sampled = {column: _volumes_of_samples(label, column) for column in distances}
    mapped = {column: _volumes_of_map(r, joint) for column, r in forecasts.maps.items()}
    _add(scores, _volume_scores({c: v for c, v in mapped.items() if c not in case.missing_samples} | sampled))
    if whole.plan.like == "curvas":
        _add(scores, _curvas_scores({**sampled, **mapped}))
    _add(scores, _sample_scores(distances))
    _add(scores, _reach(joint, forecasts.maps, _among_raters(label, distances)))
    _add(scores, _missing_scores(label, scores))
    axes = len(whole.reading.grid.shape)
    packed = pack(dict(forecasts.maps)) if forecasts.maps and whole.plan.recalibrate else None
    return LabelForecasts(joint, scores, diagrams, distances, forecasts.refused, forecasts.only_bytes, axes, packed)


def _add(scores: dict[Key, Values], more: Iterable[tuple[Key, Values]]) -> None:
    for key, values in more:
        scores[key] = {**scores.get(key, {}), **values}


# -- maps ----------------------------------------------------------------------------------------------


def score_map(
    responses: Responses, joint: Tally, diagrams: dict[tuple[Column, Region], ReliabilityDiagram] | None = None
) -> dict[tuple[Column, str], float]:
    """The scores of a map by reference standard and statistic, without volumes; diagrams are added to those given."""
    found: dict[tuple[Column, str], float] = {}
    binned = BinnedForecasts.of_responses(responses)
    for reference in [*rater_columns(joint), SHARE, *joint.role("reference")]:
        values = _map_scores(binned, reference, {} if diagrams is None else diagrams)
        found |= {(reference, name): value for name, value in values.items()}
    return found | {(SHARE, "soft_dice"): soft_dice(responses), (SHARE, "continuous_dice"): continuous_dice(responses)}


def _map_scores(
    binned: BinnedForecasts, reference: Column, diagrams: dict[tuple[Column, Region], ReliabilityDiagram]
) -> Values:
    """The scores of a map against one reference standard; where it is absent, why there are none."""
    values: Values = {}
    for region in REGIONS:
        diagram = binned.against("share" if reference == SHARE else reference, region)
        diagrams[reference, region] = diagram
        end = "" if region == "image" else f"_{region}"
        values[f"brier{end}"] = diagram.brier
        values[f"expected_calibration_error{end}"] = diagram.expected_calibration_error
    if reference != SHARE and not _is_there(binned.tally, reference):
        return dict.fromkeys(values, Undefined(ABSENT[reference.role]))
    return values


def _is_there(table: Tally, column: Column) -> bool:
    return bool((table.patterns[:, table.position(column)] != VOID).any())


# -- samples -------------------------------------------------------------------------------------------


def _has_samples(label: LabelMarks) -> bool:
    return bool(label.whole.case.samples) and not on_disk(label.whole.reading).is_large


def _marks(label: LabelMarks, column: Column) -> tuple[dict[str, Array], dict[str, Array]]:
    """The masks of the samples and of the raters, hidden where an algorithm is not judged."""
    hidden = label.whole.not_judged(column)
    drawn = {name: _seen(label, mask, hidden) for name, mask in label.whole.reading.samples[column].items()}
    return drawn, _raters_marks(label, hidden)


def _raters_marks(label: LabelMarks, hidden: Array) -> dict[str, Array]:
    masks = label.whole.reading.masks
    return {c.name: _seen(label, masks[c], hidden) for c in rater_columns(label.base) if c in masks}


def _seen(label: LabelMarks, mask: Array, hidden: Array) -> Array:
    marked = label.whole.binary(mask, label.value)
    return np.ma.array(marked, mask=hidden | np.ma.getmaskarray(marked)).astype(np.uint8)


def _compare_samples(label: LabelMarks, column: Column) -> SampleDistances:
    drawn, raters = _marks(label, column)
    with about(f"case {label.whole.case.name}, samples of {column}"):
        return sample_distances(drawn, raters, labels=Labels((0, 1)))


def _sample_scores(distances: Mapping[Column, SampleDistances]) -> Iterator[tuple[Key, Values]]:
    """Against each rater alone; scores against all of them are computed when the numbers of samples are known."""
    for column, found in distances.items():
        for rater in found.raters:
            name = "energy_distance_unbiased_samples"
            alone = found.select(raters=[rater])
            yield (column, Column(rater, "rater")), {name: energy_distance(alone, unbiased="samples")}


# -- volumes -------------------------------------------------------------------------------------------


ByRater = Mapping[Column, tuple[Volumes, Volumes] | None]
"""The volumes of a forecast, and of a rater, on the pixels that both speak of; None where there are none.

Under ``EVERYBODY`` the forecast of all of its pixels, and the volumes of all raters there.
"""


def _volumes_of_samples(label: LabelMarks, column: Column) -> ByRater:
    drawn, raters = _marks(label, column)
    item = _item(label.joint)

    def measure(masks: Iterable[Array], seen: Array | bool = True) -> Volumes:
        return Volumes(item * np.array([float((np.ma.filled(mask, 0) * seen).sum()) for mask in masks]))

    found: dict[Column, tuple[Volumes, Volumes] | None] = {}
    for name, mask in raters.items():
        rated = ~np.ma.getmaskarray(mask)
        found[Column(name, "rater")] = (measure(drawn.values(), rated), measure([mask])) if rated.any() else None
    found[EVERYBODY] = (measure(drawn.values()), measure(raters.values())) if raters else None
    return found


def _volumes_of_map(responses: Responses, joint: Tally) -> ByRater:
    item, counts = _item(joint), responses.counts

    def forecast(keep: Array) -> Volumes:
        sizes = np.bincount(responses.level[keep], counts[keep], len(responses.levels))
        return Volumes.of_counts(responses.levels, sizes, item=item)

    table = responses.tally
    there = [c for c in rater_columns(joint) if _is_there(joint, c)]
    codes = {c: table.patterns[responses.pattern, table.position(c)] for c in there}
    own = {c: item * float(counts[code == 1].sum()) for c, code in codes.items()}
    found: dict[Column, tuple[Volumes, Volumes] | None] = {
        c: (forecast(code != VOID), Volumes(np.array([own[c]]))) if (code != VOID).any() else None
        for c, code in codes.items()
    }
    every = np.ones(len(counts), bool)
    found[EVERYBODY] = (forecast(every), Volumes(np.array(list(own.values())))) if own and len(counts) else None
    return found


def _item(table: Tally) -> float:
    """The area or volume of a pixel, in ml where it is one; 1 where it is not known."""
    if table.unit is None:
        return 1.0
    return table.unit.size / 1000 if table.unit.name == "mm³" else table.unit.size


def _volume_scores(forecasts: Mapping[Column, ByRater]) -> Iterator[tuple[Key, Values]]:
    for column, by_rater in forecasts.items():
        for rater, volumes in by_rater.items():
            if rater != EVERYBODY:
                yield (column, rater), {VOLUME: Undefined("not_rated") if volumes is None else crps_volume(*volumes)}


def _curvas_scores(forecasts: Mapping[Column, ByRater]) -> Iterator[tuple[Key, Values]]:
    """The challenge's score takes the mean of the forecast, Σ p of a map, against the volumes of all raters."""
    for column, by_rater in forecasts.items():
        volumes = by_rater[EVERYBODY]
        yield (column, EVERYBODY), {CURVAS: Undefined("not_rated") if volumes is None else curvas_crps(*volumes)}


def _likeliest_scores(whole: CaseMarks, refused: Collection[str]) -> Iterator[tuple[str, Key, Values]]:
    """CURVAS's scores of the likeliest label: Dice by label, and the calibration error of all labels at once."""
    case, labels = whole.case, whole.table.labels
    names = {labels.values[code]: labels.names[code] for code in labels.marks}
    several = len(names) > 1 and not case.options.foreground
    for column, output in whole.reading.outputs.items():
        if column.name in refused or (several and output.by_label is None):
            continue
        hidden = whole.not_judged(column)
        maps = {1: scale_to_probability(output.response, case.options.limits)}
        masks = _raters_marks(whole.together, hidden)
        if several:
            nowhere = np.zeros(whole.reading.grid.shape)
            maps = dict.fromkeys(names, nowhere) | dict(output.by_label or {})
            each = {value: _raters_marks(LabelMarks(whole, value), hidden) for value in names}
            masks = {r: np.ma.sum([each[v][r].astype(np.int64) * v for v in names], axis=0) for r in masks}
        with about(f"case {case.name}, {column}"):
            yield "", (column, EVERYBODY), {CURVAS_ERROR: curvas_calibration_error(maps, masks)}
            for value, dice in curvas_dice(maps, masks).items():
                yield names[value] if several else "", (column, EVERYBODY), {CURVAS_DICE: dice}
    for column in case.missing:
        none = Undefined("no_prediction")
        yield "", (column, EVERYBODY), {CURVAS_ERROR: none}
        for name in names.values() if several else ("",):
            yield name, (column, EVERYBODY), {CURVAS_DICE: none}


# -- what the raters reach -------------------------------------------------------------------------------


def _among_raters(label: LabelMarks, distances: Mapping[Column, SampleDistances]) -> SampleDistances | None:
    """Distances that hold those between raters, also where an algorithm is not judged; None without samples."""
    if not distances:
        return None
    areas = label.whole.reading.training_areas
    everywhere = next((found for column, found in distances.items() if column not in areas), None)
    if everywhere is not None:
        return everywhere
    raters = _raters_marks(label, label.whole.not_judged(OTHER_MASKS))
    return sample_distances(raters, raters, labels=Labels((0, 1)))


def _reach(
    joint: Tally, maps: Mapping[Column, Responses], distances: SampleDistances | None
) -> Iterator[tuple[Key, Values]]:
    """Each rater held out in turn: the others together, and another rater alone."""
    there = [c for c in rater_columns(joint) if _is_there(joint, c)]
    if not 2 <= len(there) <= MOST_HELD_OUT:
        return
    raters = {c.name: c for c in there}
    found: dict[str, Any] = {}
    if maps:
        # what raters reach does not depend on the map beside them
        nothing = as_responses(np.zeros(len(joint.counts)), joint)
        for region in REGIONS:
            end = "" if region == "image" else f"_{region}"
            found[f"brier{end}"] = compare_held_out(brier, nothing, region=region)
            found[f"expected_calibration_error{end}"] = compare_held_out(
                expected_calibration_error, nothing, region=region
            )
    rated = (joint.patterns[:, [joint.position(c) for c in there]] != VOID).all(axis=1)
    if (maps or distances is not None) and rated.any():
        # volumes compare on the pixels that all of them rated
        shared = replace(joint, patterns=joint.patterns[rated], counts=joint.counts[rated])
        volumes = Volumes.of_masks(shared, there, item=_item(joint))
        found[VOLUME] = compare_held_out(crps_volume, volumes, shared, item=_item(joint), unbiased=False)
    for name, held in found.items():
        for i, rater in enumerate(held.raters):
            yield (OTHERS, raters[rater]), {name: _known(held.others[i])}
            yield (ANOTHER, raters[rater]), {name: _known(held.another[i])}
    if distances is not None:
        held = compare_held_out(energy_distance, distances)
        for i, rater in enumerate(held.raters):
            yield (OTHER_MASKS, raters[rater]), {"energy_distance_unbiased_samples": _known(held.others[i])}


def _known(value: float) -> float:
    return Undefined("not_rated") if np.isnan(value) else float(value)


# -- what is missing -------------------------------------------------------------------------------------


def _missing_scores(label: LabelMarks, scores: Mapping[Key, Values]) -> Iterator[tuple[Key, Values]]:
    """Algorithms without a map, or without samples, have no scores here, and it is said why."""
    case, joint = label.whole.case, label.joint
    none = Undefined("no_prediction")
    references = [*rater_columns(joint), SHARE, *joint.role("reference")]
    for column in case.missing if case.options.probability else ():
        for reference in references:
            own = SHARE_SCORES if reference == SHARE else (VOLUME,) if reference.role == "rater" else ()
            absent = reference != SHARE and not _is_there(joint, reference)
            gone = Undefined(ABSENT[reference.role]) if absent else none
            yield (column, reference), dict.fromkeys((*MAP_SCORES, *own), gone)
        if label.whole.plan.like == "curvas":
            yield (column, EVERYBODY), {CURVAS: none}
    for column in case.missing_samples:
        yield (column, EVERYBODY), dict.fromkeys(SAMPLE_SCORES, none)
        for rater in rater_columns(joint):
            yield (column, rater), {"energy_distance_unbiased_samples": none, VOLUME: none}
