"""The consensus of a case: the one implementation behind Python, ``fuse``, ``evaluate``, ``export`` and the report.

A consensus is estimated from the raters' first readings of a case, within the case's region, with the study's labels,
``void`` and ``foreground``. Spatial methods get the masks and the grid's spacing, all others the tally. Outside the
region, and where nobody rated, the map is background. Several labels are never united: votes are taken for each of
them, and the level sets, which draw one outline, refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import CallError, InputError, ManytruthsError
from ..core.labels import Labels
from ..core.mask_arrays import Masks
from ..core.painting import paint, paint_tiles
from ..core.runs import LabelRuns, divide_runs, read_runs
from ..core.tally import Tally
from ..core.tiles import Band, Where, is_lazy, load, sample, tile_slices
from ..fusion.registry import estimate, estimator, options_of
from ..fusion.result import Consensus, first_readings
from ..shape.grid import times
from .adjudicated import METHOD, refuse_unsettled, with_decisions
from .adjudicated_masks import AdjudicatedMap, adjudicated_consensus
from .case import Case, Reading
from .lesions import lesion_mask
from .processes import Progress
from .study import Study

Array = NDArray[Any]
ANY = "any"
"""Instead of a label: all labels but background together."""
OF_ONE_LABEL = ("vote:0.5", "staple")
OF_SEVERAL_LABELS = ("plurality", "staple")
"""Methods of consensus by default."""
SMALL = 31
"""Larger values may be another way to write "marked", such as 255."""
LOOKED_AT = 1 << 24
"""So many pixels of a mask are looked at for labels."""


def default_methods(study: Study) -> tuple[str, ...]:
    """The methods of consensus where none are named: a vote is for one label, the plurality for several."""
    return OF_SEVERAL_LABELS if has_several_labels(study) else OF_ONE_LABEL


def prepare(study: Study, methods: Sequence[str]) -> Study:
    """The study as methods of consensus need it: with the decisions of adjudicators for ``adjudicated``."""
    if METHOD not in methods:
        return study
    decided = study if any(case.decisions for case in study) else with_decisions(study)
    refuse_unsettled(decided)
    return decided


def has_several_labels(study: Study) -> bool:
    """Whether a study has several labels: by those declared, or else by a mask of the first, middle and last case.

    A label that none of these masks holds is not seen; declare the labels to be sure.
    """
    if study.options.foreground:
        return False
    cases = list(study)
    known = next((case.labels for case in cases if case.labels is not None), None)
    if known is not None:
        return known.several
    found: set[int] = set()
    for number, place in enumerate(sorted({0, len(cases) // 2, len(cases) - 1})):
        columns = list(cases[place].masks)
        with suppress(ManytruthsError):  # said when the case is read
            values = _mask_values(cases[place].mask(columns[number % len(columns)]).array, study.options.void)
            if len(values) > 1:
                return True
            found |= values
    return len(found) > 1 and max(found) <= SMALL


def _mask_values(array: Array, void: int | None) -> set[int]:
    """The values of a mask but 0 and "not rated"."""
    if is_lazy(array):
        some = sample(array, LOOKED_AT)
    else:
        data = np.ma.compressed(array) if np.ma.isMaskedArray(array) else array
        some = data.ravel(order="K")[:: max(1, data.size // LOOKED_AT)]
    if some.dtype == np.uint8:
        present = np.zeros(256, bool)
        present[some] = True
        values = np.flatnonzero(present)
    else:
        values = np.unique(some)
    return {int(value) for value in values.tolist()} - {0, void}


@overload
def consensus(source: Study, method: str = "staple", **options: Any) -> dict[str, CaseConsensus]: ...


@overload
def consensus(source: Case, method: str = "staple", **options: Any) -> CaseConsensus: ...


@overload
def consensus(source: Tally | Masks, method: str = "staple", **options: Any) -> Consensus: ...


def consensus(
    source: Study | Case | Tally | Masks,
    method: str = "staple",
    *,
    label: int | str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, CaseConsensus] | CaseConsensus | Consensus:
    """Estimate a consensus from the raters' decisions, by the method named.

    Parameters
    ----------
    source : Study, Case, Tally or masks
        A study gives one consensus per case, by the case's name: the same pixels as ``manytruths fuse``. Masks are
        given as to :func:`manytruths.tally`, with its options (``raters``, ``labels``, ``void``, ``foreground``,
        ``region``).
    method : str
        One of :func:`manytruths.consensus_methods`: ``vote:0.5``, ``vote:any``, ``vote:all``, ``excl:0.5``, ``staple``,
        ``simple``, ``plurality`` and, not from a tally, ``lesions:0.5``, ``staple_map``, ``lsml`` and ``lsmlp``.
    label : int or str, optional
        With a study or a case of several labels: one label, by name or value, against all the others; ``"any"``
        unites all labels but background. Without it, all labels are decided at once, as in ``fuse`` and ``evaluate``.
    jobs : int
        With a study: number of worker processes. Results do not depend on it.
    progress : callable, optional
        With a study: called after each case.
    **options : object
        Options of the estimator, such as ``prior`` of :func:`manytruths.staple`.

    Returns
    -------
    dict of str to CaseConsensus, CaseConsensus, or Consensus
        By the source: of every case of a study, of one case, or of a tally or masks.

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [[1, 1, 1, 0]], "B": [[1, 1, 0, 0]], "C": [[1, 0, 0, 0]]}
    >>> mt.consensus(masks, "vote:0.5")
    <Vote: vote:0.5, 3 raters, 4 patterns>
    >>> study = mt.Study.from_arrays({"p1": masks})
    >>> mt.consensus(study, "vote:0.5")["p1"].values
    array([[1, 1, 0, 0]], dtype=uint8)
    """
    if not isinstance(source, Study | Case):
        if label is not None:
            raise CallError("label= is for a study or a case; of a tally take tally.only(label) or tally.foreground()")
        return estimate(source, method, **options)
    if isinstance(source, Study):
        source = prepare(source, [estimator(method)[0].name])
    if isinstance(source, Case):
        return _case_consensus(source, method, label, options)[0]
    work = partial(_case_consensus, method=method, label=label, options=options)
    done = {case.name: result for case, result in source.map(work, jobs=jobs, progress=progress)}
    source.gathered({name: table for name, (_, table) in done.items()})  # refuses files with other values
    return {name: result for name, (result, _) in done.items()}


def _case_consensus(
    case: Case, method: str, label: int | str | None, options: Mapping[str, Any]
) -> tuple[CaseConsensus, Tally]:
    """The consensus of a case, and the table of its raters with labels as they are."""
    readings = FirstReadings.of(case.read(by_tile=True))
    chosen = readings if label is None else readings.one_label(_value(case, label))
    return CaseConsensus(case, chosen.estimate(method, options), label), readings.table


def _value(case: Case, label: int | str) -> int | None:
    """The value that a label has in the masks; None stands for any."""
    if label == ANY:
        return None
    if case.options.foreground:
        raise CallError(f"label= is 'any' where foreground='any' unites the labels; got {label!r}")
    if case.labels is not None:
        return case.labels.values[case.labels.index(label)]
    if isinstance(label, str):
        raise CallError(f"label= is a value of the masks, as the study declares no labels; got {label!r}")
    return label


@dataclass(frozen=True, eq=False, repr=False)
class CaseConsensus:
    """The consensus of one case of a study, as maps; see :func:`consensus`.

    Maps of methods that decide by pattern are painted when they are first asked for, from the masks read again.

    Attributes
    ----------
    case : Case
        The case.
    estimate : Consensus
        What the estimator found: rates of the raters, convergence, notes, and a value per pattern or a map.
    label : int, str or None
        The label that was taken against all the others.
    """

    case: Case
    estimate: Consensus
    label: int | str | None = None

    @property
    def values(self) -> Array:
        """The consensus mask in the values of the raters' masks, as ``fuse`` writes it."""
        return self._maps[0]

    @property
    def probability(self) -> NDArray[np.float32]:
        """The probability map, as ``fuse`` writes it; of more than two labels, that of the label chosen."""
        return self._maps[1]

    @property
    def hard(self) -> Array:
        """Two labels, one of them background: whether a pixel is marked. Else the code of its label in ``labels``."""
        if self.estimate.hard.dtype == bool:
            return np.asarray(self.values != 0)
        return np.searchsorted(self.labels.values, self.values).astype(np.uint8)

    @property
    def labels(self) -> Labels:
        """What ``hard`` speaks of."""
        return self.estimate.labels

    @property
    def kind(self) -> Literal["map"]:
        """Always ``"map"``; see :attr:`Consensus.kind`."""
        return "map"

    @cached_property
    def _maps(self) -> tuple[Array, NDArray[np.float32]]:
        readings = FirstReadings.of(self.case.read(by_tile=self.label is None))
        readings.reading.need_pixels()
        if self.label is not None:
            readings = readings.one_label(_value(self.case, self.label))
        return readings.paint(self.estimate)

    def __repr__(self) -> str:
        return f"<Consensus of case {self.case.name}: {self.estimate!r}>"


@dataclass(frozen=True, eq=False)
class FirstReadings:
    """What a consensus is made of: each rater's first reading of a case, within the region that counts."""

    reading: Reading
    """All readings, as they were read."""
    region: str | Array
    """The study's region by name, or the case's own mask."""
    table: Tally
    """The raters in their first session, in the region."""
    label: int | str | None = None
    """The value that is taken against all the others; ``"any"`` for all but background."""

    @classmethod
    def of(cls, reading: Reading) -> FirstReadings:
        """Of a case whose masks are in memory."""
        region = reading.region
        if isinstance(region, str):
            table = first_readings(reading.tally("whole", judged=False))
            return cls(reading, region, table.restrict(region))  # only now: second readings do not matter to it
        region = region.astype(bool) if isinstance(region, np.ndarray) else region
        own = None if reading.is_large else region  # a large case may be counted already
        return cls(reading, region, first_readings(reading.tally(own, judged=False)))

    def one_label(self, value: int | None) -> FirstReadings:
        """The same with one label, given by its value, against all the others; None unites all but background."""
        if value is None:
            return replace(self, table=self.table.foreground(), label=ANY)
        labels = self.table.labels
        known = labels if value in labels.values else labels.union(Labels((value,)))
        return replace(self, table=self.table.relabel(known).only(value), label=value)

    @cached_property
    def inside(self) -> Reading:
        """All readings, with masks that outside the region hold no value which they do not hold inside."""
        if isinstance(self.region, str) or self.reading.is_large:
            return self.reading
        # outside, a value of the inside: labels that occur there alone are none to decide
        masks = {column: mask.copy() for column, mask in self.reading.masks.items()}
        for mask in masks.values():
            mask[~self.region] = mask[self.region][0]
        return replace(self.reading, masks=masks)

    @cached_property
    def masks(self) -> dict[Column, Array]:
        """The masks of the table's columns; marked or not where one label is taken."""
        if self.label is None:
            return {column: mask for column, mask in self.inside.masks.items() if column in self.table.columns}
        value, void = None if self.label == ANY else int(self.label), self.reading.case.options.void
        own = {column: mask for column, mask in self.reading.masks.items() if column in self.table.columns}
        if self.reading.is_large:
            return {column: self.reading.marks(mask, value) for column, mask in own.items()}  # type: ignore[misc]
        return {column: binary_mask(mask, value, void) for column, mask in own.items()}

    @property
    def _decided_masks(self) -> dict[Column, Array]:
        """What a method that looks at neighbours takes: of a large case, runs."""
        masks = self.masks
        if not self.reading.is_large:
            return masks
        return {column: self.reading.runs(mask) for column, mask in masks.items()}  # type: ignore[misc]

    @property
    def _instance_maps(self) -> dict[Column, Array]:
        """The masks of the table's columns as they were read, where their values number lesions."""
        own = {column: mask for column, mask in self.reading.masks.items() if column in self.table.columns}
        return {column: lesion_mask(mask, None, self.reading) for column, mask in own.items()}

    def estimate(self, method: str, options: Mapping[str, Any] | None = None) -> Consensus:
        """The consensus by a method; ``options`` are those of its estimator."""
        chosen, own = estimator(method)
        options = {**own, **(options or {})}
        if chosen.name == METHOD:
            return adjudicated_consensus(self)
        try:
            if chosen.spatial and (method, self.label) in self.reading.decided:
                return self.reading.decided[method, self.label]
            if chosen.spatial and (self.reading.pixels or (self.reading.is_large and not chosen.by_runs)):
                size = times(self.reading.grid.shape)
                raise InputError(
                    f"looks at neighbours, and {size} pixels are too many for that; take a method that decides pixel "
                    "by pixel, such as vote:0.5, staple or plurality, or crop the masks"
                )
            if chosen.spatial:
                self.reading.need_pixels()
                numbered = "instances" in chosen.settings and self.reading.case.options.instances
                masks = self._instance_maps if numbered else self._decided_masks
                return chosen.function(masks, **self._settings(chosen.settings), **options)
            return chosen.function(self.table, **options)
        except ManytruthsError as error:
            name = self.reading.case.name
            raise type(error)(f"case {name}, {method}: {str(error).removeprefix(f'case {name}, ')}") from None

    def _settings(self, further: tuple[str, ...]) -> dict[str, Any]:
        """What a spatial method has to know about the case."""
        case, single = self.reading.case, self.label is not None
        settings = {
            "raters": "exchangeable" if case.options.exchangeable else None,
            "region": self._union() if single and isinstance(self.region, str) else self._inside,
            "void": None if single else case.options.void,
            "foreground": None if single else case.options.foreground,
        }
        options = case.options
        offered = {
            "labels": Labels((0, 1)) if single else case.labels, "spacing": self.reading.grid.spacing,
            "instances": options.instances,
            "lesion_rule": options.lesion_rule, "lesion_threshold": options.lesion_threshold,
        }  # fmt: skip
        return settings | {name: offered[name] for name in further}

    @property
    def _inside(self) -> str | Array | LabelRuns:
        """The region that counts; of a large case, its runs."""
        inside = self.reading.inside if self.reading.is_large else None
        return self.region if inside is None else inside

    def _union(self) -> str | Array | LabelRuns:
        """The region where one label is looked at: a union is that of all labels."""
        if self.region != "union":
            return self.region
        void, columns = self.reading.case.options.void, self.table.columns
        own = [mask for column, mask in self.reading.masks.items() if column in columns]
        if self.reading.is_large:
            marked = [self.reading.runs(mask).binary(None, void).marks() for mask in own]
            starts, stops, _ = divide_runs(marked)
            return LabelRuns(marked[0].shape, starts, stops, np.ones(len(starts), np.bool_)).join()
        masks = [binary_mask(mask, None, void) for mask in own]
        union = np.logical_or.reduce([np.ma.filled(mask, False) for mask in masks])
        return union if union.any() else "union"

    def paint(self, estimated: Consensus) -> tuple[Array, NDArray[np.float32]]:
        """The consensus mask, in the values of the masks, and the probability of what it decided.

        The estimate may come from another table that has this one's patterns: a pooled one, or one without a rater.
        """
        if isinstance(estimated, AdjudicatedMap):
            return estimated.values, np.asarray(estimated.probability).astype(np.float32)
        values, chance = decided_values(estimated)
        hard, soft = self.map_of(estimated, values), self.map_of(estimated, chance)
        hard = np.maximum(hard, 0)
        return hard.astype(np.min_scalar_type(int(hard.max(initial=0)))), soft.astype(np.float32)

    def map_of(self, estimated: Consensus, values: Array, *, everywhere: bool = False) -> Array:
        """A value per pattern of an estimate, or a map, as a map that is 0 outside the region.

        With ``everywhere`` the patterns of the region are looked up outside it as well, which takes one label.
        """
        if isinstance(estimated, AdjudicatedMap):
            return values  # nothing is marked outside
        if estimated.tally is not None:
            masks = {column: mask for column, mask in self.masks.items() if column in estimated.tally.columns}
            options, single = self.reading.case.options, self.label is not None
            void, foreground = (None, None) if single else (options.void, options.foreground)
            values = paint(values, masks, estimated.tally, void=void, foreground=foreground, fill=0)
        values = load(values)
        if everywhere or isinstance(self.region, str):
            return values
        return np.where(load(self.region).astype(bool) if is_lazy(self.region) else self.region, values, 0)

    def paint_runs(self, estimated: Consensus) -> LabelRuns:
        """The runs of the consensus mask, in the values of the masks; 0 outside the region."""
        if isinstance(estimated, AdjudicatedMap):
            return read_runs(estimated.values)
        reading = self.reading
        values: Any = decided_values(estimated)[0]
        if estimated.tally is None:
            return self._cut(values)
        decided = np.maximum(values, 0)
        columns = [column for column in reading.masks if column in estimated.tally.columns]
        return self._cut(reading.paint_runs(decided, estimated.tally, columns, fill=0))

    def _cut(self, runs: LabelRuns) -> LabelRuns:
        """Runs of a large case, within its region."""
        inside = self.reading.inside
        return runs if inside is None else runs.intersect(read_runs(inside))

    def decision_runs(self, estimated: Consensus) -> tuple[LabelRuns, LabelRuns]:
        """Of a method that looked at the runs of a large case: what :meth:`paint` gives, as runs."""
        if isinstance(estimated, AdjudicatedMap):
            marked = read_runs(estimated.values).marks()
            return self.reading.adjudicated.runs, marked.astype(np.float32)
        found: Any = decided_values(estimated)
        values, chance = (self._cut(runs) for runs in found)
        return values.astype(np.min_scalar_type(int(values.values.max(initial=0)))), chance.astype(np.float32)

    def paint_tiles(
        self, estimates: Sequence[Consensus], values: Sequence[Array], out: object, band: Band | None = None
    ) -> Iterator[tuple[Where, list[Array]]]:
        """The maps of several estimates from one table by tile, along the chunks of ``out``; 0 outside the region.

        ``values`` are those of patterns or, of a method that looks at neighbours, runs. ``band`` names the tiles that
        are wanted.
        """
        table = estimates[0].tally
        if table is None:
            for place in band or tile_slices(values, out):
                yield place, [load(runs, place) for runs in values]
            return
        options, own = self.reading.case.options, self.painted_masks(table)
        settings = {"void": options.void, "foreground": options.foreground, "fill": 0, "out": out, "band": band}
        for where, tiles in paint_tiles(values, own, table, **settings):  # type: ignore[arg-type]
            assert where is not None
            if isinstance(self.region, str):
                yield where, tiles
            else:
                inside = load(self.region, where).astype(bool)
                yield where, [np.where(inside, tile, 0).astype(tile.dtype) for tile in tiles]

    def painted_masks(self, table: Tally) -> dict[Column, Array]:
        """The masks by whose patterns a map from a table is painted."""
        return {column: mask for column, mask in self.reading.masks.items() if column in table.columns}


def decide_by_runs(
    reading: Reading, methods: Sequence[str], options: Mapping[str, Mapping[str, Any]], *, united: bool = False
) -> None:
    """Estimate what needs neighbours from the runs of a large case, so that the list of its patterns knows of it.

    With ``united``, also of all labels but background together; ``options`` are those of estimators by name.
    """
    chosen = [method for method in methods if estimator(method)[0].by_runs]
    if not (reading.is_large and chosen):
        return
    readings = FirstReadings.of(reading)
    each = [readings.one_label(None)] if united else []
    each += [readings] if readings.table.labels.several or not united else []
    for method, of in product(chosen, each):
        if (method, of.label) not in reading.decided:
            reading.decided[method, of.label] = of.estimate(method, options_of(method, options))
            reading.__dict__.pop("by_pattern", None)  # it was listed without


def decided_values(estimated: Consensus) -> tuple[Array, Array]:
    """What an estimate decides, and the probability of that: for every pattern, as maps, or as runs."""
    if is_lazy(estimated.hard):
        return estimated.values, estimated.probability
    values, chance = np.asarray(estimated.values), np.asarray(estimated.probability)
    if chance.ndim > values.ndim:
        ground = estimated.labels.background
        marked = len(estimated.labels) <= 2 and ground is not None
        chance = 1 - chance[..., ground] if marked else chance.max(axis=-1)
    return values, np.nan_to_num(chance)


def decided_marks(decided: Array | LabelRuns) -> Array | LabelRuns:
    """What a consensus decided, in the values of the masks; below 0, where nothing was, 0. Runs have no such values."""
    return decided if isinstance(decided, LabelRuns) else np.maximum(decided, 0)


def binary_mask(array: Array | LabelRuns, value: int | None, void: int | None) -> Array:
    """Marked or not, with one value or, where it is None, with any; masked where it was not rated.

    Of an array that is not in memory, the runs of what is marked.
    """
    if is_lazy(array):
        return read_runs(array).binary(value, void)  # type: ignore[return-value]
    data = np.ma.getdata(array)
    marked = data != 0 if value is None else data == value
    hidden = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
    if void is not None:
        hidden = (data == void) if hidden is None else hidden | (data == void)
    return marked if hidden is None else np.ma.array(marked, mask=hidden)
