"""Metrics against experts' grades, and the blinded sheet on which experts grade predictions.

Which metric finds the predictions that need correction (``grading.csv``, ``grading_roc.csv``), how often each algorithm
got each grade (``grades.csv``), and how consistent graders are; Zeng et al. 2021, 4.3 and Table 4. The sheet::

    grading/sheet.csv      code, grade, remark: to be filled in
    grading/pictures/      one picture per code
    grading/README.txt     what the grades mean
    grading/key.csv        which code is what: keep it from the grader
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...charts.curves import line_chart
from ...claims.sentences import counted, number
from ...core.columns import Column, natural_key
from ...core.errors import FormatError, InputError, few
from ...core.undefined import REASONS, Undefined, code, ratio
from ...evaluation.grade_sheets import KEY, read_grades
from ...evaluation.grading import (
    NONE_WITHIN,
    Grade,
    GradeCounts,
    GraderAgreement,
    GradeScale,
    Item,
    MetricRoc,
    Ticket,
    draw_cases,
    grade_counts,
    grader_agreement,
    make_tickets,
    metric_roc,
)
from ...inference.intervals import Interval
from ...io import write_csv, write_picture, write_text
from ...io.result_tables import Row, Table
from ...io.tables import read_table
from ...study import Study
from ..printing import grid
from ..tables import Settings
from .case_scores import EVERYBODY
from .marks import Array, CaseMarks, EvaluatePlan
from .mask_scores import MEAN, LabelScores

AREA, WITHIN = "roc_area", "roc_area_within"
ABSENT = {
    "unscored": ("grade", "of predictions without a score"),
    "undefined": ("grade", "of predictions with undefined scores"),
    "ungraded": ("prediction", "without a grade"),
}
"""What may be missing of a metric; each is a field of MetricRoc."""
APART = 0.1
"""Where areas differ by more, that over all algorithms depends on the algorithms more than on the metric."""
MOST_SHOWN = 10
"""So many metrics are printed."""
MOST_CURVES = 20
"""So many metrics are drawn, the best first."""
GRADED = ("dice", "iou", "cohen_kappa", "hausdorff_95", "mean_surface_distance", "surface_dice", "soft_accuracy")
"""Metrics that are held against the grades, beside extended Dice."""


@dataclass(frozen=True)
class Graded:
    """Metrics against experts' grades, and how consistent graders are."""

    scale: GradeScale
    rocs: tuple[MetricRoc, ...]
    """Of every metric: over all algorithms, then each; over all graders, then, where there are several, each."""
    counts: tuple[GradeCounts, ...]
    agreement: tuple[GraderAgreement, ...]
    tables: tuple[Table, Table, Table]
    """``grading``, ``grading_roc`` (the curves over all algorithms and graders) and ``grades``."""
    notes: tuple[str, ...]

    @property
    def several(self) -> bool:
        """Whether there is more than one algorithm, so that the area within them is something else."""
        return len({c.algorithm for c in self.counts}) > 1

    def whole(self) -> list[MetricRoc]:
        """Every metric over all algorithms and graders, the largest area first, undefined ones last."""
        rocs = [r for r in self.rocs if not r.algorithm and not r.grader]
        return sorted(rocs, key=lambda r: _descending(r.area))

    def within(self) -> list[MetricRoc]:
        """The same, the largest area within algorithms first."""
        return sorted(self.whole(), key=lambda r: _descending(r.within))


def _descending(area: Interval) -> float:
    return -area.value if area.value == area.value else 1.0


def read_and_grade(study: Study, part: LabelScores, plan: EvaluatePlan, settings: Settings) -> Graded:
    """The scores of all labels together against the grades of a file."""
    assert plan.grades is not None
    names = [c.name for c in study.algorithms]
    cases = [c.name for c in study]
    read = read_grades(plan.grades, cases=cases, algorithms=names, scale=plan.scale, key=plan.key)
    return grade_metrics(
        _scores_to_grade(part, study.algorithms), read.grades, names, subjects={c.name: c.subject for c in study},
        scale=plan.scale, blank=read.blank, settings=settings,
    )  # fmt: skip


def _scores_to_grade(part: LabelScores, algorithms: Sequence[Column]) -> dict[str, dict[Item, float]]:
    """Metrics by case and algorithm: against the raters on average, each other reference, and all raters together."""
    metrics: dict[str, dict[Item, float]] = {}
    for reference in [r for r in part.references if r.role != "rater"] + [MEAN]:
        for name in ("extended_dice",) if reference == EVERYBODY else GRADED:
            values = [part.case_values(a, reference, name) for a in algorithms]
            if np.isnan(np.array(values, np.float64)).all():
                continue
            known = part.fill_missing(name, values, "worst")
            keys = [(case, a.name) for a in algorithms for case in part.tallies]
            title = name if reference == EVERYBODY else f"{name} [{reference.name}]"
            metrics[title] = dict(zip(keys, [v for row in known for v in row], strict=True))
    return metrics


def grade_metrics(
    metrics: Mapping[str, Mapping[Item, float]],
    grades: Sequence[Grade],
    algorithms: Sequence[str],
    *,
    subjects: Mapping[str, str],
    scale: GradeScale | None = None,
    blank: int = 0,
    settings: Settings | None = None,
) -> Graded:
    """Every metric against the grades, with tables.

    Parameters
    ----------
    metrics
        ``{name: {(case, algorithm): value}}``. What a metric is against may stand in brackets: ``dice [vote:0.5]``.
        Where a prediction that marked nothing should count as bad, give the worst value, not nan.
    grades, blank
        As :func:`manytruths.evaluation.grade_sheets.read_grades` returns them.
    algorithms
        In the order in which they are listed.
    subjects
        The subject of each case.
    """
    scale, settings = scale or GradeScale(), settings or Settings()
    graders = list(dict.fromkeys(g.grader for g in grades))
    roc = partial(metric_roc, grades=grades, scale=scale, subjects=subjects, level=settings.level)
    rocs = tuple(
        roc(name, values, algorithm=algorithm, grader=grader)
        for name, values in metrics.items()
        for grader in ["", *(graders if len(graders) > 1 else [])]
        for algorithm in ["", *algorithms]
    )
    counts = tuple(c for g in (graders or [""]) for c in grade_counts(grades, algorithms, scale, g))
    agreement = tuple(grader_agreement(grades, scale))
    whole = [roc for roc in rocs if not roc.algorithm and not roc.grader]
    tables = _area_table(rocs), _curve_table(whole), _grade_table(counts, agreement, scale)
    return Graded(scale, rocs, counts, agreement, tables, tuple(_notes(whole, grades, blank)))


def _area_table(rocs: Sequence[MetricRoc]) -> Table:
    table = Table("grading", ("metric", "algorithm", "grader", "better", "positives", "negatives", "unscored"))
    for roc in rocs:
        extra = roc.metric, roc.algorithm, roc.grader, roc.direction, roc.positives, roc.negatives, roc.unscored
        # of one algorithm, both are the same
        for name, area in {AREA: roc.area, **({} if roc.algorithm else {WITHIN: roc.within})}.items():
            row = Row("pooled", name, area.value, extra=extra, low=area.low, high=area.high)
            row.n, row.n_undefined = roc.positives + roc.negatives, roc.undefined
            table.append(row)
    return table


def _curve_table(rocs: Sequence[MetricRoc]) -> Table:
    """The curves over all algorithms and graders."""
    table = Table("grading_roc", ("metric", "threshold"))
    for roc in rocs:
        rates = {"sensitivity": (roc.sensitivity, roc.positives), "fall_out": (roc.fall_out, roc.negatives)}
        for i, threshold in enumerate(roc.thresholds.tolist()):
            for name, (values, n) in rates.items():
                value = float(values[i]) if n else Undefined("none_of_class")
                table.append(Row("pooled", name, value, extra=(roc.metric, threshold), n=n))
    return table


def _grade_table(counts: Sequence[GradeCounts], agreement: Sequence[GraderAgreement], scale: GradeScale) -> Table:
    """Who got each grade how often, which share needs no correction, and how consistent the graders are."""
    table = Table("grades", ("algorithm", "grader", "grade", "grader_b"))
    for given in counts:
        rows = [(str(grade), "count", float(count)) for grade, count in given.counts.items()]
        rows.append(("", "no_correction", ratio(given.fine(scale), given.total, "none_graded")))
        for grade, name, value in rows:
            table.append(Row("pooled", name, value, extra=(given.algorithm, given.grader, grade, ""), n=given.total))
    for pair in agreement:
        for name, value in (("weighted_kappa", pair.kappa), ("same_grade", pair.same)):
            table.append(Row("pooled", name, value, extra=("", pair.first, "", pair.second), n=pair.n))
    return table


def _notes(whole: Sequence[MetricRoc], grades: Sequence[Grade], blank: int) -> Iterator[str]:
    """What is missing on either side, once where it is the same for every metric."""
    if blank:
        yield f"{counted(blank, 'line')} without a grade, {len(grades)} with one"
    for missing, (thing, words) in ABSENT.items():
        counts = {r.metric: getattr(r, missing) for r in whole}
        for count in sorted({n for n in counts.values() if n}, reverse=True):
            metrics = [metric for metric, n in counts.items() if n == count]
            of = "" if len(metrics) == len(counts) else f" ({few(metrics, 5)})"
            yield f"{counted(count, thing)} {words}{of}"
    # the area may come from how well the algorithms were graded as a whole, or be hidden by it
    named = [r for r in whole if abs(r.area.value - r.within.value) > APART]
    if any(code(r.within.value) == NONE_WITHIN for r in whole):
        yield f"{REASONS[NONE_WITHIN]}: areas tell algorithms apart, not their predictions"
    if not named:
        return
    shown = ", ".join(f"{r.metric} {r.area.value:.2f} and {r.within.value:.2f}" for r in named[:3])
    more = f", and {counted(len(named) - 3, 'metric')} more" if len(named) > 3 else ""
    yield (
        f"the area over all algorithms differs from that within algorithms ({shown}{more}): some algorithms were "
        "graded better as a whole; the area within shows whether a metric finds the predictions to correct"
    )


def grading_chart(graded: Graded) -> str:
    """Zeng's Fig. 5: the ROC curves of the metrics, the largest area first, as SVG."""
    shown = graded.whole()[:MOST_CURVES]
    level = round(100 * shown[0].area.level) if shown else 95
    within = ", over all; within algorithms" if graded.several else ""
    return line_chart(
        {r.metric: (r.fall_out, r.sensitivity) for r in shown},
        "share of those that need correction which pass",
        "share of those that need none which pass",
        f"Which metric finds what needs correction? Area and {level}% interval{within}",
        diagonal=True,
        notes={r.metric: _area(r.area) + (f"; {_area(r.within)}" if graded.several else "") for r in shown},
    )


def _area(area: Interval) -> str:
    value, low, high = area.value, area.low, area.high
    if value != value:
        return "undefined"
    return f"{value:.2f}" + (f" ({low:.2f}–{high:.2f})" if low == low else "")


def graded_grids(graded: Graded) -> list[Any]:
    """For the terminal: how often each algorithm got each grade, and the areas of the best metrics."""
    graders = {c.grader for c in graded.counts}
    rows = []
    for counts in graded.counts:
        who = f"{counts.algorithm}, by {counts.grader}" if len(graders) > 1 else counts.algorithm
        share = f"{counts.fine(graded.scale) / counts.total:.0%}" if counts.total else number(None)
        rows.append([who, *map(str, counts.counts.values()), str(counts.total), share])
    header = ["", *(str(n) for n in graded.scale.levels), "all", "no correction"]
    return [grid("How often each grade was given, the worst first", header, rows), _area_grid(graded)]


def _area_grid(graded: Graded) -> Any:
    every = graded.within() if graded.several else graded.whole()
    rows = [[r.metric, _area(r.area), *([_area(r.within)] if graded.several else [])] for r in every[:MOST_SHOWN]]
    level = round(100 * every[0].area.level) if every else 95
    more = f"; {counted(len(every) - MOST_SHOWN, 'metric')} more in grading.csv" if len(every) > MOST_SHOWN else ""
    title = f"Which metric finds what needs correction? ROC area ({level}% interval){more}"
    return grid(title, ["", "all together", "within algorithms"] if graded.several else ["", "area"], rows)


SHEET, README, PICTURES = "sheet.csv", "README.txt", "pictures"
WRITTEN = (SHEET, KEY, README, PICTURES)
ORANGE = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (204, 121, 167))
"""The same colours for every algorithm; several for several labels."""

WORDS = {
    4: "Good as it is. Nothing has to be corrected.",
    3: "Nearly. Small deviations of the outline can be seen; a touch or two would do.",
    2: "Clearly off. The shape is wrong in places and has to be redrawn there.",
    1: "Not usable. Large parts are missing, torn apart or in the wrong place.",
}

TEXT = """HOW TO GRADE

Every line of sheet.csv has a code, and pictures/ has a picture of that name: an image with one
outline on it. Write a grade for each outline into the column "grade", from {lowest} to {highest}:

{words}

Go from the top of the sheet to the bottom, and judge each picture by itself. Pictures come in a
random order; some may come twice. Leave a grade empty where you cannot tell, and write why into
"remark" if you like. An image without an outline is one in which nothing was found: grade that too.

Please do not look at {key}. It says where each outline comes from.

When done, save sheet.csv as CSV (UTF-8) under the same name.
"""


def plan_sheet(
    study: Study, *, seed: int = 0, repeats: float = 0.1, per_subject: int | None = None
) -> tuple[Ticket, ...]:
    """The tickets in the order of the sheet; each case's own go to :func:`draw_tickets`.

    Every prediction of a study's cases is in it, or those of ``per_subject`` random cases of each subject.
    """
    cases = draw_cases({case.name: case.subject for case in study}, per_subject, seed)
    items = [(name, c.name) for name in cases for c in study[name].predictions]
    if not items:
        raise InputError("there is no prediction to grade; give some with --predictions")
    return make_tickets(items, repeats=repeats, seed=seed)


def refuse_graded(folder: Path) -> None:
    """Refuse to write over a sheet in which somebody has filled in grades; call it before any work."""
    try:
        filled = sum(bool(row.get("grade")) for row in read_table(folder / SHEET, "code").values())
    except FormatError:
        # somebody may have worked on what cannot be read; what is not there is no loss
        filled = int((folder / SHEET).exists())
    if filled:
        raise InputError(f"{folder / SHEET}: holds grades; use it (--grades), move it away, or choose another --out")


def draw_case_sheet(whole: CaseMarks) -> bool:
    """Draw the pictures of a case's lines on the sheet; whether that was to be done without its image."""
    folder, case = whole.plan.sheet, whole.case
    tickets = [ticket for ticket in whole.plan.tickets if ticket.case == case.name]
    if not tickets or folder is None:
        return False
    image, _ = whole.reading.picture
    every = (*whole.by_rater.values(), *whole.by_algorithm.values())
    marks = np.sum([np.ma.filled(mask, False) for mask in every], axis=0)
    outlines = {c.name: {"outline": np.ma.filled(mask, False)} for c, mask in whole.by_algorithm.items()}
    draw_tickets(folder, tickets, image, outlines, where=marks, spacing=whole.reading.grid.spacing)
    return image is None


def sheet_notes(study: Study, plan: EvaluatePlan, without_image: int) -> Iterator[str]:
    """How many cases are on the sheet without their image."""
    cases = len({ticket.case for ticket in plan.tickets})
    if without_image and study.options.images is None:
        yield "there are no images: the grading sheet shows outlines on grey; give --images"
    elif without_image:
        yield (
            f"{without_image} of {counted(cases, 'case')} on the grading sheet "
            f"{'has' if without_image == 1 else 'have'} no image of the masks' size, and outlines on grey "
            "(see manytruths check)"
        )


def draw_tickets(
    folder: Path,
    tickets: Sequence[Ticket],
    image: Array | None,
    predictions: Mapping[str, Mapping[str, Array]],
    *,
    where: Array | None = None,
    spacing: Sequence[float] | None = None,
) -> list[Path]:
    """The pictures of one case, as they are called for in the pass over cases.

    Parameters
    ----------
    folder
        ``grading/``, or a stage of it.
    tickets
        The case's tickets.
    image
        Of the masks' size; None for neutral grey.
    predictions
        By algorithm, then by label: ``{"unet": {"outline": mask}}``.
    where
        Of a volume, what decides which slices are shown: all raters' and all algorithms' marks together, so that
        every algorithm is seen in the same slices, and what it missed too.
    """
    from ...charts.overlays import contour_slices

    paths = []
    # in the order of the codes: the times of the files must not tell the algorithms apart
    for ticket in sorted(tickets, key=lambda t: t.code):
        outlines = predictions[ticket.algorithm]
        colours = [ORANGE[i % len(ORANGE)] for i in range(len(outlines))]
        picture = contour_slices(image, outlines, where=where, spacing=spacing, title=ticket.code, colours=colours)
        paths.append(folder / PICTURES / f"{ticket.code}.png")
        write_picture(paths[-1], picture)
    return paths


def write_sheet(folder: Path, every: Sequence[Ticket], scale: GradeScale | None = None) -> list[Path]:
    """``sheet.csv``, ``key.csv`` and ``README.txt``.

    Do not list what this returns among a run's files: a later run would remove the sheet, grades and all.
    """
    refuse_graded(folder)
    paths = [folder / name for name in (SHEET, KEY, README)]
    write_csv(paths[0], ((t.code, None, None) for t in every), ("code", "grade", "remark"))
    key = sorted(every, key=lambda t: (natural_key(t.case), t.algorithm, t.showing))
    header = "code", "case", "algorithm", "showing"
    write_csv(paths[1], ((t.code, t.case, t.algorithm, t.showing) for t in key), header)
    write_text(paths[2], grading_instructions(scale or GradeScale()))
    return paths


def grading_instructions(scale: GradeScale) -> str:
    """What the grader reads."""
    if scale == GradeScale():
        words = WORDS
    else:
        between = "In between: has to be corrected, the lower the more."
        words = {n: WORDS[4] if n >= scale.best else between for n in scale.levels} | {scale.lowest: WORDS[1]}
    listed = "\n".join(f"  {n}  {words[n]}" for n in reversed(scale.levels))
    return TEXT.format(lowest=scale.lowest, highest=scale.highest, words=listed, key=KEY)
