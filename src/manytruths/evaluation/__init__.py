"""Predictions against raters, against every consensus and given reference, and against each other."""
