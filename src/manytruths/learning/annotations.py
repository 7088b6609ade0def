"""Batches of annotations as tensors: argument checks, and reference standards made by voting.

All losses take the same three arguments. ``input`` are logits (N, C, *spatial): one channel is a sigmoid (two labels),
several are a softmax. ``target`` are annotations (N, R, *spatial): the labels 0 … C − 1 (or booleans) of R raters, with
0 for background; R = 1 is an ordinary target. ``present`` states who rated: (N, R) by image, or (N, R, *spatial) by
pixel; the values of an absent rater are ignored. Shapes are always checked. Values are checked only on request, because
that synchronises with the device.

With m raters who rated a pixel and A of them who gave it a label, the vote share is A / m, and 0 where nobody rated.
Hard votes equal those of :mod:`manytruths.fusion`; pixels that nobody rated are background.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.errors import CallError

REDUCTIONS = ("mean", "sum", "none")
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
"""Types that PyTorch has, but for which it implements almost no operation."""


# -- argument checks -----------------------------------------------------------------------------


def check_batch(input: Tensor, target: Tensor, present: Tensor | None) -> None:
    """Raise where shapes or types of logits, annotations and presence do not match."""
    if input.ndim < 3 or not input.is_floating_point():
        raise CallError(f"input must be logits, floats of shape (N, C, *spatial); got {type_and_shape(input)}")
    if target.ndim != input.ndim or target.shape[0] != input.shape[0] or target.shape[2:] != input.shape[2:]:
        raise CallError(
            f"target (N, R, *spatial) of shape {shape_text(target)} does not match input (N, C, *spatial) of shape "
            f"{shape_text(input)}: all sizes but the second must be equal; crop or resample both in the same way"
        )
    check_annotations(target, present)


def check_annotations(target: Tensor, present: Tensor | None) -> None:
    """Raise where shapes or types of annotations and presence do not match."""
    if target.ndim < 3 or target.shape[1] == 0 or target.is_complex() or target.dtype in UNSIGNED:
        raise CallError(
            f"annotations must be labels (N, R, *spatial) of at least one rater; got {type_and_shape(target)}"
        )
    if target.numel() == 0:
        raise CallError(f"annotations of shape {shape_text(target)} have no pixel; leave out empty batches")
    if present is None:
        return
    if not isinstance(present, Tensor):
        raise CallError(f"present must be a boolean tensor (N, R); got a {type(present).__name__}; use torch.stack")
    if present.dtype != torch.bool:
        raise CallError(f"present must be a boolean tensor; got {type_and_shape(present)}; use present.bool()")
    if present.shape not in (target.shape[:2], target.shape):
        raise CallError(
            f"present must have the shape (N, R) or (N, R, *spatial); got {shape_text(present)} for annotations "
            f"{shape_text(target)}; give for each image, or each pixel, which raters rated it"
        )


def check_values(target: Tensor, present: Tensor | None, labels: int, check: bool = True) -> None:
    """Raise where nobody rated anything, or an annotation is not a label; a compiled graph cannot stop to check."""
    if not check or torch.compiler.is_compiling():
        return
    if present is not None and not bool(present.any()):
        raise CallError(
            f"none of the {len(target)} images of this batch was rated; leave out images that nobody rated, or use "
            "check=False, which counts such a batch as 0"
        )
    check_labels(target, present, labels)


def check_labels(target: Tensor, present: Tensor | None, labels: int) -> None:
    """Raise where an annotation is not one of the labels 0 … labels − 1."""
    if target.dtype == torch.bool:
        return
    values = target if present is None else target.masked_fill(~expand_presence(present, target), 0)
    lowest, highest = values.aminmax()
    fraction = values.is_floating_point() and bool((values != values.round()).any())
    if bool((lowest >= 0) & (highest < labels)) and not fraction:
        return
    wrong = ~((values >= 0) & (values < labels) & (values == values.round() if fraction else True))
    image, rater, *place = wrong.nonzero()[0].tolist()
    value = values[image, rater][tuple(place)].item()
    raise CallError(
        f"image {image}, rater {rater}: the annotation at {tuple(place)} is {value:g}, but labels are 0 to "
        f"{labels - 1}; give the logits a channel for each label, map the values to labels, or mark unrated pixels by "
        "present="
    )


def check_reduction(reduction: str, known: tuple[str, ...] = REDUCTIONS) -> str:
    """The reduction, if it is known."""
    if reduction not in known:
        raise CallError(f"reduction must be one of {', '.join(map(repr, known))}; got {reduction!r}")
    return reduction


def type_and_shape(values: Tensor) -> str:
    """As in ``float32 (2, 1, 64, 64)``."""
    return f"{str(values.dtype).removeprefix('torch.')} {shape_text(values)}"


def shape_text(values: Tensor) -> str:
    """As in ``(2, 1, 64, 64)``."""
    return f"({', '.join(map(str, values.shape))})"


# -- what losses share ---------------------------------------------------------------------------


def number_of_labels(input: Tensor) -> int:
    """Number of labels of the logits; one channel is two labels."""
    return max(2, input.shape[1])


def at_least_float32(values: Tensor) -> Tensor:
    """Half precision as float32: sums over pixels overflow in fewer bits."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def expand_presence(present: Tensor, target: Tensor) -> Tensor:
    """Presence with as many axes as the annotations, for broadcasting."""
    return present.reshape(*present.shape, *(1,) * (target.ndim - present.ndim))


def rated_pixels(target: Tensor, present: Tensor | None) -> Tensor | None:
    """(N, *spatial), or (N, 1, …): where at least one rater rated; None where everybody rated everything."""
    return None if present is None else expand_presence(present, target).any(dim=1)


def reduce_losses(losses: Tensor, counted: Tensor | None, reduction: str) -> Tensor:
    """Reduce losses (N, …) over those that count (None: all); if none does, the result is 0 without a gradient."""
    if counted is not None:
        counted = counted.expand_as(losses)
        losses = torch.where(counted, losses, 0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.mean() if counted is None else losses.sum() / counted.sum().clamp(min=1)


# -- votes ---------------------------------------------------------------------------------------


def vote_share(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """Share of the raters who gave each label to each pixel.

    Parameters
    ----------
    annotations : Tensor
        Labels or booleans (N, R, *spatial) of R raters.
    present : Tensor, optional
        Booleans (N, R) or (N, R, *spatial): who rated each image or pixel. By default everybody rated everything.
    labels : int
        Number of labels, background included.

    Returns
    -------
    Tensor
        Share of the foreground (N, *spatial) where there are two labels, otherwise (N, labels, *spatial), in float32;
        0 where nobody rated.

    Examples
    --------
    >>> import torch
    >>> vote_share(torch.tensor([[[[1, 1, 0]], [[1, 0, 0]]]]))
    tensor([[[1.0000, 0.5000, 0.0000]]])
    """
    check_annotations(annotations, present)
    raters = _count_raters(annotations, present).clamp(min=1).float()
    if labels == 2:
        return _count_votes(annotations, present, 1) / raters
    return torch.stack([_count_votes(annotations, present, k, labels) / raters for k in range(labels)], dim=1)


def majority_vote(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """What at least half of the raters marked, as ``vote:0.5``: ties are marked.

    Of more than two labels, the label that most raters gave; ties go to the lower label, as in
    :func:`manytruths.plurality`.

    Parameters
    ----------
    annotations, present, labels
        As for :func:`vote_share`.

    Returns
    -------
    Tensor
        Booleans (N, *spatial) where there are two labels, otherwise labels (N, *spatial); pixels that nobody rated are
        background.

    Examples
    --------
    >>> import torch
    >>> majority_vote(torch.tensor([[[[1, 1, 0]], [[1, 0, 0]]]]))
    tensor([[[ True,  True, False]]])
    """
    check_annotations(annotations, present)
    if labels > 2:
        return _most_frequent(annotations, present, labels, 0)
    marked = _count_votes(annotations, present, 1)
    return (2 * marked >= _count_raters(annotations, present)) & (marked > 0)


def inner_region(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """What all raters marked; of more than two labels, the label that all gave, or else background.

    Parameters
    ----------
    annotations, present, labels
        As for :func:`vote_share`.

    Returns
    -------
    Tensor
        As for :func:`majority_vote`.

    Examples
    --------
    >>> import torch
    >>> inner_region(torch.tensor([[[[1, 1, 0]], [[1, 0, 0]]]]))
    tensor([[[ True, False, False]]])
    """
    check_annotations(annotations, present)
    if labels == 2:
        return inner_and_outer(annotations, present, 1)[0].bool()
    marks = [inner_and_outer(annotations, present, k, labels)[0].to(_label_type(labels)) * k for k in range(1, labels)]
    return torch.stack(marks).sum(dim=0, dtype=_label_type(labels))


def outer_region(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """What any rater marked; of more than two labels, the most frequent foreground label, ties going to the lower one.

    Parameters
    ----------
    annotations, present, labels
        As for :func:`vote_share`.

    Returns
    -------
    Tensor
        As for :func:`majority_vote`.

    Examples
    --------
    >>> import torch
    >>> outer_region(torch.tensor([[[[1, 1, 0]], [[1, 0, 0]]]]))
    tensor([[[ True,  True, False]]])
    """
    check_annotations(annotations, present)
    if labels == 2:
        return inner_and_outer(annotations, present, 1)[1].bool()
    return _most_frequent(annotations, present, labels, 1)


def inner_and_outer(target: Tensor, present: Tensor | None, label: int, labels: int = 2) -> tuple[Tensor, Tensor]:
    """(N, *spatial) each, as bytes: where all who rated gave a label, and where any of them did."""
    chosen = label_mask(target, label, labels)
    if present is None:
        return chosen.amin(dim=1), chosen.amax(dim=1)
    there = _as_bytes(expand_presence(present, target))
    outer = (chosen & there).amax(dim=1)
    return (chosen | (there ^ 1)).amin(dim=1) & outer, outer


def _most_frequent(target: Tensor, present: Tensor | None, labels: int, first: int) -> Tensor:
    """The most frequent of the labels from ``first`` on; background where none of them was given."""
    most = _count_votes(target, present, first, labels)
    code = (most > 0).to(_label_type(labels)) * first
    for label in range(first + 1, labels):
        here = _count_votes(target, present, label, labels)
        code = torch.where(here > most, label, code)
        most = torch.maximum(most, here)
    return code


def _count_votes(target: Tensor, present: Tensor | None, label: int, labels: int = 2) -> Tensor:
    """(N, *spatial): number of raters who gave the label."""
    chosen = label_mask(target, label, labels)
    if present is not None:
        chosen = chosen & _as_bytes(expand_presence(present, target))
    return chosen.sum(dim=1, dtype=_count_type(target))


def _count_raters(target: Tensor, present: Tensor | None) -> Tensor:
    """(N, *spatial) or (N, 1, …): number of raters who rated."""
    if present is None:
        return torch.full((1,) * (target.ndim - 1), target.shape[1], dtype=_count_type(target), device=target.device)
    return expand_presence(present, target).sum(dim=1, dtype=_count_type(target))


def label_mask(target: Tensor, label: int, labels: int = 2) -> Tensor:
    """(N, R, *spatial): 1 where a rater gave the label, as bytes, which are faster than booleans."""
    if labels == 2 and label == 1 and target.dtype == torch.uint8:
        return target
    if labels == 2 and target.dtype == torch.bool:
        return _as_bytes(target if label else ~target)
    return _as_bytes(target == label)


def _as_bytes(values: Tensor) -> Tensor:
    """Booleans as 0 and 1, without a copy; except in compiled code, where PyTorch 2.11 cannot do that."""
    return values.to(torch.uint8) if torch.compiler.is_compiling() else values.view(torch.uint8)


def _count_type(target: Tensor) -> torch.dtype:
    """The fastest type that holds twice the number of raters."""
    return torch.uint8 if target.shape[1] < 128 else torch.int32


def _label_type(labels: int) -> torch.dtype:
    return torch.uint8 if labels <= 256 else torch.int32
