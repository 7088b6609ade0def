"""The scale on which the interval of a statistic is symmetric.

A mean near the end of its range is skewed, and an interval ``mean ± t · SE`` covers too little or leaves the range.
With a transform g of the *mean* (the delta method) the ends are ::

    g⁻¹( g(mean) ± t · SE · g′(mean) )

| scale | range | g |
|---|---|---|
| share | 0 to 1 | logit |
| kappa | −1 to 1 | Fisher's z |
| positive | 0 and more | logarithm |
| plain | any | none |

The values themselves are never transformed: that would be an interval of another quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Scale = Literal["share", "kappa", "positive", "plain"]

_NAMES: dict[Scale, str] = {
    "share": """
        accuracy agreement auc average_precision balanced_accuracy bias_index brier brier_union confidence
        continuous_dice curvas_calibration_error curvas_dice d_max dice edited_share expected_calibration_error
        expected_calibration_error_union matched_iou observed_share
        rater_diversity sample_diversity soft_dice
        extended_dice f1 fnr fpr gordon_f heatmap_score iou jaccard mean negative_agreement npv nsd pbar_area
        percent_agreement positive_agreement ppv pr_area precision prevalence prevalence_index ranking_heatmap_score
        recall rho roc_area sensitivity sigma smyth_bound soft_accuracy soft_sensitivity soft_specificity specificity
        lesion_f1 lesion_pq lesion_precision lesion_rq lesion_sensitivity lesion_sq matched_dice pq rq sq
        surface_dice tied tnr tpr unanimous inner_outer_ratio
        slim_majority overwhelming_majority wrong_majority wrong_overwhelming_majority
    """,
    "kappa": """
        cci cco cohen_kappa fleiss_kappa gwet_ac1 kappa krippendorff_alpha krippendorff_alpha_interval
        krippendorff_alpha_ordinal matthews_correlation mcc pabak
    """,
    "positive": """
        added area asd assd changed crps_volume curvas_crps diameter_3d edited_volume energy_distance entropy esm
        false_marks hausdorff hausdorff_95 hd hd95 lesions lesions_alone long_axis mae masd mean_absolute
        mean_surface_distance msd mse
        relative_mean_absolute relative_rms removed rms rmse short_axis size_ratio ssm std sum_long_axes volume
        volume_difference
    """,
}
SCALES: dict[str, Scale] = {name: scale for scale, names in _NAMES.items() for name in names.split()}
"""The scale of each statistic; others are plain."""


def scale_of(statistic: str) -> Scale:
    """The scale of a statistic, by its name; what is left out of a mean, or what a rater is judged by, does not matter.

    >>> scale_of("dice"), scale_of("fleiss_kappa_without_condition_1"), scale_of("gain")
    ('share', 'kappa', 'plain')
    >>> scale_of("sensitivity_against_others")
    'share'
    """
    name = statistic.partition("_without_")[0]
    for suffix in ("_against_others", "_both_marked", "_modified_background"):
        name = name.removesuffix(suffix)
    if name.startswith("found_by_"):
        return "share"  # of the lesions, by so many raters
    return SCALES.get(name.lower(), "plain")


@dataclass(frozen=True)
class Transform:
    """A transform, its derivative and its inverse, with the range between whose ends it is defined."""

    name: str
    low: float
    high: float
    to: Callable[[float], float]
    slope: Callable[[float], float]
    back: Callable[[float], float]

    def ends(self, value: float, reach: float) -> tuple[float, float]:
        """The ends of an interval that reaches so far on the scale of the value itself, where the value lies."""
        if not self.low < value < self.high:
            return value - reach, value + reach
        centre, apart = self.to(value), reach * self.slope(value)
        return self.back(centre - apart), self.back(centre + apart)


def _inverse_logit(y: float) -> float:
    return 1 / (1 + math.exp(-y)) if y > 0 else math.exp(y) / (1 + math.exp(y)) if y > -700 else 0.0


def _exponential(y: float) -> float:
    return math.exp(y) if y < 700 else math.inf


TRANSFORMS: dict[Scale, Transform] = {
    "share": Transform(
        "logit-t", 0, 1, lambda m: math.log(m / (1 - m)), lambda m: 1 / (m * (1 - m)), _inverse_logit
    ),
    "kappa": Transform("fisher-t", -1, 1, math.atanh, lambda m: 1 / (1 - m * m), math.tanh),
    "positive": Transform("log-t", 0, math.inf, math.log, lambda m: 1 / m, _exponential),
    "plain": Transform("t", -math.inf, math.inf, lambda m: m, lambda m: 1.0, lambda y: y),
}  # fmt: skip
