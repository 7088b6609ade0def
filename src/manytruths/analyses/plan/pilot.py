"""``plan``: how many raters are worth their cost, from a pilot study."""

from __future__ import annotations

from collections.abc import Iterator

from ...claims.sentences import number, number_word
from ...core.tally import Tallies, pool
from ...core.undefined import reason
from ...io.result_tables import Row
from ...ratings.accuracy import rater_accuracy
from ...ratings.masks import ratings_from_tally
from ...ratings.planning.pilot import Panel, PilotPlan, plan_from_pilot
from ...ratings.ratings import Ratings
from ..printing import with_interval
from .topics import Grid, PlanSettings, Topic, plan_row, raters_of, sentence

NAME = "pilot"
OF_MASKS = "in masks, every pixel that any rater marked is a rating; agreement on the background does not count"


def pilot_topic(settings: PlanSettings, pilot: Ratings | Tallies) -> Topic:
    """Sentences, table and chart for the ratings or masks of a pilot."""
    plan = plan_from_pilot(
        pilot, max_raters=settings.max_raters, gain=settings.gain, cost_rater=settings.cost_rater,
        cost_error=settings.cost_error, level=settings.level, resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
    ratings = ratings_from_tally(pool(pilot, mixed=True)) if isinstance(pilot, Tallies) else pilot
    raters = rater_accuracy(ratings, "majority" if plan.source == "panel" else "reference")
    each = list(zip(raters.raters, raters.accuracy.tolist(), raters.n.tolist(), strict=True))
    rows = [plan_row(NAME, f"accuracy_by_{raters.source}", value, rater=rater, n=n) for rater, value, n in each]
    against = "the reference" if raters.source == "reference" else "the majority of the others"
    cells = [[rater, number(value), f"{n:,}"] for rater, value, n in each]
    by_rater = Grid(f"The pilot's raters, against {against}", ("", "accuracy", "cases"), cells)
    return Topic(
        NAME, tuple(map(sentence, _sentences(plan, settings))), (*_rows(plan), *rows), (_grid(plan), by_rater),
        (*_notes(plan), *([OF_MASKS] if isinstance(pilot, Tallies) else [])), lambda: _charts(plan, settings),
    )  # fmt: skip


def _sentences(plan: PilotPlan, settings: PlanSettings) -> Iterator[str]:
    best = int(plan.best.value)
    panel, now = plan.panels[best - 1], plan.panels[min(plan.n_raters, len(plan.panels)) - 1]
    known = not reason(plan.best.low)
    sure = f" (by resampling the cases {plan.best.low:.0f} to {plan.best.high:.0f})" if known else ""
    who = "their majority" if best > 1 else "who"
    what = "is right in" if plan.source == "reference" else "says what most raters would in"
    yield f"take {raters_of(best)}{sure}: {who} {what} {with_interval(panel.accuracy)} of the cases."
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
    for name, i in whole.items():
        yield plan_row(NAME, name, i.value, low=i.low, high=i.high, n=i.n)
    for panel in plan.panels:
        i, k = panel.accuracy, panel.n_raters
        yield plan_row(NAME, "majority_accuracy", i.value, k, low=i.low, high=i.high, n=i.n)
        more = {"observed_majority_accuracy": panel.observed, "gain": panel.gain, "cost": panel.cost}
        yield from (plan_row(NAME, name, amount, k) for name, amount in more.items() if not reason(amount))


def _shown_panels(plan: PilotPlan) -> list[Panel]:
    """With two labels, an even panel is as accurate as the odd one before."""
    return [panel for panel in plan.panels if panel.n_raters % 2 or plan.n_labels > 2]


def _grid(plan: PilotPlan) -> Grid:
    shown = _shown_panels(plan)
    columns = {
        "raters": [str(p.n_raters) for p in shown],
        "right" if plan.source == "reference" else "as most would": [with_interval(p.accuracy) for p in shown],
    }
    if any(not reason(p.observed) for p in shown):
        columns["observed"] = [number(p.observed) for p in shown]
    if any(not reason(p.cost) for p in shown):
        columns["cost a case"] = [number(p.cost) for p in shown]
    columns[""] = ["take these" if p.n_raters == int(plan.best.value) else "" for p in shown]
    return Grid(f"By {plan.rule}", tuple(columns), list(zip(*columns.values(), strict=True)))


def _notes(plan: PilotPlan) -> Iterator[str]:
    what = "the correctness of two raters has"
    if plan.source == "panel":
        yield (
            "there is no reference standard: errors that most raters share cannot be detected; right is what most "
            "would say"
        )
        what = "two ratings of a case have"
    yield f"cases differ in difficulty: {what} a correlation of {with_interval(plan.correlation)}"
    if reason(plan.accuracy.low):
        yield f"no intervals: {reason(plan.accuracy.low)}"
    yield (
        "intervals are over cases; they do not include that other raters may be better or worse than those of the pilot"
    )


def _charts(plan: PilotPlan, settings: PlanSettings) -> dict[str, str]:
    from ...charts.panels import panel_chart

    shown = _shown_panels(plan)
    ks = [p.n_raters for p in shown]
    curves = {"fitted": (ks, [p.accuracy.value for p in shown])}
    if any(not reason(p.observed) for p in shown):
        curves["observed"] = (ks, [p.observed for p in shown])
    bands = {"fitted": ([p.accuracy.low for p in shown], [p.accuracy.high for p in shown])}
    best = int(plan.best.value)
    return {
        "pilot": panel_chart(
            curves, "Panels, by the pilot",
            ylabel="accuracy of the majority" if plan.source == "reference" else "majority as most would say",
            bands={} if reason(plan.best.low) else bands, wanted=settings.wanted,
            chosen=(best, plan.panels[best - 1].accuracy.value),
        )
    }  # fmt: skip
