"""DICOM series as scanners write them, and segmentations of them, made for the tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

ROWS, COLUMNS, SLICES = 32, 40, 12
OBLIQUE = (0.96, 0.28, 0.0, -0.168, 0.576, 0.8)
SPACING = (0.7, 0.6)
STEP = 2.5


def uid(*names: object) -> str:
    """The same UID for the same names."""
    return generate_uid(entropy_srcs=[str(name) for name in names])


def image(k: int, series: str = "ct", patient: str = "p01", orientation=OBLIQUE, step: float = STEP, **more) -> Dataset:
    """Slice k of a series."""
    made = Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID = CTImageStorage
    made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID = uid("image", patient, series, k)
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.SpecificCharacterSet = "ISO_IR 100"
    made.PatientID, made.PatientName = patient, "Müller^Jörg"
    made.PatientBirthDate, made.PatientSex = "", "O"
    made.StudyInstanceUID, made.StudyDate, made.StudyTime = uid("study", patient), "20260131", "093000"
    made.AccessionNumber = made.StudyID = made.ReferringPhysicianName = ""
    made.SeriesInstanceUID, made.SeriesNumber, made.Modality = uid("series", patient, series), 3, "CT"
    made.FrameOfReferenceUID, made.PositionReferenceIndicator = uid("frame", patient), ""
    made.InstanceNumber = k + 1
    across, down = np.array(orientation).reshape(2, 3)
    position = np.array([-31.5, 12.25, 104.0]) + k * step * np.cross(across, down)
    made.ImageOrientationPatient = [float(f"{x:.10g}") for x in orientation]
    made.ImagePositionPatient = [float(f"{x:.10g}") for x in position]
    made.PixelSpacing, made.SliceThickness = list(SPACING), 2.0
    made.Rows, made.Columns, made.SamplesPerPixel = ROWS, COLUMNS, 1
    made.PhotometricInterpretation = "MONOCHROME2"
    made.BitsAllocated = made.BitsStored = 16
    made.HighBit, made.PixelRepresentation = 15, 0
    made.RescaleIntercept, made.RescaleSlope = 0, 1
    made.PixelData = np.full((ROWS, COLUMNS), 100 + k, "<u2").tobytes()
    for name, value in more.items():
        setattr(made, name, value)
    return made


def series_folder(folder: Path, slices=range(SLICES), **more) -> Path:
    """A series on the disk, its names in another order than its slices."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in slices:
        image(k, **more).save_as(folder / f"{(7 * k) % 13:03}.dcm", enforce_file_format=True)
    return folder


def images(folder: Path) -> list[Dataset]:
    """From the lowest slice on."""
    found = [pydicom.dcmread(path) for path in folder.glob("*.dcm")]
    return sorted(found, key=lambda one: one.InstanceNumber)


def masks(seed: int = 0, segments: int = 2) -> np.ndarray:
    """(slices, rows, columns, segments), overlapping, in the middle slices alone."""
    random = np.random.default_rng(seed)
    made = np.zeros((SLICES, ROWS, COLUMNS, segments), np.uint8)
    for segment in range(segments):
        made[3 + segment : 8 + segment, 4:20, 6 + segment : 30, segment] = random.random((5, 16, 24 - segment)) < 0.5
    return made


def described(labels, automatic: bool = False):
    import highdicom as hd
    from pydicom.sr.codedict import codes

    algorithm = hd.AlgorithmIdentificationSequence("net", codes.cid7162.ArtificialIntelligence, "1")
    return [
        hd.seg.SegmentDescription(
            number, label, codes.SCT.MorphologicallyAbnormalStructure, codes.SCT.Neoplasm,
            "AUTOMATIC" if automatic else "MANUAL", algorithm if automatic else None,
        )
        for number, label in enumerate(labels, 1)
    ]  # fmt: skip


def segmentation(source, pixels, labels=("tumour", "cyst"), rater="Doe^Jane", kind="BINARY", **more):
    """As highdicom makes it."""
    import highdicom as hd

    return hd.seg.Segmentation(
        source, pixels, kind, described(labels), uid("segs", rater), 100, uid("seg", rater, kind), 1,
        "maker", "model", "1", "1", content_creator_name=rater, **more,
    )  # fmt: skip


# -- structure sets ---------------------------------------------------------------------------------------


def contour(points, kind: str = "CLOSED_PLANAR", image_uid: str = "") -> Dataset:
    """(points, 3) in mm, as text of at most 16 characters each."""
    made = Dataset()
    made.ContourGeometricType, made.NumberOfContourPoints = kind, len(points)
    made.ContourData = [f"{x:.9g}" for x in np.asarray(points, float).ravel()]
    if image_uid:
        reference = Dataset()
        reference.ReferencedSOPClassUID, reference.ReferencedSOPInstanceUID = CTImageStorage, image_uid
        made.ContourImageSequence = [reference]
    return made


def structure_set(source: Dataset, structures, rater: str = "Doe^Jane", interpreters=None) -> Dataset:
    """An RTSTRUCT of the series of an image: contours by the name of their structure."""
    made = Dataset()
    made.file_meta = FileMetaDataset()
    kind = "1.2.840.10008.5.1.4.1.1.481.3"
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID = kind
    made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID = uid("rtstruct", rater)
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.SpecificCharacterSet, made.Modality = "ISO_IR 100", "RTSTRUCT"
    for name in ("PatientID", "PatientName", "StudyInstanceUID", "StudyDate"):
        setattr(made, name, getattr(source, name))
    made.SeriesInstanceUID, made.OperatorsName = uid("rtstructs", rater), rater
    made.StructureSetLabel, made.StructureSetDate, made.StructureSetTime = "plan", "20260201", "101500"
    series, study, place = Dataset(), Dataset(), Dataset()
    series.SeriesInstanceUID = source.SeriesInstanceUID
    study.RTReferencedSeriesSequence = [series]
    place.FrameOfReferenceUID, place.RTReferencedStudySequence = source.FrameOfReferenceUID, [study]
    made.ReferencedFrameOfReferenceSequence = [place]
    made.StructureSetROISequence, made.ROIContourSequence, made.RTROIObservationsSequence = [], [], []
    for number, (name, contours) in enumerate(structures.items(), 1):
        region, drawn, note = Dataset(), Dataset(), Dataset()
        region.ROINumber, region.ROIName, region.ROIGenerationAlgorithm = number, name, "MANUAL"
        region.ReferencedFrameOfReferenceUID = source.FrameOfReferenceUID
        drawn.ReferencedROINumber, drawn.ContourSequence = number, list(contours)
        note.ObservationNumber, note.ReferencedROINumber, note.RTROIInterpretedType = number, number, "GTV"
        note.ROIInterpreter = (interpreters or {}).get(name, "")
        made.StructureSetROISequence.append(region)
        made.ROIContourSequence.append(drawn)
        made.RTROIObservationsSequence.append(note)
    return made


def point_at(source: Dataset, columns, rows) -> np.ndarray:
    """(points, 3): where columns and rows of a slice lie, in mm; voxel centres are whole numbers."""
    across, down = np.array(source.ImageOrientationPatient, float).reshape(2, 3)
    columns, rows = np.asarray(columns, float), np.asarray(rows, float)
    corner = np.array(source.ImagePositionPatient, float)
    return corner + columns[..., None] * SPACING[1] * across + rows[..., None] * SPACING[0] * down
