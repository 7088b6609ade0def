"""Metrics against the grades of an expert."""
