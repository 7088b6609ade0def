"""Words that every part of the page shares: counts, lists, levels, names of statistics."""

from __future__ import annotations

from collections.abc import Sequence

from ...agreement import level
from ...analyses.plan.topics import word
from ...analyses.rows import Row
from ...core.undefined import reason
from ..findings import Findings
from ..parts import Cell, Column, Sentence

SCALES = {
    "landis_koch": "Landis and Koch",
    "fleiss": "Fleiss",
    "altman": "Altman",
    "shrout": "Shrout",
}
"""Whose words for a kappa they are."""

TITLES = {
    "fleiss_kappa": "Fleiss' kappa",
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
    "volume_difference": "Size differs by, mean of pairs",
    "heatmap_score": "Shared votes (heatmap score)",
    "ranking_heatmap_score": "Severity score (ranking heatmap)",
    "prevalence_index": "Prevalence index",
    "smyth_bound": "Smyth's error bound",
}
"""How the statistics of all raters together are called."""

MEANINGS = {
    "fleiss_kappa": "Agreement of all raters beyond what chance would give: 1 is full agreement, 0 is chance.",
    "krippendorff_alpha": "The same idea, for gaps in the data too; below 0.667 its author draws no conclusions.",
    "krippendorff_alpha_ordinal": "Alpha where a label one step away counts as a smaller disagreement.",
    "krippendorff_alpha_interval": "Alpha where labels are numbers, and disagreements grow with their difference.",
    "cohen_kappa": "Agreement of two raters beyond chance, averaged over all pairs of raters.",
    "gwet_ac1": "Beyond chance too, but it stays high where one label covers nearly everything.",
    "pabak": "Percent agreement on the scale of a kappa: it takes all labels for equally common.",
    "percent_agreement": "How often two raters say the same of a place. High wherever one label covers most places.",
    "positive_agreement": "Where one rater marked, the chance that another marked as well.",
    "negative_agreement": "Where one rater left a place unmarked, the chance that another did so too.",
    "unanimous": "Of everything that anybody marked, the share that all raters marked.",
    "dice": "How far two drawings overlap: 1 is the same drawing, 0 no common place.",
    "iou": "What two drawings share, of all that either covers; stricter than Dice.",
    "volume_difference": "By how much the sizes of two drawings differ, of their mean; 200% where one is empty.",
    "heatmap_score": "Inside what anybody marked, the votes of a place over the most that any place has, on average. "
    "Not agreement: it is 1 where a single rater marked.",
    "ranking_heatmap_score": "The same, with marks weighed by the rank of severity that raters gave them.",
    "prevalence_index": "Near 1 where one label covers nearly everything: kappa is then lower for the same agreement.",
    "smyth_bound": "Raters who disagree this much must be wrong at least so often, whatever the truth.",
}
"""The same in a line for clinicians."""

SHARES = ("percent_agreement", "unanimous", "volume_difference", "smyth_bound")
"""What is shown as a percentage."""


def spell_count(number: int, thing: str, things: str = "") -> str:
    """``five raters``, ``one case``, ``24 cases``.

    >>> count(1, "case"), count(3, "study", "studies"), count(24, "case")
    ('one case', 'three studies', '24 cases')
    """
    return f"{word(number)} {thing if number == 1 else things or thing + 's'}"


def join_names(names: Sequence[str], most: int = 6) -> str:
    """``A, B and C``; of many names the first, and how many more there are.

    >>> listed(["A"]), listed(["A", "B", "C"]), listed("ABCDEF", 3)
    ('A', 'A, B and C', 'A, B, C and three more')
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {word(len(names) - most)} more"
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def join_parts(parts: Sequence[Sentence], last: str = " and ", between: str = ", ") -> Sentence:
    """Parts of a sentence with commas between, and a word before the last."""
    out: list[str | Cell] = []
    for i, part in enumerate(parts):
        if i:
            out.append(last if i == len(parts) - 1 else between)
        out += part
    return tuple(out)


def capitalise(sentence: Sentence) -> Sentence:
    """With a capital, where it starts with words."""
    first = sentence[0]
    return (first[:1].upper() + first[1:], *sentence[1:]) if isinstance(first, str) else sentence


def case_links(cases: Sequence[str], most: int = 5) -> Sentence:
    """Cases to click at: ``p05, p17 and three more``."""
    parts: list[Sentence] = [(case_cell(case),) for case in cases[:most]]
    more: list[Sentence] = [(f"{word(len(cases) - most)} more",)] if len(cases) > most else []
    return join_parts(parts + more)


def case_cell(case: str) -> Cell:
    """The name of a case, which opens it."""
    return Cell(case, case=case)


def rater_cell(findings: Findings, rater: str) -> Cell:
    """The name of a rater, in the colour that it has all over the page; sessions are coloured as their rater."""
    return Cell(rater, colour=findings.colours.get(rater) or findings.colours.get(rater.rpartition("@")[0], ""))


def subject_word(findings: Findings) -> str:
    """What intervals and means are over: patients where any is named, else cases."""
    return "patient" if any(case.subject != case.name for case in findings.study) else "case"


def pixel_word(findings: Findings) -> str:
    """Pixel, or voxel of a volume."""
    units = (table.unit for table in findings.agreement.tallies.values())
    return "voxel" if any(u is not None and u.name == "mm³" for u in units) else "pixel"


def level_help(findings: Findings) -> str:
    """Whose words stand in a column of levels."""
    scale = findings.settings.scale
    return f"By the scale of {SCALES.get(scale, scale)}: words by convention."


def level_text(row: Row, scale: str) -> str:
    """The word for a kappa, and for the lower end of its interval where that is another."""
    if reason(row.value):
        return "undefined"
    name = level(row.value, scale)
    low = level(row.low, scale) if row.low is not None and not reason(row.low) else name
    return name if low == name else f"{name} ({low} at the lower limit of its CI)"


def interval_name(findings: Findings) -> str:
    """``95% CI``."""
    return f"{100 * findings.settings.level:g}% CI"


def spelled_interval(findings: Findings) -> str:
    """The same where it is first met: ``95% confidence interval, CI,``."""
    return interval_name(findings).replace("CI", "confidence interval, CI,")


def mean_over(findings: Findings) -> str:
    """``mean over 21 patients``."""
    subjects = len(findings.study.subjects)
    return (
        f"mean over {spell_count(subjects, subject_word(findings))}"
        if subjects > 1
        else f"one {subject_word(findings)}"
    )


def sd_column(findings: Findings, title: str = "SD") -> Column:
    """The head of a column of standard deviations."""
    return Column(title, f"Standard deviation between {subject_word(findings)}s.")
