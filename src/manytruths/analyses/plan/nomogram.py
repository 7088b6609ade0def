"""``plan``: the actual accuracy of an algorithm, from agreement or ρ, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...charts.panels import Way, nomogram_chart
from ...core.undefined import reason
from ...io.result_tables import Row
from ...ratings.planning.nomogram import (
    Nomogram,
    majority_from_accuracy,
    nomogram,
    nomogram_for_accuracy,
    reported_accuracy_for,
)
from .topics import PlanSettings, Topic, plan_row, raters_of, sentence

NAME, BACK = "nomogram", "nomogram_back"
PANELS = (1, 3, 5, 9, 15)
REPORTED = (0.85, 0.9, 0.95)
FIELDS = ("agreement", "rho", "rater_accuracy", "majority_accuracy", "reported", "product", "independent")
STATISTICS = {
    "majority_accuracy": "truth_accuracy",
    "reported": "reported_accuracy",
    "product": "actual_accuracy",
    "independent": "actual_if_independent",
}
DEFAULT = 3


def nomogram_topic(settings: PlanSettings) -> Topic:
    """The nomogram in both directions, as far as they are asked for."""
    raters, reported, actual = settings.n_raters or DEFAULT, settings.reported_accuracy, settings.wanted_actual
    forth, back = _forward(settings, raters), None
    if actual is not None and reported is not None:
        back = nomogram_for_accuracy(raters, actual, reported=reported)
    sentences = [*(_sentences(forth, settings) if forth else ()), *_back_sentences(settings, back, forth)]
    rows = [*(_rows(NAME, forth) if forth else ()), *(_rows(BACK, back) if back else ())]
    if forth is not None and actual is not None and not reason(forth.majority_accuracy):
        needed = reported_accuracy_for(actual, forth.majority_accuracy)
        rows.append(plan_row(BACK, "reported_accuracy_needed", needed, raters))
    shown = forth if forth is not None else back
    return Topic(
        NAME, tuple(map(sentence, sentences)), tuple(rows), notes=tuple(_notes(settings)),
        charts=lambda: {} if shown is None else _charts(shown),
    )  # fmt: skip


def _forward(settings: PlanSettings, raters: int) -> Nomogram | None:
    """From agreement, ρ or the raters' accuracy, of which the settings have one at most."""
    if not settings.measured and not settings.rater_accuracy:
        return None
    accuracy = float(np.mean(settings.rater_accuracy)) if settings.rater_accuracy else None
    start = {"agreement": settings.agreement, "rho": settings.rho, "rater_accuracy": accuracy}
    return nomogram(raters, **start, reported=settings.reported_accuracy)


def _sentences(result: Nomogram, settings: PlanSettings) -> Iterator[str]:
    if reason(result.rater_accuracy):
        yield f"an agreement of {result.agreement:g} is not possible for such raters: {reason(result.rater_accuracy)}."
        return
    yield (
        f"raters who agree in {result.agreement:.3f} of the cases are each right in {result.rater_accuracy:.3f} "
        f"(ρ {result.rho:.3f} at full confidence); the majority of {raters_of(result.n_raters)} is right in "
        f"{result.majority_accuracy:.3f}."
    )
    if not reason(result.reported):
        yield (
            f"an algorithm of accuracy {result.reported:g} against that majority is right in {result.product:.3f} by "
            f"the formula of the paper, in {result.independent:.3f} if its errors are independent of those of the "
            f"majority, and in {result.low:.3f} to {result.high:.3f} for any dependence."
        )


def _back_sentences(settings: PlanSettings, back: Nomogram | None, forth: Nomogram | None) -> Iterator[str]:
    if settings.wanted_actual is None:
        return
    if back is not None:
        if reason(back.majority_accuracy):
            yield f"{settings.wanted_actual:g} is out of reach: {reason(back.majority_accuracy)}."
        else:
            yield (
                f"for an algorithm of accuracy {back.reported:g} to be right in {settings.wanted_actual:g}, the "
                f"majority must be right in {back.majority_accuracy:.3f}: {raters_of(back.n_raters)}, each right in "
                f"{back.rater_accuracy:.3f}, who agree in {back.agreement:.3f} of the cases (ρ {back.rho:.3f})."
            )
    if forth is not None and not reason(forth.majority_accuracy):
        result = reported_accuracy_for(settings.wanted_actual, forth.majority_accuracy)
        text = f"cannot be right in {settings.wanted_actual:g}: {reason(result)}"
        if not reason(result):
            text = f"must reach {result:.3f} against that majority to be right in {settings.wanted_actual:g}"
        yield f"an algorithm {text}."


def _rows(topic: str, result: Nomogram) -> Iterator[Row]:
    for name in FIELDS:
        value = getattr(result, name)
        bounds = {"low": result.low, "high": result.high} if name == "product" and not reason(result.low) else {}
        yield plan_row(topic, STATISTICS.get(name, name), value, result.n_raters, **bounds)


def _notes(settings: PlanSettings) -> Iterator[str]:
    yield (
        "the nomogram is for two labels and independent raters of equal accuracy; shared errors lower the "
        "majority's accuracy"
    )
    if settings.n_raters is None:
        yield f"the majority is that of {raters_of(DEFAULT)}; for another number give --n-raters"
    if settings.reported_accuracy is not None:
        yield "low and high of actual_accuracy are its bounds for any dependence of the errors"


def _charts(result: Nomogram) -> dict[str, str]:
    a = np.linspace(0.5, 1, 201)
    panels = sorted({*PANELS, result.n_raters})
    # a line close to that of the user would hide its name
    panels = [k for k in panels if k == result.n_raters or abs(k - result.n_raters) > max(1, result.n_raters / 4)]
    ways = {"agreement": (a**2 + (1 - a) ** 2, "agreement of two raters, Po"), "rho": (a**2, "reliability ρ")}
    charts = {}
    for name, (measured, label) in ways.items():
        curves = {k: (measured, majority_from_accuracy(k, a)) for k in panels}
        reported = None if math.isnan(result.reported) or result.reported < 0.4 else result.reported
        words = "agreement" if name == "agreement" else "reliability"
        title = f"From {words} to actual accuracy, {raters_of(result.n_raters)}"
        charts[f"nomogram-{name}"] = nomogram_chart(
            curves, REPORTED, label, title, raters=result.n_raters, x=reported, way=_chart_way(result, name)
        )
    return charts


def _chart_way(result: Nomogram, name: str) -> Way | None:
    """The values as a path through the chart; None if they lie outside."""
    if not result.majority_accuracy >= 0.5 or result.product < 0.4:
        return None
    actual = (result.product, result.independent, result.low, result.high)
    return Way(getattr(result, name), result.majority_accuracy, *actual)
