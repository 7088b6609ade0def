"""Small slides as scanners write them: Aperio's TIFF, Hamamatsu's NDPI, MIRAX, and DICOM."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

WHOLE_SLIDE = "1.2.840.10008.5.1.4.1.1.77.1.6"


def picture(shape=(120, 160), seed=0):
    """A smooth picture, which JPEG hardly changes."""
    y, x = np.indices(shape)
    return np.stack([y * 255 // shape[0], x * 255 // shape[1], np.full(shape, 40 + 20 * seed)], axis=-1).astype(
        np.uint8
    )


def write_svs(path, image, mpp=0.25, levels=(4,), tile=(64, 64), label=True):
    """A pyramid in tiles without loss, with the description that Aperio's scanners write."""
    height, width = image.shape[:2]
    text = f"Aperio Image Library v11.2.1\r\n{width}x{height} [0,0 {width}x{height}] (240x240) RAW|AppMag = 40"
    text += "" if mpp is None else f"|MPP = {mpp}"
    with tifffile.TiffWriter(path) as file:
        options = {"photometric": "rgb", "metadata": None, "compression": "zlib"}
        file.write(image, tile=tile, description=text, **options)
        for step in levels:
            down, across = (step, step) if isinstance(step, int) else step
            file.write(image[::down, ::across], tile=tile, description=text, **options)
        if label:
            file.write(image[::16, ::16], description="Aperio\r\nlabel 10x10", subfiletype=1, **options)
    return path


def write_ndpi(path, image, lens=40.0):
    """One JPEG image, with the tags that Hamamatsu's scanners write."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=95)
    with tifffile.TiffWriter(path) as file:
        extra = [(65420, "I", 1, 1, True), (65421, "f", 1, lens, True), (65424, "i", 1, 0, True)]
        file.write(
            iter([buffer.getvalue()]), shape=image.shape, dtype=np.uint8, photometric="ycbcr", compression="jpeg",
            rowsperstrip=image.shape[0], resolution=(40000, 40000), resolutionunit="CENTIMETER", extratags=extra,
            metadata=None,
        )  # fmt: skip
    return path


def write_mirax(path, image, mpp=0.25):
    """One level of one JPEG image: a ``.mrxs`` file and the folder beside it."""
    folder, (height, width) = Path(path).with_suffix(""), image.shape[:2]
    folder.mkdir()
    Path(path).write_bytes(b"MIRAX")
    name, buffer = "0" * 32, io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=95)
    head = b"01.02" + name.encode()
    (folder / "Data0000.dat").write_bytes(head + buffer.getvalue())
    (folder / "Slidedat.ini").write_text(
        "\ufeff"
        + f"""[GENERAL]
SLIDE_VERSION = 01.02
SLIDE_ID = {name}
IMAGENUMBER_X = 1
IMAGENUMBER_Y = 1
OBJECTIVE_MAGNIFICATION = 20
CameraImageDivisionsPerSide = 1

[HIERARCHICAL]
HIER_COUNT = 1
NONHIER_COUNT = 0
INDEXFILE = Index.dat
HIER_0_NAME = Slide zoom level
HIER_0_COUNT = 1
HIER_0_VAL_0 = ZoomLevel_0
HIER_0_VAL_0_SECTION = LAYER_0_LEVEL_0_SECTION

[DATAFILE]
FILE_COUNT = 1
FILE_0 = Data0000.dat

[LAYER_0_LEVEL_0_SECTION]
OVERLAP_X = 0
OVERLAP_Y = 0
MICROMETER_PER_PIXEL_X = {mpp}
MICROMETER_PER_PIXEL_Y = {mpp}
IMAGE_FORMAT = JPEG
IMAGE_FILL_COLOR_BGR = 16777215
DIGITIZER_WIDTH = {width}
DIGITIZER_HEIGHT = {height}
IMAGE_CONCAT_FACTOR = 0
""",
        encoding="utf-8",
    )
    # the roots of both hierarchies, the list of levels, the list of pages, and one page with one image
    start = len(head)
    numbers = [start + 8, 0, start + 12, 0, start + 20, 1, 0, 0, len(head), len(buffer.getvalue()), 0]
    (folder / "Index.dat").write_bytes(head + struct.pack(f"<{len(numbers)}i", *numbers))
    return Path(path)


def write_dicom(folder, image, spacing=0.00025, levels=(1, 2), series=None, kind="VOLUME", tile=32):
    """One file for each level, in whole tiles from left to right and from top to bottom."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    series, study, frame = series or generate_uid(), generate_uid(), generate_uid()
    for number, step in enumerate(levels):
        size = None if spacing is None else spacing * step
        data = _dicom_level(np.ascontiguousarray(image[::step, ::step]), tile, kind, number, size)
        data.SeriesInstanceUID, data.StudyInstanceUID, data.FrameOfReferenceUID = series, study, frame
        data.save_as(folder / f"{kind.lower()}-{series[-6:]}-{number}.dcm", enforce_file_format=True)
    return folder


def _dicom_level(image, tile, kind, number, spacing):
    height, width = image.shape[:2]
    rows, columns = -(-height // tile), -(-width // tile)
    padded = np.pad(image, [(0, rows * tile - height), (0, columns * tile - width), (0, 0)], constant_values=255)
    tiles = padded.reshape(rows, tile, columns, tile, 3).swapaxes(1, 2).reshape(-1, tile, tile, 3)
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.TransferSyntaxUID = WHOLE_SLIDE, ExplicitVRLittleEndian
    meta.MediaStorageSOPInstanceUID = generate_uid()
    data = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    data.SOPClassUID, data.SOPInstanceUID, data.Modality = WHOLE_SLIDE, meta.MediaStorageSOPInstanceUID, "SM"
    data.ImageType = ["ORIGINAL" if number == 0 else "DERIVED", "PRIMARY", kind, "NONE" if number == 0 else "RESAMPLED"]
    data.SeriesNumber, data.InstanceNumber, data.PatientID, data.PatientName = 1, number + 1, "p", "p"
    data.StudyDate = data.ContentDate = data.AcquisitionDateTime = "20240101"
    data.StudyTime = data.ContentTime = "000000"
    data.AccessionNumber = data.PatientSex = data.PatientBirthDate = data.ReferringPhysicianName = data.StudyID = ""
    data.Manufacturer = data.ManufacturerModelName = data.DeviceSerialNumber = data.SoftwareVersions = "test"
    data.Rows, data.Columns, data.NumberOfFrames = tile, tile, len(tiles)
    data.TotalPixelMatrixRows, data.TotalPixelMatrixColumns, data.TotalPixelMatrixFocalPlanes = height, width, 1
    data.SamplesPerPixel, data.PhotometricInterpretation, data.PlanarConfiguration = 3, "RGB", 0
    data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 8, 8, 7, 0
    data.BurnedInAnnotation, data.LossyImageCompression, data.FocusMethod = "NO", "00", "AUTO"
    data.SpecimenLabelInImage, data.ExtendedDepthOfField, data.VolumetricProperties = "NO", "NO", "VOLUME"
    data.DimensionOrganizationType, data.ImageOrientationSlide = "TILED_FULL", [0, 1, 0, 1, 0, 0]
    data.ContainerIdentifier, data.NumberOfOpticalPaths = "c", 1
    size = 1.0 if spacing is None else spacing
    data.ImagedVolumeWidth, data.ImagedVolumeHeight, data.ImagedVolumeDepth = width * size, height * size, 0.001
    origin = Dataset()
    origin.XOffsetInSlideCoordinateSystem = origin.YOffsetInSlideCoordinateSystem = 0
    data.TotalPixelMatrixOriginSequence = Sequence([origin])
    measures = Dataset()
    if spacing is not None:
        measures.PixelSpacing = [spacing, spacing]
    measures.SliceThickness, measures.SpacingBetweenSlices = 0.001, 0.001
    frames = Dataset()
    frames.FrameType = data.ImageType
    groups = Dataset()
    groups.PixelMeasuresSequence, groups.WholeSlideMicroscopyImageFrameTypeSequence = (
        Sequence([measures]),
        Sequence([frames]),
    )
    data.SharedFunctionalGroupsSequence = Sequence([groups])
    optical, light = Dataset(), Dataset()
    light.CodeValue, light.CodingSchemeDesignator, light.CodeMeaning = "111744", "DCM", "Brightfield illumination"
    optical.OpticalPathIdentifier, optical.IlluminationTypeCodeSequence = "1", Sequence([light])
    data.OpticalPathSequence = Sequence([optical])
    data.PixelData = tiles.tobytes()
    data["PixelData"].VR = "OB"
    return data
