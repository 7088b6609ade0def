"""``plan``: accuracy of panels of raters of known accuracy, and the number of raters needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...core.undefined import Undefined
from ...ratings.planning.panels import (
    RatersNeeded,
    ceiling,
    majority_accuracy,
    majority_band,
    random_panel_votes,
    raters_needed,
    spread_for_correlation,
    win_probability,
)
from ...ratings.ratings import Values
from ..printing import number, number_word
from ..tables import Row
from .topics import Grid, PlanSettings, Topic, plan_row, raters_of, sentence

NAME = "majority"
LARGEST_SHOWN = 51
"""Largest panel for which a chart is extended."""
ACCURACIES = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)


@dataclass(frozen=True)
class Model:
    """How the raters' errors are modelled."""

    accuracies: tuple[float, ...]
    correlation: float
    spread: float
    labels: int

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(np.mean(self.accuracies))

    @property
    def differ(self) -> bool:
        """Whether the raters' accuracies differ."""
        return len(set(self.accuracies)) > 1

    @property
    def words(self) -> str:
        """Name of the model in the legend of a chart."""
        if self.correlation:
            return f"correlation {self.correlation:g}"
        return f"spread {self.spread:.2g} logits" if self.spread else "independent"

    @property
    def options(self) -> dict[str, float]:
        """Keyword arguments of the functions in ``ratings.planning``."""
        return {"correlation": self.correlation, "spread": self.spread}

    def votes(self, k: int) -> Values:
        """Probabilities of each number of correct votes of k such raters."""
        return random_panel_votes(k, self.accuracies, **self.options)

    def reached(self, k: int) -> float:
        """Accuracy of the majority of k such raters."""
        return float(self.votes(k) @ win_probability(k, self.labels))

    def slim(self, k: int) -> float:
        """Share of cases that k raters decide by one vote."""
        return float(self.votes(k)[[k // 2, k // 2 + 1]].sum())

    @property
    def panel(self) -> float:
        """Accuracy of the majority of exactly these raters."""
        return majority_accuracy(len(self.accuracies), self.accuracies, **self.options, n_labels=self.labels)

    def needed(self, wanted: float) -> RatersNeeded:
        """Number of such raters needed."""
        return raters_needed(wanted, self.accuracies, **self.options, n_labels=self.labels)


def error_model(settings: PlanSettings) -> Model:
    """The model of the settings; for raters who differ, a correlation becomes a spread."""
    accuracies, correlation, spread = settings.rater_accuracy, settings.correlation, settings.spread
    if correlation and not spread and len(set(accuracies)) > 1:
        correlation, spread = 0.0, spread_for_correlation(accuracies, correlation)
    return Model(accuracies, correlation, spread, settings.n_labels)


def majority_topic(settings: PlanSettings) -> Topic:
    """Sentences, table and charts for raters of known accuracy."""
    model = error_model(settings)
    needed = None if settings.wanted is None else model.needed(settings.wanted)
    sizes = _sizes(settings, needed)
    reached = {k: model.reached(k) for k in sizes}
    sentences = tuple(sentence(words) for words in _sentences(settings, model, needed))
    return Topic(
        NAME, sentences, tuple(_rows(settings, model, needed, reached)), (_grid(settings, model, reached),),
        tuple(_notes(settings, model)), lambda: _charts(settings, model, needed),
    )  # fmt: skip


def _sizes(settings: PlanSettings, needed: RatersNeeded | None) -> list[int]:
    sizes = set(range(1, settings.max_raters + 1, 2 if settings.n_labels == 2 else 1))
    sizes |= {settings.n_raters} if settings.n_raters else set()
    if needed is not None and needed.n_raters is not None and needed.n_raters < 1000:
        sizes.add(needed.n_raters)
    return sorted(sizes)


def _like(model: Model) -> str:
    return f"of mean accuracy {model.mean:.3g}" if model.differ else f"of accuracy {model.mean:g}"


def _sentences(settings: PlanSettings, model: Model, needed: RatersNeeded | None) -> Iterator[str]:
    if model.differ:
        shown = ", ".join(f"{a:g}" for a in model.accuracies)
        best = max(model.accuracies)
        yield (f"the majority of these {raters_of(len(model.accuracies))} ({shown}) is right in {model.panel:.3f} of "
               f"the cases; the best of them alone in {best:g}.")  # fmt: skip
    if needed is not None:
        yield _needed_sentence(model, needed)
    if settings.n_raters:
        k = settings.n_raters
        yield f"{raters_of(k)} {_like(model)} {_reach(k)} {model.reached(k):.3f}."
    if needed is None and not settings.n_raters:
        others = ", ".join(f"{number_word(k)} {_reach(k)} {model.reached(k):.3f}" for k in (5, 7, 9))
        yield f"three raters {_like(model)} reach {model.reached(3):.3f}, {others}."


def _needed_sentence(model: Model, needed: RatersNeeded) -> str:
    if needed.n_raters is None:
        return f"no panel of raters {_like(model)} reaches {needed.wanted:g}: {needed.reason}."
    fewer = needed.n_raters - (2 if model.labels == 2 else 1)
    before = model.reached(fewer) if fewer > 0 else 0.0
    # enough digits to show the difference
    digits = next((n for n in (3, 4, 5) if round(before, n) < needed.wanted), 6)
    text = f"{raters_of(needed.n_raters)} {_like(model)} {_reach(needed.n_raters)} {needed.reached:.{digits}f}"
    if fewer < 1:
        return f"{text}, the {needed.wanted:g} that is wanted."
    return f"{text}; {number_word(fewer)} {_reach(fewer)} {before:.{digits}f}, less than the {needed.wanted:g} wanted."


def _reach(count: int) -> str:
    return "reaches" if count == 1 else "reach"


def _rows(
    settings: PlanSettings, model: Model, needed: RatersNeeded | None, reached: dict[int, float]
) -> Iterator[Row]:
    for k, value in reached.items():
        yield plan_row(NAME, "majority_accuracy", value, k, rater_accuracy=model.mean)
        if k % 2 and k > 1 and model.labels == 2:
            yield plan_row(NAME, "slim_majority_share", model.slim(k), k, rater_accuracy=model.mean)
    top = ceiling(model.accuracies, **model.options, n_labels=model.labels)
    yield plan_row(NAME, "ceiling", top, rater_accuracy=model.mean)
    if model.differ:
        yield plan_row(NAME, "panel_accuracy", model.panel, len(model.accuracies), rater_accuracy=model.mean)
    if needed is not None:
        value = (
            float(needed.n_raters) if needed.n_raters is not None else Undefined("no_panel_large_enough", needed.reason)
        )
        yield plan_row(NAME, "raters_needed", value, rater_accuracy=model.mean)


def _grid(settings: PlanSettings, model: Model, reached: dict[int, float]) -> Grid:
    header = ("raters", "right", "gain", *(["by one vote"] if model.labels == 2 else []))
    rows, before = [], None
    for k, value in reached.items():
        cells = [str(k), number(value), "" if before is None else f"+{value - before:.3f}".replace("+-", "−")]
        if model.labels == 2:
            cells.append(f"{model.slim(k):.0%}" if k % 2 and k > 1 else "")
        rows.append(cells)
        before = value
    return Grid(f"Majorities of raters {_like(model)}, {_kind(settings, model)}", header, rows)


def _kind(settings: PlanSettings, model: Model) -> str:
    what = "errors independent" if model.words == "independent" else f"errors with {model.words}"
    return what + (f", {settings.n_labels} labels" if settings.n_labels > 2 else "")


def _notes(settings: PlanSettings, model: Model) -> Iterator[str]:
    if model.words == "independent":
        yield (
            "errors are assumed to be independent; if some cases are difficult for all raters, the accuracy is "
            "lower (--correlation)"
        )
    elif model.correlation:
        yield (
            "correlated errors: each case has its own accuracy, Beta-distributed around that of the raters "
            "(beta-binomial)"
        )
    else:
        yield (
            f"raters and cases differ: the logit of accuracy has a standard deviation of {model.spread:.2f} "
            "over the cases"
        )
    if model.differ:
        yield "numbers for other panels are for raters drawn at random from these"
    if settings.n_labels > 2:
        yield "wrong votes are distributed evenly over the other labels; tied labels share the win"


def _charts(settings: PlanSettings, model: Model, needed: RatersNeeded | None) -> dict[str, str]:
    from ...charts.panels import panel_chart

    step = 2 if settings.n_labels == 2 else 1
    ks = range(1, max(settings.max_raters, _chart_length(needed), _if_shown(settings.n_raters)) + 1, step)
    alone = Model((model.mean,), 0.0, 0.0, settings.n_labels)
    curves = {model.words: (ks, [model.reached(k) for k in ks])}
    if model.words != "independent":
        curves["independent"] = (ks, [alone.reached(k) for k in ks])
    chosen = needed.n_raters if needed is not None and needed.n_raters in ks else settings.n_raters
    mark = None if chosen is None or chosen not in ks else (chosen, model.reached(chosen))
    title = f"Majorities of raters {_like(model)}"
    charts = {"majority": panel_chart(curves, title, wanted=settings.wanted, chosen=mark)}
    several = {f"{a:g}": (ks, [Model((a,), 0.0, 0.0, settings.n_labels).reached(k) for k in ks]) for a in ACCURACIES}
    charts["accuracies"] = panel_chart(several, "Majorities by the raters' accuracy, errors independent", ordered=True)
    if settings.wanted is not None and settings.n_labels == 2:
        charts["needed"] = _needed_chart(settings, model)
    if settings.n_labels == 2:
        std = float(np.std(model.accuracies)) if model.differ else settings.rater_std
        band = majority_band([k for k in ks if k <= 99], model.mean, std, seed=settings.seed)
        title = f"Majorities of raters of accuracy {model.mean:.3g} ± {std:.2g}"
        charts["band"] = panel_chart(
            {"mean": (band.sizes, band.average)}, title, ylabel="mean, worst and best panel",
            bands={"mean": (band.low, band.high)},
        )  # fmt: skip
    return charts


def _chart_length(needed: RatersNeeded | None) -> int:
    """Length of a chart that shows the panel needed, unless that is too large."""
    return 0 if needed is None else _if_shown(needed.n_raters)


def _if_shown(raters: int | None) -> int:
    return raters if raters is not None and raters <= LARGEST_SHOWN else 0


def _needed_chart(settings: PlanSettings, model: Model) -> str:
    from ...charts.panels import ratio_chart

    wanted, accuracy = float(settings.wanted or 0), np.linspace(0.55, 0.99, 177)
    curves = {"independent": _needs(wanted, accuracy, 0.0)}
    if model.correlation:
        curves = {model.words: _needs(wanted, accuracy, model.correlation), **curves}
    count = model.needed(wanted).n_raters
    mark = None if count is None or not 0.55 <= model.mean <= 0.99 else (model.mean, float(count))
    words = f"{count} of {model.mean:.3g}"
    lines = {name: (accuracy, values) for name, values in curves.items()}
    return ratio_chart(lines, "accuracy of a rater", "raters needed", f"Raters needed for a truth of {wanted:g}",
                       chosen=mark, words=words)  # fmt: skip


def _needs(wanted: float, accuracy: Values, correlation: float) -> list[float]:
    counts = [raters_needed(wanted, a, correlation=correlation).n_raters for a in accuracy.tolist()]
    return [float("nan") if count is None else float(count) for count in counts]
