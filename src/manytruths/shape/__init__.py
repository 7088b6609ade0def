"""What depends on a pixel's neighbours: regions, overlaps, image features."""

from .features import channels, intensity, lightness, local_maximum, michelson_contrast
from .overlaps import smaller_out_of_larger, united
from .regions import Region, regions

__all__ = [
    "Region",
    "channels",
    "intensity",
    "lightness",
    "local_maximum",
    "michelson_contrast",
    "regions",
    "smaller_out_of_larger",
    "united",
]
