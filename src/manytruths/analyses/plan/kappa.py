"""``plan``: cases and raters for an interval of Fleiss' kappa."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import CallError
from ...io.result_tables import Row
from ...ratings.planning.kappa_width import KappaWidth, cases_for_kappa_width, kappa_width
from .topics import Grid, PlanSettings, Topic, plan_row, raters_of, sentence

NAME = "kappa"
RATERS = range(2, 11)


def kappa_topic(settings: PlanSettings) -> Topic:
    """Number of cases for a wanted width, width for a given number of cases, or both."""
    kappa, prevalence, width, cases = settings.kappa, settings.prevalence, settings.kappa_width, settings.n_cases
    if kappa is None or prevalence is None:
        raise CallError("the width of kappa's interval depends on both: give the expected --kappa and --prevalence")
    if width is None and cases is None:
        raise CallError("give the wanted --kappa-width of kappa's interval, or the number of cases (--n-cases)")
    panels = sorted({*RATERS, *([settings.n_raters] if settings.n_raters else [])})
    needed: Sequence[KappaWidth] = ()
    widths: Sequence[KappaWidth] = ()
    if width is not None:
        needed = cases_for_kappa_width(width, kappa, prevalence, panels, settings.level)
    if cases is not None:
        widths = [kappa_width(cases, m, kappa, prevalence, settings.level) for m in panels]
    note = "the width holds for many cases, with a probability of a mark that is Beta-distributed over the cases"
    return Topic(
        NAME, tuple(map(sentence, _sentences(settings, needed, widths))), tuple(_rows(needed, widths)),
        tuple(_grids(settings, needed, widths)), (note,), lambda: _charts(settings, needed, widths),
    )  # fmt: skip


def _sentences(settings: PlanSettings, needed: Sequence[KappaWidth], widths: Sequence[KappaWidth]) -> Iterator[str]:
    expected = f"a kappa of {settings.kappa:g} at a prevalence of {settings.prevalence:g}"
    for plan in needed:
        if plan.n_raters == settings.n_raters:
            yield _width_sentence(plan, expected, f"{settings.kappa_width:g}")
    if needed:
        fewest = min(needed, key=lambda plan: plan.n_ratings)
        yield (
            f"the fewest ratings for {expected} and a {settings.level:.0%} interval of width {settings.kappa_width:g} "
            f"are {fewest.n_ratings:,}: {raters_of(fewest.n_raters)} and {fewest.n_cases:,} cases."
        )
    for plan in widths:
        if plan.n_raters == (settings.n_raters or 3):
            yield _width_sentence(plan, expected, f"{plan.width:.3f}")


def _width_sentence(plan: KappaWidth, expected: str, width: str) -> str:
    who = f"{raters_of(plan.n_raters)} and {plan.n_cases:,} cases"
    return f"{who} give {expected} a {plan.level:.0%} interval of width {width}."


def _rows(needed: Sequence[KappaWidth], widths: Sequence[KappaWidth]) -> Iterator[Row]:
    for plan in needed:
        yield plan_row(NAME, "cases_needed", float(plan.n_cases), plan.n_raters)
        yield plan_row(NAME, "ratings_needed", float(plan.n_ratings), plan.n_raters)
    for plan in widths:
        yield plan_row(NAME, "kappa_error", plan.error, plan.n_raters, n=plan.n_cases)
        yield plan_row(NAME, "kappa_width", plan.width, plan.n_raters, n=plan.n_cases)


def _grids(settings: PlanSettings, needed: Sequence[KappaWidth], widths: Sequence[KappaWidth]) -> Iterator[Grid]:
    if needed:
        rows = [[str(plan.n_raters), f"{plan.n_cases:,}", f"{plan.n_ratings:,}"] for plan in needed]
        yield Grid(f"For an interval of width {settings.kappa_width:g}", ("raters", "cases", "ratings"), rows)
    if widths:
        rows = [[str(plan.n_raters), f"{plan.width:.3f}", f"{plan.error:.3f}"] for plan in widths]
        yield Grid(f"With {settings.n_cases:,} cases", ("raters", "width", "standard error"), rows)


def _charts(settings: PlanSettings, needed: Sequence[KappaWidth], widths: Sequence[KappaWidth]) -> dict[str, str]:
    from ...charts.bars import bars

    charts = {}
    expected = f"kappa {settings.kappa:g}, prevalence {settings.prevalence:g}"
    if needed:
        counts = {f"{plan.n_raters} raters": float(plan.n_cases) for plan in needed}
        charts["kappa-cases"] = bars(counts, "cases", f"Cases for width {settings.kappa_width:g}: {expected}", digits=0)
    if widths:
        by_size = {f"{plan.n_raters} raters": plan.width for plan in widths}
        title = f"Width with {settings.n_cases} cases: {expected}"
        charts["kappa-width"] = bars(by_size, "width of the interval", title, digits=3)
    return charts
