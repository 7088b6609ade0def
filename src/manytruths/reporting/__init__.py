"""The report: results of every analysis as one HTML file."""

from .writing import Report, report

__all__ = ["Report", "report"]
