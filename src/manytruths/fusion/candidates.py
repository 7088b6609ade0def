"""What a consensus may have been made by: methods, settings and panels, each a decision for every pattern of a table.

A candidate is a look-up over patterns, so that thousands of them cost no pass over pixels. Rules that share their work
(thresholds on one map of STAPLE) are computed together. A panel is all raters, or all but some of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID, Labels
from ..core.tally import Counts, Tally, find_rows
from .result import unrated_code, with_mark
from .simple import simple
from .staple import TIE, Prior, staple
from .vote import find_outliers, plurality, vote_by_label

Codes = NDArray[np.uint8]

SHARES = (0.5, 0.25, 1 / 3, 2 / 3, 0.75, 0.9)
"""The usual first: shares of the raters who rated an item, for votes where not everybody did."""
CUTS = (0.1, 0.25, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Thresholds on STAPLE's probability besides one half."""
PRIORS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Fixed priors of STAPLE; all others are looked for by :func:`manytruths.fusion.prior_ranges.find_prior_ranges`."""
MARGINS = (0, 5, 10)
"""Pixels around the bounding box of all marks, for images that were cropped before STAPLE."""
ALPHAS = (1.0, 1.5, 2.0, 2.5, 3.0)
MOST_LEFT_OUT = 20
"""Raters up to which they are left out one by one."""
MOST_PAIRS = 16
"""Raters up to which two are left out at once, of votes."""
LEAST_LEFT = 2
"""At least so many raters remain in a panel."""

FAMILIES = (
    "vote", "rater", "plurality", "share", "excl", "simple", "staple", "staple of a region", "cut of staple", "changed",
    "level set",
)  # fmt: skip
"""From the simplest: of candidates that make the same masks, the first is named."""


@dataclass(frozen=True)
class Candidate:
    """What may have made a consensus.

    Attributes
    ----------
    name : str
        In words, as in ``votes >= 2 of 13``.
    family : str
        One of :data:`FAMILIES`.
    left_out : tuple of str
        The raters who are not used.
    """

    name: str
    family: str
    left_out: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, int]:
        """Simpler candidates come first; all raters before some of them."""
        return len(self.left_out), FAMILIES.index(self.family)


@dataclass(frozen=True, eq=False)
class Panel:
    """The table of a case, and the raters of it that are used."""

    whole: Tally
    """First readings of all raters; of one label, marked or not."""
    left_out: tuple[str, ...] = ()
    boxes: Mapping[int, Counts] = field(default_factory=dict)
    """Items of each pattern of the whole table within the bounding box of all marks, by its margin in pixels."""

    @cached_property
    def keep(self) -> list[int]:
        """Positions of the raters who are used."""
        return [i for i in self.whole.raters if self.whole.columns[i].name not in self.left_out]

    @cached_property
    def given(self) -> Codes:
        """(patterns, raters) codes."""
        return np.asarray(self.whole.patterns[:, self.keep])

    @cached_property
    def rated(self) -> NDArray[np.int64]:
        """How many raters of the panel rated each pattern of the whole table."""
        return np.asarray((self.given != VOID).sum(axis=1), np.int64)

    @cached_property
    def votes(self) -> NDArray[np.int64]:
        """How many raters of the panel marked each pattern of the whole table."""
        return np.asarray(np.isin(self.given, self.whole.labels.marks).sum(axis=1), np.int64)

    @cached_property
    def table(self) -> Tally:
        """The panel's own table."""
        return self.whole.project(self.whole.columns[i] for i in self.keep)

    def counted(self, region: str) -> Tally:
        """The panel's own table with the items of a region alone; patterns stay."""
        if region == "whole":
            return self.table
        if region.startswith("box"):
            box = self.boxes[int(region.removeprefix("box"))]
            return self.table.recount(np.bincount(self.where, box, len(self.table.counts)))
        some = self.table.restrict(region)
        counts = np.zeros_like(self.table.counts)
        counts[find_rows(self.table, some.patterns)] = some.counts
        return self.table.recount(counts)

    @cached_property
    def where(self) -> NDArray[np.intp]:
        """The row of the panel's own table for each pattern of the whole one."""
        return find_rows(self.table, self.given)

    def spread(self, codes: NDArray[Any]) -> Codes:
        """(candidates, patterns) decisions on the panel's own table, onto the whole one."""
        spread = np.asarray(codes, np.uint8)[..., self.where]
        return np.where(self.rated > 0, spread, unrated_code(self.whole.labels)).astype(np.uint8)


class Rule(ABC):
    """Candidates that are computed together."""

    @abstractmethod
    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        """What it decides, for raters of these names of whom some are left out."""

    @abstractmethod
    def decide(self, panel: Panel) -> Codes:
        """(candidates, patterns of the whole table) codes."""


def _without(left_out: Sequence[str]) -> str:
    *others, last = left_out or ("",)
    return f", without {', '.join(others)}{' and ' * bool(others)}{last}" if left_out else ""


@dataclass(frozen=True)
class Votes(Rule):
    """What at least k raters marked, for all k."""

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        size, found = len(names) - len(left_out), []
        for least in range(1, size + 1):
            bound = {1: " (union)", size: " (intersection)"}.get(least, "") if size > 1 else ""
            name = f"votes >= {least} of {size}{bound}{_without(left_out)}"
            found.append(Candidate(name, "vote", left_out))
        return found

    def decide(self, panel: Panel) -> Codes:
        return np.asarray(panel.votes >= np.arange(1, len(panel.keep) + 1)[:, None], np.uint8)


@dataclass(frozen=True)
class Shares(Rule):
    """What a share of those who rated an item marked, with ties as marked and as background."""

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        return [
            Candidate(f"share of votes {sign} {share:.3g}{_without(left_out)}", "share", left_out)
            for share in SHARES
            for sign in (">=", ">")
        ] + [Candidate(f"all who rated{_without(left_out)}", "share", left_out)]

    def decide(self, panel: Panel) -> Codes:
        share = panel.votes / np.maximum(panel.rated, 1)
        each = [flags for limit in SHARES for flags in (share >= limit - TIE, share > limit + TIE)]
        return np.stack([*each, (panel.votes == panel.rated) & (panel.rated > 0)]).astype(np.uint8)


@dataclass(frozen=True)
class OneRater(Rule):
    """The mask of one rater."""

    rater: str

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        # who is not used is said by the name: all but one is no panel that somebody was left out of
        return [Candidate(f"rater {self.rater} alone", "rater")]

    def decide(self, panel: Panel) -> Codes:
        codes = panel.whole.patterns[:, panel.whole.position(self.rater)]
        return np.where(codes == VOID, unrated_code(panel.whole.labels), codes)[None]


@dataclass(frozen=True)
class WithoutOutliers(Rule):
    """Votes of the raters whose Dice distance is no outlier's."""

    size: int
    """Of the panel."""

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        who = f"of the raters who are no outliers{_without(left_out)}"
        least = [Candidate(f"votes >= {k} {who}", "excl", left_out) for k in range(1, self.size)]
        shares = [
            Candidate(f"share of votes {sign} {share:.3g} {who}", "excl", left_out)
            for share in SHARES
            for sign in (">=", ">")
        ]
        return least + shares

    def decide(self, panel: Panel) -> Codes:
        gone = (*panel.left_out, *find_outliers(panel.table))
        left = Panel(panel.whole, gone)
        least = left.votes >= np.arange(1, self.size)[:, None]
        return np.concatenate([least.astype(np.uint8), Shares().decide(left)[:-1]])


@dataclass(frozen=True)
class Simples(Rule):
    """SIMPLE, by how far below the mean raters are dropped and by their score."""

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        return [
            Candidate(f"SIMPLE, alpha {alpha:g}, {score}{_without(left_out)}", "simple", left_out)
            for score in ("Dice", "IoU")
            for alpha in ALPHAS
        ]

    def decide(self, panel: Panel) -> Codes:
        scores: tuple[Any, ...] = ("dice", "iou")
        return panel.spread(np.stack([simple(panel.table, a, s).hard for s in scores for a in ALPHAS]))


PRIOR_NAMES = {
    "prevalence": "the mean vote", "marked": "the share marked by anybody", "estimated": "estimated",
    "uniform": "the same for all labels",
}  # fmt: skip
REGION_NAMES = {
    "whole": "", "union": ", within the union", "modified_background": ", on modified background",
    "box0": ", cropped to the bounding box",
}  # fmt: skip


@dataclass(frozen=True)
class Staples(Rule):
    """STAPLE with a prior, over a region, cut at several probabilities or, of several labels, at the most likely."""

    prior: Prior | Literal["uniform"] = "prevalence"
    """As :func:`manytruths.staple` takes it, or ``uniform``: the same for all labels."""
    region: str = "whole"
    """``whole``, ``union``, ``modified_background``, or ``box`` and the margin."""
    like: str | None = None
    unanimous: str = "keep"
    cuts: tuple[float, ...] = ()

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        family = "staple" if self.region == "whole" else "staple of a region"
        name = f"{self._name}{_without(left_out)}"
        cut = [Candidate(f"{name}, cut at {cut:g}", "cut of staple", left_out) for cut in self.cuts]
        return [Candidate(name, family, left_out), *cut]

    @property
    def _name(self) -> str:
        if self.like is not None:
            return f"STAPLE like {self.like}"
        prior = PRIOR_NAMES[self.prior] if isinstance(self.prior, str) else f"{self.prior:g}"
        margin = self.region.removeprefix("box")
        where = REGION_NAMES.get(self.region, f", cropped to the bounding box and {margin} pixels")
        return f"STAPLE, prior {prior}{where}" + (", unanimous pixels left out" if self.unanimous == "exclude" else "")

    def decide(self, panel: Panel) -> Codes:
        table = panel.counted(self.region)
        # outside the region is background; of other regions some of each pattern is left, and decided alike
        inside = table.marked > 0 if self.region == "union" else np.ones(len(table.counts), bool)
        options: dict[str, Any] = {"like": self.like, "unanimous": self.unanimous}
        found = staple(table, self._starting_prior(table), **options)
        ground = unrated_code(found.labels)
        hard = np.where(inside, np.asarray(found.hard), ground)
        chance = np.asarray(found.probability)
        cut = [(chance >= limit - TIE) & inside & (table.rated > 0) for limit in self.cuts]
        return panel.spread(np.stack([hard, *cut]))

    def _starting_prior(self, table: Tally) -> Prior:
        """The mean vote where the share marked by anybody is 1, which is no prior, or where no label is background."""
        if self.prior == "uniform":
            return (1 / len(table.labels),) * len(table.labels)
        everything = bool((table.marked[table.counts > 0] > 0).all()) or table.labels.background is None
        return "prevalence" if self.prior == "marked" and everything else self.prior


@dataclass(frozen=True)
class Pluralities(Rule):
    """Of several labels: the most frequent one, with ties settled in every way; votes of each label."""

    def candidates(self, names: Sequence[str], left_out: tuple[str, ...]) -> list[Candidate]:
        ways = ("lower", "higher", "background")
        ties = [f"plurality, ties to the {way} label{_without(left_out)}" for way in ways[:2]]
        ties += [f"plurality, ties to background{_without(left_out)}", f"plurality, ties undecided{_without(left_out)}"]
        found = [Candidate(name, "plurality", left_out) for name in ties]
        shares = [Candidate(f"share of votes >= {s:.3g} of a label{_without(left_out)}", "share", left_out)
                  for s in SHARES]  # fmt: skip
        return found + shares

    def decide(self, panel: Panel) -> Codes:
        table = panel.table
        votes, ground = table.votes, unrated_code(table.labels)
        lower = np.asarray(plurality(table).hard, np.uint8)
        higher = (votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)).astype(np.uint8)
        tied = (votes == votes.max(axis=1, initial=0)[:, None]).sum(axis=1) > 1
        undecided = np.where(tied, len(table.labels), lower)
        each = [vote_by_label(table, share, np.ones(len(table.raters)))[1] for share in SHARES]
        return panel.spread(np.stack([lower, higher, np.where(tied, ground, lower), undecided, *each]))


# -- all of them -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Which candidates there are in a study, in one order for all its cases.

    Parameters
    ----------
    raters : tuple of str
        The raters of the study.
    several : bool
        Whether there are several labels.
    exchangeable : bool
        Slots are nobody: none is taken alone or left out.
    boxes : bool
        Whether it is known where the marks are.
    """

    raters: tuple[str, ...]
    several: bool = False
    exchangeable: bool = False
    boxes: bool = True

    @cached_property
    def rules(self) -> list[tuple[tuple[str, ...], Rule]]:
        """Every rule, with the raters who are left out."""
        alone = () if self.exchangeable else self.raters
        every: list[tuple[tuple[str, ...], Rule]] = [((), OneRater(rater)) for rater in alone]
        panels = [left for left in ((), *self._left_out(1)) if len(self.raters) - len(left) >= 1]
        for left in panels:
            every += [(left, rule) for rule in (self._of_labels(left) if self.several else self._of_one_label(left))]
        pairs = [] if self.several or len(self.raters) > MOST_PAIRS else self._left_out(2)
        return every + [(left, Votes()) for left in pairs]

    def _left_out(self, size: int) -> list[tuple[str, ...]]:
        if self.exchangeable or len(self.raters) > MOST_LEFT_OUT or len(self.raters) - size < LEAST_LEFT:
            return []
        return list(combinations(self.raters, size))

    def _of_one_label(self, left: tuple[str, ...]) -> Iterator[Rule]:
        size = len(self.raters) - len(left)
        yield from (Votes(), Shares())
        if size < 2:
            return
        if not self.exchangeable and size > LEAST_LEFT:
            yield WithoutOutliers(size)
        yield Simples()
        yield from (Staples(prior, cuts=CUTS) for prior in ("prevalence", "marked", "estimated"))
        yield from (Staples(prior, cuts=CUTS) for prior in (PRIORS if not left else (0.1, 0.5)))
        yield Staples(unanimous="exclude", cuts=CUTS)
        yield from () if left else (Staples(like="itk", cuts=CUTS),)
        for region in ("union", "modified_background", *self._boxes(left)):
            # of the union everything is marked by somebody
            priors = ("prevalence", "estimated", 0.5, *(() if region == "union" else ("marked",)))
            yield from (Staples(prior, region, cuts=CUTS) for prior in priors)

    def _of_labels(self, left: tuple[str, ...]) -> Iterator[Rule]:
        size = len(self.raters) - len(left)
        yield Pluralities()
        if size < 2:
            return
        yield Simples()
        yield from (Staples(prior) for prior in ("prevalence", "marked", "estimated", "uniform"))
        yield from (Staples(like=like) for like in ("itk", "itk@main", "itk@2.5.6"))
        yield Staples(unanimous="exclude")
        for region in ("union", "modified_background", *self._boxes(left)):
            yield from (Staples(prior, region) for prior in ("prevalence", "estimated"))

    def _boxes(self, left: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"box{margin}" for margin in (MARGINS if not left else MARGINS[:1])) if self.boxes else ()

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every candidate, in the order of the decisions."""
        return [found for left, rule in self.rules for found in rule.candidates(self.raters, left)]

    def decide(self, whole: Tally, boxes: Mapping[int, Counts]) -> Iterator[Codes]:
        """(candidates, patterns) codes, rule by rule; the code after the last label is undecided."""
        panel = Panel(whole, (), boxes)
        for left, rule in self.rules:
            # those without the same raters follow each other
            panel = panel if panel.left_out == left else Panel(whole, left, boxes)
            yield rule.decide(panel)

    def decide_some(
        self, whole: Tally, boxes: Mapping[int, Counts], places: Sequence[int]
    ) -> Iterator[tuple[int, Codes]]:
        """The codes of some candidates, by their places among all of them."""
        start, wanted = 0, set(places)
        for left, rule in self.rules:
            stop = start + len(rule.candidates(self.raters, left))
            if own := wanted.intersection(range(start, stop)):
                codes = rule.decide(Panel(whole, left, boxes))
                yield from ((place, codes[place - start]) for place in sorted(own))
            start = stop


def used_raters(table: Tally, given: NDArray[np.int64]) -> frozenset[str]:
    """The raters whose decision alone changes a reference somewhere: patterns that differ in this rater only.

    Parameters
    ----------
    table : Tally
        First readings of all raters.
    given : ndarray
        (patterns, codes) items by what the reference says.
    """
    said = np.where(given.sum(axis=1) > 0, given.argmax(axis=1), -1)
    known = said >= 0
    rows, said = table.patterns[known][:, table.raters], said[known]
    found = set()
    for place, name in enumerate(table.rater_names):
        others = np.delete(rows, place, axis=1)
        _, group = (
            np.unique(others, axis=0, return_inverse=True) if others.shape[1] else (None, np.zeros(len(rows), int))
        )
        order = np.argsort(group.ravel(), kind="stable")
        same = group.ravel()[order][1:] == group.ravel()[order][:-1]
        if (same & (said[order][1:] != said[order][:-1])).any():
            found.add(name)
    return frozenset(found)


def binary(table: Tally) -> Tally:
    """The table of a study of one label, marked or not."""
    table = with_mark(table)
    return table if table.labels == Labels((0, 1)) else table.foreground()
