"""A study as tensors: images and every rater's labels, all of one size."""

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
from ..study.case import Reading
from .scaling import Scaling, reduced, reduced_labels

Array = NDArray[Any]


@dataclass(frozen=True)
class Frames:
    """Images and annotations, by case; a rater who did not see a case, and what he left open, is ``VOID``."""

    names: tuple[str, ...]
    subjects: tuple[str, ...]
    raters: tuple[str, ...]
    labels: Labels
    images: Tensor
    """(cases, channels, H, W), from 0 to 1, or bytes from 0 to 255."""
    annotations: Tensor
    """(cases, raters, H, W): codes of ``labels``, as bytes."""
    grids: tuple[Grid, ...]
    """Of the cases' own masks, before anything was made smaller."""

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
        """Mean and standard deviation of each channel, of images from 0 to 1."""
        whole = 255.0 if self.images.dtype == torch.uint8 else 1.0
        planes = [self.images[:, k].double() / whole for k in range(self.channels)]
        std = [float(plane.std(correction=0)) for plane in planes]
        return tuple(float(plane.mean()) for plane in planes), tuple(s if s > 0 else 1.0 for s in std)

    @property
    def digest(self) -> str:
        """Of the names, pixels and values of the labels: other data, another digest."""
        text = repr((self.names, self.subjects, self.raters, self.labels.values)).encode()
        known = hashlib.sha256(text)
        for part in (self.images, self.annotations):
            known.update(np.ascontiguousarray(part.cpu().numpy()).data)
        return known.hexdigest()[:16]

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
        """On a device where they leave it room to work; else they stay, and go there batch by batch."""
        size = sum(part.numel() * part.element_size() for part in (self.images, self.annotations))
        if device.type != "cuda" or size > 0.4 * torch.cuda.mem_get_info(device)[0]:
            return self
        return replace(self, images=self.images.to(device), annotations=self.annotations.to(device))


@dataclass(frozen=True)
class Read:
    """One case, at the size it is trained at."""

    image: Array
    annotations: Array
    table: Tally
    grid: Grid


def read_frames(
    study: Study, size: int | None, *, scaling: Scaling | None = None, jobs: int = 1, progress: Progress | None = None
) -> tuple[Frames, Scaling]:
    """Everything, with images larger than ``size`` on their longer side made smaller, and smaller ones padded."""
    _refuse(study)
    raters = study.rater_names
    found = {
        case.name: read
        for case, read in study.map(partial(_read, size=size, raters=raters), jobs=jobs, progress=progress)
    }
    _refuse_unlike(found)
    tables = study.gathered({name: read.table for name, read in found.items()})
    labels = _labels(next(iter(tables.values())).labels)
    scaling = scaling or Scaling.of([read.image for read in found.values()])
    shape = tuple(max(read.image.shape[k] for read in found.values()) for k in (0, 1))
    frames = Frames(
        tuple(found),
        tuple(study[name].subject for name in found),
        raters,
        labels,
        torch.stack([_image(read.image, shape, scaling) for read in found.values()]),
        torch.stack([_codes(read.annotations, shape, labels) for read in found.values()]),
        tuple(read.grid for read in found.values()),
    )
    return frames, scaling


def _labels(labels: Labels) -> Labels:
    """Those met; masks that nobody marked are of two labels all the same."""
    return Labels((0, 1)) if labels.values == (0,) else labels


def _refuse(study: Study) -> None:
    if study.options.exchangeable:
        raise InputError(
            "raters are exchangeable: slots are not the same people from case to case, so that there is no rater to "
            "learn from; name the raters, or export with manytruths export"
        )
    without = [case.name for case in study if case.image is None]
    if without:
        more = ", …" if len(without) > 8 else ""
        raise InputError(
            f"{len(without)} of {len(study)} cases have no image: {', '.join(without[:8])}{more}; "
            "give --images, as in --images images/{case}.png"
        )


def _refuse_unlike(found: dict[str, Read]) -> None:
    """Refuse grey images beside coloured ones."""
    kinds = {read.image.shape[2:]: name for name, read in found.items()}
    if len(kinds) > 1:
        grey, colour = (next(name for kind, name in kinds.items() if bool(kind) == wanted) for wanted in (False, True))
        raise InputError(f"case {grey} has a grey image, case {colour} one in colour; save all of them alike")


def _read(case: Case, size: int | None, raters: Sequence[str]) -> Read:
    reading = case.read()
    if len(reading.grid.shape) != 2:
        raise InputError(
            f"case {case.name}: its masks are volumes, and the networks here look at planes; train nnU-Net on "
            "manytruths export nnunet, or write slices"
        )
    image, problem = reading.picture
    if image is None:
        raise InputError(f"case {case.name}: its image cannot be used: {problem}; give one of the masks' size")
    if not np.isfinite(image).all():
        raise InputError(f"case {case.name}: its image holds values that are not finite; write it again")
    first = {column.name: mask for column, mask in reversed(list(reading.masks.items()))}
    inside = _inside(reading)
    stack = np.stack([_values(first.get(name), reading, inside) for name in raters])
    return Read(reduced(image, size), reduced_labels(stack, size), reading.tally("whole", judged=False), reading.grid)


def _inside(reading: Reading) -> Array | None:
    region = reading.case.region(reading.grid)
    return None if isinstance(region, str) else np.asarray(region) != 0


def _values(mask: Array | None, reading: Reading, inside: Array | None) -> NDArray[np.int32]:
    """Label values, −1 where there is no decision: by absence, by choice, or outside of the region."""
    options = reading.case.options
    if mask is None:
        return np.full(reading.grid.shape, -1, np.int32)
    values = np.ma.getdata(mask).astype(np.int32)
    void = np.ma.getmaskarray(mask) if options.void is None else np.ma.getmaskarray(mask) | (values == options.void)
    if options.foreground == "any":
        values = (values != 0).astype(np.int32)
    return np.where(void if inside is None else void | ~inside, -1, values)


def _image(image: Array, shape: tuple[int, ...], scaling: Scaling) -> Tensor:
    """(channels, H, W), padded with black."""
    planes = np.atleast_3d(scaling(image)).transpose(2, 0, 1)
    return torch.from_numpy(_padded(planes, shape, 0))


def _codes(values: NDArray[np.int32], shape: tuple[int, ...], labels: Labels) -> Tensor:
    """Codes of the labels; nobody rated what is padded."""
    codes = np.searchsorted(np.array(labels.values), values).astype(np.uint8)
    codes[values < 0] = VOID
    return torch.from_numpy(_padded(codes, shape, VOID))


def _padded(planes: Array, shape: tuple[int, ...], value: int) -> Array:
    more = [(0, 0), *((0, wanted - have) for wanted, have in zip(shape, planes.shape[1:], strict=True))]
    return np.ascontiguousarray(np.pad(planes, more, constant_values=value))
