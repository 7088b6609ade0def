"""Reliability of rated data: agreement beyond chance, accuracy of raters, majorities, lesions, and study planning."""

from .accuracy import Majorities, RaterAccuracy, majorities, rater_accuracy
from .concordance import Concordance, RhoStatistic, SigmaStatistic, rho, sigma
from .lesions import LesionRatings, MarkedLesion, RaterFindings, lesion_ratings, pool_lesions
from .masks import MaskRatings, mask_ratings, ratings_from_tally
from .planning.kappa_width import KappaWidth, cases_for_kappa_width, kappa_width
from .planning.nomogram import Nomogram, nomogram, nomogram_for_accuracy
from .planning.panels import RatersNeeded, majority_accuracy, raters_needed, slim_majority_share
from .planning.pilot import PilotPlan, plan_from_pilot
from .rasch_model import Rasch, rasch
from .ratings import Ratings

__all__ = [
    "Concordance",
    "KappaWidth",
    "LesionRatings",
    "Majorities",
    "MarkedLesion",
    "MaskRatings",
    "Nomogram",
    "PilotPlan",
    "Rasch",
    "RaterAccuracy",
    "RaterFindings",
    "RatersNeeded",
    "Ratings",
    "RhoStatistic",
    "SigmaStatistic",
    "cases_for_kappa_width",
    "kappa_width",
    "lesion_ratings",
    "majorities",
    "majority_accuracy",
    "mask_ratings",
    "nomogram",
    "nomogram_for_accuracy",
    "plan_from_pilot",
    "pool_lesions",
    "rasch",
    "rater_accuracy",
    "raters_needed",
    "ratings_from_tally",
    "rho",
    "sigma",
    "slim_majority_share",
]
