"""Sizes of images, for formats that hold outlines alone: from the image file, or as the caller says."""

from __future__ import annotations

from ..core.errors import InputError
from ..io import Location
from ..io.files import SLIDES, SUFFIXES, suffix_of
from ..io.outline_files import flat_grid
from ..shape.grid import Grid
from .documents import Source, image_grid
from .json_fields import picture_beside
from .readings import ImportOptions, Stored


def find_image(source: Source, name: str, options: ImportOptions) -> tuple[Grid, Stored | None]:
    """The grid of the image of a file with outlines, and the image itself where it lies beside the file.

    Parameters
    ----------
    source : Source
        The file.
    name : str
        What the image is called, with or without its ending.
    options : ImportOptions
        The images by case, and the size of all images, as far as they were given.

    Returns
    -------
    grid : Grid
        Height and width.
    picture : Stored, optional
        The image, in the folder of the file or in ``images`` there.
    """
    known = options.pictures.get(source.fields.get("case") or name)
    picture = None if known is not None else _beside(source, name)
    if options.image_size is not None:
        return image_grid(*options.image_size, drawn=False), picture
    location = known or (None if picture is None else Location(picture.path))
    if location is None:
        raise InputError(
            f"does not hold the size of its image, and no image {name!r} lies beside it; say where images are "
            '(--images "FOLDER/{case}.png"), or how large they all are (--image-size 1024x768)'
        )
    grid = flat_grid(location)
    return Grid(image_grid(*reversed(grid.shape), drawn=False).shape, grid.spacing), picture


def _beside(source: Source, name: str) -> Stored | None:
    known = (*SUFFIXES, *SLIDES)
    names = [name] if suffix_of(name) in known else [f"{name}{suffix}" for suffix in known]
    found = (picture_beside(source.path.parent, each) for each in names)
    return next((picture for picture in found if picture is not None), None)
