"""What depends on a pixel's neighbours: regions, overlaps, image features."""

from .features import channels, intensity, lightness, local_maximum, michelson_contrast
from .matching import BoundaryMatch, match_boundaries
from .overlaps import smaller_out_of_larger, united
from .polygons import rasterise
from .regions import Region, regions
from .surface_summaries import DirectedDistances, SurfaceDistances, rater_tolerance
from .surfaces import Surface, hausdorff, mean_surface_distance, surface, surface_dice, surface_distances
from .thinning import boundary_of, thin

__all__ = [
    "BoundaryMatch",
    "DirectedDistances",
    "Region",
    "Surface",
    "SurfaceDistances",
    "boundary_of",
    "channels",
    "hausdorff",
    "intensity",
    "lightness",
    "local_maximum",
    "match_boundaries",
    "mean_surface_distance",
    "michelson_contrast",
    "rasterise",
    "rater_tolerance",
    "regions",
    "smaller_out_of_larger",
    "surface",
    "surface_dice",
    "surface_distances",
    "thin",
    "united",
]
