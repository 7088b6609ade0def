"""``plan``: how many raters are worth their cost, from a pilot study."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.tally import Tallies, pool
from ...core.undefined import reason
from ...inference.intervals import Interval
from ...ratings.accuracy import RaterAccuracy, rater_accuracy
from ...ratings.masks import ratings_from_tally
from ...ratings.planning.pilot import Panel, PilotPlan, plan_from_pilot
from ...ratings.ratings import Ratings
from ..printing import number, number_word
from ..rows import Row
from .topics import Grid, PlanSettings, Topic, plan_row, raters_of, sentence

NAME = "pilot"
OF_MASKS = "in masks, every pixel that any rater marked is a rating; agreement on the background does not count"


def pilot_topic(settings: PlanSettings, pilot: Ratings | Tallies) -> Topic:
    """Sentences, table and chart for the ratings or masks of a pilot."""
    masks = isinstance(pilot, Tallies)
    plan = plan_from_pilot(
        pilot, max_raters=settings.max_raters, gain=settings.gain, cost_rater=settings.cost_rater,
        cost_error=settings.cost_error, level=settings.level, resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
    ratings = ratings_from_tally(pool(pilot, mixed=True)) if isinstance(pilot, Tallies) else pilot
    raters = rater_accuracy(ratings, "majority" if plan.source == "panel" else "reference")
    rows = [*_rows(plan), *_rater_rows(raters)]
    return Topic(
        NAME, tuple(map(sentence, _sentences(plan, settings))), tuple(rows), (_grid(plan), _rater_grid(raters)),
        (*_notes(plan), *([OF_MASKS] if masks else [])), lambda: _charts(plan, settings),
    )  # fmt: skip


def _within(value: Interval, digits: int = 3) -> str:
    shown = number(value.value, digits)
    return shown if reason(value.low) else f"{shown} ({number(value.low, digits)}–{number(value.high, digits)})"


def _sentences(plan: PilotPlan, settings: PlanSettings) -> Iterator[str]:
    best = int(plan.best.value)
    panel, now = plan.panels[best - 1], plan.panels[min(plan.n_raters, len(plan.panels)) - 1]
    known = not reason(plan.best.low)
    sure = f" (by resampling the cases {plan.best.low:.0f} to {plan.best.high:.0f})" if known else ""
    who = "their majority" if best > 1 else "who"
    what = "is right in" if plan.source == "reference" else "says what most raters would in"
    yield f"take {raters_of(best)}{sure}: {who} {what} {_within(panel.accuracy)} of the cases."
    if best + (2 if plan.n_labels == 2 else 1) > len(plan.panels):
        yield f"larger panels were not computed and may be better: raise --max-raters, now {len(plan.panels)}."
    if plan.additional_raters:
        more, have = number_word(plan.additional_raters), number_word(plan.n_raters)
        yield f"that is {more} more than the pilot's {have}, whose majority reaches {now.accuracy.value:.3f}."
    else:
        yield f"the pilot's {raters_of(plan.n_raters)} are {'enough' if best == plan.n_raters else 'more than that'}."
    if settings.wanted is not None:
        enough = next((p for p in plan.panels if p.accuracy.value >= settings.wanted), None)
        if enough is None:
            reached = f"up to {plan.panels[-1].n_raters} raters none reaches"
        else:
            reached = f"{raters_of(enough.n_raters)} reach{'es' if enough.n_raters == 1 else ''}"
        yield f"{reached} {settings.wanted:g}, by the fitted model."


def _rows(plan: PilotPlan) -> Iterator[Row]:
    whole = {"rater_accuracy": plan.accuracy, "correlation": plan.correlation, "best_raters": plan.best}
    for name, value in whole.items():
        yield plan_row(NAME, name, value.value, low=value.low, high=value.high, n=value.n)
    for panel in plan.panels:
        value = panel.accuracy
        yield plan_row(
            NAME, "majority_accuracy", value.value, panel.n_raters, low=value.low, high=value.high, n=value.n
        )
        more = {"observed_majority_accuracy": panel.observed, "gain": panel.gain, "cost": panel.cost}
        for name, amount in more.items():
            if not reason(amount):
                yield plan_row(NAME, name, amount, panel.n_raters)


def _rater_rows(raters: RaterAccuracy) -> Iterator[Row]:
    for rater, value, n in zip(raters.raters, raters.accuracy.tolist(), raters.n.tolist(), strict=True):
        yield plan_row(NAME, f"accuracy_by_{raters.source}", value, rater=rater, n=n)


def _grid(plan: PilotPlan) -> Grid:
    shown = [p for p in plan.panels if p.n_raters % 2 or plan.n_labels > 2]
    observed, cost = any(not reason(p.observed) for p in shown), any(not reason(p.cost) for p in shown)
    right = "right" if plan.source == "reference" else "as most would"
    header = ("raters", right, *(["observed"] if observed else []), *(["cost a case"] if cost else []), "")
    rows = [_cells(p, plan, observed, cost) for p in shown]
    return Grid(f"By {plan.rule}", header, rows)


def _cells(panel: Panel, plan: PilotPlan, observed: bool, cost: bool) -> list[str]:
    more = [number(panel.observed)] if observed else []
    more += [number(panel.cost)] if cost else []
    marks = "take these" if panel.n_raters == int(plan.best.value) else ""
    return [str(panel.n_raters), _within(panel.accuracy), *more, marks]


def _rater_grid(raters: RaterAccuracy) -> Grid:
    against = "the reference" if raters.source == "reference" else "the majority of the others"
    rows = [[r, number(a), f"{n:,}"] for r, a, n in zip(raters.raters, raters.accuracy, raters.n.tolist(), strict=True)]
    return Grid(f"The pilot's raters, against {against}", ("", "accuracy", "cases"), rows)


def _notes(plan: PilotPlan) -> Iterator[str]:
    if plan.source == "panel":
        yield (
            "there is no reference standard: errors that most raters share cannot be detected; right is what "
            "most would say"
        )
        yield f"cases differ in difficulty: two ratings of a case have a correlation of {_within(plan.correlation)}"
    else:
        yield (
            "cases differ in difficulty: the correctness of two raters has a correlation of "
            f"{_within(plan.correlation)}"
        )
    if reason(plan.accuracy.low):
        yield f"no intervals: {reason(plan.accuracy.low)}"
    yield (
        "intervals are over cases; they do not include that other raters may be better or worse than those of the pilot"
    )


def _charts(plan: PilotPlan, settings: PlanSettings) -> dict[str, str]:
    from ...charts.panels import panel_chart

    shown = [p for p in plan.panels if p.n_raters % 2 or plan.n_labels > 2]
    ks = [p.n_raters for p in shown]
    curves = {"fitted": (ks, [p.accuracy.value for p in shown])}
    bands = {"fitted": ([p.accuracy.low for p in shown], [p.accuracy.high for p in shown])}
    if any(not reason(p.observed) for p in shown):
        curves["observed"] = (ks, [p.observed for p in shown])
    best = int(plan.best.value)
    mark = best, plan.panels[best - 1].accuracy.value
    ylabel = "accuracy of the majority" if plan.source == "reference" else "majority as most would say"
    if reason(plan.best.low):
        bands = {}
    title = "Panels, by the pilot"
    return {"pilot": panel_chart(curves, title, ylabel=ylabel, bands=bands, wanted=settings.wanted, chosen=mark)}
