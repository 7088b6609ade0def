"""Shape: what depends on a pixel's neighbours. Surfaces, boundaries, regions, polygons and image features."""

from .boundaries import BoundaryMatch, find_boundaries, match_boundaries, thin
from .features import channels, intensity, lightness, local_maximum, michelson_contrast
from .outline_masks import OutlineMask
from .polygons import rasterise_polygon
from .regions import Region, combine_labels, find_regions
from .surfaces import (
    DirectedDistances,
    Surface,
    SurfaceDistances,
    extract_surface,
    hausdorff,
    mean_surface_distance,
    rater_tolerance,
    surface_dice,
    surface_distances,
)

__all__ = [
    "BoundaryMatch",
    "DirectedDistances",
    "OutlineMask",
    "Region",
    "Surface",
    "SurfaceDistances",
    "channels",
    "combine_labels",
    "extract_surface",
    "find_boundaries",
    "find_regions",
    "hausdorff",
    "intensity",
    "lightness",
    "local_maximum",
    "match_boundaries",
    "mean_surface_distance",
    "michelson_contrast",
    "rasterise_polygon",
    "rater_tolerance",
    "surface_dice",
    "surface_distances",
    "thin",
]
