"""Predictions against raters, against every truth made of them, and against each other."""

__all__: list[str] = []
