"""Energy distance between samples of a network and the masks of several raters, for batches.

The forms are those of :func:`manytruths.energy_distance`, which names its references; d is 1 − IoU, and of several
labels its mean over all but background. Here all pairs of a batch are compared at once: sizes of intersections are one
matrix product of 0 and 1. Sums of up to 2²⁴ ones are exact in 32-bit floats, in any order, and so they are where
PyTorch multiplies in TF32 or bfloat16, which hold 0 and 1 and add in 32 bits. Pixels are therefore taken in parts of
fewer, and the sums of the parts added in 64 bits. Where it was asked for, :mod:`.fused.energy` multiplies bytes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.errors import CallError
from ..evaluation.probabilistic.samples import ENERGY_FORMS, Unbiased
from .annotations import check_annotations, check_labels, label_mask, shape_text
from .fused import energy as fused

NUMBERS_AT_ONCE = 1 << 24
"""Of a product, as 32-bit floats; a part of so many numbers has fewer pixels than that, since there are two masks."""


@torch.no_grad()
def energy_distance(
    samples: Tensor, masks: Tensor, present: Tensor | None = None, labels: int = 2, unbiased: Unbiased = False
) -> Tensor:
    """Energy distance between samples of a network and the raters of each image, as :func:`manytruths.energy_distance`.

    Parameters
    ----------
    samples : Tensor
        Labels or booleans (N, S, *spatial) of S samples.
    masks : Tensor
        Labels or booleans (N, R, *spatial) of R raters.
    present : Tensor, optional
        Booleans (N, R): which raters rated which image. By default everybody rated everything.
    labels : int
        Number of labels, background included; with more than two, d is the mean over all but background, whether they
        occur or not.
    unbiased : {False, "samples", "both", True}
        False for the V-form, ``"samples"`` for the U-form in the samples with the raters fixed, ``"both"`` or True for
        the U-form in both, which may be negative.

    Returns
    -------
    Tensor
        (N) in float64: the squared distance; nan where nobody rated, or where the U-form in both has only one rater.

    References
    ----------
    Székely GJ, Rizzo ML. Energy statistics: a class of statistics based on distances. J Stat Plan Inference
    2013;143:1249–1272. doi:10.1016/j.jspi.2013.03.018

    Examples
    --------
    >>> import torch
    >>> samples = torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]]]])  # one image of 1 × 4 pixels, two samples
    >>> raters = torch.tensor([[[[1, 1, 0, 0]], [[1, 1, 1, 0]]]])
    >>> energy_distance(samples, raters), energy_distance(samples, raters, unbiased="both")
    (tensor([0.3333], dtype=torch.float64), tensor([-0.0833], dtype=torch.float64))
    """
    _check(samples, masks, present, labels, unbiased)
    weight = _weights(samples, masks, present, unbiased)
    pairs = [_distances(*(label_mask(given, k, labels) for given in (samples, masks))) for k in range(1, labels)]
    found = (torch.stack(pairs).mean(dim=0) * weight).sum(dim=(1, 2))
    return found if unbiased else found.clamp(min=0)  # the V-form is never negative but for rounding


def _check(samples: Tensor, masks: Tensor, present: Tensor | None, labels: int, unbiased: Unbiased) -> None:
    check_annotations(samples, None)
    check_annotations(masks, present)
    if samples.ndim != masks.ndim or len(samples) != len(masks) or samples.shape[2:] != masks.shape[2:]:
        raise CallError(
            f"samples (N, S, *spatial) of shape {shape_text(samples)} do not match masks (N, R, *spatial) of shape "
            f"{shape_text(masks)}: all sizes but the second must be equal"
        )
    if present is not None and present.ndim > 2:
        raise CallError("the energy distance needs whole masks; give present= by image, as (N, R)")
    if labels < 2:
        raise CallError(f"labels must be 2 or more; got {labels!r}")
    _check_form(samples.shape[1], masks.shape[1], unbiased)
    check_labels(samples, None, labels)
    check_labels(masks, present, labels)


def _check_form(samples: int, raters: int, unbiased: Unbiased) -> None:
    if unbiased not in ENERGY_FORMS:
        raise CallError(f"unbiased= is False, 'samples', 'both' or True; got {unbiased!r}")
    if unbiased and samples < 2:
        raise CallError(f"unbiased={unbiased!r} needs two samples or more; got 1; use unbiased=False")
    if unbiased in ("both", True) and raters < 2:
        raise CallError(f"unbiased={unbiased!r} needs two raters or more; got 1; use unbiased='samples'")


def _weights(samples: Tensor, masks: Tensor, present: Tensor | None, unbiased: Unbiased) -> Tensor:
    """(N or 1, S + R, S + R): how often each pair counts."""
    count = samples.shape[1]
    there = torch.ones(1, masks.shape[1], device=masks.device) if present is None else present
    there = there.double()
    raters = there.sum(dim=1, keepdim=True)
    own, others = torch.full_like(there[:, :1], 1 / count).expand(-1, count), there / raters
    signed = torch.cat([own, -others], dim=1)
    weight = -signed[:, :, None] * signed[:, None, :]
    if unbiased:
        weight[:, :count, :count] *= count / (count - 1)
    if unbiased in ("both", True):
        weight[:, count:, count:] *= (raters / (raters - 1))[:, :, None]
    return weight


def _distances(samples: Tensor, masks: Tensor) -> Tensor:
    """(N, S + R, S + R): 1 − IoU of each two masks, samples first; 0 of two empty ones."""
    both = intersections(samples, masks).double()
    size = both.diagonal(dim1=1, dim2=2)
    union = size[:, :, None] + size[:, None, :] - both
    return 1 - both.add_(union == 0).div_(union.clamp_(min=1))


def intersections(samples: Tensor, masks: Tensor) -> Tensor:
    """(N, S + R, S + R): number of pixels that each two masks, in bytes, have in common."""
    first, second = samples.flatten(2), masks.flatten(2)
    if fused.fits(first, second):
        return fused.intersections_in_kernel(first, second)
    images, total = len(first), first.shape[1] + second.shape[1]
    found = torch.zeros(images, total, total, dtype=torch.float64, device=first.device)
    step = max(1, NUMBERS_AT_ONCE // (images * total))
    with torch.autocast(first.device.type, enabled=False):  # it would round the sums to half precision
        for start in range(0, first.shape[2], step):
            part = slice(start, start + step)
            each = torch.cat([first[..., part], second[..., part]], dim=1).float()
            found += each @ each.transpose(1, 2)
    return found
