"""Grey predictions: curves under every reference standard, their areas, and correlation with agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....analyses.evaluate.charts import charts
from ....analyses.evaluate.grey import EXCLUDED, GreyScores
from ....analyses.evaluate.printing import NAMES
from ....analyses.rows import Row
from ....io import safe_name
from ...findings import Findings
from ...parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Sentence, quoted, words
from ..standards import spoken
from ..wording import interval_name, unit
from .tables import ALGORITHM, JUDGED_BY, SCORES, Rows, algorithm_cell, crossed, judge_cell, standards_of

CORRELATIONS = "evaluate/correlations.csv"
LOOSE, STRICT = "vote:any", "vote:0.75"
"""What Lampert takes as bounds."""
MOST_DRAWN = 8
"""Algorithms whose curves are drawn."""
AREAS = {
    "pbar_area": "Area under mean precision against recall; 1 at best",
    "pr_area": "Area under precision against recall, at the prevalence of this study; 1 at best",
    "roc_area": "Area under sensitivity against 1 − specificity; 1 at best, 0.5 by guessing",
}


def pooled(found: GreyScores) -> Rows:
    """Areas of all cases together."""
    return {
        ("", str(r["algorithm"]), str(r["against"]), r.statistic): r for r in found.scores.rows if r.scope == "pooled"
    }


def ends_of(found: GreyScores, algorithm: str) -> tuple[Row, Row] | None:
    """Under which standard the area is smallest and largest."""
    rows = pooled(found)
    own = [
        row for t in found.truths if (row := rows.get(("", algorithm, t, "pbar_area"))) and not math.isnan(row.value)
    ]
    return (min(own, key=lambda r: r.value), max(own, key=lambda r: r.value)) if own else None


def curve_lead(found: Findings, grey: GreyScores) -> Iterator[Sentence]:
    """Between what the area of the best lies as the standard changes."""
    names = [c.name for c in grey.counts]
    ends = {name: both for name in names if (both := ends_of(grey, name))}
    if not ends:
        yield ("No algorithm can be judged: under no reference standard is anything marked.",)
        return
    best = max(ends, key=lambda name: ends[name][1].value)
    low, high = ends[best]
    by = [spoken(found, str(row["against"])) for row in (low, high)]
    yield (
        "How good an algorithm looks depends on what is taken as the reference standard: the area under the curve (1 "
        f"is best) of {best} goes from ", quoted(SCORES, low, 3), f" (by {by[0]}) to ", quoted(SCORES, high, 3),
        f" (by {by[1]}).",
    )  # fmt: skip


def curve_blocks(found: Findings) -> Iterator[Block]:
    """What the curves are, areas with their bounds, all areas, charts."""
    grey = found.evaluation.grey if found.evaluation else None
    if grey is None:
        return
    low, high = grey.skew
    yield Paragraphs(
        (
            (
                "These algorithms give a grey value (a response or probability) instead of a mask, so they are judged "
                "at every threshold. Recall is the share of what is marked that they find; precision is the share of "
                "what they find that is marked. Precision depends on how common the marked is, so P̄ averages it over "
                f"prevalences from {100 * low:.2g}% to {100 * high:.2g}%. The area under P̄ against recall sums it up.",
            ),
        ),
    )
    yield _bounds(found, grey)
    title = "Area under P̄-R by each reference standard, all cases together"
    table = crossed(found, "algorithm-areas", title, pooled(grey), "", "pbar_area", SCORES, digits=3)
    yield from [table] if table else []
    yield _all_areas(found, grey)
    yield from _drawn(found, grey)


def _bounds(found: Findings, grey: GreyScores) -> PageTable:
    rows = pooled(grey)
    bounds = [t for t in (LOOSE, STRICT) if t in grey.kinds]
    outside = any(r.region == EXCLUDED for r in grey.correlations.rows)
    lines = tuple(
        (*_bound(found, grey, rows, a.name, bounds), *_correlated(grey, a.name, outside)) for a in grey.counts
    )
    told = {
        LOOSE: "By what any rater marked: meant as a lower bound",
        STRICT: "By what 75% of the raters marked: meant as an upper bound",
    }
    columns = (
        ALGORITHM,
        *(Column(f"Area by {spoken(found, t)}", told[t]) for t in bounds),
        Column("Smallest area", "Over all reference standards"),
        Column("smallest by", "The reference standard that gives it", number=False),
        Column("Largest area", "Over all reference standards"),
        Column("largest by", "The reference standard that gives it", number=False),
        Column("CCO", "Correlation of the response with how many raters marked, where anybody did; 1 at best"),
        Column("CCI", "The same over the whole image"),
        *([Column("CCO, rest", "The same without what the algorithm was trained on")] if outside else []),
        *([Column("CCI, rest", "The same without what the algorithm was trained on")] if outside else []),
    )
    note = "The two votes are often taken as bounds, but a single rater can score an algorithm lower or higher still."
    title = "Area under P̄-R: between what does it lie?"
    return PageTable("algorithm-area-bounds", title, columns, lines, note if bounds else "")


def _bound(found: Findings, grey: GreyScores, rows: Rows, name: str, bounds: list[str]) -> Iterator[Cell]:
    yield algorithm_cell(found, name)
    for truth in bounds:
        yield quoted(SCORES, rows["", name, truth, "pbar_area"], 3)
    ends = ends_of(grey, name)
    for row in ends or ():
        yield quoted(SCORES, row, 3)
        yield judge_cell(found, str(row["against"]))
    if ends is None:
        yield from [words("–")] * 4


def _correlated(grey: GreyScores, algorithm: str, outside: bool) -> Iterator[Cell]:
    """Over all items, and again without what an algorithm was trained on."""
    rows = [r for r in grey.correlations.rows if r.scope == "pooled" and r["algorithm"] == algorithm]
    for excluded in (False, True) if outside else (False,):
        own = {r.statistic: r for r in rows if (r.region == EXCLUDED) == excluded}
        for name in ("cco", "cci"):
            yield quoted(CORRELATIONS, own[name], 4) if name in own else words("")


def _all_areas(found: Findings, grey: GreyScores) -> PageTable:
    rows, several = pooled(grey), len(found.study) > 1
    means = {
        ("", str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in grey.scores.rows
        if r.scope == "mean" and not r.group
    }
    lines = tuple(
        (
            algorithm_cell(found, a.name),
            judge_cell(found, t),
            *(
                quoted(SCORES, own["", a.name, t, name], 3)
                for name in AREAS
                for own in ((rows, means) if several else (rows,))
            ),
        )
        for t in standards_of(found, rows)
        for a in grey.counts
    )
    columns = [ALGORITHM, JUDGED_BY]
    for name, told in AREAS.items():
        columns.append(Column(NAMES[name], f"{told}; all cases together"))
        columns += (
            [Column(f"{NAMES[name]}, mean", f"The same, mean over {unit(found)}s, with its {interval_name(found)}")]
            if several
            else []
        )
    return PageTable("algorithm-all-areas", "All areas", tuple(columns), lines, filter=True, closed=True)


def _drawn(found: Findings, grey: GreyScores) -> Iterator[Block]:
    assert found.evaluation is not None
    drawn = charts(found.evaluation)
    orders = tuple(
        Chart(f"evaluate-{name}", svg, "All algorithms, under a reference standard that gives this order.")
        for name, svg in drawn.items()
        if name.startswith("ranking-")
    )
    if orders:
        yield Beside(orders)
    for algorithm in list(grey.counts)[:MOST_DRAWN]:
        name = algorithm.name
        told = {
            "levels": f"{name}, as more raters must agree before a place counts as marked; areas at the right.",
            "truths": f"{name}, under every reference standard; single raters are faint.",
        }
        names = {kind: f"{kind}-{safe_name(name)}" for kind in told}
        pair = tuple(Chart(f"evaluate-{n}", drawn[n], told[kind]) for kind, n in names.items() if n in drawn)
        yield from [Beside(pair)] if pair else []
