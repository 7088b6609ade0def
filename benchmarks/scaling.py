"""Whole slides: counting and fusing masks that do not fit into memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .measuring import Result, at_most
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


def measured(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds of a program and all that it starts, and the most memory of all of them together, in MB."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    most, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], sum(map(_resident, _family(process.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    watcher.join()
    assert process.returncode == 0, f"{arguments} failed"
    return used.ru_utime + used.ru_stime, most[0]


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def _resident(pid: int) -> float:
    """Memory of a process in MB; what processes share is counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000
    except (OSError, StopIteration):
        return 0.0


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
from concurrent.futures import ProcessPoolExecutor
import manytruths as mt
import zarr
class Rows:
    def __init__(self, path, first, last):
        self.array, self.first = zarr.open_array(path, mode="r"), first
        self.shape, self.dtype = (last - first, self.array.shape[1]), self.array.dtype
        self.chunks = self.array.chunks
    def whole(self, where):
        return (slice(where[0].start + self.first, where[0].stop + self.first), where[1])
    def known_value(self, where):
        from manytruths.core.tiles import known_value
        return known_value(self.array, self.whole(where))
    def __getitem__(self, where):
        return self.array[self.whole(where)]
def count(ends):
    return mt.tally({p: Rows(p, *ends) for p in sys.argv[1:]})
if __name__ == "__main__":
    side = zarr.open_array(sys.argv[1]).shape[0]
    cuts = [side * k // 8 // 1024 * 1024 for k in range(9)]
    with ProcessPoolExecutor(2) as pool:
        table = mt.pool(pool.map(count, zip(cuts, cuts[1:])))
    assert table.items == side**2
    print(table.counts.tolist())
"""


def slides() -> Iterator[Result]:
    """The joint table of five masks on disk, against decoding them and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_slides(root, SIDE)
        masks = [str(root / f"masks/{rater}/slide.zarr") for rater in "ABCDE"]
        programs = {"tally": TALLY, "decode": DECODE}
        for name, text in programs.items():
            (root / f"{name}.py").write_text(text)
        (ours, memory), (peer, _) = (measured([sys.executable, str(root / f"{n}.py"), *masks]) for n in programs)
        times = f"{ours:.2f} CPU s, decoding {peer:.2f} CPU s"
        job = f"tally, 5 × {SIDE}² Zarr, 2 processes"
        yield at_most(job, "decoding all chunks in 2 processes", ours / peer, 2, times)
        yield at_most("  memory of all its processes", "", memory, 500, unit="MB")


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
        fuse = [sys.executable, "-m", "manytruths", "fuse", template, "--quiet", "--out", str(root / "out")]
        ours, memory = measured(fuse)
        same = [str(root / "same_maps.py"), *masks, str(root / "out/fuse"), str(root / "copy")]
        peer, _ = measured([sys.executable, *same])
        times = f"{ours:.2f} CPU s, copying {peer:.2f} CPU s"
        job = f"fuse, 5 × {SIDE}² Zarr to OME-Zarr"
        yield at_most(job, "reading the masks, writing the same maps", ours / peer, 2, times)
        yield at_most("  memory of all its processes", "", memory, 1000, unit="MB")


LESIONS = 3000
"""Small ones beside the large outline, of which each rater misses some."""


def large_files() -> Iterator[Result]:
    """``agree`` and ``fuse`` of large PNG and TIFF files: memory beyond the masks, in bytes a pixel of one mask.

    All is measured: sizes, distances, lesions, regions. Beside it, how long that takes against counting alone.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    side, rng = 16384, np.random.default_rng(1)
    discs = np.column_stack([rng.integers(60, side - 60, (LESIONS, 2)), rng.integers(4, 25, LESIONS)])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for rater, mask in zip("ABCDE", smooth(5, 4096), strict=True):
            (root / rater).mkdir()
            whole = np.kron(mask, np.ones((side // 4096, side // 4096), np.uint8))
            for y, x, radius in discs[rng.random(LESIONS) < 0.8] + rng.integers(-1, 2, 3):
                down, along = np.ogrid[-radius : radius + 1, -radius : radius + 1]
                part = whole[y - radius : y + radius + 1, x - radius : x + radius + 1]
                part |= (down**2 + along**2 <= radius**2).astype(np.uint8)
            for suffix in ("png", "tif"):
                Image.fromarray(whole).save(
                    root / rater / f"p1.{suffix}", **({"compression": "tiff_adobe_deflate"} if suffix == "tif" else {})
                )
        base = measured([sys.executable, "-c", "import numpy, scipy, manytruths"])[1]
        for suffix in ("png", "tif"):
            # PNG files are decoded whole; tiles and strips of a TIFF stay on disk
            own = 5 * side**2 / 1e6 if suffix == "png" else 0.0
            for name in ("agree", "fuse"):
                template = str(root / f"{{rater}}/{{case}}.{suffix}")
                line = [sys.executable, "-m", "manytruths", name, template, "--quiet", "--out", str(root / "out")]
                seconds, memory = measured(line)
                beyond = (memory - own - base) * 1e6 / side**2
                times = f"{seconds:.1f} CPU s, {memory:.0f} MB"
                yield at_most(f"{name}, 5 × {side}² {suffix.upper()}, beyond the masks", "", beyond, 8, times, "B/px")
                if name == "agree":
                    counting, _ = measured([*line, "--measure", "none", "--no-pictures"])
                    job, times = "  sizes, distances, lesions and regions too", f"counting alone {counting:.1f} CPU s"
                    yield at_most(job, "counting and the search for broken masks", seconds / counting, 4, times)


JOBS = {"slides": slides, "slide_consensus": slide_consensus, "large_files": large_files}
