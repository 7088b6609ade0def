"""DICOM segmentations, and the series that they were drawn on."""
