"""The extended Dice loss: predictions between what all raters marked and what any rater marked cost nothing.

With P the probabilities of a label, I the region where all raters gave it and O the region where any rater did ::

    L = (Σ (P − P O) + Σ (I − I P)) / Σ (P + I) = 1 − Σ P (I + O) / (Σ P + Σ I)

This equals 1 − extended Dice for a hard prediction, the Dice loss where raters agree, and 0 where I ⊆ P ⊆ O. Only
pixels that at least one rater rated count.

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, eq. 3.
doi:10.1007/978-3-030-78191-0_37
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import (
    at_least_float32,
    can_check_values,
    check_batch,
    check_reduction,
    check_values,
    inner_and_outer,
    number_of_labels,
    rated_pixels,
    reduce_losses,
)


class ExtendedDiceLoss(nn.Module):
    """1 − extended Dice, averaged over images and labels.

    Any prediction between the inner region (marked by all raters) and the outer region (marked by any rater) has a loss
    of 0. Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present`` (see
    :mod:`manytruths.learning.annotations`).

    Where nothing is predicted and the inner region is empty, the loss is 0 without a gradient; likewise where the sum
    of both is too small to divide by (about 1e-19 in float32). Where nobody marked anything but something is predicted,
    however faintly, the loss is 1 without a gradient: the ratio is 0 for any prediction. With many such images, or
    labels absent from most images, use ``batch=True`` or add a cross-entropy. Images that nobody rated do not count.

    Parameters
    ----------
    include_background : bool
        Treat background as a label like the others. Ignored if there is one channel.
    batch : bool
        Sum over all images before dividing, instead of dividing for each image.
    smooth : float
        Added to the numerator and the denominator of the ratio.
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, labels), or (labels) with ``batch``.
    check : bool
        Reject labels out of range and batches that nobody rated. The check synchronises with the device, and is
        skipped in compiled code.

    References
    ----------
    Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
    doi:10.1007/978-3-030-78191-0_37

    Examples
    --------
    >>> import torch
    >>> annotations = torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]]]])  # one image of 1 × 4 pixels, two raters
    >>> logits = torch.tensor([[[[100.0, 100, 100, -100]]]])
    >>> ExtendedDiceLoss()(logits, annotations)
    tensor(0.2500)
    """

    def __init__(
        self,
        include_background: bool = False,
        batch: bool = False,
        smooth: float = 0.0,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if not smooth >= 0:
            raise CallError(f"smooth must be 0 or more; got {smooth!r}")
        self.include_background, self.batch, self.smooth = include_background, batch, smooth
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        if can_check_values(self.check):
            check_values(target, present, number_of_labels(input))
        losses = self._losses(self._probabilities(input), target, present, number_of_labels(input))
        return _reduce(losses, None if self.batch else present, self.reduction)

    def _probabilities(self, input: Tensor) -> Tensor:
        """(N, labels, *spatial) of the labels that count."""
        logits = at_least_float32(input)
        if input.shape[1] == 1:
            return torch.sigmoid(logits)
        return torch.softmax(logits, dim=1)[:, self._first(input.shape[1]) :]

    def _first(self, channels: int) -> int:
        return int(channels == 1 or not self.include_background)

    def _losses(self, probability: Tensor, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        """(N, labels), or (labels) over the batch."""
        sums = [0, *range(2, probability.ndim)] if self.batch else list(range(2, probability.ndim))
        weight, inner = _regions(target, present, labels, probability.shape[1], sums)
        if present is not None and (self.batch or present.ndim > 2):
            probability = torch.where(rated_pixels(target, present).unsqueeze(1), probability, 0)  # type: ignore[union-attr]
        losses: Tensor = _OneMinusRatio.apply(probability, weight, inner, self.smooth, sums)  # type: ignore[no-untyped-call]
        return losses


def _regions(
    target: Tensor, present: Tensor | None, labels: int, counted: int, sums: list[int]
) -> tuple[Tensor, Tensor]:
    """I + O of the labels that count, the last ones, in bytes (N, counted, *spatial); and the sums of I."""
    each = [inner_and_outer(target, present, label, labels) for label in range(labels - counted, labels)]
    totals = [inner.unsqueeze(1).sum(dim=sums, dtype=torch.int32) for inner, _ in each]
    weights = [inner + outer for inner, outer in each]
    if counted == 1:
        return weights[0].unsqueeze(1), totals[0]
    return torch.stack(weights, dim=1), torch.cat(totals, dim=-1)


class _OneMinusRatio(torch.autograd.Function):
    """1 − Σ P (I + O) / (Σ P + Σ I), and 0 where there is nothing to divide by.

    PyTorch's own gradient would need more memory (here I + O stays in bytes until it is used) and more kernel launches.
    """

    @staticmethod
    def forward(ctx: Any, probability: Tensor, weight: Tensor, inner: Tensor, smooth: float, sums: list[int]) -> Tensor:
        above, below = weight.to(probability.dtype).mul_(probability).sum(dim=sums), probability.sum(dim=sums) + inner
        apart = below - above
        if smooth:
            above, below = above + smooth, below + smooth
        enough = below > torch.finfo(below.dtype).tiny ** 0.5  # its square must not vanish in the gradient
        below = torch.where(enough, below, torch.inf)
        ctx.save_for_backward(weight, above, below)
        ctx.sums = sums
        return apart / below

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise CallError("the extended Dice loss has no second derivatives; do not use create_graph=True")
        weight, above, below = ctx.saved_tensors
        ratio, scale = above / below, gradient / below
        for axis in ctx.sums:
            ratio, scale = ratio.unsqueeze(axis), scale.unsqueeze(axis)
        return weight.to(ratio.dtype).neg_().add_(ratio).mul_(scale), None, None, None, None


def _reduce(losses: Tensor, present: Tensor | None, reduction: str) -> Tensor:
    """Over the images that at least one rater rated."""
    rated = None if present is None else present.flatten(1).any(dim=1, keepdim=True)
    return reduce_losses(losses, rated, reduction)
