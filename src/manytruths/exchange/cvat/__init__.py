"""CVAT for images 1.1."""
