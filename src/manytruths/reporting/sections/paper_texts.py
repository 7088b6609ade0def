"""Paragraphs for the methods and results sections of a paper: what was done and found in this study."""

from __future__ import annotations

import math
import platform
from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any

import manytruths

from ...agreement import interpret_kappa
from ...analyses.evaluate.case_scores import NAMES
from ...analyses.evaluate.evaluate import Evaluation
from ...analyses.evaluate.mask_scores import OTHERS
from ...analyses.rank.rank import RankResult
from ...analyses.tables import region_of
from ...claims.numbers import has_interval, is_defined
from ...claims.sentences import (
    Sentence,
    capitalise,
    compose,
    counted,
    join_names,
    join_parts,
    number_word,
    plain_text,
    spell_intervals,
)
from ...core.undefined import code
from ...evaluation.ranking.pair_tests import EXACT
from ...evaluation.ranking.score_tables import PERFECT
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row
from ..findings import Findings
from .algorithm_scores import area_ranges, empty_masks, judged_label, range_text, tolerances, verdict_text
from .algorithms import main_orders, rater_comparison
from .cases import cases_by_kappa, why_no_overlap
from .formulas import FORMULAS, SOFTWARE, cite, cite_once, cited_in, used_formulas
from .raters import error_dependence
from .standards import cite_method, most_different
from .vocabulary import SHARES, scale_name

REGIONS = {
    "whole": "over all {item}s that were rated",
    "mask": "over the {item}s of each case's region of interest",
    "union": "over the {item}s that any rater marked",
    "modified_background": "over the {item}s that any rater marked and as many of the background [Gordon 2009]",
    "mixed": "over a region that differs between cases",
}
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
    "volume_difference": "relative volume difference",
}
SCORE_NAMES = {
    "dice": "Dice",
    "iou": "IoU",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "PPV",
    "cohen_kappa": "Cohen's kappa",
    "volume_difference": "relative volume difference",
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
SCALE_SOURCES = {
    "landis_koch": "Landis 1977",
    "fleiss": "Fleiss 1981",
    "altman": "Altman 1991",
    "shrout": "Shrout 1998",
}


def methods_text(findings: Findings) -> str:
    """Paragraphs by subject; every reference of the formulas is cited once."""
    parts = {
        "Agreement": [*_material(findings), *_agreement_methods(findings), *_rater_methods(findings)],
        "Reference standard": list(_standard_methods(findings)),
        "Algorithms": list(_evaluation_methods(findings, findings.evaluation)) if findings.evaluation else [],
        "Statistics": list(_statistical_methods(findings)),
    }
    text = "\n\n".join(" ".join([f"{about}.", *sentences]) for about, sentences in parts.items() if sentences)
    needed = {reference for formula in used_formulas(findings).values() for reference in formula.cited}
    left = needed - set(cited_in(text))
    more = [f"Further measures were computed as published{cite(*sorted(left))}."] if left else []
    software = (
        f"All computations were done with manytruths {manytruths.__version__}{cite(SOFTWARE)} "
        f"(Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}; "
        f"seed {findings.settings.seed})."
    )
    return cite_once(" ".join([text, *more, software]))


def _statistical_methods(findings: Findings) -> Iterator[str]:
    yield from _averages(findings)
    if findings.ranking is not None:
        yield _ranking_methods(findings, findings.ranking)
    if findings.plan is not None:
        drawn = any(has_interval(row) for row in findings.plan.table.rows)
        resamples = f"{findings.plan.settings.resamples:,} resamples"
        sure = f", with percentile bootstrap intervals ({resamples})" if drawn else ""
        yield (
            f"The benefit of more raters was estimated by a Dirichlet-multinomial model of the votes on "
            f"{findings.pixel_word}s that any rater marked{_cite_statistic('majority_accuracy')}{sure}."
        )


def _cite_statistic(name: str) -> str:
    return cite(*FORMULAS[name].cited)


def _material(findings: Findings) -> Iterator[str]:
    exchangeable, counts = findings.study.options.exchangeable, findings.counts
    who = f"up to {counts.raters} raters a case" if exchangeable else f"{counts.raters} raters"
    subjects = f" of {counted(counts.subjects, 'patient')}" if findings.subject_word == "patient" else ""
    gaps = f" ({counts.missing} of {counts.wanted} masks missing; absent raters were left out{cite('Gwet 2014')})"
    start = f"Segmentations of {counted(counts.cases, 'case')}{subjects} by {who} were analysed"
    yield f"{start}{gaps if counts.missing else ''}."
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
    where = REGIONS.get(region, f"over the region {region}")
    scale = cite(SCALE_SOURCES[findings.settings.kappa_scale])
    names = ALL_RATER_NAMES | {
        "fleiss_kappa": f"Fleiss' kappa{_cite_statistic('fleiss_kappa')} (in words after{scale})"
    }
    if "positive_agreement" in here:
        del names["percent_agreement"]
    of_all, of_pairs = _join_cited(names, here), _join_cited(PAIR_NAMES, here)
    pairs = f"; of pairs, averaged, by {of_pairs}" if of_pairs else ""
    yield f"Agreement was measured {where}: of all raters by {of_all}{pairs}.".format(item=findings.pixel_word)
    marks = len(next(iter(findings.agreement.tallies.values())).labels.marks)
    if marks > 1:
        yield f"The {marks} labels were analysed together and each on its own."


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
        yield f"Values by case were averaged {means}, leaving out undefined ones; pooled values count all cases as one."
    if findings.resampled:
        yield (
            f"Means that are defined for {number_word(MIN_SUBJECTS)} {each}s or more, and pooled values, have "
            f"{findings.settings.level:.0%} bias-corrected and accelerated bootstrap confidence intervals over {each}s "
            f"({findings.settings.resamples:,} resamples){cite('Efron 1993')}."
        )
    else:
        were, few = "was" if counts.subjects == 1 else "were", counted(counts.subjects, each)
        why = f"there {were} only {few}" if counts.subjects < MIN_SUBJECTS else f"too few {each}s have a value"
        yield f"No confidence intervals over {each}s were made, as {why}."
    if "over_raters" in used_formulas(findings):
        also = " also" if findings.resampled else ""
        yield f"Pooled values{also} have jackknife intervals over raters{_cite_statistic('over_raters')}."


def _rater_methods(findings: Findings) -> Iterator[str]:
    """How raters were compared; nothing where no two can be."""
    here, raters = used_formulas(findings), findings.agreement.raters
    if raters is None or len(raters.differences.raters) < 3 or "mean_difference" not in here:
        return
    yield (
        "With all cases pooled, outliers were raters whose mean Dice distance (1 − Dice) to the others lay more than "
        f"one standard deviation above the raters' mean{_cite_statistic('outlier')}."
    )
    more = [f"Ward clustering{cite('Ward 1963')}"]
    more += [f"Williams' index{_cite_statistic('williams_index')}"] if "williams_index" in here else []
    yield f"{join_names(more)} went by the same Dice."
    rates = ["raters' sensitivity and specificity"] if "staple_sensitivity" in here else []
    if "effective_raters" in here:
        rates.append(f"the effective number of independent raters{_cite_statistic('effective_raters')}")
    if rates:
        yield f"Pooled STAPLE{cite('Warfield 2004')}, prior estimated, gave {join_names(rates)}."


def _standard_methods(findings: Findings) -> Iterator[str]:
    methods = [cite_method(findings, method, findings.pixel_word) for method in findings.fusion.methods]
    if methods:
        start = "Reference standards were" if len(methods) > 1 else "The reference standard was"
        yield f"{start} made case by case: {join_names(methods, len(methods))}."
    if any(ending.united for case in findings.fusion.cases.values() for ending in case.convergence):
        yield "A vote unites all labels."
    if "complexity.esm" in used_formulas(findings):
        # complexity uses STAPLE, whatever the reference standard
        groups = f", and cases were grouped by k-means{cite('Arthur 2007')}" if findings.fusion.groups else ""
        yield (
            "Complexity of a case was the entropy (100 bins) over the squared mean of STAPLE's probability"
            f"{cite('Warfield 2004')} on the modified background, stretched to "
            f"0–1{_cite_statistic('complexity.esm')}{groups}."
        )


def _evaluation_methods(findings: Findings, judged: Evaluation) -> Iterator[str]:
    scored = {row.statistic for row in judged.table("scores").rows}
    kind = "Predicted probabilities" if findings.study.options.probability else "Segmentations"
    who, by = counted(len(findings.study.algorithms), "algorithm"), _join_cited(SCORE_NAMES, scored)
    yield f"{kind} of {who} were judged against {join_names(_judged_against(findings, judged), 9)} by {by}."
    apart = tolerances(findings)
    if apart and "surface_dice" in scored:
        given = findings.asked.get("tolerance") is not None
        how = "" if given else ", the median distance within which 95% of two raters' outlines lay"
        yield f"The tolerance of surface Dice was {join_names(apart)}{how}."
    if judged.probability_scores is not None:
        low, high = judged.probability_scores.skew
        yield f"P̄ averaged precision over prevalences from {low:.3g} to {high:.3g}."
    if judged.plan.threshold is not None:
        yield f"Probabilities were thresholded at {judged.plan.threshold:g}."
    if findings.counts.predictions_missing:
        how = "got the worst score" if judged.missing == "worst" else "excluded their case for all algorithms"
        yield f"Missing predictions {how}."
    if empty_masks(findings):
        yield "Distances to or from an empty mask counted as the image's diagonal."
    if any(row["verdict"] for row in judged.table("verdicts").rows):
        sure = ", with bootstrap intervals of the differences" if _has_difference_intervals(judged) else ""
        yield f"Each algorithm was compared with each rater, both judged by the same other raters (human range){sure}."


def _has_difference_intervals(judged: Evaluation) -> bool:
    """Whether differences from raters have intervals."""
    ranges = judged.mask_scores.ranges.values() if judged.mask_scores else ()
    return any(not math.isnan(d.low) for human in ranges for by in human.differences.values() for d in by.values())


def _judged_against(findings: Findings, judged: Evaluation) -> list[str]:
    """What algorithms were judged against; reference standards that were described before are not described again."""
    described = findings.fusion.methods
    given = {c.name for case in findings.study for c in case.references}
    standards = [] if findings.study.options.exchangeable else ["each rater"]
    standards += ["these reference standards"] if set(judged.plan.consensus) & set(described) else []
    standards += [
        cite_method(findings, method, findings.pixel_word)
        for method in judged.plan.consensus
        if method not in described
    ]
    return standards + ([counted(len(given), "reference") + " from elsewhere"] if given else [])


def _ranking_methods(findings: Findings, ranked: RankResult) -> str:
    ranking = ranked.ranking
    metrics = join_names([SCORE_NAMES.get(metric, metric) for metric in ranking.metrics])
    exact = "exact " if ranking.subjects <= EXACT else ""
    by = {"mean": ranking.aggregate, "rank": "mean rank of", "test": "significant wins in"}[ranking.scheme]
    drawn = f" with {ranking.resamples:,} bootstrap resamples" if not ranking.overall.refusal else ""
    silent = ", finding nothing where nothing was marked counting as best" if _has_empty_agreement(findings) else ""
    return (
        f"Algorithms were ranked by {by} {metrics}{drawn}{_cite_statistic('rank')}{silent}, with Kendall's "
        f"τ_b{_cite_statistic('kendall_tau')} between rankings, and compared in pairs by one-sided {exact}Wilcoxon "
        f"signed-rank tests{_cite_statistic('pairs.p_value')} with Holm's adjustment{_cite_statistic('p_holm')}, "
        f"α = {ranking.alpha:g}."
    )


def _has_empty_agreement(findings: Findings) -> bool:
    """Whether a prediction was correctly empty."""
    rows = findings.table("evaluate/scores").rows
    return any(row.scope == "case" and code(row.value) in PERFECT for row in rows)


# --- results

MAIN = {
    "dice": "the Dice coefficient of two raters",
    "volume_difference": "their relative volume difference",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
}


def results_text(findings: Findings) -> str:
    """One paragraph, in the past tense."""
    parts = (
        _agreement_results(findings),
        _kappa_range(findings),
        _standard_results(findings),
        _dependence_results(findings),
        _algorithm_results(findings),
        _order_results(findings),
    )
    interval = findings.interval_name
    sentences = [plain_text(spell_intervals(capitalise(s), interval)) for part in parts for s in part]
    return " ".join(sentences) or f"No two raters could be compared: {why_no_overlap(findings)}."


def _agreement_results(findings: Findings) -> Iterator[Sentence]:
    rows = [row for name in MAIN if is_defined(row := findings.table("agree/agreement").row(name))]
    subjects = len(findings.study.subjects)
    if rows:
        some = "" if rows[0].n in (None, subjects) else f"{rows[0].n} of "
        mean = f"on average over {some}{subjects} {findings.subject_word}s, " if subjects > 1 else ""
        parts = [_statistic_result(findings, row, mean if row is rows[0] else "") for row in rows]
        yield (*join_parts(parts, "; and ", "; "), ".")


def _statistic_result(findings: Findings, row: Row, before: str) -> Sentence:
    table, scale = findings.table("agree/agreement"), findings.settings.kappa_scale
    how: dict[str, Any] = {"digits": 0, "percent": True} if row.statistic in SHARES else {}
    std = table.row(row.statistic, "std")
    spread: Sentence = (", SD ", table.quote(std, **how)) if is_defined(std) else ()
    word = ""
    if row.statistic == "fleiss_kappa":
        word = f", {interpret_kappa(row.value, scale)} by the scale of {scale_name(findings)}"
    value = table.quote(row, level=findings.interval_name, **how)
    start = f"{before}{MAIN[row.statistic]} was "
    return (start, value, *spread, word)


def _kappa_range(findings: Findings) -> Iterator[Sentence]:
    rows = list(filter(is_defined, cases_by_kappa(findings)))
    if len(rows) > 1:
        ends = [findings.table("agree/agreement").quote(row) for row in (rows[0], rows[-1])]
        yield compose("Fleiss' kappa of single cases ranged from {} to {}.", *ends)


def _standard_results(findings: Findings) -> Iterator[Sentence]:
    pair = most_different(findings)
    if pair:
        which = ", the reference standards that differed most," if pair.several else ""
        value = findings.table("fuse/differences").quote(pair.row, level=findings.interval_name)
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        yield compose("{}{} overlapped by a {} of {}.", pair.names, which, mean, value)


def _dependence_results(findings: Findings) -> Iterator[Sentence]:
    errors = error_dependence(findings)
    if errors is not None:
        weight = tuple(p.replace(" weigh ", " weighed ") if isinstance(p, str) else p for p in errors.weight)
        text = "Given STAPLE's estimate, the raters' errors were {} (mean correlation {}); {}."
        yield compose(text, errors.words, errors.correlation, weight)


def _algorithm_results(findings: Findings) -> Iterator[Sentence]:
    if findings.evaluation is None:
        return
    hard, table = findings.evaluation.mask_scores, findings.table("evaluate/verdicts")
    rows = rater_comparison(findings) if hard is not None else []
    if hard is not None and rows:
        human = hard.ranges[judged_label(findings), OTHERS, "dice"]
        parts = []
        for row in rows:
            name, value = str(row["algorithm"]), table.quote(row, level=findings.interval_name)
            parts.append(compose("{} {}, {}", name, value, verdict_text(human, name)))
        text = "Against the raters, whose own mean Dice coefficients were {}, mean Dice was: {}."
        yield compose(text, range_text(human, 2), join_parts(parts, "; ", "; "))
    if findings.evaluation.probability_scores is not None:
        yield from _area_results(findings)


def _area_results(findings: Findings) -> Iterator[Sentence]:
    assert findings.evaluation is not None
    assert findings.evaluation.probability_scores is not None
    table, grey = findings.table("evaluate/scores"), findings.evaluation.probability_scores
    ends = area_ranges(grey).items()
    parts = [compose("{} {} to {}", name, table.quote(a), table.quote(b)) for name, (a, b) in ends]
    if parts:
        text = "Depending on the reference standard, the area under the P̄-R curve was: {}."
        yield compose(text, join_parts(parts))


def _order_results(findings: Findings) -> Iterator[Sentence]:
    orders = main_orders(findings) if findings.evaluation is not None and len(findings.study.algorithms) > 1 else None
    if orders is None:
        return
    count = sum(len(ranking.references) for ranking in orders.rankings)
    metric = NAMES["dice" if findings.evaluation and findings.evaluation.mask_scores else "pbar_area"]
    first = orders.rankings[0]
    if len(orders.rankings) == 1:
        yield (f"By {metric}, the order of the algorithms was the same under {count} reference standards: {first}.",)
    else:
        yield (f"By {metric}, the order of the algorithms depended on the reference standard: {first} under "
               f"{len(first.references)} of {count}, another under the rest.",)  # fmt: skip
