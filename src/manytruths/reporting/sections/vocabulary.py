"""Words and phrases that sections share: counts, lists, names of statistics, units and consensus methods, notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...agreement import interpret_kappa
from ...analyses.evaluate.printing import NAMES
from ...analyses.printing import number_word
from ...analyses.rows import Row
from ...core.notes import code_of
from ...core.undefined import reason
from ...fusion.registry import estimator
from ...study import Study
from ..elements import Cell, Column, ColumnOf, Paragraphs, Sentence, text_column
from ..findings import Findings
from ..numbers import is_defined, text_cell
from .formulas import cite

SCALES = {
    "landis_koch": "Landis and Koch",
    "fleiss": "Fleiss",
    "altman": "Altman",
    "shrout": "Shrout",
}
"""Authors of the scales of words for kappa."""

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
    "volume_difference": "Relative volume difference, mean of pairs",
    "heatmap_score": "Shared votes (heatmap score)",
    "ranking_heatmap_score": "Severity score (ranking heatmap)",
    "prevalence_index": "Prevalence index",
    "smyth_bound": "Smyth's error bound",
}
"""Titles of the statistics of all raters."""

MEANINGS = {
    "fleiss_kappa": "Agreement of all raters beyond what chance would give: 1 is full agreement, 0 is chance.",
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
    "volume_difference": "Difference of the sizes of two masks over their mean; 200% where one is empty.",
    "heatmap_score": "Where any rater marked, the votes of a pixel over the most votes of any pixel, on average. "
    "Not agreement: it is 1 where a single rater marked.",
    "ranking_heatmap_score": "The same, weighted by the ranks of severity that raters gave.",
    "prevalence_index": "Near 1 where one label covers nearly everything: kappa is then lower for the same agreement.",
    "smyth_bound": "Raters who disagree this much are wrong at least so often, whatever the reference standard.",
}
"""Meanings of the statistics, for clinicians."""

SHARES = ("percent_agreement", "unanimous", "volume_difference", "smyth_bound")
"""Statistics that are shown as percentages."""


def spell_count(number: int, thing: str, things: str = "") -> str:
    """``five raters``, ``one case``, ``24 cases``.

    >>> spell_count(1, "case"), spell_count(3, "study", "studies"), spell_count(24, "case")
    ('one case', 'three studies', '24 cases')
    """
    return f"{number_word(number)} {thing if number == 1 else things or thing + 's'}"


def join_names(names: Sequence[str], most: int = 6) -> str:
    """``A, B and C``; of many names the first, and how many more there are.

    >>> join_names(["A"]), join_names(["A", "B", "C"]), join_names("ABCDEF", 3)
    ('A', 'A, B and C', 'A, B, C and three more')
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {number_word(len(names) - most)} more"
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def join_parts(parts: Sequence[Sentence], last: str = " and ", between: str = ", ") -> Sentence:
    """Join parts of a sentence by commas, and by a word before the last."""
    out: list[str | Cell] = []
    for i, part in enumerate(parts):
        if i:
            out.append(last if i == len(parts) - 1 else between)
        out += part
    return tuple(out)


def capitalise(sentence: Sentence) -> Sentence:
    """The sentence with a capital letter, where it starts with text."""
    first = sentence[0]
    return (first[:1].upper() + first[1:], *sentence[1:]) if isinstance(first, str) else sentence


def case_links(cases: Sequence[str], most: int = 5) -> Sentence:
    """Links to cases: ``p05, p17 and three more``."""
    parts: list[Sentence] = [(case_cell(case),) for case in cases[:most]]
    more: list[Sentence] = [(f"{number_word(len(cases) - most)} more",)] if len(cases) > most else []
    return join_parts(parts + more)


def case_cell(case: str) -> Cell:
    """The name of a case, with a link to it."""
    return Cell(case, case=case)


def rater_cell(findings: Findings, rater: str) -> Cell:
    """The name of a rater in their colour; sessions have the colour of their rater."""
    return Cell(rater, colour=findings.colours.get(rater) or findings.colours.get(rater.rpartition("@")[0], ""))


def scale_name(findings: Findings) -> str:
    """The authors of the scale of words for kappa."""
    return SCALES[findings.settings.scale]


def level_column(findings: Findings) -> ColumnOf[Row]:
    """The level of the kappa of a row in a word."""
    column = text_column("Level", f"By the scale of {scale_name(findings)}: words by convention.")
    return column, lambda row: text_cell(interpret_kappa(row.value, findings.settings.scale))


def pooled_column(findings: Findings, title: str = "Pooled") -> Column:
    """A column of numbers of all cases together."""
    return Column(title, f"All cases as if they were one: every {findings.pixel_word} counts the same.")


def rater_names(findings: Findings, raters: Iterable[str]) -> Sentence:
    """``rater A, rater B and rater C``."""
    return join_parts([("rater ", rater_cell(findings, rater)) for rater in raters])


def level_text(row: Row, scale: str) -> str:
    """The level of a kappa, and that of its lower limit where it differs."""
    if reason(row.value):
        return "undefined"
    name = interpret_kappa(row.value, scale)
    low = interpret_kappa(row.low, scale) if row.low is not None and not reason(row.low) else name
    return name if low == name else f"{name} ({low} at the lower limit of its CI)"


def spelled_interval(findings: Findings) -> str:
    """The first mention of an interval: ``95% confidence interval, CI,``."""
    return findings.interval_name.replace("CI", "confidence interval, CI,")


def mean_over(findings: Findings) -> str:
    """``mean over 21 patients``."""
    subjects = len(findings.study.subjects)
    return (
        f"mean over {spell_count(subjects, findings.subject_word)}" if subjects > 1 else f"one {findings.subject_word}"
    )


def sd_column(findings: Findings, title: str = "SD") -> Column:
    """A column of standard deviations."""
    return Column(title, f"Standard deviation between {findings.subject_word}s.")


# --- consensus methods and other reference standards

UNION, INTERSECTION = "what any rater marked (union)", "what all raters marked (intersection)"
MAJORITY, HALF = "the majority vote", "the vote of at least half"
"""Half of an even number of raters is no majority."""
METHOD_NAMES = {
    "excl": "the vote without outliers",
    "staple_map": "STAPLE with neighbours",
    "plurality": "the plurality",
}
METHOD_HELP = {
    "excl": "leaves out outliers, then takes a vote",
    "staple": "weights raters by their estimated performance: it finds the likely reference standard from the raters' "
    "error rates, and the error rates from the likely reference standard, in turn",
    "staple_map": "STAPLE with a prior for equal labels of neighbouring pixels",
    "simple": "takes a weighted vote, and drops raters who do not fit it, step by step",
    "plurality": "gives each pixel the label that most raters gave it",
    "lsml": "STAPLE with a smooth outline",
    "lsmlp": "STAPLE with an outline as detailed as the raters' outlines",
}
PRIORS = {
    "prevalence": "prior: mean share of votes",
    "marked": "prior: share of {item}s that any rater marked",
    "estimated": "prior estimated as well",
}


def method_name(method: str, raters: int = 0) -> str:
    """The name of a consensus method in a sentence; a vote of half of two raters is their union."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return METHOD_NAMES.get(name, name.upper())
    names = {
        "": _half_vote(raters),
        "0.5": _half_vote(raters),
        "0.75": "the three-quarters vote",
        "any": UNION,
        "all": INTERSECTION,
    }
    return names.get(rest) or f"the {_percentage(rest)} vote"


def _half_vote(raters: int) -> str:
    """The name of a vote at one half; a tie counts as marked."""
    if raters == 2:
        return UNION
    return MAJORITY if raters % 2 or not raters else HALF


def _percentage(text: str) -> str:
    try:
        return f"{100 * float(text):.3g}%"
    except ValueError:
        return text


def method_help(method: str, raters: int = 0) -> str:
    """What a consensus method does, in a line."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return METHOD_HELP.get(name, "")
    if method_name(method, raters) == UNION:
        return "marks what any rater marked"
    if rest in ("", "0.5"):
        return f"marks what at least half of the raters marked{'' if raters % 2 else '; a tie counts as marked'}"
    return (
        "marks only what every rater marked"
        if rest == "all"
        else f"marks what at least {_percentage(rest)} of them marked"
    )


def method_sentence(method: str, raters: int) -> str:
    """The name of a method, its name in the tables, and what it does."""
    name, line = as_title(method_name(method, raters)), method_help(method, raters)
    return f"{name}, in the files {method}{': ' if line else ''}{line}."


def as_title(name: str) -> str:
    """With a capital letter, and without article: ``Majority vote``."""
    name = name.removeprefix("the ")
    return name[:1].upper() + name[1:]


def given_references(study: Study) -> list[str]:
    """Names of the reference standards that were given with the study."""
    return list(dict.fromkeys(column.name for case in study for column in case.references))


def consensus_methods(findings: Findings) -> list[str]:
    """The consensus methods that are shown or that algorithms are judged by."""
    judged = findings.evaluation.plan.truths if findings.evaluation else ()
    return list(dict.fromkeys([*findings.fusion.methods, *judged]))


def standard_name(findings: Findings, name: str) -> str:
    """The name of a reference standard in a sentence; raters and given standards keep their names."""
    if name in given_references(findings.study) or name in findings.study.rater_names:
        return name
    return method_name(name, len(findings.study.rater_names)) if name in consensus_methods(findings) else name


def standard_cell(findings: Findings, name: str) -> Cell:
    """The name of a consensus, with a tooltip that says what the method does."""
    return text_cell(as_title(standard_name(findings, name)), why=method_help(name, len(findings.study.rater_names)))


@dataclass(frozen=True)
class StandardPair:
    """Two reference standards, and the mean of their Dice."""

    names: str
    row: Row
    several: bool
    """Whether other pairs are closer."""


def most_different(findings: Findings) -> StandardPair | None:
    """The two consensus methods that differ most; None with fewer than two, or where nothing was marked."""
    table = findings.table("fuse/differences")
    rows = list(filter(is_defined, (table.row("dice", "mean", *pair) for pair in method_pairs(findings))))
    if not rows:
        return None
    least = min(rows, key=lambda r: r.value)
    names = " and ".join(standard_name(findings, str(method)) for method in least.extra)
    return StandardPair(names, least, len(rows) > 1)


def method_pairs(findings: Findings) -> list[tuple[str, str]]:
    """All pairs of the consensus methods that are shown."""
    return list(combinations(findings.fusion.methods, 2))


def method_options(findings: Findings, method: str) -> dict[str, Any]:
    """The options of a consensus method that were given."""
    chosen, own = estimator(method)
    asked = {**findings.options.get(chosen.name, {}), **own}
    return {name: value for name, value in asked.items() if value is not None}


def cite_method(findings: Findings, method: str, item: str) -> str:
    """A consensus method for a methods section, with its options and citation."""
    name, options = estimator(method)[0].name, method_options(findings, method)
    threshold, length = options.get("threshold", 0.5), options.get("length_penalty", 2.0)
    texts = {
        "vote": _describe_vote(threshold, len(findings.study.rater_names)),
        "excl": f"a vote at {threshold} without outliers" + cite("Lampert 2016"),
        "plurality": "plurality (the label given most often)",
        "staple": f"STAPLE{cite('Warfield 2004')} ({_describe_staple(options, item)})",
        "staple_map": f"STAPLE{cite('Warfield 2004')} ({_describe_staple(options, item)})",
        "simple": f"SIMPLE{cite('Langerak 2010')} (α = {options.get('alpha', 1.5):g})",
        "lsml": f"the level set LSML{cite('Li 2011')} (λ = {length:g})",
        "lsmlp": f"the level set LSMLP, a variant of a published one{cite('Li 2011')} (λ = {length:g})",
    }
    return texts.get(name, method)


def _describe_vote(threshold: float | str, raters: int) -> str:
    if threshold == "any":
        return "the union of the markings"
    if threshold == "all" or threshold == 1:
        return "the intersection of the markings"
    if threshold == 0.5:
        named = {UNION: "the union of the markings", HALF: "a vote"}.get(_half_vote(raters), "majority vote")
        return named if raters == 2 else f"{named} (marked by at least half of the raters)"
    return f"a vote (marked by a share of at least {threshold} of the raters)"


def _describe_staple(options: Mapping[str, Any], item: str) -> str:
    prior = options.get("prior", "prevalence")
    text = PRIORS[prior].format(item=item) if isinstance(prior, str) else f"prior: {_format_number(prior)}"
    parts = [text + (cite("Dawid 1979") if prior == "estimated" else "")]
    if options.get("unanimous") == "exclude":
        parts.append(f"without {item}s on which all agree" + cite("Commowick 2012"))
    if options.get("map_prior"):
        parts.append(f"Beta prior {_format_number(options['map_prior'])} on the rates" + cite("Commowick 2010"))
    if options.get("smoothing"):
        parts.append(f"Potts smoothing, β = {options['smoothing']:g}" + cite("Zhang 1992"))
    if options.get("like") == "itk":
        parts.append("as in ITK")
    return ", ".join(parts)


def _format_number(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:g}"
    return "(" + ", ".join(f"{v:g}" for v in value) + ")" if isinstance(value, tuple | list) else "a map"


# --- notes

SHOWN_ELSEWHERE = frozenset({
    "metrics_chosen", "no_subjects", "vote_of_two", "no_human_range", "one_more_rater", "fewer_tests", "kendall_tau",
    "krippendorff_rule", "outliers", "exchangeable", "possible_copy", "edits", "second_look",
})  # fmt: skip
"""Codes of notes that the page states elsewhere, or that are about options."""

REWORDINGS = (
    (
        r"overall: the mean of ranks over the truths.*",
        "ranks are averaged over all reference standards; an algorithm counts as better than another only if it is "
        "significantly better under every one of them",
    ),
    (r"surface Dice at a tolerance of (.*)", r"surface Dice takes outlines within \1 of each other for the same"),
    (r"leaving out any one truth\b", "leaving out any one reference standard"),
    (r"under (every|one of the) truths?\b", r"under \1 reference standards"),
    (r"under every reference standards", "under every reference standard"),
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
    for pattern, words in REWORDINGS:
        note = re.sub(pattern, words, note)
    for method in consensus_methods(findings):
        note = re.sub(rf"(?<![\w:.]){re.escape(method)}(?!\w|:\w|\.\d)", standard_name(findings, method), note)
    for metric, name in NAMES.items():
        note = re.sub(rf"\b{metric}(?= against| \d| the )", name, note)
    return note
