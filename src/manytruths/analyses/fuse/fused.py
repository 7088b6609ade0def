"""What ``fuse`` keeps of a case, as Python has it and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...complexity import STATISTICS, Complexity
from ...core.columns import Column
from ...core.notes import Note, code_of
from ...core.tally import Tally
from ...core.undefined import Undefined, code


@dataclass(frozen=True)
class Ending:
    """How one method ended for one case."""

    method: str
    ended: str
    iterations: int
    notes: tuple[str, ...]
    united: bool = False
    """Whether it only tells marked from not, where there are several labels."""

    @property
    def note(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)


@dataclass(frozen=True)
class Fused:
    """What is kept of a case."""

    tally: Tally
    """Raters and, as references, the hard decisions of every method."""
    endings: tuple[Ending, ...]
    soft: tuple[tuple[str, str, str, float], ...]
    """Method, rater, statistic, value against the probability."""
    regions: tuple[tuple[str, float, float], ...]
    """Method, Dice and changed share between the whole image and the modified background."""
    complexity: Complexity
    files: tuple[Path, ...] = ()


def on_modified_background(method: str) -> str:
    """What a method made of the modified background is called in tables."""
    return f"{method} on the modified background"


def column_of(method: str) -> Column:
    """Where the decisions of a method stand in a table; a rater may bear the same name."""
    return Column(method, "reference")


def kept(found: Fused) -> dict[str, Any]:
    """The case as JSON: numbers that are undefined as their code and detail."""
    return {
        "tally": found.tally.to_csv(),
        "endings": [{**vars(e), "notes": [[code_of(note), note] for note in e.notes]} for e in found.endings],
        "soft": [[m, r, s, _stored(v)] for m, r, s, v in found.soft],
        "regions": [[m, _stored(d), c] for m, d, c in found.regions],
        "complexity": {k: _stored(v) for k, v in vars(found.complexity).items()},
    }


def _stored(value: Any) -> Any:
    if not isinstance(value, float) or not math.isnan(value):
        return value
    return [code(value), getattr(value, "detail", "")]


def restored(kept: dict[str, Any], files: tuple[Path, ...]) -> Fused:
    """The case back from JSON."""
    case: dict[str, Any] = {k: _number(v) if k in STATISTICS else v for k, v in kept["complexity"].items()}
    return Fused(
        Tally.from_csv(kept["tally"]),
        tuple(_ending(e) for e in kept["endings"]),
        tuple((m, r, s, _number(v)) for m, r, s, v in kept["soft"]),
        tuple((m, _number(d), float(c)) for m, d, c in kept["regions"]),
        Complexity(**case),
        files,
    )


def _ending(kept: dict[str, Any]) -> Ending:
    notes = tuple(Note(code, text) if code else text for code, text in kept["notes"])
    return Ending(**{**kept, "notes": notes})


def _number(value: Any) -> float:
    return Undefined(*value) if isinstance(value, list) else float(value)
