"""The settings of ``plan``, and the parts of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...claims.sentences import number_word
from ...core.errors import CallError
from ...core.labels import MAX_LABELS
from ...inference.intervals import MAX_RESAMPLES
from ...io.result_tables import Row
from ...ratings.planning.panels import MAX_PLURALITY_PANEL
from ...ratings.planning.pilot import PilotPlan

MAX_RATERS = 999
"""Largest number of raters of one panel."""
MAX_CASES = 10**9
EXTRA = ("topic", "raters", "rater_accuracy", "rater")


@dataclass(frozen=True)
class PlanSettings:
    """The arguments of :func:`manytruths.plan`; None where they are not given."""

    wanted: float | None = None
    rater_accuracy: tuple[float, ...] = ()
    """One number for all raters, or one for each."""
    rater_std: float = 0.01
    correlation: float = 0.0
    spread: float = 0.0
    n_labels: int = 2
    n_raters: int | None = None
    agreement: float | None = None
    rho: float | None = None
    reported_accuracy: float | None = None
    wanted_actual: float | None = None
    kappa: float | None = None
    prevalence: float | None = None
    kappa_width: float | None = None
    n_cases: int | None = None
    cost_rater: float | None = None
    cost_error: float | None = None
    max_raters: int = 15
    gain: float | None = None
    level: float = 0.95
    seed: int = 0
    resamples: int = 1000

    def __post_init__(self) -> None:
        for name in ("wanted", "agreement", "rho", "reported_accuracy", "wanted_actual", "prevalence", "level", "gain"):
            check_share(name, getattr(self, name))
        for value in self.rater_accuracy:
            check_share("rater_accuracy", value)
        if not 0 <= self.rater_std <= 0.5:
            raise CallError(f"rater_std must be from 0 to 0.5; got {self.rater_std:g}")
        largest = MAX_RATERS if self.n_labels == 2 else MAX_PLURALITY_PANEL
        if self.n_raters is not None and self.n_raters > largest:
            labels = "" if self.n_labels == 2 else f" for {self.n_labels} labels"
            raise CallError(f"n_raters must be at most {largest}{labels}; got {self.n_raters}")
        ranges = {"n_raters": (1, largest), "n_labels": (2, MAX_LABELS), "n_cases": (1, MAX_CASES)}
        for name, (least, most) in (ranges | {"seed": (0, None), "resamples": (1, MAX_RESAMPLES)}).items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise CallError(f"{name} must be at least {least}; got {value}")
            if value is not None and most is not None and value > most:
                raise CallError(f"{name} must be at most {most:,}; got {value:,}")
        if len(self.rater_accuracy) > MAX_RATERS:
            raise CallError(f"rater_accuracy must have at most {MAX_RATERS} numbers; got {len(self.rater_accuracy):,}")
        if not 3 <= self.max_raters <= 99:
            raise CallError(f"max_raters must be from 3 to 99; got {self.max_raters}")

    @property
    def measured(self) -> bool:
        """Whether agreement or ρ is given, from which the nomogram starts."""
        return self.agreement is not None or self.rho is not None


def check_share(name: str, value: float | None) -> None:
    """Reject numbers that are not from 0 to 1."""
    if value is not None and not 0 <= value <= 1:
        hint = f"; for {value:g}% write {value / 100:g}" if 1 < value <= 100 else ""
        raise CallError(f"{name} must be from 0 to 1; got {value:g}{hint}")


@dataclass(frozen=True)
class Grid:
    """A table for the terminal."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Topic:
    """The answer to one question."""

    name: str
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    charts: Callable[[], dict[str, str]] = field(default=dict)
    """Makes SVG by name, when needed."""
    pilot: PilotPlan | None = None
    """The plan from a pilot, about which there are claims instead of sentences."""


def plan_row(topic: str, statistic: str, value: float, raters: object = "", **more: object) -> Row:
    """A row of plan.csv."""
    extra = (topic, raters, more.pop("rater_accuracy", ""), more.pop("rater", ""))
    return Row("pooled", statistic, value, extra=extra, **more)  # type: ignore[arg-type]


def raters_of(count: int) -> str:
    """``one rater``, ``three raters``."""
    return f"{number_word(count)} rater{'' if count == 1 else 's'}"


def sentence(text: str) -> str:
    """Capitalised."""
    return text[:1].upper() + text[1:]
