"""The report: results of every analysis as one HTML file."""

from .report import Report, report

__all__ = ["Report", "report"]
