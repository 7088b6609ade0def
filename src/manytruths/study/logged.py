"""What the entries of a log must hold before anything is computed with them, whoever wrote them.

A log comes from other machines and people. Its digests show what was changed afterwards, but not that what it says
makes sense: who forges a log can make digests, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from ..core.boxed_runs import runs_from_pairs
from ..core.errors import ManytruthsError, one_line
from ..io.decision_log import Entry, LogContent, LogError
from .disputes import DisputeRule

MOST_PIXELS = 1 << 62
"""Of a box."""
Whole = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Edge = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Value = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Purpose = Literal["dispute", "practice", "control", "repeat", "double"]


class Rule(msgspec.Struct, frozen=True):
    """Which lesions are disputes."""

    min_dice: float = 0.7
    min_mm: float | None = None
    below: str = "vote:0.5"
    unit: Literal["lesion", "tile"] = "lesion"
    tile: int = 128
    lesion_min_size: Annotated[int, msgspec.Meta(ge=1)] = 1


class Settings(msgspec.Struct, frozen=True):
    """How a session was begun."""

    seed: int = 0
    order: Literal["subject", "doubt"] = "subject"
    first_look: bool = True
    names: bool = False
    show: list[str] = []
    controls: float = 0.0
    repeats: float = 0.0
    double: float = 0.0
    practice: int = 0
    role: Literal["first", "second", "third"] = "first"
    groups: list[str] = []
    labels: list[str] = []
    kinds: list[str] = []
    rule: Rule = Rule()


class Payload(msgspec.Struct, frozen=True):
    """What any entry may say."""

    key: str = ""
    purpose: Purpose = "dispute"
    made: str = ""
    reason: str = ""
    comment: str = ""


class Opened(Payload, frozen=True):
    """A session was begun."""

    settings: Settings | None = None
    rule: Rule | None = None
    seed: int | None = None
    practice: list[str] = []
    order_for: str = ""


class Looked(Payload, frozen=True):
    """The answer to the bare image."""

    answer: str = ""
    seconds: Seconds | None = None


class Shown(Payload, frozen=True):
    """Something hidden was asked for."""

    what: str = ""


class Seen(msgspec.Struct, frozen=True):
    """What the adjudicator knew when they decided."""

    answer: str = ""
    first_look: bool = True
    names: bool = False
    shown: list[str] = []
    letters: list[str] = []
    given: str = ""
    role: str = ""
    beside: str = ""


class Decided(msgspec.Struct, frozen=True):
    """The pixels of a decision."""

    key: str
    choice: str
    box: list[tuple[Edge, Edge]]
    domain: list[Whole]
    pixels: list[tuple[Value, list[Whole]]]
    kind: str = ""
    label: Value | None = None
    purpose: Purpose = "dispute"
    made: str = ""
    reason: str = ""
    comment: str = ""
    seconds: Seconds | None = None
    seen: Seen = Seen()
    rule: Rule | None = None


class Ruled(Payload, frozen=True, kw_only=True):
    """Many disputes were settled at once."""

    rule: Literal["majority", "union", "intersection", "none"]
    kind: str = ""
    keys: list[str] = []
    cases: dict[str, str] = {}
    seen: Seen = Seen()


class Undone(Payload, frozen=True):
    """A decision was taken back."""

    of: str = ""


class Finished(Payload, frozen=True):
    """The log was locked, or opened again."""

    name: str = ""
    meaning: str = ""


PAYLOADS: Mapping[str, type[msgspec.Struct]] = {
    "open": Opened, "look": Looked, "show": Shown, "decide": Decided, "add": Decided, "rule": Ruled, "undo": Undone,
    "skip": Payload, "second": Payload, "finish": Finished, "reopen": Finished,
}  # fmt: skip


def check_logs(logs: Iterable[LogContent]) -> tuple[LogContent, ...]:
    """The same logs; :class:`LogError` names the first entry that means nothing."""
    kept, axes = tuple(logs), dict[str, int]()
    for log in kept:
        check_entries(log.entries, f"the log of {one_line(log.adjudicator)} on {one_line(log.machine)}", axes)
    return kept


def check_entries(entries: Iterable[Entry], source: str, axes: dict[str, int] | None = None) -> None:
    """Raise :class:`LogError` for the first entry that means nothing; ``axes`` are those of the cases so far."""
    axes = {} if axes is None else axes
    for entry in entries:
        try:
            _check(entry, axes)
        except (msgspec.ValidationError, ManytruthsError, ValueError, OverflowError) as error:
            raise LogError(
                f"{source}: entry {entry.number} ({entry.action}) is none that manytruths writes: "
                f"{one_line(str(error))}; ask for the log as it was packed"
            ) from None


def check_payload(action: str, payload: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for what would be refused when the log is read again."""
    _read(action, payload)


def _read(action: str, said: Mapping[str, Any]) -> Any:
    kind = PAYLOADS.get(action)
    if kind is None:
        raise ValueError("nothing is known of this action")
    # as it comes back from a log
    payload: Any = msgspec.convert(msgspec.to_builtins(said), kind, strict=True)
    if isinstance(payload, Decided):
        _check_pixels(payload)
    return payload


def _check(entry: Entry, axes: dict[str, int]) -> None:
    payload = _read(entry.action, entry.payload)
    if isinstance(payload, Decided) and axes.setdefault(entry.case, len(payload.box)) != len(payload.box):
        raise ValueError("its box has other axes than the one of another entry about the case")
    rules = [payload.rule] if isinstance(payload, Opened | Decided) and payload.rule is not None else []
    if isinstance(payload, Opened) and payload.settings is not None:
        rules.append(payload.settings.rule)
    for rule in rules:
        DisputeRule(**{name: getattr(rule, name) for name in rule.__struct_fields__})


def _check_pixels(decided: Decided) -> None:
    """Boxes that are none, and runs that leave their box or one of its rows."""
    box = tuple(decided.box)
    shape = [stop - start for start, stop in box]
    if not shape or min(shape) < 1 or math.prod(shape) >= MOST_PIXELS:
        raise ValueError("its box holds no pixels, or too many")
    runs = [decided.domain, *(flat for _, flat in decided.pixels)]
    if any(len(flat) % 2 for flat in runs):
        raise ValueError("runs are pairs of start and length")
    starts, lengths = np.array([number for flat in runs for number in flat], np.int64).reshape(-1, 2).T
    if (starts % shape[-1] + lengths > shape[-1]).any():
        raise ValueError("a run goes on in another row")
    runs_from_pairs([(1, decided.domain)], box)
    runs_from_pairs(decided.pixels, box)
