"""The tally: distinct per-item patterns of decisions and how often each occurs."""

from .columns import Column, Unit, natural
from .pooling import Tallies, pool
from .tally import REGIONS, Tally
from .values import PatternValues

__all__ = ["REGIONS", "Column", "PatternValues", "Tallies", "Tally", "Unit", "natural", "pool"]
