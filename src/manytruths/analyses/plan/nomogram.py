"""``plan``: from agreement or ρ to an algorithm's actual accuracy, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...charts.nomograms import Way, nomogram_chart
from ...core.undefined import reason
from ...ratings.planning.nomogram import (
    Nomogram,
    majority_from_accuracy,
    nomogram,
    nomogram_for_accuracy,
    reported_accuracy_for,
)
from ..rows import Row
from .topics import Topic, Wish, plan_row, raters_of, sentence

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


def nomogram_topic(wish: Wish) -> Topic:
    """Both ways, as far as they are asked."""
    raters = wish.raters or DEFAULT
    forth = _forth(wish, raters)
    back = _back(wish, raters, forth)
    sentences = [*(_told(forth, wish) if forth else ()), *_told_back(wish, back, forth)]
    rows = [*(_rows(NAME, forth) if forth else ()), *(_rows(BACK, back) if back else ())]
    if forth is not None and wish.wanted_actual is not None and not reason(forth.majority_accuracy):
        found = reported_accuracy_for(wish.wanted_actual, forth.majority_accuracy)
        rows.append(plan_row(BACK, "reported_accuracy_needed", found, raters))
    shown = forth if forth is not None else back
    return Topic(
        NAME, tuple(map(sentence, sentences)), tuple(rows), notes=tuple(_notes(wish)),
        charts=lambda: {} if shown is None else _charts(shown),
    )  # fmt: skip


def _forth(wish: Wish, raters: int) -> Nomogram | None:
    if wish.agreement is not None:
        return nomogram(raters, agreement=wish.agreement, reported=wish.reported)
    if wish.rho is not None:
        return nomogram(raters, rho=wish.rho, reported=wish.reported)
    if wish.rater_accuracy:
        mean = float(np.mean(wish.rater_accuracy))
        return nomogram(raters, rater_accuracy=mean, reported=wish.reported)
    return None


def _back(wish: Wish, raters: int, forth: Nomogram | None) -> Nomogram | None:
    if wish.wanted_actual is None or wish.reported is None:
        return None
    return nomogram_for_accuracy(raters, wish.wanted_actual, reported=wish.reported)


def _told(found: Nomogram, wish: Wish) -> Iterator[str]:
    if reason(found.rater_accuracy):
        yield f"an agreement of {found.agreement:g} has no such raters: {reason(found.rater_accuracy)}."
        return
    yield (
        f"raters who agree in {found.agreement:.3f} of the cases are each right in {found.rater_accuracy:.3f} "
        f"(ρ {found.rho:.3f} at full confidence); the majority of {raters_of(found.n_raters)} is right in "
        f"{found.majority_accuracy:.3f}."
    )
    if not reason(found.reported):
        yield (
            f"an algorithm of accuracy {found.reported:g} on that truth is right in {found.product:.3f} as the paper "
            f"has it, in {found.independent:.3f} where its errors are independent of the truth's, and in any event in "
            f"{found.low:.3f} to {found.high:.3f}."
        )


def _told_back(wish: Wish, back: Nomogram | None, forth: Nomogram | None) -> Iterator[str]:
    if wish.wanted_actual is None:
        return
    if back is not None:
        if reason(back.majority_accuracy):
            yield f"{wish.wanted_actual:g} is out of reach: {reason(back.majority_accuracy)}."
        else:
            yield (
                f"for an algorithm of accuracy {back.reported:g} to be right in {wish.wanted_actual:g}, the truth must "
                f"be right in {back.majority_accuracy:.3f}: {raters_of(back.n_raters)}, each right in "
                f"{back.rater_accuracy:.3f}, who agree in {back.agreement:.3f} of the cases (ρ {back.rho:.3f})."
            )
    if forth is not None and not reason(forth.majority_accuracy):
        found = reported_accuracy_for(wish.wanted_actual, forth.majority_accuracy)
        told = f"cannot be right in {wish.wanted_actual:g}: {reason(found)}"
        if not reason(found):
            told = f"must show {found:.3f} on that truth to be right in {wish.wanted_actual:g}"
        yield f"an algorithm {told}."


def _rows(topic: str, found: Nomogram) -> Iterator[Row]:
    for name in FIELDS:
        value = getattr(found, name)
        bounds = {"low": found.low, "high": found.high} if name == "product" and not reason(found.low) else {}
        yield plan_row(topic, STATISTICS.get(name, name), value, found.n_raters, **bounds)


def _notes(wish: Wish) -> Iterator[str]:
    yield "the nomogram is for two labels and independent raters of equal accuracy; shared errors make the truth worse"
    if wish.raters is None:
        yield f"the truth is the majority of {raters_of(DEFAULT)}; for others give --raters"
    if wish.reported is not None:
        yield "low and high of actual_accuracy are its bounds, whatever the errors' dependence"


def _charts(found: Nomogram) -> dict[str, str]:
    a = np.linspace(0.5, 1, 201)
    panels = sorted({*PANELS, found.n_raters})
    # a line beside that of the user would only hide its name
    panels = [k for k in panels if k == found.n_raters or abs(k - found.n_raters) > max(1, found.n_raters / 4)]
    ways = {"agreement": (a**2 + (1 - a) ** 2, "agreement of two raters, Po"), "rho": (a**2, "reliability ρ")}
    drawn = {}
    for name, (measured, label) in ways.items():
        curves = {k: (measured, majority_from_accuracy(k, a)) for k in panels}
        own = None if math.isnan(found.reported) or found.reported < 0.4 else found.reported
        words = "agreement" if name == "agreement" else "reliability"
        title = f"From {words} to actual accuracy, {raters_of(found.n_raters)}"
        drawn[f"nomogram-{name}"] = nomogram_chart(
            curves, REPORTED, label, title, raters=found.n_raters, x=own, way=_way(found, name)
        )
    return drawn


def _way(found: Nomogram, name: str) -> Way | None:
    """Where the values lie on the chart."""
    seen = found.majority_accuracy >= 0.5 and not found.product < 0.4
    if not seen:
        return None
    return Way(getattr(found, name), found.majority_accuracy, found.product, found.independent, found.low, found.high)
