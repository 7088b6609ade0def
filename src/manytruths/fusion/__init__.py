"""Consensus of raters: a probability per pattern or as a map, a hard decision, and its convergence."""

from .gordon import balanced_accuracy, gordon_f, soft_accuracy, soft_sensitivity, soft_specificity
from .lesion_vote import LesionVote, lesion_vote
from .level_set import LevelSet, lsml, lsmlp
from .registry import consensus_methods, estimate, register
from .result import Consensus
from .simple import Simple, simple
from .staple import Staple, staple
from .staple_each import staple_each
from .staple_errors import RateErrors
from .staple_map import Smoothed, potts, staple_map
from .vote import (
    Plurality,
    Vote,
    acceptable_region,
    cooke_weights,
    inner_outer_ratio,
    inner_region,
    others_share,
    outer_region,
    plurality,
    vote,
    vote_without_outliers,
)

__all__ = [
    "Consensus",
    "LesionVote",
    "LevelSet",
    "Plurality",
    "RateErrors",
    "Simple",
    "Smoothed",
    "Staple",
    "Vote",
    "acceptable_region",
    "balanced_accuracy",
    "consensus_methods",
    "cooke_weights",
    "estimate",
    "gordon_f",
    "inner_outer_ratio",
    "inner_region",
    "lesion_vote",
    "lsml",
    "lsmlp",
    "others_share",
    "outer_region",
    "plurality",
    "potts",
    "register",
    "simple",
    "soft_accuracy",
    "soft_sensitivity",
    "soft_specificity",
    "staple",
    "staple_each",
    "staple_map",
    "vote",
    "vote_without_outliers",
]
