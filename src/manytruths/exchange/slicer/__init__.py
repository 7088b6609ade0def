"""3D Slicer's segmentations, ``.seg.nrrd``."""
