"""Files that are whole and hold what no mask should: strange values, sizes and places in space."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from study_folders import write_nifti, write_nrrd, write_png

from ..honest import OF_MASKS, RATERS, USUAL, line, mask, write_study
from ..model import Attack, Expected

VICTIM = "in/masks/B/p2"
HALF = np.arange(32) < 16
Change = Callable[[np.ndarray, random.Random], np.ndarray]


def _grey(values: np.ndarray, chance: random.Random) -> np.ndarray:
    """What JPEG leaves of a mask of 0 and 255."""
    noise = np.random.default_rng(chance.randrange(99)).integers(0, 9, values.shape)
    return np.where(values > 0, 255 - noise, noise).astype(np.uint8)


def _with(value: float, dtype: str) -> Change:
    """One pixel that is this."""

    def change(values: np.ndarray, chance: random.Random) -> np.ndarray:
        changed = values.astype(dtype)
        changed[chance.randrange(32), chance.randrange(32)] = value
        return changed

    return change


def _marked(value: int, dtype: str) -> Change:
    return lambda values, chance: (values * np.array(value, dtype)).astype(dtype)


IN_NPY: dict[str, tuple[Change, Expected]] = {
    "nan": (_with(np.nan, "f4"), "refused"),
    "infinity": (_with(np.inf, "f4"), "refused"),
    "negative": (_with(-1, "i2"), "refused"),
    "a-half": (_with(0.5, "f4"), "refused"),
    "almost-one": (_with(1 + 1e-9, "f8"), "refused"),
    "1e300": (_with(1e300, "f8"), "refused"),
    "2**63": (_with(2**63, "u8"), "either"),
    "probabilities": (lambda values, chance: values * 0.7 + 0.1, "refused"),
    "complex": (lambda values, chance: values + 1j, "refused"),
    "text": (lambda values, chance: values.astype("U3"), "refused"),
    "times": (lambda values, chance: values.astype("M8[s]"), "refused"),
    "records": (lambda values, chance: np.zeros((32, 32), [("a", "u1"), ("b", "f4")]), "refused"),
    "0-axes": (lambda values, chance: np.array(1, np.uint8), "refused"),
    "1-axis": (lambda values, chance: values.ravel(), "refused"),
    "4-axes": (lambda values, chance: values[None, None], "refused"),
    "no-pixels": (lambda values, chance: values[:0], "refused"),
    "three-channels": (lambda values, chance: np.stack([values] * 3, -1), "refused"),
    "other-size": (lambda values, chance: values[:-1], "refused"),
    "turned": (lambda values, chance: values[:, :20], "refused"),
    "fortran": (lambda values, chance: np.asfortranarray(values), "accepted"),
    "big-endian": (lambda values, chance: values.astype(">i4"), "accepted"),
    "float-0-and-1": (lambda values, chance: values.astype("f2"), "accepted"),
    "all-zero": (lambda values, chance: values * 0, "accepted"),
    "all-one": (lambda values, chance: values * 0 + 1, "accepted"),
    "1-beside-255": (_marked(255, "u1"), "either"),
    "1-beside-65535": (_marked(65535, "u2"), "either"),
    "1-beside-2": (_marked(2, "u1"), "either"),
    "1-beside-7": (_marked(7, "u1"), "either"),
    "1-beside-4294967295": (_marked(2**32 - 1, "u4"), "either"),
    "256-labels": (lambda values, chance: (np.arange(1024) % 256).reshape(32, 32).astype(np.uint8), "either"),
    "1024-labels": (lambda values, chance: np.arange(1024).reshape(32, 32).astype(np.uint16), "either"),
}  # fmt: skip
"""What becomes of one rater's mask. A mark that differs from the others' is refused or taken for the same mark."""


def _colour(values: np.ndarray, mode: str) -> Image.Image:
    return Image.fromarray((values * 255).astype(np.uint8)).convert(mode)


IN_PICTURES: dict[str, Callable[[np.ndarray], Image.Image]] = {
    "rgb": lambda values: _colour(values, "RGB"),
    "rgba": lambda values: _colour(values, "RGBA"),
    "grey-and-alpha": lambda values: _colour(values, "LA"),
    "palette-with-alpha": lambda values: _colour(values, "RGBA").quantize(4),
    "inverted-palette": lambda values: _palette(values, [255] * 3 + [0] * 3),
    "colours-that-are-one-colour": lambda values: _palette(values, [0] * 6),
}


def _palette(values: np.ndarray, colours: list[int]) -> Image.Image:
    found = Image.fromarray(values).convert("P")
    found.putdata(values.ravel().tolist())
    found.putpalette(colours)
    return found


def _write_npy(folder: Path, chance: random.Random, change: Change | None) -> None:
    write_study(folder)
    for y, case in enumerate(USUAL.cases):
        for x, rater in enumerate(RATERS):
            path = folder / f"in/masks/{rater}/{case}.npy"
            np.save(path, mask(x, y) if change is None or (rater, case) != ("B", "p2") else change(mask(x, y), chance))


def _write_picture(folder: Path, chance: random.Random, make: Callable[[np.ndarray], Image.Image]) -> None:
    write_study(folder)
    make(mask(1, 1)).save(folder / f"{VICTIM}.png")


# -- places in space -------------------------------------------------------------------------------------


def _write_volumes(folder: Path, chance: random.Random, change: Callable[[Path, np.ndarray], None]) -> None:
    for y, case in enumerate(USUAL.cases):
        for x, rater in enumerate(RATERS):
            path, voxels = folder / f"in/masks/{rater}/{case}.nii", np.stack([mask(x, y)] * 4, -1)
            if (rater, case) == ("B", "p2"):
                path.parent.mkdir(parents=True, exist_ok=True)
                change(path, voxels)
            else:
                write_nifti(path, voxels)


def _affine(change: Callable[[np.ndarray], object]) -> Callable[[Path, np.ndarray], None]:
    def write(path: Path, voxels: np.ndarray) -> None:
        import nibabel

        matrix = np.diag([1.0, 1.0, 2.0, 1.0])
        change(matrix)
        image = nibabel.Nifti1Image(voxels, None)
        image.header.set_sform(matrix, 1)
        image.to_filename(path)

    return write


# a mask that lies on the same lattice is padded, and that is said
IN_SPACE: dict[str, tuple[Callable[[Path, np.ndarray], None], Expected]] = {
    "moved": (lambda path, voxels: write_nifti(path, voxels, origin=7), "either"),
    "other-spacing": (lambda path, voxels: write_nifti(path, voxels, (1, 1, 3)), "refused"),
    "fewer-slices": (lambda path, voxels: write_nifti(path, voxels[..., :3]), "either"),
    "one-slice": (lambda path, voxels: write_nifti(path, voxels[..., :1]), "either"),
    "five-axes": (lambda path, voxels: write_nifti(path, voxels[..., None, None].repeat(2, -1)), "refused"),
    "no-spacing": (_affine(lambda matrix: matrix.fill(0)), "either"),
    "nan": (_affine(lambda matrix: matrix.fill(np.nan)), "refused"),
    "infinite": (_affine(lambda matrix: matrix.__setitem__((0, 3), np.inf)), "refused"),
    "flat": (_affine(lambda matrix: matrix.__setitem__((2, 2), 0)), "refused"),
    "mirrored": (_affine(lambda matrix: matrix.__setitem__((0, 0), -1)), "either"),
    "sheared": (_affine(lambda matrix: matrix.__setitem__((0, 1), 0.9)), "refused"),
    "tiny": (_affine(lambda matrix: matrix.__imul__(1e-300)), "refused"),
    "huge": (_affine(lambda matrix: matrix.__imul__(1e30)), "refused"),
}


def attacks() -> Iterator[Attack]:
    for k, (name, (change, expected)) in enumerate(IN_NPY.items()):
        template = "in/masks/{rater}/{case}.npy"
        for command in ("agree", OF_MASKS[k % len(OF_MASKS)]):
            if command == "agree" and k % len(OF_MASKS) == 1:
                continue
            # what a command does with several labels is its own business; that a mask is none is everybody's
            own = expected if command in ("agree", "fuse", "check") or expected == "refused" else "either"
            yield Attack(
                f"values/{name}-{command}",
                partial(_write_npy, change=change),
                line(command, template),
                own,
                pixels=[f"{VICTIM}.npy"],
                earlier=k % 2 == 0,
                agreement=template if command == "agree" else "",
            )
    for k, (name, make) in enumerate(IN_PICTURES.items()):
        expected = "refused" if name in ("rgb", "rgba", "grey-and-alpha") else "either"
        pixels = [] if expected == "refused" else [f"{VICTIM}.png"]
        yield Attack(f"values/{name}", partial(_write_picture, make=make), line("agree"), expected, pixels=pixels)
        other = OF_MASKS[2 + k % 10]
        yield Attack(f"values/{name}-{other}", partial(_write_picture, make=make), line(other), expected)
    jpeg = partial(_write_npy, change=_grey)
    yield Attack("values/traces-of-jpeg", jpeg, line("agree", "in/masks/{rater}/{case}.npy"), "refused")
    for k, (name, (change, expected)) in enumerate(IN_SPACE.items()):
        command = ("agree", "check", "fuse", "report")[k % 4]
        make = partial(_write_volumes, change=change)
        template = "in/masks/{rater}/{case}.nii"
        yield Attack(f"values/space-{name}", make, line(command, template), expected, earlier=k % 2 == 0)
        yield Attack(f"values/space-{name}-resampled", make, line("agree", template, "--resample", "nearest"), "either")
    nrrd = partial(_write_volumes, change=lambda path, voxels: write_nrrd(path.with_suffix(".nrrd"), voxels))
    yield Attack("values/space-nrrd-beside-nifti", nrrd, line("agree", "in/masks/{rater}/{case}.*"), "either")
    yield from _options()


def _void(folder: Path, chance: random.Random) -> None:
    write_study(folder)
    write_png(folder / f"{VICTIM}.png", np.where(HALF, 255, mask(1, 1)).astype(np.uint8))


def _options() -> Iterator[Attack]:
    """Labels and voids that do not fit what the masks hold."""
    for value, expected in (("255", "accepted"), ("0", "refused"), ("-1", "refused"), ("1", "either"),
                            ("1000000000", "refused"), (str(2**70), "refused")):  # fmt: skip
        yield Attack(
            f"values/void-{value}", _void, line("agree", "in/masks/{rater}/{case}.png", f"--void={value}"), expected
        )
    for labels in ("2=gland", "1=a,3=b"):
        yield Attack(
            f"values/labels-{labels}", _void, line("fuse", "in/masks/{rater}/{case}.png", "--labels", labels), "refused"
        )
