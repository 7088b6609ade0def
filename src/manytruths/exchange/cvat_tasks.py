"""Tasks for CVAT that are still to be done: backups of tasks, which CVAT makes tasks of (*Create from backup*).

A backup is an archive of ``task.json`` (name, labels, how the images are kept, jobs), ``annotations.json`` (a list with
an entry for each job) and ``data`` with the images and ``manifest.jsonl``, which lists them with their sizes. With the
sorting method *predefined* CVAT shows them in the order of the manifest. The index of the manifest is no part of a
backup: CVAT makes it. Nor are assignees: CVAT leaves them out when it writes a backup, and reads none; so a task is
named after its rater.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..io import Location, atomic
from ..io.documents import PIECE, error_context
from ..io.files import suffix_of
from ..io.outline_files import flat_grid
from .cvat import EARLIEST, label_colour

PICTURES = ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff"
"""What CVAT and this package both read."""
LONGEST_NAME, LONGEST_LABEL = 256, 64
ORIENTATION = 274
"""The EXIF tag that says how a picture is turned before it is shown."""


def write_cvat_task(path: Path, name: str, images: Mapping[str, Location], labels: Sequence[str]) -> Path:
    """Write a task without annotations as a backup that CVAT takes.

    Parameters
    ----------
    path : Path
        The archive.
    name : str
        Of the task.
    images : mapping of str to Location
        The images in the order in which they are shown, by what CVAT calls them: relative paths.
    labels : sequence of str
        What may be marked; they can also be added in CVAT.

    Returns
    -------
    Path
        The archive.
    """
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"a task is called {name[:40]!r}…, and CVAT takes {LONGEST_NAME} characters; use a shorter name"
        )
    for label in labels:
        if len(label) > LONGEST_LABEL:
            raise InputError(f"label {label[:40]!r}…: CVAT takes {LONGEST_LABEL} characters; use a shorter name")
    manifest = [{"version": "1.1"}, {"type": "images"}, *(_entry(called, at) for called, at in images.items())]
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        _add_text(archive, "task.json", json.dumps(_task(name, len(images), labels)))
        _add_text(archive, "annotations.json", json.dumps([{"version": 0, "tags": [], "shapes": [], "tracks": []}]))
        lines = (json.dumps(line, separators=(",", ":")) + "\n" for line in manifest)
        _add_text(archive, "data/manifest.jsonl", "".join(lines))
        for called, at in images.items():
            with (
                open(at.path, "rb") as source,
                archive.open(_member(f"data/{called}"), "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target, PIECE)
    return path


def _task(name: str, size: int, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "name": name,
        "bug_tracker": "",
        "status": "annotation",
        "subset": "",
        "labels": [
            {"name": label, "color": label_colour(number), "attributes": [], "type": "any", "sublabels": []}
            for number, label in enumerate(labels)
        ],
        "version": "1.0",
        "data": {
            "image_quality": 100,
            "start_frame": 0,
            "stop_frame": size - 1,
            "storage_method": "cache",
            "storage": "local",
            "sorting_method": "predefined",
            "chunk_type": "imageset",
            "deleted_frames": [],
        },
        "jobs": [{"status": "annotation", "type": "annotation", "start_frame": 0, "stop_frame": size - 1}],
    }


def _entry(called: str, at: Location) -> dict[str, Any]:
    """A line of the manifest: name and ending apart, and the size as the image is shown."""
    from PIL import Image

    if at.member is not None or at.index is not None or suffix_of(at.path.name) not in PICTURES:
        raise InputError(f"{at}: CVAT takes images as files {', '.join(PICTURES)}; save it as one of these")
    height, width = flat_grid(at).shape
    with error_context(at.path), Image.open(at.path) as image:
        turned = image.getexif().get(ORIENTATION, 1) > 4
    stem, dot, ending = called.rpartition(".")
    if turned:
        width, height = height, width
    return {"name": stem, "extension": dot + ending, "width": width, "height": height}


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> None:
    about = _member(name)
    about.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(about, text)


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, EARLIEST)
