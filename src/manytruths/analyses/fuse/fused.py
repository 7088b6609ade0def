"""What ``fuse`` keeps of a case, as Python has it and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...complexity import STATISTICS, Complexity
from ...core.columns import Column
from ...core.labels import Undefined, reason
from ...core.tally import Tally


@dataclass(frozen=True)
class Ending:
    """How one method ended for one case."""

    method: str
    ended: str
    iterations: int
    note: str
    united: bool = False
    """Whether it only tells marked from not, where there are several labels."""


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


def column_of(method: str) -> Column:
    """Where the decisions of a method stand in a table; a rater may bear the same name."""
    return Column(method, "reference")


def kept(found: Fused) -> dict[str, Any]:
    """The case as JSON: numbers that are undefined as their reason."""
    return {
        "tally": found.tally.to_csv(),
        "endings": found.endings,
        "soft": [[m, r, s, reason(v) or v] for m, r, s, v in found.soft],
        "regions": [[m, reason(d) or d, c] for m, d, c in found.regions],
        "complexity": {k: _text(v) for k, v in vars(found.complexity).items()},
    }


def _text(value: Any) -> Any:
    return (reason(value) or value) if isinstance(value, float) else value


def restored(kept: dict[str, Any], files: tuple[Path, ...]) -> Fused:
    """The case back from JSON."""
    case: dict[str, Any] = {k: _number(v) if k in STATISTICS else v for k, v in kept["complexity"].items()}
    return Fused(
        Tally.from_csv(kept["tally"]),
        tuple(Ending(**e) for e in kept["endings"]),
        tuple((m, r, s, _number(v)) for m, r, s, v in kept["soft"]),
        tuple((m, _number(d), float(c)) for m, d, c in kept["regions"]),
        Complexity(**case),
        files,
    )


def _number(value: Any) -> float:
    return Undefined(value) if isinstance(value, str) else float(value)
