"""The tally: distinct per-item patterns of decisions and how often each occurs."""

from .columns import Column, Unit, natural
from .pooling import Tallies, pool
from .tally import REGIONS, Tally

__all__ = ["REGIONS", "Column", "Tallies", "Tally", "Unit", "natural", "pool"]
