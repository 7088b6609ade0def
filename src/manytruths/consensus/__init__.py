"""What to take as truth: a value per pattern, a hard decision, and how it ended."""

from .staple import Staple, staple
from .vote import Plurality, Vote, others_share, plurality, vote

__all__ = ["Plurality", "Staple", "Vote", "others_share", "plurality", "staple", "vote"]
