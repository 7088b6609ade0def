"""Intervals over cases and raters."""
