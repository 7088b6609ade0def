"""Disputes: a page, or a file or a table, in which somebody settles them; decisions go to a log."""

from .adjudicate import AdjudicationRun, adjudicate

__all__ = ["AdjudicationRun", "adjudicate"]
