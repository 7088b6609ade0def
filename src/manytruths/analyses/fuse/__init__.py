"""The command ``fuse``: consensus maps and masks, and how they differ."""
