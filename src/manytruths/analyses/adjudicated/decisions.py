"""Every decision of the logs of a study, with what is known of its lesion, its first look and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.boxed_runs import is_inside, place_runs, runs_of_list, unite
from ...core.runs import LabelRuns
from ...io.decision_log import Entry, LogContent
from ...study import Case
from ...study.adjudicated import COUNTED, choice_of, effective, purpose_of, same_decision
from ...study.adjudicated_masks import AdjudicatedCase, count_changed
from ...study.disputes import Dispute, choose_runs

HEADER = (
    "case", "label", "kind", "choice", "reason", "comment", "adjudicator", "utc", "seconds", "first_look", "seen",
    "pixels_before", "pixels_after", "purpose", "status", "key", "machine", "entry", "uuid",
)  # fmt: skip


@dataclass(frozen=True)
class DisputeFacts:
    """What is known of a dispute without its pixels."""

    key: str
    case: str
    kind: str
    label: int | None
    size: float
    pixels: Mapping[str, int]
    """How many pixels the base has of it, and each choice of a rule."""


@dataclass(frozen=True)
class CaseOutcome:
    """What is kept of a case."""

    disputes: tuple[DisputeFacts, ...]
    settled: tuple[DisputeFacts, ...]
    status: Mapping[str, str]
    """Of each dispute that somebody decided about."""
    holds: Mapping[str, str]
    """The uuid of the decision that holds, by dispute."""
    alike: frozenset[tuple[str, str]]
    """Key and uuid of decisions that agree with the one that holds."""
    before: Mapping[str, int]
    """Pixels of the base where a decision is about, by its uuid."""
    counts: Mapping[str, int]
    void: int
    marked: int
    """Pixels that are marked in the adjudicated mask."""
    changed: int
    """Pixels in which it differs from the base."""
    in_mm: bool
    """Whether distances are in mm; else in pixels."""
    invalid: tuple[str, ...] = ()
    """Decisions that could not be applied, and why."""


def settle_case(case: Case) -> CaseOutcome:
    """One case, read once."""
    return outcome_of(case.read(by_tile=True).adjudicated)


def outcome_of(made: AdjudicatedCase) -> CaseOutcome:
    """What is kept of an adjudicated case."""
    entries = {entry.uuid: entry for stand in made.standings.values() for entry in stand.decisions}
    before = {}
    known = {dispute.key: dispute for dispute in made.found}
    whole = tuple((0, n) for n in made.base.shape)
    for uuid, entry in entries.items():
        if entry.action != "rule":
            box = tuple((int(a), int(b)) for a, b in entry.payload["box"])
            if is_inside(box, made.base.shape):
                domain = place_runs(runs_of_list(entry.payload["domain"], box), box, whole)
                before[uuid] = made.base.intersect(domain).items
    return CaseOutcome(
        tuple(_facts(dispute, made.base) for dispute in made.found.disputes),
        tuple(_facts(dispute, made.base) for dispute in made.found.settled),
        {key: stand.status for key, stand in made.standings.items()},
        {key: stand.holds.uuid for key, stand in made.standings.items() if stand.holds is not None},
        frozenset(
            (key, each.uuid)
            for key, stand in made.standings.items()
            for each in stand.decisions
            if stand.holds is not None and same_decision(stand.holds, each, known.get(key), made.rule)
        ),
        before, made.counts, made.void, made.runs.hide(made.void).marks().items, count_changed(made),
        made.found.spacing is not None, made.invalid,
    )  # fmt: skip


def _facts(dispute: Dispute, base: LabelRuns) -> DisputeFacts:
    whole = tuple((0, n) for n in base.shape)
    pixels = {}
    if dispute.drawn:
        union = choose_runs(dispute, "union")
        pixels["union"] = union.items
        parts = [place_runs(runs, dispute.box, whole) for runs in dispute.drawn.values()]
        pixels["base"] = base.intersect(unite(parts)).items
    return DisputeFacts(dispute.key, dispute.case, dispute.kind, dispute.label, dispute.size, pixels)


@dataclass(frozen=True)
class Decision:
    """One decision, whatever it was for."""

    entry: Entry
    key: str
    case: str
    label: object
    kind: str
    choice: str
    purpose: str
    status: str
    """``holds``, ``agrees`` (with the one that holds), ``outvoted``, ``conflict``, ``waiting`` (for a second
    adjudicator), ``replaced`` (by a later one of the same adjudicator), ``undone``, ``stale``, ``not counted``."""
    first_look: str
    """The answer from the bare image, also where outlines stood beside it."""
    looked: bool
    """Whether it was given before the outlines were seen."""
    seconds: float
    seen: tuple[str, ...]
    before: int | None
    after: int | None

    @property
    def adjudicator(self) -> str:
        """Who decided."""
        return self.entry.adjudicator

    @property
    def marks(self) -> bool:
        """Whether it leaves a lesion."""
        return bool(self.after) if self.after is not None else self.choice not in ("none", "not_evaluable")

    @property
    def presence(self) -> str:
        """In the words of the first look."""
        if self.choice == "not_evaluable":
            return "not_evaluable"
        return "lesion" if self.marks else "no_lesion"

    def record(self) -> tuple[object, ...]:
        """The row of ``decisions.csv``."""
        entry = self.entry
        return (
            self.case, self.label, self.kind, self.choice, str(entry.payload.get("reason", "")),
            str(entry.payload.get("comment", "")), entry.adjudicator, entry.utc, self.seconds, self.first_look,
            "; ".join(self.seen), self.before, self.after, self.purpose, self.status, self.key, entry.machine,
            entry.number, entry.uuid,
        )  # fmt: skip


@dataclass(frozen=True)
class Record:
    """All that was decided about a study."""

    decisions: tuple[Decision, ...]
    logs: tuple[LogContent, ...]
    facts: Mapping[str, DisputeFacts] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[Decision, ...]:
        """Those that can enter the mask, and were neither taken back nor replaced."""
        return tuple(d for d in self.decisions if d.status not in ("undone", "replaced", "not counted"))

    @property
    def adjudicators(self) -> tuple[str, ...]:
        """Who decided anything, in order."""
        return self.who(self.decisions)

    @staticmethod
    def who(decisions: Iterable[Decision]) -> tuple[str, ...]:
        """Who made some decisions, in order."""
        return tuple(dict.fromkeys(d.adjudicator for d in sorted(decisions, key=lambda d: d.entry.utc)))

    def of_purpose(self, purpose: str) -> list[Decision]:
        """Decisions that were not taken back, for a purpose; of one adjudicator about one lesion, the last."""
        last = {(d.adjudicator, d.key): d for d in self.decisions if d.purpose == purpose and d.status != "undone"}
        return list(last.values())


def list_decisions(logs: Sequence[LogContent], cases: Mapping[str, CaseOutcome]) -> Record:
    """Every decision of several logs, in the order of the cases and of time."""
    every = {entry.uuid: entry for log in logs for entry in log.entries}
    kept = {entry.uuid for entry in effective(logs)}
    facts = {each.key: each for case in cases.values() for each in (*case.disputes, *case.settled)}
    ordered = sorted(every.values(), key=lambda e: (e.utc, e.adjudicator, e.machine, e.number))
    looks, shows = _before(ordered, "look"), _before(ordered, "show")
    found: list[Decision] = []
    latest: dict[tuple[str, str], str] = {}
    for entry in ordered:
        if entry.uuid in kept and (entry.action == "rule" or purpose_of(entry) in COUNTED):
            for key in _keys(entry):
                own = every.get(latest.get((entry.adjudicator, key), ""))
                if not (entry.action == "rule" and own is not None and own.action != "rule"):
                    latest[entry.adjudicator, key] = entry.uuid
    for entry in ordered:
        if entry.action not in ("decide", "add", "rule"):
            continue
        for key in _keys(entry):
            fact = facts.get(key)
            case = str(entry.payload.get("cases", {}).get(key, "")) or entry.case or (fact.case if fact else "")
            outcome = cases.get(case)
            status = _status(entry, key, outcome, entry.uuid in kept, latest)
            found.append(_decision(entry, key, case, fact, outcome, status, looks, shows))
    order = {name: place for place, name in enumerate(cases)}
    found.sort(key=lambda d: (order.get(d.case, len(order)), d.entry.utc, d.key))
    return Record(tuple(found), tuple(logs), facts)


def _keys(entry: Entry) -> list[str]:
    if entry.action == "rule":
        return [str(key) for key in entry.payload.get("keys", ())]
    return [str(entry.payload["key"])] if entry.action in ("decide", "add") else []


def _before(ordered: Iterable[Entry], action: str) -> dict[tuple[str, str, str], list[Entry]]:
    """Entries of an action by adjudicator, item and purpose."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in ordered:
        if entry.action == action:
            key = str(entry.payload.get("key") or entry.item)
            found.setdefault((entry.adjudicator, key, purpose_of(entry)), []).append(entry)
    return found


def _status(
    entry: Entry,
    key: str,
    outcome: CaseOutcome | None,
    kept: bool,
    latest: Mapping[tuple[str, str], str],
) -> str:
    """What became of a decision."""
    if not kept:
        return "undone"
    if entry.action != "rule" and purpose_of(entry) not in COUNTED:
        return "not counted"
    if latest.get((entry.adjudicator, key)) != entry.uuid:
        return "replaced"
    stands = outcome.status.get(key, "stale") if outcome is not None else "stale"
    if stands == "decided" and outcome is not None:
        alike = (key, entry.uuid) in outcome.alike
        return "holds" if outcome.holds[key] == entry.uuid else "agrees" if alike else "outvoted"
    return {"second": "waiting"}.get(stands, stands)


def _decision(
    entry: Entry,
    key: str,
    case: str,
    fact: DisputeFacts | None,
    outcome: CaseOutcome | None,
    status: str,
    looks: Mapping[tuple[str, str, str], list[Entry]],
    shows: Mapping[tuple[str, str, str], list[Entry]],
) -> Decision:
    payload, purpose = entry.payload, purpose_of(entry)
    slot = (entry.adjudicator, key, purpose)
    look = [each for each in looks.get(slot, ()) if each.utc <= entry.utc][-1:]
    given = payload.get("seen") or {}
    seen = [str(what) for what in given.get("shown", ())]
    seen += [str(each.payload.get("what", "")) for each in shows.get(slot, ()) if each.utc <= entry.utc]
    seen += ["names"] if given.get("names") else []
    before = outcome.before.get(entry.uuid) if outcome else None
    if entry.action == "rule":
        after = fact.pixels.get(choice_of(entry)) if fact else None
        before, kind, label = (fact.pixels.get("base") if fact else None), str(payload.get("kind", "")), None
    else:
        kind, label = str(payload.get("kind", "")), payload.get("label")
        after = sum(sum(runs[1::2]) for _, runs in payload["pixels"])
    answer = str(look[0].payload.get("answer", "")) if look else str(given.get("answer", ""))
    seconds = payload.get("seconds")
    total = float(seconds) if isinstance(seconds, int | float) else float("nan")
    return Decision(
        entry, key, case, label if label is not None else (fact.label if fact else None), kind, choice_of(entry),
        "rule" if entry.action == "rule" else purpose, status,
        answer, bool(answer) and given.get("first_look") is not False, total,
        tuple(dict.fromkeys(filter(None, seen))), before, after,
    )  # fmt: skip
