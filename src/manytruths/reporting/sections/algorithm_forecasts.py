"""Probability maps and samples as forecasts of what raters mark: scores beside what raters reach, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...analyses.evaluate.case_scores import EVERYBODY, NAMES
from ...analyses.evaluate.forecast_scores import ForecastScores
from ...analyses.evaluate.forecasts import ANOTHER, OTHER_MASKS, OTHERS, SHARE
from ...analyses.evaluate.mask_scores import MEAN
from ...claims.numbers import number_cell
from ...claims.sentences import Cell, Sentence, text_cell
from ...io import safe_name
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs
from ..findings import Findings
from .algorithm_scores import MOST_DRAWN, SCORES, algorithm_cell

REACH = "evaluate/reach.csv"
CLAIMS = ("probability.confidence", "probability.frequency", "probability.spread")
"""What is said first, and in the summary."""
MOST_SENTENCES = 4
"""Most algorithms of which it is said how often raters mark where they give 80%."""
AGAINST_RATERS = {
    "brier": "Mean squared difference of the probability from what the rater marked, over all pixels; 0 at best",
    "brier_union": "The same over the pixels that any rater marked",
    "energy_distance_unbiased_samples": "Twice the mean 1 − IoU of a sample and the rater's mask, less that of two "
    "samples",
    "crps_volume": "Error of the area or volume, less half the spread of its forecast; 0 at best",
}
"""Scores against every rater in turn."""
AGAINST_SHARE = {
    "soft_dice": "Agreement of the map and the vote share over thresholds; 1 at best",
    "expected_calibration_error": "How far what it says lies from how often raters marked, over all cases; 0 at best",
}
"""Scores against the vote share."""
OF_SAMPLES = {
    "energy_distance": "From 0 (the samples are what the raters drew) to 2; it falls with the number of samples",
    "energy_distance_unbiased_samples": "The same for any number of samples",
    "matched_iou": "IoU of samples and raters, matched one to one as well as possible; 1 at best",
    "d_max": "Dice of each rater with the best of the same number of samples; 1 at best",
    "sample_diversity": "Mean 1 − IoU of two samples: it should be that of two raters",
    "rater_diversity": "Mean 1 − IoU of two raters",
}
"""Scores against all raters together."""
WHO_REACHES = {
    OTHERS.name: "the other raters' vote share",
    ANOTHER.name: "another rater",
    OTHER_MASKS.name: "the other raters' masks",
}
Rows = dict[tuple[str, str, str, str], tuple[str, Row]]
"""File and row by label, who, against and statistic."""


def forecast_sentences(findings: Findings, *kinds: str) -> Iterator[Sentence]:
    """What is said of forecasts, by claims."""
    few = len(findings.study.algorithms) <= MOST_SENTENCES
    wanted = kinds or (("probability.says", *CLAIMS) if few else CLAIMS)
    if findings.evaluation is not None:
        yield from findings.evaluation.claims.sentences(*wanted)


def forecast_blocks(findings: Findings) -> Iterator[Block]:
    """Scores beside the raters' own, and a reliability diagram of each algorithm."""
    found = findings.evaluation.forecast_scores if findings.evaluation else None
    if found is None or not found.scores.rows:
        return
    rows = _rows(found)
    yield Paragraphs(((_explain(found),),))
    yield from _against_raters(findings, found, rows)
    yield from _of_samples(findings, found, rows)
    yield from _diagrams(findings, found)


def _explain(found: ForecastScores) -> str:
    maps = ""
    if found.bins:
        what = (
            "The share of an algorithm's samples that mark a pixel stands for the probability that a rater marks it. It"
            if found.shares
            else "A probability map says how likely a rater is to mark each pixel. It"
        )
        maps = (
            f"{what} is held against every rater in turn, and so is what the other raters would have said: the share "
            "of them who marked. "
        )
    samples = (
        "Samples are masks that an algorithm drew of a case; they should differ from each other as the raters do. "
        if any(by_case for by_label in found.samples.values() for by_case in by_label.values())
        else ""
    )
    return f"{maps}{samples}Lower is better, unless 1 is said to be best."


def _rows(found: ForecastScores) -> Rows:
    rows: Rows = {}
    for file, table, column in ((SCORES, found.scores, "algorithm"), (REACH, found.reach, "forecast")):
        for row in table.rows:
            scope = "pooled" if row.statistic == "expected_calibration_error" else "mean"
            if row.scope == scope and not row.group:
                rows[row.label, str(row[column]), str(row["against"]), row.statistic] = file, row
    return rows


def _against_raters(findings: Findings, found: ForecastScores, rows: Rows) -> Iterator[PageTable]:
    """Against every rater in turn: each algorithm, then what the raters reach."""
    metrics = {(MEAN.name, name): help for name, help in AGAINST_RATERS.items()}
    metrics |= {(SHARE.name, name): help for name, help in AGAINST_SHARE.items()}
    names = [column.name for column in findings.study.algorithms]
    yield from _table(
        findings, "algorithm-forecasts", "As forecasts of what each rater marks, beside what the raters reach", found,
        rows, metrics, [*names, *WHO_REACHES],
        f"Means over {findings.subject_word}s and raters, each in turn; soft Dice and calibration by the vote share.",
    )  # fmt: skip


def _of_samples(findings: Findings, found: ForecastScores, rows: Rows) -> Iterator[PageTable]:
    metrics = {(EVERYBODY.name, name): help for name, help in OF_SAMPLES.items()}
    names = [column.name for column in findings.study.algorithms]
    title = "Samples against all raters"
    yield from _table(findings, "algorithm-samples", title, found, rows, metrics, names, "")


def _table(
    findings: Findings, name: str, title: str, found: ForecastScores, rows: Rows,
    metrics: dict[tuple[str, str], str], names: Iterable[str], note: str,
) -> Iterator[PageTable]:  # fmt: skip
    """A row for each label and forecast that has any of the metrics."""
    items = [
        (part.label, who)
        for part in found.parts
        for who in names
        if any((part.label, who, *metric) in rows for metric in metrics)
    ]
    there = [metric for metric in metrics if any((*item, *metric) in rows for item in items)]
    if not there:
        return

    def value(metric: tuple[str, str]) -> Callable[[tuple[str, str]], Cell]:
        def cell(item: tuple[str, str]) -> Cell:
            place = rows.get((*item, *metric))
            return text_cell("") if place is None else number_cell(*place, 3)

        return cell

    columns: list[ColumnOf[tuple[str, str]]] = [
        (text_column("Label", "What was marked"), lambda item: text_cell(item[0])),
        (
            text_column("Forecast", "An algorithm, or what the raters would have said"),
            lambda item: _who(findings, item[1]),
        ),
        *((Column(_title(rows, items, metric), metrics[metric]), value(metric)) for metric in there),
    ]
    yield make_table(name, title, items, columns if len(found.parts) > 1 else columns[1:], note)


def _who(findings: Findings, name: str) -> Cell:
    return text_cell(WHO_REACHES[name]) if name in WHO_REACHES else algorithm_cell(findings, name)


def _title(rows: Rows, items: Iterable[tuple[str, str]], metric: tuple[str, str]) -> str:
    """``Brier score``, ``CRPS of the volume, ml``."""
    name = NAMES[metric[1]]
    units = {rows[*item, *metric][1].unit for item in items if (*item, *metric) in rows} - {"", None}
    return f"{name[0].upper()}{name[1:]}{f', {units.pop()}' if len(units) == 1 else ''}"


def _diagrams(findings: Findings, found: ForecastScores) -> Iterator[Block]:
    assert findings.evaluation is not None
    svgs = findings.evaluation.charts
    of_map = "how often raters marked where it gives each probability", "On the diagonal it says what is the case."
    of_samples = (
        "how often raters marked by the share of its samples that mark",
        "With few samples the line is flatter than the diagonal, also where samples are drawn as raters draw.",
    )
    band = (
        f"Band: {findings.interval_name} over {findings.subject_word}s, of one bin alone, from ten "
        f"{findings.subject_word}s on."
    )
    names = [(label, who) for label, who, whom, region in found.bins if (whom, region) == (SHARE.name, "image")]
    charts = []
    for label, who in names[:MOST_DRAWN]:
        name = f"calibration-{safe_name(who)}{f'-{safe_name(label)}' if label else ''}"
        if name in svgs:
            marked, diagonal = of_samples if who in found.shares else of_map
            about = f"{who}, {label}" if label else who
            caption = (
                f"{about}: {marked}, with all raters together as a line and single raters faint. {diagonal} {band}"
            )
            charts.append(Chart(f"evaluate-{name}", svgs[name], caption))
    yield from (Beside(tuple(charts[i : i + 2])) for i in range(0, len(charts), 2))
