"""Masks to tally in one pass, and a value per pattern back to a map."""

from .counting import tally
from .painting import paint

__all__ = ["paint", "tally"]
