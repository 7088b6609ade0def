"""Reference readers: what a file's pixels are, by its format's own rules or by the package that others read it with."""

from __future__ import annotations

import gzip
import logging
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np

# it tells the log what it is asked to find out
logging.getLogger("tifffile").setLevel(logging.CRITICAL + 1)
logging.getLogger("nibabel.global").setLevel(logging.CRITICAL + 1)


class Unreadable(ValueError):
    """No honest reader makes anything of the file."""


def allowed(path: Path) -> list[np.ndarray]:
    """The arrays that a mask may be read as; none where it must be refused."""
    try:
        return reference(path)
    except Exception:
        # whatever a reader of others raises, it did not read the file
        return []


def reference(path: Path) -> list[np.ndarray]:
    """What reference readers see; where two that are both in use differ, both."""
    with open(path, "rb") as stream:
        start = stream.read(8)
    name = path.name.lower()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if start == b"\x89PNG\r\n\x1a\n":
            return [png(path.read_bytes())]
        if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return tiff(path)
        if start[:2] == b"BM" and name.endswith((".bmp", ".png", ".gif", ".jpg", ".tif")):
            return [bmp(path.read_bytes())]
        if start[:3] in (b"GIF", b"\xff\xd8\xff"):
            return [pillow(path)]
        if name.endswith((".npy", ".npz")):
            return [numpy_file(path)]
        if name.endswith((".nii", ".nii.gz")):
            return [nifti(path)]
        if name.endswith(".nrrd"):
            return nrrd(path)
        if name.endswith((".mha", ".mhd")):
            return [metaimage(path)]
    raise Unreadable(f"{path.name} starts with {start!r}")


# -- PNG, by the specification: https://www.w3.org/TR/png-3/ --------------------------------------------


def png(data: bytes) -> np.ndarray:
    """The stored samples of a picture of one channel: every check sum of what it needs must hold."""
    header, packed, ended, place = b"", b"", False, 8
    while place < len(data) and not ended:
        if place + 12 > len(data):
            raise Unreadable("a chunk is cut")
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        end = data[place + 8 + length : place + 12 + length]
        if len(body) < length or len(end) < 4:
            raise Unreadable("a chunk is cut")
        critical = not kind[0] & 0x20
        if critical and struct.unpack(">I", end)[0] != zlib.crc32(kind + body):
            raise Unreadable(f"the check sum of {kind!r}")
        if critical and kind not in (b"IHDR", b"PLTE", b"IDAT", b"IEND"):
            raise Unreadable(f"an unknown critical chunk {kind!r}")
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        ended = kind == b"IEND"
        place += 12 + length
    if not ended:
        raise Unreadable("it has no end")
    return _png_pixels(header, packed)


def _png_pixels(header: bytes, packed: bytes) -> np.ndarray:
    width, height, depth, colour, method, filters, interlace = struct.unpack(">IIBBBBB", header)
    if colour not in (0, 3) or method or filters or interlace or width * height > 1 << 26 or not width * height:
        raise Unreadable("colours, interlaced, empty or huge")
    stream = zlib.decompressobj()
    line = (width * depth + 7) // 8
    raw = stream.decompress(packed, height * (line + 1) + 1)
    if not stream.eof or len(raw) != height * (line + 1):
        raise Unreadable("another number of bytes than pixels")
    lines = _unfiltered(np.frombuffer(raw, np.uint8).reshape(height, line + 1), max(1, depth // 8))
    if depth == 16:
        return lines.view(">u2").astype(np.uint16)
    return _unpacked(lines, depth, width)


def _unfiltered(rows: np.ndarray, step: int) -> np.ndarray:
    height, line = rows.shape[0], rows.shape[1] - 1
    found = np.zeros((height + 1, line + step), int)
    for y in range(height):
        kind, values, above = rows[y, 0], rows[y, 1:].astype(int), found[y]
        if kind > 4:
            raise Unreadable("an unknown filter")
        if kind in (0, 2):
            found[y + 1, step:] = (values + above[step:] * (kind == 2)) & 255
            continue
        for x in range(line):
            left, up, corner = found[y + 1, x], above[x + step], above[x]
            near = (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]
            found[y + 1, x + step] = (values[x] + near) & 255
    return found[1:, step:].astype(np.uint8)


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def _unpacked(lines: np.ndarray, depth: int, width: int) -> np.ndarray:
    """Samples of 1, 2, 4 or 8 bits, the highest first."""
    bits = np.unpackbits(lines, axis=1).reshape(len(lines), -1, depth)
    return (bits @ (1 << np.arange(depth)[::-1])).astype(np.uint8)[:, :width]


# -- other formats --------------------------------------------------------------------------------------


def bmp(data: bytes) -> np.ndarray:
    """Indices as they are stored, uncompressed, from the lowest row up."""
    start, size, width, height = struct.unpack("<IIii", data[10:26])
    depth, packing = struct.unpack("<HI", data[28:34])
    if size < 40 or packing or depth not in (1, 4, 8) or width <= 0 or not 0 < abs(height) < 1 << 16:
        raise Unreadable("colours, packed or of a strange size")
    line = (width * depth + 31) // 32 * 4
    rows = np.frombuffer(data[start : start + line * abs(height)], np.uint8).reshape(abs(height), line)
    return _unpacked(rows[::-1] if height > 0 else rows, depth, width)


def pillow(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image)


def tiff(path: Path) -> list[np.ndarray]:
    """tifffile gives what is stored; Pillow turns pictures round as their orientation says, and inverts some."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        if any(np.prod(page.shape) > 1 << 26 for page in file.pages):
            raise Unreadable("huge")
        try:
            found = [np.asarray(file.series[0].asarray())]
        except ValueError as error:
            if "image description" not in str(error):
                raise
            # a comment in the words of tifffile that was damaged: the pages are as they are stored
            found = [np.squeeze(np.stack([page.asarray() for page in file.pages]))]
        if file.pages[0].photometric == 0 or "Orientation" not in {tag.name for tag in file.pages[0].tags}:
            return found
    return [*found, pillow(path)]


def numpy_file(path: Path) -> np.ndarray:
    found = np.load(path, allow_pickle=False)
    return found if isinstance(found, np.ndarray) else found[next(iter(found))]


def nifti(path: Path) -> np.ndarray:
    import nibabel

    data = path.read_bytes()
    # packed or not by its content, as a name is easily wrong
    image = nibabel.Nifti1Image.from_bytes(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if np.prod([int(n) for n in image.shape]) > 1 << 26:
        raise Unreadable("huge")
    return np.asanyarray(image.dataobj)


def nrrd(path: Path) -> list[np.ndarray]:
    import nrrd as pynrrd
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)
    found, reasons = [], []
    for read in (
        lambda: SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).T,
        lambda: pynrrd.read(str(path))[0],
    ):
        try:
            found.append(np.asarray(read()))
        except Exception as error:
            # each refuses in ways of its own
            reasons.append(str(error))
    if not found:
        raise Unreadable("; ".join(reasons))
    return found


def metaimage(path: Path) -> np.ndarray:
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)
    return SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).T


# -- comparing -------------------------------------------------------------------------------------------


def same(array: np.ndarray, other: np.ndarray) -> bool:
    """The same values; axes of length one do not count, nor how many bytes a number takes."""
    return (
        array.size == other.size
        and np.squeeze(array).shape == np.squeeze(other).shape
        and bool((np.squeeze(array).astype(float) == np.squeeze(other).astype(float)).all())
    )


def told(array: np.ndarray, others: list[np.ndarray]) -> str:
    """How pixels differ, in short."""
    seen = f"read as {array.shape} with {np.unique(array)[:5].tolist()}"
    if not others:
        return f"{seen}; no reference reader reads it"
    other = others[0]
    many = int((array.astype(float) != other.astype(float)).sum()) if array.shape == other.shape else "all"
    return f"{seen}; the reference reader has {other.shape} with {np.unique(other)[:5].tolist()}, {many} differ"


def kappa(one: np.ndarray, other: np.ndarray) -> float:
    """Cohen's, over all pixels; of masks with one mark each, whatever its value is."""
    if max(np.unique(one[one != 0]).size, np.unique(other[other != 0]).size) <= 1:
        one, other = one != 0, other != 0
    values, codes = np.unique(np.stack([one.ravel(), other.ravel()]), return_inverse=True)
    table = np.zeros((values.size, values.size))
    np.add.at(table, tuple(codes.reshape(2, -1)), 1)
    table /= table.sum()
    chance = float(table.sum(0) @ table.sum(1))
    return float("nan") if chance == 1 else (float(np.trace(table)) - chance) / (1 - chance)


def opens(path: Path) -> None:
    """Raise where a picture or an array is not whole."""
    from PIL import Image

    if path.suffix in (".png", ".tif"):
        with Image.open(path) as image:
            image.load()
    else:
        reference(path)
