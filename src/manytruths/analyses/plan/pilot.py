"""``plan``: what the majorities of larger panels would decide, from a pilot study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...claims.planning import allowance_words
from ...claims.sentences import counted, join_names, label_words, number, spell_count
from ...core.tally import Tallies, pool
from ...core.undefined import reason
from ...inference.intervals import Interval
from ...io.result_tables import Row
from ...ratings.accuracy import comparison_labels, rater_accuracy
from ...ratings.masks import ratings_from_tally
from ...ratings.planning.pilot import LabelPlan, Panel, PilotPlan, plan_from_pilot
from ...ratings.ratings import MISSING, Ratings
from .topics import Grid, PlanSettings, Topic, plan_row, sentence

NAME = "pilot"


def item_word(pilot: Ratings | Tallies | None) -> str:
    """What a pilot's items are, where it is not known whether its masks are volumes: ``case`` or ``pixel``."""
    return "pixel" if isinstance(pilot, Tallies) or (pilot is not None and pilot.weights is not None) else "case"


def subject_of(pilot: Ratings | Tallies | None) -> str:
    """What a pilot's subjects are: patients where any is named, else cases."""
    if isinstance(pilot, Tallies):
        named = any(subject != case for case, subject in pilot.subjects.items())
    else:
        named = pilot is not None and any(s != case for case, s in zip(pilot.cases, pilot.subjects, strict=True))
    return "patient" if named else "case"


def count_raters(pilot: Ratings | Tallies | None) -> int:
    """How many raters a pilot has, though fewer may have read a case."""
    if isinstance(pilot, Tallies):
        return len({name for tally in pilot.values() for name in tally.rater_names})
    return len(pilot.raters) if pilot is not None else 0


def pilot_topic(settings: PlanSettings, pilot: Ratings | Tallies, item: str) -> Topic:
    """Table and chart for the ratings or masks of a pilot; what is said about them are claims."""
    plan = plan_from_pilot(
        pilot, max_raters=settings.max_raters, gain=settings.gain, cost_rater=settings.cost_rater,
        cost_error=settings.cost_error, level=settings.level, resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
    of_raters = _accuracy_by_rater(pilot, plan)
    rows = [plan_row(NAME, f"accuracy_by_{r.source}", r.value, rater=r.name, n=r.n) for r in of_raters]
    grids = [_grid(plan, label, item) for label in plan.labels]
    if of_raters:
        grids.append(_raters_grid(of_raters, item))
    notes = (*_notes(plan, item, subject_of(pilot)), *_rater_notes(of_raters, plan, item))
    return Topic(NAME, (), (*_rows(plan), *rows), tuple(grids), notes, lambda: _charts(plan, settings), plan)


@dataclass(frozen=True)
class _OwnRater:
    """A rater of the pilot: accuracy, the number of items it rests on, and of those in which the others tie."""

    source: str
    name: str
    value: float
    n: int
    tied: int


def _accuracy_by_rater(pilot: Ratings | Tallies, plan: PilotPlan) -> list[_OwnRater]:
    """Accuracy of each rater, in masks on the pixels that any rater marked; none where a slot is not a person."""
    if isinstance(pilot, Tallies):
        if len(plan.labels) > 1 or any(table.exchangeable for table in pilot.values()):
            return []
        marked = pilot.map(lambda table: table if table.region == "union" else table.foreground().restrict("union"))
        ratings = ratings_from_tally(pool(marked, mixed=True))
    else:
        ratings = pilot
    by = "majority" if plan.source == "panel" else "reference"
    found = rater_accuracy(ratings, by)
    tied = ratings.items @ (ratings.given & (comparison_labels(ratings, by) == MISSING))
    each = zip(found.raters, found.accuracy.tolist(), found.n.tolist(), tied.tolist(), strict=True)
    return [_OwnRater(found.source, *rater) for rater in each]


def _raters_grid(raters: list[_OwnRater], item: str) -> Grid:
    by_majority = raters[0].source == "majority"
    header = ("", "as most others", f"{item}s", "others tie") if by_majority else ("", "accuracy", f"{item}s")
    cells = [[r.name, number(r.value), f"{r.n:,}", f"{r.tied:,}"][: len(header)] for r in raters]
    against = "the majority of the others" if by_majority else "the reference"
    return Grid(f"The pilot's raters, against {against}", header, cells)


def _rater_notes(raters: list[_OwnRater], plan: PilotPlan, item: str) -> Iterator[str]:
    """Where the raters' own numbers rest on other items than the ranges."""
    if raters and any(r.n != plan.n_items for r in raters):
        marked = "that any rater marked" if plan.given_marked else "rated"
        ties = " and the others do not tie" if raters[0].source == "majority" else ""
        yield (
            f"each of the pilot's raters is compared on the {item}s {marked} where they rated{ties}: other numbers of "
            f"{item}s than those of the ranges"
        )


def _rows(plan: PilotPlan) -> Iterator[Row]:
    for label in plan.labels:
        whole = {"rater_accuracy": label.panels[0].accuracy, "best_raters": label.best}
        if not plan.given_marked:
            whole["correlation"] = label.correlation
        for name, i in whole.items():
            yield _interval_row(name, i, label)
        for panel in label.panels:
            yield _interval_row("majority_accuracy", panel.accuracy, label, panel.n_raters)
            yield from _observed_rows(panel, label)
            if not reason(panel.observed):
                yield plan_row(NAME, "observed_majority_accuracy", panel.observed, panel.n_raters, label=label.label)
            more = {"gain": panel.gain, "tied_share": panel.tied, "cost": panel.cost}
            for name, i in more.items():
                if not (reason(i.value) and reason(i.low)):
                    yield _interval_row(name, i, label, panel.n_raters)


def _observed_rows(panel: Panel, label: LabelPlan) -> Iterator[Row]:
    """Of two raters, the ranges that fit what they marked."""
    if panel.as_observed is not None:
        yield _interval_row("majority_accuracy_as_observed", panel.as_observed, label, panel.n_raters)
    if panel.gain_as_observed is not None:
        yield _interval_row("gain_as_observed", panel.gain_as_observed, label, panel.n_raters)


def _interval_row(statistic: str, i: Interval, label: LabelPlan, raters: object = "") -> Row:
    return plan_row(NAME, statistic, i.value, raters, low=i.low, high=i.high, n=i.n, label=label.label)


def _shown_panels(plan: PilotPlan, label: LabelPlan) -> list[Panel]:
    """With two labels, an even panel is as accurate as the odd one before; the pilot's own is shown."""
    both = plan.source == "reference" and plan.n_labels > 2
    return [p for p in label.panels if p.n_raters % 2 or both or p.n_raters == label.n_raters]


def _grid(plan: PilotPlan, label: LabelPlan, item: str) -> Grid:
    shown = _shown_panels(plan, label)
    columns = {"raters": [str(p.n_raters) for p in shown]}
    if label.now.as_observed is not None:
        columns["as observed"] = [_range(p.as_observed) for p in shown]
    columns["right" if plan.source == "reference" else "as most would"] = [_range(p.accuracy) for p in shown]
    if any(not reason(p.accuracy.value) for p in shown):
        columns["estimate"] = [number(p.accuracy.value) for p in shown]
    columns["gain of more"] = [_range(p.gain) for p in shown]
    if any(not reason(p.tied.low) for p in shown):
        columns["tied"] = [number(p.tied.value) for p in shown]
    if any(not reason(p.observed) for p in shown):
        columns["observed"] = [number(p.observed) for p in shown]
    if any(not reason(p.cost.low) for p in shown):
        columns[f"cost of a {item}"] = [_range(p.cost) for p in shown]
    title = sentence(f"{label_words(label.label)}: range") if label.label else "Range"
    rule = f"; chosen: {plan.rule}" if plan.rule else ""
    return Grid(f"{title} of the majority by the number of raters{rule}", tuple(columns),
                list(zip(*columns.values(), strict=True)))  # fmt: skip


def _range(value: Interval | None) -> str:
    """``0.871 to 0.951``."""
    return "–" if value is None or reason(value.low) else f"{number(value.low)} to {number(value.high)}"


def _notes(plan: PilotPlan, item: str, subject: str) -> Iterator[str]:
    worst = plan.worst
    raters = spell_count(worst.n_raters, "rater")
    if plan.source == "panel":
        yield (
            "there is no reference standard: errors that most raters share cannot be detected; right is what most "
            "would say"
        )
    if plan.given_marked:
        one = len(plan.labels) == 1
        what = "that any rater marked" if one else "to which any rater gave the label"
        counts = [
            f"{label.n_items:,} {item}s of {counted(label.n_subjects, subject)}{'' if one else f' for {_of(label)}'}"
            for label in plan.labels
        ]
        yield f"the ranges are about the {item}s {what}, where {raters} rated: {join_names(counts, len(counts))}"
    if reason(worst.now.accuracy.low):
        yield f"no ranges: {reason(worst.now.accuracy.low)}"
    else:
        yield from _range_notes(plan, raters, subject)
    if worst.n_left_out:
        yield f"{worst.n_left_out:,} {item}s are left out, as fewer than {worst.n_raters} raters rated them"


def _of(label: LabelPlan) -> str:
    return label_words(label.label)


def _range_notes(plan: PilotPlan, raters: str, subject: str) -> Iterator[str]:
    """What a range holds, and what it allows for."""
    made = allowance_words(plan, subject)
    with_it = f"with allowance {made}" if made else f"without allowance for {subject}s or raters"
    yield (
        f"a range holds all values that fit the votes of {raters}, {with_it}; more cases alone do not narrow it to a "
        "point"
    )
    if plan.worst.now.as_observed is not None:
        yield "as observed: what fits the votes of these two raters without allowance, if any two differ as often"


def _charts(plan: PilotPlan, settings: PlanSettings) -> dict[str, str]:
    from ...charts.panels import panel_chart

    worst = plan.worst
    shown = [p for p in worst.panels if p.n_raters % 2]
    ks = [p.n_raters for p in shown]
    # two raters leave everything between the ends open: a band without a line
    values = [p.accuracy.value for p in shown]
    name = "range" if all(map(reason, values)) else "estimate"
    curves = {name: (ks, values)}
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
            chosen=(best, values[ks.index(best)]) if best in ks and not reason(values[ks.index(best)]) else None,
        )
    }  # fmt: skip
