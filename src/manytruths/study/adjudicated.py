"""The adjudicated reference standard: which decision holds for each dispute, and the mask of a case.

A mask is made of a base, the consensus that a rule names, and of the decisions that hold:

1. Pixels that decided lesions hold are cleared, but for those that belong to another lesion of the same label which is
   not decided: those stay as the rule has them.
2. The pixels that were chosen or drawn are painted, by time. So "no lesion" for one lesion cuts no hole into another
   one that was chosen, and the order of decisions matters only where two labels were chosen for one pixel: the later one
   holds.
3. A lesion that is not evaluable gets the value of pixels that were not rated.

The decision of one adjudicator holds. Of several, two equal ones hold; two different ones are a conflict, until a third
agrees with one of them, and the base stays meanwhile. Practice, controls and repeated showings measure the adjudicator
and change nothing. A decision is stale where pixels of its own lesion have changed since.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError, StudyError
from ..core.labels import Labels
from ..core.runs import LabelRuns, divide_runs, expand, read_runs
from ..fusion.result import BINARY, Consensus, with_mark
from ..io.decision_log import FOLDER, Entry, LogContent, LogError, read_logs, same_study
from .disputes import CaseDisputes, Dispute, DisputeRule, choose, find_disputes, move_runs

if TYPE_CHECKING:
    from .case import Reading
    from .consensus import FirstReadings
    from .study import Study

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]

METHOD = "adjudicated"
PURPOSES = ("dispute", "practice", "control", "repeat", "double")
COUNTED = ("dispute", "double")
"""Purposes of decisions that enter the mask."""
CHOICES = ("union", "intersection", "majority", "none", "not_evaluable", "drawn")
"""Besides ``rater:NAME``."""
AT_ONCE = 64
"""Decisions that are painted at a time."""


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
    union = read_runs(choose(dispute, "union"))
    if choice == "drawn":
        where = own if box is None else tuple((int(a), int(b)) for a, b in box)
        painted = runs_from_pairs(drawn, where)
        own = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(own, where, strict=True))
        painted, union = place_runs(painted, where, own), place_runs(union, dispute.box, own)
    elif choice == "not_evaluable":
        painted = union.select(np.zeros(len(union), np.bool_))
    else:
        painted = read_runs(choose(dispute, choice))
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


def runs_to_list(runs: LabelRuns) -> list[int]:
    """[start, length, start, length, …]"""
    return [int(number) for number in np.stack([runs.starts, runs.lengths], axis=1).ravel()]


def runs_to_pairs(runs: LabelRuns) -> list[list[Any]]:
    """[[value, [start, length, …]], …]"""
    return [[int(value), runs_to_list(runs.select(runs.values == value))] for value in np.unique(runs.values)]


def runs_from_pairs(pairs: Iterable[tuple[int, Iterable[int]]], box: Box) -> LabelRuns:
    """Runs of a box as a log holds them; refused where they leave it or meet each other."""
    shape = tuple(stop - start for start, stop in box)
    parts = [(int(value), np.array(list(flat), np.int64).reshape(-1, 2)) for value, flat in pairs]
    if any(value <= 0 for value, _ in parts):
        raise CallError("values of drawn pixels are labels but background, above 0")
    starts = np.concatenate([np.empty(0, np.int64), *(each[:, 0] for _, each in parts)])
    lengths = np.concatenate([np.empty(0, np.int64), *(each[:, 1] for _, each in parts)])
    top = max((value for value, _ in parts), default=1)
    values = np.concatenate([
        np.empty(0, np.min_scalar_type(top)), *(np.full(len(each), value, np.min_scalar_type(top)) for value, each in parts)
    ])  # fmt: skip
    order = np.argsort(starts, kind="stable")
    starts, stops, values = starts[order], (starts + lengths)[order], values[order]
    if len(starts) and (
        (lengths < 1).any() or starts[0] < 0 or stops[-1] > math.prod(shape) or (stops[:-1] > starts[1:]).any()
    ):
        raise CallError("runs of drawn pixels leave their box, or meet each other")
    return _cut_rows(LabelRuns(shape, starts, stops, values)).join()


def runs_of_list(flat: Iterable[int], box: Box) -> LabelRuns:
    """Runs of True from [start, length, …] in a box."""
    return runs_from_pairs([(1, flat)], box).marks()


def _cut_rows(runs: LabelRuns) -> LabelRuns:
    """Runs that end with their row."""
    width = runs.shape[-1]
    first, last = runs.starts // width, (runs.stops - 1) // width
    counts = np.maximum(last - first + 1, 0)
    own, row = np.repeat(np.arange(len(runs)), counts), expand(first, counts)
    starts, stops = np.maximum(runs.starts[own], row * width), np.minimum(runs.stops[own], (row + 1) * width)
    return LabelRuns(runs.shape, starts, stops, runs.values[own])


def place_runs(runs: LabelRuns, box: Box, into: Box) -> LabelRuns:
    """Runs of a box in the coordinates of one around it; of the whole image where that starts at 0."""
    by = tuple(start - first for (start, _), (first, _) in zip(box, into, strict=True))
    return move_runs(runs, by, tuple(stop - start for start, stop in into))


# -- runs together ---------------------------------------------------------------------------------


def unite(parts: Sequence[LabelRuns]) -> LabelRuns:
    """What any of several arrays marks, as runs of True."""
    shape = parts[0].shape
    starts = np.concatenate([part.starts for part in parts])
    stops = np.concatenate([part.stops for part in parts])
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], stops[order]
    if not len(starts):
        return LabelRuns(shape, starts, stops, np.empty(0, np.bool_))
    reach = np.maximum.accumulate(stops)
    first = np.concatenate([[True], starts[1:] > reach[:-1]])
    # touching runs of two rows stay two
    first[1:] |= (starts[1:] == reach[:-1]) & (starts[1:] % shape[-1] == 0)
    last = np.concatenate([first[1:], [True]])
    return LabelRuns(shape, starts[first], reach[last], np.ones(int(first.sum()), np.bool_))


def without(runs: LabelRuns, gone: LabelRuns) -> LabelRuns:
    """The parts of runs that lie in no run of another array."""
    if not len(gone) or not len(runs):
        return runs
    starts, stops, (own, other) = divide_runs(
        [runs, LabelRuns(gone.shape, gone.starts, gone.stops, np.ones(len(gone), bool))]
    )
    keep = (own != 0) & ~other
    return LabelRuns(runs.shape, starts[keep], stops[keep], own[keep]).join()


def overlay(layers: Sequence[LabelRuns], shape: tuple[int, ...]) -> LabelRuns:
    """Later layers over earlier ones."""
    below = LabelRuns(shape, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
    for at in range(0, len(layers), AT_ONCE):
        starts, stops, each = divide_runs([below, *layers[at : at + AT_ONCE]])
        top = np.zeros(len(starts), np.int64)
        for values in each:
            top = np.where(values != 0, values, top)
        below = LabelRuns(shape, starts, stops, top.astype(np.min_scalar_type(int(top.max(initial=0))))).join()
    return below


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
        holds = _settle(decided, known.get(key), rule)
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


def _settle(decided: Sequence[Entry], dispute: Dispute | None, rule: DisputeRule) -> Entry | None:
    """The decision that holds: the one there is, or the earliest of those that most adjudicators agree on."""
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
    return camps[0][0] if wins else None


def same_decision(one: Entry, other: Entry, dispute: Dispute | None, rule: DisputeRule) -> bool:
    """Whether two adjudicators decided alike: for the same pixels or, where one of them drew, for outlines that are no
    dispute by the rule."""
    choices = {choice_of(one), choice_of(other)}
    if len(choices) == 1 and choices != {"drawn"} and one.action == other.action != "rule":
        return one.payload["pixels"] == other.payload["pixels"]
    if "not_evaluable" in choices:
        return len(choices) == 1
    if len(choices) == 1 and one.action == other.action == "rule":
        return True
    first, second = (_painted(entry, dispute) for entry in (one, other))
    if first is None or second is None:
        return False
    (a, own), (b, theirs) = first, second
    around = tuple((min(p, r), max(q, s)) for (p, q), (r, s) in zip(own, theirs, strict=True))
    starts, stops, (x, y) = divide_runs([place_runs(a, own, around), place_runs(b, theirs, around)])
    lengths = stops - starts
    shared = int(lengths[(x == y) & (x != 0)].sum())
    total = int(lengths[x != 0].sum() + lengths[y != 0].sum())
    dice = 2 * shared / total if total else 1.0
    return dice == 1 or ("drawn" in choices and dice >= rule.min_dice)


def _painted(entry: Entry, dispute: Dispute | None) -> tuple[LabelRuns, Box] | None:
    """The pixels of a decision, and the box that they lie in; of a rule, from the lesion as it is."""
    if entry.action != "rule":
        box = tuple((int(a), int(b)) for a, b in entry.payload["box"])
        return runs_from_pairs(entry.payload["pixels"], box), box
    if dispute is None:
        return None
    return read_runs(choose(dispute, choice_of(entry))), dispute.box


def rule_of(entries: Iterable[Entry]) -> DisputeRule:
    """The rule of the last session that was opened."""
    last = next(
        (e.payload["rule"] for e in reversed(list(entries)) if e.action == "open" and e.payload.get("rule")), {}
    )
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
        return tuple(log for log in read_logs([FOLDER]) if same_study(log.study, own))
    if not os.path.exists(named):
        raise StudyError(f"decisions: there is no {named}; name a folder of logs, a log (.sqlite) or a pack (.json)")
    logs = read_logs([named])
    own = study_digest(study)
    for log in logs:
        if not same_study(log.study, own):
            raise LogError(
                f"{named}: the log of {log.adjudicator} is of another study: none of its cases is in this one"
            )
    return logs


def with_decisions(study: Study, logs: Sequence[LogContent] | None = None) -> Study:
    """The study with the decisions of logs beside its cases."""
    if study.coded:
        raise InputError("decisions are found by the names of cases and raters, which this study has replaced by codes")
    found = tuple(find_logs(study) if logs is None else logs)
    if not any(entry.action in ("decide", "add", "rule") for log in found for entry in log.entries):
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


# -- the mask of a case ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AdjudicatedCase:
    """The adjudicated reference standard of a case, and how it came about."""

    runs: LabelRuns
    """In the values of the masks; pixels that are not evaluable have the value ``void``."""
    base: LabelRuns
    """What the rule makes of the case, without decisions."""
    void: int
    rule: DisputeRule
    found: CaseDisputes
    standings: Mapping[str, Standing]
    invalid: tuple[str, ...] = field(default=())
    """Decisions that could not be applied, and why."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many disputes are decided, open, in conflict, …"""
        disputes = {dispute.key for dispute in self.found.disputes}
        own = [stand for key, stand in self.standings.items() if key in disputes]
        every = self.standings.values()
        return {
            "disputes": len(disputes),
            **{status: sum(s.status == status for s in own) for status in ("decided", "second", "conflict")},
            "open": len(disputes) - len(own), "stale": sum(s.status == "stale" for s in every),
            "not_evaluable": sum(s.choice == "not_evaluable" for s in every if s.holds is not None),
            "added": sum(s.holds is not None and s.holds.action == "add" for s in every),
        }  # fmt: skip

    @property
    def mask(self) -> Array:
        """As an array, masked where it is not evaluable."""
        array = self.runs[...]
        away = array == self.void
        return np.ma.array(array, mask=away) if away.any() else array


def adjudicate_case(reading: Reading) -> AdjudicatedCase:
    """The base and the decisions of a case, put together as runs."""
    from .consensus import FirstReadings

    case = reading.case
    if case.decisions is None:
        raise InputError(
            f"case {case.name}: there are no decisions about it; decide with manytruths adjudicate, or name the logs "
            "with --decisions PATH"
        )
    reading.need_pixels()
    rule = case.decisions.rule
    readings = FirstReadings.of(reading)
    estimated = readings.estimate(rule.below)
    large = reading.is_large
    base = readings.paint_runs(estimated) if large else read_runs(np.ascontiguousarray(readings.paint(estimated)[0]))
    found = find_disputes(reading, rule)
    stands = standings(case.decisions.logs, {case.name: found})
    stands = {key: stand for key, stand in stands.items() if stand.case == case.name}
    return _Mask(reading, base, found, stands, rule).made()


@dataclass(eq=False)
class _Mask:
    """The parts that a mask is put together from."""

    reading: Reading
    base: LabelRuns
    found: CaseDisputes
    stands: Mapping[str, Standing]
    rule: DisputeRule

    def made(self) -> AdjudicatedCase:
        shape, whole = self.base.shape, tuple((0, n) for n in self.base.shape)
        known = {dispute.key: dispute for dispute in self.found}
        decided = {key: stand for key, stand in self.stands.items() if stand.holds is not None}
        layers, gone, away, invalid = [], defaultdict[int, list[LabelRuns]](list), list[LabelRuns](), list[str]()
        for key, stand in sorted(decided.items(), key=lambda item: (item[1].holds.utc, item[0])):  # type: ignore[union-attr]
            entry, dispute = stand.holds, known.get(key)
            assert entry is not None
            try:
                painted, box = _painted(entry, dispute) or (None, None)
                if painted is None or box is None or any(b > n for (_, b), n in zip(box, shape, strict=True)):
                    raise CallError("its pixels lie outside of the image")
            except CallError as error:
                invalid.append(f"{entry.uuid}: {error}")
                continue
            layers.append(place_runs(painted, box, whole))
            if dispute is not None:
                marked = unite([place_runs(runs, dispute.box, whole) for runs in dispute.drawn.values()])
                for label in dispute.labels:
                    gone[label].append(marked)
                if choice_of(entry) == "not_evaluable":
                    away.append(marked)
        cleared = self._cleared(gone, decided, whole)
        inside = self._inside()
        layers = [each if inside is None else each.intersect(inside) for each in layers]
        painted = overlay(layers, shape)
        void = free_value(self.reading, painted)
        kept = without(without(self.base, cleared), unite([painted]))
        parts = [kept, painted]
        if away:
            hidden = without(unite(away), unite([painted]))
            parts = [
                without(kept, hidden),
                painted,
                LabelRuns(shape, hidden.starts, hidden.stops, np.full(len(hidden), void)),
            ]
        top = max((int(part.values.max(initial=0)) for part in parts), default=0)
        kind = np.min_scalar_type(max(top, 1))
        first, *others = [LabelRuns(shape, p.starts, p.stops, p.values.astype(kind)) for p in parts]
        for other in others:
            first = first.join(other)
        return AdjudicatedCase(first, self.base, void, self.rule, self.found, self.stands, tuple(invalid))

    def _cleared(self, gone: Mapping[int, list[LabelRuns]], decided: Mapping[str, Standing], whole: Box) -> LabelRuns:
        """Pixels of the base that decided lesions of their label hold, and no other lesion of it."""
        base, parts = self.base, []
        others = defaultdict[int, list[LabelRuns]](list)
        for dispute in self.found:
            if dispute.key not in decided:
                for runs in dispute.drawn.values():
                    placed = place_runs(runs, dispute.box, whole)
                    for label in np.unique(placed.values).tolist():
                        others[label].append(placed.select(placed.values == label))
        for label, marked in gone.items():
            own = base.select(base.values == label).intersect(unite(marked))
            parts.append(without(own, unite(others[label])) if others[label] else own)
        empty = base.select(np.zeros(len(base), np.bool_))
        return unite([empty, *parts])

    def _inside(self) -> LabelRuns | None:
        inside = self.reading.inside
        return read_runs(inside).marks() if inside is not None else None


def free_value(reading: Reading, painted: LabelRuns) -> int:
    """The value of pixels that are not evaluable: the study's ``void``, or the largest one that is no label."""
    if reading.case.options.void is not None:
        return reading.case.options.void
    used = {int(value) for mask in reading.masks.values() for value in np.unique(reading.runs(mask).values)}
    used |= {int(value) for value in np.unique(painted.values)}
    labels = reading.case.labels
    used |= set(labels.values) if labels is not None else set()
    top = 255 if max(used, default=0) <= 255 else 65535
    return next(value for value in range(top, 0, -1) if value not in used)


def count_changed(made: AdjudicatedCase) -> int:
    """Pixels in which the adjudicated mask differs from the base."""
    starts, stops, (own, base) = divide_runs([made.runs, made.base])
    return int((stops - starts)[own != base].sum())


# -- as a consensus --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdjudicatedMap(Consensus):
    """What adjudicators decided, as a map beside those that are estimated.

    Attributes
    ----------
    method : str
        ``adjudicated``.
    raters : tuple of str
        Raters whose masks the base was made of.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        1 where ``hard`` is marked, else 0.
    hard : ndarray
        Whether a pixel is marked; of several labels, the code of its label; masked where it is not evaluable.
    convergence : str
        ``done``, or ``unfinished`` where disputes are open or in conflict.
    notes : tuple of str
        What to know before using it.
    """

    values_map: Array
    """In the values of the masks, masked where it is not evaluable; of a large case, runs."""
    void: int | None = None
    """What the value of masked pixels is in files."""

    @property
    def values(self) -> Array:
        """``hard`` in the values of the masks."""
        return self.values_map


def adjudicated_consensus(readings: FirstReadings) -> AdjudicatedMap:
    """The adjudicated reference standard, of all labels or of the one that is looked at."""
    reading = readings.reading
    if reading.settled is not None:  # patterns of a large case
        own = reading.case.options.void
        values = reading.settled if own is None else np.ma.masked_equal(reading.settled, own)
        void, notes, done = own, (), True
    else:
        made = reading.adjudicated
        void, notes, done = made.void, notes_of(made), not _unfinished(made.counts)
        values = made.runs.hide(made.void) if reading.is_large else made.mask
    raters = readings.table.rater_names
    if readings.label is not None:
        chosen = None if readings.label == "any" else int(readings.label)
        from .consensus import binary_mask

        values = binary_mask(values, chosen, None)
    fields: dict[str, Any] = {
        "method": METHOD, "raters": raters, "values_map": values, "void": void, "notes": notes,
        "convergence": "done" if done else "unfinished",
    }  # fmt: skip
    if isinstance(values, LabelRuns):
        return AdjudicatedMap(labels=readings.table.labels, probability=values, hard=values, **fields)  # type: ignore[arg-type]
    labels = BINARY if readings.label is not None else with_mark(readings.table).labels
    known = {int(value) for value in np.unique(np.ma.getdata(values)[~np.ma.getmaskarray(values)])}
    labels = labels if known <= set(labels.values) else labels.union(Labels(tuple(sorted(known))))
    marked = values != 0
    hard = marked if len(labels) == 2 and labels.background is not None else _codes(values, labels)
    return AdjudicatedMap(
        labels=labels, probability=np.ma.filled(marked, False).astype(np.float64), hard=hard, **fields
    )


def _codes(values: Array, labels: Labels) -> Array:
    """The codes of labels; masked where values are."""
    codes = np.searchsorted(labels.values, np.ma.filled(values, labels.values[0])).astype(np.uint8)
    return np.ma.array(codes, mask=values.mask) if np.ma.isMaskedArray(values) else codes


def _unfinished(counts: Mapping[str, int]) -> int:
    """Disputes of a case that nothing holds for."""
    return counts["open"] + counts["second"] + counts["conflict"]


def notes_of(made: AdjudicatedCase) -> tuple[str, ...]:
    """What to know about the adjudicated mask of a case."""
    counts = made.counts
    words = {
        "open": "not decided", "second": "waiting for a second adjudicator", "conflict": "decided differently by two",
    }  # fmt: skip
    open_ones = [f"{counts[name]} {text}" for name, text in words.items() if counts[name]]
    notes = [f"disputes {', '.join(open_ones)}: {made.rule.below} stands there"] if open_ones else []
    if counts["stale"]:
        notes.append(f"{counts['stale']} decisions do not count: pixels of their lesions changed afterwards")
    if counts["not_evaluable"]:
        notes.append(f"{counts['not_evaluable']} lesions are not evaluable, and have the value {made.void}")
    return (*notes, *(f"decision {text}" for text in made.invalid))
