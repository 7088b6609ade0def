"""The command ``next``: which reading to ask for next."""
