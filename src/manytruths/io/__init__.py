"""Files to masks, images, grids and tables, and back."""

from .files import Location
from .images import (
    Mask,
    Picture,
    looks_compressed,
    probe,
    read_image,
    read_mask,
    read_probability,
    stays_on_disk,
    write_map,
    write_picture,
)
from .template import Template, TemplateMatch
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
    "read_probability",
    "safe_name",
    "stays_on_disk",
    "write_csv",
    "write_json",
    "write_map",
    "write_picture",
    "write_text",
]
