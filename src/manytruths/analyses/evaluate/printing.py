"""What ``evaluate`` prints: scores, algorithms beside raters, rankings, notes on their limits; scores as in a paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...agreement import contingency
from ...claims.algorithms import COPY
from ...claims.orders import compare_pair, describe_standards
from ...claims.sentences import counted, number
from ...core.columns import Column
from ...core.errors import few, name_cases
from ...core.labels import MACRO, VOID
from ...core.tally import Tally
from ...core.undefined import Note
from ...evaluation.extended_dice import SATURATED
from ...evaluation.interchangeability import LEAST_RATERS
from ...evaluation.probabilistic.recalibration import Temperature
from ...evaluation.ranking.by_reference import ReferenceRankings
from ...evaluation.ranking.scores import direction, is_distance
from ...io.result_tables import Row, Table
from ...study import Study
from ...study.problems import find_unknown_cases
from ..many import absence_notes, reference_notes
from ..printing import grid, with_interval
from .case_scores import EVERYBODY, NAMES
from .forecasts import SHARE
from .grading import graded_grids
from .interchangeability import GAMMA, SMALLEST, InterchangeabilityResult
from .marks import EvaluatePlan
from .mask_scores import MEAN, OTHERS, LabelScores, MaskScores
from .probability_maps import ProbabilityScores
from .recalibration import Recalibration

if TYPE_CHECKING:
    from rich.console import Console

    from .evaluate import Evaluation


COUNTED = {
    "worst": "they get the worst score in means and rankings (--missing exclude leaves these cases out for all)",
    "exclude": "means and rankings exclude these cases for every algorithm",
}


EMPTY = (
    "where a rater or reference marks nothing, an algorithm that marks nothing is left out, and one that marks "
    "something gets a Dice and surface Dice of 0 and the image's diagonal as distance"
)


MACRO_BY_CASE = (
    "macro means are over the labels of each case, then over subjects: a label that only some cases have weighs less "
    "than in agree, where all labels weigh the same"
)


def notes(
    study: Study, plan: EvaluatePlan, masks: MaskScores | None, probabilities: ProbabilityScores | None
) -> Iterator[str]:
    """Each thing to know, once."""
    yield from _absences(study, plan)
    if probabilities is not None:
        yield from probabilities.notes
    if masks is None:
        return
    # the tables of the macro mean unite the labels
    parts = [part for part in masks.parts if part.label != MACRO]
    yield from _copies(parts)
    for part in parts:
        about = f"label {part.label}: " if part.label else ""
        of_masks = (*_empty_masks(part), *_unscored_predictions(study, part))
        yield from (about + note for note in (*of_masks, *_saturation(part), *_tolerance(part, plan)))
    if any(_cases_with(part, column, {0}) for part in parts for column in (*part.raters, *part.references)):
        yield Note("empty_masks", EMPTY)
    yield from _consensus(parts)
    if len(parts) > 1 and not all(_is_everywhere(part, len(study)) for part in parts):
        yield Note("macro_by_case", MACRO_BY_CASE)
    yield from _few_raters(study, plan)


def _absences(study: Study, plan: EvaluatePlan) -> Iterator[str]:
    """Missing predictions, predictions of cases that the study does not have, and raters who did not see every case."""
    for algorithm in study.algorithms:
        cases = [case.name for case in study if algorithm not in case.predictions]
        if cases:
            yield f"{algorithm} has no prediction of {_listed(cases, len(study))}: {COUNTED[plan.missing]}"
    # under codes, names are not known and must not be printed
    others = [] if study.coded else find_unknown_cases(study.options, [case.name for case in study])
    if others:
        names = few(list(map(str, others)), 3)
        yield f"predictions of {counted(len(others), 'case')} that no rater marked are not used ({names})"
    yield from absence_notes(study)
    yield from reference_notes(study)


def _listed(cases: Sequence[str], of: int | None = None) -> str:
    """``2 cases (a, b)``, ``2 of 5 cases (a, b)``."""
    count = counted(len(cases), "case") if of is None else f"{len(cases)} of {counted(of, 'case')}"
    return f"{count} ({few(cases, 3)})"


@dataclass(frozen=True)
class Copies:
    """Cases in which a prediction is a rater's mask, or a consensus of the raters."""

    algorithm: str
    kind: Literal["rater", "consensus"]
    name: str
    cases: tuple[str, ...]
    marked: int
    """In how many cases the algorithm marks anything."""

    @property
    def whose(self) -> str:
        """``rater A``, ``the consensus staple``."""
        return f"rater {self.name}" if self.kind == "rater" else f"the consensus {self.name}"


def find_copies(parts: Sequence[LabelScores]) -> list[Copies]:
    """Predictions that are identical to a rater's mask, or a consensus, in every label of some cases."""
    same: dict[tuple[str, Literal["rater", "consensus"], str], list[str]] = {}
    marked: Counter[str] = Counter()
    for case in dict.fromkeys(case for part in parts for case in part.tallies):
        tables = [part.tallies[case] for part in parts if case in part.tallies]
        given = parts[0].given
        others: list[tuple[Literal["rater", "consensus"], Column]] = [
            ("rater", tables[0].columns[i]) for i in tables[0].raters
        ]
        others += [("consensus", c) for c in tables[0].role("reference") if c not in given and not c.left_out]
        for algorithm in tables[0].role("algorithm"):
            if any((t.counts[t.patterns[:, t.position(algorithm)] == 1] > 0).any() for t in tables):
                marked[str(algorithm)] += 1
                for kind, column in others:
                    if _is_identical(tables, algorithm, column):
                        same.setdefault((str(algorithm), kind, column.name), []).append(case)
    return [Copies(*key, tuple(cases), marked[key[0]]) for key, cases in same.items()]


def _is_identical(tables: Sequence[Tally], a: Column, b: Column) -> bool:
    """Whether two columns mark the same pixels, where both are rated."""
    pairs = [contingency(t, [t.position(a), t.position(b)])[0, 1] for t in tables]
    return any(p[1, 1] > 0 for p in pairs) and not any(p[0, 1] or p[1, 0] for p in pairs)


def _copies(parts: Sequence[LabelScores]) -> Iterator[str]:
    for copies in find_copies(parts):
        where = _listed(copies.cases, copies.marked)
        made = "if it was made from them, its scores are too good"
        yield f"{copies.algorithm} is identical to {copies.whose} in {where}: {made}"


def _is_everywhere(part: LabelScores, cases: int) -> bool:
    """Whether some rater used the label in every case."""
    return sum(bool((t.patterns[:, list(t.raters)] == 1).any()) for t in part.tallies.values()) == cases


def _empty_masks(part: LabelScores) -> Iterator[str]:
    """Predictions and references that mark nothing, predictions that mark everything."""
    columns = dict.fromkeys(c for t in part.tallies.values() for c in t.columns if not c.session and not c.left_out)
    if next(iter(part.tallies.values())).exchangeable:
        # the same name is somebody else in the next case
        slots = [column for column in columns if column.role == "rater"]
        empty = {case for slot in slots for case in _cases_with(part, slot, {0})}
        columns = dict.fromkeys(column for column in columns if column not in slots)
        if empty:
            yield f"raters have nothing marked in {_listed([case for case in part.tallies if case in empty])}"
    for column in columns:
        nothing, everything = _cases_with(part, column, {0}), _cases_with(part, column, {1})
        if column.role == "algorithm":
            for what, cases in (("nothing", nothing), ("everything", everything)):
                if cases:
                    yield f"{column} marks {what} in {_listed(cases)}"
        elif nothing:
            yield f"{column} has nothing marked in {_listed(nothing)}"


def _unscored_predictions(study: Study, part: LabelScores) -> Iterator[str]:
    """Predictions of which no pixel counts."""
    for algorithm in study.algorithms:
        cases = [case for case in _cases_with(part, algorithm, set()) if algorithm in study[case].predictions]
        if cases:
            yield f"{algorithm} is not scored in {_listed(cases)}: everything that counts is excluded"


def _cases_with(part: LabelScores, column: Column, codes: set[int]) -> list[str]:
    """The cases in which a column gives nothing but these codes."""
    return [
        case
        for case, table in part.tallies.items()
        if column in table.columns
        and set(np.unique(table.patterns[:, table.position(column)]).tolist()) - {VOID} == codes
    ]


def _saturation(part: LabelScores) -> Iterator[str]:
    """Extended Dice where raters differ so much that it says little."""
    algorithm = next((who for who, whom in part.keys if whom == EVERYBODY and who.role == "algorithm"), None)
    if algorithm is None:
        return
    ratios = part.series(algorithm, EVERYBODY, "inner_outer_ratio")
    defined = [ratio for ratio in ratios if not np.isnan(ratio)]
    share = float(np.mean(defined)) if defined else np.nan
    none = sum(1 for value in ratios if value == 0)
    if share < SATURATED:
        empty = f", and in {counted(none, 'case')} nothing was marked by all" if none else ""
        yield (
            f"extended Dice: the raters share {share:.0%} of what any of them marked (|I|/|O|){empty}: nearly any "
            "mask between them scores 1, so do not rank by it"
        )


def _tolerance(part: LabelScores, plan: EvaluatePlan) -> Iterator[str]:
    if plan.distances and not np.isnan(part.tolerance):
        yield f"surface Dice at a tolerance of {part.tolerance:.3g} {part.tolerance_unit}"
        if part.tolerance > part.half_width:
            yield (
                f"that is more than half the width of what raters mark, about {part.half_width:.3g} {part.unit}: "
                "outlines that lie anywhere inside match, so that surface Dice is not informative"
            )


def _consensus(parts: Sequence[LabelScores]) -> Iterator[str]:
    """The notes of the consensus methods, each once with its cases."""
    cases_of: dict[str, list[str]] = {}
    for part in parts:
        for case, lines in part.notes.items():
            for line in lines:
                cases_of.setdefault(line, []).append(case)
    for line, cases in cases_of.items():
        yield name_cases(line, list(dict.fromkeys(cases)))


def _few_raters(study: Study, plan: EvaluatePlan) -> Iterator[str]:
    """What depends on how many raters and subjects there are."""
    raters = len(study.rater_names)
    if raters < LEAST_RATERS:
        text = f"{raters} raters are too few to say whether an algorithm agrees with them as a rater would"
        yield Note("too_few_raters", text)
    if raters == 2 and "vote:0.5" in plan.consensus:
        yield Note("vote_of_two", "vote:0.5 of two raters is what either of them marked: half of the votes is enough")
    if len(study) > 1 and len(study.subjects) == len(study) and all(c.subject == c.name for c in study):
        text = "no subjects are named: every case counts as its own patient (--cases with a column subject)"
        yield Note("no_subjects", text)


# -- the terminal ------------------------------------------------------------------------------------

SHOWN = ("dice", "hausdorff_95", "surface_dice")
"""What the first table shows of each algorithm and reference standard."""
FEW_RATERS = 3
"""Up to so many are listed as reference standards; all are in ``scores.csv``."""


def print_evaluation(result: Evaluation, console: Console) -> None:
    """Scores against every reference standard, algorithms beside the raters, rankings, claims and notes."""
    console.print(f"[bold]{result.describe()}[/bold]\n")
    parts = result.mask_scores.parts if result.mask_scores else ()
    grids = [*(_score_grid(result, part) for part in parts), *rater_grids(result)]
    if result.probability_scores is not None:
        grids.append(_area_grid(result.probability_scores))
    grids += _forecast_grids(result)
    grids += _band_grids(result)
    for shown in (*grids, *order_grids(result), *(graded_grids(result.graded) if result.graded else ())):
        console.print(shown)
    for claim in result.claims.spell_intervals(f"{result.settings.level:.0%} CI").made:
        if claim.kind is not COPY:  # a note has the cases, too
            console.print(claim.text, markup=False, highlight=False)
    for line in (*_separations(result), *result.notes):
        console.print(f"• {line}", markup=False, highlight=False)


def _score_grid(result: Evaluation, part: LabelScores) -> Any:
    """Every algorithm under every reference standard, mean ± standard deviation over subjects."""
    means, deviations = (scores_by_key(result.table("scores"), scope) for scope in ("mean", "std"))
    statistics = [s for s in SHOWN if any((key[0], key[3]) == (part.label, s) for key in means)]
    raters = {c.name for c in result.study.columns}
    references = list(dict.fromkeys(key[2] for key in means if (key[0], key[3]) == (part.label, "dice")))
    # each rater is a reference standard too: with many of them, their mean stands for them
    chosen = references if len(raters) <= FEW_RATERS else [r for r in references if r not in raters]
    rows = []
    for reference in chosen:
        algorithms = dict.fromkeys(key[1] for key in means if (key[0], key[2]) == (part.label, reference))
        for i, algorithm in enumerate(algorithms):
            keys = [(part.label, algorithm, reference, s) for s in statistics]
            cells = [f"{number(means[k].value)} ± {number(deviations[k].value)}" for k in keys]
            rows.append(["" if i else reference, algorithm, *cells])
    header = ["against", "", *(NAMES[s] + (f", {part.unit}" if is_distance(s) else "") for s in statistics)]
    rest = len(references) - len(chosen)
    more = f" ({rest} more reference standards in scores.csv)" if rest else ""
    return grid(part.title(f"Algorithms against raters and references, mean ± SD over subjects{more}"), header, rows)


def scores_by_key(scores: Table, scope: str) -> dict[tuple[str, str, str, str], Row]:
    """The rows of a scope by label, algorithm, reference standard and statistic."""
    return {
        (r.label, str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in scores.rows
        if r.scope == scope and not r.group
    }


def rater_grids(result: Evaluation) -> list[Any]:
    """How far algorithms are from the raters, and raters from each other; then means beside the raters' own."""
    masks, compared = result.mask_scores, result.interchangeability
    grids = []
    if compared is not None and compared.table.rows:
        grids.append(_interchangeability_grid(compared))
    rows_of_raters = result.table("beside_raters").rows
    for part in masks.parts if masks is not None and rows_of_raters else ():
        rows = []
        for row in rows_of_raters:
            against, statistic = str(row["against"]), row.statistic
            wanted = (against == OTHERS and statistic in (*SHOWN, "cohen_kappa")) or statistic == "extended_dice"
            if row.label == part.label and wanted:
                ends = f"{number(row['human_low'])}–{number(row['human_high'])}"
                rows.append([str(row["algorithm"]), NAMES[statistic], with_interval(row), ends, str(row.n)])
        title = "Means against the raters, and the lowest and highest of the raters' own against each other"
        grids.append(grid(part.title(title), ["", "", "mean", "raters' means", "n"], rows))
    return grids


def _interchangeability_grid(compared: InterchangeabilityResult) -> Any:
    """γ of every algorithm, with all raters and without outliers."""
    rows, outliers = [], "; ".join(compared.outliers)
    for name in compared.every:
        found = {
            (r.statistic, r["without"]): r
            for r in compared.table.rows
            if r["algorithm"] == name and not r["rater"] and not r.label
        }
        gamma = found[GAMMA, ""]
        sides = [number(found[s, ""].value) for s in ("distance_to_raters", "distance_between_raters")]
        rest = [with_interval(found[GAMMA, outliers])] if outliers and (GAMMA, outliers) in found else []
        rows.append([name, *sides, with_interval(gamma), number(found[SMALLEST, ""].value), str(gamma.n), *rest])
    header = ["", "to raters", "between raters", "difference γ", "smallest margin", "n"]
    header += [f"γ without {', '.join(compared.outliers)}"] if any(len(row) > len(header) for row in rows) else []
    title = "Dice distance of algorithms to the raters, minus that between raters (interchangeability)"
    return grid(title, header, [row + ["–"] * (len(header) - len(row)) for row in rows])


def _area_grid(probabilities: ProbabilityScores) -> Any:
    """Areas under P̄-R, the least and the most over reference standards, and correlations."""
    rows = []
    for name in (column.name for column in probabilities.counts):
        pooled = probabilities.scores.all("pbar_area", "pooled")
        areas = {str(r["against"]): r.value for r in pooled if r["algorithm"] == name}
        known = {
            reference: areas[reference] for reference in probabilities.references if not math.isnan(areas[reference])
        }
        ends = (pick(known, key=known.__getitem__) for pick in (min, max)) if known else ()
        cells = [f"{number(known[reference])} ({reference})" for reference in ends] or ["–", "–"]
        loose, strict = (number(areas.get(reference)) for reference in ("vote:any", "vote:0.75"))
        correlations = [number(probabilities.correlations.find(s, algorithm=name).value, 4) for s in ("cco", "cci")]
        rows.append([name, loose, strict, *cells, *correlations])
    header = ["", "any", "0.75", "least, under", "most, under", "CCO", "CCI"]
    prevalences = "{:.3g} to {:.3g}".format(*probabilities.skew)
    title = f"Area under P̄-R, prevalence {prevalences}, all cases together, and correlation with agreement"
    return grid(title, header, rows)


FORECASTS = {
    "brier": MEAN.name, "expected_calibration_error": SHARE.name, "soft_dice": SHARE.name,
    "energy_distance": EVERYBODY.name, "energy_distance_unbiased_samples": MEAN.name, "crps_volume": MEAN.name,
    "curvas_dice": EVERYBODY.name, "curvas_crps": EVERYBODY.name, "curvas_calibration_error": EVERYBODY.name,
}  # fmt: skip
"""What is shown of forecasts, and against whom."""
BESIDE = {SHARE.name: " (vote share)", EVERYBODY.name: " (all raters)"}
"""What columns say that are no means over raters."""
POOLED = "expected_calibration_error"
"""What is shown of all cases together."""


def _forecast_grids(result: Evaluation) -> Iterator[Any]:
    """Scores of forecasts, beside what the raters reach against each other."""
    found = result.forecast_scores
    if found is None:
        return
    for part in (*found.parts, *([found.whole] if found.whole else [])):
        rows = {
            (str(r.extra[0]), r.statistic): r
            for table in (found.scores, found.reach)
            for r in table.rows
            if r.scope == ("pooled" if r.statistic == POOLED else "mean") and not r.group and r.label == part.label
            and r["against"] == FORECASTS.get(r.statistic)
        }  # fmt: skip
        names = [name for name in FORECASTS if any(statistic == name for _, statistic in rows)]
        who = list(dict.fromkeys(name for name, _ in rows))
        units = {name: next((r.unit for (_, s), r in rows.items() if s == name and r.unit), "") for name in names}
        cells = [[w, *(number(rows[w, n].value) if (w, n) in rows else "" for n in names)] for w in who]
        beside = {name: BESIDE.get(FORECASTS[name], "") for name in names}
        header = ["", *(NAMES[n] + (f", {units[n]}" if units[n] else "") + beside[n] for n in names)]
        title = "As forecasts of what each rater marks, mean over raters unless said, beside what the raters reach"
        if cells:
            yield grid(f"all labels: {title}" if part is found.whole else part.title(title), header, cells)
    if found.recalibration is not None:
        yield _recalibration_grid(found.recalibration)


def _band_grids(result: Evaluation) -> Iterator[Any]:
    """How wide each band is, and how often it held the reference standard of the subjects it was not learnt on."""
    found = result.tables.get("bands")
    if found is None:
        return
    rows = {(r.label, str(r["algorithm"]), str(r["against"]), r.statistic): r for r in found.rows}
    cells = []
    for label, name, reference in dict.fromkeys(key[:3] for key in rows):
        margin, expected = (rows[label, name, reference, f"band_{s}"] for s in ("margin", "expected_coverage"))
        reached = rows.get((label, name, reference, "band_coverage"))
        wide = f"{margin.value:.4g} {margin.unit}".rstrip()
        wanted = f"{number(expected.low)} to {number(expected.high)}"
        who = f"{name}, {label}" if label else name
        cells.append([who, reference, wide, wanted, "–" if reached is None else with_interval(reached)])
    level, kind = next((r.value, r["band"]) for r in found.rows if r.statistic == "band_expected_coverage")
    of = "of probabilities around one half" if kind == "probability" else "around outlines"
    title = f"Bands {of} that hold the whole reference standard of a new subject with a probability of {level:g}"
    yield grid(title, ["", "against", "margin", "expected coverage", "held, of the other subjects"], cells)


def _recalibration_grid(found: Recalibration) -> Any:
    """The Brier score against the vote share before and after, of the subjects it was not learnt on."""
    rows = {
        (r.label, str(r["algorithm"]), str(r["when"])): r
        for r in found.table.rows
        if (r.statistic, r["against"]) == ("brier", SHARE.name)
    }
    cells = []
    for label, name in dict.fromkeys((label, name) for label, name, _ in rows):
        learnt = found.learnt[label, name]
        how = f"{learnt.temperature:.3g}" if isinstance(learnt, Temperature) else "isotonic"
        values = [with_interval(rows[label, name, when]) for when in ("before", "after", "change")]
        cells.append([f"{name}, {label}" if label else name, how, *values])
    header = ["", "temperature", "before", "after", "change"]
    return grid("Brier score against the vote share, recalibrated on other subjects", header, cells)


def _shown_orders(result: Evaluation) -> Iterator[tuple[str, str, ReferenceRankings]]:
    """Label, metric and rankings."""
    for (label, metric), orders in result.orders.items():
        if metric in ("dice", "pbar_area") and orders.rankings:
            yield label, metric, orders


def order_grids(result: Evaluation) -> Iterator[Any]:
    """Distinct rankings, and who gives each."""
    for label, metric, orders in _shown_orders(result):
        about = f"{label}: " if label else ""
        rows = [[str(r), str(len(r.references)), few(r.references, 8)] for r in orders.rankings]
        way = "" if direction(metric) == "higher" else " (lower is better)"
        title = f"{about}Rankings by {NAMES[metric]}{way}, and under which reference standards"
        yield grid(title, ["", "references", ""], rows)


def other_orders(result: Evaluation, label: str, metric: str) -> dict[str, ReferenceRankings]:
    """Orders by the other measures that are shown, by their names."""
    areas = result.probability_scores.other_orders if result.probability_scores and metric == "pbar_area" else {}
    masks = {m: orders for (of, m), orders in result.orders.items() if of == label and m in SHOWN}
    return {NAMES[m]: orders for m, orders in (areas or masks).items() if m != metric and orders.rankings}


def pair_sentence(result: Evaluation, label: str, metric: str, first: str, second: str) -> str:
    """Under how many reference standards one of two algorithms is ahead."""
    others = {n: o.separate(first, second) for n, o in other_orders(result, label, metric).items()}
    return compare_pair(result.orders[label, metric].separate(first, second), NAMES[metric], others)


def _separations(result: Evaluation) -> Iterator[str]:
    """Whether the order of two neighbours is the same under the reference standards used."""
    raters = result.study.rater_names
    for label, metric, orders in _shown_orders(result):
        about = f"{label}: " if label else ""
        for first, second in pairwise(orders.rankings[0].order):
            yield about + pair_sentence(result, label, metric, first, second)
    shown = dict.fromkeys(reference for _, _, orders in _shown_orders(result) for reference in orders.references)
    if len(shown) > 1:
        yield f"the standards used: {describe_standards(list(shown), raters)}"


# -- scores as in a paper ----------------------------------------------------------------------------

IN_PAPERS = ("dice", "iou", "hausdorff", "pbar_area")
"""The columns of the table; everything else is in ``scores.csv``."""


def paper_table(scores: Table) -> tuple[Sequence[str], list[list[str]]]:
    """Algorithms down, reference standards across, ``mean(std)`` in the cells, as in Zeng's Tables 2 and 3."""
    means, deviations = scores_by_key(scores, "mean"), scores_by_key(scores, "std")
    columns = [
        (label, against, statistic)
        for label in dict.fromkeys(label for label, *_ in means)
        for against in dict.fromkeys(key[2] for key in means if key[0] == label)
        for statistic in (("extended_dice",) if against == EVERYBODY.name else IN_PAPERS)
        if any(key[0] == label and key[2:] == (against, statistic) for key in means)
    ]
    names = [f"{label + ', ' if label else ''}{against}: {statistic}" for label, against, statistic in columns]
    rows = []
    for algorithm in dict.fromkeys(key[1] for key in means):
        keys = [(label, algorithm, against, statistic) for label, against, statistic in columns]
        rows.append([algorithm, *(_paper_cell(means.get(key), deviations.get(key)) for key in keys)])
    return ["algorithm", *names], rows


def _paper_cell(mean: Row | None, deviation: Row | None) -> str:
    """``0.780(.08)``, and ``35.4(15.1)`` of distances."""
    if mean is None or math.isnan(mean.value):
        return "–"
    digits = 1 if is_distance(mean.statistic) else 3
    value = f"{mean.value:.{digits}f}"
    if deviation is None or math.isnan(deviation.value):
        return value
    return f"{value}({f'{deviation.value:.{min(digits, 2)}f}'.removeprefix('0')})"
