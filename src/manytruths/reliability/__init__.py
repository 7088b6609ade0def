"""How far a rated data set can be trusted, and how many raters would be enough."""

from .competence import Competence, competence
from .concordance import Concordance, chance_distribution, correct, genuineness, rho, sigma
from .ratings import Ratings

__all__ = [
    "Competence",
    "Concordance",
    "Ratings",
    "chance_distribution",
    "competence",
    "correct",
    "genuineness",
    "rho",
    "sigma",
]
