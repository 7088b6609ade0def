"""``plan``: cases and raters for an interval of Fleiss' kappa."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.errors import CallError
from ...ratings.planning.kappa_width import KappaWidth, cases_for_kappa_width, kappa_width
from ..rows import Row
from .topics import Grid, Topic, Wish, plan_row, raters_of, sentence

NAME = "kappa"
RATERS = range(2, 11)


def kappa_topic(wish: Wish) -> Topic:
    """Cases for a wanted width, the width for given cases, or both."""
    if wish.kappa is None or wish.prevalence is None:
        raise CallError(
            "the width of kappa's interval depends on both: give --kappa and --prevalence, as you expect them"
        )
    if wish.width is None and wish.cases is None:
        raise CallError("give the --width of kappa's interval that you want, or the number of --cases that you have")
    kappa, prevalence = wish.kappa, wish.prevalence
    panels = sorted({*RATERS, *([wish.raters] if wish.raters else [])})
    needed = () if wish.width is None else cases_for_kappa_width(wish.width, kappa, prevalence, panels, wish.level)
    widths = () if wish.cases is None else [kappa_width(wish.cases, m, kappa, prevalence, wish.level) for m in panels]
    rows = [row for one in needed for row in _needed_rows(one)] + [row for one in widths for row in _width_rows(one)]
    grids = [*([_needed_grid(wish, needed)] if needed else []), *([_width_grid(wish, widths)] if widths else [])]
    note = "the width is that of many cases, with chances of a mark that are Beta-distributed over the cases"
    return Topic(
        NAME, tuple(map(sentence, _sentences(wish, needed, widths))), tuple(rows), tuple(grids), (note,),
        lambda: _charts(wish, needed, widths),
    )  # fmt: skip


def _sentences(wish: Wish, needed: tuple[KappaWidth, ...], widths: list[KappaWidth] | tuple[()]) -> Iterator[str]:
    expected = f"a kappa of {wish.kappa:g} at a prevalence of {wish.prevalence:g}"
    if needed:
        own = next((one for one in needed if one.n_raters == wish.raters), None)
        fewest = min(needed, key=lambda one: one.n_ratings)
        if own is not None:
            yield _given(own, expected, f"{wish.width:g}")
        yield (f"the fewest ratings for {expected} and a {wish.level:.0%} interval of width {wish.width:g} are "
               f"{fewest.n_ratings:,}: {raters_of(fewest.n_raters)} and {fewest.n_cases:,} cases.")  # fmt: skip
    for one in widths:
        if one.n_raters == (wish.raters or 3):
            yield _given(one, expected, f"{one.width:.3f}")


def _given(one: KappaWidth, expected: str, width: str) -> str:
    who = f"{raters_of(one.n_raters)} and {one.n_cases:,} cases"
    return f"{who} give {expected} a {one.level:.0%} interval of width {width}."


def _needed_rows(one: KappaWidth) -> Iterator[Row]:
    yield plan_row(NAME, "cases_needed", float(one.n_cases), one.n_raters)
    yield plan_row(NAME, "ratings_needed", float(one.n_ratings), one.n_raters)


def _width_rows(one: KappaWidth) -> Iterator[Row]:
    yield plan_row(NAME, "kappa_error", one.error, one.n_raters, n=one.n_cases)
    yield plan_row(NAME, "kappa_width", one.width, one.n_raters, n=one.n_cases)


def _needed_grid(wish: Wish, needed: tuple[KappaWidth, ...]) -> Grid:
    rows = [[str(one.n_raters), f"{one.n_cases:,}", f"{one.n_ratings:,}"] for one in needed]
    return Grid(f"For an interval of width {wish.width:g}", ("raters", "cases", "ratings"), rows)


def _width_grid(wish: Wish, widths: list[KappaWidth] | tuple[()]) -> Grid:
    rows = [[str(one.n_raters), f"{one.width:.3f}", f"{one.error:.3f}"] for one in widths]
    return Grid(f"With {wish.cases:,} cases", ("raters", "width", "standard error"), rows)


def _charts(wish: Wish, needed: tuple[KappaWidth, ...], widths: list[KappaWidth] | tuple[()]) -> dict[str, str]:
    from ...charts.charts import bars

    drawn = {}
    expected = f"kappa {wish.kappa:g}, prevalence {wish.prevalence:g}"
    if needed:
        counts = {f"{one.n_raters} raters": float(one.n_cases) for one in needed}
        drawn["kappa-cases"] = bars(counts, "cases", f"Cases for width {wish.width:g}: {expected}", digits=0)
    if widths:
        found = {f"{one.n_raters} raters": one.width for one in widths}
        drawn["kappa-width"] = bars(
            found, "width of the interval", f"Width with {wish.cases} cases: {expected}", digits=3
        )
    return drawn
