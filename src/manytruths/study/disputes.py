"""Disputes of a case: the lesions on which raters differ, each with what every rater drew of it.

A dispute is a lesion of the study's partition (:mod:`manytruths.lesions`) that a rater missed, that got several labels,
or whose most different outlines are less alike than a rule allows. Lesions of different labels are one dispute where a
rater drew the one and another rater the other in the same place, by the rule that matches lesions. Structures without
lesions, such as vessels, are cut into tiles.

Only runs of marked pixels are looked at, so that volumes need no arrays of their size.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.boxed_runs import crop_runs
from ..core.columns import Column
from ..core.errors import CallError, InputError
from ..core.mask_arrays import HIDDEN
from ..core.runs import LabelRuns, divide_runs, expand, join_runs, read_runs
from ..fusion.registry import estimator
from ..lesions.marks import Marks, TooManyLesions
from ..lesions.matching import FOUND, MISSED, LesionMatch
from ..lesions.rules import Rule
from ..shape import extract_surface, surface_distances
from ..shape.surface_search import MANY
from ..shape.surfaces import AllDistances
from .case import Reading
from .lesions import match_reading

Array = NDArray[Any]
Integers = NDArray[np.int64]

KINDS = ("missed", "label", "border", "tile")
"""What a dispute is about."""
CONTROL_KINDS = ("unanimous", "unmarked")
"""What is no dispute, and can be shown as a control: an agreed lesion, and a region that nobody marked."""
SMALL = "small"
"""The kind of lesions that are too small to be a dispute."""
SECONDS_EACH = 20.0
"""Seconds that one dispute is assumed to take, before there is a pace."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
MOST_UNMARKED = 4
"""Regions of a case that nobody marked."""
DENSE = 1 << 22
"""Pixels of a box up to which surfaces are extracted from an array instead of runs."""


@dataclass(frozen=True)
class DisputeRule:
    """Which lesions are disputes, and what settles the others."""

    min_dice: float = 0.7
    """Below this Dice of the two most different outlines, a lesion is disputed."""
    min_mm: float | None = None
    """Above this Hausdorff distance of two outlines, too; in mm, or in pixels without a spacing."""
    below: str = "vote:0.5"
    """The method of consensus that settles what is no dispute."""
    unit: Literal["lesion", "tile"] = "lesion"
    tile: int = 128
    """Pixels along each axis of a tile."""
    lesion_min_size: int = 1
    """Lesions of fewer pixels, on average of those who drew them, are no dispute."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_dice <= 1:
            raise CallError(f"min_dice is a Dice coefficient from 0 to 1; got {self.min_dice}")
        if self.min_mm is not None and not 0 <= self.min_mm < math.inf:
            raise CallError(f"min_mm is a distance of at least 0; got {self.min_mm}")
        if self.unit not in ("lesion", "tile"):
            raise CallError(f"unit must be lesion or tile; got {self.unit!r}")
        if estimator(self.below)[0].name == "adjudicated":
            raise CallError("below is a consensus that is estimated, such as vote:0.5; adjudicated is what comes of it")
        if self.lesion_min_size < 1:
            raise CallError(f"lesion_min_size is a number of pixels of at least 1; got {self.lesion_min_size}")
        if self.tile < 8:
            raise CallError(f"a tile has at least 8 pixels along each axis; got {self.tile}")

    def disputes(self, worst_dice: float, worst_mm: float) -> bool:
        """Whether outlines that are this different are disputed."""
        return worst_dice < self.min_dice or (self.min_mm is not None and worst_mm > self.min_mm)


@dataclass(frozen=True, eq=False)
class Dispute:
    """One lesion or tile, and what every rater drew of it."""

    key: str
    """16 hexadecimal digits that change only if somebody's pixels of this lesion change."""
    case: str
    subject: str
    kind: str
    """One of :data:`KINDS` or :data:`CONTROL_KINDS`, or :data:`SMALL`."""
    label: int | None
    """The value of its label; None where there is one label, and where several are united."""
    box: tuple[tuple[int, int], ...]
    """(start, stop) along each axis, around all marks of it."""
    centre: tuple[int, ...]
    """A pixel inside of it."""
    size: float
    """Mean pixels of those who found it."""
    worst_dice: float
    """The smallest Dice of any two who found it, in a tile of any two who rated it; nan where there are fewer."""
    worst_mm: float
    """The largest Hausdorff distance of any two who found it; in pixels where the spacing is unknown."""
    doubt: float
    """Share of its pixels on which raters differ."""
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    not_rated_by: tuple[str, ...]
    drawn: Mapping[str, LabelRuns]
    """By rater who found it, their pixels of it, in the values of consensus masks and the coordinates of the box."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the box."""
        return tuple(stop - start for start, stop in self.box)

    @property
    def labels(self) -> tuple[int, ...]:
        """All values that anybody drew in it."""
        values = {int(value) for runs in self.drawn.values() for value in np.unique(runs.values)}
        return tuple(sorted(values | ({self.label} if self.label is not None else set())))

    @property
    def raters(self) -> tuple[str, ...]:
        """Those who rated it."""
        return self.found_by + self.missed_by


@dataclass(frozen=True, eq=False)
class CaseDisputes:
    """The disputes of a case, and what is no dispute."""

    case: str
    subject: str
    groups: tuple[str, ...]
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    disputes: tuple[Dispute, ...]
    settled: tuple[Dispute, ...]
    """Lesions within the thresholds (``unanimous``) or too small (``small``), and regions that nobody marked
    (``unmarked``)."""
    rule: DisputeRule = field(default_factory=DisputeRule)

    def __iter__(self) -> Iterator[Dispute]:
        yield from self.disputes
        yield from self.settled


@dataclass(frozen=True)
class DisputeCount:
    """How many disputes a threshold leaves."""

    min_dice: float
    min_mm: float | None
    missed: int
    label: int
    border: int
    tile: int
    settled: int
    minutes: float

    @property
    def disputes(self) -> int:
        """Of all kinds."""
        return self.missed + self.label + self.border + self.tile


class TiedMajority(CallError):
    """As many raters are for it as against it."""


# -- the disputes of a case --------------------------------------------------------------------------


def find_disputes(reading: Reading, rule: DisputeRule | None = None) -> CaseDisputes:
    """The disputes of a case; its masks may be runs, and no array of the size of the case is made of them."""
    rule = rule or DisputeRule()
    reading.need_pixels()
    case, options = reading.case, reading.case.options
    if rule.unit == "lesion" and options.background == "none":
        raise InputError(f"case {case.name}: lesions lie on a background, and this study has none; take --unit tile")
    masks = _masks(reading)
    tiles = rule.unit == "tile"
    found = _tiles(reading, masks, rule) if tiles else _lesions(reading, masks)
    ordered = sorted(
        (_sort(each, rule) for each in found), key=lambda each: ([start for start, _ in each.box], each.key)
    )
    disputes = tuple(each for each in ordered if each.kind in KINDS)
    agreed = tuple(each for each in ordered if each.kind not in KINDS)
    unmarked = tuple(_unmarked(reading, masks, ordered))
    return CaseDisputes(
        case.name,
        case.subject,
        case.groups,
        reading.grid.shape,
        reading.grid.spacing,
        disputes,
        agreed + unmarked,
        rule,
    )


def apply_rule(found: CaseDisputes, rule: DisputeRule) -> CaseDisputes:
    """The same lesions sorted by other thresholds, without pixels; the unit cannot change."""
    if (rule.unit, rule.tile if rule.unit == "tile" else 0) != (
        found.rule.unit, found.rule.tile if found.rule.unit == "tile" else 0,
    ):  # fmt: skip
        raise CallError("lesions or tiles are found in the masks; other thresholds alone can be applied afterwards")
    if rule.lesion_min_size < found.rule.lesion_min_size:
        raise CallError("what is too small was told apart already; find lesions with lesion_min_size=1 before")
    ordered = sorted(
        (_sort(each, rule) for each in found), key=lambda each: ([start for start, _ in each.box], each.key)
    )
    disputes = tuple(each for each in ordered if each.kind in KINDS)
    agreed = tuple(each for each in ordered if each.kind in ("unanimous", SMALL))
    unmarked = tuple(each for each in found.settled if each.kind == "unmarked")
    return replace(found, disputes=disputes, settled=agreed + unmarked, rule=rule)


def _place(dispute: Dispute) -> tuple[Any, ...]:
    return [start for start, _ in dispute.box], dispute.key


def _sort(dispute: Dispute, rule: DisputeRule) -> Dispute:
    """The dispute with its kind by a rule."""
    if dispute.kind != "unmarked" and rule.unit == "lesion" and dispute.size < rule.lesion_min_size:
        return replace(dispute, kind=SMALL)
    if dispute.kind in ("label", "missed", "unmarked", SMALL):
        return dispute
    other = "tile" if rule.unit == "tile" else "border"
    kind = other if rule.disputes(dispute.worst_dice, dispute.worst_mm) else "unanimous"
    return dispute if kind == dispute.kind else replace(dispute, kind=kind)


def _masks(reading: Reading) -> dict[Column, LabelRuns | None]:
    """The runs of every rater's first reading in the region; None of those who did not read the case."""
    case, options, inside = reading.case, reading.case.options, reading.inside
    first: dict[str, Column] = {}
    for column in sorted([*case.masks, *case.absent], key=lambda column: column.order):
        first.setdefault(column.name, column)
    if isinstance(inside, np.ndarray):
        inside = read_runs(inside)
    masks: dict[Column, LabelRuns | None] = {}
    for column in first.values():
        if column not in reading.masks:
            masks[column] = None
            continue
        runs = reading.runs(reading.masks[column]).hide(options.void)
        masks[column] = runs if inside is None else runs.intersect(inside)
    return masks


def _lesions(reading: Reading, masks: Mapping[Column, LabelRuns | None]) -> Iterator[Dispute]:
    """The lesions of all labels, with what raters drew of them; of two kinds alone, ``border`` where none is missed."""
    options = reading.case.options
    values = _label_values(reading, masks)
    several = len(values) > 1
    matches = []
    for value in values:
        chosen = value if several else None
        own = {c: runs if runs is None or options.instances else runs.binary(chosen) for c, runs in masks.items()}
        try:
            matches.append(match_reading(reading, own))  # type: ignore[arg-type]
        except TooManyLesions as error:
            raise TooManyLesions(f"case {reading.case.name}: {error}; or settle tiles, with --unit tile") from None
    pieces = [_Pieces(match) for match in matches]
    for members in _unite(matches, options.lesions):
        parts: dict[int, list[tuple[Integers, Integers, int]]] = defaultdict(list)
        codes = np.stack([matches[k].found[lesion] for k, lesion in members])
        for k, lesion in members:
            for rater, starts, stops in pieces[k].of(lesion):
                parts[rater].append((starts, stops, values[k]))  # one rater's marks never meet
        names = matches[0].raters
        answer = [FOUND if FOUND in own else MISSED if MISSED in own else -1 for own in codes.T.tolist()]
        drawn = {names[rater]: _runs_of(parts[rater], reading.grid.shape) for rater in sorted(parts)}
        found_by, missed_by, not_rated_by = (
            tuple(name for name, code in zip(names, answer, strict=True) if code == wanted)
            for wanted in (FOUND, MISSED, -1)
        )
        labels = {k for k, _ in members}
        kind = "label" if len(labels) > 1 else "missed" if missed_by else "border"
        label = values[members[0][0]] if several and len(labels) == 1 else None
        yield _dispute(reading, kind, label, drawn, found_by, missed_by, not_rated_by)


def _label_values(reading: Reading, masks: Mapping[Column, LabelRuns | None]) -> list[int]:
    """The values of the labels but background, as a consensus writes them."""
    case, options = reading.case, reading.case.options
    if options.foreground:
        return [1]
    if case.labels is not None:
        labels = case.labels
        return [labels.values[mark] for mark in labels.marks]
    met = {int(value) for runs in masks.values() if runs is not None for value in np.unique(runs.values)}
    return sorted(met - {0, HIDDEN}) or [1]


class _Pieces:
    """The runs of every lesion of a label, rater by rater."""

    def __init__(self, match: LesionMatch) -> None:
        self.marks: Marks = match.marks
        rater, run = np.nonzero(self.marks.runs >= 0)
        lesion = match.lesion_of[self.marks.runs[rater, run]]
        order = np.lexsort((run, rater, lesion))
        self.rater, self.run = rater[order], run[order]
        self.bounds = np.searchsorted(lesion[order], np.arange(len(match) + 1))

    def of(self, lesion: int) -> Iterator[tuple[int, Integers, Integers]]:
        """(rater, starts, stops)"""
        part = slice(self.bounds[lesion], self.bounds[lesion + 1])
        raters, runs = self.rater[part], self.run[part]
        for rater in np.unique(raters).tolist():
            own = runs[raters == rater]
            yield rater, self.marks.starts[own], self.marks.starts[own] + self.marks.lengths[own]


def _runs_of(parts: Sequence[tuple[Integers, Integers, int]], shape: tuple[int, ...]) -> LabelRuns:
    """Runs of one rater, of all labels."""
    starts = np.concatenate([part[0] for part in parts])
    stops = np.concatenate([part[1] for part in parts])
    kind = np.min_scalar_type(max(value for _, _, value in parts))
    values = np.concatenate([np.full(len(first), value, kind) for first, _, value in parts])
    return LabelRuns(shape, *join_runs(starts, stops, values, shape[-1]))


def _unite(matches: Sequence[LesionMatch], rule: Rule) -> Iterator[list[tuple[int, int]]]:
    """Lesions that lie in the same place, as lists of them.

    Of one label: where more than half of a rater's mark lies in another rater's, though the rule does not call them the
    same lesion. Without this, a small outline within a large one would be two disputes, each missed by somebody. Of
    several labels: see :func:`_same_place`.
    """
    parent = {(k, lesion): (k, lesion) for k, match in enumerate(matches) for lesion in range(len(match))}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for k, match in enumerate(matches):
        o, size = match.marks.overlaps, match.marks.size
        inside = 2 * o.shared > np.minimum(size[o.first], size[o.second])
        for first, second in match.lesion_of[np.stack([o.first[inside], o.second[inside]], axis=1)].tolist():
            parent[root((k, second))] = root((k, first))
    for a, b in combinations(range(len(matches)), 2):
        for first, second in _same_place(matches[a], matches[b], rule):
            parent[root((b, second))] = root((a, first))
    groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for node in parent:
        groups[root(node)].append(node)
    yield from groups.values()


def _same_place(one: LesionMatch, other: LesionMatch, rule: Rule) -> Iterator[tuple[int, int]]:
    """Lesions of two labels: a rater drew the first alone, another rater the second alone, in the same place."""
    mine, theirs = one.marks, other.marks
    if not len(mine) or not len(theirs):
        return
    if rule.name == "distance":
        from scipy.spatial import KDTree

        near = KDTree(mine.place).query_ball_tree(KDTree(theirs.place), rule.threshold)
        pairs = [(i, j) for i, each in enumerate(near) for j in each]
    else:
        pairs = list(_overlapping(mine, theirs, rule))
    for i, j in pairs:
        first, second = int(one.lesion_of[i]), int(other.lesion_of[j])
        a, b = int(mine.owner[i]), int(theirs.owner[j])
        if a != b and one.found[first, b] != FOUND and other.found[second, a] != FOUND:
            yield first, second


def _overlapping(mine: Marks, theirs: Marks, rule: Rule) -> Iterator[tuple[int, int]]:
    """Marks of two labels that keep a rule of overlaps."""
    first = np.searchsorted(theirs.starts + theirs.lengths, mine.starts, side="right")
    counts = np.maximum(np.searchsorted(theirs.starts, mine.starts + mine.lengths, side="left") - first, 0)
    own, their = np.repeat(np.arange(len(mine.starts)), counts), expand(first, counts)
    low = np.maximum(mine.starts[own], theirs.starts[their])
    high = np.minimum((mine.starts + mine.lengths)[own], (theirs.starts + theirs.lengths)[their])
    for a, b in product(range(len(mine.raters)), range(len(theirs.raters))):
        i, j = mine.runs[a, own], theirs.runs[b, their]
        both = np.flatnonzero((i >= 0) & (j >= 0))
        if a == b or not len(both):
            continue
        keys, where = np.unique(i[both].astype(np.int64) * len(theirs) + j[both], return_inverse=True)
        shared = np.bincount(where, (high - low)[both])
        x, y = np.divmod(keys, len(theirs))
        whole = mine.size[x] + theirs.size[y] - shared
        measure = shared / (whole if rule.name == "iou" else np.minimum(mine.size[x], theirs.size[y]))
        keep = measure >= rule.threshold
        yield from zip(x[keep].tolist(), y[keep].tolist(), strict=True)


# -- tiles -------------------------------------------------------------------------------------------


def _tiles(reading: Reading, masks: Mapping[Column, LabelRuns | None], rule: DisputeRule) -> Iterator[Dispute]:
    """Every tile that somebody marked."""
    shape, side = reading.grid.shape, rule.tile
    there = {column: runs for column, runs in masks.items() if runs is not None}
    single = reading.case.options.foreground is not None
    for at in _marked_tiles(list(there.values()), shape, side):
        box = tuple((place * side, min(n, (place + 1) * side)) for place, n in zip(at, shape, strict=True))
        where = tuple(slice(*part) for part in box)
        drawn, missed = dict[str, LabelRuns](), list[str]()
        unrated = [str(column) for column in masks if column not in there]
        for column, runs in there.items():
            tile = runs[where]
            hidden = tile == HIDDEN
            tile = np.where(hidden, 0, tile != 0 if single else tile)
            own = read_runs(tile.astype(np.min_scalar_type(int(tile.max(initial=0)))))
            if len(own):
                drawn[str(column)] = own
            else:
                (unrated if hidden.all() else missed).append(str(column))
        if drawn:
            yield _dispute(reading, "tile", None, drawn, tuple(drawn), tuple(missed), tuple(unrated), box)


def _marked_tiles(masks: Sequence[LabelRuns], shape: tuple[int, ...], side: int) -> list[tuple[int, ...]]:
    """The places of tiles that any run touches."""
    counts = [-(-n // side) for n in shape]
    found: set[int] = set()
    for runs in masks:
        row, first = np.divmod(runs.starts, shape[-1])
        last = (first + runs.lengths - 1) // side
        first //= side
        lead = np.unravel_index(row, shape[:-1]) if len(shape) > 1 else ()
        base = np.zeros(len(row), np.int64)
        for place, count in zip(lead, counts[:-1], strict=True):
            base = base * count + place // side
        found.update(np.unique(expand(base * counts[-1] + first, last - first + 1)).tolist())
    return [tuple(int(part) for part in np.unravel_index(number, counts)) for number in sorted(found)]


# -- one dispute -------------------------------------------------------------------------------------


def _dispute(
    reading: Reading,
    kind: str,
    label: int | None,
    drawn: Mapping[str, LabelRuns],
    found_by: tuple[str, ...],
    missed_by: tuple[str, ...],
    not_rated_by: tuple[str, ...],
    box: tuple[tuple[int, int], ...] | None = None,
) -> Dispute:
    """A dispute with its measures; runs are of the whole case, or of the box where it is given."""
    if box is None:
        box = _box_of(drawn.values())
        drawn = {name: crop_runs(runs, box) for name, runs in drawn.items()}
    shape = tuple(stop - start for start, stop in box)
    starts, stops, each = divide_runs([drawn[name] for name in found_by])
    table, lengths = np.stack(each), stops - starts
    sizes = (table != 0) @ lengths
    voters = len(found_by) + len(missed_by)
    agreed = (
        (table == table[0]).all(axis=0) & (table[0] != 0) if voters == len(found_by) else np.zeros(len(lengths), bool)
    )
    worst = _worst_dice(table, lengths, sizes, bool(missed_by) and kind == "tile")
    centre = _middle(starts, stops, (table != 0).sum(axis=0), shape)
    case = reading.case
    return Dispute(
        _digest(case.name, reading.grid.shape, box, drawn), case.name, case.subject, kind, label, box,
        tuple(at + start for at, (start, _) in zip(centre, box, strict=True)), float(sizes.mean()), worst,
        _worst_distance(list(drawn.values()), reading.grid.spacing),
        float(1 - lengths[agreed].sum() / lengths.sum()), found_by, missed_by, not_rated_by, drawn,
    )  # fmt: skip


def _box_of(several: Iterable[LabelRuns]) -> tuple[tuple[int, int], ...]:
    """(start, stop) along each axis, around all runs."""
    low, high = [], []
    for runs in several:
        *lead, column = np.unravel_index(runs.starts, runs.shape)
        low.append([int(at.min()) for at in (*lead, column)])
        high.append([*(int(at.max()) + 1 for at in lead), int((column + runs.lengths).max())])
    return tuple(zip(np.min(low, axis=0).tolist(), np.max(high, axis=0).tolist(), strict=True))


def _worst_dice(table: Array, lengths: Integers, sizes: Integers, missed: bool) -> float:
    """The smallest Dice of any two; 0 where one marked nothing of it."""
    if missed:
        return 0.0
    worst = math.nan
    for i, j in combinations(range(len(table)), 2):
        shared = int(lengths[(table[i] == table[j]) & (table[i] != 0)].sum())
        dice = 2 * shared / int(sizes[i] + sizes[j])
        worst = dice if math.isnan(worst) else min(worst, dice)
    return worst


def _worst_distance(drawn: Sequence[LabelRuns], spacing: Sequence[float] | None) -> float:
    """The largest Hausdorff distance of any two outlines."""
    if len(drawn) < 2 or (drawn[0].shape and len(drawn[0].shape) not in (2, 3)):
        return math.nan
    small = math.prod(drawn[0].shape) <= DENSE
    surfaces = [extract_surface(runs[...] != 0 if small else runs.marks(), spacing) for runs in drawn]
    if len(surfaces) >= MANY:
        every = AllDistances(surfaces)
        return max(every[pair].hausdorff() for pair in combinations(range(len(surfaces)), 2))
    return max(surface_distances(a, b).hausdorff() for a, b in combinations(surfaces, 2))


def _middle(starts: Integers, stops: Integers, votes: Integers, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of the pixels that most raters marked, the one nearest to their centre."""
    best = votes == votes.max()
    starts, lengths = starts[best], (stops - starts)[best]
    *lead, column = np.unravel_index(starts, shape)
    total = lengths.sum()
    middle = [float((at * lengths).sum() / total) for at in lead]
    across = float(((column + (lengths - 1) / 2) * lengths).sum() / total)
    nearest = np.clip(round(across), column, column + lengths - 1)
    distance = sum(((at - m) ** 2 for at, m in zip(lead, middle, strict=True)), (nearest - across) ** 2)
    k = int(np.argmin(distance))
    return (*(int(at[k]) for at in lead), int(nearest[k]))


def _digest(case: str, shape: tuple[int, ...], box: tuple[tuple[int, int], ...], drawn: Mapping[str, LabelRuns]) -> str:
    """A key of who drew which pixels."""
    digest = hashlib.sha256(f"{case}\0{shape}\0{box}".encode())
    for name in sorted(drawn):
        runs = drawn[name]
        digest.update(f"\0{name}\0{len(runs)}\0".encode())
        for part in (runs.starts, runs.lengths, runs.values):
            digest.update(np.ascontiguousarray(part, "<i8").tobytes())
    return digest.hexdigest()[:16]


# -- controls ----------------------------------------------------------------------------------------


def _unmarked(
    reading: Reading, masks: Mapping[Column, LabelRuns | None], lesions: Sequence[Dispute]
) -> Iterator[Dispute]:
    """Regions that nobody marked, as large as lesions of the case and two sizes beside them; they lie where lesions are
    looked for, and not in the air around a body."""
    case, shape = reading.case, reading.grid.shape
    there = {column: runs for column, runs in masks.items() if runs is not None}
    inside, taken = reading.inside, list[tuple[tuple[int, int], ...]]()
    seeds = [each.box for each in lesions] or [tuple((n * 3 // 8, max(n * 3 // 8 + 1, n * 5 // 8)) for n in shape)]
    steps = list(product((0, -1, 1), repeat=len(shape)))
    steps.sort(key=lambda step: (not any(step) and bool(lesions), sum(map(abs, step))))
    for seed, step in product(seeds, steps):
        if len(taken) == MOST_UNMARKED:
            return
        box = _moved(seed, step, shape)
        if box is None or any(_meet(box, other) for other in taken):
            continue
        where = tuple(slice(*part) for part in box)
        tiles = {column: runs[where] for column, runs in there.items()}
        rated = [str(column) for column, tile in tiles.items() if not (tile == HIDDEN).any()]
        if len(rated) < 2 or any(((tile != 0) & (tile != HIDDEN)).any() for tile in tiles.values()):
            continue
        if inside is not None and not np.asarray(inside[where]).all():
            continue
        taken.append(box)
        yield Dispute(
            _digest(case.name, shape, box, {}), case.name, case.subject, "unmarked", None, box,
            tuple((start + stop) // 2 for start, stop in box), 0.0, math.nan, math.nan, 0.0, (), tuple(rated),
            tuple(str(column) for column in masks if str(column) not in rated), {},
        )  # fmt: skip


MOST_CONTROL = 256
"""Pixels of an unmarked region along an axis."""


def _moved(
    box: tuple[tuple[int, int], ...], step: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[int, int], ...] | None:
    """A box two of its sizes away; None where it leaves the image."""
    moved = []
    for (start, stop), way, n in zip(box, step, shape, strict=True):
        size = min(stop - start, MOST_CONTROL)
        first = start + 2 * way * size
        if first < 0 or first + size > n:
            return None
        moved.append((first, first + size))
    return tuple(moved)


def _meet(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))


# -- choices -----------------------------------------------------------------------------------------


def choose(dispute: Dispute, choice: str) -> Array:
    """The pixels of :func:`choose_runs`, as an array of the box."""
    return choose_runs(dispute, choice)[...]


def choose_runs(dispute: Dispute, choice: str) -> LabelRuns:
    """The pixels of a choice in the box: ``rater:NAME``, ``union``, ``intersection``, ``majority`` or ``none``.

    Union and intersection are of those who found it. The majority is of all who rated it; a pixel that exactly half of
    them marked is marked, as by ``vote:0.5``. It is refused by :class:`TiedMajority` where half of them missed the
    lesion, where all disputed pixels are ties, and where two labels have equally many votes.
    """
    name, _, rater = choice.partition(":")
    kind = np.min_scalar_type(max(dispute.labels, default=1))
    if choice == "none" or (name == "rater" and rater in dispute.raters and rater not in dispute.drawn):
        return _no_runs(dispute.shape, kind)
    if name == "rater":
        if rater not in dispute.drawn:
            raise CallError(f"{rater!r} did not rate this lesion; raters are {', '.join(dispute.raters)}")
        return dispute.drawn[rater].astype(kind).join()
    if choice not in ("union", "intersection", "majority"):
        raise CallError(f"a choice is rater:NAME, union, intersection, majority or none; got {choice!r}")
    if not dispute.drawn:
        return _no_runs(dispute.shape, kind)
    starts, stops, each = divide_runs(list(dispute.drawn.values()))
    values = _decide(dispute, choice, np.stack(each), stops - starts).astype(kind)
    return LabelRuns(dispute.shape, starts, stops, values).select(values != 0).join()


def count_votes(dispute: Dispute) -> LabelRuns:
    """How many raters marked each pixel of the box."""
    if not dispute.drawn:
        return _no_runs(dispute.shape, np.dtype(np.uint8))
    starts, stops, each = divide_runs(list(dispute.drawn.values()))
    return LabelRuns(dispute.shape, starts, stops, (np.stack(each) != 0).sum(axis=0)).join()


def _no_runs(shape: tuple[int, ...], kind: np.dtype[Any]) -> LabelRuns:
    return LabelRuns(shape, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, kind))


def _decide(dispute: Dispute, choice: str, table: Array, lengths: Integers) -> Array:
    """The value of each run by a choice."""
    if choice == "intersection":
        return np.where((table == table[0]).all(axis=0), table[0], 0)
    labels = np.array(dispute.labels)
    votes = np.stack([(table == label).sum(axis=0) for label in labels])
    top = votes.max(axis=0)
    if choice == "union":
        # where two labels have equally many votes, the one that was drawn most
        drawn = (votes * lengths).sum(axis=1)
        order = np.argsort(-drawn, kind="stable")
        return np.asarray(labels[order][votes[order].argmax(axis=0)])
    rated, against = len(dispute.raters), len(dispute.raters) - votes.sum(axis=0)
    contested = top < rated
    if 2 * len(dispute.found_by) == rated:
        raise TiedMajority(f"{len(dispute.found_by)} of {rated} raters found it: a tie")
    marked = top >= against
    if ((votes == top).sum(axis=0)[marked] > 1).any():
        raise TiedMajority("two labels have equally many votes: a tie")
    if contested.any() and (2 * top == rated)[contested].all():
        raise TiedMajority("all disputed pixels are ties")
    return np.where(marked, labels[votes.argmax(axis=0)], 0)


# -- how many ----------------------------------------------------------------------------------------


def count_disputes(
    found: Iterable[CaseDisputes],
    thresholds: Sequence[float] | None = None,
    *,
    min_mm: float | None = None,
    lesion_min_size: int = 1,
    seconds_each: float = SECONDS_EACH,
    keep: Callable[[CaseDisputes, Dispute], bool] | None = None,
) -> tuple[DisputeCount, ...]:
    """How many disputes each threshold of Dice leaves, and how many minutes they take; of those to ``keep``."""
    limits = THRESHOLDS if thresholds is None else tuple(thresholds)
    counts = {limit: dict.fromkeys((*KINDS, "unanimous", SMALL), 0) for limit in limits}
    for case in found:
        rules = {
            limit: replace(case.rule, min_dice=limit, min_mm=min_mm, lesion_min_size=lesion_min_size)
            for limit in limits
        }
        for dispute, limit in product(case, limits):
            each = _sort(dispute, rules[limit])
            if each.kind != "unmarked" and (keep is None or keep(case, each)):
                counts[limit][each.kind] += 1
    return tuple(
        DisputeCount(
            limit, min_mm, count["missed"], count["label"], count["border"], count["tile"],
            count["unanimous"] + count[SMALL],
            sum(count[kind] for kind in KINDS) * seconds_each / 60,
        )
        for limit, count in counts.items()
    )  # fmt: skip
