"""What a study is opened with, from a call, a command line or a ``study.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..errors import StudyError
from ..formats.tables import read_toml
from ..labels import Labels
from ..tallies import REGIONS

PATHS = ("masks", "images", "roi", "ranks", "predictions", "cases", "raters")


@dataclass(frozen=True)
class Options:
    """Everything that says how to read a study.

    Templates are paths with placeholders; ``cases`` and ``raters`` are CSV files with a column of that name.
    """

    masks: str
    images: str | None = None
    roi: str | None = None
    ranks: str | None = None
    predictions: str | None = None
    cases: str | None = None
    raters: str | None = None
    labels: Labels | None = None
    foreground: str | None = None
    void: int | None = None
    region: str = "whole"
    overlap: str = "smaller"
    spacing: tuple[float, ...] | None = None
    exchangeable: bool = False
    exclude: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, allowed in (("foreground", (None, "any")), ("region", REGIONS), ("overlap", ("smaller", "union"))):
            if getattr(self, name) not in allowed:
                shown = ", ".join(str(a) for a in allowed if a)
                raise StudyError(f"{name} is {getattr(self, name)!r}; it must be one of {shown}")


def read_options(path: Path) -> Options:
    """The options of a ``study.toml``; its paths are relative to its folder."""
    table = read_toml(path)
    known = [f.name for f in fields(Options)]
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise StudyError(f"{path}: unknown key {key!r}{hint}")
    if "masks" not in table:
        raise StudyError(f'{path}: has no masks = "…/{{rater}}/{{case}}.png"')
    for key in PATHS:
        if key in table:
            table[key] = (
                _text(path, key, table[key]) if Path(table[key]).is_absolute() else str(path.parent / table[key])
            )
    try:
        return Options(**_typed(table))
    except (TypeError, ValueError, StudyError) as error:
        raise StudyError(f"{path}: {error}") from None


def _text(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise StudyError(f"{path}: {key} is a path; got {value!r}")
    return value


def _typed(table: dict[str, Any]) -> dict[str, Any]:
    if "labels" in table:
        table["labels"] = Labels.of({int(value): str(name) for value, name in table["labels"].items()})
    if "spacing" in table:
        table["spacing"] = tuple(float(s) for s in table["spacing"])
    if "exclude" in table:
        table["exclude"] = {rater: tuple(map(str, cases)) for rater, cases in table["exclude"].items()}
    return table


def merged(options: Options, **given: Any) -> Options:
    """Options with those that were given in their place."""
    return replace(options, **{k: v for k, v in given.items() if v is not None})
