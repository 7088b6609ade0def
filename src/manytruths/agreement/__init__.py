"""How far raters agree: numbers from a tally."""

from .bounds import SMYTH_LIMIT, AgreementCurve, agreement_curve, condition, smyth_bound, unanimous
from .chance import (
    fleiss_kappa,
    gwet_ac1,
    negative_agreement,
    pabak,
    percent_agreement,
    positive_agreement,
    prevalence,
    prevalence_index,
)
from .cohen import cohen_kappa, weighted_kappa
from .features import Correlation, feature_correlation, image_features
from .heatmap import common_heatmap, heatmap_score, normalised, ranking_heatmap, ranking_values
from .krippendorff import krippendorff_alpha
from .levels import SCALES, krippendorff_rule, level
from .overlap import bias_index, dice, iou, npv, ppv, sensitivity, specificity, volume_difference
from .pairs import MeanOfPairs, PairMatrix, PairStatistic, contingency, mean_pairwise, pairwise
from .votes import VoteStatistic

__all__ = [
    "SCALES",
    "SMYTH_LIMIT",
    "AgreementCurve",
    "Correlation",
    "MeanOfPairs",
    "PairMatrix",
    "PairStatistic",
    "VoteStatistic",
    "agreement_curve",
    "bias_index",
    "cohen_kappa",
    "common_heatmap",
    "condition",
    "contingency",
    "dice",
    "feature_correlation",
    "fleiss_kappa",
    "gwet_ac1",
    "heatmap_score",
    "image_features",
    "iou",
    "krippendorff_alpha",
    "krippendorff_rule",
    "level",
    "mean_pairwise",
    "negative_agreement",
    "normalised",
    "npv",
    "pabak",
    "pairwise",
    "percent_agreement",
    "positive_agreement",
    "ppv",
    "prevalence",
    "prevalence_index",
    "ranking_heatmap",
    "ranking_values",
    "sensitivity",
    "smyth_bound",
    "specificity",
    "unanimous",
    "volume_difference",
    "weighted_kappa",
]
