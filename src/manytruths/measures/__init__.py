"""Sizes of what raters marked, and their agreement: intraclass correlation, limits of agreement, method comparison."""
