"""Numbers to pictures: heatmaps over images, outlines by rater, and small charts.

Arrays and numbers come in; Pillow images (overlays) and SVG text (charts, see :class:`Chart`) go out.
"""

from .bars import bars, rater_difference_chart, strip
from .colours import colour_map, count_colours, rater_colours
from .complexity import complexity_plane, histograms
from .coverage import coverage_bars, coverage_grid
from .curves import curve, line_chart
from .groups import group_chart, reader_slopes
from .overlays import best_slice, contour_overlay, heat_overlay, montage, sorted_masks
from .pairs import dendrogram, matrix
from .rankings import rank_blobs, rank_table, rank_whiskers, significance_map
from .sizes import bland_altman_chart, size_strips, slope_chart
from .svg import Chart
from .times import TimeSeries, rater_panels, time_chart

__all__ = [
    "Chart",
    "TimeSeries",
    "bars",
    "best_slice",
    "bland_altman_chart",
    "colour_map",
    "complexity_plane",
    "contour_overlay",
    "count_colours",
    "coverage_bars",
    "coverage_grid",
    "curve",
    "dendrogram",
    "group_chart",
    "heat_overlay",
    "histograms",
    "line_chart",
    "matrix",
    "montage",
    "rank_blobs",
    "rank_table",
    "rank_whiskers",
    "rater_colours",
    "rater_difference_chart",
    "rater_panels",
    "reader_slopes",
    "significance_map",
    "size_strips",
    "slope_chart",
    "sorted_masks",
    "strip",
    "time_chart",
]
