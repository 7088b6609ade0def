"""Masks to a tally in one pass: labels, tables of patterns, counting and painting."""
