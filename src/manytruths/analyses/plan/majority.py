"""``plan``: accuracy of panels of raters of known accuracy, and the number of raters needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...claims.sentences import number, number_word
from ...core.undefined import Undefined
from ...io.result_tables import Row
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
    def step(self) -> int:
        """Panels are odd if there are two labels."""
        return 2 if self.labels == 2 else 1

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
    sizes = {*range(1, settings.max_raters + 1, model.step), settings.n_raters or 1}
    if needed is not None and needed.n_raters is not None and needed.n_raters < 1000:
        sizes.add(needed.n_raters)
    reached = {k: model.reached(k) for k in sorted(sizes)}
    return Topic(
        NAME, tuple(map(sentence, _sentences(settings, model, needed))), tuple(_rows(model, needed, reached)),
        (_grid(settings, model, reached),), tuple(_notes(settings, model)), lambda: _charts(settings, model, needed),
    )  # fmt: skip


def _like(model: Model) -> str:
    return f"of mean accuracy {model.mean:.3g}" if model.differ else f"of accuracy {model.mean:g}"


def _sentences(settings: PlanSettings, model: Model, needed: RatersNeeded | None) -> Iterator[str]:
    if model.differ:
        shown = ", ".join(f"{a:g}" for a in model.accuracies)
        who = f"the majority of these {raters_of(len(model.accuracies))} ({shown})"
        yield f"{who} is right in {model.panel:.3f} of the cases; the best of them alone in {max(model.accuracies):g}."
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
    fewer = needed.n_raters - model.step
    before = model.reached(fewer) if fewer > 0 else 0.0
    # enough digits to show the difference
    digits = next((n for n in (3, 4, 5) if round(before, n) < needed.wanted), 6)
    text = f"{raters_of(needed.n_raters)} {_like(model)} {_reach(needed.n_raters)} {needed.reached:.{digits}f}"
    if fewer < 1:
        return f"{text}, the {needed.wanted:g} that is wanted."
    return f"{text}; {number_word(fewer)} {_reach(fewer)} {before:.{digits}f}, less than the {needed.wanted:g} wanted."


def _reach(count: int) -> str:
    return "reaches" if count == 1 else "reach"


def _rows(model: Model, needed: RatersNeeded | None, reached: dict[int, float]) -> Iterator[Row]:
    def row(statistic: str, value: float, raters: object = "") -> Row:
        return plan_row(NAME, statistic, value, raters, rater_accuracy=model.mean)

    for k, value in reached.items():
        yield row("majority_accuracy", value, k)
        if k % 2 and k > 1 and model.labels == 2:
            yield row("slim_majority_share", model.slim(k), k)
    yield row("ceiling", ceiling(model.accuracies, **model.options, n_labels=model.labels))
    if model.differ:
        yield row("panel_accuracy", model.panel, len(model.accuracies))
    if needed is not None:
        none = Undefined("no_panel_large_enough", needed.reason)
        yield row("raters_needed", none if needed.n_raters is None else float(needed.n_raters))


def _grid(settings: PlanSettings, model: Model, reached: dict[int, float]) -> Grid:
    header = ("raters", "right", "gain", *(["by one vote"] if model.labels == 2 else []))
    rows, before = [], None
    for k, value in reached.items():
        cells = [str(k), number(value), "" if before is None else f"+{value - before:.3f}".replace("+-", "−")]
        if model.labels == 2:
            cells.append(f"{model.slim(k):.0%}" if k % 2 and k > 1 else "")
        rows.append(cells)
        before = value
    errors = "errors independent" if model.words == "independent" else f"errors with {model.words}"
    labels = f", {settings.n_labels} labels" if settings.n_labels > 2 else ""
    return Grid(f"Majorities of raters {_like(model)}, {errors}{labels}", header, rows)


def _notes(settings: PlanSettings, model: Model) -> Iterator[str]:
    if model.words == "independent":
        yield (
            "errors are assumed to be independent; if some cases are difficult for all raters, the accuracy is lower "
            "(--correlation)"
        )
    elif model.correlation:
        yield (
            "correlated errors: each case has its own accuracy, Beta-distributed around that of the raters "
            "(beta-binomial)"
        )
    else:
        spread = f"{model.spread:.2f}"
        yield f"raters and cases differ: the logit of accuracy has a standard deviation of {spread} over the cases"
    if model.differ:
        yield "numbers for other panels are for raters drawn at random from these"
    if settings.n_labels > 2:
        yield "wrong votes are distributed evenly over the other labels; tied labels share the win"


def _charts(settings: PlanSettings, model: Model, needed: RatersNeeded | None) -> dict[str, str]:
    from ...charts.panels import panel_chart

    wanted_panels = (settings.n_raters, None if needed is None else needed.n_raters)
    longest = max(settings.max_raters, *(k for k in wanted_panels if k is not None and k <= LARGEST_SHOWN), 0)
    ks = range(1, longest + 1, model.step)
    curves = {model.words: (ks, [model.reached(k) for k in ks])}
    if model.words != "independent":
        curves["independent"] = (ks, _independent(model.mean, ks, model.labels))
    chosen = needed.n_raters if needed is not None and needed.n_raters in ks else settings.n_raters
    mark = None if chosen is None or chosen not in ks else (chosen, model.reached(chosen))
    title = f"Majorities of raters {_like(model)}"
    charts = {"majority": panel_chart(curves, title, wanted=settings.wanted, chosen=mark)}
    several = {f"{a:g}": (ks, _independent(a, ks, model.labels)) for a in ACCURACIES}
    charts["accuracies"] = panel_chart(several, "Majorities by the raters' accuracy, errors independent", ordered=True)
    if model.labels > 2:
        return charts
    if settings.wanted is not None:
        charts["needed"] = _needed_chart(settings.wanted, model)
    std = float(np.std(model.accuracies)) if model.differ else settings.rater_std
    band = majority_band([k for k in ks if k <= 99], model.mean, std, seed=settings.seed)
    charts["band"] = panel_chart(
        {"mean": (band.sizes, band.average)}, f"Majorities of raters of accuracy {model.mean:.3g} ± {std:.2g}",
        ylabel="mean, worst and best panel", bands={"mean": (band.low, band.high)},
    )  # fmt: skip
    return charts


def _independent(accuracy: float, sizes: Iterable[int], labels: int) -> list[float]:
    model = Model((accuracy,), 0.0, 0.0, labels)
    return [model.reached(k) for k in sizes]


def _needed_chart(wanted: float, model: Model) -> str:
    from ...charts.panels import ratio_chart

    accuracy = np.linspace(0.55, 0.99, 177)
    correlations = {model.words: model.correlation, "independent": 0.0} if model.correlation else {"independent": 0.0}
    lines = {name: (accuracy, _needs(wanted, accuracy, rho)) for name, rho in correlations.items()}
    count = model.needed(wanted).n_raters
    mark = None if count is None or not 0.55 <= model.mean <= 0.99 else (model.mean, float(count))
    title = f"Raters needed for a truth of {wanted:g}"
    words = f"{count} of {model.mean:.3g}"
    return ratio_chart(lines, "accuracy of a rater", "raters needed", title, chosen=mark, words=words)


def _needs(wanted: float, accuracy: Values, correlation: float) -> list[float]:
    counts = [raters_needed(wanted, a, correlation=correlation).n_raters for a in accuracy.tolist()]
    return [float("nan") if count is None else float(count) for count in counts]
