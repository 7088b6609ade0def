"""``plan``: how many raters are worth it, from a pilot."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.tallies import Tallies, pool
from ...core.undefined import reason
from ...inference.intervals import Interval
from ...ratings.competence import Competence, competence
from ...ratings.masks import ratings_of
from ...ratings.planning.pilot import Panel, PilotPlan, Rule, plan_from_ratings, plan_from_tallies
from ...ratings.ratings import Ratings
from ..printing import number
from ..rows import Row
from .topics import Grid, Topic, Wish, plan_row, raters_of, sentence, word

NAME = "pilot"
OF_MASKS = "of masks, every pixel that any rater marked is a rating: agreement on empty background does not count"


def pilot_topic(wish: Wish, pilot: Ratings | Tallies) -> Topic:
    """Sentences, table and chart of a pilot's ratings, or of its masks."""
    rule = Rule(wish.most, wish.gain, wish.cost_rater, wish.cost_error, wish.resamples, wish.level, wish.seed)
    masks = isinstance(pilot, Tallies)
    found = plan_from_tallies(pilot, rule) if isinstance(pilot, Tallies) else plan_from_ratings(pilot, rule)
    ratings = ratings_of(pool(pilot, mixed=True)) if isinstance(pilot, Tallies) else pilot
    raters = competence(ratings, "majority" if found.source == "panel" else "reference")
    rows = [*_rows(found), *_rater_rows(raters)]
    return Topic(
        NAME, tuple(map(sentence, _sentences(found, wish))), tuple(rows), (_grid(found), _rater_grid(raters)),
        (*_notes(found), *([OF_MASKS] if masks else [])), lambda: _charts(found, wish),
    )  # fmt: skip


def _within(value: Interval, digits: int = 3) -> str:
    shown = number(value.value, digits)
    return shown if reason(value.low) else f"{shown} ({number(value.low, digits)}–{number(value.high, digits)})"


def _sentences(found: PilotPlan, wish: Wish) -> Iterator[str]:
    best = int(found.best.value)
    panel, now = found.panels[best - 1], found.panels[min(found.raters, len(found.panels)) - 1]
    known = not reason(found.best.low)
    sure = f" (by resampling the cases {found.best.low:.0f} to {found.best.high:.0f})" if known else ""
    who = "their majority" if best > 1 else "who"
    what = "is right in" if found.source == "reference" else "says what most raters would in"
    yield f"take {raters_of(best)}{sure}: {who} {what} {_within(panel.accuracy)} of the cases."
    if best + (2 if found.labels == 2 else 1) > len(found.panels):
        yield f"no larger panel was computed, and one may be worth more: raise --most, {len(found.panels)} so far."
    if found.more:
        yield (f"that is {word(found.more)} more than the pilot's {word(found.raters)}, whose majority reaches "
               f"{now.accuracy.value:.3f}.")  # fmt: skip
    else:
        yield f"the pilot's {raters_of(found.raters)} are {'enough' if best == found.raters else 'more than that'}."
    if wish.wanted is not None:
        enough = next((p for p in found.panels if p.accuracy.value >= wish.wanted), None)
        end = f"up to {found.panels[-1].raters} raters none reaches {wish.wanted:g}" if enough is None else (
            f"{raters_of(enough.raters)} reach{'es' if enough.raters == 1 else ''} {wish.wanted:g}")  # fmt: skip
        yield f"{end}, by the fitted model."


def _rows(found: PilotPlan) -> Iterator[Row]:
    whole = {"rater_accuracy": found.accuracy, "correlation": found.correlation, "best_raters": found.best}
    for name, value in whole.items():
        yield plan_row(NAME, name, value.value, low=value.low, high=value.high, n=value.n)
    for panel in found.panels:
        value = panel.accuracy
        yield plan_row(NAME, "majority_accuracy", value.value, panel.raters, low=value.low, high=value.high, n=value.n)
        more = {"observed_majority_accuracy": panel.observed, "gain": panel.gain, "cost": panel.cost}
        for name, amount in more.items():
            if not reason(amount):
                yield plan_row(NAME, name, amount, panel.raters)


def _rater_rows(found: Competence) -> Iterator[Row]:
    for rater, accuracy, n in zip(found.raters, found.accuracy.tolist(), found.n.tolist(), strict=True):
        yield plan_row(NAME, f"accuracy_by_{found.source}", accuracy, rater=rater, n=n)


def _grid(found: PilotPlan) -> Grid:
    shown = [p for p in found.panels if p.raters % 2 or found.labels > 2]
    observed, cost = any(not reason(p.observed) for p in shown), any(not reason(p.cost) for p in shown)
    right = "right" if found.source == "reference" else "as most would"
    header = ("raters", right, *(["observed"] if observed else []), *(["cost a case"] if cost else []), "")
    rows = [_cells(p, found, observed, cost) for p in shown]
    return Grid(f"By {found.rule}", header, rows)


def _cells(panel: Panel, found: PilotPlan, observed: bool, cost: bool) -> list[str]:
    more = [number(panel.observed)] if observed else []
    more += [number(panel.cost)] if cost else []
    marks = "take these" if panel.raters == int(found.best.value) else ""
    return [str(panel.raters), _within(panel.accuracy), *more, marks]


def _rater_grid(found: Competence) -> Grid:
    against = "the reference" if found.source == "reference" else "the majority of the others"
    rows = [[r, number(a), f"{n:,}"] for r, a, n in zip(found.raters, found.accuracy, found.n.tolist(), strict=True)]
    return Grid(f"The pilot's raters, against {against}", ("", "accuracy", "cases"), rows)


def _notes(found: PilotPlan) -> Iterator[str]:
    if found.source == "panel":
        yield "there is no reference: errors that most raters share cannot be seen, and right is what most would say"
        yield f"cases differ: any two ratings of a case correlate by {_within(found.correlation)}"
    else:
        yield f"cases differ: the correctness of any two raters correlates by {_within(found.correlation)}"
    if reason(found.accuracy.low):
        yield f"no intervals: {reason(found.accuracy.low)}"
    yield "intervals are over cases; that other raters may be better or worse than the pilot's is not in them"


def _charts(found: PilotPlan, wish: Wish) -> dict[str, str]:
    from ...charts.panel_charts import panel_chart

    shown = [p for p in found.panels if p.raters % 2 or found.labels > 2]
    ks = [p.raters for p in shown]
    curves = {"fitted": (ks, [p.accuracy.value for p in shown])}
    bands = {"fitted": ([p.accuracy.low for p in shown], [p.accuracy.high for p in shown])}
    if any(not reason(p.observed) for p in shown):
        curves["observed"] = (ks, [p.observed for p in shown])
    best = int(found.best.value)
    mark = best, found.panels[best - 1].accuracy.value
    ylabel = "accuracy of the majority" if found.source == "reference" else "majority as most would say"
    if reason(found.best.low):
        bands = {}
    title = "Panels, by the pilot"
    return {"pilot": panel_chart(curves, title, ylabel=ylabel, bands=bands, wanted=wish.wanted, chosen=mark)}
