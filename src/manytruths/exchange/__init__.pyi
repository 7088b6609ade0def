from .bids import read_bids
from .bids import write_bids
from .coco import read_coco
from .coco import write_coco
from .cvat import read_cvat
from .cvat.writing import write_cvat
from .dicom.reading import read_dicom_seg
from .dicom.writing import write_dicom_seg
from .gathering import Gathered, gathered
from .labelme import read_labelme
from .labelme import write_labelme
from .labelstudio import read_labelstudio
from .labelstudio.writing import write_labelstudio
from .outlines import Bitmap, Ellipse, Line, Polygon, Whole, box
from .reads import Choices, Mark, Read
from .slicer import read_slicer
from .slicer import write_slicer

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
