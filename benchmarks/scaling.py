"""Whole slides: counting and fusing masks that do not fit into memory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .measuring import Result, at_most, cost
from .phantoms import smooth

SIDE = 32768
CHUNK = 1024


def write_slides(root: Path, side: int) -> None:
    """Five raters' outlines of one thing as Zarr: a small phantom, magnified."""
    import zarr

    step = side // 4096
    for number, mask in enumerate(smooth(5, 4096)):
        store = zarr.create_array(
            root / f"masks/{'ABCDE'[number]}/slide.zarr", shape=(side, side), chunks=(CHUNK, CHUNK), dtype="u1"
        )
        for row in range(0, side, CHUNK):
            part = mask[row // step : (row + CHUNK) // step]
            store[row : row + CHUNK] = np.kron(part, np.ones((step, step), np.uint8))


DECODE = """
import sys
from concurrent.futures import ProcessPoolExecutor
import zarr
def decode(job):
    path, row = job
    array = zarr.open_array(path, mode="r")
    rows = array.chunks[0]
    total = 0
    for column in range(0, array.shape[1], array.chunks[1]):
        total += int(array[row : row + rows, column : column + array.chunks[1]][0, 0])
    return total
if __name__ == "__main__":
    jobs = [(p, r) for p in sys.argv[1:] for r in range(0, zarr.open_array(p).shape[0], zarr.open_array(p).chunks[0])]
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(decode, jobs, chunksize=4)))
"""

TALLY = """
import sys
import manytruths as mt
if __name__ == "__main__":
    table = mt.Study.open(sys.argv[1]).tally(jobs=int(sys.argv[2]))["slide"]
    assert table.items == int(sys.argv[3]) ** 2
    print(table.counts.tolist())
"""


def slides() -> Iterator[Result]:
    """The joint table of five masks on disk, against decoding them and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_slides(root, SIDE)
        masks = [str(root / f"masks/{rater}/slide.zarr") for rater in "ABCDE"]
        (root / "tally.py").write_text(TALLY)
        (root / "decode.py").write_text(DECODE)
        study = [str(root / "masks/{rater}/{case}.zarr"), "2", str(SIDE)]
        ours = cost([sys.executable, str(root / "tally.py"), *study])
        peer = cost([sys.executable, str(root / "decode.py"), *masks])
        times = f"{ours.seconds:.2f} CPU s, decoding {peer.seconds:.2f} CPU s"
        job = f"tally, 5 × {SIDE}² Zarr, 2 processes"
        yield at_most(job, "decoding all chunks in 2 processes", ours.seconds / peer.seconds, 2, times)
        yield at_most("  memory of all its processes", "", ours.memory, 500, unit="MB")


COPY = """
import sys
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec
*masks, source, target = sys.argv[1:]
for path in masks:
    array = zarr.open_array(path, mode="r")
    for row in range(0, array.shape[0], array.chunks[0]):
        for column in range(0, array.shape[1], array.chunks[1]):
            array[row : row + array.chunks[0], column : column + array.chunks[1]]
import os
for folder, folders, files in os.walk(source):
    if "zarr.json" in files and "c" in folders:
        old = zarr.open_array(folder, mode="r")
        new = zarr.create_array(
            os.path.join(target, os.path.relpath(folder, source)), shape=old.shape, chunks=old.chunks, dtype=old.dtype,
            compressors=(ZstdCodec(level=1), Crc32cCodec()), fill_value=0,
        )
        for row in range(0, old.shape[0], old.chunks[0]):
            for column in range(0, old.shape[1], old.chunks[1]):
                where = slice(row, row + old.chunks[0]), slice(column, column + old.chunks[1])
                new[where] = old[where]
"""


def slide_consensus() -> Iterator[Result]:
    """``fuse`` from Zarr to OME-Zarr, against reading the masks and writing the same maps."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_slides(root, SIDE)
        masks = [str(root / f"masks/{rater}/slide.zarr") for rater in "ABCDE"]
        (root / "same_maps.py").write_text(COPY)
        template = str(root / "masks/{rater}/{case}.zarr")
        fuse = [sys.executable, "-m", "manytruths", "fuse", template, "--quiet", "--out"]
        taken = {jobs: cost([*fuse, str(root / f"out{jobs}"), "--jobs", str(jobs)]) for jobs in (1, 2)}
        _same_files(root / "out1", root / "out2")
        same = [str(root / "same_maps.py"), *masks, str(root / "out1/fuse"), str(root / "copy")]
        peer = cost([sys.executable, *same]).seconds
        for jobs, ours in taken.items():
            times = f"{ours.seconds:.2f} CPU s, copying {peer:.2f} CPU s"
            job = f"fuse, 5 × {SIDE}² Zarr to OME-Zarr, {jobs} process{'es' if jobs > 1 else ''}"
            yield at_most(job, "reading the masks, writing the same maps", ours.seconds / peer, 2, times)
            yield at_most("  memory of all its processes", "", ours.memory, 1000, unit="MB")


def _same_files(one: Path, other: Path) -> None:
    """Refuse results that depend on the number of processes."""
    for path in one.rglob("*"):
        if path.is_file() and path.name != "run.json":
            assert path.read_bytes() == (other / path.relative_to(one)).read_bytes(), f"{path} differs"


LESIONS = 3000
"""Small ones beside the large outline, of which each rater misses some."""


def large_files() -> Iterator[Result]:
    """Every command on large PNG and TIFF files: memory beyond the masks, in bytes a pixel of one mask.

    All is measured: sizes, distances, lesions, regions. Beside it, how long that takes against counting alone.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    side, rng = 16384, np.random.default_rng(1)
    discs = np.column_stack([rng.integers(60, side - 60, (LESIONS, 2)), rng.integers(4, 25, LESIONS)])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        masks = dict(zip("ABCDE", smooth(5, 4096), strict=True))
        masks["net"] = np.roll(masks["A"], 40, axis=1)
        for who, mask in masks.items():
            (root / who).mkdir()
            whole = np.kron(mask, np.ones((side // 4096, side // 4096), np.uint8))
            for y, x, radius in discs[rng.random(LESIONS) < 0.8] + rng.integers(-1, 2, 3):
                down, along = np.ogrid[-radius : radius + 1, -radius : radius + 1]
                part = whole[y - radius : y + radius + 1, x - radius : x + radius + 1]
                part |= (down**2 + along**2 <= radius**2).astype(np.uint8)
            for suffix in ("png", "tif"):
                Image.fromarray(whole).save(
                    root / who / f"p1.{suffix}", **({"compression": "tiff_adobe_deflate"} if suffix == "tif" else {})
                )
        (root / "raters").mkdir()
        for rater in "ABCDE":
            (root / rater).rename(root / "raters" / rater)
        base = cost([sys.executable, "-c", "import numpy, scipy, manytruths"]).memory
        for suffix in ("png", "tif"):
            template, out = str(root / f"raters/{{rater}}/{{case}}.{suffix}"), ["--out", str(root / "out")]
            judged = ["--predictions", str(root / f"net/{{case}}.{suffix}")]
            report = [*judged, "--to", str(root / "report.html")]
            lines = {"agree": out, "fuse": out, "evaluate": [*judged, *out], "report": report}
            for name, more in lines.items():
                taken = cost([sys.executable, "-m", "manytruths", name, template, "--quiet", *more])
                # PNG files are decoded whole; tiles and strips of a TIFF stay on disk
                own = (6 if more[:2] == judged else 5) * side**2 / 1e6 if suffix == "png" else 0.0
                beyond = (taken.memory - own - base) * 1e6 / side**2
                times = f"{taken.seconds:.1f} CPU s, {taken.memory:.0f} MB"
                yield at_most(f"{name}, 5 × {side}² {suffix.upper()}, beyond the masks", "", beyond, 8, times, "B/px")
                if name == "agree":
                    alone = [*more, "--measure", "none", "--no-pictures"]
                    counting = cost([sys.executable, "-m", "manytruths", name, template, "--quiet", *alone]).seconds
                    job, times = "  sizes, distances, lesions and regions too", f"counting alone {counting:.1f} CPU s"
                    yield at_most(job, "counting and the search for broken masks", taken.seconds / counting, 4, times)


def write_image(path: Path, side: int) -> None:
    """A slide in colour as an OME-Zarr pyramid: a disc of one colour on white."""
    import zarr

    group, levels = zarr.open_group(path, mode="w", zarr_format=3), list[Any]()
    while not levels or side > CHUNK:
        side = side // 2 if levels else side
        level = group.create_array(str(len(levels)), shape=(3, side, side), chunks=(3, CHUNK, CHUNK), dtype="u1")
        for row in range(0, side, CHUNK):
            y, x = np.ogrid[row : row + CHUNK, :side]
            inside = np.hypot(y - side / 2, x - side / 2) < 0.45 * side
            level[:, row : row + CHUNK] = np.where(inside, np.array([205, 150, 190], np.uint8)[:, None, None], 255)
        scale = [1.0, *[0.5 * 2 ** len(levels)] * 2]
        levels.append({"path": str(len(levels)), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "slide", "axes": axes, "datasets": levels}]}


def slide_report() -> Iterator[Result]:
    """``report`` of a whole slide on disk with its image, against decoding the masks."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_slides(root, SIDE)
        write_image(root / "images/slide.zarr", SIDE)
        (root / "decode.py").write_text(DECODE)
        masks = [str(root / f"masks/{rater}/slide.zarr") for rater in "ABCDE"]
        given = [str(root / "masks/{rater}/{case}.zarr"), "--images", str(root / "images/{case}.zarr")]
        line = [sys.executable, "-m", "manytruths", "report", *given, "--quiet", "--to", str(root / "report.html")]
        ours, peer = (cost(each) for each in (line, [sys.executable, str(root / "decode.py"), *masks]))
        times = f"{ours.seconds:.2f} CPU s, decoding {peer.seconds:.2f} CPU s"
        job = f"report, 5 × {SIDE}² Zarr with its image"
        yield at_most(job, "decoding all chunks", ours.seconds / peer.seconds, 10, times)
        yield at_most("  memory of all its processes", "", ours.memory, 1000, unit="MB")


JOBS = {
    "slides": slides, "slide_consensus": slide_consensus, "slide_report": slide_report, "large_files": large_files,
}  # fmt: skip
