"""What ``plan`` is asked, and the parts of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...core.errors import CallError
from ...core.labels import MAX_LABELS
from ...inference.intervals import MAX_RESAMPLES
from ...ratings.planning.panel_size import MOST_PLURALITY
from ..rows import Row

MOST_RATERS = 999
"""Raters of one panel that is asked for."""
MOST_CASES = 10**9
EXTRA = ("topic", "raters", "rater_accuracy", "rater")

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class Wish:
    """What is asked; None where it is not."""

    wanted: float | None = None
    """Accuracy of the truth."""
    rater_accuracy: tuple[float, ...] = ()
    """One for all, or one each."""
    rater_std: float = 0.01
    correlation: float = 0.0
    spread: float = 0.0
    labels: int = 2
    raters: int | None = None
    agreement: float | None = None
    rho: float | None = None
    reported: float | None = None
    wanted_actual: float | None = None
    kappa: float | None = None
    prevalence: float | None = None
    width: float | None = None
    cases: int | None = None
    cost_rater: float | None = None
    cost_error: float | None = None
    most: int = 15
    gain: float = 0.01
    level: float = 0.95
    seed: int = 0
    resamples: int = 1000

    def __post_init__(self) -> None:
        for name in ("wanted", "agreement", "rho", "reported", "wanted_actual", "prevalence", "level", "gain"):
            check_share(name, getattr(self, name))
        for value in self.rater_accuracy:
            check_share("rater_accuracy", value)
        if not 0 <= self.rater_std <= 0.5:
            raise CallError(f"rater_std, a standard deviation of shares, is from 0 to 0.5; got {self.rater_std:g}")
        most = MOST_RATERS if self.labels == 2 else MOST_PLURALITY
        if self.raters is not None and self.raters > most:
            labels = "" if self.labels == 2 else f" for {self.labels} labels"
            raise CallError(f"raters is at most {most}{labels}; got {self.raters}")
        for name, least in (("raters", 1), ("labels", 2), ("cases", 1), ("seed", 0), ("resamples", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise CallError(f"{name} is at least {least}; got {value}")
        for name, largest in (("labels", MAX_LABELS), ("cases", MOST_CASES), ("resamples", MAX_RESAMPLES)):
            value = getattr(self, name)
            if value is not None and value > largest:
                raise CallError(f"{name} is at most {largest:,}; got {value:,}")
        if len(self.rater_accuracy) > MOST_RATERS:
            raise CallError(f"rater_accuracy is of at most {MOST_RATERS} raters; got {len(self.rater_accuracy):,}")
        if not 3 <= self.most <= 99:
            raise CallError(f"most, the largest panel to compute, is from 3 to 99; got {self.most}")

    @property
    def measured(self) -> bool:
        """Whether there is something to enter a nomogram with."""
        return self.agreement is not None or self.rho is not None


def check_share(name: str, value: float | None) -> None:
    """A share of 1, not of 100."""
    if value is not None and not 0 <= value <= 1:
        hint = f"; for {value:g}% write {value / 100:g}" if 1 < value <= 100 else ""
        raise CallError(f"{name} runs from 0 to 1; got {value:g}{hint}")


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
    """SVG by name, drawn when they are asked for."""


def plan_row(topic: str, statistic: str, value: float, raters: object = "", **more: object) -> Row:
    """A row of plan.csv."""
    extra = (topic, raters, more.pop("rater_accuracy", ""), more.pop("rater", ""))
    return Row("pooled", statistic, value, extra=extra, **more)  # type: ignore[arg-type]


def word(count: int) -> str:
    """``three``, ``17``."""
    return WORDS[count] if count < len(WORDS) else f"{count:,}"


def raters_of(count: int) -> str:
    """``one rater``, ``three raters``."""
    return f"{word(count)} rater{'' if count == 1 else 's'}"


def sentence(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]
