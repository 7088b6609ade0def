"""Confidence intervals over subjects and raters."""
