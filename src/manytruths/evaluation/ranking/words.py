"""What may be said of a ranking: who wins, who cannot be told apart, and what depends on the choice of truth.

Two algorithms are told apart if one is significantly better (one-sided Wilcoxon's test after Holm) under every metric
and every truth of the ranking: the largest p counts (an intersection–union test). A winner is declared only if the
first is told apart from every other in this way, and is first in at least 95% of the resamples under every truth.

Berger RL. Multiparameter hypothesis testing and acceptance sampling. Technometrics 1982;24:295–300.
doi:10.1080/00401706.1982.10487790. Groups as bars over neighbours: Demšar J. Statistical comparisons of classifiers
over multiple data sets. J Mach Learn Res 2006;7:1–30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...core.undefined import Undefined
from .scores import Values

SURE = 0.95
"""The share of resamples in which a winner is first."""
NAMED = 3


@dataclass(frozen=True)
class Group:
    """Neighbours in a ranking of whom no two can be told apart."""

    algorithms: tuple[str, ...]

    def __str__(self) -> str:
        names = self.algorithms
        if len(names) > 2 * NAMED:
            return f"{len(names)} algorithms, from {names[0]} to {names[-1]}, cannot be told apart"
        return f"{listed(names)} cannot be told apart"


@dataclass(frozen=True)
class Distinct:
    """A ranking, best first (ties joined by =), and the truths that give it."""

    ranking: str
    truths: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a verdict rests on: the order, all pairs' largest p, and shares of resamples."""

    algorithms: tuple[str, ...]
    ranks: Values
    p: Values
    """Row better than column: the largest adjusted p over metrics and truths."""
    where: NDArray[np.object_]
    """The metric and truth that have it."""
    ahead: Values
    """Row before column: the share of resamples."""
    least_first: Values
    """Each algorithm's smallest share of first places over the truths."""
    alpha: float
    refusal: Undefined | None = None

    @property
    def order(self) -> list[int]:
        """Best first, ties by name."""
        return ordered(self.ranks, self.algorithms)


@dataclass(frozen=True)
class Verdict:
    """Whether there is a winner, and the sentence to print."""

    winner: str | None
    sentence: str


def ordered(ranks: Values, algorithms: Sequence[str]) -> list[int]:
    """Positions best first, ties by name."""
    return sorted(range(len(algorithms)), key=lambda i: (ranks[i], algorithms[i]))


def groups(evidence: Evidence) -> tuple[Group, ...]:
    """The longest runs of neighbours in which no pair is told apart; two runs may overlap."""
    order = evidence.order
    better = evidence.p < evidence.alpha
    apart = better | better.T
    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not apart[order[end + 1], order[start : end + 1]].any():
            end += 1
        if end > start and (not runs or end > runs[-1][1]):
            runs.append((start, end))
    return tuple(Group(tuple(evidence.algorithms[i] for i in order[a : b + 1])) for a, b in runs)


def verdict(evidence: Evidence) -> Verdict:
    """The winner, if there is one, and why there is none if not."""
    names, order = evidence.algorithms, evidence.order
    leaders = [i for i in order if evidence.ranks[i] == evidence.ranks[order[0]]]
    if len(leaders) > 1:
        return Verdict(None, f"{listed([names[i] for i in leaders])} share the first place: no winner is declared.")
    first, others = order[0], order[1:]
    rivals = [i for i in others if evidence.p[first, i] >= evidence.alpha]
    better = [i for i in rivals if evidence.p[i, first] < evidence.alpha]
    if better:
        told = listed([f"{names[i]} {_evidence(evidence, i, first)}" for i in better[:NAMED]])
        return Verdict(None, f"{names[first]} is first, but the test has a better one, {told}: no winner is declared.")
    if rivals:
        return Verdict(None, _not_apart(evidence, first, rivals))
    return _significant(evidence, first, others[0])


def _not_apart(evidence: Evidence, first: int, rivals: list[int]) -> str:
    names = evidence.algorithms
    told = [f"{names[i]} {_evidence(evidence, first, i)}" for i in rivals[:NAMED]]
    if len(rivals) > NAMED:
        told.append(f"{len(rivals) - NAMED} more")
    return f"{names[first]} is first, but it cannot be told apart from {listed(told)}: no winner is declared."


def _significant(evidence: Evidence, first: int, second: int) -> Verdict:
    name, share = evidence.algorithms[first], evidence.least_first[first]
    told = f"significantly better than every other, such as {evidence.algorithms[second]}"
    told = f"{told} {_evidence(evidence, first, second)}"
    if evidence.refusal:
        return Verdict(None, f"{name} is first and {told}, but no winner is declared: {evidence.refusal.reason}.")
    if not share >= SURE:
        few = f"in only {share:.0%} of the resamples under one of the truths"
        return Verdict(None, f"{name} is {told}, but first {few}: no winner is declared below {SURE:.0%}.")
    often = "all" if share == 1 else f"at least {np.floor(share * 100):.0f}%"
    return Verdict(name, f"{name} wins: {told}, and first in {often} of the resamples under every truth.")


def _evidence(evidence: Evidence, first: int, other: int) -> str:
    """``(Holm p = 0.21, dice against staple; unet ahead in 71% of resamples)``."""
    where = f", {evidence.where[first, other]}" if evidence.where[first, other] else ""
    ahead = evidence.ahead[first, other]
    unknown = evidence.refusal or np.isnan(ahead)
    known = "" if unknown else f"; {evidence.algorithms[first]} ahead in {ahead:.0%} of resamples"
    return f"(Holm p {p_text(float(evidence.p[first, other]))}{where}{known})"


def p_text(p: float) -> str:
    """``= 0.21``, ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"= {p:.2f}" if p >= 0.1 else f"= {p:.3f}"


def distinct(algorithms: Sequence[str], rankings: dict[str, Values]) -> tuple[Distinct, ...]:
    """The different rankings and which truths give each, the most frequent first (Lampert's Table 8).

    >>> distinct(["a", "b"], {"x": np.array([1.0, 2.0]), "y": np.array([2.0, 1.0]), "z": np.array([1.0, 2.0])})
    (Distinct(ranking='a > b', truths=('x', 'z')), Distinct(ranking='b > a', truths=('y',)))
    """
    givers: dict[str, list[str]] = {}
    for truth, found in rankings.items():
        givers.setdefault(ranking_text(algorithms, found), []).append(truth)
    found_all = [Distinct(text, tuple(truths)) for text, truths in givers.items()]
    return tuple(sorted(found_all, key=lambda d: -len(d.truths)))


def ranking_text(algorithms: Sequence[str], found: Values) -> str:
    """``unet > vnet = baseline``."""
    order = ordered(found, algorithms)
    text = algorithms[order[0]]
    for before, after in pairwise(order):
        text += (" = " if found[before] == found[after] else " > ") + algorithms[after]
    return text


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
