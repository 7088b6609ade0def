"""What every loss takes: logits, a stack of annotations, and who rated what.

``input`` are logits (N, C, *spatial): one channel is a sigmoid (two labels), more a softmax. ``target`` are annotations
(N, R, *spatial): truth values or the labels 0 … C − 1 of R raters, 0 for background; with R = 1 an ordinary target.
``present`` says who rated: (N, R) image by image, (N, R, *spatial) pixel by pixel; what the annotation of an absent
rater holds does not matter. Shapes are always looked at; values only where asked to, as that waits for the device.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.errors import CallError

REDUCTIONS = ("mean", "sum", "none")
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
"""Types that PyTorch has, but can do next to nothing with."""


def labels_of(input: Tensor) -> int:
    """How many labels the logits speak of."""
    return max(2, input.shape[1])


def wide(values: Tensor) -> Tensor:
    """In 32 bits at least: sums over pixels do not fit into fewer."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def fit_together(input: Tensor, target: Tensor, present: Tensor | None) -> None:
    """Raise where shapes or types cannot belong together."""
    if input.ndim < 3 or not input.is_floating_point():
        raise CallError(f"logits are floats (N, C, *spatial); got {described(input)}")
    if target.ndim != input.ndim or target.shape[0] != input.shape[0] or target.shape[2:] != input.shape[2:]:
        raise CallError(
            f"annotations (N, R, *spatial) {sizes(target)} do not lie on the logits (N, C, *spatial) {sizes(input)}: "
            "all but the second size must be equal; crop or resample both in the same way"
        )
    fit_each_other(target, present)


def fit_each_other(target: Tensor, present: Tensor | None) -> None:
    """Raise where a stack and who rated it cannot belong together."""
    if target.ndim < 3 or target.shape[1] == 0 or target.is_complex() or target.dtype in UNSIGNED:
        raise CallError(f"annotations are labels (N, R, *spatial) of one rater at least; got {described(target)}")
    if target.numel() == 0:
        raise CallError(f"annotations {sizes(target)} hold no pixel; leave out empty batches")
    if present is None:
        return
    if not isinstance(present, Tensor):
        raise CallError(f"present is a tensor (N, R) of truth values; got a {type(present).__name__}: stack it?")
    if present.dtype != torch.bool:
        raise CallError(f"present is a tensor of truth values; got {described(present)}: present.bool()?")
    if present.shape not in (target.shape[:2], target.shape):
        raise CallError(
            f"present is (N, R) or (N, R, *spatial); got {sizes(present)} for annotations {sizes(target)}: "
            "say for each image, or each of its pixels, which raters rated it"
        )


def described(values: Tensor) -> str:
    """Type and shape, in words."""
    return f"{str(values.dtype).removeprefix('torch.')} {sizes(values)}"


def sizes(values: Tensor) -> str:
    """The shape, as it is written."""
    return f"({', '.join(map(str, values.shape))})"


def looked_at(check: bool) -> bool:
    """Whether values can be looked at: a compiled graph cannot stop to do so."""
    return check and not torch.compiler.is_compiling()


def values_in_order(target: Tensor, present: Tensor | None, labels: int) -> None:
    """Raise where somebody gave no label, or nobody anything."""
    if present is not None and not bool(present.any()):
        raise CallError(
            f"nobody rated any of the {len(target)} images of this batch; leave out images that nobody rated, "
            "or count such a batch as 0 with check=False"
        )
    labels_in_order(target, present, labels)


def labels_in_order(target: Tensor, present: Tensor | None, labels: int) -> None:
    """Raise where somebody gave what is no label."""
    if target.dtype == torch.bool:
        return
    seen = target if present is None else target.masked_fill(~spread(present, target), 0)
    least, most = seen.aminmax()
    fraction = seen.is_floating_point() and bool((seen != seen.round()).any())
    if bool((least >= 0) & (most < labels)) and not fraction:
        return
    wrong = ~((seen >= 0) & (seen < labels) & (seen == seen.round() if fraction else True))
    image, rater, *place = wrong.nonzero()[0].tolist()
    value = seen[image, rater][tuple(place)].item()
    raise CallError(
        f"image {image}, rater {rater}: the annotation is {value:g} at {tuple(place)}; labels are 0 to {labels - 1}: "
        "give logits a channel for each label, map the values to labels, or say with present= what was not rated"
    )


def spread(present: Tensor, target: Tensor) -> Tensor:
    """With as many axes as the annotations have, so that both go together."""
    return present.reshape(*present.shape, *(1,) * (target.ndim - present.ndim))


def rated(target: Tensor, present: Tensor | None) -> Tensor | None:
    """(N, *spatial), or (N, 1, …): what anybody rated; None where everybody rated everything."""
    return None if present is None else spread(present, target).any(dim=1)


def given(target: Tensor, label: int, labels: int = 2) -> Tensor:
    """(N, R, *spatial): 1 where a rater gave the label, in bytes, which are quicker than truth values."""
    if labels == 2 and label == 1 and target.dtype == torch.uint8:
        return target
    if labels == 2 and target.dtype == torch.bool:
        return in_bytes(target if label else ~target)
    return in_bytes(target == label)


def in_bytes(truth: Tensor) -> Tensor:
    """Truth values as 0 and 1; as they lie in memory, but in compiled code, where PyTorch 2.11 cannot."""
    return truth.to(torch.uint8) if torch.compiler.is_compiling() else truth.view(torch.uint8)


def inner_and_outer(target: Tensor, present: Tensor | None, label: int, labels: int = 2) -> tuple[Tensor, Tensor]:
    """(N, *spatial) each, in bytes: to what all who rated it gave a label, and to what anybody did."""
    chosen = given(target, label, labels)
    if present is None:
        return chosen.amin(dim=1), chosen.amax(dim=1)
    there = in_bytes(spread(present, target))
    outer = (chosen & there).amax(dim=1)
    return (chosen | (there ^ 1)).amin(dim=1) & outer, outer


def averaged(losses: Tensor, counted: Tensor | None, reduction: str) -> Tensor:
    """Over what counts: (N, …) losses, and which of them do (None: all); nothing counted is 0, without a gradient."""
    if counted is not None:
        counted = counted.expand_as(losses)
        losses = torch.where(counted, losses, 0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.mean() if counted is None else losses.sum() / counted.sum().clamp(min=1)


def known_reduction(reduction: str, known: tuple[str, ...] = REDUCTIONS) -> str:
    """One of those that there are."""
    if reduction not in known:
        raise CallError(f"reduction is {', '.join(map(repr, known))}; got {reduction!r}")
    return reduction
