"""The tools whose files can be read, by the name of the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from ..core.errors import CallError
from .reads import Choices, Read

Reader = Callable[[Sequence[Path | str], Choices], list[Read]]

_READERS = {
    "cvat": ("cvat.reading", "read_cvat"),
    "labelstudio": ("labelstudio.reading", "read_labelstudio"),
    "coco": ("coco.reading", "read_coco"),
    "labelme": ("labelme.reading", "read_labelme"),
    "slicer": ("slicer.reading", "read_slicer"),
    "dicomseg": ("dicom.reading", "read_dicom_seg"),
    "bids": ("bids.reading", "read_bids"),
}
"""Module and function: what a tool needs is imported when it is asked for."""


def reader(tool: str) -> Reader:
    """What reads the files of a tool."""
    if tool not in _READERS:
        raise CallError(f"no tool {tool!r}; there are {', '.join(_READERS)}")
    module, name = _READERS[tool]
    found: Reader = getattr(import_module(f".{module}", __package__), name)
    return found
