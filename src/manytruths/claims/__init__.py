"""Sentences about the data, and the numbers that they quote."""
