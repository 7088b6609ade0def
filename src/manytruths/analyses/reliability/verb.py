"""The verb ``reliability``: how much of the agreement of a rated data set is genuine, and how much of it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import CallError, InputError
from ...core.undefined import REASONS, undefined_like
from ...inference.intervals import Interval
from ...io.results import write_summary
from ...ratings.concordance import ALONE, Chance, Concordance, Partial, sigma
from ...ratings.majorities import Majorities, majorities
from ...ratings.ratings import Ratings, Values
from ..files import summary_of, write_charts
from ..rows import Table, write_all
from ..summaries import Settings
from .confidence import ConfidenceLevels, confidence_levels, confidence_table
from .intervals import beyond_chance, case_means
from .rho_intervals import rho_interval
from .sources import Source, sources_of

KINDS = {
    "tied": "tied",
    "slim": "slim_majority",
    "overwhelming": "overwhelming_majority",
    "wrong": "wrong_majority",
    "wrong_overwhelming": "wrong_overwhelming_majority",
}
"""Kinds of majorities, and what their shares are called."""


@dataclass(frozen=True)
class ReliabilitySettings(Settings):
    """What was asked for, as it is written down."""

    chance: Chance = "uniform"
    partial: Partial = "none"
    accuracy: Mapping[str, float] | None = None
    """Given, by rater."""
    positive: str | None = None
    """Of two labels, the one that sensitivity is about; by default the last."""
    majority_level: float = 0.05
    """Below which p a majority is overwhelming."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """What ``reliability`` found."""

    ratings: Ratings
    settings: ReliabilitySettings
    sigma: Concordance
    sources: list[Source]
    majorities: Majorities
    confidence: ConfidenceLevels | None
    headline: dict[str, Interval]
    """``sigma``, ``rho`` by source (``rho reference``), the kappas, and shares of majorities (``slim_majority``)."""
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def reliability(
    ratings: Ratings, settings: ReliabilitySettings | None = None, notes: Sequence[str] = ()
) -> Reliability:
    """Analyse ratings; ``notes`` are those of the reading."""
    from .notes import notes_of
    from .tables import majorities_table, raters_table, reliability_table

    settings = settings or ReliabilitySettings()
    _refuse(ratings, settings)
    plain = sigma(ratings, settings.chance, settings.partial)
    sources = sources_of(ratings, settings.accuracy, settings.chance, settings.partial)
    won = majorities(ratings, settings.majority_level)
    found = Reliability(
        ratings, settings, plain, sources, won, confidence_levels(ratings),
        _headline(ratings, plain, sources, won, settings),
    )  # fmt: skip
    tables = [reliability_table(found), raters_table(found), majorities_table(found)]
    tables += [confidence_table(found.confidence)] if found.confidence else []
    return replace(found, notes=(*notes, *notes_of(found)), tables=tuple(tables))


def _refuse(ratings: Ratings, settings: ReliabilitySettings) -> None:
    if ratings.weights is not None:
        raise CallError("these are ratings of patterns, not of cases; σ and ρ of masks come from their tables")
    if len(ratings.raters) < 2:
        raise InputError(f"agreement is between two raters or more; there is {', '.join(ratings.raters) or 'nobody'}")
    if not (ratings.rated > 1).any():
        raise InputError(f"{REASONS[ALONE]}, so that nothing can be compared; let some cases be rated twice")
    if settings.positive is not None and settings.positive not in ratings.labels:
        raise CallError(f"--positive {settings.positive!r} is no label; there are {', '.join(ratings.labels)}")


def _headline(
    ratings: Ratings, plain: Concordance, sources: list[Source], won: Majorities, settings: ReliabilitySettings
) -> dict[str, Interval]:
    """All numbers of the data set, with intervals."""
    values: dict[str, Values] = {"sigma": plain.by_case}
    values |= {f"rho {source.name}": source.rho.by_case for source in sources if source.rho is not None}
    for kind, name in KINDS.items():
        base = won.judged if kind.startswith("wrong") else won.counted
        values[name] = np.where(base, getattr(won, kind), np.nan)
    found = dict(zip(values, case_means(list(values.values()), ratings, settings), strict=True))
    for source in sources:
        if source.rho is not None and source.name in ("reference", "majority"):
            found[f"rho {source.name}"] = rho_interval(
                ratings, source.name, source.rho, settings.chance, settings.partial, settings
            )
    for source in sources:
        if source.rho is None:
            nothing = undefined_like(source.value)
            found[f"rho {source.name}"] = Interval(nothing, nothing, nothing, settings.level, "bca", 0)
    return found | beyond_chance(ratings, settings)


def write(found: Reliability, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Tables, summary and charts into a folder; what only an earlier run wrote there goes."""
    drawn = []
    if pictures:
        from .charts import charts

        drawn = write_charts(charts(found), folder / "charts")
    paths = [*write_all(found.tables, folder), *drawn]
    return [*paths, write_summary(folder, summary(found), paths)]


def summary(found: Reliability) -> dict[str, Any]:
    """The tables' numbers, with versions and settings."""
    ratings = found.ratings
    return summary_of(
        "reliability",
        found.tables,
        cases=len(ratings),
        subjects=len(set(ratings.subjects)),
        raters=ratings.raters,
        labels=ratings.labels,
        kind=ratings.kind,
        ratings=int(ratings.rated.sum()),
        missing=int((~ratings.given).sum()),
        settings=found.settings,
        notes=found.notes,
    )
