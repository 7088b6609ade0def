"""Studies with disputes, and logs of decisions about them, made through the functions that a server calls."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.io import write_map
from manytruths.io.decision_log import DecisionLog, Entry, log_name
from manytruths.study.adjudicated import decide_payload, study_digest
from manytruths.study.disputes import CaseDisputes, Dispute, DisputeRule, find_disputes

Array = NDArray[Any]


def square(shape: tuple[int, ...], *boxes: tuple[slice, ...] | tuple[int, ...], value: int = 1) -> Array:
    """An image with boxes (top, bottom, left, right) marked."""
    mask = np.zeros(shape, np.uint8)
    for top, bottom, left, right in boxes:
        mask[..., top:bottom, left:right] = value
    return mask


def three_readers(value: int = 1) -> dict[str, dict[str, Array]]:
    """Two cases: a lesion that all drew alike, one drawn differently, one that a rater missed, one that two missed."""
    size = (64, 80)
    alike, wide, narrow = (4, 14, 4, 14), (4, 20, 30, 50), (10, 18, 34, 44)
    seen, alone = (30, 40, 10, 22), (44, 54, 50, 60)
    one = {
        "anna": square(size, alike, wide, seen, value=value), "ben": square(size, alike, narrow, seen, value=value),
        "clara": square(size, alike, (4, 18, 30, 48), alone, value=value),
    }  # fmt: skip
    two = {
        "anna": square(size, seen, value=value), "ben": square(size, seen, value=value),
        "clara": square(size, (30, 40, 10, 21), value=value),
    }  # fmt: skip
    return {"p1": one, "p2": two}


def write_study(folder: Path, cases: Mapping[str, Mapping[str, Array]], suffix: str = ".png") -> str:
    """The masks as files; the template of them."""
    for case, by_rater in cases.items():
        for rater, mask in by_rater.items():
            path = folder / rater / f"{case}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_map(path, mask)
    return f"{folder}/{{rater}}/{{case}}{suffix}"


def disputes_of(study: mt.Study, rule: DisputeRule | None = None) -> dict[str, CaseDisputes]:
    """What there is to decide, by case."""
    return {case.name: find_disputes(case.read(by_tile=True), rule) for case in study}


def adjudicate(
    folder: Path,
    study: mt.Study,
    choose: Callable[[Dispute], str | Mapping[str, Any] | None],
    *,
    name: str = "Ada",
    machine: str = "ward",
    rule: DisputeRule | None = None,
    which: Callable[[CaseDisputes], Iterable[Dispute]] | None = None,
    **more: Any,
) -> Path:
    """Decide about the disputes of a study: ``choose`` gives a choice, further keywords of a payload, or nothing."""
    rule = rule or DisputeRule()
    path = folder / log_name(name, machine)
    with DecisionLog.open(path, study=study_digest(study), adjudicator=name, machine=machine) as log:
        if not list(log.entries()):
            append(log, "open", payload={"rule": asdict(rule), "seed": 1, "settings": {"first_look": True}})
        for found in disputes_of(study, rule).values():
            for dispute in which(found) if which else found.disputes:
                answer = choose(dispute)
                if answer is None:
                    continue
                given = {"choice": answer} if isinstance(answer, str) else dict(answer)
                payload = decide_payload(dispute, rule=rule, **{**more, **given})
                append(log, "decide", item=dispute.key, case=dispute.case, payload=payload)
    return path


def append(log: DecisionLog, action: str, **more: Any) -> Entry:
    """An entry under a new uuid."""
    return log.append(action, uuid=str(uuid.uuid4()), **more)


def session(
    folder: Path,
    study: mt.Study,
    *,
    name: str = "Ada",
    rule: DisputeRule | None = None,
    decide: Callable[[Dispute], str] = lambda dispute: "union",
    controls: int = 3,
    wrong: int = 1,
    repeats: int = 2,
    changed: int = 1,
    purpose: str = "dispute",
    finish: bool = False,
) -> Path:
    """What a server would write: first looks, decisions, controls (some overturned) and repeats (some changed)."""
    rule = rule or DisputeRule()
    path = folder / log_name(name, "ward")
    settings = {"order": "subject", "first_look": True, "names": False, "seed": 7, "role": "first"}
    with DecisionLog.open(path, study=study_digest(study), adjudicator=name, machine="ward") as log:
        append(log, "open", payload={"rule": asdict(rule), "seed": 7, "settings": settings})
        found = disputes_of(study, rule)
        disputes = [each for case in found.values() for each in case.disputes]
        agreed = [each for case in found.values() for each in case.settled][:controls]

        def settle(each: Dispute, choice: str, what: str, looks: str, seconds: float) -> None:
            drawn: dict[str, Any] = {}
            if choice == "drawn":
                drawn = {"drawn": [[1, [0, each.shape[-1]]]]}
            slot = {"key": each.key, "purpose": what}
            append(log, "look", item=each.key, case=each.case, payload={"answer": looks, "seconds": 2.0, **slot})
            payload = decide_payload(
                each, choice, rule=rule, seconds=seconds, purpose=what, seen={"answer": looks, "names": False}, **drawn
            )
            append(log, "decide", item=each.key, case=each.case, payload=payload)

        for number, each in enumerate(disputes):
            choice = decide(each)
            settle(each, choice, purpose, "no_lesion" if choice == "none" else "lesion", 10.0 + number)
        for number, each in enumerate(agreed):
            right, other = ("union", "none") if each.drawn else ("none", "drawn")
            settle(each, other if number < wrong else right, "control", "lesion", 8.0)
        for number, each in enumerate(disputes[:repeats]):
            settle(each, "none" if number < changed else decide(each), "repeat", "lesion", 6.0)
        if finish:
            append(log, "finish", payload={"name": f"Dr. {name}", "meaning": "approved"})
    return path
