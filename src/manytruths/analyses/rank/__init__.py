"""The verb ``rank``: rankings and how stable they are."""
