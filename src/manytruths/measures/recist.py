"""Responses by RECIST 1.1 from the diameters of target lesions, visit by visit.

| response of the targets | where |
|---|---|
| CR | every target that is no lymph node is gone, and every node has a short axis below 10 mm |
| PD | the sum has grown by 20% and by 5 mm over its smallest value before (the nadir, which may be the baseline) |
| PR | the sum is smaller than at baseline by 30% |
| SD | else |
| NE | a target was not evaluated, unless the others alone have grown enough for PD |

The overall response is that of Table 1 of the guideline: with a new lesion, or unequivocal progression of a non-target
lesion, PD; CR needs all non-targets to be gone, too.

Eisenhauer EA, Therasse P, Bogaerts J, et al. New response evaluation criteria in solid tumours: revised RECIST
guideline (version 1.1). Eur J Cancer 2009;45:228–247. doi:10.1016/j.ejca.2008.10.026
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.undefined import Undefined

PARTIAL, PROGRESSION, LEAST_GROWTH, NORMAL_NODE = 0.3, 0.2, 5.0, 10.0
"""Share of the baseline, share of the nadir, mm, and the short axis (mm) below which a node is normal."""
MEASURABLE, MEASURABLE_NODE = 10.0, 15.0
"""Least long axis of a target at baseline, and least short axis of a node (mm)."""
_ROUNDING = 1e-9
"""Relative; 30% is 30% however it is rounded."""


@dataclass(frozen=True)
class Visit:
    """What was found at one visit.

    Attributes
    ----------
    targets : mapping of str to float or None
        The diameter of each target in mm: the long axis, of a lymph node the short axis; None where it was not
        evaluated, 0 where it is gone.
    nodes : frozenset of str
        Targets that are lymph nodes.
    non_targets : mapping of str to str
        ``present``, ``absent``, ``progression`` (unequivocal), or empty where it was not evaluated.
    new_lesion : bool
        Whether there is an unequivocal new lesion.
    shared : frozenset of str
        Targets that were not evaluated since two of them lie in one mark.
    """

    targets: Mapping[str, float | None]
    nodes: frozenset[str] = frozenset()
    non_targets: Mapping[str, str] = field(default_factory=dict)
    new_lesion: bool = False
    shared: frozenset[str] = frozenset()

    @property
    def gap(self) -> Undefined:
        """Why there is no sum where a target was not evaluated."""
        return Undefined("targets_in_one_lesion" if self.shared else "target_not_evaluated")

    @property
    def total(self) -> float:
        """The sum of diameters of what was evaluated, in mm."""
        return math.fsum(diameter for diameter in self.targets.values() if diameter is not None)

    @property
    def complete(self) -> bool:
        """Whether every target was evaluated."""
        return bool(self.targets) and None not in self.targets.values()


@dataclass(frozen=True)
class Response:
    """The response at a visit after the baseline.

    Attributes
    ----------
    overall, target, non_target : str
        CR, PR, SD, PD or NE; of non-targets CR, non-CR/non-PD, PD or NE, or empty where there are none.
    new_lesion : bool
        Whether there is a new lesion.
    total : float
        Sum of diameters in mm; undefined where a target was not evaluated.
    nadir : float
        Smallest sum before this visit.
    change_from_baseline, change_from_nadir : float
        Relative changes of the sum.
    """

    overall: str
    target: str
    non_target: str
    new_lesion: bool
    total: float
    nadir: float
    change_from_baseline: float
    change_from_nadir: float


def too_small(baseline: Visit) -> dict[str, float]:
    """The targets that are not measurable at baseline, with their diameters in mm.

    >>> too_small(Visit({"liver 1": 9.5, "lung 1": 10.0, "node 1": 12.0}, frozenset({"node 1"})))
    {'liver 1': 9.5, 'node 1': 12.0}
    """
    least = {name: MEASURABLE_NODE if name in baseline.nodes else MEASURABLE for name in baseline.targets}
    found = {name: diameter for name, diameter in baseline.targets.items() if diameter is not None}
    return {name: diameter for name, diameter in found.items() if diameter < least[name] * (1 - _ROUNDING)}


def recist_responses(visits: Sequence[Visit]) -> list[Response]:
    """The response at every visit but the first, which is the baseline.

    >>> sums = [60, 40, 42, 50]
    >>> [r.overall for r in recist_responses([Visit({"liver 1": mm}) for mm in sums])]
    ['PR', 'PR', 'PD']
    """
    return [_respond(visits[:k], visits[k]) for k in range(1, len(visits))]


def _respond(before: Sequence[Visit], visit: Visit) -> Response:
    baseline = before[0]
    sums = [earlier.total for earlier in before if earlier.complete]
    nadir = min(sums) if sums and baseline.complete else baseline.gap
    total = visit.total if visit.complete else visit.gap
    target, others = _target_response(baseline, nadir, visit), _non_target_response(visit.non_targets.values())
    return Response(
        _overall(target, others, new_lesion=visit.new_lesion), target, others, visit.new_lesion, total, nadir,
        _relative(total, baseline.total if baseline.complete else baseline.gap), _relative(total, nadir),
    )  # fmt: skip


def _relative(now: float, before: float) -> float:
    for value in (now, before):
        if isinstance(value, Undefined):
            return value
    return (now - before) / before if before else Undefined("reference_size_zero")


def _target_response(baseline: Visit, nadir: float, visit: Visit) -> str:
    if not baseline.complete or not baseline.total:
        return "NE"
    grown = visit.total - nadir
    if visit.complete and _all_gone(visit):
        return "CR"
    if grown >= LEAST_GROWTH * (1 - _ROUNDING) and grown >= PROGRESSION * nadir * (1 - _ROUNDING):
        return "PD"
    if not visit.complete:
        return "NE"
    shrunk = baseline.total - visit.total
    return "PR" if shrunk >= PARTIAL * baseline.total * (1 - _ROUNDING) else "SD"


def _all_gone(visit: Visit) -> bool:
    return all(
        (diameter or 0) < NORMAL_NODE if name in visit.nodes else not diameter
        for name, diameter in visit.targets.items()
    )


def _non_target_response(found: Collection[str]) -> str:
    if "progression" in found:
        return "PD"
    if not found:
        return ""
    if "" in found:
        return "NE"
    return "CR" if set(found) == {"absent"} else "non-CR/non-PD"


def _overall(target: str, others: str, *, new_lesion: bool) -> str:
    """Table 1 of the guideline."""
    if new_lesion or "PD" in (target, others):
        return "PD"
    if target == "CR" and others not in ("", "CR"):
        return "PR"
    return target
