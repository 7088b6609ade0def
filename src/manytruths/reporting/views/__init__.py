"""A case to look at: its masks as one map of patterns, and what each pattern is worth."""
