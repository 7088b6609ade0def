"""The extended Dice loss: any prediction between what all raters marked and what any did costs nothing.

With P the probabilities of a label, I where all raters gave it and O where any did ::

    L = (Σ (P − P O) + Σ (I − I P)) / Σ (P + I) = 1 − Σ P (I + O) / (Σ P + Σ I)

which is 1 − extended Dice for a hard prediction, the Dice loss where raters agree, and 0 where I ⊆ P ⊆ O. Only pixels
count that anybody rated.

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, eq. 3.
doi:10.1007/978-3-030-78191-0_37
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import (
    averaged,
    fit_together,
    inner_and_outer,
    known_reduction,
    labels_of,
    looked_at,
    rated,
    values_in_order,
    wide,
)


class ExtendedDiceLoss(nn.Module):
    """1 − extended Dice of every image and label; the mean of them.

    Where nothing is predicted and nothing was marked by all, the loss is 0 and has no gradient; so it is where the sum
    of both is too small to be divided by (about 1e-19 in 32 bits). Where nobody marked anything but something is
    predicted, however faintly, the loss is 1 and has no gradient either: the ratio is 0 whatever is predicted. With
    many such images, or labels that are absent from most, take ``batch=True``, or add a cross-entropy. An image that
    nobody rated counts nothing.

    Parameters
    ----------
    include_background
        Whether background is a label like the others. With one channel, it never is.
    batch
        Sum over all images before dividing, instead of image by image.
    smooth
        Added to both sides of the ratio.
    reduction
        ``"mean"``, ``"sum"``, or ``"none"``: (N, labels), or (labels) with ``batch``.
    check
        Whether to look at values that are not truth values: labels out of range, and batches that nobody rated, are
        refused. That waits for the device, and is left out inside compiled code.

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
            raise CallError(f"smooth is at least 0; got {smooth!r}")
        self.include_background, self.batch, self.smooth = include_background, batch, smooth
        self.reduction, self.check = known_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        fit_together(input, target, present)
        if looked_at(self.check):
            values_in_order(target, present, labels_of(input))
        losses = self._losses(self._probabilities(input), target, present, labels_of(input))
        return _reduced(losses, None if self.batch else present, self.reduction)

    def _probabilities(self, input: Tensor) -> Tensor:
        """(N, labels, *spatial), of the labels that count."""
        logits = wide(input)
        if input.shape[1] == 1:
            return torch.sigmoid(logits)
        return torch.softmax(logits, dim=1)[:, self._first(input.shape[1]) :]

    def _first(self, channels: int) -> int:
        return int(channels == 1 or not self.include_background)

    def _losses(self, chance: Tensor, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        """(N, labels), or (labels) over the batch."""
        sums = [0, *range(2, chance.ndim)] if self.batch else list(range(2, chance.ndim))
        weight, inner = _regions(target, present, labels, chance.shape[1], sums)
        if present is not None and (self.batch or present.ndim > 2):
            chance = torch.where(rated(target, present).unsqueeze(1), chance, 0)  # type: ignore[union-attr]
        losses: Tensor = _OneMinusRatio.apply(chance, weight, inner, self.smooth, sums)  # type: ignore[no-untyped-call]
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

    By itself PyTorch would hold more, as I + O stays in bytes until it is used, and take more operations, each of which
    a GPU has to be told to start.
    """

    @staticmethod
    def forward(ctx: Any, chance: Tensor, weight: Tensor, inner: Tensor, smooth: float, sums: list[int]) -> Tensor:
        above, below = weight.to(chance.dtype).mul_(chance).sum(dim=sums), chance.sum(dim=sums) + inner
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
            raise CallError("the extended Dice loss has no second derivatives; leave out create_graph=True")
        weight, above, below = ctx.saved_tensors
        ratio, scale = above / below, gradient / below
        for axis in ctx.sums:
            ratio, scale = ratio.unsqueeze(axis), scale.unsqueeze(axis)
        return weight.to(ratio.dtype).neg_().add_(ratio).mul_(scale), None, None, None, None


def _reduced(losses: Tensor, present: Tensor | None, reduction: str) -> Tensor:
    """Over the images that anybody rated."""
    seen = None if present is None else present.flatten(1).any(dim=1, keepdim=True)
    return averaged(losses, seen, reduction)
