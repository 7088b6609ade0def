"""What an adjudicator is shown, and in which order: a function of the settings and of what was found in the cases.

Everything that is random is a digest of the seed and of what it is about, so that a queue does not depend on when cases
were found, and can be made again from the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from ..core.errors import CallError
from ..study.disputes import CONTROL_KINDS, KINDS, CaseDisputes, Dispute, DisputeRule

Purpose = Literal["practice", "dispute", "control", "repeat", "double"]
Role = Literal["first", "second", "third"]
Order = Literal["subject", "doubt"]
Shown = Literal["votes", "consensus", "algorithms"]
SHOWN: tuple[str, ...] = get_args(Shown)
APART = 20
"""Subjects between a dispute and its second showing, where there are so many: fewer are remembered."""
PRACTICE_SHARE = 4
"""At most one in so many disputes is practised on."""
LETTERS = "ABCDEFGHJK"
"""Of raters; the other letters are keys of commands."""


@dataclass(frozen=True)
class Settings:
    """How an adjudication is done; the log has them, so that the next start goes on with the same.

    Attributes
    ----------
    seed : int
        Seed of everything that is random.
    order : {"subject", "doubt"}
        Subject by subject, or the largest and most doubtful first.
    first_look, names : bool
        Whether the bare image comes first, and whether raters are named.
    show : tuple of str
        What the page may show when asked: votes, consensus, algorithms.
    controls, repeats, double : float
        Shares of the disputes: controls and second showings that are mixed in, and disputes for a second adjudicator.
    practice : int
        Disputes to practise on.
    role : {"first", "second", "third"}
        All disputes; those for a second adjudicator; those on which two differ.
    groups, labels, kinds : tuple of str
        Which disputes; empty for all.
    """

    seed: int = 0
    order: Order = "subject"
    first_look: bool = True
    names: bool = False
    show: tuple[str, ...] = ()
    controls: float = 0.05
    repeats: float = 0.05
    double: float = 0.2
    practice: int = 5
    role: Role = "first"
    groups: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rule: DisputeRule = field(default_factory=DisputeRule)

    def __post_init__(self) -> None:
        for name in ("controls", "repeats", "double"):
            if not 0 <= getattr(self, name) <= 1:
                raise CallError(f"{name} is {getattr(self, name)}; it is a share of the disputes, from 0 to 1")
        if self.practice < 0:
            raise CallError(f"practice is {self.practice}; it is a number of disputes, 0 for none")
        for name, option, known in (("show", "show", SHOWN), ("kinds", "only_kind", KINDS)):
            unknown = [each for each in getattr(self, name) if each not in known]
            if unknown:
                raise CallError(f"{option} is {unknown[0]!r}; it is one of {', '.join(known)}")

    def as_payload(self) -> dict[str, Any]:
        """As the log has them."""
        return asdict(self)

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Settings:
        """From the log; what a later version added is left out."""
        rule = DisputeRule(
            **{k: v for k, v in payload.get("rule", {}).items() if k in DisputeRule.__dataclass_fields__}
        )
        kept = {k: v for k, v in payload.items() if k in cls.__dataclass_fields__}
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
        return cls(**known | {"rule": rule})


@dataclass(frozen=True)
class Item:
    """One showing of a dispute."""

    id: str
    purpose: Purpose
    dispute: Dispute
    """Without what was drawn."""
    subject: int
    """The position of its subject in the order, from 1; a second showing has one of its own."""

    @property
    def slot(self) -> tuple[str, str]:
        """What the log knows it by."""
        return self.purpose, self.dispute.key


def chance(*parts: object) -> float:
    """A number from 0 to 1 that depends on its arguments alone.

    >>> chance(0, "control", "a") == chance(0, "control", "a") != chance(1, "control", "a")
    True
    """
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def item_id(seed: str, purpose: str, key: str) -> str:
    """An id from which nothing can be told."""
    return hashlib.blake2b(f"{purpose}\x1f{key}".encode(), key=seed.encode()[:64], digest_size=8).hexdigest()


def order_subjects(subjects: Iterable[str], seed: str) -> list[str]:
    """Subjects in an order that depends on the seed alone."""
    return sorted(dict.fromkeys(subjects), key=lambda subject: chance(seed, "subject", subject))


def shuffle_raters(raters: Iterable[str], seed: str, case: str, *, again: bool = False) -> list[str]:
    """Raters in the order of their letters, another one in each case, and where a dispute is shown again."""
    what = "letter again" if again else "letter"
    return sorted(raters, key=lambda rater: chance(seed, what, case, rater))


def letter(number: int) -> str:
    """A, B, …, K, A2, B2, ….

    >>> letter(0), letter(9), letter(10)
    ('A', 'K', 'A2')
    """
    times, place = divmod(number, len(LETTERS))
    return LETTERS[place] + (str(times + 1) if times else "")


def is_double(settings: Settings, key: str) -> bool:
    """Whether a dispute is for a second adjudicator, too; the same for all adjudicators."""
    return chance(settings.seed, "double", key) < settings.double


def selected(found: CaseDisputes, settings: Settings, names: Mapping[int, str]) -> Iterator[Dispute]:
    """The disputes of a case that the filters let through."""
    return (dispute for dispute in found.disputes if is_selected(found, dispute, settings, names))


def is_selected(found: CaseDisputes, dispute: Dispute, settings: Settings, names: Mapping[int, str]) -> bool:
    """Whether the filters let a dispute through; of what is no dispute, whether those of groups and labels do."""
    if settings.groups and not set(settings.groups) & set(found.groups):
        return False
    if settings.kinds and dispute.kind in KINDS and dispute.kind not in settings.kinds:
        return False
    return not settings.labels or bool({str(dispute.label), names.get(dispute.label or 0, "")} & set(settings.labels))


def make_queue(
    subjects: Sequence[tuple[str, Sequence[CaseDisputes]]],
    settings: Settings,
    adjudicator: str,
    *,
    practice: Sequence[str] = (),
    wanted: frozenset[str] = frozenset(),
    names: Mapping[int, str] | None = None,
    imageless: frozenset[str] = frozenset(),
) -> list[Item]:
    """The showings of an adjudicator, in order.

    Parameters
    ----------
    subjects : sequence
        Subjects in their order, each with its cases.
    settings : Settings
        How it is done.
    adjudicator : str
        Who.
    practice : sequence of str
        Keys of the lesions to practise on.
    wanted : frozenset of str
        Keys that others want settled by this adjudicator: those marked for a second one, or those in conflict.
    names : mapping of int to str, optional
        Names of labels.
    imageless : frozenset of str
        Cases without an image, of which a region that nobody marked shows nothing to decide about.

    Returns
    -------
    list of Item
        Practice first.
    """
    seed = f"{settings.seed}|{adjudicator}"
    blocks: list[list[tuple[Purpose, Dispute]]] = []
    later: list[tuple[int, Dispute]] = []
    by_key: dict[str, Dispute] = {}
    for _, cases in subjects:
        block: list[tuple[Purpose, Dispute]] = []
        for found in cases:
            by_key |= {d.key: d for d in (*found.disputes, *found.settled)} if practice else {}
            shown = [d for d in selected(found, settings, names or {}) if _is_wanted(d, settings, wanted)]
            purpose: Purpose = "dispute" if settings.role == "first" else "double"
            settled = [d for d in found.settled if d.kind in CONTROL_KINDS]
            settled = [d for d in settled if d.kind != "unmarked" or found.case not in imageless]
            settled = [d for d in settled if d.key not in practice]
            block += _with_controls(found.case, settled, [(purpose, d) for d in shown], settings, seed)
            later += [(len(blocks), d) for d in shown if chance(seed, "repeat", d.key) < settings.repeats]
        if block:
            blocks.append(block)
    if settings.order == "doubt":
        every = sorted((e for b in blocks for e in b), key=lambda e: (-_weight(e, seed), e[1].key))
        blocks = [[entry] for entry in every]
        later = [(n, e[1]) for n, (e,) in enumerate(blocks) if e[1].key in {d.key for _, d in later}]
    ordered = _with_repeats(blocks, later, seed)
    first = [("practice", by_key[key]) for key in practice if key in by_key]
    items = [Item(item_id(seed, "practice", d.key), "practice", d, 0) for _, d in first]
    for number, block in enumerate(ordered, start=1):
        items += [Item(item_id(seed, p, d.key), p, d, number) for p, d in block]
    return items


def _is_wanted(dispute: Dispute, settings: Settings, wanted: frozenset[str]) -> bool:
    if settings.role == "first":
        return True
    if settings.role == "third":
        return dispute.key in wanted
    return dispute.key in wanted or is_double(settings, dispute.key)


def _weight(entry: tuple[str, Dispute], seed: str) -> float:
    """Pixels in doubt; a control takes a place among the disputes."""
    purpose, dispute = entry
    return dispute.size * (dispute.doubt if purpose != "control" else chance(seed, "weight", dispute.key))


def _with_controls(
    case: str, settled: list[Dispute], shown: list[tuple[Purpose, Dispute]], settings: Settings, seed: str
) -> list[tuple[Purpose, Dispute]]:
    """Disputes of a case with agreed lesions and unmarked regions among them, in an order that tells nothing."""
    settled = sorted(settled, key=lambda d: chance(seed, "control", d.key))
    number = sum(chance(seed, "controls", d.key) < settings.controls for _, d in shown)
    # half of them are regions that nobody marked, as far as there are both
    kinds = [[d for d in settled if (d.kind == "unmarked") == unmarked] for unmarked in (True, False)]
    if chance(seed, "kind", case) < 0.5:
        kinds.reverse()
    mixed = [d for pair in _alternate(*kinds) for d in pair]
    entries = shown + [("control", dispute) for dispute in mixed[:number]]
    # in the order of their places, so that neighbours follow each other and controls lie among disputes
    return sorted(entries, key=lambda e: (e[1].centre, e[1].key))


def _alternate(one: Sequence[Dispute], other: Sequence[Dispute]) -> Iterator[Sequence[Dispute]]:
    for number in range(max(len(one), len(other))):
        yield (*one[number : number + 1], *other[number : number + 1])


def _with_repeats(
    blocks: Sequence[list[tuple[Purpose, Dispute]]], later: Sequence[tuple[int, Dispute]], seed: str
) -> list[list[tuple[Purpose, Dispute]]]:
    """Second showings some subjects later, or at the end; each looks as a subject of its own."""
    after: dict[int, list[Dispute]] = {}
    for place, dispute in later:
        behind = place + APART + int(APART * chance(seed, "apart", dispute.key))
        after.setdefault(min(behind, len(blocks) - 1), []).append(dispute)
    ordered: list[list[tuple[Purpose, Dispute]]] = []
    for number, block in enumerate(blocks):
        ordered.append(block)
        repeats = sorted(after.get(number, ()), key=lambda d: chance(seed, "repeats", d.key))
        ordered += [[("repeat", dispute)] for dispute in repeats]
    return ordered


def choose_practice(found: Sequence[CaseDisputes], settings: Settings, adjudicator: str) -> tuple[str, ...]:
    """Lesions to practise on: outlines that differ most among those that are no dispute, which are not shown again.

    Where there are too few, disputes of the subjects that come last, so that they are forgotten by then.
    """
    agreed = [d for each in found for d in each.settled if d.kind == "unanimous"]
    disputes = [d for each in reversed(found) for d in selected(each, settings, {})]
    number = min(settings.practice, len(disputes) // PRACTICE_SHARE)
    if len(agreed) >= number:
        return tuple(d.key for d in sorted(agreed, key=lambda d: (-d.doubt, d.key))[:number])
    far = disputes[: max(number, len(disputes) // PRACTICE_SHARE)]
    return tuple(
        d.key for d in sorted(far, key=lambda d: chance(settings.seed, adjudicator, "practice", d.key))[:number]
    )


def change(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """Settings with those that were given in their place."""
    return replace(settings, **{name: value for name, value in given.items() if value is not None})
