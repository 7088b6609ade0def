"""Cross-entropy against all raters at once, or against one reference standard made from them.

Cross-entropy is linear in its target, so its mean over raters equals cross-entropy against their vote shares: one pass
is enough for any number of raters. The mean is over all pixels that at least one rater rated.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..core.errors import CallError
from .annotations import (
    at_least_float32,
    can_check_values,
    check_batch,
    check_reduction,
    check_values,
    expand_presence,
    inner_region,
    majority_vote,
    number_of_labels,
    outer_region,
    rated_pixels,
    reduce_losses,
    vote_share,
)
from .batch_staple import staple_mask

Reference = Literal["rater", "inner", "outer", "majority", "staple"]
REFERENCES = {"inner": inner_region, "outer": outer_region, "majority": majority_vote, "staple": staple_mask}


class AverageCrossEntropy(nn.Module):
    """Cross-entropy averaged over the raters of each pixel, and over all pixels that at least one rater rated.

    Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present``
    (see :mod:`manytruths.learning.annotations`).

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, *spatial), with 0 where nobody rated.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    Examples
    --------
    >>> import torch
    >>> AverageCrossEntropy()(torch.zeros(1, 1, 1, 2), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(0.6931)
    """

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        if can_check_values(self.check):
            check_values(target, present, number_of_labels(input))
        losses = soft_cross_entropy(input, vote_share(target, present, number_of_labels(input)))
        return reduce_losses(losses, rated_pixels(target, present), self.reduction)


class ReferenceCrossEntropy(nn.Module):
    """Cross-entropy against one reference standard: a rater, the inner or outer region, the majority, or STAPLE.

    Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present``
    (see :mod:`manytruths.learning.annotations`).

    Parameters
    ----------
    reference : {"majority", "rater", "inner", "outer", "staple"}
        What to take as reference standard; see :func:`majority_vote`, :func:`inner_region`, :func:`outer_region` and
        :func:`staple`, each computed for every image separately.
    rater : int, optional
        Index of the rater where the reference is ``"rater"``; pixels that they did not rate do not count.
    reduction, check
        As for :class:`AverageCrossEntropy`.

    Examples
    --------
    >>> import torch
    >>> loss = ReferenceCrossEntropy("rater", rater=1)
    >>> loss(torch.tensor([[[[9.0, -9.0]]]]), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(0.0001)
    """

    def __init__(
        self,
        reference: Reference = "majority",
        rater: int | None = None,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if reference not in ("rater", *REFERENCES):
            raise CallError(f"reference must be 'rater', {', '.join(map(repr, REFERENCES))}; got {reference!r}")
        if (reference == "rater") != (rater is not None):
            raise CallError(
                f"rater= goes with reference='rater' and only with it; got rater={rater!r}, reference={reference!r}"
            )
        self.reference, self.rater = reference, rater
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        if self.rater is not None:
            target, present = self._select_rater(target, present)
        if can_check_values(self.check):
            check_values(target, present, number_of_labels(input))
        reference = self._make_reference(target, present, number_of_labels(input))
        return reduce_losses(hard_cross_entropy(input, reference), rated_pixels(target, present), self.reduction)

    def _select_rater(self, target: Tensor, present: Tensor | None) -> tuple[Tensor, Tensor | None]:
        assert self.rater is not None
        if not 0 <= self.rater < target.shape[1]:
            raise CallError(
                f"there is no rater {self.rater}: the annotations have {target.shape[1]} raters, counted from 0"
            )
        here = slice(self.rater, self.rater + 1)
        return target[:, here], None if present is None else present[:, here]

    def _make_reference(self, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        if self.rater is None:
            return REFERENCES[self.reference](target, present, labels)
        return target[:, 0] if present is None else torch.where(expand_presence(present, target)[:, 0], target[:, 0], 0)


def soft_cross_entropy(input: Tensor, share: Tensor) -> Tensor:
    """(N, *spatial) against shares of the foreground (N, *spatial) or of every label (N, labels, *spatial)."""
    logits = at_least_float32(input)
    if input.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], share.to(logits.dtype), reduction="none")
    if input.shape[1] == 2:
        share = torch.stack([1 - share, share], dim=1)
    return functional.cross_entropy(logits, share.to(logits.dtype), reduction="none")


def hard_cross_entropy(input: Tensor, reference: Tensor) -> Tensor:
    """(N, *spatial) against one label for each pixel (N, *spatial)."""
    if input.shape[1] == 1:
        return soft_cross_entropy(input, reference)
    return functional.cross_entropy(at_least_float32(input), reference.long(), reduction="none")
