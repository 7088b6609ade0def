"""Candidates that look at neighbours, tried where nothing by pattern is the consensus: changed masks and level sets.

A mask that was dilated or filled lies within its result, and one that was eroded holds it. So of thousands of masks only
those are changed that lie within the consensus, or hold it, in every case.
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
from ...evaluation.consensus_audit import Codes, Compared
from ...fusion.candidates import Candidate, Panel, Plan, Votes
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

    def apply(self, mask: Flags, edge: bool) -> Flags:
        """The changed mask; beyond the ``edge`` of an image nothing is eroded."""
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
        return np.asarray(ndimage.binary_erosion(mask, shape, self.steps, border_value=int(edge)))


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
    level_sets : bool
        Whether level sets are fitted.
    axes : int
        Of the images.
    """

    grown: tuple[int, ...] = ()
    shrunk: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    level_sets: bool = False
    axes: int = 2

    def votes(self, plan: Plan) -> list[Candidate]:
        """Votes of the raters who are used."""
        return Votes().candidates(plan.raters, self.left_out) if self.left_out else []

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
        return [*self.votes(plan), *changed, *fitted]

    @property
    def _methods(self) -> tuple[str, ...]:
        return LEVEL_SETS if self.level_sets else ()

    def maps(self, scene: Scene, plan: Plan, chosen: int | None = None) -> Iterator[Flags]:
        """What each marks, or one of them alone."""
        at = 0

        def wanted() -> bool:
            nonlocal at
            at += 1
            return chosen is None or chosen == at - 1

        codes: Codes = np.zeros((0, 0), np.uint8)
        for place in range(len(self.votes(plan))):
            codes = codes if codes.size else Votes().decide(Panel(scene.table, self.left_out))
            if wanted():
                yield paint_codes(scene, codes[place])
        bases: dict[int, Flags] = {}
        shape, own = scene.reading.grid.shape, (*self.grown, *self.shrunk)
        part = grow_box(scene.box, MARGIN, shape)
        edge = part == tuple(slice(0, n) for n in shape)
        for place, change in self.changes():
            if wanted():
                bases = bases or dict(decided_maps(scene, plan, own))
                result = np.zeros(shape, bool)
                result[part] = change.apply(bases[place][part], edge)
                yield result
        for method in self._methods:
            if wanted():
                yield _level_set(scene, method)


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
    """Compare what looks at neighbours with the references of a case that ask for it."""
    scene = Scene(case.read(), plan.several)
    found = {}
    for column in scene.references:
        search = searches.get(column.name)
        if search is None:
            continue
        given, known = reference_map(scene, column.name)
        parts = [_compare(mask, given, known) for mask in search.maps(scene, plan)]
        if parts:
            found[column.name] = Compared.joined(parts)
    return found


def _compare(mask: Flags, given: Array, known: Flags) -> Compared:
    mask, given = mask & known, given & known
    both, marked, size = (np.array([np.count_nonzero(each)]) for each in (mask & given, mask, given))
    digest = blake2b(np.packbits(mask).tobytes(), digest_size=16).digest()
    return Compared(marked + size - 2 * both, both[:, None], marked[:, None], size, int(known.sum()), [digest])
