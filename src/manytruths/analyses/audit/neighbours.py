"""What is tried where no candidate of the plan is the consensus: what the data suggest, changed masks and level sets.

Votes are tried of the raters on whom the consensus depends, and STAPLE with a fixed prior that makes it.

A mask that was dilated or filled lies within its result, and one that was eroded holds it. So of thousands of masks
only those are changed that lie within the consensus, or hold it, in every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ManytruthsError
from ...core.painting import paint
from ...core.tally import Tally
from ...evaluation.consensus_audit import Codes, Compared, compare
from ...fusion.candidates import Candidate, Panel, Plan, Rule, Staples, Votes
from ...fusion.registry import options_of
from ...study import Case
from ...study.consensus import FirstReadings
from .case import Array, Scene, grow_box

Flags = NDArray[np.bool_]

STEPS = (1, 2)
LEVEL_SETS = ("lsml", "lsmlp")
MARGIN = max(STEPS) + 1
"""Pixels around all marks that are looked at: more than any mask grows."""


@dataclass(frozen=True)
class Change:
    """What is done to a mask after it was decided."""

    kind: Literal["dilated", "eroded", "filled", "largest"]
    steps: int = 0
    corners: bool = False
    """Whether pixels that touch at a corner are neighbours."""

    def describe(self, axes: int) -> str:
        """In words, after the name of the mask."""
        if self.kind == "filled":
            return "holes filled"
        if self.kind == "largest":
            return "largest piece alone"
        neighbours = (3**axes - 1) if self.corners else 2 * axes
        return f"{self.kind} by {self.steps} ({neighbours} neighbours)"

    @property
    def grows(self) -> bool:
        """Whether the result holds the mask; otherwise it lies within it."""
        return self.kind in ("dilated", "filled")

    def apply(self, mask: Flags) -> Flags:
        """The changed mask; beyond the edge of an image is background."""
        from scipy import ndimage

        shape = ndimage.generate_binary_structure(mask.ndim, mask.ndim if self.corners else 1)
        if self.kind == "filled":
            return np.asarray(ndimage.binary_fill_holes(mask))
        if self.kind == "largest":
            pieces, number = ndimage.label(mask, np.ones((3,) * mask.ndim))
            sizes = np.bincount(pieces.ravel(), minlength=number + 1)
            sizes[0] = 0
            return np.asarray((pieces == sizes.argmax()) & mask)
        if self.kind == "dilated":
            return np.asarray(ndimage.binary_dilation(mask, shape, self.steps))
        return np.asarray(ndimage.binary_erosion(mask, shape, self.steps))


CHANGES = (
    *(Change("dilated", steps, corners) for steps in STEPS for corners in (False, True)),
    *(Change("eroded", steps, corners) for steps in STEPS for corners in (False, True)),
    Change("filled"),
    Change("largest"),
)


@dataclass(frozen=True)
class Search:
    """What is tried for one reference beyond the candidates of the plan.

    Attributes
    ----------
    grown, shrunk : tuple of int
        Places in the plan of the masks that are dilated and filled, and of those that are eroded.
    left_out : tuple of str
        Raters on whom nothing in the reference depends: votes of the others are tried.
    prior : float, optional
        A fixed prior with which STAPLE makes the reference.
    level_sets : bool
        Whether level sets are fitted.
    axes : int
        Of the images.
    """

    grown: tuple[int, ...] = ()
    shrunk: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    prior: float | None = None
    level_sets: bool = False
    axes: int = 2

    @property
    def rules(self) -> list[tuple[tuple[str, ...], Rule]]:
        """What decides by pattern, with the raters who are left out."""
        votes: list[tuple[tuple[str, ...], Rule]] = [(self.left_out, Votes())] if self.left_out else []
        return votes + ([] if self.prior is None else [((), Staples(self.prior))])

    def by_pattern(self, plan: Plan) -> list[Candidate]:
        """The candidates of these rules."""
        return [found for left, rule in self.rules for found in rule.candidates(plan.raters, left)]

    def decide(self, table: Tally) -> Codes:
        """(candidates, patterns) codes of the same."""
        none = np.zeros((0, len(table.counts)), np.uint8)
        return np.concatenate([none, *(rule.decide(Panel(table, left)) for left, rule in self.rules)])

    def changes(self) -> list[tuple[int, Change]]:
        """The masks that are changed, and how."""
        return [(place, c) for c in CHANGES for place in (self.grown if c.grows else self.shrunk)]

    def candidates(self, plan: Plan) -> list[Candidate]:
        """All of them, in the order of :func:`search_case`."""
        known = plan.candidates
        changed = [
            Candidate(f"{known[place].name}, {change.describe(self.axes)}", "changed", known[place].left_out)
            for place, change in self.changes()
        ]
        fitted = [Candidate(f"{method.upper()}, length penalty 2", "level set") for method in self._methods]
        return [*self.by_pattern(plan), *changed, *fitted]

    @property
    def _methods(self) -> tuple[str, ...]:
        return LEVEL_SETS if self.level_sets else ()

    def changed_maps(self, scene: Scene, plan: Plan) -> Iterator[Flags]:
        """What each candidate marks that looks at neighbours."""
        bases = dict(decided_maps(scene, plan, (*self.grown, *self.shrunk)))
        for place, change in self.changes():
            yield _changed(scene, bases[place], change)
        for method in self._methods:
            yield _level_set(scene, method)

    def map_of(self, scene: Scene, plan: Plan, place: int) -> Flags:
        """What one candidate marks, by its place among these."""
        rules, changes = len(self.by_pattern(plan)), self.changes()
        if place < rules:
            return np.asarray(paint_codes(scene, self.decide(scene.table)[place]))
        if place >= rules + len(changes):
            return _level_set(scene, self._methods[place - rules - len(changes)])
        base, change = changes[place - rules]
        return _changed(scene, next(iter(decided_maps(scene, plan, (base,))))[1], change)


def _changed(scene: Scene, mask: Flags, change: Change) -> Flags:
    """A changed mask; only the part around all marks is looked at."""
    part, result = grow_box(scene.box, MARGIN, mask.shape), np.zeros(mask.shape, bool)
    result[part] = change.apply(mask[part])
    return result


def _level_set(scene: Scene, method: str) -> Flags:
    readings = FirstReadings.of(scene.reading)
    try:
        found = readings.paint(readings.estimate(method, options_of(method, {})))[0]
    except ManytruthsError:
        return np.zeros(scene.reading.grid.shape, bool)  # nothing to draw an outline around
    return np.asarray(found != 0)


def decided_maps(scene: Scene, plan: Plan, places: tuple[int, ...]) -> Iterator[tuple[int, Array]]:
    """The maps of some candidates of the plan: flags, of several labels codes."""
    boxes = scene.boxes() if plan.boxes and scene.has_pixels else {}
    for place, codes in plan.decide_some(scene.table, boxes, places):
        yield place, paint_codes(scene, codes)


def paint_codes(scene: Scene, codes: NDArray[Any]) -> Array:
    """A code for every pattern, as a map: flags, of several labels codes."""
    void = scene.reading.case.options.void if scene.several else None
    painted = paint(codes, scene.raters, scene.table, void=void, fill=0)
    return np.asarray(painted) if scene.several else np.asarray(painted) == 1


def reference_map(scene: Scene, name: str) -> tuple[Array, Flags]:
    """What a reference marks, of several labels its values, and where it counts."""
    array = next(mask for column, mask in scene.references.items() if column.name == name)
    known = ~np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else np.ones(array.shape, bool)
    data, void = np.ma.getdata(array), scene.reading.case.options.void
    if scene.several and void is not None:
        known = known & (data != void)
    known = known if scene.inside is None else known & scene.inside
    return (data if scene.several else data != 0), known


def search_case(case: Case, plan: Plan, searches: Mapping[str, Search]) -> dict[str, Compared]:
    """Compare with the references of a case what is searched for each of them."""
    scene, found = Scene(case.read(by_tile=True), plan.several), {}
    for column in scene.references:
        search = searches.get(column.name)
        if search is None:
            continue
        parts = []
        if search.rules:
            parts.append(compare(search.decide(scene.table), scene.given(column), scene.table.labels.marks))
        if search.grown or search.shrunk or search.level_sets:
            given, known = reference_map(scene, column.name)
            parts += [_compare(mask, given, known) for mask in search.changed_maps(scene, plan)]
        found[column.name] = Compared.joined(parts)
    return found


def _compare(mask: Flags, given: Array, known: Flags) -> Compared:
    mask, given = mask & known, given & known
    both, marked, size = (np.array([np.count_nonzero(each)]) for each in (mask & given, mask, given))
    digest = blake2b(np.packbits(mask).tobytes(), digest_size=16).digest()
    return Compared(marked + size - 2 * both, both[:, None], marked[:, None], size, int(known.sum()), [digest])
