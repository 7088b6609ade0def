"""Everything a report is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..analyses.agree.agree import Agreement
from ..analyses.evaluate.verb import Evaluation
from ..analyses.fuse.verb import Fusion
from ..analyses.plan.verb import Planned
from ..analyses.rank.verb import Ranked
from ..analyses.summaries import Settings
from ..study import Study


@dataclass(frozen=True)
class FileRead:
    """A file that was read, and the digest of its content."""

    path: str
    kind: str
    """mask, image, prediction, …"""
    case: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class View:
    """How a case is looked at: a small picture, and the rest inside the page or in a file beside it."""

    thumbnail: str = ""
    """A data URL; empty without pictures."""
    inside: str = ""
    """The view as JSON; empty where it lies in a file."""
    file: str = ""
    """Relative to the page."""


@dataclass(frozen=True)
class Findings:
    """What the verbs found, what is looked at, and what it was made from."""

    study: Study
    settings: Settings
    agreement: Agreement
    fusion: Fusion
    evaluation: Evaluation | None = None
    ranking: Ranked | None = None
    plan: Planned | None = None
    """Whether more raters would help, by the masks as a pilot."""
    views: Mapping[str, View] = field(default_factory=dict)
    files: tuple[FileRead, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By step."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of the consensus methods."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Options of the evaluation that were given."""
    title: str = ""
    coded: bool = False
    """Whether names were replaced by codes."""

    @cached_property
    def colours(self) -> Mapping[str, str]:
        """``#rrggbb`` of every rater and algorithm, the same all over the page."""
        return assign_colours(self.study)


def assign_colours(study: Study) -> dict[str, str]:
    """``#rrggbb`` by name; an algorithm's has ``algorithm`` in front, as a rater may bear the same name."""
    from ..charts.colours import hexadecimal, rater_colours

    names = [*study.rater_names, *(f"algorithm {c}" for c in study.algorithms)]
    return dict(zip(names, map(hexadecimal, rater_colours(len(names))), strict=True))
