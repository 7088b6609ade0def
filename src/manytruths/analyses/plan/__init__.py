"""The verb ``plan``: how many raters are enough."""
