"""Damaged pixels: every format and depth, with every kind of damage that a disk, a hurried script or an enemy does."""

from __future__ import annotations

import functools
import gzip
import io
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from ..honest import ALGORITHMS, OF_MASKS, OF_VOLUMES, RATERS, SIZE, USUAL, line, mask, write_study
from ..model import Attack, Expected

VICTIM = "in/masks/B/p2"
GIB = 1 << 30


# -- honest files ---------------------------------------------------------------------------------------


def _png(array: np.ndarray, depth: int = 8, palette: bool = False) -> bytes:
    """Written by hand, as Pillow does not write all depths."""
    height, width = array.shape
    if depth == 16:
        rows = [b"\0" + line_.astype(">u2").tobytes() for line_ in array]
    else:
        bits = (array[..., None] >> np.arange(depth)[::-1]) & 1
        rows = [b"\0" + np.packbits(row.astype(np.uint8)).tobytes() for row in bits.reshape(height, -1)]
    head = struct.pack(">IIBBBBB", width, height, depth, 3 if palette else 0, 0, 0, 0)
    colours = chunk(b"PLTE", bytes(range(12))) if palette else b""
    return png_of(head, zlib.compress(b"".join(rows)), colours)


def png_of(head: bytes, packed: bytes, between: bytes = b"") -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + between + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _pillow(array: np.ndarray, kind: str, mode: str = "L", **options: object) -> bytes:
    stream = io.BytesIO()
    image = Image.fromarray(array * 255 if mode == "1" or kind == "JPEG" else array)
    if mode == "P":
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    (image.convert("1") if mode == "1" else image).save(stream, kind, **options)
    return stream.getvalue()


def _tiff(array: np.ndarray, dtype: str = "u1", **options: object) -> bytes:
    import tifffile

    stream = io.BytesIO()
    tifffile.imwrite(stream, array.astype(dtype), **{"photometric": "minisblack", **options})
    return stream.getvalue()


def _npy(array: np.ndarray, dtype: str = "u1") -> bytes:
    stream = io.BytesIO()
    np.save(stream, array.astype(dtype))
    return stream.getvalue()


def _npz(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, mask=array)
    return stream.getvalue()


def _nifti(array: np.ndarray, dtype: str = "u1", packed: bool = False, slope: float | None = None) -> bytes:
    import nibabel

    image = nibabel.Nifti1Image(array.astype(dtype), np.diag([1.0, 1.0, 2.0, 1.0]))
    if slope is not None:
        image.header.set_slope_inter(slope, 0)
    data = image.to_bytes()
    return gzip.compress(data, mtime=0) if packed else data


def _nrrd(array: np.ndarray, encoding: str = "raw") -> bytes:
    head = f"NRRD0004\ntype: uchar\ndimension: 3\nsizes: {' '.join(map(str, array.shape))}\nencoding: {encoding}\n"
    head += "space: left-posterior-superior\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace origin: (0,0,0)\n\n"
    data = array.astype(np.uint8).tobytes("F")
    return head.encode() + (gzip.compress(data, mtime=0) if encoding == "gzip" else data)


def _mha(array: np.ndarray, packed: bool = False) -> bytes:
    data = array.astype(np.uint8).tobytes("F")
    data = zlib.compress(data) if packed else data
    head = f"ObjectType = Image\nNDims = 3\nBinaryData = True\nCompressedData = {packed}\n"
    head += f"CompressedDataSize = {len(data)}\n" if packed else ""
    head += "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 0 0 0\nElementSpacing = 1 1 2\n"
    head += f"DimSize = {' '.join(map(str, array.shape))}\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
    return head.encode() + data


def volume_of(array: np.ndarray) -> np.ndarray:
    return np.stack([array] * 4, axis=-1)


@dataclass(frozen=True)
class Format:
    """How a mask becomes a file."""

    suffix: str
    write: Callable[[np.ndarray], bytes]
    volume: bool = False
    clean: Expected = "accepted"
    """What becomes of files that nobody damaged."""

    @functools.cache  # noqa: B019  (a few formats, made once)
    def bytes(self, rater: int, case: int) -> bytes:
        array = mask(rater, case)
        return self.write(volume_of(array) if self.volume else array)


FORMATS = {
    "png-1": Format(".png", partial(_png, depth=1)),
    "png-2": Format(".png", partial(_png, depth=2)),
    "png-4": Format(".png", partial(_png, depth=4)),
    "png-8": Format(".png", partial(_png, depth=8)),
    "png-16": Format(".png", partial(_png, depth=16)),
    "png-palette": Format(".png", partial(_png, depth=8, palette=True)),
    "png-palette-1": Format(".png", partial(_png, depth=1, palette=True)),
    "tiff-1": Format(".tif", partial(_pillow, kind="TIFF", mode="1")),
    "tiff-8": Format(".tif", _tiff),
    "tiff-16": Format(".tif", partial(_tiff, dtype="u2")),
    "tiff-32": Format(".tif", partial(_tiff, dtype="u4")),
    "tiff-float": Format(".tif", partial(_tiff, dtype="f4")),
    "tiff-big-endian": Format(".tif", partial(_tiff, dtype=">u2", byteorder=">")),
    "tiff-bigtiff": Format(".tif", partial(_tiff, bigtiff=True)),
    "tiff-tiled": Format(".tif", partial(_tiff, tile=(16, 16))),
    "tiff-deflate": Format(".tif", partial(_tiff, compression="zlib", predictor=True)),
    "tiff-lzw": Format(".tif", partial(_pillow, kind="TIFF", compression="tiff_lzw")),
    "tiff-miniswhite-1": Format(".tif", partial(_tiff, dtype="?", photometric="miniswhite"), clean="either"),
    "tiff-miniswhite-16": Format(".tif", partial(_tiff, dtype="u2", photometric="miniswhite"), clean="either"),
    "tiff-stack": Format(".tif", lambda array: _tiff(np.moveaxis(array, -1, 0)), volume=True),
    "bmp-8": Format(".bmp", partial(_pillow, kind="BMP")),
    "bmp-1": Format(".bmp", partial(_pillow, kind="BMP", mode="1")),
    "gif": Format(".gif", partial(_pillow, kind="GIF", mode="P")),
    "jpeg": Format(".jpg", partial(_pillow, kind="JPEG"), clean="either"),
    "npy-u1": Format(".npy", _npy),
    "npy-i8": Format(".npy", partial(_npy, dtype="i8")),
    "npy-bool": Format(".npy", partial(_npy, dtype="?")),
    "npy-float": Format(".npy", partial(_npy, dtype="f8")),
    "npz": Format(".npz", _npz),
    "nifti": Format(".nii", _nifti, volume=True),
    "nifti-i2": Format(".nii", partial(_nifti, dtype="i2"), volume=True),
    "nifti-slope": Format(".nii", partial(_nifti, dtype="i2", slope=2.0), volume=True),
    "nifti-gz": Format(".nii.gz", partial(_nifti, packed=True), volume=True),
    "nrrd": Format(".nrrd", _nrrd, volume=True),
    "nrrd-gz": Format(".nrrd", partial(_nrrd, encoding="gzip"), volume=True),
    "mha": Format(".mha", _mha, volume=True),
    "mha-packed": Format(".mha", partial(_mha, packed=True), volume=True),
}


def write(folder: Path, chance: random.Random, form: Format) -> None:
    """A study of three raters and cases in one format, and algorithms where commands want them."""
    write_study(folder)
    for y, case in enumerate(USUAL.cases):
        for x, rater in enumerate(RATERS):
            (folder / f"in/masks/{rater}/{case}.png").unlink()
            (folder / f"in/masks/{rater}/{case}{form.suffix}").write_bytes(form.bytes(x, y))
        for x, algorithm in enumerate(ALGORITHMS):
            (folder / f"in/pred/{algorithm}/{case}.png").unlink()
            (folder / f"in/pred/{algorithm}/{case}{form.suffix}").write_bytes(form.bytes(x, y))


def line_for(command: str, suffix: str, *more: str) -> list[str]:
    return line(
        command, f"in/masks/{{rater}}/{{case}}{suffix}", *more, predictions=f"in/pred/{{algorithm}}/{{case}}{suffix}"
    )


# -- damage ----------------------------------------------------------------------------------------------

Damage = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, chance: random.Random, first: float = 0.0, last: float = 1.0, bits: int = 1) -> bytes:
    """Some bits, between two shares of the file."""
    changed = bytearray(data)
    for _ in range(bits):
        at = chance.randrange(int(first * len(data)), max(int(first * len(data)) + 1, int(last * len(data))))
        changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(data: bytes, chance: random.Random, first: float, last: float) -> bytes:
    return data[: max(1, int(chance.uniform(first, last) * len(data)))]


def zeroed(data: bytes, chance: random.Random) -> bytes:
    """A sector that was never written."""
    at = chance.randrange(len(data) // 3, len(data))
    return data[:at] + bytes(len(data) - at)


DAMAGES: dict[str, tuple[Damage, Expected]] = {
    "flip-1": (flipped, "either"),
    "flip-header": (partial(flipped, last=0.15), "either"),
    "flip-tail": (partial(flipped, first=0.7), "either"),
    "flip-8": (partial(flipped, bits=8), "either"),
    "cut-short": (partial(cut, first=0.0, last=0.1), "either"),
    "cut-half": (partial(cut, first=0.4, last=0.8), "either"),
    "cut-tail": (lambda data, chance: data[:-1], "either"),
    "zeroed": (zeroed, "either"),
    "empty": (lambda data, chance: b"", "refused"),
    "text": (lambda data, chance: b"<html>404 Not Found</html>" * 40, "refused"),
    "noise": (lambda data, chance: chance.randbytes(len(data)), "refused"),
    "appended": (lambda data, chance: data + chance.randbytes(64), "either"),
}


def _damaged(folder: Path, chance: random.Random, form: Format, damage: Damage) -> None:
    write(folder, chance, form)
    victim = folder / f"{VICTIM}{form.suffix}"
    victim.write_bytes(damage(victim.read_bytes(), chance))


def attacks() -> Iterator[Attack]:
    number = 0
    for name, form in FORMATS.items():
        commands = OF_VOLUMES if form.volume else OF_MASKS
        yield _of(name, "honest", form, "agree", partial(write, form=form), form.clean, 0)
        for k, (kind, (damage, expected)) in enumerate(DAMAGES.items()):
            number += 1
            if "flip" not in kind and (k + len(name)) % 2:
                continue  # bits flip in every format; of the rest, each format gets half
            # every second one by agree: its kappas are computed again from what the reference reader saw
            command = "agree" if number % 2 else commands[number // 2 % len(commands)]
            yield _of(name, kind, form, command, partial(_damaged, form=form, damage=damage), expected, number)
    yield from _swaps()
    yield from _headers()
    yield from _bombs()
    yield from _objects()


def _of(
    name: str, kind: str, form: Format, command: str, make: Callable[..., None], expected: Expected, k: int
) -> Attack:
    more = ["--quiet"] * (k % 3 == 0) + ["--jobs", "1"] * (k % 4 > 0 and command not in ("plan", "reliability"))
    return Attack(
        f"pixels/{name}-{kind}",
        make,
        line_for(command, form.suffix, *more),
        expected,
        pixels=[f"{VICTIM}{form.suffix}"],
        original=partial(write, form=form),
        earlier=k % 3 == 1,
        agreement=f"in/masks/{{rater}}/{{case}}{form.suffix}" if command == "agree" else "",
    )


# -- another format under the name --------------------------------------------------------------------


def _swapped(folder: Path, chance: random.Random, form: Format, other: Format) -> None:
    write(folder, chance, form)
    (folder / f"{VICTIM}{form.suffix}").write_bytes(other.bytes(1, 1))


def _swaps() -> Iterator[Attack]:
    pairs = [("png-8", "tiff-8"), ("png-8", "jpeg"), ("png-8", "npy-u1"), ("tiff-8", "png-16"), ("npy-u1", "npz"),
             ("npz", "npy-u1"), ("nifti", "nifti-gz"), ("nifti-gz", "nifti"), ("nrrd", "nifti"), ("nifti", "nrrd"),
             ("bmp-8", "gif"), ("gif", "png-palette"), ("jpeg", "png-8"), ("tiff-stack", "tiff-8")]  # fmt: skip
    for k, (name, other) in enumerate(pairs):
        form, make = FORMATS[name], partial(_swapped, form=FORMATS[name], other=FORMATS[other])
        yield Attack(
            f"pixels/{name}-is-{other}",
            make,
            line_for(("agree", "fuse", "check")[k % 3], form.suffix),
            pixels=[f"{VICTIM}{form.suffix}"],
            earlier=k % 2 == 0,
        )


# -- sizes that are lies, and files that grow --------------------------------------------------------


def _replaced(folder: Path, chance: random.Random, form: Format, content: Callable[[], bytes]) -> None:
    write(folder, chance, form)
    (folder / f"{VICTIM}{form.suffix}").write_bytes(content())


def _patched(form: Format, at: int, code: str, *values: int) -> Callable[[], bytes]:
    def content() -> bytes:
        data = bytearray(form.bytes(1, 1))
        struct.pack_into(code, data, at, *values)
        return bytes(data)

    return content


def _npy_header(text: str) -> Callable[[], bytes]:
    head = text.encode().ljust(118) + b"\n"
    return lambda: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(SIZE * SIZE)


def _nrrd_header(sizes: str, dimension: int = 3, kind: str = "uchar", encoding: str = "raw") -> Callable[[], bytes]:
    head = f"NRRD0004\ntype: {kind}\ndimension: {dimension}\nsizes: {sizes}\nencoding: {encoding}\n\n"
    return lambda: head.encode() + bytes(SIZE * SIZE * 4)


def _tiff_tag(tag: int, value: int) -> Callable[[], bytes]:
    """A tag of an honest TIFF with another value."""

    def content() -> bytes:
        data = bytearray(_tiff(mask(1, 1)))
        (place,) = struct.unpack_from("<I", data, 4)
        (count,) = struct.unpack_from("<H", data, place)
        for at in range(place + 2, place + 2 + 12 * count, 12):
            if struct.unpack_from("<H", data, at)[0] == tag:
                wide = struct.unpack_from("<H", data, at + 2)[0] == 4
                struct.pack_into("<I" if wide else "<H", data, at + 8, value)
        return bytes(data)

    return content


def _headers() -> Iterator[Attack]:
    ihdr = struct.Struct(">IIBBBBB").pack
    lies: list[tuple[str, str, Callable[[], bytes]]] = [
        ("png-8", "png-2147483647", lambda: png_of(ihdr(2**31 - 1, 2**31 - 1, 8, 0, 0, 0, 0), zlib.compress(b"\0"))),
        ("png-8", "png-100000", lambda: png_of(ihdr(100_000, 100_000, 8, 0, 0, 0, 0), zlib.compress(bytes(99)))),
        ("png-8", "png-0-wide", lambda: png_of(ihdr(0, 32, 8, 0, 0, 0, 0), zlib.compress(b""))),
        ("png-8", "png-depth-3", lambda: png_of(ihdr(32, 32, 3, 0, 0, 0, 0), zlib.compress(bytes(999)))),
        ("png-8", "png-colour-5", lambda: png_of(ihdr(32, 32, 8, 5, 0, 0, 0), zlib.compress(bytes(1056)))),
        ("png-8", "png-too-few-rows", lambda: png_of(ihdr(32, 32, 8, 0, 0, 0, 0), zlib.compress(bytes(33 * 9)))),
        ("png-8", "png-no-data", lambda: png_of(ihdr(32, 32, 8, 0, 0, 0, 0), b"")),
        ("tiff-8", "tiff-wide", _tiff_tag(256, 2**31 - 1)),
        ("tiff-8", "tiff-high", _tiff_tag(257, 2**31 - 1)),
        ("tiff-8", "tiff-0-wide", _tiff_tag(256, 0)),
        ("tiff-8", "tiff-bits-9", _tiff_tag(258, 9)),
        ("tiff-8", "tiff-compression-9999", _tiff_tag(259, 9999)),
        ("tiff-8", "tiff-samples-3", _tiff_tag(277, 3)),
        ("tiff-8", "tiff-data-far-away", _tiff_tag(273, 2**31)),
        ("bmp-8", "bmp-huge", _patched(FORMATS["bmp-8"], 18, "<ii", 2**31 - 1, 2**31 - 1)),
        ("bmp-8", "bmp-negative", _patched(FORMATS["bmp-8"], 18, "<ii", -32, 32)),
        ("gif", "gif-65535", _patched(FORMATS["gif"], 6, "<HH", 65535, 65535)),
        ("npy-u1", "npy-10**18", _npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (10**9, 10**9), }")),
        ("npy-u1", "npy-huge",
        _npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000, 1000000000), }")),
        ("npy-u1", "npy-2**63", _npy_header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**63}, 2), }}")),
        ("npy-u1", "npy-negative", _npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (-32, -32), }")),
        ("npy-u1", "npy-code",
        _npy_header("{'descr': __import__('os').getpid(), 'fortran_order': False, 'shape': (1,), }")),
        ("npy-u1", "npy-deep", lambda: _npy_header("(" * 50 + ")" * 50)()),
        ("npy-u1", "npy-not-a-dict", _npy_header("[1, 2, 3]")),
        ("nifti", "nifti-dims", _patched(FORMATS["nifti"], 40, "<8h", 3, 32767, 32767, 32767, 1, 1, 1, 1)),
        ("nifti", "nifti-negative", _patched(FORMATS["nifti"], 40, "<8h", 3, -32, 32, 4, 1, 1, 1, 1)),
        ("nifti", "nifti-9-axes", _patched(FORMATS["nifti"], 40, "<8h", 9, 32, 32, 4, 1, 1, 1, 1)),
        ("nifti", "nifti-type-9999", _patched(FORMATS["nifti"], 70, "<h", 9999)),
        ("nifti", "nifti-offset", _patched(FORMATS["nifti"], 108, "<f", 1_000_000_000)),
        ("nifti", "nifti-nan-affine", _patched(FORMATS["nifti"], 280, "<4I", *[0x7FC00000] * 4)),
        ("nrrd", "nrrd-huge", _nrrd_header("1000000000 1000000000 1000000000")),
        ("nrrd", "nrrd-negative", _nrrd_header("-32 32 4")),
        ("nrrd", "nrrd-99-axes", _nrrd_header(" ".join("1" * 99), 99)),
        ("nrrd", "nrrd-too-few-sizes", _nrrd_header("32 32")),
        ("nrrd", "nrrd-block", _nrrd_header("32 32 4", kind="block")),
        ("nrrd", "nrrd-bzip-that-is-none", _nrrd_header("32 32 4", encoding="bzip2")),
        ("nrrd", "nrrd-unknown-encoding", _nrrd_header("32 32 4", encoding="zstd")),
    ]  # fmt: skip
    for k, (name, lie, content) in enumerate(lies):
        form = FORMATS[name]
        commands = OF_VOLUMES if form.volume else OF_MASKS
        yield Attack(
            f"pixels/lie-{lie}",
            partial(_replaced, form=form, content=content),
            line_for(commands[k % len(commands)], form.suffix),
            "refused",
            limits={"AS_ABOVE": 2 * GIB},
            earlier=k % 2 == 0,
        )


def _zip(*entries: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in entries:
            archive.writestr(name, data)
    return stream.getvalue()


def _bombs() -> Iterator[Attack]:
    def wide(side: int) -> bytes:
        packer = zlib.compressobj(1)
        packed = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
        return png_of(struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0), packed)

    def long_after(data: bytes) -> bytes:
        packer = zlib.compressobj(9, wbits=31)
        return packer.compress(data) + b"".join(packer.compress(bytes(1 << 22)) for _ in range(256)) + packer.flush()

    bombs: list[tuple[str, str, Callable[[], bytes], Expected]] = [
        ("png-8", "png-20000", lambda: wide(20_000), "refused"),
        ("png-8", "png-text-of-512-MB", lambda: png_of(
            struct.pack(">IIBBBBB", 32, 32, 8, 0, 0, 0, 0), zlib.compress(bytes(1056)),
            chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(1 << 29), 9))), "either"),
        ("nifti-gz", "gzip-of-1-GB", lambda: long_after(FORMATS["nifti"].bytes(1, 1)), "either"),
        ("npz", "npz-of-512-MB", lambda: _zip(("mask.npy", _npy(np.zeros((1, 1)))[:80] + bytes(1 << 29))), "refused"),
        ("npz", "npz-of-1000-arrays", lambda: _zip(*((f"{k}.npy", _npy(mask(1, 1))) for k in range(1000))), "refused"),
        ("npz", "npz-of-nothing", lambda: _zip(), "refused"),
        ("npz", "npz-outside", lambda: _zip(("../../elsewhere/precious.txt.npy", _npy(mask(1, 1)))), "either"),
        ("npz", "npz-twice", lambda: _zip(("mask.npy", _npy(mask(1, 1))), ("mask.npy", _npy(mask(2, 2)))), "either"),
        ("nrrd-gz", "nrrd-gzip-of-1-GB", lambda: _nrrd_header("32 32 4", encoding="gzip")()[: -SIZE * SIZE * 4]
            + long_after(bytes(SIZE * SIZE * 4)), "either"),
    ]  # fmt: skip
    for k, (name, bomb, content, expected) in enumerate(bombs):
        form = FORMATS[name]
        yield Attack(
            f"pixels/bomb-{bomb}",
            partial(_replaced, form=form, content=content),
            line_for(("agree", "fuse", "report")[k % 3], form.suffix, "--jobs", "1"),
            expected,
            limits={"AS_ABOVE": 2 * GIB},
        )


# -- files that point or run ----------------------------------------------------------------------------


class _Touch:
    """Unpickled, it changes what is not ours."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, ("elsewhere/precious.txt", "w")


def pickled() -> bytes:
    import pickle

    return pickle.dumps(_Touch())


def _object_array() -> bytes:
    head = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + pickled()


def _detached(folder: Path, chance: random.Random, target: str, extra: Sequence[str] = ()) -> None:
    form = FORMATS["nrrd"]
    write(folder, chance, form)
    victim = folder / f"{VICTIM}.nrrd"
    head = victim.read_bytes().partition(b"\n\n")[0].decode()
    victim.write_text("\n".join([head, *extra, f"data file: {target}"]) + "\n\n")
    (folder / "in/masks/B/data.raw").write_bytes(volume_of(mask(1, 1)).tobytes("F"))
    (folder / "elsewhere/data.raw").write_bytes(volume_of(mask(2, 2)).tobytes("F"))


def _objects() -> Iterator[Attack]:
    for name, content in (("npy", _object_array), ("npz", lambda: _zip(("mask.npy", _object_array())))):
        form = FORMATS["npy-u1" if name == "npy" else "npz"]
        yield Attack(
            f"pixels/pickle-in-{name}",
            partial(_replaced, form=form, content=content),
            line_for("agree", form.suffix),
            "refused",
        )
    targets = ["data.raw", "../../../elsewhere/data.raw", "/etc/passwd", "/dev/zero", "/dev/stdin", "", ".", "no.raw",
               "data-%03d.raw 1 4 1", "LIST", "B/p2.nrrd", "p2.nrrd", "~/.bashrc",
               "http://localhost/data.raw"]  # fmt: skip
    for k, target in enumerate(targets):
        yield Attack(
            f"pixels/nrrd-data-file-{target or 'empty'}",
            partial(_detached, target=target),
            line_for(("agree", "check", "fuse")[k % 3], ".nrrd", "--jobs", "1"),
            "either" if target == "data.raw" else "refused",
            pixels=[f"{VICTIM}.nrrd"] if target == "data.raw" else (),
        )
