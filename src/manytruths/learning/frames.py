"""A study as tensors: images and every rater's labels, all of one size and one range of grey levels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core.errors import InputError
from ..core.labels import VOID, Labels
from ..core.tally import Tally
from ..shape.grid import Grid
from ..study import Case, Progress, Study
from ..study.case import NO_PIXELS, Reading

Array = NDArray[Any]


@dataclass(frozen=True)
class Scaling:
    """Maps grey levels from ``low`` to ``high`` onto 0 to 1; bytes stay bytes, with 255 for 1."""

    low: float = 0.0
    high: float = 255.0
    bytes: bool = True

    @classmethod
    def of(cls, images: Sequence[Array]) -> Scaling:
        """Keep bytes as they are; of other types, map the 0.5th to 99.5th percentile onto 0 to 1.

        >>> Scaling.of([np.arange(0, 4096, dtype=np.uint16)])
        Scaling(low=20.475, high=4074.525, bytes=False)
        """
        if all(image.dtype == np.uint8 for image in images):
            return cls()
        sample = np.concatenate(
            [image.ravel()[:: max(1, image.size // 100_000)].astype(np.float64) for image in images]
        )
        low, high = np.quantile(sample, [0.005, 0.995])
        return cls(float(low), float(high if high > low else low + 1), bytes=False)

    def __call__(self, image: Array) -> Array:
        """The image as it is stored in tensors."""
        if self.bytes and image.dtype == np.uint8:
            return image
        return ((image.astype(np.float32) - self.low) / (self.high - self.low)).clip(0, 1)


def reduced_shape(shape: Sequence[int], size: int | None) -> tuple[int, int]:
    """Height and width after reduction to at most ``size`` on the longer side.

    >>> reduced_shape((960, 1000), 500), reduced_shape((100, 50), 500)
    ((480, 500), (100, 50))
    """
    height, width = int(shape[0]), int(shape[1])
    scale = 1.0 if size is None else min(1.0, size / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def reduce_image(image: Array, size: int | None) -> Array:
    """Reduce an image to ``size`` by a triangle filter as wide as the pixels that each new pixel covers."""
    shape = reduced_shape(image.shape, size)
    if shape == image.shape[:2]:
        return image
    from PIL import Image

    planes = [
        np.asarray(
            Image.fromarray(np.ascontiguousarray(plane, np.float32)).resize(shape[::-1], Image.Resampling.BILINEAR)
        )
        for plane in np.atleast_3d(image).transpose(2, 0, 1)
    ]
    smaller = np.stack(planes, axis=-1).reshape(*shape, *image.shape[2:])
    return np.rint(smaller).astype(image.dtype) if image.dtype.kind in "ui" else smaller


def reduce_labels(stack: Array, size: int | None) -> Array:
    """Reduce label maps (…, H, W) to ``size`` by nearest neighbour."""
    shape = reduced_shape(stack.shape[-2:], size)
    if shape == stack.shape[-2:]:
        return stack
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(np.intp) for new, old in zip(shape, stack.shape[-2:], strict=True)
    )
    return np.ascontiguousarray(stack[..., rows[:, None], columns])


# -- studies as tensors ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Frames:
    """Images and annotations by case; cases and pixels that a rater did not rate are ``VOID``."""

    names: tuple[str, ...]
    subjects: tuple[str, ...]
    raters: tuple[str, ...]
    labels: Labels
    images: Tensor
    """(cases, channels, H, W), floats from 0 to 1, or bytes from 0 to 255."""
    annotations: Tensor
    """(cases, raters, H, W): codes of ``labels``, as bytes."""
    grids: tuple[Grid, ...]
    """Of the cases' masks, before reduction."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def channels(self) -> int:
        return int(self.images.shape[1])

    @property
    def complete(self) -> bool:
        """Whether every rater rated every pixel of every case."""
        return not bool((self.annotations == VOID).any())

    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel of the images, from 0 to 1."""
        whole = 255.0 if self.images.dtype == torch.uint8 else 1.0
        planes = [self.images[:, k].double() / whole for k in range(self.channels)]
        std = [float(plane.std(correction=0)) for plane in planes]
        return tuple(float(plane.mean()) for plane in planes), tuple(s if s > 0 else 1.0 for s in std)

    @property
    def digest(self) -> str:
        """A hash of names, pixels and label values, which identifies the data."""
        text = repr((self.names, self.subjects, self.raters, self.labels.values)).encode()
        digest = hashlib.sha256(text)
        for part in (self.images, self.annotations):
            digest.update(np.ascontiguousarray(part.cpu().numpy()).data)
        return digest.hexdigest()[:16]

    def select(self, names: Sequence[str]) -> Frames:
        """Some of the cases, in their order here."""
        wanted = set(names)
        rows = [i for i, name in enumerate(self.names) if name in wanted]
        chosen = torch.tensor(rows, dtype=torch.long, device=self.images.device)
        return replace(
            self,
            names=tuple(self.names[i] for i in rows),
            subjects=tuple(self.subjects[i] for i in rows),
            images=self.images[chosen],
            annotations=self.annotations[chosen],
            grids=tuple(self.grids[i] for i in rows),
        )

    def to(self, device: torch.device) -> Frames:
        """Move to a GPU if they need at most 40% of its free memory; otherwise batches are moved one by one."""
        size = sum(part.numel() * part.element_size() for part in (self.images, self.annotations))
        if device.type != "cuda" or size > 0.4 * torch.cuda.mem_get_info(device)[0]:
            return self
        return replace(self, images=self.images.to(device), annotations=self.annotations.to(device))


@dataclass(frozen=True)
class CaseFrame:
    """One case, at the size it is trained at."""

    image: Array
    annotations: Array
    table: Tally
    grid: Grid


def read_frames(
    study: Study, size: int | None, *, scaling: Scaling | None = None, jobs: int = 1, progress: Progress | None = None
) -> tuple[Frames, Scaling]:
    """Read all cases; images larger than ``size`` on their longer side are reduced, smaller ones padded."""
    _check_study(study)
    raters = study.rater_names
    cases = {
        case.name: frame
        for case, frame in study.map(partial(_read_case, size=size, raters=raters), jobs=jobs, progress=progress)
    }
    _check_channels(cases)
    tables = study.gathered({name: frame.table for name, frame in cases.items()})
    labels = next(iter(tables.values())).labels
    if labels.values == (0,):  # nobody marked anything: still two labels
        labels = Labels((0, 1))
    scaling = scaling or Scaling.of([frame.image for frame in cases.values()])
    shape = tuple(max(frame.image.shape[k] for frame in cases.values()) for k in (0, 1))
    frames = Frames(
        tuple(cases),
        tuple(study[name].subject for name in cases),
        raters,
        labels,
        torch.stack([_image_tensor(frame.image, shape, scaling) for frame in cases.values()]),
        torch.stack([_label_tensor(frame.annotations, shape, labels) for frame in cases.values()]),
        tuple(frame.grid for frame in cases.values()),
    )
    return frames, scaling


def _check_study(study: Study) -> None:
    if study.tallied is not None:
        raise InputError(f"training {NO_PIXELS}")
    if study.options.exchangeable:
        raise InputError(
            "raters are exchangeable: a column is not the same person in every case, so there is no rater to learn "
            "from; name the raters, or export the study with manytruths export"
        )
    without = [case.name for case in study if case.image is None]
    if without:
        more = ", …" if len(without) > 8 else ""
        raise InputError(
            f"{len(without)} of {len(study)} cases have no image: {', '.join(without[:8])}{more}; "
            "give --images, as in --images images/{case}.png"
        )


def _check_channels(cases: dict[str, CaseFrame]) -> None:
    """Reject a mix of grey and colour images."""
    kinds = {frame.image.shape[2:]: name for name, frame in cases.items()}
    if len(kinds) > 1:
        grey, colour = (next(name for kind, name in kinds.items() if bool(kind) == wanted) for wanted in (False, True))
        raise InputError(
            f"case {grey} has a grey image, but case {colour} has a colour image; convert them to the same kind"
        )


def _read_case(case: Case, size: int | None, raters: Sequence[str]) -> CaseFrame:
    reading = case.read()
    if len(reading.grid.shape) != 2:
        raise InputError(
            f"case {case.name}: the masks are volumes, but these networks take 2D images; use manytruths export nnunet "
            "and train nnU-Net, or save the slices as separate cases"
        )
    image, problem = reading.picture
    if image is None:
        raise InputError(
            f"case {case.name}: the image cannot be used: {problem}; give an image of the same size as the masks"
        )
    if not np.isfinite(image).all():
        raise InputError(f"case {case.name}: the image has values that are not finite; correct the file")
    first = {column.name: mask for column, mask in reversed(list(reading.masks.items()))}
    region = reading.case.region(reading.grid)
    inside = None if isinstance(region, str) else np.asarray(region) != 0
    stack = np.stack([label_values(first.get(name), reading, inside) for name in raters])
    return CaseFrame(
        reduce_image(image, size), reduce_labels(stack, size), reading.tally("whole", judged=False), reading.grid
    )


def label_values(mask: Array | None, reading: Reading, inside: Array | None) -> NDArray[np.int32]:
    """Label values; −1 where there is no decision: no mask, not rated, or outside the region of interest."""
    options = reading.case.options
    if mask is None:
        return np.full(reading.grid.shape, -1, np.int32)
    values = np.ma.getdata(mask).astype(np.int32)
    void = np.ma.getmaskarray(mask) if options.void is None else np.ma.getmaskarray(mask) | (values == options.void)
    if options.foreground == "any":
        values = (values != 0).astype(np.int32)
    return np.where(void if inside is None else void | ~inside, -1, values)


def _image_tensor(image: Array, shape: tuple[int, ...], scaling: Scaling) -> Tensor:
    """(channels, H, W), padded with black."""
    planes = np.atleast_3d(scaling(image)).transpose(2, 0, 1)
    return torch.from_numpy(_pad(planes, shape, 0))


def _label_tensor(values: NDArray[np.int32], shape: tuple[int, ...], labels: Labels) -> Tensor:
    """Label codes; padding is not rated."""
    codes = np.searchsorted(np.array(labels.values), values).astype(np.uint8)
    codes[values < 0] = VOID
    return torch.from_numpy(_pad(codes, shape, VOID))


def _pad(planes: Array, shape: tuple[int, ...], value: int) -> Array:
    more = [(0, 0), *((0, wanted - have) for wanted, have in zip(shape, planes.shape[1:], strict=True))]
    return np.ascontiguousarray(np.pad(planes, more, constant_values=value))
