"""The adjudicated reference standard: which decision holds for each dispute, and the mask of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..io.decision_log import Entry, LogContent
from .disputes import CaseDisputes, Dispute, DisputeRule
from .study import Study


def study_digest(study: Study) -> str:
    """What tells the logs of a study from those of others: digests of its cases' names."""
    raise NotImplementedError


def decide_payload(
    dispute: Dispute,
    choice: str,
    *,
    rule: DisputeRule | None = None,
    label: int | None = None,
    drawn: Iterable[tuple[int, Iterable[int]]] = (),
    box: tuple[tuple[int, int], ...] | None = None,
    reason: str = "",
    comment: str = "",
    seconds: float = 0.0,
    seen: Mapping[str, Any] | None = None,
    purpose: str = "dispute",
) -> dict[str, Any]:
    """What a log says of a decision.

    ``drawn`` is for ``choice="drawn"``: [[value, [start, length, …]], …] in ``box`` (by default that of the dispute),
    C order, in pixels of the masks. ``label`` gives all pixels of the choice another label.
    """
    raise NotImplementedError


@dataclass(frozen=True)
class Standing:
    """What holds for one dispute, from all logs."""

    key: str
    case: str
    status: str
    """``open``, ``decided``, ``second`` (needs a second adjudicator), ``conflict`` or ``stale``."""
    holds: Entry | None
    """The ``decide``, ``rule`` or ``add`` entry that holds."""
    decisions: tuple[Entry, ...]
    """The last one of every adjudicator, in order of time."""


def standings(logs: Iterable[LogContent], found: Mapping[str, CaseDisputes] | None = None) -> dict[str, Standing]:
    """By key, over all logs: practice, controls and repeats do not count; stale where the key is not in ``found``."""
    raise NotImplementedError
