"""The verb ``agree``: agreement, raters, heatmaps."""
