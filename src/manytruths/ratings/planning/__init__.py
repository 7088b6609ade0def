"""How many raters are enough."""
