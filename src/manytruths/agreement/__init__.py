"""Agreement of raters: statistics of a tally.

``chance.py`` holds kappa and its relatives, ``bounds.py`` other statistics of all raters, ``overlap.py`` those of two.
"""

from .bounds import SMYTH_LIMIT, AgreementCurve, agreement_curve, case_condition, smyth_bound, unanimous
from .chance import (
    KAPPA_SCALES,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    interpret_alpha,
    interpret_kappa,
    krippendorff_alpha,
    negative_agreement,
    pabak,
    percent_agreement,
    positive_agreement,
    prevalence,
    prevalence_index,
    weighted_kappa,
)
from .heatmap import (
    Correlation,
    common_heatmap,
    feature_correlation,
    heatmap_score,
    image_feature_correlations,
    ranking_heatmap,
)
from .overlap import bias_index, dice, iou, npv, ppv, sensitivity, specificity, volume_difference
from .pairs import MeanPairwise, PairMatrix, PairStatistic, contingency, mean_pairwise, pairwise
from .votes import VoteStatistic

__all__ = [
    "KAPPA_SCALES",
    "SMYTH_LIMIT",
    "AgreementCurve",
    "Correlation",
    "MeanPairwise",
    "PairMatrix",
    "PairStatistic",
    "VoteStatistic",
    "agreement_curve",
    "bias_index",
    "case_condition",
    "cohen_kappa",
    "common_heatmap",
    "contingency",
    "dice",
    "feature_correlation",
    "fleiss_kappa",
    "gwet_ac1",
    "heatmap_score",
    "image_feature_correlations",
    "interpret_alpha",
    "interpret_kappa",
    "iou",
    "krippendorff_alpha",
    "mean_pairwise",
    "negative_agreement",
    "npv",
    "pabak",
    "pairwise",
    "percent_agreement",
    "positive_agreement",
    "ppv",
    "prevalence",
    "prevalence_index",
    "ranking_heatmap",
    "sensitivity",
    "smyth_bound",
    "specificity",
    "unanimous",
    "volume_difference",
    "weighted_kappa",
]
