from .asap import read_asap
from .bids import read_bids, write_bids
from .coco import read_coco, write_coco
from .cvat import read_cvat, write_cvat
from .dicom.segmentations import read_dicom_seg
from .dicom.structures import read_rtstruct
from .dicom.writing import write_dicom_seg
from .imagej import read_imagej
from .labelme import read_labelme, write_labelme
from .labelstudio import read_labelstudio, write_labelstudio
from .outlines import Bitmap, Ellipse, Line, Polygon, Whole, box
from .qupath import read_qupath
from .readings import ImportOptions, Mark, Reading, ReadingSet, combine_readings
from .slicer import read_slicer, write_slicer

__all__ = [
    "Bitmap",
    "Ellipse",
    "ImportOptions",
    "Line",
    "Mark",
    "Polygon",
    "Reading",
    "ReadingSet",
    "Whole",
    "box",
    "combine_readings",
    "read_asap",
    "read_bids",
    "read_coco",
    "read_cvat",
    "read_dicom_seg",
    "read_imagej",
    "read_labelme",
    "read_labelstudio",
    "read_qupath",
    "read_rtstruct",
    "read_slicer",
    "write_bids",
    "write_coco",
    "write_cvat",
    "write_dicom_seg",
    "write_labelme",
    "write_labelstudio",
    "write_slicer",
]
