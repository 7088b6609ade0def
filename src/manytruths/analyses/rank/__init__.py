"""The command ``rank``: rankings of algorithms and their stability."""
