"""Soft labels: the probability of every label at each pixel, made once before training, and the loss that takes it.

Shares of votes need no strategy of their own: cross-entropy is linear in its target, so the mean over raters
(:class:`~manytruths.learning.AverageCrossEntropy`) is the cross-entropy against their shares. STAPLE's probabilities
weigh the raters by how well they perform in the image.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import check_batch, check_reduction, number_of_labels, rated_pixels, reduce_losses
from .batch_staple import staple
from .losses import soft_cross_entropy

SLACK = 1e-4
"""By how much probabilities may leave 0 to 1, or add up to more than 1, by rounding."""


def staple_probability(annotations: Tensor, present: Tensor | None, labels: int) -> Tensor:
    """(N, labels − 1, *spatial): STAPLE's probability of each label but background.

    >>> staple_probability(torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]], [[1, 0, 0, 0]]]]), None, 2).round(decimals=2)
    tensor([[[[1., 0., 0., 0.]]]])
    """
    probability = staple(annotations, present, labels).probability
    return probability[:, None] if labels == 2 else probability[:, 1:]


class SoftCrossEntropy(nn.Module):
    """Cross-entropy against probabilities, such as STAPLE's, averaged over all pixels that were rated.

    Call it with logits (N, C, *spatial), probabilities (N, labels − 1, *spatial) of every label but background, and,
    optionally, ``present``, booleans of the shape of the probabilities.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, *spatial), with 0 where nobody rated.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    Examples
    --------
    >>> SoftCrossEntropy()(torch.zeros(1, 1, 1, 2), torch.tensor([[[[0.9, 0.2]]]]))
    tensor(0.6931)
    """

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against probabilities (N, labels − 1, *spatial)."""
        check_batch(input, target, present)
        labels = number_of_labels(input)
        if target.shape[1] != labels - 1 or not target.is_floating_point():
            raise CallError(
                f"the logits are of {labels} labels, so that the target must be probabilities of {labels - 1}, all but "
                f"background; got {target.shape[1]} in {str(target.dtype).removeprefix('torch.')}"
            )
        rated = rated_pixels(target, present)
        known = target if rated is None else torch.where(rated.unsqueeze(1), target, 0)
        if self.check and not torch.compiler.is_compiling():
            _check_probabilities(known)
        share = known[:, 0] if labels == 2 else torch.cat([1 - known.sum(dim=1, keepdim=True), known], dim=1)
        return reduce_losses(soft_cross_entropy(input, share), rated, self.reduction)


def _check_probabilities(target: Tensor) -> None:
    """Raise where they are not from 0 to 1, or add up to more than 1."""
    lowest, highest = float(target.amin()), float(target.sum(dim=1).amax())
    if not (lowest >= -SLACK and highest <= 1 + SLACK):
        raise CallError(
            "probabilities of labels are from 0 to 1 and add up to 1 at most, with background as the rest; the lowest "
            f"is {lowest:g}, the highest sum {highest:g}"
        )
