"""How far a rated data set can be trusted, and how many raters would be enough."""

from .competence import Competence, competence
from .concordance import (
    Concordance,
    RhoStatistic,
    SigmaStatistic,
    chance_distribution,
    correct,
    genuineness,
    rho,
    sigma,
)
from .lesions import LesionRatings, MarkedLesion, RaterFindings, lesion_ratings, pool_lesions
from .majorities import Majorities, majorities
from .masks import MaskRatings, mask_ratings, ratings_of
from .planning.kappa_width import KappaWidth, cases_for_width, kappa_width
from .planning.nomogram import Nomogram, nomogram, nomogram_for
from .planning.panels import Band, RatersNeeded, majority_accuracy, majority_band, raters_needed, slim_share
from .planning.pilot import PilotPlan, plan_from_ratings, plan_from_tallies
from .rasch import Rasch, rasch
from .ratings import Ratings

__all__ = [
    "Band",
    "Competence",
    "Concordance",
    "KappaWidth",
    "LesionRatings",
    "Majorities",
    "MarkedLesion",
    "MaskRatings",
    "Nomogram",
    "PilotPlan",
    "Rasch",
    "RaterFindings",
    "RatersNeeded",
    "Ratings",
    "RhoStatistic",
    "SigmaStatistic",
    "cases_for_width",
    "chance_distribution",
    "competence",
    "correct",
    "genuineness",
    "kappa_width",
    "lesion_ratings",
    "majorities",
    "majority_accuracy",
    "majority_band",
    "mask_ratings",
    "nomogram",
    "nomogram_for",
    "plan_from_ratings",
    "plan_from_tallies",
    "pool_lesions",
    "rasch",
    "raters_needed",
    "ratings_of",
    "rho",
    "sigma",
    "slim_share",
]
