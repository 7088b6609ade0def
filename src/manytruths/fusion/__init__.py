"""What to take as truth: a value per pattern or a map, a hard decision, and how it ended."""

from .cooke import cooke_weights
from .excluded import excluded_vote
from .information import RateErrors
from .inner_outer import acceptable_region, inner_outer_ratio, inner_region, outer_region
from .level_set import LevelSet, lsml, lsmlp
from .plurality import Plurality, plurality
from .potts import Smoothed, potts
from .registry import estimate, methods, register
from .result import Consensus
from .simple import Simple, simple
from .soft import balanced_accuracy, gordon_f, soft_accuracy, soft_sensitivity, soft_specificity
from .staple import Staple, staple
from .staple_each import staple_each
from .staple_map import staple_map
from .vote import Vote, others_share, vote

__all__ = [
    "Consensus",
    "LevelSet",
    "Plurality",
    "RateErrors",
    "Simple",
    "Smoothed",
    "Staple",
    "Vote",
    "acceptable_region",
    "balanced_accuracy",
    "cooke_weights",
    "estimate",
    "excluded_vote",
    "gordon_f",
    "inner_outer_ratio",
    "inner_region",
    "lsml",
    "lsmlp",
    "methods",
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
]
