"""``plan``: cases and raters for an interval of Fleiss' kappa."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.errors import CallError
from ...ratings.planning.kappa_width import KappaWidth, cases_for_kappa_width, kappa_width
from ..tables import Row
from .topics import Grid, PlanSettings, Topic, plan_row, raters_of, sentence

NAME = "kappa"
RATERS = range(2, 11)


def kappa_topic(settings: PlanSettings) -> Topic:
    """Number of cases for a wanted width, width for a given number of cases, or both."""
    if settings.kappa is None or settings.prevalence is None:
        raise CallError("the width of kappa's interval depends on both: give the expected --kappa and --prevalence")
    if settings.kappa_width is None and settings.n_cases is None:
        raise CallError("give the wanted --kappa-width of kappa's interval, or the number of cases (--n-cases)")
    kappa, prevalence = settings.kappa, settings.prevalence
    panels = sorted({*RATERS, *([settings.n_raters] if settings.n_raters else [])})
    needed = (
        ()
        if settings.kappa_width is None
        else cases_for_kappa_width(settings.kappa_width, kappa, prevalence, panels, settings.level)
    )
    widths = (
        ()
        if settings.n_cases is None
        else [kappa_width(settings.n_cases, m, kappa, prevalence, settings.level) for m in panels]
    )
    rows = [row for plan in needed for row in _needed_rows(plan)] + [
        row for plan in widths for row in _width_rows(plan)
    ]
    grids = [
        *([_needed_grid(settings, needed)] if needed else []),
        *([_width_grid(settings, widths)] if widths else []),
    ]
    note = "the width holds for many cases, with a probability of a mark that is Beta-distributed over the cases"
    return Topic(
        NAME, tuple(map(sentence, _sentences(settings, needed, widths))), tuple(rows), tuple(grids), (note,),
        lambda: _charts(settings, needed, widths),
    )  # fmt: skip


def _sentences(
    settings: PlanSettings, needed: tuple[KappaWidth, ...], widths: list[KappaWidth] | tuple[()]
) -> Iterator[str]:
    expected = f"a kappa of {settings.kappa:g} at a prevalence of {settings.prevalence:g}"
    if needed:
        own = next((plan for plan in needed if plan.n_raters == settings.n_raters), None)
        fewest = min(needed, key=lambda plan: plan.n_ratings)
        if own is not None:
            yield _width_sentence(own, expected, f"{settings.kappa_width:g}")
        yield (f"the fewest ratings for {expected} and a {settings.level:.0%} interval of width "
            f"{settings.kappa_width:g} are "
               f"{fewest.n_ratings:,}: {raters_of(fewest.n_raters)} and {fewest.n_cases:,} cases.")  # fmt: skip
    for plan in widths:
        if plan.n_raters == (settings.n_raters or 3):
            yield _width_sentence(plan, expected, f"{plan.width:.3f}")


def _width_sentence(plan: KappaWidth, expected: str, width: str) -> str:
    who = f"{raters_of(plan.n_raters)} and {plan.n_cases:,} cases"
    return f"{who} give {expected} a {plan.level:.0%} interval of width {width}."


def _needed_rows(plan: KappaWidth) -> Iterator[Row]:
    yield plan_row(NAME, "cases_needed", float(plan.n_cases), plan.n_raters)
    yield plan_row(NAME, "ratings_needed", float(plan.n_ratings), plan.n_raters)


def _width_rows(plan: KappaWidth) -> Iterator[Row]:
    yield plan_row(NAME, "kappa_error", plan.error, plan.n_raters, n=plan.n_cases)
    yield plan_row(NAME, "kappa_width", plan.width, plan.n_raters, n=plan.n_cases)


def _needed_grid(settings: PlanSettings, needed: tuple[KappaWidth, ...]) -> Grid:
    rows = [[str(plan.n_raters), f"{plan.n_cases:,}", f"{plan.n_ratings:,}"] for plan in needed]
    return Grid(f"For an interval of width {settings.kappa_width:g}", ("raters", "cases", "ratings"), rows)


def _width_grid(settings: PlanSettings, widths: list[KappaWidth] | tuple[()]) -> Grid:
    rows = [[str(plan.n_raters), f"{plan.width:.3f}", f"{plan.error:.3f}"] for plan in widths]
    return Grid(f"With {settings.n_cases:,} cases", ("raters", "width", "standard error"), rows)


def _charts(
    settings: PlanSettings, needed: tuple[KappaWidth, ...], widths: list[KappaWidth] | tuple[()]
) -> dict[str, str]:
    from ...charts.bars import bars

    charts = {}
    expected = f"kappa {settings.kappa:g}, prevalence {settings.prevalence:g}"
    if needed:
        counts = {f"{plan.n_raters} raters": float(plan.n_cases) for plan in needed}
        charts["kappa-cases"] = bars(counts, "cases", f"Cases for width {settings.kappa_width:g}: {expected}", digits=0)
    if widths:
        by_size = {f"{plan.n_raters} raters": plan.width for plan in widths}
        charts["kappa-width"] = bars(
            by_size, "width of the interval", f"Width with {settings.n_cases} cases: {expected}", digits=3
        )
    return charts
