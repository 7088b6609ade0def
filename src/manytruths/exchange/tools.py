"""The tools whose files can be read, by the name of the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from ..core.errors import CallError
from .readings import ImportOptions, Reading

Reader = Callable[[Sequence[Path | str], ImportOptions], list[Reading]]

READERS = {
    "cvat": "read_cvat",
    "labelstudio": "read_labelstudio",
    "coco": "read_coco",
    "labelme": "read_labelme",
    "slicer": "read_slicer",
    "dicomseg": "read_dicom_seg",
    "bids": "read_bids",
}
"""Functions of :mod:`manytruths.exchange`, which imports what a tool needs when it is first used."""


def reader(tool: str) -> Reader:
    """Find the function that reads the files of a tool."""
    if tool not in READERS:
        raise CallError(f"no tool {tool!r}; there are {', '.join(READERS)}")
    read: Reader = getattr(import_module(__package__), READERS[tool])
    return read
