"""The command ``agree``: agreement, raters, heatmaps."""
