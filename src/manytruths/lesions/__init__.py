"""Lesions: which ones raters have in common, who found them, and how alike they were drawn."""

from .matching import Lesion, LesionMatch, LesionPair, RaterDetection, match_lesions

__all__ = ["Lesion", "LesionMatch", "LesionPair", "RaterDetection", "match_lesions"]
