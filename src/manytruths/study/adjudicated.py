"""What adjudicators decided about a study: entries of logs, and which decision holds for each dispute.

The decision of one adjudicator holds. Of several, two equal ones hold; two different ones are a conflict, until a third
agrees with one of them or, asked to settle what two differ on, decides otherwise than both. Practice, controls and
repeated showings measure the adjudicator and change nothing. A decision is stale where pixels of its own lesion have
changed since. What comes of it is in
:mod:`manytruths.study.adjudicated_masks`.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.boxed_runs import Box, place_runs, runs_from_pairs, runs_to_list, runs_to_pairs, unite
from ..core.errors import CallError, InputError, StudyError
from ..core.runs import LabelRuns, divide_runs
from ..io.decision_log import FOLDER, Entry, LogContent, LogError, read_logs, same_study
from .disputes import CaseDisputes, Dispute, DisputeRule, choose_runs
from .logged import check_logs

if TYPE_CHECKING:
    from .study import Study

METHOD = "adjudicated"
PURPOSES = ("dispute", "practice", "control", "repeat", "double")
COUNTED = ("dispute", "double")
"""Purposes of decisions that enter the mask."""
CHOICES = ("union", "intersection", "majority", "none", "not_evaluable", "drawn")
"""Besides ``rater:NAME``."""
DECIDING = ("decide", "add", "rule")
"""Actions that can change a mask."""


# -- what a log says -------------------------------------------------------------------------------


def study_digest(study: Study) -> str:
    """What tells the logs of a study from those of others: digests of its cases' names.

    Logs belong to a study if they have a case in common, so that cases can be added to it.
    """
    cases = sorted(_short(case.name, 8) for case in study)
    return f"{_short(','.join(cases), 16)}:{','.join(cases)}"


def _short(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def decide_payload(
    dispute: Dispute,
    choice: str,
    *,
    rule: DisputeRule | None = None,
    label: int | None = None,
    drawn: Iterable[tuple[int, Iterable[int]]] = (),
    box: Box | None = None,
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
    if purpose not in PURPOSES:
        raise CallError(f"a purpose is one of {', '.join(PURPOSES)}; got {purpose!r}")
    if choice not in CHOICES and not choice.startswith("rater:"):
        raise CallError(f"a choice is rater:NAME or one of {', '.join(CHOICES)}; got {choice!r}")
    own = dispute.box
    union = choose_runs(dispute, "union")
    if choice == "drawn":
        where = own if box is None else tuple((int(a), int(b)) for a, b in box)
        painted = runs_from_pairs(drawn, where)
        own = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(own, where, strict=True))
        painted, union = place_runs(painted, where, own), place_runs(union, dispute.box, own)
    elif choice == "not_evaluable":
        painted = union.select(np.zeros(len(union), np.bool_))
    else:
        painted = choose_runs(dispute, choice)
    if label is not None:
        painted = LabelRuns(painted.shape, painted.starts, painted.stops, np.full(len(painted), int(label))).join()
    domain = unite([union, painted])
    return {
        "key": dispute.key, "kind": dispute.kind, "label": label if label is not None else dispute.label,
        "choice": choice, "box": [list(part) for part in own], "domain": runs_to_list(domain),
        "pixels": runs_to_pairs(painted), "old": dispute.key, "reason": reason, "comment": comment,
        "seconds": round(float(seconds), 3), "seen": dict(seen or {}), "purpose": purpose,
    } | ({"rule": asdict(rule)} if rule is not None else {})  # fmt: skip


def add_payload(
    key: str,
    box: Box,
    drawn: Iterable[tuple[int, Iterable[int]]],
    *,
    comment: str = "",
    seconds: float = 0.0,
    seen: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a log says of a lesion that nobody marked and an adjudicator added; ``key`` is any name of it."""
    painted = runs_from_pairs(drawn, box)
    return {
        "key": key, "kind": "added", "label": None, "choice": "drawn", "box": [list(part) for part in box],
        "domain": runs_to_list(painted), "pixels": runs_to_pairs(painted), "old": "", "reason": "", "comment": comment,
        "seconds": round(float(seconds), 3), "seen": dict(seen or {}), "purpose": "dispute",
    }  # fmt: skip


# -- which decision holds --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Standing:
    """What holds for one dispute, from all logs."""

    key: str
    case: str
    status: str
    """``decided``, ``second`` (needs a second adjudicator), ``conflict`` or ``stale``."""
    holds: Entry | None
    """The ``decide``, ``rule`` or ``add`` entry that holds."""
    decisions: tuple[Entry, ...]
    """The last one of every adjudicator, in order of time."""

    @property
    def choice(self) -> str:
        """Of the decision that holds."""
        return "" if self.holds is None else choice_of(self.holds)


def choice_of(entry: Entry) -> str:
    """What was chosen: ``rater:NAME``, ``union``, …"""
    return str(entry.payload.get("rule" if entry.action == "rule" else "choice", ""))


def purpose_of(entry: Entry) -> str:
    """What a decision was for."""
    return str(entry.payload.get("purpose", "dispute"))


def effective(logs: Iterable[LogContent]) -> list[Entry]:
    """All entries of several logs by time, each once, without decisions that their adjudicator took back."""
    found = {entry.uuid: entry for log in logs for entry in log.entries}
    undone = {(str(e.payload.get("of", "")), e.adjudicator) for e in found.values() if e.action == "undo"}
    ordered = sorted(found.values(), key=lambda e: (e.utc, e.adjudicator, e.machine, e.number))
    return [entry for entry in ordered if (entry.uuid, entry.adjudicator) not in undone]


def standings(logs: Iterable[LogContent], found: Mapping[str, CaseDisputes] | None = None) -> dict[str, Standing]:
    """By key, over all logs: practice, controls and repeats do not count; stale where the key is not in ``found``.

    A case that is not in ``found`` was not looked at, and nothing of it is stale.
    """
    entries = effective(logs)
    rule = rule_of(entries)
    known = {} if found is None else {dispute.key: dispute for case in found.values() for dispute in case}
    case_of = {key: dispute.case for key, dispute in known.items()}
    votes, asked = defaultdict[str, dict[str, Entry]](dict), defaultdict[str, dict[str, Entry]](dict)
    for entry in entries:
        for key in _keys_of(entry):
            case_of.setdefault(key, str(entry.payload.get("cases", {}).get(key, "")) or entry.case)
            own = votes[key].get(entry.adjudicator)
            if entry.action == "second":
                asked[key][entry.adjudicator] = entry
            elif entry.action != "rule" or own is None or own.action == "rule":
                votes[key].pop(entry.adjudicator, None)
                votes[key][entry.adjudicator] = entry
                asked[key].pop(entry.adjudicator, None)
    stands = {}
    for key in dict.fromkeys([*votes, *asked]):
        decided = tuple(sorted(votes[key].values(), key=lambda e: (e.utc, e.adjudicator)))
        case = case_of[key]
        gone = found is not None and case in found and key not in known and not any(e.action == "add" for e in decided)
        if gone:
            stands[key] = Standing(key, case, "stale", None, decided)
            continue
        holds = settle(decided, known.get(key), rule)
        if not holds:
            status = "conflict" if len(decided) > 1 else "second"
        else:
            # who asked for a second adjudicator is answered by somebody else
            waits = any(not set(votes[key]) - {who} for who in asked[key])
            status = "second" if waits else "decided"
        stands[key] = Standing(key, case, status, holds if status == "decided" else None, decided)
    return stands


def _keys_of(entry: Entry) -> Sequence[str]:
    """The disputes that an entry decides about."""
    if entry.action in ("decide", "add") and purpose_of(entry) in COUNTED:
        return [str(entry.payload["key"])]
    if entry.action == "rule":
        return [str(key) for key in entry.payload.get("keys", ())]
    if entry.action == "second":
        return [str(entry.payload.get("key") or entry.item)]
    return []


def settle(decided: Sequence[Entry], dispute: Dispute | None, rule: DisputeRule) -> Entry | None:
    """The decision that holds: the one there is, the earliest of those that most adjudicators agree on, or that of who
    was asked to settle what others differ on."""
    if len(decided) < 2:
        return decided[0] if decided else None
    camps: list[list[Entry]] = []
    for entry in decided:
        camp = next((camp for camp in camps if same_decision(camp[0], entry, dispute, rule)), None)
        if camp is None:
            camps.append([entry])
        else:
            camp.append(entry)
    camps.sort(key=len, reverse=True)
    wins = len(camps[0]) > 1 and (len(camps) == 1 or len(camps[1]) < len(camps[0]))
    return camps[0][0] if wins else next((entry for entry in decided if is_third(entry)), None)


def is_third(entry: Entry) -> bool:
    """Whether an adjudicator decided who had been asked to settle what others differ on."""
    return (entry.payload.get("seen") or {}).get("role") == "third"


def same_decision(one: Entry, other: Entry, dispute: Dispute | None, rule: DisputeRule) -> bool:
    """Whether two adjudicators decided alike: for the same pixels or, where one of them drew, for outlines that are no
    dispute by the rule."""
    choices = {choice_of(one), choice_of(other)}
    if len(choices) == 1 and choices != {"drawn"} and one.action == other.action != "rule":
        return bool(one.payload["pixels"] == other.payload["pixels"])
    if "not_evaluable" in choices:
        return len(choices) == 1
    if len(choices) == 1 and one.action == other.action == "rule":
        return True
    first, second = (painted_pixels(entry, dispute) for entry in (one, other))
    if first is None or second is None:
        return False
    (a, own), (b, theirs) = first, second
    around = tuple((min(p, r), max(q, s)) for (p, q), (r, s) in zip(own, theirs, strict=True))
    starts, stops, (x, y) = divide_runs([place_runs(a, own, around), place_runs(b, theirs, around)])
    lengths = stops - starts
    shared = int(lengths[(x == y) & (x != 0)].sum())
    total = int(lengths[x != 0].sum() + lengths[y != 0].sum())
    dice = 2 * shared / total if total else 1.0
    return bool(dice == 1 or ("drawn" in choices and dice >= rule.min_dice))


def painted_pixels(entry: Entry, dispute: Dispute | None) -> tuple[LabelRuns, Box] | None:
    """The pixels of a decision, and the box that they lie in; of a rule, from the lesion as it is."""
    if entry.action != "rule":
        box = tuple((int(a), int(b)) for a, b in entry.payload["box"])
        return runs_from_pairs(entry.payload["pixels"], box), box
    if dispute is None:
        return None
    return choose_runs(dispute, choice_of(entry)), dispute.box


def rule_of(entries: Iterable[Entry]) -> DisputeRule:
    """The rule of the last session that was opened."""
    rules = [e.payload["rule"] for e in entries if e.action == "open" and e.payload.get("rule")]
    last: Mapping[str, Any] = rules[-1] if rules else {}
    known = {each.name for each in fields(DisputeRule)}
    return DisputeRule(**{name: value for name, value in last.items() if name in known})


# -- the decisions of a study ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CaseDecisions:
    """What logs say of one case."""

    logs: tuple[LogContent, ...]
    """With the entries of this case, and those that are about several."""
    rule: DisputeRule

    def __repr__(self) -> str:
        # stands in digests of what a result was made from
        digest = hashlib.sha256(repr(self.rule).encode())
        for entry in (entry for log in self.logs for entry in log.entries):
            digest.update(f"{entry.uuid} {entry.digest}\n".encode())
        return f"<CaseDecisions {digest.hexdigest()[:16]}>"


def find_logs(study: Study) -> tuple[LogContent, ...]:
    """The logs that a study names (``--decisions``); by default those of its cases in the folder
    ``manytruths-adjudication``, where there is one."""
    named = study.options.decisions
    if named is None:
        if not os.path.isdir(FOLDER) or not study.options.masks:
            return ()
        own = study_digest(study)
        return check_logs(log for log in read_logs([FOLDER]) if same_study(log.study, own))
    if not os.path.exists(named):
        raise StudyError(f"decisions: there is no {named}; name a folder of logs, a log (.sqlite) or a pack (.json)")
    logs = read_logs([named])
    own = study_digest(study)
    for log in logs:
        if not same_study(log.study, own):
            raise LogError(
                f"{named}: the log of {log.adjudicator} is of another study: none of its cases is in this one"
            )
    return check_logs(logs)


def has_decisions(study: Study) -> bool:
    """Whether there is any decision about a study."""
    return any(entry.action in DECIDING for log in find_logs(study) for entry in log.entries)


def refuse_shown_algorithms(study: Study) -> None:
    """Refuse to judge algorithms by decisions of adjudicators who looked at what algorithms had marked."""
    shown = {
        (log.adjudicator, entry.case, str(entry.payload.get("key", entry.item)))
        for log in find_logs(study)
        for entry in log.entries
        if entry.action == "show" and entry.payload.get("what") == "algorithms"
        if entry.payload.get("purpose") != "practice"
    }
    if shown and study.algorithms:
        who = " and ".join(sorted({name for name, *_ in shown}))
        places = "1 dispute" if len(shown) == 1 else f"{len(shown)} disputes"
        raise StudyError(
            f"consensus adjudicated: {who} asked for the outlines of algorithms at {places}, so that decisions may "
            "follow them and cannot judge them; evaluate against another consensus, or settle disputes without "
            "--show algorithms"
        )


def refuse_unsettled(study: Study) -> None:
    """Refuse to call a consensus adjudicated where nothing that counts was decided."""
    entries = effective(find_logs(study))
    if not any(entry.action in ("add", "rule") or (entry.action == "decide" and purpose_of(entry) in COUNTED)
               for entry in entries):  # fmt: skip
        raise InputError(
            f"consensus adjudicated: no dispute is settled (practice, controls and second showings do not count), so "
            f"that it would be {rule_of(entries).below}; decide with manytruths adjudicate, or name that method"
        )


def with_decisions(study: Study, logs: Sequence[LogContent] | None = None) -> Study:
    """The study with the decisions of logs beside its cases."""
    if study.coded:
        raise InputError("decisions are found by the names of cases and raters, which this study has replaced by codes")
    found = tuple(find_logs(study) if logs is None else logs)
    if not any(entry.action in DECIDING for log in found for entry in log.entries):
        where = study.options.decisions or FOLDER
        raise InputError(
            f"{where}: holds no decision about this study; decide with manytruths adjudicate, or name the logs with "
            "--decisions PATH"
        )
    rule = rule_of(effective(found))
    by_case: dict[str, list[LogContent]] = {}
    for log in found:
        shared = [e for e in log.entries if e.action in ("rule", "undo")]
        own = defaultdict[str, list[Entry]](list)
        for entry in log.entries:
            if entry.case and entry.action not in ("rule", "undo", "look", "show", "open"):
                own[entry.case].append(entry)
        for case in study:
            entries = sorted([*shared, *own[case.name]], key=lambda e: e.number)
            by_case.setdefault(case.name, []).append(replace(log, entries=tuple(entries)))
    return study.with_cases([replace(case, decisions=CaseDecisions(tuple(by_case[case.name]), rule)) for case in study])
