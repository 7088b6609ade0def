"""One case in ``fuse``: every consensus, its maps and pictures, and one table of raters and consensuses together."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths

from ...agreement import label_tallies, mean_over_labels
from ...complexity import STATISTICS, Complexity, case_complexity
from ...complexity.descriptors import complexity_beside
from ...core.columns import Column
from ...core.counting import tally
from ...core.errors import CallError
from ...core.runs import LabelRuns
from ...core.tally import Tally, find_rows
from ...core.undefined import Note, Undefined, code, code_of, or_undefined
from ...fusion import Consensus, balanced_accuracy, estimate, gordon_f, soft_accuracy
from ...fusion.registry import estimator, options_of
from ...fusion.result import first_readings
from ...fusion.vote import OpenItems, Vote
from ...io import Location, probe, safe_name, write_map, write_picture
from ...io.files import suffix_of
from ...io.results import fingerprint, link_or_copy, load_checkpoint, save_checkpoint
from ...study import Case
from ...study.adjudicated import METHOD
from ...study.case import Reading
from ...study.consensus import FirstReadings
from ...study.options import PATHS
from ..agree.case import draw_map
from ..agree.distances import CaseDistances, by_value, check_tolerance, measure_distances
from ..agree.distances import from_json as distances_from_json
from ..agree.distances import to_json as distances_to_json
from ..agree.lesion_scores import ReferenceLesions, score_reference_lesions
from ..agree.references import count_references, label_values
from ..large_maps import LargeMaps

SOFT = {"accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures of a rater against a probability."""

SAME_SUFFIX = (".png", ".tif", ".tiff", ".npy", ".nii", ".nii.gz", ".nrrd")
"""Formats that a consensus can be written in; MetaImage is .mha; others become PNG, or NPY where there is no file."""

FAINT = 0.05
"""Probabilities below it do not colour a picture: those of background are never quite 0."""

KEPT_FORMAT = 4
"""Of finished cases; those in an earlier one are computed again."""
LONG_TEXT = 1 << 20
"""Characters of a table from which on it is packed."""

Array = NDArray[Any]


@dataclass(frozen=True)
class FusePlan:
    """What to estimate, how, and where to write it."""

    methods: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    folder: Path | None
    """For maps; none are written without it."""
    pictures: bool = True
    earlier: Path | None = None
    """Results that these are to replace: what is the same is taken over."""
    pooled: Mapping[str, Consensus] = field(default_factory=dict)
    """Estimates from the whole study's table, where rates are pooled; painted case by case."""
    pooled_cut: Mapping[str, Consensus] = field(default_factory=dict)
    """The same from the modified background of every case."""
    distances: bool = True
    """Whether to measure the distances between raters and consensuses."""
    tolerance: float | None = None
    """Of surface Dice; by default from the raters' own distances."""
    lesions: bool = True
    """Whether to match lesions with those of given references."""
    large_maps: LargeMaps = "same"
    """Format of maps that are written by tile."""

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)

    def options_of(self, method: str) -> dict[str, Any]:
        """What an estimator is called with."""
        return options_of(method, self.options)


@dataclass(frozen=True)
class Convergence:
    """How one method ended for one case."""

    method: str
    ended: str
    iterations: int
    notes: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Raters whom the method left out of the consensus."""
    tied: int = 0
    """Of several labels, items that two of them share."""
    gaps: int = 0
    """Of several labels, items that none of them wins."""

    @property
    def note(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)


@dataclass(frozen=True)
class CaseFusion:
    """What is kept of a case."""

    tally: Tally
    """Raters and, as references, the hard decisions of every method."""
    convergence: tuple[Convergence, ...]
    soft: tuple[tuple[str, str, str, float], ...]
    """Method, rater, statistic, value against the probability."""
    regions: tuple[tuple[str, float, float], ...]
    """Method, Dice and changed share between the whole image and the modified background."""
    complexity: Complexity
    """Undefined where there are several labels."""
    complexity_by_label: Mapping[str, Complexity] = field(default_factory=dict)
    """Of each of several labels against the rest."""
    files: tuple[Path, ...] = ()
    references: Mapping[str, Tally] = field(default_factory=dict)
    """Raters, consensuses and given references, by label; empty without references."""
    axes: int = 2
    """Of its masks."""
    distances: CaseDistances | None = None
    """Between raters, consensuses (as algorithms) and given references; None where they are not measured."""
    lesions: ReferenceLesions = field(default_factory=dict)
    """Scores of raters and consensuses (as algorithms) against given references, by label."""
    left_out: str = ""
    """What was not measured because the case is too large."""
    without_image: str = ""
    """Why pictures lack an image that was to be had."""


@dataclass(frozen=True)
class CaseMaps:
    """What was made of a case: what is kept of it, the estimates, and their hard and soft maps."""

    kept: CaseFusion
    reading: Reading
    """The masks, which outside the region hold nothing that they do not hold inside."""
    estimates: Mapping[str, Consensus]
    maps: Mapping[str, tuple[Array, Array]]
    decided: Mapping[str, Array]
    """The hard maps in the labels of the masks."""


def on_modified_background(method: str) -> str:
    """What a method made of the modified background is called in tables."""
    return f"{method} on the modified background"


def consensus_column(method: str) -> Column:
    """Where the decisions of a method stand in a table; a rater may bear the same name."""
    return Column(method, "reference")


def fuse_case(case: Case, plan: FusePlan) -> CaseFusion:
    """One case, or what an earlier run with the same settings found for the same masks."""
    reading = case.read(by_tile=True)
    if reading.is_large:
        from .large import fuse_large_case

        return fuse_large_case(reading, plan)
    if plan.folder is None or reading.counts is not None:
        return estimate_case(reading, plan).kept
    files = [path for method in plan.methods for path in map_files(case, plan, method)]
    files += [sorted_file(case, plan, m) for m in plan.methods if _has_sorted(case, plan, m)]
    names = [path.relative_to(plan.folder).as_posix() for path in files]
    ledger = f"cases/{safe_name(case.name)}.json"
    written = (*files, plan.folder / ledger)
    digest = _fingerprint(reading, plan)
    for place in filter(None, (plan.folder, plan.earlier)):
        before = load_checkpoint(place, ledger, digest, names)
        if before is not None:
            for name in (*names, ledger) if place != plan.folder else ():
                link_or_copy(place / name, plan.folder / name)
            return from_json(before, written)
    made = estimate_case(reading, plan)
    _write_all(plan, made)
    kept = replace(made.kept, without_image=reading.picture[1] if plan.pictures else "")
    save_checkpoint(plan.folder, ledger, digest, names, to_json(kept))
    return replace(kept, files=written)


def estimate_case(reading: Reading, plan: FusePlan) -> CaseMaps:
    """A case whose masks are in memory; of one without pixels, what is counted."""
    if reading.counts is not None:
        plan = replace(plan, distances=False, lesions=False)
    readings = FirstReadings.of(reading)
    table = readings.table
    estimates = {
        method: plan.pooled[method] if method in plan.pooled else readings.estimate(method, plan.options_of(method))
        for method in plan.methods
    }
    maps = {method: readings.paint(estimated) for method, estimated in estimates.items()}
    decided = {method: hard for method, (hard, _) in maps.items()}
    references = count_references(reading, table, decided)
    named = label_values(reading, table) if references else None
    lesions: ReferenceLesions = {}
    if plan.lesions and references:
        lesions = score_reference_lesions(reading, table, by_value(named or {}), decided)
    kept = CaseFusion(
        count_joint(readings, decided), *of_table(readings, estimates, plan), references=references,
        axes=len(reading.grid.shape),
        distances=measure_distances(reading, table, decided, named) if plan.distances else None, lesions=lesions,
    )  # fmt: skip
    return CaseMaps(kept, readings.inside, estimates, maps, decided)


def of_table(
    readings: FirstReadings, estimates: Mapping[str, Consensus], plan: FusePlan
) -> tuple[
    tuple[Convergence, ...],
    tuple[tuple[str, str, str, float], ...],
    tuple[tuple[str, float, float], ...],
    Complexity,
    dict[str, Complexity],
]:
    """What of a case is read off its table alone: convergence, soft measures, regions, complexity."""
    table, convergence = readings.table, []
    for method, estimated in estimates.items():
        rounds = getattr(estimated, "iterations", getattr(estimated, "rounds", 0))
        left_out = tuple(name for name in dropped_raters(estimated) if name in table.rater_names)
        items, notes = getattr(estimated, "items", OpenItems()), estimated.notes
        ended = (method, estimated.convergence, int(rounds), notes, left_out, items.tied, items.gaps)
        convergence.append(Convergence(*ended))
    soft = tuple(row for method, estimated in estimates.items() for row in _soft_measures(table, method, estimated))
    regions = tuple(row for method in plan.methods for row in _regions(table, method, plan, estimates))
    return tuple(convergence), soft, regions, *_complexity(readings, estimates.get("staple"))


def dropped_raters(estimated: Consensus) -> tuple[str, ...]:
    """The raters whom a method left out: outliers of ``excl``, those dropped by ``simple``."""
    return estimated.excluded if isinstance(estimated, Vote) else getattr(estimated, "dropped", ())


def _fingerprint(reading: Reading, plan: FusePlan) -> str:
    """Of everything that the maps and pictures of a case depend on: the pixels, not the files' names and times."""
    case = reading.case
    who = (tuple(case.masks), case.absent, case.structures, suffixes(case), case.name)
    pooled = (_digest(plan.pooled), _digest(plan.pooled_cut))
    # visible in the masks themselves, or of no effect
    elsewhere = (*PATHS, "exclude", "exclude_rater", "session", "primary", "margin", "trained_on")
    options = [getattr(case.options, option.name) for option in fields(case.options) if option.name not in elsewhere]
    asked = (plan.methods, plan.options, plan.pictures, plan.distances, plan.lesions)
    decisions = repr(case.decisions) if METHOD in plan.methods else ""
    settings = (manytruths.__version__, KEPT_FORMAT, *asked, options, who, pooled, decisions)
    content = [reading.grid, reading.region, *reading.masks.values(), *reading.references.values()]
    return fingerprint(settings, [*content, *(reading.picture if plan.pictures else ())])


def _digest(pooled: Mapping[str, Consensus]) -> list[tuple[str, tuple[str, ...], list[bytes]]]:
    """What of an estimate is painted, and said."""
    digest = []
    for name, estimated in pooled.items():
        assert estimated.tally is not None
        parts = (estimated.tally.patterns, estimated.values, estimated.probability)
        digest.append((name, estimated.notes, [np.asarray(part).tobytes() for part in parts]))
    return digest


def map_files(case: Case, plan: FusePlan, method: str) -> list[Path]:
    """The hard consensus, the probability and, with pictures, the one to look at."""
    assert plan.folder is not None
    name, folder = safe_name(case.name), method.replace(":", "-")
    hard, soft = suffixes(case)
    kinds = {"consensus": hard, "probability": soft} | ({"pictures": ".png"} if plan.pictures else {})
    return [plan.folder / kind / folder / f"{name}{suffix}" for kind, suffix in kinds.items()]


def sorted_file(case: Case, plan: FusePlan, method: str) -> Path:
    """The raters' masks sorted by how they do against STAPLE."""
    assert plan.folder is not None
    return plan.folder / "sorted" / method.replace(":", "-") / f"{safe_name(case.name)}.png"


def _has_sorted(case: Case, plan: FusePlan, method: str) -> bool:
    return plan.pictures and method == "staple" and not plan.pooled and not case.options.exchangeable


def suffixes(case: Case) -> tuple[str, str]:
    """The suffixes of the hard map (that of the masks) and of the probability (TIFF, NIfTI or MetaImage)."""
    source = next(iter(next(iter(case.masks.values())).values()))
    suffix = suffix_of(source.path.name) if isinstance(source, Location) else ".npy"
    if isinstance(source, Location) and source.member is not None:
        suffix = ".npy"
    if suffix in (".mha", ".mhd"):
        return ".mha", ".mha"
    # PNG holds no volumes, of which Zarr is the only format that is not written here
    volume = suffix == ".zarr" and isinstance(source, Location) and len(probe(source).shape) == 3
    hard = suffix if suffix in SAME_SUFFIX else ".tif" if volume else ".png"
    return hard, ".nii.gz" if suffix.startswith(".nii") else ".tif"


def _write_all(plan: FusePlan, made: CaseMaps) -> None:
    reading = made.reading
    for method, (hard, chance) in made.maps.items():
        exact, soft, *shown = map_files(reading.case, plan, method)
        write_map(exact, np.ma.getdata(hard), reading.grid)
        write_map(soft, chance, reading.grid)
        if shown:
            # of several labels, how sure background is is nothing to show
            several = len(made.estimates[method].labels) > 2
            faint = (chance < FAINT) | ((hard <= 0) & several)
            options = {"most": 1.0, "discrete": False, "subtitle": method, "caption": "probability"}
            draw_map(shown[0], reading, np.where(faint, 0, chance), **options)
    for method in [m for m in plan.methods if _has_sorted(reading.case, plan, m)]:
        draw_sorted(sorted_file(reading.case, plan, method), reading, method, made.kept.soft)


def rater_table(case: Case) -> Tally:
    """The table that a case's consensus is estimated from."""
    return FirstReadings.of(case.read(by_tile=True)).table


def _complexity(readings: FirstReadings, known: Consensus | None) -> tuple[Complexity, dict[str, Complexity]]:
    """Of the image, or of the part of it that counts, and of each of several labels; a union lacks the background."""
    reading, whole = readings.reading, readings.table
    if whole.region not in ("whole", "mask"):
        whole = first_readings(reading.tally("whole", judged=False))
    if whole.labels.background is not None and not whole.labels.several:
        return complexity_beside(whole, known), {}
    none = Undefined("several_labels" if whole.labels.several else "no_background")
    unknown = Complexity(none, none, none, none, none, raters=len(reading.masks), items=whole.items)
    labels = label_tallies(whole) if whole.labels.several else {}
    return unknown, {name: case_complexity(table) for name, table in labels.items()}


def count_joint(readings: FirstReadings, hard: Mapping[str, Array | LabelRuns]) -> Tally:
    """Masks and consensuses in one table: everything about how they differ is read off it."""
    reading, region, table = readings.inside, readings.region, readings.table
    case, options = reading.case, reading.case.options
    joint = tally(
        {**reading.masks, **dict.fromkeys(case.absent)},
        raters="exchangeable" if options.exchangeable else None,
        references={consensus_column(method): array for method, array in hard.items()},
        labels=case.labels,
        region="whole" if isinstance(region, str) else region,
        unit=reading.grid.item_size,
        void=options.void,
        foreground=options.foreground,
        counts=reading.counts,
    )
    try:
        return joint.restrict(table.region) if table.region in ("union", "modified_background") else joint
    except CallError:
        # which background is near depends on where the pixels lie, once second readings part it
        return joint


def _soft_measures(table: Tally, method: str, estimated: Consensus) -> list[tuple[str, str, str, float]]:
    """Gordon's measures of every rater, where the probability is one a pattern of this very table, and of one label."""
    if estimated.tally is None or table.exchangeable or estimated.tally is not table or table.labels.background is None:
        return []
    if table.labels.several:
        return []  # they judge a mark against its probability
    return [
        (method, rater, name, or_undefined(value, "rates_unknown"))
        for name, measure in SOFT.items()
        for rater, value in zip(table.rater_names, measure(table, estimated).tolist(), strict=True)
    ]


def _regions(
    table: Tally, method: str, plan: FusePlan, estimates: Mapping[str, Consensus]
) -> list[tuple[str, float, float]]:
    """How far a method that reads the table moves when the background is cut to the size of the union."""
    if table.region != "whole" or estimator(method)[0].spatial or len(plan.pooled_cut) < len(plan.pooled):
        return []
    if method in plan.pooled:
        both = [plan.pooled[method], plan.pooled_cut[method]]
    else:
        cut, own = table.restrict("modified_background"), estimates[method]
        # where there is less background than marks, nothing is cut
        both = [own, own if cut.items == table.items else estimate(cut, method, **plan.options_of(method))]
    a, b = (_values(estimated, table) for estimated in both)
    changed, labels = float(table.counts[a != b].sum()), table.labels
    overlaps = [_overlap(table, a == value, b == value) for value in (labels.values[code] for code in labels.marks)]
    overlap = overlaps[0] if len(overlaps) == 1 else mean_over_labels(overlaps)
    return [(method, overlap, changed / table.items if table.items else 0.0)]


def _overlap(table: Tally, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Dice of what two consensuses mark."""
    size = float(table.counts @ (a.astype(np.int64) + b))
    return 1 - float(table.counts[a != b].sum()) / size if size else Undefined("both_empty")


def _values(estimated: Consensus, table: Tally) -> NDArray[np.int64]:
    """What a consensus gives each pattern of a table that has all of its patterns, and perhaps more."""
    assert estimated.tally is not None
    where = find_rows(estimated.tally, table.relabel(estimated.tally.labels).patterns)
    values = np.asarray(estimated.values)
    return np.where(where < 0, 0, values[where]) if len(values) else np.zeros(len(where), np.int64)


def draw_sorted(path: Path, reading: Reading, method: str, soft: Iterable[tuple[str, str, str, float]]) -> None:
    """Gordon's Fig. 7: the raters' masks from the best to the worst, by each measure."""
    from ...charts import sorted_masks

    scores: dict[str, dict[str, float]] = {}
    for of, rater, measure, value in soft:
        if of == method:
            scores.setdefault(measure.replace("_", " "), {})[rater] = float(value)
    masks: dict[str, Array] = {}
    for column in sorted(reading.masks, key=lambda c: c.order):
        masks.setdefault(column.name, reading.masks[column])
    scores = scores or {"accuracy, which is undefined here": {}}
    titles = {"title": reading.case.name, "subtitle": f"raters against {method}, the best first"}
    drawn = sorted_masks(reading.picture[0], masks, scores, spacing=reading.grid.spacing, **titles)
    write_picture(path, drawn)


def to_json(result: CaseFusion) -> dict[str, Any]:
    """The case as JSON: numbers that are undefined as their code and detail."""
    return {
        "tally": _store_table(result.tally),
        "convergence": [{**vars(e), "notes": [[code_of(note), note] for note in e.notes]} for e in result.convergence],
        "soft": [[m, r, s, _stored(v)] for m, r, s, v in result.soft],
        "regions": [[m, _stored(d), c] for m, d, c in result.regions],
        "complexity": _stored_complexity(result.complexity),
        "complexity_by_label": {name: _stored_complexity(c) for name, c in result.complexity_by_label.items()},
        "references": {label: _store_table(table) for label, table in result.references.items()},
        "axes": result.axes,
        "without_image": result.without_image,
        "distances": distances_to_json(result.distances),
        "lesions": {
            label: [[_names(a), _names(b), {k: _stored(v) for k, v in scores.items()}] for (a, b), scores in of.items()]
            for label, of in result.lesions.items()
        },
    }


def _store_table(table: Tally) -> str | dict[str, str]:
    """A table as its text; of a long one packed, as 200 raters make 10 MB."""
    text = table.to_csv()
    return text if len(text) < LONG_TEXT else {"zlib": base64.b64encode(zlib.compress(text.encode(), 1)).decode()}


def _restore_table(kept: str | dict[str, str]) -> Tally:
    return Tally.from_csv(kept if isinstance(kept, str) else zlib.decompress(base64.b64decode(kept["zlib"])).decode())


def _names(column: Column) -> list[str]:
    return [column.name, column.role, column.session]


def _stored_complexity(complexity: Complexity) -> dict[str, Any]:
    return {k: _stored(v) for k, v in vars(complexity).items()}


def _stored(value: Any) -> Any:
    undefined = isinstance(value, float) and math.isnan(value)
    return [code(value), getattr(value, "detail", "")] if undefined else value


def from_json(kept: dict[str, Any], files: tuple[Path, ...]) -> CaseFusion:
    """The case back from JSON."""
    return CaseFusion(
        _restore_table(kept["tally"]),
        tuple(map(_restore_convergence, kept["convergence"])),
        tuple((m, r, s, _number(v)) for m, r, s, v in kept["soft"]),
        tuple((m, _number(d), float(c)) for m, d, c in kept["regions"]),
        _restore_complexity(kept["complexity"]),
        {name: _restore_complexity(each) for name, each in kept["complexity_by_label"].items()},
        files,
        {label: _restore_table(text) for label, text in kept["references"].items()},
        int(kept.get("axes", 2)),
        distances_from_json(kept.get("distances")),
        {
            label: {(Column(*a), Column(*b)): {k: _number(v) for k, v in scores.items()} for a, b, scores in of}
            for label, of in kept.get("lesions", {}).items()
        },
        without_image=kept.get("without_image", ""),
    )


def _restore_complexity(kept: dict[str, Any]) -> Complexity:
    fields: dict[str, Any] = {k: _number(v) if k in STATISTICS else v for k, v in kept.items()}
    return Complexity(**fields)


def _restore_convergence(kept: dict[str, Any]) -> Convergence:
    texts = {"notes": tuple(map(_restore_note, kept["notes"])), "left_out": tuple(kept["left_out"])}
    return Convergence(**{**kept, **texts})


def _restore_note(kept: list[str]) -> str:
    code, text = kept
    return Note(code, text) if code else text


def _number(value: Any) -> float:
    return Undefined(*value) if isinstance(value, list) else float(value)
