"""Words and phrases that sections share: counts, lists, names of statistics, units and consensus methods, notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...analyses.evaluate.case_scores import NAMES
from ...claims.agreement import SCALES, level_words, size_difference
from ...claims.numbers import TableIndex, is_defined
from ...claims.sentences import Cell, Sentence, join_names, join_parts, spell_count, text_cell
from ...core.undefined import code_of
from ...io.result_tables import Row
from ..building import ColumnOf, text_column
from ..elements import Column, Paragraphs
from ..findings import Findings
from .standards import consensus_methods, given_references, standard_name

DISTANCE_TITLES = {
    "hausdorff_95": "95% Hausdorff distance",
    "hausdorff": "Hausdorff distance",
    "mean_surface_distance": "Mean surface distance",
    "surface_dice": "Surface Dice",
}
DISTANCE_MEANINGS = {
    "hausdorff_95": "95% of each of two outlines lie within this distance of the other.",
    "hausdorff": "The largest distance of a point of one outline to the other; a single stray pixel can set it.",
    "mean_surface_distance": "Distance of a point of one outline to the other, on average over both.",
    "surface_dice": "Share of two outlines that lies within the tolerance of the other: 1 means all of it.",
}

TITLES = {
    "fleiss_kappa": "Fleiss' kappa",
    "fleiss_kappa_modified_background": "Fleiss' kappa, as much background as marks",
    "krippendorff_alpha": "Krippendorff's alpha",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha, labels in order",
    "krippendorff_alpha_interval": "Krippendorff's alpha, labels as numbers",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "gwet_ac1": "Gwet's AC1",
    "pabak": "PABAK",
    "percent_agreement": "Percent agreement",
    "positive_agreement": "Positive agreement",
    "negative_agreement": "Negative agreement",
    "unanimous": "Marked by all",
    "dice": "Dice, mean of pairs",
    "iou": "IoU, mean of pairs",
    "volume_difference": "Relative volume difference, mean of pairs",
    "volume_difference_both_marked": "Relative volume difference where both marked, mean of pairs",
    **{name: f"{title}, mean of pairs" for name, title in DISTANCE_TITLES.items()},
    "heatmap_score": "Shared votes (heatmap score)",
    "ranking_heatmap_score": "Severity score (ranking heatmap)",
    "prevalence_index": "Prevalence index",
    "smyth_bound": "Smyth's error bound",
}
"""Titles of the statistics of all raters."""

MEANINGS = {
    "fleiss_kappa": "Agreement of all raters beyond what chance would give: 1 is full agreement, 0 is chance.",
    "fleiss_kappa_modified_background": "The same with only as much background as was marked: it does not depend on "
    "how large the images are.",
    "krippendorff_alpha": "The same idea, for gaps in the data too; below 0.667 its author draws no conclusions.",
    "krippendorff_alpha_ordinal": "Alpha where a label one step away counts as a smaller disagreement.",
    "krippendorff_alpha_interval": "Alpha where labels are numbers, and disagreements grow with their difference.",
    "cohen_kappa": "Agreement of two raters beyond chance, averaged over all pairs of raters.",
    "gwet_ac1": "Beyond chance too, but it stays high where one label covers nearly everything.",
    "pabak": "Percent agreement on the scale of a kappa: it takes all labels for equally common.",
    "percent_agreement": "How often two raters give a pixel the same label. High wherever one label covers most "
    "pixels.",
    "positive_agreement": "Where one rater marked, the chance that another marked as well.",
    "negative_agreement": "Where one rater left a pixel unmarked, the chance that another did so too.",
    "unanimous": "Of the pixels that any rater marked, the share that all raters marked.",
    "dice": "Overlap of two masks: 1 means identical, 0 no common pixel.",
    "iou": "Intersection of two masks over their union; stricter than Dice.",
    "volume_difference": "Difference of the sizes of two masks over their mean; 200% where one is empty. Pooled, "
    "larger and smaller masks of different cases cancel.",
    "volume_difference_both_marked": "The same over the pairs of raters who both marked something.",
    **DISTANCE_MEANINGS,
    "heatmap_score": "Where any rater marked, the votes of a pixel over the most votes of any pixel, on average. "
    "Not agreement: it is 1 where a single rater marked.",
    "ranking_heatmap_score": "The same, weighted by the ranks of severity that raters gave.",
    "prevalence_index": "Near 1 where one label covers nearly everything: kappa is then lower for the same agreement.",
    "smyth_bound": "Raters who disagree this much are wrong at least so often, on average over them, whatever the "
    "reference standard.",
}
"""Meanings of the statistics, for clinicians."""

SHARES = ("percent_agreement", "unanimous", "volume_difference", "volume_difference_both_marked", "smyth_bound")
"""Statistics that are shown as percentages."""


def in_items(findings: Findings, text: str) -> str:
    """A text about pixels, with voxels in their place where the study is of volumes."""
    small, capital = findings.pixel_word, findings.pixel_word.capitalize()
    return re.sub(r"\bpixel(?=s?\b)", small, re.sub(r"\bPixel(?=s?\b)", capital, text))


def statistic_title(findings: Findings, statistic: str) -> str:
    """The title of a statistic of all raters; sizes of pixels are areas."""
    title, name = TITLES[statistic], size_difference(findings.pixel_word).capitalize()
    if statistic == "volume_difference":
        name = size_difference_title(findings)
    title = title.replace("Relative volume difference", name)
    row = findings.table("agree/agreement").row(statistic)
    unit = row.unit if row is not None else ""
    return title.replace(", mean of pairs", f" in {unit}, mean of pairs") if unit else title


def size_difference_title(findings: Findings, *tables: TableIndex) -> str:
    """``Relative area difference (empty: 200%)`` where that counts: text and summary leave such pairs out."""
    counts = any(r.value == ONE_EMPTY for t in tables for r in t.all("volume_difference", "case", label=None))
    convention = " (empty: 200%)" if counts or some_empty(findings) else ""
    return size_difference(findings.pixel_word).capitalize() + convention


ONE_EMPTY = 2.0
"""The relative difference of two sizes of which one is 0, and of no others."""


def some_empty(findings: Findings) -> bool:
    """Whether some raters marked nothing where others did, so that differences of size have a convention."""
    table = findings.table("agree/agreement")
    every, both = (table.row(f"volume_difference{part}") for part in ("", "_both_marked"))
    return is_defined(every) and is_defined(both) and (every.value, every.n) != (both.value, both.n)


def meaning(findings: Findings, statistic: str) -> str:
    """What a statistic of all raters means."""
    return distance_meaning(findings, statistic) if statistic in DISTANCE_TITLES else _meaning(findings, statistic)


def _meaning(findings: Findings, statistic: str) -> str:
    return in_items(findings, MEANINGS[statistic])


def distance_meaning(findings: Findings, statistic: str) -> str:
    """What a distance means; that of surface Dice with its tolerance."""
    text = _meaning(findings, statistic)
    within = rater_tolerances(findings) if statistic == "surface_dice" else []
    return f"{text.removesuffix('.')} (tolerance: {join_names(within)})." if within else text


def rater_tolerances(findings: Findings) -> list[str]:
    """The tolerances of surface Dice, by label, with the unit; none where distances were not measured."""
    rows = findings.table("agree/agreement").table.all("surface_tolerance", "pooled")
    known = [row for row in rows if is_defined(row)]
    return [f"{row.value:.3g} {_unit(row)}" + (f" for {row.label}" if row.label else "") for row in known]


def _unit(row: Row) -> str:
    return row.unit.removesuffix("s") if row.value == 1 else row.unit


def with_unit(title: str, rows: Iterable[Row]) -> str:
    """``Hausdorff distance, mm``, where all rows have the same unit."""
    units = {row.unit for row in rows}
    unit = units.pop() if len(units) == 1 else ""
    return f"{title}, {unit}" if unit else title


def rater_cell(findings: Findings, rater: str) -> Cell:
    """The name of a rater in their colour; sessions have the colour of their rater."""
    return Cell(rater, colour=findings.colours.get(rater) or findings.colours.get(rater.rpartition("@")[0], ""))


def scale_name(findings: Findings) -> str:
    """The authors of the scale of words for kappa."""
    return SCALES[findings.settings.kappa_scale]


def level_column(findings: Findings) -> ColumnOf[Row]:
    """The levels that the confidence interval of a kappa covers, in words; empty where it has none."""
    help = (
        f"Levels that the {findings.interval_name} covers, by the scale of {scale_name(findings)}: a convention. With "
        "another amount of background they could be others."
    )
    scale, raters = findings.settings.kappa_scale, len(findings.study.rater_names)
    return text_column("Level", help), lambda row: text_cell(level_words(row, scale, raters))


def pooled_column(findings: Findings, title: str = "Pooled") -> Column:
    """A column of numbers of all cases together."""
    return Column(title, f"All cases as if they were one: every {findings.pixel_word} counts the same.")


def rater_names(findings: Findings, raters: Iterable[str]) -> Sentence:
    """``rater A, rater B and rater C``."""
    return join_parts([("rater ", rater_cell(findings, rater)) for rater in raters])


def spelled_interval(findings: Findings) -> str:
    """The first mention of an interval: ``95% confidence interval, CI,``."""
    return findings.interval_name.replace("CI", "confidence interval, CI,")


def mean_over(findings: Findings, means: Iterable[Row]) -> str:
    """``mean over 21 patients``, or ``mean over patients`` where not all of the means are over all of them."""
    subjects, each = len(findings.study.subjects), findings.subject_word
    if subjects == 1:
        return f"one {each}"
    every = all(row.n == subjects for row in means if is_defined(row))
    return f"mean over {spell_count(subjects, each)}" if every else f"mean over {each}s"


def sd_column(findings: Findings, title: str = "SD") -> Column:
    """A column of standard deviations."""
    return Column(title, f"Standard deviation between {findings.subject_word}s.")


# --- notes

SHOWN_ELSEWHERE = frozenset({
    "metrics_chosen", "no_subjects", "vote_of_half", "vote_of_two", "too_few_raters", "fewer_tests", "kendall_tau",
    "krippendorff_rule", "outliers", "exchangeable", "possible_copy", "edits", "second_look",
})  # fmt: skip
"""Codes of notes that the page states elsewhere, or that are about options."""

REWORDINGS = (
    (
        r"overall: the mean of ranks over the references.*",
        "ranks are averaged over the reference standards used",
    ),
    (r"surface Dice at a tolerance of (.*)", r"surface Dice takes outlines within \1 of each other for the same"),
    (r" \(\|I\|/\|O\|\)", ""),
    (r" \(--[^()]*\)", ""),
    (r"; give a tolerance$", ""),
    (r"\bHolm p\b", "adjusted p"),
)
"""Technical phrases of notes, and their plain replacements."""


def note_sentences(findings: Findings, notes: Iterable[str]) -> Iterator[str]:
    """Notes as sentences, without those that the page states elsewhere."""
    for note in notes:
        if code_of(note) not in SHOWN_ELSEWHERE:
            text = plain_note(findings, note)
            start = text[:1] if text.startswith(_proper_names(findings)) else text[:1].upper()
            yield start + text[1:] + ("" if text.endswith((".", "?")) else ".")


def note_block(findings: Findings, notes: Iterable[str], title: str) -> Iterator[Paragraphs]:
    """A list of the notes that are not among those on agreement."""
    others = (note for note in notes if note not in findings.agreement.notes)
    if sentences := tuple((note,) for note in note_sentences(findings, others)):
        yield Paragraphs(sentences, title, listed=True, kind="note")


def _proper_names(findings: Findings) -> tuple[str, ...]:
    """Names that are never capitalised."""
    study = findings.study
    return (*(str(column) for column in study.algorithms), *given_references(study), *study.rater_names)


def plain_note(findings: Findings, note: str) -> str:
    """A note without options and names of columns."""
    note = in_items(findings, re.sub(r"\bitem(?= was marked| was rated)", "pixel", note))
    for pattern, words in REWORDINGS:
        note = re.sub(pattern, words, note)
    for method in consensus_methods(findings):
        note = re.sub(rf"(?<![\w:.]){re.escape(method)}(?!\w|:\w|\.\d)", standard_name(findings, method), note)
    for metric, name in NAMES.items():
        note = re.sub(rf"\b{metric}(?= against| over | \d| the )|(?<=^By ){metric}(?=, )", name, note)
    return note
