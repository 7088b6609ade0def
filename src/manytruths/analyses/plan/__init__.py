"""The command ``plan``: how many raters, and how many cases, would be enough."""
