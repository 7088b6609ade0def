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
from .krippendorff import krippendorff_alpha
from .levels import SCALES, krippendorff_rule, level
from .overlap import bias_index, dice, iou, npv, ppv, sensitivity, specificity, volume_difference
from .pairs import PairMatrix, PairStatistic, contingency, mean_pairwise, pairwise

__all__ = [
    "SCALES",
    "SMYTH_LIMIT",
    "AgreementCurve",
    "PairMatrix",
    "PairStatistic",
    "agreement_curve",
    "bias_index",
    "cohen_kappa",
    "condition",
    "contingency",
    "dice",
    "fleiss_kappa",
    "gwet_ac1",
    "iou",
    "krippendorff_alpha",
    "krippendorff_rule",
    "level",
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
    "sensitivity",
    "smyth_bound",
    "specificity",
    "unanimous",
    "volume_difference",
    "weighted_kappa",
]
