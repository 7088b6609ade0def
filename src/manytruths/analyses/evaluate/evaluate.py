"""The command ``evaluate``: algorithms against every rater and reference standard, beside the raters themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ...claims.algorithms import (
    BesideRaters,
    CopiedMasks,
    consider_adjudicated_references,
    consider_algorithm_failures,
    consider_copies,
    consider_equal_references,
    consider_interchangeability,
    consider_orders,
    consider_training,
    consider_voted_references,
    trained_here,
)
from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex, number_cell
from ...claims.orders import not_tested
from ...claims.probability import Population, consider_forecasts, consider_spread
from ...claims.sentences import counted
from ...claims.sessions import session_notes
from ...claims.sharing import tallied_notes
from ...claims.sizes import ReferenceSizeFacts, consider_reference_sizes
from ...core.columns import Column
from ...core.errors import CallError, InputError
from ...core.labels import MACRO
from ...core.tally import Tally
from ...core.undefined import Note
from ...evaluation.grading import GradeScale
from ...evaluation.intensity_curves import mask_intensity
from ...evaluation.interchangeability import check_margin
from ...evaluation.ranking.by_reference import ReferenceRankings
from ...evaluation.ranking.scores import direction
from ...fusion.registry import estimator, options_by_name, parse_methods
from ...io.result_tables import DataTable, PlainTable, Row, Table
from ...shape.grid import times
from ...study import Case, Progress, Study
from ...study.adjudicated import METHOD, refuse_shown_algorithms
from ...study.case import Reading
from ...study.case_files import find_cases
from ...study.consensus import default_methods, prepare
from ...study.options import merged
from ..adjudicated.references import find_adjudicated_references
from ..agree.case import Noise, large_notes, name_left_out
from ..agree.distances import check_tolerance
from ..agree.references import Equal, find_equal_masks, find_votes
from ..paper_tables.formats import parse_formats
from ..result import Result, StudySource, Tables, console_or_stdout, need_pixels, open_study, results_folder, summary_of
from ..tables import NOTHING_MOVED, Moved, Settings, mark_resampled, marked_rows, region_of, subject_word
from .bands import CaseMargins, measure_margins, tabulate_bands
from .boundaries import CaseBoundaries, boundary_table, match_case_boundaries
from .case_scores import NAMES, LabelCounts, count_labels
from .forecast_scores import ForecastScores, calibration_charts, tabulate_forecasts
from .forecasts import SHARE, CaseForecasts, score_case_forecasts
from .froc import froc_charts, froc_table
from .grading import (
    WRITTEN,
    Graded,
    draw_case_sheet,
    grading_chart,
    plan_sheet,
    read_and_grade,
    refuse_graded,
    sheet_notes,
    write_sheet,
)
from .intensity_curves import SubjectCurves, tabulate_intensities
from .interchangeability import InterchangeabilityResult, tabulate_interchangeability
from .lesions import FreeResponses, count_free_responses
from .marks import CaseMarks, EvaluatePlan, Missing
from .mask_scores import MEAN, MaskScores, human_range_charts, rank_labels, tabulate_masks
from .printing import Copies, find_copies, notes, paper_table, print_evaluation
from .probability_maps import (
    PackedResponses,
    ProbabilityScores,
    count_maps,
    curve_charts,
    on_disk,
    tabulate_probabilities,
)
from .second_look import CaseLook, Looks, draw_places, find_case_places, tabulate_places
from .sizes import PredictedSizes, SizeComparison, compare_sizes, measure_predictions

PROBABILITY_MAPS = ("vote:any", "vote:0.5", "vote:0.75", "staple")
"""Methods of consensus by default for curves: they are bounded by what any and what three quarters of raters marked."""
Orders = Mapping[tuple[str, str], ReferenceRankings]
"""Rankings under every reference standard, by label and metric."""
COPIES = 0.1
"""From this share of cases on, and two, masks that are a rater's do not count as agreement with the raters."""
SHEET = "grading"
"""The folder of the grading sheet."""


POINTS = ("curves", "froc", "calibration")
"""Tables with the points of curves, which ``summary.json`` does not repeat."""
NEED_PIXELS = ("distances", "boundaries", "lesions", "diameters", "second look")
"""What a study without pixels has none of."""


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """The result of :func:`manytruths.evaluate`.

    Attributes
    ----------
    study : Study
        The study with its predictions.
    settings : Settings
        Confidence level, and seed of the test that permutes raters.
    plan : EvaluatePlan
        The options of the evaluation.
    mask_scores : MaskScores or None
        Scores of masks, with the human range; None for probability maps that were not cut.
    probability_scores : ProbabilityScores or None
        Curves and areas of probability maps.
    orders : mapping
        Rankings under every reference standard, by label and metric.
    tables : Tables
        ``scores``, ``rankings``, ``interchangeability``, ``human``, ``beside_raters``, …, ``cases``, ``by_truth`` and
        ``orders``, as in the files.
    notes : tuple of str
        What limits the numbers.
    second_look : Looks or None
        Places that several algorithms marked and few raters.
    intensity_curves : SubjectCurves or None
        Intensity inside every mask along the cases of each subject.
    graded : Graded or None
        Metrics against experts' grades.
    moved : Moved
        Cases whose masks were resampled.
    interchangeability : InterchangeabilityResult or None
        Whether algorithms agree with the raters as these do with each other.
    sizes : SizeComparison or None
        Sizes of algorithms against those of given references.
    forecast_scores : ForecastScores or None
        Scores and calibration of probability maps and samples, as forecasts of what raters mark.
    """

    command: ClassVar[str] = "evaluate"

    study: Study
    settings: Settings
    plan: EvaluatePlan
    mask_scores: MaskScores | None
    probability_scores: ProbabilityScores | None
    orders: Orders
    tables: Tables[Any]
    notes: tuple[str, ...] = ()
    second_look: Looks | None = None
    intensity_curves: SubjectCurves | None = None
    graded: Graded | None = None
    moved: Moved = NOTHING_MOVED
    interchangeability: InterchangeabilityResult | None = None
    sizes: SizeComparison | None = None
    forecast_scores: ForecastScores | None = None

    @property
    def missing(self) -> Missing:
        """How missing predictions count."""
        return self.plan.missing

    def table(self, name: str) -> Table:
        """A table by the name of its file; empty where there is none."""
        table = self.tables.get(name)
        return table if isinstance(table, Table) else Table(name)

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name: the human range, curves of probability maps and of intensities, and grades."""
        drawn = dict(human_range_charts(self.mask_scores)) if self.mask_scores else {}
        drawn |= curve_charts(self.probability_scores) if self.probability_scores else {}
        drawn |= calibration_charts(self.forecast_scores, self.settings.level) if self.forecast_scores else {}
        drawn |= froc_charts(self.tables["froc"], self.study) if "froc" in self.tables else {}
        drawn |= self.sizes.charts if self.sizes else {}
        drawn |= self.intensity_curves.charts() if self.intensity_curves else {}
        return drawn | ({"grades": grading_chart(self.graded)} if self.graded else {})

    @cached_property
    def claims(self) -> Claims:
        """What is said about the algorithms, and what was considered and not said."""
        log, each = ClaimLog(), subject_word(self.study)
        if self.interchangeability is not None:
            file = "evaluate/interchangeability.csv"
            table, found = TableIndex(file, self.interchangeability.table), self.interchangeability
            facts = BesideRaters(found.every, each, self._labels, found.outliers, found.not_without, self._dependent)
            consider_interchangeability(log, table, facts)
        consider_copies(log, self.copies)
        consider_training(log, self.study.options.trained_on, [c.name for c in self.study.algorithms])
        if self.mask_scores is not None:
            scores = TableIndex("evaluate/scores.csv", self.table("scores"))
            labels = [part.label for part in self.mask_scores.parts]
            lacks = {a.name: self._counts_missing(a) for a in self.mask_scores.parts[0].algorithms}
            consider_algorithm_failures(log, scores, self.main_reference, lacks, labels, each)
        if self.study.exact:
            consider_equal_references(log, self.equal_references)
            consider_voted_references(log, find_votes(self._beside_references))
            consider_adjudicated_references(log, find_adjudicated_references(self.study))
        if self.sizes is not None:
            agreed = TableIndex("evaluate/size_agreement.csv", self.table("size_agreement"))
            consider_reference_sizes(log, agreed, self._size_facts)
        if self.forecast_scores is not None:
            self._consider_forecasts(log, self.forecast_scores, each)
        metric = "pbar_area" if self.mask_scores is None else "dice"
        label = self.mask_scores.parts[0].label if self.mask_scores else ""
        rows = [row for row in self.table("rankings").rows if (row.label, row["metric"]) == (label, metric)]
        rests_on = [number_cell("evaluate/rankings.csv", row, 3) for row in rows]
        # of probability maps, areas of all cases together are ordered, and not tested
        untested = not_tested(len(self.study.subjects), each) or ("" if self.mask_scores else "not tested")
        orders = self.orders.get((label, metric))
        consider_orders(log, orders, NAMES[metric], rests_on, untested, self.copied_raters)
        return log.settle(primary=self.study.options.primary)

    def _consider_forecasts(self, log: ClaimLog, found: ForecastScores, each: str) -> None:
        people = Population(len(self.study.rater_names), each)
        bins = TableIndex("evaluate/calibration.csv", found.bins_of_images)
        if found.forecasts:
            consider_forecasts(log, found.forecasts, bins, SHARE.name, people)
        if found.spreads:
            consider_spread(log, found.spreads, TableIndex("evaluate/scores.csv", self.table("scores")), people)

    @cached_property
    def copies(self) -> dict[str, CopiedMasks]:
        """Algorithms whose masks are those of a rater or a consensus in a tenth of the cases."""
        found: dict[str, CopiedMasks] = {}
        for copies in self._copies:
            same = CopiedMasks(copies.kind, copies.whose, len(copies.cases), copies.marked)
            found.setdefault(copies.algorithm, same)
        return found

    @cached_property
    def _copies(self) -> list[Copies]:
        parts = [part for part in self.mask_scores.parts if part.label != MACRO] if self.mask_scores else []
        return [copies for copies in find_copies(parts) if len(copies.cases) >= max(COPIES * copies.marked, 2)]

    @property
    def copied_raters(self) -> dict[str, list[str]]:
        """Raters whose masks algorithms have, with these algorithms."""
        found: dict[str, list[str]] = {}
        for copies in self._copies:
            if copies.kind == "rater":
                found.setdefault(copies.name, []).append(copies.algorithm)
        return found

    @property
    def _dependent(self) -> dict[str, Note]:
        """Algorithms that are near to these raters for another reason than that they are good."""
        notes = {name: same.note for name, same in self.copies.items()}
        return notes | {name: trained_here(on) for name, on in self.study.options.trained_on.items()}

    @property
    def _size_facts(self) -> ReferenceSizeFacts:
        """An algorithm is not compared in words where it was trained on the study, or is the reference itself."""
        given = sorted({c.name for case in self.study for c in case.references})
        trained = self.study.options.trained_on.items()
        silent = {(name, reference): trained_here(on) for name, on in trained for reference in given}
        for (reference, name), same in find_equal_masks(self._references_beside("algorithm"), "algorithm").items():
            silent[name, reference] = Note("own_mask", f"the reference is its own mask in {same}")
        subjects, word = len(self.study.subjects), subject_word(self.study)
        return ReferenceSizeFacts(subjects, word, self._labels, rater=False, silent=silent)

    @property
    def _labels(self) -> tuple[str, ...]:
        """The labels, where there are several."""
        labels = [part.label for part in self.mask_scores.parts if part.label != MACRO] if self.mask_scores else []
        return tuple(labels) if len(labels) > 1 else ()

    @property
    def distance_unit(self) -> str:
        """The unit of distances: mm, or pixels where the spacing is not known."""
        return self.mask_scores.parts[0].unit if self.mask_scores else ""

    @property
    def main_reference(self) -> str:
        """The reference standard that comes first: a given one, else the first consensus, else the mean of raters."""
        given = [column.name for case in self.study for column in case.references]
        return next(iter((*given, *self.plan.consensus)), MEAN.name)

    def _counts_missing(self, algorithm: Column) -> bool:
        """Whether an algorithm has no prediction in some cases, which count as the worst."""
        return self.missing == "worst" and any(algorithm in case.missing for case in self.study)

    @property
    def equal_references(self) -> Equal:
        """Cases in which a given reference is a rater's mask, by reference and rater."""
        return {} if self.study.options.exchangeable else find_equal_masks(self._beside_references)

    @property
    def _beside_references(self) -> dict[str, dict[str, Tally]]:
        """Raters and given references of each case, by label; nothing without references."""
        return self._references_beside("rater")

    def _references_beside(self, role: str) -> dict[str, dict[str, Tally]]:
        """Given references of each case with raters or algorithms, by label; nothing without references."""
        # the tables of the macro mean unite the labels
        parts = [part for part in self.mask_scores.parts if part.label != MACRO] if self.mask_scores else []
        given = {c for case in self.study for c in case.references}
        cases: dict[str, dict[str, Tally]] = {}
        for part in parts if given else ():
            for case, table in part.tallies.items():
                others = [c for c in table.columns if c.role != role and c not in given]
                cases.setdefault(case, {})[part.label] = table.without(*others)
        return cases

    def describe(self) -> str:
        """What was evaluated, in one line."""
        study = self.study
        sizes = [(len(study.algorithms), "algorithm"), (len(study), "case"), (len(study.subjects), "subject")]
        return ", ".join(counted(*size) for size in (*sizes, (len(study.rater_names), "rater")))

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of all tables but the points of curves, as ``summary.json`` has them."""
        tables = [t for t in self.tables.values() if isinstance(t, Table) and t.name not in POINTS]
        return summary_of(
            "evaluate",
            tables,
            cases=len(self.study),
            subjects=len(self.study.subjects),
            raters=list(self.study.rater_names),
            algorithms=[str(c) for c in self.study.algorithms],
            truths=list(self.plan.consensus),
            missing=self.missing,
            skew=self.probability_scores.skew if self.probability_scores else None,
            tolerance={p.label: p.tolerance for p in self.mask_scores.parts} if self.mask_scores else None,
            surfaces=self.plan.definition if self.mask_scores and self.plan.distances else None,
            settings=self.settings,
            notes=list(self.notes),
            orders=[
                {"label": label, "metric": metric, "order": list(r.order), "truths": list(r.references)}
                for (label, metric), orders in self.orders.items()
                for r in orders.rankings
            ],
        )

    def write_maps(self, folder: Path) -> list[Path]:
        """Write pictures of the strongest second-look places; nothing is read for them."""
        looks, names = self.second_look, self.study.rater_names
        return draw_places(folder / "second_look", looks, names) if looks is not None else []

    def print(self, console: Any = None) -> None:
        """Print scores, interchangeability, rankings, claims and notes."""
        print_evaluation(self, console_or_stdout(console))


def evaluate(
    study: StudySource,
    *,
    out: str | Path | None = None,
    predictions: str | None = None,
    samples: str | None = None,
    consensus: str | Sequence[str] | None = None,
    prior: float | str = "prevalence",
    simple_alpha: float = 1.5,
    length_penalty: float = 2.0,
    threshold: float | None = None,
    skew: tuple[float, float] | None = None,
    recalibrate: Literal["temperature", "isotonic"] | None = None,
    band: float | None = None,
    like: Literal["qubiq", "curvas"] | None = None,
    distances: bool = True,
    surfaces: Literal["elements", "pixels"] = "elements",
    tolerance: float | None = None,
    margin: float | None = None,
    lesions: bool = True,
    sizes: bool = True,
    error_ratio: float | None = None,
    boundaries: Literal["outlines", "lines"] | None = None,
    boundary_share: float = 0.0075,
    missing: Missing = "worst",
    second_look: bool = True,
    second_look_algorithms: int = 2,
    second_look_raters: float = 0.25,
    second_look_min_size: int = 5,
    intensity_curves: bool = False,
    grades: str | Path | None = None,
    key: str | Path | None = None,
    grade_scale: tuple[int, int] = (1, 4),
    best: int | None = None,
    grading_sheet: bool = False,
    grading_repeats: float = 0.1,
    grading_per_subject: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    pictures: bool = True,
    tables: str | Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Score algorithms against every rater and reference standard, beside the raters themselves.

    Masks are scored by overlap and distance, probability maps by ROC, P-R and P̄-R curves. Each file is read once.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/evaluate/``; by default nothing is written.
    predictions : str, optional
        Template of the predictions, such as ``"unet/{case}.png"`` or ``"{algorithm}/{case}.png"``; by default those
        that the study was opened with.
    samples : str, optional
        Template of samples, masks that an algorithm drew of each case: ``"{algorithm}/{case}/{sample}.png"``; by
        default those that the study was opened with. Without predictions, the share of the samples that mark a pixel
        is the probability map.
    consensus : str or sequence of str, optional
        Methods of consensus to evaluate against, beside the raters and the given references; by default
        ``vote:0.5,staple``, of several labels ``plurality,staple``, and for probability maps
        ``vote:any,vote:0.5,vote:0.75,staple``.
    prior : float or str
        Prior of STAPLE: ``"prevalence"``, ``"marked"``, ``"estimated"`` or a number.
    simple_alpha : float
        SIMPLE drops raters below mean − ``simple_alpha`` standard deviations.
    length_penalty : float
        Length penalty of the level-set methods.
    threshold : float, optional
        Cut probability maps here, and score them as masks too.
    skew : tuple of float, optional
        Range of prevalences over which P̄ averages precision; by default mean ± 3 SD of the study's own.
    recalibrate : {"temperature", "isotonic"}, optional
        Recalibrate probability maps on a part of the subjects, and measure what that changes on the others: those with
        ``calibration`` and ``test`` in the column ``split`` of ``cases.csv``, or a random half (``seed``).
    band : float, optional
        Learn how wide a band around predictions must be to hold the whole reference standard of a new subject with
        this probability, such as 0.9, on the same part of the subjects, and count how often it does on the others.
    like : {"qubiq", "curvas"}, optional
        Name the scores of a challenge, with what is odd about them: QUBIQ's is ``soft_dice``; CURVAS's Dice in areas of
        consensus, its truncated score of volumes and its calibration error are added as ``curvas_dice``,
        ``curvas_crps`` and ``curvas_calibration_error``.
    distances : bool
        Whether to measure Hausdorff and surface distances.
    surfaces : {"elements", "pixels"}
        What a surface is: elements between pixels, weighted by their area, or border pixels.
    tolerance : float, optional
        Tolerance of surface Dice, in mm (or pixels); by default the median distance between raters' outlines,
        at least a pixel and at most half the width of what they mark.
    margin : float, optional
        Largest difference of Dice that does not matter, such as 0.05: within it, an algorithm agrees with a rater as
        another rater would. By default that of the study, and without any there is no verdict.
    lesions : bool
        Whether to match lesions: sensitivity, precision, F1 and PQ of lesions by the study's rule, and free-response
        curves of probability maps.
    sizes : bool
        Whether to measure areas or volumes and diameters of predictions and given references, and to compare them.
    error_ratio : float, optional
        Variance of the errors of an algorithm's sizes over that of the errors of a given reference's, where it is
        known: 1 where both are as precise. The line between their sizes is then Deming's, else Passing and Bablok's.
    boundaries : {"outlines", "lines"}, optional
        Match boundaries one to one (2-D): outlines of masks, or lines where masks are lines already.
    boundary_share : float
        Distance within which boundary pixels match, as a share of the image's diagonal.
    missing : {"worst", "exclude"}
        Missing predictions get the worst score, or their case is excluded for all algorithms.
    second_look : bool
        Whether to list places that several algorithms marked and few raters.
    second_look_algorithms : int
        At least so many algorithms (and half of them) marked such a place.
    second_look_raters : float
        At most this share of the raters marked it.
    second_look_min_size : int
        Places of fewer pixels are only counted.
    intensity_curves : bool
        Whether to measure the image's intensity inside every mask along the cases of each subject (needs images).
    grades, key : str or Path, optional
        CSV of an expert's grades (case, algorithm, grade), or a grading sheet that was filled in, and its key.
    grade_scale : tuple of int
        The worst and the highest grade.
    best : int, optional
        The grade from which no correction is needed; by default the highest.
    grading_sheet : bool
        Whether to write a blinded sheet with pictures, for an expert to grade; needs ``out``.
    grading_repeats : float
        Share of the predictions that the sheet shows twice, to measure how consistent the grader is.
    grading_per_subject : int, optional
        Put so many random cases of each subject on the sheet instead of all.
    level : float
        Confidence level of intervals.
    seed : int
        Seed of the test that permutes raters to find who differs from the others, of the subjects for recalibration and
        bands, and of the cases, order and codes of the grading sheet.
    pictures : bool
        Whether to draw charts and pictures of second-look places.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx``, ``html`` and
        ``redcap``; by default none.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Evaluation
        Tables, charts, notes and :meth:`~Evaluation.write`.

    Raises
    ------
    CallError
        Where options do not fit the study, such as ``skew`` without probability maps.
    InputError
        Where there are no predictions, or names clash.

    Examples
    --------
    >>> import manytruths as mt
    >>> result = mt.evaluate("masks/{rater}/{case}.png", predictions="unet/{case}.png")  # doctest: +SKIP
    >>> result.tables["scores"].to_frame()  # doctest: +SKIP
    """
    formats = parse_formats(tables, out, "evaluate")
    settings = Settings(seed=seed, level=level, jobs=jobs, error_ratio=error_ratio)
    scale = GradeScale(*grade_scale, grade_scale[1] if best is None else best)
    study = _open(study, {"predictions": predictions, "samples": samples})
    methods = _default_methods(study) if consensus is None else parse_methods(consensus)
    study = prepare(study, methods)
    if METHOD in methods:
        refuse_shown_algorithms(study)
    options = options_by_name(prior=prior, simple_alpha=simple_alpha, length_penalty=length_penalty)
    plan = EvaluatePlan(
        methods, options, threshold, distances, surfaces, boundaries, boundary_share, tolerance,
        skew, missing, second_look, second_look_algorithms, second_look_raters, second_look_min_size, pictures,
        intensity_curves, None if grades is None else Path(grades), None if key is None else Path(key), scale,
        lesions=lesions, margin=margin, sizes=sizes, recalibrate=recalibrate, band=band, like=like,
    )  # fmt: skip
    need_masks = {"intensity_curves": intensity_curves, "grading_sheet": grading_sheet, "grades": grades is not None}
    plan = check_plan(study, plan, [name for name, wanted in need_masks.items() if wanted])
    if grading_sheet:
        need_pixels(study, "--grading-sheet")
        if out is None:
            raise CallError("grading_sheet writes pictures; say where with out=")
        refuse_graded(Path(out) / "evaluate" / SHEET)
        tickets = plan_sheet(study, seed=seed, repeats=grading_repeats, per_subject=grading_per_subject)
        plan = replace(plan, tickets=tickets)
    ours = [f"{SHEET}/{name}" for name in WRITTEN] if grading_sheet else []
    with results_folder(out, "evaluate", jobs=jobs, keeps=True, ours=ours) as folder:
        if grading_sheet and folder is not None:
            plan = replace(plan, sheet=folder / SHEET)
        result = compute_evaluation(study, plan, settings=settings, progress=progress)
        if plan.sheet is not None:
            write_sheet(plan.sheet, plan.tickets, scale)
        if folder is not None:
            maps = result.write_maps(folder) if pictures else []
            result.write_into(folder, maps, pictures=pictures, tables=formats)
    return result


def _open(study: StudySource, templates: Mapping[str, str | None]) -> Study:
    """The study, with the predictions and samples of templates where they are given."""
    given = {name: template for name, template in templates.items() if template is not None}
    if not given:
        return open_study(study)
    if not isinstance(study, Study):
        return Study.open(study, **given)  # type: ignore[arg-type]
    if study.coded or not study.options.masks:
        name = next(iter(given))
        raise CallError(f"{name}= is for a study of files under their own names; give them when opening the study")
    options = merged(study.options, **given)
    found, _, unused = find_cases(options)
    return Study(found, options, study.properties, left_out=study.left_out, unused=unused, executor=study.executor)


def _default_methods(study: Study) -> tuple[str, ...]:
    return PROBABILITY_MAPS if study.options.probability else default_methods(study)


def check_plan(study: Study, plan: EvaluatePlan, wanted: Sequence[str] = ()) -> EvaluatePlan:
    """The plan as it fits a study, or an error; ``wanted`` are parts that need masks."""
    for method in plan.consensus:
        estimator(method)
    if study.tallied is not None:
        plan = _without_pixels(study, plan)
    _check_numbers(study, plan)
    _check_study(study, plan)
    if plan.boundaries == "outlines" and study.options.probability and plan.threshold is None:
        raise CallError("probability maps have no outlines; cut them with --threshold, or use --boundaries lines")
    if study.options.probability and plan.threshold is None and wanted:
        raise CallError(f"{wanted[0]}: probability maps have no masks; cut them with --threshold")
    if plan.intensity_curves and study.options.images is None:
        raise CallError("intensity curves need the images; give them with --images")
    margin = study.options.margin if plan.margin is None else plan.margin
    check_margin(margin)
    return replace(plan, margin=margin, second_look=plan.second_look and len(study.algorithms) > 1)


def _without_pixels(study: Study, plan: EvaluatePlan) -> EvaluatePlan:
    """What can be counted; what cannot, and was asked for, is refused."""
    for name in ("boundaries", "intensity_curves", "band"):
        if getattr(plan, name):
            need_pixels(study, f"--{name.replace('_', '-')}")
    return replace(plan, distances=False, lesions=False, second_look=False)


def _check_numbers(study: Study, plan: EvaluatePlan) -> None:
    skew, threshold = plan.skew, plan.threshold
    check_tolerance(plan.tolerance)
    if skew is not None and not 0 <= skew[0] < skew[1] <= 1:
        raise CallError(f"skew is a range of prevalences within 0 to 1, as in 0.1,0.5; got {skew[0]:g},{skew[1]:g}")
    if plan.band is not None and not 0 < plan.band < 1:
        raise CallError(f"band is a coverage between 0 and 1, as 0.9; got {plan.band:g}")
    if threshold is not None and threshold != threshold:
        raise CallError("threshold is a number at which probability maps are cut; got nan")
    given: dict[str, object] = {"--threshold": threshold, "--skew": skew, "--limits": study.options.limits}
    given |= {"--recalibrate": plan.recalibrate, "--like": plan.like}
    for option, value in given.items():
        if value is not None and not study.options.probability:
            raise CallError(f"{option} is for probability maps; say --probability, or leave it out")


def _check_study(study: Study, plan: EvaluatePlan) -> None:
    if not study.options.has_predictions and study.tallied is not None:
        raise InputError("the tally files have no predictions; write them with --predictions unet/{case}.png")
    if not study.options.has_predictions:
        raise CallError("evaluate needs predictions, as in --predictions unet/{case}.png")
    if not study.algorithms:
        raise InputError(
            f"{study.options.predictions!r} has no prediction of any case of the study; name the cases as the masks do"
        )
    if study.options.region == "modified_background":
        raise CallError(
            "--region modified_background depends on where the pixels lie once there are predictions; "
            "give the region as masks (--roi)"
        )
    names = [column.name for column in study.algorithms]
    unknown = [name for name in study.options.trained_on if name not in names]
    if unknown:
        raise InputError(f"trained_on: there is no algorithm {unknown[0]!r}; algorithms are {', '.join(names)}")
    references = {c.name for case in study for c in case.references}
    clash = [name for name in plan.consensus if name in {*study.rater_names, *references}]
    if clash:
        raise InputError(
            f"a rater or reference is called {clash[0]!r} like a method; rename it, or leave out the method"
        )
    twice = sorted(references.intersection(study.rater_names))
    if twice:
        raise InputError(f"a reference is called {twice[0]!r} like a rater; rename its files or folder")
    if plan.missing == "exclude" and all(case.missing for case in study):
        raise InputError("no case has a prediction of every algorithm; use --missing worst, or add predictions")


@dataclass(frozen=True)
class CaseEvaluation:
    """What is kept of a case; None for what was not asked for."""

    masks: Mapping[str, LabelCounts] | None = None
    """By label."""
    responses: PackedResponses | None = None
    """Of probability maps."""
    boundaries: CaseBoundaries | None = None
    second_look: CaseLook | None = None
    intensity: Mapping[Column, float] | None = None
    """The mean intensity of the image inside each mask."""
    free_responses: FreeResponses | None = None
    """Lesions at every threshold of probability maps."""
    sizes: PredictedSizes | None = None
    """Of predictions and given references."""
    drawn_without_image: bool = False
    """Whether the case is on the grading sheet without its image."""
    left_out: str = ""
    """What was not measured because the case is too large."""
    forecasts: CaseForecasts | None = None
    """Of probability maps and samples."""
    margins: CaseMargins | None = None
    """Of conformal bands."""


def analyse_case(case: Case, plan: EvaluatePlan) -> CaseEvaluation:
    """One case, read once."""
    return analyse_reading(case.read(by_tile=True), plan)


def analyse_reading(reading: Reading, plan: EvaluatePlan) -> CaseEvaluation:
    """The same of a case whose masks were read; predictions, references and the image are read where needed."""
    case, left_out = reading.case, ""
    if reading.is_large:
        left_out, plan = plan_large(reading, plan)
    whole = CaseMarks.of(reading, plan)
    counted = forecasts = None
    if case.options.probability:
        counted = count_maps(whole.without_predictions().together, on_disk(whole.reading).predictions)
    responses = None if counted is None else PackedResponses.of(whole, counted)
    if counted is not None or case.samples or case.missing_samples:
        forecasts = score_case_forecasts(whole, counted)
    margins = measure_margins(whole, counted) if plan.band is not None else None
    free = case.options.probability and plan.lesions
    froc = count_free_responses(whole) if free else None
    masks = count_labels(whole) if whole.scored else None
    boundaries = match_case_boundaries(whole) if plan.boundaries else None
    if not whole.scored:
        return CaseEvaluation(
            responses=responses, boundaries=boundaries, free_responses=froc, forecasts=forecasts, margins=margins,
            left_out=left_out,
        )  # fmt: skip
    without_image = draw_case_sheet(whole)
    look = find_case_places(whole) if plan.second_look else None
    image = reading.picture[0] if plan.intensity_curves else None
    intensity = None if image is None else mask_intensity(image, whole.by_rater | whole.by_algorithm)
    sizes = measure_predictions(whole) if plan.sizes else None
    return CaseEvaluation(
        masks, responses, boundaries, look, intensity, froc, sizes, without_image, left_out, forecasts, margins
    )  # fmt: skip


def plan_large(reading: Reading, plan: EvaluatePlan) -> tuple[str, EvaluatePlan]:
    """What an evaluation leaves out of a large case, and the plan without it."""
    if any(ticket.case == reading.case.name for ticket in plan.tickets):
        size = times(reading.grid.shape)
        raise InputError(f"case {reading.case.name}: {size} pixels are too many for a grading sheet; crop them")
    noise, options = Noise(), reading.case.options
    noise.attempt("what needs neighbours", lambda: _find_runs(reading, plan))
    near = not noise.left_out
    noise.left_out = [name for name, wanted in {
        "distances": plan.distances, "lesions": plan.lesions, "diameters": plan.sizes and bool(reading.case.references),
        "second look": plan.second_look, "free-response curves": options.probability and plan.lesions,
    }.items() if wanted and not near]  # fmt: skip
    masks = not options.probability
    others = name_left_out(
        {"boundaries": plan.boundaries is not None, "intensity curves": plan.intensity_curves,
         "bands": plan.band is not None and masks, "samples": bool(reading.case.samples)}
    )  # fmt: skip
    less = replace(
        plan, distances=plan.distances and near, lesions=plan.lesions and near, boundaries=None,
        second_look=plan.second_look and near, intensity_curves=False,
        band=None if masks else plan.band,
    )  # fmt: skip
    return noise.describe(others), less


def _find_runs(reading: Reading, plan: EvaluatePlan) -> None:
    """Read what neighbours are looked for in, which is kept."""
    if plan.distances or plan.lesions or plan.second_look or plan.sizes:
        for mask in reading.masks.values():
            reading.runs(mask)
        if reading.by_pattern.pixels is not None:
            _ = reading.by_pattern.pixels.runs


def compute_evaluation(
    study: Study, plan: EvaluatePlan, *, settings: Settings | None = None, progress: Progress | None = None
) -> Evaluation:
    """Read every case once, and tabulate."""
    settings, plan = settings or Settings(), check_plan(study, plan)
    work = partial(analyse_case, plan=plan)
    results = study.map(work, jobs=settings.jobs, progress=progress, keep=True)
    cases = {case.name: result for case, result in results}
    return tabulate_evaluation(study, cases, plan, settings)


def tabulate_evaluation(
    study: Study, cases: Mapping[str, CaseEvaluation], plan: EvaluatePlan, settings: Settings
) -> Evaluation:
    """The tables of cases that were analysed one by one."""
    responses = {name: case.responses for name, case in cases.items() if case.responses is not None}
    counts = {name: case.masks for name, case in cases.items() if case.masks is not None}
    matched = {name: case.boundaries for name, case in cases.items() if case.boundaries is not None}
    places = {name: case.second_look for name, case in cases.items() if case.second_look is not None}
    measured = {name: case.intensity for name, case in cases.items() if case.intensity is not None}
    probabilities = tabulate_probabilities(study, responses, plan, settings) if responses else None
    masks = tabulate_masks(study, counts, plan, settings) if counts else None
    looks = tabulate_places(study, places) if places else None
    subjects = {case.name: case.subject for case in study}
    curves = tabulate_intensities(measured, subjects, settings) if plan.intensity_curves else None
    graded = read_and_grade(study, masks.parts[0], plan, settings) if masks and plan.grades else None
    scores = Table("scores", ("algorithm", "against"))
    rankings = Table("rankings", ("against", "metric", "rank", "algorithm"))
    orders: dict[tuple[str, str], ReferenceRankings] = {}
    tables, compared = [scores, rankings], None
    if masks is not None:
        scores.add(masks.scores.rows)
        orders = rank_labels(masks.parts, plan.missing)
        rankings.add(_ranking_rows("mean", orders, region_of(masks.parts[0].tallies)))
        compared = tabulate_interchangeability(study, masks.parts, plan, settings)
        # slots of exchangeable raters are nobody: no single one is scored
        tables += [t for t in (compared.table, masks.human, masks.beside_raters, masks.differences) if t.rows]
    if probabilities is not None:
        scores.add(probabilities.scores.rows)
        by_area = {("", "pbar_area"): probabilities.orders} if probabilities.orders else {}
        orders |= by_area
        rankings.add(_ranking_rows("pooled", by_area, probabilities.region))
        tables += [probabilities.curves, probabilities.correlations]
    scored = {name: case.forecasts for name, case in cases.items() if case.forecasts is not None}
    forecasts = tabulate_forecasts(study, scored, plan, settings) if scored else None
    if forecasts is not None:
        scores.add(forecasts.scores.rows)
        orders |= forecasts.orders
        region = region_of(forecasts.parts[0].tallies)
        rankings.add(_ranking_rows("mean", forecasts.orders, region))
        tables += forecasts.tables
    margins = {name: case.margins for name, case in cases.items() if case.margins is not None}
    bands, band_notes = None, tuple[str, ...]()
    if margins and plan.band is not None:
        bands, band_notes = tabulate_bands(study, margins, plan.band, settings, forecasts.refused if forecasts else {})
        tables += [bands] if bands.rows else []
    free = {name: case.free_responses for name, case in cases.items() if case.free_responses is not None}
    froc = froc_table(study, free, settings) if free and len(free) == len(cases) else None
    tables += [froc] if froc is not None and froc.rows else []
    tables += [boundary_table(study, matched, plan)] if matched else []
    tables += [part.table for part in (looks, curves) if part is not None]
    tables += graded.tables if graded else ()
    measured_sizes = {name: case.sizes for name, case in cases.items() if case.sizes is not None}
    sizes = None
    if measured_sizes and masks is not None:
        parts = [part for part in masks.parts if part.label != MACRO]
        labels = [part.label for part in parts]
        sizes = compare_sizes(study, measured_sizes, parts[0].tallies, labels, settings)
        tables += sizes.tables
    moved = mark_resampled(study, tables, judged=True)
    without_image = sum(case.drawn_without_image for case in cases.values())
    messages = (
        *session_notes(study), *moved.notes, *notes(study, plan, masks, probabilities),
        *(forecasts.notes if forecasts else ()), *band_notes, *(looks.notes if looks else ()),
        *(curves.notes if curves else ()), *(graded.notes if graded else ()),
        *sheet_notes(study, plan, without_image), *tallied_notes(study, NEED_PIXELS),
        *large_notes({name: case.left_out for name, case in cases.items()}),
    )  # fmt: skip
    every: list[DataTable] = [*tables, *_plain_tables(study, scores, masks, orders, moved)]
    return Evaluation(
        study, settings, plan, masks, probabilities, orders, Tables(every), messages, looks, curves, graded, moved,
        compared, sizes, forecasts,
    )  # fmt: skip


def _ranking_rows(scope: str, orders: Orders, region: str) -> Iterator[Row]:
    """A row for every label, metric, reference standard and algorithm, the best first."""
    for (label, metric), rankings in orders.items():
        sign = 1 if direction(metric) == "higher" else -1
        for reference, column in zip(rankings.references, rankings.scores.T, strict=True):
            if reference in rankings.undefined:
                continue
            for i in np.argsort(-column, kind="stable"):
                extra = (reference, metric, 1 + int((column > column[i]).sum()), rankings.algorithms[i])
                value = sign * float(column[i]) + 0.0
                yield Row(scope, metric, value, label=label, region=region, extra=extra)


def _plain_tables(
    study: Study, scores: Table, masks: MaskScores | None, orders: Orders, moved: Moved
) -> Iterator[DataTable]:
    """Tables with columns of their own: the cases, scores as in a paper, and distinct rankings."""
    diagonals = masks.parts[0].diagonals if masks else {}
    cases = [(case.name, case.subject, "; ".join(case.groups), diagonals.get(case.name)) for case in study]
    touched = [case.name in moved.cases for case in study]
    yield PlainTable("cases", *marked_rows(cases, ("case", "subject", "group", "diagonal"), touched))
    columns, cells = paper_table(scores)
    yield PlainTable("by_truth", *marked_rows(cells, columns, [any(touched)] * len(cells)))
    rows = [
        (label, metric, number, str(ranking), "; ".join(ranking.references))
        for (label, metric), rankings in orders.items()
        for number, ranking in enumerate(rankings.rankings, start=1)
    ]
    if rows:
        header = ("label", "metric", "ranking", "order", "truths")
        yield PlainTable("orders", *marked_rows(rows, header, [any(touched)] * len(rows)))
