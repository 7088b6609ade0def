"""Numbers of every command, frozen: ``python -m tests.golden compare``."""
