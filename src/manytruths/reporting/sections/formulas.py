"""The formula of every statistic, by its name in the files, and the table of those on the page.

Names that mean something else in another file are prefixed by that file's name. Suffixes that change what a statistic
is about, but not its formula, have entries of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...fusion.registry import estimator
from ..elements import PageTable, text_cell, text_column
from ..findings import Findings


@dataclass(frozen=True)
class Formula:
    """The formula of a statistic."""

    title: str
    formula: str
    meaning: str
    undefined: str = ""
    """When the statistic is undefined; empty where it never is."""
    cited: tuple[str, ...] = ()


ALL_RATERS, TWO_RATERS, ONE_RATER = "all raters", "two raters, or a mask and a reference standard", "one rater"
ONE_CASE, STANDARD, ALGORITHM = "one case", "reference standard", "algorithms"
RANKING, MORE_RATERS = "ranking", "more raters"

NOTHING_MARKED = "nobody marked anything"
BOTH_EMPTY = "both marked nothing"
ONE_EMPTY = "one of the two, or both, marked nothing"
ONE_LABEL = "all gave one and the same label to everything"

SUFFIXES = {
    "_over_raters": "over_raters",
    "_against_others": "against_others",
    "_without_condition_1": "without_conditions",
    "_without_conditions_1_2": "without_conditions",
}

LAMPERT, YANG, GORDON, ZENG = ("Lampert 2016",), ("Yang 2023",), ("Gordon 2009",), ("Zeng 2021",)
CHALLENGE, DEPENDENT = ("Maier-Hein 2018", "Wiesenfarth 2021"), ("Qu 1996", "Kish 1965")

FORMULAS: dict[str, dict[str, Formula]] = {
    ALL_RATERS: {
        "percent_agreement": Formula("Percent agreement", "P̄ = 1 − D",
            "two raters of a pixel taken at random agree", "no pixel was rated by two"),
        "fleiss_kappa": Formula("Fleiss' kappa", "κ = (P̄ − P̄ₑ) / (1 − P̄ₑ), P̄ₑ = Σ pⱼ²",
            "agreement beyond what the labels' shares give by chance: 1 complete, 0 as by chance", ONE_LABEL,
            ("Fleiss 1971",)),
        "krippendorff_alpha": Formula("Krippendorff's alpha", "α = 1 − (n − 1) Σ o_ck / Σ n_c n_k, sums over c ≠ k",
            "like kappa, corrected for small numbers", ONE_LABEL, ("Hayes 2007",)),
        "krippendorff_alpha_ordinal": Formula("Krippendorff's alpha, ordinal",
            "α with each c, k weighted by (Σ n_g for g from c to k − (n_c + n_k)/2)²",
            "labels that lie further apart in order count as worse", ONE_LABEL, ("Hayes 2007",)),
        "krippendorff_alpha_interval": Formula("Krippendorff's alpha, interval",
            "α with each c, k weighted by (v_c − v_k)², v the labels' numbers",
            "labels that lie further apart in number count as worse", ONE_LABEL, ("Hayes 2007",)),
        "gwet_ac1": Formula("Gwet's AC1", "(P̄ − Pᵧ) / (1 − Pᵧ), Pᵧ = Σ pⱼ (1 − pⱼ) / (L − 1)",
            "agreement beyond chance that does not collapse when a label is rare", "there is only one label",
            ("Gwet 2008",)),
        "pabak": Formula("PABAK", "(P̄ − 1/L) / (1 − 1/L)",
            "prevalence- and bias-adjusted kappa: chance taken as equal for all labels", "there is only one label",
            ("Byrt 1993",)),
        "positive_agreement": Formula("Positive agreement", "Σ A (A − 1) / (m − 1) / Σ A",
            "one rater having marked a pixel, another has too; does not depend on the background", NOTHING_MARKED),
        "negative_agreement": Formula("Negative agreement", "the same with m − A in place of A",
            "one rater having left a pixel unmarked, another has too", "everybody marked everything"),
        "prevalence_index": Formula("Prevalence index", "|1 − 2 p₀|, p₀ the share of background",
            "near 1 where one label is far more common; kappa is then lower for the same agreement",
            "no pixel was rated", ("Byrt 1993",)),
        "smyth_bound": Formula("Smyth's bound", "Σ (m − maxⱼ nⱼ) / Σ m",
            "the least mean error that raters who differ so much must make, whatever the truth", "no pixel was rated",
            ("Smyth 1996",)),
        "unanimous": Formula("Marked by all", "pixels with A = m / pixels with A ≥ 1, both with m ≥ 2",
            "of the pixels that any rater marked, the share that all marked", NOTHING_MARKED, LAMPERT),
        "agreement_curve": Formula("Agreement curve", "Â(k) = pixels with A ≥ k / pixels with A ≥ 1",
            "of the pixels that any rater marked, the share that at least k raters marked", NOTHING_MARKED, LAMPERT),
        "same_place": Formula("Same place, other label", "Σ over pairs of raters of the pixels that both marked",
            "how often two raters who both marked a pixel gave it which labels"),
        "nothing_marked": Formula("Nothing marked", "cases in which A = 0 everywhere", "how many cases are empty"),
        "condition_1": Formula("Condition 1", "cases with A > 0 somewhere and a rater who marked nothing",
            "cases in which some raters marked something and others nothing", "", YANG),
        "condition_2": Formula("Condition 2", "cases in which all marked something and A ≤ 1 everywhere",
            "in how many cases no two raters overlap", "", YANG),
        "without_conditions": Formula("Kappa without special cases", "the mean over the other cases",
            "kappa without the cases of condition 1, or of 1 and 2", "no case is left", YANG),
        "over_raters": Formula("Interval over raters",
            "θ ± t √((R − 1)/R Σ (θ₍ᵢ₎ − θ̄)²), θ₍ᵢ₎ without rater i, t of R − 1 degrees of freedom",
            "how far a number depends on who the raters happened to be (jackknife)", "fewer than three raters",
            ("Efron 1993",)),
        "error_correlation": Formula("Correlation of errors", "ρ̄ = mean over pairs of (oᵢⱼ − eᵢⱼ) / √(vᵢ vⱼ)",
            "o: share that both marked; e: expected of independent errors given STAPLE's truth; v: variance of errors",
            "rates cannot be determined", ("Qu 1996",)),
        "effective_raters": Formula("Effective number of raters", "R / (1 + (R − 1) max(ρ̄, 0))",
            "independent raters whose mean errs as much; pixels that are hard for everybody, as borders, lower it too",
            "fewer than four raters", DEPENDENT),
        "possible_copies": Formula("Possible copies", "pairs of raters with Dice > 0.98",
            "masks so alike that one may be a copy or an edit of the other"),
    },
    TWO_RATERS: {
        "cohen_kappa": Formula("Cohen's kappa", "κ = (pₒ − pₑ) / (1 − pₑ), pₑ from the two raters' own shares",
            "agreement of two beyond chance; of more raters, the mean over pairs", "both gave one label to everything",
            ("Cohen 1960",)),
        "dice": Formula("Dice coefficient (F1)", "2a / (2a + b + c)",
            "overlap: 1 complete, 0 none; of more raters, the mean over pairs", BOTH_EMPTY, ("Dice 1945",)),
        "iou": Formula("Intersection over union", "a / (a + b + c)", "overlap, lower than Dice for the same masks",
            BOTH_EMPTY, ("Jaccard 1912",)),
        "volume_difference": Formula("Relative volume difference", "|b − c| / (a + (b + c)/2)",
            "by how much areas or volumes differ, over their mean", BOTH_EMPTY),
        "bias_index": Formula("Bias index", "|b − c| / (a + b + c + d)",
            "how far apart the shares are that the two marked", "no pixel was rated by both", ("Byrt 1993",)),
        "sensitivity": Formula("Sensitivity (recall)", "a / (a + c)",
            "of what the second (the reference) marked, the share that the first marked", "the reference is empty"),
        "specificity": Formula("Specificity", "d / (b + d)",
            "of what the reference left unmarked, the share that the first left", "the reference marks everything"),
        "ppv": Formula("Positive predictive value (precision)", "a / (a + b)",
            "of what the first marked, the share that the reference marked", "the first marked nothing"),
        "npv": Formula("Negative predictive value", "d / (c + d)",
            "of what the first left, the share that the reference left", "the first marked everything"),
        "edits.added": Formula("Added by an edit", "pixels that the edit marks and what it started from does not",
            "what a rater who started from another's mask put in"),
        "edits.removed": Formula("Removed by an edit", "pixels that the edit leaves and what it started from marks",
            "what such a rater took out"),
        "edits.changed": Formula("Changed by an edit", "pixels that both mark, with other labels",
            "what such a rater called otherwise"),
        "edits.edited_volume": Formula("Edited volume", "(added + removed + changed) × size of a pixel",
            "how much was changed in an edit, in mm² or mm³, or in pixels where their size is not known"),
        "edits.edited_share": Formula("Edited share",
            "(added + removed + changed) / pixels marked by what it started from",
            "the same, as a share", "what it started from marks nothing"),
    },
    ONE_RATER: {
        "mean_difference": Formula("Dice distance to the others", "mean of 1 − Dice over the other raters",
            "how far a rater is from the others", "the rater can be compared with nobody", LAMPERT),
        "outlier": Formula("Outlier", "mean difference > mean + one sample standard deviation over raters",
            "1 for an outlier; among equally good raters there mostly is one, too", "", LAMPERT),
        "outlier_threshold": Formula("Threshold of outliers", "mean + one sample standard deviation of the differences",
            "above it a rater is an outlier", "fewer than two raters", LAMPERT),
        "against_others": Formula("Against the others", "the same, with the 0.5 vote of the other raters as reference",
            "a rater judged without a vote in the consensus", "as above"),
        "relative_area": Formula("Relative area", "what the rater marked / Σ A/m of the others",
            "above 1: the rater draws large", "the others marked nothing", LAMPERT),
        "misses": Formula("Misses", "of pixels with A/m ≥ 0.5 of the others, the share not marked",
            "how much of the others' majority the rater left", "the others marked nothing together", LAMPERT),
        "extra": Formula("Extra", "of what the rater marked, the share with A = 0 of the others",
            "what nobody else marked", "the rater marked nothing", LAMPERT),
        "williams_index": Formula("Williams' index",
            "mean Dice with the others / mean Dice among the others",
            "1: the rater agrees with the others as they do among themselves", "fewer than two others",
            ("Williams 1976",)),
        "staple_sensitivity": Formula("STAPLE sensitivity", "pᵢ of STAPLE, prior estimated",
            "estimated share of the true pixels that the rater marked", "STAPLE found no true pixel",
            ("Warfield 2004",)),
        "staple_specificity": Formula("STAPLE specificity", "qᵢ of STAPLE, prior estimated",
            "estimated share of the other pixels that the rater left", "STAPLE found no other pixel",
            ("Warfield 2004",)),
    },
    ONE_CASE: {
        "heatmap_score": Formula("Heatmap score", "mean of A / max A over the pixels that any rater marked",
            "1 where all who marked anything marked the same", NOTHING_MARKED, YANG),
        "ranking_heatmap_score": Formula("Ranking heatmap score",
            "the same of the mean over raters of aʳ⁻ᵇ, r the rank given (by default a = 0.77, b = 13)",
            "agreement weighted by how severe raters called it", NOTHING_MARKED, YANG),
        "regions.peak": Formula("Peak of a region", "largest value of the heatmap in a connected region",
            "where most raters, or the most severe ranks, come together", "", YANG),
        "regions.mean": Formula("Mean of a region", "mean of the heatmap in a connected region", "the same, on average",
            "", YANG),
        "regions.area": Formula("Area of a region", "number of pixels of a connected region", "its size"),
        "features.correlation": Formula("Correlation with the image", "Pearson's r of A with colour and contrast",
            "what in the image goes with agreement", "one of the two is the same everywhere", LAMPERT),
        "features.p_value": Formula("p of that correlation", "two-sided, pixels taken for independent",
            "too small, as neighbouring pixels are alike", "as above", LAMPERT),
        "complexity.entropy": Formula("Entropy", "− Σ h log h over the shares h of 100 bins of W",
            "W: STAPLE's probability on the modified background, stretched to 0…1, over the pixels that any rater "
            "marked",
            "fewer than two raters, nobody marked, or no overlap", GORDON),
        "complexity.std": Formula("Standard deviation of W", "√(Σ (W − mean)² / (n − 1))", "spread of W", "as above",
            GORDON),
        "complexity.mean": Formula("Mean of W", "Σ W / n", "1 in complete agreement", "as above", GORDON),
        "complexity.esm": Formula("ESM", "entropy / mean²", "complexity: high where raters leave the truth open",
            "as above", GORDON),
        "complexity.ssm": Formula("SSM", "standard deviation / mean²", "likewise", "as above", GORDON),
    },
    STANDARD: {
        "method.vote": Formula("Vote", "marked where A/m ≥ τ; any: A ≥ 1, all: A = m",
            "what a share of the raters marked; a tie at 0.5 is marked"),
        "method.excl": Formula("Vote without outliers", "a vote of the raters who are no outliers",
            "outliers are left out of the vote", "", LAMPERT),
        "method.plurality": Formula("Plurality", "the label with the largest nⱼ; of ties the lower",
            "the label given most often"),
        "method.staple": Formula("STAPLE",
            "W = a/(a + b), a = π Π pᵢ^D (1 − pᵢ)^(1−D), b = (1 − π) Π qᵢ^(1−D) (1 − qᵢ)^D; pᵢ, qᵢ from W, repeated",
            "truth and each rater's sensitivity p and specificity q, estimated together; marked where W > ½", "",
            ("Warfield 2004",)),
        "method.staple_map": Formula("STAPLE with a map", "as STAPLE; each pair of equal neighbours is worth β (Potts)",
            "the same, with a map of priors or neighbours that hold together", "", ("Warfield 2004", "Zhang 1992")),
        "method.simple": Formula("SIMPLE", "Σ s D / Σ s ≥ ½, s Dice with the estimate; drop s < mean − α std; repeat",
            "a weighted vote of those who agree with it", "", ("Langerak 2010",)),
        "method.lsml": Formula("Level set (LSML)", "minimise − Σ inside log a − Σ outside log b + λ length",
            "a smooth contour and each rater's rates, estimated together (a, b as in STAPLE)", "", ("Li 2011",)),
        "method.lsmlp": Formula("Level set with detail (LSMLP)", "the same, length weighted by (g/eᵐ)ᵏ, g its detail",
            "a contour with about as much detail as raters draw; after the reference, formula of manytruths", "",
            ("Li 2011",)),
        "accuracy": Formula("Accuracy against W", "(Σ W where marked + Σ (1 − W) elsewhere) / n",
            "a rater against a probability W", "nothing is true, or nothing false", GORDON),
        "soft_accuracy": Formula("Accuracy against W", "(Σ W where marked + Σ (1 − W) elsewhere) / n",
            "the same of an algorithm", "nothing is true, or nothing false", GORDON),
        "gordon_f": Formula("Gordon's F", "2 p q / (p + q), p = Σ W where marked / Σ W, q likewise of the rest",
            "harmonic mean of sensitivity and specificity against a probability", "as above", GORDON),
        "balanced_accuracy": Formula("Balanced accuracy", "(p + q) / 2", "mean of the same two", "as above", GORDON),
        "changed": Formula("Changed", "pixels with different labels / all pixels",
            "how far two reference standards differ", "no pixel was decided by both"),
    },
    ALGORITHM: {
        "hausdorff": Formula("Hausdorff distance", "max of d over both surfaces",
            "the largest distance d of an outline to the other", ONE_EMPTY, ("Huttenlocher 1993",)),
        "hausdorff_95": Formula("Hausdorff distance, 95%", "the larger of the two directions' 95th percentiles of d",
            "the same without the 5% that lie furthest off", ONE_EMPTY, ("Huttenlocher 1993",)),
        "mean_surface_distance": Formula("Mean surface distance", "Σ s d / Σ s over both surfaces, s an element's size",
            "how far outlines lie apart on average", ONE_EMPTY),
        "surface_dice": Formula("Surface Dice", "Σ s with d ≤ tolerance / Σ s, over both surfaces",
            "the share of both outlines that is within the tolerance of the other", ONE_EMPTY, ("Nikolov 2021",)),
        "extended_dice": Formula("Extended Dice", "(|P ∩ O| + |P ∩ I|) / (|P| + |I|)",
            "P the prediction, I what all raters marked, O what any did: 1 where P lies between them",
            "P and I are empty", ZENG),
        "inner_outer_ratio": Formula("Inner over outer", "|I| / |O|",
            "how far raters agree; the smaller, the easier extended Dice is", NOTHING_MARKED, ZENG),
        "pbar_area": Formula("Area under P̄-R", "mean of P̄ over recall",
            "precision averaged over the prevalences a data set might have had", "no positives or no negatives",
            LAMPERT),
        "pr_area": Formula("Area under P-R", "mean of precision over recall", "at the reference's own prevalence",
            "no positives or no negatives", ("Davis 2006",)),
        "roc_area": Formula("Area under ROC", "P(positive > negative) + ½ P(equal)",
            "a positive responds higher than a negative", "no positives or no negatives", ("Hanley 1982",)),
        "roc_area_within": Formula("Area under ROC, within algorithms", "the same over pairs of one algorithm",
            "whether a metric finds the predictions to correct", "no such pair", ("Hanley 1982",)),
        "recall": Formula("Recall", "t = TP / positives", "share found", "no positives"),
        "fall_out": Formula("Fall-out", "f = FP / negatives", "share wrongly found", "no negatives"),
        "precision": Formula("Precision", "TP / (TP + FP)", "share of what was found that is right", "nothing found"),
        "pbar": Formula("P̄", "mean over π from π₁ to π₂ of πt / (πt + (1 − π)f)", "precision over prevalences",
            "nothing found", LAMPERT),
        "cco": Formula("CCO", "Pearson's r of response and A/m, where A > 0",
            "does the algorithm respond more where more raters agree", "one of the two is constant", LAMPERT),
        "cci": Formula("CCI", "the same over all pixels", "lower than CCO where it responds to the background",
            "one of the two is constant", LAMPERT),
        "boundary_precision": Formula("Boundary precision", "found pixels that are matched / found pixels",
            "share of the drawn boundary that is right", "nothing found", ("Martin 2004",)),
        "boundary_recall": Formula("Boundary recall", "wanted pixels that are matched / wanted pixels",
            "share of the boundary that was found", "nothing wanted", ("Martin 2004",)),
        "boundary_f": Formula("Boundary F", "2 P R / (P + R)", "both in one", "as above",
            ("Martin 2004", "Arbelaez 2011")),
        "second_look.area": Formula("Place to look at again", "pixels that ≥ 2 algorithms and ≤ ¼ of the raters marked",
            "what raters may have missed: a list, not a score", "", LAMPERT),
    },
    RANKING: {
        "rank": Formula("Rank", "1 + how many are better; ties share", "place by the chosen scheme", "", CHALLENGE),
        "mean_rank": Formula("Mean rank", "mean over metrics and reference standards", "what overall ranks go by", "",
            CHALLENGE),
        "first_share": Formula("Share of first places", "resamples in which it is first / all resamples",
            "how surely it is first", "", CHALLENGE),
        "ahead_share": Formula("Share ahead", "resamples in which one is ahead of the other, ties half",
            "how surely one is ahead", "", CHALLENGE),
        "wins": Formula("Wins", "how many others it beats with p_Holm < α", "what the scheme test goes by"),
        "pairs.p_value": Formula("p", "Wilcoxon's signed ranks of the differences by patient or case, one-sided",
            "exact up to 50 differences, normal beyond", "", ("Wilcoxon 1945",)),
        "p_holm": Formula("p, adjusted", "Holm over all ordered pairs of one metric and reference",
            "how surely one is better than the other", "", ("Holm 1979",)),
        "pairs.mean_difference": Formula("Mean difference", "mean over patients or cases of first − second",
            "by how much one is better"),
        "kendall_tau": Formula("Kendall's τ_b", "Σ sign sign / √(Σ sign² Σ sign²) over pairs",
            "how far two rankings agree", "all at one place", ("Kendall 1945",)),
    },
    MORE_RATERS: {
        "majority_accuracy": Formula("Majority of k raters", "P(majority as most would say), Dirichlet-multinomial",
            "how stable the majority of k raters would be; not how true", "", ("Mosimann 1962",)),
        "plan.correlation": Formula("Correlation of ratings", "ρ that maximises the likelihood",
            "how alike two ratings of one pixel are", "", ("Mosimann 1962",)),
        "best_raters": Formula("Raters that are enough", "smallest odd k to which two more add less than asked",
            "a rule of thumb"),
    },
}  # fmt: skip
"""Formulas by subject and name."""

NOTATION = (
    "R raters; m of them rated a pixel (voxel), A marked it, nⱼ gave it label j; pⱼ mean of nⱼ/m; L labels; "
    "D mean over pixels with m ≥ 2 of the share of pairs of raters who disagree, 1 − Σ nⱼ(nⱼ − 1) / (m(m − 1)). "
    "Of two masks, a pixels are marked by both, b by the first only, c by the second only, d by neither."
)


def used_formulas(findings: Findings) -> dict[str, Formula]:
    """The formulas of every statistic with a value, and of the methods that were run, by name."""
    met = set(_computed_names(findings))
    if "effective_raters" not in met:
        # with so few raters STAPLE absorbs shared errors
        met.discard("error_correlation")
    if not findings.counts.jackknifed:
        met.discard("over_raters")
    return {name: formula for by in FORMULAS.values() for name, formula in by.items() if name in met}


def _computed_names(findings: Findings) -> Iterator[str]:
    for index in findings.tables.values():
        for statistic in {row.statistic for row in index.rows if not math.isnan(row.value)}:
            yield from formula_names(index.table.name, statistic)
    methods = [*findings.fusion.methods, *(findings.evaluation.plan.truths if findings.evaluation else ())]
    yield from (f"method.{estimator(method)[0].name}" for method in methods)


def formula_names(table: str, statistic: str) -> list[str]:
    """The names of the formulas of a statistic: its own, and that of its suffix."""
    known = {name for by in FORMULAS.values() for name in by}
    own = f"{table}.{statistic}"
    if own in known:
        return [own]
    for suffix, meaning in SUFFIXES.items():
        if statistic.endswith(suffix):
            return [meaning, *formula_names(table, statistic.removesuffix(suffix))]
    return [statistic] if statistic in known else []


def formula_table(findings: Findings) -> PageTable:
    """The table of every formula that is used."""
    here = used_formulas(findings)
    rows = [
        (formula.title, about, formula.formula, formula.meaning, formula.undefined or "never", "; ".join(formula.cited))
        for about, by in FORMULAS.items()
        for name, formula in by.items()
        if name in here
    ]
    heads = ("Number", "Of", "Formula", "What it means", "Undefined where", "Reference")
    return PageTable(
        "formulas", "Formulas", tuple(text_column(head) for head in heads),
        tuple(tuple(text_cell(cell) for cell in row) for row in rows), NOTATION, filter=True, closed=True,
    )  # fmt: skip
