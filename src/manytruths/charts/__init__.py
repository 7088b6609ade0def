"""Numbers to pictures: heatmaps over images, outlines by rater, and small charts.

Arrays and numbers come in; Pillow images (what is laid over pixels) and SVG strings (charts) go out. No file is opened.
"""

from .charts import bars, curve, strip
from .colours import colour, rater_colours, steps
from .matrices import matrix
from .overlay import contour_overlay, heat_overlay
from .planes import histograms, plane
from .ranges import beside_raters
from .rankings import rank_blobs, rank_table, rank_whiskers, significance_map
from .rocs import lines
from .slices import best_slice, montage
from .sorting import sorted_masks
from .trees import dendrogram

__all__ = [
    "bars",
    "beside_raters",
    "best_slice",
    "colour",
    "contour_overlay",
    "curve",
    "dendrogram",
    "heat_overlay",
    "histograms",
    "lines",
    "matrix",
    "montage",
    "plane",
    "rank_blobs",
    "rank_table",
    "rank_whiskers",
    "rater_colours",
    "significance_map",
    "sorted_masks",
    "steps",
    "strip",
]
