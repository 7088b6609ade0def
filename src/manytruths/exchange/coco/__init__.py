"""COCO files."""
