"""``plan``: what the majorities of larger panels would decide, from a pilot study."""

from __future__ import annotations

from collections.abc import Iterator

from ...claims.sentences import number, spell_count
from ...core.tally import Tallies, pool
from ...core.undefined import reason
from ...inference.intervals import Interval
from ...io.result_tables import Row
from ...ratings.accuracy import rater_accuracy
from ...ratings.masks import ratings_from_tally
from ...ratings.planning.pilot import LabelPlan, Panel, PilotPlan, plan_from_pilot
from ...ratings.ratings import Ratings
from .topics import Grid, PlanSettings, Topic, plan_row

NAME = "pilot"


def item_word(pilot: Ratings | Tallies | None) -> str:
    """What a pilot's items are, where it is not known whether its masks are volumes: ``case`` or ``pixel``."""
    return "pixel" if isinstance(pilot, Tallies) or (pilot is not None and pilot.weights is not None) else "case"


def pilot_topic(settings: PlanSettings, pilot: Ratings | Tallies, item: str) -> Topic:
    """Table and chart for the ratings or masks of a pilot; what is said about them are claims."""
    plan = plan_from_pilot(
        pilot, max_raters=settings.max_raters, gain=settings.gain, cost_rater=settings.cost_rater,
        cost_error=settings.cost_error, level=settings.level, resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
    of_raters = _accuracy_by_rater(pilot, plan)
    rows = [plan_row(NAME, f"accuracy_by_{source}", value, rater=rater, n=n) for source, rater, value, n in of_raters]
    grids = [_grid(plan, label, item) for label in plan.labels]
    if of_raters:
        against = "the reference" if of_raters[0][0] == "reference" else "the majority of the others"
        cells = [[rater, number(value), f"{n:,}"] for _, rater, value, n in of_raters]
        grids.append(Grid(f"The pilot's raters, against {against}", ("", "accuracy", f"{item}s"), cells))
    return Topic(
        NAME, (), (*_rows(plan), *rows), tuple(grids), tuple(_notes(plan, item)), lambda: _charts(plan, settings), plan
    )


def _accuracy_by_rater(pilot: Ratings | Tallies, plan: PilotPlan) -> list[tuple[str, str, float, int]]:
    """Source, rater, accuracy and number of items; in masks, of the pixels that any rater marked."""
    if isinstance(pilot, Tallies):
        if len(plan.labels) > 1:
            return []
        marked = pilot.map(lambda table: table if table.region == "union" else table.foreground().restrict("union"))
        ratings = ratings_from_tally(pool(marked, mixed=True))
    else:
        ratings = pilot
    found = rater_accuracy(ratings, "majority" if plan.source == "panel" else "reference")
    each = zip(found.raters, found.accuracy.tolist(), found.n.tolist(), strict=True)
    return [(found.source, rater, value, n) for rater, value, n in each]


def _rows(plan: PilotPlan) -> Iterator[Row]:
    for label in plan.labels:
        whole = {"rater_accuracy": label.panels[0].accuracy, "best_raters": label.best}
        if not plan.given_marked:
            whole["correlation"] = label.correlation
        for name, i in whole.items():
            yield _interval_row(name, i, label)
        for panel in label.panels:
            yield _interval_row("majority_accuracy", panel.accuracy, label, panel.n_raters)
            if not reason(panel.observed):
                yield plan_row(NAME, "observed_majority_accuracy", panel.observed, panel.n_raters, label=label.label)
            more = {"gain": panel.gain, "tied_share": panel.tied, "cost": panel.cost}
            for name, i in more.items():
                if not (reason(i.value) and reason(i.low)):
                    yield _interval_row(name, i, label, panel.n_raters)


def _interval_row(statistic: str, i: Interval, label: LabelPlan, raters: object = "") -> Row:
    return plan_row(NAME, statistic, i.value, raters, low=i.low, high=i.high, n=i.n, label=label.label)


def _shown_panels(plan: PilotPlan, label: LabelPlan) -> list[Panel]:
    """With two labels, an even panel is as accurate as the odd one before; the pilot's own is shown."""
    both = plan.source == "reference" and plan.n_labels > 2
    return [p for p in label.panels if p.n_raters % 2 or both or p.n_raters == label.n_raters]


def _grid(plan: PilotPlan, label: LabelPlan, item: str) -> Grid:
    shown = _shown_panels(plan, label)
    columns = {
        "raters": [str(p.n_raters) for p in shown],
        "right" if plan.source == "reference" else "as most would": [_range(p.accuracy) for p in shown],
        "estimate": [number(p.accuracy.value) for p in shown],
        "gain of more": [_range(p.gain) for p in shown],
    }
    if any(not reason(p.tied.low) for p in shown):
        columns["tied"] = [number(p.tied.value) for p in shown]
    if any(not reason(p.observed) for p in shown):
        columns["observed"] = [number(p.observed) for p in shown]
    if any(not reason(p.cost.low) for p in shown):
        columns[f"cost of a {item}"] = [_range(p.cost) for p in shown]
    title = f"Label {label.label}: range" if label.label else "Range"
    rule = f"; chosen: {plan.rule}" if plan.rule else ""
    return Grid(f"{title} of the majority by the number of raters{rule}", tuple(columns),
                list(zip(*columns.values(), strict=True)))  # fmt: skip


def _range(value: Interval) -> str:
    """``0.871 to 0.951``."""
    return "–" if reason(value.low) else f"{number(value.low)} to {number(value.high)}"


def _notes(plan: PilotPlan, item: str) -> Iterator[str]:
    worst = plan.worst
    if plan.source == "panel":
        yield (
            "there is no reference standard: errors that most raters share cannot be detected; right is what most "
            "would say"
        )
    if plan.given_marked:
        what = "that at least one of the pilot's raters marked" if len(plan.labels) == 1 else "that got the label"
        yield f"the numbers are shares of the {item}s {what}: {worst.n_items:,}"
    if reason(worst.now.accuracy.low):
        yield f"no ranges: {reason(worst.now.accuracy.low)}"
    yield (
        f"a range holds all values that fit the votes of {spell_count(worst.n_raters, 'rater')}, with allowance for "
        "the subjects and raters of the pilot; more cases alone do not narrow it to a point"
    )
    if worst.n_left_out:
        yield f"{worst.n_left_out:,} {item}s are left out, as fewer than {worst.n_raters} raters rated them"


def _charts(plan: PilotPlan, settings: PlanSettings) -> dict[str, str]:
    from ...charts.panels import panel_chart

    worst = plan.worst
    shown = [p for p in worst.panels if p.n_raters % 2]
    ks = [p.n_raters for p in shown]
    middle = [p.accuracy.value if not reason(p.accuracy.value) else _middle(p.accuracy) for p in shown]
    name = "middle of the range" if reason(shown[0].accuracy.value) else "estimate"
    curves = {name: (ks, middle)}
    if any(not reason(p.observed) for p in shown):
        curves["observed"] = (ks, [p.observed for p in shown])
    bands = {name: ([p.accuracy.low for p in shown], [p.accuracy.high for p in shown])}
    best = 0 if reason(worst.best.value) else int(worst.best.value)
    title = f"Panels, by the pilot: {worst.label}" if worst.label else "Panels, by the pilot"
    return {
        "pilot": panel_chart(
            curves, title,
            ylabel="accuracy of the majority" if plan.source == "reference" else "majority as most would say",
            bands={} if reason(worst.now.accuracy.low) else bands, wanted=settings.wanted,
            chosen=(best, middle[ks.index(best)]) if best in ks else None,
        )
    }  # fmt: skip


def _middle(value: Interval) -> float:
    return (value.low + value.high) / 2
