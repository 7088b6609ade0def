"""The command ``audit``: what made a published consensus."""
