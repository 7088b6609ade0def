"""LabelMe: one JSON an image."""
