"""Files to masks, images and grids, and back; nothing else in the package opens a file."""

from .location import Location
from .maps import write_map, write_picture
from .reading import Mask, Picture, probe, read_image, read_mask, read_response
from .template import Template, TemplateMatch
from .values import looks_compressed
from .writing import atomic, safe_name, write_csv, write_json, write_text

__all__ = [
    "Location",
    "Mask",
    "Picture",
    "Template",
    "TemplateMatch",
    "atomic",
    "looks_compressed",
    "probe",
    "read_image",
    "read_mask",
    "read_response",
    "safe_name",
    "write_csv",
    "write_json",
    "write_map",
    "write_picture",
    "write_text",
]
