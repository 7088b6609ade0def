"""What annotation tools export, and what they open: read into one kind of object, and written from it.

``read_…`` gives :class:`Read` objects, :func:`gathered` makes sure that they fit together,
:func:`manytruths.write_study` writes them as a study, and ``write_…`` writes them for a tool. Names are imported when
they are first used: what a format needs is not needed for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bids.reading import read_bids
    from .bids.writing import write_bids
    from .coco.reading import read_coco
    from .coco.writing import write_coco
    from .cvat.reading import read_cvat
    from .cvat.writing import write_cvat
    from .dicom.reading import read_dicom_seg
    from .dicom.writing import write_dicom_seg
    from .gathering import Gathered, gathered
    from .labelme.reading import read_labelme
    from .labelme.writing import write_labelme
    from .labelstudio.reading import read_labelstudio
    from .labelstudio.writing import write_labelstudio
    from .outlines import Bitmap, Ellipse, Line, Polygon, Whole, box
    from .reads import Choices, Mark, Read
    from .slicer.reading import read_slicer
    from .slicer.writing import write_slicer

_HOME = {
    "bids.reading": ("read_bids",),
    "bids.writing": ("write_bids",),
    "coco.reading": ("read_coco",),
    "coco.writing": ("write_coco",),
    "cvat.reading": ("read_cvat",),
    "cvat.writing": ("write_cvat",),
    "dicom.reading": ("read_dicom_seg",),
    "dicom.writing": ("write_dicom_seg",),
    "gathering": ("Gathered", "gathered"),
    "labelme.reading": ("read_labelme",),
    "labelme.writing": ("write_labelme",),
    "labelstudio.reading": ("read_labelstudio",),
    "labelstudio.writing": ("write_labelstudio",),
    "outlines": ("Bitmap", "Ellipse", "Line", "Polygon", "Whole", "box"),
    "reads": ("Choices", "Mark", "Read"),
    "slicer.reading": ("read_slicer",),
    "slicer.writing": ("write_slicer",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Bitmap",
    "Choices",
    "Ellipse",
    "Gathered",
    "Line",
    "Mark",
    "Polygon",
    "Read",
    "Whole",
    "box",
    "gathered",
    "read_bids",
    "read_coco",
    "read_cvat",
    "read_dicom_seg",
    "read_labelme",
    "read_labelstudio",
    "read_slicer",
    "write_bids",
    "write_coco",
    "write_cvat",
    "write_dicom_seg",
    "write_labelme",
    "write_labelstudio",
    "write_slicer",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'manytruths.exchange' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_MODULE[name]}", __package__), name)
    globals()[name] = value
    return value
