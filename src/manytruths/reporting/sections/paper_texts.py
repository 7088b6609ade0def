"""Paragraphs for the methods and results sections of a paper: what was done and found in this study."""

from __future__ import annotations

import math
import platform
from collections.abc import Collection, Iterator
from importlib.metadata import version

import manytruths

from ...analyses.evaluate.evaluate import Evaluation
from ...analyses.evaluate.interchangeability import InterchangeabilityResult
from ...analyses.evaluate.mask_scores import MEAN
from ...analyses.rank.rank import RankResult
from ...analyses.tables import region_of
from ...claims.adjudication import CHOICES, QUALITY
from ...claims.adjudication import METHODS as ADJUDICATED
from ...claims.agreement import COUNTED_REGIONS, level_words
from ...claims.agreement import VERDICTS as VERDICTS_OF_ALPHA
from ...claims.groups import unclaimed_means
from ...claims.lesions import IDS as LESIONS
from ...claims.lesions import rule_words
from ...claims.masks import IDS as MASKS
from ...claims.masks import count_as_is
from ...claims.numbers import has_interval, is_defined, telling_digits
from ...claims.readings import NOT_EVALUABLE
from ...claims.sentences import (
    Sentence,
    capitalise,
    compose,
    counted,
    join_names,
    join_parts,
    number_word,
    plain_text,
    spell_count,
    spell_intervals,
)
from ...claims.sessions import COUNTED
from ...claims.sizes import RATIOS
from ...core.undefined import code
from ...evaluation.interchangeability import LEAST_RATERS
from ...evaluation.ranking.pair_tests import EXACT
from ...evaluation.ranking.ranking import Ranking
from ...evaluation.ranking.score_tables import PERFECT
from ...fusion.registry import estimator
from ...inference.equivalence import CAUTION
from ...inference.intervals import MIN_SUBJECTS
from ..findings import Findings
from .algorithm_scores import area_ranges, empty_masks, tolerances
from .algorithms import VERDICTS
from .cases import cases_by_kappa, raters_per_case, why_no_overlap
from .formulas import FORMULAS, SOFTWARE, cite, cite_once, cited_in, used_formulas
from .groups import adjusted_over
from .raters import DEPENDENCE_CLAIMS
from .standards import cite_method, most_different
from .vocabulary import some_empty

BOTH_NAMES = {"positive_agreement": "positive agreement"}
ALL_RATER_NAMES = {
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "pabak": "PABAK",
    "prevalence_index": "prevalence index",
    "percent_agreement": "percent agreement",
    "positive_agreement": "percent, positive and negative agreement",
    "smyth_bound": "Smyth's lower bound of the error rate",
    "unanimous": "the share of marked {item}s that all marked",
    "heatmap_score": "heatmap score",
}
"""In the order of the text."""
PAIR_NAMES = {
    "cohen_kappa": "Cohen's kappa",
    "dice": "the Dice coefficient",
    "iou": "intersection over union (IoU)",
    "volume_difference": "relative {size} difference",
}
SCORE_NAMES = {
    "dice": "Dice",
    "iou": "IoU",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "PPV",
    "cohen_kappa": "Cohen's kappa",
    "volume_difference": "relative {size} difference",
    "hausdorff": "Hausdorff distance",
    "hausdorff_95": "95% Hausdorff distance",
    "mean_surface_distance": "mean surface distance",
    "surface_dice": "surface Dice",
    "extended_dice": "extended Dice",
    "soft_accuracy": "accuracy against probabilities",
    "pbar_area": "area under the P̄-R curve",
    "pr_area": "area under the precision-recall curve",
    "roc_area": "area under the ROC curve",
}
MOST_LESION_LABELS = 2
"""Of more labels, the results have what was found and the agreement on it."""
MOST_MASKS = 4
"""Most suspicions about masks that the results spell out."""
SCALE_SOURCES = {
    "landis_koch": "Landis 1977",
    "fleiss": "Fleiss 1981",
    "altman": "Altman 1991",
    "shrout": "Shrout 1998",
}


def methods_text(findings: Findings) -> str:
    """Paragraphs by subject; every reference of the formulas is cited once."""
    parts = {
        "Agreement": [
            *_material(findings),
            *_agreement_methods(findings),
            *_lesion_methods(findings),
            *_rater_methods(findings),
            *_group_methods(findings),
        ],
        "Sizes and distances": [*_size_methods(findings), *_distance_methods(findings)],
        "Reference standard": list(_standard_methods(findings)),
        "Algorithms": list(_evaluation_methods(findings, findings.evaluation)) if findings.evaluation else [],
        "Statistics": list(_statistical_methods(findings)),
    }
    text = "\n\n".join(" ".join([f"{about}.", *sentences]) for about, sentences in parts.items() if sentences)
    more = _other_numbers(findings, cited_in(text))
    software = (
        f"All computations were done with manytruths {manytruths.__version__}{cite(SOFTWARE)} "
        f"(Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}; "
        f"seed {findings.settings.seed})."
    )
    return cite_once(" ".join([text, *more, software]))


def _other_numbers(findings: Findings, cited: Collection[str]) -> list[str]:
    """What else is in the tables, by name, with the references that the text lacks."""
    found: dict[tuple[str, ...], str] = {}
    for name, formula in used_formulas(findings).items():
        left = tuple(reference for reference in formula.cited if reference not in cited)
        # panels that nothing is said about, and what is described above without its interval
        if left and formula.of != "more raters" and name not in ("failures", "interchangeability"):
            found.setdefault(left, f"{formula.title[0].lower()}{formula.title[1:]}{cite(*left)}")
    names = list(found.values())
    return [f"The tables also hold: {'; '.join(names)}."] if names else []


def _statistical_methods(findings: Findings) -> Iterator[str]:
    yield from _averages(findings)
    if findings.ranking is not None:
        yield _ranking_methods(findings, findings.ranking)
    if findings.plan is not None and findings.plan.claims.of("plan.more_raters").made:
        yield (
            f"Majorities of more raters, on {findings.pixel_word}s that any rater marked, are given as identified "
            f"ranges over mixing distributions{_cite_statistic('majority_accuracy')}{allowance(findings)}."
        )


def allowance(findings: Findings) -> str:
    """What the ranges of larger panels allow for."""
    made = findings.plan.allowance if findings.plan is not None else ""
    return f", with allowance {made}" if made else ""


def _cite_statistic(name: str) -> str:
    return cite(*FORMULAS[name].cited)


def _material(findings: Findings) -> Iterator[str]:
    exchangeable, counts = findings.study.options.exchangeable, findings.counts
    who = f"{raters_per_case(findings)} a case" if exchangeable else counted(counts.raters, "rater")
    subjects = f" of {counted(counts.subjects, 'patient')}" if findings.subject_word == "patient" else ""
    gaps = ""
    if unread := counts.missing - counts.not_evaluable:
        gaps = f"{unread} of {counts.wanted} masks missing; absent raters were left out{cite('Gwet 2014')}"
    if counts.not_evaluable:
        of = "" if gaps else f" of {counts.wanted} readings"
        gaps = "; ".join(filter(None, [gaps, f"{counts.not_evaluable}{of} not evaluable and left out"]))
    start = f"Segmentations of {counted(counts.cases, 'case')}{subjects} by {who} were analysed"
    yield f"{start} ({gaps})." if gaps else f"{start}."
    if findings.study.tallied is not None:
        yield "Masks were counted where they are kept; their tables were shared, without images and masks."
    if exchangeable:
        yield "Raters were taken as exchangeable: no rater was followed from case to case."
    if counts.repeated and not exchangeable:
        often = sorted(set(counts.repeated.values()))
        cases = counted(often[0], "case") if len(often) == 1 else f"{often[0]} to {often[-1]} cases"
        each = " each" if len(counts.repeated) > 1 else ""
        who = counted(len(counts.repeated), "rater")
        yield f"For repeatability, {who} marked {cases}{each} more than once."


def _agreement_methods(findings: Findings) -> Iterator[str]:
    here = {row.statistic for row in findings.table("agree/agreement").rows if is_defined(row)}
    region = region_of(findings.agreement.tallies)
    where = f"over {COUNTED_REGIONS.get(region, f'the region {region}')}"
    where += cite("Gordon 2009") if region == "modified_background" else ""
    scale = findings.settings.kappa_scale
    row = findings.table("agree/agreement").row("fleiss_kappa")
    named = row is not None and level_words(row, scale, counts_raters(findings))
    words = f" (in words after{cite(SCALE_SOURCES[scale])})" if named else ""
    names = ALL_RATER_NAMES | {"fleiss_kappa": f"Fleiss' kappa{_cite_statistic('fleiss_kappa')}{words}"}
    if "positive_agreement" in here:
        del names["percent_agreement"]
    of_all, of_pairs = _join_cited(names, here), _join_cited(PAIR_NAMES, here)
    pairs = f"; of pairs, averaged, by {of_pairs}" if of_pairs else ""
    text = f"Agreement was measured {where}: of all raters by {of_all}{pairs}."
    yield text.format(item=findings.pixel_word, size=_size(findings))
    if "fleiss_kappa_modified_background" in here:
        yield f"Kappa and alpha were also computed with at most as much background as was marked{cite('Gordon 2009')}."
    if "volume_difference_both_marked" in here and some_empty(findings):
        size = _size(findings)
        yield f"Relative {size} differences are of pairs of raters who both marked something, unless said otherwise."
    marks = len(next(iter(findings.agreement.tallies.values())).labels.marks)
    if marks > 1:
        yield f"The {marks} labels were analysed together and each on its own."
    if marks > 1 and "dice" in here:
        yield (
            f"Of overlap, each label has the mean over the {findings.subject_word}s in which anybody used it; the "
            "headline (macro mean) is the mean of these over labels."
        )


def counts_raters(findings: Findings) -> int:
    """How many raters there are; of exchangeable ones, the most of any case."""
    return len(findings.study.rater_names)


def _size(findings: Findings) -> str:
    """What masks differ in: ``area``, or ``volume``."""
    return "area" if findings.pixel_word == "pixel" else "volume"


def _join_cited(names: dict[str, str], here: Collection[str]) -> str:
    """Join names with their references; neighbours with the same reference share it."""
    chosen = [name for name in names if name in here]
    parts = []
    for name, after in zip(chosen, [*chosen, ""][1:], strict=True):
        shared = bool(after) and FORMULAS[after].cited == FORMULAS[name].cited
        parts.append(names[name] + ("" if shared else _cite_statistic(name)))
    return join_names(parts, len(parts))


def _averages(findings: Findings) -> Iterator[str]:
    each, counts = findings.subject_word, findings.counts
    if counts.cases > 1:
        means = f"over each {each}'s cases, then over {each}s" if counts.grouped else f"over {each}s"
        unless = ", unless said otherwise" if findings.evaluation is not None else ""
        yield (
            f"Values by case were averaged {means}, leaving out undefined ones{unless}; pooled values count all cases "
            "as one."
        )
    if findings.resampled:
        yield (
            f"Means over {number_word(MIN_SUBJECTS)} {each}s or more have {findings.settings.level:.0%} confidence "
            f"intervals over {each}s by Student's t{cite('Student 1908')}, on the logit of shares, Fisher's z of "
            "kappas and the logarithm of distances."
        )
        if any(has_interval(row) for row in findings.table("agree/agreement").all("fleiss_kappa", "pooled")):
            yield f"Pooled values have intervals of the jackknife over {each}s{cite('Efron 1993')}."
    else:
        were, few = "was" if counts.subjects == 1 else "were", counted(counts.subjects, each)
        same = any(code(row.low or 0.0) == "no_spread" for row in findings.table("agree/agreement").rows)
        why = f"there {were} only {few}" if counts.subjects < MIN_SUBJECTS else f"too few {each}s have a value"
        why = f"all {each}s have the same value" if same and counts.subjects >= MIN_SUBJECTS else why
        yield f"No confidence intervals over {each}s were made, as {why}."
    if "over_raters" in used_formulas(findings):
        also = " also" if findings.resampled else ""
        yield f"Pooled values{also} have jackknife intervals over raters{_cite_statistic('over_raters')}."
    if "over_both" in used_formulas(findings):
        yield from _over_both(findings)
    shares = (row for index in findings.tables.values() for row in index.rows if row.statistic == "dice_failures")
    if any(map(has_interval, shares)):
        failed = "cases without overlap" if each == "case" else f"{each}s who have a case without overlap"
        yield f"Shares of {failed} have exact intervals{_cite_statistic('failures')}."


def _over_both(findings: Findings) -> Iterator[str]:
    """Which means have intervals over subjects and raters."""
    table, names = findings.table("agree/agreement"), ALL_RATER_NAMES | PAIR_NAMES | BOTH_NAMES
    rows = {s.statistic.removesuffix("_over_both"): s for s in table.rows if s.statistic.endswith("_over_both")}
    known = [names[s].removeprefix("the ") for s, row in rows.items() if has_interval(row)]
    means = "Means also have intervals"
    if len(known) < len(rows):
        one = len(known) == 1
        means = (
            f"The mean{'' if one else 's'} of {join_names(known)} also {'has an interval' if one else 'have intervals'}"
        )
    if known:
        yield f"{means} over {findings.subject_word}s and raters{_cite_statistic('over_both')}."


def _lesion_methods(findings: Findings) -> Iterator[str]:
    """What a lesion is, and by which numbers raters were compared; nothing where marks are nothing to count."""
    if not findings.agreement.claims.of(*LESIONS).made:
        return
    options = findings.study.options
    what = "marks of one value" if options.instances else "connected marks"
    yield (
        f"Lesions were {what}, joined over raters by falling mean IoU while they had "
        f"{rule_words(options.lesions, findings.agreement.distance_unit)} on average, and compared by positive "
        f"agreement, Dice and panoptic quality{cite('Kirillov 2019')}."
    )


def _rater_methods(findings: Findings) -> Iterator[str]:
    """How raters were compared; nothing where no two can be."""
    here, raters = used_formulas(findings), findings.agreement.raters
    if raters is None or len(raters.differences.raters) < 3 or "mean_difference" not in here:
        return
    if "outlier_p" in here:
        sizes = f" and sizes by paired t tests of log ratios (Holm{_cite_statistic('size_p_holm')})"
        yield (
            f"Outliers by Dice distance were tested by permuting raters within {findings.subject_word}s (max-T"
            f"{_cite_statistic('outlier_p')}){sizes if 'size_p_holm' in here else ''}."
        )
    more = [f"Ward clustering{cite('Ward 1963')}"]
    more += [f"Williams' index{_cite_statistic('williams_index')}"] if "williams_index" in here else []
    yield f"{join_names(more)} went by pooled Dice."
    rates = ["raters' sensitivity and specificity"] if "staple_sensitivity" in here else []
    if "error_correlation" in here:
        rates.append(f"residual correlations of their errors{_cite_statistic('error_correlation')}")
    if rates:
        yield f"Pooled STAPLE{cite('Warfield 2004')}, prior estimated, gave {join_names(rates)}."


def _group_methods(findings: Findings) -> Iterator[str]:
    """How groups were compared, and over which tests p values are adjusted; nothing where no groups were asked for."""
    groups = findings.agreement.groups
    units = {"raters": "raters", "cases": f"{findings.subject_word}s"}
    for of, unit in units.items():
        columns = list(dict.fromkeys(pair.by for pair in groups.pairs if pair.of == of)) if groups else []
        if not columns:
            continue
        adjusted = adjusted_over(findings, of)
        test = (
            f"were compared by permuting whole {unit}{_cite_statistic('group_permutation_p')}, with p values adjusted "
        )
        test += f"by Holm's method{_cite_statistic('group_permutation_p_holm')} over {adjusted}"
        yield f"Groups of {of} by {join_names(columns)} {test if adjusted else 'were described and not tested'}."


def _size_methods(findings: Findings) -> Iterator[str]:
    """How the agreement of sizes was measured; nothing where it was not."""
    here, table = used_formulas(findings), findings.table("agree/size_agreement")
    of = dict.fromkeys(row["size"] for row in table.rows if row["size"] in RATIOS and is_defined(row))
    if not of:
        return
    what = join_names([f"{size}s" for size in of])
    units = join_names(list(dict.fromkeys(row["unit"] for row in table.rows if row["size"] in of)))
    logs = {row.statistic for row in table.rows if row["scale"] == "log" and is_defined(row)}
    first = " of logarithms and of the sizes themselves" if logs & {"icc_a1", "icc_1"} else ""
    parts = {
        "icc_a1": f"the intraclass correlation{first} (two-way random, absolute agreement, single rater"
        f"{_correlation_interval(findings)})",
        "icc_1": f"the intraclass correlation{first} (one-way random, single rater)",
    }
    if "smallest_detectable_change" in logs:
        parts["smallest_detectable_change"] = "the smallest detectable change"
    limits = {
        "upper_limit": "limits of agreement of two raters",
        "limits_with_mean": "limits of agreement with the mean of raters",
    }
    if len(findings.study.rater_names) == 2 and not findings.study.options.exchangeable:
        del limits["limits_with_mean"]
    names = [parts[name] + _cite_statistic(name) for name in parts if name in here]
    names += [f"{limits[name]}{_cite_statistic(name)}" for name in limits if name in here]
    by = f" by {join_names(names, len(names))}" if names else ""
    as_ratios = ["change"] if "smallest_detectable_change" in logs else []
    as_ratios += ["limits"] if any(name in here for name in limits) else []
    ratios = f", {join_names(as_ratios)} as ratios" if as_ratios else ""
    yield f"Agreement of {what} (in {units}) was measured{by}{ratios}."
    if "repeatability" in here:
        yield f"Repeated readings gave the repeatability coefficient{_cite_statistic('repeatability')}."


def _correlation_interval(findings: Findings) -> str:
    """How the interval of ICC(A,1) was made; nothing where none was."""
    cases: dict[tuple[str, str, str], set[str]] = {}
    for row in findings.table("agree/sizes").rows:
        if row.scope == "case" and row.statistic in RATIOS and is_defined(row):
            cases.setdefault((row.statistic, row["unit"], row.label), set()).add(row.case)
    made = {
        # several cases of a patient
        "jackknife" if len(cases[row["size"], row["unit"], row.label]) - (row.n_undefined or 0) > (row.n or 0)
        else "generalized"
        for row in findings.table("agree/size_agreement").rows
        if row.statistic == "icc_a1" and row["size"] in RATIOS and has_interval(row)
    }  # fmt: skip
    return f"; {' or '.join(sorted(made))} confidence interval" if made else ""


def _distance_methods(findings: Findings) -> Iterator[str]:
    """How distances between outlines were measured; nothing where they were not."""
    table = findings.table("agree/agreement")
    rows = [row for name in DISTANCE_NAMES if is_defined(row := table.row(name))]
    if not rows:
        return
    names = [DISTANCE_NAMES[row.statistic] + _cite_statistic(row.statistic) for row in rows]
    unit = next((f" (in {row.unit})" for row in rows if row.unit), "")
    yield f"Distances of two raters' outlines{unit} were the {join_names(names)}, where both marked something."


DISTANCE_NAMES = {"hausdorff_95": "95% Hausdorff distance", "mean_surface_distance": "mean surface distance"}


def _standard_methods(findings: Findings) -> Iterator[str]:
    methods = [cite_method(findings, method, findings.pixel_word) for method in findings.fusion.methods]
    if methods:
        start = "Reference standards were" if len(methods) > 1 else "The reference standard was"
        yield f"{start} made case by case: {join_names(methods, len(methods))}."
    if findings.adjudicated is not None:
        claims = findings.adjudicated.claims.of(*ADJUDICATED).made
        yield from (plain_text(spell_intervals(claim.result, findings.interval_name)) for claim in claims)
    if _several(findings):
        yield from _label_votes({estimator(method)[0].name for method in findings.fusion.methods})
    if "complexity.esm" in used_formulas(findings):
        # complexity uses STAPLE, whatever the reference standard
        groups = f", and cases were grouped by k-means{cite('Arthur 2007')}" if findings.fusion.groups else ""
        what, whose = "of a case was", "STAPLE's probability"
        if _several(findings):
            what = "was computed for each label against the rest, with a binary STAPLE:"
            whose = "its probability"
        yield (
            f"Complexity {what} the entropy (100 bins) over the squared mean of {whose}{cite('Warfield 2004')} on the "
            f"modified background, stretched to 0–1{_cite_statistic('complexity.esm')}{groups}."
        )


def _label_votes(methods: Collection[str]) -> Iterator[str]:
    """How consensus methods decide between several labels."""
    if {"vote", "excl", "simple"}.intersection(methods):
        yield "Votes were taken for each label; ties went to the lower value, and what no label won to background."
    if "plurality" in methods:
        yield "Of labels given equally often, the plurality took the one of the lower value."
    if {"staple", "staple_map"}.intersection(methods):
        yield "STAPLE estimated a confusion matrix of each rater, over all labels at once."


def _several(findings: Findings) -> bool:
    """Whether there are several labels, which are never united."""
    return next(iter(findings.agreement.tallies.values())).labels.several


def _evaluation_methods(findings: Findings, judged: Evaluation) -> Iterator[str]:
    scored = {row.statistic for row in judged.table("scores").rows}
    who, by = counted(len(findings.study.algorithms), "algorithm"), _join_cited(SCORE_NAMES, scored)
    by = by.format(size=_size(findings))
    against = join_names(_judged_against(findings, judged), 9)
    yield f"{_kind_of_predictions(findings)} of {who} were judged against {against} by {by}."
    if _several(findings):
        yield "Scores of a case, in means, rankings and interchangeability, are means over its labels."
    if "surface_dice" in scored:
        yield from _tolerance_methods(findings, judged)
    if judged.probability_scores is not None:
        low, high = judged.probability_scores.skew
        whose = "" if judged.plan.skew is not None else ", the raters' mean prevalence ± 3 SD (within 0 to 1)"
        yield f"P̄ averaged precision over prevalences from {low:.3g} to {high:.3g}{whose}."
    if judged.plan.threshold is not None:
        yield f"Probabilities were thresholded at {judged.plan.threshold:g}."
    if findings.counts.predictions_missing:
        how = "got the worst score" if judged.missing == "worst" else "excluded their case for all algorithms"
        yield f"Missing predictions {how}."
    if empty_masks(findings):
        yield "Where one of two masks was empty, distances counted as the image's diagonal and surface Dice as 0."
    if _has_empty_agreement(findings):
        yield (
            "Two empty masks counted as the best score in the mean over raters, unless all were empty, and were left "
            "out elsewhere."
        )
    if judged.interchangeability is not None and judged.interchangeability.every:
        yield from _interchangeability_methods(findings, judged, judged.interchangeability)


def _kind_of_predictions(findings: Findings) -> str:
    """Probabilities, responses on another scale, or masks."""
    options = findings.study.options
    if not options.probability:
        return "Segmentations"
    return "Predicted probabilities" if options.limits in (None, (0.0, 1.0)) else "Grey-level responses"


def _tolerance_methods(findings: Findings, judged: Evaluation) -> Iterator[str]:
    apart, pixel = tolerances(findings), findings.pixel_word
    if not apart or judged.mask_scores is None:
        return
    if findings.asked.get("tolerance") is not None:
        yield f"The tolerance of surface Dice was {join_names(apart)}."
        return
    parts = [part for part in judged.mask_scores.parts if not math.isnan(part.tolerance)]
    # without a size, a pixel is 1 across: the tolerance is never smaller
    if all(part.unit == "pixels" and part.tolerance == 1 for part in parts):
        less = "as the median distance of two raters' outlines, or half the width of what is marked, is no larger"
        yield f"The tolerance of surface Dice was one {pixel}, {less}."
        return
    yield (
        f"The tolerance of surface Dice was {join_names(apart)}: the median distance of two raters' outlines, at least "
        f"one {pixel} and at most half the width of what is marked."
    )


def _interchangeability_methods(
    findings: Findings, judged: Evaluation, compared: InterchangeabilityResult
) -> Iterator[str]:
    """The difference γ, and how it was held against a margin."""
    known = any(found.gamma.n >= MIN_SUBJECTS for found in compared.every.values())
    intervals = f", with t intervals corrected for skewness{cite('Hall 1983')}" if known else ""
    empty = " (0 between two empty masks, 1 between an empty mask and another)" if _has_empty_raters(findings) else ""
    yield (
        f"Interchangeability was the Dice distance{empty} of an algorithm to the raters minus that between raters"
        f"{cite('Obuchowski 2014')}{intervals}."
    )
    margin = judged.plan.margin
    if margin is None:
        return
    if not any(found.enough for found in compared.every.values()):
        need = f"{number_word(LEAST_RATERS)} raters and {number_word(MIN_SUBJECTS)} {findings.subject_word}s"
        yield f"A margin of {margin:g} was set, but not applied: a verdict needs {need}."
        return
    level = 100 * (1 - (1 - judged.settings.level) / CAUTION)
    yield (
        f"Against a margin of {margin:g}, equivalence was claimed if the upper end of a {level:.3g}% interval lay "
        "below it."
    )


def _has_empty_raters(findings: Findings) -> bool:
    """Whether some rater or algorithm marked nothing in some case."""
    rows = findings.table("agree/agreement").rows
    some = any(row.statistic in ("nothing_marked", "condition_1") and row.value > 0 for row in rows)
    return some or _has_empty_agreement(findings) or bool(empty_masks(findings))


def _judged_against(findings: Findings, judged: Evaluation) -> list[str]:
    """What algorithms were judged against; reference standards that were described before are not described again."""
    described = findings.fusion.methods
    given = {c.name for case in findings.study for c in case.references}
    standards = [] if findings.study.options.exchangeable else ["each rater"]
    rows = judged.table("scores").rows
    standards += ["the mean of the raters"] if any(row["against"] == MEAN.name for row in rows) else []
    standards += ["these reference standards"] if set(judged.plan.consensus) & set(described) else []
    standards += [
        cite_method(findings, method, findings.pixel_word)
        for method in judged.plan.consensus
        if method not in described
    ]
    return standards + ([counted(len(given), "given reference")] if given else [])


def few_to_rank(findings: Findings, ranking: Ranking) -> str:
    """Why algorithms were not tested: all of the subjects are few, or those under one of the reference standards."""
    under = "" if ranking.subjects < MIN_SUBJECTS else " under some reference standard"
    return f"fewer than {number_word(MIN_SUBJECTS)} {findings.subject_word}s{under}"


def _ranking_methods(findings: Findings, ranked: RankResult) -> str:
    ranking = ranked.ranking
    metrics = join_names([SCORE_NAMES.get(metric, metric) for metric in ranking.metrics]).format(size=_size(findings))
    exact = "exact " if ranking.subjects <= EXACT else ""
    by = {"mean": ranking.aggregate, "rank": "mean rank of", "test": "significant wins in"}[ranking.scheme]
    drawn = f" with {ranking.resamples:,} bootstrap resamples" if not ranking.overall.refusal else ""
    silent = ", finding nothing where nothing was marked counting as best" if _has_empty_agreement(findings) else ""
    every = len(ranking.references)
    overall = f" under each of {every} reference standards, and overall by the mean of these ranks" if every > 1 else ""
    ranked_by = (
        f"Algorithms were ranked by {by} {metrics}{overall}{drawn}{_cite_statistic('rank')}{silent}, with Kendall's "
        f"τ_b{_cite_statistic('kendall_tau')} between rankings"
    )
    if ranking.overall.refusal:
        return f"{ranked_by}; they were not tested: {few_to_rank(findings, ranking)}."
    return (
        f"{ranked_by}, and compared in pairs by one-sided {exact}Wilcoxon signed-rank "
        f"tests{_cite_statistic('pairs.p_value')} with Holm's adjustment{_cite_statistic('p_holm')}, "
        f"α = {ranking.alpha:g}."
    )


def _has_empty_agreement(findings: Findings) -> bool:
    """Whether a prediction was correctly empty."""
    rows = findings.table("evaluate/scores").rows
    return any(row.scope == "case" and code(row.value) in PERFECT for row in rows)


# --- results

RATERS = ("raters.clusters", "raters.outlier", "raters.larger", "raters.smaller")


def results_text(findings: Findings) -> str:
    """One paragraph in the past tense: the claims that were made, in the order of docs/which-numbers.md."""
    parts = (
        _mask_results(findings),
        _results(findings, NOT_EVALUABLE.id, COUNTED.id),
        _results(findings, "agreement.overlap", "agreement.labels", "agreement.empty", "agreement.failures"),
        _results(findings, "agreement.beyond_chance", "agreement.alpha", *VERDICTS_OF_ALPHA),
        _results(findings, "agreement.over_both", "agreement.these_raters"),
        _spread(findings),
        _results(findings, *RATERS, *DEPENDENCE_CLAIMS),
        _results(findings, "groups.raters", "groups.cases"),
        (claim.result for claim in unclaimed_means(findings.claims)),
        _repeat_results(findings),
        _lesion_results(findings),
        _results(findings, "sizes.no_spacing", "sizes.icc", "sizes.range", "sizes.limits", "sizes.detectable_change"),
        _results(findings, "sizes.repeatability", "sizes.cut_by_border"),
        _results(findings, "distances.between", "distances.labels"),
        _standard_results(findings),
        _results(findings, CHOICES.id, *QUALITY),
        _results(findings, *GIVEN),
        _results(findings, "algorithms.copy", "algorithms.distance", *VERDICTS, "algorithms.failures"),
        _area_results(findings),
        _results(findings, "algorithms.order", "algorithms.winner", "algorithms.trained_here"),
    )
    interval = findings.interval_name
    sentences = [plain_text(spell_intervals(capitalise(s), interval)) for part in parts for s in part]
    return " ".join(sentences) or f"No two raters could be compared: {why_no_overlap(findings)}."


GIVEN = (
    "reference.equals_rater", "reference.equals_consensus", "reference.equals_vote", "reference.equals_adjudicated",
    "reference.raters_scored",
    "reference.sizes", "consensus.left_out",
)  # fmt: skip
"""Claims about given references and consensus methods."""


def _results(findings: Findings, *ids: str) -> Iterator[Sentence]:
    """The claims of some kinds that were made, in the past tense."""
    yield from (claim.result for kind in ids for claim in findings.claims.of(kind).made if claim.result)


def _lesion_results(findings: Findings) -> Iterator[Sentence]:
    """Which lesions were found; of several labels, without how they were drawn."""
    made = findings.claims.of(LESIONS[0]).made
    yield from _results(findings, *(LESIONS if len(made) <= MOST_LESION_LABELS else LESIONS[:2]))


def _mask_results(findings: Findings) -> Iterator[Sentence]:
    """Masks that are probably broken or may be lost: all numbers count them as they are."""
    claims = findings.claims.of(*MASKS).made
    yield from (claim.result or claim.sentence for claim in claims[:MOST_MASKS])
    if claims:
        left = len(claims) - MOST_MASKS
        are = "is one" if left == 1 else f"are {number_word(left)}"
        more = f"There {are} more in agree/masks.csv. " if left > 0 else ""
        yield (f"{more}{count_as_is(findings.agreement.suspicions)}.",)


def _repeat_results(findings: Findings) -> Iterator[Sentence]:
    """How far raters agree with their own repeated readings."""
    table, parts = findings.table("agree/pairs"), list[Sentence]()
    columns = {str(column): column for column in findings.study.columns}
    for row in table.all("dice", "mean"):
        if row["relation"] == "within" and not row.group and is_defined(row):
            over = spell_count(row.n or 0, findings.subject_word)
            first, second = (columns[str(name)] for name in row.extra[:2])
            sessions = [column.session or "without a name" for column in (first, second)]
            text = "{} for sessions {} and {} of rater {} (over {})"
            parts.append(compose(text, table.quote(row), *sessions, first.name, over))
    if parts:
        yield compose("Repeated readings of the same rater overlapped by a mean Dice of {}.", join_parts(parts))


def _spread(findings: Findings) -> Iterator[Sentence]:
    """How far single cases lie apart."""
    table, rows = findings.table("agree/agreement"), list(filter(is_defined, cases_by_kappa(findings)))
    std = table.row("fleiss_kappa", "std")
    if len(rows) > 1:
        ends = [table.quote(row) for row in (rows[0], rows[-1])]
        spread = compose(" (SD over {}s {})", findings.subject_word, table.quote(std)) if is_defined(std) else ()
        yield compose("Fleiss' kappa of single cases ranged from {} to {}{}.", *ends, spread)


def _standard_results(findings: Findings) -> Iterator[Sentence]:
    yield from _results(findings, "consensus.same", "consensus.bound")
    pair = most_different(findings)
    if pair:
        which = ", the reference standards that differed most," if pair.several else ""
        digits = telling_digits(pair.row.value)
        value = findings.table("fuse/differences").quote(pair.row, digits, level=findings.interval_name)
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        yield compose("{}{} overlapped by a {} of {}{}.", pair.names, which, mean, value, pair.over)


def _area_results(findings: Findings) -> Iterator[Sentence]:
    if findings.evaluation is None or findings.evaluation.probability_scores is None:
        return
    table, grey = findings.table("evaluate/scores"), findings.evaluation.probability_scores
    ends = area_ranges(grey).items()
    parts = [compose("{} {} to {}", name, table.quote(a), table.quote(b)) for name, (a, b) in ends]
    if parts:
        text = "Depending on the reference standard, the area under the P̄-R curve was: {}."
        yield compose(text, join_parts(parts))
