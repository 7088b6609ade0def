"""Scores of the algorithms: against every reference standard (Zeng 2021), and compared with the raters.

The comparison measures how closely an algorithm and each rater agree with the same references, mostly the other raters;
it does not measure who is right. Means beside the raters' own are a description; what is said of an algorithm and the
raters goes by interchangeability.
Predicted probabilities have curves under every reference standard, their areas, and correlations with agreement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from ...analyses.evaluate.case_scores import EVERYBODY, NAMES
from ...analyses.evaluate.mask_scores import MEAN, OTHERS, HumanRange, LabelScores
from ...analyses.evaluate.probability_maps import EXCLUDED, ProbabilityScores
from ...claims.numbers import is_defined, number_cell
from ...claims.sentences import Cell, Sentence, compose, join_names, number, spell_count, text_cell
from ...core.undefined import code
from ...evaluation.ranking.scores import is_distance
from ...io import safe_name
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs
from ..findings import Findings
from .standards import (
    INTERSECTION,
    UNION,
    consensus_methods,
    given_references,
    method_name,
    standard_cell,
    standard_name,
)
from .vocabulary import mean_over, rater_cell, sd_column

SCORES, BESIDE = "evaluate/scores.csv", "evaluate/beside_raters.csv"

Rows = dict[tuple[str, str, str, str], Row]
"""Rows by label, algorithm, reference and statistic."""
Item = tuple[str, str, str]
"""Label, algorithm and reference: what a row of scores is about."""

METRICS = {
    "dice": "Overlap. 1: the same mask; 0: nothing in common",
    "iou": "What both marked over what either marked; 1 is the same mask",
    "hausdorff": "The largest distance between the two outlines: the worst place counts",
    "hausdorff_95": "The distance within which 95% of the outlines lie: the worst 5% do not count",
}
"""Metrics of the tables, and their meaning."""
BESIDE_METRICS = {
    "dice": METRICS["dice"],
    "hausdorff_95": METRICS["hausdorff_95"],
    "surface_dice": "Share of the outlines that lie as close to each other as two raters' do",
    "extended_dice": "Dice in which pixels that some raters marked count as no error",
}
HUMAN_COLUMNS = "columns human_low and human_high of the file"
ALGORITHM = text_column("Algorithm", "What is evaluated")
JUDGED_BY = text_column("Judged by", "What is taken as the reference standard")
MOST_ACROSS = 8
"""Most columns of a table; with more algorithms and standards, single raters are left out."""
LONG = 12


def rows_of(rows: Iterable[Row], scope: str) -> Rows:
    """Scores of a scope, over all groups."""
    return {
        (r.label, str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in rows
        if r.scope == scope and not r.group
    }


def algorithms_of(findings: Findings) -> list[str]:
    """Names of the algorithms, in order."""
    return [column.name for column in findings.study.algorithms]


def standards_of(findings: Findings, rows: Rows) -> list[str]:
    """Reference standards in order: given ones, consensus, the mean over raters, each rater."""
    assert findings.evaluation is not None
    met = dict.fromkeys(against for _, _, against, _ in rows)
    order = [
        *given_references(findings.study),
        *findings.evaluation.plan.consensus,
        MEAN.name,
        *findings.study.rater_names,
    ]
    return [name for name in dict.fromkeys(order) if name in met]


def main_standards(findings: Findings) -> list[str]:
    """Consensus methods: those of the page first, then those that only algorithms are judged by."""
    methods = findings.evaluation.plan.consensus if findings.evaluation else ()
    return [
        *(m for m in findings.fusion.methods if m in methods),
        *(t for t in methods if t not in findings.fusion.methods),
    ]


def judged_label(findings: Findings) -> str:
    """The label of the main scores: all labels together where they were judged so, else the first."""
    hard = findings.evaluation.mask_scores if findings.evaluation else None
    return hard.parts[0].label if hard else ""


def algorithm_cell(findings: Findings, name: str) -> Cell:
    """An algorithm by name and colour."""
    return text_cell(name, colour=findings.colours.get(f"algorithm {name}", ""))


def judge_cell(findings: Findings, name: str) -> Cell:
    """A reference: a rater with their colour, or a consensus with an explanation."""
    if name in findings.study.rater_names:
        return rater_cell(findings, name)
    if name in consensus_methods(findings):
        return standard_cell(findings, name)
    return text_cell(name, why="against each rater, then averaged" if name == MEAN.name else "given with the study")


def empty_masks(findings: Findings) -> str:
    """A note on distances, where any was to or from an empty mask."""
    rows = findings.evaluation.table("scores").rows if findings.evaluation else ()
    if not any(code(row.value) == "one_empty" for row in rows):
        return ""
    return (
        "A distance to or from an empty mask counts as the image's diagonal, and a surface Dice as 0: a few such cases "
        "drive a mean."
    )


def tolerances(findings: Findings) -> list[str]:
    """The tolerances of surface Dice, by label, with the unit."""
    judged = findings.evaluation
    if judged is None or judged.mask_scores is None or not judged.plan.distances:
        return []
    parts = [p for p in judged.mask_scores.parts if not math.isnan(p.tolerance)]
    return [f"{p.tolerance:.3g} {p.tolerance_unit}" + (f" ({p.label})" if p.label else "") for p in parts]


def label_title(part: LabelScores, title: str) -> str:
    """A title with the label it is about."""
    return f"{part.label}: {title}" if part.label else title


def with_unit(part: LabelScores, statistic: str) -> str:
    """A metric's name, with its unit where it is a distance."""
    name = NAMES[statistic]
    return f"{name[0].upper()}{name[1:]}" + (f" ({part.unit})" if is_distance(statistic) else "")


def digits_of(statistic: str) -> int:
    """Digits of a metric: one for distances, else two."""
    return 1 if is_distance(statistic) else 2


def cross_table(
    findings: Findings, name: str, title: str, rows: Rows, label: str, statistic: str, *, digits: int = 2,
    note: str = "",
) -> Iterator[PageTable]:  # fmt: skip
    """One metric, algorithms by reference standards; the larger number of the two goes into rows."""
    standards, algorithms = standards_of(findings, rows), algorithms_of(findings)
    if min(len(standards), len(algorithms)) > MOST_ACROSS:
        standards = [s for s in standards if s not in findings.study.rater_names]
    cells = {
        (a, s): number_cell(SCORES, rows[label, a, s, statistic], digits)
        for a in algorithms
        for s in standards
        if (label, a, s, statistic) in rows
    }
    standards = [s for s in standards if any((a, s) in cells for a in algorithms)]
    if not cells:
        return
    gap = text_cell("–")
    if len(standards) >= len(algorithms):
        head, across = JUDGED_BY, algorithms
        lines = [(judge_cell(findings, s), *(cells.get((a, s), gap) for a in algorithms)) for s in standards]
    else:
        head, across = ALGORITHM, [judge_cell(findings, s).shown for s in standards]
        lines = [(algorithm_cell(findings, a), *(cells.get((a, s), gap) for s in standards)) for a in algorithms]
    help = ". ".join(filter(None, (NAMES[statistic], METRICS.get(statistic))))
    columns = (head, *(Column(name_across, help) for name_across in across))
    yield PageTable(name, title, columns, tuple(lines), note, len(lines) > LONG)


def score_tables(findings: Findings) -> Iterator[Block]:
    """Dice by label, then all scores in one list (Zeng 2021), and extended Dice."""
    evaluation = findings.evaluation
    if evaluation is None or evaluation.mask_scores is None:
        return
    means, deviations = (rows_of(evaluation.table("scores").rows, scope) for scope in ("mean", "std"))
    parts = evaluation.mask_scores.parts
    for i, part in enumerate(parts):
        shown = [row for key, row in means.items() if (key[0], key[3]) == (part.label, "dice")]
        title = label_title(part, f"Dice by each reference standard, {_mean_over(findings, part, shown)}")
        note = (
            "A case where nothing is marked and nothing found has no Dice, and is left out; in the mean of raters it "
            "counts as 1 beside those who marked nothing, unless nobody marked anything."
        )
        name = f"algorithm-dice{i or ''}"
        yield from cross_table(findings, name, title, means, part.label, "dice", note="" if i else note)
    yield _score_list(findings, parts, means, deviations)
    yield from _extended_dice_table(findings, parts, means, deviations)


def _mean_over(findings: Findings, part: LabelScores, means: Sequence[Row]) -> str:
    """``mean over 12 of 16 cases`` where a label is not in all of them, and the means are over all where it is."""
    here, every = len(part.tallies.by_subject()), len(findings.study.subjects)
    if here == every or any(row.n != here for row in means if is_defined(row)):
        return mean_over(findings, means)
    return f"mean over {here} of {spell_count(every, findings.subject_word)}"


def _item_columns(findings: Findings, items: Iterable[Item]) -> list[ColumnOf[Item]]:
    """The first columns of rows of scores; the label where there are several."""
    columns: list[ColumnOf[Item]] = [
        (text_column("Label", "What was marked"), lambda item: text_cell(item[0] or "all")),
        (ALGORITHM, lambda item: algorithm_cell(findings, item[1])),
        (JUDGED_BY, lambda item: judge_cell(findings, item[2])),
    ]
    return columns if len({label for label, _, _ in items}) > 1 else columns[1:]


def _score(rows: Rows, statistic: str, digits: int, **how: Any) -> Callable[[Item], Cell]:
    """The cells of a statistic; a dash where there is none."""

    def cell(item: Item) -> Cell:
        row = rows.get((*item, statistic))
        return text_cell("–") if row is None else number_cell(SCORES, row, digits, **how)

    return cell


def _mean_and_sd(
    findings: Findings, means: Rows, deviations: Rows, statistic: str, head: Column, title: str
) -> list[ColumnOf[Item]]:
    """The mean, and the standard deviation where there are several subjects."""
    digits = digits_of(statistic)
    columns = [(head, _score(means, statistic, digits))]
    if len(findings.study.subjects) > 1:
        columns.append((sd_column(findings, title), _score(deviations, statistic, digits)))
    return columns


def _score_list(findings: Findings, parts: Sequence[LabelScores], means: Rows, deviations: Rows) -> PageTable:
    """A row for every algorithm and reference standard."""
    items = [
        (part.label, algorithm, standard)
        for part in parts
        for standard in standards_of(findings, means)
        for algorithm in algorithms_of(findings)
        if (part.label, algorithm, standard, "dice") in means
    ]
    columns = _item_columns(findings, items)
    for s in (s for s in METRICS if any(key[3] == s for key in means)):
        head = Column(with_unit(parts[0], s), METRICS[s])
        columns += _mean_and_sd(findings, means, deviations, s, head, f"{NAMES[s]} SD")
    count = Column("n", f"{findings.subject_word.capitalize()}s for which Dice is defined")
    columns.append((count, lambda item: text_cell(means[*item, "dice"].n)))
    shown = [row for key in product(items, METRICS) if (row := means.get((*key[0], key[1]))) is not None]
    title = f"All scores: algorithm by reference standard, {_mean_over(findings, parts[0], shown)}"
    return make_table("algorithm-scores", title, items, columns, empty_masks(findings), filter=True, closed=True)


def _extended_dice_table(
    findings: Findings, parts: Sequence[LabelScores], means: Rows, deviations: Rows
) -> Iterator[PageTable]:
    """Extended Dice (Zeng 2021): pixels that some raters marked are no error."""
    items = [(part.label, algorithm, EVERYBODY.name) for part in parts for algorithm in algorithms_of(findings)]
    items = [item for item in items if (*item, "extended_dice") in means]
    if items:
        *names, _ = _item_columns(findings, items)
        head = Column("Extended Dice", BESIDE_METRICS["extended_dice"])
        dice = _mean_and_sd(findings, means, deviations, "extended_dice", head, "SD")
        ratio = Column("Shared by raters", "What all raters marked over what any marked; where low, nearly all score 1")
        columns = [*names, *dice, (ratio, _score(means, "inner_outer_ratio", 2, interval=False))]
        note = (
            f"Only {findings.pixel_word}s that no rater marked, or that every rater marked, can count as errors here."
        )
        yield make_table(
            "extended-dice",
            "Extended Dice: only what no rater, or every rater, marked can be wrong",
            items,
            columns,
            note,
        )


def beside_raters_table(findings: Findings) -> Iterator[PageTable]:
    """Each algorithm's mean beside the raters' own, judged by the same references."""
    evaluation = findings.evaluation
    if evaluation is None or evaluation.mask_scores is None or not evaluation.table("beside_raters").rows:
        return
    parts = {part.label: part for part in evaluation.mask_scores.parts}
    rows = [r for r in evaluation.table("beside_raters").rows if _is_shown(r)]
    ranges, unit = evaluation.mask_scores.ranges, findings.subject_word

    def human(r: Row) -> HumanRange:
        return ranges[r.label, str(r["against"]), r.statistic]

    columns: list[ColumnOf[Row]] = [
        (text_column("Label", "What was marked"), lambda r: text_cell(r.label or "all")),
        (text_column("Algorithm", "What is compared with the raters"),
         lambda r: algorithm_cell(findings, str(r["algorithm"]))),
        (text_column("Measure", "The metric"),
         lambda r: text_cell(with_unit(parts[r.label], r.statistic), why=BESIDE_METRICS.get(r.statistic, ""))),
        (text_column("Judged by", SAME_JUDGES),
         lambda r: text_cell(judge_name(findings, str(r["against"])))),
        (Column("Algorithm's mean", f"Mean over {unit}s, with its {findings.interval_name}"),
         lambda r: number_cell(BESIDE, r, digits_of(r.statistic))),
        (Column("n", f"{unit.capitalize()}s for which it is defined"), lambda r: text_cell(r.n)),
        (text_column("Raters' means", "The lowest and the highest of the raters' own means"),
         lambda r: text_cell(range_text(human(r), digits_of(r.statistic)), why=HUMAN_COLUMNS)),
    ]  # fmt: skip
    distances = empty_masks(findings) if any(is_distance(r.statistic) for r in rows) else ""
    note = " ".join(filter(None, (DESCRIBES, distances)))
    title, shown = "Algorithms beside the raters", columns if len(parts) > 1 else columns[1:]
    yield make_table("algorithm-beside-raters", title, rows, shown, note, filter=len(rows) > LONG)


EXTENDED_DICE = "Extended Dice: only what no rater, or every rater, marked can be wrong"
SAME_JUDGES = (
    "The reference, for the algorithm and the raters alike; a consensus is that of all raters but one, each left out "
    "in turn"
)
SMALLEST_MARGIN = (
    "The smallest margin for which it would be said to agree with a rater as another rater would: the upper end of a "
    "99% interval; from three raters and ten subjects on"
)
INTERCHANGEABILITY = "evaluate/interchangeability.csv"


def interchangeability_tables(findings: Findings) -> Iterator[PageTable]:
    """Distances of algorithms to the raters and between raters, then the same by rater."""
    table = findings.table("evaluate/interchangeability")
    compared = findings.evaluation.interchangeability if findings.evaluation else None
    if compared is None or not compared.every:
        return
    names, outliers, unit = list(compared.every), "; ".join(compared.outliers), findings.subject_word

    def value(statistic: str, without: str = "", digits: int = 2, **how: Any) -> Callable[[str], Cell]:
        return lambda name: table.cell(statistic, "mean", name, "", without, digits=digits, **how)

    def count(name: str) -> Cell:
        row = table.row("interchangeability", "mean", name, "", "")
        return text_cell("" if row is None else row.n)

    gamma = f"The first minus the second, case by case: mean over {unit}s, with its {findings.interval_name} (γ)"
    columns: list[ColumnOf[str]] = [
        (ALGORITHM, lambda name: algorithm_cell(findings, name)),
        (Column("To raters", "Mean Dice distance (1 − Dice; two empty masks 0, one empty 1) to the raters"),
         value("distance_to_raters", interval=False)),
        (Column("Between raters", "Mean Dice distance of two raters, in the same cases"),
         value("distance_between_raters", interval=False)),
        (Column("Difference", gamma), value("interchangeability", digits=3)),
        (Column("Smallest margin", SMALLEST_MARGIN),
         value("smallest_margin", digits=3)),
        (Column("n", f"{unit.capitalize()}s with two raters or more"), count),
    ]  # fmt: skip
    if any(table.row("interchangeability", "mean", name, "", outliers) for name in names) and outliers:
        help = (
            "The same without raters who are farther from the others than these from each other, by the permutation "
            "test of outliers with p at most 0.05 (not adjusted for other kinds of claims)"
        )
        without = join_names([f"rater {rater}" for rater in compared.outliers])
        columns.append((Column(f"Difference without {without}", help), value("interchangeability", outliers, 3)))
    note = (
        "Below 0 the algorithm lies nearer to the raters than they do to each other. Masks that run between those of "
        "all raters, such as smooth ones, do so; it does not mean that they could be taken for a rater's."
    )
    title = "Does an algorithm agree with a rater as another rater would? (interchangeability)"
    yield make_table("algorithm-interchangeability", title, names, columns, note)
    yield from _by_rater_table(findings, names)


def _by_rater_table(findings: Findings, names: Sequence[str]) -> Iterator[PageTable]:
    """How much further than the other raters each algorithm lies from each rater."""
    table, raters = findings.table("evaluate/interchangeability"), findings.study.rater_names
    rows = [r for r in raters if any(table.row("interchangeability", "mean", n, r, "") for n in names)]
    if not rows:
        return

    def value(name: str) -> Callable[[str], Cell]:
        return lambda rater: table.cell("interchangeability", "mean", name, rater, "", digits=3)

    columns: list[ColumnOf[str]] = [(text_column("Rater", "Who is compared"), lambda r: rater_cell(findings, r))]
    help = "Dice distance of the algorithm to the rater minus that of the other raters to them"
    columns += [(Column(name, help), value(name)) for name in names]
    yield make_table("algorithm-by-rater", "The difference rater by rater", rows, columns, closed=True)


def _is_shown(row: Row) -> bool:
    """Whether a row is shown: some metrics against the other raters, Dice against the rest."""
    against = str(row["against"])
    if against == OTHERS:
        return row.statistic in BESIDE_METRICS
    return row.statistic == ("extended_dice" if against == EVERYBODY.name else "dice")


def judge_name(findings: Findings, against: str) -> str:
    """The reference that raters and algorithms are both judged by."""
    if against == OTHERS:
        return "the other raters"
    if against == EVERYBODY.name:
        return "what the other raters agree on"
    if against in given_references(findings.study):
        return against
    name = method_name(against, len(findings.study.rater_names) - 1)
    names = {UNION: "what any of the other raters marked", INTERSECTION: "what all of the other raters marked"}
    return names.get(name, f"{name} of the other raters")


DESCRIBES = (
    "The raters' means describe how these raters differ; they are no range of what is acceptable, as the lowest is "
    "that of the rater who agrees least with the others."
)


def range_text(human: HumanRange, digits: int) -> str:
    """``0.46–0.73``, the lowest and the highest of the raters' own means."""
    return "–" if math.isnan(human.low) else f"{number(human.low, digits)}–{number(human.high, digits)}"


CORRELATIONS = "evaluate/correlations.csv"
BOUNDS = {
    "vote:any": "By what any rater marked: meant as a lower bound",
    "vote:0.75": "By what 75% of the raters marked: meant as an upper bound",
}
"""The consensus methods that Lampert (2016) takes as bounds."""
MOST_DRAWN = 8
"""Largest number of algorithms whose curves are drawn."""
AREAS = {
    "pbar_area": "Area under mean precision against recall; 1 at best",
    "pr_area": "Area under precision against recall, at the prevalence of this study; 1 at best",
    "roc_area": "Area under sensitivity against 1 − specificity; 1 at best, 0.5 by guessing",
}


def area_ranges(grey: ProbabilityScores) -> dict[str, tuple[Row, Row]]:
    """By algorithm, the rows with the smallest and the largest area over all reference standards."""
    rows, ranges = rows_of(grey.scores.rows, "pooled"), {}
    for name in (column.name for column in grey.counts):
        areas = list(filter(is_defined, (rows.get(("", name, truth, "pbar_area")) for truth in grey.references)))
        if areas:
            ranges[name] = min(areas, key=lambda r: r.value), max(areas, key=lambda r: r.value)
    return ranges


def curve_lead(findings: Findings, grey: ProbabilityScores) -> Iterator[Sentence]:
    """The range of the area of the best algorithm over the reference standards."""
    ends = area_ranges(grey)
    if not ends:
        yield ("No algorithm can be evaluated: nothing is marked under any reference standard.",)
        return
    best = max(ends, key=lambda name: ends[name][1].value)
    low, high = ends[best]
    by = [standard_name(findings, str(row["against"])) for row in (low, high)]
    text = (
        "How good an algorithm looks depends on what is taken as the reference standard: the area under the curve (1 "
        "is best) of {} goes from {} (by {}) to {} (by {})."
    )
    yield compose(text, best, number_cell(SCORES, low, 3), by[0], number_cell(SCORES, high, 3), by[1])


def curve_blocks(findings: Findings) -> Iterator[Block]:
    """An explanation, areas with their bounds, all areas, and charts."""
    grey = findings.evaluation.probability_scores if findings.evaluation else None
    if grey is None:
        return
    low, high = grey.skew
    text = (
        "These algorithms give a probability (or another response) instead of a mask, so they are evaluated at every "
        "threshold. Recall is the share of what is marked that they find; precision is the share of what they find "
        "that is marked. Precision depends on how common the marked is, so P̄ averages it over prevalences from "
        f"{100 * low:.2g}% to {100 * high:.2g}%. The area under P̄ against recall sums it up."
    )
    yield Paragraphs(((text,),))
    yield _bounds_table(findings, grey)
    title = "Area under P̄-R by each reference standard, all cases together"
    yield from cross_table(
        findings, "algorithm-areas", title, rows_of(grey.scores.rows, "pooled"), "", "pbar_area", digits=3
    )
    yield _area_table(findings, grey)
    yield from _curve_charts(findings, grey)


def _bounds_table(findings: Findings, grey: ProbabilityScores) -> PageTable:
    rows, ends, correlations = rows_of(grey.scores.rows, "pooled"), area_ranges(grey), grey.correlations.rows
    by = {(r["algorithm"], r.region == EXCLUDED, r.statistic): r for r in correlations if r.scope == "pooled"}

    def bound(standard: str) -> Callable[[str], Cell]:
        return lambda name: number_cell(SCORES, rows["", name, standard, "pbar_area"], 3)

    def end(which: int, make: Callable[[Row], Cell]) -> Callable[[str], Cell]:
        return lambda name: make(ends[name][which]) if name in ends else text_cell("–")

    def area(row: Row) -> Cell:
        return number_cell(SCORES, row, 3)

    def judge(row: Row) -> Cell:
        return judge_cell(findings, str(row["against"]))

    def correlation(statistic: str, excluded: bool) -> Callable[[str], Cell]:
        def cell(name: str) -> Cell:
            row = by.get((name, excluded, statistic))
            return text_cell("") if row is None else number_cell(CORRELATIONS, row, 4)

        return cell

    which, rest = "The reference standard that gives it", "The same without what the algorithm was trained on"
    cco = "Correlation of the response with the number of raters who marked, where any did; 1 at best"
    bounds = [standard for standard in BOUNDS if standard in grey.kinds]
    columns: list[ColumnOf[str]] = [
        (ALGORITHM, lambda name: algorithm_cell(findings, name)),
        *((Column(f"Area by {standard_name(findings, t)}", BOUNDS[t]), bound(t)) for t in bounds),
        (Column("Smallest area", "Over the reference standards used"), end(0, area)),
        (text_column("smallest by", which), end(0, judge)),
        (Column("Largest area", "Over the reference standards used"), end(1, area)),
        (text_column("largest by", which), end(1, judge)),
        (Column("CCO", cco), correlation("cco", False)),
        (Column("CCI", "The same over the whole image"), correlation("cci", False)),
    ]
    if any(r.region == EXCLUDED for r in correlations):
        columns += [(Column(f"{s.upper()}, rest", rest), correlation(s, True)) for s in ("cco", "cci")]
    note = "The two votes are often taken as bounds, but a single rater can score an algorithm lower or higher still."
    title, names = "Range of the area under P̄-R", [column.name for column in grey.counts]
    return make_table("algorithm-area-bounds", title, names, columns, note if bounds else "")


def _area_table(findings: Findings, grey: ProbabilityScores) -> PageTable:
    pooled, means = (rows_of(grey.scores.rows, scope) for scope in ("pooled", "mean"))
    items = [("", column.name, standard) for standard in standards_of(findings, pooled) for column in grey.counts]
    columns = _item_columns(findings, items)
    for name, help in AREAS.items():
        columns.append((Column(NAMES[name], f"{help}; all cases together"), _score(pooled, name, 3)))
        if len(findings.study) > 1:
            help = f"The same, mean over {findings.subject_word}s, with its {findings.interval_name}"
            columns.append((Column(f"{NAMES[name]}, mean", help), _score(means, name, 3)))
    return make_table("algorithm-all-areas", "All areas", items, columns, filter=True, closed=True)


def _curve_charts(findings: Findings, grey: ProbabilityScores) -> Iterator[Block]:
    assert findings.evaluation is not None
    svgs = findings.evaluation.charts
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
