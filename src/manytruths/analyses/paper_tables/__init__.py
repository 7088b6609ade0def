"""The tables that people paste into a paper, and the formats they are written in."""
