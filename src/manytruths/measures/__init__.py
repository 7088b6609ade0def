"""Sizes of what raters marked, and their agreement: intraclass correlation, limits of agreement, method comparison."""

from .bland_altman import (
    BlandAltman,
    LimitsWithMean,
    Repeatability,
    bland_altman,
    limits_with_mean,
    repeatability,
)
from .intraclass import IntraclassCorrelation, icc
from .method_comparison import MethodLine, deming, passing_bablok
from .variance_components import VarianceComponents

__all__ = [
    "BlandAltman",
    "IntraclassCorrelation",
    "LimitsWithMean",
    "MethodLine",
    "Repeatability",
    "VarianceComponents",
    "bland_altman",
    "deming",
    "icc",
    "limits_with_mean",
    "passing_bablok",
    "repeatability",
]
