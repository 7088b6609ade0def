"""When two raters' lesions are the same one, pair by pair and of all raters at once.

A rule names a measure of two marks and how large (or small) it must be:

==========  ==============================================================
iou         intersection over union, at least the threshold
overlap     share of the smaller one that both hold, at least the threshold
distance    distance of the centres, at most the threshold
==========  ==============================================================

**Pairs** of raters are matched one to one: ``greedy`` takes pairs by falling IoU, as long as both are free;
``bipartite`` maximises the sum of IoU (for ``distance``, the number of pairs, then their nearness). Above an IoU of ½
there is only one possible match, and the two are the same.

**All raters at once**: clusters of marks are merged by falling mean IoU over their pairs (average linkage; no common
pixel is an IoU of 0), if the mean of the measure keeps the rule and no rater would have two marks in one. Ties go by
the mean distance of centres under the rule ``distance``, then by geometry, so that the order of raters does not matter.
Means are rounded once, from sums of whole numbers, since rounded sums would depend on the order of the raters. For two
raters it is the greedy matching. A mean keeps the rule only if one of its parts does, so that pairs that break it can
be left out from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import dist
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .marks import Marks

RuleName = Literal["iou", "overlap", "distance"]
RULES: tuple[str, ...] = get_args(RuleName)
Matching = Literal["greedy", "bipartite"]
MATCHINGS: tuple[str, ...] = get_args(Matching)
DEFAULT = 0.5
SCALE = 60
"""Measures are summed in units of 2**-60, in which those above 1/256 are whole numbers."""
THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))
"""Over which curves go."""
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Rule:
    """What makes two marks the same lesion."""

    name: str = "iou"
    threshold: float = DEFAULT

    @classmethod
    def of(cls, name: str, threshold: float | None, option: str = "") -> Rule:
        """The rule by its name; the threshold may be left out but for distances, which have a unit.

        ``option`` is how the names of the options start, such as ``--lesion-``.
        """
        if name not in RULES:
            raise CallError(f"{option}rule must be one of {', '.join(RULES)}; got {name!r}")
        if threshold is not None and not isinstance(threshold, int | float | np.number):
            raise CallError(f"{option}threshold must be a number; got {threshold!r}")
        if name == "distance":
            if threshold is None:
                raise CallError(
                    f"{option}rule 'distance' needs a {option}threshold: the largest distance of two centres, such as 5"
                )
            if not 0 < threshold < np.inf:
                raise CallError(f"{option}threshold of rule 'distance' must be positive and finite; got {threshold}")
        elif threshold is not None and not 0 < threshold <= 1:
            raise CallError(f"{option}threshold of rule {name!r} must be above 0 and at most 1; got {threshold}")
        return cls(name, DEFAULT if threshold is None else float(threshold))

    def __str__(self) -> str:
        return f"{self.name} {'≤' if self.name == 'distance' else '≥'} {self.threshold:g}"

    @property
    def series(self) -> tuple[float, ...]:
        """The thresholds of a curve: 0.1 to 0.9 or, of distances, from a fifth of the threshold to twice of it."""
        if self.name != "distance":
            return THRESHOLDS
        return tuple(round(self.threshold * k / 5, 12) for k in range(1, 11))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of marks of two raters that keep a rule, by falling IoU; ties by distance, then by geometry."""

    first: Indices
    second: Indices
    iou: NDArray[np.float64]
    distance: NDArray[np.float64]
    """Of the centres; 0 under other rules than ``distance``."""


def find_candidates(marks: Marks, rule: Rule) -> Candidates:
    """All pairs that keep the rule."""
    o = marks.overlaps
    if rule.name == "distance":
        first, second, iou, distance = _near_pairs(marks, rule.threshold)
    else:
        keep = np.flatnonzero((marks.iou if rule.name == "iou" else marks.share) >= rule.threshold)
        first, second, iou, distance = o.first[keep], o.second[keep], marks.iou[keep], np.zeros(len(keep))
    ranks = np.sort(np.stack([marks.rank[first], marks.rank[second]]), axis=0)
    order = np.lexsort((ranks[1], ranks[0], distance, -iou))
    return Candidates(first[order], second[order], iou[order], distance[order])


def _near_pairs(marks: Marks, limit: float) -> tuple[Indices, Indices, NDArray[np.float64], NDArray[np.float64]]:
    from scipy.spatial import KDTree

    place = marks.place
    near = KDTree(place).query_pairs(limit * (1 + 1e-9), output_type="ndarray") if len(marks) else np.empty((0, 2), int)
    first, second = near.min(axis=1), near.max(axis=1)
    distance = np.array([dist(p, q) for p, q in zip(place[first].tolist(), place[second].tolist(), strict=True)])
    keep = (marks.owner[first] != marks.owner[second]) & (distance <= limit)
    first, second, distance = first[keep], second[keep], distance[keep]
    o, count = marks.overlaps, max(len(marks), 1)
    keys, known = first * count + second, o.first * count + o.second
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, keys, sorter=order), max(len(known) - 1, 0))
    iou = np.zeros(len(keys))
    if len(known):
        same = known[order[at]] == keys
        iou[same] = marks.iou[order[at[same]]]
    return first, second, iou, distance


# -- pairs of raters -------------------------------------------------------------------------------


def match_pair(candidates: Candidates, matching: str, rule: Rule) -> Indices:
    """Which candidates of two raters are matched one to one."""
    if matching not in MATCHINGS:
        raise CallError(f"matching must be one of {', '.join(MATCHINGS)}; got {matching!r}")
    if matching == "bipartite":
        return _match_bipartite(candidates, rule)
    return _match_greedy(candidates)


def _match_greedy(candidates: Candidates) -> Indices:
    taken: set[int] = set()
    chosen = []
    for k, (a, b) in enumerate(zip(candidates.first.tolist(), candidates.second.tolist(), strict=True)):
        # marks of different raters have different numbers
        if a not in taken and b not in taken:
            taken |= {a, b}
            chosen.append(k)
    return np.array(chosen, np.intp)


def _match_bipartite(candidates: Candidates, rule: Rule) -> Indices:
    """Assignment problems, one for each group of marks that are tied together by candidates."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(candidates.first)
    if not count:
        return np.empty(0, np.intp)
    rows, row = np.unique(candidates.first, return_inverse=True)
    columns, column = np.unique(candidates.second, return_inverse=True)
    size = len(rows) + len(columns)
    links = coo_array((np.ones(count, bool), (row, column + len(rows))), shape=(size, size))
    group = connected_components(links, directed=False)[1][row]
    order = np.argsort(group, kind="stable")
    gain = candidates.iou
    if rule.name == "distance":
        gain = 1 + (1 - candidates.distance / rule.threshold) / (count + 1)  # one more pair outweighs all distances
    chosen = []
    for edges in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if len(edges) == 1:
            chosen.append(edges)
            continue
        r, c = (np.unique(each[edges], return_inverse=True)[1] for each in (row, column))
        table, number = np.zeros((r.max() + 1, c.max() + 1)), np.full((r.max() + 1, c.max() + 1), -1)
        table[r, c], number[r, c] = gain[edges], edges
        best = number[linear_sum_assignment(table, maximize=True)]
        chosen.append(best[best >= 0])
    return np.sort(np.concatenate(chosen))


# -- all raters at once ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """Two clusters that became one, which has the next number; marks are the first clusters."""

    first: int
    second: int
    iou: float


def merge_marks(marks: Marks, rule: Rule) -> list[Merge]:
    """The merges of clusters by falling mean IoU."""
    candidates = find_candidates(marks, rule)
    links = _Links(marks, rule)
    members: list[tuple[int, ...]] = [(i,) for i in range(len(marks))]
    ranks: list[tuple[int, ...]] = [(rank,) for rank in marks.rank.tolist()]
    who = [1 << owner for owner in marks.owner.tolist()]
    near: list[set[int]] = [set() for _ in members]
    heap = []
    columns = (candidates.first, candidates.second, candidates.iou, candidates.distance)
    for a, b, iou, distance in zip(*(each.tolist() for each in columns), strict=True):
        near[a].add(b)
        near[b].add(a)
        heap.append((-iou, distance, *sorted((ranks[a], ranks[b])), a, b))
    heapify(heap)
    gone, merges = [False] * len(members), []
    while heap:
        iou, _, _, _, a, b = heappop(heap)
        if gone[a] or gone[b]:
            continue
        gone[a] = gone[b] = True
        new = len(members)
        merges.append(Merge(a, b, -iou))
        members.append(members[a] + members[b])
        ranks.append(tuple(sorted(ranks[a] + ranks[b])))
        who.append(who[a] | who[b])
        gone.append(False)
        near.append(set())
        for other in near[a] | near[b]:
            if gone[other] or who[other] & who[new]:
                continue
            linked = links.between(members[new], members[other])
            if linked is not None:
                near[new].add(other)
                near[other].add(new)
                heappush(heap, (-linked[0], linked[1], *sorted((ranks[new], ranks[other])), new, other))
    return merges


class _Links:
    """Means over the pairs of two clusters."""

    def __init__(self, marks: Marks, rule: Rule) -> None:
        o, self.count, self.rule = marks.overlaps, len(marks), rule
        keys = (o.first.astype(np.int64) * max(self.count, 1) + o.second).tolist()
        self.iou = dict(zip(keys, _scaled(marks.iou), strict=True))
        self.share = dict(zip(keys, _scaled(marks.share), strict=True)) if rule.name == "overlap" else {}
        self.place = marks.place.tolist() if rule.name == "distance" else []

    def between(self, first: Sequence[int], second: Sequence[int]) -> tuple[float, float] | None:
        """Mean IoU and mean distance (0 where the rule needs none), or None where the rule is broken."""
        n = len(first) * len(second) << SCALE
        keys = [a * self.count + b if a < b else b * self.count + a for a in first for b in second]
        iou = sum(self.iou.get(key, 0) for key in keys) / n
        if self.rule.name == "iou":
            return (iou, 0.0) if iou >= self.rule.threshold else None
        if self.rule.name == "overlap":
            share = sum(self.share.get(key, 0) for key in keys) / n
            return (iou, 0.0) if share >= self.rule.threshold else None
        distance = sum(int(dist(self.place[a], self.place[b]) * 2.0**SCALE) for a in first for b in second) / n
        return (iou, distance) if distance <= self.rule.threshold else None


def _scaled(values: NDArray[np.float64]) -> list[int]:
    whole: list[int] = (values * 2.0**SCALE).astype(np.int64).tolist()
    return whole


def number_lesions(marks: Marks, merges: Iterable[Merge]) -> Indices:
    """The lesion of each mark; lesions are numbered by the first of their pixels, then by geometry."""
    parent = list(range(len(marks)))
    for new, merge in enumerate(merges, start=len(marks)):
        parent.append(new)
        parent[merge.first] = parent[merge.second] = new
    for node in range(len(parent) - 1, -1, -1):
        parent[node] = parent[parent[node]]
    _, cluster = np.unique(np.array(parent[: len(marks)], np.intp), return_inverse=True)
    count = int(cluster.max(initial=-1)) + 1
    # ranks rise with the first pixel; two lesions have no mark of the same pixels in common
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, cluster, marks.rank)
    number = np.empty(count, np.intp)
    number[np.argsort(least)] = np.arange(count)
    return number[cluster]


def partitions(marks: Marks, rule: Rule, thresholds: Sequence[float]) -> Iterator[tuple[float, Indices]]:
    """The lesion of each mark under every threshold.

    Mean IoU falls from merge to merge, so that under the rule ``iou`` one run with the smallest threshold has all
    others in it.
    """
    if rule.name == "iou":
        merges = merge_marks(marks, Rule("iou", min(thresholds)))
        for threshold in thresholds:
            yield threshold, number_lesions(marks, [merge for merge in merges if merge.iou >= threshold])
    else:
        for threshold in thresholds:
            yield threshold, number_lesions(marks, merge_marks(marks, Rule(rule.name, threshold)))
