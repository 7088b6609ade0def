"""The command ``assign``: who reads which case when a study starts."""
