"""Predicted probabilities: curves under every reference standard, their areas, and correlation with agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.evaluate.charts import charts
from ...analyses.evaluate.printing import NAMES
from ...analyses.evaluate.probability_maps import EXCLUDED, ProbabilityScores
from ...analyses.rows import Row
from ...io import safe_name
from ..elements import (
    Beside,
    Block,
    Cell,
    Chart,
    Column,
    PageTable,
    Paragraphs,
    Sentence,
    number_cell,
    text_cell,
    text_column,
)
from ..findings import Findings
from .algorithm_scores import ALGORITHM, JUDGED_BY, SCORES, Rows, algorithm_cell, cross_table, judge_cell, standards_of
from .vocabulary import standard_name

CORRELATIONS = "evaluate/correlations.csv"
LOOSE, STRICT = "vote:any", "vote:0.75"
"""The consensus methods that Lampert (2016) takes as bounds."""
MOST_DRAWN = 8
"""Largest number of algorithms whose curves are drawn."""
AREAS = {
    "pbar_area": "Area under mean precision against recall; 1 at best",
    "pr_area": "Area under precision against recall, at the prevalence of this study; 1 at best",
    "roc_area": "Area under sensitivity against 1 − specificity; 1 at best, 0.5 by guessing",
}


def pooled_areas(grey: ProbabilityScores) -> Rows:
    """Areas of the pooled cases."""
    return {
        ("", str(r["algorithm"]), str(r["against"]), r.statistic): r for r in grey.scores.rows if r.scope == "pooled"
    }


def area_range(grey: ProbabilityScores, algorithm: str) -> tuple[Row, Row] | None:
    """The rows with the smallest and the largest area over all reference standards."""
    rows = pooled_areas(grey)
    own = [row for t in grey.truths if (row := rows.get(("", algorithm, t, "pbar_area"))) and not math.isnan(row.value)]
    return (min(own, key=lambda r: r.value), max(own, key=lambda r: r.value)) if own else None


def curve_lead(findings: Findings, grey: ProbabilityScores) -> Iterator[Sentence]:
    """The range of the area of the best algorithm over the reference standards."""
    names = [c.name for c in grey.counts]
    ends = {name: both for name in names if (both := area_range(grey, name))}
    if not ends:
        yield ("No algorithm can be evaluated: nothing is marked under any reference standard.",)
        return
    best = max(ends, key=lambda name: ends[name][1].value)
    low, high = ends[best]
    by = [standard_name(findings, str(row["against"])) for row in (low, high)]
    yield (
        "How good an algorithm looks depends on what is taken as the reference standard: the area under the curve (1 "
        f"is best) of {best} goes from ",
        number_cell(SCORES, low, 3),
        f" (by {by[0]}) to ",
        number_cell(SCORES, high, 3),
        f" (by {by[1]}).",
    )


def curve_blocks(findings: Findings) -> Iterator[Block]:
    """An explanation, areas with their bounds, all areas, and charts."""
    grey = findings.evaluation.probability_scores if findings.evaluation else None
    if grey is None:
        return
    low, high = grey.skew
    yield Paragraphs(
        (
            (
                "These algorithms give a probability (or another response) instead of a mask, so they are evaluated "
                "at every threshold. Recall is the share of what is marked that they find; precision is the share of "
                "what they find that is marked. Precision depends on how common the marked is, so P̄ averages it over "
                f"prevalences from {100 * low:.2g}% to {100 * high:.2g}%. The area under P̄ against recall sums it up.",
            ),
        ),
    )
    yield _bounds_table(findings, grey)
    title = "Area under P̄-R by each reference standard, all cases together"
    table = cross_table(findings, "algorithm-areas", title, pooled_areas(grey), "", "pbar_area", SCORES, digits=3)
    yield from [table] if table else []
    yield _area_table(findings, grey)
    yield from _curve_charts(findings, grey)


def _bounds_table(findings: Findings, grey: ProbabilityScores) -> PageTable:
    rows = pooled_areas(grey)
    bounds = [t for t in (LOOSE, STRICT) if t in grey.kinds]
    outside = any(r.region == EXCLUDED for r in grey.correlations.rows)
    lines = tuple(
        (*_bounds_row(findings, grey, rows, a.name, bounds), *_correlation_cells(grey, a.name, outside))
        for a in grey.counts
    )
    help = {
        LOOSE: "By what any rater marked: meant as a lower bound",
        STRICT: "By what 75% of the raters marked: meant as an upper bound",
    }
    columns = (
        ALGORITHM,
        *(Column(f"Area by {standard_name(findings, t)}", help[t]) for t in bounds),
        Column("Smallest area", "Over all reference standards"),
        text_column("smallest by", "The reference standard that gives it"),
        Column("Largest area", "Over all reference standards"),
        text_column("largest by", "The reference standard that gives it"),
        Column("CCO", "Correlation of the response with the number of raters who marked, where any did; 1 at best"),
        Column("CCI", "The same over the whole image"),
        *([Column("CCO, rest", "The same without what the algorithm was trained on")] if outside else []),
        *([Column("CCI, rest", "The same without what the algorithm was trained on")] if outside else []),
    )
    note = "The two votes are often taken as bounds, but a single rater can score an algorithm lower or higher still."
    title = "Range of the area under P̄-R"
    return PageTable("algorithm-area-bounds", title, columns, lines, note if bounds else "")


def _bounds_row(
    findings: Findings, grey: ProbabilityScores, rows: Rows, name: str, bounds: list[str]
) -> Iterator[Cell]:
    yield algorithm_cell(findings, name)
    for truth in bounds:
        yield number_cell(SCORES, rows["", name, truth, "pbar_area"], 3)
    ends = area_range(grey, name)
    for row in ends or ():
        yield number_cell(SCORES, row, 3)
        yield judge_cell(findings, str(row["against"]))
    if ends is None:
        yield from [text_cell("–")] * 4


def _correlation_cells(grey: ProbabilityScores, algorithm: str, outside: bool) -> Iterator[Cell]:
    """Correlations over all pixels, and without the areas that an algorithm was trained on."""
    rows = [r for r in grey.correlations.rows if r.scope == "pooled" and r["algorithm"] == algorithm]
    for excluded in (False, True) if outside else (False,):
        own = {r.statistic: r for r in rows if (r.region == EXCLUDED) == excluded}
        for name in ("cco", "cci"):
            yield number_cell(CORRELATIONS, own[name], 4) if name in own else text_cell("")


def _area_table(findings: Findings, grey: ProbabilityScores) -> PageTable:
    rows, several = pooled_areas(grey), len(findings.study) > 1
    means = {
        ("", str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in grey.scores.rows
        if r.scope == "mean" and not r.group
    }
    lines = tuple(
        (
            algorithm_cell(findings, a.name),
            judge_cell(findings, t),
            *(
                number_cell(SCORES, own["", a.name, t, name], 3)
                for name in AREAS
                for own in ((rows, means) if several else (rows,))
            ),
        )
        for t in standards_of(findings, rows)
        for a in grey.counts
    )
    columns = [ALGORITHM, JUDGED_BY]
    for name, help in AREAS.items():
        columns.append(Column(NAMES[name], f"{help}; all cases together"))
        columns += (
            [
                Column(
                    f"{NAMES[name]}, mean",
                    f"The same, mean over {findings.subject_word}s, with its {findings.interval_name}",
                )
            ]
            if several
            else []
        )
    return PageTable("algorithm-all-areas", "All areas", tuple(columns), lines, filter=True, closed=True)


def _curve_charts(findings: Findings, grey: ProbabilityScores) -> Iterator[Block]:
    assert findings.evaluation is not None
    svgs = charts(findings.evaluation)
    orders = tuple(
        Chart(f"evaluate-{name}", svg, "All algorithms, under a reference standard that gives this order.")
        for name, svg in svgs.items()
        if name.startswith("ranking-")
    )
    if orders:
        yield Beside(orders)
    for algorithm in list(grey.counts)[:MOST_DRAWN]:
        name = algorithm.name
        captions = {
            "levels": f"{name}, as more raters must agree before a place counts as marked; areas at the right.",
            "truths": f"{name}, under every reference standard; single raters are faint.",
        }
        names = {kind: f"{kind}-{safe_name(name)}" for kind in captions}
        pair = tuple(Chart(f"evaluate-{n}", svgs[n], captions[kind]) for kind, n in names.items() if n in svgs)
        yield from [Beside(pair)] if pair else []
