"""The command ``demo``: a simulated study, analysed, reported, and compared with its known truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .agreement import dice
from .analyses.agree.agree import Agreement
from .analyses.agree.case import MapOptions
from .analyses.agree.presentation import print_agreement
from .analyses.evaluate.evaluate import Evaluation
from .analyses.evaluate.printing import order_grids, rater_grids
from .analyses.fuse.fuse import Fusion
from .analyses.printing import grid, with_interval
from .analyses.tables import Settings, subject_word
from .claims.sentences import number
from .core.columns import Column
from .core.errors import CallError, InputError
from .core.tally import Tally, pool
from .core.undefined import reason
from .fusion import staple, vote
from .io import write_csv, write_map, write_picture, write_text
from .io.result_tables import Row, Table
from .io.results import RUN, replacing
from .raters import rater_performance, rater_tendency
from .reporting.findings import Findings, ReportPlan, compute_findings
from .reporting.report import render_page, write_tables
from .simulate import SimulatedRater, SimulatedStudy, simulate_study
from .simulate.studies import SimulatedCase
from .study import Progress, Study

if TYPE_CHECKING:
    from rich.console import Console

TRUTH = "truth"
SMALLEST = 64
"""Pixels along a side of an image."""
OURS = ("study", "known", "contours", "report.html", "report_files", "agree/truth.csv", RUN)
"""What a demo writes beside the folders of results, which list their files themselves."""

STUDY_TOML = """\
# A simulated study: five raters, four groups, one rater reads twice, one is absent from a few cases.
masks = "masks/{rater}/{session}/{case}.png"
images = "images/{case}.png"
ranks = "ranks/{rater}/{session}/{case}.png"
cases = "cases.csv"
raters = "raters.csv"
"""


@dataclass(frozen=True)
class Demo:
    """The simulated study of a demo and its results."""

    folder: Path
    agreement: Agreement
    fusion: Fusion
    raters: tuple[SimulatedRater, ...]
    truth: Table
    evaluation: Evaluation
    program: str = "manytruths"
    """How the command is called: with its folder, if that is not on the path."""

    def print(self, console: Console) -> None:
        """Print the analysis, and how close it came to the truth."""
        print_agreement(self.agreement, console)
        console.print()
        for part in (_consensus_grid(self.fusion), _rater_grid(self)):
            console.print(part)
        for sentence in _sentences(self):
            console.print(sentence, highlight=False)
        console.print()
        for part in (*rater_grids(self.evaluation), *order_grids(self.evaluation)):
            console.print(part)
        places = (
            f"\nthe report:  {self.folder}/report.html  (open it in a browser)",
            f"the study:   {self.folder}/study  (masks, images, ranks, study.toml)",
            f"the tables:  {self.folder}/agree, fuse, evaluate, rank, plan",
            f"to look at:  {self.folder}/agree/heatmaps, {self.folder}/contours, {self.folder}/evaluate/charts",
            f"next:        {self.program} report {self.folder}/study --predictions "
            f"'{self.folder}/study/predictions/{{algorithm}}/{{case}}.png'",
        )
        for place in places:
            console.print(place, highlight=False, markup=False, soft_wrap=True)


def demo(
    folder: Path, *, cases: int = 24, size: int = 256, seed: int = 0, jobs: int = 1, progress: Progress | None = None
) -> Demo:
    """Simulate a study, analyse it and compare the estimates with the truth.

    All arguments are checked before a file is touched.

    Parameters
    ----------
    folder : Path
        Where the study and the results are written; a demo that is there is replaced.
    cases : int
        Number of images.
    size : int
        Pixels along each side of an image, 64 or more.
    seed : int
        Seed of the simulation and of resampling.
    jobs : int
        Number of worker processes.
    progress : callable, optional
        Called with the number of cases done and of all cases.

    Returns
    -------
    Demo
        The simulated raters, and the results.
    """
    if size < SMALLEST:
        raise CallError(f"size is {size}; a lesion needs images of {SMALLEST} pixels or more along a side")
    settings = Settings(seed=seed, jobs=jobs)
    simulated = simulate_study(cases, size, seed)
    _refuse_others(folder)
    run: dict[str, Any] = {"jobs": jobs}
    with replacing(folder, ours=OURS, run=run) as (stage,):
        _write_tables(simulated, stage / "study")
        for case in simulated:
            _write_case(case, stage)
        findings = _report(stage, settings, progress)
        # the page names the folder of the study, which moves to its place when all is written
        write_text(stage / "report.html", render_page(findings).replace(escape(str(stage)), escape(str(folder))))
        run["seconds_by_step"] = findings.seconds
        truth = truth_table(stage, jobs)
        truth.write(stage / "agree")
    assert findings.evaluation is not None
    return Demo(folder, findings.agreement, findings.fusion, simulated.raters, truth, findings.evaluation)


def _refuse_others(folder: Path) -> None:
    """Refuse a folder whose study is not one that a demo wrote."""
    there = [name for name in ("study", "known", "contours") if (folder / name).exists()]
    mark = folder / "study" / "study.toml"
    if there and (not mark.is_file() or mark.read_text(encoding="utf-8", errors="replace") != STUDY_TOML):
        raise InputError(f"{folder}: holds {', '.join(there)} of something else; choose another folder with --out")


def _report(folder: Path, settings: Settings, progress: Progress | None) -> Findings:
    """Analyse everything in one pass; algorithms are evaluated against raters, consensus and the truth."""
    study = Study.open(
        folder / "study",
        predictions=str(folder / "study" / "predictions" / "{algorithm}" / "{case}.png"),
        reference=str(folder / "known" / "{reference}" / "{case}.png"),
    )
    plan = ReportPlan(maps=MapOptions(folder / "agree" / "heatmaps"), title="The demo: a simulated study")
    findings = compute_findings(study, plan, folder / "report_files", settings=settings, progress=progress)
    write_tables(findings, folder, pictures=True)
    return findings


def _write_case(case: SimulatedCase, folder: Path) -> None:
    from PIL import Image

    from .charts import contour_overlay, rater_colours

    study = folder / "study"
    write_picture(study / "images" / f"{case.name}.png", Image.fromarray(case.image))
    write_map(folder / "known" / TRUTH / f"{case.name}.png", case.truth.astype(np.uint8))
    for (rater, session), marking in case.readings.items():
        write_map(study / "masks" / rater / session / f"{case.name}.png", marking.mask.astype(np.uint8))
        write_map(study / "ranks" / rater / session / f"{case.name}.png", marking.ranks)
    for algorithm, mask in case.predictions.items():
        write_map(study / "predictions" / algorithm / f"{case.name}.png", mask.astype(np.uint8))
    outlines = {rater: m.mask for (rater, session), m in case.readings.items() if session == "1"}
    drawn = contour_overlay(
        case.image,
        outlines | {TRUTH: case.truth},
        title=case.name,
        subtitle=case.group,
        colours=[*rater_colours(len(outlines)), (255, 255, 255)],
    )
    write_picture(folder / "contours" / f"{case.name}.png", drawn)


def _write_tables(simulated: SimulatedStudy, study: Path) -> None:
    rows = [(name, simulated.subjects[name], simulated.groups[name]) for name in simulated.names]
    write_csv(study / "cases.csv", rows, ("case", "subject", "histology"))
    write_csv(study / "raters.csv", [(r.name, r.expertise) for r in simulated.raters], ("rater", "expertise"))
    write_text(study / "study.toml", STUDY_TOML)


def truth_table(folder: Path, jobs: int) -> Table:
    """Estimates beside the true values: consensus against truth, raters' rates and areas."""
    study = Study.open(folder / "study", predictions=str(folder / "known" / "{algorithm}" / "{case}.png"))
    whole = pool(study.tally(jobs=jobs))
    table = Table(TRUTH, ("rater", "source"))
    table.add(_consensus_rows(whole))
    for statistic, source, values in _rater_values(whole):
        for rater, value in zip(whole.rater_names, values, strict=True):
            table.append(Row("pooled", statistic, float(value), region=whole.region, extra=(rater, source)))
    return table


def _rater_values(whole: Tally) -> Iterator[tuple[str, str, Iterable[float]]]:
    """A statistic, where it comes from, and its value for every rater."""
    others, known = rater_performance(whole, "others"), rater_performance(whole, TRUTH)
    for source, rates in (("against_others", others), ("staple", staple(whole, prior="estimated")), (TRUTH, known)):
        yield "sensitivity", source, rates.sensitivity
        yield "specificity", source, rates.specificity
    yield "relative_area", "against_others", rater_tendency(whole).relative_area
    yield "relative_area", TRUTH, _true_areas(whole)
    yield "dice", TRUTH, known.dice


def _consensus_rows(whole: Tally) -> list[Row]:
    hard = {"vote:0.5": vote(whole).hard, "staple": staple(whole, prior="estimated").hard}
    rows = []
    for name, marked in hard.items():
        both = whole.append(Column(name, "reference"), marked.astype(np.uint8)).pair(name, TRUTH)
        rows.append(Row("pooled", "dice", dice(both), region=whole.region, extra=("", name)))
    return rows


def _true_areas(whole: Tally) -> list[float]:
    """Each rater's area relative to the true one, over the pixels that they rated."""
    tables = [whole.pair(whole.columns[i], TRUTH) for i in whole.raters]
    pairs = [t.restrict((t.patterns != 255).all(axis=1)) for t in tables]
    areas = [[int(t.counts[t.patterns[:, k] == 1].sum()) for k in (0, 1)] for t in pairs]
    return [area / true if true else float("nan") for area, true in areas]


def _consensus_grid(fusion: Fusion) -> Any:
    """The consensuses and the best rater against the truth, by the unit that the page goes by."""
    means, best = _reached(fusion), _best_rater(fusion)
    rows = [[method, with_interval(row), str(row.n)] for method, row in means.items()]
    if best is not None:
        rows.append([f"the rater with the highest mean ({best['rater']})", with_interval(best), str(best.n)])
    title = f"How close did the consensus come to the truth? (mean over {subject_word(fusion.study)}s)"
    return grid(title, ["", "Dice to the truth", "n"], rows)


def _scores(fusion: Fusion) -> list[Row]:
    """Mean Dice of raters and consensuses with the truth."""
    return [r for r in fusion.tables["reference_scores"].all("dice", "mean") if not r.group and r["against"] == TRUTH]


def _reached(fusion: Fusion) -> dict[str, Row]:
    """Mean Dice with the truth by consensus method."""
    return {str(row["method"]): row for row in _scores(fusion) if row["method"]}


def _best_rater(fusion: Fusion) -> Row | None:
    known = [row for row in _scores(fusion) if row["rater"] and not reason(row.value)]
    return max(known, key=lambda row: row.value, default=None)


def _rater_grid(result: Demo) -> Any:
    rows = []
    for rater in result.raters:

        def value(statistic: str, source: str, name: str = rater.name) -> str:
            return number(result.truth.find(statistic, rater=name, source=source).value, 2)

        sizes = [value("relative_area", "against_others"), value("relative_area", TRUTH), f"{rater.bias:+.1f}"]
        rates = [value("sensitivity", s) for s in ("against_others", "staple", TRUTH)]
        rows.append([rater.name, *rates, *sizes])
    header = ["", "sens., others", "sens., STAPLE", "sens., true", "area, others", "area, true", "drawn outward (px)"]
    return grid("How close did the estimates of the raters come? (all cases pooled)", header, rows)


def _sentences(result: Demo) -> Iterator[str]:
    """What the tables mean, in words."""
    assert result.agreement.raters is not None
    reached = _reached(result.fusion)
    if reached["staple"].value < reached["vote:0.5"].value:
        yield (
            "STAPLE fits its rates to whole images, which are nearly all background, and so favours raters who mark "
            "more: a plain vote can come closer."
        )
    careless = max(result.raters, key=lambda r: r.jitter + r.miss + r.false_alarm)
    outliers = [claim.about for claim in result.agreement.claims.of("raters.outlier").made]
    ending = (
        "was detected as an outlier."
        if careless.name in outliers
        else f"was not detected; outliers: {', '.join(outliers) or 'none'}."
    )
    yield f"{careless.name} was simulated as careless and {ending}"
